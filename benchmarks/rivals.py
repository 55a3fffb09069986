"""The formula of attention, and how other libraries compute it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import onnx
from benchmarks.figures import Array, Call
from benchmarks.pytorch import find_torch, tensor

Attend = Callable[[Array, Array, Array, bool], Call | None]


class Rival(NamedTuple):
    """Turns query, key, value and whether it is causal into a call, if it can; reads its result."""

    attend: Attend
    heads_first: Callable[[Any], Array]


def exact(
    query: Array,
    key: Array,
    value: Array,
    *,
    bias: Array | float = 0.0,
    softcap: float | None = None,
    sink: float = -np.inf,
) -> Array:
    """Return softmax(query key / sqrt(dim) + bias) value in float64."""
    query, key, value = (array.astype(np.float64) for array in (query, key, value))
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    scores = scores + bias
    largest = np.maximum(scores.max(axis=-1, keepdims=True), sink)
    weights = np.exp(scores - largest)
    total = weights.sum(axis=-1, keepdims=True) + np.exp(sink - largest)
    return np.asarray(weights @ value / total)


def grouped(query: Array, key: Array) -> Array:
    """Return queries with those of all heads that share a key head as rows of one."""
    return query.reshape(len(key), -1, query.shape[-1])


def composed(query: Array, key: Array, value: Array, causal: bool) -> Call:
    """NumPy's formula."""
    scale = np.asarray(1 / np.sqrt(query.shape[-1]), query.dtype)
    rows = query if causal else grouped(query, key)
    hidden = np.full((query.shape[-2], key.shape[-2]) if causal else (0, 0), -np.inf, query.dtype)
    mask = np.triu(hidden, 1)

    def call() -> Array:
        scores = rows @ key.swapaxes(-1, -2)
        scores *= scale
        if causal:
            scores += mask
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return np.asarray(scores @ value)

    return call


def torch_rival() -> Rival | None:
    torch = find_torch()
    if torch is None:
        return None

    def attend(query: Array, key: Array, value: Array, causal: bool) -> Call:
        tensors = [tensor(array)[None] for array in (query, key, value)]
        attention = torch.nn.functional.scaled_dot_product_attention
        return partial(attention, *tensors, is_causal=causal, enable_gqa=len(key) < len(query))

    def heads_first(result: Any) -> Array:
        return np.asarray(result.float() if result.dtype == torch.bfloat16 else result)

    return Rival(attend, heads_first)


def jax_rival() -> Rival | None:
    try:
        import jax
    except ModuleNotFoundError:
        return None

    def attend(query: Array, key: Array, value: Array, causal: bool) -> Call:
        arrays = [jax.numpy.asarray(a.swapaxes(0, 1)[None]) for a in (query, key, value)]
        attention = jax.jit(partial(jax.nn.dot_product_attention, is_causal=causal))
        return lambda: attention(*arrays).block_until_ready()

    return Rival(attend, lambda result: np.asarray(result)[0].swapaxes(0, 1))


def rivals(threads: int, *, dtype: str = "float32") -> Mapping[str, Rival]:
    """Return those that are installed and take this dtype."""
    found: dict[str, Rival | None] = {}
    if dtype in ("float32", "float64"):  # half types take NumPy many times as long
        found["NumPy"] = Rival(composed, np.asarray)
    found["PyTorch"] = torch_rival()
    if dtype == "float32":
        found["ONNX Runtime"] = Rival(partial(onnx.attention, threads=threads), np.asarray)
        own = partial(onnx.own_attention, threads=threads)
        found["ONNX Runtime's own"] = Rival(own, lambda result: result.swapaxes(0, 1))
    if dtype in ("float32", "bfloat16"):  # JAX multiplies no float16 here
        found["JAX"] = jax_rival()
    return {name: rival for name, rival in found.items() if rival}


def rivals_in_rows(threads: int) -> Mapping[str, Rival]:
    """Return them for rows of all heads, which operators of ONNX Runtime read as they lie."""
    found = dict(rivals(threads))
    operators = {
        "ONNX Runtime": onnx.attention_of_rows,
        "ONNX Runtime's own": onnx.own_attention_of_rows,
    }
    for name, attend in operators.items():
        found[name] = Rival(partial(attend, threads=threads), lambda result: result.swapaxes(0, 1))
    return found
