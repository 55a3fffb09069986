#include "plans/pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <csignal>
#include <pthread.h>
#endif
#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "plans/quota.hpp"
#include "plans/team.hpp"

namespace ropewalk {
namespace {

using Clock = std::chrono::steady_clock;

// Spinning as long as it takes to wake a thread keeps a series of calls fast. Where the last call
// came later, what is between them may need the processor, as threads of a BLAS do.
constexpr std::chrono::microseconds spin_time = Team::waiting_time;
// A worker that wakes on a processor of its own has come by then.
constexpr std::chrono::microseconds wake_time{60};

void pause() {
#if defined(__x86_64__)
    _mm_pause();
#else
    std::this_thread::yield();
#endif
}

template <class Condition>
bool spin_until(Condition condition) {
    const auto end = Clock::now() + spin_time;
    do {
        for (int i = 0; i < 64; ++i) {
            if (condition())
                return true;
            pause();
        }
    } while (Clock::now() < end);
    return condition();
}

// A worker that is woken may be put where its caller runs: in a virtual machine a processor that
// sleeps looks as if the host had taken it away. There it leaves, or the two would take turns for
// milliseconds, and so that it can, the caller gives way once, if nobody comes.
#if defined(__linux__)
int this_processor() { return sched_getcpu(); }

// Where workers may run: as the main thread, wherever the one may that started them, or calls.
bool allowed_processors(cpu_set_t& all) {
    return sched_getaffinity(getpid(), sizeof all, &all) == 0;
}

void go_anywhere() {
    if (cpu_set_t all; allowed_processors(all))
        sched_setaffinity(0, sizeof all, &all);
}

void leave(int processor) {
    cpu_set_t all;
    if (sched_getcpu() != processor || !allowed_processors(all))
        return;
    cpu_set_t others = all;
    CPU_CLR(static_cast<unsigned>(processor), &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof all, &all);
}

bool has_other_processors() {
    cpu_set_t all;
    return !allowed_processors(all) || CPU_COUNT(&all) > 1;
}

// How long a thread has had a processor, up to now where it has one.
std::chrono::nanoseconds processor_time(std::thread& thread) {
    clockid_t clock;
    timespec time{};
    if (pthread_getcpuclockid(thread.native_handle(), &clock) == 0)
        clock_gettime(clock, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

// From where it waits for a processor to this one, once that is free.
void bring(std::thread& thread) {
    cpu_set_t all, here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &here);
    if (allowed_processors(all) &&
        pthread_setaffinity_np(thread.native_handle(), sizeof here, &here) == 0)
        pthread_setaffinity_np(thread.native_handle(), sizeof all, &all);
}
#else
int this_processor() { return -1; }
void go_anywhere() {}
void leave(int) {}
bool has_other_processors() { return false; }
std::chrono::nanoseconds processor_time(std::thread&) { return Clock::now().time_since_epoch(); }
void bring(std::thread&) {}
#endif

// Signals but those of what a thread itself does wrong.
#if defined(__unix__) || defined(__APPLE__)
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
            sigdelset(&all, fault);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_{};
};
#else
struct SignalsBlocked {};
#endif

// Tasks that follow each other, of which `next` and those behind it have not been begun. Each is in
// a line of its own, which other threads only read once nothing is left.
struct alignas(64) Stretch {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;

    // The next one, or -1 where none is left.
    std::int64_t take() {
        if (next.load(std::memory_order_relaxed) >= end)
            return -1;
        const std::int64_t task = next.fetch_add(1, std::memory_order_relaxed);
        return task < end ? task : -1;
    }
    // How many are left, which nobody takes then.
    std::int64_t take_all() { return std::max<std::int64_t>(0, end - next.exchange(end)); }
};

// One call of run_tasks. Workers hold a share, so that one who comes late finds it done, not gone.
struct Job {
    Task task;
    Interruption& interruption; // the caller's, who waits until all is done
    int processor = this_processor();
    const int workers;        // beside the caller
    std::atomic<int> came{0}; // of them
    std::vector<Stretch> stretches;
    std::atomic<std::int64_t> unfinished;
    bool awaits = false; // the caller, workers that slept
    Clock::time_point began = Clock::now();

