"""Encodings of absolute positions.

A ladder: the position itself, its fraction of the length, its binary digits, and last the
sinusoidal encoding, which gives every pair of features a hand on a clock: after ``p`` positions
pair ``i`` shows ``(sin(p w_i), cos(p w_i))``, and a shift by ``k`` positions turns every hand by a
fixed angle, whatever the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ropewalk import _arrays, _core, _options, _results
from ropewalk._options import Integer, Pairing, Real
from ropewalk._runtime import get_num_threads
from ropewalk.frequencies import Frequencies
from ropewalk.frequencies._given import given_or_standard

Order = Literal["sin-cos", "cos-sin"]
_SINE_FIRST: Order = "sin-cos"
_BLOCK = 1 << 20  # cosines at a time


def integer_encoding(
    positions: ArrayLike | range, dim: Integer, /, *, length: Integer | None = None
) -> NDArray[np.float64]:
    r"""Integer positional encoding: the position itself, in every dimension.

    With `length` the normalised one, the position as a fraction of the length of its sequence.

    Parameters
    ----------
    positions : array_like or range
        Positions (tokens): a number, a range or an array of any shape; integers or floats of either
        sign, fractions too, finite and at most 2**53 in size.
    dim : int
        Width of the encoding, from 1 to 2**20.
    length : int, optional
        Length of the sequence (tokens), from 1 to 2**53: its positions are from 0 to ``length -
        1``, and fractions before `length`. Not normalised unless given.

    Returns
    -------
    ndarray of shape (\*positions.shape, dim)
        float64, one value all along a row: ``p``, exactly; with `length` ``p / length``, correctly
        rounded, from 0 to below 1.

    Raises
    ------
    ValueError
        If an argument is out of the range above, a position is not in a sequence of that length,
        or the result is larger than any memory.
    TypeError
        If `positions` are complex or no numbers, or `dim` or `length` is no integer.

    See Also
    --------
    binary_encoding : Bounded, and the same at any length.
    sinusoidal_encoding : Bounded, the same at any length, and smooth.

    Notes
    -----
    The first rungs of a ladder, to see what is wanted of the others. The integer encoding grows
    without bound and drowns the embeddings that it is added to. The normalised one gives one
    position different values in sequences of different lengths.

    References
    ----------
    Fleetwood, You could have designed state of the art positional encoding, 2024, section "Integer
    Position Encoding".

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.integer_encoding([5, 252], 3)
    array([[  5.,   5.,   5.],
           [252., 252., 252.]])
    >>> rw.integer_encoding(5, 2, length=10), rw.integer_encoding(5, 2, length=10000)
    (array([0.5, 0.5]), array([0.0005, 0.0005]))
    """
    rows, shape = _arrays.positions("positions", positions)
    dim = _options.integer_between("dim", dim, 1, _options.LARGEST_DIM)
    result = _results.empty((*shape, dim))
    values = _arrays.listed(rows).astype(np.float64).reshape(*shape, 1)
    if length is not None:
        length = _options.context_length("length", length)
        outside = values[(values < 0) | (values >= length)]
        if outside.size:
            msg = f"positions must be from 0 to below the length {length}, got {outside[0]:.17g}"
            raise ValueError(msg)
        with np.errstate(under="ignore"):
            values = values / length
    result[...] = values
    return result


def binary_encoding(
    positions: ArrayLike | range,
    dim: Integer,
    /,
    *,
    bits: Integer | None = None,
    order: Literal["lsb", "msb"] = "lsb",
) -> NDArray[np.float64]:
    r"""Binary positional encoding: the binary digits of the position.

    Parameters
    ----------
    positions : array_like or range
        Positions (tokens): a number, a range or an array of any shape; whole numbers from 0 to
        ``2**bits - 1``, and at most 2**53.
    dim : int
        Width of the encoding, from 1 to 2**20.
    bits : int, optional
        Number of digits, of which `dim` is a multiple: every digit fills ``dim / bits`` columns
        side by side. `dim` unless given, one column a digit.
    order : {"lsb", "msb"}, default "lsb"
        Which digit comes first: the least significant one, which changes fastest, as the first pair
        of a sinusoidal encoding does; or the most significant one, as numbers are written.

    Returns
    -------
    ndarray of shape (\*positions.shape, dim)
        float64, zeros and ones.

    Raises
    ------
    ValueError
        If a position is negative or fractional or has more digits than `bits`, `dim` is out of
        range or no multiple of `bits`, `order` is neither of the two, or the result is larger than
        any memory.
    TypeError
        If `positions` are complex or no numbers, or `dim` or `bits` is no integer.

    See Also
    --------
    integer_encoding : The position itself.
    sinusoidal_encoding : Waves in place of digits.

    Notes
    -----
    Digit ``n``, counted from 1, changes every ``2**(n - 1)`` positions, so its period is ``2**n``.
    All ``2**bits`` positions differ, and no more can. The step from one position to the next is not
    smooth: from 255 to 256 nine digits change, from 256 to 257 one.

    References
    ----------
    Fleetwood, You could have designed state of the art positional encoding, 2024, section "Binary
    Position Encoding".

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.binary_encoding(252, 8, order="msb")
    array([1., 1., 1., 1., 1., 1., 0., 0.])
    >>> rw.binary_encoding(range(4), 4, bits=2)
    array([[0., 0., 0., 0.],
           [1., 1., 0., 0.],
           [0., 0., 1., 1.],
           [1., 1., 1., 1.]])
    """
    rows, shape = _arrays.positions("positions", positions)
    dim = _options.integer_between("dim", dim, 1, _options.LARGEST_DIM)
    bits = dim if bits is None else _options.integer_between("bits", bits, 1, dim)
    if dim % bits:
        msg = f"dim must be a multiple of bits, which is {bits}, got {dim}"
        raise ValueError(msg)
    _options.choice("order", order, ("lsb", "msb"))
    result = _results.empty((*shape, dim))
    given = _arrays.listed(rows).reshape(*shape, 1)
    whole = given.astype(np.int64)
    shifts = np.arange(bits)  # from 64 on NumPy gives 0
    wrong = given[(whole != given) | (whole < 0) | (whole >> shifts[-1] > 1)]
    if wrong.size:
        largest = f"2**{bits} - 1, which {bits} bits hold"
        msg = f"positions must be whole numbers from 0 to {largest}, got {wrong[0]:.17g}"
        raise ValueError(msg)
    digits = whole >> (shifts if order == "lsb" else shifts[::-1]) & 1
    result.reshape(-1, bits, dim // bits)[...] = digits.reshape(-1, bits, 1)
    return result


def sinusoidal_encoding(
    positions: ArrayLike | range,
    dim: Integer | None = None,
    /,
    *,
    base: Real | None = None,
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
        position an axis, and does not count below.
    dim : int, optional
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20. May be left out
        where `frequencies` is given.
    base : float, default 10000.0
        Base of the standard frequencies, positive and finite. Not together with `frequencies`.
    frequencies : Frequencies, optional
        Another schedule, from `ropewalk.frequencies`. Its attention factor is not applied.
    pairing : {"interleaved", "half"}, default "interleaved"
        Where the two values of pair ``i`` stand: at ``2 i`` and ``2 i + 1`` (the paper), or at
        ``i`` and ``i + dim / 2`` (tensor2tensor, fairseq; for their frequencies see Notes).
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
        If an argument is out of the range above, `base` and `frequencies` are both given, `out`
        does not fit, or the result is larger than any memory.
    TypeError
        If `positions` are complex or no numbers, `dim` is missing or no integer, `base` is no real
        number, `frequencies` are no `Frequencies`, `dtype` is not one of those named, or `out` is
        no array.
    ImportError
        If `dtype` is "bfloat16" and ml_dtypes is not installed.
    MemoryError
        If there is no memory for the result.

    See Also
    --------
    shift_matrix : The matrix that moves an encoding by some positions.
    position_kernel : The inner product of two encodings.
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

    tensor2tensor and fairseq let the last pair turn by ``1 / 10000``, not the one that would follow
    it: pair ``i`` of ``n`` turns by ``10000 ** (-i / (n - 1))``. That is a `base` of ``10000 ** (n
    / (n - 1))`` here, with ``n = dim // 2``.

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
    turning = given_or_standard(dim, base, frequencies)
    interleaved, sine_first = _options.is_interleaved(pairing), _is_sine_first(order)
    threads = get_num_threads()
    plain = _core.encode_plainly(
        turning._turns, positions, dtype, out, interleaved, sine_first, threads
    )
    if plain is not None:
        return plain
    rows, shape = _arrays.positions("positions", positions, turning.axes)
    dtype = _results.table_dtype(dtype, out)
    result, core = _results.result(out, (*shape, 2 * len(turning)), dtype, positions, rows)
    streamed = _results.prepare_streaming(core, out=out, threads=threads)
    _core.fill_sinusoidal(
        turning._turns,
        rows,
        core,
        interleaved,
        sine_first,
        1.0,
        streamed,
        threads,
    )
    return _results.filled(result, core)


def _is_sine_first(order: Order) -> bool:
    if order is not _SINE_FIRST:  # which it is, as a literal
        _options.choice("order", order, get_args(Order))
    return order == _SINE_FIRST


def shift_matrix(
    offset: ArrayLike | range,
    dim: Integer | None = None,
    /,
    *,
    base: Real | None = None,
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
        If an argument is out of its range, `base` and `frequencies` are both given, or the result
        is larger than any memory.
    TypeError
        If `offset` is complex or no number, `dim` is missing or no integer, or `frequencies` are
        no `Frequencies`.

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
    turning = given_or_standard(dim, base, frequencies)
    interleaved, sine_first = _options.is_interleaved(pairing), _is_sine_first(order)
    rows, shape = _arrays.positions("offset", offset, turning.axes)
    dim = 2 * len(turning)
    result = _results.empty((*shape, dim, dim))
    _core.fill_matrices(
        turning._turns, rows, result, interleaved, sine_first, 1.0, get_num_threads()
    )
    return result


def position_kernel(
    offsets: ArrayLike | range,
    dim: Integer | None = None,
    /,
    *,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
) -> NDArray[np.float64]:
    r"""Position kernel: inner product of two sinusoidal encodings, by their offset.

    The sum of ``cos(offset * w_i)`` over all pairs ``i``. It depends on how far apart two positions
    are, and not on where they stand: the Fourier transform of the frequencies.

    Parameters
    ----------
    offsets : array_like or range
        One position minus the other (tokens), as `positions` in `sinusoidal_encoding`.
    dim, base, frequencies
        As in `sinusoidal_encoding`.

    Returns
    -------
    ndarray of shape offsets.shape
        float64, even in the offset; at most the number of pairs in size, which it is at 0.

    Raises
    ------
    ValueError
        If an argument is out of its range, or `base` and `frequencies` are both given.
    TypeError
        If `offsets` are complex or no numbers, `dim` is missing or no integer, `base` is no real
        number, or `frequencies` are no `Frequencies`.

    See Also
    --------
    sinusoidal_encoding : Whose inner products these are.
    ropewalk.plot.position_kernel : Its picture.
    ropewalk.plot.score_by_distance : The same for rotated queries and keys.

    Notes
    -----
    For encodings ``f`` the inner product ``f(s) @ f(t)`` is ``position_kernel(s - t)``, and the
    squared distance ``|f(s) - f(t)|**2`` is ``dim - 2 * position_kernel(s - t)``. RoPE has it too:
    where query and key are all ones, the score of the rotated two is ``2 * position_kernel(s -
    t)``, times the square of the attention factor, which is not applied here.

    Cosines are within 1 ulp and summed exactly, so the kernel is within ``2 * pairs * u``, with u
    = 2**-53, at any offset up to 2**53 in size.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5, for the
    encoding; Rahimi and Recht, Random Features for Large-Scale Kernel Machines, 2007, section 3,
    for such inner products as Fourier transforms; Su et al., RoFormer: Enhanced Transformer with
    Rotary Position Embedding, 2021, arXiv:2104.09864, section 3.4.3, for scores by distance.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.position_kernel([0, 1, -1, 100], 4).round(4)
    array([2.    , 1.5403, 1.5403, 1.4026])
    """
    turning = given_or_standard(dim, base, frequencies)
    rows, shape = _arrays.positions("offsets", offsets, turning.axes)
    # One axis of offsets: 64, as many as the result may have, leave none for the pairs.
    if not isinstance(rows, range):
        rows = rows.reshape(math.prod(shape), *rows.shape[len(shape) :])
    sums = _results.empty((len(rows),))
    step = max(1, _BLOCK // len(turning))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        cosines, sines = np.empty((2, len(sums[part]), len(turning)))
        _core.fill_tables(turning._turns, rows[part], cosines, sines, 1.0, False, get_num_threads())
        sums[part] = [math.fsum(row.tolist()) for row in cosines]
    return sums.reshape(shape)


def grid_positions(
    shape: Sequence[Integer] | NDArray[np.integer],
    /,
    *,
    normalise: Literal["separate", "min", "max"] | None = None,
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
        If a length is out of range, there are no axes or too many, `normalise` is none of those
        named, or the result is larger than any memory.
    TypeError
        If `shape` is no sequence of integers.
    MemoryError
        If there is no memory for the result.

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
    lengths = _options.sequence_of_integers("shape", shape)
    sizes = [_options.context_length("each length of shape", n) for n in lengths]
    if not 1 <= len(sizes) < _arrays.MOST_AXES:  # one axis is of the coordinates
        msg = f"shape must have 1 to {_arrays.MOST_AXES - 1} axes, got {len(sizes)}"
        raise ValueError(msg)
    if normalise is not None:
        _options.choice("normalise", normalise, ("separate", "min", "max"))
    dtype: np.dtype[Any] = np.dtype(np.int64 if normalise is None else np.float64)
    result = _results.empty((*sizes, len(sizes)), dtype)
    for axis, size in enumerate(sizes):
        cells: NDArray[Any] = np.arange(size)
        if normalise is not None:
            n = {"separate": size, "min": min(sizes), "max": max(sizes)}[normalise]
            cells = (2 * cells + 1 - n) / n  # one rounding: the numerator is exact
        result[..., axis] = cells.reshape(-1, *[1] * (len(sizes) - 1 - axis))
    return result
