// Rotation of pairs of features.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/data.hpp"
#include "kernels/table.hpp"

namespace {

using ropewalk::Ahead;
using ropewalk::Rotation;

// How many elements lie before the first vector of `size` bytes that begins where its size says; 0
// where it never does so at a multiple of `step` elements.
template <class Element>
std::int64_t elements_before_vector(const Element* p, std::int64_t size, std::int64_t step) {
    constexpr auto element = static_cast<std::int64_t>(sizeof(Element));
    const auto before = -reinterpret_cast<std::intptr_t>(p) & (size - 1);
    return before % (step * element) == 0 ? before / element : 0;
}

// Through the cache or past it.
template <class Data, bool streamed>
[[gnu::always_inline]] inline void put(typename Data::Element* p, typename Data::Vector v) {
    if constexpr (streamed)
        Data::stream(p, v);
    else
        Data::put(p, v);
}

// What comes from far is asked for a page ahead, of several streams in turn so much in all; nearer
// by, so is the place of results, which is read before it is written.
template <Ahead ahead, int streams = 1, class Element>
[[gnu::always_inline]] inline void ask_for(const Element* x, const Element* y) {
    if constexpr (ahead == Ahead::far_rows)
        __builtin_prefetch(x + 4096 / (streams * sizeof(Element)));
    if constexpr (ahead == Ahead::far_rows_to_second)
        __builtin_prefetch(x + 4096 / (streams * sizeof(Element)), 0, 2);
    if constexpr (ahead == Ahead::next_rows) {
        __builtin_prefetch(x + 2048 / sizeof(Element));
        __builtin_prefetch(y + 1024 / sizeof(Element), 1);
    }
}

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// So many copies, or repeats, are turned by a row of the table before the next row is: the table is
// read once for all of them, and memory sees no more streams than it can follow.
constexpr std::int64_t most_together = 4;
// Where rows have gaps copies take turns after so many rows of the table, which the first cache
// holds.
constexpr std::int64_t resident_rows = 11;

// run(first copy, copies): some in turn, if they may be, where vectors begin at the same places of
// every copy, for streamed ones must.
template <class Element, class Run>
void each_few(const Rotation& r, bool in_turn, Run run) {
    const bool copies_alike = r.y_copy * static_cast<std::int64_t>(sizeof(Element)) % 64 == 0;
    const std::int64_t most = in_turn && copies_alike ? most_together : 1;
    for (std::int64_t copy = 0; copy < r.copies; copy += most)
        run(copy, smaller(most, r.copies - copy));
}

// What does not turn of a row that is not turned in place, from feature `begin` to before `end`.
template <class Element>
void copy_rest(const Rotation& r, const Element* x, Element* y, std::int64_t begin,
               std::int64_t end) {
    constexpr auto line = static_cast<std::int64_t>(64 / sizeof(Element));
    if (r.x == r.y || begin == end)
        return;
    if (end - begin < line) {
        __builtin_memcpy(y + begin, x + begin,
                         static_cast<std::size_t>(end - begin) * sizeof(Element));
        return;
    }
    for (std::int64_t k = begin; k < end - line; k += line)
        __builtin_memcpy(y + k, x + k, 64);
    __builtin_memcpy(y + end - line, x + end - line, 64); // maybe across the one before
}

// All that is read of a row a page ahead, where rows follow each other for more than that: in an
// array with gaps it would be of other heads, which nobody reads.
template <class Element>
void ask_for_row(const Rotation& r, const Element* x) {
    constexpr auto line = static_cast<std::int64_t>(64 / sizeof(Element)), page = 64 * line;
    const bool near = r.ahead == Ahead::nothing || r.ahead == Ahead::next_rows;
    if (near || r.x_stride != r.dim || r.rows * r.repeats * r.dim <= page)
        return;
    const std::int64_t read = r.x == r.y ? 2 * r.apart : r.dim;
    for (std::int64_t k = 0; k < read; k += line)
        if (r.ahead == Ahead::far_rows_to_second)
            __builtin_prefetch(x + page + k, 0, 2);
        else
            __builtin_prefetch(x + page + k);
}

// turn(row of the table, x, y) for every row of every copy, one by one.
template <class Way, class Turn>
[[gnu::always_inline]] inline void each_row(const Rotation& r, Turn turn) {
    using Element = typename Way::Element;
    for (std::int64_t begin = 0; begin < r.rows; begin += resident_rows)
        for (std::int64_t copy = 0; copy < r.copies; ++copy)
            for (std::int64_t row = begin; row < smaller(begin + resident_rows, r.rows); ++row)
                for (std::int64_t i = row * r.repeats; i < (row + 1) * r.repeats; ++i) {
                    const auto* const x =
                        static_cast<const Element*>(r.x) + copy * r.x_copy + i * r.x_stride;
                    auto* const y = static_cast<Element*>(r.y) + copy * r.y_copy + i * r.y_stride;
                    ask_for_row(r, x);
                    turn(row, x, y);
                    Way::copy_others(r, x, y);
                }
}

// Half types take so long to convert that stores may begin anywhere. What counts is all that is to
// be done beside: to read the table, to part its cosines and sines.
template <class Data>
constexpr bool is_converted = sizeof(typename Data::Element) == 2;

// `count` rows, which share one of the table, `x_step` from each other.
template <class Way, Ahead ahead>
void turn_few(const Rotation& r, const typename Way::Element* x, typename Way::Element* y,
              std::int64_t count, std::int64_t x_step, std::int64_t y_step, std::int64_t row) {
    if (count == most_together)
        Way::template run_together<ahead, most_together>(r, x, y, x_step, y_step, row);
    else
        for (std::int64_t i = 0; i < count; ++i)
            Way::template run_together<ahead, 1>(r, x + i * x_step, y + i * y_step, 0, 0, row);
    for (std::int64_t i = 0; i < count; ++i)
        Way::copy_others(r, x + i * x_step, y + i * y_step);
}

template <class Way, Ahead ahead>
void turn_copies_together(const Rotation& r) {
    const auto* const x = static_cast<const typename Way::Element*>(r.x);
    auto* const y = static_cast<typename Way::Element*>(r.y);
    for (std::int64_t copy = 0; copy < r.copies; copy += most_together)
        for (std::int64_t row = 0; row < r.rows; ++row)
            turn_few<Way, ahead>(r, x + copy * r.x_copy + row * r.x_stride,
                                 y + copy * r.y_copy + row * r.y_stride,
                                 smaller(most_together, r.copies - copy), r.x_copy, r.y_copy, row);
}

template <class Way, Ahead ahead>
void turn_repeats_together(const Rotation& r) {
    const auto* const x = static_cast<const typename Way::Element*>(r.x);
    auto* const y = static_cast<typename Way::Element*>(r.y);
    for (std::int64_t copy = 0; copy < r.copies; ++copy)
        for (std::int64_t row = 0; row < r.rows; ++row)
            for (std::int64_t i = 0; i < r.repeats; i += most_together) {
                const std::int64_t at = row * r.repeats + i;
                turn_few<Way, ahead>(
                    r, x + copy * r.x_copy + at * r.x_stride, y + copy * r.y_copy + at * r.y_stride,
                    smaller(most_together, r.repeats - i), r.x_stride, r.y_stride, row);
            }
}

// Turns rows that share a row of the table together, where there are some; returns whether it did.
// Those that follow each other in memory and come from afar had better be read in their order.
template <class Way>
bool try_together(const Rotation& r) {
    const bool near = r.ahead == Ahead::nothing || r.ahead == Ahead::next_rows;
    if (r.repeats > 1 && near)
        r.ahead == Ahead::nothing ? turn_repeats_together<Way, Ahead::nothing>(r)
                                  : turn_repeats_together<Way, Ahead::next_rows>(r);
    else if (r.repeats > 1 || r.copies == 1)
        return false;
    else if (near)
        r.ahead == Ahead::nothing ? turn_copies_together<Way, Ahead::nothing>(r)
                                  : turn_copies_together<Way, Ahead::next_rows>(r);
    else
        turn_copies_together<Way, Ahead::far_rows>(r);
    return true;
}

// Interleaved pairs: vectors hold a b a b .., tables c s c s ..
template <class S, class Data>
struct Interleaved {
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

