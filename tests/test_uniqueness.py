"""Whether encodings tell positions apart."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.data import UNIT

import ropewalk as rw
from ropewalk.frequencies import Frequencies, standard, yarn
from ropewalk.geometry._points import Squares, norms
from ropewalk.properties import (
    ClosestLag,
    ClosestRows,
    closest_lag,
    closest_rows,
    neighbour_distances,
    uniqueness_range,
)


def brute_force(table: NDArray[np.float64]) -> float:
    rows = table.tolist()
    return min(math.dist(rows[i], rows[j]) for i in range(len(rows)) for j in range(i))


def test_the_closest_rows_may_be_in_two_blocks() -> None:
    across = np.arange(1024.0)
    across[513] = 512.6
    table = np.stack([across, 100.0 * (np.arange(1024) % 2)], axis=1)
    closest = closest_rows(table)
    assert closest.rows == (511, 513)
    assert closest.distance == pytest.approx(1.6, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_the_closest_rows_are_those_of_all_pairs(seed: int) -> None:
    generator = np.random.default_rng(seed)
    shape = (int(generator.integers(2, 40)), int(generator.integers(1, 6)))
    table = generator.standard_normal(shape) * 10.0 ** generator.integers(-3, 3, shape[1])
    closest = closest_rows(table)
    first, second = closest.rows
    assert first < second
    rel = (shape[1] + 2 + 1) * UNIT["float64"]  # and the rounding of the expectation
    assert closest.distance == pytest.approx(brute_force(table), rel=rel, abs=0)
    expected = math.dist(table[first], table[second])
    assert closest.distance == pytest.approx(expected, rel=rel, abs=0)


def many_rows(kind: str) -> NDArray[np.float64]:
    """So many rows that they are met in several blocks."""
    generator = np.random.default_rng(7)
    points = generator.standard_normal((700, 3))
    if kind == "clusters far from each other":
        points[::2] += 1e9
    elif kind == "many equally near":
        points = np.argwhere(np.ones((10, 7, 10))).astype(np.float64)
    elif kind == "spread over all exponents":
        points *= 10.0 ** generator.integers(-300, 300, (700, 1))
    return points[generator.permutation(700)]


KINDS = ["near", "clusters far from each other", "many equally near", "spread over all exponents"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_closest_of_many_rows_are_the_first_found(kind: str) -> None:
    """Neighbours in the order of the widest column, then rows two apart, and so on."""
    table = many_rows(kind)
    order = np.argsort(table[:, np.ptp(table, axis=0).argmax()], kind="stable").tolist()
    rows = table[order].tolist()
    _, apart, first = min(
        (math.dist(rows[i], rows[j]), j - i, i) for j in range(len(rows)) for i in range(j)
    )
    pair = sorted((order[first], order[first + apart]))
    assert closest_rows(table).rows == tuple(pair)


@pytest.mark.parametrize("kind", KINDS)
def test_no_pair_is_passed_over_for_the_rounding_of_its_square(kind: str) -> None:
    points = many_rows(kind)
    first, second = np.triu_indices(len(points), 1)
    distances = norms(points[second] - points[first])
    squares = Squares(points)
    for distance in np.quantile(distances, [0, 0.001, 0.5, 0.999, 1], method="nearest"):
        for limit, compare in (
            (squares.at_most(distance), np.less_equal),
            (squares.at_least(distance), np.greater_equal),
        ):
            found = np.zeros((len(points), len(points)), np.bool_)
            for one, other in squares.pairs(partial(float, limit), compare):
                found[one, other] = True
            assert found[first, second][compare(distances, distance)].all()


def test_equal_rows_are_the_first_that_repeats_and_what_it_repeats() -> None:
    assert closest_rows([[5], [1], [2], [1], [5], [1]]) == ClosestRows(0.0, (1, 3))
    assert closest_rows([[2**53], [2**53 - 1]]) == ClosestRows(1.0, (0, 1))
    assert closest_rows([[0.0, 1.0], [3.0, 1.0], [-0.0, 1.0]]) == ClosestRows(0.0, (0, 2))


@pytest.mark.parametrize("large", [2**53 + 1, -(2**53) - 1, 2**63])
def test_integers_that_float64_would_round_are_refused(large: int) -> None:
    with pytest.raises(ValueError, match=rf"^table must hold .* 2\*\*53 in size, got {large}$"):
        closest_rows(np.array([[0], [large]], np.int64 if large < 2**63 else np.uint64))
    with pytest.raises(ValueError, match=rf"2\*\*53 in size, got {large}$"):
        closest_rows([[large, 0.5], [2**53, 0.5]])  # NumPy makes floats of all
    with pytest.raises(ValueError, match=rf"2\*\*53 in size, got {2**63}$"):
        closest_rows([[2**63, -1], [2**63 + 1, -1]])
    assert closest_rows([[2.0**60, 0.5], [-(2.0**60), 0.5]]) == ClosestRows(2.0**61, (0, 1))


def test_of_equally_near_pairs_the_first_found_is_returned() -> None:
    square = [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert closest_rows(square) == ClosestRows(1.0, (0, 1))
    assert closest_rows([*square, [9, 0]]) == ClosestRows(1.0, (0, 1))
    assert closest_rows([[3], [2], [1], [0]]) == ClosestRows(1.0, (2, 3))


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_distances_whose_squares_are_no_floats(size: float) -> None:
    table = np.array([[3.0, 4.0], [0.0, 0.0], [12.0, 35.0]]) * size
    closest = closest_rows(table)
    assert closest.rows == (0, 1)
    assert closest.distance == pytest.approx(5 * size, rel=1e-15, abs=0)
    np.testing.assert_allclose(neighbour_distances(table), np.array([5, 37]) * size, rtol=1e-15)


def test_what_is_too_far_apart_is_infinitely_far() -> None:
    table = [[-1e308, 0.0], [1e308, 0.0]]
    assert closest_rows(table) == ClosestRows(math.inf, (0, 1))
    np.testing.assert_array_equal(neighbour_distances(table), [math.inf])


def first_repeat(length: int, dim: int, rounded: Callable[[Any], Any]) -> tuple[int, int]:
    """The first row that repeats an earlier one, by a walk over the rows."""
    waves = [float(w) for w in reference.standard_frequencies(dim)]
    seen: dict[bytes, int] = {}
    for t in range(length):
        row = [f(t * w) for w in waves for f in (math.sin, math.cos)]
        key = (rounded(np.array(row)) + 0).tobytes()  # one zero, not two
        if key in seen:
            return seen[key], t
        seen[key] = t
    pytest.fail("all rows differ")


@pytest.mark.parametrize(
    ("rounded", "dim", "rows"),
    [
        (np.dtype(np.float16), 2, (2, 712)),
        (np.dtype(ml_dtypes.bfloat16), 2, (1, 711)),
        (np.dtype(ml_dtypes.bfloat16), 4, (7, 84830)),
        (np.dtype(np.int8), 2, (7, 340)),
        (np.dtype(np.int8), 4, (7, 13830)),
    ],
    ids=str,
)
def test_rounded_sinusoids_coincide(rounded: Any, dim: int, rows: tuple[int, int]) -> None:
    def quantised(exact: NDArray[np.float64]) -> NDArray[Any]:
        return (np.rint(127 * exact) if rounded == np.int8 else exact).astype(rounded)

    table = quantised(rw.sinusoidal_encoding(range(rows[1] + 1), dim))
    assert closest_rows(table) == ClosestRows(0.0, rows)
    assert closest_rows(table[: rows[1]]).distance > 0
    assert first_repeat(rows[1] + 1, dim, quantised) == rows


def test_float32_keeps_positions_apart() -> None:
    assert closest_rows(rw.sinusoidal_encoding(range(20000), 2, dtype=np.float32)).distance > 0


def test_binary_digits_are_unique_as_long_as_there_are_enough() -> None:
    assert closest_rows(rw.binary_encoding(range(256), 8)).distance == 1
    assert closest_rows(rw.binary_encoding(range(257), 9)[:, :8]) == ClosestRows(0.0, (0, 256))


@pytest.mark.parametrize(
    ("length", "dim", "lag"),
    [
        (10**6, 2, 312689),
        (10**6, 4, 735761),
        (700, 4, 622),
        (10**6, 8, 169646),
        (3000, 64, 1),
        (3000, 128, 1),
        (3000, 512, 1),
    ],
)
def test_the_closest_lag_has_the_distance_of_the_chord(length: int, dim: int, lag: int) -> None:
    closest = closest_lag(length, dim)
    assert closest.lag == lag
    expected = float(reference.chord(lag, reference.standard_frequencies(dim)))
    assert closest.distance == pytest.approx(expected, rel=dim * UNIT["float64"], abs=0)
    squares = np.zeros(length - 1)
    lags = np.arange(1, length)
    for frequency in reference.standard_frequencies(dim):
        squares += 4 * np.sin(lags * (float(frequency) / 2)) ** 2
    assert np.argmin(squares) == lag - 1


@pytest.mark.parametrize(
    "frequencies",
    [standard(6), standard(4, base=5.0), yarn(8, factor=4.0, trained_length=64)],
    ids=str,
)
def test_the_closest_lag_is_that_of_the_closest_rows(frequencies: Frequencies) -> None:
    closest = closest_lag(500, frequencies=frequencies)
    table = rw.sinusoidal_encoding(range(500), frequencies=frequencies)
    # Rows are rounded, 2^-53 each of their 2 dim numbers; their distance is the chord but for that.
    off = 2 * table.shape[1] ** 0.5 * UNIT["float64"]
    assert closest.distance == pytest.approx(closest_rows(table).distance, rel=0, abs=off + 1e-15)
    expected = np.linalg.norm(table[closest.lag] - table[0])
    assert closest.distance == pytest.approx(expected, rel=0, abs=off + 1e-15)


def test_lags_are_walked_through_in_blocks() -> None:
    slow = rw.frequencies.from_radians([2 * math.pi / 2**21])
    assert closest_lag(2**21, frequencies=slow).lag in {1, 2**21 - 1}  # a block has 2**20
    assert closest_lag(2**20 + 2, frequencies=rw.frequencies.from_radians([0.0])).lag == 1
    assert closest_lag(2, 4) == ClosestLag(
        float(reference.chord(1, [1, reference.mp.mpf("0.01")])), 1
    )


def test_a_pair_that_comes_back_is_not_unique() -> None:
    quarter = rw.frequencies.axial(4, axes=2, turns=True)
    assert quarter.axes == 2  # a turn a token on both axes, so no encoding tells tokens apart
    table = rw.sinusoidal_encoding(np.indices((3, 3)).reshape(2, -1).T, frequencies=quarter)
    assert closest_rows(table).distance == 0


def test_the_reach_of_the_short_proof() -> None:
    for dim, reach in {2: 1, 4: 100, 128: 8659, 512: 9646}.items():
        assert uniqueness_range(dim) == reach
        slowest = reference.standard_frequencies(dim)[-1]
        slack = reference.mp.mpf(2) ** -250
        assert reach * slowest <= 1 + slack < (reach + 1) * slowest + slack
    assert uniqueness_range(4, base=1.0) == 1
    assert uniqueness_range(6, base=1000.0) == 100
    for power in (299, 333, 510):
        assert uniqueness_range(4, base=2.0 ** (2 * power)) == 2**power
