"""The scorecard of encodings, and what measurements of positions refuse."""

import itertools
import math
import re
import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from tests import reference
from tests.data import UNIT
from tests.refusals import exactly

import ropewalk as rw
from ropewalk.frequencies import axial, standard
from ropewalk.properties import (
    Cell,
    Scorecard,
    closest_lag,
    closest_rows,
    fitted_shift,
    kept_norm,
    length_independence,
    relative_score,
    scorecard,
    signal_to_noise,
    softmax_order,
    uniqueness_range,
    unseen_pairs,
    unseen_phase,
)
from ropewalk.properties._scorecard import _deterministic, _Encoding

# The scorecard

LENGTH, DIM = 1024, 32


def test_values_that_change_with_the_threads_are_counted() -> None:
    def threads(at: Any, _: int) -> NDArray[np.float64]:
        return np.full((len(at), 2), float(rw.get_num_threads()))

    with rw.num_threads(2):
        assert _deterministic(_Encoding("threads", threads, lambda x, *_: x), 2, 8) == 16


@pytest.fixture(scope="module")
def card() -> Scorecard:
    return scorecard(DIM, length=LENGTH)


def test_the_scorecard_is_measured_in_less_than_five_seconds() -> None:
    before = time.process_time()
    scorecard()
    assert time.process_time() - before < 5 * max(1, rw.get_num_threads())


# Y holds, n does not, - is not defined: in the order of the properties.
HOLDS = {
    "integer": "Y n Y Y n n n Y Y n n",
    "normalised": "Y Y Y n n n Y Y Y n n",
    "binary": "Y Y Y Y n n n Y n n n",
    "sinusoidal": "Y Y Y Y Y n n Y Y n n",
    "RoPE": "Y Y Y Y Y Y n Y Y Y n",
    "ALiBi": "Y n Y Y n Y Y - Y Y Y",
}


@pytest.mark.parametrize("encoding", HOLDS)
def test_what_holds_is_what_theory_says(card: Scorecard, encoding: str) -> None:
    signs = {True: "Y", False: "n", None: "-"}
    found = [signs[card[encoding, wanted].holds] for wanted in card.properties]
    assert " ".join(found) == HOLDS[encoding]


def share_of_rises(scores: list[list[int]]) -> float:
    rises = 0
    for i, row in enumerate(scores):
        rises += sum(row[j + 1] > row[j] for j in range(i, len(row) - 1))
        rises += sum(row[j - 1] > row[j] for j in range(i, 0, -1))
    return rises / (len(scores) * (len(scores) - 1))


def values(length: int, dim: int) -> dict[tuple[str, str], float]:
    """Numbers that follow from the definitions, without the library."""
    both = [[(i & j).bit_count() for j in range(length)] for i in range(length)]
    slopes = [float(slope) for slope in reference.alibi_slopes(8)]
    waves = [float(w) for w in reference.standard_frequencies(dim)]
    far = [
        sum(math.exp(-slope * t) for t in range(length, 4 * length))
        / sum(math.exp(-slope * t) for t in range(4 * length))
        for slope in slopes
    ]
    new = 0
    for wave, turn in itertools.product(waves, (math.sin, math.cos)):
        row = [turn(t * wave) for t in range(4 * length)]
        low, high = min(row[:length]), max(row[:length])
        new += sum(not low <= value <= high for value in row[length:])
    step = min(
        math.sqrt(sum(4 * math.sin(lag * wave / 2) ** 2 for wave in waves))
        for lag in range(1, length)
    )
    return {
        ("integer", "unique"): math.sqrt(dim),
        ("normalised", "unique"): math.sqrt(dim) / length,
        ("binary", "unique"): 1,
        ("sinusoidal", "unique"): step,
        ("RoPE", "unique"): step,
        ("ALiBi", "unique"): math.hypot(*slopes),
        ("integer", "bounded"): length - 1,
        ("normalised", "bounded"): 1 - 1 / length,
        ("binary", "bounded"): 1,
        ("sinusoidal", "bounded"): 1,
        ("ALiBi", "bounded"): slopes[0] * (length - 1),
        ("normalised", "independent of length"): 0.75 * (1 - 1 / length),
        ("integer", "linear in the shift"): 1,
        ("normalised", "linear in the shift"): 1 / length,
        ("ALiBi", "linear in the shift"): slopes[0],
        ("integer", "generalises to longer"): 1,
        ("normalised", "generalises to longer"): 1 / length,  # three of the last positions
        ("binary", "generalises to longer"): 2 * (2 / 3) / dim,  # two digits, 1 in two of three
        ("sinusoidal", "generalises to longer"): new / (dim * 3 * length),
        ("ALiBi", "generalises to longer"): sum(far) / len(far),
        ("integer", "N-D"): math.sqrt(dim),
        ("normalised", "N-D"): math.sqrt(dim) / 16,
        ("binary", "N-D"): 1,
        ("RoPE", "N-D"): step,
        ("integer", "smooth"): 1,
        ("binary", "smooth"): math.sqrt(math.log2(length)),
        ("sinusoidal", "smooth"): 1,
        ("ALiBi", "smooth"): 1,
        ("ALiBi", "keeps the norm"): 0,
        ("integer", "decays with distance"): (length - 2) / (2 * length),  # rises upwards
        ("binary", "decays with distance"): share_of_rises(both),
        ("ALiBi", "decays with distance"): 0,
    }


