// What attention leaves: outputs divided by their sums, and logits and weights, as rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention.hpp"
#include "kernels/transpose.hpp"

namespace {

using ropewalk::block_keys;
using ropewalk::together_bytes;

// Sums by which outputs are divided: by one multiplication where they are rounded to float32
// afterwards, else by a reciprocal as two numbers. Neither is 0, or 0 times infinity would be NaN.
template <class S, class T>
class Mean {
  public:
    Mean() = default;
    // The output of what has seen nothing is 0 already.
    explicit Mean(typename S::F64 sum) {
        const auto one = S::all(1.0), by = S::where_equal(sum, S::all(0.0), one, sum);
        reciprocal_ = S::div(one, by);
        if constexpr (sizeof(T) == 8) {
            const auto first = S::mul(reciprocal_, S::all(1 - 0x1p-52));
            rest_ = S::mul(reciprocal_, S::fnma(by, first, one));
            reciprocal_ = first;
        }
    }
    // Adding 0 makes -0 0.
    typename S::F64 of(typename S::F64 output) const {
        const auto zero = S::all(0.0);
        if constexpr (sizeof(T) == 4)
            return S::fma(output, reciprocal_, zero);
        else
            return S::fma(output, reciprocal_, S::fma(output, rest_, zero));
    }
    typename S::F64 reciprocal() const { return reciprocal_; }

  private:
    typename S::F64 reciprocal_, rest_ = S::all(0.0);
};

// Those of as many queries as T has lanes: output(lane) is eight of them.
template <class S, class T>
struct Means {
    Mean<S, T> low, high;
    template <class Function>
    VectorOf<S, T> of(Function output) const {
        if constexpr (sizeof(T) == 4)
            return S::join(low.of(output(0)), high.of(output(8)));
        else
            return low.of(output(0));
    }
};

// Those of a tile from lane `at` on.
template <class S, class T>
Means<S, T> means_of(const Tile<T>& tile, int at) {
    const double* const sum = tile.sum + at;
    return {Mean<S, T>(S::get(sum)), Mean<S, T>(S::get(sum + Lanes<S, T>::count - 8))};
}

// What float32 outputs are multiplied by, as exactly: reciprocals of sums as two numbers. Neither
// is 0, or 0 times infinity would be NaN.
template <class S>
struct Reciprocals {
    using F32 = typename S::F32;
    F32 first, rest;

    explicit Reciprocals(const Means<S, float>& means) {
        const auto low = means.low.reciprocal(), high = means.high.reciprocal();
        const auto less = S::all(1 - 0x1p-23);
        first = S::join(S::mul(low, less), S::mul(high, less));
        rest = S::join(S::sub(low, S::widen_low(first)), S::sub(high, S::widen_high(first)));
    }
    F32 times(F32 output) const { return times(output, first, rest); }
    static F32 times(F32 output, F32 first, F32 rest) { // adding 0 makes -0 0
        return S::fma(output, first, S::fma(output, rest, S::all(0.0F)));
    }
};

// Divides outputs of as many queries as T has lanes, and puts them as rows: output(column, lane)
// are those of eight. How a query's are divided does not depend on the other queries of its tile.
template <class S, class T, class Function>
void put_quotients(const Means<S, T>& means, unsigned one_block, Function output,
                   std::int64_t columns, std::int64_t queries, std::int64_t stride, T* rows) {
    const auto quotient = [&](std::int64_t column) {
        return means.of([&](int lane) { return output(column, lane); });
    };
    if constexpr (sizeof(T) == 4)
        if (one_block != 0) {
            const Reciprocals<S> reciprocals(means);
            const auto own = [&](std::int64_t column) {
                const auto narrow = S::join(output(column, 0), output(column, 8));
                return S::select(one_block, reciprocals.times(narrow), quotient(column));
            };
            return lanes_to_rows<S, T>(own, columns, queries, stride, rows);
        }
    lanes_to_rows<S, T>(quotient, columns, queries, stride, rows);
}

template <class S, class T>
void divide(const Tile<T>& tile, std::int64_t queries, T* rows) {
    constexpr int lanes = Lanes<S, T>::count;
    const std::int64_t row = tile.vectors * lanes;
    for (int at = 0; at < queries; at += lanes, rows += lanes * tile.value_dim) {
        const auto output = [&](std::int64_t feature, int lane) {
            return S::get(tile.output + feature * row + at + lane);
        };
        put_quotients<S, T>(means_of<S, T>(tile, at), tile.one_block[at / lanes], output,
                            tile.value_dim, queries - at, tile.value_dim, rows);
    }
}

// rows[query * stride + key] = logits, of the first queries.
template <class S, class T>
void logits_to_rows(const Tile<T>& tile, std::int64_t queries, std::int64_t stride, T* rows) {
    constexpr int lanes = Lanes<S, T>::count;
    for (int at = 0; at < queries; at += lanes) {
        const auto of_key = [&](std::int64_t key) {
            return S::get(tile.logits + key * tile.vectors * lanes + at);
        };
        lanes_to_rows<S, T>(of_key, tile.keys[at / lanes], queries - at, stride,
                            rows + at * stride);
    }
}

// Copies rows of so many vectors side by side while they are met: where rows lie apart, their
// vectors begin anywhere in a line, and too many of their lines share a place in the first cache.
template <class S, int vectors, bool whole>
struct CopyRows : Nothing {
    static constexpr int lanes = Lanes<S, float>::count, width = vectors * lanes;
    const float* from;
    std::int64_t stride;
    unsigned held; // lanes of the last vector, unless that is whole
    float* to;

