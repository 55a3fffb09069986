"""The ledger: an entry for everything that an article says."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal, localcontext
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ropewalk import _options
from ropewalk._options import LANGUAGES, Lang

Kind = Literal["F", "V", "G", "C", "S", "N", "E"]
Mode = Literal["exact", "round-half-even", "truncate", "wrong", "illustrative"]
Verdict = Literal["reproduced", "rounded differently", "wrong", "illustrative", "not a theorem"]

ARTICLES = ("000", "001", "002", "003", "004")

# What becomes of a printed value by the rounding that leads to it.
VERDICTS: Mapping[str, Verdict] = {
    "exact": "reproduced",
    "round-half-even": "reproduced",
    "truncate": "rounded differently",
    "wrong": "wrong",
    "illustrative": "illustrative",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that an article says, and what is true.

    Attributes
    ----------
    id : str
        The kind, the article and the place in it: ``"V003.13"``.
    says : str
        What the article says; of a printed value, what is printed.
    truth : str
        What is true; of an erratum, the proof.
    verdict : str
        ``"reproduced"``, ``"rounded differently"``, ``"wrong"``, ``"illustrative"`` (made up, there
        is nothing to compute) or ``"not a theorem"``.
    code : str or None
        An expression of `rw` (this library) and `np` (NumPy). Of a printed value it gives the
        numbers, of anything else it is true.
    figure : str or None
        Name of the figure or animation: ``"003_heatmap"``.
    notebook : str or None
        Notebook and cell that show it: ``"01_sinusoidal#heatmap"``.
    erratum : str or None
        Id of the erratum that corrects it.
    printed : str or None
        The printed digits or formula of a value, several separated by ``", "``.
    exact : str or None
        The true value in thirty digits, fewer where it ends; None where there is none.
    mode : str or None
        How the printed string comes from the exact value: ``"exact"`` (the same, in digits or as a
        formula), ``"round-half-even"``, ``"truncate"`` (cut off, where rounding would not give
        it), ``"wrong"`` (by no one rule) or ``"illustrative"`` (nothing to compute).

    Examples
    --------
    >>> import ropewalk as rw
    >>> first = rw.articles.ledger("000", kind="V")[0]
    >>> first.says, first.printed, first.code, first.computed(), first.verdict
    ('sin 1', '0.841', 'rw.sinusoidal_encoding(1, 4)[0]', '0.841', 'reproduced')
    """

    id: str
    says: str
    truth: str
    verdict: Verdict
    code: str | None = None
    figure: str | None = None
    notebook: str | None = None
    erratum: str | None = None
    printed: str | None = None
    exact: str | None = None
    mode: Mode | None = None

    @property
    def kind(self) -> str:
        """Letter of the kind: F, V, G, C, S, N or E."""
        return self.id[0]

    @property
    def article(self) -> str:
        """Number of the article."""
        return self.id[1:4]

    @property
    def decimals(self) -> int:
        """Decimals that are compared: those printed, or twelve of what is printed exactly."""
        return 12 if self.mode == "exact" else len((self.printed or "").rpartition(".")[2])

    def evaluate(self) -> Any:
        """Evaluate the code."""
        if self.code is None:
            msg = f"{self.id} has no code: {self.truth}"
            raise ValueError(msg)
        import ropewalk  # noqa: PLC0415 - the package itself, complete by now

        return eval(self.code, {"np": np, "rw": ropewalk})

    def values(self) -> NDArray[np.float64]:
        """Compute the numbers of a printed value; none where the article made them up."""
        numbers = [] if self.code is None else self.evaluate()
        return np.asarray(numbers, dtype=np.float64).ravel()

    def computed(self) -> str:
        """Write what the library computes in the rounding of the article."""
        rounding = ROUND_DOWN if self.mode == "truncate" else ROUND_HALF_EVEN
        return self._written([Decimal.from_float(float(x)) for x in self.values()], rounding)

    def correct(self) -> str:
        """Write the exact value, correctly rounded."""
        digits = (self.exact or "").split(", ")
        return self._written([Decimal(x) for x in digits if x], ROUND_HALF_EVEN)

    def reproduced(self) -> bool:
        """Tell whether the library gives what it should.

        Of a printed value that is the printed string where one rounding leads to it, else the
        correct one, which must differ from the printed one where the article is wrong. Of anything
        else the code must be true, where there is any.
        """
        if self.mode is None:
            return self.code is None or bool(self.evaluate())
        if self.mode in {"round-half-even", "truncate"}:
            return self.computed() == self.printed
        if self.mode == "wrong" and self.correct() == self.printed:
            return False
        return self.computed() == self.correct()

    def _written(self, numbers: list[Decimal], rounding: str) -> str:
        last_place = Decimal((0, (1,), -self.decimals))
        with localcontext(Context(prec=60)):  # whatever the caller works in
            digits = [f"{x.quantize(last_place, rounding):zf}" for x in numbers]
        if self.mode == "exact":
            digits = [text.rstrip("0").rstrip(".") for text in digits]
        return ", ".join(digits)