def test_the_numbers_follow_from_the_definitions(card: Scorecard) -> None:
    expected = values(LENGTH, DIM)
    found = {names: card[names].value for names in expected}
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_numbers_that_hold_are_far_from_those_that_do_not(card: Scorecard) -> None:
    for wanted in ("linear in the shift", "relative only", "keeps the norm"):
        for encoding in card.encodings:
            cell = card[encoding, wanted]
            assert cell.value is not None
            assert cell.value < 1e-11 if cell.holds else cell.value > 1e-4


def test_vectors_of_rope_turn_and_are_rounded(card: Scorecard) -> None:
    for wanted in ("relative only", "keeps the norm"):
        value = card["RoPE", wanted].value
        assert value is not None
        assert 0 < value < 16 * UNIT["float64"]


def test_the_scorecard_is_markdown(card: Scorecard) -> None:
    lines = str(card).splitlines()
    assert lines[0].startswith("| encoding | unique | bounded | ")
    assert lines[1] == "| " + " | ".join(["---"] * 12) + " |"
    assert lines[2].startswith("| integer | ✓ 5.66 | ✗ 1023 | ✓ 0 | ")
    assert lines[7].split(" | ")[8] == "not defined"
    assert lines[8] == ""
    assert lines[9] == "- unique: smallest distance between two positions; above 0"
    assert sum(line.startswith("- N-D (ALiBi): not defined: its bias takes") for line in lines) == 1


def test_the_scorecard_is_a_table_of_a_notebook(card: Scorecard) -> None:
    html = card._repr_html_()
    assert html.count("<tr>") == 7
    assert html.count("<td") == 66
    assert '<td title="largest absolute value; at most 1">✗ 1023</td>' in html
    assert html.count(">not defined</td>") == 1


def test_the_scorecard_speaks_japanese() -> None:
    english, japanese = scorecard(32, length=128), scorecard(32, length=128, lang="ja")
    assert str(japanese).startswith("| 位置符号 | 一意 | 有界 | ")
    assert "| 定義なし |" in str(japanese)
    for one, other in zip(english.cells, japanese.cells, strict=True):
        assert [cell.value for cell in one] == [cell.value for cell in other]
        for cell in other:
            assert re.search("[ぁ-ん]", cell.note)
    for card in (english, japanese):  # each note stands alone in the tip of its cell
        notes = [card[encoding, "generalises to longer"].note for encoding in card.encodings]
        assert all("0.01" in note for note in notes)
        assert not any("the same" in note or "同上" in note for note in notes)
    assert japanese["RoPE", "keeps the norm"].holds


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "✓ 0"),
        (1.0, "✓ 1"),
        (1023.4, "✓ 1023"),
        (0.000976, "✓ 0.000976"),
        (8.456e5, "✓ 8.46e5"),
        (2.22e-16, "✓ 2.22e-16"),
        (2.22e-6, "✓ 2.22e-6"),
    ],
)
def test_a_cell_is_short(value: float, text: str) -> None:
    assert str(rw.properties.Cell(value, True, "")) == text


