"""Timing that survives a noisy machine, and the machine's own limits."""

import ctypes
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from numpy.typing import NDArray

import ropewalk as rw

ROOT = Path(__file__).parents[1]
Call = Callable[[], object]


def processor() -> str:
    """Name the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                return f"{model} ({_family(info.read_text())})"
    return platform.processor() or platform.machine()


def _family(text: str) -> str:
    wanted = ("vendor_id", "cpu family", "model\t", "stepping")
    fields = [next(x for x in text.splitlines() if x.startswith(name)) for name in wanted]
    return ", ".join(" ".join(field.replace("\t", "").split()) for field in fields)


def header(title: str) -> None:
    """Say what runs where."""
    config = rw.show_config()
    print(title)
    print(f"{processor()}; {config['isa']}, {config['compiler']}, NumPy {config['numpy']}")
    print("median of interleaved repetitions; ratios are times of the rival over ours\n")


def interleaved(
    calls: Mapping[str, Call], *, repetitions: int = 15, least: float = 2e-3
) -> dict[str, float]:
    """Return the median seconds of each call, made in turn.

    A call is repeated until a sample lasts `least` seconds.
    """
    loops = {}
    for name, call in calls.items():
        call()
        start = time.perf_counter()
        call()
        once = time.perf_counter() - start
        loops[name] = max(1, round(least / max(once, 1e-7)))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repetitions):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(loops[name]):
                call()
            samples[name].append((time.perf_counter() - start) / loops[name])
    return {name: median(values) for name, values in samples.items()}


class Limits:
    """Filling and copying memory, as fast as this machine does it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        library = Path(self._folder.name) / "limits.so"
        sources = [ROOT / "benchmarks/limits.cpp", ROOT / "cpp/plans/pool.cpp"]
        compiler = os.environ.get("CXX", "c++")
        flags = ["-std=c++20", "-O3", "-shared", "-fPIC", "-pthread", f"-I{ROOT / 'cpp'}"]
        subprocess.run([compiler, *flags, *map(str, sources), "-o", str(library)], check=True)
        self._library = ctypes.CDLL(str(library))

    def _call(self, name: str, array: NDArray[Any], threads: int) -> Call:
        function = getattr(self._library, name)
        pointer = ctypes.c_void_p(array.ctypes.data)
        size, count = ctypes.c_int64(array.nbytes), ctypes.c_int(threads)
        return lambda: function(pointer, size, count)

    def _copy(self, name: str, source: NDArray[Any], target: NDArray[Any], threads: int) -> Call:
        function = getattr(self._library, name)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (source, target)]
        size, count = ctypes.c_int64(source.nbytes), ctypes.c_int(threads)
        return lambda: function(*pointers, size, count)

    def copy(self, source: NDArray[Any], target: NDArray[Any], threads: int) -> Call:
        """Return a call of memcpy."""
        return self._copy("copy_memory", source, target, threads)

    def stream_copy(self, source: NDArray[Any], target: NDArray[Any], threads: int) -> Call:
        """Return a call that copies past the cache."""
        return self._copy("stream_copy", source, target, threads)

    def fill(self, array: NDArray[Any], threads: int) -> Call:
        """Return a call of memset on the array's memory."""
        return self._call("fill_memory", array, threads)

    def read(self, array: NDArray[Any], threads: int) -> Call:
        """Return a call that reads the array's memory."""
        return self._call("read_memory", array, threads)

    def multiply_add(self, threads: int) -> tuple[Call, float]:
        """Return a call that multiplies and adds in registers, and how many operations it does."""
        function = self._library.multiply_add
        function.restype = ctypes.c_double
        rounds, count = ctypes.c_int64(200_000), ctypes.c_int(threads)
        return lambda: function(rounds, count), function(rounds, count)

    def stream(self, array: NDArray[Any], threads: int) -> Call:
        """Return a call that fills the array's memory past the cache."""
        return self._call("stream_memory", array, threads)
