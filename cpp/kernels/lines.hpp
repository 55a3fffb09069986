// Rotation of bfloat16 a line at a time, which R rounds in one step: each two vectors of S.
#pragma once

#include <cstdint>

#include "kernels/data.hpp"
#include "kernels/rotary.hpp"
#include "kernels/table.hpp"
#include "kernels/two.hpp"

namespace {

// Both what computes with lines and what has them in memory.
template <class S, class R>
struct BFloat16Lines : Two<S> {
    using HalfLine = HalfData<S, BFloat16>;
    using Element = HalfLine::Element;
    using Table = HalfLine::Table;
    using Vector = Two<S>::F32;
    static constexpr int half = HalfLine::lanes, lanes = 2 * half;
    static constexpr bool streams = S::streams;

    static Vector get(const Table* p) { return {S::get(p), S::get(p + half)}; }
    static Vector get_some(const Table* p, unsigned mask) {
        return {S::get_some(p, mask), S::get_some(p + half, mask >> half)};
    }
    static Vector get(const Element* p) { return {HalfLine::get(p), HalfLine::get(p + half)}; }
    static Vector get_some(const Element* p, unsigned mask) {
        return {HalfLine::get_some(p, mask), HalfLine::get_some(p + half, mask >> half)};
    }
    static void put(Element* p, Vector v) {
        if (R::rounds(v.first, v.second)) [[likely]] {
            R::put(p, R::rounded(v.first, v.second));
        } else {
            HalfLine::put(p, v.first);
            HalfLine::put(p + half, v.second);
        }
    }
    static void stream(Element* p, Vector v) {
        if (R::rounds(v.first, v.second)) [[likely]] {
            R::stream(p, R::rounded(v.first, v.second));
        } else {
            HalfLine::stream(p, v.first);
            HalfLine::stream(p + half, v.second);
        }
    }
    static void put_some(Element* p, Vector v, unsigned mask) {
        HalfLine::put_some(p, v.first, mask);
        HalfLine::put_some(p + half, v.second, mask >> half);
    }

    static Vector select(unsigned mask, Vector a, Vector b) {
        return {S::select(mask, a.first, b.first), S::select(mask >> half, a.second, b.second)};
    }
};

template <class S, class R>
constexpr ropewalk::LineKernels lines_of() {
    using Lines = BFloat16Lines<S, R>;
    return {Interleaved<Lines, Lines>::rotate, Half<Lines, Lines>::rotate};
}

} // namespace
