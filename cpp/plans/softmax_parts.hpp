// Rows and columns of a softmax, which are read part by part, whatever their type and strides.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "plans/softmax_elements.hpp"

namespace ropewalk {

// Elements of a part: the second cache holds their weights.
constexpr std::int64_t part_elements = 65536;
static_assert(part_elements % summed_elements == 0);

// function(begin, count), until the call is to stop: to ask costs as much as a short row.
template <class Part, class Function>
void each_part(const Part& part, Function function) {
    const std::int64_t length = part.length(), most = part.most();
    const auto stops = [&] { return part.room().interruption.stops(part.room().worker); };
    for (std::int64_t begin = 0; begin < length && (begin == 0 || !stops()); begin += most)
        function(begin, std::min(most, length - begin));
}

// Whether the total of weights shows that a guess was right.
inline bool agrees(double total) {
    return total >= Guess::least_sum && total <= Guess::greatest_sum;
}

// As kernels do for themselves: no code of theirs may be compiled here.
inline void learn(Guess& guess, bool right) {
    guess.wrong += right ? -std::min(1, guess.wrong) : 1;
}

// A row that is read part by part.
template <class T>
class SoftmaxRow {
  public:
    SoftmaxRow(const SoftmaxElements<T>& all, std::int64_t index, const Strided<void>* y,
               const SoftmaxRoom<T>& room, bool streamed = false)
        : e_(all), room_(room), x_(offset_of(all.asked.leading, all.asked.x, index)),
          mask_(offset_of(all.asked.leading, all.asked.mask, index)), result_(y),
          y_(y == nullptr ? 0 : offset_of(all.asked.leading, *y, index)), streamed_(streamed) {}

    // What sum_directly() adds of a part.
    void add_exponentials(std::int64_t begin, std::int64_t count) {
        const auto& sum = e_.kernels.sum_exponentials;
        if (e_.unchanged() && e_.asked.x.step == 1)
            return sum[static_cast<std::size_t>(e_.asked.type)](e_.at(e_.asked.x, x_ + begin),
                                                                count, sums_);
        load(begin, count);
        sum[static_cast<std::size_t>(Type::float64)](elements_, count, sums_);
    }
    void load(std::int64_t begin, std::int64_t count) {
        const Softmax& s = e_.asked;
        const void* const from =
            e_.together(e_.at(s.x, x_ + begin * s.x.step), s.x.step, count, room_.packed);
        counts_ = e_.counts(mask_ + begin * s.mask.step, s.mask.step, count, room_.counts);
        elements_ = room_.elements;
        if (e_.plain())
            elements_ = static_cast<const T*>(from);
        else
            e_.read(from, counts_, count, room_.elements);
    }
    void raise(std::int64_t begin, std::int64_t count) {
        load(begin, count);
        greatest_ = std::max(greatest_, e_.kernel().largest(elements_, count));
    }
    // As those of SoftmaxColumns, but that each row is guessed from its own first elements.
    bool sum_by_guess() {
        if constexpr (std::is_same_v<T, float>) {
            if (room_.guess.wrong >= Guess::most_wrong)
                return false;
            const std::int64_t some = std::min(length(), guessed_elements);
            load(0, some);
            room_.guess.greatest = e_.kernel().largest(elements_, some);
            guessed_ = true;
            clear_sums();
            each_part(*this,
                      [&](std::int64_t begin, std::int64_t count) { weigh_again(begin, count); });
            total();
            guessed_ = agrees(total_);
            learn(room_.guess, guessed_);
        }
        return guessed_;
    }
    void weigh_again(std::int64_t begin, std::int64_t count) {
        load(begin, count);
        if constexpr (std::is_same_v<T, float>)
            if (guessed_)
                return e_.kernel().weigh_by_guess(elements_, count, room_.guess.greatest, e_.scale,
                                                  room_.weights, sums_);
        weigh(count);
    }
    void weigh(std::int64_t count) {
        e_.kernel().weigh(elements_, count, greatest_, e_.scale, room_.weights, sums_);
    }
    void clear_sums() { std::fill_n(sums_, softmax_lanes, 0.0); }
    void total() { total_ = e_.kernels.total(sums_); }
    void store(std::int64_t begin, std::int64_t count) {
        e_.kernel().share(room_.weights, count, total_, room_.weights);
        void* const to = e_.at(*result_, y_ + begin * result_->step);
        if (streamed_) {
            if (counts_ != nullptr)
                e_.kernel().hide(room_.weights, counts_, count, T{0}, room_.weights);
            const Strided<const void>& x = e_.asked.x;
            const void* const next = x.step == 1 ? e_.at(x, x_ + begin + count) : nullptr;
            stream_bytes(e_.kernels, reinterpret_cast<const char*>(room_.weights), count * e_.bytes,
                         static_cast<char*>(to), static_cast<const char*>(next));
        } else {
            e_.write(room_.weights, counts_, count, to, result_->step, room_.packed);
        }
    }

