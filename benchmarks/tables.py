"""Write the tables of pages from measured figures, each between its marks in a page.

Run alone:
python -m benchmarks.tables docs/measurements/*.json --pages docs/performance{,/*}.md
"""

import argparse
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

Record = Mapping[str, Any]
Files = Mapping[str, Sequence[Record]]  # by the names of the processors' files
Lines = dict[tuple[str, ...], dict[str, str]]  # a line's heads, and its cells by column
Value = Callable[[Record], float | None]

RIVALS = ("NumPy", "PyTorch", "ONNX Runtime", "ONNX Runtime's own", "JAX")
LEADS = {  # parts of whose cases others are timed too
    "prefill": "attention, full",
    "causal": "attention, causal",
    "float64": "attention, full, float64",
    "bfloat16": "attention, bfloat16 inside",
    "bfloat16x3": "attention, three products inside",
    "models": "attention of models",
    "decode": "one query a head",
    "grouped": "2 to 32 query heads a key head",
    "view-caches": "one or four query heads a key head, rows of all heads",
    "half-caches": "one query a head, half types",
    "short-heads": "1,024 short heads",
    "merging": "parts of attention, merged",
    "softmax": "softmax",
    "other-softmax": "softmax of other data, log-sum-exp",
    "fresh-rotary": "rotation, new result",
    "rotary": "rotation, given result",
    "partial-rotary": "rotation of a part, given result",
    "view-rotary": "rotation of a view, new result",
    "in-place-rotary": "rotation in place",
    "import": "import",
}
BEHIND = 0.97  # of a rival's speed, and less
MARKED = re.compile(r"(?<=<!-- table: )(.*?)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


def fraction(record: Record) -> float:
    return float(record["fraction"])


def over(record: Record) -> float | None:
    """Return our time over that of another call of ours, where there is one."""
    return next((record["seconds"] / seconds for seconds in record["ourselves"].values()), None)


def beside(rival: str) -> Value:
    """Return what finds a rival's time over ours, where it was measured."""

    def ratio(record: Record) -> float | None:
        seconds = record["rivals"].get(rival)
        return None if seconds is None else seconds / record["seconds"]

    return ratio


def lead(record: Record) -> float:
    """Return the fastest rival's time over ours."""
    return float(min(record["rivals"].values()) / record["seconds"])


def number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def shown(field: object) -> str:
    return f"{field:g}" if isinstance(field, float) else str(field)


def mean_and_least(values: Sequence[float]) -> str:
    """Return the geometric mean, and the least."""
    if not values:
        return ""
    mean = math.exp(math.fsum(map(math.log, values)) / len(values))
    return f"{number(mean)} ({number(min(values))})"


def markdown(corner: Sequence[str], lines: Lines) -> str:
    """Return a table whose lines name their processor where it begins."""
    columns = list(dict.fromkeys(column for line in lines.values() for column in line))
    if all(column.replace(".", "").isdigit() for column in columns):
        columns.sort(key=float)
    rows = [[*corner, *columns], ["---"] * (len(corner) + len(columns))]
    before = ""
    for (processor, *heads), line in lines.items():
        named = "" if processor == before else processor
        rows.append([named, *heads, *(line.get(column, "") for column in columns)])
        before = processor
    return "".join(f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in row)}|\n" for row in rows)


def measured(records: Sequence[Record], part: str, threads: int) -> list[Record]:
    return [record for record in records if (record["part"], record["threads"]) == (part, threads)]


def peak(record: Record) -> float:
    """Return the multiplications and additions a second of which a fraction is reached."""
    case = record["case"]
    operations = 4 * case["heads"] * case["tokens"] ** 2 * case["dim"]
    return float(operations / record["limits"]["FMA peak"])


def machines(files: Files) -> str:
    """Say what was measured on, beside what, and when."""
    lines: Lines = {}
    for name, records in files.items():
        first = records[0]
        model = re.findall(r"(?:family|model): (\d+)", first["processor"])
        peaks = [median(map(peak, measured(records, "prefill", threads))) for threads in (1, 2)]
        lines[f"[{name}](measurements/{name}.json)",] = {
            "family and model": ", ".join(model),
            "GFLOP/s in registers": "; ".join(f"{value / 1e9:.0f}" for value in peaks),
            "compiler": first["compiler"],
            **first["versions"],
            "date": " ".join(dict.fromkeys(record["date"] for record in records)),
            "commit": " ".join(dict.fromkeys(record["commit"] for record in records)),
        }
    return markdown(["processor"], lines)


def leads(files: Files) -> str:
    """Say how many times as fast as others we are."""
    lines: Lines = {}
    for name, records in files.items():
        for part, title in LEADS.items():
            one, two = (
                [record for record in measured(records, part, threads) if record["rivals"]]
                for threads in (1, 2)
            )
            if not one:  # a part, or its rivals, younger than the file
                continue
            line = lines[name, title] = {
                rival: mean_and_least(
                    [r["rivals"][rival] / r["seconds"] for r in one if rival in r["rivals"]]
                )
                for rival in RIVALS
            }
            for head, several in (("the fastest", one), ("the fastest, 2 threads", two)):
                line[head] = mean_and_least([lead(record) for record in several])
    return markdown(["processor", "times as fast as"], lines)


