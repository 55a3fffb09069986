// What is added to logits, and which are hidden, before they become weights. Lanes are queries.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention.hpp"
#include "kernels/transpose.hpp"

namespace {

template <class T>
constexpr T largest_finite = static_cast<T>(__DBL_MAX__);
template <>
constexpr float largest_finite<float> = __FLT_MAX__;

// logit = function(logit, its key in the block, its first lane), from one key up to another
template <class S, class T, class Function>
void change_logits(const Tile<T>& tile, std::int64_t first, std::int64_t last, Function function) {
    constexpr int lanes = Lanes<S, T>::count;
    const int row = tile.vectors * lanes;
    for (int at = 0; at < row; at += lanes) {
        const std::int64_t met = tile.keys[at / lanes], end = met < last ? met : last;
        for (std::int64_t key = first; key < end; ++key) {
            T* const logits = tile.logits + key * row + at;
            S::put(logits, function(S::get(logits), key, at));
        }
    }
}

// -inf masks whatever the logit is; a finite bias does not, even where the sum overflows.
template <class S, class T>
VectorOf<S, T> with_bias(VectorOf<S, T> logit, VectorOf<S, T> more) {
    const auto masked = S::all(static_cast<T>(-infinity));
    const auto lowest = S::all(-largest_finite<T>);
    auto sum = S::add(logit, more);
    sum = S::where_equal(sum, masked, lowest, sum);
    sum = S::where_equal(logit, masked, masked, sum);
    return S::where_equal(more, masked, masked, sum);
}

// rows[lane] holds the biases of its query to the keys of the block.
template <class S, class T>
void add_bias(const Tile<T>& tile, std::int64_t keys, const T* const* rows) {
    constexpr int lanes = Lanes<S, T>::count;
    const int row = tile.vectors * lanes;
    alignas(64) T turned[std::size_t{lanes * lanes}];
    for (std::int64_t key = 0; key < keys; key += lanes) {
        const std::int64_t some = keys - key < lanes ? keys - key : lanes;
        for (int at = 0; at < row; at += lanes) {
            const T* block[std::size_t{lanes}];
            for (int lane = 0; lane < lanes; ++lane)
                block[lane] = rows[at + lane] + key;
            rows_to_lanes<S, T>(block, some, lanes, turned);
            for (std::int64_t i = 0; i < some; ++i) {
                T* const logits = tile.logits + (key + i) * row + at;
                S::put(logits, with_bias<S, T>(S::get(logits), S::get(turned + i * lanes)));
            }
        }
    }
}

// -slope |place - key|, at most the largest number of T in size.
template <class S, class T>
typename S::F64 slope_bias(const double* places, const double* slopes, typename S::F64 key) {
    const auto place = S::get(places);
    const auto distance = S::max(S::sub(place, key), S::sub(key, place));
    const auto bias = S::mul(S::sub(S::all(0.0), S::get(slopes)), distance);
    const auto limit = S::all(static_cast<double>(largest_finite<T>));
    const auto lowest = S::sub(S::all(0.0), limit);
    return S::where_less(bias, lowest, lowest, S::where_less(limit, bias, limit, bias));
}

template <class S, class T>
VectorOf<S, T> slope_biases(const double* places, const double* slopes, typename S::F64 key) {
    if constexpr (sizeof(T) == 4)
        return S::join(slope_bias<S, T>(places, slopes, key),
                       slope_bias<S, T>(places + 8, slopes + 8, key));
    else
        return slope_bias<S, T>(places, slopes, key);
}

// first is the first key of the block; every lane has its query's place and slope.
template <class S, class T>
void add_slopes(const Tile<T>& tile, double first, std::int64_t keys, const double* places,
                const double* slopes) {
    change_logits<S>(tile, 0, keys, [&](VectorOf<S, T> logit, std::int64_t key, int at) {
        const auto place = S::all(first + static_cast<double>(key));
        return with_bias<S, T>(logit, slope_biases<S, T>(places + at, slopes + at, place));
    });
}

// Every lane sees the keys of the block from begin up to end.
template <class S, class T>
void hide_outside(const Tile<T>& tile, std::int64_t first, std::int64_t last, const T* begin,
                  const T* end) {
    const auto masked = S::all(static_cast<T>(-infinity));
    change_logits<S>(tile, first, last, [&](VectorOf<S, T> logit, std::int64_t key, int at) {
        const auto place = S::all(static_cast<T>(key));
        const auto seen = S::where_less(place, S::get(end + at), logit, masked);
        return S::where_less(place, S::get(begin + at), masked, seen);
    });
}

// Up to sixteen bytes, and no other is read.
template <class S>
typename S::U8 some_bytes(const std::uint8_t* p, std::int64_t count) {
    if (count == 16)
        return S::get(p);
    std::uint8_t bytes[16] = {};
    for (std::int64_t i = 0; i < count; ++i)
        bytes[i] = p[i];
    return S::get(bytes);
}

// rows[lane] says of the keys of the block which its query sees: 0 hides one.
template <class S, class T>
void hide_masked(const Tile<T>& tile, std::int64_t keys, const std::uint8_t* const* rows) {
    constexpr int lanes = Lanes<S, T>::count;
    const int row = tile.vectors * lanes;
    const auto masked = S::all(static_cast<T>(-infinity));
    for (std::int64_t key = 0; key < keys; key += 16) {
        const std::int64_t some = keys - key < 16 ? keys - key : 16;
        for (int at = 0; at < row; at += lanes) {
            typename S::U8 seen[16];
            for (int lane = 0; lane < 16; ++lane) // of eight lanes each is taken twice
                seen[lane] = some_bytes<S>(rows[at + lane % lanes] + key, some);
            S::transpose(seen);
            for (std::int64_t i = 0; i < some; ++i) {
                T* const logits = tile.logits + (key + i) * row + at;
                S::put(logits, S::where_zero(seen[i], masked, S::get(logits)));
            }
        }
    }
}

} // namespace
