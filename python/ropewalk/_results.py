"""Results: their dtype, new memory for them, or `out` once it fits; and arrays in C order."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ropewalk import _arrays, _core, _options
from ropewalk._runtime import get_num_threads

# What is read and written together no longer fits the third cache.
STREAMED_BYTES = 24 << 20
_FLOAT64 = np.dtype(np.float64)
# Below, NumPy has filled an array before it is known how its axes lie.
_LEAST_TO_ORDER = 1 << 16


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
    try:
        known = np.dtype(dtype)
    except (SyntaxError, TypeError, ValueError):  # as NumPy has it
        msg = f"dtype must be float64, float32, float16 or bfloat16, got {_options.shown(dtype)}"
        raise TypeError(msg) from None
    return _checked_dtype("dtype", known)


def _checked_dtype(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    if _arrays.is_float(dtype):
        if dtype.isnative:
            return dtype
        msg = f"{name} must be in native byte order, got {dtype.str}"
        raise ValueError(msg)
    msg = f"{name} must be float64, float32, float16 or bfloat16, got {dtype}"
    raise TypeError(msg)


def empty(shape: tuple[int, ...], dtype: np.dtype[Any] = _FLOAT64) -> NDArray[Any]:
    """Return a new array, or say that no memory holds it.

    Memory of large arrays is kept for the next ones when they are gone.
    """
    try:
        if _core.large_bytes <= math.prod(shape) * dtype.itemsize <= sys.maxsize:
            return _core.new_array(dtype, shape)
        return np.empty(shape, dtype)
    except ValueError:  # NumPy checks that the size fits a pointer before it allocates
        check_axes(len(shape))
        msg = f"a result of shape {shape} and dtype {dtype} is larger than any memory"
        raise ValueError(msg) from None


def check_axes(count: int) -> None:
    """Refuse more dimensions of a result than an array of NumPy has."""
    if count > _arrays.MOST_AXES:
        msg = f"a result would have {count} dimensions, and NumPy has {_arrays.MOST_AXES} at most"
        raise ValueError(msg) from None


def copied(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy in C order."""
    copy = empty(array.shape, array.dtype)
    if not (array.flags.aligned and _core.transpose(array, copy, get_num_threads())):
        copy[...] = array
    return copy


def in_order(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in C order, aligned and in native byte order: a copy where it is not."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array if array.flags.c_contiguous and array.flags.aligned else copied(array)


def with_rows(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, or a copy where the core could not read its rows in place.

    What repeats in memory is copied once, but along the last axis.
    """
    if _arrays.has_rows(array):
        return array
    once = tuple(slice(None if stride else 1) for stride in array.strides[:-1])
    return np.broadcast_to(copied(array[once]), array.shape)


def result(
    out: object, shape: tuple[int, ...], dtype: np.dtype[Any], *inputs: object
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a new array, or `out` once it is known to fit, and what the core may write for it.

    That is in C order and aligned: new memory where `out` is not so, for `filled` to copy.
    The `inputs`, as they came and as the core takes them, are read while the result is written.
    """
    if out is None:
        array = empty(shape, dtype)
        return array, array
    out = _checked_out(out, shape, dtype)
    _refuse_shared_memory(out, inputs)
    return out, out if out.flags.carray else empty(shape, dtype)


def _checked_out(out: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    if not isinstance(out, np.ndarray):
        msg = f"out must be a NumPy array, got {type(out).__name__}"
        raise TypeError(msg)
    _arrays.refuse_what_is_lost("out", out)
    if out.shape != shape:
        msg = f"out must have shape {shape}, got {out.shape}"
        raise ValueError(msg)
    if out.dtype != dtype:
        msg = f"out must have dtype {dtype}, got {out.dtype}"
        raise ValueError(msg)
    if not out.flags.writeable:
        msg = "out must be writable, got a read-only array"
        raise ValueError(msg)
    if _core.overlaps_itself(out):
        msg = f"out must not overlap itself, got shape {out.shape} and strides {out.strides}"
        raise ValueError(msg)
    return out


def row_result(
    name: str, array: NDArray[Any], out: NDArray[Any] | None, *others: object
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return a result of the shape and dtype of `array`, and what the core reads and writes.

    Those have rows without gaps. `out` may be the same memory as `array`, and must share none with
    it otherwise, nor with the `others`, which are read while it is written.
    """
    source = with_rows(array)
    if out is None:
        target = empty(array.shape, array.dtype)
        return target, source, target
    out = _checked_out(out, array.shape, array.dtype)
    in_place = out is array or _share_memory(out, array)
    if in_place and not _same_memory(out, array):
        msg = f"out must be {name} itself or share no memory with it, got memory that both share"
        raise ValueError(msg)
    _refuse_shared_memory(out, others)
    if not _arrays.has_rows(out):
        return out, source, empty(out.shape, out.dtype)
    return out, out if in_place else source, out


def refuse_memory_of_converted(out: object, given: object, array: NDArray[Any]) -> None:
    """Refuse an `out` in memory of what `array` is a copy of, in another dtype or byte order."""
    if not isinstance(given, np.ndarray) or not isinstance(out, np.ndarray):
        return
    if out.dtype == array.dtype and not np.may_share_memory(given, array):
        _refuse_shared_memory(out, (given,))


def _share_memory(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Tell whether arrays share memory, or may, where strides of many axes make it hard to tell."""
    enough: Any = 10_000  # NumPy's stubs know no number
    try:
        return np.shares_memory(a, b, max_work=enough)
    except np.exceptions.TooHardError:
        return True


def _refuse_shared_memory(out: NDArray[Any], others: tuple[object, ...]) -> None:
    for other in others:
        if isinstance(other, np.ndarray) and _share_memory(out, other):
            msg = "out must not overlap another argument, got memory that both share"
            raise ValueError(msg)


def _same_memory(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Tell whether arrays of one shape are the same elements; an axis of one has no stride."""
    moves = [(x, y) for x, y, n in zip(a.strides, b.strides, a.shape, strict=True) if n > 1]
    return a is b or (a.ctypes.data == b.ctypes.data and all(x == y for x, y in moves))


def prepare_streaming(
    *targets: NDArray[Any],
    out: NDArray[Any] | None = None,
    source: NDArray[Any] | None = None,
    threads: int,
) -> bool:
    """Return whether stores to the targets, which are `out` or new, are to pass the cache by.

    They are from STREAMED_BYTES on, of what is read and written, but not in place. That pays where
    memory has been touched: new memory is touched here, all at once.
    """
    if source is targets[0]:
        return False
    moved = sum(array.nbytes for array in (*targets, source) if array is not None)
    if moved < STREAMED_BYTES:
        return False
    return all(target is out or _core.populate(target, threads) for target in targets)


def filled(array: NDArray[Any], core: NDArray[Any]) -> NDArray[Any]:
    """Return `array` once the core has written `core`, which may be other memory."""
    if core is not array and not _filled_in_its_order(array, core):
        array[...] = core
    return array


def _filled_in_its_order(array: NDArray[Any], core: NDArray[Any]) -> bool:
    """Fill a large array in C order of other axes, if it is one; tell whether it is."""
    if array.nbytes < _LEAST_TO_ORDER:
        return False
    axes = np.argsort(array.strides)[::-1]
    target = array.transpose(axes)
    return target.flags.carray and _core.transpose(core.transpose(axes), target, get_num_threads())
