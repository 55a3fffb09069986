"""A measurement, and what all of them share: their arguments, their bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options
from ropewalk._options import LARGEST_POSITION, Integer
from ropewalk.geometry._points import as_reals


@dataclass(frozen=True, slots=True)
class Measurement:
    """How far a statement is off, and how far it may be.

    Attributes
    ----------
    value : float
        What was measured; NaN where something was no number.
    bound : float
        The most that rounding explains.

    Examples
    --------
    >>> from ropewalk.properties import Measurement
    >>> Measurement(value=1e-8, bound=6e-8).holds
    True
    """

    value: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the statement holds."""
        return self.value <= self.bound


def reals(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return finite data of a float type of NumPy's own, at least one number of it."""
    return _not_empty(name, _arrays.data(name, _arrays.finite_reals(name, values)))


def reals_in_float64(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return finite data, at least one number of it, in float64, which holds bfloat16 too."""
    return _not_empty(name, as_reals(name, values))


def _not_empty(name: str, array: NDArray[Any]) -> NDArray[Any]:
    if not array.size:
        msg = f"{name} must not be empty, got shape {array.shape}"
        raise ValueError(msg)
    return array


def table_of_reals(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return a table, a row a position, in float64: rows that differ there differ here."""
    array = _arrays.converted(name, values, "an array of numbers")
    if array.dtype.kind in "iu":
        rounded = (array > LARGEST_POSITION) | (array < -LARGEST_POSITION)
        if rounded.any():
            _refuse_integer(name, array[rounded][0])
    rounded_among_floats = _arrays.rounded_integer(values, array)
    if rounded_among_floats is not None:
        _refuse_integer(name, rounded_among_floats)
    table = as_reals(name, array)
    if table.ndim != 2 or not table.size:
        msg = f"{name} must have shape (positions, dim) and not be empty, got {table.shape}"
        raise ValueError(msg)
    return table


def _refuse_integer(name: str, value: object) -> None:
    msg = f"{name} must hold integers of at most 2**53 in size, got {value}"
    raise ValueError(msg)


def rows_of_reals(table: ArrayLike) -> NDArray[np.float64]:
    """Return a table of two rows or more."""
    rows = table_of_reals("table", table)
    if len(rows) < 2:
        msg = f"table must have two rows or more, got shape {rows.shape}"
        raise ValueError(msg)
    return rows


def generator(seed: Integer | np.random.Generator) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    try:
        number = _options.integer("seed", seed)
    except TypeError:
        msg = f"seed must be an integer or a Generator of NumPy's, got {_options.shown(seed)}"
        raise TypeError(msg) from None
    if number < 0:
        msg = f"seed must not be negative, got {number}"
        raise ValueError(msg)
    return np.random.default_rng(number)


def unit(array: NDArray[Any]) -> float:
    """Return half the spacing of the numbers above 1."""
    return float(np.finfo(array.dtype).eps) / 2


def largest(differences: ArrayLike) -> float:
    return float(np.abs(differences).max(initial=0))
