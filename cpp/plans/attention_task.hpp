// Attention of one tile of queries to the keys that it meets.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "plans/attention_logits.hpp"
#include "plans/attention_queries.hpp"

namespace ropewalk {

// A tile of queries meets its keys, block by block.
template <class T>
class TileTask {
  public:
    explicit TileTask(const Tiling<T>& tiling)
        : tiling_(tiling), a_(tiling.attention()), kernel_(tiling.tile_kernels()),
          memory_(tiling.room(nullptr).bytes / 8),
          room_(tiling.room(reinterpret_cast<char*>(memory_.data()))), queries_(tiling, room_),
          tile_(blank_tile()), logits_(tiling, queries_, room_, tile_),
          converts_(tiling.converts()), divides_last_(a_.output != nullptr && !tiling.cuts() &&
                                                      kernel_.accumulate_last != nullptr) {}
    TileTask(const TileTask&) = delete; // its parts refer to each other
    TileTask& operator=(const TileTask&) = delete;

    // From now on it is about that tile.
    void turn_to(std::int64_t tile) {
        index_ = tile;
        queries_.turn_to(tile);
        first_row_ = tiling_.first_head(tile) * a_.queries + tiling_.first_query(tile);
        tile_.vectors = static_cast<int>(
            tiling_.few() ? queries_.count() : queries_.padded() / tiling_.kernel().lanes);
        keys_ = tiling_.keys_of(tile);
        values_ = tiling_.values_of(tile);
        written_ = false;
    }

    // Takes the queries, and the sinks where they belong to this part.
    void start(bool first_part, Interval part) {
        take();
        std::fill_n(room_.maximum, queries_.padded(), -infinity);
        std::fill_n(room_.sum, queries_.padded(), 0.0);
        tile_.empty = true;
        if (first_part && a_.sinks.data != nullptr)
            queries_.each([&](const Stretch<T>& of, std::int64_t i) {
                if (of.sink != -HUGE_VAL) {
                    room_.maximum[i] = static_cast<T>(of.sink);
                    room_.sum[i] = 1;
                }
            });
        const Interval seen = queries_.find_seen();
        keys_met_ = {std::max(seen.begin, part.begin), std::min(seen.end, part.end)};
        // Where parts are joined, which the rest of the batch decides, all outputs are float64.
        if constexpr (std::is_same_v<T, float>)
            if (!tiling_.few() && !tiling_.cuts())
                queries_.find_one_blocks(seen, tile_);
    }
    // The keys of the part that it must meet, from `first` up to `end`, if any.
    Interval keys_met(std::int64_t first, std::int64_t end) const {
        return {std::max(keys_met_.begin, first), std::min(keys_met_.end, end)};
    }

    // A block, the next one of those that are accumulated together.
    void score(Interval block, bool fetches) {
        if (passes_over(block))
            return;
        tile_of(block, scored_);
        const Rows keys = rows(keys_, a_.dim, block, room_.keys, converts_keys_);
        const Rows values = rows(values_, a_.value_dim, block, room_.values, converts_);
        score_(tile_, keys, static_cast<T>(a_.scale), fetches ? &values : nullptr);
        room_.scored[scored_++] = {block, change(block), values};
    }

    void accumulate() {
        for (std::int64_t i = 0; i < scored_; ++i) {
            const Scored& scored = room_.scored[i];
            if (scored_ > 1)
                tile_of(scored.block, i);
            if (weigh(scored))
                accumulate(scored.block, scored.values);
        }
        scored_ = 0;
    }

    // The same for one of several heads side by side. A block begins, unless nothing of it is seen;
    // then some of its keys at a time, from one of its places on, are scored; then some of their
    // values added.
    bool begin(Interval block) {
        if (block.begin >= block.end || passes_over(block))
            return false;
        room_.scored[scored_++] = {
            block, {}, rows(values_, a_.value_dim, block, room_.values, converts_)};
        return true;
    }
    void score_some(std::int64_t place) {
        with_some(place, [&](Interval some) {
            score_(tile_, rows(keys_, a_.dim, some, room_.keys, converts_keys_),
                   static_cast<T>(a_.scale), nullptr);
        });
    }
    void weigh() {
        if (scored_ == 0)
            return;
        Scored& scored = room_.scored[0];
        tile_of(scored.block, 0);
        kernel_.find_extremes(tile_);
        scored.hidden = change(scored.block);
        if (!weigh(scored))
            scored_ = 0;
        else
            std::fill_n(room_.sums, room_.features * queries_.count(), T{0});
    }
    void add_some(std::int64_t place) {
        with_some(place, [&](Interval some) {
            const auto [block, hidden, all] = room_.scored[0];
            const Rows values = part_of(all, place, some.end - some.begin);
            tile_.sums = room_.sums;
            if (some.end < block.end) {
                kernel_.add_values(tile_, values);
            } else {
                accumulate(block, values);
                scored_ = 0;
            }
            tile_.sums = nullptr;
        });
    }