    void operator()(std::int64_t row, int) const {
#pragma GCC unroll 2
        for (int i = 0; i < width; i += lanes) {
            const float* const p = from + row * stride + i;
            S::put(to + row * width + i, whole ? S::get(p) : S::get_some(p, held));
        }
    }
};

// What outputs of float32 are multiplied by, of all queries of a tile.
template <class S>
struct Factors {
    float first[std::size_t{most_vectors * Lanes<S, float>::count}];
    float rest[std::size_t{most_vectors * Lanes<S, float>::count}];

    Factors(const Tile<float>& tile, std::int64_t queries) {
        for (int at = 0; at < queries; at += Lanes<S, float>::count) {
            const Reciprocals<S> reciprocals(means_of<S>(tile, at));
            S::put(first + at, reciprocals.first);
            S::put(rest + at, reciprocals.rest);
        }
    }
};

// Some features of the outputs of queries to the only block that they meet, as many queries at once
// as registers hold sums, the last ones first, which meet most keys.
template <class S, int at_once, int vectors, bool whole>
void average_features(const Tile<float>& tile, const Rows& values, std::int64_t queries,
                      const Factors<S>& factors, std::int64_t feature, float* rows) {
    static_assert(whole || vectors == 1);
    constexpr int lanes = Lanes<S, float>::count, width = vectors * lanes;
    const float* const from = static_cast<const float*>(values.first) + feature;
    const unsigned held = first_lanes(whole ? lanes : tile.value_dim - feature);
    const auto average_some = [&](std::int64_t query, const float* y, std::int64_t stride,
                                  const auto& meanwhile) __attribute__((always_inline)) {
        const std::int64_t v = query / lanes;
        const bool half = query % lanes + at_once <= lanes / 2;
        const std::int64_t count = half ? tile.half_keys[v] : tile.keys[v];
        Sums<S, float, at_once, vectors> sums;
        multiply<S, float, at_once, vectors, 0>(tile.logits + query, 1, tile.vectors * lanes, y,
                                                stride, count, sums, meanwhile);
        float* row = rows + query * tile.value_dim + feature;
#pragma GCC unroll 8
        for (int i = 0; i < at_once; ++i, row += tile.value_dim)
            for (int n = 0; n < vectors && query + i < queries; ++n) {
                const auto mean =
                    Reciprocals<S>::times(sums.at[i][n], S::all(factors.first[query + i]),
                                          S::all(factors.rest[query + i]));
                if constexpr (whole)
                    S::put(row + n * lanes, mean);
                else
                    S::put_some(row, mean, held);
            }
        return count;
    };
    std::int64_t query = (queries - 1) / at_once * at_once;
    const std::int64_t keys = tile.keys[query / lanes];
    // Rows may span so many bytes without too many of their lines in a place of the first cache.
    const std::int64_t span = tile.large_first_cache ? 2 * together_bytes : together_bytes;
    if (!whole || keys * values.stride * std::int64_t{sizeof(float)} > span) {
        alignas(64) float copied[std::size_t{block_keys * width}];
        const CopyRows<S, vectors, whole> copy{{}, from, values.stride, held, copied};
        std::int64_t key = 0;
        if constexpr (whole) {
            key = average_some(query, from, values.stride, copy);
            query -= at_once;
        }
        for (; key < keys; ++key)
            copy(key, 0);
        for (; query >= 0; query -= at_once)
            average_some(query, copied, width, Nothing{});
    }
    for (; query >= 0; query -= at_once)
        average_some(query, from, values.stride, Nothing{});
}

// Features are lanes here, for which nothing need be transposed.
template <class S>
void average(const Tile<float>& tile, const Rows& values, std::int64_t queries, float* rows) {
    constexpr int lanes = Lanes<S, float>::count;
    constexpr int sums = 2 * S::tile_rows, at_once = sums < 8 ? sums : 8, vectors = sums / at_once;
    const Factors<S> factors(tile, queries);
    std::int64_t feature = 0;
    for (; feature + vectors * lanes <= tile.value_dim; feature += vectors * lanes)
        average_features<S, at_once, vectors, true>(tile, values, queries, factors, feature, rows);
    for (; feature + lanes <= tile.value_dim; feature += lanes)
        average_features<S, at_once, 1, true>(tile, values, queries, factors, feature, rows);
    if (feature < tile.value_dim)
        average_features<S, at_once, 1, false>(tile, values, queries, factors, feature, rows);
}

// Sums of sixteen features, from the first on.
template <class S, int vectors>
struct SumsOfSixteen : Nothing {
    std::int64_t first;
    alignas(64) float sums[16][std::size_t{vectors * Lanes<S, float>::count}];

