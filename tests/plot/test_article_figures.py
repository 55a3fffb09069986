"""Figures of the articles: which there are, and that they show what the library computes."""

import io

import numpy as np
import pytest
from matplotlib import pyplot as plt

import ropewalk as rw

NAMES = {
    "000": ["000_clock_hands"],
    "001": ["001_waves", "001_table"],
    "003": ["003_sin_x", "003_sin_half_x", "003_heatmap"],
}


@pytest.mark.parametrize("article", NAMES)
def test_an_article_has_its_figures(article: str) -> None:
    assert list(rw.plot.article_figures(article)) == NAMES[article]


def test_without_an_article_all_figures_are_drawn_and_pyplot_knows_none() -> None:
    before = plt.get_fignums()
    assert list(rw.plot.article_figures()) == [name for names in NAMES.values() for name in names]
    assert plt.get_fignums() == before


def test_an_article_without_figures_is_refused() -> None:
    with pytest.raises(ValueError, match="'000', '001', '003', got '002'"):
        rw.plot.article_figures("002")


@pytest.mark.parametrize("name", [name for names in NAMES.values() for name in names])
def test_figure_is_600_pixels_wide_and_holds_all_its_text(name: str) -> None:
    figure = rw.plot.article_figures(name[:3])[name]
    figure.savefig(io.BytesIO(), dpi=100)
    width, height = figure.get_size_inches()
    box = figure.get_tightbbox()
    assert width == 6
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= width
    assert box.y1 <= height


def test_heatmap_of_article_003_is_the_table_of_51_positions() -> None:
    image = rw.plot.article_figures("003")["003_heatmap"].axes[0].images[0]
    np.testing.assert_array_equal(image.get_array(), rw.sinusoidal_encoding(range(51), 128).T)


@pytest.mark.parametrize(("name", "frequency"), [("003_sin_x", 1.0), ("003_sin_half_x", 0.5)])
def test_sines_of_article_003_differ_in_frequency(name: str, frequency: float) -> None:
    curve = rw.plot.article_figures("003")[name].axes[0].lines[1]
    x, y = curve.get_data()
    np.testing.assert_allclose(y, np.sin(frequency * np.asarray(x)), atol=1e-15)
    assert x[-1] == 4 * np.pi


def test_table_of_article_001_has_six_decimals() -> None:
    (ax,) = rw.plot.article_figures("001")["001_table"].axes
    cells = ax.tables[0].get_celld()
    row = [cells[2, column].get_text().get_text() for column in range(5)]
    assert row == ["1", "0.841471", "0.540302", "0.010000", "0.999950"]


def test_clocks_of_article_000_say_how_long_a_turn_is() -> None:
    (ax,) = rw.plot.article_figures("000")["000_clock_hands"].axes
    texts = [text.get_text() for text in ax.texts]
    assert "pair 0: a turn in 6.283 positions" in texts
    assert "pair 1: a turn in 628.3 positions" in texts
