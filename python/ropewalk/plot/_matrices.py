"""Matrices: a worked product."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import Formatter
from numpy.typing import ArrayLike

from ropewalk import _options
from ropewalk.geometry._points import as_points
from ropewalk.plot import _canvas
from ropewalk.plot._canvas import BLUE, CENTRED, FAINT, GREEN, ORANGE, SHADE

LARGEST_FONT = 11.0  # of the numbers of a matrix (points)
LARGEST_IN_FULL = 1e6

# Cells between the matrices of a product, and the height of a line written below them.
GAP = 1.2
LINE = 0.75


def matrix_product(
    a: ArrayLike,
    b: ArrayLike,
    /,
    *,
    row: int | None = None,
    column: int | None = None,
    labels: Sequence[str] = ("A", "B", "AB"),
    ax: Axes | None = None,
) -> Axes:
    """Product of two matrices in numbers: inner products of rows and columns.

    With a row, a column or both, these and their inner products are framed and written out.

    Parameters
    ----------
    a : array_like of shape (rows, inner)
        First matrix, finite; no matrix, nor the product, has more than 1024 numbers.
    b : array_like of shape (inner, columns)
        Second matrix, finite.
    row, column : int, optional
        Which row of `a` and which column of `b` to show, from 0; all of them where only the other
        is given.
    labels : sequence of str, default ("A", "B", "AB")
        Names of both matrices and of their product, letter for letter.
    ax : Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    Axes
        Numbers are rounded to two decimals, from 1e6 on to three digits, and sums are those of the
        numbers that were given.

    Raises
    ------
    ValueError
        If a matrix has not two dimensions, is empty, not finite or above 1e100 in size, the columns
        of `a` are not as many as the rows of `b`, a row or column is not there, or `labels` are not
        three.
    TypeError
        If a matrix holds no real numbers, `row` or `column` is no integer, or `labels` no strings.

    See Also
    --------
    inner_product : One of them, seen as a projection.

    References
    ----------
    Axler, Linear Algebra Done Right, fourth edition, 2024, section 3C.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> one, two = [[1, 2], [3, 4]], [[5, 6], [7, 8]]
    >>> ax = rw.plot.matrix_product(one, two, row=0, column=1, ax=Figure().add_subplot())
    >>> ax.texts[-1].get_text()
    '1·6 + 2·8 = 22'
    """
    first, second = as_points("a", a), as_points("b", b)
    _canvas.check_drawable("a", first)
    _canvas.check_drawable("b", second)
    if first.shape[1] != len(second):
        shapes = f"{first.shape} and {second.shape}"
        msg = f"a must have as many columns as b has rows, got shapes {shapes}"
        raise ValueError(msg)
    names = _canvas.own_words(_options.strings("labels", labels, 3), [{}] * 3, "en")
    product = first @ second
    for name, matrix in (("a", first), ("b", second), ("a @ b", product)):
        _canvas.check_cells(name, matrix)
    rows, columns = _selected("row", row, len(product)), _selected("column", column, len(product.T))
    chosen = [] if row is None and column is None else [(i, j) for i in rows for j in columns]

    matrices = [first, second, product]
    starts = np.cumsum([0, first.shape[1] + GAP, second.shape[1] + GAP])
    across = starts[2] + product.shape[1]
    tallest = max(map(len, matrices))
    height = tallest + 1.2 + LINE * len(chosen)
    ax = _canvas.axes(ax, max(1.5, _canvas.WIDTH * min(height / across, 0.9)))
    box = ax.get_window_extent()
    cell = 72 / ax.figure.dpi * min(box.width / across, box.height / height)
    longest = max(len(_number(x)) for matrix in matrices for x in matrix.flat)
    size = min(LARGEST_FONT, cell / (_canvas.LETTER * longest))
    tops = []
    for matrix, start, label in zip(matrices, starts, names, strict=True):
        top = (tallest - len(matrix)) / 2
        tops.append(top)
        _brackets(ax, start, top, matrix.shape)
        for (i, j), value in np.ndenumerate(matrix):
            ax.text(start + j + 0.5, top + i + 0.5, _number(value), size=size, **CENTRED)
        ax.text(start + matrix.shape[1] / 2, top - 0.15, "", ha="center", va="bottom").set(**label)
    for sign, start in zip(("·", "="), starts[1:], strict=True):
        ax.text(start - GAP / 2, tallest / 2, sign, **CENTRED)
    if chosen:
        for i in rows:
            _outline(ax, starts[0], tops[0] + i, first.shape[1], 1, BLUE)
        for j in columns:
            _outline(ax, starts[1] + j, tops[1], 1, len(second), ORANGE)
    for line, (i, j) in enumerate(chosen):
        _outline(ax, starts[2] + j, tops[2] + i, 1, 1, GREEN)
        factors = [
            [_canvas.factor(_number(x)) for x in terms] for terms in (first[i], second[:, j])
        ]
        terms = ["·".join(pair) for pair in zip(*factors, strict=True)]
        written = f"{' + '.join(terms)} = {_number(product[i, j])}"
        fitting = min(LARGEST_FONT, cell * across / (_canvas.LETTER * len(written)))
        y = tallest + 0.3 + LINE * (line + 0.5)
        ax.text(across / 2, y, written, size=fitting, **CENTRED)
    ax.set(aspect="equal", xlim=(-0.3, across + 0.3), ylim=(height - 0.5, -0.9))
    ax.set_axis_off()
    return ax


def _selected(name: str, place: int | None, count: int) -> list[int]:
    if place is None:
        return list(range(count))
    return [_options.integer_between(name, place, 0, count - 1)]


def _number(value: float) -> str:
    if abs(value) >= LARGEST_IN_FULL:
        return Formatter.fix_minus(f"{value:.3g}")
    return Formatter.fix_minus(
        np.format_float_positional(round(value, 2) + 0.0, precision=2, trim="-")
    )


def _brackets(ax: Axes, x: float, top: float, shape: tuple[int, ...]) -> None:
    rows, columns = shape
    for edge, inwards in ((x, 0.15), (x + columns, -0.15)):
        ax.plot(
            [edge + inwards, edge, edge, edge + inwards],
            [top, top, top + rows, top + rows],
            color=FAINT,
        )


def _outline(ax: Axes, x: float, y: float, across: int, down: int, colour: str) -> None:
    inner = (x + 0.06, y + 0.06), across - 0.12, down - 0.12
    ax.add_patch(Rectangle(*inner, facecolor=colour, alpha=SHADE, linewidth=0))
    ax.add_patch(Rectangle(*inner, fill=False, edgecolor=colour, linewidth=1.5))
