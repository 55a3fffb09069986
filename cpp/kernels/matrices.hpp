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

constexpr std::int64_t matrix_elements = matrix_rows * matrix_columns;

template <class Data>
constexpr bool is_bfloat16 = false;
template <class S>
constexpr bool is_bfloat16<HalfData<S, BFloat16>> = true;

// A weight is always the sum of two bfloat16.
inline constexpr int weight_parts = 2;

// Sixteen elements, of those that are left: each one bfloat16, which has 8 bits, or the sum of two,
// its parts, the second the nearest to what the first, which is the nearest to it, leaves over.
// Zeros stand behind them. NaN and infinity are first parts.
template <class S, class Data, int parts>
struct Parts {
    using F32 = typename S::F32;
    typename S::U16 at[std::size_t{parts}];

    [[gnu::always_inline]] Parts(const typename Data::Element* p, std::int64_t left) {
        const bool all = left >= 16;
        const unsigned lanes = all || left <= 0 ? 0 : first_lanes(left);
        if constexpr (is_bfloat16<Data>)
            at[0] = all ? S::get(p) : S::get_some(p, lanes);
        else
            round(all ? Data::get(p) : Data::get_some(p, lanes));
    }

  private:
    [[gnu::always_inline]] void round(F32 x) {
        if constexpr (parts == 1) {
            at[0] = S::to_bfloat16_or_nan(x);
        } else { // the first one must not be infinite where x is not
            const F32 zero = S::all(0.0F), largest = S::all(0x1.fep127F);
            const F32 none = S::sub(x, x); // or NaN
            const F32 within = S::max(S::sub(zero, largest), S::min(largest, x));
            at[0] = S::to_bfloat16_or_nan(S::where_equal(none, zero, within, x));
            const F32 rest = S::sub(x, S::from_bfloat16(at[0]));
            at[1] = S::to_bfloat16(S::where_equal(none, zero, rest, zero));
        }
    }
};

// Behind each row of first parts comes that of the second ones.
template <class S, class Data, int parts>
void round_rows(const Rows& rows, std::int64_t width, std::uint16_t* to) {
    const std::int64_t whole = (width + matrix_columns - 1) / matrix_columns * matrix_columns;
    const auto* from = static_cast<const typename Data::Element*>(rows.first);
    for (std::int64_t row = 0; row < rows.count; ++row, from += rows.stride, to += parts * whole)
        for (std::int64_t i = 0; i < whole; i += 16) {
            const Parts<S, Data, parts> of(from + i, width - i);
            for (int part = 0; part < parts; ++part)
                S::put(to + part * whole + i, of.at[part]);
        }
}

template <class S, class Data, int parts>
void tile_keys(const Rows& rows, std::int64_t width, std::uint16_t* to) {
    const auto* from = static_cast<const typename Data::Element*>(rows.first);
    for (std::int64_t left = rows.count; left > 0; left -= matrix_rows) {
        for (std::int64_t feature = 0; feature < width; feature += matrix_columns) {
            for (std::int64_t i = 0; i < matrix_elements; i += 16) {
                const std::int64_t row = i / matrix_columns, at = feature + i % matrix_columns;
                const Parts<S, Data, parts> of(from + row * rows.stride + at,
                                               row < left ? width - at : 0);
                for (int part = 0; part < parts; ++part)
                    S::put(to + part * matrix_elements + i, of.at[part]);
            }
            to += parts * matrix_elements;
        }
        from += matrix_rows * rows.stride;
    }
}

