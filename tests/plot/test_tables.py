"""The heat map of article 003 as it is printed, heat maps of anything, and tables of digits."""

import io
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib import colormaps, font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image
from tests import reference
from tests.data import luminance
from tests.refusals import exactly

import ropewalk as rw
from ropewalk._options import Pairing

LUMA = [0.299, 0.587, 0.114]  # of red, green and blue, as Pillow's mode L has it
TOKENS = ["$x$", "pen", "a"]
WEIGHTS = [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.125, 0.125, 0.75]]


def test_heatmap_shows_the_table_with_dimensions_down(ax: Axes) -> None:
    table = rw.sinusoidal_encoding(range(51), 128)
    assert rw.plot.heatmap(table, ax=ax) is ax
    np.testing.assert_array_equal(ax.images[0].get_array(), table.T)
    assert ax.images[0].origin == "upper"
    assert ax.images[0].get_interpolation() == "nearest"


def test_many_dimensions_make_no_stripes(ax: Axes) -> None:
    """Slow pairs of a wide encoding, 0 and 1 by turns, in a picture of a tenth of the rows."""
    rw.plot.heatmap(np.tile([0.0, 1.0, -1e-9, 1.0], (64, 1024)), limit=1, ax=ax)
    figure = ax.figure.figure
    figure.savefig(picture := io.BytesIO(), dpi=100)
    shown = np.asarray(Image.open(picture).convert("L"), float)
    x, y = ax.transAxes.transform((0.5, 0.5))
    down = shown[-round(y) - 100 : -round(y) + 100, round(x)]
    assert np.ptp(down) < 30


def test_digits_by_turns_are_half_of_each(ax: Axes) -> None:
    """Neither all 0 nor all 1, as the smallest and the largest of a block are."""
    rw.plot.heatmap(rw.binary_encoding(range(8192), 13)[:, :2], ax=ax)
    picture = io.BytesIO()
    ax.figure.figure.savefig(picture, dpi=100)
    shown = np.asarray(Image.open(picture).convert("L"), float)
    x, y = ax.transData.transform((5000, 1))
    across = shown[-round(y), round(x) - 20 : round(x) + 20]
    dark, light = (255 * np.dot(colormaps["cividis"](end)[:3], LUMA) for end in (0.0, 1.0))
    assert np.ptp(across) < 20
    assert dark + 30 < across.mean() < light - 30


def test_one_row_is_counted_by_whole_numbers(ax: Axes) -> None:
    rw.plot.heatmap(np.arange(40.0)[np.newaxis], kind="matrix", ax=ax)
    low, high = sorted(ax.get_ylim())
    assert [tick for tick in ax.get_yticks() if low <= tick <= high] == [0]


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
def test_a_rotation_matrix_is_drawn_as_it_is_written(ax: Axes, pairing: Pairing) -> None:
    rw.plot.heatmap(rw.rotation_matrix(3, 8, pairing=pairing), kind="matrix", ax=ax)
    angles = reference.rotary_angles(3, reference.standard_frequencies(8))
    expected = np.array(reference.rotation_matrix(angles, pairing), float)
    (image,) = ax.images
    np.testing.assert_allclose(np.asarray(image.get_array()), expected, rtol=0, atol=1e-15)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column", "row")


def test_heatmap_has_the_ticks_of_article_003(ax: Axes) -> None:
    rw.plot.heatmap(rw.sinusoidal_encoding(range(51), 128), ax=ax)
    across = [text.get_text() for text in ax.get_xticklabels()]
    left, right = ax.get_xlim()
    shown = [t for t, x in zip(across, ax.get_xticks(), strict=True) if left <= x <= right]
    assert shown == ["0", "10", "20", "30", "40", "50"]
    down = [text.get_text() for text in ax.get_yticklabels()]
    assert down == ["1", "16", "32", "48", "64", "80", "96", "112", "128"]


def test_heatmap_has_the_labels_of_article_003(ax: Axes) -> None:
    rw.plot.heatmap(rw.sinusoidal_encoding(range(51), 128), ax=ax)
    assert ax.get_xlabel() == "t (position)"
    assert ax.get_ylabel() == "dimension"
    bar = ax.images[0].colorbar
    assert bar is not None
    assert bar.get_ticks().tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]


def test_heatmap_centres_cells_on_positions_and_dimensions(ax: Axes) -> None:
    rw.plot.heatmap(
        rw.sinusoidal_encoding(range(100, 108, 2), 6), positions=range(100, 108, 2), ax=ax
    )
    assert list(ax.images[0].get_extent()) == [99, 107, 6.5, 0.5]


