"""Attention and softmax against the processor's limits, and against other libraries.

Run alone: python -m benchmarks.attention [--quick]
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ropewalk as rw
from benchmarks.measure import Call, Limits, header, interleaved

Array = NDArray[Any]
# Query, key and value to a call that attends, fully or causally.
Rival = Callable[[Array, Array, Array, bool], Callable[[], Any]]


def rows(*shape: int, seed: int = 0, dtype: str = "float32") -> Array:
    return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(dtype)


def operations(query: Array, key: Array, value: Array, causal: bool) -> float:
    """Count the useful ones: two for each product, and half of the products where causal."""
    pairs = query[..., 0].size * key.shape[-2]
    return float(2 * pairs * (query.shape[-1] + value.shape[-1]) / (2 if causal else 1))


def composed(query: Array, key: Array, value: Array, causal: bool) -> Callable[[], Any]:
    """NumPy's formula."""
    scale = np.asarray(1 / np.sqrt(query.shape[-1]), query.dtype)
    length = query.shape[-2], key.shape[-2]
    hidden = ~np.tri(*length, length[1] - length[0], dtype=bool)

    def call() -> Array:
        scores = query @ key.swapaxes(-1, -2)
        scores *= scale
        if causal:
            scores[..., hidden] = -np.inf
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return np.asarray(scores @ value)

    return call


def torch_rival() -> Rival | None:
    try:
        import torch
    except ModuleNotFoundError:
        return None

    def rival(query: Array, key: Array, value: Array, causal: bool) -> Call:
        tensors = [torch.from_numpy(array)[None] for array in (query, key, value)]
        attention = torch.nn.functional.scaled_dot_product_attention

        def call() -> object:
            torch.set_num_threads(rw.get_num_threads())
            with torch.inference_mode():
                return attention(*tensors, is_causal=causal)

        return call

    return rival


def onnx_rival() -> Rival | None:
    try:
        import onnx
        import onnxruntime
    except ModuleNotFoundError:
        return None
    helper = onnx.helper

    def rival(query: Array, key: Array, value: Array, causal: bool) -> Call:
        names = ["query", "key", "value"]
        node = helper.make_node("Attention", names, ["output"], is_causal=int(causal))
        kind = onnx.TensorProto.FLOAT
        values = [helper.make_tensor_value_info(name, kind, [None] * 4) for name in names]
        result = helper.make_tensor_value_info("output", kind, [None] * 4)
        graph = helper.make_graph([node], "attention", values, [result])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = rw.get_num_threads()
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        feed = {n: a[None] for n, a in zip(names, (query, key, value), strict=True)}
        return lambda: session.run(None, feed)

    return rival


def jax_rival() -> Rival | None:
    try:
        import jax
    except ModuleNotFoundError:
        return None

    def rival(query: Array, key: Array, value: Array, causal: bool) -> Call:
        arrays = [jax.numpy.asarray(a.swapaxes(0, 1)[None]) for a in (query, key, value)]
        attend = jax.jit(partial(jax.nn.dot_product_attention, is_causal=causal))
        return lambda: attend(*arrays).block_until_ready()

    return rival


def rivals() -> dict[str, Rival]:
    found = {"PyTorch": torch_rival(), "ONNX Runtime": onnx_rival(), "JAX": jax_rival()}
    return {"NumPy": composed} | {name: rival for name, rival in found.items() if rival}


def check(result: Array, query: Array, key: Array, value: Array, causal: bool) -> None:
    """Compare some rows with the formula in float64."""
    wide = [array.astype(np.float64) for array in (query, key, value)]
    for row in np.linspace(0, query.shape[-2] - 1, 5, dtype=int):
        seen = slice(0, row + 1 if causal else None)
        exact = composed(wide[0][:, [row]], wide[1][:, seen], wide[2][:, seen], False)()
        found = result[:, [row]].astype(np.float64)
        assert np.abs(found - exact).max() <= 4e-6, "wrong values were timed"


def ratios(times: Mapping[str, float], ours: str = "ropewalk") -> str:
    return ", ".join(f"{name} {t / times[ours]:.2f}" for name, t in times.items() if name != ours)


def prefill(limits: Limits, quick: bool) -> None:
    print("prefill, fraction of the FMA peak (useful operations) and times of rivals over ours")
    found = rivals()
    lengths = [16, 64, 512] if quick else [16, 64, 128, 512, 1024, 2048, 4096]
    for dim in (64, 128):
        for length in lengths:
            heads = 8 if length <= 128 else 1
            query, key, value = (rows(heads, length, dim, seed=i) for i in range(3))
            for causal in (False, True):
                for threads in (1, 2) if length >= 512 else (1,):
                    with rw.num_threads(threads):
                        peak, done = limits.multiply_add(threads)
                        ours = partial(rw.attention, query, key, value, causal=causal)
                        check(ours(), query, key, value, causal)
                        calls: dict[str, Call] = {"peak": peak, "ropewalk": ours}
                        if threads == 1:
                            for name, rival in found.items():
                                calls[name] = rival(query, key, value, causal)
                        times = interleaved(calls, repetitions=7)
                    rate = operations(query, key, value, causal) / times["ropewalk"]
                    fraction = rate / (done / times.pop("peak"))
                    print(
                        f"  d={dim} S={length:<5} {'causal' if causal else 'full  '} {threads} "
                        f"threads: {fraction:.2f}, {rate / 1e9:.0f} GFLOP/s; {ratios(times)}"
                    )


