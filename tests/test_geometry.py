"""Geometry: what attention does to the polygon of the tokens, and what it does not."""

import math
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests import reference

import ropewalk as rw
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

mp = reference.mp
Array = NDArray[np.float64]

UNIT = 2.0**-53
CASES = 2000
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
BOW_TIE = SQUARE[[0, 2, 1, 3]]
CROSSING = np.array([0, 2, 1, 3])  # a permutation that makes one of the other

small = st.integers(-4, 4).map(float)
clouds = st.lists(st.lists(small, min_size=2, max_size=2), min_size=1, max_size=12)
finer = st.floats(-1, 1)
finer_clouds = st.lists(st.lists(finer, min_size=2, max_size=2), min_size=1, max_size=12)


def mixed(values: Array, weights: Array) -> Array:
    """Outputs of attention with these weights, but for zeros, which are e ** -1000 = 0 to it."""
    scores = np.log(weights, out=np.full(weights.shape, -1000.0), where=weights > 0)
    silent = np.zeros((len(weights), 1)), np.zeros((len(values), 1))
    return np.asarray(rw.attention(*silent, values, bias=scores))


# Projections


@pytest.mark.parametrize("dim", [1, 2, 3, 64])
def test_an_inner_product_is_a_length_times_a_signed_length(
    rng: np.random.Generator, dim: int
) -> None:
    for _ in range(50):
        a, b = rng.standard_normal((2, dim))
        lengths = [float(reference.distance(x, [0] * dim)) for x in (a, b)]
        inner = float(reference.inner_product(a, b))
        error = dim * UNIT * lengths[0] * lengths[1]
        assert abs(lengths[1] * float(scalar_projection(a, b)) - inner) <= 4 * error


@pytest.mark.parametrize("dim", [1, 2, 3, 64])
def test_what_a_projection_leaves_is_perpendicular(rng: np.random.Generator, dim: int) -> None:
    a, onto = rng.standard_normal((20, dim)), rng.standard_normal(dim)
    shadows = projection(a, onto)
    for vector, shadow in zip(a, shadows, strict=True):
        left = [mp.mpf(x) - y for x, y in zip(vector, shadow, strict=True)]
        assert abs(reference.inner_product(left, onto)) <= 8 * dim * UNIT * np.linalg.norm(vector)
    np.testing.assert_allclose(projection(shadows, onto), shadows, rtol=0, atol=8 * dim * UNIT)


def test_a_scalar_projection_is_the_length_of_the_projection_with_a_sign() -> None:
    assert scalar_projection([3, 4], [1, 0]) == 3
    assert scalar_projection([-3, 4], [1, 0]) == -3
    assert scalar_projection([3, 4], [0, -2]) == -4
    assert scalar_projection([1, 1], [-1, 1]) == 0
    np.testing.assert_array_equal(projection([-3, 4], [2, 0]), [-3, 0])


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1.0, 1e200, 1e308])
def test_the_length_of_the_line_does_not_count(size: float) -> None:
    np.testing.assert_array_equal(projection([3.0, 4.0], [0.0, size]), [0.0, 4.0])


def test_projections_of_vectors_whose_sums_are_no_floats() -> None:
    large = 1.7e308
    np.testing.assert_allclose(projection([large, large], [1, 1]), [large, large], rtol=4 * UNIT)
    assert abs(scalar_projection([large] * 4 + [-large] * 4, [1] * 8)) <= 8 * UNIT * large
    assert scalar_projection([large, large], [1, 1]) == math.inf
    # What is nearly 0 keeps its digits beside a vector that does not.
    np.testing.assert_array_equal(
        scalar_projection([[large, 0], [5e-324, 0]], [1, 0]), [large, 5e-324]
    )


def test_axes_before_the_last_are_kept() -> None:
    a = np.arange(24.0).reshape(2, 3, 4)
    assert scalar_projection(a, [0, 0, 5, 0]).shape == (2, 3)
    np.testing.assert_array_equal(scalar_projection(a, [0, 0, 5, 0]), a[..., 2])
    np.testing.assert_array_equal(projection(a, [0, 0, 5, 0])[..., 2], a[..., 2])


