"""Figures and animations of the articles, from what the library computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from matplotlib.animation import FuncAnimation
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ropewalk import (
    _options,
    attention,
    attention_weights,
    binary_encoding,
    frequencies,
    geometry,
    integer_encoding,
    position_kernel,
    properties,
    rotate,
    similarity,
    sinusoidal_encoding,
    softmax,
)
from ropewalk._encodings import Order
from ropewalk._options import Lang
from ropewalk.articles._ledger import ARTICLES
from ropewalk.plot import _canvas, _ladder, _plane, _properties, _vectors
from ropewalk.plot._arrows import attention_arrows
from ropewalk.plot._attention import attention_weights as weights_map
from ropewalk.plot._clocks import clock_hands
from ropewalk.plot._diagram import transformer
from ropewalk.plot._matrices import matrix_product
from ropewalk.plot._rotation import rotation
from ropewalk.plot._tables import heatmap, number_table
from ropewalk.plot._turning import rotating_pairs
from ropewalk.plot._waves import exponential, sine, waves

# Token embeddings are made up: normal, as small as those of a language model.
EMBEDDING = np.random.default_rng(2).normal(0, 0.02, 64)
ANIMALS = ["cat", "dog", "car"]  # article 001
VECTORS = np.array([[0.8, 0.6, -0.4], [0.9, 0.5, -0.3], [-0.2, 0.7, 0.3]])
SENTENCE = ["kore", "wa", "pen", "desu"]  # article 004
PRINTED_WEIGHTS = np.array([0.6, 0.2, 0.8, 0.1])  # whose sum is 1.7


def article_figures(article: str | None = None, /, *, lang: Lang = "en") -> dict[str, Figure]:
    """Figures that the articles show or describe.

    Parameters
    ----------
    article : {"000", "001", "002", "003", "004"}, optional
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
    article_animations : What moves.
    ropewalk.articles.show : What the articles say and what is true.

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
    if article is not None:
        _options.choice("article", article, ARTICLES)
    figures = {}
    for name, (height, draw) in _FIGURES.items():
        if article in {None, name[:3]}:
            figures[name] = Figure(figsize=(_canvas.WIDTH, height), layout="constrained")
            draw(figures[name], lang)
    return figures


def article_animations(
    article: str | None = None, /, *, lang: Lang = "en"
) -> dict[str, FuncAnimation]:
    """Animations that the articles show or describe.

    Parameters
    ----------
    article : {"000", "001", "002", "003", "004"}, optional
        Only those of this article.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    dict of FuncAnimation
        By a name that begins with the article: ``"002_binary_moving"``. To be saved or shown:
        Matplotlib warns of an animation that never was.

    Raises
    ------
    ValueError
        If `article` is none of those.

    See Also
    --------
    article_figures : What stands still.

    References
    ----------
    Fleetwood, You could have designed state of the art positional encoding, 2024, for the moving
    vectors of article 002.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.plot.article_animations("003")
    {}
    """
    if article is not None:
        _options.choice("article", article, ARTICLES)
    return {
        name: _canvas.laid_out_once(height, animate, lang)
        for name, (height, animate) in _ANIMATIONS.items()
        if article in {None, name[:3]}
    }


# Article 000


def _transformer(figure: Figure, lang: Lang) -> None:
    transformer(ax=figure.add_subplot(), lang=lang)


def _turns(lang: Lang) -> list[str]:
    """At d = 4: pair 0 is the fast hand, pair 1 the slow one."""
    turns = "pair {}: a turn in {:.4g} positions"
    return [
        _canvas.words(turns, lang, pair, wavelength)["text"]
        for pair, wavelength in enumerate(frequencies.standard(4).wavelengths)
    ]


def _clock_hands(figure: Figure, lang: Lang) -> None:
    table = sinusoidal_encoding(range(7), 4)
    orders: tuple[Order, Order] = ("cos-sin", "sin-cos")
    for ax, order in zip(figure.subplots(2, 1), orders, strict=True):
        clock_hands(table, labels=_turns(lang), order=order, ax=ax, lang=lang)
        ax.set_title(f"({order.replace('-', ', ')})")


def _position_kernel(figure: Figure, lang: Lang) -> None:
    offsets = np.arange(-200, 201)
    _ladder.position_kernel(
        offsets, position_kernel(offsets, 128), ax=figure.add_subplot(), lang=lang
    )


def _rotating_pairs(figure: Figure, lang: Lang) -> FuncAnimation:
    table = sinusoidal_encoding(range(20), 8)
    return rotating_pairs(table, ax=figure.add_subplot(), lang=lang)


# Article 001


def _four_waves(figure: Figure, lang: Lang) -> None:
    positions = np.arange(601) / 20
    table = sinusoidal_encoding(positions, 4)
    waves(table, positions=positions, ax=figure.add_subplot(), lang=lang)


def _three_rows(figure: Figure, lang: Lang) -> None:
    table = sinusoidal_encoding(range(3), 4)
    number_table(table, decimals=6, ax=figure.add_subplot(), lang=lang)


