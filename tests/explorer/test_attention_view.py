"""The view of attention: its numbers in the page are the reference's, whatever is switched on."""

import math
import re
from base64 import b64encode
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Locator
from tests import reference
from tests.explorer.conftest import Shown, numbers
from traitlets import TraitError

import ropewalk as rw
from ropewalk.explorer._view import View

Show = Callable[[View], Shown]
TOKENS = ["猫", "が", "眠る", "cat", "s"]
SHAPE = (5, 5)
DIGITS = 5.1e-5  # the page shows five digits of a float32


@pytest.fixture
def vectors(rng: np.random.Generator) -> NDArray[np.float64]:
    """Query, key and value of three heads."""
    return rng.standard_normal((3, 3, 5, 2))


def weights_of(logits: NDArray[np.float64], visible: Any, temperature: float) -> list[list[float]]:
    """Softmax of the logits over the temperature, row by row."""
    return [
        reference.softmax(
            [x / temperature if visible(i, j) else -math.inf for j, x in enumerate(row)]
        )
        for i, row in enumerate(logits.tolist())
    ]


def test_every_weight_can_be_read_under_the_pointer(
    show: Show, vectors: NDArray[np.float64]
) -> None:
    query, key, _ = vectors
    shown = show(rw.explorer.attention(rw.attention_weights(query, key), tokens=TOKENS))
    logits = query[0] @ key[0].T / math.sqrt(2)
    expected = weights_of(logits, lambda _i, _j: True, 1.0)
    np.testing.assert_allclose(shown.read(SHAPE), expected, rtol=DIGITS)


def test_a_thumbnail_shows_its_head_large(show: Show, vectors: NDArray[np.float64]) -> None:
    query, key, _ = vectors
    shown = show(rw.explorer.attention(rw.attention_weights(query, key), tokens=TOKENS))
    shown.page.get_by_role("button", name="head 2").click()
    shown.settle()
    assert shown.view.head == 2
    pressed = shown.page.locator('.heads [aria-pressed="true"]')
    assert pressed.all_text_contents() == ["head 2"]
    logits = query[2] @ key[2].T / math.sqrt(2)
    expected = weights_of(logits, lambda _i, _j: True, 1.0)
    np.testing.assert_allclose(shown.read(SHAPE), expected, rtol=DIGITS)


def test_switches_and_temperature_change_the_weights_as_the_formula_says(
    show: Show, vectors: NDArray[np.float64]
) -> None:
    query, key, _ = vectors
    mask = np.ones(SHAPE, np.bool_)
    mask[3, 1] = False
    view = rw.explorer.attention(rw.attention_weights(query, key), tokens=TOKENS, mask=mask)
    shown = show(view)
    shown.set("causal", True)
    shown.set("before", 2)
    shown.set("mask", True)
    shown.set("temperature", math.log10(0.5))
    assert (view.causal, view.left, view.right, view.masked) == (True, 2, None, True)
    assert view.temperature == 0.5
    logits = query[0] @ key[0].T / math.sqrt(2)

    def visible(i: int, j: int) -> bool:
        return bool(mask[i, j]) and reference.sees(i, j, causal=True, window=(2, None))

    expected = weights_of(logits, visible, 0.5)
    np.testing.assert_allclose(shown.read(SHAPE), expected, rtol=DIGITS)
    shown.set("before", None)
    assert view.left is None


def test_stages_are_stepped_through(show: Show, vectors: NDArray[np.float64]) -> None:
    query, key, value = vectors
    stages = rw.attention_stages(query, key, value, causal=True, softcap=2.0)
    shown = show(rw.explorer.attention(stages, tokens=TOKENS, value=value))
    visible = [[j <= i for j in range(5)] for i in range(5)]
    expected = reference.attention(
        *vectors[:, 0].tolist(), scale=1 / math.sqrt(2), softcap=2.0, visible=visible
    )
    options = shown.control("stage").locator("option").all_text_contents()
    assert options == ["scores", "capped", "biased", "weights", "output"]
    for stage in options:
        shown.set("stage", stage)
        shape = (5, 2) if stage == "output" else SHAPE
        np.testing.assert_allclose(shown.read(shape), getattr(expected, stage), rtol=DIGITS)


