// How the queries of attention are cut into tiles, and where the data of a tile is.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "plans/attention_room.hpp"

namespace ropewalk {

// Few queries share their keys out among threads, so many at a time.
constexpr std::int64_t part_keys = 16 * block_keys;
// Blocks of keys that are scored before their values are met, at most, and the least bytes of a
// head's keys for which that pays: the processor fetches both ahead where they are fewer.
constexpr std::int64_t most_scored = part_keys / block_keys, least_scored_bytes = 16384;
// A copy of keys and values pays from so many tiles on. So many elements at once stay in the third
// cache, and no copy of one head is larger than the most.
constexpr std::int64_t packed_tiles = 4, near_elements = std::int64_t{1} << 21,
                       most_packed = std::int64_t{1} << 24;

// So many bytes of keys and values stay in the second cache, so many do not stay in any. Intel's
// third ones hold more, which half types come from too late all the same.
constexpr double near_bytes = 0x1p20, far_bytes = 0x1p25, far_bytes_of_intel = 0x1.8p26;

// So many tiles meet a block of keys before the next block, where a head has more bytes of keys
// and values than are near: the memory of so many tiles stays near.
constexpr std::int64_t most_together = 3;

// Heads that lie side by side in memory meet so many keys of each in turn, and so many heads do at
// most. Vectors of logits that begin there end where a block does.
constexpr std::int64_t some_keys = 16, most_side_by_side = 16;

// It is remembered of so many blocks at most what their values are: keys that repeat in memory may
// be more than any memory holds.
constexpr std::int64_t most_remembered = std::int64_t{1} << 16;

// Which blocks of values hold neither NaN nor infinity: the first tile that asks looks.
class FiniteBlocks {
  public:
    explicit FiniteBlocks(std::int64_t blocks) : answers_(static_cast<std::size_t>(blocks)) {}
    template <class Look>
    bool has(std::int64_t block, Look look) {
        std::atomic<Answer>& known = answers_[static_cast<std::size_t>(block)];
        Answer answer = known.load(std::memory_order_relaxed);
        if (answer == Answer::unknown) {
            answer = look() ? Answer::yes : Answer::no;
            known.store(answer, std::memory_order_relaxed);
        }
        return answer == Answer::yes;
    }

  private:
    enum class Answer : std::uint8_t { unknown, yes, no };
    std::vector<std::atomic<Answer>> answers_;
};

// How many indices of the leading axes, next to each other, share keys and values.
inline std::int64_t shared_by(const Attention& a) {
    if (a.leading.empty())
        return 1;
    const auto shared = [&](const Leading& leading) {
        return leading.stride.back() == 0 ? a.leading.back() : leading.group.back();
    };
    const std::int64_t keys = shared(a.key.leading);
    return a.value_dim == 0 || shared(a.value.leading) == keys ? keys : 1;
}

// How many queries a head of keys has that its values have too, by the shapes of the arrays alone:
// bits depend on that.
inline std::int64_t grouped_queries(const Attention& a) {
    const bool has_heads = a.leading.size() > 1;
    const std::int64_t group = has_heads ? a.key.leading.group.back() : 1;
    const bool shares = a.value_dim == 0 || !has_heads || a.value.leading.group.back() == group;
    return a.queries * (shares ? group : 1);
}

// Attention computed in T: how queries are cut into tiles, and where their data is. All queries
// that share keys and values follow each other, head by head.
template <class T>
class Tiling {
  public:
    Tiling(const Kernels& kernels, const Attention& attention)
        : kernels_(kernels), a_(attention), heads_(shared_by(a_)), queries_(heads_ * a_.queries),
          decodes_(a_.queries <= kernel().lanes / 2),
          few_(decodes_ && are_few(grouped_queries(a_))),
          packing_(kernels_, a_, decodes_ ? 0 : grouped_queries(a_)),
          groups_(queries_ == 0 ? 0 : product(a_.leading) / heads_),
          most_(few_ ? std::clamp<std::int64_t>(queries_, 1, most_few) : even_tile()),
          tiles_(ceil_div(queries_, most_)), blocks_(ceil_div(a_.keys, block_keys)),
          near_(bytes() <= near_bytes), ahead_(what_is_ahead()), in_turn_(heads_in_turn()) {
        if (tiles() > groups() && blocks_ <= most_remembered / groups())
            finite_ = std::make_unique<FiniteBlocks>(groups() * blocks_);
        if (cuts())
            cut_keys();
    }

