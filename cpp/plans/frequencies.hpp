// The frequencies of a table, with the rows that every filling needs again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "exact/sincos.hpp"
#include "exact/turns.hpp"
#include "plans/memory.hpp"
#include "plans/positions.hpp"
#include "targets/kernels.hpp"

namespace ropewalk {

enum class Precision { plain, precise };

// Made by whoever asks first: where several do at once, each makes one, and the first is kept.
// Nobody waits for another, who might be out of memory, or, in a forked child, gone.
template <class T>
class Once {
  public:
    Once() = default;
    ~Once() { delete kept_.load(); }
    Once(const Once&) = delete;
    Once& operator=(const Once&) = delete;

    template <class Make>
    const T& get(const Make& make) {
        const T* kept = made();
        if (kept == nullptr) {
            std::unique_ptr<const T> own(new T(make())); // T may not be movable
            if (kept_.compare_exchange_strong(kept, own.get(), std::memory_order_acq_rel))
                kept = own.release();
        }
        return *kept;
    }
    // Null before.
    const T* made() const { return kept_.load(std::memory_order_acquire); }

  private:
    std::atomic<const T*> kept_{nullptr};
};

// The frequencies in groups of eight lanes. They begin with pair `shift`; the pairs before it
// follow at the end and belong to the next row: so every group of a table can begin at an address
// that the caches like, wherever the table begins.
class GroupedFrequencies {
  public:
    // The first `count` pairs of all[axes][pairs].
    GroupedFrequencies(const Kernels& kernels, const std::vector<Frequency>& all, int axes,
                       std::int64_t count, int shift);

    std::int64_t groups() const { return lanes_ / group_pairs; }
    // A sine and a cosine of each lane, each with what it leaves where they are precise.
    static constexpr std::int64_t group_doubles(Precision precision) {
        return group_pairs * (precision == Precision::plain ? 2 : 4);
    }
    std::int64_t row_doubles(Precision precision) const {
        return groups() * group_doubles(precision);
    }
    // row = sine and cosine at positions[index], times the factor; lanes of the next row take the
    // next position, where there is one.
    void evaluate(const Positions& positions, std::int64_t index, Precision precision,
                  double factor, double* row) const;
    // To be called before so many rows are evaluated at integers on one axis: where they and those
    // before them are worth it, the rows of three digits are kept, which turn each other.
    void expect(std::int64_t rows, Precision precision) const;
    // The row of a position by its digits, without a factor; whether that could be done. It is a
    // product of three, as deep as others may be: nothing is to be turned by it.
    bool evaluate_by_digits(Position position, Precision precision, double* row) const;
    // The same of the only pair, at `count` positions from that index on: lanes are positions.
    static constexpr std::int64_t most_evaluated = 256;
    void evaluate_pair(const Positions& positions, std::int64_t index, std::int64_t count,
                       Precision precision, double factor, double* row) const;

    // Rows at 1 .. reach steps, and at 0, 1, .. super_blocks - 1 blocks of steps.
    struct Rows {
        Scratch steps, blocks;
    };
    static constexpr int super_blocks = 32;
    static constexpr std::int64_t super_rows = std::int64_t{super_blocks} * block_rows;
    Rows rows(std::int64_t step, Precision precision) const;
    // Those of step 1, kept.
    const Rows& unit_rows(Precision precision) const;

  private:
    static constexpr int digit_bits = 7;
    static constexpr std::int64_t digits = 3, digit_rows = std::int64_t{1} << digit_bits;
    Scratch rows_of_digits(Precision precision) const;
    void evaluate_turns(const std::uint64_t* high, const std::uint64_t* low, std::int64_t groups,
                        Precision precision, double factor, double* row) const;

    const Kernels& kernels_;
    int axes_;
    std::int64_t lanes_;                 // up to a whole group, the last ones again
    std::int64_t own_lanes_;             // those after them belong to the next row
    std::vector<Frequency> frequencies_; // [axes][lanes]
    mutable Once<Rows> unit_rows_[2];    // [precisions]
    mutable Once<Scratch> digits_[2];    // the same
    mutable std::atomic<std::int64_t> expected_{0};
};

class Frequencies {
  public:
    // all[axes][pairs]
    Frequencies(const Kernels& kernels, std::vector<Frequency> all, int axes);

    int axes() const { return axes_; }
    std::int64_t pairs() const { return pairs_; }
    // The pairs before the trailing ones that stand still on every axis.
    std::int64_t moving_pairs() const { return moving_pairs_; }
    // Of the moving pairs, kept.
    const GroupedFrequencies& grouped(int shift) const;
    // What turns when all axes have the same position: the sums over the axes.
    const Frequencies& diagonal() const;
    // Of several axes that on which each pair turns, any where it stands; empty where one turns on
    // more.
    const std::vector<int>& axis_of_pairs() const { return axis_of_pairs_; }
    // These, or the diagonal where the positions have one axis only.
    const Frequencies& along(const Positions& positions) const {
        return positions.axes == axes_ ? *this : diagonal();
    }

    Angle angle(const Positions& positions, std::int64_t row, std::int64_t pair) const;

    // The rows of the first positions in some layout, kept once fill() has returned them.
    // Those of several numbers of positions are kept, which are known by their place among these,
    // `size`.
    static constexpr int first_sizes = 4;
    template <class Fill>
    const Scratch& first_rows(Layout layout, int size, const Fill& fill) const {
        return first_rows_[static_cast<int>(layout)][size].get(fill);
    }
    bool has_first_rows(Layout layout, int size) const {
        return first_rows_[static_cast<int>(layout)][size].made() != nullptr;
    }

  private:
    std::vector<int> find_axis_of_pairs() const;
    const Frequency& at(std::int64_t pair, int axis) const {
        return all_[static_cast<std::size_t>(axis * pairs_ + pair)];
    }

    const Kernels& kernels_;
    std::vector<Frequency> all_;
    int axes_;
    std::int64_t pairs_, moving_pairs_;
    std::vector<int> axis_of_pairs_;
    mutable Once<GroupedFrequencies> grouped_[group_pairs];
    mutable Once<Scratch> first_rows_[layouts][first_sizes];
    mutable Once<Frequencies> diagonal_;
};

} // namespace ropewalk
