// Softmax of rows, and of columns that lie side by side, and the sums that the log-sum-exp wants.
//
// Elements come sixteen at a time, as two vectors of float64, whatever their type: so weights,
// sums and shares are of float64, and rounded once. Element i of a row is summed in lane i % 16,
// and lanes are joined in a fixed order, in columns as in rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/exponential.hpp"
#include "kernels/tile.hpp"
#include "kernels/two.hpp"

namespace {

constexpr int softmax_lanes = 16;

template <class S>
using Sixteen = typename Two<S>::F64;

template <class S>
Sixteen<S> get_sixteen(const float* p) {
    return {S::get_wide(p), S::get_wide(p + 8)};
}
template <class S>
Sixteen<S> get_sixteen(const double* p) {
    return Two<S>::get(p);
}
template <class S>
Sixteen<S> get_sixteen(const float* p, unsigned lanes) {
    const auto v = S::get_some(p, lanes);
    return {S::widen_low(v), S::widen_high(v)};
}
template <class S>
Sixteen<S> get_sixteen(const double* p, unsigned lanes) {
    return {S::get_some(p, lanes & 0xff),
            lanes > 0xff ? S::get_some(p + 8, lanes >> 8) : S::all(0.0)};
}
template <class S>
void put_sixteen(float* p, Sixteen<S> v, unsigned lanes) {
    S::put_some(p, S::join(v.first, v.second), lanes);
}
template <class S>
void put_sixteen(double* p, Sixteen<S> v, unsigned lanes) {
    S::put_some(p, v.first, lanes & 0xff);
    if (lanes > 0xff)
        S::put_some(p + 8, v.second, lanes >> 8);
}
template <class S>
void put_sixteen(float* p, Sixteen<S> v) {
    S::put(p, S::join(v.first, v.second));
}
template <class S>
void put_sixteen(double* p, Sixteen<S> v) {
    Two<S>::put(p, v);
}

// The greatest element, whose own weight is 1; 0 where there is none but -inf, for -inf minus -inf
// would be NaN.
template <class S>
Sixteen<S> counted(Sixteen<S> greatest) {
    const auto nothing = Two<S>::all(-__builtin_inf());
    return Two<S>::where_equal(greatest, nothing, Two<S>::all(0.0), greatest);
}

// e^(scale d) of differences d <= 0 of float32, within 2^-34 of itself. With u = -scale d log2 e >=
// 0 and f = u - floor(u) it is 2^-floor(u) (1 - f / 2 + f (1 - f) s(f)). s has the least greatest
// error by E. Remez's exchange, so nothing leaps where f comes from 1 to 0, and is multiplied out.
// Far below 2^-150 the result is 0 as float32, and beside a sum. The fraction of a number below 0
// would be rounded, and not everywhere alike.
template <class S>
[[gnu::always_inline]] inline Sixteen<S> weight_of(Sixteen<S> difference, double scale, float) {
    using W = Two<S>;
    constexpr double terms[] = {0x1.0000000000000p+0,  -0x1.62e42fd19e8f2p-1,
                                0x1.ebfbd4b835c7ep-3,  -0x1.c6af1afde92b0p-5,
                                0x1.3b13d6ef64b64p-7,  -0x1.5c0027991ad98p-10,
                                0x1.345e0a3485eabp-13, -0x1.68d5249def1a9p-17};
    const auto u = W::mul(difference, W::all(-scale * Lanes<S, double>::log2_e));
    const auto f = W::fraction(u);
    auto q = W::all(terms[7]);
    for (int i = 6; i >= 0; --i)
        q = W::fma(q, f, W::all(terms[i]));
    return W::scale_down(q, W::sub(f, u));
}

// The same of float64; 0 where that is no normal number.
template <class S>
[[gnu::always_inline]] inline Sixteen<S> weight_of(Sixteen<S> difference, double scale, double) {
    return exponential<Two<S>, double>(Two<S>::mul(difference, Two<S>::all(scale)));
}

// 1 / sum, or 0 where nothing was summed: the greatest element counts 1.
template <class S>
Sixteen<S> share_of(Sixteen<S> sum) {
    const auto nothing = S::all(0.5), zero = S::all(0.0), one = S::all(1.0);
    const auto share = [&](auto of) { return S::where_less(of, nothing, zero, S::div(one, of)); };
    return {share(sum.first), share(sum.second)};
}
template <class S>
Sixteen<S> share_of(double sum) {
    return Two<S>::all(sum < 0.5 ? 0 : 1 / sum);
}

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
        const unsigned some = (1U << (count - i)) - 1;
        largest[1] = S::max(S::select(some, S::get_some(x + i, some), nothing), largest[1]);
    }
    return S::largest(S::max(S::max(largest[0], largest[1]), S::max(largest[2], largest[3])));
}

