"""ALiBi: attention with linear biases."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options, _results
from ropewalk._attention_problem import per_head
from ropewalk._options import Integer
from ropewalk.bias._distances import matrices, relative_positions
from ropewalk.frequencies._frequencies import DIGITS

LARGEST_HEADS = 2**16


def alibi_slopes(heads: Integer, /) -> NDArray[np.float64]:
    """Slopes of ALiBi, attention with linear biases, for every head.

    Parameters
    ----------
    heads : int
        Number of query heads, from 1 to 65536.

    Returns
    -------
    ndarray of shape (heads,)
        float64, correctly rounded; from above 0 to below 1.

    Raises
    ------
    ValueError
        If `heads` is out of the range above.
    TypeError
        If `heads` is not an integer.

    See Also
    --------
    alibi : The biases.
    ropewalk.attention : Takes the slopes as they are.

    Notes
    -----
    Where the number of heads ``n`` is a power of two, head ``k``, counted from 1, has the slope
    ``2 ** (-8 * k / n)``. For other numbers the paper's text gives the same sequence, the code
    published with it (and models trained with that code) another: the slopes of the next lower
    power of two ``p``, then those of ``2 * p`` heads at odd ``k``. This is the code's.

    References
    ----------
    Press, Smith and Lewis, Train Short, Test Long: Attention with Linear Biases Enables Input
    Length Extrapolation, 2021, arXiv:2108.12409, section 3, and the code published with it.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.bias.alibi_slopes(4)
    array([0.25      , 0.0625    , 0.015625  , 0.00390625])
    >>> rw.bias.alibi_slopes(6)
    array([0.25      , 0.0625    , 0.015625  , 0.00390625, 0.5       ,
           0.125     ])
    """
    return np.array(_slopes(_options.integer_between("heads", heads, 1, LARGEST_HEADS)))


@lru_cache(maxsize=16)  # every layer, and every step of a decoder, asks for the same
def _slopes(heads: int) -> tuple[float, ...]:
    power = 1 << (heads.bit_length() - 1)
    exponents = [*range(8, 8 * power + 1, 8), *range(4, 8 * (heads - power), 8)]
    with localcontext(DIGITS):
        root = Decimal(2) ** (Decimal(-1) / power)
        return tuple(float(root**exponent) for exponent in exponents)


def alibi(
    slopes: ArrayLike,
    query_length: Integer,
    key_length: Integer | None = None,
    /,
    *,
    offset: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Biases of ALiBi, attention with linear biases.

    Query ``i`` and key ``j`` get ``-slope * abs(i + offset - j)``.

    Parameters
    ----------
    slopes : array_like
        One for every head, finite; those of `alibi_slopes` or others.
    query_length : int
        Number of queries (tokens), from 0 to 2**53.
    key_length : int, optional
        Number of keys (tokens), from 0 to 2**53; as many as queries where it is left out.
    offset : int or array_like of int, optional
        Position of the first query minus position of the first key (tokens), at most 2**53 in size.
        0 where the lengths are equal; must be given where they differ.

    Returns
    -------
    ndarray of shape (\*offset.shape, \*slopes.shape, query_length, key_length)
        float64, each the correctly rounded product for distances up to 2**53; beyond float64 its
        largest number, which hides no key.

    Raises
    ------
    ValueError
        If a slope is not finite, `slopes` are one integer above 1, as if they were heads, an
        argument is out of the range above, `offset` is missing, or the result is larger than any
        memory.
    TypeError
        If `slopes` are no real numbers, or a length or an offset is no integer.
    MemoryError
        If the result is larger than the memory at hand.

    See Also
    --------
    alibi_slopes : The slopes of the paper.
    ropewalk.attention : Adds the same where it is given `slopes`, and makes no such array.

    Notes
    -----
    The paper has keys up to the query only; later keys get the same bias as earlier ones at that
    distance, as in FlashAttention. Some models (BLOOM) add ``slope * j`` instead: a constant more
    in each row of keys up to the query, which the softmax takes away again.

    References
    ----------
    Press, Smith and Lewis, Train Short, Test Long: Attention with Linear Biases Enables Input
    Length Extrapolation, 2021, arXiv:2108.12409, section 3.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.bias.alibi(0.25, 3)
    array([[ 0.  , -0.25, -0.5 ],
           [-0.25,  0.  , -0.25],
           [-0.5 , -0.25,  0.  ]])
    >>> rw.bias.alibi(rw.bias.alibi_slopes(8), 1, 4, offset=3).shape
    (8, 1, 4)
    """
    steepness = per_head("slopes", slopes)
    _arrays.check_finite("slopes", steepness)
    positions, lengths = relative_positions(query_length, key_length, offset, np.float64)
    _results.check_axes(positions.ndim + steepness.ndim + 1)
    distances = np.abs(np.expand_dims(positions, tuple(range(-steepness.ndim - 1, -1))))
    with np.errstate(all="ignore"):
        products = steepness[..., None] * -distances
    largest = np.finfo(np.float64).max  # -inf would hide a key
    return matrices(np.clip(products, -largest, largest), lengths)
