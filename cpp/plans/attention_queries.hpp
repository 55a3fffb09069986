// The queries of a tile: where their rows lie, and which keys they see.
#pragma once

#include <algorithm>

#include "plans/attention_tiles.hpp"

namespace ropewalk {

// An array's values of one query.
template <class Value>
struct Column {
    Value* first;
    std::int64_t step;
    Value& operator[](std::int64_t k) const { return first[k * step]; }
};

template <class T>
class TileQueries {
  public:
    TileQueries(const Tiling<T>& tiling, const Room<T>& room)
        : tiling_(tiling), a_(tiling.attention()), room_(room) {}

    void turn_to(std::int64_t tile) {
        const std::int64_t first = tiling_.first_query(tile);
        count_ = std::min(tiling_.queries() - first, tiling_.most());
        padded_ = tiling_.few() ? count_ : up_to(tiling_.kernel().lanes, count_);
        std::int64_t head = tiling_.first_head(tile) + first / a_.queries;
        std::int64_t row = first % a_.queries;
        stretches_ = 0;
        for (std::int64_t i = 0; i < count_; row = 0, ++head) {
            const std::int64_t end = std::min(count_, i + a_.queries - row);
            room_.stretches[stretches_++] = tiling_.stretch(head, i, end, row);
            i = end;
        }
    }

    std::int64_t count() const { return count_; }
    // With those that fill the vectors.
    std::int64_t padded() const { return padded_; }
    // How many of them are lanes of one vector; all, where queries are few and features are lanes.
    std::int64_t per_vector() const { return tiling_.few() ? count_ : tiling_.kernel().lanes; }

    template <class Function>
    void each_stretch(Function function) const {
        for (std::int64_t k = 0; k < stretches_; ++k)
            function(room_.stretches[k]);
    }
    // function(stretch, i) of every query i.
    template <class Function>
    void each(Function function) const {
        each_stretch([&](const Stretch<T>& of) {
            for (std::int64_t i = of.first; i < of.end; ++i)
                function(of, i);
        });
    }
    // Whether test(stretch, i) holds of some query.
    template <class Test>
    bool any(Test test) const {
        for (std::int64_t k = 0; k < stretches_; ++k)
            for (std::int64_t i = room_.stretches[k].first; i < room_.stretches[k].end; ++i)
                if (test(room_.stretches[k], i))
                    return true;
        return false;
    }
    // lanes[i] = function(stretch, i); lanes beyond the last query do as it does.
    template <class Value, class Function>
    void each_lane(Value* lanes, Function function) const {
        each([&](const Stretch<T>& of, std::int64_t i) { lanes[i] = function(of, i); });
        std::fill(lanes + count_, lanes + padded_, lanes[count_ - 1]);
    }
    // Of query i, in an array that has room for `width` values of each.
    template <class Value>
    Column<Value> column(Value* array, std::int64_t i, std::int64_t width) const {
        return tiling_.few() ? Column<Value>{array + i * width, 1}
                             : Column<Value>{array + i, padded_};
    }

    // Keys that all of them see.
    Interval seen_by_all() const { return seen_by_all_; }

    // As the kernels read them: where they are, if few lie side by side, else in the room.
    const T* take() const {
        if (!tiling_.few()) {
            take_many();
            return room_.queries;
        }
        const bool side_by_side = stretches_ == 1 && (count_ == 1 || a_.query.row_stride == a_.dim);
        if (side_by_side && a_.type == computed_type<T>)
            return reinterpret_cast<const T*>(data(room_.stretches[0], 0));
        each([&](const Stretch<T>& of, std::int64_t i) {
            tiling_.packing().read(data(of, i), a_.dim, room_.queries + i * a_.dim);
        });
        return room_.queries;
    }
    // The same as pairs, if their scores keep their bits so.
    bool take_as_pairs() const {
        const Packing<T>& packing = tiling_.packing();
        const std::int64_t columns = packing.pair_width();
        bool can = true;
        each_stretch([&](const Stretch<T>& of) {
            can &= packing.pair(rows(of), room_.rows + of.first * columns);
        });
        if (can)
            put_read_lanes(columns);
        return can;
    }

