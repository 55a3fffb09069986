#include "targets/dispatch.hpp"

#include <atomic>
#include <cstring>
#include <vector>
#ifdef ROPEWALK_HAS_AVX2
#include <cpuid.h>
#endif
#ifdef __APPLE__
#include <sys/sysctl.h>
#endif
#if defined(ROPEWALK_HAS_AVX512) && defined(__linux__)
#define ROPEWALK_HAS_AMX 1
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ropewalk {
namespace {

#ifdef ROPEWALK_HAS_AVX2
// What the processor says of itself; 0 where it has no such leaf. A virtual machine takes some
// microseconds to say it. __builtin_cpu_supports would be shorter, but Clang on Windows has no
// library for it.
struct Leaf {
    unsigned a = 0, b = 0, c = 0, d = 0;
    explicit Leaf(unsigned leaf, unsigned part = 0) {
        __get_cpuid_count(leaf, part, &a, &b, &c, &d);
    }
};

bool is_intel() { return Leaf(0).b == signature_INTEL_ebx; }

bool has(unsigned found, unsigned wanted) { return (found & wanted) == wanted; }

// Which registers the operating system saves: bits of XCR0.
unsigned saved_registers() {
    if (!has(Leaf(1).c, bit_OSXSAVE))
        return 0;
    unsigned low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}
#endif

#ifdef ROPEWALK_HAS_AVX512
bool has_avx512_bf16() { return has(Leaf(7, 1).a, 1U << 5); }

// macOS saves those of a thread only once it has used them, and says by name whether it will.
bool saves_large_vectors([[maybe_unused]] unsigned saved) {
#ifdef __APPLE__
    int found = 0;
    std::size_t size = sizeof found;
    return sysctlbyname("hw.optional.avx512f", &found, &size, nullptr, 0) == 0 && found != 0;
#else
    return has(saved, 0xe0);
#endif
}
#endif

std::vector<const Kernels*> probe() {
    std::vector<const Kernels*> found;
#ifdef ROPEWALK_HAS_AVX2
    const unsigned saved = saved_registers();
    const bool avx2 =
        has(saved, 0x6) && has(Leaf(1).c, bit_FMA | bit_F16C | bit_AVX) && has(Leaf(7).b, bit_AVX2);
#endif
#ifdef ROPEWALK_HAS_AVX512
    if (avx2 && saves_large_vectors(saved) &&
        has(Leaf(7).b, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL))
        found.push_back(&avx512_kernels);
#endif
#ifdef ROPEWALK_HAS_AVX2
    if (avx2)
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
        const Leaf cache(is_intel() ? 4 : 0x8000001d);
        const unsigned line = (cache.b & 0xfff) + 1, parts = (cache.b >> 12 & 0x3ff) + 1;
        return ((cache.b >> 22) + 1) * parts * line * (cache.c + 1) >= least;
    }();
    return large;
#else
    return false;
#endif
}

#ifdef ROPEWALK_HAS_AMX
constexpr int amx_registers = 18; // as Linux counts parts of a thread's state
#endif

bool has_matrices([[maybe_unused]] const Kernels& kernels) {
#ifdef ROPEWALK_HAS_AMX
    static const bool has_amx = [] {
        constexpr unsigned bfloat16 = 1U << 22, matrices = 1U << 24;
        constexpr long which_are_there = 0x1021; // ARCH_GET_XCOMP_SUPP
        std::uint64_t there = 0;
        return has(Leaf(7).d, bfloat16 | matrices) &&
               syscall(SYS_arch_prctl, which_are_there, &there) == 0 &&
               (there >> amx_registers & 1) != 0;
    }();
    return has_amx && kernels.matrices[0].many.score != nullptr;
#else
    return false;
#endif
}

bool uses_matrices(const Kernels& kernels) {
    if (!has_matrices(kernels))
        return false;
#ifdef ROPEWALK_HAS_AMX
    constexpr long ask = 0x1023; // ARCH_REQ_XCOMP_PERM
    // No static bool: in a child forked meanwhile nobody would ever have found it.
    static std::atomic<long> refused{-1};
    if (refused == -1)
        refused = syscall(SYS_arch_prctl, ask, amx_registers) == 0 ? 0 : 1;
    return refused == 0;
#else
    return false;
#endif
}

bool adds_pairs([[maybe_unused]] const Kernels& kernels) {
#ifdef ROPEWALK_HAS_AVX512
    static const bool fast = has_avx512_bf16() && !is_intel();
    return fast && kernels.pairs.score != nullptr;
#else
    return false;
#endif
}

bool rounds_lines([[maybe_unused]] const Kernels& kernels) {
#ifdef ROPEWALK_HAS_AVX512
    static const bool rounds = has_avx512_bf16();
    return rounds && kernels.lines.rotate_half != nullptr;
#else
    return false;
#endif
}

bool waits_for_second_cache() {
#ifdef ROPEWALK_HAS_AVX2
    static const bool intel = is_intel();
    return intel;
#else
    return false;
#endif
}

} // namespace ropewalk
