"""Encodings of absolute positions.

The sinusoidal encoding gives every pair of features a hand on a clock: after ``p`` positions pair
``i`` shows ``(sin(p w_i), cos(p w_i))``, and a shift by ``k`` positions turns every hand by a fixed
angle, whatever the time.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ropewalk import _arrays, _core
from ropewalk._runtime import get_num_threads
from ropewalk.frequencies import Frequencies, _given_or_standard

Pairing = Literal["interleaved", "half"]
Order = Literal["sin-cos", "cos-sin"]

# Stores that pass the cache by pay from here on, and only into memory that has been touched.
STREAMED_BYTES = {8: 32 << 20, 4: 64 << 20, 2: 64 << 20}  # by the bytes of an element


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
        of them are ``range(51)``.
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
    ropewalk.frequencies : Schedules.

    Notes
    -----
    ``PE[p, 2 i] = sin(p / base ** (2 i / dim))`` and ``PE[p, 2 i + 1] = cos(p / base ** (2 i /
    dim))``. float32, float16 and bfloat16 are correctly rounded, float64 is within 1 ulp, at every
    position; the encoding of ``-p`` is exactly ``(-sin, cos)``. The same position gives the same
    bits in every call, on any number of threads and on every instruction set.

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
    _arrays.choice("pairing", pairing, ("interleaved", "half"))
    _arrays.choice("order", order, ("sin-cos", "cos-sin"))
    rows, shape = _arrays.positions("positions", positions)
    dtype = _arrays.table_dtype(dtype, out)
    result, core = _arrays.result(out, (*shape, 2 * len(turning)), dtype, positions)
    streamed = out is not None and core.nbytes >= STREAMED_BYTES[dtype.itemsize]
    _core.fill_sinusoidal(
        turning._turns,
        rows,
        core,
        pairing == "interleaved",
        order == "sin-cos",
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

    Notes
    -----
    Entries are within 1 ulp, at any offset up to 2**53 in size.

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
    _arrays.choice("pairing", pairing, ("interleaved", "half"))
    _arrays.choice("order", order, ("sin-cos", "cos-sin"))
    rows, shape = _arrays.positions("offset", offset)
    dim = 2 * len(turning)
    result, _ = _arrays.result(None, (*shape, dim, dim), np.dtype(np.float64), offset)
    _core.fill_shift_matrices(
        turning._turns,
        rows,
        result,
        pairing == "interleaved",
        order == "sin-cos",
        get_num_threads(),
    )
    return result
