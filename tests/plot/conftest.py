"""What tests of figures share: each begins and ends with none open, and has Axes to draw on."""

from collections.abc import Iterator

import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure


@pytest.fixture(autouse=True)
def no_figures() -> Iterator[None]:
    plt.switch_backend("agg")
    plt.close("all")
    yield
    plt.close("all")


@pytest.fixture
def ax() -> Axes:
    return Figure(figsize=(6, 4.5), layout="constrained").add_subplot()
