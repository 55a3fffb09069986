"""Measure ropewalk beside other libraries and the limits of the machine.

Each number of threads has a process of its own, which may use as many processors, so that all
libraries have as many threads, also those that cannot be told. The machine should do nothing else.
"""

import argparse
import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import ropewalk as rw
from benchmarks.figures import write
from benchmarks.measure import ROOT, processor
from benchmarks.parts import PARTS, measured

PACKAGES = ["ropewalk", "numpy", "torch", "onnxruntime", "jax"]
# Read by the libraries that multiply matrices when they are loaded.
VARIABLES = ["MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"]
# What NumPy's library would otherwise take for the processor.
CHOICES = ["OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"]
LEGEND = """\
Seconds are medians of calls made in turn. Beside them: "of" a limit of the machine, its time over
ours; a rival's name, its time over ours; "over" another call of ours, our time over that one's."""


def processors() -> set[int]:
    """Return the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


@contextmanager
def limited(threads: int) -> Iterator[None]:
    """Let processes that are started here have so many processors, and threads."""
    allowed, environment = processors(), dict(os.environ)
    for name in CHOICES:  # or a rival would not be as fast as it can be here
        os.environ.pop(name, None)
    os.environ.update(dict.fromkeys(VARIABLES, str(threads)))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(allowed)[:threads])
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(environment)
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, allowed)


def circumstances() -> dict[str, Any]:
    """Return what is measured, where and when."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = ""  # as it was released
    config = rw.show_config()
    return {
        "processor": processor(),
        "isa": config["isa"],
        "compiler": config["compiler"],
        "versions": versions,
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit,
    }


def by_part(records: Iterable[dict[str, Any]]) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Return the records of each part on each number of threads."""
    parts: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for record in records:
        parts.setdefault((record["part"], record["threads"]), []).append(record)
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=PARTS,
        default=list(PARTS),
        metavar="PART",
        help=f"of {', '.join(PARTS)}",
    )
    most = len(processors())
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2] if most > 1 else [1])
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the figures too, over older ones of a part"
    )
    size = parser.add_mutually_exclusive_group()
    for name, help_ in (
        ("quick", "some small sizes, less exact"),
        ("smallest", "one size, once, to see that all runs"),
    ):
        size.add_argument(f"--{name}", dest="sizes", action="store_const", const=name, help=help_)
    size.set_defaults(sizes="all")
    given = parser.parse_args()
    if not 1 <= min(given.threads) <= max(given.threads) <= most:
        parser.error(f"argument --threads: expected 1 to {most}, as there are processors")

    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    if given.json and given.json.exists():
        try:
            found = by_part(json.loads(given.json.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError) as error:
            parser.error(f"argument --json: expected a file of records: {error!r}")

    print(LEGEND, flush=True)
    run = circumstances()
    for threads in given.threads:
        with limited(threads), ProcessPoolExecutor(1, get_context("spawn")) as process:
            fresh = process.submit(measured, threads, given.only, given.sizes).result()
        found |= by_part({**run, **record} for record in fresh)
        if given.json:  # now, lest a run that is ended early leave nothing
            write(given.json, list(chain.from_iterable(found.values())))


if __name__ == "__main__":
    main()
