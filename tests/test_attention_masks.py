"""Attention: where queries stand, and what they see."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.attention_calls import Call
from tests.data import assert_same_bits, dtypes, rows

import ropewalk as rw

INF, NAN = math.inf, math.nan


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
    masked = rw.attention(query[:2], key, value, mask=np.ones((2, 5), bool), key_lengths=3)
    assert_same_bits(masked, rw.attention(query[:2], key[:3], value[:3]))


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


def test_more_bytes_of_keys_than_can_be_counted() -> None:
    """As what is computed with, of half types: those that a window hides are not met."""
    query, key, value = (rows((n, 2), "float16", n) for n in (100, 1, 1))
    many = [np.broadcast_to(x, (2**60, 2)) for x in (key, value)]
    few = [np.broadcast_to(x, (100, 2)) for x in (key, value)]
    found = rw.attention(query, *many, window=(1, 0), offset=0)
    assert_same_bits(found, rw.attention(query, *few, window=(1, 0), offset=0))


@pytest.mark.parametrize("sinks", [None, 0.5])
def test_sequences_of_a_batch_meet_no_keys_but_those_that_they_see(sinks: float | None) -> None:
    """However far apart they stand; and each has the bits that it has alone."""
    query, key, value = rows((5, 2, 1, 4)), rows((5, 1, 1, 4), seed=1), rows((5, 1, 1, 4), seed=2)
    many = [np.broadcast_to(x, (5, 1, 2**48, 4)) for x in (key, value)]
    options: dict[str, Any] = {"window": (5000, 0), "sinks": sinks}
    places = np.array([-1, 7, 2049, 2**20, 2**48 - 1])  # the first sees nothing
    found = rw.attention(query, *many, offset=places, **options)
    for i, place in enumerate(places):
        alone = [x[i : i + 1] for x in (query, *many)]
        assert_same_bits(rw.attention(*alone, offset=place, **options), found[i : i + 1])


@pytest.mark.parametrize("queries", [1, 5, 700])
@pytest.mark.parametrize("way", ["mask", "strided mask", "bias", "padding"])
@dtypes
def test_blocks_that_are_hidden_as_a_whole_leave_no_trace(
    dtype: str, way: str, queries: int
) -> None:
    """Texts one after another, of 200, 260 and 240 tokens: none sees another, nor NaN in it."""
    texts = np.repeat([0, 1, 2], [200, 260, 240])
    mask = texts[-queries:, None] == texts
    if way == "padding":
        mask = np.broadcast_to(texts == 2, mask.shape)
    query, key, value = (rows((2, n, 8), dtype, n) for n in (queries, 700, 700))
    spoiled = [np.where(texts[:, None] == 1, np.array(NAN, x.dtype), x) for x in (key, value)]
    options: dict[str, Any] = {"mask": mask}
    if way == "strided mask":
        options = {"mask": np.repeat(mask, 2, axis=-1)[:, ::2]}
    if way == "bias":
        options = {"bias": np.where(mask, 0.0, -INF)}
    unseen = ~mask[:, texts == 1].any(axis=1)
    found = rw.attention_with_lse(query, *spoiled, **options)
    expected = rw.attention_with_lse(query, key, value, **options)
    for actual, clean in zip(found, expected, strict=True):
        assert_same_bits(actual[:, unseen], clean[:, unseen])
        assert np.isnan(actual[:, ~unseen].astype(float)).all()
    output = rw.attention_stages(query, key, value, **options).output  # which meets them all
    assert_same_bits(expected[0], output)


@pytest.mark.parametrize(
    "layout",
    [
        np.asfortranarray,
        lambda scores: np.repeat(scores, 2, axis=-1)[..., ::2],
        lambda scores: scores[..., ::-1].copy()[..., ::-1],
        lambda scores: scores.swapaxes(0, 1).copy().swapaxes(0, 1),
        lambda scores: scores.swapaxes(1, 2).copy().swapaxes(1, 2),
    ],
    ids=["Fortran order", "gaps", "backwards", "heads inside", "transposed"],
)
@pytest.mark.parametrize("queries", [1, 6, 50, 100])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_masks_and_biases_may_lie_in_any_order(dtype: str, queries: int, layout: Any) -> None:
    random = np.random.default_rng(queries)
    query, key, value = (rows((2, n, 8), dtype, n) for n in (queries, 300, 300))
    mask = random.random((2, queries, 300)) < 0.5
    mask[:, :, 128:256] = False  # a block that is not met
    bias = random.normal(size=mask.shape).astype(query.dtype)
    bias[:, :, ::7] = -INF
    expected = rw.attention(query, key[:1], value[:1], mask=mask, bias=bias)
    for options in (
        {"mask": layout(mask), "bias": layout(bias)},
        {"mask": mask, "bias": layout(bias)},
        {"mask": layout(mask), "bias": bias},
    ):
        assert_same_bits(rw.attention(query, key[:1], value[:1], **options), expected)


@pytest.mark.parametrize("queries", [1, 6, 50])
def test_masks_and_biases_of_whole_queries_are_spread(queries: int) -> None:
    query, key, value = (rows((n, 8), "float32", n) for n in (queries, 300, 300))
    seen, bias = np.arange(queries)[:, None] % 3 > 0, rows((queries, 1), "float32")
    found = rw.attention(query, key, value, mask=seen, bias=bias)
    whole = [np.broadcast_to(scores, (queries, 300)).copy() for scores in (seen, bias)]
    assert_same_bits(found, rw.attention(query, key, value, mask=whole[0], bias=whole[1]))


@pytest.mark.parametrize("hides", ["mask", "bias"])
def test_bits_do_not_depend_on_the_blocks_that_others_do_not_see(hides: str) -> None:
    """Small values, whose quotients differ where they are divided otherwise."""
    query, key = rows((48, 64), "float32"), rows((256, 64), "float32", 1)
    value = rows((256, 64), "float32", 2) * np.float32(1e-37)
    mask = np.ones((48, 256), bool)
    mask[:24, :128] = False
    given: dict[str, Any] = {"mask": mask}
    if hides == "bias":
        given = {"bias": np.where(mask, 0.0, -INF)}
    whole = rw.attention(query, key, value, **given)
    few: dict[str, Any] = {name: scores[:24] for name, scores in given.items()}
    assert_same_bits(rw.attention(query[:24], key, value, **few), whole[:24])
    assert_same_bits(rw.attention_stages(query, key, value, **given).output, whole)


def test_parts_of_more_keys_than_can_be_counted_are_out_of_memory() -> None:
    query = np.broadcast_to(np.ones((1, 1, 2), np.float32), (2**20, 1, 2))
    key = np.broadcast_to(np.ones((1, 2), np.float32), (2**48, 2))
    for width in (4, 14):
        value = np.broadcast_to(np.ones((1, width), np.float32), (2**48, width))
        with pytest.raises(MemoryError):
            rw.attention(query, key, value)


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


# Keys in parts, which threads share


def test_a_sink_beside_no_key_counts_where_others_see_many() -> None:
    query, (key, value) = rows((2, 1, 1, 16)), rows((2, 2, 1, 5000, 16), seed=1)
    sinks = np.array([1.3])
    lse = rw.attention_with_lse(query, key, value, sinks=sinks, key_lengths=[0, 5000])[1]
    assert lse[0].item() == pytest.approx(1.3, rel=1e-15)


@pytest.mark.parametrize("sinks", [None, [0.1, 0.7]], ids=["no sinks", "sinks"])
@pytest.mark.parametrize("seen", [slice(4501, 5000), slice(0, 300)], ids=["last", "first"])
def test_a_part_that_is_hidden_as_a_whole_leaves_nothing(seen: slice, sinks: Any) -> None:
    """Parts have 2,048 keys."""
    query, (key, value) = rows((2, 1, 16)), rows((2, 2, 5000, 16), seed=1)
    rw.attention(query, key, 1e6 * value)  # whose memory is met again
    mask = np.zeros((1, 5000), bool)
    mask[:, seen] = True
    output, lse = rw.attention_with_lse(query, key, value, mask=mask, sinks=sinks)
    expected, of_seen = rw.attention_with_lse(query, key[:, seen], value[:, seen], sinks=sinks)
    np.testing.assert_allclose(output, expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(lse, of_seen, rtol=1e-14)


@pytest.mark.parametrize("strided", [False, True])
def test_any_byte_but_0_shows_a_key(strided: bool) -> None:
    query, (key, value) = rows((40, 16)), rows((2, 600, 16), seed=1)
    twos = (2 * (np.random.default_rng(2).random((40, 1200)) < 0.5)).astype(np.uint8)
    twos = twos[:, ::2] if strided else twos[:, ::2].copy()
    expected = rw.attention(query, key, value, mask=twos != 0)
    assert_same_bits(rw.attention(query, key, value, mask=twos.view(np.bool_)), expected)


def test_a_finite_bias_hides_no_key_where_its_keys_lie_apart() -> None:
    query, key = np.full((40, 16), -1e18, np.float32), np.full((600, 16), 1e19, np.float32)
    bias = np.full((40, 1200), -3.3e38, np.float32)[:, ::2]
    value = rows((600, 16), "float32")
    output = rw.attention(query, key, value, bias=bias, scale=1.0)
    assert_same_bits(output, rw.attention(query, key, value, bias=bias.copy(), scale=1.0))
    np.testing.assert_allclose(output, np.tile(value.mean(axis=0), (40, 1)), rtol=0, atol=1e-6)
