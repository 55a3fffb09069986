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

// What the values of a block of rows may be off by, its rounding test included. Plain rows in units
// of 2^-54: an evaluated row 1.75, its product with another sqrt(2) (1.75 + 1.75) + 2 = 6.95, the
// product of that with a row sqrt(2) (6.95 + 1.75) + 2 = 14.3, and 15.3 once the test has rounded
// v -+ e. Precise rows: 2^-72, then 2^-70.4, then 2^-69.5. Rows multiplied by a factor when they
// are evaluated are off by that much more; plain ones have one rounding more, and each can weigh
// twice as much beside the factor, which makes 25.1 times the factor of those 15.3.
inline constexpr double plain_error = 0x1p-50;
inline constexpr double scaled_plain_error = 1.625 * plain_error;
inline constexpr double precise_error = 0x1p-69;

// Where a kernel turns when its rounding test leaves a value open. Fills the lanes of a group,
// those whose bit is set, of one row; rows outside the table are passed over.
struct Exact {
    void (*fill)(const Exact* self, std::int64_t row, std::int64_t group, unsigned lanes);
    double error; // of the values that the kernel rounds
    // At least as much for values above 2^-13, in their last bits as float64; a power of two.
    std::uint32_t last_bits;
};

// What kernels ask for before they read it: nothing, the rows that come next, which are nearer than
// memory, or rows far ahead, which are in memory, or in a cache where they wait; or those, beside
// lines that are streamed, into the second cache, so that the first one has room for these. Nothing
// either where the plan has asked.
enum class Ahead : std::uint8_t { nothing, next_rows, far_rows, far_rows_to_second, asked };

// Rows of data whose pairs are to be turned: each of `rows` rows of a table turns `repeats` rows,
// one after another, and as many in every copy. Tables of interleaved pairs hold c s c s .., the
// others cosines and sines apart; they are of float32 for half types. Strides are in elements.
struct Rotation {
    const void* x;
    void* y; // x, or nowhere near it
    std::int64_t rows, repeats;
    std::int64_t x_stride, y_stride;
    std::int64_t copies, x_copy, y_copy; // how many, and how far from one to the next
    const void *cosines, *sines;         // of interleaved pairs both in `cosines`
    std::int64_t pairs;                  // that are turned
    std::int64_t apart;                  // pairs of a row of the table, maybe more
    std::int64_t dim;                    // of a row; what does not turn is copied
    Ahead ahead;
    bool streamed; // past the cache, where rows of y have no gaps
};

// Rotation of bfloat16 by whole lines, where a processor rounds to it in one step.
struct LineKernels {
    void (*rotate_interleaved)(const Rotation& rows);
    void (*rotate_half)(const Rotation& rows);
};

// Rows of parts that are to be merged, from the first to before the last of `rows`: y is the sum of
// x times weights[part][row], of parts whose lse is not -inf. Strides are in elements.
struct Merge {
    const void* const* x;
    const std::int64_t* strides;
    std::int64_t parts;
    const double *lses, *weights; // [part][row]
    std::int64_t rows, first, last, dim;
    void* y; // without gaps
};

// Blocks of 2 * reach + 1 rows share the products of their centre and of reach small steps.
inline constexpr int reach = 16;
inline constexpr int block_rows = 2 * reach + 1;

} // namespace ropewalk
