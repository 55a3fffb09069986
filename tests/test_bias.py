"""Biases and masks: values, shapes, and that attention applies the same.

Matrices are compared with plain loops over queries and keys, number by number and to the last bit.
"""

from collections.abc import Callable
from decimal import localcontext
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests import reference
from tests.data import LARGEST

import ropewalk as rw
from ropewalk import bias

NAN, INF = float("nan"), float("inf")

# (queries, keys, offset): square, a cache, fewer keys, all keys before or behind, far away, none
PLACES: list[tuple[int, int, int | None]] = [
    (6, 6, None),
    (1, 9, 8),
    (4, 9, 0),
    (9, 4, -5),
    (3, 5, 200),
    (3, 5, -200),
    (2, 3, LARGEST - 1),
    (2, 3, 2 - LARGEST),
    (0, 3, 1),
    (3, 0, 1),
    (0, 0, None),
]
places = pytest.mark.parametrize("place", PLACES, ids=str)


def matrix(
    queries: int, keys: int, entry: Callable[[int, int], Any], dtype: Any = float
) -> NDArray[Any]:
    rows = [[entry(i, j) for j in range(keys)] for i in range(queries)]
    return np.array(rows, dtype).reshape(queries, keys)


def assert_same(actual: NDArray[Any], expected: NDArray[Any]) -> None:
    """Check values and dtype, and that the result is the caller's own."""
    np.testing.assert_array_equal(actual, expected, strict=True)
    assert actual.flags.c_contiguous
    assert actual.flags.owndata
    assert actual.flags.writeable


# ALiBi


def test_slopes_of_eight_heads_are_those_of_the_paper() -> None:
    """Press et al., 2021, section 3: 1/2, 1/4, .., 1/256."""
    assert bias.alibi_slopes(8).tolist() == [1 / 2**k for k in range(1, 9)]


def test_slopes_of_sixteen_heads_are_those_of_the_paper() -> None:
    """Press et al., 2021, section 3: 2 ** -0.5, 2 ** -1, 2 ** -1.5, .., 2 ** -8."""
    slopes = bias.alibi_slopes(16)
    assert slopes[1::2].tolist() == [1 / 2**k for k in range(1, 9)]
    np.testing.assert_allclose(
        slopes[::2] ** 2, [2.0 ** -(2 * k + 1) for k in range(8)], rtol=1e-15
    )


def test_slopes_of_twelve_heads_are_those_of_the_code() -> None:
    """Those of 8 heads, then the first, third, fifth and seventh of 16."""
    slopes = bias.alibi_slopes(12)
    assert slopes[:8].tolist() == bias.alibi_slopes(8).tolist()
    assert slopes[8:].tolist() == bias.alibi_slopes(16)[:8:2].tolist()


@pytest.mark.parametrize("heads", [*range(1, 41), 63, 64, 65, 71, 112, 128, 1000])
def test_slopes_are_correctly_rounded(heads: int) -> None:
    expected = np.array([float(slope) for slope in reference.alibi_slopes(heads)])
    assert_same(bias.alibi_slopes(heads), expected)


def test_slopes_do_not_depend_on_the_context_of_decimals() -> None:
    with localcontext(prec=3):
        assert_same(bias.alibi_slopes(12), np.array(list(map(float, reference.alibi_slopes(12)))))


@places
def test_alibi(place: tuple[int, int, int | None]) -> None:
    queries, keys, offset = place
    slopes = np.array([[0.5, 2**-0.5, 1 / 3], [-0.1, 0.0, 7.0]])
    expected = [
        matrix(queries, keys, lambda i, j: float(reference.alibi(slope, i, j, offset or 0)))  # noqa: B023
        for slope in slopes.flat
    ]
    actual = bias.alibi(slopes, queries, keys, offset=offset)
    assert_same(actual, np.array(expected).reshape(2, 3, queries, keys))


def test_slopes_of_half_types_are_the_numbers_that_they_are() -> None:
    slopes = np.array([0.3, 7.0]).astype(ml_dtypes.bfloat16)
    assert_same(bias.alibi(slopes, 3), bias.alibi(slopes.astype(float), 3))


def test_alibi_gives_no_zero_a_sign() -> None:
    diagonal = bias.alibi(0.5, 3).diagonal()
    assert not np.signbit(diagonal).any()


def test_slopes_and_distances_may_be_large() -> None:
    assert bias.alibi([2**62], 4)[0, 3, 0] == -3 * 2.0**62
    assert bias.alibi([-1e308], 4).max() == np.finfo(np.float64).max


# T5


