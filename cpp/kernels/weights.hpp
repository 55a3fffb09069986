// What softmax computes of sixteen elements at a time, a vector of float32 or two of float64: their
// weights, the sums of those, and the shares that they have in the sums.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/data.hpp"
#include "kernels/exponential.hpp"
#include "kernels/tile.hpp"
#include "kernels/two.hpp"

namespace {

using ropewalk::softmax_lanes;

template <class S, class T>
struct Sixteen;

template <class S>
struct Sixteen<S, float> : S {
    using Vector = typename S::F32;
};

template <class S>
struct Sixteen<S, double> : Two<S> {
    using Vector = typename Two<S>::F64;
    static Vector get_some(const double* p, unsigned lanes) {
        return {S::get_some(p, lanes & 0xff),
                lanes > 0xff ? S::get_some(p + 8, lanes >> 8) : S::all(0.0)};
    }
    static void put_some(double* p, Vector v, unsigned lanes) {
        S::put_some(p, v.first, lanes & 0xff);
        if (lanes > 0xff)
            S::put_some(p + 8, v.second, lanes >> 8);
    }
    static Vector select(unsigned lanes, Vector a, Vector b) {
        return {S::select(lanes & 0xff, a.first, b.first),
                S::select(lanes >> 8, a.second, b.second)};
    }
};

template <class S>
typename Two<S>::F64 widened(typename S::F32 v) {
    return {S::widen_low(v), S::widen_high(v)};
}

constexpr unsigned all_lanes = 0xffff;

// Sixteen elements of the type of Data as T, or some of them.
template <class S, class T, class Data>
[[gnu::always_inline]] inline auto get_sixteen(const typename Data::Element* p, unsigned lanes) {
    if constexpr (sizeof(*p) == sizeof(double))
        return lanes == all_lanes ? Two<S>::get(p) : Sixteen<S, double>::get_some(p, lanes);
    else {
        if constexpr (sizeof(T) == sizeof(double) && sizeof(*p) == sizeof(float))
            if (lanes == all_lanes)
                return typename Two<S>::F64{S::get_wide(p), S::get_wide(p + 8)};
        const typename S::F32 v = lanes == all_lanes ? Data::get(p) : Data::get_some(p, lanes);
        if constexpr (sizeof(T) == sizeof(double))
            return widened<S>(v);
        else
            return v;
    }
}

template <class S, class Data>
[[gnu::always_inline]] inline void put_sixteen(typename Data::Element* p, typename S::F32 v,
                                               unsigned lanes) {
    if (lanes == all_lanes)
        Data::put(p, v);
    else
        Data::put_some(p, v, lanes);
}

template <class S, class Data>
[[gnu::always_inline]] inline void put_sixteen(typename Data::Element* p, typename Two<S>::F64 v,
                                               unsigned lanes) {
    if constexpr (sizeof(*p) != sizeof(double))
        put_sixteen<S, Data>(p, S::join(v.first, v.second), lanes);
    else if (lanes == all_lanes)
        Two<S>::put(p, v);
    else
        Sixteen<S, double>::put_some(p, v, lanes);
}

// The greatest element, or 0 where there is none but -inf, for -inf minus -inf would be NaN.
template <class S, class T>
auto counted(typename Sixteen<S, T>::Vector greatest) {
    using W = Sixteen<S, T>;
    const auto nothing = W::all(static_cast<T>(-__builtin_inf()));
    return W::where_equal(greatest, nothing, W::all(T{0}), greatest);
}

// Weights e^(scale (x - greatest)) of rows or columns of T that have these greatest elements, but
// for a factor that all weights of a row share.
template <class S, class T>
class Weights;

// The factor is 1. 0 where a weight is no normal number.
template <class S>
class Weights<S, double> {
    using W = Two<S>;

  public:
    Weights() = default;
    Weights(typename W::F64 greatest, double scale)
        : greatest_(counted<S, double>(greatest)), scale_(W::all(scale)) {}
    typename W::F64 of(typename W::F64 x) const {
        return exponential<W, double>(W::mul(W::sub(x, greatest_), scale_));
    }

