"""Figures of geometry: what is drawn is what was given, and what is written is true."""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle
from matplotlib.quiver import Quiver
from numpy.typing import NDArray
from tests import reference
from tests.refusals import exactly

import ropewalk as rw

Array = NDArray[np.float64]

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
BOW_TIE = SQUARE[[0, 2, 1, 3]]
CLOUD = [[1.0, 2.0], [-3.0, 0.5], [0.25, -1.0]]
SHEAR = [[1.0, 1.0], [0.0, 1.0]]


@pytest.fixture
def pair() -> Sequence[Axes]:
    return list(Figure(layout="constrained").subplots(1, 2))


def said(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def ends(line: Line2D) -> list[list[float]]:
    points: list[list[float]] = np.asarray(line.get_xydata(), dtype=np.float64).tolist()
    return points


def legend_of(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def tips_of(ax: Axes) -> Array:
    """Components of the arrows, all of which start at the origin, on the scale of the Axes."""
    (arrows,) = [quiver for quiver in ax.collections if isinstance(quiver, Quiver)]
    assert (arrows.angles, arrows.scale_units, arrows.scale) == ("xy", "xy", 1)
    np.testing.assert_array_equal(arrows.XY, np.zeros((arrows.N, 2)))
    return np.transpose([arrows.U, arrows.V])


def drawn_as(kind: type[Any], ax: Axes) -> Any:
    (found,) = [drawn for drawn in ax.collections if type(drawn) is kind]
    return found


# Triangles and projections


@pytest.mark.parametrize(
    ("across", "up"), [(4, 3), (1, 3), (1, 5), (1, 9), (1, 40), (5, 1), (9, 1)]
)
def test_the_marks_of_a_right_triangle_are_apart(across: float, up: float) -> None:
    ax = rw.plot.right_triangle(across, up)
    ax.figure.figure.draw_without_rendering()
    (mark,) = ax.lines
    (theta,) = (text for text in ax.texts if text.get_text() == "θ")
    assert np.ptp(mark.get_xydata(), axis=0).max() <= min(across, up) / 4
    others = [text.get_window_extent() for text in ax.texts if text is not theta]
    for box in (mark.get_window_extent(), *others):
        assert not theta.get_window_extent().padded(-2).overlaps(box)


def test_a_right_triangle_has_the_sides_that_it_says(ax: Axes) -> None:
    rw.plot.right_triangle(12, 5.0, ax=ax)
    for patch in ax.patches[:2]:
        assert isinstance(patch, Polygon)
        np.testing.assert_array_equal(patch.get_xy(), [[0, 0], [12, 0], [12, 5], [0, 0]])
    assert {"adjacent 12", "opposite 5", "hypotenuse 13", "θ"} == set(said(ax))
    assert ax.get_title() == "cos θ = adjacent / hypotenuse = 12 / 13 = 0.9231"
    assert ax.get_aspect() == 1


@pytest.mark.parametrize("name", ["adjacent", "opposite"])
def test_sides_are_positive_lengths(ax: Axes, name: str) -> None:
    sides = {"adjacent": 1.0, "opposite": 1.0}
    for length, problem in ((0, "0.0"), (-1.0, "-1.0"), (math.inf, "inf")):
        message = f"{name} must be positive and finite, got {problem}"
        with pytest.raises(ValueError, match=exactly(message)):
            rw.plot.right_triangle(*(sides | {name: length}).values(), ax=ax)
    with pytest.raises(TypeError, match=f"{name} must be a real number, got '1'"):
        rw.plot.right_triangle(*(sides | {name: "1"}).values(), ax=ax)  # type: ignore[arg-type]


@pytest.mark.parametrize("draw", [rw.plot.projection, rw.plot.inner_product])
@pytest.mark.parametrize("dim", [1, 2, 3, 8])
def test_vectors_keep_their_lengths_and_their_angle(
    ax: Axes, rng: np.random.Generator, draw: Callable[..., Axes], dim: int
) -> None:
    a, b = rng.standard_normal((2, dim))
    draw(a, b, ax=ax)
    first, second = tips_of(ax)
    assert first == pytest.approx([float(reference.distance(a, [0] * dim)), 0], abs=1e-15)
    assert second[1] >= 0
    assert math.hypot(*second) == pytest.approx(float(reference.distance(b, [0] * dim)), rel=1e-14)
    inner = float(reference.inner_product(a, b))
    assert first @ second == pytest.approx(inner, abs=1e-14)
    assert ax.get_aspect() == 1


@pytest.mark.parametrize(("b", "w"), [([1.5, 1.0], 1.5), ([-1.5, 1.0], -1.5), ([0.0, 1.0], 0.0)])
def test_the_foot_of_the_perpendicular_is_where_the_projection_ends(
    ax: Axes, b: list[float], w: float
) -> None:
    rw.plot.projection([2.0, 0.0], b, ax=ax)
    _, perpendicular, shadow, _ = ax.lines
    assert ends(perpendicular) == [[w, 0], [w, 1]]
    assert ends(shadow) == [[0, 0], [w, 0]]
    assert ax.get_title().endswith(f" = {w:g}".replace("-", "\N{MINUS SIGN}"))
    assert {"a", "b", "w", "θ"} == set(said(ax))


@pytest.mark.parametrize(
    ("b", "product", "title"),
    [
        ([1.5, 1.0], 3, "a · b = |a| w = 2 · 1.5 = 3"),
        ([-1.5, 1.0], -3, "a · b = |a| w = 2 · (\N{MINUS SIGN}1.5) = \N{MINUS SIGN}3"),
        ([3.0, 0.0], 6, "a · b = |a| w = 2 · 3 = 6"),
    ],
)
def test_an_inner_product_is_as_long_as_it_is_large(
    ax: Axes, b: list[float], product: float, title: str
) -> None:
    rw.plot.inner_product([2.0, 0.0], b, ax=ax)
    assert ax.get_title() == title
    (bar,) = [line for line in ax.lines if line.get_linewidth() == 8]
    (start, low), (end, same) = ends(bar)
    assert (start, end) == (0, product)
    assert low == same < 0
    left, right = ax.get_xlim()
    assert left < min(0, product) < max(2, product) < right


@pytest.mark.parametrize(
    ("a", "b"), [([1, 3], [3, -1]), ([0.1, 0.3], [0.3, -0.1]), ([7, 5], [5, -7])]
)
def test_what_stands_at_a_right_angle_has_no_product(
    ax: Axes, a: list[float], b: list[float]
) -> None:
    rw.plot.inner_product(a, b, ax=ax)
    assert ax.get_title().endswith(" · 0 = 0")
    assert tips_of(ax)[1][0] == 0
    projection = rw.plot.projection(a, b, ax=Figure().add_subplot())
    assert projection.get_title().endswith(" · 0 = 0")


def test_small_vectors_have_a_product(ax: Axes) -> None:
    rw.plot.inner_product([3e-200, 0.0], [2e-200, 1e-200], ax=ax)
    np.testing.assert_allclose(tips_of(ax), [[3e-200, 0], [2e-200, 1e-200]], rtol=1e-15)


@pytest.mark.parametrize("draw", [rw.plot.projection, rw.plot.inner_product])
def test_a_vector_that_no_axes_hold_is_refused(ax: Axes, draw: Callable[..., Axes]) -> None:
    with pytest.raises(ValueError, match=r"a must be at most 1e\+100 in size, got 1e\+200"):
        draw([1e200, 0.0], [1.0, 1.0], ax=ax)
    with pytest.raises(ValueError, match=r"b must be at most 1e\+100 in size, got 1e\+200"):
        draw([1.0, 0.0], [1e200, 1.0], ax=ax)


@pytest.mark.parametrize("draw", [rw.plot.projection, rw.plot.inner_product])
def test_vectors_that_have_no_angle_are_refused(ax: Axes, draw: Callable[..., Axes]) -> None:
    with pytest.raises(ValueError, match=exactly("a must not be zero")):
        draw([0, 0], [1, 2], ax=ax)
    with pytest.raises(
        ValueError, match=exactly("b must be one vector and not zero, got [0.0, 0.0]")
    ):
        draw([1, 2], [0, 0], ax=ax)
    message = "a must have shape (3,), as wide as b, got shape (2,)"
    with pytest.raises(ValueError, match=exactly(message)):
        draw([1, 2], [1, 2, 3], ax=ax)
    with pytest.raises(TypeError, match="b must be integers, float64"):
        draw([1, 2], [1j, 2], ax=ax)
    assert not ax.lines


# Products


def test_products_are_written_in_full(ax: Axes) -> None:
    rw.plot.matrix_product([[1, 2], [3, 4]], [[5, 6], [7, 8]], ax=ax)
    assert said(ax) == [*"1234", "A", *"5678", "B", "19", "22", "43", "50", "AB", "·", "="]
    assert not ax.patches


def test_numbers_stand_in_their_rows_and_columns(ax: Axes) -> None:
    a, b = np.arange(1, 7).reshape(2, 3), np.arange(11, 23).reshape(3, 4)
    rw.plot.matrix_product(a, b, ax=ax)
    numbers = [text for text in ax.texts if text.get_text().isdigit()]
    found = {text.get_text(): np.array(text.get_position()) for text in numbers}
    for matrix in (a, b, a @ b):
        origin = found[str(matrix[0, 0])]
        for (i, j), value in np.ndenumerate(matrix):
            np.testing.assert_allclose(found[str(value)] - origin, [j, i], rtol=0, atol=1e-15)
    bottom, top = ax.get_ylim()
    assert bottom > top


def test_labels_of_polygons_do_not_lie_on_each_other() -> None:
    corners = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0], [2.0, 4.0]])
    panels = rw.plot.polygon_contraction(corners, 0.05 * corners + 2)
    panels[0].figure.draw_without_rendering()  # type: ignore[union-attr]
    for panel in panels:
        assert [text.get_text() for text in panel.texts[:5]] == ["0", "1", "2", "3", "4"]
        boxes = [text.get_window_extent().padded(-1) for text in panel.texts]
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_large_numbers_of_a_product_are_legible(ax: Axes) -> None:
    rw.plot.matrix_product([[1e20, 0.001]], [[999999.5], [-1e6]], row=0, ax=ax)
    assert {"1e+20", "0", "999999.5", "1e+26"} <= set(said(ax))
    numbers = [text for text in ax.texts if text.get_text() == "1e+20"]
    assert min(float(number.get_fontsize()) for number in numbers) > 6


