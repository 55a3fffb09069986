#include "plans/rotary.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "plans/pool.hpp"
#include "plans/progression.hpp"
#include "plans/rotary_rows.hpp"

namespace ropewalk {
namespace {

// What one thread needs: some rows of the table.
class OwnTable {
  public:
    OwnTable(const RotaryData& data, const Turning& turning, std::int64_t rows)
        : half_(data.pairing == Pairing::half), element_(element_bytes(table_type(data.type))),
          pairs_(data.pairs), memory_((turning.table_bytes(rows) + line) / 8),
          cosines_(reinterpret_cast<char*>(memory_.data())),
          sines_(cosines_ + rows * pairs_ * element_) {
        // Vectors of the table begin where those of the data do.
        const auto address = reinterpret_cast<std::uintptr_t>(data.y);
        const auto elements = static_cast<std::int64_t>(address) / element_bytes(data.type);
        const std::int64_t past = elements * element_ % line;
        cosines_ += past;
        sines_ += past;
    }

    // Where a table goes: sines and cosines apart, or both.
    void* first() const { return half_ ? sines_ : cosines_; }
    void* second() const { return half_ ? cosines_ : nullptr; }
    TableRows table() const { return {cosines_, sines_, (half_ ? 1 : 2) * pairs_ * element_}; }
    void negate_sines(std::int64_t rows) const {
        if (element_ == 8)
            negate<double>(rows);
        else
            negate<float>(rows);
    }
    template <class Value>
    void interleave(const void* cosines, const void* sines, std::int64_t rows) const {
        auto* const to = reinterpret_cast<Value*>(cosines_);
        for (std::int64_t i = 0; i < rows * pairs_; ++i) {
            to[2 * i] = static_cast<const Value*>(cosines)[i];
            to[2 * i + 1] = static_cast<const Value*>(sines)[i];
        }
    }

  private:
    static constexpr std::int64_t line = 64;

    template <class Value>
    void negate(std::int64_t rows) const {
        const std::int64_t step = half_ ? 1 : 2;
        auto* const sines = reinterpret_cast<Value*>(half_ ? sines_ : cosines_) + (step - 1);
        for (std::int64_t i = 0; i < rows * pairs_; ++i)
            sines[i * step] = 0 - sines[i * step]; // no zero has a sign
    }

    bool half_;
    std::int64_t element_, pairs_;
    Scratch memory_;
    char *cosines_, *sines_; // the first holds both where they are not apart
};

std::vector<OwnTable> own_tables(const RotaryData& data, const Turning& turning,
                                 const RotaryTasks& tasks, int threads) {
    std::vector<OwnTable> tables;
    const std::int64_t workers = std::min<std::int64_t>(threads, tasks.count());
    tables.reserve(static_cast<std::size_t>(workers));
    for (std::int64_t i = 0; i < workers; ++i)
        tables.emplace_back(data, turning, tasks.most_rows());
    return tables;
}

// Tables that threads make for the rows of a task. Nothing is allocated then.
class MadeTables {
  public:
    // Of `pairs`, of which those of the filling move, and no more rows than `most` each.
    MadeTables(const Filling& whole, std::vector<OwnTable> tables, std::int64_t most,
               std::int64_t pairs, Direction direction, bool in_stretches)
        : whole_(whole), tables_(std::move(tables)), direction_(direction),
          in_stretches_(in_stretches) {
        if (is_long_progression(whole.positions, whole.table.pairs))
            steps_.emplace(*whole.grouped, whole.positions.step, whole.precision());
        else
            whole.prepare(in_stretches_);
        workspaces_.reserve(tables_.size());
        for (const OwnTable& mine : tables_) {
            workspaces_.emplace_back(whole);
            part(mine, {0, most}).fill_standing(0, most, pairs);
        }
    }

    TableRows make(Range own, int worker) const {
        const OwnTable& mine = tables_[static_cast<std::size_t>(worker)];
        const Workspace& workspace = workspaces_[static_cast<std::size_t>(worker)];
        const Filling filling = part(mine, own);
        if (steps_)
            Progression(filling, steps_->rows(), Stores::cached, 1).fill_all(workspace);
        else if (in_stretches_)
            fill_stretches(filling, 0, own.size(), workspace);
        else
            filling.fill_rows(0, own.size(), workspace);
        if (direction_ == Direction::backwards)
            mine.negate_sines(own.size());
        return mine.table();
    }

  private:
    Filling part(const OwnTable& mine, Range own) const {
        return whole_.elsewhere(mine.first(), mine.second(),
                                whole_.positions.part(own.begin, own.size()));
    }

