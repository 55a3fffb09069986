r"""Biases that attention adds to its scores, and masks that hide keys from queries.

Query ``i`` stands at position ``i + offset``, key ``j`` at ``j``: `offset` is the position of the
first query minus that of the first key, as in `ropewalk.attention`. It is 0 where there are as many
queries as keys, and must be said elsewhere: 0 for queries that begin with the keys (upper left),
``key_length - query_length`` for queries that end with them (lower right), as with a cache of keys.
An array of offsets, one for each sequence of a batch, puts its axes first.

Masks are boolean, True where a query attends to a key, and are combined with ``&``; biases are
numbers, and are combined with ``+``. Both end with the axes of queries and keys. Where heads stand
between the batch and these, a mask of a batch is ``mask[:, None]``.
"""

from bisect import bisect_left
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays
from ropewalk._arrays import Window
from ropewalk.frequencies._frequencies import DIGITS, finite_reals

__all__ = [
    "alibi",
    "alibi_slopes",
    "causal_mask",
    "key_length_mask",
    "packed_mask",
    "relative",
    "t5",
    "t5_buckets",
    "window_mask",
]

LARGEST_HEADS = 2**16
LARGEST_BUCKETS = 1024


def alibi_slopes(heads: int, /) -> NDArray[np.float64]:
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
    heads = _arrays.positive_integer("heads", heads, LARGEST_HEADS)
    power = 1 << (heads.bit_length() - 1)
    exponents = [*range(8, 8 * power + 1, 8), *range(4, 8 * (heads - power), 8)]
    with localcontext(DIGITS):
        root = Decimal(2) ** (Decimal(-1) / power)
        return np.array([float(root**exponent) for exponent in exponents])


