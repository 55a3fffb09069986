"""What calls cost beside their work: small ones, importing, what comes before and after."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np

import ropewalk as rw
from benchmarks import rotary, softmax, table
from benchmarks.attention import check_rows, contenders, inputs
from benchmarks.figures import Call, Figure
from benchmarks.measure import Bench, Limit, check, rows, settle
from benchmarks.rivals import rivals


def small(bench: Bench) -> Iterator[Figure]:
    """Small calls: attention on four tokens of width 2, tables of sines, a step of rotation."""
    for dtype in ("float32", "float64"):
        arrays = inputs(1, 4, 2, dtype)
        verify = partial(check_rows, arrays)
        calls = contenders(rivals(bench.threads, dtype=dtype), arrays, verify)
        ours = partial(rw.attention, *arrays)
        verify(ours())
        yield bench.figure({"call": f"attention, {dtype}"}, ours, rivals=calls)
    arrays = inputs(1, 4, 2)
    bias = rows(4, 4, seed=3)
    given: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # ours, and the formula's
        "causal": ({"causal": True}, {"causal": True}),
        "mask": ({"mask": np.tri(4, dtype=bool)}, {"causal": True}),
        "bias": ({"bias": bias}, {"bias": bias}),
        "softcap": ({"softcap": 2.0}, {"softcap": 2.0}),
        "sinks": ({"sinks": 1.0}, {"sink": 1.0}),
    }
    for name, (option, formula) in given.items():
        call = partial(rw.attention, *arrays, **option)
        check_rows(arrays, call(), **formula)
        calls = {}
        if name == "causal":
            verify = partial(check_rows, arrays, causal=True)
            calls = contenders(rivals(bench.threads), arrays, verify, causal=True)
        yield bench.figure({"call": f"attention, {name}"}, call, rivals=calls)
    for tokens, dim in ((4, 4), (51, 128)):
        encoding = partial(rw.sinusoidal_encoding, range(tokens), dim)
        positions = np.arange(tokens)
        table.check_rows(positions, encoding(), 2.0**-52)
        name = f"sinusoidal_encoding, {tokens} x {dim}"
        yield bench.figure({"call": name}, encoding, rivals=table.verified(positions, encoding()))
    step = rows(32, 1, 128)
    rw.rotate(rows(1024, 128), pairing="half")  # whose tables are kept
    for name, position in (("after a prompt", 1000), ("far behind", 100_000)):
        angles = position * 10000.0 ** (-2.0 * np.arange(64) / 128)
        cosines, sines = np.cos(angles), np.sin(angles)
        tables = [row[None].astype(np.float32) for row in (cosines, sines)]
        others = rotary.turning(step, tables[0], tables[1], "half", bench.threads)
        rotation = partial(rw.rotate, step[:, 0], position, pairing="half")
        exact = rotary.formula(step.astype(np.float64), cosines, sines, "half")
        turns: list[Call] = [rotation, *others.values()]
        for turn in turns:
            check(np.asarray(turn()).reshape(exact.shape), exact, 1e-5)
        yield bench.figure({"call": f"rotate, 32 x 128, {name}"}, rotation, rivals=others)


def imports(bench: Bench) -> Iterator[Figure]:
    """A new interpreter that imports ropewalk; of one that imports NumPy alone."""
    modules = [("PyTorch", "torch"), ("ONNX Runtime", "onnxruntime"), ("JAX", "jax")]

    def starting(module: str) -> Call:
        # Compiled modules are kept, as where they are installed.
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        command = [sys.executable, "-c", f"import {module}"]
        return partial(subprocess.run, command, env=environment, check=True)

    rivals = {name: starting(module) for name, module in bench.of(modules, []) if find_spec(module)}
    limits = {"NumPy alone": Limit([starting("numpy")])}
    yield bench.figure({"module": "ropewalk"}, starting("ropewalk"), rivals=rivals, limits=limits)


def neighbour(bench: Bench) -> Iterator[Figure]:
    """NumPy's product of matrices right after our call, over the same product after itself."""
    for size in bench.of([256, 1024], [256]):
        matrix, out = rows(size, size), rows(size, size)
        product = partial(np.matmul, matrix, matrix, out=out)
        before: dict[str, Call] = {
            "ours": partial(rw.attention, *inputs(8, 128, 64)),
            "itself": product,
        }
        samples: dict[str, list[float]] = {name: [] for name in before}
        for _ in bench.of(range(101), range(11)):
            for name, call in before.items():
                settle()
                product()
                call()
                start = time.perf_counter()
                product()
                samples[name].append(time.perf_counter() - start)
        after, alone = (median(samples[name]) for name in before)
        yield Figure({"size": size}, after, ourselves={"itself": alone})


def between(bench: Bench) -> Iterator[Figure]:
    """Our calls between a millisecond of other work and the next, over the same on one thread."""
    matrix = rows(64, 64)  # which NumPy multiplies on one thread
    sums = np.empty_like(matrix)
    calls: dict[tuple[str, int], Call] = {}
    for kib in bench.of([128, 512, 2048], [128]):
        data = rows(8, 2 * kib, 16)
        out = np.empty_like(data)
        weigh = calls["softmax", kib] = partial(rw.softmax, data, out=out)
        check(weigh(), softmax.formula(data.astype(np.float64)), softmax.SHARE)
        turn = calls["rotation", kib] = partial(rw.rotate, data, out=out)
        rotary.check_rows(data, turn(), "interleaved")
        arrays = [rows(8, 1, 64), *rows(2, 8, kib // 4, 64)]
        decode = calls["decoding", kib] = partial(rw.attention, *arrays)
        check_rows(arrays, decode())
    for (name, kib), call in calls.items():
        samples: dict[int, list[float]] = {bench.threads: [], 1: []}
        for _ in bench.of(range(101), range(11)):
            for threads, seconds in samples.items():
                with rw.num_threads(threads):
                    end = time.perf_counter() + 1e-3
                    while time.perf_counter() < end:
                        np.matmul(matrix, matrix, out=sums)
                    start = time.perf_counter()
                    call()
                    seconds.append(time.perf_counter() - start)
        shared, alone = median(samples[bench.threads]), median(samples[1])
        yield Figure({"call": name, "KiB": kib}, shared, ourselves={"one thread": alone})
