"""The diagram of the Transformer: the steps of Vaswani et al., 2017, figure 1, in their order."""

import pytest
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

import ropewalk as rw
from ropewalk.plot import _canvas

# From bottom to top.
ENCODER = [
    "source tokens",
    "embedding",
    "positional\nencoding",
    "self-attention",
    "add and normalise",
    "feed-forward",
    "add and normalise",
]
DECODER = [
    "target tokens, shifted right",
    "embedding",
    "positional\nencoding",
    "masked\nself-attention",
    "add and normalise",
    "cross-attention",
    "add and normalise",
    "feed-forward",
    "add and normalise",
    "linear",
    "softmax",
    "probabilities of the next token",
]
BESIDE = {"encoder", "decoder", "keys, values", "queries", "N times"}


def frames(ax: Axes) -> list[FancyBboxPatch]:
    """Outlines of boxes, and of the two stacks."""
    return [p for p in ax.patches if isinstance(p, FancyBboxPatch) and not p.get_fill()]


def test_encoder_and_decoder_have_the_steps_of_the_paper_in_order(ax: Axes) -> None:
    assert rw.plot.transformer(ax=ax) is ax
    middle = sum(ax.get_xlim()) / 2
    steps = [text for text in ax.texts if text.get_text() not in BESIDE]
    upwards = sorted(steps, key=lambda text: text.get_position()[1])
    for expected, left in ((ENCODER, True), (DECODER, False)):
        side = [text for text in upwards if (text.get_position()[0] < middle) == left]
        assert [text.get_text() for text in side] == expected


@pytest.mark.parametrize(("family", "bold"), [("STIXGeneral", True), ("STIXSizeFiveSym", False)])
def test_what_is_brought_out_is_bold_where_its_font_has_a_bold_face(
    ax: Axes, monkeypatch: pytest.MonkeyPatch, family: str, bold: bool
) -> None:
    monkeypatch.setattr("ropewalk.plot._canvas.JAPANESE_FONTS", (family,))
    rw.plot.transformer(ax=ax, lang="ja")
    brought_out = {text.get_text() for text in ax.texts if text.get_fontweight() == "bold"}
    assert ({"エンコーダー", "デコーダー", "位置符号"} <= brought_out) == bold
    assert bool(brought_out) == bold


def test_positional_encodings_are_framed_thickest(ax: Axes) -> None:
    rw.plot.transformer(ax=ax)
    widest = max(box.get_linewidth() for box in frames(ax))
    brought_out = [box for box in frames(ax) if box.get_linewidth() == widest]
    assert len(brought_out) == 2
    for box in brought_out:
        centre = box.get_x() + box.get_width() / 2, box.get_y() + box.get_height() / 2
        (text,) = [
            text for text in ax.texts if text.get_position() == pytest.approx(centre, rel=1e-15)
        ]
        assert text.get_text() == "positional\nencoding"


def test_the_encoder_is_one_layer_of_two_parts_and_the_decoder_one_of_three(ax: Axes) -> None:
    rw.plot.transformer(ax=ax)
    layers = [box for box in frames(ax) if box.get_linestyle() == "--"]
    inside = [
        sum(
            box.get_x() < x < box.get_x() + box.get_width()
            and box.get_y() < y < box.get_y() + box.get_height()
            for x, y in (text.get_position() for text in ax.texts if text.get_text() not in BESIDE)
        )
        for box in layers
    ]
    assert inside == [4, 6]


def test_keys_and_values_come_from_the_encoder_to_cross_attention(ax: Axes) -> None:
    rw.plot.transformer(ax=ax)
    (cross,) = [t.get_position() for t in ax.texts if t.get_text() == "cross-attention"]
    (level,) = [
        patch._posA_posB  # type: ignore[attr-defined]
        for patch in ax.patches
        if isinstance(patch, FancyArrowPatch) and all(y == cross[1] for _, y in patch._posA_posB)  # type: ignore[attr-defined]
    ]
    encoder = [text.get_position()[0] for text in ax.texts if text.get_text() == "self-attention"]
    assert encoder[0] < level[0][0] < level[1][0] < cross[0]


def test_every_word_is_japanese_where_a_font_is_found(
    ax: Axes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["Noto Sans CJK JP"])
    rw.plot.transformer(ax=ax, lang="ja")
    said = {text.get_text() for text in ax.texts}
    assert said == {_canvas.JAPANESE[word] for word in {*ENCODER, *DECODER, *BESIDE}}
