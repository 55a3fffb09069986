"""Causal attention of files in chunks on processes, against one call on one thread.

Run alone: python -m benchmarks.scaling [--length 131072] [--chunk 8192] [--workers 1 2] [--hold]
"""

import argparse
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, Worker
from numpy.typing import NDArray

import ropewalk as rw
from benchmarks.measure import header

Array = NDArray[Any]
DIM = 128
FLOAT32, FLOAT64 = 4, 8  # bytes
DATA, OUTPUT = ("query", "key", "value"), "output"
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Run:
    """What attention took."""

    seconds: float
    moved: int  # bytes from worker to worker
    memory: int  # bytes that the worker with the most had beside what it has when idle


def file(name: str, mode: str = "r") -> Array:
    """Return a memory-mapped file, as an array."""
    array: Array = np.load(f"{name}.npy", mmap_mode=mode)  # type: ignore[arg-type]
    return array


def read(name: str, block_info: Any) -> Array:
    (first, beyond), _ = block_info[None]["array-location"]
    return file(name)[first:beyond]


def write(rows: Array, name: str, block_info: Any) -> Array:
    (first, beyond), _ = block_info[0]["array-location"]
    file(name, "r+")[first:beyond] = rows
    return np.ones((1, 1), bool)


def memory(field: str) -> int:
    """Return how much memory this process holds, or held at most."""
    found = re.search(rf"{field}:\s+(\d+) kB", STATUS.read_text())
    return int(found[1]) * 1024 if found else 0


def begin() -> int:
    CLEAR.write_text("5")  # forget the peak of memory
    return memory("VmRSS")


def served(dask_worker: Worker) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def fill(folder: Path, length: int) -> None:
    """Write files of random data, and one for the output."""
    rng = np.random.default_rng(0)
    for name in (*DATA, OUTPUT):
        array = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.float32, (length, DIM))
        if name in DATA:
            array[:] = rng.standard_normal(array.shape, dtype=np.float32)


def planned(folder: Path, length: int, chunk: int, *, hold: bool) -> da.Array:
    """Return attention that reads files and writes one, chunk by chunk."""
    sizes = da.core.normalize_chunks((chunk, DIM), (length, DIM))
    data = (
        da.map_blocks(read, str(folder / name), chunks=sizes, meta=np.empty((0, 0), np.float32))
        for name in DATA
    )
    output = rw.dask.attention(*data, causal=True, recompute=not hold)
    ones = ((1,) * len(sizes[0]), (1,))
    return output.map_blocks(write, str(folder / OUTPUT), chunks=ones, meta=np.empty((0, 0), bool))


def check(folder: Path) -> None:
    """Compare some rows with the formula in float64."""
    query, key, value, output = (file(str(folder / name)) for name in (*DATA, OUTPUT))
    for row in np.linspace(0, len(query) - 1, 5, dtype=int):
        logits = key[: row + 1] @ query[row].astype(np.float64) / np.sqrt(DIM)
        weights = np.exp(logits - logits.max())
        exact = weights @ value[: row + 1] / weights.sum()
        assert np.abs(output[row] - exact).max() <= 4e-6, "wrong values were timed"


def pairs(chunks: int) -> int:
    """Return how many pairs of chunks a causal mask leaves."""
    return chunks * (chunks + 1) // 2


def most_moved(length: int, chunk: int, workers: int, *, hold: bool) -> float:
    """Return the most bytes that move between workers where tasks are placed without looking.

    Every partial result, and every fourth of them merged, goes to another worker unless it lies
    there; where chunks of queries, keys and values are held, each goes to all other workers once.
    """
    chunks = length // chunk
    of_data = 3 * chunks * chunk * DIM * FLOAT32 if hold else 0
    part = chunk * (DIM * FLOAT32 + FLOAT64)  # with its log-sum-exp
    return (workers - 1) * (of_data + pairs(chunks) * 4 / 3 * part / workers)


def on_workers(count: int, folder: Path, length: int, chunk: int, *, hold: bool) -> Run:
    """Attend on so many processes of one thread."""
    with (
        LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        planned(folder, 64 * count, 64, hold=hold).compute()  # workers have imported everything
        idle, before = client.run(begin), client.run(served)
        start = time.perf_counter()
        planned(folder, length, chunk, hold=hold).compute()
        seconds = time.perf_counter() - start
        moved = sum(client.run(served).values()) - sum(before.values())
        most = client.run(memory, "VmHWM")
    check(folder)
    return Run(seconds, moved, max(most[name] - idle[name] for name in idle))


def in_one_call(folder: Path) -> float:
    """Return the seconds of one call of one thread on the same data."""
    arrays = [np.array(file(str(folder / name))) for name in DATA]
    with rw.num_threads(1):
        rw.attention(*(array[:64] for array in arrays))
        start = time.perf_counter()
        rw.attention(*arrays, causal=True)
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=131_072)
    parser.add_argument("--chunk", type=int, default=8192)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--hold", action="store_true", help="hold data rather than read them again")
    given = parser.parse_args()
    length, chunk, hold = given.length, given.chunk, given.hold
    header("scaling")

    chunks, block = length // chunk, chunk * DIM * FLOAT32
    print(
        f"{length} queries and keys of {DIM} float32, causal, {chunks} chunks of "
        f"{block / 2**20:g} MiB, {'held' if hold else 'read in each task'}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder, length)
        (plan,) = dask.optimize(planned(folder, length, chunk, hold=hold))
        print(f"{pairs(chunks)} pairs of chunks, {len(plan.__dask_graph__())} tasks")
        alone = in_one_call(folder)
        print(f"one call on one thread: {alone:.1f} s")
        for workers in given.workers:
            run = on_workers(workers, folder, length, chunk, hold=hold)
            model = most_moved(length, chunk, workers, hold=hold)
            print(
                f"{workers} processes: {run.seconds:.1f} s, {alone / run.seconds / workers:.2f} of "
                f"{workers} times one call; {run.moved / 2**20:.0f} MiB moved, "
                f"{model / 2**20:.0f} expected at most; "
                f"a worker took {run.memory / block:.1f} chunks at most"
            )


if __name__ == "__main__":
    main()
