// Memory: how much, for how long, and how it is written.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include "targets/kernels.hpp"

namespace ropewalk {

inline std::int64_t element_bytes(Type type) {
    return type == Type::float64 ? 8 : type == Type::float32 ? 4 : 2;
}

// Stores through the cache, or past it: these for memory that has been written before and is larger
// than the cache.
enum class Stores { cached, streamed };

// Doubles aligned to a cache line, not initialised.
class Scratch {
  public:
    explicit Scratch(std::int64_t doubles)
        : memory_(static_cast<double*>(
              ::operator new(static_cast<std::size_t>(doubles) * sizeof(double), alignment))) {}
    double* data() const { return memory_.get(); }

  private:
    static constexpr std::align_val_t alignment{64};
    struct Free {
        void operator()(double* p) const { ::operator delete(p, alignment); }
    };
    std::unique_ptr<double, Free> memory_;
};

// Has the system give all of new memory now, not page by page as it is first touched, which takes a
// fraction of the time; what it holds stays. False where the system cannot.
bool populate(void* data, std::int64_t bytes, int threads);

} // namespace ropewalk
