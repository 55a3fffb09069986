// Attention: which queries meet which keys, block by block, and what masks, biases and sinks do.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "targets/kernels.hpp"

namespace ropewalk {

// An array along the leading axes of the result: where axis i has index n, it has n / group[i], and
// elements `stride[i]` apart; 0 where it is the same for all.
struct Leading {
    std::vector<std::int64_t> stride, group;
};

// Rows of elements that follow each other.
struct DataRows {
    const void* data;
    Leading leading;
    std::int64_t row_stride;
};

// One value for every query and key, or none where data is null.
template <class T>
struct Scores {
    const T* data = nullptr;
    Leading leading;
    std::int64_t query_stride = 0, key_stride = 0;

    // Whether what they say of one key does not lie beside what they say of the next one.
    bool lie_apart() const { return data != nullptr && key_stride != 1; }
};

// One value for every index of the leading axes, or none where data is null.
template <class T>
struct PerHead {
    const T* data = nullptr;
    Leading leading;
};

// A distance without a limit.
inline constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

// Arrays (*leading, queries, keys) of the type computed with, each null where it is not asked for.
// `weights` is needed for all others.
struct Stages {
    void *scores = nullptr, *capped = nullptr, *biased = nullptr, *weights = nullptr;

    // Whether keys are met that nobody sees; their weights are 0.
    bool show_hidden() const { return scores || capped || biased; }
};

// What is computed with: float32, or float64 for data of that type; float64 whatever the type; or
// products of bfloat16, one or three for each of float32, where the processor has them and many
// queries make it worth while.
enum class ComputedIn : std::uint8_t { own_type, float64, bfloat16, bfloat16x3 };

struct Attention {
    std::vector<std::int64_t> leading; // lengths of the axes of the result before its last two
    std::int64_t queries, keys, dim, value_dim;
    Type type; // of query, key, value and output
    DataRows query, key, value;
    ComputedIn computed_in;

    double scale, softcap;     // no cap: 0
    std::int64_t left, right;  // distances before and behind the query that it sees
    Scores<std::uint8_t> mask; // 0 hides a key; NumPy lets True be any other byte
    Scores<float> bias32;      // of the type computed with
    Scores<double> bias64;
    PerHead<double> slopes, sinks;
    PerHead<std::int64_t> offset, key_lengths;

    void* output; // (*leading, queries, value_dim), or null
    double* lse;  // (*leading, queries), or null
    Stages stages;
};

inline bool computes_in_float64(const Attention& a) {
    return a.computed_in == ComputedIn::float64 || a.type == Type::float64;
}

void attend(const Kernels& kernels, const Attention& attention, int threads);

} // namespace ropewalk