    const Filling& whole_;
    std::vector<OwnTable> tables_;
    Direction direction_;
    bool in_stretches_;
    std::optional<StepRows> steps_; // where rows are filled in blocks
    std::vector<Workspace> workspaces_;
};

// Tasks turn their rows by table_of(own rows, worker).
template <class Function>
void turn_all(const Turning& turning, const RotaryTasks& tasks, int threads,
              const Function& table_of) {
    const auto turn = [&](std::int64_t task, int worker) {
        const Range own = tasks.own(task);
        turning.turn(own, tasks.shared(task), table_of(own, worker));
    };
    run_tasks(tasks.count(), threads, Task(turn));
}

// Queries and keys of every layer ask for the same rows: tables of so many of the first positions
// are kept, and of twice, four and eight times as many. To read one takes less time than to make it
// again, even from the third cache.
constexpr std::int64_t kept_rows = 1024, kept_table_bytes = 512 << 10;

struct KeptTable {
    TableRows rows;
    std::int64_t count;
};

// The smallest such table that holds all of those positions, which may have several axes. Pairs
// that stand still have none.
std::optional<KeptTable> kept_table(const Kernels& kernels, const Frequencies& turning_by,
                                    const Positions& positions, const RotaryData& data) {
    if (table_type(data.type) != Type::float32 ||
        turning_by.moving_pairs() > most_pairs_of_kept_rows)
        return {};
    const std::int64_t row_bytes = 2 * data.pairs * element_bytes(Type::float32);
    const bool half = data.pairing == Pairing::half;
    const Layout layout = half ? Layout::apart : Layout::cosine_first;
    std::int64_t count = std::min(kept_rows, kept_table_bytes / row_bytes);
    constexpr int last_size = Frequencies::first_sizes - 1;
    const std::int64_t last = positions.largest_index((count << last_size) - 1);
    if (last < 0)
        return {};
    int size = 0;
    for (; last >= count; count *= 2)
        ++size;
    const Frequencies& frequencies = turning_by.axes() == 1 ? turning_by : turning_by.diagonal();
    // Few rows are not worth making a table.
    if (positions.count < std::max<std::int64_t>(block_rows, count / 32) &&
        !frequencies.has_first_rows(layout, size))
        return {};
    const std::int64_t row_elements = (half ? 1 : 2) * data.pairs;
    constexpr std::int64_t line = 64, past = 16; // where NumPy's large arrays begin
    const auto table_in = [&](const Scratch& memory) {
        char* const first = reinterpret_cast<char*>(memory.data()) + past;
        return Table{first, half ? first + count * row_bytes / 2 : nullptr, row_elements, count,
                     frequencies.moving_pairs()};
    };
    const Scratch& kept = frequencies.first_rows(layout, size, [&] {
        Scratch memory((count * row_bytes + line) / 8);
        const Filling filling(kernels, frequencies, {count, 0, 1}, 1.0, Type::float32, layout,
                              table_in(memory));
        Progression(filling, filling.grouped->unit_rows(Precision::plain), Stores::cached, 1)
            .fill_all(Workspace(filling));
        return memory;
    });
    const Table table = table_in(kept);
    const auto* const first = static_cast<const char*>(table.first);
    return KeptTable{{half ? static_cast<const char*>(table.second) : first, first,
                      row_elements * element_bytes(Type::float32)},
                     count};
}

// Tables whose rows come from a kept one, each pair from that of the position on its axis.
class GatheredTables {
  public:
    static bool can_gather(const Positions& rows, const Frequencies& frequencies) {
        return rows.axes == 1 || (rows.axes <= most_axes && !frequencies.axis_of_pairs().empty());
    }

    GatheredTables(const KeptTable& kept, const Frequencies& frequencies, const Positions& rows,
                   std::vector<OwnTable> tables, Pairing pairing)
        : kept_(kept), axis_of_pairs_(frequencies.axis_of_pairs()), rows_(rows),
          tables_(std::move(tables)), pairs_(frequencies.moving_pairs()),
          half_(pairing == Pairing::half) {}

    TableRows make(Range own, int worker) const {
        const OwnTable& mine = tables_[static_cast<std::size_t>(worker)];
        const TableRows table = mine.table();
        const Positions rows = rows_.part(own.begin, own.size());
        if (half_) {
            gather<float>(kept_.rows.cosines, rows, mine.second(), table.row_bytes);
            gather<float>(kept_.rows.sines, rows, mine.first(), table.row_bytes);
        } else {
            gather<CosineAndSine>(kept_.rows.cosines, rows, mine.first(), table.row_bytes);
        }
        return table;
    }

  private:
    static constexpr int most_axes = 8;
    struct CosineAndSine {
        float cosine, sine;
    };