    std::int64_t tiles() const { return groups() * tiles_; }
    // Tiles of one group that meet its keys together, or of several that are scored first, or lie
    // side by side. Threads get four tasks each at least, and more of those that are small; or none
    // has more than a quarter more to do than it would have of single tiles.
    std::int64_t together(int threads) const {
        const auto at_most = [&](std::int64_t most, std::int64_t tasks) {
            return std::clamp<std::int64_t>(tiles() / (tasks * threads), 1, most);
        };
        if (meets_side_by_side()) {
            std::int64_t count = in_turn_;
            while (count > 1 && longest(count, threads) > 1.25 * longest(1, threads))
                count = ceil_div(count, 2);
            return count;
        }
        if (scores_first())
            return at_most(most_scored / scored_blocks(), 16);
        const double bytes = static_cast<double>(packing_.elements()) * double{sizeof(T)};
        return few_ || tiles_ == 1 || bytes <= near_bytes ? 1 : at_most(most_together, 4);
    }
    // Whether all keys that a task meets are scored before any values are met: each is then read in
    // a line, which is faster than in turns. Half types are asked for ahead, as is what more
    // queries read, and gain nothing.
    bool scores_first() const {
        const bool alone = few_ && queries_ <= few_alone && a_.type == computed_type<T>;
        return alone && !near_ && !meets_side_by_side() &&
               times(a_.keys, a_.dim * std::int64_t{sizeof(T)}) >= least_scored_bytes;
    }
    // Blocks that a tile scores before it meets their values.
    std::int64_t scored_blocks() const {
        return scores_first() ? std::clamp<std::int64_t>(blocks_, 1, most_scored) : 1;
    }
    Interval all_keys() const { return {0, a_.keys}; }
    // Whether tiles meet their keys in parts, those that some query of their group sees.
    bool has_parts() const { return !parts_.empty(); }
    Interval parts_of(std::int64_t tile) const {
        return parts_[static_cast<std::size_t>(group_of(tile))];
    }
    Interval keys_of_part(std::int64_t part) const {
        return {part * part_keys, std::min((part + 1) * part_keys, a_.keys)};
    }
    // The first of what the parts of a tile leave, one after another; how many there are of all.
    std::int64_t first_partial(std::int64_t tile) const {
        const Interval parts = parts_of(tile);
        return first_partials_[static_cast<std::size_t>(group_of(tile))] +
               tile % tiles_ * (parts.end - parts.begin);
    }
    std::int64_t partials() const { return first_partials_.back(); }
    // Whether few queries meet keys of several heads in turn; the tiles of all that lie so.
    bool meets_side_by_side() const { return in_turn_ > 1; }
    std::int64_t tiles_side_by_side() const { return a_.leading.back() / heads_; }
    // function(first tile, how many) of all that meet the parts of their keys together, so many at
    // most: these must be the same.
    template <class Function>
    void each_with_same_parts(std::int64_t most, Function function) const {
        for (std::int64_t tile = 0, count = 0; tile < tiles(); tile += count) {
            count = with_parts_of(tile, most);
            function(tile, count);
        }
    }
    std::int64_t queries() const { return queries_; } // that share keys and values
    std::int64_t most() const { return most_; }       // queries of a tile
    bool few() const { return few_; }                 // whether lanes are features
    // Whether few queries a head meet so many keys that threads share these out. The shapes say so,
    // for bits depend on it; whether there are parts depends on what the others of the batch see.
    bool cuts() const { return decodes_ && a_.keys > part_keys; }
    // The first head of a tile, and the first of the queries of its group. The last queries of
    // causal attention have most to do, and come first.
    std::int64_t first_head(std::int64_t tile) const { return group_of(tile) * heads_; }
    std::int64_t first_query(std::int64_t tile) const {
        return (tiles_ - 1 - (tile - group_of(tile) * tiles_)) * most_;
    }
    Room<T> room(char* memory) const {
        const std::int64_t strip = strip_vectors * kernel().lanes;
        return {a_,
                bias(),
                packing_,
                converts(),
                most_,
                scored_blocks(),
                meets_side_by_side() ? up_to(strip, a_.value_dim) : 0,
                memory};
    }
    const Attention& attention() const { return a_; }
    const Kernels& kernels() const { return kernels_; }
    bool near() const { return near_ || meets_side_by_side(); }
    Ahead ahead() const { return meets_side_by_side() ? Ahead::asked : ahead_; }
    // What the parts of a tile leave: maximum, sum and output of every query.
    std::int64_t partial_doubles() const { return most_ * (2 + a_.value_dim); }

