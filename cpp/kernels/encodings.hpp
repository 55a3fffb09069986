// Tables of sines and cosines, rounded correctly: row by row, or in blocks about a centre.
//
// Every value passes a rounding test, and those that do not are computed exactly: hence one value
// for each frequency and position, whichever way it was reached.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/rounding.hpp"
#include "kernels/rows.hpp"

namespace {

using ropewalk::block_rows;
using ropewalk::reach;
using ropewalk::Table;

// Comes to all groups of a row in order: visit(group, value, store). Where registers hold the
// values of two groups, one is computed ahead of where the other is visited: processors look ahead
// too little for the one to run beside the other by itself.
template <class S, Layout layout, bool streamed, class Compute, class Visit>
[[gnu::always_inline]] inline void each_group(const Table& table, Compute compute, Visit visit) {
    using Value = decltype(compute(0));
    const WholeGroup<S, layout, streamed> store;
    const std::int64_t whole = table.pairs / group_pairs;
    std::int64_t group = 0;
    constexpr std::size_t values = 2 * sizeof(Value) / sizeof(typename S::F64);
    if constexpr (2 * values <= S::registers) { // half of them are for what visits need
        if (whole > 2) {
            Value even = compute(0);
            for (; group + 2 < whole; group += 2) {
                const Value odd = compute(group + 1);
                visit(group, even, store);
                even = compute(group + 2);
                visit(group + 1, odd, store);
            }
            visit(group++, even, store);
        }
    }
    for (; group < whole; ++group)
        visit(group, compute(group), store);
    if (const auto rest = static_cast<int>(table.pairs % group_pairs))
        visit(whole, compute(whole), PartOfGroup<S, layout>{rest});
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
                                      const Writer& writer, Store store,
                                      typename Writer::Doubt& doubt) const {
        Element* const other = layout == Layout::apart ? second + group * width : nullptr;
        writer.write(v, first + group * width, other, store, doubt);
    }
};

template <class S, class Writer, Layout layout, bool streamed>
void fill_row(const double* values, std::int64_t stride, const Table& table, std::int64_t row,
              const Exact* exact) {
    using Row = typename Writer::Row;
    const Writer writer(exact);
    const auto place = Place<Writer, layout>::of_row(table, row, nullptr);
    each_group<S, layout, streamed>(
        table,
        [&](std::int64_t group)
            __attribute__((always_inline)) { return Row::load(values + group * stride); },
        [&](std::int64_t group, typename Row::Value v, auto store) __attribute__((always_inline)) {
            typename Writer::Doubt doubt;
            place.write(group, v, writer, store, doubt);
            if (doubt.any())
                if (const unsigned lanes = writer.undecided(v))
                    exact->fill(exact, row, group, lanes);
        });
}

// The values of one group in the rows centre +- j of one block or two.
template <class Row, unsigned blocks>
struct Around {
    typename Row::Value value[2 * blocks];

    [[gnu::always_inline]] Around(const double* centres, const double* step) {
        const typename Row::Value by = Row::load(step);
        Row::turn(Row::load(centres), by, value[0], value[1]);
        if constexpr (blocks == 2)
            Row::turn(Row::load(centres + Row::group_doubles), by, value[2], value[3]);
    }
};

constexpr std::int64_t row_at(std::int64_t row, std::int64_t j, unsigned i) {
    return row + i / 2 * block_rows + (i % 2 == 0 ? j : -j);
}

template <class Writer, unsigned blocks>
[[gnu::noinline, gnu::cold]] void decide(const double* centres, const double* step,
                                         std::int64_t row, std::int64_t j, std::int64_t group,
                                         const Exact* exact) {
    const Writer writer(exact);
    const Around<typename Writer::Row, blocks> around(centres, step);
    for (unsigned i = 0; i < 2 * blocks; ++i)
        if (const unsigned lanes = writer.undecided(around.value[i]))
            exact->fill(exact, row_at(row, j, i), group, lanes);
}

// Rows centre +- j of one block or two; groups of centres stand two apart.
template <class S, class Writer, Layout layout, bool streamed, unsigned blocks>
void fill_rows_at(const double* centres, const double* steps, const Table& table, std::int64_t row,
                  std::int64_t j, void* spare, const Exact* exact) {
    using Row = typename Writer::Row;
    const Writer writer(exact);
    Place<Writer, layout> place[2 * blocks];
    for (unsigned i = 0; i < 2 * blocks; ++i)
        place[i] = Place<Writer, layout>::of_row(table, row_at(row, j, i), spare);
    const auto centre = [&](std::int64_t group) {
        return centres + group * 2 * Row::group_doubles;
    };
    const auto step = [&](std::int64_t group) { return steps + group * Row::group_doubles; };
    each_group<S, layout, streamed>(
        table,
        [&](std::int64_t group) __attribute__((always_inline)) {
            return Around<Row, blocks>(centre(group), step(group));
        },
        [&](std::int64_t group, const Around<Row, blocks>& around, auto store)
            __attribute__((always_inline)) {
                typename Writer::Doubt doubt;
                place[0].write(group, around.value[0], writer, store, doubt);
                place[1].write(group, around.value[1], writer, store, doubt);
                if constexpr (blocks == 2) {
                    place[2].write(group, around.value[2], writer, store, doubt);
                    place[3].write(group, around.value[3], writer, store, doubt);
                }
                if (doubt.any()) [[unlikely]]
                    decide<Writer, blocks>(centre(group), step(group), row, j, group, exact);
            });
}

template <class S, class Writer, Layout layout, bool streamed>
void fill_around(const double* centres, const double* steps, const Table& table, std::int64_t row,
                 void* spare, const Exact* exact) {
    using Row = typename Writer::Row;
    constexpr int width = Row::group_doubles;
    // Two blocks at once read each step once, where registers hold the values of both.
    constexpr bool together = sizeof(Around<Row, 2>) <= S::registers * sizeof(typename S::F64);
    const std::int64_t groups = (table.pairs + group_pairs - 1) / group_pairs,
                       next = row + block_rows;
    const auto inside = [&](std::int64_t r) { return r >= 0 && r < table.rows; };
    for (std::int64_t j = 1; j <= reach; ++j, steps += groups * width) {
        const bool first = inside(row - j) || inside(row + j);
        const bool second = inside(next - j) || inside(next + j);
        if constexpr (together)
            if (first && second) {
                fill_rows_at<S, Writer, layout, streamed, 2>(centres, steps, table, row, j, spare,
                                                             exact);
                continue;
            }
        if (first)
            fill_rows_at<S, Writer, layout, streamed, 1>(centres, steps, table, row, j, spare,
                                                         exact);
        if (second)
            fill_rows_at<S, Writer, layout, streamed, 1>(centres + width, steps, table, next, j,
                                                         spare, exact);
    }
}

} // namespace
