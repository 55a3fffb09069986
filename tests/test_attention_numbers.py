"""Attention where numbers are large, small, equal, many, infinite or none at all.

What each option means is tested in test_attention.py, whose bounds hold here too.
"""

import math
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.attention_calls import SMALLEST_WEIGHT, Call
from tests.data import DTYPES, UNIT, assert_same_bits, by_threads, dtypes, rows

import ropewalk as rw

INF, NAN = math.inf, math.nan
floats = pytest.mark.parametrize("dtype", ["float64", "float32"])


def exact_attention(
    query: NDArray[Any], key: NDArray[Any], value: NDArray[Any], **options: Any
) -> NDArray[np.float64]:
    """Return attention in the float64 arithmetic of NumPy, far more exact than float32."""
    q, k, v = (x.astype(np.float64) for x in (query, key, value))
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if options.get("causal"):
        places = np.arange(q.shape[-2])[:, None] + options.get("offset", 0)
        scores[..., np.arange(k.shape[-2]) > places] = -INF
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True) @ v
    return result


# Accuracy


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("keys", [64, 1024, 8192])
def test_float32_is_within_its_goal_on_normal_data(keys: int, dim: int, causal: bool) -> None:
    query, key, value = (rows((n, dim), "float32", n) for n in (60, keys, keys + 1))
    value = value[:keys]
    options: dict[str, Any] = {"causal": causal, "offset": keys - 60}
    error = rw.attention(query, key, value, **options) - exact_attention(
        query, key, value, **options
    )
    assert np.abs(error).max() <= 2e-6
    assert np.sqrt((error**2).mean()) <= 1.5e-7
    in_float64 = rw.attention(query, key, value, precision="float64", **options)
    nearest = exact_attention(query, key, value, **options)
    assert (np.abs(in_float64 - nearest) <= UNIT["float32"] * np.abs(nearest) + 1e-14).all()


@pytest.mark.parametrize("queries", [1, 7, 60])
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("keys", [2, 5, 16])
def test_float32_is_within_its_goal_with_few_keys(keys: int, dim: int, queries: int) -> None:
    """Where a single weight counts for much, errors are largest."""
    heads = 30_000 // queries
    query, key, value = (
        rows((heads, n, dim), "float32", seed) for seed, n in enumerate((queries, keys, keys))
    )
    error = rw.attention(query, key, value) - exact_attention(query, key, value)
    assert np.abs(error).max() <= 1e-5
    assert np.sqrt((error**2).mean()) <= 1.5e-7


@pytest.mark.parametrize("queries", [1, 5, 60])
@pytest.mark.parametrize("keys", [1, 2, 5, 16, 128, 1000, 20_000])
@pytest.mark.parametrize("kind", ["normal", "wide", "equal", "rising"])
def test_log_sum_exps_of_exact_logits_are_within_a_millionth(
    kind: str, keys: int, queries: int
) -> None:
    rng = np.random.default_rng(keys)
    logits = {
        "normal": rng.standard_normal((4, keys)),
        "wide": 10 * rng.standard_normal((4, keys)),
        "equal": np.full((4, keys), rng.uniform(-5, 5, (4, 1))),
        "rising": np.linspace([0, 0, 0, -20], [1, 10, 30, -10], keys, axis=-1),
    }[kind].astype(np.float32)
    query = np.ones((4, queries, 1), np.float32)
    _, found = rw.attention_with_lse(query, logits[..., None], logits[..., None], scale=1.0)
    expected = [reference.log_sum_exp(row) for row in logits.astype(np.float64).tolist()]
    assert np.abs(found - np.array(expected)[:, None]).max() <= 1e-6


@pytest.mark.parametrize("queries", [1, 7], ids=["one query", "seven"])
@pytest.mark.parametrize("kind", ["normal", "equal", "rising"])
def test_errors_do_not_grow_with_the_number_of_keys(kind: str, queries: int) -> None:
    # Inside a block of 128 keys the sums of float32 are off by up to 128 + 32 units if all
    # roundings were the worst and the same way; as they come they add up like a random walk:
    # about sqrt(128 / 3) / 2 units of sums that begin small. 8 units leave room for four of those.
    errors = []
    for keys in (1024, 262144):
        rng = np.random.default_rng(keys)
        value = (1 + rng.standard_normal((keys, 3)) / 1024).astype(np.float32)
        logits = {
            "normal": rng.standard_normal(keys),
            "equal": np.full(keys, 0.7),
            "rising": np.linspace(0, 10, keys),
        }[kind].astype(np.float32)
        query, key = np.ones((queries, 1), np.float32), logits[:, None]
        error = rw.attention(query, key, value) - exact_attention(query, key, value)
        errors.append(np.abs(error).max() / UNIT["float32"])
    assert max(errors) <= 8


