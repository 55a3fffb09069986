"""Memory of large results: kept when they are gone, within bounds, and nobody's meanwhile."""

import mmap
import sys
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.conftest import FORKS, RunPython

import ropewalk as rw
from ropewalk import _core, _results

pytestmark = pytest.mark.thread_unsafe(reason="other threads would take the memory")

LARGE = _core.large_bytes
ROWS = LARGE // (4 * 64)

of_linux = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc how much memory there is")


def handler_of(array: NDArray[Any]) -> str:
    name: str = np._core.multiarray.get_handler_name(array)  # type: ignore[attr-defined]
    return name


def table(rows: int = ROWS) -> NDArray[Any]:
    return rw.sinusoidal_encoding(range(rows), 64, dtype=np.float32)


def page_of(array: NDArray[Any]) -> int:
    return array.ctypes.data // 4096


def results(rows: int) -> dict[str, NDArray[Any]]:
    """Return a result of each way to make one, of as many rows of 64 float32 numbers."""
    x = np.ones((rows, 64), np.float32)
    tables = rw.rotary_tables(range(rows), 128, dtype=np.float32)
    columns = np.ones((64, rows), np.float32).T
    return {
        "table": table(rows),
        "table of columns": rw.sinusoidal_encoding(columns[:, 0], 64, dtype=np.float32),
        "cosines": tables[0],
        "sines": tables[1],
        "rotation": rw.rotate(x),
        "rotation of columns": rw.rotate(columns),
        "given rotation": rw.rotate_by(x, *(t[:, :32] for t in tables)),
        "quarter turn": rw.quarter_turn(x),
        "softmax": rw.softmax(x),
        "masked softmax": rw.softmax(x, mask=x > 0),
        "attention": rw.attention(x, x[:4], x[:4]),
        "attention with lse": rw.attention_with_lse(x, x[:4], x[:4])[0],
        "weights": rw.attention_weights(x, x[:64]),
        "tokens": rw.embed(np.zeros(rows, int), x[:1]),
    }


def test_large_results_are_in_memory_that_is_kept_and_small_ones_in_that_of_numpy() -> None:
    assert {name: handler_of(array) for name, array in results(ROWS).items()} == dict.fromkeys(
        results(1), "ropewalk"
    )
    assert set(map(handler_of, results(ROWS - 1).values())) == {"default_allocator"}
    assert handler_of(np.empty(LARGE)) == "default_allocator"


def test_large_results_are_arrays_as_any_other() -> None:
    for name, array in results(ROWS).items():
        assert array.flags.owndata, name
        assert array.flags.writeable, name
        assert array.flags.carray, name


def test_memory_of_a_result_that_is_gone_is_that_of_the_next() -> None:
    first = table()
    page = page_of(first)
    second = table()
    assert page_of(second) != page
    del first
    third = table()
    assert page_of(third) == page
    assert np.array_equal(second, third)


def test_memory_is_kept_however_often_it_is_used() -> None:
    pages = {page_of(table()) for _ in range(200)}  # more of them than memory is kept for
    assert len(pages) == 1


def test_two_results_in_turn_begin_at_other_places_of_their_pages() -> None:
    """Or reading the one would wait for writing the other."""
    made = [table(9 * ROWS) for _ in range(5)]
    places = [array.ctypes.data % 4096 for array in made]
    assert all(512 <= abs(a - b) <= 4096 - 512 for a, b in pairwise(places)), places
    # In memory that is kept, too: of the first and the fifth, as there are four places.
    del made[4], made[0]
    first, second = table(9 * ROWS), table(9 * ROWS)
    assert (first.ctypes.data - second.ctypes.data) % 4096 in range(512, 4096 - 512 + 1)
    # And where a call takes memory to work in: three threads do, four pieces with the result.
    x = np.ones((512, 512), np.float32)
    with rw.num_threads(3):
        first, second = rw.softmax(x, axis=0), rw.softmax(x, axis=0)
    assert (first.ctypes.data - second.ctypes.data) % 4096 in range(512, 4096 - 512 + 1)


def test_a_view_keeps_the_memory_of_its_result() -> None:
    row = table()[5]
    before = row.copy()
    rw.rotate(np.ones((ROWS, 64), np.float32))
    assert np.array_equal(row, before)


