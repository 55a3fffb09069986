"""Attention by products of matrices of bfloat16, where a processor multiplies them by itself.

That it is what the reference says, option by option, is tested in test_attention.py.
"""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.attention_calls import LEAST, Call
from tests.conftest import RunPython
from tests.data import DTYPES, assert_same_bits, rows

import ropewalk as rw

INF, NAN = math.inf, math.nan
HAS_MATRICES = rw.show_config()["matrices"] is not None
# Data that are what matrices hold of them: one number of bfloat16, or the sum of two.
EXACT = {"bfloat16": "bfloat16", "bfloat16x3": "float16"}
precisions = pytest.mark.parametrize("precision", EXACT)


def data(
    dtype: str, *, queries: int = 200, keys: int = 300, dim: int = 20, value_dim: int = 18
) -> list[NDArray[Any]]:
    shapes = [(2, queries, dim), (2, keys, dim), (2, keys, value_dim)]
    return [rows(shape, dtype, seed) for seed, shape in enumerate(shapes)]


def by_matrices(*arrays: NDArray[Any], precision: Any = "bfloat16", **options: Any) -> NDArray[Any]:
    return rw.attention(*arrays, precision=precision, **options)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_other_types_are_rounded_to_bfloat16_where_it_is_multiplied(dtype: str) -> None:
    arrays = data(dtype)
    rounded = [x.astype(DTYPES["bfloat16"]).astype(dtype) for x in arrays]
    found = by_matrices(*arrays)
    assert found.dtype == DTYPES[dtype]
    assert_same_bits(found, by_matrices(*rounded) if HAS_MATRICES else rw.attention(*arrays))


def test_three_products_of_bfloat16_data_are_one() -> None:
    arrays = data("bfloat16")
    assert_same_bits(by_matrices(*arrays, precision="bfloat16x3"), by_matrices(*arrays))


def test_three_products_are_as_exact_as_sixteen_bits() -> None:
    arrays = data("float32", dim=64, value_dim=64)
    exact = rw.attention(*arrays, precision="float64").astype(np.float64)
    off = [np.abs(by_matrices(*arrays, precision=name) - exact).max() for name in EXACT]
    assert off[1] <= 2**-15
    assert off[1] <= off[0]


@precisions
def test_float64_stays_float64(precision: str) -> None:
    arrays = data("float64")
    assert_same_bits(by_matrices(*arrays, precision=precision), rw.attention(*arrays))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@precisions
def test_few_queries_are_no_matrices(precision: str, dtype: str) -> None:
    least = LEAST[precision]
    for queries in (8, least - 1, least):
        arrays = data(dtype, queries=queries)
        found, otherwise = by_matrices(*arrays, precision=precision), rw.attention(*arrays)
        assert np.array_equal(found, otherwise) == (queries < least or not HAS_MATRICES)


@precisions
def test_heads_that_share_keys_count_together(precision: str) -> None:
    query, key, value = (x[None] for x in data("float32", queries=100))
    query = np.concatenate([query, query[:, ::-1]], axis=1)  # two heads each
    found = by_matrices(query, key, value, precision=precision)
    assert np.array_equal(found, rw.attention(query, key, value)) != HAS_MATRICES


def test_instruction_sets_without_matrices_change_nothing(run_python: RunPython) -> None:
    code = """
import numpy as np, ropewalk as rw
assert rw.show_config()["matrices"] is None
x = np.random.default_rng(0).standard_normal((200, 20), np.float32)
for precision in ("bfloat16", "bfloat16x3"):
    assert np.array_equal(rw.attention(x, x, x, precision=precision), rw.attention(x, x, x))
"""
    assert run_python(code, ROPEWALK_ISA="scalar").stderr == ""


HIDING: dict[str, dict[str, Any]] = {
    "mask": {"mask": np.arange(300) % 38 != 37},
    "bias": {"bias": np.where(np.arange(300) % 38 == 37, -INF, 1.0)},
    "key_lengths": {"key_lengths": 113},
    "causal": {"causal": True, "offset": 10},
    "window": {"window": (60, 20), "offset": 20},
}