def ledger(
    article: str | None = None, /, *, kind: Kind | None = None, lang: Lang = "en"
) -> tuple[Entry, ...]:
    """Ledger of the articles: an entry for everything that they say.

    Parameters
    ----------
    article : {"000", "001", "002", "003", "004"}, optional
        Only entries of this article.
    kind : {"F", "V", "G", "C", "S", "N", "E"}, optional
        Only formulas, printed values, figures and tables, claims, scripts, concepts or errata.
    lang : {"en", "ja"}, default "en"
        Language of what the articles say and of what is true.

    Returns
    -------
    tuple of Entry

    Raises
    ------
    ValueError
        If `article`, `kind` or `lang` is none of those.

    See Also
    --------
    show : The same as a table.
    ropewalk.plot.article_figures : The figures of the articles.

    References
    ----------
    The formula behind most of them: Vaswani et al., Attention Is All You Need, 2017,
    arXiv:1706.03762, section 3.5.

    Examples
    --------
    >>> import ropewalk as rw
    >>> [entry.id for entry in rw.articles.ledger("003") if entry.mode == "truncate"]
    ['V003.13', 'V003.16', 'V003.17', 'V003.20']
    """
    if article is not None:
        _options.choice("article", article, ARTICLES)
    if kind is not None:
        _options.choice("kind", kind, get_args(Kind))
    _options.choice("lang", lang, LANGUAGES)
    return tuple(
        entry
        for number in ARTICLES
        if article in {None, number}
        for entry in _entries(number, lang)
        if kind in {None, entry.kind}
    )


def titles(*, lang: Lang = "en") -> dict[str, str]:
    """Titles of the articles.

    Parameters
    ----------
    lang : {"en", "ja"}, default "en"
        Language.

    Returns
    -------
    dict of str
        By the number of the article.

    Raises
    ------
    ValueError
        If `lang` is none of those.

    References
    ----------
    The articles were published in Japanese from 2023 to 2025; the titles say what they are about.

    Examples
    --------
    >>> import ropewalk as rw
    >>> rw.articles.titles()["003"]
    'Positional encoding: a mathematical note'
    """
    _options.choice("lang", lang, LANGUAGES)
    return {number: _file(number)["title"][lang] for number in ARTICLES}


@cache
def _file(article: str) -> dict[str, Any]:
    text = files("ropewalk.articles").joinpath(f"{article}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def _entries(article: str, lang: Lang) -> tuple[Entry, ...]:
    found = []
    for key, fields in _file(article).items():
        if key == "title":
            continue
        words = {name: fields[name][lang] for name in ("says", "truth")}
        verdict = fields.get("verdict") or VERDICTS[fields["mode"]]
        found.append(Entry(id=key, **(fields | words | {"verdict": verdict})))
    return tuple(found)
