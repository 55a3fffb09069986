// One table and what fills it.
#pragma once

#include <cstdint>

#include "exact/sincos.hpp"
#include "plans/frequencies.hpp"
#include "plans/positions.hpp"
#include "targets/kernels.hpp"

namespace ropewalk {

// Stores through the cache, or past it: these for memory that has been written before and is larger
// than the cache.
enum class Stores { cached, streamed };

std::int64_t element_bytes(Type type);

class Workspace;

// As an Exact it writes what a kernel's rounding test leaves open.
struct Filling : Exact {
    const Kernels& kernels;
    const Frequencies& frequencies;
    Positions positions;
    Type type;
    Layout layout;
    Table table;
    int shift = 0; // see GroupedFrequencies
    const GroupedFrequencies* grouped;

    Filling(const Kernels& kernels, const Frequencies& frequencies, const Positions& positions,
            Type type, Layout layout, const Table& table);

    Precision precision() const {
        return type == Type::float64 ? Precision::precise : Precision::plain;
    }
    const Kernels::Filling& kernel(Stores stores) const;
    std::int64_t pair_bytes() const;

    // Rows begin .. begin + count - 1, whose positions are first, first + 1, ..
    Filling run(std::int64_t begin, std::int64_t count, std::int64_t first) const;
    // The same rows from pair `by` on, each with the first pairs of the next row in the place of
    // its own; the last row is left out.
    Filling shifted(int by) const;

    void fill_rows(std::int64_t begin, std::int64_t end, const Workspace& workspace) const;

  private:
    static void fill_lanes(const Exact* self, std::int64_t row, std::int64_t group, unsigned lanes);
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