def test_heatmap_of_a_single_position_is_one_cell_wide(ax: Axes) -> None:
    rw.plot.heatmap(rw.sinusoidal_encoding([7], 4), positions=[7], ax=ax)
    assert list(ax.images[0].get_extent()) == [6.5, 7.5, 4.5, 0.5]


@pytest.mark.parametrize(
    ("positions", "step"),
    [
        ([0, 1, 3], "2 from 1 to 3"),
        ([2, 2, 2], "0 from 2 to 2"),
        ([0, 1e-9, 5e-9], "4e-09 from 1e-09 to 5e-09"),
        ([*range(1000), 1000.5], "1.5 from 999 to 1000.5"),
    ],
)
def test_heatmap_refuses_uneven_positions(ax: Axes, positions: list[float], step: str) -> None:
    message = f"positions must be evenly spaced, got a step of {step}"
    with pytest.raises(ValueError, match=exactly(message)):
        rw.plot.heatmap(rw.sinusoidal_encoding(positions, 4), positions=positions, ax=ax)


@pytest.mark.parametrize(("zero", "step"), [(0, 1e-9), (0, 0.1), (0, -1 / 3), (1e7, 1e-4)])
def test_heatmap_takes_steps_that_are_even_but_for_rounding(
    ax: Axes, zero: float, step: float
) -> None:
    rw.plot.heatmap(np.ones((100, 2)), positions=zero + step * np.arange(7, 107), ax=ax)
    left, right = ax.get_xlim()
    assert (left, right) == pytest.approx((zero + 6.5 * step, zero + 106.5 * step), rel=1e-14)


def shown(ax: Axes) -> NDArray[np.float64]:
    """Values of the cells as they lie, and NaN where the hatched background is seen."""
    (image,) = ax.images
    seen = np.asarray(image.get_alpha()) == 1
    return np.where(seen, np.asarray(image.get_array(), np.float64), np.nan)


def colour(ax: Axes, value: float) -> NDArray[np.float64]:
    return np.asarray(ax.images[0].to_rgba(np.array(value)))[:3]


def written(ax: Axes) -> dict[tuple[float, float], str]:
    """What is written at (across, down)."""
    return {text.get_position(): text.get_text() for text in ax.texts}


def named(ax: Axes) -> tuple[list[str], list[str]]:
    """Names across and down."""
    across, down = ax.get_xticklabels(), ax.get_yticklabels()
    return [label.get_text() for label in across], [label.get_text() for label in down]


@pytest.mark.parametrize("log", [False, True])
def test_heatmap_of_signed_values_is_blue_below_zero_and_red_above(ax: Axes, log: bool) -> None:
    rw.plot.heatmap([[-1.0, 4.0]], log=log, ax=ax)
    assert ax.images[0].get_clim() == (-4, 4)
    assert (colour(ax, 0.0) > 0.9).all()
    for size in (4.0, 1.0):
        red, _, blue = colour(ax, size)
        assert red > blue
        red, _, blue = colour(ax, -size)
        assert blue > red
        # What is as far from zero is as dark.
        assert colour(ax, -size).mean() == pytest.approx(colour(ax, size).mean(), abs=0.12)


@pytest.mark.parametrize("log", [False, True])
def test_heatmap_of_weights_is_the_lighter_the_larger(ax: Axes, log: bool) -> None:
    rw.plot.heatmap([[0.01, 0.5]], log=log, ax=ax)
    assert ax.images[0].get_clim() == ((0.01, 0.5) if log else (0, 0.5))
    lightness = [luminance(colour(ax, x)) for x in np.geomspace(0.01, 0.5, 9)]
    assert (np.diff(lightness) > 0).all()


def test_heatmap_of_attention_has_queries_down_and_keys_across(ax: Axes) -> None:
    rw.plot.heatmap(WEIGHTS, kind="attention", rows=TOKENS, columns=["1", "2", "3"], ax=ax)
    np.testing.assert_array_equal(shown(ax), WEIGHTS)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("key", "query")
    assert named(ax) == (["1", "2", "3"], TOKENS)
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    assert written(ax)[2, 0] == "0.25"
    assert written(ax)[0, 2] == "0.12"  # 0.125, the even of two


