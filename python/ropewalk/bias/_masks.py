"""Masks, True where a query attends to a key."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options, _results
from ropewalk._options import Integer, Window
from ropewalk.bias._distances import checked_length, matrices, relative_positions


def causal_mask(
    query_length: Integer, key_length: Integer | None = None, /, *, offset: ArrayLike | None = None
) -> NDArray[np.bool_]:
    r"""Causal mask: a query attends to the keys up to its own position.

    True where ``j <= i + offset``, for query ``i`` and key ``j``.

    Parameters
    ----------
    query_length : int
        Number of queries (tokens), from 0 to 2**53.
    key_length : int, optional
        Number of keys (tokens), from 0 to 2**53; as many as queries where it is left out.
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
    MemoryError
        If the result is larger than the memory at hand.

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
    positions, lengths = relative_positions(query_length, key_length, offset, np.bool_)
    return matrices(positions <= 0, lengths)


def window_mask(
    query_length: Integer,
    key_length: Integer | None = None,
    /,
    *,
    window: Window | None,
    offset: ArrayLike | None = None,
) -> NDArray[np.bool_]:
    r"""Sliding window: a query attends to the keys around its own position.

    True where ``-left <= j - (i + offset) <= right``, for query ``i`` and key ``j``.

    Parameters
    ----------
    query_length : int
        Number of queries (tokens), from 0 to 2**53.
    key_length : int, optional
        Number of keys (tokens), from 0 to 2**53; as many as queries where it is left out.
    window : (left, right) or None
        How many keys before and after its own position a query sees (tokens), each 0 or more; None
        for all of them, on one side or, in place of the pair, on both.
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
        If a length, an offset or a side of the window is no integer, or `window` neither a
        tuple or list nor None.
    MemoryError
        If the result is larger than the memory at hand.

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
    positions, lengths = relative_positions(query_length, key_length, offset, np.bool_)
    left, right = _options.window(window)
    seen = np.ones(positions.shape, np.bool_)
    if left is not None:
        seen &= positions >= -left
    if right is not None:
        seen &= positions <= right
    return matrices(seen, lengths)


def key_length_mask(key_lengths: ArrayLike, key_length: Integer, /) -> NDArray[np.bool_]:
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
    MemoryError
        If the result is larger than the memory at hand.

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
    keys = checked_length("key_length", key_length)
    valid = _arrays.integers("key_lengths", key_lengths, 0, keys)
    result = _results.empty((*valid.shape, 1, keys), np.dtype(np.bool_))
    if result.size:  # of any number of keys where there is no sequence
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
    MemoryError
        If the result is larger than the memory at hand.

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
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> rw.bias.packed_mask([7, 7, 8]).astype(int)
    array([[1, 1, 0],
           [1, 1, 0],
           [0, 0, 1]])
    >>> (rw.bias.packed_mask([7, 7, 8]) & rw.bias.causal_mask(3)).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 0, 1]])

    Some layers of Llama 4 attend within chunks of as many tokens, here 2:

    >>> (rw.bias.packed_mask(np.arange(5) // 2) & rw.bias.causal_mask(5)).astype(int)
    array([[1, 0, 0, 0, 0],
           [1, 1, 0, 0, 0],
           [0, 0, 1, 0, 0],
           [0, 0, 1, 1, 0],
           [0, 0, 0, 0, 1]])
    """
    queries = _ids("sequence_ids", sequence_ids)
    keys = queries if key_ids is None else _ids("key_ids", key_ids)
    try:
        leading = queries.shape[:-1]
        if key_ids is not None:
            leading = _arrays.broadcast_shape(leading, keys.shape[:-1])
    except ValueError:
        msg = (
            "key_ids must broadcast to sequence_ids before their last axes, "
            f"got shapes {keys.shape} and {queries.shape}"
        )
        raise ValueError(msg) from None
    shape = (*leading, queries.shape[-1], keys.shape[-1])
    result = _results.empty(shape, np.dtype(np.bool_))
    np.equal(queries[..., :, None], keys[..., None, :], out=result)
    return result


def _ids(name: str, values: ArrayLike) -> NDArray[Any]:
    array = _arrays.converted_integers(name, values, "an array of integers")
    if array.dtype.kind not in "iu":
        msg = f"{name} must be integers of at most 64 bits, got dtype {array.dtype}"
        raise TypeError(msg)
    if array.ndim == 0:
        msg = f"{name} must have at least one dimension, got a number"
        raise ValueError(msg)
    return array
