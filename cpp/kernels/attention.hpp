// Attention of a tile of queries to blocks of keys.
//
// Lanes are queries: keys and values are read where they are, one element for all lanes, and a
// query's maximum, sums and output never cross lanes. So its bits depend on its own keys alone, in
// blocks that lie at multiples of 128, and on no other query. Inside a block all is T; blocks are
// joined in float64, so that errors do not grow with the number of keys.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/data.hpp"
#include "kernels/exponential.hpp"
#include "kernels/tile.hpp"
#include "kernels/two.hpp"

namespace {

using ropewalk::Ahead;
using ropewalk::most_vectors;
using ropewalk::Rows;
using ropewalk::strip_vectors;
using ropewalk::Tile;

constexpr double infinity = __builtin_inf();

// function<count>(), of a number from 1 to `most` as a constant.
template <int most, class Function>
void with_count(std::int64_t count, Function function) {
    if constexpr (most > 1)
        if (count < most)
            return with_count<most - 1>(count, function);
    function.template operator()<most>();
}
template <class Function>
void with_vectors(int vectors, Function function) {
    with_count<static_cast<int>(most_vectors)>(vectors, function);
}

// Rows of a register tile of so many vectors: twice as many where the sums of one vector would be
// too few not to wait for each other.
template <class S, int vectors>
constexpr int rows_with = vectors == 1 && S::tile_rows < 8 ? 2 * S::tile_rows : S::tile_rows;

// function<rows>(first) of so many rows at a time, then of half as many of those that are left.
template <int rows, class Function>
void each_rows(std::int64_t first, std::int64_t end, Function function) {
    for (; first + rows <= end; first += rows)
        function.template operator()<rows>(first);
    if constexpr (rows > 1)
        each_rows<rows / 2>(first, end, function);
}

// The sums of a register tile: `rows` times `vectors` vectors.
template <class S, class T, int rows, int vectors>
struct Sums {
    VectorOf<S, T> at[std::size_t{rows}][std::size_t{vectors}];
    Sums() {
        for (auto& row : at)
            for (auto& sum : row)
                sum = S::all(T{0});
    }
};

// What is done between the steps of a product: where all is near already, nothing.
struct Nothing {
    static constexpr int steps = 1;
    void operator()(std::int64_t, int) const {}
};

// Asks for the next lines of `rows` rows of keys and of values within so many steps of a product,
// one after the other: all at once would stop the processor.
template <class T, int rows>
struct FetchRows {
    static constexpr int steps = 64 / sizeof(T); // elements of a line
    const T *keys, *values;
    std::int64_t keys_apart, values_apart;

    void operator()(std::int64_t element, int step) const {
#pragma GCC unroll 4
        for (int i = 2 * rows * step / steps; i < 2 * rows * (step + 1) / steps; ++i)
            if (i < rows)
                __builtin_prefetch(keys + i * keys_apart + element, 0, 2);
            else
                __builtin_prefetch(values + (i - rows) * values_apart + element, 0, 2);
    }
};

// sums.at[row][v] += x[row] y[v] over `count` steps, for the vectors from `first` on: `rows`
// elements of x lie `x_apart` apart, and steps `x_step`; steps of y, each of so many vectors,
// `y_step`.
template <class S, class T, int rows, int vectors, int first, class Meanwhile>
[[gnu::always_inline]] inline void multiply(const T* x, std::int64_t x_apart, std::int64_t x_step,
                                            const T* y, std::int64_t y_step, std::int64_t count,
                                            Sums<S, T, rows, vectors>& sums, Meanwhile& meanwhile) {
    constexpr int steps = Meanwhile::steps;
    constexpr int lanes = Lanes<S, T>::count;
    const auto step = [&] {
        if constexpr (S::in_halves) {
            S::template add_products<first>(x, x_apart, y, sums.at);
        } else {
            VectorOf<S, T> of_y[std::size_t{vectors}];
#pragma GCC unroll 4
            for (int v = first; v < vectors; ++v)
                of_y[v] = S::get(y + v * lanes);
#pragma GCC unroll 8
            for (int row = 0; row < rows; ++row) {
                const auto of_x = S::all(x[row * x_apart]);
#pragma GCC unroll 4
                for (int v = first; v < vectors; ++v)
                    sums.at[row][v] = S::fma(of_x, of_y[v], sums.at[row][v]);
            }
        }
        x += x_step;
        y += y_step;
    };
    std::int64_t i = 0;
    for (; i + steps <= count; i += steps)
#pragma GCC unroll 16
        for (int n = 0; n < steps; ++n) {
            meanwhile(i, n);
            step();
        }
    if constexpr (steps > 1)
        for (; i < count; ++i)
            step();
}

// The largest and the smallest logit of each query in a block; no smallest one is above 0.
template <class S, class T>
struct Extremes {
    VectorOf<S, T> largest = S::all(static_cast<T>(-infinity)), smallest = S::all(T{0});

