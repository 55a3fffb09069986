"""Print the SHA-256 of a large float32 table, computed without the library, as JSON.

Run with mpmath installed (some minutes):
python tests/golden/table_hash.py > tests/golden/table_hash.json

The table is the sinusoidal encoding of positions 0 .. ROWS - 1, interleaved, the sine first, in C
order, little-endian. Every value is computed with 256 bits and rounded to float32 once. A value
that lies so close to the middle of two float32 numbers that 256 bits might round it to the wrong
one ends the script; so does one below the normal numbers.
"""

import hashlib
import json
import struct
import sys
from typing import Any

from mpmath import mp, mpf

ROWS, DIM, BASE = 32768, 128, 10000
FLOAT32_BITS, SMALLEST_EXPONENT = 24, -125
# The values are good to some 2^-230 of an ulp of float32.
CLOSEST_TO_MIDDLE = mpf(2) ** -100


def nearest_float32(value: Any) -> float:
    """Round once; a middle is never so close that this could go wrong."""
    if value == 0:
        return 0.0
    exponent = mp.frexp(value)[1]
    ulps = mp.ldexp(value, FLOAT32_BITS - exponent)
    whole = mp.nint(ulps)
    if abs(abs(ulps - whole) - 0.5) < CLOSEST_TO_MIDDLE or exponent < SMALLEST_EXPONENT:
        msg = f"float32 cannot hold {mp.nstr(value, 40)} beyond doubt"
        raise ArithmeticError(msg)
    return float(mp.ldexp(whole, exponent - FLOAT32_BITS))


def main() -> None:
    mp.prec = 256
    frequencies = [mp.power(BASE, mpf(-2 * pair) / DIM) for pair in range(DIM // 2)]
    digest = hashlib.sha256()
    for position in range(ROWS):
        for frequency in frequencies:
            cosine, sine = mp.cos_sin(position * frequency)
            digest.update(struct.pack("<2f", nearest_float32(sine), nearest_float32(cosine)))
    table = {"rows": ROWS, "dim": DIM, "base": BASE, "sha256": digest.hexdigest()}
    sys.stdout.write(json.dumps(table) + "\n")


if __name__ == "__main__":
    main()
