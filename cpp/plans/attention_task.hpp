// Attention of one tile of queries to the keys that it meets.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "plans/attention_tiles.hpp"
#include "plans/pool.hpp"

namespace ropewalk {

// Blocks may begin and end where no query sees a key before or behind, at a multiple of the sums
// that a block keeps.
constexpr std::int64_t block_step = 8;

// A tile of queries meets its keys, block by block.
template <class T>
class TileTask {
  public:
    TileTask(const Tiling<T>& tiling, std::int64_t tile, char* memory)
        : tiling_(tiling), a_(tiling.attention()), index_(tile), kernel_(tiling.tile_kernels()),
          count_(std::min(tiling.queries() - tiling.first_query(tile), tiling.most())),
          padded_(tiling.few() ? count_ : tiling.whole_vectors(count_)),
          room_(a_, tiling.converts(), tiling.most(), memory),
          tile_{static_cast<int>(tiling.few() ? count_ : padded_ / tiling.kernel().lanes),
                a_.dim,
                a_.value_dim,
                room_.queries,
                room_.logits,
                room_.largest,
                room_.smallest,
                room_.maximum,
                room_.sum,
                room_.rescale,
                room_.output,
                false,
                tiling.ahead(),
                has_large_first_cache(),
                {},
                {},
                {}},
          keys_(tiling.keys_of(tile)), values_(tiling.values_of(tile)),
          divides_last_(!tiling.few() && a_.output != nullptr &&
                        tiling.kernel().lane.accumulate_last != nullptr) {
        const std::int64_t first = tiling.first_query(tile);
        std::int64_t head = tiling.first_head(tile) + first / a_.queries;
        std::int64_t row = first % a_.queries;
        for (std::int64_t i = 0; i < count_; row = 0, ++head) {
            const std::int64_t end = std::min(count_, i + a_.queries - row);
            room_.stretches[stretches_++] = stretch(head, i, end, row);
            i = end;
        }
    }

    // Takes the queries, and the sinks where they belong to this part; returns the keys of the part
    // that the tile must meet.
    Interval start(bool first_part, Interval part) {
        take_queries();
        std::fill_n(room_.maximum, padded_, -infinity);
        std::fill_n(room_.sum, padded_, 0.0);
        tile_.empty = true;
        if (first_part && a_.sinks.data != nullptr)
            each_query([&](const Stretch<T>& of, std::int64_t i) {
                if (of.sink != -HUGE_VAL) {
                    room_.maximum[i] = static_cast<T>(of.sink);
                    room_.sum[i] = 1;
                }
            });
        const Interval seen = seen_keys();
        if constexpr (std::is_same_v<T, float>)
            if (!tiling_.few())
                find_one_blocks(seen);
        return {std::max(seen.begin, part.begin), std::min(seen.end, part.end)};
    }

    void meet(Interval block, bool fetches, bool last) {
        const std::int64_t keys = block.end - block.begin;
        for (int i = 0; i < most_vectors; ++i) {
            tile_.keys[i] = std::clamp(ends_[i] - block.begin, std::int64_t{0}, keys);
            tile_.half_keys[i] =
                std::clamp(half_ends_[i] - block.begin, std::int64_t{0}, tile_.keys[i]);
        }
        const Rows keys_there = rows(keys_, a_.dim, block, room_.keys);
        const Rows values = rows(values_, a_.value_dim, block, room_.values);
        kernel_.score(tile_, keys_there, static_cast<T>(a_.scale), fetches ? &values : nullptr);
        show(a_.stages.scores, block);
        if (a_.softcap != 0)
            kernel_.cap(tile_, static_cast<T>(a_.softcap));
        show(a_.stages.capped, block);
        if (tiling_.bias().data != nullptr)
            add_bias(block);
        if (a_.slopes.data != nullptr)
            add_slopes(block);
        Interval hidden = block; // those that some query may not see
        if (block.begin < fewest_.begin || block.end > fewest_.end) {
            if (a_.mask.data == nullptr && !any_masked())
                hidden = outside(fewest_, block);
            hide_unseen(block);
        }
        if (a_.mask.data != nullptr)
            hide_masked(block);
        show(a_.stages.biased != nullptr ? a_.stages.biased : a_.stages.weights, block);
        // Zero times NaN is NaN: values of masked keys must not be multiplied.
        const bool selective =
            kernel_.raise(tile_) && !tiling_.all_finite(index_, hidden,
                                                        part_of(values, hidden.begin - block.begin,
                                                                hidden.end - hidden.begin));
        if (selective)
            std::copy_n(room_.logits, block_keys * padded_, room_.unweighed);
        kernel_.weigh(tile_);
        if (selective)
            kernel_.accumulate_seen(tile_, values, room_.unweighed);
        else if (last && divides_last_)
            return write_output(&values);
        else
            kernel_.accumulate(tile_, values);
        tile_.empty = false;
    }

