// Softmax of columns side by side, and the sums that the log-sum-exp wants, as of rows in
// kernels/softmax.hpp. The last sixteen columns may be fewer. Elements lie `step` apart in memory;
// as T, and their weights in the same place, they have no gaps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/softmax.hpp"

namespace {

constexpr int sixteens_of(std::int64_t columns) {
    return static_cast<int>((columns + softmax_lanes - 1) / softmax_lanes);
}

// Of the columns from `at` on, which are sixteen or the last.
inline unsigned lanes_of(std::int64_t columns, int at) {
    return columns - at >= softmax_lanes ? all_lanes : first_lanes(columns - at);
}

// The processor does not see by itself that rows this far apart come next.
template <int write = 0, class Element>
[[gnu::always_inline]] inline void fetch_sixteen(const Element* p, std::int64_t step) {
    constexpr std::int64_t rows = 8, line = ropewalk::line_bytes / sizeof(Element);
    for (std::int64_t at = 0; at < softmax_lanes; at += line)
        __builtin_prefetch(p + rows * step + at, write);
}

// function(element, its first column)
template <class Function>
void each_sixteen(std::int64_t count, int sixteens, Function function) {
    for (std::int64_t i = 0; i < count; ++i)
        for (int at = 0; at < sixteens * softmax_lanes; at += softmax_lanes)
            function(i, at);
}

// Functions of the number of sixteens as a constant.
template <class Function>
void with_sixteens(int sixteens, Function function) {
    static_assert(ropewalk::most_sixteens == 4);
    if (sixteens == 1)
        function.template operator()<1>();
    else if (sixteens == 2)
        function.template operator()<2>();
    else if (sixteens == 3)
        function.template operator()<3>();
    else
        function.template operator()<4>();
}

// Elements as T, and the greatest of each column so far.
template <class S, class T, class Data>
void load_columns(const void* x, std::int64_t step, std::int64_t count, std::int64_t columns,
                  T* elements, T* greatest) {
    using W = Sixteen<S, T>;
    with_sixteens(sixteens_of(columns), [&]<int sixteens>() {
        const unsigned last = lanes_of(columns, (sixteens - 1) * softmax_lanes);
        typename W::Vector largest[std::size_t{sixteens}];
        for (int v = 0; v < sixteens; ++v)
            largest[v] = W::get(greatest + v * softmax_lanes);
        const auto* from = static_cast<const typename Data::Element*>(x);
        T* to = elements;
        for (std::int64_t i = 0; i < count; ++i, from += step)
            for (int v = 0; v < sixteens; ++v, to += softmax_lanes) {
                const auto* const some = from + v * softmax_lanes;
                fetch_sixteen(some, step);
                const auto own = get_sixteen<S, T, Data>(some, v + 1 < sixteens ? all_lanes : last);
                W::put(to, own);
                largest[v] = W::max(own, largest[v]);
            }
        for (int v = 0; v < sixteens; ++v)
            W::put(greatest + v * softmax_lanes, largest[v]);
    });
}

// Weights of elements i, i + 16, .. of sixteen columns, as many as there are and are added up at
// once; they lie `apart` apart.
template <class S, class T, class OfColumns, class Load>
[[gnu::always_inline]] inline void weigh_lane(const OfColumns& weight, Load load,
                                              std::int64_t there, T* own, std::int64_t apart,
                                              double* sums) {
    using W = Sixteen<S, T>;
    constexpr int at_once = Sum<S, T>::at_once;
    typename W::Vector weights[std::size_t{at_once}];
    if (there >= at_once)
        weights_of<S, T>(weight, load, weights);
    else
        for (int k = 0; k < at_once; ++k)
            weights[k] = k < there ? weight.of(load(k)) : W::all(T{0});
    for (int k = 0; k < at_once && k < there; ++k)
        W::put(own + k * apart, weights[k]);
    Sum<S, T> sum(sums);
    sum.add(weights);
    sum.put(sums);
}

// function(element, how many are added up with it at most) for one of each lane, from `first` on.
template <class Function>
[[gnu::always_inline]] inline void each_lane(std::int64_t first, std::int64_t count,
                                             Function function) {
    for (std::int64_t i = first; i < first + softmax_lanes && i < count; ++i)
        function(i, (count - i + softmax_lanes - 1) / softmax_lanes);
}

// sums[lane of the element][column]
template <class S, class T>
void weigh_columns(T* elements, std::int64_t count, int sixteens, const T* greatest, double scale,
                   double* sums) {
    using W = Sixteen<S, T>;
    constexpr std::int64_t group = Sum<S, T>::at_once * softmax_lanes;
    const std::int64_t width = sixteens * softmax_lanes, apart = softmax_lanes * width;
    Weights<S, T> weights[ropewalk::most_sixteens];
    for (int v = 0; v < sixteens; ++v)
        weights[v] = Weights<S, T>(W::get(greatest + v * softmax_lanes), scale);
    for (std::int64_t first = 0; first < count; first += group)
        for (int v = 0; v < sixteens; ++v) {
            const Weights<S, T> weight = weights[v];
            each_lane(first, count, [&](std::int64_t i, std::int64_t there) {
                T* const own = elements + i * width + v * softmax_lanes;
                weigh_lane<S>(
                    weight, [&](int k) { return W::get(own + k * apart); }, there, own, apart,
                    sums + i % softmax_lanes * width + v * softmax_lanes);
            });
        }
}

// The same where it is guessed that all greatest elements are near some.
template <class S, class Data>
void weigh_columns_by_guess(const void* x, std::int64_t step, std::int64_t count,
                            std::int64_t columns, float some, double scale, float* weights,
                            double* sums) {
    const std::int64_t width = sixteens_of(columns) * softmax_lanes;
    const auto weigh = [&](const auto& weight) {
        const auto weigh_all = [&](std::int64_t i, std::int64_t there) {
            for (int at = 0; at < width; at += softmax_lanes) {
                const unsigned lanes = lanes_of(columns, at);
                const auto* const from =
                    static_cast<const typename Data::Element*>(x) + i * step + at;
                weigh_lane<S>(
                    weight,
                    [&](int k) {
                        const auto* const own = from + k * softmax_lanes * step;
                        fetch_sixteen(own, step);
                        return get_sixteen<S, float, Data>(own, lanes);
                    },
                    there, weights + i * width + at, softmax_lanes * width,
                    sums + i % softmax_lanes * width + at);
            }
        };
        for (std::int64_t first = 0; first < count; first += Sum<S, float>::at_once * softmax_lanes)
            each_lane(first, count, weigh_all);
    };
    with_guess<S>(some, scale, weigh);
}

// As sum_exponentials, of columns.
template <class S, class Data>
void sum_exponentials_of_columns(const void* x, std::int64_t step, std::int64_t count,
                                 std::int64_t columns, double* sums) {
    constexpr int at_once = 4; // of a lane, while its sum is in registers
    const std::int64_t width = sixteens_of(columns) * softmax_lanes;
    const auto add_lane = [&](std::int64_t i, std::int64_t there) {
        for (int at = 0; at < width; at += softmax_lanes) {
            const auto* from = static_cast<const typename Data::Element*>(x) + i * step + at;
            double* const of_lane = sums + i % softmax_lanes * width + at;
            auto sum = Two<S>::get(of_lane);
            for (int k = 0; k < at_once && k < there; ++k, from += softmax_lanes * step) {
                fetch_sixteen(from, step);
                const auto own = get_sixteen<S, double, Data>(from, lanes_of(columns, at));
                sum = Two<S>::add(sum, exponential_of_any<S>(own));
            }
            Two<S>::put(of_lane, sum);
        }
    };
    for (std::int64_t first = 0; first < count; first += at_once * softmax_lanes)
        each_lane(first, count, add_lane);
}

// As total_of, column by column: the first sums become the totals. Lanes behind these are 0.
template <class S>
void total_columns(double* sums, int sixteens, int lanes) {
    const std::int64_t width = sixteens * softmax_lanes;
    for (int step = lanes / 2; step > 0; step /= 2)
        each_sixteen(step, sixteens, [&](std::int64_t lane, int at) {
            double* const sum = sums + lane * width + at;
            Two<S>::put(sum, Two<S>::add(Two<S>::get(sum), Two<S>::get(sum + step * width)));
        });
}

template <class S, class T, class Data>
void share_columns(const T* weights, std::int64_t count, std::int64_t columns, const double* totals,
                   void* y, std::int64_t step) {
    using W = Sixteen<S, T>;
    with_sixteens(sixteens_of(columns), [&]<int sixteens>() {
        const unsigned last = lanes_of(columns, (sixteens - 1) * softmax_lanes);
        Shares<S, T> shares[std::size_t{sixteens}];
        for (int v = 0; v < sixteens; ++v)
            shares[v] = Shares<S, T>(Two<S>::get(totals + v * softmax_lanes));
        auto* to = static_cast<typename Data::Element*>(y);
        const T* from = weights;
        for (std::int64_t i = 0; i < count; ++i, to += step)
            for (int v = 0; v < sixteens; ++v, from += softmax_lanes) {
                auto* const some = to + v * softmax_lanes;
                fetch_sixteen<1>(some, step);
                put_sixteen<S, Data>(some, shares[v].of(W::get(from)),
                                     v + 1 < sixteens ? all_lanes : last);
            }
    });
}

} // namespace