def _similarity(figure: Figure, lang: Lang) -> None:
    first = VECTORS[:, None]
    measures = {
        "inner product": similarity(first, VECTORS, measure="inner"),
        "cosine": similarity(first, VECTORS),
        "distance": similarity(first, VECTORS, measure="euclidean"),
    }
    for ax, (name, alike) in zip(figure.subplots(1, 3), measures.items(), strict=True):
        heatmap(alike, kind="matrix", rows=ANIMALS, columns=ANIMALS, ax=ax, lang=lang)
        ax.title.set(**_canvas.words(name, lang))


def _cross_attention(figure: Figure, lang: Lang) -> None:
    source = ["the", "cat", "sleeps"]
    target = [_canvas.words(token, lang)["text"] for token in ("neko", "ga", "nemuru")]
    meaning = np.eye(3)[[0, 1, 2]], np.eye(3)[[1, 0, 2]]  # cat, then what the two share, sleep
    weights = attention_weights(meaning[1], meaning[0], scale=3.0)
    weights_map(weights, tokens=target, key_tokens=source, ax=[figure.add_subplot()], lang=lang)


# Article 002


def _addition(figure: Figure, lang: Lang, encoding: NDArray[np.float64]) -> None:
    _ladder.addition(EMBEDDING, encoding, ax=figure.add_subplot(), lang=lang)


def _integer_added(figure: Figure, lang: Lang) -> None:
    _addition(figure, lang, integer_encoding(252, 64))


def _binary_added(figure: Figure, lang: Lang) -> None:
    _addition(figure, lang, binary_encoding(252, 64, bits=8, order="msb"))


def _path(figure: Figure, lang: Lang) -> None:
    # Of 64 positions all binary digits vary alike, and no plane is the principal one.
    encodings = {
        "binary": binary_encoding(range(50), 64, bits=8),
        "sinusoidal": sinusoidal_encoding(range(50), 64),
    }
    for ax, (name, encoding) in zip(figure.subplots(1, 2), encodings.items(), strict=True):
        _ladder.path(geometry.principal_plane(EMBEDDING + encoding), ax=ax, lang=lang)
        ax.title.set(**_canvas.words(name, lang))


def _integer_moving(figure: Figure, lang: Lang) -> FuncAnimation:
    positions = range(0, 253, 12)
    table = EMBEDDING + integer_encoding(positions, 64)
    return _ladder.moving_vector(table, positions=positions, ax=figure.add_subplot(), lang=lang)


def _binary_moving(figure: Figure, lang: Lang) -> FuncAnimation:
    table = binary_encoding(range(24), 8)
    return _ladder.moving_vector(table, ax=figure.add_subplot(), lang=lang)


def _sinusoidal_moving(figure: Figure, lang: Lang) -> FuncAnimation:
    table = sinusoidal_encoding(range(24), 16)
    return _ladder.moving_vector(table, ax=figure.add_subplot(), lang=lang)


def _inner_product(figure: Figure, _: Lang) -> None:
    _vectors.inner_product([2.0, 0.0], [3.0, 4.0], ax=figure.add_subplot())


def _rotation(figure: Figure, lang: Lang) -> None:
    turned = rotate(np.tile([1.0, 0.0], (7, 2)))
    rotation(turned, labels=_turns(lang), ax=figure.add_subplot(), lang=lang)


def _scorecard(figure: Figure, lang: Lang) -> None:
    _properties.scorecard(properties.scorecard(lang=lang), ax=figure.add_subplot(), lang=lang)


def _long_term_decay(figure: Figure, lang: Lang) -> None:
    at = range(1, 2**12)
    bound, mean_cosine = properties.abel_bound(at, 128), position_kernel(at, 128) / 64
    _properties.long_term_decay(at, bound, mean_cosine, ax=figure.subplots(2), lang=lang)


# Article 003


def _sine(figure: Figure, lang: Lang, frequency: float) -> None:
    turning = frequencies.from_radians([frequency])
    x = np.linspace(0, 4 * np.pi, 401)
    y = sinusoidal_encoding(x, frequencies=turning)[:, 0]
    sine(x, y, period=turning.wavelengths[0], ax=figure.add_subplot(), lang=lang)


def _heatmap(figure: Figure, lang: Lang) -> None:
    table = sinusoidal_encoding(range(51), 128)
    # From dark to light, as printed, and not from blue by way of white to red.
    heatmap(table, cmap="magma", ax=figure.add_subplot(), lang=lang)


# Article 004


def _right_triangle(figure: Figure, lang: Lang) -> None:
    _vectors.right_triangle(3.0, 4.0, ax=figure.add_subplot(), lang=lang)


def _projection(figure: Figure, _: Lang) -> None:
    _vectors.projection([2.0, 0.0], [3.0, 4.0], ax=figure.add_subplot())


