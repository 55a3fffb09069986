"""The one place where arguments are converted and checked.

Every message names the argument, what was expected and what came.
"""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ropewalk import _core

LARGEST_POSITION = 2**53
LARGEST_DIM = 2**20
_FLOAT64 = np.dtype(np.float64)
_REAL_FLOATS = frozenset({np.float64, np.float32, np.float16})


def integer(name: str, value: object) -> int:
    """Return `value` as an int; anything that is no integer raises TypeError."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        msg = f"{name} must be an integer, got {value!r}"
        raise TypeError(msg) from None


def positive_integer(name: str, value: object, largest: int) -> int:
    """Return `value` as an int from 1 to `largest`."""
    number = integer(name, value)
    if not 1 <= number <= largest:
        msg = f"{name} must be an integer from 1 to {largest}, got {number}"
        raise ValueError(msg)
    return number


def even_dim(value: object) -> int:
    """Return the width of an encoding: even, from 2 to `LARGEST_DIM`."""
    dim = integer("dim", value)
    if dim < 2 or dim % 2 or dim > LARGEST_DIM:
        msg = f"dim must be an even integer from 2 to {LARGEST_DIM}, got {dim}"
        raise ValueError(msg)
    return dim


def positive_number(name: str, value: object) -> float:
    """Return `value` as a finite float above 0."""
    if not isinstance(value, int | float | np.integer | np.floating):
        msg = f"{name} must be a real number, got {value!r}"
        raise TypeError(msg)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not 0 < number < math.inf:
        msg = f"{name} must be positive and finite, got {number!r}"
        raise ValueError(msg)
    return number


def choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse a `value` that is none of those `allowed`."""
    if value not in allowed:
        msg = f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}"
        raise ValueError(msg)


def positions(name: str, values: ArrayLike | range) -> tuple[range | NDArray[Any], tuple[int, ...]]:
    """Return positions as the core takes them, and their shape.

    A range stays one; everything else becomes a C-contiguous array of int64 or float64. Every
    position is finite and at most 2**53 in size.
    """
    if isinstance(values, range):
        if values and not (
            -LARGEST_POSITION <= values[0] <= LARGEST_POSITION
            and -LARGEST_POSITION <= values[-1] <= LARGEST_POSITION
        ):
            _refuse_position(name, max(values[0], values[-1], key=abs))
        return values, (len(values),)
    try:
        array = np.asarray(values)
    except ValueError as error:
        msg = f"{name} must be a number, a range or an array of numbers: {error}"
        raise ValueError(msg) from None
    _refuse_kind(name, array)
    if array.dtype.kind == "u":
        too_large = array > LARGEST_POSITION
        if too_large.any():
            _refuse_position(name, array[too_large][0])
    wanted = np.float64 if array.dtype.kind == "f" else np.int64
    core = np.require(array, wanted, ["C", "A"])
    bad = _core.first_bad_position(core)
    if bad >= 0:
        _refuse_position(name, core.reshape(-1)[bad])
    return core, array.shape


def is_real_float(dtype: np.dtype[Any]) -> bool:
    """Tell whether a dtype is one of NumPy's own that float64 holds."""
    return dtype.type in _REAL_FLOATS


def _refuse_kind(name: str, array: NDArray[Any]) -> None:
    if array.dtype.kind in "iu" or is_real_float(array.dtype):
        return
    if array.dtype.kind == "O" and array.size and all(isinstance(x, int) for x in array.flat):
        largest = max(array.flat, key=abs)  # NumPy makes objects of integers that no dtype holds
        if abs(largest) > LARGEST_POSITION:
            _refuse_position(name, largest)
    msg = f"{name} must be integers, float64, float32 or float16, got dtype {array.dtype}"
    raise TypeError(msg)


def _refuse_position(name: str, value: object) -> None:
    if isinstance(value, int) and value.bit_length() > 1000:
        value = f"an integer of {value.bit_length()} bits"  # Python refuses to print the longest
    msg = f"{name} must be finite and at most 2**53 in size, got {value}"
    raise ValueError(msg)


def table_dtype(dtype: DTypeLike | None, out: NDArray[Any] | None) -> np.dtype[Any]:
    """Return the dtype of a table: the one asked for, or that of `out`, or float64."""
    if dtype is None:
        return _checked_dtype("out", out.dtype) if isinstance(out, np.ndarray) else _FLOAT64
    if isinstance(dtype, str) and dtype == "bfloat16":
        try:
            import ml_dtypes  # noqa: PLC0415 - optional
        except ModuleNotFoundError:
            msg = "dtype 'bfloat16' needs ml_dtypes: pip install 'ropewalk[bfloat16]'"
            raise ImportError(msg) from None
        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    return _checked_dtype("dtype", np.dtype(dtype))


def _checked_dtype(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    if is_real_float(dtype) or dtype.name == "bfloat16":
        if dtype.isnative:
            return dtype
        msg = f"{name} must be in native byte order, got {dtype.str}"
        raise ValueError(msg)
    msg = f"{name} must be float64, float32, float16 or bfloat16, got {dtype}"
    raise TypeError(msg)


def result(
    out: object,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    source: object,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a new array, or `out` once it is known to fit, and what the core may write for it.

    That is in C order and aligned, bfloat16 as its bits: new memory where `out` is not so, for
    `filled` to copy. `source` is the argument that is read while the result is written.
    """
    if out is None:
        try:
            array = np.empty(shape, dtype)
            return array, _bits(array)
        except ValueError:  # NumPy checks that the size fits a pointer before it allocates
            msg = f"a result of shape {shape} and dtype {dtype} is larger than any memory"
            raise ValueError(msg) from None
    if not isinstance(out, np.ndarray):
        msg = f"out must be a NumPy array, got {type(out).__name__}"
        raise TypeError(msg)
    if out.shape != shape:
        msg = f"out must have shape {shape}, got {out.shape}"
        raise ValueError(msg)
    if out.dtype != dtype:
        msg = f"out must have dtype {dtype}, got {out.dtype}"
        raise ValueError(msg)
    if not out.flags.writeable:
        msg = "out must be writable, got a read-only array"
        raise ValueError(msg)
    if isinstance(source, np.ndarray) and np.shares_memory(out, source):
        msg = "out must not overlap the positions, got memory that both share"
        raise ValueError(msg)
    return out, _bits(out if out.flags.carray else np.empty(shape, dtype))


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    """Return bfloat16, of which the core knows no more than NumPy does, as unsigned integers."""
    return array if array.dtype.type in _REAL_FLOATS else array.view(np.uint16)


def filled(array: NDArray[Any], core: NDArray[Any]) -> NDArray[Any]:
    """Return `array` once the core has filled `core`."""
    if core is not array and not array.flags.carray:
        array[...] = core.view(array.dtype)
    return array
