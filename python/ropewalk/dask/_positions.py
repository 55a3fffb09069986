"""Encodings and rotation, chunk by chunk."""

from __future__ import annotations

import itertools
from typing import Any

import dask.array as da
import numpy as np
from dask import is_dask_collection
from numpy.typing import ArrayLike, DTypeLike, NDArray

import ropewalk as rw
from ropewalk import _arrays
from ropewalk._encodings import Order
from ropewalk._options import Boolean, Integer, Pairing, Real
from ropewalk.dask._chunks import aligned, in_chunks, leading_axes, one_a_chunk
from ropewalk.frequencies import Frequencies


def sinusoidal_encoding(
    positions: da.Array,
    dim: Integer | None = None,
    /,
    *,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
    pairing: Pairing = "interleaved",
    order: Order = "sin-cos",
    dtype: DTypeLike | None = None,
) -> da.Array:
    r"""Sinusoidal positional encoding of the Transformer, in chunks.

    Parameters
    ----------
    positions : dask.array.Array
        Positions (tokens) as in `ropewalk.sinusoidal_encoding`: ``da.arange(n, chunks=..)`` for the
        first ``n``.
    dim, base, frequencies, pairing, order, dtype
        As in `ropewalk.sinusoidal_encoding`.

    Returns
    -------
    dask.array.Array of shape (\*positions.shape, dim)
        In the chunks of `positions`, each of the whole width.

    Raises
    ------
    ValueError, TypeError, ImportError
        As `ropewalk.sinusoidal_encoding`: at once, but for positions of a Dask array that are out
        of range, when their chunk is computed.

    See Also
    --------
    rotate : Rotary position embedding.

    Notes
    -----
    The bits of `ropewalk.sinusoidal_encoding`, whatever the chunks.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5.

    Examples
    --------
    >>> import dask.array as da
    >>> import ropewalk as rw
    >>> table = rw.dask.sinusoidal_encoding(da.arange(1000, chunks=300), 64)
    >>> table.chunks
    ((300, 300, 300, 100), (64,))
    >>> bool((table.compute() == rw.sinusoidal_encoding(range(1000), 64)).all())
    True
    """
    options: dict[str, Any] = {
        "base": base,
        "frequencies": frequencies,
        "pairing": pairing,
        "order": order,
    }
    axes = axes_of(frequencies)
    rows = _in_chunks("positions", positions, axes)
    nowhere = np.empty((0, *axes), rows.dtype)
    empty = rw.sinusoidal_encoding(nowhere, dim, dtype=dtype, **options)
    labels = leading_axes(rows.ndim)
    return da.blockwise(
        _encoded,
        [*labels[: rows.ndim - len(axes)], "features"],
        rows,
        labels,
        new_axes={"features": empty.shape[-1]},
        concatenate=True,
        meta=empty[(None,) * (len(labels) - len(axes) - 1)],
        dim=dim,
        of_dtype=empty.dtype,
        **options,
    )


