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

// Few queries share their keys out among threads, so many at a time.
constexpr std::int64_t part_keys = 64 * block_keys;

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

// One query of a tile.
template <class T>
struct Query {
    std::int64_t index, row; // of the leading axes, and among the queries there
    std::int64_t place;      // its position, where the first key's is 0
    double slope;
    const bool* mask; // its rows, or null
    const T* bias;
    Interval seen;
};

// What one thread needs for a tile of queries. Made with no memory it says how much it needs.
template <class T>
struct Room {
    T *queries, *logits, *unweighed, *keys, *values, *row, *maximum;
    double *sum, *rescale, *output, *output_row;
    Query<T>* tile;
    std::int64_t bytes = 0;

    Room(const Attention& a, std::int64_t count, char* memory) {
        const auto take = [&](auto*& array, std::int64_t elements) {
            using Element = std::remove_reference_t<decltype(*array)>;
            array = reinterpret_cast<Element*>(memory + bytes);
            bytes += (elements * static_cast<std::int64_t>(sizeof(Element)) + 63) / 64 * 64;
        };
        const bool converted = a.type != computed_type<T>;
        take(queries, a.dim * count);
        take(logits, block_keys * count);
        take(unweighed, block_keys * count);
        take(keys, converted ? block_keys * a.dim : 0);
        take(values, converted ? block_keys * a.value_dim : 0);
        take(row, a.dim);
        take(maximum, count);
        take(sum, count);
        take(rescale, count);
        take(output, a.value_dim * count);
        take(output_row, a.value_dim);
        take(tile, count);
    }
};

// How many indices of the leading axes, next to each other, share keys and values.
std::int64_t shared_by(const Attention& a) {
    if (a.leading.empty())
        return 1;
    const auto shared = [&](const Leading& leading) {
        return leading.stride.back() == 0 ? a.leading.back() : leading.group.back();
    };
    const std::int64_t keys = shared(a.key.leading);
    return a.value_dim == 0 || shared(a.value.leading) == keys ? keys : 1;
}

// Attention computed in T. All queries that share keys and values follow each other, head by head,
// and a task is a tile of them.
template <class T>
class Attending {
  public:
    Attending(const Kernels& kernels, const Attention& attention)
        : all_(kernels), a_(attention), heads_(shared_by(a_)), queries_(heads_ * a_.queries),
          few_(a_.queries <= kernel().lanes / 2), most_(few_ ? most_few : even_tile()),
          tiles_((queries_ + most_ - 1) / most_),
          parts_(few_ ? std::max<std::int64_t>(1, (a_.keys + part_keys - 1) / part_keys) : 1) {}

    std::int64_t tiles() const { return queries_ == 0 ? 0 : product(a_.leading) / heads_ * tiles_; }
    std::int64_t parts() const { return parts_; } // of the keys of each tile
    std::int64_t room_bytes() const { return Room<T>(a_, most_, nullptr).bytes; }
    // What the parts of a tile leave: maximum, sum and output of every query.
    std::int64_t partial_doubles() const { return parts_ > 1 ? most_ * (2 + a_.value_dim) : 0; }

    void run(std::int64_t tile, std::int64_t part, double* partial, int worker, char* memory,
             Interruption& interruption) const {
        const bool whole = parts_ == 1;
        TileTask task = task_of(tile, memory);
        task.run(part == 0,
                 {whole ? 0 : part * part_keys, whole ? a_.keys : (part + 1) * part_keys}, worker,
                 interruption);
        if (whole)
            task.finish();
        else
            task.leave(partial);
    }
    // The parts of a tile, one after the other in `partials`, become its result.
    void join(std::int64_t tile, const double* partials, char* memory) const {
        TileTask task = task_of(tile, memory);
        task.join(partials);
        task.finish();
    }

  private:
    class TileTask;

