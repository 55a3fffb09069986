// Rounding a group of eight pairs into a table, and the test whether that was right.
//
// A value is rounded to nearest, and is open where moving it by its error bound could round to
// something else than what was written. A cheap test that finds too many looks at all values of a
// step together; only when it finds some does the test with the bound itself say which.
#pragma once

#include <cstdint>

#include "kernels/data.hpp"
#include "kernels/rows.hpp"

namespace {

using ropewalk::Exact;
using ropewalk::Layout;

// All eight pairs, by stores through the cache or past it.
template <class S, Layout layout, bool streamed>
struct WholeGroup {
    template <class Element, class Vector>
    [[gnu::always_inline]] void operator()(Element* first, Element* second, Vector v) const {
        if constexpr (streamed && layout == Layout::apart)
            S::stream(first, second, v);
        else if constexpr (streamed)
            S::stream(first, v);
        else if constexpr (layout == Layout::apart)
            S::put(first, second, v);
        else
            S::put(first, v);
    }
    [[gnu::always_inline]] void eight(double* p, typename S::F64 v, int = 0) const {
        if constexpr (streamed)
            S::stream(p, v);
        else
            S::put(p, v);
    }
};

// The first pairs of the eight.
template <class S, Layout layout>
struct PartOfGroup {
    int pairs;

    template <class Element, class Vector>
    void operator()(Element* first, Element* second, Vector v) const {
        if constexpr (layout == Layout::apart) {
            S::put_some(first, v, first_lanes(pairs));
            S::put_some(second - group_pairs, v, first_lanes(pairs) << group_pairs);
        } else
            S::put_some(first, v, first_lanes(2 * pairs));
    }
    // Eight doubles: those of all pairs where they lie apart, else of half of them.
    void eight(double* p, typename S::F64 v, int first_lane = 0) const {
        S::put_some(p, v, first_lanes(layout == Layout::apart ? pairs : 2 * pairs) >> first_lane);
    }
};

// Sixteen float32 in the order of the layout.
template <class S, Layout layout>
[[gnu::always_inline]] inline typename S::F32 arranged(typename S::F64 sine,
                                                       typename S::F64 cosine) {
    if constexpr (layout == Layout::apart)
        return S::join(sine, cosine);
    else if constexpr (layout == Layout::sine_first)
        return S::zip(sine, cosine);
    else
        return S::zip(cosine, sine);
}

// The pairs that have a sine or a cosine among those values, eight sines before eight cosines.
constexpr unsigned pairs_of(unsigned values) { return (values | values >> group_pairs) & 0xff; }

// A writer has
//   Element, Row   the type in memory, and the rows it takes
//   write          rounds, hands vectors to a store, adds to the doubt
//   undecided      the lanes that the test with the error bound leaves open

// A value is open when the 29 bits that float32 cuts off lie within `last_bits` of their middle, or
// it is at most 2^-13 in size: that covers the error at every size.
template <class S, Layout layout>
struct Float32Writer {
    using Element = float;
    using Row = Plain<S>;
    using Doubt = typename S::Doubt;
    using F64 = typename S::F64;

    std::uint32_t near;
    double error;

    explicit Float32Writer(const Exact* exact) : near(exact->last_bits), error(exact->error) {}

    template <class Store>
    [[gnu::always_inline]] void write(typename Row::Value v, float* first, float* second,
                                      Store store, Doubt& doubt) const {
        const typename S::F32 rounded = arranged<S, layout>(v.sine, v.cosine);
        store(first, second, rounded);
        doubt.add(v.sine, v.cosine, (1U << 28) + near, ((1U << 29) - 1) & ~(2 * near - 1), rounded);
    }
    unsigned undecided(typename Row::Value v) const {
        const F64 e = S::all(error);
        const auto below = S::join(S::sub(v.sine, e), S::sub(v.cosine, e));
        const auto above = S::join(S::add(v.sine, e), S::add(v.cosine, e));
        return pairs_of(S::differing(below, above));
    }
};

// As data are rounded (kernels/data.hpp), but that no value of a table is NaN.
struct ToFloat16 {
    static constexpr int cut_bits = 13; // of float32's
    template <class S>
    static typename S::U16 round(typename S::F32 v) {
        return S::to_float16(v);
    }
};

struct ToBFloat16 {
    static constexpr int cut_bits = 16;
    template <class S>
    static typename S::U16 round(typename S::F32 v) {
        return S::to_bfloat16(v);
    }
};

// Half types are rounded from float32. What is rounded to nearest twice comes out wrong only where
// the float32 lies in the middle between two numbers of the half type: such values are open. Those
// of at most 2^-13 are, too: from 2^-14 down float16 cuts more bits off, and far below the error is
// more than what float32 leaves out.
template <class S, Layout layout, class To>
struct HalfWriter {
    using Element = std::uint16_t;
    using Row = Plain<S>;
    using Doubt = typename S::Doubt;
    using F64 = typename S::F64;

