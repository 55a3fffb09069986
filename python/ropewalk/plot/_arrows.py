"""Attention as arrows between tokens: what each key gives to a query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch
from numpy.typing import ArrayLike, NDArray

from ropewalk import _options
from ropewalk._attention_problem import checked_weights
from ropewalk._options import Lang
from ropewalk.plot import _canvas, _maps
from ropewalk.plot._canvas import COLOURS, Words

WIDEST = 7.0  # of an arrow, whose weight is 1 (points)
FAINTEST = 0.3  # opacity of an arrow, whose weight is close to 0
LEAST = 3.0  # room between long tokens (inches)
MARGIN = 0.02  # between a token and its arrows, of the width of the Axes


def attention_arrows(
    weights: ArrayLike,
    tokens: Sequence[str],
    /,
    *,
    key_tokens: Sequence[str] | None = None,
    query: int | None = None,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """Attention weights as arrows from keys to queries.

    The larger a weight, the wider and the less transparent is its arrow; a weight of exactly 0 has
    none.

    Parameters
    ----------
    weights : array_like of shape (query length, key length)
        Weights from 0 to 1.
    tokens : sequence of str
        The queries, and the keys too unless these have names of their own. A token that no font
        can draw is a number.
    key_tokens : sequence of str, optional
        The keys.
    query : int, optional
        The one query whose arrows are drawn, with their weights in digits; all unless given.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        Keys on the left, queries on the right, and an arrow a weight, query after query.

    Raises
    ------
    ValueError
        If `weights` have not two dimensions, are empty or lie outside of 0 to 1, tokens are not as
        many as needed, or there is no such query.
    TypeError
        If `weights` are complex or no numbers, or `query` is no integer.

    See Also
    --------
    attention_weights : The same weights as a heat map.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, figures 3 to 5.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> weights = [[0.25, 0.75], [0.0, 1.0]]
    >>> ax = rw.plot.attention_arrows(weights, ["a", "pen"], ax=Figure().add_subplot())
    >>> [arrow.get_linewidth() for arrow in ax.patches]
    [1.75, 5.25, 7.0]
    """
    array = checked_weights(weights)
    if array.ndim != 2 or array.size == 0:
        msg = (
            "weights must have shape (query length, key length) and not be empty, "
            f"got {array.shape}"
        )
        raise ValueError(msg)
    queries, keys = array.shape
    if tokens is None:
        msg = "tokens must be strings, got None"  # type: ignore[unreachable]
        raise TypeError(msg)
    names = _canvas.token_labels("tokens", tokens, queries)
    if key_tokens is None:
        if keys != queries:
            msg = f"key_tokens must be given where keys are not as many as queries, got {keys} keys"
            raise ValueError(msg)
        key_tokens = tokens
    key_names = _canvas.token_labels("key_tokens", key_tokens, keys)
    if query is not None:
        query = _options.integer_between("query", query, 0, queries - 1)
    heads = [_canvas.words(head, lang) for head in ("key", "query")]
    longest = max(queries, keys)
    width = LEAST + _maps.length(names) + _maps.length(key_names)
    ax = _canvas.axes(ax, 0.8 + 0.35 * longest, lang, width=max(_canvas.WIDTH, width))
    rows = _centred(queries, longest)
    key_rows = _centred(keys, longest)
    _name(ax, -MARGIN, key_rows, key_names, heads[0], "right", bold=None)
    _name(ax, 1 + MARGIN, rows, names, heads[1], "left", bold=query)
    # How far along the arrows their weights stand: beside their own keys.
    share = min(0.12, 0.4 / longest)
    for row in range(queries) if query is None else [query]:
        for key in np.flatnonzero(array[row]):
            weight = float(array[row, key])
            arrow = FancyArrowPatch(
                (0, key_rows[key]),
                (1, rows[row]),
                arrowstyle="-|>",
                mutation_scale=6 + 2 * WIDEST * weight,
                shrinkA=0,
                shrinkB=0,
                linewidth=WIDEST * weight,
                alpha=FAINTEST + (1 - FAINTEST) * weight,
                color=COLOURS[row % len(COLOURS)],
            )
            ax.add_artist(arrow)  # whose limits nobody wants, and take long
            if query is not None:
                ax.text(
                    share,
                    (1 - share) * key_rows[key] + share * rows[row],
                    _digits(weight),
                    ha="left",
                    va="center",
                    bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1},
                )
    ax.set(xlim=(0, 1), ylim=(longest - 0.5, -1.5))
    ax.set_axis_off()
    return ax


def _centred(count: int, longest: int) -> NDArray[np.float64]:
    """Return where so many tokens stand, beside a line of the longest."""
    return np.arange(count, dtype=np.float64) + (longest - count) / 2


def _digits(weight: float) -> str:
    digits = f"{weight:.2f}"
    if digits == "0.00":
        return "< 0.01"
    return "> 0.99" if digits == "1.00" and weight < 1 else digits


def _name(
    ax: Axes,
    x: float,
    rows: NDArray[np.float64],
    names: Words,
    head: Words,
    side: str,
    *,
    bold: int | None,
) -> None:
    """Write a line of tokens downwards, with its head above."""
    ax.text(x, rows[0] - 1, "", ha=side, va="center", style="italic").set(**head)
    properties = {key: value for key, value in names.items() if key != "labels"}
    for i, (row, name) in enumerate(zip(rows, names["labels"], strict=True)):
        weight = _canvas.bold(properties) if i == bold else "normal"
        ax.text(x, row, name, ha=side, va="center", weight=weight, **properties)
