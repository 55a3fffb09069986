"""Bad input to the rotary functions gives a clear error, and nothing has been written by then.

What their arguments have in common with those of other encodings (positions, dim, base) is tested
in test_refusals.py in full, and here once for each function.
"""

import re
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.refusals import exactly

import ropewalk as rw

NAN, INF = float("nan"), float("inf")
X = np.ones((3, 6, 8))
TABLE = np.ones((6, 4))

# Functions of positions alone: (positions, dim, **options).
MAKERS: dict[str, Callable[..., Any]] = {
    "rotary_tables": rw.rotary_tables,
    "rotation_matrix": rw.rotation_matrix,
    "rotation_blocks": rw.rotation_blocks,
    "phases": rw.phases,
}
# Functions of data and positions: (x, positions, **options), and what they call the latter.
TURNERS: dict[str, tuple[Callable[..., NDArray[Any]], str]] = {
    "rotate": (rw.rotate, "positions"),
    "rerotate": (rw.rerotate, "offset"),
}
# All functions of data: (x, **options).
OF_DATA: dict[str, Callable[..., NDArray[Any]]] = {
    "rotate": lambda x, **options: rw.rotate(x, 3, **options),
    "rerotate": lambda x, **options: rw.rerotate(x, 3, **options),
    "rotate_by": lambda x, **options: rw.rotate_by(x, TABLE[0], TABLE[0], **options),
    "quarter_turn": rw.quarter_turn,
}
makers = pytest.mark.parametrize("maker", MAKERS)
turners = pytest.mark.parametrize("turner", TURNERS)
of_data = pytest.mark.parametrize("function", OF_DATA)
writers = pytest.mark.parametrize("function", ["rotate", "rerotate", "rotate_by"])


# Data

NO_DATA: dict[str, tuple[Any, str]] = {
    "complex": (np.ones((2, 8), complex), "complex128"),
    "objects": (np.ones((2, 8), object), "object"),
    "text": ("12", "<U2"),
    "texts": ([["1", "2"]], "<U1"),
    "bytes": (b"12", "|S2"),
    "truths": (np.ones((2, 8), bool), "bool"),
    "dates": (np.zeros((2, 8), "M8[D]"), "datetime64[D]"),
    "long double": (np.zeros((2, 8), np.longdouble), np.dtype(np.longdouble).name),
    "8-bit floats": (np.zeros((2, 8), ml_dtypes.float8_e5m2), "float8_e5m2"),
    "more than an int64 holds": ([[2**70, 1]], "object"),
}


@pytest.mark.parametrize("case", NO_DATA)
@of_data
def test_x_must_be_numbers(function: str, case: str) -> None:
    x, found = NO_DATA[case]
    message = f"x must be integers, float64, float32, float16 or bfloat16, got dtype {found}"
    with pytest.raises(TypeError, match=exactly(message)):
        OF_DATA[function](x)


@of_data
def test_x_must_be_there(function: str) -> None:
    with pytest.raises(TypeError, match=exactly("x must be an array of numbers, got None")):
        OF_DATA[function](None)


@pytest.mark.parametrize("x", [3, 2.5, np.float32(1), np.array(7.0)], ids=repr)
@of_data
def test_x_must_have_a_dimension(function: str, x: Any) -> None:
    message = "x must have at least one dimension, got a number"
    with pytest.raises(ValueError, match=exactly(message)):
        OF_DATA[function](x)


