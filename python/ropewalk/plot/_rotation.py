"""Rotary position embedding: turned pairs, its scores and its angles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.patches import Circle
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options, phases, rotary_tables
from ropewalk._embedding import scaled_to_one
from ropewalk._options import Lang, Pairing
from ropewalk._pairing import pair_slices
from ropewalk.frequencies import Frequencies
from ropewalk.frequencies._given import one_axis
from ropewalk.geometry._points import as_reals
from ropewalk.plot import _canvas
from ropewalk.plot._canvas import COLOURS
from ropewalk.properties import scores_by_distance

IN_A_ROW = 8
BETWEEN_CENTRES = 2.4  # in radii
BETWEEN_LINES = 3.0
BFLOAT16_ROUNDING = 2.0**-9  # of a cosine from 1/2 to 1


def rotation(
    table: ArrayLike,
    /,
    *,
    positions: ArrayLike | range | None = None,
    pairing: Pairing = "interleaved",
    pairs: Sequence[int] | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """Pairs of features as arrows, which a rotation turns and does not stretch.

    A circle a pair, and an arrow a position, the darker the earlier. Every pair is drawn as large
    as the circle: an arrow within it is shorter than the longest of its pair.

    Parameters
    ----------
    table : array_like of shape (positions, dim)
        One vector, turned to some positions; `dim` even.
    positions : array_like or range, optional
        Positions of the rows (tokens); 0, 1, 2 and so on unless given.
    pairing : {"interleaved", "half"}, default "interleaved"
        Which features form a pair, as in `rotate`.
    pairs : sequence of int, optional
        Which pairs to draw, each from 0 to ``dim // 2 - 1``; all of them unless given.
    labels : sequence of str, optional
        A label a circle; "pair 0", "pair 1" and so on unless given.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        A quiver of arrows a pair.

    Raises
    ------
    ValueError
        If `table` has not two dimensions, is empty, has an odd number of columns or numbers above
        1e100 in size, `pairing` is neither of the two, a pair is not there, or `positions` or
        `labels` does not fit.
    TypeError
        If `pairs` are no sequence of integers, `labels` no strings, or `ax` is no Axes.

    See Also
    --------
    clock_hands : Pairs of a sinusoidal encoding.

    References
    ----------
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864, figure 1.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> turned = rw.rotate(np.tile([2.0, 0.0, 1.0, 0.0], (7, 1)))
    >>> ax = rw.plot.rotation(turned, pairs=[0], ax=Figure().add_subplot())
    >>> ax.collections[0].V[:3].round(4)
    array([0.    , 0.8415, 0.9093])
    """
    values, at = _canvas.rows(table, positions)
    _canvas.check_drawable("table", values)
    if values.shape[1] % 2:
        msg = f"table must have an even number of columns, got {values.shape[1]}"
        raise ValueError(msg)
    count = values.shape[1] // 2
    if pairs is not None and not np.iterable(pairs):
        msg = f"pairs must be a sequence of integers, got {pairs!r}"  # type: ignore[unreachable]
        raise TypeError(msg)
    chosen = range(count) if pairs is None else [_options.integer("pairs", pair) for pair in pairs]
    if not chosen or not all(0 <= pair < count for pair in chosen):
        msg = f"pairs must be one or more integers from 0 to {count - 1}, got {pairs!r}"
        raise ValueError(msg)
    default = [_canvas.words("pair {}", lang, pair) for pair in chosen]
    titles = _canvas.own_words(labels, default, lang)
    of_pairs = pair_slices(2 * count, interleaved=_options.is_interleaved(pairing))
    first, second = (values[:, features] for features in of_pairs)
    lines = -(-len(chosen) // IN_A_ROW)
    ax = _canvas.axes(ax, 2.2 if lines == 1 else 0.4 + 0.8 * lines, lang)
    norm = Normalize(at.min(), at.max())
    for place, (pair, title) in enumerate(zip(chosen, titles, strict=True)):
        line, column = divmod(place, IN_A_ROW)
        x, y = BETWEEN_CENTRES * column, -BETWEEN_LINES * line
        arrows = np.stack([first[:, pair], second[:, pair]])
        lengths = np.hypot(*arrows)
        finite = np.isfinite(lengths)
        longest = float(lengths.max(where=finite, initial=0.0)) or 1.0
        ax.add_patch(Circle((x, y), 1, fill=False, color="0.75"))
        drawn = ax.quiver(
            np.full(len(at), x),
            np.full(len(at), y),
            *np.where(finite, arrows, np.nan) / longest,
            at,
            cmap=_canvas.dark_to_light(ax),
            norm=norm,
            angles="xy",
            scale_units="xy",
            scale=1,
            width=0.005,
        )
        ax.text(x, y - 1.35, "", **_canvas.CENTRED).set(**title)
    right = BETWEEN_CENTRES * (min(len(chosen), IN_A_ROW) - 1)
    ax.set(aspect="equal", xlim=(-1.1, right + 1.1), ylim=(y - 1.6, 1.1))
    ax.set_axis_off()
    bar = ax.figure.colorbar(drawn, ax=ax, ticks=_canvas.whole_numbers(5), format=_canvas.in_full())
    bar.ax.yaxis.label.set(**_canvas.words("position (tokens)", lang))
    return ax


def score_by_distance(
    query: ArrayLike,
    key: ArrayLike,
    distances: ArrayLike | range,
    /,
    *,
    base: float | None = None,
    frequencies: Frequencies | None = None,
    pairing: Pairing = "interleaved",
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """Scores of rotated queries and keys against the distance between them.

    The inner product of the query at a position and the key as far before it as the distance says,
    over the product of their lengths. Where both stand does not matter, only how far apart.

    Parameters
    ----------
    query, key : array_like of shape (dim,) or (curves, dim)
        Vectors that are not rotated yet, none of them zero; both of one shape.
    distances : array_like or range of shape (distances,)
        Position of the query minus that of the key (tokens), in any order; fractional and negative
        ones too.
    base : float, default 10000.0
        Base of the standard frequencies, positive and finite. Not together with `frequencies`.
    frequencies : Frequencies, optional
        Another schedule of one axis, from `ropewalk.frequencies`.
    pairing : {"interleaved", "half"}, default "interleaved"
        Which features form a pair, as in `rotate`.
    labels : sequence of str, optional
        A label a curve; no legend unless given.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        A line a curve, after a line at zero.

    Raises
    ------
    ValueError
        If a shape does not fit, a vector is zero, `frequencies` have several axes or another width,
        or `labels` are not as many as curves.
    TypeError
        If `query`, `key` or `distances` are complex or no numbers, or `labels` no strings.

    See Also
    --------
    ropewalk.rotate : The rotation.

    Notes
    -----
    An attention factor of the frequencies comes in twice, once with the query and once with the
    key, as it does in a model. Scores are exact but for the rounding of float64.

    References
    ----------
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864, equation 16 and section 3.4.3.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> ones = np.ones(2)
    >>> ax = rw.plot.score_by_distance(ones, ones, range(3), ax=Figure().add_subplot())
    >>> ax.lines[1].get_ydata().round(4)
    array([ 1.    ,  0.5403, -0.4161])
    """
    queries, keys = (  # scores are relative, and of numbers about 1 nothing overflows
        scaled_to_one(np.atleast_2d(as_reals(name, x)))[0]
        for name, x in (("query", query), ("key", key))
    )
    if queries.ndim != 2 or queries.shape != keys.shape:
        msg = (
            "query and key must have one shape, (dim,) or (curves, dim), "
            f"got {np.shape(query)} and {np.shape(key)}"
        )
        raise ValueError(msg)
    lengths = np.linalg.norm(queries, axis=1) * np.linalg.norm(keys, axis=1)
    if not lengths.all():
        msg = "query and key must not be zero, got a vector of length 0"
        raise ValueError(msg)
    apart = np.sort(_line("distances", distances))  # else curves would run back and forth
    names = None if labels is None else _canvas.own_words(labels, [{}] * len(queries), lang)
    scores = scores_by_distance(
        queries, keys, apart, base=base, frequencies=frequencies, pairing=pairing
    )
    alone = ax is None
    ax = _canvas.axes(ax, 3.2, lang)
    _canvas.curves(ax, apart, scores / lengths[:, None], names, alone=alone)
    ax.xaxis.label.set(**_canvas.words("distance (tokens)", lang))
    ax.yaxis.label.set(**_canvas.words("score / (|query| |key|)", lang))
    return ax


def angle_error(
    positions: ArrayLike | range,
    dim: int | None = None,
    /,
    *,
    base: float | None = None,
    frequencies: Frequencies | None = None,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """How wrong angles in float32 are, position by position, on logarithmic scales.

    Float32 frequency times float32 position, as most libraries have it, against exact angles. The
    rounding of a cosine to bfloat16 is drawn in, to measure it by.

    Parameters
    ----------
    positions : array_like or range of shape (positions,)
        Positions (tokens), above 0 and at most 2**53.
    dim : int, optional
        Rotary width, twice the number of pairs; even, from 2 to 2**20. May be left out where
        `frequencies` is given.
    base : float, default 10000.0
        Base of the standard frequencies, positive and finite. Not together with `frequencies`.
    frequencies : Frequencies, optional
        Another schedule of one axis, from `ropewalk.frequencies`.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        Two rows of dots, the largest error of all pairs and the root mean square, and a line for
        bfloat16. Whole turns do not count, so no error is above pi.

    Raises
    ------
    ValueError
        If an argument is out of the range above, or `frequencies` have several axes.
    TypeError
        If `positions` are complex or no numbers, or `dim` is missing or no integer.

    See Also
    --------
    ropewalk.rotary_tables : Both kinds of angles.

    References
    ----------
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864, equation 15, for the angles.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> ax = rw.plot.angle_error([10**3, 10**6], 128, ax=Figure().add_subplot())
    >>> ax.get_xscale(), ax.get_yscale()
    ('log', 'log')
    """
    turning = one_axis(dim, base, frequencies)
    at = _line("positions", positions)
    if not (at > 0).all():
        msg = f"positions must be above 0 on a logarithmic scale, got {at[~(at > 0)][0]}"
        raise ValueError(msg)
    cosines, sines = rotary_tables(at, frequencies=turning, angles="float32")
    errors = np.abs(np.angle((cosines + 1j * sines) * phases(at, frequencies=turning).conj()))
    ax = _canvas.axes(ax, 3.4, lang)
    dots = ax.plot(at, errors.max(axis=1), "o", color=COLOURS[1], markersize=3)
    mean = np.sqrt((errors**2).mean(axis=1))
    dots += ax.plot(at, mean, "x", color=COLOURS[0], markersize=3)
    dots.append(ax.axhline(BFLOAT16_ROUNDING, color="0.5", linewidth=0.8))
    names = ("largest of all pairs", "root mean square", "rounding of a cosine to bfloat16")
    _canvas.legend(ax, dots, [_canvas.words(name, lang) for name in names])
    ax.set(xscale="log", yscale="log")
    ax.xaxis.label.set(**_canvas.words("position (tokens)", lang))
    ax.yaxis.label.set(**_canvas.words("error of the angle (radians)", lang))
    _canvas.open_frame(ax)
    return ax


def _line(name: str, values: ArrayLike | range) -> NDArray[Any]:
    """Return numbers along an axis of a figure."""
    numbers, shape = _arrays.positions(name, values)
    if len(shape) != 1 or shape[0] == 0:
        msg = f"{name} must have one dimension and not be empty, got shape {shape}"
        raise ValueError(msg)
    return _arrays.listed(numbers)
