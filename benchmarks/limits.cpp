// What the machine can do at best: built by measure.py with the system's compiler when a benchmark
// starts, with the library's own pool, so that two threads cost the limit what they cost us.
#include <cstdint>
#include <cstring>

#include "plans/pool.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr std::int64_t piece = std::int64_t{256} << 10;

void read_words(const char* p, std::int64_t bytes) {
    std::uint64_t all[8] = {};
    for (std::int64_t i = 0; i + 64 <= bytes; i += 64)
        for (int j = 0; j < 8; ++j) {
            std::uint64_t part;
            std::memcpy(&part, p + i + 8 * j, sizeof part);
            all[j] |= part;
        }
    asm volatile("" : : "m"(all));
}

template <class Function>
void in_pieces(std::int64_t bytes, int threads, Function function) {
    const auto task = [&](std::int64_t i, int) {
        const std::int64_t begin = i * piece;
        function(begin, begin + piece < bytes ? piece : bytes - begin);
    };
    ropewalk::run_tasks((bytes + piece - 1) / piece, threads, ropewalk::Task(task));
}

} // namespace

extern "C" void fill_memory(char* p, std::int64_t bytes, int threads) {
    if (threads == 1)
        std::memset(p, 1, static_cast<std::size_t>(bytes));
    else
        in_pieces(bytes, threads, [&](std::int64_t at, std::int64_t size) {
            std::memset(p + at, 1, static_cast<std::size_t>(size));
        });
}

extern "C" void copy_memory(const char* from, char* to, std::int64_t bytes, int threads) {
    if (threads == 1)
        std::memcpy(to, from, static_cast<std::size_t>(bytes));
    else
        in_pieces(bytes, threads, [&](std::int64_t at, std::int64_t size) {
            std::memcpy(to + at, from + at, static_cast<std::size_t>(size));
        });
}

// Loads, and stores that pass the cache by; `to` is a multiple of 16 bytes, and bytes of 64.
extern "C" void stream_copy(const char* from, char* to, std::int64_t bytes, int threads) {
#if defined(__x86_64__)
    in_pieces(bytes, threads, [&](std::int64_t at, std::int64_t size) {
        const auto* p = reinterpret_cast<const float*>(from + at);
        for (auto* q = reinterpret_cast<float*>(to + at); size > 0; size -= 64, p += 16, q += 16)
            for (int i = 0; i < 16; i += 4)
                _mm_stream_ps(q + i, _mm_loadu_ps(p + i));
        _mm_sfence();
    });
#else
    copy_memory(from, to, bytes, threads);
#endif
}

// Stores that pass the cache by; p is a multiple of 16 bytes, and bytes of 64.
extern "C" void stream_memory(char* p, std::int64_t bytes, int threads) {
#if defined(__x86_64__)
    in_pieces(bytes, threads, [&](std::int64_t at, std::int64_t size) {
        const __m128 ones = _mm_set1_ps(1.0F);
        for (auto* q = reinterpret_cast<float*>(p + at); size > 0; size -= 64, q += 16) {
            _mm_stream_ps(q, ones);
            _mm_stream_ps(q + 4, ones);
            _mm_stream_ps(q + 8, ones);
            _mm_stream_ps(q + 12, ones);
        }
        _mm_sfence();
    });
#else
    fill_memory(p, bytes, threads);
#endif
}

#if defined(__x86_64__)
namespace {

// Multiply and add as often as registers allow; GCC and Clang compile each for its processors.
__attribute__((target("avx512f"))) double multiply_add_512(std::int64_t rounds) {
    __m512 sums[24];
    for (__m512& sum : sums)
        sum = _mm512_set1_ps(1.0F);
    const __m512 x = _mm512_set1_ps(0.5F);
    for (std::int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 24
        for (__m512& sum : sums) {
            sum = _mm512_fmadd_ps(sum, x, x);
            asm volatile("" : "+v"(sum));
        }
    return static_cast<double>(rounds) * 24 * 16 * 2;
}

__attribute__((target("avx2,fma"))) double multiply_add_256(std::int64_t rounds) {
    __m256 sums[12];
    for (__m256& sum : sums)
        sum = _mm256_set1_ps(1.0F);
    const __m256 x = _mm256_set1_ps(0.5F);
    for (std::int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
        for (__m256& sum : sums) {
            sum = _mm256_fmadd_ps(sum, x, x);
            asm volatile("" : "+x"(sum));
        }
    return static_cast<double>(rounds) * 12 * 8 * 2;
}

__attribute__((target("avx2"))) void read_vectors(const char* p, std::int64_t bytes) {
    __m256i all[4] = {};
    for (std::int64_t i = 0; i + 128 <= bytes; i += 128)
        for (int j = 0; j < 4; ++j)
            all[j] = _mm256_or_si256(
                all[j], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i + 32 * j)));
    for (__m256i& part : all)
        asm volatile("" : "+x"(part));
}

void read_lines(const char* p, std::int64_t bytes) {
    if (__builtin_cpu_supports("avx2"))
        read_vectors(p, bytes);
    else
        read_words(p, bytes);
}

} // namespace

// Float32 operations done, two for each multiplication with addition; 0 without such registers.
extern "C" double multiply_add(std::int64_t rounds, int threads) {
    double (*const run)(std::int64_t) = __builtin_cpu_supports("avx512f") ? multiply_add_512
                                        : __builtin_cpu_supports("fma")   ? multiply_add_256
                                                                          : nullptr;
    if (run == nullptr)
        return 0;
    const auto task = [&](std::int64_t, int) { run(rounds); };
    ropewalk::run_tasks(threads, threads, ropewalk::Task(task));
    return run(1) * static_cast<double>(rounds) * threads;
}
#else
namespace {

void read_lines(const char* p, std::int64_t bytes) { read_words(p, bytes); }

} // namespace

extern "C" double multiply_add(std::int64_t, int) { return 0; }
#endif

extern "C" void read_memory(const char* p, std::int64_t bytes, int threads) {
    in_pieces(bytes, threads,
              [&](std::int64_t at, std::int64_t size) { read_lines(p + at, size); });
}
