// Attention of a tile of queries to blocks of keys by products of matrices of bfloat16, which M
// multiplies. Lanes are queries, as in kernels/attention.hpp, and logits are its own; sums of
// weights times values stay float32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/logits.hpp"
#include "kernels/outputs.hpp"

namespace {

using ropewalk::matrix_columns;
using ropewalk::matrix_rows;

template <class Data>
constexpr bool is_bfloat16 = false;
template <class S>
constexpr bool is_bfloat16<HalfData<S, BFloat16>> = true;

// Sixteen elements as bfloat16, of those that are left; zeros behind them.
template <class S, class Data>
[[gnu::always_inline]] inline typename S::U16 get_rounded(const typename Data::Element* p,
                                                          std::int64_t left) {
    const bool all = left >= 16;
    const unsigned lanes = all || left <= 0 ? 0 : first_lanes(left);
    if constexpr (is_bfloat16<Data>)
        return all ? S::get(p) : S::get_some(p, lanes);
    else
        return S::to_bfloat16_or_nan(all ? Data::get(p) : Data::get_some(p, lanes));
}

template <class S, class Data>
void round_rows(const Rows& rows, std::int64_t width, std::uint16_t* to) {
    const auto* from = static_cast<const typename Data::Element*>(rows.first);
    for (std::int64_t row = 0; row < rows.count; ++row, from += rows.stride)
        for (std::int64_t i = 0; i < width; i += matrix_columns, to += matrix_columns) {
            S::put(to, get_rounded<S, Data>(from + i, width - i));
            S::put(to + 16, get_rounded<S, Data>(from + i + 16, width - i - 16));
        }
}

template <class S, class M, class Data>
void turn_values(const Rows& rows, std::int64_t width, std::uint16_t* to) {
    const auto* from = static_cast<const typename Data::Element*>(rows.first);
    for (std::int64_t left = rows.count; left > 0; left -= matrix_columns) {
        for (std::int64_t feature = 0; feature < width; feature += matrix_rows) {
            const auto row = [&](std::int64_t i) {
                return get_rounded<S, Data>(from + i * rows.stride + feature,
                                            i < left ? width - feature : 0);
            };
            typename S::F32 pairs[16]; // of keys, a feature a lane
            for (int i = 0; i < 16; ++i)
                pairs[i] = M::pairs(row(2 * i), row(2 * i + 1));
            S::transpose(pairs);
            for (const auto& of_feature : pairs) {
                S::put(reinterpret_cast<float*>(to), of_feature);
                to += matrix_columns;
            }
        }
        from += matrix_columns * rows.stride;
    }
}

// function<i>() of every i below `count`.
template <int count, class Function>
[[gnu::always_inline]] inline void each_index(Function function) {
    if constexpr (count > 0) {
        each_index<count - 1>(function);
        function.template operator()<count - 1>();
    }
}

// Products of keys and queries, which are logits but for their scale.
template <class S, class M, int vectors>
void multiply_keys(const Tile<float>& tile, const Rows& keys) {
    constexpr int row = 16 * vectors, row_bytes = 4 * row;
    constexpr int of_keys = vectors, of_queries = vectors + 1; // registers, behind those of sums
    const auto* key_row = static_cast<const std::uint16_t*>(keys.first);
    float* products = tile.logits;
    for (std::int64_t key = 0; key < tile.keys[vectors - 1]; key += matrix_rows) {
        each_index<vectors>([]<int v>() { M::template clear<v>(); });
        const float* query = tile.queries;
        for (std::int64_t i = 0; i < keys.stride; i += matrix_columns, query += matrix_rows * row) {
            M::template load<of_keys>(key_row + i, 2 * keys.stride);
            each_index<vectors>([&]<int v>() {
                M::template load<of_queries>(query + 16 * v, row_bytes);
                M::template multiply<v, of_keys, of_queries>();
            });
        }
        each_index<vectors>([&]<int v>() { M::template store<v>(products + 16 * v, row_bytes); });
        key_row += matrix_rows * keys.stride;
        products += matrix_rows * row;
    }
}

template <class S, class M>
void score_matrices(const Tile<float>& tile, const Rows& keys, float scale, const Rows*) {
    M::start(); // which takes two hundred cycles with its end, and so is done once a block
    with_vectors(tile.vectors, [&]<int vectors>() { multiply_keys<S, M, vectors>(tile, keys); });
    const auto by = S::all(scale);
    for (int v = 0; v < tile.vectors; ++v)
        change_logits<S, float>(tile, 16 * v,
                                [&](typename S::F32 logit, double) { return S::mul(by, logit); });
}

// Weights of two keys become pairs, one row of the first halves and one of the rests, up to whole
// matrices.
template <class S, class M>
void weigh_matrices(const Tile<float>& tile) {
    using Vector = typename S::F32;
    const int row = 16 * tile.vectors;
    for (int at = 0; at < row; at += 16) {
        float* logits = tile.logits + at;
        const std::int64_t keys = tile.keys[at / 16];
        const Vector zero = S::all(0.0F),
                     maximum = finite_maximum<S, float>(S::get(tile.maximum + at));
        Vector sums[4] = {zero, zero, zero, zero};
        const auto split = [&](int i, Vector a, Vector b) __attribute__((always_inline)) {
            sums[i] = S::add(sums[i], a);
            sums[i + 1] = S::add(sums[i + 1], b);
            Vector first, rest;
            M::split(a, b, first, rest);
            S::put(logits + i * row, first);
            S::put(logits + (i + 1) * row, rest);
        };
        std::int64_t key = 0;
        for (; key + 4 <= keys; key += 4, logits += 4 * row)
#pragma GCC unroll 2
            for (int i = 0; i < 4; i += 2) {
                const VectorOf<Two<S>, float> two{S::get(logits + i * row),
                                                  S::get(logits + (i + 1) * row)};
                const VectorOf<Two<S>, float> least{maximum, maximum};
                const auto weight = exponential<Two<S>, float>(Two<S>::sub(two, least));
                split(i, weight.first, weight.second);
            }
        for (; key < keys || key % matrix_columns != 0; key += 4, logits += 4 * row)
            for (int i = 0; i < 4; i += 2) {
                const auto weight = [&](int k) {
                    return key + k < keys
                               ? exponential<S, float>(S::sub(S::get(logits + k * row), maximum))
                               : zero;
                };
                split(i, weight(i), weight(i + 1));
            }
        add_weights<S, float>(tile, at, sums);
    }
}

// What outputs of a vector are multiplied by: 2^-100 where it is less, which counts as little and
// makes no NaN of an infinite one.
template <class S>
typename S::F32 rescale_of(const Tile<float>& tile, int v) {
    const double* const at = tile.rescale + 16 * v;
    return S::max(S::all(0x1p-100F), S::join(S::get(at), S::get(at + 8)));
}

float* outputs_of(const Tile<float>& tile, std::int64_t feature, int v) {
    return reinterpret_cast<float*>(tile.output) + (feature * tile.vectors + v) * 16;
}

template <class S>
void rescale_outputs(const Tile<float>& tile) {
    for (int v = 0; v < tile.vectors; ++v) {
        const auto by = rescale_of<S>(tile, v);
        if (S::differing(by, S::all(1.0F)) != 0)
            for (std::int64_t feature = 0; feature < tile.value_dim; ++feature) {
                float* const at = outputs_of(tile, feature, v);
                S::put(at, S::mul(by, S::get(at)));
            }
    }
}

template <class S, class M, int vectors>
void accumulate_values(const Tile<float>& tile, const Rows& values) {
    constexpr int row = 16 * vectors, row_bytes = 4 * row, matrix = matrix_rows * matrix_columns;
    constexpr int of_values = vectors, of_weights = vectors + 1;
    const auto* const first = static_cast<const std::uint16_t*>(values.first);
    for (std::int64_t feature = 0; feature < tile.value_dim; feature += matrix_rows) {
        float* const outputs = outputs_of(tile, feature, 0);
        each_index<vectors>([&]<int v>() {
            if (tile.empty)
                M::template clear<v>();
            else
                M::template load<v>(outputs + 16 * v, row_bytes);
        });
        const std::uint16_t* from = first + feature / matrix_rows * matrix;
        for (std::int64_t key = 0; key < tile.keys[vectors - 1]; key += matrix_columns) {
            M::template load<of_values>(from, 2 * matrix_columns);
            each_index<vectors>([&]<int v>() {
                if (key >= tile.keys[v])
                    return;
                const float* const weights = tile.logits + key * row + 16 * v;
                M::template load<of_weights>(weights, 2 * row_bytes);
                M::template multiply<v, of_values, of_weights>();
                M::template load<of_weights>(weights + row, 2 * row_bytes);
                M::template multiply<v, of_values, of_weights>();
            });
            from += matrix_columns * values.stride;
        }
        each_index<vectors>([&]<int v>() { M::template store<v>(outputs + 16 * v, row_bytes); });
    }
}

template <class S, class M>
void accumulate_matrices(const Tile<float>& tile, const Rows& values) {
    if (!tile.empty)
        rescale_outputs<S>(tile);
    with_vectors(tile.vectors,
                 [&]<int vectors>() { accumulate_values<S, M, vectors>(tile, values); });
    M::stop();
}

// As matrices are multiplied, numbers below the normal ones count as 0.
template <class S>
typename S::F32 flushed(typename S::F32 x) {
    const auto zero = S::all(0.0F), size = S::max(x, S::sub(zero, x));
    return S::where_less(size, S::all(0x1p-126F), zero, x);
}

// To accumulate where a value may be NaN or infinite: those whose logits are -inf are not read, and
// nothing is multiplied by a rest of 0. Each sum is that of a matrix, bit by bit: the even ones of
// 32 keys, then the odd ones, and both are added to it.
template <class S, class M>
void accumulate_seen_matrices(const Tile<float>& tile, const Rows& values, const float* logits) {
    using Vector = typename S::F32;
    const std::int64_t row = 16 * tile.vectors;
    const auto* const first = static_cast<const std::uint16_t*>(values.first);
    const Vector zero = S::all(0.0F), masked = S::all(static_cast<float>(-infinity));
    // `of` are a feature's values of 32 keys from `key` on; part 0 are firsts of weights.
    const auto add_matrix = [&](Vector sum, const std::uint16_t* of, std::int64_t key, int v,
                                int part) {
        Vector sums[2] = {zero, zero};
        for (std::int64_t k = key; k < tile.keys[v] && k < key + matrix_columns; ++k) {
            const Vector pair = S::get(tile.logits + (k / 2 * 2 + part) * row + 16 * v);
            const Vector weight = k % 2 == 0 ? M::even(pair) : M::odd(pair);
            const auto bits = static_cast<std::uint32_t>(of[k - key]) << 16;
            const Vector value = flushed<S>(S::all(__builtin_bit_cast(float, bits)));
            Vector& to = sums[k % 2];
            Vector more = flushed<S>(S::fma(value, weight, to));
            if (part == 1)
                more = S::where_equal(weight, zero, to, more);
            to = S::where_equal(S::get(logits + k * row + 16 * v), masked, to, more);
        }
        return flushed<S>(S::add(flushed<S>(S::add(sums[0], sums[1])), sum));
    };
    if (!tile.empty)
        rescale_outputs<S>(tile);
    for (std::int64_t feature = 0; feature < tile.value_dim; ++feature)
        for (int v = 0; v < tile.vectors; ++v) {
            float* const output = outputs_of(tile, feature, v);
            Vector sum = tile.empty ? zero : flushed<S>(S::get(output));
            const std::uint16_t* of = first + feature * matrix_columns;
            for (std::int64_t key = 0; key < tile.keys[v]; key += matrix_columns) {
                for (int part = 0; part < 2; ++part)
                    sum = add_matrix(sum, of, key, v, part);
                of += matrix_columns * values.stride;
            }
            S::put(output, sum);
        }
    M::stop();
}

template <class S>
void divide_matrices(const Tile<float>& tile, std::int64_t queries, float* rows) {
    for (std::int64_t at = 0; at < queries; at += 16, rows += 16 * tile.value_dim) {
        const Reciprocals<S> reciprocals(means_of<S>(tile, static_cast<int>(at)));
        const auto output = [&](std::int64_t feature) {
            return reciprocals.times(S::get(outputs_of(tile, feature, static_cast<int>(at / 16))));
        };
        lanes_to_rows<S, float>(output, tile.value_dim, queries - at, tile.value_dim, rows);
    }
}

// Zero times NaN or infinity is NaN: of all that matrices hold.
template <class S>
bool all_finite_matrices(const Rows& rows, std::int64_t) {
    const std::int64_t matrices = (rows.count + matrix_columns - 1) / matrix_columns;
    const std::int64_t elements = rows.stride * matrix_columns;
    return all_finite<S, float, HalfData<S, BFloat16>>({rows.first, elements, matrices}, elements);
}

template <class S, class M>
constexpr ropewalk::MatrixKernels matrices_of() {
    using F32 = FloatData<S, float>;
    using F16 = HalfData<S, Float16>;
    using BF16 = HalfData<S, BFloat16>;
    return {{round_rows<S, F32>, round_rows<S, F16>, round_rows<S, BF16>},
            {turn_values<S, M, F32>, turn_values<S, M, F16>, turn_values<S, M, BF16>},
            {score_matrices<S, M>, cap<S, float>, find_extremes<S, float>, raise<S, float>,
             weigh_matrices<S, M>, accumulate_matrices<S, M>, accumulate_seen_matrices<S, M>,
             divide_matrices<S>, all_finite_matrices<S>}};
}

} // namespace
