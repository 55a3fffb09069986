// What softmax and its logarithm share: axes are joined, and rows or columns become tasks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "plans/softmax_parts.hpp"
#include "plans/team.hpp"

namespace ropewalk {

// A task has so many elements or one row, or one group of columns. So many are made in the first
// cache at once.
constexpr std::int64_t task_elements = std::int64_t{1} << 14, staged_elements = 2048;

// task(begin, end, room) of `count` rows, or groups of columns, of so many elements each, about
// `most_elements` in all.
template <class T, class Function>
void each_task(const Softmax& s, std::int64_t count, std::int64_t elements,
               std::int64_t most_elements, int threads, Function task) {
    // Elements as they are computed, for halves take as long as float32: four times as long as to
    // write that.
    const std::int64_t bytes = times(times(product(s.leading), s.length), sizeof(T));
    const Team team(4.0 * static_cast<double>(bytes), threads);
    const std::int64_t most =
        std::max<std::int64_t>(1, most_elements / std::max<std::int64_t>(1, elements));
    const std::int64_t tasks = ceil_div(count, most);
    constexpr std::int64_t least =
        std::max<std::int64_t>(staged_elements, together_bytes / sizeof(T));
    // In sixteens, and sixteen more, for the part of a line that waits before streamed rows.
    const std::int64_t held = up_to(16, std::max(elements, least)) + 16;
    std::vector<Scratch> rooms;
    const auto workers = static_cast<std::size_t>(std::min<std::int64_t>(team.threads(), tasks));
    rooms.reserve(workers);
    for (std::size_t i = 0; i < workers; ++i)
        rooms.emplace_back(SoftmaxRoom<T>::doubles(held));
    struct alignas(line_bytes) OwnGuess { // which other workers do not write beside
        Guess guess;
    };
    std::vector<OwnGuess> guesses(workers);
    Interruption interruption;
    const auto run = [&](std::int64_t index, int worker) {
        const auto own = static_cast<std::size_t>(worker);
        const SoftmaxRoom<T> room(rooms[own], held, worker, interruption, guesses[own].guess);
        task(index * most, std::min(count, (index + 1) * most), room);
    };
    run_tasks(tasks, team.threads(), Task(run), interruption);
}

// task(first, count, room) of up to `width` columns side by side along the last of the leading
// axes, of so many elements each time.
template <class T, class Function>
void each_group(const SoftmaxElements<T>& e, std::int64_t width, std::int64_t elements, int threads,
                Function task) {
    const std::int64_t line = e.asked.leading.back(), groups = ceil_div(line, width);
    each_task<T>(e.asked, product(e.asked.leading) / line * groups, elements, task_elements,
                 threads, [&](std::int64_t begin, std::int64_t end, const SoftmaxRoom<T>& room) {
                     for (std::int64_t group = begin; group < end; ++group) {
                         const std::int64_t at = group % groups * width;
                         task(group / groups * line + at, std::min(width, line - at), room);
                     }
                 });
}

// task(columns, the first)
template <class T, class Function>
void each_column(const SoftmaxElements<T>& e, const Strided<void>* y, int threads, Function task) {
    const std::int64_t width = SoftmaxColumns<T>::most_columns;
    const std::int64_t columns = std::min(e.asked.leading.back(), width);
    const std::int64_t elements = std::min(
        std::min(e.asked.length, part_elements) * up_to(softmax_lanes, columns), part_elements);
    each_group(e, width, elements, threads,
               [&](std::int64_t first, std::int64_t count, const SoftmaxRoom<T>& room) {
                   SoftmaxColumns<T> group(e, first, count, y, room);
                   task(group, first);
               });
}

// Joins axes along which all arrays go on as they do along the next, so that there is more to meet
// side by side.
inline void join_axes(Softmax& s, std::vector<std::int64_t>& result) {
    const std::array strides{&s.x.strides, &result, &s.mask.strides};
    const std::size_t arrays = s.mask.data == nullptr ? 2 : 3;
    std::size_t joined = 0;
    for (std::size_t axis = 0; axis < s.leading.size(); ++axis) {
        const std::int64_t length = s.leading[axis];
        if (length == 1)
            continue;
        const bool goes_on =
            joined > 0 && std::all_of(strides.begin(), strides.begin() + arrays, [&](auto* of) {
                return (*of)[joined - 1] == (*of)[axis] * length;
            });
        if (!goes_on)
            s.leading[joined++] = 1;
        s.leading[joined - 1] *= length;
        for (std::size_t i = 0; i < arrays; ++i)
            (*strides[i])[joined - 1] = (*strides[i])[axis];
    }
    s.leading.resize(joined);
    for (std::size_t i = 0; i < arrays; ++i)
        strides[i]->resize(joined);
}

// Moves the axis behind the others along which there are columns, if there is one: so many rows at
// least, which lie side by side, or are so short that it pays to bring their elements together.
inline bool has_columns(Softmax& s, std::vector<std::int64_t>& result, std::int64_t least,
                        std::int64_t short_row) {
    std::size_t axis = s.leading.size();
    if (s.x.step != 1)
        for (std::size_t i = 0; i < s.leading.size(); ++i)
            if (s.x.strides[i] == 1 && s.leading[i] >= least)
                axis = i;
    if (axis == s.leading.size() && s.length <= short_row)
        axis = static_cast<std::size_t>(std::max_element(s.leading.begin(), s.leading.end()) -
                                        s.leading.begin());
    if (axis == s.leading.size() || s.leading[axis] < least)
        return false;
    const auto move = [&](std::vector<std::int64_t>& of) {
        const auto from = of.begin() + static_cast<std::ptrdiff_t>(axis);
        std::rotate(from, from + 1, of.end());
    };
    move(s.leading);
    move(s.x.strides);
    if (s.mask.data != nullptr)
        move(s.mask.strides);
    move(result);
    return true;
}

} // namespace ropewalk
