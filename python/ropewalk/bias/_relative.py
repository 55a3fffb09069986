"""Biases looked up in learned tables: by T5's buckets of distances, or by the distance itself."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options
from ropewalk._options import Boolean, Integer
from ropewalk.bias._distances import matrices, relative_positions

LARGEST_BUCKETS = 1024


def t5_buckets(
    query_length: Integer,
    key_length: Integer | None = None,
    /,
    *,
    buckets: Integer = 32,
    max_distance: Integer = 128,
    bidirectional: Boolean = True,
    offset: ArrayLike | None = None,
) -> NDArray[np.int64]:
    r"""Buckets of T5's relative positions.

    Near keys have a bucket for each distance, farther ones share buckets that grow
    logarithmically, and all from about `max_distance` on are in the last one.

    Parameters
    ----------
    query_length : int
        Number of queries (tokens), from 0 to 2**53.
    key_length : int, optional
        Number of keys (tokens), from 0 to 2**53; as many as queries where it is left out.
    buckets : int, default 32
        How many there are: from 2 to 1024; where `bidirectional`, even and from 4.
    max_distance : int, default 128
        Distance (tokens) at which another bucket would begin: from above the distances with a
        bucket of their own, which are half of the buckets of a direction, to 2**53.
    bidirectional : bool, default True
        The upper half of the buckets is for keys after the query (encoders). Otherwise those are
        all in bucket 0 (decoders, which mask them).
    offset : int or array_like of int, optional
        Position of the first query minus position of the first key (tokens), at most 2**53 in size.
        0 where the lengths are equal; must be given where they differ.

    Returns
    -------
    ndarray of shape (\*offset.shape, query_length, key_length)
        int64, from 0 to ``buckets - 1``.

    Raises
    ------
    ValueError
        If an argument is out of the range above, `offset` is missing, or the result is larger than
        any memory.
    TypeError
        If `bidirectional` is not True or False, or another argument no integer.
    MemoryError
        If the result is larger than the memory at hand.

    See Also
    --------
    t5 : The biases.

    Notes
    -----
    Of the ``n`` buckets of a direction, ``n`` being `buckets` or half of them, those below ``e = n
    // 2`` hold one distance each; a distance ``d`` from ``e`` on is in bucket ``e + floor((n - e)
    * log(d / e) / log(max_distance / e))``, at most ``n - 1``. Where a bucket begins is found in
    integers, so it is exact. Published code takes the logarithms in float32: PyTorch 2.13 agrees
    everywhere with 32 buckets and a distance of 128, and in all but 42 of 19360 settings tried.
    There it is off by one next to where a bucket begins: with 17 buckets of one direction and a
    `max_distance` of 27 it puts the distance 18 in bucket 13, where 14 is right.

    References
    ----------
    Raffel et al., Exploring the Limits of Transfer Learning with a Unified Text-to-Text
    Transformer, 2020, arXiv:1910.10683, section 2.1, and the code published with it.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.bias.t5_buckets(4, buckets=8, max_distance=6)
    array([[0, 5, 6, 6],
           [1, 0, 5, 6],
           [2, 1, 0, 5],
           [2, 2, 1, 0]])
    >>> rw.bias.t5_buckets(1, 8, buckets=4, max_distance=6, bidirectional=False, offset=7)
    array([[3, 3, 3, 3, 2, 2, 1, 0]])
    """
    positions, lengths = relative_positions(query_length, key_length, offset, np.int64)
    count = _options.integer("buckets", buckets)
    found = _t5_buckets("buckets must be", positions, count, max_distance, bidirectional)
    return matrices(found, lengths)


def t5(
    table: ArrayLike,
    query_length: Integer,
    key_length: Integer | None = None,
    /,
    *,
    max_distance: Integer = 128,
    bidirectional: Boolean = True,
    offset: ArrayLike | None = None,
) -> NDArray[Any]:
    r"""Biases of T5: a learned number for every head and bucket of positions.

    Parameters
    ----------
    table : array_like of shape (buckets, heads)
        The learned numbers, finite or -inf; integers become float64. From 2 to 1024 buckets; where
        `bidirectional`, an even number and from 4.
    query_length : int
        Number of queries (tokens), from 0 to 2**53.
    key_length : int, optional
        Number of keys (tokens), from 0 to 2**53; as many as queries where it is left out.
    max_distance : int, default 128
        As in `t5_buckets`.
    bidirectional : bool, default True
        As in `t5_buckets`: True in encoders, False in decoders.
    offset : int or array_like of int, optional
        Position of the first query minus position of the first key (tokens), at most 2**53 in size.
        0 where the lengths are equal; must be given where they differ.

    Returns
    -------
    ndarray of shape (\*offset.shape, heads, query_length, key_length)
        Entries of the table, in its dtype: what `ropewalk.attention` takes as `bias`.

    Raises
    ------
    ValueError
        If the table has another shape or holds NaN or +inf, another argument is out of the range
        above, `offset` is missing, or the result is larger than any memory.
    TypeError
        If the table is no array of real numbers, `bidirectional` is not True or False, or another
        argument is no integer.
    MemoryError
        If the result is larger than the memory at hand.

    See Also
    --------
    t5_buckets : Which row of the table each query and key get.
    relative : A number for every distance.

    Notes
    -----
    T5 does not scale its scores: give attention ``scale=1.0`` with these biases. Its tables are the
    weights named ``relative_attention_bias``, one for the encoder and one for the decoder, shared
    by their layers.

    References
    ----------
    Raffel et al., Exploring the Limits of Transfer Learning with a Unified Text-to-Text
    Transformer, 2020, arXiv:1910.10683, section 2.1, and the code published with it.

    Examples
    --------
    >>> import ropewalk as rw
    >>> table = [[0.0], [-1.0], [-2.0], [-3.0]]  # one head
    >>> rw.bias.t5(table, 4, bidirectional=False, max_distance=4)
    array([[[ 0.,  0.,  0.,  0.],
            [-1.,  0.,  0.,  0.],
            [-2., -1.,  0.,  0.],
            [-3., -2., -1.,  0.]]])
    """
    entries = _table(table)
    if entries.ndim != 2:
        msg = f"table must have shape (buckets, heads), got {entries.shape}"
        raise ValueError(msg)
    positions, lengths = relative_positions(query_length, key_length, offset, entries.dtype)
    what = "the buckets of table must be"
    buckets = _t5_buckets(what, positions, len(entries), max_distance, bidirectional)
    return matrices(_entries(entries, buckets), lengths)


def relative(
    table: ArrayLike,
    query_length: Integer,
    key_length: Integer | None = None,
    /,
    *,
    offset: ArrayLike | None = None,
) -> NDArray[Any]:
    r"""Biases from a table of relative positions, clipped to its reach.

    Query ``i`` and key ``j`` get ``table[..., reach + clip(j - i - offset, -reach, reach)]``.

    Parameters
    ----------
    table : array_like of shape (..., 2 * reach + 1)
        One number for every relative position from ``-reach`` (earlier keys) to ``reach``, for
        example for every head; finite or -inf. Integers become float64.
    query_length : int
        Number of queries (tokens), from 0 to 2**53.
    key_length : int, optional
        Number of keys (tokens), from 0 to 2**53; as many as queries where it is left out.
    offset : int or array_like of int, optional
        Position of the first query minus position of the first key (tokens), at most 2**53 in size.
        0 where the lengths are equal; must be given where they differ.

    Returns
    -------
    ndarray of shape (\*offset.shape, \*table.shape[:-1], query_length, key_length)
        Entries of the table, in its dtype: what `ropewalk.attention` takes as `bias`.

    Raises
    ------
    ValueError
        If the last axis of the table is even, it holds NaN or +inf, another argument is out of the
        range above, `offset` is missing, or the result is larger than any memory.
    TypeError
        If the table is no array of real numbers, or another argument is no integer.
    MemoryError
        If the result is larger than the memory at hand.

    See Also
    --------
    t5 : Far relative positions share their numbers.
    alibi : Numbers that are not learned.

    Notes
    -----
    The paper clips relative positions in this way, and has a vector for each: it is multiplied with
    the query, and another one is added to the value. These are numbers that do not depend on the
    query, as later models have them.

    References
    ----------
    Shaw, Uszkoreit and Vaswani, Self-Attention with Relative Position Representations, 2018,
    arXiv:1803.02155, section 3.2.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.bias.relative([-1.0, 0.0, 1.0], 4)
    array([[ 0.,  1.,  1.,  1.],
           [-1.,  0.,  1.,  1.],
           [-1., -1.,  0.,  1.],
           [-1., -1., -1.,  0.]])
    """
    entries = _table(table)
    if not entries.shape[-1] % 2:
        msg = f"table must have an odd last axis, 2 * reach + 1, got shape {entries.shape}"
        raise ValueError(msg)
    positions, lengths = relative_positions(query_length, key_length, offset, entries.dtype)
    reach = entries.shape[-1] // 2
    index = reach + np.clip(positions, -reach, reach)
    return matrices(_entries(np.moveaxis(entries, -1, 0), index), lengths)


def _t5_buckets(
    what: str,
    positions: NDArray[np.int64],
    buckets: int,
    max_distance: Integer,
    bidirectional: Boolean,
) -> NDArray[np.int64]:
    both = _options.boolean("bidirectional", bidirectional)
    if both and (buckets % 2 or not 4 <= buckets <= LARGEST_BUCKETS):
        msg = f"{what} an even integer from 4 to {LARGEST_BUCKETS}, got {buckets}"
        raise ValueError(msg)
    if not 2 <= buckets <= LARGEST_BUCKETS:
        msg = f"{what} an integer from 2 to {LARGEST_BUCKETS}, got {buckets}"
        raise ValueError(msg)
    direction = buckets // 2 if both else buckets
    starts = _t5_starts(direction, _options.integer("max_distance", max_distance))
    found = np.searchsorted(starts, np.abs(positions) if both else -positions, side="right")
    return found + direction * (positions > 0) if both else found


@lru_cache(maxsize=16)  # of many buckets of far distances: the powers are long
def _t5_starts(buckets: int, farthest: int) -> tuple[int, ...]:
    """Return the smallest distance in every bucket of a direction but the first.

    The logarithmic ones, counted from 0, begin where (d / exact) ** steps reaches
    (farthest / exact) ** k.
    """
    exact = buckets // 2
    steps = buckets - exact
    if not exact < farthest <= _options.LARGEST_POSITION:
        msg = (
            f"max_distance must be an integer above {exact}, the distances with a bucket of "
            f"their own, and at most 2**53, got {farthest}"
        )
        raise ValueError(msg)
    logarithmic = (
        bisect_left(range(farthest), farthest**k * exact ** (steps - k), key=lambda d: d**steps)
        for k in range(steps)
    )
    return (*range(1, exact), *logarithmic)


def _entries(table: NDArray[Any], index: NDArray[np.int64]) -> NDArray[Any]:
    """Return rows of a table where the last axis of the index says, with that axis last again."""
    return np.moveaxis(table[index], index.ndim - 1, -1)


def _table(values: ArrayLike) -> NDArray[Any]:
    table = _arrays.data("table", values)
    refused = ~(table < np.inf)
    if refused.any():
        msg = f"table must be finite or -inf, got {table[refused][0]}"
        raise ValueError(msg)
    return table
