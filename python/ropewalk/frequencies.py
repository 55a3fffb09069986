"""Frequencies, and every schedule that returns them.

A frequency is a fraction of a turn: pair ``i`` turns by a fixed angle per position, and the angle
is kept as turns in fixed point, so that position times frequency, modulo a whole turn, is exact at
every position. A schedule is a function that returns `Frequencies`; what uses them never asks which
one it was.
"""

from collections.abc import Iterable
from decimal import Context, Decimal, localcontext
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _core

__all__ = ["Frequencies", "from_radians", "linear", "standard"]

_DIGITS = Context(prec=90)
_TWO_PI = Decimal(
    "6.2831853071795864769252867665590057683943387987502116419498891846156328125724179972560696"
    "5068423413596429617303"
)
_WORD_BYTES = 32
_FRACTION = Decimal(2**192)  # of a turn, in the fixed-point number; exact, whatever the context
_SMALLEST_TURNS = Decimal(2.0**-100)
_LARGEST_TURNS = Decimal(2**60)


class Frequencies:
    """Angles per position of all pairs, exact enough for any position.

    Made by the functions of `ropewalk.frequencies`; immutable, hashable and picklable. Two are
    equal when all their angles and their attention factors are. ``len(f)`` is the number of pairs,
    and ``np.asarray(f)`` gives `radians`.

    Examples
    --------
    >>> import ropewalk as rw
    >>> f = rw.frequencies.standard(4)
    >>> f
    <Frequencies standard(4, base=10000.0): 2 pairs, wavelengths 6.28319 to 628.319>
    >>> f.radians
    array([1.  , 0.01])
    """

    __slots__ = ("_attention_factor", "_radians", "_scaling", "_turns", "_words")

    def __init__(self, words: bytes, attention_factor: float, scaling: str, /) -> None:
        self._words = words
        self._attention_factor = attention_factor
        self._scaling = scaling
        self._turns = _core.Turns(words)
        self._radians: NDArray[np.float64] | None = None

    @classmethod
    def _of_turns(cls, turns: Iterable[Decimal], scaling: str) -> Self:
        """Take turns per position in exact decimals, one a pair."""
        words = bytearray()
        for pair, turn in enumerate(turns):
            if turn and not _SMALLEST_TURNS <= abs(turn) <= _LARGEST_TURNS:
                msg = (
                    "a frequency must be 0 or from 2**-100 to 2**60 turns per position in size, "
                    f"got {turn:.3e} for pair {pair}"
                )
                raise ValueError(msg)
            number = int((turn * _FRACTION).to_integral_value())
            words += number.to_bytes(_WORD_BYTES, "little", signed=True)
        return cls(bytes(words), 1.0, scaling)

    @property
    def radians(self) -> NDArray[np.float64]:
        """Angle per position (radians), of shape (pairs,); elsewhere called inv_freq."""
        if self._radians is None:
            with localcontext(_DIGITS):
                unit = _TWO_PI / _FRACTION
                radians = np.array([float(number * unit) for number in self._numbers()])
            radians.flags.writeable = False
            self._radians = radians
        return self._radians

    @property
    def wavelengths(self) -> NDArray[np.float64]:
        """Positions per full turn, of shape (pairs,); infinite where a pair stands still."""
        with localcontext(_DIGITS):
            return np.array([float(_FRACTION / abs(n)) if n else np.inf for n in self._numbers()])

    @property
    def attention_factor(self) -> float:
        """What the schedule multiplies cosines and sines by, 1.0 unless it says so."""
        return self._attention_factor

    @property
    def scaling(self) -> str:
        """The schedule and its parameters."""
        return self._scaling

    def _numbers(self) -> list[int]:
        size = _WORD_BYTES
        return [
            int.from_bytes(self._words[i : i + size], "little", signed=True)
            for i in range(0, len(self._words), size)
        ]

    def __len__(self) -> int:
        return len(self._words) // _WORD_BYTES

    def __array__(
        self, dtype: np.dtype[Any] | None = None, copy: bool | None = None
    ) -> NDArray[Any]:
        return np.array(self.radians, dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Frequencies):
            return NotImplemented
        return (self._words, self._attention_factor) == (other._words, other._attention_factor)

    def __hash__(self) -> int:
        return hash((self._words, self._attention_factor))

    def __reduce__(self) -> tuple[type[Self], tuple[bytes, float, str]]:
        return type(self), (self._words, self._attention_factor, self._scaling)

    def __repr__(self) -> str:
        shortest, longest = min(self.wavelengths), max(self.wavelengths)
        pairs = "1 pair" if len(self) == 1 else f"{len(self)} pairs"
        reach = f"wavelengths {shortest:.6g} to {longest:.6g}"
        return f"<Frequencies {self._scaling}: {pairs}, {reach}>"


