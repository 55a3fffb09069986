// Attention of few queries to blocks of keys, as when a token at a time is decoded.
//
// Lanes are features of keys and values, which are read as they lie in memory, in the type that
// they have there, once for several queries. Lanes are joined in a fixed order. As with many
// queries, all is T inside a block, and blocks are joined in float64.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention.hpp"
#include "kernels/decode_rows.hpp"
#include "kernels/decode_scores.hpp"
#include "kernels/outputs.hpp"

namespace {

template <class S, class T>
bool raise_few(const Tile<T>& tile) {
    bool masked = false;
    for (int query = 0; query < tile.vectors; ++query) {
        const T before = tile.maximum[query], largest = tile.largest[query];
        const T maximum = before > largest ? before : largest;
        tile.maximum[query] = maximum;
        const T least = maximum == static_cast<T>(-infinity) ? T{0} : maximum;
        // Before the first block there is nothing to rescale, unless a logit is NaN.
        const bool nothing = before == static_cast<T>(-infinity) && least == least;
        const double by =
            nothing ? 0
                    : exponential_of<S>(static_cast<double>(before) - static_cast<double>(least));
        tile.rescale[query] = by;
        tile.sum[query] *= by;
        masked |= tile.smallest[query] == static_cast<T>(-infinity);
    }
    return masked;
}

template <class S, class T>
void weigh_few(const Tile<T>& tile) {
    using Vector = VectorOf<S, T>;
    for (int query = 0; query < tile.vectors; ++query) {
        const Vector maximum = finite_maximum<S, T>(S::all(tile.maximum[query]));
        Vector sum = S::all(T{0});
        each_vector<S, T>(tile, query, static_cast<T>(-infinity), [&](T* p, Vector logit) {
            const Vector weight = exponential<S, T>(S::sub(logit, maximum));
            S::put(p, weight);
            sum = S::add(sum, weight);
        });
        tile.sum[query] += static_cast<double>(S::sum(sum));
    }
}

// As join_outputs, for one vector of features, the last of which may be part.
template <class S>
typename S::F64 joined_features(typename S::F64 more, bool empty, double rescale,
                                const double* output, unsigned lanes) {
    return empty ? more : S::fma(S::get_some(output, lanes), S::all(rescale), more);
}

template <class S>
void join_features(typename S::F64 more, bool empty, double rescale, double* output,
                   unsigned lanes) {
    S::put_some(output, joined_features<S>(more, empty, rescale, output, lanes), lanes);
}

template <class S>
void join_features(typename S::F32 more, bool empty, double rescale, double* output,
                   unsigned lanes) {
    join_features<S>(S::widen_low(more), empty, rescale, output, lanes & 0xff);
    if (lanes > 0xff)
        join_features<S>(S::widen_high(more), empty, rescale, output + 8, lanes >> 8);
}

template <class Data>
constexpr int line_elements = 64 / sizeof(typename Data::Element);

// Adds to the sums of some queries: `vectors` vectors of features, of which the last has `rest`
// lanes, times the weights of all keys, or of those that have a logit.
template <class S, class T, class Data, bool all_seen, int queries, int vectors, class Asked>
void add_features(const Rows& values, const T* weights, const T* seen, unsigned rest, Asked ahead,
                  T* sums) {
    constexpr int lanes = Lanes<S, T>::count;
    constexpr unsigned all = first_lanes(lanes);
    VectorOf<S, T> of[std::size_t{queries}][std::size_t{vectors}];
    const auto each_sum = [&](auto function) {
#pragma GCC unroll 4
        for (int q = 0; q < queries; ++q)
#pragma GCC unroll 8
            for (int v = 0; v < vectors; ++v)
                function(of[q][v], sums + (q * strip_vectors + v) * lanes);
    };
    each_sum([](VectorOf<S, T>& sum, const T* p) { sum = S::get(p); });
    const auto* row = static_cast<const typename Data::Element*>(values.first);
    // Values that several queries want, where their sums leave registers for them.
    constexpr bool once = queries > 1 && (queries + 1) * vectors <= int{S::registers};
    const auto step = [&](std::int64_t key, auto load) {
        fetch<(vectors * lanes + line_elements<Data> - 1) / line_elements<Data>>(
            row, values.stride, line_elements<Data>, ahead, key);
        VectorOf<S, T> weight[std::size_t{queries}];
        bool meets[std::size_t{queries}];
#pragma GCC unroll 4
        for (int q = 0; q < queries; ++q) {
            weight[q] = S::all(weights[q * block_keys + key]);
            meets[q] = all_seen || seen[q * block_keys + key] != static_cast<T>(-infinity);
        }
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) {
            const auto* const at = row + v * lanes;
            const auto value = read_once_if<S, once>(v < vectors - 1 ? Data::get(at) : load(at));
#pragma GCC unroll 4
            for (int q = 0; q < queries; ++q)
                if (meets[q])
                    of[q][v] = S::fma(value, weight[q], of[q][v]);
        }
    };
    if (rest == all)
        for (std::int64_t key = 0; key < values.count; ++key, row += values.stride)
            step(key, [](const auto* p) { return Data::get(p); });
    else
        for (std::int64_t key = 0; key < values.count; ++key, row += values.stride)
            step(key, [rest](const auto* p) { return Data::get_some(p, rest); });
    each_sum([](const VectorOf<S, T>& sum, T* p) { S::put(p, sum); });
}

