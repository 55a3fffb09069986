// Scores of pairs of bfloat16 against those of float32, bit by bit: with pairs added in plain C++,
// of which a sanitizer sees every access, and by the processor where it can.
#include "kernels/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/transpose.hpp"
#include "simd/avx512_bf16.hpp"
#include "targets/dispatch.hpp"

namespace {

using S = Simd;
using ropewalk::block_keys;
template <class T>
using Array = std::vector<T>;

int failures = 0;

void check(bool holds, const char* what) {
    if (!holds) {
        std::printf("failed: %s\n", what);
        ++failures;
    }
}

template <class T>
Array<T> room(std::int64_t count) {
    return Array<T>(static_cast<std::size_t>(count));
}

float wide(unsigned bits) {
    bits <<= 16;
    float x = 0;
    std::memcpy(&x, &bits, 4);
    return x;
}

struct PlainPairs : Pairs {
    // Inlined wherever kernels add products, it takes a minute to compile.
    [[gnu::noinline]] static F32 fma(F32 a, F32 b, F32 c) {
        alignas(64) std::uint16_t of_a[32], of_b[32];
        alignas(64) float sums[16];
        std::memcpy(of_a, &a, sizeof of_a);
        std::memcpy(of_b, &b, sizeof of_b);
        put(sums, c);
        for (int i = 0; i < 16; ++i)
            for (int k = 2 * i + 1; k >= 2 * i; --k) {
                sums[i] = std::fma(wide(of_a[k]), wide(of_b[k]), sums[i]);
                sums[i] = std::abs(sums[i]) < 0x1p-126F ? 0.0F : sums[i];
            }
        return get(sums);
    }
};

// Of bfloat16: what some exponents are, at least and how many. The smallest ones that pairs hold;
// numbers beside 1; those whose products overflow, and infinities and NaN.
struct Range {
    unsigned first, count;
};
constexpr Range ranges[] = {{127 - 55, 3}, {110, 30}, {180, 20}, {240, 16}};

// Rows of bfloat16, some of them 0 or -0, in memory that has nothing behind them. Of each two, one
// is often nearly less the other.
Array<std::uint16_t> numbers(std::int64_t count, Range range) {
    static std::mt19937 random(1);
    auto data = room<std::uint16_t>(count);
    unsigned before = range.first << 7;
    for (auto& x : data) {
        const auto bits = static_cast<unsigned>(random());
        const unsigned exponent = range.first + bits % range.count, sign = bits >> 8 & 0x8000;
        const unsigned kind = bits >> 24 & 7;
        x = static_cast<std::uint16_t>(kind == 0   ? sign
                                       : kind <= 3 ? before ^ 0x8000 ^ (bits >> 27 & 1)
                                                   : sign | exponent << 7 | (bits >> 16 & 0x7f));
        before = kind == 0 ? sign | exponent << 7 : x;
    }
    return data;
}

// Sixteen lanes a vector, one after another, of rows of that width.
template <class Score>
Array<float> scores(const Array<float>& queries, const Array<float>& keys, std::int64_t width,
                    std::int64_t count, int vectors, Score score) {
    const std::int64_t row = 16 * vectors;
    auto lanes = room<float>(row * width), logits = room<float>(block_keys * row),
         largest = room<float>(row), smallest = largest;
    for (std::int64_t i = 0; i < row; i += 16) {
        const float* starts[16];
        for (int j = 0; j < 16; ++j)
            starts[j] = queries.data() + (i + j) * width;
        rows_to_lanes<S, FloatData<S, float>>(starts, width, row, lanes.data() + i);
    }
    Tile<float> tile{};
    tile.vectors = vectors;
    tile.dim = width;
    tile.queries = lanes.data();
    tile.logits = logits.data();
    tile.largest = largest.data();
    tile.smallest = smallest.data();
    std::fill_n(tile.keys, vectors, count);
    score(tile, {keys.data(), width, count}, 0.3F, nullptr);
    logits.insert(logits.end(), largest.begin(), largest.end());
    return logits;
}

template <class P>
void check_scores(int vectors, std::int64_t count, std::int64_t dim, Range range) {
    constexpr auto kernels = pairs_of<S, P>();
    const std::int64_t width = (dim + 1) / 2;
    Array<float> pairs[2], widened[2]; // queries and keys
    for (int i = 0; i < 2; ++i) {
        const std::int64_t rows = i == 0 ? 16 * vectors : count;
        const auto data = numbers(rows * dim, range);
        pairs[i] = room<float>(rows * width);
        check(kernels.pair_rows({data.data(), dim, rows}, dim, pairs[i].data()), "pairs");
        for (const std::uint16_t x : data)
            widened[i].push_back(wide(x));
    }
    auto found = scores(pairs[0], pairs[1], width, count, vectors, kernels.score);
    auto expected = scores(widened[0], widened[1], dim, count, vectors, score<S, float>);
    for (auto* all : {&found, &expected})
        for (float& x : *all)
            x = std::isnan(x) ? 7 : x; // whatever its bits
    check(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)) == 0, "scores");
}

void check_sizes() {
    constexpr auto kernels = pairs_of<S, Pairs>();
    const auto pairs = [&](unsigned exponent, unsigned fraction, std::int64_t at) {
        auto row = Array<std::uint16_t>(20, 0x3f80);
        row[static_cast<std::size_t>(at)] = static_cast<std::uint16_t>(exponent << 7 | fraction);
        float to[16];
        return kernels.pair_rows({row.data(), 20, 1}, 20, to);
    };
    for (const std::int64_t at : {0, 15, 16, 19})
        for (const unsigned sign : {0U, 256U}) {
            check(pairs(sign | (127 - 55), 0, at), "the smallest number in a pair");
            check(!pairs(sign | (127 - 56), 127, at), "a smaller number");
            check(!pairs(sign, 1, at), "a subnormal number");
            check(pairs(sign, 0, at), "zero");
            check(pairs(sign | 255, 0, at) && pairs(sign | 255, 64, at), "infinity and NaN");
        }
}

template <class P>
[[gnu::noinline]] void check_shapes() {
    for (int vectors = 1; vectors <= 3; ++vectors)
        for (const std::int64_t count : {1, 31, 128})
            for (const std::int64_t dim : {1, 2, 15, 16, 17, 35, 128})
                for (const Range range : ranges)
                    check_scores<P>(vectors, count, dim, range);
}

} // namespace

int main() {
    const ropewalk::Kernels* const kernels = ropewalk::find_kernels("avx512");
    if (kernels == nullptr) { // nothing above may run here
        std::puts("this processor has no AVX-512");
        return 77; // skipped
    }
    check_sizes();
    check_shapes<PlainPairs>();
    if (ropewalk::adds_pairs(*kernels))
        check_shapes<Pairs>();
    return failures == 0 ? 0 : 1;
}
