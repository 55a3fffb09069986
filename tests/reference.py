"""Every formula of the library once, in plain loops, from the papers.

Nothing here calls the library. Numbers are mpmath's with 300 bits, so an angle of up to 2**100
radians still has 200 bits behind the point. Pairs are interleaved and the sine comes first.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from mpmath import MPContext

Real = Any  # an mpf of `mp`; mpmath has no types

mp = MPContext()
mp.prec = 300


def standard_frequencies(dim: int, base: float = 10000.0) -> list[Real]:
    """w_i = base ** (-2 i / dim), radians per position, the float `base` taken as it is.

    Vaswani et al., Attention Is All You Need, 2017, section 3.5; Su et al., RoFormer: Enhanced
    Transformer with Rotary Position Embedding, 2021, equation 15.
    """
    return [mp.power(mp.mpf(base), mp.mpf(-2 * pair) / dim) for pair in range(dim // 2)]


def linear_frequencies(dim: int, factor: float, base: float = 10000.0) -> list[Real]:
    """w_i / factor: positions m / s instead of m.

    Chen et al., Extending Context Window of Large Language Models via Positional Interpolation,
    2023, equation 4.
    """
    return [frequency / mp.mpf(factor) for frequency in standard_frequencies(dim, base)]


def exact_frequencies(radians: Iterable[float]) -> list[Real]:
    """The floats as the exact numbers that they are."""
    return [mp.mpf(value) for value in radians]


def wavelength(frequency: Real) -> Real:
    """Positions per full turn, 2 pi / w. Vaswani et al., 2017, section 3.5."""
    return mp.inf if frequency == 0 else 2 * mp.pi / abs(frequency)


def sinusoidal_encoding(
    positions: Iterable[float], frequencies: Sequence[Real]
) -> list[list[Real]]:
    """PE(p, 2 i) = sin(p w_i), PE(p, 2 i + 1) = cos(p w_i).

    Vaswani et al., Attention Is All You Need, 2017, section 3.5.
    """
    table = []
    for position in positions:
        row = []
        for frequency in frequencies:
            cosine, sine = mp.cos_sin(mp.mpf(position) * frequency)
            row += [sine, cosine]
        table.append(row)
    return table


def shift_matrix(offset: float, frequencies: Sequence[Real]) -> list[list[Real]]:
    """A(k) with A(k) PE(p) = PE(p + k), one block [[cos, sin], [-sin, cos]] of k w_i a pair.

    Vaswani et al., 2017, section 3.5, say that it exists; the addition theorem gives
    sin(p w + k w) = cos(k w) sin(p w) + sin(k w) cos(p w) and
    cos(p w + k w) = -sin(k w) sin(p w) + cos(k w) cos(p w).
    """
    dim = 2 * len(frequencies)
    matrix = [[mp.mpf(0)] * dim for _ in range(dim)]
    for pair, frequency in enumerate(frequencies):
        cosine, sine = mp.cos_sin(mp.mpf(offset) * frequency)
        i = 2 * pair
        matrix[i][i], matrix[i][i + 1] = cosine, sine
        matrix[i + 1][i], matrix[i + 1][i + 1] = -sine, cosine
    return matrix


def in_half_pairing(values: Sequence[Any]) -> list[Any]:
    """The same row with pair i at i and i + dim / 2 instead of 2 i and 2 i + 1.

    Vaswani et al., Tensor2Tensor for Neural Machine Translation, 2018: get_timing_signal_1d.
    """
    return [*values[0::2], *values[1::2]]