@pytest.mark.parametrize(
    ("row", "column", "written", "framed"),
    [
        (
            0,
            1,
            ["1·6 + (\N{MINUS SIGN}2)·8 = \N{MINUS SIGN}10"],
            ["1", "\N{MINUS SIGN}2", "6", "8", "\N{MINUS SIGN}10"],
        ),
        (
            1,
            None,
            ["3·5 + 4·7 = 43", "3·6 + 4·8 = 50"],
            ["3", "4", "5", "6", "7", "8", "43", "50"],
        ),
        (
            None,
            0,
            ["1·5 + (\N{MINUS SIGN}2)·7 = \N{MINUS SIGN}9", "3·5 + 4·7 = 43"],
            ["1", "\N{MINUS SIGN}2", "3", "4", "5", "7", "\N{MINUS SIGN}9", "43"],
        ),
    ],
)
def test_rows_and_columns_are_written_out_and_framed(
    ax: Axes, row: int | None, column: int | None, written: list[str], framed: list[str]
) -> None:
    rw.plot.matrix_product([[1, -2], [3, 4]], [[5, 6], [7, 8]], row=row, column=column, ax=ax)
    assert said(ax)[-len(written) :] == written
    frames = [patch.get_bbox() for patch in ax.patches if isinstance(patch, Rectangle)]
    numbers = [text for text in ax.texts[: -len(written)] if text.get_text() not in "AB·="]
    assert framed == [
        number.get_text()
        for number in numbers
        if any(frame.contains(*number.get_position()) for frame in frames)
    ]


