"""Attention from chunks of queries to chunks of keys, and the merge of what they give."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, cast

import dask.array as da
import numpy as np
from numpy.typing import ArrayLike, NDArray

import ropewalk as rw
from ropewalk import _arrays, _options
from ropewalk._attention_problem import Problem
from ropewalk._options import Boolean, Precision, Real, Window
from ropewalk.dask._chunks import (
    Chunks,
    Labels,
    aligned,
    common_dtype,
    in_chunks,
    leading_axes,
    leading_chunks,
    not_empty,
    one_a_chunk,
    stand_in,
)

# What tasks may be given an array of.
_OPTIONAL = "mask", "bias", "slopes", "sinks", "offset", "key_lengths"
MERGED_AT_ONCE = 4  # parts that one task holds
MERGED_ROWS = 256  # of each part at once, for a merge copies records of several heads first


def attention(
    query: da.Array,
    key: da.Array,
    value: da.Array,
    /,
    *,
    causal: Boolean = False,
    offset: ArrayLike | None = None,
    window: Window | None = None,
    mask: da.Array | ArrayLike | None = None,
    bias: da.Array | ArrayLike | None = None,
    slopes: ArrayLike | None = None,
    key_lengths: ArrayLike | None = None,
    scale: Real | None = None,
    softcap: Real | None = None,
    sinks: ArrayLike | None = None,
    precision: Precision | None = None,
    recompute: Boolean = False,
) -> da.Array:
    r"""Scaled dot-product attention, chunk by chunk.

    Parameters
    ----------
    query : dask.array.Array of shape (..., query length, dim)
    key : dask.array.Array of shape (..., key length, dim)
    value : dask.array.Array of shape (..., key length, value dim)
        As in `ropewalk.attention`, in any chunks. A chunk of queries and a chunk of keys and values
        are what a task holds. Features are brought into one chunk, and so are heads that share
        keys, where no chunk of keys would do for a chunk of queries.
    mask, bias : dask.array.Array or array_like of shape (..., query length, key length), optional
        As in `ropewalk.attention`. Read in the chunks of queries and keys.
    causal, offset, window, slopes, key_lengths, scale, softcap, sinks, precision
        As in `ropewalk.attention`: numbers, or small arrays that are not in chunks.
    recompute : bool, default False
        Read or make a chunk of data anew in each task that takes it, so that none is held between
        tasks: for data that come from files, or are cheap to make.

    Returns
    -------
    dask.array.Array of shape (..., query length, value dim)
        In the chunks of the queries. Of the dtype of `ropewalk.attention`.

    Raises
    ------
    ValueError, TypeError
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
    chunks. Each level adds at most 2 units of the dtype's precision, and ``2**-52`` times the
    largest log-sum-exp, times the largest value, to the error of `ropewalk.attention`.

    A chunk of keys is held until all chunks of queries that see it have met it. With `recompute` it
    is made in the task itself, once for each of them, by whatever Dask fuses into that task: what
    works chunk by chunk, such as ``da.from_zarr``, ``map_blocks`` and `rotate`, on three different
    arrays that nothing else takes. What is not fused is held as otherwise: what was rechunked or
    persisted, NumPy's arrays, and everything where ``array.query-planning`` is set. The bits are
    the same.

    References
    ----------
    Rabe and Staats, Self-attention Does Not Need O(n^2) Memory, 2021, arXiv:2112.05682, section 3.

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
    arrays = {name: in_chunks(name, array) for name, array in given.items()}
    dtype = common_dtype(arrays)
    arrays = {name: array.astype(dtype) for name, array in arrays.items()}
    query, key, value = arrays.values()
    arguments = {"mask": mask, "bias": bias}
    of_scores = {name: in_chunks(name, x) for name, x in arguments.items() if x is not None}
    numbers = {"slopes": slopes, "sinks": sinks}
    small = {name: _arrays.converted(name, x) for name, x in numbers.items() if x is not None}
    optional = {name: stand_in(x, mask=name == "mask") for name, x in of_scores.items()} | small
    problem = Problem(
        tuple(stand_in(array, array.shape[-1:]) for array in arrays.values()),
        optional.get("mask"),
        optional.get("bias"),
        optional.get("slopes"),
        optional.get("sinks"),
        (causal, offset, window, key_lengths, scale, softcap, precision),
    )
    if offset is not None:
        small["offset"] = _arrays.offsets(offset)
    if key_lengths is not None:
        small["key_lengths"] = _arrays.integers("key_lengths", key_lengths, 0, key.shape[-2])

    arrays |= of_scores | {name: da.asarray(array) for name, array in small.items()}
    arrays, labels, chunks = _in_common_chunks(problem, arrays)
    leading = leading_axes(len(problem.leading))
    scores = [*leading, "queries", "keys"]

    # Hidden pairs of chunks are planned with all others, and fall away as nothing asks for them.
    queries, keys = ([*itertools.accumulate(chunks[n], initial=0)] for n in ("queries", "keys"))
    seen = [_seen_chunks(problem, *edges, keys) for edges in itertools.pairwise(queries)]
    part = np.dtype([("output", dtype, value.shape[-1:]), ("lse", np.float64)])
    blocks = [*itertools.chain.from_iterable((arrays[name], labels[name]) for name in arrays)]
    recompute = _options.boolean("recompute", recompute)
    # Dask fuses what makes a chunk into the task that takes it, but not where a sum over an axis
    # would take a list of chunks. So features are summed over, or are axes of the parts.
    of_data = ["features", "values"] if recompute else []
    parts = da.blockwise(
        _attended if recompute else _attended_to_held,
        [*scores, *of_data],
        *blocks[:6],
        one_a_chunk(queries[:-1]),
        ["queries"],
        one_a_chunk(keys[:-1]),
        ["keys"],
        one_a_chunk([keys[first] for first, _ in seen]),
        ["queries"],
        *blocks[6:],
        align_arrays=False,
        adjust_chunks=dict.fromkeys(["keys", *of_data], 1),
        meta=np.empty((0,) * (len(scores) + len(of_data)), part),
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
        meta=np.empty((0,) * len(scores), dtype),
    )


