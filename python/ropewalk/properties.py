"""What attention and softmax are said to do, as measurements.

Every function measures one statement, and most return a `Measurement`: how far the statement is
off, and how far rounding alone can bring it. The docstrings name the threshold, and the negative
control: where the statement is false, which the measurement must notice.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, attention, attention_weights, softmax
from ropewalk.frequencies._frequencies import finite_reals

__all__ = [
    "Measurement",
    "ScaleLaw",
    "Temperature",
    "entropy",
    "identical_tokens",
    "permutation_equivariance",
    "scale_law",
    "softmax_order",
    "softmax_ratio",
    "softmax_shift",
    "softmax_sum",
    "temperature",
]

LARGEST_LENGTH = 2**16  # scores of the longest sequence fill 32 GiB

Softmax = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Measurement:
    """How far a statement is off, and how far it may be.

    Attributes
    ----------
    value : float
        What was measured; NaN where something was no number.
    bound : float
        The most that rounding explains.

    Examples
    --------
    >>> from ropewalk.properties import Measurement
    >>> Measurement(value=1e-8, bound=6e-8).holds
    True
    """

    value: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the statement holds."""
        return self.value <= self.bound


# Order of the tokens


def permutation_equivariance(
    x: ArrayLike,
    /,
    *,
    encoding: ArrayLike | None = None,
    causal: bool = False,
    seed: int | np.random.Generator,
) -> Measurement:
    """Permutation equivariance of self-attention: ``Attn(P X) = P Attn(X)``.

    Shuffled tokens give the same outputs, shuffled: attention takes in which tokens there are, and
    not their order.

    Parameters
    ----------
    x : array_like of shape (length, dim)
        Tokens: queries, keys and values alike. Finite; float64, float32 or float16, integers become
        float64.
    encoding : array_like of shape (length, dim), optional
        Positions, added once the tokens are shuffled. A negative control.
    causal : bool, default False
        Let tokens see only themselves and those before them. A negative control.
    seed : int or Generator
        Seed, 0 or more, or the generator that shuffles.

    Returns
    -------
    Measurement
        The largest difference ``|Attn(P X) - P Attn(X)|``. The bound is ``8 length u max|v|``, with
        v the values and u half the spacing of the numbers above 1 in their dtype.

    Raises
    ------
    ValueError
        If `x` has not two dimensions, is empty or not finite, `encoding` has another shape, or
        `seed` is negative.
    TypeError
        If `x` or `encoding` are no such numbers, or `seed` is neither an integer nor a generator.

    See Also
    --------
    identical_tokens : What follows for a word that occurs twice.

    Notes
    -----
    In exact arithmetic the difference is 0; in floating point shuffled keys are summed in another
    order. With an encoding or a causal mask the statement is false, since attention then sees
    order. Two things can hide that: a shuffle that leaves all in place, which is rare among many
    tokens, and a bound that is no longer small beside the values, as that of float16 from some 30
    tokens on.

    References
    ----------
    Lee et al., Set Transformer, 2019, arXiv:1810.00825, section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> from ropewalk.properties import permutation_equivariance
    >>> tokens = np.random.default_rng(1).standard_normal((16, 8))
    >>> permutation_equivariance(tokens, seed=2).holds
    True
    >>> permutation_equivariance(tokens, causal=True, seed=2).holds
    False
    >>> positions = rw.sinusoidal_encoding(range(16), 8)
    >>> permutation_equivariance(tokens, encoding=positions, seed=2).holds
    False
    """
    tokens, added = _tokens(x, encoding)
    order = _generator(seed).permutation(len(tokens))
    placed = tokens + added
    shuffled = _self_attention(tokens[order] + added, causal)
    difference = shuffled - _self_attention(placed, causal)[order]
    return Measurement(_largest(difference), 8 * len(tokens) * _unit(placed) * _largest(placed))


