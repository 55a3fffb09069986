#include "plans/encodings.hpp"

#include <algorithm>
#include <vector>

#include "plans/pool.hpp"
#include "plans/progression.hpp"
#include "plans/team.hpp"

namespace ropewalk {
namespace {

// How many pairs of a row lie before the first cache line, or the first group where that is
// smaller, that begins in it; -1 where rows do not follow each other in whole ones.
int pairs_before_line(const Filling& filling) {
    const Table& table = filling.table;
    const bool apart = filling.layout == Layout::apart;
    const std::int64_t pair = filling.pair_bytes();
    const std::int64_t line = std::min<std::int64_t>(64, group_pairs * pair);
    const auto past = [line](const void* p) {
        return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p)) % line;
    };
    const std::int64_t before = (line - past(table.first)) % line;
    const bool together = !apart || past(table.first) == past(table.second);
    const bool contiguous = table.row_stride == (apart ? 1 : 2) * table.pairs;
    const bool whole = table.pairs % group_pairs == 0 && before % pair == 0;
    if (together && contiguous && whole)
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
    const StepRows steps(*shifted.grouped, shifted.positions.step, shifted.precision());
    const Progression progression(shifted, steps.rows(), shift < 0 ? Stores::cached : stores,
                                  threads);
    run_fillings(shifted, progression.tasks(), threads,
                 [&](std::int64_t task, const Workspace& workspace) {
                     progression.fill_task(task, workspace);
                 });
}

void fill_one_by_one(const Filling& filling, int threads) {
    const bool one_pair = filling.has_one_pair();
    const bool in_stretches = !one_pair && has_stretches(filling.positions, filling.table.pairs);
    if (!one_pair)
        filling.prepare(in_stretches);
    // Four tasks for each thread, of some rows each, and of two blocks where rows may be in blocks.
    // More where they would take long, for a signal is looked for between some of them. A pair in
    // stretches takes an eighth.
    const std::int64_t share = ceil_div(filling.table.rows, 4 * threads);
    const std::int64_t least = one_pair || in_stretches ? 2 * block_rows : fewest_rows;
    const std::int64_t most_pairs = std::int64_t{1} << (in_stretches ? 19 : 16);
    const std::int64_t most =
        std::min(most_pairs / filling.table.pairs, GroupedFrequencies::super_rows);
    const std::int64_t task_rows = std::max(std::min(share, most), least);
    run_fillings(filling, ceil_div(filling.table.rows, task_rows), threads,
                 [&](std::int64_t task, const Workspace& workspace) {
                     const std::int64_t begin = task * task_rows;
                     const std::int64_t end = std::min(begin + task_rows, filling.table.rows);
                     if (one_pair)
                         filling.fill_pair(begin, end);
                     else if (in_stretches)
                         fill_stretches(filling, begin, end, workspace);
                     else
                         filling.fill_rows(begin, end, workspace);
                 });
}

// What does not move, up to `pairs`: a row for each task, which is copied.
void fill_standing(const Filling& filling, std::int64_t pairs, int threads) {
    constexpr std::int64_t most_pairs = std::int64_t{1} << 23;
    const std::int64_t rows = filling.table.rows;
    const std::int64_t share = ceil_div(rows, threads > 1 ? 4 * threads : 1);
    const std::int64_t most = most_pairs / (pairs - filling.table.pairs);
    const std::int64_t task_rows = std::max<std::int64_t>(std::min(share, most), block_rows);
    const auto fill_task = [&](std::int64_t task, int) {
        const std::int64_t begin = task * task_rows;
        filling.fill_standing(begin, std::min(begin + task_rows, rows), pairs);
    };
    run_tasks(ceil_div(rows, task_rows), threads, Task(fill_task));
}

} // namespace

void fill_table(const Kernels& kernels, const Frequencies& frequencies, const Positions& positions,
                double factor, Type type, Layout layout, const Table& table, Stores stores,
                int threads) {
    const Frequencies& turning = frequencies.along(positions);
    Table moving = table;
    moving.pairs = turning.moving_pairs();
    const Filling filling(kernels, turning, positions.simplified(), factor, type, layout, moving);
    const bool in_blocks = is_long_progression(filling.positions, moving.pairs);
    const std::int64_t bytes = in_blocks ? 2 * element_bytes(type) : evaluated_bytes;
    const Team team(static_cast<double>(table.rows * table.pairs * bytes), threads);
    if (in_blocks)
        fill_progression(filling, stores, team.threads());
    else if (moving.pairs > 0)
        fill_one_by_one(filling, team.threads());
    if (moving.pairs < table.pairs)
        fill_standing(filling, table.pairs, team.threads());
}

void fill_matrices(const Kernels& kernels, const Frequencies& frequencies,
                   const Positions& positions, double factor, Matrices kind, UpperSine upper,
                   double* matrices, int threads) {
    const std::int64_t pairs = frequencies.pairs(), dim = 2 * pairs;
    const Scratch tables(positions.count * dim);
    double *const sines = tables.data(), *const cosines = sines + positions.count * pairs;
    fill_table(kernels, frequencies, positions, factor, Type::float64, Layout::apart,
               {sines, cosines, pairs, positions.count, pairs}, Stores::cached, threads);
    const bool half = kind == Matrices::half, blocks = kind == Matrices::blocks;
    const std::int64_t line = blocks ? 2 : dim;  // from row to row
    const std::int64_t size = 2 * line;          // of the rows of a pair
    const std::int64_t apart = half ? pairs : 1; // the two rows and columns of a pair
    const std::int64_t next = half ? dim + 1 : size + (blocks ? 0 : 2); // from pair to pair
    const bool positive = upper == UpperSine::positive;
    const auto fill_pairs = [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
        double* const matrix = matrices + row * pairs * size;
        if (half) {
            std::fill(matrix + begin * dim, matrix + end * dim, 0.0);
            std::fill(matrix + (pairs + begin) * dim, matrix + (pairs + end) * dim, 0.0);
        } else if (!blocks)
            std::fill(matrix + begin * size, matrix + end * size, 0.0);
        for (std::int64_t pair = begin; pair < end; ++pair) {
            const double sine = sines[row * pairs + pair], less = 0 - sine; // no zero has a sign
            double* const upper_left = matrix + pair * next;
            upper_left[0] = upper_left[apart * (line + 1)] = cosines[row * pairs + pair];
            upper_left[apart] = positive ? sine : less;
            upper_left[apart * line] = positive ? less : sine;
        }
    };
    const Team team(static_cast<double>(positions.count * pairs * size * 8), threads);
    // Tasks of what the second cache holds. Where rows are wide, of a whole matrix or 64 MiB of it:
    // zeros that pass the cache by are written the faster. Of no more than a thread's share.
    constexpr std::int64_t near = std::int64_t{1} << 15, wide = 1024, far = std::int64_t{1} << 23;
    const std::int64_t all = positions.count * pairs;
    const std::int64_t share = line < wide ? near / size : std::min(pairs, far / size);
    const std::int64_t most =
        std::max<std::int64_t>(std::min(share, ceil_div(all, team.threads())), 1);
    const auto fill_task = [&](std::int64_t task, int) {
        const std::int64_t end = std::min((task + 1) * most, all);
        for (std::int64_t at = task * most, first, last; at < end; at += last - first) {
            first = at % pairs;
            last = std::min(pairs, first + end - at);
            fill_pairs(at / pairs, first, last);
        }
    };
    run_tasks(ceil_div(all, most), team.threads(), Task(fill_task));
}

} // namespace ropewalk
