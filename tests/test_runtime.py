"""How the library runs: threads, instruction sets, forks, and what `show_config` says.

Results never depend on any of it (test_encodings.py).
"""

import ast
import asyncio
import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.conftest import FORKS, RunPython
from tests.refusals import exactly

import ropewalk as rw
from ropewalk import _core

pytestmark = pytest.mark.thread_unsafe(reason="sets the number of threads of the process")

ISAS = rw.show_config()["supported_isas"]
GET_THREADS = "import ropewalk as rw; print(rw.get_num_threads())"
GET_ISA = "import ropewalk as rw; print(rw.show_config()['isa'])"


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = rw.get_num_threads()
    yield
    rw.set_num_threads(before)


# The number of threads


def test_the_number_that_was_set_is_the_one_in_use() -> None:
    numbers: list[Any] = [1, 5, np.int8(3)]
    for n in numbers:
        rw.set_num_threads(n)
        assert rw.get_num_threads() == n


def test_a_block_sets_the_number_until_it_ends() -> None:
    rw.set_num_threads(4)
    with rw.num_threads(2):
        assert rw.get_num_threads() == 2
    assert rw.get_num_threads() == 4


def test_a_limit_may_be_used_again() -> None:
    rw.set_num_threads(4)
    limit = rw.num_threads(2)
    for _ in range(2):
        with limit:
            assert rw.get_num_threads() == 2
            with limit:
                assert rw.get_num_threads() == 2
            assert rw.get_num_threads() == 2
        assert rw.get_num_threads() == 4


def test_a_decorated_function_may_call_itself() -> None:
    rw.set_num_threads(4)

    @rw.num_threads(2)
    def again(times: int) -> int:
        return again(times - 1) if times else rw.get_num_threads()

    assert again(3) == 2
    assert rw.get_num_threads() == 4


def test_threads_may_share_a_limit() -> None:
    rw.set_num_threads(4)
    limit, both_inside = rw.num_threads(2), threading.Barrier(2)

    def inside(_: int) -> tuple[int, int]:
        with limit:
            both_inside.wait()
            number = rw.get_num_threads()
        return number, rw.get_num_threads()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(inside, range(2))) == [(2, 4)] * 2


def test_tasks_may_share_a_limit() -> None:
    rw.set_num_threads(4)
    limit = rw.num_threads(2)

    async def inside(turns: int) -> tuple[int, int]:
        with limit:
            for _ in range(turns):
                await asyncio.sleep(0)
            number = rw.get_num_threads()
        return number, rw.get_num_threads()

    async def both() -> list[tuple[int, int]]:
        return list(await asyncio.gather(inside(1), inside(3)))

    assert asyncio.run(both()) == [(2, 4)] * 2


def test_blocks_of_generators_leave_no_limit() -> None:
    rw.set_num_threads(4)

    def inside(n: int) -> Iterator[None]:
        with rw.num_threads(n):
            yield

    first, second = inside(2), inside(3)
    next(first)
    next(second)
    del first  # before the one that began later
    del second
    assert rw.get_num_threads() == 4


def test_what_runs_later_cannot_be_decorated() -> None:
    def generator() -> Iterator[int]:
        yield rw.get_num_threads()

    async def coroutine() -> int:
        return rw.get_num_threads()

    async def asynchronous_generator() -> AsyncIterator[int]:
        yield rw.get_num_threads()

    class Threads: ...

    for function in (generator, coroutine, asynchronous_generator, Threads, 3):
        message = f"num_threads must decorate a function whose body runs at once, got {function!r}"
        with pytest.raises(TypeError, match=exactly(message)):
            rw.num_threads(2)(function)  # type: ignore[type-var]


def test_blocks_nest() -> None:
    rw.set_num_threads(4)
    with rw.num_threads(3):
        with rw.num_threads(7):
            assert rw.get_num_threads() == 7
        assert rw.get_num_threads() == 3


def test_a_block_left_by_an_exception_restores_the_number() -> None:
    rw.set_num_threads(4)
    with pytest.raises(KeyError), rw.num_threads(2):
        raise KeyError
    assert rw.get_num_threads() == 4


def test_a_block_hides_what_is_set_inside_it() -> None:
    with rw.num_threads(2):
        rw.set_num_threads(6)
        assert rw.get_num_threads() == 2
    assert rw.get_num_threads() == 6


