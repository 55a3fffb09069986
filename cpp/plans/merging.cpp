#include "plans/merging.hpp"

#include <algorithm>

#include "plans/memory.hpp"
#include "plans/pool.hpp"
#include "plans/softmax.hpp"
#include "plans/team.hpp"

namespace ropewalk {

void merge(const Kernels& kernels, const Parts& parts, void* output, double* lse, int threads) {
    constexpr double task_elements = 1 << 16; // which are read
    const auto count = static_cast<std::int64_t>(parts.outputs.size());
    // As doubles: where there are no rows, they may be of any width.
    const double rows_read = static_cast<double>(parts.rows) * static_cast<double>(count);
    const auto width = static_cast<double>(std::max(parts.dim, std::int64_t{softmax_lanes}));
    // To read two elements takes as long as to write one; halves take as long as float32.
    const double merged = rows_read * width * (parts.type == Type::float64 ? 8 : 4) / 2;
    const double weighed = rows_read * 4 * sizeof(double); // as softmax counts it
    // Of the call: to each step the end of the one before would seem to begin a row of calls.
    const Team all(std::max(merged, weighed), threads);
    const Softmax columns{
        Type::float64, {parts.rows}, count, 1.0, true, {parts.lses, {1}, parts.rows}, {}};
    const Scratch weights(count * parts.rows);
    logsumexp(kernels, columns, lse, all.threads());
    softmax(kernels, columns, {weights.data(), {1}, parts.rows}, Stores::cached, all.threads());

    const Team team(merged, all.threads());
    const auto most = static_cast<std::int64_t>(
        std::max(1.0, task_elements / (static_cast<double>(count) * width)));
    const auto kernel = kernels.merge_rows[static_cast<std::size_t>(parts.type)];
    const auto run = [&](std::int64_t index, int) {
        const std::int64_t first = index * most;
        kernel({parts.outputs.data(), parts.strides.data(), count, parts.lses, weights.data(),
                parts.rows, first, std::min(parts.rows, first + most), parts.dim, output});
    };
    run_tasks(ceil_div(parts.rows, most), team.threads(), Task(run));
}

} // namespace ropewalk
