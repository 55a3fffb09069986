"""Pairs that turn with the position, as an animation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.animation import FuncAnimation
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from numpy.typing import ArrayLike

from ropewalk import _options
from ropewalk._options import Lang, Pairing
from ropewalk._pairing import pair_slices
from ropewalk.plot import _canvas
from ropewalk.plot._canvas import COLOURS

MOST_PAIRS = 8
IN_A_ROW = 4
BETWEEN_CENTRES = 2.6  # in radii
BETWEEN_ROWS = 3.2
A_FRAME = 120  # milliseconds


def rotating_pairs(
    table: ArrayLike,
    /,
    *,
    positions: ArrayLike | range | None = None,
    pairing: Pairing = "interleaved",
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> FuncAnimation:
    """Animation of the pairs of a vector, or of an encoding, as they turn with the position.

    A circle a pair, with a hand that points at the first and the second feature and leaves its
    tips behind. Every pair is drawn as large as the circle.

    Parameters
    ----------
    table : array_like of shape (positions, dim)
        A row a frame: an encoding, or one vector turned to some positions; `dim` even, at most 16.
    positions : array_like or range, optional
        Positions of the rows; 0, 1, 2 and so on unless given.
    pairing : {"interleaved", "half"}, default "interleaved"
        Which features form a pair, as in `rotate`.
    labels : sequence of str, optional
        A label a circle; "pair 0", "pair 1" and so on unless given.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    FuncAnimation
        To be kept as long as it plays. ``animation.save("pairs.gif", writer="pillow")`` writes a
        file, ``animation.to_jshtml()`` a player for a notebook.

    Raises
    ------
    ValueError
        If `table` has not two dimensions, is empty, has not 2, 4 or up to 16 columns or has numbers
        above 1e100 in size, `pairing` is neither of the two, or `positions` or `labels` does not
        fit.
    TypeError
        If `table` holds no real numbers, `labels` are no strings, or `ax` is no Axes.

    See Also
    --------
    rotation : The same pairs in one picture.

    Notes
    -----
    An encoding in the order sin-cos turns clockwise from the top, one in the order cos-sin
    counterclockwise from the right.

    References
    ----------
    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864, figure 1.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> table = rw.sinusoidal_encoding(range(3), 4, order="cos-sin")
    >>> animation = rw.plot.rotating_pairs(table, ax=Figure().add_subplot())
    >>> animation.to_jshtml().count("data:image/png")
    3
    """
    values, at = _canvas.rows(table, positions)
    _canvas.check_drawable("table", values)
    if values.shape[1] % 2 or values.shape[1] > 2 * MOST_PAIRS:
        msg = (
            f"table must have an even number of columns, at most {2 * MOST_PAIRS}, "
            f"got {values.shape[1]}"
        )
        raise ValueError(msg)
    count = values.shape[1] // 2
    default = [_canvas.words("pair {}", lang, pair) for pair in range(count)]
    titles = _canvas.own_words(labels, default, lang)
    of_pairs = pair_slices(2 * count, interleaved=_options.is_interleaved(pairing))
    pairs = np.stack([values[:, features] for features in of_pairs], axis=-1)
    lengths = np.hypot(pairs[..., 0], pairs[..., 1])
    longest = lengths.max(axis=0, where=np.isfinite(lengths), initial=0)
    pairs = pairs / np.where(longest > 0, longest, 1)[:, np.newaxis]
    places = np.arange(count)
    columns = min(count, IN_A_ROW)
    rows = -(-count // IN_A_ROW)
    centres = np.stack(
        [BETWEEN_CENTRES * (places % IN_A_ROW), -BETWEEN_ROWS * (places // IN_A_ROW)], axis=1
    )
    alone = ax is None
    ax = _canvas.axes(ax, 0.6 + 1.8 * rows, lang)
    hands, trails = [], []
    for place, (centre, title) in enumerate(zip(centres, titles, strict=True)):
        colour = COLOURS[place % len(COLOURS)]
        ax.add_patch(Circle((centre[0], centre[1]), 1, fill=False, color="0.55"))
        trails += ax.plot([], [], ".", color=colour, alpha=0.4, markersize=4)
        hands += ax.plot([], [], color=colour, linewidth=2, marker="o", markevery=[1])
        ax.text(centre[0], centre[1] - 1.2, "", ha="center", va="top").set(
            **_canvas.broken(title, columns)
        )
    said = ax.text(BETWEEN_CENTRES * (columns - 1) / 2, 1.4, "", **_canvas.CENTRED)
    ax.set(
        aspect="equal",
        xlim=(-1.2, BETWEEN_CENTRES * (columns - 1) + 1.2),
        ylim=(-BETWEEN_ROWS * (rows - 1) - 1.7, 1.7),
    )
    ax.set_axis_off()

    def show(frame: int) -> list[Artist]:
        for place, (hand, trail) in enumerate(zip(hands, trails, strict=True)):
            tips = centres[place] + pairs[: frame + 1, place]
            hand.set_data(*np.transpose([centres[place], tips[-1]]))
            trail.set_data(*tips.T)
        said.set(**_canvas.words("position {}", lang, _canvas.number(at[frame])))
        return [*trails, *hands, said]

    return _canvas.animation(ax, show, len(at), A_FRAME, alone=alone)
