"""Options: numbers, words and switches, checked.

Every message names the argument, what was expected and what came.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, get_args

import numpy as np

LARGEST_POSITION = 2**53
LARGEST_DIM = 2**20
_LARGEST_WINDOW = 2**62  # more than any two positions are apart, and no overflow beside one
Lang = Literal["en", "ja"]
LANGUAGES = get_args(Lang)
Pairing = Literal["interleaved", "half"]
# What is taken for a number or a switch: NumPy's own as well, which are none to a type checker.
Integer = int | np.integer[Any]
Real = float | np.floating[Any] | np.integer[Any]
Boolean = bool | np.bool_
Window = tuple[Integer | None, Integer | None] | list[Integer | None]
Precision = Literal["float64", "bfloat16", "bfloat16x3"]
_INTERLEAVED, _HALF = "interleaved", "half"

_BOOLEANS = (bool, np.bool_)  # as `bool | np.bool_` in a function each call would make them anew
_NUMBERS = (int, float, np.integer, np.floating)
_NO_NUMBERS = (*_BOOLEANS, np.timedelta64)  # which are integers to Python and to NumPy


def integer(name: str, value: object) -> int:
    """Return `value` as an int; anything that is no integer, as True is none, raises TypeError."""
    try:
        # A masked integer would pass as the number under its mask.
        if isinstance(value, _BOOLEANS) or hasattr(value, "mask"):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        msg = f"{name} must be an integer, got {shown(value)}"
        raise TypeError(msg) from None
    if number.bit_length() > 1000:
        msg = f"{name} must be an integer of at most 1000 bits, got {shown(number)}"
        raise ValueError(msg)
    return number


def integer_between(name: str, value: object, smallest: int, largest: int) -> int:
    """Return `value` as an int from `smallest` to `largest`."""
    number = integer(name, value)
    if not smallest <= number <= largest:
        msg = f"{name} must be an integer from {smallest} to {largest}, got {number}"
        raise ValueError(msg)
    return number


def context_length(name: str, value: object) -> int:
    """Return a length (tokens) as an int: from 1 to 2**53."""
    return integer_between(name, value, 1, LARGEST_POSITION)


def even_dim(value: object, smallest: int = 2, largest: int = LARGEST_DIM) -> int:
    """Return the width of an encoding: even, from `smallest` to `largest`."""
    dim = integer("dim", value)
    if not smallest <= dim <= largest or dim % 2:
        msg = f"dim must be an even integer from {smallest} to {largest}, got {dim}"
        raise ValueError(msg)
    return dim


def _number(name: str, value: object) -> float:
    """Return `value` as a float, infinite where it is too large for one; True is no number."""
    if type(value) is float:  # as nearly always: the rest takes .2 us
        return value
    number = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if isinstance(number, np.generic) and number.dtype.name == "bfloat16":
        number = float(number)
    if isinstance(number, _NO_NUMBERS) or not isinstance(number, _NUMBERS):
        msg = f"{name} must be a real number, got {shown(value)}"
        raise TypeError(msg)
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _found(number: float, value: object) -> str:
    """Return what a message says of a number: an integer may be larger than any float."""
    return shown(value) if math.isinf(number) and isinstance(value, int) else repr(number)


def finite_number(name: str, value: object) -> float:
    """Return `value` as a finite float."""
    number = _number(name, value)
    if not math.isfinite(number):
        msg = f"{name} must be finite, got {_found(number, value)}"
        raise ValueError(msg)
    return number


def positive_number(name: str, value: object) -> float:
    """Return `value` as a finite float above 0."""
    number = _number(name, value)
    if not 0 < number < math.inf:
        msg = f"{name} must be positive and finite, got {_found(number, value)}"
        raise ValueError(msg)
    return number


def number_between(name: str, value: object, smallest: float, largest: float) -> float:
    """Return `value` as a float from `smallest` to `largest`."""
    number = _number(name, value)
    exact = int(value) if isinstance(value, int | np.integer) else number
    if not smallest <= exact <= largest:
        msg = f"{name} must be a number from {smallest} to {largest}, got {shown(value)}"
        raise ValueError(msg)
    return number


def sequence_of_integers(name: str, values: Any) -> Any:
    """Return what is a sequence, or an array of one axis, whose elements are yet to be checked."""
    is_text = isinstance(values, (str, bytes, bytearray))  # whose elements may be integers
    in_order = isinstance(values, Sequence) or np.ndim(values) == 1
    if in_order and isinstance(values, Iterable) and not is_text:
        return values
    msg = f"{name} must be a sequence of integers, got {shown(values)}"
    raise TypeError(msg)


def refuse_heads(slopes: object) -> None:
    """Refuse one integer above 1 as slopes: a number of heads, for nobody has such a slope."""
    number = slopes[()] if isinstance(slopes, np.ndarray) and slopes.ndim == 0 else slopes
    if isinstance(number, np.timedelta64) or not isinstance(number, (int, np.integer)):
        return
    if number > 1:
        which = "one number a head, as bias.alibi_slopes gives for that many heads"
        msg = f"slopes must be {which}, got {shown(number)}"
        raise ValueError(msg)


def choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse a `value` that is none of those `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        msg = f"{name} must be one of {', '.join(map(repr, allowed))}, got {shown(value)}"
        raise ValueError(msg)


def strings(name: str, given: Any, count: int) -> list[str]:
    """Return so many strings; nothing else is taken for one."""
    if isinstance(given, Iterator):  # which some functions would come to the end of
        msg = f"{name} must be a sequence of strings, got {shown(given)}"
        raise TypeError(msg)
    ordered = np.iterable(given) and not isinstance(given, (set, frozenset, dict))
    each: list[Any] = list(given) if ordered else [None]
    if not all(isinstance(text, str) for text in each):
        msg = f"{name} must be strings, got {shown(given)}"
        raise TypeError(msg)
    if len(each) != count:
        msg = f"{name} must be {count} strings, got {len(each)}"
        raise ValueError(msg)
    return each


def function(name: str, value: object) -> None:
    """Refuse a `value` that cannot be called."""
    if not callable(value):
        msg = f"{name} must be a function, got {shown(value)}"
        raise TypeError(msg)


def in_float64(precision: object) -> bool:
    """Tell whether a precision, be it one or not, says that float32 is computed in float64."""
    return isinstance(precision, str) and precision == "float64"


def boolean(name: str, value: object) -> bool:
    """Return True or False; nothing else is taken for one of them."""
    if isinstance(value, _BOOLEANS):
        return bool(value)
    msg = f"{name} must be True or False, got {shown(value)}"
    raise TypeError(msg)


def is_interleaved(pairing: object, name: str = "pairing") -> bool:
    """Tell which of the two pairings it is."""
    if pairing is _INTERLEAVED:  # which it is, as a literal
        return True
    if pairing is not _HALF:
        choice(name, pairing, (_INTERLEAVED, _HALF))
    return pairing == _INTERLEAVED


def window(value: object) -> tuple[int | None, int | None]:
    """Return the distances before and behind a query that it sees; None is unlimited."""
    if value is None:
        return None, None
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        msg = f"window must be a pair (left, right), got {shown(value)}"
        error = ValueError if isinstance(value, (tuple, list)) else TypeError
        raise error(msg)
    sides: list[int | None] = []
    for side in value:
        distance = None if side is None else integer("each side of window", side)
        if distance is not None and distance < 0:
            msg = f"window must be a pair of distances, 0 or more, or None, got {shown(value)}"
            raise ValueError(msg)
        sides.append(None if distance is None else min(distance, _LARGEST_WINDOW))
    return sides[0], sides[1]


def which_offset(queries: int, keys: int) -> str:
    """Say what offsets there are to choose from, for a message that one is needed."""
    return (
        f"where {queries} queries meet {keys} keys: "
        "offset=0 aligns the first query with the first key (upper left), "
        f"offset={keys - queries} the last with the last (lower right)"
    )


def shown(value: object) -> str:
    """Return what a message says of a number or an option."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape}"
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"an integer of {value.bit_length()} bits"  # Python refuses to print the longest
    text = str(value) if isinstance(value, _NUMBERS) else repr(value)
    return text if len(text) <= 300 else f"{text[:250]}... ({len(text)} characters)"
