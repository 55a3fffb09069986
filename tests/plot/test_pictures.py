"""Small pictures without text: a swapped axis, a lost arrow or another colour is noticed.

Each is compared with what the library itself drew before, by design: other tests know the truth.
``python -m tests.plot.test_pictures`` draws them anew; look at each before it is committed.
"""

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.testing.compare import compare_images
from matplotlib.text import Text

import ropewalk as rw

PICTURES = Path(__file__).parent / "pictures"
# Root mean square of the differences of pixels, from 0 to 255: at most 0.1 between Matplotlib 3.9
# and 3.11, and 26 or more where an axis is swapped.
TOLERANCE = 2.0

TABLE = rw.sinusoidal_encoding(range(12), 16)
SCORES = np.array(
    [[1.0, -0.5, 2.0, 0.0], [0.5, 1.5, -1.0, 0.5], [-2.0, 0.0, 1.0, 3.0], [0.0, 1.0, 1.0, -1.0]]
)
WEIGHTS = rw.softmax(SCORES)
SEES = rw.bias.causal_mask(4)


def _rotating_pairs(ax: Axes) -> None:
    animation: FuncAnimation = rw.plot.rotating_pairs(TABLE[:, :8], ax=ax)
    animation._init_draw()  # type: ignore[attr-defined]
    animation._draw_frame(5)  # type: ignore[attr-defined]


DRAWINGS: dict[str, Callable[[Axes], object]] = {
    "arrows": lambda ax: rw.plot.attention_arrows(WEIGHTS, "abcd", ax=ax),
    "arrows_of_a_query": lambda ax: rw.plot.attention_arrows(WEIGHTS, "abcd", query=2, ax=ax),
    "clock_hands": lambda ax: rw.plot.clock_hands(TABLE[:7, :2], ax=ax),
    "clock_hands_as_stored": lambda ax: rw.plot.clock_hands(TABLE[:7, :2], order="sin-cos", ax=ax),
    "encoding": lambda ax: rw.plot.heatmap(TABLE, ax=ax),
    "mask": lambda ax: rw.plot.attention_mask(SEES, ax=ax),
    "masked_scores": lambda ax: rw.plot.heatmap(
        np.where(SEES, SCORES, -np.inf), kind="attention", ax=ax
    ),
    "rotating_pairs": _rotating_pairs,
    "rotation": lambda ax: rw.plot.rotation(rw.rotate(np.ones((5, 2))), ax=ax),
    "transformer": lambda ax: rw.plot.transformer(ax=ax),
    "waves": lambda ax: rw.plot.waves(TABLE[:, :4], ax=ax),
    "weights": lambda ax: rw.plot.heatmap(WEIGHTS, kind="attention", ax=ax),
    "weights_logarithmic": lambda ax: rw.plot.heatmap(
        WEIGHTS**4, kind="attention", log=True, ax=ax
    ),
}


def draw(name: str, path: Path) -> None:
    """Draw a picture without text, in the settings of Matplotlib itself."""
    with mpl.rc_context(mpl.rcParamsDefault):
        figure = Figure(figsize=(3, 2), dpi=60)
        # 120 x 96 pixels, of which a bar of colours leaves 96 x 96: cells end between pixels.
        ax = figure.add_axes((12 / 180, 12 / 120, 120 / 180, 96 / 120))
        DRAWINGS[name](ax)
        for part in figure.axes:
            part.tick_params(which="both", size=0)
        for artist in (*figure.findobj(Text), *figure.findobj(Legend)):
            artist.set_visible(False)
        figure.savefig(path, metadata={"Software": None})


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_picture_is_as_it_was(name: str, tmp_path: Path) -> None:
    drawn, expected = tmp_path / f"{name}.png", tmp_path / "expected.png"
    draw(name, drawn)
    expected.write_bytes((PICTURES / drawn.name).read_bytes())
    assert compare_images(str(expected), str(drawn), TOLERANCE) is None


def test_every_picture_is_compared() -> None:
    assert {path.stem for path in PICTURES.iterdir()} == set(DRAWINGS)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("weights", lambda ax: rw.plot.heatmap(WEIGHTS.T, kind="attention", ax=ax)),
        ("encoding", lambda ax: rw.plot.heatmap(TABLE[::-1], ax=ax)),
        ("mask", lambda ax: rw.plot.attention_mask(SEES.T, ax=ax)),
        ("clock_hands", DRAWINGS["clock_hands_as_stored"]),
        ("arrows", lambda ax: rw.plot.attention_arrows(WEIGHTS.T, "abcd", ax=ax)),
    ],
)
def test_a_swapped_axis_is_noticed(
    name: str, other: Callable[[Axes], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DRAWINGS, name, other)
    draw(name, tmp_path / "other.png")
    (tmp_path / "expected.png").write_bytes((PICTURES / f"{name}.png").read_bytes())
    paths = str(tmp_path / "expected.png"), str(tmp_path / "other.png")
    assert compare_images(*paths, TOLERANCE) is not None


if __name__ == "__main__":
    for name in DRAWINGS:
        draw(name, PICTURES / f"{name}.png")
