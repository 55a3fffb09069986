"""Every public figure is legible: in light and dark styles, in both languages, 600 pixels wide.

None changes a setting of Matplotlib or what it is given.
"""

import pickle

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib import rcParams
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray
from tests.data import luminance
from tests.plot.examples import EXAMPLES, example, figures_of

import ropewalk as rw

# Figures of which a word stands on a colour or has that of its curve, and a table of cells alone.
COLOURED = {"article_figures", "attention_stages", "heatmap", "number_table", "sine", "wavelengths"}


def drawn_with_texts_apart(
    figure: Figure, monkeypatch: pytest.MonkeyPatch
) -> tuple[NDArray[np.float64], list[Text]]:
    """Return the pixels of a figure without its texts, and the texts that would be drawn."""
    texts: list[Text] = []
    canvas = FigureCanvasAgg(figure)
    figure.set_dpi(100)
    with monkeypatch.context() as patch:
        patch.setattr(Text, "draw", lambda self, _: texts.append(self))
        canvas.draw()  # type: ignore[no-untyped-call]
    rendered = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    pixels = rendered[::-1, :, :3] / 255
    return pixels, [text for text in texts if text.get_visible() and text.get_text().strip()]


def beneath(pixels: NDArray[np.float64], box: Bbox) -> NDArray[np.float64]:
    """Return the usual colour of the pixels of a box."""
    rows, columns = pixels.shape[:2]
    left, right = np.clip([int(box.x0), int(box.x1) + 1], 0, columns)
    low, high = np.clip([int(box.y0), int(box.y1) + 1], 0, rows)
    return np.median(pixels[low:high, left:right].reshape(-1, 3), axis=0)


def contrast(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Contrast of two colours as WCAG 2.2 defines it, from 1 to 21."""
    dark, bright = sorted([luminance(a), luminance(b)])
    return (bright + 0.05) / (dark + 0.05)


def test_every_public_figure_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(rw.plot.__all__)


def assert_texts_are_whole_and_apart(figure: Figure, texts: list[Text]) -> None:
    assert figure.get_size_inches()[0] == 6
    whole = figure.get_tightbbox()
    assert min(whole.x0, whole.y0) >= 0
    assert (whole.max <= figure.get_size_inches()).all()
    # Two pixels less on every side: boxes are larger than the letters in them.
    boxes = [(text, text.get_window_extent().padded(-2)) for text in texts]
    for i, (text, box) in enumerate(boxes):
        assert float(text.get_fontsize()) >= 6, text
        assert box.x0 >= 0, text
        assert box.y0 >= 0, text
        assert box.x1 <= figure.bbox.x1, text
        assert box.y1 <= figure.bbox.y1, text
        for other, its_box in boxes[:i]:
            assert not box.overlaps(its_box), (text, other)


def assert_texts_and_lines_stand_out(
    figure: Figure, texts: list[Text], pixels: NDArray[np.float64]
) -> None:
    """Texts by 3 to 1, as WCAG 2.2 asks of large ones; of lines it is enough to be seen."""
    for text in texts:
        if text.get_path_effects():  # a rim sets it off from anything
            continue
        ground = beneath(pixels, text.get_window_extent())
        assert contrast(ground, np.array(to_rgb(text.get_color()))) > 3, text
    ground = np.array(to_rgb(figure.get_facecolor()))
    for line in figure.findobj(Line2D):
        assert contrast(ground, np.array(to_rgb(line.get_color()))) > 1.2, line


# Colours are those of the style, and places those of the language.
@pytest.mark.parametrize("name", rw.plot.__all__)
@pytest.mark.parametrize(("style", "lang"), [("default", "ja"), ("dark_background", "en")])
def test_texts_can_be_read_at_600_pixels(
    name: str, style: str, lang: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = pickle.dumps(EXAMPLES[name])
    with plt.style.context([style, {"figure.dpi": 72}]):
        settings = dict(rcParams)
        for figure in figures_of(example(name, lang)):
            pixels, texts = drawn_with_texts_apart(figure, monkeypatch)
            assert_texts_are_whole_and_apart(figure, texts)
            assert_texts_and_lines_stand_out(figure, texts, pixels)
            if name not in COLOURED:
                found = {to_rgb(text.get_color()) for text in texts}
                assert found == {to_rgb(rcParams["text.color"])}
        assert dict(rcParams) == settings
    assert pickle.dumps(EXAMPLES[name]) == given


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_shades_stand_out_from_the_ground(style: str) -> None:
    with plt.style.context(style):
        ground = np.array(to_rgb(rcParams["axes.facecolor"]))
        maps = [
            rw.plot.rotation(rw.sinusoidal_encoding(range(9), 2)).collections[0].get_cmap(),
            rw.plot.path(rw.sinusoidal_encoding(range(9), 2)).collections[0].get_cmap(),
            rw.plot.linear_map([[0, 1]], np.eye(2))[0].collections[-1].get_cmap(),
        ]
        curves = rw.plot.waves(rw.sinusoidal_encoding(range(9), 64)).lines
    shades = [to_rgb(shade) for shades in maps for shade in shades([0.0, 1.0])]
    shades += [to_rgb(curve.get_color()) for curve in curves]
    assert min(contrast(ground, np.array(shade)) for shade in shades) > 1.4
