"""What all figures share: their Axes, their colours, their words."""

from __future__ import annotations

import string
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from math import ceil
from typing import Any, Literal
from unicodedata import east_asian_width

import numpy as np
from matplotlib import colormaps, font_manager, rcParams
from matplotlib import pyplot as plt
from matplotlib.animation import FuncAnimation
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import Formatter, MaxNLocator, ScalarFormatter
from matplotlib.transforms import Bbox, BboxBase
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options
from ropewalk._japanese import WORDS
from ropewalk._options import LANGUAGES, Lang
from ropewalk.geometry._points import as_reals
from ropewalk.properties._card import JAPANESE as SCORECARD

WIDTH = 6.0  # of a new figure (inches)

# Okabe and Ito, 2008: told apart by colour-blind readers too. One colour a pair.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
BLUE, ORANGE, GREEN = COLOURS[:3]

LETTER = 0.65  # width and space of a Latin letter, in sizes of the font; a Japanese one has 1
MOST_LETTERS = 72  # that stand side by side in a figure
BETWEEN = 3  # columns of a figure, in letters
CURVE = 8  # that stands before a name, in letters
MOST_COLUMNS = 4  # of names
MOST_LINES = 3  # of names before a figure is higher
LINE = 1.6  # height and space of a line of names, in sizes of the font
MOST_NUMBERS = 1024  # that are written out
LARGEST = 1e100  # of a number in a drawing
FAINT = "0.6"  # told from a light and from a dark background
SHADE = 0.2  # opacity of what is filled
DARK = 0.45  # brightness below which white letters are told better from it than black ones
CENTRED: dict[str, Any] = {"ha": "center", "va": "center"}
BOLD = (700, "bold")  # as Matplotlib has it of fonts
ARROW: dict[str, Any] = {
    "angles": "xy",
    "scale_units": "xy",
    "scale": 1,
    "width": 0.008,
    "zorder": 3,
}

# Five, so that colour and style together tell thirty curves apart, and five in grey.
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))

# Marks that turn the letters around them, of whatever label: as letters that no font has.
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

