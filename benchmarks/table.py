"""Sinusoidal tables against filling memory, and against NumPy's and PyTorch's formulas.

Run alone: python -m benchmarks.table [--quick]
"""

import sys
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ropewalk as rw
from benchmarks.measure import Call, Limits, header, interleaved

Array = NDArray[Any]

# Type, MiB and width of tables that are filled over and over.
FILLED = [
    *[("float32", size, dim) for size, dim in [(0.25, 128), (1, 128), (1, 512), (1, 1024)]],
    *[("float32", size, dim) for size, dim in [(4, 128), (4, 512), (8, 512), (8, 1024)]],
    *[("float32", size, dim) for size, dim in [(16, 512), (32, 512), (64, 512), (128, 128)]],
    *[("float32", size, dim) for size, dim in [(128, 1024), (512, 1024)]],
    *[("float64", size, dim) for size, dim in [(2, 128), (32, 512)]],
    ("float16", 4, 512),
    ("bfloat16", 4, 512),
]


def fill(out: Array, positions: range | Array) -> None:
    rw.sinusoidal_encoding(positions, out.shape[1], out=out)


def numpy_formula(positions: Array, dim: int, angles: str, dtype: str) -> Array:
    """Write the formula of the paper as users of NumPy do."""
    frequencies = (10000.0 ** (-2.0 * np.arange(dim // 2) / dim)).astype(angles)
    turned = positions.astype(angles)[:, None] * frequencies
    table: Array = np.empty((len(positions), dim), dtype)
    table[:, 0::2] = np.sin(turned)
    table[:, 1::2] = np.cos(turned)
    return table


def torch_formula(count: int, dim: int) -> object:
    """Write the formula as PyTorch's tutorial does."""
    import torch

    position = torch.arange(count).unsqueeze(1)
    frequencies = torch.exp(torch.arange(0, dim, 2) * (-np.log(10000.0) / dim))
    table = torch.zeros(count, dim)
    table[:, 0::2] = torch.sin(position * frequencies)
    table[:, 1::2] = torch.cos(position * frequencies)
    return table


def has_torch() -> bool:
    try:
        import torch
    except ModuleNotFoundError:
        return False
    torch.set_num_threads(1)
    return True


def check(table: Array, positions: range | Array) -> None:
    """Compare some rows with those that are computed one by one."""
    some = np.linspace(0, len(table) - 1, 17, dtype=int)
    dim, dtype = table.shape[1], table.dtype
    alone = [rw.sinusoidal_encoding(int(positions[row]), dim, dtype=dtype) for row in some]
    assert np.array_equal(table[some], alone), "wrong values were timed"


def filled_tables(limits: Limits, quick: bool) -> None:
    print("out= given: fraction of memset, and of filling by stores that pass the cache by")
    for name, size, dim in FILLED[:4] if quick else FILLED:
        dtype = rw.sinusoidal_encoding(0, 2, dtype=name).dtype
        out: Array = np.zeros((int(size * 2**20) // (dim * dtype.itemsize), dim), dtype)
        for threads in (1, 2):
            with rw.num_threads(threads):
                calls: dict[str, Call] = {
                    "ours": partial(fill, out, range(len(out))),
                    "memset": limits.fill(out, threads),
                }
                if size >= 32:  # it would throw a smaller table out of the cache for the others
                    calls["stream"] = limits.stream(out, threads)
                times = interleaved(calls)
                fill(out, range(len(out)))
            check(out, range(len(out)))
            ours = times.pop("ours")
            limited = ", ".join(f"{limit} {t / ours:.2f}" for limit, t in times.items())
            print(
                f"  {name:8} {size:>6g} MiB, d={dim:<4}, {threads} threads: "
                f"{out.nbytes / ours / 1e9:5.1f} GB/s, fraction of {limited}"
            )


def against_formulas(quick: bool) -> None:
    print("\nagainst the formula in NumPy and PyTorch, out= given, one thread")
    for dim, count in [(128, 4096)] if quick else [(128, 4096), (512, 1024), (512, 8192)]:
        ordered = np.arange(count)
        random = np.random.default_rng(1).integers(0, 1 << 20, count)
        out32, out64 = np.zeros((count, dim), np.float32), np.zeros((count, dim))
        calls: dict[str, Call] = {
            "float32": partial(fill, out32, range(count)),
            "NumPy, float32 angles": partial(numpy_formula, ordered, dim, "f4", "f4"),
            "NumPy, float64 rounded": partial(numpy_formula, ordered, dim, "f8", "f4"),
            "float64": partial(fill, out64, range(count)),
            "NumPy, float64": partial(numpy_formula, ordered, dim, "f8", "f8"),
            "float32 at random": partial(fill, out32, random),
            "NumPy, float64 rounded, at random": partial(numpy_formula, random, dim, "f8", "f4"),
            "float64 at random": partial(fill, out64, random),
            "NumPy, float64 at random": partial(numpy_formula, random, dim, "f8", "f8"),
        }
        rivals = {
            "float32": ["NumPy, float32 angles", "NumPy, float64 rounded"],
            "float64": ["NumPy, float64"],
            "float32 at random": ["NumPy, float64 rounded, at random"],
            "float64 at random": ["NumPy, float64 at random"],
        }
        if has_torch():
            calls["PyTorch, float32 angles"] = partial(torch_formula, count, dim)
            rivals["float32"].append("PyTorch, float32 angles")
        with rw.num_threads(1):
            times = interleaved(calls, repetitions=7)
            fill(out32, random)
        check(out32, random)
        for ours, theirs in rivals.items():
            for rival in theirs:
                print(
                    f"  {count} x {dim} {ours} in {times[ours] * 1e6:.0f} us: "
                    f"{times[rival] / times[ours]:.1f} x {rival} ({times[rival] * 1e6:.0f} us)"
                )


def fresh_results() -> None:
    print("\nfresh results against np.full of the same size")
    for name, count in (("float32", 8192), ("float64", 4096)):
        for threads in (1, 2):
            with rw.num_threads(threads):
                calls: dict[str, Call] = {
                    "ours": partial(rw.sinusoidal_encoding, range(count), 512, dtype=name),
                    "full": partial(np.full, (count, 512), 1, name),
                }
                times = interleaved(calls)
            print(
                f"  {name} 16 MiB, {threads} threads: {times['ours'] * 1e3:.2f} ms, "
                f"{times['full'] / times['ours']:.2f} of np.full"
            )


def small_calls() -> None:
    print("\nsmall calls, microseconds")
    for count, dim in ((4, 4), (51, 128)):
        calls: dict[str, Call] = {
            "float64": partial(rw.sinusoidal_encoding, range(count), dim),
            "float32": partial(rw.sinusoidal_encoding, range(count), dim, dtype=np.float32),
            "NumPy": partial(numpy_formula, np.arange(count), dim, "f8", "f8"),
        }
        times = interleaved(calls)
        listed = ", ".join(f"{name} {seconds * 1e6:.2f}" for name, seconds in times.items())
        print(f"  {count} x {dim}: {listed}")


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    header("Sinusoidal tables")
    filled_tables(Limits(), quick)
    against_formulas(quick)
    fresh_results()
    small_calls()


if __name__ == "__main__":
    main()
