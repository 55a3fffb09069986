"""The ledger of the articles: everything that they say has an entry, and every entry is true.

What the articles print is typed here again from their texts.
"""

import csv
import dataclasses
import io
import itertools
import json
import math
import re
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from tests import reference
from tests.reference import Real, mp

import ropewalk as rw
from ropewalk._options import Lang
from ropewalk.articles import Entry, Table, ledger
from ropewalk.articles._ledger import ARTICLES, Kind, Verdict

ROOT = Path(__file__).parents[1]
ID = r"[FVGCSNE]\d{3}\.\d+"
LANGUAGES = get_args(Lang)
ENTRIES = {entry.id: entry for entry in ledger()}

PRINTED = {
    "V000.1": "0.841",
    "V000.2": "0.540",
    "V000.3": "0.010",
    "V000.4": "0.999",
    "V000.5": "0.841, 0.540, 0.010, 0.999",
    "V000.6": "2",
    "V001.1": "10, 23, 5, 89",
    "V001.2": "0, 1, 0, 1",
    "V001.3": "sin(1/10000^0), cos(1/10000^0), sin(1/10000^(1/2)), cos(1/10000^(1/2))",
    "V001.4": "sin(2/10000^0), cos(2/10000^0), sin(2/10000^(1/2)), cos(2/10000^(1/2))",
    "V001.5": "(0.8, 0.6, -0.4), (0.9, 0.5, -0.3), (-0.2, 0.7, 0.3)",
    "V002.1": "11111100",
    "V002.2": "True",
    "V002.3": "0, 1, 2, 3, 4",
    "V002.4": "-2, -1, 0, 1, 2",
    "V002.5": "2, 5",
    "V002.6": "5/10, 5/10000",
    "V002.7": "2157",
    "V003.1": "0",
    "V003.2": "0",
    "V003.3": "2",
    "V003.4": "2",
    "V003.5": "4",
    "V003.6": "4",
    "V003.7": "6",
    "V003.8": "6",
    "V003.9": "0",
    "V003.10": "1",
    "V003.11": "0",
    "V003.12": "1",
    "V003.13": "0.8414",
    "V003.14": "0.5403",
    "V003.15": "0.0001",
    "V003.16": "0.9999",
    "V003.17": "0.9092",
    "V003.18": "-0.4161",
    "V003.19": "0.0002",
    "V003.20": "0.9999",
    "V003.21": "2 pi, 4 pi",
    "V004.1": "5",
    "V004.2": "4, 6",
    "V004.3": "2.718281828459",
    "V004.4": "1.7",  # the sum of 0.6, 0.2, 0.8 and 0.1
    "V004.5": "2, √2",
}

# Components of f(0), f(1) and f(2) at D = 128 that article 003 prints, counted from 1.
OF_003 = list(itertools.product((0, 1, 2), (1, 2, 127, 128)))
DECIMALS_OF_003 = [f"V003.{i}" for i in range(13, 21)]


def _row(position: int, dim: int = 4) -> list[Real]:
    """Encode by the formula of the articles."""
    return reference.sinusoidal_encoding([position], reference.standard_frequencies(dim))[0]


