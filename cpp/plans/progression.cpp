#include "plans/progression.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace ropewalk {
namespace {

// Keeps first + step * row within 64 bits for whole blocks at both ends.
constexpr std::int64_t longest_step = std::int64_t{1} << 40;

// A whole super-block, whose anchor each task evaluates; for several threads parts, so that each
// has some, but not the smallest ones.
std::int64_t blocks_of_tasks(std::int64_t rows, int threads) {
    if (threads == 1)
        return GroupedFrequencies::super_blocks;
    const auto share = static_cast<std::uint64_t>(rows / block_rows / (4 * threads));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::bit_floor(share)), 4,
                                    GroupedFrequencies::super_blocks);
}
static_assert(std::has_single_bit(unsigned{GroupedFrequencies::super_blocks}));

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    return a / b - static_cast<std::int64_t>(a % b != 0 && (a < 0) != (b < 0));
}

} // namespace

bool is_long_progression(const Positions& positions, std::int64_t pairs) {
    const bool kept = positions.step == 1 && pairs <= most_pairs_of_kept_rows;
    const std::int64_t least = kept ? shortest_progression : shortest_without_kept_rows;
    return !positions.in_array() && positions.count >= least && positions.step != 0 &&
           std::abs(positions.step) < longest_step;
}

bool has_stretches(const Positions& positions, std::int64_t pairs) {
    if (!positions.in_array() || positions.axes > 1 || pairs > most_pairs_of_kept_rows)
        return false;
    for (std::int64_t row = 0, length; row < positions.count; row += length) {
        length = positions.stretch(row, positions.count);
        if (length >= shortest_progression)
            return true;
    }
    return false;
}

StepRows::StepRows(const GroupedFrequencies& grouped, std::int64_t step, Precision precision) {
    if (step == 1 && grouped.groups() * group_pairs <= most_pairs_of_kept_rows)
        kept_ = &grouped.unit_rows(precision);
    else
        own_.emplace(grouped.rows(step, precision));
}

Progression::Progression(const Filling& filling, const GroupedFrequencies::Rows& rows,
                         Stores stores, int threads)
    : filling_(filling), rows_(rows), stores_(stores),
      task_blocks_(blocks_of_tasks(filling.table.rows, threads)), step_(filling.positions.step),
      index_(floor_div(filling.positions.first, step_)),
      origin_(filling.positions.first - index_ * step_) {}

// Centres stand in the middle of their blocks.
std::int64_t Progression::task_of(std::int64_t index) const {
    return floor_div(index + reach, task_blocks_ * block_rows);
}

std::int64_t Progression::tasks() const {
    return task_of(index_ + filling_.table.rows - 1) - task_of(index_) + 1;
}

std::int64_t Progression::rows_before(const Positions& positions) {
    const std::int64_t index = floor_div(positions.first, positions.step) + reach;
    return index - floor_div(index, 2 * block_rows) * 2 * block_rows;
}

void Progression::fill_all(const Workspace& workspace) const {
    for (std::int64_t i = 0; i < tasks(); ++i)
        fill_task(i, workspace);
}

void Progression::fill_task(std::int64_t number, const Workspace& workspace) const {
    const GroupedFrequencies& grouped = *filling_.grouped;
    const Precision precision = filling_.precision();
    const auto turn_row = precision == Precision::plain ? filling_.kernels.turn_plain_row
                                                        : filling_.kernels.turn_precise_row;
    const Kernels::Filling& kernel = filling_.kernel(stores_);
    const std::int64_t groups = grouped.groups(), width = grouped.row_doubles(precision);
    const std::int64_t group_doubles = GroupedFrequencies::group_doubles(precision);

    double* const anchor = workspace.row();
    const std::int64_t start = (task_of(index_) + number) * task_blocks_ * block_rows;
    const std::int64_t super = floor_div(start, GroupedFrequencies::super_rows);
    const std::int64_t anchor_row = super * GroupedFrequencies::super_rows;
    grouped.evaluate({2, origin_ + step_ * anchor_row, step_}, 0, precision, filling_.factor,
                     anchor);
    const std::int64_t first_block = (start - anchor_row) / block_rows;
    for (std::int64_t block = first_block; block < first_block + task_blocks_; block += 2) {
        const std::int64_t row = anchor_row + block * block_rows - index_;
        if (row + block_rows + reach < 0 || row - reach >= filling_.table.rows)
            continue;
        for (int i = 0; i < 2; ++i) {
            double* const centre = workspace.centres() + i * group_doubles;
            turn_row(anchor, rows_.blocks.data() + (block + i) * width, groups, centre,
                     2 * group_doubles);
            const std::int64_t at = row + i * block_rows;
            if (at >= 0 && at < filling_.table.rows)
                filling_.fill_row(centre, 2 * group_doubles, at, stores_);
        }
        kernel.fill_around(workspace.centres(), rows_.steps.data(), filling_.table, row,
                           workspace.spare(), &filling_);
    }
    if (stores_ == Stores::streamed)
        filling_.kernels.fence();
}

void fill_stretches(const Filling& filling, std::int64_t begin, std::int64_t end,
                    const Workspace& workspace) {
    std::int64_t pending = begin;
    for (std::int64_t row = begin; row < end;) {
        const std::int64_t length = filling.positions.stretch(row, end);
        if (length >= shortest_progression) {
            filling.fill_rows(pending, row, workspace);
            const Position first = filling.positions.at(row);
            const auto size = static_cast<std::int64_t>(first.magnitude);
            const Filling part = filling.part(row, {length, first.negative ? -size : size, 1});
            Progression(part, filling.grouped->unit_rows(filling.precision()), Stores::cached, 1)
                .fill_all(workspace);
            pending = row + length;
        }
        row += length;
    }
    filling.fill_rows(pending, end, workspace);
}

} // namespace ropewalk