def test_another_thread_sees_the_block_where_it_inherits_the_context() -> None:
    rw.set_num_threads(4)
    seen: list[int] = []
    with rw.num_threads(2):
        other = threading.Thread(target=lambda: seen.append(rw.get_num_threads()))
        other.start()
        other.join()
    assert seen == [2 if getattr(sys.flags, "thread_inherit_context", 0) else 4]


def test_tasks_do_not_see_the_blocks_of_each_other() -> None:
    async def number_in_a_block(n: int) -> int:
        with rw.num_threads(n):
            await asyncio.sleep(0)
            return rw.get_num_threads()

    async def both() -> tuple[int, int]:
        return await asyncio.gather(number_in_a_block(2), number_in_a_block(3))

    assert tuple(asyncio.run(both())) == (2, 3)


@pytest.mark.parametrize("n", [64, 1024], ids=str)
def test_more_threads_than_there_are_processors_may_be_asked_for(n: int) -> None:
    expected = rw.sinusoidal_encoding(range(9), 4)
    with rw.num_threads(n):
        assert rw.get_num_threads() == n
        np.testing.assert_array_equal(rw.sinusoidal_encoding(range(9), 4), expected)


@pytest.mark.parametrize("n", [0, -1, -(2**70), 1025, 2**31, 2**70], ids=str)
def test_a_number_of_threads_out_of_range_is_refused(n: int) -> None:
    with pytest.raises(ValueError, match=f"n must be an integer from 1 to 1024, got {n}$"):
        rw.set_num_threads(n)
    with pytest.raises(ValueError, match=f"n must be an integer from 1 to 1024, got {n}$"):
        rw.num_threads(n)


@pytest.mark.parametrize("n", [2.0, "2", None, 2j], ids=repr)
def test_a_number_of_threads_that_is_no_integer_is_refused(n: Any) -> None:
    before = rw.get_num_threads()
    with pytest.raises(TypeError, match="n must be an integer, got"):
        rw.set_num_threads(n)
    with pytest.raises(TypeError, match="n must be an integer, got"):
        rw.num_threads(n)
    assert rw.get_num_threads() == before


# The environment


@pytest.mark.parametrize("number", ["1", "3", "64"])
def test_the_environment_says_the_number_of_threads(run_python: RunPython, number: str) -> None:
    result = run_python(GET_THREADS, ROPEWALK_NUM_THREADS=number)
    assert (result.stdout, result.returncode) == (f"{number}\n", 0)


@pytest.mark.parametrize(
    "number", ["0", "-1", "1.5", "two", " ", "1e3", "²", "1025", "00001", "0102499999", str(2**70)]
)
def test_an_environment_that_says_no_number_is_refused(run_python: RunPython, number: str) -> None:
    result = run_python(GET_THREADS, ROPEWALK_NUM_THREADS=number, PYTHONIOENCODING="utf-8")
    message = f"ImportError: ROPEWALK_NUM_THREADS must be an integer from 1 to 1024, got {number!r}"
    assert result.stderr.splitlines()[-1] == message
    assert result.returncode == 1


def test_threads_are_at_most_the_processors(run_python: RunPython) -> None:
    for variables in ({}, {"ROPEWALK_NUM_THREADS": ""}):
        result = run_python(GET_THREADS, **variables)
        assert 1 <= int(result.stdout) <= (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity")
def test_threads_are_at_most_the_processors_of_the_process(run_python: RunPython) -> None:
    one = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); "
    assert run_python(one + GET_THREADS).stdout == "1\n"


@pytest.mark.parametrize("isa", ISAS)
def test_the_environment_forces_an_instruction_set(run_python: RunPython, isa: str) -> None:
    result = run_python(GET_ISA, ROPEWALK_ISA=isa)
    assert (result.stdout, result.returncode) == (f"{isa}\n", 0)


def test_the_first_instruction_set_is_used_where_none_is_said(run_python: RunPython) -> None:
    assert run_python(GET_ISA).stdout == f"{ISAS[0]}\n"
    assert run_python(GET_ISA, ROPEWALK_ISA="").stdout == f"{ISAS[0]}\n"


