"""What changes and what does not: when positions shift, texts grow, features turn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options
from ropewalk._options import Boolean, Integer, Real
from ropewalk.geometry._points import norms
from ropewalk.properties._measurement import (
    Measurement,
    largest,
    reals,
    rows_of_reals,
    table_of_reals,
    unit,
)


@dataclass(frozen=True, slots=True, eq=False)
class FittedShift:
    """The map that best takes every row of a table to the row some positions on.

    Attributes
    ----------
    matrix : ndarray of shape (dim, dim)
        The linear part: ``matrix @ f(t)`` is near ``f(t + shift)``.
    offset : ndarray of shape (dim,)
        What an affine map adds; 0 in a linear one.
    residual : float
        The largest ``abs(matrix @ f(t) + offset - f(t + shift))`` of all entries and positions.
    """

    matrix: NDArray[np.float64]
    offset: NDArray[np.float64]
    residual: float


def fitted_shift(
    table: ArrayLike, shift: Integer = 1, /, *, affine: Boolean = False
) -> FittedShift:
    """Shift of positions as a linear map, fitted by least squares.

    Is there a matrix that takes every row to the row some positions on?

    Parameters
    ----------
    table : array_like of shape (positions, dim)
        Two rows or more of neighbouring positions, finite; float64, float32, float16, bfloat16 or
        integers.
    shift : int, default 1
        How far to move (positions), positive and less than the number of rows.
    affine : bool, default False
        Let the map add a constant row as well.

    Returns
    -------
    FittedShift
        The map of least squares, the smallest of them where several fit as well, and how far it is
        off.

    Raises
    ------
    ValueError
        If `table` has not two dimensions, has fewer than two rows, no columns, a value that is not
        finite or an integer beyond 2**53 in size, or `shift` is out of range.
    TypeError
        If `table` holds no such numbers, `shift` is no integer, or `affine` is not boolean.

    See Also
    --------
    ropewalk.shift_matrix : The exact matrix of the sinusoidal encoding.

    Notes
    -----
    Of 256 rows of a sinusoidal encoding of width 8 the residual is rounding, below 1e-13, and the
    matrix is `shift_matrix` where there are rows enough to tell slow pairs apart. Negative
    controls: integer and binary encodings, whose residual is about 1, since a linear map leaves
    ``f(0) = 0`` where it is. An affine map moves integers as well; no map of either kind moves
    binary digits.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5, for the
    statement; Fleetwood, You could have designed state of the art positional encoding, 2024, for
    its proof by comparing coefficients.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from ropewalk.properties import fitted_shift
    >>> fitted = fitted_shift(rw.sinusoidal_encoding(range(256), 4), 3)
    >>> bool(abs(fitted.matrix - rw.shift_matrix(3, 4)).max() < 1e-12)
    True
    >>> round(fitted_shift(rw.integer_encoding(range(256), 4)).residual, 6)
    1.0
    >>> bool(fitted_shift(rw.integer_encoding(range(256), 4), affine=True).residual < 1e-10)
    True
    """
    rows = rows_of_reals(table)
    shift = _options.integer("shift", shift)
    if not 1 <= shift < len(rows):
        msg = f"shift must be from 1 to {len(rows) - 1}, below the rows of table, got {shift}"
        raise ValueError(msg)
    before, after = rows[:-shift], rows[shift:]
    ones = np.ones((len(before), 1)) if _options.boolean("affine", affine) else before[:, :0]
    known = np.hstack([before, ones])
    dim = rows.shape[1]
    # Powers of two near the largest of each column, or small columns would count for nothing.
    sizes = np.ldexp(1.0, np.frexp(np.abs(known).max(axis=0))[1] - 1)
    with np.errstate(all="ignore"):
        found = np.linalg.lstsq(known / sizes, after)[0].astype(np.float64) / sizes[:, None]
        matrix, constant = np.ascontiguousarray(found[:dim].T), found[dim:].sum(axis=0)
        return FittedShift(matrix, constant, largest(known @ found - after))


def relative_score(
    score: Callable[[NDArray[Any]], NDArray[Any]],
    positions: ArrayLike,
    /,
    *,
    shift: ArrayLike,
    scale: Real,
) -> Measurement:
    """Relative scores: queries and keys that move together keep their scores.

    Parameters
    ----------
    score : callable
        What is measured: it takes positions and returns the scores of the queries there with the
        keys there, finite; float64, float32 or float16, integers become float64.
    positions : array_like of shape (length,) or (length, axes)
        Positions of queries and keys (tokens, or coordinates of a grid), at most 2**53 in size,
        shifted ones too.
    shift : array_like
        What is added to all positions: a number, or one an axis.
    scale : float
        Length of the longest query times length of the longest key, positive and finite.

    Returns
    -------
    Measurement
        The largest ``|score(positions + shift) - score(positions)| / scale``. The bound is
        ``16 u``, with u half the spacing of the numbers above 1: of float64 that is rotated, and
        then dotted exactly, each score is within ``8 u``.

    Raises
    ------
    ValueError
        If `positions` are empty, `positions`, `shift` or the scores not finite or too large, there
        are no scores or only one number, `scale` is not positive and finite, or shapes do not fit.
    TypeError
        If `positions`, `shift` or the scores are no real numbers, `scale` is none, or `score` is no
        function.

    See Also
    --------
    fitted_shift : What the shift of an absolute encoding looks like.
    ropewalk.rotate : The rotation, whose scores are relative.

    Notes
    -----
    Rotations of a plane commute, ``(R_m q) @ (R_n k) = q @ R_(n - m) k``, and so do those of axial
    and of mixed frequencies. Negative controls: an encoding that is added, whose score has cross
    terms ``q @ f(n)`` with the absolute position; angles in float32, which change with the
    position; generators that do not commute.

    References
    ----------
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864, equation 16.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> from ropewalk.properties import relative_score
    >>> q, k = np.random.default_rng(1).standard_normal((2, 16, 64))
    >>> scale = np.linalg.norm(q, axis=1).max() * np.linalg.norm(k, axis=1).max()
    >>> def rotated(at):
    ...     return rw.rotate(q, at) @ rw.rotate(k, at).T
    >>> relative_score(rotated, np.arange(16), shift=10**6, scale=scale).holds
    True
    >>> def added(at):
    ...     return (q + rw.sinusoidal_encoding(at, 64)) @ (k + rw.sinusoidal_encoding(at, 64)).T
    >>> relative_score(added, np.arange(16), shift=10**6, scale=scale).holds
    False
    """
    _options.function("score", score)
    at, further = _places("positions", positions), _places("shift", shift)
    if not at.size:
        msg = f"positions must not be empty, got shape {at.shape}"
        raise ValueError(msg)
    _arrays.check_broadcast("shift", further.shape, at.shape, "positions")
    before = reals("score(positions)", score(at.copy()))  # it may work in place
    after = reals("score(positions + shift)", score(_places("positions + shift", at + further)))
    if after.shape != before.shape:
        msg = (
            f"score(positions + shift) must have the shape of score(positions), {before.shape}, "
            f"got {after.shape}"
        )
        raise ValueError(msg)
    scale = _options.positive_number("scale", scale)
    with np.errstate(all="ignore"):  # what is too far apart is infinitely far
        return Measurement(largest(after - before) / scale, 16 * unit(before))


def _places(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return positions, or a shift of them, in int64 or float64: no sum of two is too large."""
    places, shape = _arrays.positions(name, values)
    return _arrays.listed(places).reshape(shape)


