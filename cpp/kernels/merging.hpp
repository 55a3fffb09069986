// Attention to parts of the keys, merged: rows of all parts times what each part weighs.
#pragma once

#include <cstdint>

#include "kernels/weights.hpp"

namespace {

template <class S, class Data>
void merge_rows(const ropewalk::Merge& m) {
    using Element = typename Data::Element;
    auto* y = static_cast<Element*>(m.y);
    for (std::int64_t row = m.first; row < m.last; ++row)
        for (std::int64_t at = 0; at < m.dim; at += softmax_lanes) {
            const std::int64_t left = m.dim - at;
            const unsigned lanes = left >= softmax_lanes ? all_lanes : first_lanes(left);
            auto sum = Two<S>::all(0.0);
            for (std::int64_t part = 0; part < m.parts; ++part) {
                const std::int64_t own = part * m.rows + row;
                if (m.lses[own] == -__builtin_inf()) // what has seen nothing may hold anything
                    continue;
                const auto* const x =
                    static_cast<const Element*>(m.x[part]) + row * m.strides[part] + at;
                sum = Two<S>::fma(get_sixteen<S, double, Data>(x, lanes),
                                  Two<S>::all(m.weights[own]), sum);
            }
            put_sixteen<S, Data>(y + row * m.dim + at, sum, lanes);
        }
}

} // namespace