    const AttentionKernels<T>& kernel() const { return kernels_in<T>(kernels_).attention; }
    const Packing<T>& packing() const { return packing_; }
    // Whether keys and values are worth a copy before tiles meet them.
    bool packs() const {
        if (packing_.matrices() != nullptr)
            return true;
        if (few_ || has_parts() || a_.keys == 0 || group_elements() > most_packed)
            return false;
        if (packing_.pairs() != nullptr)
            return true;
        return tiles_ >= packed_tiles &&
               (a_.type != computed_type<T> || a_.key.row_stride != a_.dim ||
                (a_.value_dim > 0 && a_.value.row_stride != a_.value_dim));
    }
    // Whether they are converted, block by block, whenever a kernel reads them.
    bool converts() const {
        return a_.type != computed_type<T> && !packs() &&
               !(few_ && few_kernels(a_.type).score != nullptr);
    }
    // Groups of heads that share keys and values, and the tiles of each.
    std::int64_t groups() const { return groups_; }
    std::int64_t group_tiles() const { return tiles_; }
    std::int64_t group_elements() const { return a_.keys * (a_.dim + a_.value_dim); }
    // From now on tiles read what has been packed from that group on, but for the keys of some.
    void read_packed(const T* memory, std::int64_t first_group,
                     const std::vector<std::atomic<bool>>& without_keys) {
        packed_ = memory;
        first_packed_ = first_group;
        without_keys_ = &without_keys;
    }
    // Whether the keys that a tile meets are pairs, as keys here become.
    bool has_pairs(std::int64_t tile) const {
        return packed_ != nullptr &&
               !(*without_keys_)[static_cast<std::size_t>(group_of(tile) - first_packed_)];
    }
    // What a query at that place sees of the first keys.
    Interval seen(std::int64_t place, std::int64_t keys) const {
        const auto within = [&](std::int64_t key) {
            return std::clamp(key, std::int64_t{0}, keys);
        };
        return {a_.left == unlimited ? 0 : within(place - a_.left),
                a_.right == unlimited ? keys : within(place + a_.right + 1)};
    }
    // Queries from first up to end, which follow each other in a head from that row on.
    Stretch<T> stretch(std::int64_t head, std::int64_t first, std::int64_t end,
                       std::int64_t row) const {
        return {first,
                end,
                row,
                value_of(a_.offset, head, std::int64_t{0}),
                value_of(a_.key_lengths, head, a_.keys),
                value_of(a_.slopes, head, 0.0),
                value_of(a_.sinks, head, -HUGE_VAL),
                first_row(a_.query, head),
                first_row(a_.mask, head),
                first_row(bias(), head)};
    }
    // Of a query in a stretch: what the mask and the bias say, and which keys it sees.
    const std::uint8_t* mask_row(const Stretch<T>& of, std::int64_t i) const {
        return of.mask + of.row_of(i) * a_.mask.query_stride;
    }
    const T* bias_row(const Stretch<T>& of, std::int64_t i) const {
        return of.bias + of.row_of(i) * bias().query_stride;
    }
    Interval seen(const Stretch<T>& of, std::int64_t i) const {
        return seen(of.place_of(i), of.keys);
    }
    // What some query of a group may see, from the first one of each head to the last one.
    Interval seen_by_group(std::int64_t group) const {
        if (a_.stages.show_hidden())
            return {0, a_.keys};
        Interval all{a_.keys, 0};
        for (std::int64_t index = group * heads_; index < (group + 1) * heads_; ++index) {
            const std::int64_t keys = value_of(a_.key_lengths, index, a_.keys);
            const std::int64_t place = value_of(a_.offset, index, std::int64_t{0});
            all = {std::min(all.begin, seen(place, keys).begin),
                   std::max(all.end, seen(place + a_.queries - 1, keys).end)};
        }
        return all;
    }
    // Copies some rows of a group to where all its keys, and then its values, are to be; says
    // whether that will do for keys.
    bool pack(std::int64_t group, std::int64_t begin, std::int64_t end, T* memory) const {
        const std::int64_t head = group * heads_;
        return packing_.pack(in_memory(a_.key, head, a_.dim),
                             in_memory(a_.value, head, a_.value_dim), begin, end, memory);
    }
    // All keys and values that a tile meets, and the bytes of their elements.
    std::int64_t key_bytes() const {
        return packed_ == nullptr ? element_bytes(a_.type) : packing_.bytes();
    }
    Rows keys_of(std::int64_t tile) const {
        return packed_ == nullptr ? own_keys_of(tile) : packing_.keys(packed_group(tile));
    }
    Rows own_keys_of(std::int64_t tile) const { // where they are
        return in_memory(a_.key, first_head(tile), a_.dim);
    }
    Rows values_of(std::int64_t tile) const {
        if (packed_ == nullptr)
            return in_memory(a_.value, first_head(tile), a_.value_dim);
        return packing_.values(packed_group(tile));
    }
    // Whether the values of a block that a tile meets hold neither NaN nor infinity.
    bool all_finite(std::int64_t tile, Interval block, const Rows& values) const {
        const auto look = [&] { return tile_kernels().all_finite(values, a_.value_dim); };
        const std::int64_t end = std::min(a_.keys, block.begin + block_keys);
        if (finite_ == nullptr || block.begin % block_keys != 0 || block.end < end)
            return look();
        return finite_->has(group_of(tile) * blocks_ + block.begin / block_keys, look);
    }
    const TileKernels<T>& tile_kernels() const {
        if constexpr (std::is_same_v<T, float>)
            if (packing_.matrices() != nullptr)
                return packing_.matrices()->many;
        return few_ ? few_kernels(converts() ? computed_type<T> : a_.type) : kernel().many;
    }
    const LogitKernels<T>& logit_kernels() const {
        return few_ ? kernel().logits_of_few : kernel().logits_of_many;
    }
    const Scores<T>& bias() const {
        if constexpr (std::is_same_v<T, float>)
            return a_.bias32;
        else
            return a_.bias64;
    }
    void write(const T* x, std::int64_t count, void* y) const {
        kernels_in<T>(kernels_).write[static_cast<std::size_t>(a_.type)](x, count, y);
    }

