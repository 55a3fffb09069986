"""The type that carries everything that turns, and the numbers that schedules are made from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ropewalk import _core, _options
from ropewalk._options import Real

# Contexts of our own, as the caller's may refuse floats: these are the numbers that they are.
_TRAPS = [DivisionByZero, InvalidOperation, Overflow]
DIGITS, _MORE_DIGITS = (Context(prec=digits, traps=_TRAPS) for digits in (110, 150))
TWO_PI = Decimal(
    "6.28318530717958647692528676655900576839433879875021164194988918461563281257241799725606"
    "9650684234135964296173026564613294187689219101164463450718816256962234901"
)
LARGEST_AXES = 64  # an array of NumPy has no more dimensions
SMALLEST_ATTENTION_FACTOR, LARGEST_ATTENTION_FACTOR = 0.0625, 16.0
_WORD_BYTES = 40
_FRACTION = Decimal(2**256)  # of a turn, in the fixed-point number; exact, whatever the context
_SMALLEST_TURNS = Decimal.from_float(2.0**-100)
_LARGEST_TURNS = Decimal(2**60)


class Frequencies:
    """Angles per position of all pairs, exact enough for any position.

    Made by the functions of `ropewalk.frequencies`; immutable, hashable and picklable. Two are
    equal when all their angles, their axes and their attention factors are. ``len(f)`` is the
    number of pairs, and ``np.asarray(f)`` gives `radians`; no function of this library takes them
    for positions or data.

    With several axes a position has as many coordinates, and a pair turns by the sum of what each
    coordinate turns it.

    Examples
    --------
    >>> import ropewalk as rw
    >>> f = rw.frequencies.standard(4)
    >>> f
    <Frequencies standard(4, base=10000.0): 2 pairs, wavelengths 6.28319 to 628.319>
    >>> f.radians
    array([1.  , 0.01])
    """

    __slots__ = ("_attention_factor", "_axes", "_radians", "_scaling", "_turns", "_words")

    def __init__(self, words: bytes, axes: int, attention_factor: Real, scaling: str, /) -> None:
        self._words = words
        self._axes = axes
        self._attention_factor = _options.number_between(
            "attention_factor",
            attention_factor,
            SMALLEST_ATTENTION_FACTOR,
            LARGEST_ATTENTION_FACTOR,
        )
        self._scaling = scaling
        self._turns = _core.Turns(words, axes)
        self._radians: NDArray[np.float64] | None = None

    @classmethod
    def _of_turns(
        cls, *axes: Iterable[Decimal], scaling: str, attention_factor: Real = 1.0
    ) -> Self:
        """Take turns per position in exact decimals, one a pair, for every axis."""
        words = bytearray()
        for axis, turns in enumerate(axes):
            for pair, turn in enumerate(turns):
                if turn and not _SMALLEST_TURNS <= abs(turn) <= _LARGEST_TURNS:
                    place = f"pair {pair}" + (f" of axis {axis}" if len(axes) > 1 else "")
                    msg = (
                        f"a frequency of {scaling} must be 0 or from 2**-100 to 2**60 turns per "
                        f"position in size, got {turn:.3e} for {place}"
                    )
                    raise ValueError(msg)
                number = int((turn * _FRACTION).to_integral_value())
                words += number.to_bytes(_WORD_BYTES, "little", signed=True)
        return cls(bytes(words), len(axes), attention_factor, scaling)

    def _on_axes(self, owners: list[int], axes: int, scaling: str) -> Self:
        """Give every pair of these one-axis frequencies to one axis; the others do not turn it."""
        words = bytearray(axes * len(self._words))
        for pair, axis in enumerate(owners):
            word = slice(pair * _WORD_BYTES, (pair + 1) * _WORD_BYTES)
            start = axis * len(self._words)
            words[start + word.start : start + word.stop] = self._words[word]
        return type(self)(bytes(words), axes, self._attention_factor, scaling)

    @property
    def radians(self) -> NDArray[np.float64]:
        """Angle per position (radians); elsewhere called inv_freq.

        Of shape (pairs,), with several axes (axes, pairs).
        """
        if self._radians is None:
            with localcontext(DIGITS):
                unit = TWO_PI / _FRACTION
                radians = self._shaped([float(number * unit) for number in self._numbers()])
            radians.flags.writeable = False
            self._radians = radians
        return self._radians

    @property
    def wavelengths(self) -> NDArray[np.float64]:
        """Positions per full turn, infinite where a pair stands still.

        Of the shape of `radians`.
        """
        with localcontext(DIGITS):
            numbers = self._numbers()
            return self._shaped([float(_FRACTION / abs(n)) if n else math.inf for n in numbers])

    @property
    def axes(self) -> int:
        """How many coordinates a position has."""
        return self._axes

    @property
    def attention_factor(self) -> float:
        """What the schedule multiplies cosines and sines by, 1.0 unless it says so."""
        return self._attention_factor

    @property
    def scaling(self) -> str:
        """The schedule and its parameters, but for arrays such as factors and directions."""
        return self._scaling

    def _numbers(self) -> list[int]:
        size = _WORD_BYTES
        return [
            int.from_bytes(self._words[i : i + size], "little", signed=True)
            for i in range(0, len(self._words), size)
        ]

    def _shaped(self, values: list[float]) -> NDArray[np.float64]:
        return np.array(values).reshape((self._axes, -1) if self._axes > 1 else -1)

    def __len__(self) -> int:
        return len(self._words) // (_WORD_BYTES * self._axes)

    def __array__(
        self, dtype: np.dtype[Any] | None = None, copy: bool | None = None
    ) -> NDArray[Any]:
        return np.array(self.radians, dtype=dtype, copy=copy)

    def _value(self) -> tuple[bytes, int, float]:
        return self._words, self._axes, self._attention_factor

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Frequencies):
            return NotImplemented
        return self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self._value())

    def __reduce__(self) -> tuple[type[Self], tuple[bytes, int, float, str]]:
        return type(self), (*self._value(), self._scaling)

    def __repr__(self) -> str:
        wavelengths = self.wavelengths
        pairs = "1 pair" if len(self) == 1 else f"{len(self)} pairs"
        axes = f" on {self._axes} axes" if self._axes > 1 else ""
        reach = f"wavelengths {wavelengths.min():.6g} to {wavelengths.max():.6g}"
        factor = self._attention_factor
        attention = f", attention factor {factor:.6g}" if factor != 1 else ""
        return f"<Frequencies {self._scaling}: {pairs}{axes}, {reach}{attention}>"


def derived_attention_factor(value: Decimal, /, **given: Real) -> float:
    """Return an attention factor, or name the arguments from which a wrong one followed."""
    factor = float(value)
    if not SMALLEST_ATTENTION_FACTOR <= factor <= LARGEST_ATTENTION_FACTOR:
        msg = (
            f"{', '.join(given)} must give an attention factor from "
            f"{SMALLEST_ATTENTION_FACTOR} to {LARGEST_ATTENTION_FACTOR}, "
            f"got {', '.join(map(str, given.values()))}, which gives {factor:.6g}"
        )
        raise ValueError(msg)
    return factor


def sine(angle: Decimal) -> Decimal:
    """Return the sine of an angle (radians) of at most 2**53 in size, within 1e-90 relatively."""
    with localcontext(_MORE_DIGITS):
        reduced = angle.remainder_near(TWO_PI)
        term = total = reduced
        power = 1
        while abs(term) > abs(total) * Decimal("1e-140"):
            power += 2
            term *= -reduced * reduced / (power * (power - 1))
            total += term
        return total


def cosine(angle: Decimal) -> Decimal:
    """Return the cosine of an angle (radians) of at most 2**53 in size, as `sine` does."""
    with localcontext(_MORE_DIGITS):
        return sine(angle + TWO_PI / 4)
