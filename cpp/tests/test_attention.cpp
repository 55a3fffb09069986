// Exponentials and hyperbolic tangents of every target against the C library in more precision, and
// against each other to the last bit; rows that become lanes, and lanes that become rows; tiles
// that meet two blocks, on every target to the last bit.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "targets/dispatch.hpp"

namespace {

using ropewalk::Ahead;
using ropewalk::AttentionKernels;
using ropewalk::block_keys;
using ropewalk::Kernels;
using ropewalk::Tile;

int failures = 0;

void expect(bool condition, const char* isa, const char* what) {
    if (!condition) {
        std::printf("%s: %s\n", isa, what);
        ++failures;
    }
}

template <class T>
const AttentionKernels<T>& kernels_of(const Kernels& kernels);
template <>
const AttentionKernels<float>& kernels_of(const Kernels& kernels) {
    return kernels.float32.attention;
}
template <>
const AttentionKernels<double>& kernels_of(const Kernels& kernels) {
    return kernels.float64.attention;
}

// A tile of one vector, whose first key has logit 0, the greatest: other weights are e^logit. None
// of its logits is said to be smaller than the smallest of all.
template <class T>
std::vector<T> exponentials(const Kernels& kernels, std::vector<T> x, T smallest_of_all) {
    const auto& attention = kernels_of<T>(kernels);
    const auto lanes = static_cast<std::size_t>(attention.lanes);
    const std::size_t room = (block_keys - 1) * lanes;
    for (std::size_t begin = 0; begin < x.size(); begin += room) {
        std::vector<T> logits(block_keys * lanes), smallest(lanes, smallest_of_all), maximum(lanes);
        std::vector<double> sum(lanes);
        const auto first = x.begin() + static_cast<std::ptrdiff_t>(begin);
        const std::size_t count = std::min(room, x.size() - begin);
        std::copy_n(first, count, logits.begin() + static_cast<std::ptrdiff_t>(lanes));
        Tile<T> tile{};
        tile.vectors = 1;
        tile.logits = logits.data();
        tile.smallest = smallest.data();
        tile.maximum = maximum.data();
        tile.sum = sum.data();
        tile.keys[0] = block_keys;
        attention.many.weigh(tile);
        std::copy_n(logits.begin() + static_cast<std::ptrdiff_t>(lanes), count, first);
    }
    return x;
}

// With a cap of 1 the capped logits of a tile of one vector are their tangents.
template <class T>
std::vector<T> tangents(const Kernels& kernels, std::vector<T> x) {
    const auto& attention = kernels_of<T>(kernels);
    const auto lanes = static_cast<std::size_t>(attention.lanes);
    x.resize((x.size() + lanes - 1) / lanes * lanes);
    std::vector<T> largest(lanes), smallest(lanes);
    Tile<T> tile{};
    tile.vectors = 1;
    tile.logits = x.data();
    tile.largest = largest.data();
    tile.smallest = smallest.data();
    tile.keys[0] = static_cast<std::int64_t>(x.size() / lanes);
    attention.many.cap(tile, T{1});
    return x;
}

template <class T>
long double unit_in_last_place(long double value) {
    int exponent = 0;
    std::frexp(value, &exponent);
    return std::ldexp(1.0L, std::max(exponent, std::numeric_limits<T>::min_exponent) -
                                std::numeric_limits<T>::digits);
}

// Some systems have no long double that is more exact than double: 0 there.
template <class T>
double largest_error(const std::vector<T>& x, const std::vector<T>& y,
                     long double (*function)(long double)) {
    long double largest = 0;
    if (std::numeric_limits<long double>::digits == std::numeric_limits<T>::digits)
        return 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const long double exact = function(static_cast<long double>(x[i]));
        const long double error = std::abs(static_cast<long double>(y[i]) - exact);
        largest = std::max(largest, error / unit_in_last_place<T>(exact));
    }
    return static_cast<double>(largest);
}

// The smallest exponential that counts.
template <class T>
constexpr T smallest_weight =
    sizeof(T) == 4 ? static_cast<T>(0x1p-100) : std::numeric_limits<T>::min();

