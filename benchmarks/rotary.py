"""Rotation of queries and keys against copying them, and against other libraries."""

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import ropewalk as rw
from benchmarks.figures import Array, Call, Case, Figure
from benchmarks.measure import Bench, Limit, check, rows, unit
from benchmarks.rivals import onnx_call
from ropewalk._options import Pairing

DIM = 128
HEADS = 8
SIZES = [0.25, 1, 8, 32, 128, 512]  # MiB
QUICK = [0.25, 1]
PAIRINGS: list[Pairing] = ["half", "interleaved"]


def queries(mebibytes: float, dtype: str = "float32") -> Array:
    """Return (heads, length, DIM) random features that fill so much memory."""
    length = int(mebibytes * 2**20) // (HEADS * DIM * np.dtype(dtype).itemsize)
    return rows(HEADS, length, DIM, seed=1, dtype=dtype)


def check_rows(x: Array, turned: Array, pairing: Pairing) -> None:
    """Compare some rows with the formula in float64."""
    dim = x.shape[-1]
    frequencies = 10000.0 ** (-2.0 * np.arange(dim // 2) / dim)
    half = pairing == "half"
    first = slice(0, dim // 2) if half else slice(0, None, 2)
    second = slice(dim // 2, None) if half else slice(1, None, 2)
    for row in np.linspace(0, x.shape[1] - 1, 7, dtype=int):
        wide, angles = x[:, row].astype(np.float64), row * frequencies
        a, b = wide[:, first], wide[:, second]
        exact = np.empty_like(wide)
        exact[:, first] = a * np.cos(angles) - b * np.sin(angles)
        exact[:, second] = b * np.cos(angles) + a * np.sin(angles)
        check(turned[:, row], exact, 4 * unit(x.dtype.name) * np.abs(wide).max())


def rotary(bench: Bench) -> Iterator[Figure]:
    """Rotation of 8 heads of 128, float32, tables made on the fly, out= given; of copying."""
    for size in bench.of(SIZES, QUICK):
        outside = queries(size)
        inside = np.ascontiguousarray(outside.swapaxes(0, 1))
        positions = np.arange(len(inside))[:, None]
        layouts: list[tuple[str, Array, Array | None]] = [
            ("heads, length, dim", outside, None),
            ("length, heads, dim", inside, positions),
        ]
        for layout, x, where in layouts:  # one by one: together they would share the cache
            out = np.zeros_like(x)
            for pairing in PAIRINGS:
                ours = partial(rw.rotate, x, where, pairing=pairing, out=out)
                ours()
                check_rows(outside, out if where is None else out.swapaxes(0, 1), pairing)
                case: Case = {"MiB": size, "layout": layout, "pairing": pairing}
                yield bench.figure(case, ours, limits=bench.limits.copy(x, out))


def in_place(bench: Bench) -> Iterator[Figure]:
    """Rotation in place, 8 heads of 128; of copying."""
    for dtype in bench.of(["float32", "bfloat16", "float16"], ["float32", "bfloat16"]):
        for size in bench.of([0.25, 8, 128], QUICK[:1]):
            for pairing in PAIRINGS:
                x = queries(size, dtype)
                other = x.copy()
                ours = partial(rw.rotate, other, pairing=pairing, out=other)
                ours()
                check_rows(x, other, pairing)
                case: Case = {"dtype": dtype, "MiB": size, "pairing": pairing}
                yield bench.figure(case, ours, limits=bench.limits.copy(x, other))


def formula(x: Array, cosines: Array, sines: Array) -> Array:
    """Write the usual formula with halves, tables given."""
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cosines - b * sines, b * cosines + a * sines], axis=-1)


def torch_rotation(x: Array, cosines: Array, sines: Array) -> Call | None:
    try:
        import torch
    except ModuleNotFoundError:
        return None
    data = torch.from_numpy(x)
    c = torch.from_numpy(np.concatenate([cosines, cosines], axis=-1))
    s = torch.from_numpy(np.concatenate([sines, sines], axis=-1))
    half = x.shape[-1] // 2

    def call() -> object:
        with torch.inference_mode():
            turned = torch.cat((-data[..., half:], data[..., :half]), dim=-1)
            return data * c + turned * s

    return call


def onnx_rotation(x: Array, cosines: Array, sines: Array, threads: int) -> Call | None:
    if not find_spec("onnxruntime"):
        return None
    positions = np.arange(x.shape[1])[None]
    inputs = {"x": x[None], "cosines": cosines, "sines": sines, "positions": positions}
    return onnx_call("RotaryEmbedding", inputs, threads)


def jax_rotation(x: Array, cosines: Array, sines: Array) -> Call | None:
    try:
        import jax
    except ModuleNotFoundError:
        return None
    data, c, s = (jax.numpy.asarray(array) for array in (x, cosines, sines))

    def turn(data: Any, c: Any, s: Any) -> Any:
        a, b = jax.numpy.split(data, 2, axis=-1)
        return jax.numpy.concatenate([a * c - b * s, b * c + a * s], axis=-1)

    turned = jax.jit(turn)
    return lambda: turned(data, c, s).block_until_ready()


def fresh_rotation(bench: Bench) -> Iterator[Figure]:
    """Rotation of halves in new memory, 8 heads of 128; tables given to all but us; of np.full."""
    for size in bench.of([0.0625, 0.25, 2, 8, 32, 128], [0.25, 2]):
        x = queries(size)
        tables = rw.rotary_tables(range(x.shape[1]), DIM, dtype=np.float32)
        made: dict[str, Call | None] = {
            "NumPy": partial(formula, x, *tables),
            "PyTorch": torch_rotation(x, *tables),
            "ONNX Runtime": onnx_rotation(x, *tables, bench.threads),
            "JAX": jax_rotation(x, *tables),
        }
        rivals = {name: call for name, call in made.items() if call}
        ours = partial(rw.rotate, x, pairing="half")
        given = partial(rw.rotate_by, x, *tables, pairing="half")
        calls: list[Call] = [ours, given, *rivals.values()]
        for call in calls:
            check_rows(x, np.asarray(call()).reshape(x.shape), "half")
        full = {"np.full": Limit([partial(np.full, x.shape, 1, x.dtype)])}
        case: Case = {"MiB": size}
        yield bench.figure(case, ours, rivals=rivals, ourselves={"rotate_by": given}, limits=full)
