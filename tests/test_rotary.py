"""Rotary position embedding: values, properties, shapes, memory layouts.

A pair that is turned is within 3 units of its exact rotation (4 in float64), tables are correctly
rounded, and the same row at the same position has the same bits, whatever surrounds it. What is
refused is tested in test_rotary_refusals.py.
"""

import itertools
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests import reference
from tests.test_exact import Doubles, assert_exact, doubles, ulp

import ropewalk as rw
from ropewalk import _arrays, _core
from ropewalk._arrays import Pairing
from ropewalk.frequencies import Frequencies

PAIRINGS: list[Pairing] = ["interleaved", "half"]
DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(name) for name in ("float64", "float32", "float16")
} | {"bfloat16": np.dtype(ml_dtypes.bfloat16)}
# u, half the spacing of the numbers above 1
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
UNITS_OFF = {"float64": 4, "float32": 3, "float16": 3, "bfloat16": 3}  # error of a turned pair
LARGEST = 2**53

pairings = pytest.mark.parametrize("pairing", PAIRINGS)
dtypes = pytest.mark.parametrize("dtype", DTYPES)


def assert_same_bits(actual: NDArray[Any], expected: NDArray[Any]) -> None:
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    words = f"u{actual.itemsize}"
    a, b = np.ascontiguousarray(actual), np.ascontiguousarray(expected)
    np.testing.assert_array_equal(a.view(words), b.view(words))