def identical_tokens(
    x: ArrayLike,
    /,
    *,
    encoding: ArrayLike | None = None,
    causal: bool = False,
) -> Measurement:
    """Identical tokens: self-attention gives them identical outputs, to the bit.

    In "The dog chased another dog" the two dogs are one, until something tells their places.

    Parameters
    ----------
    x : array_like of shape (length, dim)
        Tokens, at least one of them more than once: queries, keys and values alike. Finite;
        float64, float32 or float16, integers become float64.
    encoding : array_like of shape (length, dim), optional
        Positions, added to the tokens. A negative control.
    causal : bool, default False
        Let tokens see only themselves and those before them. A negative control.

    Returns
    -------
    Measurement
        The largest difference between outputs of equal tokens; the bound is 0.

    Raises
    ------
    ValueError
        If `x` has not two dimensions, is empty or not finite, or all its tokens differ, or
        `encoding` has another shape.
    TypeError
        If `x` or `encoding` are no such numbers.

    See Also
    --------
    permutation_equivariance : What it follows from, in exact arithmetic.

    Notes
    -----
    Equal queries see the same keys in the same order, so even the roundings are the same. With an
    encoding or a causal mask the outputs differ.

    References
    ----------
    Fleetwood, You could have designed state of the art positional encoding, 2024, section
    "Motivating Example", for the sentence.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> from ropewalk.properties import identical_tokens
    >>> table = np.random.default_rng(1).standard_normal((4, 8))
    >>> tokens = rw.embed([0, 1, 2, 3, 1], table)  # the dog chased another dog
    >>> identical_tokens(tokens)
    Measurement(value=0.0, bound=0.0)
    >>> identical_tokens(tokens, causal=True).holds
    False
    >>> identical_tokens(tokens, encoding=rw.sinusoidal_encoding(range(5), 8)).holds
    False
    """
    tokens, added = _tokens(x, encoding)
    first = (tokens[:, None] == tokens).all(axis=-1).argmax(axis=-1)
    if (first == np.arange(len(tokens))).all():
        msg = f"x must hold a token more than once, got {len(tokens)} that all differ"
        raise ValueError(msg)
    output = _self_attention(tokens + added, causal)
    return Measurement(_largest(output - output[first]), 0.0)


