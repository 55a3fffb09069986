"""Figures of attention: what is drawn is what was given, and what is masked is seen to be."""

import io
import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from numpy.typing import NDArray
from PIL import Image
from tests.data import dtypes, luminance

import ropewalk as rw

Drawing = Callable[..., list[Axes]]

MASK = np.tri(3, dtype=np.bool_)
WEIGHTS = MASK / MASK.sum(axis=1, keepdims=True)
X = [[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]]
STAGES = rw.attention_stages(X, X, X, causal=True)

DRAWINGS: list[Drawing] = [
    partial(rw.plot.attention_weights, WEIGHTS),
    partial(rw.plot.attention_mask, MASK),
    partial(rw.plot.attention_stages, STAGES),
]


def new_axes(count: int = 1, size: tuple[float, float] = (6.0, 4.0)) -> list[Axes]:
    figure = Figure(size, layout="constrained")
    return list(figure.subplots(1, count, squeeze=False).flat)


def axes_for(draw: Drawing) -> list[Axes]:
    return new_axes(4 if draw is DRAWINGS[2] else 1)


def values_of(ax: Axes) -> NDArray[np.float64]:
    """Values of a map where they are shown, and NaN where the background is."""
    (image,) = ax.images
    shown = np.asarray(image.get_alpha()) == 1
    return np.where(shown, np.asarray(image.get_array(), np.float64), np.nan)


def written(ax: Axes) -> dict[tuple[float, float], str]:
    """What is written at (row, column)."""
    return {(text.get_position()[1], text.get_position()[0]): text.get_text() for text in ax.texts}


def ticks(ax: Axes) -> tuple[list[str], list[str]]:
    queries, keys = ax.get_yticklabels(), ax.get_xticklabels()
    return [label.get_text() for label in queries], [label.get_text() for label in keys]


def legends_of(ax: Axes) -> list[Legend]:
    """Legends of a figure and of its Axes."""
    return ax.figure.findobj(Legend)


def legend_of(ax: Axes) -> list[str]:
    return [text.get_text() for legend in legends_of(ax) for text in legend.get_texts()]


# All of them


@pytest.mark.parametrize("draw", DRAWINGS)
def test_queries_go_down_and_keys_across(draw: Drawing) -> None:
    ax = draw(ax=axes_for(draw), tokens=["a", "b", "c"])[0]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")
    assert ticks(ax) == (["a", "b", "c"], ["a", "b", "c"])
    assert ax.images[0].origin == "upper"
    assert ax.images[0].get_interpolation() == "nearest"


@pytest.mark.parametrize("draw", DRAWINGS)
def test_tokens_are_drawn_letter_for_letter(draw: Drawing) -> None:
    panels = draw(ax=axes_for(draw), tokens=["$x", "$a_1$", " \\frac"])
    assert ticks(panels[0])[0] == ["$x", "$a_1$", " \\frac"]
    assert not any(label.get_parse_math() for label in panels[0].get_yticklabels())
    panels[0].figure.figure.draw_without_rendering()


@pytest.mark.parametrize("draw", DRAWINGS)
def test_tokens_that_no_font_can_draw_are_numbers(
    draw: Drawing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["DejaVu Sans"])
    panels = draw(ax=axes_for(draw), tokens=["これ", "é", "\n"])
    assert ticks(panels[0])[0] == ["0", "é", "2"]
    panels[0].figure.figure.draw_without_rendering()


