// Softmax of rows, and the sums that the log-sum-exp wants.
//
// Element i of a row is summed in lane i % 16, and lanes are joined in a fixed order, in columns as
// in rows. Sums are of float64, and weights of float32 are added to them four by four.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/table.hpp"
#include "kernels/tile.hpp"
#include "kernels/weights.hpp"

namespace {

using ropewalk::Ahead;
using ropewalk::Lines;

// y = x, or value where a byte is 0
template <class S, class T>
void hide_elements(const T* x, const std::uint8_t* counts, std::int64_t count, T value, T* y) {
    constexpr int lanes = Lanes<S, T>::count;
    const auto hidden = S::all(value);
    std::int64_t i = 0;
    for (; i + softmax_lanes <= count; i += lanes) // sixteen bytes are read
        S::put(y + i, S::where_zero(S::get(counts + i), hidden, S::get(x + i)));
    for (; i < count; ++i)
        y[i] = counts[i] == 0 ? value : x[i];
}

template <class S, class T>
T largest_element(const T* x, std::int64_t count) {
    constexpr int lanes = Lanes<S, T>::count;
    const auto nothing = S::all(static_cast<T>(-__builtin_inf()));
    VectorOf<S, T> largest[4] = {nothing, nothing, nothing, nothing};
    std::int64_t i = 0;
    for (; i + 4 * lanes <= count; i += 4 * lanes)
        for (int v = 0; v < 4; ++v)
            largest[v] = S::max(S::get(x + i + v * lanes), largest[v]);
    for (; i + lanes <= count; i += lanes)
        largest[0] = S::max(S::get(x + i), largest[0]);
    if (i < count) {
        const unsigned some = first_lanes(count - i);
        largest[1] = S::max(S::select(some, S::get_some(x + i, some), nothing), largest[1]);
    }
    return S::largest(S::max(S::max(largest[0], largest[1]), S::max(largest[2], largest[3])));
}

// What else is done while weights are made. Lines are written: as they are, where their total is 1,
// or divided by it. The place of the weights is asked for, which is read before it is written.
// What comes next is asked for: from memory, far ahead, into the second cache, or from nearer.
struct Copied {
    static constexpr bool asks = false, far = false;
    template <class S>
    struct Of {
        explicit Of(const Lines&) {}
        template <class Next>
        void divide(const Next&) const {}
    };
};
struct Asked : Copied {
    static constexpr bool asks = true;
};
struct Divided {
    static constexpr bool asks = false, far = false;
    template <class S>
    struct Of : Shares<S, float> {
        explicit Of(const Lines& lines) : Shares<S, float>(lines.total) {}
    };
};
template <class Meanwhile>
struct FromMemory : Meanwhile {
    static constexpr bool far = true;
};
constexpr std::int64_t far_bytes = 16384;

// The next of the lines, so many of them.
template <class S, int count, class OfLine>
[[gnu::always_inline]] inline void stream(Lines& lines, const OfLine& shares) {
    constexpr int floats = ropewalk::line_bytes / sizeof(float);
    typename S::F32 next[std::size_t{count}];
    for (int i = 0; i < count; ++i)
        next[i] = S::get(reinterpret_cast<const float*>(lines.from) + i * floats);
    shares.divide(next);
    for (int i = 0; i < count; ++i)
        S::stream(reinterpret_cast<float*>(lines.to) + i * floats, next[i]);
    lines.from += count * ropewalk::line_bytes;
    lines.to += count * ropewalk::line_bytes;
    lines.count -= count;
}

template <class S, class Meanwhile>
void stream_all(Lines& lines) {
    const typename Meanwhile::template Of<S> shares(lines);
    while (lines.count >= 4)
        stream<S, 4>(lines, shares);
    while (lines.count > 0)
        stream<S, 1>(lines, shares);
}

template <class S>
void stream_rest(Lines& lines) {
    if (lines.total == 1)
        stream_all<S, Copied>(lines);
    else
        stream_all<S, Divided>(lines);
}

// A load waits for what was stored a moment ago where the last twelve bits of the addresses are the
// same, and stores that pass the cache by take long. So lines that would be written a little ahead
// of x, page by page, wait until x is so many bytes further on, and follow it then.
inline std::int64_t bytes_before_lines(const void* x, const Lines& lines) {
    constexpr std::intptr_t page = 4096, a_moment = 1024;
    const std::intptr_t ahead =
        (reinterpret_cast<std::intptr_t>(lines.to) - reinterpret_cast<std::intptr_t>(x)) &
        (page - 1);
    return ahead < a_moment ? ahead : -1;
}

// Weights of a row, which are added to sums[16]. Meanwhile what lies so many elements ahead, or
// farther, is fetched, and lines are written.
template <class S, class Meanwhile, class T, class OfRow>
[[gnu::always_inline]] inline void weigh_row(const T* x, std::int64_t count, const OfRow& weight,
                                             std::int64_t ahead, T* weights, double* sums,
                                             Lines& meanwhile) {
    using W = Sixteen<S, T>;
    using Vector = typename W::Vector;
    constexpr int at_once = Sum<S, T>::at_once, group = at_once * softmax_lanes;
    constexpr int as_many = group * sizeof(T) / ropewalk::line_bytes;
    Sum<S, T> sum(sums);
    Lines lines = meanwhile; // in registers
    const typename Meanwhile::template Of<S> shares(lines);
    const std::int64_t waiting = bytes_before_lines(x, lines);
    std::int64_t i = 0;
    for (; i + group <= count; i += group) {
        Vector own[std::size_t{at_once}];
        weights_of<S, T>(weight, [&](int k) { return W::get(x + i + k * softmax_lanes); }, own);
        for (int k = 0; k < at_once; ++k) {
            const std::int64_t at = i + k * softmax_lanes;
            if constexpr (Meanwhile::far)
                __builtin_prefetch(x + at + far_bytes / sizeof(T), 0, 2);
            else
                __builtin_prefetch(x + at + ahead);
            if constexpr (Meanwhile::asks)
                __builtin_prefetch(weights + at + 1024 / sizeof(T), 1);
            W::put(weights + at, own[k]);
        }
        sum.add(own);
        if constexpr (S::streams)
            if (lines.count >= as_many && i * std::int64_t{sizeof(T)} > waiting)
                stream<S, as_many>(lines, shares);
    }
    meanwhile = lines;
    if (i < count) {
        Vector own[std::size_t{at_once}];
        for (int k = 0; k < at_once; ++k, i += softmax_lanes) {
            own[k] = W::all(T{0});
            if (i + softmax_lanes <= count) {
                own[k] = weight.of(W::get(x + i));
                W::put(weights + i, own[k]);
            } else if (i < count) {
                const unsigned some = first_lanes(count - i);
                const Vector each = weight.of(W::get_some(x + i, some));
                W::put_some(weights + i, each, some);
                own[k] = W::select(some, each, own[k]);
            }
        }
        sum.add(own);
    }
    sum.put(sums);
}

template <class S, class Meanwhile, class T>
void weigh_elements(const T* x, std::int64_t count, T greatest, double scale, T* weights,
                    double* sums, Lines& meanwhile) {
    // The greatest element of the next row, or of one of the next short ones, is looked for next.
    constexpr std::int64_t short_rows = 4096;
    const std::int64_t ahead = count < short_rows ? short_rows : count;
    const Weights<S, T> weight(Sixteen<S, T>::all(greatest), scale);
    weigh_row<S, Meanwhile>(x, count, weight, ahead, weights, sums, meanwhile);
}

template <class S, class T>
void weigh_part(const T* x, std::int64_t count, T greatest, double scale, T* weights,
                double* sums) {
    Lines none{};
    weigh_elements<S, Copied>(x, count, greatest, scale, weights, sums, none);
}

template <class S>
void weigh_part_by_guess(const float* x, std::int64_t count, float some, double scale,
                         float* weights, double* sums) {
    Lines none{};
    with_guess<S>(some, scale, [&](const auto& weight) {
        weigh_row<S, Copied>(x, count, weight, 2048, weights, sums, none);
    });
}

template <class S>
double total_of(const double* sums) {
    return S::sum(S::add(S::get(sums), S::get(sums + 8)));
}

// e^x of sixteen elements, and e^709 of what is more, e^-708 of what is less, or NaN.
template <class S>
[[gnu::always_inline]] inline typename Two<S>::F64 exponential_of_any(typename Two<S>::F64 x) {
    const auto some = Two<S>::max(Two<S>::all(-708.0), Two<S>::min(Two<S>::all(709.0), x));
    return {short_exponential<S>(some.first), short_exponential<S>(some.second)};
}

// sums[16] += e^x
template <class S, class Data>
void sum_exponentials(const void* x, std::int64_t count, double* sums) {
    const auto* from = static_cast<const typename Data::Element*>(x);
    auto sum = Two<S>::get(sums);
    for (; count >= softmax_lanes; count -= softmax_lanes, from += softmax_lanes)
        sum =
            Two<S>::add(sum, exponential_of_any<S>(get_sixteen<S, double, Data>(from, all_lanes)));
    if (count > 0) {
        const unsigned some = first_lanes(count);
        const auto rest = exponential_of_any<S>(get_sixteen<S, double, Data>(from, some));
        sum = Two<S>::add(sum, Sixteen<S, double>::select(some, rest, Two<S>::all(0.0)));
    }
    Two<S>::put(sums, sum);
}

template <class S, class T>
[[gnu::always_inline]] inline void share_row(const T* weights, std::int64_t count,
                                             const Shares<S, T>& shares, T* y) {
    using W = Sixteen<S, T>;
    constexpr int at_once = Sum<S, T>::at_once;
    std::int64_t i = 0;
    for (; i + at_once * softmax_lanes <= count; i += at_once * softmax_lanes) {
        typename W::Vector own[std::size_t{at_once}];
        for (int k = 0; k < at_once; ++k)
            own[k] = W::get(weights + i + k * softmax_lanes);
        shares.divide(own);
        for (int k = 0; k < at_once; ++k)
            W::put(y + i + k * softmax_lanes, own[k]);
    }
    for (; i + softmax_lanes <= count; i += softmax_lanes)
        W::put(y + i, shares.of(W::get(weights + i)));
    if (i < count) {
        const unsigned some = first_lanes(count - i);
        W::put_some(y + i, shares.of(W::get_some(weights + i, some)), some);
    }
}

// y = weights divided by their sum
template <class S, class T>
void share_elements(const T* weights, std::int64_t count, double sum, T* y) {
    share_row<S, T>(weights, count, Shares<S, T>(sum), y);
}

// Weights of a row, which are added to sums[16], or of its beginning, where that shows that the
// guess was wrong: most often a thousand elements do, or some thousands more.
template <class S, class Meanwhile, class Scale>
[[gnu::always_inline]] inline void weigh_by_guess(const float* x, std::int64_t length,
                                                  const GuessedWeights<S, Scale>& weight,
                                                  float* weights, double* sums, Lines& meanwhile) {
    // A row, or what comes from memory in time.
    const std::int64_t most_ahead = length < 2048 ? length : 2048;
    const std::int64_t ahead = most_ahead < 512 ? 512 : most_ahead;
    for (std::int64_t i = 0; i < length && (i == 0 || weight.agrees(total_of<S>(sums)));) {
        const std::int64_t left = length - i, most = i == 0 ? 1024 : 4096;
        const std::int64_t count = left < most ? left : most;
        weigh_row<S, Meanwhile>(x + i, count, weight, ahead, weights + i, sums, meanwhile);
        i += count;
    }
}

using ropewalk::guessed_elements;
constexpr std::int64_t most_rows = softmax_lanes;

// Weights of up to most_rows whole rows, and their sums. The steps of rows follow each other: so a
// row needs not wait for the one before.
template <class S, class Meanwhile, class T>
[[gnu::always_inline]] inline void
weigh_rows(const T* x, std::int64_t x_stride, T* weights, std::int64_t stride, std::int64_t rows,
           std::int64_t length, double scale, ropewalk::Guess& guess, Lines& meanwhile,
           double* sums) {
    T greatest[std::size_t{most_rows}];
    alignas(64) double lanes[std::size_t{most_rows}][std::size_t{softmax_lanes}];
    Two<S>::put(sums, Two<S>::all(0.0));
    for (std::int64_t i = 0; i < rows; ++i)
        Two<S>::put(lanes[i], Two<S>::all(0.0));
    // The greatest element of a row is guessed to be near that of the first thousand, or, where
    // that was wrong, near that of the last row that it was wrong for.
    if constexpr (sizeof(T) == sizeof(float)) {
        if (!guess.made) {
            guess.greatest =
                largest_element<S, T>(x, length < guessed_elements ? length : guessed_elements);
            guess.made = true;
        }
        const auto weigh = [&](const auto& weight) __attribute__((always_inline)) {
            for (std::int64_t i = 0; i < rows; ++i)
                weigh_by_guess<S, Meanwhile>(x + i * x_stride, length, weight, weights + i * stride,
                                             lanes[i], meanwhile);
            for (std::int64_t i = 0; i < rows; ++i) {
                const double sum = total_of<S>(lanes[i]);
                sums[i] = weight.agrees(sum) ? sum : 0;
            }
        };
        if (guess.wrong < ropewalk::Guess::most_wrong)
            with_guess<S>(guess.greatest, scale, weigh);
    }
    const auto each_left = [&](auto function) {
        for (std::int64_t i = 0; i < rows; ++i)
            if (sums[i] == 0)
                function(i);
    };
    std::int64_t wrong = 0;
    each_left([&](std::int64_t i) {
        greatest[i] = largest_element<S, T>(x + i * x_stride, length);
        if (greatest[i] - greatest[i] == 0) // not of rows that have none
            guess.greatest = static_cast<float>(greatest[i]);
        ++wrong;
    });
    // To begin a row again costs eight times as much as to look for its greatest element.
    learn(guess, 8 * wrong <= rows);
    each_left([&](std::int64_t i) {
        Two<S>::put(lanes[i], Two<S>::all(0.0));
        weigh_elements<S, Meanwhile>(x + i * x_stride, length, greatest[i], scale,
                                     weights + i * stride, lanes[i], meanwhile);
    });
    each_left([&](std::int64_t i) { sums[i] = total_of<S>(lanes[i]); });
}

// Whole rows, several at a time that are not long. Weights are where the result will be, unless x
// is there.
template <class S, class T>
void softmax_rows(const T* x, std::int64_t x_stride, T* y, std::int64_t y_stride, std::int64_t rows,
                  std::int64_t length, double scale, T* room, ropewalk::Guess& guess,
                  Lines& meanwhile, Ahead ahead) {
    constexpr std::int64_t elements = ropewalk::together_bytes / sizeof(T);
    const std::int64_t some = elements / length < most_rows ? elements / length : most_rows;
    const std::int64_t at_once = some < 1 ? 1 : some;
    const bool apart = x == y;
    const std::int64_t stride = apart ? length : y_stride;
    for (std::int64_t first = 0; first < rows; first += at_once) {
        const std::int64_t now = rows - first < at_once ? rows - first : at_once;
        T* const to = y + first * y_stride;
        T* const weights = apart ? room : to;
        double sums[std::size_t{most_rows}];
        const auto weigh = [&](auto lines) __attribute__((always_inline)) {
            weigh_rows<S, decltype(lines)>(x + first * x_stride, x_stride, weights, stride, now,
                                           length, scale, guess, meanwhile, sums);
        };
        if (ahead == Ahead::next_rows && !apart)
            weigh(Asked());
        else if (ahead == Ahead::far_rows)
            weigh(FromMemory<Copied>());
        else
            weigh(Copied());
        const typename Shares<S, T>::Rows shares(Shares<S, T>(Two<S>::get(sums)));
        for (std::int64_t i = 0; i < now; ++i)
            share_row<S>(weights + i * stride, length, Shares<S, T>(shares, i), to + i * y_stride);
    }
}

// Weights of one row, and their total.
template <class S, class T>
double weigh_one(const T* x, std::int64_t length, double scale, T* weights, ropewalk::Guess& guess,
                 Lines& meanwhile, Ahead ahead) {
    double totals[std::size_t{most_rows}];
    const auto weigh = [&](auto lines) __attribute__((always_inline)) {
        weigh_rows<S, decltype(lines)>(x, 0, weights, 0, 1, length, scale, guess, meanwhile,
                                       totals);
    };
    if (ahead == Ahead::far_rows)
        weigh(FromMemory<Divided>());
    else
        weigh(Divided());
    return totals[0];
}

} // namespace