# Hulls


@given(clouds)
def test_a_hull_is_that_of_the_reference(points: list[list[float]]) -> None:
    expected = reference.convex_hull(points)
    np.testing.assert_array_equal(convex_hull(points), expected)


@given(finer_clouds)
def test_a_hull_of_any_floats_is_that_of_the_reference(points: list[list[float]]) -> None:
    np.testing.assert_array_equal(convex_hull(points), reference.convex_hull(points))


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e150, 1e307])
def test_a_hull_is_exact_where_products_are_no_floats(scale: float) -> None:
    # Products of these lose all their digits or overflow, and the turns are still seen.
    points = np.array([[0, 0], [4, 0], [2, 1], [4, 4], [0, 4], [2, 3], [3, 0]]) * scale
    np.testing.assert_array_equal(convex_hull(points), points[[0, 1, 3, 4]])


def test_a_hull_tells_points_one_rounding_from_a_line() -> None:
    # The usual formula in floats finds all of them on one line: Kettner et al., Classroom Examples
    # of Robustness Problems in Geometric Computations, 2008, section 3.
    points = [(0.5 + i * UNIT, 0.5 + j * UNIT) for i in range(16) for j in range(16)]
    for point in points:
        cloud = [point, (12.0, 12.0), (24.0, 24.0)]
        np.testing.assert_array_equal(convex_hull(cloud), reference.convex_hull(cloud))
    (ax, ay), (bx, by), (cx, cy) = (0.5 + UNIT, 0.5), (12.0, 12.0), (24.0, 24.0)
    assert (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) == 0
    assert reference.turn((ax, ay), (bx, by), (cx, cy)) != 0


def test_a_hull_knows_how_far_rounding_reaches() -> None:
    # Here the formula in floats has the wrong sign, and is not 0.
    digits = [
        ("0x1.000000000000bp-1", "0x1.0000000000010p-1"),
        ("0x1.8000000000012p+3", "0x1.800000000000ep+3"),
        ("0x1.8000000000027p+4", "0x1.8000000000023p+4"),
    ]
    cloud = [(float.fromhex(x), float.fromhex(y)) for x, y in digits]
    np.testing.assert_array_equal(convex_hull(cloud), reference.convex_hull(cloud))
    (cx, cy), (bx, by), (ax, ay) = cloud
    in_floats = (ax - cx) * (by - cy) - (ay - cy) * (bx - cx)
    assert in_floats * reference.turn(*cloud[::-1]) < 0


@pytest.mark.parametrize(
    ("points", "corners"),
    [
        ([[2, 3]], [[2, 3]]),
        ([[2, 3]] * 4, [[2, 3]]),
        ([[1, 1], [0, 0]], [[0, 0], [1, 1]]),
        ([[1, 1], [3, 3], [0, 0], [2, 2]], [[0, 0], [3, 3]]),
        ([[0, 2], [0, 0], [0, 1]], [[0, 0], [0, 2]]),
        ([[0.0, 0.0], [-0.0, 0.0], [0.0, -0.0]], [[0, 0]]),
        (BOW_TIE, SQUARE),
    ],
)
def test_hulls_of_few_corners(points: Any, corners: Any) -> None:
    np.testing.assert_array_equal(convex_hull(points), corners)


def test_a_hull_does_not_change_its_points() -> None:
    points = BOW_TIE.copy()
    convex_hull(points)[:] = 7
    np.testing.assert_array_equal(points, BOW_TIE)


