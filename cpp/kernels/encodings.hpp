// Tables of sines and cosines, rounded correctly.
//
// A row is evaluated from fractions of a turn by polynomials; a block of rows follows from its
// centre by the addition theorem, sin(c +- j) = sin c cos j +- cos c sin j, so two rows share their
// products: the shift law PE(p + k) = R_k PE(p) (Vaswani et al., Attention Is All You Need, 2017,
// section 3.5) as an algorithm. It is one product deep and never a recurrence, so errors do not
// grow. Every value passes a rounding test, and the few that do not pass are computed exactly:
// hence one value for each frequency and position, whichever way it was reached.
//
// Error bounds of plain rows in units of 2^-54 (docs/accuracy.md): an evaluated row 1.75, a product
// of two sqrt(2) (1.75 + 1.75) + 2 = 6.95, a product of that with a row sqrt(2) (6.95 + 1.75) + 2 =
// 14.3, and 15.3 once the test has rounded v -+ e: 2^-50 holds.
#pragma once

#include <cstdint>

#include "exact/sincos_table.hpp"
#include "targets/kernels.hpp"

namespace {

using ropewalk::block_rows;
using ropewalk::Exact;
using ropewalk::group_pairs;
using ropewalk::Layout;
using ropewalk::reach;
using ropewalk::Table;
using ropewalk::Type;

constexpr double plain_error = 0x1p-50;
constexpr double precise_error = 0x1p-69;

// A fraction of a turn as the nearest quarter and a signed rest in units of 2^-64 turn.
template <class S>
struct Quarters {
    typename S::U64 quarter;
    typename S::F64 upper, lower; // upper + lower is the rest, and both are exact

    [[gnu::always_inline]] explicit Quarters(typename S::U64 turns)
        : quarter(S::template right<62>(S::add(turns, S::all(std::uint64_t{1} << 61)))) {
        const auto rest = S::sub(turns, S::template left<62>(quarter)); // signed
        // Exponents put the halves in place: 2^84 for the upper one, 2^52 for the lower one.
        const auto flipped =
            S::bxor(S::template right<32>(rest), S::all(std::uint64_t{0x4530000080000000}));
        upper = S::sub(S::from_bits(flipped), S::all(0x1p84 + 0x1p63));
        lower = whole(S::band(rest, S::all(std::uint64_t{0xffffffff})));
    }
    // Integers below 2^52.
    [[gnu::always_inline]] static typename S::F64 whole(typename S::U64 v) {
        return S::sub(S::from_bits(S::bor(v, S::all(std::uint64_t{0x4330000000000000}))),
                      S::all(0x1p52));
    }
    // Odd quarters swap sine and cosine; sines turn negative in quarters 2 and 3, cosines in 1 and
    // 2. Adds the lowest bits of the signs to those given.
    [[gnu::always_inline]] void turn(typename S::F64& sine, typename S::F64& cosine) const {
        const auto one = S::all(std::uint64_t{1}), two = S::all(std::uint64_t{2});
        const auto swap = S::sub(S::all(std::uint64_t{0}), S::band(quarter, one));
        const auto both = S::band(S::bxor(S::bits(sine), S::bits(cosine)), swap);
        const auto sine_sign = S::template left<62>(S::band(quarter, two));
        const auto cosine_sign = S::template left<62>(S::band(S::add(quarter, one), two));
        sine = S::from_bits(S::bxor(S::bxor(S::bits(sine), both), sine_sign));
        cosine = S::from_bits(S::bxor(S::bxor(S::bits(cosine), both), cosine_sign));
    }
};

// 2 pi as a double and what it leaves.
constexpr double two_pi = 0x1.921fb54442d18p+2, two_pi_rest = 0x1.1a62633145c07p-52;

// sin 2 pi t and cos 2 pi t for t = turns / 2^64. Polynomials in x^2, |x| <= pi / 4, fitted at
// Chebyshev nodes: (sin x - x) / x^3 within 2.1e-17 and (cos x - 1 + x^2 / 2) / x^4 within 1.3e-18.
template <class S>
[[gnu::always_inline]] inline void sine_cosine(typename S::U64 turns, typename S::F64& sine,
                                               typename S::F64& cosine) {
    using F64 = typename S::F64;
    const Quarters<S> quarters(turns);
    const F64 high = S::add(quarters.upper, quarters.lower);
    const F64 low = S::sub(quarters.lower, S::sub(high, quarters.upper));
    const F64 unit = S::all(0x1p-64 * two_pi), unit_rest = S::all(0x1p-64 * two_pi_rest);
    const F64 x = S::mul(high, unit);
    const F64 x_low = S::fma(low, unit, S::fma(high, unit_rest, S::fms(high, unit, x)));

    const F64 square = S::mul(x, x);
    F64 odd = S::all(0x1.5e0b05bff20f2p-33), even = S::all(-0x1.907d8f29fe831p-37);
    odd = S::fma(odd, square, S::all(-0x1.ae600aca92c64p-26));
    even = S::fma(even, square, S::all(0x1.1eeb68cd22f56p-29));
    odd = S::fma(odd, square, S::all(0x1.71de379654304p-19));
    even = S::fma(even, square, S::all(-0x1.27e4fa17bf139p-22));
    odd = S::fma(odd, square, S::all(-0x1.a01a019e83816p-13));
    even = S::fma(even, square, S::all(0x1.a01a019f4e9b4p-16));
    odd = S::fma(odd, square, S::all(0x1.1111111110bb2p-7));
    even = S::fma(even, square, S::all(-0x1.6c16c16c16967p-10));
    odd = S::fma(odd, square, S::all(-0x1.5555555555555p-3));
    even = S::fma(even, square, S::all(0x1.5555555555555p-5));

    const F64 half_square = S::mul(square, S::all(0.5));
    const F64 one = S::all(1.0), near_one = S::sub(one, half_square);
    const F64 lost = S::sub(S::sub(one, near_one), half_square);
    sine = S::add(x, S::fma(S::mul(odd, square), x, S::fnma(half_square, x_low, x_low)));
    cosine = S::add(near_one, S::fma(S::mul(square, square), even, S::fnma(x, x_low, lost)));
    quarters.turn(sine, cosine);
}

// Plain rows: one double a value, rounded to float32 or a half type.
template <class S>
struct Plain {
    using F64 = typename S::F64;
    static constexpr int group_doubles = 2 * group_pairs;

