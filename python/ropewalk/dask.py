r"""Encodings, rotation and attention of Dask arrays: of more keys than one machine holds.

Attention to all keys is the merge of attention to each chunk of them, weighted by ``exp(lse)``. A
task attends from one chunk of queries to one chunk of keys on one thread; partial results are
merged in a tree. What a causal mask, a window or key lengths hide as a whole is in no task.

Nothing is computed before Dask is asked to. The same chunks give the same bits, on any scheduler
and any number of workers. Other chunks may change the last bits of attention, and those of nothing
else.
"""

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

import ropewalk as rw
from ropewalk import _arrays
from ropewalk._arrays import Pairing, Window
from ropewalk._attention import AttentionOptions
from ropewalk._attention_problem import Precision, Problem
from ropewalk._encodings import Order
from ropewalk._multi_head import Rotary
from ropewalk.frequencies import Frequencies

try:
    import dask.array as da
except ModuleNotFoundError as error:
    msg = "ropewalk.dask needs Dask: pip install 'ropewalk[dask]'"
    raise ImportError(msg) from error

__all__ = ["attention", "multi_head_attention", "rotate", "sinusoidal_encoding"]

Chunks = tuple[int, ...]
Labels = list[str]  # names of axes: those of the same name run together

MERGED_AT_ONCE = 4  # parts that one task holds
MERGED_ROWS = 256  # of each part at once, since merging holds them in float64


