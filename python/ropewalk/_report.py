"""The report of the articles: one HTML page that needs no other file, no script and no network."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ropewalk._core import version
from ropewalk._options import Lang
from ropewalk.articles import Entry, titles
from ropewalk.articles._table import WORDS as TABLE_WORDS
from ropewalk.articles._table import marked

KINDS = "FVGCSN"  # that a section of an article shows; all errata stand together at the end

# The words of the report that the tables of the ledger do not have.
WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "Positional encodings and attention: {}, checked",
        "articles": "five articles",
        "article": "article {}",
        "lead": "What each article says, what is true, and an expression of ropewalk to try.",
        "summary": "Summary",
        "all": "all",
        "figures": "Figures, computed by ropewalk",
        "F": "Formulas",
        "V": "Printed values",
        "G": "Figures and tables of the article",
        "C": "Claims",
        "S": "Scripts",
        "N": "Concepts",
        "E": "Errata",
        "errata": "Every error of the articles, and the proof that it is one.",
        "corrects": "concerns",
        "original": "In the article:",
        "exact": "exact",
        "not reproduced": "NOT REPRODUCED",
        "hide": "Animation (can be closed)",
        "made": "Made by ropewalk",
    },
    "ja": {
        "title": "位置符号と注意機構: {}の検証",
        "articles": "5 本の記事",
        "article": "記事 {} ",
        "lead": "各記事の記述と正しい内容、それを確かめる ropewalk の式をまとめた報告です。",
        "summary": "まとめ",
        "all": "全体",
        "figures": "ropewalk で計算した図",
        "F": "数式",
        "V": "印字された値",
        "G": "記事の図と表",
        "C": "主張",
        "S": "スクリプト",
        "N": "概念",
        "E": "正誤表",
        "errata": "記事の誤りを、その証明とともに示します。",
        "corrects": "該当箇所",
        "original": "記事の図:",
        "exact": "正確な値",
        "not reproduced": "再現できず",
        "hide": "アニメーション (閉じられます)",
        "made": "作成: ropewalk",
    },
}

# A verdict is told by a sign and a word, and not by its colour alone.
SIGNS: Mapping[str, str] = {
    "reproduced": "✓",
    "rounded differently": "≈",
    "wrong": "✗",
    "illustrative": "○",
    "not a theorem": "△",
    "not reproduced": "‼",
}

# Nothing is loaded and nothing runs, whatever stands in the page.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #ffffff; --text: #1b1f24; --faint: #57606a; --line: #d0d7de; --panel: #f6f8fa;
  --link: #0b5cad; --good: #00664d; --fair: #7a5200; --bad: #a63a00;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ground: #14181d; --text: #e6eaef; --faint: #9aa4af; --line: #39424c; --panel: #1e242b;
    --link: #7cb8f5; --good: #4fd1a8; --fair: #e8b54d; --bad: #ff9a5c;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1rem 1.25rem 4rem; max-width: 76rem;
  background: var(--ground); color: var(--text);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere;
}
:lang(ja) { line-height: 1.75; }
h1 { font-size: 1.7rem; line-height: 1.25; margin-bottom: 0.5rem; }
h2 { font-size: 1.35rem; margin-top: 3rem; padding-top: 0.5rem; border-top: 2px solid var(--line); }
h3 { font-size: 1.1rem; margin: 2rem 0 0.75rem; }
a { color: var(--link); }
nav ul { padding: 0; list-style: none; }
code { padding: 0.05em 0.25em; border-radius: 3px; background: var(--panel); font-size: 0.9em; }
table { width: 100%; border-collapse: collapse; font-size: 0.94rem; }
th, td { padding: 0.5rem 0.6rem; border-bottom: 1px solid var(--line); text-align: left; }
td { vertical-align: top; }
th { color: var(--faint); font-weight: 600; }
p { margin: 0 0 0.4rem; white-space: pre-line; }
.summary { width: auto; overflow-wrap: normal; }
.summary td { text-align: right; font-variant-numeric: tabular-nums; }
.entries th:first-child { width: 5.5rem; }
.entries .printed, .entries .computed { width: 9.8rem; font-variant-numeric: tabular-nums; }
.entries .verdict { width: 10rem; }
.entries .says { min-width: 9rem; }
.faint { color: var(--faint); font-size: 0.9em; }
td.id, td.verdict { font-weight: 600; }
.reproduced { color: var(--good); }
.rounded-differently, .illustrative, .not-a-theorem { color: var(--fair); }
.wrong, .not-reproduced { color: var(--bad); }
.figures {
  display: grid; gap: 1.25rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr));
}
figure { margin: 0; }
img {
  display: block; width: 100%; height: auto; padding: 0.5rem;
  border: 1px solid var(--line); border-radius: 6px; background: #ffffff;
}
summary { color: var(--faint); font-size: 0.9rem; cursor: pointer; }
figcaption { margin-top: 0.35rem; color: var(--faint); font-size: 0.9rem; }
article {
  margin: 1.25rem 0; padding: 0.75rem 1rem;
  border-left: 4px solid var(--bad); background: var(--panel);
}
article code { background: var(--ground); }
:target { outline: 2px solid var(--link); outline-offset: 2px; }
footer { margin-top: 3rem; color: var(--faint); }
@media (max-width: 46rem) {
  body { padding: 0.5rem 0.75rem 3rem; }
  .summary { font-size: 0.8rem; }
  .summary th, .summary td { padding: 0.4rem 0.2rem; }
  .entries, .entries tbody { display: block; }
  .entries thead { display: none; }
  .entries tr {
    display: grid; grid-template-columns: 1fr 1fr;
    padding: 0.6rem 0; border-bottom: 1px solid var(--line);
  }
  .entries td {
    grid-column: 1 / -1; width: auto; min-width: 0; padding: 0.15rem 0; border: 0;
  }
  .entries td.id, .entries td.printed { grid-column: 1; width: auto; }
  .entries td.computed { grid-column: 2; width: auto; }
  .entries td.verdict { grid-area: 1 / 2; width: auto; text-align: right; }
  .entries td[data-label]:not(:empty)::before {
    content: attr(data-label); display: block; color: var(--faint); font-size: 0.8rem;
    font-weight: 400;
  }
}
@media print {
  body { max-width: none; font-size: 10pt; }
  nav, details[open] > summary { display: none; }
  section { break-before: page; }
  tr, figure, article { break-inside: avoid; }
  a { color: inherit; text-decoration: none; }
}
"""


