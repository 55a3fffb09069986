"""Dask arrays: equal to the whole in any chunks, on any scheduler, and nothing hidden is read."""

import math
import os
import re
import signal
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask.array.utils import assert_eq
from distributed import Client, LocalCluster, Worker, WorkerPlugin
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests import reference
from tests.attention_calls import Call, assert_within
from tests.conftest import RunPython
from tests.data import DTYPES, UNIT, assert_same_bits, rows

import ropewalk as rw
from ropewalk import _core
from ropewalk._attention_problem import Problem

Arrays = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]

CHUNKS = {
    "whole": (-1, -1, -1, -1),
    "even": (1, 2, 10, 3),
    "ragged": ((1, 1), (3, 1), (1, 0, 13, 6), 4),
    "small": (2, 4, 3, 6),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"causal": True},
    "offset": {"causal": True, "offset": [-3, 7]},
    "largest offsets": {"causal": True, "offset": [2**53, -(2**53)]},
    "window": {"window": (4, 2)},
    "windows apart": {"window": (3, 0), "offset": [2, 15]},
    "sinks of a window": {"window": (2, 0), "sinks": 2.0},
    "largest window": {"window": (2**53 + 1, 2), "offset": 2**53},
    "key lengths": {"key_lengths": np.array([3, 20], np.uint8)},
    "mask": {"mask": np.random.default_rng(1).random((2, 1, 20, 20)) < 0.5},
    "mask of keys": {"mask": np.arange(20) % 3 > 0},
    "bias": {"bias": np.random.default_rng(2).standard_normal((4, 20, 1))},
    "bias of keys": {"bias": range(20)},
    "slopes": {"slopes": [0.5, 0.1, 0.0, -0.1], "offset": 2},
    "sinks": {"sinks": [[1.0, -math.inf, 0.0, 9.0]], "causal": True},
    "softcap": {"softcap": 2.0, "scale": 1.5},
    "nothing seen": {"causal": True, "offset": -30},
    "nothing seen but sinks": {"window": (0, 0), "offset": 99, "sinks": 2.0},
}

every_option = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
every_chunking = pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with dask.config.set(scheduler="sync"):
        yield


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as workers:
        yield workers


def data(dtype: str = "float64", key_heads: int = 4) -> Arrays:
    key, value = (rows((2, key_heads, 20, 6), dtype, seed) for seed in (1, 2))
    return rows((2, 4, 20, 6), dtype), key, value


def chunked(array: NDArray[Any], chunks: Any) -> da.Array:
    """Return an array in chunks; fewer heads are not split."""
    batch, heads, *others = chunks
    if array.shape[1] < 4 and heads != -1:
        heads = 1
    return da.from_array(array, chunks=(batch, heads, *others))


def attended(arrays: Arrays, chunks: Any, **options: Any) -> da.Array:
    return rw.dask.attention(*(chunked(array, chunks) for array in arrays), **options)


def check_attended(arrays: Arrays, chunks: Any, **options: Any) -> None:
    found = attended(arrays, chunks, **options).compute()
    check(Call(*arrays, options), found, key_chunks(chunked(arrays[1], chunks)))


def key_chunks(keys: da.Array) -> int:
    return sum(size > 0 for size in keys.chunks[-2]) or 1


def check(call: Call, found: NDArray[Any], parts: int) -> None:
    """Compare with the reference: beside the error of the whole, what each level of merging adds.

    That is 2 units of the dtype, and what the log-sum-exp loses of its last digits.
    """
    expected, allowed = call.expected()
    levels = math.ceil(math.log(parts, 4))
    size = np.abs(call.value.astype(float)).max()
    assert found.dtype == call.dtype
    lse = np.abs(expected.lse[np.isfinite(expected.lse)]).max(initial=0)
    level = levels * (2 * UNIT[call.dtype.name] + 2.0**-52 * lse) * size
    assert_within(found, expected.output, allowed.output + level)


# Attention


@every_chunking
@every_option
def test_attention_is_that_of_the_whole(chunks: Any, options: dict[str, Any]) -> None:
    arrays = data()
    check_attended(arrays, chunks, **options)


@every_chunking
@pytest.mark.parametrize("dtype", DTYPES)
def test_attention_of_every_dtype(chunks: Any, dtype: str) -> None:
    arrays = data(dtype)
    check_attended(arrays, chunks, causal=True)


@every_chunking
@pytest.mark.parametrize("key_heads", [1, 2])
def test_heads_find_the_keys_they_share(chunks: Any, key_heads: int) -> None:
    arrays = data(key_heads=key_heads)
    options = {"causal": True, "slopes": [0.1, 0.2, 0.3, 0.4]}
    check_attended(arrays, chunks, **options)


chunk_sizes = st.lists(st.integers(0, 9), min_size=1, max_size=5).map(tuple)


