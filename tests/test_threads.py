"""Many threads of Python call everything at once, while numbers of threads change and calls stop.

``SOAK_SECONDS=60`` in the environment makes the soak as long.
"""

import _thread
import os
import random
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, Thread, Timer
from typing import Any

import numpy as np
import pytest
from tests.conftest import RunPython

import ropewalk as rw

pytestmark = pytest.mark.thread_unsafe(reason="starts threads itself, and interrupts the first")

SECONDS = float(os.environ.get("SOAK_SECONDS", "2"))
THREADS = 8


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = rw.get_num_threads()
    yield
    rw.set_num_threads(before)


def refused(call: Callable[[], Any], message: str) -> str:
    with pytest.raises(ValueError, match=message) as refusal:
        call()
    return str(refusal.value)


def calls_with(rng: np.random.Generator) -> dict[str, Callable[[], Any]]:
    """Calls large enough for the pool beside small ones, by every way into the core."""
    x = rng.standard_normal((4, 500, 64), np.float32)
    q, k, v = rng.standard_normal((3, 4, 200, 32), np.float32)
    weight = rng.standard_normal((96, 96))
    queries = rng.standard_normal((150, 96))
    positions = rng.integers(-(2**53), 2**53, 500)
    start = int(positions[0])
    radians = rng.random(32)
    return {
        "table": partial(rw.sinusoidal_encoding, range(start, start + 3000), 64, dtype=np.float32),
        "small table": partial(rw.sinusoidal_encoding, [0.5, start], 4),
        "any positions": partial(rw.sinusoidal_encoding, positions, 64),
        "new frequencies": lambda: rw.sinusoidal_encoding(
            range(500), frequencies=rw.frequencies.from_radians(radians)
        ),
        "shift": partial(rw.shift_matrix, positions[:50], 32),
        "rotation": partial(rw.rotate, x, positions),
        "rotation by new frequencies": lambda: rw.rotate(
            x, frequencies=rw.frequencies.from_radians(radians)
        ),
        "rotation by tables": lambda: rw.rotate_by(x, *rw.rotary_tables(positions, 64)),
        "softmax": partial(rw.softmax, x, axis=1),
        "log-sum-exp": partial(rw.logsumexp, x.astype(np.float64), axis=1),
        "attention": partial(rw.attention, q, k, v, causal=True),
        "a bias of another type": partial(rw.attention, q, k, v, bias=rng.random((4, 200, 200))),
        "decoding": partial(rw.attention, q[:, :1], k, v, causal=True, offset=199),
        "weights": partial(rw.attention_weights, q, k, window=(50, 0)),
        "merged parts": lambda: rw.merge_attention([x, 2 * x], [x[..., 0], x[..., 1]])[0],
        "partial attention": lambda: np.concatenate(
            [part.ravel() for part in rw.attention_with_lse(q, k, v, window=(50, 0))]
        ),
        "heads": partial(
            rw.multi_head_attention,
            queries,
            heads=4,
            query_weight=weight,
            key_weight=weight,
            value_weight=weight,
        ),
        "refusal": partial(
            refused, partial(rw.rotate, x, range(start % 100)), r"^positions must have no axis"
        ),
    }


@pytest.fixture(scope="module")
def calls() -> dict[str, Callable[[], Any]]:
    """Give every call twice, with other data: what two calls share shows in the bits of one."""
    return {
        f"{name} of data {seed}": call
        for seed in (20170612, 20210420)
        for name, call in calls_with(np.random.default_rng(seed)).items()
    }


def bits(result: Any) -> bytes:
    return result.encode() if isinstance(result, str) else result.tobytes()


def soak(calls: dict[str, Callable[[], Any]], expected: dict[str, bytes], seed: int) -> int:
    """Make calls until the time is over, and return how many."""
    choose = random.Random(seed)
    end = time.monotonic() + SECONDS
    made = 0
    while time.monotonic() < end:
        name = choose.choice(list(calls))
        if choose.random() < 0.2:
            rw.set_num_threads(choose.randint(1, 6))
        with rw.num_threads(choose.randint(1, 6)):
            assert bits(calls[name]()) == expected[name], name
        assert bits(calls[name]()) == expected[name], name
        made += 2
    return made


class Interrupted(Exception):
    """What the signal raises."""


