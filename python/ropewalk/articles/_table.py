"""The ledger as a table: for notebooks, for documents, for programs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from ropewalk._options import Lang
from ropewalk.articles._ledger import Entry, Kind, ledger

# Heads of the columns, and the words of the verdicts.
WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "id": "id",
        "says": "the article says",
        "printed": "printed",
        "computed": "computed",
        "truth": "what is true",
        "verdict": "verdict",
        "code": "try it",
        "figure": "figure",
        "notebook": "notebook",
        "erratum": "erratum",
    },
    "ja": {
        "id": "ID",
        "says": "記事の記述",
        "printed": "印字された値",
        "computed": "計算値",
        "truth": "正しくは",
        "verdict": "判定",
        "code": "試す",
        "figure": "図",
        "notebook": "ノートブック",
        "erratum": "正誤",
        "reproduced": "再現",
        "rounded differently": "丸め方が異なる",
        "wrong": "誤り",
        "illustrative": "例示",
        "not a theorem": "定理ではない",
    },
}


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """Entries of the ledger, shown by a notebook as a table; ``str`` gives Markdown.

    Attributes
    ----------
    entries : tuple of Entry
        The rows.
    lang : {"en", "ja"}
        Language of the heads and the verdicts.

    Examples
    --------
    >>> import ropewalk as rw
    >>> print(rw.articles.show("000", kind="G"))
    | id | the article says | what is true | verdict | figure | notebook | erratum |
    | --- | --- | --- | --- | --- | --- | --- |
    | G000.1 | ...
    """

    entries: tuple[Entry, ...]
    lang: Lang

    def columns(self) -> list[str]:
        """Names of the columns that have something in them."""
        names = ["id", "says", "printed", "computed", "truth", "verdict", "code"]
        names += ["figure", "notebook", "erratum"]
        return [name for name in names if any(self._cells(name))]

    def html(self) -> str:
        """HTML table; what stands between backticks is set as code."""
        words, columns = WORDS[self.lang], self.columns()
        head = "".join(f"<th>{escape(words[name])}</th>" for name in columns)
        rows = zip(*([marked(cell) for cell in self._cells(name)] for name in columns), strict=True)
        body = "".join(
            f'<tr id="{escape(entry.id)}">'
            + "".join(f'<td style="text-align: left">{cell}</td>' for cell in row)
            + "</tr>\n"
            for entry, row in zip(self.entries, rows, strict=True)
        )
        return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"

    def csv(self) -> str:
        """Comma-separated values, all columns, a header first."""
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        names = [*WORDS["en"]]
        lines.writerow([*names, "exact", "mode"])
        cells = [*(self._cells(name) for name in names)]
        cells += [[entry.exact or "" for entry in self.entries]]
        cells += [[entry.mode or "" for entry in self.entries]]
        lines.writerows(zip(*cells, strict=True))
        return text.getvalue()

    def __str__(self) -> str:
        """Write the table in Markdown."""
        words, columns = WORDS[self.lang], self.columns()
        cells = (
            [" ".join(cell.splitlines()).replace("|", r"\|") for cell in self._cells(name)]
            for name in columns
        )
        lines = [
            [words[name] for name in columns],
            ["---"] * len(columns),
            *zip(*cells, strict=True),
        ]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def __repr__(self) -> str:
        return f"<Table of {len(self.entries)} entries>"

    def _repr_html_(self) -> str:
        return self.html()

    def _cells(self, name: str) -> list[str]:
        return [self._cell(entry, name) for entry in self.entries]

    def _cell(self, entry: Entry, name: str) -> str:
        if name == "verdict":
            return WORDS[self.lang].get(entry.verdict, entry.verdict)
        if name == "computed":
            return entry.computed() if entry.mode and entry.code else ""
        cell = getattr(entry, name) or ""
        return f"`{cell}`" if name == "code" and cell else cell


def show(article: str | None = None, /, *, kind: Kind | None = None, lang: Lang = "en") -> Table:
    """Show what the articles say and what is true, as a table.

    Parameters
    ----------
    article : {"000", "001", "002", "003", "004"}, optional
        Only entries of this article.
    kind : {"F", "V", "G", "C", "S", "N", "E"}, optional
        Only formulas, printed values, figures and tables, claims, scripts, concepts or errata.
    lang : {"en", "ja"}, default "en"
        Language.

    Returns
    -------
    Table
        A notebook renders it; ``str`` of it is Markdown, and `csv` and `html` are the rest.

    Raises
    ------
    ValueError
        If `article`, `kind` or `lang` is none of those.

    See Also
    --------
    ledger : The entries themselves.

    References
    ----------
    GitHub Flavored Markdown Specification, version 0.29, 2019, section 4.10.

    Examples
    --------
    >>> import ropewalk as rw
    >>> print(rw.articles.show("000", kind="V"))
    | id | the article says | printed | computed | what is true | verdict | try it | ...
    | --- | --- | --- | --- | --- | --- | --- | ...
    | V000.1 | sin 1 | 0.841 | 0.841 | ...
    """
    return Table(ledger(article, kind=kind, lang=lang), lang)


def marked(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))
