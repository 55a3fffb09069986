"""What all views share: texts stay texts, dark and light, saved pages and pictures, the extra."""

import re
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib import image
from playwright.sync_api import Page
from tests.conftest import RunPython
from tests.data import luminance
from tests.explorer.conftest import Shown, numbers
from tests.refusals import exactly
from traitlets import TraitError

import ropewalk as rw
from ropewalk.explorer._view import HERE, MODULE, STYLE, View
from ropewalk.explorer._words import JAPANESE

Show = Callable[[View], Shown]
MARKUP = "<img src=x onerror=alert(1)>"
HOSTILE = ["var(--text)", "</script><script>alert(2)</script>", "\"'&amp;<!--", MARKUP]
VIEWS: dict[str, Callable[[], View]] = {
    "attention": lambda: rw.explorer.attention(
        rw.attention_weights(np.eye(4), np.eye(4)),
        tokens=HOSTILE,
        value=[[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]],
        title=MARKUP,
    ),
    "encoding": lambda: rw.explorer.encoding(range(8), 8, title=MARKUP),
    "rotation": lambda: rw.explorer.rotation(np.ones(8), np.ones(8), title=MARKUP),
}
every_view = pytest.mark.parametrize("name", VIEWS)


def check_texts_are_texts(page: Page, name: str) -> None:
    assert page.locator(".ropewalk").locator("img, b, i, script").count() == 0
    assert page.locator("h2").text_content() == MARKUP
    if name == "attention":
        page.locator(".map").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        assert (
            f"query 1 “{HOSTILE[1]}” · key 1 “{HOSTILE[1]}”"
            in page.locator(".readout").inner_text()
        )
        for drawn, token in zip(page.locator(".token").all_text_contents(), HOSTILE, strict=True):
            assert drawn == token or (len(drawn) > 9 and token.startswith(drawn.rstrip("…")))


@every_view
def test_tokens_and_titles_are_shown_as_text_whatever_markup_they_hold(
    show: Show, name: str
) -> None:
    check_texts_are_texts(show(VIEWS[name]()).page, name)


@every_view
def test_they_are_in_a_saved_page_too(open_saved: Show, name: str) -> None:
    shown = open_saved(VIEWS[name]())
    check_texts_are_texts(shown.page, name)
    assert shown.page.title() == MARKUP


def test_characters_that_have_no_look_are_shown(show: Show, tmp_path: Path) -> None:
    tokens = ["\b\n\t ", "\x7f", "\u202e12", "\ud800"]
    expected = ["␈␊␉ ", "[U+007F]", "[U+202E]12", "[U+D800]"]
    shown = show(rw.explorer.attention(np.eye(4), tokens=tokens, title=tokens[0]))
    shown.page.locator(".map").focus()
    for i, text in enumerate(expected):
        assert f"query {i} “{text}” · key 0 “␈␊␉ ”" in shown.page.locator(".readout").inner_text()
        shown.page.keyboard.press("ArrowDown")
    assert shown.page.locator("h2").text_content() == expected[0]
    saved = ET.parse(saved_picture(shown.page, "save SVG", tmp_path))
    assert {"".join(element.itertext()) for element in saved.iter()} >= {*expected}


def contrasts(page: Page) -> tuple[float, float]:
    """Return the luminance of the ground, and the least contrast of a text with it or a panel."""
    colours: dict[str, str] = page.locator(".ropewalk").evaluate(
        """root => Object.fromEntries(
          ["ground", "panel", "text", "faint", "first", "second", "mark"].map((name) => {
            const probe = document.createElement("span");
            root.append(probe);
            probe.style.color = `var(--${name})`;
            const colour = getComputedStyle(probe).color;
            probe.remove();
            return [name, colour];
          }))"""
    )
    parts = {name: re.findall(r"\d+", colour)[:3] for name, colour in colours.items()}
    light = {name: luminance([int(part) / 255 for part in rgb]) for name, rgb in parts.items()}
    found = []
    for ground, text in product(["ground", "panel"], ["text", "faint", "first", "second", "mark"]):
        dark, bright = sorted([light[ground], light[text]])
        found.append((bright + 0.05) / (dark + 0.05))
    return light["ground"], min(found)


