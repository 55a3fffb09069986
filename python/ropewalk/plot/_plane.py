"""Points of the plane: under a linear map, and under attention."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Polygon
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from ropewalk import geometry
from ropewalk._options import Lang
from ropewalk.geometry._points import as_plane
from ropewalk.plot import _canvas
from ropewalk.plot._canvas import BLUE, CENTRED, FAINT, ORANGE, SHADE

LOOKS: dict[str, dict[str, Any]] = {
    "values": {"color": BLUE, "linestyle": "-", "marker": "o"},
    "outputs": {"color": ORANGE, "linestyle": "--", "marker": "s"},
}


def linear_map(
    points: ArrayLike,
    matrix: ArrayLike,
    /,
    *,
    ax: Sequence[Axes] | None = None,
    lang: Lang = "en",
) -> list[Axes]:
    """Points of the plane before and after a linear map, with the grid and the unit square.

    One rule moves all points: straight lines stay straight, parallel ones parallel, and the origin
    stays where it is.

    Parameters
    ----------
    points : array_like of shape (points, 2)
        Points, finite; the later the lighter, so that every one is found again.
    matrix : array_like of shape (2, 2)
        The map ``x -> matrix x`` of column vectors: its columns are where the unit vectors go.
    ax : sequence of Axes, optional
        Where to draw, before and after; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    list of Axes
        Both on one scale, each with a quiver of the unit vectors, named e1 and e2. The second title
        says how many times larger areas become: the determinant, negative where the plane is turned
        over.

    Raises
    ------
    ValueError
        If `points` or `matrix` has another shape, is not finite or above 1e100 in size, or `ax` are
        not two.
    TypeError
        If `points` or `matrix` are no real numbers.

    References
    ----------
    Axler, Linear Algebra Done Right, fourth edition, 2024, chapter 3.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> shear = [[1.0, 1.0], [0.0, 1.0]]
    >>> panels = rw.plot.linear_map([[1, 2], [0, 1]], shear, ax=Figure().subplots(1, 2))
    >>> panels[1].collections[-1].get_offsets().tolist()
    [[3.0, 2.0], [1.0, 1.0]]
    """
    before, rule = as_plane("points", points), _canvas.drawable("matrix", matrix)
    _canvas.check_drawable("points", before)
    if rule.shape != (2, 2):
        msg = f"matrix must have shape (2, 2), got {rule.shape}"
        raise ValueError(msg)
    panels = _canvas.panels(ax, 2, lang, lambda: _two(3.3))
    reach = max(1.0, float(np.abs(before).max()))
    ticks = np.asarray(MaxNLocator(8, steps=[1, 2, 5, 10]).tick_values(-reach, reach))
    ends = ticks[[0, -1]]
    lines = np.array(
        [[(x, y) for y in ends] for x in ticks] + [[(x, y) for x in ends] for y in ticks]
    )
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    drawn = (lines, lines @ rule.T, before @ rule.T)
    furthest = 1.05 * max(float(np.abs(array).max()) for array in drawn)
    determinant = float(rule[0, 0] * rule[1, 1] - rule[0, 1] * rule[1, 0])
    titles = [
        _canvas.words("before", lang),
        _canvas.words("after: areas times {:.3g}", lang, determinant),
    ]
    for panel, title, move in zip(panels, titles, (np.eye(2), rule), strict=True):
        panel.add_collection(LineCollection(list(lines @ move.T), colors=FAINT, linewidths=0.5))
        corners = square @ move.T
        panel.add_patch(Polygon(corners, facecolor=BLUE, alpha=2 * SHADE))
        wide = _canvas.ARROW | {"width": 0.018, "zorder": 5}
        panel.quiver([0, 0], [0, 0], *move, color=[BLUE, ORANGE], **wide)
        side = 1 if np.linalg.det(move) >= 0 else -1  # of the first vector, on which is no square
        for name, (x, y), turn in zip(("$e_1$", "$e_2$"), move.T, (-side, side), strict=True):
            away = 9 * turn * np.array([-y, x]) / (hypot(x, y) or 1)
            panel.annotate(
                name if x or y else "",
                (x / 2, y / 2),
                tuple(away),
                textcoords="offset points",
                path_effects=[
                    patheffects.withStroke(linewidth=2.5, foreground=panel.get_facecolor())
                ],
                zorder=6,
                **CENTRED,
            )
        x, y = (before @ move.T).T
        panel.scatter(
            x,
            y,
            c=np.arange(len(x)),
            cmap=_canvas.dark_to_light(panel),
            s=18,
            edgecolors=FAINT,
            zorder=4,
        )
        panel.title.set(**title)
        panel.set(aspect="equal", xlim=(-furthest, furthest), ylim=(-furthest, furthest))
    return panels


def polygon_contraction(
    values: ArrayLike,
    outputs: ArrayLike,
    /,
    *,
    tokens: Sequence[str] | None = None,
    ax: Sequence[Axes] | None = None,
    lang: Lang = "en",
) -> list[Axes]:
    """Polygons of values and outputs: under attention the hull shrinks.

    Convex hulls to the left, and to the right the polygons through the same points in the order of
    the tokens, which may grow.

    Parameters
    ----------
    values, outputs : array_like of shape (length, 2)
        Values of attention and what comes out, in the order of the tokens; finite.
    tokens : sequence of str, optional
        Labels of the points; numbers from 0 unless given. A token that no font can draw is a
        number, and a label that would lie on another is left out.
    ax : sequence of Axes, optional
        Where to draw, hulls and polygons; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    list of Axes
        Each with a legend of perimeters and areas. The area of a polygon is signed, negative
        clockwise.

    Raises
    ------
    ValueError
        If `values` and `outputs` are not of one shape (length, 2), finite and at most 1e100 in
        size, or `tokens` or `ax` are not as many as needed.
    TypeError
        If `values` or `outputs` are no real numbers.

    See Also
    --------
    ropewalk.geometry.dobrushin : How far hulls shrink at least.
    ropewalk.geometry.principal_plane : A plane for points of more dimensions.

    References
    ----------
    Geshkovski et al., A Mathematical Perspective on Transformers, 2023, arXiv:2312.10794.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> square, bow_tie = [[0, 0], [3, 0], [3, 4], [0, 4]], [[0, 0], [3, 4], [3, 0], [0, 4]]
    >>> panels = rw.plot.polygon_contraction(square, bow_tie, ax=Figure().subplots(1, 2))
    >>> [text.get_text() for text in panels[1].get_legend().get_texts()]
    ['values: perimeter 14, area 12', 'outputs: perimeter 18, area 0']
    """
    points = {"values": as_plane("values", values), "outputs": as_plane("outputs", outputs)}
    for kind, array in points.items():
        _canvas.check_drawable(kind, array)
    if len(points["values"]) != len(points["outputs"]):
        shapes = " and ".join(str(array.shape) for array in points.values())
        msg = f"values and outputs must have one shape, got {shapes}"
        raise ValueError(msg)
    named = _canvas.token_labels("tokens", tokens, len(points["values"]))
    labels = named.pop("labels", [str(i) for i in range(len(points["values"]))])
    panels = _canvas.panels(ax, 2, lang, lambda: _two(3.7))
    titles = ("convex hulls", "in the order of the tokens")
    for panel, title, hulls in zip(panels, titles, (True, False), strict=True):
        drawn, names, said = [], [], []
        for kind, look in LOOKS.items():
            array = points[kind]
            away = 10 if kind == "values" else -10  # labels within the outputs (points)
            corners = geometry.convex_hull(array) if hulls else array
            panel.fill(*corners.T, facecolor=look["color"], alpha=SHADE if hulls else 0)
            closed = np.vstack([corners, corners[:1]])
            panel.plot(*closed.T, color=look["color"], linestyle=look["linestyle"])
            panel.plot(*array.T, color=look["color"], marker=look["marker"], linestyle="none")
            drawn += panel.plot([], [], **look)
            size = geometry.perimeter(corners), geometry.area(corners)
            names.append(_canvas.words(f"{kind}: perimeter {{:.3g}}, area {{:.3g}}", lang, *size))
            if kind == "outputs" and not hulls:
                continue  # lines would strike through the labels, which the hulls have
            for label, point in zip(labels, array, strict=True):
                outwards = point - points["values"].mean(axis=0)
                outwards *= away / (hypot(*outwards) or 1)
                said.append(
                    panel.annotate(
                        label, point, outwards, textcoords="offset points", size=8, **CENTRED
                    )
                )
                said[-1].set(**named)
        panel.title.set(**_canvas.words(title, lang))
        legend = panel.legend(
            drawn, [""] * 2, loc="upper center", bbox_to_anchor=(0.5, -0.1), fontsize="small"
        )
        legend.set_frame_on(False)
        for text, name in zip(legend.get_texts(), names, strict=True):
            text.set(**name)
        panel.margins(0.15)
        panel.set(aspect="equal", adjustable="datalim")
        panel.apply_aspect()  # labels can be measured from here on
        _canvas.remove_overlapping(said)
    return panels


def _two(height: float) -> list[Axes]:
    """Return two new Axes side by side."""
    return list(plt.subplots(1, 2, figsize=(_canvas.WIDTH, height), layout="constrained")[1])
