"""Arrays in files: read and written where they are, by a process that could not hold a copy.

The process limits its own memory (`RLIMIT_DATA`), in which private memory counts and mapped files
do not; every file is larger than what it may take.
"""

import sys
from pathlib import Path

import pytest
from tests.conftest import RunPython

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux counts private memory apart from mapped files"
)

SET_UP = """
import re
import resource
from contextlib import contextmanager
from pathlib import Path
import numpy as np
import ropewalk as rw

LENGTH, DIM = 2**18, 64  # a file of float32 has 64 MiB
ROWS = [0, 1, 100_000, LENGTH - 1]  # those that are compared

def mapped(name, mode="r"):
    return np.memmap(name, np.float32, mode, shape=(LENGTH, DIM))

@contextmanager
def little_memory(mebibytes=32):
    status = Path("/proc/self/status").read_text()
    taken = int(re.search(r"VmData:\\s+(\\d+) kB", status)[1]) * 1024
    unlimited = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (taken + mebibytes * 2**20, unlimited[1]))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, unlimited)

rw.set_num_threads(2)
rng = np.random.default_rng(0)
small = rng.standard_normal((300, DIM), np.float32)
rw.attention(small, small, small)  # threads begin, and take memory of their own
for name in ("key", "value"):
    file = mapped(name, "w+")
    for begin in range(0, LENGTH, 4096):
        file[begin : begin + 4096] = rng.standard_normal((4096, DIM), np.float32)
key, value, out = mapped("key", "r+"), mapped("value"), mapped("out", "w+")
"""

CALLS = {
    "attention to keys and values": """
with little_memory():
    found = rw.attention(small, key, value)
expected = rw.attention(small, np.array(key), np.array(value))
""",
    "one query": """
with little_memory():
    found = rw.attention(small[:1], key, value, causal=True, offset=LENGTH - 1)
expected = rw.attention(small[:1], np.array(key), np.array(value))
""",
    "attention into a file": """
with little_memory():
    assert rw.attention(key, small, small, out=out) is out
found, expected = out, rw.attention(np.array(key), small, small)
""",
    "a table": """
with little_memory():
    assert rw.sinusoidal_encoding(range(LENGTH), DIM, out=out) is out
found, expected = out[ROWS], rw.sinusoidal_encoding(ROWS, DIM, dtype=np.float32)
""",
    "rotation into a file": """
with little_memory():
    assert rw.rotate(key, out=out) is out
found, expected = out, rw.rotate(np.array(key))
""",
    "rotation in place": """
expected = rw.rotate(np.array(key))
with little_memory():
    assert rw.rotate(key, out=key) is key
found = mapped("key")
""",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_files_are_read_and_written_in_place(
    run_python: RunPython, tmp_path: Path, call: str
) -> None:
    code = f"import os; os.chdir({str(tmp_path)!r})\n{SET_UP}\n{call}\n"
    result = run_python(f"{code}\nprint(np.asarray(found).tobytes() == expected.tobytes())")
    assert (result.stdout, result.stderr) == ("True\n", "")


def test_a_file_that_is_copied_does_not_fit(run_python: RunPython, tmp_path: Path) -> None:
    code = f"import os; os.chdir({str(tmp_path)!r})\n{SET_UP}\nwith little_memory(): np.array(key)"
    assert "MemoryError" in run_python(code).stderr
