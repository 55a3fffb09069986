"""The articles as data: what they print, what is true, and how the one became the other.

Every printed value carries the exact value in thirty digits, the rounding that leads from there to
the printed string, and a function that computes it with this library. A value is reproduced when
the computed float64, written in that rounding, is the printed string, digit by digit.

The thirty digits come from mpmath with 60 digits of working precision, for example
``mpmath.nstr(mpmath.sin(1), 30, strip_zeros=False)``; the tests compute them again.
"""

import csv
import io
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from typing import Literal

from ropewalk import frequencies, sinusoidal_encoding

__all__ = ["ARTICLES", "ERRATA", "PrintedValue", "csv_table", "markdown_table", "printed_values"]

Mode = Literal["exact", "round-half-even", "truncate", "wrong", "illustrative"]

ARTICLES = {
    "000": "Positional encoding: why rotation",
    "001": "The Transformer, chapters 1 and 2",
    "003": "Positional encoding: a mathematical note",
}

ERRATA = {
    "E000.1": "Low and high frequencies are swapped, wherever they are named: pair 0 is the fast "
    "one (a turn in 6.28 positions at d = 4), pair 1 the slow one (a turn in 628.3).",
    "E000.2": "cos 0.01 = 0.99995 rounds to 1.000. 0.999 is cut off, the 0.010 beside it is "
    "rounded: no single convention gives both.",
    "E000.3": "i counts pairs, of dimensions 2i and 2i + 1, and not dimensions.",
    "E000.4": "The sine is stored first: read as (x, y), a pair starts at (0, 1) and runs "
    "clockwise. The circle of the text is (cos, sin).",
    "E001.1": "An inner product does not stop at 1: with the three vectors given, cat.cat is 1.16 "
    "and cat.dog 1.14. Cosine similarity does: there they are 1 and 0.987.",
    "E001.2": "i counts pairs, from 0 to d/2 - 1, and not dimensions.",
    "E001.3": "The head of the table counts dimensions from 1, the formula from 0.",
    "E003.1": "The last index of the proof must be D - 2, since phi(D) = D - 2; it is printed as "
    "D/2, which is the same only for D = 4.",
    "E003.2": "Monotony shows injectivity only while t is at most 1 / w of the slowest pair (8659 "
    "at D = 128). For all integers: where the first pairs agree, t - t' is a multiple of 2 pi, and "
    "pi is irrational.",
    "E003.3": "An entry of the last block lost its omega.",
    "E003.4": "The fourth decimal is cut off where 'approximately equal' promises rounding.",
}

COLUMNS = ("id", "expression", "printed", "exact", "mode", "verdict", "erratum")


