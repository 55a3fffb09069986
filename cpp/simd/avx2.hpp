// Eight float64 or sixteen float32 lanes as two halves on AVX2 (with FMA and F16C).
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace { // as in avx512.hpp

struct Simd {
    struct F64 {
        __m256d low, high;
    };
    struct U64 {
        __m256i low, high;
    };
    struct F32 { // sixteen
        __m256 low, high;
    };
    struct U32 {
        __m256i low, high;
    };
    struct U16 { // sixteen
        __m128i low, high;
    };
    using U8 = __m128i; // sixteen

    static F64 load(const double* p) { return {_mm256_load_pd(p), _mm256_load_pd(p + 4)}; }
    static void store(double* p, F64 v) {
        _mm256_store_pd(p, v.low);
        _mm256_store_pd(p + 4, v.high);
    }
    static U64 load(const std::uint64_t* p) {
        const auto* q = reinterpret_cast<const __m256i*>(p);
        return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
    }
    static F64 all(double x) { return {_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
    static U64 all(std::uint64_t x) {
        const __m256i v = _mm256_set1_epi64x(static_cast<long long>(x));
        return {v, v};
    }

    static F64 add(F64 a, F64 b) {
        return {_mm256_add_pd(a.low, b.low), _mm256_add_pd(a.high, b.high)};
    }
    static F64 sub(F64 a, F64 b) {
        return {_mm256_sub_pd(a.low, b.low), _mm256_sub_pd(a.high, b.high)};
    }
    static F64 mul(F64 a, F64 b) {
        return {_mm256_mul_pd(a.low, b.low), _mm256_mul_pd(a.high, b.high)};
    }
    static F64 fma(F64 a, F64 b, F64 c) { // a b + c
        return {_mm256_fmadd_pd(a.low, b.low, c.low), _mm256_fmadd_pd(a.high, b.high, c.high)};
    }
    static F64 fms(F64 a, F64 b, F64 c) { // a b - c
        return {_mm256_fmsub_pd(a.low, b.low, c.low), _mm256_fmsub_pd(a.high, b.high, c.high)};
    }
    static F64 fnma(F64 a, F64 b, F64 c) { // c - a b
        return {_mm256_fnmadd_pd(a.low, b.low, c.low), _mm256_fnmadd_pd(a.high, b.high, c.high)};
    }

    static U64 bits(F64 v) { return {_mm256_castpd_si256(v.low), _mm256_castpd_si256(v.high)}; }
    static F64 from_bits(U64 v) {
        return {_mm256_castsi256_pd(v.low), _mm256_castsi256_pd(v.high)};
    }
    static U64 add(U64 a, U64 b) {
        return {_mm256_add_epi64(a.low, b.low), _mm256_add_epi64(a.high, b.high)};
    }
    static U64 sub(U64 a, U64 b) {
        return {_mm256_sub_epi64(a.low, b.low), _mm256_sub_epi64(a.high, b.high)};
    }
    static U64 band(U64 a, U64 b) {
        return {_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)};
    }
    static U64 bor(U64 a, U64 b) {
        return {_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)};
    }
    static U64 bxor(U64 a, U64 b) {
        return {_mm256_xor_si256(a.low, b.low), _mm256_xor_si256(a.high, b.high)};
    }
    template <int N>
    static U64 left(U64 v) {
        return {_mm256_slli_epi64(v.low, N), _mm256_slli_epi64(v.high, N)};
    }
    template <int N>
    static U64 right(U64 v) {
        return {_mm256_srli_epi64(v.low, N), _mm256_srli_epi64(v.high, N)};
    }
    // p[4 i] for every lane's i.
    static F64 gather4(const double* p, U64 i) {
        const U64 at = left<2>(i);
        return {_mm256_i64gather_pd(p, at.low, 8), _mm256_i64gather_pd(p, at.high, 8)};
    }
    // Bit i is set where lane i differs.
    static unsigned differing(F64 a, F64 b) {
        const int low = _mm256_movemask_pd(_mm256_cmp_pd(a.low, b.low, _CMP_NEQ_UQ));
        const int high = _mm256_movemask_pd(_mm256_cmp_pd(a.high, b.high, _CMP_NEQ_UQ));
        return static_cast<unsigned>(low | (high << 4));
    }

    // a0 b0 a1 b1 .. and a0 .. a7 b0 .. b7, each rounded to the nearest float32.
    static F32 zip(F64 a, F64 b) { return {zip4(a.low, b.low), zip4(a.high, b.high)}; }
    static F32 join(F64 a, F64 b) { return {narrow(a), narrow(b)}; }
    static U32 bits(F32 v) { return {_mm256_castps_si256(v.low), _mm256_castps_si256(v.high)}; }
    static U16 to_float16(F32 v) {
        return {_mm256_cvtps_ph(v.low, _MM_FROUND_TO_NEAREST_INT),
                _mm256_cvtps_ph(v.high, _MM_FROUND_TO_NEAREST_INT)};
    }
    static U16 to_bfloat16(F32 v) {
        const U32 word = bits(v);
        return {low_words(high_word(word.low)), low_words(high_word(word.high))};
    }
    static unsigned differing(F32 a, F32 b) {
        const U32 x = bits(a), y = bits(b);
        const auto equal = [](__m256i i, __m256i j) {
            return _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(i, j)));
        };
        return 0xffffU ^ static_cast<unsigned>(equal(x.low, y.low) | (equal(x.high, y.high) << 8));
    }
    static unsigned differing(U16 a, U16 b) {
        const __m128i equal =
            _mm_packs_epi16(_mm_cmpeq_epi16(a.low, b.low), _mm_cmpeq_epi16(a.high, b.high));
        return 0xffffU ^ static_cast<unsigned>(_mm_movemask_epi8(equal));
    }

    static F32 mul(F32 a, F32 b) {
        return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
    }
    static F32 fma(F32 a, F32 b, F32 c) {
        return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
    }
    static F32 fms(F32 a, F32 b, F32 c) {
        return {_mm256_fmsub_ps(a.low, b.low, c.low), _mm256_fmsub_ps(a.high, b.high, c.high)};
    }

    static F32 all(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
    static F32 add(F32 a, F32 b) {
        return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
    }
    static F32 sub(F32 a, F32 b) {
        return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
    }
    static F32 div(F32 a, F32 b) {
        return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
    }
    static F64 div(F64 a, F64 b) {
        return {_mm256_div_pd(a.low, b.low), _mm256_div_pd(a.high, b.high)};
    }
    // a where it is above b, else b: so b where one of them is NaN.
    static F32 max(F32 a, F32 b) {
        return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
    }
    static F64 max(F64 a, F64 b) {
        return {_mm256_max_pd(a.low, b.low), _mm256_max_pd(a.high, b.high)};
    }
    // a where it is below b, else b.
    static F32 min(F32 a, F32 b) {
        return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
    }
    static F64 min(F64 a, F64 b) {
        return {_mm256_min_pd(a.low, b.low), _mm256_min_pd(a.high, b.high)};
    }
    // x in the lanes where a is below b, or equal to it; y in the others.
    static F32 where_less(F32 a, F32 b, F32 x, F32 y) { return where<_CMP_LT_OQ>(a, b, x, y); }
    static F64 where_less(F64 a, F64 b, F64 x, F64 y) { return where<_CMP_LT_OQ>(a, b, x, y); }
    static F32 where_equal(F32 a, F32 b, F32 x, F32 y) { return where<_CMP_EQ_OQ>(a, b, x, y); }
    static F64 where_equal(F64 a, F64 b, F64 x, F64 y) { return where<_CMP_EQ_OQ>(a, b, x, y); }
    // Whether a is below b in every lane.
    static bool all_less(F32 a, F32 b) {
        const __m256 low = _mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ);
        const __m256 high = _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ);
        return _mm256_movemask_ps(_mm256_and_ps(low, high)) == 0xff;
    }
    static bool all_less(F64 a, F64 b) {
        const __m256d low = _mm256_cmp_pd(a.low, b.low, _CMP_LT_OQ);
        const __m256d high = _mm256_cmp_pd(a.high, b.high, _CMP_LT_OQ);
        return _mm256_movemask_pd(_mm256_and_pd(low, high)) == 0xf;
    }
    // x in the lanes where the byte is 0; y in the others. Of eight lanes the first bytes count.
    static F32 where_zero(U8 bytes, F32 x, F32 y) {
        const __m256 low = is_zero(_mm256_cvtepu8_epi32(bytes));
        const __m256 high = is_zero(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)));
        return {_mm256_blendv_ps(y.low, x.low, low), _mm256_blendv_ps(y.high, x.high, high)};
    }
    static F64 where_zero(U8 bytes, F64 x, F64 y) {
        const __m256d low = is_zero_wide(_mm256_cvtepu8_epi64(bytes));
        const __m256d high = is_zero_wide(_mm256_cvtepu8_epi64(_mm_srli_si128(bytes, 4)));
        return {_mm256_blendv_pd(y.low, x.low, low), _mm256_blendv_pd(y.high, x.high, high)};
    }
    // Rows become columns: four blocks do, and two of them change places.
    static void transpose(F32 (&rows)[16]) {
        __m256 low[16], high[16];
        for (int i = 0; i < 16; ++i) {
            low[i] = rows[i].low;
            high[i] = rows[i].high;
        }
        for (int i = 0; i < 16; i += 8) {
            transpose8(low + i);
            transpose8(high + i);
        }
        for (int i = 0; i < 8; ++i) {
            rows[i] = {low[i], low[i + 8]};
            rows[i + 8] = {high[i], high[i + 8]};
        }
    }
    static void transpose(U8 (&rows)[16]) { // zipping the halves four times
        for (int i = 0; i < 4; ++i) {
            U8 t[16];
            for (int j = 0; j < 8; ++j) {
                t[2 * j] = _mm_unpacklo_epi8(rows[j], rows[j + 8]);
                t[2 * j + 1] = _mm_unpackhi_epi8(rows[j], rows[j + 8]);
            }
            for (int j = 0; j < 16; ++j)
                rows[j] = t[j];
        }
    }
    static void transpose(F64 (&rows)[8]) {
        __m256d low[8], high[8];
        for (int i = 0; i < 8; ++i) {
            low[i] = rows[i].low;
            high[i] = rows[i].high;
        }
        for (int i = 0; i < 8; i += 4) {
            transpose4(low + i);
            transpose4(high + i);
        }
        for (int i = 0; i < 4; ++i) {
            rows[i] = {low[i], low[i + 4]};
            rows[i + 4] = {high[i], high[i + 4]};
        }
    }
    static F32 size(F32 v) {
        const __m256 sign = _mm256_set1_ps(-0.0F);
        return {_mm256_andnot_ps(sign, v.low), _mm256_andnot_ps(sign, v.high)};
    }
    // v, which is not negative, with the sign of x.
    static F32 with_sign(F32 v, F32 x) {
        const __m256 sign = _mm256_set1_ps(-0.0F);
        return {_mm256_or_ps(v.low, _mm256_and_ps(x.low, sign)),
                _mm256_or_ps(v.high, _mm256_and_ps(x.high, sign))};
    }
    // v 2^n, exact; n is whole, and 2^n and the result are normal numbers. NaN where v is.
    static F64 scale(F64 v, F64 n) {
        return {_mm256_mul_pd(v.low, power(n.low)), _mm256_mul_pd(v.high, power(n.high))};
    }
    // The same, but 0 in the lanes where x is below least, whatever v and n are there: to make a
    // number below the normal ones takes some processors a hundred times as long.
    static F64 scale_or_zero(F64 v, F64 n, F64 x, F64 least) {
        return scale(zero_below(x, least, v), max(all(-1022.0), n));
    }
    // v + v by, rounded once, but 0 in the lanes where x is below least, as above.
    static F32 fma_or_zero(F32 v, F32 by, F32 x, F32 least) {
        const F32 some = zero_below(x, least, v);
        return fma(some, zero_below(x, least, by), some);
    }
    // table[i % 8] + i 2^20, lane by lane, where i are the bits of v, as those of float32.
    static F32 look_up(const std::uint32_t (&table)[8], F32 v) {
        const __m256i eight = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(table));
        const auto half = [&](__m256i i) {
            const __m256i entries = _mm256_permutevar8x32_epi32(eight, i);
            return _mm256_castsi256_ps(_mm256_add_epi32(entries, _mm256_slli_epi32(i, 20)));
        };
        return {half(bits(v).low), half(bits(v).high)};
    }
    // table[i % 16], of the same i.
    static F32 look_up(const float (&table)[16], F32 v) {
        const auto half = [&](__m256i i) {
            const __m256 first = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), i);
            const __m256 second = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), i);
            return _mm256_blendv_ps(first, second, _mm256_castsi256_ps(_mm256_slli_epi32(i, 28)));
        };
        return {half(bits(v).low), half(bits(v).high)};
    }
    // Lanes 0 .. 7 and 8 .. 15.
    static F64 widen_low(F32 v) { return widen(v.low); }
    static F64 widen_high(F32 v) { return widen(v.high); }
    static F64 get_wide(const float* p) { return widen(_mm256_loadu_ps(p)); }
    // Lanes i and i + 8 are added, then i and i + 4, i + 2, i + 1.
    static float sum(F32 v) {
        const __m256 half = _mm256_add_ps(v.low, v.high);
        __m128 part = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
        part = _mm_add_ps(part, _mm_movehl_ps(part, part));
        return _mm_cvtss_f32(_mm_add_ss(part, _mm_movehdup_ps(part)));
    }
    static double sum(F64 v) {
        const __m256d half = _mm256_add_pd(v.low, v.high);
        const __m128d part =
            _mm_add_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
        return _mm_cvtsd_f64(_mm_add_sd(part, _mm_unpackhi_pd(part, part)));
    }
    // Of lanes that are numbers.
    static float largest(F32 v) {
        const __m256 half = _mm256_max_ps(v.low, v.high);
        __m128 part = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
        part = _mm_max_ps(part, _mm_movehl_ps(part, part));
        return _mm_cvtss_f32(_mm_max_ss(part, _mm_movehdup_ps(part)));
    }
    static double largest(F64 v) {
        const __m256d half = _mm256_max_pd(v.low, v.high);
        const __m128d part =
            _mm_max_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
        return _mm_cvtsd_f64(_mm_max_sd(part, _mm_unpackhi_pd(part, part)));
    }
    // p[i] = sum(v[i]), as many at a time as half a vector has lanes, whose sums are added side by
    // side.
    template <int count>
    static void sums(const F32* v, float* p) {
        for (int i = 0; i + 8 <= count; i += 8)
            eight_sums(v + i, p + i);
        for (int i = count / 8 * 8; i < count; ++i)
            p[i] = sum(v[i]);
    }
    template <int count>
    static void sums(const F64* v, double* p) {
        for (int i = 0; i + 4 <= count; i += 4)
            four_sums(v + i, p + i);
        for (int i = count / 4 * 4; i < count; ++i)
            p[i] = sum(v[i]);
    }
    static constexpr bool sums_vectors = false; // as many at once as each has lanes
    // Vectors of eight doubles that registers hold.
    static constexpr std::size_t registers = 8;
    // Rows of a register tile of three vectors each, and of one of as many rows as vectors; and
    // how many of the latter's sums of lanes are taken at once.
    static constexpr int tile_rows = 2, few_rows = 2, few_sums = 8;
    // Register tiles add products half a vector at a time, for their sums leave four registers, and
    // take weights a vector at a time, for its halves take turns.
    static constexpr bool in_halves = true;
    // sums[row][v] += x[row * x_apart] y[v] for the vectors from `first` on. Elements of x, or
    // halves of y, whichever are fewer, stay in registers while the others are read.
    template <int first, class T, class Vector, std::size_t rows, std::size_t vectors>
    [[gnu::always_inline]] static void add_products(const T* x, std::int64_t x_apart, const T* y,
                                                    Vector (&sums)[rows][vectors]) {
        constexpr std::size_t lanes = 32 / sizeof(T);
        if constexpr (rows < 2 * (vectors - first)) {
            decltype(all_lanes(x)) of_x[rows];
#pragma GCC unroll 8
            for (std::size_t row = 0; row < rows; ++row)
                of_x[row] = all_lanes(x + static_cast<std::int64_t>(row) * x_apart);
#pragma GCC unroll 4
            for (std::size_t v = first; v < vectors; ++v) {
                const auto low = load_once(y + 2 * v * lanes);
#pragma GCC unroll 8
                for (std::size_t row = 0; row < rows; ++row)
                    sums[row][v].low = fma(of_x[row], low, sums[row][v].low);
                const auto high = load_once(y + (2 * v + 1) * lanes);
#pragma GCC unroll 8
                for (std::size_t row = 0; row < rows; ++row)
                    sums[row][v].high = fma(of_x[row], high, sums[row][v].high);
            }
        } else {
            Vector of_y[vectors];
#pragma GCC unroll 4
            for (std::size_t v = first; v < vectors; ++v)
                of_y[v] = {load_once(y + 2 * v * lanes), load_once(y + (2 * v + 1) * lanes)};
#pragma GCC unroll 8
            for (std::size_t row = 0; row < rows; ++row) {
                const auto of_x = all_lanes(x + static_cast<std::int64_t>(row) * x_apart);
#pragma GCC unroll 4
                for (std::size_t v = first; v < vectors; ++v)
                    sums[row][v] = {fma(of_x, of_y[v].low, sums[row][v].low),
                                    fma(of_x, of_y[v].high, sums[row][v].high)};
            }
        }
    }
    // Vectors of which softmax takes powers of e by turns.
    static constexpr int powers_by_turns = 2;

    static F32 swap_neighbours(F32 v) {
        return {_mm256_permute_ps(v.low, 0b10110001), _mm256_permute_ps(v.high, 0b10110001)};
    }
    static F64 swap_neighbours(F64 v) {
        return {_mm256_permute_pd(v.low, 0b0101), _mm256_permute_pd(v.high, 0b0101)};
    }
    // Lanes 0 0 2 2 .. and 1 1 3 3 ..
    static F32 evens_twice(F32 v) {
        return {_mm256_moveldup_ps(v.low), _mm256_moveldup_ps(v.high)};
    }
    static F32 odds_twice(F32 v) { return {_mm256_movehdup_ps(v.low), _mm256_movehdup_ps(v.high)}; }
    static F64 evens_twice(F64 v) { return {_mm256_movedup_pd(v.low), _mm256_movedup_pd(v.high)}; }
    static F64 odds_twice(F64 v) {
        return {_mm256_permute_pd(v.low, 0b1111), _mm256_permute_pd(v.high, 0b1111)};
    }
    // a b - c in even lanes, a b + c in odd ones.
    static F32 fmaddsub(F32 a, F32 b, F32 c) {
        return {_mm256_fmaddsub_ps(a.low, b.low, c.low),
                _mm256_fmaddsub_ps(a.high, b.high, c.high)};
    }
    static F64 fmaddsub(F64 a, F64 b, F64 c) {
        return {_mm256_fmaddsub_pd(a.low, b.low, c.low),
                _mm256_fmaddsub_pd(a.high, b.high, c.high)};
    }
    // a in the lanes whose bits are set, b in the others.
    static F32 select(unsigned lanes, F32 a, F32 b) {
        return {_mm256_blendv_ps(b.low, a.low, _mm256_castsi256_ps(lane_mask(lanes))),
                _mm256_blendv_ps(b.high, a.high, _mm256_castsi256_ps(lane_mask(lanes >> 8)))};
    }
    static F64 select(unsigned lanes, F64 a, F64 b) {
        return {_mm256_blendv_pd(b.low, a.low, _mm256_castsi256_pd(wide_lane_mask(lanes))),
                _mm256_blendv_pd(b.high, a.high, _mm256_castsi256_pd(wide_lane_mask(lanes >> 4)))};
    }

    static F32 from_float16(U16 v) { return {_mm256_cvtph_ps(v.low), _mm256_cvtph_ps(v.high)}; }
    static F32 from_bfloat16(U16 v) { return {high_words(v.low), high_words(v.high)}; }
    static U16 to_bfloat16_or_nan(F32 v) {
        const auto half = [](__m256 x) {
            const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
            const __m256i word = high_word(_mm256_castps_si256(x));
            return low_words(_mm256_blendv_epi8(word, _mm256_set1_epi32(0x7fc0), nan));
        };
        return {half(v.low), half(v.high)};
    }

    // v, which GCC would read from memory again for each use: two lines where it lies across them.
    template <class Vector>
    static Vector read_once(Vector v) {
        __asm__("" : "+x"(v.low));
        __asm__("" : "+x"(v.high));
        return v;
    }
    static F32 get(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
    static F64 get(const double* p) { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
    static U8 get(const std::uint8_t* p) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    }
    static U16 get(const std::uint16_t* p) {
        const auto* q = reinterpret_cast<const __m128i*>(p);
        return {_mm_loadu_si128(q), _mm_loadu_si128(q + 1)};
    }
    // Zeros in the lanes whose bits are not set, which are not read.
    static F32 get_some(const float* p, unsigned lanes) {
        return {_mm256_maskload_ps(p, lane_mask(lanes)),
                _mm256_maskload_ps(p + 8, lane_mask(lanes >> 8))};
    }
    static F64 get_some(const double* p, unsigned lanes) {
        return {_mm256_maskload_pd(p, wide_lane_mask(lanes)),
                _mm256_maskload_pd(p + 4, wide_lane_mask(lanes >> 4))};
    }
    static U16 get_some(const std::uint16_t* p, unsigned lanes) {
        const auto* q = reinterpret_cast<const int*>(p);
        U16 v{_mm_maskload_epi32(q, pair_mask(lanes)),
              _mm_maskload_epi32(q + 4, pair_mask(lanes >> 8))};
        unsigned alone = lanes & 0xffffU & ~(pairs_of(lanes) * 3);
        for (; alone != 0; alone &= alone - 1) {
            const int i = __builtin_ctz(alone);
            const __m128i own = _mm_set1_epi32(p[i] << (i % 2 * 16)), at = _mm_set1_epi32(i / 2);
            const __m128i low = _mm_cmpeq_epi32(at, _mm_set_epi32(3, 2, 1, 0));
            const __m128i high = _mm_cmpeq_epi32(at, _mm_set_epi32(7, 6, 5, 4));
            v.low = _mm_or_si128(v.low, _mm_and_si128(own, low));
            v.high = _mm_or_si128(v.high, _mm_and_si128(own, high));
        }
        return v;
    }

    static void put(float* p, F32 v) { put(p, p + 8, v); }
    static void put(float* low, float* high, F32 v) {
        _mm256_storeu_ps(low, v.low);
        _mm256_storeu_ps(high, v.high);
    }
    static void put(std::uint16_t* p, U16 v) { put(p, p + 8, v); }
    static void put(std::uint16_t* low, std::uint16_t* high, U16 v) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(low), v.low);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(high), v.high);
    }
    static void put(double* p, F64 v) {
        _mm256_storeu_pd(p, v.low);
        _mm256_storeu_pd(p + 4, v.high);
    }
    // a0 b0 a1 b1 ..
    static F64 zip_low(F64 a, F64 b) { return zip_four(a.low, b.low); }
    static F64 zip_high(F64 a, F64 b) { return zip_four(a.high, b.high); }

    // Only the lanes whose bits are set; p is where lane 0 would go. With a mask AMD's processors
    // store many times as slowly.
    static void put_some(float* p, F32 v, unsigned lanes) {
        put_some(p, v.low, lanes & 0xff);
        put_some(p + 8, v.high, lanes >> 8 & 0xff);
    }
    static void put_some(std::uint16_t* p, U16 v, unsigned lanes) {
        put_some(p, v.low, lanes & 0xff);
        put_some(p + 8, v.high, lanes >> 8 & 0xff);
    }
    static void put_some(double* p, F64 v, unsigned lanes) {
        put_some(p, v.low, lanes & 0xf);
        put_some(p + 4, v.high, lanes >> 4 & 0xf);
    }

    static constexpr bool streams = true;
    // Stores that pass the cache by; p is a multiple of what is stored, up to 32 bytes.
    static void stream(float* p, F32 v) { stream(p, p + 8, v); }
    static void stream(float* low, float* high, F32 v) {
        _mm256_stream_ps(low, v.low);
        _mm256_stream_ps(high, v.high);
    }
    static void stream(std::uint16_t* p, U16 v) {
        _mm256_stream_si256(reinterpret_cast<__m256i*>(p), _mm256_set_m128i(v.high, v.low));
    }
    static void stream(std::uint16_t* low, std::uint16_t* high, U16 v) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(low), v.low);
        _mm_stream_si128(reinterpret_cast<__m128i*>(high), v.high);
    }
    static void stream(double* p, F64 v) {
        _mm256_stream_pd(p, v.low);
        _mm256_stream_pd(p + 4, v.high);
    }
    static void fence() { _mm_sfence(); }

    // Gathers what a rounding test asks of many values; read once.
    class Doubt {
      public:
        // key + offset must have a bit of mask set in every lane; |v| must exceed 2^-13.
        void add(U32 key, std::uint32_t offset, std::uint32_t mask, F32 v) {
            const U32 word = bits(v);
            const __m256i by = _mm256_set1_epi32(static_cast<int>(offset));
            const __m256i of = _mm256_set1_epi32(static_cast<int>(mask));
            const __m256i size = _mm256_set1_epi32(0x7fffffff);
            lower(least_key_, moved(key.low, by, of), moved(key.high, by, of));
            lower(least_size_, _mm256_and_si256(word.low, size), _mm256_and_si256(word.high, size));
        }
        // The same of a and b: their low words are keys and their high words sizes, so that one
        // step asks both, and no words change places.
        void add(F64 a, F64 b, std::uint32_t offset, std::uint32_t mask, F32 /*rounded*/) {
            const U64 x = bits(a), y = bits(b);
            const __m256i by = _mm256_set1_epi64x(offset);
            const __m256i of = _mm256_set1_epi64x((0x7fffffffLL << 32) | mask);
            lower(least_, moved(x.low, by, of), moved(y.low, by, of));
            lower(least_, moved(x.high, by, of), moved(y.high, by, of));
        }
        bool any() const {
            const __m256i size = _mm256_castps_si256(_mm256_set1_ps(0x1p-13F));
            const __m256i key_and_size = _mm256_castpd_si256(_mm256_set1_pd(0x1p-13)); // key 0
            const __m256i doubt =
                _mm256_or_si256(at_most(least_, key_and_size),
                                _mm256_or_si256(at_most(least_key_, _mm256_setzero_si256()),
                                                at_most(least_size_, size)));
            return _mm256_movemask_ps(_mm256_castsi256_ps(doubt)) != 0;
        }

      private:
        static __m256i moved(__m256i key, __m256i by, __m256i of) {
            return _mm256_and_si256(_mm256_add_epi32(key, by), of);
        }
        static void lower(__m256i& least, __m256i a, __m256i b) {
            least = _mm256_min_epu32(least, _mm256_min_epu32(a, b));
        }
        static __m256i at_most(__m256i a, __m256i b) {
            return _mm256_cmpeq_epi32(_mm256_max_epu32(a, b), b);
        }

        __m256i least_ = _mm256_set1_epi32(-1), least_key_ = least_, least_size_ = least_;
    };

  private:
    // The lanes whose bits are set, by halves down to single ones.
    static void put_some(float* p, __m256 v, unsigned lanes) {
        if (lanes == 0xff)
            return _mm256_storeu_ps(p, v);
        if ((lanes & 0xf) != 0)
            put_some(p, _mm256_castps256_ps128(v), lanes & 0xf);
        if (lanes > 0xf)
            put_some(p + 4, _mm256_extractf128_ps(v, 1), lanes >> 4);
    }
    static void put_some(float* p, __m128 v, unsigned lanes) {
        if (lanes == 0xf)
            return _mm_storeu_ps(p, v);
        if ((lanes & 3) != 0)
            put_two(p, v, lanes & 3);
        if (lanes > 3)
            put_two(p + 2, _mm_movehl_ps(v, v), lanes >> 2);
    }
    static void put_two(float* p, __m128 v, unsigned lanes) {
        if (lanes == 3)
            _mm_storel_pi(reinterpret_cast<__m64*>(p), v);
        else if (lanes == 1)
            _mm_store_ss(p, v);
        else
            _mm_store_ss(p + 1, _mm_movehdup_ps(v));
    }
    static void put_some(double* p, __m256d v, unsigned lanes) {
        if (lanes == 0xf)
            return _mm256_storeu_pd(p, v);
        if ((lanes & 3) != 0)
            put_two(p, _mm256_castpd256_pd128(v), lanes & 3);
        if (lanes > 3)
            put_two(p + 2, _mm256_extractf128_pd(v, 1), lanes >> 2);
    }
    static void put_two(double* p, __m128d v, unsigned lanes) {
        if (lanes == 3)
            _mm_storeu_pd(p, v);
        else if (lanes == 1)
            _mm_store_sd(p, v);
        else
            _mm_storeh_pd(p + 1, v);
    }
    static void put_some(std::uint16_t* p, __m128i v, unsigned lanes) {
        if (lanes == 0xff)
            return _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
        if ((lanes & 0xf) != 0)
            put_four(p, v, lanes & 0xf);
        if (lanes > 0xf)
            put_four(p + 4, _mm_srli_si128(v, 8), lanes >> 4);
    }
    static void put_four(std::uint16_t* p, __m128i v, unsigned lanes) {
        if (lanes == 0xf)
            return _mm_storeu_si64(p, v);
        if ((lanes & 3) != 0)
            put_two(p, v, lanes & 3);
        if (lanes > 3)
            put_two(p + 2, _mm_srli_epi64(v, 32), lanes >> 2);
    }
    static void put_two(std::uint16_t* p, __m128i v, unsigned lanes) {
        if (lanes == 3)
            _mm_storeu_si32(p, v);
        else if (lanes == 1)
            *p = static_cast<std::uint16_t>(_mm_extract_epi16(v, 0));
        else
            p[1] = static_cast<std::uint16_t>(_mm_extract_epi16(v, 1));
    }
    static __m256 all_lanes(const float* p) { return _mm256_set1_ps(*p); }
    static __m256d all_lanes(const double* p) { return _mm256_set1_pd(*p); }
    static __m256 fma(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
    static __m256d fma(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
    // Vectors that GCC would load again for each product; processors load no more of them a cycle
    // than they multiply.
    static __m256 load_once(const float* p) {
        __m256 v = _mm256_loadu_ps(p);
        __asm__("" : "+x"(v));
        return v;
    }
    static __m256d load_once(const double* p) {
        __m256d v = _mm256_loadu_pd(p);
        __asm__("" : "+x"(v));
        return v;
    }
    static void eight_sums(const F32* v, float* p) {
        __m256 half[8];
        for (int i = 0; i < 8; ++i)
            half[i] = _mm256_add_ps(v[i].low, v[i].high);
        for (int i = 0; i < 4; ++i)
            half[i] = _mm256_add_ps(_mm256_permute2f128_ps(half[i], half[i + 4], 0x20),
                                    _mm256_permute2f128_ps(half[i], half[i + 4], 0x31));
        for (int i = 0; i < 2; ++i)
            half[i] = _mm256_add_ps(_mm256_shuffle_ps(half[2 * i], half[2 * i + 1], 0x44),
                                    _mm256_shuffle_ps(half[2 * i], half[2 * i + 1], 0xee));
        _mm256_storeu_ps(p, _mm256_add_ps(_mm256_shuffle_ps(half[0], half[1], 0x88),
                                          _mm256_shuffle_ps(half[0], half[1], 0xdd)));
    }
    static void four_sums(const F64* v, double* p) {
        __m256d half[4];
        for (int i = 0; i < 4; ++i)
            half[i] = _mm256_add_pd(v[i].low, v[i].high);
        for (int i = 0; i < 2; ++i)
            half[i] = _mm256_add_pd(_mm256_permute2f128_pd(half[i], half[i + 2], 0x20),
                                    _mm256_permute2f128_pd(half[i], half[i + 2], 0x31));
        _mm256_storeu_pd(p, _mm256_add_pd(_mm256_unpacklo_pd(half[0], half[1]),
                                          _mm256_unpackhi_pd(half[0], half[1])));
    }
    static __m256 is_zero(__m256i v) {
        return _mm256_castsi256_ps(_mm256_cmpeq_epi32(v, _mm256_setzero_si256()));
    }
    static __m256d is_zero_wide(__m256i v) {
        return _mm256_castsi256_pd(_mm256_cmpeq_epi64(v, _mm256_setzero_si256()));
    }
    static void transpose8(__m256* rows) {
        __m256 t[8];
        for (int i = 0; i < 8; i += 2) {
            t[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
            t[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
        }
        __m256 u[8]; // u[i + j]: columns j and j + 4 of four rows
        for (int i = 0; i < 8; i += 4)
            for (int j = 0; j < 2; ++j) {
                const __m256d a = _mm256_castps_pd(t[i + j]), b = _mm256_castps_pd(t[i + 2 + j]);
                u[i + 2 * j] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, b));
                u[i + 2 * j + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, b));
            }
        for (int j = 0; j < 4; ++j) {
            rows[j] = _mm256_permute2f128_ps(u[j], u[j + 4], 0x20);
            rows[j + 4] = _mm256_permute2f128_ps(u[j], u[j + 4], 0x31);
        }
    }
    static void transpose4(__m256d* rows) {
        __m256d t[4];
        for (int i = 0; i < 4; i += 2) {
            t[i] = _mm256_unpacklo_pd(rows[i], rows[i + 1]);
            t[i + 1] = _mm256_unpackhi_pd(rows[i], rows[i + 1]);
        }
        for (int j = 0; j < 2; ++j) {
            rows[j] = _mm256_permute2f128_pd(t[j], t[j + 2], 0x20);
            rows[j + 2] = _mm256_permute2f128_pd(t[j], t[j + 2], 0x31);
        }
    }
    template <int relation>
    static F32 where(F32 a, F32 b, F32 x, F32 y) {
        return {_mm256_blendv_ps(y.low, x.low, _mm256_cmp_ps(a.low, b.low, relation)),
                _mm256_blendv_ps(y.high, x.high, _mm256_cmp_ps(a.high, b.high, relation))};
    }
    template <int relation>
    static F64 where(F64 a, F64 b, F64 x, F64 y) {
        return {_mm256_blendv_pd(y.low, x.low, _mm256_cmp_pd(a.low, b.low, relation)),
                _mm256_blendv_pd(y.high, x.high, _mm256_cmp_pd(a.high, b.high, relation))};
    }
    // v, but 0 in the lanes where x is below least. Blending with 0 would take GCC one more step.
    static F32 zero_below(F32 x, F32 least, F32 v) {
        return {_mm256_andnot_ps(_mm256_cmp_ps(x.low, least.low, _CMP_LT_OQ), v.low),
                _mm256_andnot_ps(_mm256_cmp_ps(x.high, least.high, _CMP_LT_OQ), v.high)};
    }
    static F64 zero_below(F64 x, F64 least, F64 v) {
        return {_mm256_andnot_pd(_mm256_cmp_pd(x.low, least.low, _CMP_LT_OQ), v.low),
                _mm256_andnot_pd(_mm256_cmp_pd(x.high, least.high, _CMP_LT_OQ), v.high)};
    }
    // 2^n: n + 1.5 2^52 has n in its last bits, which become the exponent.
    static __m256d power(__m256d n) {
        const __m256i word = _mm256_castpd_si256(_mm256_add_pd(n, _mm256_set1_pd(0x1.8p52)));
        const __m256i one = _mm256_castpd_si256(_mm256_set1_pd(1.0));
        return _mm256_castsi256_pd(_mm256_add_epi64(_mm256_slli_epi64(word, 52), one));
    }
    static F64 widen(__m256 v) {
        return {_mm256_cvtps_pd(_mm256_castps256_ps128(v)),
                _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1))};
    }
    static __m256i lane_mask(unsigned lanes) {
        const __m256i bit = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
        return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(lanes)), bit),
                                  bit);
    }
    static __m256i wide_lane_mask(unsigned lanes) {
        const __m256i bit = _mm256_set_epi64x(8, 4, 2, 1);
        return _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(lanes), bit), bit);
    }
    // Lanes of sixteen bits are chosen two by two; where only one of two is, it is alone.
    static unsigned pairs_of(unsigned lanes) { return lanes & lanes >> 1 & 0x5555U; }
    static __m128i pair_mask(unsigned lanes) {
        const __m128i bit = _mm_set_epi32(64, 16, 4, 1);
        const __m128i pairs = _mm_set1_epi32(static_cast<int>(pairs_of(lanes)));
        return _mm_cmpeq_epi32(_mm_and_si128(pairs, bit), bit);
    }
    // Each word in the upper half of 32 bits, and the lower halves of 32 bits.
    static __m256 high_words(__m128i v) {
        const __m256i order =
            _mm256_set_epi8(15, 14, -1, -1, 13, 12, -1, -1, 11, 10, -1, -1, 9, 8, -1, -1, 7, 6, -1,
                            -1, 5, 4, -1, -1, 3, 2, -1, -1, 1, 0, -1, -1);
        return _mm256_castsi256_ps(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(v), order));
    }
    static __m128i low_words(__m256i v) {
        return _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    }
    static __m256 narrow(F64 v) {
        return _mm256_set_m128(_mm256_cvtpd_ps(v.high), _mm256_cvtpd_ps(v.low));
    }
    static __m256 zip4(__m256d a, __m256d b) {
        const __m128 x = _mm256_cvtpd_ps(a), y = _mm256_cvtpd_ps(b);
        return _mm256_set_m128(_mm_unpackhi_ps(x, y), _mm_unpacklo_ps(x, y));
    }
    static __m256i high_word(__m256i word) {
        const __m256i last = _mm256_and_si256(_mm256_srli_epi32(word, 16), _mm256_set1_epi32(1));
        const __m256i carry = _mm256_add_epi32(last, _mm256_set1_epi32(0x7fff));
        return _mm256_srli_epi32(_mm256_add_epi32(word, carry), 16);
    }
    static F64 zip_four(__m256d a, __m256d b) {
        const __m256d even = _mm256_unpacklo_pd(a, b), odd = _mm256_unpackhi_pd(a, b);
        return {_mm256_permute2f128_pd(even, odd, 0x20), _mm256_permute2f128_pd(even, odd, 0x31)};
    }
};

} // namespace