    std::int64_t offset_of(const Leading& leading, std::int64_t index) const {
        std::int64_t offset = 0;
        for (std::size_t axis = a_.leading.size(); axis-- > 0;) {
            std::int64_t own = index;
            if (axis > 0) { // to divide takes long
                index = own / a_.leading[axis];
                own -= index * a_.leading[axis];
            }
            if (leading.group[axis] != 1)
                own /= leading.group[axis];
            offset += own * leading.stride[axis];
        }
        return offset;
    }
    template <class Value>
    Value value_of(const PerHead<Value>& values, std::int64_t index, Value otherwise) const {
        return values.data == nullptr ? otherwise : values.data[offset_of(values.leading, index)];
    }
    template <class Value>
    const Value* first_row(const Scores<Value>& scores, std::int64_t index) const {
        return scores.data == nullptr ? nullptr : scores.data + offset_of(scores.leading, index);
    }
    const char* first_row(const DataRows& rows, std::int64_t index) const {
        return static_cast<const char*>(rows.data) +
               offset_of(rows.leading, index) * element_bytes(a_.type);
    }

  private:
    const T* packed_group(std::int64_t tile) const {
        return packed_ + (group_of(tile) - first_packed_) * packing_.elements();
    }
    std::int64_t group_of(std::int64_t tile) const {
        return tiles_ == 1 ? tile : tile / tiles_; // to divide takes long
    }
    // Of all keys and values.
    double bytes() const {
        return static_cast<double>(groups()) * static_cast<double>(a_.keys) *
               static_cast<double>((a_.dim + a_.value_dim) * element_bytes(a_.type));
    }
    Ahead what_is_ahead() const {
        const bool waits = waits_for_second_cache(), half_type = element_bytes(a_.type) == 2;
        if (bytes() >= (waits && !half_type ? far_bytes_of_intel : far_bytes))
            return Ahead::far_rows;
        return near_ && waits ? Ahead::next_rows : Ahead::nothing;
    }
    Rows in_memory(const DataRows& rows, std::int64_t head, std::int64_t width) const {
        if (width == 0)
            return {nullptr, 0, a_.keys};
        return {first_row(rows, head), rows.row_stride, a_.keys};
    }
    std::int64_t with_parts_of(std::int64_t tile, std::int64_t most) const {
        const std::int64_t side = meets_side_by_side() ? tiles_side_by_side() : 1;
        const auto has_same = [&, parts = parts_of(tile)](std::int64_t other) {
            const Interval others = parts_of(other);
            return others.begin == parts.begin && others.end == parts.end;
        };
        most = std::min(most, side - tile % side);
        std::int64_t count = 1;
        while (count < most && has_same(tile + count))
            ++count;
        return count;
    }
    // How long some thread works, in parts of keys, or all of them, of a tile, where so many heads
    // that lie side by side are a task. The last keys may be a shorter part.
    double longest(std::int64_t count, int threads) const {
        std::int64_t whole = 0, last = 0; // tasks
        if (!has_parts())
            whole = tiles() / tiles_side_by_side() * ceil_div(tiles_side_by_side(), count);
        else
            each_with_same_parts(count, [&](std::int64_t tile, std::int64_t) {
                const Interval parts = parts_of(tile);
                const bool has_last = parts.end * part_keys > a_.keys;
                last += has_last;
                whole += parts.end - parts.begin - has_last;
            });
        const double of_last = static_cast<double>(a_.keys % part_keys) / part_keys;
        const auto turns = [&](std::int64_t n) {
            return static_cast<double>(ceil_div(n, threads));
        };
        return static_cast<double>(count) * (turns(whole) + turns(last) * of_last);
    }
    const TileKernels<T>& few_kernels(Type type) const {
        return kernel().few[static_cast<std::size_t>(type)];
    }
    // How many heads take turns. Where keys of heads lie side by side in each row, and values do,
    // and come from afar, few queries of each meet some keys of all before the next ones, in the
    // order of memory.
    std::int64_t heads_in_turn() const {
        const auto lie_so = [&](const DataRows& rows, std::int64_t width) {
            return rows.leading.group.back() == heads_ && rows.leading.stride.back() == width &&
                   rows.row_stride >= 2 * width;
        };
        if (!few_ || tiles_ > 1 || converts() || a_.leading.empty() || a_.value_dim == 0 ||
            ahead_ != Ahead::far_rows || !lie_so(a_.key, a_.dim) || !lie_so(a_.value, a_.value_dim))
            return 1;
        const std::int64_t tiles = tiles_side_by_side();
        return ceil_div(tiles, ceil_div(tiles, most_side_by_side)); // evenly
    }
    // Whether lanes are features, which must be joined for each query: that pays for fewer of them
    // where features are few, too. The type does not matter: half types get what float32 gets.
    bool are_few(std::int64_t queries) const {
        const std::int64_t lanes = kernel().lanes;
        return queries <= std::min(3 * lanes / 4, lanes / 4 + a_.dim / 16);
    }
    // Into the parts that queries of a group see; not where none has several. Sinks come before all
    // keys: where a group does not see the first part they are joined as that part would be.
    void cut_keys() {
        bool several = false;
        first_partials_.push_back(0);
        for (std::int64_t group = 0; group < groups(); ++group) {
            const Interval seen = seen_by_group(group);
            Interval parts{0, 0};
            if (seen.begin < seen.end)
                parts = {seen.begin / part_keys, ceil_div(seen.end, part_keys)};
            several = several || parts.end > (a_.sinks.data == nullptr ? parts.begin + 1 : 1);
            parts_.push_back(parts);
            std::int64_t next = 0; // more than there is memory for may be more than can be counted
            if (__builtin_add_overflow(first_partials_.back(),
                                       times(tiles_, parts.end - parts.begin), &next))
                next = std::numeric_limits<std::int64_t>::max();
            first_partials_.push_back(next);
        }
        if (!several) {
            parts_.clear();
            first_partials_.clear();
        }
    }
    // As many queries for each of as few tiles as can be.
    std::int64_t even_tile() const {
        const std::int64_t lanes = kernel().lanes;
        const std::int64_t vectors = std::max<std::int64_t>(1, ceil_div(queries_, lanes));
        const std::int64_t tiles = ceil_div(vectors, most_vectors);
        return ceil_div(vectors, tiles) * lanes;
    }

    const Kernels& kernels_;
    const Attention& a_;
    std::int64_t heads_, queries_;
    bool decodes_, few_; // as when a token at a time is decoded; whether lanes are features
    Packing<T> packing_;
    std::int64_t groups_, most_, tiles_, blocks_;
    bool near_;
    Ahead ahead_;
    std::int64_t in_turn_;                     // of heads side by side, in a task at most
    std::vector<Interval> parts_;              // of each group, where some has several
    std::vector<std::int64_t> first_partials_; // of each group, and how many there are
    std::unique_ptr<FiniteBlocks> finite_; // where tiles share blocks, and these are not too many
    const T* packed_ = nullptr;
    std::int64_t first_packed_ = 0;
    const std::vector<std::atomic<bool>>* without_keys_ = nullptr;
};

} // namespace ropewalk
