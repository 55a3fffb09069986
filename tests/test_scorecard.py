"""Properties of positions: single measurements, their negative controls, and the scorecard."""

import itertools
import math
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference

import ropewalk as rw
from ropewalk.frequencies import Frequencies, axial, linear, mixed, ntk, standard, yarn
from ropewalk.geometry._points import Squares, norms
from ropewalk.properties import (
    ClosestLag,
    ClosestRows,
    Measurement,
    Scorecard,
    closest_lag,
    closest_rows,
    fitted_shift,
    kept_norm,
    length_independence,
    neighbour_distances,
    relative_score,
    scorecard,
    signal_to_noise,
    uniqueness_range,
    unseen_pairs,
    unseen_phase,
)
from ropewalk.properties._scorecard import _deterministic, _Encoding

U = 2.0**-53


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


def normal(*shape: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(shape)


# Uniqueness


def brute_force(table: NDArray[np.float64]) -> float:
    rows = table.tolist()
    return min(math.dist(rows[i], rows[j]) for i in range(len(rows)) for j in range(i))


@pytest.mark.parametrize("seed", range(20))
def test_the_closest_rows_are_those_of_all_pairs(seed: int) -> None:
    generator = np.random.default_rng(seed)
    shape = (int(generator.integers(2, 40)), int(generator.integers(1, 6)))
    table = generator.standard_normal(shape) * 10.0 ** generator.integers(-3, 3, shape[1])
    closest = closest_rows(table)
    first, second = closest.rows
    assert first < second
    assert closest.distance == pytest.approx(brute_force(table), rel=1e-14)
    assert closest.distance == pytest.approx(math.dist(table[first], table[second]), rel=1e-14)


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
    assert closest_rows([[0.0, 1.0], [3.0, 1.0], [-0.0, 1.0]]) == ClosestRows(0.0, (0, 2))


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
    assert closest.distance == pytest.approx(expected, rel=dim * U)


@pytest.mark.parametrize(
    "frequencies",
    [standard(6), standard(4, base=5.0), yarn(8, factor=4.0, trained_length=64)],
    ids=str,
)
def test_the_closest_lag_is_that_of_the_closest_rows(frequencies: Frequencies) -> None:
    closest = closest_lag(500, frequencies=frequencies)
    table = rw.sinusoidal_encoding(range(500), frequencies=frequencies)
    assert closest.distance == pytest.approx(closest_rows(table).distance, rel=1e-9)
    assert closest.distance == pytest.approx(np.linalg.norm(table[closest.lag] - table[0]))


def test_lags_are_walked_through_in_blocks() -> None:
    slow = rw.frequencies.from_radians([2 * math.pi / 2**21])
    assert closest_lag(2**21, frequencies=slow).lag in {1, 2**21 - 1}  # a block has 2**20
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


# Linear in the shift

RUNGS = {
    "sinusoidal": rw.sinusoidal_encoding(range(256), 8),
    "integer": rw.integer_encoding(range(256), 8),
    "normalised": rw.integer_encoding(range(256), 8, length=256),
    "binary": rw.binary_encoding(range(256), 8),
}


@pytest.mark.parametrize("shift", [1, 7, 100])
def test_the_fitted_matrix_of_the_sinusoid_is_the_shift_matrix(shift: int) -> None:
    fitted = fitted_shift(RUNGS["sinusoidal"], shift)
    expected = reference.shift_matrix(shift, reference.standard_frequencies(8))
    np.testing.assert_allclose(fitted.matrix, np.array(expected, float), rtol=0, atol=1e-11)
    assert fitted.residual < 1e-13
    np.testing.assert_array_equal(fitted.offset, np.zeros(8))


def test_no_matrix_moves_zero() -> None:
    # One column t is fitted by t + 1 = a t with a = sum t (t + 1) / sum t^2, worst at 0.
    assert fitted_shift(RUNGS["integer"]).residual == pytest.approx(1.0, rel=1e-12)
    assert fitted_shift(RUNGS["normalised"]).residual == pytest.approx(1 / 256, rel=1e-12)
    assert fitted_shift(RUNGS["binary"]).residual >= 1  # f(0) = 0 and f(1) has a one


def test_an_affine_map_moves_integers_and_no_digits() -> None:
    for name in ("integer", "normalised"):
        fitted = fitted_shift(RUNGS[name], affine=True)
        assert fitted.residual < 1e-11
        moved = RUNGS[name][:-1] @ fitted.matrix.T + fitted.offset
        np.testing.assert_allclose(moved, RUNGS[name][1:], rtol=0, atol=1e-11)
    assert fitted_shift(RUNGS["binary"], affine=True).residual > 0.9


# Norms, and what is relative

PLACED: dict[str, Callable[[NDArray[Any], Any], NDArray[Any]]] = {
    "rotated": rw.rotate,
    "added": lambda x, at: x + rw.sinusoidal_encoding(at, x.shape[-1]),
    "angles in float32": lambda x, at: rw.rotate_by(
        x, *rw.rotary_tables(at, x.shape[-1], angles="float32")
    ),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("dim", [2, 64, 128])
def test_a_rotation_keeps_the_norm(dim: int, dtype: Any) -> None:
    x = normal(1000, dim).astype(dtype)
    measured = kept_norm(x, rw.rotate(x, np.arange(1000) * 10**6))
    unit = float(np.finfo(dtype).eps) / 2
    assert measured.holds
    assert measured.bound == 8 * unit
    if dim == 128:
        assert measured.value <= 2 * unit
    assert not kept_norm(x, x + rw.sinusoidal_encoding(range(1000), dim)).holds


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1.7e308])
def test_norms_whose_squares_are_no_floats(size: float) -> None:
    x = np.full((2, 9), size)
    assert kept_norm(x, -x).value == 0
    assert kept_norm(x, x / [[1], [np.inf]]).value == 1
    assert kept_norm(np.full((1, 4), 1e-300), np.full((1, 4), 1e300)).value == math.inf


