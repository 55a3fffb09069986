"""Attention of many queries: long and short, causal, in float64, with options, hard numbers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import ropewalk as rw
from benchmarks.figures import Array, Call, Case, Figure
from benchmarks.measure import Bench, check, rows
from benchmarks.rivals import Rival, exact, rivals

TOLERANCE = 4e-6  # of float32 where numbers are N(0, 1)


def inputs(heads: int, tokens: int, dim: int, dtype: str = "float32") -> list[Array]:
    return [rows(heads, tokens, dim, seed=seed, dtype=dtype) for seed in range(3)]


def operations(arrays: Sequence[Array], *, causal: bool = False) -> float:
    """Count the useful ones: two for each product, and half of the products where causal."""
    query, key, value = arrays
    pairs = query[..., 0].size * key.shape[-2]
    return float(2 * pairs * (query.shape[-1] + value.shape[-1]) / (2 if causal else 1))


def check_rows(
    arrays: Sequence[Array],
    found: Array,
    *,
    causal: bool = False,
    bias: Array | float = 0.0,
    tolerance: float = TOLERANCE,
    **options: float,
) -> None:
    """Compare some rows with the formula in float64."""
    query, key, value = arrays
    for row in np.linspace(0, query.shape[-2] - 1, 5, dtype=int):
        seen = slice(0, row + 1 if causal else None)
        added = np.broadcast_to(bias, (query.shape[-2], key.shape[-2]))[[row], seen]
        expected = exact(query[:, [row]], key[:, seen], value[:, seen], bias=added, **options)
        check(found[:, [row]], expected, tolerance)


def contenders(
    found: Mapping[str, Rival],
    arrays: Sequence[Array],
    verify: Callable[[Array], None],
    *,
    causal: bool = False,
) -> dict[str, Call]:
    """Return the rivals' calls, each of which was seen to compute the same."""
    query, key, value = arrays
    made = {name: rival.attend(query, key, value, causal) for name, rival in found.items()}
    calls = {name: call for name, call in made.items() if call}
    for name, call in calls.items():
        verify(found[name].heads_first(call()).reshape(*query.shape[:-1], value.shape[-1]))
    return calls


def on_one_thread(call: Callable[[], Array]) -> Callable[[], Array]:
    def alone() -> Array:
        with rw.num_threads(1):
            return call()

    return alone


def compared(bench: Bench, *, causal: bool, dtype: str = "float32") -> Iterator[Figure]:
    found = rivals(bench.threads, dtype=dtype)
    every = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]
    if dtype == "float64":
        every = [512, 1024, 2048, 4096]
    for dim in bench.of([64, 128], [64, 128]):
        for tokens in bench.of(every, [16, 128, 512]):
            arrays = inputs(8 if tokens <= 128 else 1, tokens, dim, dtype)
            ours = partial(rw.attention, *arrays, causal=causal)
            verify = partial(check_rows, arrays, causal=causal)
            several = bench.threads > 1 and tokens >= 1024
            alone = on_one_thread(ours)
            verify(ours())
            verify(alone())
            yield bench.figure(
                {"dim": dim, "tokens": tokens, "heads": len(arrays[0])},
                ours,
                rivals=contenders(found, arrays, verify, causal=causal),
                ourselves={"one thread": alone} if several else {},
                limits=bench.limits.multiply_add(operations(arrays, causal=causal), dtype),
            )


def prefill(bench: Bench) -> Iterator[Figure]:
    """Attention of every query to every key, float32."""
    return compared(bench, causal=False)


def causal(bench: Bench) -> Iterator[Figure]:
    """Causal attention, float32; half of the operations are useful."""
    return compared(bench, causal=True)


def float64(bench: Bench) -> Iterator[Figure]:
    """Attention of every query to every key, float64."""
    return compared(bench, causal=False, dtype="float64")


def by_matrices(
    bench: Bench, precision: str, dtype: str, every: list[int], tolerance: float
) -> Iterator[Figure]:
    found = rivals(bench.threads, dtype=dtype)
    for dim in bench.of([64, 128], [64, 128]):
        for tokens in bench.of(every, [256]):
            arrays = inputs(8 if tokens <= 128 else 1, tokens, dim, dtype)
            for causal in (False, True):
                exactly = partial(rw.attention, *arrays, causal=causal)
                ours = partial(exactly, precision=precision)
                verify = partial(check_rows, arrays, causal=causal, tolerance=tolerance)
                verify(ours())
                verify(exactly())
                yield bench.figure(
                    {
                        "dim": dim,
                        "tokens": tokens,
                        "heads": len(arrays[0]),
                        "keys": "seen so far" if causal else "all",
                    },
                    ours,
                    rivals=contenders(found, arrays, verify, causal=causal),
                    ourselves={"float32 inside": exactly},
                )


def bfloat16(bench: Bench) -> Iterator[Figure]:
    """Attention of bfloat16 with precision="bfloat16", over that without."""
    every = [64, 128, 256, 512, 1024, 4096]
    return by_matrices(bench, "bfloat16", "bfloat16", every, 2**-5)