// Weights times `width` features of all values, a strip at most; sums[query][feature]. Its parts
// belong into it: were it a part of each of its callers, the compiler would leave them outside.
template <class S, class T, class Data>
[[gnu::noinline]] void sum_strip(const Tile<T>& tile, const Rows& values, std::int64_t strip,
                                 std::int64_t width, T* sums) {
    using Element = typename Data::Element;
    constexpr int lanes = Lanes<S, T>::count;
    constexpr unsigned all = first_lanes(lanes);
    in_near_keys<S, Element>(tile, width, values.count, [&](std::int64_t key, std::int64_t count) {
        const auto* const row =
            static_cast<const Element*>(values.first) + key * values.stride + strip;
        in_groups<S>(tile.vectors, [&]<int queries>(int first) {
            constexpr int together = S::few_rows;
            const std::int64_t at = first * block_keys + key;
            const auto add = [&]<int vectors>(std::int64_t feature, unsigned rest) {
                // Whole strips are read in a line, once: three queries need not ask for them.
                const bool in_line = vectors == strip_vectors && !is_alone<S>(tile);
                ask_ahead<S, T, Element, queries>(tile, width, first, !in_line, [&](auto ahead) {
                    add_features<S, T, Data, true, queries, vectors>(
                        {row + feature, values.stride, count}, tile.logits + at, nullptr, rest,
                        ahead, sums + first * strip_vectors * lanes + feature);
                });
            };
            // All side by side, where registers hold them: sums wait for each other.
            if constexpr (queries == 1 ||
                          (queries == few_alone && queries * strip_vectors < int{S::registers})) {
                const std::int64_t vectors_of_strip = (width + lanes - 1) / lanes;
                const std::int64_t last = width - (vectors_of_strip - 1) * lanes;
                return with_count<strip_vectors>(vectors_of_strip, [&]<int vectors>() {
                    add.template operator()<vectors>(0, first_lanes(last));
                });
            }
            // Whole strips where registers hold all sums, or rows are read one after another.
            if constexpr (queries < S::few_rows || queries <= few_alone)
                if ((tile.vectors < S::few_rows || is_alone<S>(tile)) &&
                    width == strip_vectors * lanes)
                    return add.template operator()<strip_vectors>(0, all);
            std::int64_t feature = 0;
            for (; feature + together * lanes <= width; feature += together * lanes)
                add.template operator()<together>(feature, all);
            for (; feature + lanes <= width; feature += lanes)
                add.template operator()<1>(feature, all);
            if (feature < width)
                add.template operator()<1>(feature, first_lanes(width - feature));
        });
    });
}

