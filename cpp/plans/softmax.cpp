#include "plans/softmax.hpp"

#include <algorithm>
#include <cmath>

#include "plans/softmax_tasks.hpp"

namespace ropewalk {
namespace {

// A task has more elements where they are streamed, as its first and its last line wait for memory.
constexpr std::int64_t streamed_elements = std::int64_t{1} << 18;

// Rows of any length, part by part.
template <class T>
void softmax_long_rows(const SoftmaxElements<T>& e, const Strided<void>& y, Stores stores,
                       int threads) {
    const bool streamed = stores == Stores::streamed && e.as_computed() && y.step == 1;
    each_task<T>(e.asked, product(e.asked.leading), std::min(e.asked.length, part_elements),
                 task_elements, threads,
                 [&](std::int64_t begin, std::int64_t end, const SoftmaxRoom<T>& room) {
                     for (std::int64_t index = begin; index < end; ++index) {
                         SoftmaxRow<T> row(e, index, &y, room, streamed);
                         share_parts(row);
                     }
                     if (streamed)
                         e.kernels.fence();
                 });
}

// Short columns, from memory and to memory.
template <class T>
void softmax_short_columns(const SoftmaxElements<T>& e, const Strided<void>& y, int threads) {
    const Softmax& s = e.asked;
    const std::int64_t width = task_elements / s.length;
    const auto share = e.kernel().short_columns[static_cast<std::size_t>(s.type)];
    each_group(e, width, std::min(s.leading.back(), width) * s.length, threads,
               [&](std::int64_t first, std::int64_t count, const SoftmaxRoom<T>& room) {
                   share(e.at(s.x, offset_of(s.leading, s.x, first)), s.x.step,
                         e.at(y, offset_of(s.leading, y, first)), y.step, s.length, count, e.scale,
                         room.guess);
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

// Rows of a task from an index on, along the last axis, as kernels take them and where they are.
template <class T>
class TaskRows {
  public:
    TaskRows(const SoftmaxElements<T>& e, const Strided<void>& y, std::int64_t index,
             const SoftmaxRoom<T>& room)
        : e_(e), s_(e.asked), y_(y), index_(index), room_(room) {}

    template <class Array>
    auto row_of(const Array& array, std::int64_t row) const {
        return e_.at(array, offset_of(s_.leading, array, index_) + row * stride(array));
    }
    template <class Array>
    std::int64_t stride(const Array& array) const {
        return s_.leading.empty() ? 0 : array.strides.back();
    }
    // Bytes of the mask, or null.
    const std::uint8_t* counts(std::int64_t row) const {
        return e_.counts(offset_of(s_.leading, s_.mask, index_ + row), s_.mask.step, s_.length,
                         room_.counts);
    }
    // Of x, as elements that count, one behind another.
    void gather(std::int64_t rows, T* to) const {
        each_run(rows, s_.length, gapless(s_.x) && gapless(s_.mask),
                 [&](std::int64_t row, std::int64_t count) {
                     T* const elements = to + row * s_.length;
                     void* const packed = e_.plain() ? elements : room_.packed;
                     const void* const from =
                         e_.together(row_of(s_.x, row), s_.x.step, count, packed);
                     if (from != elements)
                         e_.read(from, counts(row), count, elements);
                 });
    }
    // What a mask leaves out is 0 in rows of NaN, too.
    void hide(std::int64_t rows, T* shares, std::int64_t apart) const {
        for (std::int64_t row = 0; row < rows; ++row, shares += apart)
            if (std::isnan(shares[0]))
                e_.kernel().hide(shares, counts(row), s_.length, T{0}, shares);
    }
    // To y, from one behind another.
    void scatter(T* from, std::int64_t rows) const {
        each_run(rows, s_.length, gapless(y_), [&](std::int64_t row, std::int64_t count) {
            e_.write(from + row * s_.length, nullptr, count, row_of(y_, row), y_.step,
                     room_.packed);
        });
    }

  private:
    template <class Array>
    bool gapless(const Array& array) const {
        return array.data == nullptr || (array.step == 1 && stride(array) == s_.length);
    }

    const SoftmaxElements<T>& e_;
    const Softmax& s_;
    const Strided<void>& y_;
    std::int64_t index_;
    const SoftmaxRoom<T>& room_;
};

// Shares of rows from that index on; returns of how many. What is masked, of another type,
// streamed, or has gaps is made in memory of ours, as many as the first cache holds, or one.
template <class T>
std::int64_t share_rows(const SoftmaxElements<T>& e, const Strided<void>& y, std::int64_t index,
                        std::int64_t end, const SoftmaxRoom<T>& room, Guess& guess,
                        StreamedRows<T>* streamed, Ahead ahead) {
    const Softmax& s = e.asked;
    const TaskRows<T> task(e, y, index, room);
    const bool plain = e.plain() && s.x.step == 1;
    const bool in_place = streamed == nullptr && e.as_computed() && y.step == 1;
    const std::int64_t line = s.leading.empty() ? 1 : s.leading.back();
    const std::int64_t some =
        plain && in_place ? line : std::max<std::int64_t>(1, staged_elements / s.length);
    const std::int64_t rows = std::min({end - index, line - index % line, some});
    T* const own = streamed == nullptr ? room.elements : streamed->next();
    if (!plain)
        task.gather(rows, own);
    const T* const x = plain ? static_cast<const T*>(task.row_of(s.x, 0)) : own;
    const std::int64_t x_stride = plain ? task.stride(s.x) : s.length;
    T* const shares = in_place ? static_cast<T*>(task.row_of(y, 0)) : own;
    const std::int64_t stride = in_place ? task.stride(y) : s.length;
    Lines none{};
    if (s.length <= short_length)
        e.kernel().short_rows(x, x_stride, shares, stride, rows, s.length, e.scale, guess);
    else
        e.kernel().rows(x, x_stride, shares, stride, rows, s.length, e.scale, room.weights, guess,
                        streamed == nullptr ? none : streamed->lines(), ahead);
    if (s.mask.data != nullptr)
        task.hide(rows, shares, stride);
    if (streamed != nullptr)
        streamed->stream(static_cast<T*>(task.row_of(y, 0)), rows * s.length);
    else if (!in_place)
        task.scatter(own, rows);
    return rows;
}

// Whether rows are streamed as weights, which are divided as they pass the cache by: those that the
// first cache does not hold twice need not be read and written once more.
template <class T>
bool divides_late(const SoftmaxElements<T>& e) {
    constexpr std::int64_t long_rows = 1024;
    return e.plain() && e.asked.length >= long_rows && e.kernel().weigh_one != nullptr;
}

template <class T>
void stream_row(const SoftmaxElements<T>& e, const Strided<void>& y, std::int64_t index,
                Guess& guess, StreamedRows<T>& streamed, Ahead ahead) {
    const Softmax& s = e.asked;
    const auto* const x = static_cast<const T*>(e.at(s.x, offset_of(s.leading, s.x, index)));
    const double total =
        e.kernel().weigh_one(x, s.length, e.scale, streamed.next(), guess, streamed.lines(), ahead);
    streamed.stream(static_cast<T*>(e.at(y, offset_of(s.leading, y, index))), s.length, total);
}

// Whether weights of rows are made where the result will be, and nowhere else: not in the room that
// the kernel is given.
template <class T>
bool writes_at_once(const SoftmaxElements<T>& e, const Strided<void>& y, Stores stores) {
    return e.plain() && e.asked.x.step == 1 && y.step == 1 && e.asked.x.data != y.data &&
           stores == Stores::cached;
}

// Longer rows are met part by part: they would need much memory, or nobody could interrupt them for
// long.
template <class T>
std::int64_t longest_whole_row(const SoftmaxElements<T>& e, const Strided<void>& y, Stores stores) {
    if (writes_at_once(e, y, stores))
        return std::int64_t{1} << 22;
    return e.asked.x.step == 1 && y.step == 1 ? std::int64_t{1} << 20 : part_elements;
}

// What is asked for of so many bytes: the place of results, from where the second cache does not
// hold it beside what is read; or, where lines are streamed, rows far ahead.
Ahead rows_ahead(std::int64_t bytes, bool streamed) {
    constexpr std::int64_t asked_bytes = 1 << 20;
    if (!waits_for_second_cache())
        return streamed ? Ahead::far_rows : Ahead::nothing;
    return !streamed && bytes >= asked_bytes ? Ahead::next_rows : Ahead::nothing;
}

// Rows that kernels read and write where they are, but for a mask, a sign, another type or gaps.
template <class T>
void softmax_whole_rows(const SoftmaxElements<T>& e, const Strided<void>& y, Stores stores,
                        int threads) {
    const bool streamed = stores == Stores::streamed && e.as_computed() && e.asked.x.step == 1 &&
                          y.step == 1 &&
                          (e.asked.leading.empty() || y.strides.back() == e.asked.length);
    const bool late = streamed && divides_late(e);
    const std::int64_t bytes =
        product(e.asked.leading) * e.asked.length * element_bytes(e.asked.type);
    const Ahead ahead = rows_ahead(bytes, streamed);
    const std::int64_t held =
        writes_at_once(e, y, stores) ? std::min(e.asked.length, part_elements) : e.asked.length;
    each_task<T>(e.asked, product(e.asked.leading), held,
                 streamed ? streamed_elements : task_elements, threads,
                 [&](std::int64_t begin, std::int64_t end, const SoftmaxRoom<T>& room) {
                     Guess guess;
                     StreamedRows<T> stream(e, room);
                     for (std::int64_t index = begin; index < end;)
                         if (late)
                             stream_row(e, y, index++, guess, stream, ahead);
                         else
                             index += share_rows(e, y, index, end, room, guess,
                                                 streamed ? &stream : nullptr, ahead);
                     if (streamed) {
                         stream.finish();
                         e.kernels.fence();
                     }
                 });
}

template <class T>
void softmax_in(const Kernels& kernels, Softmax s, Strided<void> y, Stores stores, int threads) {
    join_axes(s, y.strides);
    // Lanes stay idle beside few columns. Four may have them where as rows they would be short, or
    // be brought together twice.
    const bool short_or_long =
        s.length > part_elements || (std::is_same_v<T, float> && s.length <= 1024);
    const std::int64_t least = short_or_long ? 4 : 6;
    const bool columns = has_columns(s, y.strides, least, s.x.step == 1 ? 0 : 48);
    const SoftmaxElements<T> e(kernels, s);
    if (columns && s.length <= short_length && e.reads_columns(&y))
        softmax_short_columns(e, y, threads);
    else if (columns)
        each_column(e, &y, threads, [](auto& part, std::int64_t) { share_parts(part); });
    else if (s.length <= longest_whole_row(e, y, stores))
        softmax_whole_rows(e, y, stores, threads);
    else
        softmax_long_rows(e, y, stores, threads);
}

} // namespace

void softmax(const Kernels& kernels, const Softmax& softmax, const Strided<void>& y, Stores stores,
             int threads) {
    if (softmax.length == 0)
        return;
    if (kernels.stream == nullptr)
        stores = Stores::cached;
    if (softmax.type == Type::float64 || softmax.in_float64 ||
        !scales_differences<float>(softmax.scale))
        softmax_in<double>(kernels, softmax, y, stores, threads);
    else
        softmax_in<float>(kernels, softmax, y, stores, threads);
}

} // namespace ropewalk
