"""Tables are exact, whatever the position and whichever way the core reached it.

float32, float16 and bfloat16 are correctly rounded. float64 is promised within 1 ulp and held here
to the 0.501 that the core states. The truth comes from mpmath with 400 bits.
"""

import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.doubles import FORMATS, Doubles, assert_exact, doubles, nearest

import ropewalk as rw
from ropewalk.frequencies import Frequencies

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "golden"
DTYPES = ["float64", "float32", "float16", "bfloat16"]
BASES = [10000.0, 500000.0, 1e7, 7.3]


@dataclass(frozen=True, eq=False)
class Case:
    """A schedule twice, and positions; the exact table is made once."""

    frequencies: Frequencies
    radians: Sequence[reference.Real]
    positions: range | NDArray[Any]

    @cached_property
    def exact(self) -> Doubles:
        positions = np.ravel(self.positions).tolist()
        return doubles(reference.sinusoidal_encoding(positions, self.radians))

    def check(self, dtype: str) -> None:
        table = rw.sinusoidal_encoding(self.positions, frequencies=self.frequencies, dtype=dtype)
        assert_exact(table.reshape(-1, table.shape[-1]), self.exact)


def standard(dim: int, base: float, positions: range | NDArray[Any]) -> Case:
    exact = reference.standard_frequencies(dim, base)
    return Case(rw.frequencies.standard(dim, base=base), exact, positions)


def of_radians(radians: Sequence[float], positions: range | NDArray[Any]) -> Case:
    exact = reference.exact_frequencies(radians)
    return Case(rw.frequencies.from_radians(radians), exact, positions)


def generator(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def golden(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text())


# The test's own rounding


@pytest.mark.parametrize(
    ("high", "low", "rounded"),
    [
        (1 + 2.0**-24, 0.0, 1.0),
        (1 + 2.0**-24, 2.0**-90, 1 + 2.0**-23),
        (1 + 3 * 2.0**-24, 0.0, 1 + 2.0**-22),
        (1 + 3 * 2.0**-24, -(2.0**-90), 1 + 2.0**-23),
        (-1 - 2.0**-24, 2.0**-90, -1.0),
        (1.0, -(2.0**-60), 1.0),
        (2.0**-150, 0.0, 0.0),
        (2.0**-150, 2.0**-210, 2.0**-149),
        (5e-324, 0.0, 0.0),
    ],
)
def test_a_sum_is_rounded_to_float32_once(high: float, low: float, rounded: float) -> None:
    assert nearest(Doubles(np.array([high]), np.array([low])), "float32") == [rounded]


# Positions that count upwards by one


def turned_on(radians: Sequence[reference.Real], count: int) -> Doubles:
    """Return the exact table of 0, 1, 2 .. by the addition theorem, from the angles of position 1.

    In integers of 480 bits behind the point; that one row has the 400 bits of the reference, and so
    a step loses some units of the 400th bit.
    """
    one = 1 << 480
    high, low = np.empty((2, count, 2 * len(radians)))
    for pair, angle in enumerate(radians):
        step = [int(reference.mp.floor(x * one)) for x in reference.mp.cos_sin(angle)]
        cosine, sine = one, 0
        for position in range(count):
            for column, value in ((2 * pair, sine), (2 * pair + 1, cosine)):
                rounded = value / one  # of integers: to the nearest
                high[position, column] = rounded
                low[position, column] = (value - int(math.ldexp(rounded, 480))) / one
            cosine, sine = (
                (cosine * step[0] - sine * step[1]) >> 480,
                (sine * step[0] + cosine * step[1]) >> 480,
            )
    return Doubles(high, low)


@cache
def first_positions(base: float, dim: int) -> tuple[Frequencies, Doubles]:
    radians = reference.standard_frequencies(dim, base)
    exact = turned_on(radians, 4096)
    last = doubles(reference.sinusoidal_encoding([4095], radians))
    np.testing.assert_array_equal(exact.high[-1:], last.high)
    np.testing.assert_array_equal(exact.low[-1:], last.low)
    return rw.frequencies.standard(dim, base=base), exact


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("base", "dim"),
    [(1e4, 2), (1e4, 6), (1e4, 100), (5e5, 2), (5e5, 6), (5e5, 64), (1e7, 6), (1e7, 34), (7.3, 50)],
)
def test_every_position_to_4095(base: float, dim: int, dtype: str) -> None:
    frequencies, exact = first_positions(base, dim)
    table = rw.sinusoidal_encoding(range(4096), frequencies=frequencies, dtype=dtype)
    assert_exact(table, exact)


