// Rotation of pairs of features, and copies that pass the cache by.
#pragma once

#include <cstdint>

#include "kernels/data.hpp"
#include "kernels/table.hpp"

namespace {

using ropewalk::Rotation;

// How many elements lie before the first vector of `size` bytes that begins where its size says; 0
// where it never does so at a multiple of `step` elements.
template <class Element>
std::int64_t elements_before_vector(const Element* p, std::int64_t size, std::int64_t step) {
    constexpr auto element = static_cast<std::int64_t>(sizeof(Element));
    const auto before = -reinterpret_cast<std::intptr_t>(p) & (size - 1);
    return before % (step * element) == 0 ? before / element : 0;
}

constexpr unsigned first_lanes(std::int64_t count) { return (1U << count) - 1; }

// rows(first, count, copy) for some rows of the table and every copy, then for the next rows.
template <class Rows>
[[gnu::always_inline]] inline void each_stretch(const Rotation& r, Rows rows) {
    for (std::int64_t row = 0; row < r.rows; row += r.stretch) {
        const std::int64_t rest = r.rows - row;
        for (std::int64_t copy = 0; copy < r.copies; ++copy)
            rows(row, rest < r.stretch ? rest : r.stretch, copy);
    }
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

    static void run_some(const Element* x, Element* y, const Table* table, std::int64_t count) {
        const unsigned some = first_lanes(count);
        const Turn turn(S::get_some(table, some));
        Data::put_some(y, turn(Data::get_some(x, some)), some);
    }

    // `count` elements, by as many of the table; the first vector ends where one should begin.
    static void run(const Element* x, Element* y, const Table* table, std::int64_t count) {
        std::int64_t k = elements_before_vector(y, sizeof(Element) * lanes, 2);
        k = k < count ? k : count;
        if (k > 0)
            run_some(x, y, table, k);
#pragma GCC unroll 4
        for (; k + lanes <= count; k += lanes)
            Data::put(y + k, Turn(S::get(table + k))(Data::get(x + k)));
        if (k < count)
            run_some(x + k, y + k, table + k, count - k);
    }

    // Rows without gaps between them, `repeats` of them by each row of the table.
    static void run_repeated(const Element* x, Element* y, const Table* table, std::int64_t width,
                             std::int64_t rows, std::int64_t repeats) {
        const std::int64_t head = elements_before_vector(y, sizeof(Element) * lanes, 2);
        const std::int64_t at_end = width - lanes;
        const unsigned own = first_lanes(lanes - head); // of what lies across two rows
        if (head > 0)
            run_some(x, y, table, head);
        x += head;
        y += head;
        for (std::int64_t row = 0; row < rows; ++row, table += width) {
            const Turn across(S::select(own, S::get_some(table + at_end + head, own),
                                        S::get_some(table + head - lanes, ~own)));
            for (std::int64_t i = 0; i < repeats; ++i, x += width, y += width) {
#pragma GCC unroll 8
                for (std::int64_t k = 0; k < at_end; k += lanes)
                    Data::put(y + k, Turn(S::get(table + head + k))(Data::get(x + k)));
                if (i + 1 < repeats)
                    Data::put(y + at_end, across(Data::get(x + at_end)));
                else if (row + 1 < rows)
                    Data::put(y + at_end,
                              Turn(S::get(table + head + at_end))(Data::get(x + at_end)));
                else
                    run_some(x + at_end, y + at_end, table + head + at_end, lanes - head);
            }
        }
    }

    static void rotate(const Rotation& r) {
        const auto* x = static_cast<const Element*>(r.x);
        auto* y = static_cast<Element*>(r.y);
        const auto* table = static_cast<const Table*>(r.cosines);
        const std::int64_t width = 2 * r.pairs, table_width = 2 * r.apart;
        const bool gapless = r.x_stride == width && r.y_stride == width;
        if (gapless && r.repeats > 1 && width % lanes == 0) {
            for (std::int64_t i = 0; i < r.copies; ++i)
                run_repeated(x + i * r.x_copy, y + i * r.y_copy, table, width, r.rows, r.repeats);
            return;
        }
        each_stretch(r, [&](std::int64_t row, std::int64_t rows, std::int64_t copy) {
            const Element* const from = x + copy * r.x_copy;
            Element* const to = y + copy * r.y_copy;
            if (gapless && r.repeats == 1)
                return run(from + row * width, to + row * width, table + row * width, rows * width);
            for (std::int64_t i = row * r.repeats; i < (row + rows) * r.repeats; ++i)
                run(from + i * r.x_stride, to + i * r.y_stride, table + i / r.repeats * table_width,
                    width);
        });
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

    // So many vectors of pairs from x on.
    [[gnu::always_inline]] static void run(const Element* x, Element* y, std::int64_t apart,
                                           const Table* cosines, const Table* sines,
                                           std::int64_t vectors) {
#pragma GCC unroll 4
        for (std::int64_t k = 0; k < vectors * lanes; k += lanes) {
            const Turn turn{S::get(cosines + k), S::get(sines + k)};
            const Vector a = Data::get(x + k), b = Data::get(x + apart + k);
            Data::put(y + k, turn.first(a, b));
            Data::put(y + apart + k, turn.second(a, b));
        }
    }

    static void run_row(const Element* x, Element* y, std::int64_t apart, const Table* cosines,
                        const Table* sines, std::int64_t pairs) {
        run(x, y, apart, cosines, sines, pairs / lanes);
        const std::int64_t k = pairs / lanes * lanes;
        if (k == pairs)
            return;
        const unsigned some = first_lanes(pairs - k);
        const Turn turn{S::get_some(cosines + k, some), S::get_some(sines + k, some)};
        const Vector a = Data::get_some(x + k, some), b = Data::get_some(x + apart + k, some);
        Data::put_some(y + k, turn.first(a, b), some);
        Data::put_some(y + apart + k, turn.second(a, b), some);
    }

    // Rows of 2 * pairs that follow each other without gaps, `head` elements before a vector should
    // begin. The first `head` pairs are taken together with the last ones, as many as make a
    // vector: the end of a and the beginning of b stand side by side in memory, and so do the end
    // of b and the beginning of the next row's a, where the end waits for it.
    //
    // All four pointers are `lanes - head` elements before a row, where vectors should begin. Not
    // inline: the loop needs all the registers there are. Two widths make most of the world's heads
    // and are faster when the compiler knows them; 0 is any.
    template <int known_pairs>
    [[gnu::noinline]] static void run_gapless(const Element* x, Element* y, const Table* cosines,
                                              const Table* sines, std::int64_t rows,
                                              std::int64_t repeats, std::int64_t any_pairs,
                                              std::int64_t head) {
        const std::int64_t pairs = known_pairs == 0 ? any_pairs : known_pairs;
        const unsigned tail_lanes = first_lanes(lanes - head);
        const auto ends_of_table = [&](const Table* p) {
            return S::select(tail_lanes, S::get_some(p + pairs, tail_lanes),
                             S::get_some(p, ~tail_lanes));
        };
        const auto ends = [&](const Element* p) {
            return S::select(tail_lanes, Data::get_some(p + pairs, tail_lanes),
                             Data::get_some(p, ~tail_lanes));
        };
        Vector waiting{};
        bool is_first = true;
        for (std::int64_t row = 0; row < rows; ++row, cosines += pairs, sines += pairs) {
            const Turn turn{ends_of_table(cosines), ends_of_table(sines)};
            for (std::int64_t i = 0; i < repeats; ++i, x += 2 * pairs, y += 2 * pairs) {
                const Vector a = ends(x), b = ends(x + pairs);
                const Vector first = turn.first(a, b), second = turn.second(a, b);
                if (is_first)
                    Data::put_some(y, first, ~tail_lanes);
                else
                    Data::put(y, S::select(tail_lanes, waiting, first));
                is_first = false;
                Data::put(y + pairs, S::select(tail_lanes, first, second));
                waiting = second;
                run(x + lanes, y + lanes, pairs, cosines + lanes, sines + lanes, pairs / lanes - 1);
            }
        }
        Data::put_some(y, waiting, tail_lanes);
    }

    static void rotate(const Rotation& r) {
        const auto* x = static_cast<const Element*>(r.x);
        auto* y = static_cast<Element*>(r.y);
        const auto* cosines = static_cast<const Table*>(r.cosines);
        const auto* sines = static_cast<const Table*>(r.sines);
        const std::int64_t width = 2 * r.pairs;
        const std::int64_t head = elements_before_vector(y, sizeof(Element) * lanes, 1);
        const bool gapless = head != 0 && r.x_stride == width && r.y_stride == width &&
                             r.apart == r.pairs && r.pairs % lanes == 0;
        const auto run_rows = r.pairs == 64   ? run_gapless<64>
                              : r.pairs == 32 ? run_gapless<32>
                                              : run_gapless<0>;
        each_stretch(r, [&](std::int64_t row, std::int64_t rows, std::int64_t copy) {
            const Element* const from = x + copy * r.x_copy + row * r.repeats * r.x_stride;
            Element* const to = y + copy * r.y_copy + row * r.repeats * r.y_stride;
            const Table* const c = cosines + row * r.apart;
            const Table* const s = sines + row * r.apart;
            if (gapless)
                return run_rows(from + head - lanes, to + head - lanes, c + head - lanes,
                                s + head - lanes, rows, r.repeats, r.pairs, head);
            for (std::int64_t i = 0; i < rows * r.repeats; ++i)
                run_row(from + i * r.x_stride, to + i * r.y_stride, r.apart,
                        c + i / r.repeats * r.apart, s + i / r.repeats * r.apart, r.pairs);
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
