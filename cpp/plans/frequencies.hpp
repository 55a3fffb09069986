// The frequencies of a table, with the rows that every filling needs again.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "exact/turns.hpp"
#include "targets/kernels.hpp"

namespace ropewalk {

// Doubles aligned to a cache line, not initialised.
class Scratch {
  public:
    explicit Scratch(std::int64_t doubles)
        : memory_(static_cast<double*>(
              ::operator new(static_cast<std::size_t>(doubles) * sizeof(double), alignment))) {}
    double* data() const { return memory_.get(); }

  private:
    static constexpr std::align_val_t alignment{64};
    struct Free {
        void operator()(double* p) const { ::operator delete(p, alignment); }
    };
    std::unique_ptr<double, Free> memory_;
};

enum class Precision { plain, precise };

// The frequencies in groups of eight lanes. They begin with pair `shift`; the pairs before it
// follow at the end and belong to the next row: so every group of a table can begin at an address
// that the caches like, wherever the table begins.
class GroupedFrequencies {
  public:
    GroupedFrequencies(const Kernels& kernels, std::span<const Frequency> pairs, int shift);

    std::int64_t groups() const { return static_cast<std::int64_t>(lanes_.size()) / group_pairs; }
    std::int64_t row_doubles(Precision precision) const {
        return groups() * group_pairs * (precision == Precision::plain ? 2 : 4);
    }
    void evaluate(Position position, Precision precision, double* row) const {
        evaluate(position, position, precision, row);
    }
    // The lanes of the next row have a position of their own.
    void evaluate(Position position, Position next, Precision precision, double* row) const;

    // Rows at 1 .. reach steps, and at 0, 1, .. super_blocks - 1 blocks of steps.
    struct Rows {
        Scratch steps, blocks;
    };
    static constexpr int super_blocks = 32;
    static constexpr std::int64_t super_rows = std::int64_t{super_blocks} * block_rows;
    Rows rows(std::int64_t step, Precision precision) const;
    // Those of step 1, made once.
    const Rows& unit_rows(Precision precision) const;

  private:
    const Kernels& kernels_;
    std::size_t own_lanes_;        // those after them belong to the next row
    std::vector<Frequency> lanes_; // up to a whole group, the last ones again
    struct Kept {
        std::once_flag once;
        std::unique_ptr<Rows> rows;
    };
    mutable Kept kept_[2];
};

class Frequencies {
  public:
    Frequencies(const Kernels& kernels, std::vector<Frequency> pairs);

    std::int64_t pairs() const { return static_cast<std::int64_t>(pairs_.size()); }
    const Frequency& operator[](std::int64_t pair) const {
        return pairs_[static_cast<std::size_t>(pair)];
    }
    // Made once each.
    const GroupedFrequencies& grouped(int shift) const;

  private:
    const Kernels& kernels_;
    std::vector<Frequency> pairs_;
    struct Kept {
        std::once_flag once;
        std::unique_ptr<GroupedFrequencies> grouped;
    };
    mutable Kept kept_[group_pairs];
};

} // namespace ropewalk
