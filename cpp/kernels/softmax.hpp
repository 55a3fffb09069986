// Softmax of a row in float64, eight elements a vector; lanes are joined in a fixed order.
#pragma once

#include <cstdint>

#include "kernels/exponential.hpp"

namespace {

template <class S>
double largest_element(const double* x, std::int64_t count) {
    auto largest = S::all(-__builtin_inf());
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        largest = S::max(S::get(x + i), largest);
    alignas(64) double lanes[8];
    S::put(lanes, largest);
    double result = -__builtin_inf();
    for (const double lane : lanes)
        result = lane > result ? lane : result;
    for (; i < count; ++i)
        result = x[i] > result ? x[i] : result;
    return result;
}

template <class S>
double weigh_elements(double* x, std::int64_t count, double maximum) {
    using Vector = typename S::F64;
    const Vector least = S::all(maximum);
    Vector sums[4];
    for (Vector& sum : sums)
        sum = S::all(0.0);
    std::int64_t i = 0;
    for (; i + 32 <= count; i += 32)
        for (int v = 0; v < 4; ++v) {
            const Vector weight = exponential<S, double>(S::sub(S::get(x + i + 8 * v), least));
            S::put(x + i + 8 * v, weight);
            sums[v] = S::add(sums[v], weight);
        }
    for (int v = 0; i < count; i += 8, ++v) {
        const std::int64_t left = count - i;
        const unsigned lanes = left < 8 ? (1U << left) - 1 : 0xff;
        const Vector weight = exponential<S, double>(S::sub(S::get_some(x + i, lanes), least));
        S::put_some(x + i, weight, lanes);
        sums[v] = S::add(sums[v], S::select(lanes, weight, S::all(0.0)));
    }
    const Vector sum = S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3]));
    alignas(64) double at[8];
    S::put(at, sum);
    return ((at[0] + at[4]) + (at[2] + at[6])) + ((at[1] + at[5]) + (at[3] + at[7]));
}

template <class S>
void scale_elements(double* x, std::int64_t count, double by) {
    const auto factor = S::all(by);
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        S::put(x + i, S::mul(S::get(x + i), factor));
    for (; i < count; ++i)
        x[i] *= by;
}

} // namespace
