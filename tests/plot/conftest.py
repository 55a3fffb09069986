"""Each test of figures begins with none open: other tests of the process may leave theirs."""

import pytest
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def no_figures() -> None:
    plt.switch_backend("agg")
    plt.close("all")
