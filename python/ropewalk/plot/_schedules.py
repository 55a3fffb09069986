"""Schedules of frequencies, side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from ropewalk import _options
from ropewalk._options import Lang
from ropewalk.frequencies import Frequencies
from ropewalk.plot import _canvas
from ropewalk.plot._canvas import COLOURS, LINES

AXIS_MARKERS = ("o", "x", "^", "s")  # of the coordinates of a position, where it has several


def wavelengths(
    schedules: Mapping[str, Frequencies],
    /,
    *,
    trained_length: int | None = None,
    ax: Axes | None = None,
    lang: Lang = "en",
) -> Axes:
    """Wavelengths of schedules, pair by pair, on a logarithmic scale.

    A line a schedule; where positions have several axes, markers of another shape for each axis. A
    pair that stands still is a triangle at the upper edge.

    Parameters
    ----------
    schedules : mapping of str to Frequencies
        What each schedule is called in the legend.
    trained_length : int, optional
        A length to mark (tokens), positive and at most 2**53. A pair whose wavelength lies above it
        made less than a full turn in the training.
    ax : Axes, optional
        Where to draw; a new figure unless given.
    lang : {"en", "ja"}, default "en"
        Language of the labels.

    Returns
    -------
    Axes
        A line a schedule, or one for each of its axes, and then one for the pairs that stand still.

    Raises
    ------
    ValueError
        If there is no schedule, or `trained_length` is out of range.
    TypeError
        If `schedules` is no mapping of names to Frequencies, or `trained_length` no integer.

    See Also
    --------
    ropewalk.frequencies : Schedules.

    References
    ----------
    Peng et al., YaRN: Efficient Context Window Extension of Large Language Models, 2023,
    arXiv:2309.00071, section 3.2, compares wavelengths with the trained length.

    Examples
    --------
    >>> import ropewalk as rw
    >>> from matplotlib.figure import Figure
    >>> schedules = {
    ...     "standard": rw.frequencies.standard(128),
    ...     "linear": rw.frequencies.linear(128, factor=8.0),
    ... }
    >>> ax = rw.plot.wavelengths(schedules, trained_length=4096, ax=Figure().add_subplot())
    >>> [round(float(line.get_ydata()[0]), 2) for line in ax.lines[:2]]
    [6.28, 50.27]
    """
    if not isinstance(schedules, Mapping):  # what a type checker would have said
        msg = (  # type: ignore[unreachable]
            f"schedules must map names to Frequencies, got {type(schedules).__name__}"
        )
        raise TypeError(msg)
    if not schedules:
        msg = "schedules must hold at least one schedule, got none"
        raise ValueError(msg)
    for name, frequencies in schedules.items():
        if not isinstance(name, str):  # what a type checker would have said
            msg = f"schedules must have strings as names, got {name!r}"  # type: ignore[unreachable]
            raise TypeError(msg)
        if not isinstance(frequencies, Frequencies):
            msg = (  # type: ignore[unreachable]
                f"schedules must map names to Frequencies, got {type(frequencies).__name__} "
                f"for {name!r}"
            )
            raise TypeError(msg)
    if trained_length is not None:
        trained_length = _options.context_length("trained_length", trained_length)
    titles = _canvas.own_words(list(schedules), [{}] * len(schedules), lang)
    alone = ax is None
    ax = _canvas.axes(ax, 3.8, lang)
    curves, names = [], []
    for i, (title, frequencies) in enumerate(zip(titles, schedules.values(), strict=True)):
        colour, line = COLOURS[i % len(COLOURS)], LINES[i % len(LINES)]
        rows = np.atleast_2d(frequencies.wavelengths)
        for axis, row in enumerate(rows):
            finite = np.where(np.isinf(row), np.nan, row)
            if frequencies.axes == 1:
                dot = "." if np.isfinite(finite).sum() == 1 else None
                curves += ax.plot(finite, color=colour, linestyle=line, marker=dot)
                names.append(title)
            else:
                marker = AXIS_MARKERS[axis % len(AXIS_MARKERS)]
                curves += ax.plot(finite, marker, color=colour, markersize=4)
                names.append(_canvas.words("{}, axis {}", lang, title["text"], axis))
        still = np.flatnonzero(np.isinf(rows).all(axis=0))
        if still.size:
            edge = ax.get_xaxis_transform()
            top = np.ones(still.size)
            curves += ax.plot(
                still, top, "^", color=colour, markersize=4, transform=edge, clip_on=False
            )
            names.append(_canvas.words("{}, standing still", lang, title["text"]))
    ax.set_yscale("log")
    if trained_length is not None:
        ax.axhline(trained_length, color="0.5", linewidth=0.8)
        label = ax.annotate(
            "",
            (0, trained_length),
            (3, 2),
            xycoords=ax.get_yaxis_transform(),
            textcoords="offset points",
            color="0.5",
        )
        label.set(**_canvas.words("trained length {}", lang, trained_length))
    _canvas.legend(ax, curves, names, alone=alone)
    ax.xaxis.set_major_locator(_canvas.whole_numbers())
    ax.xaxis.label.set(**_canvas.words("pair", lang))
    ax.yaxis.label.set(**_canvas.words("wavelength (tokens)", lang))
    _canvas.open_frame(ax)
    return ax