JAPANESE_FONTS = (
    "Noto Sans CJK JP",
    "Noto Sans JP",
    "IPAexGothic",
    "IPAGothic",
    "Hiragino Sans",
    "Yu Gothic",
    "Meiryo",
)
JAPANESE = {
    **WORDS,
    **SCORECARD,
    "t (position)": "t (位置)",
    "value": "値",
    "period {}": "周期 {}",
    "pair {}": "組 {}",
    "pair {}: a turn in {:.4g} positions": "組 {}: {:.4g} 位置で一周",
    "pair": "組",
    "position (tokens)": "位置 (トークン)",
    "distance (tokens)": "距離 (トークン)",
    "wavelength (tokens)": "波長 (トークン)",
    "trained length {}": "学習時の長さ {}",
    "{}, axis {}": "{}、軸 {}",
    "{}, standing still": "{}、静止",
    "score / (|query| |key|)": "スコア / (|クエリ| |キー|)",
    "error of the angle (radians)": "角度の誤差 (ラジアン)",
    "largest of all pairs": "全ての組での最大値",
    "root mean square": "二乗平均平方根",
    "rounding of a cosine to bfloat16": "cos を bfloat16 に丸めたときの誤差",
    "row": "行",
    "column": "列",
    "token embedding: {:.5g} to {:.5g}": "トークン埋め込み: {:.5g} 〜 {:.5g}",
    "encoding: {:.5g} to {:.5g}": "位置符号: {:.5g} 〜 {:.5g}",
    "sum: {:.5g} to {:.5g}": "和: {:.5g} 〜 {:.5g}",
    "component {}": "成分 {}",
    "position {}": "位置 {}",
    "offset (tokens)": "位置の差 (トークン)",
    "inner product": "内積",
    "cosine": "コサイン類似度",
    "distance": "距離",
    "sees": "見える",
    "masked": "マスク",
    "exactly 0": "ちょうど 0",
    "adjacent {:.4g}": "底辺 {:.4g}",
    "opposite {:.4g}": "高さ {:.4g}",
    "hypotenuse {:.4g}": "斜辺 {:.4g}",
    "cos θ = adjacent / hypotenuse = {:.4g} / {:.4g} = {:.4g}": (
        "cos θ = 底辺 / 斜辺 = {:.4g} / {:.4g} = {:.4g}"
    ),
    "before": "変換前",
    "after: areas times {:.3g}": "変換後: 面積は {:.3g} 倍",
    "above 0 for every x": "どの x でも 0 より大きい",
    "the larger x, the larger": "x が大きいほど大きい",
    "a step of 1: e = 2.718... times as large": "x が 1 増えると e = 2.718... 倍",
    "convex hulls": "凸包",
    "in the order of the tokens": "トークン順の多角形",
    "values: perimeter {:.3g}, area {:.3g}": "バリュー: 周長 {:.3g}、面積 {:.3g}",
    "outputs: perimeter {:.3g}, area {:.3g}": "出力: 周長 {:.3g}、面積 {:.3g}",
    "no finite value": "有限の値なし",
    "masked or not finite": "マスク、または有限でない",
    "encoder": "エンコーダー",
    "decoder": "デコーダー",
    "N times": "N 層",
    "source tokens": "入力トークン",
    "target tokens, shifted right": "出力トークン (1 つ右へずらす)",
    "embedding": "埋め込み",
    "positional\nencoding": "位置符号",
    "self-attention": "自己注意",
    "masked\nself-attention": "マスク付き\n自己注意",
    "cross-attention": "交差注意",
    "feed-forward": "フィード\nフォワード層",
    "add and normalise": "加算と正規化",
    "keys, values": "キー、バリュー",
    "queries": "クエリ",
    "linear": "線形変換",
    "softmax": "ソフトマックス",
    "probabilities of the next token": "次のトークンの確率",
    "bound": "上界",
    "bound, mean of |S_j|": "上界、|S_j| の平均",
    "mean of an octave": "オクターブごとの平均",
    "mean cosine": "cos の平均",
    "first below 0 at {}": "距離 {} で初めて負",
    "keys attended to": "注意を向けるキーの数",
    "largest weight": "最大の重み",
    "scale of the scores": "スコアのスケール",
    "D (width of queries and keys)": "D (クエリとキーの次元数)",
    "variance": "分散",
    "variance of q · k": "q · k の分散",
    "variance of q · k / √D": "q · k / √D の分散",
    "neko": "猫",
    "ga": "が",
    "nemuru": "眠る",
    "kore": "これ",
    "wa": "は",
    "pen": "ペン",
    "desu": "です",
}

Words = dict[str, Any]  # properties of a Text: what it says, and in which fonts


def axes(ax: Axes | None, height: float, lang: Lang = "en", *, width: float = WIDTH) -> Axes:
    """Return `ax`, or the Axes of a new figure, legible when it is 600 pixels wide, or so wide.

    Nothing else is refused from then on, lest a figure stay behind.
    """
    _font(lang)
    if ax is None:
        return plt.subplots(figsize=(width, height), layout="constrained")[1]
    _check_axes(ax)
    return ax


