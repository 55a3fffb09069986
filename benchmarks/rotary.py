"""Rotation of queries and keys against copying them, and against other libraries.

Run alone: python -m benchmarks.rotary [--quick]
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ropewalk as rw
from benchmarks.measure import Call, Limits, header, interleaved
from ropewalk._arrays import Pairing

Array = NDArray[Any]

DIM = 128
SIZES = [0.25, 0.5, 1, 2, 8, 32, 128, 512]  # MiB
PAIRINGS: list[Pairing] = ["half", "interleaved"]


def queries(mebibytes: float, heads: int, dtype: str = "float32") -> Array:
    """Return (heads, length, DIM) random features that fill so much memory."""
    size = rw.rotary_tables(0, 2, dtype=dtype)[0].dtype.itemsize
    length = int(mebibytes * 2**20) // (heads * DIM * size)
    values = np.random.default_rng(1).standard_normal((heads, length, DIM), np.float32)
    return values.astype(rw.rotary_tables(0, 2, dtype=dtype)[0].dtype)


def tables(length: int) -> tuple[Array, Array]:
    return rw.rotary_tables(range(length), DIM, dtype=np.float32)


def check(x: Array, turned: Array, pairing: Pairing) -> None:
    """Compare some rows with the formula in float64."""
    for row in np.linspace(0, x.shape[1] - 1, 7, dtype=int):
        exact = rw.rotate(x[:, row].astype(np.float64), int(row), pairing=pairing)
        unit = 2.0**-8 if x.dtype.name == "bfloat16" else np.finfo(x.dtype).eps
        length = np.abs(exact).max()
        assert np.abs(turned[:, row] - exact).max() <= 4 * unit * length, "wrong values were timed"


def out_of_place(limits: Limits, quick: bool) -> None:
    print("out= given, 8 heads, tables made on the fly: fraction of the best copy")
    for size in SIZES[:4] if quick else SIZES:
        heads_first = queries(size, 8)
        heads_inside = np.ascontiguousarray(heads_first.transpose(1, 0, 2))
        positions = np.arange(len(heads_inside))[:, None]
        layouts: list[tuple[str, Array, Array | None]] = [
            ("(heads, length, dim)", heads_first, None),
            ("(length, heads, dim)", heads_inside, positions),
        ]
        for layout, x, where in layouts:  # one by one: together they would share the cache
            out = np.zeros_like(x)
            for threads in (1, 2):
                with rw.num_threads(threads):
                    calls: dict[str, Call] = {"memcpy": limits.copy(x, out, threads)}
                    if size >= 32:
                        calls["past the cache"] = limits.stream_copy(x, out, threads)
                    for pairing in PAIRINGS:
                        calls[pairing] = partial(rw.rotate, x, where, pairing=pairing, out=out)
                    times = interleaved(calls)
                    for pairing in PAIRINGS:
                        rw.rotate(x, where, pairing=pairing, out=out)
                        turned = out if where is None else out.transpose(1, 0, 2)
                        check(heads_first, turned, pairing)
                best = min(times.pop("memcpy"), times.pop("past the cache", np.inf))
                listed = ", ".join(f"{name} {best / t:.2f}" for name, t in times.items())
                print(
                    f"  {size:>5g} MiB, {layout}, {threads} threads: "
                    f"copy {x.nbytes / best / 1e9:.1f} GB/s; {listed}"
                )


def in_place(limits: Limits, quick: bool) -> None:
    print("\nin place, 8 heads: times memcpy")
    for dtype in ("float32", "bfloat16", "float16"):
        for size in SIZES[:4] if quick else SIZES[:-1]:
            x = queries(size, 8, dtype)
            other = np.zeros_like(x)
            for threads in (1, 2):
                with rw.num_threads(threads):
                    calls: dict[str, Call] = {"memcpy": limits.copy(x, other, threads)}
                    for pairing in PAIRINGS:
                        calls[pairing] = partial(rw.rotate, x, pairing=pairing, out=x)
                    times = interleaved(calls)
                memcpy = times.pop("memcpy")
                listed = ", ".join(f"{name} {memcpy / t:.2f}" for name, t in times.items())
                print(f"  {dtype:8} {size:>5g} MiB, {threads} threads: {listed}")


def on_the_fly(quick: bool) -> None:
    print("\ntables made on the fly against tables given, out= given, half, 1 thread")
    for heads, size in [(8, 2)] if quick else [(8, 2), (8, 32), (32, 8)]:
        x = queries(size, heads)
        out = np.zeros_like(x)
        cosines, sines = tables(x.shape[1])
        with rw.num_threads(1):
            times = interleaved(
                {
                    "fly": partial(rw.rotate, x, pairing="half", out=out),
                    "given": partial(rw.rotate_by, x, cosines, sines, pairing="half", out=out),
                }
            )
        print(f"  {heads} heads, {size} MiB: {times['fly'] / times['given']:.2f} times as long")


def numpy_rotation(x: Array, cosines: Array, sines: Array) -> Array:
    """Write the usual formula with halves, tables given."""
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cosines - b * sines, b * cosines + a * sines], axis=-1)


def torch_rotation(x: Array, cosines: Array, sines: Array) -> Call | None:
    try:
        import torch
    except ModuleNotFoundError:
        return None
    torch.set_num_threads(1)
    data = torch.from_numpy(x)
    c = torch.from_numpy(np.concatenate([cosines, cosines], axis=-1))
    s = torch.from_numpy(np.concatenate([sines, sines], axis=-1))
    half = x.shape[-1] // 2

    def call() -> object:
        turned = torch.cat((-data[..., half:], data[..., :half]), dim=-1)
        return data * c + turned * s

    return call


def onnx_rotation(x: Array, cosines: Array, sines: Array) -> Call | None:
    try:
        import onnxruntime
        from onnx import TensorProto, helper
    except ModuleNotFoundError:
        return None
    inputs = ["x", "cosines", "sines", "positions"]
    node = helper.make_node("RotaryEmbedding", inputs, ["y"])
    kinds = [TensorProto.FLOAT] * 3 + [TensorProto.INT64]
    batch = x[None]
    values = [batch, cosines, sines, np.arange(x.shape[1])[None]]
    described = [
        helper.make_tensor_value_info(name, kind, value.shape)
        for name, kind, value in zip(inputs, kinds, values, strict=True)
    ]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, batch.shape)
    graph = helper.make_graph([node], "rotation", described, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    feed = dict(zip(inputs, values, strict=True))
    return lambda: session.run(None, feed)


def against_others(quick: bool) -> None:
    print("\nfresh results, half, 8 heads, 1 thread, tables given to the others: times as fast")
    rivals: dict[str, Callable[[Array, Array, Array], Call | None]] = {
        "PyTorch": torch_rotation,
        "ONNX Runtime": onnx_rotation,
    }
    for size in [0.25, 2] if quick else [0.0625, 0.25, 2, 8, 32, 128]:
        x = queries(size, 8)
        cosines, sines = tables(x.shape[1])
        calls: dict[str, Call] = {
            "ours": partial(rw.rotate, x, pairing="half"),
            "NumPy": partial(numpy_rotation, x, cosines, sines),
        }
        for name, make in rivals.items():
            call = make(x, cosines, sines)
            if call is not None:
                calls[name] = call
        with rw.num_threads(1):
            times = interleaved(calls, repetitions=9)
        ours = times.pop("ours")
        listed = ", ".join(f"{name} {t / ours:.1f}" for name, t in times.items())
        print(f"  {size:>6g} MiB in {ours * 1e6:.0f} us: {listed}")


def small_calls() -> None:
    print("\nsmall calls, microseconds")
    x = queries(32 * DIM * 4 / 2**20, 32)[:, 0]
    out = np.zeros_like(x)
    llama = rw.frequencies.llama3(DIM, factor=8.0, trained_length=8192)
    times = interleaved(
        {
            "one decode step, 32 x 128": partial(rw.rotate, x, 4096),
            "in place": partial(rw.rotate, out, 4096, out=out),
            "frequencies given": partial(rw.rotate, x, 4096, frequencies=llama, pairing="half"),
        }
    )
    for name, seconds in times.items():
        print(f"  {name}: {seconds * 1e6:.2f}")


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    header("Rotary position embedding")
    limits = Limits()
    out_of_place(limits, quick)
    in_place(limits, quick)
    on_the_fly(quick)
    against_others(quick)
    small_calls()


if __name__ == "__main__":
    main()
