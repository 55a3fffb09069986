"""How the library runs here: threads, instruction set, versions.

The number of threads is the one piece of state. It changes how long a call takes and never what it
returns.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

from ropewalk import _core, _options
from ropewalk._options import Integer

EXTRAS = ("anywidget", "dask", "matplotlib", "ml_dtypes")
MOST_THREADS = 1024

# The threads of a block of code, and the block around it.
_Block = tuple[int, "_Block | None"]
_Function = TypeVar("_Function", bound=Callable[..., Any])

# Set for the process, for a block of code, and found when nothing was set.
_process_threads: int | None = None
_blocks: ContextVar[_Block | None] = ContextVar("ropewalk_num_threads", default=None)
_available_threads: int | None = None


def _from_environment() -> int | None:
    text = os.environ.get("ROPEWALK_NUM_THREADS", "")
    if not text:
        return None
    few_digits = len(text) <= len(str(MOST_THREADS)) and text.isascii() and text.isdecimal()
    if not (few_digits and 0 < int(text) <= MOST_THREADS):
        msg = f"ROPEWALK_NUM_THREADS must be an integer from 1 to {MOST_THREADS}, got {text!r}"
        raise ImportError(msg)
    return int(text)


_process_threads = _from_environment()


def set_num_threads(n: Integer, /) -> None:
    """Set how many threads later calls of this process may use.

    Parameters
    ----------
    n : int
        From 1 to 1024. More than the processor has is allowed and seldom helps.

    Raises
    ------
    ValueError
        If `n` is out of that range.
    TypeError
        If `n` is not an integer.

    See Also
    --------
    num_threads : The same for a block of code.

    Notes
    -----
    Before the first call the number comes from the environment variable ``ROPEWALK_NUM_THREADS``,
    or else from the processors that this process may use (affinity and control group). Results do
    not depend on it.

    Examples
    --------
    >>> import ropewalk as rw
    >>> before = rw.get_num_threads()
    >>> rw.set_num_threads(2)
    >>> rw.get_num_threads()
    2
    >>> rw.set_num_threads(before)
    """
    global _process_threads  # noqa: PLW0603 - the one piece of state
    _process_threads = _options.integer_between("n", n, 1, MOST_THREADS)


def get_num_threads() -> int:
    """Return how many threads a call made here and now may use.

    Returns
    -------
    int
        The number set by the innermost `num_threads` block, or else by `set_num_threads`, or else
        found as described there.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.get_num_threads() >= 1
    True
    """
    global _available_threads  # noqa: PLW0603 - asked of the system once
    block = _blocks.get()
    n = _process_threads if block is None else block[0]
    if n is None:
        n = _available_threads
    if n is None:
        n = _available_threads = _core.available_threads()
    return n


def num_threads(n: Integer, /) -> _Limited:
    """Limit the threads of the calls inside a ``with`` block.

    Parameters
    ----------
    n : int
        From 1 to 1024.

    Returns
    -------
    context manager
        For blocks, or as the decorator of a function, but not of a generator or a coroutine, whose
        body runs later.

    Raises
    ------
    ValueError
        If `n` is out of that range.
    TypeError
        If `n` is not an integer, or what is decorated is no function, a generator or a coroutine.

    See Also
    --------
    set_num_threads : The same for the whole process.

    Notes
    -----
    The limit belongs to the context (`contextvars`): asynchronous tasks do not see each other's,
    nor do threads. A task begins with the limit of whoever made it, and so does a thread where
    Python has it inherit the context (`sys.flags.thread_inherit_context`). Blocks inside of
    generators must end in the reverse order of their beginnings.

    Examples
    --------
    >>> import ropewalk as rw
    >>> with rw.num_threads(1):
    ...     rw.get_num_threads()
    1
    """
    return _Limited(_options.integer_between("n", n, 1, MOST_THREADS))


class _Limited(ContextDecorator):
    def __init__(self, n: int) -> None:
        self._n = n

    def __call__(self, function: _Function) -> _Function:
        import inspect  # noqa: PLC0415 - a decorator is seldom used

        later = inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction
        no_function = isinstance(function, type) or not callable(function)
        if no_function or any(runs(function) for runs in later):
            which = "a function whose body runs at once"
            msg = f"num_threads must decorate {which}, got {_options.shown(function)}"
            raise TypeError(msg)
        return super().__call__(function)

    def __enter__(self) -> None:
        _blocks.set((self._n, _blocks.get()))

    def __exit__(self, *_: object) -> None:
        block = _blocks.get()
        _blocks.set(None if block is None else block[1])


def show_config() -> dict[str, Any]:
    """Return what a bug report should say about this installation.

    Returns
    -------
    dict
        Versions of ropewalk, Python and NumPy; the compiler; the instruction set in use and those
        that this processor offers (the environment variable ``ROPEWALK_ISA`` forces one); what
        multiplies matrices of bfloat16 there, "amx" or None; the number of threads; the optional
        packages, each with its version or None.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.show_config()["ropewalk"] == rw.__version__
    True
    """
    from importlib import metadata  # noqa: PLC0415 - costs more to import than all of ropewalk

    extras: dict[str, str | None] = {}
    for name in EXTRAS:
        try:
            extras[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            extras[name] = None
    return {
        "ropewalk": _core.version,
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "compiler": _core.compiler,
        "isa": _core.isa,
        "supported_isas": list(_core.supported_isas),
        "matrices": _core.matrices(),
        "threads": get_num_threads(),
        "extras": extras,
    }
