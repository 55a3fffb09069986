"""Long calls can be interrupted, and leave nothing behind."""

import math

import pytest
from tests.conftest import RunPython

INTERRUPTED = """
import os, signal, threading, time
import numpy as np
import ropewalk as rw

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
x = np.random.default_rng(0).standard_normal((60000, 64))
row, columns = np.broadcast_to(np.float32(1), (2**34,)), np.broadcast_to(np.float32(1), (2**31, 8))
data = np.zeros(2**26, np.float32)
scattered, table = 31 * np.arange(2**13)[::-1] % 2**13, data.reshape(-1, 2**13)
sent = 0.0

def interrupt():
    global sent
    time.sleep(0.1)  # no call may end before
    sent = time.process_time()
    os.kill(os.getpid(), signal.SIGINT)

rw.set_num_threads(1)
for _ in range(3):
    waited = float("inf")
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        CALL
    except KeyboardInterrupt:
        waited = time.process_time() - sent
    thread.join()
    print(waited)

small = x[:3, :2]
powers = np.exp(small @ small.T / np.sqrt(2))
expected = powers @ small / powers.sum(axis=1, keepdims=True)
print(np.abs(rw.attention(small, small, small) - expected).max())
"""


@pytest.mark.parametrize(
    ("call", "isa", "pieces"),
    [
        ("rw.attention(x, x, x)", None, 1),
        ("rw.rotation_matrix(range(250), 1024)", None, 1),
        ("rw.logsumexp(row)", None, 1),
        ("rw.logsumexp(columns, axis=0)", None, 1),
        ("rw.softmax(data, out=data)", "scalar", 1),  # others are too fast
        ("rw.merge_attention(2 * [data[: 2**22, None]], np.zeros((2, 2**22)))", "scalar", 3),
        ("rw.sinusoidal_encoding(scattered, 2**13, out=table)", "scalar", 3),
        ("rw.rotate(table, scattered, out=table)", "scalar", 3),
    ],
)
def test_a_long_call_can_be_interrupted(
    call: str, isa: str | None, pieces: int, run_python: RunPython
) -> None:
    """Each piece of work looks for signals 50 ms after it has begun."""
    result = run_python(INTERRUPTED.replace("CALL", call), ROPEWALK_ISA=isa)
    assert result.stderr == ""
    *waited, error = map(float, result.stdout.split())
    assert len(waited) == 3
    assert max(waited) < math.inf
    assert min(waited) < 0.2 * pieces
    assert error < 1e-15