EXACT: dict[str, list[Real]] = {
    **{f"V000.{i + 1}": [_row(1)[i]] for i in range(4)},
    "V000.5": _row(1),
    "V000.6": [mp.mpf(4) / 2],
    "V001.2": _row(0),
    "V001.3": _row(1),
    "V001.4": _row(2),
    "V002.1": [mp.mpf(f"{252:b}")],
    "V002.2": [mp.mpf(True)],
    "V002.3": [mp.mpf(i) for i in range(5)],
    "V002.4": [mp.mpf(i - 2) for i in range(5)],
    "V002.5": [mp.mpf(5 - 3), mp.mpf(15 - 10)],
    "V002.6": [mp.mpf(5) / 10, mp.mpf(5) / 10000],
    **{f"V003.{i}": [2 * mp.floor(mp.mpf(i - 1) / 2)] for i in range(1, 9)},  # phi(i)
    **{f"V003.{9 + n}": [_row(t, 128)[i - 1]] for n, (t, i) in enumerate(OF_003)},
    "V003.21": [2 * mp.pi / 1, 2 * mp.pi / mp.mpf("0.5")],
    "V004.1": [mp.mpf(len([1, 3, -2, 6, -1]))],
    "V004.2": [mp.mpf(2 * 2), mp.mpf(2 * 3)],
    "V004.3": [mp.exp(1)],
    "V004.4": [mp.mpf(1)],
    "V004.5": [mp.mpf(2), mp.sqrt(2)],
}
CAT, DOG, CAR = (0.8, 0.6, -0.4), (0.9, 0.5, -0.3), (-0.2, 0.7, 0.3)
FREQUENCIES = {dim: reference.standard_frequencies(dim) for dim in (2, 4, 128, 512)}
# Numbers that the texts quote, with so many decimals.
QUOTED = [
    ("C000.2", (mp.cos(1) + mp.cos(mp.mpf("0.01"))) / 2, 4),
    ("C000.2", 2 * mp.sqrt(mp.sin("0.5") ** 2 + mp.sin("0.005") ** 2), 4),
    ("C000.5", 44 - 14 * mp.pi, 3),
    ("C000.7", 2 * mp.sin("0.5"), 3),
    ("C000.7", 2 * mp.sin("0.005"), 2),
    *[("C000.16", reference.wavelength(FREQUENCIES[dim][-1]), 2) for dim in (4, 128, 512)],
    ("C000.16", 2 * mp.pi * 10000, 2),
    ("N000.4", mp.mpf(10000) ** (mp.mpf(2) / 128), 3),
    ("E000.1", 2 * mp.pi, 4),
    ("E000.1", 200 * mp.pi, 4),
    ("G001.3", mp.sin("0.3"), 4),
    *[
        ("V001.5", reference.similarity(a, b, measure), decimals)
        for measure, decimals in (("inner", 2), ("cosine", 5), ("euclidean", 5))
        for a, b in ((CAT, DOG), (CAT, CAR), (DOG, CAR))
    ],
    *[("V001.5", reference.similarity(a, a, "inner"), 2) for a in (CAT, DOG, CAR)],
    ("E001.1", mp.mpf("1.14") / mp.sqrt(mp.mpf("1.16") * mp.mpf("1.15")), 3),
    ("C003.1", 2 * abs(mp.sin(mp.mpf(312689) / 2)) * 10**6, 3),
    ("N003.3", 10000 * FREQUENCIES[128][-1], 16),
    ("N003.3", 1 / FREQUENCIES[128][-1], 3),
    *[("N003.5", mp.floor(1 / FREQUENCIES[dim][-1]), 0) for dim in (2, 4, 128, 512)],
    *[("E003.2", mp.floor(1 / FREQUENCIES[dim][-1]), 0) for dim in (2, 4, 128, 512)],
    ("E003.2", mp.floor(mp.pi / FREQUENCIES[128][-1]), 0),
]


def _decimal(number: Real, decimals: int, rounding: str) -> str:
    place = Decimal(1).scaleb(-decimals)
    return str(Decimal(mp.nstr(number, 50)).quantize(place, rounding))


def _written(identifier: str, rounding: str) -> str:
    """Exact value with as many decimals as are printed."""
    decimals = len(PRINTED[identifier].rpartition(".")[2])
    return ", ".join(_decimal(x, decimals, rounding) for x in EXACT[identifier])


# The list and the ledger


def test_every_id_of_the_list_has_an_entry_and_every_entry_stands_there() -> None:
    listed = set(re.findall(ID, (ROOT / "docs" / "articles.md").read_text(encoding="utf-8")))
    assert listed == set(ENTRIES)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_entries_stand_in_order_without_a_gap(lang: Lang) -> None:
    for article in ARTICLES:
        found = [entry.id for entry in ledger(article, lang=lang)]
        kinds = [(kind, [i for i in found if i[0] == kind]) for kind in get_args(Kind)]
        expected = [f"{kind}{article}.{n + 1}" for kind, ids in kinds for n in range(len(ids))]
        assert found == expected


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_entry_has_its_texts(lang: Lang) -> None:
    for entry in ledger(lang=lang):
        for text in (entry.says, entry.truth):
            assert text == text.strip() != "", entry.id
            assert "\n" not in text, entry.id
            assert text.count("`") % 2 == 0, entry.id
        assert entry.verdict in get_args(Verdict), entry.id


