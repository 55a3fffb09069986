"""Vectors: a right triangle, projections, inner products."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, degrees, fsum, hypot, sin

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Arc, Polygon
from matplotlib.ticker import Formatter
from numpy.typing import ArrayLike

from ropewalk import _options
from ropewalk._embedding import scaled_to_one
from ropewalk._options import Lang
from ropewalk.geometry._points import as_direction, norms
from ropewalk.plot import _canvas
from ropewalk.plot._canvas import BLUE, CENTRED, FAINT, GREEN, ORANGE, SHADE, Words

NARROW = 0.2  # share of a leg in the longer one, up to which an angle has no room for its name


def right_triangle(
    adjacent: float = 4.0,
    opposite: float = 3.0,
    /,
    *,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """Right triangle with the cosine of its angle: adjacent side over hypotenuse.

    Parameters
    ----------
    adjacent, opposite : float, default 4.0 and 3.0
        Lengths of the sides at the right angle, positive; the first lies at the angle.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        The triangle, its sides with their lengths, and the cosine as its title.

    Raises
    ------
    ValueError
        If a length is not positive and finite, or above 1e100.
    TypeError
        If a length is no number.

    See Also
    --------
    projection : The triangle between two vectors.

    References
    ----------
    Euclid, Elements, translated by Heath, 1908, book I, proposition 47, for the hypotenuse.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> ax = rw.plot.right_triangle(3.0, 4.0, ax=Figure().add_subplot())
    >>> ax.get_title()
    'cos θ = adjacent / hypotenuse = 3 / 5 = 0.6'
    """
    across = _options.positive_number("adjacent", adjacent)
    up = _options.positive_number("opposite", opposite)
    for name, length in (("adjacent", across), ("opposite", up)):
        _canvas.check_drawable(name, np.array(length))
    hypotenuse = hypot(across, up)
    ax = _canvas.axes(ax, 3.2, lang)
    size = max(across, up)
    corners = [(0, 0), (across, 0), (across, up)]
    ax.add_patch(Polygon(corners, facecolor=BLUE, alpha=SHADE))
    ax.add_patch(Polygon(corners, fill=False, edgecolor=BLUE, linewidth=2))
    mark = min(0.06 * size, 0.25 * min(across, up))
    _right_angle(ax, across, -mark, mark)
    _angle(ax, 0.25 * across, np.arctan2(up, across), inside=min(across, up) > NARROW * size)
    sides: list[tuple[str, float, float, float, Words]] = [
        ("adjacent {:.4g}", across, across / 2, 0, {"va": "top", "ha": "center"}),
        ("opposite {:.4g}", up, across, up / 2, {"va": "center", "ha": "left"}),
        ("hypotenuse {:.4g}", hypotenuse, across / 2, up / 2, {"va": "bottom", "ha": "right"}),
    ]
    for name, length, x, y, where in sides:
        offset = {"center": 0, "left": 6, "right": -6}[where["ha"]]
        lift = {"top": -6, "center": 0, "bottom": 3}[where["va"]]
        said = _canvas.words(name, lang, length)
        ax.annotate("", (x, y), (offset, lift), textcoords="offset points", **where).set(**said)
    english = "cos θ = adjacent / hypotenuse = {:.4g} / {:.4g} = {:.4g}"
    ax.title.set(**_canvas.words(english, lang, across, hypotenuse, across / hypotenuse))
    _frame(ax, corners)
    return ax


def projection(a: ArrayLike, b: ArrayLike, /, *, ax: Axes | None = None) -> Axes:
    """Projection of a vector onto another, in the plane of both.

    The first vector lies to the right, whatever its direction, and the second above it.

    Parameters
    ----------
    a, b : array_like of shape (dim,)
        The vector that is projected onto, and the one that is projected; finite and not zero.
    ax : Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    Axes
        A quiver of both vectors, the projection as a thick line, and its signed length ``w`` as the
        title.

    Raises
    ------
    ValueError
        If a vector is zero, not finite or above 1e100 in size, or both are not of one width.
    TypeError
        If a vector holds no real numbers.

    See Also
    --------
    inner_product : What the length is good for.
    ropewalk.geometry.projection : The projection.

    References
    ----------
    Axler, Linear Algebra Done Right, fourth edition, 2024, section 6A.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> ax = rw.plot.projection([2.0, 0.0], [3.0, 4.0], ax=Figure().add_subplot())
    >>> ax.get_title()
    'w = |b| cos θ = 5 · 0.6 = 3'
    """
    length, along, above = _projected(a, b)
    ax = _canvas.axes(ax, 3.0)
    _draw_projection(ax, length, along, above)
    slant = hypot(along, above)
    cosine = _canvas.factor(f"{along / slant:.4g}")
    ax.set_title(Formatter.fix_minus(f"w = |b| cos θ = {slant:.4g} · {cosine} = {along:.4g}"))
    _frame(ax, [(0, 0), (length, 0), (along, above)])
    return ax


def inner_product(a: ArrayLike, b: ArrayLike, /, *, ax: Axes | None = None) -> Axes:
    """Inner product as a projection, made as many times as long as the other vector is.

    Parameters
    ----------
    a, b : array_like of shape (dim,)
        The vector that is projected onto, and the one that is projected; finite and not zero.
    ax : Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    Axes
        The projection as `projection` draws it; below it a bar from 0 to the inner product, on the
        same scale. The title is ``a · b = |a| w`` in numbers.

    Raises
    ------
    ValueError
        If a vector is zero, not finite or above 1e100 in size, or both are not of one width.
    TypeError
        If a vector holds no real numbers.

    See Also
    --------
    projection : The projection alone.
    ropewalk.geometry.scalar_projection : Its signed length.

    References
    ----------
    Axler, Linear Algebra Done Right, fourth edition, 2024, section 6A.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> ax = rw.plot.inner_product([2.0, 0.0], [1.5, 1.0], ax=Figure().add_subplot())
    >>> ax.get_title()
    'a · b = |a| w = 2 · 1.5 = 3'
    """
    length, along, above = _projected(a, b)
    ax = _canvas.axes(ax, 3.2)
    _draw_projection(ax, length, along, above)
    product = length * along
    down = -0.3 * max(above, (max(length, along, product) - min(0, along, product)) / 3)
    ax.plot([0, product], [down, down], color=GREEN, linewidth=8, solid_capstyle="butt")
    for x in (0, product):
        ax.plot([x, x], [down, 0], color=FAINT, linestyle=":", linewidth=1, zorder=0)
    _beside(ax, "a · b", (product / 2, down), (0, -12))
    width = _canvas.factor(f"{along:.4g}")
    ax.set_title(Formatter.fix_minus(f"a · b = |a| w = {length:.4g} · {width} = {product:.4g}"))
    _frame(ax, [(0, 1.5 * down), (length, 0), (along, above), (product, 0)])
    return ax


def _projected(a: ArrayLike, b: ArrayLike) -> tuple[float, float, float]:
    """Return |a|, and how far b reaches along a and beside it."""
    unit, vector = as_direction("a", a, "b", b), _canvas.drawable("b", b)
    if vector.ndim != 1 or not vector.any():
        msg = f"b must be one vector and not zero, got {vector.tolist()}"
        raise ValueError(msg)
    first = _canvas.drawable("a", a)
    scaled = scaled_to_one(first)[0]  # unlike the unit, not rounded: right angles stay right ones
    length, along = float(first @ unit), fsum(scaled * vector) / float(norms(scaled))
    return length, along, float(norms(vector - along * unit))


def _draw_projection(ax: Axes, length: float, along: float, above: float) -> None:
    size = max(length, abs(along), above)
    ax.plot([min(0, along), max(length, along)], [0, 0], color=FAINT, linewidth=1, zorder=0)
    ax.plot([along, along], [0, above], color=FAINT, linestyle="--")
    ax.plot([0, along], [0, 0], color=GREEN, linewidth=6, alpha=0.5, solid_capstyle="butt")
    ax.quiver([0, 0], [0, 0], [length, along], [0, above], color=[BLUE, ORANGE], **_canvas.ARROW)
    if above > 0.06 * size:
        _right_angle(ax, along, (-1 if along > 0 else 1) * 0.05 * size, 0.05 * size)
        _angle(ax, 0.3 * min(length, hypot(along, above)), np.arctan2(above, along))
    _beside(ax, "a", (length, 0), (8, 0) if along < length else (0, 9))
    _beside(ax, "b", (along, above), (0, 8))
    _beside(ax, "w", (along / 2, 0), (0, -8))


def _beside(ax: Axes, letter: str, at: tuple[float, float], offset: tuple[float, float]) -> None:
    ax.annotate(letter, at, offset, textcoords="offset points", **CENTRED)


def _angle(ax: Axes, radius: float, angle: float, *, inside: bool = True) -> None:
    """Draw the angle at the origin, and name it, beside the corner where it has no room inside."""
    ax.add_patch(Arc((0, 0), 2 * radius, 2 * radius, theta2=degrees(angle), color=FAINT))
    if not inside:
        _beside(ax, "θ", (0, 0), (-8, 3))
        return
    ax.text(1.25 * radius * cos(angle / 2), 1.25 * radius * sin(angle / 2), "θ", **CENTRED)


def _right_angle(ax: Axes, x: float, across: float, up: float) -> None:
    ax.plot([x + across, x + across, x], [0, up, up], color=FAINT, linewidth=1)


def _frame(ax: Axes, points: Sequence[tuple[float, float]]) -> None:
    """Show points and some room around them, without axes."""
    low, high = np.min([(0, 0), *points], axis=0), np.max([(0, 0), *points], axis=0)
    room = 0.12 * float((high - low).max())
    ax.set(
        aspect="equal", xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room)
    )
    ax.set_axis_off()
