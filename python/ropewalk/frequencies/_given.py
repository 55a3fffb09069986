"""Which frequencies the arguments of a function say."""

from __future__ import annotations

from ropewalk import _options
from ropewalk._options import Integer, Real
from ropewalk.frequencies._frequencies import Frequencies
from ropewalk.frequencies._standard import standard, standard_of


def given_or_standard(
    dim: Integer | None,
    base: Real | None,
    frequencies: Frequencies | None,
    name: str = "frequencies",
) -> Frequencies:
    """Return what the arguments `dim`, `base` and `frequencies` of a function say together."""
    if frequencies is None:
        if dim is None:
            msg = "dim must be given where frequencies is not"
            raise TypeError(msg)
        if base is None:
            return standard_of(_options.even_dim(dim), 10000.0)
        return standard(dim, base=base)
    if not isinstance(frequencies, Frequencies):  # what a type checker would have said
        msg = (  # type: ignore[unreachable]
            f"{name} must come from ropewalk.frequencies (from_radians takes an array), "
            f"got {type(frequencies).__name__}"
        )
        raise TypeError(msg)
    if base is not None:
        found = _options.shown(base)
        msg = f"base must not be given together with frequencies, got {found}"
        raise ValueError(msg)
    if dim is not None and _options.even_dim(dim) != 2 * len(frequencies):
        msg = f"dim must be {2 * len(frequencies)}, twice the pairs of frequencies, got {dim}"
        raise ValueError(msg)
    return frequencies


def of_features(
    name: str, features: Integer, base: Real | None, frequencies: Frequencies | None
) -> Frequencies:
    """Return the frequencies that turn vectors of so many features, of one axis."""
    if isinstance(frequencies, Frequencies) and 2 * len(frequencies) != features:
        msg = (
            f"frequencies must have {features // 2} pairs, half the features of {name}, got "
            f"{len(frequencies)}"
        )
        raise ValueError(msg)
    return one_axis(features, base, frequencies)


def one_axis(
    dim: Integer | None,
    base: Real | None,
    frequencies: Frequencies | None,
    name: str = "frequencies",
) -> Frequencies:
    """Return the frequencies that the arguments say, of positions with one coordinate."""
    turning = given_or_standard(dim, base, frequencies, name)
    if turning.axes > 1:
        msg = f"{name} must have one axis, got {turning.axes}"
        raise ValueError(msg)
    return turning
