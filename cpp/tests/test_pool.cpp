// Every task runs once: from one caller, from several at once, from a task itself, with more or
// fewer threads than before, in either order; and threads are woken where that pays. Meant to be
// run under ThreadSanitizer too.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

#include "plans/pool.hpp"
#include "plans/team.hpp"

#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#endif

namespace {

std::atomic<int> failures{0};

void check_one_call(std::int64_t tasks, int threads, ropewalk::Order order) {
    std::vector<int> runs(static_cast<std::size_t>(tasks), 0);
    // What a worker owns needs no lock: its number is its own.
    std::vector<int> by_worker(static_cast<std::size_t>(threads), 0);
    const auto count = [&](std::int64_t i, int worker) {
        ++runs[static_cast<std::size_t>(i)];
        ++by_worker.at(static_cast<std::size_t>(worker));
    };
    ropewalk::Interruption interruption;
    ropewalk::run_tasks(tasks, threads, ropewalk::Task(count), interruption, order);
    if (std::accumulate(by_worker.begin(), by_worker.end(), 0) != tasks) {
        std::printf("workers count %lld tasks wrongly\n", static_cast<long long>(tasks));
        ++failures;
    }
    for (const int n : runs)
        if (n != 1) {
            std::printf("a task of %lld ran %d times\n", static_cast<long long>(tasks), n);
            ++failures;
        }
}

void check_one_call(std::int64_t tasks, int threads) {
    for (const auto order : {ropewalk::Order::own_first, ropewalk::Order::next_first})
        check_one_call(tasks, threads, order);
}

void check_many_calls() {
    for (int repeat = 0; repeat < 300; ++repeat)
        for (const int threads : {1, 2, 4, 3})
            check_one_call(97, threads);
}

void check_nested_calls() {
    const auto call = [](std::int64_t, int) { check_one_call(13, 4); };
    ropewalk::run_tasks(7, 4, ropewalk::Task(call));
}

// Who is done first takes the tasks of others, too.
void check_a_slow_worker() {
    std::vector<std::int64_t> begun;
    const auto begin = [&](std::int64_t i, int worker) {
        if (worker == 0)
            begun.push_back(i);
        else
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
    };
    ropewalk::run_tasks(40, 2, ropewalk::Task(begin));
    if (begun.size() < 30 || !std::is_sorted(begun.begin(), begun.end())) {
        std::printf("a caller who is faster began %zu of 40 tasks\n", begun.size());
        ++failures;
    }
}

// Once signalled, tasks that have not begun are left out, and the pool is ready for the next call.
void check_interrupted_calls() {
    ropewalk::Interruption::signalled = [] { return true; };
    for (const int threads : {1, 3}) {
        std::atomic<int> runs{0};
        const auto wait = [&](std::int64_t, int) {
            ++runs;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        };
        ropewalk::run_tasks(1000, threads, ropewalk::Task(wait));
        if (runs > 500) {
            std::printf("%d tasks ran in spite of a signal\n", runs.load());
            ++failures;
        }
    }
    ropewalk::Interruption::signalled = nullptr;
    check_one_call(97, 3);
}

// Large tasks look at the clock one by one, once that is known: at every eighth, the second time
// that signals are looked for would be after 23 of them.
void check_interrupted_large_tasks() {
    static int asked;
    asked = 0;
    ropewalk::Interruption::signalled = [] { return ++asked == 2; };
    int runs = 0;
    const auto wait = [&](std::int64_t, int) {
        ++runs;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    ropewalk::run_tasks(100, 1, ropewalk::Task(wait));
    ropewalk::Interruption::signalled = nullptr;
    if (runs > 19) {
        std::printf("%d large tasks ran until signals were looked for twice\n", runs);
        ++failures;
    }
}

// A caller who waits for others looks for signals as often as one who works. Nothing is locked
// meanwhile: what a signal calls may call again.
void check_a_waiting_caller() {
    static std::atomic<int> asked;
    asked = 0;
    ropewalk::Interruption::signalled = [] {
        ++asked;
        check_one_call(13, 3);
        return false;
    };
    std::atomic<bool> begun{false};
    const auto wait = [&](std::int64_t, int worker) {
        if (worker != 0) {
            begun = true;
            std::this_thread::sleep_for(std::chrono::seconds(1));
        }
        for (int i = 0; i < 2000 && !begun; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    ropewalk::run_tasks(2, 2, ropewalk::Task(wait));
    ropewalk::Interruption::signalled = nullptr;
    if (asked < 5) {
        std::printf("a caller who waited for a second looked for signals %d times\n", asked.load());
        ++failures;
    }
}

void check_sleeping_workers() {
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        check_one_call(5, 3);
    }
}

int team_after_a_rest(double bytes) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ropewalk::Team(bytes, 4).threads();
}

void expect_threads(int threads, int expected, const char* call) {
    if (threads != expected) {
        std::printf("%s has %d threads, not %d\n", call, threads, expected);
        ++failures;
    }
}

// A call that comes alone has others only if it takes longer than to wake them, which it is told.
void check_teams() {
    const auto waking_takes = [](std::chrono::nanoseconds time) {
        for (int repeat = 0; repeat < 100; ++repeat)
            ropewalk::Team::waking_took(time);
    };
    using namespace std::chrono_literals;
    expect_threads(team_after_a_rest(1e9), 4, "a long call");
    expect_threads(ropewalk::Team(1e9, 1).threads(), 1, "a long call of one thread");
    waking_takes(5us);
    expect_threads(team_after_a_rest(6e5), 4, "a call, where to wake takes 5 microseconds,");
    expect_threads(ropewalk::Team(5e5, 4).threads(), 1, "a small call right after another");
    waking_takes(60us);
    expect_threads(team_after_a_rest(2e6), 1, "a call, where to wake takes 60 microseconds,");
    expect_threads(team_after_a_rest(3e6), 4, "a longer one");
    int in_the_end = 1;
    for (int repeat = 0; repeat < 200 && in_the_end == 1; ++repeat)
        in_the_end = team_after_a_rest(2e6);
    expect_threads(in_the_end, 4, "a call that was often left alone");
    int in_a_row = 1;
    for (int repeat = 0; repeat < 1000 && in_a_row == 1; ++repeat)
        in_a_row = ropewalk::Team(6e5, 4).threads();
    expect_threads(in_a_row, 4, "a call right after another");
    waking_takes(1s); // the caller had lost its processor
    expect_threads(team_after_a_rest(4e6), 4, "a call, where to wake seems to take a second,");
}

// The pool tells what it takes.
void check_a_measured_team() {
    for (int repeat = 0; repeat < 20; ++repeat) {
        for (int call = 0; call < 100; ++call)
            ropewalk::Team::waking_took(std::chrono::seconds(1));
        for (int call = 0; call < 50; ++call) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            check_one_call(5, 3);
        }
        if (team_after_a_rest(3.9e6) == 4)
            return;
    }
    std::printf("nobody has told how long it takes to wake a thread\n");
    ++failures;
}

// A worker that has left its caller's processor, or was brought to it because another thread had
// its own, may run where it might before: wherever the main thread may.
void check_processors([[maybe_unused]] int calls, [[maybe_unused]] std::chrono::milliseconds rest) {
#if defined(__linux__)
    cpu_set_t all;
    if (sched_getaffinity(getpid(), sizeof all, &all) != 0)
        return;
    const auto may_run_anywhere = [&] {
        cpu_set_t own;
        return sched_getaffinity(0, sizeof own, &own) == 0 && CPU_EQUAL(&own, &all) != 0;
    };
    const auto compare = [&](std::int64_t, int worker) {
        // A worker that is brought may run before its caller has let it go again.
        bool may = worker == 0 || may_run_anywhere();
        for (int i = 0; i < 1000 && !may; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            may = may_run_anywhere();
        }
        if (!may) {
            std::printf("a worker is kept from processors\n");
            ++failures;
        }
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
        while (std::chrono::steady_clock::now() < end) {
        }
    };
    for (int call = 0; call < calls; ++call) {
        std::this_thread::sleep_for(rest);
        ropewalk::run_tasks(10, 3, ropewalk::Task(compare));
    }
#endif
}

// Calls of a thread that may run on one processor only, among them the first of the process.
void check_a_caller_on_one_processor(int calls) {
    std::thread([calls] {
#if defined(__linux__)
        cpu_set_t here;
        CPU_ZERO(&here);
        CPU_SET(static_cast<unsigned>(sched_getcpu()), &here);
        if (sched_setaffinity(0, sizeof here, &here) != 0)
            return;
#endif
        check_processors(calls, std::chrono::milliseconds(0));
    }).join();
}

void check_beside_a_spinning_thread() {
    std::atomic<bool> ended{false};
    std::thread spinning([&] {
        while (!ended) {
        }
    });
    check_a_caller_on_one_processor(200);
    check_processors(200, std::chrono::milliseconds(0));
    ended = true;
    spinning.join();
}

} // namespace

int main() {
    check_a_caller_on_one_processor(20);
    check_one_call(0, 4);
    check_one_call(1, 4);
    check_many_calls();
    check_nested_calls();
    check_a_slow_worker();
    check_sleeping_workers();
    check_teams();
    check_a_measured_team();
    check_processors(20, std::chrono::milliseconds(2));
    check_beside_a_spinning_thread();
    check_interrupted_calls();
    check_interrupted_large_tasks();
    check_a_waiting_caller();
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i)
        callers.emplace_back(check_many_calls);
    for (std::thread& caller : callers)
        caller.join();
    return failures != 0;
}
