// What kernels and plans both speak of: rows, tables, blocks. Included by every target, so there
// are plain declarations only, nothing inline, nothing of the standard library that has a body.
#pragma once

#include <cstdint>

namespace ropewalk {

// Rows inside the library hold eight pairs a group, one a lane, [8 sines | 8 cosines]; precise rows
// hold pairs of doubles, [8 sines | 8 cosines | what the sines leave | what the cosines leave].
inline constexpr int group_pairs = 8;

// The type of a table. Precise rows belong to float64, plain rows to the others.
enum class Type : std::uint8_t { float32, float16, bfloat16, float64 };
inline constexpr int types = 4;

// How a row of a table is laid out: s c s c .., c s c s .., or s s .. and c c .. apart.
enum class Layout : std::uint8_t { sine_first, cosine_first, apart };
inline constexpr int layouts = 3;

// A table to be filled, in elements of its type. Interleaved layouts use `first` alone.
struct Table {
    void* first;  // row 0; the sines where they lie apart
    void* second; // the cosines where they lie apart
    std::int64_t row_stride;
    std::int64_t rows;
    std::int64_t pairs;
};

// Where a kernel turns when its rounding test cannot tell which way a value rounds. Fills the lanes
// of a group, those whose bit is set, of one row; rows outside the table are passed over.
struct Exact {
    void (*fill)(const Exact* self, std::int64_t row, std::int64_t group, unsigned lanes);
};

// Blocks of 2 * reach + 1 rows share the products of their centre and of reach small steps.
inline constexpr int reach = 16;
inline constexpr int block_rows = 2 * reach + 1;

} // namespace ropewalk
