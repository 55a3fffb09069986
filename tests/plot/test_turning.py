"""Turning pairs: every frame shows the pairs of its position, and a file can be made of them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from numpy.typing import NDArray
from PIL import Image

import ropewalk as rw


def show(animation: FuncAnimation, frame: int) -> None:
    animation._init_draw()  # type: ignore[attr-defined]
    animation._draw_frame(frame)  # type: ignore[attr-defined]


def hands(ax: Axes) -> NDArray[np.float64]:
    """Where each hand points, seen from its centre."""
    centres = np.array([patch.center for patch in ax.patches if isinstance(patch, Circle)])
    drawn = [line.get_data() for line in ax.lines if line.get_linestyle() == "-"]
    ends = np.array(drawn, dtype=np.float64)  # a hand, x or y, root or tip
    np.testing.assert_array_equal(ends[:, :, 0], centres)
    return np.asarray(ends[:, :, 1] - centres)


def test_hands_point_at_the_pairs_of_the_frame(ax: Axes) -> None:
    animation = rw.plot.rotating_pairs(rw.sinusoidal_encoding(range(9), 4, order="cos-sin"), ax=ax)
    for frame in (0, 5):
        show(animation, frame)
        expected = [[math.cos(frame / b), math.sin(frame / b)] for b in (1, 100)]
        np.testing.assert_allclose(hands(ax), expected, rtol=0, atol=1e-14)


def test_in_the_order_sin_cos_hands_start_at_the_top(ax: Axes) -> None:
    show(rw.plot.rotating_pairs(rw.sinusoidal_encoding([0, 1], 2), ax=ax), 1)
    np.testing.assert_allclose(hands(ax), [[math.sin(1), math.cos(1)]], rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("pairing", "expected"),
    [("interleaved", [[0.6, 0.8], [0, 1]]), ("half", [[1, 0], [0.8, 0.6]])],
)
def test_pairs_are_those_of_the_pairing_and_fill_their_circles(
    ax: Axes, pairing: Any, expected: list[list[float]]
) -> None:
    row = {"interleaved": [3.0, 4.0, 0.0, 5.0], "half": [3.0, 4.0, 0.0, 3.0]}[pairing]
    show(rw.plot.rotating_pairs([row], pairing=pairing, ax=ax), 0)
    np.testing.assert_allclose(hands(ax), expected, rtol=0, atol=1e-15)


def test_a_shorter_row_has_a_shorter_hand_and_zeros_have_none(ax: Axes) -> None:
    animation = rw.plot.rotating_pairs([[2.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]], ax=ax)
    show(animation, 1)
    np.testing.assert_allclose(hands(ax), [[0.0, 0.5], [0.0, 0.0]], rtol=0, atol=1e-15)


def test_tips_are_left_behind_and_the_position_is_told(ax: Axes) -> None:
    table = rw.sinusoidal_encoding(range(10, 20), 2)
    animation = rw.plot.rotating_pairs(table, positions=range(10, 20), ax=ax)
    show(animation, 3)
    (trail,) = [line for line in ax.lines if line.get_linestyle() == "None"]
    np.testing.assert_allclose(np.array(trail.get_data(), float), table[:4].T, rtol=0, atol=1e-15)
    assert "position 13" in [text.get_text() for text in ax.texts]


def test_eight_pairs_stand_in_two_rows(ax: Axes) -> None:
    show(rw.plot.rotating_pairs(rw.sinusoidal_encoding(range(3), 16), ax=ax), 0)
    centres = [patch.center for patch in ax.patches if isinstance(patch, Circle)]
    assert len({x for x, _ in centres}) == 4
    assert len({y for _, y in centres}) == 2
    assert [text.get_text() for text in ax.texts][:2] == ["pair 0", "pair 1"]


def test_labels_are_the_callers_or_japanese(ax: Axes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["Noto Sans CJK JP"])
    table = rw.sinusoidal_encoding(range(2), 4)
    show(rw.plot.rotating_pairs(table, ax=ax, lang="ja"), 1)
    assert {text.get_text() for text in ax.texts} == {"組 0", "組 1", "位置 1"}
    other = Figure().add_subplot()
    show(rw.plot.rotating_pairs(table, labels=["fast", "slow"], ax=other), 0)
    assert {"fast", "slow"} <= {text.get_text() for text in other.texts}


def test_a_small_gif_is_written_with_a_frame_a_row(tmp_path: Path) -> None:
    table = rw.sinusoidal_encoding(range(20), 16)
    path = tmp_path / "pairs.gif"
    rw.plot.rotating_pairs(table).save(path, writer="pillow")
    with Image.open(path) as image:
        assert image.n_frames == 20  # type: ignore[attr-defined]
        assert image.width == 600
    assert path.stat().st_size < 0.5e6


@pytest.mark.parametrize("columns", [3, 18])
def test_columns_are_even_and_at_most_sixteen(ax: Axes, columns: int) -> None:
    with pytest.raises(ValueError, match=f"even number of columns, at most 16, got {columns}"):
        rw.plot.rotating_pairs(np.ones((2, columns)), ax=ax)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positions": range(3)}, r"positions must have shape \(2,\)"),
        ({"labels": ["a"]}, "labels must be 2 strings, got 1"),
        ({"pairing": "both"}, "pairing must be"),
    ],
)
def test_a_wrong_value_is_refused(ax: Axes, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rw.plot.rotating_pairs(np.ones((2, 4)), ax=ax, **options)
    assert not ax.patches
