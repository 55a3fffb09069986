"""The command line: what it writes and where, and its exit codes."""

import csv
import dataclasses
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib import image
from matplotlib.axes import Axes
from numpy.typing import NDArray
from PIL import Image

import ropewalk as rw
from ropewalk.__main__ import main

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

WITHOUT_MATPLOTLIB = """
import sys
sys.modules["matplotlib"] = None
from ropewalk.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
TABLES = {"printed_values.md", "printed_values.csv", "ledger.md", "ledger.csv"}
FIGURES_OF_003 = {"003_sin_x.png", "003_sin_half_x.png", "003_heatmap.png"}
VERDICTS = ["reproduced", "rounded differently", "wrong", "illustrative", "not a theorem"]

# What is asked of the command line, and of the library.
ENCODINGS: dict[str, tuple[str, Callable[[], NDArray[Any]], list[str]]] = {
    "integer": (
        "integer --positions 0:5 --dim 3",
        lambda: rw.integer_encoding(range(5), 3),
        ["dimension_1", "dimension_2", "dimension_3"],
    ),
    "normalised": (
        "normalised --positions 0:5:2 --dim 2 --length 7",
        lambda: rw.integer_encoding(range(0, 5, 2), 2, length=7),
        ["dimension_1", "dimension_2"],
    ),
    "binary": (
        "binary --positions 250:256 --dim 8 --order msb",
        lambda: rw.binary_encoding(range(250, 256), 8, order="msb"),
        [f"dimension_{i}" for i in range(1, 9)],
    ),
    "binary, stretched": (
        "binary --positions 3,1 --dim 4 --bits 2",
        lambda: rw.binary_encoding([3, 1], 4, bits=2),
        ["dimension_1", "dimension_2", "dimension_3", "dimension_4"],
    ),
    "sinusoidal": (
        "sinusoidal --positions 0,1,2.5 --dim 4",
        lambda: rw.sinusoidal_encoding([0, 1, 2.5], 4),
        ["sin_0", "cos_0", "sin_1", "cos_1"],
    ),
    "sinusoidal, cosine first": (
        "sinusoidal --positions=-3:4 --dim 4 --base 100 --order cos-sin --dtype float32",
        lambda: rw.sinusoidal_encoding(range(-3, 4), 4, base=100, order="cos-sin", dtype="float32"),
        ["cos_0", "sin_0", "cos_1", "sin_1"],
    ),
    "sinusoidal, halves": (
        "sinusoidal --positions 0:9:4 --dim 6 --pairing half",
        lambda: rw.sinusoidal_encoding(range(0, 9, 4), 6, pairing="half"),
        ["sin_0", "sin_1", "sin_2", "cos_0", "cos_1", "cos_2"],
    ),
    "rotary": (
        "rotary --positions 5:0:-1 --dim 6 --base 500000 --dtype float16",
        lambda: np.hstack(rw.rotary_tables(range(5, 0, -1), 6, base=500000, dtype="float16")),
        ["cos_0", "cos_1", "cos_2", "sin_0", "sin_1", "sin_2"],
    ),
}
encodings = pytest.mark.parametrize("name", ENCODINGS)


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )


def ropewalk(directory: Path, command: str) -> subprocess.CompletedProcess[str]:
    return run(directory, "-m", "ropewalk", *command.split())


def files_in(directory: Path) -> set[str]:
    paths = directory.rglob("*")
    return {path.relative_to(directory).as_posix() for path in paths if path.is_file()}


def same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


# The articles


def test_articles_writes_one_article_where_it_is_told(tmp_path: Path) -> None:
    result = ropewalk(tmp_path, "articles --out a/b --only 003")
    assert result.returncode == 0
    written = TABLES | FIGURES_OF_003 | {"report.html"}
    assert files_in(tmp_path) == {f"a/b/{name}" for name in written}
    progress = {Path(line.removeprefix("wrote ")) for line in result.stderr.splitlines()}
    assert progress == {Path("a/b", name) for name in written}
    entries = rw.articles.ledger("003")
    counts = [sum(entry.verdict == verdict for entry in entries) for verdict in VERDICTS]
    told = ", ".join(f"{n} {verdict}" for n, verdict in zip(counts, VERDICTS, strict=True))
    assert result.stdout == f"{len(entries)} entries: {told}, 0 not reproduced\n"


def test_tables_and_figures_are_those_of_the_library(tmp_path: Path) -> None:
    assert main(["articles", "--out", str(tmp_path), "--only", "003", "--lang", "ja"]) == 0
    written = {name: (tmp_path / name).read_bytes().decode() for name in TABLES}
    values, everything = (rw.articles.show("003", kind=kind, lang="ja") for kind in ("V", None))
    assert written["printed_values.csv"] == values.csv()
    assert written["printed_values.md"] == f"{values}\n"
    assert written["ledger.csv"] == everything.csv()
    assert written["ledger.md"] == f"{everything}\n"
    assert {image.imread(tmp_path / name).shape[1] for name in FIGURES_OF_003} == {900}


def test_what_is_not_reproduced_is_named_and_gives_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = rw.articles.ledger("001")
    broken = dataclasses.replace(entries[-1], code="1 == 2")
    monkeypatch.setattr(rw.articles, "ledger", lambda *_, **__: (*entries[:-1], broken))
    assert main(["articles", "--out", str(tmp_path), "--only", "001"]) == 1
    *failed, counts = capsys.readouterr().out.splitlines()
    assert failed == [f"{broken.id} is not reproduced"]
    assert counts.startswith(f"{len(entries)} entries: ")
    assert counts.endswith(", 1 not reproduced")
    numbers = [int(part.split()[0]) for part in counts.partition(": ")[2].split(", ")]
    assert sum(numbers) == len(entries)
    assert "NOT REPRODUCED" in (tmp_path / "report.html").read_text(encoding="utf-8")


# Tables


@encodings
def test_csv_reads_back_bit_by_bit(tmp_path: Path, name: str) -> None:
    command, expected, columns = ENCODINGS[name]
    result = ropewalk(tmp_path, f"table {command}")
    assert (result.returncode, result.stderr) == (0, "")
    header, *lines = csv.reader(io.StringIO(result.stdout))
    assert header == ["position", *columns]
    table = expected()
    assert same_bits(np.array([line[1:] for line in lines]).astype(table.dtype), table)


@pytest.mark.parametrize(
    ("positions", "written"),
    [
        ("0:3", ["0", "1", "2"]),
        ("9007199254740990:9007199254740993", [str(2**53 - n) for n in (2, 1, 0)]),
        ("0:7:3", ["0", "3", "6"]),
        ("0,1,2.5", ["0.0", "1.0", "2.5"]),
        ("7", ["7"]),
    ],
)
def test_csv_names_the_positions(
    positions: str, written: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["table", "sinusoidal", "--positions", positions, "--dim", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.partition(",")[0] for line in lines] == written


def test_252_in_binary_is_11111100(capsys: pytest.CaptureFixture[str]) -> None:
    main(["table", "binary", "--positions", "252", "--dim", "8", "--order", "msb"])
    assert capsys.readouterr().out.splitlines()[1] == "252,1.0,1.0,1.0,1.0,1.0,1.0,0.0,0.0"


@encodings
def test_npy_reads_back_bit_by_bit(tmp_path: Path, name: str) -> None:
    command, expected, _ = ENCODINGS[name]
    assert main(f"table {command} --out {tmp_path / 'table.npy'}".split()) == 0
    assert same_bits(np.load(tmp_path / "table.npy"), expected())


def test_npy_goes_through_a_pipe(tmp_path: Path) -> None:
    command, expected, _ = ENCODINGS["sinusoidal"]
    arguments = [sys.executable, "-m", "ropewalk", "table", *command.split(), "--format", "npy"]
    data = subprocess.run(arguments, cwd=tmp_path, capture_output=True, check=True).stdout
    assert same_bits(np.load(io.BytesIO(data)), expected())


@pytest.mark.parametrize(
    ("out", "begins"),
    [
        ("--out table.csv", b"position,"),
        ("--out table.npy", b"\x93NUMPY"),
        ("--out table.NPY", b"\x93NUMPY"),
        ("--out table.npy --format csv", b"position,"),
        ("--out table.txt --format npy", b"\x93NUMPY"),
    ],
)
def test_a_file_has_the_format_of_its_ending_or_that_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, begins: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(f"table integer --positions 0:3 --dim 1 {out}".split()) == 0
    (name,) = files_in(tmp_path)
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_file_is_told_of_and_standard_output_stays_empty(tmp_path: Path) -> None:
    result = ropewalk(tmp_path, "table integer --positions 0:3 --dim 1 --out table.csv")
    assert (result.stdout, result.stderr) == ("", "wrote table.csv\n")
    assert (tmp_path / "table.csv").read_bytes() == b"position,dimension_1\n0,0.0\n1,1.0\n2,2.0\n"


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminal can be made here")
def test_npy_is_refused_to_a_terminal(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    command = "table integer --positions 0:3 --dim 1 --format npy"
    result = subprocess.run(
        [sys.executable, "-m", "ropewalk", *command.split()],
        cwd=tmp_path,
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(theirs)
    os.close(ours)
    assert result.returncode == 2
    assert result.stderr == (
        "ropewalk: error: --format npy is not for a terminal: name a file with --out, or use a "
        "pipe\n"
    )


class SlowPipe(io.RawIOBase):
    """Takes seven bytes at a time, as an unbuffered output may."""

    def __init__(self) -> None:
        self.taken = b""

    def writable(self) -> bool:
        return True

    def write(self, data: "Buffer", /) -> int:
        part = bytes(memoryview(data)[:7])
        self.taken += part
        return len(part)


def test_a_slow_pipe_gets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = SlowPipe()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=pipe, flush=pipe.flush))
    assert main(["table", "integer", "--positions", "0:3", "--dim", "1"]) == 0
    assert pipe.taken == b"position,dimension_1\n0,0.0\n1,1.0\n2,2.0\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["info", "table sinusoidal --positions 0:2000 --dim 64"])
def test_a_reader_that_has_gone_is_no_error(tmp_path: Path, command: str, unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-m", "ropewalk", *command.split()],
        cwd=tmp_path,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (0, b"")


# Pictures


class Drawn:
    """Stands in for a function that draws, and keeps what it is given."""

    def __init__(self, drawing: Callable[..., Any]) -> None:
        self.drawing = drawing

    def __call__(self, table: NDArray[Any], /, **options: Any) -> Any:
        self.table, self.options = table, options
        return self.drawing(table, **options)


@pytest.mark.parametrize("name", ["binary", "sinusoidal, cosine first", "rotary"])
def test_plot_draws_the_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    command, expected, _ = ENCODINGS[name]
    drawn = Drawn(rw.plot.heatmap)
    monkeypatch.setattr(rw.plot, "heatmap", drawn)
    assert main(f"plot {command} --lang ja --out {tmp_path / 'picture.png'}".split()) == 0
    assert same_bits(drawn.table, expected())
    assert len(drawn.options["positions"]) == len(expected())
    assert drawn.options["lang"] == "ja"
    assert isinstance(drawn.options["ax"], Axes)
    assert image.imread(tmp_path / "picture.png").shape[1] == 900


def test_plot_writes_svg(tmp_path: Path) -> None:
    result = ropewalk(tmp_path, "plot sinusoidal --positions 0:51 --dim 128 --out picture.svg")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "wrote picture.svg\n")
    root = ET.fromstring((tmp_path / "picture.svg").read_bytes())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_plot_writes_a_frame_a_position_as_gif(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Drawn(rw.plot.moving_vector)
    monkeypatch.setattr(rw.plot, "moving_vector", drawn)
    command = "plot binary --positions 250:256 --dim 8 --order msb --lang ja --out"
    assert main([*command.split(), str(tmp_path / "picture.gif")]) == 0
    assert same_bits(drawn.table, ENCODINGS["binary"][1]())
    assert drawn.options["positions"] == range(250, 256)
    assert drawn.options["lang"] == "ja"
    with Image.open(tmp_path / "picture.gif") as film:
        assert (film.format, getattr(film, "n_frames", 1)) == ("GIF", 6)


# Bad arguments

BAD_USAGE = {
    "": "the following arguments are required: COMMAND",
    "nothing": "invalid choice: 'nothing'",
    "articles --only 005": "argument --only: invalid choice: '005'",
    "articles --lang fr": "argument --lang: invalid choice: 'fr'",
    "articles --out": "argument --out: expected one argument",
    "articles --out=": "argument --out: must name a directory, or what can become one, got ''",
    "articles --out taken": (
        "argument --out: must name a directory, or what can become one, got 'taken'"
    ),
    "info --xml": "unrecognized arguments: --xml",
    "table": "the following arguments are required: ENCODING",
    "table alibi": "argument ENCODING: invalid choice: 'alibi'",
    "table integer --dim 4": "the following arguments are required: --positions",
    "table integer --positions 0:4": "the following arguments are required: --dim",
    "table integer --positions 0:4 --dim four": "argument --dim: invalid int value: 'four'",
    "table integer --positions 0:x --dim 4": "argument --positions: must be START:STOP",
    "table integer --positions 0:1:2:3 --dim 4": "argument --positions: must be START:STOP",
    "table integer --positions 0:9:0 --dim 4": "argument --positions: must be START:STOP",
    "table integer --positions 1,,2 --dim 4": "argument --positions: must be START:STOP",
    "table integer --positions 0:4 --dim 4 --base 3": "unrecognized arguments: --base 3",
    "table normalised --positions 0:4 --dim 4": "the following arguments are required: --length",
    "table binary --positions 0:4 --dim 4 --order sin-cos": "argument --order: invalid choice",
    "table rotary --positions 0:4 --dim 4 --dtype int8": "argument --dtype: invalid choice",
    "plot binary --positions 0:4 --dim 4": "the following arguments are required: --out",
    "plot binary --positions 0:4 --dim 4 --out a.jpg": (
        "argument --out: must end in .png, .svg or .gif, got 'a.jpg'"
    ),
}
REFUSED = {
    "table sinusoidal --positions 0:4 --dim 7": (
        "dim must be an even integer from 2 to 1048576, got 7"
    ),
    "table sinusoidal --positions nan --dim 4": "positions must be finite and at most 2**53",
    "table sinusoidal --positions 9007199254740993,0.5 --dim 4": (
        "positions must be finite and at most 2**53 in size, got 9007199254740993"
    ),
    "table rotary --positions 0:4 --dim 4 --base -1": "base must be positive and finite, got -1.0",
    "table binary --positions 0:5 --dim 2": (
        "positions must be whole numbers from 0 to 2**2 - 1, which 2 bits hold, got 4"
    ),
    "table binary --positions 0.5 --dim 2": (
        "positions must be whole numbers from 0 to 2**2 - 1, which 2 bits hold, got 0.5"
    ),
    "table normalised --positions 0:5 --dim 2 --length 4": (
        "positions must be from 0 to below the length 4, got 4"
    ),
    "table sinusoidal --positions 0:99999999999999 --dim 1048576": (
        "a result of shape (99999999999999, 1048576) and dtype float64 is larger than any memory"
    ),
    "table integer --positions 0:4 --dim 4 --out a.txt": (
        "--out must end in .csv or .npy where --format is not given, got 'a.txt'"
    ),
    "table integer --positions 0:4 --dim 4 --out missing/a.csv": (
        "--out: [Errno 2] No such file or directory: 'missing/a.csv'"
    ),
    "table integer --positions 0:4 --dim 4 --out . --format csv": "--out: [Errno 21] ",
    "plot integer --positions 0:4 --dim 4 --out missing/a.svg": "--out: [Errno 2] ",
    "plot integer --positions 0,1,5 --dim 4 --out a.svg": "positions must be evenly spaced",
    "articles --out taken/under": "--out: [Errno 20] ",
    f"articles --out {'a' * 300}": "--out: [Errno ",  # whose number is the system's own
}


@pytest.mark.parametrize("command", BAD_USAGE)
def test_bad_usage_gives_exit_code_2_and_names_the_argument(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(SystemExit) as stopped:
        main(command.split())
    output = capsys.readouterr()
    assert stopped.value.code == 2
    assert output.out == ""
    assert output.err.startswith("usage: ropewalk")
    assert BAD_USAGE[command] in output.err.splitlines()[-1]
    assert files_in(tmp_path) == {"taken"}


@pytest.mark.parametrize("command", REFUSED)
def test_what_the_library_refuses_gives_exit_code_2_and_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("mine")
    assert main(command.split()) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"ropewalk: error: {REFUSED[command]}")
    assert output.err.count("\n") == 1
    assert files_in(tmp_path) == {"taken"}
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("table integer --positions 0:4", "required: --dim"),
        ("table sinusoidal --positions 0:4 --dim 7", "got 7"),
    ],
)
def test_exit_code_2_reaches_the_shell(tmp_path: Path, command: str, line: str) -> None:
    result = ropewalk(tmp_path, command)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.endswith(f"{line}\n")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "command",
    ["plot integer --positions 0:4 --dim 4 --out 003_sin_x.png", "articles --only 003 --out ."],
)
def test_a_picture_that_cannot_be_finished_leaves_the_old_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    def fail(_: object, path: Path, **__: object) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "003_sin_x.png"
    path.write_text("old")
    assert main(command.split()) == 2
    last_line = capsys.readouterr().err.splitlines()[-1]
    assert last_line == "ropewalk: error: [Errno 28] No space left on device"
    assert path.read_text() == "old"


@pytest.mark.skipif(os.name != "posix", reason="the shell cannot bound the size of files here")
def test_a_table_that_cannot_be_finished_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("old")
    command = ["table", "rotary", "--positions", "0:3000", "--dim", "4", "--out", "table.csv"]
    result = subprocess.run(
        ["sh", "-c", 'ulimit -f 1; exec "$0" -B -m ropewalk "$@"', sys.executable, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "ropewalk: error: --out: [Errno 27] File too large: 'table.csv'\n"
    assert files_in(tmp_path) == {"table.csv"}
    assert (tmp_path / "table.csv").read_text() == "old"


def closed(output: str, command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command with that output closed."""
    return subprocess.run(
        ["sh", "-c", f'exec "$0" -m ropewalk "$@" {output}', sys.executable, *command.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(os.name != "posix", reason="the shell cannot close an output here")
@pytest.mark.parametrize("command", ["info", "table integer --positions 0:4 --dim 4"])
def test_a_closed_output_gives_exit_code_2(tmp_path: Path, command: str) -> None:
    result = closed(">&-", command, tmp_path)
    assert result.returncode == 2
    assert result.stderr == "ropewalk: error: standard output is closed\n"


@pytest.mark.skipif(os.name != "posix", reason="the shell cannot close an output here")
def test_messages_do_not_go_where_data_do(tmp_path: Path) -> None:
    command = "table integer --positions 0:4 --dim 4 --out table.csv"
    result = closed("2>&-", command, tmp_path)
    assert (result.returncode, result.stdout) == (0, "")
    assert files_in(tmp_path) == {"table.csv"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["info", "table integer --positions 0:4 --dim 4"])
def test_output_that_cannot_be_written_gives_exit_code_2(
    tmp_path: Path, command: str, unbuffered: str
) -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "ropewalk", *command.split()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 2
    assert result.stderr == "ropewalk: error: [Errno 28] No space left on device\n"


@pytest.mark.parametrize(
    "command", ["articles", "plot integer --positions 0:4 --dim 4 --out a.png"]
)
def test_missing_matplotlib_gives_one_line_that_names_the_extra(
    tmp_path: Path, command: str
) -> None:
    result = run(tmp_path, "-c", WITHOUT_MATPLOTLIB, *command.split())
    assert result.returncode == 2
    assert result.stderr == (
        "ropewalk: error: ropewalk.plot needs Matplotlib: pip install 'ropewalk[plot]'\n"
    )
    assert files_in(tmp_path) == set()


@pytest.mark.parametrize("command", ["info", "table rotary --positions 0:4 --dim 4"])
def test_other_commands_need_no_matplotlib(tmp_path: Path, command: str) -> None:
    result = run(tmp_path, "-c", WITHOUT_MATPLOTLIB, *command.split())
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "command", ["", "info", "articles", "table", "table rotary", "plot binary"]
)
def test_help_goes_to_standard_output(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*command.split(), "--help"])
    output = capsys.readouterr()
    assert (stopped.value.code, output.err) == (0, "")
    assert output.out.startswith(f"usage: {' '.join(['ropewalk', *command.split()])} [-h]")


# What a bug report should say


def test_the_version_is_that_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"ropewalk {rw.__version__}\n"


def test_info_says_what_show_config_says(tmp_path: Path) -> None:
    lines = ropewalk(tmp_path, "info").stdout.splitlines()
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
    result = ropewalk(tmp_path, "info --json")
    assert json.loads(result.stdout) == rw.show_config()