def _in_common_chunks(
    problem: Problem, given: dict[str, da.Array]
) -> tuple[dict[str, da.Array], dict[str, Labels], dict[str, Chunks]]:
    """Return arrays in chunks that fit each other, the names of their axes, and their chunks."""
    leading = leading_axes(len(problem.leading))
    scores = [*leading, "queries", "keys"]
    batch = leading[:-1] if len(leading) > 1 else leading
    named = {
        "query": [*leading, "queries", "features"],
        "key": [*leading, "keys", "features"],
        "value": [*leading, "keys", "values"],
        "mask": scores,
        "bias": scores,
        "slopes": leading,
        "sinks": leading,
        "offset": batch,
        "key_lengths": batch,
    }
    data = [given[name] for name in ("query", "key", "value")]
    query, key, value = data
    chunks: dict[str, Chunks] = {
        label: leading_chunks(axis, length, data)
        for axis, (label, length) in enumerate(
            zip(leading, problem.leading, strict=True), start=-2 - len(leading)
        )
    }
    chunks |= {"queries": not_empty(query.chunks[-2]), "keys": not_empty(key.chunks[-2])}
    chunks |= {"features": query.shape[-1:], "values": value.shape[-1:]}
    # Aligned right, as they broadcast.
    labels = {name: named[name][-x.ndim :] if x.ndim else [] for name, x in given.items()}
    arrays = {name: aligned(x, labels[name], chunks) for name, x in given.items()}
    return arrays, labels, chunks


def _seen_chunks(problem: Problem, begin: int, end: int, edges: list[int]) -> tuple[int, int]:
    """Return the first chunk of keys that queries from `begin` to `end` may see, and the next one.

    That is the one after the last; both are the same where they see none.
    """
    left, right = problem.window
    offsets = np.zeros(1, np.int64) if problem.offset is None else problem.offset
    first, beyond = 0, problem.keys
    if left is not None:
        first = begin + int(offsets.min(initial=_options.LARGEST_POSITION)) - left
    if right is not None:
        beyond = end + int(offsets.max(initial=-_options.LARGEST_POSITION)) + right
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


# What tasks do: on one thread each, as Dask runs as many of them as there are processors.


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
    window: Window,
    scale: float,
    softcap: float | None,
    precision: Precision | None,
) -> NDArray[np.void]:
    """Attend from a chunk of queries to one of keys: shape (..., queries, 1, 1, 1)."""
    named = dict(zip(names, arrays, strict=True))
    mask, bias, slopes, sinks, offset, key_lengths = map(named.get, _OPTIONAL)
    begin = int(first_key[0])
    if key_lengths is not None:
        key_lengths = np.clip(key_lengths - begin, 0, value.shape[-2])
    if begin != first_seen[0]:  # one part has the sinks
        sinks = None
    if offset is None:
        offset = np.zeros((), np.int64)
    others = False, offset, window, key_lengths, scale, softcap, precision
    with rw.num_threads(1):
        problem = Problem((query, key, value), mask, bias, slopes, sinks, others)
        # That of the whole is in the range of offsets, and that of a part may lie beyond it.
        offset = cast("NDArray[np.int64]", problem.offset)
        problem.offset = np.asarray(offset + (int(first_query[0]) - begin))
        output, _ = problem.empty_output(None)
        lse = problem.empty_lse()
        problem.attend(output=output, lse=lse)
    return _part(output, lse)[..., None, None, None]


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
        with rw.num_threads(1):
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
