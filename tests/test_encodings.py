"""The sinusoidal encoding and its shift matrix.

One position has one value: the same bits whatever the table around it, the type of the positions,
the layout, the threads and the instruction set. A shift by k positions is one matrix. Inputs of any
shape and memory layout are taken as they are, and left as they are. How exact the values are is
tested in test_exact.py, what is refused in test_refusals.py.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests import reference
from tests.conftest import Call
from tests.data import DTYPES, LARGEST, PAIRINGS, UNIT, assert_same_bits, by_threads, dtypes

import ropewalk as rw
from ropewalk import _core, _results
from ropewalk._encodings import Order
from ropewalk._options import Pairing

ORDERS: list[Order] = ["sin-cos", "cos-sin"]

layouts = pytest.mark.parametrize(
    ("pairing", "order"), [(pairing, order) for pairing in PAIRINGS for order in ORDERS]
)


def columns(dim: int, pairing: Pairing, order: Order) -> list[int]:
    """Return for each column where it stands in the interleaved layout with the sine first."""
    places = list(range(dim)) if order == "sin-cos" else [column ^ 1 for column in range(dim)]
    return reference.in_half_pairing(places) if pairing == "half" else places


# Values


def test_values_are_those_of_the_paper() -> None:
    frequencies = reference.standard_frequencies(6)
    expected = np.array(reference.sinusoidal_encoding(range(-5, 50), frequencies), float)
    table = rw.sinusoidal_encoding(range(-5, 50), 6)
    np.testing.assert_allclose(table, expected, rtol=0, atol=1e-15)


def test_values_are_those_of_a_printed_table() -> None:
    # Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, table 4.6: 1 and 0.01.
    expected = [
        0.841470984807896507,
        0.540302305868139717,
        0.009999833334166665,
        0.99995000041666528,
    ]
    np.testing.assert_allclose(rw.sinusoidal_encoding(1, 4), expected, rtol=0, atol=1e-17)


@layouts
def test_shift_matrices_are_those_of_the_addition_theorem(pairing: Pairing, order: Order) -> None:
    frequencies = reference.standard_frequencies(6)
    expected = np.array([reference.shift_matrix(k, frequencies) for k in (7, -0.5)], float)
    places = columns(6, pairing, order)
    matrices = rw.shift_matrix([7, -0.5], 6, pairing=pairing, order=order)
    expected = expected[:, places][:, :, places]
    np.testing.assert_allclose(matrices, expected, rtol=0, atol=1e-16)


@dtypes
@layouts
@pytest.mark.parametrize("pairs", range(1, 21))
def test_layouts_are_permutations_of_the_columns(
    pairs: int, pairing: Pairing, order: Order, dtype: str
) -> None:
    for positions in (range(-50, 60), np.arange(40) * 0.7):
        table = rw.sinusoidal_encoding(positions, 2 * pairs, dtype=dtype)
        other = rw.sinusoidal_encoding(
            positions, 2 * pairs, pairing=pairing, order=order, dtype=dtype
        )
        assert_same_bits(other, table[:, columns(2 * pairs, pairing, order)])


@dtypes
def test_position_0_is_sines_of_plus_0_and_cosines_of_1(dtype: str) -> None:
    for positions in ([0], [-0.0], range(1), range(0, -1, -1)):
        table = rw.sinusoidal_encoding(positions, 6, dtype=dtype)
        assert_same_bits(table, np.array([[0, 1] * 3]).astype(table.dtype))


def test_base_is_10000_unless_it_is_said() -> None:
    table = rw.sinusoidal_encoding(range(9), 6)
    assert_same_bits(table, rw.sinusoidal_encoding(range(9), 6, base=10000))
    assert (table != rw.sinusoidal_encoding(range(9), 6, base=10001)).any()


@pytest.mark.parametrize("pairs", [2, 3, 256])
def test_a_base_gives_the_frequencies_of_tensor2tensor(pairs: int) -> None:
    base = 10000 ** (pairs / (pairs - 1))
    angles = np.outer(range(9), 10000.0 ** (-np.arange(pairs) / (pairs - 1)))
    expected = np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)
    table = rw.sinusoidal_encoding(range(9), 2 * pairs, base=base, pairing="half")
    np.testing.assert_allclose(table, expected, rtol=0, atol=1e-13)


def test_frequencies_say_the_width_and_the_angles() -> None:
    frequencies = rw.frequencies.standard(6, base=500.0)
    expected = rw.sinusoidal_encoding(range(9), 6, base=500.0)
    assert_same_bits(rw.sinusoidal_encoding(range(9), frequencies=frequencies), expected)
    assert_same_bits(rw.sinusoidal_encoding(range(9), 6, frequencies=frequencies), expected)


# One value for each position

widths = st.integers(1, 20).map(lambda pairs: 2 * pairs)
options: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "base": st.sampled_from([10000.0, 500000.0, 1e7, 7.3, 0.5]),
        "dtype": st.sampled_from(list(DTYPES)),
        "pairing": st.sampled_from(PAIRINGS),
        "order": st.sampled_from(ORDERS),
    }
)


whole = st.one_of(st.integers(-5000, 5000), st.integers(-LARGEST, LARGEST))


@st.composite
def ranges(draw: st.DrawFn, shortest: int = 1, longest: int = 300) -> range:
    step = draw(st.sampled_from([1, 1, 1, 2, 1000, 10**9, 10**12]))
    count = draw(st.integers(shortest, longest))
    step = min(step, 2 * LARGEST // count)
    first = min(draw(whole), LARGEST - step * (count - 1))
    return range(first, first + step * count, step)[:: draw(st.sampled_from([1, -1]))]


mixed = st.lists(st.one_of(ranges(), st.lists(whole, max_size=9)), min_size=1, max_size=4).map(
    lambda parts: np.concatenate([np.array(part, np.int64) for part in parts])
)


@given(st.one_of(ranges(), mixed), widths, options, st.data())
def test_a_part_of_a_table_is_the_table_of_that_part(
    positions: range | NDArray[np.int64], dim: int, options: dict[str, Any], data: st.DataObject
) -> None:
    begin = data.draw(st.integers(0, len(positions)))
    end = data.draw(st.integers(begin, len(positions)))
    table = rw.sinusoidal_encoding(positions, dim, **options)
    part = rw.sinusoidal_encoding(positions[begin:end], dim, **options)
    assert_same_bits(part, table[begin:end])


@given(mixed, widths, options, st.randoms())
def test_a_row_does_not_depend_on_the_rows_around_it(
    positions: NDArray[np.int64], dim: int, options: dict[str, Any], random: Any
) -> None:
    order = random.sample(range(len(positions)), len(positions))
    table = rw.sinusoidal_encoding(positions, dim, **options)
    assert_same_bits(rw.sinusoidal_encoding(positions[order], dim, **options), table[order])


@given(ranges(), widths, options)
def test_a_range_is_the_array_of_its_numbers(
    positions: range, dim: int, options: dict[str, Any]
) -> None:
    expected = rw.sinusoidal_encoding(positions, dim, **options)
    assert_same_bits(rw.sinusoidal_encoding(np.array(positions), dim, **options), expected)
    assert_same_bits(rw.sinusoidal_encoding(list(positions), dim, **options), expected)


def test_a_large_table_of_float64_does_not_depend_on_the_order_of_positions() -> None:
    order = np.random.default_rng(1).permutation(60000)
    table = rw.sinusoidal_encoding(range(60000), 64)
    assert_same_bits(rw.sinusoidal_encoding(order, 64), table[order])


@given(mixed, widths, options)
def test_whole_floats_are_the_integers_that_they_are(
    positions: NDArray[np.int64], dim: int, options: dict[str, Any]
) -> None:
    table = rw.sinusoidal_encoding(positions, dim, **options)
    floats = positions.astype(np.float64)
    assert_same_bits(rw.sinusoidal_encoding(floats, dim, **options), table)


@dtypes
@pytest.mark.parametrize("count", [1, 7, 8, 9, 255, 257, 600])
def test_a_table_of_one_pair_is_the_first_pair_of_a_wider_one(dtype: str, count: int) -> None:
    """Its lanes are positions, and not pairs."""
    rng = np.random.default_rng(count)
    odd = np.array([0, -0.0, 5e-324, 2.0**-1022, 0.1, -0.7, LARGEST, -LARGEST, LARGEST / 2 + 0.5])
    reals = np.resize(odd, count) if count < 10 else rng.standard_normal(count) * 1e4
    reals[count // 2] = 0
    for positions in (reals, reals.astype(np.float32), reals.astype(np.int64), range(count)):
        wide = rw.sinusoidal_encoding(positions, 4, dtype=DTYPES[dtype])
        assert_same_bits(rw.sinusoidal_encoding(positions, 2, dtype=DTYPES[dtype]), wide[:, :2])
        tables = rw.rotary_tables(positions, 4, dtype=DTYPES[dtype])
        for one, two in zip(
            rw.rotary_tables(positions, 2, dtype=DTYPES[dtype]), tables, strict=True
        ):
            assert_same_bits(one, two[:, :1])


@given(st.one_of(ranges(), mixed), widths, st.sampled_from(list(DTYPES)))
def test_the_encoding_of_minus_p_has_the_negated_sines(
    positions: range | NDArray[np.int64], dim: int, dtype: str
) -> None:
    numbers = np.array([p for p in positions if p != 0], np.int64)
    table = rw.sinusoidal_encoding(numbers, dim, dtype=dtype)
    table[:, ::2] = -table[:, ::2]
    assert_same_bits(rw.sinusoidal_encoding(-numbers, dim, dtype=dtype), table)


@dtypes
def test_the_encoding_of_minus_p_mirrors_any_frequency_and_fraction(dtype: str) -> None:
    frequencies = rw.frequencies.from_radians([1.0, -0.3, 0.0, 1e-29, -1e18])
    standing = 2  # no sine of 0 has a sign
    for positions in (range(1, 200), np.array([0.1, 5e-324, 1e-200, 1e15 + 0.5])):
        table = rw.sinusoidal_encoding(positions, frequencies=frequencies, dtype=dtype)
        table[:, ::2] = -table[:, ::2]
        table[:, 2 * standing] = 0.0
        mirrored = rw.sinusoidal_encoding(
            -np.array(positions), frequencies=frequencies, dtype=dtype
        )
        assert_same_bits(mirrored, table)


@st.composite
def large_tables(draw: st.DrawFn) -> tuple[range | NDArray[Any], dict[str, Any]]:
    """Tables that are large enough to be shared among threads: 512 KiB and more."""
    dim, chosen = draw(st.integers(4, 70)) * 2, draw(options)
    chosen["frequencies"] = rw.frequencies.proportional(
        dim, fraction=draw(st.floats(0, 1)), base=chosen.pop("base")
    )
    bytes_of_a_row = dim * rw.sinusoidal_encoding(0, 2, dtype=chosen["dtype"]).itemsize
    rows = 2**19 // bytes_of_a_row + 1
    positions = draw(ranges(rows, rows + 3000))
    kind = draw(st.sampled_from(["in order", "rolled", "shuffled", "fractions"]))
    if kind == "rolled":
        return np.roll(positions, draw(st.integers(1, rows))), chosen
    if kind == "shuffled":
        return np.random.default_rng(rows).permutation(positions), chosen
    if kind == "fractions":
        return np.array(positions) / 8, chosen
    return positions, chosen


@settings(max_examples=50)
@given(large_tables())
def test_bits_do_not_depend_on_the_number_of_threads(
    table: tuple[range | NDArray[Any], dict[str, Any]],
) -> None:
    positions, chosen = table
    fill = partial(rw.sinusoidal_encoding, positions, **chosen)
    assert len({by_threads(threads, fill).tobytes() for threads in (1, 2, 3, 8)}) == 1


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize(("size", "dim"), [(80, 64), (5000, 6), (1, 1030)])
def test_bits_of_shift_matrices_do_not_depend_on_the_number_of_threads(
    size: int, dim: int, pairing: Pairing
) -> None:
    positions = range(-40, size - 40)
    fill = partial(rw.shift_matrix, positions, dim, pairing=pairing)
    matrices, phases = fill(), rw.phases(positions, dim)
    sines, cosines = phases.imag, phases.real
    i = np.arange(dim // 2)
    upper, lower = (2 * i, 2 * i + 1) if pairing == "interleaved" else (i, i + dim // 2)
    expected = np.zeros_like(matrices)
    expected[:, upper, upper] = expected[:, lower, lower] = cosines
    expected[:, upper, lower], expected[:, lower, upper] = sines, 0 - sines
    assert_same_bits(matrices, expected)
    assert len({by_threads(threads, fill).tobytes() for threads in (1, 2, 3, 8)}) == 1


@given(st.one_of(ranges(), mixed, st.lists(st.floats(-(2**53), 2**53))), widths, options)
def test_bits_do_not_depend_on_the_instruction_set(
    on_each_isa: list[Call], positions: Any, dim: int, options: dict[str, Any]
) -> None:
    tables = {
        call("sinusoidal_encoding", (positions, dim), options).tobytes() for call in on_each_isa
    }
    assert len(tables) == 1


@dtypes
@layouts
def test_large_tables_are_the_same_on_each_instruction_set(
    on_each_isa: list[Call], pairing: Pairing, order: Order, dtype: str
) -> None:
    chosen = {"pairing": pairing, "order": order, "dtype": dtype}
    tables = [
        call("sinusoidal_encoding", (range(-3000, 9000), 38), chosen).tobytes()
        for call in on_each_isa
    ]
    assert len(set(tables)) == 1


# What the encoding is for

offsets = st.integers(-(10**9), 10**9)


@pytest.mark.parametrize("dtype", UNIT)
@layouts
@settings(max_examples=50)
@given(offsets, offsets, widths)
def test_a_shift_is_a_matrix_within_6_units(
    pairing: Pairing, order: Order, dtype: str, position: int, shift: int, dim: int
) -> None:
    layout: dict[str, Any] = {"pairing": pairing, "order": order}
    table = rw.sinusoidal_encoding([position, position + shift], dim, dtype=dtype, **layout)
    before, after = table.astype(np.float64)
    moved = rw.shift_matrix(shift, dim, **layout) @ before
    assert np.abs(moved - after).max() <= 6 * UNIT[dtype]


@given(offsets, offsets, widths)
def test_scores_depend_only_on_the_distance(position: int, distance: int, dim: int) -> None:
    a, b, c, origin = rw.sinusoidal_encoding([position, position + distance, distance, 0], dim)
    assert abs(a @ b - c @ origin) <= 6 * UNIT["float64"] * dim / 2


@pytest.mark.parametrize("dtype", UNIT)
@given(st.integers(-LARGEST, LARGEST), widths)
def test_every_row_has_the_norm_of_root_half_dim(dtype: str, position: int, dim: int) -> None:
    row = rw.sinusoidal_encoding(position, dim, dtype=dtype)
    squared = sum((Fraction(value) ** 2 for value in row.tolist()), Fraction())
    assert abs(squared - dim // 2) <= dim * Fraction(UNIT[dtype])


@dtypes
@given(st.integers(-LARGEST + 400, LARGEST - 400), widths)
def test_no_value_is_larger_than_1(dtype: str, position: int, dim: int) -> None:
    table = rw.sinusoidal_encoding(range(position - 400, position + 400), dim, dtype=dtype)
    assert np.abs(table).max() <= 1


def test_a_shift_matrix_turns_back_by_its_transpose() -> None:
    there, back = rw.shift_matrix([12345.5, -12345.5], 10)
    assert_same_bits(back, there.T)


def test_a_shift_by_0_is_the_identity() -> None:
    np.testing.assert_array_equal(rw.shift_matrix(0, 8), np.eye(8))


def test_shifts_add_up() -> None:
    together = rw.shift_matrix(10**6, 8) @ rw.shift_matrix(234, 8)
    np.testing.assert_allclose(together, rw.shift_matrix(1000234, 8), rtol=0, atol=6 * 2.0**-53)


def test_a_shift_matrix_takes_frequencies() -> None:
    frequencies = rw.frequencies.linear(6, factor=4.0)
    matrix = rw.shift_matrix(4, frequencies=frequencies)
    np.testing.assert_allclose(matrix, rw.shift_matrix(1, 6), rtol=0, atol=1e-16)


# Positions of every kind

NUMBERS = [0, 1, 2, 7, 100, 120]
KINDS: dict[str, Any] = {
    "tuple": tuple(NUMBERS),
    "list of floats": [float(number) for number in NUMBERS],
    "NumPy scalars": [np.int16(number) for number in NUMBERS],
    "float16": np.array(NUMBERS, np.float16),
    "float32": np.array(NUMBERS, np.float32),
    "int8": np.array(NUMBERS, np.int8),
    "uint8": np.array(NUMBERS, np.uint8),
    "uint64": np.array(NUMBERS, np.uint64),
    "big-endian int32": np.array(NUMBERS, ">i4"),
    "little-endian int64": np.array(NUMBERS, "<i8"),
    "big-endian float64": np.array(NUMBERS, ">f8"),
    "little-endian float32": np.array(NUMBERS, "<f4"),
    "every third": np.repeat(NUMBERS, 3)[::3],
    "backwards": np.array(NUMBERS[::-1], np.float64)[::-1],
    "a column": np.array([NUMBERS, NUMBERS]).T[:, 0],
    "unaligned": np.frombuffer(b"." + np.array(NUMBERS, np.int64).tobytes(), np.int64, offset=1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_positions_of_any_kind(kind: str) -> None:
    assert_same_bits(rw.sinusoidal_encoding(KINDS[kind], 6), rw.sinusoidal_encoding(NUMBERS, 6))


@pytest.mark.parametrize("position", [3, 3.0, np.int8(3), np.float32(3), np.array(3)], ids=repr)
def test_a_number_is_one_position(position: Any) -> None:
    assert_same_bits(rw.sinusoidal_encoding(position, 6), rw.sinusoidal_encoding([3], 6)[0])


@pytest.mark.parametrize("shape", [(0,), (1,), (2, 5), (3, 0), (2, 1, 4), (2, 70)], ids=str)
def test_the_shape_of_the_positions_comes_first(shape: tuple[int, ...]) -> None:
    positions = np.arange(np.prod(shape)).reshape(shape)
    table = rw.sinusoidal_encoding(positions, 6)
    assert table.shape == (*shape, 6)
    assert table.tobytes() == rw.sinusoidal_encoding(positions.ravel(), 6).tobytes()


@pytest.mark.parametrize("shape", [(), (0,), (4,), (2, 3)], ids=str)
def test_the_shape_of_the_offsets_comes_first(shape: tuple[int, ...]) -> None:
    offsets = np.arange(np.prod(shape)).reshape(shape)
    matrices = rw.shift_matrix(offsets, 6)
    assert matrices.shape == (*shape, 6, 6)
    expected = [rw.shift_matrix(int(offset), 6) for offset in offsets.ravel()]
    assert matrices.tobytes() == b"".join(matrix.tobytes() for matrix in expected)


def test_positions_in_fortran_order_keep_their_places() -> None:
    positions = np.asfortranarray(np.arange(12).reshape(3, 4))
    expected = rw.sinusoidal_encoding(range(12), 6)
    assert rw.sinusoidal_encoding(positions, 6).tobytes() == expected.tobytes()


@pytest.mark.parametrize("positions", [[], range(0), range(5, 2), range(2**70, 2**70)], ids=str)
def test_no_positions_make_no_rows(positions: Sequence[int]) -> None:
    assert rw.sinusoidal_encoding(positions, 6).shape == (0, 6)
    assert rw.shift_matrix(positions, 1030).shape == (0, 1030, 1030)


@pytest.mark.parametrize("step", [2**60, 10**30, -(10**30)], ids=str)
def test_a_range_of_one_position_may_have_any_step(step: int) -> None:
    table = rw.sinusoidal_encoding(range(5, 5 + step, step), 6)
    assert_same_bits(table, rw.sinusoidal_encoding([5], 6))


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_numbers_that_count_upwards_through_all_axes_are_no_range(kind: Any) -> None:
    cells = np.arange(40).reshape(20, 2).astype(kind)
    table = rw.sinusoidal_encoding(cells, frequencies=rw.frequencies.axial(8))
    first, second = (rw.sinusoidal_encoding(cells[:, axis].copy(), 4) for axis in (0, 1))
    assert_same_bits(table, np.concatenate([first, second], axis=1))
    out = np.empty_like(table)
    assert rw.sinusoidal_encoding(cells, frequencies=rw.frequencies.axial(8), out=out) is out
    assert_same_bits(out, table)


def test_a_batch_of_long_ranges_is_filled_like_each_of_them() -> None:
    starts = [0, 1000, -(2**40), 2**53 - 2999]
    positions = np.array([np.arange(start, start + 3000) for start in starts])
    expected = np.stack([rw.sinusoidal_encoding(range(s, s + 3000), 10) for s in starts])
    assert_same_bits(rw.sinusoidal_encoding(positions, 10), expected)


# Manners


@pytest.mark.parametrize("positions", [np.arange(5), np.arange(5.0)[::-1]], ids=["int", "strided"])
def test_positions_are_left_as_they_are(positions: NDArray[Any]) -> None:
    before = positions.copy()
    positions.flags.writeable = False
    rw.sinusoidal_encoding(positions, 6)
    rw.shift_matrix(positions, 6)
    np.testing.assert_array_equal(positions, before)


@dtypes
def test_the_result_is_a_new_array_of_its_own(dtype: str) -> None:
    table = rw.sinusoidal_encoding(range(5), 6, dtype=dtype)
    assert table.dtype.name == dtype
    assert table.flags.owndata
    assert table.flags.writeable
    assert table.flags.c_contiguous


def test_shift_matrices_are_a_new_array_of_their_own() -> None:
    matrices = rw.shift_matrix(range(5), 6)
    assert matrices.dtype == np.float64
    assert matrices.flags.owndata
    assert matrices.flags.writeable
    assert matrices.flags.c_contiguous


def test_tables_are_float64_unless_it_is_said() -> None:
    assert rw.sinusoidal_encoding(np.arange(5, dtype=np.float32), 6).dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float32, "f4", np.dtype("f4"), "float32"], ids=repr)
def test_a_dtype_may_be_said_as_in_numpy(dtype: Any) -> None:
    assert rw.sinusoidal_encoding(5, 6, dtype=dtype).dtype == np.float32


@pytest.mark.parametrize(
    "dtype", ["bfloat16", ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16)], ids=repr
)
def test_bfloat16_may_be_said_by_its_name(dtype: Any) -> None:
    assert rw.sinusoidal_encoding(5, 6, dtype=dtype).dtype == ml_dtypes.bfloat16


# Where the result goes

ROWS, DIM = 80, 22
OUTS: dict[str, Callable[[Any], NDArray[Any]]] = {
    "C order": lambda dtype: np.zeros((ROWS, DIM), dtype),
    "Fortran order": lambda dtype: np.zeros((ROWS, DIM), dtype, order="F"),
    "a transposed buffer": lambda dtype: np.zeros((DIM, ROWS), dtype).T,
    "every second column": lambda dtype: np.zeros((ROWS, 2 * DIM), dtype)[:, ::2],
    "every second row": lambda dtype: np.zeros((2 * ROWS, DIM), dtype)[1::2],
    "backwards": lambda dtype: np.zeros((ROWS, DIM), dtype)[::-1, ::-1],
    "the middle of a larger array": lambda dtype: np.zeros((ROWS + 2, DIM + 4), dtype)[1:-1, 2:-2],
    "unaligned": lambda dtype: (
        np.zeros(ROWS * DIM * dtype.itemsize + 1, np.uint8)[1:].view(dtype).reshape(ROWS, DIM)
    ),
}


@dtypes
@layouts
@pytest.mark.parametrize("where", OUTS)
def test_out_of_any_strides_is_filled_and_returned(
    where: str, pairing: Pairing, order: Order, dtype: str
) -> None:
    expected = rw.sinusoidal_encoding(range(ROWS), DIM, pairing=pairing, order=order, dtype=dtype)
    out = OUTS[where](expected.dtype)
    result = rw.sinusoidal_encoding(range(ROWS), DIM, pairing=pairing, order=order, out=out)
    assert result is out
    assert_same_bits(result, expected)


@dtypes
@pytest.mark.parametrize("where", ["every second column", "the middle of a larger array"])
def test_nothing_is_written_beside_out(where: str, dtype: str) -> None:
    out = OUTS[where](rw.sinusoidal_encoding(0, 2, dtype=dtype).dtype)
    whole = out.base
    assert whole is not None
    rw.sinusoidal_encoding(range(ROWS), DIM, out=out)
    written = np.count_nonzero(out)
    assert written > 0
    assert np.count_nonzero(whole) == written


@dtypes
def test_no_positions_write_nothing(dtype: str) -> None:
    whole = np.full((2, 4), 7, DTYPES[dtype])
    standing = rw.frequencies.from_radians([1.0, 0.0])
    rw.sinusoidal_encoding([], frequencies=standing, out=whole[:0])
    assert (whole == 7).all()


@dtypes
def test_out_alone_says_the_dtype(dtype: str) -> None:
    expected = rw.sinusoidal_encoding(range(3), 6, dtype=dtype)
    out = np.zeros_like(expected)
    assert_same_bits(rw.sinusoidal_encoding(range(3), 6, out=out), expected)


@pytest.mark.parametrize("positions", [7, [], [[1, 2, 3], [4, 5, 6]]], ids=["one", "none", "batch"])
def test_out_has_the_shape_of_the_positions_first(positions: Any) -> None:
    expected = rw.sinusoidal_encoding(positions, 6)
    out = np.zeros((*np.shape(positions), 6))
    assert rw.sinusoidal_encoding(positions, 6, out=out) is out
    assert_same_bits(out, expected)


@pytest.mark.parametrize("offset", [0, 2, 4, 8, 16], ids="{} bytes off a line".format)
@dtypes
@layouts
def test_stores_that_pass_the_cache_by_write_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, pairing: Pairing, order: Order, dtype: str, offset: int
) -> None:
    layout: dict[str, Any] = {"pairing": pairing, "order": order, "dtype": dtype}
    dims = (2, 4, 8, 14, 16, 18, 32, 40, 64)
    through = [rw.sinusoidal_encoding(range(70, 270), dim, **layout) for dim in dims]
    monkeypatch.setattr(_results, "STREAMED_BYTES", 0)
    monkeypatch.setattr(_core, "encode_plainly", lambda *_: None)  # what takes small calls
    for dim, expected in zip(dims, through, strict=True):
        memory = np.zeros(expected.nbytes + 128, np.uint8)
        skipped = -memory.ctypes.data % 64 + offset
        out = memory[skipped : skipped + expected.nbytes].view(expected.dtype).reshape(-1, dim)
        assert_same_bits(rw.sinusoidal_encoding(range(70, 270), dim, out=out, **layout), expected)


@dtypes
def test_a_table_larger_than_the_cache_has_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    large = _results.STREAMED_BYTES
    out = np.zeros((1, 1024), dtype)
    out = out.repeat(large // out.nbytes, axis=0)
    assert out.nbytes >= large
    with rw.num_threads(1):
        rw.sinusoidal_encoding(range(len(out)), 1024, out=out)
    with rw.num_threads(2):
        new = rw.sinusoidal_encoding(range(len(out)), 1024, dtype=dtype)
    monkeypatch.setattr(_results, "STREAMED_BYTES", large + 1)  # through the cache
    expected = rw.sinusoidal_encoding(range(len(out)), 1024, dtype=dtype)
    assert np.array_equal(out.view(np.uint8), expected.view(np.uint8))
    assert np.array_equal(new.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("dim", [2, 16, 18, 32, 48, 80])
@dtypes
def test_stores_that_pass_the_cache_by_write_the_same_bits_of_rotary_tables(
    monkeypatch: pytest.MonkeyPatch, dtype: str, dim: int
) -> None:
    encoding = rw.sinusoidal_encoding(range(70, 270), dim, dtype=dtype)
    monkeypatch.setattr(_results, "STREAMED_BYTES", 0)
    cosines, sines = rw.rotary_tables(range(70, 270), dim, dtype=dtype)
    assert_same_bits(sines, encoding[:, 0::2])
    assert_same_bits(cosines, encoding[:, 1::2])