    Job(Task t, Interruption& i, std::int64_t count, int further, Order order)
        : task(t), interruption(i), workers(further),
          stretches(order == Order::own_first ? static_cast<std::size_t>(further) + 1 : 1),
          unfinished(count) {
        auto left = static_cast<std::int64_t>(stretches.size());
        for (std::int64_t next = 0; Stretch& stretch : stretches) {
            stretch.next = next;
            next += (count - next) / left--;
            stretch.end = next;
        }
    }

    void work(int worker) {
        const std::size_t own = static_cast<std::size_t>(worker), all = stretches.size();
        for (std::size_t k = 0; k < all; ++k)
            work(worker, stretches[(own + k) % all]);
    }
    void work(int worker, Stretch& of) {
        for (std::int64_t i; (i = of.take()) >= 0;) {
            std::int64_t done = 1;
            if (interruption.stops(worker)) // nobody has the tasks from here on
                for (Stretch& stretch : stretches)
                    done += stretch.take_all();
            else
                task(i, worker);
            unfinished.fetch_sub(done, std::memory_order_acq_rel);
            if (worker == 0 && awaits && Clock::now() - began > wake_time)
                give_way();
        }
    }
    void give_way() {
        awaits = false;
        if (came.load(std::memory_order_relaxed) == 0 && has_other_processors())
            std::this_thread::yield();
    }
    bool done() const { return unfinished.load(std::memory_order_acquire) == 0; }
};

struct Worker {
    const int number; // from 1 on: the caller is 0
    std::thread thread;
    std::condition_variable wake; // by itself: a call wakes no more than it has tasks for
    bool sleeps = false;
    std::atomic<bool> works{false}; // at a job
    std::chrono::nanoseconds had{}; // of a processor, when it was last looked at

    explicit Worker(int n) : number(n) {}
    // Whether it works and has had hardly any of a processor since the last look, `spin_time` ago.
    bool stands() {
        if (!works.load(std::memory_order_relaxed))
            return false;
        const auto before = std::exchange(had, processor_time(thread));
        return had - before < spin_time / 4;
    }
};

class Pool;
std::atomic<Pool*> the_pool{nullptr};

// Lives as long as the process once it has threads, which nobody joins.
class Pool {
  public:
    // False, and nothing done, when another call holds the pool.
    bool try_run(std::int64_t count, int threads, Task task, Interruption& interruption,
                 Order order) {
        if (busy_.test_and_set(std::memory_order_acquire))
            return false;
        struct Held { // given back too where there is no memory for a job
            std::atomic_flag& flag;
            ~Held() { flag.clear(std::memory_order_release); }
        } const held{busy_};
        const int workers = static_cast<int>(std::min<std::int64_t>(count, threads)) - 1;
        const bool started = grow(workers);
        const auto job = std::make_shared<Job>(task, interruption, count, workers, order);
        bool slept = false;
        {
            const std::lock_guard lock(mutex_);
            job_ = job;
            last_call_ = job->began;
            calls_.fetch_add(1, std::memory_order_release);
            each_of(*job, [&](Worker& worker) { slept |= std::exchange(worker.sleeps, false); });
            job->awaits = started || slept;
        }
        if (slept)
            each_of(*job, [](Worker& worker) { worker.wake.notify_one(); });
        if (slept && !started)
            Team::waking_took(Clock::now() - job->began);
        job->work(0);
        watch(*job);
        while (!left() && !wait_for(*job))
            interruption.look(); // without the lock: a signal may take long, and call again
        if (left())
            return true;
        const std::lock_guard lock(mutex_);
        job_.reset();
        return true;
    }

  private:
    template <class Function>
    void each_of(const Job& job, Function function) {
        for (Worker& worker : workers_)
            if (worker.number <= job.workers)
                function(worker);
    }

    // Until the last tasks of the others are done, or a worker with one of them has lost its
    // processor, for milliseconds where other threads spin, as those of a BLAS do long after a
    // call. It gets that of its caller, who has to sleep then.
    void watch(Job& job) {
        bool brought = false;
        while (!brought && !left() && !spin_until([&] { return job.done(); })) {
            job.interruption.look();
            if (left())
                return;
            for (Worker& worker : workers_)
                if (worker.stands()) {
                    bring(worker.thread);
                    brought = true;
                }
        }
    }

    // Whether a signal has forked, and this is the child: the workers are not in it, and one of
    // them may have had the lock.
    bool left() const { return the_pool.load(std::memory_order_relaxed) != this; }

