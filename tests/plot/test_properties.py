"""Figures of measured properties: what is drawn is what was measured."""

from functools import partial
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

import ropewalk as rw
from ropewalk.properties import Cell, Scorecard

CARD = Scorecard(
    ("integer", "RoPE", "ALiBi"),
    ("unique", "N-D"),
    (
        (Cell(8.0, True, "a"), Cell(0.25, False, "b")),
        (Cell(1.5, True, "a"), Cell(2e-16, True, "b")),
        (Cell(0.5, True, "a"), Cell(None, None, "c")),
    ),
    "en",
)
DISTANCES = np.array([1, 2, 3, 4, 5, 9])
BOUND = np.array([9.0, 8.0, 6.0, 5.0, 3.0, 2.0])
COSINE = np.array([0.9, 0.5, 0.1, -0.2, 0.3, -0.1])
MEASURED = rw.properties.temperature([[1.0, 2.0], [3.0, 3.0]], scales=[0, 0.5, 1, 10])
LAW = rw.properties.scale_law([4, 64], length=64, seed=1)


@pytest.fixture
def panels() -> list[Axes]:
    return list(Figure(layout="constrained").subplots(2))


def heights(line: Line2D) -> NDArray[np.float64]:
    return np.asarray(line.get_ydata(), dtype=np.float64)


def legend(ax: Axes) -> list[str]:
    found = ax.get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


# The scorecard


