// Rows and columns of a softmax, which are read part by part, whatever their type and strides.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "plans/memory.hpp"
#include "plans/pool.hpp"
#include "plans/softmax.hpp"

namespace ropewalk {

// Elements of a part: the second cache holds their weights.
constexpr std::int64_t part_elements = 65536;
static_assert(part_elements % summed_elements == 0);
// Kernels take columns in multiples of that, and have as many lanes of sums.
constexpr std::int64_t side_by_side = 16;

template <class T>
std::int64_t offset_of(const std::vector<std::int64_t>& leading, const Strided<T>& array,
                       std::int64_t index) {
    std::int64_t offset = 0;
    for (std::size_t axis = leading.size(); axis-- > 0; index /= leading[axis])
        offset += index % leading[axis] * array.strides[axis];
    return offset;
}

template <class Element>
void copy_apart(const void* from, std::int64_t from_step, void* to, std::int64_t to_step,
                std::int64_t count) {
    const auto* const x = static_cast<const Element*>(from);
    auto* const y = static_cast<Element*>(to);
    for (std::int64_t i = 0; i < count; ++i)
        y[i * to_step] = x[i * from_step];
}

inline void copy_apart(std::int64_t bytes, const void* from, std::int64_t from_step, void* to,
                       std::int64_t to_step, std::int64_t count) {
    if (bytes == 2)
        copy_apart<std::uint16_t>(from, from_step, to, to_step, count);
    else if (bytes == 4)
        copy_apart<std::uint32_t>(from, from_step, to, to_step, count);
    else
        copy_apart<std::uint64_t>(from, from_step, to, to_step, count);
}

// Whether differences of T may be scaled, of elements that change their sign at most: nothing
// becomes 0 or infinite that would not have.
template <class T>
bool scales_differences(double scale) {
    constexpr double most = std::is_same_v<T, float> ? 1e30 : 1e300;
    return std::abs(scale) >= 1 / most && std::abs(scale) <= most;
}

// Elements in memory, and as T: float32, or float64 where it would not hold them.
template <class T>
class SoftmaxElements {
  public:
    SoftmaxElements(const Kernels& kernels, const Softmax& softmax)
        : kernels_(kernels), s_(softmax), bytes_(element_bytes(softmax.type)),
          scale_(scales_differences<T>(softmax.scale) ? std::abs(softmax.scale) : 1),
          factor_(softmax.scale / scale_) {}

    const SoftmaxKernels<T>& kernel() const {
        if constexpr (std::is_same_v<T, float>)
            return kernels_.softmax32;
        else
            return kernels_.softmax64;
    }
    // Whether they are of the same type, and the same.
    bool as_computed() const {
        return s_.type == (std::is_same_v<T, float> ? Type::float32 : Type::float64);
    }
    bool plain() const { return as_computed() && s_.mask.data == nullptr && factor_ == 1; }
    const void* at(const Strided<const void>& x, std::int64_t offset) const {
        return static_cast<const char*>(x.data) + offset * bytes_;
    }
    void* at(const Strided<void>& y, std::int64_t offset) const {
        return static_cast<char*>(y.data) + offset * bytes_;
    }
    // Elements side by side, what is left out as -inf.
    void read(const void* x, const std::uint8_t* counts, std::int64_t count, T* elements) const {
        const auto hide = [&](const T* from) {
            kernel().hide(from, counts, count, static_cast<T>(-HUGE_VAL), elements);
        };
        if (as_computed() && factor_ == 1 && counts != nullptr)
            return hide(static_cast<const T*>(x));
        const auto type = static_cast<std::size_t>(s_.type);
        if constexpr (std::is_same_v<T, float>)
            kernels_.read_float32[type](x, count, elements);
        else
            kernels_.read_float64[type](x, count, elements);
        if (factor_ != 1)
            for (std::int64_t i = 0; i < count; ++i)
                elements[i] *= static_cast<T>(factor_);
        if (counts != nullptr)
            hide(elements);
    }
    // Shares, which are NaN in a row of NaN; what is left out is 0.
    void write(T* shares, const std::uint8_t* counts, std::int64_t count, void* y) const {
        if (counts != nullptr)
            kernel().hide(shares, counts, count, T{0}, shares);
        const auto type = static_cast<std::size_t>(s_.type);
        if constexpr (std::is_same_v<T, float>)
            kernels_.write_float32[type](shares, count, y);
        else
            kernels_.write_float64[type](shares, count, y);
    }

    const Kernels& kernels_;
    const Softmax& s_;
    std::int64_t bytes_;
    double scale_, factor_; // of differences, which kernels multiply, and of elements as read
};

// What a thread needs for a part of `most` elements, a multiple of 16: weights, elements as T,
// those in memory, which are no larger, bytes of a mask.
template <class T>
struct SoftmaxRoom {
    T* weights;
    T* elements;
    void* packed;
    std::uint8_t* counts;
    int worker;
    Interruption& interruption;

