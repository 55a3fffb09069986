"""One figure of every public function of `rw.plot`, for what is asked of all of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import ropewalk as rw
from ropewalk._options import Lang

TOKENS = ["これ", "は", "ペン", "です"]
TABLE = rw.sinusoidal_encoding(range(8), 4)
TURNED = rw.rotate(np.tile([2.0, 0.0, 1.0, 1.0], (7, 1)))
SCORES = np.array(
    [[1.0, -0.5, 2.0, 0.0], [0.5, 1.5, -1.0, 0.5], [-2.0, 0.0, 1.0, 3.0], [0.0, 1.0, 1.0, -1.0]]
)
WEIGHTS = rw.softmax(SCORES)
X = np.linspace(0, 4 * np.pi, 101)
STAGES = rw.attention_stages(SCORES, SCORES, SCORES, causal=True)

EXAMPLES: dict[str, Callable[[Lang], Any]] = {
    "addition": lambda lang: rw.plot.addition(SCORES[0], TABLE[3], lang=lang),
    "angle_error": lambda lang: rw.plot.angle_error([10, 1000, 10**5], 64, lang=lang),
    "article_animations": lambda lang: rw.plot.article_animations(lang=lang),
    "article_figures": lambda lang: rw.plot.article_figures(lang=lang),
    "attention_arrows": lambda lang: rw.plot.attention_arrows(WEIGHTS, TOKENS, lang=lang),
    "attention_mask": lambda lang: rw.plot.attention_mask(
        rw.bias.causal_mask(4), tokens=TOKENS, lang=lang
    ),
    "attention_stages": lambda lang: rw.plot.attention_stages(STAGES, tokens=TOKENS, lang=lang),
    "attention_weights": lambda lang: rw.plot.attention_weights(
        np.stack([WEIGHTS] * 12), tokens=TOKENS, lang=lang
    ),
    "clock_hands": lambda lang: rw.plot.clock_hands(TABLE[:7], lang=lang),
    "exponential": lambda lang: rw.plot.exponential(lang=lang),
    "heatmap": lambda lang: rw.plot.heatmap(
        np.where(np.tri(4, dtype=bool), SCORES, -np.inf),
        kind="attention",
        rows=TOKENS,
        columns=TOKENS,
        lang=lang,
    ),
    "inner_product": lambda _: rw.plot.inner_product([2.0, 1.0], [1.0, 3.0]),
    "linear_map": lambda lang: rw.plot.linear_map(
        [[1, 2], [0, 1], [-1, 1]], [[1, 1], [0, 1]], lang=lang
    ),
    "long_term_decay": lambda lang: rw.plot.long_term_decay(
        range(1, 400), np.geomspace(32, 4, 399), np.cos(np.arange(1, 400) / 20), lang=lang
    ),
    "matrix_product": lambda _: rw.plot.matrix_product(SCORES[:3], SCORES[:, :2], row=0, column=1),
    "moving_vector": lambda lang: rw.plot.moving_vector(TABLE, lang=lang),
    "number_table": lambda lang: rw.plot.number_table(TABLE[:3], lang=lang),
    "path": lambda lang: rw.plot.path(TABLE[:, :2], lang=lang),
    "polygon_contraction": lambda lang: rw.plot.polygon_contraction(
        SCORES[:, 1:3], WEIGHTS @ SCORES[:, 1:3], tokens=TOKENS, lang=lang
    ),
    "position_kernel": lambda lang: rw.plot.position_kernel(
        np.arange(-20, 21), rw.position_kernel(np.arange(-20, 21), 64), lang=lang
    ),
    "projection": lambda _: rw.plot.projection([2.0, 1.0], [1.0, 3.0]),
    "right_triangle": lambda lang: rw.plot.right_triangle(lang=lang),
    "rotating_pairs": lambda lang: rw.plot.rotating_pairs(TABLE, lang=lang),
    "rotation": lambda lang: rw.plot.rotation(TURNED, lang=lang),
    "scale_law": lambda lang: rw.plot.scale_law(
        rw.properties.scale_law([16, 64], seed=1), lang=lang
    ),
    "score_by_distance": lambda lang: rw.plot.score_by_distance(
        np.ones((2, 8)), np.ones((2, 8)), range(50), labels=["a", "b"], lang=lang
    ),
    "scorecard": lambda lang: rw.plot.scorecard(rw.properties.scorecard(32, length=128), lang=lang),
    "sine": lambda lang: rw.plot.sine(X, np.sin(X), period=2 * np.pi, lang=lang),
    "temperature": lambda lang: rw.plot.temperature(
        rw.properties.temperature(SCORES[0], scales=[0, 1, 10, 100]), lang=lang
    ),
    "transformer": lambda lang: rw.plot.transformer(lang=lang),
    "wavelengths": lambda lang: rw.plot.wavelengths(
        {"standard": rw.frequencies.standard(64)}, trained_length=4096, lang=lang
    ),
    "waves": lambda lang: rw.plot.waves(TABLE, lang=lang),
}


def figures_of(drawn: Any) -> list[Figure]:
    """Return the figures of what a function of `rw.plot` returns; of an animation, its first."""
    if isinstance(drawn, Figure):
        return [drawn]
    if isinstance(drawn, Axes):
        return [drawn.figure.figure]
    if isinstance(drawn, FuncAnimation):
        drawn._init_draw()  # type: ignore[attr-defined]
        return [drawn._fig]  # type: ignore[attr-defined]
    if isinstance(drawn, Mapping):
        drawn = list(drawn.values())
    assert isinstance(drawn, Sequence | np.ndarray)
    return list(dict.fromkeys(figure for part in np.ravel(drawn) for figure in figures_of(part)))