@given(clouds, clouds)
def test_distances_are_0_within_a_hull_and_nowhere_else(
    points: list[list[float]], others: list[list[float]]
) -> None:
    corners = reference.convex_hull(others)
    found = distance_to_hull(points, others)
    for point, distance in zip(points, found, strict=True):
        sides = [reference.turn(corners[i - 1], corners[i], point) for i in range(len(corners))]
        if len(corners) > 2:
            assert (distance == 0) == all(side >= 0 for side in sides)
        nearest = min(
            reference.distance(point, [mp.mpf(x) + t * (y - x) for x, y in zip(*ends, strict=True)])
            for ends in zip(corners, corners[1:] + corners[:1], strict=True)
            for t in [closest(point, *ends)]
        )
        if distance:
            assert abs(distance - nearest) <= 64 * UNIT


def closest(point: Any, start: Any, end: Any) -> Any:
    """Where on an edge, from 0 to 1, a point's nearest point lies."""
    if start == end:
        return mp.mpf(0)
    edge = [y - x for x, y in zip(start, end, strict=True)]
    away = [y - x for x, y in zip(start, point, strict=True)]
    t = reference.inner_product(edge, away) / reference.inner_product(edge, edge)
    return min(max(t, mp.mpf(0)), mp.mpf(1))


def test_a_hull_may_be_a_segment_or_as_large_as_numbers_are() -> None:
    assert geometry.distance_to_hull([[5.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]])[0] == 4
    big = [[-1.7e308, -1.7e308], [1.7e308, -1.7e308], [1.7e308, 1.7e308]]
    assert geometry.distance_to_hull([[0.0, 0.0]], big)[0] == 0


# Measures


@given(clouds)
def test_areas_perimeters_and_diameters_are_those_of_the_reference(
    points: list[list[float]],
) -> None:
    assert area(points) == float(reference.area(points))  # all products are small integers
    assert perimeter(points) == pytest.approx(float(reference.perimeter(points)), rel=1e-15)
    assert diameter(points) == pytest.approx(float(reference.diameter(points)), rel=4 * UNIT)


def test_measures_of_many_dimensions(rng: np.random.Generator) -> None:
    points, direction = rng.standard_normal((20, 7)), rng.standard_normal(7)
    assert perimeter(points) == pytest.approx(float(reference.perimeter(points)), rel=1e-14)
    assert diameter(points) == pytest.approx(float(reference.diameter(points)), rel=1e-15)
    expected = float(reference.width(points, direction))
    assert width(points, direction) == pytest.approx(expected, rel=1e-14)
    assert width(points, -1e300 * direction) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("points", [[[5.0]], [[1, 2]], [[1, 2], [1, 2]]])
def test_one_place_has_no_extent(points: Any) -> None:
    assert (perimeter(points), diameter(points)) == (0, 0)
    assert width(points, np.ones(len(points[0]))) == 0


def test_a_perimeter_of_a_segment_goes_there_and_back() -> None:
    assert perimeter([[0], [3]]) == 6
    # Whose squares are subnormal.
    assert perimeter(np.ldexp([[0.0, 0.0], [1.1, 0.0]], -530)) == math.ldexp(2.2, -530)
    assert area([[0, 0], [3, 4]]) == 0


def test_an_area_has_the_sign_of_the_turn_and_stands_anywhere() -> None:
    assert area(SQUARE) == 1
    assert area(SQUARE[::-1]) == -1
    assert area(SQUARE + 2.0**40) == 1
    assert area(SQUARE[[0, 1, 2, 3, 0, 1, 2, 3]]) == 2


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_lengths_whose_squares_are_no_floats(size: float) -> None:
    assert diameter([[0.0, 0.0], [3 * size, 4 * size]]) == pytest.approx(5 * size, rel=1e-15)
    assert perimeter([[0.0, 0.0], [3 * size, 4 * size]]) == pytest.approx(10 * size, rel=1e-15)
    assert distance_to_hull([[3 * size, 4 * size]], [[0.0, 0.0]]) == pytest.approx(
        5 * size, rel=1e-15
    )


def test_distances_from_a_hull_whose_differences_are_no_floats() -> None:
    hull = [[1e308, 0.0], [-1e308, 0.0], [0.0, 1e308]]
    assert distance_to_hull([[0.0, -1.0], [-1.5e308, 0.0]], hull).tolist() == [
        pytest.approx(1.0, rel=1e-15),
        pytest.approx(0.5e308, rel=1e-15),
    ]
    assert distance_to_hull([[1.7e308, 1.7e308]], [[-1.7e308, -1.7e308]]) == [math.inf]