def rotate(
    x: da.Array,
    positions: da.Array | ArrayLike | range | None = None,
    /,
    *,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
    pairing: Pairing = "interleaved",
    rotary_dim: Integer | None = None,
    inverse: Boolean = False,
) -> da.Array:
    r"""Rotary position embedding (RoPE), in chunks, by absolute positions.

    Parameters
    ----------
    x : dask.array.Array of shape (..., dim)
        As in `ropewalk.rotate`, in any chunks.
    positions : dask.array.Array, array_like or range, optional
        As in `ropewalk.rotate`; ``range(x.shape[-2])`` where left out, of which each chunk takes
        its own.
    base, frequencies, pairing, rotary_dim, inverse
        As in `ropewalk.rotate`.

    Returns
    -------
    dask.array.Array of the shape and dtype of x
        In the chunks of `x`, each of the whole width.

    Raises
    ------
    ValueError, TypeError
        As `ropewalk.rotate`: at once, but for positions of a Dask array that are out of range, when
        their chunk is computed.

    See Also
    --------
    attention : Attention to what was turned.

    Notes
    -----
    The bits of `ropewalk.rotate`, whatever the chunks.

    References
    ----------
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864, equation 34.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> x = np.ones((8, 100, 64), np.float32)
    >>> turned = rw.dask.rotate(da.from_array(x, chunks=(2, 30, 64)))
    >>> bool((turned.compute() == rw.rotate(x)).all())
    True
    """
    data = in_chunks("x", x)
    options: dict[str, Any] = {
        "base": base,
        "frequencies": frequencies,
        "pairing": pairing,
        "rotary_dim": rotary_dim,
        "inverse": inverse,
    }
    axes = axes_of(frequencies)
    empty = np.empty((*[0] * (data.ndim - 1), *data.shape[-1:]), data.dtype)
    if positions is None:
        rw.rotate(empty, **options)  # refuses an x that has no axis of positions
        positions = range(data.shape[-2])
        if axes:
            line = da.arange(data.shape[-2], chunks=(data.chunks[-2],))
            positions = da.stack([line] * axes[0], axis=-1)
    empty = rw.rotate(empty, np.zeros(axes), **options)
    data = data.rechunk({-1: -1})
    labels = leading_axes(data.ndim)
    rows = positions_of_rows("positions", positions, axes, data.shape)
    if isinstance(rows, range):
        edges = itertools.accumulate(data.chunks[-2][:-1], initial=0)
        firsts = [rows.start + rows.step * edge for edge in edges]
        return da.blockwise(
            _turned_from,
            labels,
            data,
            labels,
            one_a_chunk(firsts),
            labels[-2:-1],
            align_arrays=False,
            meta=empty,
            step=rows.step,
            **options,
        )
    count = rows.ndim - len(axes)
    own = labels[-2:-1] if count == 1 else labels[:count]
    own += ["axis"] * len(axes)
    chunks = dict(zip(labels, data.chunks, strict=True)) | {"axis": axes}
    return da.blockwise(
        _turned,
        labels,
        data,
        labels,
        aligned(rows, own, chunks),
        own,
        align_arrays=False,
        concatenate=True,
        meta=empty,
        **options,
    )


def axes_of(frequencies: object) -> tuple[int, ...]:
    """Return the shape of one position."""
    if isinstance(frequencies, Frequencies) and frequencies.axes > 1:
        return (frequencies.axes,)
    return ()


def positions_of_rows(
    name: str,
    positions: da.Array | ArrayLike | range,
    axes: tuple[int, ...],
    array_shape: tuple[int, ...],
    *,
    of: str = "x",
) -> da.Array | range:
    """Return positions that fit the rows of an array: a range of one for each, or in chunks."""
    if isinstance(positions, range) and not axes:  # however long, it takes no memory
        _, shape = _arrays.positions(name, positions)
        _arrays.check_rows_fit(name, shape, array_shape, of=of)
        if shape == array_shape[-2:-1]:
            return positions
    rows = _in_chunks(name, positions, axes)
    shape = rows.shape[: rows.ndim - len(axes)]
    _arrays.check_rows_fit(name, shape, array_shape, axes, each="coordinates", of=of)
    return rows


def _is_lazy(positions: object) -> bool:
    """Whether positions are not in memory: in a Dask array or some of them, or in a file."""
    if isinstance(positions, (list, tuple)):
        return any(map(is_dask_collection, positions))
    return hasattr(positions, "dtype") and not isinstance(positions, (np.ndarray, np.generic))


def _in_chunks(
    name: str, positions: da.Array | ArrayLike | range, axes: tuple[int, ...]
) -> da.Array:
    """Return positions in chunks, all axes of one in the same chunk."""
    if not _is_lazy(positions):
        checked, shape = _arrays.positions(name, positions, *axes)
        return da.asarray(_arrays.listed(checked).reshape(shape + axes))
    rows = in_chunks(name, positions)
    _arrays.positions(name, np.empty(0, rows.dtype))  # refuses a dtype
    if axes:
        _arrays.check_coordinates(name, rows.shape, *axes)
    return rows.rechunk({-1: -1}) if axes else rows


# A task uses one thread: Dask runs as many as there are processors.


def _encoded(
    positions: NDArray[Any], *, dim: int | None, of_dtype: np.dtype[Any], **options: Any
) -> NDArray[Any]:
    with rw.num_threads(1):
        return rw.sinusoidal_encoding(positions, dim, dtype=of_dtype, **options)


def _turned(x: NDArray[Any], positions: ArrayLike | range, **options: Any) -> NDArray[Any]:
    with rw.num_threads(1):
        return rw.rotate(x, positions, **options)


def _turned_from(
    x: NDArray[Any], first: NDArray[np.int64], *, step: int, **options: Any
) -> NDArray[Any]:
    begin = int(first[0])
    return _turned(x, range(begin, begin + step * x.shape[-2], step), **options)