    // `count` elements, whole vectors first.
    template <bool streamed, Ahead ahead>
    static void run_vectors(const Element* x, Element* y, const Table* table, std::int64_t count) {
        std::int64_t k = 0;
#pragma GCC unroll 4
        for (; k + lanes <= count; k += lanes) {
            ask_for<ahead>(x + k, y + k);
            put<Data, streamed>(y + k, Turn(S::get(table + k))(Data::get(x + k)));
        }
        if (k < count)
            run_some(x + k, y + k, table + k, count - k);
    }

    // `count` elements of some copies, by as many of the table, `turn` of each before the next
    // ones; the first vector ends where one should begin.
    template <bool streamed, Ahead ahead>
    static void run(const Element* x, Element* y, const Table* table, std::int64_t count,
                    std::int64_t turn, std::int64_t copies, std::int64_t x_copy,
                    std::int64_t y_copy) {
        const std::int64_t before = elements_before_vector(y, sizeof(Element) * lanes, 2);
        const std::int64_t head = smaller(before, count);
        for (std::int64_t copy = 0; head > 0 && copy < copies; ++copy)
            run_some(x + copy * x_copy, y + copy * y_copy, table, head);
        for (std::int64_t k = head; k < count; k += turn)
            for (std::int64_t copy = 0; copy < copies; ++copy)
                run_vectors<streamed, ahead>(x + copy * x_copy + k, y + copy * y_copy + k,
                                             table + k, smaller(turn, count - k));
    }

