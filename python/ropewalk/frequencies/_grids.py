"""Schedules of positions with several coordinates: images, video, mixed streams."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options
from ropewalk._options import Boolean, Integer, Real
from ropewalk.frequencies._frequencies import (
    DIGITS,
    LARGEST_AXES,
    TWO_PI,
    Frequencies,
    cosine,
    sine,
)
from ropewalk.frequencies._given import one_axis
from ropewalk.frequencies._standard import geometric

Layout = Literal["restarted", "dealt", "alternating"]


def axial(
    dim: Integer,
    /,
    *,
    axes: Integer | None = None,
    sections: Sequence[Integer] | NDArray[np.integer] | None = None,
    layout: Layout = "restarted",
    turns: Boolean = False,
    base: Real = 10000.0,
) -> Frequencies:
    """Axial RoPE: every pair belongs to one axis of a grid.

    Parameters
    ----------
    dim : int
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20.
    axes : int, optional
        Number of axes, from 2 to 64 and a divisor of the pairs: every axis gets as many. 2 where
        `sections` are not given either.
    sections : sequence of int, optional
        How many pairs each axis gets instead, with the layout "restarted" only; positive, their sum
        the number of pairs.
    layout : {"restarted", "dealt", "alternating"}, default "restarted"
        Which frequencies an axis has, and where. "restarted": each axis has the standard
        frequencies of its own width, ``base ** (-j / section)``, and its pairs stand together.
        "dealt": the standard frequencies of the whole width, pair ``i`` to axis ``i % axes``,
        the pairs of an axis then put together. "alternating": the same, every pair in its place.
    turns : bool, default False
        Count in turns per unit of a coordinate, not in radians, for coordinates from -1 to 1.
    base : float, default 10000.0
        As in `standard`.

    Returns
    -------
    Frequencies
        ``dim // 2`` pairs on the axes; attention factor 1.0.

    Raises
    ------
    ValueError
        If an argument is out of the range above, the pairs cannot be split evenly, `sections` do
        not fit, or a frequency leaves the range from 2**-100 to 2**60 turns per position.
    TypeError
        If `dim`, `axes` or a section is not an integer, `sections` not a sequence, `base` not a
        real number, or `turns` not a boolean.

    See Also
    --------
    mrope : Axes share one table that is not restarted.
    mixed : Every pair turns with both axes.
    ropewalk.grid_positions : Positions for it.

    Notes
    -----
    Published models, with the order of their coordinates:

    - Qwen2-VL, vision: ``axial(head)``; row and column; half pairing.
    - Llama 3.2, vision, in torchtune: ``axial(head)``; column and row, from 1; interleaved.
    - FLUX.1: ``axial(128, sections=(8, 28, 28))``; text, row and column; interleaved.
    - DINOv3: ``axial(head, turns=True, base=100.0)``; row and column of
      ``grid_positions(shape, normalise="separate")``; half pairing.
    - Pixtral: ``axial(head, layout="dealt")``; row and column; half pairing.
    - HunyuanImage 3: ``axial(head, layout="alternating")``; row and column; half pairing.

    Gemma 4 (vision) rotates each half of a head by itself, with half pairing inside: one call of
    ``standard(head // 2, base=100.0)`` for each.

    References
    ----------
    Heo et al., Rotary Position Embedding for Vision Transformer, 2024, arXiv:2403.13298, section
    3.
    Siméoni et al., DINOv3, 2025, arXiv:2508.10104, and the code published with it, for `turns`.
    Agrawal et al., Pixtral 12B, 2024, arXiv:2410.07073, and its code, for "dealt".

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.frequencies.axial(8).radians
    array([[1.  , 0.01, 0.  , 0.  ],
           [0.  , 0.  , 1.  , 0.01]])
    >>> rw.frequencies.axial(8, layout="dealt").radians
    array([[1.   , 0.01 , 0.   , 0.   ],
           [0.   , 0.   , 0.1  , 0.001]])
    >>> rw.frequencies.axial(8, layout="alternating").radians
    array([[1.   , 0.   , 0.01 , 0.   ],
           [0.   , 0.1  , 0.   , 0.001]])
    """
    dim, base = _options.even_dim(dim), _options.positive_number("base", base)
    pairs = dim // 2
    _options.choice("layout", layout, get_args(Layout))
    if sections is None:
        axes = _axes(2 if axes is None else axes)
        if pairs % axes:
            msg = f"dim must be a multiple of {2 * axes} for {axes} axes, got {dim}"
            raise ValueError(msg)
        sizes, options = [pairs // axes] * axes, f"axes={axes}"
    else:
        sizes = _sections(sections, pairs)
        options = f"sections={tuple(sizes)}"
        if layout != "restarted":
            msg = f"sections must not be given with the layout {layout!r}, got {sections!r}"
            raise ValueError(msg)
        if axes is not None and _axes(axes) != len(sizes):
            msg = f"axes must be {len(sizes)}, the number of sections, got {axes}"
            raise ValueError(msg)
        axes = len(sizes)
    contiguous = [axis for axis, size in enumerate(sizes) for _ in range(size)]
    with localcontext(DIGITS):
        if layout == "restarted":
            table = [turn for size in sizes for turn in geometric(size, Decimal(base))]
        else:
            table = geometric(pairs, Decimal(base))
        if layout == "dealt":
            table = [turn for axis in range(axes) for turn in table[axis::axes]]
        if _options.boolean("turns", turns):
            table = [turn * TWO_PI for turn in table]
        scaling = f"axial({dim}, {options}, layout={layout!r}, turns={turns}, base={base})"
        schedule = Frequencies._of_turns(table, scaling=scaling)
    owners = [i % axes for i in range(pairs)] if layout == "alternating" else contiguous
    return schedule._on_axes(owners, axes, scaling)


def mrope(
    dim: Integer | None = None,
    /,
    *,
    sections: Sequence[Integer] | NDArray[np.integer],
    interleaved: Boolean = False,
    base: Real | None = None,
    frequencies: Frequencies | None = None,
) -> Frequencies:
    """Multimodal RoPE (M-RoPE): one table of frequencies shared out among the axes.

    A position has one coordinate for each section: time, row and column in the published models.
    Text has the same number in all of them, and then every pair turns as in the one-axis table.

    Parameters
    ----------
    dim : int, optional
        Width of the encoding, twice the number of pairs; even, from 2 to 2**20. May be left out
        where `frequencies` is given.
    sections : sequence of int
        How many pairs each axis gets, 2 to 64 axes; positive, their sum the number of pairs.
    interleaved : bool, default False
        Deal the pairs out in turn: pair ``i`` belongs to the axis ``a = i % axes`` where ``a > 0``
        and ``i < axes * sections[a]``, and to axis 0 elsewhere. Otherwise the first section is axis
        0, the next axis 1, and so on.
    base : float, default 10000.0
        As in `standard`. Not together with `frequencies`.
    frequencies : Frequencies, optional
        Another schedule of one axis to share out; its attention factor is kept.

    Returns
    -------
    Frequencies
        ``dim // 2`` pairs on ``len(sections)`` axes.

    Raises
    ------
    ValueError
        If an argument is out of the range above, `sections` do not sum to the pairs or cannot be
        dealt out, `base` and `frequencies` are both given, `frequencies` have several axes, or a
        frequency leaves the range from 2**-100 to 2**60 turns per position.
    TypeError
        If `dim` is missing, `dim` or a section is not an integer, `base` not a real number,
        `interleaved` not a boolean, or `frequencies` none of `ropewalk.frequencies`.

    See Also
    --------
    axial : Each axis has frequencies of its own.

    Notes
    -----
    Qwen2-VL and Qwen2.5-VL: ``mrope(128, sections=(16, 24, 24), base=1e6)``. Qwen3-VL:
    ``mrope(128, sections=(24, 20, 20), interleaved=True, base=5e6)``. Published code cuts
    interleaved sections that reach beyond the last pair without a word, and an axis then gets fewer
    pairs than its section says; here that is an error.

    References
    ----------
    Wang et al., Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any
    Resolution, 2024, arXiv:2409.12191, section 2.1.
    Qwen Team, Qwen3-VL Technical Report, 2025, arXiv:2511.21631, for `interleaved`.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.frequencies.mrope(8, sections=(2, 1, 1)).radians
    array([[1.   , 0.1  , 0.   , 0.   ],
           [0.   , 0.   , 0.01 , 0.   ],
           [0.   , 0.   , 0.   , 0.001]])
    >>> rw.frequencies.mrope(8, sections=(2, 1, 1), interleaved=True).radians
    array([[1.   , 0.   , 0.   , 0.001],
           [0.   , 0.1  , 0.   , 0.   ],
           [0.   , 0.   , 0.01 , 0.   ]])
    """
    shared = one_axis(dim, base, frequencies)
    sizes = _sections(sections, len(shared))
    axes = len(sizes)
    if _options.boolean("interleaved", interleaved):
        owners = [i % axes if i < axes * sizes[i % axes] else 0 for i in range(len(shared))]
        dealt = [owners.count(axis) for axis in range(axes)]
        if dealt != sizes:
            msg = (
                f"sections must be such that {len(shared)} pairs can be dealt out in turn, "
                f"got {tuple(sizes)}, of which the axes would get {tuple(dealt)}"
            )
            raise ValueError(msg)
    else:
        owners = [axis for axis, size in enumerate(sizes) for _ in range(size)]
    scaling = f"mrope({shared.scaling}, sections={tuple(sizes)}, interleaved={interleaved})"
    return shared._on_axes(owners, axes, scaling)


def mixed(dim: Integer, /, *, directions: ArrayLike, base: Real = 10.0) -> Frequencies:
    """RoPE-Mixed before training: every pair turns with both axes of an image.

    Pair ``i`` of the first half turns by ``base ** (-4 * i / dim)`` radians per unit of length in
    the direction ``directions[i]`` of the plane, and pair ``i`` of the second half by as much in
    the direction at a right angle to it.

    Parameters
    ----------
    dim : int
        Width of the encoding, twice the number of pairs; a multiple of 4 up to 2**20.
    directions : array_like of shape (dim // 4,), or a number
        Angles from the first axis towards the second (radians), finite and at most 2**53 in size. A
        number holds for all pairs.
    base : float, default 10.0
        Positive and finite.

    Returns
    -------
    Frequencies
        ``dim // 2`` pairs on 2 axes; attention factor 1.0.

    Raises
    ------
    ValueError
        If an argument is out of the range above or has another shape, or a frequency leaves the
        range from 2**-100 to 2**60 turns per position.
    TypeError
        If `dim` is not an integer, `base` not a real number, or `directions` are no real numbers.

    See Also
    --------
    axial : Every pair turns with one axis.
    from_radians : Takes the table that a model has learned.

    Notes
    -----
    The paper makes both frequencies of every pair learnable and leaves their start open. This is
    the start of the authors' code (rope-vit), which draws one random direction for each head. What
    a model has learned in the end comes in through `from_radians`, its two rows the column and the
    row of a patch in that code.

    References
    ----------
    Heo et al., Rotary Position Embedding for Vision Transformer, 2024, arXiv:2403.13298, equation
    14, and the code published with it.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.frequencies.mixed(8, directions=0.0, base=100.0).radians
    array([[1. , 0.1, 0. , 0. ],
           [0. , 0. , 1. , 0.1]])
    """
    dim, base = _options.even_dim(dim, smallest=4), _options.positive_number("base", base)
    if dim % 4:
        msg = f"dim must be a multiple of 4, got {dim}"
        raise ValueError(msg)
    array = _arrays.finite_reals("directions", directions)
    if array.shape not in {(), (dim // 4,)}:
        msg = f"directions must be a number or have shape ({dim // 4},), got {array.shape}"
        raise ValueError(msg)
    angles = [
        Decimal.from_float(_options.number_between("directions", angle, -(2.0**53), 2.0**53))
        for angle in np.broadcast_to(array, dim // 4).tolist()
    ]
    with localcontext(DIGITS):
        lengths = geometric(dim // 4, Decimal(base))
        heading = {angle: (cosine(angle), sine(angle)) for angle in set(angles)}
        along = [length * heading[angle][0] for length, angle in zip(lengths, angles, strict=True)]
        across = [length * heading[angle][1] for length, angle in zip(lengths, angles, strict=True)]
        scaling = f"mixed({dim}, base={base})"
        turned = [-turn for turn in across]
        return Frequencies._of_turns(along + turned, across + along, scaling=scaling)


def _axes(value: Integer) -> int:
    return _options.integer_between("axes", value, 2, LARGEST_AXES)


def _sections(values: Sequence[Integer] | NDArray[np.integer], pairs: int) -> list[int]:
    given = _options.sequence_of_integers("sections", values)
    sizes = [_options.integer_between("each of sections", value, 1, pairs) for value in given]
    if not 2 <= len(sizes) <= LARGEST_AXES:
        msg = f"sections must be 2 to {LARGEST_AXES}, one an axis, got {len(sizes)}"
        raise ValueError(msg)
    if sum(sizes) != pairs:
        msg = f"sections must sum to {pairs}, the number of pairs, got {values!r}"
        raise ValueError(msg)
    return sizes
