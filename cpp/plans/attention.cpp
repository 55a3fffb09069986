#include "plans/attention.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "plans/filling.hpp"
#include "plans/frequencies.hpp"
#include "plans/pool.hpp"

namespace ropewalk {
namespace {

// Waking a thread pays from about a tenth of a millisecond on: so many products.
constexpr std::int64_t parallel_products = std::int64_t{1} << 21;

// Blocks may begin and end where no query sees a key before or behind, at a multiple of the sums
// that a block keeps.
constexpr std::int64_t block_step = 8;

template <class T>
constexpr Type computed_type = std::is_same_v<T, float> ? Type::float32 : Type::float64;

std::int64_t product(const std::vector<std::int64_t>& lengths) {
    std::int64_t all = 1;
    for (const std::int64_t length : lengths)
        all *= length;
    return all;
}

// Keys that a query sees, from begin up to end.
struct Interval {
    std::int64_t begin, end;
};

// What one thread needs for a tile of queries. Made with no memory it says how much it needs.
template <class T>
struct Room {
    T *queries, *logits, *unweighed, *keys, *values, *row, *maximum;
    double *sum, *rescale, *output, *output_row;
    Interval* seen;
    std::int64_t bytes = 0;

    Room(const Attention& a, std::int64_t lanes, char* memory) {
        const auto take = [&](auto*& array, std::int64_t count) {
            using Element = std::remove_reference_t<decltype(*array)>;
            array = reinterpret_cast<Element*>(memory + bytes);
            bytes += (count * static_cast<std::int64_t>(sizeof(Element)) + 63) / 64 * 64;
        };
        take(queries, a.dim * lanes);
        take(logits, block_keys * lanes);
        take(unweighed, block_keys * lanes);
        take(keys, a.key.data == nullptr ? 0 : block_keys * a.dim);
        take(values, block_keys * a.value_dim);
        take(row, a.dim);
        take(maximum, lanes);
        take(sum, lanes);
        take(rescale, lanes);
        take(output, a.value_dim * lanes);
        take(output_row, a.value_dim);
        take(seen, lanes);
    }
};

// Attention computed in T. A task is a tile of the queries of one index of the leading axes.
template <class T>
class Attending {
  public:
    Attending(const Kernels& kernels, const Attention& attention)
        : all_(kernels), a_(attention), most_queries_(most_vectors * kernel().lanes),
          tiles_((a_.queries + most_queries_ - 1) / most_queries_) {}

    std::int64_t count() const { return product(a_.leading) * tiles_; }
    std::int64_t room_bytes() const { return Room<T>(a_, most_queries_, nullptr).bytes; }

    void run(std::int64_t task, int worker, char* memory, Interruption& interruption) const {
        const std::int64_t index = task / tiles_;
        // The last queries of causal attention have most to do, and come first.
        const std::int64_t first = (tiles_ - 1 - task % tiles_) * most_queries_;
        TileTask(*this, index, first, memory).run(worker, interruption);
    }

  private:
    class TileTask;

    const AttentionKernels<T>& kernel() const {
        if constexpr (std::is_same_v<T, float>)
            return all_.attention32;
        else
            return all_.attention64;
    }
    const Scores<T>& bias() const {
        if constexpr (std::is_same_v<T, float>)
            return a_.bias32;
        else
            return a_.bias64;
    }
    void read(const void* x, std::int64_t count, T* y) const {
        const auto type = static_cast<std::size_t>(a_.type);
        if constexpr (std::is_same_v<T, float>)
            all_.read_float32[type](x, count, y);
        else
            all_.read_float64[type](x, count, y);
    }

