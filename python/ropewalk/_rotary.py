"""Rotary position embedding (RoPE): features turned in pairs by angles that grow with position.

Pair ``i`` of a row at position ``p`` is turned by the angle ``p w_i``. The inner product of two
rows that have been turned depends on the distance of their positions alone, because turning one by
``m`` and the other by ``n`` is turning one of them by ``n - m``.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ropewalk import _arrays, _conversions, _core, _options, _results
from ropewalk._options import Boolean, Integer, Pairing, Real
from ropewalk._runtime import get_num_threads
from ropewalk.frequencies import Frequencies, from_radians
from ropewalk.frequencies._given import given_or_standard
from ropewalk.frequencies._standard import standard_of

_RADIAN = from_radians([1.0])


def rotary_tables(
    positions: ArrayLike | range,
    dim: Integer | None = None,
    /,
    *,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
    angles: Literal["exact", "float32"] = "exact",
    dtype: DTypeLike | None = np.float64,
) -> tuple[NDArray[Any], NDArray[Any]]:
    r"""Cosines and sines of rotary position embedding (RoPE).

    What `rotate` turns by: ``cos(p * w_i)`` and ``sin(p * w_i)``, times the attention factor of the
    frequencies, correctly rounded at any position (float64 within 1 ulp).

    Parameters
    ----------
    positions : array_like or range
        Positions (tokens): a number, a range or an array of any shape; integers or floats of either
        sign, fractions too, finite and at most 2**53 in size. Where `frequencies` have several
        axes, the last axis holds one position an axis, and does not count below.
    dim : int, optional
        Rotary width, twice the number of pairs; even, from 2 to 2**20. May be left out where
        `frequencies` is given.
    base : float, default 10000.0
        Base of the standard frequencies, positive and finite. Not together with `frequencies`.
    frequencies : Frequencies, optional
        Another schedule, from `ropewalk.frequencies`.
    angles : {"exact", "float32"}, default "exact"
        "float32" computes the angles as most libraries do, which is wrong by more the larger the
        position: float32 frequency times float32 position, rounded to float32 (and the sum over the
        axes likewise). Cosine and sine of that angle are then exact.
    dtype : {float64, float32, float16, "bfloat16"}, default float64
        Type of the result; None is float64. bfloat16 needs ml_dtypes.

    Returns
    -------
    cosines, sines : ndarray of shape (\*positions.shape, pairs)

    Raises
    ------
    ValueError
        If an argument is out of the range above, `base` and `frequencies` are both given, or a
        result is larger than any memory.
    TypeError
        If `positions` are complex or no numbers, `dim` is missing or no integer, `base` is no real
        number, `frequencies` are no `Frequencies`, or `dtype` is not one of those named.
    ImportError
        If `dtype` is "bfloat16" and ml_dtypes is not installed.

    See Also
    --------
    rotate : Turn data, with no table in between.
    rotate_by : Turn data by given tables.
    phases : The same as complex numbers.

    Notes
    -----
    float32, float16 and bfloat16 are correctly rounded, float64 is within 1 ulp, at every position
    (with several axes up to 2**31 in size, float64 within 1 ulp + 2**-100). Frequencies made in
    float32 by other libraries are off by up to some ulps, which differ between processors; here it
    is the frequency in float64 that is rounded to float32.

    References
    ----------
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864, equations 15 and 34.

    Examples
    --------
    >>> import ropewalk as rw
    >>> cosines, sines = rw.rotary_tables(range(3), 4)
    >>> sines.round(4)
    array([[0.    , 0.    ],
           [0.8415, 0.01  ],
           [0.9093, 0.02  ]])
    >>> usual, _ = rw.rotary_tables(10**6, 128, angles="float32")
    >>> exact, _ = rw.rotary_tables(10**6, 128)
    >>> round(float(abs(usual - exact).max()), 3)
    0.016
    """
    turning = given_or_standard(dim, base, frequencies)
    _options.choice("angles", angles, ("exact", "float32"))
    rows, shape = _arrays.positions("positions", positions, turning.axes)
    dtype = _results.table_dtype(dtype, None)
    cosines, sines = (_results.empty((*shape, len(turning)), dtype) for _ in range(2))
    factor = turning.attention_factor
    if angles == "float32":
        rows, turning = _float32_angles(rows, turning), _RADIAN
    threads = get_num_threads()
    streamed = _results.prepare_streaming(cosines, sines, threads=threads)
    _core.fill_tables(turning._turns, rows, cosines, sines, factor, streamed, threads)
    return cosines, sines


def _float32_angles(rows: range | NDArray[Any], turning: Frequencies) -> NDArray[np.float64]:
    """Return the angles in radians as float32 arithmetic has them."""
    with np.errstate(all="ignore"):
        radians = turning.radians.astype(np.float32).reshape(turning.axes, -1)
        positions = _arrays.listed(rows).astype(np.float32).reshape(-1, turning.axes, 1)
        in_float32 = positions[:, 0] * radians[0]
        for axis in range(1, turning.axes):
            in_float32 += positions[:, axis] * radians[axis]
    angles: NDArray[np.float64] = in_float32.astype(np.float64)
    too_large = ~(np.abs(angles) <= _options.LARGEST_POSITION)
    if too_large.any():
        msg = f"angles in float32 must be at most 2**53 in size, got {angles[too_large][0]}"
        raise ValueError(msg)
    return angles


def rotate(
    x: ArrayLike,
    positions: ArrayLike | range | None = None,
    /,
    *,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
    pairing: Pairing = "interleaved",
    rotary_dim: Integer | None = None,
    inverse: Boolean = False,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    r"""Rotary position embedding (RoPE): features turned by their position.

    Features ``(a, b)`` of pair ``i`` become ``(a c - b s, a s + b c)`` with ``c = cos(p * w_i)``
    and ``s = sin(p * w_i)``, times the attention factor of the frequencies.

    Parameters
    ----------
    x : array_like of shape (..., dim)
        Queries or keys; float64, float32, float16, bfloat16, or integers, which become float64.
        Any strides; not changed.
    positions : array_like or range, optional
        Positions (tokens) as in `rotary_tables`: a number for all rows, one a row along axis -2, or
        of ``x.ndim - 1`` dimensions, each as long as that of `x` or 1: ``positions[:, None]`` for
        `x` of shape (length, heads, dim). ``range(x.shape[-2])`` where left out. Where
        `frequencies` have several axes, one more dimension at the end holds a position for each;
        left out, that range goes for all of them, as it does for text in multimodal models.
    base : float, default 10000.0
        Base of the standard frequencies, positive and finite. Not together with `frequencies`.
    frequencies : Frequencies, optional
        Another schedule, from `ropewalk.frequencies`.
    pairing : {"interleaved", "half"}, default "interleaved"
        Which features form pair ``i``: ``2 i`` and ``2 i + 1`` (RoFormer, GPT-J, Meta's Llama), or
        ``i`` and ``i + rotary_dim / 2`` (GPT-NeoX, and Llama in transformers).
    rotary_dim : int, optional
        How many of the features are turned, from the first one on; even, from 2 to ``dim``. All of
        them where left out. The others stay as they are.
    inverse : bool, default False
        Undo it: turn back, and divide by the attention factor.
    out : ndarray, optional
        Where to write: of the shape and dtype of the result, any strides; `x` itself, or memory
        that it does not share.

    Returns
    -------
    ndarray of the shape and dtype of x
        `out` where it is given.

    Raises
    ------
    ValueError
        If shapes do not fit, an argument is out of the range above, `base` and `frequencies` are
        both given, or `out` does not fit or shares part of the memory of another argument.
    TypeError
        If `x` or `positions` are complex or no numbers, `base` is no real number, `rotary_dim` no
        integer, `inverse` no boolean, `frequencies` are no `Frequencies`, or `out` is no array.

    See Also
    --------
    rerotate : Move rows that are turned already.
    rotate_by : Turn by given tables.
    rotation_matrix : The same as a matrix.
    ropewalk.frequencies : Schedules.

    Notes
    -----
    Every pair is within 3 u of its exact rotation, relative to its length (4 u for float64, 5 u
    where that is divided by an attention factor), with u the unit roundoff of the dtype: 2**-24 for
    float32; under- and overflow aside. Half types compute in float32 and are rounded once. The same
    row at the same position gives the same bits in every call, in place or
    not, on any number of threads and on every instruction set. Pairs of frequency 0 at the end of a
    row, as of `partial` schedules, are copied where there is no attention factor: -0.0 and infinity
    stay what they are, which sums of products would not leave so.

    References
    ----------
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864, equation 34.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> rw.rotate([[1.0, 0.0], [1.0, 0.0]]).round(4)
    array([[1.    , 0.    ],
           [0.5403, 0.8415]])

    The score of two turned rows depends on the distance of their positions alone:

    >>> q, k = np.array([0.5, -1.0, 2.0, 0.3]), np.array([1.0, 0.2, -0.7, 1.5])
    >>> near = rw.rotate(q, 7) @ rw.rotate(k, 3)
    >>> far = rw.rotate(q, 1_000_004) @ rw.rotate(k, 1_000_000)
    >>> bool(np.isclose(near, far, rtol=1e-15, atol=1e-15))
    True

    At a step of decoding, all heads stand at one position:

    >>> rw.rotate(np.ones((32, 128), np.float32), 4096, pairing="half").shape
    (32, 128)
    """
    data = _arrays.data("x", x)
    if data is not x:
        _results.refuse_memory_of_converted(out, x, data)
    turning = _turning(data, rotary_dim, base, frequencies)
    factor = turning.attention_factor
    backwards = inverse is not False and _options.boolean("inverse", inverse)
    if backwards:
        factor = 1.0 / factor
    return _rotated("positions", data, positions, turning, pairing, backwards, factor, out)


def rerotate(
    x: ArrayLike,
    offset: ArrayLike | range,
    /,
    *,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
    pairing: Pairing = "interleaved",
    rotary_dim: Integer | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Rotary position embedding moved on: keys of a cache at other positions.

    ``rerotate(rotate(x, p), k)`` is ``rotate(x, p + k)``: no attention factor is applied, because
    it has been.

    Parameters
    ----------
    x : array_like of shape (..., dim)
        Rows turned by `rotate`.
    offset : array_like or range
        How far to move (positions), of the shapes that `positions` of `rotate` may have; negative
        moves towards the beginning.
    base, frequencies, pairing, rotary_dim, out
        As in `rotate`.

    Returns
    -------
    ndarray of the shape and dtype of x
        `out` where it is given.

    Raises
    ------
    ValueError, TypeError
        As `rotate`.

    See Also
    --------
    rotate : Turn rows that are not turned yet.

    Notes
    -----
    Within 3 u of the exact rotation of `x` as it is (4 u for float64). A cache that is moved again
    and again gathers one such error each time: keep the rows as they were, and turn those, where
    that matters.

    References
    ----------
    Su et al., RoFormer, 2021, arXiv:2104.09864, equation 34: rotations by m and by k are one
    rotation by m + k.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> keys = rw.rotate(np.ones((3, 4)), range(10, 13))
    >>> bool(np.allclose(rw.rerotate(keys, -10), rw.rotate(np.ones((3, 4))), atol=1e-15))
    True
    """
    data = _arrays.data("x", x)
    if data is not x:
        _results.refuse_memory_of_converted(out, x, data)
    if offset is None:
        msg = "offset must be a number, a range or an array of numbers, got None"  # type: ignore[unreachable]
        raise TypeError(msg)
    turning = _turning(data, rotary_dim, base, frequencies)
    return _rotated("offset", data, offset, turning, pairing, False, 1.0, out)


def _turning(
    data: NDArray[Any],
    rotary_dim: Integer | None,
    base: Real | None,
    frequencies: Frequencies | None,
) -> Frequencies:
    """Return the frequencies of all features that are to be turned."""
    width = _arrays.rotary_width(data, rotary_dim)
    if frequencies is None:
        return standard_of(
            width, 10000.0 if base is None else _options.positive_number("base", base)
        )
    turning = given_or_standard(None, base, frequencies)
    if 2 * len(turning) != width:
        what = "the last axis of x" if rotary_dim is None else "rotary_dim"
        msg = (
            f"{what} must be {2 * len(turning)}, twice the pairs of frequencies, got {width}; "
            "rotary_dim says how many features are turned"
        )
        raise ValueError(msg)
    return turning


def _rotated(
    name: str,
    data: NDArray[Any],
    positions: ArrayLike | range | None,
    turning: Frequencies,
    pairing: Pairing,
    inverse: bool,
    factor: float,
    out: NDArray[Any] | None,
) -> NDArray[Any]:
    interleaved = _options.is_interleaved(pairing)
    threads = get_num_threads()
    plain = _core.rotate_plainly(
        turning._turns, positions, data, out, interleaved, inverse, factor, threads
    )
    if plain is not None:
        return plain
    rows: range | NDArray[Any]
    if positions is None:
        if data.ndim < 2:
            msg = "positions must be given where x has one dimension"
            raise ValueError(msg)
        rows = range(data.shape[-2])
    else:
        rows, shape = _arrays.positions(name, positions, turning.axes)
        on_axes = (turning.axes,) if turning.axes > 1 else ()
        _arrays.check_rows_fit(name, shape, data.shape, on_axes, each="coordinates")
    result, source, target = _results.row_result("x", data, out, positions, rows)
    if not target.size:
        return result
    streamed = _results.prepare_streaming(target, out=out, source=source, threads=threads)
    _core.rotate(
        turning._turns,
        rows,
        source,
        target,
        interleaved,
        inverse,
        factor,
        streamed,
        threads,
    )
    return _results.filled(result, target)


def rotate_by(
    x: ArrayLike,
    cosines: ArrayLike,
    sines: ArrayLike,
    /,
    *,
    pairing: Pairing = "interleaved",
    rotary_dim: Integer | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    r"""Rotary position embedding (RoPE) by given cosines and sines.

    Features ``(a, b)`` of pair ``i`` become ``(a c - b s, a s + b c)``. The tables are taken as
    they are, also where they hold no cosines and sines.

    Parameters
    ----------
    x : array_like of shape (..., dim)
        As in `rotate`.
    cosines, sines : array_like of shape (..., pairs)
        Tables of one shape. The axes before the last one are those that `positions` of `rotate` may
        have: none, one along axis -2 of `x`, or ``x.ndim - 1`` of them, each as long as that of `x`
        or 1. Converted to the type that is computed in: float64 for float64, else float32. Other
        libraries keep each pair twice: pass ``cosines[..., :pairs]`` of two halves that are alike
        (GPT-NeoX, Llama), ``cosines[..., ::2]`` where neighbours are (GPT-J, Cohere).
    pairing : {"interleaved", "half"}, default "interleaved"
        As in `rotate`.
    rotary_dim : int, optional
        How many features are turned; must be twice the pairs of the tables, and is that where left
        out. Give it where only a part of the features is to be turned: tables that hold each pair
        twice may fit `x` then, and all of it would be turned, wrongly.
    out : ndarray, optional
        As in `rotate`.

    Returns
    -------
    ndarray of the shape and dtype of x
        `out` where it is given.

    Raises
    ------
    ValueError
        If shapes do not fit, `pairing` is another, or `out` does not fit or shares part of the
        memory of another argument.
    TypeError
        If an argument is complex or holds no numbers, `rotary_dim` is no integer, or `out` is no
        array.

    See Also
    --------
    rotary_tables : Such tables.
    rotate : The same from positions.

    Notes
    -----
    Two roundings a feature: within 2 u of the exact result for the converted tables, relative to
    the length of the pair and of ``(c, s)``.

    References
    ----------
    Su et al., RoFormer, 2021, arXiv:2104.09864, equation 34; the operator RotaryEmbedding of ONNX,
    version 23.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> x = np.arange(8, dtype=np.float32).reshape(2, 4)
    >>> cosines, sines = rw.rotary_tables(range(2), 4, dtype=np.float32)
    >>> bool((rw.rotate_by(x, cosines, sines) == rw.rotate(x)).all())
    True

    Tables of GPT-NeoX for two of four features, which hold the one pair twice:

    >>> twice = [np.concatenate([table[:, :1]] * 2, axis=-1) for table in (cosines, sines)]
    >>> turned = rw.rotate_by(x, *(t[:, :1] for t in twice), pairing="half", rotary_dim=2)
    >>> bool((turned == rw.rotate(x, pairing="half", rotary_dim=2)).all())
    True
    """
    data = _arrays.data("x", x)
    if data is not x:
        _results.refuse_memory_of_converted(out, x, data)
    interleaved = _options.is_interleaved(pairing)
    threads = get_num_threads()
    if rotary_dim is None:
        plain = _core.rotate_by_plainly(cosines, sines, data, out, interleaved, threads)
        if plain is not None:
            return plain
    wanted = np.dtype(np.float64 if data.dtype == np.float64 else np.float32)
    with np.errstate(all="ignore"):
        cosine_table, sine_table = (
            _results.in_order(_conversions.in_dtype(_arrays.data(name, table), wanted))
            for name, table in (("cosines", cosines), ("sines", sines))
        )
    if cosine_table.shape != sine_table.shape:
        msg = (
            f"cosines and sines must have one shape, got {cosine_table.shape} and "
            f"{sine_table.shape}"
        )
        raise ValueError(msg)
    width = 2 * cosine_table.shape[-1]
    if rotary_dim is None:
        if not 2 <= width <= data.shape[-1]:
            msg = (
                f"cosines must hold from 1 pair to half the {data.shape[-1]} features of x, got "
                f"{cosine_table.shape[-1]} pairs"
            )
            raise ValueError(msg + _cut_to_pairs(width, data.shape[-1]))
    elif (wanted_width := _arrays.rotary_width(data, rotary_dim)) != width:
        msg = f"rotary_dim must be {width}, twice the pairs of cosines, got {wanted_width}"
        raise ValueError(msg + _cut_to_pairs(width, wanted_width))
    *rows, pairs = cosine_table.shape
    _arrays.check_rows_fit("cosines", tuple(rows), data.shape, (pairs,))
    tables = cosines, sines, cosine_table, sine_table
    result, source, target = _results.row_result("x", data, out, *tables)
    if not target.size:
        return result
    streamed = _results.prepare_streaming(target, out=out, source=source, threads=threads)
    _core.rotate_by(cosine_table, sine_table, source, target, interleaved, streamed, threads)
    return _results.filled(result, target)


def _cut_to_pairs(width: int, wanted: int) -> str:
    """Return what to do about tables for twice as many features as are to be turned."""
    if width != 2 * wanted:
        return ""
    return (
        f"; tables that hold each pair twice are to be cut: to [..., :{wanted // 2}] where two "
        "halves are alike, to [..., ::2] where neighbours are"
    )