def sinusoidal_encoding(
    positions: da.Array,
    dim: int | None = None,
    /,
    *,
    base: float | None = None,
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
        As `ropewalk.sinusoidal_encoding`: at once, but for positions out of range when their chunk
        is computed.

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
    axes = _axes(frequencies)
    rows = _positions(positions, axes)
    nowhere = np.empty((0, *axes), rows.dtype)
    empty = rw.sinusoidal_encoding(nowhere, dim, dtype=dtype, **options)
    labels = _leading(rows.ndim)
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
    base: float | None = None,
    frequencies: Frequencies | None = None,
    pairing: Pairing = "interleaved",
    rotary_dim: int | None = None,
    inverse: bool = False,
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
        As `ropewalk.rotate`: at once, but for positions out of range when their chunk is computed.

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
    data = _dask("x", x)
    options: dict[str, Any] = {
        "base": base,
        "frequencies": frequencies,
        "pairing": pairing,
        "rotary_dim": rotary_dim,
        "inverse": inverse,
    }
    axes = _axes(frequencies)
    empty = np.empty((*[0] * (data.ndim - 1), *data.shape[-1:]), data.dtype)
    if positions is None:
        rw.rotate(empty, **options)  # refuses an x that has no axis of positions
        positions = range(data.shape[-2])
        if axes:
            line = da.arange(data.shape[-2], chunks=(data.chunks[-2],))
            positions = da.stack([line] * axes[0], axis=-1)
    empty = rw.rotate(empty, np.zeros(axes), **options)
    data = data.rechunk({-1: -1})
    labels = _leading(data.ndim)
    if isinstance(positions, range) and not axes and (len(positions),) == data.shape[-2:-1]:
        _arrays.positions("positions", positions)
        edges = itertools.accumulate(data.chunks[-2][:-1], initial=0)
        firsts = [positions.start + positions.step * edge for edge in edges]
        return da.blockwise(
            _turned_from,
            labels,
            data,
            labels,
            _one_a_chunk(firsts),
            labels[-2:-1],
            align_arrays=False,
            meta=empty,
            step=positions.step,
            **options,
        )
    rows = _positions(positions, axes)
    shape = rows.shape[: rows.ndim - len(axes)]
    _arrays.check_rows_fit("positions", shape, data)
    own = labels[-2:-1] if len(shape) == 1 else labels[: len(shape)]
    own += ["axis"] * len(axes)
    chunks = dict(zip(labels, data.chunks, strict=True)) | {"axis": axes}
    return da.blockwise(
        _turned,
        labels,
        data,
        labels,
        _aligned(rows, own, chunks),
        own,
        align_arrays=False,
        concatenate=True,
        meta=empty,
        **options,
    )


def attention(
    query: da.Array,
    key: da.Array,
    value: da.Array,
    /,
    *,
    causal: bool = False,
    offset: ArrayLike | None = None,
    window: Window | None = None,
    mask: da.Array | ArrayLike | None = None,
    bias: da.Array | ArrayLike | None = None,
    slopes: ArrayLike | None = None,
    key_lengths: ArrayLike | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: ArrayLike | None = None,
    precision: Precision | None = None,
    recompute: bool = False,
) -> da.Array:
    r"""Scaled dot-product attention, chunk by chunk.

    Parameters
    ----------
    query : dask.array.Array, shape (..., query length, dim)
    key : dask.array.Array, shape (..., key length, dim)
    value : dask.array.Array, shape (..., key length, value dim)
        As in `ropewalk.attention`, in any chunks. A chunk of queries and a chunk of keys and values
        are what a task holds. Features are brought into one chunk, and so are heads that share
        keys, where no chunk of keys would do for a chunk of queries.
    mask, bias : dask.array.Array or array_like, shape (..., query length, key length), optional
        As in `ropewalk.attention`. Read in the chunks of queries and keys.
    causal, offset, window, slopes, key_lengths, scale, softcap, sinks, precision
        As in `ropewalk.attention`: numbers, or small arrays that are not in chunks.
    recompute : bool, default False
        Read or make a chunk of data anew in each task that takes it, so that none is held between
        tasks: for data that come from files, or are cheap to make.

    Returns
    -------
    dask.array.Array, shape (..., query length, value dim)
        In the chunks of the queries. Of the dtype of `ropewalk.attention`.

    Raises
    ------
    TypeError, ValueError
        As `ropewalk.attention`, at once. ValueError also for arrays whose chunks have sizes that
        Dask does not know.

    See Also
    --------
    ropewalk.attention : Of arrays in memory.
    ropewalk.attention_with_lse, ropewalk.merge_attention : What this is made of.

    Notes
    -----
    A query meets the chunks of keys that its own chunk sees, by `causal`, `window`, `offset` and
    `key_lengths`; no task reads the others. A `mask` hides no chunk as a whole.

    Partial results of the size of a chunk of queries are merged four at a time, ``n`` of them in
    ``L = ceil(log(n, 4))`` levels: a worker of one thread holds at most ``3 L + 2`` beside the
    chunks. Each level adds at most 2 units of the dtype's precision, times the largest value, to
    the error of `ropewalk.attention`.

    A chunk of keys is held until all chunks of queries that see it have met it. With `recompute` it
    is made in the task itself, once for each of them, by whatever Dask fuses into that task: what
    works chunk by chunk, such as ``da.from_zarr``, ``map_blocks`` and `rotate`, on three different
    arrays that nothing else takes. What is not fused is held as otherwise: what was rechunked or
    persisted, NumPy's arrays, and everything where ``array.query-planning`` is set. The bits are
    the same.

    References
    ----------
    M. N. Rabe, C. Staats, "Self-attention Does Not Need O(n^2) Memory", 2021, arXiv:2112.05682,
    section 3.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> x = np.random.default_rng(0).standard_normal((2, 100, 16))
    >>> chunked = da.from_array(x, chunks=(1, 30, 16))
    >>> output = rw.dask.attention(chunked, chunked, chunked, causal=True)
    >>> bool(np.allclose(output.compute(), rw.attention(x, x, x, causal=True)))
    True
    """
    given = {"query": query, "key": key, "value": value}
    arrays = {name: _dask(name, array) for name, array in given.items()}
    dtype = _common_dtype(arrays)
    arrays = {name: array.astype(dtype) for name, array in arrays.items()}
    query, key, value = arrays.values()
    scores = {"mask": mask, "bias": bias}
    of_pairs = {name: _dask(name, x) for name, x in scores.items() if x is not None}
    numbers = {"offset": offset, "key_lengths": key_lengths, "slopes": slopes, "sinks": sinks}
    small = {name: np.asarray(x) for name, x in numbers.items() if x is not None}
    problem = Problem(
        tuple(_stand_in(array, array.shape[-1:]) for array in arrays.values()),
        causal=causal,
        window=window,
        scale=scale,
        softcap=softcap,
        precision=precision,
        **{name: _stand_in(array) for name, array in of_pairs.items()},
        **small,
    )

    for name in small.keys() & {"offset", "key_lengths"}:
        small[name] = small[name].astype(np.int64)

    # Every array has labels for its axes, aligned right as they broadcast.
    leading = _leading(len(problem.leading))
    pairs = [*leading, "queries", "keys"]
    batch = leading[:-1] if len(leading) > 1 else leading
    labels = {
        "query": [*leading, "queries", "features"],
        "key": [*leading, "keys", "features"],
        "value": [*leading, "keys", "values"],
        "mask": pairs,
        "bias": pairs,
        "slopes": leading,
        "sinks": leading,
        "offset": batch,
        "key_lengths": batch,
    }
    chunks: dict[str, Chunks] = {
        label: _leading_chunks(axis, length, arrays.values())
        for axis, (label, length) in enumerate(
            zip(leading, problem.leading, strict=True), start=-2 - len(leading)
        )
    }
    chunks |= {"queries": _not_empty(query.chunks[-2]), "keys": _not_empty(key.chunks[-2])}
    chunks |= {"features": query.shape[-1:], "values": value.shape[-1:]}
    arrays |= of_pairs | {name: da.asarray(array) for name, array in small.items()}
    labels = {name: labels[name][-x.ndim :] if x.ndim else [] for name, x in arrays.items()}
    arrays = {name: _aligned(x, labels[name], chunks) for name, x in arrays.items()}

    # Hidden pairs of chunks are planned with all others, and fall away as nothing asks for them.
    queries, keys = ([*itertools.accumulate(chunks[n], initial=0)] for n in ("queries", "keys"))
    seen = [_seen_chunks(problem, *edges, keys) for edges in itertools.pairwise(queries)]
    part = np.dtype([("output", dtype, value.shape[-1:]), ("lse", np.float64)])
    blocks = [*itertools.chain.from_iterable((arrays[name], labels[name]) for name in arrays)]
    recompute = _arrays.boolean("recompute", recompute)
    # Dask fuses what makes a chunk into the task that takes it, but not where a sum over an axis
    # would take a list of chunks. So features are summed over, or are axes of the parts.
    of_data = ["features", "values"] if recompute else []
    parts = da.blockwise(
        _attended if recompute else _attended_to_held,
        [*pairs, *of_data],
        *blocks[:6],
        _one_a_chunk(queries[:-1]),
        ["queries"],
        _one_a_chunk(keys[:-1]),
        ["keys"],
        _one_a_chunk([keys[first] for first, _ in seen]),
        ["queries"],
        *blocks[6:],
        align_arrays=False,
        adjust_chunks=dict.fromkeys(["keys", *of_data], 1),
        meta=np.empty((0,) * (len(pairs) + len(of_data)), part),
        names=[*arrays][3:],
        window=problem.window,
        scale=problem.scale,
        softcap=softcap,
        precision=precision,
    )
    if recompute:
        parts = parts[..., 0, 0]
    return da.blockwise(
        _output,
        [*leading, "queries", "values"],
        _merged_rows(parts, queries, seen),
        [*leading, "queries"],
        new_axes={"values": value.shape[-1]},
        meta=np.empty((0,) * len(pairs), dtype),
    )


def multi_head_attention(
    query: da.Array,
    key: da.Array | None = None,
    value: da.Array | None = None,
    /,
    *,
    heads: int,
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
    **options: Unpack[AttentionOptions],
) -> da.Array:
    r"""Multi-head attention, chunk by chunk.

    Parameters
    ----------
    query : dask.array.Array, shape (..., query length, features)
    key, value : dask.array.Array, shape (..., key length, features), optional
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
    dask.array.Array, shape (..., query length, columns of the output weight)
        In the chunks of the queries. Of the dtype of `ropewalk.multi_head_attention`.

    Raises
    ------
    TypeError, ValueError
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
    A. Vaswani et al., "Attention Is All You Need", 2017, arXiv:1706.03762, section 3.2.2.

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
    rows = {name: _dask(name, x).rechunk({-1: -1}) for name, x in data.items()}
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
    matrices = {n: _dask(n, w).rechunk(-1) for n, w in weights.items() if w is not None}
    turning: dict[str, Any] = {}
    if rotary is not None:
        turning = {"frequencies": rotary} if isinstance(rotary, Frequencies) else dict(rotary)
    axes = _axes(turning.get("frequencies"))
    # The same with no rows at all: refuses what does not fit, and has the dtype of the result.
    nowhere = np.empty((0, *axes))
    stand_ins: dict[str, Any] = {name: _stand_in(matrix) for name, matrix in matrices.items()}
    empty = rw.multi_head_attention(
        *(np.empty((*x.shape[:-2], 0, *x.shape[-1:]), x.dtype) for x in rows.values()),
        heads=heads,
        rotary=rotary,
        positions=None if positions is None else nowhere,
        key_positions=None if key_positions is None else nowhere,
        precision=options.get("precision"),
        **stand_ins,
    )
    wide = empty.dtype == np.float64 or options.get("precision") is not None
    dtype = np.dtype(np.float64 if wide else np.float32)
    dim = matrices["query_weight"].shape[-1] // heads
    of_heads = []
    for name, x in rows.items():
        columns = _projected(x, matrices, name, dtype)
        count = heads if name == "query" else matrices["key_weight"].shape[-1] // dim
        of_heads.append(_split(columns, count))
    if rotary is not None:
        if key is None and key_positions is None:
            key_positions = positions
        offset = options.get("offset")
        if positions is None and offset is not None:
            positions = _continued(offset, of_heads[0].chunks[-2], axes)
        of_heads[:2] = [
            rotate(x, _of_all_heads(at, axes), **turning)
            for x, at in zip(of_heads, (positions, key_positions), strict=False)
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
    return merged.astype(empty.dtype)


# Arguments


def _dask(name: str, x: da.Array | ArrayLike) -> da.Array:
    """Return a Dask array whose chunks have known sizes."""
    array = da.asarray(x)
    if np.isnan(array.shape).any():
        msg = f"{name} must have chunks of known sizes, got {array.chunks}; see compute_chunk_sizes"
        raise ValueError(msg)
    return array


def _stand_in(array: da.Array, in_a_row: tuple[int, ...] = ()) -> NDArray[Any]:
    """Return zeros of the shape and dtype, that take no more memory than those in a row."""
    # Integers would become float64, and be copied for that.
    dtype = np.dtype(np.float64) if array.dtype.kind in "iu" else array.dtype
    return np.broadcast_to(np.zeros(in_a_row, dtype), array.shape)


def _common_dtype(arrays: Mapping[str, da.Array]) -> np.dtype[Any]:
    ones = [_arrays.data(name, np.empty(1, array.dtype)) for name, array in arrays.items()]
    return _arrays.common_dtype(ones)


def _axes(frequencies: object) -> tuple[int, ...]:
    """Return the shape of one position."""
    if isinstance(frequencies, Frequencies) and frequencies.axes > 1:
        return (frequencies.axes,)
    return ()


def _positions(positions: da.Array | ArrayLike | range, axes: tuple[int, ...]) -> da.Array:
    """Return positions in chunks, all axes of one in the same chunk."""
    rows = _dask("positions", positions)
    if axes and rows.shape[-1:] != axes:
        msg = (
            f"positions must have a last axis of length {axes[0]}, one position on each axis of "
            f"the frequencies, got shape {rows.shape}"
        )
        raise ValueError(msg)
    return rows.rechunk({-1: -1}) if axes else rows


def _continued(offset: ArrayLike, chunks: Chunks, axes: tuple[int, ...]) -> da.Array:
    """Return the positions of queries from the offset on."""
    rows = da.asarray(np.asarray(offset)[..., None]) + da.arange(sum(chunks), chunks=(chunks,))
    return da.stack([rows] * axes[0], axis=-1) if axes else rows


def _of_all_heads(
    positions: da.Array | ArrayLike | range | None, axes: tuple[int, ...]
) -> da.Array | range | None:
    """Return positions with an axis for the heads, where they have one for each row of a batch."""
    if positions is None or isinstance(positions, range):
        return positions
    rows = da.asarray(positions)
    return da.stack([rows], axis=-2 - len(axes)) if rows.ndim > 1 + len(axes) else rows


# Axes and chunks


def _leading(count: int) -> Labels:
    return [f"leading {axis}" for axis in range(count)]


def _not_empty(chunks: Chunks) -> Chunks:
    return tuple(size for size in chunks if size) or (0,)


def _leading_chunks(axis: int, length: int, arrays: Iterable[da.Array]) -> Chunks:
    """Return chunks of an axis of the result: in each of them heads find the keys they share."""
    having = [array for array in arrays if array.ndim >= -axis and array.shape[axis] != 1]
    for array in having:
        chunks: Chunks = array.chunks[axis]
        if array.shape[axis] == length and not any(
            size * other.shape[axis] % length for size in chunks for other in having if length
        ):
            return chunks
    return (length,)


def _aligned(array: da.Array, labels: Labels, chunks: Mapping[str, Chunks]) -> da.Array:
    """Return the array in chunks that go with those; one of length 1 goes with all of them."""
    wanted = []
    for length, label in zip(array.shape, labels, strict=True):
        total = sum(chunks[label])
        shared = length != 1 or total == 1
        wanted.append(tuple(n * length // (total or 1) for n in chunks[label]) if shared else 1)
    return array.rechunk(tuple(wanted))


def _one_a_chunk(numbers: Sequence[int]) -> da.Array:
    return da.from_array(np.array(numbers, np.int64), chunks=1)


def _seen_chunks(problem: Problem, begin: int, end: int, edges: list[int]) -> tuple[int, int]:
    """Return the first chunk of keys that queries from `begin` to `end` may see, and the next one.

    That is the one after the last; both are the same where they see none.
    """
    left, right = problem.window
    offsets = np.zeros(1, np.int64) if problem.offset is None else problem.offset
    first, beyond = 0, problem.keys
    if left is not None:
        first = begin + int(offsets.min(initial=_arrays.LARGEST_POSITION)) - left
    if right is not None:
        beyond = end + int(offsets.max(initial=-_arrays.LARGEST_POSITION)) + right
    if problem.key_lengths is not None:
        beyond = min(beyond, int(problem.key_lengths.max(initial=0)))
    if max(first, 0) >= min(beyond, problem.keys):
        return 0, 0
    return max(bisect_right(edges, first) - 1, 0), min(bisect_left(edges, beyond), len(edges) - 1)


def _merged_rows(parts: da.Array, queries: list[int], seen: list[tuple[int, int]]) -> da.Array:
    """Merge the parts of every chunk of queries that has seen keys."""
    rows = []
    for (begin, end), (first, beyond) in zip(itertools.pairwise(queries), seen, strict=True):
        if first < beyond:
            row = da.reduction(
                parts[..., begin:end, first:beyond],
                _unchanged,
                _merged,
                axis=parts.ndim - 1,
                concatenate=False,
                split_every=MERGED_AT_ONCE,
                dtype=parts.dtype,
                meta=np.empty((0,) * (parts.ndim - 1), parts.dtype),
            )
        else:
            chunks = (*parts.chunks[:-2], (end - begin,))
            row = da.zeros(tuple(map(sum, chunks)), chunks=chunks, dtype=parts.dtype)
        rows.append(row)
    return da.concatenate(rows, axis=-1)


def _projected(
    x: da.Array, matrices: Mapping[str, da.Array], name: str, dtype: np.dtype[Any]
) -> da.Array:
    leading = _leading(x.ndim - 1)
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


def _split(columns: da.Array, heads: int) -> da.Array:
    *leading, rows, _ = columns.chunks
    return columns.map_blocks(
        rw.split_heads,
        heads,
        chunks=(*leading, (heads,), rows, (columns.shape[-1] // heads,)),
        new_axis=len(leading),
        meta=np.empty((0,) * (columns.ndim + 1), columns.dtype),
    )


# What tasks do


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


def _attended_to_held(
    query: list[NDArray[Any]],
    key: list[NDArray[Any]],
    value: list[NDArray[Any]],
    *others: NDArray[Any],
    **options: Any,
) -> NDArray[np.void]:
    """Attend where data are lists of one chunk of features: shape (..., queries, 1)."""
    return _attended(query[0], key[0], value[0], *others, **options)[..., 0, 0]


def _attended(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    first_query: NDArray[np.int64],
    first_key: NDArray[np.int64],
    first_seen: NDArray[np.int64],
    *arrays: NDArray[Any],
    names: Sequence[str],
    **options: Any,
) -> NDArray[np.void]:
    """Attend from a chunk of queries to one of keys: shape (..., queries, 1, 1, 1)."""
    options |= zip(names, arrays, strict=True)
    begin = int(first_key[0])
    options["offset"] = options.get("offset", 0) + (int(first_query[0]) - begin)
    if "key_lengths" in options:
        options["key_lengths"] = np.clip(options["key_lengths"] - begin, 0, value.shape[-2])
    if begin != first_seen[0]:  # one part has the sinks
        options.pop("sinks", None)
    with rw.num_threads(1):
        return _part(*rw.attention_with_lse(query, key, value, **options))[..., None, None, None]


def _unchanged(part: NDArray[np.void], **_: object) -> NDArray[np.void]:
    return part


def _merged(
    parts: Any, *, keepdims: bool, computing_meta: bool = False, **_: object
) -> NDArray[np.void]:
    if computing_meta:  # asked by array expressions, of an empty array
        return np.asarray(parts)
    of_queries = [part[..., 0] for part in parts]
    merged: NDArray[np.void] = np.empty_like(of_queries[0])
    for begin in range(0, merged.shape[-1], MERGED_ROWS):
        to, *rows = (part[..., begin : begin + MERGED_ROWS] for part in (merged, *of_queries))
        to["output"], to["lse"] = rw.merge_attention(
            [row["output"] for row in rows], [row["lse"] for row in rows]
        )
    return merged[..., None] if keepdims else merged


def _part(output: NDArray[Any], lse: NDArray[np.float64]) -> NDArray[np.void]:
    """Return attention to some of the keys as one array of records, a query each."""
    fields = [("output", output.dtype, output.shape[-1:]), ("lse", lse.dtype)]
    part: NDArray[np.void] = np.empty(lse.shape, fields)
    part["output"], part["lse"] = output, lse
    return part


def _output(part: NDArray[np.void]) -> NDArray[Any]:
    return np.ascontiguousarray(part["output"])


def _product(
    x: list[NDArray[Any]], weight: list[NDArray[Any]], bias: NDArray[Any] | float = 0.0
) -> NDArray[Any]:
    product: NDArray[Any] = x[0] @ weight[0]
    product += bias
    return product