@settings(max_examples=40)
@given(chunk_sizes, chunk_sizes, chunk_sizes, st.booleans(), st.integers(-20, 20))
def test_attention_in_any_chunks(
    of_queries: Any, of_keys: Any, of_values: Any, causal: bool, offset: int
) -> None:
    of_values = (*of_values, max(0, sum(of_keys) - sum(of_values)))
    of_keys = (*of_keys, sum(of_values) - sum(of_keys))
    query, key, value = (
        rows((sum(lengths), 4), seed=seed)
        for seed, lengths in enumerate((of_queries, of_keys, of_values))
    )
    options: dict[str, Any] = {"causal": causal, "offset": offset}
    keys = da.from_array(key, chunks=(of_keys, 4)), da.from_array(value, chunks=(of_values, 1))
    queries = da.from_array(query, chunks=(of_queries, 3))
    found = rw.dask.attention(queries, *keys, **options).compute()
    if key.size and query.size:
        check(Call(query, key, value, options), found, key_chunks(keys[0]))
    else:
        assert_same_bits(found, rw.attention(query, key, value, **options))


def test_axes_broadcast() -> None:
    query, key, value = rows((2, 1, 9, 4)), rows((5, 4), seed=1), rows((3, 5, 2), seed=2)
    lazy = (da.from_array(array, chunks=2) for array in (query, key, value))
    found = rw.dask.attention(*lazy).compute()
    np.testing.assert_allclose(found, rw.attention(query, key, value), rtol=0, atol=1e-15)


def test_masks_and_biases_may_be_in_chunks() -> None:
    arrays = data()
    mask = np.random.default_rng(1).random((20, 20)) < 0.5
    bias = rows((2, 1, 20, 20), seed=9)
    lazy = {"mask": da.from_array(mask, chunks=7), "bias": da.from_array(bias, chunks=(1, 1, 3, 9))}
    options = {"mask": mask, "bias": bias}
    check(Call(*arrays, options), attended(arrays, CHUNKS["even"], **lazy).compute(), 2)


def test_float64_inside_is_rounded_once_a_level() -> None:
    arrays = data("float32")
    options: dict[str, Any] = {"causal": True, "precision": "float64"}
    found = attended(arrays, CHUNKS["even"], **options).compute()
    exact = rw.attention(*(a.astype(np.float64) for a in arrays), causal=True)
    assert found.dtype == np.float32
    size = np.abs(arrays[2]).max()
    # Two parts: a rounding of each, one of the merge, and their weights.
    np.testing.assert_allclose(found, exact, rtol=0, atol=4 * UNIT["float32"] * size)


def test_the_same_chunks_give_the_same_bits() -> None:
    arrays = data("float32")
    results = [attended(arrays, CHUNKS["ragged"], causal=True) for _ in range(3)]
    once = results[0].compute(scheduler="sync")
    assert_same_bits(results[1].compute(scheduler="sync"), once)
    assert_same_bits(results[2].compute(scheduler="threads", num_workers=4), once)


@every_chunking
def test_what_dask_knows_before_it_computes_is_so(chunks: Any) -> None:
    arrays = data("float32", key_heads=2)
    lazy = attended(arrays, chunks, causal=True, precision="float64")
    assert lazy.shape == (2, 4, 20, 6)
    assert lazy.dtype == np.float32
    assert_eq(lazy, lazy.compute())  # its dtype, its shape, the type and shape of every chunk


# What is not computed


def recorded(array: NDArray[Any], size: int, made: list[int]) -> da.Array:
    """Return an array in chunks of rows, that are read-only and listed when they are made."""

    def block(block_info: Any) -> NDArray[Any]:
        (first, beyond), _ = block_info[None]["array-location"]
        made.append(first)
        part = array[first:beyond].copy()
        part.flags.writeable = False
        return part

    chunks = da.core.normalize_chunks((size, -1), array.shape)
    return da.map_blocks(block, chunks=chunks, meta=array[:0], name=f"recorded-{id(made)}")


HIDING: dict[str, dict[str, Any]] = {
    "nothing": {},
    "causal": {"causal": True},
    "window": {"window": (9, 3)},
    "window to the left": {"causal": True, "window": (5, None)},
    "offset": {"causal": True, "offset": 17},
    "behind": {"causal": True, "offset": -17},
    "key lengths": {"key_lengths": 31},
    "all": {"causal": True, "window": (12, 0), "offset": 13, "key_lengths": 40},
}


