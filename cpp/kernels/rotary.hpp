// Rotation of pairs of features, and copies that pass the cache by.
#pragma once

#include <cstdint>

#include "kernels/table.hpp"

namespace {

using ropewalk::Rotation;

// Data has
//   Element, Table  the types in memory, of the data and of the tables
//   Vector, lanes   what is computed with
//   get, put        all lanes; get_some, put_some: the first `count`, maybe none
template <class S>
struct Float32Data {
    using Element = float;
    using Table = float;
    using Vector = typename S::F32;
    static constexpr int lanes = 16;

    static Vector get(const float* p) { return S::get(p); }
    static void put(float* p, Vector v) { S::put(p, v); }
    static Vector get_some(const float* p, unsigned mask) { return S::get_some(p, mask); }
    static void put_some(float* p, Vector v, unsigned mask) { S::put_some(p, v, mask); }
};

template <class S>
struct Float64Data {
    using Element = double;
    using Table = double;
    using Vector = typename S::F64;
    static constexpr int lanes = 8;

    static Vector get(const double* p) { return S::get(p); }
    static void put(double* p, Vector v) { S::put(p, v); }
    static Vector get_some(const double* p, unsigned mask) { return S::get_some(p, mask); }
    static void put_some(double* p, Vector v, unsigned mask) { S::put_some(p, v, mask); }
};

template <class S>
struct Float16Data {
    using Element = std::uint16_t;
    using Table = float;
    using Vector = typename S::F32;
    static constexpr int lanes = 16;

    static Vector get(const Element* p) { return S::from_float16(S::get(p)); }
    static void put(Element* p, Vector v) { S::put(p, S::to_float16(v)); }
    static Vector get_some(const Element* p, unsigned mask) {
        return S::from_float16(S::get_some(p, mask));
    }
    static void put_some(Element* p, Vector v, unsigned mask) {
        S::put_some(p, S::to_float16(v), mask);
    }
};

template <class S>
struct BFloat16Data {
    using Element = std::uint16_t;
    using Table = float;
    using Vector = typename S::F32;
    static constexpr int lanes = 16;

    static Vector get(const Element* p) { return S::from_bfloat16(S::get(p)); }
    static void put(Element* p, Vector v) { S::put(p, S::to_bfloat16_or_nan(v)); }
    static Vector get_some(const Element* p, unsigned mask) {
        return S::from_bfloat16(S::get_some(p, mask));
    }
    static void put_some(Element* p, Vector v, unsigned mask) {
        S::put_some(p, S::to_bfloat16_or_nan(v), mask);
    }
};

// How many elements lie before the first vector of `size` bytes that begins where its size says; 0
// where it never does so at a multiple of `step` elements.
template <class Element>
std::int64_t elements_before_vector(const Element* p, std::int64_t size, std::int64_t step) {
    constexpr auto element = static_cast<std::int64_t>(sizeof(Element));
    const auto before = -reinterpret_cast<std::intptr_t>(p) & (size - 1);
    return before % (step * element) == 0 ? before / element : 0;
}

constexpr unsigned first_lanes(std::int64_t count) { return (1U << count) - 1; }

// Copies are taken two by two, so that the table is read half as often: more at a time are more
// streams of memory than processors like.
template <class Rows>
[[gnu::always_inline]] inline void each_two_copies(const Rotation& r, Rows rows) {
    std::int64_t copy = 0;
    for (; copy + 2 <= r.copies; copy += 2)
        rows.template operator()<2>(copy);
    if (copy < r.copies)
        rows.template operator()<1>(copy);
}

// Pairs of neighbours: vectors hold a b a b .., tables c s c s ..
template <class S, class Data>
struct Neighbours {
    using Element = typename Data::Element;
    using Table = typename Data::Table;
    using Vector = typename Data::Vector;
    static constexpr int lanes = Data::lanes;

    struct Turn {
        Vector cosines, sines;
        explicit Turn(Vector table) : cosines(S::evens_twice(table)), sines(S::odds_twice(table)) {}
        Vector operator()(Vector v) const {
            return S::fmaddsub(v, cosines, S::mul(S::swap_neighbours(v), sines));
        }
    };