def _matrix_product(figure: Figure, _: Lang) -> None:
    a, b = [[1.0, 2.0], [3.0, -1.0]], [[2.0, 0.0, 1.0], [1.0, 3.0, -2.0]]
    matrix_product(a, b, row=0, column=1, ax=figure.add_subplot())


def _linear_map(figure: Figure, lang: Lang) -> None:
    points = np.random.default_rng(4).uniform(-1, 1, (60, 2))
    shear, stretched_turn = [[1.0, 1.0], [0.0, 1.0]], [[0.0, -2.0], [2.0, 0.0]]
    for row, matrix in zip(figure.subplots(2, 2), (shear, stretched_turn), strict=True):
        _plane.linear_map(points, matrix, ax=row, lang=lang)


def _exponential(figure: Figure, lang: Lang) -> None:
    exponential(ax=figure.add_subplot(), lang=lang)


def _attention_arrows(figure: Figure, lang: Lang) -> None:
    weights = np.tile(PRINTED_WEIGHTS / PRINTED_WEIGHTS.sum(), (4, 1))
    sentence = [_canvas.words(token, lang)["text"] for token in SENTENCE]
    attention_arrows(weights, sentence, query=0, ax=figure.add_subplot(), lang=lang)


def _inner_products(figure: Figure, _: Lang) -> None:
    keys = np.array([[1, 2], [3, -1], [0, 2], [-2, 1]])
    query = np.array([[2, 1, -1, 0], [1, 3, 2, -2]])
    names = ("Kᵀ", "Q", "KᵀQ")
    matrix_product(keys, query, column=0, labels=names, ax=figure.add_subplot())


def _temperature(figure: Figure, lang: Lang) -> None:
    logits, scales = [[0.1, 0.2, 0.3, 0.4], [1.0, 2.0, 3.0, 4.0]], np.geomspace(0.1, 10, 21)
    measured = properties.temperature(logits, scales=scales)
    labels = ["0.1, 0.2, 0.3, 0.4", "1, 2, 3, 4"]
    _properties.temperature(measured, labels=labels, ax=figure.subplots(1, 2), lang=lang)


def _scale_law(figure: Figure, lang: Lang) -> None:
    law = properties.scale_law([4, 16, 64, 256], seed=4)
    _properties.scale_law(law, ax=figure.add_subplot(), lang=lang)


def _polygon_contraction(figure: Figure, lang: Lang) -> None:
    tokens = np.array([[2.0, 0.2], [0.9, 1.8], [-1.2, 1.4], [-2.0, -0.6], [0.4, -1.7]])
    outputs = attention(tokens, tokens, tokens, scale=0.4)
    _plane.polygon_contraction(tokens, outputs, ax=figure.subplots(1, 2), lang=lang)


def _bow_tie(figure: Figure, lang: Lang) -> None:
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    exchange = softmax(10 * np.eye(4)[[0, 1, 3, 2]])  # two corners, or nearly
    _plane.polygon_contraction(square, exchange @ square, ax=figure.subplots(1, 2), lang=lang)


_FIGURES: Mapping[str, tuple[float, Callable[[Figure, Lang], None]]] = {
    "000_transformer": (6.0, _transformer),
    "000_clock_hands": (6.0, _clock_hands),
    "000_position_kernel": (2.8, _position_kernel),
    "001_similarity": (2.8, _similarity),
    "001_waves": (3.6, _four_waves),
    "001_table": (1.4, _three_rows),
    "001_cross_attention": (3.4, _cross_attention),
    "002_integer_added": (3.2, _integer_added),
    "002_binary_added": (3.2, _binary_added),
    "002_path": (3.4, _path),
    "002_inner_product": (3.6, _inner_product),
    "002_rotation": (3.2, _rotation),
    "002_scorecard": (4.6, _scorecard),
    "002_long_term_decay": (4.6, _long_term_decay),
    "003_sin_x": (2.6, partial(_sine, frequency=1.0)),
    "003_sin_half_x": (2.6, partial(_sine, frequency=0.5)),
    "003_heatmap": (4.5, _heatmap),
    "004_right_triangle": (3.4, _right_triangle),
    "004_projection": (3.4, _projection),
    "004_inner_product": (3.6, _inner_product),
    "004_matrix_product": (2.8, _matrix_product),
    "004_linear_map": (6.4, _linear_map),
    "004_exponential": (3.0, _exponential),
    "004_attention_arrows": (3.2, _attention_arrows),
    "004_inner_products": (3.6, _inner_products),
    "004_temperature": (3.0, _temperature),
    "004_scale_law": (3.2, _scale_law),
    "004_polygon_contraction": (3.8, _polygon_contraction),
    "004_bow_tie": (3.8, _bow_tie),
}

_ANIMATIONS: Mapping[str, tuple[float, Callable[[Figure, Lang], FuncAnimation]]] = {
    "000_rotating_pairs": (2.8, _rotating_pairs),
    "002_integer_moving": (2.6, _integer_moving),
    "002_binary_moving": (2.6, _binary_moving),
    "002_sinusoidal_moving": (2.6, _sinusoidal_moving),
}
