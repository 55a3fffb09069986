#include "plans/team.hpp"

#include <algorithm>
#include <atomic>

namespace ropewalk {
namespace {

using Clock = std::chrono::steady_clock;
using Time = std::chrono::nanoseconds;

// What pays among threads that wait, and how long one takes for it, roughly.
constexpr double least_bytes = 512 << 10;
constexpr Time least_time{20000};
// More counts as this: the caller had lost its processor meanwhile.
constexpr Time longest_waking{100000};

std::atomic<Clock::time_point> last_end{}; // of a call that others could share
std::atomic<Time> waking_time{least_time}; // as measured, of late

// A call that two threads share takes half of its time, and most of what it costs to wake one. Each
// that is left alone makes that count a little less: in the end one measures it again.
bool pays_to_wake(double bytes) {
    const Time waking = waking_time.load(std::memory_order_relaxed);
    if (bytes / least_bytes * least_time >= 1.5 * waking)
        return true;
    waking_time.store(waking - waking / 256, std::memory_order_relaxed);
    return false;
}

} // namespace

Team::Team(double bytes, int most_threads)
    : shares_(most_threads > 1 && bytes >= least_bytes), threads_(shares_ ? most_threads : 1) {
    if (shares_ && Clock::now() - last_end.load(std::memory_order_relaxed) > waiting_time &&
        !pays_to_wake(bytes))
        threads_ = 1;
}

Team::~Team() {
    if (shares_)
        last_end.store(Clock::now(), std::memory_order_relaxed);
}

void Team::waking_took(Time time) {
    const Time before = waking_time.load(std::memory_order_relaxed);
    waking_time.store(before + (std::min(time, longest_waking) - before) / 4,
                      std::memory_order_relaxed);
}

} // namespace ropewalk
