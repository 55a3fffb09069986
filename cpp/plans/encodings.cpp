#include "plans/encodings.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "exact/rounding.hpp"
#include "exact/sincos.hpp"
#include "plans/pool.hpp"

namespace ropewalk {
namespace {

constexpr std::int64_t largest_position = std::int64_t{1} << 53;

// Below this many rows a block's worth of small rows costs more than it saves.
constexpr std::int64_t shortest_progression = 2 * block_rows;
// Keeps first + step * row within 64 bits for whole blocks at both ends.
constexpr std::int64_t longest_step = std::int64_t{1} << 40;

// Waking a thread pays from here on.
constexpr std::int64_t parallel_bytes = std::int64_t{512} << 10;

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    return a / b - static_cast<std::int64_t>(a % b != 0 && (a < 0) != (b < 0));
}

std::int64_t element_bytes(Type type) {
    return type == Type::float64 ? 8 : type == Type::float32 ? 4 : 2;
}

std::int64_t pair_bytes(Type type, Layout layout) {
    return element_bytes(type) * (layout == Layout::apart ? 1 : 2);
}

// Compared as integers: 2^53 + 1 is 2^53 in float64.
template <class Value>
bool equals(Value value, std::int64_t integer) {
    const auto whole = static_cast<std::int64_t>(value);
    return whole == integer && static_cast<Value>(whole) == value;
}

template <class Value>
std::optional<Positions> as_progression(const Value* values, std::int64_t count) {
    if (count < shortest_progression)
        return std::nullopt;
    const auto first = static_cast<std::int64_t>(values[0]);
    const std::int64_t step = static_cast<std::int64_t>(values[1]) - first;
    for (std::int64_t i = 0; i < count; ++i)
        if (!equals(values[i], first + step * i))
            return std::nullopt;
    return Positions{count, first, step};
}

// How many values from the first on count upwards by one.
template <class Value>
std::int64_t stretch(const Value* values, std::int64_t count) {
    const auto first = static_cast<std::int64_t>(values[0]);
    std::int64_t length = 0;
    while (length < count && equals(values[length], first + length))
        ++length;
    return std::max<std::int64_t>(length, 1);
}

// One table and what fills it. As an Exact it writes what a kernel's rounding test leaves open.
struct Filling : Exact {
    const Kernels& kernels;
    const Frequencies& frequencies;
    Positions positions;
    Type type;
    Layout layout;
    Table table;
    int shift = 0; // see GroupedFrequencies

    Filling(const Kernels& k, const Frequencies& f, const Positions& p, Type of, Layout l,
            const Table& t)
        : Exact{fill_lanes}, kernels(k), frequencies(f), positions(p), type(of), layout(l),
          table(t) {}

    const GroupedFrequencies& grouped() const { return frequencies.grouped(shift); }
    Precision precision() const {
        return type == Type::float64 ? Precision::precise : Precision::plain;
    }
    const Kernels::Filling& kernel(Stores stores) const {
        const auto& all = stores == Stores::streamed ? kernels.streamed : kernels.cached;
        return all.of[static_cast<int>(type)][static_cast<int>(layout)];
    }

    // Rows begin .. begin + count - 1, whose positions are first, first + 1, ..
    Filling run(std::int64_t begin, std::int64_t count, std::int64_t first) const {
        Filling part = *this;
        const std::int64_t bytes = begin * table.row_stride * element_bytes(type);
        part.positions = {count, first, 1};
        part.table.rows = count;
        part.table.first = static_cast<char*>(table.first) + bytes;
        if (layout == Layout::apart)
            part.table.second = static_cast<char*>(table.second) + bytes;
        return part;
    }

    // The same rows from pair `by` on, each with the first pairs of the next row in the place of
    // its own; the last row is left out.
    Filling shifted(int by) const {
        Filling result = *this;
        result.shift = by;
        if (by != 0) {
            result.table.first = static_cast<char*>(table.first) + by * pair_bytes(type, layout);
            --result.table.rows;
        }
        return result;
    }

    void fill_rows(std::int64_t begin, std::int64_t end) const {
        const std::int64_t width = grouped().row_doubles(precision());
        const Scratch values(width);
        for (std::int64_t row = begin; row < end; ++row) {
            grouped().evaluate(positions.at(row), precision(), values.data());
            kernel(Stores::cached)
                .fill_row(values.data(), width / grouped().groups(), table, row, this);
        }
    }

  private:
    static void fill_lanes(const Exact* self, std::int64_t row, std::int64_t group,
                           unsigned lanes) {
        const auto& filling = *static_cast<const Filling*>(self);
        if (row < 0 || row >= filling.table.rows)
            return;
        const std::int64_t pairs = filling.table.pairs;
        for (int i = 0; i < group_pairs; ++i) {
            const std::int64_t lane = group * group_pairs + i;
            if ((lanes >> i & 1U) == 0 || lane >= pairs)
                continue;
            const std::int64_t pair = (lane + filling.shift) % pairs;
            const Position position = filling.positions.at(pair < filling.shift ? row + 1 : row);
            filling.fill_lane(sine_cosine(position, filling.frequencies[pair]), row, lane);
        }
    }