def test_the_change_of_a_norm_is_a_share_of_it() -> None:
    assert kept_norm([[3.0, 4.0], [0.0, 2.0]], [[3.0, 4.0], [0.0, 1.0]]).value == 0.5


def moved(name: str, shift: int, dim: int = 128) -> Measurement:
    q, k = normal(2, 64, dim)
    place = PLACED[name]
    return relative_score(
        lambda at: place(q, at) @ place(k, at).T,
        np.arange(64),
        shift=shift,
        scale=np.linalg.norm(q, axis=1).max() * np.linalg.norm(k, axis=1).max(),
    )


@pytest.mark.parametrize("shift", [1, 1000, 10**6, 2**31])
def test_scores_of_rotated_vectors_are_relative(shift: int) -> None:
    measured = moved("rotated", shift)
    assert measured.holds
    assert measured.bound == 6 * U


def test_scores_may_be_integers() -> None:
    found = relative_score(lambda at: at * at, np.arange(3), shift=2, scale=4.0)
    assert found == Measurement(3.0, 6 * 2.0**-53)  # 4 * 4 - 2 * 2, over 4
    assert relative_score(lambda at: at.tolist(), [1], shift=2, scale=4.0).value == 0.5


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8"])
def test_positions_come_as_they_are_and_shifted(dtype: str) -> None:
    seen = []

    def score(at: NDArray[Any]) -> NDArray[np.float64]:
        seen.append(at)
        return np.array([float(at.sum())])

    positions, shift = np.array([1, 127], dtype), np.array(127, dtype)
    found = relative_score(score, positions, shift=shift, scale=4.0)
    assert found == Measurement(2 * 127 / 4, 6 * U)
    assert [at.tolist() for at in seen] == [[1, 127], [128, 254]]
    assert all(at.dtype == np.int64 for at in seen)


def test_scores_of_added_positions_and_of_rounded_angles_are_not() -> None:
    assert moved("added", 1000).value > 0.01
    assert 1e-3 < moved("angles in float32", 10**6).value < 4e-3


