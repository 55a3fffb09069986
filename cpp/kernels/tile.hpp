// What kernels and plans of attention, and of softmax, both speak of. Declarations only, as
// kernels/table.hpp.
#pragma once

#include <cstdint>

#include "kernels/table.hpp"

namespace ropewalk {

// Up to three vectors of queries meet blocks of keys, a query a lane. Where a head of keys has few
// queries, lanes are features, and up to sixteen queries that share keys meet them together.
inline constexpr std::int64_t most_vectors = 3, most_few = 16;
// So few may read whole rows one after another, which the processor fetches ahead best.
inline constexpr int few_alone = 2;
inline constexpr std::int64_t block_keys = 128;
// Vectors of features of which few queries sum up values at once.
inline constexpr int strip_vectors = 8;

// Rows of keys or values, of the type that the kernel reads; the stride is in elements.
struct Rows {
    const void* first;
    std::int64_t stride, count;
};

// What a tile of queries knows. Where they are lanes, the last axis of its arrays is queries,
// `vectors` vectors of them; where they are few, it is the other one, and keys have room for a
// block.
template <class T>
struct Tile {
    int vectors; // or queries, where they are few
    std::int64_t dim, value_dim;
    const T* queries;      // (dim, queries)
    T* logits;             // (keys of a block, queries), in whose place the weights come
    T *largest, *smallest; // logits of the block; no smallest is above 0
    T* maximum;            // of all logits so far
    double* sum;           // of all weights so far, e^(logit - maximum)
    double* rescale;       // e^(maximum before this block - maximum)
    double* output;        // (value_dim, queries): the sum of weights times values
    T* sums;    // of values of the block that have been added already, or null; strip by strip
    bool empty; // whether output has never been written
    Ahead ahead;
    bool large_first_cache, waits_for_second_cache; // as targets/dispatch.hpp says
    bool near; // whether keys and values stay in the second cache, or have been asked for
    // How many keys of the block a vector meets, and none fewer than the one before, so that causal
    // queries do not score what they do not see. Where queries are few, the first is for all.
    std::int64_t keys[most_vectors];
    std::int64_t half_keys[most_vectors]; // that the first half of its lanes meets
    // Lanes of each vector whose queries see keys of one block alone: their outputs are float32.
    unsigned one_block[most_vectors];
};

// Attention of a tile in float32 or float64. A logit of -inf is masked: its weight is 0, as every
// weight that is too small to count.
template <class T>
struct TileKernels {
    // logits = scale times keys times queries, and the largest and smallest of all keys. Where
    // queries are lanes, the values, unless null, and the next keys are fetched meanwhile.
    void (*score)(const Tile<T>& tile, const Rows& keys, T scale, const Rows* values);
    // logits = cap tanh(logits / cap). What changes all logits leaves their extremes.
    void (*cap)(const Tile<T>& tile, T cap);
    // The largest and the smallest again, where some logits have changed, or a vector meets fewer
    // keys.
    void (*find_extremes)(const Tile<T>& tile);
    // Takes the largest into the maximum, and scales the sum so far; says whether a logit is -inf.
    bool (*raise)(const Tile<T>& tile);
    // Logits become weights, which are added to the sum.
    void (*weigh)(const Tile<T>& tile);
    // Where queries are few: sums += weights times some values of the block, whose weights the
    // logits begin with.
    void (*add_values)(const Tile<T>& tile, const Rows& values);
    // output = rescale times output, unless that is empty, + sums, unless null, + weights times
    // values
    void (*accumulate)(const Tile<T>& tile, const Rows& values);
    // The same where a value may be NaN or infinite: those whose logits are -inf are not read.
    void (*accumulate_seen)(const Tile<T>& tile, const Rows& values, const T* logits);
    // To accumulate the last block, and to divide; null where that is no faster.
    void (*accumulate_last)(const Tile<T>& tile, const Rows& values, std::int64_t queries, T* rows);
    // rows[query] = output / sum, rounded to T, or 0 where nothing was seen; of the first queries.
    void (*divide)(const Tile<T>& tile, std::int64_t queries, T* rows);
    // Whether `width` columns hold neither NaN nor infinity.
    bool (*all_finite)(const Rows& rows, std::int64_t width);
};

// Queries of any heads, as many as a vector has lanes at most, to all keys of the head of each, a
// block at most.
inline constexpr int most_lanes = 16;
template <class T>
struct ShortHeads {
    int queries;
    std::int64_t keys, dim, value_dim, key_stride, value_stride; // strides are in elements
    T scale, softcap;                                            // no cap: 0
    bool has_bias, has_slopes, has_mask, sees_all;
    // The rows of the queries; the first rows of the keys and values of their heads.
    const void *query[most_lanes], *key[most_lanes], *value[most_lanes];
    // The rest has something for every lane. What changes logits, where there is that:
    const T* bias[most_lanes];
    double place[most_lanes], slope[most_lanes];
    T begin[most_lanes], end[most_lanes]; // the keys that it sees
    const std::uint8_t* mask[most_lanes];
    // As in a tile; before there are logits, those of sinks.
    T maximum[most_lanes];
    double sum[most_lanes];
    void* rows; // the outputs, one after the other
};

// What changes the logits of a block; rows, places and slopes are those of its queries.
template <class T>
struct LogitKernels {
    // logits += bias; rows[query] holds the biases to the keys of the block.
    void (*add_bias)(const Tile<T>& tile, const T* const* rows);
    // logits -= slope |place - key|, keys from `first` on.
    void (*add_slopes)(const Tile<T>& tile, double first, const double* places,
                       const double* slopes);
    // logits = -inf where a byte is 0; rows[query] holds those of the keys of the block.
    void (*hide_masked)(const Tile<T>& tile, const std::uint8_t* const* rows);
    // logits = -inf but for the keys from begin[query] up to end[query], counted in the block: of
    // those from `first` up to `last` at least. Leaves extremes as they were.
    void (*hide_outside)(const Tile<T>& tile, std::int64_t first, std::int64_t last, const T* begin,
                         const T* end);
};

// What makes lanes of rows of queries, and what ends, where lanes are queries.
template <class T>
struct LaneKernels {
    // lanes[column * stride + row] = rows[row][column], as many rows as a vector has lanes.
    void (*rows_to_lanes)(const T* const* rows, std::int64_t columns, std::int64_t stride,
                          T* lanes);
    // rows[query * stride + key] = logits, of the first queries.
    void (*logits_to_rows)(const Tile<T>& tile, std::int64_t queries, std::int64_t stride, T* rows);
};

template <class T>
struct AttentionKernels {
    std::int64_t lanes;
    // These read rows of T. Where queries are few, rows of the type that they have in memory; those
    // that are null want them converted.
    TileKernels<T> many, few[types];
    LogitKernels<T> logits_of_many, logits_of_few;
    LaneKernels<T> lane;
    // All of it, in the type of memory; says whether all weights are numbers, or there is no
    // result. Null as in `few`.
    bool (*short_heads[types])(ShortHeads<T>& heads);
    // weights = e^(logits - maximum) / sum, along one row
    void (*weights_of_row)(const T* logits, std::int64_t keys, T maximum, double sum, T* weights);
};

// Attention in float32 to keys and values that are matrices of bfloat16, sixteen rows of 32
// elements, which some processors multiply with one instruction; a number is one of bfloat16, or
// the sum of two, its parts. Queries are lanes, as ever, but pairs of bfloat16; the weights of two
// keys become pairs too, a row of their first parts and one of the second; and outputs are float32.
// From score to accumulate a thread uses the processor's registers of matrices.
inline constexpr std::int64_t matrix_rows = 16, matrix_columns = 32;
struct MatrixKernels {
    // These read rows of that type in memory, and are null where a type has fewer parts. Zeros
    // stand for what matrices lack. Rows of queries:
    void (*round_rows[types])(const Rows& rows, std::int64_t width, std::uint16_t* to);
    // Keys: for sixteen of them, and 32 features at a time, a matrix of each part.
    void (*tile_keys[types])(const Rows& rows, std::int64_t width, std::uint16_t* to);
    // Values: for 32 keys, and sixteen features at a time, a matrix of each part, whose rows are
    // features.
    void (*turn_values[types])(const Rows& rows, std::int64_t width, std::uint16_t* to);
    // Keys and values are packed so, and both strides whole matrices.
    TileKernels<float> many;
};

// Scores of bfloat16 where a processor adds the products of a pair to a float32 in one step, one
// after the other as ever. Queries and keys are pairs, each in the place of a float32; 0 is beside
// the last element of an odd row.
struct PairKernels {
    // Says whether scores of these rows keep their bits: where all numbers are 0, or 2^-55 and more
    // in size. Products of others may have sums below 2^-126, which count as 0.
    bool (*pair_rows)(const Rows& rows, std::int64_t width, float* pairs);
    // As that of float32.
    void (*score)(const Tile<float>& tile, const Rows& keys, float scale, const Rows* values);
};

// Elements of which a softmax has a sum each, a vector of float32 or two of float64.
inline constexpr int softmax_lanes = 16;

// Those of a row from whose greatest that of all is guessed, where no rows came before.
inline constexpr std::int64_t guessed_elements = 1024;

// What softmax knows of the rows or columns of a task before: their greatest element, roughly, and
// how much oftener than not that was too far from the greatest of the next ones. Results do not
// depend on it.
struct Guess {
    static constexpr double least_sum = 0x1p26, greatest_sum = 0x1p96; // of weights that it suits
    static constexpr int most_wrong = 3; // times more than right, or guesses do not pay
    float greatest = 0;
    int wrong = 0;
    bool made = false;
};

// Rows of a softmax that are met together, one row or so many bytes: the first cache holds them and
// their weights.
inline constexpr std::int64_t together_bytes = 16384;

// Lines of the cache that are still to be written, by stores that pass it by: weights of float32,
// divided by their total, or anything, whose total is 1. The target begins where a line does.
inline constexpr std::int64_t line_bytes = 64;
struct Lines {
    const char* from;
    char* to;
    std::int64_t count;
    double total = 1;
};

// Of columns that softmax takes side by side, at most, in sixteens.
inline constexpr int most_sixteens = 4;

// Parts of a row that softmax adds up begin at multiples of that.
inline constexpr std::int64_t summed_elements = 64;

// Of rows and columns that are met sixteen and more at a time, at most.
inline constexpr std::int64_t short_length = 32;

} // namespace ropewalk