    TileTask task_of(std::int64_t tile, char* memory) const {
        // The last queries of causal attention have most to do, and come first.
        const std::int64_t first = (tiles_ - 1 - tile % tiles_) * most_;
        return {*this, tile / tiles_ * heads_, first, memory};
    }

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
    std::int64_t whole_vectors(std::int64_t queries) const {
        return (queries + kernel().lanes - 1) / kernel().lanes * kernel().lanes;
    }
    // As many queries for each of as few tiles as can be.
    std::int64_t even_tile() const {
        const std::int64_t vectors = whole_vectors(queries_) / kernel().lanes;
        const std::int64_t tiles = (vectors + most_vectors - 1) / most_vectors;
        return (vectors + tiles - 1) / std::max<std::int64_t>(tiles, 1) * kernel().lanes;
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
    template <class Value>
    const Value* row_of(const Scores<Value>& scores, std::int64_t index, std::int64_t row) const {
        return scores.data == nullptr
                   ? nullptr
                   : scores.data + offset_of(scores.leading, index) + row * scores.query_stride;
    }
    const char* row_of(const DataRows& rows, std::int64_t index, std::int64_t row) const {
        return static_cast<const char*>(rows.data) +
               (offset_of(rows.leading, index) + row * rows.row_stride) * element_bytes(a_.type);
    }

    const Kernels& all_;
    const Attention& a_;
    std::int64_t heads_, queries_; // that share keys and values
    bool few_;                     // whether lanes are features
    std::int64_t most_, tiles_;    // queries of a tile
    std::int64_t parts_;
};

template <class T>
class Attending<T>::TileTask {
  public:
    // Queries from `first` on of the heads from `index` on.
    TileTask(const Attending& all, std::int64_t index, std::int64_t first, char* memory)
        : all_(all), a_(all.a_), kernel_(all.few_ ? all.kernel().few : all.kernel().many),
          count_(std::min(all.queries_ - first, all.most_)),
          padded_(all.few_ ? count_ : all.whole_vectors(count_)), room_(a_, all.most_, memory),
          tile_{static_cast<int>(all.few_ ? count_ : padded_ / all.kernel().lanes),
                a_.dim,
                a_.value_dim,
                room_.queries,
                room_.logits,
                room_.maximum,
                room_.sum,
                room_.rescale,
                room_.output},
          keys_(all.row_of(a_.key, index, 0)),
          values_(a_.value_dim == 0 ? nullptr : all.row_of(a_.value, index, 0)) {
        for (std::int64_t i = 0; i < count_; ++i)
            room_.tile[i] = query(index + (first + i) / a_.queries, (first + i) % a_.queries);
    }

    // The keys of one part; sinks belong to the first.
    void run(bool first_part, Interval part, int worker, Interruption& interruption) {
        begin(first_part);
        const Interval seen = seen_keys();
        const std::int64_t end = std::min(seen.end, part.end);
        std::int64_t key = std::max(seen.begin, part.begin);
        for (std::int64_t next; key < end && !interruption.stops(worker); key = next) {
            next = std::min(end, (key / block_keys + 1) * block_keys);
            meet({key, next});
        }
    }

    void finish() const {
        kernel_.divide(tile_);
        for (std::int64_t i = 0; i < count_; ++i)
            finish(i);
    }

