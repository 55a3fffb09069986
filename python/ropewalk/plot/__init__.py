"""Figures, drawn with Matplotlib.

Every function draws what it is given into `ax` or into a new figure, and returns the Axes; none
shows a window or changes a setting. ``lang="ja"`` gives Japanese labels where a Japanese font is
installed, and English ones elsewhere.
"""

try:
    from ropewalk.plot._articles import article_figures
    from ropewalk.plot._attention import attention_mask, attention_stages, attention_weights
    from ropewalk.plot._clocks import clock_hands
    from ropewalk.plot._rotation import angle_error, matrix, rotation, score_by_distance
    from ropewalk.plot._schedules import wavelengths
    from ropewalk.plot._tables import heatmap, number_table
    from ropewalk.plot._waves import sine, waves
except ModuleNotFoundError as error:
    msg = "ropewalk.plot needs Matplotlib: pip install 'ropewalk[plot]'"
    raise ImportError(msg) from error

__all__ = [
    "angle_error",
    "article_figures",
    "attention_mask",
    "attention_stages",
    "attention_weights",
    "clock_hands",
    "heatmap",
    "matrix",
    "number_table",
    "rotation",
    "score_by_distance",
    "sine",
    "wavelengths",
    "waves",
]
