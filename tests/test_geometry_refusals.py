"""What the geometry of points refuses, and what it says of it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.refusals import exactly

from ropewalk import geometry
from ropewalk.geometry import (
    area,
    convex_hull,
    diameter,
    distance_to_hull,
    dobrushin,
    iterate_attention,
    perimeter,
    principal_plane,
    projection,
    scalar_projection,
    width,
)

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])

# What an argument is called, and a call with it.
OF_THE_PLANE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "convex_hull": ("points", convex_hull),
    "area": ("polygon", area),
    "distance_to_hull": ("points", lambda points: distance_to_hull(points, SQUARE)),
    "distance to a hull": ("hull_points", lambda points: distance_to_hull(SQUARE, points)),
}
EVERY = OF_THE_PLANE | {
    "diameter": ("points", diameter),
    "perimeter": ("polygon", perimeter),
    "dobrushin": ("weights", dobrushin),
    "width": ("points", lambda points: width(points, [1, 0])),
    "principal_plane": ("points", principal_plane),
    "iterate_attention": ("points", lambda points: iterate_attention(points, 1)),
}
every = pytest.mark.parametrize("call", EVERY)


@every
@pytest.mark.parametrize("shape", [(0,), (2,), (1, 0), (0, 2), (2, 2, 2)])
def test_points_have_two_dimensions(call: str, shape: tuple[int, ...]) -> None:
    name, function = EVERY[call]
    message = f"{name} must have two dimensions and not be empty, got shape {shape}"
    with pytest.raises(ValueError, match=exactly(message)):
        function(np.ones(shape))


@pytest.mark.parametrize("call", OF_THE_PLANE)
@pytest.mark.parametrize("dim", [1, 3])
def test_hulls_and_areas_are_of_the_plane(call: str, dim: int) -> None:
    name, function = OF_THE_PLANE[call]
    message = f"{name} must lie in the plane, in shape (points, 2), got shape (4, {dim})"
    with pytest.raises(ValueError, match=exactly(message)):
        function(np.ones((4, dim)))


@every
def test_points_are_finite_real_numbers(call: str) -> None:
    name, function = EVERY[call]
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match=exactly(f"{name} must be finite, got {bad}")):
            function([[0.0, bad]])
    for wrong in (1j, True, "a"):
        with pytest.raises(TypeError, match=f"^{name} must be integers, float64"):
            function([[wrong, wrong]])
    with pytest.raises(TypeError, match=f"^{name} must not be a masked array"):
        function(np.ma.masked_array([[0.5, 0.5]], [[True, False]]))


@pytest.mark.parametrize("function", [projection, scalar_projection])
def test_a_line_has_a_direction_and_a_width(function: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=exactly("onto must not be zero")):
        function([1.0, 2.0], [0.0, -0.0])
    message = r"onto must have shape (2,), as wide as a, got shape (3,)"
    with pytest.raises(ValueError, match=exactly(message)):
        function([1.0, 2.0], [1, 2, 3])
    with pytest.raises(ValueError, match=exactly("a must be finite, got nan")):
        function([1.0, math.nan], [1, 2])
    with pytest.raises(ValueError, match="a must have at least one dimension, got a number"):
        function(1.0, [1])


def test_a_width_has_a_direction() -> None:
    with pytest.raises(ValueError, match=exactly("direction must not be zero")):
        width(SQUARE, [0, 0])
    message = "direction must have shape (2,), as wide as points, got shape (1, 2)"
    with pytest.raises(ValueError, match=exactly(message)):
        width(SQUARE, [[1, 0]])


def test_a_plane_needs_two_dimensions() -> None:
    message = "points must have at least two dimensions, got shape (3, 1)"
    with pytest.raises(ValueError, match=exactly(message)):
        principal_plane([[1], [2], [4]])


def test_weights_are_shares() -> None:
    with pytest.raises(ValueError, match=exactly("weights must not be negative, got -0.25")):
        dobrushin([[1.25, -0.25], [0.5, 0.5]])
    message = "weights must have rows that sum to 1, got a row that sums to 1.7"
    with pytest.raises(ValueError, match=exactly(message)):
        dobrushin([[0.25, 0.25, 0.25, 0.25], [0.6, 0.2, 0.8, 0.1]])
    assert dobrushin([[0.5, 0.5], [0.503, 0.5]]) == pytest.approx(0.0015, rel=1e-12)  # within 1/256
    message = "weights must have rows that sum to 1, got a row that sums to 1.01"
    with pytest.raises(ValueError, match=exactly(message)):
        dobrushin([[0.5, 0.5], [0.51, 0.5]])


def test_steps_scales_and_value_weights_that_do_not_fit() -> None:
    message = "steps must be an integer from 1 to 1048576, got 0"
    with pytest.raises(ValueError, match=exactly(message)):
        iterate_attention(SQUARE, 0)
    with pytest.raises(TypeError, match=exactly("steps must be an integer, got 1.0")):
        iterate_attention(SQUARE, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=exactly("scale must be 0 or more, got -1.0")):
        iterate_attention(SQUARE, 1, scale=-1.0)
    with pytest.raises(TypeError, match=exactly("scale must be a real number, got 'a'")):
        iterate_attention(SQUARE, 1, scale="a")  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=exactly("value_weight must have shape (2, 2), got (2, 3)")
    ):
        iterate_attention(SQUARE, 1, value_weight=np.ones((2, 3)))


def test_rows_sum_to_1_within_half_an_ulp_of_bfloat16() -> None:
    with pytest.raises(ValueError, match="sum"):
        geometry.dobrushin([[0.5, 0.5 + 2**-7]])
    assert geometry.dobrushin([[0.5, 0.5 + 2**-8]]) == 0
