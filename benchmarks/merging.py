"""Attention to parts of the keys, merged to attention to all of them."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import ropewalk as rw
from benchmarks.figures import Array, Figure
from benchmarks.measure import Bench, check, rows, unit

HEADS, DIM = 8, 128
Merge = Callable[[], tuple[Array, Array]]


def formula(outputs: Array, lses: Array) -> tuple[Array, Array]:
    largest = lses.max(axis=0)
    weights = np.exp(lses - largest)
    total = weights.sum(axis=0)
    shares = (weights / total).astype(outputs.dtype)[..., None]
    output = outputs[0] * shares[0]
    for part, share in zip(outputs[1:], shares[1:], strict=True):
        output += part * share
    return output, largest + np.log(total)


def in_torch(outputs: Array, lses: Array) -> Merge | None:
    try:
        import torch
    except ModuleNotFoundError:
        return None
    bits = torch.from_numpy(outputs.view(f"i{outputs.itemsize}"))  # NumPy's bfloat16 is no other's
    dtype = torch.bfloat16 if outputs.itemsize == 2 else torch.float32
    parts, sums = bits.view(dtype), torch.from_numpy(lses)

    def call() -> tuple[Array, Array]:
        with torch.inference_mode():
            merged = (parts * sums.softmax(0).to(dtype)[..., None]).sum(0)
            found: Array = merged.view(bits.dtype).numpy()
            return found.view(outputs.dtype), sums.logsumexp(0).numpy()

    return call


def verify(call: Merge, outputs: Array, lses: Array, roundings: int) -> None:
    output, lse = call()
    exact, exact_lse = formula(outputs.astype(np.float64), lses)
    check(output, exact, roundings * unit(outputs.dtype.name) * np.abs(outputs).max())
    check(lse, exact_lse, 1e-14)


def merging(bench: Bench) -> Iterator[Figure]:
    """Parts of 8 heads of 128, merged; of reading them."""
    for dtype in bench.of(["float32", "bfloat16"], ["float32", "bfloat16"]):
        for parts in bench.of([2, 8], [2]):
            for queries in bench.of([1, 64, 2048], [1, 64]):
                outputs = rows(parts, HEADS, queries, DIM, dtype=dtype)
                lses = rows(parts, HEADS, queries, seed=1).astype(np.float64)
                ours = partial(rw.merge_attention, list(outputs), list(lses))
                calls: dict[str, Merge] = {"NumPy": partial(formula, outputs, lses)}
                torch_call = in_torch(outputs, lses)
                calls |= {"PyTorch": torch_call} if torch_call else {}
                verify(ours, outputs, lses, 1)
                for call in calls.values():
                    verify(call, outputs, lses, parts + 2)
                yield bench.figure(
                    {"dtype": dtype, "parts": parts, "queries": queries},
                    ours,
                    rivals=calls,
                    limits=bench.limits.read(outputs),
                )