@pytest.mark.parametrize("size", [100.0, 1e4])
@dtypes
def test_large_logits(dtype: str, size: float) -> None:
    key = np.linspace(-size, size, 61)[:, None].astype(DTYPES[dtype])
    query = np.array([[1.0], [-1.0], [0.001]], DTYPES[dtype])
    Call(query, key, rows((61, 5), dtype), {"scale": 1.0}).check()


@floats
def test_one_huge_logit_gives_the_row_of_its_value(dtype: str) -> None:
    for queries in (1, 5, 50):
        key, value = rows((300, 4), dtype), rows((300, 7), dtype, 1)
        key[171] = 1e6
        output = rw.attention(np.ones((queries, 4), DTYPES[dtype]), key, value)
        assert_same_bits(output, np.broadcast_to(value[171], (queries, 7)))


@dtypes
def test_equal_logits_give_the_mean(dtype: str) -> None:
    value = rows((300, 7), dtype)
    mean = [math.fsum(column) / 300 for column in value.astype(float).T.tolist()]
    for query, scale in ((np.zeros((5, 4)), None), (rows((5, 4)), 0.0)):
        output = rw.attention(
            query.astype(DTYPES[dtype]), rows((300, 4), dtype), value, scale=scale
        )
        # One block of keys is off by up to (128 + 32) units, the result by one of its dtype.
        allowed = 160 * UNIT["float64" if dtype == "float64" else "float32"] + UNIT[dtype]
        error = np.abs(output.astype(float) - mean)
        assert (error <= allowed * np.abs(value.astype(float)).mean(axis=0)).all()


@pytest.mark.parametrize("queries", [1, 5, 60])
@pytest.mark.parametrize("signs", ["one", "both"])
@dtypes
def test_values_of_a_128th_of_the_largest_number_do_not_overflow(
    dtype: str, signs: str, queries: int
) -> None:
    """Those of float64 may, from the largest number divided by the number of keys on."""
    keys = 300
    limits: Any = ml_dtypes.finfo(DTYPES[dtype])  # type: ignore[no-untyped-call]
    size = float(limits.max) / (1.01 * keys if dtype == "float64" else 128)
    value = np.full((keys, 7), size)
    if signs == "both":
        value = np.copysign(value, rows((keys, 7)))
    value = value.astype(DTYPES[dtype])
    query, key = np.zeros((queries, 4), DTYPES[dtype]), rows((keys, 4), dtype)
    output = rw.attention(query, key, value).astype(np.float64)
    mean = [math.fsum(column) for column in (value.astype(float) / keys).T.tolist()]
    added = 164 * UNIT["float32"]
    if dtype == "float64":
        added = (4 + 5 * keys / 4) * UNIT["float64"]
    assert np.isfinite(output).all()
    error = np.abs(output - mean)
    assert (error <= added * size + UNIT[dtype] * np.abs(mean)).all()


@pytest.mark.parametrize("queries", [1, 5, 60])
def test_scores_beyond_float16_show_as_infinite_and_are_computed(queries: int) -> None:
    # Of whole numbers, so that scores are exact in float32.
    query = (100 * rows((queries, 64)).round()).astype(np.float16)
    key = rows((90, 64), seed=1).round().astype(np.float16) * np.float16(100)
    value = rows((90, 5), "float16", 2)
    stages = rw.attention_stages(query, key, value, scale=1.0)
    scores = query.astype(np.float64) @ key.astype(np.float64).T
    assert np.abs(scores).max() < 2**24
    beyond = np.abs(scores) >= 65520  # from where on numbers round to infinity
    assert beyond.any()
    assert not beyond.all()
    for shown in (stages.scores, stages.capped, stages.biased):
        with np.errstate(over="ignore"):
            assert_same_bits(shown, scores.astype(np.float16))
    exact = exact_attention(8 * query.astype(np.float64), key, value)  # which divides by 8
    error = np.abs(stages.output - exact)
    assert (error <= UNIT["float16"] * np.abs(exact) + 164 * UNIT["float32"]).all()


# Every finite number is a number


