"""Figures of rotary position embedding: what is drawn is what the paper says."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.quiver import Quiver
from numpy.typing import NDArray
from tests import reference
from tests.data import luminance

import ropewalk as rw
from ropewalk._options import Pairing
from ropewalk.frequencies import mrope, yarn

mp = reference.mp
Drawing = Callable[..., Axes]


def arrows_of(ax: Axes) -> list[Quiver]:
    return [quiver for quiver in ax.collections if isinstance(quiver, Quiver)]


def tips_of(ax: Axes) -> list[NDArray[np.float64]]:
    """Components of the arrows of each pair, a row a position."""
    return [np.transpose([arrows.U, arrows.V]) for arrows in arrows_of(ax)]


def heights(line: Line2D) -> NDArray[np.float64]:
    return np.asarray(line.get_ydata(), dtype=np.float64)


def names(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


# Pairs as arrows


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
def test_arrows_are_the_rotated_pairs(ax: Axes, pairing: Pairing) -> None:
    x = [3.0, -1.0, 0.5, 2.0, 0.25, 1.0]
    turned = rw.rotate(np.tile(x, (5, 1)), pairing=pairing)
    rw.plot.rotation(turned, pairing=pairing, ax=ax)
    frequencies = reference.standard_frequencies(6)
    for position in range(5):
        angles = reference.rotary_angles(position, frequencies)
        row = np.array(reference.rotated(x, angles, pairing), float)
        places = reference.features_of_pairs(3, pairing)
        for tips, (i, j) in zip(tips_of(ax), places, strict=True):
            expected = row[[i, j]] / np.hypot(x[i], x[j])
            np.testing.assert_allclose(tips[position], expected, rtol=0, atol=1e-15)


def test_arrows_start_in_the_middle_of_their_circle_and_keep_their_scale(ax: Axes) -> None:
    rw.plot.rotation(np.ones((3, 4)), ax=ax)
    circles = [patch.center for patch in ax.patches]  # type: ignore[attr-defined]
    for arrows, centre in zip(arrows_of(ax), circles, strict=True):
        np.testing.assert_array_equal(arrows.XY, [centre] * 3)
        assert (arrows.angles, arrows.scale_units, arrows.scale) == ("xy", "xy", 1)


def test_shorter_arrows_are_drawn_shorter(ax: Axes) -> None:
    rw.plot.rotation([[3.0, 4.0], [0.0, 2.5]], ax=ax)
    (tips,) = tips_of(ax)
    np.testing.assert_array_equal(np.hypot(*tips.T), [1.0, 0.5])


def test_arrows_are_the_darker_the_earlier(ax: Axes) -> None:
    rw.plot.rotation(np.ones((4, 2)), positions=[10, 11, 12.5, 20], ax=ax)
    (arrows,) = arrows_of(ax)
    np.testing.assert_array_equal(arrows.get_array(), [10, 11, 12.5, 20])
    lightness = [luminance(colour) for colour in arrows.get_cmap()(np.linspace(0, 1, 64))]
    assert (np.diff(lightness) > 0).all()
    assert arrows.colorbar is not None
    assert arrows.colorbar.ax.get_ylabel() == "position (tokens)"


def test_chosen_pairs_are_drawn_and_named(ax: Axes) -> None:
    rw.plot.rotation(np.arange(1.0, 9.0).reshape(1, 8), pairs=[3, 0], ax=ax)
    assert [text.get_text() for text in ax.texts] == ["pair 3", "pair 0"]
    slopes = [tips[0, 1] / tips[0, 0] for tips in tips_of(ax)]
    np.testing.assert_allclose(slopes, [8 / 7, 2 / 1], rtol=1e-15)


def test_a_pair_of_zeros_is_a_point(ax: Axes) -> None:
    rw.plot.rotation(np.zeros((2, 2)), labels=["nothing"], ax=ax)
    assert not tips_of(ax)[0].any()
    assert [text.get_text() for text in ax.texts] == ["nothing"]


@pytest.mark.parametrize("pairs", [[], [2], [-1], [0, 5]])
def test_a_pair_must_be_there(ax: Axes, pairs: list[int]) -> None:
    with pytest.raises(ValueError, match=r"pairs must be one or more integers from 0 to 1, got \["):
        rw.plot.rotation(np.ones((2, 4)), pairs=pairs, ax=ax)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([0.5], r"pairs must be an integer, got 0\.5"),
        ("01", "pairs must be an integer, got '0'"),
        (1, "pairs must be a sequence of integers, got 1"),
        (np.array(1), r"pairs must be a sequence of integers, got array\(1\)"),
    ],
)
def test_pairs_are_integers(ax: Axes, pairs: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        rw.plot.rotation(np.ones((2, 4)), pairs=pairs, ax=ax)


def test_a_table_that_does_not_fit_is_refused(ax: Axes) -> None:
    with pytest.raises(ValueError, match="even number of columns, got 3"):
        rw.plot.rotation(np.ones((2, 3)), ax=ax)
    with pytest.raises(ValueError, match=r"table must have shape .* got \(4,\)"):
        rw.plot.rotation(np.ones(4), ax=ax)
    with pytest.raises(ValueError, match=r"positions must have shape \(2,\), .* got \(3,\)"):
        rw.plot.rotation(np.ones((2, 4)), positions=range(3), ax=ax)
    with pytest.raises(ValueError, match="labels must be 2 strings, got 1"):
        rw.plot.rotation(np.ones((2, 4)), labels=["one"], ax=ax)
    with pytest.raises(ValueError, match="pairing must be one of 'interleaved', 'half', got 'neo'"):
        rw.plot.rotation(np.ones((2, 4)), pairing="neo", ax=ax)  # type: ignore[arg-type]


# Scores


def test_the_score_of_ones_is_the_mean_of_the_cosines(ax: Axes) -> None:
    distances = [-3, 0, 0.5, 1707, 10**6]
    rw.plot.score_by_distance(np.ones(128), np.ones(128), distances, ax=ax)
    frequencies = reference.standard_frequencies(128)
    expected = [mp.fsum(mp.cos(d * w) for w in frequencies) / 64 for d in distances]
    _, curve = ax.lines
    np.testing.assert_array_equal(curve.get_xdata(), distances)
    np.testing.assert_allclose(heights(curve), np.array(expected, float), rtol=0, atol=1e-14)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("distance (tokens)", "score / (|query| |key|)")


@pytest.mark.parametrize(("query", "key"), [(1e200, 1e200), (1e-200, 5e-324), (1e308, 1e-308)])
def test_a_score_depends_on_no_length(ax: Axes, query: float, key: float) -> None:
    rw.plot.score_by_distance(np.full(4, query), np.full(4, key), [0, 1, 30], ax=ax)
    expected = [(mp.cos(d) + mp.cos(mp.mpf(d) / 100)) / 2 for d in (0, 1, 30)]
    np.testing.assert_allclose(heights(ax.lines[1]), np.array(expected, float), rtol=1e-14)


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
def test_a_score_is_that_of_a_key_so_far_before_the_query(
    ax: Axes, rng: np.random.Generator, pairing: Pairing
) -> None:
    query, key = rng.standard_normal((2, 8))
    rw.plot.score_by_distance(query, key, [7], pairing=pairing, base=100.0, ax=ax)
    frequencies = reference.standard_frequencies(8, 100.0)
    rows = [
        np.array(reference.rotated(x, reference.rotary_angles(p, frequencies), pairing), float)
        for x, p in ((query, 1007), (key, 1000))
    ]
    expected = rows[0] @ rows[1] / np.linalg.norm(query) / np.linalg.norm(key)
    np.testing.assert_allclose(heights(ax.lines[1]), [expected], rtol=1e-13)


def test_an_attention_factor_comes_in_twice(ax: Axes) -> None:
    frequencies = yarn(8, factor=4.0, trained_length=1000)
    rw.plot.score_by_distance(np.ones(8), np.ones(8), [0], frequencies=frequencies, ax=ax)
    expected = float(reference.yarn_attention_factor(4.0)) ** 2
    np.testing.assert_allclose(heights(ax.lines[1]), [expected], rtol=1e-15)


def test_every_row_is_a_curve_with_its_label(ax: Axes) -> None:
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    rw.plot.score_by_distance(rows, np.ones((2, 2)), range(3), labels=["a", "b"], ax=ax)
    _, first, second = ax.lines
    assert names(ax) == ["a", "b"]
    assert first.get_color() != second.get_color()
    assert first.get_linestyle() != second.get_linestyle()


def test_vectors_that_do_not_fit_are_refused(ax: Axes) -> None:
    score = rw.plot.score_by_distance
    with pytest.raises(ValueError, match=r"query and key must have one shape.* \(4,\) and \(6,\)"):
        score(np.ones(4), np.ones(6), range(3), ax=ax)
    with pytest.raises(ValueError, match="query and key must not be zero"):
        score(np.ones(4), np.zeros(4), range(3), ax=ax)
    with pytest.raises(ValueError, match=r"query must have an even number of features .* got 3"):
        score(np.ones(3), np.ones(3), range(3), ax=ax)
    with pytest.raises(ValueError, match="labels must be 1 strings, got 2"):
        score(np.ones(4), np.ones(4), range(3), labels=["a", "b"], ax=ax)
    with pytest.raises(TypeError, match="query must be"):
        score([1j, 0], [1, 0], range(3), ax=ax)
    assert not ax.lines


@pytest.mark.parametrize("distances", [3, [], [[1, 2]]])
def test_distances_are_a_line(ax: Axes, distances: Any) -> None:
    with pytest.raises(ValueError, match="distances must have one dimension and not be empty, got"):
        rw.plot.score_by_distance(np.ones(4), np.ones(4), distances, ax=ax)


# Angles in float32


def test_errors_are_those_of_angles_rounded_to_float32(ax: Axes) -> None:
    positions = [1, 1000, 123457, 9999991]
    rw.plot.angle_error(positions, 128, ax=ax)
    frequencies = reference.standard_frequencies(128)
    expected = []
    for position in positions:
        usual = [float(np.float32(position) * np.float32(float(w))) for w in frequencies]
        expected.append([mp.mpf(a) - position * w for a, w in zip(usual, frequencies, strict=True)])
    errors = np.abs(np.array(expected, float))
    largest, mean, _ = ax.lines
    np.testing.assert_array_equal(largest.get_xdata(), positions)
    np.testing.assert_allclose(heights(largest), errors.max(axis=1), rtol=0, atol=1e-15)
    rms = np.sqrt((errors**2).mean(axis=1))
    np.testing.assert_allclose(heights(mean), rms, rtol=0, atol=1e-15)
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "position (tokens)",
        "error of the angle (radians)",
    )


def test_the_line_is_the_rounding_of_a_cosine_to_bfloat16(ax: Axes) -> None:
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    spacing = 1.0 - float(np.nextafter(bfloat16(1), bfloat16(0)))
    rw.plot.angle_error([1, 10], 4, ax=ax)
    np.testing.assert_array_equal(heights(ax.lines[2]), [spacing / 2] * 2)
    assert names(ax)[2] == "rounding of a cosine to bfloat16"


def test_an_attention_factor_does_not_make_an_angle_wrong(ax: Axes) -> None:
    frequencies = yarn(8, factor=1.0, trained_length=1000, attention_factor=2.0)
    rw.plot.angle_error([1000], frequencies=frequencies, ax=ax)
    rw.plot.angle_error([1000], 8, ax=ax)
    np.testing.assert_allclose(heights(ax.lines[0]), heights(ax.lines[3]), rtol=0, atol=1e-15)


def test_whole_frequencies_are_not_wrong_at_all(ax: Axes) -> None:
    rw.plot.angle_error([1, 10, 1000], 2, ax=ax)
    assert (heights(ax.lines[0]) < 1e-15).all()
    ax.figure.figure.draw_without_rendering()


@pytest.mark.parametrize("positions", [[0, 1], [-5], range(3)])
def test_positions_on_a_logarithmic_scale_are_above_0(ax: Axes, positions: Any) -> None:
    with pytest.raises(ValueError, match="positions must be above 0 on a logarithmic scale, got"):
        rw.plot.angle_error(positions, 4, ax=ax)


@pytest.mark.parametrize("draw", [rw.plot.score_by_distance, rw.plot.angle_error])
def test_several_axes_are_no_line(ax: Axes, draw: Drawing) -> None:
    data = [[1, 2]] if draw is rw.plot.angle_error else [np.ones(8), np.ones(8), [1, 2]]
    with pytest.raises(ValueError, match="frequencies must have one axis, got 3"):
        draw(*data, frequencies=mrope(8, sections=(2, 1, 1)), ax=ax)


def test_angles_need_a_width(ax: Axes) -> None:
    with pytest.raises(TypeError, match="dim must be given where frequencies is not"):
        rw.plot.angle_error([1, 2], ax=ax)


def test_one_position_has_one_colour(ax: Axes) -> None:
    rw.plot.rotation(np.ones((1, 6)), ax=ax)
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    colours = np.concatenate([arrows.get_facecolor() for arrows in arrows_of(ax)])
    assert (colours == colours[0]).all()


def test_names_of_many_pairs_stand_apart() -> None:
    ax = rw.plot.rotation(rw.rotate(np.ones((3, 64))))
    ax.figure.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 32
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_a_row_that_is_not_finite_leaves_the_others(odd: float) -> None:
    table = rw.rotate(np.ones((6, 4)), range(6))
    (first, _), others = rw.plot.rotation(table).collections, np.arange(6) != 2
    table[2, 0] = odd
    (again, _) = rw.plot.rotation(table).collections
    for one, other in ((first.U, again.U), (first.V, again.V)):  # type: ignore[attr-defined]
        np.testing.assert_array_equal(np.asarray(other)[others], np.asarray(one)[others])
