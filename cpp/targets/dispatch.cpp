#include "targets/dispatch.hpp"

#include <cstring>
#include <vector>
#ifdef ROPEWALK_HAS_AVX2
#include <cpuid.h>
#endif

namespace ropewalk {
namespace {

#ifdef ROPEWALK_HAS_AVX2
// Not every compiler's __builtin_cpu_supports knows this one.
bool has_f16c() {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

std::vector<const Kernels*> probe() {
    std::vector<const Kernels*> found;
#ifdef ROPEWALK_HAS_AVX512
    // These builtins ask the processor, and the operating system whether it saves the registers.
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        found.push_back(&avx512_kernels);
#endif
#ifdef ROPEWALK_HAS_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c())
        found.push_back(&avx2_kernels);
#endif
#ifdef ROPEWALK_HAS_NEON
    found.push_back(&neon_kernels); // every AArch64 processor has it
#endif
    found.push_back(&scalar_kernels);
    return found;
}

} // namespace

std::span<const Kernels* const> supported_kernels() {
    static const std::vector<const Kernels*> tables = probe();
    return tables;
}

const Kernels* find_kernels(const char* isa) {
    for (const Kernels* table : supported_kernels())
        if (isa == nullptr || *isa == '\0' || std::strcmp(isa, table->isa) == 0)
            return table;
    return nullptr;
}

bool has_large_first_cache() {
#ifdef ROPEWALK_HAS_AVX2
    static const bool large = [] {
        constexpr unsigned least = 48 << 10; // bytes
        unsigned a = 0, ways = 0, sets = 0, d = 0;
        if (__get_cpuid_count(0x8000001d, 0, &a, &ways, &sets, &d) == 0)
            return false; // not AMD's
        const unsigned line = (ways & 0xfff) + 1, parts = (ways >> 12 & 0x3ff) + 1;
        return ((ways >> 22) + 1) * parts * line * (sets + 1) >= least;
    }();
    return large;
#else
    return false;
#endif
}

bool waits_for_second_cache() {
#ifdef ROPEWALK_HAS_AVX2
    return __builtin_cpu_is("intel") != 0;
#else
    return false;
#endif
}

} // namespace ropewalk