@pytest.fixture
def interruptible() -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGINT, interrupt)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(call: Callable[[], Any]) -> None:
    timer = Timer(0.1, _thread.interrupt_main)
    timer.start()
    call()
    timer.join()


@pytest.mark.usefixtures("interruptible")
@pytest.mark.timeout(900 + 2 * SECONDS)
def test_results_do_not_depend_on_what_other_threads_do(
    calls: dict[str, Callable[[], Any]],
) -> None:
    with rw.num_threads(1):
        expected = {name: bits(call()) for name, call in calls.items()}
    q = np.ones((8, 4000, 64), np.float32)  # some seconds of work, if nobody stops it
    with ThreadPoolExecutor(THREADS) as pool:
        soaks = [pool.submit(soak, calls, expected, seed) for seed in range(THREADS)]
        while not all(one.done() for one in soaks):
            with pytest.raises(Interrupted):
                interrupted(partial(rw.attention, q, q, q))
        assert min(one.result() for one in soaks) > 0


@pytest.fixture
def turns() -> Iterator[list[int]]:
    """What another thread has done, which has the interpreter's lock only where it is given up."""
    done, over = [0], Event()

    def work() -> None:
        while not over.is_set():
            done[0] += 1
            time.sleep(0)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    thread = Thread(target=work)
    thread.start()
    yield done
    over.set()
    thread.join()
    sys.setswitchinterval(interval)


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="has no such lock")
@pytest.mark.parametrize("small", [True, False], ids=["small", "large"])
def test_small_calls_keep_the_lock_of_the_interpreter(turns: list[int], small: bool) -> None:
    """To get it back from a thread that runs Python takes longer than they do."""
    x = np.ones((2, 4, 8) if small else (2, 300, 200), np.float32)
    calls: list[Callable[[], Any]] = [
        lambda: rw.sinusoidal_encoding(range(len(x[0])), x.shape[-1]),
        lambda: rw.rotary_tables(range(len(x[0])), x.shape[-1]),
        lambda: rw.rotate(x),
        lambda: rw.softmax(x),
        lambda: rw.logsumexp(x),
        lambda: rw.attention(x, x, x),
        lambda: rw.attention_with_lse(x, x, x, sinks=0.5),
        lambda: rw.merge_attention(x, x[..., 0].astype(np.float64)),
    ]
    for call in calls:
        call()  # what is made once is made
        before, end = turns[0], time.monotonic() + 20
        for _ in range(200):
            call()
        while not small and turns[0] == before and time.monotonic() < end:
            call()
        assert (turns[0] == before) == small


IN_A_SUBINTERPRETER = """
try:
    import _interpreters
except ModuleNotFoundError:  # before Python 3.13
    import _xxsubinterpreters as _interpreters

_interpreters.run_string(_interpreters.create(), '''
import warnings

warnings.simplefilter("ignore")  # NumPy warns before it is asked for much
try:
    import ropewalk
except ImportError as error:
    print("refused:", error)
''')
"""


def test_a_subinterpreter_is_refused(run_python: RunPython) -> None:
    result = run_python(IN_A_SUBINTERPRETER)
    assert re.match("refused: .*interpreter", result.stdout)
    assert result.returncode == 0


DAEMONS = """
import threading, time
import numpy as np
import ropewalk as rw

x = np.ones((600, 64), np.float32)


def call() -> None:
    while True:
        rw.softmax(x)
        rw.attention(x, x, x)
        rw.rotate(x)


for _ in range(3):
    threading.Thread(target=call, daemon=True).start()
time.sleep(0.05)
"""


def test_the_interpreter_may_end_while_daemon_threads_call(run_python: RunPython) -> None:
    for threads in "12":
        result = run_python(DAEMONS, ROPEWALK_NUM_THREADS=threads)
        assert (result.returncode, result.stderr) == (0, "")


def test_the_interpreter_may_end_while_daemon_threads_are_in_long_calls(
    run_python: RunPython,
) -> None:
    long = DAEMONS.replace("x = ", "x = np.ones((12_000, 64), np.float32)  # ", 1)
    for threads in "12":
        result = run_python(long.replace("0.05", "0.3"), ROPEWALK_NUM_THREADS=threads)
        assert (result.returncode, result.stderr) == (0, "")
