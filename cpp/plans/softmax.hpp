// Softmax along an axis of an array, in float32 or float64, and the logarithm of its sum, in
// float64.
#pragma once

#include <cstdint>
#include <vector>

#include "plans/memory.hpp"
#include "targets/kernels.hpp"

namespace ropewalk {

// Strides are in elements: those of the other axes, and that of the axis itself.
template <class T>
struct Strided {
    T* data;
    std::vector<std::int64_t> strides;
    std::int64_t step;
};

struct Softmax {
    Type type;                         // of x and y
    std::vector<std::int64_t> leading; // lengths of the other axes
    std::int64_t length;
    double scale;
    bool in_float64; // whatever the type
    Strided<const void> x;
    // What counts: all bytes but 0, as in NumPy. Data is null where everything does.
    Strided<const std::uint8_t> mask;
};

// y = e^(scale x) / the sum of them along the axis; 0 where that sums nothing. y is x, or
// shares no memory with it.
void softmax(const Kernels& kernels, const Softmax& softmax, const Strided<void>& y, Stores stores,
             int threads);

// logs[leading] = log of that sum, -inf where it sums nothing.
void logsumexp(const Kernels& kernels, const Softmax& softmax, double* logs, int threads);

} // namespace ropewalk
