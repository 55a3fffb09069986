#include "plans/memory.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <new>
#include <thread>
#include <utility>

#include "plans/pool.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace ropewalk {
namespace {

// The largest that systems count in, a multiple of any other, and the smallest.
constexpr std::size_t largest_page = std::size_t{64} << 10, smallest_page = std::size_t{4} << 10;

// Where data begin in a page, which is not the same for two in turn. NumPy's own large arrays begin
// 16 bytes past one. Lines from there, what is read and what is written reach the end of a line
// together; and not beside each other, no load waits for a store to the same place of another page,
// which is all that processors compare at first. What is worked in has turns of its own: a result
// and what it took would be as many as there are places.
using Turns = std::atomic<unsigned>;
constinit Turns results{0}, scratches{0};

std::size_t next_place(Turns& of) {
    return 16 + 768 * (1 + of.fetch_add(1, std::memory_order_relaxed) % 4);
}

// Of pages that hold so many bytes at any place. What may be kept has eighths of a power of two:
// results that grow from call to call find the memory of those before.
std::size_t pages_for(std::size_t bytes) {
    const std::size_t all = bytes + smallest_page;
    const std::size_t step =
        all > kept_bytes ? largest_page : std::max(largest_page, std::bit_floor(all) / 8);
    return (all + step - 1) / step * step;
}

// Stands at the end of a page that is never lent; the data begin in the next.
struct Block {
    std::size_t pages_bytes, place = 0;
    Block* next = nullptr; // of those that are to be unmapped

    void* data() { return pages() + place; }
    static Block* of(void* data) {
        const std::size_t place = reinterpret_cast<std::uintptr_t>(data) % smallest_page;
        return reinterpret_cast<Block*>(static_cast<char*>(data) - place) - 1;
    }
    char* pages() { return reinterpret_cast<char*>(this + 1); }
};

#if defined(__linux__)

// What a processor maps at once.
constexpr std::size_t large_page = std::size_t{2} << 20;

Block* map(std::size_t bytes) {
    const Block wanted{pages_for(bytes)};
    // Blocks of small pages alone stand side by side, as one to the system, which counts what it
    // maps.
    const std::size_t in_large = bytes / large_page * large_page;
    const std::size_t all = largest_page + wanted.pages_bytes + (in_large > 0 ? large_page : 0);
    void* const mapped =
        mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return nullptr;
    auto* const begin = static_cast<char*>(mapped);
    const auto behind = (reinterpret_cast<std::uintptr_t>(begin) + largest_page) % large_page;
    char* const first = in_large > 0 ? begin + (large_page - behind) % large_page : begin;
    char* const last = first + largest_page + wanted.pages_bytes;
    if (first != begin)
        munmap(begin, static_cast<std::size_t>(first - begin));
    if (last != begin + all)
        munmap(last, static_cast<std::size_t>(begin + all - last));
    if (in_large > 0)
        madvise(first + largest_page, in_large, MADV_HUGEPAGE); // others will do
    return new (first + largest_page - sizeof(Block)) Block(wanted);
}

void unmap(Block* block) {
    munmap(block->pages() - largest_page, largest_page + block->pages_bytes);
}

// The system takes the pages when it needs memory, and they are 0 then.
void lend(Block* block) {
    constexpr int free_when_needed = 8; // from Linux 4.5 on
    madvise(block->pages(), block->pages_bytes, free_when_needed);
}

#else

constexpr std::align_val_t alignment{largest_page};

Block* map(std::size_t bytes) {
    const Block wanted{pages_for(bytes)};
    void* const begin = ::operator new(largest_page + wanted.pages_bytes, alignment, std::nothrow);
    if (begin == nullptr)
        return nullptr;
    return new (static_cast<char*>(begin) + largest_page - sizeof(Block)) Block(wanted);
}

void unmap(Block* block) { ::operator delete(block->pages() - largest_page, alignment); }
void lend(Block*) {}

#endif

void unmap_all(Block* blocks) {
    while (blocks != nullptr)
        unmap(std::exchange(blocks, blocks->next));
}

// What was given back, the newest last. Whoever finds another at it for long does without. Blocks
// are left to be unmapped by whoever had them dropped, when others may have their turn.
class KeptBlocks {
  public:
    // The newest of as many pages as so many bytes want, or null.
    Block* take(std::size_t bytes) {
        const std::size_t wanted = pages_for(bytes);
        if (const Turn turn(taken_); turn.mine)
            for (std::size_t i = count_; i-- > 0;)
                if (kept_[i].pages_bytes == wanted)
                    return remove(i);
        return nullptr;
    }
    Block* keep(Block* block) {
        if (block->pages_bytes > kept_bytes)
            return block;
        const Turn turn(taken_);
        if (!turn.mine)
            return block;
        Block* dropped = drop(most - 1, kept_bytes - block->pages_bytes);
        kept_[count_++] = {block->pages_bytes, block, false};
        bytes_ += block->pages_bytes;
        lend_older();
        return dropped;
    }
    Block* drop_all() {
        for (;;) {
            if (const Turn turn(taken_); turn.mine)
                return drop(0, 0);
            std::this_thread::yield();
        }
    }
    void leave() {
        if (taken_.test_and_set())
            count_ = bytes_ = 0;
        taken_.clear();
    }

