// Attention by matrices against loops: with matrices multiplied in plain C++, of which a sanitizer
// sees every access, and by the processor where it can, with the same bits.
#include "kernels/matrices.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "simd/amx.hpp"
#include "simd/avx512.hpp"
#include "targets/dispatch.hpp"

namespace {

using S = Simd;
using ropewalk::block_keys;

int failures = 0;

void check(bool holds, const char* what) {
    if (!holds) {
        std::printf("failed: %s\n", what);
        ++failures;
    }
}

float flush(float x) { return std::abs(x) < 0x1p-126F ? 0.0F : x; }
// What is flushed is told once it is rounded to 24 bits, however small it is.
float flushed_fma(float a, float b, float c) {
    const float larger = std::fma(0x1p30F * a, b, 0x1p30F * c);
    return std::abs(larger) < 0x1p-96F ? 0.0F : std::fma(a, b, c);
}

// The registers of AMX as arrays, which hold NaN at first.
struct Plain : Amx {
    alignas(64) static inline std::uint8_t registers[8][16][64];

    static void start() { std::memset(registers, 0xff, sizeof registers); }
    static void stop() {}
    template <int to>
    static void clear() {
        std::memset(registers[to], 0, sizeof registers[to]);
    }
    template <int to>
    static void load(const void* p, std::int64_t apart) {
        for (int i = 0; i < 16; ++i)
            std::memcpy(registers[to][i], static_cast<const char*>(p) + i * apart, 64);
    }
    template <int from>
    static void store(void* p, std::int64_t apart) {
        for (int i = 0; i < 16; ++i)
            std::memcpy(static_cast<char*>(p) + i * apart, registers[from][i], 64);
    }
    template <int sums, int a, int b>
    static void multiply() {
        const auto element = [](const std::uint8_t (&row)[64], int i) {
            std::uint16_t half = 0;
            std::memcpy(&half, row + 2 * i, 2);
            const std::uint32_t bits = std::uint32_t{half} << 16;
            float x = 0;
            std::memcpy(&x, &bits, 4);
            return flush(x);
        };
        for (int i = 0; i < 16; ++i)
            for (int j = 0; j < 16; ++j) {
                float even = 0, odd = 0, sum = 0;
                for (int k = 0; k < 16; ++k) {
                    const auto product = [&](int second, float to) {
                        return flushed_fma(element(registers[a][i], 2 * k + second),
                                           element(registers[b][k], 2 * j + second), to);
                    };
                    even = product(0, even);
                    odd = product(1, odd);
                }
                std::memcpy(&sum, registers[sums][i] + 4 * j, 4);
                sum = flush(flush(even + odd) + flush(sum));
                std::memcpy(registers[sums][i] + 4 * j, &sum, 4);
            }
    }
};

template <class T>
using Array = std::vector<T>;

// Data of bfloat16, which are one part each, or of float32, which become two.
template <int parts>
using DataOf = std::conditional_t<parts == 1, HalfData<S, BFloat16>, FloatData<S, float>>;

// Some queries, keys and values, and which keys are met.
template <int parts>
struct Problem {
    using Element = typename DataOf<parts>::Element;
    int vectors;
    std::int64_t keys, dim, value_dim;
    float scale;
    Array<Element> queries, key_rows, values;

