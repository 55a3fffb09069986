// Eight float64 or sixteen float32 lanes as four registers of AArch64's Advanced SIMD (NEON).
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace { // as in avx512.hpp

struct Simd {
    struct F64 {
        float64x2_t part[4];
    };
    struct U64 {
        uint64x2_t part[4];
    };
    struct F32 { // sixteen
        float32x4_t part[4];
    };
    struct U32 {
        uint32x4_t part[4];
    };
    struct U16 { // sixteen
        uint16x8_t low, high;
    };
    using U8 = uint8x16_t;

    static F64 load(const double* p) { return get(p); }
    static void store(double* p, F64 v) { put(p, v); }
    static U64 load(const std::uint64_t* p) {
        return each<U64>([=](int i) { return vld1q_u64(p + 2 * i); });
    }
    static F64 all(double x) {
        return each<F64>([=](int) { return vdupq_n_f64(x); });
    }
    static U64 all(std::uint64_t x) {
        return each<U64>([=](int) { return vdupq_n_u64(x); });
    }

    static F64 add(F64 a, F64 b) {
        return each<F64>([&](int i) { return vaddq_f64(a.part[i], b.part[i]); });
    }
    static F64 sub(F64 a, F64 b) {
        return each<F64>([&](int i) { return vsubq_f64(a.part[i], b.part[i]); });
    }
    static F64 mul(F64 a, F64 b) {
        return each<F64>([&](int i) { return vmulq_f64(a.part[i], b.part[i]); });
    }
    static F64 fma(F64 a, F64 b, F64 c) { // a b + c
        return each<F64>([&](int i) { return vfmaq_f64(c.part[i], a.part[i], b.part[i]); });
    }
    static F64 fms(F64 a, F64 b, F64 c) { // a b - c
        return each<F64>(
            [&](int i) { return vfmaq_f64(vnegq_f64(c.part[i]), a.part[i], b.part[i]); });
    }
    static F64 fnma(F64 a, F64 b, F64 c) { // c - a b
        return each<F64>([&](int i) { return vfmsq_f64(c.part[i], a.part[i], b.part[i]); });
    }

    static U64 bits(F64 v) {
        return each<U64>([&](int i) { return vreinterpretq_u64_f64(v.part[i]); });
    }
    static F64 from_bits(U64 v) {
        return each<F64>([&](int i) { return vreinterpretq_f64_u64(v.part[i]); });
    }
    static U64 add(U64 a, U64 b) {
        return each<U64>([&](int i) { return vaddq_u64(a.part[i], b.part[i]); });
    }
    static U64 sub(U64 a, U64 b) {
        return each<U64>([&](int i) { return vsubq_u64(a.part[i], b.part[i]); });
    }
    static U64 band(U64 a, U64 b) {
        return each<U64>([&](int i) { return vandq_u64(a.part[i], b.part[i]); });
    }
    static U64 bor(U64 a, U64 b) {
        return each<U64>([&](int i) { return vorrq_u64(a.part[i], b.part[i]); });
    }
    static U64 bxor(U64 a, U64 b) {
        return each<U64>([&](int i) { return veorq_u64(a.part[i], b.part[i]); });
    }
    template <int N>
    static U64 left(U64 v) {
        return each<U64>([&](int i) { return vshlq_n_u64(v.part[i], N); });
    }
    template <int N>
    static U64 right(U64 v) {
        return each<U64>([&](int i) { return vshrq_n_u64(v.part[i], N); });
    }
    // p[4 i] for every lane's i.
    static F64 gather4(const double* p, U64 i) {
        return each<F64>([&](int at) {
            const float64x2_t first = vld1q_dup_f64(p + 4 * vgetq_lane_u64(i.part[at], 0));
            return vld1q_lane_f64(p + 4 * vgetq_lane_u64(i.part[at], 1), first, 1);
        });
    }
    // Bit i is set where lane i differs.
    static unsigned differing(F64 a, F64 b) {
        unsigned lanes = 0;
        for (int i = 0; i < 4; ++i) {
            const uint64x2_t equal = vceqq_f64(a.part[i], b.part[i]);
            lanes |= static_cast<unsigned>(~vgetq_lane_u64(equal, 0) & 1) << 2 * i;
            lanes |= static_cast<unsigned>(~vgetq_lane_u64(equal, 1) & 1) << (2 * i + 1);
        }
        return lanes;
    }

    // a0 b0 a1 b1 .. and a0 .. a7 b0 .. b7, each rounded to the nearest float32.
    static F32 zip(F64 a, F64 b) {
        return each<F32>([&](int i) {
            const float32x2_t x = vcvt_f32_f64(a.part[i]), y = vcvt_f32_f64(b.part[i]);
            return vcombine_f32(vzip1_f32(x, y), vzip2_f32(x, y));
        });
    }
    static F32 join(F64 a, F64 b) {
        return {{narrow(a.part[0], a.part[1]), narrow(a.part[2], a.part[3]),
                 narrow(b.part[0], b.part[1]), narrow(b.part[2], b.part[3])}};
    }
    static U32 bits(F32 v) {
        return each<U32>([&](int i) { return vreinterpretq_u32_f32(v.part[i]); });
    }
    static U16 to_float16(F32 v) {
        const auto half = [&](int i) {
            return vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(v.part[i]), v.part[i + 1]));
        };
        return {half(0), half(2)};
    }
    static U16 to_bfloat16(F32 v) {
        const U32 word = bits(v);
        const auto rounded = [&](int i) {
            const uint32x4_t last = vandq_u32(vshrq_n_u32(word.part[i], 16), vdupq_n_u32(1));
            return vaddq_u32(word.part[i], vaddq_u32(last, vdupq_n_u32(0x7fff)));
        };
        const auto half = [&](int i) {
            return vshrn_high_n_u32(vshrn_n_u32(rounded(i), 16), rounded(i + 1), 16);
        };
        return {half(0), half(2)};
    }
    static unsigned differing(F32 a, F32 b) {
        const U32 x = bits(a), y = bits(b);
        const uint32x4_t bit = {1, 2, 4, 8};
        unsigned lanes = 0;
        for (int i = 0; i < 4; ++i)
            lanes |= vaddvq_u32(vbicq_u32(bit, vceqq_u32(x.part[i], y.part[i]))) << 4 * i;
        return lanes;
    }
    static unsigned differing(U16 a, U16 b) {
        const uint16x8_t bit = {1, 2, 4, 8, 16, 32, 64, 128};
        const auto lanes = [&](uint16x8_t x, uint16x8_t y) {
            return static_cast<unsigned>(vaddvq_u16(vbicq_u16(bit, vceqq_u16(x, y))));
        };
        return lanes(a.low, b.low) | lanes(a.high, b.high) << 8;
    }

    static F32 mul(F32 a, F32 b) {
        return each<F32>([&](int i) { return vmulq_f32(a.part[i], b.part[i]); });
    }
    static F32 fma(F32 a, F32 b, F32 c) {
        return each<F32>([&](int i) { return vfmaq_f32(c.part[i], a.part[i], b.part[i]); });
    }
    static F32 fms(F32 a, F32 b, F32 c) {
        return each<F32>(
            [&](int i) { return vfmaq_f32(vnegq_f32(c.part[i]), a.part[i], b.part[i]); });
    }

    static F32 all(float x) {
        return each<F32>([=](int) { return vdupq_n_f32(x); });
    }
    static F32 add(F32 a, F32 b) {
        return each<F32>([&](int i) { return vaddq_f32(a.part[i], b.part[i]); });
    }
    static F32 sub(F32 a, F32 b) {
        return each<F32>([&](int i) { return vsubq_f32(a.part[i], b.part[i]); });
    }
    static F32 div(F32 a, F32 b) {
        return each<F32>([&](int i) { return vdivq_f32(a.part[i], b.part[i]); });
    }
    static F64 div(F64 a, F64 b) {
        return each<F64>([&](int i) { return vdivq_f64(a.part[i], b.part[i]); });
    }
    // a where it is above b, else b: so b where one of them is NaN.
    static F32 max(F32 a, F32 b) { return where_less(b, a, a, b); }
    static F64 max(F64 a, F64 b) { return where_less(b, a, a, b); }
    // a where it is below b, else b.
    static F32 min(F32 a, F32 b) { return where_less(a, b, a, b); }
    static F64 min(F64 a, F64 b) { return where_less(a, b, a, b); }
    // x in the lanes where a is below b, or equal to it; y in the others.
    static F32 where_less(F32 a, F32 b, F32 x, F32 y) {
        return each<F32>([&](int i) {
            return vbslq_f32(vcltq_f32(a.part[i], b.part[i]), x.part[i], y.part[i]);
        });
    }
    static F64 where_less(F64 a, F64 b, F64 x, F64 y) {
        return each<F64>([&](int i) {
            return vbslq_f64(vcltq_f64(a.part[i], b.part[i]), x.part[i], y.part[i]);
        });
    }
    static F32 where_equal(F32 a, F32 b, F32 x, F32 y) {
        return each<F32>([&](int i) {
            return vbslq_f32(vceqq_f32(a.part[i], b.part[i]), x.part[i], y.part[i]);
        });
    }
    static F64 where_equal(F64 a, F64 b, F64 x, F64 y) {
        return each<F64>([&](int i) {
            return vbslq_f64(vceqq_f64(a.part[i], b.part[i]), x.part[i], y.part[i]);
        });
    }
    // Whether a is below b in every lane.
    static bool all_less(F32 a, F32 b) {
        uint32x4_t all = vcltq_f32(a.part[0], b.part[0]);
        for (int i = 1; i < 4; ++i)
            all = vandq_u32(all, vcltq_f32(a.part[i], b.part[i]));
        return vminvq_u32(all) != 0;
    }
    static bool all_less(F64 a, F64 b) {
        uint64x2_t all = vcltq_f64(a.part[0], b.part[0]);
        for (int i = 1; i < 4; ++i)
            all = vandq_u64(all, vcltq_f64(a.part[i], b.part[i]));
        return vminvq_u32(vreinterpretq_u32_u64(all)) != 0;
    }
    // x in the lanes where the byte is 0; y in the others. Of eight lanes the first bytes count.
    static F32 where_zero(U8 bytes, F32 x, F32 y) {
        const int8x16_t zero = vreinterpretq_s8_u8(vceqzq_u8(bytes)); // widened with its sign
        const int16x8_t low = vmovl_s8(vget_low_s8(zero)), high = vmovl_high_s8(zero);
        const int32x4_t lanes[4] = {vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low),
                                    vmovl_s16(vget_low_s16(high)), vmovl_high_s16(high)};
        return each<F32>([&](int i) {
            return vbslq_f32(vreinterpretq_u32_s32(lanes[i]), x.part[i], y.part[i]);
        });
    }
    static F64 where_zero(U8 bytes, F64 x, F64 y) {
        const int16x8_t zero = vmovl_s8(vget_low_s8(vreinterpretq_s8_u8(vceqzq_u8(bytes))));
        const int32x4_t low = vmovl_s16(vget_low_s16(zero)), high = vmovl_high_s16(zero);
        const int64x2_t lanes[4] = {vmovl_s32(vget_low_s32(low)), vmovl_high_s32(low),
                                    vmovl_s32(vget_low_s32(high)), vmovl_high_s32(high)};
        return each<F64>([&](int i) {
            return vbslq_f64(vreinterpretq_u64_s64(lanes[i]), x.part[i], y.part[i]);
        });
    }
    // Rows become columns, block by block.
    static void transpose(F32 (&rows)[16]) {
        F32 columns[16];
        for (int i = 0; i < 16; i += 4)
            for (int j = 0; j < 4; ++j) {
                const float32x4_t a = rows[i].part[j], b = rows[i + 1].part[j];
                const float32x4_t c = rows[i + 2].part[j], d = rows[i + 3].part[j];
                const float64x2_t even[2] = {pairs(vtrn1q_f32(a, b)), pairs(vtrn1q_f32(c, d))};
                const float64x2_t odd[2] = {pairs(vtrn2q_f32(a, b)), pairs(vtrn2q_f32(c, d))};
                F32* const column = columns + 4 * j;
                column[0].part[i / 4] = vreinterpretq_f32_f64(vtrn1q_f64(even[0], even[1]));
                column[1].part[i / 4] = vreinterpretq_f32_f64(vtrn1q_f64(odd[0], odd[1]));
                column[2].part[i / 4] = vreinterpretq_f32_f64(vtrn2q_f64(even[0], even[1]));
                column[3].part[i / 4] = vreinterpretq_f32_f64(vtrn2q_f64(odd[0], odd[1]));
            }
        for (int i = 0; i < 16; ++i)
            rows[i] = columns[i];
    }
    static void transpose(F64 (&rows)[8]) {
        F64 columns[8];
        for (int i = 0; i < 8; i += 2)
            for (int j = 0; j < 4; ++j) {
                const float64x2_t a = rows[i].part[j], b = rows[i + 1].part[j];
                columns[2 * j].part[i / 2] = vtrn1q_f64(a, b);
                columns[2 * j + 1].part[i / 2] = vtrn2q_f64(a, b);
            }
        for (int i = 0; i < 8; ++i)
            rows[i] = columns[i];
    }
    static void transpose(U8 (&rows)[16]) { // zipping the halves four times
        for (int i = 0; i < 4; ++i) {
            U8 t[16];
            for (int j = 0; j < 8; ++j) {
                t[2 * j] = vzip1q_u8(rows[j], rows[j + 8]);
                t[2 * j + 1] = vzip2q_u8(rows[j], rows[j + 8]);
            }
            for (int j = 0; j < 16; ++j)
                rows[j] = t[j];
        }
    }
    static F32 size(F32 v) {
        return each<F32>([&](int i) { return vabsq_f32(v.part[i]); });
    }
    // v, which is not negative, with the sign of x.
    static F32 with_sign(F32 v, F32 x) {
        const uint32x4_t sign = vdupq_n_u32(0x80000000);
        return each<F32>([&](int i) { return vbslq_f32(sign, x.part[i], v.part[i]); });
    }
    // v 2^n, exact; n is whole, and 2^n and the result are normal numbers. NaN where v is.
    static F64 scale(F64 v, F64 n) {
        return each<F64>([&](int i) { return vmulq_f64(v.part[i], power(n.part[i])); });
    }
    // The same, but 0 in the lanes where x is below least, whatever v and n are there: to make a
    // number below the normal ones takes some processors a hundred times as long.
    static F64 scale_or_zero(F64 v, F64 n, F64 x, F64 least) {
        return scale(where_less(x, least, all(0.0), v), max(all(-1022.0), n));
    }
    // v + v by, rounded once, but 0 in the lanes where x is below least, as above.
    static F32 fma_or_zero(F32 v, F32 by, F32 x, F32 least) {
        const F32 zero = all(0.0F), some = where_less(x, least, zero, v);
        return fma(some, where_less(x, least, zero, by), some);
    }
    // table[i % 8] + i 2^20, lane by lane, where i are the bits of v, as those of float32.
    static F32 look_up(const std::uint32_t (&table)[8], F32 v) {
        const uint8x16x2_t eight = {
            {vreinterpretq_u8_u32(vld1q_u32(table)), vreinterpretq_u8_u32(vld1q_u32(table + 4))}};
        return each<F32>([&](int part) {
            const uint32x4_t i = bits(v).part[part];
            const uint8x16_t entries = vqtbl2q_u8(eight, places_of<7>(i));
            return vreinterpretq_f32_u32(
                vaddq_u32(vreinterpretq_u32_u8(entries), vshlq_n_u32(i, 20)));
        });
    }
    // table[i % 16], of the same i.
    static F32 look_up(const float (&table)[16], F32 v) {
        const uint8x16x4_t sixteen = {{vreinterpretq_u8_f32(vld1q_f32(table)),
                                       vreinterpretq_u8_f32(vld1q_f32(table + 4)),
                                       vreinterpretq_u8_f32(vld1q_f32(table + 8)),
                                       vreinterpretq_u8_f32(vld1q_f32(table + 12))}};
        return each<F32>([&](int part) {
            return vreinterpretq_f32_u8(vqtbl4q_u8(sixteen, places_of<15>(bits(v).part[part])));
        });
    }
    // Lanes 0 .. 7 and 8 .. 15.
    static F64 widen_low(F32 v) { return widen(v.part[0], v.part[1]); }
    static F64 widen_high(F32 v) { return widen(v.part[2], v.part[3]); }
    static F64 get_wide(const float* p) { return widen(vld1q_f32(p), vld1q_f32(p + 4)); }
    // Lanes i and i + 8 are added, then i and i + 4, i + 2, i + 1.
    static float sum(F32 v) {
        const float32x4_t quarter =
            vaddq_f32(vaddq_f32(v.part[0], v.part[2]), vaddq_f32(v.part[1], v.part[3]));
        const float32x2_t pair = vadd_f32(vget_low_f32(quarter), vget_high_f32(quarter));
        return vget_lane_f32(pair, 0) + vget_lane_f32(pair, 1);
    }
    static double sum(F64 v) {
        const float64x2_t pair =
            vaddq_f64(vaddq_f64(v.part[0], v.part[2]), vaddq_f64(v.part[1], v.part[3]));
        return vgetq_lane_f64(pair, 0) + vgetq_lane_f64(pair, 1);
    }
    // Of lanes that are numbers.
    static float largest(F32 v) {
        return vmaxvq_f32(
            vmaxq_f32(vmaxq_f32(v.part[0], v.part[1]), vmaxq_f32(v.part[2], v.part[3])));
    }
    static double largest(F64 v) {
        return vmaxvq_f64(
            vmaxq_f64(vmaxq_f64(v.part[0], v.part[1]), vmaxq_f64(v.part[2], v.part[3])));
    }
    // p[i] = sum(v[i])
    template <int count, class Vector, class Value>
    static void sums(const Vector* v, Value* p) {
        for (int i = 0; i < count; ++i)
            p[i] = sum(v[i]);
    }
    static constexpr bool sums_vectors = false; // as many at once as each has lanes
    // Vectors of eight doubles that registers hold.
    static constexpr std::size_t registers = 8;
    // Rows of a register tile of three vectors each, and of one of as many rows as vectors; and
    // how many of the latter's sums of lanes are taken at once.
    static constexpr int tile_rows = 1, few_rows = 2, few_sums = 2;
    // Whether register tiles add products half a vector at a time.
    static constexpr bool in_halves = false;
    // Vectors of which softmax takes powers of e by turns.
    static constexpr int powers_by_turns = 2;

    static F32 swap_neighbours(F32 v) {
        return each<F32>([&](int i) { return vrev64q_f32(v.part[i]); });
    }
    static F64 swap_neighbours(F64 v) {
        return each<F64>([&](int i) { return vextq_f64(v.part[i], v.part[i], 1); });
    }
    // Lanes 0 0 2 2 .. and 1 1 3 3 ..
    static F32 evens_twice(F32 v) {
        return each<F32>([&](int i) { return vtrn1q_f32(v.part[i], v.part[i]); });
    }
    static F32 odds_twice(F32 v) {
        return each<F32>([&](int i) { return vtrn2q_f32(v.part[i], v.part[i]); });
    }
    static F64 evens_twice(F64 v) {
        return each<F64>([&](int i) { return vtrn1q_f64(v.part[i], v.part[i]); });
    }
    static F64 odds_twice(F64 v) {
        return each<F64>([&](int i) { return vtrn2q_f64(v.part[i], v.part[i]); });
    }
    // a b - c in even lanes, a b + c in odd ones.
    static F32 fmaddsub(F32 a, F32 b, F32 c) { return select(0x5555, fms(a, b, c), fma(a, b, c)); }
    static F64 fmaddsub(F64 a, F64 b, F64 c) { return select(0x55, fms(a, b, c), fma(a, b, c)); }
    // a in the lanes whose bits are set, b in the others.
    static F32 select(unsigned lanes, F32 a, F32 b) {
        constexpr std::uint32_t bits[] = {1, 2, 4, 8};
        return each<F32>([&](int i) {
            const uint32x4_t set = vtstq_u32(vdupq_n_u32(lanes >> 4 * i), vld1q_u32(bits));
            return vbslq_f32(set, a.part[i], b.part[i]);
        });
    }
    static F64 select(unsigned lanes, F64 a, F64 b) {
        constexpr std::uint64_t bits[] = {1, 2};
        return each<F64>([&](int i) {
            const uint64x2_t set = vtstq_u64(vdupq_n_u64(lanes >> 2 * i), vld1q_u64(bits));
            return vbslq_f64(set, a.part[i], b.part[i]);
        });
    }

    static F32 from_float16(U16 v) {
        const float16x8_t low = vreinterpretq_f16_u16(v.low), high = vreinterpretq_f16_u16(v.high);
        return {{vcvt_f32_f16(vget_low_f16(low)), vcvt_high_f32_f16(low),
                 vcvt_f32_f16(vget_low_f16(high)), vcvt_high_f32_f16(high)}};
    }
    static F32 from_bfloat16(U16 v) {
        const uint32x4_t words[4] = {
            vshll_n_u16(vget_low_u16(v.low), 16), vshll_high_n_u16(v.low, 16),
            vshll_n_u16(vget_low_u16(v.high), 16), vshll_high_n_u16(v.high, 16)};
        return each<F32>([&](int i) { return vreinterpretq_f32_u32(words[i]); });
    }
    static U16 to_bfloat16_or_nan(F32 v) {
        const U16 rounded = to_bfloat16(v);
        const auto number = [&](int i) { // all bits set, but none of NaN
            const uint16x4_t low = vmovn_u32(vceqq_f32(v.part[i], v.part[i]));
            return vcombine_u16(low, vmovn_u32(vceqq_f32(v.part[i + 1], v.part[i + 1])));
        };
        const uint16x8_t nan = vdupq_n_u16(0x7fc0);
        return {vbslq_u16(number(0), rounded.low, nan), vbslq_u16(number(2), rounded.high, nan)};
    }

    // Where registers are few, to read from memory again is as well.
    template <class Vector>
    static Vector read_once(Vector v) {
        return v;
    }
    static F32 get(const float* p) {
        return each<F32>([=](int i) { return vld1q_f32(p + 4 * i); });
    }
    static F64 get(const double* p) {
        return each<F64>([=](int i) { return vld1q_f64(p + 2 * i); });
    }
    static U16 get(const std::uint16_t* p) { return {vld1q_u16(p), vld1q_u16(p + 8)}; }
    static U8 get(const std::uint8_t* p) { return vld1q_u8(p); }
    // Zeros in the lanes whose bits are not set, which are not read.
    static F32 get_some(const float* p, unsigned lanes) { return some<F32, 16>(p, lanes); }
    static F64 get_some(const double* p, unsigned lanes) { return some<F64, 8>(p, lanes); }
    static U16 get_some(const std::uint16_t* p, unsigned lanes) { return some<U16, 16>(p, lanes); }

    static void put(float* p, F32 v) {
        for (int i = 0; i < 4; ++i)
            vst1q_f32(p + 4 * i, v.part[i]);
    }
    static void put(float* low, float* high, F32 v) {
        for (int i = 0; i < 2; ++i) {
            vst1q_f32(low + 4 * i, v.part[i]);
            vst1q_f32(high + 4 * i, v.part[i + 2]);
        }
    }
    static void put(std::uint16_t* p, U16 v) { put(p, p + 8, v); }
    static void put(std::uint16_t* low, std::uint16_t* high, U16 v) {
        vst1q_u16(low, v.low);
        vst1q_u16(high, v.high);
    }
    static void put(double* p, F64 v) {
        for (int i = 0; i < 4; ++i)
            vst1q_f64(p + 2 * i, v.part[i]);
    }
    // a0 b0 a1 b1 ..
    static F64 zip_low(F64 a, F64 b) { return zip_two(a, b, 0); }
    static F64 zip_high(F64 a, F64 b) { return zip_two(a, b, 2); }

    // Only the lanes whose bits are set; p is where lane 0 would go.
    static void put_some(float* p, F32 v, unsigned lanes) { put_lanes<16>(p, v, lanes); }
    static void put_some(std::uint16_t* p, U16 v, unsigned lanes) { put_lanes<16>(p, v, lanes); }
    static void put_some(double* p, F64 v, unsigned lanes) { put_lanes<8>(p, v, lanes); }

    static constexpr bool streams = false; // intrinsics have no stores that pass the cache by
    static void fence() {}

    // Gathers what a rounding test asks of many values; read once.
    class Doubt {
      public:
        // key + offset must have a bit of mask set in every lane; |v| must exceed 2^-13.
        void add(U32 key, std::uint32_t offset, std::uint32_t mask, F32 v) {
            for (int i = 0; i < 4; ++i) {
                const uint32x4_t moved = vaddq_u32(key.part[i], vdupq_n_u32(offset));
                set_ = vandq_u32(set_, vtstq_u32(moved, vdupq_n_u32(mask)));
                set_ = vandq_u32(set_, vcagtq_f32(v.part[i], vdupq_n_f32(0x1p-13F)));
            }
        }
        // The same of the low words of a and b, which v are rounded from.
        void add(F64 a, F64 b, std::uint32_t offset, std::uint32_t mask, F32 v) {
            add(low_words(a, b), offset, mask, v);
        }
        bool any() const { return vminvq_u32(set_) == 0; }

      private:
        uint32x4_t set_ = vdupq_n_u32(0xffffffff);
    };

  private:
    template <class Vector, class Function>
    static Vector each(Function function) {
        return {{function(0), function(1), function(2), function(3)}};
    }
    // The low words of both, in any order.
    static U32 low_words(F64 a, F64 b) {
        const U64 x = bits(a), y = bits(b);
        return each<U32>(
            [&](int i) { return vcombine_u32(vmovn_u64(x.part[i]), vmovn_u64(y.part[i])); });
    }
    static float32x4_t narrow(float64x2_t low, float64x2_t high) {
        return vcvt_high_f32_f64(vcvt_f32_f64(low), high);
    }
    static F64 widen(float32x4_t low, float32x4_t high) {
        return {{vcvt_f64_f32(vget_low_f32(low)), vcvt_high_f64_f32(low),
                 vcvt_f64_f32(vget_low_f32(high)), vcvt_high_f64_f32(high)}};
    }
    static float64x2_t pairs(float32x4_t v) { return vreinterpretq_f64_f32(v); }
    // Parts i and i + 1 of both.
    static F64 zip_two(F64 a, F64 b, int i) {
        return {{vzip1q_f64(a.part[i], b.part[i]), vzip2q_f64(a.part[i], b.part[i]),
                 vzip1q_f64(a.part[i + 1], b.part[i + 1]),
                 vzip2q_f64(a.part[i + 1], b.part[i + 1])}};
    }
    // The places of the four bytes of entry i % (last + 1) of a table.
    template <int last>
    static uint8x16_t places_of(uint32x4_t i) {
        return vreinterpretq_u8_u32(
            vmlaq_n_u32(vdupq_n_u32(0x03020100), vandq_u32(i, vdupq_n_u32(last)), 0x04040404));
    }
    // 2^n: n + 1.5 2^52 has n in its last bits, which become the exponent.
    static float64x2_t power(float64x2_t n) {
        const uint64x2_t word = vreinterpretq_u64_f64(vaddq_f64(n, vdupq_n_f64(0x1.8p52)));
        return vreinterpretq_f64_u64(
            vaddq_u64(vshlq_n_u64(word, 52), vreinterpretq_u64_f64(vdupq_n_f64(1.0))));
    }
    template <class Vector, std::size_t count, class T>
    static Vector some(const T* p, unsigned lanes) {
        T all[count] = {};
        for (std::size_t i = 0; i < count; ++i)
            if ((lanes >> i & 1U) != 0)
                all[i] = p[i];
        return get(all);
    }
    template <std::size_t count, class T, class Vector>
    static void put_lanes(T* p, const Vector& v, unsigned lanes) {
        T all[count];
        put(all, v);
        for (std::size_t i = 0; i < count; ++i)
            if ((lanes >> i & 1U) != 0)
                p[i] = all[i];
    }
};

} // namespace
