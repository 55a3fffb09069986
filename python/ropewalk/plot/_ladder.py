"""The ladder of encodings: what adding one does to an embedding, and how it moves along."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib import patheffects, rcParams
from matplotlib.animation import FuncAnimation
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.ticker import Formatter
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays
from ropewalk._options import Lang
from ropewalk.plot import _canvas
from ropewalk.plot._canvas import CENTRED, COLOURS

Reals = NDArray[np.float64]

BETWEEN_ROWS = 1.7  # in heights of a row
OUTLINED = 100  # dots of a path at most, for outlines would be all that is seen of more
MARKS = 8  # positions that a path names, about
MILLISECONDS = 150  # between two frames


def addition(
    embedding: ArrayLike,
    encoding: ArrayLike,
    /,
    *,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """Token embedding, its positional encoding and their sum, in bars on one scale.

    Where the encoding drowns the token, the bars of the token do not rise above their line.

    Parameters
    ----------
    embedding : array_like of shape (dim,)
        A token.
    encoding : array_like of shape (dim,)
        Its position.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        Three rows of bars, each named with its smallest and its largest value.

    Raises
    ------
    ValueError
        If `embedding` or `encoding` is not finite, above 1e100 in size, has not one dimension or is
        empty, or the two have not one length.
    TypeError
        If `embedding` or `encoding` are complex or no numbers.

    See Also
    --------
    path : The sum at many positions, in the plane.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5, for the sum.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> position = rw.integer_encoding(252, 2)
    >>> ax = rw.plot.addition([0.02, -0.01], position, ax=Figure().add_subplot())
    >>> ax.texts[2].get_text()
    'sum: 251.99 to 252.02'
    """
    token, position = (
        _canvas.drawable("embedding", embedding),
        _canvas.drawable("encoding", encoding),
    )
    if token.ndim != 1 or token.shape != position.shape or not token.size:
        msg = (
            "embedding and encoding must have one shape, (dim,), and not be empty, "
            f"got {token.shape} and {position.shape}"
        )
        raise ValueError(msg)
    rows = np.array([token, position, token + position])
    low, high = _limits(rows)
    height = high - low
    ticks = [tick for tick in sorted({low, 0.0, high}) if not 0 < abs(tick) < height / 10]
    floors = -BETWEEN_ROWS * height * np.arange(3)
    names = (
        "token embedding: {:.5g} to {:.5g}",
        "encoding: {:.5g} to {:.5g}",
        "sum: {:.5g} to {:.5g}",
    )
    ax = _canvas.axes(ax, 3.6, lang)
    for row, floor, colour, name in zip(rows, floors, COLOURS, names, strict=False):
        ax.axhline(floor, color="0.6", linewidth=0.8)
        _add_bars(ax, row, floor, colour)
        title = ax.text(0, floor + high + height / 8, "", transform=ax.get_yaxis_transform())
        title.set(**_canvas.words(name, lang, row.min(), row.max()))
    said = [Formatter.fix_minus(f"{tick:.3g}") for tick in ticks]
    ax.set_yticks(np.add.outer(floors, ticks).ravel(), said * 3)
    ax.set_ylim(floors[-1] + low - height / 20, high + height / 2)
    _count_dimensions(ax, token.size, lang)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def path(
    points: ArrayLike,
    /,
    *,
    positions: ArrayLike | range | None = None,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """Path of running positions through the plane, where jumps are seen as long lines.

    A dot a position, the lighter the later, each joined to the next; some are named.

    Parameters
    ----------
    points : array_like of shape (positions, 2)
        A point a position: encodings, alone or added to an embedding, projected to a plane.
    positions : array_like or range, optional
        Positions of the points (tokens); 0, 1, 2 and so on unless given.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        A line through all points in order, and the points; both axes have one scale.

    Raises
    ------
    ValueError
        If `points` have another shape, are empty, not finite or above 1e100 in size, or `positions`
        does not fit them.
    TypeError
        If `points` are complex or no numbers.

    See Also
    --------
    addition : One of the sums.
    moving_vector : All columns of the encodings, in time.

    References
    ----------
    Fleetwood, You could have designed state of the art positional encoding, 2024, section "Binary
    Position Encoding", for the picture.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> corners = rw.binary_encoding(range(4), 2)
    >>> ax = rw.plot.path(corners, ax=Figure().add_subplot())
    >>> ax.lines[0].get_xydata().tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """
    places, at = _canvas.rows(_canvas.drawable("points", points), positions, "points")
    if places.shape[1] != 2:
        msg = f"points must have shape (positions, 2), got {places.shape}"
        raise ValueError(msg)
    ax = _canvas.axes(ax, 4.2, lang)
    ax.plot(*places.T, color="0.6", linewidth=0.7)
    drawn = ax.scatter(
        places[:, 0],
        places[:, 1],
        c=at,
        cmap=_canvas.dark_to_light(ax),
        s=16,
        edgecolors="face" if len(at) > OUTLINED else rcParams["text.color"],
        linewidths=0.4,
        zorder=2,
    )
    ring: list[patheffects.AbstractPathEffect] = [
        patheffects.withStroke(linewidth=2.5, foreground=ax.get_facecolor())
    ]
    named: list[int] = []
    centre = places.mean(axis=0)
    apart = 0.07 * np.ptp(places, axis=0).max()  # so that no name lies on another
    for i in range(0, len(at), max(1, len(at) // MARKS)):
        if any(math.dist(places[i], places[other]) <= apart for other in named):
            continue
        named.append(i)
        outwards = places[i] - centre
        if not outwards.any():
            outwards[1] = 1
        outwards *= 11 / math.hypot(*outwards)
        name = ax.annotate(
            _canvas.number(at[i]),
            places[i],
            outwards,
            textcoords="offset points",
            size=9,
            **CENTRED,
        )
        name.set_path_effects(ring)  # legible on the lines
    ax.update_datalim(centre + 1.25 * (places - centre))  # room for the names
    ax.set_aspect("equal", adjustable="datalim")
    ax.xaxis.label.set(**_canvas.words("component {}", lang, 1))
    ax.yaxis.label.set(**_canvas.words("component {}", lang, 2))
    _canvas.open_frame(ax)
    bar = ax.figure.colorbar(drawn, ax=ax, ticks=_canvas.whole_numbers(5), format=_canvas.in_full())
    bar.ax.yaxis.label.set(**_canvas.words("position (tokens)", lang))
    return ax


def moving_vector(
    table: ArrayLike,
    /,
    *,
    positions: ArrayLike | range | None = None,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> FuncAnimation:
    """Animation of an encoding: its vector in bars, position after position.

    Parameters
    ----------
    table : array_like of shape (positions, dim)
        An encoding, one row a position; every row is a frame.
    positions : array_like or range, optional
        Positions of the rows (tokens); 0, 1, 2 and so on unless given.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    FuncAnimation
        Keep it while it plays. ``save("vector.gif", writer="pillow")`` writes a file, and a
        notebook shows ``HTML(animation.to_jshtml())``.

    Raises
    ------
    ValueError
        If `table` has not two dimensions, is empty, not finite or above 1e100 in size, or
        `positions` does not fit it.
    TypeError
        If `table` is complex or holds no numbers.

    See Also
    --------
    heatmap : All positions at once.
    path : All positions in the plane.

    References
    ----------
    Fleetwood, You could have designed state of the art positional encoding, 2024, sections "Binary
    Position Encoding" and "Sinusoidal positional encoding", for the two animations.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> digits = rw.binary_encoding(range(2), 3)
    >>> animation = rw.plot.moving_vector(digits, ax=Figure().add_subplot())
    >>> animation.to_jshtml().count("data:image/png;base64")
    2
    """
    values, at = _canvas.rows(_canvas.drawable("table", table), positions)
    low, high = _limits(values)
    alone = ax is None
    ax = _canvas.axes(ax, 2.4, lang)
    ax.axhline(0, color="0.6", linewidth=0.8)
    bars = _add_bars(ax, values[0], 0, COLOURS[0])
    ax.set_ylim(low - (high - low) / 20, high + (high - low) / 20)
    _count_dimensions(ax, values.shape[1], lang)
    ax.yaxis.label.set(**_canvas.words("value", lang))
    _canvas.open_frame(ax)

    def show(frame: int) -> list[Artist]:
        bars.set_verts(_corners(values[frame], 0))
        ax.title.set(**_canvas.words("position {}", lang, _canvas.number(at[frame])))
        return [bars, ax.title]

    return _canvas.animation(ax, show, len(values), MILLISECONDS, alone=alone)


def position_kernel(
    offsets: ArrayLike | range,
    kernel: ArrayLike,
    /,
    *,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """Position kernel as a curve over the offset, or several of them.

    Parameters
    ----------
    offsets : array_like or range of shape (offsets,)
        One position minus the other (tokens), ascending.
    kernel : array_like of shape (offsets,) or (curves, offsets)
        What `ropewalk.position_kernel` gives for them.
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
        If `offsets` has not one dimension, is empty or not ascending, `kernel` has another length,
        is not finite or above 1e100 in size, or `labels` are not as many as curves.
    TypeError
        If `offsets` or `kernel` are complex or no numbers, or `labels` no strings.

    See Also
    --------
    ropewalk.position_kernel : The numbers.
    score_by_distance : The same for rotated queries and keys.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5, for the
    encoding.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> offsets = range(-50, 51)
    >>> kernel = rw.position_kernel(offsets, 128)
    >>> ax = rw.plot.position_kernel(offsets, kernel, ax=Figure().add_subplot())
    >>> float(ax.lines[1].get_ydata().max())
    64.0
    """
    numbers, shape = _arrays.positions("offsets", offsets)
    curves = np.atleast_2d(_canvas.drawable("kernel", kernel))
    if len(shape) != 1 or not shape[0]:
        msg = f"offsets must have one dimension and not be empty, got shape {shape}"
        raise ValueError(msg)
    if curves.ndim != 2 or curves.shape[1:] != shape or not curves.size:
        msg = (
            f"kernel must have shape ({shape[0]},), one value an offset, or (curves, {shape[0]}), "
            f"got {np.shape(kernel)}"
        )
        raise ValueError(msg)
    at = _arrays.listed(numbers)
    _canvas.check_ascending("offsets", at)
    names = None if labels is None else _canvas.own_words(labels, [{}] * len(curves), lang)
    alone = ax is None
    ax = _canvas.axes(ax, 3.2, lang)
    _canvas.curves(ax, at, curves, names, alone=alone)
    ax.xaxis.label.set(**_canvas.words("offset (tokens)", lang))
    ax.yaxis.label.set(**_canvas.words("inner product", lang))
    return ax


def _add_bars(ax: Axes, heights: Reals, floor: float, colour: str) -> PolyCollection:
    """Draw bars at 1, 2, 3 and so on: many patches would take seconds.

    Snapped to pixels, bars narrower than one would vanish by turns, and show waves that are none.
    """
    bars = PolyCollection(_corners(heights, floor), facecolor=colour, linewidth=0, snap=False)
    ax.add_collection(bars)
    return bars


def _corners(heights: Reals, floor: float) -> list[Reals]:
    x, bottom = np.arange(1, heights.size + 1), np.full(heights.size, floor)
    left, right, top = x - 0.4, x + 0.4, floor + heights
    around = [(left, bottom), (right, bottom), (right, top), (left, top)]
    return list(np.moveaxis(np.array(around), -1, 0))  # dim of shape (4, 2)


def _count_dimensions(ax: Axes, dim: int, lang: Lang) -> None:
    """Count the bars from 1, as a heat map counts its rows."""
    spacing = max(1, dim // 8)
    ax.set_xlim(0.25, dim + 0.75)
    ax.set_xticks(sorted({1, *range(spacing, dim + 1, spacing)}))
    ax.xaxis.label.set(**_canvas.words("dimension", lang))


def _limits(values: Reals) -> tuple[float, float]:
    """Return the smallest and the largest value of bars, which stand on 0."""
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    return (low, high) if low < high else (0.0, 1.0)