// The same of those values alone whose keys have a logit. They are seldom asked for: one query
// after another does.
template <class S, class T, class Data>
void sum_seen(const Tile<T>& tile, const Rows& values, const T* seen, std::int64_t strip,
              std::int64_t width, T* sums) {
    constexpr int lanes = Lanes<S, T>::count, together = 4;
    const auto* const row = static_cast<const typename Data::Element*>(values.first) + strip;
    for (int query = 0; query < tile.vectors; ++query) {
        const std::int64_t at = query * block_keys;
        const auto add = [&]<int vectors>(std::int64_t feature, unsigned rest) {
            add_features<S, T, Data, false, 1, vectors>(
                {row + feature, values.stride, values.count}, tile.logits + at, seen + at, rest,
                NoRows{}, sums + query * strip_vectors * lanes + feature);
        };
        std::int64_t feature = 0;
        for (; feature + together * lanes <= width; feature += together * lanes)
            add.template operator()<together>(feature, first_lanes(lanes));
        for (; feature < width; feature += lanes) {
            const std::int64_t left = width - feature;
            add.template operator()<1>(feature, first_lanes(left < lanes ? left : lanes));
        }
    }
}

// function(first feature, how many, the sums that there are already or null) of each strip.
template <class S, class T, class Function>
void each_strip(const Tile<T>& tile, Function function) {
    constexpr std::int64_t most = strip_vectors * Lanes<S, T>::count;
    for (std::int64_t strip = 0; strip < tile.value_dim; strip += most) {
        const std::int64_t left = tile.value_dim - strip;
        function(strip, left < most ? left : most,
                 tile.sums == nullptr ? nullptr : tile.sums + strip * tile.vectors);
    }
}

template <class S, class T, class Data>
void add_values_few(const Tile<T>& tile, const Rows& values) {
    each_strip<S>(tile, [&](std::int64_t strip, std::int64_t width, T* sums) {
        sum_strip<S, T, Data>(tile, values, strip, width, sums);
    });
}

// The sums of all features: taker_of(query)(feature, sums of this and the next, the lanes that hold
// any).
template <class S, class T, class Data, bool all_seen, class TakerOf>
void sum_few(const Tile<T>& tile, const Rows& values, const T* seen, TakerOf taker_of) {
    constexpr int lanes = Lanes<S, T>::count;
    constexpr std::int64_t most = strip_vectors * lanes;
    each_strip<S>(tile, [&](std::int64_t strip, std::int64_t width, T* before) {
        alignas(64) T own[std::size_t{ropewalk::most_few * most}];
        T* const sums = before == nullptr ? own : before;
        if (before == nullptr)
            for (int query = 0; query < tile.vectors; ++query)
                for (std::int64_t feature = 0; feature < width; feature += lanes)
                    S::put(own + query * most + feature, S::all(T{0}));
        if constexpr (all_seen)
            sum_strip<S, T, Data>(tile, values, strip, width, sums);
        else
            sum_seen<S, T, Data>(tile, values, seen, strip, width, sums);
        for (int query = 0; query < tile.vectors; ++query) {
            const auto take = taker_of(query);
            for (std::int64_t feature = 0; feature < width; feature += lanes) {
                const std::int64_t some = width - feature;
                take(strip + feature, S::get(sums + query * most + feature),
                     first_lanes(some < lanes ? some : lanes));
            }
        }
    });
}

template <class S, class T, class Data, bool all_seen = false>
void accumulate_few_seen(const Tile<T>& tile, const Rows& values, const T* seen) {
    sum_few<S, T, Data, all_seen>(tile, values, seen, [&](int query) {
        double* const output = tile.output + query * tile.value_dim;
        return [&tile, output, by = tile.rescale[query]](std::int64_t feature, VectorOf<S, T> more,
                                                         unsigned lanes) {
            join_features<S>(more, tile.empty, by, output + feature, lanes);
        };
    });
}

// To accumulate the last block, and to divide, without putting outputs down in between.
template <class S, class T, class Data>
void accumulate_last_few(const Tile<T>& tile, const Rows& values, std::int64_t, T* rows) {
    sum_few<S, T, Data, true>(tile, values, nullptr, [&](int query) {
        const std::int64_t row = query * tile.value_dim;
        const Mean<S, T> mean(S::all(tile.sum[query]));
        return [&tile, rows, row, mean, by = tile.rescale[query]](
                   std::int64_t feature, VectorOf<S, T> more, unsigned lanes) {
            const std::int64_t at = row + feature;
            const auto joined = [&](int lane) {
                return joined_features<S>(eight_of<S>(more, lane), tile.empty, by,
                                          tile.output + at + lane, lanes >> lane & 0xff);
            };
            S::put_some(rows + at, Means<S, T>{mean, mean}.of(joined), lanes);
        };
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
            const unsigned some = first_lanes(left < lanes ? left : lanes);
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
