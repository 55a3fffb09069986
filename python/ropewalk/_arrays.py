"""Arrays of data, of positions and of integers, converted and checked.

Every message names the argument, what was expected and what came.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ropewalk import _core, _options
from ropewalk._options import LARGEST_DIM, LARGEST_POSITION, Integer

MOST_AXES = 64  # of NumPy's arrays
_REAL_FLOATS = frozenset({np.float64, np.float32, np.float16})
_NATIVE_FLOATS = frozenset(np.dtype(of) for of in _REAL_FLOATS)
# In lists that hide no mask.
_PLAIN_KINDS = frozenset({bool, int, float, np.ndarray, np.float64, np.float32, np.int64})


def axis_of(axis: object, array: NDArray[Any]) -> int:
    """Return an axis of the array, counted from 0."""
    number = _options.integer("axis", axis)
    if not -array.ndim <= number < array.ndim:
        msg = f"axis must be an axis of x, which has {array.ndim} dimensions, got {number}"
        raise ValueError(msg)
    return number % array.ndim


def rotary_width(array: NDArray[Any], rotary_dim: Integer | None, *, name: str = "x") -> int:
    """Return how many features of the last axis are turned: all, or those asked for."""
    if rotary_dim is None:
        return even_width(array, "; rotary_dim says how many of them are turned", name=name)
    features: int = array.shape[-1]
    width = _options.integer("rotary_dim", rotary_dim)
    if width < 2 or width % 2 or width > min(features, LARGEST_DIM):
        msg = (
            "rotary_dim must be an even integer from 2 to the "
            f"{min(features, LARGEST_DIM)} features of {name}, got {width}"
        )
        raise ValueError(msg)
    return width


def even_width(array: NDArray[Any], hint: str = "", *, name: str = "x") -> int:
    """Return how many features the last axis has, all of them in pairs."""
    features: int = array.shape[-1]
    if features < 2 or features % 2 or features > LARGEST_DIM:
        wanted = f"an even number of features from 2 to {LARGEST_DIM}"
        msg = f"{name} must have {wanted}, got {features}{hint}"
        raise ValueError(msg)
    return features


def check_rows_fit(
    name: str,
    shape: tuple[int, ...],
    array_shape: tuple[int, ...],
    last: tuple[int, ...] = (),
    *,
    each: str = "pairs",
    of: str = "x",
) -> None:
    """Refuse positions of a shape that does not say which row of an array each belongs to.

    The same of tables, which have an axis of pairs behind those axes, and of positions on several
    axes.
    """
    rows = array_shape[:-1]
    if not shape:
        return
    if len(shape) == 1 and rows and shape[0] in {1, rows[-1]}:
        return
    if len(shape) == len(rows) and all(a in {1, b} for a, b in zip(shape, rows, strict=True)):
        return
    msg = (
        f"{name} must have no axis{f' before its {each}' if last else ''}, one as long as axis -2 "
        f"of {of}, or as many as {of} before its last one, each as long or 1, for {of} of shape "
        f"{array_shape}; got shape {shape + last}"
    )
    axes: list[int] = []
    for length in shape:
        left = range(axes[-1] + 1 if axes else 0, len(rows))
        axes += [axis for axis in left if length in {1, rows[axis]}][:1]
    if len(axes) == len(shape):
        if shape[-1] in {1, rows[-1]}:  # where several axes are as long: that of the sequence
            axes[-1] = len(rows) - 1
        index = [":" if axis in axes else "None" for axis in range(len(rows))] + [":"] * len(last)
        which = "axis" if len(axes) == 1 else "axes"
        numbers = " and ".join(map(str, axes))
        msg += f"; for {which} {numbers} of {of} write {name}[{', '.join(index)}]"
    raise ValueError(msg)


def positions(
    name: str, values: object, axes: int = 1
) -> tuple[range | NDArray[Any], tuple[int, ...]]:
    """Return positions as the core takes them, and their shape.

    A range stays one, and an integer is a range of one; everything else becomes a C-contiguous
    array of int64 or float64. Every position is finite and at most 2**53 in size. Several axes are
    the last axis of the array, and do not count in the shape.
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
    if isinstance(values, range):  # one for each token, as many as axes where there are so many
        msg = (
            f"{name} must have a position on each of {axes} axes for every token, got {values}; "
            + _same_on_all(name, axes)
        )
        raise ValueError(msg)
    array = converted(name, values)
    if array.dtype.kind == "O" and all(isinstance(x, (int, float)) for x in array.flat):
        for value in array.flat:  # NumPy makes objects of integers that no dtype holds
            if isinstance(value, int) and abs(value) > LARGEST_POSITION:
                _refuse_position(name, value)
    _refuse_kind(name, array)
    rounded = rounded_integer(values, array)
    if rounded is not None:
        _refuse_position(name, rounded)
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
    check_coordinates(name, array.shape, axes)
    return core, array.shape[:-1]