    // Rows without gaps between them in y, `repeats` of them by each row of the table.
    template <bool streamed, Ahead ahead>
    static void run_repeated(const Element* x, Element* y, const Table* table, std::int64_t width,
                             std::int64_t rows, std::int64_t repeats, std::int64_t x_stride) {
        const std::int64_t head = elements_before_vector(y, sizeof(Element) * lanes, 2);
        const std::int64_t at_end = width - lanes;
        const unsigned own = first_lanes(lanes - head); // of what lies across two rows
        const auto ends = [&] {                         // of a row, and the beginning of the next
            return x_stride == width ? Data::get(x + at_end)
                                     : S::select(own, Data::get_some(x + at_end, own),
                                                 Data::get_some(x + x_stride - lanes, ~own));
        };
        if (head > 0)
            run_some(x, y, table, head);
        x += head;
        y += head;
        for (std::int64_t row = 0; row < rows; ++row, table += width) {
            const Turn across(S::select(own, S::get_some(table + at_end + head, own),
                                        S::get_some(table + head - lanes, ~own)));
            for (std::int64_t i = 0; i < repeats; ++i, x += x_stride, y += width) {
#pragma GCC unroll 8
                for (std::int64_t k = 0; k < at_end; k += lanes) {
                    ask_for<ahead>(x + k, y + k);
                    put<Data, streamed>(y + k, Turn(S::get(table + head + k))(Data::get(x + k)));
                }
                ask_for<ahead>(x + at_end, y + at_end);
                if (i + 1 < repeats)
                    put<Data, streamed>(y + at_end, across(ends()));
                else if (row + 1 < rows)
                    put<Data, streamed>(y + at_end, Turn(S::get(table + head + at_end))(ends()));
                else
                    run_some(x + at_end, y + at_end, table + head + at_end, lanes - head);
            }
        }
    }

    // Whether vectors that begin where they should begin with a pair, in every copy.
    static bool lies_in_pairs(const Rotation& r) {
        constexpr std::int64_t pair = 2 * sizeof(Element);
        return reinterpret_cast<std::intptr_t>(r.y) % pair == 0 && r.y_copy % 2 == 0;
    }

    template <bool streamed, Ahead ahead>
    static void run_gapless(const Rotation& r) {
        const auto* x = static_cast<const Element*>(r.x);
        auto* y = static_cast<Element*>(r.y);
        const auto* table = static_cast<const Table*>(r.cosines);
        const std::int64_t width = 2 * r.pairs;
        if (r.repeats == 1 && r.x_stride == width)
            return each_few<Element>(
                r, width % lanes == 0, [&](std::int64_t copy, std::int64_t copies) {
                    const std::int64_t turn = copies == 1 ? r.rows * width : width;
                    run<streamed, ahead>(x + copy * r.x_copy, y + copy * r.y_copy, table,
                                         r.rows * width, turn, copies, r.x_copy, r.y_copy);
                });
        for (std::int64_t copy = 0; copy < r.copies; ++copy)
            run_repeated<streamed, ahead>(x + copy * r.x_copy, y + copy * r.y_copy, table, width,
                                          r.rows, r.repeats, r.x_stride);
    }

