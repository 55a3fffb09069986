"""Sinusoidal tables against filling memory, and against NumPy's and PyTorch's formulas."""

from collections.abc import Iterator
from functools import partial

import numpy as np

import ropewalk as rw
from benchmarks.figures import Array, Call, Figure
from benchmarks.measure import Bench, Limit, check, unit
from benchmarks.pytorch import find_torch, tensor

# Type, MiB and width of tables that are filled over and over.
SHAPES: list[tuple[str, float, int]] = [
    *[("float32", 0.25, 128), ("float32", 1, 128), ("float32", 1, 512), ("float32", 1, 1024)],
    *[("float32", 4, 128), ("float32", 4, 512), ("float32", 8, 512), ("float32", 16, 512)],
    *[("float32", 64, 512), ("float32", 128, 128), ("float32", 512, 1024)],
    *[("float64", 2, 128), ("float64", 32, 512), ("float16", 4, 512), ("bfloat16", 4, 512)],
]
QUICK: list[tuple[str, float, int]] = [("float32", 0.25, 128), ("float32", 1, 512)]
MOST = 16  # MiB of a table that rivals fill too


def fill(out: Array, positions: range | Array) -> None:
    rw.sinusoidal_encoding(positions, out.shape[1], out=out)


def formula(positions: Array, dim: int, angles: str, dtype: str) -> Array:
    """Write the formula of the paper as users of NumPy do."""
    frequencies = (10000.0 ** (-2.0 * np.arange(dim // 2) / dim)).astype(angles)
    turned = positions.astype(angles)[:, None] * frequencies
    table: Array = np.empty((len(positions), dim), dtype)
    table[:, 0::2] = np.sin(turned)
    table[:, 1::2] = np.cos(turned)
    return table


def torch_formula(positions: Array, dim: int, dtype: str) -> Call | None:
    """Write the formula as PyTorch's tutorial does."""
    torch = find_torch()
    if torch is None:
        return None
    position, kind = tensor(positions).unsqueeze(1), getattr(torch, dtype)

    def call() -> object:
        exponents = torch.arange(0, dim, 2, dtype=kind) * (-np.log(10000.0) / dim)
        frequencies = torch.exp(exponents)
        table = torch.zeros(len(positions), dim, dtype=kind)
        table[:, 0::2] = torch.sin(position * frequencies)
        table[:, 1::2] = torch.cos(position * frequencies)
        return table

    return call


def contenders(positions: Array, out: Array) -> dict[str, tuple[Call, float]]:
    """Return formulas, each with the relative error of its angles."""
    dim, dtype = out.shape[1], out.dtype.name
    found: dict[str, tuple[Call, float]] = {
        "NumPy": (partial(formula, positions, dim, "f8", dtype), 2.0**-50)
    }
    torch = torch_formula(positions, dim, dtype) if dtype in ("float32", "float64") else None
    if dtype == "float32":
        single: Call = partial(formula, positions, dim, "f4", dtype)
        found["NumPy, float32 angles"] = single, 2.0**-21
        if torch:
            found["PyTorch, float32 angles"] = torch, 2.0**-21
    elif torch:
        found["PyTorch"] = torch, 2.0**-50
    return found


def verified(positions: Array, out: Array) -> dict[str, Call]:
    """Return formulas, each of which was seen to give the table."""
    found = contenders(positions, out)
    for call, angles in found.values():
        check_rows(positions, call(), unit(out.dtype.name), angles)
    return {name: call for name, (call, _) in found.items()}


def check_rows(positions: Array, found: object, last: float, angles: float = 2.0**-50) -> None:
    """Compare some rows with the formula in float64, whose angles round too."""
    table = np.asarray(found)
    some = np.linspace(0, len(table) - 1, 17, dtype=int)
    exact = formula(positions[some], table.shape[1], "f8", "f8")
    check(table[some], exact, last + angles * float(positions[some].max()))


def table(bench: Bench) -> Iterator[Figure]:
    """Sinusoidal tables, out= given; of filling memory."""
    for dtype, size, dim in bench.of(SHAPES, QUICK):
        kind = np.dtype(dtype)
        out: Array = np.zeros((int(size * 2**20) // (dim * kind.itemsize), dim), kind)
        last = unit(dtype)
        ordered = np.arange(len(out))
        random = np.random.default_rng(1).integers(0, 1 << 20, len(out))
        orders: dict[str, tuple[range | Array, Array]] = {
            "in order": (range(len(out)), ordered),
            "at random": (random, random),
        }
        for order, (given, positions) in orders.items():
            if order == "at random" and size > MOST:
                continue
            ours = partial(fill, out, given)
            ours()
            check_rows(positions, out, last)
            yield bench.figure(
                {"dtype": dtype, "MiB": size, "dim": dim, "positions": order},
                ours,
                rivals=verified(positions, out) if size <= MOST else {},
                limits=bench.limits.fill(out),
            )


def fresh(bench: Bench) -> Iterator[Figure]:
    """Sinusoidal tables in new memory; of np.full."""
    for dtype, size in bench.of([("float32", 16), ("float64", 16)], [("float32", 1)]):
        shape = (size << 20) // (512 * np.dtype(dtype).itemsize), 512
        ours = partial(rw.sinusoidal_encoding, range(shape[0]), 512, dtype=dtype)
        positions = np.arange(shape[0])
        table = ours()
        check_rows(positions, table, unit(dtype))
        rivals = verified(positions, table)
        full = Limit([partial(np.full, shape, 1, dtype)])
        yield bench.figure(
            {"dtype": dtype, "MiB": size}, ours, rivals=rivals, limits={"np.full": full}
        )