  private:
    typename W::F64 greatest_, scale_;
};

// e^(scale x), where x and its product with the scale are not rounded, of a vector of S, or of two
// as one.
template <class S>
class Scaled {
    using F32 = typename S::F32;

  public:
    Scaled() = default;
    explicit Scaled(double scale) : scale_(S::all(static_cast<float>(scale))) {
        rest_ = S::all(static_cast<float>(scale - static_cast<double>(static_cast<float>(scale))));
    }
    F32 logit(F32 x) const { return S::mul(x, scale_); }
    F32 of_logit(F32 logit) const { return S::div(logit, scale_); }
    template <class Vector>
    auto power(Vector x, Vector rounding) const {
        using P = OperationsOn<S, Vector>;
        const Vector scale(scale_), rounded = P::mul(x, scale), rest = P::fms(x, scale, rounded);
        return Eighths<P>(rounded, P::fma(x, Vector(rest_), rest), rounding);
    }

  private:
    F32 scale_, rest_; // of the scale
};

// The same where the scale is 1.
template <class S>
struct Unscaled {
    Unscaled() = default;
    explicit Unscaled(double) {}
    typename S::F32 logit(typename S::F32 x) const { return x; }
    typename S::F32 of_logit(typename S::F32 logit) const { return logit; }
    template <class Vector>
    auto power(Vector x, Vector rounding) const {
        return Eighths<OperationsOn<S, Vector>>(x, rounding);
    }
};

// 2^-shift e^(scale x), the shift such that e^(scale some) becomes about 2^top. Nothing becomes
// less than 2^-125, for numbers below the normal ones take some processors a hundred times as long.
template <class S, class Scale>
class ScaledDown {
    using F32 = typename S::F32;

  public:
    ScaledDown() = default;
    ScaledDown(const Scale& scale, F32 some, float top) : scale_(scale) {
        const F32 shift = S::sub(power_of_two<S, float>(scale.logit(some)), S::all(top));
        const auto x = [&](float n) { // whose power is 2^n
            const F32 ln_2 = S::all(0x1.62e43p-1F);
            return scale.of_logit(S::mul(S::add(shift, S::all(n)), ln_2));
        };
        rounding_ = S::sub(S::all(Eighths<S>::round), shift);
        least_ = x(-125.0F);
        greatest_ = x(126.0F);
    }
    // Of x that are not above what counts as infinite. Whatever rounding does here, of a larger x
    // it does not make less.
    template <class Vector>
    Vector of(Vector x) const {
        using P = OperationsOn<S, Vector>;
        const auto power = scale_.power(P::max(Vector(least_), x), Vector(rounding_));
        return P::fma(power.power, power.q, power.power);
    }
    F32 greatest() const { return greatest_; }

  private:
    Scale scale_;
    F32 rounding_, least_, greatest_;
};

// 2^-shift e^(scale (x - origin)). The origin is 0, or the greatest element where its logit is so
// large that those which weigh anything beside it are half as large to twice as large: so
// differences are exact. The greatest weight is about 2^26, so that weights are normal numbers,
// even where they no longer are once they are divided by their sum.
template <class S>
class Weights<S, float> {
    using F32 = typename S::F32;

  public:
    Weights() = default;
    Weights(F32 greatest, double scale) {
        const Scaled<S> scaled(scale);
        const F32 zero = S::all(0.0F), top = counted<S, float>(greatest);
        const F32 logit = scaled.logit(top), size = S::max(logit, S::sub(zero, logit));
        origin_ = S::where_less(size, S::all(256.0F), zero, top);
        weight_ = {scaled, S::sub(top, origin_), 26.0F};
    }
    template <class Vector>
    Vector of(Vector x) const {
        return weight_.of(OperationsOn<S, Vector>::sub(x, Vector(origin_)));
    }

  private:
    F32 origin_;
    ScaledDown<S, Scaled<S>> weight_;
};

// 2^-shift e^(scale x), where it is guessed that the greatest logit is not far from some other. If
// the sum of these weights agrees, shares have the bits that those above give, for powers of two do
// not round; and nobody had to look for the greatest element. Scale is Scaled or Unscaled.
template <class S, class Scale>
class GuessedWeights {
    using F32 = typename S::F32;