def rounded_integer(values: object, array: NDArray[Any]) -> int | None:
    """Return an integer beyond 2**53 of a list of which NumPy made floats, None without any."""
    if not isinstance(values, (list, tuple)) or array.dtype != np.float64:
        return None
    beyond = np.abs(array) >= LARGEST_POSITION
    for value in np.array(values, object)[beyond] if beyond.any() else ():
        if isinstance(value, (int, np.integer)) and abs(int(value)) > LARGEST_POSITION:
            return int(value)
    return None


def check_coordinates(name: str, shape: tuple[int, ...], axes: int) -> None:
    """Refuse positions on several axes that have not one for each of them along their last axis."""
    if shape[-1:] == (axes,):
        return
    msg = (
        f"{name} must have a last axis of length {axes}, one position on each axis of the "
        f"frequencies, got shape {shape}"
    )
    if shape[:1] == (axes,):
        msg += f"; where the first axis is that write np.moveaxis({name}, 0, -1)"
    else:
        msg += f"; {_same_on_all(name, axes)}"
    raise ValueError(msg)


def _same_on_all(name: str, axes: int) -> str:
    return f"where they are the same on all axes write np.stack([{name}] * {axes}, axis=-1)"


def listed(rows: range | NDArray[Any]) -> NDArray[Any]:
    """Return positions as an array."""
    if not isinstance(rows, range):
        return rows
    return np.arange(rows.start, rows.stop, rows.step) if rows else np.empty(0, np.int64)


def converted(
    name: str, values: object, what: str = "a number, a range or an array of numbers"
) -> NDArray[Any]:
    """Return `values` as NumPy makes an array of them."""
    if type(values).__name__ == "Frequencies":  # whose module needs this one
        msg = (
            f"{name} must be {what}, got {type(values).__name__}, which are given as frequencies=; "
            "their numbers are their radians"
        )
        raise TypeError(msg)
    refuse_what_is_lost(name, values)
    try:
        array = np.asanyarray(values)
    except (RuntimeError, TypeError, ValueError) as error:  # the first two of tensors
        msg = f"{name} must be {what}: {error}"
        raise (ValueError if isinstance(error, ValueError) else TypeError)(msg) from None
    refuse_what_is_lost(name, array)  # of what turns itself into an array
    if array.dtype.kind == "O" and not array.ndim and type(values) is not int:
        msg = f"{name} must be {what}, got {_options.shown(values)}"
        raise TypeError(msg)
    return np.asarray(array)


def converted_integers(name: str, values: object, what: str) -> NDArray[Any]:
    """Return the same, of integers where NumPy makes float64 of a list: of none, of large ones."""
    array = converted(name, values, what)
    if hasattr(values, "dtype"):
        return array
    if not array.size:
        return array.astype(np.int64)
    if array.dtype.kind == "f":  # also of integers that neither int64 nor uint64 holds
        integers = np.array(values, object)
        if all(type(x) is int or isinstance(x, np.integer) for x in integers.flat):
            integers = np.array([int(x) for x in integers.flat], object).reshape(array.shape)
            fit = all(0 <= x < 2**64 for x in integers.flat)
            return integers.astype(np.uint64) if fit else integers
    return array


def integers_of_any_size(name: str, values: object, what: str) -> NDArray[Any]:
    """Return integers, as Python's own where no dtype holds them."""
    array = converted_integers(name, values, what)
    if array.dtype.kind in "iu":
        return array
    given_as_array = hasattr(values, "dtype")  # of objects it may hold anything
    if array.dtype.kind != "O" or given_as_array or not all(type(x) is int for x in array.flat):
        msg = f"{name} must be integers, got dtype {array.dtype}"
        raise TypeError(msg)
    return array