    // The keys that the tile must meet; what is asked below, and seen_by_all, follows from it. A
    // query begins and ends no earlier than the one before.
    Interval find_seen() {
        seen_by_all_ = {0, a_.keys};
        Interval most{a_.keys, 0};
        const std::int64_t lanes = per_vector();
        for (std::int64_t k = 0; k < stretches_; ++k) {
            const Stretch<T>& of = room_.stretches[k];
            for (std::int64_t i = of.first; i < of.end;) {
                const std::int64_t vector = i / lanes, middle = vector * lanes + lanes / 2;
                const bool in_first_half = i < middle;
                const Interval first = tiling_.seen(of, i);
                i = std::min(of.end, (vector + 1) * lanes);
                const Interval last = tiling_.seen(of, i - 1);
                seen_by_all_ = {std::max(seen_by_all_.begin, last.begin),
                                std::min(seen_by_all_.end, first.end)};
                if (in_first_half)
                    half_ends_[vector] =
                        std::max(most.end, first.end == last.end
                                               ? last.end
                                               : tiling_.seen(of, std::min(i, middle) - 1).end);
                if (first.begin < last.end)
                    most = {std::min(most.begin, first.begin), std::max(most.end, last.end)};
                ends_[vector] = most.end;
            }
        }
        if (a_.stages.show_hidden()) {
            std::fill_n(ends_, most_vectors, a_.keys);
            std::fill_n(half_ends_, most_vectors, a_.keys);
            return {0, a_.keys};
        }
        const std::int64_t step = tiling_.packing().block_step();
        return {most.begin / step * step, most.end};
    }

    // How many keys of a block each vector meets.
    void count_keys(Interval block, Tile<T>& tile) const {
        const auto in_block = [&](std::int64_t end, std::int64_t most) {
            return std::clamp(end - block.begin, std::int64_t{0}, most);
        };
        for (int i = 0; i < most_vectors; ++i) {
            tile.keys[i] = in_block(ends_[i], block.end - block.begin);
            tile.half_keys[i] = in_block(half_ends_[i], tile.keys[i]);
        }
    }

    // Which of them see keys of one block alone, of those that the tile meets.
    void find_one_blocks(Interval met, Tile<T>& tile) const {
        const auto is_one = [](Interval keys) {
            return keys.begin >= keys.end || keys.begin / block_keys == (keys.end - 1) / block_keys;
        };
        if (is_one(met)) {
            std::fill_n(tile.one_block, most_vectors, ~0U);
            return;
        }
        std::fill_n(tile.one_block, most_vectors, 0U);
        if (!is_one(seen_by_all_))
            return;
        const std::int64_t lanes = per_vector();
        each([&](const Stretch<T>& of, std::int64_t i) {
            tile.one_block[i / lanes] |= unsigned{is_one(tiling_.seen(of, i))} << (i % lanes);
        });
    }

  private:
    void take_many() const {
        const Packing<T>& packing = tiling_.packing();
        const std::int64_t columns = packing.query_width();
        if (!packing.reads_queries())
            return put_lanes(columns, [&](const Stretch<T>& of, std::int64_t i) {
                return reinterpret_cast<const T*>(data(of, i));
            });
        each_stretch([&](const Stretch<T>& of) {
            packing.read_queries(rows(of), room_.rows + of.first * columns);
        });
        put_read_lanes(columns);
    }
    Rows rows(const Stretch<T>& of) const {
        return {data(of, of.first), a_.query.row_stride, of.end - of.first};
    }
    // start(stretch, i) is where the row of query i begins.
    template <class Start>
    void put_lanes(std::int64_t columns, Start start) const {
        each_lane(room_.starts, start);
        for (std::int64_t i = 0; i < padded_; i += tiling_.kernel().lanes)
            tiling_.kernel().lane.rows_to_lanes(room_.starts + i, columns, padded_,
                                                room_.queries + i);
    }
    void put_read_lanes(std::int64_t columns) const {
        put_lanes(columns, [&](const Stretch<T>&, std::int64_t i) -> const T* {
            return room_.rows + i * columns;
        });
    }

    const char* data(const Stretch<T>& of, std::int64_t i) const {
        return of.data + of.row_of(i) * a_.query.row_stride * element_bytes(a_.type);
    }

    const Tiling<T>& tiling_;
    const Attention& a_;
    const Room<T>& room_;
    std::int64_t count_ = 0, padded_ = 0, stretches_ = 0;
    Interval seen_by_all_{};
    // Behind which no query of a vector, or of its first half, and of those before it, sees a key.
    std::int64_t ends_[most_vectors]{}, half_ends_[most_vectors]{};
};

} // namespace ropewalk
