// Attention of few queries to blocks of keys, as when a token at a time is decoded.
//
// Lanes are features of keys and values, which are read as they lie in memory, in the type that
// they have there, once for all queries. Lanes are joined in a fixed order. As with many queries,
// all is T inside a block, and blocks are joined in float64.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention.hpp"
#include "kernels/logits.hpp"

namespace {

// logits[query][key] = products of rows. Keys are read one after another: the processor fetches
// ahead what is read in a line, and twice as fast as four rows side by side. `width` is the number
// of features where the compiler is to know it, or 0.
template <class S, class T, class Data, int keys, int queries, int width>
void score_some(const typename Data::Element* key, std::int64_t stride, const T* query,
                std::int64_t features, T* logits) {
    constexpr int lanes = Lanes<S, T>::count;
    const std::int64_t dim = width > 0 ? width : features;
    const unsigned rest = (1U << (dim % lanes)) - 1;
    VectorOf<S, T> sums[std::size_t{queries}][std::size_t{keys}];
#pragma GCC unroll 1 // or the compiler would read rows side by side
    for (int k = 0; k < keys; ++k) {
        VectorOf<S, T> of[std::size_t{queries}];
#pragma GCC unroll 4
        for (int q = 0; q < queries; ++q)
            of[q] = S::all(T{0});
        const auto* const row = key + k * stride;
        const auto step = [&](VectorOf<S, T> of_key, auto load) {
#pragma GCC unroll 4
            for (int q = 0; q < queries; ++q)
                of[q] = S::fma(of_key, load(query + q * dim), of[q]);
        };
        std::int64_t feature = 0;
#pragma GCC unroll 8
        for (; feature + lanes <= dim; feature += lanes)
            step(Data::get(row + feature),
                 [&](const T* of_query) { return S::get(of_query + feature); });
        if (rest != 0)
            step(Data::get_some(row + feature, rest),
                 [&](const T* of_query) { return S::get_some(of_query + feature, rest); });
#pragma GCC unroll 4
        for (int q = 0; q < queries; ++q)
            sums[q][k] = of[q];
    }
#pragma GCC unroll 4
    for (int q = 0; q < queries; ++q)
        S::template sums<keys>(sums[q], logits + q * block_keys);
}

template <class S, class T, class Data, int queries, int width>
void score_queries(const Tile<T>& tile, const Rows& keys, T scale, int first) {
    constexpr int at_once = S::few_rows, lanes = Lanes<S, T>::count;
    const T* const query = tile.queries + first * tile.dim;
    const auto* const row = static_cast<const typename Data::Element*>(keys.first);
    T* const logits = tile.logits + first * block_keys;
    std::int64_t key = 0;
    for (; key + at_once <= keys.count; key += at_once)
        score_some<S, T, Data, at_once, queries, width>(row + key * keys.stride, keys.stride, query,
                                                        tile.dim, logits + key);
    for (; key < keys.count; ++key)
        score_some<S, T, Data, 1, queries, width>(row + key * keys.stride, keys.stride, query,
                                                  tile.dim, logits + key);
    for (int q = 0; q < queries; ++q)
        for (key = 0; key < keys.count; key += lanes) {
            T* const some = logits + q * block_keys + key;
            S::put(some, S::mul(S::get(some), S::all(scale)));
        }
}

// Queries as many at once as registers hold, so that each row in memory is read seldom.
template <class S, class Function>
void in_groups(int queries, Function function) {
    int query = 0;
    for (; query + S::few_rows <= queries; query += S::few_rows)
        function.template operator()<S::few_rows>(query);
    if constexpr (S::few_rows > 3)
        if (queries - query == 3)
            return function.template operator()<3>(query);
    if constexpr (S::few_rows > 2)
        if (queries - query == 2)
            return function.template operator()<2>(query);
    if (query < queries)
        function.template operator()<1>(query);
}

template <class S, class T, class Data>
void score_few(const Tile<T>& tile, const Rows& keys, T scale, const Rows*) {
    in_groups<S>(tile.vectors, [&]<int queries>(int first) {
        if (tile.dim == 64)
            score_queries<S, T, Data, queries, 64>(tile, keys, scale, first);
        else if (tile.dim == 128)
            score_queries<S, T, Data, queries, 128>(tile, keys, scale, first);
        else
            score_queries<S, T, Data, queries, 0>(tile, keys, scale, first);
    });
}

template <class S, class T>
void cap_few(const Tile<T>& tile, T cap) {
    for (int query = 0; query < tile.vectors; ++query)
        for (std::int64_t key = 0; key < tile.keys[0]; key += Lanes<S, T>::count) {
            T* const some = tile.logits + query * block_keys + key;
            S::put(some, capped<S, T>(S::get(some), S::all(cap)));
        }
}

template <class S, class T>
bool raise_few(const Tile<T>& tile) {
    using Vector = VectorOf<S, T>;
    const std::int64_t keys = tile.keys[0];
    constexpr int lanes = Lanes<S, T>::count;
    Vector smallest = S::all(T{0});
    for (int query = 0; query < tile.vectors; ++query) {
        T* const logits = tile.logits + query * block_keys;
        const T before = tile.maximum[query];
        Vector largest = S::all(before);
        std::int64_t key = 0;
        for (; key + lanes <= keys; key += lanes) {
            const Vector logit = S::get(logits + key);
            largest = S::max(largest, logit);
            smallest = S::min(logit, smallest);
        }
        T of_lanes[std::size_t{lanes}];
        S::put(of_lanes, largest);
        T maximum = before;
        for (const T lane : of_lanes)
            maximum = maximum > lane ? maximum : lane;
        for (; key < keys; ++key) {
            maximum = maximum > logits[key] ? maximum : logits[key];
            smallest = S::min(S::all(logits[key]), smallest);
        }
        tile.maximum[query] = maximum;
        const T least = maximum == static_cast<T>(-infinity) ? T{0} : maximum;
        const double by =
            exponential_of<S>(static_cast<double>(before) - static_cast<double>(least));
        tile.rescale[query] = by;
        tile.sum[query] *= by;
    }
    return any_masked<S, T>(smallest);
}

template <class S, class T>
void weigh_few(const Tile<T>& tile) {
    using Vector = VectorOf<S, T>;
    const std::int64_t keys = tile.keys[0];
    constexpr int lanes = Lanes<S, T>::count;
    const std::int64_t end = (keys + lanes - 1) / lanes * lanes;
    for (int query = 0; query < tile.vectors; ++query) {
        T* const logits = tile.logits + query * block_keys;
        for (std::int64_t key = keys; key < end; ++key)
            logits[key] = static_cast<T>(-infinity);
        const Vector maximum = finite_maximum<S, T>(S::all(tile.maximum[query]));
        Vector sum = S::all(T{0});
        for (std::int64_t key = 0; key < end; key += lanes) {
            const Vector weight = exponential<S, T>(S::sub(S::get(logits + key), maximum));
            S::put(logits + key, weight);
            sum = S::add(sum, weight);
        }
        tile.sum[query] += static_cast<double>(S::sum(sum));
    }
}

// As join_outputs, for one vector of features, the last of which may be part.
template <class S>
void join_features(typename S::F64 more, bool empty, double rescale, double* output,
                   unsigned lanes) {
    const auto joined = [&] { return S::fma(S::get_some(output, lanes), S::all(rescale), more); };
    S::put_some(output, empty ? more : joined(), lanes);
}

template <class S>
void join_features(typename S::F32 more, bool empty, double rescale, double* output,
                   unsigned lanes) {
    join_features<S>(S::widen_low(more), empty, rescale, output, lanes & 0xff);
    if (lanes > 0xff)
        join_features<S>(S::widen_high(more), empty, rescale, output + 8, lanes >> 8);
}

// `vectors` vectors of features, of which the last has `rest` lanes; of all keys, or of those that
// have a logit.
template <class S, class T, class Data, bool all_seen, int queries, int vectors>
void accumulate_vectors(const Tile<T>& tile, const Rows& values, const T* seen, int first,
                        std::int64_t feature, unsigned rest) {
    constexpr int lanes = Lanes<S, T>::count;
    constexpr unsigned all = (1U << lanes) - 1;
    const T* const weights = tile.logits + first * block_keys;
    Sums<S, T, queries, vectors> sums;
    const auto step = [&](std::int64_t key, auto load) {
        const auto* const row = static_cast<const typename Data::Element*>(values.first) +
                                key * values.stride + feature;
        VectorOf<S, T> value[std::size_t{vectors}];
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v)
            value[v] = load(row + v * lanes);
#pragma GCC unroll 8
        for (int q = 0; q < queries; ++q) {
            if constexpr (!all_seen)
                if (seen[(first + q) * block_keys + key] == static_cast<T>(-infinity))
                    continue;
            const auto weight = S::all(weights[q * block_keys + key]);
#pragma GCC unroll 8
            for (int v = 0; v < vectors; ++v)
                sums.at[q][v] = S::fma(value[v], weight, sums.at[q][v]);
        }
    };
    if (rest == all)
        for (std::int64_t key = 0; key < values.count; ++key)
            step(key, [](const auto* p) { return Data::get(p); });
    else
        for (std::int64_t key = 0; key < values.count; ++key)
            step(key, [rest](const auto* p) { return Data::get_some(p, rest); });
    for (int q = 0; q < queries; ++q)
        for (int v = 0; v < vectors; ++v)
            join_features<S>(sums.at[q][v], tile.empty, tile.rescale[first + q],
                             tile.output + (first + q) * tile.value_dim + feature + v * lanes,
                             rest);
}