    SoftmaxRoom(const Scratch& scratch, std::int64_t most, int number, Interruption& ends)
        : weights(reinterpret_cast<T*>(scratch.data())), elements(weights + most),
          packed(weights + 2 * most), counts(reinterpret_cast<std::uint8_t*>(weights + 3 * most)),
          worker(number), interruption(ends) {}
    static std::int64_t doubles(std::int64_t most) {
        constexpr std::int64_t bytes = 3 * sizeof(T) + 1;
        return most * bytes / 8;
    }
};

// A row that is read part by part.
template <class T>
class SoftmaxRow {
  public:
    SoftmaxRow(const SoftmaxElements<T>& all, std::int64_t index, const Strided<void>* y,
               const SoftmaxRoom<T>& room)
        : e_(all), room_(room), x_(offset_of(all.s_.leading, all.s_.x, index)),
          mask_(all.s_.mask.data == nullptr ? 0 : offset_of(all.s_.leading, all.s_.mask, index)),
          result_(y), y_(y == nullptr ? 0 : offset_of(all.s_.leading, *y, index)) {}

    static constexpr std::int64_t most = part_elements;

    void load(std::int64_t begin, std::int64_t count) {
        const Softmax& s = e_.s_;
        const void* from = e_.at(s.x, x_ + begin * s.x.step);
        if (s.x.step != 1) {
            copy_apart(e_.bytes_, from, s.x.step, room_.packed, 1, count);
            from = room_.packed;
        }
        counts_ = nullptr;
        if (s.mask.data != nullptr) {
            counts_ = s.mask.data + mask_ + begin * s.mask.step;
            if (s.mask.step != 1) {
                copy_apart<std::uint8_t>(counts_, s.mask.step, room_.counts, 1, count);
                counts_ = room_.counts;
            }
        }
        elements_ = room_.elements;
        if (e_.plain())
            elements_ = static_cast<const T*>(from);
        else
            e_.read(from, counts_, count, room_.elements);
    }
    void raise(std::int64_t count) {
        greatest_ = std::max(greatest_, e_.kernel().largest(elements_, count));
    }
    void weigh(std::int64_t count) {
        e_.kernel().weigh(elements_, count, greatest_, e_.scale_, room_.weights, sums_);
    }
    void total() { total_ = e_.kernels_.total(sums_); }
    void store(std::int64_t begin, std::int64_t count) {
        e_.kernel().share(room_.weights, count, total_, room_.weights);
        void* const to = e_.at(*result_, y_ + begin * result_->step);
        if (result_->step == 1) {
            e_.write(room_.weights, counts_, count, to);
        } else {
            e_.write(room_.weights, counts_, count, room_.packed);
            copy_apart(e_.bytes_, room_.packed, 1, to, result_->step, count);
        }
    }

    std::int64_t length() const { return e_.s_.length; }
    const SoftmaxRoom<T>& room() const { return room_; }
    const T* elements() const { return elements_; }
    std::int64_t count() const { return 1; }
    double greatest(std::int64_t) const { return static_cast<double>(greatest_); }
    double total(std::int64_t) const { return total_; }

  private:
    const SoftmaxElements<T>& e_;
    const SoftmaxRoom<T>& room_;
    std::int64_t x_, mask_;
    const Strided<void>* result_;
    std::int64_t y_;
    const T* elements_ = nullptr;
    const std::uint8_t* counts_ = nullptr;
    T greatest_ = static_cast<T>(-HUGE_VAL);
    alignas(64) double sums_[side_by_side] = {};
    double total_ = 0;
};

// Columns, which are read part by part: up to four times sixteen, so that memory is read in long
// pieces where they lie side by side.
template <class T>
class SoftmaxColumns {
  public:
    static constexpr std::int64_t most_columns = most_sixteens * side_by_side;
    static constexpr std::int64_t most = part_elements / most_columns;
    static_assert(most % summed_elements == 0);

