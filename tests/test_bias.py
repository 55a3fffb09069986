"""Biases and masks: values, shapes, what is refused, and that attention applies the same.

Matrices are compared with plain loops over queries and keys, number by number and to the last bit.
"""

import re
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
from tests.refusals import exactly

import ropewalk as rw
from ropewalk import bias

NAN, INF = float("nan"), float("inf")
LARGEST = 2**53

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


def test_alibi_gives_no_zero_a_sign() -> None:
    diagonal = bias.alibi(0.5, 3).diagonal()
    assert not np.signbit(diagonal).any()


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


# Refusals


@of_positions
def test_lengths_that_differ_need_an_offset(name: str) -> None:
    message = (
        "offset must be given where 2 queries meet 5 keys: offset=0 aligns the first query with "
        "the first key (upper left), offset=3 the last with the last (lower right)"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        OF_POSITIONS[name](2, 5)


@pytest.mark.parametrize("length", [-1, 2**53 + 1, 2**80])
@of_positions
def test_lengths_must_be_in_range(name: str, length: int) -> None:
    message = f"query_length must be an integer from 0 to {2**53}, got {length}"
    with pytest.raises(ValueError, match=exactly(message)):
        OF_POSITIONS[name](length)
    message = f"key_length must be an integer from 0 to {2**53}, got {length}"
    with pytest.raises(ValueError, match=exactly(message)):
        OF_POSITIONS[name](3, length, offset=0)


@pytest.mark.parametrize("length", [2.0, "3", [3], NAN], ids=repr)
@of_positions
def test_lengths_must_be_integers(name: str, length: Any) -> None:
    message = f"query_length must be an integer, got {length!r}"
    with pytest.raises(TypeError, match=exactly(message)):
        OF_POSITIONS[name](length)


@pytest.mark.parametrize("offset", [0.0, NAN, "1", True, [1.5]], ids=repr)
@of_positions
def test_offsets_must_be_integers(name: str, offset: Any) -> None:
    found = np.asarray(offset).dtype
    message = f"offset must be integers, got dtype {found}"
    with pytest.raises(TypeError, match=exactly(message)):
        OF_POSITIONS[name](3, offset=offset)


@pytest.mark.parametrize("offset", [2**53 + 1, [0, -(2**53) - 1], 2**64 - 1], ids=repr)
@of_positions
def test_offsets_must_be_positions(name: str, offset: Any) -> None:
    found = np.atleast_1d(offset)[-1]
    message = f"offset must be integers from {-LARGEST} to {LARGEST}, got {found}"
    with pytest.raises(ValueError, match=exactly(message)):
        OF_POSITIONS[name](3, offset=offset)


def test_ragged_offsets_are_refused() -> None:
    message = "offset must be an integer or an array of integers: "
    with pytest.raises(ValueError, match=f"^{message}"):
        bias.causal_mask(3, offset=[[1], [2, 3]])


@of_positions
@pytest.mark.parametrize(
    ("lengths", "offset"), [((2**40, 0), 0), ((0, 2**40), 0), ((2**20, 2**20), [])], ids=str
)
def test_empty_results_of_any_length_take_no_memory(
    name: str, lengths: tuple[int, int], offset: Any
) -> None:
    offset = np.array(offset, int)
    found = OF_POSITIONS[name](*lengths, offset=offset)
    assert found.size == 0
    assert found.shape[-2:] == lengths
    assert found.shape[: offset.ndim] == offset.shape


def test_a_key_length_mask_of_no_sequence_takes_no_memory() -> None:
    assert bias.key_length_mask(np.zeros(0, int), 2**40).shape == (0, 1, 2**40)


@of_positions
def test_what_no_memory_holds_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"is larger than any memory$"):
        OF_POSITIONS[name](2**53)
    with pytest.raises(MemoryError):
        OF_POSITIONS[name](2**28)


def test_what_no_memory_holds_is_refused_by_other_masks() -> None:
    with pytest.raises(ValueError, match=r"is larger than any memory$"):
        bias.key_length_mask(np.zeros(2**11, int), 2**53)
    many = np.broadcast_to(np.int64(1), 2**32)
    with pytest.raises(ValueError, match=r"is larger than any memory$"):
        bias.packed_mask(many)


