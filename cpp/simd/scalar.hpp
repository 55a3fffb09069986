// Eight float64 or sixteen float32 lanes in plain C++: every processor runs it, and it says what
// the other headers mean.
#pragma once

#include <cstddef>
#include <cstdint>

namespace { // as in avx512.hpp

struct Simd {
    template <class T, std::size_t N>
    struct Lanes {
        T at[N];
    };
    using F64 = Lanes<double, 8>;
    using U64 = Lanes<std::uint64_t, 8>;
    using F32 = Lanes<float, 16>;
    using U32 = Lanes<std::uint32_t, 16>;
    using U16 = Lanes<std::uint16_t, 16>;
    using U8 = Lanes<std::uint8_t, 16>;

    static F64 load(const double* p) {
        return each<F64>([=](int i) { return p[i]; });
    }
    static void store(double* p, F64 v) { put(p, v); }
    static U64 load(const std::uint64_t* p) {
        return each<U64>([=](int i) { return p[i]; });
    }
    static F64 all(double x) {
        return each<F64>([=](int) { return x; });
    }
    static U64 all(std::uint64_t x) {
        return each<U64>([=](int) { return x; });
    }

    static F64 add(F64 a, F64 b) {
        return each<F64>([&](int i) { return a.at[i] + b.at[i]; });
    }
    static F64 sub(F64 a, F64 b) {
        return each<F64>([&](int i) { return a.at[i] - b.at[i]; });
    }
    static F64 mul(F64 a, F64 b) {
        return each<F64>([&](int i) { return a.at[i] * b.at[i]; });
    }
    static F64 fma(F64 a, F64 b, F64 c) { // a b + c
        return each<F64>([&](int i) { return __builtin_fma(a.at[i], b.at[i], c.at[i]); });
    }
    static F64 fms(F64 a, F64 b, F64 c) { // a b - c
        return each<F64>([&](int i) { return __builtin_fma(a.at[i], b.at[i], -c.at[i]); });
    }
    static F64 fnma(F64 a, F64 b, F64 c) { // c - a b
        return each<F64>([&](int i) { return __builtin_fma(-a.at[i], b.at[i], c.at[i]); });
    }

    static U64 bits(F64 v) { return __builtin_bit_cast(U64, v); }
    static F64 from_bits(U64 v) { return __builtin_bit_cast(F64, v); }
    static U64 add(U64 a, U64 b) {
        return each<U64>([&](int i) { return a.at[i] + b.at[i]; });
    }
    static U64 sub(U64 a, U64 b) {
        return each<U64>([&](int i) { return a.at[i] - b.at[i]; });
    }
    static U64 band(U64 a, U64 b) {
        return each<U64>([&](int i) { return a.at[i] & b.at[i]; });
    }
    static U64 bor(U64 a, U64 b) {
        return each<U64>([&](int i) { return a.at[i] | b.at[i]; });
    }
    static U64 bxor(U64 a, U64 b) {
        return each<U64>([&](int i) { return a.at[i] ^ b.at[i]; });
    }
    template <int N>
    static U64 left(U64 v) {
        return each<U64>([&](int i) { return v.at[i] << N; });
    }
    template <int N>
    static U64 right(U64 v) {
        return each<U64>([&](int i) { return v.at[i] >> N; });
    }
    // p[4 i] for every lane's i.
    static F64 gather4(const double* p, U64 i) {
        return each<F64>([&](int lane) { return p[4 * i.at[lane]]; });
    }
    // Bit i is set where lane i differs.
    template <class T, std::size_t N>
    static unsigned differing(Lanes<T, N> a, Lanes<T, N> b) {
        unsigned lanes = 0;
        for (std::size_t i = 0; i < N; ++i)
            lanes |= static_cast<unsigned>(a.at[i] != b.at[i]) << i;
        return lanes;
    }

    // a0 b0 a1 b1 .. and a0 .. a7 b0 .. b7, each rounded to the nearest float32.
    static F32 zip(F64 a, F64 b) {
        return each<F32>(
            [&](int i) { return static_cast<float>(i % 2 == 0 ? a.at[i / 2] : b.at[i / 2]); });
    }
    static F32 join(F64 a, F64 b) {
        return each<F32>([&](int i) { return static_cast<float>(i < 8 ? a.at[i] : b.at[i - 8]); });
    }
    static U32 bits(F32 v) { return __builtin_bit_cast(U32, v); }
    static U16 to_float16(F32 v) {
        return each<U16>([&](int i) { return float16(v.at[i]); });
    }
    static U16 to_bfloat16(F32 v) {
        const U32 word = bits(v);
        return each<U16>([&](int i) {
            return static_cast<std::uint16_t>((word.at[i] + 0x7fff + ((word.at[i] >> 16) & 1)) >>
                                              16);
        });
    }
    static unsigned differing(F32 a, F32 b) { return differing(bits(a), bits(b)); }