    void leave(double* partial) const {
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
            for (std::int64_t part = 0; part < all_.parts_; ++part) {
                const double* const partial =
                    partials + part * all_.partial_doubles() + i * (2 + a_.value_dim);
                if (partial[1] == 0)
                    continue; // has seen nothing
                const double next = std::max(maximum, partial[0]);
                const double before = all_.all_.exponential(maximum - next);
                const double more = all_.all_.exponential(partial[0] - next);
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
        return all_.few_ ? Column<Value>{array + i * width, 1} : Column<Value>{array + i, padded_};
    }

    Query<T> query(std::int64_t index, std::int64_t row) const {
        const std::int64_t place = row + all_.value_of(a_.offset, index, std::int64_t{0});
        const std::int64_t length = all_.value_of(a_.key_lengths, index, a_.keys);
        const auto within = [&](std::int64_t key) {
            return std::clamp(key, std::int64_t{0}, length);
        };
        return {index,
                row,
                place,
                all_.value_of(a_.slopes, index, 0.0),
                all_.row_of(a_.mask, index, row),
                all_.row_of(all_.bias(), index, row),
                {a_.left == unlimited ? 0 : within(place - a_.left),
                 a_.right == unlimited ? length : within(place + a_.right + 1)}};
    }

    void begin(bool with_sinks) {
        std::fill_n(room_.queries, a_.dim * padded_, T{0});
        std::fill_n(room_.maximum, padded_, -infinity);
        std::fill_n(room_.sum, padded_, 0.0);
        std::fill_n(room_.output, a_.value_dim * padded_, 0.0);
        for (std::int64_t i = 0; i < count_; ++i) {
            const auto& [index, row, place, slope, mask, bias, seen] = room_.tile[i];
            all_.read(all_.row_of(a_.query, index, row), a_.dim, room_.row);
            const auto features = column(room_.queries, i, a_.dim);
            for (std::int64_t k = 0; k < a_.dim; ++k)
                features[k] = room_.row[k];
            const double sink = all_.value_of(a_.sinks, index, -HUGE_VAL);
            if (with_sinks && sink != -HUGE_VAL) {
                room_.maximum[i] = static_cast<T>(sink);
                room_.sum[i] = 1;
            }
        }
    }

    // The keys that the tile must meet.
    Interval seen_keys() {
        fewest_ = {0, a_.keys};
        Interval most{a_.keys, 0};
        for (std::int64_t i = 0; i < count_; ++i) {
            const Interval seen = room_.tile[i].seen;
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
            all_.kernel().cap(room_.logits, (all_.few_ ? block_keys : keys) * padded_,
                              static_cast<T>(a_.softcap));
        show(a_.stages.capped, block);
        if (all_.bias().data != nullptr)
            add_bias(block);
        if (a_.slopes.data != nullptr)
            add_slopes(block);
        if (block.begin < fewest_.begin || block.end > fewest_.end)
            hide_unseen(block);
        if (a_.mask.data != nullptr)
            hide_masked(block);
        show(a_.stages.biased != nullptr ? a_.stages.biased : a_.stages.weights, block);
        const Rows<T> values = rows(values_, a_.value, a_.value_dim, block, room_.values);
        // Zero times NaN is NaN: values of masked keys must not be multiplied.
        const bool selective = kernel_.raise(tile_, keys) && !all_finite(values);
        if (selective)
            std::copy_n(room_.logits, block_keys * padded_, room_.unweighed);
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

    // function(query, logits), which are those of the block's first key and the next ones.
    template <class Function>
    void each_query(Function function) const {
        for (std::int64_t i = 0; i < count_; ++i)
            function(room_.tile[i], column(room_.logits, i, block_keys));
    }

    // -inf masks whatever the logit is; a finite bias does not, even where the sum overflows.
    static void add(T& logit, T more) {
        if (more == -infinity)
            logit = more;
        else if (logit != -infinity)
            logit = logit + more == -infinity ? -std::numeric_limits<T>::max() : logit + more;
    }

    void add_bias(Interval block) const {
        const std::int64_t step = all_.bias().key_stride;
        each_query([&](const Query<T>& query, const Column<T>& logits) {
            for (std::int64_t key = block.begin; key < block.end; ++key) {
                const T more = query.bias[key * step];
                T& logit = logits[key - block.begin];
                add(logit, more);
            }
        });
    }

    void add_slopes(Interval block) const {
        each_query([&](const Query<T>& query, const Column<T>& logits) {
            for (std::int64_t key = block.begin; key < block.end; ++key) {
                const double more = -query.slope * static_cast<double>(std::abs(query.place - key));
                add(logits[key - block.begin], static_cast<T>(std::clamp(more, -largest, largest)));
            }
        });
    }

    void hide_unseen(Interval block) const {
        each_query([&](const Query<T>& query, const Column<T>& logits) {
            const auto hide = [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t key = begin; key < end; ++key)
                    logits[key - block.begin] = -infinity;
            };
            hide(block.begin, std::min(query.seen.begin, block.end));
            hide(std::max(query.seen.end, block.begin), block.end);
        });
    }

    void hide_masked(Interval block) const {
        const std::int64_t step = a_.mask.key_stride;
        each_query([&](const Query<T>& query, const Column<T>& logits) {
            for (std::int64_t key = block.begin; key < block.end; ++key)
                if (!query.mask[key * step])
                    logits[key - block.begin] = -infinity;
        });
    }

    // The row of a query in an array (*leading, queries, width).
    std::int64_t row_in(const Query<T>& query, std::int64_t width) const {
        return (query.index * a_.queries + query.row) * width;
    }

    void show(void* stage, Interval block) const {
        if (stage != nullptr)
            each_query([&](const Query<T>& query, const Column<T>& logits) {
                T* const shown = static_cast<T*>(stage) + row_in(query, a_.keys) + block.begin;
                for (std::int64_t key = 0; key < block.end - block.begin; ++key)
                    shown[key] = logits[key];
            });
    }

    void finish(std::int64_t i) const {
        const Query<T>& query = room_.tile[i];
        const double sum = room_.sum[i];
        if (a_.output != nullptr) {
            const auto output = column(room_.output, i, a_.value_dim);
            for (std::int64_t k = 0; k < a_.value_dim; ++k)
                room_.output_row[k] = output[k];
            all_.all_.write[static_cast<std::size_t>(a_.type)](room_.output_row, a_.value_dim,
                                                               static_cast<char*>(a_.output) +
                                                                   row_in(query, a_.value_dim) *
                                                                       element_bytes(a_.type));
        }
        const T maximum = room_.maximum[i];
        if (a_.lse != nullptr)
            a_.lse[row_in(query, 1)] = static_cast<double>(maximum) + std::log(sum);
        if (a_.stages.weights != nullptr) {
            T* const weights = static_cast<T*>(a_.stages.weights) + row_in(query, a_.keys);
            const T* const logits =
                a_.stages.biased == nullptr
                    ? weights
                    : static_cast<const T*>(a_.stages.biased) + row_in(query, a_.keys);
            if (sum == 0)
                std::fill_n(weights, a_.keys, T{0});
            else
                all_.kernel().weigh_row(logits, a_.keys, maximum, sum, weights);
        }
    }

    static constexpr T infinity = std::numeric_limits<T>::infinity();
    static constexpr double largest = static_cast<double>(std::numeric_limits<T>::max());

    const Attending& all_;
    const Attention& a_;
    const TileKernels<T>& kernel_;
    std::int64_t count_, padded_; // queries, and with those that fill the vectors
    Room<T> room_;
    Tile<T> tile_;
    const char *keys_, *values_;
    Interval fewest_{}; // keys that all queries of the tile see
};

template <class T>
void attend_in(const Kernels& kernels, const Attention& attention, int threads) {
    const Attending<T> attending(kernels, attention);
    const std::int64_t tiles = attending.tiles(), parts = attending.parts();
    if (tiles == 0)
        return;
    const double products = static_cast<double>(product(attention.leading)) *
                            static_cast<double>(attention.queries) *
                            static_cast<double>(attention.keys) *
                            static_cast<double>(attention.dim + attention.value_dim);
    if (products < parallel_products)
        threads = 1;
    std::vector<Scratch> rooms;
    const std::int64_t workers = std::min<std::int64_t>(threads, tiles * parts);
    rooms.reserve(static_cast<std::size_t>(workers));
    for (std::int64_t i = 0; i < workers; ++i)
        rooms.emplace_back(attending.room_bytes() / 8);
    const auto room = [&](int worker) {
        return reinterpret_cast<char*>(rooms[static_cast<std::size_t>(worker)].data());
    };
    const std::int64_t left = attending.partial_doubles();
    const Scratch partials(tiles * parts * left);
    Interruption interruption;
    const auto run = [&](std::int64_t task, int worker) {
        attending.run(task / parts, task % parts, partials.data() + task * left, worker,
                      room(worker), interruption);
    };
    run_tasks(tiles * parts, threads, Task(run), interruption);
    if (parts > 1)
        for (std::int64_t tile = 0; tile < tiles; ++tile)
            attending.join(tile, partials.data() + tile * parts * left, room(0));
}

} // namespace

void attend(const Kernels& kernels, const Attention& attention, int threads) {
    if (attention.type == Type::float64 || attention.in_float64)
        attend_in<double>(kernels, attention, threads);
    else
        attend_in<float>(kernels, attention, threads);
}

} // namespace ropewalk
