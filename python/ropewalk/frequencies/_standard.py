"""Schedules of the papers themselves, arrays of angles, and schedules that leave pairs out."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache

from numpy.typing import ArrayLike

from ropewalk import _arrays, _options
from ropewalk._options import Boolean, Integer, Real
from ropewalk.frequencies._frequencies import (
    DIGITS,
    LARGEST_AXES,
    TWO_PI,
    Frequencies,
    sine,
)


def standard(dim: Integer, /, *, base: Real = 10000.0) -> Frequencies:
    """Geometric frequencies of the Transformer and of RoPE.

    Pair ``i`` turns by ``base ** (-2 * i / dim)`` radians per position, the first one fastest.

    Parameters
    ----------
    dim : int
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20.
    base : float, default 10000.0
        Positive and finite, taken as the exact number that the float is. 10000 in the original
        paper and in Llama 2, 500000 in Llama 3, 1000000 in Qwen 2.5.

    Returns
    -------
    Frequencies
        ``dim // 2`` pairs.

    Raises
    ------
    ValueError
        If `dim` is odd or out of range, `base` is not positive and finite, or a frequency leaves
        the range from 2**-100 to 2**60 turns per position.
    TypeError
        If `dim` is not an integer or `base` not a real number.

    See Also
    --------
    linear : The same, slowed down for a longer context.

    Notes
    -----
    Computed with 110 decimal digits and kept to 2**-256 of a turn.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5.
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864, equation 15.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.frequencies.standard(8).radians
    array([1.   , 0.1  , 0.01 , 0.001])
    """
    return standard_of(_options.even_dim(dim), _options.positive_number("base", base))


@lru_cache(maxsize=16)  # each may keep tables of some megabytes
def standard_of(dim: int, base: float) -> Frequencies:
    """Return standard frequencies of a width and a base that are checked."""
    with localcontext(DIGITS):
        turns = geometric(dim // 2, Decimal(base))
        return Frequencies._of_turns(turns, scaling=f"standard({dim}, base={base})")


def geometric(pairs: int, base: Decimal) -> list[Decimal]:
    """Return turns per position, ``base ** (-i / pairs) / (2 pi)``, within 1e-84 relatively."""
    ratio = (-base.ln() / pairs).exp()
    turns = [1 / TWO_PI]
    for _ in range(pairs - 1):
        turns.append(turns[-1] * ratio)
    return turns


def from_radians(radians: ArrayLike, /) -> Frequencies:
    """Frequencies from an array of angles per position.

    Each float is taken as the exact number that it is: what a float32 array lost when it was made
    stays lost, and nothing more is.

    Parameters
    ----------
    radians : array_like of shape (pairs,) or (axes, pairs)
        Angles per position (radians), for positions of one coordinate or of 2 to 64; integers,
        float64, float32 or float16, finite, of either sign; 0, or from 2**-100 to 2**60 turns in
        size. At least one pair, at most 2**19.

    Returns
    -------
    Frequencies
        One pair a value, or a column; attention factor 1.0.

    Raises
    ------
    ValueError
        If `radians` has another shape, holds NaN or infinity, or leaves the range.
    TypeError
        If `radians` is complex, masked or holds no numbers, or is `Frequencies`, which have an
        attention factor besides.

    See Also
    --------
    standard : The schedule of the papers, exact from the start.
    mixed : Frequencies of RoPE-Mixed before training.

    Notes
    -----
    Tables that a model has learned come in here, and so do those of a library that gives its
    frequencies as an array. MLX gives periods, the reciprocals of these without the factor 2 pi.

    References
    ----------
    The name inv_freq, under which other libraries keep this array: Su et al., RoFormer, 2021,
    arXiv:2104.09864, equation 15.

    Examples
    --------
    >>> import ropewalk as rw
    >>> f = rw.frequencies.from_radians([1.0, 0.25])
    >>> f.wavelengths
    array([ 6.28318531, 25.13274123])
    >>> rw.frequencies.from_radians([[1.0, 0.0, 0.25], [0.0, 1.0, -0.25]])
    <Frequencies from_radians(6 values): 3 pairs on 2 axes, wavelengths 6.28319 to inf>
    """
    array = _arrays.finite_reals("radians", radians)
    rows_fit = array.ndim == 1 or (array.ndim == 2 and 2 <= array.shape[0] <= LARGEST_AXES)
    if not rows_fit or array.size == 0:
        msg = (
            f"radians must have shape (pairs,), or (axes, pairs) with 2 to {LARGEST_AXES} axes, "
            f"and at least one pair, got {array.shape}"
        )
        raise ValueError(msg)
    if array.shape[-1] > _options.LARGEST_DIM // 2:
        msg = f"radians must hold at most {_options.LARGEST_DIM // 2} pairs, got {array.shape[-1]}"
        raise ValueError(msg)
    with localcontext(DIGITS):
        turns = [
            [Decimal(value) / TWO_PI for value in row]
            for row in array.reshape(-1, array.shape[-1]).tolist()
        ]
        return Frequencies._of_turns(*turns, scaling=f"from_radians({array.size} values)")


def partial(dim: Integer, /, *, fraction: Real, base: Real = 10000.0) -> Frequencies:
    """Partial RoPE: standard frequencies of a rotated prefix of the head.

    The prefix is ``rotary_dim = int(fraction * dim)`` wide, and pair ``i`` turns by ``base ** (-2 *
    i / rotary_dim)`` radians per position. The other features are not rotated.

    Parameters
    ----------
    dim : int
        Width of the whole head; even, from 2 to 2**20.
    fraction : float
        How much of the head is rotated, above 0 and at most 1 (partial_rotary_factor in published
        configurations).
    base : float, default 10000.0
        As in `standard`.

    Returns
    -------
    Frequencies
        ``rotary_dim // 2`` pairs; attention factor 1.0. Twice the pairs is what `rotary_dim` of a
        rotation must say.

    Raises
    ------
    ValueError
        If `dim` or `base` is out of range, `fraction` is not above 0 and at most 1, the prefix is
        narrower than 2 or odd, or a frequency leaves the range from 2**-100 to 2**60 turns per
        position.
    TypeError
        If `dim` is not an integer, or `fraction` or `base` not a real number.

    See Also
    --------
    proportional : The denominator is the whole head, and pairs lie over the whole head.

    Notes
    -----
    The product ``fraction * dim`` is rounded to a float before it is cut off, as in published code:
    0.7 of 10 is 7, although the float 0.7 is a little less than that. Nemotron rotates 0.5 of a
    head.

    References
    ----------
    Black et al., GPT-NeoX-20B: An Open-Source Autoregressive Language Model, 2022,
    arXiv:2204.06745, section 2.1.1.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.frequencies.partial(32, fraction=0.25).radians
    array([1.   , 0.1  , 0.01 , 0.001])
    """
    dim, base = _options.even_dim(dim), _options.positive_number("base", base)
    fraction = _options.number_between("fraction", fraction, 0.0, 1.0)
    rotary_dim = int(fraction * dim)
    if rotary_dim < 2 or rotary_dim % 2:
        msg = (
            f"fraction must leave an even width of at least 2, got {fraction} of {dim}, "
            f"which is {rotary_dim}"
        )
        raise ValueError(msg)
    with localcontext(DIGITS):
        scaling = f"partial({dim}, fraction={fraction}, base={base})"
        return Frequencies._of_turns(geometric(rotary_dim // 2, Decimal(base)), scaling=scaling)


def proportional(
    dim: Integer, /, *, fraction: Real, factor: Real = 1.0, base: Real = 10000.0
) -> Frequencies:
    """Proportional RoPE (p-RoPE): the slowest pairs stand still.

    The first ``int(fraction * dim // 2)`` pairs turn by ``base ** (-2 * i / dim) / factor`` radians
    per position, the others not at all.

    Parameters
    ----------
    dim : int
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20.
    fraction : float
        Which part of the pairs turns, from 0 (no positions at all, NoPE) to 1 (`standard`).
    factor : float, default 1.0
        By what the live frequencies are divided, positive and finite.
    base : float, default 10000.0
        As in `standard`.

    Returns
    -------
    Frequencies
        ``dim // 2`` pairs; attention factor 1.0.

    Raises
    ------
    ValueError
        If `dim`, `factor` or `base` is out of range, `fraction` is not from 0 to 1, or a frequency
        that is not 0 leaves the range from 2**-100 to 2**60 turns per position.
    TypeError
        If `dim` is not an integer, or one of the others not a real number.

    See Also
    --------
    partial : Only a prefix of the head is rotated, and its width is the denominator.

    Notes
    -----
    The paper keeps the fastest fraction of the frequencies. How it rounds it does not say; the cut
    is that of the public code of Gemma 4, whose global layers have ``fraction=0.25, base=1e6`` and
    a width of 512, so 64 live pairs of 256. `factor` is that code's as well.

    References
    ----------
    Barbero et al., Round and Round We Go! What makes Rotary Positional Encodings useful?, 2024,
    arXiv:2410.06205, section 6.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.frequencies.proportional(8, fraction=0.5).radians
    array([1. , 0.1, 0. , 0. ])
    """
    dim, base = _options.even_dim(dim), _options.positive_number("base", base)
    fraction = _options.number_between("fraction", fraction, 0.0, 1.0)
    factor = _options.positive_number("factor", factor)
    live = int(fraction * dim // 2)
    with localcontext(DIGITS):
        turns = [
            turn / Decimal(factor) if pair < live else Decimal(0)
            for pair, turn in enumerate(geometric(dim // 2, Decimal(base)))
        ]
        scaling = f"proportional({dim}, fraction={fraction}, factor={factor}, base={base})"
        return Frequencies._of_turns(turns, scaling=scaling)


def clipped(
    dim: Integer, /, *, pairs: Integer = 20, hard: Boolean = False, base: Real = 10000.0
) -> Frequencies:
    """Clipped RoPE (CoPE): the slowest pairs are faded out.

    The last `pairs` of the standard frequencies are multiplied by ``(1 + cos(t)) / 2``, with ``t``
    evenly spaced from 0 to pi, or set to 0.

    Parameters
    ----------
    dim : int
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20.
    pairs : int, default 20
        How many frequencies are faded, from 1 to ``dim // 2``; the default is for widths of 40 and
        more.
    hard : bool, default False
        Set them to 0 instead.
    base : float, default 10000.0
        As in `standard`.

    Returns
    -------
    Frequencies
        ``dim // 2`` pairs; attention factor 1.0. The last one stands still, unless it is the only
        one that is faded, softly: then ``t`` is 0.

    Raises
    ------
    ValueError
        If `dim`, `pairs` or `base` is out of range, or a frequency that is not 0 leaves the range
        from 2**-100 to 2**60 turns per position.
    TypeError
        If `dim` or `pairs` is not an integer, `base` not a real number, or `hard` not a boolean.

    See Also
    --------
    proportional : The same with `hard`, said as a fraction.

    References
    ----------
    Li et al., CoPE: Clipped RoPE as A Scalable Free Lunch for Long Context LLMs, 2026,
    arXiv:2602.05258, and the code published with it, for the default of `pairs`.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.frequencies.clipped(8, pairs=3).radians
    array([1.   , 0.1  , 0.005, 0.   ])
    >>> rw.frequencies.clipped(8, pairs=3, hard=True).radians
    array([1., 0., 0., 0.])
    """
    dim, base = _options.even_dim(dim), _options.positive_number("base", base)
    pairs = _options.integer_between("pairs", pairs, 1, dim // 2)
    hard = _options.boolean("hard", hard)
    with localcontext(DIGITS):
        turns = geometric(dim // 2, Decimal(base))
        kept = dim // 2 - pairs
        for k in range(pairs):
            turns[kept + k] *= 0 if hard else _fade(k, pairs)
        scaling = f"clipped({dim}, pairs={pairs}, hard={hard}, base={base})"
        return Frequencies._of_turns(turns, scaling=scaling)


def _fade(k: int, pairs: int) -> Decimal:
    """Return ``(1 + cos(pi k / (pairs - 1))) / 2``, exactly 0 at the end."""
    if pairs == 1:
        return Decimal(1)
    return sine(TWO_PI * (pairs - 1 - k) / (4 * (pairs - 1))) ** 2