def refuse_what_is_lost(name: str, values: object) -> None:
    """Refuse what NumPy would not keep of an array or a list.

    That is the mask of a masked array, the attention factor of Frequencies in a list, and that
    booleans beside numbers are none.
    """
    if type(values) is np.ndarray:
        return
    masked = sys.modules.get("numpy.ma")  # loaded by whoever has such arrays
    level = values if isinstance(values, (list, tuple)) else [values]
    for _ in range(MOST_AXES):  # NumPy refuses lists that are deeper
        kinds = set(map(type, level))
        others = kinds - _PLAIN_KINDS - {list, tuple}
        # What stands for an array of Dask's is of the kind of its chunks.
        stand_ins = (getattr(x, "_meta", x) for x in level if type(x) in others) if others else ()
        if masked and any(isinstance(x, masked.MaskedArray) for x in stand_ins):
            msg = f"{name} must not be a masked array, whose mask would be lost"
            raise TypeError(msg)
        if any(kind.__name__ == "Frequencies" for kind in others):
            msg = f"{name} must hold no Frequencies, whose numbers are their radians"
            raise TypeError(msg)
        _refuse_mixed_booleans(name, kinds)
        if not any(issubclass(kind, (list, tuple)) for kind in kinds):
            return
        lists = [value for value in level if isinstance(value, (list, tuple))]
        if (found := set(map(type, chain.from_iterable(lists)))) <= _PLAIN_KINDS:
            _refuse_mixed_booleans(name, found)
            return
        level = list(chain.from_iterable(lists))


def _refuse_mixed_booleans(name: str, kinds: set[type]) -> None:
    numbers = (kind for kind in kinds if issubclass(kind, (int, float, np.number)))
    if kinds & {bool, np.bool_} and any(kind is not bool for kind in numbers):
        msg = f"{name} must not mix booleans with numbers"
        raise TypeError(msg)


def finite_reals(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return `values` as an array of finite integers, float64, float32 or float16."""
    array = converted(name, values, "an array of numbers")
    _refuse_kind(name, array)
    check_finite(name, array)
    return array


def check_finite(name: str, array: NDArray[Any]) -> None:
    if not np.isfinite(array).all():
        msg = f"{name} must be finite, got {array[~np.isfinite(array)][0]}"
        raise ValueError(msg)


def is_real_float(dtype: np.dtype[Any]) -> bool:
    """Tell whether a dtype is one of NumPy's own that float64 holds."""
    return dtype.type in _REAL_FLOATS


def is_float(dtype: np.dtype[Any]) -> bool:
    """Tell whether a dtype is one that data may have."""
    return is_real_float(dtype) or dtype.name == "bfloat16"


def _refuse_kind(name: str, array: NDArray[Any]) -> None:
    if array.dtype.kind in "iu" or is_real_float(array.dtype):
        return
    msg = f"{name} must be integers, float64, float32 or float16, got dtype {array.dtype}"
    raise TypeError(msg)


def _refuse_position(name: str, value: object) -> None:
    msg = f"{name} must be finite and at most 2**53 in size, got {_options.shown(value)}"
    raise ValueError(msg)


def data(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return data as an array of float64, float32, float16 or bfloat16 in native byte order.

    Integers become float64, and the byte order the machine's; nothing else is copied.
    """
    if type(values) is np.ndarray and values.dtype in _NATIVE_FLOATS and values.ndim > 0:
        return values  # as almost always
    array = converted(name, values, "an array of numbers")
    if array.dtype.kind in "iu":
        array = array.astype(np.float64)
    elif is_float(array.dtype):
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


def has_rows(array: NDArray[Any]) -> bool:
    """Tell whether elements are aligned, and stand side by side along the last axis."""
    return array.flags.aligned and array.strides[-1] == array.itemsize


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
    except RuntimeError:  # NumPy broadcasts 32 dimensions at most
        last = np.broadcast_shapes(*(shape[-32:] for shape in shapes))
        return broadcast_shape(*(shape[:-32] for shape in shapes)) + last


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
    array = integers_of_any_size(name, values, "an integer or an array of integers")
    if _core.integers_fit_plainly(array, smallest, largest):
        return array
    wrong = array[(array < smallest) | (array > largest)]
    if wrong.size:
        found = _options.shown(wrong.flat[0])
        msg = f"{name} must be integers from {smallest} to {largest}, got {found}"
        raise ValueError(msg)
    return aligned(array, np.int64)


def offsets(values: object) -> NDArray[np.int64]:
    """Return offsets, which are positions, as integers."""
    return integers("offset", values, -LARGEST_POSITION, LARGEST_POSITION)


def aligned(array: NDArray[Any], dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return the array, of the dtype asked for, at addresses that the core can read."""
    array = np.asarray(array, dtype)
    return array if array.flags.aligned else array.copy()


def common_dtype(arrays: Sequence[NDArray[Any]]) -> np.dtype[Any]:
    """Return the dtype that holds the values of all."""
    try:
        return np.result_type(*arrays)
    except TypeError:  # float16 and bfloat16, which had nothing in common before ml_dtypes 0.7
        wider = {array.dtype for array in arrays if array.itemsize > 2}
        return np.result_type(np.float32, *wider)