    static F32 mul(F32 a, F32 b) {
        return each<F32>([&](int i) { return a.at[i] * b.at[i]; });
    }
    static F32 fma(F32 a, F32 b, F32 c) {
        return each<F32>([&](int i) { return __builtin_fmaf(a.at[i], b.at[i], c.at[i]); });
    }
    static F32 fms(F32 a, F32 b, F32 c) {
        return each<F32>([&](int i) { return __builtin_fmaf(a.at[i], b.at[i], -c.at[i]); });
    }

    static F32 all(float x) {
        return each<F32>([=](int) { return x; });
    }
    static F32 add(F32 a, F32 b) {
        return each<F32>([&](int i) { return a.at[i] + b.at[i]; });
    }
    static F32 sub(F32 a, F32 b) {
        return each<F32>([&](int i) { return a.at[i] - b.at[i]; });
    }
    template <class Vector>
    static Vector div(const Vector& a, const Vector& b) {
        return each<Vector>([&](int i) { return a.at[i] / b.at[i]; });
    }
    // a where it is above b, else b: so b where one of them is NaN.
    template <class Vector>
    static Vector max(const Vector& a, const Vector& b) {
        return each<Vector>([&](int i) { return a.at[i] > b.at[i] ? a.at[i] : b.at[i]; });
    }
    // a where it is below b, else b.
    template <class Vector>
    static Vector min(const Vector& a, const Vector& b) {
        return each<Vector>([&](int i) { return a.at[i] < b.at[i] ? a.at[i] : b.at[i]; });
    }
    // x in the lanes where a is below b, or equal to it; y in the others.
    template <class Vector>
    static Vector where_less(const Vector& a, const Vector& b, const Vector& x, const Vector& y) {
        return each<Vector>([&](int i) { return a.at[i] < b.at[i] ? x.at[i] : y.at[i]; });
    }
    template <class Vector>
    static Vector where_equal(const Vector& a, const Vector& b, const Vector& x, const Vector& y) {
        return each<Vector>([&](int i) { return a.at[i] == b.at[i] ? x.at[i] : y.at[i]; });
    }
    // Whether a is below b in every lane.
    template <class Vector>
    static bool all_less(const Vector& a, const Vector& b) {
        bool all = true;
        for (int i = 0; i < static_cast<int>(sizeof a.at / sizeof a.at[0]); ++i)
            all &= a.at[i] < b.at[i];
        return all;
    }
    // x in the lanes where the byte is 0; y in the others. Of eight lanes the first bytes count.
    template <class Vector>
    static Vector where_zero(const U8& bytes, const Vector& x, const Vector& y) {
        return each<Vector>([&](int i) { return bytes.at[i] == 0 ? x.at[i] : y.at[i]; });
    }
    // Rows become columns.
    template <class T, std::size_t N>
    static void transpose(Lanes<T, N> (&rows)[N]) {
        for (std::size_t i = 0; i < N; ++i)
            for (std::size_t j = 0; j < i; ++j) {
                const T other = rows[i].at[j];
                rows[i].at[j] = rows[j].at[i];
                rows[j].at[i] = other;
            }
    }
    static F32 size(F32 v) {
        return each<F32>([&](int i) { return __builtin_fabsf(v.at[i]); });
    }
    // v, which is not negative, with the sign of x.
    static F32 with_sign(F32 v, F32 x) {
        return each<F32>([&](int i) { return __builtin_copysignf(v.at[i], x.at[i]); });
    }
    // v 2^n, exact; n is whole, and 2^n and the result are normal numbers. NaN where v is.
    static F64 scale(F64 v, F64 n) {
        return each<F64>([&](int i) {
            // n + 1.5 2^52 has n in its last bits, which become the exponent.
            const auto word = __builtin_bit_cast(std::uint64_t, n.at[i] + 0x1.8p52);
            return v.at[i] * __builtin_bit_cast(double, (word << 52) + 0x3ff0000000000000);
        });
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
        const U32 i = bits(v);
        return each<F32>([&](int lane) {
            return __builtin_bit_cast(float, table[i.at[lane] % 8] + (i.at[lane] << 20));
        });
    }
    // table[i % 16], of the same i.
    static F32 look_up(const float (&table)[16], F32 v) {
        const U32 i = bits(v);
        return each<F32>([&](int lane) { return table[i.at[lane] % 16]; });
    }
    // Lanes 0 .. 7 and 8 .. 15.
    static F64 widen_low(F32 v) {
        return each<F64>([&](int i) { return static_cast<double>(v.at[i]); });
    }
    static F64 widen_high(F32 v) {
        return each<F64>([&](int i) { return static_cast<double>(v.at[i + 8]); });
    }
    static F64 get_wide(const float* p) {
        return each<F64>([&](int i) { return static_cast<double>(p[i]); });
    }
    // Lanes i and i + N / 2 are added, then i and i + N / 4, ..
    template <class T, std::size_t N>
    static T sum(Lanes<T, N> v) {
        for (std::size_t step = N / 2; step > 0; step /= 2)
            for (std::size_t i = 0; i < step; ++i)
                v.at[i] += v.at[i + step];
        return v.at[0];
    }
    // Of lanes that are numbers.
    template <class T, std::size_t N>
    static T largest(const Lanes<T, N>& v) {
        T largest = v.at[0];
        for (const T lane : v.at)
            largest = largest > lane ? largest : lane;
        return largest;
    }
    // p[i] = sum(v[i])
    template <int count, class Vector, class Value>
    static void sums(const Vector* v, Value* p) {
        for (int i = 0; i < count; ++i)
            p[i] = sum(v[i]);
    }
    static constexpr bool sums_vectors = false; // as many at once as each has lanes
    // Vectors of eight doubles that registers hold.
    static constexpr std::size_t registers = 0;
    // Rows of a register tile of three vectors each, and of one of as many rows as vectors; and
    // how many of the latter's sums of lanes are taken at once.
    static constexpr int tile_rows = 1, few_rows = 1, few_sums = 1;
    // Whether register tiles add products half a vector at a time.
    static constexpr bool in_halves = false;
    // Vectors of which softmax takes powers of e by turns.
    static constexpr int powers_by_turns = 2;

