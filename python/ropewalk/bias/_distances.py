"""Positions of keys less those of queries, and matrices of what depends on them alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ropewalk import _arrays, _options, _results
from ropewalk._options import Integer


def relative_positions(
    query_length: Integer, key_length: Integer | None, offset: ArrayLike | None, dtype: DTypeLike
) -> tuple[NDArray[np.int64], tuple[int, int]]:
    """Return the relative positions from -query_length to key_length - 1, less every offset.

    The last axis holds all that a query and a key can have, and one that none have; that one alone
    where the result is empty, however long the other side is. The lengths come with them. A result
    of that dtype that no memory holds is refused.
    """
    queries = checked_length("query_length", query_length)
    keys = queries if key_length is None else checked_length("key_length", key_length)
    if offset is None and queries != keys:
        msg = f"offset must be given {_options.which_offset(queries, keys)}"
        raise ValueError(msg)
    offsets = _arrays.offsets(0 if offset is None else offset)
    # Memory that cannot be had is refused before any of it is written.
    result = _results.empty((*offsets.shape, queries, keys), np.dtype(dtype))
    line = np.arange(-queries, keys if result.size else 1 - queries)
    return line - offsets[..., None], (queries, keys)


def matrices(line: NDArray[Any], lengths: tuple[int, int]) -> NDArray[Any]:
    """Return values of `relative_positions` as matrices: the same all along each diagonal."""
    result = _results.empty((*line.shape[:-1], *lengths), line.dtype)
    if result.size:
        result[...] = sliding_window_view(line, lengths[1], axis=-1)[..., :0:-1, :]
    return result


def checked_length(name: str, value: object) -> int:
    return _options.integer_between(name, value, 0, _options.LARGEST_POSITION)
