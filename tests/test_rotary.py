"""Rotary position embedding: values, properties, shapes.

A pair that is turned is within 3 units of its exact rotation (4 in float64), tables are correctly
rounded, and the same row at the same position has the same bits, whatever surrounds it. How data
lie is tested in test_rotary_bits.py, what is refused in test_rotary_refusals.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests import reference
from tests.data import DTYPES, PAIRINGS, UNIT, assert_same_bits, dtypes, pairings, rows
from tests.test_exact import Doubles, assert_exact, doubles, ulp

import ropewalk as rw
from ropewalk._options import Pairing
from ropewalk.frequencies import Frequencies

UNITS_OFF = {"float64": 4, "float32": 3, "float16": 3, "bfloat16": 3}  # error of a turned pair
LARGEST = 2**53


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


def numpy_rotated(
    x: NDArray[Any], positions: Any, radians: NDArray[np.float64], pairing: Pairing
) -> NDArray[np.float64]:
    """Return the first features of x turned, in the float64 arithmetic of NumPy."""
    width = 2 * len(radians)
    result = x.astype(np.float64)
    turned = pairs_of(result[..., :width], pairing) * np.exp(
        1j * np.multiply.outer(positions, radians)
    )
    places = np.array(reference.features_of_pairs(len(radians), pairing))
    result[..., places[:, 0]], result[..., places[:, 1]] = turned.real, turned.imag
    return result


def assert_near_numpy(actual: NDArray[Any], expected: NDArray[np.float64]) -> None:
    """Check against float64 arithmetic: its angles are off by up to 2^-53 of their size."""
    allowed = 3 * UNIT[actual.dtype.name] + 1e-11
    scale = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(
        actual.astype(np.float64), expected, rtol=0, atol=allowed * 2 * scale
    )


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
    x, cosines, sines = rows((9, 6), dtype), 5 * rows((9, 3), seed=1), 5 * rows((9, 3), seed=2)
    computed = np.float64 if dtype == "float64" else np.float32
    turned = rw.rotate_by(x, cosines, sines)
    assert_same_bits(turned, rw.rotate_by(x, cosines.astype(computed), sines.astype(computed)))
    assert_same_bits(turned, rw.rotate_by(x, cosines.T.copy().T, sines[::-1].copy()[::-1]))
    a, b = x[:, 0::2].astype(np.float64), x[:, 1::2].astype(np.float64)
    c, s = (table.astype(computed).astype(np.float64) for table in (cosines, sines))
    size = np.hypot(a, b) * np.hypot(c, s)
    u = UNIT[dtype]
    assert (np.abs(turned[:, 0::2].astype(np.float64) - (a * c - b * s)) <= 3 * u * size).all()
    assert (np.abs(turned[:, 1::2].astype(np.float64) - (a * s + b * c)) <= 3 * u * size).all()


# What rotations are for


@dtypes
@pairings
def test_moving_turned_rows_is_turning_them_further(pairing: Pairing, dtype: str) -> None:
    x = rows((40, 20), dtype)
    f = YARN if dtype != "float16" else rw.frequencies.standard(20)
    positions = np.arange(1000, 1040)
    options: dict[str, Any] = {"frequencies": f, "pairing": pairing}
    turned = rw.rotate(x, positions, **options)
    for offset in (1, -1000, 0.5, 2**40, np.arange(40) - 7):
        moved = rw.rerotate(turned, offset, **options)
        expected = rw.rotate(x, positions + offset, **options)
        error = moved.astype(np.float64) - expected.astype(np.float64)
        size = np.abs(pairs_of(expected.astype(np.float64), pairing))
        # Three rotations, each with its own error.
        allowed = 3.01 * UNITS_OFF[dtype] * UNIT[dtype]
        assert (np.abs(pairs_of(error, pairing)) <= allowed * size).all()


def test_no_attention_factor_is_applied_to_rows_that_are_moved() -> None:
    x = rows((6, 20))
    assert YARN.attention_factor != 1
    moved = rw.rerotate(x, 123, frequencies=YARN)
    np.testing.assert_allclose(np.linalg.norm(moved), np.linalg.norm(x), rtol=1e-15)
    assert_same_bits(moved, rw.rotate(x, 123, frequencies=with_factor(YARN, 1.0)))


@dtypes
@pairings
@pytest.mark.parametrize("factor", [1.0, 1.25, 0.3])
def test_inverse_undoes_a_rotation(factor: float, pairing: Pairing, dtype: str) -> None:
    x = rows((50, 20), dtype)
    options: dict[str, Any] = {"frequencies": with_factor(YARN, factor), "pairing": pairing}
    there = rw.rotate(x, range(2**40, 2**40 + 50), **options)
    back = rw.rotate(there, range(2**40, 2**40 + 50), inverse=True, **options)
    error = back.astype(np.float64) - x.astype(np.float64)
    allowed = 2.01 * UNITS_OFF[dtype] * UNIT[dtype]
    size = np.abs(pairs_of(x.astype(np.float64), pairing))
    assert (np.abs(pairs_of(error, pairing)) <= allowed * size).all()


@pairings
@pytest.mark.parametrize(("dtype", "units"), [("float64", 2), ("float32", 1)])
def test_norms_are_kept(dtype: str, units: float, pairing: Pairing) -> None:
    for positions in (range(1000), np.random.default_rng(5).integers(-LARGEST, LARGEST, 1000)):
        x = rows((1000, 64), dtype)
        turned = rw.rotate(x, positions, pairing=pairing)
        for before, after in zip(squared_norms(x), squared_norms(turned), strict=True):
            ratio = float(Fraction(after - before, before))  # about twice the change of the norm
            assert abs(ratio) <= 2 * units * UNIT[dtype]


def squared_norms(x: NDArray[Any]) -> list[int]:
    """Return them times 2**240, whole numbers where no feature is below 2**-67 in size."""
    return [sum(int(v) ** 2 for v in row) for row in np.ldexp(x.astype(float), 120).tolist()]


def test_rotations_add_up() -> None:
    together = rw.rotation_matrix(10**6, 8) @ rw.rotation_matrix(234, 8)
    np.testing.assert_allclose(together, rw.rotation_matrix(1000234, 8), rtol=0, atol=4 * 2.0**-53)


def scores(q: NDArray[Any], k: NDArray[Any]) -> list[Fraction]:
    """Return the exact inner products of the rows."""
    return [
        sum((Fraction(a) * Fraction(b) for a, b in zip(*both, strict=True)), Fraction())
        for both in zip(q.astype(float).tolist(), k.astype(float).tolist(), strict=True)
    ]


@dtypes
@pairings
@pytest.mark.parametrize("offset", [0, 10**6, 2**31, -(2**31)])
def test_scores_depend_on_the_distance_alone(offset: int, pairing: Pairing, dtype: str) -> None:
    # q^T R(n - m) k, Su et al., RoFormer, 2021, equation 16.
    rng = np.random.default_rng(6)
    q, k = rows((30, 16), dtype, seed=1), rows((30, 16), dtype, seed=2)
    m, n = rng.integers(0, 4096, (2, 30))
    radians = reference.standard_frequencies(16)
    turned_q = rw.rotate(q, m + offset, pairing=pairing)
    turned_k = rw.rotate(k, n + offset, pairing=pairing)
    allowed = 2 * UNITS_OFF[dtype] * UNIT[dtype]
    for i, score in enumerate(scores(turned_q, turned_k)):
        angles = reference.rotary_angles(int(n[i] - m[i]), radians)
        key = reference.rotated(k[i].astype(float).tolist(), angles, pairing)
        exact = sum(a * b for a, b in zip(q[i].astype(float).tolist(), key, strict=True))
        size = float(np.linalg.norm(q[i].astype(float)) * np.linalg.norm(k[i].astype(float)))
        found = reference.mp.mpf(score.numerator) / score.denominator
        assert abs(found - exact) <= allowed * 1.001 * size


def test_scores_of_float32_angles_depend_on_the_offset() -> None:
    q, k = rows((200, 128), "float32", seed=1), rows((200, 128), "float32", seed=2)

    def score(m: int, n: int) -> NDArray[np.float64]:
        turned = (
            rw.rotate_by(x, *rw.rotary_tables(p, 128, angles="float32")).astype(np.float64)
            for x, p in ((q, m), (k, n))
        )
        size = np.linalg.norm(q, axis=1) * np.linalg.norm(k, axis=1)
        return np.asarray(np.sum(np.multiply(*turned), axis=1) / size)

    assert np.abs(score(7, 3) - score(1_000_007, 1_000_003)).max() > 1e-3


def cell_scores(frequencies: Frequencies, cells: Any, others: Any) -> NDArray[np.float64]:
    q, k = rows((1, 16), seed=1), rows((1, 16), seed=2)
    turned_q = rw.rotate(np.repeat(q, len(cells), 0), cells, frequencies=frequencies)
    turned_k = rw.rotate(np.repeat(k, len(others), 0), others, frequencies=frequencies)
    return np.asarray(np.sum(turned_q * turned_k, axis=1))


@pytest.mark.parametrize("name", ["axial", "mixed"])
def test_scores_on_a_grid_depend_on_the_differences_of_both_coordinates(name: str) -> None:
    f = SCHEDULES[name].frequencies
    rng = np.random.default_rng(8)
    cells, others = rng.integers(0, 64, (2, 40, 2))
    shift = rng.integers(-(10**6), 10**6, (40, 2))
    before = cell_scores(f, cells, others)
    size = np.linalg.norm(rows(16, seed=1)) * np.linalg.norm(rows(16, seed=2))
    allowed = 24 * UNIT["float64"] * size  # 8 u a score, and what the sum of 16 products rounds
    assert np.abs(cell_scores(f, cells + shift, others + shift) - before).max() <= allowed
    shift[:, 1] += 1
    assert np.abs(cell_scores(f, cells, others + shift) - before).max() > 0.1


def test_one_angle_for_both_coordinates_confuses_cells() -> None:
    radians = rw.frequencies.standard(16).radians
    one_angle = rw.frequencies.from_radians([radians, radians])
    x = rows((2, 16))[:1].repeat(2, 0)
    first, second = rw.rotate(x, [[1, 2], [2, 1]], frequencies=one_angle)
    assert_same_bits(first, second)
    first, second = rw.rotate(x, [[1, 2], [2, 1]], frequencies=rw.frequencies.axial(16))
    assert (first != second).any()


# Positions of every shape

POSITION_SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((8,), ()),
    ((6, 8), ()),
    ((6, 8), (6,)),
    ((6, 8), (1,)),
    ((3, 6, 8), ()),
    ((3, 6, 8), (6,)),
    ((3, 6, 8), (1,)),
    ((3, 6, 8), (3, 6)),
    ((3, 6, 8), (3, 1)),
    ((3, 6, 8), (1, 6)),
    ((3, 6, 8), (1, 1)),
    ((3, 3, 8), (3,)),
    ((2, 3, 6, 8), (2, 1, 6)),
    ((2, 3, 6, 8), (2, 3, 6)),
    ((2, 3, 6, 8), (1, 3, 1)),
    ((2, 3, 6, 8), (2, 1, 1)),
    ((2, 6, 3, 8), (2, 6, 1)),
    ((2, 1, 6, 8), (2, 1, 6)),
    ((2, 1, 3, 1, 8), (2, 1, 3, 1)),
    ((100, 3, 8), (100, 1)),
    ((3, 100, 8), (100,)),
    ((2, 2, 100, 8), (2, 1, 100)),
    ((0, 8), ()),
    ((0, 8), (0,)),
    ((0, 8), (1,)),
    ((3, 0, 8), (0,)),
    ((3, 0, 8), (3, 1)),
    ((3, 0, 8), (3, 0)),
    ((0, 6, 8), (6,)),
    ((0, 6, 8), (0, 6)),
]


def row_by_row(
    x: NDArray[Any], positions: NDArray[Any], frequencies: Frequencies, **options: Any
) -> NDArray[Any]:
    """Rotate every row in a call of its own. The last axis of the positions is that of the axes."""
    result = np.empty_like(x)
    axes = positions.shape[-1:]
    shape = (*x.shape[:-1], *axes)
    each = np.broadcast_to(positions, shape)
    for index in np.ndindex(*x.shape[:-1]):
        position = each[index] if frequencies.axes > 1 else each[(*index, 0)]
        result[index] = rw.rotate(x[index], position, frequencies=frequencies, **options)
    return result


@pytest.mark.parametrize(("shape", "position_shape"), POSITION_SHAPES, ids=str)
@pytest.mark.parametrize("axes", [1, 2])
@pairings
def test_positions_belong_to_rows_as_their_shape_says(
    pairing: Pairing, axes: int, shape: tuple[int, ...], position_shape: tuple[int, ...]
) -> None:
    f = rw.frequencies.standard(8) if axes == 1 else rw.frequencies.axial(8)
    x = rows(shape, "float32")
    positions = np.random.default_rng(1).integers(-5000, 5000, (*position_shape, axes))
    given = positions[..., 0] if axes == 1 else positions
    expected = row_by_row(x, positions, f, pairing=pairing)
    for converted in (given, given.astype(np.float64), given.tolist()):
        if np.shape(converted) != given.shape:
            continue  # a list cannot say a length behind a length of 0
        turned = rw.rotate(x, converted, frequencies=f, pairing=pairing)
        assert_same_bits(turned, expected)


@pytest.mark.parametrize(
    "shape", [(6, 8), (3, 6, 8), (3, 100, 8), (2, 3, 70, 8), (0, 8), (3, 0, 8)]
)
def test_positions_that_are_left_out_are_those_of_axis_minus_2(shape: tuple[int, ...]) -> None:
    x, length = rows(shape), shape[-2]
    assert_same_bits(rw.rotate(x), rw.rotate(x, range(length)))
    assert_same_bits(rw.rotate(x), rw.rotate(x, np.arange(length)))
    on_axes = rw.rotate(x, frequencies=rw.frequencies.axial(8))
    both = np.repeat(np.arange(length)[:, None], 2, 1)
    assert_same_bits(on_axes, rw.rotate(x, both, frequencies=rw.frequencies.axial(8)))


@pytest.mark.parametrize("position", [3, 3.0, np.int8(3), np.float32(3), np.array(3), range(3, 4)])
def test_a_number_is_one_position_for_all_rows(position: Any) -> None:
    x = rows((2, 5, 8))
    assert_same_bits(rw.rotate(x, position), rw.rotate(x, [3] * 5))


@pairings
@pytest.mark.parametrize("dim", [2, 22, 128, 1100])
def test_tables_of_the_first_positions_are_those_of_any(dim: int, pairing: Pairing) -> None:
    f = rw.frequencies.linear(dim, factor=3.0)
    x = rows((2, 9000, dim), "float32")
    cosines, sines = rw.rotary_tables(range(9000), frequencies=f, dtype=np.float32)
    expected = rw.rotate_by(x, cosines, sines, pairing=pairing)
    # Too few to make a table for, as many as one has, more, few of a later one, the same again ...
    ranges = [(4000, 5), (0, 1024), (0, 1025), (1, 1024), (2000, 48), (2000, 64), (2047, 2)]
    ranges += [(4000, 96), (4000, 5), (0, 8192), (1, 8192), (8190, 2), (8190, 3), (0, 9000)]
    for start, count in ranges:
        part = slice(start, start + count)
        turned = rw.rotate(x[:, part], range(start, start + count), frequencies=f, pairing=pairing)
        assert_same_bits(turned, expected[:, part])


RANGES = [
    range(200),
    range(-50, 150),
    range(150, -50, -1),
    range(0, 1400, 7),
    range(LARGEST - 199, LARGEST + 1),
    range(-LARGEST, LARGEST, LARGEST // 100),
]


@dtypes
@pytest.mark.parametrize("positions", RANGES, ids=str)
def test_a_range_is_the_array_of_its_numbers(positions: range, dtype: str) -> None:
    x = rows((3, len(positions), 22), dtype)
    expected = rw.rotate(x, positions)
    array = np.array(positions)
    assert_same_bits(rw.rotate(x, array), expected)
    assert_same_bits(rw.rotate(x, array.astype(np.float64)), expected)
    assert_same_bits(rw.rotate(x, np.stack([array] * 3)), expected)
    order = np.random.default_rng(1).permutation(len(positions))
    assert_same_bits(rw.rotate(x[:, order], array[order]), expected[:, order])


@pytest.mark.parametrize(
    "cosine_shape", [(4,), (6, 4), (1, 4), (3, 6, 4), (3, 1, 4), (1, 1, 4)], ids=str
)
def test_tables_belong_to_rows_as_positions_do(cosine_shape: tuple[int, ...]) -> None:
    x, cosines, sines = rows((3, 6, 8)), rows(cosine_shape, seed=1), rows(cosine_shape, seed=2)
    expected = np.empty_like(x)
    c, s = np.broadcast_to(cosines, (3, 6, 4)), np.broadcast_to(sines, (3, 6, 4))
    for index in np.ndindex(3, 6):
        expected[index] = rw.rotate_by(x[index], c[index], s[index])
    assert_same_bits(rw.rotate_by(x, cosines, sines), expected)


# Data of every kind


@pairings
@dtypes
@pytest.mark.parametrize("dim", [2, 6, 20, 34, 64, 100, 128, 130, 512])
@pytest.mark.parametrize("heads_first", [True, False], ids=["heads first", "length first"])
def test_many_rows_of_any_width_are_turned(
    heads_first: bool, dim: int, dtype: str, pairing: Pairing
) -> None:
    length = 1100 if dim < 200 else 300
    shape = (3, length, dim) if heads_first else (length, 3, dim)
    positions = np.arange(length) if heads_first else np.arange(length)[:, None]
    x = rows(shape, dtype)
    expected = numpy_rotated(x, positions, rw.frequencies.standard(dim).radians, pairing)
    assert_near_numpy(rw.rotate(x, positions, pairing=pairing), expected)


@pairings
@pytest.mark.parametrize("heads", [1, 3, 300])
@pytest.mark.parametrize("length", [1, 7, 65, 66, 67, 131, 132, 264, 529, 1500])
def test_any_length_and_any_number_of_heads(length: int, heads: int, pairing: Pairing) -> None:
    dim = 6 if heads == 300 else 66
    x = rows((heads, length, dim), "float32")
    start = 1000
    positions = range(start, start + length)
    expected = numpy_rotated(x, positions, rw.frequencies.standard(dim).radians, pairing)
    turned = rw.rotate(x, positions, pairing=pairing)
    assert_near_numpy(turned, expected)
    other = rw.rotate(x.swapaxes(0, 1), np.array(positions)[:, None], pairing=pairing)
    assert_same_bits(other.swapaxes(0, 1), turned)


draw_data = st.fixed_dictionaries(
    {
        "batch": st.lists(st.integers(0, 3), max_size=2),
        "length": st.integers(0, 80),
        "pairs": st.integers(1, 20),
        "rest": st.integers(0, 5),
        "dtype": st.sampled_from(list(DTYPES)),
        "pairing": st.sampled_from(PAIRINGS),
        "inverse": st.booleans(),
        "seed": st.integers(0, 1000),
        "scale": st.sampled_from([1.0, 0.3]),
        "every": st.sampled_from([1, 2, -1]),
    }
)
draw_position_kind = st.sampled_from(["range", "number", "ints", "floats", "batch", "none"])


@given(draw_data, draw_position_kind)
def test_any_data_at_any_positions(data: dict[str, Any], kind: str) -> None:
    rng = np.random.default_rng(data["seed"])
    length, width = data["length"], 2 * data["pairs"]
    x = rows((*data["batch"], length, width + data["rest"]), data["dtype"], data["seed"])
    x = x[..., :: data["every"], :]
    length = x.shape[-2]
    start = int(rng.integers(-5000, 5000))
    positions: Any = {
        "range": range(start, start + length),
        "number": start,
        "ints": rng.integers(-5000, 5000, length),
        "floats": rng.uniform(-5000, 5000, length) * data["scale"],
        "batch": rng.integers(-5000, 5000, x.shape[:-1]),
        "none": None,
    }[kind]
    turned = rw.rotate(
        x, positions, pairing=data["pairing"], rotary_dim=width, inverse=data["inverse"]
    )
    where = np.array(range(length) if positions is None else positions)
    radians = rw.frequencies.standard(width).radians * (-1 if data["inverse"] else 1)
    assert_near_numpy(turned, numpy_rotated(x, where, radians, data["pairing"]))
    assert_same_bits(turned[..., width:], x[..., width:])
    out = np.empty_like(turned)
    assert (
        rw.rotate(
            x,
            positions,
            pairing=data["pairing"],
            rotary_dim=width,
            inverse=data["inverse"],
            out=out,
        )
        is out
    )
    assert_same_bits(out, turned)


@pairings
@dtypes
@pytest.mark.parametrize(("dim", "rotary_dim"), [(9, 2), (8, 4), (70, 34), (128, 96), (3, 2)])
def test_features_behind_the_rotary_width_stay_as_they_are(
    dim: int, rotary_dim: int, dtype: str, pairing: Pairing
) -> None:
    x = rows((3, 40, dim), dtype)
    x[0, 0, rotary_dim:] = np.nan
    x[0, 1, rotary_dim:] = -0.0
    turned = rw.rotate(x, pairing=pairing, rotary_dim=rotary_dim)
    assert_same_bits(turned[..., rotary_dim:], x[..., rotary_dim:])
    whole = rw.rotate(np.ascontiguousarray(x[..., :rotary_dim]), pairing=pairing)
    assert_same_bits(turned[..., :rotary_dim], whole)
    inside = x.copy()
    rw.rotate(inside, pairing=pairing, rotary_dim=rotary_dim, out=inside)
    assert_same_bits(inside, turned)


@pairings
@dtypes
@pytest.mark.parametrize("factor", [1.0, 1.25])
@pytest.mark.parametrize("dim", [4, 16, 64, 70])
def test_standing_pairs_are_multiplied_by_the_factor_alone(
    dim: int, factor: float, dtype: str, pairing: Pairing
) -> None:
    f = with_factor(rw.frequencies.proportional(dim, fraction=0.5), factor)
    x = rows((2, 150, dim + 3), dtype)
    turned = rw.rotate(x, frequencies=f, pairing=pairing, rotary_dim=dim)
    live = int(np.count_nonzero(f.radians))
    assert 0 < live < dim // 2
    places = np.array(reference.features_of_pairs(dim // 2, pairing))[live:].ravel()
    computed = np.dtype(np.float64 if dtype == "float64" else np.float32)
    expected = (x[..., places].astype(computed) * computed.type(factor)).astype(x.dtype)
    np.testing.assert_array_equal(turned[..., places], expected)
    other = 2 * factor * numpy_rotated(x / 2, np.arange(150), f.radians, pairing)
    assert_near_numpy(turned[..., :dim], other[..., :dim])
    inside = x.copy()
    rw.rotate(inside, frequencies=f, pairing=pairing, rotary_dim=dim, out=inside)
    assert_same_bits(inside, turned)


@pairings
@dtypes
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_stay_in_their_pair(
    value: float, dtype: str, pairing: Pairing
) -> None:
    x = rows((70, 36), dtype)
    expected = rw.rotate(x, pairing=pairing)
    first, second = reference.features_of_pairs(18, pairing)[7]
    for place in (first, second):
        spoiled = x.copy()
        spoiled[5, place] = value
        turned = rw.rotate(spoiled, pairing=pairing)
        assert not np.isfinite(turned[5, [first, second]].astype(float)).any()
        turned[5, [first, second]] = expected[5, [first, second]]
        assert_same_bits(turned, expected)


@dtypes
def test_values_too_large_for_the_dtype_become_infinite(dtype: str) -> None:
    largest = {
        "float64": (2 - 2.0**-52) * 2.0**1023,
        "float32": (2 - 2.0**-23) * 2.0**127,
        "float16": (2 - 2.0**-10) * 2.0**15,
        "bfloat16": (2 - 2.0**-7) * 2.0**127,
    }[dtype]  # IEEE 754-2019, table 3.5, with 8 bits for bfloat16
    x = np.array([[largest, largest]], DTYPES[dtype])
    turned = rw.rotate(x, np.pi / 4, frequencies=rw.frequencies.from_radians([1.0]))
    assert np.isposinf(turned[0, 1].astype(float))
    assert abs(turned[0, 0].astype(float)) <= UNITS_OFF[dtype] * UNIT[dtype] * 2 * largest


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_are_rounded_once_from_float32(dtype: str) -> None:
    x = rows((300, 34), dtype)
    expected = rw.rotate(x.astype(np.float32)).astype(x.dtype)
    assert_same_bits(rw.rotate(x), expected)


@dtypes
def test_position_0_changes_nothing(dtype: str) -> None:
    x = rows((3, 22), dtype)
    np.testing.assert_array_equal(rw.rotate(x, 0), x)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "u8"])
def test_integers_become_float64(dtype: str) -> None:
    x = np.arange(48).reshape(6, 8).astype(dtype)
    assert_same_bits(rw.rotate(x), rw.rotate(x.astype(np.float64)))
    assert_same_bits(rw.rotate(x.tolist()), rw.rotate(x.astype(np.float64)))


# Pairs that stand still, all of them or at the end


@pytest.mark.parametrize(
    "frequencies",
    [
        rw.frequencies.from_radians([0.0, 0.0]),
        rw.frequencies.proportional(4, fraction=0.2),
        rw.frequencies.from_radians([[1.0, 2.0], [-1.0, -2.0]]),
    ],
    ids=["zeros", "proportional", "axes that cancel"],
)
def test_rows_whose_pairs_all_stand_still_stay_as_they_are(frequencies: Frequencies) -> None:
    x = rows((3, 100, 4), "float32")
    assert np.array_equal(rw.rotate(x, frequencies=frequencies), x)
    assert np.array_equal(rw.rotate(x[:, :2], frequencies=frequencies), x[:, :2])
    if frequencies.axes == 1:
        for positions in (3, [3, 4.5], range(500)):
            cosines, sines = rw.rotary_tables(positions, frequencies=frequencies)
            assert (cosines == 1).all()
            assert (sines == 0).all()
            table = rw.sinusoidal_encoding(positions, frequencies=frequencies)
            assert np.array_equal(table[..., 1::2], cosines)


SPECIAL = np.array([[1, 2, -0.0, -3], [1, 2, np.inf, -3], [1, 2, np.nan, -0.0]], np.float32)


def test_pairs_that_never_move_are_copied_at_the_end() -> None:
    frequencies = rw.frequencies.from_radians([1.0, 0.0])
    for positions in (None, [5, 6, 7], [0.5, 1.5, -2]):
        turned = rw.rotate(SPECIAL, positions, frequencies=frequencies)
        assert_same_bits(turned[:, 2:].copy(), SPECIAL[:, 2:].copy())


def test_pairs_whose_axes_cancel_turn_by_0() -> None:
    """Where the axes have one position each as where they have several that happen to be equal."""
    frequencies = rw.frequencies.from_radians([[1.0, 0.5], [1.0, -0.5]])
    places = np.arange(3)
    given = rw.rotate(SPECIAL, np.stack([places, places], -1), frequencies=frequencies)
    np.testing.assert_array_equal(np.signbit(given[0]), [False, False, False, True])
    np.testing.assert_array_equal(given[1, 2:], [np.inf, np.nan])
    assert_same_bits(rw.rotate(SPECIAL, frequencies=frequencies), given)


@pairings
def test_no_zero_of_a_standing_pair_has_a_sign(pairing: Pairing) -> None:
    moving = rw.frequencies.from_radians([1.0, 0.0])
    frequencies = with_factor(moving, 2.0)
    x = np.full((8000, 4), -0.0, np.float32)
    turned = rw.rotate(x, frequencies=frequencies, pairing=pairing, inverse=True)
    standing = turned[:, [1, 3]] if pairing == "half" else turned[:, 2:]
    assert len(np.unique(np.signbit(standing), axis=0)) == 1
