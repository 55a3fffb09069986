// Attention of several tiles of queries in one task.
#pragma once

#include <algorithm>
#include <memory>

#include "plans/attention_task.hpp"
#include "plans/pool.hpp"

namespace ropewalk {

// Tiles that meet the same keys, block by block: a block that one has read is near for the others.
// Or tiles of which all are scored first, or whose keys lie side by side.
template <class T>
class TileTasks {
  public:
    // Of so many tiles at most.
    TileTasks(const Tiling<T>& tiling, std::int64_t most) : tiling_(tiling) {
        for (std::int64_t i = 0; i < most; ++i)
            tasks_[i] = std::make_unique<TileTask<T>>(tiling);
    }

    void turn_to(std::int64_t first, std::int64_t count) {
        first_ = first;
        count_ = count;
        fetches_ = count > 1 || first % tiling_.group_tiles() == 0;
        for (std::int64_t i = 0; i < count; ++i)
            tasks_[i]->turn_to(first + i);
    }

    void run(bool first_part, Interval part, int worker, Interruption& interruption) {
        Interval all{part.end, part.begin};
        for (std::int64_t i = 0; i < count_; ++i) {
            tasks_[i]->start(first_part, part);
            const Interval keys = tasks_[i]->keys_met(part.begin, part.end);
            if (keys.begin < keys.end)
                all = {std::min(all.begin, keys.begin), std::max(all.end, keys.end)};
        }
        if (tiling_.meets_side_by_side())
            return run_side_by_side(all, worker, interruption);
        const bool scores_first = tiling_.scores_first();
        const std::int64_t step = tiling_.scored_blocks() * block_keys;
        for (std::int64_t first = all.begin / block_keys * block_keys; first < all.end;) {
            const std::int64_t next = std::min(all.end, first + step);
            for (std::int64_t i = 0; i < count_; ++i) {
                for (std::int64_t key = first; key < next; key += block_keys) {
                    const Interval block = tasks_[i]->keys_met(key, key + block_keys);
                    if (block.begin < block.end)
                        tasks_[i]->score(block, fetches_ && i == 0);
                }
                if (!scores_first)
                    tasks_[i]->accumulate();
            }
            if (scores_first)
                for (std::int64_t i = 0; i < count_; ++i)
                    tasks_[i]->accumulate();
            first = next;
            if (first < all.end && interruption.stops(worker))
                return;
        }
    }

    void finish() {
        for (std::int64_t i = 0; i < count_; ++i)
            tasks_[i]->finish();
    }
    void leave(std::int64_t i, double* partial) const { tasks_[i]->leave(partial); }
    // Of one tile.
    void join(const double* partials) { tasks_[0]->join(partials); }

  private:
    // Keys or values of heads side by side: the rows of the first one.
    struct AllHeads {
        Rows rows;
        std::int64_t width;
    };

    // Some keys of each head before the next ones.
    void run_side_by_side(Interval all, int worker, Interruption& interruption) {
        const Attention& a = tiling_.attention();
        const AllHeads keys{tiling_.keys_of(first_), a.dim},
            values{tiling_.values_of(first_), a.value_dim};
        for (std::int64_t first = all.begin; first < all.end;) {
            const std::int64_t next = std::min(all.end, (first / block_keys + 1) * block_keys);
            bool begun = false;
            for (std::int64_t i = 0; i < count_; ++i)
                begun |= tasks_[i]->begin(tasks_[i]->keys_met(first, next));
            // function(task, place in the block); meanwhile they ask for the next of these rows,
            // and behind the last one for the first of others.
            const auto in_turns = [&](auto function, const AllHeads& these, const AllHeads& others,
                                      Interval of_others) {
                for (std::int64_t place = 0; begun && place < next - first; place += some_keys)
                    for (std::int64_t i = 0; i < count_; ++i) {
                        const std::int64_t row = first + place + some_keys;
                        row < next ? ask_for_share(these, {row, next}, i)
                                   : ask_for_share(others, of_others, i);
                        function(*tasks_[i], place);
                    }
            };
            in_turns([](auto& task, std::int64_t place) { task.score_some(place); }, keys, values,
                     {first, next});
            for (std::int64_t i = 0; i < count_; ++i)
                tasks_[i]->weigh();
            in_turns([](auto& task, std::int64_t place) { task.add_some(place); }, values, keys,
                     {next, all.end});
            first = next;
            if (first < all.end && interruption.stops(worker))
                return;
        }
    }
    // One task's share of the first of some rows. Inline, or the compiler takes it for a function
    // that does nothing.
    [[gnu::always_inline]] void ask_for_share(const AllHeads& of, Interval rows,
                                              std::int64_t i) const {
        const std::int64_t element = tiling_.key_bytes();
        const std::int64_t end = rows.begin + some_keys * (i + 1) / count_;
        for (std::int64_t row = rows.begin + some_keys * i / count_; row < std::min(end, rows.end);
             ++row) {
            const char* const line =
                static_cast<const char*>(of.rows.first) + row * of.rows.stride * element;
            for (std::int64_t at = 0; at < count_ * of.width * element; at += line_bytes)
                __builtin_prefetch(line + at, 0, 2);
        }
    }

    const Tiling<T>& tiling_;
    std::int64_t first_ = 0, count_ = 0;
    bool fetches_ = false; // whether no tile before them has brought the keys near
    std::unique_ptr<TileTask<T>> tasks_[std::max(most_scored, most_side_by_side)];
};

} // namespace ropewalk
