#include "plans/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "plans/softmax_parts.hpp"

namespace ropewalk {
namespace {

// A task has so many elements or one row, or one group of columns; so many are made in the first
// cache before they are streamed, and there is room for as many at least.
constexpr std::int64_t task_elements = std::int64_t{1} << 14, staged_elements = 2048;

std::int64_t rows_of(const Softmax& s) {
    return std::accumulate(s.leading.begin(), s.leading.end(), std::int64_t{1},
                           std::multiplies<>());
}

// task(begin, end, room) of `count` rows, or groups of columns, of so many elements each.
template <class T, class Function>
void each_task(const Softmax& s, std::int64_t count, std::int64_t elements, int threads,
               Function task) {
    if (rows_of(s) * s.length * element_bytes(s.type) < parallel_bytes)
        threads = 1;
    const std::int64_t most =
        std::max<std::int64_t>(1, task_elements / std::max<std::int64_t>(1, elements));
    const std::int64_t tasks = (count + most - 1) / most;
    const std::int64_t held = (std::clamp(elements, staged_elements, part_elements) + 15) / 16 * 16;
    std::vector<Scratch> rooms;
    const auto workers = static_cast<std::size_t>(std::min<std::int64_t>(threads, tasks));
    rooms.reserve(workers);
    for (std::size_t i = 0; i < workers; ++i)
        rooms.emplace_back(SoftmaxRoom<T>::doubles(held));
    Interruption interruption;
    const auto run = [&](std::int64_t index, int worker) {
        const SoftmaxRoom<T> room(rooms[static_cast<std::size_t>(worker)], held, worker,
                                  interruption);
        task(index * most, std::min(count, (index + 1) * most), room);
    };
    run_tasks(tasks, threads, Task(run), interruption);
}

// task(row): the rows, part by part.
template <class T, class Function>
void each_row(const SoftmaxElements<T>& e, const Strided<void>* y, int threads, Function task) {
    each_task<T>(e.s_, rows_of(e.s_), e.s_.length, threads,
                 [&](std::int64_t begin, std::int64_t end, const SoftmaxRoom<T>& room) {
                     for (std::int64_t index = begin; index < end; ++index) {
                         SoftmaxRow<T> row(e, index, y, room);
                         task(row, index);
                     }
                 });
}

// The same for columns side by side along the last of the leading axes: task(columns, the first).
template <class T, class Function>
void each_column(const SoftmaxElements<T>& e, const Strided<void>* y, int threads, Function task) {
    const std::int64_t line = e.s_.leading.back(), width = SoftmaxColumns<T>::most_columns;
    const std::int64_t groups = (line + width - 1) / width;
    const std::int64_t sixteens = (std::min(line, width) + side_by_side - 1) / side_by_side;
    const std::int64_t elements = std::min(e.s_.length, part_elements) * sixteens * side_by_side;
    each_task<T>(e.s_, rows_of(e.s_) / line * groups, elements, threads,
                 [&](std::int64_t begin, std::int64_t end, const SoftmaxRoom<T>& room) {
                     for (std::int64_t group = begin; group < end; ++group) {
                         const std::int64_t first = group % groups * width;
                         const std::int64_t index = group / groups * line + first;
                         SoftmaxColumns<T> columns(e, index, std::min(width, line - first), y,
                                                   room);
                         task(columns, index);
                     }
                 });
}

// Rows along the last axis, from that index on; returns how many. What is masked or streamed is
// made in memory of ours, as many as the first cache holds, or one.
template <class T>
std::int64_t rows_at_once(const SoftmaxElements<T>& e, const Strided<void>& y, std::int64_t index,
                          std::int64_t end, bool streamed, const SoftmaxRoom<T>& room) {
    const Softmax& s = e.s_;
    const bool plain = e.plain();
    const std::int64_t line = s.leading.empty() ? 1 : s.leading.back();
    const std::int64_t some =
        plain && !streamed ? line : std::max<std::int64_t>(1, staged_elements / s.length);
    const std::int64_t rows = std::min({end - index, line - index % line, some});
    const auto stride = [&](const auto& array) {
        return s.leading.empty() ? 0 : array.strides.back();
    };
    const auto* x = static_cast<const T*>(e.at(s.x, offset_of(s.leading, s.x, index)));
    auto* const to = static_cast<T*>(e.at(y, offset_of(s.leading, y, index)));
    T* const own = room.elements;
    const auto counts = [&](std::int64_t row) {
        return s.mask.data == nullptr ? nullptr
                                      : s.mask.data + offset_of(s.leading, s.mask, index + row);
    };
    if (!plain)
        for (std::int64_t row = 0; row < rows; ++row)
            e.read(x + row * stride(s.x), counts(row), s.length, own + row * s.length);
    T* const result = streamed ? own : to;
    const std::int64_t result_stride = streamed ? s.length : stride(y);
    e.kernel().rows(plain ? x : own, plain ? stride(s.x) : s.length, result, result_stride, rows,
                    s.length, e.scale_, room.weights);
    if (s.mask.data != nullptr)
        for (std::int64_t row = 0; row < rows; ++row) {
            T* const shares = result + row * result_stride;
            if (std::isnan(shares[0])) // as all of them: what is left out is 0 even so
                e.kernel().hide(shares, counts(row), s.length, T{0}, shares);
        }
    if (streamed)
        e.kernels_.stream(own, to, rows * s.length * e.bytes_);
    return rows;
}

// Rows that kernels read and write where they are, but for a mask or a sign.
template <class T>
void softmax_whole_rows(const SoftmaxElements<T>& e, const Strided<void>& y, Stores stores,
                        int threads) {
    const bool streamed = stores == Stores::streamed && e.kernels_.stream != nullptr &&
                          (e.s_.leading.empty() || y.strides.back() == e.s_.length);
    each_task<T>(e.s_, rows_of(e.s_), e.s_.length, threads,
                 [&](std::int64_t begin, std::int64_t end, const SoftmaxRoom<T>& room) {
                     for (std::int64_t index = begin; index < end;)
                         index += rows_at_once(e, y, index, end, streamed, room);
                     if (streamed)
                         e.kernels_.fence();
                 });
}

// Moves an axis along which x lies side by side behind the others, if x has columns.
bool has_columns(Softmax& s, std::vector<std::int64_t>& result) {
    const auto side = std::find(s.x.strides.begin(), s.x.strides.end(), 1);
    if (s.x.step == 1 || side == s.x.strides.end())
        return false;
    const auto axis = side - s.x.strides.begin();
    const auto move = [&](std::vector<std::int64_t>& of) {
        std::rotate(of.begin() + axis, of.begin() + axis + 1, of.end());
    };
    move(s.leading);
    move(s.x.strides);
    if (s.mask.data != nullptr)
        move(s.mask.strides);
    move(result);
    return true;
}

template <class T>
void softmax_in(const Kernels& kernels, Softmax s, Strided<void> y, Stores stores, int threads) {
    const bool columns = has_columns(s, y.strides) && y.strides.back() == 1;
    const SoftmaxElements<T> e(kernels, s);
    const auto share = [](auto& part, std::int64_t) { share_parts(part); };
    if (columns)
        each_column(e, &y, threads, share);
    else if (e.as_computed() && s.x.step == 1 && y.step == 1 &&
             (s.mask.data == nullptr || s.mask.step == 1) && s.length <= part_elements)
        softmax_whole_rows(e, y, stores, threads);
    else
        each_row(e, &y, threads, share);
}

// Of what has inf: inf, but NaN beside NaN.
double sum_with_infinity(const SoftmaxElements<double>& e, std::int64_t index,
                         const SoftmaxRoom<double>& room) {
    SoftmaxRow<double> row(e, index, nullptr, room);
    double sum = 0;
    each_part(row.length(), SoftmaxRow<double>::most, room,
              [&](std::int64_t begin, std::int64_t count) {
                  row.load(begin, count);
                  for (std::int64_t i = 0; i < count; ++i)
                      sum += row.elements()[i] < 0 ? 0 : row.elements()[i];
              });
    return sum;
}

} // namespace

void softmax(const Kernels& kernels, const Softmax& softmax, const Strided<void>& y, Stores stores,
             int threads) {
    if (softmax.type == Type::float64 || softmax.in_float64 ||
        !scales_differences<float>(softmax.scale))
        softmax_in<double>(kernels, softmax, y, stores, threads);
    else
        softmax_in<float>(kernels, softmax, y, stores, threads);
}

void logsumexp(const Kernels& kernels, const Softmax& given, double* logs, int threads) {
    Softmax s = given;
    Strided<double> result{logs, std::vector<std::int64_t>(s.leading.size()), 0};
    std::int64_t stride = 1;
    for (std::size_t axis = s.leading.size(); axis-- > 0; stride *= s.leading[axis])
        result.strides[axis] = stride;
    const bool columns = has_columns(s, result.strides);
    const SoftmaxElements<double> e(kernels, s);
    const auto take_log = [&](auto& part, std::int64_t index) {
        sum_parts(part);
        for (std::int64_t i = 0; i < part.count(); ++i) {
            const double greatest = part.greatest(i), total = part.total(i);
            double& log = logs[offset_of(s.leading, result, index + i)];
            if (greatest == HUGE_VAL)
                log = sum_with_infinity(e, index + i, part.room());
            else
                log = total == 0 ? -HUGE_VAL
                                 : (std::isinf(greatest) ? 0 : greatest) + std::log(total);
        }
    };
    if (columns)
        each_column(e, nullptr, threads, take_log);
    else
        each_row(e, nullptr, threads, take_log);
}

} // namespace ropewalk
