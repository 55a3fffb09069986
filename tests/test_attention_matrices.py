"""Attention by products of matrices of bfloat16, where a processor multiplies them by itself.

That it is what the reference says, option by option, is tested in test_attention.py.
"""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.conftest import RunPython
from tests.data import DTYPES, assert_same_bits, rows
from tests.test_attention import Call

import ropewalk as rw

INF, NAN = math.inf, math.nan
HAS_MATRICES = rw.show_config()["matrices"] is not None


def data(
    dtype: str, *, queries: int = 50, keys: int = 300, dim: int = 20, value_dim: int = 18
) -> list[NDArray[Any]]:
    shapes = [(2, queries, dim), (2, keys, dim), (2, keys, value_dim)]
    return [rows(shape, dtype, seed) for seed, shape in enumerate(shapes)]


def by_matrices(*arrays: NDArray[Any], **options: Any) -> NDArray[Any]:
    return rw.attention(*arrays, precision="bfloat16", **options)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_other_types_are_rounded_to_bfloat16_where_it_is_multiplied(dtype: str) -> None:
    arrays = data(dtype)
    rounded = [x.astype(DTYPES["bfloat16"]).astype(dtype) for x in arrays]
    found = by_matrices(*arrays)
    assert found.dtype == DTYPES[dtype]
    assert_same_bits(found, by_matrices(*rounded) if HAS_MATRICES else rw.attention(*arrays))


def test_float64_stays_float64() -> None:
    arrays = data("float64")
    assert_same_bits(by_matrices(*arrays), rw.attention(*arrays))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_few_queries_are_no_matrices(dtype: str) -> None:
    arrays = data(dtype, queries=8)
    assert_same_bits(by_matrices(*arrays), rw.attention(*arrays))


def test_instruction_sets_without_matrices_change_nothing(run_python: RunPython) -> None:
    code = """
import numpy as np, ropewalk as rw
assert rw.show_config()["matrices"] is None
x = np.random.default_rng(0).standard_normal((100, 20), np.float32)
assert np.array_equal(rw.attention(x, x, x, precision="bfloat16"), rw.attention(x, x, x))
"""
    assert run_python(code, ROPEWALK_ISA="scalar").stderr == ""


HIDING: dict[str, dict[str, Any]] = {
    "mask": {"mask": np.arange(300) % 38 != 37},
    "bias": {"bias": np.where(np.arange(300) % 38 == 37, -INF, 1.0)},
    "key_lengths": {"key_lengths": 113},
    "causal": {"causal": True, "offset": 40},
    "window": {"window": (60, 20), "offset": 90},
}


@pytest.mark.parametrize("case", HIDING)
def test_hidden_values_change_no_bit_whatever_they_are(case: str) -> None:
    query, key, value = data("bfloat16")
    options = HIDING[case]
    unseen = rw.attention_weights(query, key, **options).max(axis=(0, 1)) == 0
    assert unseen.any()
    value[:, unseen] = 0
    expected = by_matrices(query, key, value, **options)
    assert np.isfinite(expected.astype(np.float64)).all()
    for number in (NAN, INF, -INF):
        key[:, unseen] = value[:, unseen] = number
        assert_same_bits(by_matrices(query, key, value, **options), expected)


@pytest.mark.parametrize("number", [NAN, INF, -INF])
def test_values_that_are_seen_follow_the_rules(number: float) -> None:
    query, key, value = data("bfloat16")
    value[0, 150, 3] = value[1, 20, 5] = number
    found = by_matrices(query, key, value, causal=True, offset=100).astype(np.float64)
    expected = rw.attention(query, key, value, causal=True, offset=100).astype(np.float64)
    assert not np.isfinite(expected).all()
    np.testing.assert_allclose(found, expected, rtol=2**-7, atol=2**-10)


@pytest.mark.parametrize("slope", [-40.0, -0.5, 0.5, 40.0])
def test_largest_logits_may_come_late(slope: float) -> None:
    query, key, value = data("bfloat16", keys=700)
    query[..., 0], key[..., 0] = 1, slope * np.arange(700) / 128
    Call(query, key, value, {"scale": 1.0}, precision="bfloat16").check()


@pytest.mark.parametrize(("dim", "value_dim"), [(1, 1), (32, 16), (33, 17), (200, 131), (64, 0)])
@pytest.mark.parametrize(("queries", "keys"), [(9, 1), (16, 31), (33, 129), (49, 0)])
def test_matrices_that_data_do_not_fill(queries: int, keys: int, dim: int, value_dim: int) -> None:
    sizes = {"queries": queries, "keys": keys, "dim": dim, "value_dim": value_dim}
    query, key, value = data("bfloat16", **sizes)
    Call(query, key, value, {}, precision="bfloat16").check()


def test_numbers_below_the_normal_ones_are_zeros_or_themselves() -> None:
    query, key, value = data("float32")
    small = by_matrices(query * np.float32(1e-39), key, np.full_like(value, 2.0**-130))
    np.testing.assert_array_less(np.abs(small), 2.0**-129)
