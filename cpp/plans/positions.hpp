// The positions of a table's rows.
#pragma once

#include <cstdint>

#include "exact/turns.hpp"

namespace ropewalk {

inline constexpr std::int64_t largest_position = std::int64_t{1} << 53;
// From so many rows on blocks of evenly spaced ones cost less than rows one by one, where the rows
// that blocks share are kept.
inline constexpr std::int64_t shortest_progression = 8;

// first + step * row on every axis, or the array that is not null: of all axes of row 0, of row 1,
// and so on. Finite, and none larger than that.
struct Positions {
    std::int64_t count;
    std::int64_t first = 0, step = 0;
    const std::int64_t* integers = nullptr;
    const double* reals = nullptr;
    int axes = 1;

    Position at(std::int64_t row, int axis = 0) const;
    bool in_array() const { return integers != nullptr || reals != nullptr; }
    // Those of rows begin .. begin + rows - 1.
    Positions part(std::int64_t begin, std::int64_t rows) const;
    // The same as first + step * row, where an array that is not too short says just that.
    Positions simplified() const;
    // How many positions from that row on, before row `end`, are integers that count upwards by
    // one; 1 at least. For arrays of one axis.
    std::int64_t stretch(std::int64_t row, std::int64_t end) const;
    // The largest where all are integers from 0 to `most`; -1 where some are others.
    std::int64_t largest_index(std::int64_t most) const;
    std::int64_t index(std::int64_t row, int axis) const; // what at() says, of such integers
    // The first position that is not finite or larger than 2^53 in size; -1 when there is none.
    // For arrays, which alone come unchecked.
    std::int64_t first_bad() const;
};

} // namespace ropewalk