    void finish() {
        if (a_.output != nullptr && !written_)
            write_output(nullptr);
        if (a_.lse != nullptr || a_.stages.weights != nullptr)
            for (std::int64_t i = 0; i < count_; ++i)
                finish(i);
    }

    void leave(double* partial) const {
        clear_empty();
        for (std::int64_t i = 0; i < count_; ++i) {
            *partial++ = static_cast<double>(room_.maximum[i]);
            *partial++ = room_.sum[i];
            const auto output = column(room_.output, i, a_.value_dim);
            for (std::int64_t k = 0; k < a_.value_dim; ++k)
                *partial++ = output[k];
        }
    }

    void join(const double* partials) const {
        for (std::int64_t i = 0; i < count_; ++i) {
            double maximum = -HUGE_VAL, sum = 0;
            const auto output = column(room_.output, i, a_.value_dim);
            for (std::int64_t k = 0; k < a_.value_dim; ++k)
                output[k] = 0;
            for (std::int64_t part = 0; part < tiling_.parts(); ++part) {
                const double* const partial =
                    partials + part * tiling_.partial_doubles() + i * (2 + a_.value_dim);
                if (partial[1] == 0)
                    continue; // has seen nothing
                const double next = std::max(maximum, partial[0]);
                const double before = tiling_.kernels().exponential(maximum - next);
                const double more = tiling_.kernels().exponential(partial[0] - next);
                maximum = next;
                sum = sum * before + partial[1] * more;
                for (std::int64_t k = 0; k < a_.value_dim; ++k)
                    output[k] = output[k] * before + partial[2 + k] * more;
            }
            room_.maximum[i] = static_cast<T>(maximum);
            room_.sum[i] = sum;
        }
    }

  private:
    // An array's values of query i, which has room for `width` of them.
    template <class Value>
    struct Column {
        Value* first;
        std::int64_t step;
        Value& operator[](std::int64_t k) const { return first[k * step]; }
    };
    template <class Value>
    Column<Value> column(Value* array, std::int64_t i, std::int64_t width) const {
        return tiling_.few() ? Column<Value>{array + i * width, 1}
                             : Column<Value>{array + i, padded_};
    }

    Stretch<T> stretch(std::int64_t head, std::int64_t first, std::int64_t end,
                       std::int64_t row) const {
        return {first,
                end,
                row,
                tiling_.value_of(a_.offset, head, std::int64_t{0}),
                tiling_.value_of(a_.key_lengths, head, a_.keys),
                tiling_.value_of(a_.slopes, head, 0.0),
                tiling_.value_of(a_.sinks, head, -HUGE_VAL),
                tiling_.first_row(a_.query, head),
                tiling_.first_row(a_.mask, head),
                tiling_.first_row(tiling_.bias(), head)};
    }
    const char* data(const Stretch<T>& of, std::int64_t i) const {
        return of.data + of.row_of(i) * a_.query.row_stride * element_bytes(a_.type);
    }
    const std::uint8_t* mask(const Stretch<T>& of, std::int64_t i) const {
        return of.mask + of.row_of(i) * a_.mask.query_stride;
    }
    const T* bias(const Stretch<T>& of, std::int64_t i) const {
        return of.bias + of.row_of(i) * tiling_.bias().query_stride;
    }
    Interval seen(const Stretch<T>& of, std::int64_t i) const {
        return tiling_.seen(of.place_of(i), of.keys);
    }

    // function(stretch, i) of every query i.
    template <class Function>
    void each_query(Function function) const {
        for (std::int64_t k = 0; k < stretches_; ++k)
            for (std::int64_t i = room_.stretches[k].first; i < room_.stretches[k].end; ++i)
                function(room_.stretches[k], i);
    }
    // lanes[i] = function(stretch, i); lanes beyond the last query do as it does.
    template <class Value, class Function>
    void each_lane(Value* lanes, Function function) const {
        each_query([&](const Stretch<T>& of, std::int64_t i) { lanes[i] = function(of, i); });
        std::fill(lanes + count_, lanes + padded_, lanes[count_ - 1]);
    }

