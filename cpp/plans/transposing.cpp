#include "plans/transposing.hpp"

#include <algorithm>
#include <functional>

#include "plans/memory.hpp"
#include "plans/pool.hpp"
#include "plans/team.hpp"

namespace ropewalk {

Transposing::Transposing(Type type, const std::vector<std::int64_t>& shape,
                         const std::vector<std::int64_t>& strides)
    : type_(type) {
    std::int64_t y_stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        if (shape[i] == 1)
            continue;
        if (!axes_.empty() && strides[i] == axes_.back().x_stride * axes_.back().size)
            axes_.back().size *= shape[i];
        else
            axes_.push_back({shape[i], strides[i], y_stride});
        y_stride *= shape[i];
    }
}

bool Transposing::fits() const {
    return axes_.size() > 1 &&
           std::any_of(axes_.begin() + 1, axes_.end(), std::mem_fn(&Axis::lies_side_by_side));
}

void Transposing::copy(const Kernels& kernels, const void* x, void* y, int threads) const {
    std::vector<Axis> others = axes_;
    const auto side_by_side =
        std::find_if(others.begin() + 1, others.end(), std::mem_fn(&Axis::lies_side_by_side));
    const Axis rows = others.front(), columns = *side_by_side;
    others.erase(side_by_side);
    others.erase(others.begin());

    // What a task writes fits the second cache, and it reads some lines of each row.
    constexpr std::int64_t near = std::int64_t{1} << 17, most_rows = 1024, fewest_columns = 64;
    const std::int64_t bytes = element_bytes(type_);
    const std::int64_t most_columns =
        std::max(near / (bytes * std::min(rows.size, most_rows)) / fewest_columns * fewest_columns,
                 fewest_columns);
    // The last of them has the rest: kernels take longer where there are few.
    const std::int64_t row_parts = std::max<std::int64_t>(rows.size / most_rows, 1);
    // The first of them has what lies before a cache line of the first row: columns lie in lines
    // then where all rows begin alike.
    const auto past_line = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(x) % 64);
    const std::int64_t before = std::min((64 - past_line) % 64 / bytes, columns.size);
    const std::int64_t column_parts = 1 + ceil_div(columns.size - before, most_columns);
    std::int64_t tasks = row_parts * column_parts, elements = rows.size * columns.size;
    for (const Axis& axis : others) {
        tasks *= axis.size;
        elements *= axis.size;
    }

    const auto kernel = kernels.transpose[static_cast<std::size_t>(type_)];
    const auto run = [&](std::int64_t index, int) {
        const std::int64_t row = index % row_parts * most_rows;
        const bool last = index % row_parts == row_parts - 1;
        const std::int64_t column_part = index / row_parts % column_parts;
        const std::int64_t column = column_part > 0 ? before + (column_part - 1) * most_columns : 0;
        const std::int64_t end =
            column_part > 0 ? std::min(column + most_columns, columns.size) : before;
        std::int64_t from = row * rows.x_stride + column;
        std::int64_t to = row * rows.y_stride + column * columns.y_stride;
        std::int64_t rest = index / row_parts / column_parts;
        for (const Axis& axis : others) {
            from += rest % axis.size * axis.x_stride;
            to += rest % axis.size * axis.y_stride;
            rest /= axis.size;
        }
        kernel(static_cast<const char*>(x) + from * bytes, rows.x_stride,
               last ? rows.size - row : most_rows, end - column, static_cast<char*>(y) + to * bytes,
               columns.y_stride);
    };
    const Team team(static_cast<double>(elements) * 2.0 * static_cast<double>(bytes), threads);
    run_tasks(tasks, team.threads(), Task(run));
}

} // namespace ropewalk