    double error;

    explicit HalfWriter(const Exact* exact) : error(exact->error) {}

    template <class Store>
    [[gnu::always_inline]] void write(typename Row::Value v, std::uint16_t* first,
                                      std::uint16_t* second, Store store, Doubt& doubt) const {
        const auto single = arranged<S, layout>(v.sine, v.cosine);
        store(first, second, To::template round<S>(single));
        constexpr std::uint32_t middle = 1U << (To::cut_bits - 1);
        doubt.add(S::bits(single), middle, 2 * middle - 1, single);
    }
    // What was written must be what the ends of the error give. These go through float32 rounded
    // to odd, so that they are rounded to nearest once.
    unsigned undecided(typename Row::Value v) const {
        const F64 e = S::all(error);
        const auto below = S::join(to_odd(S::sub(v.sine, e)), to_odd(S::sub(v.cosine, e)));
        const auto above = S::join(to_odd(S::add(v.sine, e)), to_odd(S::add(v.cosine, e)));
        const auto written = To::template round<S>(S::join(v.sine, v.cosine));
        return pairs_of(S::differing(To::template round<S>(below), written) |
                        S::differing(To::template round<S>(above), written));
    }

  private:
    // The 29 bits that float32 cannot hold are cut off; where they were not all 0 the last bit
    // that stays is set.
    [[gnu::always_inline]] static F64 to_odd(F64 v) {
        const auto cut = S::all((std::uint64_t{1} << 29) - 1);
        const auto bits = S::bits(v);
        const auto sticky = S::bor(bits, S::add(S::band(bits, cut), cut));
        const auto last = S::band(sticky, S::all(std::uint64_t{1} << 29));
        const auto kept = S::template left<29>(S::template right<29>(bits));
        return S::from_bits(S::bor(kept, last));
    }
};

// A value is open when adding and taking away the error bound rounds to different doubles.
template <class S, Layout layout>
struct Float64Writer {
    using Element = double;
    using Row = Precise<S>;
    using F64 = typename S::F64;

    class Doubt {
      public:
        void add(unsigned lanes) { lanes_ |= lanes; }
        bool any() const { return lanes_ != 0; }

      private:
        unsigned lanes_ = 0;
    };

    double error;

    explicit Float64Writer(const Exact* exact) : error(exact->error) {}

    template <class Store>
    [[gnu::always_inline]] void write(typename Row::Value v, double* first, double* second,
                                      Store store, Doubt& doubt) const {
        const F64 sine = below(v.sine), cosine = below(v.cosine);
        if constexpr (layout == Layout::apart) {
            store.eight(first, sine);
            store.eight(second, cosine);
        } else {
            const F64 a = layout == Layout::sine_first ? sine : cosine;
            const F64 b = layout == Layout::sine_first ? cosine : sine;
            store.eight(first, S::zip_low(a, b));
            store.eight(first + group_pairs, S::zip_high(a, b), group_pairs);
        }
        doubt.add(S::differing(sine, above(v.sine)) | S::differing(cosine, above(v.cosine)));
    }
    unsigned undecided(typename Row::Value v) const {
        return S::differing(below(v.sine), above(v.sine)) |
               S::differing(below(v.cosine), above(v.cosine));
    }

  private:
    F64 below(typename Row::Pair v) const { return S::add(v.high, S::sub(v.low, S::all(error))); }
    F64 above(typename Row::Pair v) const { return S::add(v.high, S::add(v.low, S::all(error))); }
};

template <class S, Layout layout>
using Float16Writer = HalfWriter<S, layout, ToFloat16>;
template <class S, Layout layout>
using BFloat16Writer = HalfWriter<S, layout, ToBFloat16>;

} // namespace
