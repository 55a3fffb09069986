// What a target offers: one table of function pointers an instruction set. As kernels/table.hpp it
// holds declarations only.
#pragma once

#include <cstdint>

#include "kernels/table.hpp"
#include "kernels/tile.hpp"

namespace ropewalk {

// Softmax of rows of T, and of columns side by side, up to most_sixteens but for short ones, whose
// elements lie `step` apart.
// Weights are e^(scale (x - greatest)), scale > 0, but for a factor of each row. Sums, sixteen of
// every row or column, begin as 0, and go from part to part, which begin at multiples of
// summed_elements.
template <class T>
struct SoftmaxKernels {
    // Whole rows, longer than short_length. y may be x: then `room` is for the weights of one, and
    // together_bytes at least.
    // Meanwhile lines are written, so many as there is time for, and rows of x that are far ahead
    // are asked for, or the place of y, which comes next, unless weights lie elsewhere.
    void (*rows)(const T* x, std::int64_t x_stride, T* y, std::int64_t y_stride, std::int64_t rows,
                 std::int64_t length, double scale, T* room, Guess& guess, Lines& meanwhile,
                 Ahead ahead);
    // The weights of one row, and their total; null where lines hold no weights of T.
    double (*weigh_one)(const T* x, std::int64_t length, double scale, T* weights, Guess& guess,
                        Lines& meanwhile, Ahead ahead);

    // y = x, or value where a byte is 0; y may be x.
    void (*hide)(const T* x, const std::uint8_t* counts, std::int64_t count, T value, T* y);
    T (*largest)(const T* x, std::int64_t count);
    void (*weigh)(const T* x, std::int64_t count, T greatest, double scale, T* weights,
                  double* sums);
    // The same where it is guessed that the greatest element is not far from `some`; the total says
    // whether that was right. Null where Guess knows no weights of T.
    void (*weigh_by_guess)(const T* x, std::int64_t count, float some, double scale, T* weights,
                           double* sums);
    // y = weights times 1 / total, or 0 where nothing was summed.
    void (*share)(const T* weights, std::int64_t count, double total, T* y);

    // Of the type in memory, null where that would round: elements as T, in sixteens without gaps,
    // those that are missing as 0, and the greatest of each column so far. x may be elements of T.
    void (*load_columns[types])(const void* x, std::int64_t step, std::int64_t count,
                                std::int64_t columns, T* elements, T* greatest);
    // Elements become weights.
    void (*weigh_columns)(T* elements, std::int64_t count, int sixteens, const T* greatest,
                          double scale, double* sums);
    // Both at once, by a guess as above.
    void (*weigh_columns_by_guess[types])(const void* x, std::int64_t step, std::int64_t count,
                                          std::int64_t columns, float some, double scale,
                                          float* weights, double* sums);
    // y may be weights of T.
    void (*share_columns[types])(const T* weights, std::int64_t count, std::int64_t columns,
                                 const double* totals, void* y, std::int64_t step);
    // All of it, of rows or columns of at most short_length; y may be x.
    void (*short_rows)(const T* x, std::int64_t x_stride, T* y, std::int64_t y_stride,
                       std::int64_t rows, std::int64_t length, double scale, Guess& guess);
    void (*short_columns[types])(const void* x, std::int64_t x_step, void* y, std::int64_t y_step,
                                 std::int64_t length, std::int64_t columns, double scale,
                                 Guess& guess);
};

// What computes in T, on data of types in memory.
template <class T>
struct KernelsIn {
    // Rows of data of that type, from memory, null where that would round, and back, to half
    // types by way of float32; null where that would widen.
    void (*read[types])(const void* x, std::int64_t count, T* y);
    void (*write[types])(const T* x, std::int64_t count, void* y);

    AttentionKernels<T> attention;
    SoftmaxKernels<T> softmax;
};

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

    // row *= factor
    void (*scale_plain_row)(double factor, std::int64_t groups, double* row);
    void (*scale_precise_row)(double factor, std::int64_t groups, double* row);

    // y = x turned, in data of that type: interleaved pairs, or a half beside the other.
    void (*rotate_interleaved[types])(const Rotation& rows);
    void (*rotate_half[types])(const Rotation& rows);

    // Attention to parts of the keys, merged, in data of that type.
    void (*merge_rows[types])(const Merge& rows);

    // y[column * y_stride + row] = x[row * x_stride + column].
    void (*transpose[types])(const void* x, std::int64_t x_stride, std::int64_t rows,
                             std::int64_t columns, void* y, std::int64_t y_stride);

    MatrixKernels matrices[2]; // of one part and of two; null where the instruction set has none
    PairKernels pairs;         // the same
    LineKernels lines;         // the same
    KernelsIn<float> float32;
    KernelsIn<double> float64;
    double (*total)(const double* sums);
    // The same of columns: the first sums become the totals, of so many lanes, a power of two.
    void (*total_columns)(double* sums, int sixteens, int lanes);
    // Sums of e^x, as of weights; e^709 of larger elements.
    void (*sum_exponentials[types])(const void* x, std::int64_t count, double* sums);
    void (*sum_exponentials_of_columns[types])(const void* x, std::int64_t step, std::int64_t count,
                                               std::int64_t columns, double* sums);
    // The totals at once, of columns of at most short_length; those behind the last become
    // anything.
    void (*total_exponentials_of_short_columns[types])(const void* x, std::int64_t step,
                                                       std::int64_t length, std::int64_t columns,
                                                       double* totals);
    // y = log x of normal numbers above 0, within .8 units in the last place.
    void (*logarithms)(const double* x, std::int64_t count, double* y);
    // The same of up to 64 sums of e^x; returns the bits of those for which this will not do.
    std::uint64_t (*logarithms_of_sums)(const double* sums, std::int64_t count, double* logs);
    double (*logarithm)(double x);   // of a sum of weights: -inf of 0, NaN of NaN
    double (*exponential)(double x); // of 0 and less, as in attention

    // Writes all those lines; null where no stores pass the cache by.
    void (*stream)(Lines& lines);
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

extern const Kernels scalar_kernels, avx2_kernels, avx512_kernels, neon_kernels;

} // namespace ropewalk
