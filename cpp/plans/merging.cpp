#include "plans/merging.hpp"

#include <algorithm>

#include "plans/memory.hpp"
#include "plans/pool.hpp"
#include "plans/softmax.hpp"
#include "plans/team.hpp"

namespace ropewalk {

void merge(const Kernels& kernels, const Parts& parts, void* output, double* lse, int threads) {
    constexpr std::int64_t task_elements = std::int64_t{1} << 15;
    const auto count = static_cast<std::int64_t>(parts.outputs.size());
    const Softmax columns{
        Type::float64, {parts.rows}, count, 1.0, true, {parts.lses, {1}, parts.rows}, {}};
    const Scratch weights(count * parts.rows);
    logsumexp(kernels, columns, lse, threads);
    softmax(kernels, columns, {weights.data(), {1}, parts.rows}, Stores::cached, threads);

    const std::int64_t row_bytes = parts.dim * element_bytes(parts.type);
    const Team team(static_cast<double>(parts.rows * row_bytes), threads);
    const std::int64_t most =
        std::max<std::int64_t>(1, task_elements / std::max(parts.dim, std::int64_t{softmax_lanes}));
    const auto kernel = kernels.merge_rows[static_cast<std::size_t>(parts.type)];
    const auto run = [&](std::int64_t index, int) {
        const std::int64_t first = index * most;
        kernel({parts.outputs.data(), parts.strides.data(), count, parts.lses, weights.data(),
                parts.rows, first, std::min(parts.rows, first + most), parts.dim, output});
    };
    run_tasks(ceil_div(parts.rows, most), team.threads(), Task(run));
}

} // namespace ropewalk
