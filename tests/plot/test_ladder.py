"""Figures of the ladder of encodings: sums, paths, moving vectors and kernels."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

import ropewalk as rw


@dataclass
class Bars:
    """A row of bars, each from its floor up or down to its tip."""

    left: NDArray[np.float64]
    right: NDArray[np.float64]
    floors: NDArray[np.float64]
    tips: NDArray[np.float64]

    @property
    def heights(self) -> NDArray[np.float64]:
        return self.tips - self.floors


def rows_of(ax: Axes) -> list[Bars]:
    rows = []
    for collection in ax.collections:
        assert isinstance(collection, PolyCollection)
        corners = np.array([np.asarray(path.vertices)[:4] for path in collection.get_paths()])
        x, y = corners[..., 0], corners[..., 1]
        for same, other in ((y[:, 0], y[:, 1]), (y[:, 2], y[:, 3]), (x[:, 0], x[:, 3])):
            np.testing.assert_array_equal(same, other)
        rows.append(Bars(x[:, 0], x[:, 1], y[:, 0], y[:, 2]))
    return rows


def embedding(dim: int) -> NDArray[np.float64]:
    """A synthetic token of the size of a trained one."""
    return np.random.default_rng(252).normal(0, 0.02, dim)


# Sums


def test_bars_are_the_token_its_position_and_their_sum_on_one_scale(ax: Axes) -> None:
    token, position = embedding(16), rw.sinusoidal_encoding(252, 16)
    rw.plot.addition(token, position, ax=ax)
    for bars, row in zip(rows_of(ax), (token, position, token + position), strict=True):
        np.testing.assert_allclose(bars.heights, row, rtol=0, atol=1e-14)  # rounded at their floor
        np.testing.assert_allclose((bars.left + bars.right) / 2, np.arange(1, 17), rtol=1e-15)
        assert np.unique(bars.floors).size == 1


def test_rows_do_not_touch(ax: Axes) -> None:
    token, position = [-2.0, 3.0], [3.0, -2.0]
    rw.plot.addition(token, position, ax=ax)
    spans = [(min(*bars.floors, *bars.tips), max(*bars.floors, *bars.tips)) for bars in rows_of(ax)]
    (first, _), (second, below_first), (_, below_second) = spans
    assert below_first < first
    assert below_second < second
    bottom, top = ax.get_ylim()
    assert bottom < spans[2][0] < spans[0][1] < top


@pytest.mark.parametrize("count", [1, 3])
def test_a_path_that_stays_where_it_is_has_one_name_beside_its_dot(ax: Axes, count: int) -> None:
    rw.plot.path([[2.0, 3.0]] * count, ax=ax)
    (name,) = ax.texts
    assert name.get_text() == "0"
    ax.figure.figure.draw_without_rendering()
    dot = ax.transData.transform(np.array([2.0, 3.0]))
    assert name.get_window_extent().y0 > dot[1]


def test_position_252_drowns_the_token(ax: Axes) -> None:  # G002.1
    token = embedding(16)
    rw.plot.addition(token, rw.integer_encoding(252, 16), ax=ax)
    token_bars, position_bars, _ = rows_of(ax)
    assert np.abs(token_bars.heights).max() < position_bars.heights[0] / 2000
    said = [text.get_text().replace("\N{MINUS SIGN}", "-") for text in ax.texts]
    assert said == [
        f"token embedding: {token.min():.5g} to {token.max():.5g}",
        "encoding: 252 to 252",
        f"sum: {(252 + token).min():.5g} to {(252 + token).max():.5g}",
    ]


def test_binary_252_lifts_six_eighths_of_the_columns(ax: Axes) -> None:  # G002.2
    rw.plot.addition(embedding(64), rw.binary_encoding(252, 64, bits=8, order="msb"), ax=ax)
    np.testing.assert_array_equal(rows_of(ax)[2].heights > 0.5, [True] * 48 + [False] * 16)


def test_narrow_bars_show_no_waves_that_are_none(ax: Axes) -> None:
    rw.plot.addition(np.zeros(2048), np.tile([0.0, 1.0], 1024), ax=ax)
    figure = ax.figure.figure
    figure.savefig(picture := io.BytesIO(), dpi=100)
    drawn = np.asarray(Image.open(picture).convert("L"))
    floor = rows_of(ax)[1].floors[0]
    (left, _), (right, y) = ax.transData.transform([(20, floor + 0.5), (2029, floor + 0.5)])
    across = drawn[-round(y), round(left) : round(right)]
    assert 150 < across.min() <= across.max() < 240  # every pixel is partly of a bar


def test_floors_and_values_are_named_at_the_side(ax: Axes) -> None:
    rw.plot.addition([1.0, -1.0], [3.0, 0.0], ax=ax)
    expected = [bars.floors[0] + tick for bars in rows_of(ax) for tick in (-1.0, 0.0, 4.0)]
    np.testing.assert_allclose(ax.get_yticks(), expected, rtol=1e-15)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["\N{MINUS SIGN}1", "0", "4"] * 3


def test_zeros_are_drawn(ax: Axes) -> None:
    rw.plot.addition([0.0, 0.0], [0, 0], ax=ax)
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0", "1"] * 3


def test_a_token_and_its_position_are_vectors_of_one_length(ax: Axes) -> None:
    message = r"embedding and encoding must have one shape, \(dim,\), and not be empty, got "
    for token, position, found in (
        (np.ones(4), np.ones(6), r"\(4,\) and \(6,\)"),
        (np.ones((2, 2)), np.ones((2, 2)), r"\(2, 2\) and \(2, 2\)"),
        ([], [], r"\(0,\) and \(0,\)"),
    ):
        with pytest.raises(ValueError, match=message + found):
            rw.plot.addition(token, position, ax=ax)
    with pytest.raises(ValueError, match="encoding must be finite, got inf"):
        rw.plot.addition([1.0], [np.inf], ax=ax)
    with pytest.raises(ValueError, match=r"encoding must be at most 1e\+100 in size, got 1e\+308"):
        rw.plot.addition([1.0], [-1e308], ax=ax)
    with pytest.raises(TypeError, match=r"embedding must be .* got dtype complex128"):
        rw.plot.addition([1j], [1.0], ax=ax)
    assert not ax.collections


# Paths


def test_a_path_joins_all_points_in_order(ax: Axes) -> None:
    points = rw.sinusoidal_encoding(range(10, 50), 2)
    rw.plot.path(points, positions=range(10, 50), ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), points)
    (dots,) = ax.collections
    np.testing.assert_array_equal(dots.get_offsets(), points)
    np.testing.assert_array_equal(np.asarray(dots.get_array()), np.arange(10, 50))
    assert ax.get_aspect() == 1
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("component 1", "component 2")
    assert dots.colorbar is not None
    assert dots.colorbar.ax.get_ylabel() == "position (tokens)"


def test_a_long_line_is_a_jump(ax: Axes) -> None:  # G002.4
    rw.plot.path(rw.binary_encoding(range(4), 2), ax=ax)
    steps = np.hypot(*np.diff(ax.lines[0].get_xydata(), axis=0).T)
    np.testing.assert_allclose(steps, [1, np.sqrt(2), 1], rtol=1e-15)


def test_some_points_are_named_where_they_stand(ax: Axes) -> None:
    points = np.arange(128.0).reshape(64, 2)
    rw.plot.path(points, ax=ax)
    named = {text.get_text(): text.xy for text in ax.texts}  # type: ignore[attr-defined]
    assert list(named) == ["0", "8", "16", "24", "32", "40", "48", "56"]
    for name, place in named.items():
        np.testing.assert_array_equal(place, points[int(name)])


def test_few_points_are_all_named(ax: Axes) -> None:
    rw.plot.path(np.eye(2), positions=[7, 7.5], ax=ax)
    assert [text.get_text() for text in ax.texts] == ["7", "7.5"]


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_points_are_seen_on_either_background(style: str) -> None:
    with plt.style.context(style):
        ax = rw.plot.path(np.eye(2), ax=Figure().add_subplot())
        rim = ax.collections[0].get_edgecolor()
        np.testing.assert_array_equal(rim, [to_rgba(mpl.rcParams["text.color"])])
        assert np.abs(np.subtract(rim, ax.get_facecolor())[0, :3]).min() > 0.5


def test_a_path_is_in_the_plane(ax: Axes) -> None:
    with pytest.raises(ValueError, match=r"points must have shape \(positions, 2\), got \(4, 3\)"):
        rw.plot.path(np.ones((4, 3)), ax=ax)
    with pytest.raises(ValueError, match="points must be finite, got nan"):
        rw.plot.path([[0.0, np.nan]], ax=ax)
    with pytest.raises(ValueError, match=r"positions must have shape \(2,\), .* got \(3,\)"):
        rw.plot.path(np.eye(2), positions=range(3), ax=ax)
    with pytest.raises(ValueError, match=r"points must have shape .* got \(0,\)"):
        rw.plot.path([], ax=ax)
    with pytest.raises(TypeError, match=r"points must be .* got dtype complex128"):
        rw.plot.path([[1j, 0]], ax=ax)


@pytest.mark.parametrize("count", [100, 101])
def test_outlines_do_not_hide_the_colours_of_many_dots(ax: Axes, count: int) -> None:
    rw.plot.path(np.random.default_rng(0).normal(size=(count, 2)), ax=ax)
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    (dots,) = ax.collections
    assert isinstance(dots, PathCollection)
    as_filled = np.array_equal(dots.get_edgecolor(), dots.get_facecolor())
    assert as_filled == (count > 100)


# Moving vectors


def frames_of(animation: Any, ax: Axes) -> list[tuple[str, NDArray[np.float64]]]:
    """The title and the bars of every frame."""
    frames = []
    for frame in animation.new_frame_seq():
        animation._draw_frame(frame)
        (bars,) = rows_of(ax)
        frames.append((ax.get_title(), bars.heights))
    animation._draw_was_started = True  # it was, here
    return frames


@pytest.mark.parametrize(  # G002.3, G002.5
    "table", [rw.binary_encoding(range(6), 8, bits=4), rw.sinusoidal_encoding(range(6), 8)]
)
def test_a_frame_is_a_row_of_the_table(ax: Axes, table: NDArray[np.float64]) -> None:
    animation = rw.plot.moving_vector(table, positions=range(100, 106), ax=ax)
    frames = frames_of(animation, ax)
    assert [title for title, _ in frames] == [f"position {p}" for p in range(100, 106)]
    np.testing.assert_array_equal([heights for _, heights in frames], table)


def test_the_scale_is_that_of_the_whole_table(ax: Axes) -> None:
    animation = rw.plot.moving_vector([[0.0, 0.0], [-3.0, 5.0]], ax=ax)
    low, high = ax.get_ylim()
    frames_of(animation, ax)
    assert ax.get_ylim() == (low, high)
    assert -4 < low < -3 < 5 < high < 6


def test_an_animation_is_saved_as_a_small_gif(tmp_path: Path) -> None:  # G002.5
    animation = rw.plot.moving_vector(rw.sinusoidal_encoding(range(64), 32))
    path = tmp_path / "vector.gif"
    animation.save(path, writer="pillow")
    with Image.open(path) as image:
        assert image.format == "GIF"
        assert image.width == 600
        assert getattr(image, "n_frames") == 64  # noqa: B009 - of a GIF, not of any image
    assert path.stat().st_size < 1_000_000


def test_an_animation_speaks_japanese(ax: Axes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["Noto Sans CJK JP"])
    frames = frames_of(rw.plot.moving_vector(np.eye(2), ax=ax, lang="ja"), ax)
    assert [title for title, _ in frames] == ["位置 0", "位置 1"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("次元", "値")


def test_a_table_that_cannot_move_is_refused(ax: Axes) -> None:
    with pytest.raises(ValueError, match=r"table must have shape .* got \(4,\)"):
        rw.plot.moving_vector(np.ones(4), ax=ax)
    with pytest.raises(ValueError, match=r"table must have shape .* got \(0, 4\)"):
        rw.plot.moving_vector(np.ones((0, 4)), ax=ax)
    with pytest.raises(ValueError, match="table must be finite, got nan"):
        rw.plot.moving_vector([[np.nan]], ax=ax)
    with pytest.raises(ValueError, match=r"positions must have shape \(2,\), .* got \(3,\)"):
        rw.plot.moving_vector(np.eye(2), positions=range(3), ax=ax)
    with pytest.raises(TypeError, match=r"table must be .* got dtype <U1"):
        rw.plot.moving_vector([["a"]], ax=ax)


# Kernels


def test_a_kernel_is_drawn_as_it_is(ax: Axes) -> None:
    offsets = range(-20, 21)
    kernel = rw.position_kernel(offsets, 16)
    rw.plot.position_kernel(offsets, kernel, ax=ax)
    zero, curve = ax.lines
    np.testing.assert_array_equal(zero.get_ydata(), [0, 0])
    np.testing.assert_array_equal(curve.get_xdata(), offsets)
    np.testing.assert_array_equal(curve.get_ydata(), kernel)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("offset (tokens)", "inner product")
    assert ax.get_legend() is None


def test_several_kernels_are_told_apart_without_colour(ax: Axes) -> None:
    kernels = [rw.position_kernel(range(9), 16, base=base) for base in (1e2, 1e4, 1e6)]
    names = ["100", "10000", "1000000"]
    rw.plot.position_kernel(range(9), kernels, labels=names, ax=ax)
    curves = ax.lines[1:]
    np.testing.assert_array_equal([curve.get_ydata() for curve in curves], kernels)
    assert len({str(curve.get_linestyle()) for curve in curves}) == 3
    assert len({curve.get_color() for curve in curves}) == 3
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == names


def test_kernels_that_do_not_fit_are_refused(ax: Axes) -> None:
    draw = rw.plot.position_kernel
    with pytest.raises(ValueError, match=r"kernel must have shape \(3,\), .* got \(2,\)"):
        draw(range(3), [1.0, 2.0], ax=ax)
    with pytest.raises(ValueError, match=r"kernel must have shape .* got \(2, 2, 3\)"):
        draw(range(3), np.ones((2, 2, 3)), ax=ax)
    with pytest.raises(ValueError, match=r"kernel must have shape .* got \(0, 3\)"):
        draw(range(3), np.ones((0, 3)), ax=ax)
    with pytest.raises(ValueError, match="kernel must be finite, got -inf"):
        draw(range(2), [0.0, -np.inf], ax=ax)
    with pytest.raises(ValueError, match=r"offsets must have one .* got shape \(1, 3\)"):
        draw([[1, 2, 3]], np.ones(3), ax=ax)
    with pytest.raises(ValueError, match=r"offsets must have one dimension and not be empty"):
        draw([], [], ax=ax)
    with pytest.raises(ValueError, match="labels must be 2 strings, got 1"):
        draw(range(3), np.ones((2, 3)), labels=["a"], ax=ax)
    assert not ax.lines