def test_buckets_of_an_encoder() -> None:
    """8 distances by themselves, then a factor of sqrt(2) from bucket to bucket: 8, 11.3, 16, .."""
    starts = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91]
    row = bias.t5_buckets(1, 200, offset=0)[0]
    assert [row.tolist().index(bucket) for bucket in [0, *range(17, 32)]] == starts
    column = bias.t5_buckets(200, 1, offset=0)[:, 0]
    assert [column.tolist().index(bucket) for bucket in range(16)] == starts


def test_buckets_of_a_decoder() -> None:
    """16 distances by themselves, then a factor of 8 ** (1 / 16), up to 128."""
    column = bias.t5_buckets(200, 1, offset=0, bidirectional=False)[:, 0].tolist()
    assert column[:17] == list(range(17))
    starts = [16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
    assert [column.index(bucket) for bucket in range(16, 32)] == starts
    assert bias.t5_buckets(1, 200, offset=0, bidirectional=False).tolist() == [[0] * 200]


@pytest.mark.parametrize("bidirectional", [True, False])
@places
def test_buckets(place: tuple[int, int, int | None], bidirectional: bool) -> None:
    queries, keys, offset = place

    def bucket(i: int, j: int) -> int:
        return reference.t5_bucket(j - i - (offset or 0), bidirectional=bidirectional)

    actual = bias.t5_buckets(queries, keys, bidirectional=bidirectional, offset=offset)
    assert_same(actual, matrix(queries, keys, bucket, np.int64))


@given(
    buckets=st.integers(2, 70),
    bidirectional=st.booleans(),
    beyond=st.one_of(st.integers(1, 300), st.integers(1, LARGEST - 70)),
    offset=st.one_of(st.integers(-400, 400), st.integers(-LARGEST, LARGEST)),
)
@settings(max_examples=100)
def test_buckets_of_any_number(buckets: int, bidirectional: bool, beyond: int, offset: int) -> None:
    if bidirectional:
        buckets *= 2
    options: dict[str, Any] = {
        "buckets": buckets,
        "max_distance": buckets // (4 if bidirectional else 2) + beyond,
        "bidirectional": bidirectional,
    }
    expected = matrix(2, 20, lambda i, j: reference.t5_bucket(j - i - offset, **options), np.int64)
    assert_same(bias.t5_buckets(2, 20, **options, offset=offset), expected)


@pytest.mark.parametrize(
    ("buckets", "max_distance", "distance", "bucket"),
    [(17, 27, 18, 14), (48, 81, 54, 40), (51, 49, 35, 38), (54, 64, 36, 36)],
)
def test_buckets_begin_where_whole_numbers_say(
    buckets: int, max_distance: int, distance: int, bucket: int
) -> None:
    """Where the logarithms have a whole quotient, which float32 can miss."""
    exact = buckets // 2
    powers = Fraction(distance, exact) ** (buckets - exact)
    assert powers == Fraction(max_distance, exact) ** (bucket - exact)
    column = bias.t5_buckets(
        2, 1, buckets=buckets, max_distance=max_distance, bidirectional=False, offset=distance - 1
    )
    assert column[0, 0] < column[1, 0] == bucket


@pytest.mark.parametrize("bidirectional", [True, False])
def test_usual_buckets_are_those_of_float32(bidirectional: bool) -> None:
    distances = np.arange(2000)
    exact = 8 if bidirectional else 16
    steps = np.log(np.maximum(distances, exact).astype(np.float32) / exact)
    steps = steps / np.float32(np.log(128 / exact)) * np.float32(exact)
    expected = np.where(
        distances < exact, distances, np.minimum(exact + steps.astype(int), 2 * exact - 1)
    )
    column = bias.t5_buckets(2000, 1, offset=0, bidirectional=bidirectional)[:, 0]
    np.testing.assert_array_equal(column, expected)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", ml_dtypes.bfloat16])
def test_t5_takes_entries_of_the_table(rng: np.random.Generator, dtype: Any) -> None:
    table = rng.standard_normal((8, 3)).astype(dtype)
    before = table.copy()
    expected = np.empty((3, 5, 9), dtype)
    for head, i, j in np.ndindex(expected.shape):
        bucket = reference.t5_bucket(j - i - 4, 8, 6, bidirectional=False)
        expected[head, i, j] = table[bucket, head]
    options: dict[str, Any] = {"max_distance": 6, "bidirectional": False, "offset": 4}
    assert_same(bias.t5(table, 5, 9, **options), expected)
    np.testing.assert_array_equal(table, before)
    assert_same(bias.t5(np.asfortranarray(table), 5, 9, **options), expected)


# Tables of relative positions


@pytest.mark.parametrize("reach", [0, 1, 3])
@pytest.mark.parametrize("heads", [(), (2,), (2, 3)], ids=str)
@places
def test_relative(place: tuple[int, int, int | None], heads: tuple[int, ...], reach: int) -> None:
    queries, keys, offset = place
    table = np.arange(np.prod(heads) * (2 * reach + 1)).reshape(*heads, -1).astype(np.float32)
    expected = np.empty((*heads, queries, keys), np.float32)
    for *head, i, j in np.ndindex(expected.shape):
        at = reach + reference.clipped(j - i - (offset or 0), reach)
        expected[(*head, i, j)] = table[(*head, at)]
    assert_same(bias.relative(table, queries, keys, offset=offset), expected)


def test_a_table_of_integers_becomes_float64() -> None:
    assert_same(bias.relative([1, 2, 3], 2), np.array([[2.0, 3.0], [1.0, 2.0]]))
    assert bias.t5([[1], [2], [3], [4]], 2).dtype == np.float64


def test_a_table_may_mask() -> None:
    window = bias.relative([-INF, 0.0, 0.0], 3)
    assert_same(window == 0, bias.window_mask(3, window=(0, None)))


# Masks


@places
def test_causal_mask(place: tuple[int, int, int | None]) -> None:
    queries, keys, offset = place
    expected = matrix(
        queries, keys, lambda i, j: reference.sees(i, j, offset=offset or 0, causal=True), bool
    )
    assert_same(bias.causal_mask(queries, keys, offset=offset), expected)


@pytest.mark.parametrize(
    "window",
    [(0, 0), (2, 0), (0, 1), (1, 2), (None, 0), (2, None), (None, None), (2**70, 1)],
    ids=str,
)
@places
def test_window_mask(
    place: tuple[int, int, int | None], window: tuple[int | None, int | None]
) -> None:
    queries, keys, offset = place
    expected = matrix(
        queries, keys, lambda i, j: reference.sees(i, j, offset=offset or 0, window=window), bool
    )
    assert_same(bias.window_mask(queries, keys, window=window, offset=offset), expected)


def test_no_window_hides_nothing() -> None:
    assert bias.window_mask(2, 3, window=None, offset=1).all()
    assert bias.window_mask(2, 3, window=(None, None), offset=1).all()


def test_a_window_without_a_right_side_is_causal() -> None:
    causal = bias.causal_mask(3, 7, offset=4)
    assert_same(bias.window_mask(3, 7, window=(None, 0), offset=4), causal)


@pytest.mark.parametrize(
    "lengths", [3, [0, 5], [[1, 2, 3], [4, 5, 0]], np.array([5], np.uint8)], ids=repr
)
def test_key_length_mask(lengths: Any) -> None:
    array = np.array(lengths)
    expected = [reference.sees(0, j, key_length=n) for n in array.flat for j in range(5)]
    actual = bias.key_length_mask(lengths, 5)
    assert_same(actual, np.array(expected).reshape(*array.shape, 1, 5))


def test_packed_mask() -> None:
    ids, key_ids = [3, 3, -1, 5], [5, 3, -1]
    expected = matrix(4, 3, lambda i, j: ids[i] == key_ids[j], bool)
    assert_same(bias.packed_mask(ids, key_ids), expected)
    expected = matrix(4, 4, lambda i, j: ids[i] == ids[j], bool)
    assert_same(bias.packed_mask(ids), expected)


def test_lists_may_be_empty() -> None:
    assert bias.packed_mask([]).shape == (0, 0)
    assert bias.key_length_mask([], 4).shape == (0, 1, 4)
    assert bias.causal_mask(3, offset=[]).shape == (0, 3, 3)


def test_packed_masks_of_a_batch() -> None:
    ids = np.array([[0, 0, 1], [0, 1, 1]])
    expected = np.array([bias.packed_mask(row) for row in ids])
    assert_same(bias.packed_mask(ids), expected)
    expected = np.array([bias.packed_mask(row, [1, 0]) for row in ids])
    assert_same(bias.packed_mask(ids, [1, 0]), expected)
    assert_same(bias.packed_mask(np.empty((2, 0), int)), np.empty((2, 0, 0), bool))


def test_packed_masks_tell_large_numbers_apart() -> None:
    signed, unsigned = np.array([2**63 - 1, -1]), np.array([2**63, 2**64 - 1], np.uint64)
    assert not bias.packed_mask(signed, unsigned).any()


# Batches

OF_POSITIONS: dict[str, Callable[..., NDArray[Any]]] = {
    "alibi": lambda *lengths, **options: bias.alibi(0.5, *lengths, **options),
    "alibi of heads": lambda *lengths, **options: bias.alibi([0.5, 0.3], *lengths, **options),
    "t5_buckets": bias.t5_buckets,
    "t5": lambda *lengths, **options: bias.t5(np.arange(64).reshape(32, 2), *lengths, **options),
    "relative": lambda *lengths, **options: bias.relative([1, 2, 3], *lengths, **options),
    "relative of heads": lambda *lengths, **options: bias.relative(
        np.arange(10).reshape(2, 5), *lengths, **options
    ),
    "causal_mask": bias.causal_mask,
    "window_mask": lambda *lengths, **options: bias.window_mask(
        *lengths, **{"window": (1, 0)} | options
    ),
}
of_positions = pytest.mark.parametrize("name", OF_POSITIONS)


@pytest.mark.parametrize("offsets", [[5, 0, -2], [[3], [1]], np.array([4], np.int8), []], ids=repr)
@of_positions
def test_offsets_of_a_batch_come_first(name: str, offsets: Any) -> None:
    array = np.array(offsets, int)
    one = OF_POSITIONS[name](3, 7, offset=0)
    expected = np.empty((*array.shape, *one.shape), one.dtype)
    for at in np.ndindex(array.shape):
        expected[at] = OF_POSITIONS[name](3, 7, offset=int(array[at]))
    assert_same(OF_POSITIONS[name](3, 7, offset=array), expected)


# Attention applies the same

SAME: dict[str, tuple[dict[str, Any], Callable[[int, int, Any], dict[str, Any]]]] = {
    "causal": (
        {"causal": True},
        lambda q, k, offset: {"mask": bias.causal_mask(q, k, offset=offset)},
    ),
    "window": (
        {"window": (4, 1)},
        lambda q, k, offset: {"mask": bias.window_mask(q, k, window=(4, 1), offset=offset)},
    ),
    "causal and window": (
        {"causal": True, "window": (None, 3)},
        lambda q, k, offset: {
            "mask": bias.window_mask(q, k, window=(None, 3), offset=offset)
            & bias.causal_mask(q, k, offset=offset)
        },
    ),
    "slopes": (
        {"slopes": bias.alibi_slopes(6)},
        lambda q, k, offset: {"bias": bias.alibi(bias.alibi_slopes(6), q, k, offset=offset)},
    ),
    "key_lengths": (
        {"key_lengths": 11},
        lambda _, k, __: {"mask": bias.key_length_mask(11, k)},
    ),
    "all": (
        {"causal": True, "key_lengths": 11, "slopes": bias.alibi_slopes(6)},
        lambda q, k, offset: {
            "mask": bias.causal_mask(q, k, offset=offset) & bias.key_length_mask(11, k),
            "bias": bias.alibi(bias.alibi_slopes(6), q, k, offset=offset),
        },
    ),
}
same = pytest.mark.parametrize("case", SAME)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("lengths", [(20, 20, None), (1, 300, 299), (33, 300, 150)], ids=str)
@same
def test_attention_applies_the_same(
    rng: np.random.Generator, case: str, lengths: tuple[int, int, int | None], dtype: str
) -> None:
    queries, keys, offset = lengths
    query = rng.standard_normal((6, queries, 8)).astype(dtype)
    key, value = rng.standard_normal((2, 6, keys, 8)).astype(dtype)
    inside, outside = SAME[case]
    actual = rw.attention(query, key, value, **inside, offset=offset)
    expected = rw.attention(query, key, value, **outside(queries, keys, offset))
    np.testing.assert_array_equal(actual, expected, strict=True)


def test_attention_applies_the_same_to_a_batch(rng: np.random.Generator) -> None:
    query = rng.standard_normal((3, 2, 5, 8))
    key, value = rng.standard_normal((2, 3, 2, 40, 8))
    offset, valid, slopes = np.array([35, 0, 12]), np.array([40, 3, 17]), bias.alibi_slopes(2)
    actual = rw.attention(
        query, key, value, causal=True, slopes=slopes, offset=offset, key_lengths=valid
    )
    mask = bias.causal_mask(5, 40, offset=offset) & bias.key_length_mask(valid, 40)
    added = bias.alibi(slopes, 5, 40, offset=offset)
    expected = rw.attention(query, key, value, mask=mask[:, None], bias=added)
    np.testing.assert_array_equal(actual, expected, strict=True)