    // `count` elements of some copies. Stores are where vectors should be but for the first and the
    // last one, which overlap with their neighbours: these are computed first and stored last, so
    // that y may be x.
    template <unsigned copies>
    static void run(const Element* x, Element* y, std::int64_t x_copy, std::int64_t y_copy,
                    const Table* table, std::int64_t count) {
        const std::int64_t head = elements_before_vector(y, sizeof(Element) * lanes, 2);
        const std::int64_t last = count - lanes;
        const Turn turn_first(S::get(table)), turn_last(S::get(table + last));
        Vector firsts[copies], lasts[copies];
        for (unsigned i = 0; i < copies; ++i) {
            firsts[i] = turn_first(Data::get(x + i * x_copy));
            lasts[i] = turn_last(Data::get(x + i * x_copy + last));
        }
        for (std::int64_t k = head; k <= last; k += lanes) {
            const Turn turn(S::get(table + k));
            for (unsigned i = 0; i < copies; ++i)
                Data::put(y + i * y_copy + k, turn(Data::get(x + i * x_copy + k)));
        }
        for (unsigned i = 0; i < copies; ++i) {
            Data::put(y + i * y_copy, firsts[i]);
            Data::put(y + i * y_copy + last, lasts[i]);
        }
    }

    static void run_short(const Rotation& r, const Element* x, Element* y, const Table* table,
                          std::int64_t count) {
        const unsigned some = first_lanes(count);
        const Turn turn(S::get_some(table, some));
        for (std::int64_t i = 0; i < r.copies; ++i)
            Data::put_some(y + i * r.y_copy, turn(Data::get_some(x + i * r.x_copy, some)), some);
    }

    static void run_all(const Rotation& r, const Element* x, Element* y, const Table* table,
                        std::int64_t count) {
        if (count < lanes)
            return run_short(r, x, y, table, count);
        each_two_copies(r, [&]<unsigned copies>(std::int64_t copy) {
            run<copies>(x + copy * r.x_copy, y + copy * r.y_copy, r.x_copy, r.y_copy, table, count);
        });
    }

    // One row of the table for copies without gaps between them: each vector of it serves all.
    static void run_gapless_copies(const Element* x, Element* y, const Table* table,
                                   std::int64_t width, std::int64_t copies) {
        const std::int64_t head = elements_before_vector(y, sizeof(Element) * lanes, 2);
        const std::int64_t last = copies * width - lanes;
        const Vector first_vector = Turn(S::get(table))(Data::get(x));
        const Vector last_vector = Turn(S::get(table + width - lanes))(Data::get(x + last));
        for (std::int64_t k = head; k < head + width; k += lanes) {
            const std::int64_t rest = width - k; // of the row; what follows is the next copy's
            const unsigned own = first_lanes(rest < lanes ? rest : lanes);
            const Turn turn(
                S::select(own, S::get_some(table + k, own), S::get_some(table + k - width, ~own)));
            for (std::int64_t i = k; i <= last; i += width)
                Data::put(y + i, turn(Data::get(x + i)));
        }
        Data::put(y, first_vector);
        Data::put(y + last, last_vector);
    }

    static void rotate(const Rotation& r) {
        const auto* x = static_cast<const Element*>(r.x);
        auto* y = static_cast<Element*>(r.y);
        const auto* table = static_cast<const Table*>(r.cosines);
        const std::int64_t width = 2 * r.pairs;
        if (r.rows == 1 && r.x_copy == width && r.y_copy == width && width % lanes == 0)
            return run_gapless_copies(x, y, table, width, r.copies);
        if (r.x_stride == width && r.y_stride == width && r.table_stride == width)
            return run_all(r, x, y, table, r.rows * width);
        for (std::int64_t row = 0; row < r.rows; ++row)
            run_all(r, x + row * r.x_stride, y + row * r.y_stride, table + row * r.table_stride,
                    width);
    }
};

// Features `apart` elements from each other: vectors hold all a, or all b, tables cosines or sines.
template <class S, class Data>
struct Apart {
    using Element = typename Data::Element;
    using Table = typename Data::Table;
    using Vector = typename Data::Vector;
    static constexpr int lanes = Data::lanes;