// Arguments of every size, between 0 and the one whose exponential is the smallest that counts,
// and near halves of ln 2, where the reduction of arguments changes its mind.
template <class T>
std::vector<T> arguments() {
    std::vector<T> all;
    const T smallest = std::log(smallest_weight<T>);
    // Where long double has 113 bits it is software, and slow.
    const int thinner = std::numeric_limits<long double>::digits > 64 ? 30 : 1;
    for (double size = 1e-30; size < -static_cast<double>(smallest); size *= 1 + 0.00003 * thinner)
        all.push_back(static_cast<T>(-size));
    for (T x = 0; x > smallest; x -= static_cast<T>(0.00021701 * thinner))
        all.push_back(x);
    for (int n = 0; n < 120; ++n) {
        T x = static_cast<T>(-(n + 0.5) * 0.693147180559945309417);
        for (int i = 0; i < 50; ++i, x = std::nextafter(x, T{0}))
            all.push_back(x);
    }
    std::erase_if(all, [&](T x) { return x <= smallest; });
    return all;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Every element says where it was; 35 columns are whole blocks and some more.
template <class T>
void check_turning(const Kernels& kernels) {
    const auto& attention = kernels_of<T>(kernels);
    const auto lanes = static_cast<std::size_t>(attention.lanes);
    const std::size_t columns = 35, stride = lanes + 8;
    std::vector<T> rows(lanes * columns), turned(columns * stride);
    std::vector<const T*> starts(lanes);
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i] = static_cast<T>(i);
    for (std::size_t row = 0; row < lanes; ++row)
        starts[row] = rows.data() + row * columns;
    const auto count = static_cast<std::int64_t>(columns), step = static_cast<std::int64_t>(stride);
    attention.lane.rows_to_lanes(starts.data(), count, step, turned.data());
    bool right = true;
    for (std::size_t i = 0; i < turned.size(); ++i) {
        const std::size_t row = i % stride, column = i / stride;
        right &= turned[i] == (row < lanes ? static_cast<T>(row * columns + column) : T{0});
    }
    expect(right, kernels.isa, "rows become other lanes");

    // Two vectors of outputs, whose sums are 2: queries are lanes, and all but one are wanted.
    const std::size_t queries = 2 * lanes - 1;
    std::vector<double> outputs(columns * 2 * lanes), sums(2 * lanes, 2.0);
    for (std::size_t i = 0; i < outputs.size(); ++i)
        outputs[i] = static_cast<double>(2 * i);
    std::vector<T> back((queries + 1) * columns, T{-1});
    Tile<T> tile{};
    tile.vectors = 2;
    tile.value_dim = count;
    tile.sum = sums.data();
    tile.output = outputs.data();
    attention.many.divide(tile, static_cast<std::int64_t>(queries), back.data());
    right = true;
    for (std::size_t i = 0; i < back.size(); ++i) {
        const std::size_t row = i / columns, column = i % columns;
        right &= back[i] == (row < queries ? static_cast<T>(column * 2 * lanes + row) : T{-1});
    }
    expect(right, kernels.isa, "lanes become other rows");
}

// Numbers from -1 to 1 without a pattern, the same everywhere.
template <class T>
std::vector<T> numbers(std::size_t count, std::uint64_t seed) {
    std::vector<T> all;
    for (std::size_t i = 0; i < count; ++i) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        all.push_back(static_cast<T>(static_cast<double>(seed >> 40) * 0x1p-23 - 1));
    }
    return all;
}

// Checks what a tile of three vectors, or of few queries, says of the logits of its block.
template <class T>
void expect_extremes(const Kernels& kernels, const Tile<T>& tile, std::size_t queries, bool few) {
    for (std::size_t i = 0; i < queries; ++i) {
        const T* const logits = tile.logits + (few ? i * block_keys : i);
        const std::size_t apart = few ? 1 : queries;
        T largest = -std::numeric_limits<T>::infinity(), smallest = 0;
        for (std::int64_t key = 0; key < tile.keys[few ? 0 : i / (queries / 3)]; ++key) {
            largest = std::max(largest, logits[static_cast<std::size_t>(key) * apart]);
            smallest = std::min(smallest, logits[static_cast<std::size_t>(key) * apart]);
        }
        expect(tile.largest[i] == largest && tile.smallest[i] == smallest, kernels.isa,
               "other extremes than the logits have");
    }
}

// What a tile needs beside keys and values, as a block before has left it.
template <class T>
struct Memory {
    std::vector<T> logits, largest, smallest, maximum;
    std::vector<double> sum, rescale, output;