def test_long_numbers_are_rounded_and_sums_are_not(ax: Axes) -> None:
    rw.plot.matrix_product([[1 / 3, 1 / 3]], [[1.0], [1.0]], row=0, ax=ax)
    assert said(ax)[-1] == "0.33·1 + 0.33·1 = 0.67"


def test_names_are_shown_letter_for_letter(ax: Axes) -> None:
    names = ("$K^T$", "<b>Q</b>", "KᵀQ")
    rw.plot.matrix_product(SHEAR, SHEAR, labels=names, ax=ax)
    for name in names:
        (text,) = [text for text in ax.texts if text.get_text() == name]
        assert not text.get_parse_math()


def test_what_rounds_to_zero_has_no_sign(ax: Axes) -> None:
    rw.plot.matrix_product([[-0.001]], [[2.0]], row=0, column=0, ax=ax)
    assert said(ax)[-1] == "0·2 = 0"


def test_numbers_of_many_columns_are_smaller(ax: Axes) -> None:
    sizes = []
    for columns in (2, 8):
        rw.plot.matrix_product(np.ones((2, 2)) / 3, np.ones((2, columns)) / 3, ax=ax)
        sizes.append(float(ax.texts[0].get_fontsize()))
        ax.clear()
    assert sizes[0] > sizes[1]


