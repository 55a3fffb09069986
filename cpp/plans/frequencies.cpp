#include "plans/frequencies.hpp"

#include <algorithm>
#include <utility>

namespace ropewalk {

GroupedFrequencies::GroupedFrequencies(const Kernels& kernels, std::span<const Frequency> pairs,
                                       int shift)
    : kernels_(kernels), own_lanes_(pairs.size() - static_cast<std::size_t>(shift)),
      lanes_(pairs.begin() + shift, pairs.end()) {
    lanes_.insert(lanes_.end(), pairs.begin(), pairs.begin() + shift);
    while (lanes_.size() % group_pairs != 0)
        lanes_.push_back(lanes_.back());
}

void GroupedFrequencies::evaluate(Position position, Position next, Precision precision,
                                  double* row) const {
    // Many groups a call, so that the processor can work at several at a time.
    constexpr std::size_t chunk = 256;
    std::uint64_t high[chunk], low[chunk];
    const auto per_lane = static_cast<std::size_t>(row_doubles(precision)) / lanes_.size();
    for (std::size_t begin = 0; begin < lanes_.size(); begin += chunk) {
        const std::size_t count = std::min(chunk, lanes_.size() - begin);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t lane = begin + i;
            const LeadingTurns turns =
                leading_turns(lane < own_lanes_ ? position : next, lanes_[lane]);
            high[i] = turns.high;
            low[i] = turns.low;
        }
        const auto chunk_groups = static_cast<std::int64_t>(count) / group_pairs;
        double* const at = row + begin * per_lane;
        if (precision == Precision::plain)
            kernels_.evaluate_plain_row(high, chunk_groups, at);
        else
            kernels_.evaluate_precise_row(high, low, chunk_groups, at);
    }
}

GroupedFrequencies::Rows GroupedFrequencies::rows(std::int64_t step, Precision precision) const {
    const std::int64_t width = row_doubles(precision);
    Rows result{Scratch(reach * width), Scratch(super_blocks * width)};
    for (std::int64_t j = 1; j <= reach; ++j)
        evaluate(Position::of(j * step), precision, result.steps.data() + (j - 1) * width);
    for (std::int64_t block = 0; block < super_blocks; ++block)
        evaluate(Position::of(block * block_rows * step), precision,
                 result.blocks.data() + block * width);
    return result;
}

const GroupedFrequencies::Rows& GroupedFrequencies::unit_rows(Precision precision) const {
    Kept& kept = kept_[precision == Precision::plain ? 0 : 1];
    std::call_once(kept.once, [&] { kept.rows = std::make_unique<Rows>(rows(1, precision)); });
    return *kept.rows;
}

Frequencies::Frequencies(const Kernels& kernels, std::vector<Frequency> pairs)
    : kernels_(kernels), pairs_(std::move(pairs)) {}

const GroupedFrequencies& Frequencies::grouped(int shift) const {
    Kept& kept = kept_[shift];
    std::call_once(kept.once, [&] {
        kept.grouped = std::make_unique<GroupedFrequencies>(kernels_, pairs_, shift);
    });
    return *kept.grouped;
}

} // namespace ropewalk
