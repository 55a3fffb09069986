"""Command line: ``python -m ropewalk``, or ``ropewalk``.

Data go to standard output and messages to standard error. The exit code is 0 where all is well, 1
where something in the articles failed to reproduce, and 2 where the command could not be carried
out.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ropewalk import (
    __version__,
    _files,
    articles,
    binary_encoding,
    integer_encoding,
    rotary_tables,
    show_config,
    sinusoidal_encoding,
)
from ropewalk._encodings import Order
from ropewalk._options import LANGUAGES, Pairing
from ropewalk.articles._ledger import ARTICLES, Verdict

Positions = range | list[float]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    options = _parser().parse_args(argv)
    if sys.stdout is None:  # what Python makes of one that is closed
        _tell("ropewalk: error: standard output is closed")
        return 2
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # who reads the output has had enough
        code = 0
    except (ImportError, MemoryError, OSError, TypeError, ValueError) as error:
        named = "--out: " if isinstance(error, OSError) and error.filename is not None else ""
        _tell(f"ropewalk: error: {named}{error}")
        code = 2
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            sys.stdout.close()  # or the interpreter would flush it once more at its end
    return code


def _tell(message: str) -> None:
    if sys.stderr is not None:  # where it is closed, print would write to standard output
        print(message, file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ropewalk", description="Positional encodings and attention for NumPy."
    )
    parser.add_argument("--version", action="version", version=f"ropewalk {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    info = commands.add_parser("info", help="show what a bug report should say")
    info.add_argument("--json", action="store_true", help="as JSON")
    info.set_defaults(run=_info)

    reproduce = commands.add_parser(
        "articles", help="write the figures and tables of the articles, and a report"
    )
    reproduce.add_argument(
        "--out",
        type=_directory,
        default=Path("ropewalk-articles"),
        metavar="DIR",
        help="where to write (default: ./ropewalk-articles)",
    )
    reproduce.add_argument("--only", choices=ARTICLES, help="one article")
    _add_language(reproduce)
    reproduce.set_defaults(run=_articles)

    table = commands.add_parser("table", help="write an encoding as CSV or .npy")
    for encoding in _add_encodings(table):
        encoding.add_argument(
            "--format",
            choices=("csv", "npy"),
            default=None,
            help="default: by the ending of --out; csv on standard output",
        )
        encoding.add_argument(
            "--out", type=Path, default=None, metavar="FILE", help="default: standard output"
        )
        encoding.set_defaults(run=_table)

    plot = commands.add_parser(
        "plot", help="draw an encoding as a heat map, or as a vector that moves"
    )
    for encoding in _add_encodings(plot):
        encoding.add_argument(
            "--out",
            type=_picture_path,
            required=True,
            metavar="FILE",
            help=".png or .svg for the heat map, .gif for the moving vector",
        )
        _add_language(encoding)
        encoding.set_defaults(run=_plot)
    return parser


def _add_language(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="default: en")


def _add_encodings(command: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Add a parser for every encoding, each with the options that it knows."""
    encodings = command.add_subparsers(dest="encoding", metavar="ENCODING", required=True)
    for name, (_, summary) in _ENCODINGS.items():
        # Options that are not given are left out, and have the defaults of the library.
        parser = encodings.add_parser(
            name, help=summary, description=summary, argument_default=argparse.SUPPRESS
        )
        parser.add_argument(
            "--positions",
            type=_positions,
            required=True,
            metavar="START:STOP[:STEP]",
            help="as in Python, or separated by commas: 0,1,2.5; --positions=-3:4 below 0",
        )
        parser.add_argument("--dim", type=int, required=True, help="width of the encoding")
        if name == "normalised":
            parser.add_argument(
                "--length", type=int, required=True, help="what positions are divided by"
            )
        elif name == "binary":
            parser.add_argument("--bits", type=int, help="default: --dim")
            parser.add_argument("--order", choices=("lsb", "msb"), help="default: lsb")
        elif name != "integer":
            parser.add_argument("--base", type=float, help="default: 10000")
            parser.add_argument("--dtype", choices=("float64", "float32", "float16"))
        if name == "sinusoidal":
            parser.add_argument("--order", choices=get_args(Order), help="default: sin-cos")
            parser.add_argument("--pairing", choices=get_args(Pairing), help="default: interleaved")
        yield parser


