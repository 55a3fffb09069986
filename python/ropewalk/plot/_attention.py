"""Attention: weights, masks and the stages between them, as maps of queries and keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.image import AxesImage
from numpy.typing import ArrayLike, NDArray

from ropewalk import AttentionStages
from ropewalk._attention_problem import checked_mask, checked_weights
from ropewalk._options import Lang
from ropewalk.plot import _canvas, _maps
from ropewalk.plot._canvas import COLOURS, Words
from ropewalk.plot._maps import AROUND_ZERO, FROM_ZERO, HATCHED

Map = tuple[Words, NDArray[Any]]  # its title, and its values: queries down, keys across

FLAT = 0.4  # height of a map in its widths, up to which numbers of a colour bar are small
WIDEST_BAR = 0.3  # of colours (inches)
BESIDE = 1.2  # maps in a row, and names: bars of colours and a label (inches)
BELOW = 0.3  # a map, which names take before a figure is higher (inches)
SMALLEST = 0.8  # side of a map in a new figure (inches)
SEES = ListedColormap([COLOURS[0]])


def attention_weights(
    weights: ArrayLike | Mapping[str, ArrayLike],
    /,
    *,
    tokens: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    ax: Axes | Sequence[Axes] | None = None,
    lang: Lang = "en",
) -> list[Axes]:
    """Heat maps of attention weights, queries down and keys across.

    Colours go from 0 to the largest weight of all maps. Cells show their values, rounded to two
    decimals, where these are legible. Weights of exactly 0, as masked keys have, are hatched. Where
    cells are too many to be told apart, the largest of a block is shown.

    Parameters
    ----------
    weights : array_like or mapping of str to array_like
        Weights from 0 to 1, of shape (query length, key length) or (heads, query length, key
        length); or several of shape (query length, key length), each under its title.
    tokens : sequence of str, optional
        The queries, and the keys too where they are as many; numbers unless given. A token that no
        font can draw is a number.
    key_tokens : sequence of str, optional
        The keys.
    ax : Axes or sequence of Axes, optional
        Where to draw, one for each heat map; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    list of Axes
        One for each heat map.

    Raises
    ------
    ValueError
        If a shape does not fit, a weight lies outside of 0 to 1, or tokens or Axes are not as many
        as needed.
    TypeError
        If `weights` are complex or no numbers, or titles or tokens no strings.

    See Also
    --------
    attention_stages : What weights are made from.
    ropewalk.attention_weights : The weights.

    References
    ----------
    Bahdanau, Cho and Bengio, Neural Machine Translation by Jointly Learning to Align and Translate,
    2014, arXiv:1409.0473, figure 3.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> x = [[1.0, 0.0], [0.0, 1.0]]
    >>> weights = rw.attention_weights(x, x, causal=True)
    >>> (ax,) = rw.plot.attention_weights(weights, tokens="ab", ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.texts]
    ['1.00', '0.33', '0.67']
    """
    maps = _titled_maps("weights", weights, checked_weights, lang)
    names = [_names(values.shape, tokens, key_tokens) for _, values in maps]
    panels = _canvas.panels(
        ax, len(maps), lang, lambda: _panels([values.shape for _, values in maps], names)
    )
    _canvas.check_one_figure(panels)
    colours = Normalize(0, _maps.reach(*(values for _, values in maps)))
    for panel, (title, values), name in zip(panels, maps, names, strict=True):
        image = _maps.draw(panel, values, values == 0, FROM_ZERO, colours)
        _label(panel, title, name, lang)
    _colour_bar(image, panels, max(_maps.box(values.shape) for _, values in maps))
    hatched = [panel for panel, (_, values) in zip(panels, maps, strict=True) if not values.all()]
    if hatched:
        _maps.legend(hatched, {"exactly 0": HATCHED}, lang, alone=ax is None)
    return panels


def attention_stages(
    stages: AttentionStages,
    /,
    *,
    tokens: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    ax: Sequence[Axes] | None = None,
    lang: Lang = "en",
) -> list[Axes]:
    """Stages of attention side by side: scores, biased scores, weights and output.

    Blue is below zero and red above; colours of weights go from 0 to the largest. Masked keys are
    hatched, cells show their values where these are legible, and values that are not finite are
    grey. Where cells are too many to be told apart, their colours are mixed, and of weights the
    largest of a block is shown.

    Parameters
    ----------
    stages : AttentionStages
        Stages of one head, as `ropewalk.attention_stages` returns them for data of two dimensions.
    tokens : sequence of str, optional
        The queries, and the keys too where they are as many; numbers unless given. A token that no
        font can draw is a number.
    key_tokens : sequence of str, optional
        The keys.
    ax : sequence of Axes, optional
        Where to draw, one for each stage; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    list of Axes
        Scores, capped scores where there is a soft cap, biased scores, weights, output. Scores of
        all stages share one scale of colours.

    Raises
    ------
    ValueError
        If the stages are not those of one head or are empty, or tokens or Axes are not as many as
        needed.
    TypeError
        If `stages` are no AttentionStages, tokens no strings, or `ax` is no Axes.

    See Also
    --------
    attention_weights : Weights of several heads.
    ropewalk.attention_stages : The stages.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, figure 2.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> x = [[1.0, 0.0], [0.0, 1.0]]
    >>> stages = rw.attention_stages(x, x, x, causal=True)
    >>> panels = rw.plot.attention_stages(stages, ax=Figure().subplots(1, 4))
    >>> [panel.get_title() for panel in panels]
    ['scores', 'biased', 'weights', 'output']
    """
    if not isinstance(stages, AttentionStages):
        msg = f"stages must be AttentionStages, got {stages!r}"  # type: ignore[unreachable]
        raise TypeError(msg)
    if stages.scores.ndim != 2 or not (stages.scores.size and stages.output.size):
        msg = (
            "stages must be those of one head and not empty, with scores of shape (query length, "
            f"key length), got shape {stages.scores.shape} and outputs of {stages.output.shape}"
        )
        raise ValueError(msg)
    scores = {"scores": stages.scores, "capped": stages.capped, "biased": stages.biased}
    if stages.capped is stages.scores:
        del scores["capped"]
    maps = scores | {"weights": stages.weights, "output": stages.output}
    names = _names(stages.scores.shape, tokens, key_tokens)
    masked = stages.biased == -np.inf
    shapes = [masked.shape] * len(maps)
    panels = _canvas.panels(
        ax, len(maps), lang, lambda: _panels(shapes, [names], most=2, alike=False)
    )
    for panel, (stage, stored) in zip(panels, maps.items(), strict=True):
        values = stored.astype(np.float64)
        hidden = masked if stage in {"biased", "weights"} else np.zeros(values.shape, np.bool_)
        if stage == "weights":
            norm = Normalize(0, _maps.reach(values))
            image = _maps.draw(panel, values, hidden, FROM_ZERO, norm)
        else:
            reach = _maps.reach(*scores.values()) if stage in scores else _maps.reach(values)
            norm = Normalize(-reach, reach)
            image = _maps.draw(panel, values, hidden, AROUND_ZERO, norm, mixed=True)
        _colour_bar(image, [panel], _maps.box(masked.shape))
        if stage == "output":
            panel.set(aspect="auto", box_aspect=_maps.box(masked.shape))
            _label(panel, _canvas.words(stage, lang), (names[0], {}), lang, across="feature")
        else:
            _label(panel, _canvas.words(stage, lang), names, lang)
    if masked.any():
        biased = panels[list(maps).index("biased") :]
        _maps.legend(biased, {"masked": HATCHED}, lang, alone=ax is None)
    return panels


def attention_mask(
    mask: ArrayLike | Mapping[str, ArrayLike],
    /,
    *,
    tokens: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    ax: Axes | Sequence[Axes] | None = None,
    lang: Lang = "en",
) -> list[Axes]:
    """Masks of attention: which keys a query sees, queries down and keys across.

    Where cells are too many to be told apart, a block shows whether any key is seen in it.

    Parameters
    ----------
    mask : array_like of bool or mapping of str to array_like of bool
        True where a query sees a key, of shape (query length, key length) or (heads, query length,
        key length); or several of shape (query length, key length), each under its title.
    tokens : sequence of str, optional
        The queries, and the keys too where they are as many; numbers unless given. A token that no
        font can draw is a number.
    key_tokens : sequence of str, optional
        The keys.
    ax : Axes or sequence of Axes, optional
        Where to draw, one for each mask; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    list of Axes
        One for each mask: keys that are seen in blue, masked ones hatched.

    Raises
    ------
    ValueError
        If a shape does not fit, or tokens or Axes are not as many as needed.
    TypeError
        If `mask` is not boolean, or titles or tokens are no strings.

    See Also
    --------
    ropewalk.bias : Masks.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.2.3.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> mask = rw.bias.causal_mask(3)
    >>> (ax,) = rw.plot.attention_mask({"causal": mask}, ax=Figure().add_subplot())
    >>> ax.get_title()
    'causal'
    """
    maps = _titled_maps("mask", mask, partial(checked_mask, hint=""), lang)
    names = [_names(values.shape, tokens, key_tokens) for _, values in maps]
    panels = _canvas.panels(
        ax, len(maps), lang, lambda: _panels([values.shape for _, values in maps], names)
    )
    for panel, (title, values), name in zip(panels, maps, names, strict=True):
        _maps.draw(panel, values.astype(np.float64), ~values, SEES, Normalize(0, 1), annotate=False)
        if _maps.cell(panel, values.shape) >= _maps.LEGIBLE:
            queries, keys = values.shape
            panel.hlines(np.arange(1, queries) - 0.5, -0.5, keys - 0.5, "0.8", linewidth=0.5)
            panel.vlines(np.arange(1, keys) - 0.5, -0.5, queries - 0.5, "0.8", linewidth=0.5)
        _label(panel, title, name, lang)
    _maps.legend(
        panels, {"sees": {"facecolor": COLOURS[0]}, "masked": HATCHED}, lang, alone=ax is None
    )
    return panels


def _titled_maps(
    name: str,
    given: ArrayLike | Mapping[str, ArrayLike],
    checked: Callable[[ArrayLike], NDArray[Any]],
    lang: Lang,
) -> list[Map]:
    """Return maps of two dimensions, each with its title."""
    if isinstance(given, Mapping):
        arrays = [checked(values) for values in given.values()]
        titles = _canvas.own_words(list(given), [{}] * len(given), lang, f"titles of {name}")
    else:
        array = checked(given)
        heads = array.ndim == 3
        arrays = list(array) if heads else [array]
        titles = [_canvas.words("head {}", lang, i) if heads else {} for i in range(len(arrays))]
    if not arrays or any(array.ndim != 2 or not array.size for array in arrays):
        shapes = ", ".join(str(array.shape) for array in arrays) or "none"
        msg = f"{name} must have shape (query length, key length) and not be empty, got {shapes}"
        raise ValueError(msg)
    return list(zip(titles, arrays, strict=True))


def _names(
    shape: tuple[int, ...], tokens: Sequence[str] | None, key_tokens: Sequence[str] | None
) -> tuple[Words, Words]:
    """Return the labels of queries and keys."""
    queries, keys = shape
    if key_tokens is None and queries == keys:
        key_tokens = tokens
    return (
        _canvas.token_labels("tokens", tokens, queries),
        _canvas.token_labels("key_tokens", key_tokens, keys),
    )


def _panels(
    shapes: Sequence[tuple[int, ...]],
    names: Sequence[tuple[Words, Words]],
    *,
    most: int | None = None,
    alike: bool = True,
) -> list[Axes]:
    """Return as many Axes as there are maps; new ones stand in rows of at most so many.

    Three stand in a row unless told, four where there are more than nine, and then eight.
    Only the outer sides of a grid are labelled where maps have one shape, and below them all where
    what lies across is not alike. The figure is larger where names are long.
    """
    count = len(shapes)
    most = most or (3 if count <= 9 else 4 if count <= 16 else 8)
    rows = ceil(count / most)
    columns = ceil(count / rows)
    one_shape = len(set(shapes)) == 1
    # Maps of a row are as high, and a column as wide as the flattest of its maps.
    ratios = [1 / min(map(_maps.box, shapes[i::columns])) for i in range(columns)]
    room = 0.75 * _canvas.WIDTH
    side = min(3.2, max(SMALLEST, room / sum(ratios)))
    beside, below = (max(map(_maps.length, those)) for those in zip(*names, strict=True))
    width = min(side * sum(ratios), max(room, SMALLEST * columns)) + BESIDE
    width += beside * (1 if one_shape else columns)
    height = 0.6 + rows * (0.4 + side)
    height += max(0.0, below - BELOW) * (
        1 + (count < rows * columns) if one_shape and alike else rows
    )
    size = (max(_canvas.WIDTH, width), height)
    _, grid = plt.subplots(
        rows, columns, figsize=size, layout="compressed", squeeze=False, width_ratios=ratios
    )
    for spare in grid.flat[count:]:
        spare.remove()
    panels = list(grid.flat[:count])
    if one_shape:
        for place, panel in enumerate(panels):
            left, bottom = place % columns == 0, not alike or place + columns >= count
            panel.tick_params(labelleft=left, labelbottom=bottom)
            panel.yaxis.label.set_visible(left)
            panel.xaxis.label.set_visible(bottom)
    return panels


def _colour_bar(image: AxesImage, panels: list[Axes], box: float) -> None:
    """Add a bar beside panels, narrow though it be long, with small numbers where maps are flat."""
    figure = panels[0].figure
    boxes = [panel.get_position() for panel in panels]
    share = max(box.y1 for box in boxes) - min(box.y0 for box in boxes)
    aspect = max(20.0, share * figure.figure.get_figheight() / WIDEST_BAR)
    bar = figure.colorbar(image, ax=panels, aspect=aspect, ticks=_maps.FewTicks())
    if box <= FLAT:
        bar.ax.tick_params(labelsize=_maps.LEGIBLE)


def _label(
    panel: Axes, title: Words, names: tuple[Words, Words], lang: Lang, across: str = "key"
) -> None:
    panel.title.set(**title)
    _maps.fit_title(panel)
    panel.xaxis.label.set(**_canvas.words(across, lang))
    panel.yaxis.label.set(**_canvas.words("query", lang))
    _maps.name_cells(panel.yaxis, names[0])
    _maps.name_cells(panel.xaxis, names[1])