@pytest.mark.parametrize("theme", ["true", "false", None], ids=["light", "dark", "none"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_are_legible_in_light_and_dark(show: Show, scheme: Any, theme: str | None) -> None:
    """By the notebook's theme where there is one, else by the system's."""
    shown = show(VIEWS["attention"]())
    shown.page.emulate_media(color_scheme=scheme)
    if theme is not None:
        shown.page.evaluate("(t) => document.body.setAttribute('data-jp-theme-light', t)", theme)
    ground, contrast = contrasts(shown.page)
    is_dark = theme == "false" if theme else scheme == "dark"
    assert (ground < 0.1) == is_dark
    assert contrast >= 4.5  # WCAG 2.2, success criterion 1.4.3


def test_views_in_one_page_share_no_id(show: Show) -> None:
    shown = show(VIEWS["attention"]())
    shown.mount(VIEWS["attention"]())
    ids = shown.page.locator("[id]").evaluate_all("all => all.map((each) => each.id)")
    assert len(ids) == len(set(ids)) >= 2


@every_view
def test_the_notebook_hears_no_key_of_a_control(show: Show, name: str) -> None:
    page = show(VIEWS[name]()).page
    page.evaluate("() => { window.heard = []; document.onkeydown = (e) => heard.push(e.key) }")
    controls = page.locator(".controls :is(input, select, button)")
    assert controls.count() > 3
    for control in controls.all():
        control.press("a")
    assert page.evaluate("window.heard") == []


def test_a_saved_page_steps_through_heads_and_stages(open_saved: Show) -> None:
    x = np.random.default_rng(1).standard_normal((2, 3, 4))
    stages = rw.attention_stages(x, x, x)
    shown = open_saved(rw.explorer.attention(stages, tokens=["私", "は", "猫"]))
    page = shown.page
    assert page.locator(".readout").text_content() == (
        f"query 0 “私” · key 0 “私” · weights {five(stages.weights[0, 0, 0])}"
    )
    page.get_by_role("button", name="head 1").click()
    shown.control("stage").select_option("scores")
    shown.point(2, 1, (3, 3))
    assert shown.readout == f"query 2 “猫” · key 1 “は” · scores {five(stages.scores[1, 2, 1])}"
    assert shown.control("temperature").is_disabled()
    assert shown.control("causal").is_disabled()
    assert "needs Python" in (page.locator(".note").text_content() or "")


def five(value: float) -> str:
    return f"{np.float32(value):.5g}".replace("-", "\N{MINUS SIGN}")


def test_a_saved_page_grows_with_its_heads_alone() -> None:
    one, many = (
        len(rw.explorer.attention(np.full((heads, 8, 8), 1 / 8)).html()) for heads in (1, 41)
    )
    assert many - one < 40 * 1000  # a map and a thumbnail of 64 numbers each, and their names


def test_a_saved_page_knows_all_schedules(open_saved: Show) -> None:
    view = rw.explorer.encoding(range(8), 8)
    shown = open_saved(view)
    assert view.schedule == "standard"  # as it was before
    shown.control("schedule").select_option("linear")
    shown.point(7, 0, (8, 8))
    assert shown.number == pytest.approx(np.sin(7 / 8), rel=5.1e-5)
    assert shown.control("base").is_disabled()


def test_a_saved_page_leaves_out_schedules_that_do_not_suit_its_base(open_saved: Show) -> None:
    shown = open_saved(rw.explorer.encoding(range(9), 64, base=2.0))
    options = shown.control("schedule").locator("option").all_inner_texts()
    assert options == ["standard", "linear", "ntk"]


def test_a_saved_page_walks_the_distance(open_saved: Show) -> None:
    shown = open_saved(rw.explorer.rotation([1.0, 0.0], [1.0, 0.0]))
    shown.control("distance").fill("3")
    assert numbers(shown.readout)[:2] == [3, pytest.approx(np.cos(3), rel=5.1e-5)]
    assert shown.control("first position").is_disabled()


def test_a_page_that_is_saved_is_as_the_view_was_left(open_saved: Show) -> None:
    view = rw.explorer.attention(np.eye(4)[None] * np.ones((2, 1, 1)), tokens="abcd")
    view.head = 1
    shown = open_saved(view)
    assert view.head == 1
    assert shown.page.locator('[aria-pressed="true"]').all_text_contents() == ["head 1"]


@every_view
def test_saving_a_page_moves_no_control(name: str) -> None:
    view = VIEWS[name]()
    changes: list[object] = []
    view.observe(changes.append)
    view.html()
    assert changes == []


def test_a_view_has_the_same_text_in_every_run() -> None:
    assert repr(rw.explorer.attention([[1.0]], title="猫")) == "AttentionView('猫')"
    assert repr(rw.explorer.attention([[1.0]], lang="ja")) == "AttentionView('Attention')"


@pytest.mark.parametrize("title", [5, b"x"])
@pytest.mark.parametrize(
    "view",
    [
        partial(rw.explorer.attention, [[1.0]]),
        partial(rw.explorer.encoding, range(2), 4),
        partial(rw.explorer.rotation, [1.0, 0.0], [1.0, 0.0]),
    ],
    ids=VIEWS,
)
def test_a_title_is_a_string(view: Callable[..., View], title: object) -> None:
    with pytest.raises(TypeError, match=f"title must be a string, got {title!r}"):
        view(title=title)


def test_a_title_has_whole_characters() -> None:
    """Half of one, which UTF-8 has not, could not be saved."""
    with pytest.raises(ValueError, match=r"title must hold whole characters, got 'a\\ud800'"):
        rw.explorer.attention([[1.0]], title="a\ud800")


def test_a_page_that_cannot_be_made_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: View) -> str:
        raise MemoryError

    path = tmp_path / "view.html"
    path.write_text("old")
    monkeypatch.setattr(View, "html", fail)
    with pytest.raises(MemoryError):
        rw.explorer.attention([[1.0]]).save(path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("view.html", "old")]


def test_a_title_that_is_given_is_not_translated() -> None:
    assert rw.explorer.attention([[1.0]], lang="ja").title == "注意機構"
    view = rw.explorer.attention([[1.0]], title="Attention", lang="ja")
    assert view.title == "Attention"


def test_a_page_is_saved_whatever_the_case_of_its_ending(tmp_path: Path) -> None:
    view = VIEWS["rotation"]()
    view.save(tmp_path / "view.HTML")
    assert (tmp_path / "view.HTML").read_text(encoding="utf-8") == view.html()


@pytest.mark.parametrize("name", ["view.svg", "view.htm", "html"])
def test_a_page_is_saved_as_html_alone(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=rf"path must end in \.html .* got '{name}'"):
        VIEWS["rotation"]().save(tmp_path / name)


@pytest.mark.parametrize("path", [None, 3, b"view.html"])
def test_a_page_is_saved_where_a_path_says(path: Any) -> None:
    message = f"path must be a string or a path, got {path!r}"
    with pytest.raises(TypeError, match=exactly(message)):
        VIEWS["rotation"]().save(path)


def test_nothing_in_the_page_asks_for_a_file_or_a_network() -> None:
    assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)", MODULE + STYLE)
    assert not re.search(r"\bimport\b|\bfetch\b|innerHTML|url\(h", MODULE)
    assert "@import" not in STYLE
    assert sorted(path.suffix for path in HERE.iterdir() if path.suffix in {".js", ".css"}) == [
        ".css",
        ".js",
        ".js",
    ]