    std::int64_t offset_of(const Leading& leading, std::int64_t index) const {
        std::int64_t offset = 0;
        for (std::size_t axis = a_.leading.size(); axis-- > 0; index /= a_.leading[axis])
            offset += index % a_.leading[axis] / leading.group[axis] * leading.stride[axis];
        return offset;
    }
    template <class Value>
    Value value_of(const PerHead<Value>& values, std::int64_t index, Value otherwise) const {
        return values.data == nullptr ? otherwise : values.data[offset_of(values.leading, index)];
    }
    const char* rows_of(const DataRows& rows, std::int64_t index) const {
        return static_cast<const char*>(rows.data) +
               offset_of(rows.leading, index) * element_bytes(a_.type);
    }

    const Kernels& all_;
    const Attention& a_;
    std::int64_t most_queries_, tiles_;
};

template <class T>
class Attending<T>::TileTask {
  public:
    TileTask(const Attending& all, std::int64_t index, std::int64_t first, char* memory)
        : all_(all), a_(all.a_), kernel_(all.kernel()), index_(index), first_(first),
          count_(std::min(a_.queries - first, all.most_queries_)),
          vectors_(static_cast<int>((count_ + kernel_.lanes - 1) / kernel_.lanes)),
          lanes_(vectors_ * kernel_.lanes), room_(a_, all.most_queries_, memory),
          tile_{vectors_,      a_.dim,    a_.value_dim,  room_.queries, room_.logits,
                room_.maximum, room_.sum, room_.rescale, room_.output},
          keys_(all.rows_of(a_.key, index)),
          values_(a_.value_dim == 0 ? nullptr : all.rows_of(a_.value, index)),
          offset_(all.value_of(a_.offset, index, std::int64_t{0})),
          slope_(all.value_of(a_.slopes, index, 0.0)) {}

    void run(int worker, Interruption& interruption) {
        begin();
        const Interval keys = seen_keys();
        for (std::int64_t key = keys.begin / block_keys * block_keys; key < keys.end;
             key += block_keys) {
            if (interruption.stops(worker))
                return;
            meet({std::max(key, keys.begin), std::min(key + block_keys, keys.end)});
        }
        finish();
    }

  private:
    void begin() {
        const char* const rows = all_.rows_of(a_.query, index_);
        std::fill_n(room_.queries, a_.dim * lanes_, T{0});
        for (std::int64_t i = 0; i < count_; ++i) {
            all_.read(rows + (first_ + i) * a_.query.row_stride * element_bytes(a_.type), a_.dim,
                      room_.row);
            for (std::int64_t k = 0; k < a_.dim; ++k)
                room_.queries[k * lanes_ + i] = room_.row[k];
        }
        const double sink = all_.value_of(a_.sinks, index_, -HUGE_VAL);
        std::fill_n(room_.maximum, lanes_, static_cast<T>(sink));
        std::fill_n(room_.sum, lanes_, sink == -HUGE_VAL ? 0.0 : 1.0);
        std::fill_n(room_.output, a_.value_dim * lanes_, 0.0);
    }

    // Fills the intervals of all queries, and returns the keys that the tile must meet.
    Interval seen_keys() {
        const std::int64_t keys = all_.value_of(a_.key_lengths, index_, a_.keys);
        fewest_ = {0, keys};
        Interval most{keys, 0};
        for (std::int64_t i = 0; i < count_; ++i) {
            const std::int64_t place = first_ + i + offset_;
            Interval& seen = room_.seen[i];
            seen = {a_.left == unlimited ? 0 : std::clamp(place - a_.left, std::int64_t{0}, keys),
                    a_.right == unlimited
                        ? keys
                        : std::clamp(place + a_.right + 1, std::int64_t{0}, keys)};
            fewest_ = {std::max(fewest_.begin, seen.begin), std::min(fewest_.end, seen.end)};
            if (seen.begin < seen.end)
                most = {std::min(most.begin, seen.begin), std::max(most.end, seen.end)};
        }
        if (a_.stages.weights != nullptr)
            return {0, a_.keys}; // stages show what is masked too
        return {most.begin / block_step * block_step, most.end};
    }

