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
    // need not meet it, unless stages show it. Puts side by side what they say of its keys.
    bool hides_all(Interval block) const {
        const std::int64_t keys = block.end - block.begin;
        const bool shows_all = a_.stages.show_hidden();
        if (a_.mask.lie_apart())
            gather(a_.mask, &Stretch<T>::mask, block, room_.gathered_masks);
        if (!shows_all && a_.mask.data != nullptr && !any<false>(masks(block), hidden_byte, keys))
            return true;
        const Scores<T>& bias = tiling_.bias();
        if (bias.lie_apart())
            gather(bias, &Stretch<T>::bias, block, room_.gathered_biases);
        return !shows_all && bias.data != nullptr && !any<false>(biases(block), -infinity, keys);
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
        if (a_.mask.data != nullptr &&
            any<true>(masks(block), hidden_byte, block.end - block.begin))
            hide_masked(block); // of few blocks, where a mask stands for padding
        return hidden;
    }

  private:
    static constexpr T infinity = std::numeric_limits<T>::infinity();
    static constexpr std::uint8_t hidden_byte = 0;

    // Of a query: what its mask, or bias, says of the first key of a block and the next ones.
    auto masks(Interval block) const {
        return [this, block](const Stretch<T>& of, std::int64_t i) {
            return a_.mask.lie_apart() ? room_.gathered_masks + i * block_keys
                                       : tiling_.mask_row(of, i) + block.begin;
        };
    }
    auto biases(Interval block) const {
        return [this, block](const Stretch<T>& of, std::int64_t i) {
            return tiling_.bias().lie_apart() ? room_.gathered_biases + i * block_keys
                                              : tiling_.bias_row(of, i) + block.begin;
        };
    }

    template <class Value>
    void gather(const Scores<Value>& scores, const Value* Stretch<T>::* rows, Interval block,
                Value* to) const {
        const auto all = [&](std::int64_t apart) { // a loop over queries next to each other is fast
            queries_.each_stretch([&](const Stretch<T>& of) {
                const Value* from = of.*rows + of.row * apart + block.begin * scores.key_stride;
                for (std::int64_t key = 0; key < block.end - block.begin; ++key) {
                    __builtin_prefetch(from + block_keys * scores.key_stride, 0, 2);
                    for (std::int64_t i = of.first; i < of.end; ++i)
                        to[i * block_keys + key] = from[(i - of.first) * apart];
                    from += scores.key_stride;
                }
            });
        };
        scores.query_stride == 1 ? all(1) : all(scores.query_stride);
    }

    // As wide as a value, so that many comparisons of values fit a vector.
    template <class Value>
    using AsWide =
        std::conditional_t<sizeof(Value) == 1, std::uint8_t,
                           std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t>>;

    // Whether a key of the block is hidden from some query, or is not.
    template <bool hidden, class Value, class Row>
    bool any(Row row, Value hides, std::int64_t keys) const {
        return queries_.any([&](const Stretch<T>& of, std::int64_t i) {
            const Value* const first = row(of, i);
            __builtin_prefetch(first + block_keys, 0, 2);
            AsWide<Value> some = 0;
            for (std::int64_t key = 0; key < keys; ++key)
                some |= static_cast<AsWide<Value>>((first[key] == hides) == hidden);
            return some != 0;
        });
    }
    bool any_masked() const {
        bool any = false;
        for (std::int64_t i = 0; i < queries_.padded(); ++i)
            any |= tile_.smallest[i] == -infinity;
        return any;
    }
    // The keys of a block before and behind those, and between them where there are both.
    static Interval outside(Interval those, Interval block) {
        return {block.begin < those.begin ? block.begin : std::max(block.begin, those.end),
                block.end > those.end ? block.end : std::min(block.end, those.begin)};
    }

    void add_bias(Interval block) const {
        queries_.each_lane(room_.starts, biases(block));
        tiling_.logit_kernels().add_bias(tile_, room_.starts);
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
            return static_cast<T>(in_block(tiling_.seen(of, i).begin));
        });
        queries_.each_lane(room_.end, [&](const Stretch<T>& of, std::int64_t i) {
            return static_cast<T>(in_block(tiling_.seen(of, i).end));
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
        queries_.each_lane(room_.masks, masks(block));
        tiling_.logit_kernels().hide_masked(tile_, room_.masks);
    }

    const Tiling<T>& tiling_;
    const Attention& a_;
    const TileQueries<T>& queries_;
    const Room<T>& room_;
    const Tile<T>& tile_;
};

} // namespace ropewalk
