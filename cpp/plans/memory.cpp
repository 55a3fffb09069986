#include "plans/memory.hpp"

#include <algorithm>
#include <atomic>
#include <new>

#include "plans/pool.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace ropewalk {
namespace {

// The largest that systems count in, a multiple of any other.
constexpr std::size_t small_page = std::size_t{64} << 10;
// Where NumPy's own large arrays begin in a page: what is read and what is written then reach the
// end of a cache line together.
constexpr std::size_t past_page = 16;

// Stands at the end of a page that is never lent; the data begin in the next, a large one.
struct Block {
    std::size_t bytes;
    Block* older;

    void* data() { return pages() + past_page; }
    static Block* of(void* data) {
        return reinterpret_cast<Block*>(static_cast<char*>(data) - past_page) - 1;
    }
    char* pages() { return reinterpret_cast<char*>(this + 1); }
    std::size_t pages_bytes() const {
        return (past_page + bytes + small_page - 1) / small_page * small_page;
    }
};

#if defined(__linux__)

// What a processor maps at once.
constexpr std::size_t large_page = std::size_t{2} << 20;

Block* map(std::size_t bytes) {
    const Block wanted{bytes, nullptr};
    const std::size_t all = small_page + wanted.pages_bytes() + large_page;
    void* const mapped =
        mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return nullptr;
    auto* const begin = static_cast<char*>(mapped);
    const auto behind = (reinterpret_cast<std::uintptr_t>(begin) + small_page) % large_page;
    char* const first = begin + (large_page - behind) % large_page;
    char* const last = first + small_page + wanted.pages_bytes();
    if (first != begin)
        munmap(begin, static_cast<std::size_t>(first - begin));
    if (last != begin + all)
        munmap(last, static_cast<std::size_t>(begin + all - last));
    madvise(first + small_page, wanted.pages_bytes(), MADV_HUGEPAGE); // small ones will do
    return new (first + small_page - sizeof(Block)) Block(wanted);
}

void unmap(Block* block) { munmap(block->pages() - small_page, small_page + block->pages_bytes()); }

// The system takes the pages when it needs memory, and they are 0 then.
void lend(Block* block) {
    constexpr int free_when_needed = 8; // from Linux 4.5 on
    madvise(block->pages(), block->pages_bytes(), free_when_needed);
}

#else

constexpr std::align_val_t alignment{small_page};

Block* map(std::size_t bytes) {
    const Block wanted{bytes, nullptr};
    void* const begin = ::operator new(small_page + wanted.pages_bytes(), alignment, std::nothrow);
    if (begin == nullptr)
        return nullptr;
    return new (static_cast<char*>(begin) + small_page - sizeof(Block)) Block(wanted);
}

void unmap(Block* block) { ::operator delete(block->pages() - small_page, alignment); }
void lend(Block*) {}

#endif

// What was given back, the newest first. Whoever finds another at it does without.
class KeptBlocks {
  public:
    // The newest that holds so many bytes and not many more, or null.
    Block* take(std::size_t bytes) {
        if (const Turn turn(taken_); turn.mine)
            for (Block** link = &newest_; *link != nullptr; link = &(*link)->older)
                if (Block* const block = *link;
                    bytes <= block->bytes && block->bytes <= bytes + bytes / 8) {
                    *link = block->older;
                    bytes_ -= block->bytes;
                    return block;
                }
        return nullptr;
    }
    void keep(Block* block) {
        const Turn turn(taken_);
        if (!turn.mine || block->bytes > kept_bytes)
            return unmap(block);
        bytes_ += block->bytes;
        if (bytes_ > own_bytes)
            lend(block);
        block->older = newest_;
        newest_ = block;
        drop(kept_bytes);
    }
    void drop_all() {
        if (const Turn turn(taken_); turn.mine)
            drop(0);
    }

  private:
    // As much as malloc keeps is not lent: other threads feel each time that pages are.
    static constexpr std::size_t own_bytes = std::size_t{64} << 20;

    struct Turn {
        std::atomic_flag& taken;
        const bool mine;
        explicit Turn(std::atomic_flag& flag)
            : taken(flag), mine(!flag.test_and_set(std::memory_order_acquire)) {}
        ~Turn() {
            if (mine)
                taken.clear(std::memory_order_release);
        }
    };

    // The oldest, until no more than so much is left.
    void drop(std::size_t most) {
        while (bytes_ > most) {
            Block** link = &newest_;
            while ((*link)->older != nullptr)
                link = &(*link)->older;
            bytes_ -= (*link)->bytes;
            unmap(*link);
            *link = nullptr;
        }
    }

    std::atomic_flag taken_;
    Block* newest_ = nullptr;
    std::size_t bytes_ = 0;
};

constinit KeptBlocks kept_blocks; // arrays may outlive whatever has a destructor

} // namespace

Scratch::Scratch(std::int64_t doubles) {
    const auto bytes = static_cast<std::size_t>(times(doubles, sizeof(double)));
    const bool counted = doubles >= 0 && bytes < PTRDIFF_MAX;
    const auto allocate = [&] { return ::operator new(bytes, alignment, std::nothrow); };
    void* data = counted ? allocate() : nullptr;
    if (counted && data == nullptr) {
        kept_blocks.drop_all();
        data = allocate();
    }
    if (data == nullptr)
        throw std::bad_alloc();
    memory_.reset(static_cast<double*>(data));
}

void* take_large(std::size_t bytes) {
    if (bytes > SIZE_MAX / 2)
        return nullptr;
    Block* block = kept_blocks.take(bytes);
    if (block == nullptr)
        block = map(bytes);
    if (block == nullptr) {
        kept_blocks.drop_all();
        block = map(bytes);
    }
    return block == nullptr ? nullptr : block->data();
}

void give_back_large(void* data) { kept_blocks.keep(Block::of(data)); }

std::size_t room_of_large(void* data) { return Block::of(data)->bytes; }

#if defined(__linux__)

bool populate(void* data, std::int64_t bytes, int threads) {
    // From Linux 5.14 on; headers may be older.
    constexpr int populate_for_writing = 23;
    constexpr std::int64_t task_bytes = std::int64_t{4} << 20; // whole large pages
    const std::int64_t page = sysconf(_SC_PAGESIZE);
    const auto address = reinterpret_cast<std::int64_t>(data);
    const std::int64_t begin = up_to(page, address);
    const std::int64_t end = std::max(begin, (address + bytes) / page * page);
    const std::int64_t first = begin / task_bytes, last = ceil_div(end, task_bytes);
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