def test_matrices_that_do_not_fit_are_refused(ax: Axes) -> None:
    draw = partial(rw.plot.matrix_product, ax=ax)
    message = "a must have as many columns as b has rows, got shapes (2, 2) and (3, 1)"
    with pytest.raises(ValueError, match=exactly(message)):
        draw(SHEAR, [[1], [2], [3]])
    for name in ("row", "column"):
        message = f"{name} must be an integer from 0 to 1, got 2"
        with pytest.raises(ValueError, match=exactly(message)):
            draw(SHEAR, SHEAR, **{name: 2})  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=f"{name} must be an integer, got 0.5"):
            draw(SHEAR, SHEAR, **{name: 0.5})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=exactly("labels must be 3 strings, got 2")):
        draw(SHEAR, SHEAR, labels=["A", "B"])
    with pytest.raises(ValueError, match=exactly("b must be finite, got nan")):
        draw(SHEAR, [[math.nan], [1]])  # type: ignore[arg-type]
    assert not ax.texts


# Linear maps


@pytest.mark.parametrize(
    ("matrix", "factor"),
    [
        (SHEAR, "1"),
        ([[0, -2], [2, 0]], "4"),
        ([[1, 0], [0, -1]], "\N{MINUS SIGN}1"),
        ([[1, 1], [1, 1]], "0"),
    ],
)
def test_all_points_are_moved_by_one_rule(pair: list[Axes], matrix: Any, factor: str) -> None:
    rw.plot.linear_map(CLOUD, matrix, ax=pair)
    (a, b), (c, d) = matrix
    before, after = (drawn_as(PathCollection, panel) for panel in pair)
    np.testing.assert_array_equal(before.get_offsets(), CLOUD)
    moved = [[a * x + b * y, c * x + d * y] for x, y in CLOUD]
    np.testing.assert_array_equal(after.get_offsets(), moved)
    np.testing.assert_array_equal(before.get_array(), after.get_array())  # colours go with them
    np.testing.assert_array_equal(tips_of(pair[0]), np.eye(2))
    np.testing.assert_array_equal(tips_of(pair[1]), np.transpose(matrix))
    assert [panel.get_title() for panel in pair] == ["before", f"after: areas times {factor}"]
    (square,) = [patch for patch in pair[1].patches if isinstance(patch, Polygon)]
    np.testing.assert_array_equal(square.get_xy()[:4], [[0, 0], [a, c], [a + b, c + d], [b, d]])


@pytest.mark.parametrize("matrix", [SHEAR, [[0, -2], [2, 0]], [[1, 0], [0, -1]], [[1, 1], [1, 1]]])
def test_unit_vectors_are_named_beside_them_and_outside_of_the_square(
    pair: list[Axes], matrix: Any
) -> None:
    rw.plot.linear_map(CLOUD, matrix, ax=pair)
    for panel, move in zip(pair, (np.eye(2), np.array(matrix)), strict=True):
        panel.figure.figure.draw_without_rendering()
        assert said(panel) == ["$e_1$", "$e_2$"]
        square = move @ [[0, 1, 1, 0], [0, 0, 1, 1]]
        boxes = [text.get_window_extent() for text in panel.texts]
        assert not boxes[0].overlaps(boxes[1])
        for box, tip in zip(boxes, move.T, strict=True):
            centre = panel.transData.inverted().transform(
                (box.x0 + box.width / 2, box.y0 + box.height / 2)
            )
            assert centre @ tip == pytest.approx(tip @ tip / 2, abs=0.02 * np.ptp(panel.get_xlim()))
            assert rw.geometry.distance_to_hull([centre], square.T)[0] > 0


def test_what_a_map_makes_nothing_of_has_no_name(pair: list[Axes]) -> None:
    rw.plot.linear_map(CLOUD, [[1, 0], [0, 0]], ax=pair)
    assert said(pair[1]) == ["$e_1$", ""]


