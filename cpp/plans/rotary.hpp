// Rotation of rows of data, by the angles of their positions or by tables that are given.
#pragma once

#include <cstdint>
#include <vector>

#include "plans/frequencies.hpp"
#include "plans/positions.hpp"
#include "targets/kernels.hpp"

namespace ropewalk {

enum class Pairing { interleaved, half };

// An axis of the data, but for the last one and those of length 1. Strides are in elements.
struct RowAxis {
    std::int64_t length, x_stride, y_stride;
    bool own; // whether each index has a position of its own; else all share one
};

// Rows of `dim` elements without a gap. The first 2 * pairs of them are turned, the others stay as
// they are. y is x, or shares no memory with it.
struct RotaryData {
    Type type;
    const void* x;
    void* y;
    std::vector<RowAxis> axes;
    std::int64_t dim, pairs;
    Pairing pairing;
};

enum class Direction { forwards, backwards };

// y = x, each row turned by the angles of its position and multiplied by the factor; positions
// follow each other as the own axes say, the last one fastest.
void rotate(const Kernels& kernels, const Frequencies& frequencies, const Positions& positions,
            double factor, Direction direction, const RotaryData& data, Stores stores, int threads);

// The type of tables, which is what data are computed in: float64 for float64, else float32.
Type table_type(Type data);

// As rotate, with tables[row, pair] of that type given.
void rotate_by(const Kernels& kernels, const void* cosines, const void* sines,
               const RotaryData& data, Stores stores, int threads);

} // namespace ropewalk