// weights = e^(x - greatest), which are added to sums[16].
template <class S, class T>
void weigh_elements(const T* x, std::int64_t count, T greatest, double scale, double* weights,
                    double* sums) {
    const auto away = counted<S>(Two<S>::all(static_cast<double>(greatest)));
    auto sum = Two<S>::get(sums);
    // What is looked at next is fetched meanwhile: the next row, or one of the next short ones.
    constexpr std::int64_t short_rows = 4096;
    const std::int64_t next = count < short_rows ? short_rows : count;
    std::int64_t i = 0;
    for (; i + softmax_lanes <= count; i += softmax_lanes) {
        __builtin_prefetch(x + i + next);
        const auto weight = weight_of<S>(Two<S>::sub(get_sixteen<S>(x + i), away), scale, T{});
        Two<S>::put(weights + i, weight);
        sum = Two<S>::add(sum, weight);
    }
    if (i < count) {
        const unsigned some = (1U << (count - i)) - 1;
        const auto weight =
            weight_of<S>(Two<S>::sub(get_sixteen<S>(x + i, some), away), scale, T{});
        put_sixteen<S>(weights + i, weight, some);
        const auto zero = S::all(0.0);
        sum.first = S::add(sum.first, S::select(some & 0xff, weight.first, zero));
        sum.second = S::add(sum.second, S::select(some >> 8, weight.second, zero));
    }
    Two<S>::put(sums, sum);
}

template <class S>
double total_of(const double* sums) {
    return S::sum(S::add(S::get(sums), S::get(sums + 8)));
}

// y = weights times 1 / sum
template <class S, class T>
void share_elements(const double* weights, std::int64_t count, double sum, T* y) {
    const auto share = share_of<S>(sum);
    std::int64_t i = 0;
    for (; i + softmax_lanes <= count; i += softmax_lanes)
        put_sixteen<S>(y + i, Two<S>::mul(Two<S>::get(weights + i), share));
    if (i < count) {
        const unsigned some = (1U << (count - i)) - 1;
        const auto weight = get_sixteen<S>(weights + i, some);
        put_sixteen<S>(y + i, Two<S>::mul(weight, share), some);
    }
}

// Whole rows; `room` holds the weights of one, or those of up to sixteen short ones, whose steps
// follow each other: so a row needs not wait for the one before.
template <class S, class T>
void softmax_rows(const T* x, std::int64_t x_stride, T* y, std::int64_t y_stride, std::int64_t rows,
                  std::int64_t length, double scale, double* room) {
    constexpr std::int64_t most = 16, elements = 1024;
    const std::int64_t some = elements / length < most ? elements / length : most;
    const std::int64_t at_once = some < 1 ? 1 : some;
    T greatest[std::size_t{most}];
    alignas(64) double sums[std::size_t{most}][std::size_t{softmax_lanes}];
    for (std::int64_t first = 0; first < rows; first += at_once) {
        const std::int64_t now = rows - first < at_once ? rows - first : at_once;
        for (std::int64_t i = 0; i < now; ++i)
            greatest[i] = largest_element<S, T>(x + (first + i) * x_stride, length);
        for (std::int64_t i = 0; i < now; ++i) {
            Two<S>::put(sums[i], Two<S>::all(0.0));
            weigh_elements<S, T>(x + (first + i) * x_stride, length, greatest[i], scale,
                                 room + i * length, sums[i]);
        }
        for (std::int64_t i = 0; i < now; ++i)
            share_elements<S, T>(room + i * length, length, total_of<S>(sums[i]),
                                 y + (first + i) * y_stride);
    }
}

