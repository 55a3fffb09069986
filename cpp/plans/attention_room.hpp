// What a thread needs for a tile of queries, and what it knows of them.
#pragma once

#include <algorithm>
#include <type_traits>

#include "plans/attention_packing.hpp"

namespace ropewalk {

// Keys that a query sees, or parts of them, from begin up to end.
struct Interval {
    std::int64_t begin, end;
};

// Queries of a tile, from first up to end, that follow each other in one head, and what that has.
template <class T>
struct Stretch {
    std::int64_t first, end, row; // the row of the first one in its head
    std::int64_t offset, keys;
    double slope, sink;
    const char* data; // of the head's first row, as the next two
    const std::uint8_t* mask;
    const T* bias;

    std::int64_t row_of(std::int64_t query) const { return row + query - first; }
    // Its position, where the first key's is 0.
    std::int64_t place_of(std::int64_t query) const { return row_of(query) + offset; }
};

// A block of keys that is scored, those of its keys that some query may not see, and its values.
struct Scored {
    Interval block, hidden;
    Rows values;
};

// What one thread needs for a tile of queries, which has scored so many blocks at once, or adds so
// many features of values piece by piece. Made with no memory it says how much it needs.
template <class T>
struct Room {
    T *queries, *logits, *unweighed, *keys, *values, *sums, *rows, *largest, *smallest, *maximum,
        *begin, *end;
    double *sum, *rescale, *output, *places, *slopes;
    const T** starts;
    const std::uint8_t** masks;
    std::uint8_t* gathered_masks;
    T* gathered_biases;
    Stretch<T>* stretches;
    Scored* scored;
    std::int64_t features; // of the sums of a query
    std::int64_t bytes = 0;

    Room(const Attention& a, const Scores<T>& bias, const Packing<T>& packing, bool converted,
         std::int64_t count, std::int64_t blocks, std::int64_t features_, char* memory)
        : features(features_) {
        const auto take = [&](auto*& array, std::int64_t elements) {
            using Element = std::remove_reference_t<decltype(*array)>;
            array = memory == nullptr ? nullptr : reinterpret_cast<Element*>(memory + bytes);
            bytes += (elements * static_cast<std::int64_t>(sizeof(Element)) + 63) / 64 * 64;
        };
        take(queries, packing.query_width() * count);
        take(logits, block_keys * count * blocks);
        take(unweighed, block_keys * count);
        take(keys, converted || packing.pairs() != nullptr ? block_keys * a.dim : 0);
        take(values, converted ? block_keys * a.value_dim : 0);
        take(sums, features * count);
        take(rows,
             packing.reads_queries() ? std::max(packing.query_width(), a.value_dim) * count : 0);
        take(largest, count * blocks);
        take(smallest, count * blocks);
        take(maximum, count);
        take(begin, count);
        take(end, count);
        take(sum, count);
        take(rescale, count);
        take(output, packing.output_width() * count);
        take(places, count);
        take(slopes, count);
        take(starts, count);
        take(masks, count);
        take(gathered_masks, a.mask.lie_apart() ? block_keys * count : 0);
        take(gathered_biases, bias.lie_apart() ? block_keys * count : 0);
        take(stretches, count);
        take(scored, blocks);
    }
};

} // namespace ropewalk