    Memory(std::size_t queries, std::int64_t value_dim)
        : logits(block_keys * queries), largest(queries, 1e30F), smallest(queries, -1e30F),
          maximum(queries, -std::numeric_limits<T>::max()), sum(queries), rescale(queries),
          output(static_cast<std::size_t>(value_dim) * queries, -1e30) {}

    Tile<T> tile(int vectors, std::int64_t dim, std::int64_t value_dim, const T* queries,
                 std::int64_t keys) {
        return {vectors,
                dim,
                value_dim,
                queries,
                logits.data(),
                largest.data(),
                smallest.data(),
                maximum.data(),
                sum.data(),
                rescale.data(),
                output.data(),
                nullptr,
                true,
                Ahead::nothing,
                false,
                false,
                false,
                {keys, keys, keys},
                {keys, keys, keys},
                {}};
    }
};

// Everything that changes the logits of some queries to the keys of a block.
template <class T>
struct Changes {
    std::int64_t keys;
    std::vector<T> bias, begin, end;
    std::vector<std::uint8_t> bytes;
    std::vector<const T*> bias_rows;
    std::vector<const std::uint8_t*> mask_rows;
    std::vector<double> places, slopes;

    Changes(std::size_t queries, std::int64_t keys_)
        : keys(keys_), bias(numbers<T>(queries * static_cast<std::size_t>(keys), 4)) {
        // Biases of every kind: what overflows beside a logit, what masks, and what does neither.
        const auto row = static_cast<std::size_t>(keys);
        for (std::size_t i = 0; i < bias.size(); i += 5)
            bias[i] = i % 3 == 0 ? -std::numeric_limits<T>::infinity()
                                 : -std::numeric_limits<T>::max() * static_cast<T>(i % 2);
        for (std::size_t i = 0; i < bias.size(); i += row)
            bias[i] = -std::numeric_limits<T>::infinity();
        for (const T number : numbers<T>(bias.size(), 5))
            bytes.push_back(number < static_cast<T>(0.7) ? std::uint8_t{1} : std::uint8_t{0});
        for (std::size_t i = 0; i < queries; ++i) {
            bias_rows.push_back(bias.data() + i * row);
            mask_rows.push_back(bytes.data() + i * row);
            places.push_back(static_cast<double>(i));
            slopes.push_back(i % 7 == 0 ? 1e308 : 0.01 * static_cast<double>(i));
            begin.push_back(static_cast<T>(i % 4));
            end.push_back(static_cast<T>(i % 5 == 0 ? 2 : 20 + i % 18));
        }
    }

    // Calls look() after each; `first` is the first key of the block.
    template <class Look>
    void make(const ropewalk::LogitKernels<T>& kernels,
              const ropewalk::TileKernels<T>& tile_kernels, const Tile<T>& tile, std::int64_t first,
              Look look) const {
        kernels.add_bias(tile, bias_rows.data());
        look();
        kernels.add_slopes(tile, static_cast<double>(first), places.data(), slopes.data());
        look();
        kernels.hide_outside(tile, 0, 3, begin.data(), end.data());
        kernels.hide_outside(tile, 3, keys, begin.data(), end.data());
        tile_kernels.find_extremes(tile);
        look();
        kernels.hide_masked(tile, mask_rows.data());
        look();
    }
};