@dataclass(frozen=True, slots=True)
class PrintedValue:
    """A value that an article prints, or a row of them separated by ``", "``.

    Attributes
    ----------
    id : str
        The article and the place in it: ``"V003.13"``.
    expression : str
        What is printed, in words of mathematics.
    printed : str
        The article's own digits, or its formula.
    exact : str
        The true value in thirty digits, fewer where it ends; empty where there is none.
    mode : {"exact", "round-half-even", "truncate", "wrong", "illustrative"}
        How the printed string comes from the exact value: the same, in digits or as a formula;
        rounded; cut off, where rounding would not give it; by no one rule; or not at all, since the
        article made it up and there is nothing to compute.
    values : callable
        Computes the values with the public library.
    erratum : str, optional
        Key into `ERRATA`.

    Examples
    --------
    >>> import ropewalk as rw
    >>> first = rw.articles.printed_values("000")[0]
    >>> first.expression, first.printed, first.computed(), first.verdict()
    ('sin 1', '0.841', '0.841', 'rounded')
    """

    id: str
    expression: str
    printed: str
    exact: str
    mode: Mode
    values: Callable[[], Iterable[float]]
    erratum: str | None = None

    @property
    def article(self) -> str:
        """Number of the article."""
        return self.id[1:4]

    @property
    def decimals(self) -> int:
        """Decimals that are compared: those printed, or twelve of what is printed exactly."""
        return 12 if self.mode == "exact" else len(self.printed.rpartition(".")[2])

    def computed(self) -> str:
        """Write what the library computes in the rounding of the article."""
        rounding = ROUND_DOWN if self.mode == "truncate" else ROUND_HALF_EVEN
        return _written(self.values(), self.decimals, rounding)

    def correct(self) -> str:
        """Write the exact value, correctly rounded."""
        return _written(self._exact_values(), self.decimals, ROUND_HALF_EVEN)

    def reproduced(self) -> bool:
        """Tell whether the library gives what it should.

        That is the printed string where one rounding leads to it, else the correct one, which must
        differ from the printed one where the article is wrong.
        """
        if self.mode in {"round-half-even", "truncate"}:
            return self.computed() == self.printed
        if self.mode == "wrong" and self.correct() == self.printed:
            return False
        return self.computed() == self.correct()

    def verdict(self) -> str:
        """Say in a few words what the printed value is worth."""
        if not self.reproduced():
            return f"NOT REPRODUCED, computed {self.computed()}"
        return {
            "exact": "exact",
            "round-half-even": "rounded",
            "truncate": f"truncated, rounded it is {self.correct()}",
            "wrong": f"wrong, right is {self.correct()}",
            "illustrative": "illustrative",
        }[self.mode]

    def row(self) -> tuple[str, ...]:
        """Return what the tables show: the exact value in sixteen digits, the erratum's key."""
        exact = ", ".join(f"{value:.16g}" for value in self._exact_values())
        verdict, erratum = self.verdict(), self.erratum or ""
        return (self.id, self.expression, self.printed, exact, self.mode, verdict, erratum)

    def _exact_values(self) -> list[Decimal]:
        return [Decimal(digits) for digits in self.exact.split(", ") if digits]


def _written(values: Iterable[float | Decimal], decimals: int, rounding: str) -> str:
    last_place = Decimal(1).scaleb(-decimals)
    return ", ".join(f"{Decimal(x).quantize(last_place, rounding):zf}" for x in values)


def printed_values(article: str | None = None, /) -> tuple[PrintedValue, ...]:
    """Values that the articles print, in their order.

    Parameters
    ----------
    article : {"000", "001", "003"}, optional
        Only those of this article.

    Returns
    -------
    tuple of PrintedValue

    Raises
    ------
    ValueError
        If `article` is none of those.

    See Also
    --------
    markdown_table, csv_table : The same for people and for programs.
    ropewalk.plot.article_figures : The figures of the articles.

    References
    ----------
    The formula behind all of them: Vaswani et al., Attention Is All You Need, 2017,
    arXiv:1706.03762, section 3.5.

    Examples
    --------
    >>> import ropewalk as rw
    >>> [value.id for value in rw.articles.printed_values("003") if value.mode == "truncate"]
    ['V003.13', 'V003.16', 'V003.17', 'V003.20']
    """
    if article is not None and article not in ARTICLES:
        msg = f"article must be one of {', '.join(map(repr, ARTICLES))}, got {article!r}"
        raise ValueError(msg)
    return tuple(value for value in _PRINTED if article in (None, value.article))


def markdown_table(article: str | None = None, /) -> str:
    """Markdown table of printed and true values, and a list of the errata.

    Parameters
    ----------
    article : {"000", "001", "003"}, optional
        Only this article.

    Returns
    -------
    str
        A header and a line each, then what is wrong in the article.

    Raises
    ------
    ValueError
        If `article` is none of those.

    See Also
    --------
    csv_table : The same for programs.

    References
    ----------
    GitHub Flavored Markdown Specification, version 0.29, section 4.10.

    Examples
    --------
    >>> import ropewalk as rw
    >>> print(rw.articles.markdown_table("000"))
    | id | expression | printed | exact | mode | verdict | erratum |
    | --- | --- | --- | --- | --- | --- | --- |
    | V000.1 | sin 1 | 0.841 | 0.8414709848078965 | round-half-even | rounded |  |
    ...
    """
    lines = [COLUMNS, ["---"] * len(COLUMNS), *(value.row() for value in printed_values(article))]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    errata = "".join(
        f"- **{key}** {text}\n" for key, text in ERRATA.items() if article in (None, key[1:4])
    )
    return f"{table}\n{errata}"


