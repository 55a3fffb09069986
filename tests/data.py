"""Data of every dtype, pairing and layout, bits compared, calls shared, how bright a colour is."""

from collections.abc import Callable
from typing import Any, TypeVar

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import ropewalk as rw
from ropewalk import _core
from ropewalk._options import Pairing

PAIRINGS: list[Pairing] = ["interleaved", "half"]
DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(name) for name in ("float64", "float32", "float16")
} | {"bfloat16": np.dtype(ml_dtypes.bfloat16)}
# u, half the spacing of the numbers above 1
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
LARGEST = 2**53  # of positions

pairings = pytest.mark.parametrize("pairing", PAIRINGS)
dtypes = pytest.mark.parametrize("dtype", DTYPES)


def assert_same_bits(actual: NDArray[Any], expected: NDArray[Any]) -> None:
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    words = f"u{actual.itemsize}"
    a, b = np.ascontiguousarray(actual), np.ascontiguousarray(expected)
    np.testing.assert_array_equal(a.view(words), b.view(words))


Result = TypeVar("Result")


def by_threads(threads: int, call: Callable[[], Result]) -> Result:
    """Share a call of 512 KiB and more, as if it cost nothing to wake threads."""
    for _ in range(20):  # each is a quarter of what is known
        _core.waking_took(0)
    with rw.num_threads(threads):
        return call()


def rows(shape: int | tuple[int, ...], dtype: str = "float64", seed: int = 0) -> NDArray[Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(DTYPES[dtype])


def unaligned(x: NDArray[Any]) -> NDArray[Any]:
    memory = np.zeros(x.nbytes + 1, np.uint8)
    result = memory[1:].view(x.dtype).reshape(x.shape)
    result[...] = x
    return result


Lay = Callable[[NDArray[Any]], NDArray[Any]]
# The same values, lying differently.
LAYOUTS: dict[str, Lay] = {
    "C order": lambda x: x,
    "Fortran order": np.asfortranarray,
    "features apart": lambda x: x.swapaxes(-1, -2).copy().swapaxes(-1, -2),
    "heads behind lengths": lambda x: x.swapaxes(0, -2).copy().swapaxes(0, -2),
    "reversed": lambda x: x[..., ::-1, :].copy()[..., ::-1, :],
    "reversed features": lambda x: x[..., ::-1].copy()[..., ::-1],
    "every second row": lambda x: x.repeat(2, axis=-2)[..., ::2, :],
    "every second feature": lambda x: x.repeat(2, axis=-1)[..., ::2],
    "unaligned": unaligned,
}
layouts = pytest.mark.parametrize("layout", LAYOUTS)


def smallest_subnormal(dtype: np.dtype[Any]) -> float:
    limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return float(limits.smallest_subnormal)


def luminance(colour: ArrayLike) -> float:
    """Return the relative luminance of red, green and blue from 0 to 1, as WCAG 2.2 defines it."""
    channels = np.asarray(colour, np.float64)[:3]
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
