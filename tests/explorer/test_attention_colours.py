"""The colours of the view of attention: the page paints each number as Matplotlib's maps would."""

import io
import json
from collections.abc import Callable

import numpy as np
import pytest
from matplotlib import colormaps, image
from playwright.sync_api import Page
from tests.explorer.conftest import PIXELS, Shown

import ropewalk as rw
from ropewalk.explorer._view import View

Show = Callable[[View], Shown]
SHAPE = (5, 5)


def test_masked_cells_are_not_painted_and_others_have_the_colours_of_cividis(show: Show) -> None:
    weights = np.tril(np.linspace(0.01, 1, 25).reshape(SHAPE))
    shown = show(rw.explorer.attention(weights))
    pixels = shown.colours(SHAPE)
    assert ((pixels[..., 3] == 255) == (weights > 0)).all()
    expected = colormaps["cividis"](weights)[..., :3] * 255
    seen = weights > 0
    assert np.abs(pixels[..., :3][seen] - expected[seen]).max() < 6  # nine colours, interpolated


def test_stages_have_a_scale_around_zero_and_what_is_not_finite_is_grey(show: Show) -> None:
    scores = np.array([[-2.0, 0.0], [1.0, np.nan]])
    given = rw.attention_stages(np.eye(2), np.eye(2), np.eye(2))
    stages = rw.AttentionStages(scores, scores, scores, given.weights, given.lse, given.output)
    shown = show(rw.explorer.attention(stages))
    shown.set("stage", "scores")
    pixels = shown.colours((2, 2))[..., :3]
    expected = colormaps["RdBu_r"]((scores / 2 + 1) / 2)[..., :3] * 255
    assert np.abs(pixels - expected)[np.isfinite(scores)].max() < 12
    assert pixels[1, 1].tolist() == [153, 153, 153]


@pytest.mark.parametrize(
    ("hiding", "said"),
    [
        (np.finfo(np.float64).min, "1.7977e+308"),
        (np.finfo(np.float32).min, "3.4028e+38"),
        (np.finfo(np.float16).min, "65504"),
        (-1e9, "1000000000"),
        (-1e4, "10000"),
    ],
)
def test_a_bias_that_hides_as_a_mask_does_leaves_colours_to_other_scores(
    show: Show, hiding: float, said: str
) -> None:
    """Also where it hides whole rows, which softmax makes even."""
    bias = np.zeros((3, 3))
    bias[0, 2] = bias[2] = hiding
    stages = rw.attention_stages(*3 * [np.eye(3)], scale=1.0, bias=bias)
    shown = show(rw.explorer.attention(stages))
    shown.set("stage", "biased")
    expected = colormaps["RdBu_r"](np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0] * 3])) * 255
    assert np.abs(shown.colours((3, 3)) - expected).max() < 12
    shown.point(0, 2, (3, 3))
    assert shown.readout.endswith(f"biased \N{MINUS SIGN}{said}")


@pytest.mark.parametrize(("bias", "reach"), [(-700.0, 700.0), (-800.0, 1.0)])
def test_scores_beside_which_a_weight_is_not_0_have_colours(bias: float, reach: float) -> None:
    """The smallest float64 is exp(-744.4)."""
    stages = rw.attention_stages([[1.0]], [[1.0], [0.0]], [[1.0], [1.0]], bias=[[0.0, bias]])
    view = rw.explorer.attention(stages)
    view.stage = "biased"
    assert view.picture["reach"] == reach


def test_scores_that_are_all_the_least_number_have_a_scale(show: Show) -> None:
    bias = np.full((600, 600), np.finfo(np.float64).min)  # more than pixels
    stages = rw.attention_stages(*3 * [np.zeros((600, 1))], bias=bias)
    shown = show(rw.explorer.attention(stages))
    shown.set("stage", "biased")
    least, _, largest = np.array(colormaps["RdBu_r"]([0.0, 0.5, 1.0])) * 255
    assert np.abs(shown.colours((1, 1)) - least).max() < 12
    bar = shown.page.locator(".map image").nth(1).evaluate(PIXELS, [64, 1])
    assert np.abs(np.array(json.loads(bar))[[0, -1], 0] - [largest, least]).max() < 12
    assert "1.7977e+308" in (shown.page.locator(".map").text_content() or "")


def test_a_weight_that_is_no_number_leaves_other_thumbnails_as_they_are(show: Show) -> None:
    x = np.tile(np.eye(2) * 0.1, (2, 1, 1))
    x[0, 0, 0] = np.nan
    shown = show(rw.explorer.attention(rw.attention_stages(x, x, x)))
    pixel = (
        shown.page.locator(".heads canvas")
        .nth(1)
        .evaluate("canvas => [...canvas.getContext('2d').getImageData(0, 0, 1, 1).data]")
    )
    brightest = np.array(colormaps["cividis"](1.0)) * 255
    assert np.abs(np.array(pixel) - brightest).max() < 6


def test_a_sink_is_seen_among_more_keys_than_pixels(show: Show) -> None:
    weights = np.full((1000, 1500), 0.2 / 1499)
    weights[:, 777] = 0.8
    weights[0, 0] = 0  # in a block of others
    shown = show(rw.explorer.attention(weights))
    assert "hatched" not in (shown.page.locator(".map").text_content() or "")
    drawn = image.imread(io.BytesIO(shown.page.locator(".map image").first.screenshot()))
    dark, bright = colormaps["cividis"]([0.0, 1.0])[:, :3]
    row = drawn[len(drawn) // 3, :, :3]
    assert np.abs(row - bright).sum(axis=1).min() < 0.6
    assert (np.abs(row - dark).sum(axis=1) < 0.1).mean() > 0.9


def test_a_finer_screen_shows_more_cells(show: Show, page: Page) -> None:
    page.evaluate("() => { window.devicePixelRatio = 2; }")
    weights = np.ones((880, 880))
    weights[::2] = 0
    shown = show(rw.explorer.attention(weights))
    assert (shown.colours((880, 1))[:, 0, 3] == 255 * weights[:, 0]).all()


def test_of_more_scores_than_pixels_the_mean_is_seen(show: Show) -> None:
    """Of a block of 2 x 2, but for what is hidden; what is not finite stays grey."""
    scores = np.tile([[2.0, -2.0], [0.0, 2.0]], (440, 440))
    scores[:2, :6] = [
        [-np.inf, -np.inf, -np.inf, 1.0, np.nan, 1.0],
        [-np.inf, -np.inf, 3.0, -np.inf, 1.0, 1.0],
    ]
    given = rw.attention_stages(*3 * [np.zeros((880, 1))])
    stages = rw.AttentionStages(scores, scores, scores, given.weights, given.lse, given.output)
    shown = show(rw.explorer.attention(stages))
    shown.set("stage", "scores")
    pixels = shown.colours((440, 440))
    expected = colormaps["RdBu_r"](np.array([2.0, 0.5]) / 6 + 0.5)[:, :3] * 255
    assert pixels[0, 0, 3] == 0
    assert np.abs(pixels[0, [1, 3], :3] - expected).max() < 12
    assert pixels[0, 2].tolist() == [153, 153, 153, 255]


def test_logarithmic_colours_tell_small_weights_apart(show: Show) -> None:
    weights = np.array([[1.0, 1e-1, 1e-2, 1e-3, 1e-4]])
    shown = show(rw.explorer.attention(weights))
    shown.page.get_by_label("logarithmic colours").check()
    expected = colormaps["cividis"](np.array([[1, 0.75, 0.5, 0.25, 0]]))[..., :3] * 255
    assert np.abs(shown.colours((1, 5))[..., :3] - expected).max() < 6