    void take_queries() {
        if (tiling_.few())
            return each_query([&](const Stretch<T>& of, std::int64_t i) {
                tiling_.read(data(of, i), a_.dim, room_.queries + i * a_.dim);
            });
        each_lane(room_.starts, [&](const Stretch<T>& of, std::int64_t i) {
            if (a_.type == computed_type<T>)
                return reinterpret_cast<const T*>(data(of, i));
            T* const row = room_.rows + i * a_.dim;
            tiling_.read(data(of, i), a_.dim, row);
            return static_cast<const T*>(row);
        });
        for (std::int64_t i = 0; i < padded_; i += tiling_.kernel().lanes)
            tiling_.kernel().lane.rows_to_lanes(room_.starts + i, a_.dim, padded_,
                                                room_.queries + i);
    }

    // The keys that the tile must meet. A query begins and ends no earlier than the one before.
    Interval seen_keys() {
        fewest_ = {0, a_.keys};
        Interval most{a_.keys, 0};
        const std::int64_t lanes = tiling_.few() ? count_ : tiling_.kernel().lanes;
        for (std::int64_t k = 0; k < stretches_; ++k) {
            const Stretch<T>& of = room_.stretches[k];
            for (std::int64_t i = of.first; i < of.end;) {
                const std::int64_t vector = i / lanes, middle = vector * lanes + lanes / 2;
                const bool in_first_half = i < middle;
                const Interval first = seen(of, i);
                i = std::min(of.end, (vector + 1) * lanes);
                const Interval last = seen(of, i - 1);
                fewest_ = {std::max(fewest_.begin, last.begin), std::min(fewest_.end, first.end)};
                if (in_first_half)
                    half_ends_[vector] = std::max(
                        most.end,
                        first.end == last.end ? last.end : seen(of, std::min(i, middle) - 1).end);
                if (first.begin < last.end)
                    most = {std::min(most.begin, first.begin), std::max(most.end, last.end)};
                ends_[vector] = most.end;
            }
        }
        if (a_.stages.weights != nullptr) { // stages show what is masked too
            std::fill_n(ends_, most_vectors, a_.keys);
            std::fill_n(half_ends_, most_vectors, a_.keys);
            return {0, a_.keys};
        }
        return {most.begin / block_step * block_step, most.end};
    }

    // Which queries see keys of one block alone, of those that the tile meets.
    void find_one_blocks(Interval met) {
        const auto is_one = [](Interval keys) {
            return keys.begin >= keys.end || keys.begin / block_keys == (keys.end - 1) / block_keys;
        };
        if (is_one(met)) {
            std::fill_n(tile_.one_block, most_vectors, ~0U);
            return;
        }
        std::fill_n(tile_.one_block, most_vectors, 0U);
        if (!is_one(fewest_))
            return;
        const std::int64_t lanes = tiling_.kernel().lanes;
        each_query([&](const Stretch<T>& of, std::int64_t i) {
            tile_.one_block[i / lanes] |= unsigned{is_one(seen(of, i))} << (i % lanes);
        });
    }

    bool any_masked() const {
        bool any = false;
        for (std::int64_t i = 0; i < padded_; ++i)
            any |= room_.smallest[i] == -infinity;
        return any;
    }
    // The keys of a block before and behind those, and between them where there are both.
    static Interval outside(Interval those, Interval block) {
        return {block.begin < those.begin ? block.begin : std::max(block.begin, those.end),
                block.end > those.end ? block.end : std::min(block.end, those.begin)};
    }

    Rows part_of(const Rows& rows, std::int64_t begin, std::int64_t count) const {
        const std::int64_t bytes =
            tiling_.converts() ? std::int64_t{sizeof(T)} : tiling_.key_bytes();
        return {static_cast<const char*>(rows.first) + begin * rows.stride * bytes, rows.stride,
                count};
    }

    // Keys or values of a block where they are, or converted.
    Rows rows(const Rows& all, std::int64_t width, Interval block, T* converted) const {
        const std::int64_t count = block.end - block.begin;
        if (width == 0)
            return {converted, 0, count};
        const std::int64_t step = all.stride * tiling_.key_bytes();
        const char* row = static_cast<const char*>(all.first) + block.begin * step;
        if (!tiling_.converts())
            return {row, all.stride, count};
        for (std::int64_t i = 0; i < count; ++i, row += step)
            tiling_.read(row, width, converted + i * width);
        return {converted, width, count};
    }

    // function(stretch, i, logits, how many): those of the block's first key and the next ones, of
    // every query i. What that has made of them is looked at again.
    template <class Function>
    void change_logits(Function function) const {
        const std::int64_t lanes = tiling_.few() ? count_ : tiling_.kernel().lanes;
        each_query([&](const Stretch<T>& of, std::int64_t i) {
            function(of, i, column(room_.logits, i, block_keys), tile_.keys[i / lanes]);
        });
        kernel_.find_extremes(tile_);
    }

