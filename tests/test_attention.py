"""Attention: what it means, option by option, against the loops of tests/reference.py.

How exact it is where numbers are extreme is tested in test_attention_numbers.py, that its bits
depend on nothing but the numbers in test_attention_bits.py, how parts are merged in
test_attention_parts.py, and what is refused in test_attention_refusals.py.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests import reference
from tests.data import DTYPES, UNIT, assert_same_bits, dtypes, rows, unaligned

import ropewalk as rw

INF, NAN = math.inf, math.nan
BLOCK = 128  # keys that are summed in the arithmetic of the data before float64 joins their sums


# How far a result may be from the exact one

# Beside the largest weight smaller ones are 0.
SMALLEST_WEIGHT = {"float32": 2.0**-100, "float64": 2.0**-1022}


def allowed_errors(
    expected: reference.Attention, call: "Call", unit: float, in_a_row: int
) -> reference.Attention:
    """Return how far each stage may be from the exact one where every operation rounds by `unit`.

    A logit is a dot product of d terms (d roundings), times a scale that is itself rounded (4), a
    soft cap (a cap and a factor that are rounded, a product, a tanh of up to 3 ulp, and a product
    with the cap: 11), a bias and a slope (5), each relative to at most the sum of the sizes of all
    that is added; then the largest logit is subtracted, and the exponential is off by up to 1.1
    ulp, which is 2.2 units. If logit j is off by d_j at most, the weights are e^(d_j) a_j / sum a
    e^d, so that the output is off by sum a_j (e^(d_j) - 1) (v_j - o) / sum a e^d. Sums of as many
    terms as are added `in_a_row`, and of a quarter of them for the denominator, round so often,
    relative to sum a |v|.
    """
    dim = call.query.shape[-1]
    largest = call.magnitudes
    biased = np.where(np.isneginf(expected.biased), 0, largest.biased)
    sinks = np.broadcast_to(call.sinks(expected.lse.shape[:-1])[..., None], expected.lse.shape)
    top = np.maximum(expected.biased.max(axis=-1, initial=-INF), sinks)
    top = np.where(np.isneginf(top), 0, top)
    below = np.where(np.isneginf(expected.biased), 0, top[..., None] - expected.biased)
    of_logits = unit * ((dim + 20) * biased + below + 2.2)
    of_sinks = np.where(np.isneginf(sinks), 0, unit * (np.abs(sinks) + top - sinks + 2.2))
    of_sums = unit * (in_a_row / 4 + 4)

    weights = expected.weights
    seen = np.isfinite(expected.lse)
    sink_weights = np.exp(sinks - np.where(seen, expected.lse, 0))
    least = (weights * np.exp(-of_logits)).sum(axis=-1) + sink_weights * np.exp(-of_sinks)
    most = (weights * np.exp(of_logits)).sum(axis=-1) + sink_weights * np.exp(of_sinks)
    least, most = np.where(seen, least, 1), np.where(seen, most, 1)

    value = call.values_of_heads(weights.shape[:-2])
    spread = np.abs(value[..., None, :, :] - expected.output[..., :, None, :])
    off = ((weights * np.expm1(of_logits))[..., None] * spread).sum(axis=-2)
    off += (sink_weights * np.expm1(of_sinks))[..., None] * np.abs(expected.output)
    added = (weights * np.exp(of_logits)) @ np.abs(value)
    tiny = np.finfo(np.float64 if unit == UNIT["float64"] else np.float32).tiny
    lost = SMALLEST_WEIGHT["float64" if unit == UNIT["float64"] else "float32"] * weights.shape[-1]
    return reference.Attention(
        scores=unit * (dim + 4) * largest.scores + tiny,
        capped=unit * (dim + 20) * largest.scores + tiny,
        biased=unit * (dim + 20) * biased + tiny,
        weights=weights * (np.exp(of_logits) / least[..., None] * (1 + of_sums) - 1) + lost,
        lse=np.log(most / least) + of_sums + 2**-52 * np.abs(np.where(seen, expected.lse, 0)),
        output=off / least[..., None]
        + (unit * in_a_row + of_sums) * added / least[..., None]
        + lost * np.abs(value).max(axis=(-1, -2), initial=1, keepdims=True),
    )


def assert_within(actual: NDArray[Any], expected: Any, allowed: Any) -> None:
    """Check errors one by one, and that what is infinite is the same."""
    assert actual.shape == expected.shape
    found = actual.astype(np.float64)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    excess = (
        np.abs(found[finite] - expected[finite]) - np.broadcast_to(allowed, finite.shape)[finite]
    )
    assert excess.max(initial=0) == 0


@dataclass(frozen=True, eq=False)
class Call:
    """Arguments of attention."""

    query: NDArray[Any]
    key: NDArray[Any]
    value: NDArray[Any]
    options: dict[str, Any]
    precision: str | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.query, self.key, self.value)

    @cached_property
    def magnitudes(self) -> reference.Attention:
        """Stages of the absolute values: sums of the sizes of everything that is added."""
        options = dict(self.options)
        for name in ("scale", "slopes", "bias"):
            if options.get(name) is not None:
                size = np.abs(options[name]) * (-1.0 if name == "slopes" else 1.0)  # subtracted
                options[name] = np.where(np.isneginf(options[name]), -INF, size)
        options |= {"softcap": None, "sinks": -INF}
        no_values = self.value[..., :0]
        return reference.attention_of_heads(
            np.abs(self.query), np.abs(self.key), no_values, **options
        )

    def sinks(self, leading: tuple[int, ...]) -> NDArray[np.float64]:
        own = np.broadcast_to(self.options.get("sinks", -INF), self.query.shape[:-2])
        return np.broadcast_to(own, leading)

    def values_of_heads(self, leading: tuple[int, ...]) -> NDArray[np.float64]:
        value = self.value.astype(np.float64)
        if value.ndim > 2 and value.shape[-3]:
            value = value.repeat(leading[-1] // value.shape[-3], axis=-3)
        return np.broadcast_to(value, (*leading, *value.shape[-2:]))

    def expected(self) -> tuple[reference.Attention, reference.Attention]:
        """Return the stages of the reference, and how far the library's may be from them."""
        keys = self.key.shape[-2]
        stages = reference.attention_of_heads(self.query, self.key, self.value, **self.options)
        in_float64 = self.dtype == np.float64 or self.precision == "float64"
        unit = UNIT["float64" if in_float64 else "float32"]
        in_a_row = keys if in_float64 else min(keys, BLOCK)
        if self.precision == "bfloat16":  # 32 keys at once, by weights that are two numbers
            in_a_row += 20 + keys // 14
        computed = allowed_errors(stages, self, unit, in_a_row)
        # The loops of the reference round as well, and sum in any case exactly.
        own = allowed_errors(stages, self, UNIT["float64"], 1)
        allowed = {name: error + getattr(own, name) for name, error in vars(computed).items()}
        if self.precision == "bfloat16":
            value = np.abs(self.values_of_heads(stages.weights.shape[:-2]))
            allowed["output"] += 1.001 * 2**-15 * (stages.weights @ value)
        for name in ("scores", "capped", "biased", "weights", "output"):
            stage = getattr(stages, name)
            allowed[name] += rounding(np.where(np.isfinite(stage), stage, 0), self.dtype)
        return stages, reference.Attention(**allowed)

    def check(self) -> None:
        """Compare everything that the library computes with the reference."""
        expected, allowed = self.expected()
        data, options = (self.query, self.key, self.value), dict(self.options)
        if self.precision is not None:
            options["precision"] = self.precision
        stages = rw.attention_stages(*data, **options)
        for name in vars(expected):
            stage = getattr(stages, name)
            assert stage.dtype == (np.float64 if name == "lse" else self.dtype), name
            assert_within(stage, getattr(expected, name), getattr(allowed, name))
        output = rw.attention(*data, **options)
        assert output.dtype == self.dtype
        assert_within(output, expected.output, allowed.output)
        both, lse = rw.attention_with_lse(*data, **options)
        assert_same_bits(both, output)
        assert lse.dtype == np.float64
        assert_within(lse, expected.lse, allowed.lse)
        weights = rw.attention_weights(self.query, self.key, **options)
        assert weights.dtype == np.result_type(self.query, self.key)
        # Values may have more heads and another type.
        if weights.shape == expected.weights.shape and weights.dtype == self.dtype:
            assert_within(weights, expected.weights, allowed.weights)