// Three vectors of queries meet two blocks of keys, the second with every change of logits. Returns
// logits and weights of both, results and maxima.
template <class T>
std::vector<T> attended(const Kernels& kernels) {
    const auto& attention = kernels_of<T>(kernels);
    constexpr std::int64_t dim = 19, value_dim = 21, keys = 37;
    const auto queries = static_cast<std::size_t>(3 * attention.lanes);
    const auto query = numbers<T>(dim * queries, 1), key = numbers<T>(2 * keys * dim, 2);
    auto value = numbers<T>(2 * keys * value_dim, 3);
    value[keys * value_dim + 2] = std::numeric_limits<T>::quiet_NaN(); // of a key that none sees
    Memory<T> memory(queries, value_dim);
    Tile<T> tile = memory.tile(3, dim, value_dim, query.data(), keys);
    const std::vector<T>&logits = memory.logits, &maximum = memory.maximum;

    const Changes<T> changes(queries, keys);
    std::vector<T> all;
    const auto show = [&] { // what each vector meets
        for (std::size_t i = 0; i < keys * queries; ++i)
            if (static_cast<std::int64_t>(i / queries) < tile.keys[i % queries / (queries / 3)])
                all.push_back(logits[i]);
    };
    for (const std::int64_t first : {std::int64_t{0}, keys}) {
        const ropewalk::Rows rows{key.data() + first * dim, dim, keys};
        const ropewalk::Rows values{value.data() + first * value_dim, value_dim, keys};
        const auto look = [&] { expect_extremes(kernels, tile, queries, false); };
        attention.many.score(tile, rows, T{3}, first == 0 ? &values : nullptr);
        if (first == 0)
            look();
        else {
            attention.many.cap(tile, T{2});
            look();
            changes.make(attention.logits_of_many, attention.many, tile, first, look);
        }
        show();
        const std::vector<T> unweighed = logits;
        attention.many.raise(tile);
        attention.many.weigh(tile);
        show();
        if (attention.many.all_finite(values, value_dim))
            attention.many.accumulate(tile, values);
        else
            attention.many.accumulate_seen(tile, values, unweighed.data());
        tile.empty = false;
        tile.keys[0] = 11;
        tile.keys[1] = 36;
    }
    const std::size_t shown = all.size();
    all.resize(shown + queries * value_dim);
    attention.many.divide(tile, static_cast<std::int64_t>(queries), all.data() + shown);
    all.insert(all.end(), maximum.begin(), maximum.end());
    return all;
}

// To accumulate the last block and to divide in one gives what two steps give, whether a block came
// before or not; all but some of the queries are wanted, and vectors meet fewer keys than the next,
// as do their first halves.
void expect_same_last(const Kernels& kernels, int vectors, std::int64_t value_dim,
                      std::int64_t stride, std::int64_t unwanted) {
    const auto& attention = kernels.float32.attention;
    constexpr std::int64_t dim = 5, keys = 29;
    const auto lanes = static_cast<std::size_t>(vectors * attention.lanes);
    const auto queries = static_cast<std::int64_t>(lanes) - unwanted;
    const auto query = numbers<float>(dim * lanes, 1), key = numbers<float>(keys * dim, 2);
    const auto value = numbers<float>(static_cast<std::size_t>(keys * stride), 3);
    const ropewalk::Rows rows{key.data(), dim, keys}, values{value.data(), stride, keys};
    Memory<float> memory(lanes, value_dim);
    Tile<float> tile = memory.tile(vectors, dim, value_dim, query.data(), keys);
    for (int i = 0; i < vectors - 1; ++i)
        tile.keys[i] = 11 + i;
    std::vector<float> begin(lanes, 0), end(lanes);
    for (std::size_t i = 0; i < lanes; ++i) {
        const auto lane = static_cast<std::int64_t>(i);
        const std::int64_t vector = lane / attention.lanes, in_vector = lane % attention.lanes;
        tile.half_keys[vector] = 5 + vector;
        end[i] = static_cast<float>(in_vector < attention.lanes / 2 ? tile.half_keys[vector]
                                                                    : tile.keys[vector]);
    }
    const auto elements = static_cast<std::size_t>((queries + 1) * value_dim);
    // The only block; the last of several, of which those before were hidden or not.
    for (int block = 0; block < 3; ++block) {
        tile.empty = block < 2;
        attention.many.score(tile, rows, static_cast<float>(1 + block), nullptr);
        attention.logits_of_many.hide_outside(tile, 0, keys, begin.data(), end.data());
        attention.many.find_extremes(tile);
        attention.many.raise(tile);
        attention.many.weigh(tile);
        std::vector<float> at_once(elements, 7), in_two(elements, 7);
        std::fill_n(tile.one_block, 3, block == 0 ? ~0U : 0U);
        if (block > 0)
            tile.one_block[1] = 0x1234;
        attention.many.accumulate_last(tile, values, queries, at_once.data());
        attention.many.accumulate(tile, values);
        tile.empty = false;
        attention.many.divide(tile, queries, in_two.data());
        expect(same_bits(at_once, in_two), kernels.isa, "another last block");
    }
}

