"""Tables more exact than any: unevaluated sums of two doubles (106 bits), and how these round."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests import reference

FLOAT64_ULPS = 0.501
# Bits of the significand, and the exponent of the smallest number above 0 (IEEE 754-2019, table
# 3.5; bfloat16 has the exponents of float32).
FORMATS = {"float32": (24, -149), "float16": (11, -24), "bfloat16": (8, -133)}


class Doubles(NamedTuple):
    """high + low, not evaluated."""

    high: NDArray[np.float64]
    low: NDArray[np.float64]


def doubles(table: Iterable[Iterable[reference.Real]]) -> Doubles:
    highs, lows = [], []
    for row in table:
        high = [float(value) for value in row]
        highs.append(high)
        lows.append([float(value - h) for value, h in zip(row, high, strict=True)])
    return Doubles(np.array(highs), np.array(lows))


def nearest(exact: Doubles, dtype: str) -> NDArray[np.float64]:
    """Round to the nearest number of the format, ties to even.

    High is first moved onto the neighbour with an odd last bit between which and itself the sum
    lies; one rounding is then that of the sum (Boldo and Melquiond, Emulation of FMA and correctly
    rounded sums, 2008, theorem 2).
    """
    bits, smallest = FORMATS[dtype]
    inexact_and_even = (exact.low != 0) & (exact.high.view(np.int64) % 2 == 0)
    neighbour = np.nextafter(exact.high, np.where(exact.low > 0, np.inf, -np.inf))
    odd = np.where(inexact_and_even, neighbour, exact.high)
    exponent = np.maximum(np.frexp(odd)[1] - bits, smallest)
    rounded: NDArray[np.float64] = np.ldexp(np.rint(np.ldexp(odd, -exponent)), exponent)
    return rounded


def ulp(exact: Doubles) -> NDArray[np.float64]:
    """Spacing of float64 at the exact value, which may lie just below a power of two."""
    towards_zero = exact.low * np.sign(exact.high) < 0
    return np.spacing(np.abs(np.where(towards_zero, np.nextafter(exact.high, 0), exact.high)))


def assert_exact(table: NDArray[Any], exact: Doubles) -> None:
    values = table.astype(np.float64)
    if table.dtype == np.float64:
        error = np.abs((values - exact.high) - exact.low)
        wrong = ~(error <= FLOAT64_ULPS * ulp(exact))  # as is NaN
    else:
        wrong = values != nearest(exact, table.dtype.name)
    wrong |= (np.signbit(values) != np.signbit(exact.high)) & (exact.high != 0)
    count = np.count_nonzero(wrong)
    assert count == 0, f"{count} wrong values, the first at {np.argwhere(wrong)[0]}"