  public:
    // What agrees is not so large that its origin would be another.
    GuessedWeights(float some, double scale) {
        const Scale scaled(scale);
        const F32 zero = S::all(0.0F), x = S::all(some), logit = scaled.logit(x);
        const F32 size = S::max(logit, S::sub(zero, logit));
        weight_ = {scaled, S::where_less(size, S::all(200.0F), x, zero), 48.0F};
    }
    template <class Vector>
    Vector of(Vector x) const {
        return weight_.of(OperationsOn<S, Vector>::min(Vector(weight_.greatest()), x));
    }
    // Nothing was infinite, and what is least has no share once it is divided by the sum.
    static bool agrees(double sum) {
        return sum >= ropewalk::Guess::least_sum && sum <= ropewalk::Guess::greatest_sum;
    }
    static bool agrees(typename Two<S>::F64 sums) {
        const auto between = [](typename S::F64 sum) {
            return S::all_less(S::all(ropewalk::Guess::least_sum), sum) &&
                   S::all_less(sum, S::all(ropewalk::Guess::greatest_sum));
        };
        return between(sums.first) && between(sums.second);
    }

  private:
    ScaledDown<S, Scale> weight_;
};

// function(weights beside what is guessed)
template <class S, class Function>
[[gnu::always_inline]] inline auto with_guess(float some, double scale, Function function) {
    if (scale == 1)
        return function(GuessedWeights<S, Unscaled<S>>(some, scale));
    return function(GuessedWeights<S, Scaled<S>>(some, scale));
}

inline void learn(ropewalk::Guess& guess, bool right) {
    if (!right)
        ++guess.wrong;
    else if (guess.wrong > 0)
        --guess.wrong;
}

// Weights of as many vectors as are added up at once, those of load(k), as many by turns as
// registers hold.
template <class S, class T, class OfRow, class Load>
[[gnu::always_inline]] inline void
weights_of(const OfRow& weight, Load load,
           typename Sixteen<S, T>::Vector (&weights)[sizeof(T) == sizeof(float) ? 4 : 1]) {
    using Pair = typename Two<S>::F32;
    if constexpr (sizeof(T) == sizeof(double)) {
        weights[0] = weight.of(load(0));
    } else if constexpr (S::powers_by_turns == 4) {
        const auto four =
            weight.of(typename Two<Two<S>>::F32(Pair(load(0), load(1)), Pair(load(2), load(3))));
        weights[0] = four.first.first, weights[1] = four.first.second;
        weights[2] = four.second.first, weights[3] = four.second.second;
    } else {
        for (int k = 0; k < 4; k += 2) {
            const auto two = weight.of(Pair(load(k), load(k + 1)));
            weights[k] = two.first, weights[k + 1] = two.second;
        }
    }
}

// What is added to sums: so many weights of a lane at a time, those that are missing as 0.
template <class S, class T>
class Sum {
    using Vector = typename Sixteen<S, T>::Vector;

  public:
    static constexpr int at_once = sizeof(T) == sizeof(float) ? 4 : 1;

    explicit Sum(const double* sums) : sum_(Two<S>::get(sums)) {}
    void add(const Vector (&weights)[std::size_t{at_once}]) {
        if constexpr (at_once == 1)
            sum_ = Two<S>::add(sum_, weights[0]);
        else
            sum_ = Two<S>::add(sum_, widened<S>(S::add(S::add(weights[0], weights[1]),
                                                       S::add(weights[2], weights[3]))));
    }
    void put(double* sums) const { Two<S>::put(sums, sum_); }

  private:
    typename Two<S>::F64 sum_;
};

// Weights divided by their sums, or 0 where nothing was summed: the greatest element counts 1/2 and
// more.
template <class S, class T>
class Shares;

template <class S>
class Shares<S, double> {
    using F64 = typename Two<S>::F64;

