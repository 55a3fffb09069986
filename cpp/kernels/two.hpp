// Two vectors as one, whose steps take turns: so long chains of steps, as of e^x, wait less for
// each other.
#pragma once

#include <cstdint>

namespace {

template <class S>
struct Two {
    struct F32 {
        typename S::F32 first, second;
        F32() = default;
        F32(typename S::F32 a, typename S::F32 b) : first(a), second(b) {}
        template <class One>
        explicit F32(const One& both) : first(both), second(both) {}
    };
    struct F64 {
        typename S::F64 first, second;
    };

    static constexpr int doubles = sizeof(typename S::F32) / sizeof(double);

    static F32 all(float x) { return {S::all(x), S::all(x)}; }
    static F64 all(double x) { return {S::all(x), S::all(x)}; }
    // One behind the other.
    static F64 get(const double* p) { return {S::get(p), S::get(p + doubles)}; }
    static void put(double* p, F64 v) { S::put(p, v.first), S::put(p + doubles, v.second); }

    template <class Pair>
    static Pair add(Pair a, Pair b) {
        return {S::add(a.first, b.first), S::add(a.second, b.second)};
    }
    template <class Pair>
    static Pair sub(Pair a, Pair b) {
        return {S::sub(a.first, b.first), S::sub(a.second, b.second)};
    }
    template <class Pair>
    static Pair mul(Pair a, Pair b) {
        return {S::mul(a.first, b.first), S::mul(a.second, b.second)};
    }
    template <class Pair>
    static Pair fma(Pair a, Pair b, Pair c) {
        return {S::fma(a.first, b.first, c.first), S::fma(a.second, b.second, c.second)};
    }
    template <class Pair>
    static Pair fms(Pair a, Pair b, Pair c) {
        return {S::fms(a.first, b.first, c.first), S::fms(a.second, b.second, c.second)};
    }
    template <class Pair>
    static Pair fmaddsub(Pair a, Pair b, Pair c) {
        return {S::fmaddsub(a.first, b.first, c.first), S::fmaddsub(a.second, b.second, c.second)};
    }
    template <class Pair>
    static Pair swap_neighbours(Pair v) {
        return {S::swap_neighbours(v.first), S::swap_neighbours(v.second)};
    }
    template <class Pair>
    static Pair evens_twice(Pair v) {
        return {S::evens_twice(v.first), S::evens_twice(v.second)};
    }
    template <class Pair>
    static Pair odds_twice(Pair v) {
        return {S::odds_twice(v.first), S::odds_twice(v.second)};
    }
    template <class Pair>
    static Pair min(Pair a, Pair b) {
        return {S::min(a.first, b.first), S::min(a.second, b.second)};
    }
    template <class Pair>
    static Pair max(Pair a, Pair b) {
        return {S::max(a.first, b.first), S::max(a.second, b.second)};
    }
    template <class Pair>
    static Pair scale_or_zero(Pair v, Pair n, Pair x, Pair least) {
        return {S::scale_or_zero(v.first, n.first, x.first, least.first),
                S::scale_or_zero(v.second, n.second, x.second, least.second)};
    }
    template <class Pair>
    static Pair look_up(const std::uint32_t (&table)[8], Pair v) {
        return {S::look_up(table, v.first), S::look_up(table, v.second)};
    }
    template <class Pair>
    static Pair fma_or_zero(Pair v, Pair by, Pair x, Pair least) {
        return {S::fma_or_zero(v.first, by.first, x.first, least.first),
                S::fma_or_zero(v.second, by.second, x.second, least.second)};
    }
    template <class Pair>
    static Pair where_equal(Pair a, Pair b, Pair x, Pair y) {
        return {S::where_equal(a.first, b.first, x.first, y.first),
                S::where_equal(a.second, b.second, x.second, y.second)};
    }
};

template <class S, class Vector>
struct OperationsOnVector {
    using Type = S;
};

template <class S>
struct OperationsOnVector<S, typename Two<S>::F32> {
    using Type = Two<S>;
};

template <class S>
struct OperationsOnVector<S, typename Two<Two<S>>::F32> {
    using Type = Two<Two<S>>;
};

// Those on vectors of S, or on two or four of float32 as one.
template <class S, class Vector>
using OperationsOn = typename OperationsOnVector<S, Vector>::Type;

} // namespace