def test_queries_name_the_keys_too_where_these_are_as_many(ax: Axes) -> None:
    rw.plot.heatmap(WEIGHTS, kind="attention", rows=TOKENS, ax=ax)
    assert named(ax) == (TOKENS, TOKENS)
    for values, kind in ((WEIGHTS, "matrix"), (WEIGHTS, "encoding"), (np.eye(3, 4), "attention")):
        other: Any = Figure().add_subplot()
        rw.plot.heatmap(values, kind=kind, rows=TOKENS, ax=other)  # type: ignore[arg-type]
        assert sorted(names == TOKENS for names in named(other)) == [False, True]


def test_heatmap_of_a_matrix_has_rows_down_counted_from_0(ax: Axes) -> None:
    rw.plot.heatmap([[1, 2, 3], [4, 5, 6]], kind="matrix", ax=ax)
    np.testing.assert_array_equal(shown(ax), [[1, 2, 3], [4, 5, 6]])
    assert list(ax.images[0].get_extent()) == [-0.5, 2.5, 1.5, -0.5]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column", "row")
    assert written(ax)[2, 1] == "6"


def test_heatmap_names_the_positions_of_an_encoding_by_tokens(ax: Axes) -> None:
    table = rw.sinusoidal_encoding(range(5, 8), 4)
    rw.plot.heatmap(table, positions=range(5, 8), rows=TOKENS, columns="abcd", ax=ax)
    assert named(ax) == (TOKENS, list("abcd"))
    assert list(ax.get_xticks()) == [5, 6, 7]
    assert list(ax.get_yticks()) == [1, 2, 3, 4]
    assert written(ax)[6, 1] == "\N{MINUS SIGN}0.28"  # sin 6 = -0.2794...


def test_heatmap_names_every_dimension_where_there_is_room(ax: Axes) -> None:
    rw.plot.heatmap(np.ones((3, 16)), columns="abcdefghijklmnop", ax=ax)
    assert named(ax)[1] == list("abcdefghijklmnop")
    assert list(ax.get_yticks()) == list(range(1, 17))


def test_heatmap_goes_backwards_with_its_positions(ax: Axes) -> None:
    rw.plot.heatmap([[1.0], [2.0]], positions=[3, 1], ax=ax)
    assert written(ax) == {(3, 1): "1", (1, 1): "2"}
    assert list(ax.images[0].get_extent()) == [4, 0, 1.5, 0.5]


def test_many_names_are_thinned_out_and_not_drawn_upon_each_other(ax: Axes) -> None:
    tokens = [str(i) for i in range(200)]
    rw.plot.heatmap(np.eye(200), kind="attention", rows=tokens, columns=tokens, ax=ax)
    for names in named(ax):
        steps = np.diff([int(name) for name in names])
        assert steps[0] > 1
        assert (steps == steps[0]).all()


@pytest.mark.parametrize(
    ("hidden", "said"),
    [
        ([[1.0, math.nan], [-math.inf, 2.0]], "no finite value"),
        (
            np.ma.masked_array([[1.0, 3.0], [-4.0, 2.0]], mask=[[False, True], [True, False]]),
            "masked or not finite",
        ),
        (np.ma.masked_invalid([[1.0, math.nan], [-math.inf, 2.0]]), "no finite value"),
    ],
)
def test_heatmap_hatches_what_is_masked_or_not_finite(ax: Axes, hidden: Any, said: str) -> None:
    rw.plot.heatmap(hidden, kind="matrix", ax=ax)
    np.testing.assert_array_equal(shown(ax), [[1, np.nan], [np.nan, 2]])
    assert ax.patch.get_hatch()
    assert ax.images[0].get_clim() == (0, 2)  # -4 behind the mask counts for nothing
    assert set(written(ax).values()) == {"1", "2"}
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [said]
    assert legend.get_patches()[0].get_hatch() == ax.patch.get_hatch()


@pytest.mark.filterwarnings("ignore:Glyph")  # that font is not there
def test_what_is_masked_is_named_in_japanese(ax: Axes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["Noto Sans CJK JP"])
    rw.plot.heatmap(np.ma.masked_equal([[1, 2]], 2), ax=ax, lang="ja")
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_texts()[0].get_text() == "マスク、または有限でない"


def test_heatmap_has_no_legend_where_nothing_is_hatched(ax: Axes) -> None:
    assert rw.plot.heatmap(WEIGHTS, ax=ax).get_legend() is None