    template <class Vector>
    static Vector swap_neighbours(const Vector& v) {
        return each<Vector>([&](int i) { return v.at[i ^ 1]; });
    }
    // Lanes 0 0 2 2 .. and 1 1 3 3 ..
    template <class Vector>
    static Vector evens_twice(const Vector& v) {
        return each<Vector>([&](int i) { return v.at[i & ~1]; });
    }
    template <class Vector>
    static Vector odds_twice(const Vector& v) {
        return each<Vector>([&](int i) { return v.at[i | 1]; });
    }
    // a b - c in even lanes, a b + c in odd ones.
    template <class Vector>
    static Vector fmaddsub(const Vector& a, const Vector& b, const Vector& c) {
        const Vector less = fms(a, b, c), more = fma(a, b, c);
        return each<Vector>([&](int i) { return i % 2 == 0 ? less.at[i] : more.at[i]; });
    }
    // a in the lanes whose bits are set, b in the others.
    template <class Vector>
    static Vector select(unsigned lanes, const Vector& a, const Vector& b) {
        return each<Vector>([&](int i) { return (lanes >> i & 1U) != 0 ? a.at[i] : b.at[i]; });
    }

    static F32 from_float16(U16 v) {
        return each<F32>([&](int i) { return float32(v.at[i]); });
    }
    static F32 from_bfloat16(U16 v) {
        return each<F32>([&](int i) {
            return __builtin_bit_cast(float, static_cast<std::uint32_t>(v.at[i]) << 16);
        });
    }
    static U16 to_bfloat16_or_nan(const F32& v) {
        const U16 rounded = to_bfloat16(v);
        return each<U16>([&](int i) {
            return __builtin_isnan(v.at[i]) ? std::uint16_t{0x7fc0} : rounded.at[i];
        });
    }

    // Where registers are few, to read from memory again is as well.
    template <class Vector>
    static Vector read_once(Vector v) {
        return v;
    }
    static F32 get(const float* p) {
        return each<F32>([=](int i) { return p[i]; });
    }
    static F64 get(const double* p) { return load(p); }
    static U8 get(const std::uint8_t* p) {
        return each<U8>([=](int i) { return p[i]; });
    }
    static U16 get(const std::uint16_t* p) {
        return each<U16>([=](int i) { return p[i]; });
    }
    // Zeros in the lanes whose bits are not set, which are not read.
    static F32 get_some(const float* p, unsigned lanes) { return some<F32>(p, lanes); }
    static F64 get_some(const double* p, unsigned lanes) { return some<F64>(p, lanes); }
    static U16 get_some(const std::uint16_t* p, unsigned lanes) { return some<U16>(p, lanes); }