    template <class Value>
    void gather(const char* kept, const Positions& rows, void* own, std::int64_t row_bytes) const {
        const Value* from[most_axes];
        for (std::int64_t row = 0; row < rows.count; ++row) {
            auto* const to = reinterpret_cast<Value*>(static_cast<char*>(own) + row * row_bytes);
            for (int axis = 0; axis < rows.axes; ++axis) {
                // Whoever changes the positions meanwhile gets what these rows hold.
                const std::int64_t index =
                    std::clamp<std::int64_t>(rows.index(row, axis), 0, kept_.count - 1);
                from[axis] = reinterpret_cast<const Value*>(kept + index * kept_.rows.row_bytes);
            }
            if (rows.axes == 1)
                std::copy_n(from[0], pairs_, to);
            else
                for (std::int64_t pair = 0; pair < pairs_; ++pair)
                    to[pair] = from[axis_of_pairs_[static_cast<std::size_t>(pair)]][pair];
        }
    }

    KeptTable kept_;
    const std::vector<int>& axis_of_pairs_;
    Positions rows_;
    std::vector<OwnTable> tables_;
    std::int64_t pairs_;
    bool half_;
};

} // namespace

Type table_type(Type data) { return data == Type::float64 ? Type::float64 : Type::float32; }

void rotate(const Kernels& kernels, const Frequencies& frequencies, const Positions& positions,
            double factor, Direction direction, const RotaryData& data, Stores stores,
            int most_threads) {
    const Frequencies& turning_by = frequencies.along(positions);
    const std::int64_t moving = turning_by.moving_pairs();
    // Pairs that never move are copied. Those that stand still because what they turn by on several
    // axes cancels are not, nor is what has a factor: so positions alone decide about bits.
    const bool copies = factor == 1.0 && moving == frequencies.moving_pairs();
    const Turning turning(kernels, data, copies ? moving : data.pairs, stores);
    if (turning.bytes() == 0)
        return;
    const Positions rows = positions.simplified();
    const bool in_order = !rows.in_array() && rows.step == 1;
    std::optional<KeptTable> kept;
    if (copies && direction == Direction::forwards &&
        (in_order || GatheredTables::can_gather(rows, turning_by)))
        kept = kept_table(kernels, turning_by, rows, data);
    const bool in_blocks = is_long_progression(rows, moving);
    const Team team = team_for(turning, in_blocks || kept ? 0 : rows.count * moving, most_threads);
    const int threads = team.threads();
    if (kept && in_order)
        return turn_all(turning, RotaryTasks(turning, threads), threads,
                        [&](Range own, int) { return kept->rows.from(rows.first + own.begin); });
    if (kept) {
        const RotaryTasks tasks(turning, threads);
        const GatheredTables made(*kept, turning_by, rows,
                                  own_tables(data, turning, tasks, threads), data.pairing);
        return turn_all(turning, tasks, threads,
                        [&](Range own, int worker) { return made.make(own, worker); });
    }
    const bool half = data.pairing == Pairing::half;
    const Filling whole(kernels, turning_by, rows, factor, table_type(data.type),
                        half ? Layout::apart : Layout::cosine_first,
                        {nullptr, nullptr, (half ? 1 : 2) * data.pairs, rows.count, moving});
    const bool in_stretches = has_stretches(rows, moving), one_by_one = !in_blocks && !in_stretches;
    // To evaluate a row takes as long as to turn eight.
    const RotaryTasks tasks(turning, threads, one_by_one ? fewest_rows : 2 * block_rows,
                            one_by_one ? 32 : 8, in_blocks ? Progression::rows_before(rows) : 0);
    const MadeTables made(whole, own_tables(data, turning, tasks, threads), tasks.most_rows(),
                          data.pairs, direction, in_stretches);
    turn_all(turning, tasks, threads,
             [&](Range own, int worker) { return made.make(own, worker); });
}

void rotate_by(const Kernels& kernels, const void* cosines, const void* sines,
               const RotaryData& data, Stores stores, int most_threads) {
    const Turning turning(kernels, data, data.pairs, stores);
    if (turning.bytes() == 0)
        return;
    const Team team = team_for(turning, 0, most_threads);
    const int threads = team.threads();
    const RotaryTasks tasks(turning, threads);
    const bool interleaved = data.pairing == Pairing::interleaved;
    const std::vector<OwnTable> tables =
        interleaved ? own_tables(data, turning, tasks, threads) : std::vector<OwnTable>{};
    const TableRows whole{static_cast<const char*>(cosines), static_cast<const char*>(sines),
                          data.pairs * element_bytes(table_type(data.type))};
    turn_all(turning, tasks, threads, [&](Range own, int worker) {
        const TableRows given = whole.from(own.begin);
        if (!interleaved)
            return given;
        const OwnTable& mine = tables[static_cast<std::size_t>(worker)];
        if (data.type == Type::float64)
            mine.interleave<double>(given.cosines, given.sines, own.size());
        else
            mine.interleave<float>(given.cosines, given.sines, own.size());
        return mine.table();
    });
}

} // namespace ropewalk
