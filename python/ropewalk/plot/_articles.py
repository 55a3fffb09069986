"""Figures of the articles, from tables that the library computes."""

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ropewalk import frequencies, sinusoidal_encoding
from ropewalk.articles import ARTICLES
from ropewalk.plot import _canvas
from ropewalk.plot._canvas import Lang
from ropewalk.plot._clocks import clock_hands
from ropewalk.plot._tables import heatmap, number_table
from ropewalk.plot._waves import sine, waves


def article_figures(article: str | None = None, /, *, lang: Lang = "en") -> dict[str, Figure]:
    """Figures that the articles show or describe.

    Parameters
    ----------
    article : {"000", "001", "003"}, optional
        Only those of this article.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    dict of Figure
        By a name that begins with the article: ``"003_heatmap"``. They are not known to pyplot.

    Raises
    ------
    ValueError
        If `article` is none of those.

    See Also
    --------
    ropewalk.articles.printed_values : The values of the articles.

    References
    ----------
    The heat map is the picture of the encoding in Vaswani et al., Attention Is All You Need, 2017,
    arXiv:1706.03762, section 3.5.

    Examples
    --------
    >>> import ropewalk as rw
    >>> list(rw.plot.article_figures("003"))
    ['003_sin_x', '003_sin_half_x', '003_heatmap']
    """
    if article is not None and article not in ARTICLES:
        msg = f"article must be one of {', '.join(map(repr, ARTICLES))}, got {article!r}"
        raise ValueError(msg)
    figures = {}
    for name, (height, draw) in _FIGURES.items():
        if article in {None, name[:3]}:
            figures[name] = Figure(figsize=(_canvas.WIDTH, height), layout="constrained")
            draw(figures[name].add_subplot(), lang)
    return figures


def _clock_hands(ax: Axes, lang: Lang) -> None:
    """At d = 4: pair 0 is the fast hand, pair 1 the slow one."""
    turns = "pair {}: a turn in {:.4g} positions"
    labels = [
        _canvas.words(turns, lang, pair, wavelength)["text"]
        for pair, wavelength in enumerate(frequencies.standard(4).wavelengths)
    ]
    clock_hands(sinusoidal_encoding(range(7), 4), labels=labels, ax=ax, lang=lang)


def _four_waves(ax: Axes, lang: Lang) -> None:
    positions = np.arange(601) / 20
    waves(sinusoidal_encoding(positions, 4), positions=positions, ax=ax, lang=lang)


def _three_rows(ax: Axes, lang: Lang) -> None:
    number_table(sinusoidal_encoding(range(3), 4), decimals=6, ax=ax, lang=lang)


def _sine(ax: Axes, lang: Lang, frequency: float) -> None:
    turning = frequencies.from_radians([frequency])
    x = np.linspace(0, 4 * np.pi, 401)
    y = sinusoidal_encoding(x, frequencies=turning)[:, 0]
    sine(x, y, period=turning.wavelengths[0], ax=ax, lang=lang)


def _sin_x(ax: Axes, lang: Lang) -> None:
    _sine(ax, lang, 1.0)


def _sin_half_x(ax: Axes, lang: Lang) -> None:
    _sine(ax, lang, 0.5)


def _heatmap(ax: Axes, lang: Lang) -> None:
    heatmap(sinusoidal_encoding(range(51), 128), ax=ax, lang=lang)


_FIGURES: dict[str, tuple[float, Callable[[Axes, Lang], None]]] = {
    "000_clock_hands": (3.2, _clock_hands),
    "001_waves": (3.6, _four_waves),
    "001_table": (1.4, _three_rows),
    "003_sin_x": (2.6, _sin_x),
    "003_sin_half_x": (2.6, _sin_half_x),
    "003_heatmap": (4.5, _heatmap),
}
