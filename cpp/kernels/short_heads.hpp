// Attention of queries of any heads, as many as a vector has lanes, to the few keys of each head:
// what kernels/decode.hpp does for the queries of one head, with the same bits. Lanes are features,
// but queries where logits become weights.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/decode.hpp"
#include "kernels/transpose.hpp"

namespace {

using ropewalk::short_keys;
using ropewalk::ShortHeads;

// logits[query][key], without gaps. Behind the last query comes that once more.
template <class S, class T, class Data>
void score_short(const ShortHeads<T>& heads, T* logits) {
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
            S::put(logits + i, S::sums_of(sums));
        else
            S::template sums<at_once>(sums, logits + i);
    }
}

// weights[key][query], and the sum of each query's, added up as the lanes of a vector are; says
// whether all logits are finite.
template <class S, class T>
bool weigh_short(const ShortHeads<T>& heads, const T* logits, T* weights, T* sums) {
    using Vector = VectorOf<S, T>;
    constexpr int lanes = Lanes<S, T>::count;
    const T* rows[std::size_t{lanes}];
    for (int query = 0; query < lanes; ++query)
        rows[query] = logits + (query < heads.queries ? query : 0) * heads.keys;
    rows_to_lanes<S, T>(rows, heads.keys, lanes, weights);
    Extremes<S, T> extremes;
    T* const end = weights + heads.keys * lanes;
    for (T* p = weights; p < end; p += lanes) {
        const Vector logit = S::mul(S::get(p), S::all(heads.scale));
        S::put(p, logit);
        extremes.take(logit);
    }
    for (T* p = weights; p < end; p += lanes)
        S::put(p, exponential<S, T>(S::sub(S::get(p), extremes.largest)));
    Vector parts[std::size_t{lanes}]; // what the lanes of a vector would be
#pragma GCC unroll 16
    for (int part = 0; part < lanes; ++part) {
        parts[part] = S::all(T{0});
        for (const T* p = weights + part * lanes; p < end; p += lanes * lanes)
            parts[part] = S::add(parts[part], S::get(p));
    }
#pragma GCC unroll 4
    for (int half = lanes / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (int part = 0; part < half; ++part)
            parts[part] = S::add(parts[part], parts[part + half]);
    S::put(sums, parts[0]);
    constexpr auto infinite = static_cast<T>(infinity);
    return S::all_less(S::all(-infinite), extremes.smallest) &&
           S::all_less(parts[0], S::all(infinite)); // not where one is NaN
}

// The averages of values from `feature` on: of `whole` vectors, and of `rest` lanes where `part`.
template <class S, class T, class Data, int whole, bool part>
void average_short(const ShortHeads<T>& heads, const T* weights, const T* sums,
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
            const Vector weight = S::all(weights[key * lanes + query]);
#pragma GCC unroll 8
            for (int v = 0; v < whole; ++v)
                outputs[v] = S::fma(Data::get(row + v * lanes), weight, outputs[v]);
            if constexpr (part)
                outputs[whole] =
                    S::fma(Data::get_some(row + whole * lanes, rest), weight, outputs[whole]);
        }
        const Mean<S, T> mean(S::all(static_cast<double>(sums[query])));
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

template <class S, class T, class Data>
bool attend_short(const ShortHeads<T>& heads) {
    constexpr int lanes = Lanes<S, T>::count, most = strip_vectors * lanes;
    alignas(64) T logits[std::size_t{short_keys * lanes}], weights[std::size_t{short_keys * lanes}],
        sums[std::size_t{lanes}];
    score_short<S, T, Data>(heads, logits);
    if (!weigh_short<S, T>(heads, logits, weights, sums))
        return false;
    for (std::int64_t feature = 0; feature < heads.value_dim; feature += most) {
        const std::int64_t left = heads.value_dim - feature, width = left < most ? left : most;
        const unsigned rest = first_lanes(width % lanes);
        with_count<strip_vectors>((width + lanes - 1) / lanes, [&]<int vectors>() {
            if (rest == 0)
                average_short<S, T, Data, vectors, false>(heads, weights, sums, feature, rest);
            else
                average_short<S, T, Data, vectors - 1, true>(heads, weights, sums, feature, rest);
        });
    }
    return true;
}

} // namespace