    // One vector of the table after another turns all of some rows.
    template <Ahead ahead, int rows>
    static void run_together(const Rotation& r, const Element* x, Element* y, std::int64_t x_step,
                             std::int64_t y_step, std::int64_t table_row) {
        const Table* const table = static_cast<const Table*>(r.cosines) + table_row * 2 * r.apart;
        const std::int64_t width = 2 * r.pairs;
        for (std::int64_t k = 0; k < width; k += lanes) {
            const Turn turn(S::get(table + k));
#pragma GCC unroll 4
            for (std::int64_t i = 0; i < rows; ++i) {
                const Element* const from = x + i * x_step + k;
                Element* const to = y + i * y_step + k;
                ask_for<ahead, rows>(from, to);
                Data::put(to, turn(Data::get(from)));
            }
        }
    }

    static void copy_others(const Rotation& r, const Element* x, Element* y) {
        copy_rest(r, x, y, 2 * r.pairs, r.dim);
    }

    static void rotate(const Rotation& r) {
        const std::int64_t width = 2 * r.pairs;
        const bool follow = width == r.dim && r.y_stride == width;
        const bool gapless =
            follow && r.x_stride == width && (r.repeats == 1 || width % lanes == 0);
        const bool streams = S::streams && r.streamed &&
                             (gapless || (follow && width % lanes == 0)) && lies_in_pairs(r);
        if constexpr (is_converted<Data>)
            if (!streams && width % lanes == 0 && try_together<Interleaved>(r))
                return;
        const bool to_second = r.ahead == Ahead::far_rows_to_second;
        const bool far = r.ahead == Ahead::far_rows || to_second;
        if constexpr (S::streams)
            if (streams)
                return !far || !gapless ? run_gapless<true, Ahead::nothing>(r) // gaps in x alone
                       : to_second      ? run_gapless<true, Ahead::far_rows_to_second>(r)
                                        : run_gapless<true, Ahead::far_rows>(r);
        if (gapless)
            return far                           ? run_gapless<false, Ahead::far_rows>(r)
                   : r.ahead == Ahead::next_rows ? run_gapless<false, Ahead::next_rows>(r)
                                                 : run_gapless<false, Ahead::nothing>(r);
        const auto* table = static_cast<const Table*>(r.cosines);
        each_row<Interleaved>(r, [&](std::int64_t row, const Element* x, Element* y) {
            const Table* const own = table + row * 2 * r.apart;
            if (width % lanes == 0) // takes less than to mask the first vector
                run_vectors<false, Ahead::nothing>(x, y, own, width);
            else
                run<false, Ahead::nothing>(x, y, own, width, width, 1, 0, 0);
        });
    }
};

// Features `apart` elements from each other: vectors hold all a, or all b, tables cosines or sines.
template <class S, class Data>
struct Half {
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
    template <bool streamed, Ahead ahead, int streams = 1>
    [[gnu::always_inline]] static void run(const Element* x, Element* y, std::int64_t apart,
                                           const Table* cosines, const Table* sines,
                                           std::int64_t vectors) {
#pragma GCC unroll 4
        for (std::int64_t k = 0; k < vectors * lanes; k += lanes) {
            const Turn turn{S::get(cosines + k), S::get(sines + k)};
            ask_for<ahead, streams>(x + k, y + k);
            ask_for<ahead, streams>(x + apart + k, y + apart + k);
            const Vector a = Data::get(x + k), b = Data::get(x + apart + k);
            put<Data, streamed>(y + k, turn.first(a, b));
            put<Data, streamed>(y + apart + k, turn.second(a, b));
        }
    }