    void take(VectorOf<S, T> logit) { join({logit, logit}); }
    void join(const Extremes& more) {
        largest = S::max(largest, more.largest);
        smallest = S::min(more.smallest, smallest); // which a NaN does not change
    }
    void put(const Tile<T>& tile, std::int64_t at) const {
        S::put(tile.largest + at, largest);
        S::put(tile.smallest + at, smallest);
    }
};

// Those of the logits as they are now.
template <class S, class T>
void find_extremes(const Tile<T>& tile) {
    constexpr int lanes = Lanes<S, T>::count, turns = 4; // which need not wait for each other
    const int row = tile.vectors * lanes;
    for (int at = 0; at < row; at += lanes) {
        const std::int64_t keys = tile.keys[at / lanes];
        Extremes<S, T> extremes[turns];
        std::int64_t key = 0;
        for (; key + turns <= keys; key += turns)
#pragma GCC unroll 4
            for (int i = 0; i < turns; ++i)
                extremes[i].take(S::get(tile.logits + (key + i) * row + at));
        for (; key < keys; ++key)
            extremes[0].take(S::get(tile.logits + key * row + at));
        extremes[0].join(extremes[1]);
        extremes[2].join(extremes[3]);
        extremes[0].join(extremes[2]);
        extremes[0].put(tile, at);
    }
}

// Whether extremes are found once all keys are scored: where products leave no registers for those
// of three vectors, to read and write them for every register tile takes longer.
template <class S, int vectors>
constexpr bool extremes_last = S::in_halves && vectors == most_vectors;

template <class S, class T, int rows, int vectors, int first, class Fetch = Nothing>
void score_keys(const Tile<T>& tile, const Rows& keys, std::int64_t key, T scale,
                const Fetch& fetch = {}) {
    constexpr int lanes = Lanes<S, T>::count;
    T* const logits = tile.logits + key * vectors * lanes;
    Sums<S, T, rows, vectors> sums;
    multiply<S, T, rows, vectors, first>(static_cast<const T*>(keys.first) + key * keys.stride,
                                         keys.stride, 1, tile.queries, vectors * lanes, tile.dim,
                                         sums, fetch);
#pragma GCC unroll 4
    for (int v = first; v < vectors; ++v) {
        Extremes<S, T> extremes;
        if constexpr (!extremes_last<S, vectors>)
            extremes = {S::get(tile.largest + v * lanes), S::get(tile.smallest + v * lanes)};
#pragma GCC unroll 8
        for (int row = 0; row < rows; ++row) {
            const auto logit = S::mul(S::all(scale), sums.at[row][v]);
            S::put(logits + (row * vectors + v) * lanes, logit);
            if constexpr (!extremes_last<S, vectors>)
                extremes.take(logit);
        }
        if constexpr (!extremes_last<S, vectors>)
            extremes.put(tile, v * lanes);
    }
}

// The keys from `key` on that each vector from `first` on meets; then those of the next vectors.
template <class S, class T, int vectors, int first = 0>
void score_from(const Tile<T>& tile, const Rows& keys, std::int64_t key, T scale,
                const Rows* values) {
    // Up to a whole register tile, for half of one is slower than some keys that are not met.
    constexpr int most_rows = rows_with<S, vectors - first>;
    const std::int64_t whole = (tile.keys[first] + most_rows - 1) / most_rows * most_rows,
                       end = whole < keys.count ? whole : keys.count;
    each_rows<most_rows>(key, end, [&]<int rows>(std::int64_t at) {
        if (values == nullptr)
            return score_keys<S, T, rows, vectors, first>(tile, keys, at, scale);
        const auto row = [at](const Rows& of, std::int64_t ahead) {
            return static_cast<const T*>(of.first) + (at + ahead) * of.stride;
        };
        score_keys<S, T, rows, vectors, first>(
            tile, keys, at, scale,
            FetchRows<T, rows>{row(keys, 2 * rows), row(*values, 0), keys.stride, values->stride});
    });
    if constexpr (first + 1 < vectors)
        score_from<S, T, vectors, first + 1>(tile, keys, end, scale, values);
}

template <class S, class T>
void score(const Tile<T>& tile, const Rows& keys, T scale, const Rows* values) {
    with_vectors(tile.vectors, [&]<int vectors>() {
        for (int v = 0; v < vectors; ++v)
            Extremes<S, T>().put(tile, v * Lanes<S, T>::count);
        score_from<S, T, vectors>(tile, keys, 0, scale, values);
        if constexpr (extremes_last<S, vectors>)
            find_extremes<S, T>(tile);
    });
}

// In float64: rescale = e^(before - maximum), by which the sum is multiplied.
template <class S>
void rescale(typename S::F64 before, typename S::F64 maximum, double* sum, double* by) {
    const auto scale = exponential<S, double>(S::sub(before, maximum));
    S::put(by, scale);
    S::put(sum, S::mul(S::get(sum), scale));
}

template <class S>
void rescale(typename S::F32 before, typename S::F32 maximum, double* sum, double* by) {
    using Wide = typename Two<S>::F64;
    rescale<Two<S>>(Wide{S::widen_low(before), S::widen_high(before)},
                    Wide{S::widen_low(maximum), S::widen_high(maximum)}, sum, by);
}

// Eight lanes from `lane` on, 0 or 8.
template <class S>
typename S::F64 eight_of(typename S::F32 v, int lane) {
    return lane == 0 ? S::widen_low(v) : S::widen_high(v);
}
template <class S>
typename S::F64 eight_of(typename S::F64 v, int) {
    return v;
}

// What is taken from logits: 0 for a query that has seen nothing yet, for -inf minus -inf would be
// NaN.
template <class S, class T>
VectorOf<S, T> finite_maximum(VectorOf<S, T> maximum) {
    return S::where_equal(maximum, S::all(static_cast<T>(-infinity)), S::all(T{0}), maximum);
}

template <class S, class T>
bool raise(const Tile<T>& tile) {
    using Vector = VectorOf<S, T>;
    constexpr int lanes = Lanes<S, T>::count;
    Vector smallest = S::all(T{0});
    for (int at = 0; at < tile.vectors * lanes; at += lanes) {
        const Vector before = S::get(tile.maximum + at);
        const Vector maximum = S::max(before, S::get(tile.largest + at));
        S::put(tile.maximum + at, maximum);
        rescale<S>(before, finite_maximum<S, T>(maximum), tile.sum + at, tile.rescale + at);
        smallest = S::min(S::get(tile.smallest + at), smallest);
    }
    return !S::all_less(S::all(static_cast<T>(-infinity)), smallest);
}

// What four sums of a vector's weights come to, added to those of all so far.
template <class S, class T>
void add_weights(const Tile<T>& tile, int at, const VectorOf<S, T> (&sums)[4]) {
    const auto more = S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3]));
    for (int lane = 0; lane < Lanes<S, T>::count; lane += 8) {
        double* const sum = tile.sum + at + lane;
        S::put(sum, S::add(S::get(sum), eight_of<S>(more, lane)));
    }
}

