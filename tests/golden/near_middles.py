"""Find fractions whose sine or cosine is next to the middle of two numbers, and print them as JSON.

Run on x86-64 with mpmath and NumPy, whose longdouble has 64 bits there (three minutes):
python tests/golden/near_middles.py > tests/golden/near_middles.json

Each middle of two numbers of a format is the sine, or the cosine, of some angle. Where a float64
happens to lie next to that angle, its own sine is hard to round. Of a million middles one has a
float64 a million times nearer than its spacing.

A row of the file is [format, function, position], the frequency being 1.
"""

import json
import sys

import numpy as np
from mpmath import mp

BITS = {"float32": 24, "float16": 11, "bfloat16": 8}
EXPONENTS = range(-30, 0)
CLOSE = {"float32": -74, "float16": -66, "bfloat16": -64}  # log2 of the distance, over the value
CHUNK = 1 << 20


def candidates(middles: np.ndarray, inverse: np.ufunc, close: float) -> np.ndarray:
    """Return the middles next to whose angle lies a float64, as far as 64 bits can tell."""
    angles = inverse(middles.astype(np.longdouble))
    distances = np.abs(angles - angles.astype(np.float64))
    return np.extract(distances <= (2.0**close + 2.0**-62) * angles, middles)


def main() -> None:
    mp.prec = 300
    rows = []
    for name, bits in BITS.items():
        for exponent in EXPONENTS:
            for begin in range(0, 1 << (bits - 1), CHUNK):
                last = np.arange(begin, min(begin + CHUNK, 1 << (bits - 1)))
                middles = np.ldexp(1 + (last + 0.5) * 2.0 ** (1 - bits), exponent)
                for function, inverse in (("sin", np.arcsin), ("cos", np.arccos)):
                    for middle in candidates(middles, inverse, CLOSE[name]).tolist():
                        position = float(getattr(mp, f"a{function}")(middle))
                        value = getattr(mp, function)(mp.mpf(position))
                        if abs(value / middle - 1) <= mp.ldexp(1, CLOSE[name]):
                            rows.append([name, function, position])
    sys.stdout.write("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


if __name__ == "__main__":
    main()
