// Arrays whose elements lie side by side along another axis than the last, copied in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "targets/kernels.hpp"

namespace ropewalk {

class Transposing {
  public:
    // Strides are in elements.
    Transposing(Type type, const std::vector<std::int64_t>& shape,
                const std::vector<std::int64_t>& strides);

    // Whether there is such an axis, and enough along it and the last one.
    bool fits() const;
    // y = x, without gaps, where it fits.
    void copy(const Kernels& kernels, const void* x, void* y, int threads) const;

  private:
    struct Axis {
        std::int64_t size, x_stride, y_stride;
    };

    Type type_;
    // From the last on: of more than one element, and where axes follow each other in both arrays
    // all of them as one.
    std::vector<Axis> axes_;
    std::size_t side_by_side_ = 0; // that along which elements of x lie so, 0 for none
};

} // namespace ropewalk