def grid_score(place: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]) -> Measurement:
    cells = rw.grid_positions((5, 5)).reshape(-1, 2)
    q, k = normal(2, 25, 8)
    return relative_score(
        lambda at: place(q, at) @ place(k, at).T,
        cells,
        shift=[1000, -70],
        scale=np.linalg.norm(q, axis=1).max() * np.linalg.norm(k, axis=1).max(),
    )


@pytest.mark.parametrize("frequencies", [axial(8), mixed(8, directions=[0.3, 1.1])], ids=str)
def test_commuting_rotations_are_relative_on_a_grid(frequencies: Frequencies) -> None:
    assert grid_score(lambda x, at: rw.rotate(x, at, frequencies=frequencies)).holds


def test_generators_that_do_not_commute_are_not_relative() -> None:
    one, other = (a - a.T for a in normal(2, 8, 8))
    assert np.abs(one @ other - other @ one).max() > 1

    def place(x: NDArray[Any], at: NDArray[Any]) -> NDArray[Any]:
        generators = (0.1 * (at @ [one.ravel(), other.ravel()])).reshape(-1, 8, 8)
        angles, axes = np.linalg.eigh(-1j * generators)  # exp(A) = V exp(i angle) V*
        turned = (axes * np.exp(1j * angles)[:, None]) @ axes.conj().swapaxes(1, 2)
        rows: NDArray[Any] = (turned.real @ x[..., None])[..., 0]
        return rows

    assert kept_norm(normal(25, 8), place(normal(25, 8), normal(25, 2))).value < 1e-13
    assert grid_score(place).value > 0.01


def test_one_shared_angle_takes_two_cells_for_one() -> None:
    cells = rw.grid_positions((4, 4)).reshape(-1, 2)
    table = rw.sinusoidal_encoding(cells.sum(axis=1), 64)
    assert closest_rows(table).distance == 0
    np.testing.assert_array_equal(table[4 * 1 + 2], table[4 * 2 + 1])
    assert closest_rows(rw.sinusoidal_encoding(cells, frequencies=axial(64))).distance > 1


# Lengths, steps, loudness


def test_only_the_normalised_encoding_depends_on_the_length() -> None:
    def normalised(length: int) -> NDArray[np.float64]:
        return rw.integer_encoding(range(length), 2, length=length)

    assert length_independence(normalised, 10, 10000) == Measurement(0.9 - 9 / 10000, 0.0)
    same = [
        lambda length: rw.integer_encoding(range(length), 8),
        lambda length: rw.binary_encoding(range(length), 16),
        lambda length: rw.sinusoidal_encoding(range(length), 8),
    ]
    for encode in same:
        assert length_independence(encode, 10, 10000) == Measurement(0.0, 0.0)


def test_digits_jump_where_waves_step() -> None:
    jumps = neighbour_distances(RUNGS["binary"])
    flips = [(t ^ (t + 1)).bit_count() for t in range(255)]
    np.testing.assert_allclose(jumps, np.sqrt(flips), rtol=1e-15)
    assert jumps.max() == math.sqrt(8)
    assert np.square(jumps).mean() == pytest.approx(502 / 255)  # 1.9686
    step = float(reference.chord(1, reference.standard_frequencies(8)))
    np.testing.assert_allclose(neighbour_distances(RUNGS["sinusoidal"]), step, rtol=1e-14)


def test_an_integer_drowns_the_embedding() -> None:
    embedding = 0.02 * normal(4096)
    measured = signal_to_noise(embedding, rw.integer_encoding(252, 4096))
    assert measured == pytest.approx(20 * math.log10(0.02 / 252), abs=0.2)  # -82.0
    assert signal_to_noise([1, 1], [10, 10]) == -20
    assert signal_to_noise([1e200], [1e-200]) == pytest.approx(8000)
    least = 20 * math.log10(5e-324) - 10 * math.log10(5)
    assert signal_to_noise([5e-324, 0, 0, 0, 0], [1.0]) == pytest.approx(least, rel=1e-15)