def losses(files: Files) -> str:
    """Name the cases in which others are faster."""
    lines: Lines = {}
    for name, records in files.items():
        for part, title in LEADS.items():
            for threads in (1, 2):
                for record in measured(records, part, threads):
                    fields = [f"{field} {value}" for field, value in record["case"].items()]
                    for rival, seconds in record["rivals"].items():
                        ratio = seconds / record["seconds"]
                        if ratio < BEHIND:
                            heads = (name, title, ", ".join(fields), rival)
                            line = lines.setdefault(heads, {"1 thread": "", "2 threads": ""})
                            line["1 thread" if threads == 1 else "2 threads"] = number(ratio)
    return markdown(["processor", "", "case", "faster"], lines)


def pivot(
    part: str,
    column: str,
    rows: Sequence[str],
    value: Value = fraction,
    threads: Sequence[int] = (1, 2),
    **only: object,
) -> Callable[[Files], str]:
    """Return what shows the figures of a part by the fields of their cases."""

    def write(files: Files) -> str:
        lines: Lines = {}
        for name, records in files.items():
            for record in (r for t in threads for r in measured(records, part, t)):
                case, found = record["case"], value(record)
                if found is None or any(case[field] != wanted for field, wanted in only.items()):
                    continue
                line = lines.setdefault((name, *(shown(case[field]) for field in rows)), {})
                cell, text = shown(case[column]), number(found)
                line[cell] = f"{line[cell]}; {text}" if cell in line else text
        return markdown(["processor", *rows[:-1], f"{rows[-1]}, by {column}"], lines)

    return write


def models(files: Files) -> str:
    """Say how many times as fast as the fastest rival we are with shapes of models."""
    lines: Lines = {}
    for name, records in files.items():
        for record in (r for threads in (1, 2) for r in measured(records, "models", threads)):
            line = lines.setdefault((record["case"]["model"],), {})
            text = number(lead(record))
            line[name] = f"{line[name]}; {text}" if name in line else text
    return markdown(["model"], lines)


def microseconds(files: Files) -> str:
    """Say how long small calls take."""
    lines: Lines = {}
    for name, records in files.items():
        for record in measured(records, "small", threads=1):
            call = record["case"]["call"]
            lines.setdefault((call,), {})[name] = f"{record['seconds'] * 1e6:.1f}"
    return markdown(["call"], lines)


TABLES: Mapping[str, Callable[[Files], str]] = {
    "machines": machines,
    "leads": leads,
    "losses": losses,
    "full attention": pivot("prefill", "tokens", ["dim"], threads=[1]),
    "causal attention": pivot("causal", "tokens", ["dim"], threads=[1]),
    "float64 attention": pivot("float64", "tokens", ["dim"], threads=[1]),
    "bfloat16 attention": pivot(
        "bfloat16", "tokens", ["keys", "dim"], beside("PyTorch"), threads=[1]
    ),
    "bfloat16 inside": pivot("bfloat16", "tokens", ["keys", "dim"], over, threads=[1]),
    "three products": pivot("bfloat16x3", "tokens", ["keys", "dim"], over, threads=[1]),
    "models": models,
    "two threads": pivot("prefill", "tokens", ["dim"], over, [2]),
    "between": pivot("between", "KiB", ["call"], over, [2]),
    "options": pivot("options", "option", ["dim"], over, [1], tokens=2048),
    "one query": pivot("decode", "MiB", ["queries a key head"]),
    "several queries": pivot("grouped", "MiB", ["queries a key head"]),
    "caches of rows": pivot("view-caches", "MiB", ["queries a key head"]),
    "half caches": pivot("half-caches", "MiB", ["dtype"], over),
    "short heads": pivot("short-heads", "keys", ["queries"], lead),
    "softmax": pivot("softmax", "MiB", ["length"]),
    "softmax of other data": pivot(
        "other-softmax", "data", ["function", "dtype"], beside("PyTorch"), [1]
    ),
    "rotation": pivot("rotary", "MiB", ["layout", "pairing"]),
    "rotation of a part": pivot("partial-rotary", "MiB", ["rotary_dim", "pairing"]),
    "rotation of a view": pivot("view-rotary", "MiB", ["pairing"]),
    "rotation in place": pivot("in-place-rotary", "MiB", ["dtype", "pairing"]),
    "tables": pivot("table", "MiB", ["dim"], dtype="float32", positions="in order"),
    "tables beside NumPy": pivot(
        "table", "MiB", ["positions"], beside("NumPy"), [1], dtype="float32", dim=512
    ),
    "tables beside float32 angles": pivot(
        "table",
        "MiB",
        ["positions"],
        beside("NumPy, float32 angles"),
        [1],
        dtype="float32",
        dim=512,
    ),
    "small calls": microseconds,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("sources", type=Path, nargs="+", metavar="FILE.json")
    parser.add_argument("--pages", type=Path, nargs="+", required=True, metavar="PAGE.md")
    given = parser.parse_args()
    files = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in given.sources}

    def filled(marked: re.Match[str]) -> str:
        name, end = marked.groups()
        return f"{name}{end}\n{TABLES[name](files)}\n"

    for page in given.pages:
        text = page.read_text(encoding="utf-8")
        page.write_text(MARKED.sub(filled, text), encoding="utf-8")


if __name__ == "__main__":
    main()
