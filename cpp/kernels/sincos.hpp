// Sine and cosine of fractions of a turn, eight at a time: rows of the library.
#pragma once

#include <cstdint>

#include "exact/sincos_table.hpp"
#include "kernels/rows.hpp"

namespace {

// A fraction of a turn as the nearest quarter and a signed rest in units of 2^-64 turn.
template <class S>
struct Quarters {
    typename S::U64 quarter;
    typename S::F64 upper, lower; // upper + lower is the rest, and both are exact

    [[gnu::always_inline]] explicit Quarters(typename S::U64 turns)
        : quarter(S::template right<62>(S::add(turns, S::all(std::uint64_t{1} << 61)))) {
        const auto rest = S::sub(turns, S::template left<62>(quarter)); // signed
        // Exponents put the halves in place: 2^84 for the upper one, 2^52 for the lower one.
        const auto flipped =
            S::bxor(S::template right<32>(rest), S::all(std::uint64_t{0x4530000080000000}));
        upper = S::sub(S::from_bits(flipped), S::all(0x1p84 + 0x1p63));
        lower = whole(S::band(rest, S::all(std::uint64_t{0xffffffff})));
    }
    // Integers below 2^52.
    [[gnu::always_inline]] static typename S::F64 whole(typename S::U64 v) {
        return S::sub(S::from_bits(S::bor(v, S::all(std::uint64_t{0x4330000000000000}))),
                      S::all(0x1p52));
    }
    // Odd quarters swap sine and cosine; sines turn negative in quarters 2 and 3, cosines in 1 and
    // 2.
    [[gnu::always_inline]] void turn(typename S::F64& sine, typename S::F64& cosine) const {
        const auto one = S::all(std::uint64_t{1}), two = S::all(std::uint64_t{2});
        const auto swap = S::sub(S::all(std::uint64_t{0}), S::band(quarter, one));
        const auto both = S::band(S::bxor(S::bits(sine), S::bits(cosine)), swap);
        const auto sine_sign = S::template left<62>(S::band(quarter, two));
        const auto cosine_sign = S::template left<62>(S::band(S::add(quarter, one), two));
        sine = S::from_bits(S::bxor(S::bxor(S::bits(sine), both), sine_sign));
        cosine = S::from_bits(S::bxor(S::bxor(S::bits(cosine), both), cosine_sign));
    }
};

// sin 2 pi t and cos 2 pi t for t = turns / 2^64. Polynomials in x^2, |x| <= pi / 4, fitted at
// Chebyshev nodes: (sin x - x) / x^3 within 2.1e-17 and (cos x - 1 + x^2 / 2) / x^4 within 1.3e-18.
template <class S>
[[gnu::always_inline]] inline void sine_cosine(typename S::U64 turns, typename S::F64& sine,
                                               typename S::F64& cosine) {
    using F64 = typename S::F64;
    const Quarters<S> quarters(turns);
    const F64 high = S::add(quarters.upper, quarters.lower);
    const F64 low = S::sub(quarters.lower, S::sub(high, quarters.upper));
    const F64 unit = S::all(0x1p-64 * two_pi), unit_rest = S::all(0x1p-64 * two_pi_rest);
    const F64 x = S::mul(high, unit);
    const F64 x_low = S::fma(low, unit, S::fma(high, unit_rest, S::fms(high, unit, x)));

    const F64 square = S::mul(x, x);
    F64 odd = S::all(0x1.5e0b05bff20f2p-33), even = S::all(-0x1.907d8f29fe831p-37);
    odd = S::fma(odd, square, S::all(-0x1.ae600aca92c64p-26));
    even = S::fma(even, square, S::all(0x1.1eeb68cd22f56p-29));
    odd = S::fma(odd, square, S::all(0x1.71de379654304p-19));
    even = S::fma(even, square, S::all(-0x1.27e4fa17bf139p-22));
    odd = S::fma(odd, square, S::all(-0x1.a01a019e83816p-13));
    even = S::fma(even, square, S::all(0x1.a01a019f4e9b4p-16));
    odd = S::fma(odd, square, S::all(0x1.1111111110bb2p-7));
    even = S::fma(even, square, S::all(-0x1.6c16c16c16967p-10));
    odd = S::fma(odd, square, S::all(-0x1.5555555555555p-3));
    even = S::fma(even, square, S::all(0x1.5555555555555p-5));

    const F64 half_square = S::mul(square, S::all(0.5));
    const F64 one = S::all(1.0), near_one = S::sub(one, half_square);
    const F64 lost = S::sub(S::sub(one, near_one), half_square);
    sine = S::add(x, S::fma(S::mul(odd, square), x, S::fnma(half_square, x_low, x_low)));
    cosine = S::add(near_one, S::fma(S::mul(square, square), even, S::fnma(x, x_low, lost)));
    quarters.turn(sine, cosine);
}

// As exact/sincos.cpp, in lanes and with shorter polynomials. That keeps 106 bits of every
// remainder, this 96 bits behind the point: near a zero only the former has them all, and the
// rounding test knows.
template <class S>
[[gnu::always_inline]] inline typename Precise<S>::Value precise_sine_cosine(typename S::U64 turns,
                                                                             typename S::U64 more) {
    using F64 = typename S::F64;
    using P = Precise<S>;
    using Pair = typename P::Pair;
    const Quarters<S> quarters(turns);
    Pair rest = P::normal(quarters.upper, quarters.lower);
    const F64 tail = Quarters<S>::whole(S::template right<32>(more));
    rest = P::normal(rest.high, S::fma(tail, S::all(0x1p-32), rest.low));

    const auto sign = S::band(S::bits(rest.high), S::all(std::uint64_t{1} << 63));
    const auto with_sign = [&](F64 v) { return S::from_bits(S::bxor(S::bits(v), sign)); };
    rest = {with_sign(rest.high), with_sign(rest.low)};

    // The nearest multiple of 1/256 turn: its number stands in the last bits of the shifted sum.
    const F64 shifter = S::all(0x1.8p52 * 0x1p56), shifted = S::add(rest.high, shifter);
    const F64 nearest = S::sub(shifted, shifter);
    const auto index = S::band(S::bits(shifted), S::all(std::uint64_t{63}));
    const Pair turn_rest = P::normal(S::sub(rest.high, nearest), rest.low);
    const Pair unit = {S::all(0x1p-64 * two_pi), S::all(0x1p-64 * two_pi_rest)};
    Pair x = P::product(turn_rest, unit);
    x = P::normal(x.high, x.low);

    const F64 square = S::mul(x.high, x.high);
    F64 odd = S::fma(square, S::all(1.0 / 362880), S::all(-1.0 / 5040));
    F64 even = S::fma(square, S::all(1.0 / 40320), S::all(-1.0 / 720));
    odd = S::fma(square, odd, S::all(1.0 / 120));
    even = S::fma(square, even, S::all(1.0 / 24));
    odd = S::fma(square, odd, S::all(-1.0 / 6));
    const F64 cubic_on = S::mul(S::mul(x.high, square), odd);
    const F64 quartic_on = S::mul(S::mul(square, square), even);
    const F64 half = S::all(0.5), minus_half = S::all(-0.5);
    const Pair full_square = P::product(x, x);
    const Pair sine =
        P::normal(x.high, S::fnma(S::mul(half, square), x.low, S::add(x.low, cubic_on)));
    const Pair cosine_minus_one = P::normal(S::mul(minus_half, full_square.high),
                                            S::fma(minus_half, full_square.low, quartic_on));

    const double* const table = &sincos_table[0][0];
    const Pair table_sine = {S::gather4(table, index), S::gather4(table + 1, index)};
    const Pair table_cosine = {S::gather4(table + 2, index), S::gather4(table + 3, index)};
    Pair s = P::sum(table_sine, P::sum(P::product(table_cosine, sine),
                                       P::product(table_sine, cosine_minus_one)));
    Pair c = P::sum(table_cosine, P::difference(P::product(table_cosine, cosine_minus_one),
                                                P::product(table_sine, sine)));
    s = P::normal(with_sign(s.high), with_sign(s.low));
    c = P::normal(c.high, c.low);
    quarters.turn(s.high, c.high);
    quarters.turn(s.low, c.low);
    return {s, c};
}

template <class S>
void evaluate_plain_row(const std::uint64_t* high, std::int64_t groups, double* row) {
    for (std::int64_t g = 0; g < groups; ++g, high += group_pairs, row += 2 * group_pairs) {
        typename S::F64 sine, cosine;
        sine_cosine<S>(S::load(high), sine, cosine);
        Plain<S>::store(row, {sine, cosine});
    }
}

template <class S>
void evaluate_precise_row(const std::uint64_t* high, const std::uint64_t* low, std::int64_t groups,
                          double* row) {
    for (std::int64_t g = 0; g < groups; ++g, row += 4 * group_pairs) {
        const std::int64_t i = g * group_pairs;
        Precise<S>::store(row, precise_sine_cosine<S>(S::load(high + i), S::load(low + i)));
    }
}

} // namespace