def test_pairs_that_never_complete_a_turn() -> None:
    expected = [
        i
        for i, w in enumerate(reference.standard_frequencies(128))
        if reference.wavelength(w) > 4096
    ]
    assert len(expected) == 18
    np.testing.assert_array_equal(unseen_pairs(4096, 128), expected)
    assert unseen_pairs(10**6, 128).size == 0


def test_schedules_that_stretch_leave_fewer_angles_unseen() -> None:
    trained = standard(128)
    waves = [float(reference.wavelength(w)) for w in reference.standard_frequencies(128)]
    reach = [(min(1, 16384 / wave), min(1, 4096 / wave)) for wave in waves]
    expected = [(now - then) / now for now, then in reach]
    found = unseen_phase(128, trained_length=4096, length=16384)
    np.testing.assert_allclose(found, np.array(expected), rtol=0, atol=1e-14)

    def unseen(frequencies: Frequencies) -> float:
        shares = unseen_phase(
            frequencies=frequencies, trained=trained, trained_length=4096, length=16384
        )
        return float(shares.mean())

    assert unseen(linear(128, factor=4.0)) == 0
    assert unseen(yarn(128, factor=4.0, trained_length=4096)) < 1e-15
    assert 0.01 < unseen(ntk(128, factor=4.0)) < 0.1 < unseen(trained)


def test_the_same_length_has_nothing_new() -> None:
    still = rw.frequencies.proportional(16, fraction=0.5)
    shares = unseen_phase(frequencies=still, trained_length=100, length=100)
    np.testing.assert_array_equal(shares, np.zeros(8))
    assert unseen_phase(16, trained_length=100, length=50).max() == 0


# The scorecard

LENGTH, DIM = 1024, 32


def test_values_that_change_with_the_threads_are_counted() -> None:
    def threads(at: Any, _: int) -> NDArray[np.float64]:
        return np.full((len(at), 2), float(rw.get_num_threads()))

    with rw.num_threads(2):
        assert _deterministic(_Encoding("threads", threads, lambda x, *_: x), 2, 8) == 16


@pytest.fixture(scope="module")
def card() -> Scorecard:
    return scorecard(DIM, length=LENGTH)


def test_the_scorecard_is_measured_in_less_than_five_seconds() -> None:
    before = time.process_time()
    scorecard()
    assert time.process_time() - before < 5 * max(1, rw.get_num_threads())


# Y holds, n does not, - is not defined: in the order of the properties.
HOLDS = {
    "integer": "Y n Y Y n n n Y Y n n",
    "normalised": "Y Y Y n n n Y Y Y n n",
    "binary": "Y Y Y Y n n n Y n n n",
    "sinusoidal": "Y Y Y Y Y n n Y Y n n",
    "RoPE": "Y Y Y Y Y Y n Y Y Y n",
    "ALiBi": "Y n Y Y n Y Y - Y Y Y",
}


@pytest.mark.parametrize("encoding", HOLDS)
def test_what_holds_is_what_theory_says(card: Scorecard, encoding: str) -> None:
    signs = {True: "Y", False: "n", None: "-"}
    found = [signs[card[encoding, wanted].holds] for wanted in card.properties]
    assert " ".join(found) == HOLDS[encoding]


def share_of_rises(scores: list[list[int]]) -> float:
    rises = 0
    for i, row in enumerate(scores):
        rises += sum(row[j + 1] > row[j] for j in range(i, len(row) - 1))
        rises += sum(row[j - 1] > row[j] for j in range(i, 0, -1))
    return rises / (len(scores) * (len(scores) - 1))


