"""Wavelengths of schedules: what is drawn is what they say."""

from typing import Any

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from tests import reference

import ropewalk as rw
from ropewalk.frequencies import Frequencies, linear, mrope, proportional, standard


def wavelengths_of(frequencies: list[reference.Real]) -> NDArray[np.float64]:
    return np.array([reference.wavelength(w) for w in frequencies], float)


def heights(line: Line2D) -> NDArray[np.float64]:
    return np.asarray(line.get_ydata(), dtype=np.float64)


def names(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_a_line_a_schedule_is_drawn_pair_by_pair(ax: Axes) -> None:
    schedules = {"standard": standard(16), "linear": linear(16, factor=8.0)}
    assert rw.plot.wavelengths(schedules, ax=ax) is ax
    expected = [reference.standard_frequencies(16), reference.linear_frequencies(16, 8.0)]
    for line, frequencies in zip(ax.lines, expected, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), range(8))
        np.testing.assert_allclose(heights(line), wavelengths_of(frequencies), rtol=1e-15)
    assert names(ax) == ["standard", "linear"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("pair", "wavelength (tokens)")
    assert ax.get_yscale() == "log"


def test_pairs_that_stand_still_are_triangles_at_the_upper_edge(ax: Axes) -> None:
    rw.plot.wavelengths({"p-RoPE": proportional(8, fraction=0.5)}, ax=ax)
    turning, still = ax.lines
    np.testing.assert_array_equal(np.isnan(heights(turning)), [False, False, True, True])
    np.testing.assert_array_equal(still.get_xdata(), [2, 3])
    np.testing.assert_array_equal(heights(still), [1, 1])
    assert still.get_transform() == ax.get_xaxis_transform()
    assert still.get_marker() == "^"
    assert names(ax) == ["p-RoPE", "p-RoPE, standing still"]


def test_every_axis_has_a_marker(ax: Axes) -> None:
    rw.plot.wavelengths({"M-RoPE": mrope(8, sections=(2, 1, 1))}, ax=ax)
    drawn = [np.flatnonzero(~np.isnan(heights(line))) for line in ax.lines]
    assert [list(pairs) for pairs in drawn] == [[0, 1], [2], [3]]
    assert len({line.get_marker() for line in ax.lines}) == 3
    assert names(ax) == ["M-RoPE, axis 0", "M-RoPE, axis 1", "M-RoPE, axis 2"]


def test_the_trained_length_is_marked(ax: Axes) -> None:
    rw.plot.wavelengths({"standard": standard(8)}, trained_length=4096, ax=ax)
    np.testing.assert_array_equal(heights(ax.lines[1]), [4096, 4096])
    assert [text.get_text() for text in ax.texts] == ["trained length 4096"]


def test_curves_differ_in_colour_and_dashes_and_five_of_them_in_dashes_alone(ax: Axes) -> None:
    rw.plot.wavelengths({str(i): standard(8) for i in range(30)}, ax=ax)
    dashes = [str(line._dash_pattern) for line in ax.lines]  # type: ignore[attr-defined]
    colours = [line.get_color() for line in ax.lines]
    assert len(set(zip(colours, dashes, strict=True))) == 30
    assert len(set(dashes[:5])) == 5


@pytest.mark.filterwarnings("error")
def test_a_schedule_that_never_turns_is_drawn(ax: Axes) -> None:
    rw.plot.wavelengths({"NoPE": proportional(8, fraction=0.0)}, ax=ax)
    ax.figure.figure.draw_without_rendering()
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), range(4))


def test_labels_are_japanese_where_a_font_is_found(
    ax: Axes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["Noto Sans CJK JP"])
    schedules: dict[str, Frequencies] = {
        "a": proportional(8, fraction=0.5),
        "b": mrope(8, sections=(2, 2)),
    }
    rw.plot.wavelengths(schedules, trained_length=9, ax=ax, lang="ja")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("組", "波長 (トークン)")
    assert names(ax) == ["a", "a、静止", "b、軸 0", "b、軸 1"]
    assert ax.texts[0].get_text() == "学習時の長さ 9"


@pytest.mark.parametrize("schedules", [standard(8), [standard(8)]])
def test_schedules_are_a_mapping(ax: Axes, schedules: dict[str, Frequencies]) -> None:
    with pytest.raises(TypeError, match="schedules must map names to Frequencies, got"):
        rw.plot.wavelengths(schedules, ax=ax)


def test_schedules_have_names(ax: Axes) -> None:
    schedules: dict[Any, Frequencies] = {"standard": standard(8), 2: standard(8)}
    with pytest.raises(TypeError, match="schedules must have strings as names, got 2"):
        rw.plot.wavelengths(schedules, ax=ax)
    assert not ax.lines


def test_schedules_are_frequencies(ax: Axes) -> None:
    schedules = {"standard": standard(8).radians}
    with pytest.raises(TypeError, match="Frequencies, got ndarray for 'standard'"):
        rw.plot.wavelengths(schedules, ax=ax)  # type: ignore[arg-type]


def test_no_schedule_is_refused(ax: Axes) -> None:
    with pytest.raises(ValueError, match="at least one schedule, got none"):
        rw.plot.wavelengths({}, ax=ax)


@pytest.mark.parametrize("length", [0, -1, 2**54])
def test_a_trained_length_is_positive(ax: Axes, length: int) -> None:
    with pytest.raises(ValueError, match=f"trained_length must be an integer .* got {length}"):
        rw.plot.wavelengths({"standard": standard(8)}, trained_length=length, ax=ax)


def test_a_trained_length_is_an_integer(ax: Axes) -> None:
    with pytest.raises(TypeError, match=r"trained_length must be an integer, got 4096\.0"):
        rw.plot.wavelengths({"standard": standard(8)}, trained_length=4096.0, ax=ax)  # type: ignore[arg-type]


def test_a_refusal_draws_nothing(ax: Axes) -> None:
    with pytest.raises(ValueError, match="trained_length"):
        rw.plot.wavelengths({"standard": standard(8)}, trained_length=0, ax=ax)
    assert not ax.lines
