#include "plans/softmax.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "plans/softmax_parts.hpp"

namespace ropewalk {
namespace {

// A task has so many elements or one row, or one group of columns; more where they are streamed, as
// its first and its last line wait for memory. So many are made in the first cache before they are
// streamed. A row of as many as longest_whole_row is held as a whole, a longer one part by part.
constexpr std::int64_t task_elements = std::int64_t{1} << 14,
                       streamed_elements = std::int64_t{1} << 18, staged_elements = 2048,
                       longest_whole_row = std::int64_t{1} << 20;

// task(begin, end, room) of `count` rows, or groups of columns, of so many elements each, about
// `most_elements` in all.
template <class T, class Function>
void each_task(const Softmax& s, std::int64_t count, std::int64_t elements,
               std::int64_t most_elements, int threads, Function task) {
    if (product(s.leading) * s.length * element_bytes(s.type) < parallel_bytes)
        threads = 1;
    const std::int64_t most =
        std::max<std::int64_t>(1, most_elements / std::max<std::int64_t>(1, elements));
    const std::int64_t tasks = (count + most - 1) / most;
    constexpr std::int64_t least =
        std::max<std::int64_t>(staged_elements, together_bytes / sizeof(T));
    // In sixteens, and sixteen more, for the part of a line that waits before streamed rows.
    const std::int64_t held = (std::max(elements, least) + 31) / 16 * 16;
    std::vector<Scratch> rooms;
    const auto workers = static_cast<std::size_t>(std::min<std::int64_t>(threads, tasks));
    rooms.reserve(workers);
    for (std::size_t i = 0; i < workers; ++i)
        rooms.emplace_back(SoftmaxRoom<T>::doubles(held));
    std::vector<Guess> guesses(workers);
    Interruption interruption;
    const auto run = [&](std::int64_t index, int worker) {
        const auto own = static_cast<std::size_t>(worker);
        const SoftmaxRoom<T> room(rooms[own], held, worker, interruption, guesses[own]);
        task(index * most, std::min(count, (index + 1) * most), room);
    };
    run_tasks(tasks, threads, Task(run), interruption);
}

// task(row): the rows, part by part.
template <class T, class Function>
void each_row(const SoftmaxElements<T>& e, const Strided<void>* y, int threads, Function task) {
    each_task<T>(e.asked, product(e.asked.leading), std::min(e.asked.length, part_elements),
                 task_elements, threads,
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
    const std::int64_t line = e.asked.leading.back(), width = SoftmaxColumns<T>::most_columns;
    const std::int64_t groups = (line + width - 1) / width;
    const std::int64_t sixteens = (std::min(line, width) + side_by_side - 1) / side_by_side;
    const std::int64_t elements =
        std::min(std::min(e.asked.length, part_elements) * sixteens * side_by_side, part_elements);
    each_task<T>(e.asked, product(e.asked.leading) / line * groups, elements, task_elements,
                 threads, [&](std::int64_t begin, std::int64_t end, const SoftmaxRoom<T>& room) {
                     for (std::int64_t group = begin; group < end; ++group) {
                         const std::int64_t first = group % groups * width;
                         const std::int64_t index = group / groups * line + first;
                         SoftmaxColumns<T> columns(e, index, std::min(width, line - first), y,
                                                   room);
                         task(columns, index);
                     }
                 });
}

// Rows of a task that are streamed. Those made in one place pass the cache by, line by line, while
// the next are made in another.
template <class T>
class StreamedRows {
  public:
    StreamedRows(const SoftmaxElements<T>& e, const SoftmaxRoom<T>& room)
        : kernels_(e.kernels), kernel_(e.kernel()),
          next_(reinterpret_cast<char*>(room.elements) + line_bytes),
          last_(static_cast<char*>(room.packed) + line_bytes) {}

    T* next() const { return reinterpret_cast<T*>(next_); }
    Lines& lines() { return lines_; } // that are still to be written
    // Shares, or weights of this total, several lines of them. A line that is not whole waits for
    // the rows behind it.
    void stream(T* rows, std::int64_t count, double total = 1) {
        auto* const to = reinterpret_cast<char*>(rows);
        if (to != end_)
            finish();
        else
            write_lines();
        end_ = to + count * element;
        const char* from = next_ - part_;
        char* target = to - part_;
        if (total != 1) { // the line that began with other rows is written by itself
            divide(next_, before_line(to), total);
            if (part_ > 0) {
                lines_ = {from, target, 1, 1};
                write_lines();
                from += line_bytes;
                target += line_bytes;
            }
        }
        const auto head = std::min<std::int64_t>(before_line(target), end_ - target);
        target = std::copy_n(from, head, target);
        lines_ = {from + head, target, (end_ - target) / line_bytes, total};
        part_ = (end_ - target) % line_bytes;
        std::swap(next_, last_);
        std::copy_n(end_ - to + last_ - part_, part_, next_ - part_);
        divide(next_ - part_, part_, total);
    }
    void finish() {
        write_lines();
        std::copy_n(next_ - part_, part_, end_ - part_);
        part_ = 0;
    }

  private:
    static constexpr auto element = static_cast<std::int64_t>(sizeof(T));
    static std::int64_t before_line(const char* p) {
        return -reinterpret_cast<std::intptr_t>(p) & (line_bytes - 1);
    }
    void divide(char* weights, std::int64_t bytes, double total) const {
        auto* const some = reinterpret_cast<T*>(weights);
        if (total != 1)
            kernel_.share(some, bytes / element, total, some);
    }
    void write_lines() {
        if (lines_.count > 0)
            kernels_.stream(lines_);
    }

    const Kernels& kernels_;
    const SoftmaxKernels<T>& kernel_;
    char *next_, *last_;
    char* end_ = nullptr;
    std::int64_t part_ = 0; // of a line before the end, which lie before the next rows
    Lines lines_{};
};

// function(row, count) for rows of elements side by side, or once where they have no gaps.
template <class Function>
void each_run(std::int64_t rows, std::int64_t length, bool gapless, Function function) {
    if (gapless)
        return function(0, rows * length);
    for (std::int64_t row = 0; row < rows; ++row)
        function(row, length);
}

// Rows along the last axis, from that index on; returns how many. What is masked, of another type
// or streamed is made in memory of ours, as many as the first cache holds, or one.
template <class T>
std::int64_t rows_at_once(const SoftmaxElements<T>& e, const Strided<void>& y, std::int64_t index,
                          std::int64_t end, const SoftmaxRoom<T>& room, Guess& guess,
                          StreamedRows<T>* streamed, Ahead ahead) {
    const Softmax& s = e.asked;
    const bool plain = e.plain(), in_place = streamed == nullptr && e.as_computed();
    const std::int64_t line = s.leading.empty() ? 1 : s.leading.back();
    const std::int64_t some =
        plain && in_place ? line : std::max<std::int64_t>(1, staged_elements / s.length);
    const std::int64_t rows = std::min({end - index, line - index % line, some});
    const auto stride = [&](const auto& array) {
        return s.leading.empty() ? 0 : array.strides.back();
    };
    const auto row_of = [&](const auto& array, std::int64_t row) {
        return e.at(array, offset_of(s.leading, array, index) + row * stride(array));
    };
    const auto counts = [&](std::int64_t row) {
        return s.mask.data == nullptr ? nullptr
                                      : s.mask.data + offset_of(s.leading, s.mask, index + row);
    };
    const auto gapless = [&](const auto& array) {
        return array.data == nullptr || stride(array) == s.length;
    };
    T* const own = streamed == nullptr ? room.elements : streamed->next();
    if (!plain)
        each_run(rows, s.length, gapless(s.x) && gapless(s.mask),
                 [&](std::int64_t row, std::int64_t count) {
                     e.read(row_of(s.x, row), counts(row), count, own + row * s.length);
                 });
    T* const result = in_place ? static_cast<T*>(row_of(y, 0)) : own;
    const std::int64_t result_stride = in_place ? stride(y) : s.length;
    Lines none{};
    e.kernel().rows(plain ? static_cast<const T*>(row_of(s.x, 0)) : own,
                    plain ? stride(s.x) : s.length, result, result_stride, rows, s.length, e.scale,
                    room.weights, guess, streamed == nullptr ? none : streamed->lines(), ahead);
    if (s.mask.data != nullptr)
        for (std::int64_t row = 0; row < rows; ++row) {
            T* const shares = result + row * result_stride;
            if (std::isnan(shares[0])) // as all of them: what is left out is 0 even so
                e.kernel().hide(shares, counts(row), s.length, T{0}, shares);
        }
    if (streamed != nullptr)
        streamed->stream(static_cast<T*>(row_of(y, 0)), rows * s.length);
    else if (!in_place)
        each_run(rows, s.length, gapless(y), [&](std::int64_t row, std::int64_t count) {
            e.write(own + row * s.length, nullptr, count, row_of(y, row));
        });
    return rows;
}

// Whether rows are streamed as weights, which are divided as they pass the cache by: those that the
// first cache does not hold twice need not be read and written once more.
template <class T>
bool divides_late(const SoftmaxElements<T>& e) {
    constexpr std::int64_t long_rows = 1024;
    return e.plain() && e.asked.length >= long_rows && e.kernel().weigh_row != nullptr;
}

template <class T>
void stream_row(const SoftmaxElements<T>& e, const Strided<void>& y, std::int64_t index,
                Guess& guess, StreamedRows<T>& streamed, Ahead ahead) {
    const Softmax& s = e.asked;
    const auto* const x = static_cast<const T*>(e.at(s.x, offset_of(s.leading, s.x, index)));
    const double total =
        e.kernel().weigh_row(x, s.length, e.scale, streamed.next(), guess, streamed.lines(), ahead);
    streamed.stream(static_cast<T*>(e.at(y, offset_of(s.leading, y, index))), s.length, total);
}

// What is asked for of so many bytes: the place of results, from where the second cache does not
// hold it beside what is read; or, where lines are streamed, rows far ahead.
Ahead rows_ahead(std::int64_t bytes, bool streamed) {
    constexpr std::int64_t asked_bytes = 1 << 20;
    if (!waits_for_second_cache())
        return streamed ? Ahead::far_rows : Ahead::nothing;
    return !streamed && bytes >= asked_bytes ? Ahead::next_rows : Ahead::nothing;
}

// Rows that kernels read and write where they are, but for a mask, a sign or another type.
template <class T>
void softmax_whole_rows(const SoftmaxElements<T>& e, const Strided<void>& y, Stores stores,
                        int threads) {
    const bool streamed = stores == Stores::streamed && e.kernels.stream != nullptr &&
                          e.as_computed() &&
                          (e.asked.leading.empty() || y.strides.back() == e.asked.length);
    const bool late = streamed && divides_late(e);
    const std::int64_t bytes =
        product(e.asked.leading) * e.asked.length * element_bytes(e.asked.type);
    const Ahead ahead = rows_ahead(bytes, streamed);
    each_task<T>(e.asked, product(e.asked.leading), e.asked.length,
                 streamed ? streamed_elements : task_elements, threads,
                 [&](std::int64_t begin, std::int64_t end, const SoftmaxRoom<T>& room) {
                     Guess guess;
                     StreamedRows<T> stream(e, room);
                     for (std::int64_t index = begin; index < end;)
                         if (late)
                             stream_row(e, y, index++, guess, stream, ahead);
                         else
                             index += rows_at_once(e, y, index, end, room, guess,
                                                   streamed ? &stream : nullptr, ahead);
                     if (streamed) {
                         stream.finish();
                         e.kernels.fence();
                     }
                 });
}

// Joins axes along which all arrays go on as they do along the next, so that there is more to meet
// side by side.
void join_axes(Softmax& s, std::vector<std::int64_t>& result) {
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
bool has_columns(Softmax& s, std::vector<std::int64_t>& result, std::int64_t least,
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

template <class T>
void softmax_in(const Kernels& kernels, Softmax s, Strided<void> y, Stores stores, int threads) {
    join_axes(s, y.strides);
    const std::int64_t least = std::is_same_v<T, float> ? 8 : 12;
    const bool columns = has_columns(s, y.strides, least, s.x.step == 1 ? 8 : 48);
    const SoftmaxElements<T> e(kernels, s);
    const auto share = [](auto& part, std::int64_t) { share_parts(part); };
    if (columns)
        each_column(e, &y, threads, share);
    else if (s.x.step == 1 && y.step == 1 && (s.mask.data == nullptr || s.mask.step == 1) &&
             s.length <= longest_whole_row)
        softmax_whole_rows(e, y, stores, threads);
    else
        each_row(e, &y, threads, share);
}

// Logarithms of sums, and whether there are all: NaN where terms may have been too small or too
// large, or where the logarithm is so small that the errors of the sum would show in float32, as in
// that of one element; there they are summed again, beside the greatest.
bool take_logs(const Kernels& kernels, const double* sums, std::int64_t count, double* logs) {
    constexpr double least = 0x1p-6;
    bool all = true;
    kernels.logarithms(sums, count, logs);
    for (std::int64_t i = 0; i < count; ++i)
        if (!(sums[i] >= 0x1p-900 && sums[i] <= 0x1p1000 && std::abs(logs[i]) >= least)) {
            logs[i] = std::numeric_limits<double>::quiet_NaN();
            all = false;
        }
    return all;
}

// Of what has inf: inf, but NaN beside NaN.
double sum_with_infinity(const SoftmaxElements<double>& e, std::int64_t index,
                         const SoftmaxRoom<double>& room) {
    SoftmaxRow<double> row(e, index, nullptr, room);
    double sum = 0;
    each_part(row, [&](std::int64_t begin, std::int64_t count) {
        row.load(begin, count);
        for (std::int64_t i = 0; i < count; ++i)
            sum += row.elements()[i] < 0 ? 0 : row.elements()[i];
    });
    return sum;
}

// Of one of the columns of a part, or of its row, of that index.
template <class Part>
double log_beside_greatest(const SoftmaxElements<double>& e, const Part& part, std::int64_t i,
                           std::int64_t index) {
    const double greatest = part.greatest(i);
    if (greatest == HUGE_VAL)
        return sum_with_infinity(e, index, part.room());
    return (std::isinf(greatest) ? 0 : greatest) + e.kernels.logarithm(part.totals()[i]);
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
    join_axes(s, result.strides);
    constexpr std::int64_t at_once = SoftmaxColumns<double>::most_columns;
    // Those of float64 would show the roundings of the sum everywhere.
    const bool directly = s.type != Type::float64;
    if (has_columns(s, result.strides, side_by_side, s.x.step == 1 ? 24 : 48)) {
        const SoftmaxElements<double> e(kernels, s);
        each_column(e, nullptr, threads, [&](auto& part, std::int64_t index) {
            double found[at_once];
            std::fill_n(found, part.count(), std::numeric_limits<double>::quiet_NaN());
            if (directly)
                sum_directly(part);
            if (!directly || !take_logs(kernels, part.totals(), part.count(), found)) {
                sum_parts(part);
                for (std::int64_t i = 0; i < part.count(); ++i)
                    if (std::isnan(found[i]))
                        found[i] = log_beside_greatest(e, part, i, index + i);
            }
            double* const own = logs + offset_of(s.leading, result, index);
            for (std::int64_t i = 0; i < part.count(); ++i)
                own[i == 0 ? 0 : i * result.strides.back()] = found[i];
        });
        return;
    }
    const SoftmaxElements<double> e(kernels, s);
    const auto take_rows = [&](std::int64_t begin, std::int64_t end,
                               const SoftmaxRoom<double>& room) {
        for (; begin < end; begin += at_once) {
            const std::int64_t count = std::min(at_once, end - begin);
            double found[at_once];
            std::fill_n(found, count, std::numeric_limits<double>::quiet_NaN());
            if (directly) {
                double sums[at_once];
                for (std::int64_t i = 0; i < count; ++i) {
                    SoftmaxRow<double> row(e, begin + i, nullptr, room);
                    sum_directly(row);
                    sums[i] = *row.totals();
                }
                take_logs(kernels, sums, count, found);
            }
            for (std::int64_t i = 0; i < count; ++i) {
                if (std::isnan(found[i])) {
                    SoftmaxRow<double> row(e, begin + i, nullptr, room);
                    sum_parts(row);
                    found[i] = log_beside_greatest(e, row, 0, begin + i);
                }
                logs[offset_of(s.leading, result, begin + i)] = found[i];
            }
        }
    };
    each_task<double>(s, product(s.leading), std::min(s.length, part_elements), task_elements,
                      threads, take_rows);
}

} // namespace ropewalk