    struct Value {
        F64 sine, cosine;
    };
    static Value load(const double* p) { return {S::load(p), S::load(p + group_pairs)}; }
    static void store(double* p, Value v) {
        S::store(p, v.sine);
        S::store(p + group_pairs, v.cosine);
    }
    [[gnu::always_inline]] static void turn(Value a, Value b, Value& forward, Value& backward) {
        const F64 cs = S::mul(a.cosine, b.sine), ss = S::mul(a.sine, b.sine);
        forward = {S::fma(a.sine, b.cosine, cs), S::fms(a.cosine, b.cosine, ss)};
        backward = {S::fms(a.sine, b.cosine, cs), S::fma(a.cosine, b.cosine, ss)};
    }
};

// Precise rows: pairs of doubles, for float64. Each factor is within 2^-72, a product of two within
// 2^-70.4, and a product of that with a row within 2^-69.5: 2^-69 holds.
template <class S>
struct Precise {
    using F64 = typename S::F64;
    static constexpr int group_doubles = 4 * group_pairs;

    struct Pair {
        F64 high, low;
    };
    struct Value {
        Pair sine, cosine;
    };
    static Value load(const double* p) {
        return {{S::load(p), S::load(p + 2 * group_pairs)},
                {S::load(p + group_pairs), S::load(p + 3 * group_pairs)}};
    }
    static void store(double* p, Value v) {
        const Pair sine = normal(v.sine.high, v.sine.low);
        const Pair cosine = normal(v.cosine.high, v.cosine.low);
        S::store(p, sine.high);
        S::store(p + group_pairs, cosine.high);
        S::store(p + 2 * group_pairs, sine.low);
        S::store(p + 3 * group_pairs, cosine.low);
    }
    [[gnu::always_inline]] static void turn(Value a, Value b, Value& forward, Value& backward) {
        const Pair sc = product(a.sine, b.cosine), cs = product(a.cosine, b.sine);
        const Pair cc = product(a.cosine, b.cosine), ss = product(a.sine, b.sine);
        forward = {sum(sc, cs), difference(cc, ss)};
        backward = {difference(sc, cs), sum(cc, ss)};
    }