    // -inf masks whatever the logit is; a finite bias does not, even where the sum overflows.
    static void add(T& logit, T more) {
        if (more == -infinity)
            logit = more;
        else if (logit != -infinity)
            logit = logit + more == -infinity ? -std::numeric_limits<T>::max() : logit + more;
    }

    void add_bias(Interval block) const {
        const std::int64_t step = tiling_.bias().key_stride;
        if (!tiling_.few() && step == 1) {
            each_lane(room_.starts, [&](const Stretch<T>& of, std::int64_t i) {
                return bias(of, i) + block.begin;
            });
            tiling_.kernel().lane.add_bias(tile_, room_.starts);
            return;
        }
        change_logits(
            [&](const Stretch<T>& of, std::int64_t i, const Column<T>& logits, std::int64_t keys) {
                const T* const biases = bias(of, i) + block.begin * step;
                for (std::int64_t key = 0; key < keys; ++key)
                    add(logits[key], biases[key * step]);
            });
    }

    void add_slopes(Interval block) const {
        if (!tiling_.few()) {
            each_lane(room_.places, [](const Stretch<T>& of, std::int64_t i) {
                return static_cast<double>(of.place_of(i));
            });
            each_lane(room_.slopes, [](const Stretch<T>& of, std::int64_t) { return of.slope; });
            tiling_.kernel().lane.add_slopes(tile_, static_cast<double>(block.begin), room_.places,
                                             room_.slopes);
            return;
        }
        change_logits(
            [&](const Stretch<T>& of, std::int64_t i, const Column<T>& logits, std::int64_t keys) {
                for (std::int64_t key = 0; key < keys; ++key) {
                    const std::int64_t away = std::abs(of.place_of(i) - block.begin - key);
                    const double more = -of.slope * static_cast<double>(away);
                    add(logits[key], static_cast<T>(std::clamp(more, -largest, largest)));
                }
            });
    }

    void hide_unseen(Interval block) const {
        const std::int64_t keys = block.end - block.begin;
        const auto in_block = [&](std::int64_t key) {
            return std::clamp(key - block.begin, std::int64_t{0}, keys);
        };
        if (!tiling_.few()) {
            each_lane(room_.begin, [&](const Stretch<T>& of, std::int64_t i) {
                return static_cast<T>(in_block(seen(of, i).begin));
            });
            each_lane(room_.end, [&](const Stretch<T>& of, std::int64_t i) {
                return static_cast<T>(in_block(seen(of, i).end));
            });
            const auto hide = [&](std::int64_t first, std::int64_t last) {
                tiling_.kernel().lane.hide_outside(tile_, first, last, room_.begin, room_.end);
            };
            hide(0, in_block(fewest_.begin));
            hide(std::max(in_block(fewest_.begin), in_block(fewest_.end)), keys);
            return kernel_.find_extremes(tile_);
        }
        change_logits(
            [&](const Stretch<T>& of, std::int64_t i, const Column<T>& logits, std::int64_t) {
                for (std::int64_t key = 0; key < in_block(seen(of, i).begin); ++key)
                    logits[key] = -infinity;
                for (std::int64_t key = in_block(seen(of, i).end); key < keys; ++key)
                    logits[key] = -infinity;
            });
    }

    void hide_masked(Interval block) const {
        const std::int64_t step = a_.mask.key_stride;
        if (!tiling_.few() && step == 1) {
            each_lane(room_.masks, [&](const Stretch<T>& of, std::int64_t i) {
                return mask(of, i) + block.begin;
            });
            tiling_.kernel().lane.hide_masked(tile_, room_.masks);
            return;
        }
        change_logits(
            [&](const Stretch<T>& of, std::int64_t i, const Column<T>& logits, std::int64_t keys) {
                const std::uint8_t* const seen = mask(of, i) + block.begin * step;
                for (std::int64_t key = 0; key < keys; ++key)
                    if (seen[key * step] == 0)
                        logits[key] = -infinity;
            });
    }

    // The row of query i in an array (*leading, queries, width).
    std::int64_t row_in(std::int64_t i, std::int64_t width) const {
        return (tiling_.first_head(index_) * a_.queries + tiling_.first_query(index_) + i) * width;
    }