@dataclass(frozen=True, slots=True)
class Report:
    """Entries of the ledger and the pictures that show them, as a page.

    Attributes
    ----------
    entries : tuple of Entry
        What is reported.
    pictures : mapping of str to Path
        Files by the names of the figures and animations, PNG and GIF; they are copied into the
        page. Names begin with the number of the article.
    failed : collection of str
        Ids of the entries that are not reproduced.
    lang : {"en", "ja"}
        Language of the words of the page; that of the entries is theirs.
    """

    entries: tuple[Entry, ...]
    pictures: Mapping[str, Path]
    failed: Collection[str]
    lang: Lang

    def html(self) -> str:
        """Write the page."""
        words, names = WORDS[self.lang], titles(lang=self.lang)
        articles = {entry.article: names[entry.article] for entry in self.entries}
        which = words["article" if len(articles) == 1 else "articles"].format(*articles)
        title = words["title"].format(which)
        errata = [entry for entry in self.entries if entry.kind == "E"]
        contents = [(f"article-{number}", f"{number} {name}") for number, name in articles.items()]
        sections = [self._summary([*articles])]
        sections += [self._article(number, name) for number, name in articles.items()]
        if errata:
            contents.append(("errata", words["E"]))
            sections.append(self._errata(errata))
        links = "".join(f'<li><a href="#{to}">{escape(text)}</a></li>' for to, text in contents)
        return f"""<!doctype html>
<html lang="{self.lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>{words["lead"]}</p>
<nav><ul>{links}</ul></nav>
</header>
<main>
{"".join(sections)}</main>
<footer>{words["made"]} {version}</footer>
</body>
</html>
"""

    def _summary(self, articles: list[str]) -> str:
        """How many entries of each article have each verdict."""
        words = WORDS[self.lang]
        counts = Counter((self._verdict(entry), entry.article) for entry in self.entries)
        head = "".join(
            f'<th scope="col"><a href="#article-{number}">{number}</a></th>' for number in articles
        )
        rows = ""
        for verdict in SIGNS:
            numbers = [counts[verdict, number] for number in articles]
            cells = "".join(f"<td>{n}</td>" for n in [*numbers, sum(numbers)])
            name = self._marked_verdict(verdict)
            rows += f'<tr><th scope="row">{name}</th>{cells}</tr>\n'
        return f"""<section id="summary">
<h2>{words["summary"]}</h2>
<table class="summary">
<thead><tr><td></td>{head}<th scope="col">{words["all"]}</th></tr></thead>
<tbody>
{rows}</tbody>
</table>
</section>
"""

    def _article(self, number: str, name: str) -> str:
        words = WORDS[self.lang]
        parts = [f'<section id="article-{number}">\n<h2>{number} {escape(name)}</h2>\n']
        pictures = [self._picture(name) for name in self.pictures if name.startswith(number)]
        if pictures:
            parts.append(f'<h3>{words["figures"]}</h3>\n<div class="figures">\n')
            parts += [*pictures, "</div>\n"]
        for kind in KINDS:
            entries = [e for e in self.entries if (e.article, e.kind) == (number, kind)]
            if entries:
                parts += [f"<h3>{words[kind]}</h3>\n", self._table(entries, kind)]
        errata = [e.id for e in self.entries if (e.article, e.kind) == (number, "E")]
        if errata:
            parts.append(f"<h3>{words['E']}</h3>\n<p>{self._links(errata)}</p>\n")
        return "".join([*parts, "</section>\n"])

    def _picture(self, name: str) -> str:
        path = self.pictures[name]
        data = b64encode(path.read_bytes()).decode()
        shown = [entry for entry in self.entries if entry.figure == name]
        kinds = {entry.kind: entry.says for entry in reversed(shown)}  # what the first of each says
        says = kinds.get("G", "")
        original = f"{WORDS[self.lang]['original']} {self._text(says)}" if says else ""
        links = self._links(entry.id for entry in shown)
        told = says or kinds.get("N") or next((entry.says for entry in shown), name)
        picture = f'<img src="data:image/{path.suffix[1:]};base64,{data}" alt="{escape(told)}">'
        if path.suffix == ".gif":
            hide = WORDS[self.lang]["hide"]
            picture = f"<details open><summary>{hide}</summary>{picture}</details>"
        return (
            f'<figure id="figure-{escape(name)}">{picture}'
            f"<figcaption><strong>{escape(name)}</strong> {original} {links}"
            "</figcaption></figure>\n"
        )

    def _table(self, entries: list[Entry], kind: str) -> str:
        names = ["id", "says", "truth", "verdict"]
        if kind == "V":
            names[2:2] = ["printed", "computed"]
        words = TABLE_WORDS[self.lang]
        head = "".join(f'<th scope="col" class="{name}">{words[name]}</th>' for name in names)
        rows = ""
        for entry in entries:
            cells = {
                "id": escape(entry.id),
                "says": self._text(entry.says),
                "printed": escape(entry.printed or ""),
                "computed": entry.computed() if entry.mode and entry.code else "",
                "truth": self._truth(entry),
                "verdict": self._marked_verdict(self._verdict(entry)),
            }
            rows += f'<tr id="{escape(entry.id)}">'
            for name in names:
                label = f' data-label="{words[name]}"' if name not in {"id", "verdict"} else ""
                rows += f'<td class="{name}"{label}>{cells[name]}</td>'
            rows += "</tr>\n"
        return (
            f'<table class="entries">\n<thead><tr>{head}</tr></thead>\n'
            f"<tbody>\n{rows}</tbody>\n</table>\n"
        )

    def _errata(self, errata: list[Entry]) -> str:
        words = WORDS[self.lang]
        says = TABLE_WORDS[self.lang]["says"]
        parts = [f'<section id="errata">\n<h2>{words["E"]}</h2>\n<p>{words["errata"]}</p>\n']
        for entry in errata:
            corrected = self._links(e.id for e in self.entries if e.erratum == entry.id)
            failure = self._marked_verdict("not reproduced") if entry.id in self.failed else ""
            parts.append(
                f'<article id="{escape(entry.id)}">\n'
                f"<p><strong>{escape(entry.id)}</strong> {failure}</p>\n"
                f'<p class="faint">{says}: {self._text(entry.says)}</p>\n{self._truth(entry)}'
                + (f'<p class="faint">{words["corrects"]}: {corrected}</p>\n' if corrected else "")
                + "</article>\n"
            )
        return "".join([*parts, "</section>\n"])

    def _truth(self, entry: Entry) -> str:
        """Write what is true, how to see it, and where else to look."""
        words = TABLE_WORDS[self.lang]
        found = [f"<p>{self._text(entry.truth)}</p>"] if entry.truth else []
        if entry.exact:
            found.append(f'<p class="faint">{WORDS[self.lang]["exact"]}: {escape(entry.exact)}</p>')
        if entry.code:
            found.append(f"<p><code>{escape(entry.code)}</code></p>")
        where = []
        if entry.figure and entry.figure in self.pictures:
            where.append(f"{words['figure']}: {_link(entry.figure, 'figure-')}")
        if entry.notebook:
            where.append(f"{words['notebook']}: {escape(entry.notebook)}")
        if entry.erratum in self._ids():
            where.append(f"{words['erratum']}: {_link(entry.erratum)}")
        if where:
            found.append(f'<p class="faint">{" · ".join(where)}</p>')
        return "\n".join(found)

    def _verdict(self, entry: Entry) -> str:
        return "not reproduced" if entry.id in self.failed else entry.verdict

    def _marked_verdict(self, verdict: str) -> str:
        words = {**WORDS[self.lang], **TABLE_WORDS[self.lang]}
        name = verdict.replace(" ", "-")
        return f'<span class="{name}">{SIGNS[verdict]} {words.get(verdict, verdict)}</span>'

    def _text(self, text: str) -> str:
        """Escape a text; what stands between backticks is code, and ids lead to their entries."""
        ids = self._ids()
        return re.sub(
            r"\b[A-Z]\d{3}\.\d+\b",
            lambda found: _link(found[0]) if found[0] in ids else found[0],
            marked(text),
            flags=re.ASCII,  # a Japanese letter may follow
        )

    def _ids(self) -> list[str]:
        return [entry.id for entry in self.entries]

    def _links(self, ids: Iterable[str]) -> str:
        return ", ".join(_link(key) for key in ids)


def _link(key: str, prefix: str = "") -> str:
    return f'<a href="#{prefix}{escape(key)}">{escape(key)}</a>'