    static void run_row(const Element* x, Element* y, std::int64_t apart, const Table* cosines,
                        const Table* sines, std::int64_t pairs) {
        if (pairs >= lanes) { // the last vectors overlap those before: in place, read before them
            const std::int64_t k = pairs - lanes;
            const Turn turn{S::get(cosines + k), S::get(sines + k)};
            const Vector a = Data::get(x + k), b = Data::get(x + apart + k);
            run<false, Ahead::nothing>(x, y, apart, cosines, sines, (pairs - 1) / lanes);
            Data::put(y + k, turn.first(a, b));
            Data::put(y + apart + k, turn.second(a, b));
        } else if (pairs > 0) {
            const unsigned some = first_lanes(pairs);
            const Turn turn{S::get_some(cosines, some), S::get_some(sines, some)};
            const Vector a = Data::get_some(x, some), b = Data::get_some(x + apart, some);
            Data::put_some(y, turn.first(a, b), some);
            Data::put_some(y + apart, turn.second(a, b), some);
        }
    }

    // Rows of 2 * pairs that follow each other without gaps in y, `head` elements before a vector
    // should begin, of some copies. The first `head` pairs are taken together with the last ones,
    // as many as make a vector: the end of a and the beginning of b stand side by side in memory,
    // and so do the end of b and the beginning of the next row's a, where the end waits for it.
    //
    // All four pointers are `lanes - head` elements before a row, where vectors should begin. Not
    // inline: the loop needs all the registers there are. Two widths make most of the world's heads
    // and are faster when the compiler knows them, but not of float64, nor where rows pass the
    // cache by one copy after another; 0 is any.
    template <int known_pairs, int known_copies, bool streamed, Ahead ahead>
    [[gnu::noinline]] static void run_gapless(const Rotation& r, const Element* x, Element* y,
                                              std::int64_t any_copies, std::int64_t head) {
        const std::int64_t pairs = known_pairs == 0 ? r.pairs : known_pairs;
        const std::int64_t copies = known_copies == 0 ? any_copies : known_copies;
        const std::int64_t rows = r.rows, repeats = r.repeats, x_stride = r.x_stride;
        const std::int64_t x_copy = r.x_copy, y_copy = r.y_copy;
        const Table* cosines = static_cast<const Table*>(r.cosines) + head - lanes;
        const Table* sines = static_cast<const Table*>(r.sines) + head - lanes;
        const unsigned tail_lanes = first_lanes(lanes - head);
        const auto ends_of_table = [&](const Table* p) {
            return S::select(tail_lanes, S::get_some(p + pairs, tail_lanes),
                             S::get_some(p, ~tail_lanes));
        };
        const auto ends = [&](const Element* p) {
            return S::select(tail_lanes, Data::get_some(p + pairs, tail_lanes),
                             Data::get_some(p, ~tail_lanes));
        };
        constexpr int most = known_copies == 0 ? most_together : known_copies;
        Vector waiting[std::size_t{most}]{};
        bool is_first = true;
        for (std::int64_t row = 0; row < rows; ++row, cosines += pairs, sines += pairs) {
            const Turn turn{ends_of_table(cosines), ends_of_table(sines)};
            for (std::int64_t i = 0; i < repeats; ++i, x += x_stride, y += 2 * pairs) {
                for (std::int64_t copy = 0; copy < copies; ++copy) {
                    const Element* const from = x + copy * x_copy;
                    Element* const to = y + copy * y_copy;
                    ask_for<ahead, most>(from, to);
                    ask_for<ahead, most>(from + pairs, to + pairs);
                    const Vector a = ends(from), b = ends(from + pairs);
                    const Vector first = turn.first(a, b), second = turn.second(a, b);
                    if (is_first)
                        Data::put_some(to, first, ~tail_lanes);
                    else
                        put<Data, streamed>(to, S::select(tail_lanes, waiting[copy], first));
                    put<Data, streamed>(to + pairs, S::select(tail_lanes, first, second));
                    waiting[copy] = second;
                    run<streamed, ahead, most>(from + lanes, to + lanes, pairs, cosines + lanes,
                                               sines + lanes, pairs / lanes - 1);
                }
                is_first = false;
            }
        }
        for (std::int64_t copy = 0; copy < copies; ++copy)
            Data::put_some(y + copy * y_copy, waiting[copy], tail_lanes);
    }

    template <int known_copies, bool streamed, Ahead ahead>
    static constexpr auto run_gapless_of(std::int64_t pairs) {
        constexpr bool knows_width = sizeof(Element) < 8 && (!streamed || known_copies != 1);
        if constexpr (knows_width)
            if (pairs == 64 || pairs == 32)
                return pairs == 64 ? run_gapless<64, known_copies, streamed, ahead>
                                   : run_gapless<32, known_copies, streamed, ahead>;
        return run_gapless<0, known_copies, streamed, ahead>;
    }

