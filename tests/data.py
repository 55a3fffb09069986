"""Data of every dtype, in every pairing, bits that are compared, and how bright a colour is."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from ropewalk._options import Pairing

PAIRINGS: list[Pairing] = ["interleaved", "half"]
DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(name) for name in ("float64", "float32", "float16")
} | {"bfloat16": np.dtype(ml_dtypes.bfloat16)}
# u, half the spacing of the numbers above 1
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}

pairings = pytest.mark.parametrize("pairing", PAIRINGS)
dtypes = pytest.mark.parametrize("dtype", DTYPES)


def assert_same_bits(actual: NDArray[Any], expected: NDArray[Any]) -> None:
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    words = f"u{actual.itemsize}"
    a, b = np.ascontiguousarray(actual), np.ascontiguousarray(expected)
    np.testing.assert_array_equal(a.view(words), b.view(words))


def rows(shape: int | tuple[int, ...], dtype: str = "float64", seed: int = 0) -> NDArray[Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(DTYPES[dtype])


def unaligned(x: NDArray[Any]) -> NDArray[Any]:
    memory = np.zeros(x.nbytes + 1, np.uint8)
    result = memory[1:].view(x.dtype).reshape(x.shape)
    result[...] = x
    return result


def luminance(colour: ArrayLike) -> float:
    """Return the relative luminance of red, green and blue from 0 to 1, as WCAG 2.2 defines it."""
    channels = np.asarray(colour, np.float64)[:3]
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