  public:
    Shares() = default;
    explicit Shares(double sum) : Shares(Two<S>::all(sum)) {}
    explicit Shares(F64 sum) : inverse_{inverse_of(sum.first), inverse_of(sum.second)} {}
    void divide(F64 (&weights)[1]) const { weights[0] = of(weights[0]); }
    F64 of(F64 weight) const { return Two<S>::mul(weight, inverse_); }
    F64 inverse() const { return inverse_; }

    // The sums of sixteen rows, divided by as one vector.
    struct Rows {
        explicit Rows(const Shares& each) { Two<S>::put(inverse, each.inverse_); }
        alignas(64) double inverse[std::size_t{softmax_lanes}];
    };
    Shares(const Rows& rows, std::int64_t i) : inverse_(Two<S>::all(rows.inverse[i])) {}

  private:
    static typename S::F64 inverse_of(typename S::F64 sum) {
        return S::where_less(sum, S::all(0.5), S::all(0.0), S::div(S::all(1.0), sum));
    }
    F64 inverse_;
};

template <class S>
class Shares<S, float> {
    using F32 = typename S::F32;
    using F64 = typename Two<S>::F64;

  public:
    Shares() = default;
    explicit Shares(double sum) : Shares(Two<S>::all(sum)) {}
    explicit Shares(F64 sum)
        : wide_(sum), least_(joined(Two<S>::mul(Two<S>::all(least), sum))),
          nothing_(joined(Two<S>::mul(Two<S>::all(nothing), sum))),
          inverse_(joined(wide_.inverse())),
          rest_(joined(Two<S>::sub(wide_.inverse(), widened<S>(inverse_)))) {}

    struct Rows {
        explicit Rows(const Shares& each) : wide(each.wide_) {
            S::put(least, each.least_);
            S::put(nothing, each.nothing_);
            S::put(inverse, each.inverse_);
            S::put(rest, each.rest_);
        }
        typename Shares<S, double>::Rows wide;
        alignas(64) float least[std::size_t{softmax_lanes}], nothing[std::size_t{softmax_lanes}],
            inverse[std::size_t{softmax_lanes}], rest[std::size_t{softmax_lanes}];
    };
    Shares(const Rows& rows, std::int64_t i)
        : wide_(rows.wide, i), least_(S::all(rows.least[i])), nothing_(S::all(rows.nothing[i])),
          inverse_(S::all(rows.inverse[i])), rest_(S::all(rows.rest[i])) {}

    // Most often none of several is small, or some are whose elements are -inf.
    template <std::size_t count>
    void divide(F32 (&weights)[count]) const {
        F32 smallest = weights[0];
        for (std::size_t i = 1; i < count; ++i)
            smallest = S::min(smallest, weights[i]);
        if (S::all_less(least_, smallest)) {
            for (F32& weight : weights)
                weight = of_large(weight);
            return;
        }
        const F32 zero = S::all(0.0F);
        F32 greatest_small = zero;
        for (const F32 weight : weights)
            greatest_small = S::max(S::where_less(weight, least_, weight, zero), greatest_small);
        const bool none_counts = S::all_less(greatest_small, nothing_);
        for (F32& weight : weights)
            weight =
                none_counts ? of_large(S::where_less(weight, least_, zero, weight)) : of(weight);
    }
    // To make a float32 below the normal numbers takes some processors a hundred times as long,
    // unless by rounding a float64.
    F32 of(F32 weight) const {
        if (S::all_less(least_, weight)) [[likely]]
            return of_large(weight);
        const F32 large = S::where_less(weight, least_, S::all(0.0F), weight);
        const F32 share = joined(wide_.of(widened<S>(weight)));
        return S::where_less(weight, least_, share, of_large(large));
    }

  private:
    // Shares that are so large are normal numbers; so small ones are nearer to 0 than to 2^-149.
    static constexpr double least = 0x1p-90, nothing = 0x1.8p-151;
    F32 of_large(F32 weight) const { return S::fma(weight, inverse_, S::mul(weight, rest_)); }
    static F32 joined(F64 v) { return S::join(v.first, v.second); }

    Shares<S, double> wide_;
    F32 least_, nothing_, inverse_, rest_; // of the inverse
};

} // namespace
