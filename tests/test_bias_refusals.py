"""What biases and masks refuse, and what they say of it."""

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.data import LARGEST
from tests.refusals import exactly
from tests.test_bias import OF_POSITIONS, of_positions

from ropewalk import bias

NAN, INF = float("nan"), float("inf")


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


@pytest.mark.parametrize("slopes", [["a"], [1j], [True]], ids=repr)
def test_slopes_must_be_real(slopes: Any) -> None:
    with pytest.raises(TypeError, match=r"^slopes must be real numbers, got dtype "):
        bias.alibi(slopes, 3)


def test_slopes_must_be_given() -> None:
    with pytest.raises(TypeError, match=r"^slopes must be a number or an array .*, got None$"):
        bias.alibi(None, 3)  # type: ignore[arg-type]


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


@pytest.mark.parametrize("table", [[[True]], [["1"]], [[1j]]], ids=repr)
def test_entries_must_be_real(table: Any) -> None:
    for function in (bias.t5, bias.relative):
        with pytest.raises(TypeError, match=r"^table must be integers, float64, float32, "):
            function(table, 3)


def test_entries_must_be_given() -> None:
    for function in (bias.t5, bias.relative):
        with pytest.raises(TypeError, match=r"^table must be an array of numbers, got None$"):
            function(None, 3)  # type: ignore[arg-type]


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


def test_biases_have_no_more_axes_than_arrays() -> None:
    with pytest.raises(ValueError, match=r"^a result would have 66 dimensions"):
        bias.alibi(np.ones((1,) * 41), 2, offset=np.zeros((1,) * 23, int))


@pytest.mark.parametrize("ids", [[1, 2**70], [2**63, -1], [2**64, 1]], ids=str)
def test_packed_lengths_beyond_every_dtype_are_refused(ids: list[int]) -> None:
    with pytest.raises(TypeError, match=r"at most 64 bits, got dtype object"):
        bias.packed_mask(ids)


@pytest.mark.parametrize("values", [[2**63, 1], [2**63, -1], [2**64, 1]], ids=str)
def test_integers_of_which_numpy_makes_floats_are_out_of_range(values: list[int]) -> None:
    with pytest.raises(ValueError, match=rf"^key_lengths must be .*, got {values[0]}"):
        bias.key_length_mask(values, 5)


def test_objects_are_no_integers() -> None:
    with pytest.raises(TypeError, match=exactly("key_lengths must be integers, got dtype object")):
        bias.key_length_mask(np.array([1, 0], object), 5)