template <class S, class T, class Data, bool all_seen = false>
void accumulate_few_seen(const Tile<T>& tile, const Rows& values, const T* seen) {
    constexpr int lanes = Lanes<S, T>::count;
    constexpr unsigned all = (1U << lanes) - 1;
    in_groups<S>(tile.vectors, [&]<int queries>(int first) {
        std::int64_t feature = 0;
        if constexpr (queries < 4)
            for (; feature + 8 * lanes <= tile.value_dim; feature += 8 * lanes)
                accumulate_vectors<S, T, Data, all_seen, queries, 8>(tile, values, seen, first,
                                                                     feature, all);
        for (; feature + 4 * lanes <= tile.value_dim; feature += 4 * lanes)
            accumulate_vectors<S, T, Data, all_seen, queries, 4>(tile, values, seen, first, feature,
                                                                 all);
        for (; feature + lanes <= tile.value_dim; feature += lanes)
            accumulate_vectors<S, T, Data, all_seen, queries, 1>(tile, values, seen, first, feature,
                                                                 all);
        if (feature < tile.value_dim)
            accumulate_vectors<S, T, Data, all_seen, queries, 1>(
                tile, values, seen, first, feature, (1U << (tile.value_dim - feature)) - 1);
    });
}

template <class S, class T>
void divide_few(const Tile<T>& tile, std::int64_t queries, T* rows) {
    constexpr int lanes = Lanes<S, T>::count;
    for (std::int64_t query = 0; query < queries; ++query) {
        const Mean<S, T> mean(S::all(tile.sum[query]));
        for (std::int64_t feature = 0; feature < tile.value_dim; feature += lanes) {
            const std::int64_t at = query * tile.value_dim + feature;
            const std::int64_t left = tile.value_dim - feature;
            const unsigned some = left < lanes ? (1U << left) - 1 : (1U << lanes) - 1;
            const auto load = [&](int lane) {
                return S::get_some(tile.output + at + lane, some >> lane & 0xff);
            };
            S::put_some(rows + at, Means<S, T>{mean, mean}.of(load), some);
        }
    }
}

template <class S, class T, class Data>
void accumulate_few(const Tile<T>& tile, const Rows& values) {
    accumulate_few_seen<S, T, Data, true>(tile, values, nullptr);
}

} // namespace
