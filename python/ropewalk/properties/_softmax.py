"""Laws of softmax."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options, _softmax
from ropewalk._options import Real
from ropewalk.properties._measurement import Measurement, largest, reals, unit

Softmax = Callable[[NDArray[Any]], NDArray[Any]]


def softmax_sum(x: ArrayLike, /, *, softmax: Softmax | None = None) -> Measurement:
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
        The largest ``|sum of a row - 1|``, weights summed without rounding. The bound is ``u + d +
        length (2**-53 + s)``, with u half the spacing of the numbers above 1, s half the smallest
        number above 0, and d = ``2**-23``, or 0 in float64.

    Raises
    ------
    ValueError
        If `x` is empty, not finite or a number, or weights have another shape.
    TypeError
        If `x`, or the weights, hold no such numbers, or `softmax` is no function.

    See Also
    --------
    softmax_shift, softmax_order, softmax_ratio : Its other laws.

    Notes
    -----
    Each weight is rounded by at most u of itself, and together the weights are 1: so the sum is
    within u of 1 however long the row is, 2**-24 in float32, but for the rounding of the
    denominator. It is summed in float64, but of float32 and float16 four in float32 at a time: two
    roundings, which are d. In float16 some weights are too small to keep all bits. Software that
    sums the denominator in float32 one by one stops at 2**24 equal logits.

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
    logits = reals("x", x)
    length = logits.shape[-1]
    weights = _rows(_weights(softmax, logits)).tolist()
    smallest = float(np.finfo(logits.dtype).smallest_subnormal)
    denominator = 0 if logits.dtype == np.float64 else 2.0**-23
    bound = unit(logits) + denominator + length * (2.0**-53 + smallest / 2)
    return Measurement(largest([_sum_less_1(row) for row in weights]), bound)


def softmax_shift(x: ArrayLike, /, *, shift: Real, softmax: Softmax | None = None) -> Measurement:
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
        ``exp((2 max|x + shift| + 4 spread + 16) u + 2 length 2**-53) - 1``, with u half the spacing
        of the numbers above 1, and the spread that of the logits of a row; infinite where float64
        holds no such number.

    Raises
    ------
    ValueError
        If `x` is empty, not finite or a number, `x + shift` is not finite, or weights have another
        shape.
    TypeError
        If `x`, or the weights, hold no such numbers, `shift` is no number, or `softmax` is no
        function.

    See Also
    --------
    softmax_sum, softmax_order, softmax_ratio : Its other laws.

    Notes
    -----
    Exact for real numbers. In floating point ``x + shift`` is rounded before softmax sees it, and
    logits that are off by d multiply weights by up to ``exp(2 d)``: that is the first term of the
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
    logits = reals("x", x)
    constant = _options.finite_number("shift", shift)
    with np.errstate(all="ignore"):  # what lies beyond the largest number is refused
        shifted = reals("x + shift", logits + np.array(constant).astype(logits.dtype))
    before, after = (_weights(softmax, each) for each in (logits, shifted))
    normal = ~(np.minimum(before, after) < np.finfo(logits.dtype).tiny)
    with np.errstate(all="ignore"):  # what is no softmax may give no ratios
        spread = largest(np.ptp(logits.astype(np.float64), axis=-1))
        exponent = (2 * largest(shifted) + 4 * spread + 16) * unit(logits)
        exponent += 2 * logits.shape[-1] * 2.0**-53
        change = largest(after[normal] / before[normal] - 1)
        return Measurement(change, float(np.expm1(exponent)))


def softmax_order(x: ArrayLike, /, *, softmax: Softmax | None = None) -> Measurement:
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
        If `x` is empty, not finite or a number, or weights have another shape.
    TypeError
        If `x`, or the weights, hold no such numbers, or `softmax` is no function.

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
    logits = reals("x", x)
    rows, weights = _rows(logits), _rows(_weights(softmax, logits))
    order = np.argsort(rows, axis=-1, kind="stable")
    rows = np.take_along_axis(rows, order, axis=-1)
    weights = np.take_along_axis(weights, order, axis=-1)
    equal = rows[:, 1:] == rows[:, :-1]
    kept = weights[:, 1:] >= weights[:, :-1]
    kept &= ~equal | (weights[:, 1:] == weights[:, :-1])
    return Measurement(float(np.count_nonzero(~kept)), 0.0)


def softmax_ratio(x: ArrayLike, /, *, softmax: Softmax | None = None) -> Measurement:
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
        If `x` is empty, not finite or a number, or weights have another shape.
    TypeError
        If `x`, or the weights, hold no such numbers, or `softmax` is no function.

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
    logits = reals("x", x)
    wide, weights = _rows(logits.astype(np.float64)), _rows(_weights(softmax, logits))
    top = wide.argmax(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):  # what is no softmax may give no ratios
        below = wide - np.take_along_axis(wide, top, axis=-1)
        seen = (below == 0) | ~(weights < np.finfo(logits.dtype).tiny)
        ratios = weights / np.take_along_axis(weights, top, axis=-1)
        error = np.log(ratios[seen]) - below[seen]
    return Measurement(largest(error), (4 * largest(below) + 8) * unit(logits))


def _weights(softmax: Softmax | None, logits: NDArray[Any]) -> NDArray[np.float64]:
    """Return what is measured, which may be no numbers, but as many as there are logits."""
    if softmax is None:
        softmax = _softmax.softmax
    _options.function("softmax", softmax)
    weights = np.asarray(softmax(logits.copy()))  # it may work in place
    if weights.dtype.kind != "f" or weights.dtype.itemsize <= 8:  # longer ones are more exact
        weights = _arrays.data("softmax(x)", weights)
    weights = weights.astype(np.float64)
    if weights.shape != logits.shape:
        msg = f"softmax(x) must have the shape of x, {logits.shape}, got {weights.shape}"
        raise ValueError(msg)
    return weights


def _sum_less_1(weights: list[float]) -> float:
    """Return the sum of weights less 1, as if there were no rounding; infinite or NaN as it is."""
    part = 0.5 ** len(weights).bit_length()  # of which no sum on the way overflows
    try:
        return math.fsum([*(part * weight for weight in weights), -part]) / part
    except ValueError:  # infinity less infinity
        return math.nan


def _rows(x: NDArray[Any]) -> NDArray[Any]:
    """Return rows in two dimensions: `take_along_axis` has no more than 32."""
    return x.reshape(-1, x.shape[-1])