def test_japanese_texts_are_japanese() -> None:
    japanese = re.compile("[぀-ヿ一-鿿]")
    assert [e.id for e in ledger(lang="ja") if not japanese.search(e.truth)] == []
    assert sum(bool(japanese.search(entry.truth)) for entry in ledger()) < len(ENTRIES) / 10


@pytest.mark.parametrize("lang", LANGUAGES)
def test_ids_named_in_the_texts_exist(lang: Lang) -> None:
    for entry in ledger(lang=lang):
        assert set(re.findall(ID, f"{entry.says} {entry.truth}")) <= set(ENTRIES), entry.id


def test_every_erratum_that_is_named_exists_in_the_same_article() -> None:
    for entry in ENTRIES.values():
        if entry.erratum is not None:
            assert ENTRIES[entry.erratum].kind == "E", entry.id
            assert ENTRIES[entry.erratum].article == entry.article, entry.id


def test_what_is_wrong_has_an_erratum() -> None:
    off = [e for e in ENTRIES.values() if e.verdict in {"wrong", "rounded differently"}]
    corrected = {e.erratum for e in off if e.kind != "E"}
    assert None not in corrected
    assert corrected


def test_only_printed_values_have_a_rounding() -> None:
    assert [e.id for e in ENTRIES.values() if (e.mode is None) == (e.kind == "V")] == []


# The code


@pytest.mark.parametrize("identifier", ENTRIES)
def test_entry_is_true(identifier: str) -> None:
    entry = ENTRIES[identifier]
    assert entry.reproduced(), entry.code and entry.evaluate()


@pytest.mark.parametrize("identifier", [e.id for e in ENTRIES.values() if e.code and not e.mode])
def test_code_computes_a_truth_value(identifier: str) -> None:
    entry = ENTRIES[identifier]
    assert isinstance(entry.evaluate(), bool | np.bool)
    assert re.search(r"\b(rw|np)\.", str(entry.code))


def test_a_false_statement_is_not_reproduced() -> None:
    entry = ENTRIES["E000.1"]
    assert not dataclasses.replace(entry, code=f"not ({entry.code})").reproduced()


def test_an_entry_without_code_cannot_be_evaluated() -> None:
    entry = dataclasses.replace(ENTRIES["G000.1"], code=None)
    with pytest.raises(ValueError, match=r"^G000\.1 has no code"):
        entry.evaluate()
    assert entry.reproduced()


def test_what_can_be_computed_has_code() -> None:
    without = {entry.id for entry in ENTRIES.values() if entry.code is None}
    assert not {i for i in without if i[0] == "F"}
    assert {i for i in without if i[0] == "V"} == set(PRINTED) - set(EXACT)
    assert len(without) < len(ENTRIES) / 15


# Printed values


def test_printed_strings_are_those_of_the_articles() -> None:
    assert {entry.id: entry.printed for entry in ledger(kind="V")} == PRINTED


@pytest.mark.parametrize("identifier", EXACT)
def test_exact_digits_are_those_of_mpmath(identifier: str) -> None:
    listed = str(ENTRIES[identifier].exact).split(", ")
    for digits, number in zip(listed, EXACT[identifier], strict=True):
        assert abs(mp.mpf(digits) - number) <= abs(number) * mp.mpf(10) ** -29 / 2


@pytest.mark.parametrize(
    "identifier", [i for i in EXACT if "sinusoidal_encoding" in str(ENTRIES[i].code)]
)
def test_library_is_within_an_ulp_of_the_exact_value(identifier: str) -> None:
    values = ENTRIES[identifier].values()
    for computed, number in zip(values, EXACT[identifier], strict=True):
        assert abs(mp.mpf(float(computed)) - number) <= math.ulp(float(number))


def test_truncated_values_are_those_that_rounding_does_not_give() -> None:
    decimals = ["V000.1", "V000.2", "V000.3", "V000.4", *DECIMALS_OF_003, "V004.3"]
    cut = {i for i in decimals if _written(i, ROUND_HALF_EVEN) != PRINTED[i]}
    assert cut == {"V000.4", "V003.13", "V003.16", "V003.17", "V003.20"}
    assert cut == {entry.id for entry in ENTRIES.values() if entry.mode == "truncate"}