def laid_out_once(
    height: float, animate: Callable[[Figure, Lang], FuncAnimation], lang: Lang
) -> FuncAnimation:
    """Return an animation in a new figure, whose Axes keep the place that they have at first."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    animation = animate(figure, lang)
    hold_layout(figure)
    return animation


def hold_layout(figure: Figure) -> None:
    """Leave the Axes of a constrained layout where they are for what the figure shows now.

    A layout for every frame takes more time than its drawing, and may let the Axes tremble.
    """
    ConstrainedLayoutEngine().execute(figure)
    figure.set_layout_engine("none")


def animation(
    ax: Axes, show: Callable[[int], list[Artist]], frames: int, milliseconds: int, *, alone: bool
) -> FuncAnimation:
    """Return the animation that `show` draws; `alone` in a figure that was made for it."""
    show(0)  # so that a layout knows of all words
    figure = ax.figure.figure
    if alone:
        hold_layout(figure)
    return FuncAnimation(figure, show, frames=frames, interval=milliseconds)


def panels(
    ax: Axes | Sequence[Axes] | None, count: int, lang: Lang, make: Callable[[], list[Axes]]
) -> list[Axes]:
    """Return `ax` as so many Axes, or those of a new figure."""
    _font(lang)
    if ax is None:
        return make()
    given = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) != count:
        msg = f"ax must be {count} Axes, got {len(given)}"
        raise ValueError(msg)
    for panel in given:
        _check_axes(panel)
    return given


def _check_axes(ax: object) -> None:
    if not isinstance(ax, Axes):
        msg = f"ax must be Axes of Matplotlib, got {ax!r}"
        raise TypeError(msg)
    if not ax.transData.is_separable or hasattr(ax, "zaxis"):
        msg = f"ax must be Axes of rectilinear projection, got {ax.name!r}"
        raise ValueError(msg)
    if ax.figure is None:
        msg = "ax must be Axes of a figure, got removed ones"  # type: ignore[unreachable]
        raise ValueError(msg)


def check_one_figure(panels: Sequence[Axes]) -> None:
    """Refuse Axes that no colour bar can stand beside."""
    figures = {panel.figure for panel in panels}
    if len(figures) > 1:
        msg = f"ax must be Axes of one figure or subfigure, got those of {len(figures)}"
        raise ValueError(msg)


def rows(
    table: ArrayLike, positions: ArrayLike | range | None, name: str = "table"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a table of floats and the positions of its rows."""
    values = _arrays.data(name, table).astype(np.float64)
    if values.ndim != 2 or values.size == 0:
        msg = f"{name} must have shape (positions, dim) and not be empty, got {values.shape}"
        raise ValueError(msg)
    at, shape = _arrays.positions(
        "positions", range(len(values)) if positions is None else positions
    )
    if shape != values.shape[:1]:  # before a long range becomes an array
        msg = f"positions must have shape {values.shape[:1]}, one a row, got {shape}"
        raise ValueError(msg)
    return values, _arrays.listed(at).astype(np.float64)


def check_ascending(name: str, at: NDArray[Any]) -> None:
    """Refuse what a curve would run back and forth over."""
    falls = np.flatnonzero(np.diff(at) < 0)
    if falls.size:
        before, after = at[falls[0] : falls[0] + 2]
        msg = f"{name} must be ascending, got {before:g} before {after:g}"
        raise ValueError(msg)


def check_cells(name: str, array: NDArray[Any]) -> None:
    """Refuse more numbers than anybody reads, which would take minutes to draw."""
    if array.size > MOST_NUMBERS:
        more = f"got {array.size}; heatmap draws more"
        msg = f"{name} must have at most {MOST_NUMBERS} numbers, {more}"
        raise ValueError(msg)


