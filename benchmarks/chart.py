"""Draw how many times as fast as other libraries attention is, from measured figures.

Run alone: python -m benchmarks.chart docs/measurements/PROCESSOR.json docs/images/attention.svg
"""

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ropewalk.plot._canvas import COLOURS

KINDS = {"prefill": "full", "causal": "causal"}
MARKERS = "osD^vP"
INCHES = (8, 6.2)  # 800 pixels wide where a page leaves it so
FONT_SIZE = 11.0


def panel(ax: Axes, records: Sequence[Mapping[str, Any]], rivals: Sequence[str]) -> None:
    """Draw a curve for each rival over the number of tokens."""
    records = sorted(records, key=lambda record: record["case"]["tokens"])
    for i, rival in enumerate(rivals):
        measured = [record for record in records if rival in record["rivals"]]
        ax.plot(
            [record["case"]["tokens"] for record in measured],
            [record["rivals"][rival] / record["seconds"] for record in measured],
            marker=MARKERS[i % len(MARKERS)],
            color=COLOURS[i % len(COLOURS)],
            markersize=5,
            label=rival,
        )
    ax.axhline(1, color="black", linewidth=1.5, label="ropewalk")
    ax.grid(True, which="major", color="0.88", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def chart(records: Sequence[Mapping[str, Any]]) -> Figure:
    """Return a figure: full and causal attention side by side, a row for each width of heads."""
    shown = [record for record in records if record["part"] in KINDS and record["threads"] == 1]
    if not shown:
        msg = "the file must hold figures of prefill or causal attention on one thread"
        raise ValueError(msg)
    rivals = list(dict.fromkeys(name for record in shown for name in record["rivals"]))
    dims = sorted({record["case"]["dim"] for record in shown})
    figure = Figure(figsize=INCHES, facecolor="white", layout="constrained")
    grid = figure.subplots(len(dims), len(KINDS), sharex=True, sharey=True, squeeze=False)
    for row, dim in zip(grid, dims, strict=True):
        for ax, (part, title) in zip(row, KINDS.items(), strict=True):
            cell = [r for r in shown if (r["part"], r["case"]["dim"]) == (part, dim)]
            panel(ax, cell, rivals)
            ax.set_title(f"{title} attention, heads of {dim}", fontsize="medium")
    first = grid[0, 0]
    first.set_xscale("log", base=2)
    first.set_yscale("log", base=2)
    first.xaxis.set_major_locator(LogLocator(base=4))
    first.yaxis.set_major_locator(LogLocator(base=2, subs=(1, 1.5)))
    for axis in (first.xaxis, first.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.set_minor_formatter(NullFormatter())
    figure.supxlabel("tokens", fontsize="medium")
    figure.supylabel("their time / ropewalk's: above 1 ropewalk is faster", fontsize="medium")
    name, _, details = shown[0]["processor"].partition(" (")
    model = re.search(r"family: \d+, model: \d+", details)
    if model:
        name += f", {model[0].replace(':', '')}"
    handles, labels = first.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        title=f"{name}; one thread, float32, {shown[0]['date']}",
        loc="outside upper center",
        ncols=len(labels) if len(labels) <= 5 else 3,
        frameon=False,
    )
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chart", description=__doc__)
    parser.add_argument("source", type=Path, metavar="FILE.json")
    parser.add_argument("target", type=Path, metavar="OUT.svg")
    given = parser.parse_args()
    try:
        records = json.loads(given.source.read_text(encoding="utf-8"))
    except OSError as error:
        parser.error(f"FILE.json must be a file to read: {error}")
    # The same figures make the same bytes.
    with mpl.rc_context({"svg.hashsalt": "ropewalk", "font.size": FONT_SIZE}):
        chart(records).savefig(given.target, metadata={"Date": None})


if __name__ == "__main__":
    main()
