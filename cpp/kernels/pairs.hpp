// Scores of pairs of bfloat16, which P adds: S but for its fma, and what asks how small they are.
#pragma once

#include <cstdint>

#include "kernels/attention.hpp"
#include "kernels/data.hpp"

namespace {

template <class S, class P>
bool pair_rows(const Rows& rows, std::int64_t width, float* pairs) {
    constexpr std::int64_t lanes = 16;
    const auto* from = static_cast<const std::uint16_t*>(rows.first);
    auto* to = reinterpret_cast<std::uint16_t*>(pairs);
    typename P::Sizes sizes;
    for (std::int64_t row = 0; row < rows.count; ++row, from += rows.stride) {
        std::int64_t i = 0;
        for (; i + lanes <= width; i += lanes, to += lanes) {
            const auto v = S::get(from + i);
            sizes.take(v);
            S::put(to, P::first_added_first(v));
        }
        if (i < width) {
            const std::int64_t left = width - i, whole = (left + 1) / 2 * 2;
            const auto v = S::get_some(from + i, first_lanes(left));
            sizes.take(v);
            S::put_some(to, P::first_added_first(v), first_lanes(whole));
            to += whole;
        }
    }
    return sizes.least_is(127 - 55);
}

template <class S, class P>
constexpr ropewalk::PairKernels pairs_of() {
    return {pair_rows<S, P>, score<P, float>};
}

} // namespace
