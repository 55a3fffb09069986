// One pool of threads for the process: lazy, safe to fork, polite to other pools.
//
// Workers start with the first call that is worth them, spin for some tens of microseconds after a
// call, where calls follow each other so soon, and then sleep, and are never pinned; one that wakes
// on its caller's processor goes to another, and one that has lost its own to other threads is
// brought to its caller's at the end. The caller works too, and whoever is done takes tasks that
// others have not begun, so a worker that wakes late delays nothing. A call that finds the pool
// taken, by another thread or by itself further up, runs alone. A forked child starts afresh.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ropewalk {

// Ends a call early when `signalled` says so, which the calling thread asks some times a second.
class Interruption {
  public:
    // Whether to leave the rest undone: asked between tasks, and inside those that may be long, by
    // the thread of that number.
    bool stops(int worker);
    // Asks whether it is to, if that has not been asked for an interval: on the calling thread.
    void look();

    // Set before any call; null asks nothing. Runs on the calling thread, worker 0.
    inline static bool (*signalled)() = nullptr;
    static constexpr std::chrono::milliseconds interval{50}, longest{500};

  private:
    using Clock = std::chrono::steady_clock;
    std::atomic<bool> stopped_{false};
    // So many questions are one look at the clock, which takes a moment among small tasks: the
    // second of them, which calls of one small task do not ask, is the first look.
    int questions_ = 8;
    int asked_ = 6;
    Clock::time_point next_{}; // once it has been looked at
};

// Not owning: lives no longer than the call it is passed to.
class Task {
  public:
    template <class Function>
    explicit Task(const Function& function) : function_(&function), call_(&call<Function>) {}
    void operator()(std::int64_t index, int worker) const { call_(function_, index, worker); }

  private:
    template <class Function>
    static void call(const void* function, std::int64_t index, int worker) {
        (*static_cast<const Function*>(function))(index, worker);
    }

    const void* function_;
    void (*call_)(const void*, std::int64_t, int);
};

// Which tasks a thread takes first: those of a stretch of its own, the same one in every call of as
// many tasks, whose data may still be in its caches; or whichever is next, where tasks take less
// and less time.
enum class Order : std::uint8_t { own_first, next_first };

// task(0, w) .. task(count - 1, w) on up to `threads` threads, w being the thread's number from 0
// on; returns when all are done, or when the interruption stops those that have not begun. Tasks
// must not throw, and so must not allocate.
void run_tasks(std::int64_t count, int threads, Task task, Interruption& interruption,
               Order order = Order::own_first);
void run_tasks(std::int64_t count, int threads, Task task);

// In a forked child, which has none of the workers: the next call starts some.
void leave_pool();

// What the process may use: its processor affinity, cut by the quota of its control groups
// rounded up, at least 1.
int available_threads();

} // namespace ropewalk
