// What a target offers: one table of function pointers an instruction set. Included by every
// target, so there are plain declarations only, nothing inline, nothing of the standard library
// that has a body.
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

struct Kernels {
    const char* isa;

    // row[groups] = sine and cosine of fractions of a turn, whose upper 64 bits are high[8 *
    // groups] and whose next 64 bits are low[8 * groups].
    void (*evaluate_plain_row)(const std::uint64_t* high, std::int64_t groups, double* row);
    void (*evaluate_precise_row)(const std::uint64_t* high, const std::uint64_t* low,
                                 std::int64_t groups, double* row);

    // result = a turned by b, pair by pair: the product of two complex numbers. Groups of the
    // result lie `result_stride` doubles apart.
    void (*turn_plain_row)(const double* a, const double* b, std::int64_t groups, double* result,
                           std::int64_t result_stride);
    void (*turn_precise_row)(const double* a, const double* b, std::int64_t groups, double* result,
                             std::int64_t result_stride);

    // To be called before other threads may read what was streamed.
    void (*fence)();

    struct Filling {
        // table[row] = row of the library, rounded once; groups lie `stride` doubles apart.
        void (*fill_row)(const double* values, std::int64_t stride, const Table& table,
                         std::int64_t row, const Exact* exact);
        // table[row - reach .. row + reach] and the block behind it, from the two centres (groups
        // in turn) and the steps 1 .. reach. Centre rows are left out. Rows outside the table go
        // to `spare`, room for 4 * 8 elements a group.
        void (*fill_around)(const double* centres, const double* steps, const Table& table,
                            std::int64_t row, void* spare, const Exact* exact);
    };
    struct Fillings {
        Filling of[types][layouts];
    };
    // Stores through the cache, and stores that pass it by: these for rows of whole groups that
    // begin where cache lines do.
    Fillings cached, streamed;
};

extern const Kernels scalar_kernels, avx2_kernels, avx512_kernels;

} // namespace ropewalk
