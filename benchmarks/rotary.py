"""Rotation of queries and keys against copying them, and against other libraries."""

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import ropewalk as rw
from benchmarks.figures import Array, Call, Case, Figure
from benchmarks.measure import Bench, Limit, check, rows, unit
from benchmarks.onnx import onnx_call
from benchmarks.pytorch import find_torch, tensor
from ropewalk._options import Pairing

DIM = 128
HEADS = 8
SIZES = [0.25, 1, 8, 32, 128, 512]  # MiB
QUICK = [0.25, 1]
PARTS = [32, 64]  # of its features, which turn where the others stand
MOST = 32  # MiB that others turn too
PAIRINGS: list[Pairing] = ["half", "interleaved"]


def queries(mebibytes: float, dtype: str = "float32") -> Array:
    """Return (heads, length, DIM) random features that fill so much memory."""
    length = int(mebibytes * 2**20) // (HEADS * DIM * np.dtype(dtype).itemsize)
    return rows(HEADS, length, DIM, seed=1, dtype=dtype)


def pairs(x: Any, pairing: Pairing) -> tuple[Any, Any]:
    """Return the first features of all pairs, and the second ones, as views."""
    half = x.shape[-1] // 2
    if pairing == "half":
        return x[..., :half], x[..., half:]
    return x[..., 0::2], x[..., 1::2]


