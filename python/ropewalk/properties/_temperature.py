"""Temperature and scale: how sharp weights are, and why scores are divided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _options, attention_weights, softmax
from ropewalk._options import Integer
from ropewalk.geometry._contraction import check_shares
from ropewalk.properties._measurement import generator, largest, reals, reals_in_float64

LARGEST_LENGTH = 2**16  # scores of the longest sequence fill 32 GiB


def entropy(weights: ArrayLike, /) -> NDArray[np.float64]:
    """Shannon entropy of attention weights.

    Parameters
    ----------
    weights : array_like of shape (..., length)
        Weights that sum to 1 along the last axis, to within 2**-8 as rounded ones do, finite and
        not negative; float64, float32, float16 or bfloat16.

    Returns
    -------
    ndarray of shape (...)
        ``-sum(w log w)`` (nats), float64: 0 where one key has all the weight, ``log(length)`` where
        all have the same; ``exp`` of it is the number of keys that a row attends to.

    Raises
    ------
    ValueError
        If `weights` are empty, negative, not finite or a number, or a row does not sum to 1.
    TypeError
        If `weights` are no such numbers.

    References
    ----------
    Shannon, A Mathematical Theory of Communication, 1948, section 6.

    Examples
    --------
    >>> from ropewalk.properties import entropy
    >>> entropy([[0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]).round(4)
    array([1.3863, 0.6931, 0.    ])
    """
    w = reals_in_float64("weights", weights)
    check_shares(w)
    return _entropy(w)


@np.errstate(under="ignore")
def _entropy(weights: NDArray[Any]) -> NDArray[np.float64]:
    w = weights.astype(np.float64)
    sums = (w * np.log(np.where(w > 0, w, 1.0))).sum(axis=-1)
    return np.asarray(0.0 - sums, order="C")


@dataclass(frozen=True, slots=True, eq=False)
class Temperature:
    """How sharp softmax is at several scales.

    Attributes
    ----------
    scales : ndarray of shape (scales,)
        Factors of the logits, each one over a temperature.
    entropy : ndarray of shape (scales, ...)
        Entropy of every row (nats).
    largest : ndarray of shape (scales, ...)
        Largest weight of every row.
    """

    scales: NDArray[np.float64]
    entropy: NDArray[np.float64]
    largest: NDArray[np.float64]


def temperature(x: ArrayLike, /, *, scales: ArrayLike) -> Temperature:
    """Temperature of softmax: the larger the scale, the sharper the weights.

    Parameters
    ----------
    x : array_like of shape (..., length)
        As in `softmax_sum`.
    scales : array_like of shape (scales,)
        Factors of the logits, each one over a temperature; finite.

    Returns
    -------
    Temperature
        Entropy and largest weight of every row at every scale.

    Raises
    ------
    ValueError
        If `x` or `scales` are empty or not finite, `x` is a number, `scales` has not one dimension,
        or float64 does not hold their products.
    TypeError
        If `x` or `scales` are no such numbers.

    See Also
    --------
    scale_law : Why attention divides by the square root of its width.

    Notes
    -----
    At scale 0 all weights are equal, and the entropy is ``log(length)``. From there on the entropy
    never rises with the scale, since its derivative is ``-scale`` times the variance of the logits
    under the weights, and the largest weight never falls; in the end the largest logits share all.
    The threshold is the rounding of logits and weights: no rise of the entropy above ``8 (s +
    log(length) + 1) u``, with s the spread of the scaled logits, and u half the spacing of the
    numbers above 1. So whether softmax sharpens or flattens depends on the size of the logits; the
    negative control is shares ``x / sum(x)``, which no scale changes.

    References
    ----------
    Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015, arXiv:1503.02531,
    equation 1.

    Examples
    --------
    Softmax of small numbers is flatter than the numbers are, and of large ones sharper:

    >>> from ropewalk.properties import temperature
    >>> temperature([0.1, 0.2, 0.3, 0.4], scales=[0, 1, 10, 100]).largest.round(4)
    array([0.25  , 0.2887, 0.6439, 1.    ])
    """
    logits, factors = reals("x", x), reals("scales", scales)
    if factors.ndim != 1:
        msg = f"scales must have one dimension, got shape {factors.shape}"
        raise ValueError(msg)
    farthest = largest(logits.astype(np.float64)), largest(factors.astype(np.float64))
    if math.isinf(math.prod(farthest)):
        msg = f"x * scales must be finite, got {farthest[0]} * {farthest[1]}"
        raise ValueError(msg)
    weights = [softmax(logits, scale=scale) for scale in factors.tolist()]
    return Temperature(
        factors.astype(np.float64),
        np.stack([_entropy(each) for each in weights]),
        np.stack([each.max(axis=-1) for each in weights]).astype(np.float64),
    )


@dataclass(frozen=True, slots=True, eq=False)
class ScaleLaw:
    """Scores of random queries and keys at several widths, all arrays of shape (dims,).

    Attributes
    ----------
    dims : ndarray of int
        Widths of queries and keys.
    variance : ndarray
        Mean square of the scores ``q . k``.
    standard_error : ndarray
        Standard deviation of `variance` over many such draws.
    scaled_entropy : ndarray
        Mean entropy of attention weights of ``q . k / sqrt(dim)`` (nats).
    unscaled_entropy : ndarray
        Mean entropy of attention weights of ``q . k`` (nats).
    """

    dims: NDArray[np.int64]
    variance: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    scaled_entropy: NDArray[np.float64]
    unscaled_entropy: NDArray[np.float64]

    @property
    def holds(self) -> bool:
        """Whether every variance is within five standard errors of its width."""
        return bool((np.abs(self.variance - self.dims) <= 5 * self.standard_error).all())


def scale_law(
    dims: Sequence[Integer] | NDArray[np.integer[Any]],
    /,
    *,
    length: Integer = 256,
    seed: Integer | np.random.Generator,
) -> ScaleLaw:
    """Scale law of attention: scores grow as the square root of the width.

    Of independent entries with mean 0 and variance 1, ``q . k`` has variance dim. Divided by
    ``sqrt(dim)`` it has variance 1 at any width; otherwise softmax turns to the largest score only.

    Parameters
    ----------
    dims : sequence or array of int
        Widths of queries and keys, each from 1 to 2**20.
    length : int, default 256
        Number of queries, and of keys, from 1 to 2**16; all are drawn from the standard normal
        distribution.
    seed : int or Generator
        Seed, 0 or more, or the generator that draws.

    Returns
    -------
    ScaleLaw
        Variance of the scores, and mean entropy of the weights with and without the scale, at every
        width.

    Raises
    ------
    ValueError
        If an argument is out of the range above, or `dims` are empty.
    TypeError
        If `dims` are no sequence and no array of one dimension, a width or `length` is no integer,
        or `seed` is neither an integer nor a generator.

    See Also
    --------
    temperature : What the scale does to one row.

    Notes
    -----
    Thresholds: the variance is within five standard errors of dim, where one is ``sqrt(2 dim (dim +
    2 length + 1)) / length`` for normal entries; the entropy of scaled scores is within 1/4 of
    ``log(length) - 1/2``, its limit for long rows, from ``dim = 8`` and ``length = 64`` on.
    The unscaled scores are the negative control: their entropy falls towards 0.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.2.1, footnote 4.

    Examples
    --------
    >>> from ropewalk.properties import scale_law
    >>> law = scale_law([16, 64, 256], seed=1)
    >>> law.holds
    True
    >>> bool((law.scaled_entropy > 4.5).all()), bool((law.unscaled_entropy < 2.5).all())
    (True, True)
    """
    dims = _options.sequence_of_integers("dims", dims)
    if not len(dims):
        msg = "dims must not be empty"
        raise ValueError(msg)
    widths = [_options.integer_between("dims", dim, 1, _options.LARGEST_DIM) for dim in dims]
    length = _options.integer_between("length", length, 1, LARGEST_LENGTH)
    draws = generator(seed)
    columns = []
    for dim in widths:
        query, key = draws.standard_normal((2, length, dim))
        columns.append(
            (
                dim,
                np.square(query @ key.T).mean(),
                math.sqrt(2 * dim * (dim + 2 * length + 1)) / length,
                entropy(attention_weights(query, key)).mean(),
                entropy(attention_weights(query, key, scale=1.0)).mean(),
            )
        )
    first, *others = (np.array(column) for column in zip(*columns, strict=True))
    return ScaleLaw(first, *others)
