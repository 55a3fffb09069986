"""Operators that ONNX Runtime computes: those of ONNX, and attention by its own."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.figures import Array, Call

OWN = "com.microsoft"  # the domain of its own operators


def onnx_call(
    operator: str,
    inputs: Mapping[str, Array],
    threads: int,
    *,
    out: Array | None = None,
    kept: Mapping[str, Array] | None = None,
    domain: str = "",
    **attributes: Any,
) -> Call:
    """Return a call of one operator that writes its result into `out`, others into `kept`."""
    import onnxruntime
    from onnx import helper

    def described(name: str, like: Array, shape: tuple[int, ...] | None) -> Any:
        return helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(like.dtype), shape
        )

    kept = kept or {}
    values = [described(name, array, array.shape) for name, array in inputs.items()]
    result = described("result", next(iter(inputs.values())), None)
    results = [result, *(described(name, array, array.shape) for name, array in kept.items())]
    node = helper.make_node(operator, [*inputs], ["result", *kept], domain=domain, **attributes)
    graph = helper.make_graph([node], operator, values, results)
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid(OWN, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=11)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    if out is None:
        return lambda: session.run(None, dict(inputs))
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    for name, array in {"result": out, **kept}.items():
        binding.bind_output(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)

    def call() -> Array:
        session.run_with_iobinding(binding)
        return out

    return call


def attention(query: Array, key: Array, value: Array, causal: bool, *, threads: int) -> Call | None:
    """ONNX's operator."""
    if not find_spec("onnxruntime"):
        return None
    inputs = {"query": query[None], "key": key[None], "value": value[None]}
    return onnx_call("Attention", inputs, threads, is_causal=int(causal))


def rows(array: Array) -> Array:
    """Return heads of positions as positions, each of which holds all heads."""
    return array.swapaxes(0, 1).reshape(1, array.shape[1], -1)


def of_rows(
    operator: str, query: Array, key: Array, value: Array, threads: int, **given: Any
) -> Call:
    """Return a call of an operator whose inputs and result are positions that hold all heads."""
    inputs = {"query": rows(query), "key": rows(key), "value": rows(value)}
    result = np.empty((query.shape[1], len(query), value.shape[-1]), query.dtype)
    call = onnx_call(operator, inputs, threads, out=result.reshape(1, len(result), -1), **given)

    def attend() -> Array:
        call()
        return result

    return attend


def attention_of_rows(
    query: Array, key: Array, value: Array, causal: bool, *, threads: int
) -> Call | None:
    """ONNX's operator, of positions that hold all heads."""
    if not find_spec("onnxruntime"):
        return None
    heads = {"q_num_heads": len(query), "kv_num_heads": len(key)}
    return of_rows("Attention", query, key, value, threads, is_causal=int(causal), **heads)


def own_attention_of_rows(
    query: Array, key: Array, value: Array, causal: bool, *, threads: int
) -> Call | None:
    """Its own operator, where heads share no keys."""
    if not find_spec("onnxruntime") or len(query) != len(key) or causal:
        return None
    own = {"domain": OWN, "num_heads": len(query)}
    return of_rows("MultiHeadAttention", query, key, value, threads, **own)


def own_attention(
    query: Array, key: Array, value: Array, causal: bool, *, threads: int
) -> Call | None:
    """Its own operators, where they take these inputs: queries of the last keys, over a cache, or
    heads that share no keys, to all of them."""
    (heads, queries, dim), (key_heads, keys, _) = query.shape, key.shape
    takes_cache = (causal or queries == 1) and dim % 8 == 0
    if not takes_cache:
        return own_attention_of_rows(query, key, value, causal, threads=threads)
    if not find_spec("onnxruntime"):
        return None
    result = np.empty((queries, heads, dim), query.dtype)
    before = keys - queries  # new keys and values are written into the cache
    caches = [key[None].copy(), value[None].copy()]
    call = onnx_call(
        "GroupQueryAttention",
        {
            "query": rows(query),
            "key": rows(key[:, before:]),
            "value": rows(value[:, before:]),
            "past_key": caches[0],
            "past_value": caches[1],
            "last": np.array([keys - 1], np.int32),
            "keys": np.array(keys, np.int32),
        },
        threads,
        out=result.reshape(1, queries, heads * dim),
        kept={"present_key": caches[0], "present_value": caches[1]},
        domain=OWN,
        num_heads=heads,
        kv_num_heads=key_heads,
    )

    def attend() -> Array:
        call()
        return result

    return attend
