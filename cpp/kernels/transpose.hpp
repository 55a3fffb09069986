// Between rows, as data lie, and lanes, as tiles of queries want them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/exponential.hpp"

namespace {

// lanes[column * stride + row] = rows[row][column], as many rows as a vector has lanes.
template <class S, class T>
void rows_to_lanes(const T* const* rows, std::int64_t columns, std::int64_t stride, T* lanes) {
    constexpr int count = Lanes<S, T>::count;
    std::int64_t column = 0;
    for (; column + count <= columns; column += count) {
        VectorOf<S, T> block[std::size_t{count}];
        for (int row = 0; row < count; ++row)
            block[row] = S::get(rows[row] + column);
        S::transpose(block);
        for (int i = 0; i < count; ++i)
            S::put(lanes + (column + i) * stride, block[i]);
    }
    for (; column < columns; ++column)
        for (int row = 0; row < count; ++row)
            lanes[column * stride + row] = rows[row][column];
}

// rows[row * columns + column] = lanes[column * stride + row], eight rows.
template <class S>
void lanes_to_rows(const double* lanes, std::int64_t columns, std::int64_t stride, double* rows) {
    std::int64_t column = 0;
    for (; column + 8 <= columns; column += 8) {
        typename S::F64 block[8];
        for (int i = 0; i < 8; ++i)
            block[i] = S::get(lanes + (column + i) * stride);
        S::transpose(block);
        for (int row = 0; row < 8; ++row)
            S::put(rows + row * columns + column, block[row]);
    }
    for (; column < columns; ++column)
        for (int row = 0; row < 8; ++row)
            rows[row * columns + column] = lanes[column * stride + row];
}

} // namespace
