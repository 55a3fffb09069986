"""Positional encodings and attention for NumPy."""

from importlib import import_module
from types import ModuleType

from ropewalk import frequencies
from ropewalk._config import rotary_from_config
from ropewalk._core import version as __version__
from ropewalk._encodings import grid_positions, shift_matrix, sinusoidal_encoding
from ropewalk._rotary import (
    convert_pairing,
    phases,
    quarter_turn,
    rerotate,
    rotary_tables,
    rotate,
    rotate_by,
    rotation_blocks,
    rotation_matrix,
)
from ropewalk._runtime import get_num_threads, num_threads, set_num_threads, show_config

__all__ = [
    "__version__",
    "articles",
    "convert_pairing",
    "frequencies",
    "get_num_threads",
    "grid_positions",
    "num_threads",
    "phases",
    "plot",
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
    "sinusoidal_encoding",
]


def __getattr__(name: str) -> ModuleType:
    if name in {"articles", "plot"}:  # loaded when first asked for: they need more than NumPy
        return import_module(f"ropewalk.{name}")
    msg = f"module 'ropewalk' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return __all__