def test_widths_of_points_whose_sums_are_no_floats() -> None:
    points = [[1.7e308, 1.7e308], [1.6e308, 1.6e308]]
    assert width(points, [1, 1]) == pytest.approx((1.7e308 - 1.6e308) * math.sqrt(2), rel=1e-14)
    assert width([[1.7e308], [-1.7e308]], [1]) == math.inf


@pytest.mark.parametrize("far", [1e8, 1e15, 1e16, -(2.0**900)])
def test_widths_do_not_depend_on_where_the_origin_is(far: float) -> None:
    points = [[far, 1.0], [far, 0.0], [far, 0.25]]
    assert width(points, [1, 1]) == pytest.approx(math.sqrt(0.5), rel=1e-15)


def test_areas_whose_products_are_no_floats() -> None:
    assert area([[-1e308, 0.0], [1e308, 0.0], [0.0, 1.0]]) == 1e308
    assert area(np.array([[0, 0], [0, 3], [4, 0]]) * [1e200, 1e-200]) == pytest.approx(
        -6, rel=1e-15
    )
    assert area(np.array([[0, 0], [4, 0], [0, 3]]) * 5e-324) == 0  # below the smallest float
    assert area(SQUARE * 1e200) == math.inf


def test_perimeters_beyond_all_floats_are_infinite() -> None:
    assert perimeter([[1e308, 0], [-1e308, 0]]) == math.inf


def test_a_perimeter_is_the_mean_width_times_pi(rng: np.random.Generator) -> None:
    # Cauchy's formula; the mean over equal angles is wrong by less than the angle squared.
    points = rng.standard_normal((9, 2))
    angles = np.arange(2000) * math.pi / 2000
    mean = np.mean([width(points, [math.cos(a), math.sin(a)]) for a in angles])
    assert math.pi * mean == pytest.approx(perimeter(convex_hull(points)), rel=1e-5)


# Principal components


def test_principal_components_of_points_in_a_plane_keep_all_distances(
    rng: np.random.Generator,
) -> None:
    basis, _ = np.linalg.qr(rng.standard_normal((6, 2)))
    flat = rng.standard_normal((12, 2))
    found = principal_plane(flat @ basis.T + 5)
    for i in range(12):
        expected = np.hypot(*(flat - flat[i]).T)
        np.testing.assert_allclose(np.hypot(*(found - found[i]).T), expected, rtol=0, atol=1e-14)


def test_principal_components_hold_the_most_variance(rng: np.random.Generator) -> None:
    points = rng.standard_normal((30, 5))
    found = principal_plane(points)
    centred = mp.matrix(points.tolist())
    for column in range(5):
        mean = mp.fsum(centred[:, column]) / 30
        for row in range(30):
            centred[row, column] -= mean
    largest = sorted(map(float, mp.eigsy(centred.T * centred, eigvals_only=True)))[:2:-1]
    np.testing.assert_allclose(found.T @ found, np.diag(largest), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-13)


@pytest.mark.thread_unsafe(reason="measures the memory of the process")
def test_one_point_has_no_components_to_be_found() -> None:
    tracemalloc.start()
    found = principal_plane(np.ones((1, 1000)))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(found, [[0.0, 0.0]])
    assert most < 10**6


def test_principal_components_have_one_sign(rng: np.random.Generator) -> None:
    points = rng.standard_normal((10, 4)) @ np.diag([5.0, 3.0, 1.0, 0.1])
    found = principal_plane(points)
    np.testing.assert_allclose(principal_plane(points[::-1])[::-1], found, rtol=0, atol=1e-13)
    np.testing.assert_allclose(principal_plane(points + 3), found, rtol=0, atol=1e-13)
    np.testing.assert_allclose(principal_plane(-points), -found, rtol=0, atol=1e-13)


