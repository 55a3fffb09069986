"""Command line: ``python -m ropewalk``, or ``ropewalk``.

Data go to standard output and messages to standard error. The exit code is 0 where all is well, 1
where a value failed to reproduce, and 2 where the command could not be carried out.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ropewalk import articles, show_config


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    options = _parser().parse_args(argv)
    try:
        if options.command == "info":
            return _info(options.json)
        return _articles(options.out, options.only)
    except (ImportError, OSError) as error:
        print(f"ropewalk: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ropewalk", description="Positional encodings and attention for NumPy."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="show what a bug report should say")
    info.add_argument("--json", action="store_true", help="as JSON")
    reproduce = commands.add_parser(
        "articles", help="reproduce the printed values and the figures of the articles"
    )
    reproduce.add_argument(
        "--out",
        type=Path,
        default=Path("ropewalk-articles"),
        metavar="DIR",
        help="where to write (default: ./ropewalk-articles)",
    )
    reproduce.add_argument("--only", choices=articles.ARTICLES, help="one article")
    return parser


def _info(as_json: bool) -> int:
    config = show_config()
    if as_json:
        print(json.dumps(config, indent=2))
        return 0
    extras = config.pop("extras")
    config["supported_isas"] = ", ".join(config["supported_isas"])
    for name, value in (config | extras).items():
        print(f"{name}: {value or 'not installed'}")
    return 0


def _articles(out: Path, only: str | None) -> int:
    from ropewalk import plot  # noqa: PLC0415 - needs Matplotlib, the other command does not

    figures = plot.article_figures(only)
    out.mkdir(parents=True, exist_ok=True)
    _write(out / "printed_values.md", articles.markdown_table(only))
    _write(out / "printed_values.csv", articles.csv_table(only))
    for name, figure in figures.items():
        path = out / f"{name}.png"
        figure.savefig(path, dpi=150)
        print(f"wrote {path}", file=sys.stderr)
    values = articles.printed_values(only)
    _print_summary(values)
    print(f"figures and tables: {out}")
    return 0 if all(value.reproduced() for value in values) else 1


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
    print(f"wrote {path}", file=sys.stderr)


def _print_summary(values: Sequence[articles.PrintedValue]) -> None:
    failed = [value for value in values if not value.reproduced()]
    modes = Counter(value.mode for value in values if value not in failed)
    print(f"{len(values)} printed values")
    print(f"{modes['exact'] + modes['round-half-even']:4} reproduced, exact or rounded")
    print(f"{modes['truncate']:4} reproduced truncated")
    print(f"{modes['wrong']:4} wrong in the article")
    print(f"{modes['illustrative']:4} illustrative, nothing to compute")
    print(f"{len(failed):4} not reproduced")
    for value in values:
        if value.mode == "wrong" or value in failed:
            print(f"{value.id}, {value.expression}: printed {value.printed}; {value.verdict()}")


if __name__ == "__main__":
    sys.exit(main())
