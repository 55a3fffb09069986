"""Softmax and the logarithm of its sum, over any axis."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _core, _options, _results
from ropewalk._options import Integer, Real
from ropewalk._runtime import get_num_threads


def softmax(
    x: ArrayLike,
    /,
    *,
    axis: Integer = -1,
    scale: Real = 1.0,
    mask: ArrayLike | None = None,
    precision: Literal["float64"] | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    r"""Softmax: exponentials that sum to 1.

    ``exp(scale x_i)`` over the sum of them along the axis, without overflow for any finite
    `x`.

    Parameters
    ----------
    x : array_like of shape (..., n, ...)
        Logits: float64, float32, float16 or bfloat16; integers become float64. An infinite
        element that is -inf when scaled weighs nothing.
    axis : int, default -1
        The axis along which the results sum to 1.
    scale : float, default 1.0
        What `x` is multiplied by, finite: the inverse of a temperature.
    mask : array_like of bool, optional
        What counts (True) and what does not, broadcast to the shape of `x`. What is left out is 0,
        and not looked at, even where `x` holds NaN.
    precision : {"float64"}, optional
        Compute float32 and half types in float64, and round at the end, half types by way of
        float32.
    out : ndarray, optional
        Where to write: of the shape and dtype of the result, any strides; `x` itself, or memory
        that shares none with the arguments.

    Returns
    -------
    ndarray, of the shape and dtype of `x`
        A row that has nothing to weigh, all masked or -inf once scaled, is 0. NaN or +inf, once
        scaled, makes all of what counts in its row NaN.

    Raises
    ------
    ValueError
        If `x` has no such axis, `scale` is not finite, `mask` or `out` does not fit `x`, or
        `precision` is another one.
    TypeError
        If the dtype is none of those named, `axis` is no integer, `scale` no number, `mask` not
        boolean, or `out` no array.

    See Also
    --------
    logsumexp : The logarithm of the sum.
    attention_weights : Softmax of the inner products of queries and keys.

    Notes
    -----
    float32 is computed in float32, but differences of logits are not rounded, scaled or not, and
    sums go on in float64 after four elements: results are within ``5.7 2**-24`` of the exact ones,
    relative, and the rounding of the result (3.3 units in the last place in all were the most that
    was found, 3.72 scaled). With a scale of 1 or another power of two the larger of two logits
    never gets a smaller result. Half types are computed so too, and rounded once more: they are
    within 0.51 units.

    float64 is within ``(n / 8 + 8 + |s - m|) 2**-53`` of the result, relative, where ``s`` is
    ``scale * x`` and ``m`` the largest of them, and what is no normal number beside the largest is
    0. A scale other than 1 adds a rounding: it multiplies differences, ``|s - m| 2**-53`` more, and
    elements where it is 0 or its size beyond 1e300 or 1e-300, ``(|s| + |m|) 2**-53``. With
    ``precision="float64"``, and with a scale of 0 or beyond 1e30 or 1e-30, all dtypes are computed
    so: of logits as large as 100 float32 is then within 0.5001 units in the last place.

    The same bits whatever the axis, the strides, the number of threads and the instruction set, but
    for those of NaN.

    References
    ----------
    J. S. Bridle, "Probabilistic Interpretation of Feedforward Classification Network Outputs, with
    Relationships to Statistical Pattern Recognition", 1990, equation 1.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> rw.softmax([1, 2, 3, 4]).round(4)
    array([0.0321, 0.0871, 0.2369, 0.6439])
    >>> rw.softmax([1, 2, 3, 4], mask=[True, True, False, False]).round(4)
    array([0.2689, 0.7311, 0.    , 0.    ])
    """
    threads = get_num_threads()
    if precision is None:
        plain = _core.softmax_plainly(x, mask, axis, scale, out, threads)
        if plain is not None:
            return plain
    array = _arrays.data("x", x)
    if array is not x:
        _results.refuse_memory_of_converted(out, x, array)
    along = _arrays.axis_of(axis, array)
    factor = _options.finite_number("scale", scale)
    counts = _counts(mask, array)
    if precision is not None:
        _options.choice("precision", precision, ("float64",))
    in_float64 = precision is not None
    result, source, target = _results.row_result("x", array, out, counts)
    streamed = _results.prepare_streaming(target, out=out, source=source, threads=threads)
    if array.size:
        _core.softmax(source, target, counts, along, factor, in_float64, streamed, threads)
    return _results.filled(result, target)


def logsumexp(
    x: ArrayLike, /, *, axis: Integer = -1, mask: ArrayLike | None = None
) -> NDArray[Any]:
    r"""Logarithm of the sum of exponentials.

    ``log(sum(exp(x)))`` along the axis, without overflow for any finite `x`.

    Parameters
    ----------
    x : array_like of shape (..., n, ...)
        Float64, float32, float16 or bfloat16; integers become float64.
    axis : int, default -1
        The axis to sum over, which the result does not have.
    mask : array_like of bool, optional
        What counts (True) and what does not, broadcast to the shape of `x`. What is left out is not
        looked at, even where `x` holds NaN.

    Returns
    -------
    ndarray, of the shape of `x` without the axis, and its dtype
        -inf where nothing is summed, NaN where an element is NaN, and else +inf where one is.

    Raises
    ------
    ValueError
        If `x` has no such axis, or `mask` does not fit `x`.
    TypeError
        If the dtype is none of those named, `axis` is no integer, or `mask` is not boolean.

    See Also
    --------
    softmax : What each exponential is of the sum.
    attention_with_lse : Attention, and this of its logits.

    Notes
    -----
    Computed in float64 whatever the dtype, and rounded: float32 and half types are within 0.51
    units in the last place, where the sum is not so near to 1 that its logarithm cancels; there,
    and in float64, the error is at most ``(n / 8 + 8) 2**-53 + |result| 2**-53`` before that
    rounding.

    References
    ----------
    P. Blanchard, D. J. Higham, N. J. Higham, "Accurately Computing the Log-Sum-Exp and Softmax
    Functions", IMA Journal of Numerical Analysis, 2021, equation 1.3.

    Examples
    --------
    >>> import ropewalk as rw
    >>> round(float(rw.logsumexp([1000, 1000])), 4)  # 1000 + log 2
    1000.6931
    """
    threads = get_num_threads()
    plain = _core.logsumexp_plainly(x, mask, axis, threads)
    if plain is not None:
        return plain
    array = _arrays.data("x", x)
    along = _arrays.axis_of(axis, array)
    counts = _counts(mask, array)
    sums = _results.empty(array.shape[:along] + array.shape[along + 1 :])
    if sums.size:
        _core.logsumexp(_arrays.aligned(array), sums, counts, along, threads)
    with np.errstate(all="ignore"):
        return sums.astype(array.dtype, copy=False)


def _counts(mask: ArrayLike | None, x: NDArray[Any]) -> NDArray[np.bool_] | None:
    if mask is None:
        return None
    array = _arrays.boolean_mask(mask)
    _arrays.check_broadcast("mask", array.shape, x.shape, "the shape of x")
    return array