@pytest.mark.parametrize("identifier", DECIMALS_OF_003)
def test_every_decimal_of_article_003_is_a_truncation(identifier: str) -> None:
    assert _written(identifier, ROUND_DOWN) == PRINTED[identifier]
    assert dataclasses.replace(ENTRIES[identifier], mode="truncate").reproduced()


def test_a_truncated_value_is_not_the_correct_one() -> None:
    assert (ENTRIES["V003.13"].computed(), ENTRIES["V003.13"].correct()) == ("0.8414", "0.8415")
    assert (ENTRIES["V003.16"].computed(), ENTRIES["V003.16"].correct()) == ("0.9999", "1.0000")


def test_an_exact_value_is_written_as_it_is_printed() -> None:
    for identifier in ("V000.6", "V001.2", "V003.1", "V003.7"):
        assert ENTRIES[identifier].computed() == PRINTED[identifier]


def test_no_single_rounding_gives_the_row_of_article_000() -> None:
    assert _written("V000.5", ROUND_HALF_EVEN) == "0.841, 0.540, 0.010, 1.000"
    assert _written("V000.5", ROUND_DOWN) == "0.841, 0.540, 0.009, 0.999"
    assert ENTRIES["V000.5"].computed() == "0.841, 0.540, 0.010, 1.000"


@pytest.mark.parametrize("identifier", EXACT)
def test_a_value_that_is_off_by_a_compared_digit_does_not_reproduce(identifier: str) -> None:
    entry = ENTRIES[identifier]
    step = f"np.maximum({1.5 * 10.0**-entry.decimals}, np.spacing(np.float64({entry.code})))"
    assert not dataclasses.replace(entry, code=f"np.float64({entry.code}) + {step}").reproduced()


def test_a_wrong_value_that_is_right_after_all_does_not_reproduce() -> None:
    printed = "0.841, 0.540, 0.010, 1.000"
    assert not dataclasses.replace(ENTRIES["V000.5"], printed=printed).reproduced()


@pytest.mark.parametrize(("identifier", "number", "decimals"), QUOTED)
def test_numbers_in_the_texts_are_those_of_mpmath(
    identifier: str, number: Real, decimals: int
) -> None:
    digits = _decimal(number, decimals, ROUND_HALF_EVEN)
    for lang in LANGUAGES:
        (truth,) = (e.truth for e in ledger(identifier[1:4], lang=lang) if e.id == identifier)
        assert re.search(rf"(?<![\d.]){re.escape(digits)}(?!\d)", truth), digits


def test_script_of_article_003_gives_the_table_of_the_library() -> None:
    data = np.zeros((51, 128))
    for t, d in itertools.product(range(51), range(128)):
        omega = 1 / (10_000 ** (2 * np.floor(d / 2) / 128))
        data[t, d] = (np.sin if d % 2 == 0 else np.cos)(omega * t)
    table = rw.sinusoidal_encoding(range(51), 128)
    np.testing.assert_allclose(table, data, rtol=0, atol=1e-14)
    assert data.argmin() == 11 * 128
    assert f"{data.min():.6f}" == "-0.999990"


# Notebooks (the figures are looked for in plot/test_article_figures.py)


@pytest.mark.parametrize("folder", ["notebooks", "notebooks/ja"])
def test_every_notebook_cell_that_is_named_is_there_and_computes(folder: str) -> None:
    cells = {
        f"{path.stem}#{cell['id']}"
        for path in (ROOT / folder).glob("*.ipynb")
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    }
    named = {entry.notebook for entry in ENTRIES.values()}
    assert None not in named
    assert sorted(str(name) for name in named if name not in cells) == []


# Asking for entries


def test_ledger_of_an_article_and_a_kind() -> None:
    assert [entry.id for entry in ledger("001", kind="V")] == [f"V001.{i}" for i in range(1, 6)]
    assert {(e.article, e.kind) for e in ledger("002", kind="S")} == {("002", "S")}
    assert [entry.id for entry in ledger(lang="ja")] == [*ENTRIES]


def test_every_article_has_a_title_in_both_languages() -> None:
    english, japanese = (rw.articles.titles(lang=lang) for lang in LANGUAGES)
    assert [*english] == [*japanese] == [*ARTICLES]
    assert not set(english.values()) & set(japanese.values())


