#include "plans/transposing.hpp"

#include <algorithm>

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
    for (std::size_t i = axes_.size(); i-- > 1;)
        if (axes_[i].x_stride == 1)
            side_by_side_ = i;
}

bool Transposing::fits() const {
    constexpr std::int64_t least = 64; // NumPy is faster with many small matrices
    return side_by_side_ > 0 && axes_.front().size * axes_[side_by_side_].size >= least;
}

void Transposing::copy(const Kernels& kernels, const void* x, void* y, int threads) const {
    const Axis rows = axes_.front(), columns = axes_[side_by_side_];
    std::vector<Axis> others(axes_.begin() + 1, axes_.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(side_by_side_) - 1);

    // What a task writes fits the second cache, and it reads some lines of each row.
    constexpr std::int64_t near = std::int64_t{1} << 17, most_rows = 1024, fewest_columns = 64;
    const std::int64_t bytes = element_bytes(type_);
    const std::int64_t most_columns =
        std::max(near / (bytes * std::min(rows.size, most_rows)) / fewest_columns * fewest_columns,
                 fewest_columns);
    // The last of them has the rest: kernels take longer where there are few.
    const std::int64_t row_parts = std::max<std::int64_t>(rows.size / most_rows, 1);
    // The first of them has what lies before a cache line of the first row, if anything: columns
    // lie in lines then where all rows begin alike.
    const auto past_line = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(x) % 64);
    const std::int64_t before = std::min((64 - past_line) % 64 / bytes, columns.size);
    const std::int64_t first_parts = before > 0 ? 1 : 0;
    const std::int64_t column_parts = first_parts + ceil_div(columns.size - before, most_columns);
    std::int64_t tasks = row_parts * column_parts, elements = rows.size * columns.size;
    for (const Axis& axis : others) {
        tasks *= axis.size;
        elements *= axis.size;
    }

    const auto kernel = kernels.transpose[static_cast<std::size_t>(type_)];
    const auto run = [&](std::int64_t index, int) {
        const std::int64_t row = index % row_parts * most_rows;
        const bool last = index % row_parts == row_parts - 1;
        const std::int64_t column_part = index / row_parts % column_parts - first_parts;
        const std::int64_t column = column_part < 0 ? 0 : before + column_part * most_columns;
        const std::int64_t end =
            column_part < 0 ? before : std::min(column + most_columns, columns.size);
        std::int64_t from = row * rows.x_stride + column;
        std::int64_t to = row + column * columns.y_stride;
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
