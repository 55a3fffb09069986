"""The decay that xPos adds to RoPE."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options, _results
from ropewalk._options import Integer, Real
from ropewalk.frequencies._frequencies import DIGITS


def xpos_scales(
    positions: ArrayLike | range,
    dim: Integer,
    /,
    *,
    scale_base: Real = 512.0,
    centre: Real = 0.0,
) -> NDArray[np.float64]:
    r"""Scales of xPos: queries are multiplied by them, keys divided.

    Pair ``i`` at position ``p`` has ``zeta ** ((p - centre) / scale_base)`` with ``zeta = (2 * i +
    0.4 * dim) / (1.4 * dim)``. A score then falls with the distance of its key, the faster the
    faster its pairs turn.

    Parameters
    ----------
    positions : array_like or range
        Positions (tokens), as in `sinusoidal_encoding`.
    dim : int
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20.
    scale_base : float, default 512.0
        How many positions the decay by ``zeta`` takes, from 1 to 2**53.
    centre : float, default 0.0
        The position whose scales are 1, at most 2**53 in size.

    Returns
    -------
    ndarray of shape (\*positions.shape, dim // 2)
        float64, from 2**-1022 to 2**1022.

    Raises
    ------
    ValueError
        If an argument is out of the range above, a scale or its reciprocal is, or the result is
        larger than any memory.
    TypeError
        If `positions` are complex or no numbers, `dim` is not an integer, or `scale_base` or
        `centre` not a real number.

    See Also
    --------
    standard : The frequencies that xPos rotates by as well.

    Notes
    -----
    Scales hold for causal attention alone: a key after its query is amplified. They grow with the
    distance from `centre`, so a long context wants `centre` in its middle. Published code puts it
    at ``length // 2`` (flash-attention) or at ``(length + 1) // 2`` (torchscale); scores are the
    same whatever it is, queries and keys are not.

    Within 2 ulp of the exact value where NumPy's exponential is within 1.5; 1.2 ulp is the most
    that was measured.

    References
    ----------
    Sun et al., A Length-Extrapolatable Transformer, 2022, arXiv:2212.10554, section 2.

    Examples
    --------
    A width of 10 gives the first pair ``zeta = 4 / 14``:

    >>> import ropewalk as rw
    >>> scales = rw.frequencies.xpos_scales([0, 512, 1024], 10)
    >>> scales[:, 0]
    array([1.        , 0.28571429, 0.08163265])

    Tables of a rotation take them up. A score depends on the distance alone then, as that of any
    rotation, and each of its pairs falls with it:

    >>> import numpy as np
    >>> scales = rw.frequencies.xpos_scales(range(9), 10)
    >>> cosines, sines = rw.rotary_tables(range(9), 10)
    >>> x = np.ones((9, 10))
    >>> queries = rw.rotate_by(x, cosines * scales, sines * scales)
    >>> keys = rw.rotate_by(x, cosines / scales, sines / scales)
    >>> scores = queries @ keys.T
    >>> bool(np.allclose(scores[8, 5:], scores[3::-1, 0][:4]))
    True
    >>> bool(np.allclose(scores[:, 0], 2 * (scales * cosines).sum(axis=1)))
    True
    """
    rows, shape = _arrays.positions("positions", positions)
    dim = _options.even_dim(dim)
    largest = float(_options.LARGEST_POSITION)
    scale_base = _options.number_between("scale_base", scale_base, 1.0, largest)
    centre = _options.number_between("centre", centre, -largest, largest)
    scales = _results.empty((*shape, dim // 2))
    rate, rate_rest = _rates(dim, scale_base)
    distance, distance_rest = _sum(
        _arrays.listed(rows).astype(np.float64).reshape(*shape, 1), -centre
    )
    with np.errstate(all="ignore"):  # what leaves the range is refused
        exponent, rest = _product(distance, rate)
        rest += distance * rate_rest + distance_rest * rate
        np.exp(exponent, out=scales)
        scales += scales * rest  # exp(rest) is 1 + rest, to 1e-26
        fits = (scales >= 2.0**-1022) & (scales <= 2.0**1022)
    if not fits.all():
        row = np.argwhere(~fits)[0][:-1]
        msg = (
            "positions must be near enough to centre for scales from 2**-1022 to 2**1022, "
            f"got {distance[tuple(row)][0]} positions from it; a larger scale_base reaches further"
        )
        raise ValueError(msg)
    return scales


@lru_cache(maxsize=4)  # a hundred digits of a logarithm cost more than a row of the result
def _rates(dim: int, scale_base: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the logarithm of each pair's scale a position in two parts."""
    with localcontext(DIGITS):
        rates = [
            (Decimal(10 * pair + 2 * dim) / (7 * dim)).ln() / Decimal(scale_base)
            for pair in range(dim // 2)
        ]
        rate = np.array([float(r) for r in rates])
        rest = np.array([float(r - Decimal(float(r))) for r in rates])
    for array in (rate, rest):
        array.setflags(write=False)
    return rate, rest


def _sum(a: NDArray[np.float64], b: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rounded sum and what the rounding lost (Knuth's TwoSum)."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def _product(
    a: NDArray[np.float64], b: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rounded product and what the rounding lost (Dekker)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    rest = a_high * b_high - product + a_high * b_low + a_low * b_high + a_low * b_low
    return product, rest


def _halves(a: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two numbers of 26 bits whose sum is `a` (Veltkamp)."""
    scaled = a * (2.0**27 + 1)
    high = scaled - (scaled - a)
    return high, a - high