def test_the_largest_component_is_positive(rng: np.random.Generator) -> None:
    for _ in range(30):
        points = rng.standard_normal((10, 4))
        found = principal_plane(points)
        axes = np.linalg.lstsq(found, points - points.mean(axis=0), rcond=None)[0]
        assert (axes[[0, 1], np.abs(axes).argmax(axis=1)] > 0).all()


def test_of_equal_components_the_first_is_positive(rng: np.random.Generator) -> None:
    # Rounding makes one of the four the largest, and does not choose the sign.
    for _ in range(30):
        along = rng.standard_normal(10)
        found = principal_plane(np.outer(along, [1.0, -1.0, 1.0, -1.0]))
        np.testing.assert_allclose(found[:, 0], 2 * (along - along.mean()), rtol=0, atol=1e-14)


def test_principal_components_of_points_whose_sums_are_no_floats() -> None:
    found = principal_plane([[1.7e308, 0.0], [1.7e308, 1.0]])
    np.testing.assert_allclose(found, [[-0.5, 0.0], [0.5, 0.0]], rtol=4 * UNIT)
    found = principal_plane([[-1.7e308, 0.0], [1.7e308, 0.0]])
    np.testing.assert_allclose(found, [[-1.7e308, 0.0], [1.7e308, 0.0]], rtol=1e-14)


@pytest.mark.parametrize("points", [[[1, 2, 3]], [[1, 2]], [[4, 4]] * 5])
def test_one_place_is_the_middle_of_its_plane(points: Any) -> None:
    np.testing.assert_array_equal(principal_plane(points), np.zeros((len(points), 2)))


def test_points_whose_sum_is_beyond_numbers_have_a_plane() -> None:
    points = np.tile([6.8e307, 0.0], (64, 1))
    points[0] *= -1
    assert np.isfinite(geometry.principal_plane(points)).all()


# Dobrushin's coefficient


def test_dobrushin_is_what_two_rows_do_not_share(rng: np.random.Generator) -> None:
    for keys in (1, 2, 5, 40):
        weights = rw.softmax(3 * rng.standard_normal((6, keys)))
        expected = float(reference.dobrushin(weights))
        assert dobrushin(weights) == pytest.approx(expected, rel=0, abs=keys * 4 * UNIT)
        least = keys * float(weights.min())
        assert dobrushin(weights) <= 1 - least + keys * 4 * UNIT
    assert dobrushin([[1.003, 0.0], [0.0, 1.003]]) == 1


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([[0.25, 0.75]] * 3, 0),
        (np.eye(3), 1),
        ([[1.0]], 0),
        ([[0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0], [0, 0, 0.5, 0.5]], 1),
    ],
)
def test_dobrushin_of_equal_and_of_disjoint_rows(weights: Any, expected: float) -> None:
    assert dobrushin(weights) == expected


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_dobrushin_takes_rounded_weights(rng: np.random.Generator, dtype: str) -> None:
    pytest.importorskip("ml_dtypes")
    weights = rw.softmax(rng.standard_normal((5, 300)))
    assert dobrushin(weights.astype(dtype)) == pytest.approx(dobrushin(weights), rel=2.0**-8)


# Theorems: values v, outputs o = A v with the rows of A positive and summing to 1