@pytest.mark.parametrize("draw", DRAWINGS)
def test_japanese_tokens_are_drawn_where_a_font_is_found(
    draw: Drawing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """STIX stands in for a Japanese font: it has the letter that DejaVu Sans has not."""
    letter = "\N{TELEPHONE RECORDER}"
    monkeypatch.setattr("ropewalk.plot._canvas.JAPANESE_FONTS", ("STIXGeneral",))
    ax = draw(ax=axes_for(draw), tokens=[letter, "a", "b"])[0]
    assert ticks(ax)[0] == [letter, "a", "b"]
    family = ax.get_yticklabels()[0].get_fontfamily()
    assert family == [*mpl.rcParams["font.family"], "STIXGeneral"]
    ax.figure.figure.draw_without_rendering()


@pytest.mark.parametrize("draw", DRAWINGS)
def test_without_tokens_whole_numbers_count(draw: Drawing) -> None:
    ax = draw(ax=axes_for(draw))[0]
    ticks_of_both = [*ax.get_xticks(), *ax.get_yticks()]
    assert len(ticks_of_both) >= 4
    assert all(place == round(place) for place in ticks_of_both)


@pytest.mark.parametrize(("token", "angle"), [("a", 0), ("incomprehensibilities", 90)])
def test_long_tokens_stand_upright_below_their_keys(token: str, angle: float) -> None:
    (ax,) = rw.plot.attention_weights(WEIGHTS, tokens=[token, "b", "c"], ax=new_axes())
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {angle}
    assert {label.get_rotation() for label in ax.get_yticklabels()} == {0}


@pytest.mark.parametrize("draw", DRAWINGS)
def test_tokens_are_as_many_as_queries_and_keys(draw: Drawing) -> None:
    with pytest.raises(ValueError, match="tokens must be 3 strings, got 2"):
        draw(ax=axes_for(draw), tokens=["a", "b"])
    with pytest.raises(ValueError, match="key_tokens must be 3 strings, got 4"):
        draw(ax=axes_for(draw), key_tokens="abcd")


@pytest.mark.parametrize("draw", DRAWINGS)
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_masked_cells_are_the_hatched_background(draw: Drawing, style: str) -> None:
    with plt.style.context(style):
        panel = draw(ax=axes_for(draw))[1 if draw is DRAWINGS[2] else 0]
    np.testing.assert_array_equal(np.isnan(values_of(panel)), ~MASK)
    assert panel.patch.get_hatch()
    # Grey lines stand out from a white and from a black background.
    assert 0.1 < luminance(panel.patch.get_edgecolor()) < 0.5


@pytest.mark.parametrize("layout", ["constrained", "none", None])
@pytest.mark.parametrize("draw", DRAWINGS)
def test_legends_lie_on_nothing(draw: Drawing, layout: Any) -> None:
    """In a figure of its own, where there is no other layout, and twice in a figure of others."""
    if layout is None:
        drawn = [draw(tokens=WORDS[:3])]
    else:
        axes = Figure((12, 8), layout=layout).subplots(2, 4)
        drawn = [draw(ax=row if draw is DRAWINGS[2] else row[1:2]) for row in axes]
    figure = drawn[0][0].figure.figure
    figure.draw_without_rendering()
    legends = [legend.get_window_extent() for legend in legends_of(drawn[0][0])]
    assert len(legends) == len(drawn)
    texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    named = {text for legend in legends_of(drawn[0][0]) for text in legend.get_texts()}
    boxes = [text.get_window_extent() for text in texts if text not in named]
    boxes += [panel.get_window_extent() for panels in drawn for panel in panels]
    for i, legend in enumerate(legends):
        assert not any(legend.overlaps(box) for box in (*boxes, *legends[:i]))
        assert legend.y0 >= 0
        assert legend.y1 <= figure.bbox.y1


def test_a_legend_is_that_of_axes_where_there_is_something_to_name() -> None:
    maps = {"none": np.full((2, 2), 0.5), "some": np.eye(2)}
    weights = rw.plot.attention_weights(maps, ax=new_axes(2))
    stages = rw.plot.attention_stages(STAGES, ax=new_axes(4))
    for panels in (weights, stages):
        named = [panel.get_legend() is not None for panel in panels]
        assert named == [False, True, False, False][: len(panels)]


# Weights


def test_weights_are_drawn_and_written() -> None:
    (ax,) = rw.plot.attention_weights([[0.25, 0.75], [1.0, 0.0]], ax=new_axes())
    np.testing.assert_array_equal(values_of(ax), [[0.25, 0.75], [1.0, np.nan]])
    assert written(ax) == {(0, 0): "0.25", (0, 1): "0.75", (1, 0): "1.00"}
    assert ax.images[0].get_clim() == (0, 1)
    assert legend_of(ax) == ["exactly 0"]


def test_heads_share_a_scale_that_ends_at_their_largest_weight() -> None:
    heads = [[[0.75, 0.25]], [[0.5, 0.5]]]
    panels = rw.plot.attention_weights(heads, ax=new_axes(2))
    assert [panel.images[0].get_clim() for panel in panels] == [(0, 0.75)] * 2
    alone = rw.plot.heatmap(heads[0], kind="attention", ax=new_axes()[0])
    assert alone.images[0].get_clim() == panels[0].images[0].get_clim()
    nothing = rw.plot.attention_weights([[0.0, 5e-324]], ax=new_axes())
    nothing[0].figure.figure.draw_without_rendering()
    low, high = nothing[0].images[0].get_clim()
    assert low == 0 < high  # Matplotlib makes -0.1 to 0.1 of ends that it cannot tell apart
    assert nothing[0].figure.axes[-1].get_ylim() == (low, high)


def test_there_is_no_legend_where_nothing_is_hatched() -> None:
    (ax,) = rw.plot.attention_weights([[0.5, 0.5]], ax=new_axes())
    assert legend_of(ax) == []


def test_lightness_grows_with_the_weight() -> None:
    image = rw.plot.attention_weights([[0.5, 0.5]], ax=new_axes())[0].images[0]
    lightness = [luminance(colour) for colour in image.get_cmap()(np.linspace(0, 1, 64))]
    assert (np.diff(lightness) > 0).all()


@pytest.mark.parametrize("draw", [rw.plot.attention_weights, rw.plot.attention_stages])
def test_what_is_written_stands_out_from_its_cell(draw: Drawing) -> None:
    """By 3 to 1 at the least, as WCAG 2.2 asks of graphics."""
    weights = np.linspace(0.001, 1, 36).reshape(6, 6)
    scores = np.linspace(-1, 1, 36).reshape(6, 6)
    stages = rw.AttentionStages(scores, scores, scores, weights, np.zeros(6), scores)
    given = new_axes(4, (24, 4))
    panels = (
        draw(stages, ax=given) if draw is rw.plot.attention_stages else draw(weights, ax=given[0])
    )
    for panel in panels:
        image = panel.images[0]
        assert len(panel.texts) == 36
        for (row, column), text in zip(written(panel), panel.texts, strict=True):
            cell = image.to_rgba(np.asarray(image.get_array())[int(row), int(column)])
            dim, bright = sorted([luminance(cell), luminance(mpl.colors.to_rgb(text.get_color()))])
            assert (bright + 0.05) / (dim + 0.05) > 3


def test_values_are_written_only_where_they_can_be_read() -> None:
    few = rw.plot.attention_weights(np.full((6, 6), 1 / 6), ax=new_axes())[0]
    many = rw.plot.attention_weights(np.full((40, 40), 1 / 40), ax=new_axes())[0]
    assert len(few.texts) == 36
    assert len(many.texts) == 0


WORDS = ["I", "understand", "mathematics", "tomorrow", "."]
LONG = ["I", "an extraordinarily-long-token", "b", "c", "."]
OF_WORDS = rw.attention_stages(*np.random.default_rng(5).normal(size=(3, 5, 8)), softcap=2.0)


@pytest.mark.parametrize("tokens", [WORDS, LONG])
@pytest.mark.parametrize("size", [None, (6.0, 9.0), (16.0, 24.0)])
def test_written_values_fit_the_cells_that_labels_leave(
    tokens: list[str], size: tuple[float, float] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = size and list(Figure(size, layout="constrained").subplots(3, 2).flat[:5])
    panels = rw.plot.attention_stages(OF_WORDS, tokens=tokens, ax=given)
    drawn: list[Text] = []
    monkeypatch.setattr(Text, "draw", lambda self, _: drawn.append(self))
    panels[0].figure.figure.draw_without_rendering()
    values = [(panel, text) for panel in panels for text in panel.texts if text in drawn]
    if size == (6.0, 9.0):
        assert not values  # which would be too small to read
    else:
        assert len(values) >= 100
    for panel, text in values:
        box, cells = text.get_window_extent(), panel.get_window_extent()
        queries, keys = np.asarray(panel.images[0].get_array()).shape
        assert float(text.get_fontsize()) >= 7
        assert box.width < cells.width / keys
        assert box.height < cells.height / queries


@pytest.mark.parametrize("tokens", [WORDS, LONG])
@pytest.mark.parametrize("maps", ["stages", "a head", "heads", "masks"])
def test_long_tokens_leave_room_for_the_maps(tokens: list[str], maps: str) -> None:
    heads = np.stack([OF_WORDS.weights] * 8)
    panels = {
        "stages": lambda: rw.plot.attention_stages(OF_WORDS, tokens=tokens),
        "a head": lambda: rw.plot.attention_weights(heads[0], tokens=tokens),
        "heads": lambda: rw.plot.attention_weights(heads, tokens=tokens),
        "masks": lambda: rw.plot.attention_mask(heads > 0.2, tokens=tokens),
    }[maps]()
    figure = plt.gcf()
    figure.draw_without_rendering()  # a map without room would be a warning
    assert min(min(panel.get_window_extent().size) for panel in panels) > figure.dpi
    whole = figure.get_tightbbox()
    assert min(whole.x0, whole.y0) >= 0
    assert (whole.max <= figure.get_size_inches() + 0.01).all()


def test_heads_are_a_grid_with_one_bar_of_colours() -> None:
    weights = np.full((4, 2, 2), 0.5)
    panels = rw.plot.attention_weights(weights, tokens="ab")
    assert [panel.get_title() for panel in panels] == ["head 0", "head 1", "head 2", "head 3"]
    (bar,) = set(panels[0].figure.axes) - set(panels)
    panels[0].figure.figure.draw_without_rendering()
    assert bar.get_window_extent().height > 2 * panels[0].get_window_extent().height
    shown = [panel.yaxis.label.get_visible() for panel in panels]
    assert shown == [True, False, True, False]
    shown = [panel.xaxis.label.get_visible() for panel in panels]
    assert shown == [False, False, True, True]


def test_every_column_of_a_grid_is_labelled_at_its_end() -> None:
    panels = rw.plot.attention_weights(np.full((5, 2, 2), 0.5))
    assert [panel.xaxis.label.get_visible() for panel in panels] == [False, False, True, True, True]
    assert len(panels[0].figure.axes) == 6


@pytest.mark.parametrize(("heads", "columns"), [(12, 4), (32, 8)])
def test_many_heads_are_smaller_on_one_scale_and_their_titles_fit(heads: int, columns: int) -> None:
    panels = rw.plot.attention_weights(np.full((heads, 12, 12), 1 / 12))
    figure = plt.gcf()
    figure.draw_without_rendering()
    assert len({round(panel.get_window_extent().x0) for panel in panels}) == columns
    assert {panel.images[0].get_clim() for panel in panels} == {(0, 1 / 12)}
    assert len(figure.axes) == heads + 1
    for left, right in itertools.pairwise(panels[-columns:]):
        assert left.title.get_window_extent().x1 < right.title.get_window_extent().x0


def test_a_mapping_gives_titles_letter_for_letter() -> None:
    maps = {"cost in $": [[1.0]], "$_$": [[0.5, 0.5]]}
    panels = rw.plot.attention_weights(maps, ax=new_axes(2))
    assert [panel.get_title() for panel in panels] == list(maps)
    assert not any(panel.title.get_parse_math() for panel in panels)
    np.testing.assert_array_equal(values_of(panels[1]), [[0.5, 0.5]])


def test_fewer_queries_than_keys_have_names_of_their_own() -> None:
    row = [[0.25, 0.75]]
    ax = rw.plot.attention_weights(row, tokens=["q"], key_tokens="ab", ax=new_axes())[0]
    assert ticks(ax) == (["q"], ["a", "b"])
    ax = rw.plot.attention_weights(row, tokens=["q"], ax=new_axes())[0]
    assert "q" not in ticks(ax)[1]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_weights_of_every_dtype_are_drawn(dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    weights = np.array([[0.25, 0.75]]).astype(dtype)
    (ax,) = rw.plot.attention_weights(weights, ax=new_axes())
    np.testing.assert_array_equal(values_of(ax), [[0.25, 0.75]])


def test_no_key_is_lost_among_many() -> None:
    """A column between two hundred others, and the first, on which the frame lies."""
    scores = np.zeros((512, 512))
    scores[:, 0], scores[:, 253] = 9, 8
    (ax,) = rw.plot.attention_weights(rw.softmax(scores))
    across = red_across(ax, row=400)  # cividis: the greater, the redder
    for key in (0, 253):
        assert across[max(0, key - 4) : key + 8].max() > np.median(across) + 40, key
    (ax,) = rw.plot.attention_mask(scores > 0)
    seen = np.asarray(ax.images[0].get_alpha())
    block = -(-512 // seen.shape[1])
    assert block > 1
    assert np.flatnonzero(seen.all(axis=0)).tolist() == [0, 253 // block]
    assert seen.sum() == 2 * len(seen)


def red_across(ax: Axes, row: int) -> NDArray[np.float64]:
    """How red the pixels of a map are along a row, one for every column or about that."""
    figure = ax.figure.figure
    figure.savefig(picture := io.BytesIO(), dpi=72)
    shown = np.asarray(Image.open(picture).convert("RGB"), float)[..., 0]
    columns = np.arange(ax.images[0].get_extent()[1] - 0.5)
    x, y = ax.transData.transform(np.column_stack([columns, np.full(columns.size, row)])).T
    scale = 72 / figure.dpi
    across: NDArray[np.float64] = shown[-round(y[0] * scale), (x * scale).astype(int)]
    return across


def test_the_largest_of_a_block_stands_for_it() -> None:
    weights = np.zeros((700, 700))
    weights[699, 699], weights[350, 10], weights[350, 11] = 0.75, 0.25, 0.5
    (ax,) = rw.plot.attention_weights(weights)
    shown = np.asarray(ax.images[0].get_array())
    block = -(-700 // shown.shape[0])
    assert block > 1
    assert sorted(shown[shown > 0]) in ([0.5, 0.75], [0.25, 0.5, 0.75])
    assert shown[-1, -1] == 0.75
    assert shown[350 // block, 11 // block] == 0.5
    left, right, bottom, top = ax.images[0].get_extent()
    assert (left, top) == (-0.5, -0.5)
    assert right == bottom == block * shown.shape[0] - 0.5
    assert (*ax.get_xlim(), *ax.get_ylim()) == (-0.5, 699.5, 699.5, -0.5)
    seen = np.asarray(ax.images[0].get_alpha())
    np.testing.assert_array_equal(seen, shown > 0)


@pytest.mark.parametrize("wrong", [-0.1, 1.5, math.nan, math.inf])
def test_weights_are_from_0_to_1(wrong: float) -> None:
    with pytest.raises(ValueError, match=f"weights must be from 0 to 1, got {wrong}"):
        rw.plot.attention_weights([[0.5, wrong]], ax=new_axes())


@pytest.mark.parametrize(
    ("draw", "dtype"), [(rw.plot.attention_weights, float), (rw.plot.attention_mask, bool)]
)
@pytest.mark.parametrize("shape", [(3,), (0, 3), (3, 0), (0, 3, 3), (2, 2, 3, 3)])
def test_a_map_has_queries_and_keys(draw: Drawing, dtype: type, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"must have shape \(query length, key length\) and not"):
        draw(np.ones(shape, dtype), ax=new_axes())
    with pytest.raises(ValueError, match=r"must have shape \(query length, key length\) and not"):
        draw({"title": np.ones(shape, dtype)} if len(shape) == 1 else {}, ax=new_axes())


@pytest.mark.parametrize("draw", [rw.plot.attention_weights, rw.plot.attention_mask])
def test_titles_are_strings(draw: Drawing) -> None:
    maps = {1: MASK if draw is rw.plot.attention_mask else WEIGHTS}
    with pytest.raises(TypeError, match=r"titles of (weights|mask) must be strings, got \[1\]"):
        draw(maps, ax=new_axes())


def test_weights_are_numbers() -> None:
    with pytest.raises(TypeError, match="weights must be"):
        rw.plot.attention_weights([[1j]], ax=new_axes())
    with pytest.raises(TypeError, match="weights must be"):
        rw.plot.attention_weights(MASK, ax=new_axes())


# Masks


def test_a_mask_is_drawn_as_it_is() -> None:
    (ax,) = rw.plot.attention_mask(rw.bias.causal_mask(2, 4, offset=1), ax=new_axes())
    # By hand: key j <= i + 1.
    np.testing.assert_array_equal(~np.isnan(values_of(ax)), [[1, 1, 0, 0], [1, 1, 1, 0]])
    assert legend_of(ax) == ["sees", "masked"]


def test_lines_part_the_cells_of_small_masks() -> None:
    few, many = (
        rw.plot.attention_mask(rw.bias.causal_mask(length), ax=new_axes())[0] for length in (4, 200)
    )
    assert len(few.collections) == 2
    assert len(many.collections) == 0


def test_the_legend_has_the_colour_and_the_hatch_of_the_cells() -> None:
    (ax,) = rw.plot.attention_mask(MASK, ax=new_axes())
    (legend,) = legends_of(ax)
    sees, masked = legend.get_patches()
    assert ax.images[0].to_rgba(1.0) == sees.get_facecolor()  # type: ignore[arg-type]
    assert masked.get_hatch() == ax.patch.get_hatch()
    assert not sees.get_hatch()


def test_masks_of_several_shapes_stand_side_by_side() -> None:
    masks = {"upper left": rw.bias.causal_mask(3, 5, offset=0), "square": MASK}
    panels = rw.plot.attention_mask(masks)
    assert [panel.get_title() for panel in panels] == list(masks)
    assert [panel.images[0].get_array().shape for panel in panels] == [(3, 5), (3, 3)]  # type: ignore[union-attr]
    assert all(panel.yaxis.label.get_visible() for panel in panels)


def test_a_mask_is_boolean() -> None:
    with pytest.raises(TypeError, match=r"mask must be boolean, True .* got dtype int64"):
        rw.plot.attention_mask([[1, 0]], ax=new_axes())


# Stages


def test_stages_are_drawn_in_their_order() -> None:
    panels = rw.plot.attention_stages(STAGES, tokens=["a", "b", "c"], ax=new_axes(4))
    assert [panel.get_title() for panel in panels] == ["scores", "biased", "weights", "output"]
    # Scores by hand: inner products over the square root of 2, and what is masked by MASK.
    scores = np.array([[1, 0, 1], [0, 1, -1], [1, -1, 2]]) / math.sqrt(2)
    np.testing.assert_allclose(values_of(panels[0]), scores, rtol=1e-15)
    np.testing.assert_allclose(values_of(panels[1]), np.where(MASK, scores, np.nan), rtol=1e-15)
    exponentials = np.exp(scores) * MASK
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    expected = np.where(MASK, weights, np.nan)
    np.testing.assert_allclose(values_of(panels[2]), expected, rtol=1e-15)
    np.testing.assert_allclose(values_of(panels[3]), weights @ X, rtol=0, atol=1e-15)
    assert panels[3].get_xlabel() == "feature"
    assert ticks(panels[3])[0] == ["a", "b", "c"]
    assert "a" not in ticks(panels[3])[1]
    assert legend_of(panels[0]) == ["masked"]


def test_a_soft_cap_is_a_stage_of_its_own() -> None:
    stages = rw.attention_stages(X, X, X, softcap=1.0)
    panels = rw.plot.attention_stages(stages, ax=new_axes(5))
    assert panels[1].get_title() == "capped"
    np.testing.assert_allclose(values_of(panels[1]), np.tanh(values_of(panels[0])), rtol=1e-14)
    assert legend_of(panels[0]) == []


def test_zero_is_white_and_scores_share_a_scale() -> None:
    stages = rw.attention_stages(X, X, X, bias=[-5.0, 0.0, 0.0])
    panels = rw.plot.attention_stages(stages, ax=new_axes(4))
    images = [panel.images[0] for panel in panels]
    reach = 5.0  # of query 1 and key 0, whose product is 0
    assert images[0].get_clim() == images[1].get_clim() == (-reach, reach)
    assert images[2].get_clim() == (0, stages.weights.max())
    largest = float(np.abs(stages.output).max())
    assert images[3].get_clim() == (-largest, largest)
    assert luminance(images[0].to_rgba(0.0)) > 0.9  # type: ignore[arg-type]
    red, _, blue, _ = images[0].to_rgba(reach)  # type: ignore[arg-type]
    assert red > 2 * blue
    red, _, blue, _ = images[0].to_rgba(-reach)  # type: ignore[arg-type]
    assert blue > 2 * red


def test_stages_have_one_size_whatever_the_width_of_the_values() -> None:
    stages = rw.attention_stages(X, X, np.ones((3, 20)))
    panels = rw.plot.attention_stages(stages, ax=new_axes(4))
    panels[0].figure.figure.draw_without_rendering()
    sizes = [panel.get_window_extent().size for panel in panels]
    np.testing.assert_allclose(sizes, [sizes[0]] * 4, rtol=0.02)


def test_numbers_of_bars_stand_apart_where_maps_are_flat() -> None:
    few, many = np.ones((3, 4)), np.linspace(-0.9, 0.8, 160).reshape(40, 4)
    panels = rw.plot.attention_stages(rw.attention_stages(few, many, many))
    panels += rw.plot.attention_weights(np.linspace(0, 0.21, 360).reshape(3, 3, 40))
    for figure in {panel.figure.figure for panel in panels}:
        figure.draw_without_rendering()
        bars = [ax for ax in figure.axes if ax not in panels]
        for bar in bars:
            low, high = bar.get_ylim()
            places = zip(bar.get_yticks(), bar.get_yticklabels(), strict=True)
            boxes = [text.get_window_extent() for at, text in places if low <= at <= high]
            assert len(boxes) >= 2
            assert all(a.y1 <= b.y0 for a, b in itertools.pairwise(boxes))


def test_many_heads_are_whole_and_fill_their_figure() -> None:
    panels = rw.plot.attention_weights(np.full((64, 8, 8), 1 / 8))
    figure = panels[0].figure.figure
    figure.draw_without_rendering()
    whole, size = figure.get_tightbbox(), figure.get_size_inches()
    assert whole.x1 <= size[0]
    assert whole.height > 0.75 * size[1]


def test_maps_of_several_shapes_are_as_high() -> None:
    shapes = [(8, 8), (3, 8), (8, 2)]
    weights = {str(shape): np.full(shape, 1 / shape[1]) for shape in shapes}
    panels = rw.plot.attention_weights(weights)
    panels[0].figure.figure.draw_without_rendering()
    heights = [panel.get_window_extent().height for panel in panels]
    assert max(heights) < 1.1 * min(heights)
    assert panels[0].figure.figure.get_figheight() < 3


def test_what_is_not_finite_is_grey_and_named() -> None:
    key = [[1.0, 0.0], [math.nan, 0.0], [0.0, math.inf]]
    stages = rw.attention_stages(X, key, X, key_lengths=1)
    panels = rw.plot.attention_stages(stages, ax=new_axes(4, (24, 4)))
    assert written(panels[0])[0, 1] == "nan"
    letters = {text.get_text(): text.get_color() for text in panels[0].texts}
    assert (letters["nan"], letters["inf"]) == ("black", "black")
    assert (0, 1) not in written(panels[1])
    grey = panels[0].images[0].to_rgba(np.ma.masked_invalid([math.nan]))[0]
    assert grey[0] == grey[1] == grey[2]
    assert 0 < grey[0] < 1
    assert grey[3] == 1


def test_zeros_alone_are_drawn() -> None:
    nothing = np.zeros((2, 2))
    panels = rw.plot.attention_stages(
        rw.attention_stages(nothing, nothing, nothing), ax=new_axes(4)
    )
    assert panels[0].images[0].get_clim() == (-1, 1)
    panels[0].figure.figure.draw_without_rendering()


@pytest.mark.filterwarnings("error")
def test_stages_of_extremes_are_drawn() -> None:
    large = np.array([[1e154, 0.0], [0.0, 1.0]])
    panels = rw.plot.attention_stages(rw.attention_stages(large, large, large), ax=new_axes(4))
    panels[0].figure.figure.draw_without_rendering()


@dtypes
def test_stages_of_every_dtype_are_drawn(dtype: str) -> None:
    x = np.array([[1.0, 0.0], [0.0, -2.0]]).astype(dtype)
    with np.errstate(all="raise"):
        panels = rw.plot.attention_stages(rw.attention_stages(x, x, x, scale=1.0), ax=new_axes(4))
    np.testing.assert_array_equal(values_of(panels[0]), [[1, 0], [0, 4]])
    assert panels[0].images[0].get_clim() == (-4, 4)


@pytest.mark.parametrize(
    ("queries", "keys", "features"), [(0, 3, 4), (3, 0, 4), (3, 3, 0)], ids=str
)
def test_stages_are_not_empty(queries: int, keys: int, features: int) -> None:
    stages = rw.attention_stages(
        np.ones((queries, 4)), np.ones((keys, 4)), np.ones((keys, features))
    )
    with pytest.raises(
        ValueError,
        match=rf"stages must .* not empty.* \({queries}, {keys}\) .* \({queries}, {features}\)",
    ):
        rw.plot.attention_stages(stages)
    assert plt.get_fignums() == []


def test_stages_of_several_heads_are_refused() -> None:
    x = np.ones((2, 3, 4))
    with pytest.raises(
        ValueError, match=r"stages must be those of one head.*got shape \(2, 3, 3\)"
    ):
        rw.plot.attention_stages(rw.attention_stages(x, x, x))
