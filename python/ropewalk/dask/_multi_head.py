"""Multi-head attention: projections and rotation chunk by chunk, and attention of their chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import dask.array as da
import numpy as np
from numpy.typing import ArrayLike, NDArray

import ropewalk as rw
from ropewalk._attention import AttentionOptions
from ropewalk._conversions import in_dtype
from ropewalk._multi_head import (
    Rotary,
    check_options,
    computed_dtype,
    first_positions,
    rotation_options,
)
from ropewalk._options import Boolean, Integer
from ropewalk.dask._attention import attention
from ropewalk.dask._chunks import in_chunks, leading_axes, stand_in
from ropewalk.dask._positions import axes_of, positions_of_rows, rotate


class DaskOptions(AttentionOptions, total=False):
    """The options of `attention` here."""

    recompute: Boolean


def multi_head_attention(
    query: da.Array,
    key: da.Array | None = None,
    value: da.Array | None = None,
    /,
    *,
    heads: Integer,
    query_weight: da.Array | ArrayLike,
    key_weight: da.Array | ArrayLike,
    value_weight: da.Array | ArrayLike,
    output_weight: da.Array | ArrayLike | None = None,
    query_bias: da.Array | ArrayLike | None = None,
    key_bias: da.Array | ArrayLike | None = None,
    value_bias: da.Array | ArrayLike | None = None,
    output_bias: da.Array | ArrayLike | None = None,
    rotary: Rotary | None = None,
    positions: da.Array | ArrayLike | range | None = None,
    key_positions: da.Array | ArrayLike | range | None = None,
    **options: Unpack[DaskOptions],
) -> da.Array:
    r"""Multi-head attention, chunk by chunk.

    Parameters
    ----------
    query : dask.array.Array of shape (..., query length, features)
    key, value : dask.array.Array of shape (..., key length, features), optional
        As in `ropewalk.multi_head_attention`, in any chunks; features are brought into one.
    heads : int
        As in `ropewalk.multi_head_attention`.
    query_weight, key_weight, value_weight, output_weight : dask.array.Array or array_like
    query_bias, key_bias, value_bias, output_bias : dask.array.Array or array_like, optional
        As in `ropewalk.multi_head_attention`. Every task of a projection holds the whole.
    rotary : Frequencies or mapping, optional
        As in `ropewalk.multi_head_attention`.
    positions, key_positions : dask.array.Array, array_like or range, optional
        As in `ropewalk.multi_head_attention`: of the whole, whatever the chunks.
    **options
        Those of `attention`.

    Returns
    -------
    dask.array.Array of shape (..., query length, columns of the output weight)
        In the chunks of the queries. Of the dtype of `ropewalk.multi_head_attention`.

    Raises
    ------
    ValueError, TypeError
        As `ropewalk.multi_head_attention`, `rotate` and `attention`.

    See Also
    --------
    attention : Attention alone.

    Notes
    -----
    As exact as `attention`. Projections are NumPy's matrix products; so the bits may depend on the
    number of threads that they use.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.2.2.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((100, 16))
    >>> wq, wk, wv = (rng.standard_normal((16, columns)) / 4 for columns in (16, 8, 8))
    >>> layer = {"heads": 4, "query_weight": wq, "key_weight": wk, "value_weight": wv}
    >>> layer |= {"rotary": rw.frequencies.standard(4), "causal": True}
    >>> output = rw.dask.multi_head_attention(da.from_array(x, chunks=(30, 16)), **layer)
    >>> bool(np.allclose(output.compute(), rw.multi_head_attention(x, **layer)))
    True
    """
    keys = query if key is None else key
    data = {"query": query, "key": keys, "value": keys if value is None else value}
    check_options(options, "recompute")
    rows = {name: in_chunks(name, x) for name, x in data.items()}
    weights = {
        "query_weight": query_weight,
        "key_weight": key_weight,
        "value_weight": value_weight,
        "output_weight": output_weight,
        "query_bias": query_bias,
        "key_bias": key_bias,
        "value_bias": value_bias,
        "output_bias": output_bias,
    }
    matrices = {n: in_chunks(n, w).rechunk(-1) for n, w in weights.items() if w is not None}
    turning = {} if rotary is None else rotation_options(rotary)
    axes = axes_of(turning.get("frequencies"))
    # The same with no rows at all: refuses what does not fit, and has the dtype of the result.
    nowhere = np.empty((0, *axes))
    stand_ins: dict[str, Any] = {name: stand_in(matrix) for name, matrix in matrices.items()}
    empty = rw.multi_head_attention(
        *map(_without_rows, rows.values()),
        heads=heads,
        rotary=rotary,
        positions=None if positions is None else nowhere,
        key_positions=None if key_positions is None else nowhere,
        precision=options.get("precision"),
        **stand_ins,
    )
    rows = {name: x.rechunk({-1: -1}) for name, x in rows.items()}
    dtype = computed_dtype(empty.dtype, options)
    heads = int(heads)  # NumPy's small integers divide no number that is larger than they hold
    dim = matrices["query_weight"].shape[-1] // heads
    of_heads = []
    for name, x in rows.items():
        columns = _projected(x, matrices, name, dtype)
        count = heads if name == "query" else matrices["key_weight"].shape[-1] // dim
        of_heads.append(_split(columns, count))
    if rotary is not None:
        if key is None and key_positions is None:
            key_positions = positions
        names = ["positions", "key_positions"]
        offset = options.get("offset")
        if positions is None and offset is not None:
            names[0], positions = "offset", _continued(offset, of_heads[0], axes)
        of_heads[:2] = [
            rotate(x, _of_all_heads(name, at, axes, rows[of].shape, of), **turning)
            for name, of, x, at in zip(
                names, rows, of_heads, (positions, key_positions), strict=False
            )
        ]
    if all(x.ndim == 3 for x in of_heads):  # heads alone are no grouped heads
        output = attention(*(x[None] for x in of_heads), **options)[0]
    else:
        output = attention(*of_heads, **options)
    merged = output.map_blocks(
        rw.merge_heads,
        chunks=(*output.chunks[:-3], output.chunks[-2], (output.shape[-3] * output.shape[-1],)),
        drop_axis=output.ndim - 3,
        meta=np.empty((0,) * (output.ndim - 1), dtype),
    )
    if output_weight is not None:
        merged = _projected(merged, matrices, "output", dtype)
    return merged.map_blocks(_rounded, empty.dtype, dtype=empty.dtype)


def _rounded(block: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    with rw.num_threads(1):
        return in_dtype(block, dtype)


def _without_rows(x: da.Array) -> NDArray[Any]:
    shape = x.shape if x.ndim < 2 else (*x.shape[:-2], 0, x.shape[-1])
    return np.empty(shape, x.dtype)


def _continued(offset: ArrayLike, queries: da.Array, axes: tuple[int, ...]) -> da.Array:
    """Return the positions of queries from the offset on."""
    first, length = first_positions(offset, queries.shape), queries.shape[-2]
    rows = da.asarray(first[..., None]) + da.arange(length, chunks=queries.chunks[-2:-1])
    return da.stack([rows] * axes[0], axis=-1) if axes else rows


def _of_all_heads(
    name: str,
    positions: da.Array | ArrayLike | range | None,
    axes: tuple[int, ...],
    array_shape: tuple[int, ...],
    of: str,
) -> da.Array | range | None:
    """Return positions with an axis for the heads, where they have one for each row of a batch."""
    if positions is None:
        return None
    rows = positions_of_rows(name, positions, axes, array_shape, of=of)
    if isinstance(rows, range) or rows.ndim <= 1 + len(axes):
        return rows
    return da.stack([rows], axis=-2 - len(axes))


def _projected(
    x: da.Array, matrices: Mapping[str, da.Array], name: str, dtype: np.dtype[Any]
) -> da.Array:
    leading = leading_axes(x.ndim - 1)
    bias = [matrices[f"{name}_bias"], ["columns"]] if f"{name}_bias" in matrices else []
    return da.blockwise(
        _product,
        [*leading, "columns"],
        x.astype(dtype),
        [*leading, "features"],
        matrices[f"{name}_weight"].astype(dtype),
        ["features", "columns"],
        *bias,
        align_arrays=False,
        meta=np.empty((0,) * x.ndim, dtype),
    )


def _split(columns: da.Array, heads: Integer) -> da.Array:
    *leading, rows, _ = columns.chunks
    return columns.map_blocks(
        rw.split_heads,
        heads,
        chunks=(*leading, (heads,), rows, (columns.shape[-1] // heads,)),
        new_axis=len(leading),
        meta=np.empty((0,) * (columns.ndim + 1), columns.dtype),
    )


@np.errstate(all="ignore")  # numbers too large become infinities, as they do without Dask
def _product(
    x: list[NDArray[Any]], weight: list[NDArray[Any]], bias: NDArray[Any] | float = 0.0
) -> NDArray[Any]:
    product: NDArray[Any] = x[0] @ weight[0]
    product += bias
    return product
