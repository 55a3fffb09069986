"""The benchmarks: every part runs and is right about its figures, and the chart is drawn.

How fast anything is, no test says.
"""

import hashlib
import json
import math
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from benchmarks import attention, calls, decode, measure, rotary
from benchmarks.__main__ import limited
from benchmarks.chart import FONT_SIZE, chart
from benchmarks.figures import Figure, as_table
from benchmarks.measure import Bench, check, interleaved, others_run, settle, warm
from benchmarks.parts import PARTS
from benchmarks.tables import LEADS, TABLES, leads, losses, pivot

import ropewalk as rw

ROOT = Path(__file__).parents[1]
RECORDS = sorted((ROOT / "docs" / "measurements").glob("*.json"))
SVG = "{http://www.w3.org/2000/svg}"


def run(module: str, *arguments: str | Path, **variables: str) -> None:
    command = [sys.executable, "-m", module, *map(str, arguments)]
    environment = {**os.environ, **variables}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=240)


@pytest.fixture(scope="module")
def measurement(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("benchmarks") / "measured.json"
    run("benchmarks", "--smallest", "--threads", "1", "--json", path)
    return path


@pytest.fixture(scope="module")
def records(measurement: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(measurement.read_text(encoding="utf-8"))
    return found


def test_every_part_is_measured(records: list[dict[str, Any]]) -> None:
    assert list(dict.fromkeys(record["part"] for record in records)) == list(PARTS)
    subjects = {"table", "rotary", "prefill", "causal", "float64", "options", "decode", "softmax"}
    assert subjects | {"small", "import"} <= set(PARTS)


def test_a_record_says_what_where_and_when(records: list[dict[str, Any]]) -> None:
    run_fields = {"processor", "isa", "compiler", "versions", "date", "commit"}
    figure = {"part", "threads", "case", "seconds", "rivals", "ourselves", "limits", "fraction"}
    for record in records:
        assert set(record) == run_fields | figure
        assert record["threads"] == 1
        assert record["versions"].keys() >= {"ropewalk", "numpy"}


def test_a_part_that_is_measured_again_takes_the_place_of_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "records.json"
    older = [{"part": part, "threads": n} for part in ("small", "causal") for n in (1, 2)]
    path.write_text(json.dumps(older), encoding="utf-8")
    run("benchmarks", "--smallest", "--only", "small", "--threads", "1", "--json", path)
    *fresh, second, third, fourth = json.loads(path.read_text(encoding="utf-8"))
    assert [second, third, fourth] == older[1:]
    assert {(one["part"], one["threads"]) for one in fresh} == {("small", 1)}
    assert all("seconds" in one for one in fresh)


@pytest.mark.parametrize("text", ["no json", "3", '[{"part": "small"}]', None], ids=repr)
def test_what_holds_no_records_is_not_written_over(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "records.json"
    if text is None:
        path.mkdir()
    else:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(subprocess.CalledProcessError) as refusal:
        run("benchmarks", "--smallest", "--only", "small", "--json", path)
    assert refusal.value.returncode == 2  # of wrong arguments
    assert text is None or path.read_text(encoding="utf-8") == text


def test_all_seconds_are_seconds(records: list[dict[str, Any]]) -> None:
    for record in records:
        others = (record[kind].values() for kind in ("rivals", "ourselves", "limits"))
        seconds = [record["seconds"], *(value for kind in others for value in kind)]
        assert all(0 < value < 60 for value in seconds)


def test_numpy_is_a_rival_of_attention(records: list[dict[str, Any]]) -> None:
    parts = {record["part"] for record in records if "NumPy" in record["rivals"]}
    assert parts >= {"prefill", "causal", "float64", "decode", "grouped", "softmax", "small"}


def test_a_chart_is_drawn_of_what_was_measured(measurement: Path, tmp_path: Path) -> None:
    charts = [tmp_path / name for name in ("one.svg", "two.svg")]
    for path in charts:
        run("benchmarks.chart", measurement, path)
    assert ET.fromstring(charts[0].read_text()).tag == f"{SVG}svg"
    assert charts[0].read_bytes() == charts[1].read_bytes()


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_the_names_of_rivals_are_whole(record: Path) -> None:
    with mpl.rc_context({"font.size": FONT_SIZE}):
        figure = chart(json.loads(record.read_text("utf-8")))
        figure.draw_without_rendering()
    (box,) = (legend.get_window_extent() for legend in figure.legends)
    assert 0 <= box.x0 < box.x1 <= figure.bbox.x1


def test_the_pages_show_what_was_measured(tmp_path: Path) -> None:
    docs = ROOT / "docs"
    pages = [docs / "performance.md", *sorted((docs / "performance").glob("*.md"))]
    copies = [tmp_path / page.name for page in pages]
    for page, copy in zip(pages, copies, strict=True):
        copy.write_text(page.read_text(encoding="utf-8").replace("0", "x"), encoding="utf-8")
    run("benchmarks.tables", *RECORDS, "--pages", *copies)
    shown, expected = (
        re.findall(
            r"<!-- table: .*?<!-- end -->",
            "".join(path.read_text(encoding="utf-8") for path in paths),
            re.DOTALL,
        )
        for paths in (copies, pages)
    )
    assert len(expected) == len(TABLES)
    assert shown == expected


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_what_was_measured_is_a_commit(record: Path) -> None:
    commits = {figure["commit"] for figure in json.loads(record.read_text("utf-8"))}
    assert not [commit for commit in commits if not re.fullmatch("[0-9a-f]{7,40}", commit)]


def test_figures_of_a_part_stand_by_the_fields_of_their_cases() -> None:
    def record(mebibytes: float, dim: int, threads: int, fraction: float) -> dict[str, Any]:
        case = {"MiB": mebibytes, "dim": dim}
        return {"part": "table", "threads": threads, "case": case, "fraction": fraction}

    one = [record(8, 64, 1, 0.25), record(8, 64, 2, 0.5), record(0.5, 128, 1, 12.3)]
    other = [record(8, 128, 1, 0.75), {**record(8, 64, 1, 9.0), "part": "softmax"}]
    assert pivot("table", "MiB", ["dim"])({"one": one, "other": other}).splitlines() == [
        "| processor | dim, by MiB | 0.5 | 8 |",
        "| --- | --- | --- | --- |",
        "| one | 64 | | 0.25; 0.50 |",
        "| | 128 | 12 | |",
        "| other | 128 | | 0.75 |",
    ]


def test_leads_are_seconds_of_rivals_over_ours_and_losses_are_named() -> None:
    def records(part: str) -> list[dict[str, Any]]:
        rivals = [{"NumPy": 4.0, "JAX": 6.0}, {"NumPy": 2.0, "JAX": 40.0}]
        return [
            {
                "part": part,
                "threads": threads,
                "case": {"dim": i, "tokens": 8},
                "seconds": seconds,
                "rivals": others,
            }
            for threads, seconds in ((1, 2.0), (2, 2.5))
            for i, others in enumerate(rivals)
        ]

    files = {"one": [record for part in LEADS for record in records(part)]}
    line = leads(files).splitlines()[2]
    of_all = "1.41 (1.00) | | | | 7.75 (3.00) | 1.41 (1.00) | 1.13 (0.80)"
    assert line == f"| one | attention, full | {of_all} |"
    assert losses(files).splitlines()[:4] == [
        "| processor | | case | faster | 1 thread | 2 threads |",
        "| --- | --- | --- | --- | --- | --- |",
        "| one | attention, full | dim 1, tokens 8 | NumPy | | 0.80 |",
        "| | attention, causal | dim 1, tokens 8 | NumPy | | 0.80 |",
    ]


def test_without_a_compiler_there_are_no_limits(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    arguments = ("--smallest", "--threads", "1", "--only", "softmax", "prefill")
    run("benchmarks", *arguments, "--json", path, CXX="no-such-compiler")
    for record in json.loads(path.read_text()):
        assert (record["limits"], record["fraction"]) == ({}, None)


def test_values_that_are_wrong_are_not_timed() -> None:
    with pytest.raises(AssertionError, match=r"wrong values were timed: off by 0\.5"):
        check([1.0, 2.5], np.array([1.0, 2.0]), 0.1)


# Parts, a function, and which of its calls, timed beside others, is made wrong.
WRONG: dict[str, tuple[Callable[[Bench], Any], str, Callable[..., bool]]] = {
    "rotation, tables given": (rotary.fresh_rotation, "rotate_by", lambda *_, **__: True),
    "decoding in float32": (
        decode.half_caches,
        "attention",
        lambda query, *_, **__: query.dtype == np.float32,
    ),
    "the plain call": (attention.options, "attention", lambda *_, **options: not options),
    "contiguous arrays": (
        attention.layout,
        "attention",
        lambda query, *_, **__: query.flags.c_contiguous,
    ),
    "float32 inside": (
        attention.bfloat16,
        "attention",
        lambda *_, **options: "precision" not in options,
    ),
    "softmax between others' work": (calls.between, "softmax", lambda *_, **__: True),
    "rotation between others' work": (calls.between, "rotate", lambda *_, **__: True),
    "decoding between others' work": (calls.between, "attention", lambda *_, **__: True),
}


@pytest.mark.parametrize("case", WRONG)
def test_no_part_times_a_wrong_call(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    part, name, is_wrong = WRONG[case]
    right = getattr(rw, name)
    monkeypatch.setattr(
        rw, name, lambda *data, **given: right(*data, **given) + is_wrong(*data, **given)
    )
    with pytest.raises(AssertionError, match="wrong values were timed"):
        next(part(Bench(1, "smallest")))


def test_the_limit_that_binds_is_the_slower_one() -> None:
    figure = Figure({}, 4.0, limits={"read": 1.0, "FMA peak": 3.0})
    assert figure.fraction == 0.75
    assert Figure({}, 4.0).fraction is None


def test_columns_line_up_and_say_who_leads() -> None:
    figures = [
        Figure({"tokens": 16}, 1e-3, rivals={"NumPy": 2e-3, "JAX": 8e-3}, limits={"read": 5e-4}),
        Figure({"tokens": 4096}, 2.0, rivals={"NumPy": 16.0}, ourselves={"contiguous": 1.0}),
    ]
    assert as_table(figures).splitlines() == [
        "tokens  ours  of read  NumPy   JAX  over contiguous",
        "    16  1 ms     0.50   2.00  8.00",
        "  4096   2 s            8.00                   2.00",
        "fastest rival: 4.00 by geometric mean, 2.00 at least",
    ]


def test_a_nan_is_a_wrong_value() -> None:
    with pytest.raises(AssertionError, match="wrong values"):
        check([math.nan], np.ones(1), 0.1)


def test_calls_take_turns_each_warmed_by_itself() -> None:
    made: list[str] = []
    calls = {name: lambda name=name: made.append(name) for name in ("a", "b")}
    interleaved(calls, repetitions=2, fewest=2, least=0)
    assert made == ["a", "a", "b", "b"] * 3  # once to see how long they take


@pytest.mark.parametrize("seconds", [0.0, 0.01])
def test_a_call_is_warmed_as_long_as_asked_and_once_at_least(seconds: float) -> None:
    made: list[None] = []
    start = time.perf_counter()
    warm(lambda: made.append(None), seconds)
    assert time.perf_counter() - start >= seconds
    assert (len(made) == 1) == (seconds == 0)


def test_rivals_choose_their_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    with limited(1):
        assert "OPENBLAS_CORETYPE" not in os.environ
        assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert os.environ["OPENBLAS_CORETYPE"] == "Haswell"


def test_a_call_waits_for_what_another_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread runs for 50 ms after each first call."""
    starts: list[float] = []
    seen: list[bool] = []

    def runs() -> bool:
        return time.perf_counter() - starts[-1] < 0.05

    def leave_behind() -> None:
        starts.append(time.perf_counter())

    monkeypatch.setattr(measure, "others_run", lambda: bool(starts) and runs())
    calls = {"first": leave_behind, "second": lambda: seen.append(runs())}
    interleaved(calls, repetitions=2, fewest=2, least=0)
    assert seen[2:] == [False] * 4  # the two before are not timed


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system shows no threads")
def test_a_thread_that_runs_is_told_from_those_that_rest() -> None:
    may_end = threading.Event()
    resting = threading.Thread(target=may_end.wait)
    running = threading.Thread(target=hashlib.sha256, args=(bytes(2**26),))
    resting.start()
    settle()
    while_resting = True
    for _ in range(100):  # threads that other tests have left may run for a moment
        while_resting &= others_run()
    running.start()
    while_running = False
    while running.is_alive():
        while_running |= others_run()
    may_end.set()
    assert not while_resting
    assert while_running


def test_the_smallest_benchmark_measures_one_size() -> None:
    sizes = ([1, 2, 3], [2, 3])
    assert [Bench(1, kind).of(*sizes) for kind in ("all", "quick", "smallest")] == [
        [1, 2, 3],
        [2, 3],
        [2],
    ]
