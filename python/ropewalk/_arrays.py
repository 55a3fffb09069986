"""The one place where arguments are converted and checked.

Every message names the argument, what was expected and what came.
"""

import math
import operator
import sys
from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ropewalk import _core

LARGEST_POSITION = 2**53
LARGEST_DIM = 2**20
MOST_AXES = 64  # of NumPy's arrays
LARGEST_WINDOW = 2**62  # more than any two positions are apart, and no overflow beside one
# Two arrays of so many bytes leave no third cache much of either.
STREAMED_BYTES = 12 << 20
Lang = Literal["en", "ja"]
LANGUAGES = ("en", "ja")
Pairing = Literal["interleaved", "half"]
Window = tuple[int | None, int | None]
Precision = Literal["float64"]
_INTERLEAVED, _HALF = "interleaved", "half"

_FLOAT64 = np.dtype(np.float64)
_REAL_FLOATS = frozenset({np.float64, np.float32, np.float16})
_NATIVE_FLOATS = frozenset(np.dtype(of) for of in _REAL_FLOATS)
_BOOLEANS = (bool, np.bool_)  # as `bool | np.bool_` in a function each call would make them anew
_NUMBERS = (int, float, np.integer, np.floating)
# In lists that hide no mask.
_PLAIN_KINDS = frozenset({bool, int, float, np.ndarray, np.float64, np.float32, np.int64})


def integer(name: str, value: object) -> int:
    """Return `value` as an int; anything that is no integer, as True is none, raises TypeError."""
    try:
        if isinstance(value, _BOOLEANS):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        msg = f"{name} must be an integer, got {value!r}"
        raise TypeError(msg) from None
    if number.bit_length() > 1000:
        msg = f"{name} must be an integer of at most 1000 bits, got {_shown(number)}"
        raise ValueError(msg)
    return number


def positive_integer(name: str, value: object, largest: int) -> int:
    """Return `value` as an int from 1 to `largest`."""
    number = integer(name, value)
    if not 1 <= number <= largest:
        msg = f"{name} must be an integer from 1 to {largest}, got {number}"
        raise ValueError(msg)
    return number


def context_length(name: str, value: object) -> int:
    """Return a length (tokens) as an int: from 1 to 2**53."""
    return positive_integer(name, value, LARGEST_POSITION)


def even_dim(value: object) -> int:
    """Return the width of an encoding: even, from 2 to `LARGEST_DIM`."""
    dim = integer("dim", value)
    if dim < 2 or dim % 2 or dim > LARGEST_DIM:
        msg = f"dim must be an even integer from 2 to {LARGEST_DIM}, got {dim}"
        raise ValueError(msg)
    return dim


def _number(name: str, value: object) -> float:
    """Return `value` as a float, infinite where it is too large for one; True is no number."""
    if isinstance(value, _BOOLEANS) or not isinstance(value, _NUMBERS):
        msg = f"{name} must be a real number, got {_shown(value)}"
        raise TypeError(msg)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def finite_number(name: str, value: object) -> float:
    """Return `value` as a finite float."""
    number = _number(name, value)
    if not math.isfinite(number):
        msg = f"{name} must be finite, got {number!r}"
        raise ValueError(msg)
    return number


def positive_number(name: str, value: object) -> float:
    """Return `value` as a finite float above 0."""
    number = _number(name, value)
    if not 0 < number < math.inf:
        msg = f"{name} must be positive and finite, got {number!r}"
        raise ValueError(msg)
    return number


def number_between(name: str, value: object, smallest: float, largest: float) -> float:
    """Return `value` as a float from `smallest` to `largest`."""
    number = _number(name, value)
    exact = int(value) if isinstance(value, int | np.integer) else number
    if not smallest <= exact <= largest:
        msg = f"{name} must be a number from {smallest} to {largest}, got {_shown(value)}"
        raise ValueError(msg)
    return number


def choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse a `value` that is none of those `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        msg = f"{name} must be one of {', '.join(map(repr, allowed))}, got {_shown(value)}"
        raise ValueError(msg)


def in_float64(precision: object) -> bool:
    """Tell whether float32 is to be computed in float64, as a `Precision` says."""
    if precision is None:
        return False
    choice("precision", precision, ("float64",))
    return True


def boolean(name: str, value: object) -> bool:
    """Return True or False; nothing else is taken for one of them."""
    if isinstance(value, _BOOLEANS):
        return bool(value)
    msg = f"{name} must be True or False, got {_shown(value)}"
    raise TypeError(msg)


def is_interleaved(pairing: object, name: str = "pairing") -> bool:
    """Tell which of the two pairings it is."""
    if pairing is _INTERLEAVED:  # which it is, as a literal
        return True
    if pairing is not _HALF:
        choice(name, pairing, (_INTERLEAVED, _HALF))
    return pairing == _INTERLEAVED


def axis_of(axis: object, array: NDArray[Any]) -> int:
    """Return an axis of the array, counted from 0."""
    number = integer("axis", axis)
    if not -array.ndim <= number < array.ndim:
        msg = f"axis must be an axis of x, which has {array.ndim} dimensions, got {number}"
        raise ValueError(msg)
    return number % array.ndim


def rotary_width(array: NDArray[Any], rotary_dim: int | None) -> int:
    """Return how many features of the last axis of `x` are turned: all, or those asked for."""
    features: int = array.shape[-1]
    if rotary_dim is None:
        if features < 2 or features % 2 or features > LARGEST_DIM:
            msg = (
                f"x must have an even number of features from 2 to {LARGEST_DIM}, got {features}; "
                "rotary_dim says how many of them are turned"
            )
            raise ValueError(msg)
        return features
    width = integer("rotary_dim", rotary_dim)
    if width < 2 or width % 2 or width > min(features, LARGEST_DIM):
        msg = (
            "rotary_dim must be an even integer from 2 to the "
            f"{min(features, LARGEST_DIM)} features of x, got {width}"
        )
        raise ValueError(msg)
    return width


def check_rows_fit(
    name: str, shape: tuple[int, ...], array: NDArray[Any], pairs: tuple[int, ...] = ()
) -> None:
    """Refuse positions of a shape that does not say which row of `x` each belongs to.

    The same of tables, which have an axis of pairs behind those axes.
    """
    rows = array.shape[:-1]
    if not shape:
        return
    if len(shape) == 1 and rows and shape[0] in {1, rows[-1]}:
        return
    if len(shape) == len(rows) and all(a in {1, b} for a, b in zip(shape, rows, strict=True)):
        return
    msg = (
        f"{name} must have no axis{' before its pairs' if pairs else ''}, one as long as axis -2 "
        f"of x, or as many as x before its last one, each as long or 1, for x of shape "
        f"{array.shape}; got shape {shape + pairs}"
    )
    axes: list[int] = []
    for length in shape:
        left = range(axes[-1] + 1 if axes else 0, len(rows))
        axes += [axis for axis in left if length in {1, rows[axis]}][:1]
    if len(axes) == len(shape):
        if shape[-1] in {1, rows[-1]}:  # where several axes are as long: that of the sequence
            axes[-1] = len(rows) - 1
        index = [":" if axis in axes else "None" for axis in range(len(rows))] + [":"] * len(pairs)
        which = "axis" if len(axes) == 1 else "axes"
        msg += f"; for {which} {' and '.join(map(str, axes))} of x write {name}[{', '.join(index)}]"
    raise ValueError(msg)


def positions(
    name: str, values: object, axes: int = 1
) -> tuple[range | NDArray[Any], tuple[int, ...]]:
    """Return positions as the core takes them, and their shape.

    A range stays one; everything else becomes a C-contiguous array of int64 or float64. Every
    position is finite and at most 2**53 in size. Several axes are the last axis of the array, and
    do not count in the shape.
    """
    if type(values) is int and axes == 1:
        if not -LARGEST_POSITION <= values <= LARGEST_POSITION:
            _refuse_position(name, values)
        return range(values, values + 1), ()
    if isinstance(values, range) and axes == 1:
        if values and not (
            -LARGEST_POSITION <= values[0] <= LARGEST_POSITION
            and -LARGEST_POSITION <= values[-1] <= LARGEST_POSITION
        ):
            _refuse_position(name, max(values[0], values[-1], key=abs))
        return values, (len(values),)
    array = converted(name, values)
    _refuse_kind(name, array)
    if isinstance(values, (list, tuple)) and array.dtype.kind == "f":
        rounded = np.abs(array) == LARGEST_POSITION  # as integers beyond it are, among floats
        for value in np.array(values, object)[rounded] if rounded.any() else ():
            if abs(value) > LARGEST_POSITION:
                _refuse_position(name, value)
    if array.dtype.kind == "u":
        too_large = array > LARGEST_POSITION
        if too_large.any():
            _refuse_position(name, array[too_large][0])
    wanted = np.float64 if array.dtype.kind == "f" else np.int64
    core = np.require(array, wanted, ["C", "A"])
    bad = _core.first_bad_position(core)
    if bad >= 0:
        _refuse_position(name, core.reshape(-1)[bad])
    if axes == 1:
        return core, array.shape
    if array.shape[-1:] != (axes,):
        msg = (
            f"{name} must have a last axis of length {axes}, one position on each axis of the "
            f"frequencies, got shape {array.shape}"
        )
        raise ValueError(msg)
    return core, array.shape[:-1]


def listed(rows: range | NDArray[Any]) -> NDArray[Any]:
    """Return positions as an array."""
    return np.arange(rows.start, rows.stop, rows.step) if isinstance(rows, range) else rows


def converted(
    name: str, values: object, what: str = "a number, a range or an array of numbers"
) -> NDArray[Any]:
    """Return `values` as NumPy makes an array of them."""
    refuse_masked(name, values)
    try:
        return np.asarray(values)
    except ValueError as error:
        msg = f"{name} must be {what}: {error}"
        raise ValueError(msg) from None


def refuse_masked(name: str, values: object) -> None:
    """Refuse a masked array, of which NumPy would take what is masked too, and lists with one."""
    masked = sys.modules.get("numpy.ma")  # loaded by whoever has such arrays
    if masked is None or type(values) is np.ndarray:
        return
    level = values if isinstance(values, (list, tuple)) else [values]
    for _ in range(MOST_AXES):  # NumPy refuses lists that are deeper
        kinds = set(map(type, level))
        if any(issubclass(kind, masked.MaskedArray) for kind in kinds - _PLAIN_KINDS):
            msg = f"{name} must not be a masked array, whose mask would be lost"
            raise TypeError(msg)
        if not any(issubclass(kind, (list, tuple)) for kind in kinds):
            return
        lists = [value for value in level if isinstance(value, (list, tuple))]
        if set(map(type, chain.from_iterable(lists))) <= _PLAIN_KINDS:
            return
        level = list(chain.from_iterable(lists))


def finite_reals(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return `values` as an array of finite numbers, all of which float64 or int64 hold."""
    array = converted(name, values, "an array of numbers")
    if array.dtype.kind not in "iu" and not is_real_float(array.dtype):
        msg = f"{name} must be integers, float64, float32 or float16, got dtype {array.dtype}"
        raise TypeError(msg)
    if not np.isfinite(array).all():
        msg = f"{name} must be finite, got {array[~np.isfinite(array)][0]}"
        raise ValueError(msg)
    return array


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
    msg = f"{name} must be finite and at most 2**53 in size, got {_shown(value)}"
    raise ValueError(msg)


def _shown(value: object) -> str:
    """Return what a message says of a number or an option."""
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"an integer of {value.bit_length()} bits"  # Python refuses to print the longest
    return str(value) if isinstance(value, _NUMBERS) else repr(value)


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
        msg = f"dtype must be float64, float32, float16 or bfloat16, got {dtype!r}"
        raise TypeError(msg) from None
    return _checked_dtype("dtype", known)


def _checked_dtype(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    if is_real_float(dtype) or dtype.name == "bfloat16":
        if dtype.isnative:
            return dtype
        msg = f"{name} must be in native byte order, got {dtype.str}"
        raise ValueError(msg)
    msg = f"{name} must be float64, float32, float16 or bfloat16, got {dtype}"
    raise TypeError(msg)


def empty(shape: tuple[int, ...], dtype: np.dtype[Any] = _FLOAT64) -> NDArray[Any]:
    """Return a new array, or say that no memory holds it.

    Where it is large its memory is kept when it is gone.
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
    if count > MOST_AXES:
        msg = f"a result would have {count} dimensions, and NumPy has {MOST_AXES} at most"
        raise ValueError(msg) from None


def copied(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy in C order."""
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy


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
    refuse_masked("out", out)
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


def data(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return data as an array of float64, float32, float16 or bfloat16 in native byte order.

    Integers become float64; nothing else is copied.
    """
    if type(values) is np.ndarray and values.dtype in _NATIVE_FLOATS and values.ndim > 0:
        return values  # as almost always
    array = converted(name, values, "an array of numbers")
    if array.dtype.kind in "iu":
        array = array.astype(np.float64)
    elif array.dtype.type in _REAL_FLOATS or array.dtype.name == "bfloat16":
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
    else:
        msg = (
            f"{name} must be integers, float64, float32, float16 or bfloat16, got dtype "
            f"{array.dtype}"
        )
        raise TypeError(msg)
    if array.ndim == 0:
        msg = f"{name} must have at least one dimension, got a number"
        raise ValueError(msg)
    return array


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
    in_place = out is array or np.shares_memory(out, array)
    if in_place and not _same_memory(out, array):
        msg = f"out must be {name} itself or share no memory with it, got memory that both share"
        raise ValueError(msg)
    _refuse_shared_memory(out, others)
    if not _has_rows(out):
        return out, source, empty(out.shape, out.dtype)
    return out, out if in_place else source, out


def _refuse_shared_memory(out: NDArray[Any], others: tuple[object, ...]) -> None:
    for other in others:
        if isinstance(other, np.ndarray) and np.shares_memory(out, other):
            msg = "out must not overlap another argument, got memory that both share"
            raise ValueError(msg)


def with_rows(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, or a copy where the core could not read its rows in place."""
    return array if _has_rows(array) else np.array(array, order="C")


def _has_rows(array: NDArray[Any]) -> bool:
    """Tell whether elements are aligned, and stand side by side along the last axis."""
    return array.flags.aligned and array.strides[-1] == array.itemsize


def _same_memory(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Tell whether arrays of one shape are the same elements; an axis of one has no stride."""
    moves = [(x, y) for x, y, n in zip(a.strides, b.strides, a.shape, strict=True) if n > 1]
    return a is b or (a.ctypes.data == b.ctypes.data and all(x == y for x, y in moves))


def streams(
    target: NDArray[Any],
    out: NDArray[Any] | None,
    threads: int,
    *,
    source: NDArray[Any] | None = None,
    least: int | None = None,
) -> bool:
    """Return whether stores to `target`, which is `out` or new, should pass the cache by.

    They should from `least` bytes on, but in place, where memory has been touched. New memory is
    touched here, all at once.
    """
    if target is source or target.nbytes < (STREAMED_BYTES if least is None else least):
        return False
    return target is out or _core.populate(target, threads)


def filled(array: NDArray[Any], core: NDArray[Any]) -> NDArray[Any]:
    """Return `array` once the core has written `core`, which may be other memory."""
    if core is not array:
        array[...] = core
    return array


def boolean_mask(
    mask: ArrayLike, where: str = "something counts", hint: str = ""
) -> NDArray[np.bool_]:
    """Return a mask, which is boolean and True `where` it says: numbers are not taken for one."""
    array = converted("mask", mask, "an array of booleans")
    if array.dtype != np.bool_:
        msg = f"mask must be boolean, True where {where}, got dtype {array.dtype}{hint}"
        raise TypeError(msg)
    return array


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that arrays of these shapes broadcast to; ValueError where there is none."""
    try:
        return np.broadcast_shapes(*shapes)
    except RuntimeError as error:  # NumPy broadcasts 32 dimensions at most
        raise ValueError(str(error)) from None


def check_broadcast(name: str, shape: tuple[int, ...], target: tuple[int, ...], what: str) -> None:
    """Refuse a shape that does not broadcast to the target, or would make it larger."""
    if not shape or shape == target[-len(shape) :]:  # as almost always
        return
    if len(shape) > len(target) or any(
        a not in {1, b} for a, b in zip(reversed(shape), reversed(target), strict=False)
    ):
        msg = f"{name} must broadcast to {what}, {target}, got shape {shape}"
        raise ValueError(msg)


def integers(name: str, values: object, smallest: int, largest: int) -> NDArray[np.int64]:
    """Return integers from `smallest` to `largest` as an array of int64."""
    if type(values) is int and smallest <= values <= largest:  # as a decoder calls, every step
        return np.array(values, np.int64)
    array = converted(name, values, "an integer or an array of integers")
    if _core.integers_fit_plainly(array, smallest, largest):
        return array
    beyond = array.dtype.kind == "O" and all(isinstance(x, int) for x in array.flat)
    if array.dtype.kind not in "iu" and not beyond:  # no dtype holds the largest integers
        msg = f"{name} must be integers, got dtype {array.dtype}"
        raise TypeError(msg)
    wrong = array[(array < smallest) | (array > largest)]
    if wrong.size:
        found = _shown(wrong.flat[0])
        msg = f"{name} must be integers from {smallest} to {largest}, got {found}"
        raise ValueError(msg)
    return aligned(array, np.int64)


def aligned(array: NDArray[Any], dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return the array, of the dtype asked for, at addresses that the core can read."""
    array = np.asarray(array, dtype)
    return array if array.flags.aligned else array.copy()


def window(value: object) -> Window:
    """Return the distances before and behind a query that it sees; None is unlimited."""
    if value is None:
        return None, None
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        msg = f"window must be a pair (left, right), got {_shown(value)}"
        error = ValueError if isinstance(value, (tuple, list)) else TypeError
        raise error(msg)
    sides: list[int | None] = []
    for side in value:
        distance = None if side is None else integer("window", side)
        if distance is not None and distance < 0:
            msg = f"window must be a pair of distances, 0 or more, or None, got {value!r}"
            raise ValueError(msg)
        sides.append(None if distance is None else min(distance, LARGEST_WINDOW))
    return sides[0], sides[1]


def common_dtype(arrays: Sequence[NDArray[Any]]) -> np.dtype[Any]:
    """Return the dtype that holds the values of all."""
    try:
        return np.result_type(*arrays)
    except TypeError:  # float16 and bfloat16
        found = " and ".join(sorted({str(array.dtype) for array in arrays}))
        msg = f"data must have dtypes that NumPy promotes to one, got {found}"
        raise TypeError(msg) from None


def which_offset(queries: int, keys: int) -> str:
    """Say what offsets there are to choose from, for a message that one is needed."""
    return (
        f"where {queries} queries meet {keys} keys: "
        "offset=0 aligns the first query with the first key (upper left), "
        f"offset={keys - queries} the last with the last (lower right)"
    )