// function(tile, some rows, whether they are the last) of few queries and sixteen keys of a block
// at a time.
template <class T, class Function>
void each_piece(Tile<T> tile, const ropewalk::Rows& rows, Function function) {
    constexpr std::int64_t most = 16;
    for (std::int64_t place = 0; place < rows.count; place += most, tile.logits += most) {
        const std::int64_t count = tile.keys[0] = std::min(most, rows.count - place);
        const T* const first = static_cast<const T*>(rows.first) + place * rows.stride;
        function(tile, ropewalk::Rows{first, rows.stride, count}, place + count == rows.count);
    }
}

// The logits of a block, a row a query, as they are or as they come piece by piece.
template <class T>
std::vector<T> logits_of(const Tile<T>& tile) {
    std::vector<T> all;
    for (int query = 0; query < tile.vectors; ++query)
        all.insert(all.end(), tile.logits + query * block_keys,
                   tile.logits + query * block_keys + tile.keys[0]);
    return all;
}
template <class T>
std::vector<T> logits_in_pieces(const ropewalk::TileKernels<T>& few, Tile<T> tile,
                                const ropewalk::Rows& keys) {
    const auto queries = static_cast<std::size_t>(tile.vectors);
    std::vector<T> logits(queries * block_keys), largest(queries), smallest(queries);
    tile.logits = logits.data();
    tile.largest = largest.data();
    tile.smallest = smallest.data();
    each_piece(tile, keys, [&](const Tile<T>& some, const ropewalk::Rows& rows, bool) {
        few.score(some, rows, T{3}, nullptr);
    });
    return logits_of(tile);
}

// What becomes of a tile's output as values are accumulated at once or piece by piece. Where there
// are rows for it, the last of them are divided.
template <class T>
std::vector<double> accumulated(const ropewalk::TileKernels<T>& few, Tile<T> tile,
                                const ropewalk::Rows& values, bool in_pieces, T* result = nullptr) {
    const auto queries = static_cast<std::size_t>(tile.vectors);
    std::vector<double> output(tile.output, tile.output + tile.vectors * tile.value_dim);
    std::vector<T> sums(queries * static_cast<std::size_t>(tile.value_dim + 128));
    tile.output = output.data();
    const auto finish = [&](const Tile<T>& last, const ropewalk::Rows& rows) {
        if (result != nullptr)
            few.accumulate_last(last, rows, tile.vectors, result);
        else
            few.accumulate(last, rows);
    };
    if (!in_pieces) {
        finish(tile, values);
        return output;
    }
    tile.sums = sums.data();
    each_piece(tile, values, [&](const Tile<T>& some, const ropewalk::Rows& rows, bool last) {
        last ? finish(some, rows) : few.add_values(some, rows);
    });
    return output;
}

