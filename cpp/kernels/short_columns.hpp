// Softmax of short columns side by side, and of short rows, which are turned into columns: their
// weights, which stay in the first cache, sums, and shares, in steps that wait for nothing but each
// other. Bits are those of long ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/softmax_columns.hpp"
#include "kernels/transpose.hpp"

namespace {

// Of elements sixteen apart, the first of so many that are left, which are two at most: as Sum.
template <class S, class T>
typename Two<S>::F64 sum_of_lane(const typename Sixteen<S, T>::Vector* weights, std::int64_t left) {
    static_assert(ropewalk::short_length <= 2 * softmax_lanes);
    auto sum = weights[0];
    if (left > softmax_lanes)
        sum = Sixteen<S, T>::add(sum, weights[softmax_lanes]);
    if constexpr (sizeof(T) == sizeof(double))
        return sum;
    else
        return widened<S>(sum);
}

// As total_columns: of the lanes from that one on, so far apart.
template <class S, class T, int lane = 0, int apart = 1>
typename Two<S>::F64 total_of_short(const typename Sixteen<S, T>::Vector* weights,
                                    std::int64_t length) {
    if constexpr (apart == softmax_lanes) {
        return sum_of_lane<S, T>(weights + lane, length - lane);
    } else {
        const auto sum = total_of_short<S, T, lane, 2 * apart>(weights, length);
        if (lane + apart >= length)
            return sum;
        return Two<S>::add(sum, total_of_short<S, T, lane + apart, 2 * apart>(weights, length));
    }
}

// Up to at_once(length) columns.
template <class S, class T, class Data>
class ShortColumns {
    using W = Sixteen<S, T>;
    using Vector = typename W::Vector;
    using Sums = typename Two<S>::F64;
    using Element = typename Data::Element;

  public:
    static constexpr std::int64_t held = 2 * ropewalk::short_length; // vectors
    static std::int64_t at_once(std::int64_t length) {
        constexpr std::int64_t most = ropewalk::most_sixteens;
        const std::int64_t sixteens = held / length;
        return (sixteens < most ? sixteens : most) * softmax_lanes;
    }
    // Elements of a column lie `step` apart.
    ShortColumns(const Element* x, std::int64_t step, std::int64_t length, std::int64_t columns)
        : x_(x), step_(step), length_(length), columns_(columns) {}

    void weigh(double scale, ropewalk::Guess& guess) {
        if (!agrees(scale, guess))
            each_sixteen([&](int v) {
                Vector greatest = get(v, 0);
                for (std::int64_t i = 1; i < length_; ++i)
                    greatest = W::max(get(v, i), greatest);
                weigh_sixteen(v, Weights<S, T>(greatest, scale));
            });
    }
    // y may be x.
    void share(Element* y, std::int64_t step) const {
        each_sixteen([&](int v) {
            const Shares<S, T> shares(sums_[v]);
            for (std::int64_t i = 0; i < length_; ++i)
                put_sixteen<S, Data>(y + i * step + v * softmax_lanes, shares.of(of(v)[i]),
                                     lanes(v));
        });
    }

  private:
    template <class Function>
    [[gnu::always_inline]] inline void each_sixteen(Function function) const {
        for (int v = 0; v < sixteens_of(columns_); ++v)
            function(v);
    }
    unsigned lanes(int v) const { return lanes_of(columns_, v * softmax_lanes); }
    Vector get(int v, std::int64_t i) const {
        return get_sixteen<S, T, Data>(x_ + i * step_ + v * softmax_lanes, lanes(v));
    }
    const Vector* of(int v) const { return weights_ + v * length_; }
    Vector* of(int v) { return weights_ + v * length_; }

