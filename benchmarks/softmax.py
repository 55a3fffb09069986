"""Softmax of rows against copying them, and against other libraries."""

from collections.abc import Iterator
from functools import partial

import numpy as np

import ropewalk as rw
from benchmarks.figures import Array, Call, Figure
from benchmarks.measure import Bench, check, rows
from benchmarks.rivals import onnx_session

SHARE = 4e-6  # error of a weight of the largest weight


def formula(x: Array, out: Array | None = None) -> Array:
    y: Array = np.subtract(x, x.max(axis=-1, keepdims=True), out=out)
    np.exp(y, out=y)
    y /= y.sum(axis=-1, keepdims=True)
    return y


def torch_softmax(x: Array, out: Array) -> Call | None:
    try:
        import torch
    except ModuleNotFoundError:
        return None
    data, result = torch.from_numpy(x), torch.from_numpy(out)

    def call() -> object:
        with torch.inference_mode():
            return torch.softmax(data, dim=-1, out=result)

    return call


def onnx_softmax(x: Array, threads: int) -> Call | None:
    try:
        from onnx import TensorProto, helper
    except ModuleNotFoundError:
        return None
    described = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name in ("x", "y")
    ]
    node = helper.make_node("Softmax", ["x"], ["y"])
    graph = helper.make_graph([node], "softmax", described[:1], described[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    session = onnx_session(model.SerializeToString(), threads)
    return lambda: session.run(None, {"x": x})


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
                "ONNX Runtime": onnx_softmax(x, bench.threads),
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