  private:
    static constexpr std::size_t most = 256; // each of many threads gives back some
    // So much of the newest is not lent, as malloc keeps some: other threads feel each time that
    // pages are.
    static constexpr std::size_t own_bytes = std::size_t{64} << 20;

    struct Turn {
        std::atomic_flag& taken;
        const bool mine;
        explicit Turn(std::atomic_flag& flag) : taken(flag), mine(take(flag)) {}
        ~Turn() {
            if (mine)
                taken.clear(std::memory_order_release);
        }
        static bool take(std::atomic_flag& flag) {
            int tries = 1000;
            while (flag.test_and_set(std::memory_order_acquire))
                if (--tries == 0)
                    return false;
            return true;
        }
    };

    // Before others have their turn, as they might take what is being lent.
    void lend_older() {
        std::size_t newest = 0;
        for (std::size_t i = count_; i-- > 0 && !kept_[i].lent;) {
            newest += kept_[i].pages_bytes;
            kept_[i].lent = newest > own_bytes;
            if (kept_[i].lent)
                lend(kept_[i].block);
        }
    }
    Block* remove(std::size_t index) {
        Block* const block = kept_[index].block;
        bytes_ -= kept_[index].pages_bytes;
        std::move(kept_ + index + 1, kept_ + count_, kept_ + index);
        --count_;
        return block;
    }
    // The oldest, until no more than so much is left.
    Block* drop(std::size_t count, std::size_t bytes) {
        Block* dropped = nullptr;
        while (count_ > count || bytes_ > bytes) {
            Block* const oldest = remove(0);
            oldest->next = std::exchange(dropped, oldest);
        }
        return dropped;
    }

    std::atomic_flag taken_;
    struct Kept {
        std::size_t pages_bytes;
        Block* block;
        bool lent;
    } kept_[most]{};
    std::size_t count_ = 0, bytes_ = 0;
};

constinit KeptBlocks kept_blocks; // arrays may outlive whatever has a destructor

constexpr std::size_t to_line = 48; // from where a result begins

void* take(std::size_t bytes, Turns& of) {
    if (bytes > SIZE_MAX / 2)
        return nullptr;
    Block* block = kept_blocks.take(bytes);
    if (block == nullptr)
        block = map(bytes);
    if (block == nullptr) {
        unmap_all(kept_blocks.drop_all());
        block = map(bytes);
    }
    if (block == nullptr)
        return nullptr;
    block->place = next_place(of);
    return block->data();
}

} // namespace

Scratch::Scratch(std::int64_t doubles) {
    const auto bytes = static_cast<std::size_t>(times(doubles, sizeof(double)));
    if (doubles < 0 || bytes >= PTRDIFF_MAX)
        throw std::bad_alloc();
    void* data = nullptr;
    if (bytes < large_scratch)
        data = ::operator new(bytes, alignment);
    else if (auto* const block = static_cast<char*>(take(bytes + to_line, scratches)))
        data = block + to_line;
    else
        throw std::bad_alloc();
    memory_ = {static_cast<double*>(data), Free{bytes >= large_scratch}};
}

void Scratch::Free::operator()(double* p) const {
    if (kept)
        give_back_large(reinterpret_cast<char*>(p) - to_line);
    else
        ::operator delete(p, alignment);
}

void* take_large(std::size_t bytes) { return take(bytes, results); }

void give_back_large(void* data) { unmap_all(kept_blocks.keep(Block::of(data))); }

void leave_large() { kept_blocks.leave(); }

std::size_t room_of_large(void* data) {
    const Block& block = *Block::of(data);
    return block.pages_bytes - block.place;
}

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
