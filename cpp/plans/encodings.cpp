#include "plans/encodings.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "exact/sincos.hpp"
#include "plans/pool.hpp"

namespace ropewalk {
namespace {

// Below this many rows a block's worth of small rows costs more than it saves.
constexpr std::int64_t shortest_progression = 2 * block_rows;
// Keeps first + step * row within 64 bits for whole blocks at both ends.
constexpr std::int64_t longest_step = std::int64_t{1} << 40;

// Waking a thread pays from here on.
constexpr std::int64_t parallel_bytes = std::int64_t{512} << 10;

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    return a / b - static_cast<std::int64_t>(a % b != 0 && (a < 0) != (b < 0));
}

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
            rows_ = &filling.grouped->unit_rows(filling.precision());
        else
            rows_ = &own_.emplace(filling.grouped->rows(step_, filling.precision()));
    }

    std::int64_t tasks() const {
        return task_of(index_ + filling_.table.rows - 1) - task_of(index_) + 1;
    }

    void fill_task(std::int64_t number, const Workspace& workspace) const {
        const GroupedFrequencies& grouped = *filling_.grouped;
        const Precision precision = filling_.precision();
        const auto turn_row = precision == Precision::plain ? filling_.kernels.turn_plain_row
                                                            : filling_.kernels.turn_precise_row;
        const Kernels::Filling& kernel = filling_.kernel(stores_);
        const std::int64_t groups = grouped.groups(), width = grouped.row_doubles(precision);
        const std::int64_t group_doubles = width / groups;

        double* const anchor = workspace.row();
        const std::int64_t start = (task_of(index_) + number) * task_rows;
        const std::int64_t super = floor_div(start, GroupedFrequencies::super_rows);
        const std::int64_t anchor_row = super * GroupedFrequencies::super_rows;
        const std::int64_t position = origin_ + step_ * anchor_row;
        grouped.evaluate(Position::of(position), Position::of(position + step_), precision, anchor);
        const std::int64_t first_block = (start - anchor_row) / block_rows;
        for (std::int64_t block = first_block; block < first_block + task_blocks; block += 2) {
            const std::int64_t row = anchor_row + block * block_rows - index_;
            if (row + block_rows + reach < 0 || row - reach >= filling_.table.rows)
                continue;
            for (int i = 0; i < 2; ++i) {
                double* const centre = workspace.centres() + i * group_doubles;
                turn_row(anchor, rows_->blocks.data() + (block + i) * width, groups, centre,
                         2 * group_doubles);
                const std::int64_t at = row + i * block_rows;
                if (at >= 0 && at < filling_.table.rows)
                    kernel.fill_row(centre, 2 * group_doubles, filling_.table, at, &filling_);
            }
            kernel.fill_around(workspace.centres(), rows_->steps.data(), filling_.table, row,
                               workspace.spare(), &filling_);
        }
        if (stores_ == Stores::streamed)
            filling_.kernels.fence();
    }

  private:
    // Part of a super-block, so that small tables too have work for several threads.
    static constexpr std::int64_t task_blocks = 8;
    static constexpr std::int64_t task_rows = task_blocks * block_rows;
    static_assert(GroupedFrequencies::super_blocks % task_blocks == 0 && task_blocks % 2 == 0);

    // Centres stand in the middle of their blocks.
    static std::int64_t task_of(std::int64_t index) { return floor_div(index + reach, task_rows); }

    const Filling& filling_;
    Stores stores_;
    std::int64_t step_, index_, origin_;
    std::optional<GroupedFrequencies::Rows> own_;
    const GroupedFrequencies::Rows* rows_;
};

// Rows begin .. end - 1 of positions in an array: stretches that count upwards, as in a batch of
// ranges, are filled as such.
void fill_stretches(const Filling& filling, std::int64_t begin, std::int64_t end,
                    const Workspace& workspace) {
    std::int64_t pending = begin;
    for (std::int64_t row = begin; row < end;) {
        const std::int64_t length = filling.positions.stretch(row, end);
        if (length >= shortest_progression) {
            filling.fill_rows(pending, row, workspace);
            const Position first = filling.positions.at(row);
            const auto size = static_cast<std::int64_t>(first.magnitude);
            const Filling part = filling.run(row, length, first.negative ? -size : size);
            const Progression progression(part, Stores::cached);
            for (std::int64_t i = 0; i < progression.tasks(); ++i)
                progression.fill_task(i, workspace);
            pending = row + length;
        }
        row += length;
    }
    filling.fill_rows(pending, end, workspace);
}