// Columns side by side, `sixteens` times sixteen of them, whose elements lie `step` apart, a part
// at a time. Their weights lie side by side.

// The processor does not see by itself that rows this far apart come next.
constexpr std::int64_t fetched_rows = 8;

// function(element, its first column)
template <class Function>
void each_sixteen(std::int64_t count, int sixteens, Function function) {
    for (std::int64_t i = 0; i < count; ++i)
        for (int at = 0; at < sixteens * softmax_lanes; at += softmax_lanes)
            function(i, at);
}

template <class S, class T>
void raise_columns(const T* x, std::int64_t step, std::int64_t count, int sixteens,
                   double* greatest) {
    each_sixteen(count, sixteens, [&](std::int64_t i, int at) {
        __builtin_prefetch(x + (i + fetched_rows) * step + at);
        const auto element = get_sixteen<S>(x + i * step + at);
        Two<S>::put(greatest + at, Two<S>::max(element, Two<S>::get(greatest + at)));
    });
}

// sums[lane of the element][column]
template <class S, class T>
void weigh_columns(const T* x, std::int64_t step, std::int64_t count, int sixteens,
                   const double* greatest, double scale, double* weights, double* sums) {
    const std::int64_t width = sixteens * softmax_lanes;
    each_sixteen(count, sixteens, [&](std::int64_t i, int at) {
        __builtin_prefetch(x + (i + fetched_rows) * step + at);
        const auto away = counted<S>(Two<S>::get(greatest + at));
        const auto from = Two<S>::sub(get_sixteen<S>(x + i * step + at), away);
        const auto weight = weight_of<S>(from, scale, T{});
        Two<S>::put(weights + i * width + at, weight);
        double* const sum = sums + i % softmax_lanes * width + at;
        Two<S>::put(sum, Two<S>::add(Two<S>::get(sum), weight));
    });
}

// As total_of, column by column: the first sums become the totals.
template <class S>
void total_columns(double* sums, int sixteens) {
    const std::int64_t width = sixteens * softmax_lanes;
    for (int step = softmax_lanes / 2; step > 0; step /= 2)
        each_sixteen(step, sixteens, [&](std::int64_t lane, int at) {
            double* const sum = sums + lane * width + at;
            Two<S>::put(sum, Two<S>::add(Two<S>::get(sum), Two<S>::get(sum + step * width)));
        });
}

template <class S, class T>
void share_columns(const double* weights, std::int64_t count, int sixteens, const double* totals,
                   T* y, std::int64_t step) {
    const std::int64_t width = sixteens * softmax_lanes;
    alignas(64) double shares[std::size_t{ropewalk::most_sixteens * softmax_lanes}];
    each_sixteen(1, sixteens, [&](std::int64_t, int at) {
        Two<S>::put(shares + at, share_of<S>(Two<S>::get(totals + at)));
    });
    each_sixteen(count, sixteens, [&](std::int64_t i, int at) {
        __builtin_prefetch(y + (i + fetched_rows) * step + at, 1);
        const auto weight = Two<S>::get(weights + i * width + at);
        put_sixteen<S>(y + i * step + at, Two<S>::mul(weight, Two<S>::get(shares + at)));
    });
}

// Whole vectors pass the cache by, what lies before and behind them does not.
template <class S>
void stream(const void* from, void* to, std::int64_t bytes) {
    const auto* source = static_cast<const char*>(from);
    auto* target = static_cast<char*>(to);
    constexpr std::int64_t size = 64;
    const std::int64_t before = -reinterpret_cast<std::intptr_t>(target) & (size - 1);
    const std::int64_t head = before < bytes ? before : bytes;
    __builtin_memcpy(target, source, static_cast<std::size_t>(head));
    std::int64_t i = head;
    for (; i + size <= bytes; i += size)
        S::stream(reinterpret_cast<float*>(target + i),
                  S::get(reinterpret_cast<const float*>(source + i)));
    __builtin_memcpy(target + i, source + i, static_cast<std::size_t>(bytes - i));
}

} // namespace
