// Memory of large results is nobody else's while it is held, from many threads at once; two begin
// at other places in a page, where NumPy's own do not. Memory to work in begins with a line. Meant
// to be run under ThreadSanitizer too.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "plans/memory.hpp"

#if defined(__linux__)
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace {

using ropewalk::give_back_large;
using ropewalk::room_of_large;
using ropewalk::Scratch;
using ropewalk::take_large;

std::atomic<int> failures{0};

void expect(bool condition, const char* what) {
    if (!condition) {
        std::printf("%s\n", what);
        ++failures;
    }
}

// Ends and middle of what is held are as they were written, though others take and give back.
void hold_and_look(unsigned char mine) {
    constexpr std::size_t mib = std::size_t{1} << 20;
    struct Held {
        unsigned char* data;
        std::size_t bytes;
    };
    std::vector<Held> all;
    const auto places = [](Held held) {
        return std::vector{held.data, held.data + held.bytes / 2, held.data + held.bytes - 1};
    };
    for (std::size_t turn = 0; turn < 400; ++turn) {
        const std::size_t bytes = (turn * 7 + mine) % 13 * mib + 1 + turn;
        auto* const data = static_cast<unsigned char*>(take_large(bytes));
        if (data == nullptr)
            return expect(false, "no memory");
        expect(room_of_large(data) >= bytes, "less room than was asked for");
        all.push_back({data, bytes});
        for (unsigned char* const place : places(all.back()))
            *place = mine;
        if (all.size() == 6) {
            const auto oldest = all.begin() + static_cast<std::ptrdiff_t>(turn % 6);
            for (const unsigned char* const place : places(*oldest))
                expect(*place == mine, "memory that is held was written by another");
            give_back_large(oldest->data);
            all.erase(oldest);
        }
    }
    for (const Held& held : all)
        give_back_large(held.data);
}

void check_threads() {
    std::vector<std::thread> threads;
    for (unsigned char i = 1; i <= 4; ++i)
        threads.emplace_back(hold_and_look, i);
    for (std::thread& thread : threads)
        thread.join();
}

std::uintptr_t page_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data) / 4096; }

std::int64_t place_in_page(const void* data) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) % 4096);
}

void check_places() {
    void* const first = take_large(ropewalk::large_bytes);
    void* const second = take_large(ropewalk::large_bytes);
    expect(first != nullptr && first != second, "two results in one place");
    const std::int64_t place = place_in_page(first), other = place_in_page(second);
    expect(place % 64 == 16 && other % 64 == 16, "lines do not end where those of NumPy do");
    for (const std::int64_t apart : {place - 16, other - 16, place - other})
        expect(std::abs(apart) >= 512 && std::abs(apart) <= 4096 - 512,
               "two arrays begin at about one place of a page");
    give_back_large(first);
    void* const third = take_large(ropewalk::large_bytes);
    expect(page_of(third) == page_of(first), "what was kept is not used");
    expect(third != first, "what is kept begins at the same place each time");
    give_back_large(second);
    give_back_large(third);
    expect(take_large(~std::size_t{0}) == nullptr, "more than any memory was found");
}

void check_scratch() {
    constexpr std::int64_t kept = 1 << 13; // doubles
    for (const std::int64_t doubles : {std::int64_t{1}, kept / 4, kept, 10 * kept}) {
        const double* before = nullptr;
        for (int turn = 0; turn < 2; ++turn) {
            const Scratch first(doubles), second(doubles);
            for (const Scratch* one : {&first, &second}) {
                expect(place_in_page(one->data()) % 64 == 0, "it begins within a line");
                one->data()[0] = one->data()[doubles - 1] = turn;
            }
            const std::int64_t apart = second.data() - first.data();
            expect(std::abs(apart) >= doubles, "two are in one place");
            expect(turn == 0 || doubles < kept || page_of(first.data()) == page_of(before),
                   "it was not kept");
            before = first.data(); // the last to be given back
        }
    }
    for (const std::int64_t doubles : {std::int64_t{-1}, INT64_MAX / 4, INT64_MAX})
        try {
            const Scratch none(doubles);
            expect(false, "more than any memory was found");
        } catch (const std::bad_alloc&) {
            continue;
        }
}

// What is given back is kept in a child, too, though another thread took or gave back at the fork.
void check_forks() {
#if defined(__linux__)
    pthread_atfork(nullptr, nullptr, ropewalk::leave_large);
    std::atomic<bool> ended{false};
    std::thread other([&] {
        while (!ended)
            give_back_large(take_large(ropewalk::large_bytes));
    });
    for (int turn = 0; turn < 200; ++turn) {
        const pid_t child = fork();
        if (child == 0) {
            auto* const data = static_cast<unsigned char*>(take_large(ropewalk::large_bytes));
            data[0] = 1;
            give_back_large(data);
            const void* const again = take_large(ropewalk::large_bytes);
            _exit(page_of(again) == page_of(data) && data[0] == 1 ? 0 : 1);
        }
        int status = 1;
        waitpid(child, &status, 0);
        expect(status == 0, "a child does not keep what it gives back");
    }
    ended = true;
    other.join();
#endif
}

} // namespace

int main() {
    check_places();
    check_scratch();
    check_threads();
    check_forks();
    check_places();
    std::printf("%d failures\n", failures.load());
    return failures.load() == 0 ? 0 : 1;
}