    // Whether all weights agree with what the greatest element is guessed to be.
    bool agrees(double scale, ropewalk::Guess& guess) {
        if constexpr (sizeof(T) == sizeof(float)) {
            if (guess.wrong >= ropewalk::Guess::most_wrong)
                return false;
            if (!guess.made) {
                const Vector nothing = W::all(-__builtin_inff());
                guess.greatest = S::largest(W::select(lanes(0), get(0, 0), nothing));
            }
            guess.made = with_guess<S>(guess.greatest, scale,
                                       [&](const auto& weight) { return agrees(weight); });
            learn(guess, guess.made);
            return guess.made;
        }
        return false;
    }
    template <class Guessed>
    bool agrees(const Guessed& weight) {
        bool all = true;
        each_sixteen([&](int v) {
            weigh_sixteen(v, weight);
            const Sums missing = Two<S>::all(2 * ropewalk::Guess::least_sum);
            all &= Guessed::agrees(Sixteen<S, double>::select(lanes(v), sums_[v], missing));
        });
        return all;
    }
    template <class OfColumns>
    [[gnu::always_inline]] inline void weigh_sixteen(int v, const OfColumns& weight) {
        constexpr int by_turns = Sum<S, T>::at_once;
        Vector* const weights = of(v);
        std::int64_t i = 0;
        for (; i + by_turns <= length_; i += by_turns) {
            Vector some[std::size_t{by_turns}];
            weights_of<S, T>(weight, [&](int k) { return get(v, i + k); }, some);
            for (int k = 0; k < by_turns; ++k)
                weights[i + k] = some[k];
        }
        for (; i < length_; ++i)
            weights[i] = weight.of(get(v, i));
        sums_[v] = total_of_short<S, T>(weights, length_);
    }

    const Element* x_;
    std::int64_t step_, length_, columns_;
    Vector weights_[std::size_t{held}]; // of sixteens in turn
    Sums sums_[std::size_t{ropewalk::most_sixteens}];
};

template <class S, class T, class Data>
void softmax_short_columns(const void* x, std::int64_t x_step, void* y, std::int64_t y_step,
                           std::int64_t length, std::int64_t count, double scale,
                           ropewalk::Guess& guess) {
    using Element = typename Data::Element;
    const std::int64_t most = ShortColumns<S, T, Data>::at_once(length);
    for (std::int64_t at = 0; at < count; at += most) {
        ShortColumns<S, T, Data> columns(static_cast<const Element*>(x) + at, x_step, length,
                                         count - at < most ? count - at : most);
        columns.weigh(scale, guess);
        columns.share(static_cast<Element*>(y) + at, y_step);
    }
}

template <class S, class T>
void softmax_short_rows(const T* x, std::int64_t x_stride, T* y, std::int64_t y_stride,
                        std::int64_t rows, std::int64_t length, double scale,
                        ropewalk::Guess& guess) {
    using Columns = ShortColumns<S, T, FloatData<S, T>>;
    constexpr int lanes = Lanes<S, T>::count;
    alignas(64) T turned[std::size_t{Columns::held * softmax_lanes}];
    const std::int64_t most = Columns::at_once(length);
    for (std::int64_t first = 0; first < rows; first += most) {
        const std::int64_t count = rows - first < most ? rows - first : most;
        for (std::int64_t row = 0; row < count; row += lanes) {
            const T* from[std::size_t{lanes}];
            // The last row stands for what is missing.
            for (std::int64_t i = row; i < row + lanes; ++i)
                from[i - row] = x + (first + (i < count ? i : count - 1)) * x_stride;
            rows_to_lanes<S, FloatData<S, T>>(from, length, most, turned + row);
        }
        Columns columns(turned, most, length, count);
        columns.weigh(scale, guess);
        columns.share(turned, most);
        for (std::int64_t row = 0; row < count; row += lanes)
            lanes_to_rows<S, T>([&](std::int64_t i) { return S::get(turned + i * most + row); },
                                length, count - row, y_stride, y + (first + row) * y_stride);
    }
}

// totals[column] = sum of e^x, as sum_exponentials_of_columns and total_columns.
template <class S, class Data>
void total_exponentials_of_short_columns(const void* x, std::int64_t step, std::int64_t length,
                                         std::int64_t columns, double* totals) {
    for (int at = 0; at < columns; at += softmax_lanes) {
        const auto* const from = static_cast<const typename Data::Element*>(x) + at;
        typename Two<S>::F64 powers[std::size_t{ropewalk::short_length}];
        for (std::int64_t i = 0; i < length; ++i)
            powers[i] = exponential_of_any<S>(
                get_sixteen<S, double, Data>(from + i * step, lanes_of(columns, at)));
        Two<S>::put(totals + at, total_of_short<S, double>(powers, length));
    }
}

} // namespace