// As attended, with so few queries that lanes are features. Returns results and maxima.
template <class T, std::size_t queries>
std::vector<T> attended_by_few(const Kernels& kernels, Ahead ahead, bool large_first_cache,
                               bool waits, bool near) {
    const auto type = sizeof(T) == 4 ? ropewalk::Type::float32 : ropewalk::Type::float64;
    const auto& attention = kernels_of<T>(kernels);
    const auto& few = attention.few[static_cast<std::size_t>(type)];
    constexpr std::int64_t dim = 19, value_dim = 137, keys = 45; // two strips of values and more
    const Changes<T> changes(queries, keys);
    const auto query = numbers<T>(queries * dim, 1), key = numbers<T>(2 * keys * dim, 2);
    auto value = numbers<T>(2 * keys * value_dim, 3);
    value[keys * value_dim + 2] = std::numeric_limits<T>::quiet_NaN();
    Memory<T> memory(queries, value_dim);
    Tile<T> tile = memory.tile(queries, dim, value_dim, query.data(), keys);
    tile.ahead = ahead;
    tile.large_first_cache = large_first_cache;
    tile.waits_for_second_cache = waits;
    tile.near = near;
    std::vector<T> all(queries * value_dim), at_once = all;
    for (const std::int64_t first : {std::int64_t{0}, keys}) {
        const ropewalk::Rows rows{key.data() + first * dim, dim, keys};
        const ropewalk::Rows values{value.data() + first * value_dim, value_dim, keys};
        few.score(tile, rows, T{3}, nullptr);
        expect(same_bits(logits_in_pieces(few, tile, rows), logits_of(tile)), kernels.isa,
               "other logits piece by piece");
        expect_extremes(kernels, tile, queries, true);
        few.cap(tile, T{2});
        expect_extremes(kernels, tile, queries, true);
        if (first != 0)
            changes.make(attention.logits_of_few, few, tile, first,
                         [&] { expect_extremes(kernels, tile, queries, true); });
        for (std::size_t i = 0; i < queries; ++i)
            memory.logits[i * block_keys] = -std::numeric_limits<T>::infinity();
        const std::vector<T> unweighed = memory.logits;
        few.find_extremes(tile);
        expect_extremes(kernels, tile, queries, true);
        few.raise(tile);
        few.weigh(tile);
        if (few.all_finite(values, value_dim)) {
            std::vector<T> in_pieces = at_once;
            accumulated(few, tile, values, false, at_once.data());
            accumulated(few, tile, values, true, in_pieces.data());
            expect(same_bits(in_pieces, at_once), kernels.isa, "other results piece by piece");
            for (const bool empty : {false, true}) {
                tile.empty = empty;
                expect(accumulated(few, tile, values, true) ==
                           accumulated(few, tile, values, false),
                       kernels.isa, "other outputs piece by piece");
            }
            few.accumulate(tile, values);
        } else {
            few.accumulate_seen(tile, values, unweighed.data());
        }
        tile.empty = false;
        if (first == 0) {
            few.divide(tile, queries, all.data());
            expect(same_bits(at_once, all), kernels.isa, "another last block of few");
        }
    }
    few.divide(tile, queries, all.data());
    all.insert(all.end(), memory.maximum.begin(), memory.maximum.end());
    return all;
}

// What changes logits does the same whether lanes are queries or keys.
template <class T>
void expect_same_changes(const Kernels& kernels) {
    const auto& attention = kernels_of<T>(kernels);
    const auto& few = attention.few[static_cast<std::size_t>(
        sizeof(T) == 4 ? ropewalk::Type::float32 : ropewalk::Type::float64)];
    for (const std::int64_t keys : {1, 16, 29, 64}) {
        const auto queries = static_cast<std::size_t>(attention.lanes);
        const Changes<T> changes(queries, keys);
        Memory<T> as_lanes(queries, 1), as_rows(queries, 1);
        auto logits = numbers<T>(static_cast<std::size_t>(keys) * queries, 6);
        logits[0] = std::numeric_limits<T>::infinity();
        logits.back() = -std::numeric_limits<T>::infinity();
        const auto in_row = [&](std::size_t i) { return i % queries * block_keys + i / queries; };
        for (std::size_t i = 0; i < logits.size(); ++i)
            as_lanes.logits[i] = as_rows.logits[in_row(i)] = logits[i];
        std::vector<T> of_lanes, of_rows;
        changes.make(attention.logits_of_many, attention.many,
                     as_lanes.tile(1, 1, 1, nullptr, keys), 40, [&] {
                         for (std::size_t i = 0; i < logits.size(); ++i)
                             of_lanes.push_back(as_lanes.logits[i]);
                     });
        changes.make(attention.logits_of_few, few,
                     as_rows.tile(static_cast<int>(queries), 1, 1, nullptr, keys), 40, [&] {
                         for (std::size_t i = 0; i < logits.size(); ++i)
                             of_rows.push_back(as_rows.logits[in_row(i)]);
                     });
        expect(same_bits(of_lanes, of_rows), kernels.isa, "other changes of logits of few queries");
    }
}

template <class T>
bool has_nan(const std::vector<T>& all) {
    return std::any_of(all.begin(), all.end(), [](T x) { return std::isnan(x); });
}

// Whatever is asked for ahead, be it this processor's way or another's.
template <class T, std::size_t queries>
void expect_same_few(const Kernels& kernels, const Kernels& scalar) {
    const auto there = attended_by_few<T, queries>(scalar, Ahead::nothing, false, false, false);
    for (const Ahead ahead : {Ahead::nothing, Ahead::next_rows, Ahead::far_rows, Ahead::asked})
        for (const bool large_first_cache : {false, true})
            for (const bool waits : {false, true})
                for (const bool near : {false, true}) {
                    const auto here =
                        attended_by_few<T, queries>(kernels, ahead, large_first_cache, waits, near);
                    expect(same_bits(here, there), kernels.isa, "other results of few queries");
                    expect(!has_nan(here), kernels.isa,
                           "a value that no query sees shows to a few");
                }
}

