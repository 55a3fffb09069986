"""Positional encodings and attention for NumPy."""

from importlib import import_module
from types import ModuleType

from ropewalk import frequencies
from ropewalk._core import version as __version__
from ropewalk._encodings import shift_matrix, sinusoidal_encoding
from ropewalk._runtime import get_num_threads, num_threads, set_num_threads, show_config

__all__ = [
    "__version__",
    "articles",
    "frequencies",
    "get_num_threads",
    "num_threads",
    "plot",
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
