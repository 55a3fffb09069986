"""What maps of values share: colours, hatched cells, values in cells, names of rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any, Literal

import numpy as np
from matplotlib import colormaps, rcParams
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.backend_bases import RendererBase
from matplotlib.colors import Colormap, Normalize
from matplotlib.image import AxesImage
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import Formatter, MaxNLocator
from numpy.typing import NDArray

from ropewalk._options import Lang
from ropewalk.plot import _canvas
from ropewalk.plot._canvas import CENTRED, LETTER, Words

NOT_FINITE = "0.6"
FROM_ZERO = colormaps["cividis"].with_extremes(bad=NOT_FINITE)
AROUND_ZERO = colormaps["RdBu_r"].with_extremes(bad=NOT_FINITE)
HATCHED: Words = {"hatch": "////", "edgecolor": "0.55", "linewidth": 0}
TOLD_APART = 1.5  # least width of a cell (points)
FLATTEST = 0.2  # height of a map of square cells, in its widths, or the other way round
LINE = 1.1  # height and space of a line, in sizes of the font
LEGIBLE = 7.0  # smallest size of a font (points)
LARGEST = 9.0  # size of values in roomy cells (points)
MOST_TICKS = 5  # of a colour bar, about
REACH = (1e-280, 1e300)  # Matplotlib has no colours for smaller and for larger values


def draw(
    panel: Axes,
    values: NDArray[np.float64],
    hidden: NDArray[np.bool_],
    colours: str | Colormap,
    norm: Normalize,
    *,
    across: NDArray[np.float64] | None = None,
    down: NDArray[np.float64] | None = None,
    aspect: Literal["equal", "auto"] = "equal",
    mixed: bool = False,
    number: str = "z.2f",
    annotate: bool | None = None,
) -> AxesImage:
    """Draw a map, its background hatched where it is hidden, and write values into its cells.

    `across` and `down` are where cells have their centres. Unless told, values are written where
    they can be read. Where cells could not be told apart, and some would not be seen, their colours
    are mixed, or the largest of a block stands for it.
    """
    rows, columns = values.shape
    across = np.arange(columns, dtype=np.float64) if across is None else across
    down = np.arange(rows, dtype=np.float64) if down is None else down
    rooms = _room(panel.yaxis, rows), _room(panel.xaxis, columns)
    if aspect == "equal":
        rooms = min(rooms), min(rooms)
    block = ceil(TOLD_APART / rooms[0]), ceil(TOLD_APART / rooms[1])
    mixed = mixed and max(block) > 1
    if mixed:
        block = 1, 1
    drawn, seen = _largest(values, ~hidden, block)
    (left, right), (top, bottom) = _ends(across), _ends(down)
    panel.patch.set(**HATCHED)
    image = panel.imshow(
        drawn,
        aspect=aspect,
        alpha=seen.astype(float),
        cmap=colours,
        norm=norm,
        interpolation="auto" if mixed else "nearest",
        extent=(
            left,
            left + (right - left) / columns * block[1] * drawn.shape[1],
            top + (bottom - top) / rows * block[0] * drawn.shape[0],
            top,
        ),
    )
    panel.set(xlim=(left, right), ylim=(bottom, top))
    if aspect == "equal":
        panel.set_aspect(box(values.shape) * columns / rows)
    if annotate or (annotate is None and cell(panel, values.shape) / LETTER >= LEGIBLE):
        texts = {(i, j): f"{values[i, j]:{number}}" for i, j in np.argwhere(~hidden).tolist()}
        # A minus is wider than a digit by a third.
        longest = max((len(text) + text.startswith("-") / 3 for text in texts.values()), default=1)
        fitting = partial(_fitting, panel, values.shape, longest)
        if annotate or fitting() >= LEGIBLE:
            _write(image, values, texts, (down, across), fitting, always=bool(annotate))
    return image


class _Value(Text):
    """A value in its cell, left out where it would be illegible.

    Only when it is drawn is the figure laid out, and known how much the labels leave of the map.
    """

    def __init__(
        self, x: float, y: float, text: str, fitting: Callable[[], float], colour: str, least: float
    ) -> None:
        super().__init__(x, y, text, color=colour, **CENTRED)
        self.set_in_layout(False)
        self._fitting, self._least = fitting, least

    def draw(self, renderer: RendererBase) -> None:
        size = self._fitting()
        if size >= self._least:
            self.set_fontsize(max(size, LEGIBLE))
            super().draw(renderer)


def _fitting(panel: Axes, shape: tuple[int, ...], longest: float) -> float:
    """Return the size at which a value of so many letters fits a cell (points)."""
    return min(LARGEST, cell(panel, shape) / (LETTER * longest))


def _write(
    image: AxesImage,
    values: NDArray[np.float64],
    texts: Mapping[tuple[int, int], str],
    centres: tuple[NDArray[np.float64], NDArray[np.float64]],
    fitting: Callable[[], float],
    *,
    always: bool,
) -> None:
    """Write texts into cells, in white where these are dark."""
    down, across = centres
    least = 0.0 if always else LEGIBLE
    for (row, column), text in texts.items():
        ground = image.to_rgba(np.ma.masked_invalid([values[row, column]]))
        colour = "white" if _canvas.is_dark(ground) else "black"
        said = Formatter.fix_minus(text)
        image.axes.add_artist(_Value(across[column], down[row], said, fitting, colour, least))


def box(shape: tuple[int, ...]) -> float:
    """Height of a map of square cells in its widths, flat and tall ones within bounds."""
    return min(max(FLATTEST, shape[0] / shape[1]), 1 / FLATTEST)


def cell(panel: Axes, shape: tuple[int, ...]) -> float:
    """Width of a square cell in points, with some room for what is drawn beside the map."""
    return min(_room(panel.xaxis, shape[1]), _room(panel.yaxis, shape[0]))


def name_cells(axis: Axis, names: Words, places: NDArray[np.float64] | None = None) -> None:
    """Put names, or whole numbers where there are none, beside the cells.

    Names are made smaller, and where that is not enough only every so many is shown.
    """
    if not names:
        axis.set_major_locator(_canvas.whole_numbers())
        axis.set_major_formatter(_canvas.in_full())
        return
    labels = names["labels"]
    room = _room(axis, len(labels))
    size = min(rcParams["font.size"], max(LEGIBLE, room / LINE))
    every = ceil(LINE * LEGIBLE / room)
    at = np.arange(len(labels)) if places is None else places
    wide = LETTER * size * max(map(_canvas.letters, labels)) > room
    axis.set_ticks(at[::every], **names | {"labels": labels[::every]})
    upright = wide and isinstance(axis, XAxis)
    axis.set_tick_params(labelsize=size, labelrotation=90 if upright else 0)


def length(names: Words) -> float:
    """Return the length of the longest name at its largest (inches)."""
    longest = max(map(_canvas.letters, names.get("labels", [""])))
    return LETTER * float(rcParams["font.size"]) * longest / 72


class FewTicks(MaxNLocator):
    """Ticks of a colour bar, whose numbers stay short and apart."""

    def __init__(self) -> None:
        super().__init__(steps=[1, 2, 5, 10])

    def __call__(self) -> Sequence[float]:
        room = self.axis.get_tick_space()  # type: ignore[union-attr]
        self.set_params(nbins=min(max(2, room), MOST_TICKS))
        return super().__call__()


def fit_title(panel: Axes) -> None:
    """Make a title smaller where it is wider than its map."""
    usual, letters = panel.title.get_fontsize(), _canvas.letters(panel.title.get_text())
    width = _room(panel.xaxis, 1)
    panel.title.set_fontsize(min(usual, max(LEGIBLE, width / (LETTER * max(letters, 1)))))


def legend(panels: Sequence[Axes], kinds: Mapping[str, Words], lang: Lang, *, alone: bool) -> None:
    """Name kinds of cells of panels, below a new figure, and above the first of given Axes.

    Only a layout, which new figures have, leaves room below, and other Axes may have other kinds.
    """
    drawn = [Patch(**{"facecolor": "none", **kind}) for kind in kinds.values()]
    names = [_canvas.words(kind, lang) for kind in kinds]
    if not alone:
        _canvas.legend_above(panels[0], drawn, names, len(kinds))
        return
    below = panels[0].figure.legend(
        drawn, [""] * len(kinds), loc="outside lower center", ncols=len(kinds), frameon=False
    )
    for text, name in zip(below.get_texts(), names, strict=True):
        text.set(**name)


def reach(*arrays: NDArray[Any]) -> float:
    """Return the largest finite size of a value that colours can end at; 1 where all are 0."""
    sizes = [np.abs(values[np.isfinite(values)]).max(initial=0.0) for values in arrays]
    return float(np.clip(float(max(sizes)) or 1.0, *REACH))  # float16 has no such ends


def _largest(
    values: NDArray[np.float64], seen: NDArray[np.bool_], block: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the largest value that is seen of every block, and whether there is one."""
    if block == (1, 1):
        return values, seen
    starts = [np.arange(0, count, size) for count, size in zip(values.shape, block, strict=True)]

    def reduced(largest: np.ufunc, cells: NDArray[Any]) -> NDArray[Any]:
        result: NDArray[Any] = largest.reduceat(
            largest.reduceat(cells, starts[0], axis=0), starts[1], axis=1
        )
        return result

    any_seen = reduced(np.logical_or, seen)
    return np.where(any_seen, reduced(np.maximum, np.where(seen, values, -np.inf)), 0), any_seen


def _ends(centres: NDArray[np.float64]) -> tuple[float, float]:
    step = centres[1] - centres[0] if len(centres) > 1 else 1.0
    return float(centres[0] - step / 2), float(centres[-1] + step / 2)


def _room(axis: Axis, count: int) -> float:
    """Size of one of so many cells along an axis (points), with some room beside the map."""
    width, height = axis.axes.get_window_extent().size
    return float(
        0.9 * (width if isinstance(axis, XAxis) else height) / axis.figure.dpi * 72 / count
    )