    // Sleeps until it is done, or as long as signals may wait; returns whether it is.
    bool wait_for(const Job& job) {
        std::unique_lock lock(mutex_);
        return ended_.wait_for(lock, Interruption::interval, [&] { return job.done(); });
    }

    // Whether threads were started. The program's signals are for its own threads.
    bool grow(int workers) {
        const std::size_t before = workers_.size();
        if (static_cast<int>(before) >= workers)
            return false;
        [[maybe_unused]] const SignalsBlocked blocked; // in those that are started, too
        while (static_cast<int>(workers_.size()) < workers) {
            Worker& worker = workers_.emplace_back(static_cast<int>(workers_.size()) + 1);
            const auto serves = [this, &worker, seen = calls_.load()] { serve(worker, seen); };
            try {
                worker.thread = std::thread(serves);
            } catch (const std::exception&) {
                workers_.pop_back(); // no more threads, or no memory: those there are do the work
                break;
            }
        }
        return workers_.size() > before;
    }

    void serve(Worker& worker, std::uint64_t seen) {
        go_anywhere();
        for (bool soon = true;;) { // whether calls follow each other that soon
            const auto called = [&] { return calls_.load(std::memory_order_acquire) != seen; };
            const Clock::time_point since = Clock::now();
            if (soon)
                spin_until(called);
            std::shared_ptr<Job> job;
            {
                std::unique_lock lock(mutex_);
                worker.sleeps = true;
                worker.wake.wait(lock, called);
                worker.sleeps = false;
                seen = calls_.load(std::memory_order_acquire);
                job = job_;
                const bool needed = !job || worker.number <= job->workers; // or it is over
                soon = needed && last_call_ - since < spin_time;
            }
            if (job && worker.number <= job->workers) {
                job->came.fetch_add(1, std::memory_order_relaxed);
                worker.works.store(true, std::memory_order_relaxed);
                leave(job->processor);
                job->work(worker.number);
                worker.works.store(false, std::memory_order_relaxed);
                const std::lock_guard lock(mutex_);
                ended_.notify_one();
            }
        }
    }

    std::atomic_flag busy_; // no mutex: a signal handler may call again from the same thread
    std::mutex mutex_;
    std::condition_variable ended_;
    std::atomic<std::uint64_t> calls_{0};
    std::shared_ptr<Job> job_;
    Clock::time_point last_call_;
    std::deque<Worker> workers_;
};

Pool& pool() {
    Pool* found = the_pool.load(std::memory_order_acquire);
    if (found == nullptr) {
        auto made = std::make_unique<Pool>();
        if (the_pool.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel))
            found = made.release();
    }
    return *found;
}

} // namespace

bool Interruption::stops(int worker) {
    if (worker == 0 && ++asked_ >= questions_) {
        asked_ = 0;
        look();
    }
    return stopped_.load(std::memory_order_relaxed);
}

void Interruption::look() {
    if (signalled == nullptr || stopped_.load(std::memory_order_relaxed))
        return;
    const Clock::time_point now = Clock::now(), next = next_;
    if (now < next)
        return;
    next_ = now + interval;
    if (next == Clock::time_point{}) {
        asked_ = questions_ - 2; // the next look but one question on: tasks may be few
        return;
    }
    if (now > next + interval) // the tasks are large
        questions_ = 1;
    stopped_.store(signalled(), std::memory_order_relaxed);
    // To ask takes milliseconds where another thread runs Python, more where one keeps the lock.
    const Clock::time_point answered = Clock::now();
    next_ = std::max(next_, answered + std::min<Clock::duration>(20 * (answered - now), longest));
}

void run_tasks(std::int64_t count, int threads, Task task, Interruption& interruption,
               Order order) {
    if (count > 1 && threads > 1 && pool().try_run(count, threads, task, interruption, order))
        return;
    for (std::int64_t i = 0; i < count && !interruption.stops(0); ++i)
        task(i, 0);
}

void run_tasks(std::int64_t count, int threads, Task task) {
    Interruption interruption;
    run_tasks(count, threads, task, interruption);
}

void leave_pool() { the_pool.store(nullptr); }

int available_threads() {
    int count = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
    if (cpu_set_t all; allowed_processors(all))
        count = CPU_COUNT(&all);
    if (const double quota = std::ceil(processor_quota()); quota < count)
        count = static_cast<int>(quota);
#endif
    return count > 0 ? count : 1;
}

} // namespace ropewalk
