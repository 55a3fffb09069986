"""Arrays in chunks, and the names of their axes: those of one name run together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays

Chunks = tuple[int, ...]
Labels = list[str]


def in_chunks(name: str, x: da.Array | ArrayLike) -> da.Array:
    """Return a Dask array whose chunks have known sizes."""
    _arrays.refuse_what_is_lost(name, x)
    try:
        array = da.asarray(x)
        unknown = np.isnan(array.shape).any()
    except NotImplementedError:  # Dask knows no size of objects; their dtype is refused later
        return da.from_array(np.asarray(x), chunks=-1)
    if unknown:
        msg = f"{name} must have chunks of known sizes, got {array.chunks}; see compute_chunk_sizes"
        raise ValueError(msg)
    return array


def stand_in(
    array: da.Array, in_a_row: tuple[int, ...] = (), *, mask: bool = False
) -> NDArray[Any]:
    """Return zeros of the shape and dtype, that take no more memory than those in a row."""
    # Integers would become float64, and be copied for that; as a mask they are refused.
    dtype = np.dtype(np.float64) if array.dtype.kind in "iu" and not mask else array.dtype
    return np.broadcast_to(np.zeros(in_a_row, dtype), array.shape)


def common_dtype(arrays: Mapping[str, da.Array]) -> np.dtype[Any]:
    ones = [_arrays.data(name, np.empty(1, array.dtype)) for name, array in arrays.items()]
    return _arrays.common_dtype(ones)


def leading_axes(count: int) -> Labels:
    return [f"leading {axis}" for axis in range(count)]


def not_empty(chunks: Chunks) -> Chunks:
    return tuple(size for size in chunks if size) or (0,)


def leading_chunks(axis: int, length: int, arrays: Iterable[da.Array]) -> Chunks:
    """Return chunks of an axis of the result: in each of them heads find the keys they share."""
    having = [array for array in arrays if array.ndim >= -axis and array.shape[axis] != 1]
    for array in having:
        chunks: Chunks = array.chunks[axis]
        if array.shape[axis] == length and not any(
            size * other.shape[axis] % length for size in chunks for other in having if length
        ):
            return chunks
    return (length,)


def aligned(array: da.Array, labels: Labels, chunks: Mapping[str, Chunks]) -> da.Array:
    """Return the array in chunks that go with those; one of length 1 goes with all of them."""
    wanted = []
    for length, label in zip(array.shape, labels, strict=True):
        total = sum(chunks[label])
        shared = length != 1 or total == 1
        wanted.append(tuple(n * length // (total or 1) for n in chunks[label]) if shared else 1)
    return array.rechunk(tuple(wanted))


def one_a_chunk(numbers: Sequence[int]) -> da.Array:
    return da.from_array(np.array(numbers, np.int64), chunks=1)
