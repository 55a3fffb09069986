"""Positional encodings and attention for NumPy."""

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from ropewalk import frequencies
from ropewalk._attention import (
    AttentionStages,
    attention,
    attention_stages,
    attention_weights,
    attention_with_lse,
)
from ropewalk._config import rotary_from_config
from ropewalk._core import version as __version__
from ropewalk._embedding import embed, similarity
from ropewalk._encodings import (
    binary_encoding,
    grid_positions,
    integer_encoding,
    position_kernel,
    shift_matrix,
    sinusoidal_encoding,
)
from ropewalk._merging import merge_attention
from ropewalk._multi_head import (
    merge_heads,
    multi_head_attention,
    multi_head_attention_weights,
    split_heads,
)
from ropewalk._pairing import convert_pairing, quarter_turn
from ropewalk._rotary import rerotate, rotary_tables, rotate, rotate_by
from ropewalk._rotation_matrix import phases, rotation_blocks, rotation_matrix
from ropewalk._runtime import get_num_threads, num_threads, set_num_threads, show_config
from ropewalk._softmax import logsumexp, softmax

__all__ = [
    "AttentionStages",
    "__version__",
    "articles",
    "attention",
    "attention_stages",
    "attention_weights",
    "attention_with_lse",
    "bias",
    "binary_encoding",
    "convert_pairing",
    "embed",
    "frequencies",
    "geometry",
    "get_num_threads",
    "grid_positions",
    "integer_encoding",
    "logsumexp",
    "merge_attention",
    "merge_heads",
    "multi_head_attention",
    "multi_head_attention_weights",
    "num_threads",
    "phases",
    "position_kernel",
    "properties",
    "quarter_turn",
    "rerotate",
    "rotary_from_config",
    "rotary_tables",
    "rotate",
    "rotate_by",
    "rotation_blocks",
    "rotation_matrix",
    "set_num_threads",
    "shift_matrix",
    "show_config",
    "similarity",
    "sinusoidal_encoding",
    "softmax",
    "split_heads",
]


# Modules of the extras, and what each needs.
_NEEDED = {"dask": "dask", "explorer": "anywidget", "plot": "matplotlib"}


if TYPE_CHECKING:  # a checker that knew of __getattr__ would let every name pass
    from ropewalk import articles, bias, dask, explorer, geometry, plot, properties  # noqa: F401
else:

    def __getattr__(name):
        if name in {"articles", "bias", "geometry", "properties", *_NEEDED}:
            # Loaded when first asked for.
            return import_module(f"ropewalk.{name}")
        msg = f"module 'ropewalk' has no attribute {name!r}"
        raise AttributeError(msg)


def __dir__() -> list[str]:
    from importlib.util import find_spec  # noqa: PLC0415 - half a millisecond of the import

    found = []
    for name, needed in _NEEDED.items():
        with suppress(ValueError):  # of a stand-in for a module
            found += [name] if find_spec(needed) else []
    return sorted([*__all__, *found])