@pytest.mark.parametrize("options", HIDING.values(), ids=HIDING)
def test_a_hidden_chunk_is_in_no_task(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    length, size = 60, 7
    begins = range(0, length, size)
    # The first feature says which row it is.
    array = np.column_stack([np.arange(length, dtype=float), np.zeros(length)])
    met: list[tuple[int, int]] = []
    attend = Problem.attend

    def spy(problem: Problem, **results: Any) -> None:
        assert rw.get_num_threads() == 1
        query, key, _ = problem.arrays
        met.extend((int(query[0, 0]), int(first)) for first in key[:1, 0])
        attend(problem, **results)

    monkeypatch.setattr(Problem, "attend", spy)
    made: list[list[int]] = [[], [], []]
    lazy = (recorded(array, size, one) for one in made)
    rw.dask.attention(*lazy, **options).compute()

    of_keys = {**options, "key_length": options.get("key_lengths")}
    of_keys.pop("key_lengths", None)
    seen = {
        (begin, first)
        for begin, first in product(begins, begins)
        for i, j in product(range(begin, begin + size), range(first, first + size))
        if i < length and j < length and reference.sees(i, j, **of_keys)
    }
    assert Counter(met) == Counter(seen)  # each of them once
    queries, keys = (sorted(set(firsts)) for firsts in zip(*seen, strict=True))
    assert [sorted(one) for one in made] == [queries, keys, keys]


def test_chunks_may_be_read_only() -> None:
    x = rows((60, 6))
    made: list[int] = []
    lazy = recorded(x, 7, made)
    assert not any(chunk.flags.writeable for chunk in dask.compute(*lazy.to_delayed().ravel()))
    found = rw.dask.attention(lazy, lazy, lazy, causal=True).compute()
    np.testing.assert_allclose(found, rw.attention(x, x, x, causal=True), rtol=0, atol=1e-14)
    assert_same_bits(rw.dask.rotate(lazy).compute(), rw.rotate(x))


def test_what_is_attended_to_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask might as well make a chunk of keys again for every chunk of queries."""
    turned: list[int] = []
    rotate = rw.rotate

    def spy(x: Any, positions: range, **given: Any) -> Any:
        turned.append(positions.start)
        return rotate(x, positions, **given)

    made: list[int] = []
    lazy = rw.dask.rotate(recorded(rows((60, 6)), 7, made))
    monkeypatch.setattr(rw, "rotate", spy)
    rw.dask.attention(lazy, lazy, lazy, causal=True).compute()
    assert sorted(turned) == sorted(made) == [*range(0, 60, 7)]


@every_chunking
@every_option
def test_what_is_recomputed_has_the_same_bits(chunks: Any, options: dict[str, Any]) -> None:
    arrays = data("float32", key_heads=2)
    again = attended(arrays, chunks, **options, recompute=True)
    assert_same_bits(again.compute(), attended(arrays, chunks, **options).compute())
    assert_eq(again, again.compute())


def test_what_is_recomputed_is_made_in_each_task_that_takes_it() -> None:
    made: list[list[int]] = [[], [], []]
    query, key, value = (recorded(rows((60, 6)), 7, one) for one in made)
    turned = [rw.dask.rotate(x) for x in (query, key)]
    options: dict[str, Any] = {"causal": True, "window": (20, None)}
    lazy = rw.dask.attention(*turned, value, **options, recompute=True)  # type: ignore[call-arg]
    (planned,) = dask.optimize(lazy)
    names = {dask.utils.key_split(key) for key in planned.__dask_graph__()}
    found = lazy.compute()

    begins = range(0, 60, 7)
    seen = [
        (begin, first)
        for begin, first in product(begins, begins)
        if first <= begin and first + 6 >= begin - 20
    ]
    queries, keys = [*map(Counter, zip(*seen, strict=True))]
    assert [*map(Counter, made)] == [queries, keys, keys]
    assert not [name for name in names if "recorded" in name or "turned" in name]
    x, turned_x = rows((60, 6)), rw.rotate(rows((60, 6)))
    whole = rw.attention(turned_x, turned_x, x, **options)
    np.testing.assert_allclose(found, whole, rtol=0, atol=1e-14)


def test_one_array_as_queries_and_keys_is_right_where_it_is_recomputed() -> None:
    x = rows((60, 6))
    lazy = recorded(x, 7, [])
    found = rw.dask.attention(lazy, lazy, lazy, causal=True, recompute=True).compute()
    np.testing.assert_allclose(found, rw.attention(x, x, x, causal=True), rtol=0, atol=1e-14)


@pytest.mark.thread_unsafe(reason="counts the memory of the process")
def test_a_few_chunks_are_held_beside_the_data() -> None:
    query, key = rows((4096, 64), "float32"), rows((64, 64), "float32", seed=1)
    of_keys = da.from_array(key, chunks=(4, 64))  # 16 parts, each as large as the queries
    lazy = rw.dask.attention(da.from_array(query, chunks=-1), of_keys, of_keys, precision="float64")
    tracemalloc.start()
    try:
        found = lazy.compute()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Three of the first level wait while four others become a fifth. A part is 1.03 chunks with its
    # log-sum-exps, and what is in float64 is less than one.
    assert peak <= 10 * query.nbytes
    exact = rw.attention(*(array.astype(np.float64) for array in (query, key, key)))
    # A rounding of each part, and two units for each of two levels.
    np.testing.assert_allclose(found, exact, rtol=0, atol=5 * UNIT["float32"] * np.abs(key).max())


def test_nothing_is_computed_before_it_is_asked_for() -> None:
    made: list[int] = []
    lazy = recorded(rows((60, 6)), 7, made)
    weights = dict.fromkeys(("query_weight", "key_weight", "value_weight"), rows((6, 6)))
    rw.dask.attention(rw.dask.rotate(lazy), lazy, lazy, mask=lazy[:, :1] > 0)
    rw.dask.multi_head_attention(lazy, heads=3, **weights)  # type: ignore[arg-type]
    assert made == []


# Encodings and rotation

GRID = rw.frequencies.axial(8)
POSITIONS: dict[str, Any] = {
    "left out": None,
    "range": range(10**15, 10**15 + 20),
    "range backwards": range(60, 0, -3),
    "one": 7.5,
    "range of one": range(3, 4),
    "of rows": rows(20),
    "of rows, in chunks": da.from_array(rows(20), chunks=7),
    "of a batch": np.arange(2)[:, None, None],
    "of everything": np.arange(160).reshape(2, 4, 20),
}


@every_chunking
@pytest.mark.parametrize("positions", POSITIONS.values(), ids=POSITIONS)
def test_rotation_has_the_bits_of_the_whole(chunks: Any, positions: Any) -> None:
    x = rows((2, 4, 20, 6), "float32")
    options: dict[str, Any] = {"pairing": "half", "rotary_dim": 4, "base": 500.0, "inverse": True}
    lazy = rw.dask.rotate(da.from_array(x, chunks=chunks), positions, **options)
    whole = positions.compute() if isinstance(positions, da.Array) else positions
    assert_same_bits(lazy.compute(), rw.rotate(x, whole, **options))
    assert_eq(lazy, lazy.compute())


@every_chunking
@pytest.mark.parametrize("shape", [None, (2,), (20, 2), (2, 1, 20, 2)], ids=str)
def test_rotation_on_a_grid_has_the_bits_of_the_whole(chunks: Any, shape: Any) -> None:
    x = rows((2, 4, 20, 8))
    positions = None if shape is None else np.random.default_rng(0).integers(0, 99, shape)
    lazy = rw.dask.rotate(da.from_array(x, chunks=chunks), positions, frequencies=GRID)
    assert_same_bits(lazy.compute(), rw.rotate(x, positions, frequencies=GRID))


def test_one_row_is_rotated() -> None:
    x = rows(6)
    assert_same_bits(rw.dask.rotate(da.from_array(x, chunks=2), 3).compute(), rw.rotate(x, 3))


@pytest.mark.parametrize("dtype", [None, "float32", "bfloat16"])
def test_an_encoding_has_the_bits_of_the_whole(dtype: Any) -> None:
    positions = da.arange(10**6, 10**6 + 50, chunks=((20, 0, 29, 1),))
    lazy = rw.dask.sinusoidal_encoding(positions, 8, order="cos-sin", pairing="half", dtype=dtype)
    whole = rw.sinusoidal_encoding(
        range(10**6, 10**6 + 50), 8, order="cos-sin", pairing="half", dtype=dtype
    )
    assert_same_bits(lazy.compute(), whole)
    assert lazy.chunks == ((20, 0, 29, 1), (8,))
    assert lazy.dtype == whole.dtype


def test_an_encoding_of_a_grid_has_the_bits_of_the_whole() -> None:
    positions = rows((7, 5, 2))
    lazy = rw.dask.sinusoidal_encoding(da.from_array(positions, chunks=(3, 2, 1)), frequencies=GRID)
    assert_same_bits(lazy.compute(), rw.sinusoidal_encoding(positions, frequencies=GRID))
    assert lazy.chunks == ((3, 3, 1), (2, 2, 1), (8,))


def masked(shape: tuple[int, ...]) -> da.Array:
    mask: NDArray[np.bool_] = np.zeros(shape, bool)
    mask.flat[0] = True
    ma: Any = np.ma
    array: NDArray[Any] = ma.masked_where(mask, np.ones(shape))
    return da.from_array(array)


@pytest.mark.parametrize("name", ["query", "bias", "slopes", "key_lengths", "x"])
def test_masked_chunks_are_refused(name: str) -> None:
    x, wrong = da.ones((2, 2), chunks=1), masked((2, 2))
    calls: dict[str, Callable[[], object]] = {
        "query": lambda: rw.dask.attention(wrong, x, x),
        "x": lambda: rw.softmax(wrong),
        "bias": lambda: rw.dask.attention(x, x, x, bias=wrong),
        "slopes": lambda: rw.dask.attention(x, x, x, slopes=masked(())),
        "key_lengths": lambda: rw.dask.attention(x, x, x, key_lengths=masked(())),
    }
    message = f"^{name} must not be a masked array, whose mask would be lost$"
    with pytest.raises(TypeError, match=message):
        calls[name]()


def test_the_dtype_of_a_mask_is_named_as_it_is() -> None:
    x = da.ones((2, 2), chunks=1)
    with pytest.raises(TypeError, match=r"^mask must be boolean.* got dtype uint8"):
        rw.dask.attention(x, x, x, mask=np.ones((2, 2), np.uint8))


@pytest.mark.parametrize("name", ["query", "query_weight", "value_bias"])
def test_masked_chunks_of_layers_are_refused(name: str) -> None:
    given: dict[str, Any] = {
        "query": da.ones((3, 2), chunks=1),
        **{f"{of}_weight": np.eye(2) for of in ("query", "key", "value")},
    }
    given[name] = masked((2,) if name == "value_bias" else (2, 2))
    message = f"^{name} must not be a masked array, whose mask would be lost$"
    with pytest.raises(TypeError, match=message):
        rw.dask.multi_head_attention(given.pop("query"), heads=1, **given)


# Multi-head attention


def layer(dtype: str, **options: Any) -> dict[str, Any]:
    def weight(*shape: int) -> NDArray[Any]:
        return (rows(shape, seed=sum(shape)) / 3).astype(DTYPES[dtype])

    weights = {
        "query_weight": weight(12, 16),
        "key_weight": weight(12, 8),
        "value_weight": weight(12, 10),
        "output_weight": weight(20, 7),
        "key_bias": weight(8),
        "output_bias": weight(7),
    }
    return {"heads": 4, "rotary": rw.frequencies.standard(4), **weights, **options}


# Three sums of at most 20 products each, of numbers that are a few units large; half types are
# computed in float32 and rounded once.
ATOL = {
    "float64": 400 * UNIT["float64"],
    "float32": 400 * UNIT["float32"],
    "float16": 4 * UNIT["float16"],
}
LAYERS: dict[str, dict[str, Any]] = {
    "causal": {"causal": True},
    "no rotation": {"rotary": None, "mask": np.arange(20) > 3},
    "no output weight": {"output_weight": None, "output_bias": None},
    "offset": {"causal": True, "offset": [5, -2]},
    "positions": {"positions": np.arange(40).reshape(2, 20)},
    "grid": {"rotary": rw.frequencies.axial(4), "offset": 3},
    "heads in few bits": {"heads": np.int8(1), "rotary": None, "output_weight": None}
    | dict.fromkeys(["query_weight", "key_weight"], rows((12, 128), seed=1) / 9)
    | dict.fromkeys(["key_bias", "output_bias"]),
    "half": {"rotary": {"frequencies": rw.frequencies.standard(2), "rotary_dim": 2}},
}


@pytest.mark.parametrize("options", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_multi_head_attention_is_that_of_the_whole(dtype: str, options: dict[str, Any]) -> None:
    x, given = rows((2, 20, 12), dtype), layer(dtype, **options)
    lazy = rw.dask.multi_head_attention(da.from_array(x, chunks=(1, (9, 10, 1), 5)), **given)
    found, whole = lazy.compute(), rw.multi_head_attention(x, **given)
    assert found.dtype == whole.dtype == lazy.dtype
    assert lazy.shape == found.shape
    np.testing.assert_allclose(found.astype(float), whole.astype(float), rtol=0, atol=ATOL[dtype])


def test_results_are_rounded_on_one_thread_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    convert = _core.convert

    def spy(numbers: NDArray[Any], out: NDArray[Any], own: int) -> None:
        threads.append(own)
        convert(numbers, out, own)

    monkeypatch.setattr(_core, "convert", spy)
    x = da.from_array(rows((2, 400, 12), "float16"), chunks=(1, 200, 12))
    rw.dask.multi_head_attention(x, **layer("float16")).compute()
    assert set(threads) == {1}


@pytest.mark.parametrize(
    ("shape", "offset"), [((20, 12), [2]), ((2, 3, 20, 12), [0, 1, 2])], ids=str
)
def test_offsets_are_those_of_the_whole(shape: tuple[int, ...], offset: list[int]) -> None:
    x, given = rows(shape), layer("float64", causal=True, offset=offset)
    found = rw.dask.multi_head_attention(da.from_array(x, chunks=7), **given).compute()
    whole = rw.multi_head_attention(x, **given)
    np.testing.assert_allclose(found, whole, rtol=0, atol=ATOL["float64"])


@pytest.mark.parametrize(("dtype", "large"), [("float32", 1e38), ("float16", 6e4)])
def test_projections_beyond_the_largest_number_warn_of_nothing(dtype: str, large: float) -> None:
    x, unit = np.full((4, 4), large, dtype), np.ones((4, 4), dtype)
    weights: dict[str, Any] = {"query_weight": 0 * unit, "key_weight": 0 * unit}
    weights |= {"value_weight": unit, "output_weight": unit}
    with np.errstate(all="raise"):
        lazy = rw.dask.multi_head_attention(da.from_array(x, chunks=2), heads=2, **weights)
        found = lazy.compute(scheduler="synchronous")
    assert found.dtype == dtype
    assert np.isinf(found).all()


def test_cross_attention_and_a_batchless_query() -> None:
    query, memory = rows((9, 12)), rows((30, 12), seed=1)
    given = layer("float64", key_positions=range(50, 80), positions=range(9))
    lazy = [da.from_array(array, chunks=(4, 5)) for array in (query, memory)]
    found = rw.dask.multi_head_attention(*lazy, **given).compute()
    whole = rw.multi_head_attention(query, memory, **given)
    np.testing.assert_allclose(found, whole, rtol=0, atol=ATOL["float64"])


# Refusals

REFUSED: dict[str, Any] = {
    "offset": (data()[0][:, :, :5], {"causal": True}),
    "mask": (data()[0], {"mask": np.ones((3, 20), bool)}),
    "mask of numbers": (data()[0], {"mask": np.ones((20, 20))}),
    "bias": (data()[0], {"bias": np.ones((20, 20), bool)}),
    "window": (data()[0], {"window": 3}),
    "scale": (data()[0], {"scale": math.nan}),
    "key lengths": (data()[0], {"key_lengths": 21}),
    "offset of many bits": (data()[0], {"causal": True, "offset": 2**70}),
    "key lengths of many bits": (data()[0], {"key_lengths": [1, 2**70]}),
    "key lengths in fractions": (data()[0], {"key_lengths": [1.0, 2.0]}),
    "features": (data()[0][..., :5], {}),
    "heads": (data()[0][:, :3], {}),
    "dimensions": (data()[0][0, 0, 0], {}),
    "dtype": (data()[0].astype(complex), {}),
    "objects": (data()[0].astype(object), {}),
    "mask of objects": (data()[0], {"mask": np.ones((20, 20), object)}),
}


def refused_alike(lazily: Callable[[], Any], whole: Callable[[], Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as expected:
        whole()
    with pytest.raises(type(expected.value)) as found:
        lazily()
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(("query", "options"), REFUSED.values(), ids=REFUSED)
def test_attention_refuses_at_once_what_the_whole_refuses(
    query: NDArray[Any], options: dict[str, Any]
) -> None:
    _, key, value = data()
    refused_alike(
        # Dask makes no array of objects by itself.
        lambda: rw.dask.attention(query, da.from_array(key), da.from_array(value), **options),
        lambda: rw.attention(query, key, value, **options),
    )


def test_sizes_of_chunks_must_be_known() -> None:
    x = da.from_array(rows((20, 6)), chunks=5)
    unknown = x[x[:, 0] > 0]
    message = "key must have chunks of known sizes, got .* see compute_chunk_sizes"
    with pytest.raises(ValueError, match=message):
        rw.dask.attention(x, unknown, x)


NO_POSITIONS: dict[str, Any] = {
    "shape": np.arange(3),
    "size": range(10**20, 10**20 + 20),
    "length": range(2**53),
    "size of integers": [2**70] * 20,
    "text": "abc",
    "booleans": [True] * 20,
    "objects": [None] * 20,
    "complex": np.ones(20, complex),
    "complex, in chunks": da.ones(20, dtype=complex, chunks=7),
}


def test_positions_in_a_list_of_dask_arrays_are_not_read_before_time() -> None:
    def read(_: NDArray[Any]) -> NDArray[Any]:
        raise AssertionError

    there = da.map_blocks(read, da.zeros(3, chunks=3), dtype=float, meta=np.empty(0))
    turned = rw.dask.rotate(da.ones((2, 3, 4)), [there, there])
    assert turned.shape == (2, 3, 4)
    with pytest.raises(AssertionError):
        turned.compute()


@pytest.mark.parametrize("name", ["positions", "key_positions"])
@pytest.mark.parametrize("positions", NO_POSITIONS.values(), ids=NO_POSITIONS)
def test_positions_are_refused_at_once(positions: Any, name: str) -> None:
    x, given = rows((2, 20, 12)), layer("float64")
    lazy = da.from_array(x)
    whole = positions.compute() if isinstance(positions, da.Array) else positions
    refused_alike(lambda: rw.dask.rotate(lazy, positions), lambda: rw.rotate(x, whole))
    refused_alike(
        lambda: rw.dask.multi_head_attention(lazy, **given, **{name: positions}),
        lambda: rw.multi_head_attention(x, **given, **{name: whole}),
    )


def test_an_encoding_refuses_positions_at_once() -> None:
    refused_alike(
        lambda: rw.dask.sinusoidal_encoding([2**70], 8), lambda: rw.sinusoidal_encoding([2**70], 8)
    )


@pytest.mark.parametrize("recompute", ["no", 1, None], ids=repr)
def test_whether_data_are_read_again_is_true_or_false(recompute: Any) -> None:
    x = da.from_array(rows((20, 8)))
    with pytest.raises(TypeError, match="recompute must be True or False, got"):
        rw.dask.attention(x, x, x, recompute=recompute)


def test_positions_on_a_grid_need_a_last_axis() -> None:
    with pytest.raises(
        ValueError, match=r"positions must have a last axis of length 2, .* \(20,\)"
    ):
        rw.dask.rotate(da.from_array(rows((20, 8))), np.arange(20), frequencies=GRID)
    with pytest.raises(ValueError, match="positions must be given where x has one dimension"):
        rw.dask.rotate(da.from_array(rows(8)))


REFUSED_LAYERS: dict[str, dict[str, Any]] = {
    "weight": {"query_weight": rows((11, 16))},
    "weight of objects": {"query_weight": np.ones((12, 16), object)},
    "no rotary": {"rotary": None, "positions": range(20)},
    "no output weight": {"output_weight": None},
    "heads": {"heads": 3},
    "shape of offsets": {"offset": [0, 1, 2]},
    "size of the offset": {"offset": 2**70},
    "positions from the offset on": {"offset": 2**53 - 18},
    "text for an offset": {"offset": "a"},
    "number for rotary": {"rotary": 5},
    "text for rotary": {"rotary": "abc"},
    "unknown option of rotary": {"rotary": {"foo": 1}},
    "positions for rotary": {"rotary": {"positions": range(20)}},
}


@pytest.mark.parametrize("options", REFUSED_LAYERS.values(), ids=REFUSED_LAYERS)
def test_multi_head_attention_refuses_at_once_what_the_whole_refuses(
    options: dict[str, Any],
) -> None:
    x, given = rows((2, 20, 12)), layer("float64", **options)
    refused_alike(
        lambda: rw.dask.multi_head_attention(da.from_array(x), **given),
        lambda: rw.multi_head_attention(x, **given),
    )


@pytest.mark.parametrize("shape", [(), (12,)], ids=str)
@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_multi_head_attention_refuses_at_once_data_without_rows(
    name: str, shape: tuple[int, ...]
) -> None:
    arrays = dict.fromkeys(["query", "key", "value"], rows((20, 12))) | {name: np.ones(shape)}
    given = layer("float64")
    refused_alike(
        lambda: rw.dask.multi_head_attention(*map(da.from_array, arrays.values()), **given),
        lambda: rw.multi_head_attention(*arrays.values(), **given),
    )


def test_an_option_that_is_unknown_is_refused_beside_those_that_there_are() -> None:
    x, given = da.from_array(rows((20, 12))), layer("float64", dropout=0.1)
    message = r"^unexpected keyword argument 'dropout'; the options are causal, .*, recompute$"
    with pytest.raises(TypeError, match=message):
        rw.dask.multi_head_attention(x, **given)
    assert rw.dask.multi_head_attention(x, recompute=True, **layer("float64")).shape[0] == 20


def test_without_dask_the_extra_is_named(run_python: RunPython) -> None:
    result = run_python("import sys; sys.modules['dask'] = None; import ropewalk; ropewalk.dask")
    assert "ropewalk.dask needs Dask: pip install 'ropewalk[dask]'" in result.stderr


# Engines

EVERYTHING = """
import hashlib
import dask.array as da
import numpy as np
import ropewalk as rw

x = np.random.default_rng(0).standard_normal((2, 4, 50, 6)).astype(np.float32)
lazy = da.from_array(x, chunks=(1, 2, (20, 0, 13, 17), 4))
weights = dict.fromkeys(("query_weight", "key_weight", "value_weight"), np.eye(6) * 3)
results = [
    rw.dask.attention(rw.dask.rotate(lazy), rw.dask.rotate(lazy), lazy, causal=True, sinks=1.0),
    rw.dask.attention(rw.dask.rotate(lazy), -lazy, lazy, causal=True, recompute=True),
    rw.dask.multi_head_attention(lazy[:, 0], heads=1, rotary=rw.frequencies.standard(6), **weights),
    rw.dask.sinusoidal_encoding(da.arange(30, chunks=7), 8),
]
for result in results:
    print(hashlib.sha256(result.compute(scheduler="sync").tobytes()).hexdigest())
"""


def test_both_kinds_of_dask_array_give_the_same_bits(run_python: RunPython) -> None:
    """Dask builds arrays of graphs, and where `array.query-planning` is set of expressions."""
    plain, planned = (
        run_python(
            f"{EVERYTHING}\nprint(type(lazy).__module__.split('.')[2])",
            DASK_ARRAY__QUERY_PLANNING=setting,
        )
        for setting in ("False", "True")
    )
    assert (plain.stderr, planned.stderr) == ("", "")
    *digests, kind = plain.stdout.split()
    assert kind == "core"
    assert planned.stdout.split() == [*digests, "_array_expr"]


def test_processes_give_the_same_bits(cluster: LocalCluster) -> None:
    arrays = data("float32")
    lazy = attended(arrays, CHUNKS["ragged"], causal=True)
    with Client(cluster) as client:
        found = client.compute(lazy).result(timeout=240)
    assert_same_bits(found, lazy.compute(scheduler="sync"))


def test_a_worker_holds_no_data_that_are_recomputed(cluster: LocalCluster) -> None:
    chunks = ((64,) * 16, (8,))

    # Within the test, so that they are sent whole: workers cannot import the tests.
    class Most(WorkerPlugin):  # type: ignore[misc]
        """Keeps how many partial results, and chunks of data, the worker held at most."""

        def setup(self, worker: Worker) -> None:
            self.worker = worker
            worker.most_held = (0, 0)

        def transition(self, *_: object, **__: object) -> None:
            arrays = {id(x): x for x in self.worker.data.values() if isinstance(x, np.ndarray)}
            parts = sum(x.dtype.names is not None for x in arrays.values())
            of_data = sum(x.size == 64 * 8 for x in arrays.values())
            most_parts, most_data = self.worker.most_held
            self.worker.most_held = (max(most_parts, parts), max(most_data, of_data))

    def made(seed: int, block_id: tuple[int, int]) -> NDArray[Any]:
        time.sleep(0.02)  # so that work takes longer than its planning
        return np.random.default_rng([seed, *block_id]).standard_normal((64, 8))

    arrays = [da.map_blocks(made, i, chunks=chunks, meta=np.empty((0, 0))) for i in range(3)]
    lazy = rw.dask.attention(*arrays, causal=True, recompute=True).sum(axis=1)
    with Client(cluster) as client:
        client.register_plugin(Most(), name="most")
        found = client.compute(lazy).result(timeout=240)
        most_held = client.run(lambda dask_worker: dask_worker.most_held)
        client.unregister_worker_plugin("most")
    assert_same_bits(found, rw.dask.attention(*arrays, causal=True).sum(axis=1).compute())
    for parts, of_data in most_held.values():
        assert of_data == 0  # of 48 chunks, of which the last queries see 33
        # Of 136 parts 3 wait in each of 2 levels beside 2 that are merged. As many again may come
        # from the other worker, and be there for rows that are begun before others are finished.
        assert 4 <= parts <= 3 * 8


def test_the_code_of_the_documentation_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Path(__file__).parents[1].joinpath("docs", "scaling.md").read_text(encoding="utf-8")
    files, chunks, again, processes = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in (files, chunks, again, processes):
        exec(code, names)
        if code is chunks:
            expected = names["result"]
    names["client"].close()
    names["cluster"].close()
    assert_same_bits(names["result"], expected)
    last = np.concatenate([np.load(tmp_path / "last" / f"{chunk}.npy") for chunk in (0, 1)])
    # Queries of zeros see the mean of the values. Parts, and both levels of merging, are rounded.
    value = np.load("value.npy").astype(np.float64)
    means = (np.cumsum(value, axis=0) / np.arange(1, 50_001)[:, None])[-1000:]
    np.testing.assert_allclose(last, means, rtol=0, atol=5 * UNIT["float32"])


def test_a_worker_that_dies_changes_nothing(cluster: LocalCluster, tmp_path: Path) -> None:
    # Within the test, so that it is sent whole: workers cannot import the tests.
    def logged(folder: str, block_info: Any) -> NDArray[Any]:
        """Make a block, and leave a file that says which worker made it."""
        first = block_info[None]["array-location"][0][0]
        Path(folder, f"{first}-{os.getpid()}").touch()
        # Until every block is made each of them is needed, so those that the killed worker held.
        while len([*Path(folder).iterdir()]) > 6 and not Path(folder, "killed").exists():
            time.sleep(0.01)
        return np.random.default_rng(first).standard_normal((64, 8))

    x = da.map_blocks(logged, str(tmp_path), chunks=((64,) * 10, (8,)), meta=np.empty((0, 0)))
    lazy = rw.dask.attention(x, x, x, causal=True)
    with Client(cluster) as client:
        running = client.compute(lazy)
        while len(made := [*tmp_path.iterdir()]) < 7:
            assert not running.done()
            time.sleep(0.01)
        # The newest block is still being made, so no other worker has it.
        newest = max(made, key=lambda path: path.stat().st_mtime_ns)
        killed = newest.name.partition("-")[2]
        os.kill(int(killed), signal.SIGKILL)
        (tmp_path / "killed").touch()
        found = running.result(timeout=240)
    again = Counter(path.name.partition("-")[0] for path in tmp_path.iterdir())
    assert max(again.values()) > 1  # what the worker had begun was made again, by another
    assert_same_bits(found, lazy.compute())