    // |larger| >= |smaller|, or larger is 0.
    static Pair normal(F64 larger, F64 smaller) {
        const F64 high = S::add(larger, smaller);
        return {high, S::sub(smaller, S::sub(high, larger))};
    }
    static Pair product(Pair a, Pair b) {
        const F64 high = S::mul(a.high, b.high);
        return {high,
                S::add(S::fms(a.high, b.high, high), S::fma(a.high, b.low, S::mul(a.low, b.high)))};
    }
    static Pair sum(Pair a, Pair b) {
        const F64 high = S::add(a.high, b.high), part = S::sub(high, a.high);
        return {high, S::add(S::add(S::sub(a.high, S::sub(high, part)), S::sub(b.high, part)),
                             S::add(a.low, b.low))};
    }
    static Pair difference(Pair a, Pair b) {
        const F64 high = S::sub(a.high, b.high), part = S::sub(high, a.high);
        return {high, S::add(S::sub(S::sub(a.high, S::sub(high, part)), S::add(b.high, part)),
                             S::sub(a.low, b.low))};
    }
};

// The same as exact/sincos.cpp in lanes, where that keeps 106 bits of every remainder and this 96
// bits behind the point: near a zero only the former has them all, and the rounding test knows.
template <class S>
[[gnu::always_inline]] inline typename Precise<S>::Value precise_sine_cosine(typename S::U64 turns,
                                                                             typename S::U64 more) {
    using F64 = typename S::F64;
    using P = Precise<S>;
    using Pair = typename P::Pair;
    const Quarters<S> quarters(turns);
    Pair rest = P::normal(quarters.upper, quarters.lower);
    const F64 tail = Quarters<S>::whole(S::template right<32>(more));
    rest = P::normal(rest.high, S::fma(tail, S::all(0x1p-32), rest.low));

    const auto sign = S::band(S::bits(rest.high), S::all(std::uint64_t{1} << 63));
    const auto with_sign = [&](F64 v) { return S::from_bits(S::bxor(S::bits(v), sign)); };
    rest = {with_sign(rest.high), with_sign(rest.low)};

    // The nearest multiple of 1/256 turn: its number stands in the last bits of the shifted sum.
    const F64 shifter = S::all(0x1.8p52 * 0x1p56), shifted = S::add(rest.high, shifter);
    const F64 nearest = S::sub(shifted, shifter);
    const auto index = S::band(S::bits(shifted), S::all(std::uint64_t{63}));
    const Pair turn_rest = P::normal(S::sub(rest.high, nearest), rest.low);
    const Pair unit = {S::all(0x1p-64 * two_pi), S::all(0x1p-64 * two_pi_rest)};
    Pair x = P::product(turn_rest, unit);
    x = P::normal(x.high, x.low);

    const F64 square = S::mul(x.high, x.high);
    F64 odd = S::fma(square, S::all(1.0 / 362880), S::all(-1.0 / 5040));
    F64 even = S::fma(square, S::all(1.0 / 40320), S::all(-1.0 / 720));
    odd = S::fma(square, odd, S::all(1.0 / 120));
    even = S::fma(square, even, S::all(1.0 / 24));
    odd = S::fma(square, odd, S::all(-1.0 / 6));
    const F64 cubic_on = S::mul(S::mul(x.high, square), odd);
    const F64 quartic_on = S::mul(S::mul(square, square), even);
    const F64 half = S::all(0.5), minus_half = S::all(-0.5);
    const Pair full_square = P::product(x, x);
    const Pair sine =
        P::normal(x.high, S::fnma(S::mul(half, square), x.low, S::add(x.low, cubic_on)));
    const Pair cosine_minus_one = P::normal(S::mul(minus_half, full_square.high),
                                            S::fma(minus_half, full_square.low, quartic_on));

    const double* const table = &sincos_table[0][0];
    const Pair table_sine = {S::gather4(table, index), S::gather4(table + 1, index)};
    const Pair table_cosine = {S::gather4(table + 2, index), S::gather4(table + 3, index)};
    Pair s = P::sum(table_sine, P::sum(P::product(table_cosine, sine),
                                       P::product(table_sine, cosine_minus_one)));
    Pair c = P::sum(table_cosine, P::difference(P::product(table_cosine, cosine_minus_one),
                                                P::product(table_sine, sine)));
    s = P::normal(with_sign(s.high), with_sign(s.low));
    c = P::normal(c.high, c.low);
    quarters.turn(s.high, c.high);
    quarters.turn(s.low, c.low);
    return {s, c};
}

template <class S>
void evaluate_plain_row(const std::uint64_t* high, std::int64_t groups, double* row) {
    for (std::int64_t g = 0; g < groups; ++g, high += group_pairs, row += 2 * group_pairs) {
        typename S::F64 sine, cosine;
        sine_cosine<S>(S::load(high), sine, cosine);
        Plain<S>::store(row, {sine, cosine});
    }
}

template <class S>
void evaluate_precise_row(const std::uint64_t* high, const std::uint64_t* low, std::int64_t groups,
                          double* row) {
    for (std::int64_t g = 0; g < groups; ++g, row += 4 * group_pairs) {
        const std::int64_t i = g * group_pairs;
        Precise<S>::store(row, precise_sine_cosine<S>(S::load(high + i), S::load(low + i)));
    }
}

template <class Row>
void turn_row(const double* a, const double* b, std::int64_t groups, double* result,
              std::int64_t result_stride) {
    constexpr int step = Row::group_doubles;
    for (std::int64_t g = 0; g < groups; ++g, a += step, b += step, result += result_stride) {
        typename Row::Value forward, backward;
        Row::turn(Row::load(a), Row::load(b), forward, backward);
        Row::store(result, forward);
    }
}

// What follows is the writing of a group: rounding, test, layout. A writer has
//   Element, Row   the type in memory, and the rows it takes
//   write          rounds, hands vectors to a store, adds to the doubt
//   undecided      the lanes that the test with the full error bound leaves open

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
            S::put_some(first, v, lanes(pairs));
            S::put_some(second - group_pairs, v, lanes(pairs) << group_pairs);
        } else
            S::put_some(first, v, lanes(2 * pairs));
    }
    // Eight doubles: those of all pairs where they lie apart, else of half of them.
    void eight(double* p, typename S::F64 v, int first_lane = 0) const {
        S::put_some(p, v, lanes(layout == Layout::apart ? pairs : 2 * pairs) >> first_lane);
    }

  private:
    static unsigned lanes(int count) { return (1U << count) - 1; }
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

