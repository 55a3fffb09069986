"""Tables as pictures: an encoding in colours, and in digits."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import Literal, get_args

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize, SymLogNorm
from matplotlib.patches import Patch
from matplotlib.ticker import Formatter
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options
from ropewalk._options import Lang
from ropewalk.plot import _canvas, _maps

Kind = Literal["encoding", "attention", "matrix"]

LABELS = {  # across and down
    "encoding": ("t (position)", "dimension"),
    "attention": ("key", "query"),
    "matrix": ("column", "row"),
}
LEAST = (3.5, 2.5)  # width and height of a map beside long names (inches)
WIDTHS = [1.0, 1.5]  # of the positions of a table of numbers, and of its other columns
SMALLEST, LARGEST = 6.0, 9.0  # letters in it (points)
SMALLEST_IN_ONE_LINE = 7.5  # heads of which are broken, if they must be smaller
DECADES = 6  # of a logarithmic scale, at the most
FAR = 1e15  # from which on numbers have exponents
MOST_DECIMALS = 17  # those that tell float64 apart below 1


def heatmap(
    values: ArrayLike,
    /,
    *,
    kind: Kind = "encoding",
    positions: ArrayLike | range | None = None,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    limit: float | None = None,
    log: bool = False,
    annotate: bool | None = None,
    cmap: str | None = None,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """Heat map of an encoding, of attention weights or of any other matrix.

    Where a value is negative, colours are blue below zero, white at zero and red above; otherwise
    they go from dark at zero to light. What is masked or not finite is hatched. Where cells are too
    many to be told apart, blocks show their largest value; colours of an encoding, or where a value
    is negative, are mixed.

    Parameters
    ----------
    values : array_like of shape (rows, columns)
        Real numbers or booleans; a masked array too.
    kind : {"encoding", "attention", "matrix"}, default "encoding"
        What the values are, which says how they lie: an encoding, which is drawn on its side,
        positions across and dimensions down, counted from 1; weights, scores or biases of
        attention, queries down and keys across; or a matrix, rows down and columns across, counted
        from 0.
    positions : array_like or range, optional
        Evenly spaced positions of the rows of an encoding; 0, 1, 2 and so on unless given.
    rows, columns : sequence of str, optional
        Names of the rows and of the columns of `values`, such as tokens; numbers unless given.
        Queries name the keys too where these are as many. A name that no font can draw is a number.
    limit : float, optional
        Size of a value at which colours end, positive; the largest size of a value unless given.
    log : bool, default False
        Whether colours are logarithmic, over six powers of ten at the most. Below them, and on
        both sides of zero where values are negative, they are linear.
    annotate : bool, optional
        Whether values are written into their cells; unless given, where they can be read.
    cmap : str, optional
        Name of a Matplotlib colour map.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        Cells are centred on what counts them: a position and a dimension, a row and a column.

    Raises
    ------
    ValueError
        If `values` have not two dimensions or are empty, `positions` do not fit them, are not
        evenly spaced or not those of an encoding, names are not as many as needed, `limit` is not
        positive, or `kind` or `cmap` is unknown.
    TypeError
        If `values` are complex or no numbers, `limit` is no number, or `log` or `annotate` is not
        boolean.

    See Also
    --------
    waves : The columns of an encoding as curves.
    attention_weights : Weights of several heads, on one scale.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> table = rw.sinusoidal_encoding(range(51), 128)
    >>> ax = rw.plot.heatmap(table, ax=Figure().add_subplot())
    >>> ax.images[0].get_array().shape, ax.images[0].get_clim()
    ((128, 51), (-1.0, 1.0))
    >>> weights = rw.softmax([[2.0, 1.0], [0.0, 0.0]])
    >>> ax = rw.plot.heatmap(weights, kind="attention", rows="ab", ax=ax)
    >>> [text.get_text() for text in ax.texts]
    ['0.73', '0.27', '0.50', '0.50']
    """
    shown, hidden = _matrix(values)
    _options.choice("kind", kind, get_args(Kind))
    down, across = (np.arange(count, dtype=np.float64) for count in shown.shape)
    if kind == "attention" and columns is None and len(across) == len(down):
        columns = rows
    names_down = _canvas.token_labels("rows", rows, len(down))
    names_across = _canvas.token_labels("columns", columns, len(across))
    if kind == "encoding":  # lies on its side
        down, across = across + 1, _evenly_spaced(positions, len(shown))
        names_down, names_across = names_across, names_down
        shown, hidden = shown.T, hidden.T
    elif positions is not None:
        msg = f"positions must not be given for kind {kind!r}, whose cells are named by rows"
        raise ValueError(msg)
    finite = shown[~hidden]
    signed = bool((finite < 0).any())
    norm, extend = _norm(finite, limit, signed=signed, log=_options.boolean("log", log))
    if annotate is not None:
        annotate = _options.boolean("annotate", annotate)
    known = isinstance(cmap, str) and cmap in colormaps
    if cmap is not None and not known:
        msg = f"cmap must be the name of a Matplotlib colour map, got {cmap!r}"
        raise ValueError(msg)
    beside, below = _maps.length(names_down), _maps.length(names_across)
    width, height = max(_canvas.WIDTH, LEAST[0] + beside), max(4.5, LEAST[1] + below)
    ax = _canvas.axes(ax, height, lang, width=width)
    image = _maps.draw(
        ax,
        shown,
        hidden,
        cmap or (_maps.AROUND_ZERO if signed else _maps.FROM_ZERO),
        norm,
        across=across,
        down=down,
        aspect="auto",
        mixed=signed or kind == "encoding",
        number=_number(finite, norm),
        annotate=annotate,
    )
    _maps.name_cells(ax.xaxis, names_across, across)
    _maps.name_cells(ax.yaxis, names_down, down)
    if kind == "encoding" and not names_down:
        spacing = max(1, len(shown) // 8)
        ax.set_yticks(sorted({1, *range(spacing, len(shown) + 1, spacing)}))
    for axis, word in zip((ax.xaxis, ax.yaxis), LABELS[kind], strict=True):
        axis.label.set(**_canvas.words(word, lang))
    ticks = None if log else _maps.FewTicks()
    ax.figure.colorbar(image, ax=ax, ticks=ticks, extend=extend)
    if hidden.any():
        patch = Patch(facecolor="none", **_maps.HATCHED)
        masked = np.isfinite(shown[hidden]).any()
        said = "masked or not finite" if masked else "no finite value"
        _canvas.legend_above(ax, [patch], [_canvas.words(said, lang)], 1, "lower right")
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
    """Table of the values of an interleaved encoding, a row a position.

    Parameters
    ----------
    table : array_like of shape (positions, dim)
        At most 1024 values.
    positions : array_like or range, optional
        Positions of the rows; 0, 1, 2 and so on unless given.
    labels : sequence of str, optional
        Heads of the columns; "dimension 1 (sin)", "dimension 2 (cos)" and so on unless given.
    decimals : int, default 4
        Decimals to which values are rounded, 0 to 17; from 1e15 on those of the form 1.2e+15.
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
        If `table` has not two dimensions or is empty, `positions` or `labels` does not fit it, or
        `decimals` is out of range.
    TypeError
        If `table` holds no real numbers, `labels` are no strings, `decimals` is no integer, or `ax`
        is no Axes.

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
    _canvas.check_cells("table", values)
    names = _canvas.own_words(labels, _canvas.dimensions(values.shape[1], lang), lang)
    digits = _options.integer_between("decimals", decimals, 0, MOST_DECIMALS)
    cells = [
        [_canvas.number(position), *(_written(value, digits) for value in row)]
        for position, row in zip(at, values, strict=True)
    ]
    heads = [_canvas.words("t (position)", lang), *names]
    broken = _size(cells, [head["text"] for head in heads]) < SMALLEST_IN_ONE_LINE
    if broken:
        for head in heads:
            head["text"] = head["text"].replace(" (", "\n(")
    size = _size(cells, [head["text"] for head in heads]) if broken else LARGEST
    width = _canvas.WIDTH * max(1.0, SMALLEST / size)
    ax = _canvas.axes(ax, 0.35 * (len(cells) + 1 + broken), lang, width=width)
    ax.set_axis_off()
    drawn = ax.table(
        cells,
        colLabels=[""] * len(cells[0]),
        colWidths=WIDTHS[:1] + WIDTHS[1:] * len(names),
        cellLoc="center",
        edges="B",
        bbox=Bbox.unit(),
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(np.clip(size, SMALLEST, LARGEST))
    for column, head in enumerate(heads):
        drawn[0, column].get_text().set(**head)
    for cell in drawn.get_celld().values():
        cell.set_linewidth(0.6)
    return ax


def _written(value: float, decimals: int) -> str:
    return Formatter.fix_minus(f"{value:.{decimals}{'f' if abs(value) < FAR else 'e'}}")


def _size(cells: Sequence[Sequence[str]], heads: Sequence[str]) -> float:
    """Return the size of letters (points) at which numbers and heads fit a new figure."""
    widths = WIDTHS[:1] + WIDTHS[1:] * (len(heads) - 1)
    longest = max(
        max(map(_canvas.letters, text.split("\n"))) / width
        for row in (*cells, heads)
        for text, width in zip(row, widths, strict=True)
    )
    return 72 * _canvas.WIDTH / sum(widths) / (_canvas.LETTER * longest)


def _matrix(values: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return values, and where they are masked or not finite."""
    mask: NDArray[np.bool_] | bool = False
    if isinstance(values, np.ma.MaskedArray):
        mask, values = np.ma.getmaskarray(values), values.data
    array = _arrays.converted("values", values, "an array of numbers")
    array = _arrays.data("values", array.astype(np.float64) if array.dtype == np.bool_ else array)
    if array.ndim != 2 or array.size == 0:
        heads = "; ropewalk.plot.attention_weights draws heads" if array.ndim == 3 else ""
        msg = f"values must have shape (rows, columns) and not be empty, got {array.shape}{heads}"
        raise ValueError(msg)
    shown = array.astype(np.float64)
    return shown, ~np.isfinite(shown) | mask


def _evenly_spaced(positions: ArrayLike | range | None, rows: int) -> NDArray[np.float64]:
    """Return the positions of so many rows."""
    at = _canvas.rows(np.zeros((rows, 1)), positions)[1]
    steps = np.diff(at)
    rounding = 2 * np.spacing(np.abs(at).max(initial=0))
    odd = np.flatnonzero((steps == 0) | ~np.isclose(steps, steps[:1], atol=rounding))
    if odd.size:
        before, after = at[odd[0] : odd[0] + 2]
        step = f"{after - before:g} from {before:.15g} to {after:.15g}"
        msg = f"positions must be evenly spaced, got a step of {step}"
        raise ValueError(msg)
    return at


def _norm(
    values: NDArray[np.float64], limit: float | None, *, signed: bool, log: bool
) -> tuple[Normalize, str]:
    """Return how values become colours, and at which ends of the colours there are more values."""
    end = _maps.reach(values) if limit is None else _options.positive_number("limit", limit)
    end = float(np.clip(end, *_maps.REACH))
    sizes = np.abs(values[values != 0])
    smallest = float(np.clip(sizes.min(initial=end), end / 10**DECADES, end / 10))
    low = -end if signed else smallest if log else 0.0
    norm = Normalize(low, end)
    if log:
        norm = SymLogNorm(smallest, vmin=low, vmax=end) if signed else LogNorm(low, end, clip=True)
    below, above = bool((values < low).any()), bool((values > end).any())
    return norm, "both" if below and above else "min" if below else "max" if above else "neither"


def _number(values: NDArray[np.float64], norm: Normalize) -> str:
    """Return the format in which values are written: two decimals where they are about 1."""
    end = float(norm.vmax or 1.0)
    if type(norm) is not Normalize or not 1e-3 <= end < 1e6:
        return "z.2g"
    if (values == np.round(values)).all():
        return "z.0f"
    return f"z.{max(0, 2 - floor(log10(end)) - (end < 1))}f"
