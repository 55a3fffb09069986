// How few queries read rows of keys and values: how many queries at once, and what they ask for
// before they read it.
#pragma once

#include <cstdint>

#include "kernels/attention.hpp"

namespace {

// Queries as many at once as registers hold, so that each row in memory is read seldom.
template <class S, class Function>
void in_groups(int queries, Function function) {
    int query = 0;
    for (; query + S::few_rows <= queries; query += S::few_rows)
        function.template operator()<S::few_rows>(query);
    if constexpr (S::few_rows > 3)
        if (queries - query == 3)
            return function.template operator()<3>(query);
    if constexpr (S::few_rows > 2)
        if (queries - query == 2)
            return function.template operator()<2>(query);
    if (query < queries)
        function.template operator()<1>(query);
}

// More queries than are alone meet some keys before the next, which are in the first cache then,
// and meanwhile ask for those that come as many after: half of the cache holds so many.
using ropewalk::block_keys, ropewalk::few_alone;
template <class Element>
std::int64_t near_keys(std::int64_t width) {
    constexpr std::int64_t most_bytes = 20480, least = 32, element = sizeof(Element);
    std::int64_t keys = block_keys;
    while (keys > least && keys * width * element > most_bytes)
        keys /= 2;
    return keys;
}

template <class S, class T>
bool is_alone(const Tile<T>& tile) {
    // Where registers are few, they hold the sums of part of a row for two queries: slower for rows
    // that come from afar, which are read in parts, and faster for near ones.
    const bool in_parts = S::few_rows <= few_alone && tile.near;
    return tile.vectors == 1 || (tile.vectors == few_alone && !in_parts);
}

// The steps in which one group of queries asks for lines ahead, a bit each, over and over: groups
// share them out.
struct Turns {
    std::uint32_t steps;
    bool into_first_cache;
    std::int64_t keys; // that they are ahead
};

// One query may ask for all of nearer rows, from the second into the first cache: each read of
// NumPy's rows wants two lines.
struct NextRows {};
// Or there is nothing to ask for, and no step looks whether it is its turn.
struct NoRows {};
constexpr std::int64_t next_keys = 8;

// One or two queries ask, half as far ahead, for half types that come from memory: more work a line
// leaves the processor too late to fetch it ahead. They ask for others too where it waits for them,
// and two into the first cache. More ask always, unless it would be into the second cache for what
// stays there.
template <class S, class T, class Element>
Turns turns_of_group(const Tile<T>& tile, std::int64_t width, int first) {
    const bool into_first = tile.large_first_cache && !tile.waits_for_second_cache;
    if (is_alone<S>(tile)) {
        const bool asks = sizeof(Element) == 2 || tile.waits_for_second_cache ||
                          (tile.vectors == 2 && into_first);
        return {asks && tile.ahead == Ahead::far_rows ? ~0U : 0, into_first,
                near_keys<Element>(2 * width)};
    }
    const int groups = (tile.vectors + S::few_rows - 1) / S::few_rows;
    std::uint32_t steps = 0;
    if (!tile.near || into_first)
        for (int step = first / S::few_rows; step < 32; step += groups)
            steps |= 1U << step;
    return {steps, into_first, near_keys<Element>(width)};
}

// function(what the group asks for)
template <class S, class T, class Element, int queries, class Function>
void ask_ahead(const Tile<T>& tile, std::int64_t width, int first, bool asks, Function function) {
    if constexpr (queries == 1 && sizeof(Element) > 2)
        if (tile.vectors == 1 && tile.ahead == Ahead::next_rows)
            return function(NextRows{});
    const Turns turns = asks && tile.ahead != Ahead::asked
                            ? turns_of_group<S, T, Element>(tile, width, first)
                            : Turns{};
    if (turns.steps == 0)
        return function(NoRows{});
    function(turns);
}

// Inline, or the compiler takes it for a function that does nothing.
template <int most, class Element>
[[gnu::always_inline]] inline void fetch(const Element* row, std::int64_t stride,
                                         std::int64_t apart, NextRows, std::int64_t) {
#pragma GCC unroll 8
    for (int i = 0; i < most; ++i)
        __builtin_prefetch(row + next_keys * stride + i * apart, 0, 3);
}

template <int, class Element>
[[gnu::always_inline]] inline void fetch(const Element*, std::int64_t, std::int64_t, NoRows,
                                         std::int64_t) {}

template <int most, class Element>
[[gnu::always_inline]] inline void fetch(const Element* row, std::int64_t stride,
                                         std::int64_t apart, Turns turns, std::int64_t step) {
    constexpr int lines = most < 4 ? most : 4;
    if ((turns.steps >> (step % 32) & 1) == 0)
        return;
    const Element* const first = row + turns.keys * stride;
    if (turns.into_first_cache) {
#pragma GCC unroll 4
        for (int i = 0; i < lines; ++i)
            __builtin_prefetch(first + i * apart, 0, 3);
    } else {
#pragma GCC unroll 4
        for (int i = 0; i < lines; ++i)
            __builtin_prefetch(first + i * apart, 0, 2);
    }
}

// function(the first key, how many)
template <class S, class Element, class T, class Function>
void in_near_keys(const Tile<T>& tile, std::int64_t width, std::int64_t keys, Function function) {
    const std::int64_t step = is_alone<S>(tile) ? keys : near_keys<Element>(width);
    for (std::int64_t key = 0; key < keys; key += step)
        function(key, keys - key < step ? keys - key : step);
}

// v, which the compiler may read again for each use unless `once`.
template <class S, bool once, class Vector>
[[gnu::always_inline]] inline Vector read_once_if(Vector v) {
    if constexpr (once)
        return S::read_once(v);
    else
        return v;
}

} // namespace