# Refusals


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: closest_rows([[1.0]]), "table must have two rows or more, got shape (1, 1)"),
        (
            lambda: closest_rows([1.0, 2.0]),
            "table must have shape (positions, dim) and not be empty, got (2,)",
        ),
        (lambda: closest_rows([[1.0], [math.nan]]), "table must be finite, got nan"),
        (
            lambda: closest_rows(np.array([[1], [np.inf]], ml_dtypes.bfloat16)),
            "table must be finite, got inf",
        ),
        (lambda: closest_lag(1, 4), "length must be an integer from 2 to 4294967296, got 1"),
        (
            lambda: closest_lag(2**53, 4),
            "length must be an integer from 2 to 4294967296, got 9007199254740992",
        ),
        (
            lambda: closest_lag(9, frequencies=axial(8)),
            "frequencies must have one axis, got 2",
        ),
        (
            lambda: uniqueness_range(4, base=0.5),
            "base must be at least 1, so that the last pair is the slowest, got 0.5",
        ),
        (lambda: uniqueness_range(7), "dim must be an even integer from 2 to 1048576, got 7"),
        (lambda: signal_to_noise([0.0], [1.0]), "signal must not be 0 everywhere"),
        (lambda: signal_to_noise([1.0], [0.0]), "noise must not be 0 everywhere"),
        (
            lambda: fitted_shift([[1.0], [2.0]], 2),
            "shift must be from 1 to 1, below the rows of table, got 2",
        ),
        (
            lambda: fitted_shift([[1.0], [2.0]], 0),
            "shift must be from 1 to 1, below the rows of table, got 0",
        ),
        (lambda: fitted_shift([[1.0, 2.0]]), "table must have two rows or more, got shape (1, 2)"),
        (
            lambda: relative_score(lambda _: 1.0, [1.0], shift=1, scale=1.0),  # type: ignore[arg-type, return-value]
            "score(positions) must have at least one dimension, got a number",
        ),
        (
            lambda: relative_score(lambda at: at * [np.inf], [1.0], shift=1, scale=1.0),
            "score(positions) must be finite, got inf",
        ),
        (
            lambda: kept_norm([[1.0]], [[1.0, 2.0]]),
            "placed must have the shape of x, (1, 1), got (1, 2)",
        ),
        (lambda: kept_norm([[0.0]], [[1.0]]), "x must not be zero, got a row of length 0"),
        (
            lambda: length_independence(lambda _: np.ones((3, 1)), 2, 3),
            "encode must return a row a position, 2, got shape (3, 1)",
        ),
        (
            lambda: length_independence(lambda n: np.ones((n, n)), 2, 3),
            "encode must return tables of one width, got 2 and 3 columns",
        ),
        (
            lambda: length_independence(lambda n: np.ones((n, 1)), 3, 2),
            "longer must be at least the length 3, got 2",
        ),
        (
            lambda: relative_score(lambda at: at, [1.0], shift=1, scale=0.0),
            "scale must be positive and finite, got 0.0",
        ),
        (
            lambda: relative_score(lambda at: at, [], shift=1, scale=1.0),
            "positions must not be empty, got shape (0,)",
        ),
        (
            lambda: relative_score(lambda at: at, [1.0], shift=math.inf, scale=1.0),
            "shift must be finite and at most 2**53 in size, got inf",
        ),
        (
            lambda: relative_score(lambda at: at, [2**62], shift=2**62, scale=1.0),
            "positions must be finite and at most 2**53 in size, got 4611686018427387904",
        ),
        (
            lambda: relative_score(lambda at: at, [1, 2**53], shift=1, scale=1.0),
            "positions + shift must be finite and at most 2**53 in size, got 9007199254740993",
        ),
        (
            lambda: relative_score(lambda at: at, np.ones((4, 2)), shift=[1, 2, 3], scale=1.0),
            "shift must broadcast to positions, (4, 2), got shape (3,)",
        ),
        (
            lambda: relative_score(lambda at: np.ones(1 + int(at[0])), [1], shift=1, scale=1.0),
            "score(positions + shift) must have the shape of score(positions), (2,), got (3,)",
        ),
        (
            lambda: unseen_pairs(0, 4),
            "length must be an integer from 1 to 9007199254740992, got 0",
        ),
        (
            lambda: unseen_phase(4, trained=standard(6), trained_length=1, length=1),
            "trained must have 2 pairs, as the schedule has, got 3",
        ),
        (lambda: scorecard(30), "dim must be an even integer from 32 to 128, got 30"),
        (lambda: scorecard(7), "dim must be an even integer from 32 to 128, got 7"),
        (lambda: scorecard(33), "dim must be an even integer from 32 to 128, got 33"),
        (
            lambda: scorecard(length=255),
            "length must be an integer from 256 to 2048 where dim is 64, got 255",
        ),
        (lambda: scorecard(lang="fr"), "lang must be one of 'en', 'ja', got 'fr'"),  # type: ignore[arg-type]
    ],
)
def test_wrong_values_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=exactly(message)):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: closest_lag(9.0, 4), "length must be an integer, got 9.0"),  # type: ignore[arg-type]
        (lambda: closest_lag(9), "dim must be given where frequencies is not"),
        (
            lambda: fitted_shift([[1.0], [2.0]], affine=1),  # type: ignore[arg-type]
            "affine must be True or False, got 1",
        ),
        (
            lambda: closest_rows([[True], [False]]),
            "table must be integers, float64, float32, float16 or bfloat16, got dtype bool",
        ),
        (
            lambda: signal_to_noise(["a"], [1.0]),
            "signal must be integers, float64, float32, float16 or bfloat16, got dtype <U1",
        ),
        (lambda: scorecard(64.0), "dim must be an integer, got 64.0"),  # type: ignore[arg-type]
        (
            lambda: relative_score("a", [1, 2], shift=1, scale=1.0),  # type: ignore[arg-type]
            "score must be a function, got 'a'",
        ),
        (
            lambda: length_independence(3, 1, 2),  # type: ignore[arg-type]
            "encode must be a function, got 3",
        ),
        (
            lambda: softmax_order([1.0, 2.0], softmax="naive"),  # type: ignore[arg-type]
            "softmax must be a function, got 'naive'",
        ),
    ],
)
def test_wrong_types_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=exactly(message)):
        call()