    void fill_lane(const SineCosine& value, std::int64_t row, std::int64_t lane) const {
        switch (type) {
        case Type::float32:
            return store<float>(value, row, lane);
        case Type::float16:
            return store<Float16>(value, row, lane);
        case Type::bfloat16:
            return store<BFloat16>(value, row, lane);
        case Type::float64:
            return store<double>(value, row, lane);
        }
    }

    template <class Element>
    void store(const SineCosine& value, std::int64_t row, std::int64_t lane) const {
        Element* const first = static_cast<Element*>(table.first) + row * table.row_stride;
        if (layout == Layout::apart) {
            Element* const second = static_cast<Element*>(table.second) + row * table.row_stride;
            round_to(value.sine, first[lane]);
            round_to(value.cosine, second[lane]);
        } else {
            const int sine_at = layout == Layout::sine_first ? 0 : 1;
            round_to(value.sine, first[2 * lane + sine_at]);
            round_to(value.cosine, first[2 * lane + 1 - sine_at]);
        }
    }
};

// Evenly spaced positions, in blocks that lie at fixed positions wherever the table begins: block k
// has its centre at origin + step * block_rows * k. The first centre of a super-block is evaluated,
// the others follow from it by one turn each.
class Progression {
  public:
    Progression(const Filling& filling, Stores stores)
        : filling_(filling), stores_(stores), step_(filling.positions.step),
          index_(floor_div(filling.positions.first, step_)),
          origin_(filling.positions.first - index_ * step_) {
        if (step_ == 1)
            rows_ = &filling.grouped().unit_rows(filling.precision());
        else
            rows_ = &own_.emplace(filling.grouped().rows(step_, filling.precision()));
    }

    std::int64_t super_blocks() const {
        return super_of(index_ + filling_.table.rows - 1) - super_of(index_) + 1;
    }

    void fill_super_block(std::int64_t number) const {
        const GroupedFrequencies& grouped = filling_.grouped();
        const Precision precision = filling_.precision();
        const auto turn_row = precision == Precision::plain ? filling_.kernels.turn_plain_row
                                                            : filling_.kernels.turn_precise_row;
        const Kernels::Filling& kernel = filling_.kernel(stores_);
        const std::int64_t groups = grouped.groups(), width = grouped.row_doubles(precision);
        const std::int64_t group_doubles = width / groups;

        const Scratch anchor(width), centres(2 * width), spare(4 * group_pairs * groups);
        const std::int64_t start = (super_of(index_) + number) * GroupedFrequencies::super_rows;
        const std::int64_t position = origin_ + step_ * start;
        grouped.evaluate(Position::of(position), Position::of(position + step_), precision,
                         anchor.data());
        for (std::int64_t block = 0; block < GroupedFrequencies::super_blocks; block += 2) {
            const std::int64_t row = start + block * block_rows - index_;
            if (row + block_rows + reach < 0 || row - reach >= filling_.table.rows)
                continue;
            for (int i = 0; i < 2; ++i) {
                double* const centre = centres.data() + i * group_doubles;
                turn_row(anchor.data(), rows_->blocks.data() + (block + i) * width, groups, centre,
                         2 * group_doubles);
                const std::int64_t at = row + i * block_rows;
                if (at >= 0 && at < filling_.table.rows)
                    kernel.fill_row(centre, 2 * group_doubles, filling_.table, at, &filling_);
            }
            kernel.fill_around(centres.data(), rows_->steps.data(), filling_.table, row,
                               spare.data(), &filling_);
        }
        if (stores_ == Stores::streamed)
            filling_.kernels.fence();
    }

  private:
    // Centres stand in the middle of their blocks.
    static std::int64_t super_of(std::int64_t index) {
        return floor_div(index + reach, GroupedFrequencies::super_rows);
    }