@pytest.mark.parametrize("rows", [ROWS // 2, ROWS + ROWS // 16, 10 * ROWS])
def test_memory_of_another_size_is_not_used_where_it_is_too_small_or_far_too_large(
    rows: int,
) -> None:
    large = table(3 * ROWS)
    page = page_of(large)
    expected = table(rows)
    del large
    array = table(rows)
    assert page_of(array) != page
    assert np.array_equal(array, expected)


def test_a_result_can_be_resized() -> None:
    expected = table(3 * ROWS)
    array = table(2 * ROWS)
    array.resize((3 * ROWS, 64), refcheck=False)
    assert np.array_equal(array[: 2 * ROWS], expected[: 2 * ROWS])
    assert not array[2 * ROWS :].any()
    array.resize((7, 64), refcheck=False)
    assert np.array_equal(array, expected[:7])
    del array
    assert np.array_equal(table(3 * ROWS), expected)


def test_results_are_traced_as_other_memory() -> None:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        array = table()
        during, _ = tracemalloc.get_traced_memory()
        assert during - before >= array.nbytes
        del array
        after, _ = tracemalloc.get_traced_memory()
        assert after - before < LARGE // 2
    finally:
        tracemalloc.stop()


TABLE = """
import resource
import numpy as np
import ropewalk as rw

def table(mib):
    return rw.sinusoidal_encoding(range(int(mib * 4096)), 64, dtype=np.float32)

rw.set_num_threads(1)  # others have stacks and memory of their own
"""
ADDRESSES = (
    TABLE
    + """
def mib_of_addresses():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize() / 2**20

table(1)
before = mib_of_addresses()
"""
)


@of_linux
def test_no_more_is_kept_than_is_said(run_python: RunPython) -> None:
    result = run_python(
        ADDRESSES
        + """
def kept():
    return mib_of_addresses() - before

large = table(300)
small = table(10)
del small
del large
print(8 < kept() < 20)  # it is too large to be kept, and no reason to give up others
many = [table(43.9) for _ in range(9)]
print(kept() > 390)
many.clear()
print(215 < kept() < 240)  # five of them
last = table(200)
del last
print(240 < kept() < 270)  # the newest, and one
"""
    )
    assert (result.stdout.split(), result.stderr) == (["True"] * 4, "")


@of_linux
def test_the_newest_alone_are_kept_of_many(run_python: RunPython) -> None:
    result = run_python(
        ADDRESSES
        + """
many = [table(0.5) for _ in range(400)]
with open("/proc/self/maps") as file:
    print(len(file.readlines()) < 600)  # the system counts them: most are one with the next
many.clear()
print(120 < mib_of_addresses() - before < 160)  # 256 of them
"""
    )
    assert (result.stdout.split(), result.stderr) == (["True"] * 2, "")


@of_linux
@pytest.mark.parametrize("kib", [256, 500, 1500, 3000])
def test_two_results_at_a_time_do_not_make_the_system_clear_their_pages_each_time(
    run_python: RunPython, kib: int
) -> None:
    """As malloc does where nothing larger was ever freed."""
    result = run_python(
        TABLE
        + f"""
def both():
    return table({kib} / 1024), table({kib} / 1024)

both()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    both()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 40)
"""
    )
    assert (result.stdout.split(), result.stderr) == (["True"], "")


@of_linux
@pytest.mark.parametrize("mib", [0.25, 1, 5])
def test_results_that_grow_find_the_memory_of_those_before(
    run_python: RunPython, mib: float
) -> None:
    result = run_python(
        TABLE
        + f"""
table({mib})
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for i in range(100):
    table({mib} + i * 2**-12)  # a row more each time
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    )
    assert result.stderr == ""
    assert int(result.stdout) < 2 * mib * 256 + 100  # not the pages of each


@of_linux
def test_memory_that_threads_work_in_is_not_cleared_each_time(run_python: RunPython) -> None:
    result = run_python("""
import resource
import numpy as np
import ropewalk as rw

rw.set_num_threads(2)
x = np.ones((512, 512), np.float32)
out = np.empty_like(x)
for _ in range(5):
    rw.softmax(x, axis=0, out=out)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    rw.softmax(x, axis=0, out=out)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
""")
    assert result.stderr == ""
    assert int(result.stdout) < 200  # not 66 each time


@of_linux
def test_what_is_kept_is_given_up_for_memory_to_work_in(run_python: RunPython) -> None:
    """That of one query to many keys, which it meets in parts."""
    result = run_python(
        ADDRESSES
        + """
key = np.broadcast_to(np.ones(64, np.float32), (2**24, 64))
query, out = np.ones((1, 64), np.float32), np.empty((1, 64), np.float32)
rw.attention(query, key[:300], key[:300], out=out)
many = [table(50) for _ in range(4)]
many.clear()
limit = int(mib_of_addresses() + 3) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
print(rw.attention(query, key, key, out=out).min())
"""
    )
    assert (result.stdout.split(), result.stderr) == (["1.0"], "")


@of_linux
def test_what_is_kept_is_given_up_before_memory_is_said_to_lack(run_python: RunPython) -> None:
    result = run_python(
        ADDRESSES
        + """
many = [table(50) for _ in range(4)]
many.clear()
limit = int(mib_of_addresses() + 60) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
print(len(table(200)))
try:
    table(400)
except MemoryError as error:
    print(error)
"""
    )
    message = (
        "Unable to allocate 400. MiB for an array with shape (1638400, 64) and data type float32"
    )
    assert (result.stdout.splitlines(), result.stderr) == (["819200", message], "")


@of_linux
def test_all_but_the_newest_of_what_is_kept_is_the_systems_to_take(run_python: RunPython) -> None:
    result = run_python(
        ADDRESSES
        + """
def mib_to_take():
    with open("/proc/self/smaps") as file:
        kib = [int(line.split()[1]) for line in file if line.startswith("LazyFree:")]
    print(sum(kib) / 1024 if kib else "unknown")

many = [table(40) for _ in range(5)]
many.clear()
mib_to_take()
table(3)
mib_to_take()
"""
    )
    assert result.stderr == ""
    before, after = result.stdout.split()
    if before == "unknown":
        pytest.skip("this system does not tell")
    assert 150 < float(before) < 170  # four of the five
    assert after == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_child_takes_and_gives_back_on_its_own(run_python: RunPython) -> None:
    result = run_python(
        """
import os
import numpy as np
import ropewalk as rw

def table(first):
    return rw.sinusoidal_encoding(range(first, first + 20000), 64, dtype=np.float32)

rw.set_num_threads(1)
kept, expected = table(0), table(7)
del kept
held = table(7)
child = os.fork()
for first in (3, 5):
    table(first)
right = np.array_equal(held, expected) and np.array_equal(table(7), expected)
if child == 0:
    os._exit(0 if right else 1)
_, status = os.waitpid(child, 0)
print(right, status)
""",
        PYTHONWARNINGS=FORKS,
    )
    assert (result.stdout, result.stderr) == ("True 0\n", "")


# New memory


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [0, 1, 5000, 4 << 20, (9 << 20) + 17])
def test_memory_that_the_system_gives_keeps_what_it_holds(size: int, threads: int) -> None:
    memory = (np.arange(size + 2000) % 251).astype(np.uint8)
    before = memory.copy()
    for begin in (0, 1000):
        _core.populate(memory[begin : begin + size], threads)
        assert np.array_equal(memory, before)


@pytest.mark.parametrize("threads", [1, 2])
def test_no_page_of_memory_that_the_system_gave_is_missing(threads: int) -> None:
    resource = pytest.importorskip("resource", reason="tells how many pages were missing")
    memory = np.frombuffer(mmap.mmap(-1, (32 << 20) + 4096), np.uint8)[16:]
    if not _core.populate(memory, threads):
        pytest.skip("this system gives memory page by page alone")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    memory[::4096] = 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 100  # not 8,000


@pytest.mark.parametrize("gives", [True, False])
def test_results_are_the_same_where_the_system_gives_no_memory_at_once(
    monkeypatch: pytest.MonkeyPatch, gives: bool
) -> None:
    asked: list[int] = []

    def populate(array: NDArray[Any], _: int) -> bool:
        asked.append(array.nbytes)
        return gives

    monkeypatch.setattr(_core, "populate", populate)
    x = np.ones((2, _results.STREAMED_BYTES // 512, 64), np.float32)
    wide = np.ones((len(x[0]), 256), np.float32)
    calls: list[Callable[[], NDArray[Any]]] = [
        lambda: rw.rotate(x),
        lambda: rw.rotate_by(x, wide[:, :32], wide[:, 32:64]),
        lambda: rw.softmax(wide),
    ]
    with rw.num_threads(2):
        for call in calls:
            result = call()
            assert asked.pop() == result.nbytes
            monkeypatch.setattr(_results, "STREAMED_BYTES", 1 << 40)
            assert np.array_equal(result, call())
            assert not asked
            monkeypatch.setattr(_results, "STREAMED_BYTES", x.nbytes)


@of_linux
def test_wide_frequencies_keep_no_rows(run_python: RunPython) -> None:
    result = run_python("""
import re
from pathlib import Path
import numpy as np
import ropewalk as rw

def megabytes():
    return int(re.search(r"VmRSS:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024

wide = rw.frequencies.from_radians(1 / np.arange(1, 2**17 + 1))
table = np.ones((40, 2**18))
rw.sinusoidal_encoding(range(1), frequencies=wide, out=table[:1])
before = megabytes()
rw.sinusoidal_encoding(range(8), frequencies=wide, out=table[:8])
rw.sinusoidal_encoding(np.append(range(9), 0), frequencies=wide, out=table[:10])
rw.sinusoidal_encoding(range(40), frequencies=wide, out=table)
print(megabytes() - before)
""")
    assert result.stderr == ""
    assert float(result.stdout) < 60  # the 48 rows that blocks share would take 192