@cache
def width(dim: int) -> Case:
    rng = generator(dim)
    positions = [0, 1, -7, *(rng.integers(-(2**bits), 2**bits) for bits in (31, 53))]
    return standard(dim, BASES[dim // 2 % 4], np.array(positions))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("widths", [range(2, 258, 2), range(258, 514, 2)], ids=str)
def test_every_even_width_to_512(widths: range, dtype: str) -> None:
    for dim in widths:
        width(dim).check(dtype)


@cache
def pair_count(pairs: int) -> Case:
    start = int(generator(pairs).integers(-(2**40), 2**40))
    return standard(2 * pairs, 10000.0, range(start, start + 100))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pairs", range(1, 21))
def test_any_number_of_pairs_in_a_range(pairs: int, dtype: str) -> None:
    pair_count(pairs).check(dtype)


SUPER_BLOCK = 32 * 33  # rows that one evaluated row of the core serves
EDGES = [-SUPER_BLOCK - 17, -33, -17, 0, 16, SUPER_BLOCK - 17, 3 * SUPER_BLOCK - 40, 2**52 + 1]


@cache
def edge(start: int) -> Case:
    return standard(4, 10000.0, range(start - 3, start + 203))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("start", EDGES)
def test_tables_of_1_to_200_rows_at_the_edges_of_blocks(start: int, dtype: str) -> None:
    case = edge(start)
    for rows in range(1, 201):
        skipped = rows % 4
        table = rw.sinusoidal_encoding(
            range(start - skipped, start - skipped + rows),
            frequencies=case.frequencies,
            dtype=dtype,
        )
        part = slice(3 - skipped, 3 - skipped + rows)
        assert_exact(table, Doubles(case.exact.high[part], case.exact.low[part]))


# Positions that do not


@cache
def random_positions(base: float, dim: int, limit: int) -> Case:
    rng = generator(int(base), dim, limit)
    return standard(dim, base, rng.integers(-limit, limit, 120, endpoint=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("limit", [2**31, 2**53], ids=["2^31", "2^53"])
@pytest.mark.parametrize("dim", [6, 100])
@pytest.mark.parametrize("base", BASES)
def test_random_positions(base: float, dim: int, limit: int, dtype: str) -> None:
    random_positions(base, dim, limit).check(dtype)


@cache
def fractions(base: float, dim: int) -> Case:
    rng = generator(int(base), dim)
    size = 2.0 ** rng.uniform(-1074, 53, 60)
    few = [5e-324, -5e-324, 2.2e-308, 1e-300, 0.5, -0.25, 0.1, 4095.5, 2.0**52 + 0.5, 2.0**53]
    near_one = rng.uniform(-4096, 4096, 60)
    return standard(dim, base, np.concatenate([few, size, -size, near_one]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [2, 50])
@pytest.mark.parametrize("base", BASES)
def test_fractions(base: float, dim: int, dtype: str) -> None:
    fractions(base, dim).check(dtype)


def jumping() -> NDArray[np.int64]:
    jumps = generator(1).integers(-(2**53), 2**53, 40)
    return np.concatenate(
        [np.arange(100), jumps, np.arange(70, 170), [5, 5, 5], np.arange(-80, 80)]
    )


def counting(*starts: int) -> NDArray[np.int64]:
    return np.array([np.arange(start, start + 130) for start in starts])


def scattered() -> NDArray[np.int64]:
    """Return more positions than are evaluated each by itself, where one digit more is needed."""
    starts = [(0, 300), (2**14 - 150, 2**14 + 150), (2**21 - 250, 2**21 + 50)]
    return generator(3).permutation(np.concatenate([np.arange(*ends) for ends in starts]))


PROGRESSIONS: dict[str, range | NDArray[Any]] = {
    "descending": range(150, -150, -1),
    "descending array": np.arange(150, -150, -1),
    "step 2": range(-100, 140, 2),
    "step 7 down": range(2**40, 2**40 - 7 * 120, -7),
    "step 10^6": range(-5 * 10**7, 5 * 10**7, 10**6),
    "step 10^12": range(-4500 * 10**12, 4500 * 10**12, 90 * 10**12),
    "step 10^12, one by one": range(-100 * 10**12, 100 * 10**12, 10**12),
    "step -10^12": range(9000 * 10**12, 8900 * 10**12, -(10**12)),
    "step 2^40": range(-100 * 2**40, 100 * 2**40, 2**40),
    "step 2^52": range(-(2**53), 2**53 + 1, 2**52),
    "up to 2^53": range(2**53 - 200, 2**53 + 1),
    "down to -2^53": range(-(2**53) + 200, -(2**53) - 1, -1),
    "up to 2^53 in floats": np.arange(2**53 - 200, 2**53 + 1).astype(np.float64),
    "stretches and jumps": jumping(),
    "stretches and jumps in floats": jumping().astype(np.float64),
    "scattered": scattered(),
    "scattered in floats": np.append(scattered().astype(np.float64), 0.5),
    "a batch of ranges": counting(0, 1000, -(2**45), 2**53 - 129),
    "a batch of ranges in floats": counting(0, 1000, -(2**45), 2**53 - 129).astype(np.float64),
    "counting fractions": np.arange(150) + 0.5,
    "steps of a quarter": np.arange(-40, 40, 0.25),
    "one position again and again": np.full(150, 12345),
    "2^53 again and again in floats": np.array([0.0] + [2.0**53] * 100),
    "2^53 again at the end, in floats": np.append(np.arange(2.0**53 - 64, 2.0**53), [2.0**53] * 2),
}


@cache
def progression(name: str) -> Case:
    return standard(18, 10000.0, PROGRESSIONS[name])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PROGRESSIONS)
def test_positions_in_any_order(name: str, dtype: str) -> None:
    if name == "scattered in floats":  # digits are made for integers alone
        progression("scattered").check(dtype)
    progression(name).check(dtype)


# Frequencies that do not come from a base

TWO_PI = 6.283185307179586
SCHEDULES = {
    "around 2^-100 turns": [TWO_PI * (1 + i / 64) * 2.0**-100 for i in range(1, 9)],
    "from 2^-99 to 2^60 turns": [TWO_PI * 2.0**n for n in range(-99, 60)],
    "around 2^60 turns": [TWO_PI * (1 - i / 64) * 2.0**60 for i in range(1, 9)],
    "standing still": [0.0, 1.0, -0.0, 0.0],
    "negative": [-1.0, -0.01, -3e15, -(2.0**-97)],
    "float32": [float(np.float32(10000.0) ** np.float32(-i / 8)) for i in range(8)],
}


@cache
def schedule(name: str) -> Case:
    rng = generator(2)
    whole = rng.integers(-(2**53), 2**53, 10).astype(np.float64)
    few = [0.0, 1.0, -1.0, 2.0**53, -(2.0**53), 5e-324, -5e-324, 0.3, 1e-200, 2.0**-60]
    sizes = 2.0 ** rng.uniform(-70, 53, 40)
    return of_radians(SCHEDULES[name], np.concatenate([few, whole, sizes, -sizes]))


@cache
def schedule_in_a_range(name: str) -> Case:
    return of_radians(SCHEDULES[name], range(-70, 70))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCHEDULES)
def test_any_schedule_at_any_position(name: str, dtype: str) -> None:
    schedule(name).check(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCHEDULES)
def test_any_schedule_in_a_range(name: str, dtype: str) -> None:
    schedule_in_a_range(name).check(dtype)


@cache
def interpolated(factor: float) -> Case:
    positions = np.array([1, 2**53, -(2**53), 2**53 - 1, 10**15])
    exact = reference.linear_frequencies(100, factor, 500000.0)
    return Case(rw.frequencies.linear(100, factor=factor, base=500000.0), exact, positions)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factor", [1.0, 8.0, 0.3, 1e6])
def test_interpolated_frequencies_at_2_to_the_53(factor: float, dtype: str) -> None:
    interpolated(factor).check(dtype)


# Values that are hard to get right


@cache
def stored(name: str, base: float, dim: int) -> tuple[list[int], list[int], Doubles]:
    """Pairs and positions of a stored file, and the exact sine and cosine of each."""
    rows = [(pair, position) for b, d, pair, position in golden(name) if (b, d) == (base, dim)]
    radians = reference.standard_frequencies(dim, base)
    exact = [reference.sinusoidal_encoding([p], [radians[pair]])[0] for pair, p in rows]
    return [pair for pair, _ in rows], [position for _, position in rows], doubles(exact)


def schedules_of(name: str) -> list[tuple[float, int]]:
    return sorted({(base, dim) for base, dim, *_ in golden(name)})


@pytest.mark.parametrize(("base", "dim"), schedules_of("near_zeros.json"))
def test_stored_near_zeros_are_near_zero(base: float, dim: int) -> None:
    _, positions, exact = stored("near_zeros.json", base, dim)
    smaller = np.abs(exact.high).min(axis=1)
    assert (smaller < 2 / np.sqrt(positions)).all()
    assert smaller.min() < 2.0**-53


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("base", "dim"), schedules_of("near_zeros.json"))
def test_near_zeros_one_by_one(base: float, dim: int, dtype: str) -> None:
    pairs, positions, exact = stored("near_zeros.json", base, dim)
    table = rw.sinusoidal_encoding(positions, dim, base=base, dtype=dtype)
    columns = 2 * np.array(pairs)
    rows = np.arange(len(pairs))
    assert_exact(np.stack([table[rows, columns], table[rows, columns + 1]], axis=1), exact)


def convergents(x: reference.Real, largest: int) -> Iterator[tuple[int, int]]:
    """Numerators and denominators of the convergents of x, of that size at most."""
    earlier, last = (0, 1), (1, 0)
    while True:
        whole = int(reference.mp.floor(x))
        earlier, last = last, (whole * last[0] + earlier[0], whole * last[1] + earlier[1])
        if max(last) > largest:
            return
        yield last
        x = 1 / (x - whole)


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_that_frequencies_come_nearest_to(dtype: str) -> None:
    smallest = 1.0
    for quarters in range(1, 25):
        for position, factor in convergents(quarters * reference.mp.pi / 2, 2**53):
            if factor < 2**20:
                continue
            case = Case(
                rw.frequencies.linear(2, factor=factor),
                [1 / reference.mp.mpf(factor)],
                np.array([position]),
            )
            case.check(dtype)
            smallest = min(smallest, np.abs(case.exact.high).min())
    assert smallest < 2.0**-104
    # A product of a position and a frequency of 53 bits each.
    case = of_radians([float.fromhex("0x1.b0eb3faadc844p-2")], np.array([8527396529692493]))
    case.check(dtype)
    assert np.abs(case.exact.high).min() < 2.0**-104


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["near_zeros.json", "hard_to_round.json"])
def test_stored_values_inside_ranges(name: str, dtype: str) -> None:
    for base, dim in schedules_of(name):
        pairs, positions, exact = stored(name, base, dim)
        frequencies = rw.frequencies.standard(dim, base=base)
        found = []
        for pair, position in zip(pairs, positions, strict=True):
            before = range(position - 79, position + 1)
            table = rw.sinusoidal_encoding(before, frequencies=frequencies, dtype=dtype)
            found.append(table[-1, 2 * pair : 2 * pair + 2])
        assert_exact(np.array(found), exact)


@pytest.mark.parametrize(("base", "dim"), schedules_of("hard_to_round.json"))
def test_sines_that_are_hard_to_round(base: float, dim: int) -> None:
    pairs, positions, exact = stored("hard_to_round.json", base, dim)
    table = rw.sinusoidal_encoding(positions, dim, base=base, dtype=np.float32)
    values = table.reshape(len(pairs), -1, 2)[np.arange(len(pairs)), pairs]
    assert_exact(values, exact)


@cache
def near_middles() -> Case:
    return of_radians([1.0], np.array([position for *_, position in golden("near_middles.json")]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_fractions_next_to_the_middle_of_two_numbers(dtype: str) -> None:
    near_middles().check(dtype)


def near_fraction(number: reference.Real) -> tuple[int, int]:
    """Return the last convergent of a number below 1 whose parts have at most 53 bits."""
    (p, before), (q, below), rest = (0, 1), (1, 0), number
    while True:
        rest = 1 / rest
        term = int(reference.mp.floor(rest))
        rest -= term
        if max(term * p + before, term * q + below) >= 2**53:
            return p, q
        (p, before), (q, below) = (term * p + before, p), (term * q + below, q)


@pytest.mark.parametrize("dtype", FORMATS)
def test_positions_and_factors_chosen_for_sines_next_to_a_middle(dtype: str) -> None:
    """P / Q is within 2^-106 of the arc sine of a middle: of a position P and a factor Q."""
    bits, _ = FORMATS[dtype]
    rng = np.random.default_rng(2013)
    odd = 2 * rng.integers(2 ** (bits - 1), 2**bits, 300) + 1
    for middle in np.ldexp(odd, -bits - 1 - rng.integers(0, 12, odd.size)).tolist():
        p, q = near_fraction(reference.mp.asin(middle))
        factor = math.ldexp(q, 1 - q.bit_length())
        position = math.ldexp(p, 1 - q.bit_length())
        linear = rw.frequencies.linear(2, factor=factor)
        Case(linear, [1 / reference.mp.mpf(factor)], np.array([position])).check(dtype)


def test_a_position_and_a_frequency_whose_sine_lies_next_to_a_middle() -> None:
    radians = float.fromhex("0x1.a390c119ee357p-54")
    of_radians([radians], np.array([7014256301013440])).check("float32")


# sin p lies a little below p, and p is the middle of two numbers of a format. Of two middles that
# follow each other one rounds to even upwards: rounding p, or rounding twice, is wrong there.
# cos 2^-12 and cos 2^-4 lie a little above the middles 1 - 2^-25 (float32) and 1 - 2^-9 (bfloat16).
@cache
def middles(exponent: int) -> Case:
    odd = np.arange(-15, 16, 2)
    sizes = np.concatenate([np.sign(odd) + odd * 2.0**-bits for bits, _ in FORMATS.values()])
    return of_radians([1.0], np.append(sizes * 2.0**exponent, [2.0**-12, 2.0**-4]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", [-1, -4, -10, -13, -20, -30, -40, -50, -54, -56, -60, -80])
def test_sines_just_below_the_middle_of_two_numbers(exponent: int, dtype: str) -> None:
    middles(exponent).check(dtype)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("exponent", [15, 20, 60, *range(90, 98)])
def test_tiny_angles_that_are_a_middle_at_frequencies_that_are_powers_of_two(
    exponent: int, dtype: str
) -> None:
    """The smaller a frequency, the fewer of its bits are known."""
    bits, smallest = FORMATS[dtype]
    odd = 2.0**bits + np.arange(1, 32, 2)  # in units of the middles
    for scale in (0, -20, -60):
        if bits - exponent + scale > smallest + bits:
            of_radians([2.0**-exponent], odd * 2.0**scale).check(dtype)


@cache
def middles_of_subnormal_numbers() -> Case:
    return of_radians([1.0], np.arange(-2047, 2048, 22) * 2.0**-25)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sines_just_below_the_middle_of_two_subnormal_numbers_of_float16(dtype: str) -> None:
    middles_of_subnormal_numbers().check(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sines_of_tiny_sums_over_axes(dtype: str) -> None:
    radians = [[1.0, -0.25, 2.0**-40], [0.3, 1.7, -3.0]]
    cells = [(1e-12, 2e-12), (2.0**-40, -(2.0**-41)), (1e-7, -3e-5), (-1e-9, 0.0), (3e-30, 5e-31)]
    exact = [reference.exact_frequencies(row) for row in radians]
    angles = [
        [sum(p * axis[pair] for p, axis in zip(cell, exact, strict=True)) for pair in range(3)]
        for cell in cells
    ]
    frequencies = rw.frequencies.from_radians(radians)
    _, sines = rw.rotary_tables(cells, frequencies=frequencies, dtype=dtype)
    assert_exact(sines, doubles([[reference.mp.sin(angle) for angle in row] for row in angles]))


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 24), ("bfloat16", 8)])
def test_a_sum_over_axes_just_above_the_middle_of_two_numbers(dtype: str, bits: int) -> None:
    frequencies = rw.frequencies.from_radians([[1.0], [1.0], [0.0]])  # the pair stands on one
    for first in np.ldexp([2**bits + 1, 2**bits + 3], -56 - bits).tolist():
        for second in (1e-50, -1e-50, 1e-47, -1e-48):
            angle = reference.mp.mpf(first) + second
            cell = [first, second, 3.0]
            table = rw.sinusoidal_encoding(cell, frequencies=frequencies, dtype=dtype)
            assert_exact(table[None, :1], doubles([[reference.mp.sin(angle)]]))


def test_tiny_angles_just_above_the_middle_of_two_numbers() -> None:
    """p (1 + a) is a middle of bfloat16 times 1 + a^3 for p = middle (1 - a + a^2)."""
    a = 2.0**-22
    middle = 1 + np.arange(1, 128, 2) / 256
    positions = middle * (1 - a + a * a) * 2.0 ** np.arange(-66.0, -50)[:, None]
    of_radians([1 + a], positions).check("bfloat16")


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_positions_near_whole_turns_of_large_frequencies(dtype: str) -> None:
    positions = (1 + 2.0**-52) * 2.0 ** -np.arange(30.0, 70)
    of_radians([TWO_PI * 2.0**n for n in range(40, 60)], positions).check(dtype)


# Shift matrices


@pytest.mark.parametrize(("base", "dim"), [(1e4, 2), (1e4, 6), (5e5, 40), (7.3, 18)])
def test_shift_matrices(base: float, dim: int) -> None:
    radians = reference.standard_frequencies(dim, base)
    for offset in [0, 1, -3, 0.5, 1e-300, 10**9, 2**53, -(2**53) + 1]:
        exact = doubles(reference.shift_matrix(offset, radians))
        assert_exact(rw.shift_matrix(offset, dim, base=base), exact)


# What was stored


def test_a_large_table_has_the_stored_hash() -> None:
    stored_table = golden("table_hash.json")
    table = rw.sinusoidal_encoding(
        range(stored_table["rows"]), stored_table["dim"], base=stored_table["base"], dtype="<f4"
    )
    assert hashlib.sha256(table.tobytes()).hexdigest() == stored_table["sha256"]


def test_the_table_of_the_core_is_what_its_script_prints() -> None:
    folder = ROOT / "cpp" / "exact"
    command = [sys.executable, str(folder / "sincos_table.py")]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    assert printed.stdout == (folder / "sincos_table.hpp").read_text()