    std::int64_t row() const { return 16 * vectors; }
    // Vectors meet eight keys less than the next ones.
    std::int64_t met(int v) const {
        return std::max<std::int64_t>(0, keys - 8 * (vectors - 1 - v));
    }
};

double wide(float x) { return double{x}; }
double wide(std::uint16_t x) {
    const std::uint32_t bits = std::uint32_t{x} << 16;
    float y = 0;
    std::memcpy(&y, &bits, 4);
    return double{y};
}

template <int parts>
auto numbers(std::int64_t count, float size) {
    static std::mt19937 random(1);
    std::normal_distribution<float> normal;
    Array<float> wide(static_cast<std::size_t>(count));
    for (float& x : wide)
        x = size * normal(random);
    Array<typename DataOf<parts>::Element> data(wide.size());
    write<S, DataOf<parts>>(wide.data(), count, data.data());
    return data;
}

std::int64_t up_to(std::int64_t multiple, std::int64_t count) {
    return (count + multiple - 1) / multiple * multiple;
}
template <class T>
Array<T> room(std::int64_t count) {
    return Array<T>(static_cast<std::size_t>(count));
}

// Outputs, not divided by their sums, and those; of all queries, feature by feature.
struct Result {
    Array<float> outputs;
    Array<double> sums;
};

template <class M, int parts>
Result attend(const Problem<parts>& p, bool by_itself) {
    using Data = DataOf<parts>;
    const std::int64_t row = p.row(), width = parts * up_to(32, p.dim),
                       value_width = parts * up_to(16, p.value_dim);
    auto key_rows = room<std::uint16_t>(up_to(32, p.keys) * width);
    auto values = room<std::uint16_t>(up_to(32, p.keys) * value_width);
    tile_keys<S, Data, parts>({p.key_rows.data(), p.dim, p.keys}, p.dim, key_rows.data());
    turn_values<S, M, Data, parts>({p.values.data(), p.value_dim, p.keys}, p.value_dim,
                                   values.data());
    auto rows = room<float>(row * width / 2), queries = rows;
    round_rows<S, Data, parts>({p.queries.data(), p.dim, row}, p.dim,
                               reinterpret_cast<std::uint16_t*>(rows.data()));
    for (std::int64_t i = 0; i < row; i += 16) {
        const float* starts[16];
        for (int j = 0; j < 16; ++j)
            starts[j] = rows.data() + (i + j) * width / 2;
        rows_to_lanes<S, FloatData<S, float>>(starts, width / 2, row, queries.data() + i);
    }
    auto logits = room<float>(block_keys * row), unweighed = logits;
    auto largest = room<float>(row), smallest = largest, maximum = largest;
    auto rescale = room<double>(row), output = room<double>(up_to(16, p.value_dim) * row / 2);
    Result result{room<float>(p.value_dim * row), room<double>(row)};
    std::fill(maximum.begin(), maximum.end(), -HUGE_VALF);
    Tile<float> tile{};
    tile.vectors = p.vectors;
    tile.dim = p.dim;
    tile.value_dim = p.value_dim;
    tile.queries = queries.data();
    tile.logits = logits.data();
    tile.largest = largest.data();
    tile.smallest = smallest.data();
    tile.maximum = maximum.data();
    tile.sum = result.sums.data();
    tile.rescale = rescale.data();
    tile.output = output.data();
    tile.empty = true;
    constexpr auto kernels = matrices_of<S, M, parts>().many;
    for (std::int64_t begin = 0; begin < p.keys; begin += block_keys) {
        const std::int64_t count = std::min(block_keys, p.keys - begin);
        for (int v = 0; v < p.vectors; ++v)
            tile.keys[v] = std::clamp<std::int64_t>(p.met(v) - begin, 0, count);
        kernels.score(tile, {key_rows.data() + begin * width, width, count}, p.scale, nullptr);
        kernels.raise(tile);
        unweighed = logits;
        kernels.weigh(tile);
        const Rows of{values.data() + begin * value_width, value_width, count};
        check(kernels.all_finite(of, p.value_dim), "all values are finite");
        if (by_itself)
            kernels.accumulate_seen(tile, of, unweighed.data());
        else
            kernels.accumulate(tile, of);
        tile.empty = false;
    }
    const auto* const outputs = reinterpret_cast<const float*>(output.data());
    std::copy_n(outputs, result.outputs.size(), result.outputs.begin());
    return result;
}

// Two parts leave 2^-17 of a number over, and their product without second parts 2^-16.
template <int parts>
void check_against_loops(const Problem<parts>& p, const Result& found) {
    const auto row = static_cast<std::size_t>(p.row());
    const auto dim = static_cast<std::size_t>(p.dim);
    const auto value_dim = static_cast<std::size_t>(p.value_dim);
    for (std::size_t i = 0; i < row; ++i) {
        const std::int64_t met = p.met(static_cast<int>(i / 16));
        Array<double> weights;
        double largest = -HUGE_VAL, sum = 0, lost = 0; // of a logit
        for (std::size_t key = 0; key < static_cast<std::size_t>(met); ++key) {
            double logit = 0, size = 0;
            for (std::size_t k = 0; k < dim; ++k) {
                const double product =
                    wide(p.queries[i * dim + k]) * wide(p.key_rows[key * dim + k]);
                logit += product;
                size += std::abs(product);
            }
            weights.push_back(logit * double{p.scale});
            largest = std::max(largest, weights.back());
            if (parts > 1)
                lost = std::max(lost, 2 * 0x1p-16 * size * double{p.scale});
        }
        for (double& weight : weights)
            sum += weight = std::exp(weight - largest);
        if (met == 0)
            continue;
        check(std::abs(found.sums[i] / sum - 1) < 1e-5 + 2 * lost, "the sum of weights");
        for (std::size_t k = 0; k < value_dim; ++k) {
            double output = 0, size = 0;
            for (std::size_t key = 0; key < weights.size(); ++key) {
                const double product = weights[key] * wide(p.values[key * value_dim + k]);
                output += product;
                size += std::abs(product);
            }
            const double of = double{found.outputs[k * row + i]};
            check(std::abs(of - output) < (2 * lost + (parts == 1 ? 0x1p-15 : 0x1p-14)) * size,
                  "an output");
        }
    }
}

template <class T>
bool same_bits(const Array<T>& a, const Array<T>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <int parts>
void check_shape(int vectors, std::int64_t keys, std::int64_t dim, std::int64_t value_dim,
                 float size) {
    Problem<parts> p{vectors, keys, dim, value_dim, 0.5F, {}, {}, {}};
    p.queries = numbers<parts>(p.row() * dim, 1);
    p.key_rows = numbers<parts>(keys * dim, 1);
    p.values = numbers<parts>(keys * value_dim, size);
    const Result plain = attend<Plain>(p, false);
    if (size == 1)
        check_against_loops(p, plain);
    check(same_bits(plain.outputs, attend<Plain>(p, true).outputs), "values by themselves");
    if (!ropewalk::uses_matrices(*ropewalk::find_kernels("avx512")))
        return;
    const Result by_processor = attend<Amx>(p, false);
    check(same_bits(plain.outputs, by_processor.outputs), "outputs of the processor");
    check(same_bits(plain.sums, by_processor.sums), "sums of the processor");
}

template <int parts>
[[gnu::noinline]] void check_shapes() {
    for (int vectors = 1; vectors <= 3; ++vectors)
        for (const std::int64_t keys : {1, 31, 100, 128, 161})
            for (const std::int64_t dim : {1, 32, 50})
                for (const std::int64_t value_dim : {1, 16, 35})
                    check_shape<parts>(vectors, keys, dim, value_dim, 1);
    check_shape<parts>(3, 140, 20, 20, 0x1p-124F); // many sums are no normal numbers
}

} // namespace

int main() {
    if (ropewalk::find_kernels("avx512") == nullptr) { // nothing above may run here
        std::puts("this processor has no AVX-512");
        return 77; // skipped
    }
    check_shapes<1>();
    check_shapes<2>();
    return failures == 0 ? 0 : 1;
}
