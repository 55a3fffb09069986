// Attention of queries of any heads, as many as a vector has lanes, to the few keys of each head:
// what kernels/decode.hpp does for the queries of one head, with the same bits. Lanes are features,
// but queries where logits become weights.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/decode.hpp"
#include "kernels/logits.hpp"
#include "kernels/transpose.hpp"

namespace {

using ropewalk::ShortHeads;

// Products of rows, [query][key] without gaps. Behind the last query comes that once more.
template <class S, class T, class Data>
void score_short(const ShortHeads<T>& heads, T* products) {
    using Vector = VectorOf<S, T>;
    using Element = typename Data::Element;
    constexpr int lanes = Lanes<S, T>::count, at_once = S::sums_vectors ? lanes : S::few_sums;
    const unsigned rest = first_lanes(heads.dim % lanes);
    const std::int64_t whole = heads.dim - heads.dim % lanes;
    const auto *query = static_cast<const Element*>(heads.query[0]),
               *row = static_cast<const Element*>(heads.key[0]);
    std::int64_t key = 0;
    int of = 0;
    for (std::int64_t i = 0; i < heads.queries * heads.keys; i += at_once) {
        Vector sums[std::size_t{at_once}];
#pragma GCC unroll 16
        for (Vector& sum : sums) {
            sum = S::all(T{0});
            for (std::int64_t feature = 0; feature < whole; feature += lanes)
                sum = S::fma(Data::get(row + feature), Data::get(query + feature), sum);
            if (rest != 0)
                sum = S::fma(Data::get_some(row + whole, rest), Data::get_some(query + whole, rest),
                             sum);
            row += heads.key_stride;
            if (++key == heads.keys) {
                key = 0;
                of += of + 1 < heads.queries;
                query = static_cast<const Element*>(heads.query[of]);
                row = static_cast<const Element*>(heads.key[of]);
            }
        }
        if constexpr (S::sums_vectors)
            S::put(products + i, S::sums_of(sums));
        else
            S::template sums<at_once>(sums, products + i);
    }
}

// As for any tile of queries that are lanes.
template <class S, class T>
void change_short(const ShortHeads<T>& heads, const Tile<T>& tile) {
    if (heads.softcap != 0)
        cap<S>(tile, heads.softcap);
    if (heads.has_bias)
        add_bias<S>(tile, heads.bias);
    if (heads.has_slopes)
        add_slopes<S>(tile, 0, heads.place, heads.slope);
    if (!heads.sees_all)
        hide_outside<S>(tile, 0, heads.keys, heads.begin, heads.end);
    if (heads.has_mask)
        hide_masked<S>(tile, heads.mask); // which finds extremes
    else
        find_extremes<S>(tile);
}

// Weights are added up as the lanes of a vector are. Whether all are numbers.
template <class S, class T>
bool weigh_short(const Tile<T>& tile) {
    using Vector = VectorOf<S, T>;
    constexpr int lanes = Lanes<S, T>::count;
    T* const end = tile.logits + tile.keys[0] * lanes;
    const Vector maximum = finite_maximum<S, T>(S::get(tile.maximum));
    for (T* p = tile.logits; p < end; p += lanes)
        S::put(p, exponential<S, T>(S::sub(S::get(p), maximum)));
    Vector parts[std::size_t{lanes}]; // what the lanes of a vector would be
#pragma GCC unroll 16
    for (int part = 0; part < lanes; ++part) {
        parts[part] = S::all(T{0});
        for (const T* p = tile.logits + part * lanes; p < end; p += lanes * lanes)
            parts[part] = S::add(parts[part], S::get(p));
    }
#pragma GCC unroll 4
    for (int half = lanes / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (int part = 0; part < half; ++part)
            parts[part] = S::add(parts[part], parts[part + half]);
    for (int lane = 0; lane < lanes; lane += 8)
        S::put(tile.sum + lane, S::add(S::get(tile.sum + lane), eight_of<S>(parts[0], lane)));
    return S::all_less(parts[0], S::all(static_cast<T>(infinity)));
}

// The averages of values from `feature` on, `whole` vectors and `rest` lanes where `part`: of all
// keys, or of those that have a logit.
template <class S, class T, class Data, bool all_seen, int whole, bool part>
void average_short(const ShortHeads<T>& heads, const T* weights, const T* logits,
                   std::int64_t feature, unsigned rest) {
    using Vector = VectorOf<S, T>;
    using Element = typename Data::Element;
    constexpr int lanes = Lanes<S, T>::count;
    auto* to = static_cast<Element*>(heads.rows) + feature;
    for (int query = 0; query < heads.queries; ++query, to += heads.value_dim) {
        Vector outputs[std::size_t{whole + part}];
        for (Vector& output : outputs)
            output = S::all(T{0});
        const auto* row = static_cast<const Element*>(heads.value[query]) + feature;
        for (std::int64_t key = 0; key < heads.keys; ++key, row += heads.value_stride) {
            if (!all_seen && logits[key * lanes + query] == static_cast<T>(-infinity))
                continue;
            const Vector weight = S::all(weights[key * lanes + query]);
#pragma GCC unroll 8
            for (int v = 0; v < whole; ++v)
                outputs[v] = S::fma(Data::get(row + v * lanes), weight, outputs[v]);
            if constexpr (part)
                outputs[whole] =
                    S::fma(Data::get_some(row + whole * lanes, rest), weight, outputs[whole]);
        }
        const Mean<S, T> mean(S::all(heads.sum[query]));
        const auto averaged = [&](Vector output) {
            return Means<S, T>{mean, mean}.of([&](int lane) { return eight_of<S>(output, lane); });
        };
#pragma GCC unroll 8
        for (int v = 0; v < whole; ++v)
            Data::put(to + v * lanes, averaged(outputs[v]));
        if constexpr (part)
            Data::put_some(to + whole * lanes, averaged(outputs[whole]), rest);
    }
}

// All features, strip by strip. Not inline: as a part of attend_short() it may take longer.
template <class S, class T, class Data, bool all_seen>
[[gnu::noinline]] void average_short(const ShortHeads<T>& heads, const T* weights,
                                     const T* logits) {
    constexpr int lanes = Lanes<S, T>::count, most = strip_vectors * lanes;
    for (std::int64_t feature = 0; feature < heads.value_dim; feature += most) {
        const std::int64_t left = heads.value_dim - feature, width = left < most ? left : most;
        const unsigned rest = first_lanes(width % lanes);
        with_count<strip_vectors>((width + lanes - 1) / lanes, [&]<int vectors>() {
            if (rest == 0)
                average_short<S, T, Data, all_seen, vectors, false>(heads, weights, logits, feature,
                                                                    rest);
            else
                average_short<S, T, Data, all_seen, vectors - 1, true>(heads, weights, logits,
                                                                       feature, rest);
        });
    }
}

template <class S, class T, class Data>
bool attend_short(ShortHeads<T>& heads) {
    constexpr int lanes = Lanes<S, T>::count;
    static_assert(lanes <= ropewalk::most_lanes);
    constexpr std::size_t most = std::size_t{block_keys * lanes};
    alignas(64) T logits[most], turned[most], largest[std::size_t{lanes}],
        smallest[std::size_t{lanes}];
    alignas(64) double rescale[std::size_t{lanes}];
    score_short<S, T, Data>(heads, logits);
    const T* rows[std::size_t{lanes}];
    for (int lane = 0; lane < lanes; ++lane)
        rows[lane] = logits + (lane < heads.queries ? lane : heads.queries - 1) * heads.keys;
    rows_to_lanes<S, FloatData<S, T>>(rows, heads.keys, lanes, turned);
    for (std::int64_t i = 0; i < heads.keys * lanes; i += lanes)
        S::put(turned + i, S::mul(S::get(turned + i), S::all(heads.scale)));
    Tile<T> tile{};
    tile.vectors = 1;
    tile.logits = turned;
    tile.largest = largest;
    tile.smallest = smallest;
    tile.maximum = heads.maximum;
    tile.sum = heads.sum;
    tile.rescale = rescale;
    tile.keys[0] = heads.keys;
    change_short<S>(heads, tile);
    const bool masked = raise<S>(tile);
    if (masked)
        for (std::int64_t i = 0; i < heads.keys * lanes; i += lanes)
            S::put(logits + i, S::get(turned + i));
    if (!weigh_short<S>(tile))
        return false;
    if (masked)
        average_short<S, T, Data, false>(heads, turned, logits);
    else
        average_short<S, T, Data, true>(heads, turned, logits);
    return true;
}

} // namespace