def _positions(text: str) -> Positions:
    try:
        if ":" in text:
            start, stop, *step = map(int, text.split(":"))
            return range(start, stop, *step)
        return [_number(part) for part in text.split(",")]  # as they are: an array rounds integers
    except (TypeError, ValueError):
        msg = f"must be START:STOP, START:STOP:STEP or numbers separated by commas, got {text!r}"
        raise argparse.ArgumentTypeError(msg) from None


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _picture_path(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() not in {".png", ".svg", ".gif"}:
        msg = f"must end in .png, .svg or .gif, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return path


def _directory(text: str) -> Path:
    path = Path(text)
    if not text or (os.path.exists(path) and not os.path.isdir(path)):  # noqa: PTH110, PTH112 - which never raise
        msg = f"must name a directory, or what can become one, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return path


def _info(options: argparse.Namespace) -> int:
    config = show_config()
    if options.json:
        print(json.dumps(config, indent=2))
        return 0
    extras = config.pop("extras")
    config["supported_isas"] = ", ".join(config["supported_isas"])
    config["matrices"] = config["matrices"] or "none"
    for name, value in (config | extras).items():
        print(f"{name}: {value or 'not installed'}")
    return 0


def _table(options: argparse.Namespace) -> int:
    form = _table_format(options.format, options.out)
    if form == "npy" and options.out is None and sys.stdout.isatty():
        msg = "--format npy is not for a terminal: name a file with --out, or use a pipe"
        raise ValueError(msg)
    table = _encode(options)
    if form == "npy":
        binary = io.BytesIO()
        np.save(binary, table)
        data = binary.getvalue()
    else:
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(["position", *_columns(options, table.shape[1])])
        for position, row in zip(np.array(options.positions), table, strict=True):
            lines.writerow([str(number) for number in (position, *row)])  # repr digits
        data = text.getvalue().encode()
    if options.out is None:
        rest = memoryview(data)
        while rest:  # an unbuffered output may take a part only
            rest = rest[sys.stdout.buffer.write(rest) :]
    else:
        _write(options.out, data)
    return 0


def _table_format(form: str | None, out: Path | None) -> str:
    if form is not None:
        return form
    if out is None:
        return "csv"
    suffix = out.suffix.lower()
    if suffix not in {".csv", ".npy"}:
        msg = f"--out must end in .csv or .npy where --format is not given, got '{out}'"
        raise ValueError(msg)
    return suffix[1:]


def _encode(options: argparse.Namespace) -> NDArray[Any]:
    encode, _ = _ENCODINGS[options.encoding]
    given = {key: value for key, value in vars(options).items() if key in _KEYWORDS}
    return encode(options.positions, options.dim, **given)


def _rotary(positions: Positions, dim: int, **given: Any) -> NDArray[Any]:
    return np.concatenate(rotary_tables(positions, dim, **given), axis=-1)


# The encodings by their names on the command line, and the keywords that some of them take.
_ENCODINGS: dict[str, tuple[Callable[..., NDArray[Any]], str]] = {
    "integer": (integer_encoding, "the position in every column"),
    "normalised": (integer_encoding, "the position divided by the length"),
    "binary": (binary_encoding, "the bits of the position"),
    "sinusoidal": (sinusoidal_encoding, "sine and cosine of every pair"),
    "rotary": (_rotary, "the cosines of all pairs, then their sines"),
}
_KEYWORDS = {"base", "bits", "dtype", "length", "order", "pairing"}


def _columns(options: argparse.Namespace, dim: int) -> list[str]:
    pairs = range(dim // 2)
    if options.encoding == "sinusoidal":
        waves = vars(options).get("order", "sin-cos").split("-")
        if vars(options).get("pairing", "interleaved") == "interleaved":
            return [f"{wave}_{pair}" for pair in pairs for wave in waves]
        return [f"{wave}_{pair}" for wave in waves for pair in pairs]
    if options.encoding == "rotary":
        return [f"{wave}_{pair}" for wave in ("cos", "sin") for pair in pairs]
    return [f"dimension_{i + 1}" for i in range(dim)]


def _plot(options: argparse.Namespace) -> int:
    from ropewalk import plot  # noqa: PLC0415 - needs Matplotlib, which other commands do not
    from ropewalk.plot import _canvas  # noqa: PLC0415

    table, positions = _encode(options), options.positions
    if options.out.suffix.lower() == ".gif":
        animation = _canvas.laid_out_once(
            2.4,
            lambda figure, lang: plot.moving_vector(
                table, positions=positions, ax=figure.add_subplot(), lang=lang
            ),
            options.lang,
        )
        _write_picture(options.out, partial(animation.save, writer="pillow"))
    else:
        from matplotlib.figure import Figure  # noqa: PLC0415

        figure = Figure(figsize=(_canvas.WIDTH, 4.5), layout="constrained")
        plot.heatmap(table, positions=positions, ax=figure.add_subplot(), lang=options.lang)
        _write_picture(options.out, partial(figure.savefig, dpi=150))
    return 0


def _articles(options: argparse.Namespace) -> int:
    from ropewalk import plot  # noqa: PLC0415 - needs Matplotlib, which other commands do not
    from ropewalk._report import Report  # noqa: PLC0415

    article, lang, out = options.only, options.lang, options.out
    out.mkdir(parents=True, exist_ok=True)
    for name, table in (
        ("printed_values", articles.show(article, kind="V", lang=lang)),
        ("ledger", articles.show(article, lang=lang)),
    ):
        _write(out / f"{name}.md", f"{table}\n".encode())
        _write(out / f"{name}.csv", table.csv().encode())

    pictures = {}
    for number in ARTICLES if article is None else [article]:
        for name, figure in plot.article_figures(number, lang=lang).items():
            pictures[name] = out / f"{name}.png"
            _write_picture(pictures[name], partial(figure.savefig, dpi=150))
        for name, animation in plot.article_animations(number, lang=lang).items():
            pictures[name] = out / f"{name}.gif"
            _write_picture(pictures[name], partial(animation.save, writer="pillow"))

    entries = articles.ledger(article, lang=lang)
    failed = [entry.id for entry in entries if not entry.reproduced()]
    _write(out / "report.html", Report(entries, pictures, failed, lang).html().encode())
    _print_summary(entries, failed)
    return 1 if failed else 0


def _write_picture(path: Path, save: Callable[[Path], None]) -> None:
    """Write the file that `save` writes, once it is whole."""
    with TemporaryDirectory() as folder:
        picture = Path(folder) / f"picture{path.suffix.lower()}"
        save(picture)
        _write(path, picture.read_bytes())


def _write(path: Path, data: bytes) -> None:
    _files.write(path, data)
    _tell(f"wrote {path}")


def _print_summary(entries: Sequence[articles.Entry], failed: Sequence[str]) -> None:
    for key in failed:
        print(f"{key} is not reproduced")
    verdicts = Counter(entry.verdict for entry in entries if entry.id not in failed)
    counts = [f"{verdicts[verdict]} {verdict}" for verdict in get_args(Verdict)]
    print(f"{len(entries)} entries: {', '.join(counts)}, {len(failed)} not reproduced")


if __name__ == "__main__":
    sys.exit(main())
