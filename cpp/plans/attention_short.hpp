// Attention of short heads, whose queries and keys are both few: a tile of queries would do little
// but begin and end.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "plans/attention_tiles.hpp"
#include "plans/pool.hpp"

namespace ropewalk {

// Tasks of as many queries as a vector has lanes, whatever their heads.
template <class T>
class ShortTasks {
  public:
    explicit ShortTasks(const Tiling<T>& tiling)
        : tiling_(tiling), a_(tiling.attention()), lanes_(tiling.kernel().lanes),
          attend_(tiling.kernel().short_heads[static_cast<std::size_t>(a_.type)]) {}

    // Whether heads are short, and outputs are asked for, or log-sum-exps too.
    bool can_run() const {
        const bool wanted = a_.output != nullptr && a_.stages.weights == nullptr;
        const bool in_order = a_.keys == 1 || (!a_.mask.lie_apart() && !tiling_.bias().lie_apart());
        return wanted && in_order && attend_ != nullptr && tiling_.few() && 0 < a_.keys &&
               a_.keys <= block_keys && a_.dim > 0 && a_.value_dim > 0 && pays() && half_is_seen();
    }

    // False where a weight is NaN, as where a logit is +inf: tiles must do all again then.
    bool run(int threads, Interruption& interruption) const {
        const std::int64_t queries = product(a_.leading) * a_.queries;
        const std::int64_t some = // of few, tasks for all threads rather than whole vectors
            threads == 1 ? lanes_ : std::clamp<std::int64_t>(queries / (2 * threads), 1, lanes_);
        std::atomic<bool> finite = true;
        const auto attend = [&](std::int64_t index, int) {
            if (!finite.load(std::memory_order_relaxed))
                return;
            const std::int64_t first = index * some, count = std::min(some, queries - first);
            ShortHeads<T> heads = heads_of(first, count);
            if (!attend_(heads))
                finite.store(false, std::memory_order_relaxed);
            if (a_.lse != nullptr)
                for (std::int64_t i = 0; i < count; ++i)
                    a_.lse[first + i] = static_cast<double>(heads.maximum[i]) +
                                        tiling_.kernels().logarithm(heads.sum[i]);
        };
        run_tasks(ceil_div(queries, some), threads, Task(attend), interruption);
        return finite;
    }

  private:
    // Of products, of all queries that share keys and these keys.
    static constexpr std::int64_t most_vectors_of_products = 256;

    // A tile reads what its queries share once for all, and converts half types once. Here lanes
    // are queries where logits become weights: of few queries with many keys most would idle.
    bool pays() const {
        const std::int64_t queries = tiling_.queries();
        const std::int64_t vectors = ceil_div(std::max(a_.dim, a_.value_dim), lanes_);
        const bool alone = queries == 1 && a_.type == computed_type<T>;
        return (alone || times(queries, a_.keys * vectors) <= most_vectors_of_products) &&
               a_.keys <= times(lanes_, product(a_.leading) * a_.queries);
    }

    bool all_is_seen() const {
        return a_.left == unlimited && a_.right == unlimited && a_.key_lengths.data == nullptr;
    }
    // Where less is seen tiles, which do not meet what no query sees, take less time.
    bool half_is_seen() const {
        if (all_is_seen())
            return true;
        std::int64_t keys = 0;
        const std::int64_t half = tiling_.groups() * a_.keys / 2;
        for (std::int64_t group = 0; group < tiling_.groups() && keys < half; ++group) {
            const Interval seen = tiling_.seen_by_group(group);
            keys += std::max(seen.end - seen.begin, std::int64_t{0});
        }
        return keys >= half;
    }

    ShortHeads<T> heads_of(std::int64_t first, std::int64_t count) const {
        ShortHeads<T> of;
        of.queries = static_cast<int>(count);
        of.keys = a_.keys;
        of.dim = a_.dim;
        of.value_dim = a_.value_dim;
        of.key_stride = a_.key.row_stride;
        of.value_stride = a_.value.row_stride;
        of.scale = static_cast<T>(a_.scale);
        of.softcap = static_cast<T>(a_.softcap);
        of.has_bias = tiling_.bias().data != nullptr;
        of.has_slopes = a_.slopes.data != nullptr;
        of.has_mask = a_.mask.data != nullptr;
        of.sees_all = all_is_seen();
        of.rows = static_cast<char*>(a_.output) + first * a_.value_dim * element_bytes(a_.type);
        find_rows(first, of);
        std::fill_n(of.maximum, lanes_, -std::numeric_limits<T>::infinity());
        std::fill_n(of.sum, lanes_, 0.0);
        if (of.has_bias || of.has_slopes || of.has_mask || !of.sees_all || a_.sinks.data != nullptr)
            find_changes(first, of);
        return of;
    }

    void find_rows(std::int64_t first, ShortHeads<T>& of) const {
        const std::int64_t step = a_.query.row_stride * element_bytes(a_.type);
        std::int64_t head = first / a_.queries, row = first % a_.queries;
        for (std::int64_t i = 0; i < of.queries; row = 0, ++head) {
            const char* const queries = tiling_.first_row(a_.query, head);
            const char* const keys = tiling_.first_row(a_.key, head);
            const char* const values = tiling_.first_row(a_.value, head);
            for (; i < of.queries && row < a_.queries; ++i, ++row) {
                of.query[i] = queries + row * step;
                of.key[i] = keys;
                of.value[i] = values;
            }
        }
    }

    void find_changes(std::int64_t first, ShortHeads<T>& of) const {
        const std::int64_t last = of.queries - 1;
        std::int64_t head = first / a_.queries, row = first % a_.queries;
        for (std::int64_t i = 0; i < lanes_; row = 0, ++head) {
            const std::int64_t end = std::min<std::int64_t>(of.queries, i + a_.queries - row);
            const Stretch<T> stretch = tiling_.stretch(head, i, end, row);
            for (; i < (end > last ? lanes_ : end); ++i)
                put_changes(stretch, std::min(i, last), i, of);
        }
    }
    void put_changes(const Stretch<T>& stretch, std::int64_t query, std::int64_t lane,
                     ShortHeads<T>& of) const {
        if (of.has_bias)
            of.bias[lane] = tiling_.bias_row(stretch, query);
        of.place[lane] = static_cast<double>(stretch.place_of(query));
        of.slope[lane] = stretch.slope;
        const Interval seen = tiling_.seen(stretch, query);
        of.begin[lane] = static_cast<T>(seen.begin);
        of.end[lane] = static_cast<T>(seen.end);
        if (of.has_mask)
            of.mask[lane] = tiling_.mask_row(stretch, query);
        of.maximum[lane] = static_cast<T>(stretch.sink);
        of.sum[lane] = stretch.sink == -HUGE_VAL ? 0 : 1;
    }

    const Tiling<T>& tiling_;
    const Attention& a_;
    const std::int64_t lanes_;
    bool (*const attend_)(ShortHeads<T>& heads);
};

} // namespace ropewalk