def drawable(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return finite data of which sums, products and margins are finite too."""
    array = as_reals(name, values)
    check_drawable(name, array)
    return array


def check_drawable(name: str, array: NDArray[np.float64]) -> None:
    """Refuse finite numbers of which sums, products or margins would not be finite."""
    largest = np.abs(array).max(where=np.isfinite(array), initial=0)
    if largest > LARGEST:
        msg = f"{name} must be at most {LARGEST:g} in size, got {largest:g}"
        raise ValueError(msg)


class _WithMinus(string.Formatter):
    """Formats numbers, and not names, with the minus sign of the axes."""

    def format_field(self, value: object, format_spec: str) -> str:
        text = str(super().format_field(value, format_spec))
        return text if isinstance(value, str) else Formatter.fix_minus(text)


def words(english: str, lang: Lang, /, *values: object) -> Words:
    """Return a label, in Japanese where that is asked for and a font can draw it."""
    font = _font(lang)
    text = _WithMinus().format(JAPANESE[english] if font else english, *values)
    return {"text": text, **(font or _drawn([text], "\n")[1])}


def own_words(
    labels: Sequence[str] | None, default: list[Words], lang: Lang, name: str = "labels"
) -> list[Words]:
    """Return the caller's labels, or as many of ours where there are none.

    A label that no font has all letters of is shown by its number.
    """
    if labels is None:
        return default
    texts, font = _drawn(_options.strings(name, labels, len(default)), "\n")
    return [{"text": text, "parse_math": False, **(font or _font(lang))} for text in texts]


def broken(name: Words, columns: int) -> Words:
    """Return a label in lines that fit one of so many columns of a figure."""
    most = MOST_LETTERS // columns - BETWEEN
    lines = [
        textwrap.fill(line, int(most * len(line) / letters(line))) if letters(line) > most else line
        for line in name["text"].split("\n")
    ]
    return name | {"text": "\n".join(lines)}


def token_labels(name: str, tokens: Sequence[str] | None, count: int) -> Words:
    """Return tokens as labels of ticks, letter for letter; none where there are none.

    A token that no font has all letters of is shown by its number.
    """
    if tokens is None:
        return {}
    labels, font = _drawn(_options.strings(name, tokens, count))
    return {"labels": labels, "parse_math": False, **font}


def bold(font: Words) -> str:
    """Return the weight of what is brought out: that of the rest where a font has no bold face."""
    faces = {face.name for face in font_manager.fontManager.ttflist if face.weight in BOLD}
    return "bold" if faces.issuperset(font.get("family", [])[-1:]) else "normal"


def number(value: float) -> str:
    """Return a position or a distance as text, which no other one has."""
    whole = value == round(value) and abs(value) <= 2**53
    return Formatter.fix_minus(f"{value:.0f}" if whole else f"{value:.15g}")


def factor(number: str) -> str:
    """Return a number as a product shows it: in parentheses where it is negative."""
    return f"({number})" if number.startswith(("-", "\N{MINUS SIGN}")) else number


def curves(
    ax: Axes, at: NDArray[Any], rows: NDArray[Any], names: list[Words] | None, *, alone: bool
) -> None:
    """Draw curves about 0, told apart by colour and line, and a curve of one point as a dot."""
    ax.axhline(0, color="0.8", linewidth=1)
    drawn: list[Line2D] = []
    for i, row in enumerate(rows):
        colour, line = COLOURS[i % len(COLOURS)], LINES[i % len(LINES)]
        dot = "." if at.size == 1 else None
        drawn += ax.plot(at, row, color=colour, linestyle=line, linewidth=0.9, marker=dot)
    if names is not None:
        legend(ax, drawn, names, alone=alone)
    count_positions(ax, at)
    open_frame(ax)


def open_frame(ax: Axes) -> None:
    """Leave the left and the lower side of a frame."""
    ax.spines[["top", "right"]].set_visible(False)


def legend(
    ax: Axes, curves: Sequence[Line2D], names: Sequence[Words], *, alone: bool = False
) -> None:
    """Name curves above the Axes, two in a row where they are not too long.

    Where Axes stand `alone` in a new figure, there are more in a row, and it is higher by the rest.
    """
    lengths = [CURVE + letters(name["text"]) for name in names]
    columns = min(len(names), MOST_COLUMNS if alone else 2)
    while columns > 1 and sum(map(max, np.array_split(lengths, columns))) > MOST_LETTERS:
        columns -= 1
    if alone:
        figure, lines = ax.figure.figure, ceil(len(names) / columns)
        more = max(0, lines - MOST_LINES) * LINE * float(rcParams["font.size"]) / 72
        figure.set_figheight(figure.get_figheight() + more)
    legend_above(ax, curves, names, columns)


class _AboveTitles(Legend):
    """A legend above its Axes, and above titles that these are given later.

    It is an ordinary one once it has been moved.
    """

    moved = False

    def set_bbox_to_anchor(self, *place: Any) -> None:
        self.moved = True
        super().set_bbox_to_anchor(*place)

    def get_bbox_to_anchor(self) -> BboxBase:
        if self.moved:
            return super().get_bbox_to_anchor()
        box = self.axes.bbox
        titles = {child for child in self.axes.get_children() if isinstance(child, Text)}
        titles -= {*self.axes.texts}
        tops = [title.get_window_extent().y1 for title in titles if title.get_text()]
        top = max([box.y1, *tops])
        return Bbox([(box.x0, top), (box.x1, top)])


def legend_above(
    ax: Axes,
    drawn: Sequence[Line2D | Patch],
    names: Sequence[Words],
    columns: int,
    place: Literal["lower center", "lower right"] = "lower center",
) -> None:
    """Name what is drawn above the Axes and their title."""
    legend = ax.legend(drawn, [""] * len(drawn), loc=place, ncols=columns, frameon=False)
    legend.__class__ = _AboveTitles
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(**name)


def is_dark(colour: ArrayLike) -> bool:
    red, green, blue, _ = to_rgba_array(colour).ravel()
    return bool(0.2126 * red + 0.7152 * green + 0.0722 * blue < DARK)


def dark_to_light(ax: Axes, name: str = "cividis", count: int = 256) -> ListedColormap:
    """Return colours from dark to light, without the end that is like the ground."""
    on_light = is_dark(ax.xaxis.label.get_color())  # as letters, whatever shows through the Axes
    first, last = (0.0, 0.85) if on_light else (0.3, 1.0)
    return ListedColormap(colormaps[name](np.linspace(first, last, count)))


def room(label: Text) -> Bbox:
    """Return the room of a label: more than its letters across, and less than their line down."""
    return label.get_window_extent().padded(2, -1)


def remove_overlapping(labels: Iterable[Text]) -> None:
    """Leave out labels that lie on earlier ones."""
    taken: list[Bbox] = []
    for label in labels:
        own = room(label)
        if any(own.overlaps(other) for other in taken):
            label.remove()
        else:
            taken.append(own)


def whole_numbers(count: int | Literal["auto"] = "auto") -> MaxNLocator:
    """Return ticks at whole numbers, though there be one alone."""
    return MaxNLocator(count, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10])


def in_full() -> ScalarFormatter:
    """Return a format of ticks that writes far numbers out, without an offset or a factor."""
    formatter = ScalarFormatter(useOffset=False)
    formatter.set_scientific(False)
    return formatter


def count_positions(ax: Axes, at: NDArray[Any]) -> None:
    """Show positions across in full, at whole numbers where all of them are whole."""
    ax.xaxis.set_major_formatter(in_full())
    if (at == np.round(at)).all():
        ax.xaxis.set_major_locator(whole_numbers())


def dimensions(count: int, lang: Lang) -> list[Words]:
    """Return the names of the columns of an interleaved encoding."""
    waves = ("sin", "cos")
    return [words("dimension {} ({})", lang, i + 1, waves[i % 2]) for i in range(count)]


def letters(text: str) -> float:
    """Length of a text in Latin letters."""
    return sum(1 / LETTER if east_asian_width(letter) in "WF" else 1.0 for letter in text)


def _drawn(texts: Sequence[str], more: str = "") -> tuple[list[str], Words]:
    """Return texts, by their numbers where no font has all letters, and fonts that have them.

    More letters need be no font's: what breaks lines.
    """
    font: Words = {}
    letters = _letters(rcParams["font.family"]) | set(more)
    if not letters.issuperset("".join(texts)):
        font = _font("ja")
        letters |= _letters(font.get("family", []))
    return [text if letters.issuperset(text) else str(i) for i, text in enumerate(texts)], font


def _letters(families: Sequence[str]) -> set[str]:
    """Return the letters that fonts have."""
    paths = (
        font_manager.findfont(font_manager.FontProperties(family=[family])) for family in families
    )
    return set().union(*map(_letters_of, paths))


@cache
def _letters_of(path: str) -> frozenset[str]:
    return frozenset(map(chr, font_manager.get_font(path).get_charmap())) - TURNING


def _font(lang: Lang) -> Words:
    """Font families for a language; none where the usual one will do, or where none is found.

    The usual font stays first, so that only Japanese letters come from the Japanese one.
    """
    _options.choice("lang", lang, LANGUAGES)
    installed = set(font_manager.get_font_names()) if lang == "ja" else set()
    font = next((name for name in JAPANESE_FONTS if name in installed), None)
    return {"family": [*rcParams["font.family"], font]} if font else {}
