"""Points of any dimension: lengths and widths, the principal plane; and their checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays

PAIRS = 2**18  # squares at a time, or coordinates of pairs


def perimeter(polygon: ArrayLike, /) -> float:
    """Perimeter of a polygon: the closed way through its corners in their order.

    Parameters
    ----------
    polygon : array_like of shape (vertices, dim)
        Corners, finite; the last is joined to the first. Two corners are the way there and back.

    Returns
    -------
    float
        The sum of the lengths of the edges, in the unit of the corners.

    Raises
    ------
    ValueError
        If `polygon` has not two dimensions or is empty, or a number is not finite.
    TypeError
        If `polygon` are no real numbers.

    See Also
    --------
    convex_hull : Whose perimeter attention makes smaller.

    Notes
    -----
    The perimeter of a hull in the plane is the mean width times pi, so that attention makes it
    smaller by `dobrushin` at least. That of the polygon through tokens in their order may grow.

    References
    ----------
    Santalo, Integral Geometry and Geometric Probability, 1976, chapter I.1, for Cauchy's formula.

    Examples
    --------
    >>> from ropewalk.geometry import perimeter
    >>> perimeter([[0, 0], [3, 0], [3, 4]])
    12.0
    >>> perimeter([[0, 0], [3, 4]])
    10.0
    """
    corners = as_points("polygon", polygon)
    with np.errstate(all="ignore"):
        return float(norms(np.roll(corners, -1, axis=0) - corners).sum())


def width(points: ArrayLike, direction: ArrayLike, /) -> float:
    """Width of points in a direction: how far apart two planes hold them all.

    Parameters
    ----------
    points : array_like of shape (points, dim)
        Points, finite; at least one.
    direction : array_like of shape (dim,)
        What the planes are perpendicular to; finite and not zero, its length does not count.

    Returns
    -------
    float
        The same for points and for their convex hull; infinite where float64 holds no such number.

    Raises
    ------
    ValueError
        If `points` has not two dimensions or is empty, `direction` is zero or of another width, or
        a number is not finite.
    TypeError
        If `points` or `direction` are no real numbers.

    See Also
    --------
    diameter : The largest width.
    dobrushin : What attention makes every width smaller by.

    References
    ----------
    Schneider, Convex Bodies: The Brunn-Minkowski Theory, second edition, 2014, section 1.7.

    Examples
    --------
    >>> from ropewalk.geometry import width
    >>> width([[0, 0], [1, 3], [2, 1]], [1, 0])
    2.0
    """
    array = as_points("points", points)
    unit, small = as_direction("direction", direction, "points", array), shrink(array)
    with np.errstate(all="ignore"):
        # From a point, not from the origin, from which they may be much farther than from another.
        return float(np.ptp((array * small - array[0] * small) @ unit) / small)


def diameter(points: ArrayLike, /) -> float:
    """Diameter of a set of points: the largest distance between two of them.

    Parameters
    ----------
    points : array_like of shape (points, dim)
        Points, finite; at least one.

    Returns
    -------
    float
        The same for points and for their convex hull; 0 for one point.

    Raises
    ------
    ValueError
        If `points` has not two dimensions or is empty, or a number is not finite.
    TypeError
        If `points` are no real numbers.

    See Also
    --------
    width : The extent in one direction.

    References
    ----------
    Schneider, Convex Bodies: The Brunn-Minkowski Theory, second edition, 2014, section 1.7.

    Examples
    --------
    >>> from ropewalk.geometry import diameter
    >>> diameter([[0, 0], [1, 1], [3, 4]])
    5.0
    """
    array = as_points("points", points)
    with np.errstate(all="ignore"):
        squares = Squares(array)
        largest = float(norms(array - array[squares.farthest]).max())

        def farthest() -> float:
            return squares.at_least(largest)

        for first, second in squares.pairs(farthest, np.greater_equal):
            largest = max(largest, float(norms(array[second] - array[first]).max()))
    return largest


def principal_plane(points: ArrayLike, /) -> NDArray[np.float64]:
    """Coordinates of points in the plane of their first two principal components.

    Parameters
    ----------
    points : array_like of shape (points, dim)
        Points, finite; at least one, of at least two dimensions.

    Returns
    -------
    ndarray of float64 of shape (points, 2)
        Coordinates around the mean: the first along the direction in which the points are spread
        most, the second along that in which most of the rest is.

    Raises
    ------
    ValueError
        If `points` has another shape or is empty, or a number is not finite.
    TypeError
        If `points` are no real numbers.

    Notes
    -----
    An axis can be turned round without harm, so that signs are a choice: of each axis, the largest
    component is positive (of those as large to nine digits, the first). Where points are spread as
    far in several directions, which of them comes first is left to rounding.

    References
    ----------
    Pearson, On Lines and Planes of Closest Fit to Systems of Points in Space, 1901, Philosophical
    Magazine 2(11).

    Examples
    --------
    >>> from ropewalk.geometry import principal_plane
    >>> principal_plane([[0, 1, 0], [0, -1, 0], [0, 0, 3], [0, 0, -3]]).round(12) + 0.0
    array([[ 0.,  1.],
           [ 0., -1.],
           [ 3.,  0.],
           [-3.,  0.]])
    """
    array = as_points("points", points)
    if array.shape[1] < 2:
        msg = f"points must have at least two dimensions, got shape {array.shape}"
        raise ValueError(msg)
    if len(array) == 1:  # which is the mean, and would have as many components as features
        return np.zeros((1, 2))
    small = shrink(array)
    with np.errstate(all="ignore"):
        array = array * small
        centred = array - array.mean(axis=0)
        components = np.linalg.svd(centred, full_matrices=False)[2][:2]
        sizes = np.abs(components)
        first_largest = (sizes > (1 - 1e-9) * sizes.max(axis=1, keepdims=True)).argmax(axis=1)
        components *= np.sign(components[[0, 1], first_largest])[:, None]
        return np.asarray(centred @ components.T / small)


def as_reals(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return finite data."""
    array = _arrays.data(name, values).astype(np.float64)
    _arrays.check_finite(name, array)
    return array