def csv_table(article: str | None = None, /) -> str:
    """Comma-separated table of printed and true values.

    Parameters
    ----------
    article : {"000", "001", "003"}, optional
        Only this article.

    Returns
    -------
    str
        A header and a line each, the last field being the text of the erratum.

    Raises
    ------
    ValueError
        If `article` is none of those.

    See Also
    --------
    markdown_table : The same for people.

    References
    ----------
    Shafranovich, Common Format and MIME Type for CSV Files, 2005, RFC 4180.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.articles.csv_table("000").splitlines()[1]
    'V000.1,sin 1,0.841,0.8414709848078965,round-half-even,rounded,,'
    """
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*COLUMNS, "explanation"])
    for value in printed_values(article):
        lines.writerow([*value.row(), ERRATA.get(value.erratum or "", "")])
    return text.getvalue()


def _pe(position: int, *components: int) -> Callable[[], Iterable[float]]:
    """Components, counted from 0, of the encoding in articles 000 and 001; all without any."""
    return lambda: sinusoidal_encoding(position, 4)[list(components or range(4))]


def _f(t: int, component: int) -> Callable[[], Iterable[float]]:
    """Component, counted from 1, of the encoding in article 003."""
    return lambda: [sinusoidal_encoding(t, 128)[component - 1]]


def _phi(component: int) -> Callable[[], Iterable[float]]:
    """Index phi of article 003 of a component, counted from 1, read off an encoding.

    At position 1 the angle is the frequency, base ** (-phi / D), and below a quarter turn. The
    index does not depend on the base; a small one keeps the angles large and the digits many.
    """

    def values() -> list[float]:
        value = sinusoidal_encoding(1, 8, base=10.0)[component - 1]
        frequency = math.asin(value) if component % 2 else math.acos(value)
        return [-8 * math.log10(frequency)]

    return values


def _pairs() -> list[float]:
    return [len(frequencies.standard(4))]


def _periods() -> Iterable[float]:
    return frequencies.from_radians([1.0, 0.5]).wavelengths


def _nothing() -> list[float]:
    return []


_SIN_1 = "0.841470984807896506652502321630"
_COS_1 = "0.540302305868139717400936607443"
_SIN_2 = "0.909297426825681695396019865912"
_COS_2 = "-0.416146836547142386997568229501"
_SIN_001 = "0.00999983333416666468254243826910"  # of 0.01
_COS_001 = "0.999950000416665277780257933752"
_SIN_002 = "0.0199986666933330793664902946930"  # of 0.02
_COS_002 = "0.999800006666577778412695590837"
_SIN_W = "0.000115478198212291397127860042618"  # of w = 10000 ** (-126 / 128)
_COS_W = "0.999999993332392846592877410156"
_SIN_2W = "0.000230956394884656273330040654963"
_COS_2W = "0.999999973329571475285479944954"
_PERIODS = "6.28318530717958647692528676656, 12.5663706143591729538505735331"
_ROW_1 = f"{_SIN_1}, {_COS_1}, {_SIN_001}, {_COS_001}"
_ROW_2 = f"{_SIN_2}, {_COS_2}, {_SIN_002}, {_COS_002}"