def saved_picture(page: Page, button: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@every_view
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_view_is_saved_as_svg(show: Show, tmp_path: Path, name: str, scheme: Any) -> None:
    shown = show(VIEWS[name]())
    shown.page.emulate_media(color_scheme=scheme)
    path = saved_picture(shown.page, "save SVG", tmp_path)
    assert path.name == "ropewalk.svg"
    text = path.read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert not any("var(" in value for each in root.iter() for value in each.attrib.values())
    assert (name == "attention") == (">var(--text)<" in text)
    assert "".join(next(root.iter("{http://www.w3.org/2000/svg}text")).itertext()) == MARKUP
    tags = {element.tag.partition("}")[2] for element in root.iter()}
    assert tags <= {
        *("svg", "g", "defs", "pattern", "title"),
        *("rect", "path", "circle", "polygon", "text", "image"),
    }
    shown.page.goto(path.as_uri())
    shown.requests.clear()
    drawn = image.imread(screenshot(shown.page, tmp_path))
    brightest, darkest = drawn[..., :3].max(), drawn[..., :3].min()
    assert brightest - darkest > 0.7
    assert (drawn[2, 2, :3].max() < 0.5) == (scheme == "dark")  # the ground


def test_a_saved_picture_of_attention_says_what_it_shows(show: Show, tmp_path: Path) -> None:
    weights = rw.attention_weights(np.ones((2, 4, 3)), np.ones((2, 4, 3)))
    view = rw.explorer.attention(weights, title="Model", mask=np.tri(4, dtype=np.bool_))
    shown = show(view)

    def said() -> list[str]:
        root = ET.parse(saved_picture(shown.page, "save SVG", tmp_path)).getroot()
        texts = ["".join(text.itertext()) for text in root.findall("{*}text")]
        assert root.get("aria-label") == " · ".join(texts)
        return texts

    assert said() == ["Model", "head 0 · weights"]
    view.set_state({"head": 1, "causal": True, "left": 2, "right": 0, "masked": True})
    view.temperature = 0.5
    shown.update()
    shown.page.get_by_label("logarithmic colours").check()
    assert said() == [
        "Model",
        "head 1 · weights · causal · window: before 2 · window: after 0 · mask · temperature 0.5 · "
        "logarithmic colours",
    ]
    shown.python_is_busy()
    shown.control("causal").uncheck()
    assert " · causal · " in said()[1]


def test_a_saved_picture_of_an_encoding_says_which(show: Show, tmp_path: Path) -> None:
    shown = show(rw.explorer.encoding(range(8), 8, base=1e6))

    def said() -> str:
        root = ET.parse(saved_picture(shown.page, "save SVG", tmp_path)).getroot()
        return "".join(root.findall("{*}text")[1].itertext())

    assert said() == "standard · base 1000000"
    shown.set("schedule", "yarn")
    assert said() == "yarn · base 1000000 · factor 8"


def screenshot(page: Page, folder: Path) -> Path:
    path = folder / "screenshot.png"
    page.screenshot(path=path)
    return path


@every_view
def test_a_view_is_saved_as_png_twice_as_fine(show: Show, tmp_path: Path, name: str) -> None:
    shown = show(VIEWS[name]())
    box = shown.page.locator(".figures").bounding_box()
    assert box is not None
    drawn = image.imread(saved_picture(shown.page, "save PNG", tmp_path))
    assert drawn.shape[1] == 2 * np.ceil(box["width"])
    assert drawn.shape[0] > 2 * box["height"]
    assert drawn[..., :3].min() < 0.3
    assert drawn[-1, -1, :3].tolist() == [1, 1, 1]  # the ground


def test_without_anywidget_the_message_names_the_extra(run_python: RunPython) -> None:
    result = run_python("""
import sys

sys.modules["anywidget"] = None  # as if it were not installed
import ropewalk as rw

try:
    rw.explorer
except ImportError as error:
    print(error)
""")
    expected = "ropewalk.explorer needs anywidget: pip install 'ropewalk[explorer]'\n"
    assert (result.stdout, result.stderr) == (expected, "")


# Japanese

IN_JAPANESE: dict[str, Callable[[], View]] = {
    "attention": lambda: rw.explorer.attention(
        rw.attention_stages(*3 * [np.eye(3)]), tokens=["猫", "が", "眠る"], value=np.eye(3)[:, :2],
        mask=np.tri(3, dtype=bool), lang="ja",
    ),
    "encoding": lambda: rw.explorer.encoding(range(5), 300, lang="ja"),
    "rotation": lambda: rw.explorer.rotation(np.ones(4), np.ones(4), lang="ja"),
}  # fmt: skip
# What Japanese texts write in Latin letters, too.
LATIN = {"NTK", "PNG", "Python", "RoPE", "SVG", "YaRN", "cos", "e", "float", "sin"}


def check_japanese(page: Page) -> None:
    section = page.locator("section")
    assert section.get_attribute("lang") == "ja"
    texts = section.evaluate(
        """(root) => {
          const names = ["aria-label", "aria-roledescription"];
          const texts = [root, ...root.querySelectorAll("*")].flatMap((node) =>
            names.map((name) => node.getAttribute(name) ?? ""));
          const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) texts.push(walker.currentNode.data);
          return texts;
        }"""
    )
    assert set(re.findall(r"[A-Za-z]+", " ".join(texts))) <= LATIN


@pytest.mark.parametrize("name", IN_JAPANESE)
def test_a_view_speaks_japanese(show: Show, name: str) -> None:
    check_japanese(show(IN_JAPANESE[name]()).page)


@pytest.mark.parametrize("name", IN_JAPANESE)
def test_a_saved_page_speaks_japanese(open_saved: Show, name: str) -> None:
    page = open_saved(IN_JAPANESE[name]()).page
    check_japanese(page)
    assert page.locator("html").get_attribute("lang") == "ja"


def test_every_text_of_the_page_has_a_japanese_one() -> None:
    controls = r'(?:select|slider|checkbox|integer)\(model, "\w+", "([^"]+)"'
    said = set(re.findall(r'\bsay\("([^"]+)"', MODULE)) | set(re.findall(controls, MODULE))
    assert len(said) > 40
    assert said <= JAPANESE.keys()
    for english, japanese in JAPANESE.items():
        assert english.count("{}") == japanese.count("{}")


def test_the_language_is_english_or_japanese() -> None:
    with pytest.raises(ValueError, match="lang must be one of 'en', 'ja', got 'fr'"):
        rw.explorer.encoding(range(5), 8, lang="fr")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("view", "control"),
    [
        *(("attention", control) for control in ("head", "left", "right", "temperature")),
        *(("encoding", control) for control in ("dim", "base", "factor")),
        ("rotation", "start"),
    ],
)
def test_no_number_is_too_large_to_be_refused_by_name(view: str, control: str) -> None:
    with pytest.raises(TraitError, match=f"^{control} must be"):
        setattr(VIEWS[view](), control, 10**5000)
