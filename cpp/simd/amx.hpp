// Matrices of bfloat16 in the registers of AMX, beside AVX-512: eight of sixteen rows, each of
// sixteen float32 or thirty-two bfloat16.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace {

// Assembly: the functions of compilers want numbers of registers as literals, not as arguments of
// templates, and flags that would allow such instructions elsewhere too.
struct Amx {
    // In between this thread uses the registers.
    static void start() {
        alignas(64) std::uint8_t shape[64] = {1}; // the first of the ways to divide them
        for (int i = 0; i < 8; ++i) {             // registers
            shape[16 + 2 * i] = 64;               // bytes of a row
            shape[48 + i] = 16;                   // rows
        }
        __asm__ volatile("ldtilecfg %0" ::"m"(shape));
    }
    static void stop() { __asm__ volatile("tilerelease"); }

    template <int to>
    static void clear() {
        __asm__ volatile("tilezero %%tmm%c0" ::"i"(to));
    }
    // Rows lie so many bytes apart.
    template <int to>
    static void load(const void* p, std::int64_t apart) {
        __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(apart), "i"(to) : "memory");
    }
    template <int from>
    static void store(void* p, std::int64_t apart) {
        __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(apart), "i"(from)
                         : "memory");
    }
    // sums[i][j] += a[i][2 k] b[k][2 j] + a[i][2 k + 1] b[k][2 j + 1]
    template <int sums, int a, int b>
    static void multiply() {
        __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(a), "i"(b));
    }

    // Pairs of bfloat16, one from each.
    static __m512 pairs(__m256i a, __m256i b) {
        const __m512i low = _mm512_cvtepu16_epi32(a), high = _mm512_cvtepu16_epi32(b);
        return _mm512_castsi512_ps(_mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
    }
    // Numbers as two bfloat16 each, within 2^-16 of themselves: pairs of the first ones, rounded
    // towards 0, and pairs of the rests, rounded to the nearest.
    static void split(__m512 a, __m512 b, __m512& first, __m512& rest) {
        first = upper_halves(a, b);
        rest =
            upper_halves(half_more(_mm512_sub_ps(a, odd(a))), half_more(_mm512_sub_ps(b, odd(b))));
    }
    static __m512 even(__m512 pairs) {
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(pairs), 16));
    }
    static __m512 odd(__m512 pairs) {
        return _mm512_and_ps(pairs, _mm512_castsi512_ps(_mm512_set1_epi32(-0x10000)));
    }

  private:
    // What is rounded up from half a unit of its upper half on, once that is taken.
    static __m512 half_more(__m512 v) {
        return _mm512_castsi512_ps(
            _mm512_add_epi32(_mm512_castps_si512(v), _mm512_set1_epi32(0x8000)));
    }
    // The upper halves of float32 are bfloat16, rounded towards 0.
    static __m512 upper_halves(__m512 a, __m512 b) {
        const __m512i low = _mm512_srli_epi32(_mm512_castps_si512(a), 16);
        return _mm512_castsi512_ps(
            _mm512_mask_blend_epi16(0xaaaaaaaa, low, _mm512_castps_si512(b)));
    }
};

} // namespace
