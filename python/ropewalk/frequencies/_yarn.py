"""YaRN: a ramp over the pairs, and an attention factor."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

from ropewalk import _options
from ropewalk._options import Boolean, Integer, Real
from ropewalk.frequencies._frequencies import (
    DIGITS,
    TWO_PI,
    Frequencies,
    derived_attention_factor,
)
from ropewalk.frequencies._standard import geometric


def yarn(
    dim: Integer,
    /,
    *,
    factor: Real,
    trained_length: Integer,
    beta_fast: Real = 32.0,
    beta_slow: Real = 1.0,
    truncate: Boolean = True,
    mscale: Real | None = None,
    mscale_all_dim: Real | None = None,
    attention_factor: Real | None = None,
    base: Real = 10000.0,
) -> Frequencies:
    """YaRN: slow pairs interpolated, fast ones kept, and a sharper softmax.

    Pairs that turn more than `beta_fast` times in `trained_length` positions keep their standard
    frequency, those that turn less than `beta_slow` times are divided by `factor`, and between them
    a ramp blends the two.

    Parameters
    ----------
    dim : int
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20.
    factor : float
        New length over trained length, positive and finite.
    trained_length : int
        Length of the context in training (tokens), from 1 to 2**53.
    beta_fast, beta_slow : float, default 32.0 and 1.0
        Turns within `trained_length` at the fast and at the slow end of the ramp, positive and
        finite; `beta_fast` is not below `beta_slow`.
    truncate : bool, default True
        Round the ends of the ramp outwards to whole pairs, as the original code does.
    mscale, mscale_all_dim : float, optional
        Weights of the attention factor above and below the line, positive and finite, both or
        neither: ``g(mscale) / g(mscale_all_dim)`` with ``g(m) = 0.1 * m * log(factor) + 1``, 1 for
        a `factor` of at most 1.
    attention_factor : float, optional
        The attention factor itself, from 1/16 to 16; the two above do not matter then. Without any
        of them it is ``g(1)``.
    base : float, default 10000.0
        Above 1 and finite, else as in `standard`.

    Returns
    -------
    Frequencies
        ``dim // 2`` pairs, and the attention factor.

    Raises
    ------
    ValueError
        If an argument is out of the range above, only one of `mscale` and `mscale_all_dim` is
        given, `trained_length` is so short or so long that the ramp lies outside the pairs, the
        attention factor would not be from 1/16 to 16, or a frequency leaves the range from 2**-100
        to 2**60 turns per position.
    TypeError
        If `dim` or `trained_length` is not an integer, `truncate` not a boolean, or one of the
        others not a real number.

    See Also
    --------
    llama3 : The ramp is linear in the number of turns, as in the paper.

    Notes
    -----
    The ramp is that of the authors' code, linear in the index of the pair: from ``low`` to
    ``high``, the indices at which a standard pair turns `beta_fast` and `beta_slow` times, held
    between 0 and ``dim - 1``. The paper's own ramp (section 3.2) is linear in the number of turns
    and gives other frequencies between the ends. That ``high`` is held below ``dim`` and not below
    the number of pairs is the authors' code as well.

    The paper's factor for the logits, ``1 / t = (0.1 log(factor) + 1) ** 2``, is the square of
    ``g(1)``, since queries and keys are both multiplied. Where only one of `mscale` and
    `mscale_all_dim` is given, or one is 0, published codes differ: DeepSeek's takes 1 and 0 for
    what is missing and ``g(0) = 1``, and transformers takes ``g(1)`` for all. So both are refused.

    References
    ----------
    Peng et al., YaRN: Efficient Context Window Extension of Large Language Models, 2023,
    arXiv:2309.00071, sections 3.2 and 3.4, and the code published with it.
    DeepSeek-AI, DeepSeek-V2, 2024, arXiv:2405.04434, for `mscale`.

    Examples
    --------
    Qwen 2.5, gpt-oss and DeepSeek-V3:

    >>> import ropewalk as rw
    >>> f = rw.frequencies.yarn(128, factor=4.0, trained_length=32768, base=1e6)
    >>> round(f.attention_factor, 6)
    1.138629
    >>> f = rw.frequencies.yarn(
    ...     64, factor=32.0, trained_length=4096, truncate=False, base=150000.0
    ... )
    >>> round(f.attention_factor, 6)
    1.346574
    >>> f = rw.frequencies.yarn(
    ...     64, factor=40.0, trained_length=4096, mscale=1.0, mscale_all_dim=1.0
    ... )
    >>> f.attention_factor
    1.0
    """
    dim, base = _options.even_dim(dim), _options.positive_number("base", base)
    if base <= 1:
        msg = f"base must be above 1 in yarn, got {base}"
        raise ValueError(msg)
    factor = _options.positive_number("factor", factor)
    trained_length = _options.context_length("trained_length", trained_length)
    beta_fast = _options.positive_number("beta_fast", beta_fast)
    beta_slow = _options.positive_number("beta_slow", beta_slow)
    if beta_fast < beta_slow:
        msg = f"beta_fast must not be below beta_slow, {beta_slow}, got {beta_fast}"
        raise ValueError(msg)
    truncate = _options.boolean("truncate", truncate)
    with localcontext(DIGITS):
        low, high = (
            dim * (trained_length / (TWO_PI * Decimal(beta))).ln() / (2 * Decimal(base).ln())
            for beta in (beta_fast, beta_slow)
        )
        if truncate:
            low, high = Decimal(math.floor(low)), Decimal(math.ceil(high))
        low, high = max(low, Decimal(0)), min(high, Decimal(dim - 1))
        if low > high:
            msg = f"trained_length must leave a ramp within {dim} channels, got {trained_length}"
            raise ValueError(msg)
        if low == high:
            high += Decimal("0.001")
        turns = []
        for pair, kept in enumerate(geometric(dim // 2, Decimal(base))):
            ramp = min(max((pair - low) / (high - low), Decimal(0)), Decimal(1))
            turns.append(kept / Decimal(factor) * ramp + kept * (1 - ramp))
        scaling = (
            f"yarn({dim}, factor={factor}, trained_length={trained_length}, "
            f"beta_fast={beta_fast}, beta_slow={beta_slow}, truncate={truncate}, base={base})"
        )
        derived, given = _of_mscales(factor, mscale, mscale_all_dim)
        if attention_factor is None:
            attention_factor = derived_attention_factor(derived, **given)
        return Frequencies._of_turns(turns, scaling=scaling, attention_factor=attention_factor)


def _of_mscales(
    factor: float, mscale: Real | None, mscale_all_dim: Real | None
) -> tuple[Decimal, dict[str, Real]]:
    """Return the attention factor that is not chosen, and the numbers that it comes from."""
    if (mscale is None) != (mscale_all_dim is None):
        one, other = _options.shown(mscale), _options.shown(mscale_all_dim)
        msg = f"mscale and mscale_all_dim must be given together, got {one} and {other}"
        raise ValueError(msg)
    logarithm = max(Decimal(factor).ln(), Decimal(0)) / 10
    if mscale is None or mscale_all_dim is None:
        return 1 + logarithm, {"factor": factor}
    above = 1 + Decimal(_options.positive_number("mscale", mscale)) * logarithm
    below = 1 + Decimal(_options.positive_number("mscale_all_dim", mscale_all_dim)) * logarithm
    return above / below, {"factor": factor, "mscale": mscale, "mscale_all_dim": mscale_all_dim}