// A value is open when the 29 bits that float32 cuts off lie within 2^15 units of their middle, or
// it is at most 2^-13 in size: that covers 2^-50 at every size.
template <class S, Layout layout>
struct Float32Writer {
    using Element = float;
    using Row = Plain<S>;
    using Doubt = typename S::Doubt;
    using F64 = typename S::F64;

    template <class Store>
    [[gnu::always_inline]] static void write(typename Row::Value v, float* first, float* second,
                                             Store store, Doubt& doubt) {
        constexpr std::uint32_t near = 1U << 15;
        const typename S::F32 rounded = arranged<S, layout>(v.sine, v.cosine);
        store(first, second, rounded);
        doubt.add(S::low_words(v.sine, v.cosine), (1U << 28) + near,
                  ((1U << 29) - 1) & ~(2 * near - 1), rounded);
    }
    static unsigned undecided(typename Row::Value v) {
        const F64 e = S::all(plain_error);
        const auto below = S::join(S::sub(v.sine, e), S::sub(v.cosine, e));
        const auto above = S::join(S::add(v.sine, e), S::add(v.cosine, e));
        return S::differ(below, above) ? 0xff : 0;
    }
};

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

// Half types go through float32 rounded to odd, so that nothing is rounded to nearest twice. A
// value is open when the bits that are cut off next are their middle or beside it.
template <class S, Layout layout, class To>
struct HalfWriter {
    using Element = std::uint16_t;
    using Row = Plain<S>;
    using Doubt = typename S::Doubt;
    using F64 = typename S::F64;

