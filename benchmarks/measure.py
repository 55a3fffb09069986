"""Timing that survives a noisy machine, and the machine's own limits."""

import contextlib
import ctypes
import os
import platform
import subprocess
import tempfile
import threading
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, Literal, TypeVar

import ml_dtypes  # lets NumPy know bfloat16 by its name, too
import numpy as np
from numpy.typing import NDArray

import ropewalk as rw
from benchmarks.figures import Array, Call, Case, Figure

ROOT = Path(__file__).parents[1]
LONGEST_WAIT = 0.3  # seconds
PAST_THE_CACHE = 32 << 20  # bytes; fewer would be thrown out of the cache for the others
Name = TypeVar("Name", bound=Hashable)
Size = TypeVar("Size")
Sizes = Literal["all", "quick", "smallest"]


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


def rows(*shape: int, seed: int = 0, dtype: str = "float32") -> Array:
    """Return random numbers, N(0, 1)."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(dtype)


def unit(dtype: str) -> float:
    """Return the distance from 1 to the next number of this dtype."""
    return float(ml_dtypes.finfo(np.dtype(dtype)).eps)  # type: ignore[no-untyped-call]


def check(found: object, exact: Array, tolerance: float) -> None:
    """Refuse to time a call that computes something else."""
    error = np.abs(np.asarray(found).astype(np.float64) - exact).max()
    assert error <= tolerance, f"wrong values were timed: off by {error:.2g}"


def others_run() -> bool:
    """Return whether another thread of the process runs, or would if it got a processor.

    The time that they take would not tell: the system may count it only at its ticks, 4 ms apart.
    """
    own = str(threading.get_native_id())
    for task in Path("/proc/self/task").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
            if state == "R" and task.name != own:
                return True
    return False


def settle() -> None:
    """Wait until what a call left behind is done: freed memory, threads that wait for more work.

    It would be timed with the call that follows. OpenBLAS's threads wait spinning for 110 ms, ONNX
    Runtime's for 60; one that never rests is not waited for. This one does not sleep, for the first
    milliseconds after that are slow.
    """
    end = time.perf_counter() + LONGEST_WAIT
    while others_run() and time.perf_counter() < end:
        pass


def warm(call: Call, seconds: float) -> None:
    """Repeat a call until what it reads is as near as it keeps it itself, whoever came before.

    Some last caches take a line only when it is read again: once is not enough.
    """
    end = time.perf_counter() + seconds
    call()
    while time.perf_counter() < end:
        call()


def interleaved(
    calls: Mapping[Name, Call],
    *,
    repetitions: int = 15,
    fewest: int = 3,
    least: float = 2e-3,
    most: float = 1.5,
) -> dict[Name, float]:
    """Return the median seconds of each call, made in turn.

    A call is repeated until a sample lasts `least` seconds. There are fewer repetitions, but
    `fewest`, where all together would last longer than `most` seconds. Before each sample the
    process settles, and the call is made for twice as long as a sample lasts, once at least.
    """
    loops: dict[Name, int] = {}
    total = 0.0
    for name, call in calls.items():
        call()
        start = time.perf_counter()
        call()
        once = time.perf_counter() - start
        loops[name] = max(1, round(least / max(once, 1e-7)))
        total += once * loops[name]
    samples: dict[Name, list[float]] = {name: [] for name in calls}
    for _ in range(min(repetitions, max(fewest, int(most / total)))):
        for name, call in calls.items():
            settle()
            warm(call, 2 * least)
            start = time.perf_counter()
            for _ in range(loops[name]):
                call()
            samples[name].append((time.perf_counter() - start) / loops[name])
    return {name: median(values) for name, values in samples.items()}


@dataclass(frozen=True)
class Limit:
    """What the machine does at best: the fastest of some calls, so many times over."""

    calls: Sequence[Call]
    times: float = 1.0


class Limits:
    """Multiplying, reading, filling and copying, as fast as this machine does it.

    Built by the system's compiler; where there is none, there are no limits to compare with.
    """

    def __init__(self, threads: int) -> None:
        self._threads = ctypes.c_int(threads)
        self._library = self._built()

    @staticmethod
    def _built() -> ctypes.CDLL | None:
        pool = (f"cpp/plans/{name}.cpp" for name in ("pool", "quota", "team"))
        parts = ("benchmarks/limits.cpp", *pool)
        sources = [ROOT / part for part in parts]
        compiler = os.environ.get("CXX", "c++")
        flags = ["-std=c++20", "-O3", "-shared", "-fPIC", "-pthread", f"-I{ROOT / 'cpp'}"]
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "limits.so"
            command = [compiler, *flags, *map(str, sources), "-o", str(library)]
            try:
                subprocess.run(command, check=True)
            except (OSError, subprocess.CalledProcessError):
                return None
            loaded = ctypes.CDLL(str(library))
        loaded.multiply_add.restype = ctypes.c_double
        return loaded

    def _call(self, name: str, *arrays: Array) -> Call:
        function = getattr(self._library, name)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        size, threads = ctypes.c_int64(arrays[0].nbytes), self._threads
        return lambda: function(*pointers, size, threads)

    def _best(self, limit: str, within: str, past: str, *arrays: Array) -> dict[str, Limit]:
        if self._library is None:
            return {}
        names = [within, past] if arrays[0].nbytes >= PAST_THE_CACHE else [within]
        return {limit: Limit([self._call(name, *arrays) for name in names])}

    def fill(self, array: Array) -> dict[str, Limit]:
        """Fill the array's memory: memset, or stores that pass the cache by."""
        return self._best("fill", "fill_memory", "stream_memory", array)

    def copy(self, source: Array, target: Array) -> dict[str, Limit]:
        """Copy the array's memory: memcpy, or stores that pass the cache by."""
        return self._best("copy", "copy_memory", "stream_copy", source, target)

    def read(self, array: Array) -> dict[str, Limit]:
        """Read the array's memory."""
        return {"read": Limit([self._call("read_memory", array)])} if self._library else {}

    def multiply_add(self, operations: float, dtype: str = "float32") -> dict[str, Limit]:
        """Do so many operations on registers, two for each multiplication with addition."""
        if self._library is None:
            return {}
        function, rounds = self._library.multiply_add, ctypes.c_int64(200_000)
        done = function(rounds, self._threads) * 4 / np.dtype(dtype).itemsize
        if done == 0:  # registers that it does not know
            return {}
        return {"FMA peak": Limit([lambda: function(rounds, self._threads)], operations / done)}