template <class S, class M, class Data, int parts>
void turn_values(const Rows& rows, std::int64_t width, std::uint16_t* to) {
    const auto* from = static_cast<const typename Data::Element*>(rows.first);
    for (std::int64_t left = rows.count; left > 0; left -= matrix_columns) {
        for (std::int64_t feature = 0; feature < width; feature += matrix_rows) {
            const auto row = [&](std::int64_t i) {
                return Parts<S, Data, parts>(from + i * rows.stride + feature,
                                             i < left ? width - feature : 0);
            };
            typename S::F32 pairs[std::size_t{parts}][16]; // of keys, a feature a lane
            for (int i = 0; i < 16; ++i) {
                const auto even = row(2 * i), odd = row(2 * i + 1);
                for (int part = 0; part < parts; ++part)
                    pairs[part][i] = M::pairs(even.at[part], odd.at[part]);
            }
            for (auto& of_part : pairs) {
                S::transpose(of_part);
                for (const auto& of_feature : of_part) {
                    S::put(reinterpret_cast<float*>(to), of_feature);
                    to += matrix_columns;
                }
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

// sums[v] += a times b[v] of the vectors that meet a: products of their parts but for those of two
// second ones, 2^-15 of the whole at most. Parts of a are matrices one behind the other; b(part) is
// that of the first vector.
template <class M, int vectors, int a_parts, int b_parts, class Of, class Meets>
[[gnu::always_inline]] inline void multiply_parts(const std::uint16_t* a, Of b, std::int64_t b_row,
                                                  Meets meets) {
    constexpr int of_a = vectors, of_b = of_a + a_parts; // registers, behind those of sums
    each_index<a_parts>(
        [&]<int i>() { M::template load<of_a + i>(a + i * matrix_elements, 2 * matrix_columns); });
    each_index<b_parts>([&]<int j>() {
        const float* const of_part = b(j);
        each_index<vectors>([&]<int v>() {
            constexpr int of_v = of_b + v;
            if (!meets(v))
                return;
            M::template load<of_v>(of_part + 16 * v, b_row);
            each_index<a_parts>([&]<int i>() {
                if constexpr (i + j < 2)
                    M::template multiply<v, of_a + i, of_v>();
            });
        });
    });
}

// Products of keys and queries, which are logits but for their scale.
template <class M, int parts, int vectors>
void multiply_keys(const Tile<float>& tile, const Rows& keys) {
    constexpr int row = 16 * vectors, row_bytes = 4 * row;
    const std::int64_t width = keys.stride / parts; // of a part
    const auto* from = static_cast<const std::uint16_t*>(keys.first);
    float* products = tile.logits;
    for (std::int64_t key = 0; key < tile.keys[vectors - 1]; key += matrix_rows) {
        each_index<vectors>([]<int v>() { M::template clear<v>(); });
        for (std::int64_t i = 0; i < width; i += matrix_columns) {
            multiply_parts<M, vectors, parts, parts>(
                from, [&](int part) { return tile.queries + (part * width + i) / 2 * row; },
                row_bytes, [](int) { return true; });
            from += parts * matrix_elements;
        }
        each_index<vectors>([&]<int v>() { M::template store<v>(products + 16 * v, row_bytes); });
        products += matrix_rows * row;
    }
}

template <class S, class M, int parts>
void score_matrices(const Tile<float>& tile, const Rows& keys, float scale, const Rows*) {
    M::start(); // which takes two hundred cycles with its end, and so is done once a block
    with_vectors(tile.vectors,
                 [&]<int vectors>() { multiply_keys<M, parts, vectors>(tile, keys); });
    const auto by = S::all(scale);
    for (int v = 0; v < tile.vectors; ++v)
        change_logits<S, float>(tile, 16 * v,
                                [&](typename S::F32 logit, double) { return S::mul(by, logit); });
}

// Weights of two keys become pairs, one row of their first parts and one of the second, up to whole
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

template <class S, class M, int parts, int vectors>
void accumulate_values(const Tile<float>& tile, const Rows& values) {
    constexpr int row = 16 * vectors, row_bytes = 4 * row;
    const auto* const first = static_cast<const std::uint16_t*>(values.first);
    for (std::int64_t feature = 0; feature < tile.value_dim; feature += matrix_rows) {
        float* const outputs = outputs_of(tile, feature, 0);
        each_index<vectors>([&]<int v>() {
            if (tile.empty)
                M::template clear<v>();
            else
                M::template load<v>(outputs + 16 * v, row_bytes);
        });
        const std::uint16_t* from = first + feature / matrix_rows * parts * matrix_elements;
        for (std::int64_t key = 0; key < tile.keys[vectors - 1]; key += matrix_columns) {
            multiply_parts<M, vectors, parts, weight_parts>(
                from, [&](int part) { return tile.logits + (key + part) * row; }, 2 * row_bytes,
                [&](int v) { return key < tile.keys[v]; });
            from += matrix_columns * values.stride;
        }
        each_index<vectors>([&]<int v>() { M::template store<v>(outputs + 16 * v, row_bytes); });
    }
}

template <class S, class M, int parts>
void accumulate_matrices(const Tile<float>& tile, const Rows& values) {
    if (!tile.empty)
        rescale_outputs<S>(tile);
    with_vectors(tile.vectors,
                 [&]<int vectors>() { accumulate_values<S, M, parts, vectors>(tile, values); });
    M::stop();
}

// 0 where x is below `least` in size, else y.
template <class S>
typename S::F32 zero_below(float least, typename S::F32 x, typename S::F32 y) {
    const auto zero = S::all(0.0F);
    return S::where_less(S::max(x, S::sub(zero, x)), S::all(least), zero, y);
}
// As matrices are multiplied, numbers below the normal ones count as 0.
template <class S>
typename S::F32 flushed(typename S::F32 x) {
    return zero_below<S>(0x1p-126F, x, x);
}
// What is below them is told by 24 bits, of which this far down float32 has fewer.
template <class S>
typename S::F32 flushed_fma(typename S::F32 a, typename S::F32 b, typename S::F32 c) {
    const auto up = S::all(0x1p30F);
    return zero_below<S>(0x1p-96F, S::fma(S::mul(a, up), b, S::mul(c, up)), S::fma(a, b, c));
}

// To accumulate where a value may be NaN or infinite: those whose logits are -inf are not read, and
// nothing is multiplied by a second part of 0. Each sum is that of a matrix, bit by bit: the even
// ones of 32 keys, then the odd ones, and both are added to it.
template <class S, class M, int parts>
void accumulate_seen_matrices(const Tile<float>& tile, const Rows& values, const float* logits) {
    using Vector = typename S::F32;
    const std::int64_t row = 16 * tile.vectors;
    const auto* const first = static_cast<const std::uint16_t*>(values.first);
    const Vector zero = S::all(0.0F), masked = S::all(static_cast<float>(-infinity));
    // `of` are parts of a feature's values of 32 keys from `key` on.
    const auto add_matrix = [&](Vector sum, const std::uint16_t* of, std::int64_t key, int v,
                                int part) {
        Vector sums[2] = {zero, zero};
        for (std::int64_t k = key; k < tile.keys[v] && k < key + matrix_columns; ++k) {
            const Vector pair = S::get(tile.logits + (k / 2 * 2 + part) * row + 16 * v);
            const Vector weight = k % 2 == 0 ? M::even(pair) : M::odd(pair);
            const auto bits = static_cast<std::uint32_t>(of[k - key]) << 16;
            const Vector value = flushed<S>(S::all(__builtin_bit_cast(float, bits)));
            Vector& to = sums[k % 2];
            Vector more = flushed_fma<S>(value, weight, to);
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
            const std::uint16_t* of = first + feature / matrix_rows * parts * matrix_elements +
                                      feature % matrix_rows * matrix_columns;
            for (std::int64_t key = 0; key < tile.keys[v]; key += matrix_columns) {
                for (int part = 0; part < weight_parts; ++part)
                    for (int i = 0; i < parts && i + part < 2; ++i)
                        sum = add_matrix(sum, of + i * matrix_elements, key, v, part);
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

template <class S, class M, int parts>
constexpr ropewalk::MatrixKernels matrices_of() {
    using F32 = FloatData<S, float>;
    using F16 = HalfData<S, Float16>;
    ropewalk::MatrixKernels of{{round_rows<S, F32, parts>, round_rows<S, F16, parts>},
                               {tile_keys<S, F32, parts>, tile_keys<S, F16, parts>},
                               {turn_values<S, M, F32, parts>, turn_values<S, M, F16, parts>},
                               {score_matrices<S, M, parts>, cap<S, float>, find_extremes<S, float>,
                                raise<S, float>, weigh_matrices<S, M>, nullptr,
                                accumulate_matrices<S, M, parts>,
                                accumulate_seen_matrices<S, M, parts>, nullptr, divide_matrices<S>,
                                all_finite_matrices<S>}};
    if constexpr (parts == 1) {
        using BF16 = HalfData<S, BFloat16>;
        constexpr int bfloat16 = static_cast<int>(ropewalk::Type::bfloat16);
        of.round_rows[bfloat16] = round_rows<S, BF16, parts>;
        of.tile_keys[bfloat16] = tile_keys<S, BF16, parts>;
        of.turn_values[bfloat16] = turn_values<S, M, BF16, parts>;
    }
    return of;
}

} // namespace