    std::int64_t length() const { return e_.asked.length; }
    std::int64_t most() const { return part_elements; }
    const SoftmaxRoom<T>& room() const { return room_; }
    const T* elements() const { return elements_; }
    double greatest() const { return static_cast<double>(greatest_); }
    const double* totals() const { return &total_; }

  private:
    const SoftmaxElements<T>& e_;
    const SoftmaxRoom<T>& room_;
    std::int64_t x_, mask_;
    const Strided<void>* result_;
    std::int64_t y_;
    bool streamed_;
    bool guessed_ = false;
    const T* elements_ = nullptr;
    const std::uint8_t* counts_ = nullptr;
    T greatest_ = static_cast<T>(-HUGE_VAL);
    alignas(64) double sums_[softmax_lanes];
    double total_ = 0;
};

// Columns, which are read part by part: up to four times sixteen, so that memory is read in long
// pieces where they lie side by side.
template <class T>
class SoftmaxColumns {
  public:
    static constexpr std::int64_t most_columns = most_sixteens * softmax_lanes;
    static_assert(part_elements / most_columns >= summed_elements);

    SoftmaxColumns(const SoftmaxElements<T>& all, std::int64_t index, std::int64_t columns,
                   const Strided<void>* y, const SoftmaxRoom<T>& room)
        : e_(all), room_(room), guess_(room.guess), columns_(columns),
          sixteens_(static_cast<int>(ceil_div(columns, softmax_lanes))),
          width_(sixteens_ * softmax_lanes),
          lanes_(static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(
              std::clamp<std::int64_t>(all.asked.length, 1, softmax_lanes))))),
          whole_(all.reads_columns(y)), x_(offset_of(all.asked.leading, all.asked.x, index)),
          mask_(offset_of(all.asked.leading, all.asked.mask, index)), result_(y),
          y_(y == nullptr ? 0 : offset_of(all.asked.leading, *y, index)) {
        std::fill_n(greatest_, most_columns, static_cast<T>(-HUGE_VAL));
    }

    void add_exponentials(std::int64_t begin, std::int64_t count) {
        const auto& sum = e_.kernels.sum_exponentials_of_columns;
        const Strided<const void>& x = e_.asked.x;
        if (whole_)
            return sum[static_cast<std::size_t>(e_.asked.type)](e_.at(x, x_ + begin * x.step),
                                                                x.step, count, columns_, sums_);
        load(begin, count);
        sum[static_cast<std::size_t>(Type::float64)](room_.elements, width_, count, width_, sums_);
    }
    // What sum_directly() does, of short columns that kernels read in memory; returns whether they
    // are that.
    bool total_exponentials() {
        const Strided<const void>& x = e_.asked.x;
        if (!whole_ || length() > short_length)
            return false;
        e_.kernels.total_exponentials_of_short_columns[static_cast<std::size_t>(e_.asked.type)](
            e_.at(x, x_), x.step, length(), columns_, totals_);
        return true;
    }
    // Weights and totals without a look for the greatest elements, if none is far from what is
    // guessed, which the first elements begin.
    bool sum_by_guess() {
        if constexpr (std::is_same_v<T, float>) {
            if (!whole_ || length() == 0 || guess_.wrong >= Guess::most_wrong)
                return false;
            if (!guess_.made) {
                load(0, 1);
                guess_.greatest = *std::max_element(greatest_, greatest_ + columns_);
                guess_.made = true;
            }
            clear_sums();
            each_part(*this, [&](std::int64_t begin, std::int64_t count) {
                weigh_by_guess(begin, count);
            });
            total();
            guessed_ = std::all_of(totals_, totals_ + columns_, agrees);
            learn(guess_, guessed_);
            guess_.made = guessed_;
        }
        return guessed_;
    }
    void weigh_again(std::int64_t begin, std::int64_t count) {
        if (guessed_)
            return weigh_by_guess(begin, count);
        load(begin, count);
        weigh(count);
    }
    // Raises the greatest too.
    void load(std::int64_t begin, std::int64_t count) {
        const Strided<const void>& x = e_.asked.x;
        if (whole_)
            return load(e_.asked.type, e_.at(x, x_ + begin * x.step), x.step, count, columns_);
        for (std::int64_t i = 0; i < count; ++i) {
            const void* const from = e_.together(e_.at(x, x_ + (begin + i) * x.step),
                                                 x.strides.back(), columns_, room_.packed);
            T* const row = room_.elements + i * width_;
            e_.read(from, counted(begin + i), columns_, row);
            std::fill(row + columns_, row + width_, T{0});
        }
        load(SoftmaxElements<T>::own_type, room_.elements, width_, count, width_);
    }
    void raise(std::int64_t begin, std::int64_t count) { load(begin, count); }
    void weigh(std::int64_t count) {
        e_.kernel().weigh_columns(room_.elements, count, sixteens_, greatest_, e_.scale, sums_);
    }
    void clear_sums() { std::fill_n(sums_, width_ * lanes_, 0.0); }
    void total() {
        e_.kernels.total_columns(sums_, sixteens_, lanes_);
        std::copy_n(sums_, width_, totals_);
    }
    void store(std::int64_t begin, std::int64_t count) {
        const Strided<void>& y = *result_;
        if (whole_)
            return share(e_.asked.type, count, columns_, e_.at(y, y_ + begin * y.step), y.step);
        share(SoftmaxElements<T>::own_type, count, width_, room_.elements, width_);
        for (std::int64_t i = 0; i < count; ++i)
            e_.write(room_.elements + i * width_, counted(begin + i), columns_,
                     e_.at(y, y_ + (begin + i) * y.step), y.strides.back(), room_.packed);
    }

    std::int64_t length() const { return e_.asked.length; }
    std::int64_t most() const { return part_elements / width_ / summed_elements * summed_elements; }
    const SoftmaxRoom<T>& room() const { return room_; }
    std::int64_t count() const { return columns_; }
    double greatest(std::int64_t column) const { return static_cast<double>(greatest_[column]); }
    const double* totals() const { return totals_; }

  private:
    void weigh_by_guess(std::int64_t begin, std::int64_t count) {
        const Strided<const void>& x = e_.asked.x;
        if constexpr (std::is_same_v<T, float>)
            e_.kernel().weigh_columns_by_guess[static_cast<std::size_t>(e_.asked.type)](
                e_.at(x, x_ + begin * x.step), x.step, count, columns_, guess_.greatest, e_.scale,
                room_.elements, sums_);
    }
    void load(Type type, const void* x, std::int64_t step, std::int64_t count,
              std::int64_t columns) {
        e_.kernel().load_columns[static_cast<std::size_t>(type)](x, step, count, columns,
                                                                 room_.elements, greatest_);
    }
    void share(Type type, std::int64_t count, std::int64_t columns, void* y,
               std::int64_t step) const {
        e_.kernel().share_columns[static_cast<std::size_t>(type)](room_.elements, count, columns,
                                                                  totals_, y, step);
    }
    const std::uint8_t* counted(std::int64_t element) const {
        const Strided<const std::uint8_t>& mask = e_.asked.mask;
        if (mask.data == nullptr)
            return nullptr;
        return e_.counts(mask_ + element * mask.step, mask.strides.back(), columns_, room_.counts);
    }

    const SoftmaxElements<T>& e_;
    const SoftmaxRoom<T>& room_;
    Guess& guess_;
    std::int64_t columns_;
    int sixteens_;
    std::int64_t width_;
    int lanes_;  // of sums, which a short column does not all reach
    bool whole_; // kernels read and write memory itself
    bool guessed_ = false;
    std::int64_t x_, mask_;
    const Strided<void>* result_;
    std::int64_t y_;
    alignas(64) T greatest_[most_columns];
    alignas(64) double sums_[softmax_lanes * most_columns];
    alignas(64) double totals_[most_columns];
};

// Weights and their totals. Where one part holds all, it is read once, and its weights are left.
template <class Part>
void sum_parts(Part& part) {
    const bool one = part.length() <= part.most();
    each_part(part, [&](std::int64_t begin, std::int64_t count) { part.raise(begin, count); });
    part.clear_sums();
    each_part(part, [&](std::int64_t begin, std::int64_t count) {
        if (!one)
            part.load(begin, count);
        part.weigh(count);
    });
    part.total();
}

// Sums of e^x, which overflow where elements are large.
template <class Part>
void sum_directly(Part& part) {
    part.clear_sums();
    each_part(part,
              [&](std::int64_t begin, std::int64_t count) { part.add_exponentials(begin, count); });
    part.total();
}

template <class Part>
void share_parts(Part& part) {
    if (!part.sum_by_guess())
        sum_parts(part);
    each_part(part, [&](std::int64_t begin, std::int64_t count) {
        if (part.length() > part.most())
            part.weigh_again(begin, count); // nothing looks at the sums any more
        part.store(begin, count);
    });
}

} // namespace ropewalk
