// The threads of a call, while it lasts: as many as it may have, or one where more do not pay.
//
// A thread that sleeps costs its caller some 50 microseconds to wake in a virtual machine, and less
// elsewhere, which is measured. That is too much for a call that comes alone and takes
// little longer. In a row of calls threads still wait for the next, or do so from then on.
#pragma once

#include <chrono>

namespace ropewalk {

class Team {
  public:
    // How long a call takes on one thread is told by the bytes that it could write meanwhile.
    Team(double bytes, int most_threads);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    int threads() const { return threads_; }

    // What it has cost a caller to wake those that slept.
    static void waking_took(std::chrono::nanoseconds time);
    // So long a thread waits for the next call before it sleeps.
    static constexpr std::chrono::microseconds waiting_time{50};

  private:
    const bool shares_; // at least among threads that wait
    int threads_;
};

} // namespace ropewalk