def values(length: int, dim: int) -> dict[tuple[str, str], float]:
    """Numbers that follow from the definitions, without the library."""
    both = [[(i & j).bit_count() for j in range(length)] for i in range(length)]
    slopes = [float(slope) for slope in reference.alibi_slopes(8)]
    waves = [float(w) for w in reference.standard_frequencies(dim)]
    far = [
        sum(math.exp(-slope * t) for t in range(length, 4 * length))
        / sum(math.exp(-slope * t) for t in range(4 * length))
        for slope in slopes
    ]
    new = 0
    for wave, turn in itertools.product(waves, (math.sin, math.cos)):
        row = [turn(t * wave) for t in range(4 * length)]
        low, high = min(row[:length]), max(row[:length])
        new += sum(not low <= value <= high for value in row[length:])
    step = min(
        math.sqrt(sum(4 * math.sin(lag * wave / 2) ** 2 for wave in waves))
        for lag in range(1, length)
    )
    return {
        ("integer", "unique"): math.sqrt(dim),
        ("normalised", "unique"): math.sqrt(dim) / length,
        ("binary", "unique"): 1,
        ("sinusoidal", "unique"): step,
        ("RoPE", "unique"): step,
        ("ALiBi", "unique"): math.hypot(*slopes),
        ("integer", "bounded"): length - 1,
        ("normalised", "bounded"): 1 - 1 / length,
        ("binary", "bounded"): 1,
        ("sinusoidal", "bounded"): 1,
        ("ALiBi", "bounded"): slopes[0] * (length - 1),
        ("normalised", "independent of length"): 0.75 * (1 - 1 / length),
        ("integer", "linear in the shift"): 1,
        ("normalised", "linear in the shift"): 1 / length,
        ("ALiBi", "linear in the shift"): slopes[0],
        ("integer", "generalises to longer"): 1,
        ("normalised", "generalises to longer"): 1 / length,  # three of the last positions
        ("binary", "generalises to longer"): 2 * (2 / 3) / dim,  # two digits, 1 in two of three
        ("sinusoidal", "generalises to longer"): new / (dim * 3 * length),
        ("ALiBi", "generalises to longer"): sum(far) / len(far),
        ("integer", "N-D"): math.sqrt(dim),
        ("normalised", "N-D"): math.sqrt(dim) / 16,
        ("binary", "N-D"): 1,
        ("RoPE", "N-D"): step,
        ("integer", "smooth"): 1,
        ("binary", "smooth"): math.sqrt(math.log2(length)),
        ("sinusoidal", "smooth"): 1,
        ("ALiBi", "smooth"): 1,
        ("ALiBi", "keeps the norm"): 0,
        ("integer", "decays with distance"): (length - 2) / (2 * length),  # rises upwards
        ("binary", "decays with distance"): share_of_rises(both),
        ("ALiBi", "decays with distance"): 0,
    }


def test_the_numbers_follow_from_the_definitions(card: Scorecard) -> None:
    expected = values(LENGTH, DIM)
    found = {names: card[names].value for names in expected}
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_numbers_that_hold_are_far_from_those_that_do_not(card: Scorecard) -> None:
    for wanted in ("linear in the shift", "relative only", "keeps the norm"):
        for encoding in card.encodings:
            cell = card[encoding, wanted]
            assert cell.value is not None
            assert cell.value < 1e-11 if cell.holds else cell.value > 1e-4


def test_vectors_of_rope_turn_and_are_rounded(card: Scorecard) -> None:
    for wanted in ("relative only", "keeps the norm"):
        value = card["RoPE", wanted].value
        assert value is not None
        assert 0 < value < 16 * U


def test_the_scorecard_is_markdown(card: Scorecard) -> None:
    lines = str(card).splitlines()
    assert lines[0].startswith("| encoding | unique | bounded | ")
    assert lines[1] == "| " + " | ".join(["---"] * 12) + " |"
    assert lines[2].startswith("| integer | ✓ 5.66 | ✗ 1023 | ✓ 0 | ")
    assert lines[7].split(" | ")[8] == "not defined"
    assert lines[8] == ""
    assert lines[9] == "- unique: smallest distance between two positions; above 0"
    assert sum(line.startswith("- N-D (ALiBi): not defined: its bias takes") for line in lines) == 1