    SoftmaxColumns(const SoftmaxElements<T>& all, std::int64_t index, std::int64_t columns,
                   const Strided<void>* y, const SoftmaxRoom<T>& room)
        : e_(all), room_(room), columns_(columns),
          sixteens_(static_cast<int>((columns + side_by_side - 1) / side_by_side)),
          width_(sixteens_ * side_by_side),
          lanes_(static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(
              std::clamp<std::int64_t>(all.s_.length, 1, side_by_side))))),
          whole_(columns == width_ && all.plain() && all.s_.x.strides.back() == 1 &&
                 (y == nullptr || y->strides.back() == 1)),
          x_(offset_of(all.s_.leading, all.s_.x, index)),
          mask_(all.s_.mask.data == nullptr ? 0 : offset_of(all.s_.leading, all.s_.mask, index)),
          result_(y), y_(y == nullptr ? 0 : offset_of(all.s_.leading, *y, index)) {
        std::fill_n(greatest_, most_columns, static_cast<T>(-HUGE_VAL));
        std::fill_n(sums_, width_ * lanes_, 0.0);
    }

    void load(std::int64_t begin, std::int64_t count) {
        const Strided<const void>& x = e_.s_.x;
        step_ = whole_ ? x.step : width_;
        elements_ = whole_ ? static_cast<const T*>(e_.at(x, x_ + begin * x.step)) : room_.elements;
        if (whole_)
            return;
        for (std::int64_t i = 0; i < count; ++i) {
            const void* from = e_.at(x, x_ + (begin + i) * x.step);
            if (x.strides.back() != 1) {
                copy_apart(e_.bytes_, from, x.strides.back(), room_.packed, 1, columns_);
                from = room_.packed;
            }
            T* const row = room_.elements + i * width_;
            e_.read(from, counted(begin + i), columns_, row);
            std::fill(row + columns_, row + width_, T{0});
        }
    }
    void raise(std::int64_t count) {
        e_.kernel().raise_columns(elements_, step_, count, sixteens_, greatest_);
    }
    void weigh(std::int64_t count) {
        e_.kernel().weigh_columns(elements_, step_, count, sixteens_, greatest_, e_.scale_,
                                  room_.weights, sums_);
    }
    void total() {
        e_.kernels_.total_columns(sums_, sixteens_, lanes_);
        std::copy_n(sums_, width_, totals_);
    }
    void store(std::int64_t begin, std::int64_t count) {
        const Strided<void>& y = *result_;
        if (whole_) {
            auto* const to = static_cast<T*>(e_.at(y, y_ + begin * y.step));
            e_.kernel().share_columns(room_.weights, count, sixteens_, totals_, to, y.step);
            return;
        }
        e_.kernel().share_columns(room_.weights, count, sixteens_, totals_, room_.weights, width_);
        for (std::int64_t i = 0; i < count; ++i) {
            void* const to = e_.at(y, y_ + (begin + i) * y.step);
            const bool apart = y.strides.back() != 1;
            e_.write(room_.weights + i * width_, counted(begin + i), columns_,
                     apart ? room_.packed : to);
            if (apart)
                copy_apart(e_.bytes_, room_.packed, 1, to, y.strides.back(), columns_);
        }
    }

    std::int64_t length() const { return e_.s_.length; }
    const SoftmaxRoom<T>& room() const { return room_; }
    std::int64_t count() const { return columns_; }
    double greatest(std::int64_t column) const { return static_cast<double>(greatest_[column]); }
    double total(std::int64_t column) const { return totals_[column]; }

  private:
    const std::uint8_t* counted(std::int64_t element) const {
        const Strided<const std::uint8_t>& mask = e_.s_.mask;
        if (mask.data == nullptr)
            return nullptr;
        const std::uint8_t* const counts = mask.data + mask_ + element * mask.step;
        if (mask.strides.back() == 1)
            return counts;
        copy_apart<std::uint8_t>(counts, mask.strides.back(), room_.counts, 1, columns_);
        return room_.counts;
    }

    const SoftmaxElements<T>& e_;
    const SoftmaxRoom<T>& room_;
    std::int64_t columns_;
    int sixteens_;
    std::int64_t width_;
    int lanes_;  // of sums, which a short column does not all reach
    bool whole_; // the kernels read and write memory itself
    std::int64_t x_, mask_;
    const Strided<void>* result_;
    std::int64_t y_;
    const T* elements_ = nullptr;
    std::int64_t step_ = 0;
    alignas(64) T greatest_[most_columns];
    alignas(64) double sums_[side_by_side * most_columns];
    alignas(64) double totals_[most_columns];
};

// function(begin, count), until the call is to stop: to ask costs as much as a short row.
template <class T, class Function>
void each_part(std::int64_t length, std::int64_t most, const SoftmaxRoom<T>& room,
               Function function) {
    for (std::int64_t begin = 0;
         begin < length && (begin == 0 || !room.interruption.stops(room.worker)); begin += most)
        function(begin, std::min(most, length - begin));
}

// Weights and their totals. Where one part holds all, it is read once, and its weights are left.
template <class Part>
void sum_parts(Part& part) {
    const bool one = part.length() <= Part::most;
    each_part(part.length(), Part::most, part.room(), [&](std::int64_t begin, std::int64_t count) {
        part.load(begin, count);
        part.raise(count);
    });
    each_part(part.length(), Part::most, part.room(), [&](std::int64_t begin, std::int64_t count) {
        if (!one)
            part.load(begin, count);
        part.weigh(count);
    });
    part.total();
}

template <class Part>
void share_parts(Part& part) {
    const bool one = part.length() <= Part::most;
    sum_parts(part);
    each_part(part.length(), Part::most, part.room(), [&](std::int64_t begin, std::int64_t count) {
        if (!one) {
            part.load(begin, count);
            part.weigh(count); // nothing looks at the sums again
        }
        part.store(begin, count);
    });
}

} // namespace ropewalk
