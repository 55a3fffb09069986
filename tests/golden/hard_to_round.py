"""Find sines and cosines that are hard to round to float32, and print them as JSON.

Run with mpmath and ropewalk installed (a minute, 200 MB):
python tests/golden/hard_to_round.py > tests/golden/hard_to_round.json

They lie so close to the middle of two float32 numbers that an error of a few units of float64 would
round them to the wrong one. The float64 table of the library only says where to look; what is
printed has been confirmed with mpmath.

A row of the file is [base, dim, pair, position].
"""

import json
import sys

import numpy as np
from mpmath import mp, mpf

import ropewalk as rw

SCHEDULES = [(10000.0, 128), (500000.0, 64), (7.3, 34)]
ROWS, CHUNK = 1 << 24, 1 << 16
MIDDLE = 1 << 28  # of the 29 bits that float64 has more than float32
CLOSE = 3  # units in the last place of float64


def distance(base: float, dim: int, column: int, position: int) -> float:
    """Return how far a value is from the middle of two float32 numbers, in units of float64."""
    angle = position * mp.power(mpf(base), mpf(-2 * (column // 2)) / dim)
    value = mp.cos(angle) if column % 2 else mp.sin(angle)
    units = mp.ldexp(abs(value), 53 - mp.frexp(value)[1])
    return abs(float(units % (2 * MIDDLE) - MIDDLE))


def main() -> None:
    mp.prec = 256
    rows = []
    for base, dim in SCHEDULES:
        frequencies = rw.frequencies.standard(dim, base=base)
        for start in range(0, ROWS, CHUNK):
            table = rw.sinusoidal_encoding(range(start, start + CHUNK), frequencies=frequencies)
            cut = table.view(np.int64) & (2 * MIDDLE - 1)
            for row, column in np.argwhere(np.abs(cut - MIDDLE) <= CLOSE).tolist():
                if distance(base, dim, column, start + row) <= CLOSE:
                    rows.append([base, dim, column // 2, start + row])
    sys.stdout.write("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


if __name__ == "__main__":
    main()
