"""What encodings keep as positions move on, and what depends on the length."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.data import UNIT

import ropewalk as rw
from ropewalk.frequencies import Frequencies, axial, linear, mixed, ntk, standard, yarn
from ropewalk.properties import (
    Measurement,
    closest_rows,
    fitted_shift,
    kept_norm,
    length_independence,
    neighbour_distances,
    relative_score,
    signal_to_noise,
    unseen_pairs,
    unseen_phase,
)


def normal(*shape: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(shape)


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
    assert fitted.matrix.flags.c_contiguous
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


@pytest.mark.parametrize("size", [1e11, 1e-14, 1e300, 1e-300])
def test_an_affine_map_moves_integers_of_any_size(size: float) -> None:
    table = rw.integer_encoding(range(256), 4) * size
    assert fitted_shift(table, affine=True).residual < 1e-10 * size


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
    assert kept_norm(np.ones((1, 2)), np.ones((1, 2), np.float32)).bound == 8 * 2.0**-24
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
    assert measured.bound == 16 * UNIT["float64"]


# Of all that were drawn these were furthest apart.
def test_scores_of_rotated_pairs_differ_by_no_more_than_roundings_explain() -> None:
    rng = np.random.default_rng(396)
    q, k = (rng.standard_normal((1, 2)) for _ in range(2))

    def score(at: NDArray[Any]) -> Any:
        a, b = (rw.rotate(np.repeat(x, len(at), 0), at) for x in (q, k))
        return a[:, :1] * b[:, 0] + a[:, 1:] * b[:, 1]  # no BLAS, which may fuse the first product

    scale = float(np.linalg.norm(q) * np.linalg.norm(k))
    measured = relative_score(score, np.arange(200), shift=1000, scale=scale)
    assert measured.holds
    assert measured.value > 6 * UNIT["float64"]


def test_scores_may_be_integers() -> None:
    found = relative_score(lambda at: at * at, np.arange(3), shift=2, scale=4.0)
    assert found == Measurement(3.0, 16 * 2.0**-53)  # 4 * 4 - 2 * 2, over 4
    assert relative_score(lambda at: at.tolist(), [1], shift=2, scale=4.0).value == 0.5


def test_a_score_may_work_in_place() -> None:
    positions = np.arange(3.0)
    found = relative_score(lambda at: np.square(at, out=at), positions, shift=2, scale=4.0)
    assert found.value == 3  # 4 ** 2 - 2 ** 2, over 4
    np.testing.assert_array_equal(positions, [0, 1, 2])


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8"])
def test_positions_come_as_they_are_and_shifted(dtype: str) -> None:
    seen = []

    def score(at: NDArray[Any]) -> NDArray[np.float64]:
        seen.append(at)
        return np.array([float(at.sum())])

    positions, shift = np.array([1, 127], dtype), np.array(127, dtype)
    found = relative_score(score, positions, shift=shift, scale=4.0)
    assert found == Measurement(2 * 127 / 4, 16 * UNIT["float64"])
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
    assert np.square(jumps).mean() == pytest.approx(502 / 255, rel=1e-15)  # 1.9686
    step = float(reference.chord(1, reference.standard_frequencies(8)))
    np.testing.assert_allclose(neighbour_distances(RUNGS["sinusoidal"]), step, rtol=1e-14)


def test_an_integer_drowns_the_embedding() -> None:
    embedding = 0.02 * normal(4096)
    measured = signal_to_noise(embedding, rw.integer_encoding(252, 4096))
    assert measured == pytest.approx(20 * math.log10(0.02 / 252), abs=0.2)  # -82.0
    assert signal_to_noise([1, 1], [10, 10]) == -20
    assert signal_to_noise([1e200], [1e-200]) == pytest.approx(8000, rel=1e-14)
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


def test_norms_are_those_of_as_many_rows_of_some_length() -> None:
    with pytest.raises(ValueError, match="shape"):
        kept_norm(np.ones((2, 4)), np.ones((1, 4)))
    x = np.array([[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="got a row of length 0"):
        kept_norm(x, x)
