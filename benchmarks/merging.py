"""Attention to parts of the keys, merged to attention to all of them."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import ropewalk as rw
from benchmarks.figures import Array, Figure
from benchmarks.measure import Bench, check, rows, unit
from benchmarks.pytorch import find_torch, tensor

HEADS, DIM = 8, 128
Merge = Callable[[], tuple[Array, Array]]


def formula(outputs: Array, lses: Array) -> tuple[Array, Array]:
    computed = np.result_type(outputs, np.float32)  # half types are slow in NumPy
    largest = lses.max(axis=0)
    weights = np.exp(lses - largest)
    total = weights.sum(axis=0)
    shares = (weights / total).astype(computed)[..., None]
    output = outputs[0].astype(computed, copy=False) * shares[0]
    for part, share in zip(outputs[1:], shares[1:], strict=True):
        output += part.astype(computed, copy=False) * share
    return output.astype(outputs.dtype, copy=False), largest + np.log(total)


def in_torch(outputs: Array, lses: Array) -> Merge | None:
    torch = find_torch()
    if torch is None:
        return None
    parts, sums = tensor(outputs), tensor(lses)
    bits = torch.int16 if outputs.itemsize == 2 else torch.int32  # NumPy knows no bfloat16

    def call() -> tuple[Array, Array]:
        merged = (parts * sums.softmax(0).to(parts.dtype)[..., None]).sum(0)
        found: Array = merged.view(bits).numpy()
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