@pytest.mark.parametrize("case", HIDING)
@precisions
def test_hidden_values_change_no_bit_whatever_they_are(precision: str, case: str) -> None:
    query, key, value = data("float32")
    options = HIDING[case]
    unseen = rw.attention_weights(query, key, **options).max(axis=(0, 1)) == 0
    assert unseen.any()
    value[:, unseen] = 0
    for size in (1.0, 2.0**-124):  # of sums that are no normal numbers
        values = value * np.float32(size)
        expected = by_matrices(query, key, values, precision=precision, **options)
        assert np.isfinite(expected).all()
        for number in (NAN, INF, -INF):
            keys = key.copy()
            keys[:, unseen] = values[:, unseen] = number
            found = by_matrices(query, keys, values, precision=precision, **options)
            assert_same_bits(found, expected)


@precisions
def test_a_sum_that_is_rounded_up_to_the_least_normal_number(precision: str) -> None:
    query, key = np.zeros((192, 4), np.float32), np.zeros((4, 4), np.float32)
    value = np.float32(2.0**-126) * np.array([[1, 0], [0, 0], [-1.5, 0], [0, 0]], np.float32)
    bias = np.array([0, -INF, -25 * math.log(2), -INF], np.float32)
    expected = by_matrices(query, key, value, precision=precision, bias=bias)
    value[1, 1] = NAN  # which no query sees
    assert_same_bits(by_matrices(query, key, value, precision=precision, bias=bias), expected)


@pytest.mark.parametrize("number", [NAN, INF, -INF])
@precisions
def test_values_that_are_seen_follow_the_rules(precision: str, number: float) -> None:
    query, key, value = data("float32")
    options: dict[str, Any] = {"causal": True, "offset": 50}
    without = by_matrices(query, key, value, precision=precision, **options)
    value[0, 130, 3] = value[1, 20, 5] = number
    found = by_matrices(query, key, value, precision=precision, **options)
    expected = rw.attention(query, key, value, **options)
    finite = np.isfinite(expected)
    of_one = finite[0, :, 3]
    assert of_one.any()  # some queries see it, and others do not
    assert not of_one.all()
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    assert_same_bits(found[finite], without[finite])


@pytest.mark.parametrize("slope", [-40.0, -0.5, 0.5, 40.0])
@precisions
def test_largest_logits_may_come_late(precision: str, slope: float) -> None:
    sizes = {"queries": LEAST[precision] + 17, "keys": 420, "dim": 4, "value_dim": 3}
    query, key, value = (x[:1] for x in data(EXACT[precision], **sizes))
    query[..., 0], key[..., 0] = 1, slope * np.arange(420) / 128
    Call(query, key, value, {"scale": 1.0}, precision=precision).check()


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"causal": True, "offset": 10},
    "window": {"window": (60, 20), "offset": 20},
    "mask": {"mask": np.random.default_rng(1).random(300) < 0.7},
    "bias": {"bias": np.random.default_rng(2).standard_normal(300)},
    "slopes": {"slopes": 0.1, "offset": 40},
    "softcap": {"softcap": 1.5},
    "sinks": {"sinks": 3.0},
    "key_lengths": {"key_lengths": 113},
}


@pytest.mark.parametrize(
    ("precision", "dtype"),
    [("bfloat16", "bfloat16"), ("bfloat16x3", "float32"), ("bfloat16x3", "float16")],
)
@pytest.mark.parametrize("case", OPTIONS)
def test_matrices_follow_every_option(case: str, precision: str, dtype: str) -> None:
    sizes = {"queries": LEAST[precision] + 3, "keys": 300, "dim": 4, "value_dim": 3}
    query, key, value = (x[:1] for x in data(dtype, **sizes))
    Call(query, key, value, OPTIONS[case], precision=precision).check()
    # The same numbers in float32, which no last rounding makes those of the ordinary call.
    wide = [x.astype(np.float32) for x in (query, key, value)]
    found = by_matrices(*wide, precision=precision, **OPTIONS[case])
    assert np.array_equal(found, rw.attention(*wide, **OPTIONS[case])) != HAS_MATRICES


