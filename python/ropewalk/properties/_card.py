"""The table of the scorecard, and its words in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from ropewalk import _options
from ropewalk._options import Lang

# The names of encodings and properties, and what is said beside them.
JAPANESE: Mapping[str, str] = {
    "encoding": "位置符号",
    "not defined": "定義なし",
    "integer": "整数",
    "normalised": "正規化整数",
    "binary": "2 進数",
    "sinusoidal": "正弦波",
    "RoPE": "RoPE",
    "ALiBi": "ALiBi",
    "unique": "一意",
    "bounded": "有界",
    "deterministic": "決定論的",
    "independent of length": "長さに依存しない",
    "linear in the shift": "移動が線形",
    "relative only": "相対位置のみ",
    "generalises to longer": "より長い文への汎化",
    "N-D": "多次元",
    "smooth": "滑らか",
    "keeps the norm": "ノルムを保つ",
    "decays with distance": "距離とともに減衰",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One property of one encoding.

    Attributes
    ----------
    value : float or None
        What was measured; None where the property is not defined.
    holds : bool or None
        Whether the encoding has the property.
    note : str
        What the number is.
    """

    value: float | None
    holds: bool | None
    note: str

    def __str__(self) -> str:
        """Write the sign and the number, or that there is none."""
        if self.value is None:
            return "not defined"
        return f"{'✓' if self.holds else '✗'} {_number(self.value)}"


@dataclass(frozen=True, slots=True)
class Scorecard:
    """Encodings and their properties, shown by a notebook as a table; ``str`` gives Markdown.

    ``card["RoPE", "relative only"]`` is a cell; names are English in any language.

    Attributes
    ----------
    encodings, properties : tuple of str
        Names of the rows and of the columns.
    cells : tuple of tuple of Cell
        A row an encoding, a cell a property.
    lang : {"en", "ja"}
        Language of the notes, and of the table.
    """

    encodings: tuple[str, ...]
    properties: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    lang: Lang

    def __getitem__(self, names: tuple[str, str]) -> Cell:
        if not isinstance(names, tuple) or len(names) != 2:  # type: ignore[redundant-expr]
            msg = f"a cell must be named by a pair (encoding, property), got {names!r}"  # type: ignore[unreachable]
            error = ValueError if isinstance(names, tuple) else TypeError
            raise error(msg)
        encoding, wanted = names
        _options.choice("encoding", encoding, self.encodings)
        _options.choice("property", wanted, self.properties)
        return self.cells[self.encodings.index(encoding)][self.properties.index(wanted)]

    def __str__(self) -> str:
        """Write the table in Markdown, and below it what the numbers are."""
        heads = [self._name(name) for name in ("encoding", *self.properties)]
        rows = [
            [self._name(encoding), *map(self._text, row)]
            for encoding, row in zip(self.encodings, self.cells, strict=True)
        ]
        lines = [heads, ["---"] * len(heads), *rows]
        table = [f"| {' | '.join(line)} |" for line in lines]
        return "\n".join([*table, "", *(f"- {note}" for note in self._notes())])

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        heads = "".join(
            f"<th>{escape(self._name(name))}</th>" for name in ("encoding", *self.properties)
        )
        rows = "".join(
            f"<tr><th>{escape(self._name(encoding))}</th>"
            + "".join(
                f'<td title="{escape(cell.note)}">{escape(self._text(cell))}</td>' for cell in row
            )
            + "</tr>\n"
            for encoding, row in zip(self.encodings, self.cells, strict=True)
        )
        notes = "".join(f"<li>{escape(note)}</li>\n" for note in self._notes())
        return (
            f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
            f"<ul>\n{notes}</ul>"
        )

    def _name(self, name: str) -> str:
        return JAPANESE[name] if self.lang == "ja" else name

    def _text(self, cell: Cell) -> str:
        return self._name(str(cell)) if cell.value is None else str(cell)

    def _notes(self) -> list[str]:
        """Return what the numbers of each property are, and who is an exception to it."""
        notes = []
        for name, column in zip(self.properties, zip(*self.cells, strict=True), strict=True):
            usual = column[0].note
            notes.append(f"{self._name(name)}: {usual}")
            notes += [
                f"{self._name(name)} ({self._name(encoding)}): {cell.note}"
                for encoding, cell in zip(self.encodings, column, strict=True)
                if cell.note != usual
            ]
        return notes


def _number(value: float) -> str:
    """Return a number as short as a cell is wide: three digits, or those before the point."""
    if 1000 <= abs(value) < 1e5:
        return f"{value:.0f}"
    return f"{value:.3g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
