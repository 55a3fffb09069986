"""Figures, drawn with Matplotlib.

Functions draw what they are given into `ax` or into a new figure, and return the Axes;
`moving_vector` and `rotating_pairs` return an animation. `article_figures` and `article_animations`
take no `ax`: they return all by their names. None shows a window or changes a setting.
``lang="ja"`` gives Japanese labels where a Japanese font is installed, and English ones elsewhere.
`inner_product`, `matrix_product` and `projection` have no `lang`: they write symbols and numbers
alone.
"""

try:
    from ropewalk.plot._arrows import attention_arrows
    from ropewalk.plot._articles import article_animations, article_figures
    from ropewalk.plot._attention import attention_mask, attention_stages, attention_weights
    from ropewalk.plot._clocks import clock_hands
    from ropewalk.plot._diagram import transformer
    from ropewalk.plot._ladder import addition, moving_vector, path, position_kernel
    from ropewalk.plot._matrices import matrix_product
    from ropewalk.plot._plane import linear_map, polygon_contraction
    from ropewalk.plot._properties import long_term_decay, scale_law, scorecard, temperature
    from ropewalk.plot._rotation import angle_error, rotation, score_by_distance
    from ropewalk.plot._schedules import wavelengths
    from ropewalk.plot._tables import heatmap, number_table
    from ropewalk.plot._turning import rotating_pairs
    from ropewalk.plot._vectors import inner_product, projection, right_triangle
    from ropewalk.plot._waves import exponential, sine, waves
except ModuleNotFoundError as error:
    msg = "ropewalk.plot needs Matplotlib: pip install 'ropewalk[plot]'"
    raise ImportError(msg) from error

__all__ = [
    "addition",
    "angle_error",
    "article_animations",
    "article_figures",
    "attention_arrows",
    "attention_mask",
    "attention_stages",
    "attention_weights",
    "clock_hands",
    "exponential",
    "heatmap",
    "inner_product",
    "linear_map",
    "long_term_decay",
    "matrix_product",
    "moving_vector",
    "number_table",
    "path",
    "polygon_contraction",
    "position_kernel",
    "projection",
    "right_triangle",
    "rotating_pairs",
    "rotation",
    "scale_law",
    "score_by_distance",
    "scorecard",
    "sine",
    "temperature",
    "transformer",
    "wavelengths",
    "waves",
]
