// Attention of short heads, whose queries and keys are both few: a tile of queries would do little
// but begin and end.
#pragma once

#include <algorithm>
#include <atomic>

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

    // Whether heads are short, and nothing is asked for but outputs of queries that see all keys.
    bool can_run() const {
        const bool plain = a_.mask.data == nullptr && tiling_.bias().data == nullptr &&
                           a_.slopes.data == nullptr && a_.sinks.data == nullptr &&
                           a_.softcap == 0 && a_.output != nullptr && a_.lse == nullptr &&
                           a_.stages.weights == nullptr;
        return plain && attend_ != nullptr && tiling_.few() && 0 < a_.keys &&
               a_.keys <= short_keys && a_.dim > 0 && a_.value_dim > 0 && pays() && all_seen();
    }

    // Whether there are outputs now: not where a logit is infinite or NaN.
    bool run(int threads, Interruption& interruption) const {
        const std::int64_t queries = product(a_.leading) * a_.queries;
        std::atomic<bool> finite = true;
        const auto attend = [&](std::int64_t index, int) {
            const std::int64_t first = index * lanes_;
            if (!attend_(heads(first, std::min(lanes_, queries - first))))
                finite.store(false, std::memory_order_relaxed);
        };
        run_tasks((queries + lanes_ - 1) / lanes_, threads, Task(attend), interruption);
        return finite;
    }

  private:
    // Vectors of products, of all queries and keys of a head.
    static constexpr std::int64_t most_products = 256;

    // A tile reads what its queries share once for all, and converts half types once; but here
    // lanes are queries where logits become weights, some of which must be there.
    bool pays() const {
        const std::int64_t queries = tiling_.queries();
        const std::int64_t vectors = (a_.dim + lanes_ - 1) / lanes_;
        const bool alone = queries == 1 && a_.type == computed_type<T>;
        return (alone || times(queries, a_.keys * vectors) <= most_products) &&
               a_.keys <= times(lanes_, product(a_.leading) * a_.queries);
    }

    bool all_seen() const {
        if (a_.left == unlimited && a_.right == unlimited && a_.key_lengths.data == nullptr)
            return true;
        for (std::int64_t head = 0; head < product(a_.leading); ++head) {
            const std::int64_t keys = tiling_.value_of(a_.key_lengths, head, a_.keys);
            const std::int64_t place = tiling_.value_of(a_.offset, head, std::int64_t{0});
            if (tiling_.seen(place, keys).end < a_.keys ||
                tiling_.seen(place + a_.queries - 1, keys).begin > 0)
                return false;
        }
        return true;
    }

    ShortHeads<T> heads(std::int64_t first, std::int64_t count) const {
        const std::int64_t bytes = element_bytes(a_.type);
        ShortHeads<T> of;
        of.queries = static_cast<int>(count);
        of.keys = a_.keys;
        of.dim = a_.dim;
        of.value_dim = a_.value_dim;
        of.key_stride = a_.key.row_stride;
        of.value_stride = a_.value.row_stride;
        of.scale = static_cast<T>(a_.scale);
        of.rows = static_cast<char*>(a_.output) + first * a_.value_dim * bytes;
        std::int64_t head = first / a_.queries, row = first % a_.queries;
        for (std::int64_t i = 0; i < count; row = 0, ++head) {
            const char* const queries = tiling_.first_row(a_.query, head);
            const char* const keys = tiling_.first_row(a_.key, head);
            const char* const values = tiling_.first_row(a_.value, head);
            for (; i < count && row < a_.queries; ++i, ++row) {
                of.query[i] = queries + row * a_.query.row_stride * bytes;
                of.key[i] = keys;
                of.value[i] = values;
            }
        }
        return of;
    }

    const Tiling<T>& tiling_;
    const Attention& a_;
    const std::int64_t lanes_;
    bool (*const attend_)(const ShortHeads<T>& heads);
};

} // namespace ropewalk
