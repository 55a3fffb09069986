"""Encodings of absolute positions.

The sinusoidal encoding gives every pair of features a hand on a clock: after ``p`` positions pair
``i`` shows ``(sin(p w_i), cos(p w_i))``, and a shift by ``k`` positions turns every hand by a fixed
angle, whatever the time.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ropewalk import _arrays, _core
from ropewalk._arrays import Pairing
from ropewalk._runtime import get_num_threads
from ropewalk.frequencies import Frequencies
from ropewalk.frequencies._standard import _given_or_standard

Order = Literal["sin-cos", "cos-sin"]

# Stores that pass the cache by pay from here on, and only into memory that has been touched.
STREAMED_BYTES = {8: 32 << 20, 4: 64 << 20, 2: 64 << 20}  # by the bytes of an element

LARGEST_GRID_AXES = 63  # an array of NumPy has 64 dimensions, and one holds the coordinates


def sinusoidal_encoding(
    positions: ArrayLike | range,
    dim: int | None = None,
    /,
    *,
    base: float | None = None,
    frequencies: Frequencies | None = None,
    pairing: Pairing = "interleaved",
    order: Order = "sin-cos",
    dtype: DTypeLike | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    r"""Sinusoidal positional encoding of the Transformer.

    Row ``p`` holds ``sin(p * w_i)`` and ``cos(p * w_i)`` for every pair ``i``, correctly rounded at
    any position (float64 within 1 ulp).

    Parameters
    ----------
    positions : array_like or range
        Positions (tokens): a number, a range or an array of any shape; integers or floats of either
        sign, fractions too, finite and at most 2**53 in size. A number is one position: fifty-one
        of them are ``range(51)``. Where `frequencies` have several axes, the last axis holds one
        position a axis, and does not count below.
    dim : int, optional
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20. May be left out
        where `frequencies` is given.
    base : float, default 10000.0
        Base of the standard frequencies, positive and finite. Not together with `frequencies`.
    frequencies : Frequencies, optional
        Another schedule, from `ropewalk.frequencies`. Its attention factor is not applied.
    pairing : {"interleaved", "half"}, default "interleaved"
        Where the two values of pair ``i`` stand: at ``2 i`` and ``2 i + 1`` (the paper), or at
        ``i`` and ``i + dim / 2`` (tensor2tensor, fairseq).
    order : {"sin-cos", "cos-sin"}, default "sin-cos"
        Which value of a pair comes first.
    dtype : {float64, float32, float16, "bfloat16"}, default float64
        Type of the result; that of `out` where only `out` is given. bfloat16 needs ml_dtypes.
    out : ndarray, optional
        Where to write: of the shape and dtype of the result, any strides, sharing no memory with
        `positions`.

    Returns
    -------
    ndarray of shape (\*positions.shape, dim)
        Values from -1 to 1; `out` where it is given.

    Raises
    ------
    ValueError
        If an argument is out of the range above, `base` and `frequencies` are both given, or `out`
        does not fit.
    TypeError
        If `positions` are complex or no numbers, `dim` is missing or no integer, or `dtype` is not
        one of those named.
    ImportError
        If `dtype` is "bfloat16" and ml_dtypes is not installed.

    See Also
    --------
    shift_matrix : The matrix that moves an encoding by some positions.
    rotary_tables : Cosines and sines apart, for rotary encodings.
    grid_positions : Positions on images and volumes.
    ropewalk.frequencies : Schedules.

    Notes
    -----
    ``PE[p, 2 i] = sin(p / base ** (2 i / dim))`` and ``PE[p, 2 i + 1] = cos(p / base ** (2 i /
    dim))``. float32, float16 and bfloat16 are correctly rounded, float64 is within 1 ulp, at every
    position (with several axes up to 2**31 in size, float64 within 1 ulp + 2**-100); the encoding
    of ``-p`` is exactly ``(-sin, cos)``. The same position gives the same bits in every call, on
    any number of threads and on every instruction set.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.sinusoidal_encoding(range(3), 4).round(4)
    array([[ 0.    ,  1.    ,  0.    ,  1.    ],
           [ 0.8415,  0.5403,  0.01  ,  1.    ],
           [ 0.9093, -0.4161,  0.02  ,  0.9998]])
    >>> rw.sinusoidal_encoding(10**15, 128).shape
    (128,)
    """
    turning = _given_or_standard(dim, base, frequencies)
    interleaved = _arrays.is_interleaved(pairing)
    _arrays.choice("order", order, ("sin-cos", "cos-sin"))
    rows, shape = _arrays.positions("positions", positions, turning.axes)
    dtype = _arrays.table_dtype(dtype, out)
    result, core = _arrays.result(out, (*shape, 2 * len(turning)), dtype, positions, rows)
    streamed = out is not None and core.nbytes >= STREAMED_BYTES[dtype.itemsize]
    _core.fill_sinusoidal(
        turning._turns,
        rows,
        core,
        interleaved,
        order == "sin-cos",
        1.0,
        streamed,
        get_num_threads(),
    )
    return _arrays.filled(result, core)


def shift_matrix(
    offset: ArrayLike | range,
    dim: int | None = None,
    /,
    *,
    base: float | None = None,
    frequencies: Frequencies | None = None,
    pairing: Pairing = "interleaved",
    order: Order = "sin-cos",
) -> NDArray[np.float64]:
    r"""Matrix that moves a sinusoidal encoding by `offset` positions.

    ``shift_matrix(k, dim) @ sinusoidal_encoding(p, dim)`` is ``sinusoidal_encoding(p + k, dim)``
    for every ``p``: the relative position is a linear map that does not depend on the absolute one.

    Parameters
    ----------
    offset : array_like or range
        How far to move (positions), as `positions` in `sinusoidal_encoding`.
    dim, base, frequencies, pairing, order
        As in `sinusoidal_encoding`.

    Returns
    -------
    ndarray of shape (\*offset.shape, dim, dim)
        float64, zero but for a block of two by two a pair: ``[[c, s], [-s, c]]`` with ``c =
        cos(offset * w_i)`` and ``s = sin(offset * w_i)`` in the order sin-cos, its transpose in the
        order cos-sin. A rotation by ``-offset * w_i``.

    Raises
    ------
    ValueError
        If an argument is out of its range, or `base` and `frequencies` are both given.
    TypeError
        If `offset` is complex or no number, or `dim` is missing or no integer.

    See Also
    --------
    sinusoidal_encoding : What it moves.
    rotation_matrix : Its transpose.

    Notes
    -----
    Entries are within 1 ulp, at any offset up to 2**53 in size. In the order sin-cos a pair of the
    encoding is a clock hand ``(sin, cos)``, which grows from the cosine towards the sine: moving it
    on turns the plane of its two features clockwise, by ``-offset * w_i``. `rotation_matrix` turns
    features counterclockwise; so the one is the transpose, and the inverse, of the other. In the
    order cos-sin both are the same matrix.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5 states that such
    a matrix exists; it is the addition theorem of sine and cosine.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> moved = rw.shift_matrix(3, 8) @ rw.sinusoidal_encoding(4, 8)
    >>> bool(np.allclose(moved, rw.sinusoidal_encoding(7, 8), rtol=0, atol=1e-15))
    True
    """
    turning = _given_or_standard(dim, base, frequencies)
    interleaved = _arrays.is_interleaved(pairing)
    _arrays.choice("order", order, ("sin-cos", "cos-sin"))
    rows, shape = _arrays.positions("offset", offset, turning.axes)
    dim = 2 * len(turning)
    result, _ = _arrays.result(None, (*shape, dim, dim), np.dtype(np.float64))
    sine_first = order == "sin-cos"
    _core.fill_matrices(
        turning._turns, rows, result, interleaved, sine_first, 1.0, get_num_threads()
    )
    return result


def grid_positions(
    shape: Sequence[int], /, *, normalise: Literal["separate", "min", "max"] | None = None
) -> NDArray[Any]:
    r"""Positions of the cells of a grid, one coordinate an axis.

    Parameters
    ----------
    shape : sequence of int
        Length of every axis, each from 1 to 2**53: rows and columns of an image, frames, rows and
        columns of a video. From 1 to 63 axes.
    normalise : {"separate", "min", "max"}, optional
        Give the centres of the cells instead of their indices: cell ``i`` of an axis lies at ``(2 *
        i + 1) / n - 1``. "separate" takes the length of that very axis for ``n``, so that every
        axis covers -1 to 1; "min" and "max" take the shortest and the longest length for all axes,
        which keeps the cells square.

    Returns
    -------
    ndarray of shape (\*shape, axes)
        int64, or float64 where `normalise` is given, correctly rounded.

    Raises
    ------
    ValueError
        If a length is out of range, there are no axes or too many, or `normalise` is none of those
        named.
    TypeError
        If `shape` is no sequence of integers.

    See Also
    --------
    ropewalk.frequencies.axial : Frequencies for them.

    Notes
    -----
    The three ways to normalise are those of DINOv3, whose default is "separate". With "min" and
    "max" the first cell still starts at -1, so the grid is not centred on the other axes.

    References
    ----------
    Siméoni et al., DINOv3, 2025, arXiv:2508.10104, and the code published with it.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.grid_positions((2, 3)).reshape(6, 2)
    array([[0, 0],
           [0, 1],
           [0, 2],
           [1, 0],
           [1, 1],
           [1, 2]])
    >>> rw.grid_positions((1, 4), normalise="separate")[0, :, 1]
    array([-0.75, -0.25,  0.25,  0.75])
    """
    if not isinstance(shape, Sequence):  # what a type checker would have said
        msg = f"shape must be a sequence of integers, got {shape!r}"  # type: ignore[unreachable]
        raise TypeError(msg)
    sizes = [_arrays.positive_integer("shape", n, _arrays.LARGEST_POSITION) for n in shape]
    if not 1 <= len(sizes) <= LARGEST_GRID_AXES:
        msg = f"shape must have 1 to {LARGEST_GRID_AXES} axes, got {len(sizes)}"
        raise ValueError(msg)
    if normalise is not None:
        _arrays.choice("normalise", normalise, ("separate", "min", "max"))
    dtype: np.dtype[Any] = np.dtype(np.int64 if normalise is None else np.float64)
    result, _ = _arrays.result(None, (*sizes, len(sizes)), dtype, shape)
    for axis, size in enumerate(sizes):
        cells: NDArray[Any] = np.arange(size)
        if normalise is not None:
            n = {"separate": size, "min": min(sizes), "max": max(sizes)}[normalise]
            cells = (2 * cells + 1 - n) / n  # one rounding: the numerator is exact
        result[..., axis] = cells.reshape(-1, *[1] * (len(sizes) - 1 - axis))
    return result
