// What is added to logits, and which are hidden, before they become weights. Lanes are queries.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention.hpp"
#include "kernels/transpose.hpp"

namespace {

using ropewalk::block_keys;

template <class T>
constexpr T largest_finite = static_cast<T>(__DBL_MAX__);
template <>
constexpr float largest_finite<float> = __FLT_MAX__;

// logit = function(logit, its key in the block), in one vector, of all keys that it meets
template <class S, class T, class Function>
void change_logits(const Tile<T>& tile, int at, Function function) {
    constexpr int lanes = Lanes<S, T>::count;
    const int row = tile.vectors * lanes;
    const std::int64_t keys = tile.keys[at / lanes];
    Extremes<S, T> even, odd; // take turns, and need not wait for each other
    const auto change = [&](std::int64_t key, Extremes<S, T>& extremes) {
        T* const logits = tile.logits + key * row + at;
        const auto logit = function(S::get(logits), static_cast<double>(key));
        S::put(logits, logit);
        extremes.take(logit);
    };
    std::int64_t key = 0;
    for (; key + 2 <= keys; key += 2) {
        change(key, even);
        change(key + 1, odd);
    }
    if (key < keys)
        change(key, even);
    even.join(odd);
    even.put(tile, at);
}

// -inf masks whatever the logit is; a finite bias does not, even where the sum overflows.
template <class S, class T>
VectorOf<S, T> with_bias(VectorOf<S, T> logit, VectorOf<S, T> more) {
    const auto masked = S::all(static_cast<T>(-infinity));
    auto sum = S::add(logit, more);
    if (S::all_less(masked, sum)) // as almost always: no -inf in it, and no NaN of two infinities
        return sum;
    const auto lowest = S::all(-largest_finite<T>);
    sum = S::where_equal(sum, masked, lowest, sum);
    sum = S::where_equal(logit, masked, masked, sum);
    return S::where_equal(more, masked, masked, sum);
}

// rows[lane] holds the biases of its query to the keys of the block.
template <class S, class T>
void add_bias(const Tile<T>& tile, const T* const* rows) {
    constexpr int lanes = Lanes<S, T>::count;
    const int row = tile.vectors * lanes;
    alignas(64) T turned[std::size_t{lanes * lanes}];
    for (int at = 0; at < row; at += lanes) {
        const std::int64_t keys = tile.keys[at / lanes];
        Extremes<S, T> extremes;
        for (std::int64_t key = 0; key < keys; key += lanes) {
            const std::int64_t some = keys - key < lanes ? keys - key : lanes;
            const T* block[std::size_t{lanes}];
            for (int lane = 0; lane < lanes; ++lane) {
                block[lane] = rows[at + lane] + key;
                __builtin_prefetch(block[lane] + block_keys, 0, 2);
            }
            rows_to_lanes<S, FloatData<S, T>>(block, some, lanes, turned);
            for (std::int64_t i = 0; i < some; ++i) {
                T* const logits = tile.logits + (key + i) * row + at;
                const auto logit = with_bias<S, T>(S::get(logits), S::get(turned + i * lanes));
                S::put(logits, logit);
                extremes.take(logit);
            }
        }
        extremes.put(tile, at);
    }
}

// -slope |place - key| of eight queries
template <class S>
class SlopeBias {
  public:
    SlopeBias(const double* places, const double* slopes)
        : place_(S::get(places)), factor_(S::sub(S::all(0.0), S::get(slopes))) {}
    typename S::F64 at(double key) const {
        const auto there = S::all(key);
        return S::mul(factor_, S::max(S::sub(place_, there), S::sub(there, place_)));
    }
    // Whether none between two keys is larger than that in size.
    bool within(double limit, double first, double last) const {
        const auto a = at(first), b = at(last);
        return S::all_less(S::all(-limit), S::min(a, b)) &&
               S::all_less(S::max(a, b), S::all(limit));
    }
    typename S::F64 at(double key, double limit) const {
        return S::max(S::all(-limit), S::min(S::all(limit), at(key)));
    }

