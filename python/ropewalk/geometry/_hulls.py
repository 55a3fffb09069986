"""Points of the plane: their hull, areas, and who lies outside."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk.geometry._points import as_plane, norms, shrink

Point = list[float]  # x and y

UNIT = 2.0**-53


def convex_hull(points: ArrayLike, /) -> NDArray[np.float64]:
    """Convex hull of points of the plane, by Andrew's monotone chain.

    Parameters
    ----------
    points : array_like of shape (points, 2)
        Points, finite; at least one.

    Returns
    -------
    ndarray of float64 of shape (vertices, 2)
        Corners counterclockwise, from the leftmost one (the lowest of them): each once, and none
        between two others on a line. Two where all points lie on a line, one where all are equal.

    Raises
    ------
    ValueError
        If `points` has another shape or is empty, or a number is not finite.
    TypeError
        If `points` are no real numbers.

    See Also
    --------
    perimeter, area : Of these vertices.
    distance_to_hull : Whether other points lie within.

    Notes
    -----
    Every corner is one of the points, and which are corners is decided exactly: where rounding
    could turn left into right, whole fractions decide.

    References
    ----------
    Andrew, Another Efficient Algorithm for Convex Hulls in Two Dimensions, 1979, Information
    Processing Letters 9(5).

    Shewchuk, Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates,
    1997, Discrete & Computational Geometry 18(3), section 4.2, for how far rounding reaches.

    Examples
    --------
    >>> from ropewalk.geometry import convex_hull
    >>> convex_hull([[0, 0], [2, 0], [1, 0], [1, 1], [2, 2], [0, 2], [2, 2]])
    array([[0., 0.],
           [2., 0.],
           [2., 2.],
           [0., 2.]])
    """
    ordered = np.unique(as_plane("points", points), axis=0)  # by x, and by y where x is equal
    if len(ordered) < 3:
        return ordered
    lower, upper = _left_turns(ordered), _left_turns(ordered[::-1])
    return np.array(lower[:-1] + upper[:-1])


def area(polygon: ArrayLike, /) -> float:
    """Signed area of a polygon of the plane, by the shoelace formula.

    Parameters
    ----------
    polygon : array_like of shape (vertices, 2)
        Corners in their order, finite; the last is joined to the first.

    Returns
    -------
    float
        Positive counterclockwise, negative clockwise. Where edges cross, parts that are walked
        round the other way count as negative: a bow-tie can have area 0.

    Raises
    ------
    ValueError
        If `polygon` has another shape or is empty, or a number is not finite.
    TypeError
        If `polygon` are no real numbers.

    See Also
    --------
    convex_hull : ``area(convex_hull(points))`` is the area that points span, in any order.

    Notes
    -----
    Attention of three tokens multiplies it by the determinant of the weights, exactly. The area of
    the hull never grows under attention, while that of a polygon of four or more tokens may. The
    area is infinite where float64 holds no such number.

    References
    ----------
    Braden, The Surveyor's Area Formula, 1986, The College Mathematics Journal 17(4).

    Examples
    --------
    >>> from ropewalk.geometry import area
    >>> area([[0, 0], [1, 0], [1, 1], [0, 1]])
    1.0
    >>> area([[0, 0], [1, 0], [0, 1], [1, 1]])  # a bow-tie
    0.0
    """
    corners = as_plane("polygon", polygon)
    exponents = np.frexp(np.abs(corners).max(axis=0))[1] + 1
    with np.errstate(all="ignore"):
        scaled = np.ldexp(corners, -exponents)  # below 1/2, so that only the area can overflow
        x, y = (scaled - scaled[0]).T  # nothing is lost far away from the origin
        twice = x @ np.roll(y, -1) - np.roll(x, -1) @ y
        return float(np.ldexp(twice, exponents.sum() - 1))


def distance_to_hull(points: ArrayLike, hull_points: ArrayLike, /) -> NDArray[np.float64]:
    """Distance from points of the plane to the convex hull of others: 0 within.

    Parameters
    ----------
    points : array_like of shape (points, 2)
        Points, finite; at least one.
    hull_points : array_like of shape (others, 2)
        Points that span the hull, finite; at least one.

    Returns
    -------
    ndarray of float64 of shape (points,)
        Distance to the nearest point of the hull.

    Raises
    ------
    ValueError
        If an array has another shape or is empty, or a number is not finite.
    TypeError
        If an array holds no real numbers.

    See Also
    --------
    convex_hull : The corners of the hull.

    Notes
    -----
    That a point lies within a hull that has an area, its edges included, is decided exactly.
    Distances from outside are rounded, and may become 0 where they are some ``2**-53`` of the
    coordinates; so may those to a hull of one or two corners, which has no inside.

    References
    ----------
    Schneider, Convex Bodies: The Brunn-Minkowski Theory, second edition, 2014, section 1.2, on the
    nearest point of a convex set.

    Examples
    --------
    >>> from ropewalk.geometry import distance_to_hull
    >>> square = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> distance_to_hull([[0.5, 0.5], [1.0, 0.0], [0.5, -2.0], [4.0, 5.0]], square)
    array([0., 0., 2., 5.])
    """
    at = as_plane("points", points)
    corners = convex_hull(as_plane("hull_points", hull_points))
    small = shrink(np.concatenate([at, corners]))
    with np.errstate(all="ignore"):  # a distance may be larger than any number
        starts = corners * small
        edges = np.roll(starts, -1, axis=0) - starts
        lengths = norms(edges)
        to_points = (at * small)[:, None] - starts  # points, edges, 2
        units = edges / np.where(lengths > 0, lengths, 1)[:, None]
        along = np.clip((to_points * units).sum(axis=-1), 0, lengths)
        distances = np.asarray(norms(to_points - along[..., None] * units).min(axis=-1)) / small
    if len(corners) > 2:
        sides = list(zip(corners.tolist(), np.roll(corners, -1, axis=0).tolist(), strict=True))
        inside = [all(_turn(a, b, point) >= 0 for a, b in sides) for point in at.tolist()]
        distances[inside] = 0
    return distances


def _left_turns(points: NDArray[np.float64]) -> list[Point]:
    """Return the chain from the first point to the last that turns left at each in between."""
    chain: list[Point] = []
    for point in points.tolist():
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(a: Point, b: Point, c: Point) -> float | Fraction:
    """Return a number of the sign of the turn from ``ab`` to ``ac``: positive to the left."""
    left = (a[0] - c[0]) * (b[1] - c[1])
    right = (a[1] - c[1]) * (b[0] - c[0])
    # At most what five roundings and an underflow can do; false for what is infinite or NaN.
    if abs(left - right) > 4 * UNIT * (abs(left) + abs(right)) + sys.float_info.min:
        return left - right
    (ax, ay), (bx, by), (cx, cy) = (map(Fraction, point) for point in (a, b, c))
    return (ax - cx) * (by - cy) - (ay - cy) * (bx - cx)