def rows(shape: int | tuple[int, ...], dtype: str = "float64", seed: int = 0) -> NDArray[Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(DTYPES[dtype])


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
@dtypes
def test_a_quarter_turn_is_that_of_the_paper(dtype: str, pairing: Pairing) -> None:
    x = rows((3, 5, 14), dtype)
    turned = rw.quarter_turn(x, pairing=pairing)
    expected = [reference.quarter_turn(list(row), pairing) for row in x.reshape(-1, 14)]
    assert_same_bits(turned, np.array(expected, x.dtype).reshape(x.shape))


@pairings
def test_a_rotation_is_a_sum_with_a_quarter_turn(pairing: Pairing) -> None:
    x = rows((50, 14))
    cosines, sines = rw.rotary_tables(range(50), 14)
    places = list(range(7)) * 2
    if pairing == "interleaved":
        places.sort()
    turned = x * cosines[:, places] + rw.quarter_turn(x, pairing=pairing) * sines[:, places]
    np.testing.assert_allclose(turned, rw.rotate(x, pairing=pairing), rtol=0, atol=2e-15)


def test_a_quarter_turn_takes_integers_and_strides() -> None:
    np.testing.assert_array_equal(rw.quarter_turn([1, 2, 3, 4]), [-2.0, 1.0, -4.0, 3.0])
    x = rows((6, 8)).T[::-1]
    assert_same_bits(rw.quarter_turn(x), rw.quarter_turn(x.copy()))
    assert rw.quarter_turn(np.zeros((0, 8))).shape == (0, 8)


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_quarter_turn_of_features_apart_is_that_of_neighbours(
    dtype: str, pairing: Pairing
) -> None:
    x = rows((5, 48), dtype)
    for step in (2, 3, 4):
        apart = x[:, ::step]
        expected = rw.quarter_turn(apart.copy(), pairing=pairing)
        assert_same_bits(rw.quarter_turn(apart, pairing=pairing), expected)


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


# Pairings


@pytest.mark.parametrize("rotary_dim", [None, 2, 6])
def test_converted_data_is_turned_like_data_that_is_converted_then(rotary_dim: int | None) -> None:
    x = rows((4, 9, 10), "float32")
    halves = rw.convert_pairing(x, source="interleaved", target="half", rotary_dim=rotary_dim)
    turned = rw.rotate(x, rotary_dim=rotary_dim)
    expected = rw.convert_pairing(
        turned, source="interleaved", target="half", rotary_dim=rotary_dim
    )
    assert_same_bits(rw.rotate(halves, pairing="half", rotary_dim=rotary_dim), expected)


def test_features_in_the_half_pairing_are_the_first_of_all_pairs_and_then_the_second() -> None:
    row = list(range(10))
    converted = rw.convert_pairing(row, source="interleaved", target="half")
    assert converted.tolist() == reference.in_half_pairing(row)
    back = rw.convert_pairing(converted, source="half", target="interleaved")
    assert back.tolist() == row


@pairings
def test_converting_to_the_same_pairing_copies(pairing: Pairing) -> None:
    x = rows((3, 8))
    converted = rw.convert_pairing(x, source=pairing, target=pairing)
    assert_same_bits(converted, x)
    assert not np.shares_memory(converted, x)


@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("rotary_dim", [None, 4])
def test_weights_of_either_orientation_are_converted_head_by_head(
    heads: int, rotary_dim: int | None
) -> None:
    width = 8
    weights = rows((5, heads * width))
    options: dict[str, Any] = {
        "source": "interleaved", "target": "half", "heads": heads, "rotary_dim": rotary_dim,
    }  # fmt: skip
    converted = rw.convert_pairing(weights, **options)
    for head in range(heads):
        part = slice(head * width, (head + 1) * width)
        for before, after in zip(
            weights[:, part].tolist(), converted[:, part].tolist(), strict=True
        ):
            turned = rotary_dim or width
            assert after == [*reference.in_half_pairing(before[:turned]), *before[turned:]]
    assert_same_bits(rw.convert_pairing(weights.T, axis=0, **options), converted.T)
    assert_same_bits(rw.convert_pairing(weights[0], **options), converted[0])


def test_converted_weights_keep_the_scores() -> None:
    x, w_query, w_key = rows((7, 12)), rows((12, 16), seed=1), rows((12, 16), seed=2)

    def scores_of(query_weight: Any, key_weight: Any, pairing: Pairing) -> NDArray[np.float64]:
        query, key = ((x @ w).reshape(7, 2, 8).swapaxes(0, 1) for w in (query_weight, key_weight))
        q, k = rw.rotate(query, pairing=pairing), rw.rotate(key, pairing=pairing)
        return np.asarray(q @ k.swapaxes(-1, -2))

    options: dict[str, Any] = {"source": "interleaved", "target": "half", "heads": 2}
    new_query, new_key = (rw.convert_pairing(w, **options) for w in (w_query, w_key))
    before = scores_of(w_query, w_key, "interleaved")
    np.testing.assert_allclose(scores_of(new_query, new_key, "half"), before, rtol=0, atol=1e-12)
    assert np.abs(scores_of(w_query, w_key, "half") - before).max() > 1


@pytest.mark.parametrize("shape", [(0, 8), (8, 0), (0, 0, 8)], ids=str)
def test_arrays_without_elements_are_converted(shape: tuple[int, ...]) -> None:
    axis = shape.index(8)
    x = np.zeros(shape)
    assert rw.convert_pairing(x, source="half", target="interleaved", axis=axis).shape == shape


@pytest.mark.parametrize("dtype", ["i2", "c8", "O", ">f4", "bfloat16"])
def test_any_dtype_is_converted(dtype: str) -> None:
    x = np.arange(8).astype(DTYPES.get(dtype, dtype))
    converted = rw.convert_pairing(x, source="half", target="interleaved")
    assert converted.dtype == x.dtype
    assert converted.astype(complex).tolist() == [0, 4, 1, 5, 2, 6, 3, 7]


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


# Memory

LENGTH, DIM = 70, 22
Lay = Callable[[NDArray[Any]], NDArray[Any]]


def unaligned(x: NDArray[Any]) -> NDArray[Any]:
    memory = np.zeros(x.nbytes + 1, np.uint8)
    result = memory[1:].view(x.dtype).reshape(x.shape)
    result[...] = x
    return result


def in_a_record(x: NDArray[Any]) -> NDArray[Any]:
    records = np.zeros(x.shape[:2], [("x", x.dtype, x.shape[2:]), ("after", "u1")])
    records["x"] = x
    result: NDArray[Any] = records["x"]
    return result


# The same values, lying differently.
LAYOUTS: dict[str, Lay] = {
    "Fortran order": np.asfortranarray,
    "transposed": lambda x: x.transpose(1, 0, 2).copy().transpose(1, 0, 2),
    "reversed": lambda x: x[:, ::-1].copy()[:, ::-1],
    "reversed features": lambda x: x[..., ::-1].copy()[..., ::-1],
    "every second row": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "every second feature": lambda x: np.repeat(x, 2, axis=2)[..., ::2],
    "the middle of a larger array": lambda x: np.pad(x.astype(x.dtype), 3)[3:-3, 3:-3, 3:-3],
    "unaligned": unaligned,
    "in records": in_a_record,
}
layouts = pytest.mark.parametrize("layout", LAYOUTS)


@pairings
@dtypes
@layouts
def test_strides_of_x_change_no_bit(layout: str, dtype: str, pairing: Pairing) -> None:
    x = rows((3, LENGTH, DIM), dtype)
    expected = rw.rotate(x, pairing=pairing)
    lying = LAYOUTS[layout](x)
    assert_same_bits(lying, x)
    lying.flags.writeable = False
    turned = rw.rotate(lying, pairing=pairing)
    assert_same_bits(turned, expected)
    assert_same_bits(lying, x)
    assert turned.flags.c_contiguous
    assert turned.flags.owndata
    assert turned.flags.writeable


@pairings
@dtypes
@layouts
def test_out_of_any_strides_is_filled_and_returned(
    layout: str, dtype: str, pairing: Pairing
) -> None:
    x = rows((3, LENGTH, DIM), dtype)
    expected = rw.rotate(x, pairing=pairing)
    out = LAYOUTS[layout](np.zeros_like(x))
    assert rw.rotate(x, pairing=pairing, out=out) is out
    assert_same_bits(out, expected)
    cosines, sines = rw.rotary_tables(range(LENGTH), DIM)
    out[...] = 0
    assert rw.rotate_by(x, cosines, sines, pairing=pairing, out=out) is out
    assert_same_bits(out, expected)


@pairings
@dtypes
@layouts
def test_rows_of_any_strides_are_turned_in_place(layout: str, dtype: str, pairing: Pairing) -> None:
    x = rows((3, LENGTH, DIM), dtype)
    expected = rw.rotate(x, pairing=pairing)
    lying = LAYOUTS[layout](x.copy())
    assert rw.rotate(lying, pairing=pairing, out=lying) is lying
    assert_same_bits(lying, expected)
    lying[...] = x
    view = lying[...]
    assert rw.rerotate(lying, range(LENGTH), pairing=pairing, out=view) is view
    assert_same_bits(lying, expected)


@pairings
@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_axes_may_lie_in_any_order(order: tuple[int, ...], pairing: Pairing) -> None:
    positions = np.array([[[[4], [5], [6], [0], [9]]], [[[7], [2], [3], [8], [1]]]])
    x = rows((2, 3, 5, 4, DIM), "float32")  # the first and the third axis have positions
    expected = np.empty_like(x)
    for batch, head, group in np.ndindex(2, 3, 4):
        own = positions[batch, 0, :, 0]
        expected[batch, head, :, group] = rw.rotate(x[batch, head, :, group], own, pairing=pairing)
    lying = x.transpose(*order, 4).copy().transpose(*np.argsort(order), 4)
    assert_same_bits(rw.rotate(lying, positions, pairing=pairing), expected)
    assert_same_bits(rw.rotate(x, positions, pairing=pairing, out=lying), expected)


@pairings
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_data_from_far_have_the_bits_of_near_ones(dtype: str, pairing: Pairing) -> None:
    x = rows((8, 4096, 128), dtype)  # 16 and 8 MiB
    expected = np.stack([rw.rotate(head, pairing=pairing) for head in x])
    assert_same_bits(rw.rotate(x, pairing=pairing, out=np.empty_like(x)), expected)
    assert_same_bits(rw.rotate(x, pairing=pairing, out=x), expected)


@dtypes
def test_nothing_is_written_beside_out(dtype: str) -> None:
    x = rows((LENGTH, DIM), dtype)
    for part in (np.s_[1:-1, 2:-2], np.s_[1:-1, 2 : 2 + 2 * DIM : 2]):
        whole = np.zeros((LENGTH + 2, 3 * DIM), x.dtype)
        out = whole[part][:, :DIM]
        rw.rotate(x, range(1, LENGTH + 1), out=out)
        written = np.count_nonzero(out)
        assert written > 0
        assert np.count_nonzero(whole) == written


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_other_byte_orders_become_the_native_one(dtype: str) -> None:
    x = rows((9, 6)).astype(dtype)
    swapped = x.astype(x.dtype.newbyteorder())
    assert_same_bits(rw.rotate(swapped), rw.rotate(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_row_may_have_any_stride(dtype: str) -> None:
    x = rows((1, 1, 8), dtype)
    record = in_a_record(x)
    assert_same_bits(rw.rotate(record[:, 0], 3), rw.rotate(x[:, 0], 3))
    out = in_a_record(np.zeros_like(x))[:, 0]
    rw.rotate(x[:, 0], 3, out=out)
    assert_same_bits(out, rw.rotate(x[:, 0], 3))


def test_rows_may_be_one_row_again_and_again() -> None:
    row = rows(22)
    x = np.broadcast_to(row, (3, 100, 22))
    assert_same_bits(rw.rotate(x), rw.rotate(x.copy()))
    constant = np.broadcast_to(1.5, (100, 22))
    assert_same_bits(rw.rotate(constant), rw.rotate(constant.copy()))


def test_out_may_lie_beside_the_positions_and_x() -> None:
    memory = np.zeros((30, 20))
    memory[:, 0] = np.arange(30)
    memory[:, 1:9] = rows((30, 8))
    expected = rw.rotate(memory[:, 1:9].copy(), range(30))
    rw.rotate(memory[:, 1:9], memory[:, 0], out=memory[:, 9:17])
    assert_same_bits(memory[:, 9:17], expected)


@pytest.mark.parametrize("positions", [np.arange(6), np.arange(6.0)[::-1]], ids=["int", "strided"])
def test_arguments_are_left_as_they_are(positions: NDArray[Any]) -> None:
    x, cosines, sines = rows((6, 8), "float16"), rows((6, 4)), rows((6, 4))
    arguments = [positions, x, cosines, sines]
    before = [argument.copy() for argument in arguments]
    for argument in arguments:
        argument.flags.writeable = False
    rw.rotate(x, positions, inverse=True)
    rw.rerotate(x, positions)
    rw.rotate_by(x, cosines, sines)
    rw.rotary_tables(positions, 8, angles="float32")
    rw.quarter_turn(x)
    rw.convert_pairing(x, source="half", target="interleaved")
    for argument, copied in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(argument, copied)


def turned_in_place(x: NDArray[Any], *where: Any, **options: Any) -> NDArray[Any]:
    """Return what rotation through the cache gives: in place nothing passes it by."""
    turned = x.copy()
    return rw.rotate(turned, *where, **options, out=turned)


@pytest.fixture
def streaming(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stores into `out` or new memory pass the cache by, whatever the size."""
    monkeypatch.setattr(_arrays, "STREAMED_BYTES", 0)
    monkeypatch.setattr(_core, "rotate_plainly", lambda *_: None)  # what takes small calls


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize("elements", [0, 1, 2, 4, 7], ids="{} off a line".format)
@dtypes
@pairings
def test_stores_that_pass_the_cache_by_write_the_same_bits(
    pairing: Pairing, dtype: str, elements: int
) -> None:
    widths = [(dim, dim) for dim in (2, 12, 16, 20, 22, 24, 40, 64, 72, 96, 128)]
    for dim, rotary_dim in (*widths, (6, 4), (64, 32), (129, 128), (9000, 8)):
        # 96 rows are whole lines, so that copies begin alike; 4 of 5 copies are turned together.
        x = rows((5, 96, dim) if dim < 200 else (2, 3, dim), dtype)
        options: dict[str, Any] = {"pairing": pairing, "rotary_dim": rotary_dim}
        for positions in (None, 7, 5 + 4 * np.arange(len(x))[:, None]):
            expected = turned_in_place(x, positions, **options)
            memory = np.full(x.nbytes + 256, 7, np.uint8)
            skipped = -memory.ctypes.data % 64 + elements * x.itemsize
            out = memory[skipped : skipped + x.nbytes].view(x.dtype).reshape(x.shape)
            rw.rotate(x, positions, out=out, **options)
            assert_same_bits(out, expected)
            beside = np.concatenate([memory[:skipped], memory[skipped + x.nbytes :]])
            assert (beside == 7).all()


@pytest.mark.usefixtures("streaming")
@layouts
@dtypes
def test_stores_that_pass_the_cache_by_take_any_strides(dtype: str, layout: str) -> None:
    x = rows((3, LENGTH, DIM), dtype)
    expected = turned_in_place(x)
    lying, out = LAYOUTS[layout](x), LAYOUTS[layout](np.zeros_like(x))
    rw.rotate(lying, out=out)
    assert_same_bits(out, expected)
    rw.rotate(lying, out=lying)
    assert_same_bits(lying, expected)


@dtypes
def test_an_out_larger_than_the_cache_has_the_same_bits(dtype: str) -> None:
    x = rows((1000, 1, 128), dtype)
    x = x.repeat(-(-_arrays.STREAMED_BYTES // x.nbytes), axis=1)
    positions = np.arange(1000)[:, None]
    out = np.zeros_like(x)
    rw.rotate(x, positions, out=out)
    assert out.nbytes >= _arrays.STREAMED_BYTES
    expected = turned_in_place(x, positions).view(np.uint8)
    assert np.array_equal(out.view(np.uint8), expected)
    assert np.array_equal(rw.rotate(x, positions).view(np.uint8), expected)
    tables = rw.rotary_tables(positions, 128, dtype="float64" if dtype == "float64" else "float32")
    assert np.array_equal(rw.rotate_by(x, *tables, out=out).view(np.uint8), expected)


# The same bits wherever they are computed


@pairings
@dtypes
@pytest.mark.parametrize("shape", [(3, 3000, 34), (3000, 3, 34), (2, 50, 129, 22)], ids=str)
def test_bits_do_not_depend_on_the_number_of_threads(
    shape: tuple[int, ...], dtype: str, pairing: Pairing
) -> None:
    x = rows(shape, dtype)
    assert x.nbytes >= 2**19  # smaller data is turned by one thread
    positions: Any = np.arange(3000)[:, None] if shape[0] == 3000 else range(7, 7 + shape[-2])
    found = set()
    for threads in (1, 2, 3):
        with rw.num_threads(threads):
            found.add(rw.rotate(x, positions, pairing=pairing).tobytes())
            inside = x.copy()
            found.add(rw.rotate(inside, positions, pairing=pairing, out=inside).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("function", [rw.rotation_matrix, rw.rotation_blocks, rw.phases])
def test_bits_of_matrices_and_phases_do_not_depend_on_the_number_of_threads(
    function: Callable[..., NDArray[Any]],
) -> None:
    found = set()
    for threads in (1, 2, 3):
        with rw.num_threads(threads):
            found.add(function(range(-1500, 1500), 22).tobytes())
    assert len(found) == 1


@given(
    st.integers(0, 500),
    st.integers(1, 200),
    st.sampled_from(list(DTYPES)),
    st.sampled_from(PAIRINGS),
)
def test_a_part_is_turned_as_in_the_whole(
    begin: int, count: int, dtype: str, pairing: Pairing
) -> None:
    x = rows((3, 700, 34), dtype)
    positions = range(-100, 600)
    whole = rw.rotate(x, positions, pairing=pairing)
    part = slice(begin, begin + count)
    turned = rw.rotate(x[1, part], positions[part], pairing=pairing)
    assert_same_bits(turned, whole[1, part])
    assert_same_bits(rw.rotate(x[1:2, part], positions[part], pairing=pairing)[0], whole[1, part])
    row = rw.rotate(x[2, begin], positions[begin], pairing=pairing)
    assert_same_bits(row, whole[2, begin])


Call = Callable[[str, tuple[Any, ...], dict[str, Any]], NDArray[Any]]
WORKER = """
import pickle, sys
import ropewalk as rw

while True:
    try:
        name, arguments, options = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    pickle.dump(getattr(rw, name)(*arguments, **options), sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""


def calling(worker: subprocess.Popen[bytes]) -> Call:
    requests, answers = worker.stdin, worker.stdout
    assert requests is not None
    assert answers is not None
    turn = threading.Lock()  # for tests that run in many threads at once

    def call(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        with turn:
            pickle.dump((name, arguments, options), requests)
            requests.flush()
            return pickle.load(answers)

    return call


@pytest.fixture(scope="module")
def on_each_isa() -> Iterator[list[Call]]:
    """Give one function for each instruction set: a call in a process that uses it."""
    workers = []
    for isa in rw.show_config()["supported_isas"]:
        environment = os.environ | {"ROPEWALK_ISA": isa}
        command = [sys.executable, "-c", WORKER]
        pipe = subprocess.PIPE
        workers.append(subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe))
    yield [calling(worker) for worker in workers]
    for worker in workers:
        worker.communicate()


@settings(max_examples=100)
@given(draw_data, st.integers(-LARGEST, LARGEST - 100), st.booleans())
def test_bits_do_not_depend_on_the_instruction_set(
    on_each_isa: list[Call], data: dict[str, Any], start: int, floats: bool
) -> None:
    width = 2 * data["pairs"]
    x = rows((*data["batch"], data["length"], width + data["rest"]), data["dtype"], data["seed"])
    positions: Any = range(start, start + data["length"])
    if floats:
        positions = np.random.default_rng(data["seed"]).uniform(-1e6, 1e6, data["length"])
    options = {"pairing": data["pairing"], "rotary_dim": width, "inverse": data["inverse"]}
    found = {call("rotate", (x, positions), options).tobytes() for call in on_each_isa}
    assert len(found) == 1


@dtypes
@pairings
def test_numbers_of_every_size_have_the_same_bits_on_each_instruction_set(
    on_each_isa: list[Call], pairing: Pairing, dtype: str
) -> None:
    rng = np.random.default_rng(9)
    exponents = rng.uniform(-1, 1, (60, 38)) * {"float64": 1070, "float16": 24}.get(dtype, 140)
    with np.errstate(over="ignore"):
        x = (rng.standard_normal((60, 38)) * 2.0**exponents).astype(DTYPES[dtype])
    x = np.where(np.isfinite(x.astype(float)), x, np.ones((), x.dtype))
    found = {call("rotate", (x,), {"pairing": pairing}).tobytes() for call in on_each_isa}
    assert len(found) == 1


def test_tables_by_hand_have_the_same_bits_on_each_instruction_set(on_each_isa: list[Call]) -> None:
    for dtype in DTYPES:
        x, tables = rows((90, 45), dtype), (rows((90, 22), seed=1), rows((90, 22), seed=2))
        found = {call("rotate_by", (x, *tables), {}).tobytes() for call in on_each_isa}
        assert len(found) == 1


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


@pairings
def test_no_zero_of_a_standing_pair_has_a_sign(pairing: Pairing) -> None:
    moving = rw.frequencies.from_radians([1.0, 0.0])
    frequencies = with_factor(moving, 2.0)
    x = np.full((8000, 4), -0.0, np.float32)
    turned = rw.rotate(x, frequencies=frequencies, pairing=pairing, inverse=True)
    standing = turned[:, [1, 3]] if pairing == "half" else turned[:, 2:]
    assert len(np.unique(np.signbit(standing), axis=0)) == 1