def alibi(
    slopes: ArrayLike,
    query_length: int,
    key_length: int | None = None,
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
    query_length, key_length : int
        Number of queries and keys (tokens), from 0 to 2**53; as many keys as queries where only one
        is given.
    offset : int or array_like of int, optional
        Position of the first query minus position of the first key (tokens), at most 2**53 in size.
        0 where the lengths are equal; must be given where they differ.

    Returns
    -------
    ndarray of shape (\*offset.shape, \*slopes.shape, query_length, key_length)
        float64, each the correctly rounded product for distances up to 2**53.

    Raises
    ------
    ValueError
        If a slope is not finite, an argument is out of the range above, `offset` is missing, or the
        result is larger than any memory.
    TypeError
        If `slopes` are no real numbers, or a length or an offset is no integer.

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
    steepness = finite_reals("slopes", slopes).astype(np.float64)
    positions, lengths = _relative_positions(query_length, key_length, offset)
    distances = np.abs(np.expand_dims(positions, tuple(range(-steepness.ndim - 1, -1))))
    return _toeplitz(steepness[..., None] * -distances, lengths)


def t5_buckets(
    query_length: int,
    key_length: int | None = None,
    /,
    *,
    buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
    offset: ArrayLike | None = None,
) -> NDArray[np.int64]:
    r"""Buckets of T5's relative positions.

    Near keys have a bucket for each distance, farther ones share buckets that grow
    logarithmically, and all from about `max_distance` on are in the last one.

    Parameters
    ----------
    query_length, key_length : int
        Number of queries and keys (tokens), from 0 to 2**53; as many keys as queries where only one
        is given.
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
    positions, lengths = _relative_positions(query_length, key_length, offset)
    return _toeplitz(_t5_buckets(positions, buckets, max_distance, bidirectional), lengths)


def t5(
    table: ArrayLike,
    query_length: int,
    key_length: int | None = None,
    /,
    *,
    max_distance: int = 128,
    bidirectional: bool = True,
    offset: ArrayLike | None = None,
) -> NDArray[Any]:
    r"""Biases of T5: a learned number for every head and bucket of positions.

    Parameters
    ----------
    table : array_like of shape (buckets, heads)
        The learned numbers, finite or -inf; integers become float64. From 2 to 1024 buckets; where
        `bidirectional`, an even number and from 4.
    query_length, key_length : int
        Number of queries and keys (tokens), from 0 to 2**53; as many keys as queries where only one
        is given.
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
    positions, lengths = _relative_positions(query_length, key_length, offset)
    buckets = _t5_buckets(positions, len(entries), max_distance, bidirectional)
    return _toeplitz(_entries(entries, buckets), lengths)


def relative(
    table: ArrayLike,
    query_length: int,
    key_length: int | None = None,
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
    query_length, key_length : int
        Number of queries and keys (tokens), from 0 to 2**53; as many keys as queries where only one
        is given.
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
    positions, lengths = _relative_positions(query_length, key_length, offset)
    reach = entries.shape[-1] // 2
    index = reach + np.clip(positions, -reach, reach)
    return _toeplitz(_entries(np.moveaxis(entries, -1, 0), index), lengths)


def causal_mask(
    query_length: int, key_length: int | None = None, /, *, offset: ArrayLike | None = None
) -> NDArray[np.bool_]:
    r"""Causal mask: a query attends to the keys up to its own position.

    True where ``j <= i + offset``, for query ``i`` and key ``j``.

    Parameters
    ----------
    query_length, key_length : int
        Number of queries and keys (tokens), from 0 to 2**53; as many keys as queries where only one
        is given.
    offset : int or array_like of int, optional
        Position of the first query minus position of the first key (tokens), at most 2**53 in size.
        0 where the lengths are equal; must be given where they differ.

    Returns
    -------
    ndarray of shape (\*offset.shape, query_length, key_length)
        bool, True where the query attends to the key.

    Raises
    ------
    ValueError
        If an argument is out of the range above, `offset` is missing, or the result is larger than
        any memory.
    TypeError
        If an argument is no integer.

    See Also
    --------
    window_mask : Keys that are near.
    ropewalk.attention : Masks the same where it is given ``causal=True``, and makes no such array.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.2.3.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.bias.causal_mask(3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    >>> rw.bias.causal_mask(2, 4, offset=2).astype(int)
    array([[1, 1, 1, 0],
           [1, 1, 1, 1]])
    """
    positions, lengths = _relative_positions(query_length, key_length, offset)
    return _toeplitz(positions <= 0, lengths)


def window_mask(
    query_length: int,
    key_length: int | None = None,
    /,
    *,
    window: Window,
    offset: ArrayLike | None = None,
) -> NDArray[np.bool_]:
    r"""Sliding window: a query attends to the keys around its own position.

    True where ``-left <= j - (i + offset) <= right``, for query ``i`` and key ``j``.

    Parameters
    ----------
    query_length, key_length : int
        Number of queries and keys (tokens), from 0 to 2**53; as many keys as queries where only one
        is given.
    window : (left, right)
        How many keys before and after its own position a query sees (tokens), each 0 or more; None
        for all of them.
    offset : int or array_like of int, optional
        Position of the first query minus position of the first key (tokens), at most 2**53 in size.
        0 where the lengths are equal; must be given where they differ.

    Returns
    -------
    ndarray of shape (\*offset.shape, query_length, key_length)
        bool, True where the query attends to the key.

    Raises
    ------
    ValueError
        If `window` is no pair, an argument is out of the range above, `offset` is missing, or the
        result is larger than any memory.
    TypeError
        If a length, an offset or a side of the window is no integer.

    See Also
    --------
    causal_mask : The window ``(None, 0)``.
    ropewalk.attention : Masks the same where it is given `window`, and makes no such array.

    Notes
    -----
    Models count in several ways. Longformer has half of its window ``w`` on each side, ``(w // 2, w
    // 2)``. The text of Mistral 7B lets position ``i`` see ``i - w`` to ``i``, which is ``(w, 0)``;
    the code that runs such models commonly counts the query's own key among the ``w``, which is
    ``(w - 1, 0)``.

    References
    ----------
    Beltagy, Peters and Cohan, Longformer: The Long-Document Transformer, 2020, arXiv:2004.05150,
    section 3.1.
    Jiang et al., Mistral 7B, 2023, arXiv:2310.06825, section 2.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.bias.window_mask(4, window=(1, 0)).astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """
    positions, lengths = _relative_positions(query_length, key_length, offset)
    left, right = _arrays.window(window)
    seen = np.ones(positions.shape, np.bool_)
    if left is not None:
        seen &= positions >= -left
    if right is not None:
        seen &= positions <= right
    return _toeplitz(seen, lengths)


def key_length_mask(key_lengths: ArrayLike, key_length: int, /) -> NDArray[np.bool_]:
    r"""Mask of padded keys: queries attend to the first keys of a sequence only.

    True where ``j`` is below the number of valid keys, for key ``j`` and every query.

    Parameters
    ----------
    key_lengths : int or array_like of int
        Number of valid keys of each sequence (tokens), from 0 to `key_length`.
    key_length : int
        Number of keys with the padding, from 0 to 2**53.

    Returns
    -------
    ndarray of shape (\*key_lengths.shape, 1, key_length)
        bool, True where a query attends to the key; the axis of length 1 is that of the queries.

    Raises
    ------
    ValueError
        If an argument is out of the range above, or the result is larger than any memory.
    TypeError
        If an argument is no integer.

    See Also
    --------
    packed_mask : Sequences that follow each other instead of being padded.
    ropewalk.attention : Masks the same where it is given `key_lengths`, and makes no such array.

    Notes
    -----
    For data of shape ``(batch, heads, length, dim)`` the mask needs an axis for the heads:
    ``key_length_mask(key_lengths, key_length)[:, None]``. The queries of padded positions are not
    masked; what they give is to be thrown away.

    References
    ----------
    ONNX, operator Attention, version 24, 2025, input nonpad_kv_seqlen.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.bias.key_length_mask([1, 3], 4).astype(int)
    array([[[1, 0, 0, 0]],
    <BLANKLINE>
           [[1, 1, 1, 0]]])
    >>> (rw.bias.key_length_mask([1, 3], 4) & rw.bias.causal_mask(4)).shape
    (2, 4, 4)
    """
    keys = _length("key_length", key_length)
    valid = _arrays.integers("key_lengths", key_lengths, 0, keys)
    result, _ = _arrays.result(None, (*valid.shape, 1, keys), np.dtype(np.bool_))
    np.less(np.arange(keys), valid[..., None, None], out=result)
    return result


def packed_mask(sequence_ids: ArrayLike, key_ids: ArrayLike | None = None, /) -> NDArray[np.bool_]:
    r"""Mask of packed sequences: a query attends to the keys of its own sequence.

    True where the numbers of the sequences are equal.

    Parameters
    ----------
    sequence_ids : array_like of shape (..., query_length)
        To which sequence every query belongs: any integers.
    key_ids : array_like of shape (..., key_length), optional
        The same for the keys; those of the queries where it is not given. Axes before the last
        broadcast.

    Returns
    -------
    ndarray of shape (..., query_length, key_length)
        bool, True where the query attends to the key.

    Raises
    ------
    ValueError
        If there is no axis, the axes before the last do not broadcast, or the result is larger than
        any memory.
    TypeError
        If a number is no integer.

    See Also
    --------
    causal_mask : Combined with it, a query sees the earlier tokens of its sequence.
    key_length_mask : One sequence a row, padded.

    References
    ----------
    Krell et al., Efficient Sequence Packing without Cross-contamination: Accelerating Large
    Language Models without Impacting Performance, 2021, arXiv:2107.02027.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.bias.packed_mask([7, 7, 8]).astype(int)
    array([[1, 1, 0],
           [1, 1, 0],
           [0, 0, 1]])
    >>> (rw.bias.packed_mask([7, 7, 8]) & rw.bias.causal_mask(3)).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 0, 1]])
    """
    queries = _ids("sequence_ids", sequence_ids)
    keys = queries if key_ids is None else _ids("key_ids", key_ids)
    try:
        leading = np.broadcast_shapes(queries.shape[:-1], keys.shape[:-1])
    except ValueError:
        msg = (
            "key_ids must broadcast to sequence_ids before their last axes, "
            f"got shapes {keys.shape} and {queries.shape}"
        )
        raise ValueError(msg) from None
    shape = (*leading, queries.shape[-1], keys.shape[-1])
    result, _ = _arrays.result(None, shape, np.dtype(np.bool_))
    np.equal(queries[..., :, None], keys[..., None, :], out=result)
    return result


def _relative_positions(
    query_length: int, key_length: int | None, offset: ArrayLike | None
) -> tuple[NDArray[np.int64], tuple[int, int]]:
    """Return the relative positions from -query_length to key_length - 1, less every offset.

    The last axis holds all that a query and a key can have, and one that none have, so that there
    is a line even where there are no queries or keys. The lengths come with them.
    """
    queries = _length("query_length", query_length)
    keys = queries if key_length is None else _length("key_length", key_length)
    if offset is None and queries != keys:
        msg = f"offset must be given {_arrays.which_offset(queries, keys)}"
        raise ValueError(msg)
    largest = _arrays.LARGEST_POSITION
    offsets = _arrays.integers("offset", 0 if offset is None else offset, -largest, largest)
    # Memory that cannot be had is refused before any of it is written.
    _arrays.result(None, (*offsets.shape, queries, keys), np.dtype(np.bool_))
    return np.arange(-queries, keys) - offsets[..., None], (queries, keys)


def _toeplitz(line: NDArray[Any], lengths: tuple[int, int]) -> NDArray[Any]:
    """Return values of `_relative_positions` as matrices: the same all along each diagonal."""
    result, _ = _arrays.result(None, (*line.shape[:-1], *lengths), line.dtype)
    result[...] = sliding_window_view(line, lengths[1], axis=-1)[..., :0:-1, :]
    return result


def _t5_buckets(
    positions: NDArray[np.int64], buckets: int, max_distance: int, bidirectional: bool
) -> NDArray[np.int64]:
    both = _arrays.boolean("bidirectional", bidirectional)
    count = _arrays.integer("buckets", buckets)
    if both and (count % 2 or not 4 <= count <= LARGEST_BUCKETS):
        msg = f"buckets must be an even integer from 4 to {LARGEST_BUCKETS}, got {count}"
        raise ValueError(msg)
    if not 2 <= count <= LARGEST_BUCKETS:
        msg = f"buckets must be an integer from 2 to {LARGEST_BUCKETS}, got {count}"
        raise ValueError(msg)
    direction = count // 2 if both else count
    starts = _t5_starts(direction, max_distance)
    found = np.searchsorted(starts, np.abs(positions) if both else -positions, side="right")
    return found + direction * (positions > 0) if both else found


def _t5_starts(buckets: int, max_distance: int) -> list[int]:
    """Return the smallest distance in every bucket of a direction but the first.

    The logarithmic ones, counted from 0, begin where (d / exact) ** steps reaches
    (max_distance / exact) ** k.
    """
    exact = buckets // 2
    steps = buckets - exact
    farthest = _arrays.integer("max_distance", max_distance)
    if not exact < farthest <= _arrays.LARGEST_POSITION:
        msg = (
            f"max_distance must be an integer above {exact}, the distances with a bucket of "
            f"their own, and at most 2**53, got {farthest}"
        )
        raise ValueError(msg)
    return [*range(1, exact)] + [
        bisect_left(range(farthest), farthest**k * exact ** (steps - k), key=lambda d: d**steps)
        for k in range(steps)
    ]


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


def _length(name: str, value: object) -> int:
    length = _arrays.integer(name, value)
    if not 0 <= length <= _arrays.LARGEST_POSITION:
        msg = f"{name} must be an integer from 0 to 2**53, got {length}"
        raise ValueError(msg)
    return length


def _ids(name: str, values: ArrayLike) -> NDArray[Any]:
    array = _arrays.converted(name, values, "an array of integers")
    if array.dtype.kind not in "iu":
        msg = f"{name} must be integers of at most 64 bits, got dtype {array.dtype}"
        raise TypeError(msg)
    if array.ndim == 0:
        msg = f"{name} must have at least one dimension, got a number"
        raise ValueError(msg)
    return array