    template <int rows>
    void take(std::int64_t feature, const Sums<S, float, rows, vectors>& of) {
        put_sums(of, sums[feature - first]);
    }
};

// To accumulate and to divide in one, in which outputs stay near: sixteen features at a time.
template <class S>
void accumulate_last(const Tile<float>& tile, const Rows& values, std::int64_t queries,
                     float* rows) {
    constexpr int lanes = Lanes<S, float>::count;
    // Lanes without a feature are worth while where there are four features for each.
    const std::int64_t idle = (lanes - tile.value_dim % lanes) % lanes;
    // Of several blocks those before may have been hidden, but from other queries they are not.
    bool one_block = true;
    for (int v = 0; v < tile.vectors; ++v)
        one_block &= tile.one_block[v] == ~0U;
    if (tile.empty && one_block && 4 * idle <= tile.value_dim)
        return average<S>(tile, values, queries, rows);
    with_vectors(tile.vectors, [&]<int vectors>() {
        Means<S, float> means[std::size_t{vectors}];
        for (int v = 0; v < vectors; ++v)
            means[v] = means_of<S>(tile, v * lanes);
        SumsOfSixteen<S, vectors> sixteen;
        for (std::int64_t first = 0; first < tile.value_dim; first += lanes) {
            const std::int64_t left = tile.value_dim - first, some = left < lanes ? left : lanes;
            sixteen.first = first;
            sum_features<S, float, vectors>(tile, values, first, first + some, sixteen);
            for (int v = 0; v * lanes < queries; ++v) {
                const auto output = [&](std::int64_t i, int lane) {
                    const int at = v * lanes + lane;
                    return joined_output<S>(tile, first + i, at, S::get_wide(&sixteen.sums[i][at]));
                };
                put_quotients<S>(means[v], tile.one_block[v], output, some, queries - v * lanes,
                                 tile.value_dim, rows + v * lanes * tile.value_dim + first);
            }
        }
    });
}

template <class S>
typename S::F64 divide(typename S::F64 a, typename S::F64 by) {
    return S::div(a, by);
}

template <class S>
typename S::F32 divide(typename S::F32 a, typename S::F64 by) {
    return S::join(S::div(S::widen_low(a), by), S::div(S::widen_high(a), by));
}

template <class S, class T>
void weights_of_row(const T* logits, std::int64_t keys, T maximum, double sum, T* weights) {
    using Vector = VectorOf<S, T>;
    constexpr int lanes = Lanes<S, T>::count;
    const Vector least = S::all(maximum);
    const auto by = S::all(sum);
    const Vector masked = S::all(static_cast<T>(-infinity));
    const auto weight = [&](Vector logit) { // 0 / NaN would be NaN
        const Vector seen = divide<S>(exponential<S, T>(S::sub(logit, least)), by);
        return S::where_equal(logit, masked, S::all(T{0}), seen);
    };
    std::int64_t key = 0;
    for (; key + lanes <= keys; key += lanes)
        S::put(weights + key, weight(S::get(logits + key)));
    const unsigned left = first_lanes(keys - key);
    if (left != 0)
        S::put_some(weights + key, weight(S::get_some(logits + key, left)), left);
}

} // namespace
