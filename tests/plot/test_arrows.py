"""Arrows of attention: as wide as the weights, from keys to queries."""

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch

import ropewalk as rw

WEIGHTS = [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.125, 0.125, 0.75]]
TOKENS = ["$x$", "pen", "a"]


def arrows(ax: Axes) -> list[FancyArrowPatch]:
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def ends(arrow: FancyArrowPatch) -> Any:
    """Where an arrow begins and where it ends: (x, row)."""
    return arrow._posA_posB  # type: ignore[attr-defined]


def texts(ax: Axes) -> dict[str, tuple[float, float]]:
    return {text.get_text(): text.get_position() for text in ax.texts}


def test_an_arrow_goes_from_every_key_to_every_query(ax: Axes) -> None:
    assert rw.plot.attention_arrows(WEIGHTS, TOKENS, ax=ax) is ax
    drawn = [(start[1], end[1]) for start, end in map(ends, arrows(ax))]
    # (key, query); a weight of exactly 0 has no arrow.
    assert drawn == [(0, 0), (1, 0), (2, 0), (1, 1), (0, 2), (1, 2), (2, 2)]
    assert {(start[0], end[0]) for start, end in map(ends, arrows(ax))} == {(0, 1)}


def test_width_and_opacity_grow_with_the_weight(ax: Axes) -> None:
    rw.plot.attention_arrows(WEIGHTS, TOKENS, ax=ax)
    weights = np.array([0.5, 0.25, 0.25, 1.0, 0.125, 0.125, 0.75])
    widths = np.array([arrow.get_linewidth() for arrow in arrows(ax)])
    opacities = np.array([arrow.get_alpha() for arrow in arrows(ax)], dtype=np.float64)
    np.testing.assert_allclose(widths, widths.max() * weights, rtol=1e-15)
    np.testing.assert_allclose(np.diff(opacities), np.diff(weights) * (1 - 0.3), rtol=0, atol=1e-15)
    assert opacities.max() == 1


def test_the_arrows_of_a_query_have_one_colour(ax: Axes) -> None:
    rw.plot.attention_arrows(WEIGHTS, TOKENS, ax=ax)
    colours = {ends(a)[1][1]: to_hex(a.get_edgecolor()) for a in arrows(ax)}
    assert len(set(colours.values())) == 3
    assert all(to_hex(a.get_edgecolor()) == colours[ends(a)[1][1]] for a in arrows(ax))


def test_one_query_alone_has_its_weights_in_digits(ax: Axes) -> None:
    rw.plot.attention_arrows(WEIGHTS, TOKENS, query=2, ax=ax)
    assert [ends(arrow)[1][1] for arrow in arrows(ax)] == [2, 2, 2]
    assert [text.get_text() for text in ax.texts if "." in text.get_text()] == [
        "0.12",
        "0.12",
        "0.75",
    ]
    bold = [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
    assert bold == ["a"]


@pytest.mark.parametrize(
    ("family", "query", "bold"),
    [
        ("STIXSizeFiveSym", "\N{TOP TORTOISE SHELL BRACKET}", False),
        ("STIXSizeFiveSym", "a", True),
        ("STIXGeneral", "\N{COMBINING ENCLOSING CIRCLE}", True),
    ],
)
def test_a_query_is_bold_where_its_font_has_a_bold_face(
    ax: Axes,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    family: str,
    query: str,
    bold: bool,
) -> None:
    """STIX stands in for Japanese fonts: it has letters that DejaVu Sans has not."""
    monkeypatch.setattr("ropewalk.plot._canvas.JAPANESE_FONTS", (family,))
    rw.plot.attention_arrows([[1.0]], [query], query=0, ax=ax)
    ax.figure.figure.draw_without_rendering()
    (drawn,) = [
        text for text in ax.texts if text.get_position()[0] > 1 and text.get_text() == query
    ]
    assert (drawn.get_fontweight() == "bold") == bold
    assert caplog.messages == []


def test_keys_stand_on_the_left_and_queries_on_the_right_letter_for_letter(ax: Axes) -> None:
    rw.plot.attention_arrows([[0.5, 0.5]], ["$q$"], key_tokens=["$a", "b$"], ax=ax)
    places = texts(ax)
    assert places["$a"][0] == places["b$"][0] < 0
    assert places["$q$"][0] > 1
    assert [places[name][1] for name in ("$a", "$q$", "b$")] == [0, 0.5, 1]
    assert not any(text.get_parse_math() for text in ax.texts if "$" in text.get_text())
    assert places["key"][0] < 0
    assert places["query"][0] > 1


@pytest.mark.parametrize(
    ("weights", "options", "message"),
    [
        ([0.5, 0.5], {}, r"weights must have shape .* got \(2,\)"),
        (np.zeros((0, 3)), {}, r"weights must have shape .* got \(0, 3\)"),
        ([[0.6, 0.2, 1.8]], {}, "weights must be from 0 to 1, got 1.8"),
        ([[0.5, 0.5, 0.0]], {}, "tokens must be 1 strings, got 3"),
        (WEIGHTS, {"key_tokens": ["a"]}, "key_tokens must be 3 strings, got 1"),
        (
            [[0.5, 0.5]] * 3,
            {},
            "^key_tokens must be given where keys are not as many as queries, got 2 keys$",
        ),
        (WEIGHTS, {"query": 3}, "query must be an integer from 0 to 2, got 3"),
        (WEIGHTS, {"query": -1}, "query must be an integer from 0 to 2, got -1"),
    ],
)
def test_a_wrong_value_is_refused(ax: Axes, weights: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rw.plot.attention_arrows(weights, TOKENS, ax=ax, **options)
    assert not ax.texts


def test_a_query_is_an_integer(ax: Axes) -> None:
    with pytest.raises(TypeError, match=r"query must be an integer, got 1\.0"):
        rw.plot.attention_arrows(WEIGHTS, TOKENS, query=1.0, ax=ax)  # type: ignore[arg-type]


def test_digits_do_not_say_nothing_or_all_of_what_is_neither(ax: Axes) -> None:
    rw.plot.attention_arrows([[0.002, 0.998, 1.0]], "q", key_tokens="abc", query=0, ax=ax)
    assert [text.get_text() for text in ax.texts][-3:] == ["< 0.01", "> 0.99", "1.00"]


def test_a_weight_stands_beside_its_own_key(ax: Axes) -> None:
    weights = np.tile(np.arange(1, 17) / 136, (16, 1))
    rw.plot.attention_arrows(weights, [f"t{i}" for i in range(16)], query=0, ax=ax)
    shown = [text for text in ax.texts if text.get_text().startswith("0.")]
    rows = [text.get_position()[1] for text in shown]
    np.testing.assert_array_equal(np.round(rows), range(16))