class Bench:
    """How the parts of the benchmark measure: on how many threads, and which sizes."""

    def __init__(self, threads: int, sizes: Sizes) -> None:
        self.threads, self.sizes = threads, sizes
        self._effort: dict[str, Any] = {
            "all": {},
            "quick": {"repetitions": 5, "least": 5e-4, "most": 0.1},
            "smallest": {"repetitions": 1, "fewest": 1, "least": 0.0},
        }[sizes]

    @cached_property
    def limits(self) -> Limits:
        return Limits(self.threads)

    def of(self, every: Sequence[Size], quick: Sequence[Size]) -> Sequence[Size]:
        """Return the sizes that are measured."""
        return {"all": every, "quick": quick, "smallest": quick[:1]}[self.sizes]

    def seconds(self, calls: Mapping[Name, Call]) -> dict[Name, float]:
        """Return the median seconds of each call."""
        return interleaved(calls, **self._effort)

    def figure(
        self,
        case: Case,
        ours: Call,
        *,
        rivals: Mapping[str, Call] | None = None,
        ourselves: Mapping[str, Call] | None = None,
        limits: Mapping[str, Limit] | None = None,
    ) -> Figure:
        """Measure our call beside what it is compared with."""
        rivals, ourselves, limits = rivals or {}, ourselves or {}, limits or {}
        calls: dict[tuple[str, ...], Call] = {("ours",): ours}
        calls |= {("rival", name): call for name, call in rivals.items()}
        calls |= {("ourselves", name): call for name, call in ourselves.items()}
        for name, limit in limits.items():
            calls |= {("limit", name, str(i)): call for i, call in enumerate(limit.calls)}
        times = self.seconds(calls)
        return Figure(
            case,
            times["ours",],
            rivals={name: times["rival", name] for name in rivals},
            ourselves={name: times["ourselves", name] for name in ourselves},
            limits={
                name: limit.times
                * min(times["limit", name, str(i)] for i in range(len(limit.calls)))
                for name, limit in limits.items()
            },
        )

    def limits_alone(self) -> str:
        """Return what the machine does at best, in words."""
        memory: NDArray[np.float32] = np.ones((64 << 20) // 4, np.float32)
        other = np.ones_like(memory)
        limits = self.limits
        memories = limits.fill(memory) | limits.copy(memory, other) | limits.read(memory)
        every = limits.multiply_add(1e9) | memories
        found = dict(self.figure({}, lambda: None, limits=every).limits)
        if not found:
            return "no C++ compiler has built them, so there are no limits to compare with"
        peak = f"{1 / found.pop('FMA peak'):.0f} GFLOP/s, " if "FMA peak" in found else ""
        speeds = [f"{name} {memory.nbytes / t / 1e9:.1f}" for name, t in found.items()]
        return f"at best here: {peak}and 64 MiB at GB/s: {', '.join(speeds)}"