    template <class T, std::size_t N>
    static void put(T* p, const Lanes<T, N>& v) {
        for (std::size_t i = 0; i < N; ++i)
            p[i] = v.at[i];
    }
    template <class T>
    static void put(T* low, T* high, const Lanes<T, 16>& v) {
        for (int i = 0; i < 8; ++i) {
            low[i] = v.at[i];
            high[i] = v.at[i + 8];
        }
    }
    // a0 b0 a1 b1 ..
    static F64 zip_low(F64 a, F64 b) {
        return each<F64>([&](int i) { return i % 2 == 0 ? a.at[i / 2] : b.at[i / 2]; });
    }
    static F64 zip_high(F64 a, F64 b) {
        return each<F64>([&](int i) { return i % 2 == 0 ? a.at[4 + i / 2] : b.at[4 + i / 2]; });
    }

    // Only the lanes whose bits are set; p is where lane 0 would go.
    template <class T, std::size_t N>
    static void put_some(T* p, const Lanes<T, N>& v, unsigned lanes) {
        for (std::size_t i = 0; i < N; ++i)
            if ((lanes >> i & 1U) != 0)
                p[i] = v.at[i];
    }

    static constexpr bool streams = false; // plain C++ has no stores that pass the cache by
    static void fence() {}

    // Gathers what a rounding test asks of many values; read once.
    class Doubt {
      public:
        // key + offset must have a bit of mask set in every lane; |v| must exceed 2^-13.
        void add(U32 key, std::uint32_t offset, std::uint32_t mask, const F32& v) {
            for (int i = 0; i < 16; ++i)
                any_ |= ((key.at[i] + offset) & mask) == 0 || __builtin_fabsf(v.at[i]) <= 0x1p-13F;
        }
        // The same of the low words of a and b, which v are rounded from.
        void add(const F64& a, const F64& b, std::uint32_t offset, std::uint32_t mask,
                 const F32& v) {
            add(low_words(a, b), offset, mask, v);
        }
        bool any() const { return any_; }

      private:
        bool any_ = false;
    };

  private:
    template <class Result, class Function>
    static Result each(Function function) {
        Result result;
        for (int i = 0; i < static_cast<int>(sizeof result.at / sizeof result.at[0]); ++i)
            result.at[i] = function(i);
        return result;
    }

    // The low words of both, in any order.
    static U32 low_words(F64 a, F64 b) {
        const U64 x = bits(a), y = bits(b);
        return each<U32>(
            [&](int i) { return static_cast<std::uint32_t>(i < 8 ? x.at[i] : y.at[i - 8]); });
    }

    template <class Vector, class T>
    static Vector some(const T* p, unsigned lanes) {
        return each<Vector>([=](int i) { return (lanes >> i & 1U) != 0 ? p[i] : T{}; });
    }

    static float float32(std::uint16_t value) {
        const std::uint32_t sign = static_cast<std::uint32_t>(value & 0x8000) << 16;
        const std::uint32_t size = value & 0x7fff;
        std::uint32_t bits = 0;
        if (size >= 0x7c00) // infinity, NaN
            bits = 0x7f800000 | (size & 0x3ff) << 13;
        else if (size >= 0x400)
            bits = (size << 13) + (112U << 23);
        else // below 2^-14: the multiple of 2^-24
            bits = __builtin_bit_cast(std::uint32_t, static_cast<float>(size) * 0x1p-24F);
        return __builtin_bit_cast(float, sign | bits);
    }

    // Nearest, ties to even.
    static std::uint16_t float16(float value) {
        const auto bits = __builtin_bit_cast(std::uint32_t, value);
        const std::uint32_t sign = (bits >> 16) & 0x8000, size = bits & 0x7fffffff;
        if (size > 0x7f800000) // NaN
            return static_cast<std::uint16_t>(sign | 0x7e00);
        if (size >= 0x477ff000) // 65520 and more
            return static_cast<std::uint16_t>(sign | 0x7c00);
        if (size >= 0x38800000) { // 2^-14, the smallest normal number
            const std::uint32_t rebiased = size - (112U << 23);
            return static_cast<std::uint16_t>(sign |
                                              ((rebiased + 0xfff + ((rebiased >> 13) & 1)) >> 13));
        }
        // Adding 1/2 makes the unit in the last place 2^-24.
        const float shifted = __builtin_bit_cast(float, size) + 0.5F;
        return static_cast<std::uint16_t>(
            sign | (__builtin_bit_cast(std::uint32_t, shifted) - 0x3f000000U));
    }
};

} // namespace