template <class T>
void check() {
    const std::vector<T> x = arguments<T>();
    std::vector<T> both_signs = x;
    for (const T value : x)
        both_signs.push_back(-value);
    const T infinity = std::numeric_limits<T>::infinity();
    const Kernels& scalar = *ropewalk::supported_kernels().back();
    const std::vector<T> exponentials_there = exponentials<T>(scalar, x, -infinity);
    const std::vector<T> tangents_there = tangents<T>(scalar, both_signs);
    const auto exp = [](long double v) { return std::exp(v); };
    const auto tanh = [](long double v) { return std::tanh(v); };
    std::printf("float%zu: e^x %.3f, tanh %.3f units in the last place\n", 8 * sizeof(T),
                largest_error<T>(x, exponentials_there, exp),
                largest_error<T>(both_signs, tangents_there, tanh));
    expect(largest_error<T>(x, exponentials_there, exp) < 1.1, "scalar",
           "e^x is off by more than a unit and a tenth");
    expect(largest_error<T>(both_signs, tangents_there, tanh) < 3, "scalar",
           "tanh is off by three units");
    expect(std::all_of(tangents_there.begin(), tangents_there.end(),
                       [](T v) { return std::abs(v) <= 1; }),
           "scalar", "tanh is above 1");

    const T nan = std::numeric_limits<T>::quiet_NaN();
    const T smallest = smallest_weight<T>, least = std::log(smallest);
    for (const Kernels* kernels : ropewalk::supported_kernels()) {
        const char* const isa = kernels->isa;
        check_turning<T>(*kernels);
        expect(same_bits(attended<T>(*kernels), attended<T>(scalar)), isa, "other results");
        expect(!has_nan(attended<T>(*kernels)), isa, "a value that no query sees shows");
        expect_same_changes<T>(*kernels);
        expect_same_few<T, 1>(*kernels, scalar);
        expect_same_few<T, 2>(*kernels, scalar);
        expect_same_few<T, 7>(*kernels, scalar);
        // Some kernels take shorter steps where all weights count.
        for (const T smallest_of_all : {*std::min_element(x.begin(), x.end()), -infinity})
            expect(same_bits(exponentials<T>(*kernels, x, smallest_of_all), exponentials_there),
                   isa, "other bits");
        expect(same_bits(tangents<T>(*kernels, both_signs), tangents_there), isa, "other bits");
        const std::vector<T> edges = exponentials<T>(
            *kernels, {0, -infinity, nan, least + least / 64, -std::numeric_limits<T>::max()},
            -infinity);
        expect(std::isnan(exponentials<T>(*kernels, {nan}, T{0})[0]), isa, "e^NaN");
        expect(edges[0] == 1 && edges[1] == 0 && std::isnan(edges[2]) && edges[3] == 0 &&
                   edges[4] == 0,
               isa, "e^x of 0, -inf, NaN and of what is too small to count");
        T at = least;
        for (int i = 0; i < 10; ++i)
            at = std::nextafter(at, -infinity);
        for (int i = 0; i < 20; ++i, at = std::nextafter(at, T{0})) {
            const T value = exponentials<T>(*kernels, {at}, at)[0];
            expect(value == 0 || value >= smallest, isa, "a weight is smaller than counts");
        }
        const std::vector<T> far = tangents<T>(*kernels, {infinity, -infinity, nan, T{1000}, 0});
        expect(far[0] == 1 && far[1] == -1 && std::isnan(far[2]) && far[3] == 1 && far[4] == 0, isa,
               "tanh of infinities, NaN, 1000 and 0");
    }
}

} // namespace

int main() {
    check<float>();
    check<double>();
    for (const Kernels* kernels : ropewalk::supported_kernels())
        for (const int vectors : {1, 2, 3})
            for (const std::int64_t value_dim : {16 + 3, 2 * 16 + 8 + 3, 3 * 16}) {
                expect_same_last(*kernels, vectors, value_dim, value_dim, 1);
                for (const std::int64_t unwanted : {1, 9}) // rows so far apart are copied
                    expect_same_last(*kernels, vectors, value_dim, 160, unwanted);
            }
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
