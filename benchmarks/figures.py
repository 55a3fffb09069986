"""What is measured, as tables to read and as records to keep."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
Call = Callable[[], object]
Case = Mapping[str, str | int | float]


@dataclass(frozen=True)
class Figure:
    """The seconds of a call of ours in one case, and of what it is compared with."""

    case: Case
    seconds: float
    rivals: Mapping[str, float] = field(default_factory=dict)
    ourselves: Mapping[str, float] = field(default_factory=dict)  # another call of ours
    limits: Mapping[str, float] = field(default_factory=dict)  # the machine at its best

    @property
    def fraction(self) -> float | None:
        """Return how much of the limit that binds is reached."""
        return max(self.limits.values()) / self.seconds if self.limits else None

    @property
    def lead(self) -> float | None:
        """Return how many times the seconds of ours the fastest rival takes."""
        return min(self.rivals.values()) / self.seconds if self.rivals else None


def duration(seconds: float) -> str:
    """Return seconds with a unit and three digits."""
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e6:.3g} us"


def cells(figure: Figure) -> list[dict[str, str]]:
    """Return a line of a table: the case, limits, rivals and ourselves, each by its heads."""
    ours = figure.seconds
    return [
        {name: str(value) for name, value in figure.case.items()} | {"ours": duration(ours)},
        {f"of {name}": f"{seconds / ours:.2f}" for name, seconds in figure.limits.items()},
        {name: f"{seconds / ours:.2f}" for name, seconds in figure.rivals.items()},
        {f"over {name}": f"{ours / seconds:.2f}" for name, seconds in figure.ourselves.items()},
    ]


def as_table(figures: Sequence[Figure]) -> str:
    """Return aligned columns, and what the leads over the fastest rival come to."""
    lines = [cells(figure) for figure in figures]
    heads = dict.fromkeys(
        head for kind in zip(*lines, strict=True) for part in kind for head in part
    )
    text = [{head: head for head in heads}]
    text += [{head: cell for part in line for head, cell in part.items()} for line in lines]
    widths = {head: max(len(line.get(head, "")) for line in text) for head in heads}
    drawn = ["  ".join(line.get(head, "").rjust(widths[head]) for head in heads) for line in text]
    leads = [figure.lead for figure in figures if figure.lead is not None]
    if leads:
        mean = math.exp(math.fsum(map(math.log, leads)) / len(leads))
        drawn.append(f"fastest rival: {mean:.2f} by geometric mean, {min(leads):.2f} at least")
    return "\n".join(line.rstrip() for line in drawn)


def records(part: str, threads: int, figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """Return the figures of a part as what JSON can hold."""
    return [
        {"part": part, "threads": threads, **asdict(figure), "fraction": figure.fraction}
        for figure in figures
    ]


def write(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write records, one a line."""
    lines = ",\n".join(map(json.dumps, records))
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