def as_points(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = as_reals(name, values)
    if array.ndim != 2 or not array.size:
        msg = f"{name} must have two dimensions and not be empty, got shape {array.shape}"
        raise ValueError(msg)
    return array


def as_plane(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = as_points(name, values)
    if array.shape[1] != 2:
        msg = f"{name} must lie in the plane, in shape (points, 2), got shape {array.shape}"
        raise ValueError(msg)
    return array


def as_direction(name: str, values: ArrayLike, of: str, data: ArrayLike) -> NDArray[np.float64]:
    """Return a vector of length 1, as wide as data are."""
    array, features = as_reals(name, values), as_reals(of, data).shape[-1]
    if array.shape != (features,):
        msg = f"{name} must have shape ({features},), as wide as {of}, got shape {array.shape}"
        raise ValueError(msg)
    if not array.any():
        msg = f"{name} must not be zero"
        raise ValueError(msg)
    with np.errstate(under="ignore"):
        scaled = array / np.abs(array).max()
        return np.asarray(scaled / np.linalg.norm(scaled))


def shrink(array: NDArray[np.float64], axis: int | None = None) -> NDArray[np.float64]:
    """Return powers of two times which sums and differences of numbers are finite.

    There is one for all numbers, or one for those along an axis. They are 1 but for the largest
    numbers: beside those, what is nearly 0 loses digits.
    """
    room = 3 + array.size.bit_length()
    largest = np.abs(array).max(axis=axis, keepdims=axis is not None)
    return np.where(largest > 2.0 ** (1023 - room), 0.5**room, 1.0)


class Squares:
    """Squared distances of all points, by products of matrices: quick, but rounded.

    They choose pairs that are worth measuring. Their unit is that of the coordinates but for a
    power of two, with which no square overflows.
    """

    def __init__(self, points: NDArray[np.float64]) -> None:
        self._exponent = int(np.frexp(np.abs(points).max())[1])
        with np.errstate(under="ignore"):
            scaled = np.ldexp(points, -self._exponent)
        self._points = scaled - scaled.mean(axis=0)
        self._sizes = np.vecdot(self._points, self._points)
        self.farthest = int(self._sizes.argmax())
        # Of a sum of products, relatively, twice and with what else is rounded.
        self._rounding: float = 8 * (points.shape[1] + 8) * 2.0**-53
        self._slack: float = self._rounding * float(self._sizes.max())

    def at_most(self, distance: float) -> float:
        """Return what no square exceeds whose distance is at most that."""
        return self._square(distance) * (1 + self._rounding) + self._slack

    def at_least(self, distance: float) -> float:
        return self._square(distance) * (1 - self._rounding) - self._slack

    def pairs(
        self,
        limit: Callable[[], float],
        compare: Callable[..., NDArray[np.bool_]],
        last: Callable[[int], int] | None = None,
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield first and second points, some at a time, whose squares are beyond a limit.

        The limit may change meanwhile. `last` is the end of the second points that come into
        question for a first one and those before it.
        """
        count, dim = self._points.shape
        step = max(1, PAIRS // count)
        for begin in range(0, count, step):
            end = min(begin + step, count)
            first, second = slice(begin, end), slice(begin, last(end - 1) if last else count)
            products = self._points[first] @ self._points[second].T
            squares = self._sizes[first, None] + self._sizes[second] - 2 * products
            one, other = np.nonzero(compare(squares, limit()))
            behind = other > one
            one, other = begin + one[behind], begin + other[behind]
            for at in range(0, len(one), max(1, PAIRS // dim)):
                some = slice(at, at + max(1, PAIRS // dim))
                yield one[some], other[some]

    def _square(self, distance: float) -> float:
        scaled: float = math.ldexp(distance, -self._exponent)
        return scaled * scaled


def norms(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lengths of vectors, of which no square overflows or vanishes."""
    with np.errstate(all="ignore"):
        lengths = np.asarray(np.linalg.norm(vectors, axis=-1))
        safe = (lengths > 2.0**-500) & (lengths < np.inf)  # the others are slow to find, and rare
        lengths[~safe] = np.hypot.reduce(vectors[~safe], axis=-1, initial=0)
    return lengths
