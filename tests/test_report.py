"""The report of the articles: what it holds, and that a browser shows it without any network."""

import base64
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from matplotlib import image
from PIL import Image
from playwright.sync_api import Browser, Page, Route

import ropewalk as rw
from ropewalk._options import Lang
from ropewalk._report import Report
from ropewalk.articles import Entry

# Elements that have no end tag.
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
MARKUP = '<img src=x onerror=alert(1)></style><script>alert("2")</script> & `<b>"it\'s"</b>`'


class Element:
    """An element of a page: its tag, its attributes, and the text and the elements in it."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag, self.attributes = tag, attributes
        self.inside: list[Element | str] = []

    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.text() for part in self.inside)

    def elements(self) -> Iterator["Element"]:
        yield self
        for part in self.inside:
            if isinstance(part, Element):
                yield from part.elements()

    def all(self, tag: str) -> list["Element"]:
        return [element for element in self.elements() if element.tag == tag]

    def anchors(self) -> dict[str, "Element"]:
        return {e.attributes["id"]: e for e in self.elements() if "id" in e.attributes}


class WellFormed(HTMLParser):
    """Reads a page in which every element that begins also ends, in the right order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]
        self.feed(page)
        self.close()
        assert self.open == [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


@dataclass(frozen=True)
class Run:
    """What the command wrote."""

    lang: Lang
    result: subprocess.CompletedProcess[str]
    directory: Path

    @property
    def path(self) -> Path:
        return self.directory / "report.html"


@pytest.fixture(scope="module", params=["en", "ja"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The whole command in each language, once."""
    folder = tmp_path_factory.mktemp(request.param)
    result = subprocess.run(
        [sys.executable, "-m", "ropewalk", "articles", "--lang", request.param],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    return Run(request.param, result, folder / "ropewalk-articles")


@pytest.fixture(scope="module")
def page(run: Run) -> Element:
    return WellFormed(run.path.read_text(encoding="utf-8")).root


@pytest.fixture
def hostile_report(tmp_path: Path) -> Path:
    """A report in which every text is markup."""
    figure = f"000_{MARKUP}"
    picture = tmp_path / "picture.png"
    Image.new("RGB", (2, 2)).save(picture)
    claim = Entry(
        id='C000.1"<b>',
        says=MARKUP,
        truth=MARKUP,
        verdict="wrong",
        code=MARKUP,
        figure=figure,
        notebook=MARKUP,
        erratum='E000.1"<b>',
    )
    drawn = replace(claim, id='G000.1"<b>')
    value = replace(claim, id='V000.1"<b>', code=None, printed=MARKUP, exact=MARKUP)
    erratum = replace(claim, id='E000.1"<b>', erratum=None)
    path = tmp_path / "report.html"
    report = Report((value, drawn, claim, erratum), {figure: picture}, (), "en")
    path.write_text(report.html(), encoding="utf-8")
    return path


# The command


def test_the_command_writes_every_figure_every_animation_and_the_tables(run: Run) -> None:
    assert run.result.returncode == 0, run.result.stderr
    written = {path.name for path in run.directory.iterdir()}
    pictures = {name for name in written if name.endswith((".png", ".gif"))}
    tables = {"report.html", "ledger.md", "ledger.csv", "printed_values.md", "printed_values.csv"}
    assert written - pictures == tables
    figures = {entry.figure for entry in rw.articles.ledger() if entry.figure}
    assert sorted(name.partition(".")[0] for name in pictures) == sorted(figures)
    progress = [line.removeprefix("wrote ") for line in run.result.stderr.splitlines()]
    assert sorted(progress) == sorted(str(Path("ropewalk-articles", name)) for name in written)


def test_figures_are_900_pixels_wide_and_animations_move(run: Run) -> None:
    figures, animations = (sorted(run.directory.glob(f"*.{ending}")) for ending in ("png", "gif"))
    assert {image.imread(path).shape[1] for path in figures} == {900}
    assert animations
    for path in animations:
        with Image.open(path) as animation:
            assert getattr(animation, "n_frames", 1) > 1


def test_the_last_line_counts_the_ledger(run: Run) -> None:
    entries = rw.articles.ledger()
    verdicts = Counter(entry.verdict for entry in entries)
    (line,) = run.result.stdout.splitlines()
    assert line.startswith(f"{len(entries)} entries: ")
    assert {f"{count} {verdict}" for verdict, count in verdicts.items()} <= {
        *line.partition(": ")[2].split(", ")
    }
    assert line.endswith(", 0 not reproduced")


# The page


def test_the_page_is_well_formed_and_says_its_language(run: Run, page: Element) -> None:
    (html,) = page.all("html")
    assert html.attributes["lang"] == run.lang
    assert run.path.read_text(encoding="utf-8").startswith("<!doctype html>\n")
    headings = [heading.text() for heading in page.all("h2")]
    for number, title in rw.articles.titles(lang=run.lang).items():
        assert f"{number} {title}" in headings


def test_no_two_anchors_are_alike(page: Element) -> None:
    ids = Counter(e.attributes["id"] for e in page.elements() if "id" in e.attributes)
    assert {key for key, count in ids.items() if count > 1} == set()


def test_every_entry_stands_with_its_article_or_with_the_errata(page: Element) -> None:
    anchors = page.anchors()
    for number in rw.articles.titles():
        ids = {entry.id for entry in rw.articles.ledger(number) if entry.kind != "E"}
        section = anchors[f"article-{number}"].anchors()
        assert {key for key in section if not key.startswith(("article-", "figure-"))} == ids
    errata = {entry.id for entry in rw.articles.ledger(kind="E")}
    assert anchors["errata"].anchors().keys() - {"errata"} == errata


def test_every_entry_is_there_letter_for_letter(run: Run, page: Element) -> None:
    anchors = page.anchors()
    for entry in rw.articles.ledger(lang=run.lang):
        text = anchors[entry.id].text()
        words = [entry.says.replace("`", ""), entry.truth.replace("`", ""), entry.code]
        words += [entry.printed, entry.exact, entry.notebook, entry.figure, entry.erratum]
        assert [word for word in words if word and word not in text] == []


def test_every_link_leads_somewhere_on_the_page(page: Element) -> None:
    ids = {element.attributes.get("id") for element in page.elements()}
    targets = {link.attributes["href"] for link in page.all("a")}
    assert {target for target in targets if target[0] != "#" or target[1:] not in ids} == set()
    assert len(targets) > len(rw.articles.titles())


def test_entries_and_errata_and_figures_lead_to_each_other(page: Element) -> None:
    links = {
        key: {link.attributes["href"] for link in page.anchors()[key].all("a")}
        for key in ("V000.4", "E000.2", "G003.3", "figure-003_heatmap")
    }
    assert "#E000.2" in links["V000.4"]
    assert "#V000.4" in links["E000.2"]
    assert "#figure-003_heatmap" in links["G003.3"]
    assert "#G003.3" in links["figure-003_heatmap"]


def test_pictures_are_the_files_that_were_written(run: Run, page: Element) -> None:
    embedded = {}
    entries = rw.articles.ledger(lang=run.lang)
    for figure in page.all("figure"):
        (picture,) = figure.all("img")
        head, _, data = picture.attributes["src"].partition(";base64,")
        name = figure.attributes["id"].removeprefix("figure-")
        embedded[f"{name}.{head.removeprefix('data:image/')}"] = base64.b64decode(data)
        assert picture.attributes["alt"] in {
            entry.says for entry in entries if entry.figure == name
        }
    written = [path for path in run.directory.iterdir() if path.suffix in {".png", ".gif"}]
    assert embedded == {path.name: path.read_bytes() for path in written}


def test_a_picture_without_an_original_is_told_by_what_it_shows(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    Image.new("RGB", (2, 2)).save(picture)
    entries = (
        Entry("C000.1", "a claim", "", "wrong", figure="000_a"),
        Entry("C000.2", "another", "", "wrong", figure="000_a"),
        Entry("C000.3", "a claim", "", "wrong", figure="000_b"),
        Entry("N000.1", "a concept", "", "reproduced", figure="000_b"),
        Entry("N000.2", "a concept", "", "reproduced", figure="000_c"),
        Entry("G000.1", "an original", "", "reproduced", figure="000_c"),
    )
    pictures = dict.fromkeys(["000_a", "000_b", "000_c"], picture)
    page = WellFormed(Report(entries, pictures, (), "en").html()).root
    told = [img.attributes["alt"] for img in page.all("img")]
    assert told == ["a claim", "a concept", "an original"]
    assert "In the article" not in page.anchors()["figure-000_a"].text()


def test_the_page_names_nothing_outside_itself_and_runs_no_script(page: Element) -> None:
    assert {e.tag for e in page.elements()} & {
        "script",
        "link",
        "iframe",
        "object",
        "base",
    } == set()
    for element in page.elements():
        assert not [name for name in element.attributes if name.startswith("on")]
        assert element.attributes.get("src", "data:").startswith("data:")
        assert element.attributes.get("href", "#").startswith("#")
    (style,) = page.all("style")
    assert "url(" not in style.text()
    assert "@import" not in style.text()


def test_every_head_says_of_what(page: Element) -> None:
    for table in page.all("table"):
        head, *rows = table.all("tr")
        assert {th.attributes.get("scope") for th in head.all("th")} == {"col"}
        assert {th.attributes.get("scope") for row in rows for th in row.all("th")} <= {"row"}


def test_the_summary_counts_the_verdicts_of_every_article(page: Element) -> None:
    heads, *rows = page.anchors()["summary"].all("tr")
    numbers = [head.text() for head in heads.all("th")[:-1]]
    assert numbers == [*rw.articles.titles()]
    counted = [[int(cell.text()) for cell in row.all("td")] for row in rows]
    verdicts = ["reproduced", "rounded differently", "wrong", "illustrative", "not a theorem"]
    for verdict, counts in zip(verdicts, counted, strict=False):
        expected = [
            sum(entry.verdict == verdict for entry in rw.articles.ledger(number))
            for number in numbers
        ]
        assert counts == [*expected, sum(expected)]
    assert counted[len(verdicts) :] == [[0] * (len(numbers) + 1)]  # not reproduced


# Entries that the ledger does not have


def test_markup_in_a_text_is_shown_and_not_obeyed(hostile_report: Path) -> None:
    page = WellFormed(hostile_report.read_text(encoding="utf-8")).root
    assert {e.tag for e in page.elements()} & {"script", "b"} == set()
    (picture,) = page.all("img")
    assert picture.attributes.keys() == {"src", "alt"}
    assert picture.attributes["alt"] == MARKUP
    shown = MARKUP.replace("`", "")
    for kind, times in {"V": 6, "G": 5, "C": 5, "E": 5}.items():
        text = page.anchors()[f'{kind}000.1"<b>'].text().replace("`", "")
        assert text.count(shown) == times, kind
    (figure,) = page.all("figure")
    assert figure.attributes["id"] == f"figure-000_{MARKUP}"
    assert figure.text().replace("`", "").count(shown) == 2


def test_markup_in_a_title_is_shown_and_not_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ropewalk._report.titles", lambda **_: {"000": MARKUP})
    entry = Entry("C000.1", "", "", "wrong")
    page = WellFormed(Report((entry,), {}, (), "en").html()).root
    assert {e.tag for e in page.elements()} & {"img", "script", "b"} == set()
    assert f"000 {MARKUP}" in [heading.text() for heading in page.all("h2")]
    assert f"000 {MARKUP}" in [link.text() for link in page.all("a")]


def test_an_id_in_a_text_leads_to_its_entry_where_there_is_one() -> None:
    entry = Entry("C000.1", "E000.1の証明", "E000.10, E000.2.", "wrong")
    erratum = Entry("E000.1", "", "", "wrong")
    page = WellFormed(Report((entry, erratum), {}, (), "ja").html()).root
    links = page.anchors()["C000.1"].all("a")
    assert [(link.attributes["href"], link.text()) for link in links] == [("#E000.1", "E000.1")]


@pytest.mark.parametrize("key", ["C000.1", "E000.1"])
@pytest.mark.parametrize(("lang", "words"), [("en", "NOT REPRODUCED"), ("ja", "再現できず")])
def test_what_is_not_reproduced_says_so(key: str, lang: Lang, words: str) -> None:
    entries = (Entry("C000.1", "", "", "reproduced"), Entry("E000.1", "", "", "wrong"))
    page = WellFormed(Report(entries, {}, (key,), lang).html()).root
    assert [e.id for e in entries if words in page.anchors()[e.id].text()] == [key]


@pytest.mark.parametrize(("lang", "words"), [("en", "article 000,"), ("ja", ": 記事 000 の検証")])
def test_a_report_of_one_article_says_which(lang: Lang, words: str) -> None:
    page = WellFormed(Report((Entry("C000.1", "", "", "wrong"),), {}, (), lang).html()).root
    for tag in ("title", "h1"):
        (title,) = page.all(tag)
        assert words in title.text()


def test_a_report_of_one_article_leads_to_no_other() -> None:
    entry = Entry("C000.1", "", "see E003.1", "wrong", figure="001_waves", erratum="E003.1")
    page = WellFormed(Report((entry,), {}, (), "en").html()).root
    assert page.anchors()["C000.1"].all("a") == []
    assert [e for e in page.elements() if e.attributes.get("id") == "errata"] == []


# The browser


def opened(page: Page, path: Path) -> list[str]:
    """Open a page, and return all that was asked of the network or said on the console."""
    complaints: list[str] = []

    def refuse(route: Route) -> None:
        url = route.request.url
        if url == path.as_uri() or url.startswith("data:"):
            route.continue_()
        else:
            complaints.append(url)
            route.abort()

    page.route("**/*", refuse)
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.goto(path.as_uri(), timeout=180_000)
    return complaints


def test_a_browser_shows_it_without_an_error_or_a_request(chromium: Browser, run: Run) -> None:
    page = chromium.new_page()
    assert opened(page, run.path) == []
    loaded = page.evaluate("[...document.images].map(i => i.complete && i.naturalWidth > 0)")
    assert loaded == [True] * len([*run.directory.glob("*.png"), *run.directory.glob("*.gif")])
    assert page.title()
    page.close()


def test_a_browser_obeys_no_markup_in_a_text(chromium: Browser, hostile_report: Path) -> None:
    page = chromium.new_page()
    assert opened(page, hostile_report) == []
    assert page.locator("img").count() == 1
    assert page.locator("script, b").count() == 0
    page.close()


def test_a_browser_would_complain_of_a_picture_from_elsewhere(
    chromium: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text('<img src="picture.png"><script>console.error("no")</script>')
    page = chromium.new_page()
    complaints = opened(page, path)
    assert (tmp_path / "picture.png").as_uri() in complaints
    assert "error: no" in complaints
    page.close()


def test_what_moves_can_be_hidden_and_is_shown_on_paper(chromium: Browser, run: Run) -> None:
    """As WCAG 2.2 asks of what moves by itself for longer than five seconds (2.2.2)."""
    page = chromium.new_page()
    opened(page, run.path)
    animations = page.locator("img[src^='data:image/gif']")
    assert animations.count() == len([*run.directory.glob("*.gif")])
    for animation in animations.all():
        page.emulate_media(media="print")
        assert animation.is_visible()
        page.emulate_media(media="screen")
        animation.locator("xpath=..").locator("summary").click()
        assert not animation.is_visible()
    assert page.locator("details img[src^='data:image/png']").count() == 0
    page.close()


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_window(chromium: Browser, run: Run, width: int) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 800})
    opened(page, run.path)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.close()


def test_the_page_is_dark_where_that_is_preferred_but_not_on_paper(
    chromium: Browser, run: Run
) -> None:
    page = chromium.new_page()
    opened(page, run.path)
    ground = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="light")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) == "rgb(20, 24, 29)"
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.close()