    struct Turn {
        Vector cosines, sines;
        Vector first(Vector a, Vector b) const { return S::fms(a, cosines, S::mul(b, sines)); }
        Vector second(Vector a, Vector b) const { return S::fma(b, cosines, S::mul(a, sines)); }
    };
    static Turn turn_at(const Table* cosines, const Table* sines) {
        return {S::get(cosines), S::get(sines)};
    }

    [[gnu::always_inline]] static void run(const Element* x, Element* y, std::int64_t apart,
                                           const Turn& turn) {
        const Vector a = Data::get(x), b = Data::get(x + apart);
        Data::put(y, turn.first(a, b));
        Data::put(y + apart, turn.second(a, b));
    }
    static void run_some(const Element* x, Element* y, std::int64_t apart, const Turn& turn,
                         unsigned some) {
        const Vector a = Data::get_some(x, some), b = Data::get_some(x + apart, some);
        Data::put_some(y, turn.first(a, b), some);
        Data::put_some(y + apart, turn.second(a, b), some);
    }

    template <unsigned copies>
    static void run_row(const Element* x, Element* y, std::int64_t x_copy, std::int64_t y_copy,
                        std::int64_t apart, const Table* cosines, const Table* sines,
                        std::int64_t pairs) {
        std::int64_t k = 0;
        for (; k + lanes <= pairs; k += lanes) {
            const Turn turn = turn_at(cosines + k, sines + k);
            for (unsigned i = 0; i < copies; ++i)
                run(x + i * x_copy + k, y + i * y_copy + k, apart, turn);
        }
        if (k == pairs)
            return;
        const unsigned some = first_lanes(pairs - k);
        const Turn turn{S::get_some(cosines + k, some), S::get_some(sines + k, some)};
        for (unsigned i = 0; i < copies; ++i)
            run_some(x + i * x_copy + k, y + i * y_copy + k, apart, turn, some);
    }

    // Rows of 2 * pairs that follow each other without gaps, `head` elements before a vector should
    // begin. The first `head` pairs are taken together with the last ones, as many as make a
    // vector: the end of a and the beginning of b stand side by side in memory, and so do the end
    // of b and the beginning of the next row's a, where the end waits for it.
    struct Gapless {
        std::int64_t pairs, head, tail = lanes - head;
        unsigned tail_lanes = first_lanes(tail);

        struct State {
            Vector first, last; // at both ends, computed first and stored last, as of neighbours
            Vector waiting;
        };

        Turn turn_ends(const Table* cosines, const Table* sines) const {
            const auto get_some = [](const Table* p, unsigned some) {
                return S::get_some(p, some);
            };
            return {ends(cosines, get_some), ends(sines, get_some)};
        }
        [[gnu::always_inline]] void run_ends(const Element* x, Element* y, const Turn& turn,
                                             bool is_first_row, State& state) const {
            const auto get_some = [](const Element* p, unsigned some) {
                return Data::get_some(p, some);
            };
            const Vector a = ends(x, get_some), b = ends(x + pairs, get_some);
            const Vector first = turn.first(a, b), second = turn.second(a, b);
            if (!is_first_row)
                Data::put(y - tail, S::select(tail_lanes, state.waiting, first));
            Data::put(y - tail + pairs, S::select(tail_lanes, first, second));
            state.waiting = second;
        }
        State begin(const Element* x, const Element* last_row, const Turn& turn_first,
                    const Turn& turn_last) const {
            const Element* const last = last_row + 2 * pairs - lanes;
            State state{};
            state.first = turn_first.first(Data::get(x), Data::get(x + pairs));
            state.last = turn_last.second(Data::get(last - pairs), Data::get(last));
            return state;
        }
        void end(Element* y, Element* last_row, const State& state) const {
            Data::put(y, state.first);
            Data::put(last_row + 2 * pairs - lanes, state.last);
        }

      private:
        template <class T, class Get>
        Vector ends(const T* p, Get get_some) const {
            return S::select(tail_lanes, get_some(p + pairs - tail, tail_lanes),
                             get_some(p - tail, ~tail_lanes));
        }
    };

