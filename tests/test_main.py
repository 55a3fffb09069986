"""The command line: what it writes and where, and its exit codes."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib import image

import ropewalk as rw
from ropewalk.__main__ import main

TABLES = {"printed_values.md", "printed_values.csv"}
FIGURES = {
    "000": {"000_clock_hands.png"},
    "001": {"001_waves.png", "001_table.png"},
    "003": {"003_sin_x.png", "003_sin_half_x.png", "003_heatmap.png"},
}
WITHOUT_MATPLOTLIB = """
import sys
sys.modules["matplotlib"] = None
from ropewalk.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def files_in(directory: Path) -> set[str]:
    paths = directory.rglob("*")
    return {path.relative_to(directory).as_posix() for path in paths if path.is_file()}


def test_articles_writes_all_tables_and_figures_and_nothing_else(tmp_path: Path) -> None:
    result = run(tmp_path, "-m", "ropewalk", "articles")
    assert result.returncode == 0
    expected = TABLES.union(*FIGURES.values())
    assert files_in(tmp_path) == {f"ropewalk-articles/{name}" for name in expected}


@pytest.mark.parametrize("article", FIGURES)
def test_articles_writes_one_article_where_it_is_told(tmp_path: Path, article: str) -> None:
    result = run(tmp_path, "-m", "ropewalk", "articles", "--out", "a/b", "--only", article)
    assert result.returncode == 0
    assert files_in(tmp_path) == {f"a/b/{name}" for name in TABLES | FIGURES[article]}


def test_articles_prints_a_summary_and_tells_its_progress_elsewhere(tmp_path: Path) -> None:
    result = run(tmp_path, "-m", "ropewalk", "articles", "--out", "here")
    assert result.stdout.splitlines() == [
        "32 printed values",
        "  24 reproduced, exact or rounded",
        "   5 reproduced truncated",
        "   1 wrong in the article",
        "   2 illustrative, nothing to compute",
        "   0 not reproduced",
        "V000.5, encoding of position 1, d = 4: printed 0.841, 0.540, 0.010, 0.999; "
        "wrong, right is 0.841, 0.540, 0.010, 1.000",
        "figures and tables: here",
    ]
    assert {line[:11] for line in result.stderr.splitlines()} == {"wrote here/"}


def test_tables_are_those_of_the_library(tmp_path: Path) -> None:
    assert main(["articles", "--out", str(tmp_path), "--only", "001"]) == 0
    read = {name: (tmp_path / name).read_bytes().decode() for name in TABLES}
    assert read["printed_values.csv"] == rw.articles.csv_table("001")
    assert read["printed_values.md"] == rw.articles.markdown_table("001")


def test_figures_are_900_pixels_wide(tmp_path: Path) -> None:
    main(["articles", "--out", str(tmp_path), "--only", "003"])
    assert {image.imread(tmp_path / name).shape[1] for name in FIGURES["003"]} == {900}


def test_a_value_that_does_not_reproduce_gives_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [*rw.articles.printed_values()]
    values[-9] = dataclasses.replace(values[-9], values=lambda: [0.8415])
    monkeypatch.setattr(rw.articles, "_PRINTED", values)
    assert main(["articles", "--out", str(tmp_path), "--only", "003"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "   1 not reproduced" in lines
    assert "V003.13, sin 1: printed 0.8414; NOT REPRODUCED, computed 0.8415" in lines


@pytest.mark.parametrize(
    "arguments",
    [[], ["nothing"], ["articles", "--only", "002"], ["articles", "--out"], ["info", "--xml"]],
    ids=" ".join,
)
def test_bad_usage_gives_exit_code_2_and_writes_nothing(
    tmp_path: Path, arguments: list[str]
) -> None:
    result = run(tmp_path, "-m", "ropewalk", *arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("usage: ropewalk")
    assert files_in(tmp_path) == set()


def test_a_directory_that_cannot_be_made_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    result = run(tmp_path, "-m", "ropewalk", "articles", "--out", "taken")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("ropewalk: ")
    assert result.stderr.count("\n") == 1
    assert (tmp_path / "taken").read_text() == "mine"


def test_missing_matplotlib_gives_one_line_that_names_the_extra(tmp_path: Path) -> None:
    result = run(tmp_path, "-c", WITHOUT_MATPLOTLIB, "articles")
    assert result.returncode == 2
    assert result.stderr == (
        "ropewalk: ropewalk.plot needs Matplotlib: pip install 'ropewalk[plot]'\n"
    )
    assert files_in(tmp_path) == set()


def test_info_needs_no_matplotlib(tmp_path: Path) -> None:
    result = run(tmp_path, "-c", WITHOUT_MATPLOTLIB, "info")
    assert (result.returncode, result.stderr) == (0, "")


def test_info_says_what_show_config_says(tmp_path: Path) -> None:
    lines = run(tmp_path, "-m", "ropewalk", "info").stdout.splitlines()
    config = rw.show_config()
    assert f"ropewalk: {config['ropewalk']}" in lines
    assert f"supported_isas: {', '.join(config['supported_isas'])}" in lines
    assert f"matplotlib: {config['extras']['matplotlib']}" in lines


def test_info_names_the_extras_that_are_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = rw.show_config() | {"extras": {"matplotlib": None}}
    monkeypatch.setattr("ropewalk.__main__.show_config", lambda: config)
    assert main(["info"]) == 0
    assert "matplotlib: not installed" in capsys.readouterr().out.splitlines()


def test_info_as_json_is_show_config(tmp_path: Path) -> None:
    result = run(tmp_path, "-m", "ropewalk", "info", "--json")
    assert json.loads(result.stdout) == rw.show_config()
