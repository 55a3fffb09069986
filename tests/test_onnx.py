"""Conformance with ONNX: the node tests of version 1.22.0 (tests/onnx)."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import onnx_reader

import ropewalk as rw
from ropewalk._arrays import Pairing

NODES = Path(__file__).parent / "onnx"
ROTARY = sorted(path.name for path in NODES.glob("test_rotary_embedding*"))
UNIT = 2.0**-24  # of float32


def test_all_cases_of_the_operator_are_here() -> None:
    assert len(ROTARY) == 8


@pytest.mark.parametrize("case", ROTARY)
def test_rotary_embedding(case: str) -> None:
    x, cosines, sines, *position_ids = onnx_reader.tensors(NODES / case, "input")
    (expected,) = onnx_reader.tensors(NODES / case, "output")
    attributes = onnx_reader.integer_attributes(NODES / case)
    interleaved = attributes.get("interleaved") == 1

    # To (batch, length, heads, width), from (batch, heads, length, width) or
    # (batch, length, heads * width).
    if x.ndim == 4:
        x, expected = x.swapaxes(1, 2), expected.swapaxes(1, 2)
    else:
        shape = (*x.shape[:2], attributes["num_heads"], -1)
        x, expected = x.reshape(shape), expected.reshape(shape)
    if position_ids:
        cosines, sines = cosines[position_ids[0]], sines[position_ids[0]]
    cosines, sines = cosines[:, :, None], sines[:, :, None]  # one row for all heads
    width = attributes.get("rotary_embedding_dim", x.shape[-1])
    pairing: Pairing = "interleaved" if interleaved else "half"
    turned = rw.rotate_by(x, cosines, sines, pairing=pairing, rotary_dim=width)

    def pairs(features: NDArray[Any]) -> NDArray[np.float64]:
        rotary = features[..., :width].astype(np.float64)
        if interleaved:
            return rotary.reshape(*rotary.shape[:-1], -1, 2)
        return rotary.reshape(*rotary.shape[:-1], 2, -1).swapaxes(-1, -2)

    # Either result is a c - b s with every operation rounded, and the roundings are at most
    # |a c| u, |b s| u and that of the sum: together 2 u |(a, b)| |(c, s)|.
    bound = 4 * UNIT * np.linalg.norm(pairs(x), axis=-1) * np.hypot(cosines, sines)
    assert turned.dtype == expected.dtype
    assert (np.abs(pairs(turned) - pairs(expected)) <= bound[..., None]).all()
    np.testing.assert_array_equal(turned[..., width:], expected[..., width:])


# The reader


@pytest.mark.parametrize(
    ("message", "number"), [(b"\x08\x01", 1), (b"\x08\x96\x01", 150), (b"\x08\xac\x02", 300)]
)
def test_integers_are_read_seven_bits_a_byte(message: bytes, number: int) -> None:
    # Protocol Buffers documentation, Encoding: field 1 with 150 is 08 96 01, and 300 is ac 02.
    assert list(onnx_reader.fields(message)) == [(1, number)]


def test_messages_are_read_as_their_bytes() -> None:
    # From the same page: field 2 with the text "testing".
    assert list(onnx_reader.fields(b"\x12\x07testing")) == [(2, b"testing")]
