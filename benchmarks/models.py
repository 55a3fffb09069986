"""Attention as some published models do it."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import ropewalk as rw
from benchmarks.attention import check_rows, contenders
from benchmarks.decode import checked
from benchmarks.figures import Figure
from benchmarks.measure import Bench, rows
from benchmarks.rivals import rivals


class Shape(NamedTuple):
    """What one layer does for one input."""

    heads: int
    key_heads: int
    queries: int
    keys: int
    dim: int
    causal: bool = False


SHAPES = {
    "BERT base, 128 words": Shape(12, 12, 128, 128, 64),
    "GPT-2, 1024 words": Shape(12, 12, 1024, 1024, 64, causal=True),
    "ViT-B/16, an image": Shape(12, 12, 197, 197, 64),
    "SigLIP So400m, an image": Shape(16, 16, 729, 729, 72),
    "Swin-T, 64 windows": Shape(3 * 64, 3 * 64, 49, 49, 32),
    "Stable Diffusion 1.5, an image to words": Shape(8, 8, 4096, 77, 40),
    "Whisper small, a word to 30 s": Shape(12, 12, 1, 1500, 64),
    "Falcon 7B, a word to 2048": Shape(71, 1, 1, 2048, 64),
    "Llama 3 8B, a word to 4096": Shape(32, 8, 1, 4096, 128),
    "Llama 3 8B, five words to 4096": Shape(32, 8, 5, 4096, 128),
}


def models(bench: Bench) -> Iterator[Figure]:
    """Heads, lengths and widths of some models, float32."""
    found = rivals(bench.threads)
    for name in bench.of(list(SHAPES), ["ViT-B/16, an image", "Falcon 7B, a word to 2048"]):
        shape = SHAPES[name]
        query = rows(shape.heads, shape.queries, shape.dim)
        key, value = rows(2, shape.key_heads, shape.keys, shape.dim, seed=1)
        arrays = [query, key, value]
        ours = partial(rw.attention, *(x[None] for x in arrays), causal=shape.causal)
        verify = partial(check_rows, arrays, causal=True) if shape.causal else checked(arrays)
        verify(ours()[0])
        yield bench.figure(
            {"model": name}, ours, rivals=contenders(found, arrays, verify, causal=shape.causal)
        )