// Logits of one vector of queries become weights. Where `all_count`, none is too small to count.
template <class S, class T, bool all_count>
void weigh_vector(const Tile<T>& tile, int at, VectorOf<S, T> maximum) {
    using Vector = VectorOf<S, T>;
    constexpr int lanes = Lanes<S, T>::count;
    const int row = tile.vectors * lanes;
    T* const logits = tile.logits + at;
    const std::int64_t keys = tile.keys[at / lanes];
    Vector sums[4];
    for (Vector& sum : sums)
        sum = S::all(T{0});
    const auto put = [&](std::int64_t key, Vector weight, Vector& sum) {
        S::put(logits + key * row, weight);
        sum = S::add(sum, weight);
    };
    const auto weigh_one = [&](std::int64_t key, Vector& sum) {
        const Vector x = S::sub(S::get(logits + key * row), maximum);
        put(key, exponential<S, T, all_count>(x), sum);
    };
    const VectorOf<Two<S>, T> least{maximum, maximum};
    const auto weigh_two = [&](std::int64_t key, Vector& sum, Vector& other) {
        const VectorOf<Two<S>, T> two{S::get(logits + key * row), S::get(logits + (key + 1) * row)};
        const auto weight = exponential<Two<S>, T>(Two<S>::sub(two, least));
        put(key, weight.first, sum);
        put(key + 1, weight.second, other);
    };
    std::int64_t key = 0;
    for (; key + 4 <= keys; key += 4)
#pragma GCC unroll 2
        for (int i = 0; i < 4; i += 2)
            if constexpr (S::in_halves) { // whose halves take turns
                weigh_one(key + i, sums[i]);
                weigh_one(key + i + 1, sums[i + 1]);
            } else {
                weigh_two(key + i, sums[i], sums[i + 1]);
            }
    for (int i = 0; key < keys; ++key, ++i)
        weigh_one(key, sums[i]);
    add_weights<S, T>(tile, at, sums);
}

