"""Find the positions whose sine or cosine is closest to 0, and print them as JSON.

Run with mpmath installed: python tests/golden/near_zeros.py > tests/golden/near_zeros.json

sin(p w) is small where p w / pi is almost an integer. No position up to a limit comes closer than
the denominator of the last convergent of w / pi below it (Khinchin, Continued Fractions, 1964,
theorem 17). cos(p w) is small where 2 p w / pi is almost an odd integer. Of two convergents of
2 w / pi that follow each other one has an odd numerator; where that is not the last one, adding the
last one to it as often as the limit allows comes closest.

A row of the file is [base, dim, pair, position].
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from mpmath import mp, mpf

SCHEDULES = [(10000.0, 128), (10000.0, 100), (10000.0, 2), (500000.0, 128), (1e7, 6), (7.3, 100)]
LIMITS = [2**31, 2**53]


def convergents(x: Any) -> Iterator[tuple[int, int]]:
    """Yield numerators and denominators of the convergents of x, without end."""
    earlier, last = (0, 1), (1, 0)
    while True:
        whole = int(mp.floor(x))
        earlier, last = last, (whole * last[0] + earlier[0], whole * last[1] + earlier[1])
        yield last
        x = 1 / (x - whole)


def closest(x: Any, limit: int, *, odd: bool) -> int:
    """Return the p up to `limit` that brings p * x closest to an integer, if `odd` an odd one."""
    earlier, last = (1, 0), (0, 1)
    for numerator, denominator in convergents(x):
        if denominator > limit:
            break
        earlier, last = last, (numerator, denominator)
    if not odd or last[0] % 2 == 1:
        return last[1]
    return earlier[1] + (limit - earlier[1]) // last[1] * last[1]


def main() -> None:
    mp.prec = 300
    rows = []
    for base, dim in SCHEDULES:
        for pair in range(dim // 2):
            frequency = mp.power(mpf(base), mpf(-2 * pair) / dim)
            for limit in LIMITS:
                for_sine = closest(frequency / mp.pi, limit, odd=False)
                for_cosine = closest(2 * frequency / mp.pi, limit, odd=True)
                rows += [[base, dim, pair, p] for p in (for_sine, for_cosine)]
    sys.stdout.write("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


if __name__ == "__main__":
    main()
