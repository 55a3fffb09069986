#include "plans/frequencies.hpp"

#include <algorithm>
#include <utility>

namespace ropewalk {
namespace {

bool stands(const Frequency& frequency) {
    return std::all_of(std::begin(frequency.words), std::end(frequency.words),
                       [](std::uint64_t word) { return word == 0; });
}

Frequency sum(const Frequency& a, const Frequency& b) {
    Frequency result{};
    std::uint64_t carry = 0;
    for (int i = 0; i < 5; ++i) {
        const std::uint64_t part = a.words[i] + carry;
        carry = static_cast<std::uint64_t>(part < carry);
        result.words[i] = part + b.words[i];
        carry += static_cast<std::uint64_t>(result.words[i] < part);
    }
    return result;
}

} // namespace

GroupedFrequencies::GroupedFrequencies(const Kernels& kernels, const std::vector<Frequency>& all,
                                       int axes, std::int64_t count, int shift)
    : kernels_(kernels), axes_(axes), lanes_(up_to(group_pairs, count)), own_lanes_(count - shift) {
    const std::int64_t pairs = static_cast<std::int64_t>(all.size()) / axes;
    frequencies_.reserve(static_cast<std::size_t>(axes * lanes_));
    for (int axis = 0; axis < axes; ++axis)
        for (std::int64_t lane = 0; lane < lanes_; ++lane) {
            const std::int64_t pair = (std::min(lane, count - 1) + shift) % count;
            frequencies_.push_back(all[static_cast<std::size_t>(axis * pairs + pair)]);
        }
}

void GroupedFrequencies::evaluate(const Positions& positions, std::int64_t index,
                                  Precision precision, double factor, double* row) const {
    // Many groups a call, so that the processor can work at several at a time.
    std::uint64_t high[most_evaluated], low[most_evaluated];
    const std::int64_t per_lane = group_doubles(precision) / group_pairs;
    for (std::int64_t begin = 0; begin < lanes_; begin += most_evaluated) {
        const std::int64_t end = std::min(begin + most_evaluated, lanes_);
        for (int axis = 0; axis < axes_; ++axis) {
            const Frequency* const frequencies = frequencies_.data() + axis * lanes_;
            const auto add_turns = [&](Position position, std::int64_t from,
                                       std::int64_t to) __attribute__((always_inline)) {
                for (std::int64_t lane = from; lane < to; ++lane) {
                    LeadingTurns turns = leading_turns(position, frequencies[lane]);
                    if (axis > 0)
                        turns = turns + LeadingTurns{high[lane - begin], low[lane - begin]};
                    high[lane - begin] = turns.high;
                    low[lane - begin] = turns.low;
                }
            };
            const auto add = [&](Position position, std::int64_t from, std::int64_t to) {
                if (position.shift == 0) // a loop of its own
                    add_turns({position.magnitude, 0, position.negative}, from, to);
                else
                    add_turns(position, from, to);
            };
            const std::int64_t own_end = std::clamp(own_lanes_, begin, end);
            add(positions.at(index, axis), begin, own_end);
            if (own_end < end)
                add(positions.at(std::min(index + 1, positions.count - 1), axis), own_end, end);
        }
        evaluate_turns(high, low, (end - begin) / group_pairs, precision, factor,
                       row + begin * per_lane);
    }
}

void GroupedFrequencies::expect(std::int64_t rows, Precision precision) const {
    constexpr std::int64_t most_pairs = 512, enough = 2 * digits * digit_rows;
    if (axes_ == 1 && lanes_ <= most_pairs && (expected_ += rows) >= enough)
        digits_[static_cast<int>(precision)].get([&] { return rows_of_digits(precision); });
}

// Of digit d, as the last one, the last but one and the first.
Scratch GroupedFrequencies::rows_of_digits(Precision precision) const {
    const std::int64_t width = row_doubles(precision);
    Scratch rows(digits * digit_rows * width);
    for (std::int64_t i = 0; i < digits * digit_rows; ++i) {
        const std::int64_t position = i % digit_rows << i / digit_rows * digit_bits;
        evaluate({1, position}, 0, precision, 1.0, rows.data() + i * width);
    }
    return rows;
}

bool GroupedFrequencies::evaluate_by_digits(Position position, Precision precision,
                                            double* row) const {
    const Scratch* const rows = digits_[static_cast<int>(precision)].made();
    constexpr std::uint64_t beyond = std::uint64_t{1} << digits * digit_bits;
    const std::uint64_t p = position.magnitude;
    if (rows == nullptr || position.shift != 0 || position.negative || p >= beyond)
        return false;
    const auto digit = [&](int i) {
        const auto value = static_cast<std::int64_t>(p >> i * digit_bits) % digit_rows;
        return rows->data() + (i * digit_rows + value) * row_doubles(precision);
    };
    const auto turn_row =
        precision == Precision::plain ? kernels_.turn_plain_row : kernels_.turn_precise_row;
    turn_row(digit(0), digit(1), groups(), row, group_doubles(precision));
    if (p >> 2 * digit_bits != 0)
        turn_row(row, digit(2), groups(), row, group_doubles(precision));
    return true;
}

void GroupedFrequencies::evaluate_pair(const Positions& positions, std::int64_t index,
                                       std::int64_t count, Precision precision, double factor,
                                       double* row) const {
    std::uint64_t high[most_evaluated], low[most_evaluated];
    const std::int64_t groups = ceil_div(count, group_pairs);
    for (std::int64_t lane = 0; lane < groups * group_pairs; ++lane) {
        LeadingTurns turns{};
        for (int axis = 0; axis < axes_; ++axis)
            turns = turns + leading_turns(positions.at(index + std::min(lane, count - 1), axis),
                                          frequencies_[static_cast<std::size_t>(axis * lanes_)]);
        high[lane] = turns.high;
        low[lane] = turns.low;
    }
    evaluate_turns(high, low, groups, precision, factor, row);
}

void GroupedFrequencies::evaluate_turns(const std::uint64_t* high, const std::uint64_t* low,
                                        std::int64_t groups, Precision precision, double factor,
                                        double* row) const {
    const bool plain = precision == Precision::plain;
    if (plain)
        kernels_.evaluate_plain_row(high, groups, row);
    else
        kernels_.evaluate_precise_row(high, low, groups, row);
    if (factor != 1.0)
        (plain ? kernels_.scale_plain_row : kernels_.scale_precise_row)(factor, groups, row);
}

GroupedFrequencies::Rows GroupedFrequencies::rows(std::int64_t step, Precision precision) const {
    const std::int64_t width = row_doubles(precision);
    Rows result{Scratch(reach * width), Scratch(super_blocks * width)};
    for (std::int64_t j = 1; j <= reach; ++j)
        evaluate({1, j * step}, 0, precision, 1.0, result.steps.data() + (j - 1) * width);
    for (std::int64_t block = 0; block < super_blocks; ++block)
        evaluate({1, block * block_rows * step}, 0, precision, 1.0,
                 result.blocks.data() + block * width);
    return result;
}

const GroupedFrequencies::Rows& GroupedFrequencies::unit_rows(Precision precision) const {
    return unit_rows_[precision == Precision::plain ? 0 : 1].get(
        [&] { return rows(1, precision); });
}

Frequencies::Frequencies(const Kernels& kernels, std::vector<Frequency> all, int axes)
    : kernels_(kernels), all_(std::move(all)), axes_(axes),
      pairs_(static_cast<std::int64_t>(all_.size()) / axes), moving_pairs_(pairs_) {
    const auto stands_on_all_axes = [&](std::int64_t pair) {
        for (int axis = 0; axis < axes_; ++axis)
            if (!stands(at(pair, axis)))
                return false;
        return true;
    };
    while (moving_pairs_ > 0 && stands_on_all_axes(moving_pairs_ - 1))
        --moving_pairs_;
    if (axes_ > 1)
        axis_of_pairs_ = find_axis_of_pairs();
}

std::vector<int> Frequencies::find_axis_of_pairs() const {
    std::vector<int> found(static_cast<std::size_t>(pairs_), 0);
    for (std::int64_t pair = 0; pair < pairs_; ++pair) {
        int turning = 0;
        for (int axis = 0; axis < axes_; ++axis)
            if (!stands(at(pair, axis))) {
                found[static_cast<std::size_t>(pair)] = axis;
                ++turning;
            }
        if (turning > 1)
            return {};
    }
    return found;
}

const GroupedFrequencies& Frequencies::grouped(int shift) const {
    return grouped_[shift].get(
        [&] { return GroupedFrequencies(kernels_, all_, axes_, moving_pairs_, shift); });
}

const Frequencies& Frequencies::diagonal() const {
    return diagonal_.get([&] {
        std::vector<Frequency> sums;
        for (std::int64_t pair = 0; pair < pairs_; ++pair) {
            Frequency total{};
            for (int axis = 0; axis < axes_; ++axis)
                total = sum(total, at(pair, axis));
            sums.push_back(total);
        }
        return Frequencies(kernels_, std::move(sums), 1);
    });
}

Angle Frequencies::angle(const Positions& positions, std::int64_t row, std::int64_t pair) const {
    if (axes_ == 1)
        return angle_of(positions.at(row), at(pair, 0));
    TurnSum turns;
    for (int axis = 0; axis < axes_; ++axis)
        turns.add(positions.at(row, axis), at(pair, axis));
    return turns.angle();
}

} // namespace ropewalk