@pytest.mark.parametrize(("dim", "value_dim"), [(1, 1), (32, 16), (33, 17), (200, 131), (64, 0)])
@pytest.mark.parametrize(("more", "keys"), [(0, 1), (1, 31), (17, 129), (49, 0)])
@precisions
def test_matrices_that_data_do_not_fill(
    precision: str, more: int, keys: int, dim: int, value_dim: int
) -> None:
    sizes = {"queries": LEAST[precision] + more, "keys": keys, "dim": dim, "value_dim": value_dim}
    query, key, value = (x[:1] for x in data(EXACT[precision], **sizes))
    Call(query, key, value, {}, precision=precision).check()


def test_more_keys_than_matrices_hold_change_nothing() -> None:
    query, one, other = (rows((100 if i == 0 else 1, 4), "float32", i) for i in range(3))
    many = [np.broadcast_to(x, (2**48, 4)) for x in (one, other)]
    options: dict[str, Any] = {"causal": True, "offset": 2**20}
    assert_same_bits(by_matrices(query, *many, **options), rw.attention(query, *many, **options))


def test_numbers_below_the_normal_ones_are_zeros() -> None:
    query, key, value = data("float32")
    small = by_matrices(query * np.float32(1e-39), key, np.full_like(value, 2.0**-130))
    np.testing.assert_array_equal(small, 0.0 if HAS_MATRICES else np.float32(2.0**-130))


@precisions
def test_values_may_be_as_large_as_the_largest_over_the_number_of_keys(precision: str) -> None:
    query, key, value = data("float32", keys=500)
    value[:] = 2.0**119 * np.sign(value)
    expected = rw.attention(query, key, value, precision="float64")
    found = by_matrices(query, key, value, precision=precision)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2.0**113)


def test_two_numbers_hold_what_one_rounds_to_infinity() -> None:
    query, key, value = data("float32", keys=1)
    value[:] = 0.999 * np.finfo(np.float32).max
    key[:, :, 0], query[:, :, 0] = np.finfo(np.float32).max, 1e-38
    found = by_matrices(query, key, value, precision="bfloat16x3")
    np.testing.assert_allclose(found, np.broadcast_to(value, found.shape), rtol=2**-15)


@pytest.mark.parametrize("name", ["float64", *EXACT])
def test_names_of_precisions_may_be_strings_of_other_classes(name: Any) -> None:
    arrays = data("float32")
    expected = rw.attention(*arrays, precision=name)
    string: Any = np.str_(name)
    assert_same_bits(rw.attention(*arrays, precision=string), expected)
    assert_same_bits(rw.attention_stages(*arrays, precision=string).output, expected)


@precisions
def test_multi_head_attention_multiplies_matrices_too(precision: Any) -> None:
    x, weight = rows((2, 200, 32), "float32"), rows((32, 32), "float32", 1)
    weights: dict[str, Any] = {f"{n}_weight": weight for n in ("query", "key", "value")}
    found = rw.multi_head_attention(x, heads=4, precision=precision, **weights)
    product = x.reshape(-1, 32) @ weight  # whose bits may depend on how many rows there are
    heads = [rw.split_heads(product.reshape(x.shape), 4)] * 3
    assert_same_bits(found, rw.merge_heads(by_matrices(*heads, precision=precision)))


SMALL_STACK = """
import ctypes, numpy as np, ropewalk as rw

class Stack(ctypes.Structure):
    _fields_ = [("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]

memory = ctypes.create_string_buffer(8192)
stack = Stack(ctypes.addressof(memory), 0, 8192)
assert ctypes.CDLL(None).sigaltstack(ctypes.byref(stack), None) == 0
x = np.random.default_rng(0).standard_normal((200, 20), np.float32)
assert np.array_equal(rw.attention(x, x, x, precision="bfloat16"), rw.attention(x, x, x))
"""


@pytest.mark.skipif(not HAS_MATRICES, reason="this processor multiplies no matrices")
def test_where_a_signal_stack_is_too_small_nothing_changes(run_python: RunPython) -> None:
    assert run_python(SMALL_STACK).stderr == ""
