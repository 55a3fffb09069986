"""What attention is asked: arguments checked, defaults filled in, as the core takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _conversions, _core, _options, _results
from ropewalk._options import Boolean, Precision, Real, Window
from ropewalk._runtime import get_num_threads

# What is computed with, its largest and its smallest normal number.
_FLOAT32 = np.dtype(np.float32), (2 - 2.0**-23) * 2.0**127, 2.0**-126
_FLOAT64 = np.dtype(np.float64), (1 - 2.0**-53) * 2.0**1023 * 2, 2.0**-1022

_NAMES = "query", "key", "value"

# causal, offset, window, key_lengths, scale, softcap and precision
Others = tuple[
    Boolean,
    ArrayLike | None,
    Window | None,
    ArrayLike | None,
    Real | None,
    Real | None,
    Precision | None,
]


class Problem:
    """Checked arguments of attention, as the core takes them."""

    def __init__(
        self,
        given: tuple[ArrayLike, ...],
        mask: ArrayLike | None,
        bias: ArrayLike | None,
        slopes: ArrayLike | None,
        sinks: ArrayLike | None,
        others: Others,
    ) -> None:
        causal, offset, window, key_lengths, scale, softcap, precision = others
        self.given = given
        self.arrays = checked_data(given)
        self.leading = _leading_axes(self.arrays)
        self.dtype = self.arrays[0].dtype
        self.queries, dim = self.arrays[0].shape[-2:]
        self.keys = self.arrays[1].shape[-2]
        self.scores_shape = (*self.leading, self.queries, self.keys)

        if precision is not None:
            _options.choice("precision", precision, get_args(Precision))
        self.precision = precision
        wide = _options.in_float64(precision) or self.dtype.type is np.float64
        limits: tuple[np.dtype[Any], float, float] = _FLOAT64 if wide else _FLOAT32
        self.computed, self.largest, smallest = limits

        self.scale = self._number("scale", _core.scale_of_width(dim) if scale is None else scale)
        self.softcap = 0.0 if softcap is None else self._number("softcap", softcap)
        if softcap is not None and self.softcap < smallest:
            msg = f"softcap must be positive and a normal {self.computed}, got {softcap!r}"
            raise ValueError(msg)

        left, right = _options.window(window)
        if _options.boolean("causal", causal):
            right = 0
        self.window = (left, right)
        placed = (
            (causal and "causal")
            or (self.window != (None, None) and "window")
            or (slopes is not None and "slopes")
        )
        if offset is None and placed and self.queries != self.keys:
            msg = f"{placed} needs offset {_options.which_offset(self.queries, self.keys)}"
            raise ValueError(msg)
        if offset is not None:
            offset = self._of_batch("offset", _arrays.offsets(offset))
        if key_lengths is not None:
            counts = _arrays.integers("key_lengths", key_lengths, 0, self.keys)
            key_lengths = self._of_batch("key_lengths", counts)
        self.offset, self.key_lengths = offset, key_lengths
        self.slopes = self._per_head("slopes", slopes)
        self.sinks = self._per_head("sinks", sinks)
        self.mask = None if mask is None else self._over_scores("mask", checked_mask(mask))
        self.bias = (
            None if bias is None else self._over_scores("bias", checked_bias(bias, wide=wide))
        )

    def empty_output(self, out: NDArray[Any] | None) -> tuple[NDArray[Any], NDArray[Any]]:
        shape = (*self.leading, self.queries, self.arrays[2].shape[-1])
        scalars = (self.offset, self.key_lengths, self.slopes, self.sinks)
        inputs = (*self.given, *self.arrays, self.mask, self.bias, *scalars)
        return _results.result(out, shape, self.dtype, *inputs)

    def empty_scores(self) -> NDArray[Any]:
        return _results.empty(self.scores_shape, self.computed)

    def empty_lse(self) -> NDArray[np.float64]:
        return _results.empty(self.scores_shape[:-1])

    def of_data(self, stage: NDArray[Any]) -> NDArray[Any]:
        return _conversions.in_dtype(stage, self.dtype)

    def attend(
        self,
        *,
        output: NDArray[Any] | None = None,
        lse: NDArray[np.float64] | None = None,
        scores: NDArray[Any] | None = None,
        capped: NDArray[Any] | None = None,
        biased: NDArray[Any] | None = None,
        weights: NDArray[Any] | None = None,
    ) -> None:
        _core.attend(
            self.arrays[0],
            self.arrays[1],
            self.arrays[2] if len(self.arrays) == 3 else None,
            self.leading,
            self.precision,
            output,
            lse,
            (scores, capped, biased, weights),
            self.window,
            self.offset,
            self.mask,
            self.bias,
            self.slopes,
            self.key_lengths,
            self.scale,
            self.softcap,
            self.sinks,
            get_num_threads(),
        )

    def _number(self, name: str, value: Real) -> float:
        number = _options.finite_number(name, value)
        if abs(number) > self.largest:
            msg = f"{name} must be finite in {self.computed}, got {number!r}"
            raise ValueError(msg)
        return number

    def _of_batch(self, name: str, array: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return integers along the leading axes, those of a batch for all its heads."""
        has_heads = len(self.leading) > 1
        batch = self.leading[:-1] if has_heads else self.leading
        what = "the leading axes before the heads" if has_heads else "the leading axes"
        _arrays.check_broadcast(name, array.shape, batch, what)
        return array[..., None] if has_heads and array.ndim else array

    def _per_head(self, name: str, values: ArrayLike | None) -> NDArray[np.float64] | None:
        if values is None:
            return None
        plain = self.leading, self.largest, name == "sinks"
        if _core.per_head_fits_plainly(values, *plain):  # the rest takes 2 us
            return cast("NDArray[np.float64]", values)
        array = per_head(name, values)
        if _core.per_head_fits_plainly(array, *plain):
            return array
        _arrays.check_broadcast(name, array.shape, self.leading, "the leading axes")
        allowed = np.abs(array) <= self.largest
        if name == "sinks":
            allowed |= array == -np.inf
        if not allowed.all():
            expected = "-inf or finite" if name == "sinks" else "finite"
            msg = f"{name} must be {expected} in {self.computed}, got {array[~allowed].flat[0]}"
            raise ValueError(msg)
        return array

    def _over_scores(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        what = "(..., query length, key length)"
        if array.shape == (*self.leading[:1], self.keys) and len(self.leading) > 1:
            axes = ", None" * len(self.leading)
            what += f" (of keys for each sequence of a batch: {name}[:{axes}, :])"
        _arrays.check_broadcast(name, array.shape, self.scores_shape, what)
        return _arrays.aligned(array)


def checked_data(given: tuple[ArrayLike, ...]) -> tuple[NDArray[Any], ...]:
    """Return data of one dtype whose features stand side by side, and that fit each other."""
    if _core.rows_fit_plainly(given):  # as they are, almost always
        return cast("tuple[NDArray[Any], ...]", given)
    query = _arrays.data("query", given[0])
    others = [  # a list that is all three is converted once
        query if x is given[0] else _arrays.data(name, x)
        for name, x in zip(_NAMES[1:], given[1:], strict=False)
    ]
    arrays = (query, *others)
    if _core.rows_fit_plainly(arrays):
        return arrays
    if {array.dtype for array in arrays} != {query.dtype}:
        dtype = _arrays.common_dtype(arrays)
        arrays = tuple(_conversions.in_dtype(array, dtype) for array in arrays)
    if not _core.rows_fit_plainly(arrays):
        _check_rows(arrays)
        arrays = tuple(map(_results.with_rows, arrays))
    return arrays


def _check_rows(arrays: Sequence[NDArray[Any]]) -> None:
    """Refuse rows that do not fit each other."""
    for name, array in zip(_NAMES, arrays, strict=False):
        if array.ndim < 2:
            msg = f"{name} must have shape (..., length, dim), got shape {array.shape}"
            raise ValueError(msg)
    query, key, *rest = arrays
    if not query.shape[-1]:
        msg = f"query must have one feature or more, got shape {query.shape}"
        raise ValueError(msg)
    if key.shape[-1] != query.shape[-1]:
        msg = (
            f"key must have the {query.shape[-1]} features of query, got {key.shape[-1]} "
            f"(shapes {query.shape} and {key.shape})"
        )
        raise ValueError(msg)
    if rest and rest[0].shape[-2] != key.shape[-2]:
        msg = (
            f"value must have the {key.shape[-2]} rows of key, got {rest[0].shape[-2]} "
            f"(shapes {key.shape} and {rest[0].shape})"
        )
        raise ValueError(msg)


def _leading_axes(arrays: tuple[NDArray[Any], ...]) -> tuple[int, ...]:
    """Return the axes of the result before its last two: keys and values may have fewer heads."""
    query = arrays[0].shape[:-2]
    if _core.rows_fit_plainly(arrays):
        return query
    shapes = [array.shape[:-2] for array in arrays]
    if max(map(len, shapes)) > 1 and query and query[-1] > 1:
        for name, shape in zip(_NAMES[1:], shapes[1:], strict=False):
            if shape and (not shape[-1] or query[-1] % shape[-1]):
                msg = (
                    f"{name} must have heads (axis -3) that divide the {query[-1]} of query, got "
                    f"{shape[-1]}"
                )
                raise ValueError(msg)
        shapes = [(*shape[:-1], query[-1]) if shape else shape for shape in shapes]
    try:
        return _arrays.broadcast_shape(*shapes)
    except ValueError:
        msg = (
            f"the leading axes of {', '.join(_NAMES[: len(arrays)])} must broadcast, got shapes "
            f"{', '.join(str(array.shape) for array in arrays)}"
        )
        if all(len(shape) == 1 and shape[0] and query[0] % shape[0] == 0 for shape in shapes):
            msg += "; heads that share keys need a batch axis before them, as query[None]"
        raise ValueError(msg) from None


def checked_mask(
    mask: ArrayLike, hint: str = "; what is added to the scores is bias"
) -> NDArray[np.bool_]:
    """Return which keys each query sees."""
    return _arrays.boolean_mask(mask, "a query sees a key", hint)


def checked_weights(weights: ArrayLike) -> NDArray[np.float64]:
    """Return weights, each from 0 to 1, whose rows a sink may leave below 1."""
    array = _arrays.data("weights", weights).astype(np.float64)
    wrong = array[~((array >= 0) & (array <= 1))]
    if wrong.size:
        msg = f"weights must be from 0 to 1, got {wrong[0]}"
        raise ValueError(msg)
    return array


def checked_bias(bias: ArrayLike, *, wide: bool) -> NDArray[Any]:
    """Return a bias in float64 or float32, as is computed with; a finite number stays one."""
    array = _floats("bias", bias)
    computed = (_FLOAT64 if wide else _FLOAT32)[0]
    if array.dtype is computed:
        return array
    shape = array.shape
    if 0 in array.strides:  # one of what is broadcast, for it will be again
        array = array[tuple(slice(None, 1 if s == 0 else None) for s in array.strides)]
    if not wide:
        array = _results.in_order(array)
    if not wide and array.itemsize == 8:
        array = _core.bias_in_float32(array, get_num_threads())
    else:
        array = _conversions.in_dtype(array, computed)
    return array if array.shape == shape else np.broadcast_to(array, shape)


def per_head(name: str, values: object) -> NDArray[np.float64]:
    """Return slopes or sinks in float64."""
    if type(values) is float:
        return np.array(values)
    if name == "slopes":
        _options.refuse_heads(values)
    return _arrays.aligned(_floats(name, values), np.float64)


def _floats(name: str, values: object) -> NDArray[Any]:
    array = _arrays.converted(name, values, "a number or an array of numbers")
    if array.dtype.kind in "iu":
        return array.astype(np.float64)
    if _arrays.is_float(array.dtype):
        return array
    msg = f"{name} must be real numbers, got dtype {array.dtype}"
    if array.dtype == np.bool_ and name == "bias":
        msg += "; what says which keys a query sees is mask"
    raise TypeError(msg)
