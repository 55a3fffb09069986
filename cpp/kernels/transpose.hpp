// Between rows, as data lie, and lanes, as tiles of queries want them, and short rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/data.hpp"
#include "kernels/exponential.hpp"

namespace {

// lanes[column * stride + row] = rows[row][column], as many rows as a vector has lanes.
template <class S, class Data>
void rows_to_lanes(const typename Data::Element* const* rows, std::int64_t columns,
                   std::int64_t stride, typename Data::Element* lanes) {
    constexpr int count = Data::lanes;
    typename Data::Vector block[std::size_t{count}];
    std::int64_t column = 0;
    for (; column + count <= columns; column += count) {
        for (int row = 0; row < count; ++row)
            block[row] = Data::get(rows[row] + column);
        S::transpose(block);
        for (int i = 0; i < count; ++i)
            Data::put(lanes + (column + i) * stride, block[i]);
    }
    if (column == columns)
        return;
    for (int row = 0; row < count; ++row)
        block[row] = Data::get_some(rows[row] + column, first_lanes(columns - column));
    S::transpose(block);
    for (int i = 0; column + i < columns; ++i)
        Data::put(lanes + (column + i) * stride, block[i]);
}

// Either half type, which is not computed with: all bits stay as they are, also those of NaN.
struct Words {
    template <class S>
    static typename S::F32 widened(typename S::U16 v) {
        return S::from_bfloat16(v);
    }
    template <class S>
    static typename S::U16 rounded(typename S::F32 v) {
        return S::to_bfloat16(v);
    }
};

// y[column * y_stride + row] = x[row * x_stride + column].
template <class S, class Data>
void transpose(const void* x, std::int64_t x_stride, std::int64_t rows, std::int64_t columns,
               void* y, std::int64_t y_stride) {
    using Element = typename Data::Element;
    constexpr int count = Data::lanes;
    const auto* const from = static_cast<const Element*>(x);
    auto* const to = static_cast<Element*>(y);
    if (rows < count)
        for (std::int64_t column = 0; column < columns; ++column)
            for (std::int64_t row = 0; row < rows; ++row)
                to[column * y_stride + row] = from[row * x_stride + column];
    else
        for (std::int64_t row = 0; row < rows; row += count) {
            const std::int64_t first = row + count <= rows ? row : rows - count; // some again
            const Element* starts[std::size_t{count}];
            for (int i = 0; i < count; ++i)
                starts[i] = from + (first + i) * x_stride;
            rows_to_lanes<S, Data>(starts, columns, y_stride, to + first);
        }
}

// to[row * stride + column] = lane `row` of lanes(column), of the first rows.
template <class S, class T, class Function>
void lanes_to_rows(Function lanes, std::int64_t columns, std::int64_t rows, std::int64_t stride,
                   T* to) {
    constexpr int count = Lanes<S, T>::count;
    std::int64_t column = 0;
    for (; column + count <= columns; column += count) {
        VectorOf<S, T> block[std::size_t{count}];
#pragma GCC unroll 16
        for (int i = 0; i < count; ++i)
            block[i] = lanes(column + i);
        S::transpose(block);
#pragma GCC unroll 16
        for (int row = 0; row < count; ++row)
            if (row < rows)
                S::put(to + row * stride + column, block[row]);
    }
    if (column == columns)
        return;
    VectorOf<S, T> block[std::size_t{count}];
    for (int i = 0; i < count; ++i)
        block[i] = column + i < columns ? lanes(column + i) : S::all(T{0});
    S::transpose(block);
    for (int row = 0; row < count && row < rows; ++row)
        S::put_some(to + row * stride + column, block[row], first_lanes(columns - column));
}

} // namespace
