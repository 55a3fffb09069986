"""Curves: encodings over the positions, a sine, the exponential function."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import Formatter, FuncFormatter, MaxNLocator, MultipleLocator
from numpy.typing import ArrayLike

from ropewalk import _options
from ropewalk._options import Lang
from ropewalk.plot import _canvas
from ropewalk.plot._canvas import COLOURS, FAINT


def waves(
    table: ArrayLike,
    /,
    *,
    positions: ArrayLike | range | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """Curves of an interleaved encoding: a colour a pair, sines solid and cosines dashed.

    Whole positions, the only ones that a token has, are marked with dots. Of more than twelve
    columns without labels of their own a colour bar says which is which.

    Parameters
    ----------
    table : array_like of shape (positions, dim)
        Values in between are what makes the curves smooth: encode fractions of positions too.
    positions : array_like or range, optional
        Positions of the rows, ascending; 0, 1, 2 and so on unless given.
    labels : sequence of str, optional
        A label a column; "dimension 1 (sin)", "dimension 2 (cos)" and so on unless given.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        Two lines a column: the curve and its dots.

    Raises
    ------
    ValueError
        If `table` has not two dimensions, is empty or above 1e100 in size, `positions` or `labels`
        does not fit it, or `positions` are not ascending.
    TypeError
        If `table` holds no real numbers, `labels` are no strings, or `ax` is no Axes.

    See Also
    --------
    heatmap : For more than a few columns.
    sine : A single curve and its period.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> positions = np.arange(301) / 10
    >>> table = rw.sinusoidal_encoding(positions, 4)
    >>> ax = rw.plot.waves(table, positions=positions, ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.get_legend().get_texts()][:2]
    ['dimension 1 (sin)', 'dimension 2 (cos)']
    """
    values, at = _canvas.rows(table, positions)
    _canvas.check_drawable("table", values)
    _canvas.check_ascending("positions", at)
    names = _canvas.own_words(labels, _canvas.dimensions(values.shape[1], lang), lang)
    whole = at == np.round(at)
    alone = ax is None
    ax = _canvas.axes(ax, 3.6, lang)
    many = labels is None and len(names) > 2 * len(COLOURS)
    shades = _canvas.dark_to_light(ax, "viridis", (len(names) + 1) // 2) if many else None
    colours = COLOURS if shades is None else shades(np.arange(shades.N))
    curves = []
    for i, column in enumerate(values.T):
        colour = colours[i // 2 % len(colours)]
        curves += ax.plot(at, column, color=colour, linestyle=("-", "--")[i % 2])
        ax.plot(at[whole], column[whole], "o", color=colour, markersize=3)
    if shades is not None:
        dimensions = ScalarMappable(Normalize(0.5, 2 * len(colours) + 0.5), shades)
        bar = ax.figure.colorbar(dimensions, ax=ax, ticks=_canvas.whole_numbers(5))
        bar.ax.yaxis.label.set(**_canvas.words("dimension", lang))
    else:
        _canvas.legend(ax, curves, names, alone=alone)
    _canvas.count_positions(ax, at)
    ax.xaxis.label.set(**_canvas.words("t (position)", lang))
    ax.yaxis.label.set(**_canvas.words("value", lang))
    if 0.5 < np.abs(values).max() < 1.05:
        ax.set_yticks([-1.0, -0.5, 0.0, 0.5, 1.0])
    _canvas.open_frame(ax)
    return ax


def sine(
    x: ArrayLike,
    y: ArrayLike,
    /,
    *,
    period: float,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """Sine curve over an axis in multiples of pi, with one period marked.

    Parameters
    ----------
    x : array_like of shape (points,)
        Where the curve is known (radians).
    y : array_like of shape (points,)
        Its values.
    period : float
        Length of one wave (radians), marked from 0 on.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If `x` and `y` have not one and the same length, are not finite or above 1e100 in size, or
        `period` is not positive and finite.
    TypeError
        If `x`, `y` or `period` are no real numbers, or `ax` is no Axes.

    See Also
    --------
    waves : Several curves over positions.

    References
    ----------
    The wavelengths of an encoding are such periods: Vaswani et al., Attention Is All You Need,
    2017, arXiv:1706.03762, section 3.5.

    Examples
    --------
    >>> import numpy as np
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> half = rw.frequencies.from_radians([0.5])
    >>> x = np.linspace(0, 4 * np.pi, 201)
    >>> y = rw.sinusoidal_encoding(x, frequencies=half)[:, 0]
    >>> ax = rw.plot.sine(x, y, period=half.wavelengths[0], ax=Figure().add_subplot())
    >>> ax.texts[0].get_text()
    'period 4π'
    """
    along, values = _canvas.drawable("x", x), _canvas.drawable("y", y)
    period = _options.positive_number("period", period)
    if along.ndim != 1 or along.shape != values.shape:
        msg = f"x and y must have one shape (points,), got {along.shape} and {values.shape}"
        raise ValueError(msg)
    crest = max(1.0, float(np.abs(values).max(initial=0)))
    ends = np.array([[min(0, along.min(initial=0)), 0], [max(period, along.max(initial=0)), 0]])
    ticks = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(*ends[:, 0] / np.pi)
    ax = _canvas.axes(ax, 2.6, lang)
    ax.axhline(0, color="0.8", linewidth=1)
    ax.plot(along, values, color=COLOURS[0])
    ax.update_datalim(ends)
    label = ax.text(period / 2, -1.45 * crest, "", color=COLOURS[1], ha="center", va="top")
    label.set(**_canvas.words("period {}", lang, _multiple_of_pi(period)))
    below = -1.35 * crest
    ax.annotate(
        "", (0, below), (period, below), arrowprops={"arrowstyle": "<->", "color": COLOURS[1]}
    )
    ax.set(xlabel="x", ylabel="y", ylim=(-1.9 * crest, 1.2 * crest))
    if crest == 1:
        ax.set_yticks((-1, 0, 1))
    ax.xaxis.set_major_locator(MultipleLocator(np.pi * (ticks[1] - ticks[0])))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _multiple_of_pi(value)))
    _canvas.open_frame(ax)
    return ax


def _multiple_of_pi(value: float) -> str:
    factor = f"{value / np.pi:.4g}"
    return Formatter.fix_minus({"0": "0", "1": "π", "-1": "-π"}.get(factor, f"{factor}π"))


def exponential(*, ax: Axes | None = None, lang: Lang = "en") -> Axes:
    """Graph of the exponential function, which is positive and grows e-fold with every step.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        The curve from -3 to 3, the line at 0 that it never meets, and dots at whole numbers.

    Raises
    ------
    ValueError
        If `lang` is neither of the two.

    See Also
    --------
    ropewalk.softmax : What the function is needed for.

    References
    ----------
    Bridle, Probabilistic Interpretation of Feedforward Classification Network Outputs, 1990.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> ax = rw.plot.exponential(ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.texts][:7]
    ['0.050', '0.135', '0.368', '1.000', '2.718', '7.389', '20.086']
    """
    ax = _canvas.axes(ax, 3.2, lang)
    x, whole = np.linspace(-3, 3, 301), np.arange(-3, 4)
    ax.axhline(0, color=FAINT, linestyle="--")
    ax.plot(x, np.exp(x), color=COLOURS[0], linewidth=2)
    ax.plot(whole, np.exp(whole), color=COLOURS[1], marker="o", linestyle="none")
    for at in whole:
        ax.annotate(
            f"{np.exp(at):.3f}",
            (at, np.exp(at)),
            (-4, 5),
            textcoords="offset points",
            ha="right" if at > 0 else "center",
        )
    for place, english in enumerate(
        (
            "above 0 for every x",
            "the larger x, the larger",
            "a step of 1: e = 2.718... times as large",
        )
    ):
        said = _canvas.words(english, lang)
        ax.text(0.03, 0.94 - 0.1 * place, "", va="top", transform=ax.transAxes).set(**said)
    ax.set(xlabel="$x$", ylabel="$e^x$", xlim=(-3.4, 3.4), ylim=(-1, 23))
    return ax
