"""Pairs as hands of clocks."""

import itertools
import math

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Circle

import ropewalk as rw


def test_hands_point_at_cosine_and_sine(ax: Axes) -> None:
    assert rw.plot.clock_hands(rw.sinusoidal_encoding(range(3), 4), ax=ax) is ax
    circles = [patch for patch in ax.patches if isinstance(patch, Circle)]
    assert len(ax.lines) == 2 * 3
    for hand, line in enumerate(ax.lines):
        pair, position = divmod(hand, 3)
        centre = np.array(circles[pair].center)
        root, tip = np.transpose(line.get_data())  # type: ignore[arg-type]
        angle = position / 100**pair
        np.testing.assert_allclose(root, centre, rtol=0, atol=1e-15)
        np.testing.assert_allclose(
            tip - centre, [math.cos(angle), math.sin(angle)], rtol=0, atol=1e-15
        )


def test_pair_0_is_the_fast_hand(ax: Axes) -> None:  # E000.1
    rw.plot.clock_hands(rw.sinusoidal_encoding(range(7), 4), ax=ax)
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["0", "1", "2", "3", "4", "5", "6", "pair 0", "0 … 6", "pair 1"]


def test_labels_are_the_positions_given(ax: Axes) -> None:
    positions = [-1, 0.5, 10]
    rw.plot.clock_hands(
        rw.sinusoidal_encoding(positions, 2), positions=positions, labels=["fast"], ax=ax
    )
    assert [text.get_text() for text in ax.texts] == ["\N{MINUS SIGN}1", "0.5", "10", "fast"]


def test_a_clock_needs_whole_pairs(ax: Axes) -> None:
    with pytest.raises(ValueError, match="even number of columns, got 3"):
        rw.plot.clock_hands(np.zeros((2, 3)), ax=ax)


def test_in_the_stored_order_hands_run_clockwise_from_the_top(ax: Axes) -> None:  # E000.4
    rw.plot.clock_hands(rw.sinusoidal_encoding([0, 1], 2), order="sin-cos", ax=ax)
    tips = np.array([line.get_data() for line in ax.lines], dtype=np.float64)[:, :, 1]
    np.testing.assert_allclose(tips, [[0.0, 1.0], [math.sin(1), math.cos(1)]], rtol=0, atol=1e-15)


def test_an_unknown_order_is_refused(ax: Axes) -> None:
    with pytest.raises(ValueError, match="order must be one of 'sin-cos', 'cos-sin', got 'sin'"):
        rw.plot.clock_hands(np.zeros((2, 2)), order="sin", ax=ax)  # type: ignore[arg-type]


@pytest.mark.parametrize("first", [0, 10**6])
@pytest.mark.parametrize("hands", [10, 12, 15])
@pytest.mark.parametrize("pairs", [2, 5])
def test_labels_of_hands_are_apart(hands: int, pairs: int, first: int) -> None:
    positions = range(first, first + hands)
    table = rw.sinusoidal_encoding(positions, 2 * pairs)
    ax = rw.plot.clock_hands(table, positions=positions)
    ax.figure.figure.draw_without_rendering()
    # As elsewhere, two pixels less on every side: boxes are larger than the letters in them.
    boxes = [text.get_window_extent().padded(-2) for text in ax.texts]
    assert len(boxes) > 2 * pairs  # a title a clock, and a label of a hand at the least
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)


def test_more_than_four_clocks_stand_in_rows(ax: Axes) -> None:
    rw.plot.clock_hands(rw.sinusoidal_encoding(range(2), 12), ax=ax)
    centres = [patch.center for patch in ax.patches if isinstance(patch, Circle)]
    across, down = np.transpose(centres)
    np.testing.assert_array_equal(across[4:], across[:2])
    assert len(set(down[:4])) == 1
    assert down[4] == down[5] < down[0] - 3  # the label of a clock, and those of hands, between
    assert ax.texts[-1].get_position()[1] < down[5]


@pytest.mark.parametrize("missing", [math.nan, math.inf])
def test_a_row_that_is_not_finite_has_no_hand_and_no_label(ax: Axes, missing: float) -> None:
    table = rw.sinusoidal_encoding(range(5), 4)
    table[2] = missing
    table[:, 3] = missing  # of a whole clock
    rw.plot.clock_hands(table, ax=ax)
    assert [text.get_text() for text in ax.texts] == ["0", "1", "3", "4", "pair 0", "pair 1"]
    tips = np.array([line.get_xydata() for line in ax.lines])[:, 1]
    assert np.flatnonzero(np.isfinite(tips).all(axis=1)).tolist() == [0, 1, 3, 4]
    ax.figure.figure.draw_without_rendering()