@pytest.mark.parametrize("ask", [ledger, rw.articles.show])
@pytest.mark.parametrize(
    ("article", "options", "message"),
    [
        ("005", {}, "article must be one of '000', '001', '002', '003', '004', got '005'"),
        (3, {}, "article must be one of '000', .*, got 3"),
        (None, {"kind": "X"}, "kind must be one of 'F', .*, got 'X'"),
        (None, {"lang": "fr"}, "lang must be one of 'en', 'ja', got 'fr'"),
    ],
)
def test_what_the_ledger_does_not_have_is_refused(ask, article, options, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        ask(article, **options)


# Tables

MARKUP = Entry(
    id="C000.1",
    says='<script>alert("1")</script> a | b & `x < y | z`',
    truth="**bold**, 犬 | 猫",
    verdict="not a theorem",
    code='"<td>" < "|"',
)


class Cells(HTMLParser):
    """What a browser would show in the cells of a table, and the tags that it would see."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - of the parser
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.rows[-1][-1] += data


def test_html_table_shows_markup_letter_for_letter() -> None:
    cells = Cells(Table((MARKUP,), "en").html())
    assert cells.tags == {"table", "thead", "tbody", "tr", "th", "td", "code"}
    says = MARKUP.says.replace("`", "")
    expected = [MARKUP.id, says, MARKUP.truth, MARKUP.verdict, MARKUP.code]
    assert cells.rows[1] == expected


def test_an_id_stays_within_its_attribute() -> None:
    cells = Cells(Table((dataclasses.replace(MARKUP, id='V"><script>'),), "en").html())
    assert "script" not in cells.tags
    assert cells.rows[1][0] == 'V"><script>'


def test_markdown_table_has_equally_many_cells_in_every_line() -> None:
    lines = str(Table((MARKUP,), "en")).splitlines()
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    assert [len(line) for line in cells] == [5, 5, 5]
    assert cells[2][1].strip().replace(r"\|", "|") == MARKUP.says


def test_a_text_of_several_lines_stands_in_one_of_markdown() -> None:
    _, _, line = str(Table((dataclasses.replace(MARKUP, says="one\ntwo\r\nthree"),), "en")).split(
        "\n"
    )
    assert "| one two three |" in line


def test_csv_table_reads_back_markup() -> None:
    (line,) = csv.DictReader(io.StringIO(Table((MARKUP,), "en").csv()))
    assert (line["says"], line["truth"]) == (MARKUP.says, MARKUP.truth)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("article", ARTICLES)
def test_tables_show_every_entry(article: str, lang: Lang) -> None:
    table = rw.articles.show(article, lang=lang)
    entries = ledger(article, lang=lang)
    cells = Cells(table.html())
    assert [row[0] for row in cells.rows[1:]] == [entry.id for entry in entries]
    assert {len(row) for row in cells.rows} == {len(table.columns())}
    assert table.html() == table._repr_html_()
    lines = str(table).splitlines()
    assert len(lines) == len(entries) + 2
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {len(table.columns()) + 1}
    read = [*csv.DictReader(io.StringIO(table.csv()))]
    assert [line["id"] for line in read] == [entry.id for entry in entries]
    assert [line["truth"] for line in read] == [entry.truth for entry in entries]
    assert [line["printed"] for line in read] == [entry.printed or "" for entry in entries]


def test_table_shows_printed_and_computed_value() -> None:
    row = next(line for line in str(rw.articles.show("003")).splitlines() if "V003.17" in line)
    assert "| 0.9092 | 0.9092 |" in row
    assert "rounded it is 0.9093" in row
    assert "| rounded differently | `rw.sinusoidal_encoding(2, 128)[0]` |" in row
    assert row.endswith("| E003.4 |")


def test_a_japanese_table_has_japanese_heads_and_verdicts() -> None:
    head, _, *rows = str(rw.articles.show("000", kind="V", lang="ja")).splitlines()
    assert head.startswith("| ID | 記事の記述 | 印字された値 | 計算値 | 正しくは | 判定 |")
    assert sum("| 再現 |" in row for row in rows) == 4
    assert sum("| 丸め方が異なる |" in row for row in rows) == 1


@pytest.mark.parametrize(("lang", "name"), [("en", "errata.md"), ("ja", "errata.ja.md")])
def test_the_page_of_errata_is_the_table(lang: Lang, name: str) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert page.endswith(f"\n\n{rw.articles.show(kind='E', lang=lang)}\n")
