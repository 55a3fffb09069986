"""Pairings of features: quarter turns, and the way from one to the other."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.data import DTYPES, assert_same_bits, dtypes, pairings, rows

import ropewalk as rw
from ropewalk._options import Pairing

# Quarter turns


@pairings
@dtypes
def test_a_quarter_turn_is_that_of_the_paper(dtype: str, pairing: Pairing) -> None:
    x = rows((3, 5, 14), dtype)
    turned = rw.quarter_turn(x, pairing=pairing)
    expected = [reference.quarter_turn(list(row), pairing) for row in x.reshape(-1, 14)]
    assert_same_bits(turned, np.array(expected, x.dtype).reshape(x.shape))


@pairings
def test_a_rotation_is_a_sum_with_a_quarter_turn(pairing: Pairing) -> None:
    x = rows((50, 14))
    cosines, sines = rw.rotary_tables(range(50), 14)
    places = list(range(7)) * 2
    if pairing == "interleaved":
        places.sort()
    turned = x * cosines[:, places] + rw.quarter_turn(x, pairing=pairing) * sines[:, places]
    np.testing.assert_allclose(turned, rw.rotate(x, pairing=pairing), rtol=0, atol=2e-15)


def test_a_quarter_turn_takes_integers_and_strides() -> None:
    np.testing.assert_array_equal(rw.quarter_turn([1, 2, 3, 4]), [-2.0, 1.0, -4.0, 3.0])
    x = rows((6, 8)).T[::-1]
    assert_same_bits(rw.quarter_turn(x), rw.quarter_turn(x.copy()))
    assert rw.quarter_turn(np.zeros((0, 8))).shape == (0, 8)


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_quarter_turn_of_features_apart_is_that_of_neighbours(
    dtype: str, pairing: Pairing
) -> None:
    x = rows((5, 48), dtype)
    for step in (2, 3, 4):
        apart = x[:, ::step]
        expected = rw.quarter_turn(apart.copy(), pairing=pairing)
        assert_same_bits(rw.quarter_turn(apart, pairing=pairing), expected)


# Pairings


@pytest.mark.parametrize("rotary_dim", [None, 2, 6])
def test_converted_data_is_turned_like_data_that_is_converted_then(rotary_dim: int | None) -> None:
    x = rows((4, 9, 10), "float32")
    halves = rw.convert_pairing(x, source="interleaved", target="half", rotary_dim=rotary_dim)
    turned = rw.rotate(x, rotary_dim=rotary_dim)
    expected = rw.convert_pairing(
        turned, source="interleaved", target="half", rotary_dim=rotary_dim
    )
    assert_same_bits(rw.rotate(halves, pairing="half", rotary_dim=rotary_dim), expected)


def test_features_in_the_half_pairing_are_the_first_of_all_pairs_and_then_the_second() -> None:
    row = list(range(10))
    converted = rw.convert_pairing(row, source="interleaved", target="half")
    assert converted.tolist() == reference.in_half_pairing(row)
    back = rw.convert_pairing(converted, source="half", target="interleaved")
    assert back.tolist() == row


@pairings
def test_converting_to_the_same_pairing_copies(pairing: Pairing) -> None:
    x = rows((3, 8))
    converted = rw.convert_pairing(x, source=pairing, target=pairing)
    assert_same_bits(converted, x)
    assert not np.shares_memory(converted, x)


@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("rotary_dim", [None, 4])
def test_weights_of_either_orientation_are_converted_head_by_head(
    heads: int, rotary_dim: int | None
) -> None:
    width = 8
    weights = rows((5, heads * width))
    options: dict[str, Any] = {
        "source": "interleaved", "target": "half", "heads": heads, "rotary_dim": rotary_dim,
    }  # fmt: skip
    converted = rw.convert_pairing(weights, **options)
    for head in range(heads):
        part = slice(head * width, (head + 1) * width)
        for before, after in zip(
            weights[:, part].tolist(), converted[:, part].tolist(), strict=True
        ):
            turned = rotary_dim or width
            assert after == [*reference.in_half_pairing(before[:turned]), *before[turned:]]
    assert_same_bits(rw.convert_pairing(weights.T, axis=0, **options), converted.T)
    assert_same_bits(rw.convert_pairing(weights[0], **options), converted[0])


def test_converted_weights_keep_the_scores() -> None:
    x, w_query, w_key = rows((7, 12)), rows((12, 16), seed=1), rows((12, 16), seed=2)

    def scores_of(query_weight: Any, key_weight: Any, pairing: Pairing) -> NDArray[np.float64]:
        query, key = ((x @ w).reshape(7, 2, 8).swapaxes(0, 1) for w in (query_weight, key_weight))
        q, k = rw.rotate(query, pairing=pairing), rw.rotate(key, pairing=pairing)
        return np.asarray(q @ k.swapaxes(-1, -2))

    options: dict[str, Any] = {"source": "interleaved", "target": "half", "heads": 2}
    new_query, new_key = (rw.convert_pairing(w, **options) for w in (w_query, w_key))
    before = scores_of(w_query, w_key, "interleaved")
    np.testing.assert_allclose(scores_of(new_query, new_key, "half"), before, rtol=0, atol=1e-12)
    assert np.abs(scores_of(w_query, w_key, "half") - before).max() > 1


@pytest.mark.parametrize("axis", [1, -2])
def test_an_axis_in_the_middle_is_converted(axis: int) -> None:
    x = np.arange(48.0).reshape(2, 8, 3)
    converted = rw.convert_pairing(x, source="half", target="interleaved", axis=axis)
    assert_same_bits(converted, x[:, [0, 4, 1, 5, 2, 6, 3, 7]].copy())


@pytest.mark.parametrize("shape", [(0, 8), (8, 0), (0, 0, 8)], ids=str)
def test_arrays_without_elements_are_converted(shape: tuple[int, ...]) -> None:
    axis = shape.index(8)
    x = np.zeros(shape)
    assert rw.convert_pairing(x, source="half", target="interleaved", axis=axis).shape == shape


@pytest.mark.parametrize("dtype", ["i2", "c8", "O", ">f4", "bfloat16"])
def test_any_dtype_is_converted(dtype: str) -> None:
    x = np.arange(8).astype(DTYPES.get(dtype, dtype))
    converted = rw.convert_pairing(x, source="half", target="interleaved")
    assert converted.dtype == x.dtype
    assert converted.astype(complex).tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
