"""Encodings as curves."""

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

import ropewalk as rw


@pytest.mark.parametrize("period", [0, -1.0, np.nan, np.inf, 1j, "1"])
def test_a_period_is_a_positive_number(ax: Axes, period: float) -> None:
    with pytest.raises((TypeError, ValueError), match="period must be "):
        rw.plot.sine([0, 1], [0, 1], period=period, ax=ax)


def test_points_of_a_sine_are_real(ax: Axes) -> None:
    with pytest.raises(TypeError, match="y must be "):
        rw.plot.sine([0, 1], [0, 1j], period=1.0, ax=ax)


def test_waves_draw_every_column(ax: Axes) -> None:
    positions = np.arange(9) / 4
    table = rw.sinusoidal_encoding(positions, 4)
    assert rw.plot.waves(table, positions=positions, ax=ax) is ax
    assert len(ax.lines) == 2 * 4
    for i, curve in enumerate(ax.lines[::2]):
        np.testing.assert_array_equal(curve.get_xdata(), positions)
        np.testing.assert_array_equal(curve.get_ydata(), table[:, i])


@pytest.mark.parametrize("first", [0, 10**6, 10**12])
@pytest.mark.parametrize("draw", [rw.plot.waves, rw.plot.heatmap])
def test_whole_positions_are_numbered_in_full(ax: Axes, draw: Any, first: int) -> None:
    positions = range(first, first + 20)
    draw(rw.sinusoidal_encoding(positions, 4), positions=positions, ax=ax)
    ax.figure.figure.draw_without_rendering()
    assert ax.xaxis.get_offset_text().get_text() == ""
    said = [
        int(label.get_text())
        for label in ax.get_xticklabels()
        if label.get_text()[0] != "\N{MINUS SIGN}"
    ]
    assert len({*said} & {*positions}) >= 2


def test_waves_mark_whole_positions_only(ax: Axes) -> None:
    positions = np.arange(9) / 4
    rw.plot.waves(rw.sinusoidal_encoding(positions, 4), positions=positions, ax=ax)
    assert len(ax.lines) == 2 * 4
    for dots in ax.lines[1::2]:
        np.testing.assert_array_equal(dots.get_xdata(), [0, 1, 2])
        assert dots.get_marker() == "o"


def test_waves_give_a_pair_one_colour_and_two_styles(ax: Axes) -> None:
    rw.plot.waves(rw.sinusoidal_encoding(range(3), 4), ax=ax)
    colours = [curve.get_color() for curve in ax.lines[::2]]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    assert [curve.get_linestyle() for curve in ax.lines[::2]] == ["-", "--", "-", "--"]


def test_waves_name_the_columns_as_article_001_does(ax: Axes) -> None:
    legend = rw.plot.waves(rw.sinusoidal_encoding(range(3), 4), ax=ax).get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [f"dimension {i} ({w})" for i, w in enumerate(["sin", "cos"] * 2, start=1)]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("t (position)", "value")


@pytest.mark.parametrize(("frequency", "label"), [(1.0, "period 2π"), (0.5, "period 4π")])
def test_sine_marks_its_period(ax: Axes, frequency: float, label: str) -> None:
    x = np.linspace(0, 4 * np.pi, 101)
    rw.plot.sine(x, np.sin(frequency * x), period=2 * np.pi / frequency, ax=ax)
    assert [text.get_text() for text in ax.texts] == [label, ""]
    assert ax.texts[1].xyann == (2 * np.pi / frequency, -1.35)  # type: ignore[attr-defined]


def test_sine_counts_in_multiples_of_pi(ax: Axes) -> None:
    x = np.linspace(-np.pi, 2 * np.pi, 101)
    rw.plot.sine(x, np.sin(x), period=2 * np.pi, ax=ax)
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert labels[1:-1] == ["\N{MINUS SIGN}π", "0", "π", "2π"]


def test_sine_refuses_curves_of_two_lengths(ax: Axes) -> None:
    with pytest.raises(ValueError, match=r"one shape \(points,\), got \(2,\) and \(1,\)"):
        rw.plot.sine([0.0, 1.0], [0.0], period=1.0, ax=ax)


def test_long_periods_have_few_ticks_and_are_seen_whole(ax: Axes) -> None:
    x = np.linspace(0, 1000, 101)
    rw.plot.sine(x, np.sin(x / 200), period=400 * np.pi, ax=ax)
    left, right = ax.get_xlim()
    shown = [tick for tick in ax.get_xticks() if left <= tick <= right]
    assert 3 <= len(shown) <= 8
    tens = np.array(shown) / (10 * np.pi)
    np.testing.assert_allclose(tens, np.round(tens), rtol=1e-15)
    assert right >= 400 * np.pi


def test_a_high_crest_is_seen_whole(ax: Axes) -> None:
    x = np.linspace(0, 10, 101)
    rw.plot.sine(x, 30 * np.sin(x), period=2 * np.pi, ax=ax)
    low, high = ax.get_ylim()
    (_, below) = ax.texts[1].xyann  # type: ignore[attr-defined]
    assert low < below < -30 < 30 < high


@pytest.mark.parametrize("factor", [0.02, 100])
def test_waves_of_any_height_have_legible_ticks(ax: Axes, factor: float) -> None:
    rw.plot.waves(factor * rw.sinusoidal_encoding(range(9), 4), ax=ax)
    low, high = ax.get_ylim()
    assert factor < high < 1.2 * factor
    assert 3 <= sum(low <= tick <= high for tick in ax.get_yticks()) <= 12


def test_a_crest_beyond_any_axis_is_refused(ax: Axes) -> None:
    with pytest.raises(ValueError, match=r"y must be at most 1e\+100 in size, got 1e\+308"):
        rw.plot.sine([0, 1], [0, 1e308], period=1.0, ax=ax)
    assert not ax.lines


@pytest.mark.parametrize("columns", [13, 14])
def test_of_many_waves_a_colour_bar_says_which_is_which(ax: Axes, columns: int) -> None:
    rw.plot.waves(rw.sinusoidal_encoding(range(9), 14)[:, :columns], ax=ax)
    assert ax.get_legend() is None
    _, bar = ax.figure.axes
    assert (bar.get_ylabel(), *bar.get_ylim()) == ("dimension", 0.5, 14.5)
    shades: Any = bar.collections[-1]
    colours = [tuple(line.get_color()) for line in ax.lines[::2]]
    assert [tuple(shades.to_rgba(i + 1)) for i in range(columns)] == colours