@pytest.mark.parametrize("isa", ["sse2", "AVX2", "scalar ", "avx"])
def test_an_unknown_instruction_set_is_refused(run_python: RunPython, isa: str) -> None:
    result = run_python(GET_ISA, ROPEWALK_ISA=isa)
    message = (
        f"ImportError: ROPEWALK_ISA must be one of {tuple(ISAS)} on this processor, got '{isa}'"
    )
    assert result.stderr.splitlines()[-1] == message
    assert result.returncode == 1


# Older processors, emulated

DIGESTS = """
import hashlib
import numpy as np
import ropewalk as rw

rng = np.random.default_rng(20170612)
x = rng.standard_normal((2, 70, 64))
results = {"isa": rw.show_config()["isa"]}
for dtype in (np.float64, np.float32, np.float16):
    q = x.astype(dtype)
    for name, result in {
        "table": rw.sinusoidal_encoding(range(300), 64, dtype=dtype),
        "table of any positions": rw.sinusoidal_encoding(1e6 * x[0, 0], 64, dtype=dtype),
        "rotation": rw.rotate(q),
        "rotation of halves": rw.rotate(q, range(9000, 9070), pairing="half"),
        "softmax": rw.softmax(q, axis=1),
        "attention": rw.attention(q, q[:, ::-1], q, causal=True),
        "decoding": rw.attention(q[:, :1], q, q, softcap=2.0),
    }.items():
        results[name, np.dtype(dtype).name] = hashlib.sha256(result.tobytes()).hexdigest()
print(results)
"""


def qemu_version() -> tuple[int, ...]:
    said = subprocess.run(["qemu-x86_64", "--version"], capture_output=True, text=True, check=True)
    return tuple(map(int, said.stdout.split("version ", 1)[1].split(".")[:2]))