def check_rows(x: Array, turned: Array, pairing: Pairing, rotary_dim: int | None = None) -> None:
    """Compare some rows with the formula in float64."""
    rotary_dim = rotary_dim or x.shape[-1]
    frequencies = 10000.0 ** (-2.0 * np.arange(rotary_dim // 2) / rotary_dim)
    for row in np.linspace(0, x.shape[1] - 1, 7, dtype=int):
        wide, angles = x[:, row].astype(np.float64), row * frequencies
        exact = np.empty_like(wide)
        turn_into(exact, wide, np.cos(angles), np.sin(angles), pairing)
        check(turned[:, row], exact, 4 * unit(x.dtype.name) * np.abs(wide).max())


def turn_into(out: Any, x: Any, cosines: Any, sines: Any, pairing: Pairing) -> None:
    """Write the formula, with arrays of NumPy or tensors of PyTorch; out may be x."""
    rotary_dim = 2 * cosines.shape[-1]
    a, b = pairs(x[..., :rotary_dim], pairing)
    first, second = pairs(out[..., :rotary_dim], pairing)
    turned = a * cosines - b * sines
    second[...] = b * cosines + a * sines
    first[...] = turned
    if rotary_dim < x.shape[-1]:
        out[..., rotary_dim:] = x[..., rotary_dim:]


def turning_into(
    out: Array, x: Array, pairing: Pairing, threads: int, rotary_dim: int = DIM
) -> dict[str, Call]:
    """Return calls of others that rotate into given memory by given tables, each seen to do so."""
    tables = rw.rotary_tables(range(x.shape[1]), rotary_dim, dtype=x.dtype)
    found: dict[str, Call] = {}
    if x.dtype == np.float32:  # half types take NumPy many times as long
        found["NumPy"] = partial(turn_into, out, x, *tables, pairing)
    if find_torch():
        given: list[Any] = [*map(tensor, (out, x, *tables)), pairing]
        found["PyTorch"] = partial(turn_into, *given)
    if x.dtype == np.float32 and out is not x:
        onnx = onnx_rotation(x, *tables, pairing, threads, out)
        found |= {"ONNX Runtime": onnx} if onnx else {}
    for call in found.values():
        before = x.copy()
        if out is not x:
            out[...] = 0
        call()
        check_rows(before, out, pairing, rotary_dim)
    return found


def rotary(bench: Bench) -> Iterator[Figure]:
    """Rotation of 8 heads of 128, float32, out= given; tables given to others; of copying."""
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
                beside = where is None and size <= MOST
                rivals = turning_into(out, x, pairing, bench.threads) if beside else {}
                ours = partial(rw.rotate, x, where, pairing=pairing, out=out)
                out[...] = 0
                ours()
                check_rows(outside, out if where is None else out.swapaxes(0, 1), pairing)
                case: Case = {"MiB": size, "layout": layout, "pairing": pairing}
                yield bench.figure(case, ours, rivals=rivals, limits=bench.limits.copy(x, out))


def of_a_part(bench: Bench) -> Iterator[Figure]:
    """Rotation of a part of 8 heads of 128, float32, out= given; tables given to others."""
    for size in bench.of([1, 8, 32, 128], QUICK[1:]):
        x = queries(size)
        out = np.zeros_like(x)
        for rotary_dim in bench.of(PARTS, PARTS[:1]):
            for pairing in PAIRINGS:
                beside = size <= MOST
                given = (out, x, pairing, bench.threads, rotary_dim)
                rivals = turning_into(*given) if beside else {}
                ours = partial(rw.rotate, x, rotary_dim=rotary_dim, pairing=pairing, out=out)
                out[...] = 0
                ours()
                check_rows(x, out, pairing, rotary_dim)
                case: Case = {"MiB": size, "rotary_dim": rotary_dim, "pairing": pairing}
                yield bench.figure(case, ours, rivals=rivals, limits=bench.limits.copy(x, out))


def in_place(bench: Bench) -> Iterator[Figure]:
    """Rotation in place, 8 heads of 128; tables given to others; of copying."""
    for dtype in bench.of(["float32", "bfloat16", "float16"], ["bfloat16", "float32"]):
        for size in bench.of([0.25, 8, 128], QUICK[:1]):
            for pairing in PAIRINGS:
                x = queries(size, dtype)
                other = x.copy()
                beside = size <= MOST
                rivals = turning_into(other, other, pairing, bench.threads) if beside else {}
                other[...] = x
                ours = partial(rw.rotate, other, pairing=pairing, out=other)
                ours()
                check_rows(x, other, pairing)
                case: Case = {"dtype": dtype, "MiB": size, "pairing": pairing}
                limits = bench.limits.copy(x, other)
                yield bench.figure(case, ours, rivals=rivals, limits=limits)


def formula(x: Array, cosines: Array, sines: Array, pairing: Pairing) -> Array:
    """Rotate as users of NumPy do."""
    a, b = pairs(x, pairing)
    turned = [a * cosines - b * sines, b * cosines + a * sines]
    if pairing == "half":
        return np.concatenate(turned, axis=-1)
    return np.stack(turned, axis=-1).reshape(x.shape)


def torch_rotation(x: Array, cosines: Array, sines: Array, pairing: Pairing) -> Call | None:
    """Rotate halves as transformers does, neighbours as the first code of Llama did."""
    torch = find_torch()
    if torch is None:
        return None
    data = tensor(x)
    c, s = (tensor(np.concatenate([table, table], axis=-1)) for table in (cosines, sines))
    phases = torch.complex(tensor(cosines), tensor(sines))
    half = x.shape[-1] // 2

    def halves() -> object:
        turned = torch.cat((-data[..., half:], data[..., :half]), dim=-1)
        return data * c + turned * s

    def neighbours() -> object:
        numbers = torch.view_as_complex(data.reshape(*x.shape[:-1], half, 2))
        return torch.view_as_real(numbers * phases).flatten(-2)

    return halves if pairing == "half" else neighbours


def onnx_rotation(
    x: Array,
    cosines: Array,
    sines: Array,
    pairing: Pairing,
    threads: int,
    out: Array | None = None,
) -> Call | None:
    if not find_spec("onnxruntime"):
        return None
    positions = np.arange(x.shape[1])[None]
    inputs = {"x": x[None], "cosines": cosines, "sines": sines, "positions": positions}
    options: dict[str, Any] = {"interleaved": int(pairing == "interleaved")}
    if (rotary_dim := 2 * cosines.shape[-1]) < x.shape[-1]:
        options |= {"rotary_embedding_dim": rotary_dim, "num_heads": len(x)}
    given = None if out is None else out[None]
    return onnx_call("RotaryEmbedding", inputs, threads, out=given, **options)


def jax_rotation(x: Array, cosines: Array, sines: Array, pairing: Pairing) -> Call | None:
    try:
        import jax
    except ModuleNotFoundError:
        return None
    data, c, s = (jax.numpy.asarray(array) for array in (x, cosines, sines))

    def turn(data: Any, c: Any, s: Any) -> Any:
        a, b = pairs(data, pairing)
        turned = [a * c - b * s, b * c + a * s]
        if pairing == "half":
            return jax.numpy.concatenate(turned, axis=-1)
        return jax.numpy.stack(turned, axis=-1).reshape(data.shape)

    turned = jax.jit(turn)
    return lambda: turned(data, c, s).block_until_ready()


def turning(
    x: Array, cosines: Array, sines: Array, pairing: Pairing, threads: int
) -> dict[str, Call]:
    """Return calls of others that rotate (heads, length, dim) by given tables."""
    made: dict[str, Call | None] = {
        "NumPy": partial(formula, x, cosines, sines, pairing),
        "PyTorch": torch_rotation(x, cosines, sines, pairing),
        "ONNX Runtime": onnx_rotation(x, cosines, sines, pairing, threads),
        "JAX": jax_rotation(x, cosines, sines, pairing),
    }
    return {name: call for name, call in made.items() if call}


def fresh_rotation(bench: Bench) -> Iterator[Figure]:
    """Rotation in new memory, 8 heads of 128; tables given to others; of np.full."""
    for size in bench.of([0.0625, 0.25, 2, 8, 32, 128], [0.25, 2]):
        x = queries(size)
        tables = rw.rotary_tables(range(x.shape[1]), DIM, dtype=np.float32)
        for pairing in PAIRINGS:
            rivals = turning(x, *tables, pairing, bench.threads)
            ours = partial(rw.rotate, x, pairing=pairing)
            given = partial(rw.rotate_by, x, *tables, pairing=pairing)
            calls: list[Call] = [ours, given, *rivals.values()]
            for call in calls:
                check_rows(x, np.asarray(call()).reshape(x.shape), pairing)
            full = {"np.full": Limit([partial(np.full, x.shape, 1, x.dtype)])}
            case: Case = {"MiB": size, "pairing": pairing}
            yield bench.figure(
                case, ours, rivals=rivals, ourselves={"rotate_by": given}, limits=full
            )


def of_a_view(bench: Bench) -> Iterator[Figure]:
    """Rotation of a view of 8 heads of 128 inside of positions, in new memory; of copying."""
    for size in bench.of([1, 8, 32, 128], QUICK[1:]):
        inside = np.ascontiguousarray(queries(size).swapaxes(0, 1))
        x, copy = inside.swapaxes(0, 1), np.zeros_like(inside)
        tables = rw.rotary_tables(range(x.shape[1]), DIM, dtype=np.float32)
        for pairing in PAIRINGS:
            rivals = turning(x, *tables, pairing, bench.threads) if size <= MOST else {}
            ours = partial(rw.rotate, x, pairing=pairing)
            calls: list[Call] = [ours, *rivals.values()]
            for call in calls:
                check_rows(x, np.asarray(call()).reshape(x.shape), pairing)
            limits = bench.limits.copy(inside, copy)
            case: Case = {"MiB": size, "pairing": pairing}
            yield bench.figure(case, ours, rivals=rivals, limits=limits)