@pytest.mark.parametrize("of_bias", ["float32", "float64", "float16"])
@dtypes
def test_the_least_finite_bias_is_a_number(dtype: str, of_bias: str) -> None:
    least = np.finfo(of_bias).min
    query, key, value = rows((3, 4), dtype), rows((5, 4), dtype, 1), rows((5, 2), dtype, 2)
    # Beside it scores are lost: all weigh the same.
    if of_bias != "float16":
        stages = rw.attention_stages(query, key, value, bias=np.full((3, 5), least, of_bias))
        assert_same_bits(stages.weights, np.full((3, 5), 1 / 5, DTYPES[dtype]))
        assert stages.output.any()
        assert np.isfinite(stages.lse).all()
    # Beside a bias of 0 it weighs nothing, as -inf does.
    seen = np.array([True, False, True, True, False])
    expected = rw.attention(query, key, value, mask=seen)
    actual = rw.attention(query, key, value, bias=np.where(seen, 0, least).astype(of_bias))
    assert_same_bits(actual, expected)


@dtypes
def test_a_bias_beyond_float32_is_its_largest_number(dtype: str) -> None:
    query, key, value = rows((3, 4), dtype), rows((5, 4), dtype, 1), rows((5, 2), dtype, 2)
    bias = np.array([0, 1e300, 0, -1e300, 0])
    stages = rw.attention_stages(query, key, value, bias=bias)
    assert_same_bits(stages.weights, np.array(3 * [[0, 1, 0, 0, 0]]).astype(DTYPES[dtype]))
    assert_same_bits(stages.output, np.repeat(value[1:2], 3, axis=0))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("of_bias", ["f8", ">f8", ">f4", "f2", ">f2", "bfloat16"])
def test_a_bias_of_another_type_is_the_same_in_float32(of_bias: str, threads: int) -> None:
    x = rows((300, 4), "float32")
    bias = np.clip(rows((300, 300), seed=1), -3, 3)
    bias = np.round(64 * bias) / 64  # any type holds it
    bias[7, :5] = -INF
    expected = rw.attention(x, x, x, bias=bias.astype(np.float32))
    given = bias.astype(DTYPES.get(of_bias, of_bias))
    assert_same_bits(by_threads(threads, partial(rw.attention, x, x, x, bias=given)), expected)


@floats
def test_smallest_weights_are_0(dtype: str) -> None:
    limit = math.log(SMALLEST_WEIGHT[dtype])  # -69.31 and -708.40
    key = np.array([[0.0], [limit + 0.1], [limit - 0.1], [5 * limit]], DTYPES[dtype])
    weights = rw.attention_weights(np.ones((1, 1), DTYPES[dtype]), key, scale=1.0)
    assert (weights[0, :2] > 0).all()
    assert (weights[0, 2:] == 0).all()


@floats
def test_subnormal_numbers_are_kept(dtype: str) -> None:
    least = np.finfo(dtype).smallest_subnormal
    value = np.full((130, 3), 5 * least, DTYPES[dtype])
    tiny = np.full((4, 2), 3 * least, DTYPES[dtype])
    weights = rw.attention_weights(tiny, tiny)
    assert_same_bits(weights, np.full((4, 4), 0.25, DTYPES[dtype]))
    for queries in (1, 4, 50):
        query, key = np.zeros((queries, 2), DTYPES[dtype]), np.zeros((130, 2), DTYPES[dtype])
        one = rw.attention(query, key[:1], value[:1])
        assert_same_bits(one, np.full((queries, 3), 5 * least, DTYPES[dtype]))
    large = np.ldexp(1.0, np.finfo(dtype).maxexp - 1)  # 2**127 or 2**1023
    query, key = np.array([[3 * least]], dtype), np.array([[large]], dtype)
    for pair in ((query, key), (key, query)):
        scores = rw.attention_stages(*pair, key, scale=1.0).scores
        assert_same_bits(scores, np.array([[3 * float(least) * large]], dtype))


