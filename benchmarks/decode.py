"""One query a head over the keys and values of a cache, and short heads."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import ropewalk as rw
from benchmarks.attention import TOLERANCE, contenders, operations
from benchmarks.figures import Array, Case, Figure
from benchmarks.measure import Bench, check, rows, unit
from benchmarks.rivals import exact, grouped, rivals, rivals_in_rows

DIM = 128
HEADS = 8  # of keys and values


def cached(mebibytes: float, queries: int = 1) -> tuple[Array, Array]:
    """Return queries for each head of keys, and keys and values that fill so much memory."""
    keys = int(mebibytes * 2**20) // (2 * HEADS * DIM * 4)
    return rows(HEADS * queries, 1, DIM), rows(2, HEADS, keys, DIM, seed=1)


def checked(arrays: list[Array], share: float | None = None) -> Callable[[Array], None]:
    """Return what compares an output with the formula in float64, within a share of the largest."""
    query, key, value = arrays
    expected = exact(grouped(query, key), key, value)
    tolerance = TOLERANCE if share is None else share * float(np.abs(expected).max())
    return lambda found: check(found.reshape(expected.shape), expected, tolerance)


def compared(bench: Bench, queries: int) -> Iterator[Figure]:
    found = rivals(bench.threads)
    for size in bench.of([0.5, 4, 32, 256], [0.5, 8]):
        query, both = cached(size, queries)
        arrays = [query, *both]
        ours = partial(rw.attention, *(array[None] for array in arrays))
        verify = checked(arrays)
        verify(ours())
        yield bench.figure(
            {"queries a key head": queries, "MiB": size, "keys": both.shape[-2]},
            ours,
            rivals=contenders(found, arrays, verify),
            limits=bench.limits.read(both) | bench.limits.multiply_add(operations(arrays)),
        )


def decode(bench: Bench) -> Iterator[Figure]:
    """One query for each of 8 heads of 128, float32; of reading keys and values."""
    return compared(bench, 1)


def grouped_heads(bench: Bench) -> Iterator[Figure]:
    """Two to 32 query heads for each of 8 heads of keys; the slower limit binds."""
    for queries in bench.of([2, 4, 8, 32], [2, 8]):
        yield from compared(bench, queries)


def view_caches(bench: Bench) -> Iterator[Figure]:
    """A cache whose rows hold all heads: one or four queries for each of 8; of reading it."""
    found = rivals_in_rows(bench.threads)
    for queries in bench.of([1, 4], [1, 4]):
        for size in bench.of([4, 32, 64, 256], [4]):
            query, both = cached(size, queries)
            inside = np.ascontiguousarray(both.swapaxes(1, 2))
            arrays = [query, *inside.swapaxes(1, 2)]
            ours = partial(rw.attention, *(array[None] for array in arrays))
            contiguous = partial(rw.attention, *(array[None] for array in (query, *both)))
            verify = checked(arrays)
            verify(ours())
            verify(contiguous())
            yield bench.figure(
                {"queries a key head": queries, "MiB": size, "keys": both.shape[-2]},
                ours,
                rivals=contenders(found, arrays, verify),
                ourselves={"contiguous": contiguous},
                limits=bench.limits.read(inside),
            )


def half_caches(bench: Bench) -> Iterator[Figure]:
    """Caches of half types, over float32 with the same keys, and against other libraries."""
    for dtype in bench.of(["bfloat16", "float16"], ["bfloat16", "float16"]):
        found = rivals(bench.threads, dtype=dtype)
        for size in bench.of([4, 32, 256], [8]):
            query, both = cached(size)
            half = both.astype(dtype)
            arrays = [query.astype(dtype), *half]
            call = partial(rw.attention, *arrays)
            checked(arrays, unit(dtype))(call())
            wide = partial(rw.attention, query, *both)
            checked([query, *both])(wide())
            case: Case = {"dtype": dtype, "keys": both.shape[-2], "MiB": size / 2}
            yield bench.figure(
                case,
                call,
                rivals=contenders(found, arrays, checked(arrays, 8 * unit(dtype))),
                ourselves={"float32": wide},
                limits=bench.limits.read(half),
            )


def short_heads(bench: Bench) -> Iterator[Figure]:
    """1,024 heads of 64 with few queries and keys, as of many sequences that begin; float32."""
    found = rivals(bench.threads)
    every = [(1, 1), (1, 4), (1, 16), (1, 64), (4, 4), (4, 16), (16, 16)]
    for queries, keys in bench.of(every, [(1, 4)]):
        arrays = [rows(1024, n, 64, seed=seed) for seed, n in enumerate((queries, keys, keys))]
        ours = partial(rw.attention, *arrays)
        verify = checked(arrays)
        verify(ours())
        calls = contenders(found, arrays, verify)
        yield bench.figure({"queries": queries, "keys": keys}, ours, rivals=calls)