@pytest.mark.parametrize(
    ("values", "extend"),
    [([[0.0, 1.0]], "neither"), ([[0.0, 3.0]], "max"), ([[-3, 1]], "min"), ([[-3, 3]], "both")],
)
def test_heatmap_limit_ends_the_colours_and_the_bar_says_so(
    ax: Axes, values: list[list[float]], extend: str
) -> None:
    rw.plot.heatmap(values, limit=1, ax=ax)
    assert ax.images[0].get_clim() == (-1 if values[0][0] < 0 else 0, 1)
    np.testing.assert_array_equal(shown(ax), np.transpose(values))
    bar = ax.images[0].colorbar
    assert bar is not None
    assert bar.extend == extend


def test_logarithmic_colours_part_powers_of_ten_alike_and_end_after_six(ax: Axes) -> None:
    rw.plot.heatmap([[1.0, 1e-3, 1e-6, 1e-9, 0.0]], log=True, ax=ax)
    norm = ax.images[0].norm
    places = norm(np.array([1.0, 1e-3, 1e-6, 1e-9, 0.0]))
    np.testing.assert_allclose(np.asarray(places), [1, 0.5, 0, 0, 0], rtol=0, atol=1e-15)
    bar = ax.images[0].colorbar
    assert bar is not None
    assert bar.extend == "min"


def test_logarithmic_colours_of_signed_values_are_symmetric(ax: Axes) -> None:
    rw.plot.heatmap([[1.0, -1e-2, 1e-4, 0.0]], log=True, ax=ax)
    norm = ax.images[0].norm
    sizes = np.array([1.0, 1e-2, 1e-4])
    above, below = np.asarray(norm(sizes)), np.asarray(norm(-sizes))
    np.testing.assert_allclose(above - 0.5, 0.5 - below, rtol=0, atol=1e-15)
    assert above[0] - above[1] == pytest.approx(above[1] - above[2], abs=1e-15)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0212, "0.021"),
        (0.256, "0.26"),
        (2.5, "2.50"),
        (25.25, "25.2"),
        (1e-7, "1e\N{MINUS SIGN}07"),
    ],
)
def test_written_values_have_two_digits_at_the_least(ax: Axes, value: float, text: str) -> None:
    rw.plot.heatmap([[value]], ax=ax)
    assert written(ax) == {(0, 1): text}


def test_values_are_written_where_they_can_be_read_or_as_told(ax: Axes) -> None:
    table = np.linspace(0, 1, 64).reshape(8, 8)
    assert len(rw.plot.heatmap(table, ax=ax).texts) == 64
    for annotate, count in ((None, 0), (False, 0), (True, 900)):
        figure = Figure(figsize=(6, 4.5)).add_subplot()
        rw.plot.heatmap(np.ones((30, 30)) / 3, annotate=annotate, ax=figure)
        assert len(figure.texts) == count
    assert len(rw.plot.heatmap([[1.0]], annotate=False, ax=Figure().add_subplot()).texts) == 0


def test_heatmap_of_booleans_is_that_of_bits(ax: Axes) -> None:
    rw.plot.heatmap([[True, False]], ax=ax)
    assert written(ax) == {(0, 1): "1", (0, 2): "0"}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "values", [[[0, 0]], [[1e308, -1e308]], [[5e-324]], [[math.nan]], [[-3.4028234663852886e38, 0]]]
)
def test_heatmap_of_extremes_is_drawn(ax: Axes, values: Any, log: bool) -> None:
    rw.plot.heatmap(values, log=log, ax=ax)
    ax.figure.figure.draw_without_rendering()


