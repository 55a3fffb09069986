"""One figure of every public function of `rw.plot`, for what is asked of all of them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import ropewalk as rw

TOKENS = ["これ", "は", "ペン", "です"]
TABLE = rw.sinusoidal_encoding(range(8), 4)
TURNED = rw.rotate(np.tile([2.0, 0.0, 1.0, 1.0], (7, 1)))
SCORES = np.array(
    [[1.0, -0.5, 2.0, 0.0], [0.5, 1.5, -1.0, 0.5], [-2.0, 0.0, 1.0, 3.0], [0.0, 1.0, 1.0, -1.0]]
)
WEIGHTS = rw.softmax(SCORES)
X = np.linspace(0, 4 * np.pi, 101)
STAGES = rw.attention_stages(SCORES, SCORES, SCORES, causal=True)

EXAMPLES: dict[str, partial[Any]] = {
    "addition": partial(rw.plot.addition, SCORES[0], TABLE[3]),
    "angle_error": partial(rw.plot.angle_error, [10, 1000, 10**5], 64),
    "article_animations": partial(rw.plot.article_animations),
    "article_figures": partial(rw.plot.article_figures),
    "attention_arrows": partial(rw.plot.attention_arrows, WEIGHTS, TOKENS),
    "attention_mask": partial(rw.plot.attention_mask, rw.bias.causal_mask(4), tokens=TOKENS),
    "attention_stages": partial(rw.plot.attention_stages, STAGES, tokens=TOKENS),
    "attention_weights": partial(
        rw.plot.attention_weights, np.stack([WEIGHTS] * 12), tokens=TOKENS
    ),
    "clock_hands": partial(rw.plot.clock_hands, TABLE[:7]),
    "exponential": partial(rw.plot.exponential),
    "heatmap": partial(
        rw.plot.heatmap,
        np.where(np.tri(4, dtype=bool), SCORES, -np.inf),
        kind="attention",
        rows=TOKENS,
        columns=TOKENS,
    ),
    "inner_product": partial(rw.plot.inner_product, [2.0, 1.0], [1.0, 3.0]),
    "linear_map": partial(rw.plot.linear_map, [[1, 2], [0, 1], [-1, 1]], [[1, 1], [0, 1]]),
    "long_term_decay": partial(
        rw.plot.long_term_decay,
        range(1, 400),
        np.geomspace(32, 4, 399),
        np.cos(np.arange(1, 400) / 20),
    ),
    "matrix_product": partial(rw.plot.matrix_product, SCORES[:3], SCORES[:, :2], row=0, column=1),
    "moving_vector": partial(rw.plot.moving_vector, TABLE),
    "number_table": partial(rw.plot.number_table, TABLE[:3]),
    "path": partial(rw.plot.path, TABLE[:, :2]),
    "polygon_contraction": partial(
        rw.plot.polygon_contraction, SCORES[:, 1:3], WEIGHTS @ SCORES[:, 1:3], tokens=TOKENS
    ),
    "position_kernel": partial(
        rw.plot.position_kernel, np.arange(-20, 21), rw.position_kernel(np.arange(-20, 21), 64)
    ),
    "projection": partial(rw.plot.projection, [2.0, 1.0], [1.0, 3.0]),
    "right_triangle": partial(rw.plot.right_triangle),
    "rotating_pairs": partial(rw.plot.rotating_pairs, TABLE),
    "rotation": partial(rw.plot.rotation, TURNED),
    "scale_law": partial(rw.plot.scale_law, rw.properties.scale_law([16, 64], seed=1)),
    "score_by_distance": partial(
        rw.plot.score_by_distance, np.ones((2, 8)), np.ones((2, 8)), range(50), labels=["a", "b"]
    ),
    "scorecard": partial(rw.plot.scorecard, rw.properties.scorecard(32, length=128)),
    "sine": partial(rw.plot.sine, X, np.sin(X), period=2 * np.pi),
    "temperature": partial(
        rw.plot.temperature,
        rw.properties.temperature(SCORES[:2], scales=[0, 1, 10, 100]),
        labels=["one", "other"],
    ),
    "transformer": partial(rw.plot.transformer),
    "wavelengths": partial(
        rw.plot.wavelengths, {"standard": rw.frequencies.standard(64)}, trained_length=4096
    ),
    "waves": partial(rw.plot.waves, TABLE),
}
SPEAKING = sorted(EXAMPLES.keys() - {"inner_product", "matrix_product", "projection"})
ON_AXES = sorted(EXAMPLES.keys() - {"article_animations", "article_figures"})
# Those that return a list of Axes, and how many.
PANELS = {
    "attention_mask": 1,
    "attention_stages": 4,
    "attention_weights": 12,
    "linear_map": 2,
    "long_term_decay": 2,
    "polygon_contraction": 2,
    "temperature": 2,
}


def example(name: str, lang: str = "en", **options: Any) -> Any:
    """Draw an example, in a language where its figure has words."""
    return EXAMPLES[name](**options, **({"lang": lang} if name in SPEAKING else {}))


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
