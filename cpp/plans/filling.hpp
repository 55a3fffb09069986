// One table and what fills it.
#pragma once

#include <cstdint>

#include "plans/frequencies.hpp"
#include "plans/positions.hpp"
#include "targets/kernels.hpp"

namespace ropewalk {

class Workspace;

// To evaluate a pair at some position takes as long as to write so many bytes.
inline constexpr std::int64_t evaluated_bytes = 64;

// A task has so many rows at least, where they need none beside them.
inline constexpr std::int64_t fewest_rows = 8;

// As an Exact it writes what a kernel's rounding test leaves open.
struct Filling : Exact {
    const Kernels& kernels;
    const Frequencies& frequencies;
    Positions positions;
    double factor; // times which all values are taken
    Type type;
    Layout layout;
    Table table;
    int shift = 0;        // see GroupedFrequencies
    bool of_rows = false; // lanes are the rows of one pair
    const GroupedFrequencies* grouped;

    Filling(const Kernels& kernels, const Frequencies& frequencies, const Positions& positions,
            double factor, Type type, Layout layout, const Table& table);

    Precision precision() const {
        return type == Type::float64 ? Precision::precise : Precision::plain;
    }
    const Kernels::Filling& kernel(Stores stores) const;
    std::int64_t pair_bytes() const;

    // Rows at those positions, elsewhere in memory.
    Filling elsewhere(void* first, void* second, const Positions& those) const;
    // The rows from `begin` on, whose positions are those.
    Filling part(std::int64_t begin, const Positions& those) const;
    // The same rows from pair `by` on, each with the first pairs of the next row in the place of
    // its own; the last row is left out.
    Filling shifted(int by) const;

    // Before tasks fill rows one by one, or in stretches, what they share.
    void prepare(bool in_stretches) const;
    void fill_rows(std::int64_t begin, std::int64_t end, const Workspace& workspace) const;
    // Where the table has one pair, and rows without gaps, positions are lanes.
    bool has_one_pair() const;
    void fill_pair(std::int64_t begin, std::int64_t end) const;
    // One row from its values, whose groups are `stride` doubles apart.
    void fill_row(const double* values, std::int64_t stride, std::int64_t row, Stores stores) const;
    // Of rows begin .. end - 1 the pairs from those of the table on, up to `pairs`, which do not
    // move.
    void fill_standing(std::int64_t begin, std::int64_t end, std::int64_t pairs) const;

  private:
    bool is_origin(std::int64_t row) const;
    void fill_origin(std::int64_t row) const;
    static void fill_lanes(const Exact* self, std::int64_t row, std::int64_t group, unsigned lanes);
    bool decided(const SineCosine& value) const;
    void fill_lane(const Angle& angle, std::int64_t row, std::int64_t lane) const;
    void fill_lane(const SineCosine& value, std::int64_t row, std::int64_t lane) const;
    template <class Element>
    void store(const SineCosine& value, std::int64_t row, std::int64_t lane) const;
};

// What one thread needs to fill a table.
class Workspace {
  public:
    explicit Workspace(const Filling& filling);

    double* row() const { return memory_.data(); }
    double* centres() const { return row() + width_; }       // two rows
    double* spare() const { return centres() + 2 * width_; } // where rows outside the table go

  private:
    std::int64_t width_;
    Scratch memory_;
};

} // namespace ropewalk
