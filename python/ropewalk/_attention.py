"""Scaled dot-product attention, its weights and stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _core, _options, _results
from ropewalk._attention_problem import (
    Problem,
    checked_bias,
    checked_data,
    checked_mask,
    per_head,
)
from ropewalk._options import Boolean, Precision, Real, Window
from ropewalk._runtime import get_num_threads


class AttentionOptions(TypedDict, total=False):
    """The options that all functions of attention share, as `attention` describes them."""

    causal: Boolean
    offset: ArrayLike | None
    window: Window | None
    mask: ArrayLike | None
    bias: ArrayLike | None
    slopes: ArrayLike | None
    key_lengths: ArrayLike | None
    scale: Real | None
    softcap: Real | None
    sinks: ArrayLike | None
    precision: Precision | None


def attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    /,
    *,
    causal: Boolean = False,
    offset: ArrayLike | None = None,
    window: Window | None = None,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    slopes: ArrayLike | None = None,
    key_lengths: ArrayLike | None = None,
    scale: Real | None = None,
    softcap: Real | None = None,
    sinks: ArrayLike | None = None,
    precision: Precision | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    r"""Scaled dot-product attention.

    ``softmax(scale query key^T) value``: for each query the mean of the values, weighted by how
    well their keys agree with it.

    Parameters
    ----------
    query : array_like of shape (..., query length, dim)
        With one feature or more.
    key : array_like of shape (..., key length, dim)
    value : array_like of shape (..., key length, value dim)
        float64, float32, float16 or bfloat16; integers become float64, and mixed dtypes follow
        `numpy.result_type`, the two half types together float32. Leading axes broadcast. With four
        or more dimensions axis -3 holds heads, and the numbers of heads of `key` and of `value`,
        which may differ, may each divide that of `query`: query head ``h`` meets key head
        ``h // (query heads / key heads)``.
    causal : bool, default False
        Query ``i`` sees key ``j`` only where ``j <= i + offset``.
    offset : int or array_like of int, optional
        The position of the first query minus that of the first key, at most 2**53 in size, for
        `causal`, `window` and `slopes`. 0 where both lengths are equal; where they differ it must
        be given: 0 aligns the first query with the first key, ``key length - query length`` the
        last with the last, as queries that continue a cache. An array has a value for each index of
        the leading axes without the heads: it broadcasts to ``shape[:-3]`` from four dimensions on,
        else to ``shape[:-2]``.
    window : (left, right), optional
        Query ``i`` sees keys with ``-left <= j - (i + offset) <= right``, both 0 or more; None is
        unlimited.
    mask : array_like of bool of shape (..., query length, key length), optional
        True where a query sees a key. It broadcasts, aligned right.
    bias : array_like of shape (..., query length, key length), optional
        What is added to the scaled products. It broadcasts, aligned right. -inf masks as `mask`
        does; finite numbers, `finfo.min` too, are added like any other, but that those beyond
        float32, where it computes in that, count as its largest.
    slopes : array_like, optional
        ALiBi: adds ``-slope |i + offset - j|``. Finite in what is computed in; broadcasts to the
        leading axes, one slope a head. One integer above 1 is taken for a number of heads, and
        refused. Keys further than 2**24 away share values where float32 is computed in.
    key_lengths : int or array_like of int, optional
        How many keys are valid, from the first on, 0 to all of them; shaped as `offset`. Does not
        move the queries.
    scale : float, optional
        What the products are multiplied by, finite in what is computed in; ``1 / sqrt(dim)`` unless
        given.
    softcap : float, optional
        Logits become ``softcap * tanh(logits / softcap)``, before biases and masks. Positive,
        and no smaller than the smallest normal number of what is computed in.
    sinks : array_like, optional
        A logit for each head that joins the sum of the softmax and has no value: finite or -inf,
        broadcasts to the leading axes.
    precision : {"float64", "bfloat16x3", "bfloat16"}, optional
        "float64": compute float32 and half types in float64, and round at the end, half types by
        way of float32. The others allow matrices of bfloat16 where the processor multiplies them
        (Intel's AMX; `show_config` says so) and the heads that share keys have many queries, more
        than eight each; elsewhere nothing changes, nor does float64. "bfloat16", from 32 queries
        on, rounds query, key and value to its 8 bits and takes .3 to .7 of the time; data that are
        bfloat16 already lose next to nothing. "bfloat16x3", from 192 queries on, makes each number
        the sum of two of bfloat16, which hold 16 bits, and three products of one, and takes .5 to
        1.0 of the time; float16 data lose next to nothing, and bfloat16 is computed as by
        "bfloat16".
    out : ndarray, optional
        Where to write: of the shape and dtype of the result, any strides, sharing no memory with
        the arguments.

    Returns
    -------
    ndarray of shape (..., query length, value dim)
        Of the dtype of the data; masks and biases do not change it. A query that sees no key gets
        0.

    Raises
    ------
    ValueError
        If shapes do not fit each other, a value is out of the range above, an `offset` is needed
        and not given, or `out` does not fit.
    TypeError
        If a dtype is none of those named, a mask is not boolean or a bias is, or another argument
        is of the wrong kind.

    See Also
    --------
    attention_weights : The weights, which `ropewalk.plot.attention_weights` draws.
    attention_stages : Every array on the way.
    attention_with_lse : For attention to keys in parts.
    multi_head_attention : With projections and heads.
    ropewalk.bias : All that is applied here, as arrays.
    ropewalk.dask.attention : The same of Dask arrays, which this one would compute and hold whole.

    Notes
    -----
    The order is scale, softcap, bias and slopes, masks, softmax with sinks. Masked keys and values
    are never looked at, even where they hold NaN; NaN and infinities that a query does see follow
    IEEE rules, and a NaN or +inf logit makes the whole row NaN. A logit of -inf masks its key,
    however it came. Blocks of 128 keys that a mask, or a bias of -inf, hides from all of some 48
    queries take next to no time. A weight below 2**-100 of the largest, where a sink counts as one
    (2**-1022 in float64), is set to 0: a large value then adds nothing, an infinite one gives NaN.
    Inner products overflow before they are scaled. Values larger than a 128th of the largest finite
    number may overflow; in float64, and where matrices of bfloat16 are multiplied, those close to
    it divided by the number of keys, or larger.

    No array of query length times key length is made: what is needed beside the result does not
    grow with the lengths, but for a copy of the keys and values of a head, up to 2**24 elements,
    where many queries meet them and they are of another type than is computed in, or their rows lie
    apart; for what few queries gather, a value dim of float64 each for every 2048 keys; and for a
    copy of a bias of another dtype. Up to 2**28 numbers of bfloat16 are copied, two for each with
    "bfloat16x3"; with more of them no matrices are multiplied.

    Half types compute in float32 and round at the end. float32 is summed in float32 over 128 keys
    and in float64 over those, so its error does not grow with the number of keys: for standard
    normal data of widths up to 128 a search found 5.0e-6 at most, and 2.5e-6 from 128 keys on.
    Errors of float64 are at most
    ``delta sum_j a_j |v_j - o| + (4 + 5 n / 4) 2**-53 sum_j a_j |v_j|`` with weights ``a``, ``n``
    keys and `delta` the error of a logit, about ``dim 2**-53 scale sum |q k|``.

    Where matrices of bfloat16 are multiplied a weight is the sum of two numbers of 8 bits, within
    ``2**-16`` of itself, and all products are added in float32: bfloat16 data lose
    ``(2**-16 + n 2**-27) sum_j a_j |v_j|`` at most beside the error of float32. With "bfloat16x3"
    all this is ``(7 * 2**-17 + n 2**-26) sum_j a_j |v_j|``, and logits are off by up to
    ``2**-15 scale sum |q k|``: for standard normal data errors are below 2e-4; for widths of 64
    and more a search found 7.5e-5 with two keys, and 2.8e-5 from 64 on. Numbers, parts of them and
    products below ``2**-126`` count as 0, so that data below ``2**-109`` lose digits, and an
    infinite query or key may make NaN of an infinite logit.

    The same bits whatever the number of threads, the other rows of the batch and, but for
    matrices of bfloat16, the instruction set. Calls with few queries a head, up to eight (four
    in float64), may differ in the last bits from calls with more, and from calls with fewer of the
    heads that share keys; with fewer than matrices are worth while for, by the error of these.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, equation 1. Grouped heads:
    Ainslie et al., GQA, 2023, arXiv:2305.13245. Slopes: Press, Smith and Lewis, Train Short, Test
    Long, 2021, arXiv:2108.12409. Windows: Beltagy, Peters and Cohan, Longformer, 2020,
    arXiv:2004.05150. Soft caps: Gemma Team, Gemma 2, 2024, arXiv:2408.00118. Sinks: OpenAI,
    gpt-oss-120b & gpt-oss-20b Model Card, 2025, arXiv:2508.10925.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> rw.attention(x, x, x, causal=True).round(4)
    array([[1.    , 0.    ],
           [0.3302, 0.6698],
           [0.7517, 0.7517]])

    With eight query heads on two key heads, and keys that are valid up to a length for each
    sequence of the batch:

    >>> query, cache = np.ones((4, 8, 1, 16)), np.ones((4, 2, 50, 16))
    >>> rw.attention(query, cache, cache, key_lengths=[50, 10, 7, 31]).shape
    (4, 8, 1, 16)
    """
    threads = get_num_threads()
    others = causal, offset, window, key_lengths, scale, softcap, precision
    plain: NDArray[Any] | None = _core.attend_plainly(
        (query, key, value), mask, bias, slopes, sinks, others, out, False, threads
    )
    if plain is None and out is None:  # maybe as arrays and numbers of the right types
        query, key, value = checked_data((query, key, value))
        if precision is not None:
            _options.choice("precision", precision, get_args(Precision))
        factor = None if scale is None else _options.finite_number("scale", scale)
        cap = None if softcap is None else _options.finite_number("softcap", softcap)
        sides = None if window is None else _options.window(window)
        wide = _options.in_float64(precision) or query.dtype.type is np.float64
        mask = None if mask is None else checked_mask(mask)
        bias = None if bias is None else checked_bias(bias, wide=wide)
        slopes = None if slopes is None else per_head("slopes", slopes)
        sinks = None if sinks is None else per_head("sinks", sinks)
        if offset is not None:
            offset = _arrays.offsets(offset)
        if key_lengths is not None:
            key_lengths = _arrays.integers("key_lengths", key_lengths, 0, key.shape[-2])
        converted = causal, offset, sides, key_lengths, factor, cap, precision
        plain = _core.attend_plainly(
            (query, key, value), mask, bias, slopes, sinks, converted, None, False, threads
        )
    if plain is not None:  # two microseconds, and what follows takes five
        return plain
    others = causal, offset, window, key_lengths, scale, softcap, precision
    problem = Problem((query, key, value), mask, bias, slopes, sinks, others)
    result, output = problem.empty_output(out)
    problem.attend(output=output)
    return _results.filled(result, output)


def attention_weights(
    query: ArrayLike,
    key: ArrayLike,
    /,
    *,
    causal: Boolean = False,
    offset: ArrayLike | None = None,
    window: Window | None = None,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    slopes: ArrayLike | None = None,
    key_lengths: ArrayLike | None = None,
    scale: Real | None = None,
    softcap: Real | None = None,
    sinks: ArrayLike | None = None,
    precision: Precision | None = None,
) -> NDArray[Any]:
    r"""Attention weights: what each query gives to each key.

    Parameters
    ----------
    query : array_like of shape (..., query length, dim)
    key : array_like of shape (..., key length, dim)
        As in `attention`.
    causal, offset, window, mask, bias, slopes, key_lengths, scale, softcap, sinks, precision
        As in `attention`; the leading axes are those of `query` and `key` alone.

    Returns
    -------
    ndarray of shape (..., query length, key length)
        Rows sum to 1 within rounding; below 1 where there are sinks, and 0 where a query sees no
        key. Masked keys have weight 0.

    Raises
    ------
    ValueError, TypeError
        As `attention`; ValueError also where a result is larger than any memory.

    See Also
    --------
    attention : The weighted mean of values, without this array.
    attention_stages : What these weights are made from.

    Notes
    -----
    Computed as `attention` does, and as exact: where in float32, a weight below 2**-100 of the
    largest is 0, which `softmax` keeps.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, equation 1.

    Examples
    --------
    >>> import ropewalk as rw
    >>> x = [[1.0, 0.0], [0.0, 1.0]]
    >>> rw.attention_weights(x, x).round(4)
    array([[0.6698, 0.3302],
           [0.3302, 0.6698]])
    """
    others = causal, offset, window, key_lengths, scale, softcap, precision
    plain: NDArray[Any] | None = _core.attend_plainly(
        (query, key), mask, bias, slopes, sinks, others, None, False, get_num_threads()
    )
    if plain is not None:
        return plain
    problem = Problem((query, key), mask, bias, slopes, sinks, others)
    weights = problem.empty_scores()
    problem.attend(weights=weights)
    return problem.of_data(weights)


@dataclass(frozen=True, eq=False)
class AttentionStages:
    """Every array on the way from products to the result, in their order."""

    scores: NDArray[Any]
    """scale times the inner products, (..., query length, key length)"""
    capped: NDArray[Any]
    """after the soft cap; the same array where there is none"""
    biased: NDArray[Any]
    """after bias and slopes, -inf where masked"""
    weights: NDArray[Any]
    """the softmax of those, 0 where masked"""
    lse: NDArray[np.float64]
    """the logarithm of the sum of exponentials, sinks included, (..., query length); NaN where
    a logit is NaN or +inf"""
    output: NDArray[Any]
    """weights times values, (..., query length, value dim)"""


def attention_stages(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    /,
    *,
    causal: Boolean = False,
    offset: ArrayLike | None = None,
    window: Window | None = None,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    slopes: ArrayLike | None = None,
    key_lengths: ArrayLike | None = None,
    scale: Real | None = None,
    softcap: Real | None = None,
    sinks: ArrayLike | None = None,
    precision: Precision | None = None,
) -> AttentionStages:
    r"""Attention with every intermediate array.

    Parameters
    ----------
    query : array_like of shape (..., query length, dim)
    key : array_like of shape (..., key length, dim)
    value : array_like of shape (..., key length, value dim)
        As in `attention`.
    causal, offset, window, mask, bias, slopes, key_lengths, scale, softcap, sinks, precision
        As in `attention`.

    Returns
    -------
    AttentionStages
        `scores` and `capped`, which are not masked; `biased`, which is -inf where masked;
        `weights`; `lse` in float64; `output`, to the last bit what `attention` returns.

    Raises
    ------
    ValueError, TypeError
        As `attention`; ValueError also where a result is larger than any memory.

    See Also
    --------
    attention : The output alone.

    Notes
    -----
    Computed as `attention` does, and as exact. Half types are rounded at every stage; a score that
    float16 cannot hold shows as inf, though the output is computed without overflow.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, figure 2.

    Examples
    --------
    >>> import ropewalk as rw
    >>> x = [[1.0, 0.0], [0.0, 1.0]]
    >>> stages = rw.attention_stages(x, x, x, causal=True)
    >>> stages.biased.round(4)
    array([[0.7071,   -inf],
           [0.    , 0.7071]])
    >>> stages.lse.round(4)
    array([0.7071, 1.1079])
    """
    others = causal, offset, window, key_lengths, scale, softcap, precision
    problem = Problem((query, key, value), mask, bias, slopes, sinks, others)
    scores, biased, weights = problem.empty_scores(), problem.empty_scores(), problem.empty_scores()
    capped = None if softcap is None else problem.empty_scores()
    lse = problem.empty_lse()
    _, output = problem.empty_output(None)
    problem.attend(
        output=output, lse=lse, scores=scores, capped=capped, biased=biased, weights=weights
    )
    scores = problem.of_data(scores)
    return AttentionStages(
        scores,
        scores if capped is None else problem.of_data(capped),
        problem.of_data(biased),
        problem.of_data(weights),
        lse,
        output,
    )


def attention_with_lse(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    /,
    *,
    causal: Boolean = False,
    offset: ArrayLike | None = None,
    window: Window | None = None,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    slopes: ArrayLike | None = None,
    key_lengths: ArrayLike | None = None,
    scale: Real | None = None,
    softcap: Real | None = None,
    sinks: ArrayLike | None = None,
    precision: Precision | None = None,
    out: NDArray[Any] | None = None,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    r"""Attention and the log-sum-exp of its logits, by which parts can be merged.

    Parameters
    ----------
    query : array_like of shape (..., query length, dim)
    key : array_like of shape (..., key length, dim)
    value : array_like of shape (..., key length, value dim)
        As in `attention`.
    causal, offset, window, mask, bias, slopes, key_lengths, scale, softcap, sinks, precision, out
        As in `attention`. Where the keys are split, `offset` is that of the part, and `sinks` go to
        one part only.

    Returns
    -------
    output : ndarray of shape (..., query length, value dim)
    lse : ndarray of float64 of shape (..., query length)
        Natural logarithm. -inf for a query that sees no key; with sinks it includes the sink. NaN
        where a logit is NaN or +inf, whose weights are too.

    Raises
    ------
    ValueError, TypeError
        As `attention`; ValueError also where a result is larger than any memory.

    See Also
    --------
    merge_attention : Attention to all keys from attention to parts of them.

    Notes
    -----
    The log-sum-exp of float32 is within the error of a logit and ``2.2e-6`` more.

    References
    ----------
    Rabe and Staats, Self-attention Does Not Need O(n^2) Memory, 2021, arXiv:2112.05682, section 3.

    Examples
    --------
    >>> import ropewalk as rw
    >>> x = [[1.0, 0.0], [0.0, 1.0]]
    >>> output, lse = rw.attention_with_lse(x, x, x)
    >>> lse.round(4)  # log(exp(1 / sqrt(2)) + 1)
    array([1.1079, 1.1079])
    """
    others = causal, offset, window, key_lengths, scale, softcap, precision
    plain: tuple[NDArray[Any], NDArray[np.float64]] | None = _core.attend_plainly(
        (query, key, value), mask, bias, slopes, sinks, others, out, True, get_num_threads()
    )
    if plain is not None:
        return plain
    problem = Problem((query, key, value), mask, bias, slopes, sinks, others)
    result, output = problem.empty_output(out)
    lse = problem.empty_lse()
    problem.attend(output=output, lse=lse)
    return _results.filled(result, output), lse