@pytest.mark.parametrize("heads", [0, -8, 2**16 + 1])
def test_heads_must_be_in_range(heads: int) -> None:
    message = f"heads must be an integer from 1 to 65536, got {heads}"
    with pytest.raises(ValueError, match=exactly(message)):
        bias.alibi_slopes(heads)


def test_heads_must_be_an_integer() -> None:
    with pytest.raises(TypeError, match=exactly("heads must be an integer, got 8.0")):
        bias.alibi_slopes(8.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("slope", [NAN, INF, -INF])
def test_slopes_must_be_finite(slope: float) -> None:
    with pytest.raises(ValueError, match=exactly(f"slopes must be finite, got {slope}")):
        bias.alibi([0.5, slope], 3)


@pytest.mark.parametrize("slopes", [["a"], [1j], [True], None], ids=repr)
def test_slopes_must_be_real(slopes: Any) -> None:
    with pytest.raises(TypeError, match=r"^slopes must be integers, float64, float32 or float16, "):
        bias.alibi(slopes, 3)


def test_a_number_of_heads_is_no_slope() -> None:
    with pytest.raises(ValueError, match=r"^slopes must be one number a head, .* got 2$"):
        bias.alibi(2, 100)
    message = (
        "slopes must be one number a head, as bias.alibi_slopes gives for that many heads, got 8"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        bias.alibi(8, 100)
    with pytest.raises(ValueError, match=exactly(message)):
        bias.alibi(np.int64(8), 100)
    assert bias.alibi(1, 3)[0, 2] == -2


@pytest.mark.parametrize("buckets", [0, 2, 31, -32, 1026])
def test_buckets_of_two_directions_must_be_even(buckets: int) -> None:
    message = f"buckets must be an even integer from 4 to 1024, got {buckets}"
    with pytest.raises(ValueError, match=exactly(message)):
        bias.t5_buckets(3, buckets=buckets)
    if buckets >= 0:
        message = message.replace("buckets", "the buckets of table")
        with pytest.raises(ValueError, match=exactly(message)):
            bias.t5(np.zeros((buckets, 2)), 3)


@pytest.mark.parametrize("buckets", [1, -1, 1025])
def test_buckets_of_one_direction_must_be_in_range(buckets: int) -> None:
    message = f"buckets must be an integer from 2 to 1024, got {buckets}"
    with pytest.raises(ValueError, match=exactly(message)):
        bias.t5_buckets(3, buckets=buckets, bidirectional=False)


@pytest.mark.parametrize("distance", [16, 0, -128, 2**53 + 1])
def test_max_distance_must_be_in_range(distance: int) -> None:
    message = (
        "max_distance must be an integer above 16, the distances with a bucket of their own, and "
        f"at most 2**53, got {distance}"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        bias.t5_buckets(3, max_distance=distance, bidirectional=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"buckets": 32.0}, "buckets must be an integer, got 32.0"),
        ({"max_distance": "128"}, "max_distance must be an integer, got '128'"),
        ({"bidirectional": 1}, "bidirectional must be True or False, got 1"),
    ],
)
def test_options_of_buckets_must_be_of_their_kind(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=exactly(message)):
        bias.t5_buckets(3, **options)


@pytest.mark.parametrize("shape", [(32,), (1, 32, 2)], ids=str)
def test_a_table_of_buckets_has_two_axes(shape: tuple[int, ...]) -> None:
    message = f"table must have shape (buckets, heads), got {shape}"
    with pytest.raises(ValueError, match=exactly(message)):
        bias.t5(np.zeros(shape), 3)


@pytest.mark.parametrize("shape", [(0,), (4,), (3, 2)], ids=str)
def test_a_table_of_relative_positions_is_odd(shape: tuple[int, ...]) -> None:
    message = f"table must have an odd last axis, 2 * reach + 1, got shape {shape}"
    with pytest.raises(ValueError, match=exactly(message)):
        bias.relative(np.zeros(shape), 3)


