"""Vectors: projections."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk.geometry._points import as_direction, as_reals, shrink


def scalar_projection(a: ArrayLike, onto: ArrayLike, /) -> NDArray[np.float64]:
    """Signed length of a vector along another: ``w = |a| cos(angle)``.

    The inner product of both is ``|onto| w``: project `a`, and make it ``|onto|`` times as long.

    Parameters
    ----------
    a : array_like of shape (..., dim)
        Vectors, finite.
    onto : array_like of shape (dim,)
        The vector whose direction counts; finite and not zero.

    Returns
    -------
    ndarray of float64 of shape (...)
        Negative where the angle is more than a right one; in the unit of `a`. Infinite where
        float64 holds no such number.

    Raises
    ------
    ValueError
        If `onto` is zero or not one vector as wide as `a`, or a number is not finite.
    TypeError
        If `a` or `onto` are no real numbers.

    See Also
    --------
    projection : The vector of this length.

    Notes
    -----
    At fixed lengths it grows as directions come closer. A longer vector makes the inner product
    larger only where that is positive: a negative one becomes more so.

    References
    ----------
    Axler, Linear Algebra Done Right, fourth edition, 2024, section 6A.

    Examples
    --------
    >>> from ropewalk.geometry import scalar_projection
    >>> scalar_projection([3.0, 4.0], [10.0, 0.0])  # inner product 30 = 10 * 3
    array(3.)
    >>> scalar_projection([[3.0, 4.0], [-1.0, 2.0]], [0.0, 2.0])
    array([4., 2.])
    """
    along, _, small = _projected(a, onto)
    with np.errstate(all="ignore"):
        return np.asarray(along / small)


def projection(a: ArrayLike, onto: ArrayLike, /) -> NDArray[np.float64]:
    """Orthogonal projection of a vector onto the line of another.

    Parameters
    ----------
    a : array_like of shape (..., dim)
        Vectors, finite.
    onto : array_like of shape (dim,)
        A vector along the line; finite and not zero.

    Returns
    -------
    ndarray of float64 of shape (..., dim)
        The points of the line that are nearest to `a`: what is left of `a` is perpendicular to it.
        Infinite where float64 holds no such number.

    Raises
    ------
    ValueError
        If `onto` is zero or not one vector as wide as `a`, or a number is not finite.
    TypeError
        If `a` or `onto` are no real numbers.

    See Also
    --------
    scalar_projection : Its signed length.

    References
    ----------
    Axler, Linear Algebra Done Right, fourth edition, 2024, section 6A.

    Examples
    --------
    >>> from ropewalk.geometry import projection
    >>> projection([3.0, 4.0], [10.0, 0.0])
    array([3., 0.])
    """
    along, unit, small = _projected(a, onto)
    with np.errstate(all="ignore"):
        return np.asarray(along[..., None] * unit / small[..., None])


def _projected(
    a: ArrayLike, onto: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return signed lengths, the unit vector, and powers of two that the lengths are to lose."""
    vectors = as_reals("a", a)
    unit = as_direction("onto", onto, "a", vectors)
    with np.errstate(all="ignore"):  # what overflows is found again
        along = np.asarray(vectors @ unit)
    small, lost = np.ones(along.shape), ~np.isfinite(along)
    if lost.any():
        shrunk = shrink(vectors[lost], -1)
        along[lost], small[lost] = (vectors[lost] * shrunk) @ unit, shrunk[..., 0]
    return along, unit, small
