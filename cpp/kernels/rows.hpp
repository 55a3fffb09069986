// Rows of sines and cosines inside the library, and how one turns by another.
//
// A row turned by another is the addition theorem, sin(a +- b) = sin a cos b +- cos a sin b:
// forwards and backwards share their products. It is the shift law PE(p + k) = R_k PE(p) (Vaswani
// et al., Attention Is All You Need, 2017, section 3.5) as an algorithm.
#pragma once

#include <cstdint>

#include "kernels/table.hpp"

namespace {

using ropewalk::group_pairs;

// Plain rows: one double a value, rounded to float32 or a half type.
template <class S>
struct Plain {
    using F64 = typename S::F64;
    static constexpr int group_doubles = 2 * group_pairs;

    struct Value {
        F64 sine, cosine;
    };
    static Value load(const double* p) {
        const Value v{S::load(p), S::load(p + group_pairs)};
        if constexpr (S::registers <= 8) // few, so that to read them again is as well
            return v;
        else
            return {S::read_once(v.sine), S::read_once(v.cosine)};
    }
    static void store(double* p, Value v) {
        S::store(p, v.sine);
        S::store(p + group_pairs, v.cosine);
    }
    [[gnu::always_inline]] static void turn(Value a, Value b, Value& forward, Value& backward) {
        const F64 cs = S::mul(a.cosine, b.sine), ss = S::mul(a.sine, b.sine);
        forward = {S::fma(a.sine, b.cosine, cs), S::fms(a.cosine, b.cosine, ss)};
        backward = {S::fms(a.sine, b.cosine, cs), S::fma(a.cosine, b.cosine, ss)};
    }
    static Value scaled(Value v, F64 by) { return {S::mul(v.sine, by), S::mul(v.cosine, by)}; }
};

// Precise rows: pairs of doubles, for float64.
template <class S>
struct Precise {
    using F64 = typename S::F64;
    static constexpr int group_doubles = 4 * group_pairs;

    struct Pair {
        F64 high, low;
    };
    struct Value {
        Pair sine, cosine;
    };
    static Value load(const double* p) {
        return {{S::load(p), S::load(p + 2 * group_pairs)},
                {S::load(p + group_pairs), S::load(p + 3 * group_pairs)}};
    }
    static void store(double* p, Value v) {
        const Pair sine = normal(v.sine.high, v.sine.low);
        const Pair cosine = normal(v.cosine.high, v.cosine.low);
        S::store(p, sine.high);
        S::store(p + group_pairs, cosine.high);
        S::store(p + 2 * group_pairs, sine.low);
        S::store(p + 3 * group_pairs, cosine.low);
    }
    [[gnu::always_inline]] static void turn(Value a, Value b, Value& forward, Value& backward) {
        const Pair sc = product(a.sine, b.cosine), cs = product(a.cosine, b.sine);
        const Pair cc = product(a.cosine, b.cosine), ss = product(a.sine, b.sine);
        forward = {sum(sc, cs), difference(cc, ss)};
        backward = {difference(sc, cs), sum(cc, ss)};
    }

    static Value scaled(Value v, F64 by) {
        return {{S::mul(v.sine.high, by), low_of_product(v.sine, by)},
                {S::mul(v.cosine.high, by), low_of_product(v.cosine, by)}};
    }

    // |larger| >= |smaller|, or larger is 0.
    static Pair normal(F64 larger, F64 smaller) {
        const F64 high = S::add(larger, smaller);
        return {high, S::sub(smaller, S::sub(high, larger))};
    }
    static F64 low_of_product(Pair a, F64 b) {
        return S::fma(a.low, b, S::fms(a.high, b, S::mul(a.high, b)));
    }
    static Pair product(Pair a, Pair b) {
        const F64 high = S::mul(a.high, b.high);
        return {high,
                S::add(S::fms(a.high, b.high, high), S::fma(a.high, b.low, S::mul(a.low, b.high)))};
    }
    static Pair sum(Pair a, Pair b) {
        const F64 high = S::add(a.high, b.high), part = S::sub(high, a.high);
        return {high, S::add(S::add(S::sub(a.high, S::sub(high, part)), S::sub(b.high, part)),
                             S::add(a.low, b.low))};
    }
    static Pair difference(Pair a, Pair b) {
        const F64 high = S::sub(a.high, b.high), part = S::sub(high, a.high);
        return {high, S::add(S::sub(S::sub(a.high, S::sub(high, part)), S::add(b.high, part)),
                             S::sub(a.low, b.low))};
    }
};

template <class Row>
void turn_row(const double* a, const double* b, std::int64_t groups, double* result,
              std::int64_t result_stride) {
    constexpr int step = Row::group_doubles;
    for (std::int64_t g = 0; g < groups; ++g, a += step, b += step, result += result_stride) {
        typename Row::Value forward, backward;
        Row::turn(Row::load(a), Row::load(b), forward, backward);
        Row::store(result, forward);
    }
}

// row *= factor
template <class S, class Row>
void scale_row(double factor, std::int64_t groups, double* row) {
    for (std::int64_t g = 0; g < groups; ++g, row += Row::group_doubles)
        Row::store(row, Row::scaled(Row::load(row), S::all(factor)));
}

} // namespace