    void meet(Interval block) {
        const std::int64_t keys = block.end - block.begin;
        kernel_.score(tile_, rows(keys_, a_.key, a_.dim, block, room_.keys),
                      static_cast<T>(a_.scale));
        show(a_.stages.scores, block);
        if (a_.softcap != 0)
            kernel_.cap(tile_, keys, static_cast<T>(a_.softcap));
        show(a_.stages.capped, block);
        add_bias(block);
        add_slopes(block);
        const bool cut = block.begin < fewest_.begin || block.end > fewest_.end;
        if (cut)
            hide_unseen(block);
        hide_masked(block);
        show(a_.stages.biased != nullptr ? a_.stages.biased : a_.stages.weights, block);
        const bool some_masked = cut || a_.mask.data != nullptr || all_.bias().data != nullptr;
        const Rows<T> values = rows(values_, a_.value, a_.value_dim, block, room_.values);
        // Zero times NaN is NaN: values that only masked keys have must not be multiplied.
        const bool selective = some_masked && !all_finite(values);
        if (selective)
            std::copy_n(room_.logits, keys * lanes_, room_.unweighed);
        kernel_.weigh(tile_, keys);
        if (selective)
            kernel_.accumulate_seen(tile_, values, room_.unweighed);
        else
            kernel_.accumulate(tile_, values);
    }

    // Keys or values of a block where they are, or converted.
    Rows<T> rows(const char* data, const DataRows& of, std::int64_t dim, Interval block,
                 T* converted) const {
        const std::int64_t count = block.end - block.begin;
        if (dim == 0)
            return {converted, 0, count};
        const std::int64_t step = of.row_stride * element_bytes(a_.type);
        const char* row = data + block.begin * step;
        if (a_.type == computed_type<T>)
            return {reinterpret_cast<const T*>(row), of.row_stride, count};
        for (std::int64_t i = 0; i < count; ++i, row += step)
            all_.read(row, dim, converted + i * dim);
        return {converted, dim, count};
    }

    bool all_finite(const Rows<T>& values) const {
        bool finite = true;
        for (std::int64_t i = 0; i < values.count; ++i)
            for (std::int64_t k = 0; k < a_.value_dim; ++k)
                finite &= std::abs(values.first[i * values.stride + k]) < infinity;
        return finite;
    }

    template <class Function>
    void each_logit(Interval block, Function function) const {
        for (std::int64_t key = block.begin; key < block.end; ++key) {
            T* const logits = room_.logits + (key - block.begin) * lanes_;
            for (std::int64_t i = 0; i < count_; ++i)
                function(logits[i], i, key);
        }
    }

    template <class Value>
    const Value* scores_of(const Scores<Value>& scores) const {
        return scores.data + all_.offset_of(scores.leading, index_) + first_ * scores.query_stride;
    }

    void add_bias(Interval block) const {
        const Scores<T>& bias = all_.bias();
        if (bias.data == nullptr)
            return;
        const T* const first = scores_of(bias);
        each_logit(block, [&](T& logit, std::int64_t i, std::int64_t key) {
            const T more = first[i * bias.query_stride + key * bias.key_stride];
            logit = more == -infinity ? more : logit + more;
        });
    }

    void add_slopes(Interval block) const {
        if (slope_ == 0)
            return;
        each_logit(block, [&](T& logit, std::int64_t i, std::int64_t key) {
            const auto distance = static_cast<double>(std::abs(first_ + i + offset_ - key));
            double more = -slope_ * distance;
            if constexpr (std::is_same_v<T, float>) // a finite bias stays one
                more = std::clamp(more, -largest, largest);
            logit += static_cast<T>(more);
        });
    }

    void hide_unseen(Interval block) const {
        each_logit(block, [&](T& logit, std::int64_t i, std::int64_t key) {
            if (key < room_.seen[i].begin || key >= room_.seen[i].end)
                logit = -infinity;
        });
    }

