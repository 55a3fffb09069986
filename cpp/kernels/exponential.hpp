// e^x and tanh x lane by lane, in float32 and float64, within 1.1 and below 3 units in the last
// place.
#pragma once

#include <cstdint>

namespace {

// Lanes of one type, and what e^x takes there: x = n ln 2 + r.
template <class S, class T>
struct Lanes;

template <class S>
struct Lanes<S, float> {
    using Vector = typename S::F32;
    static constexpr int count = 16;
    static constexpr float round = 0x1.8p23F; // adding it leaves no bits behind the point
    static constexpr float log2_e = 0x1.715476p0F;
    static constexpr float ln_2 = 0x1.63p-1F, ln_2_rest = -0x1.bd0106p-13F; // n ln_2 is exact
    // The last one whose e^x counts, 2^-100 or more: products with values from 2^-26 on are normal
    // numbers. Others take some processors a hundred times as long.
    static constexpr float smallest = -0x1.154244p6F;
};

template <class S>
struct Lanes<S, double> {
    using Vector = typename S::F64;
    static constexpr int count = 8;
    static constexpr double round = 0x1.8p52;
    static constexpr double log2_e = 0x1.71547652b82fep0;
    static constexpr double ln_2 = 0x1.62e42feep-1, ln_2_rest = 0x1.a39ef35793c76p-33;
    static constexpr double smallest = -0x1.6232bdd7abcd2p9; // 2^-1022
};

template <class S, class T>
using VectorOf = typename Lanes<S, T>::Vector;

// The whole number next to x / ln 2.
template <class S, class T>
VectorOf<S, T> power_of_two(VectorOf<S, T> x) {
    const auto round = S::all(Lanes<S, T>::round);
    return S::sub(S::fma(x, S::all(Lanes<S, T>::log2_e), round), round);
}

// e^x = 2^n (1 + r + r^2 q(r)), |r| <= ln 2 / 2, the least greatest error of q by mpmath.chebyfit.
template <class S>
struct Power {
    using L = Lanes<S, double>;
    using F64 = typename S::F64;
    F64 n, r, q;

    explicit Power(F64 x) : n(power_of_two<S, double>(x)) {
        r = S::fma(n, S::all(-L::ln_2), x);
        r = S::fma(n, S::all(-L::ln_2_rest), r);
        q = S::all(terms[9]);
        for (int i = 8; i >= 0; --i)
            q = S::fma(q, r, S::all(terms[i]));
    }
    F64 of_rest() const { return S::add(of_rest_less_one(), S::all(1.0)); }
    F64 of_rest_less_one() const { return S::fma(S::mul(r, r), q, r); }

  private:
    static constexpr double terms[10] = {
        0x1.0000000000001p-1,  0x1.5555555555556p-3,  0x1.5555555553d4fp-5,  0x1.11111111109adp-7,
        0x1.6c16c17893833p-10, 0x1.a01a01a7c8d47p-13, 0x1.a019b8ef67c6cp-16, 0x1.71de0d9c145d0p-19,
        0x1.2891a8c1d838dp-22, 0x1.af38d53857513p-26};
};

// A shorter way, of float32: x = n ln 2 + r, n in eighths, |r| <= ln 2 / 16, e^x = 2^n (1 + q(r)).
template <class S>
struct Eighths {
    using L = Lanes<S, float>;
    using Vector = typename S::F32;
    Vector power, q; // 2^n

    explicit Eighths(Vector x) : Eighths(x, S::all(round)) {}
    // Where `rounding` is `round` less a whole number, the power is 2^(n - that number).
    Eighths(Vector x, Vector rounding) {
        const Vector n = take_power(x, rounding);
        take_rest(rest(n, x));
    }
    // The same of x + more, which is x as it is rounded.
    Eighths(Vector x, Vector more, Vector rounding) {
        const Vector n = take_power(x, rounding);
        take_rest(S::add(rest(n, x), more));
    }

    static constexpr float round = 0x1.8p20F; // adding it leaves three bits behind the point

