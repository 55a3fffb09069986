"""Measured properties: the scorecard, long-term decay, temperature and the scale law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from ropewalk import _arrays
from ropewalk._options import Lang
from ropewalk.plot import _canvas
from ropewalk.plot._canvas import COLOURS, LINES, Words
from ropewalk.properties import ScaleLaw, Scorecard, Temperature

FILLS = {True: to_rgba(COLOURS[0], 0.35), False: to_rgba(COLOURS[1], 0.35)}
ERRORS = 5  # standard errors that a bar is long, to either side


def scorecard(card: Scorecard, /, *, ax: Axes | None = None, lang: Lang | None = None) -> Axes:
    """Scorecard of positional encodings: signs and numbers, properties down, encodings across.

    A blue cell with a check mark is a property that holds, an orange one with a cross one that does
    not; the empty cell is where the property is not defined.

    Parameters
    ----------
    card : Scorecard
        What `ropewalk.properties.scorecard` returns.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, optional
        Language of the names; that of the card unless given.

    Returns
    -------
    Axes
        A rectangle and a text a cell, row by row.

    Raises
    ------
    TypeError
        If `card` is no scorecard.
    ValueError
        If `lang` is neither of the two.

    See Also
    --------
    ropewalk.properties.scorecard : The measurements.

    References
    ----------
    Fleetwood, You could have designed state of the art positional encoding, 2024, section
    "Desirable Properties".

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> card = rw.properties.scorecard(32, length=128)
    >>> ax = rw.plot.scorecard(card, ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.texts[6:12]]  # bounded
    ['✗ 127', '✓ 0.992', '✓ 1', '✓ 1', '✓ 1', '✗ 63.5']
    """
    _check("card", card, Scorecard)
    lang = card.lang if lang is None else lang
    across = [_canvas.words(name, lang) for name in card.encodings]
    down = [_canvas.words(name, lang) for name in card.properties]
    ax = _canvas.axes(ax, 4.4, lang)
    ink = ax.xaxis.label.get_color()
    fonts = [*rcParams["font.family"], "DejaVu Sans"]  # Matplotlib's own, which has the signs
    for y, column in enumerate(zip(*card.cells, strict=True)):
        for x, cell in enumerate(column):
            fill = "none" if cell.holds is None else FILLS[cell.holds]
            place = (x - 0.5, y - 0.5)
            ax.add_patch(Rectangle(place, 1, 1, facecolor=fill, edgecolor=ink, linewidth=0.4))
            text = ax.text(x, y, str(cell), **_canvas.CENTRED, fontsize=8, color=ink, family=fonts)
            if cell.value is None:
                text.set(**_canvas.words("not defined", lang))
    ax.set(xlim=(-0.5, len(across) - 0.5), ylim=(len(down) - 0.5, -0.5))
    for axis, names in ((ax.xaxis, across), (ax.yaxis, down)):
        font = {key: value for key, value in names[0].items() if key != "text"}
        axis.set_ticks(range(len(names)), [name["text"] for name in names], fontsize=8, **font)
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    ax.spines[:].set_visible(False)
    return ax


def long_term_decay(
    distances: ArrayLike | range,
    bound: ArrayLike,
    mean_cosine: ArrayLike,
    /,
    *,
    ax: Sequence[Axes] | None = None,
    lang: Lang = "en",
) -> list[Axes]:
    """Long-term decay of RoPE: a bound that falls, and a score that wanders around 0.

    The bound as a curve with its mean in every octave of distances, and the mean cosine, which is
    the score where query and key are all ones, with the first distance at which it is negative.

    Parameters
    ----------
    distances : array_like or range of shape (distances,)
        Distances (tokens), above 0 and rising.
    bound : array_like of shape (distances,)
        What `ropewalk.properties.abel_bound` returns for them.
    mean_cosine : array_like of shape (distances,)
        `ropewalk.position_kernel` of them over the number of pairs.
    ax : sequence of two Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    list of Axes
        The bound and the mean cosine, over distances on a logarithmic scale.

    Raises
    ------
    ValueError
        If the arguments have not one shape of one dimension, are empty, not finite or above 1e100
        in size, `distances` are not above 0 and rising, a `bound` is negative, or `ax` is not two
        Axes.
    TypeError
        If an argument holds no real numbers.

    See Also
    --------
    ropewalk.properties.abel_bound : The bound.
    score_by_distance : Scores of any query and key.

    References
    ----------
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864, section 3.4.3 and figure 2.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> at = range(1, 4096)
    >>> panels = rw.plot.long_term_decay(
    ...     at,
    ...     rw.properties.abel_bound(at, 128),
    ...     rw.position_kernel(at, 128) / 64,
    ...     ax=Figure().subplots(2),
    ... )
    >>> panels[1].texts[0].get_text()
    'first below 0 at 1707'
    """
    numbers, shape = _arrays.positions("distances", distances)
    bounds = _canvas.drawable("bound", bound)
    cosines = _canvas.drawable("mean_cosine", mean_cosine)
    if len(shape) != 1 or not shape == bounds.shape == cosines.shape or not shape[0]:
        msg = (
            "distances, bound and mean_cosine must have one shape (distances,) and not be empty, "
            f"got {shape}, {bounds.shape} and {cosines.shape}"
        )
        raise ValueError(msg)
    at = _arrays.listed(numbers)
    falls = np.flatnonzero(np.diff(at, prepend=0) <= 0)
    if falls.size:
        place = int(falls[0])
        after = f" after {at[place - 1]:.15g}" if place else ""
        msg = f"distances must be above 0 and rising, got {at[place]:.15g}{after}"
        raise ValueError(msg)
    if (bounds < 0).any():
        msg = f"bound must not be negative, got {bounds[bounds < 0][0]:g}"
        raise ValueError(msg)
    above, below = _canvas.panels(ax, 2, lang, lambda: _two(4.6))
    dot = "." if at.size == 1 else None
    curves = above.plot(at, bounds, color=COLOURS[0], linewidth=0.7, marker=dot)
    octaves = np.floor(np.log2(at))
    starts = np.unique(octaves)
    means = [bounds[octaves == octave].mean() for octave in starts]
    middles = [np.exp(np.log(at[octaves == octave]).mean()) for octave in starts]
    curves += above.plot(middles, means, "D", color=COLOURS[1], markersize=5)
    names = ("bound, mean of |S_j|", "mean of an octave")
    _canvas.legend(above, curves, [_canvas.words(name, lang) for name in names])
    above.set_ylim(bottom=0)
    below.axhline(0, color="0.5", linewidth=0.8)
    below.plot(at, cosines, color=COLOURS[0], linewidth=0.7, marker=dot)
    negative = np.flatnonzero(cosines < 0)
    if negative.size:
        first = float(at[negative[0]])
        below.plot(first, 0, "v", color=COLOURS[1], markersize=7)
        left = first < np.sqrt(at[0]) * np.sqrt(at[-1])  # of the middle
        side, away = ("left", 8) if left else ("right", -8)
        label = below.annotate(
            "", (first, 0), (away, -12), textcoords="offset points", ha=side, fontsize=9
        )
        label.set(**_canvas.words("first below 0 at {}", lang, _canvas.number(first)))
    above.yaxis.label.set(**_canvas.words("bound", lang))
    below.yaxis.label.set(**_canvas.words("mean cosine", lang))
    _name_across([above, below], _canvas.words("distance (tokens)", lang))
    for panel in (above, below):
        panel.set_xscale("log")
        if at.size == 1:  # Matplotlib leaves no room around one
            panel.set_xlim(at[0] / 10, at[0] * 10)
        _canvas.open_frame(panel)
    return [above, below]


def temperature(
    measured: Temperature,
    /,
    *,
    labels: Sequence[str] | None = None,
    ax: Sequence[Axes] | None = None,
    lang: Lang = "en",
) -> list[Axes]:
    """Temperature of softmax: flat at a small scale, sharp at a large one.

    How many keys a row attends to, ``exp`` of its entropy, and its largest weight, over the scale.

    Parameters
    ----------
    measured : Temperature
        What `ropewalk.properties.temperature` returns; every row of logits is a curve.
    labels : sequence of str, optional
        A label a row; no legend unless given.
    ax : sequence of two Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    list of Axes
        The number of keys, and the largest weight.

    Raises
    ------
    TypeError
        If `measured` is no such result, or `labels` are no strings.
    ValueError
        If a scale is above 1e100 in size, `labels` are not as many as rows, `ax` is not two Axes,
        or `lang` is neither of the two.

    See Also
    --------
    ropewalk.properties.temperature : The measurement.

    References
    ----------
    Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015, arXiv:1503.02531,
    equation 1.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> measured = rw.properties.temperature([0.1, 0.2, 0.3, 0.4], scales=[0, 1, 10, 100])
    >>> panels = rw.plot.temperature(measured, ax=Figure().subplots(2))
    >>> panels[1].lines[0].get_ydata().round(4)
    array([0.25  , 0.2887, 0.6439, 1.    ])
    """
    _check("measured", measured, Temperature)
    scales = _canvas.drawable("scales", measured.scales)
    order = np.argsort(scales)  # else curves would run back and forth
    keys, weights = (
        values[order].reshape(len(scales), -1).T
        for values in (np.exp(measured.entropy), measured.largest)
    )
    names = None if labels is None else _canvas.own_words(labels, [{}] * len(keys), lang)
    alone = ax is None
    panels = _canvas.panels(ax, 2, lang, lambda: _two(4.4))
    for panel, rows, name in zip(
        panels, (keys, weights), ("keys attended to", "largest weight"), strict=True
    ):
        curves: list[Line2D] = []
        for i, row in enumerate(rows):
            colour, line = COLOURS[i % len(COLOURS)], LINES[i % len(LINES)]
            curves += panel.plot(
                scales[order], row, marker="o", markersize=4, color=colour, linestyle=line
            )
        if names is not None and panel is panels[0]:
            _canvas.legend(panel, curves, names, alone=alone)
        panel.set_xscale("symlog", linthresh=float(np.abs(scales[scales != 0]).min(initial=1.0)))
        panel.set_ylim(bottom=0)
        panel.yaxis.label.set(**_canvas.words(name, lang))
        _canvas.open_frame(panel)
    _name_across(panels, _canvas.words("scale of the scores", lang))
    return panels


def scale_law(law: ScaleLaw, /, *, ax: Axes | None = None, lang: Lang = "en") -> Axes:
    """Scale law of attention: the variance of scores is the width, or 1 where it is divided out.

    Parameters
    ----------
    law : ScaleLaw
        What `ropewalk.properties.scale_law` returns.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        Variances of ``q . k`` and of ``q . k / sqrt(D)`` as points, with bars of five standard
        errors to either side, and the lines ``D`` and 1 on logarithmic scales.

    Raises
    ------
    TypeError
        If `law` is no such result.
    ValueError
        If `lang` is neither of the two.

    See Also
    --------
    ropewalk.properties.scale_law : The measurement.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.2.1, footnote 4.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> law = rw.properties.scale_law([16, 64], seed=1)
    >>> ax = rw.plot.scale_law(law, ax=Figure().add_subplot())
    >>> ax.lines[0].get_ydata()
    array([16, 64])
    """
    _check("law", law, ScaleLaw)
    ax = _canvas.axes(ax, 3.4, lang)
    dims = law.dims
    ax.plot(dims, dims, color="0.5", linewidth=0.9)
    ax.axhline(1, color="0.5", linewidth=0.9)
    curves, names = [], []
    for divisor, marker, colour, name in (
        (np.ones_like(dims), "o", COLOURS[1], "variance of q · k"),
        (dims, "s", COLOURS[0], "variance of q · k / √D"),
    ):
        bars = ax.errorbar(
            dims,
            law.variance / divisor,
            yerr=ERRORS * law.standard_error / divisor,
            fmt=marker,
            color=colour,
            markersize=6,
            capsize=3,
        )
        curves.append(bars.lines[0])
        names.append(_canvas.words(name, lang))
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set_xticks(dims, [str(dim) for dim in dims])
    _canvas.legend(ax, curves, names)
    ax.xaxis.label.set(**_canvas.words("D (width of queries and keys)", lang))
    ax.yaxis.label.set(**_canvas.words("variance", lang))
    _canvas.open_frame(ax)
    return ax


def _name_across(panels: Sequence[Axes], name: Words) -> None:
    """Name the axis across of two panels, only below where one stands above the other's."""
    for panel in panels:
        panel.xaxis.label.set(**name)
    above, below = (panel.get_subplotspec() for panel in panels)
    stands_above = above and below and above.colspan == below.colspan and above.is_first_row()
    if stands_above and panels[0].get_shared_x_axes().joined(*panels):
        panels[0].xaxis.label.set_text("")
        panels[0].tick_params(labelbottom=False)


def _two(height: float) -> list[Axes]:
    """Return two new Axes, one above the other."""
    size = (_canvas.WIDTH, height)
    return list(plt.subplots(2, sharex=True, figsize=size, layout="constrained")[1])


def _check(name: str, value: object, wanted: type) -> None:
    if not isinstance(value, wanted):
        msg = f"{name} must be a {wanted.__name__}, got {type(value).__name__}"
        raise TypeError(msg)
