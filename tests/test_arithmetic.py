"""What the core computes heeds no arithmetic that another library has left the thread in."""

import ctypes
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.data import assert_same_bits, by_threads

import ropewalk as rw

pytestmark = [
    pytest.mark.skipif(
        platform.system() != "Linux" or platform.machine() != "x86_64",
        reason="the arithmetic of a thread is changed by glibc's functions, for x86-64",
    ),
    pytest.mark.thread_unsafe(reason="has a thread call in odd arithmetic"),
]

# The control word of vector arithmetic lies behind the 28 bytes of the older unit's.
WORDS, CONTROL = 8, 7
FLUSHING = 0x8040  # subnormal results become 0, and subnormal numbers are read as 0
UPWARDS, DOWNWARDS, TO_ZERO = 0x4000, 0x2000, 0x6000


@contextmanager
def arithmetic(bits: int) -> Iterator[None]:
    """Have the thread flush, or round in another way."""
    library: Any = ctypes.CDLL("libm.so.6")
    before, changed = ((ctypes.c_uint32 * WORDS)() for _ in range(2))
    library.fegetenv(before)
    library.fegetenv(changed)
    changed[CONTROL] |= bits
    library.fesetenv(changed)
    try:
        yield
    finally:
        library.fesetenv(before)


RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 60))
ROWS = RNG.standard_normal((4, 300, 64)).astype(np.float32)
SMALL = np.full((1 << 12, 64), 1e-40, np.float32)
TABLES = rw.rotary_tables(range(1 << 12), 64, dtype=np.float32)
SPREAD = np.linspace(-104, 0, 4096, dtype=np.float32)
CALLS: dict[str, Callable[[], Any]] = {
    "table": partial(rw.sinusoidal_encoding, range(10**6, 10**6 + 3000), 64, dtype=np.float32),
    "small table": partial(rw.sinusoidal_encoding, [2.0**-130, 0.3, 5.0], 8, dtype=np.float32),
    "other frequencies": lambda: rw.sinusoidal_encoding(
        range(300), frequencies=rw.frequencies.from_radians([2.0**-60, 0.3])
    ),
    "matrices": partial(rw.rotation_matrix, range(100), 32),
    "blocks of matrices": partial(rw.rotation_blocks, range(100), 32),
    "rotation of subnormals": partial(rw.rotate, SMALL),
    "rotation of few": partial(rw.rotate, SMALL[:2]),
    "rotation by tables": partial(rw.rotate_by, SMALL, *TABLES),
    "attention": partial(rw.attention, ROWS, ROWS, ROWS, causal=True),
    "attention of subnormals": partial(rw.attention, X, X, X * 1e-310),
    "a few tokens": partial(rw.attention, X[:4], X[:4], X[:4]),
    "attention and its log-sum-exp": lambda: rw.attention_with_lse(X, X, X)[0],
    "weights": partial(rw.attention_weights, X, X),
    "one query": partial(rw.attention, ROWS[:, :1], ROWS, ROWS),
    "merged parts": lambda: rw.merge_attention(
        [ROWS, ROWS[::-1]], ROWS[..., :2].transpose(2, 0, 1)
    )[0],
    "softmax": partial(rw.softmax, SPREAD),
    "softmax of columns": partial(rw.softmax, ROWS, axis=1),
    "log-sum-exp": partial(rw.logsumexp, ROWS),
}


@pytest.mark.parametrize(
    "bits", [FLUSHING, UPWARDS, DOWNWARDS, TO_ZERO], ids=["flushing", "up", "down", "to zero"]
)
@pytest.mark.parametrize("name", CALLS)
def test_the_arithmetic_of_a_thread_changes_no_bit(name: str, bits: int) -> None:
    expected = CALLS[name]()
    with arithmetic(bits):
        found, repeated = (by_threads(3, CALLS[name]) for _ in range(2))
    assert_same_bits(found, expected)
    assert_same_bits(repeated, expected)


@pytest.mark.parametrize("bits", [FLUSHING, UPWARDS])
def test_a_thread_keeps_its_arithmetic(bits: int) -> None:
    tiny, three = np.full(1, 1e-310), np.full(1, 3.0)
    with arithmetic(bits):
        before = tiny / 2, 1 / three
        CALLS["rotation of subnormals"]()
        after = tiny / 2, 1 / three
    assert_same_bits(np.array(before), np.array(after))
    assert not np.array_equal(before, (tiny / 2, 1 / three))