def standard(dim: int, /, *, base: float = 10000.0) -> Frequencies:
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
    Computed with 90 decimal digits and kept to 2**-192 of a turn.

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
    return _standard(_arrays.even_dim(dim), _arrays.positive_number("base", base))


@lru_cache(maxsize=64)
def _standard(dim: int, base: float) -> Frequencies:
    with localcontext(_DIGITS):
        return Frequencies._of_turns(_geometric(dim, base), f"standard({dim}, base={base})")


def _geometric(dim: int, base: float) -> list[Decimal]:
    """Return the turns per position of the standard schedule, within 1e-84 relatively."""
    ratio = (Decimal(base).ln() * -2 / dim).exp()
    turns = [1 / _TWO_PI]
    for _ in range(dim // 2 - 1):
        turns.append(turns[-1] * ratio)
    return turns


def linear(dim: int, /, *, factor: float, base: float = 10000.0) -> Frequencies:
    """Position interpolation (PI): every frequency divided by one factor.

    A context `factor` times as long then covers the angles of the original one.

    Parameters
    ----------
    dim : int
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20.
    factor : float
        New length over trained length, positive and finite (at least 1 in practice).
    base : float, default 10000.0
        As in `standard`.

    Returns
    -------
    Frequencies
        ``dim // 2`` pairs; attention factor 1.0.

    Raises
    ------
    ValueError
        If `dim` is odd or out of range, or `factor` or `base` is not positive and finite.
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
    dim, base = _arrays.even_dim(dim), _arrays.positive_number("base", base)
    factor = _arrays.positive_number("factor", factor)
    with localcontext(_DIGITS):
        turns = [turn / Decimal(factor) for turn in _geometric(dim, base)]
        scaling = f"linear({dim}, factor={factor}, base={base})"
        return Frequencies._of_turns(turns, scaling)


def from_radians(radians: ArrayLike, /) -> Frequencies:
    """Frequencies from an array of angles per position.

    Each float is taken as the exact number that it is: what a float32 array lost when it was made
    stays lost, and nothing more is.

    Parameters
    ----------
    radians : array_like of shape (pairs,)
        Angles per position (radians); integers, float64, float32 or float16, finite, at least one,
        of either sign; 0, or from 2**-100 to 2**60 turns in size.

    Returns
    -------
    Frequencies
        One pair a value.

    Raises
    ------
    ValueError
        If `radians` has not exactly one dimension, is empty, holds NaN or infinity, or leaves the
        range.
    TypeError
        If `radians` is complex or holds no numbers.

    See Also
    --------
    standard : The schedule of the papers, exact from the start.

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
    """
    array = np.asarray(radians)
    if array.dtype.kind not in "iu" and not _arrays.is_real_float(array.dtype):
        msg = f"radians must be integers, float64, float32 or float16, got dtype {array.dtype}"
        raise TypeError(msg)
    if array.ndim != 1 or array.size == 0:
        msg = f"radians must have shape (pairs,) with at least one pair, got {array.shape}"
        raise ValueError(msg)
    if array.size > _arrays.LARGEST_DIM // 2:
        msg = f"radians must hold at most {_arrays.LARGEST_DIM // 2} pairs, got {array.size}"
        raise ValueError(msg)
    if not np.isfinite(array).all():
        msg = f"radians must be finite, got {array[~np.isfinite(array)][0]}"
        raise ValueError(msg)
    with localcontext(_DIGITS):
        turns = [Decimal(value) / _TWO_PI for value in array.tolist()]
        return Frequencies._of_turns(turns, f"from_radians({array.size} values)")


def _given_or_standard(
    dim: int | None, base: float | None, frequencies: Frequencies | None
) -> Frequencies:
    """Return what the arguments `dim`, `base` and `frequencies` of a function say together."""
    if frequencies is None:
        if dim is None:
            msg = "dim must be given where frequencies is not"
            raise TypeError(msg)
        if base is None:
            return _standard(_arrays.even_dim(dim), 10000.0)
        return standard(dim, base=base)
    if not isinstance(frequencies, Frequencies):  # what a type checker would have said
        msg = (  # type: ignore[unreachable]
            "frequencies must come from ropewalk.frequencies (from_radians takes an array), "
            f"got {type(frequencies).__name__}"
        )
        raise TypeError(msg)
    if base is not None:
        msg = f"base must not be given together with frequencies, got {base!r}"
        raise ValueError(msg)
    if dim is not None and _arrays.even_dim(dim) != 2 * len(frequencies):
        msg = f"dim must be {2 * len(frequencies)}, twice the pairs of frequencies, got {dim}"
        raise ValueError(msg)
    return frequencies