def three_products(bench: Bench) -> Iterator[Figure]:
    """Attention of float32 with precision="bfloat16x3", over that without."""
    every = [256, 512, 1024, 2048, 4096]
    return by_matrices(bench, "bfloat16x3", "float32", every, 2**-12)


def options(bench: Bench) -> Iterator[Figure]:
    """Masks, biases and other options, over the plain call."""
    for dim in bench.of([64, 128], [64, 128]):
        for tokens in bench.of([512, 2048], [512]):
            arrays = inputs(1, tokens, dim)
            distance = np.subtract.outer(np.arange(tokens), np.arange(tokens))
            seen = np.random.default_rng(3).random((tokens, tokens)) < 0.5
            near = (distance >= 0) & (distance < 256)
            bias = rows(tokens, tokens, seed=4)
            given: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # ours, and the formula's
                "mask": ({"mask": seen}, {"bias": np.where(seen, 0, -np.inf)}),
                "bias": ({"bias": bias}, {"bias": bias}),
                "slopes": ({"slopes": 0.01}, {"bias": -0.01 * np.abs(distance)}),
                "softcap": ({"softcap": 20.0}, {"softcap": 20.0}),
                "sinks": ({"sinks": 1.0}, {"sink": 1.0}),
                "window of 256": ({"window": (255, 0)}, {"bias": np.where(near, 0, -np.inf)}),
                "causal": ({"causal": True}, {"causal": True}),
            }
            plain = partial(rw.attention, *arrays)
            check_rows(arrays, plain())
            for name, (option, formula) in given.items():
                call = partial(rw.attention, *arrays, **option)
                check_rows(arrays, call(), **formula)
                case: Case = {"option": name, "dim": dim, "tokens": tokens}
                yield bench.figure(case, call, ourselves={"plain call": plain})


def layout(bench: Bench) -> Iterator[Figure]:
    """Heads inside of positions, as projections leave them, over heads outside."""
    for dim in bench.of([64, 128], [64, 128]):
        for tokens in bench.of([512, 2048], [512]):
            arrays = inputs(8, tokens, dim)
            inside = [np.ascontiguousarray(array.swapaxes(0, 1)) for array in arrays]
            call = partial(rw.attention, *(array.swapaxes(0, 1) for array in inside))
            contiguous = partial(rw.attention, *arrays)
            check_rows(arrays, call())
            check_rows(arrays, contiguous())
            case: Case = {"dim": dim, "tokens": tokens, "heads": 8}
            yield bench.figure(case, call, ourselves={"contiguous": contiguous})


def features_first(bench: Bench) -> Iterator[Figure]:
    """Features before positions, as convolutions leave them, 8 heads, float32."""
    found = rivals(bench.threads)
    of_views = {name: found[name] for name in ("NumPy", "PyTorch") if name in found}
    for dim in bench.of([40, 64, 128], [64]):
        for tokens in bench.of([256, 1024, 4096], [256]):
            arrays = inputs(8, tokens, dim)
            views = [array.swapaxes(1, 2).copy().swapaxes(1, 2) for array in arrays]
            ours, contiguous = partial(rw.attention, *views), partial(rw.attention, *arrays)
            verify = partial(check_rows, arrays)
            verify(ours())
            verify(contiguous())
            case: Case = {"dim": dim, "tokens": tokens, "heads": 8}
            beside = contenders(of_views, views, verify)
            yield bench.figure(case, ours, rivals=beside, ourselves={"contiguous": contiguous})


def hard(arrays: Sequence[Array]) -> dict[str, tuple[Sequence[Array], float]]:
    """Return inputs that slow some programs down, each with the tolerance of its results."""
    query, key, value = arrays
    dim = query.shape[-1]
    first, rest = np.zeros_like(query), np.zeros_like(key)
    first[..., 0] = np.sqrt(dim)
    rest[:, 1:, 0] = np.linspace(-102, -88, key.shape[-2] - 1)  # logits but for the first key
    return {
        # The error of a logit is that of a sum of products 50 times as large.
        "spread logits": ((query * 50, key, value), 50 * TOLERANCE),
        "one weight, by huge logits": ((query * np.float32(1e36), key, value), TOLERANCE),
        "weights below normal": ((first, rest, value), TOLERANCE),
        "huge values": ((query, key, value * np.float32(1e37)), 1e37 * TOLERANCE),
    }


def numbers(bench: Bench) -> Iterator[Figure]:
    """Hard numbers, over N(0, 1)."""
    for dim in bench.of([64, 128], [64, 128]):
        for tokens in bench.of([2048], [512]):
            arrays = inputs(1, tokens, dim)
            plain = partial(rw.attention, *arrays)
            check_rows(arrays, plain())
            for name, (given, tolerance) in hard(arrays).items():
                call = partial(rw.attention, *given)
                check_rows(given, call(), tolerance=tolerance)
                case: Case = {"numbers": name, "dim": dim, "tokens": tokens}
                yield bench.figure(case, call, ourselves={"N(0, 1)": plain})