def test_the_scorecard_is_a_table_of_a_notebook(card: Scorecard) -> None:
    html = card._repr_html_()
    assert html.count("<tr>") == 7
    assert html.count("<td") == 66
    assert '<td title="largest absolute value; at most 1">✗ 1023</td>' in html
    assert html.count(">not defined</td>") == 1


def test_the_scorecard_speaks_japanese() -> None:
    english, japanese = scorecard(32, length=128), scorecard(32, length=128, lang="ja")
    assert str(japanese).startswith("| 位置符号 | 一意 | 有界 | ")
    assert "| 定義なし |" in str(japanese)
    for one, other in zip(english.cells, japanese.cells, strict=True):
        assert [cell.value for cell in one] == [cell.value for cell in other]
        for cell in other:
            assert re.search("[ぁ-ん]", cell.note)
    assert japanese["RoPE", "keeps the norm"].holds


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "✓ 0"),
        (1.0, "✓ 1"),
        (1023.4, "✓ 1023"),
        (0.000976, "✓ 0.000976"),
        (8.456e5, "✓ 8.46e5"),
        (2.22e-16, "✓ 2.22e-16"),
        (2.22e-6, "✓ 2.22e-6"),
    ],
)
def test_a_cell_is_short(value: float, text: str) -> None:
    assert str(rw.properties.Cell(value, True, "")) == text


