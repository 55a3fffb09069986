"""Positions of grids are indices, or the centres of cells between -1 and 1."""

import re
from fractions import Fraction
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from tests.refusals import exactly

import ropewalk as rw
from ropewalk import grid_positions
from ropewalk.frequencies import axial

Normalise = Literal["separate", "min", "max"]
SHAPES = [(1,), (5,), (2, 3), [3, 2], (1, 7), (4, 1, 3), (2, 2, 2, 3), np.zeros((2, 5)).shape]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)


@shapes
def test_positions_are_the_indices(shape: Any) -> None:
    positions = grid_positions(shape)
    assert positions.dtype == np.int64
    assert positions.shape == (*shape, len(shape))
    for index in product(*map(range, shape)):
        assert tuple(positions[index]) == index


@shapes
@pytest.mark.parametrize("normalise", ["separate", "min", "max"])
def test_normalised_positions_are_the_centres_of_the_cells(
    shape: Any, normalise: Normalise
) -> None:
    positions = grid_positions(shape, normalise=normalise)
    assert positions.dtype == np.float64
    assert positions.shape == (*shape, len(shape))
    for index in product(*map(range, shape)):
        for axis, i in enumerate(index):
            n = {"separate": shape[axis], "min": min(shape), "max": max(shape)}[normalise]
            centre = (i + Fraction(1, 2)) / n  # from 0 to 1 (DINOv3: arange(0.5, n) / n)
            assert positions[index][axis] == float(2 * centre - 1)


def test_each_axis_covers_its_own_length() -> None:
    positions = grid_positions((3, 300), normalise="separate")
    np.testing.assert_array_equal(positions, -positions[::-1, ::-1])
    np.testing.assert_array_equal(positions.max(axis=(0, 1)), [2 / 3, 299 / 300])


def test_cells_are_square_when_one_length_holds_for_all() -> None:
    shortest, longest = (grid_positions((2, 8), normalise=n) for n in ("min", "max"))
    np.testing.assert_array_equal(np.diff(shortest[:, :, 1]), np.full((2, 7), 1.0))
    np.testing.assert_array_equal(np.diff(shortest[:, 0, 0]), [1.0])
    np.testing.assert_array_equal(np.diff(longest[:, :, 1]), np.full((2, 7), 0.25))
    np.testing.assert_array_equal(np.diff(longest[:, 0, 0]), [0.25])


def test_positions_are_an_array_of_their_own() -> None:
    positions = grid_positions((2, 3))
    assert positions.flags.owndata
    assert positions.flags.c_contiguous
    assert positions.flags.writeable


def test_frequencies_of_as_many_axes_take_them() -> None:
    frequencies = rw.frequencies.axial(16, axes=2)
    table = rw.sinusoidal_encoding(grid_positions((3, 4)), frequencies=frequencies)
    assert table.shape == (3, 4, 16)
    rows, columns = (rw.sinusoidal_encoding(range(n), 8) for n in (3, 4))
    np.testing.assert_array_equal(table[..., :8], np.broadcast_to(rows[:, None], (3, 4, 8)))
    np.testing.assert_array_equal(table[..., 8:], np.broadcast_to(columns, (3, 4, 8)))


@pytest.mark.parametrize("length", [0, -1, 2**53 + 1, 2**70], ids=str)
def test_lengths_must_be_positive(length: int) -> None:
    message = f"^each length of shape must be an integer from 1 to 9007199254740992, got {length}$"
    with pytest.raises(ValueError, match=message):
        grid_positions((2, length))


@pytest.mark.parametrize("shape", [(), [], (1,) * 64], ids=["none", "none listed", "64"])
def test_a_grid_has_1_to_63_axes(shape: Any) -> None:
    with pytest.raises(ValueError, match=f"^shape must have 1 to 63 axes, got {len(shape)}$"):
        grid_positions(shape)


def test_63_axes_are_taken() -> None:
    assert grid_positions((1,) * 63).shape == (*(1,) * 63, 63)


@pytest.mark.parametrize(
    "shape", [3, 3.0, None, {2, 3}, np.array(3), rw.frequencies.standard(4)], ids=repr
)
def test_a_shape_must_be_a_sequence(shape: Any) -> None:
    message = f"shape must be a sequence of integers, got {shape!r}"
    with pytest.raises(TypeError, match=exactly(message)):
        grid_positions(shape)


def test_a_shape_may_be_an_array() -> None:
    np.testing.assert_array_equal(grid_positions(np.array([2, 3])), grid_positions((2, 3)))


@pytest.mark.parametrize("length", [2.0, "2", None], ids=repr)
def test_lengths_must_be_integers(length: Any) -> None:
    with pytest.raises(
        TypeError, match=f"^each length of shape must be an integer, got {length!r}$"
    ):
        grid_positions((2, length))


@pytest.mark.parametrize("normalise", ["mean", "", True, 1], ids=repr)
def test_normalise_must_be_one_of_three(normalise: Any) -> None:
    message = f"normalise must be one of 'separate', 'min', 'max', got {normalise!r}"
    with pytest.raises(ValueError, match=exactly(message)):
        grid_positions((2, 3), normalise=normalise)


def test_a_grid_beyond_all_memory_is_refused() -> None:
    with pytest.raises(
        ValueError, match=re.escape("a result of shape (9007199254740992, 1024, 2)")
    ):
        grid_positions((2**53, 2**10))


def test_there_may_be_so_many_sections() -> None:
    assert axial(128, sections=[1] * 64).axes == 64


def test_layouts_and_axes_beside_sections() -> None:
    axes: Any = 2.0
    with pytest.raises(TypeError, match=r"^axes must be an integer, got 2\.0$"):
        axial(8, axes=axes, sections=[2, 2])
    with pytest.raises(ValueError, match=r"^sections"):
        axial(8, sections=[2, 2], layout="alternating")
