"""The articles: every printed value, typed here again from the text, and where it comes from."""

import csv
import dataclasses
import io
import itertools
import math
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import ropewalk as rw

Numbers = list[Any]  # of mpmath

# What the articles print.
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
}


def _row(position: int) -> Numbers:
    """Encode by the formula of articles 000 and 001, d = 4."""
    angles = [position / mp.mpf(10000) ** (mp.mpf(2 * i) / 4) for i in range(2)]
    return [wave(angle) for angle in angles for wave in (mp.sin, mp.cos)]


def _f(t: int, i: int) -> Numbers:
    """Encode by the formula of article 003, D = 128."""
    omega = 1 / mp.mpf(10000) ** (mp.mpf(2 * ((i - 1) // 2)) / 128)
    return [mp.sin(omega * t) if i % 2 == 1 else mp.cos(omega * t)]


EXACT: dict[str, Callable[[], Numbers]] = {
    "V000.1": lambda: _row(1)[:1],
    "V000.2": lambda: _row(1)[1:2],
    "V000.3": lambda: _row(1)[2:3],
    "V000.4": lambda: _row(1)[3:],
    "V000.5": lambda: _row(1),
    "V000.6": lambda: [mp.mpf(4) / 2],
    "V001.2": lambda: _row(0),
    "V001.3": lambda: _row(1),
    "V001.4": lambda: _row(2),
    **{f"V003.{i}": lambda i=i: [2 * mp.floor(mp.mpf(i - 1) / 2)] for i in range(1, 9)},  # type: ignore[misc]
    "V003.9": lambda: _f(0, 1),
    "V003.10": lambda: _f(0, 2),
    "V003.11": lambda: _f(0, 127),
    "V003.12": lambda: _f(0, 128),
    "V003.13": lambda: _f(1, 1),
    "V003.14": lambda: _f(1, 2),
    "V003.15": lambda: _f(1, 127),
    "V003.16": lambda: _f(1, 128),
    "V003.17": lambda: _f(2, 1),
    "V003.18": lambda: _f(2, 2),
    "V003.19": lambda: _f(2, 127),
    "V003.20": lambda: _f(2, 128),
    "V003.21": lambda: [2 * mp.pi / 1, 2 * mp.pi / mp.mpf("0.5")],
}
PHI = [f"V003.{i}" for i in range(1, 9)]  # measured through a logarithm, so less exact
DECIMALS_OF_003 = [f"V003.{i}" for i in range(13, 21)]
VALUES = {value.id: value for value in rw.articles.printed_values()}


def _written(identifier: str, rounding: str) -> str:
    """Exact value with as many decimals as are printed."""
    decimals = len(PRINTED[identifier].rpartition(".")[2])
    with mp.workdps(60):
        digits = [Decimal(mp.nstr(number, 50)) for number in EXACT[identifier]()]
    return ", ".join(str(x.quantize(Decimal(10) ** -decimals, rounding)) for x in digits)


def test_printed_strings_are_those_of_the_articles() -> None:
    assert {value.id: value.printed for value in rw.articles.printed_values()} == PRINTED


@pytest.mark.parametrize("identifier", PRINTED)
def test_value_reproduces(identifier: str) -> None:
    assert VALUES[identifier].reproduced(), VALUES[identifier].verdict()


@pytest.mark.parametrize("identifier", EXACT)
def test_exact_digits_are_those_of_mpmath(identifier: str) -> None:
    listed = VALUES[identifier].exact.split(", ")
    with mp.workdps(60):
        expected = EXACT[identifier]()
        for digits, number in zip(listed, expected, strict=True):
            assert abs(mp.mpf(digits) - number) <= abs(number) * mp.mpf(10) ** -29 / 2


@pytest.mark.parametrize("identifier", [i for i in EXACT if i not in PHI])
def test_library_is_within_an_ulp_of_the_exact_value(identifier: str) -> None:
    with mp.workdps(60):
        for computed, number in zip(VALUES[identifier].values(), EXACT[identifier](), strict=True):
            assert abs(mp.mpf(float(computed)) - number) <= math.ulp(float(number))


def test_truncated_values_are_those_that_rounding_does_not_give() -> None:
    decimals = ["V000.1", "V000.2", "V000.3", "V000.4", *DECIMALS_OF_003]
    cut = {i for i in decimals if _written(i, ROUND_HALF_EVEN) != PRINTED[i]}
    assert cut == {"V000.4", "V003.13", "V003.16", "V003.17", "V003.20"}
    assert cut == {value.id for value in VALUES.values() if value.mode == "truncate"}


@pytest.mark.parametrize("identifier", DECIMALS_OF_003)
def test_every_decimal_of_article_003_is_a_truncation(identifier: str) -> None:
    assert _written(identifier, ROUND_DOWN) == PRINTED[identifier]
    assert dataclasses.replace(VALUES[identifier], mode="truncate").reproduced()


def test_no_single_rounding_gives_the_row_of_article_000() -> None:
    assert _written("V000.5", ROUND_HALF_EVEN) == "0.841, 0.540, 0.010, 1.000"
    assert _written("V000.5", ROUND_DOWN) == "0.841, 0.540, 0.009, 0.999"
    assert VALUES["V000.5"].verdict() == "wrong, right is 0.841, 0.540, 0.010, 1.000"


def test_a_truncated_value_is_shown_beside_the_rounded_one() -> None:
    assert VALUES["V003.13"].verdict() == "truncated, rounded it is 0.8415"
    assert VALUES["V003.16"].verdict() == "truncated, rounded it is 1.0000"


@pytest.mark.parametrize("identifier", sorted(EXACT))
def test_a_value_that_is_off_by_a_printed_digit_does_not_reproduce(identifier: str) -> None:
    value = VALUES[identifier]
    off = [x + 1.5 * 10.0**-value.decimals for x in value.values()]
    broken = dataclasses.replace(value, values=lambda: off)
    assert not broken.reproduced()
    assert broken.verdict() == f"NOT REPRODUCED, computed {broken.computed()}"


def test_a_wrong_value_that_is_right_after_all_does_not_reproduce() -> None:
    printed = "0.841, 0.540, 0.010, 1.000"
    assert not dataclasses.replace(VALUES["V000.5"], printed=printed).reproduced()


def test_a_value_belongs_to_its_article() -> None:
    assert [value.id for value in rw.articles.printed_values("001")] == [
        f"V001.{i}" for i in range(1, 6)
    ]
    errata = [(v.article, v.erratum) for v in VALUES.values() if v.erratum]
    assert all(key in rw.articles.ERRATA and key[1:4] == article for article, key in errata)


def test_article_without_printed_values_is_refused() -> None:
    with pytest.raises(ValueError, match="'000', '001', '003', got '002'"):
        rw.articles.printed_values("002")


def test_pair_0_is_the_fast_one() -> None:  # E000.1
    fast, slow = rw.frequencies.standard(4).wavelengths
    assert f"a turn in {fast:.2f} positions" in rw.articles.ERRATA["E000.1"]
    assert f"a turn in {slow:.1f}" in rw.articles.ERRATA["E000.1"]


def test_inner_products_of_article_001_exceed_1() -> None:  # E001.1
    cat, dog = (0.8, 0.6, -0.4), (0.9, 0.5, -0.3)
    cosine = np.dot(cat, dog) / math.hypot(*cat) / math.hypot(*dog)
    erratum = rw.articles.ERRATA["E001.1"]
    assert f"cat.cat is {np.dot(cat, cat):.2f} and cat.dog {np.dot(cat, dog):.2f}" in erratum
    assert f"{cosine:.3f}" in erratum


def test_last_block_of_the_shift_matrix_turns_by_w_of_d_minus_2() -> None:  # E003.1
    cosine = rw.shift_matrix(1, 128)[127, 127]
    assert cosine == pytest.approx(math.cos(10000 ** (-126 / 128)), abs=1e-15)
    assert cosine != pytest.approx(math.cos(10000 ** (-64 / 128)), abs=1e-6)


def test_monotony_reaches_as_far_as_the_erratum_says() -> None:  # E003.2
    assert math.floor(10000 ** (126 / 128)) == 8659
    assert "8659" in rw.articles.ERRATA["E003.2"]


def test_script_of_article_003_gives_the_table_of_the_library() -> None:
    data = np.zeros((51, 128))
    for t, d in itertools.product(range(51), range(128)):
        omega = 1 / (10_000 ** (2 * np.floor(d / 2) / 128))
        data[t, d] = (np.sin if d % 2 == 0 else np.cos)(omega * t)
    table = rw.sinusoidal_encoding(range(51), 128)
    assert table.shape == (51, 128)
    np.testing.assert_allclose(table, data, rtol=0, atol=1e-14)


def test_table_of_article_003_has_its_minimum_early_and_rows_of_norm_8() -> None:
    table = rw.sinusoidal_encoding(range(51), 128)
    assert table.argmin() == 11 * 128
    assert f"{table.min():.6f}" == "-0.999990"
    np.testing.assert_allclose(np.linalg.norm(table, axis=1), 8.0, rtol=1e-15)


@pytest.mark.parametrize("article", [None, "000", "001", "003"])
def test_csv_table_reads_back(article: str | None) -> None:
    lines = list(csv.DictReader(io.StringIO(rw.articles.csv_table(article))))
    expected = {i: s for i, s in PRINTED.items() if article in {None, i[1:4]}}
    assert {line["id"]: line["printed"] for line in lines} == expected
    assert all(line["explanation"] == rw.articles.ERRATA.get(line["erratum"], "") for line in lines)


def test_markdown_table_shows_printed_and_true_value() -> None:
    lines = rw.articles.markdown_table("003").splitlines()
    assert len({line.count("|") for line in lines[:23]}) == 1
    assert (
        "| V003.17 | sin 2 | 0.9092 | 0.9092974268256817 | truncate "
        "| truncated, rounded it is 0.9093 | E003.4 |"
    ) in lines


def test_markdown_table_lists_the_errata_of_its_article() -> None:
    lines = rw.articles.markdown_table("001").splitlines()
    assert [line[:12] for line in lines if line.startswith("-")] == [
        "- **E001.1**",
        "- **E001.2**",
        "- **E001.3**",
    ]
