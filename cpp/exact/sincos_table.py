"""Print sincos_table.hpp: sine and cosine at multiples of 1/256 turn, as pairs of doubles.

Run with mpmath installed: python cpp/exact/sincos_table.py > cpp/exact/sincos_table.hpp
"""

from mpmath import cos, mp, mpf, pi, sin

mp.prec = 300


def pair(value: mpf) -> str:
    """Write the nearest double and what it leaves, in hexadecimal."""
    high = float(value)
    return f"{high.hex()}, {float(value - mpf(high)).hex()}"


print("""// Made by sincos_table.py with 300-bit arithmetic, and compared with it by the tests.
#pragma once

// clang-format off
namespace {

// 2 pi as a double and what it leaves.""")
high, rest = pair(2 * pi).split(", ")
print(f"constexpr double two_pi = {high}, two_pi_rest = {rest};")
print("""
// Entry k: sine and cosine of k / 256 turn, each a double and what it leaves.
constexpr double sincos_table[33][4] = {""")
for k in range(33):
    angle = 2 * pi * k / 256
    print(f"    {{{pair(sin(angle))},\n     {pair(cos(angle))}}},")
print("""};

} // namespace
// clang-format on""")
