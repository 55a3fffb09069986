"""Tokens as vectors: how they are looked up, and how near two of them are."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _conversions, _core, _options, _results
from ropewalk._options import Real

Measure = Literal["cosine", "inner", "euclidean"]


def embed(
    ids: ArrayLike,
    table: ArrayLike,
    /,
    *,
    scale: Real = 1.0,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    r"""Token embedding: the rows of a table that token ids name.

    Parameters
    ----------
    ids : array_like of int
        Token ids, of any shape, each from 0 to ``rows - 1``. A negative id does not count from the
        end.
    table : array_like of shape (rows, dim)
        One vector a token: float64, float32, float16 or bfloat16; integers become float64.
    scale : float, default 1.0
        What every vector is multiplied by, positive and finite in float32 (float64 for a table of
        it); ``sqrt(dim)`` in the Transformer.
    out : ndarray, optional
        Where to write: of the shape and dtype of the result, any strides, sharing no memory with
        `ids` or `table`.

    Returns
    -------
    ndarray of shape (\*ids.shape, dim)
        In the dtype of `table`; `out` where it is given.

    Raises
    ------
    ValueError
        If an id names no row of `table`, `table` has not two dimensions, `scale` is not positive
        and finite, or `out` does not fit.
    TypeError
        If `ids` are no integers, `table` holds no numbers, `scale` is no real number, or `out` is
        no array.

    See Also
    --------
    sinusoidal_encoding : What is added to it.
    similarity : How near two vectors are.

    Notes
    -----
    With a scale of 1 the bits are those of the table. float32 and float64 are multiplied in their
    own type, after `scale` has been rounded to it; half types are multiplied in float32 and rounded
    once. Published code that rounds the scale itself to bfloat16 differs: ``sqrt(3072)`` is 55.4,
    and 55.5 there. A table that is not contiguous in C order is copied by every call.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.4.

    Examples
    --------
    The input of a Transformer is what its tokens are, plus where they stand:

    >>> import numpy as np
    >>> import ropewalk as rw
    >>> table = np.array([[0.1, 0.2], [0.3, 0.5], [0.4, 0.7]])
    >>> vectors = rw.embed([2, 0, 2], table, scale=10.0)
    >>> vectors
    array([[4., 7.],
           [1., 2.],
           [4., 7.]])
    >>> vectors + rw.sinusoidal_encoding(range(3), 2)
    array([[4.        , 8.        ],
           [1.84147098, 2.54030231],
           [4.90929743, 6.58385316]])
    """
    vectors = _arrays.data("table", table)
    if vectors.ndim != 2:
        msg = f"table must have two dimensions, rows and features, got shape {vectors.shape}"
        raise ValueError(msg)
    tokens = _arrays.integers_of_any_size("ids", ids, "an array of integers")
    rows, dim = vectors.shape
    fit = _core.integers_fit_plainly(tokens, 0, rows - 1)  # as almost always
    if not fit and (outside := (tokens < 0) | (tokens >= rows)).any():
        place = tuple(np.argwhere(outside)[0].tolist())
        msg = (
            f"ids must be at least 0 and below {rows}, the number of rows of table, "
            f"got {_options.shown(tokens[place])}" + (f" at index {place}" if place else "")
        )
        raise ValueError(msg)
    scale = _options.positive_number("scale", scale)
    working = np.result_type(vectors, np.float32)
    if scale != 1:
        limits = np.finfo(working)
        least, largest = float(limits.smallest_subnormal) / 2, float(limits.max)
        if not least < scale <= largest:  # the least is rounded to 0
            msg = f"scale must be positive and finite in {working}, got {scale!r}"
            raise ValueError(msg)
    result, _ = _results.result(
        out, (*tokens.shape, dim), vectors.dtype, tokens, vectors, ids, table
    )
    # Every id is known to be a row; "clip" is what writes into `result` without a copy.
    np.take(vectors, tokens.astype(np.intp), axis=0, out=result, mode="clip")
    if scale != 1:
        with np.errstate(all="ignore"):  # beyond the largest number lies infinity
            np.multiply(result, scale, out=result, dtype=working, casting="unsafe")
    return result


def similarity(a: ArrayLike, b: ArrayLike, /, *, measure: Measure = "cosine") -> NDArray[Any]:
    """Similarity of vectors: their cosine, inner product or Euclidean distance.

    Parameters
    ----------
    a, b : array_like of shape (..., dim)
        Vectors along the last axis, which are as long in both; the axes before it broadcast. All of
        `a` against all of `b` is ``similarity(a[:, None], b)``.
    measure : {"cosine", "inner", "euclidean"}, default "cosine"
        "cosine": the cosine of the angle between the vectors, from -1 to 1, whatever their lengths.
        "inner": their inner product, not bounded by 1. "euclidean": their distance, 0 where they
        are equal; it alone is smaller where vectors are more alike.

    Returns
    -------
    ndarray of shape (...)
        Without the last axis, in the dtype of the data: that of `a` and `b`, float64 for integers,
        float32 for both half types together.

    Raises
    ------
    ValueError
        If vectors are not equally long, axes do not broadcast, or `measure` is none of those above.
    TypeError
        If `a` or `b` holds no numbers.

    See Also
    --------
    embed : Where the vectors of tokens come from.

    Notes
    -----
    A zero vector has no direction: its cosine is 0/0, which is NaN, and so is that of an infinite
    vector. Cosine and distance neither overflow nor underflow on the way: vectors are first scaled
    by a power of two. float32 and float64 are summed in their own type, half types in float32 and
    rounded once. With u half the spacing of that type's numbers above 1, errors are to first order
    at most ``dim u sum(|a b|)`` for the inner product, ``(2 dim + 3) u`` for the cosine, and
    ``(dim / 2 + 3) u`` of the distance. The sums are NumPy's, so their last bits may differ from
    machine to machine.

    References
    ----------
    Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, section 6.3.1,
    for the cosine.

    Examples
    --------
    Three words as three features each. An inner product may be larger than 1; a cosine is 1 at
    most, and is so for a word and itself:

    >>> import numpy as np
    >>> import ropewalk as rw
    >>> words = np.array([[0.8, 0.6, -0.4], [0.9, 0.5, -0.3], [-0.2, 0.7, 0.3]])  # cat, dog, car
    >>> rw.similarity(words[:, None], words, measure="inner").round(2)
    array([[1.16, 1.14, 0.14],
           [1.14, 1.15, 0.08],
           [0.14, 0.08, 0.62]])
    >>> rw.similarity(words[:, None], words).round(3)
    array([[1.   , 0.987, 0.165],
           [0.987, 1.   , 0.095],
           [0.165, 0.095, 1.   ]])
    >>> rw.similarity(words[:, None], words, measure="euclidean").round(3)
    array([[0.   , 0.173, 1.225],
           [0.173, 0.   , 1.269],
           [1.225, 1.269, 0.   ]])
    """
    first, second = _arrays.data("a", a), _arrays.data("b", b)
    _options.choice("measure", measure, get_args(Measure))
    if first.shape[-1] != second.shape[-1]:
        msg = f"a and b must have as many features, got {first.shape[-1]} and {second.shape[-1]}"
        raise ValueError(msg)
    try:
        _arrays.broadcast_shape(first.shape, second.shape)
    except ValueError:
        msg = f"a and b must have shapes that broadcast, got {first.shape} and {second.shape}"
        raise ValueError(msg) from None
    dtype = _arrays.common_dtype((first, second))
    working = np.result_type(dtype, np.float32)
    first, second = (_conversions.in_dtype(array, working) for array in (first, second))
    with np.errstate(all="ignore"):  # infinity and NaN answer for themselves
        if measure == "inner":
            result = np.vecdot(first, second)
        elif measure == "cosine":
            first, second = scaled_to_one(first)[0], scaled_to_one(second)[0]
            squares = np.vecdot(first, first) * np.vecdot(second, second)
            result = np.clip(np.vecdot(first, second) / np.sqrt(squares), -1, 1)
        else:
            result = _distances(first, second)
        return _conversions.in_dtype(np.asarray(result, order="C"), dtype)


def _distances(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Return Euclidean distances, of as many pairs at a time as have their differences in cache."""
    shape = _arrays.broadcast_shape(first.shape, second.shape)
    pairs = shape[:-1]
    if max(pairs, default=1) > 1 and math.prod(shape) > 2**18:
        axis = pairs.index(max(pairs))
        halves = [np.array_split(np.broadcast_to(v, shape), 2, axis) for v in (first, second)]
        return np.concatenate([_distances(*half) for half in zip(*halves, strict=True)], axis)
    difference = first - second
    squares = np.asarray(np.vecdot(difference, difference))
    distances = np.asarray(np.sqrt(squares))
    limits = np.finfo(squares.dtype)
    inexact = ~((squares > limits.tiny / limits.eps) & (squares < np.inf))
    if inexact.any():
        scaled, exponents = scaled_to_one(difference[inexact])
        distances[inexact] = np.ldexp(np.sqrt(np.vecdot(scaled, scaled)), exponents[..., 0])
    return distances


def scaled_to_one(vectors: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return vectors with a largest feature from 1/2 to 1, and the exponents that restore them.

    Powers of two are exact. Zero, infinity and NaN stay what they are.
    """
    largest = np.abs(vectors).max(axis=-1, keepdims=True, initial=0)
    exponents = np.frexp(largest)[1]
    return np.ldexp(vectors, -exponents), exponents