  private:
    // The bits of 2^(k / 8), less what adding k / 8 to the exponent adds to them. Rounding would
    // put them off by half a unit in the last place. All are less by the same factor, .99963, for
    // which float32 has them within .053 2^-23 of themselves, and which q(r) makes good.
    static constexpr std::uint32_t powers[8] = {0x3f7fe7aa, 0x3f7b887d, 0x3f782978, 0x3f75ef0f,
                                                0x3f74f3be, 0x3f755466, 0x3f773086, 0x3f7aaa76};
    Vector take_power(Vector x, Vector rounding) {
        const Vector sum = S::fma(x, S::all(L::log2_e), rounding);
        power = S::look_up(powers, sum);
        return S::sub(sum, rounding);
    }
    static Vector rest(Vector n, Vector x) {
        return S::fma(n, S::all(-L::ln_2_rest), S::fma(n, S::all(-L::ln_2), x));
    }
    // By mpmath.chebyfit, but for last digits, which are such that e^x rises from float32 to
    // float32.
    void take_rest(Vector r) {
        q = S::fma(S::all(0x1.557e4p-3F), r, S::all(0x1.00229ap-1F));
        q = S::fma(q, r, S::all(0x1.001858p0F));
        q = S::fma(q, r, S::all(0x1.858022p-12F));
    }
};

// e^x for x up to 709, and 0 where that is below 2^-100 (float32) or no normal number (float64).
// NaN stays NaN. Where `all_count`, no x may be below the smallest.
template <class S, class T, bool all_count = false>
[[gnu::always_inline]] inline VectorOf<S, T> exponential(VectorOf<S, T> x) {
    const auto smallest = S::all(Lanes<S, T>::smallest);
    if constexpr (sizeof(T) == sizeof(float)) {
        const Eighths<S> e(x);
        if constexpr (all_count)
            return S::fma(e.power, e.q, e.power);
        else
            return S::fma_or_zero(e.power, e.q, x, smallest);
    } else {
        const Power<S> power(x);
        if constexpr (all_count)
            return S::scale(power.of_rest(), power.n);
        else
            return S::scale_or_zero(power.of_rest(), power.n, x, smallest);
    }
}

// The same in float64 where the result is rounded to float32: within 2^-37.7 of itself, with half
// the steps. For x from -708 to 709, or NaN.
template <class S>
[[gnu::always_inline]] inline typename S::F64 short_exponential(typename S::F64 x) {
    // Adding it leaves n + 1023 as last bits, which are those of 2^n once they are shifted.
    constexpr double round = 0x1.8p52 + 1023, ln_2 = 0x1.62e42fefa39efp-1;
    constexpr double q[] = {0x1.0000000000000p-1, 0x1.55555567532adp-3,  0x1.5555555c87148p-5,
                            0x1.1110c632a3088p-7, 0x1.6c16858b7acb9p-10, 0x1.a15179d80ae96p-13,
                            0x1.a1132015ba37ep-16};
    const auto sum = S::fma(x, S::all(Lanes<S, double>::log2_e), S::all(round));
    const auto power = S::from_bits(S::template left<52>(S::bits(sum)));
    const auto r = S::fma(S::sub(sum, S::all(round)), S::all(-ln_2), x);
    const auto square = S::mul(r, r);
    auto rest = S::all(q[6]);
    for (int i = 4; i >= 0; i -= 2) // which wait less for each other in pairs
        rest = S::fma(rest, square, S::fma(S::all(q[i + 1]), r, S::all(q[i])));
    return S::fma(power, S::fma(square, rest, r), power);
}

template <class S>
double exponential_of(double x) {
    alignas(64) double lanes[8];
    S::put(lanes, exponential<S, double>(S::all(x)));
    return lanes[0];
}

// tanh(x) = -(e^(-2 |x|) - 1) / (e^(-2 |x|) + 1), with the sign of x
template <class S>
typename S::F64 hyperbolic_tangent(typename S::F64 x) {
    const auto zero = S::all(0.0), one = S::all(1.0);
    const auto size = S::max(x, S::sub(zero, x));
    // Further out e^(-2 |x|) is lost beside 1.
    const Power<S> power(S::max(S::all(-80.0), S::mul(S::all(-2.0), size)));
    const auto scale = S::scale(one, power.n);
    const auto less = // e^(-2 |x|) - 1
        S::fma(scale, power.of_rest_less_one(), S::sub(scale, one));
    const auto value = S::div(S::sub(zero, less), S::add(less, S::all(2.0)));
    return S::where_less(x, zero, S::sub(zero, value), value);
}

// tanh(a + b) = (tanh a + tanh b) / (1 + tanh a tanh b), a + b = |x|, with the sign of x. Of the
// step of which a is a multiple float32 has all tangents within .38 units in the last place; |b| is
// half a step at most, and tanh b = b + b^3 p(b^2), the least greatest error of p. It is never
// above 1, for what is divided is never above what it is divided by.
template <class S>
typename S::F32 hyperbolic_tangent(typename S::F32 x) {
    constexpr float step = 0x1.384p-1F, round = Lanes<S, float>::round;
    constexpr float tangents[16] = {0x0p0F,         0x1.168b36p-1F, 0x1.addc94p-1F, 0x1.e64a58p-1F,
                                    0x1.f8455cp-1F, 0x1.fdb490p-1F, 0x1.ff5240p-1F, 0x1.ffccaap-1F,
                                    0x1.fff0d6p-1F, 0x1.fffb86p-1F, 0x1.fffeaep-1F, 0x1.ffff9cp-1F,
                                    0x1.ffffe2p-1F, 0x1.fffff8p-1F, 0x1.fffffep-1F, 0x1p0F};
    const auto size = S::min(S::all(15 * step), S::size(x)); // further out all tangents are 1
    const auto sum = S::fma(size, S::all(1 / step), S::all(round));
    const auto a = S::look_up(tangents, sum); // tanh a
    const auto rest = S::fma(S::sub(sum, S::all(round)), S::all(-step), size);
    const auto square = S::mul(rest, rest);
    auto p = S::fma(S::all(-0x1.9ba402p-5F), square, S::all(0x1.10a98ap-3F));
    p = S::fma(p, square, S::all(-0x1.55548cp-2F));
    const auto b = S::fma(S::mul(rest, square), p, rest); // tanh b
    return S::with_sign(S::div(S::add(a, b), S::fma(a, b, S::all(1.0F))), x);
}

} // namespace