def test_float16_scores_may_exceed_float16() -> None:
    key = np.full((2, 64), 300, np.float16)
    key[1] = 299
    value = np.array([[1.0], [2.0]], np.float16)
    assert float(np.finfo(np.float16).max) < 300 * 300 * 64 / 8
    for queries in (1, 5, 50):
        query = np.full((queries, 64), 300, np.float16)
        assert (rw.attention(query, key, value) == 1).all()
    np.testing.assert_array_equal(rw.attention_weights(query, key), [[1, 0]] * 50)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_sinks_and_slopes_near_the_largest_float32_are_numbers(dtype: str) -> None:
    query, key, value = rows((3, 4), dtype), rows((3, 4), dtype, 1), rows((3, 2), dtype, 2)
    output, lse = rw.attention_with_lse(query, key, value, sinks=3e38)
    assert (output == 0).all()
    np.testing.assert_array_equal(lse, np.float32(3e38))
    output = rw.attention(query, key, value, slopes=3e38)  # the distance makes more of it
    np.testing.assert_array_equal(output, value)
    with pytest.raises(ValueError, match=r"^sinks must be -inf or finite in float32, got 1e\+300$"):
        rw.attention(query, key, value, sinks=1e300)


# Infinity and NaN that are seen, by the rules of IEEE 754


@pytest.mark.parametrize("queries", [1, 5, 60])
@pytest.mark.parametrize("spoiled", [NAN, INF, -INF])
@dtypes
def test_a_value_that_is_not_finite_spoils_its_column(
    dtype: str, spoiled: float, queries: int
) -> None:
    query, key, value = (
        rows((queries, 6), dtype),
        rows((200, 6), dtype, 1),
        rows((200, 5), dtype, 2),
    )
    expected = rw.attention(query, key, value)
    value[150, 2] = spoiled
    output = rw.attention(query, key, value)
    np.testing.assert_array_equal(output[:, 2].astype(float), np.full(queries, spoiled))
    output[:, 2] = expected[:, 2]
    assert_same_bits(output, expected)
    # Queries that do not see it are as before.
    unseen = rw.attention(query, key, value, causal=True, offset=150 - queries)
    assert np.isfinite(unseen.astype(float)).all()
    last = rw.attention(query, key, value, causal=True, offset=151 - queries).astype(float)
    assert np.isfinite(last[:-1]).all()
    np.testing.assert_array_equal(last[-1, 2], spoiled)


@pytest.mark.parametrize("width", [5, 16])
@pytest.mark.parametrize("keys", [1, 2, 3])
@pytest.mark.parametrize("queries", [1, 60])
@pytest.mark.parametrize("spoiled", [INF, -INF])
@dtypes
def test_infinity_divided_by_any_sum_is_infinite(
    dtype: str, spoiled: float, queries: int, keys: int, width: int
) -> None:
    query, key = np.zeros((queries, 6), DTYPES[dtype]), np.zeros((keys, 6), DTYPES[dtype])
    value = np.full((keys, width), spoiled, DTYPES[dtype])
    output = rw.attention(query, key, value).astype(float)
    np.testing.assert_array_equal(output, np.full((queries, width), spoiled))


@dtypes
def test_opposite_infinities_are_nan(dtype: str) -> None:
    query, key, value = rows((3, 6), dtype), rows((200, 6), dtype, 1), rows((200, 5), dtype, 2)
    value[3, 1], value[180, 1] = INF, -INF
    output = rw.attention(query, key, value).astype(float)
    assert np.isnan(output[:, 1]).all()
    assert np.isfinite(np.delete(output, 1, axis=1)).all()


