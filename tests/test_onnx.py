"""Conformance with ONNX: the node tests of version 1.22.0 (tests/onnx)."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import onnx_reader, reference
from tests.attention_calls import Call, allowed_errors, assert_within
from tests.data import UNIT, assert_same_bits

import ropewalk as rw
from ropewalk._options import Pairing

NODES = Path(__file__).parent / "onnx"
ROTARY = sorted(path.name for path in NODES.glob("test_rotary_embedding*"))
ATTENTION = sorted(path.name for path in NODES.glob("test_attention_*"))
SOFTMAX = sorted(path.name for path in NODES.glob("test_softmax_*"))


def test_all_cases_of_the_operators_are_here() -> None:
    assert (len(ROTARY), len(ATTENTION), len(SOFTMAX)) == (8, 64, 7)


@pytest.mark.parametrize("case", ROTARY)
def test_rotary_embedding(case: str) -> None:
    x, cosines, sines, *position_ids = onnx_reader.tensors(NODES / case, "input")
    (expected,) = onnx_reader.tensors(NODES / case, "output")
    attributes = onnx_reader.attributes(NODES / case)
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
    bound = 4 * UNIT["float32"] * np.linalg.norm(pairs(x), axis=-1) * np.hypot(cosines, sines)
    assert turned.dtype == expected.dtype
    assert (np.abs(pairs(turned) - pairs(expected)) <= bound[..., None]).all()
    np.testing.assert_array_equal(turned[..., width:], expected[..., width:])


def attention_call(inputs: dict[str, NDArray[Any]], attributes: dict[str, Any]) -> Call:
    """Return what the operator Attention asks for as a call of attention."""
    query, key, value = inputs["Q"], inputs["K"], inputs["V"]
    if query.ndim == 3:  # (batch, length, heads * width)
        query = rw.split_heads(query, attributes["q_num_heads"])
        key, value = (rw.split_heads(x, attributes["kv_num_heads"]) for x in (key, value))
    past = 0
    if "past_key" in inputs:
        past = inputs["past_key"].shape[-2]
        key = np.concatenate([inputs["past_key"], key], axis=-2)
        value = np.concatenate([inputs["past_value"], value], axis=-2)
    options: dict[str, Any] = {"scale": attributes.get("scale")}
    if attributes.get("is_causal"):
        options |= {"causal": True, "offset": past}
    if attributes.get("softcap"):  # 0 is none
        options["softcap"] = attributes["softcap"]
    if "attn_mask" in inputs:
        mask = inputs["attn_mask"]
        is_boolean = mask.dtype == bool
        missing = [(0, 0)] * (mask.ndim - 1) + [(0, key.shape[-2] - mask.shape[-1])]
        blocked = False if is_boolean else -np.inf
        options["mask" if is_boolean else "bias"] = np.pad(mask, missing, constant_values=blocked)
    if "nonpad_kv_seqlen" in inputs:
        options["key_lengths"] = inputs["nonpad_kv_seqlen"]
    return Call(query, key, value, options)


QK_STAGES = ["scores", "capped", "biased", "weights"]  # qk_matmul_output_mode as of version 1.22


@pytest.mark.parametrize("case", ATTENTION)
def test_attention(case: str) -> None:
    inputs = onnx_reader.named_tensors(NODES / case, "input")
    outputs = onnx_reader.named_tensors(NODES / case, "output")
    attributes = onnx_reader.attributes(NODES / case)
    assert set(inputs) <= {
        "Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"
    }  # fmt: skip
    assert set(attributes) <= {
        "is_causal", "scale", "softcap", "q_num_heads", "kv_num_heads", "qk_matmul_output_mode"
    }  # fmt: skip
    call = attention_call(inputs, attributes)

    # Both results are off from the exact one: ours by its bound, theirs by that of arithmetic
    # which rounds every operation to the type of the data and sums all keys in a row.
    exact, ours = call.expected()
    theirs = allowed_errors(exact, call, UNIT[call.dtype.name], call.key.shape[-2])

    expected = outputs.pop("Y")
    found = rw.attention(call.query, call.key, call.value, **call.options)
    if inputs["Q"].ndim == 3:
        merged = rw.merge_heads(found)
        expected = rw.split_heads(expected, attributes["q_num_heads"])
        assert_same_bits(rw.split_heads(merged, attributes["q_num_heads"]), found)
    assert found.dtype == expected.dtype
    assert_within(found, expected, ours.output + theirs.output)
    if "qk_matmul_output" in outputs:
        expected = outputs.pop("qk_matmul_output")
        stage = QK_STAGES[attributes.get("qk_matmul_output_mode", 0)]
        stages = rw.attention_stages(call.query, call.key, call.value, **call.options)
        assert_within(
            getattr(stages, stage), expected, getattr(ours, stage) + getattr(theirs, stage)
        )
        if stage == "weights":
            weights = rw.attention_weights(call.query, call.key, **call.options)
            assert_within(weights, expected, ours.weights + theirs.weights)
    for name, array in (("present_key", call.key), ("present_value", call.value)):
        if name in outputs:
            assert_same_bits(array, outputs.pop(name))
    assert not outputs


@pytest.mark.parametrize("case", SOFTMAX)
def test_softmax(case: str) -> None:
    (x,) = onnx_reader.tensors(NODES / case, "input")
    (expected,) = onnx_reader.tensors(NODES / case, "output")
    attributes = onnx_reader.attributes(NODES / case)
    assert set(attributes) <= {"axis"}
    axis = attributes.get("axis", -1)
    found = rw.softmax(x, axis=axis)
    assert found.dtype == expected.dtype
    exact = np.apply_along_axis(lambda row: reference.softmax(row.tolist()), axis, x)
    # For either of them: the difference from the largest is rounded, the power is off by up to 2
    # units, its quotient by one, and the sum by one for every term.
    below = x.max(axis=axis, keepdims=True) - x
    bound = 2 * UNIT["float32"] * (below + 2 + 1 + x.shape[axis]) * exact + 2.0**-126
    assert (np.abs(found - expected) <= bound).all()
    assert (np.abs(found - exact) <= bound / 2).all()


# The reader


@pytest.mark.parametrize(
    ("message", "number"), [(b"\x08\x01", 1), (b"\x08\x96\x01", 150), (b"\x08\xac\x02", 300)]
)
def test_integers_are_read_seven_bits_a_byte(message: bytes, number: int) -> None:
    # Protocol Buffers documentation, Encoding: field 1 with 150 is 08 96 01, and 300 is ac 02.
    assert list(onnx_reader.fields(message)) == [(1, number)]


def test_floats_are_read_from_four_bytes() -> None:
    # IEEE 754-2019, section 3.4: 1.5 is 3fc00000, here with the lowest byte first.
    assert list(onnx_reader.fields(b"\x15\x00\x00\xc0\x3f\x08\x01")) == [(2, 1.5), (1, 1)]


def test_messages_are_read_as_their_bytes() -> None:
    # From the same page: field 2 with the text "testing".
    assert list(onnx_reader.fields(b"\x12\x07testing")) == [(2, b"testing")]
