#include "plans/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "plans/filling.hpp"
#include "plans/frequencies.hpp"
#include "plans/pool.hpp"

namespace ropewalk {
namespace {

// Elements that are worked on together: in float64 they fit the second cache. Rows no longer
// than that are read once.
constexpr std::int64_t chunk = 16384;
// What a task has at least, and what pays for a second thread.
constexpr std::int64_t task_elements = std::int64_t{1} << 14;

class SoftmaxRows {
  public:
    SoftmaxRows(const Kernels& kernels, const Softmax& softmax)
        : kernels_(kernels), s_(softmax), bytes_(element_bytes(softmax.type)),
          count_(std::accumulate(s_.leading.begin(), s_.leading.end(), std::int64_t{1},
                                 std::multiplies<>())),
          task_rows_(
              std::max<std::int64_t>(1, task_elements / std::max<std::int64_t>(1, s_.length))) {}

    // What one thread needs: a chunk in float64, and as it is in memory.
    struct Room {
        double* elements;
        char* packed;
        int worker;
        Interruption& interruption;
    };

    // row(index, room)
    template <class Row>
    void each(int threads, Row row) const {
        const std::int64_t tasks = (count_ + task_rows_ - 1) / task_rows_;
        const auto workers = static_cast<std::size_t>(std::min<std::int64_t>(threads, tasks));
        std::vector<Scratch> rooms;
        rooms.reserve(workers);
        for (std::size_t i = 0; i < workers; ++i)
            rooms.emplace_back(2 * chunk);
        Interruption interruption;
        const auto run = [&](std::int64_t task, int worker) {
            double* const elements = rooms[static_cast<std::size_t>(worker)].data();
            const Room room{elements, reinterpret_cast<char*>(elements + chunk), worker,
                            interruption};
            const std::int64_t end = std::min(count_, (task + 1) * task_rows_);
            for (std::int64_t index = task * task_rows_; index < end; ++index)
                row(index, room);
        };
        run_tasks(tasks, threads, Task(run), interruption);
    }

    struct Sum {
        double maximum, sum;
    };

    // The greatest scaled element and the sum of e^(element - maximum), which a row of one chunk
    // leaves in the room.
    Sum sum(std::int64_t index, const Room& room) const {
        double maximum = -HUGE_VAL;
        each_chunk(room, [&](std::int64_t begin, std::int64_t count) {
            load(index, begin, count, room);
            maximum = std::max(maximum, kernels_.softmax.largest(room.elements, count));
        });
        if (maximum == -HUGE_VAL) // of nothing: -inf minus -inf would be NaN
            maximum = 0;
        double sum = 0;
        each_chunk(room, [&](std::int64_t begin, std::int64_t count) {
            if (s_.length > chunk)
                load(index, begin, count, room);
            sum += kernels_.softmax.weigh(room.elements, count, maximum);
        });
        return {maximum, sum};
    }

    void divide(std::int64_t index, const Strided<void>& y, Sum sum, const Room& room) const {
        each_chunk(room, [&](std::int64_t begin, std::int64_t count) {
            if (s_.length > chunk) {
                load(index, begin, count, room);
                kernels_.softmax.weigh(room.elements, count, sum.maximum);
            }
            kernels_.softmax.scale(room.elements, count, sum.sum == 0 ? 0 : 1 / sum.sum);
            put_masked(0, index, begin, count, room); // 0 / NaN would be NaN
            store(index, begin, count, y, room);
        });
    }

    bool has_nan(std::int64_t index, const Room& room) const {
        bool found = false;
        each_chunk(room, [&](std::int64_t begin, std::int64_t count) {
            load(index, begin, count, room);
            found |= std::any_of(room.elements, room.elements + count,
                                 [](double x) { return std::isnan(x); });
        });
        return found;
    }

  private:
    template <class Function>
    void each_chunk(const Room& room, Function function) const {
        for (std::int64_t begin = 0; begin < s_.length && !room.interruption.stops(room.worker);
             begin += chunk)
            function(begin, std::min(chunk, s_.length - begin));
    }

    template <class T>
    std::int64_t offset(const Strided<T>& array, std::int64_t index, std::int64_t element) const {
        std::int64_t offset = element * array.step;
        for (std::size_t axis = s_.leading.size(); axis-- > 0; index /= s_.leading[axis])
            offset += index % s_.leading[axis] * array.strides[axis];
        return offset;
    }

    void load(std::int64_t index, std::int64_t begin, std::int64_t count, const Room& room) const {
        const char* from =
            static_cast<const char*>(s_.x.data) + offset(s_.x, index, begin) * bytes_;
        if (s_.x.step != 1) {
            copy(from, s_.x.step * bytes_, room.packed, bytes_, count);
            from = room.packed;
        }
        kernels_.read_float64[static_cast<std::size_t>(s_.type)](from, count, room.elements);
        if (s_.scale != 1)
            for (std::int64_t i = 0; i < count; ++i)
                room.elements[i] *= s_.scale;
        put_masked(-HUGE_VAL, index, begin, count, room);
    }

    void put_masked(double value, std::int64_t index, std::int64_t begin, std::int64_t count,
                    const Room& room) const {
        if (s_.mask.data == nullptr)
            return;
        const std::uint8_t* const counts = s_.mask.data + offset(s_.mask, index, begin);
        for (std::int64_t i = 0; i < count; ++i)
            if (counts[i * s_.mask.step] == 0)
                room.elements[i] = value;
    }

    void store(std::int64_t index, std::int64_t begin, std::int64_t count, const Strided<void>& y,
               const Room& room) const {
        char* const to = static_cast<char*>(y.data) + offset(y, index, begin) * bytes_;
        const auto write = kernels_.write[static_cast<std::size_t>(s_.type)];
        if (y.step == 1) {
            write(room.elements, count, to);
        } else {
            write(room.elements, count, room.packed);
            copy(room.packed, bytes_, to, y.step * bytes_, count);
        }
    }

    void copy(const char* from, std::int64_t from_step, char* to, std::int64_t to_step,
              std::int64_t count) const {
        for (std::int64_t i = 0; i < count; ++i)
            std::memcpy(to + i * to_step, from + i * from_step, static_cast<std::size_t>(bytes_));
    }

    const Kernels& kernels_;
    const Softmax& s_;
    std::int64_t bytes_, count_, task_rows_;
};

} // namespace

void softmax(const Kernels& kernels, const Softmax& softmax, const Strided<void>& y, int threads) {
    const SoftmaxRows rows(kernels, softmax);
    rows.each(threads, [&](std::int64_t index, const SoftmaxRows::Room& room) {
        const SoftmaxRows::Sum sum = rows.sum(index, room);
        rows.divide(index, y, sum, room);
    });
}

void logsumexp(const Kernels& kernels, const Softmax& softmax, double* logs, int threads) {
    const SoftmaxRows rows(kernels, softmax);
    rows.each(threads, [&](std::int64_t index, const SoftmaxRows::Room& room) {
        const SoftmaxRows::Sum sum = rows.sum(index, room);
        if (sum.maximum == HUGE_VAL)
            logs[index] = rows.has_nan(index, room) ? std::nan("") : HUGE_VAL;
        else
            logs[index] = sum.sum == 0 ? -HUGE_VAL : sum.maximum + std::log(sum.sum);
    });
}

} // namespace ropewalk
