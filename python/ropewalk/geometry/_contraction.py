"""Attention as a contraction of points."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _options, attention
from ropewalk._options import Integer, Real
from ropewalk.geometry._points import as_points, as_reals

MOST_STEPS = 2**20
ROW_SUMS = 2.0**-8  # how far from 1: more than the rounding of bfloat16


def dobrushin(weights: ArrayLike, /) -> float:
    """Dobrushin's coefficient of weights: how far apart two rows can be, from 0 to 1.

    ``tau = max over i, k of sum over j of |a_ij - a_kj| / 2``, the largest total variation between
    what two queries look at. Attention multiplies every width by ``tau`` at most.

    Parameters
    ----------
    weights : array_like of shape (query length, key length)
        Weights of attention: not negative, and rows that sum to 1, to within 1/256 as rounded ones
        do.

    Returns
    -------
    float
        0 where all rows are equal, so that all outputs are; 1 where two rows share no key. Below 1
        wherever all scores are finite, but for weights that round to 0.

    Raises
    ------
    ValueError
        If `weights` has not two dimensions or is empty, a weight is negative or not finite, or a
        row does not sum to 1.
    TypeError
        If `weights` are no real numbers.

    See Also
    --------
    ropewalk.attention_weights : Weights to measure.
    width, diameter, perimeter : What it bounds; the last of the hull.

    Notes
    -----
    With values V, outputs O and ``tau`` of the weights: ``width(O) <= tau width(V)`` in every
    direction, so ``diameter(O) <= tau diameter(V)``, and in the plane the perimeter of the hull is
    bounded alike. The area of the hull is at most ``min(1, 1.5 tau^2)`` times that of the values;
    1.5 is the smallest constant for which that is so. Where the values are ``X W_V``, then
    ``diameter(O) <= tau |W_V| diameter(X)`` with the spectral norm, which may well be above 1.

    References
    ----------
    Dobrushin, Central Limit Theorem for Nonstationary Markov Chains I, 1956, Theory of Probability
    and Its Applications 1(1).

    Seneta, Non-negative Matrices and Markov Chains, second edition, 1981, section 4.3.

    Examples
    --------
    >>> from ropewalk.geometry import dobrushin
    >>> dobrushin([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])
    0.5
    """
    array = as_points("weights", weights)
    check_shares(array)
    apart = max(float(np.abs(array[i:] - array[i]).sum(axis=1).max()) for i in range(len(array)))
    return min(apart / 2, 1.0)  # sums of rounded weights may be above 1


def iterate_attention(
    points: ArrayLike,
    steps: Integer,
    /,
    *,
    scale: Real | None = None,
    value_weight: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Self-attention again and again, each step on the outputs of the last.

    Points are queries and keys as they are, and values ``points @ value_weight``.

    Parameters
    ----------
    points : array_like of shape (length, dim)
        Tokens, finite; at least one.
    steps : int
        How many steps, from 1 to 2**20.
    scale : float, optional
        What inner products are multiplied by, 0 or more; ``1 / sqrt(dim)`` unless given.
    value_weight : array_like of shape (dim, dim), optional
        Linear map of the values, finite; the identity unless given.

    Returns
    -------
    ndarray of float64 of shape (steps + 1, length, dim)
        The points, and what becomes of them.

    Raises
    ------
    ValueError
        If `points` has not two dimensions or is empty, `value_weight` has another shape, `steps` or
        `scale` lies outside of its range, or a number is not finite.
    TypeError
        If an array holds no real numbers, `steps` is no integer or `scale` no number.

    See Also
    --------
    ropewalk.attention : One step.

    Notes
    -----
    Without `value_weight` every convex hull lies in the one before, and diameters fall to 0 by
    ``D' <= min(tau, scale D^2 / 4) D``: by `dobrushin` of the weights, and in the end faster than
    any geometric sequence. The second bound holds since an output changes with its query as fast as
    ``scale`` times the covariance of the values under the weights, which is at most ``D^2 / 4``.
    Long vectors and large scales wait for long at first, with ``tau`` near 1. A `value_weight` can
    make points grow without end, up to overflow.

    References
    ----------
    Dong, Cordonnier and Loukas, Attention is Not All You Need: Pure Attention Loses Rank Doubly
    Exponentially with Depth, 2021, arXiv:2103.03404.

    Geshkovski et al., A Mathematical Perspective on Transformers, 2023, arXiv:2312.10794.

    Examples
    --------
    >>> from ropewalk.geometry import diameter, iterate_attention
    >>> iterate_attention([[1.0], [3.0]], 2, scale=0.0)[:, :, 0]  # means of all
    array([[1., 3.],
           [2., 2.],
           [2., 2.]])
    >>> [round(diameter(x), 3) for x in iterate_attention([[-1], [1]], 3, scale=1)]  # x tanh(x x)
    [2.0, 1.523, 0.796, 0.125]
    """
    x = as_points("points", points)
    count = _options.integer_between("steps", steps, 1, MOST_STEPS)
    factor = 1 / math.sqrt(x.shape[1]) if scale is None else _options.finite_number("scale", scale)
    if factor < 0:
        msg = f"scale must be 0 or more, got {factor!r}"
        raise ValueError(msg)
    weight = np.eye(x.shape[1]) if value_weight is None else as_reals("value_weight", value_weight)
    if weight.shape != x.shape[1:] * 2:
        msg = f"value_weight must have shape {x.shape[1:] * 2}, got {weight.shape}"
        raise ValueError(msg)
    every = np.empty((count + 1, *x.shape))
    every[0] = x
    with np.errstate(all="ignore"):  # points may move beyond any number
        for step in range(count):
            x = every[step]
            every[step + 1] = attention(x, x, x @ weight, scale=factor)
    return every


def check_shares(weights: NDArray[np.float64]) -> None:
    """Refuse weights that are negative, or whose rows do not sum to 1."""
    if (weights < 0).any():
        msg = f"weights must not be negative, got {weights.min()}"
        raise ValueError(msg)
    with np.errstate(over="ignore"):
        sums = weights.sum(axis=-1).reshape(-1)
    furthest = sums[np.abs(sums - 1).argmax()]
    if abs(furthest - 1) > ROW_SUMS:
        msg = f"weights must have rows that sum to 1, got a row that sums to {furthest:.6g}"
        raise ValueError(msg)
