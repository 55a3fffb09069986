"""All parts of the benchmark, and a run of some of them on so many threads."""

from collections.abc import Sequence
from typing import Any

import ropewalk as rw
from benchmarks import attention, calls, decode, merging, models, rotary, softmax, table
from benchmarks.figures import as_table, records
from benchmarks.measure import Bench, Sizes, header

PARTS = {
    "table": table.table,
    "fresh-table": table.fresh,
    "rotary": rotary.rotary,
    "partial-rotary": rotary.of_a_part,
    "view-rotary": rotary.of_a_view,
    "in-place-rotary": rotary.in_place,
    "fresh-rotary": rotary.fresh_rotation,
    "prefill": attention.prefill,
    "causal": attention.causal,
    "float64": attention.float64,
    "bfloat16": attention.bfloat16,
    "bfloat16x3": attention.three_products,
    "options": attention.options,
    "layout": attention.layout,
    "features-first": attention.features_first,
    "numbers": attention.numbers,
    "models": models.models,
    "decode": decode.decode,
    "grouped": decode.grouped_heads,
    "view-caches": decode.view_caches,
    "half-caches": decode.half_caches,
    "short-heads": decode.short_heads,
    "merging": merging.merging,
    "softmax": softmax.softmax,
    "other-softmax": softmax.others,
    "small": calls.small,
    "import": calls.imports,
    "neighbour": calls.neighbour,
    "between": calls.between,
}


def measured(threads: int, parts: Sequence[str], sizes: Sizes) -> list[dict[str, Any]]:
    """Measure and print parts, and return their records."""
    rw.set_num_threads(threads)
    bench = Bench(threads, sizes)
    header(f"\n{threads} {'thread' if threads == 1 else 'threads'}")
    print(bench.limits_alone(), flush=True)
    found = []
    for part in parts:
        print(f"\n{part}: {PARTS[part].__doc__}", flush=True)
        figures = list(PARTS[part](bench))
        print(as_table(figures), flush=True)
        found += records(part, threads, figures)
    return found