    void hide_masked(Interval block) const {
        if (a_.mask.data == nullptr)
            return;
        const bool* const first = scores_of(a_.mask);
        each_logit(block, [&](T& logit, std::int64_t i, std::int64_t key) {
            if (!first[i * a_.mask.query_stride + key * a_.mask.key_stride])
                logit = -infinity;
        });
    }

    // The row of an array (*leading, queries, keys).
    T* stage_row(void* stage, std::int64_t i) const {
        return static_cast<T*>(stage) + (index_ * a_.queries + first_ + i) * a_.keys;
    }

    void show(void* stage, Interval block) const {
        if (stage != nullptr)
            each_logit(block, [&](T& logit, std::int64_t i, std::int64_t key) {
                stage_row(stage, i)[key] = logit;
            });
    }

    void finish() const {
        for (std::int64_t i = 0; i < count_; ++i) {
            const double sum = room_.sum[i];
            const std::int64_t row = index_ * a_.queries + first_ + i;
            if (a_.output != nullptr) {
                for (std::int64_t k = 0; k < a_.value_dim; ++k) // adding 0 makes -0 0
                    room_.output_row[k] = sum == 0 ? 0 : room_.output[k * lanes_ + i] / sum + 0.0;
                all_.all_.write[static_cast<std::size_t>(a_.type)](
                    room_.output_row, a_.value_dim,
                    static_cast<char*>(a_.output) + row * a_.value_dim * element_bytes(a_.type));
            }
            const T maximum = room_.maximum[i];
            if (a_.lse != nullptr)
                a_.lse[row] = static_cast<double>(maximum) + std::log(sum);
            if (a_.stages.weights != nullptr) {
                T* const weights = stage_row(a_.stages.weights, i);
                const T* const logits =
                    a_.stages.biased == nullptr ? weights : stage_row(a_.stages.biased, i);
                if (sum == 0)
                    std::fill_n(weights, a_.keys, T{0});
                else
                    kernel_.weigh_row(logits, a_.keys, maximum, sum, weights);
            }
        }
    }

    static constexpr T infinity = std::numeric_limits<T>::infinity();
    static constexpr double largest = static_cast<double>(std::numeric_limits<T>::max());

    const Attending& all_;
    const Attention& a_;
    const AttentionKernels<T>& kernel_;
    std::int64_t index_, first_, count_; // which queries
    int vectors_;
    std::int64_t lanes_;
    Room<T> room_;
    Tile<T> tile_;
    const char *keys_, *values_;
    std::int64_t offset_;
    double slope_;
    Interval fewest_{}; // keys that all queries of the tile see
};

template <class T>
void attend_in(const Kernels& kernels, const Attention& attention, int threads) {
    const Attending<T> attending(kernels, attention);
    const std::int64_t count = attending.count();
    if (count == 0)
        return;
    const double products = static_cast<double>(product(attention.leading)) *
                            static_cast<double>(attention.queries) *
                            static_cast<double>(attention.keys) *
                            static_cast<double>(attention.dim + attention.value_dim);
    if (products < parallel_products)
        threads = 1;
    std::vector<Scratch> rooms;
    const std::int64_t workers = std::min<std::int64_t>(threads, count);
    rooms.reserve(static_cast<std::size_t>(workers));
    for (std::int64_t i = 0; i < workers; ++i)
        rooms.emplace_back(attending.room_bytes() / 8);
    Interruption interruption;
    const auto run = [&](std::int64_t task, int worker) {
        const Scratch& room = rooms[static_cast<std::size_t>(worker)];
        attending.run(task, worker, reinterpret_cast<char*>(room.data()), interruption);
    };
    run_tasks(count, threads, Task(run), interruption);
}

} // namespace

void attend(const Kernels& kernels, const Attention& attention, int threads) {
    if (attention.type == Type::float64 || attention.in_float64)
        attend_in<double>(kernels, attention, threads);
    else
        attend_in<float>(kernels, attention, threads);
}

} // namespace ropewalk
