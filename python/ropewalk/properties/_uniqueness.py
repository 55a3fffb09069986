"""Uniqueness: how near two positions come, and how far a proof reaches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _options, sinusoidal_encoding
from ropewalk._options import Integer, Real
from ropewalk.frequencies import Frequencies
from ropewalk.frequencies._frequencies import DIGITS
from ropewalk.frequencies._given import one_axis
from ropewalk.geometry._points import Squares, norms
from ropewalk.properties._measurement import reals_in_float64, rows_of_reals

BLOCK = 1 << 20  # numbers at a time


@dataclass(frozen=True, slots=True)
class ClosestRows:
    """Two rows of a table that are nearest to each other.

    Attributes
    ----------
    distance : float
        Euclidean distance between them; 0 where they are equal.
    rows : tuple of int
        Which rows, counted from 0, the smaller index first.
    """

    distance: float
    rows: tuple[int, int]


def closest_rows(table: ArrayLike, /) -> ClosestRows:
    """Closest rows of an encoding, 0 apart where two positions have the same row.

    Parameters
    ----------
    table : array_like of shape (positions, dim)
        Two rows or more, finite; float64, float32, float16, bfloat16 or integers, so that a table
        that was rounded is measured as it is.

    Returns
    -------
    ClosestRows
        The smallest distance and a pair of rows at that distance: where rows are equal, the first
        row that repeats an earlier one, and the first row that it repeats; of other pairs that are
        as near, the first found (see Notes).

    Raises
    ------
    ValueError
        If `table` has not two dimensions, has fewer than two rows, no columns, a value that is not
        finite, or an integer beyond 2**53 in size, which float64 would round.
    TypeError
        If `table` holds no such numbers.

    See Also
    --------
    closest_lag : The same for sinusoids, at any length.

    Notes
    -----
    An encoding is unique where the distance is above 0. Negative controls: a table in bfloat16, and
    one angle ``x + y`` for a cell of a grid. Distances are within ``dim + 2`` units of rounding of
    float64, relatively, and infinite where float64 holds no such number. Rows are sorted along the
    column with the widest range, whose differences no distance is below; so the time grows less
    than with the square of the rows where that column tells most apart. Of pairs as near as each
    other the first found is that of rows least apart in this order, and of several the first there.

    References
    ----------
    Knuth, The Art of Computer Programming, volume 3, 1998, section 6.5, for the search along one
    coordinate.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from ropewalk.properties import closest_rows
    >>> closest_rows([[0, 0], [3, 4], [3, 5], [9, 9]])
    ClosestRows(distance=1.0, rows=(1, 2))
    >>> closest_rows(rw.sinusoidal_encoding(range(1000), 2, dtype="float16"))
    ClosestRows(distance=0.0, rows=(2, 712))
    """
    rows = rows_of_reals(table)
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    earliest = first[inverse.reshape(-1)]
    repeats = np.flatnonzero(earliest != np.arange(len(rows)))
    if repeats.size:
        return ClosestRows(0.0, (int(earliest[repeats[0]]), int(repeats[0])))
    with np.errstate(all="ignore"):  # what is too far apart is infinitely far
        return _closest(rows)


def _closest(rows: NDArray[np.float64]) -> ClosestRows:
    """Return the closest of rows that all differ."""
    column = rows[:, np.ptp(rows, axis=0).argmax()]
    order = np.argsort(column, kind="stable")
    along, rows = column[order], rows[order]
    neighbours = norms(rows[1:] - rows[:-1])
    place = int(neighbours.argmin())
    best = float(neighbours[place]), 1, place  # how near, how far apart in this order, the first
    squares = Squares(rows)

    def nearest() -> float:
        return squares.at_most(best[0])

    def last(place: int) -> int:  # whose difference in the column is no greater
        return int(np.searchsorted(along, along[place] + 1.001 * best[0], side="right"))

    for first, second in squares.pairs(nearest, np.less_equal, last):
        distances, apart = norms(rows[second] - rows[first]), second - first
        found = np.lexsort((first, apart, distances))[0]
        best = min(best, (float(distances[found]), int(apart[found]), int(first[found])))
    distance, behind, place = best
    pair = int(order[place]), int(order[place + behind])
    return ClosestRows(distance, (min(pair), max(pair)))


@dataclass(frozen=True, slots=True)
class ClosestLag:
    """How near two positions of a sinusoidal encoding come.

    Attributes
    ----------
    distance : float
        The smallest Euclidean distance between two rows.
    lag : int
        How far apart those positions are (tokens).
    """

    distance: float
    lag: int


def closest_lag(
    length: Integer,
    dim: Integer | None = None,
    /,
    *,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
) -> ClosestLag:
    """Closest positions of a sinusoidal encoding, by the lag between them.

    The distance depends on the lag alone, ``|f(s) - f(t)|**2 = sum(4 sin(w_i (s - t) / 2)**2)``, so
    that every pair of positions is looked at in one walk along the lags.

    Parameters
    ----------
    length : int
        How many positions (tokens), from 2 to 2**32; the time grows with it, the memory does not:
        ten million take a second at a width of 8.
    dim : int, optional
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20. May be left out
        where `frequencies` is given.
    base : float, default 10000.0
        Base of the standard frequencies, positive and finite. Not together with `frequencies`.
    frequencies : Frequencies, optional
        Another schedule of one axis, from `ropewalk.frequencies`.

    Returns
    -------
    ClosestLag
        The smallest distance, and the smallest lag that has it.

    Raises
    ------
    ValueError
        If an argument is out of the range above, `base` and `frequencies` are both given, or
        `frequencies` have several axes.
    TypeError
        If `length` or `dim` is no integer, `dim` is missing, `base` is no number, or `frequencies`
        are no `Frequencies`.

    See Also
    --------
    closest_rows : For any table, a rounded one too.
    uniqueness_range : How far a simpler proof reaches.

    Notes
    -----
    Sines of half the angles are within 1 ulp, so the distance is too, but for the ``dim`` roundings
    of the sum. With the first frequency 1 it is never 0: a lag that left the first pair in place
    would be a multiple of the irrational ``2 pi``.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5, for the
    encoding; the distance is the half-angle formula of the chord.

    Examples
    --------
    Two positions that are 622 apart, near 99 turns of the fast hand and one of the slow hand:

    >>> from ropewalk.properties import closest_lag
    >>> closest = closest_lag(700, 4)
    >>> round(closest.distance, 5), closest.lag
    (0.07239, 622)
    """
    turning = one_axis(dim, base, frequencies)
    length = _options.integer_between("length", length, 2, 2**32)
    rows = max(1, BLOCK // len(turning))
    best, lag = math.inf, 0
    for start in range(1, length, rows):
        halves = np.arange(start, min(start + rows, length)) / 2
        hands = sinusoidal_encoding(halves, frequencies=turning, pairing="half")
        squares = np.square(hands[:, : len(turning)]).sum(axis=1)
        nearest = int(squares.argmin())
        if squares[nearest] < best:
            best, lag = float(squares[nearest]), start + nearest
    return ClosestLag(2 * math.sqrt(best), lag)


def uniqueness_range(dim: Integer, /, *, base: Real = 10000.0) -> int:
    """Reach of the proof that looks at the slowest pair only.

    While its angle stays within one radian, its sine grows with the position: up to there, no two
    positions have the same encoding. The other pairs carry it on to every integer.

    Parameters
    ----------
    dim : int
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20.
    base : float, default 10000.0
        Base of the standard frequencies; at least 1 and finite.

    Returns
    -------
    int
        The last position whose angle is at most 1: ``base ** ((dim - 2) / dim)``, rounded down.

    Raises
    ------
    ValueError
        If an argument is out of the range above.
    TypeError
        If `dim` is no integer or `base` no real number.

    See Also
    --------
    closest_lag : How near positions come, however far apart.

    Notes
    -----
    The whole proof needs the fastest pair: equal sines and cosines of ``s`` and ``t`` mean that ``s
    - t`` is a multiple of ``2 pi``, and of integers only 0 is.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5, for the
    frequencies.

    Examples
    --------
    >>> from ropewalk.properties import uniqueness_range
    >>> [uniqueness_range(dim) for dim in (2, 4, 128, 512)]
    [1, 100, 8659, 9646]
    """
    dim = _options.even_dim(dim)
    base = _options.positive_number("base", base)
    if base < 1:
        msg = f"base must be at least 1, so that the last pair is the slowest, got {base!r}"
        raise ValueError(msg)
    with localcontext(DIGITS, prec=350):  # more than the largest float has
        reach = (Decimal(base).ln() * (dim - 2) / dim).exp()
        return int(reach * (1 + Decimal("1e-340")))  # 100 and not 99.99..., where it is whole


def signal_to_noise(signal: ArrayLike, noise: ArrayLike, /) -> float:
    """Signal-to-noise ratio of an embedding beside the encoding that is added to it.

    Parameters
    ----------
    signal, noise : array_like
        Finite, of any shapes, not all of it 0; float64, float32, float16 or bfloat16, integers
        become float64.

    Returns
    -------
    float
        ``10 log10(mean(signal**2) / mean(noise**2))`` (decibels): below 0 the noise is stronger.

    Raises
    ------
    ValueError
        If an argument is empty, not finite, a number, or 0 everywhere.
    TypeError
        If an argument holds no such numbers.

    See Also
    --------
    kept_norm : What a rotation does to an embedding.

    References
    ----------
    Shannon, A Mathematical Theory of Communication, 1948, section 25, for the ratio of powers.

    Examples
    --------
    Embeddings start at a deviation of about 0.02. Beside position 252 little is left of them:

    >>> import numpy as np
    >>> import ropewalk as rw
    >>> from ropewalk.properties import signal_to_noise
    >>> embedding = np.tile([0.02, -0.02], 32)
    >>> round(signal_to_noise(embedding, rw.integer_encoding(252, 64)), 1)
    -82.0
    >>> round(signal_to_noise(embedding, rw.sinusoidal_encoding(252, 64)), 1)
    -31.0
    """
    return _decibels("signal", signal) - _decibels("noise", noise)


def _decibels(name: str, values: ArrayLike) -> float:
    """Return the mean square in decibels, of which float64 may hold no number."""
    array = reals_in_float64(name, values)
    largest = float(np.abs(array).max())
    if not largest:
        msg = f"{name} must not be 0 everywhere"
        raise ValueError(msg)
    with np.errstate(under="ignore"):
        return 20 * math.log10(largest) + 10 * math.log10(np.square(array / largest).mean())