def test_heatmap_takes_the_name_of_a_colour_map(ax: Axes) -> None:
    assert rw.plot.heatmap(WEIGHTS, cmap="magma", ax=ax).images[0].get_cmap().name == "magma"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "weights"}, "kind must be one of 'encoding', 'attention', 'matrix'"),
        ({"kind": "matrix", "positions": range(3)}, "positions must not be given for kind 'mat"),
        ({"kind": "attention", "rows": "ab"}, "rows must be 3 strings, got 2"),
        ({"rows": ["a"]}, "rows must be 3 strings, got 1"),
        ({"columns": "ab"}, "columns must be 3 strings, got 2"),
        ({"limit": 0}, "limit must be positive and finite, got 0.0"),
        ({"limit": math.nan}, "limit must be positive and finite, got nan"),
        ({"cmap": "none"}, "cmap must be the name of a Matplotlib colour map, got 'none'"),
        ({"cmap": ["a"]}, r"cmap must be the name of a Matplotlib colour map, got \['a'\]"),
    ],
)
def test_heatmap_refuses_a_wrong_value(ax: Axes, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rw.plot.heatmap(WEIGHTS, ax=ax, **options)
    assert not ax.images


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([[1j]], {}, "values must be integers, .* got dtype complex128"),
        ([["a"]], {}, "values must be integers, .* got dtype <U1"),
        (WEIGHTS, {"limit": "1"}, "limit must be a real number, got '1'"),
        (WEIGHTS, {"rows": 3}, "rows must be strings, got 3"),
        (WEIGHTS, {"columns": ["a", 1, "b"]}, r"columns must be strings, got \['a', 1, 'b'\]"),
        (WEIGHTS, {"log": 1}, "log must be True or False, got 1"),
        (WEIGHTS, {"annotate": "yes"}, "annotate must be True or False, got 'yes'"),
    ],
)
def test_heatmap_refuses_a_wrong_kind(ax: Axes, values: Any, options: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        rw.plot.heatmap(values, ax=ax, **options)
    assert not ax.images


def test_heatmap_of_heads_says_who_draws_them(ax: Axes) -> None:
    with pytest.raises(ValueError, match=r"got \(2, 3, 3\); .*attention_weights draws heads"):
        rw.plot.heatmap(np.ones((2, 3, 3)), ax=ax)


def test_number_table_writes_a_row_a_position(ax: Axes) -> None:
    rw.plot.number_table(rw.sinusoidal_encoding(range(3), 4), ax=ax)
    cells = ax.tables[0].get_celld()
    rows = [[cells[row, column].get_text().get_text() for column in range(5)] for row in range(4)]
    names = [f"dimension {i} ({wave})" for i, wave in enumerate(["sin", "cos"] * 2, start=1)]
    assert rows == [
        ["t (position)", *names],
        ["0", "0.0000", "1.0000", "0.0000", "1.0000"],
        ["1", "0.8415", "0.5403", "0.0100", "1.0000"],
        ["2", "0.9093", "\N{MINUS SIGN}0.4161", "0.0200", "0.9998"],
    ]


def test_number_table_takes_labels_and_decimals(ax: Axes) -> None:
    rw.plot.number_table([[0.25, 0.5]], positions=[9], labels=["a", "b"], decimals=1, ax=ax)
    cells = ax.tables[0].get_celld()
    assert [cells[0, column].get_text().get_text() for column in (1, 2)] == ["a", "b"]
    assert [cells[1, column].get_text().get_text() for column in (0, 1)] == ["9", "0.2"]


def test_a_table_of_large_numbers_stays_narrow() -> None:
    ax = rw.plot.number_table([[9e14, -1e15, 1e300]], decimals=1)
    cells = ax.tables[0].get_celld()
    minus = "\N{MINUS SIGN}"
    written = [cells[1, column].get_text().get_text() for column in (1, 2, 3)]
    assert written == ["900000000000000.0", f"{minus}1.0e+15", "1.0e+300"]
    assert ax.figure.get_figwidth() < 7  # type: ignore[union-attr]


@pytest.mark.parametrize("decimals", [-1, 18, 1.5, "2", True])
def test_decimals_are_a_small_integer(decimals: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="decimals must be an integer"):
        rw.plot.number_table(np.ones((2, 2)), decimals=decimals, ax=Figure().add_subplot())


@pytest.mark.parametrize("columns", [2, 4, 5, 6, 8, 16, 40])
def test_heads_and_numbers_of_a_table_do_not_touch(columns: int) -> None:
    ax = rw.plot.number_table(rw.sinusoidal_encoding(range(3), 40)[:, :columns])
    ax.figure.figure.draw_without_rendering()
    (table,) = ax.tables
    for row in range(4):
        boxes = [table[row, column].get_text().get_window_extent() for column in range(columns + 1)]
        assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
        assert boxes[0].x0 >= 0
        assert boxes[-1].x1 <= ax.figure.bbox.x1


def test_no_more_numbers_are_written_than_anybody_reads(ax: Axes) -> None:
    message = "table must have at most 1024 numbers, got 1056; heatmap draws more"
    with pytest.raises(ValueError, match=message):
        rw.plot.number_table(np.ones((33, 32)), ax=ax)
    message = "a @ b must have at most 1024 numbers, got 1600; heatmap draws more"
    with pytest.raises(ValueError, match=message):
        rw.plot.matrix_product(np.ones((40, 2)), np.ones((2, 40)), ax=ax)
