// As kernels/logits.hpp, where queries are few: lanes are keys, and a query's logits lie in a row.
#pragma once

#include <cstdint>

#include "kernels/logits.hpp"

namespace {

// function(place of a vector of logits, the vector), of a query; behind the last key stands
// `behind`. To write it there, and to read then what was written piece by piece, would take longer.
template <class S, class T, class Function>
[[gnu::always_inline]] inline void each_vector(const Tile<T>& tile, int query, T behind,
                                               Function function) {
    constexpr int lanes = Lanes<S, T>::count;
    const std::int64_t keys = tile.keys[0], whole = keys / lanes * lanes;
    T* const logits = tile.logits + query * block_keys;
    for (std::int64_t key = 0; key < whole; key += lanes)
        function(logits + key, S::get(logits + key));
    if (const unsigned rest = first_lanes(keys - whole); rest != 0)
        function(logits + whole,
                 S::select(rest, S::get_some(logits + whole, rest), S::all(behind)));
}

template <class S, class T>
void put_extremes_few(const Tile<T>& tile, int query, const Extremes<S, T>& extremes) {
    tile.largest[query] = S::largest(extremes.largest);
    tile.smallest[query] = -S::largest(S::sub(S::all(T{0}), extremes.smallest));
}

template <class S, class T>
void find_extremes_few(const Tile<T>& tile) {
    for (int query = 0; query < tile.vectors; ++query) {
        Extremes<S, T> extremes;
        const T first = tile.logits[query * block_keys]; // changes neither
        each_vector<S, T>(tile, query, first,
                          [&](T*, VectorOf<S, T> logit) { extremes.take(logit); });
        put_extremes_few<S>(tile, query, extremes);
    }
}

// logits = function(logits, their first key, the lanes that hold any), of that query
template <class S, class T, class Function>
[[gnu::always_inline]] inline void change_row(const Tile<T>& tile, int query, Function function) {
    constexpr int lanes = Lanes<S, T>::count;
    const std::int64_t keys = tile.keys[0];
    for (std::int64_t key = 0; key < keys; key += lanes) {
        T* const logits = tile.logits + query * block_keys + key;
        const std::int64_t left = keys - key;
        S::put(logits, function(S::get(logits), key, first_lanes(left < lanes ? left : lanes)));
    }
}

template <class S, class T>
void cap_few(const Tile<T>& tile, T cap) {
    const Cap<S, T> capped(cap);
    for (int query = 0; query < tile.vectors; ++query)
        change_row<S>(tile, query, [&](VectorOf<S, T> logits, std::int64_t, unsigned) {
            return capped.of(logits);
        });
    find_extremes_few<S>(tile);
}

template <class S, class T>
void add_bias_few(const Tile<T>& tile, const T* const* rows) {
    for (int query = 0; query < tile.vectors; ++query)
        change_row<S>(tile, query, [&](VectorOf<S, T> logits, std::int64_t key, unsigned held) {
            return with_bias<S, T>(logits, S::get_some(rows[query] + key, held));
        });
    find_extremes_few<S>(tile);
}

template <class S, class T>
void add_slopes_few(const Tile<T>& tile, double first, const double* places, const double* slopes) {
    constexpr auto largest = static_cast<double>(largest_finite<T>);
    double keys[block_keys], slope[8];
    for (std::int64_t key = 0; key < block_keys; ++key)
        keys[key] = first + static_cast<double>(key);
    for (int query = 0; query < tile.vectors; ++query) {
        for (double& lane : slope)
            lane = slopes[query];
        const auto biases = [&](std::int64_t key) { // as if keys were queries
            return SlopeBias<S>(keys + key, slope).at(places[query], largest);
        };
        change_row<S>(tile, query, [&](VectorOf<S, T> logits, std::int64_t key, unsigned) {
            if constexpr (sizeof(T) == 4)
                return with_bias<S, T>(logits, S::join(biases(key), biases(key + 8)));
            else
                return with_bias<S, T>(logits, biases(key));
        });
    }
    find_extremes_few<S>(tile);
}

template <class S, class T>
void hide_outside_few(const Tile<T>& tile, std::int64_t first, std::int64_t last, const T* begin,
                      const T* end) {
    constexpr auto masked = static_cast<T>(-infinity);
    for (int query = 0; query < tile.vectors; ++query) {
        T* const logits = tile.logits + query * block_keys;
        for (std::int64_t key = first; key < static_cast<std::int64_t>(begin[query]); ++key)
            logits[key] = masked;
        for (auto key = static_cast<std::int64_t>(end[query]); key < last; ++key)
            logits[key] = masked;
    }
}

template <class S, class T>
void hide_masked_few(const Tile<T>& tile, const std::uint8_t* const* rows) {
    const auto masked = S::all(static_cast<T>(-infinity));
    for (int query = 0; query < tile.vectors; ++query)
        change_row<S>(tile, query, [&](VectorOf<S, T> logits, std::int64_t key, unsigned) {
            const std::int64_t left = tile.keys[0] - key;
            const auto seen = some_bytes<S>(rows[query] + key, left < 16 ? left : 16);
            return S::where_zero(seen, masked, logits);
        });
    find_extremes_few<S>(tile);
}

} // namespace
