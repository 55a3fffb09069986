#include "plans/memory.hpp"

#include <algorithm>
#include <atomic>

#include "plans/pool.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace ropewalk {

#if defined(__linux__)

bool populate(void* data, std::int64_t bytes, int threads) {
    // From Linux 5.14 on; headers may be older.
    constexpr int populate_for_writing = 23;
    constexpr std::int64_t task_bytes = std::int64_t{4} << 20; // whole large pages
    const std::int64_t page = sysconf(_SC_PAGESIZE);
    const auto address = reinterpret_cast<std::int64_t>(data);
    const std::int64_t begin = (address + page - 1) / page * page;
    const std::int64_t end = std::max(begin, (address + bytes) / page * page);
    const std::int64_t first = begin / task_bytes, last = (end + task_bytes - 1) / task_bytes;
    std::atomic<bool> given{true};
    const auto give = [&](std::int64_t index, int) {
        const std::int64_t from = std::max(begin, (first + index) * task_bytes);
        const std::int64_t to = std::min(end, (first + index + 1) * task_bytes);
        auto* const pages = static_cast<char*>(data) + (from - address);
        if (madvise(pages, static_cast<std::size_t>(to - from), populate_for_writing) != 0)
            given.store(false, std::memory_order_relaxed);
    };
    run_tasks(last - first, threads, Task(give));
    return given;
}

#else

bool populate(void*, std::int64_t, int) { return false; }

#endif

} // namespace ropewalk
