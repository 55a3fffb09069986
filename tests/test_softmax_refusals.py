"""What softmax and log-sum-exp refuse, and in which words."""

import math
import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from tests.refusals import exactly

import ropewalk as rw

FUNCTIONS: dict[str, Callable[..., NDArray[Any]]] = {
    "softmax": rw.softmax, "logsumexp": rw.logsumexp,
}  # fmt: skip
functions = pytest.mark.parametrize("function", FUNCTIONS)
X = np.ones((2, 3))
BAD: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "complex": (
        np.ones(3, complex), {}, TypeError,
        "x must be integers, float64, float32, float16 or bfloat16, got dtype complex128",
    ),
    "objects": (
        np.ones(3, object), {}, TypeError,
        "x must be integers, float64, float32, float16 or bfloat16, got dtype object",
    ),
    "8-bit floats": (  # of NumPy's kind "f", as float16
        np.ones((2, 3), ml_dtypes.float8_e5m2), {}, TypeError,
        "x must be integers, float64, float32, float16 or bfloat16, got dtype float8_e5m2",
    ),
    "text": (
        "12", {}, TypeError,
        "x must be integers, float64, float32, float16 or bfloat16, got dtype <U2",
    ),
    "truths": (
        [True, False], {}, TypeError,
        "x must be integers, float64, float32, float16 or bfloat16, got dtype bool",
    ),
    "a number": (3.0, {}, ValueError, "x must have at least one dimension, got a number"),
    "an axis too many": (
        X, {"axis": 2}, ValueError, "axis must be an axis of x, which has 2 dimensions, got 2",
    ),
    "a negative axis too many": (
        X, {"axis": -3}, ValueError, "axis must be an axis of x, which has 2 dimensions, got -3",
    ),
    "a fraction of an axis": (
        X, {"axis": 0.0}, TypeError, "axis must be an integer, got 0.0",
    ),
    "two axes": (X, {"axis": (0, 1)}, TypeError, "axis must be an integer, got (0, 1)"),
    "no axis": (X, {"axis": None}, TypeError, "axis must be an integer, got None"),
    "a mask of numbers": (
        X, {"mask": np.ones((2, 3))}, TypeError,
        "mask must be boolean, True where something counts, got dtype float64",
    ),
    "a mask of another shape": (
        X, {"mask": np.ones(2, bool)}, ValueError,
        "mask must broadcast to the shape of x, (2, 3), got shape (2,)",
    ),
    "a mask of more axes": (
        X, {"mask": np.ones((1, 2, 3), bool)}, ValueError,
        "mask must broadcast to the shape of x, (2, 3), got shape (1, 2, 3)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
@functions
def test_bad_arguments_are_refused(function: str, case: str) -> None:
    x, options, error, message = BAD[case]
    with pytest.raises(error, match=exactly(message)):
        FUNCTIONS[function](x, **options)


@functions
def test_ragged_data_is_refused(function: str) -> None:
    with pytest.raises(ValueError, match=r"^x must be an array of numbers: "):
        FUNCTIONS[function]([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize(
    ("scale", "error", "message"),
    [
        (math.nan, ValueError, "scale must be finite, got nan"),
        (-math.inf, ValueError, "scale must be finite, got -inf"),
        (10**400, ValueError, "scale must be finite, got an integer of 1329 bits"),
        ("1", TypeError, "scale must be a real number, got '1'"),
        (1j, TypeError, "scale must be a real number, got 1j"),
        (True, TypeError, "scale must be a real number, got True"),
        (np.ones(3), TypeError, "scale must be a real number, got an array of shape (3,)"),
    ],
    ids=lambda value: repr(value)[:9],
)
def test_scale_must_be_finite(scale: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=exactly(message)):
        rw.softmax(X, scale=scale)


@pytest.mark.parametrize("precision", ["float32", np.float64, ""])
def test_precision_must_be_known(precision: Any) -> None:
    message = f"precision must be one of 'float64', got {precision!r}"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.softmax(X, precision=precision)


def test_out_must_fit() -> None:
    x = np.ones((4, 4))
    whole = np.full((4, 5), 7.0)
    mask = np.full((4, 4), fill_value=True)
    read_only = np.broadcast_to(0.0, (4, 4))
    calls: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        (x, {"out": [0.0]}, TypeError, "out must be a NumPy array, got list"),
        (x, {"out": np.ones(4)}, ValueError, "out must have shape (4, 4), got (4,)"),
        (
            x, {"out": np.ones((4, 4), "f4")}, ValueError,
            "out must have dtype float64, got float32",
        ),
        (x, {"out": read_only}, ValueError, "out must be writable, got a read-only array"),
        (
            whole[:, :4], {"out": whole[:, 1:]}, ValueError,
            "out must be x itself or share no memory with it, got memory that both share",
        ),
        (
            x.astype(np.uint8), {"out": mask.view(np.uint8)}, ValueError,
            "out must have dtype float64, got uint8",
        ),
    ]  # fmt: skip
    for data, options, error, message in calls:
        with pytest.raises(error, match=exactly(message)):
            rw.softmax(data, **options)
    assert (whole == 7).all()


def test_whether_out_overlaps_is_known_at_once() -> None:
    """Strides of many axes would make the exact answer take seconds (it is NP-complete)."""
    memory = np.zeros(10_000_000, np.float32)
    shape = (3, 2, 3, 2, 4, 4, 4, 2, 4, 3, 2, 2)
    strides = [2218806, 1172305, 257608, 123953, 19548, 3594, 594, 299, 42, 11, 3, 1]
    others = [2218807, 1172306, 257609, 123954, 19549, 3595, 595, 299, 43, 12, 3, 1]
    x = as_strided(memory, shape, [4 * step for step in strides])
    out = as_strided(memory[2572213:], shape, [4 * step for step in others])
    start = time.perf_counter()
    with pytest.raises(ValueError, match="share no memory"):
        rw.softmax(x, out=out)
    assert time.perf_counter() - start < 1


def test_out_must_not_overlap_the_mask() -> None:
    out = np.zeros((4, 4))
    mask = out.view(bool)[:, ::8]
    message = "out must not overlap another argument, got memory that both share"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.softmax(np.ones((4, 4)), mask=mask, out=out)


@pytest.mark.parametrize("function", [rw.softmax, rw.logsumexp])
def test_a_mask_must_not_be_longer_than_x(function: Any) -> None:
    message = "mask must broadcast to the shape of x, (1,), got shape (3,)"
    with pytest.raises(ValueError, match=exactly(message)):
        function(np.ones(1), mask=np.ones(3, bool))
