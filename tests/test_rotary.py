"""Rotary position embedding: values, and one rotation in many forms.

A pair that is turned is within 3 units of its exact rotation (4 in float64), tables are correctly
rounded, and the same row at the same position has the same bits, whatever surrounds it. Data of
every shape are tested in test_rotary_data.py, how they lie in test_rotary_bits.py, what rotations
are for in test_rotary_laws.py, what is refused in test_rotary_refusals.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.data import DTYPES, LARGEST, UNIT, assert_same_bits, dtypes, pairings, rows
from tests.doubles import Doubles, assert_exact, doubles, ulp

import ropewalk as rw
from ropewalk._options import Pairing
from ropewalk.frequencies import Frequencies

UNITS_OFF = {"float64": 4, "float32": 3, "float16": 3, "bfloat16": 3}  # error of a turned pair


def pairs_of(features: NDArray[np.float64], pairing: Pairing) -> NDArray[np.complex128]:
    """Return the pairs as complex numbers."""
    places = np.array(reference.features_of_pairs(features.shape[-1] // 2, pairing))
    result: NDArray[np.complex128] = features[..., places[:, 0]] + 1j * features[..., places[:, 1]]
    return result


def assert_close(
    actual: NDArray[Any], exact: Doubles, pairing: Pairing, units: float | None = None
) -> None:
    """Check that every pair is within some units of the exact one, relative to its length."""
    dtype = actual.dtype.name
    error = np.abs(pairs_of((actual.astype(np.float64) - exact.high) - exact.low, pairing))
    allowed = (UNITS_OFF[dtype] if units is None else units) * UNIT[dtype]
    assert (error <= allowed * np.abs(pairs_of(exact.high, pairing))).all()


def assert_near_numpy(
    actual: NDArray[Any],
    x: NDArray[Any],
    positions: Any,
    frequencies: Sequence[reference.Real],
    pairing: Pairing,
    factor: float = 1.0,
) -> None:
    """Check the first features of x, turned, pair by pair, against float64 arithmetic.

    Its angles are off by 2^-52 of their size, for frequencies are rounded, and its cosines, sines
    and products by 2^-51 of the length of a pair.
    """
    radians = np.array([float(frequency) for frequency in frequencies])
    width, dtype = 2 * len(radians), actual.dtype.name
    angles = np.multiply.outer(positions, radians)
    pairs = pairs_of(x[..., :width].astype(np.float64), pairing)
    found = pairs_of(actual[..., :width].astype(np.float64), pairing)
    error = np.abs(found - factor * pairs * np.exp(1j * angles))
    allowed = UNITS_OFF[dtype] * UNIT[dtype] + 2.0**-52 * (2 + np.abs(angles))
    assert actual.shape == x.shape
    assert (error <= factor * allowed * np.abs(pairs)).all()


# Values


@dataclass(frozen=True, eq=False)
class Schedule:
    """Frequencies twice, and positions."""

    frequencies: Frequencies
    radians: Sequence[Any]
    positions: Sequence[Any]

    @property
    def factor(self) -> float:
        return self.frequencies.attention_factor

    def angles(self) -> list[list[reference.Real]]:
        if self.frequencies.axes == 1:
            return [reference.rotary_angles(p, self.radians) for p in self.positions]
        return [reference.rotary_angles_on_axes(p, self.radians) for p in self.positions]

    def tables(self) -> tuple[Doubles, Doubles]:
        """Return the exact cosines and sines."""
        turned = [reference.rotated([1, 0] * len(a), a, factor=self.factor) for a in self.angles()]
        return doubles([row[0::2] for row in turned]), doubles([row[1::2] for row in turned])


def with_factor(frequencies: Frequencies, factor: float) -> Frequencies:
    """Return the same frequencies with an attention factor, which no public schedule gives them."""
    return Frequencies(frequencies._words, frequencies.axes, factor, "")


NEAR = [0, 1, 2, 3, 511, 1023, 4095, 4096, *np.random.default_rng(3).integers(0, 4097, 12).tolist()]
FAR = [2**31, -(2**31), LARGEST, -LARGEST, LARGEST - 1, 10**15]
FRACTIONS = [0.5, -0.25, 1234.567, -4095.9, 1e-300, 2.0**40 + 0.5]
POSITIONS = [*NEAR, *FAR, -1, -4096, *FRACTIONS]
CELLS = [
    (0, 0), (0, 1), (1, 0), (3, -7), (4095, 4096), (2**31, -(2**31)), (2**31, 2**31), (0.5, -0.25),
    *np.random.default_rng(4).integers(-(2**31), 2**31, (12, 2)).tolist(),
]  # fmt: skip
TIMES = [(*cell, cell[0]) for cell in CELLS]
OPPOSITE = [[1.0, 0.3, 1.0], [-1.0, -0.3 - 2.0**-50, 2.0**-40]]  # angles that nearly cancel

YARN = rw.frequencies.yarn(20, factor=4.0, trained_length=32768, base=1e6)
EXACT_YARN = reference.yarn_frequencies(20, 4.0, 32768, base=1e6)
STANDING = rw.frequencies.proportional(16, fraction=0.5)
EXACT_STANDING = reference.proportional_frequencies(16, 4)

SCHEDULES = {
    "standard": Schedule(
        rw.frequencies.standard(18), reference.standard_frequencies(18), POSITIONS
    ),
    "base 500000": Schedule(
        rw.frequencies.standard(34, base=5e5), reference.standard_frequencies(34, 5e5), POSITIONS
    ),
    "yarn": Schedule(YARN, EXACT_YARN, POSITIONS),
    "a small factor": Schedule(with_factor(YARN, 0.0625), EXACT_YARN, POSITIONS),
    "a large factor": Schedule(with_factor(YARN, 15.9), EXACT_YARN, POSITIONS),
    "standing pairs": Schedule(STANDING, EXACT_STANDING, POSITIONS),
    "standing pairs and a factor": Schedule(with_factor(STANDING, 1.3), EXACT_STANDING, POSITIONS),
    "axial": Schedule(rw.frequencies.axial(16), reference.restarted_frequencies([4, 4]), CELLS),
    "mixed": Schedule(
        rw.frequencies.mixed(16, directions=[0.1, 1.0, 2.0, 3.0]),
        reference.mixed_frequencies(16, [0.1, 1.0, 2.0, 3.0]),
        CELLS,
    ),
    "mrope of yarn": Schedule(
        rw.frequencies.mrope(sections=[4, 3, 3], frequencies=YARN),
        reference.on_axes(EXACT_YARN, reference.mrope_owners([4, 3, 3]), 3),
        TIMES,
    ),
    "opposite axes": Schedule(
        rw.frequencies.from_radians(OPPOSITE),
        [reference.exact_frequencies(row) for row in OPPOSITE],
        CELLS,
    ),
}
schedules = pytest.mark.parametrize("name", SCHEDULES)


@pytest.mark.parametrize("inverse", [False, True], ids=["", "inverse"])
@dtypes
@pairings
@schedules
def test_every_pair_is_within_3_units_of_its_exact_rotation(
    name: str, pairing: Pairing, dtype: str, inverse: bool
) -> None:
    schedule = SCHEDULES[name]
    x = rows((len(schedule.positions), 2 * len(schedule.frequencies)), dtype)
    angles, factor = schedule.angles(), reference.mp.mpf(schedule.factor)
    if inverse:
        angles, factor = [[-angle for angle in row] for row in angles], 1 / factor
    exact = doubles(
        reference.rotated(row, a, pairing, factor)
        for row, a in zip(x.astype(np.float64).tolist(), angles, strict=True)
    )
    options: dict[str, Any] = {"frequencies": schedule.frequencies, "pairing": pairing}
    turned = rw.rotate(x, schedule.positions, inverse=inverse, **options)
    assert turned.dtype == x.dtype
    assert_close(turned, exact, pairing)
    if schedule.factor == 1.0:
        sign = -1 if inverse else 1
        moved = rw.rerotate(x, sign * np.array(schedule.positions), **options)
        assert_close(moved, exact, pairing)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@schedules
def test_tables_are_correctly_rounded(name: str, dtype: str) -> None:
    schedule = SCHEDULES[name]
    tables = rw.rotary_tables(
        schedule.positions, frequencies=schedule.frequencies, dtype=DTYPES[dtype]
    )
    for table, exact in zip(tables, schedule.tables(), strict=True):
        assert table.dtype.name == dtype
        assert_exact(table, exact)


@schedules
def test_float64_tables_are_within_1_ulp(name: str) -> None:
    schedule = SCHEDULES[name]
    absolute = 2.0**-100 if schedule.frequencies.axes > 1 else 0.0
    tables = rw.rotary_tables(schedule.positions, frequencies=schedule.frequencies)
    for table, exact in zip(tables, schedule.tables(), strict=True):
        error = np.abs((table - exact.high) - exact.low)
        assert (error <= ulp(exact) + absolute).all()


@pytest.mark.parametrize(
    "positions", [range(-70, 200), np.arange(150) + 0.5], ids=["range", "halves"]
)
@dtypes
def test_tables_of_long_stretches_are_exact(positions: Any, dtype: str) -> None:
    schedule = Schedule(YARN, EXACT_YARN, np.array(positions).tolist())
    tables = rw.rotary_tables(positions, frequencies=YARN, dtype=DTYPES[dtype])
    for table, exact in zip(tables, schedule.tables(), strict=True):
        if dtype == "float64":
            assert (np.abs((table - exact.high) - exact.low) <= ulp(exact)).all()
        else:
            assert_exact(table, exact)


@dtypes
def test_standing_pairs_have_the_same_signs_in_any_place(dtype: str) -> None:
    positions = [-3, 0, 3, -0.5]
    first, last = ([0.0, 1.0], [1.0, 0.0])
    of_first = rw.rotary_tables(
        positions, frequencies=rw.frequencies.from_radians(first), dtype=DTYPES[dtype]
    )
    of_last = rw.rotary_tables(
        positions, frequencies=rw.frequencies.from_radians(last), dtype=DTYPES[dtype]
    )
    for a, b in zip(of_first, of_last, strict=True):
        assert_same_bits(a, b[:, ::-1])


def test_tables_are_the_two_columns_of_the_sinusoidal_encoding() -> None:
    encoding = rw.sinusoidal_encoding(range(-50, 300), 22)
    cosines, sines = rw.rotary_tables(range(-50, 300), 22)
    assert_same_bits(cosines, encoding[:, 1::2])
    assert_same_bits(sines, encoding[:, 0::2])


def test_a_cosine_just_below_1_takes_a_factor_below_the_middle() -> None:
    frequencies = with_factor(rw.frequencies.from_radians([1.0]), 1 + 3 * 2.0**-24)
    positions = [0.0, 1e-20, 1e-170, 5e-324]
    cosines, _ = rw.rotary_tables(positions, frequencies=frequencies, dtype="float32")
    assert cosines.ravel().tolist() == [1 + 2.0**-22] + 3 * [1 + 2.0**-23]  # a tie, less than it


def test_tables_are_float64_unless_it_is_said() -> None:
    for tables in (rw.rotary_tables(range(3), 4), rw.rotary_tables(range(3), 4, dtype=None)):
        assert {table.dtype for table in tables} == {np.dtype(np.float64)}


@dtypes
def test_tables_of_one_pair_have_the_factor_everywhere(dtype: str) -> None:
    wide, one = (with_factor(rw.frequencies.from_radians(r), 1.25) for r in ([1.0, 0.5], [1.0]))
    positions = [0.0, 1e-12, 0.3, -1e-300, 355.0]
    alone = rw.rotary_tables(positions, frequencies=one, dtype=dtype)
    for table, both in zip(
        alone, rw.rotary_tables(positions, frequencies=wide, dtype=dtype), strict=True
    ):
        assert_same_bits(table, both[:, :1])


def test_angles_in_float32_are_those_of_float32_arithmetic() -> None:
    positions = [0, 1, 4095, 10**6, 2**24 + 1, -(2**31), 0.3, -1234.567, LARGEST]
    frequencies = rw.frequencies.standard(16, base=5e5)
    radians = np.array(reference.standard_frequencies(16, 5e5), float).astype(np.float32)
    angles = [[np.float32(p) * w for w in radians] for p in positions]
    check_float32_angles(frequencies, positions, angles)


def test_angles_in_float32_are_summed_over_the_axes_in_float32() -> None:
    frequencies = rw.frequencies.mrope(sections=[4, 3, 3], frequencies=YARN)
    mixed = rw.frequencies.mixed(16, directions=[0.1, 1.0, 2.0, 3.0])
    for f, cells in ((frequencies, TIMES), (mixed, CELLS)):
        radians = f.radians.astype(np.float32)
        angles = []
        for cell in cells:
            row = np.zeros(len(f), np.float32)
            for p, w in zip(cell, radians, strict=True):
                row += np.float32(p) * w
            angles.append(list(row))
        check_float32_angles(f, cells, angles)


def check_float32_angles(
    frequencies: Frequencies, positions: Sequence[Any], angles: list[list[np.float32]]
) -> None:
    exact_angles = [reference.exact_frequencies(map(float, row)) for row in angles]
    factor = frequencies.attention_factor
    turned = [reference.rotated([1, 0] * len(row), row, factor=factor) for row in exact_angles]
    for dtype in DTYPES.values():
        tables = rw.rotary_tables(positions, frequencies=frequencies, angles="float32", dtype=dtype)
        for part, table in enumerate(tables):
            exact = doubles([row[part::2] for row in turned])
            if dtype == np.float64:
                assert (np.abs((table - exact.high) - exact.low) <= ulp(exact)).all()
            else:
                assert_exact(table, exact)


def test_the_float32_sum_does_not_depend_on_the_number_of_pairs() -> None:
    radians = np.linspace(0.37, 0.74, 20)[:, None]
    positions = np.random.default_rng(1).integers(0, 5000, (50, 20))
    one, two = (rw.frequencies.from_radians(np.repeat(radians, n, axis=1)) for n in (1, 2))
    alone, _ = rw.rotary_tables(positions, frequencies=one, angles="float32")
    among, _ = rw.rotary_tables(positions, frequencies=two, angles="float32")
    assert_same_bits(alone, among[:, :1])


def test_angles_in_float32_are_wrong_by_a_twentieth_at_a_million() -> None:
    usual = rw.rotary_tables(10**6, 128, angles="float32")
    exact = rw.rotary_tables(10**6, 128)
    error = np.abs(np.array(usual) - np.array(exact)).max()
    # A float32 angle of up to 2^20 is off by up to 2^-5 and by what the frequency lost, 2^-5 again.
    assert 0.02 < error < 0.0625


@pairings
def test_rotation_matrices_are_those_of_the_paper(pairing: Pairing) -> None:
    schedule = SCHEDULES["yarn"]
    matrices = rw.rotation_matrix(schedule.positions, frequencies=YARN, pairing=pairing)
    for matrix, angles in zip(matrices, schedule.angles(), strict=True):
        exact = doubles(reference.rotation_matrix(angles, pairing, schedule.factor))
        assert (np.abs((matrix - exact.high) - exact.low) <= ulp(exact)).all()
        assert ((matrix == 0) == (exact.high == 0)).all()


def test_values_are_those_of_a_printed_table() -> None:
    # Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, table 4.6: 1 and 0.01.
    sine, cosine = 0.841470984807896507, 0.540302305868139717
    small_sine, small_cosine = 0.009999833334166665, 0.99995000041666528
    turned = rw.rotate([[2.0, 0.0, 0.0, 3.0]], [1])[0]
    expected = [2 * cosine, 2 * sine, -3 * small_sine, 3 * small_cosine]
    np.testing.assert_allclose(turned, expected, rtol=4e-16, atol=0)
    halves = rw.rotate([[2.0, 0.0, 0.0, 3.0]], [1], pairing="half")[0]
    expected = [2 * cosine, -3 * small_sine, 2 * sine, 3 * small_cosine]
    np.testing.assert_allclose(halves, expected, rtol=4e-16, atol=0)


# One rotation in many forms


@pairings
@schedules
def test_a_rotation_is_its_matrix(name: str, pairing: Pairing) -> None:
    schedule = SCHEDULES[name]
    f = schedule.frequencies
    x = rows((len(schedule.positions), 2 * len(f)))
    matrices = rw.rotation_matrix(schedule.positions, frequencies=f, pairing=pairing)
    product = (matrices @ x[..., None])[..., 0]
    turned = rw.rotate(x, schedule.positions, frequencies=f, pairing=pairing)
    size = np.abs(pairs_of(turned, pairing))
    assert (np.abs(pairs_of(product - turned, pairing)) <= 8 * UNIT["float64"] * size).all()


@schedules
def test_blocks_and_phases_are_the_tables(name: str) -> None:
    schedule = SCHEDULES[name]
    f, positions = schedule.frequencies, schedule.positions
    cosines, sines = rw.rotary_tables(positions, frequencies=f)
    phases = rw.phases(positions, frequencies=f)
    assert phases.dtype == np.complex128
    assert_same_bits(phases.real, cosines)
    assert_same_bits(phases.imag, sines)
    blocks = rw.rotation_blocks(positions, frequencies=f)
    assert_same_bits(blocks[..., 0, 0], cosines)
    assert_same_bits(blocks[..., 1, 1], cosines)
    assert_same_bits(blocks[..., 1, 0], sines)
    np.testing.assert_array_equal(blocks[..., 0, 1], -sines)


@pairings
def test_blocks_are_those_of_the_matrix(pairing: Pairing) -> None:
    blocks = rw.rotation_blocks(range(-9, 90), 10)
    matrix = rw.rotation_matrix(range(-9, 90), 10, pairing=pairing)
    for pair, places in enumerate(reference.features_of_pairs(5, pairing)):
        assert_same_bits(matrix[:, places][:, :, places], blocks[:, pair])


@pairings
@pytest.mark.parametrize("offset", [0, 1, -7, 0.5, 10**9, LARGEST])
def test_a_rotation_matrix_is_the_shift_matrix_or_its_transpose(
    offset: float, pairing: Pairing
) -> None:
    rotation = rw.rotation_matrix(offset, 10, pairing=pairing)
    clockwise = rw.shift_matrix(offset, 10, pairing=pairing)
    np.testing.assert_array_equal(rotation, clockwise.T)
    counterclockwise = rw.shift_matrix(offset, 10, pairing=pairing, order="cos-sin")
    np.testing.assert_array_equal(rotation, counterclockwise)


@pairings
@pytest.mark.parametrize("position", [1, 12345.5, 2**31, LARGEST])
def test_turning_back_is_the_transpose(position: float, pairing: Pairing) -> None:
    there, back = rw.rotation_matrix([position, -position], 10, pairing=pairing)
    assert_same_bits(back, np.ascontiguousarray(there.T))


@pairings
def test_complex_products_turn_as_rotate_does(pairing: Pairing) -> None:
    x = rows((60, 12))
    product = pairs_of(x, pairing) * rw.phases(range(60), 12)
    turned = pairs_of(rw.rotate(x, pairing=pairing), pairing)
    assert (np.abs(product - turned) <= 8 * UNIT["float64"] * np.abs(turned)).all()


@dtypes
@pairings
@schedules
def test_rotate_is_rotate_by_its_tables(name: str, pairing: Pairing, dtype: str) -> None:
    schedule = SCHEDULES[name]
    f, positions = schedule.frequencies, schedule.positions
    x = rows((3, len(positions), 2 * len(f) + 3), dtype)
    width = 2 * len(f)
    computed = np.float64 if dtype == "float64" else np.float32
    cosines, sines = rw.rotary_tables(positions, frequencies=f, dtype=computed)
    expected = rw.rotate(x, positions, frequencies=f, pairing=pairing, rotary_dim=width)
    assert_same_bits(rw.rotate_by(x, cosines, sines, pairing=pairing), expected)
    back = rw.rotate(
        x,
        positions,
        frequencies=with_factor(f, 1.0),
        pairing=pairing,
        rotary_dim=width,
        inverse=True,
    )
    cosines, sines = rw.rotary_tables(positions, frequencies=with_factor(f, 1.0), dtype=computed)
    np.testing.assert_array_equal(rw.rotate_by(x, cosines, -sines, pairing=pairing), back)


@dtypes
def test_rotate_by_takes_any_tables(dtype: str) -> None:
    x, cosines, sines = rows((90, 6), dtype), 5 * rows((90, 3), seed=1), 5 * rows((90, 3), seed=2)
    computed = np.float64 if dtype == "float64" else np.float32
    turned = rw.rotate_by(x, cosines, sines)
    assert_same_bits(turned, rw.rotate_by(x, cosines.astype(computed), sines.astype(computed)))
    assert_same_bits(turned, rw.rotate_by(x, cosines.T.copy().T, sines[::-1].copy()[::-1]))
    c, s = (table.astype(computed).tolist() for table in (cosines, sines))
    u = Fraction(2 * UNIT[dtype])
    if computed == np.float32 and dtype != "float32":  # computed there, and rounded once
        u = Fraction(UNIT[dtype] + 2 * UNIT["float32"])
    for i, j in np.ndindex(90, 3):
        a, b = (Fraction(float(feature)) for feature in x[i, 2 * j : 2 * j + 2])
        cosine, sine = Fraction(c[i][j]), Fraction(s[i][j])
        squares = u**2 * (a**2 + b**2) * (cosine**2 + sine**2)
        first, second = (Fraction(float(feature)) for feature in turned[i, 2 * j : 2 * j + 2])
        off = (first - (a * cosine - b * sine)), (second - (a * sine + b * cosine))
        assert off[0] ** 2 + off[1] ** 2 <= squares


@pytest.mark.parametrize(
    ("positions", "shape"),
    [
        (3, ()),
        (range(5), (5,)),
        (np.zeros(0), (0,)),
        (np.arange(6).reshape(2, 3), (2, 3)),
        (np.arange(6.0).reshape(3, 2).T, (2, 3)),
        (np.zeros((3, 0), int), (3, 0)),
        (np.arange(24).reshape(2, 3, 4), (2, 3, 4)),
    ],
    ids=str,
)
def test_whatever_is_made_of_positions_has_their_shape(
    positions: Any, shape: tuple[int, ...]
) -> None:
    dim, pairs = 6, 3
    made = {
        "matrix": (rw.rotation_matrix(positions, dim), (dim, dim)),
        "blocks": (rw.rotation_blocks(positions, dim), (pairs, 2, 2)),
        "phases": (rw.phases(positions, dim), (pairs,)),
        "cosines": (rw.rotary_tables(positions, dim)[0], (pairs,)),
        "sines": (rw.rotary_tables(positions, dim)[1], (pairs,)),
    }
    each = np.array(positions, float).ravel().tolist()
    for name, (result, behind) in made.items():
        assert result.shape == (*shape, *behind), name
        assert result.flags.c_contiguous, name
        assert result.flags.writeable, name
    angles = np.multiply.outer(each, [float(w) for w in reference.standard_frequencies(dim)])
    expected = np.exp(1j * angles).reshape(*shape, pairs)
    found = made["phases"][0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=2.0**-47)  # angles of up to 23
    np.testing.assert_array_equal(made["cosines"][0], found.real)
    np.testing.assert_array_equal(made["sines"][0], found.imag)
    for row, column, part in ((0, 0, found.real), (0, 1, -found.imag), (1, 0, found.imag)):
        np.testing.assert_array_equal(made["blocks"][0][..., row, column], part)
    for pair in range(pairs):
        i = slice(2 * pair, 2 * pair + 2)
        np.testing.assert_array_equal(
            made["matrix"][0][..., i, i], made["blocks"][0][..., pair, :, :]
        )


def test_tables_of_one_row_turn_all() -> None:
    x = np.ones((3, 6, 8))
    assert (rw.rotate_by(x, np.ones((1, 4)), np.zeros((1, 4)), rotary_dim=8) == x).all()


def test_strides_of_single_rows_do_not_matter_in_place() -> None:
    x = np.ones((1, 8))
    out = np.lib.stride_tricks.as_strided(x, (1, 8), (8, 8))
    expected = rw.rotate(x, [3])
    assert rw.rotate(x, [3], out=out) is out
    assert_same_bits(x, expected)
