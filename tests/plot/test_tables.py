"""The heat map of article 003 as it is printed, and tables of digits."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import ropewalk as rw


@pytest.fixture
def ax() -> Axes:
    return Figure(figsize=(6, 4.5), layout="constrained").add_subplot()


def test_heatmap_shows_the_table_with_dimensions_down(ax: Axes) -> None:
    table = rw.sinusoidal_encoding(range(51), 128)
    assert rw.plot.heatmap(table, ax=ax) is ax
    np.testing.assert_array_equal(ax.images[0].get_array(), table.T)
    assert ax.images[0].origin == "upper"
    assert ax.images[0].get_interpolation() == "nearest"


def test_heatmap_colours_are_sequential_from_minus_1_to_1(ax: Axes) -> None:
    image = rw.plot.heatmap(rw.sinusoidal_encoding(range(5), 8), ax=ax).images[0]
    assert image.get_clim() == (-1, 1)
    colours = image.get_cmap()(np.linspace(0, 1, 64))[:, :3]
    luminance = colours @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(luminance) > 0).all()


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
    assert ax.get_ylabel() == "i (dimension)"
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


@pytest.mark.parametrize("positions", [[0, 1, 3], [2, 2, 2]])
def test_heatmap_refuses_uneven_positions(ax: Axes, positions: list[int]) -> None:
    with pytest.raises(ValueError, match="positions must be evenly spaced"):
        rw.plot.heatmap(rw.sinusoidal_encoding(positions, 4), positions=positions, ax=ax)


def test_number_table_writes_a_row_a_position(ax: Axes) -> None:
    rw.plot.number_table(rw.sinusoidal_encoding(range(3), 4), ax=ax)
    cells = ax.tables[0].get_celld()
    rows = [[cells[row, column].get_text().get_text() for column in range(5)] for row in range(4)]
    names = [f"dimension {i} ({wave})" for i, wave in enumerate(["sin", "cos"] * 2, start=1)]
    assert rows == [
        ["t (position)", *names],
        ["0", "0.0000", "1.0000", "0.0000", "1.0000"],
        ["1", "0.8415", "0.5403", "0.0100", "1.0000"],
        ["2", "0.9093", "-0.4161", "0.0200", "0.9998"],
    ]


def test_number_table_takes_labels_and_decimals(ax: Axes) -> None:
    rw.plot.number_table([[0.25, 0.5]], positions=[9], labels=["a", "b"], decimals=1, ax=ax)
    cells = ax.tables[0].get_celld()
    assert [cells[0, column].get_text().get_text() for column in (1, 2)] == ["a", "b"]
    assert [cells[1, column].get_text().get_text() for column in (0, 1)] == ["9", "0.2"]
