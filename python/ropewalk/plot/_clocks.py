"""Pairs of an encoding as hands of clocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from matplotlib.text import Text
from numpy.typing import ArrayLike, NDArray

from ropewalk import _options
from ropewalk._encodings import Order
from ropewalk._options import Lang
from ropewalk.plot import _canvas
from ropewalk.plot._canvas import COLOURS

IN_A_ROW = 4
BETWEEN_CENTRES = 3.2  # in radii
BETWEEN_ROWS = 3.6
SAME_LABEL = 0.25  # tips nearer than this share a label

_Label = tuple[range, Text]  # of which hands


def clock_hands(
    table: ArrayLike,
    /,
    *,
    positions: ArrayLike | range | None = None,
    labels: Sequence[str] | None = None,
    order: Order = "cos-sin",
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """Clocks of an interleaved encoding: one a pair, with a hand a position.

    Hands point at (cos, sin), although the sine is stored first: they start at the right and turn
    counterclockwise, as angles do. In the order sin-cos they point at what is stored: they start at
    the top and turn clockwise, the mirror image. Positions whose hands lie together share a label,
    and where a label has no room it is left out. What is not finite has neither a hand nor a
    label of its own.

    Parameters
    ----------
    table : array_like of shape (positions, dim)
        Sines in even columns, cosines in odd ones; a few positions and a few pairs.
    positions : array_like or range, optional
        Positions of the rows; 0, 1, 2 and so on unless given.
    labels : sequence of str, optional
        A label a clock; "pair 0", "pair 1" and so on unless given.
    order : {"cos-sin", "sin-cos"}, default "cos-sin"
        What is drawn across, and what upwards.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        A line a hand, clock after clock.

    Raises
    ------
    ValueError
        If `table` has not two dimensions, is empty, has an odd number of columns or numbers above
        1e100 in size, `positions` or `labels` does not fit it, or `order` is neither of the two.
    TypeError
        If `table` holds no real numbers, `labels` are no strings, or `ax` is no Axes.

    See Also
    --------
    waves : The same values over the positions.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> table = rw.sinusoidal_encoding(range(7), 4)
    >>> ax = rw.plot.clock_hands(table, ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.texts][-2:]
    ['0 … 6', 'pair 1']
    """
    values, at = _canvas.rows(table, positions)
    _canvas.check_drawable("table", values)
    if values.shape[1] % 2:
        msg = f"table must have an even number of columns, got {values.shape[1]}"
        raise ValueError(msg)
    _options.choice("order", order, get_args(Order))
    across_and_up = [1, 0] if order == "cos-sin" else [0, 1]
    pairs = values.shape[1] // 2
    default = [_canvas.words("pair {}", lang, pair) for pair in range(pairs)]
    titles = _canvas.own_words(labels, default, lang)
    rows = -(-pairs // IN_A_ROW)
    ax = _canvas.axes(ax, 3.4 if rows == 1 else 1.7 * rows, lang)
    clocks = []
    for pair in range(pairs):
        row, place = divmod(pair, IN_A_ROW)
        centre = np.array([BETWEEN_CENTRES * place, -BETWEEN_ROWS * row])
        tips = values[:, 2 * pair : 2 * pair + 2][:, across_and_up]
        _draw_clock(ax, centre, tips, COLOURS[pair % len(COLOURS)])
        clocks.append((centre, tips))
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.apply_aspect()  # labels can be measured from here on
    named: list[_Label] = []
    for (centre, tips), title in zip(clocks, titles, strict=True):
        seen = np.isfinite(tips).all(axis=1)
        named += _hand_labels(ax, centre, tips[seen], at[seen])
        ax.text(centre[0], centre[1] - 1.35, "", ha="center", va="top").set(
            **_canvas.broken(title, min(pairs, IN_A_ROW))
        )
    named.sort(key=lambda label: -len(label[0]))  # of most hands first
    _canvas.remove_overlapping(label for _, label in named)
    return ax


def _draw_clock(ax: Axes, centre: NDArray[Any], tips: NDArray[Any], colour: str) -> None:
    ax.add_patch(Circle(tuple(centre), 1, fill=False, color="0.75"))
    for tip in tips:
        x, y = np.transpose([centre, centre + tip])
        ax.plot(x, y, color=colour, linewidth=1.2, marker="o", markersize=3.5, markevery=[1])


def _hand_labels(
    ax: Axes, centre: NDArray[Any], tips: NDArray[Any], positions: NDArray[Any]
) -> list[_Label]:
    """Name the hands of a clock; neighbours whose names would overlap share one."""
    labels: list[_Label] = []
    for first, last in _neighbours(tips):
        hands = range(first, last + 1)
        label = _hand_label(ax, centre, tips, positions, hands)
        while labels and _canvas.room(label).overlaps(_canvas.room(labels[-1][1])):
            before, its_label = labels.pop()
            its_label.remove()
            label.remove()
            hands = range(before.start, hands.stop)
            label = _hand_label(ax, centre, tips, positions, hands)
        labels.append((hands, label))
    return labels


def _hand_label(
    ax: Axes, centre: NDArray[Any], tips: NDArray[Any], positions: NDArray[Any], hands: range
) -> Text:
    x, y = tips[hands[len(hands) // 2]]
    ends = _canvas.number(positions[hands[0]]), _canvas.number(positions[hands[-1]])
    return ax.text(
        centre[0] + 1.12 * x,
        centre[1] + 1.18 * y,
        (", " if len(hands) == 2 else " … ").join(dict.fromkeys(ends)),
        ha="left" if x > 0.4 else "right" if x < -0.4 else "center",
        va="center",
    )


def _neighbours(tips: NDArray[Any]) -> list[tuple[int, int]]:
    """First and last index of each run of tips that lie together."""
    runs = [(0, 0)] if len(tips) else []
    for i in range(1, len(tips)):
        first = runs[-1][0]
        if np.hypot(*(tips[i] - tips[first])) < SAME_LABEL:
            runs[-1] = (first, i)
        else:
            runs.append((i, i))
    return runs