    // The rows of a tile follow each other, as those of its result do.
    void show(void* stage, Interval block) const {
        if (stage == nullptr)
            return;
        T* const rows = static_cast<T*>(stage) + row_in(0, a_.keys) + block.begin;
        if (!tiling_.few())
            return tiling_.kernel().lane.logits_to_rows(tile_, count_, a_.keys, rows);
        for (std::int64_t i = 0; i < count_; ++i)
            std::copy_n(room_.logits + i * block_keys, tile_.keys[0], rows + i * a_.keys);
    }

    // Where no key was met.
    void clear_empty() const {
        if (tile_.empty)
            std::fill_n(room_.output, a_.value_dim * padded_, 0.0);
    }

    // Values are those of a block that is still to be added.
    void write_output(const Rows* values) {
        char* const rows =
            static_cast<char*>(a_.output) + row_in(0, a_.value_dim) * element_bytes(a_.type);
        const bool converts = a_.type != computed_type<T>;
        T* const to = converts ? room_.rows : reinterpret_cast<T*>(rows);
        if (values != nullptr) {
            tiling_.kernel().lane.accumulate_last(tile_, *values, count_, to);
        } else {
            clear_empty();
            kernel_.divide(tile_, count_, to);
        }
        if (converts)
            tiling_.write(to, count_ * a_.value_dim, rows);
        written_ = true;
    }

    void finish(std::int64_t i) const {
        const double sum = room_.sum[i];
        const T maximum = room_.maximum[i];
        if (a_.lse != nullptr)
            a_.lse[row_in(i, 1)] = static_cast<double>(maximum) + tiling_.kernels().logarithm(sum);
        if (a_.stages.weights != nullptr) {
            T* const weights = static_cast<T*>(a_.stages.weights) + row_in(i, a_.keys);
            const T* const logits =
                a_.stages.biased == nullptr
                    ? weights
                    : static_cast<const T*>(a_.stages.biased) + row_in(i, a_.keys);
            if (sum == 0)
                std::fill_n(weights, a_.keys, T{0});
            else
                tiling_.kernel().weigh_row(logits, a_.keys, maximum, sum, weights);
        }
    }

    static constexpr T infinity = std::numeric_limits<T>::infinity();
    static constexpr double largest = static_cast<double>(std::numeric_limits<T>::max());

    const Tiling<T>& tiling_;
    const Attention& a_;
    std::int64_t index_;         // of the tile
    std::int64_t stretches_ = 0; // how many it has
    const TileKernels<T>& kernel_;
    std::int64_t count_, padded_; // queries, and with those that fill the vectors
    Room<T> room_;
    Tile<T> tile_;
    Rows keys_, values_;
    bool divides_last_;    // as it accumulates the last block
    bool written_ = false; // the output
    Interval fewest_{};    // keys that all queries of the tile see
    // Behind which no query of a vector, or of its first half, and of those before it, sees a key.
    std::int64_t ends_[most_vectors]{}, half_ends_[most_vectors]{};
};

// Tiles that meet the same keys, block by block: a block that one has read is near for the others.
template <class T>
class TileTasks {
  public:
    TileTasks(const Tiling<T>& tiling, std::int64_t first, std::int64_t count, char* memory)
        : count_(count), fetches_(count > 1 || first % tiling.group_tiles() == 0) {
        for (std::int64_t i = 0; i < count; ++i)
            tasks_[i].emplace(tiling, first + i, memory + i * tiling.room_bytes());
    }

    void run(bool first_part, Interval part, int worker, Interruption& interruption) {
        Interval keys[most_together]{}, all{part.end, part.begin};
        for (std::int64_t i = 0; i < count_; ++i) {
            keys[i] = tasks_[i]->start(first_part, part);
            if (keys[i].begin < keys[i].end)
                all = {std::min(all.begin, keys[i].begin), std::max(all.end, keys[i].end)};
        }
        for (std::int64_t key = all.begin / block_keys * block_keys; key < all.end;) {
            for (std::int64_t i = 0; i < count_; ++i) {
                const Interval block{std::max(keys[i].begin, key),
                                     std::min(keys[i].end, key + block_keys)};
                if (block.begin < block.end)
                    tasks_[i]->meet(block, fetches_ && i == 0, block.end == keys[i].end);
            }
            key += block_keys;
            if (key < all.end && interruption.stops(worker))
                return;
        }
    }

    void finish() {
        for (std::int64_t i = 0; i < count_; ++i)
            tasks_[i]->finish();
    }
    // Of one tile.
    void leave(double* partial) const { tasks_[0]->leave(partial); }

  private:
    std::int64_t count_;
    bool fetches_; // whether no tile before them has brought the keys near
    std::optional<TileTask<T>> tasks_[most_together];
};

} // namespace ropewalk
