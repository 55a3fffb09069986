"""Attention: what it means, option by option, against the loops of tests/reference.py.

What queries see is tested in test_attention_masks.py, how exact it is where numbers are extreme in
test_attention_numbers.py, that its bits depend on nothing but the numbers in
test_attention_bits.py and test_attention_memory.py, how parts are merged in test_merging.py, and
what is refused in test_attention_refusals.py.
"""

import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.attention_calls import MATRICES, Call
from tests.data import DTYPES, LAYOUTS, assert_same_bits, dtypes, rows

import ropewalk as rw

INF, NAN = math.inf, math.nan


# Everything together, small


@st.composite
def draw_calls(draw: st.DrawFn) -> Call:
    """Return any call of attention: shapes, options, dtypes and layouts; some of nothing."""
    least = int(draw(st.integers(0, 5)) > 0)
    lengths = st.one_of(st.integers(least, 3), st.integers(least, 20))
    precision = draw(st.sampled_from([None, None, "float64", *MATRICES]))
    queries, keys = draw(lengths), draw(lengths)
    if precision in MATRICES and draw(st.booleans()):  # as many as make matrices worth while
        queries += 32 if precision == "bfloat16" else 192
    dim, value_dim = draw(st.integers(1, 20)), draw(st.one_of(st.just(8), st.integers(0, 19)))
    batch = tuple(draw(st.lists(st.integers(least, 2), max_size=2)))
    of_queries, of_keys = batch[:1], batch[:1]
    if draw(st.booleans()):  # four dimensions or more, the last of the leading ones are heads
        groups, group = draw(st.integers(least, 2)), draw(st.integers(1, 3))
        batch = batch or (2,)
        of_queries, of_keys = (*batch, groups * group), (*batch, groups)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    dtype = DTYPES[draw(st.sampled_from(list(DTYPES)))]

    def broadcasting(shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return a shape that broadcasts to this one."""
        first = draw(st.integers(0, len(shape)))
        return tuple(n if draw(st.integers(0, 3)) else 1 for n in shape[first:])

    def data(*shape: int) -> NDArray[Any]:
        x = rng.standard_normal(shape) * draw(st.sampled_from([1.0, 1.0, 3.0]))
        return LAYOUTS[draw(st.sampled_from(list(LAYOUTS)))](x.astype(dtype))

    def one_of(make: Callable[[], Any]) -> Any:
        return make() if draw(st.integers(0, 2)) == 0 else None

    table = (*of_queries, queries, keys)
    in_rows = of_queries[:-1] if len(of_queries) > 1 else of_queries
    options: dict[str, Any] = {
        "causal": draw(st.booleans()),
        "window": one_of(lambda: tuple(draw(st.tuples(*[st.none() | st.integers(0, 9)] * 2)))),
        "slopes": one_of(lambda: rng.random(broadcasting(of_queries))),
        "mask": one_of(lambda: rng.random(broadcasting(table)) < 0.7),
        "bias": one_of(lambda: rng.standard_normal(broadcasting(table))),
        "key_lengths": one_of(lambda: rng.integers(0, keys + 1, broadcasting(in_rows))),
        "scale": one_of(lambda: draw(st.sampled_from([0.0, 1.0, 0.3, -0.7]))),
        "softcap": one_of(lambda: draw(st.sampled_from([0.5, 2.0, 30.0]))),
        "sinks": one_of(lambda: rng.standard_normal(broadcasting(of_queries))),
    }
    options = {name: value for name, value in options.items() if value is not None}
    placed = options["causal"] or "window" in options or "slopes" in options
    if draw(st.booleans()) or (placed and queries != keys):
        options["offset"] = rng.integers(-queries - 2, keys + 3, broadcasting(in_rows))
        if draw(st.booleans()):
            options["offset"] = int(rng.integers(-queries - 2, keys + 3))
    if precision == "bfloat16":  # to which data are rounded, or not
        dtype = DTYPES["bfloat16"]
    query = data(*of_queries, queries, dim)
    key = data(*broadcasting(of_keys), keys, dim)
    value = data(*broadcasting(of_keys), keys, value_dim)
    return Call(query, key, value, options, precision)


@given(draw_calls())
def test_any_call_is_the_loops_of_the_reference(call: Call) -> None:
    call.check()


# Larger: several tiles of 48 queries, several blocks of 128 keys

LARGER: dict[str, tuple[tuple[int, ...], tuple[int, ...], int, dict[str, Any]]] = {
    "two tiles": ((49, 3), (300, 3), 2, {}),
    "causal": ((200, 4), (200, 4), 3, {"causal": True}),
    "causal, from the middle": ((100, 4), (290, 4), 3, {"causal": True, "offset": 131}),
    "causal, before the keys": ((200, 4), (140, 4), 3, {"causal": True, "offset": -77}),
    "a window": ((260, 4), (260, 4), 3, {"window": (130, 5)}),
    "a narrow window": ((280, 4), (280, 4), 3, {"window": (0, 0)}),
    "slopes": ((2, 60, 4), (1, 260, 4), 3, {"slopes": [0.5, 0.004], "offset": 110}),
    "lengths": ((3, 49, 4), (3, 257, 4), 3, {"key_lengths": [128, 129, 0]}),
    "capped": ((60, 4), (257, 4), 3, {"softcap": 1.5}),
    "a sink": ((60, 4), (257, 4), 3, {"sinks": 5.0}),
    "one query": ((4, 1, 24), (2, 300, 24), 17, {}),
    "wide": ((3, 1100), (130, 1100), 261, {}),
    "batches of grouped heads": ((2, 6, 30, 4), (2, 2, 131, 4), 3, {"causal": True, "offset": 81}),
}


@dtypes
@pytest.mark.parametrize("case", LARGER)
def test_many_queries_and_keys(case: str, dtype: str) -> None:
    of_query, of_key, value_dim, options = LARGER[case]
    query, key = rows(of_query, dtype, 1), rows(of_key, dtype, 2)
    value = rows((*of_key[:-1], value_dim), dtype, 3)
    if of_query[-3:-2] == (4,):  # grouped heads need a batch
        query, key, value = query[None], key[None], value[None]
    Call(query, key, value, options).check()
    if case == "two tiles":
        Call(query, key, value, options, precision="float64").check()
    # Of more queries are the calls of test_attention_matrices.py.
    if dtype == "bfloat16":
        Call(query, key, value, options, precision="bfloat16").check()


def test_a_value_worked_out_by_hand() -> None:
    # Scores ln 3 and 0: weights 3 / 4 and 1 / 4.
    query, key, value = [[math.log(3), 7.0]], [[1.0, 0.0], [0.0, 0.0]], [[4.0], [8.0]]
    stages = rw.attention_stages(query, key, value, scale=1.0)
    np.testing.assert_allclose(stages.weights, [[0.75, 0.25]], rtol=4e-16)
    np.testing.assert_allclose(stages.output, [[5.0]], rtol=4e-16)
    np.testing.assert_allclose(stages.lse, [math.log(4)], rtol=4e-16)
    # With a sink of ln 4 the denominator is 8.
    sunk = rw.attention_stages(query, key, value, scale=1.0, sinks=math.log(4))
    np.testing.assert_allclose(sunk.weights, [[0.375, 0.125]], rtol=4e-16)
    np.testing.assert_allclose(sunk.output, [[2.5]], rtol=4e-16)
    np.testing.assert_allclose(sunk.lse, [math.log(8)], rtol=4e-16)


# Shapes


@pytest.mark.parametrize(
    ("of_query", "of_key", "of_value"),
    [
        ((5, 4), (3, 7, 4), (7, 2)),
        ((3, 5, 4), (7, 4), (3, 7, 2)),
        ((1, 5, 4), (3, 7, 4), (1, 7, 2)),
        ((2, 1, 5, 4), (6, 7, 4), (1, 6, 7, 2)),
        ((6, 5, 4), (2, 3, 7, 4), (1, 7, 2)),
        ((2, 6, 5, 4), (1, 2, 7, 4), (3, 7, 2)),
        ((3, 1, 4, 5, 4), (2, 2, 7, 4), (3, 1, 1, 7, 2)),
        ((0, 4, 5, 4), (1, 2, 7, 4), (0, 2, 7, 2)),
        ((2, 0, 5, 4), (2, 0, 7, 4), (2, 0, 7, 2)),
    ],
)
def test_leading_axes_broadcast_and_key_heads_divide_query_heads(
    of_query: tuple[int, ...], of_key: tuple[int, ...], of_value: tuple[int, ...]
) -> None:
    Call(rows(of_query), rows(of_key, seed=1), rows(of_value, seed=2), {"softcap": 3.0}).check()


def test_query_head_h_uses_key_head_h_divided_by_the_group() -> None:
    # Ainslie et al., GQA, 2023, section 2.2: neighbours share a key head.
    query, key, value = rows((1, 6, 3, 4)), rows((1, 2, 5, 4), seed=1), rows((1, 2, 5, 2), seed=2)
    shared = rw.attention(query, key, value)
    repeated = rw.attention(query, key.repeat(3, axis=1), value.repeat(3, axis=1))
    assert_same_bits(shared, repeated)
    for head in range(6):
        alone = rw.attention(query[:, head], key[:, head // 3], value[:, head // 3])
        np.testing.assert_allclose(shared[:, head], alone, rtol=0, atol=1e-15)


@dtypes
@pytest.mark.parametrize(
    ("queries", "keys", "value_dim"), [(0, 5, 3), (5, 0, 3), (0, 0, 3), (5, 4, 0), (1, 1, 1)]
)
def test_lengths_and_widths_of_nothing(queries: int, keys: int, value_dim: int, dtype: str) -> None:
    query, key, value = (
        rows((2, queries, 4), dtype),
        rows((2, keys, 4), dtype),
        rows((2, keys, value_dim), dtype),
    )
    Call(query, key, value, {"sinks": [0.5, -INF]}).check()
    Call(query, key, value, {}).check()


def test_nothing_is_computed_where_nothing_is_written() -> None:
    """Of so many queries that to count them would take minutes."""
    query, nothing = np.broadcast_to(np.ones((1, 2)), (2**40, 2)), np.ones((0, 2))
    assert rw.attention_weights(query, nothing).shape == (2**40, 0)
    heads, keys = np.broadcast_to(np.ones((1, 1, 2)), (2**40, 1, 2)), np.ones((3, 2))
    assert rw.attention(heads, keys, np.ones((3, 0))).shape == (2**40, 1, 0)
    assert rw.attention(heads, keys, np.ones((3, 0)), mask=[True, False, True]).size == 0


def test_lists_are_taken() -> None:
    query, key, value = rows((3, 4)), rows((3, 4), seed=1), rows((3, 2), seed=2)
    expected = rw.attention(query, key, value, mask=np.tri(3, dtype=bool))
    actual = rw.attention(
        query.tolist(), key.tolist(), value.tolist(), mask=np.tri(3, dtype=bool).tolist()
    )
    assert_same_bits(actual, expected)


# Types


@pytest.mark.parametrize(
    ("of_data", "result"),
    [
        (("float32", "float32", "float64"), "float64"),
        (("float64", "float32", "float16"), "float64"),
        (("float16", "float32", "float32"), "float32"),
        (("float16", "float16", "float32"), "float32"),
        (("bfloat16", "float32", "bfloat16"), "float32"),
        (("bfloat16", "float64", "bfloat16"), "float64"),
    ],
)  # fmt: skip
def test_mixed_types_become_the_one_of_numpy(of_data: tuple[str, ...], result: str) -> None:
    query, key, value = (rows((7, 4), dtype, i) for i, dtype in enumerate(of_data))
    call = Call(query, key, value, {})
    assert call.dtype == DTYPES[result]
    call.check()
    widened = (x.astype(DTYPES[result]) for x in (query, key, value))
    assert_same_bits(rw.attention(query, key, value), rw.attention(*widened))


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "u8"])
def test_integers_become_float64(dtype: str) -> None:
    x = np.arange(24).reshape(6, 4).astype(dtype)
    expected = rw.attention(*[x.astype(np.float64)] * 3)
    assert_same_bits(rw.attention(x, x, x), expected)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_other_byte_orders_become_the_native_one(dtype: str) -> None:
    x = rows((9, 6)).astype(dtype)
    bias = rows((9, 9)).astype(dtype)
    swapped, of_bias = (a.astype(a.dtype.newbyteorder()) for a in (x, bias))
    assert_same_bits(
        rw.attention(swapped, x, swapped, bias=of_bias), rw.attention(x, x, x, bias=bias)
    )


@dtypes
@pytest.mark.parametrize("of_bias", DTYPES)
def test_biases_never_change_the_type(of_bias: str, dtype: str) -> None:
    query, key, value = rows((5, 4), dtype), rows((7, 4), dtype, 1), rows((7, 3), dtype, 2)
    Call(query, key, value, {"bias": rows((5, 7), of_bias, 3)}).check()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_precision_of_float64_is_rounded_once_from_float64(dtype: str) -> None:
    query, key, value = (rows((2, 60, 8), dtype, i) for i in range(3))
    widened = [x.astype(np.float64) for x in (query, key, value)]
    expected = rw.attention(*widened, causal=True).astype(DTYPES[dtype])
    actual = rw.attention(query, key, value, causal=True, precision="float64")
    assert_same_bits(actual, expected)


# What it gives back


def test_stages_follow_from_each_other() -> None:
    query, key, value = rows((2, 5, 4)), rows((2, 7, 4), seed=1), rows((2, 7, 3), seed=2)
    stages = rw.attention_stages(query, key, value, softcap=1.0, causal=True, offset=2, slopes=0.25)
    np.testing.assert_allclose(stages.scores, query @ key.swapaxes(1, 2) / 2, rtol=0, atol=1e-15)
    np.testing.assert_allclose(stages.capped, np.tanh(stages.scores), rtol=1e-15)
    hidden = np.arange(7) > np.arange(5)[:, None] + 2
    assert np.isfinite(stages.capped).all()
    assert (np.isneginf(stages.biased) == hidden).all()
    np.testing.assert_allclose(rw.softmax(stages.biased), stages.weights, rtol=1e-15)
    np.testing.assert_allclose(stages.weights @ value, stages.output, rtol=0, atol=1e-15)
    with pytest.raises(AttributeError):
        stages.output = value  # type: ignore[misc]


def test_nothing_that_is_given_is_changed() -> None:
    arrays: dict[str, NDArray[Any]] = {
        "query": rows((2, 4, 5, 4)), "key": rows((2, 2, 5, 4)), "value": rows((2, 2, 5, 3)),
        "mask": np.tri(5, dtype=bool), "bias": rows((5, 5)), "slopes": rows(4), "sinks": rows(4),
        "offset": np.array([0, 1]), "key_lengths": np.array([4, 5]),
    }  # fmt: skip
    copies = {name: array.copy() for name, array in arrays.items()}
    for array in arrays.values():
        array.flags.writeable = False
    query, key, value, *_ = arrays.values()
    options: dict[str, Any] = dict(list(arrays.items())[3:])
    rw.attention_stages(query, key, value, causal=True, **options)
    rw.attention(query, key, value, causal=True, **options)
    rw.attention_weights(query, key, causal=True, **options)
    rw.merge_attention(query, query[..., 0])
    for name, array in arrays.items():
        assert_same_bits(array, copies[name])


@dtypes
def test_capped_scores_are_an_array_of_their_own_only_where_there_is_a_cap(dtype: str) -> None:
    x = rows((3, 4), dtype)
    stages = rw.attention_stages(x, x, x)
    assert stages.capped is stages.scores
    stages = rw.attention_stages(x, x, x, softcap=2.0)
    assert stages.capped is not stages.scores
    assert stages.capped.dtype == x.dtype


@pytest.mark.thread_unsafe(reason="counts the memory of the process")
def test_stages_of_data_that_bring_their_dtype_are_not_copied() -> None:
    x = np.ones((1000, 4), np.dtype(np.float32, copy=True))
    tracemalloc.start()
    rw.attention_weights(x, x)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1.5 * 4 * 1000**2
