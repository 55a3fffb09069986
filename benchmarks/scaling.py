"""Causal attention in chunks on processes, against one call on one thread.

Run alone: python -m benchmarks.scaling [--length 131072] [--chunk 8192] [--workers 1 2]
"""

import argparse
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, Worker, wait
from numpy.typing import NDArray

import ropewalk as rw
from benchmarks.measure import header

Array = NDArray[Any]
DIM = 128
FLOAT32, FLOAT64 = 4, 8  # bytes
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Run:
    """What attention took."""

    seconds: float
    moved: int  # bytes from worker to worker
    stored: int  # bytes of results and of copies, on the worker with the most of them
    work: int  # bytes that the worker with the most took beside these and the data


def rows(length: int, chunk: int, seed: int) -> da.Array:
    rng = da.random.default_rng(seed)
    return rng.standard_normal((length, DIM), chunks=(chunk, DIM), dtype=np.float32)


def memory(field: str) -> int:
    """Return how much memory this process holds, or held at most."""
    found = re.search(rf"{field}:\s+(\d+) kB", STATUS.read_text())
    return int(found[1]) * 1024 if found else 0


def begin() -> int:
    CLEAR.write_text("5")  # forget the peak of memory
    return memory("VmRSS")


def stored(dask_worker: Worker) -> int:
    return int(dask_worker.state.nbytes)


def served(dask_worker: Worker) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def check(output: da.Array, arrays: list[da.Array]) -> None:
    """Compare some rows with the formula in float64."""
    length = output.shape[0]
    query, key, value = (array.astype(np.float64) for array in arrays)
    for row in np.linspace(0, length - 1, 5, dtype=int):
        logits = key[: row + 1] @ query[row] / np.sqrt(DIM)
        weights = np.exp(logits - logits.max())
        exact = weights @ value[: row + 1] / weights.sum()
        found, expected = dask.compute(output[row], exact)
        assert np.abs(found - expected).max() <= 4e-6, "wrong values were timed"


def tiles(chunks: int) -> int:
    """Return how many pairs of chunks a causal mask leaves."""
    return chunks * (chunks + 1) // 2


def most_moved(length: int, chunk: int, workers: int) -> float:
    """Return the most bytes that move between workers where tasks are placed without looking.

    Every chunk of queries, keys and values goes to all other workers once; every partial result,
    and every fourth of them merged, to another worker unless it lies there.
    """
    chunks = length // chunk
    of_data = 3 * chunks * chunk * DIM * FLOAT32
    part = chunk * (DIM * FLOAT32 + FLOAT64)  # with its log-sum-exp
    return (workers - 1) * (of_data + tiles(chunks) * 4 / 3 * part / workers)


def on_workers(count: int, length: int, chunk: int) -> Run:
    """Attend on so many processes of one thread, that hold the data already."""
    with (
        # Copies stay where they are, to be counted in the end.
        dask.config.set({"distributed.scheduler.active-memory-manager.start": False}),
        LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        arrays = [array.persist() for array in (rows(length, chunk, seed) for seed in range(3))]
        wait(arrays)
        small = [array[: 64 * count] for array in arrays]
        wait(rw.dask.attention(*small).persist())  # every worker has imported everything
        held = client.run(begin)
        before, there = client.run(served), client.run(stored)
        start = time.perf_counter()
        output = rw.dask.attention(*arrays, causal=True).persist()
        wait(output)
        seconds = time.perf_counter() - start
        moved = sum(client.run(served).values()) - sum(before.values())
        most = client.run(memory, "VmHWM")
        more = {name: size - there[name] for name, size in client.run(stored).items()}
        check(output, arrays)
    work = max(most[name] - held[name] - more[name] for name in held)
    return Run(seconds, moved, max(more.values()), work)


def in_one_call(length: int, chunk: int) -> float:
    """Return the seconds of one call of one thread on the same data."""
    arrays = dask.compute(*(rows(length, chunk, seed) for seed in range(3)))
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
    given = parser.parse_args()
    length, chunk = given.length, given.chunk
    header("scaling")

    lazy = rw.dask.attention(*(rows(length, chunk, seed) for seed in range(3)), causal=True)
    chunks, block = length // chunk, chunk * DIM * FLOAT32
    print(
        f"{length} queries and keys of {DIM} float32, causal, {chunks} chunks of {block >> 20} MiB"
    )
    (planned,) = dask.optimize(lazy)
    tasks = len(planned.__dask_graph__())
    print(f"{tiles(chunks)} pairs of chunks, {tasks} tasks with those that make the data")
    alone = in_one_call(length, chunk)
    print(f"one call on one thread: {alone:.1f} s")
    for workers in given.workers:
        run = on_workers(workers, length, chunk)
        model = most_moved(length, chunk, workers)
        print(
            f"{workers} processes: {run.seconds:.1f} s, {alone / run.seconds / workers:.2f} of "
            f"{workers} times one call; {run.moved / 2**20:.0f} MiB moved, "
            f"{model / 2**20:.0f} expected at most; a worker had {run.work / block:.1f} chunks to "
            f"work with, beside the data and {run.stored / block:.1f} of results and copies"
        )


if __name__ == "__main__":
    main()
