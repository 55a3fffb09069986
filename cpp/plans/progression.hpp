// The rows of a table whose positions are evenly spaced, in blocks.
#pragma once

#include <cstdint>
#include <optional>

#include "plans/filling.hpp"

namespace ropewalk {

// As shortest_progression, where the rows that blocks share must be made: for other steps than 1,
// and for so many pairs that they would take more than 6 MiB as long as the frequencies last.
inline constexpr std::int64_t shortest_without_kept_rows = 2 * block_rows;
inline constexpr std::int64_t most_pairs_of_kept_rows = 4096;

// Whether rows at those positions are worth filling in blocks.
bool is_long_progression(const Positions& positions, std::int64_t pairs);

// Whether they hold stretches that count upwards, as a batch of ranges does, and may be filled so.
bool has_stretches(const Positions& positions, std::int64_t pairs);

// The rows that all blocks share, at multiples of a step; allocated here, so that tasks need not.
class StepRows {
  public:
    StepRows(const GroupedFrequencies& grouped, std::int64_t step, Precision precision);
    const GroupedFrequencies::Rows& rows() const { return own_ ? *own_ : *kept_; }

  private:
    std::optional<GroupedFrequencies::Rows> own_;
    const GroupedFrequencies::Rows* kept_ = nullptr;
};

// Evenly spaced positions, in blocks that lie at fixed positions wherever the table begins: block k
// has its centre at origin + step * block_rows * k. The first centre of a super-block is evaluated,
// the others follow from it by one turn each.
class Progression {
  public:
    Progression(const Filling& filling, const GroupedFrequencies::Rows& rows, Stores stores,
                int threads);

    std::int64_t tasks() const;
    void fill_task(std::int64_t number, const Workspace& workspace) const;
    void fill_all(const Workspace& workspace) const;

    // How many rows of the two blocks that hold the first row lie before it.
    static std::int64_t rows_before(const Positions& positions);

  private:
    std::int64_t task_of(std::int64_t index) const;

    const Filling& filling_;
    const GroupedFrequencies::Rows& rows_;
    Stores stores_;
    std::int64_t task_blocks_; // divide a super-block
    std::int64_t step_, index_, origin_;
};

// Rows begin .. end - 1 of positions that may have stretches, which are filled as such. Unit rows
// must have been made before.
void fill_stretches(const Filling& filling, std::int64_t begin, std::int64_t end,
                    const Workspace& workspace);

} // namespace ropewalk