template <class S, class T>
void weigh(const Tile<T>& tile) {
    constexpr int lanes = Lanes<S, T>::count;
    for (int at = 0; at < tile.vectors * lanes; at += lanes) {
        const auto maximum = finite_maximum<S, T>(S::get(tile.maximum + at));
        if constexpr (S::in_halves) { // where zeros take steps of their own
            const auto smallest = S::sub(S::get(tile.smallest + at), maximum);
            if (S::all_less(S::all(Lanes<S, T>::smallest), smallest)) {
                weigh_vector<S, T, true>(tile, at, maximum);
                continue;
            }
        }
        weigh_vector<S, T, false>(tile, at, maximum);
    }
}

// The output of eight queries, from lane `at` of the tile on, with what one more block adds.
template <class S, class T>
typename S::F64 joined_output(const Tile<T>& tile, std::int64_t feature, int at,
                              typename S::F64 more) {
    if (tile.empty)
        return more;
    const double* const output = tile.output + feature * tile.vectors * Lanes<S, T>::count + at;
    return S::fma(S::get(output), S::get(tile.rescale + at), more);
}

template <class S, class T>
void join_outputs(const Tile<T>& tile, std::int64_t feature, int v, VectorOf<S, T> more) {
    constexpr int lanes = Lanes<S, T>::count;
    for (int lane = 0; lane < lanes; lane += 8) {
        const int at = v * lanes + lane;
        S::put(tile.output + feature * tile.vectors * lanes + at,
               joined_output<S, T>(tile, feature, at, eight_of<S>(more, lane)));
    }
}

// Sums over the keys from `key` on that each vector from `first` on meets.
template <class S, class T, int rows, int vectors, int first = 0, class Meanwhile>
[[gnu::always_inline]] inline void
accumulate_keys(const Tile<T>& tile, const T* values, std::int64_t stride, std::int64_t key,
                Sums<S, T, rows, vectors>& sums, Meanwhile& meanwhile) {
    constexpr int row = vectors * Lanes<S, T>::count;
    const std::int64_t end = tile.keys[first];
    multiply<S, T, rows, vectors, first>(values + key * stride, 1, stride, tile.logits + key * row,
                                         row, end - key, sums, meanwhile);
    if constexpr (first + 1 < vectors)
        accumulate_keys<S, T, rows, vectors, first + 1>(tile, values, stride, end, sums, meanwhile);
}

// The products of weights and values, summed over the block for each feature: taker.take(feature,
// sums) of this feature and those behind it.
template <class S, class T, int rows, int vectors, class Taker>
void sum_rows(const Tile<T>& tile, const Rows& values, std::int64_t feature, Taker& taker) {
    Sums<S, T, rows, vectors> sums;
    accumulate_keys<S, T, rows, vectors>(tile, static_cast<const T*>(values.first) + feature,
                                         values.stride, 0, sums, taker);
    taker.take(feature, sums);
}

template <class S, class T, int vectors, class Taker>
void sum_features(const Tile<T>& tile, const Rows& values, std::int64_t begin, std::int64_t end,
                  Taker& taker) {
    each_rows<rows_with<S, vectors>>(begin, end, [&]<int rows>(std::int64_t feature) {
        sum_rows<S, T, rows, vectors>(tile, values, feature, taker);
    });
}