def test_the_grid_is_moved_with_its_points(pair: list[Axes]) -> None:
    rw.plot.linear_map(CLOUD, SHEAR, ax=pair)
    before, after = (np.array(drawn_as(LineCollection, p).get_segments()) for p in pair)
    np.testing.assert_allclose(after[..., 0], before[..., 0] + before[..., 1], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(after[..., 1], before[..., 1])
    assert np.abs(before).max() >= 3
    assert (np.abs(before[..., 0]) < 1e-12).all(axis=1).any()  # a line through the origin
    first, second = (np.array([panel.get_xlim(), panel.get_ylim()]) for panel in pair)
    np.testing.assert_array_equal(first, second)


def test_maps_of_other_spaces_are_refused(pair: list[Axes]) -> None:
    message = "points must lie in the plane, in shape (points, 2), got shape (1, 3)"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.plot.linear_map([[1, 2, 3]], np.eye(3), ax=pair)
    with pytest.raises(ValueError, match=exactly("matrix must have shape (2, 2), got (2, 3)")):
        rw.plot.linear_map(np.ones((4, 2)), np.ones((2, 3)))
    with pytest.raises(ValueError, match=exactly("matrix must have shape (2, 2), got (3, 2)")):
        rw.plot.linear_map(CLOUD, np.ones((3, 2)), ax=pair)


# The exponential function


def test_the_curve_is_the_exponential_function(ax: Axes) -> None:
    rw.plot.exponential(ax=ax)
    zero, curve, dots = ax.lines
    for x, y in ends(curve):
        assert y == pytest.approx(float(reference.mp.exp(x)), rel=1e-15)
    assert (np.diff(np.asarray(curve.get_ydata())) > 0).all()
    assert set(zero.get_ydata()) == {0}  # type: ignore[arg-type]
    assert [x for x, _ in ends(dots)] == [-3, -2, -1, 0, 1, 2, 3]
    written = [float(text) for text in said(ax)[:7]]
    assert written == [round(float(reference.mp.exp(x)), 3) for x in range(-3, 4)]
    assert "2.718" in said(ax)[-1]


# Polygons


def test_hulls_and_polygons_are_drawn_apart(pair: list[Axes]) -> None:
    rw.plot.polygon_contraction(SQUARE, BOW_TIE, ax=pair)
    hulls, polygons = pair
    around = [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]
    across = [[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]
    assert [ends(line) for line in hulls.lines if line.get_linestyle() != "None"][::2] == [
        around
    ] * 2
    drawn = [ends(line) for line in polygons.lines if line.get_linestyle() != "None"][::2]
    assert drawn == [around, across]
    assert [panel.get_title() for panel in pair] == ["convex hulls", "in the order of the tokens"]
    assert legend_of(hulls) == ["values: perimeter 4, area 1", "outputs: perimeter 4, area 1"]
    assert legend_of(polygons) == ["values: perimeter 4, area 1", "outputs: perimeter 4.83, area 0"]


def test_values_and_outputs_differ_in_more_than_colour(pair: list[Axes]) -> None:
    for panel in rw.plot.polygon_contraction(SQUARE, 0.5 * SQUARE, ax=pair):
        legend = panel.get_legend()
        assert legend is not None
        first, second = legend.get_lines()
        assert first.get_linestyle() != second.get_linestyle()
        assert first.get_marker() != second.get_marker()


def test_points_bear_the_numbers_or_the_names_of_their_tokens(pair: list[Axes]) -> None:
    rw.plot.polygon_contraction(SQUARE, 0.5 * SQUARE, ax=pair)
    # Lines strike through the outputs of the right panel.
    for panel, kinds in zip(pair, (2, 1), strict=True):
        points = [*SQUARE, *(0.5 * SQUARE)][: 4 * kinds]
        assert said(panel) == [*"0123"] * kinds
        at = [text.xy for text in panel.texts]  # type: ignore[attr-defined]
        np.testing.assert_array_equal(at, points)
    others = list(Figure().subplots(1, 2))
    tokens = ["$a$", "<b>", "c", "\U0010fffd"]
    rw.plot.polygon_contraction(SQUARE, 0.5 * SQUARE, tokens=tokens, ax=others)
    assert said(others[0]) == [*tokens[:3], "3"] * 2
    assert not any(text.get_parse_math() for text in others[0].texts)


@pytest.mark.parametrize("place", [[[1.0, 2.0]], [[1.0, 2.0]] * 3, [[0.0, 0.0], [1.0, 1.0]]])
def test_polygons_without_an_inside_are_drawn(pair: list[Axes], place: Any) -> None:
    panels = rw.plot.polygon_contraction(place, place, ax=pair)
    panels[0].figure.draw_without_rendering()  # type: ignore[union-attr]
    assert all(text.endswith("area 0") for text in legend_of(panels[0]))


def test_points_that_do_not_fit_are_refused(pair: list[Axes]) -> None:
    draw = partial(rw.plot.polygon_contraction, ax=pair)
    message = "values and outputs must have one shape, got (4, 2) and (3, 2)"
    with pytest.raises(ValueError, match=exactly(message)):
        draw(SQUARE, SQUARE[:3])
    message = "outputs must lie in the plane, in shape (points, 2), got shape (4, 3)"
    with pytest.raises(ValueError, match=exactly(message)):
        draw(SQUARE, np.ones((4, 3)))
    with pytest.raises(ValueError, match=exactly("tokens must be 4 strings, got 2")):
        draw(SQUARE, SQUARE, tokens=["a", "b"])
    with pytest.raises(TypeError, match="values must be integers, float64"):
        draw(SQUARE.astype(complex), SQUARE)
    assert not any(panel.lines for panel in pair)
