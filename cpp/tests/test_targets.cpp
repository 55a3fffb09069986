// Whole calls have the same bits on every target: tables, rotations, attention, its parts merged,
// softmax.
#include <cstdio>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "plans/attention.hpp"
#include "plans/encodings.hpp"
#include "plans/merging.hpp"
#include "plans/rotary.hpp"
#include "plans/softmax.hpp"
#include "plans/transposing.hpp"
#include "targets/dispatch.hpp"

namespace {

using namespace ropewalk;
using Bytes = std::vector<char>;
struct alignas(64) Line {
    char bytes[64];
};

void append(Bytes& all, const std::vector<double>& numbers) {
    const auto* const bytes = reinterpret_cast<const char*>(numbers.data());
    all.insert(all.end(), bytes, bytes + numbers.size() * sizeof(double));
}

constexpr Type all_types[] = {Type::float32, Type::float16, Type::bfloat16, Type::float64};

std::vector<Frequency> frequencies(std::size_t pairs = 37) {
    std::mt19937_64 random(1);
    std::vector<Frequency> result(pairs);
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = {{random(), random(), random() >> (i % 40), 0}};
    return result;
}

Bytes table(const Kernels& kernels, std::int64_t pairs, Stores stores) {
    const Frequencies turning(kernels, frequencies(static_cast<std::size_t>(pairs)), 1);
    constexpr std::int64_t rows = 150, past_line = 16; // as NumPy's large arrays begin
    Bytes all;
    for (const Type type : all_types)
        for (const Layout layout : {Layout::sine_first, Layout::cosine_first, Layout::apart}) {
            const std::int64_t bytes = rows * 2 * pairs * element_bytes(type);
            std::vector<Line> room(static_cast<std::size_t>(past_line + bytes) / sizeof(Line) + 1);
            const bool apart = layout == Layout::apart;
            char* const first = room.front().bytes + past_line;
            char* const second = first + bytes / 2;
            fill_table(kernels, turning, {rows, -40, 3}, 1.25, type, layout,
                       {first, apart ? second : nullptr, apart ? pairs : 2 * pairs, rows, pairs},
                       stores, 1);
            all.insert(all.end(), first, first + bytes);
        }
    return all;
}

// Rows that take turns in lines, and whole lines, which can pass the cache.
Bytes tables(const Kernels& kernels) {
    Bytes all = table(kernels, 37, Stores::cached);
    const Bytes cached = table(kernels, 40, Stores::cached),
                streamed = table(kernels, 40, Stores::streamed);
    for (const Bytes& more : {cached, streamed})
        all.insert(all.end(), more.begin(), more.end());
    if (cached != streamed)
        all.clear();
    return all;
}

// Numbers of a type, as its bytes: normally distributed.
Bytes data_of(Type type, std::int64_t count, unsigned seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    Bytes bytes(static_cast<std::size_t>(count * element_bytes(type)));
    const Kernels& scalar = *supported_kernels().back();
    std::vector<double> numbers(static_cast<std::size_t>(count));
    for (double& number : numbers)
        number = normal(random);
    scalar.float64.write[static_cast<std::size_t>(type)](numbers.data(), count, bytes.data());
    return bytes;
}

Bytes rotations(const Kernels& kernels) {
    const Frequencies turning(kernels, frequencies(), 1);
    constexpr std::int64_t heads = 3, rows = 29, dim = 77;
    Bytes all;
    for (const Type type : all_types)
        for (const Pairing pairing : {Pairing::interleaved, Pairing::half}) {
            const Bytes x = data_of(type, heads * rows * dim, 2);
            Bytes y(x.size());
            const RotaryData data{
                type,     x.data(),
                y.data(), {{heads, rows * dim, rows * dim, false}, {rows, dim, dim, true}},
                dim,      37,
                pairing};
            rotate(kernels, turning, {rows, 1000000, 7}, 1.5, Direction::backwards, data,
                   Stores::cached, 1);
            all.insert(all.end(), y.begin(), y.end());
        }
    return all;
}

// Rows without gaps, asked for ahead or not and streamed or not, whatever a processor takes of
// that.
Bytes rotations_without_gaps(const Kernels& kernels) {
    constexpr std::int64_t copies = 5, rows = 4, repeats = 6, pairs = 32, width = 2 * pairs;
    constexpr std::int64_t copy = rows * repeats * width;
    constexpr auto bfloat16 = Type::bfloat16;
    const bool in_lines = rounds_lines(kernels);
    std::vector<std::pair<Type, void (*)(const Rotation&)>> ways{
        {bfloat16, in_lines ? kernels.lines.rotate_interleaved
                            : kernels.rotate_interleaved[static_cast<int>(bfloat16)]},
        {bfloat16,
         in_lines ? kernels.lines.rotate_half : kernels.rotate_half[static_cast<int>(bfloat16)]}};
    for (const Type type : all_types)
        for (const auto& way : {kernels.rotate_interleaved, kernels.rotate_half})
            ways.emplace_back(type, way[static_cast<int>(type)]);
    Bytes all;
    for (const auto& [type, rotate] : ways) {
        const Bytes x = data_of(type, copies * copy, 8);
        const Bytes table =
            data_of(type == Type::float64 ? type : Type::float32, rows * repeats * width, 9);
        for (const Ahead ahead :
             {Ahead::nothing, Ahead::next_rows, Ahead::far_rows, Ahead::far_rows_to_second})
            for (const bool streamed : {false, true})
                for (const std::int64_t some : {std::int64_t{1}, repeats}) {
                    if (ahead == Ahead::far_rows_to_second && !streamed)
                        continue;
                    constexpr std::int64_t past_line = 16; // as NumPy's large arrays begin
                    std::vector<Line> y(x.size() / sizeof(Line) + 1);
                    char* const first = y.front().bytes + past_line;
                    Rotation r{};
                    r.x = x.data();
                    r.y = first;
                    r.rows = rows * repeats / some;
                    r.repeats = some;
                    r.x_stride = r.y_stride = width;
                    r.copies = copies;
                    r.x_copy = r.y_copy = copy;
                    r.cosines = r.sines = table.data();
                    r.pairs = r.apart = pairs;
                    r.dim = width;
                    r.ahead = ahead;
                    r.streamed = streamed;
                    rotate(r);
                    kernels.fence();
                    all.insert(all.end(), first, first + x.size());
                }
    }
    return all;
}

// Two heads that share keys, with everything that changes logits; many queries, and few.
Bytes attentions(const Kernels& kernels) {
    constexpr std::int64_t heads = 2, keys = 300, dim = 27, value_dim = 19;
    Bytes all;
    for (const Type type : all_types)
        for (const std::int64_t queries : {70, 3}) {
            const Bytes query = data_of(type, heads * queries * dim, 3);
            const Bytes key = data_of(type, keys * dim, 4),
                        value = data_of(type, keys * value_dim, 5);
            const Bytes bias32 = data_of(Type::float32, queries * keys, 6);
            const Bytes bias64 = data_of(Type::float64, queries * keys, 6);
            std::vector<std::uint8_t> mask(static_cast<std::size_t>(queries * keys));
            for (std::size_t i = 0; i < mask.size(); ++i)
                mask[i] = i % 7 != 0;
            const std::vector<double> slopes{0.5, 0.03125}, sinks{0.25, -1};
            Bytes output(
                static_cast<std::size_t>(heads * queries * value_dim * element_bytes(type)));
            std::vector<double> lse(static_cast<std::size_t>(heads * queries));
            const Leading shared{{0}, {heads}}, own{{queries * dim}, {1}}, each{{1}, {1}};
            Attention a{};
            a.leading = {heads};
            a.queries = queries;
            a.keys = keys;
            a.dim = dim;
            a.value_dim = value_dim;
            a.type = type;
            a.query = {query.data(), own, dim};
            a.key = {key.data(), shared, dim};
            a.value = {value.data(), shared, value_dim};
            a.scale = 0.25;
            a.softcap = 20;
            a.left = 250;
            a.right = 150;
            a.mask = {mask.data(), {{0}, {1}}, keys, 1};
            a.bias32 = {reinterpret_cast<const float*>(bias32.data()), {{0}, {1}}, keys, 1};
            a.bias64 = {reinterpret_cast<const double*>(bias64.data()), {{0}, {1}}, keys, 1};
            a.slopes = {slopes.data(), each};
            a.sinks = {sinks.data(), each};
            a.output = output.data();
            a.lse = lse.data();
            attend(kernels, a, 1);
            all.insert(all.end(), output.begin(), output.end());
            append(all, lse);
        }
    return all;
}

// Heads in pairs that share keys, so few that queries of several heads are met at once; and one by
// one, as where weights are wanted.
Bytes short_heads(const Kernels& kernels) {
    constexpr std::int64_t heads = 10, dim = 37, value_dim = 141;
    Bytes all;
    for (const Type type : all_types)
        for (const std::int64_t queries : {1, 2})
            for (const std::int64_t keys : {1, 5, 21}) {
                const Bytes query = data_of(type, heads * queries * dim, 14);
                const Bytes key = data_of(type, heads / 2 * keys * dim, 15),
                            value = data_of(type, heads / 2 * keys * value_dim, 16);
                Bytes output(
                    static_cast<std::size_t>(heads * queries * value_dim * element_bytes(type)));
                std::vector<double> lse(static_cast<std::size_t>(heads * queries)),
                    weights(lse.size() * static_cast<std::size_t>(keys));
                const std::vector<double> sinks{0.25, -1, 3, 0.5, 2, 1, 0, -2, 7, 5};
                Attention a{};
                a.leading = {1, heads};
                a.queries = queries;
                a.keys = keys;
                a.dim = dim;
                a.value_dim = value_dim;
                a.type = type;
                a.query = {query.data(), {{0, queries * dim}, {1, 1}}, dim};
                a.key = {key.data(), {{0, keys * dim}, {1, 2}}, dim};
                a.value = {value.data(), {{0, keys * value_dim}, {1, 2}}, value_dim};
                a.scale = 0.25;
                a.left = unlimited;
                a.right = keys > 5 ? 12 : unlimited;
                if (keys > 1)
                    a.sinks = {sinks.data(), {{0, 1}, {1, 1}}};
                a.output = output.data();
                a.lse = lse.data();
                attend(kernels, a, 1);
                Bytes together = output;
                append(together, lse);
                a.stages.weights = weights.data();
                attend(kernels, a, 1);
                append(output, lse);
                if (output != together)
                    return {};
                all.insert(all.end(), output.begin(), output.end());
            }
    return all;
}

// Rows with a gap behind them, in whole sixteens and not.
Bytes merged(const Kernels& kernels) {
    constexpr std::int64_t rows = 7, dim = 90, stride = dim + 3;
    Bytes all;
    for (const Type type : all_types) {
        const Bytes first = data_of(type, rows * stride, 11),
                    second = data_of(type, rows * stride, 12),
                    lses = data_of(Type::float64, 2 * rows, 13);
        Bytes output(static_cast<std::size_t>(rows * dim * element_bytes(type)));
        std::vector<double> lse(rows);
        merge(kernels,
              {type,
               rows,
               dim,
               {first.data(), second.data()},
               {stride, stride},
               reinterpret_cast<const double*>(lses.data())},
              output.data(), lse.data(), 1);
        all.insert(all.end(), output.begin(), output.end());
        append(all, lse);
    }
    return all;
}

// Rows of whole vectors and of others, and fewer than a vector has lanes.
Bytes transposed(const Kernels& kernels) {
    constexpr std::int64_t columns = 75;
    Bytes all;
    for (const Type type : all_types)
        for (const std::int64_t rows : {5, 32, 41}) {
            const Bytes x = data_of(type, rows * columns, 14);
            Bytes y(x.size());
            Transposing(type, {columns, rows}, {1, columns}).copy(kernels, x.data(), y.data(), 1);
            all.insert(all.end(), y.begin(), y.end());
        }
    return all;
}

Bytes softmaxes(const Kernels& kernels) {
    constexpr std::int64_t rows = 7, length = 333;
    Bytes all;
    for (const Type type : all_types) {
        const Bytes x = data_of(type, rows * length, 7);
        Bytes y(x.size());
        for (const double scale : {1.0, 3.0}) { // the second one rounds
            const Softmax of{type, {rows}, length, scale, false, {x.data(), {length}, 1}, {}};
            for (const Stores stores : {Stores::cached, Stores::streamed}) {
                softmax(kernels, of, {y.data(), {length}, 1}, stores, 1);
                all.insert(all.end(), y.begin(), y.end());
            }
            const Softmax down{type, {length}, rows, scale, false, {x.data(), {1}, length}, {}};
            softmax(kernels, down, {y.data(), {1}, length}, Stores::cached, 1);
            all.insert(all.end(), y.begin(), y.end());
            std::vector<double> logs(length);
            logsumexp(kernels, down, logs.data(), 1);
            append(all, logs);
        }
    }
    return all;
}

// Short rows, and longer ones of which something is asked for ahead or not, whatever a processor
// takes of that; some are whole groups of vectors.
template <class T>
void append_rows(const SoftmaxKernels<T>& kernel, Type type, Bytes& all) {
    constexpr std::int64_t rows = 5;
    for (const std::int64_t length : {1, 4, 16, 17, 32}) {
        constexpr std::int64_t short_rows = 70;
        const Bytes x = data_of(type, short_rows * length, 10);
        Bytes y(x.size());
        Guess guess;
        kernel.short_rows(reinterpret_cast<const T*>(x.data()), length,
                          reinterpret_cast<T*>(y.data()), length, short_rows, length, 1.0, guess);
        all.insert(all.end(), y.begin(), y.end());
    }
    for (const std::int64_t length : {33, 64, 333}) {
        const Bytes x = data_of(type, rows * length, 10);
        for (const Ahead ahead : {Ahead::nothing, Ahead::next_rows, Ahead::far_rows}) {
            Bytes y(x.size());
            std::vector<T> room(static_cast<std::size_t>(together_bytes) / sizeof(T));
            Guess guess;
            Lines none{};
            kernel.rows(reinterpret_cast<const T*>(x.data()), length,
                        reinterpret_cast<T*>(y.data()), length, rows, length, 1.0, room.data(),
                        guess, none, ahead);
            all.insert(all.end(), y.begin(), y.end());
        }
    }
}

Bytes softmax_rows(const Kernels& kernels) {
    Bytes all;
    append_rows(kernels.float32.softmax, Type::float32, all);
    append_rows(kernels.float64.softmax, Type::float64, all);
    return all;
}

} // namespace

int main() {
    int failures = 0;
    const auto check = [&](const char* what, const std::function<Bytes(const Kernels&)>& call) {
        const Bytes there = call(*supported_kernels().back());
        for (const Kernels* kernels : supported_kernels()) {
            const Bytes here = call(*kernels);
            const bool same = here == there && !here.empty();
            std::printf("%s: %zu bytes of %s, %s\n", kernels->isa, here.size(), what,
                        same ? "the same" : "OTHERS");
            failures += same ? 0 : 1;
        }
    };
    check("tables", tables);
    check("rotations", rotations);
    check("rotations without gaps", rotations_without_gaps);
    check("attention", attentions);
    check("attention of short heads", short_heads);
    check("merged parts", merged);
    check("transposed arrays", transposed);
    check("softmax", softmaxes);
    check("rows of softmax", softmax_rows);
    return failures;
}
