// log x in float64, lane by lane, within .8 units in the last place: not that of a C library, which
// differs from system to system.
#pragma once

#include <cstdint>

#include "kernels/data.hpp"

namespace {

// Of normal numbers above 0. x = 2^k m, m from about sqrt(1/2) to sqrt(2); with f = m - 1 and
// s = f / (2 + f), log m = 2 atanh s = f - f^2 / 2 + s (f^2 / 2 + s^2 r(s^2)), the least greatest
// error of r by mpmath.chebyfit.
template <class S>
[[gnu::always_inline]] inline typename S::F64 logarithm(typename S::F64 x) {
    using F64 = typename S::F64;
    using U64 = typename S::U64;
    constexpr std::uint64_t smallest = 0x3fe6a09e00000000; // the bits of the least m
    constexpr std::uint64_t one = 0x3ff0000000000000, fraction = 0x000fffffffffffff;
    constexpr double with_integer = 0x1p52; // whose last bits an integer may replace
    constexpr double r[] = {0x1.5555555555558p-1, 0x1.99999999952abp-2, 0x1.2492492df7663p-2,
                            0x1.c71c62ddb431bp-3, 0x1.7462b6e311a89p-3, 0x1.39fe16ad885a7p-3,
                            0x1.2b5bd9a316a24p-3};
    constexpr double ln_2 = 0x1.62e42fefa3800p-1, ln_2_rest = 0x1.ef35793c76730p-45;

    const U64 raised = S::add(S::bits(x), S::all(one - smallest));
    const U64 exponent = S::template right<52>(raised);
    const F64 k = S::sub(S::from_bits(S::bor(exponent, S::bits(S::all(with_integer)))),
                         S::all(with_integer + 1023));
    const F64 m = S::from_bits(S::add(S::band(raised, S::all(fraction)), S::all(smallest)));
    const F64 f = S::sub(m, S::all(1.0)), s = S::div(f, S::add(f, S::all(2.0)));
    const F64 z = S::mul(s, s), half = S::mul(S::mul(f, S::all(0.5)), f);
    F64 sum = S::all(r[6]);
    for (int i = 5; i >= 0; --i)
        sum = S::fma(sum, z, S::all(r[i]));
    const F64 rest = S::fma(s, S::fma(z, sum, half), S::mul(k, S::all(ln_2_rest)));
    return S::fma(k, S::all(ln_2), S::sub(f, S::sub(half, rest)));
}

// y = log x; of numbers for which there is none, anything.
template <class S>
void logarithms(const double* x, std::int64_t count, double* y) {
    constexpr int lanes = 8;
    for (std::int64_t i = 0; i < count; i += lanes) {
        const std::int64_t left = count - i;
        const unsigned some = first_lanes(left < lanes ? left : lanes);
        S::put_some(y + i, logarithm<S>(S::get_some(x + i, some)), some);
    }
}

// logs = log of up to 64 sums of e^x. Bit i of what is returned is set, and a logarithm NaN, where
// terms may have been too small or too large, or where it is so small that the errors of the sum
// would show in float32, as in that of one element.
template <class S>
std::uint64_t logarithms_of_sums(const double* sums, std::int64_t count, double* logs) {
    constexpr int lanes = 8;
    const auto nothing = S::all(__builtin_nan(""));
    std::uint64_t missing = 0;
    for (std::int64_t i = 0; i < count; i += lanes) {
        const unsigned some = first_lanes(count - i < lanes ? count - i : lanes);
        const auto sum = S::get_some(sums + i, some), log = logarithm<S>(sum);
        const auto size = S::max(log, S::sub(S::all(0.0), log));
        auto found = S::add(log, S::sub(sum, sum)); // NaN beside infinity
        found = S::where_less(sum, S::all(0x1p-900), nothing, found);
        found = S::where_less(S::all(0x1p1000), sum, nothing, found);
        found = S::where_less(size, S::all(0x1p-6), nothing, found);
        S::put_some(logs + i, found, some);
        missing |= std::uint64_t{S::differing(found, found) & some} << i;
    }
    return missing;
}

// log x of any finite sum of weights: -inf of 0, NaN of NaN.
template <class S>
double logarithm_of(double x) {
    if (!(x > 0))
        return x == 0 ? -__builtin_inf() : x;
    alignas(64) double lanes[8];
    S::put(lanes, logarithm<S>(S::all(x)));
    return lanes[0];
}

} // namespace