def smallest_subnormal(dtype: np.dtype[Any]) -> float:
    limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return float(limits.smallest_subnormal)


def rounding(x: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """Return half a unit in the last place of x in a dtype, or more."""
    return UNIT[dtype.name] * np.abs(x) + smallest_subnormal(dtype)


# Everything together, small

Lay = Callable[[NDArray[Any]], NDArray[Any]]
# The same values, lying differently.
LAYOUTS: dict[str, Lay] = {
    "C order": lambda x: x,
    "Fortran order": np.asfortranarray,
    "features apart": lambda x: x.swapaxes(-1, -2).copy().swapaxes(-1, -2),
    "heads behind lengths": lambda x: x.swapaxes(0, -2).copy().swapaxes(0, -2),
    "reversed": lambda x: x[..., ::-1, :].copy()[..., ::-1, :],
    "reversed features": lambda x: x[..., ::-1].copy()[..., ::-1],
    "every second row": lambda x: x.repeat(2, axis=-2)[..., ::2, :],
    "every second feature": lambda x: x.repeat(2, axis=-1)[..., ::2],
    "unaligned": unaligned,
}
layouts = pytest.mark.parametrize("layout", LAYOUTS)


@st.composite
def draw_calls(draw: st.DrawFn) -> Call:
    """Return any call of attention: shapes, options, dtypes and layouts."""
    lengths = st.one_of(st.integers(0, 3), st.integers(0, 20))
    queries, keys = draw(lengths), draw(lengths)
    dim, value_dim = draw(st.integers(1, 20)), draw(st.one_of(st.just(8), st.integers(0, 19)))
    batch = tuple(draw(st.lists(st.integers(0, 2), max_size=2)))
    of_queries, of_keys = batch[:1], batch[:1]
    if draw(st.booleans()):  # four dimensions or more, the last of the leading ones are heads
        groups, group = draw(st.integers(0, 2)), draw(st.integers(1, 3))
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
    precision = draw(st.sampled_from([None, None, "float64", "bfloat16"]))
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
    "causal": ((300, 4), (300, 4), 3, {"causal": True}),
    "causal, from the middle": ((100, 4), (290, 4), 3, {"causal": True, "offset": 131}),
    "causal, before the keys": ((200, 4), (140, 4), 3, {"causal": True, "offset": -77}),
    "a window": ((260, 4), (260, 4), 3, {"window": (130, 5)}),
    "a narrow window": ((280, 4), (280, 4), 3, {"window": (0, 0)}),
    "slopes": ((2, 150, 4), (1, 260, 4), 3, {"slopes": [0.5, 0.004], "offset": 110}),
    "lengths": ((3, 97, 4), (3, 257, 4), 3, {"key_lengths": [128, 129, 0]}),
    "capped": ((60, 4), (257, 4), 3, {"softcap": 1.5}),
    "a sink": ((60, 4), (257, 4), 3, {"sinks": 5.0}),
    "one query": ((4, 1, 24), (2, 300, 24), 17, {}),
    "wide": ((3, 1100), (130, 1100), 261, {}),
    "batches of grouped heads": ((2, 6, 50, 4), (2, 2, 131, 4), 3, {"causal": True, "offset": 81}),
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


# Where queries stand, and what they see


def weights_of_equal_keys(queries: int, keys: int, **options: Any) -> NDArray[np.float64]:
    """Return weights where all keys that are seen weigh the same."""
    return rw.attention_weights(np.ones((queries, 2)), np.ones((keys, 2)), **options)


def test_the_offset_moves_the_diagonal_of_a_causal_mask() -> None:
    upper = weights_of_equal_keys(2, 4, causal=True, offset=0)
    np.testing.assert_allclose(upper, [[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]], rtol=1e-15)
    lower = weights_of_equal_keys(2, 4, causal=True, offset=2)
    expected = [[1 / 3, 1 / 3, 1 / 3, 0.0], [1 / 4, 1 / 4, 1 / 4, 1 / 4]]
    np.testing.assert_allclose(lower, expected, rtol=1e-15)


def test_equal_lengths_need_no_offset_and_others_do_without_positions() -> None:
    query, key, value = rows((5, 4)), rows((5, 4), seed=1), rows((5, 3), seed=2)
    places: dict[str, Any]
    for places in ({"causal": True}, {"window": (1, 1)}, {"slopes": 0.5}):
        expected = rw.attention(query, key, value, offset=0, **places)
        assert_same_bits(rw.attention(query, key, value, **places), expected)
    rw.attention(query[:2], key, value, mask=np.ones((2, 5), bool), key_lengths=3)


def test_queries_before_all_keys_see_nothing() -> None:
    query, key, value = rows((4, 4)), rows((3, 4), seed=1), np.full((3, 2), NAN)
    value[0] = [1.0, 2.0]
    stages = rw.attention_stages(query, key, value, causal=True, offset=-3)
    assert (stages.output == [[0, 0], [0, 0], [0, 0], [1, 2]]).all()
    assert np.isneginf(stages.lse[:3]).all()
    assert (stages.weights[:3] == 0).all()


def test_a_window_says_how_many_keys_are_seen_on_either_side() -> None:
    third = 1 / 3
    actual = weights_of_equal_keys(3, 5, window=(0, 2), offset=1)
    expected = [[0, third, third, third, 0], [0, 0, third, third, third], [0, 0, 0, 0.5, 0.5]]
    np.testing.assert_allclose(actual, expected, rtol=1e-15)
    open_end = weights_of_equal_keys(3, 3, window=(None, 0))
    assert_same_bits(open_end, weights_of_equal_keys(3, 3, causal=True))


@dtypes
def test_windows_and_causal_masks_are_the_same_where_they_say_the_same(dtype: str) -> None:
    data = [rows((2, 200, 4), dtype, i) for i in range(3)]
    assert_same_bits(rw.attention(*data, window=(None, None)), rw.attention(*data))
    assert_same_bits(rw.attention(*data, window=(None, 0)), rw.attention(*data, causal=True))
    both = rw.attention(*data, causal=True, window=(7, 3))
    assert_same_bits(both, rw.attention(*data, window=(7, 0)))
    assert_same_bits(rw.attention(*data, window=(10**9, 2**62)), rw.attention(*data))


@dtypes
def test_every_way_to_mask_gives_the_same_bits(dtype: str) -> None:
    queries, keys = 100, 300
    query, key, value = (
        rows((queries, 4), dtype),
        rows((keys, 4), dtype, 1),
        rows((keys, 3), dtype, 2),
    )
    i, j = np.arange(queries)[:, None] + 150, np.arange(keys)
    ways: list[tuple[dict[str, Any], NDArray[np.bool_]]] = [
        ({"causal": True, "offset": 150}, j <= i),
        ({"window": (40, 70), "offset": 150}, (j >= i - 40) & (j <= i + 70)),
        ({"key_lengths": 77}, np.broadcast_to(j < 77, (queries, keys))),
    ]
    for options, mask in ways:
        expected = rw.attention(query, key, value, **options)
        assert_same_bits(rw.attention(query, key, value, mask=mask), expected)
        bias = np.where(mask, 0.0, -INF)
        assert_same_bits(rw.attention(query, key, value, bias=bias), expected)


def test_key_lengths_do_not_move_the_queries() -> None:
    actual = weights_of_equal_keys(3, 4, causal=True, offset=1, key_lengths=2)
    np.testing.assert_allclose(actual, [[0.5, 0.5, 0, 0]] * 3, rtol=1e-15)


def test_one_row_again_and_again_may_be_of_another_type() -> None:
    query, key = np.broadcast_to(rows((4,), "float32"), (3, 4)), rows((5, 4))
    expected = rw.attention(query.astype(np.float64), key, key)
    assert_same_bits(rw.attention(query, key, key), expected)


@pytest.mark.parametrize("queries", [1, 5, 60])
def test_sequences_that_share_keys_have_lengths_of_their_own(queries: int) -> None:
    query, keys = np.zeros((3, queries, 2)), np.zeros((4, 2))
    weights = rw.attention_weights(query, keys, key_lengths=[1, 2, 4])
    expected = np.array([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4])
    np.testing.assert_array_equal(weights, np.repeat(expected[:, None], queries, axis=1))


def test_a_cache_of_several_lengths() -> None:
    # Two queries end each of three sequences, whose last key is the last valid one. Where only one
    # is valid, the first query stands before it and sees nothing.
    lengths = np.array([7, 2, 1])
    query, key, value = rows((3, 2, 2, 4)), rows((3, 1, 9, 4), seed=1), rows((3, 1, 9, 3), seed=2)
    options: dict[str, Any] = {"causal": True, "key_lengths": lengths, "offset": lengths - 2}
    Call(query, key, value, options).check()
    whole = rw.attention(query, key, value, **options)
    assert not whole[2, :, 0].any()
    for i, length in enumerate(lengths):
        own = key[i, :, :length], value[i, :, :length]
        alone = rw.attention(query[i], *own, causal=True, offset=int(length) - 2)
        np.testing.assert_allclose(whole[i], alone, rtol=0, atol=1e-15)


def test_masks_are_aligned_right() -> None:
    # (3, 5, 7) are heads, queries and keys, for every batch.
    query, key, value = rows((2, 3, 5, 4)), rows((2, 3, 7, 4), seed=1), rows((2, 3, 7, 2), seed=2)
    mask = np.random.default_rng(3).random((3, 5, 7)) < 0.5
    expected = rw.attention(query, key, value, mask=np.stack([mask, mask]))
    assert_same_bits(rw.attention(query, key, value, mask=mask), expected)
    bias = rows((3, 1, 7), seed=4)
    expected = rw.attention(query, key, value, bias=np.broadcast_to(bias, (2, 3, 5, 7)).copy())
    assert_same_bits(rw.attention(query, key, value, bias=bias), expected)


HIDDEN: dict[str, dict[str, Any]] = {
    "mask": {"mask": np.arange(300) < 140},
    "bias": {"bias": np.where(np.arange(300) < 140, 0.5, -INF)},
    "key_lengths": {"key_lengths": 140},
    "causal": {"causal": True, "offset": 89},
    "window": {"window": (None, 3), "offset": 86},
}


@pytest.mark.parametrize("queries", [1, 5, 51])
@pytest.mark.parametrize("way", HIDDEN)
@dtypes
def test_masked_keys_and_values_are_never_read(dtype: str, way: str, queries: int) -> None:
    query, key, value = (
        rows((queries, 20), dtype),
        rows((300, 20), dtype, 1),
        rows((300, 18), dtype, 2),
    )
    options = HIDDEN[way]
    if "offset" in options:  # the last query sees 140 keys
        options = options | {"offset": options["offset"] + 51 - queries}
    between = np.arange(300) != 137

    def results(hidden: float) -> list[NDArray[Any]]:
        k, v = key.copy(), value.copy()
        k[140:], v[140:] = hidden, hidden
        stages = rw.attention_stages(query, k, v, **options)
        found = [stages.biased, stages.weights, stages.lse, stages.output]
        found += [rw.attention(query, k, v, **options), rw.attention_weights(query, k, **options)]
        k[138:], v[138:] = key[138:], value[138:]
        k[137], v[137] = hidden, hidden
        return [*found, rw.attention(query, k, v, mask=between)]

    clean = results(0.0)
    assert all(np.isfinite(array.astype(float)).all() for array in clean[1:])
    for hidden in (NAN, INF, -INF):
        for actual, expected in zip(results(hidden), clean, strict=True):
            assert_same_bits(actual, expected)


@dtypes
@pytest.mark.parametrize("queries", [1, 60])
def test_a_value_that_is_masked_may_be_nan_in_any_feature(queries: int, dtype: str) -> None:
    query, key, value = (rows((n, 21), dtype, n) for n in (queries, 200, 201))
    mask = np.arange(200) != 70
    expected = rw.attention(query, key, value[:200], mask=mask)
    for feature in range(21):
        spoiled = value[:200].copy()
        spoiled[70, feature] = NAN
        assert_same_bits(rw.attention(query, key, spoiled, mask=mask), expected)


def test_a_block_of_which_one_head_sees_the_beginning_is_looked_at_to_its_end() -> None:
    query, key, value = (rows(shape, "float32") for shape in ((2, 50, 4), (300, 4), (300, 4)))
    mask = np.arange(300) != 100
    places: dict[str, Any] = {"causal": True, "offset": [0, 200], "mask": mask}
    for order in (slice(None), slice(None, None, -1)):  # of the heads, which share the values
        places["offset"] = places["offset"][order]
        expected = rw.attention(query, key, value, **places)
        spoiled = value.copy()
        spoiled[100] = NAN
        with rw.num_threads(1):
            assert_same_bits(rw.attention(query, key, spoiled, **places), expected)


@dtypes
@pytest.mark.parametrize("queries", [3, 40, 150])
@pytest.mark.parametrize("hidden", [NAN, INF])
def test_values_that_some_queries_see_may_be_anything_for_the_others(
    queries: int, hidden: float, dtype: str
) -> None:
    query, key, value = (rows((queries, 16), dtype, seed) for seed in range(3))
    for window in ((None, 0), (5, 0), (0, 5), (5, 5)):
        expected = rw.attention(query, key, value, window=window)
        for i in {0, queries // 2, queries - 1}:
            spoiled = value.copy()
            spoiled[i] = hidden
            actual = rw.attention(query, key, spoiled, window=window)
            after_key = np.arange(queries) - i
            before, after = window
            seen = after_key >= -after
            if before is not None:
                seen &= after_key <= before
            assert not np.isfinite(actual[seen].astype(float)).any()
            assert_same_bits(actual[~seen], expected[~seen])


@dtypes
@pytest.mark.parametrize("queries", [3, 40])
def test_what_a_mask_or_an_infinite_key_hides_may_be_nan_beside_what_is_out_of_sight(
    queries: int, dtype: str
) -> None:
    query, key, value = (rows((queries, 16), dtype, seed) for seed in range(3))
    query, mask = np.abs(query) + 1, np.arange(queries) != 1
    expected = rw.attention(query, key, value, mask=mask, causal=True)
    value[1] = NAN
    assert_same_bits(rw.attention(query, key, value, mask=mask, causal=True), expected)
    key[1] = -INF
    assert_same_bits(rw.attention(query, key, value, causal=True), expected)


def test_heads_whose_places_run_on_keep_their_slopes() -> None:
    query, key = rows((2, 10, 8)), rows((16, 8), seed=1)
    slopes, offsets = [1.0, 0.25], [0, 10]
    found = rw.attention(query, key, key, slopes=slopes, offset=offsets)
    for head, (slope, offset) in enumerate(zip(slopes, offsets, strict=True)):
        alone = rw.attention(query[head], key, key, slopes=slope, offset=offset)
        assert_same_bits(found[head], alone)


@dtypes
@pytest.mark.parametrize("queries", [1, 30])
def test_a_bias_hides_every_key_though_there_are_slopes(queries: int, dtype: str) -> None:
    query, key, value = (rows((n, 5), dtype, n) for n in (queries, 200, 201))
    bias = np.zeros((queries, 200))
    bias[0] = -INF
    output, lse = rw.attention_with_lse(query, key, value[:200], bias=bias, slopes=0.5, offset=0)
    assert not output[0].any()
    assert lse[0] == -INF
    assert np.isfinite(lse[1:]).all()


@dtypes
@pytest.mark.parametrize("window", [None, (10, 10)])
def test_each_block_of_each_head_is_looked_at(window: tuple[int, int] | None, dtype: str) -> None:
    """Several tiles of queries meet a block, or parts of it, and of what is hidden one is NaN."""
    for head, hidden in ((0, 20), (1, 20), (1, 150), (2, 299)):
        query, key, value = (rows((3, 300, 4), dtype, seed) for seed in range(3))
        mask = ~np.isin(np.arange(300), [20, 150, 299])
        expected = rw.attention(query, key, value, mask=mask, window=window)
        value[head, hidden] = NAN
        assert_same_bits(rw.attention(query, key, value, mask=mask, window=window), expected)


@pytest.mark.parametrize("queries", [1, 100])
def test_more_keys_than_any_memory_holds(queries: int) -> None:
    """They repeat in memory, and but a few are seen."""
    query, key, value = rows((3, queries, 4)), rows((3, 1, 4), seed=1), rows((3, 1, 4), seed=2)
    many = [np.broadcast_to(x, (3, 2**48, 4)) for x in (key, value)]
    few = [np.broadcast_to(x, (3, 100, 4)) for x in (key, value)]
    expected = rw.attention(query, *few, causal=True, offset=0)
    assert_same_bits(rw.attention(query, *many, causal=True, offset=0), expected)
    far = rw.attention(query, *many, window=(99, 0), offset=2**47)
    np.testing.assert_allclose(far, rw.attention(query, *few), rtol=0, atol=1e-14)


def test_any_byte_but_0_of_a_mask_is_true() -> None:
    query, key, value = rows((5, 4)), rows((6, 4), seed=1), rows((6, 3), seed=2)
    read = np.array([2, 0, 255, 1, 0, 128], np.uint8)
    expected = rw.attention(query, key, value, mask=read != 0)
    assert_same_bits(rw.attention(query, key, value, mask=read.view(bool)), expected)


@dtypes
@pytest.mark.parametrize("queries", [1, 60])
def test_a_row_that_sees_no_key_is_0(queries: int, dtype: str) -> None:
    query, key, value = (
        rows((queries, 4), dtype),
        rows((200, 4), dtype, 1),
        rows((200, 3), dtype, 2),
    )
    value[:] = NAN
    for options in ({"mask": False}, {"key_lengths": 0}, {"bias": np.full((1, 1), -INF)}):
        stages = rw.attention_stages(query, key, value, **options)
        assert not stages.output.any()
        assert not stages.weights.any()
        assert np.isneginf(stages.lse).all()
        assert not rw.attention(query, key, value, **options).any()
        sunk, lse = rw.attention_with_lse(query, key, value, sinks=0.5, **options)
        assert not sunk.any()
        assert (lse == 0.5).all()


def test_a_sink_of_minus_infinity_is_none() -> None:
    query, key, value = rows((5, 4)), rows((7, 4), seed=1), rows((7, 3), seed=2)
    expected = rw.attention_with_lse(query, key, value)
    for actual, plain in zip(
        rw.attention_with_lse(query, key, value, sinks=-INF), expected, strict=True
    ):
        assert_same_bits(actual, plain)


def test_a_sink_takes_weight_from_the_keys() -> None:
    query, key = rows((1, 2, 5, 4)), rows((1, 2, 7, 4), seed=1)
    stages = rw.attention_stages(query, key, key, sinks=[1.5, -0.5])
    left = 1 - np.exp(np.array([1.5, -0.5])[:, None] - stages.lse)
    np.testing.assert_allclose(stages.weights.sum(axis=-1), left, rtol=1e-14)


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