def _tokens(x: ArrayLike, encoding: ArrayLike | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return tokens, and what is added to them at their places."""
    tokens = _reals("x", x)
    if tokens.ndim != 2:
        msg = f"x must have two dimensions, tokens and features, got shape {tokens.shape}"
        raise ValueError(msg)
    if encoding is None:
        return tokens, np.zeros_like(tokens)
    added = _reals("encoding", encoding)
    if added.shape != tokens.shape:
        msg = f"encoding must have the shape of x, {tokens.shape}, got {added.shape}"
        raise ValueError(msg)
    return tokens, added


def _self_attention(x: NDArray[Any], causal: bool) -> NDArray[Any]:
    return attention(x, x, x, causal=causal)


# Laws of softmax


def softmax_sum(x: ArrayLike, /, *, softmax: Softmax = softmax) -> Measurement:
    """Sum of softmax weights: exactly 1, but for the rounding of each weight.

    Parameters
    ----------
    x : array_like of shape (..., length)
        Logits, finite; float64, float32 or float16, integers become float64.
    softmax : callable, default ropewalk.softmax
        What is measured: it takes logits and returns weights of the same shape. Any other formula
        is a negative control.

    Returns
    -------
    Measurement
        The largest ``|sum of a row - 1|``, weights summed without rounding. The bound is ``u +
        length (2**-53 + s)``, with u half the spacing of the numbers above 1, and s half the
        smallest number above 0.

    Raises
    ------
    ValueError
        If `x` is empty, not finite or a number.
    TypeError
        If `x` holds no such numbers.

    See Also
    --------
    softmax_shift, softmax_order, softmax_ratio : Its other laws.

    Notes
    -----
    Each weight is rounded by at most u of itself, and together the weights are 1: so the sum is
    within u of 1 however long the row is, 2**-24 in float32. What a long row adds is the rounding
    of the denominator, which is summed in float64, and in float16 the weights too small to keep all
    bits. Software that sums the denominator in float32 one by one stops at 2**24 equal logits.

    References
    ----------
    Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 4.2, for the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from ropewalk.properties import softmax_sum
    >>> logits = np.random.default_rng(1).standard_normal((10, 1000), np.float32)
    >>> softmax_sum(logits).holds
    True

    Weights that an article gives to four words are none that a softmax can give:

    >>> softmax_sum(np.zeros(4), softmax=lambda x: np.array([0.6, 0.2, 0.8, 0.1])).holds
    False
    """
    logits = _reals("x", x)
    length = logits.shape[-1]
    weights = softmax(logits).reshape(-1, length).tolist()
    smallest = float(np.finfo(logits.dtype).smallest_subnormal)
    bound = _unit(logits) + length * (2.0**-53 + smallest / 2)
    return Measurement(_largest([math.fsum([*row, -1.0]) for row in weights]), bound)


def softmax_shift(x: ArrayLike, /, *, shift: float, softmax: Softmax = softmax) -> Measurement:
    """Shift invariance of softmax: a constant added to all logits changes no weight.

    Parameters
    ----------
    x : array_like of shape (..., length)
        As in `softmax_sum`.
    shift : float
        The constant, finite. It is added in the dtype of `x`.
    softmax : callable, default ropewalk.softmax
        As in `softmax_sum`. A negative control is the formula without subtraction of the largest
        logit, which overflows.

    Returns
    -------
    Measurement
        The largest relative change of a weight, among those that are normal numbers. The bound is
        ``(2 max|x + shift| + 4 spread + 16) u + 2 length 2**-53``, with u half the spacing of the
        numbers above 1, and the spread that of the logits of a row.

    Raises
    ------
    ValueError
        If `x` is empty, not finite or a number, or `x + shift` is not finite.
    TypeError
        If `x` holds no such numbers, or `shift` is no number.

    See Also
    --------
    softmax_sum, softmax_order, softmax_ratio : Its other laws.

    Notes
    -----
    Exact for real numbers. In floating point ``x + shift`` is rounded before softmax sees it, and
    a logit that is off by d changes weights by up to 2 d, relatively: that is the first term of the
    bound. The second is the rounding of logits less the largest one, the rest the rounding of
    exponentials, sums and quotients, twice.

    References
    ----------
    Blanchard, Higham and Higham, Accurately Computing the Log-Sum-Exp and Softmax Functions, 2021,
    section 1.

    Examples
    --------
    Small integers are shifted without rounding, and the weights are the same to the bit:

    >>> from ropewalk.properties import softmax_shift
    >>> softmax_shift([1.0, 2.0, 3.0, 4.0], shift=1000.0).value
    0.0
    """
    logits = _reals("x", x)
    constant = _arrays.finite_number("shift", shift)
    with np.errstate(over="ignore"):  # what lies beyond the largest number is refused
        shifted = _reals("x + shift", logits + np.array(constant).astype(logits.dtype))
    before, after = (softmax(each).astype(np.float64) for each in (logits, shifted))
    normal = ~(np.minimum(before, after) < np.finfo(logits.dtype).tiny)
    spread = _largest(np.ptp(logits.astype(np.float64), axis=-1))
    bound = (2 * _largest(shifted) + 4 * spread + 16) * _unit(logits)
    bound += 2 * logits.shape[-1] * 2.0**-53
    return Measurement(_largest(after[normal] / before[normal] - 1), bound)


def softmax_order(x: ArrayLike, /, *, softmax: Softmax = softmax) -> Measurement:
    """Order of softmax: a larger logit never gets a smaller weight, to the bit.

    Parameters
    ----------
    x : array_like of shape (..., length)
        As in `softmax_sum`.
    softmax : callable, default ropewalk.softmax
        As in `softmax_sum`. A negative control is any formula that falls somewhere.

    Returns
    -------
    Measurement
        How many logits, sorted in their rows, have a smaller weight than the one before them, or
        another weight than an equal one; the bound is 0.

    Raises
    ------
    ValueError
        If `x` is empty, not finite or a number.
    TypeError
        If `x` holds no such numbers.

    See Also
    --------
    softmax_sum, softmax_shift, softmax_ratio : Its other laws.

    Notes
    -----
    Different logits may share a weight, since weights are rounded: order is kept, strict order is
    not. Rounding keeps order, and so does division by the same sum: what can fail is an exponential
    that is off by more than the step between neighbouring logits.

    References
    ----------
    Bridle, Probabilistic Interpretation of Feedforward Classification Network Outputs, with
    Relationships to Statistical Pattern Recognition, 1990, where it is named.

    Examples
    --------
    >>> import numpy as np
    >>> from ropewalk.properties import softmax_order
    >>> softmax_order([0.3, 0.1, 0.4, 0.2]).holds
    True
    >>> softmax_order([0.3, 0.1, 0.4, 0.2], softmax=np.cos).value
    3.0
    """
    logits = _reals("x", x)
    order = np.argsort(logits, axis=-1, kind="stable")
    sorted_logits = np.take_along_axis(logits, order, axis=-1)
    weights = np.take_along_axis(softmax(logits), order, axis=-1)
    equal = sorted_logits[..., 1:] == sorted_logits[..., :-1]
    kept = weights[..., 1:] >= weights[..., :-1]
    kept &= ~equal | (weights[..., 1:] == weights[..., :-1])
    return Measurement(float(np.count_nonzero(~kept)), 0.0)


def softmax_ratio(x: ArrayLike, /, *, softmax: Softmax = softmax) -> Measurement:
    """Ratio law of softmax: two weights are as the exponentials of their logits.

    ``y_i / y_j = e^(x_i - x_j)``: what counts is how far apart logits are, and nothing else.

    Parameters
    ----------
    x : array_like of shape (..., length)
        As in `softmax_sum`.
    softmax : callable, default ropewalk.softmax
        As in `softmax_sum`. Negative controls are another temperature, and shares ``x / sum(x)``.

    Returns
    -------
    Measurement
        The largest ``|log(y_i / y_j) - (x_i - x_j)|`` with j the largest logit of the row, among
        weights that are normal numbers. The bound is ``(4 spread + 8) u``, with u half the spacing
        of the numbers above 1, and the spread that of the logits of a row.

    Raises
    ------
    ValueError
        If `x` is empty, not finite or a number.
    TypeError
        If `x` holds no such numbers.

    See Also
    --------
    softmax_sum, softmax_shift, softmax_order : Its other laws.
    temperature : What a factor before the logits does.

    Notes
    -----
    The first term is the rounding of differences of logits, in softmax and in the measurement.

    References
    ----------
    Bridle, Probabilistic Interpretation of Feedforward Classification Network Outputs, with
    Relationships to Statistical Pattern Recognition, 1990: the ratio of two of its equations.

    Examples
    --------
    >>> from ropewalk.properties import softmax_ratio
    >>> softmax_ratio([0.1, 0.2, 0.3, 0.4]).holds
    True
    >>> softmax_ratio([0.1, 0.2, 0.3, 0.4], softmax=lambda x: x / x.sum()).holds
    False
    """
    logits = _reals("x", x)
    top = logits.argmax(axis=-1, keepdims=True)
    wide = logits.astype(np.float64)
    weights = softmax(logits).astype(np.float64)
    below = wide - np.take_along_axis(wide, top, axis=-1)
    seen = (below == 0) | ~(weights < np.finfo(logits.dtype).tiny)
    with np.errstate(divide="ignore", invalid="ignore"):  # what is no softmax may give no ratios
        ratios = weights / np.take_along_axis(weights, top, axis=-1)
        error = np.log(ratios[seen]) - below[seen]
    return Measurement(_largest(error), (4 * _largest(below) + 8) * _unit(logits))


# Temperature and scale


def entropy(weights: ArrayLike, /) -> NDArray[np.float64]:
    """Shannon entropy of attention weights.

    Parameters
    ----------
    weights : array_like of shape (..., length)
        Weights that sum to 1 along the last axis, finite and not negative; float64, float32 or
        float16.

    Returns
    -------
    ndarray of shape (...)
        ``-sum(w log w)`` (nats), float64: 0 where one key has all the weight, ``log(length)`` where
        all have the same; ``exp`` of it is the number of keys that a row attends to.

    Raises
    ------
    ValueError
        If `weights` are empty, negative, not finite or a number.
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
    w = _reals("weights", weights).astype(np.float64)
    if (w < 0).any():
        msg = f"weights must not be negative, got {w.min()}"
        raise ValueError(msg)
    return np.asarray(0.0 - (w * np.log(np.where(w > 0, w, 1.0))).sum(axis=-1))


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
        If `x` or `scales` are empty or not finite, `x` is a number, or `scales` has not one
        dimension.
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
    logits, factors = _reals("x", x), _reals("scales", scales)
    if factors.ndim != 1:
        msg = f"scales must have one dimension, got shape {factors.shape}"
        raise ValueError(msg)
    weights = np.stack([softmax(logits, scale=scale) for scale in factors.tolist()])
    return Temperature(
        factors.astype(np.float64), entropy(weights), weights.max(axis=-1).astype(np.float64)
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
    dims: Sequence[int], /, *, length: int = 256, seed: int | np.random.Generator
) -> ScaleLaw:
    """Scale law of attention: scores grow as the square root of the width.

    Of independent entries with mean 0 and variance 1, ``q . k`` has variance dim. Divided by
    ``sqrt(dim)`` it has variance 1 at any width; otherwise softmax turns to the largest score only.

    Parameters
    ----------
    dims : sequence of int
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
        If `dims` are no sequence, a width or `length` is no integer, or `seed` is neither an
        integer nor a generator.

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
    if not isinstance(dims, Sequence):  # what a type checker would have said
        msg = f"dims must be a sequence of integers, got {dims!r}"  # type: ignore[unreachable]
        raise TypeError(msg)
    if not dims:
        msg = "dims must not be empty"
        raise ValueError(msg)
    widths = [_arrays.positive_integer("dims", dim, _arrays.LARGEST_DIM) for dim in dims]
    length = _arrays.positive_integer("length", length, LARGEST_LENGTH)
    generator = _generator(seed)
    columns = []
    for dim in widths:
        query, key = generator.standard_normal((2, length, dim))
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


# Arguments


def _reals(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return finite data of a float type of NumPy's own, at least one number of it."""
    array = _arrays.data(name, finite_reals(name, values))
    if not array.size:
        msg = f"{name} must not be empty, got shape {array.shape}"
        raise ValueError(msg)
    return array


def _generator(seed: int | np.random.Generator) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    number = _arrays.integer("seed", seed)
    if number < 0:
        msg = f"seed must not be negative, got {number}"
        raise ValueError(msg)
    return np.random.default_rng(number)


def _unit(array: NDArray[Any]) -> float:
    """Return half the spacing of the numbers above 1."""
    return float(np.finfo(array.dtype).eps) / 2


def _largest(differences: ArrayLike) -> float:
    return float(np.abs(differences).max(initial=0))