    template <unsigned copies>
    static void run_gapless(const Element* x, Element* y, std::int64_t x_copy, std::int64_t y_copy,
                            const Table* cosines, const Table* sines, std::int64_t table_stride,
                            std::int64_t count, const Gapless& rows) {
        const std::int64_t pairs = rows.pairs, head = rows.head;
        const std::int64_t last = (count - 1) * table_stride + pairs - lanes;
        const Turn turn_first = turn_at(cosines, sines);
        const Turn turn_last = turn_at(cosines + last, sines + last);
        typename Gapless::State states[copies];
        for (unsigned i = 0; i < copies; ++i)
            states[i] = rows.begin(x + i * x_copy, x + i * x_copy + (count - 1) * 2 * pairs,
                                   turn_first, turn_last);
        for (std::int64_t row = 0; row < count; ++row) {
            const Element* const from = x + row * 2 * pairs;
            Element* const to = y + row * 2 * pairs;
            const Turn ends = rows.turn_ends(cosines, sines);
            for (unsigned i = 0; i < copies; ++i)
                rows.run_ends(from + i * x_copy, to + i * y_copy, ends, row == 0, states[i]);
            for (std::int64_t k = head; k + lanes <= pairs; k += lanes) {
                const Turn turn = turn_at(cosines + k, sines + k);
                for (unsigned i = 0; i < copies; ++i)
                    run(from + i * x_copy + k, to + i * y_copy + k, pairs, turn);
            }
            cosines += table_stride;
            sines += table_stride;
        }
        for (unsigned i = 0; i < copies; ++i)
            rows.end(y + i * y_copy, y + i * y_copy + (count - 1) * 2 * pairs, states[i]);
    }

    // One row of the table for copies without gaps between them: each vector of it serves all.
    static void run_gapless_copies(const Element* x, Element* y, const Table* cosines,
                                   const Table* sines, std::int64_t copies, const Gapless& rows) {
        const std::int64_t pairs = rows.pairs, width = 2 * pairs, end = copies * width;
        const std::int64_t last = pairs - lanes;
        typename Gapless::State state = rows.begin(x, x + end - width, turn_at(cosines, sines),
                                                   turn_at(cosines + last, sines + last));
        const Turn ends = rows.turn_ends(cosines, sines);
        for (std::int64_t i = 0; i < end; i += width)
            rows.run_ends(x + i, y + i, ends, i == 0, state);
        for (std::int64_t k = rows.head; k + lanes <= pairs; k += lanes) {
            const Turn turn = turn_at(cosines + k, sines + k);
            for (std::int64_t i = k; i < end; i += width)
                run(x + i, y + i, pairs, turn);
        }
        rows.end(y, y + end - width, state);
    }

    static void rotate(const Rotation& r) {
        const auto* x = static_cast<const Element*>(r.x);
        auto* y = static_cast<Element*>(r.y);
        const auto* cosines = static_cast<const Table*>(r.cosines);
        const auto* sines = static_cast<const Table*>(r.sines);
        const std::int64_t width = 2 * r.pairs;
        const Gapless rows{r.pairs, elements_before_vector(y, sizeof(Element) * lanes, 1)};
        const bool straddling = rows.head != 0 && r.apart == r.pairs && r.pairs % lanes == 0;
        if (straddling && r.rows == 1 && r.x_copy == width && r.y_copy == width)
            return run_gapless_copies(x, y, cosines, sines, r.copies, rows);
        if (straddling && r.x_stride == width && r.y_stride == width)
            return each_two_copies(r, [&]<unsigned copies>(std::int64_t copy) {
                run_gapless<copies>(x + copy * r.x_copy, y + copy * r.y_copy, r.x_copy, r.y_copy,
                                    cosines, sines, r.table_stride, r.rows, rows);
            });
        each_two_copies(r, [&]<unsigned copies>(std::int64_t copy) {
            for (std::int64_t row = 0; row < r.rows; ++row)
                run_row<copies>(x + copy * r.x_copy + row * r.x_stride,
                                y + copy * r.y_copy + row * r.y_stride, r.x_copy, r.y_copy, r.apart,
                                cosines + row * r.table_stride, sines + row * r.table_stride,
                                r.pairs);
        });
    }
};

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