class Case:
    """Tokens of the plane under attention with weights from the normal distribution."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.x = rng.standard_normal((rng.integers(3, 9), 2))
        query, key, self.value = rng.standard_normal((3, 2, 2))
        scale = float(rng.choice([0.1, 0.5, 1, 2, 5]))
        self.v = self.x @ self.value
        self.o = rw.attention(self.x @ query, self.x @ key, self.v, scale=scale)
        self.weights = rw.attention_weights(self.x @ query, self.x @ key, scale=scale)
        self.tau = dobrushin(self.weights)
        self.direction = rng.standard_normal(2)
        self.largest = float(np.hypot(*self.v.T).max())
        self.tolerance = 4 * UNIT * self.largest

    def holds(self, theorem: Callable[["Case"], float]) -> bool:
        return theorem(self) <= self.tolerance


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    rng = np.random.default_rng(20170612)
    return [Case(rng) for _ in range(CASES)]


def hull_area(points: Array) -> float:
    return area(convex_hull(points))


def hull_perimeter(points: Array) -> float:
    return perimeter(convex_hull(points))


THEOREMS: dict[str, Callable[[Case], float]] = {
    "outputs lie in the hull of the values": lambda c: float(distance_to_hull(c.o, c.v).max()),
    "widths shrink by tau": lambda c: width(c.o, c.direction) - c.tau * width(c.v, c.direction),
    "diameters shrink by tau": lambda c: diameter(c.o) - c.tau * diameter(c.v),
    "hull perimeters shrink by tau": lambda c: hull_perimeter(c.o) - c.tau * hull_perimeter(c.v),
    "hull areas shrink by 1.5 tau squared": lambda c: (
        (hull_area(c.o) - min(1, 1.5 * c.tau**2) * hull_area(c.v)) / c.largest
    ),
    "diameters against those of the tokens": lambda c: (
        diameter(c.o) - c.tau * float(np.linalg.norm(c.value, 2)) * diameter(c.x)
    ),
}


@pytest.mark.parametrize("theorem", THEOREMS)
def test_theorems(cases: list[Case], theorem: str) -> None:
    assert [c.x for c in cases if not c.holds(THEOREMS[theorem])] == []


CLAIMS: dict[str, tuple[Callable[[Case], bool], Callable[[Case], bool], float]] = {
    "the polygon in the order of the tokens is shorter": (
        lambda c: perimeter(c.o) > perimeter(c.v),
        lambda c: bool(reference.perimeter(c.o) > reference.perimeter(c.v)),
        0.10,
    ),
    "the polygon in the order of the tokens is smaller": (
        lambda c: abs(area(c.o)) > abs(area(c.v)),
        lambda c: bool(abs(reference.area(c.o)) > abs(reference.area(c.v))),
        0.06,
    ),
    "the diameter is smaller than that of the tokens": (
        lambda c: diameter(c.o) > diameter(c.x),
        lambda c: bool(reference.diameter(c.o) > reference.diameter(c.x)),
        0.27,
    ),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_claims_that_are_false_in_a_share_of_the_cases(cases: list[Case], claim: str) -> None:
    fails, fails_by_reference, share = CLAIMS[claim]
    wrong = [fails(case) for case in cases]
    assert wrong[:300] == [fails_by_reference(case) for case in cases[:300]]
    deviation = math.sqrt(share * (1 - share) / CASES)
    assert abs(np.mean(wrong) - share) <= 4 * deviation


def test_most_outputs_leave_the_hull_of_the_tokens(cases: list[Case]) -> None:
    left = [bool((distance_to_hull(c.o, c.x) > 1e-9).any()) for c in cases]
    assert np.mean(left) > 0.75


def test_finite_scores_give_outputs_inside_and_not_on_the_edge(cases: list[Case]) -> None:
    gentle = [c for c in cases if c.weights.min() > 1e-6]
    assert len(gentle) > CASES / 3
    for case in gentle:
        corners = reference.convex_hull(case.v)
        for i, point in enumerate(case.o.tolist() * len(corners)):
            edge = corners[i // len(case.o) - 1], corners[i // len(case.o)]
            assert reference.turn(*edge, point) > 0
        assert hull_area(case.o) < hull_area(case.v)


def test_three_tokens_change_their_area_by_the_determinant(cases: list[Case]) -> None:
    threes = [c for c in cases if len(c.x) == 3]
    assert len(threes) > CASES / 8
    for c in threes:
        determinant = float(mp.det(mp.matrix(c.weights.tolist())))
        assert abs(area(c.o) - determinant * area(c.v)) <= c.tolerance * c.largest


def test_two_tokens_change_their_distance_by_what_their_weights_differ(
    rng: np.random.Generator,
) -> None:
    for _ in range(200):
        x = rng.standard_normal((2, 3))
        weights = rw.attention_weights(x, x)
        factor = abs(weights[0, 0] - weights[1, 0])
        expected = factor * float(reference.distance(*x))
        assert diameter(rw.attention(x, x, x)) == pytest.approx(expected, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("dim", [3, 8])
def test_the_theorems_of_any_dimension(rng: np.random.Generator, dim: int) -> None:
    for _ in range(300):
        q, k, v = rng.standard_normal((3, 6, dim))
        o, tau = rw.attention(q, k, v), dobrushin(rw.attention_weights(q, k))
        tolerance = 4 * UNIT * float(np.linalg.norm(v, axis=1).max())
        for direction in rng.standard_normal((4, dim)):
            unit = direction / np.linalg.norm(direction)
            assert (o @ unit).max() <= (v @ unit).max() + tolerance
            assert width(o, direction) <= tau * width(v, direction) + tolerance
        assert diameter(o) <= tau * diameter(v) + tolerance


# Counterexamples, and where constants are sharp


def near(order: NDArray[np.int64]) -> Array:
    """Weights near a permutation: scores of 30 for one key and of 0 for all others."""
    return np.asarray(rw.softmax(30.0 * np.eye(4)[order]))


def test_a_square_becomes_a_longer_bow_tie() -> None:
    outputs = mixed(SQUARE, near(CROSSING))
    assert perimeter(SQUARE) == 4
    assert perimeter(outputs) == pytest.approx(2 + 2 * math.sqrt(2), abs=1e-11)  # 4.83
    assert hull_perimeter(outputs) < hull_perimeter(SQUARE)
    assert distance_to_hull(outputs, SQUARE).max() == 0


def test_a_bow_tie_without_area_becomes_a_square() -> None:
    outputs = mixed(BOW_TIE, near(CROSSING))
    assert area(BOW_TIE) == 0
    assert area(outputs) == pytest.approx(1, abs=1e-11)
    assert hull_area(outputs) < hull_area(BOW_TIE)


def test_the_constant_of_the_hull_area_is_sharp() -> None:
    # A triangle, every corner twice; outputs share it two to one, in all six ways.
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    shares = np.array([[2, 1, 0], [2, 0, 1], [1, 2, 0], [0, 2, 1], [1, 0, 2], [0, 1, 2]]) / 3
    values, weights = np.repeat(triangle, 2, axis=0), np.repeat(shares, 2, axis=1) / 2
    tau = dobrushin(weights)
    assert tau == pytest.approx(2 / 3, abs=4 * UNIT)
    ratio = hull_area(mixed(values, weights)) / hull_area(values)
    assert ratio == pytest.approx(2 / 3, rel=1e-14)
    assert ratio == pytest.approx(1.5 * tau**2, rel=1e-14)


def test_the_centroid_is_kept_where_columns_sum_to_1(rng: np.random.Generator) -> None:
    v = rng.standard_normal((4, 2))
    turning = np.array([[4, 3, 2, 1], [1, 4, 3, 2], [2, 1, 4, 3], [3, 2, 1, 4]]) / 10
    np.testing.assert_allclose(mixed(v, turning).mean(axis=0), v.mean(axis=0), rtol=0, atol=1e-15)
    uneven = turning[[0, 0, 2, 3]]
    assert np.abs(mixed(v, uneven).mean(axis=0) - v.mean(axis=0)).max() > 0.01


def test_a_value_weight_can_make_the_polygon_larger() -> None:
    outputs = iterate_attention(SQUARE, 1, scale=0.5, value_weight=10 * np.eye(2))[1]
    assert diameter(outputs) > diameter(SQUARE)
    assert (distance_to_hull(outputs, SQUARE) > 0).any()


# Attention again and again

SIX = [[1.0, 0.0], [0.5, 1.0], [-0.5, 1.0], [-1.0, 0.0], [-0.5, -1.0], [0.5, -1.0]]


def test_iterates_are_those_of_the_reference(rng: np.random.Generator) -> None:
    points = rng.standard_normal((5, 3))
    found = iterate_attention(points, 4, scale=1.0)
    assert found.shape == (5, 5, 3)
    expected: Any = points.tolist()
    for step in range(5):
        np.testing.assert_allclose(found[step], np.array(expected, float), rtol=0, atol=1e-14)
        expected = reference.self_attention(expected, 1)


def test_a_step_is_attention_with_its_own_scale_and_values(rng: np.random.Generator) -> None:
    points, weight = rng.standard_normal((5, 3)), rng.standard_normal((3, 3))
    found = iterate_attention(points, 2, value_weight=weight)
    first = rw.attention(points, points, points @ weight)
    np.testing.assert_array_equal(
        found, [points, first, rw.attention(first, first, first @ weight)]
    )


def test_tokens_collapse_faster_than_any_geometric_sequence() -> None:
    exact: Any = SIX
    diameters = [reference.diameter(exact)]
    for _ in range(5):
        exact = reference.self_attention(exact, 1)
        diameters.append(reference.diameter(exact))
    ratios = [after / before for before, after in pairwise(diameters)]
    assert all(after < before for before, after in pairwise(ratios))
    for before, after in pairwise(diameters):
        assert after <= before**3 / 4
    assert diameters[3] > 1e-4  # and two steps later
    assert diameters[5] < 1e-27
    found = [diameter(x) for x in iterate_attention(SIX, 5, scale=1.0)]
    np.testing.assert_allclose(found, np.array(diameters, float), rtol=0, atol=8 * UNIT)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_hulls_lie_in_the_ones_before(rng: np.random.Generator, scale: float) -> None:
    points = rng.standard_normal((6, 2))
    tolerance = 4 * UNIT * float(np.hypot(*points.T).max())
    found = iterate_attention(points, 12, scale=scale)
    for before, after in pairwise(found):
        assert distance_to_hull(after, before).max() <= tolerance
        tau = dobrushin(rw.attention_weights(before, before, scale=scale))
        factor = min(tau, scale * diameter(before) ** 2 / 4)
        assert diameter(after) <= factor * diameter(before) + tolerance


def test_without_scale_all_go_to_the_centroid_at_once(rng: np.random.Generator) -> None:
    points = rng.standard_normal((7, 4))
    found = iterate_attention(points, 1, scale=0)[1]
    np.testing.assert_allclose(found, [points.mean(axis=0)] * 7, rtol=0, atol=4 * UNIT)


def test_large_scales_wait() -> None:
    # Long vectors see themselves alone: corners of a square of length 10 do not move.
    points = 10 * (SQUARE - 0.5)
    np.testing.assert_allclose(
        iterate_attention(points, 3, scale=1.0)[3], points, rtol=0, atol=1e-8
    )


WIDE = np.array([[1e-310, 3.0], [2e-310, 1e308], [-1e308, 1e308], [1.0, -1e308]])
OF_WIDE: dict[str, Callable[[], Any]] = {
    "diameter": lambda: diameter(WIDE[[0, 1, 0, 3]]),
    "perimeter": lambda: perimeter(WIDE),
    "area": lambda: area(WIDE),
    "convex hull": lambda: convex_hull(WIDE),
    "distance to a hull": lambda: distance_to_hull(WIDE, WIDE[:3]),
    "principal plane": lambda: principal_plane(WIDE),
    "width": lambda: width(WIDE, [1e-310, 1e308]),
    "iterated attention": lambda: iterate_attention(WIDE, 3, value_weight=np.full((2, 2), 1e300)),
}


@pytest.mark.parametrize("name", OF_WIDE)
def test_numbers_of_all_sizes_are_taken_in_silence(name: str) -> None:
    with np.errstate(all="raise"):
        OF_WIDE[name]()


def test_every_public_name_is_documented_above() -> None:
    assert set(geometry.__all__) <= set(globals())