def test_weights_are_shown_as_given_until_something_is_switched_on() -> None:
    """A sink leaves rows below 1; a causal mask makes them sum to 1."""
    weights = np.array([[0.25, 0.25], [0.25, 0.5]])
    view = rw.explorer.attention(weights)
    assert shown_map(view).tolist() == weights.tolist()
    view.causal = True
    np.testing.assert_allclose(shown_map(view), [[1.0, 0.0], [1 / 3, 2 / 3]], rtol=1e-7)
    view.causal = False
    assert shown_map(view).tolist() == weights.tolist()


def test_numbers_too_small_are_no_error_whatever_numpy_makes_of_them() -> None:
    with np.errstate(all="raise"):
        view = rw.explorer.attention(np.array([[1.0, 0.0], [1e-300, 1.0]]))
        assert shown_map(view).tolist() == [[1.0, 0.0], [0.0, 1.0]]
        view.temperature = 0.5
        assert shown_map(view).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def shown_map(view: Any) -> NDArray[np.float32]:
    packed = view.picture["map"]
    return np.frombuffer(packed["values"], "<f4").reshape(packed["shape"])


def test_queries_that_continue_a_cache_are_masked_where_they_stand() -> None:
    weights = np.full((2, 4), 0.25)
    view = rw.explorer.attention(weights, offset=2)
    view.causal = True
    expected = np.array([[1 / 3, 1 / 3, 1 / 3, 0.0], [0.25, 0.25, 0.25, 0.25]])
    np.testing.assert_allclose(shown_map(view), expected, rtol=1e-7)


def test_without_an_offset_queries_of_another_length_have_no_causal_mask(show: Show) -> None:
    shown = show(rw.explorer.attention(np.full((2, 4), 0.25)))
    assert shown.control("causal").count() == 0
    with pytest.raises(TraitError, match="causal needs offset where 2 queries meet 4 keys"):
        shown.view.causal = True
    assert not shown.view.causal


def test_without_a_mask_none_is_switched_on() -> None:
    """Rows would sum to 1, which a sink had left below."""
    weights = [[0.25, 0.25], [0.25, 0.5]]
    view = rw.explorer.attention(weights)
    with pytest.raises(TraitError, match="masked needs a mask, and none was given"):
        view.masked = True
    assert not view.masked
    assert shown_map(view).tolist() == weights
    view.masked = False


def test_a_small_number_has_one_kind_of_minus(show: Show) -> None:
    stages = rw.attention_stages([[1.0]], [[-1e-7]], [[1.0]])
    shown = show(rw.explorer.attention(stages))
    shown.set("stage", "scores")
    assert shown.readout.endswith("scores \N{MINUS SIGN}1e\N{MINUS SIGN}7")


def test_a_scale_around_zero_has_no_logarithm(show: Show, vectors: NDArray[np.float64]) -> None:
    shown = show(rw.explorer.attention(rw.attention_stages(*vectors)))
    box = shown.page.get_by_label("logarithmic colours")
    assert box.is_enabled()
    shown.set("stage", "scores")
    assert not box.is_visible()


@pytest.mark.parametrize("control", ["head", "left", "right", "temperature"])
def test_a_truth_is_no_integer(control: str) -> None:
    view = rw.explorer.attention(np.full((2, 3, 3), 1 / 3))
    before = getattr(view, control)
    with pytest.raises(TraitError, match=f"^{control} must be .*, got True"):
        setattr(view, control, True)
    assert getattr(view, control) == before
    view.causal = True


