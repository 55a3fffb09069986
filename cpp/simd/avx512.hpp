// Eight float64 or sixteen float32 lanes on AVX-512 (F, BW, DQ, VL).
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

// An unnamed namespace, as in every Simd header: a target's code must have no name that another
// unit could share, or the linker may hand this instruction set to every processor.
namespace {

struct Simd {
    using F64 = __m512d;
    using U64 = __m512i;
    using F32 = __m512; // sixteen
    using U32 = __m512i;
    using U16 = __m256i; // sixteen
    using U8 = __m128i;  // sixteen

    static F64 load(const double* p) { return _mm512_load_pd(p); }
    static void store(double* p, F64 v) { _mm512_store_pd(p, v); }
    static U64 load(const std::uint64_t* p) { return _mm512_loadu_si512(p); }
    static F64 all(double x) { return _mm512_set1_pd(x); }
    static U64 all(std::uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }

    static F64 add(F64 a, F64 b) { return _mm512_add_pd(a, b); }
    static F64 sub(F64 a, F64 b) { return _mm512_sub_pd(a, b); }
    static F64 mul(F64 a, F64 b) { return _mm512_mul_pd(a, b); }
    static F64 fma(F64 a, F64 b, F64 c) { return _mm512_fmadd_pd(a, b, c); }   // a b + c
    static F64 fms(F64 a, F64 b, F64 c) { return _mm512_fmsub_pd(a, b, c); }   // a b - c
    static F64 fnma(F64 a, F64 b, F64 c) { return _mm512_fnmadd_pd(a, b, c); } // c - a b

    static U64 bits(F64 v) { return _mm512_castpd_si512(v); }
    static F64 from_bits(U64 v) { return _mm512_castsi512_pd(v); }
    static U64 add(U64 a, U64 b) { return _mm512_add_epi64(a, b); }
    static U64 sub(U64 a, U64 b) { return _mm512_sub_epi64(a, b); }
    static U64 band(U64 a, U64 b) { return _mm512_and_si512(a, b); }
    static U64 bor(U64 a, U64 b) { return _mm512_or_si512(a, b); }
    static U64 bxor(U64 a, U64 b) { return _mm512_xor_si512(a, b); }
    template <int N>
    static U64 left(U64 v) {
        return _mm512_slli_epi64(v, N);
    }
    template <int N>
    static U64 right(U64 v) {
        return _mm512_srli_epi64(v, N);
    }
    // p[4 i] for every lane's i.
    static F64 gather4(const double* p, U64 i) { return _mm512_i64gather_pd(left<2>(i), p, 8); }
    // Bit i is set where lane i differs.
    static unsigned differing(F64 a, F64 b) { return _mm512_cmp_pd_mask(a, b, _CMP_NEQ_UQ); }