def test_an_unknown_cell_is_refused(card: Scorecard) -> None:
    with pytest.raises(ValueError, match=r"^encoding must be one of 'integer', .*, got 'rope'$"):
        card["rope", "unique"]
    with pytest.raises(ValueError, match=r"^property must be one of 'unique', .*, got 'nice'$"):
        card["RoPE", "nice"]
    message = "a cell must be named by a pair (encoding, property), got ('RoPE',)"
    with pytest.raises(ValueError, match=exactly(message)):
        card[("RoPE",)]  # type: ignore[index]
    message = "a cell must be named by a pair (encoding, property), got 'RoPE'"
    with pytest.raises(TypeError, match=exactly(message)):
        card["RoPE"]  # type: ignore[index]


ONE_CELL = Scorecard(("RoPE",), ("unique",), ((Cell(1.0, True, 'a < "b"'),),), "en")


@pytest.mark.parametrize("name", [["RoPE", "unique"], "ab", 5], ids=repr)
def test_a_cell_is_named_by_a_pair(name: Any) -> None:
    with pytest.raises(TypeError, match=r"^a cell must be named by a pair"):
        ONE_CELL[name]


def test_what_a_cell_says_is_escaped() -> None:
    assert 'title="a &lt; &quot;b&quot;"' in ONE_CELL._repr_html_()


@pytest.mark.parametrize(("value", "shown"), [(1e5, "✓ 1e5"), (1e15, "✓ 1e15")])
def test_large_values_of_cells_are_short(value: float, shown: str) -> None:
    assert str(Cell(value, True, "")) == shown


def test_tables_as_wide_as_any_have_closest_rows() -> None:
    assert closest_rows(np.eye(2, 2**18 + 1)).rows == (0, 1)
