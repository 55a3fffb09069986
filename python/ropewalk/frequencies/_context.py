"""Schedules that stretch a trained context, without an attention factor."""

from __future__ import annotations

from decimal import Decimal, localcontext

from ropewalk import _options
from ropewalk._options import Integer, Real
from ropewalk.frequencies._frequencies import DIGITS, Frequencies
from ropewalk.frequencies._standard import geometric


def linear(dim: Integer, /, *, factor: Real, base: Real = 10000.0) -> Frequencies:
    """Position interpolation (PI): every frequency divided by one factor.

    A context `factor` times as long then covers the angles of the original one.

    Parameters
    ----------
    dim : int
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20.
    factor : float
        New length over trained length, positive and finite (at least 1 in practice). 8 in the
        global layers of the larger models of Gemma 3.
    base : float, default 10000.0
        As in `standard`.

    Returns
    -------
    Frequencies
        ``dim // 2`` pairs; attention factor 1.0.

    Raises
    ------
    ValueError
        If `dim` is odd or out of range, `factor` or `base` is not positive and finite, or a
        frequency leaves the range from 2**-100 to 2**60 turns per position.
    TypeError
        If `dim` is not an integer, or `factor` or `base` not a real number.

    See Also
    --------
    standard : No interpolation.

    Notes
    -----
    Dividing the positions instead gives the same angles, were it not for rounding; here the
    quotient is exact.

    References
    ----------
    Chen et al., Extending Context Window of Large Language Models via Positional Interpolation,
    2023, arXiv:2306.15595, equation 4.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.frequencies.linear(4, factor=8.0).radians
    array([0.125  , 0.00125])
    """
    dim, base = _options.even_dim(dim), _options.positive_number("base", base)
    factor = _options.positive_number("factor", factor)
    with localcontext(DIGITS):
        turns = [turn / Decimal(factor) for turn in geometric(dim // 2, Decimal(base))]
        scaling = f"linear({dim}, factor={factor}, base={base})"
        return Frequencies._of_turns(turns, scaling=scaling)


def ntk(dim: Integer, /, *, factor: Real, base: Real = 10000.0) -> Frequencies:
    """NTK-aware scaling: a larger base.

    The frequencies are the standard ones of the base ``base * factor ** (dim / (dim - 2))``: the
    first one stays, the last one is divided by `factor`, and the others lie between.

    Parameters
    ----------
    dim : int
        Width of the encoding, twice the number of pairs; even, from 4 to 2**20.
    factor : float
        How much slower the last pair turns, positive and finite (alpha in other places). 1000 in
        Hunyuan.
    base : float, default 10000.0
        As in `standard`.

    Returns
    -------
    Frequencies
        ``dim // 2`` pairs; attention factor 1.0.

    Raises
    ------
    ValueError
        If `dim` is odd or out of range, `factor` or `base` is not positive and finite, or a
        frequency leaves the range from 2**-100 to 2**60 turns per position.
    TypeError
        If `dim` is not an integer, or `factor` or `base` not a real number.

    See Also
    --------
    dynamic_ntk : The factor follows from the length.
    yarn : Interpolates slow pairs and leaves fast ones as they are.

    References
    ----------
    Peng et al., YaRN: Efficient Context Window Extension of Large Language Models, 2023,
    arXiv:2309.00071, section 3.1, where the published idea (bloc97, 2023) is written down.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.frequencies.ntk(8, factor=8.0).radians.tolist()
    [1.0, 0.05, 0.0025, 0.000125]
    """
    dim, base = _options.even_dim(dim, smallest=4), _options.positive_number("base", base)
    factor = _options.positive_number("factor", factor)
    with localcontext(DIGITS):
        scaling = f"ntk({dim}, factor={factor}, base={base})"
        turns = _with_larger_base(dim, Decimal(factor), base)
        return Frequencies._of_turns(turns, scaling=scaling)


def dynamic_ntk(
    dim: Integer, /, *, factor: Real, trained_length: Integer, length: Integer, base: Real = 10000.0
) -> Frequencies:
    """Dynamic NTK-aware scaling: a base that grows with the length.

    Up to `trained_length` the frequencies are the standard ones; beyond it they are those of
    `ntk` with the factor ``factor * length / trained_length - (factor - 1)``.

    Parameters
    ----------
    dim : int
        Width of the encoding, twice the number of pairs; even, from 4 to 2**20.
    factor : float
        How fast the base grows, positive and finite. 6 in InternLM 3.
    trained_length : int
        Length of the context in training (tokens), from 1 to 2**53.
    length : int
        Length of the context now (tokens), from 1 to 2**53.
    base : float, default 10000.0
        As in `standard`.

    Returns
    -------
    Frequencies
        ``dim // 2`` pairs; attention factor 1.0.

    Raises
    ------
    ValueError
        If an argument is out of the range above, or a frequency leaves the range from 2**-100 to
        2**60 turns per position.
    TypeError
        If `dim` or a length is not an integer, or `factor` or `base` not a real number.

    See Also
    --------
    ntk : The factor is given.

    Notes
    -----
    Keys that were rotated for a shorter length do not fit the frequencies of a longer one: a cache
    must hold them unrotated, or the length must be fixed in advance. Published code keeps the
    longest length seen as hidden state; here it is an argument.

    The paper's own factor is ``length / trained_length``, which is a `factor` of 1.

    References
    ----------
    Peng et al., YaRN: Efficient Context Window Extension of Large Language Models, 2023,
    arXiv:2309.00071, section 3.3; the term with ``factor - 1`` comes from published code.

    Examples
    --------
    >>> import ropewalk as rw
    >>> f = rw.frequencies.dynamic_ntk(8, factor=7.0, trained_length=4096, length=8192)
    >>> f == rw.frequencies.ntk(8, factor=8.0)
    True
    """
    dim, base = _options.even_dim(dim, smallest=4), _options.positive_number("base", base)
    factor = _options.positive_number("factor", factor)
    trained_length = _options.context_length("trained_length", trained_length)
    length = _options.context_length("length", length)
    with localcontext(DIGITS):
        stretch = Decimal(max(length, trained_length)) / trained_length
        turns = _with_larger_base(dim, 1 + Decimal(factor) * (stretch - 1), base)
        scaling = (
            f"dynamic_ntk({dim}, factor={factor}, trained_length={trained_length}, "
            f"length={length}, base={base})"
        )
        return Frequencies._of_turns(turns, scaling=scaling)


def llama3(
    dim: Integer,
    /,
    *,
    factor: Real,
    trained_length: Integer,
    low_frequency_factor: Real = 1.0,
    high_frequency_factor: Real = 4.0,
    base: Real = 500000.0,
) -> Frequencies:
    """Scaling of Llama 3.1: slow pairs interpolated, fast ones kept.

    Pairs that turn more than `high_frequency_factor` times in `trained_length` positions keep their
    standard frequency, those that turn less than `low_frequency_factor` times are divided by
    `factor`, and between them the blend is linear in the number of turns.

    Parameters
    ----------
    dim : int
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20.
    factor : float
        New length over trained length, positive and finite. 8 in Llama 3.1, 32 in Llama 3.2.
    trained_length : int
        Length of the context in training (tokens), from 1 to 2**53. 8192 in both.
    low_frequency_factor, high_frequency_factor : float, default 1.0 and 4.0
        Turns within `trained_length` at the slow and at the fast end, positive and finite, the
        first at most the second; with both equal, as in Llama 4 Scout, nothing is blended.
    base : float, default 500000.0
        As in `standard`.

    Returns
    -------
    Frequencies
        ``dim // 2`` pairs; attention factor 1.0.

    Raises
    ------
    ValueError
        If an argument is out of the range above, or a frequency leaves the range from 2**-100 to
        2**60 turns per position.
    TypeError
        If `dim` or `trained_length` is not an integer, or one of the others not a real number.

    See Also
    --------
    yarn : The blend is linear in the index of the pair, and there is an attention factor.

    Notes
    -----
    The formula is NTK-by-parts of the YaRN paper; the report of Llama 3 gives the larger base but
    not the scaling, which came with the code of Llama 3.1.

    References
    ----------
    Peng et al., YaRN: Efficient Context Window Extension of Large Language Models, 2023,
    arXiv:2309.00071, section 3.2.
    Grattafiori et al., The Llama 3 Herd of Models, 2024, arXiv:2407.21783, and the code published
    with Llama 3.1.

    Examples
    --------
    Llama 3.1; the first pair is fast, the last one slow:

    >>> import ropewalk as rw
    >>> f = rw.frequencies.llama3(128, factor=8.0, trained_length=8192)
    >>> slowed = rw.frequencies.standard(128, base=500000.0).radians / f.radians
    >>> slowed[[0, 63]].round(12)
    array([1., 8.])
    """
    dim, base = _options.even_dim(dim), _options.positive_number("base", base)
    factor = _options.positive_number("factor", factor)
    trained_length = _options.context_length("trained_length", trained_length)
    low = _options.positive_number("low_frequency_factor", low_frequency_factor)
    high = _options.positive_number("high_frequency_factor", high_frequency_factor)
    if low > high:
        msg = f"low_frequency_factor must be at most high_frequency_factor, {high}, got {low}"
        raise ValueError(msg)
    with localcontext(DIGITS):
        turns = []
        for kept in geometric(dim // 2, Decimal(base)):
            rounds, slowed = trained_length * kept, kept / Decimal(factor)
            if rounds >= high:
                turns.append(kept)
            elif rounds <= low:
                turns.append(slowed)
            else:
                blend = (rounds - Decimal(low)) / (Decimal(high) - Decimal(low))
                turns.append((1 - blend) * slowed + blend * kept)
        scaling = (
            f"llama3({dim}, factor={factor}, trained_length={trained_length}, "
            f"low_frequency_factor={low}, high_frequency_factor={high}, base={base})"
        )
        return Frequencies._of_turns(turns, scaling=scaling)


def _with_larger_base(dim: int, factor: Decimal, base: float) -> list[Decimal]:
    exponent = Decimal(dim) / (dim - 2)
    return geometric(dim // 2, Decimal(base) * factor**exponent)