def test_thumbnails_keep_the_peak_of_a_large_head() -> None:
    weights = np.zeros((1, 1000, 700))
    weights[0, 637, 411] = 1.0
    packed = rw.explorer.attention(weights).thumbnails
    small = np.frombuffer(packed["values"], "<f4").reshape(packed["shape"])
    assert small.shape == (1, 32, 32)
    assert np.argwhere(small[0] == 1).tolist() == [[637 // 32, 411 // 22]]
    even = rw.explorer.attention(np.full((64, 64), 1 / 64)).thumbnails
    assert set(np.frombuffer(even["values"], "<f4")) == {1 / 64}


def test_thumbnails_and_the_map_change_together(monkeypatch: pytest.MonkeyPatch) -> None:
    view = rw.explorer.attention(np.full((2, 3, 3), 1 / 3))
    sent: list[Any] = []

    def send_state(key: Any) -> None:
        sent.append(copy(key))  # the set is cleared once it is sent

    monkeypatch.setattr(view, "send_state", send_state)
    view.causal = True
    assert sent == ["causal", {"thumbnails", "picture"}]


@pytest.mark.parametrize(("stage", "shape"), [("weights", SHAPE), ("output", (5, 2))])
def test_the_polygon_shows_values_outputs_and_the_weights_of_a_query(
    show: Show, vectors: NDArray[np.float64], stage: str, shape: tuple[int, int]
) -> None:
    query, key, value = vectors
    view = rw.explorer.attention(rw.attention_weights(query, key), tokens=TOKENS, value=value)
    view.stage = stage
    shown = show(view)
    shown.point(3, 0, shape)
    page = shown.page
    lines = page.locator(".weight").evaluate_all("all => all.map(x => x.getAttribute('d'))")
    widths = page.locator(".weight").evaluate_all(
        "all => all.map(x => Number(x.getAttribute('stroke-width')))"
    )
    plane = np.array([[float(x) for x in line[1:].replace("L", " ").split()] for line in lines])
    output, values = plane[:, :2], plane[:, 2:]
    weights = weights_of(query[0] @ key[0].T / math.sqrt(2), lambda _i, _j: True, 1.0)[3]
    weights.sort(reverse=True)
    np.testing.assert_allclose(np.array(widths) / max(widths), np.array(weights) / max(weights))
    # The picture is a similarity of the plane, which keeps weighted means.
    np.testing.assert_allclose(output[0], weights @ values, rtol=1e-5)
    hulls = page.locator("polygon").evaluate_all("all => all.map(x => x.points.length)")
    assert hulls[0] == len(reference.convex_hull(value[0].tolist()))


def test_weights_are_sent_once_and_saved_once(vectors: NDArray[np.float64]) -> None:
    stages = rw.attention_stages(*vectors)
    view = rw.explorer.attention(stages, value=vectors[2])
    weights = np.asarray(stages.weights[0], "<f4").tobytes()
    sent = [view.picture["map"], *view.picture["plane"].values()]
    assert [packed["values"] for packed in sent].count(weights) == 1
    assert view.html().count(b64encode(weights).decode()) == 1


def boxes(locator: Locator) -> NDArray[np.float64]:
    """Left, top, right and bottom of all that are found."""
    return np.array(
        locator.evaluate_all(
            """all => all.map((each) => {
              const { left, top, right, bottom } = each.getBoundingClientRect();
              return [left, top, right, bottom];
            })"""
        )
    )


def test_names_of_values_are_whole_and_apart(show: Show) -> None:
    """Of two values in one place the first is named."""
    value = [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
    tokens = ["left " * 4, "right " * 4, "same place", "below"]
    view = rw.explorer.attention(np.eye(4), tokens=tokens, value=value)
    shown = show(view)
    names = shown.page.locator(".token")
    assert [text[0] for text in names.all_text_contents()] == ["l", "r", "b"]
    figure = boxes(shown.page.locator("svg", has=names.first))[0]
    for one in boxes(names):
        assert (one[:2] >= figure[:2]).all()
        assert (one[2:] <= figure[2:]).all()


def test_labels_of_an_axis_are_whole_however_many(show: Show) -> None:
    tokens = ["a"] * 600 + ["a long label"] * 400
    shown = show(rw.explorer.attention(np.eye(1000), tokens=tokens))
    figure = boxes(shown.page.locator(".map"))[0]
    texts = boxes(shown.page.locator(".map text"))
    assert (texts[:, :2] >= figure[:2]).all()
    assert (texts[:, 2:] <= figure[2:]).all()


def test_a_flat_map_has_a_scale_and_a_name_that_can_be_read(show: Show) -> None:
    shown = show(rw.explorer.attention(np.full((1, 100), 0.01)))
    figure = boxes(shown.page.locator(".map"))[0]
    query = boxes(shown.page.locator(".map text", has_text="query"))[0]
    assert query[3] <= figure[3]
    image_right = boxes(shown.page.locator(".map image").first)[0, 2]
    texts = boxes(shown.page.locator(".map text"))
    high, low = texts[texts[:, 0] > image_right]
    assert high[3] <= low[1] + 2  # a line is higher than its digits


def test_the_output_is_made_of_the_weights_that_are_shown() -> None:
    """A sink leaves rows below 1, and their outputs with them."""
    view = rw.explorer.attention([[0.25, 0.25], [0.0, 1.0]], value=[[1.0, 2.0], [3.0, 4.0]])
    view.stage = "output"
    np.testing.assert_allclose(shown_map(view), [[1.0, 1.5], [3.0, 4.0]], rtol=1e-7)
    view.causal = True
    np.testing.assert_allclose(shown_map(view), [[1.0, 2.0], [3.0, 4.0]], rtol=1e-7)


def test_arrow_keys_walk_the_map_and_the_notebook_does_not_hear_them(
    show: Show, vectors: NDArray[np.float64]
) -> None:
    query, key, _ = vectors
    shown = show(rw.explorer.attention(rw.attention_weights(query, key), tokens=TOKENS))
    shown.page.evaluate(
        "() => { window.heard = []; document.onkeydown = (e) => heard.push(e.key) }"
    )
    shown.page.locator(".map").focus()
    for key_name in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp", "End", "a"):
        shown.page.keyboard.press(key_name)
    assert shown.readout.startswith("query 1 “が” · key 4 “s”")
    shown.page.keyboard.press("ArrowRight")  # the last key is the last
    assert shown.readout.startswith("query 1 “が” · key 4 “s”")
    assert shown.page.evaluate("window.heard") == ["a"]


def test_pages_and_corners_are_reached_by_keys(show: Show) -> None:
    shown = show(rw.explorer.attention(np.full((30, 20), 0.05)))
    shown.page.locator(".map").focus()
    for key_name, cell in [
        *(("PageDown", [10, 0]), ("End", [10, 19]), ("PageDown", [20, 19]), ("PageDown", [29, 19])),
        *(("PageUp", [19, 19]), ("Home", [19, 0]), ("Control+End", [29, 19])),
        ("Control+Home", [0, 0]),
    ]:
        shown.page.keyboard.press(key_name)
        assert [int(x) for x in re.findall(r"(?:query|key) (\d+)", shown.readout)] == cell


@pytest.mark.parametrize("place", [".map", ".heads button"])
def test_shortcuts_are_left_to_the_browser(show: Show, place: str) -> None:
    shown = show(rw.explorer.attention(np.full((3, 4, 4), 0.25)))
    before = shown.readout
    keys = ["ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End"]
    held = [{"altKey": True}, {"metaKey": True}, {"ctrlKey": True, "altKey": True}]
    pressed = [{"key": key, **modifier} for key in keys for modifier in held]
    pressed += [{"key": key, "ctrlKey": True} for key in keys[:4]]
    left = shown.page.locator(place).first.evaluate(
        """(node, pressed) => pressed.map((keys) => node.dispatchEvent(
          new KeyboardEvent("keydown", { ...keys, bubbles: true, cancelable: true })))""",
        pressed,
    )
    assert left == [True] * len(pressed)
    assert shown.readout == before
    assert shown.page.locator(".heads [tabindex='0']").all_text_contents() == ["head 0"]


def test_the_map_is_described_by_its_readout(show: Show) -> None:
    shown = show(rw.explorer.attention(np.eye(2)))
    described = shown.page.locator(".map").get_attribute("aria-describedby")
    assert shown.page.locator(f"#{described}").get_attribute("class") == "readout"


def test_a_finger_on_the_map_scrolls_the_page(show: Show) -> None:
    shown = show(rw.explorer.attention(np.eye(2)))
    assert shown.page.locator(".map").evaluate("e => getComputedStyle(e).touchAction") == "pan-y"


def test_cells_that_the_scale_has_not_are_explained(show: Show) -> None:
    scores = np.array([[1.0, -np.inf], [np.nan, 1.0]])
    weights = np.array([[1.0, 0.0], [0.5, 0.5]])
    stages = rw.AttentionStages(scores, scores, scores, weights, scores[:, 0], weights)
    shown = show(rw.explorer.attention(stages))
    texts = shown.page.locator(".map")
    assert (texts.text_content() or "").count("hatched: hidden, or 0") == 1
    assert "grey" not in (texts.text_content() or "")
    shown.set("stage", "scores")
    assert "hatched: hidden · grey: not finite" in (texts.text_content() or "")
    note = boxes(shown.page.locator(".map text", has_text="hatched"))[0]
    figure = boxes(shown.page.locator(".map"))[0]
    assert (note[2:] <= figure[2:]).all()
    plain = rw.explorer.attention(np.full((2, 2), 0.5))
    shown.mount(plain)
    assert "hatched" not in (shown.page.locator(".map").nth(1).text_content() or "")


def test_the_tab_key_reaches_one_head_and_the_arrow_keys_the_others(show: Show) -> None:
    shown = show(rw.explorer.attention(np.full((144, 2, 2), 0.5)))
    reachable = shown.page.locator(".heads [tabindex='0']")
    assert shown.page.locator(".heads button").count() == 144
    assert reachable.all_text_contents() == ["head 0"]
    reachable.focus()
    focused = shown.page.locator(".heads :focus")
    for key_name, head in [
        *(("ArrowLeft", 0), ("ArrowRight", 1), ("ArrowDown", 2), ("ArrowUp", 1)),
        *(("End", 143), ("ArrowRight", 143), ("Home", 0)),
    ]:
        shown.page.keyboard.press(key_name)
        assert focused.all_text_contents() == reachable.all_text_contents() == [f"head {head}"]
    shown.page.keyboard.press("ArrowRight")
    shown.page.keyboard.press("Enter")
    shown.settle()
    assert shown.view.head == 1


def test_the_head_that_is_shown_is_in_sight(show: Show) -> None:
    view = rw.explorer.attention(np.full((144, 2, 2), 0.5))
    shown = show(view)
    for view.head in (143, 0):
        shown.update()
        strip = boxes(shown.page.locator(".heads"))[0]
        chosen = boxes(shown.page.locator(".heads [aria-pressed=true]"))[0]
        assert strip[1] - 1 <= chosen[1]
        assert chosen[3] <= strip[3] + 1


def test_both_sides_of_the_window_have_their_names(show: Show) -> None:
    shown = show(rw.explorer.attention(np.eye(2)))
    for name in ("window: before", "window: after"):
        assert shown.page.get_by_role("spinbutton", name=name).count() == 1


def test_every_control_is_reached_by_the_tab_key(show: Show, vectors: NDArray[np.float64]) -> None:
    query, key, value = vectors
    view = rw.explorer.attention(
        rw.attention_weights(query, key), value=value, mask=np.ones(SHAPE, np.bool_)
    )
    shown = show(view)
    wanted = shown.page.locator(":is(button, input, select, .map):not([tabindex='-1'])").count()
    assert wanted == 1 + 7 + 1 + 2  # a head, controls, the map, two buttons
    reached = set()
    for _ in range(wanted + 2):
        shown.page.keyboard.press("Tab")
        reached.add(
            shown.page.evaluate(
                "[...document.querySelectorAll('*')].indexOf(document.activeElement)"
            )
        )
    assert len(reached - {0, 1, 2}) >= wanted


def test_the_cursor_finds_its_key_again(show: Show, vectors: NDArray[np.float64]) -> None:
    query, key, value = vectors
    shown = show(
        rw.explorer.attention(rw.attention_weights(query, key), tokens=TOKENS, value=value)
    )
    shown.page.locator(".map").focus()
    shown.page.keyboard.press("End")
    shown.set("stage", "output")
    assert shown.readout.startswith("query 0 “猫” · feature 1 ")
    shown.set("stage", "weights")
    assert shown.readout.startswith("query 0 “猫” · key 4 “s” ")


def test_the_page_follows_python(show: Show, vectors: NDArray[np.float64]) -> None:
    query, key, _ = vectors
    view = rw.explorer.attention(rw.attention_weights(query, key), tokens=TOKENS)
    shown = show(view)
    view.head, view.causal, view.temperature = 1, True, 2.0
    shown.update()
    assert shown.control("causal").is_checked()
    assert shown.page.locator("output").first.text_content() == "2"
    logits = query[1] @ key[1].T / math.sqrt(2)
    expected = weights_of(logits, lambda i, j: j <= i, 2.0)
    np.testing.assert_allclose(shown.read(SHAPE), expected, rtol=DIGITS)


@pytest.mark.parametrize(
    ("typed", "in_effect"), [("-3", ["2", ""]), ("-", ["2", ""]), ("1.5", ["1", "1"])]
)
def test_a_number_that_is_refused_is_gone_once_its_field_is_left(
    show: Show, typed: str, in_effect: list[str]
) -> None:
    """Of 1.5 the 1 was taken, and is shown."""
    view = rw.explorer.attention(np.eye(3))
    shown = show(view)
    before, after = shown.control("window: before"), shown.control("after").last
    view.left = 2
    shown.update()
    for field, number in zip((before, after), in_effect, strict=True):
        field.focus()
        shown.page.keyboard.press("Control+A")
        shown.page.keyboard.type(typed)
        shown.page.keyboard.press("Tab")
        assert field.input_value() == number
        assert field.evaluate("input => input.validity.valid")
    shown.settle()


def test_a_number_field_shows_what_python_set_meanwhile(show: Show) -> None:
    view = rw.explorer.rotation([1.0, 0.0], [1.0, 0.0])
    shown = show(view)
    field = shown.control("first position")
    field.focus()
    view.start = 9
    shown.update()
    assert field.input_value() == "0"  # what is being typed stays
    field.fill("")
    field.blur()
    assert field.input_value() == "9"


def test_numbers_keep_their_names_while_python_is_busy(
    show: Show, vectors: NDArray[np.float64]
) -> None:
    shown = show(rw.explorer.attention(rw.attention_stages(*vectors), tokens=TOKENS))
    before = shown.readout
    shown.python_is_busy()
    shown.control("stage").select_option("scores")
    shown.page.get_by_role("button", name="head 2").click()
    shown.page.get_by_label("logarithmic colours").check()  # draws
    assert shown.readout == before
    assert shown.page.locator(".heads [aria-pressed=true]").all_text_contents() == ["head 0"]


def test_a_view_that_is_closed_hears_no_more(show: Show, vectors: NDArray[np.float64]) -> None:
    query, key, _ = vectors
    view = rw.explorer.attention(rw.attention_weights(query, key))
    shown = show(view)
    before = shown.readout
    shown.page.evaluate("() => window.close()")
    assert set(
        shown.page.evaluate("() => Object.values(window.listeners).map((l) => l.length)")
    ) == {0}
    view.head = 1
    shown.update()
    assert shown.readout == before


def test_two_thousand_queries_and_keys_are_quick(open_saved: Show) -> None:
    """A move of the pointer takes no longer than a frame or two."""
    weights = np.random.default_rng(0).random((1, 2048, 2048), np.float32)
    shown = open_saved(rw.explorer.attention(weights))
    durations = shown.page.evaluate(
        """() => {
        const map = document.querySelector(".map");
        const { x, y } = map.querySelector("image").getBoundingClientRect();
        return Array.from({ length: 100 }, (_, i) => {
          const begin = performance.now();
          map.dispatchEvent(
            new PointerEvent("pointermove", { clientX: x + i + 1, clientY: y + i + 1 }));
          return performance.now() - begin;
        });
      }"""
    )
    # Milliseconds; the median, for on a busy machine some wait for their turn.
    assert np.median(durations) < 30
    assert shown.page.locator(".map *").count() < 300  # a picture, not four million cells
    row, _, column, _, value = numbers(shown.readout)
    assert value == pytest.approx(weights[0, int(row), int(column)], rel=DIGITS)


def test_the_polygon_of_the_most_values_is_quick(open_saved: Show) -> None:
    """A move of the pointer takes no longer than a frame or two, and one within a cell nothing."""
    rng = np.random.default_rng(0)
    weights, value = rng.random((8, 4096), np.float32), rng.random((4096, 2))
    shown = open_saved(rw.explorer.attention(weights, value=value))
    durations, changes = shown.page.evaluate(
        """async () => {
        const map = document.querySelector(".map");
        const figures = document.querySelector(".figures");
        const { x, y, height } = map.querySelector("image").getBoundingClientRect();
        const move = (row) => map.dispatchEvent(
          new PointerEvent("pointermove", { clientX: x + 1, clientY: y + (row * height) / 8 }));
        const durations = Array.from({ length: 50 }, (_, i) => {
          const begin = performance.now();
          move(i % 8 + 0.25);
          figures.getBoundingClientRect();
          return performance.now() - begin;
        });
        const changes = new MutationObserver(() => {});
        changes.observe(document.body, { childList: true, subtree: true, characterData: true });
        move(49 % 8 + 0.75);
        return [durations, changes.takeRecords().length];
      }"""
    )
    assert np.median(durations) < 200  # milliseconds; to draw all anew takes three times as long
    assert changes == 0
    assert shown.page.locator("svg:has(polygon) *").count() < 300
    widths = shown.page.locator(".weight").evaluate_all(
        "all => all.map(x => Number(x.getAttribute('stroke-width')))"
    )
    heaviest = np.sort(weights[49 % 8])[:-257:-1]
    np.testing.assert_allclose(widths, 4 * heaviest / heaviest[0], rtol=1e-6)


@pytest.mark.parametrize("staged", [False, True])
def test_arrays_that_change_later_change_no_view(staged: bool) -> None:
    """By hand: of two alike logits, a key that is masked leaves all weight to the other."""
    stages = rw.attention_stages(np.zeros((2, 1)), np.zeros((2, 1)), np.zeros((2, 1)))
    weights, mask = np.full((2, 2), 0.5), np.eye(2, dtype=np.bool_)
    view = rw.explorer.attention(stages if staged else weights, mask=mask)
    for array in (stages.biased, stages.weights, weights, mask):
        array[...] = 1 - np.eye(2)
    view.masked = True
    np.testing.assert_array_equal(np.frombuffer(view.picture["map"]["values"], "<f4"), [1, 0, 0, 1])
    view.masked = False
    np.testing.assert_array_equal(np.frombuffer(view.picture["map"]["values"], "<f4"), [0.5] * 4)


REFUSALS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"weights": np.ones(3)}, ValueError, r"weights must have shape .* got \(3,\)"),
    ({"weights": np.ones((0, 3))}, ValueError, r"weights must have shape .* got \(0, 3\)"),
    ({"weights": np.ones((1, 4097))}, ValueError, r"at most 4096, got \(1, 4097\)"),
    ({"weights": [[1.5]]}, ValueError, "weights must be from 0 to 1, got 1.5"),
    ({"weights": [[np.nan]]}, ValueError, "weights must be from 0 to 1, got nan"),
    ({"weights": [[1j]]}, TypeError, "weights must be integers, float64"),
    ({"tokens": ["a"]}, ValueError, "tokens must be 2 strings, got 1"),
    ({"tokens": ["a", 1]}, TypeError, "tokens must be strings, got "),
    ({"key_tokens": "abc"}, ValueError, "key_tokens must be 2 strings, got 3"),
    ({"value": np.ones((3, 2))}, ValueError, r"value must have shape \(..., 2, value dim\)"),
    ({"value": np.ones((3, 2, 2))}, ValueError, "value must broadcast to the leading axes"),
    ({"value": [[np.inf], [0.0]]}, ValueError, "value must be finite"),
    ({"value": np.full((2, 2), 1e308)}, ValueError, r"value must be finite, .* got 1e\+308"),
    (
        {"weights": rw.attention_stages([[np.nan]], [[1.0]], [[1.0]]), "value": [[1.0, 2.0]]},
        ValueError,
        "weights must be finite where value has two features",
    ),
    ({"mask": [[1, 0], [1, 1]]}, TypeError, "mask must be boolean"),
    ({"mask": np.ones((3, 2), np.bool_)}, ValueError, "mask must broadcast to the shape"),
    ({"offset": 0.5}, TypeError, "offset must be an integer, got 0.5"),
]


@pytest.mark.parametrize(("options", "error", "message"), REFUSALS)
def test_bad_input_is_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    arguments = {"weights": np.eye(2)} | options
    with pytest.raises(error, match=message):
        rw.explorer.attention(arguments.pop("weights"), **arguments)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("head", 1, "head must be from 0 to 0, got 1"),
        ("stage", "output", "stage must be one of 'weights', got 'output'"),
        ("temperature", 1e-306, "temperature must be a number from 1e-06 to 1000000.0, got 1e-306"),
        ("left", -1, f"left must be an integer from 0 to {2**53}, got -1"),
        ("right", 2**53 + 1, f"right must be an integer from 0 to {2**53}, got {2**53 + 1}"),
    ],
)
def test_a_control_refuses_what_it_cannot_show(name: str, value: object, message: str) -> None:
    view = rw.explorer.attention(np.eye(2))
    with pytest.raises(TraitError, match=message):
        setattr(view, name, value)
