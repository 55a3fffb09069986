"""The scorecard: every wanted property of every encoding, as a number that was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropewalk import (
    _options,
    binary_encoding,
    grid_positions,
    integer_encoding,
    num_threads,
    rotary_tables,
    rotate,
    sinusoidal_encoding,
    softmax,
)
from ropewalk._options import LANGUAGES, Integer, Lang
from ropewalk.bias import alibi, alibi_slopes
from ropewalk.properties._card import Cell, Scorecard
from ropewalk.properties._invariance import (
    fitted_shift,
    kept_norm,
    length_independence,
    neighbour_distances,
    relative_score,
)
from ropewalk.properties._uniqueness import closest_rows

Table = NDArray[Any]

HEADS = 8  # of ALiBi
GRID = 16  # cells along each of two axes
WINDOW = 64  # queries and keys whose scores are compared
ROWS = 4  # times the width, so that no map of that width fits whatever comes
LONGER = 4  # times the length, to see what is new there
ROUNDING = 1e-9  # far above what rounding does here, far below any measured failure
NEW = 0.01  # the share of new values that still counts as none


@dataclass(frozen=True, slots=True)
class _Encoding:
    """What stands for positions in a text of some length, and how a vector gets it."""

    name: str
    table: Callable[[Any, int], Table]
    place: Callable[[Table, Any, int], Table]
    bias: Callable[[range, range], Table] | None = None

    def scores(self, query: Table, key: Table, at: Table, length: int) -> Table:
        """Scores of queries and keys at positions side by side."""
        scores: Table = self.place(query, at, length) @ self.place(key, at, length).T
        if self.bias is None:
            return scores
        here = range(int(at[0]), int(at[-1]) + 1)
        return scores + self.bias(here, here)


def _added(name: str, table: Callable[[Any, int], Table]) -> _Encoding:
    return _Encoding(name, table, lambda x, at, length: x + table(at, length))


def _encodings(dim: int) -> tuple[_Encoding, ...]:
    slopes = alibi_slopes(HEADS)

    def far_biases(at: Any, length: int) -> Table:
        """Biases of all heads towards keys so far back."""
        return alibi(slopes, 1, length, offset=length - 1)[:, 0, ::-1].T[np.asarray(at, np.int64)]

    def biases(queries: range, keys: range) -> Table:
        """Biases of the first head, the steepest."""
        before = range(keys.stop)  # a bias knows the keys from the first one on
        steep = alibi(slopes[0], len(queries), len(before), offset=queries.start)
        return steep[:, keys.start :]

    return (
        _added("integer", lambda at, _: integer_encoding(at, dim)),
        _added("normalised", lambda at, length: integer_encoding(at, dim, length=length)),
        _added("binary", lambda at, _: binary_encoding(at, dim)),
        _added("sinusoidal", lambda at, _: sinusoidal_encoding(at, dim)),
        _Encoding(
            "RoPE",
            lambda at, _: np.hstack(rotary_tables(at, dim)),
            lambda x, at, _: rotate(x, at),
        ),
        _Encoding("ALiBi", far_biases, lambda x, *_: x, biases),
    )


# The measurements. Each takes an encoding, the width of its vectors and the length of a text.


def _unique(encoding: _Encoding, _: int, length: int) -> float:
    return closest_rows(encoding.table(range(length), length)).distance


def _bounded(encoding: _Encoding, _: int, length: int) -> float:
    return float(np.abs(encoding.table(range(length), length)).max())


def _deterministic(encoding: _Encoding, _: int, length: int) -> float:
    at = np.arange(length)
    once = encoding.table(range(length), length)
    with num_threads(1):
        backwards = encoding.table(at[::-1], length)[::-1]
    others = [backwards, encoding.table(at.astype(np.float64), length)]
    return float(sum(np.count_nonzero(other != once) for other in others))


def _independent_of_length(encoding: _Encoding, _: int, length: int) -> float:
    return length_independence(lambda n: encoding.table(range(n), n), length, LONGER * length).value


def _linear_in_the_shift(encoding: _Encoding, dim: int, length: int) -> float:
    return fitted_shift(encoding.table(range(ROWS * dim), length)).residual


def _relative_only(encoding: _Encoding, dim: int, length: int) -> float:
    query, key = np.random.default_rng(1).standard_normal((2, WINDOW, dim))
    scale = float(np.linalg.norm(query, axis=1).max() * np.linalg.norm(key, axis=1).max())
    whole = length + WINDOW
    return relative_score(
        lambda at: encoding.scores(query, key, at, whole),
        np.arange(WINDOW),
        shift=length,
        scale=scale,
    ).value


def _generalises_to_longer(encoding: _Encoding, _: int, length: int) -> float:
    whole = LONGER * length
    if encoding.bias is not None:
        weights = softmax(encoding.table(range(whole), whole), axis=0)
        return float(weights[length:].sum(axis=0).mean())
    table = encoding.table(range(whole), whole)
    seen, later = encoding.table(range(length), length), table[length:]
    return float(((later < seen.min(axis=0)) | (later > seen.max(axis=0))).mean())


def _on_a_grid(encoding: _Encoding, *_: int) -> float | None:
    if encoding.bias is not None:
        return None
    cells = grid_positions((GRID, GRID)).reshape(-1, 2)
    axes = [encoding.table(at, GRID) for at in cells.T]
    return closest_rows(np.hstack(axes)).distance


def _smooth(encoding: _Encoding, _: int, length: int) -> float:
    steps = neighbour_distances(encoding.table(range(length), length))
    return float(steps.max() / steps.min())


def _keeps_the_norm(encoding: _Encoding, dim: int, length: int) -> float:
    x = np.random.default_rng(1).standard_normal((length, dim))
    return kept_norm(x, encoding.place(x, range(length), length)).value


def _decays_with_distance(encoding: _Encoding, _: int, length: int) -> float:
    whole = range(length)
    if encoding.bias is not None:
        scores = encoding.bias(whole, whole)
    else:
        table = encoding.table(whole, length)
        scores = table @ table.T
    later, earlier = np.triu(np.diff(scores) > 0), np.tril(np.diff(scores) < 0, -1)
    return float((later | earlier).mean())


@dataclass(frozen=True, slots=True)
class _Property:
    """A column: what is measured, which values will do, and what is said of it."""

    name: str
    measure: Callable[[_Encoding, int, int], float | None]
    holds: Callable[[float], bool]
    note: Mapping[Lang, str]
    exceptions: Mapping[str, Mapping[Lang, str]]


def _rounding(value: float) -> bool:
    return value <= ROUNDING


PROPERTIES = (
    _Property(
        "unique",
        _unique,
        lambda distance: distance > 0,
        {
            "en": "smallest distance between two positions; above 0",
            "ja": "2 つの位置の最小距離。0 より大きければ成り立つ",
        },
        {
            "ALiBi": {
                "en": "smallest distance between the biases of two distances; above 0",
                "ja": "2 つの距離に対するバイアスどうしの最小距離。0 より大きければ成り立つ",
            }
        },
    ),
    _Property(
        "bounded",
        _bounded,
        lambda size: size <= 1,
        {"en": "largest absolute value; at most 1", "ja": "絶対値の最大。1 以下なら成り立つ"},
        {},
    ),
    _Property(
        "deterministic",
        _deterministic,
        lambda count: count == 0,
        {
            "en": "values that differ when computed on one thread, backwards, or from floats; 0",
            "ja": "1 スレッド・逆順・浮動小数点の位置で計算し直すと変わる値の個数。0 なら成り立つ",
        },
        {},
    ),
    _Property(
        "independent of length",
        _independent_of_length,
        lambda change: change == 0,
        {
            "en": "largest change of a value when the text is four times as long; 0",
            "ja": "文の長さが 4 倍になったときの値の最大変化。0 なら成り立つ",
        },
        {},
    ),
    _Property(
        "linear in the shift",
        _linear_in_the_shift,
        _rounding,
        {
            "en": "error of the best matrix from one position to the next; rounding",
            "ja": "隣の位置へ移す最良の行列の誤差。丸め誤差の範囲なら成り立つ",
        },
        {},
    ),
    _Property(
        "relative only",
        _relative_only,
        _rounding,
        {
            "en": "change of a score, over |q| |k|, when both positions shift alike; rounding",
            "ja": "両方の位置を同じだけずらしたときのスコアの変化を |q| |k| で割った値。"
            "丸め誤差の範囲なら成り立つ",
        },
        {},
    ),
    _Property(
        "generalises to longer",
        _generalises_to_longer,
        lambda share: share < NEW,
        {
            "en": "share of values beyond the range seen so far, up to four times the length; "
            "below 0.01",
            "ja": "4 倍の長さまでに現れる、それまでの範囲を外れた値の割合。0.01 未満なら成り立つ",
        },
        {
            "normalised": {
                "en": "share of values beyond the range seen so far, up to four times the length, "
                "near 0 as a longer text squeezes its positions into one range; below 0.01",
                "ja": "4 倍の長さまでに現れる、それまでの範囲を外れた値の割合。長い文の位置も"
                "同じ範囲に押し込むので、ほぼ 0 になる。0.01 未満なら成り立つ",
            },
            "ALiBi": {
                "en": "share of the attention to equal keys that goes beyond the length; "
                "below 0.01",
                "ja": "内容の等しいキーへの注意のうち、元の長さより遠くへ向かう割合。"
                "0.01 未満なら成り立つ",
            },
        },
    ),
    _Property(
        "N-D",
        _on_a_grid,
        lambda distance: distance > 0,
        {
            "en": "smallest distance between cells of a grid, a table for each axis; above 0",
            "ja": "軸ごとに表を並べたときの、格子の 2 マスの最小距離。0 より大きければ成り立つ",
        },
        {
            "ALiBi": {
                "en": "not defined: its bias takes one distance, and a grid has one for each axis",
                "ja": "定義なし。バイアスの距離は 1 つだが、格子には軸の数だけある",
            }
        },
    ),
    _Property(
        "smooth",
        _smooth,
        lambda ratio: ratio <= 1 + ROUNDING,
        {
            "en": "largest step between neighbours over the smallest; 1",
            "ja": "隣り合う位置の間の最大の歩幅と最小の歩幅の比。1 なら成り立つ",
        },
        {},
    ),
    _Property(
        "keeps the norm",
        _keeps_the_norm,
        _rounding,
        {
            "en": "largest relative change of the norm of a normal vector; rounding",
            "ja": "正規乱数ベクトルのノルムの最大相対変化。丸め誤差の範囲なら成り立つ",
        },
        {},
    ),
    _Property(
        "decays with distance",
        _decays_with_distance,
        lambda share: share == 0,
        {
            "en": "share of steps away from a position at which the inner product with it rises; 0",
            "ja": "ある位置から 1 歩ずつ遠ざかるとき、その位置との内積が増える歩の割合。"
            "0 なら成り立つ",
        },
        {
            "ALiBi": {
                "en": "share of steps away from a position at which its bias rises; 0",
                "ja": "ある位置から 1 歩ずつ遠ざかるとき、バイアスが増える歩の割合。0 なら成り立つ",
            }
        },
    ),
)


def scorecard(dim: Integer = 64, /, *, length: Integer = 1024, lang: Lang = "en") -> Scorecard:
    """Scorecard of positional encodings: what each can do, measured.

    Integer, normalised, binary and sinusoidal encodings, RoPE and ALiBi, and the properties that
    were wanted of them; every number comes from a call of the library.

    Parameters
    ----------
    dim : int, default 64
        Width of the encodings; even, from 32 to 128.
    length : int, default 1024
        Length of a text (tokens), from ``4 * dim`` to 2048; the time grows with its square.
    lang : {"en", "ja"}, default "en"
        Language of the notes and of the table.

    Returns
    -------
    Scorecard
        A notebook renders it; ``str`` of it is Markdown.

    Raises
    ------
    ValueError
        If an argument is out of the range above.
    TypeError
        If `dim` or `length` is no integer.

    See Also
    --------
    closest_rows, fitted_shift, relative_score, length_independence, kept_norm : Measurements of
        any encoding, with their thresholds.
    ropewalk.plot.scorecard : The picture.

    Notes
    -----
    RoPE is measured by its cosines and sines where a property is one of a table, and by queries and
    keys that it turns where it is one of scores; ALiBi by its biases, of 8 heads. "Rounding" is at
    most 1e-9, where the numbers that hold are about 1e-12 or less and the others above 1e-4.

    The card shows what a definition decides. No encoding with fixed frequencies is free of new
    angles in a longer text; schedules like those of `ropewalk.frequencies.linear` stretch the old
    ones. ALiBi attends to what is near: the share beyond the length falls with the length, to 0.002
    at 1024 tokens. And the score of RoPE need not fall with the distance.

    References
    ----------
    Fleetwood, You could have designed state of the art positional encoding, 2024, section
    "Desirable Properties"; Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762,
    section 3.5; Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021,
    arXiv:2104.09864; Press, Smith and Lewis, Train Short, Test Long: Attention with Linear Biases
    Enables Input Length Extrapolation, 2021, arXiv:2108.12409, section 3.

    Examples
    --------
    >>> from ropewalk.properties import scorecard
    >>> card = scorecard(32, length=128)
    >>> card["integer", "bounded"]
    Cell(value=127.0, holds=False, note='largest absolute value; at most 1')
    >>> card["RoPE", "relative only"].holds, card["sinusoidal", "relative only"].holds
    (True, False)
    """
    dim = _options.even_dim(dim, 32, 128)
    length = _options.integer("length", length)
    if not ROWS * dim <= length <= 2048:
        msg = (
            f"length must be an integer from {ROWS * dim} to 2048 where dim is {dim}, got {length}"
        )
        raise ValueError(msg)
    _options.choice("lang", lang, LANGUAGES)
    encodings = _encodings(dim)
    cells = tuple(
        tuple(_cell(wanted, encoding, dim, length, lang) for wanted in PROPERTIES)
        for encoding in encodings
    )
    names = tuple(encoding.name for encoding in encodings)
    return Scorecard(names, tuple(wanted.name for wanted in PROPERTIES), cells, lang)


def _cell(wanted: _Property, encoding: _Encoding, dim: int, length: int, lang: Lang) -> Cell:
    value = wanted.measure(encoding, dim, length)
    note = wanted.exceptions.get(encoding.name, wanted.note)[lang]
    return Cell(value, None if value is None else wanted.holds(value), note)
