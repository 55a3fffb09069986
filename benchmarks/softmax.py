"""Softmax of rows against copying them, and against other libraries."""

from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import ropewalk as rw
from benchmarks.figures import Array, Call, Figure
from benchmarks.measure import Bench, check, rows, unit
from benchmarks.onnx import onnx_call
from benchmarks.pytorch import find_torch, tensor

SHARE = 4e-6  # error of a weight of the largest weight


def formula(x: Array, out: Array | None = None) -> Array:
    y: Array = np.subtract(x, x.max(axis=-1, keepdims=True), out=out)
    np.exp(y, out=y)
    y /= y.sum(axis=-1, keepdims=True)
    return y


def torch_softmax(x: Array, out: Array) -> Call | None:
    torch = find_torch()
    if torch is None:
        return None
    call: Call = partial(torch.softmax, tensor(x), dim=-1, out=tensor(out))
    return call


def onnx_softmax(x: Array, threads: int, axis: int = -1, out: Array | None = None) -> Call | None:
    if not find_spec("onnxruntime"):
        return None
    return onnx_call("Softmax", {"x": x}, threads, out=out, axis=axis)


def jax_softmax(x: Array) -> Call | None:
    try:
        import jax
    except ModuleNotFoundError:
        return None
    data, call = jax.numpy.asarray(x), jax.jit(jax.nn.softmax)
    return lambda: call(data).block_until_ready()


def softmax(bench: Bench) -> Iterator[Figure]:
    """Softmax of float32 rows, into memory that is there; of copying them."""
    for size in bench.of([0.25, 4, 64], [0.25]):
        for length in bench.of([64, 1024, 16384], [64, 1024]):
            x = rows(int(size * 2**20) // 4 // length, length)
            out = np.zeros_like(x)
            made: dict[str, Call | None] = {
                "NumPy": partial(formula, x, np.zeros_like(x)),
                "PyTorch": torch_softmax(x, np.zeros_like(x)),
                "ONNX Runtime": onnx_softmax(x, bench.threads, out=np.zeros_like(x)),
                "JAX": jax_softmax(x),
            }
            calls = {name: call for name, call in made.items() if call}
            ours: Call = partial(rw.softmax, x, out=out)
            some = np.linspace(0, len(x) - 1, 5, dtype=int)
            exact = formula(x[some].astype(np.float64))
            for call in (ours, *calls.values()):
                check(np.asarray(call()).reshape(x.shape)[some], exact, SHARE * exact.max())
            yield bench.figure(
                {"MiB": size, "length": length},
                ours,
                rivals=calls,
                limits=bench.limits.copy(x, out),
            )


OTHERS: Mapping[str, Any] = {  # shapes of 1 MiB in float32, and the axis
    "rows of 4": ((65536, 4), -1),
    "rows of 10": ((26214, 10), -1),
    "rows of 64": ((4096, 64), -1),
    "rows of 1024": ((256, 1024), -1),
    "one row": ((1, 262144), -1),
    "10 classes of pixels": ((8, 10, 57, 57), 1),
    "a middle axis": ((8, 64, 16, 32), 1),
    "masked": ((256, 1024), -1),
}


def in_numpy(function: str, x: Array, axis: int, mask: Array | None) -> Array:
    wide = x.astype(np.result_type(x, np.float32))
    if mask is not None:
        wide = np.where(mask, wide, -np.inf)
    greatest = wide.max(axis=axis, keepdims=True)
    powers = np.exp(wide - greatest)
    sums = powers.sum(axis=axis, keepdims=True)
    result: Array = powers / sums if function == "softmax" else np.log(sums) + greatest
    return (result if function == "softmax" else result.squeeze(axis)).astype(x.dtype)


def in_torch(function: str, x: Array, axis: int, mask: Array | None) -> Call | None:
    torch = find_torch()
    if torch is None:
        return None
    data, hidden = tensor(x), None if mask is None else tensor(~mask)

    def call() -> object:
        shown = data if hidden is None else data.masked_fill(hidden, -float("inf"))
        return getattr(torch, function)(shown, dim=axis)

    return call


def others(bench: Bench) -> Iterator[Figure]:
    """Softmax of other types, axes and masks, and log-sum-exp, into new memory."""
    for function in ("softmax", "logsumexp"):
        for dtype in bench.of(["float32", "float16", "bfloat16"], ["float32", "bfloat16"]):
            for name in bench.of(list(OTHERS), ["rows of 4", "masked"]):
                shape, axis = OTHERS[name]
                x = rows(*shape, dtype=dtype)
                mask = rows(*shape, seed=1) > -1 if name == "masked" else None
                ours: Call = partial(getattr(rw, function), x, axis=axis, mask=mask)
                made: dict[str, Call | None] = {
                    "NumPy": partial(in_numpy, function, x, axis, mask),
                    "PyTorch": in_torch(function, x, axis, mask),
                }
                if (function, dtype) == ("softmax", "float32") and mask is None:
                    made["ONNX Runtime"] = onnx_softmax(x, bench.threads, axis)
                calls = {rival: call for rival, call in made.items() if call}
                exact = in_numpy(function, x.astype(np.float64), axis, mask)
                largest = np.abs(exact).max()
                check(ours(), exact, 4 * unit(dtype) * largest)
                for call in calls.values():
                    found: Any = call()
                    wide = found.float() if hasattr(found, "float") else found  # PyTorch's halves
                    of_all = np.asarray(wide).reshape(exact.shape)
                    check(of_all, exact, max(SHARE, 4 * unit(dtype)) * largest)
                case = {"function": function, "dtype": dtype, "data": name}
                yield bench.figure(case, ours, rivals=calls)