@pytest.mark.parametrize("queries", [1, 60])
@dtypes
def test_a_nan_in_a_query_spoils_its_row(dtype: str, queries: int) -> None:
    query, key, value = (
        rows((queries, 6), dtype),
        rows((200, 6), dtype, 1),
        rows((200, 5), dtype, 2),
    )
    expected = rw.attention(query, key, value)
    query[queries // 2, 3] = NAN
    output, lse = rw.attention_with_lse(query, key, value)
    assert np.isnan(output[queries // 2].astype(float)).all()
    assert np.isnan(lse[queries // 2])
    output[queries // 2] = expected[queries // 2]
    assert_same_bits(output, expected)


@pytest.mark.parametrize("spoiled", [NAN, INF])
@dtypes
def test_a_key_of_nan_or_a_logit_of_infinity_spoils_the_rows_that_see_it(
    dtype: str, spoiled: float
) -> None:
    query, key, value = rows((60, 6), dtype), rows((60, 6), dtype, 1), rows((60, 5), dtype, 2)
    query = abs(query)
    expected = rw.attention(query, key, value, causal=True)
    key[40] = spoiled
    output = rw.attention(query, key, value, causal=True)
    assert_same_bits(output[:40], expected[:40])
    assert np.isnan(output[40:].astype(float)).all()


@pytest.mark.parametrize("spoiled", [NAN, INF])
@dtypes
def test_a_bias_that_is_not_finite_spoils_its_row(dtype: str, spoiled: float) -> None:
    query, key, value = rows((60, 6), dtype), rows((9, 6), dtype, 1), rows((9, 5), dtype, 2)
    bias = np.zeros((60, 9))
    expected = rw.attention(query, key, value, bias=bias, causal=True, offset=-40)
    bias[45] = spoiled  # this query sees keys 0 to 5
    bias[44, 5:] = spoiled  # and this one 0 to 4
    output = rw.attention(query, key, value, bias=bias, causal=True, offset=-40)
    assert np.isnan(output[45].astype(float)).all()
    output[45] = expected[45]
    assert_same_bits(output, expected)


@dtypes
def test_a_soft_cap_makes_infinity_finite(dtype: str) -> None:
    key = np.array([[INF], [-INF], [0.0], [NAN]], DTYPES[dtype])
    query = np.ones((2, 1), DTYPES[dtype])
    capped = rw.attention_stages(query, key, key, softcap=2.0, mask=[True] * 3 + [False]).capped
    np.testing.assert_array_equal(capped.astype(float), [[2, -2, 0, NAN]] * 2)


@dtypes
def test_masked_keys_weigh_nothing_even_in_a_row_of_nan(dtype: str) -> None:
    query, key = rows((60, 6), dtype), rows((60, 6), dtype, 1)
    query[50] = NAN
    weights = rw.attention_weights(query, key, causal=True).astype(float)
    assert np.isnan(weights[50, :51]).all()
    assert (weights[50, 51:] == 0).all()


@dtypes
def test_a_logit_of_minus_infinity_weighs_nothing(dtype: str) -> None:
    query, key, value = abs(rows((60, 6), dtype)), rows((90, 6), dtype, 1), rows((90, 5), dtype, 2)
    expected = rw.attention(query, key, value, mask=np.arange(90) != 40)
    key[40] = -INF
    assert_same_bits(rw.attention(query, key, value), expected)


# Logits of minus infinity


@pytest.mark.parametrize("queries", [1, 9, 60])
@floats
def test_a_logit_of_minus_infinity_masks_however_it_came(dtype: str, queries: int) -> None:
    # The product of the first query with the first key overflows; what others see, and whether a
    # mask is given that hides nothing, must not matter.
    large = float(np.finfo(dtype).max)
    query = np.ones((queries, 1), dtype)
    query[0] = large
    key, value = np.array([[-large], [1.0]], dtype), np.array([[NAN], [1.0]], dtype)
    expected = rw.attention(query, key, value, scale=1.0)
    assert expected[0] == 1
    masked = rw.attention(query, key, value, scale=1.0, mask=np.ones((queries, 2), bool))
    assert_same_bits(masked, expected)
    alone = rw.attention(query[:1], key, value, scale=1.0)
    assert_same_bits(alone, expected[:1])


@pytest.mark.parametrize("queries", [1, 60])
@floats
def test_a_finite_bias_masks_nothing_even_where_the_sum_overflows(dtype: str, queries: int) -> None:
    largest = float(np.finfo(dtype).max)
    key, value = np.array([[-1.0], [-1.0]], dtype), np.array([[1.0], [3.0]], dtype)
    query = np.full((queries, 1), largest / 2, dtype)
    output = rw.attention(query, key, value, scale=1.0, bias=[[-largest, -largest]])
    np.testing.assert_array_equal(output, np.full((queries, 1), 2.0))
    output = rw.attention(query * 0, key, value, slopes=largest, offset=2**53)
    np.testing.assert_array_equal(output, np.full((queries, 1), 2.0))


def test_the_widest_window_reaches_everything() -> None:
    x = np.zeros((2, 2))
    weights = rw.attention_weights(x, x, offset=2**53, window=(2**70, None))
    np.testing.assert_array_equal(weights, np.full((2, 2), 0.5))


def test_a_sink_may_be_an_integer_above_1() -> None:
    x = rows((3, 4))
    assert_same_bits(rw.attention(x, x, x, sinks=4), rw.attention(x, x, x, sinks=4.0))


def test_a_bias_may_be_broadcast_backwards() -> None:
    x, bias = rows((2, 4, 8), "float32"), rows((4, 4), "float16", seed=1)
    wide = np.broadcast_to(bias[:, ::-1], (2, 4, 4))
    expected = rw.attention(x, x, x, bias=wide.copy())
    assert_same_bits(rw.attention(x, x, x, bias=wide), expected)
