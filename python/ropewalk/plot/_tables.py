"""Tables as pictures: an encoding in colours, and in digits."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike

from ropewalk.plot import _canvas
from ropewalk.plot._canvas import Lang


def heatmap(
    table: ArrayLike,
    /,
    *,
    positions: ArrayLike | range | None = None,
    cmap: str = "magma",
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """Heat map of an encoding, positions across and dimensions down.

    Parameters
    ----------
    table : array_like of shape (positions, dim)
        Values from -1 to 1, one row a position.
    positions : array_like or range, optional
        Evenly spaced positions of the rows; 0, 1, 2 and so on unless given.
    cmap : str, default "magma"
        Name of a Matplotlib colour map.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        Cells are centred on the position and on the dimension, counted from 1.

    Raises
    ------
    ValueError
        If `table` has not two dimensions or is empty, or `positions` does not fit it or is not
        evenly spaced.

    See Also
    --------
    waves : The columns as curves.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> table = rw.sinusoidal_encoding(range(51), 128)
    >>> ax = rw.plot.heatmap(table, ax=Figure().add_subplot())
    >>> ax.images[0].get_array().shape
    (128, 51)
    """
    values, at = _canvas.rows(table, positions)
    step = at[1] - at[0] if len(at) > 1 else 1.0
    if step == 0 or not np.allclose(np.diff(at), step):
        msg = f"positions must be evenly spaced, got {positions!r}"
        raise ValueError(msg)
    dim = values.shape[1]
    ax = _canvas.axes(ax, 4.5)
    image = ax.imshow(
        values.T,
        aspect="auto",
        interpolation="nearest",
        cmap=cmap,
        vmin=-1,
        vmax=1,
        extent=(at[0] - step / 2, at[-1] + step / 2, dim + 0.5, 0.5),
    )
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    spacing = max(1, dim // 8)
    ax.set_yticks(sorted({1, *range(spacing, dim + 1, spacing)}))
    ax.xaxis.label.set(**_canvas.words("t (position)", lang))
    ax.yaxis.label.set(**_canvas.words("i (dimension)", lang))
    ax.figure.colorbar(image, ax=ax, ticks=[-1.0, -0.5, 0.0, 0.5, 1.0])
    return ax


def number_table(
    table: ArrayLike,
    /,
    *,
    positions: ArrayLike | range | None = None,
    labels: Sequence[str] | None = None,
    decimals: int = 4,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """Table of the values of an encoding, a row a position.

    Parameters
    ----------
    table : array_like of shape (positions, dim)
        A few values.
    positions : array_like or range, optional
        Positions of the rows; 0, 1, 2 and so on unless given.
    labels : sequence of str, optional
        Heads of the columns; "dimension 1 (sin)", "dimension 2 (cos)" and so on unless given.
    decimals : int, default 4
        Decimals to which values are rounded.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        Its only content is a Matplotlib table.

    Raises
    ------
    ValueError
        If `table` has not two dimensions or is empty, or `positions` or `labels` does not fit it.

    See Also
    --------
    heatmap : For more than a few values.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> table = rw.sinusoidal_encoding(range(3), 4)
    >>> ax = rw.plot.number_table(table, ax=Figure().add_subplot())
    >>> ax.tables[0][2, 1].get_text().get_text()
    '0.8415'
    """
    values, at = _canvas.rows(table, positions)
    names = _canvas.own_words(labels, _canvas.dimensions(values.shape[1], lang), lang)
    cells = [
        [f"{position:g}", *(f"{value:.{decimals}f}" for value in row)]
        for position, row in zip(at, values, strict=True)
    ]
    ax = _canvas.axes(ax, 0.35 * (len(cells) + 1))
    ax.set_axis_off()
    drawn = ax.table(
        cells,
        colLabels=[""] * len(cells[0]),
        colWidths=[1.0] + [1.5] * len(names),
        cellLoc="center",
        edges="B",
        bbox=Bbox.unit(),
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(9)
    for column, name in enumerate([_canvas.words("t (position)", lang), *names]):
        drawn[0, column].get_text().set(**name)
    for cell in drawn.get_celld().values():
        cell.set_linewidth(0.6)
    return ax
