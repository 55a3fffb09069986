// Scores of few queries: lanes are features, which are added up for each key in a fixed order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/decode_logits.hpp"
#include "kernels/decode_rows.hpp"

namespace {

// logits[query][key] = products of rows, of which so many are read together. One or two queries
// read one row after another: the processor fetches ahead what is read in a line. `width` is the
// number of features where the compiler is to know it, or 0.
template <class S, class T, class Data, int keys, int together, int queries, int width, class Asked>
void score_some(const typename Data::Element* key, std::int64_t stride, const T* query,
                std::int64_t features, Asked ahead, T* logits) {
    constexpr int lanes = Lanes<S, T>::count;
    constexpr bool once = together > 1 || S::registers > 8; // few gain nothing by holding one row
    const std::int64_t dim = width > 0 ? width : features;
    const unsigned rest = first_lanes(dim % lanes);
    VectorOf<S, T> sums[std::size_t{queries}][std::size_t{keys}];
#pragma GCC unroll 1 // or the compiler would read rows side by side
    for (int k = 0; k < keys; k += together) {
        Sums<S, T, queries, together> of;
        const auto* const row = key + k * stride;
        const auto step = [&](std::int64_t feature, auto load_key, auto load) {
            fetch<together>(row + feature, stride, stride, ahead, feature / lanes);
            VectorOf<S, T> of_key[std::size_t{together}];
#pragma GCC unroll 4
            for (int t = 0; t < together; ++t)
                of_key[t] = read_once_if<S, once>(load_key(row + t * stride + feature));
#pragma GCC unroll 4
            for (int q = 0; q < queries; ++q) {
                const auto of_query =
                    read_once_if<S, (together > 1)>(load(query + q * dim + feature));
#pragma GCC unroll 4
                for (int t = 0; t < together; ++t)
                    of.at[q][t] = S::fma(of_key[t], of_query, of.at[q][t]);
            }
        };
        std::int64_t feature = 0;
#pragma GCC unroll 8
        for (; feature + lanes <= dim; feature += lanes)
            step(
                feature, [](const auto* p) { return Data::get(p); },
                [](const T* p) { return S::get(p); });
        if (rest != 0)
            step(
                feature, [=](const auto* p) { return Data::get_some(p, rest); },
                [=](const T* p) { return S::get_some(p, rest); });
#pragma GCC unroll 4
        for (int q = 0; q < queries; ++q)
#pragma GCC unroll 4
            for (int t = 0; t < together; ++t)
                sums[q][k + t] = of.at[q][t];
    }
#pragma GCC unroll 4
    for (int q = 0; q < queries; ++q)
        S::template sums<keys>(sums[q], logits + q * block_keys);
}

template <class S, class T, class Data, int together, int queries, int width>
void score_queries(const Tile<T>& tile, const Rows& keys, T scale, int first, T* logits) {
    constexpr int at_once = together > 1 ? S::few_sums : S::few_rows, lanes = Lanes<S, T>::count;
    const T* const query = tile.queries + first * tile.dim;
    const auto* const row = static_cast<const typename Data::Element*>(keys.first);
    std::int64_t key = 0;
    if (keys.count >= at_once)
        ask_ahead<S, T, typename Data::Element, queries>(
            tile, tile.dim, first, true, [&](auto ahead) {
                for (; key < keys.count; key += at_once) {
                    // Some keys once more where fewer are left: one by one they would take longer.
                    const std::int64_t left = keys.count - at_once, at = key < left ? key : left;
                    score_some<S, T, Data, at_once, together, queries, width>(
                        row + at * keys.stride, keys.stride, query, tile.dim, ahead, logits + at);
                }
            });
    for (; key < keys.count; ++key) // of a block that has fewer
        score_some<S, T, Data, 1, 1, queries, 0>(row + key * keys.stride, keys.stride, query,
                                                 tile.dim, NoRows{}, logits + key);
    for (int q = 0; q < queries; ++q)
        for (key = 0; key < keys.count; key += lanes) {
            T* const some = logits + q * block_keys + key;
            S::put(some, S::mul(S::get(some), S::all(scale)));
        }
}

template <class S, class T, class Data, int width>
void score_few_of(const Tile<T>& tile, const Rows& keys, T scale) {
    using Element = typename Data::Element;
    in_near_keys<S, Element>(tile, tile.dim, keys.count, [&](std::int64_t key, std::int64_t count) {
        const auto* const row = static_cast<const Element*>(keys.first);
        const Rows near{row + key * keys.stride, keys.stride, count};
        in_groups<S>(tile.vectors, [&]<int queries>(int first) {
            T* const logits = tile.logits + first * block_keys + key;
            if constexpr (queries <= few_alone)
                if (is_alone<S>(tile))
                    return score_queries<S, T, Data, 1, queries, width>(tile, near, scale, first,
                                                                        logits);
            score_queries<S, T, Data, S::few_rows, queries, width>(tile, near, scale, first,
                                                                   logits);
        });
    });
}

// Of one query, as many keys at a time as a vector has lanes: the query stays in registers, `whole`
// vectors and part of one more where `part`. Rows are read in a line, or the processor would fetch
// none ahead.
template <class S, class T, class Data, int whole, bool part>
void score_one(const Tile<T>& tile, const Rows& keys, T scale) {
    using Vector = VectorOf<S, T>;
    using Element = typename Data::Element;
    constexpr int lanes = Lanes<S, T>::count;
    const unsigned rest = first_lanes(tile.dim % lanes);
    const std::int64_t stride = keys.stride, last = keys.count - lanes;
    Vector query[std::size_t{whole + part}];
#pragma GCC unroll 8
    for (int v = 0; v < whole; ++v)
        query[v] = S::get(tile.queries + v * lanes);
    if constexpr (part)
        query[whole] = S::get_some(tile.queries + whole * lanes, rest);
    const auto sums_from = [&](const Element* row, auto ahead) {
        Vector sums[std::size_t{lanes}];
#pragma GCC unroll 16
        for (Vector& sum : sums) {
            sum = S::all(T{0});
#pragma GCC unroll 8
            for (int v = 0; v < whole; ++v) {
                fetch<1>(row + v * lanes, stride, stride, ahead, v);
                sum = S::fma(Data::get(row + v * lanes), query[v], sum);
            }
            if constexpr (part) {
                fetch<1>(row + whole * lanes, stride, stride, ahead, whole);
                sum = S::fma(Data::get_some(row + whole * lanes, rest), query[whole], sum);
            }
            row += stride;
            S::before(sum, row);
        }
        return S::sums_of(sums);
    };
    Extremes<S, T> extremes;
    ask_ahead<S, T, Element, 1>(tile, tile.dim, 0, true, [&](auto ahead) {
        for (std::int64_t key = 0; key < keys.count; key += lanes) {
            const std::int64_t at = key < last ? key : last;
            const auto* const row = static_cast<const Element*>(keys.first) + at * stride;
            const Vector logits = S::mul(sums_from(row, ahead), S::all(scale));
            S::put(tile.logits + at, logits);
            extremes.take(logits);
        }
    });
    put_extremes_few<S>(tile, 0, extremes);
}

template <class S, class T, class Data>
void score_few(const Tile<T>& tile, const Rows& keys, T scale, const Rows*) {
    constexpr int lanes = Lanes<S, T>::count, most = 8;
    if constexpr (S::sums_vectors)
        if (tile.vectors == 1 && keys.count >= lanes && tile.dim > 0 && tile.dim <= most * lanes)
            return with_count<most>((tile.dim + lanes - 1) / lanes, [&]<int vectors>() {
                if (tile.dim % lanes == 0)
                    score_one<S, T, Data, vectors, false>(tile, keys, scale);
                else
                    score_one<S, T, Data, vectors - 1, true>(tile, keys, scale);
            });
    if (tile.dim == 32)
        score_few_of<S, T, Data, 32>(tile, keys, scale);
    else if (tile.dim == 64)
        score_few_of<S, T, Data, 64>(tile, keys, scale);
    else if (tile.dim == 128)
        score_few_of<S, T, Data, 128>(tile, keys, scale);
    else
        score_few_of<S, T, Data, 0>(tile, keys, scale);
    find_extremes_few<S>(tile);
}

} // namespace