def length_independence(
    encode: Callable[[int], NDArray[Any]], length: Integer, longer: Integer, /
) -> Measurement:
    """Independence of the length: a position has one row, however long the text.

    Parameters
    ----------
    encode : callable
        What is measured: it takes a number of positions and returns their table, a row a position.
    length, longer : int
        Two lengths (tokens), from 1 to 2**53, the first at most the second.

    Returns
    -------
    Measurement
        The largest difference between the rows that both have. The bound is 0.

    Raises
    ------
    ValueError
        If a length is out of range, a table has not as many rows, or holds a number that is not
        finite or an integer beyond 2**53 in size, or tables differ in their width.
    TypeError
        If a length is no integer, a table holds no numbers, or `encode` is no function.

    See Also
    --------
    unseen_phase : What a longer text has that a shorter one has not.

    Notes
    -----
    Negative control: the normalised encoding, in which position 5 is 0.5 of 10 tokens and 0.0005
    of 10000.

    References
    ----------
    Fleetwood, You could have designed state of the art positional encoding, 2024, section
    "Desirable Properties".

    Examples
    --------
    >>> import ropewalk as rw
    >>> from ropewalk.properties import length_independence
    >>> length_independence(lambda n: rw.sinusoidal_encoding(range(n), 8), 10, 10000)
    Measurement(value=0.0, bound=0.0)
    >>> length_independence(lambda n: rw.integer_encoding(range(n), 8, length=n), 10, 20)
    Measurement(value=0.45, bound=0.0)
    """
    _options.function("encode", encode)
    length = _options.context_length("length", length)
    longer = _options.context_length("longer", longer)
    if longer < length:
        msg = f"longer must be at least the length {length}, got {longer}"
        raise ValueError(msg)
    tables = []
    for rows in (length, longer):
        table = table_of_reals(f"encode({rows})", encode(rows))
        if len(table) != rows:
            msg = f"encode must return a row a position, {rows}, got shape {table.shape}"
            raise ValueError(msg)
        tables.append(table[:length])
    if tables[0].shape != tables[1].shape:
        widths = " and ".join(str(table.shape[1]) for table in tables)
        msg = f"encode must return tables of one width, got {widths} columns"
        raise ValueError(msg)
    with np.errstate(all="ignore"):
        return Measurement(largest(tables[1] - tables[0]), 0.0)