    void finish() {
        if (a_.output != nullptr && !written_)
            write_output(nullptr);
        if (a_.lse != nullptr || a_.stages.weights != nullptr)
            queries_.each([this](const Stretch<T>& of, std::int64_t i) { finish(of, i); });
    }

    void leave(double* partial) const {
        clear_empty();
        for (std::int64_t i = 0; i < queries_.count(); ++i) {
            *partial++ = static_cast<double>(room_.maximum[i]);
            *partial++ = room_.sum[i];
            const auto output = queries_.column(room_.output, i, a_.value_dim);
            for (std::int64_t k = 0; k < a_.value_dim; ++k)
                *partial++ = output[k];
        }
    }

    // What the parts have left, after the sinks where no part began with them.
    void join(const double* partials) {
        const Interval parts = tiling_.parts_of(index_);
        tile_.empty = false;
        const bool sinks = a_.sinks.data != nullptr && (parts.begin > 0 || parts.end == 0);
        queries_.each([&](const Stretch<T>& of, std::int64_t i) {
            const bool sinks_first = sinks && of.sink != -HUGE_VAL;
            double maximum = sinks_first ? static_cast<double>(static_cast<T>(of.sink)) : -HUGE_VAL;
            double sum = sinks_first ? 1 : 0;
            const auto output = queries_.column(room_.output, i, a_.value_dim);
            for (std::int64_t k = 0; k < a_.value_dim; ++k)
                output[k] = 0;
            for (std::int64_t part = 0; part < parts.end - parts.begin; ++part) {
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
        });
    }

  private:
    // What kernels know of every tile.
    Tile<T> blank_tile() const {
        return {0,
                0,
                a_.value_dim,
                room_.queries,
                room_.logits,
                room_.largest,
                room_.smallest,
                room_.maximum,
                room_.sum,
                room_.rescale,
                room_.output,
                nullptr,
                false,
                tiling_.ahead(),
                has_large_first_cache(),
                waits_for_second_cache(),
                tiling_.near(),
                {},
                {},
                {}};
    }

    // The queries, and with them the keys that they meet: pairs, or not.
    void take() {
        const Packing<T>& packing = tiling_.packing();
        score_ = kernel_.score;
        tile_.dim = a_.dim;
        converts_keys_ = converts_;
        if (packing.pairs() != nullptr) {
            if constexpr (std::is_same_v<T, float>)
                if (tiling_.has_pairs(index_) && queries_.take_as_pairs()) {
                    score_ = packing.pairs()->score;
                    tile_.dim = packing.pair_width();
                    return;
                }
            keys_ = tiling_.own_keys_of(index_);
            converts_keys_ = true;
        }
        tile_.queries = queries_.take();
    }

    // The tile, as kernels see it of the next of the scored blocks.
    void tile_of(Interval block, std::int64_t scored) {
        queries_.count_keys(block, tile_);
        tile_.logits = room_.logits + scored * block_keys * tiling_.most();
        tile_.largest = room_.largest + scored * tiling_.most();
        tile_.smallest = room_.smallest + scored * tiling_.most();
    }

    // A block of which nobody sees a key, whose logits need not be computed; says whether it is
    // one.
    bool passes_over(Interval block) const {
        if (!logits_.hides_all(block))
            return false;
        if (a_.stages.weights != nullptr)
            for (std::int64_t i = 0; i < queries_.count(); ++i)
                std::fill_n(weights_of(i) + block.begin, block.end - block.begin, -infinity);
        return true;
    }

    // What comes between the products of a block and their weights. Returns its keys that some
    // query may not see.
    Interval change(Interval block) {
        show(a_.stages.scores, block);
        if (a_.softcap != 0)
            kernel_.cap(tile_, static_cast<T>(a_.softcap));
        show(a_.stages.capped, block);
        const Interval hidden = logits_.change(block);
        show(a_.stages.biased != nullptr ? a_.stages.biased : a_.stages.weights, block);
        return hidden;
    }

    // function(some keys of the block that has begun), from a place of it on, if there are any.
    template <class Function>
    void with_some(std::int64_t place, Function function) {
        if (scored_ == 0)
            return;
        const Interval block = room_.scored[0].block;
        const std::int64_t first = block.begin + place;
        if (first >= block.end)
            return;
        const Interval some{first, std::min(block.end, first + some_keys)};
        tile_.logits = room_.logits + place;
        tile_.keys[0] = some.end - some.begin;
        function(some);
    }

    // Logits of a block become weights. Says whether its values are still to be accumulated: where
    // only some may be, they have been.
    bool weigh(const Scored& scored) {
        // Zero times NaN is NaN: values of masked keys must not be multiplied. Where matrices are,
        // zeros fill them up.
        const bool as_matrices = tiling_.packing().matrices() != nullptr;
        const Interval asked = as_matrices ? scored.block : scored.hidden;
        const bool selective =
            (kernel_.raise(tile_) || as_matrices) &&
            !tiling_.all_finite(
                index_, asked,
                part_of(scored.values, asked.begin - scored.block.begin, asked.end - asked.begin));
        if (selective)
            std::copy_n(tile_.logits, block_keys * queries_.padded(), room_.unweighed);
        kernel_.weigh(tile_);
        if (!selective)
            return true;
        kernel_.accumulate_seen(tile_, scored.values, room_.unweighed);
        tile_.empty = false;
        return false;
    }
    // The values of a block, or the last of them.
    void accumulate(Interval block, const Rows& values) {
        if (block.end == keys_met_.end && divides_last_)
            return write_output(&values);
        kernel_.accumulate(tile_, values);
        tile_.empty = false;
    }

    Rows part_of(const Rows& rows, std::int64_t begin, std::int64_t count) const {
        const std::int64_t bytes = converts_ ? std::int64_t{sizeof(T)} : tiling_.key_bytes();
        return {static_cast<const char*>(rows.first) + begin * rows.stride * bytes, rows.stride,
                count};
    }

    // Keys or values of a block where they are, or converted.
    Rows rows(const Rows& all, std::int64_t width, Interval block, T* converted,
              bool converts) const {
        const std::int64_t count = block.end - block.begin;
        if (width == 0)
            return {converted, 0, count};
        const std::int64_t step =
            all.stride * (converts ? element_bytes(a_.type) : tiling_.key_bytes());
        const char* row = static_cast<const char*>(all.first) + block.begin * step;
        if (!converts)
            return {row, all.stride, count};
        tiling_.packing().copy({row, all.stride, count}, width, converted);
        return {converted, width, count};
    }

    // The row of query i in an array (*leading, queries, width).
    std::int64_t row_in(std::int64_t i, std::int64_t width) const {
        return (first_row_ + i) * width;
    }

    // The rows of a tile follow each other, as those of its result do.
    void show(void* stage, Interval block) const {
        if (stage == nullptr)
            return;
        T* const rows = static_cast<T*>(stage) + row_in(0, a_.keys) + block.begin;
        if (!tiling_.few())
            return tiling_.kernel().lane.logits_to_rows(tile_, queries_.count(), a_.keys, rows);
        for (std::int64_t i = 0; i < queries_.count(); ++i)
            std::copy_n(tile_.logits + i * block_keys, tile_.keys[0], rows + i * a_.keys);
    }

    // Where no key was met.
    void clear_empty() const {
        if (tile_.empty)
            std::fill_n(room_.output, a_.value_dim * queries_.padded(), 0.0);
    }

    // Values are those of a block that is still to be added.
    void write_output(const Rows* values) {
        char* const rows =
            static_cast<char*>(a_.output) + row_in(0, a_.value_dim) * element_bytes(a_.type);
        const bool converts = a_.type != computed_type<T>;
        T* const to = converts ? room_.rows : reinterpret_cast<T*>(rows);
        if (values != nullptr) {
            kernel_.accumulate_last(tile_, *values, queries_.count(), to);
        } else {
            clear_empty();
            kernel_.divide(tile_, queries_.count(), to);
        }
        if (converts)
            tiling_.write(to, queries_.count() * a_.value_dim, rows);
        written_ = true;
    }

    T* weights_of(std::int64_t i) const {
        return static_cast<T*>(a_.stages.weights) + row_in(i, a_.keys);
    }

    void finish(const Stretch<T>& of, std::int64_t i) const {
        const double sum = room_.sum[i];
        const T maximum = room_.maximum[i];
        if (a_.lse != nullptr)
            a_.lse[row_in(i, 1)] = static_cast<double>(maximum) + tiling_.kernels().logarithm(sum);
        if (a_.stages.weights != nullptr) {
            T* const weights = weights_of(i);
            const T* const logits =
                a_.stages.biased == nullptr
                    ? weights
                    : static_cast<const T*>(a_.stages.biased) + row_in(i, a_.keys);
            Interval seen = tiling_.seen(of, i);
            if (sum == 0 || seen.begin >= seen.end)
                seen = {0, 0};
            std::fill(weights, weights + seen.begin, T{0});
            tiling_.kernel().weights_of_row(logits + seen.begin, seen.end - seen.begin, maximum,
                                            sum, weights + seen.begin);
            std::fill(weights + seen.end, weights + a_.keys, T{0});
        }
    }

    static constexpr T infinity = std::numeric_limits<T>::infinity();

    const Tiling<T>& tiling_;
    const Attention& a_;
    const TileKernels<T>& kernel_;
    Scratch memory_;
    const Room<T> room_;
    TileQueries<T> queries_;
    Tile<T> tile_;
    TileLogits<T> logits_;
    bool converts_;     // keys and values
    bool divides_last_; // as it accumulates the last block
    // Of the tile that it is about:
    std::int64_t index_ = 0, first_row_ = 0; // of all queries of all heads
    Rows keys_{}, values_{};
    decltype(TileKernels<T>::score) score_ = nullptr;
    bool converts_keys_ = false;
    Interval keys_met_{};
    std::int64_t scored_ = 0; // blocks
    bool written_ = false;    // the output
};

} // namespace ropewalk
