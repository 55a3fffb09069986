// Between rows, as data lie, and lanes, as tiles of queries want them, and short rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/data.hpp"
#include "kernels/exponential.hpp"

namespace {

// lanes[column * stride + row] = rows[row][column], as many rows as a vector has lanes.
template <class S, class T>
void rows_to_lanes(const T* const* rows, std::int64_t columns, std::int64_t stride, T* lanes) {
    constexpr int count = Lanes<S, T>::count;
    VectorOf<S, T> block[std::size_t{count}];
    std::int64_t column = 0;
    for (; column + count <= columns; column += count) {
        for (int row = 0; row < count; ++row)
            block[row] = S::get(rows[row] + column);
        S::transpose(block);
        for (int i = 0; i < count; ++i)
            S::put(lanes + (column + i) * stride, block[i]);
    }
    if (column == columns)
        return;
    for (int row = 0; row < count; ++row)
        block[row] = S::get_some(rows[row] + column, first_lanes(columns - column));
    S::transpose(block);
    for (int i = 0; column + i < columns; ++i)
        S::put(lanes + (column + i) * stride, block[i]);
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
