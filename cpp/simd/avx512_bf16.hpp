// bfloat16 beside AVX-512, as AVX512_BF16 has it: pairs that are multiplied, and rounding.
#pragma once

#include "simd/avx512.hpp"

namespace {

struct Pairs : Simd {
    // In each lane c plus the product of the second elements of a and b, plus that of the first:
    // rounded after each, and numbers below the normal ones count as 0. Assembly: the functions of
    // compilers want a flag that would allow such instructions elsewhere too.
    static F32 fma(F32 a, F32 b, F32 c) {
        __asm__("vdpbf16ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
        return c;
    }
    // Both elements of each pair change places.
    static U16 first_added_first(U16 v) { return _mm256_rol_epi32(v, 16); }

    // The smallest elements that are not 0.
    class Sizes {
      public:
        void take(U16 v) { // less 1, by which 0 becomes the largest number
            const U16 size = _mm256_and_si256(v, _mm256_set1_epi16(0x7fff));
            least_ = _mm256_min_epu16(least_, _mm256_sub_epi16(size, _mm256_set1_epi16(1)));
        }
        // Whether all exponents, as bits tell them, are at least that.
        bool least_is(int exponent) const {
            const U16 smaller = _mm256_set1_epi16(static_cast<short>((exponent << 7) - 2));
            return _mm256_cmpgt_epu16_mask(least_, smaller) == 0xffff;
        }

      private:
        U16 least_ = _mm256_set1_epi16(-1);
    };
};

struct Rounding : Simd {
    // Whether that instruction rounds all of these as bfloat16 are rounded here: it has zeros for
    // numbers below the normal ones, and keeps what a NaN says.
    static bool rounds(F32 a, F32 b) {
        constexpr int others = 0x01 | 0x20 | 0x80;
        return _kortestz_mask16_u8(_mm512_fpclass_ps_mask(a, others),
                                   _mm512_fpclass_ps_mask(b, others)) != 0;
    }
    static U32 rounded(F32 a, F32 b) {
        U32 both;
        __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(both) : "v"(a), "v"(b));
        return both;
    }
    static void put(std::uint16_t* p, U32 line) { _mm512_storeu_si512(p, line); }
    static void stream(std::uint16_t* p, U32 line) {
        _mm512_stream_si512(reinterpret_cast<U32*>(p), line);
    }
};

} // namespace
