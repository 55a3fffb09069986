"""Rotary position embedding: what it is for, and what goes wrong without."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.data import DTYPES, LARGEST, UNIT, assert_same_bits, dtypes, pairings, rows
from tests.test_rotary import SCHEDULES, UNITS_OFF, YARN, pairs_of, with_factor

import ropewalk as rw
from ropewalk._options import Pairing
from ropewalk.frequencies import Frequencies


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


@pairings
@pytest.mark.parametrize(
    ("offset", "options"),
    [
        (5, {"base": 500.0, "rotary_dim": 12}),
        ([[3], [-7]], {"base": 500.0, "rotary_dim": 12}),
        (np.arange(12).reshape(2, 6), {}),
        ([4, -9], {"frequencies": rw.frequencies.axial(20, axes=2)}),
        (np.arange(12).reshape(6, 2), {"frequencies": rw.frequencies.axial(20, axes=2)}),
    ],
    ids=["a number", "one a head", "one a row", "one an axis", "one a row and axis"],
)
def test_moving_rows_takes_what_rotation_takes(
    pairing: Pairing, offset: Any, options: dict[str, Any]
) -> None:
    x = rows((2, 6, 20))
    expected = rw.rotate(x, offset, pairing=pairing, **options)
    assert_same_bits(rw.rerotate(x, offset, pairing=pairing, **options), expected)
    out = np.empty_like(x)
    assert rw.rerotate(x, offset, pairing=pairing, **options, out=out) is out
    assert_same_bits(out, expected)


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


@dtypes
@pairings
def test_position_0_turns_nothing_either_way(pairing: Pairing, dtype: str) -> None:
    x = np.array([[-0.0, 1.0, 2.0, -0.0], [0.0, -0.0, -3.0, 0.0]]).astype(DTYPES[dtype])
    expected = rw.rotate(x, 0, pairing=pairing)
    assert_same_bits(rw.rotate(x, 0, pairing=pairing, inverse=True), expected)
    assert_same_bits(rw.rotate(x[:1], range(1), pairing=pairing, inverse=True), expected[:1])


@pairings
def test_matrices_of_position_0_have_no_negative_zero(pairing: Pairing) -> None:
    for matrix in (
        rw.rotation_matrix([0, 1], 6, pairing=pairing)[0],
        rw.rotation_blocks(0, 6),
        rw.shift_matrix(0, 6),
    ):
        assert not np.signbit(matrix).any()


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