def kept_norm(x: ArrayLike, placed: ArrayLike, /) -> Measurement:
    """Norm of an embedding once its position is in it: a rotation keeps it.

    Parameters
    ----------
    x : array_like of shape (..., dim)
        Embeddings, queries or keys, none of them zero; finite; float64, float32 or float16,
        integers become float64.
    placed : array_like of shape (..., dim)
        The same with their positions: rotated, or with an encoding added.

    Returns
    -------
    Measurement
        The largest ``||placed| / |x| - 1|``. The bound is ``8 u``, with u half the spacing of the
        numbers above 1 in the type of `placed`.

    Raises
    ------
    ValueError
        If an argument is empty, not finite or a number, the shapes differ, or a row of `x` is zero.
    TypeError
        If an argument holds no such numbers.

    See Also
    --------
    signal_to_noise : How much louder an encoding is than the embedding.

    Notes
    -----
    A rotation rounds table and products, which changes the length of a pair by up to ``5 u``; the
    rest of the bound is the measurement's own. In rows of many pairs most of it cancels. Rows may
    be of any size: those of `x` are brought near 1 first, and those of `placed` by the same factor.
    Negative control: an encoding that is added.

    References
    ----------
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864, section 3.2.2: the matrix is orthogonal.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> from ropewalk.properties import kept_norm
    >>> x = np.random.default_rng(1).standard_normal((100, 64))
    >>> kept_norm(x, rw.rotate(x)).holds
    True
    >>> kept_norm(x, x + rw.sinusoidal_encoding(range(100), 64)).holds
    False
    """
    before, after = reals("x", x), reals("placed", placed)
    if before.shape != after.shape:
        msg = f"placed must have the shape of x, {before.shape}, got {after.shape}"
        raise ValueError(msg)
    sizes = np.abs(before.astype(np.float64)).max(axis=-1, keepdims=True)
    if not sizes.all():
        msg = "x must not be zero, got a row of length 0"
        raise ValueError(msg)
    exponents = np.frexp(sizes)[1]
    with np.errstate(all="ignore"):  # what is too large beside x is infinitely large
        lengths, turned = (
            _precise_norms(np.ldexp(rows.astype(np.float64), -exponents))
            for rows in (before, after)
        )
    return Measurement(largest((turned - lengths) / lengths), 8 * unit(after))


def _precise_norms(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return lengths within a unit or so, however many features there are."""
    return np.array([math.hypot(*row) for row in x.reshape(-1, x.shape[-1]).tolist()])


def neighbour_distances(table: ArrayLike, /) -> NDArray[np.float64]:
    """Distances of neighbouring rows: even steps of a smooth path, or jumps.

    Parameters
    ----------
    table : array_like of shape (positions, dim)
        Rows of neighbouring positions, finite; float64, float32, float16, bfloat16 or integers.

    Returns
    -------
    ndarray of shape (positions - 1,)
        Euclidean distance of each row to the next; infinite where float64 holds no such number.

    Raises
    ------
    ValueError
        If `table` has not two dimensions, is empty or not finite, or holds an integer beyond 2**53
        in size.
    TypeError
        If `table` holds no such numbers.

    See Also
    --------
    closest_rows : The smallest distance of any two.
    ropewalk.plot.path : Rows as points of a plane.

    Notes
    -----
    Every step of a sinusoidal encoding is ``sqrt(sum(4 sin(w_i / 2)**2))``. Negative control: the
    binary encoding, whose step is the root of the number of digits that change.

    References
    ----------
    Fleetwood, You could have designed state of the art positional encoding, 2024, section "Binary
    Position Encoding".

    Examples
    --------
    >>> import ropewalk as rw
    >>> from ropewalk.properties import neighbour_distances
    >>> neighbour_distances(rw.binary_encoding(range(9), 4)).round(3)
    array([1.   , 1.414, 1.   , 1.732, 1.   , 1.414, 1.   , 2.   ])
    >>> neighbour_distances(rw.sinusoidal_encoding(range(5), 4)).round(3)
    array([0.959, 0.959, 0.959, 0.959])
    """
    with np.errstate(all="ignore"):
        return norms(np.diff(table_of_reals("table", table), axis=0))
