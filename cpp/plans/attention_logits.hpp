// What is added to the logits of a tile, and which of them are hidden.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "plans/attention_queries.hpp"

namespace ropewalk {

template <class T>
class TileLogits {
  public:
    TileLogits(const Tiling<T>& tiling, const TileQueries<T>& queries, const Room<T>& room,
               const Tile<T>& tile)
        : tiling_(tiling), a_(tiling.attention()), queries_(queries), room_(room), tile_(tile) {}

    // Whether the mask, or a bias of -inf, hides all keys of a block from all queries, which then
    // need not meet it, unless stages show it.
    bool hides_all(Interval block) const {
        const auto bias = [&](const Stretch<T>& of, std::int64_t i) {
            return queries_.bias(of, i);
        };
        return a_.stages.weights == nullptr &&
               ((a_.mask.data != nullptr && !any<false>(a_.mask, masks(), hidden_byte, block)) ||
                (tiling_.bias().data != nullptr &&
                 !any<false>(tiling_.bias(), bias, -infinity, block)));
    }

    // Changes the logits of a block. Returns those of its keys that some query may not see.
    Interval change(Interval block) const {
        if (tiling_.bias().data != nullptr)
            add_bias(block);
        if (a_.slopes.data != nullptr)
            add_slopes(block);
        Interval hidden = block;
        const Interval all_see = queries_.seen_by_all();
        if (block.begin < all_see.begin || block.end > all_see.end) {
            if (a_.mask.data == nullptr && !any_masked())
                hidden = outside(all_see, block);
            hide_unseen(block);
        }
        if (a_.mask.data != nullptr && any<true>(a_.mask, masks(), hidden_byte, block))
            hide_masked(block); // of few blocks, where a mask stands for padding
        return hidden;
    }

  private:
    static constexpr T infinity = std::numeric_limits<T>::infinity();
    static constexpr std::uint8_t hidden_byte = 0;

    auto masks() const {
        return [this](const Stretch<T>& of, std::int64_t i) { return queries_.mask(of, i); };
    }

    // As wide as a value, so that many comparisons of values fit a vector.
    template <class Value>
    using AsWide =
        std::conditional_t<sizeof(Value) == 1, std::uint8_t,
                           std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t>>;

    // Whether a key of the block is hidden from some query, or is not.
    template <bool hidden, class Value, class Row>
    bool any(const Scores<Value>& scores, Row row, Value hides, Interval block) const {
        const std::int64_t step = scores.key_stride;
        return queries_.any([&](const Stretch<T>& of, std::int64_t i) {
            const Value* const first = row(of, i) + block.begin * step;
            const auto found = [&](std::int64_t apart) {
                AsWide<Value> some = 0;
                for (std::int64_t key = 0; key < block.end - block.begin; ++key)
                    some |= static_cast<AsWide<Value>>((first[key * apart] == hides) == hidden);
                return some != 0;
            };
            __builtin_prefetch(first + block_keys * step, 0, 2);
            return step == 1 ? found(1) : found(step); // vectors only where the step is known
        });
    }
    bool any_masked() const {
        bool any = false;
        for (std::int64_t i = 0; i < queries_.padded(); ++i)
            any |= room_.smallest[i] == -infinity;
        return any;
    }
    // The keys of a block before and behind those, and between them where there are both.
    static Interval outside(Interval those, Interval block) {
        return {block.begin < those.begin ? block.begin : std::max(block.begin, those.end),
                block.end > those.end ? block.end : std::min(block.end, those.begin)};
    }

    // function(stretch, i, logits, how many): those of the block's first key and the next ones, of
    // every query i. What that has made of them is looked at again.
    template <class Function>
    void change_each(Function function) const {
        queries_.each([&](const Stretch<T>& of, std::int64_t i) {
            function(of, i, queries_.column(room_.logits, i, block_keys),
                     tile_.keys[i / queries_.per_vector()]);
        });
        tiling_.tile_kernels().find_extremes(tile_);
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
        if (step == 1) {
            queries_.each_lane(room_.starts, [&](const Stretch<T>& of, std::int64_t i) {
                return queries_.bias(of, i) + block.begin;
            });
            tiling_.logit_kernels().add_bias(tile_, room_.starts);
            return;
        }
        change_each(
            [&](const Stretch<T>& of, std::int64_t i, const Column<T>& logits, std::int64_t keys) {
                const T* const biases = queries_.bias(of, i) + block.begin * step;
                for (std::int64_t key = 0; key < keys; ++key)
                    add(logits[key], biases[key * step]);
            });
    }

    void add_slopes(Interval block) const {
        queries_.each_lane(room_.places, [](const Stretch<T>& of, std::int64_t i) {
            return static_cast<double>(of.place_of(i));
        });
        queries_.each_lane(room_.slopes,
                           [](const Stretch<T>& of, std::int64_t) { return of.slope; });
        tiling_.logit_kernels().add_slopes(tile_, static_cast<double>(block.begin), room_.places,
                                           room_.slopes);
    }

    void hide_unseen(Interval block) const {
        const std::int64_t keys = block.end - block.begin;
        const auto in_block = [&](std::int64_t key) {
            return std::clamp(key - block.begin, std::int64_t{0}, keys);
        };
        queries_.each_lane(room_.begin, [&](const Stretch<T>& of, std::int64_t i) {
            return static_cast<T>(in_block(queries_.seen(of, i).begin));
        });
        queries_.each_lane(room_.end, [&](const Stretch<T>& of, std::int64_t i) {
            return static_cast<T>(in_block(queries_.seen(of, i).end));
        });
        const auto hide = [&](std::int64_t first, std::int64_t last) {
            tiling_.logit_kernels().hide_outside(tile_, first, last, room_.begin, room_.end);
        };
        const Interval all_see = queries_.seen_by_all();
        hide(0, in_block(all_see.begin));
        hide(std::max(in_block(all_see.begin), in_block(all_see.end)), keys);
        tiling_.tile_kernels().find_extremes(tile_);
    }

    void hide_masked(Interval block) const {
        const std::int64_t step = a_.mask.key_stride;
        if (step == 1) {
            queries_.each_lane(room_.masks, [&](const Stretch<T>& of, std::int64_t i) {
                return queries_.mask(of, i) + block.begin;
            });
            tiling_.logit_kernels().hide_masked(tile_, room_.masks);
            return;
        }
        change_each(
            [&](const Stretch<T>& of, std::int64_t i, const Column<T>& logits, std::int64_t keys) {
                const std::uint8_t* const seen = queries_.mask(of, i) + block.begin * step;
                for (std::int64_t key = 0; key < keys; ++key)
                    if (seen[key * step] == 0)
                        logits[key] = -infinity;
            });
    }

    const Tiling<T>& tiling_;
    const Attention& a_;
    const TileQueries<T>& queries_;
    const Room<T>& room_;
    const Tile<T>& tile_;
};

} // namespace ropewalk
