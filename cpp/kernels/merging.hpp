// Attention to parts of the keys, merged: rows of all parts times what each part weighs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/weights.hpp"

namespace {

// So many sixteens of features of a row, the last with these lanes.
template <class S, class Data, int sixteens>
void merge_features(const ropewalk::Merge& m, std::int64_t row, std::int64_t feature,
                    unsigned lanes) {
    using Element = typename Data::Element;
    typename Two<S>::F64 sums[std::size_t{sixteens}];
    for (auto& sum : sums)
        sum = Two<S>::all(0.0);
    const auto lanes_at = [&](int v) { return v + 1 < sixteens ? all_lanes : lanes; };
    for (std::int64_t part = 0; part < m.parts; ++part) {
        const std::int64_t own = part * m.rows + row;
        if (m.lses[own] == -__builtin_inf()) // what has seen nothing may hold anything
            continue;
        const auto weight = Two<S>::all(m.weights[own]);
        const auto* const x =
            static_cast<const Element*>(m.x[part]) + row * m.strides[part] + feature;
        for (int v = 0; v < sixteens; ++v)
            sums[v] = Two<S>::fma(get_sixteen<S, double, Data>(x + v * softmax_lanes, lanes_at(v)),
                                  weight, sums[v]);
    }
    auto* const y = static_cast<Element*>(m.y) + row * m.dim + feature;
    for (int v = 0; v < sixteens; ++v)
        put_sixteen<S, Data>(y + v * softmax_lanes, sums[v], lanes_at(v));
}

template <class S, class Data>
void merge_rows(const ropewalk::Merge& m) {
    constexpr int together = S::registers > 8 ? 4 : 1, width = together * softmax_lanes;
    for (std::int64_t row = m.first; row < m.last; ++row) {
        std::int64_t feature = 0;
        for (; feature + width <= m.dim; feature += width)
            merge_features<S, Data, together>(m, row, feature, all_lanes);
        for (; feature < m.dim; feature += softmax_lanes) {
            const std::int64_t left = m.dim - feature;
            merge_features<S, Data, 1>(m, row, feature,
                                       left < softmax_lanes ? first_lanes(left) : all_lanes);
        }
    }
}

} // namespace