# Refusals


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: closest_rows([[1.0]]), "table must have two rows or more, got shape (1, 1)"),
        (
            lambda: closest_rows([1.0, 2.0]),
            "table must have shape (positions, dim) and not be empty, got (2,)",
        ),
        (lambda: closest_rows([[1.0], [math.nan]]), "table must be finite, got nan"),
        (
            lambda: closest_rows(np.array([[1], [np.inf]], ml_dtypes.bfloat16)),
            "table must be finite, got inf",
        ),
        (lambda: closest_lag(1, 4), "length must be an integer from 2 to 2**32, got 1"),
        (
            lambda: closest_lag(2**53, 4),
            "length must be an integer from 2 to 2**32, got 9007199254740992",
        ),
        (
            lambda: closest_lag(9, frequencies=axial(8)),
            "frequencies must have one axis, got 2",
        ),
        (
            lambda: uniqueness_range(4, base=0.5),
            "base must be at least 1, so that the last pair is the slowest, got 0.5",
        ),
        (lambda: uniqueness_range(7), "dim must be an even integer from 2 to 1048576, got 7"),
        (lambda: signal_to_noise([0.0], [1.0]), "signal must not be 0 everywhere"),
        (lambda: signal_to_noise([1.0], [0.0]), "noise must not be 0 everywhere"),
        (
            lambda: fitted_shift([[1.0], [2.0]], 2),
            "shift must be from 1 to 1, below the rows of table, got 2",
        ),
        (
            lambda: fitted_shift([[1.0], [2.0]], 0),
            "shift must be from 1 to 1, below the rows of table, got 0",
        ),
        (lambda: fitted_shift([[1.0, 2.0]]), "table must have two rows or more, got shape (1, 2)"),
        (
            lambda: relative_score(lambda _: 1.0, [1.0], shift=1, scale=1.0),  # type: ignore[arg-type, return-value]
            "score(positions) must have at least one dimension, got a number",
        ),
        (
            lambda: relative_score(lambda at: at * [np.inf], [1.0], shift=1, scale=1.0),
            "score(positions) must be finite, got inf",
        ),
        (
            lambda: kept_norm([[1.0]], [[1.0, 2.0]]),
            "placed must have the shape of x, (1, 1), got (1, 2)",
        ),
        (lambda: kept_norm([[0.0]], [[1.0]]), "x must not be zero, got a row of length 0"),
        (
            lambda: length_independence(lambda _: np.ones((3, 1)), 2, 3),
            "encode must return a row a position, 2, got shape (3, 1)",
        ),
        (
            lambda: length_independence(lambda n: np.ones((n, n)), 2, 3),
            "encode must return tables of one width, got 2 and 3 columns",
        ),
        (
            lambda: length_independence(lambda n: np.ones((n, 1)), 3, 2),
            "longer must be at least the length 3, got 2",
        ),
        (
            lambda: relative_score(lambda at: at, [1.0], shift=1, scale=0.0),
            "scale must be positive and finite, got 0.0",
        ),
        (
            lambda: relative_score(lambda at: at, [], shift=1, scale=1.0),
            "positions must not be empty, got shape (0,)",
        ),
        (
            lambda: relative_score(lambda at: at, [1.0], shift=math.inf, scale=1.0),
            "shift must be finite and at most 2**53 in size, got inf",
        ),
        (
            lambda: relative_score(lambda at: at, [2**62], shift=2**62, scale=1.0),
            "positions must be finite and at most 2**53 in size, got 4611686018427387904",
        ),
        (
            lambda: relative_score(lambda at: at, [1, 2**53], shift=1, scale=1.0),
            "positions + shift must be finite and at most 2**53 in size, got 9007199254740993",
        ),
        (
            lambda: relative_score(lambda at: at, np.ones((4, 2)), shift=[1, 2, 3], scale=1.0),
            "shift must broadcast to positions, (4, 2), got shape (3,)",
        ),
        (
            lambda: relative_score(lambda at: np.ones(1 + int(at[0])), [1], shift=1, scale=1.0),
            "score(positions + shift) must have the shape of score(positions), (2,), got (3,)",
        ),
        (
            lambda: unseen_pairs(0, 4),
            "length must be an integer from 1 to 9007199254740992, got 0",
        ),
        (
            lambda: unseen_phase(4, trained=standard(6), trained_length=1, length=1),
            "dim must be 6, twice the pairs of frequencies, got 4",
        ),
        (lambda: scorecard(30), "dim must be an even integer from 32 to 128, got 30"),
        (lambda: scorecard(7), "dim must be an even integer from 32 to 128, got 7"),
        (lambda: scorecard(33), "dim must be an even integer from 32 to 128, got 33"),
        (
            lambda: scorecard(length=255),
            "length must be an integer from 256 to 2048 where dim is 64, got 255",
        ),
        (lambda: scorecard(lang="fr"), "lang must be one of 'en', 'ja', got 'fr'"),  # type: ignore[arg-type]
    ],
)
def test_wrong_values_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=exactly(message)):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: closest_lag(9.0, 4), "length must be an integer, got 9.0"),  # type: ignore[arg-type]
        (lambda: closest_lag(9), "dim must be given where frequencies is not"),
        (
            lambda: fitted_shift([[1.0], [2.0]], affine=1),  # type: ignore[arg-type]
            "affine must be True or False, got 1",
        ),
        (
            lambda: closest_rows([[True], [False]]),
            "table must be integers, float64, float32, float16 or bfloat16, got dtype bool",
        ),
        (
            lambda: signal_to_noise(["a"], [1.0]),
            "signal must be integers, float64, float32 or float16, got dtype <U1",
        ),
        (lambda: scorecard(64.0), "dim must be an integer, got 64.0"),  # type: ignore[arg-type]
    ],
)
def test_wrong_types_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=exactly(message)):
        call()


def test_an_unknown_cell_is_refused(card: Scorecard) -> None:
    with pytest.raises(ValueError, match=r"^encoding must be one of 'integer', .*, got 'rope'$"):
        card["rope", "unique"]
    with pytest.raises(ValueError, match=r"^property must be one of 'unique', .*, got 'nice'$"):
        card["RoPE", "nice"]
    message = "a cell must be named by a pair (encoding, property), got ('RoPE',)"
    with pytest.raises(ValueError, match=exactly(message)):
        card[("RoPE",)]  # type: ignore[index]
    message = "a cell must be named by a pair (encoding, property), got 'RoPE'"
    with pytest.raises(TypeError, match=exactly(message)):
        card["RoPE"]  # type: ignore[index]