def float64_prefill(limits: Limits, quick: bool) -> None:
    print("\nfloat64 prefill, 1 thread: fraction of half the float32 peak; NumPy over ours")
    for dim in (64, 128):
        for length in (512,) if quick else (1024, 2048):
            query, key, value = (rows(1, length, dim, seed=i, dtype="float64") for i in range(3))
            with rw.num_threads(1):
                peak, done = limits.multiply_add(1)
                calls: dict[str, Call] = {
                    "peak": peak,
                    "ropewalk": partial(rw.attention, query, key, value),
                    "NumPy": composed(query, key, value, False),
                }
                times = interleaved(calls, repetitions=7)
            rate = operations(query, key, value, False) / times["ropewalk"]
            fraction = rate / (done / times.pop("peak") / 2)
            print(f"  d={dim} S={length}: {fraction:.2f}; {ratios(times)}")


def options(quick: bool) -> None:
    length = 512 if quick else 2048
    print(f"\noptions, 1 thread, S={length}: time over the plain call")
    rng = np.random.default_rng(3)
    for dim in (64, 128):
        query, key, value = (rows(1, length, dim, seed=i) for i in range(3))
        given: dict[str, dict[str, Any]] = {
            "plain": {},
            "mask": {"mask": rng.random((length, length)) < 0.5},
            "bias": {"bias": rows(length, length, seed=4)},
            "slopes": {"slopes": 0.01},
            "softcap": {"softcap": 20.0},
            "window of 256": {"window": (255, 0)},
            "causal": {"causal": True},
            "strided": {},
        }
        with rw.num_threads(1):
            calls: dict[str, Call] = {
                name: partial(rw.attention, query, key, value, **option)
                for name, option in given.items()
            }
            inside = [np.repeat(array.swapaxes(0, 1), 8, 1) for array in (query, key, value)]
            views = [array[:, :1].swapaxes(0, 1) for array in inside]
            calls["strided"] = partial(rw.attention, *views)
            times = interleaved(calls, repetitions=7)
        plain = times.pop("plain")
        listed = ", ".join(f"{name} {t / plain:.2f}" for name, t in times.items())
        print(f"  d={dim}: {listed}")


def decode(limits: Limits, quick: bool) -> None:
    print("\ndecode, 8 heads of 128, one query: fraction of reading all; rivals over ours")
    found = rivals()
    for keys in (512, 4096) if quick else (64, 512, 4096, 32768):
        query = rows(8, 1, 128)
        key, value = rows(8, keys, 128, seed=1), rows(8, keys, 128, seed=2)
        both = np.stack([key, value])
        for threads in (1, 2):
            with rw.num_threads(threads):
                calls: dict[str, Call] = {
                    "read": limits.read(both, threads),
                    "ropewalk": partial(rw.attention, query, both[0], both[1]),
                }
                if threads == 1:
                    for name, rival in found.items():
                        calls[name] = rival(query, both[0], both[1], False)
                times = interleaved(calls, repetitions=9)
            fraction = times.pop("read") / times["ropewalk"]
            size = both.nbytes / 2**20
            print(f"  {size:>5g} MiB, {threads} threads: {fraction:.2f}; {ratios(times)}")


def row_softmax(limits: Limits, quick: bool) -> None:
    print("\nsoftmax of rows, 1 thread: fraction of memcpy; NumPy over ours")

    def formula(x: Array) -> Array:
        y: Array = x - x.max(axis=-1, keepdims=True)
        np.exp(y, out=y)
        y /= y.sum(axis=-1, keepdims=True)
        return y

    for size in (0.25, 4) if quick else (0.25, 4, 64):
        for length in (64, 1024, 16384):
            x = rows(int(size * 2**20) // 4 // length, length)
            out = np.zeros_like(x)
            with rw.num_threads(1):
                calls: dict[str, Call] = {
                    "memcpy": limits.copy(x, out, 1),
                    "ropewalk": partial(rw.softmax, x, out=out),
                    "NumPy": partial(formula, x),
                }
                times = interleaved(calls, repetitions=7)
            fraction = times.pop("memcpy") / times["ropewalk"]
            print(f"  {size:g} MiB, rows of {length}: {fraction:.2f}; {ratios(times)}")


def small_calls() -> None:
    print("\nfour tokens of width 2: microseconds a call")
    found = rivals()
    query, key, value = (rows(1, 4, 2, seed=i) for i in range(3))
    with rw.num_threads(1):
        calls: dict[str, Call] = {"ropewalk": partial(rw.attention, query, key, value)}
        calls["ropewalk, causal"] = partial(rw.attention, query, key, value, causal=True)
        for name, rival in found.items():
            calls[name] = rival(query, key, value, False)
        times = interleaved(calls)
    print("  " + ", ".join(f"{name} {t * 1e6:.1f}" for name, t in times.items()))


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    header("attention")
    limits = Limits()
    prefill(limits, quick)
    float64_prefill(limits, quick)
    options(quick)
    decode(limits, quick)
    row_softmax(limits, quick)
    small_calls()


if __name__ == "__main__":
    main()