  private:
    typename S::F64 place_, factor_;
};

// Whether lanes are queries one after another, of one slope: the bias to a key is that of the lane
// before to the key before.
template <int lanes>
bool in_line(const double* places, const double* slopes) {
    bool all = true;
    for (int lane = 1; lane < lanes; ++lane)
        all &= places[lane] - places[0] == lane && slopes[lane] == slopes[0];
    return all;
}

// first is the first key of the block; every lane has its query's place and slope. Biases are at
// most the largest number of T in size.
template <class S, class T>
void add_slopes(const Tile<T>& tile, double first, const double* places, const double* slopes) {
    constexpr int lanes = Lanes<S, T>::count;
    constexpr auto largest = static_cast<double>(largest_finite<T>);
    for (int at = 0; at < tile.vectors * lanes; at += lanes) {
        const std::int64_t keys = tile.keys[at / lanes];
        const double end = first + static_cast<double>(keys);
        const SlopeBias<S> low(places + at, slopes + at);
        const SlopeBias<S> high(places + at + lanes - 8, slopes + at + lanes - 8);
        const auto add = [&](auto bias) {
            const auto of = [&](double key) {
                if constexpr (sizeof(T) == 4)
                    return S::join(bias(low, key), bias(high, key));
                else
                    return bias(low, key);
            };
            if (!in_line<lanes>(places + at, slopes + at))
                return change_logits<S, T>(tile, at, [&](VectorOf<S, T> logit, double key) {
                    return with_bias<S, T>(logit, of(first + key));
                });
            // Those of the last key, of one a vector before it, and so on.
            T biases[std::size_t{block_keys + lanes}];
            for (std::int64_t i = 0; i < keys + lanes - 1; i += lanes)
                S::put(biases + i, of(end - 1 - static_cast<double>(i)));
            const T* of_key = biases + keys;
            change_logits<S, T>(tile, at, [&](VectorOf<S, T> logit, double) {
                return with_bias<S, T>(logit, S::get(--of_key));
            });
        };
        if (low.within(largest, first, end) && high.within(largest, first, end))
            add([](const SlopeBias<S>& of, double key) { return of.at(key); });
        else
            add([](const SlopeBias<S>& of, double key) { return of.at(key, largest); });
    }
}

// Every lane sees the keys of the block from begin up to end.
template <class S, class T>
void hide_outside(const Tile<T>& tile, std::int64_t first, std::int64_t last, const T* begin,
                  const T* end) {
    constexpr int lanes = Lanes<S, T>::count;
    const int row = tile.vectors * lanes;
    const auto masked = S::all(static_cast<T>(-infinity));
    for (int at = 0; at < row; at += lanes) {
        const auto begins = S::get(begin + at), ends = S::get(end + at);
        const std::int64_t met = tile.keys[at / lanes];
        for (std::int64_t key = first; key < (met < last ? met : last); ++key) {
            T* const logits = tile.logits + key * row + at;
            const auto place = S::all(static_cast<T>(key));
            const auto seen = S::where_less(place, ends, S::get(logits), masked);
            S::put(logits, S::where_less(place, begins, masked, seen));
        }
    }
}

// logits = cap tanh(logits / cap)
template <class S, class T>
class Cap {
  public:
    explicit Cap(T cap) : cap_(S::all(cap)), inverse_(S::all(T{1} / cap)) {}
    VectorOf<S, T> of(VectorOf<S, T> logit) const {
        return S::mul(cap_, hyperbolic_tangent<S>(S::mul(logit, inverse_)));
    }

  private:
    VectorOf<S, T> cap_, inverse_;
};

template <class S, class T>
void cap(const Tile<T>& tile, T cap) {
    constexpr int lanes = Lanes<S, T>::count;
    const Cap<S, T> capped(cap);
    for (int at = 0; at < tile.vectors * lanes; at += lanes)
        change_logits<S, T>(tile, at,
                            [&](VectorOf<S, T> logit, double) { return capped.of(logit); });
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
void hide_masked(const Tile<T>& tile, const std::uint8_t* const* rows) {
    constexpr int lanes = Lanes<S, T>::count;
    const int row = tile.vectors * lanes;
    const auto masked = S::all(static_cast<T>(-infinity));
    for (int at = 0; at < row; at += lanes) {
        const std::int64_t keys = tile.keys[at / lanes];
        Extremes<S, T> extremes;
        for (std::int64_t key = 0; key < keys; key += 16) {
            const std::int64_t some = keys - key < 16 ? keys - key : 16;
            typename S::U8 seen[16];
#pragma GCC unroll 16
            for (int lane = 0; lane < 16; ++lane) { // of eight lanes each is taken twice
                const std::uint8_t* const bytes = rows[at + lane % lanes] + key;
                __builtin_prefetch(bytes + block_keys, 0, 2);
                seen[lane] = some_bytes<S>(bytes, some);
            }
            S::transpose(seen);
            for (std::int64_t i = 0; i < some; ++i) {
                T* const logits = tile.logits + (key + i) * row + at;
                const auto logit = S::where_zero(seen[i], masked, S::get(logits));
                S::put(logits, logit);
                extremes.take(logit);
            }
        }
        extremes.put(tile, at);
    }
}

} // namespace
