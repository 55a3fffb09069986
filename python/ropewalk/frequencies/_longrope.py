"""LongRoPE: a factor for every pair, and an attention factor."""

from __future__ import annotations

from decimal import Decimal, localcontext

from numpy.typing import ArrayLike

from ropewalk import _arrays, _options
from ropewalk._options import Integer, Real
from ropewalk.frequencies._frequencies import DIGITS, Frequencies, derived_attention_factor
from ropewalk.frequencies._standard import geometric


def longrope(
    dim: Integer,
    /,
    *,
    short_factors: ArrayLike,
    long_factors: ArrayLike,
    trained_length: Integer,
    length: Integer | None = None,
    max_length: Integer | None = None,
    factor: Real | None = None,
    attention_factor: Real | None = None,
    base: Real = 10000.0,
) -> Frequencies:
    """LongRoPE: every frequency divided by a factor of its own, found by search.

    Parameters
    ----------
    dim : int
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20.
    short_factors, long_factors : array_like of shape (pairs,)
        By what the frequencies are divided up to `trained_length` and beyond; positive and finite.
    trained_length : int
        Length of the context in training (tokens), from 1 to 2**53.
    length : int, optional
        Length of the context now (tokens), from 1 to 2**53. `long_factors` count where it is above
        `trained_length`; without it, or at just that length, `short_factors` do.
    max_length : int, optional
        Longest length that the model is made for (tokens), from 1 to 2**53.
    factor : float, optional
        `max_length` over `trained_length`, positive and finite; counts where both are given.
    attention_factor : float, optional
        The attention factor itself, from 1/16 to 16; `factor` and `max_length` do not matter then.
        One of the three must be given.
    base : float, default 10000.0
        As in `standard`.

    Returns
    -------
    Frequencies
        ``dim // 2`` pairs. The attention factor is ``sqrt(1 + log(factor) / log(trained_length))``,
        1 for a `factor` of at most 1, where it is not given.

    Raises
    ------
    ValueError
        If an argument is out of the range above, a list has another length than the pairs, none of
        `max_length`, `factor` and `attention_factor` is given, the attention factor would not be
        from 1/16 to 16, or a frequency leaves the range from 2**-100 to 2**60 turns per position.
    TypeError
        If `dim` or a length is not an integer, or one of the others holds no real numbers.

    See Also
    --------
    linear : One factor for all pairs.

    Notes
    -----
    Keys that were rotated with one list do not fit the other: where a context may cross
    `trained_length`, fix the list in advance by its final length, or rotate all keys again.

    The paper also keeps the first tokens of a context unscaled; published models, and so this
    function, do not.

    References
    ----------
    Ding et al., LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens, 2024,
    arXiv:2402.13753, section 3.
    Abdin et al., Phi-3 Technical Report, 2024, arXiv:2404.14219, for the models that use it.

    Examples
    --------
    The attention factor of Phi-3-mini-128k:

    >>> import ropewalk as rw
    >>> f = rw.frequencies.longrope(
    ...     4,
    ...     short_factors=[1.0, 1.0],
    ...     long_factors=[1.0, 4.0],
    ...     trained_length=4096,
    ...     length=5000,
    ...     max_length=131072,
    ... )
    >>> f.radians
    array([1.    , 0.0025])
    >>> round(f.attention_factor, 6)
    1.190238
    """
    dim, base = _options.even_dim(dim), _options.positive_number("base", base)
    short = _factors("short_factors", short_factors, dim // 2)
    long = _factors("long_factors", long_factors, dim // 2)
    trained_length = _options.context_length("trained_length", trained_length)
    max_length = None if max_length is None else _options.context_length("max_length", max_length)
    factor = None if factor is None else _options.positive_number("factor", factor)
    beyond = length is not None and _options.context_length("length", length) > trained_length
    with localcontext(DIGITS):
        kept = geometric(dim // 2, Decimal(base))
        turns = [turn / f for turn, f in zip(kept, long if beyond else short, strict=True)]
        scaling = (
            f"longrope({dim}, {'long' if beyond else 'short'} factors, "
            f"trained_length={trained_length}, base={base})"
        )
        if attention_factor is None:
            attention_factor = _longrope_attention_factor(trained_length, max_length, factor)
        return Frequencies._of_turns(turns, scaling=scaling, attention_factor=attention_factor)


def _factors(name: str, values: ArrayLike, pairs: int) -> list[Decimal]:
    array = _arrays.finite_reals(name, values)
    if array.shape != (pairs,):
        msg = f"{name} must have shape ({pairs},), one factor a pair, got {array.shape}"
        raise ValueError(msg)
    if not (array > 0).all():
        msg = f"{name} must be positive, got {array.min()}"
        raise ValueError(msg)
    return [Decimal.from_float(value) for value in array.tolist()]


def _longrope_attention_factor(
    trained_length: int, max_length: int | None, factor: float | None
) -> float:
    if factor is not None:
        stretch = Decimal(factor)
    elif max_length is not None:
        stretch = Decimal(max_length) / trained_length
    else:
        msg = "one of max_length, factor and attention_factor must be given in longrope, got none"
        raise ValueError(msg)
    if stretch <= 1:
        return 1.0
    if trained_length == 1:
        msg = "trained_length must be at least 2 where the attention factor follows from it, got 1"
        raise ValueError(msg)
    value = (1 + stretch.ln() / Decimal(trained_length).ln()).sqrt()
    return float(value) if factor is None else derived_attention_factor(value, factor=factor)