    const Filling& filling_;
    Stores stores_;
    std::int64_t step_, index_, origin_;
    std::optional<GroupedFrequencies::Rows> own_;
    const GroupedFrequencies::Rows* rows_;
};

// Rows begin .. end of positions that are no progression: stretches that count upwards, as in a
// batch of ranges, are filled as such.
template <class Value>
void fill_stretches(const Filling& filling, const Value* positions, std::int64_t begin,
                    std::int64_t end) {
    std::int64_t pending = begin;
    for (std::int64_t row = begin; row < end;) {
        const std::int64_t length = stretch(positions + row, end - row);
        if (length >= shortest_progression) {
            filling.fill_rows(pending, row);
            const Filling part =
                filling.run(row, length, static_cast<std::int64_t>(positions[row]));
            const Progression progression(part, Stores::cached);
            for (std::int64_t i = 0; i < progression.super_blocks(); ++i)
                progression.fill_super_block(i);
            pending = row + length;
        }
        row += length;
    }
    filling.fill_rows(pending, end);
}

Positions simplified(const Positions& positions) {
    std::optional<Positions> progression;
    if (positions.integers != nullptr)
        progression = as_progression(positions.integers, positions.count);
    else if (positions.reals != nullptr)
        progression = as_progression(positions.reals, positions.count);
    return progression.value_or(positions);
}

bool is_progression(const Positions& positions) {
    return positions.integers == nullptr && positions.reals == nullptr &&
           positions.count >= shortest_progression && positions.step != 0 &&
           std::abs(positions.step) < longest_step;
}

// How many pairs of a row lie before the first cache line, or the first group where that is
// smaller, that begins in it; -1 where rows do not follow each other in whole ones.
int pairs_before_line(const Table& table, Type type, Layout layout) {
    const std::int64_t pair = pair_bytes(type, layout);
    const std::int64_t line = std::min<std::int64_t>(64, group_pairs * pair);
    const auto past =
        static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(table.first)) % line;
    const std::int64_t before = (line - past) % line;
    const bool contiguous = layout != Layout::apart && table.row_stride == 2 * table.pairs;
    const bool whole = table.pairs % group_pairs == 0 && before % pair == 0;
    if (contiguous && whole)
        return static_cast<int>(before / pair);
    return -1;
}

void fill_progression(const Filling& filling, Stores stores, int threads) {
    const int shift = pairs_before_line(filling.table, filling.type, filling.layout);
    if (shift > 0) { // what the shifted rows leave out
        filling.fill_rows(0, 1);
        filling.fill_rows(filling.table.rows - 1, filling.table.rows);
    }
    const Filling shifted = filling.shifted(std::max(shift, 0));
    const Progression progression(shifted, shift < 0 ? Stores::cached : stores);
    run_tasks(progression.super_blocks(), threads,
              Task([&](std::int64_t i) { progression.fill_super_block(i); }));
}

} // namespace

Position Positions::at(std::int64_t row) const {
    if (integers != nullptr)
        return Position::of(integers[row]);
    if (reals != nullptr)
        return Position::of(reals[row]);
    return Position::of(first + step * row);
}

std::int64_t first_bad_position(const Positions& positions) {
    if (positions.integers != nullptr) {
        for (std::int64_t i = 0; i < positions.count; ++i)
            if (positions.integers[i] > largest_position ||
                positions.integers[i] < -largest_position)
                return i;
    } else if (positions.reals != nullptr) {
        for (std::int64_t i = 0; i < positions.count; ++i)
            if (!(std::fabs(positions.reals[i]) <= static_cast<double>(largest_position)))
                return i;
    }
    return -1;
}

void fill_table(const Kernels& kernels, const Frequencies& frequencies, const Positions& positions,
                Type type, Layout layout, const Table& table, Stores stores, int threads) {
    if (table.rows * table.pairs * 2 * element_bytes(type) < parallel_bytes)
        threads = 1;
    const Filling filling(kernels, frequencies, simplified(positions), type, layout, table);
    if (is_progression(filling.positions))
        return fill_progression(filling, stores, threads);
    constexpr std::int64_t task_rows = GroupedFrequencies::super_rows;
    const auto fill_task = [&](std::int64_t task) {
        const std::int64_t begin = task * task_rows, end = std::min(begin + task_rows, table.rows);
        if (filling.positions.integers != nullptr)
            fill_stretches(filling, filling.positions.integers, begin, end);
        else if (filling.positions.reals != nullptr)
            fill_stretches(filling, filling.positions.reals, begin, end);
        else
            filling.fill_rows(begin, end);
    };
    run_tasks((table.rows + task_rows - 1) / task_rows, threads, Task(fill_task));
}

void fill_matrices(const Frequencies& frequencies, const Positions& positions, Pairing pairing,
                   UpperSine upper, double* matrices, int threads) {
    const std::int64_t pairs = frequencies.pairs(), dim = 2 * pairs;
    const std::int64_t stride = pairing == Pairing::neighbours ? 2 : 1;
    const std::int64_t apart = pairing == Pairing::neighbours ? 1 : pairs;
    const double sign = upper == UpperSine::positive ? 1.0 : -1.0;
    const auto fill_matrix = [&](std::int64_t row) {
        const Position position = positions.at(row);
        double* const matrix = matrices + row * dim * dim;
        std::fill_n(matrix, dim * dim, 0.0);
        for (std::int64_t pair = 0; pair < pairs; ++pair) {
            const SineCosine value = sine_cosine(position, frequencies[pair]);
            double* const upper_left = matrix + pair * stride * (dim + 1);
            upper_left[0] = upper_left[apart * (dim + 1)] = value.cosine.high;
            upper_left[apart] = sign * value.sine.high;
            upper_left[apart * dim] = -sign * value.sine.high;
        }
    };
    if (positions.count * dim * dim * 8 < parallel_bytes)
        threads = 1;
    run_tasks(positions.count, threads, Task(fill_matrix));
}

} // namespace ropewalk