_PRINTED = (
    PrintedValue("V000.1", "sin 1", "0.841", _SIN_1, "round-half-even", _pe(1, 0)),
    PrintedValue("V000.2", "cos 1", "0.540", _COS_1, "round-half-even", _pe(1, 1)),
    PrintedValue("V000.3", "sin 0.01", "0.010", _SIN_001, "round-half-even", _pe(1, 2)),
    PrintedValue("V000.4", "cos 0.01", "0.999", _COS_001, "truncate", _pe(1, 3), "E000.2"),
    PrintedValue(
        "V000.5",
        "encoding of position 1, d = 4",
        "0.841, 0.540, 0.010, 0.999",
        _ROW_1,
        "wrong",
        _pe(1),
        "E000.2",
    ),
    PrintedValue("V000.6", "pairs at d = 4", "2", "2", "exact", _pairs, "E000.3"),
    PrintedValue(
        "V001.1", "token ids of a sentence", "10, 23, 5, 89", "", "illustrative", _nothing
    ),
    PrintedValue(
        "V001.2",
        "encoding of position 0, d = 4",
        "0, 1, 0, 1",
        "0, 1, 0, 1",
        "exact",
        _pe(0),
        "E001.3",
    ),
    PrintedValue(
        "V001.3",
        "encoding of position 1, d = 4",
        "sin(1/10000^0), cos(1/10000^0), sin(1/10000^(1/2)), cos(1/10000^(1/2))",
        _ROW_1,
        "exact",
        _pe(1),
        "E001.3",
    ),
    PrintedValue(
        "V001.4",
        "encoding of position 2, d = 4",
        "sin(2/10000^0), cos(2/10000^0), sin(2/10000^(1/2)), cos(2/10000^(1/2))",
        _ROW_2,
        "exact",
        _pe(2),
        "E001.3",
    ),
    PrintedValue(
        "V001.5",
        "word vectors of cat, dog, car",
        "(0.8, 0.6, -0.4), (0.9, 0.5, -0.3), (-0.2, 0.7, 0.3)",
        "",
        "illustrative",
        _nothing,
        "E001.1",
    ),
    PrintedValue("V003.1", "phi(1)", "0", "0", "exact", _phi(1)),
    PrintedValue("V003.2", "phi(2)", "0", "0", "exact", _phi(2)),
    PrintedValue("V003.3", "phi(3)", "2", "2", "exact", _phi(3)),
    PrintedValue("V003.4", "phi(4)", "2", "2", "exact", _phi(4)),
    PrintedValue("V003.5", "phi(5)", "4", "4", "exact", _phi(5)),
    PrintedValue("V003.6", "phi(6)", "4", "4", "exact", _phi(6)),
    PrintedValue("V003.7", "phi(7)", "6", "6", "exact", _phi(7)),
    PrintedValue("V003.8", "phi(8)", "6", "6", "exact", _phi(8), "E003.1"),
    PrintedValue("V003.9", "f(0), component 1", "0", "0", "exact", _f(0, 1)),
    PrintedValue("V003.10", "f(0), component 2", "1", "1", "exact", _f(0, 2)),
    PrintedValue("V003.11", "f(0), component 127", "0", "0", "exact", _f(0, 127)),
    PrintedValue("V003.12", "f(0), component 128", "1", "1", "exact", _f(0, 128)),
    PrintedValue("V003.13", "sin 1", "0.8414", _SIN_1, "truncate", _f(1, 1), "E003.4"),
    PrintedValue("V003.14", "cos 1", "0.5403", _COS_1, "round-half-even", _f(1, 2)),
    PrintedValue("V003.15", "sin w_126", "0.0001", _SIN_W, "round-half-even", _f(1, 127)),
    PrintedValue("V003.16", "cos w_126", "0.9999", _COS_W, "truncate", _f(1, 128), "E003.4"),
    PrintedValue("V003.17", "sin 2", "0.9092", _SIN_2, "truncate", _f(2, 1), "E003.4"),
    PrintedValue("V003.18", "cos 2", "-0.4161", _COS_2, "round-half-even", _f(2, 2)),
    PrintedValue("V003.19", "sin 2 w_126", "0.0002", _SIN_2W, "round-half-even", _f(2, 127)),
    PrintedValue("V003.20", "cos 2 w_126", "0.9999", _COS_2W, "truncate", _f(2, 128), "E003.4"),
    PrintedValue(
        "V003.21", "periods of sin x, sin(x/2)", "2 pi, 4 pi", _PERIODS, "exact", _periods
    ),
)