    template <bool streamed, Ahead ahead>
    static void run_gapless(const Rotation& r) {
        // Copies of half types take turns in try_together(), unless they pass the cache by.
        constexpr bool in_turn = streamed || !is_converted<Data>;
        const auto run_one = run_gapless_of<1, streamed, ahead>(r.pairs);
        const auto run_some = run_gapless_of<in_turn ? 0 : 1, streamed, ahead>(r.pairs);
        each_few<Element>(r, in_turn, [&](std::int64_t copy, std::int64_t copies) {
            const Element* const x = static_cast<const Element*>(r.x) + copy * r.x_copy;
            Element* const y = static_cast<Element*>(r.y) + copy * r.y_copy;
            const std::int64_t head = elements_before_vector(y, sizeof(Element) * lanes, 1);
            (copies == 1 ? run_one : run_some)(r, x + head - lanes, y + head - lanes, copies, head);
        });
    }
    // The rows of one copy, which have been asked for.
    static void stream_near(const Rotation& r) {
        const Element* const x = static_cast<const Element*>(r.x);
        Element* const y = static_cast<Element*>(r.y);
        const std::int64_t head = elements_before_vector(y, sizeof(Element) * lanes, 1);
        run_gapless<0, 1, true, Ahead::nothing>(r, x + head - lanes, y + head - lanes, 1, head);
    }

    // One vector of the table after another turns all of some rows.
    template <Ahead ahead, int rows>
    static void run_together(const Rotation& r, const Element* x, Element* y, std::int64_t x_step,
                             std::int64_t y_step, std::int64_t table_row) {
        const std::int64_t apart = r.apart;
        const Table* const cosines = static_cast<const Table*>(r.cosines) + table_row * apart;
        const Table* const sines = static_cast<const Table*>(r.sines) + table_row * apart;
        for (std::int64_t k = 0; k < r.pairs; k += lanes) {
            const Turn turn{S::get(cosines + k), S::get(sines + k)};
#pragma GCC unroll 4
            for (std::int64_t i = 0; i < rows; ++i) {
                const Element* const from = x + i * x_step + k;
                Element* const to = y + i * y_step + k;
                ask_for<ahead, rows>(from, to);
                ask_for<ahead, rows>(from + apart, to + apart);
                const Vector a = Data::get(from), b = Data::get(from + apart);
                Data::put(to, turn.first(a, b));
                Data::put(to + apart, turn.second(a, b));
            }
        }
    }

    static void copy_others(const Rotation& r, const Element* x, Element* y) {
        copy_rest(r, x, y, r.pairs, r.apart);
        copy_rest(r, x, y, r.apart + r.pairs, 2 * r.apart);
        copy_rest(r, x, y, 2 * r.apart, r.dim);
    }

    static void rotate(const Rotation& r) {
        const bool gapless =
            r.dim == 2 * r.pairs && r.y_stride == 2 * r.pairs && r.pairs % lanes == 0;
        const bool streams = S::streams && r.streamed && gapless;
        if constexpr (is_converted<Data>)
            if (!streams && r.pairs % lanes == 0 && try_together<Half>(r))
                return;
        const bool to_second = r.ahead == Ahead::far_rows_to_second;
        if constexpr (S::streams)
            if (streams)
                return r.ahead == Ahead::nothing && r.copies == 1 ? stream_near(r)
                       : to_second ? run_gapless<true, Ahead::far_rows_to_second>(r)
                                   : run_gapless<true, Ahead::far_rows>(r);
        if (gapless)
            return to_second || r.ahead == Ahead::far_rows ? run_gapless<false, Ahead::far_rows>(r)
                   : r.ahead == Ahead::next_rows           ? run_gapless<false, Ahead::next_rows>(r)
                                                           : run_gapless<false, Ahead::nothing>(r);
        const auto* cosines = static_cast<const Table*>(r.cosines);
        const auto* sines = static_cast<const Table*>(r.sines);
        each_row<Half>(r, [&](std::int64_t row, const Element* x, Element* y) {
            run_row(x, y, r.apart, cosines + row * r.apart, sines + row * r.apart, r.pairs);
        });
    }
};

} // namespace