@of_data
def test_ragged_data_is_refused(function: str) -> None:
    with pytest.raises(ValueError, match=r"^x must be"):
        OF_DATA[function]([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize("features", [0, 1, 7, 2**20 + 2])
@pytest.mark.parametrize("function", ["rotate", "rerotate", "quarter_turn"])
def test_x_must_have_an_even_number_of_features(function: str, features: int) -> None:
    message = f"x must have an even number of features from 2 to 1048576, got {features}"
    if function != "quarter_turn":
        message += "; rotary_dim says how many of them are turned"
    with pytest.raises(ValueError, match=exactly(message)):
        OF_DATA[function](np.ones((2, features), np.float16))


# Rotary width, base and frequencies


@pytest.mark.parametrize("rotary_dim", [0, 1, 3, -2, 10, 2**20 + 2, 2**70])
@turners
def test_rotary_dim_must_be_even_and_within_x(turner: str, rotary_dim: int) -> None:
    message = f"rotary_dim must be an even integer from 2 to the 8 features of x, got {rotary_dim}"
    with pytest.raises(ValueError, match=exactly(message)):
        TURNERS[turner][0](X, 0, rotary_dim=rotary_dim)


@pytest.mark.parametrize("rotary_dim", [4.0, "4", [4], 4j], ids=repr)
@turners
def test_rotary_dim_must_be_an_integer(turner: str, rotary_dim: Any) -> None:
    message = f"rotary_dim must be an integer, got {rotary_dim!r}"
    with pytest.raises(TypeError, match=exactly(message)):
        TURNERS[turner][0](X, 0, rotary_dim=rotary_dim)


@pytest.mark.parametrize("dim", [6, 10])
@turners
def test_frequencies_must_be_of_the_width_of_x(turner: str, dim: int) -> None:
    frequencies = rw.frequencies.standard(dim)
    message = (
        f"the last axis of x must be {dim}, twice the pairs of frequencies, got 8; "
        "rotary_dim says how many features are turned"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        TURNERS[turner][0](X, 0, frequencies=frequencies)


@pytest.mark.parametrize("dim", [2, 6, 8])
@turners
def test_frequencies_must_be_of_the_rotary_width(turner: str, dim: int) -> None:
    frequencies = rw.frequencies.standard(dim)
    message = f"rotary_dim must be {dim}, twice the pairs of frequencies, got 4; "
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        TURNERS[turner][0](X, 0, frequencies=frequencies, rotary_dim=4)


@turners
def test_base_and_frequencies_exclude_each_other_for_data(turner: str) -> None:
    message = "base must not be given together with frequencies, got 10000.0"
    with pytest.raises(ValueError, match=exactly(message)):
        TURNERS[turner][0](X, 0, base=10000.0, frequencies=rw.frequencies.standard(8))


@makers
def test_base_and_frequencies_exclude_each_other(maker: str) -> None:
    message = "base must not be given together with frequencies, got 500"
    with pytest.raises(ValueError, match=exactly(message)):
        MAKERS[maker](0, base=500, frequencies=rw.frequencies.standard(8))


@pytest.mark.parametrize("given", [[1.0], np.ones(4), "standard"], ids=repr)
def test_frequencies_must_be_frequencies(given: Any) -> None:
    message = f"^frequencies must come from ropewalk.frequencies.*, got {type(given).__name__}$"
    for call in (rw.rotate, rw.rerotate):
        with pytest.raises(TypeError, match=message):
            call(X, 0, frequencies=given)
    for maker in MAKERS.values():
        with pytest.raises(TypeError, match=message):
            maker(0, frequencies=given)


@pytest.mark.parametrize("base", [0, -1.0, NAN, INF], ids=repr)
def test_base_must_be_positive_and_finite(base: float) -> None:
    message = f"base must be positive and finite, got {float(base)!r}"
    for call in (rw.rotate, rw.rerotate):
        with pytest.raises(ValueError, match=exactly(message)):
            call(X, 0, base=base)
    for maker in MAKERS.values():
        with pytest.raises(ValueError, match=exactly(message)):
            maker(0, 8, base=base)


@pytest.mark.parametrize("dim", [0, 7, -2, 2**20 + 2])
@makers
def test_dim_must_be_even_and_from_2_to_2_to_the_20(maker: str, dim: int) -> None:
    message = f"dim must be an even integer from 2 to 1048576, got {dim}"
    with pytest.raises(ValueError, match=exactly(message)):
        MAKERS[maker](0, dim)


@makers
def test_dim_must_be_an_integer_and_given_without_frequencies(maker: str) -> None:
    with pytest.raises(TypeError, match=exactly("dim must be an integer, got 4.0")):
        MAKERS[maker](0, 4.0)
    with pytest.raises(TypeError, match=exactly("dim must be given where frequencies is not")):
        MAKERS[maker](0)
    with pytest.raises(ValueError, match=r"^dim must be 6, twice the pairs.*, got 4$"):
        MAKERS[maker](0, 4, frequencies=rw.frequencies.standard(6))


# Positions

BEYOND: dict[str, tuple[Any, str]] = {
    "NaN": ([0, NAN, 0, 0, 0, 0], "nan"),
    "infinity": (INF, "inf"),
    "float32 minus infinity": (np.float32(-INF), "-inf"),
    "2^53 + 1": (2**53 + 1, "9007199254740993"),
    "2^53 + 2 in floats": (2.0**53 + 2, "9007199254740994.0"),
    "largest uint64": (np.full(6, 2**64 - 1, np.uint64), "18446744073709551615"),
    "beyond int64": (-(10**30), "-1000000000000000000000000000000"),
    "a range": (range(2**53 - 4, 2**53 + 2), "9007199254740993"),
}


@pytest.mark.parametrize("case", BEYOND)
@turners
def test_positions_must_be_finite_and_at_most_2_to_the_53(turner: str, case: str) -> None:
    (function, name), (positions, found) = TURNERS[turner], BEYOND[case]
    message = f"{name} must be finite and at most 2**53 in size, got {found}"
    with pytest.raises(ValueError, match=exactly(message)):
        function(X, positions)


@pytest.mark.parametrize("case", BEYOND)
@makers
def test_positions_alone_must_be_finite_and_at_most_2_to_the_53(maker: str, case: str) -> None:
    positions, found = BEYOND[case]
    message = f"positions must be finite and at most 2**53 in size, got {found}"
    with pytest.raises(ValueError, match=exactly(message)):
        MAKERS[maker](positions, 8)


@pytest.mark.parametrize(
    "positions", [1j, "12", [None] * 6, np.ones(6, bool), np.ones(6, object)], ids=repr
)
def test_positions_must_be_numbers(positions: Any) -> None:
    for function, name in TURNERS.values():
        with pytest.raises(TypeError, match=rf"^{name} must be integers, .* got dtype "):
            function(X, positions)
    for maker in MAKERS.values():
        with pytest.raises(TypeError, match=r"^positions must be integers, .* got dtype "):
            maker(positions, 8)


@turners
def test_ragged_positions_are_refused(turner: str) -> None:
    function, name = TURNERS[turner]
    with pytest.raises(ValueError, match=f"^{name} must be a number, a range or an array"):
        function(X, [[1], [2, 3]])


def test_positions_must_be_given_for_one_row() -> None:
    message = "positions must be given where x has one dimension"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.rotate(np.ones(8))


def test_an_offset_must_be_given() -> None:
    with pytest.raises(TypeError, match="offset"):
        rw.rerotate(X)  # type: ignore[call-arg]
    message = "offset must be a number, a range or an array of numbers, got None"
    with pytest.raises(TypeError, match=exactly(message)):
        rw.rerotate(X, None)  # type: ignore[arg-type]


def test_positions_of_another_shape_are_refused_with_the_index_that_fits() -> None:
    message = (
        "positions must have no axis, one as long as axis -2 of x, or as many as x before its last "
        "one, each as long or 1, for x of shape (6, 3, 8); got shape (6,); "
        "for axis 0 of x write positions[:, None]"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        rw.rotate(np.ones((6, 3, 8)), range(6))


@pytest.mark.parametrize(
    ("shape", "position_shape"),
    [
        ((8,), (1,)),
        ((8,), (8,)),
        ((6, 8), (5,)),
        ((6, 8), (0,)),
        ((6, 8), (6, 1)),
        ((6, 8), (1, 6)),
        ((6, 8), (6, 8)),
        ((1, 8), (6,)),
        ((3, 6, 8), (3,)),
        ((3, 6, 8), (6, 1)),
        ((3, 6, 8), (6, 3)),
        ((3, 6, 8), (2, 6)),
        ((3, 1, 8), (3, 6)),
        ((2, 3, 6, 8), (3, 6)),
        ((2, 3, 6, 8), (3, 1)),
        ((3, 6, 8), (1, 3, 6)),
        ((0, 8), (2,)),
    ],
    ids=str,
)
@turners
def test_positions_must_fit_the_rows(
    turner: str, shape: tuple[int, ...], position_shape: tuple[int, ...]
) -> None:
    function, name = TURNERS[turner]
    message = rf"^{name} must have no axis, .*x of shape {re.escape(str(shape))}; got shape "
    with pytest.raises(ValueError, match=message + re.escape(str(position_shape))):
        function(np.ones(shape), np.zeros(position_shape, int))


@pytest.mark.parametrize(
    ("shape", "own", "fix", "index"),
    [
        ((6, 3, 8), (6,), "axis 0 of x write {}[:, None]", np.s_[:, None]),
        ((6, 3, 2, 8), (6,), "axis 0 of x write {}[:, None, None]", np.s_[:, None, None]),
        ((2, 6, 3, 8), (6,), "axis 1 of x write {}[None, :, None]", np.s_[None, :, None]),
        ((6, 6, 3, 8), (6,), "axis 0 of x write {}[:, None, None]", np.s_[:, None, None]),
        ((2, 3, 5, 8), (2, 5), "axes 0 and 2 of x write {}[:, None, :]", np.s_[:, None, :]),
        ((2, 3, 5, 8), (2, 1), "axes 0 and 2 of x write {}[:, None, :]", np.s_[:, None, :]),
        ((1, 3, 1, 8), (1, 1), "axes 0 and 2 of x write {}[:, None, :]", np.s_[:, None, :]),
        ((5, 5, 5, 8), (5, 5), "axes 0 and 2 of x write {}[:, None, :]", np.s_[:, None, :]),
        ((2, 5, 3, 8), (2, 5), "axes 0 and 1 of x write {}[:, :, None]", np.s_[:, :, None]),
    ],
    ids=str,
)
def test_the_index_that_is_shown_is_right(
    shape: tuple[int, ...], own: tuple[int, ...], fix: str, index: Any
) -> None:
    rng = np.random.default_rng(1)
    x, positions = rng.standard_normal(shape), rng.integers(100, size=own)
    with pytest.raises(ValueError, match=re.escape(f"for {fix.format('positions')}")):
        rw.rotate(x, positions)
    turned = rw.rotate(x, positions[index])
    full = np.broadcast_to(positions[index], shape[:-1])
    for row in np.ndindex(full.shape):
        np.testing.assert_array_equal(turned[row], rw.rotate(x[row], full[row]))

    cosines, sines = rw.rotary_tables(positions, 8)
    of_tables = fix.format("cosines")[:-1] + ", :]"
    with pytest.raises(ValueError, match=re.escape(f"for {of_tables}")):
        rw.rotate_by(x, cosines, sines)
    np.testing.assert_array_equal(rw.rotate_by(x, cosines[index], sines[index]), turned)


@pytest.mark.parametrize("own", [(4,), (2, 3, 5, 1), (5, 2), (2, 4), (0,)], ids=str)
def test_no_index_is_shown_where_none_fits(own: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"got shape \([0-9, ]*\)$"):
        rw.rotate(np.ones((2, 3, 5, 8)), np.zeros(own))


SAME_ON_BOTH = "where they are the same on all axes write np.stack([{}] * 2, axis=-1)"


@pytest.mark.parametrize(
    "positions", [3, [1, 2, 3], np.arange(6), np.zeros((6, 3)), np.zeros((6, 1)), np.zeros((2, 6))]
)
@turners
def test_positions_on_axes_must_have_one_coordinate_an_axis(turner: str, positions: Any) -> None:
    function, name = TURNERS[turner]
    shape = np.shape(positions)
    message = (
        f"{name} must have a last axis of length 2, one position on each axis of the frequencies, "
        f"got shape {shape}; "
    )
    if shape == (2, 6):
        message += f"where the first axis is that write np.moveaxis({name}, 0, -1)"
    else:
        message += SAME_ON_BOTH.format(name)
    with pytest.raises(ValueError, match=exactly(message)):
        function(X, positions, frequencies=rw.frequencies.axial(8))


# As many as there are axes, they would be taken for one position on each.
@pytest.mark.parametrize("length", [0, 1, 2, 6])
@turners
def test_a_range_has_no_position_on_each_axis(turner: str, length: int) -> None:
    function, name = TURNERS[turner]
    message = (
        f"{name} must have a position on each of 2 axes for every token, got range(0, {length}); "
        + SAME_ON_BOTH.format(name)
    )
    with pytest.raises(ValueError, match=exactly(message)):
        function(X, range(length), frequencies=rw.frequencies.axial(8))


def test_what_is_shown_for_positions_on_axes_turns_rows() -> None:
    axial, rows = rw.frequencies.axial(8), np.arange(6)
    both = rw.rotate(X, np.stack([rows] * 2, axis=-1), frequencies=axial)
    np.testing.assert_array_equal(both, rw.rotate(X, frequencies=axial))
    first = np.stack([rows, rows])
    np.testing.assert_array_equal(rw.rotate(X, np.moveaxis(first, 0, -1), frequencies=axial), both)


@makers
def test_positions_alone_must_have_one_coordinate_an_axis(maker: str) -> None:
    message = r"^positions must have a last axis of length 2, .* got shape \(6,\); where they are "
    with pytest.raises(ValueError, match=message):
        MAKERS[maker](np.arange(6), frequencies=rw.frequencies.axial(8))


@turners
def test_positions_on_axes_must_fit_the_rows(turner: str) -> None:
    function, name = TURNERS[turner]
    message = rf"^{name} must have no axis before its coordinates, .* got shape \(5, 2\)$"
    with pytest.raises(ValueError, match=message):
        function(X, np.zeros((5, 2)), frequencies=rw.frequencies.axial(8))
    message = rf"got shape \(3, 2\); for axis 0 of x write {name}\[:, None, :\]$"
    with pytest.raises(ValueError, match=message):
        function(X, np.zeros((3, 2)), frequencies=rw.frequencies.axial(8))


# Tables


def test_tables_must_have_one_shape() -> None:
    message = "cosines and sines must have one shape, got (6, 4) and (1, 4)"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.rotate_by(X, np.ones((6, 4)), np.ones((1, 4)))


CUT = (
    "; tables that hold each pair twice are to be cut: to [..., :4] where two halves are alike, to "
    "[..., ::2] where neighbours are"
)


@pytest.mark.parametrize("pairs", [0, 5, 8])
def test_tables_must_hold_pairs_of_x(pairs: int) -> None:
    table = np.ones((6, pairs))
    message = f"cosines must hold from 1 pair to half the 8 features of x, got {pairs} pairs"
    if pairs == 8:
        message += CUT
    with pytest.raises(ValueError, match=exactly(message)):
        rw.rotate_by(X, table, table)


@pytest.mark.parametrize("rotary_dim", [2, 6])
def test_rotary_dim_must_be_that_of_the_tables(rotary_dim: int) -> None:
    message = f"rotary_dim must be 8, twice the pairs of cosines, got {rotary_dim}"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.rotate_by(X, TABLE, TABLE, rotary_dim=rotary_dim)


def test_tables_of_a_part_must_not_hold_each_pair_twice() -> None:
    x, table = np.ones((3, 6, 24)), np.ones((6, 8))
    message = "rotary_dim must be 16, twice the pairs of cosines, got 8" + CUT
    with pytest.raises(ValueError, match=exactly(message)):
        rw.rotate_by(x, table, table, rotary_dim=8)


def test_the_rotary_dim_of_tables_must_be_even_and_within_x() -> None:
    with pytest.raises(ValueError, match=r"^rotary_dim must be an even integer from 2 to the 8 "):
        rw.rotate_by(X, TABLE, TABLE, rotary_dim=10)


@pytest.mark.parametrize("shape", [(5, 4), (2, 6, 4), (6, 1, 4), (1, 3, 6, 4)], ids=str)
def test_tables_must_fit_the_rows(shape: tuple[int, ...]) -> None:
    table = np.ones(shape)
    message = f"for x of shape (3, 6, 8); got shape {shape}"
    start = "^cosines must have no axis before its pairs, .*"
    with pytest.raises(ValueError, match=start + re.escape(message)):
        rw.rotate_by(X, table, table)


@pytest.mark.parametrize("table", [TABLE * 1j, TABLE > 0, "12"], ids=["complex", "truths", "text"])
def test_tables_must_be_numbers(table: Any) -> None:
    with pytest.raises(TypeError, match=r"^cosines must be integers, .* got dtype "):
        rw.rotate_by(X, table, TABLE)
    with pytest.raises(TypeError, match=r"^sines must be integers, .* got dtype "):
        rw.rotate_by(X, TABLE, table)


def test_tables_must_be_given() -> None:
    nothing: Any = None
    with pytest.raises(TypeError, match=r"^cosines must be .*array of numbers, got None$"):
        rw.rotate_by(X, nothing, TABLE)
    with pytest.raises(TypeError, match=r"^sines must be .*array of numbers, got None$"):
        rw.rotate_by(X, TABLE, nothing)


def test_tables_must_have_a_dimension() -> None:
    message = "cosines must have at least one dimension, got a number"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.rotate_by(X, 1.0, 0.0)


# Choices


@pytest.mark.parametrize("pairing", ["neox", "", "Half", None, 2, True], ids=repr)
def test_pairing_must_be_one_of_two(pairing: Any) -> None:
    message = f"pairing must be one of 'interleaved', 'half', got {pairing!r}"
    for call in OF_DATA.values():
        with pytest.raises(ValueError, match=exactly(message)):
            call(X, pairing=pairing)
    with pytest.raises(ValueError, match=exactly(message)):
        rw.rotation_matrix(0, 8, pairing=pairing)


@pytest.mark.parametrize("pairing", [["half"], np.array(["half", "half"])], ids=type)
def test_pairing_must_not_be_an_array(pairing: Any) -> None:
    with pytest.raises(ValueError, match=r"^pairing must be one of"):
        rw.rotate(X, 0, pairing=pairing)


@pytest.mark.parametrize("angles", ["float64", "", "EXACT", None, 32], ids=repr)
def test_angles_must_be_one_of_two(angles: Any) -> None:
    message = f"angles must be one of 'exact', 'float32', got {angles!r}"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.rotary_tables(0, 8, angles=angles)


@pytest.mark.parametrize("inverse", ["no", []], ids=repr)
def test_inverse_must_be_true_or_false(inverse: Any) -> None:
    with pytest.raises(TypeError, match=r"^inverse must be"):
        rw.rotate(X, 0, inverse=inverse)


@pytest.mark.parametrize("dtype", ["int32", "complex64", "longdouble", "object", "S4"])
def test_dtype_must_be_one_of_four(dtype: str) -> None:
    message = "^dtype must be float64, float32, float16 or bfloat16, got "
    with pytest.raises(TypeError, match=message):
        rw.rotary_tables(0, 8, dtype=dtype)


def test_dtype_must_be_in_native_byte_order() -> None:
    swapped = np.dtype("f4").newbyteorder()
    message = f"dtype must be in native byte order, got {swapped.str}"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.rotary_tables(0, 8, dtype=swapped)


def test_bfloat16_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'ropewalk[bfloat16]'")):
        rw.rotary_tables(0, 8, dtype="bfloat16")


@pytest.mark.parametrize("position", [2**53, -(2**53)])
def test_float32_angles_must_be_at_most_2_to_the_53(position: int) -> None:
    frequencies = rw.frequencies.from_radians([0.5, 1.5])
    message = f"angles in float32 must be at most 2**53 in size, got {1.5 * position}"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.rotary_tables(position, frequencies=frequencies, angles="float32")


def test_float32_angles_must_be_finite() -> None:
    frequencies = rw.frequencies.from_radians([6e18])
    with pytest.raises(ValueError, match=r"^angles in float32 must be at most 2\*\*53 in size"):
        rw.rotary_tables(2**53, frequencies=frequencies, angles="float32")


# Out


@pytest.mark.parametrize("shape", [(), (8,), (6, 8), (3, 6, 7), (6, 3, 8), (1, 3, 6, 8)], ids=str)
@writers
def test_out_must_have_the_shape_of_x(function: str, shape: tuple[int, ...]) -> None:
    out = np.full(shape, 7.0)
    message = f"out must have shape (3, 6, 8), got {shape}"
    with pytest.raises(ValueError, match=exactly(message)):
        OF_DATA[function](X, out=out)
    assert (out == 7).all()


@pytest.mark.parametrize("dtype", ["f4", "f2", "i8", "c16", "O", ">f8"])
@writers
def test_out_must_have_the_dtype_of_x(function: str, dtype: str) -> None:
    out = np.full(X.shape, 7, dtype)
    message = f"out must have dtype float64, got {out.dtype}"
    with pytest.raises(ValueError, match=exactly(message)):
        OF_DATA[function](X, out=out)
    assert (out == 7).all()


@writers
def test_out_of_bfloat16_must_be_bfloat16(function: str) -> None:
    x, out = X.astype(ml_dtypes.bfloat16), np.full(X.shape, 7, np.uint16)
    message = "out must have dtype bfloat16, got uint16"
    with pytest.raises(ValueError, match=exactly(message)):
        OF_DATA[function](x, out=out)
    assert (out == 7).all()


@writers
def test_out_for_integers_must_be_float64(function: str) -> None:
    x = np.full(X.shape, 7)
    with pytest.raises(ValueError, match=exactly("out must have dtype float64, got int64")):
        OF_DATA[function](x, out=x)
    assert (x == 7).all()


@writers
def test_out_must_be_writable(function: str) -> None:
    for out in (np.full(X.shape, 7.0), X.copy()):
        out.flags.writeable = False
        with pytest.raises(
            ValueError, match=exactly("out must be writable, got a read-only array")
        ):
            OF_DATA[function](out, out=out)


@pytest.mark.parametrize(
    "out", [X.tolist(), "out", 3.0, memoryview(bytes(8)), True], ids=lambda out: type(out).__name__
)
@writers
def test_out_must_be_an_array(function: str, out: Any) -> None:
    message = f"out must be a NumPy array, got {type(out).__name__}"
    with pytest.raises(TypeError, match=exactly(message)):
        OF_DATA[function](X, out=out)


PARTS: dict[str, Callable[[NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]] = {
    "one row further": lambda memory: (memory[:-1], memory[1:]),
    "one row before": lambda memory: (memory[1:], memory[:-1]),
    "one feature further": lambda memory: (memory[:, :8], memory[:, 1:9]),
    "every second feature": lambda memory: (memory[:, :8], memory[:, :16:2]),
    "backwards": lambda memory: (memory, memory[::-1]),
    "transposed": lambda memory: (memory[:16], memory[:16].T),
    "the last number": lambda memory: (memory[:8, 8:], memory[7:15, 1:9]),
}


@pytest.mark.parametrize("case", PARTS)
@writers
def test_out_must_not_overlap_x_in_part(function: str, case: str) -> None:
    memory = np.arange(18 * 16.0).reshape(18, 16)
    before = memory.copy()
    x, out = PARTS[case](memory)
    message = "out must be x itself or share no memory with it, got memory that both share"
    options = {} if function == "rotate_by" else {"rotary_dim": 8}
    with pytest.raises(ValueError, match=exactly(message)):
        OF_DATA[function](x, out=out, **options)
    np.testing.assert_array_equal(memory, before)


POSITIONS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "a column": lambda memory: memory[:, 0],
    "the first numbers": lambda memory: memory.reshape(-1)[:6],
    "integers": lambda memory: memory.view(np.int64)[:, 1],
    "float32, which are converted": lambda memory: memory.view(np.float32)[:, 3],
    "a buffer": lambda memory: memory.reshape(-1)[:6].data,
    "one number": lambda memory: memory[2:3, 3],
}


@pytest.mark.parametrize("case", POSITIONS)
@turners
def test_out_must_not_overlap_the_positions(turner: str, case: str) -> None:
    memory = np.zeros((6, 8))
    message = "out must not overlap another argument, got memory that both share"
    with pytest.raises(ValueError, match=exactly(message)):
        TURNERS[turner][0](np.ones((6, 8)), POSITIONS[case](memory), out=memory)
    with pytest.raises(ValueError, match=exactly(message)):
        TURNERS[turner][0](memory, POSITIONS[case](memory), out=memory)
    assert (memory == 0).all()


@pytest.mark.parametrize("which", [0, 1])
def test_out_must_not_overlap_the_tables(which: int) -> None:
    memory = np.zeros((6, 8))
    tables = [np.ones((6, 4)), np.ones((6, 4))]
    tables[which] = memory.reshape(-1)[:24].reshape(6, 4)
    message = "out must not overlap another argument, got memory that both share"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.rotate_by(np.ones((6, 8)), *tables, out=memory)
    assert (memory == 0).all()


BAD_CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "NaN at the end": (np.append(np.zeros(5999), NAN), {}),
    "a range too far": (range(2**53 - 5998, 2**53 + 2), {}),
    "too few positions": (np.zeros(5999), {}),
    "complex positions": (np.zeros(6000, complex), {}),
    "odd width": (0, {"rotary_dim": 3}),
    "no base": (0, {"base": NAN}),
    "two schedules": (0, {"base": 2.0, "frequencies": rw.frequencies.standard(8)}),
    "another width": (0, {"frequencies": rw.frequencies.standard(6)}),
    "no pairing": (0, {"pairing": "neox"}),
}


@pytest.mark.parametrize("case", BAD_CALLS)
@turners
def test_nothing_is_written_before_a_refusal(turner: str, case: str) -> None:
    positions, options = BAD_CALLS[case]
    x = np.full((6000, 8), 7.0)
    with pytest.raises((ValueError, TypeError)):
        TURNERS[turner][0](x, positions, out=x, **options)
    assert (x == 7).all()


# Pairings that are converted


@pytest.mark.parametrize("pairing", ["neox", None, 2], ids=repr)
@pytest.mark.parametrize("name", ["source", "target"])
def test_source_and_target_must_be_pairings(name: str, pairing: Any) -> None:
    options: dict[str, Any] = {"source": "half", "target": "half"} | {name: pairing}
    message = f"{name} must be one of 'interleaved', 'half', got {pairing!r}"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.convert_pairing(X, **options)


def test_a_mask_is_not_lost_between_the_pairings() -> None:
    message = "x must not be a masked array, whose mask would be lost"
    with pytest.raises(TypeError, match=exactly(message)):
        convert(np.ma.array([1.0, 2.0], mask=[False, True]))


def convert(x: Any, **options: Any) -> NDArray[Any]:
    return rw.convert_pairing(x, source="interleaved", target="half", **options)


@pytest.mark.parametrize("axis", [3, -4, 2**70])
def test_axis_must_be_one_of_x(axis: int) -> None:
    message = f"axis must be an axis of x, which has 3 dimensions, got {axis}"
    with pytest.raises(ValueError, match=exactly(message)):
        convert(X, axis=axis)


def test_a_number_has_no_axis() -> None:
    with pytest.raises(ValueError, match=r"^axis must be an axis of x, which has 0 dimensions"):
        convert(1.0)


@pytest.mark.parametrize("value", [1.0, "1", None, [1]], ids=repr)
@pytest.mark.parametrize("name", ["axis", "heads"])
def test_axis_and_heads_must_be_integers(name: str, value: Any) -> None:
    message = f"{name} must be an integer, got {value!r}"
    with pytest.raises(TypeError, match=exactly(message)):
        convert(X, **{name: value})


@pytest.mark.parametrize("heads", [0, -1, 2**70])
def test_heads_must_be_positive(heads: int) -> None:
    message = f"heads must be an integer from 1 to {2**31}, got {heads}"
    with pytest.raises(ValueError, match=exactly(message)):
        convert(X, heads=heads)


def test_heads_must_divide_the_axis() -> None:
    message = "axis 1 of x must be a multiple of heads=4, got 6"
    with pytest.raises(ValueError, match=exactly(message)):
        convert(X, heads=4, axis=1)


@pytest.mark.parametrize("rotary_dim", [0, 3, 6, -2])
def test_the_rotary_dim_of_a_head_must_be_even_and_within_it(rotary_dim: int) -> None:
    expected = "rotary_dim must be an even integer from 2 to the 4 features of each head"
    with pytest.raises(ValueError, match=exactly(f"{expected}, got {rotary_dim}")):
        convert(X, heads=2, rotary_dim=rotary_dim)


def test_heads_must_be_of_even_width() -> None:
    message = r"^each head must have an even number of features .*, got 3;"
    with pytest.raises(ValueError, match=message):
        convert(X, heads=2, axis=1)


def test_ragged_data_is_not_converted() -> None:
    with pytest.raises(ValueError, match=r"^x must be"):
        convert([[1.0, 2.0], [3.0]])


# Sizes


@pytest.mark.parametrize(
    ("maker", "shape"),
    [
        ("rotary_tables", (2**53, 2**19)),
        ("rotation_matrix", (2**53, 2**20, 2**20)),
        ("rotation_blocks", (2**53, 2**19, 2, 2)),
        ("phases", (2**53, 2**20)),
    ],
)
def test_results_beyond_all_memory_are_refused(maker: str, shape: tuple[int, ...]) -> None:
    message = f"a result of shape {shape} and dtype float64 is larger than any memory"
    with pytest.raises(ValueError, match=exactly(message)):
        MAKERS[maker](range(2**53), 2**20)


@makers
def test_results_beyond_the_memory_at_hand_are_refused(maker: str) -> None:
    with pytest.raises(MemoryError, match="Unable to allocate"):
        MAKERS[maker](range(2**33 if maker == "rotation_matrix" else 2**42), 512)


@of_data
def test_data_beyond_the_memory_at_hand_is_refused(function: str) -> None:
    x = np.broadcast_to(np.ones(8), (2**42, 8))
    with pytest.raises(MemoryError, match="Unable to allocate"):
        OF_DATA[function](x)


@pytest.mark.parametrize("function", ["rotate", "rerotate", "rotate_by"])
def test_integers_beyond_all_memory_are_refused(function: str) -> None:
    x = np.broadcast_to(np.ones(8, np.int8), (2**59, 8))
    with pytest.raises(ValueError, match=r"too big|larger than any memory"):
        OF_DATA[function](x)


def test_no_more_features_are_turned_than_any_width_has() -> None:
    x = np.zeros(2**20 + 2, np.int8)
    message = r"^rotary_dim must be an even integer from 2 to the 1048576 "
    with pytest.raises(ValueError, match=message):
        rw.convert_pairing(x, source="half", target="interleaved", rotary_dim=2**20 + 2)


def test_only_tables_twice_as_wide_are_said_to_be_so() -> None:
    with pytest.raises(ValueError, match=r"got 12 pairs$"):
        rw.rotate_by(np.ones((3, 8)), np.ones((3, 12)), np.ones((3, 12)))


def test_out_must_not_overlap_what_lends_its_memory_to_tables() -> None:
    memory = np.ones(32)
    lent: Any = memory[8:16].reshape(4, 2)
    table: Any = memoryview(lent)
    with pytest.raises(ValueError, match=r"^out must not overlap another argument"):
        rw.rotate_by(
            np.ones((4, 4)), table, np.ones((4, 2)), rotary_dim=4, out=memory[:16].reshape(4, 4)
        )
