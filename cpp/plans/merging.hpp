// Attention to all keys from attention to parts of them.
#pragma once

#include <cstdint>
#include <vector>

#include "targets/kernels.hpp"

namespace ropewalk {

struct Parts {
    Type type;
    std::int64_t rows, dim;
    std::vector<const void*> outputs;  // of each part
    std::vector<std::int64_t> strides; // from row to row, in elements
    const double* lses;                // [part][row]
};

// output[row][dim], and lse[row] of all parts.
void merge(const Kernels& kernels, const Parts& parts, void* output, double* lse, int threads);

} // namespace ropewalk