# Nehalem has what NumPy asks for at least, and no AVX.
@pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("qemu-x86_64") is None,
    reason="there is no qemu-x86_64, or Python runs on another processor",
)
@pytest.mark.parametrize(("cpu", "isa"), [("Nehalem", "scalar"), ("Haswell", "avx2")])
def test_an_older_processor_gives_the_same_bits(run_python: RunPython, cpu: str, isa: str) -> None:
    if isa == "avx2" and qemu_version() < (7, 2):
        pytest.skip("this QEMU knows no AVX2")
    here = run_python(DIGESTS)
    assert here.returncode == 0, here.stderr
    # What the environment says of the processor here is not so there.
    own = {k: v for k, v in os.environ.items() if not k.startswith(("ROPEWALK_", "OPENBLAS_"))}
    command = ["qemu-x86_64", "-cpu", cpu, sys.executable, "-X", "faulthandler", "-c", DIGESTS]
    # An instruction that the processor lacks ends every try; QEMU itself once ended one so.
    for _ in range(3):
        emulated = subprocess.run(
            command,
            env=own,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        if emulated.returncode == 0:
            break
    assert emulated.returncode == 0, emulated.stderr
    assert ast.literal_eval(emulated.stdout) == ast.literal_eval(here.stdout) | {"isa": isa}


# The pool


def large_table() -> NDArray[np.float64]:
    return rw.sinusoidal_encoding(range(20000), 64)


@pytest.mark.skipif(sys.platform != "linux", reason="counts the threads in /proc")
def test_threads_start_with_the_first_call_that_is_worth_them(run_python: RunPython) -> None:
    result = run_python("""
import os
import ropewalk as rw

print(len(os.listdir("/proc/self/task")))
with rw.num_threads(5):
    rw.sinusoidal_encoding(range(9), 4)
    print(len(os.listdir("/proc/self/task")))
    rw.sinusoidal_encoding(range(20000), 64)
    print(len(os.listdir("/proc/self/task")))
""")
    before, after_a_small_call, after_a_large_call = map(int, result.stdout.split())
    assert after_a_small_call == before
    assert after_a_large_call == before + 4


def test_threads_of_python_may_call_at_once() -> None:
    expected = large_table()
    rw.set_num_threads(3)
    with ThreadPoolExecutor(8) as pool:
        for table in [pool.submit(large_table) for _ in range(40)]:
            np.testing.assert_array_equal(table.result(), expected)


def test_threads_of_python_may_share_new_frequencies() -> None:
    radians = np.linspace(1, 0, 32)
    expected = rw.sinusoidal_encoding(range(2000), frequencies=rw.frequencies.from_radians(radians))
    for _ in range(20):
        call = partial(
            rw.sinusoidal_encoding, range(2000), frequencies=rw.frequencies.from_radians(radians)
        )
        with ThreadPoolExecutor(4) as pool:
            tables = [pool.submit(call) for _ in range(4)]
        for table in tables:
            np.testing.assert_array_equal(table.result(), expected)


FORK = """
import os, signal
import numpy as np
import ropewalk as rw

def table():
    return rw.sinusoidal_encoding(range(20000), 64)

rw.set_num_threads(3)
before = table()
child = os.fork()
if child == 0:
    signal.alarm(30)
    grandchild = os.fork()
    same = np.array_equal(table(), before) and np.array_equal(table(), before)
    if grandchild == 0:
        os._exit(0 if same else 1)
    _, status = os.waitpid(grandchild, 0)
    os._exit(os.waitstatus_to_exitcode(status) if same else 2)
_, status = os.waitpid(child, 0)
assert np.array_equal(table(), before)
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_children_forked_after_a_call_may_call_too(run_python: RunPython) -> None:
    result = run_python(FORK)
    assert (result.stdout, result.returncode) == ("0\n", 0)


FORK_IN_A_CALL = """
import os, signal, time
import numpy as np
import ropewalk as rw

children = []
signal.signal(signal.SIGALRM, lambda *_: children.append(os.fork()))
x = np.random.default_rng(0).standard_normal((1, 1000, 64), np.float32)
rw.set_num_threads(THREADS)
seconds = []
for _ in range(3):
    start = time.perf_counter()
    rw.attention(x, x, x)
    seconds.append(time.perf_counter() - start)
x = np.broadcast_to(x, (max(2, int(0.5 / min(seconds))), 1000, 64))
signal.setitimer(signal.ITIMER_REAL, 0.05)  # about a tenth of the call
try:
    rw.attention(x, x, x)
except RuntimeError as error:
    assert children == [0]
    said = "a signal handler forked in the middle of this call"
    small = rw.attention(x[:, :100], x, x)  # by threads of its own
    os._exit(0 if str(error) == said and np.isfinite(small).all() else 1)
assert children and children[0] > 0
_, status = os.waitpid(children[0], 0)
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_forked_in_the_middle_of_a_call_is_told(
    run_python: RunPython, threads: int
) -> None:
    result = run_python(FORK_IN_A_CALL.replace("THREADS", str(threads)), PYTHONWARNINGS=FORKS)
    assert (result.stdout, result.stderr) == ("0\n", "")


FORK_AND_COUNT = """
import os, signal
import ropewalk as rw

rw.set_num_threads(3)
rw.sinusoidal_encoding(range(20000), 64)
child = os.fork()
if child == 0:
    signal.alarm(30)
    rw.sinusoidal_encoding(range(20000), 64)
    os._exit(len(os.listdir("/proc/self/task")))
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts the threads in /proc")
def test_a_forked_child_starts_threads_of_its_own(run_python: RunPython) -> None:
    assert run_python(FORK_AND_COUNT).stdout == "3\n"


FEW_TASKS = """
import os, time
from pathlib import Path
import ropewalk as rw

def counted():
    found = {}
    for task in Path("/proc/self/task").iterdir():
        lines = (task / "status").read_text().splitlines()
        found[task.name] = next(line for line in lines if line.startswith("voluntary"))
    del found[str(os.getpid())]
    return found

def switches():
    before = None
    while before != (found := counted()):  # until all sleep
        before = found
        time.sleep(0.2)
    return found

rw.set_num_threads(8)
rw.sinusoidal_encoding(range(50000), 64)
before = switches()
with rw.num_threads(2):
    rw.sinusoidal_encoding(range(50000), 64)
after = switches()
print(len(before), sum(before[task] != after[task] for task in before))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at threads in /proc")
def test_a_call_wakes_no_more_threads_than_it_has(run_python: RunPython) -> None:
    assert run_python(FEW_TASKS, OPENBLAS_NUM_THREADS="1").stdout == "7 1\n"


BLOCKED = """
import os, signal
import ropewalk as rw

rw.set_num_threads(3)
rw.sinusoidal_encoding(range(20000), 64)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
os.kill(os.getpid(), signal.SIGTERM)
print(signal.sigwait({signal.SIGTERM}).name)
"""

# The system blocks every signal of a thread that has not begun yet; these sleep when they have.
FAULTS = """
import os, signal, time
from pathlib import Path
import ropewalk as rw

def status(task):
    return dict(line.split(":\\t", 1) for line in (task / "status").read_text().splitlines())

rw.set_num_threads(3)
rw.sinusoidal_encoding(range(20000), 64)
for task in Path("/proc/self/task").iterdir():
    if task.name != str(os.getpid()):
        while not status(task)["State"].startswith("S"):
            time.sleep(0.01)
        blocked = int(status(task)["SigBlk"], 16)
        print(*(blocked >> number - 1 & 1 for number in (signal.SIGSEGV, signal.SIGTERM)))
"""


@pytest.mark.skipif(not hasattr(signal, "sigwait"), reason="the system has no such signals")
def test_signals_that_the_program_blocks_are_its_own(run_python: RunPython) -> None:
    assert run_python(BLOCKED, OPENBLAS_NUM_THREADS="1").stdout == "SIGTERM\n"


@pytest.mark.skipif(sys.platform != "linux", reason="looks at threads in /proc")
def test_a_fault_in_a_thread_reaches_whoever_handles_faults(run_python: RunPython) -> None:
    assert run_python(FAULTS, OPENBLAS_NUM_THREADS="1").stdout == "0 1\n" * 2


# A call with little memory left: some KiB more than the process has when it is made, and none that
# is kept for the second thread, for which a result is held.
MEMORY = """
import resource
import numpy as np
import ropewalk as rw

rw.set_num_threads(2)
frequencies = rw.frequencies.standard(2**15)
out = np.zeros((2200, 2**15), np.float16)
rw.sinusoidal_encoding(range(70), frequencies=frequencies, out=out[:70])
held = rw.sinusoidal_encoding(range(20000), 16)
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + {kib} * 1024,) * 2)
try:
    rw.sinusoidal_encoding(range(2200), frequencies=frequencies, out=out)
except MemoryError:
    print("refused")
else:
    print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory by what /proc says")
@pytest.mark.parametrize("kib", [0, 100, 1000, 2000, 16000])
def test_a_call_that_runs_out_of_memory_raises(run_python: RunPython, kib: int) -> None:
    result = run_python(MEMORY.format(kib=kib))
    assert result.returncode == 0, result.stderr
    certain = {0: {"refused\n"}, 16000: {"done\n"}}
    assert result.stdout in certain.get(kib, {"refused\n", "done\n"})


# The extension module as a file


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("nm") is None,
    reason="the system's linker takes no version script, or there is no nm",
)
def test_the_core_exports_what_python_asks_for_and_nothing_else() -> None:
    command = ["nm", "--dynamic", "--defined-only", "--format=posix", _core.__file__]
    symbols = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in symbols.splitlines()] == ["PyInit__core"]


# What show_config says


def test_show_config_says_what_a_report_needs() -> None:
    config = rw.show_config()
    assert config["ropewalk"] == rw.__version__
    assert config["python"] == ".".join(map(str, sys.version_info[:3]))
    assert config["numpy"] == np.__version__
    assert config["compiler"].split()[0] in {"GNU", "Clang", "AppleClang", "MSVC"}
    assert config["isa"] in config["supported_isas"]
    assert config["matrices"] in ({None, "amx"} if config["isa"] == "avx512" else {None})
    assert config["threads"] == rw.get_num_threads()


def test_show_config_has_these_fields_and_no_others() -> None:
    fields = "ropewalk python numpy compiler isa supported_isas matrices threads extras"
    assert list(rw.show_config()) == fields.split()


def test_scalar_is_always_supported_and_the_last_choice() -> None:
    assert ISAS[-1] == "scalar"


EXTRAS = ("anywidget", "dask", "matplotlib", "ml_dtypes")


def test_show_config_says_the_versions_of_optional_packages() -> None:
    extras = rw.show_config()["extras"]
    assert extras == {name: metadata.version(name) for name in EXTRAS}


def test_show_config_says_which_optional_packages_are_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nothing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", nothing)
    assert rw.show_config()["extras"] == dict.fromkeys(EXTRAS)


def test_show_config_says_the_number_of_threads_of_the_block() -> None:
    with rw.num_threads(9):
        assert rw.show_config()["threads"] == 9


def test_a_changed_configuration_is_not_kept() -> None:
    rw.show_config()["supported_isas"].clear()
    assert rw.show_config()["supported_isas"] == ISAS
