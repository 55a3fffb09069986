// Scores of pairs of bfloat16, which P adds: S but for its fma, and what asks how small they are.
#pragma once

#include <cstdint>

#include "kernels/attention.hpp"
#include "kernels/data.hpp"

namespace {

using ropewalk::pair_columns;

template <class S, class P>
bool pair_rows(const Rows& rows, std::int64_t width, float* pairs) {
    const std::int64_t whole = (width + pair_columns - 1) / pair_columns * pair_columns;
    const auto* from = static_cast<const std::uint16_t*>(rows.first);
    auto* to = reinterpret_cast<std::uint16_t*>(pairs);
    typename P::Sizes sizes;
    for (std::int64_t row = 0; row < rows.count; ++row, from += rows.stride, to += whole)
        for (std::int64_t i = 0; i < whole; i += pair_columns) {
            const std::int64_t left = width - i;
            const auto v =
                left >= pair_columns ? S::get(from + i) : S::get_some(from + i, first_lanes(left));
            sizes.take(v);
            S::put(to + i, P::first_added_first(v));
        }
    return sizes.least_is(127 - 55);
}

template <class S, class P>
constexpr ropewalk::PairKernels pairs_of() {
    return {pair_rows<S, P>, score<P, float>};
}

} // namespace