    template <class Store>
    [[gnu::always_inline]] static void write(typename Row::Value v, std::uint16_t* first,
                                             std::uint16_t* second, Store store, Doubt& doubt) {
        const auto odd = arranged<S, layout>(to_odd(v.sine), to_odd(v.cosine));
        store(first, second, To::template round<S>(odd));
        constexpr std::uint32_t middle = 1U << (To::cut_bits - 1);
        doubt.add(S::bits(odd), middle + 2, (2 * middle - 1) & ~3U, odd);
    }
    static unsigned undecided(typename Row::Value v) {
        const F64 e = S::all(plain_error);
        const auto below = S::join(to_odd(S::sub(v.sine, e)), to_odd(S::sub(v.cosine, e)));
        const auto above = S::join(to_odd(S::add(v.sine, e)), to_odd(S::add(v.cosine, e)));
        return S::differ(To::template round<S>(below), To::template round<S>(above)) ? 0xff : 0;
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

    template <class Store>
    [[gnu::always_inline]] static void write(typename Row::Value v, double* first, double* second,
                                             Store store, Doubt& doubt) {
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
    static unsigned undecided(typename Row::Value v) {
        return S::differing(below(v.sine), above(v.sine)) |
               S::differing(below(v.cosine), above(v.cosine));
    }

  private:
    static F64 below(typename Row::Pair v) {
        return S::add(v.high, S::sub(v.low, S::all(precise_error)));
    }
    static F64 above(typename Row::Pair v) {
        return S::add(v.high, S::add(v.low, S::all(precise_error)));
    }
};

// Comes to all groups of a row in order: visit(group, store).
template <class S, Layout layout, bool streamed, class Visit>
[[gnu::always_inline]] inline void each_group(const Table& table, Visit visit) {
    const std::int64_t whole = table.pairs / group_pairs;
    for (std::int64_t group = 0; group < whole; ++group)
        visit(group, WholeGroup<S, layout, streamed>{});
    if (const auto rest = static_cast<int>(table.pairs % group_pairs))
        visit(whole, PartOfGroup<S, layout>{rest});
}

// Where the groups of one row go.
template <class Writer, Layout layout>
struct Place {
    using Element = typename Writer::Element;
    static constexpr int width = layout == Layout::apart ? group_pairs : 2 * group_pairs;

    Element *first, *second;

    static Place of_row(const Table& table, std::int64_t row, void* spare) {
        if (row < 0 || row >= table.rows) {
            const std::int64_t groups = (table.pairs + group_pairs - 1) / group_pairs;
            auto* const outside = static_cast<Element*>(spare);
            return {outside, outside + groups * 2 * group_pairs};
        }
        const std::int64_t offset = row * table.row_stride;
        auto* const second = static_cast<Element*>(table.second);
        return {static_cast<Element*>(table.first) + offset,
                layout == Layout::apart ? second + offset : nullptr};
    }
    template <class Store>
    [[gnu::always_inline]] void write(std::int64_t group, typename Writer::Row::Value v,
                                      Store store, typename Writer::Doubt& doubt) const {
        Element* const other = layout == Layout::apart ? second + group * width : nullptr;
        Writer::write(v, first + group * width, other, store, doubt);
    }
};

template <class S, class Writer, Layout layout, bool streamed>
void fill_row(const double* values, std::int64_t stride, const Table& table, std::int64_t row,
              const Exact* exact) {
    using Row = typename Writer::Row;
    const auto place = Place<Writer, layout>::of_row(table, row, nullptr);
    each_group<S, layout, streamed>(table, [&](std::int64_t group, auto store) {
        const typename Row::Value v = Row::load(values + group * stride);
        typename Writer::Doubt doubt;
        place.write(group, v, store, doubt);
        if (doubt.any())
            if (const unsigned lanes = Writer::undecided(v))
                exact->fill(exact, row, group, lanes);
    });
}

// The values of one group in the four rows centre +- j of two blocks.
template <class Row>
struct Four {
    typename Row::Value value[4];

    [[gnu::always_inline]] Four(const double* centres, const double* step) {
        const typename Row::Value by = Row::load(step);
        Row::turn(Row::load(centres), by, value[0], value[1]);
        Row::turn(Row::load(centres + Row::group_doubles), by, value[2], value[3]);
    }
};

template <class Writer>
[[gnu::noinline, gnu::cold]] void decide(const double* centres, const double* step,
                                         std::int64_t row, std::int64_t j, std::int64_t group,
                                         const Exact* exact) {
    const Four<typename Writer::Row> four(centres, step);
    const std::int64_t rows[4] = {row + j, row - j, row + block_rows + j, row + block_rows - j};
    for (int i = 0; i < 4; ++i)
        if (const unsigned lanes = Writer::undecided(four.value[i]))
            exact->fill(exact, rows[i], group, lanes);
}

template <class S, class Writer, Layout layout, bool streamed>
void fill_around(const double* centres, const double* steps, const Table& table, std::int64_t row,
                 void* spare, const Exact* exact) {
    using Row = typename Writer::Row;
    using Rows = Place<Writer, layout>;
    const std::int64_t groups = (table.pairs + group_pairs - 1) / group_pairs;
    for (std::int64_t j = 1; j <= reach; ++j, steps += groups * Row::group_doubles) {
        const Rows place[4] = {Rows::of_row(table, row + j, spare),
                               Rows::of_row(table, row - j, spare),
                               Rows::of_row(table, row + block_rows + j, spare),
                               Rows::of_row(table, row + block_rows - j, spare)};
        each_group<S, layout, streamed>(
            table, [&](std::int64_t group, auto store) __attribute__((always_inline)) {
                const double* const centre = centres + group * 2 * Row::group_doubles;
                const double* const step = steps + group * Row::group_doubles;
                const Four<Row> four(centre, step);
                typename Writer::Doubt doubt;
                place[0].write(group, four.value[0], store, doubt);
                place[1].write(group, four.value[1], store, doubt);
                place[2].write(group, four.value[2], store, doubt);
                place[3].write(group, four.value[3], store, doubt);
                if (doubt.any()) [[unlikely]]
                    decide<Writer>(centre, step, row, j, group, exact);
            });
    }
}

template <class S, Layout layout>
using Float16Writer = HalfWriter<S, layout, ToFloat16>;
template <class S, Layout layout>
using BFloat16Writer = HalfWriter<S, layout, ToBFloat16>;

template <class S, template <class, Layout> class Writer, bool streamed>
constexpr void set_layouts(ropewalk::Kernels::Filling (&of)[ropewalk::layouts]) {
    constexpr Layout s = Layout::sine_first, c = Layout::cosine_first, a = Layout::apart;
    of[static_cast<int>(s)] = {fill_row<S, Writer<S, s>, s, streamed>,
                               fill_around<S, Writer<S, s>, s, streamed>};
    of[static_cast<int>(c)] = {fill_row<S, Writer<S, c>, c, streamed>,
                               fill_around<S, Writer<S, c>, c, streamed>};
    of[static_cast<int>(a)] = {fill_row<S, Writer<S, a>, a, streamed>,
                               fill_around<S, Writer<S, a>, a, streamed>};
}

template <class S, bool streamed>
constexpr ropewalk::Kernels::Fillings fillings_of() {
    ropewalk::Kernels::Fillings all{};
    set_layouts<S, Float32Writer, streamed>(all.of[static_cast<int>(Type::float32)]);
    set_layouts<S, Float16Writer, streamed>(all.of[static_cast<int>(Type::float16)]);
    set_layouts<S, BFloat16Writer, streamed>(all.of[static_cast<int>(Type::bfloat16)]);
    set_layouts<S, Float64Writer, streamed>(all.of[static_cast<int>(Type::float64)]);
    return all;
}

template <class S>
constexpr ropewalk::Kernels kernels_of(const char* isa) {
    return {isa,
            evaluate_plain_row<S>,
            evaluate_precise_row<S>,
            turn_row<Plain<S>>,
            turn_row<Precise<S>>,
            S::fence,
            fillings_of<S, false>(),
            fillings_of<S, true>()};
}

} // namespace