def test_a_card_has_a_cell_for_each_property_and_encoding(ax: Axes) -> None:
    assert rw.plot.scorecard(CARD, ax=ax) is ax
    found = [(text.get_position(), text.get_text()) for text in ax.texts]
    assert found == [
        ((0, 0), "✓ 8"),
        ((1, 0), "✓ 1.5"),
        ((2, 0), "✓ 0.5"),
        ((0, 1), "✗ 0.25"),
        ((1, 1), "✓ 2e-16"),
        ((2, 1), "not defined"),
    ]
    cells = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    assert [cell.get_xy() for cell in cells] == [
        (x - 0.5, y - 0.5) for y in range(2) for x in range(3)
    ]
    colours = [cell.get_facecolor() for cell in cells]
    assert colours[0] == colours[1] == colours[2] == colours[4] != colours[3]
    assert to_hex(colours[5], keep_alpha=True) == "#00000000"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["integer", "RoPE", "ALiBi"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["unique", "N-D"]
    assert ax.yaxis_inverted()


def test_signs_are_drawn_where_the_usual_font_has_none() -> None:
    with mpl.rc_context({"font.family": "DejaVu Serif"}):
        ax = rw.plot.scorecard(CARD, ax=Figure().add_subplot())
        ax.figure.figure.draw_without_rendering()  # a letter that is missing would be an error


def test_a_whole_card_fits_in_six_hundred_pixels() -> None:
    ax = rw.plot.scorecard(rw.properties.scorecard(32, length=128))
    ax.figure.set_dpi(100)
    ax.figure.canvas.draw()
    assert ax.figure.bbox.width == 600
    for text, cell in zip(ax.texts, ax.patches, strict=True):
        inside, box = text.get_window_extent(), cell.get_window_extent()
        assert box.x0 < inside.x0 < inside.x1 < box.x1
        assert box.y0 < inside.y0 < inside.y1 < box.y1
        assert text.get_fontsize() >= 8  # type: ignore[operator]
    for label in ax.get_yticklabels():
        assert label.get_window_extent().x0 >= 0


# Long-term decay


def test_decay_shows_the_bound_its_octaves_and_the_first_negative(panels: list[Axes]) -> None:
    drawn = rw.plot.long_term_decay(DISTANCES, BOUND, COSINE, ax=panels)
    assert drawn == panels
    curve, means = drawn[0].lines
    np.testing.assert_array_equal(curve.get_xdata(), DISTANCES)
    np.testing.assert_array_equal(heights(curve), BOUND)
    # In the middle of what distances there are of an octave, on the axis as it is drawn.
    middles = [1, np.sqrt(2 * 3), np.sqrt(4 * 5), 9]
    np.testing.assert_allclose(np.asarray(means.get_xdata()), middles, rtol=1e-15)
    np.testing.assert_array_equal(heights(means), [9, 7, 4, 2])
    zero, cosine, mark = drawn[1].lines
    np.testing.assert_array_equal(heights(zero), [0, 0])
    np.testing.assert_array_equal(heights(cosine), COSINE)
    assert (mark.get_xdata(), mark.get_ydata()) == ([4], [0])
    assert drawn[1].texts[0].get_text() == "first below 0 at 4"
    assert [panel.get_xscale() for panel in drawn] == ["log", "log"]
    assert [panel.get_ylabel() for panel in drawn] == ["bound", "mean cosine"]
    assert drawn[1].get_xlabel() == "distance (tokens)"


@pytest.mark.parametrize(("first", "side"), [(1e4, "left"), (1e15, "right")])
def test_the_first_negative_of_any_distance_is_named_inside(
    panels: list[Axes], first: float, side: str
) -> None:
    rw.plot.long_term_decay([1e3, first, 2.0**53], [3, 2, 1], [1, -1, 1], ax=panels)
    assert panels[1].texts[0].get_horizontalalignment() == side


def test_the_mark_of_an_octave_is_a_mean(panels: list[Axes]) -> None:
    drawn = rw.plot.long_term_decay([4, 5, 6], [9.0, 0.0, 0.0], [1.0, 1.0, 1.0], ax=panels)
    assert heights(drawn[0].lines[1]).tolist() == [3]


def test_one_distance_is_seen(panels: list[Axes]) -> None:
    rw.plot.long_term_decay([3], [1.0], [-1.0], ax=panels)
    for panel, curve in zip(panels, (0, 1), strict=True):
        assert panel.get_xlim() == (0.3, 30)
        assert panel.lines[curve].get_marker() == "."


def test_a_cosine_that_stays_positive_has_no_mark(panels: list[Axes]) -> None:
    rw.plot.long_term_decay(range(1, 3), [2, 1], [1, 0], ax=panels)
    assert len(panels[1].lines) == 2
    assert len(panels[1].texts) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1], [1, 2]), "have one shape"),
        (([[1]], [[1]], [[1]]), "have one shape"),
        (([0, 1], [1, 2], [1, 2]), "^distances must be above 0 and rising, got 0$"),
        (([2, 1], [1, 2], [1, 2]), "^distances must be above 0 and rising, got 1 after 2$"),
        (([1.5, 1.5], [1, 2], [1, 2]), r"above 0 and rising, got 1\.5 after 1\.5$"),
        (([], [], []), "not be empty"),
        (([1, 2], [1, -0.5], [1, 1]), r"^bound must not be negative, got -0\.5$"),
        (([1], [np.nan], [1]), "finite, got nan"),
    ],
)
def test_decay_refuses_what_does_not_fit(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rw.plot.long_term_decay(*arguments)


# Temperature and scale


def test_temperature_shows_keys_and_the_largest_weight(panels: list[Axes]) -> None:
    drawn = rw.plot.temperature(MEASURED, labels=["a_b", "$x$"], ax=panels)
    for panel, expected in zip(drawn, (np.exp(MEASURED.entropy), MEASURED.largest), strict=True):
        for line, row in zip(panel.lines, expected.T, strict=True):
            np.testing.assert_array_equal(line.get_xdata(), [0, 0.5, 1, 10])
            np.testing.assert_array_equal(heights(line), row)
    assert heights(drawn[0].lines[1]) == pytest.approx(
        [2, 2, 2, 2], rel=1e-14
    )  # equal logits stay flat
    assert heights(drawn[1].lines[0])[[0, 3]] == pytest.approx(
        [0.5, 1 / (1 + np.exp(-10))], rel=1e-15
    )
    assert legend(drawn[0]) == ["a_b", "$x$"]
    assert drawn[0].lines[0].get_linestyle() != drawn[0].lines[1].get_linestyle()
    assert [panel.get_ylabel() for panel in drawn] == ["keys attended to", "largest weight"]


@pytest.mark.parametrize(
    ("shape", "shared", "named"),
    [((1, 2), False, [True, True]), ((2, 1), False, [True, True]), ((2, 1), True, [False, True])],
)
def test_every_axis_across_has_a_name(
    shape: tuple[int, int], shared: bool, named: list[bool]
) -> None:
    for draw, name in (
        (partial(rw.plot.temperature, MEASURED), "scale of the scores"),
        (partial(rw.plot.long_term_decay, DISTANCES, BOUND, COSINE), "distance (tokens)"),
    ):
        panels = Figure().subplots(*shape, sharex=shared)
        assert [panel.get_xlabel() == name for panel in draw(ax=panels)] == named


def test_one_row_is_one_curve_without_a_legend(panels: list[Axes]) -> None:
    rw.plot.temperature(rw.properties.temperature([1.0, 2.0], scales=[0]), ax=panels)
    assert [len(panel.lines) for panel in panels] == [1, 1]
    assert panels[0].get_legend() is None


def test_the_scale_law_shows_both_variances_on_their_lines(ax: Axes) -> None:
    rw.plot.scale_law(LAW, ax=ax)
    width, one = ax.lines[:2]
    np.testing.assert_array_equal(heights(width), [4, 64])
    np.testing.assert_array_equal(heights(one), [1, 1])
    raw, scaled = (bars for bars in ax.containers if isinstance(bars, ErrorbarContainer))
    np.testing.assert_array_equal(heights(raw.lines[0]), LAW.variance)
    np.testing.assert_array_equal(heights(scaled.lines[0]), LAW.variance / [4, 64])
    bars: LineCollection = raw.lines[2][0]
    ends = [segment[:, 1] for segment in bars.get_segments()]
    reach = 5 * LAW.standard_error
    np.testing.assert_allclose(
        ends, np.transpose([LAW.variance - reach, LAW.variance + reach]), rtol=1e-15
    )
    assert legend(ax) == ["variance of q · k", "variance of q · k / √D"]
    assert raw.lines[0].get_marker() != scaled.lines[0].get_marker()


# Refusals


def test_what_is_no_result_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^card must be a Scorecard, got dict$"):
        rw.plot.scorecard({})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^measured must be a Temperature, got list$"):
        rw.plot.temperature([])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^law must be a ScaleLaw, got Temperature$"):
        rw.plot.scale_law(MEASURED)  # type: ignore[arg-type]


def test_labels_are_as_many_as_curves(panels: list[Axes]) -> None:
    with pytest.raises(ValueError, match=r"^labels must be 2 strings, got 1$"):
        rw.plot.temperature(MEASURED, labels=["one"], ax=panels)
