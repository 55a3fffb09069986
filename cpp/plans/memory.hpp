// Memory: how much, for how long, and how it is written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "targets/kernels.hpp"

namespace ropewalk {

inline std::int64_t element_bytes(Type type) {
    return type == Type::float64 ? 8 : type == Type::float32 ? 4 : 2;
}

// How many there are altogether, or the most where they cannot be counted, which no memory holds.
inline std::int64_t times(std::int64_t a, std::int64_t b) {
    std::int64_t all = 0;
    return __builtin_mul_overflow(a, b, &all) ? std::numeric_limits<std::int64_t>::max() : all;
}

// How many parts of a size make all, of which the last may be smaller; and what whole ones hold.
constexpr std::int64_t ceil_div(std::int64_t all, std::int64_t by) { return (all + by - 1) / by; }
constexpr std::int64_t up_to(std::int64_t multiple, std::int64_t all) {
    return ceil_div(all, multiple) * multiple;
}

// Elements of an array of such axes.
inline std::int64_t product(const std::vector<std::int64_t>& lengths) {
    std::int64_t all = 1;
    for (const std::int64_t length : lengths)
        all = times(all, length);
    return all;
}

// Stores through the cache, or past it: these for memory that has been written before and is larger
// than the cache.
enum class Stores { cached, streamed };

// to = from, whole lines of which pass the cache by; of kernels that have `stream`. Meanwhile as
// many from `next` on, where that is not null, are asked for into the second cache.
inline void stream_bytes(const Kernels& kernels, const char* from, std::int64_t bytes, char* to,
                         const char* next) {
    const auto before_line = -reinterpret_cast<std::intptr_t>(to) & (line_bytes - 1);
    const std::int64_t head = std::min<std::int64_t>(before_line, bytes);
    std::copy_n(from, head, to);
    constexpr std::int64_t at_once = 8;
    Lines lines{from + head, to + head, 0};
    for (std::int64_t left = (bytes - head) / line_bytes; left > 0; left -= at_once) {
        for (std::int64_t k = 0; next != nullptr && k < at_once; ++k, next += line_bytes)
            __builtin_prefetch(next, 0, 2);
        lines.count = std::min(left, at_once);
        kernels.stream(lines); // which leaves what is no line
    }
    std::copy_n(lines.from, (bytes - head) % line_bytes, lines.to);
}

// Doubles aligned to a cache line, not initialised. From large_scratch bytes on, from where malloc
// may give back to the system what is freed, their memory is kept as that of large results is.
class Scratch {
  public:
    explicit Scratch(std::int64_t doubles);
    double* data() const { return memory_.get(); }

  private:
    static constexpr std::align_val_t alignment{64};
    struct Free {
        bool kept;
        void operator()(double* p) const;
    };
    std::unique_ptr<double, Free> memory_;
};

// Memory of large results, in large pages where they fill some. The system takes longer to give and
// to clear pages than most calls to write them, and malloc gives back what two results have left,
// so what is given back here is kept for the next result of about that size: the newest, kept_bytes
// in all, most of it the system's to take when it needs memory. From any thread.
inline constexpr std::size_t kept_bytes = std::size_t{256} << 20;
#if defined(__SANITIZE_ADDRESS__) // which watches the ends of what malloc gives alone
inline constexpr std::size_t large_bytes = kept_bytes, large_scratch = kept_bytes;
#else
inline constexpr std::size_t large_bytes = std::size_t{256} << 10,
                             large_scratch = std::size_t{64} << 10;
#endif
void* take_large(std::size_t bytes); // null where there is no memory
void give_back_large(void* data);
std::size_t room_of_large(void* data); // bytes, maybe more than were asked for
// In a forked child, before anything else: what a thread was at that the child has not is left.
void leave_large();

// Has the system give all of new memory now, not page by page as it is first touched, which takes a
// fraction of the time; what it holds stays. False where the system cannot.
bool populate(void* data, std::int64_t bytes, int threads);

} // namespace ropewalk
