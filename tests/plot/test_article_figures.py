"""Figures of the articles: which there are, and that they show what the library computes."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text

import ropewalk as rw
from ropewalk.plot import _canvas

ARTICLES = ["000", "001", "002", "003", "004"]


@pytest.fixture(scope="module")
def figures() -> dict[str, Figure]:
    drawn: dict[str, Figure] = rw.plot.article_figures()
    return drawn


@pytest.fixture(scope="module")
def names() -> list[str]:
    """Figures and animations that the ledger names, article by article."""
    return sorted({entry.figure for entry in rw.articles.ledger() if entry.figure})


def test_there_is_a_figure_for_every_one_that_the_ledger_names(
    figures: dict[str, Figure], names: list[str]
) -> None:
    moving = []
    for name, animation in rw.plot.article_animations().items():
        # One that was never drawn is warned of.
        animation._init_draw()  # type: ignore[attr-defined]
        moving.append(name)
    assert sorted([*figures, *moving]) == names
    assert moving == [
        "000_rotating_pairs",
        "002_integer_moving",
        "002_binary_moving",
        "002_sinusoidal_moving",
    ]


@pytest.mark.parametrize("article", ARTICLES)
def test_an_article_has_its_figures_alone(article: str, names: list[str]) -> None:
    before = plt.get_fignums()
    drawn = rw.plot.article_figures(article)
    assert drawn
    assert {name[:3] for name in drawn} == {article}
    assert set(drawn) <= set(names)
    assert plt.get_fignums() == before


def test_sentences_are_japanese_where_a_font_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["Meiryo"])
    monkeypatch.setattr(_canvas, "_letters", lambda _: set(map(chr, range(2**16))))
    said = {
        text.get_text()
        for article in ("001", "004")
        for figure in rw.plot.article_figures(article, lang="ja").values()
        for text in figure.findobj(Text)
    }
    assert {"猫", "が", "眠る", "これ", "は", "ペン", "です"} <= said


@pytest.mark.parametrize("function", [rw.plot.article_figures, rw.plot.article_animations])
def test_an_unknown_article_is_refused(function: Callable[[str], object]) -> None:
    with pytest.raises(ValueError, match="must be one of '000', '001', '002', '003', '004', got"):
        function("005")


# Article 000


def test_clocks_say_how_long_a_turn_is(figures: dict[str, Figure]) -> None:
    assert len(figures["000_clock_hands"].axes) == 2
    for ax in figures["000_clock_hands"].axes:
        texts = [text.get_text() for text in ax.texts]
        assert "pair 0: a turn in 6.283 positions" in texts
        assert "pair 1: a turn in 628.3 positions" in texts


def test_clocks_are_drawn_in_both_orders(figures: dict[str, Figure]) -> None:
    axes = figures["000_clock_hands"].axes
    assert [ax.get_title() for ax in axes] == ["(cos, sin)", "(sin, cos)"]
    tips = [np.asarray(ax.lines[0].get_xydata())[1].tolist() for ax in axes]  # of position 0
    assert tips == [[1, 0], [0, 1]]


def test_kernel_has_its_peak_of_64_at_0_and_is_even(figures: dict[str, Figure]) -> None:
    x, y = (
        np.asarray(data) for data in figures["000_position_kernel"].axes[0].lines[-1].get_data()
    )
    assert (x[y.argmax()], y.max()) == (0, 64)
    np.testing.assert_array_equal(y, y[::-1])


# Article 001


def test_table_has_six_decimals(figures: dict[str, Figure]) -> None:
    (ax,) = figures["001_table"].axes
    cells = ax.tables[0].get_celld()
    row = [cells[2, column].get_text().get_text() for column in range(5)]
    assert row == ["1", "0.841471", "0.540302", "0.010000", "0.999950"]


def test_inner_products_of_animals_exceed_1_and_cosines_do_not(figures: dict[str, Figure]) -> None:
    panels = figures["001_similarity"].axes[:3]
    assert [panel.get_title() for panel in panels] == ["inner product", "cosine", "distance"]
    inner, cosine, distance = (np.asarray(panel.images[0].get_array()) for panel in panels)
    expected = [[1.16, 1.14, 0.14], [1.14, 1.15, 0.08], [0.14, 0.08, 0.62]]
    np.testing.assert_allclose(inner, expected, rtol=1e-14)
    lengths = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(cosine, expected / np.outer(lengths, lengths), rtol=1e-14)
    squares = lengths[:, None] ** 2 + lengths**2 - 2 * np.array(expected)
    np.testing.assert_allclose(distance**2, squares, rtol=0, atol=1e-14)


def test_cross_attention_has_a_row_a_target_token(figures: dict[str, Figure]) -> None:
    weights = np.asarray(figures["001_cross_attention"].axes[0].images[0].get_array())
    e = math.e**3  # scores are 3 where the meanings agree, else 0
    assert weights[0] == pytest.approx(np.array([1, e, 1]) / (e + 2), rel=1e-15)
    assert weights.argmax(axis=1).tolist() == [1, 0, 2]


# Article 002


def test_paths_begin_at_position_0(figures: dict[str, Figure]) -> None:
    first, second = figures["002_path"].axes[:2]
    for ax in (first, second):
        assert len(np.asarray(ax.lines[0].get_xydata())) == 50
        assert "0" in [text.get_text() for text in ax.texts]


def test_integer_drowns_the_embedding(figures: dict[str, Figure]) -> None:
    texts = [text.get_text() for text in figures["002_integer_added"].axes[0].texts]
    assert "encoding: 252 to 252" in texts
    assert "sum: 251.95 to 252.05" in texts  # 252 and a twentieth


def test_integer_moves_every_component_by_the_position() -> None:
    animations = rw.plot.article_animations("002")
    for animation in animations.values():
        # One that was never drawn is warned of.
        animation._init_draw()  # type: ignore[attr-defined]
    heights = []
    for frame in (0, 21):
        bars, _ = animations["002_integer_moving"]._func(frame)  # type: ignore[attr-defined]
        heights.append([path.vertices[2, 1] for path in bars.get_paths()])
    assert len(heights[0]) == 64
    np.testing.assert_allclose(np.subtract(heights[1], heights[0]), 252, rtol=1e-14)


def test_axes_of_an_animation_stand_still() -> None:
    for name, animation in rw.plot.article_animations().items():
        animation._init_draw()  # type: ignore[attr-defined]
        (ax,) = animation._fig.axes  # type: ignore[attr-defined]
        place = ax.get_position().extents
        animation._draw_frame(19)  # type: ignore[attr-defined]
        animation._fig.draw_without_rendering()  # type: ignore[attr-defined]
        np.testing.assert_array_equal(ax.get_position().extents, place, err_msg=name)
        assert ax.get_position().width > 0.8  # of the figure


def test_inner_product_is_that_of_the_ledger(figures: dict[str, Figure]) -> None:
    assert figures["002_inner_product"].axes[0].get_title() == "a · b = |a| w = 2 · 3 = 6"


def test_decay_is_that_of_a_width_of_128(figures: dict[str, Figure]) -> None:
    _, cosines = figures["002_long_term_decay"].axes
    x, y = (np.asarray(data) for data in cosines.lines[1].get_data())
    assert (x[0], x[-1]) == (1, 2**12 - 1)
    at_100 = math.fsum(math.cos(100 / 10_000 ** (i / 64)) for i in range(64)) / 64
    assert y[99] == pytest.approx(at_100, rel=1e-12)


# Article 003


def test_heatmap_is_the_table_of_51_positions(figures: dict[str, Figure]) -> None:
    image = figures["003_heatmap"].axes[0].images[0]
    np.testing.assert_array_equal(image.get_array(), rw.sinusoidal_encoding(range(51), 128).T)
    brightness = image.cmap(np.linspace(0, 1, 64))[:, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(brightness) > 0).all()  # sequential, as printed


@pytest.mark.parametrize(("name", "frequency"), [("003_sin_x", 1.0), ("003_sin_half_x", 0.5)])
def test_sines_differ_in_frequency(figures: dict[str, Figure], name: str, frequency: float) -> None:
    x, y = (np.asarray(data) for data in figures[name].axes[0].lines[1].get_data())
    np.testing.assert_allclose(y, np.sin(frequency * x), rtol=0, atol=1e-15)
    assert x[-1] == 4 * np.pi


# Article 004


def test_triangle_and_projection_are_those_of_the_ledger(figures: dict[str, Figure]) -> None:
    triangle, projection = (
        figures[f"004_{name}"].axes[0] for name in ("right_triangle", "projection")
    )
    assert triangle.get_title() == "cos θ = adjacent / hypotenuse = 3 / 5 = 0.6"
    assert projection.get_title() == "w = |b| cos θ = 5 · 0.6 = 3"


def test_a_shear_keeps_areas_and_the_stretched_turn_does_not(figures: dict[str, Figure]) -> None:
    titles = [ax.get_title() for ax in figures["004_linear_map"].axes]
    assert titles == ["before", "after: areas times 1", "before", "after: areas times 4"]


def test_weights_of_the_demo_sentence_sum_to_1(figures: dict[str, Figure]) -> None:
    texts = [text.get_text() for text in figures["004_attention_arrows"].axes[0].texts]
    assert {"0.35", "0.12", "0.47", "0.06"} <= set(texts)  # 0.6, 0.2, 0.8, 0.1 over 1.7


def test_the_first_column_is_that_of_inner_products(figures: dict[str, Figure]) -> None:
    ax = figures["004_inner_products"].axes[0]
    texts = [text.get_text().replace("\N{MINUS SIGN}", "-") for text in ax.texts]
    sums = [text for text in texts if " = " in text]
    assert len(sums) == 4
    for text in sums:
        product, _, value = text.partition(" = ")
        assert eval(product.replace("·", "*")) == pytest.approx(float(value), rel=1e-15)


def test_outputs_lie_within_the_hull_of_the_values(figures: dict[str, Figure]) -> None:
    left, right = figures["004_polygon_contraction"].axes
    assert (left.get_title(), right.get_title()) == ("convex hulls", "in the order of the tokens")
    drawn = [line.get_xydata() for line in right.lines if line.get_linestyle() == "None"]
    values, outputs = (np.asarray(points) for points in drawn)
    assert not rw.geometry.distance_to_hull(outputs, values).any()


def test_the_counterexample_is_a_square_that_becomes_a_bow_tie(
    figures: dict[str, Figure],
) -> None:
    names = [
        [text.get_text() for text in legend.get_texts()]
        for legend in figures["004_bow_tie"].findobj(Legend)
    ]
    # Two sides and two diagonals of the unit square.
    assert names == [
        ["values: perimeter 4, area 1", "outputs: perimeter 4, area 1"],
        [
            "values: perimeter 4, area 1",
            f"outputs: perimeter {2 + 2 * math.sqrt(2):.2f}, area 0",
        ],
    ]