    // a0 b0 a1 b1 .. and a0 .. a7 b0 .. b7, each rounded to the nearest float32.
    static F32 zip(F64 a, F64 b) {
        const U32 order = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
        return _mm512_permutex2var_ps(_mm512_castps256_ps512(_mm512_cvtpd_ps(a)), order,
                                      _mm512_castps256_ps512(_mm512_cvtpd_ps(b)));
    }
    static F32 join(F64 a, F64 b) {
        return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a)), _mm512_cvtpd_ps(b),
                                  1);
    }
    static U32 bits(F32 v) { return _mm512_castps_si512(v); }
    static U16 to_float16(F32 v) { return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT); }
    static U16 to_bfloat16(F32 v) {
        const U32 word = bits(v);
        const U32 last = _mm512_and_si512(_mm512_srli_epi32(word, 16), _mm512_set1_epi32(1));
        const U32 carry = _mm512_add_epi32(last, _mm512_set1_epi32(0x7fff));
        return high_words(_mm512_add_epi32(word, carry));
    }
    static unsigned differing(F32 a, F32 b) { return _mm512_cmpneq_epi32_mask(bits(a), bits(b)); }
    static unsigned differing(U16 a, U16 b) { return _mm256_cmpneq_epi16_mask(a, b); }

    static F32 mul(F32 a, F32 b) { return _mm512_mul_ps(a, b); }
    static F32 fma(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }
    static F32 fms(F32 a, F32 b, F32 c) { return _mm512_fmsub_ps(a, b, c); }

    static F32 all(float x) { return _mm512_set1_ps(x); }
    static F32 add(F32 a, F32 b) { return _mm512_add_ps(a, b); }
    static F32 sub(F32 a, F32 b) { return _mm512_sub_ps(a, b); }
    static F32 div(F32 a, F32 b) { return _mm512_div_ps(a, b); }
    static F64 div(F64 a, F64 b) { return _mm512_div_pd(a, b); }
    // a where it is above b, else b: so b where one of them is NaN.
    static F32 max(F32 a, F32 b) { return _mm512_max_ps(a, b); }
    static F64 max(F64 a, F64 b) { return _mm512_max_pd(a, b); }
    // a where it is below b, else b.
    static F32 min(F32 a, F32 b) { return _mm512_min_ps(a, b); }
    static F64 min(F64 a, F64 b) { return _mm512_min_pd(a, b); }
    // x in the lanes where a is below b, or equal to it; y in the others.
    static F32 where_less(F32 a, F32 b, F32 x, F32 y) {
        return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), x);
    }
    static F64 where_less(F64 a, F64 b, F64 x, F64 y) {
        return _mm512_mask_mov_pd(y, _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ), x);
    }
    static F32 where_equal(F32 a, F32 b, F32 x, F32 y) {
        return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ), x);
    }
    static F64 where_equal(F64 a, F64 b, F64 x, F64 y) {
        return _mm512_mask_mov_pd(y, _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ), x);
    }
    // Whether a is below b in every lane.
    static bool all_less(F32 a, F32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ) == 0xffff; }
    static bool all_less(F64 a, F64 b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ) == 0xff; }
    // x in the lanes where the byte is 0; y in the others. Of eight lanes the first bytes count.
    static F32 where_zero(U8 bytes, F32 x, F32 y) {
        return _mm512_mask_mov_ps(x, _mm_test_epi8_mask(bytes, bytes), y);
    }
    static F64 where_zero(U8 bytes, F64 x, F64 y) {
        return _mm512_mask_mov_pd(x, static_cast<__mmask8>(_mm_test_epi8_mask(bytes, bytes)), y);
    }
    // Rows become columns: neighbours change places, then pairs, fours and eights.
    static void transpose(F32 (&rows)[16]) {
        F32 t[16];
        for (int i = 0; i < 16; i += 2) {
            t[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
            t[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
        }
        for (int i = 0; i < 16; i += 4) // rows[i + j]: columns j, j + 4, j + 8, j + 12 of four rows
            for (int j = 0; j < 2; ++j) {
                const __m512d a = _mm512_castps_pd(t[i + j]), b = _mm512_castps_pd(t[i + 2 + j]);
                rows[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
                rows[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
            }
        for (int j = 0; j < 4; ++j) {
            const F32 a = _mm512_shuffle_f32x4(rows[j], rows[j + 4], 0b10001000);
            const F32 b = _mm512_shuffle_f32x4(rows[j], rows[j + 4], 0b11011101);
            const F32 c = _mm512_shuffle_f32x4(rows[j + 8], rows[j + 12], 0b10001000);
            const F32 d = _mm512_shuffle_f32x4(rows[j + 8], rows[j + 12], 0b11011101);
            t[j] = _mm512_shuffle_f32x4(a, c, 0b10001000);
            t[j + 4] = _mm512_shuffle_f32x4(b, d, 0b10001000);
            t[j + 8] = _mm512_shuffle_f32x4(a, c, 0b11011101);
            t[j + 12] = _mm512_shuffle_f32x4(b, d, 0b11011101);
        }
        for (int i = 0; i < 16; ++i)
            rows[i] = t[i];
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
        F64 t[8];
        for (int i = 0; i < 8; i += 2) {
            t[i] = _mm512_unpacklo_pd(rows[i], rows[i + 1]);
            t[i + 1] = _mm512_unpackhi_pd(rows[i], rows[i + 1]);
        }
        for (int j = 0; j < 2; ++j) {
            const F64 a = _mm512_shuffle_f64x2(t[j], t[j + 2], 0b10001000);
            const F64 b = _mm512_shuffle_f64x2(t[j], t[j + 2], 0b11011101);
            const F64 c = _mm512_shuffle_f64x2(t[j + 4], t[j + 6], 0b10001000);
            const F64 d = _mm512_shuffle_f64x2(t[j + 4], t[j + 6], 0b11011101);
            rows[j] = _mm512_shuffle_f64x2(a, c, 0b10001000);
            rows[j + 2] = _mm512_shuffle_f64x2(b, d, 0b10001000);
            rows[j + 4] = _mm512_shuffle_f64x2(a, c, 0b11011101);
            rows[j + 6] = _mm512_shuffle_f64x2(b, d, 0b11011101);
        }
    }
    static F32 size(F32 v) { return _mm512_abs_ps(v); }
    // v, which is not negative, with the sign of x.
    static F32 with_sign(F32 v, F32 x) {
        const U32 sign = bits(_mm512_set1_ps(-0.0F));
        return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(bits(v), bits(x), sign, 0xf8));
    }
    // v 2^n, exact; n is whole, and 2^n and the result are normal numbers. NaN where v is.
    static F64 scale(F64 v, F64 n) { return _mm512_scalef_pd(v, n); }
    // The same, but 0 in the lanes where x is below least, whatever v and n are there: to make a
    // number below the normal ones takes some processors a hundred times as long.
    static F64 scale_or_zero(F64 v, F64 n, F64 x, F64 least) {
        return _mm512_maskz_scalef_pd(_mm512_cmp_pd_mask(x, least, _CMP_NLT_UQ), v, n);
    }
    // v + v by, rounded once, but 0 in the lanes where x is below least, as above.
    static F32 fma_or_zero(F32 v, F32 by, F32 x, F32 least) {
        return _mm512_maskz_fmadd_ps(_mm512_cmp_ps_mask(x, least, _CMP_NLT_UQ), v, by, v);
    }
    // table[i % 8] + i 2^20, lane by lane, where i are the bits of v, as those of float32.
    static F32 look_up(const std::uint32_t (&table)[8], F32 v) {
        const U32 i = bits(v), eight = _mm512_castsi256_si512(
                                   _mm256_loadu_si256(reinterpret_cast<const __m256i*>(table)));
        const U32 entries = _mm512_permutexvar_epi32(i, _mm512_shuffle_i64x2(eight, eight, 0x44));
        return _mm512_castsi512_ps(_mm512_add_epi32(entries, _mm512_slli_epi32(i, 20)));
    }
    // table[i % 16], of the same i.
    static F32 look_up(const float (&table)[16], F32 v) {
        return _mm512_permutexvar_ps(bits(v), _mm512_loadu_ps(table));
    }
    // Lanes 0 .. 7 and 8 .. 15.
    static F64 widen_low(F32 v) { return _mm512_cvtps_pd(_mm512_castps512_ps256(v)); }
    static F64 widen_high(F32 v) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)); }
    static F64 get_wide(const float* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
    // Lanes i and i + 8 are added, then i and i + 4, i + 2, i + 1.
    static float sum(F32 v) {
        const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
        __m128 part = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
        part = _mm_add_ps(part, _mm_movehl_ps(part, part));
        return _mm_cvtss_f32(_mm_add_ss(part, _mm_movehdup_ps(part)));
    }
    static double sum(F64 v) {
        const __m256d half = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
        const __m128d part =
            _mm_add_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
        return _mm_cvtsd_f64(_mm_add_sd(part, _mm_unpackhi_pd(part, part)));
    }
    // Of lanes that are numbers.
    static float largest(F32 v) { return _mm512_reduce_max_ps(v); }
    static double largest(F64 v) { return _mm512_reduce_max_pd(v); }
    // p[i] = sum(v[i])
    template <int count, class Vector, class Value>
    static void sums(const Vector* v, Value* p) {
        if constexpr (count == 4 && sizeof(Value) == 4)
            return four_sums(v, p);
        for (int i = 0; i < count; ++i)
            p[i] = sum(v[i]);
    }
    // The same of as many vectors as each has lanes, which registers hold: sums_of(v)[i] =
    // sum(v[i])
    static constexpr bool sums_vectors = true;
    static F32 sums_of(const F32 (&v)[16]) {
        const auto neighbours = [](F32 a, F32 b) {
            return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0b10001000),
                                 _mm512_shuffle_ps(a, b, 0b11011101));
        };
        const auto pairs = [](F32 a, F32 b) {
            return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0b01001110),
                                 _mm512_mask_mov_ps(a, 0xcccc, b));
        };
        F32 fours[4]; // of every fourth vector, the lanes that are left of each
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i)
            fours[i] = quarters(halves(v[i], v[i + 4]), halves(v[i + 8], v[i + 12]));
        return neighbours(pairs(fours[0], fours[1]), pairs(fours[2], fours[3]));
    }
    static F64 sums_of(const F64 (&v)[8]) {
        const F64 x = quarters(halves(v[0], v[2]), halves(v[4], v[6]));
        const F64 y = quarters(halves(v[1], v[3]), halves(v[5], v[7]));
        return _mm512_add_pd(_mm512_unpacklo_pd(x, y), _mm512_unpackhi_pd(x, y));
    }
    // What v is made of is read before anything at `next`.
    template <class Vector, class Element>
    static void before(Vector v, const Element*& next) {
        __asm__("" : "+r"(next) : "v"(v));
    }
    // Vectors of eight doubles that registers hold.
    static constexpr std::size_t registers = 32;
    // Rows of a register tile of three vectors each, and of one of as many rows as vectors; and
    // how many of the latter's sums of lanes are taken at once.
    static constexpr int tile_rows = 8, few_rows = 4, few_sums = 4;
    // Whether register tiles add products half a vector at a time.
    static constexpr bool in_halves = false;
    // Vectors of which softmax takes powers of e by turns.
    static constexpr int powers_by_turns = 4;

    static F32 swap_neighbours(F32 v) { return _mm512_permute_ps(v, 0b10110001); }
    static F64 swap_neighbours(F64 v) { return _mm512_permute_pd(v, 0b01010101); }
    // Lanes 0 0 2 2 .. and 1 1 3 3 ..
    static F32 evens_twice(F32 v) { return _mm512_moveldup_ps(v); }
    static F32 odds_twice(F32 v) { return _mm512_movehdup_ps(v); }
    static F64 evens_twice(F64 v) { return _mm512_movedup_pd(v); }
    static F64 odds_twice(F64 v) { return _mm512_permute_pd(v, 0b11111111); }
    // a b - c in even lanes, a b + c in odd ones.
    static F32 fmaddsub(F32 a, F32 b, F32 c) { return _mm512_fmaddsub_ps(a, b, c); }
    static F64 fmaddsub(F64 a, F64 b, F64 c) { return _mm512_fmaddsub_pd(a, b, c); }
    // a in the lanes whose bits are set, b in the others.
    static F32 select(unsigned lanes, F32 a, F32 b) {
        return _mm512_mask_mov_ps(b, static_cast<__mmask16>(lanes), a);
    }
    static F64 select(unsigned lanes, F64 a, F64 b) {
        return _mm512_mask_mov_pd(b, static_cast<__mmask8>(lanes), a);
    }

    static F32 from_float16(U16 v) { return _mm512_cvtph_ps(v); }
    static F32 from_bfloat16(U16 v) {
        // Words in pairs, the lower ones of which become zeros.
        const U32 order = _mm512_set_epi16(15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10, 10, 9, 9, 8,
                                           8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
        const U32 words = _mm512_castsi256_si512(v);
        return _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(0xaaaaaaaa, order, words));
    }
    static U16 to_bfloat16_or_nan(F32 v) {
        // Of the eight classes of numbers the first two, NaN, become the first operand.
        const F32 nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000));
        return to_bfloat16(_mm512_fixupimm_ps(nan, v, _mm512_set1_epi32(0x11111100), 0));
    }

    static F32 get(const float* p) { return _mm512_loadu_ps(p); }
    static F64 get(const double* p) { return _mm512_loadu_pd(p); }
    // v, which GCC would read from memory again for each use: two lines where it lies across them.
    template <class Vector>
    static Vector read_once(Vector v) {
        __asm__("" : "+v"(v));
        return v;
    }
    static U8 get(const std::uint8_t* p) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    }
    static U16 get(const std::uint16_t* p) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
    // Zeros in the lanes whose bits are not set, which are not read.
    static F32 get_some(const float* p, unsigned lanes) {
        return _mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes), p);
    }
    static F64 get_some(const double* p, unsigned lanes) {
        return _mm512_maskz_loadu_pd(static_cast<__mmask8>(lanes), p);
    }
    static U16 get_some(const std::uint16_t* p, unsigned lanes) {
        return _mm256_maskz_loadu_epi16(static_cast<__mmask16>(lanes), p);
    }

    static void put(float* p, F32 v) { _mm512_storeu_ps(p, v); }
    static void put(float* low, float* high, F32 v) {
        _mm256_storeu_ps(low, _mm512_castps512_ps256(v));
        _mm256_storeu_ps(high, _mm512_extractf32x8_ps(v, 1));
    }
    static void put(std::uint16_t* p, U16 v) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
    }
    static void put(std::uint16_t* low, std::uint16_t* high, U16 v) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(low), _mm256_castsi256_si128(v));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(high), _mm256_extracti128_si256(v, 1));
    }
    static void put(double* p, F64 v) { _mm512_storeu_pd(p, v); }
    // a0 b0 a1 b1 ..
    static F64 zip_low(F64 a, F64 b) {
        return _mm512_permutex2var_pd(a, _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), b);
    }
    static F64 zip_high(F64 a, F64 b) {
        return _mm512_permutex2var_pd(a, _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4), b);
    }

    // Only the lanes whose bits are set; p is where lane 0 would go.
    static void put_some(float* p, F32 v, unsigned lanes) {
        _mm512_mask_storeu_ps(p, static_cast<__mmask16>(lanes), v);
    }
    static void put_some(std::uint16_t* p, U16 v, unsigned lanes) {
        _mm256_mask_storeu_epi16(p, static_cast<__mmask16>(lanes), v);
    }
    static void put_some(double* p, F64 v, unsigned lanes) {
        _mm512_mask_storeu_pd(p, static_cast<__mmask8>(lanes), v);
    }

    static constexpr bool streams = true;
    // Stores that pass the cache by; p is a multiple of what is stored.
    static void stream(float* p, F32 v) { _mm512_stream_ps(p, v); }
    static void stream(float* low, float* high, F32 v) {
        _mm256_stream_ps(low, _mm512_castps512_ps256(v));
        _mm256_stream_ps(high, _mm512_extractf32x8_ps(v, 1));
    }
    static void stream(std::uint16_t* p, U16 v) {
        _mm256_stream_si256(reinterpret_cast<__m256i*>(p), v);
    }
    static void stream(std::uint16_t* low, std::uint16_t* high, U16 v) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(low), _mm256_castsi256_si128(v));
        _mm_stream_si128(reinterpret_cast<__m128i*>(high), _mm256_extracti128_si256(v, 1));
    }
    static void stream(double* p, F64 v) { _mm512_stream_pd(p, v); }
    static void fence() { _mm_sfence(); }

    // Gathers what a rounding test asks of many values; read once.
    class Doubt {
      public:
        // key + offset must have a bit of mask set in every lane; |v| must exceed 2^-13.
        void add(U32 key, std::uint32_t offset, std::uint32_t mask, F32 v) {
            const U32 moved = _mm512_add_epi32(key, _mm512_set1_epi32(static_cast<int>(offset)));
            clear_ = _mm512_mask_test_epi32_mask(clear_, moved,
                                                 _mm512_set1_epi32(static_cast<int>(mask)));
            smallest_ = _mm512_range_ps(smallest_, v, 0b1010); // the smaller magnitude
        }
        // The same of the low words of a and b, which v are rounded from.
        void add(F64 a, F64 b, std::uint32_t offset, std::uint32_t mask, F32 v) {
            add(low_words(a, b), offset, mask, v);
        }
        bool any() const {
            return _mm512_mask_cmp_ps_mask(clear_, smallest_, _mm512_set1_ps(0x1p-13F),
                                           _CMP_GT_OQ) != 0xffff;
        }

      private:
        __mmask16 clear_ = 0xffff;
        F32 smallest_ = _mm512_set1_ps(1.0F);
    };

  private:
    // The low words of both, in any order.
    static U32 low_words(F64 a, F64 b) {
        return _mm512_castps_si512(
            _mm512_mask_moveldup_ps(_mm512_castpd_ps(a), 0xaaaa, _mm512_castpd_ps(b)));
    }
    // The higher word of every two.
    static U16 high_words(U32 v) {
        const U32 order = _mm512_set_epi16(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 31, 29,
                                           27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
        return _mm512_castsi512_si256(_mm512_permutexvar_epi16(order, v));
    }
    // Half of a's lanes plus the others, then b's.
    static F32 halves(F32 a, F32 b) {
        return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0b01001110),
                             _mm512_mask_mov_ps(a, 0xff00, b));
    }
    static F64 halves(F64 a, F64 b) {
        return _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0b01001110),
                             _mm512_mask_mov_pd(a, 0xf0, b));
    }
    // Half of the lanes that this has left of each, plus the others: a's, then b's.
    static F32 quarters(F32 a, F32 b) {
        return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0b10001000),
                             _mm512_shuffle_f32x4(a, b, 0b11011101));
    }
    static F64 quarters(F64 a, F64 b) {
        return _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0b10001000),
                             _mm512_shuffle_f64x2(a, b, 0b11011101));
    }
    // As sum(), of four vectors at once.
    static void four_sums(const F32* v, float* p) {
        F32 all = quarters(halves(v[0], v[1]), halves(v[2], v[3]));
        all = _mm512_add_ps(all, _mm512_permute_ps(all, 0b01001110));
        all = _mm512_add_ps(all, _mm512_permute_ps(all, 0b10110001));
        const U32 firsts = _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 8, 4, 0);
        _mm_storeu_ps(p, _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, all)));
    }
};

} // namespace