@pytest.mark.parametrize("entry", [NAN, INF])
@pytest.mark.parametrize("dtype", [np.float64, ml_dtypes.bfloat16])
def test_entries_must_be_numbers_to_add(entry: float, dtype: Any) -> None:
    table = np.array([[0.0], [1.0], [entry]]).astype(dtype)
    message = f"table must be finite or -inf, got {entry}"
    with pytest.raises(ValueError, match=exactly(message)):
        bias.t5(table, 3)
    with pytest.raises(ValueError, match=exactly(message)):
        bias.relative(table[:, 0], 3)


@pytest.mark.parametrize("table", [[[True]], [["1"]], [[1j]], None], ids=repr)
def test_entries_must_be_real(table: Any) -> None:
    for function in (bias.t5, bias.relative):
        with pytest.raises(TypeError, match=r"^table must be integers, float64, float32, "):
            function(table, 3)


@pytest.mark.parametrize(
    ("window", "error"), [((1,), ValueError), ((1, 2, 3), ValueError), (3, TypeError)], ids=repr
)
def test_a_window_is_a_pair(window: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^window must be a pair"):
        bias.window_mask(3, window=window)


@pytest.mark.parametrize("window", [(-1, 0), (0, -1), (None, -3)], ids=repr)
def test_a_window_is_not_negative(window: Any) -> None:
    with pytest.raises(ValueError, match=f"^window must be .*, got {re.escape(repr(window))}$"):
        bias.window_mask(3, window=window)


@pytest.mark.parametrize("window", [(1.0, 0), (NAN, None), ("1", 0)], ids=repr)
def test_a_window_is_of_integers(window: Any) -> None:
    with pytest.raises(TypeError, match=r"^each side of window must be an integer, got "):
        bias.window_mask(3, window=window)


@pytest.mark.parametrize("lengths", [-1, [3, 6]], ids=repr)
def test_key_lengths_must_lie_within_the_keys(lengths: Any) -> None:
    found = np.atleast_1d(lengths)[-1]
    with pytest.raises(
        ValueError, match=exactly(f"key_lengths must be integers from 0 to 5, got {found}")
    ):
        bias.key_length_mask(lengths, 5)


def test_key_lengths_must_be_integers() -> None:
    message = "key_lengths must be integers, got dtype float64"
    with pytest.raises(TypeError, match=exactly(message)):
        bias.key_length_mask([1.0], 5)
    with pytest.raises(TypeError, match=exactly("key_length must be an integer, got 5.0")):
        bias.key_length_mask([1], 5.0)  # type: ignore[arg-type]


def test_ids_must_be_integers_and_have_an_axis() -> None:
    message = "sequence_ids must be integers of at most 64 bits, got dtype float64"
    with pytest.raises(TypeError, match=exactly(message)):
        bias.packed_mask([0.0, NAN])
    message = "key_ids must have at least one dimension, got a number"
    with pytest.raises(ValueError, match=exactly(message)):
        bias.packed_mask([0], 0)
    message = (
        "key_ids must broadcast to sequence_ids before their last axes, "
        "got shapes (3, 4) and (2, 4)"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        bias.packed_mask(np.zeros((2, 4), int), np.zeros((3, 4), int))


def test_more_queries_than_keys_need_an_offset_too() -> None:
    with pytest.raises(ValueError, match=r"^offset must be given"):
        bias.causal_mask(5, 3)


def test_slopes_and_distances_may_be_large() -> None:
    assert bias.alibi([2**62], 4)[0, 3, 0] == -3 * 2.0**62
    assert bias.alibi([-1e308], 4).max() == np.finfo(np.float64).max


def test_biases_have_no_more_axes_than_arrays() -> None:
    with pytest.raises(ValueError, match=r"^a result would have 66 dimensions"):
        bias.alibi(np.ones((1,) * 41), 2, offset=np.zeros((1,) * 23, int))


def test_packed_lengths_beyond_every_dtype_are_refused() -> None:
    with pytest.raises(TypeError, match=r"at most 64 bits, got dtype object"):
        bias.packed_mask([1, 2**70])
