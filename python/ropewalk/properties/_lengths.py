"""Longer texts: which angles a model meets that it never met in its training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ropewalk import _options
from ropewalk._options import Integer, Real
from ropewalk.frequencies import Frequencies
from ropewalk.frequencies._given import one_axis


def unseen_pairs(
    length: Integer,
    dim: Integer | None = None,
    /,
    *,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
) -> NDArray[np.int64]:
    """Pairs that never complete a turn within a length.

    A model that was trained at that length has seen only a part of their angles.

    Parameters
    ----------
    length : int
        Length of the texts (tokens), from 1 to 2**53.
    dim : int, optional
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20. May be left out
        where `frequencies` is given.
    base : float, default 10000.0
        Base of the standard frequencies, positive and finite. Not together with `frequencies`.
    frequencies : Frequencies, optional
        Another schedule of one axis, from `ropewalk.frequencies`.

    Returns
    -------
    ndarray of int
        Which pairs, counted from 0, in order: those whose wavelength is above `length`.

    Raises
    ------
    ValueError
        If an argument is out of the range above, `base` and `frequencies` are both given, or
        `frequencies` have several axes.
    TypeError
        If `length` or `dim` is no integer, `dim` is missing, `base` is no number, or `frequencies`
        are no `Frequencies`.

    See Also
    --------
    unseen_phase : How much of a turn is new at a longer length.

    Notes
    -----
    Of the standard frequencies they are the pairs ``i > (dim / 2) ln(length / (2 pi)) / ln(base)``.

    References
    ----------
    Peng et al., YaRN: Efficient Context Window Extension of Large Language Models, 2023,
    arXiv:2309.00071, section 3.2.

    Examples
    --------
    >>> from ropewalk.properties import unseen_pairs
    >>> pairs = unseen_pairs(4096, 128)
    >>> len(pairs), int(pairs[0])
    (18, 46)
    """
    turning = one_axis(dim, base, frequencies)
    return np.flatnonzero(turning.wavelengths > _options.context_length("length", length))


def unseen_phase(
    dim: Integer | None = None,
    /,
    *,
    trained_length: Integer,
    length: Integer,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
    trained: Frequencies | None = None,
) -> NDArray[np.float64]:
    """Share of the angles at a longer length that no text of the trained length had.

    Parameters
    ----------
    dim : int, optional
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20. May be left out
        where `frequencies` is given.
    trained_length, length : int
        Length of the texts in the training, and now (tokens), from 1 to 2**53.
    base : float, default 10000.0
        Base of the standard frequencies, positive and finite. Not together with `frequencies`.
    frequencies : Frequencies, optional
        The schedule now, of one axis, from `ropewalk.frequencies`.
    trained : Frequencies, optional
        The schedule in the training, of as many pairs; the one now unless given.

    Returns
    -------
    ndarray of shape (pairs,)
        From 0, all seen, to 1, none: a pair turns through ``min(1, length / wavelength)`` of a
        turn, and this share of it is beyond what it turned through in the training.

    Raises
    ------
    ValueError
        If an argument is out of the range above, `base` and `frequencies` are both given, or
        schedules have several axes or differ in their pairs.
    TypeError
        If a length or `dim` is no integer, `dim` is missing, `base` is no number, or what has to
        be `Frequencies` is not.

    See Also
    --------
    unseen_pairs : Which pairs these are.
    ropewalk.frequencies.linear, ropewalk.frequencies.ntk, ropewalk.frequencies.yarn : Schedules
        that stretch the trained angles over a longer text.

    Notes
    -----
    Position interpolation by ``length / trained_length`` brings all shares to 0, but for rounding.
    YaRN does too, since it leaves only those pairs alone that have made whole turns; NTK leaves a
    few angles new.

    References
    ----------
    Chen et al., Extending Context Window of Large Language Models via Positional Interpolation,
    2023, arXiv:2306.15595, section 2.3; Peng et al., YaRN: Efficient Context Window Extension of
    Large Language Models, 2023, arXiv:2309.00071, section 3.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from ropewalk.properties import unseen_phase
    >>> lengths = {"trained_length": 4096, "length": 16384}
    >>> trained = rw.frequencies.standard(128)
    >>> round(float(unseen_phase(128, **lengths).mean()), 3)
    0.173
    >>> stretched = rw.frequencies.linear(128, factor=4.0)
    >>> float(unseen_phase(frequencies=stretched, trained=trained, **lengths).mean())
    0.0
    """
    turning = one_axis(dim, base, frequencies)
    before = turning if trained is None else one_axis(None, None, trained, "trained")
    if len(before) != len(turning):
        msg = f"trained must have {len(turning)} pairs, as the schedule has, got {len(before)}"
        raise ValueError(msg)
    reached = _reach(turning, _options.context_length("length", length))
    seen = _reach(before, _options.context_length("trained_length", trained_length))
    moving = np.where(reached > 0, reached, 1.0)  # a pair that stands still has all been seen
    return np.maximum(0.0, reached - seen) / moving


def _reach(frequencies: Frequencies, length: int) -> NDArray[np.float64]:
    return np.minimum(1.0, length / frequencies.wavelengths)
