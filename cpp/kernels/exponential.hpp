// e^x and tanh x lane by lane, in float32 and float64, within 1.1 and below 3 units in the last
// place.
#pragma once

namespace {

// Lanes of one type, and what e^x takes there: x = n ln 2 + r, |r| <= ln 2 / 2, and
// e^r = 1 + r + r^2 q(r), the least greatest error of q by mpmath.chebyfit.
template <class S, class T>
struct Lanes;

template <class S>
struct Lanes<S, float> {
    using Vector = typename S::F32;
    static constexpr int count = 16;
    static constexpr float round = 0x1.8p23F; // adding it leaves no bits behind the point
    static constexpr float log2_e = 0x1.715476p0F;
    static constexpr float ln_2 = 0x1.63p-1F, ln_2_rest = -0x1.bd0106p-13F; // n ln_2 is exact
    static constexpr float q[] = {0x1p-1F, 0x1.5554dcp-3F, 0x1.55551ap-5F, 0x1.120ba2p-7F,
                                  0x1.6d113cp-10F};
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
    static constexpr double q[] = {
        0x1.0000000000001p-1,  0x1.5555555555556p-3,  0x1.5555555553d4fp-5,  0x1.11111111109adp-7,
        0x1.6c16c17893833p-10, 0x1.a01a01a7c8d47p-13, 0x1.a019b8ef67c6cp-16, 0x1.71de0d9c145d0p-19,
        0x1.2891a8c1d838dp-22, 0x1.af38d53857513p-26};
    static constexpr double smallest = -0x1.6232bdd7abcd2p9; // 2^-1022
};

template <class S, class T>
using VectorOf = typename Lanes<S, T>::Vector;

// e^x = 2^n (1 + r + r^2 q)
template <class S, class T>
struct Power {
    using L = Lanes<S, T>;
    using Vector = typename L::Vector;
    Vector n, r, q;

    explicit Power(Vector x) : n(whole(x)) {
        r = S::fma(n, S::all(-L::ln_2), x);
        r = S::fma(n, S::all(-L::ln_2_rest), r);
        q = series(r);
    }
    // The same of x + rest, which is x as it is rounded.
    Power(Vector x, Vector rest) : n(whole(x)) {
        r = S::fma(n, S::all(-L::ln_2), x);
        r = S::add(S::fma(n, S::all(-L::ln_2_rest), r), rest);
        q = series(r);
    }
    Vector of_rest() const { return S::add(of_rest_less_one(), S::all(T{1})); }
    Vector of_rest_less_one() const { return S::fma(S::mul(r, r), q, r); }

  private:
    static Vector whole(Vector x) {
        const Vector round = S::all(L::round);
        return S::sub(S::fma(x, S::all(L::log2_e), round), round);
    }
    static Vector series(Vector r) {
        constexpr int terms = sizeof L::q / sizeof L::q[0];
        Vector sum = S::all(L::q[terms - 1]);
        for (int i = terms - 2; i >= 0; --i)
            sum = S::fma(sum, r, S::all(L::q[i]));
        return sum;
    }
};

// e^x for x up to 709, and 0 where that is below 2^-100 (float32) or no normal number (float64).
// NaN stays NaN.
template <class S, class T>
[[gnu::always_inline]] inline VectorOf<S, T> exponential(VectorOf<S, T> x) {
    const Power<S, T> power(x);
    return S::scale_or_zero(power.of_rest(), power.n, x, S::all(Lanes<S, T>::smallest));
}

template <class S>
double exponential_of(double x) {
    alignas(64) double lanes[8];
    S::put(lanes, exponential<S, double>(S::all(x)));
    return lanes[0];
}

// tanh(x / by), where minus_two is -2 / by.
template <class S, class T>
VectorOf<S, T> hyperbolic_tangent(VectorOf<S, T> x, VectorOf<S, T> minus_two) {
    using Vector = VectorOf<S, T>;
    const Vector zero = S::all(T{0}), one = S::all(T{1});
    const Vector size = S::max(x, S::sub(zero, x));
    // Further out e^(-2 |x / by|) is lost beside 1.
    const Power<S, T> power(S::max(S::all(T{-80}), S::mul(minus_two, size)));
    const Vector scale = S::scale(one, power.n);
    const Vector less =
        S::fma(scale, power.of_rest_less_one(), S::sub(scale, one)); // e^(-2 |x / by|) - 1
    const Vector value = S::div(S::sub(zero, less), S::add(less, S::all(T{2})));
    return S::where_less(x, zero, S::sub(zero, value), value);
}

} // namespace