bool is_long_progression(const Positions& positions) {
    return !positions.in_array() && positions.count >= shortest_progression &&
           positions.step != 0 && std::abs(positions.step) < longest_step;
}

// How many pairs of a row lie before the first cache line, or the first group where that is
// smaller, that begins in it; -1 where rows do not follow each other in whole ones.
int pairs_before_line(const Filling& filling) {
    const Table& table = filling.table;
    const std::int64_t pair = filling.pair_bytes();
    const std::int64_t line = std::min<std::int64_t>(64, group_pairs * pair);
    const auto past =
        static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(table.first)) % line;
    const std::int64_t before = (line - past) % line;
    const bool contiguous = filling.layout != Layout::apart && table.row_stride == 2 * table.pairs;
    const bool whole = table.pairs % group_pairs == 0 && before % pair == 0;
    if (contiguous && whole)
        return static_cast<int>(before / pair);
    return -1;
}

// Task(i, workspace) for i = 0 .. tasks - 1; nothing is allocated once tasks run.
template <class Function>
void run_fillings(const Filling& filling, std::int64_t tasks, int threads,
                  const Function& function) {
    const std::int64_t workers = std::min<std::int64_t>(tasks, threads);
    std::vector<Workspace> workspaces;
    workspaces.reserve(static_cast<std::size_t>(workers));
    for (std::int64_t i = 0; i < workers; ++i)
        workspaces.emplace_back(filling);
    const auto task = [&](std::int64_t i, int worker) {
        function(i, workspaces[static_cast<std::size_t>(worker)]);
    };
    run_tasks(tasks, threads, Task(task));
}

void fill_progression(const Filling& filling, Stores stores, int threads) {
    const int shift = pairs_before_line(filling);
    if (shift > 0) { // what the shifted rows leave out
        const Workspace workspace(filling);
        filling.fill_rows(0, 1, workspace);
        filling.fill_rows(filling.table.rows - 1, filling.table.rows, workspace);
    }
    const Filling shifted = filling.shifted(std::max(shift, 0));
    const Progression progression(shifted, shift < 0 ? Stores::cached : stores);
    run_fillings(shifted, progression.tasks(), threads,
                 [&](std::int64_t task, const Workspace& workspace) {
                     progression.fill_task(task, workspace);
                 });
}

void fill_one_by_one(const Filling& filling, int threads) {
    const bool in_array = filling.positions.in_array();
    if (in_array && filling.table.rows >= shortest_progression)
        filling.grouped->unit_rows(filling.precision()); // before tasks run
    constexpr std::int64_t task_rows = GroupedFrequencies::super_rows;
    run_fillings(filling, (filling.table.rows + task_rows - 1) / task_rows, threads,
                 [&](std::int64_t task, const Workspace& workspace) {
                     const std::int64_t begin = task * task_rows;
                     const std::int64_t end = std::min(begin + task_rows, filling.table.rows);
                     if (in_array)
                         fill_stretches(filling, begin, end, workspace);
                     else
                         filling.fill_rows(begin, end, workspace);
                 });
}

} // namespace

void fill_table(const Kernels& kernels, const Frequencies& frequencies, const Positions& positions,
                Type type, Layout layout, const Table& table, Stores stores, int threads) {
    if (table.rows * table.pairs * 2 * element_bytes(type) < parallel_bytes)
        threads = 1;
    const Filling filling(kernels, frequencies, positions.simplified(shortest_progression), type,
                          layout, table);
    if (is_long_progression(filling.positions))
        fill_progression(filling, stores, threads);
    else
        fill_one_by_one(filling, threads);
}

void fill_matrices(const Frequencies& frequencies, const Positions& positions, Pairing pairing,
                   UpperSine upper, double* matrices, int threads) {
    const std::int64_t pairs = frequencies.pairs(), dim = 2 * pairs;
    const std::int64_t stride = pairing == Pairing::neighbours ? 2 : 1;
    const std::int64_t apart = pairing == Pairing::neighbours ? 1 : pairs;
    const double sign = upper == UpperSine::positive ? 1.0 : -1.0;
    const auto fill_matrix = [&](std::int64_t row, int) {
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