// Puts sums[row][vector] where others read them.
template <class S, class T, int rows, int vectors>
[[gnu::always_inline]] inline void put_sums(const Sums<S, T, rows, vectors>& sums, T* to) {
#pragma GCC unroll 8
    for (const auto& row : sums.at)
#pragma GCC unroll 4
        for (const auto& sum : row) {
            S::put(to, sum);
            to += Lanes<S, T>::count;
        }
}

// Joins what was summed of some features to their outputs while the next are summed, which leaves
// time for it: multiplying alone keeps other units of a processor idle.
template <class S, class T, int vectors>
class Joins {
  public:
    static constexpr int steps = 8; // in which a feature is joined, eight queries a step

    explicit Joins(const Tile<T>& tile) : tile_(tile) {}
    void operator()(std::int64_t, int step) {
        if (step < pieces && feature_ < end_) {
            join(step);
            if (step == pieces - 1)
                next();
        }
    }
    template <int rows>
    void take(std::int64_t feature, const Sums<S, T, rows, vectors>& sums) {
        join_all();
        put_sums(sums, waiting_);
        sums_ = waiting_;
        feature_ = feature;
        end_ = feature + rows;
    }
    void join_all() {
        while (feature_ < end_)
            join_next();
    }

  private:
    static constexpr int row = vectors * Lanes<S, T>::count, pieces = row / 8;
    static_assert(pieces <= steps);

    void join(int piece) {
        const int at = 8 * piece;
        S::put(tile_.output + feature_ * row + at,
               joined_output<S, T>(tile_, feature_, at, wide(sums_ + at)));
    }
    void next() {
        sums_ += row;
        ++feature_;
    }
    void join_next() {
#pragma GCC unroll 8
        for (int piece = 0; piece < pieces; ++piece)
            join(piece);
        next();
    }
    static typename S::F64 wide(const float* p) { return S::get_wide(p); }
    static typename S::F64 wide(const double* p) { return S::get(p); }

    const Tile<T>& tile_;
    std::int64_t feature_ = 0, end_ = 0;
    const T* sums_ = nullptr;
    alignas(64) T waiting_[std::size_t{rows_with<S, vectors> * row}];
};

template <class S, class T>
void accumulate(const Tile<T>& tile, const Rows& values) {
    with_vectors(tile.vectors, [&]<int vectors>() {
        Joins<S, T, vectors> joins(tile);
        sum_features<S, T, vectors>(tile, values, 0, tile.value_dim, joins);
        joins.join_all();
    });
}

// Zero times NaN or infinity is NaN, times anything else 0.
template <class S, class T, class Data>
bool all_finite(const Rows& rows, std::int64_t width) {
    const auto zero = S::all(T{0});
    VectorOf<S, T> sums[4] = {zero, zero, zero, zero}; // take turns, and need not wait
    const auto* row = static_cast<const typename Data::Element*>(rows.first);
    for (std::int64_t i = 0; i < rows.count; ++i, row += rows.stride) {
        std::int64_t at = 0;
        for (; at + 4 * Data::lanes <= width; at += 4 * Data::lanes)
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k)
                sums[k] = S::fma(Data::get(row + at + k * Data::lanes), zero, sums[k]);
        for (; at + Data::lanes <= width; at += Data::lanes)
            sums[0] = S::fma(Data::get(row + at), zero, sums[0]);
        if (at < width)
            sums[1] = S::fma(Data::get_some(row + at, first_lanes(width - at)), zero, sums[1]);
    }
    return S::sum(S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3]))) == 0;
}

template <class S, class T>
void accumulate_seen(const Tile<T>& tile, const Rows& values, const T* logits) {
    using Vector = VectorOf<S, T>;
    constexpr int lanes = Lanes<S, T>::count;
    const int row = tile.vectors * lanes;
    const auto* const first = static_cast<const T*>(values.first);
    const Vector masked = S::all(static_cast<T>(-infinity));
    for (std::int64_t feature = 0; feature < tile.value_dim; ++feature)
        for (int v = 0; v < tile.vectors; ++v) {
            Vector sum = S::all(T{0});
            for (std::int64_t key = 0; key < tile.keys[v]; ++key) {
                const std::int64_t at = key * row + v * lanes;
                const Vector value = S::all(first[key * values.stride + feature]);
                const Vector more = S::fma(value, S::get(tile.logits + at), sum);
                sum = S::where_equal(S::get(logits + at), masked, sum, more);
            }
            join_outputs<S, T>(tile, feature, v, sum);
        }
}

} // namespace
