"""Numbers in another dtype: in what is computed, and in what data have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropewalk import _core, _results
from ropewalk._runtime import get_num_threads

_FLOAT16 = np.dtype(np.float16)
# From so many elements on the core is faster than NumPy, which takes up to twenty times as long for
# float16; bfloat16 becomes float32 as fast by ml_dtypes, but on one thread.
_LEAST, _LEAST_OF_BFLOAT16 = 1 << 9, 1 << 18


def in_dtype(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return floating-point numbers in a dtype, each rounded once; themselves if they have it."""
    if array.dtype == dtype:
        return array
    is_between_half_type_and_float32 = array.itemsize + dtype.itemsize == 2 + 4
    widens_another = dtype.itemsize == 4 and array.dtype != _FLOAT16
    least = _LEAST_OF_BFLOAT16 if widens_another else _LEAST
    if array.size < least or not is_between_half_type_and_float32:
        if dtype.itemsize > array.itemsize:
            return array.astype(dtype)
        # Beyond the largest number lies infinity. To ask NumPy for silence takes microseconds.
        with np.errstate(all="ignore"):
            return array.astype(dtype)
    if not array.flags.c_contiguous and array.T.flags.c_contiguous:
        return in_dtype(array.T, dtype).T
    result = _results.empty(array.shape, dtype)
    _core.convert(_results.in_order(array), result, get_num_threads())
    return result
