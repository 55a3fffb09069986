// Rows of data that are turned: which of them share a row of the table, and how they are shared
// out.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "plans/filling.hpp"
#include "plans/memory.hpp"
#include "plans/rotary.hpp"
#include "plans/team.hpp"
#include "targets/dispatch.hpp"

namespace ropewalk {

// With those in one that follow each other in memory and meaning.
inline std::vector<RowAxis> collapsed(const std::vector<RowAxis>& axes) {
    std::vector<RowAxis> result;
    for (const RowAxis& axis : axes) {
        if (!result.empty() && result.back().own == axis.own &&
            result.back().x_stride == axis.length * axis.x_stride &&
            result.back().y_stride == axis.length * axis.y_stride)
            result.back() = {result.back().length * axis.length, axis.x_stride, axis.y_stride,
                             axis.own};
        else
            result.push_back(axis);
    }
    return result;
}

// Those that share rows of the table where they lie in memory among the others, which keep their
// order: so a view of heads inside of positions is turned as it lies.
inline std::vector<RowAxis> as_they_lie(const std::vector<RowAxis>& axes) {
    std::vector<RowAxis> result;
    for (const RowAxis& axis : axes) {
        const auto lies_inside = [&](const RowAxis& other) {
            return std::abs(other.y_stride) < std::abs(axis.y_stride);
        };
        auto place = result.end();
        while (place != result.begin() && !(axis.own && place[-1].own) && lies_inside(place[-1]))
            --place;
        result.insert(place, axis);
    }
    return result;
}

// Some axes as one, counted with the last one fastest.
class Counter {
  public:
    void add(const RowAxis& axis) {
        axes_.push_back(axis);
        size_ *= axis.length;
    }
    std::int64_t size() const { return size_; }
    const RowAxis& last() const { return axes_.back(); }
    // How many from that index on, before `end`, are evenly spaced.
    std::int64_t stretch(std::int64_t index, std::int64_t end) const {
        return axes_.empty() ? end - index
                             : std::min(end - index, last().length - index % last().length);
    }

    // Whether steps of the last axis are what a whole other one spans.
    bool follows(const RowAxis& other) const {
        return axes_.empty() || (last().x_stride == other.length * other.x_stride &&
                                 last().y_stride == other.length * other.y_stride);
    }

    struct Offset {
        std::int64_t x, y;
    };
    Offset offset(std::int64_t index) const {
        Offset result{0, 0};
        for (std::size_t i = axes_.size(); i > 0; --i) {
            const RowAxis& axis = axes_[i - 1];
            const std::int64_t at = i == 1 ? index : index % axis.length;
            result.x += at * axis.x_stride;
            result.y += at * axis.y_stride;
            if (i > 1)
                index /= axis.length;
        }
        return result;
    }

  private:
    std::vector<RowAxis> axes_;
    std::int64_t size_ = 1;
};

struct Range {
    std::int64_t begin, end;
    std::int64_t size() const { return end - begin; }
};

// Some rows of a table, as kernels want them: both in `cosines` of interleaved pairs.
struct TableRows {
    const char *cosines, *sines;
    std::int64_t row_bytes;

    TableRows from(std::int64_t row) const {
        return {cosines + row * row_bytes, sines + row * row_bytes, row_bytes};
    }
};

// The rows of data, sorted by whether they share their row of the table.
class Turning {
  public:
    Turning(const Kernels& kernels, const RotaryData& data, std::int64_t pairs, Stores stores)
        : kernels_(kernels), data_(data), pairs_(pairs), element_(element_bytes(data.type)),
          rotate_(kernel(kernels, data, pairs)),
          streamed_(stores == Stores::streamed && kernels.stream != nullptr) {
        for (const RowAxis& axis : collapsed(as_they_lie(data.axes))) {
            (axis.own ? own_ : shared_).add(axis);
            inner_ = axis;
        }
        // Rows that follow each other in y are streamed: those of whole vectors by kernels, and
        // interleaved pairs that follow each other in x too; others by way of a room.
        const bool half = data.pairing == Pairing::half, turn_whole = 2 * pairs == data.dim;
        const std::int64_t lanes = line_bytes / element_bytes(table_type(data.type));
        const bool in_vectors = (half ? pairs : data.dim) % lanes == 0;
        const bool in_pairs = !half && inner_.own && inner_.x_stride == data.dim;
        by_way_of_room_ = streamed_ && inner_.y_stride == data.dim &&
                          !(turn_whole && (in_vectors || in_pairs)) && row_bytes() <= room_bytes;
        if (by_way_of_room_)
            most_rows_ = room_bytes / row_bytes();
        // Rows of a head that lie near each other kernels ask for soon enough by themselves, and
        // halves of four heads they turn in turn.
        const bool lie_far = std::abs(inner_.x_stride) * element_ > page_bytes / 4;
        const std::int64_t in_turn = half ? 4 : 1;
        reads_across_ = streamed_ && inner_.own && shared_.size() > in_turn && lie_far &&
                        std::abs(shared_.last().x_stride) < std::abs(inner_.x_stride);
        if (reads_across_) {
            const auto rows_in = [&](std::int64_t bytes) {
                return std::max<std::int64_t>(bytes / row_bytes(), 1);
            };
            const std::int64_t asked_rows = rows_in(64 << 10);
            most_rows_ =
                std::min(most_rows_, std::clamp(asked_rows / shared_.last().length,
                                                rows_in(page_bytes / 2), rows_in(page_bytes)));
            most_across_ = std::max<std::int64_t>(asked_rows / most_rows_, 1);
        }
    }

    std::int64_t own() const { return own_.size(); }
    std::int64_t shared() const { return shared_.size(); }
    std::int64_t row_bytes() const { return data_.dim * element_; }
    std::int64_t bytes() const { return own() * shared() * row_bytes(); }
    std::int64_t table_bytes(std::int64_t rows) const {
        return rows * 2 * data_.pairs * element_bytes(table_type(data_.type));
    }

    void turn(Range own, Range shared, const TableRows& table) const {
        if (reads_across_)
            turn_across(own, shared, table);
        else if (inner_.own)
            turn_along_own(own, shared, table);
        else
            turn_along_shared(own, shared, table);
        if (streamed_)
            kernels_.fence();
    }

  private:
    using Rotate = void (*)(const Rotation&);
    static Rotate kernel(const Kernels& kernels, const RotaryData& data, std::int64_t pairs) {
        const bool half = data.pairing == Pairing::half;
        // Rows of whole half lines are turned several at a time by the ordinary kernels, by these
        // not, which is slower.
        const std::int64_t vectors = half ? pairs : 2 * pairs;
        const bool in_lines = pairs >= 32 && (vectors % 32 == 0 || vectors % 16 != 0);
        if (data.type == Type::bfloat16 && in_lines && rounds_lines(kernels))
            return half ? kernels.lines.rotate_half : kernels.lines.rotate_interleaved;
        return (half ? kernels.rotate_half
                     : kernels.rotate_interleaved)[static_cast<int>(data.type)];
    }

    // What kernels ask for, because the processor by itself fetches it too late: from some size on,
    // of half types sooner, for their lines take more work. Rows of interleaved pairs, one after
    // another, take 1.1 to 1.4 times as long then on AMD's processors with a small first cache, and
    // are not asked for where it is not known to be large. Below that size Intel's wait for the
    // place of the results, which in place has just been read.
    Ahead ahead() const {
        if (reads_across_)
            return Ahead::nothing;
        const bool half_type = element_ == 2, interleaved = data_.pairing == Pairing::interleaved;
        const std::int64_t far_bytes = std::int64_t{half_type ? 8 : 12} << 20,
                           near_bytes = 256 << 10;
        const bool intel = waits_for_second_cache();
        if (bytes() >= far_bytes) {
            if (intel && streamed_)
                return Ahead::far_rows_to_second;
            const bool asks = half_type || !interleaved || !inner_.own || intel;
            return asks || has_large_first_cache() ? Ahead::far_rows : Ahead::nothing;
        }
        const bool asks = intel && bytes() >= near_bytes && data_.x != data_.y;
        return asks ? Ahead::next_rows : Ahead::nothing;
    }

    void turn_along_own(Range own, Range shared, const TableRows& table) const {
        for (std::int64_t row = own.begin; row < own.end;) {
            const std::int64_t rows = std::min(own_.stretch(row, own.end), most_rows_);
            for (std::int64_t other = shared.begin; other < shared.end;) {
                Rotation rotation = at(row, other, table.from(row - own.begin));
                rotation.rows = rows;
                rotation.copies = shared_.stretch(other, shared.end);
                if (rotation.copies > 1) {
                    rotation.x_copy = shared_.last().x_stride;
                    rotation.y_copy = shared_.last().y_stride;
                }
                turn_rows(rotation);
                other += rotation.copies;
            }
            row += rows;
        }
    }
    void turn_along_shared(Range own, Range shared, const TableRows& table) const {
        // As many as the inner axis has are all of it: tasks take steps of one size through it.
        const bool evenly_spaced = shared.size() == inner_.length && own_.follows(inner_);
        for (std::int64_t row = own.begin; row < own.end;) {
            const std::int64_t most = evenly_spaced ? own_.stretch(row, own.end) : 1;
            const std::int64_t rows = std::clamp<std::int64_t>(most_rows_ / shared.size(), 1, most);
            for (std::int64_t other = shared.begin; other < shared.end;) {
                Rotation rotation = at(row, other, table.from(row - own.begin));
                rotation.rows = rows;
                rotation.repeats = std::min(shared_.stretch(other, shared.end), most_rows_);
                turn_rows(rotation);
                other += rotation.repeats;
            }
            row += rows;
        }
    }

    // Rows of x lie across those of y, as heads inside of positions do that are to stand outside.
    // A page or less of each head is written in turn; the rows that come next are asked for as they
    // lie meanwhile, one share of them with each head.
    void turn_across(Range own, Range shared, const TableRows& table) const {
        for (Range some = shared; some.begin < shared.end; some.begin = some.end) {
            some.end = some.begin + std::min(shared_.stretch(some.begin, shared.end), most_across_);
            for (std::int64_t row = own.begin; row < own.end;) {
                const std::int64_t rows = std::min(own_.stretch(row, own.end), most_rows_);
                const Range next{row + rows, std::min(row + 2 * rows, own.end)};
                for (std::int64_t other = some.begin; other < some.end; ++other) {
                    Rotation rotation = at(row, other, table.from(row - own.begin));
                    rotation.rows = rows;
                    ask_for_share(next, some, other);
                    turn_rows(rotation);
                }
                row += rows;
            }
        }
    }

    // Inline, as GCC drops calls of what does nothing but ask.
    [[gnu::always_inline]] void ask_for_share(Range next, Range shared, std::int64_t other) const {
        const std::int64_t first = (other - shared.begin) * next.size();
        std::int64_t row = next.begin + first / shared.size();
        std::int64_t copy = shared.begin + first % shared.size();
        for (std::int64_t i = 0; i < next.size(); ++i) {
            const std::int64_t x = own_.offset(row).x + shared_.offset(copy).x;
            for (std::int64_t k = 0; k < row_bytes(); k += line_bytes)
                __builtin_prefetch(static_cast<const char*>(data_.x) + x * element_ + k, 0, 2);
            if (++copy == shared.end) {
                copy = shared.begin;
                ++row;
            }
        }
    }

    // The lines at the ends of what is streamed, which are written in part: all stores behind them
    // would wait until they have been read.
    [[gnu::always_inline]] static void ask_for_ends(char* y, std::int64_t bytes) {
        __builtin_prefetch(y, 1);
        __builtin_prefetch(y + bytes - 1, 1);
    }

    Rotation at(std::int64_t own, std::int64_t shared, const TableRows& table) const {
        const Counter::Offset a = own_.offset(own), b = shared_.offset(shared);
        Rotation rotation{};
        rotation.x = static_cast<const char*>(data_.x) + (a.x + b.x) * element_;
        rotation.y = static_cast<char*>(data_.y) + (a.y + b.y) * element_;
        rotation.rows = rotation.repeats = rotation.copies = 1;
        rotation.x_stride = inner_.x_stride;
        rotation.y_stride = inner_.y_stride;
        rotation.cosines = table.cosines;
        rotation.sines = table.sines;
        rotation.pairs = pairs_;
        rotation.apart = data_.pairs;
        rotation.dim = data_.dim;
        rotation.ahead = ahead();
        rotation.streamed = streamed_ && (reads_across_ || data_.pairing == Pairing::half ||
                                          inner_.x_stride == data_.dim);
        return rotation;
    }

    void turn_rows(const Rotation& rotation) const {
        if (by_way_of_room_)
            return stream_rows(rotation);
        // Interleaved pairs, but for half types, take longer with it.
        if (reads_across_ && (data_.pairing == Pairing::half || element_ == 2))
            ask_for_ends(static_cast<char*>(rotation.y), rotation.rows * row_bytes());
        rotate_(rotation);
    }

    // By way of a room of their own, which the first cache holds. The lines at their ends, which
    // are written in part, are asked for: all stores behind would wait for them. So is what follows
    // of x, when others take turns with it, or it is no half type, which take longer to convert.
    void stream_rows(const Rotation& rotation) const {
        alignas(line_bytes) char room[room_bytes];
        const std::int64_t bytes = rotation.rows * rotation.repeats * row_bytes();
        const bool gapless = rotation.x_stride == data_.dim;
        const bool asks = gapless && (rotation.copies > 1 || element_ > 2);
        Rotation some = rotation;
        some.y = room;
        some.y_stride = data_.dim;
        some.copies = 1;
        some.streamed = false;
        for (std::int64_t i = 0; i < rotation.copies; ++i) {
            const char* const x =
                static_cast<const char*>(rotation.x) + i * rotation.x_copy * element_;
            char* const y = static_cast<char*>(rotation.y) + i * rotation.y_copy * element_;
            ask_for_ends(y, bytes);
            some.x = x;
            rotate_(some);
            stream_bytes(kernels_, room, bytes, y, asks ? x + bytes : nullptr);
        }
    }

    const Kernels& kernels_;
    const RotaryData& data_;
    std::int64_t pairs_; // those that turn, the first of data_.pairs
    std::int64_t element_;
    Rotate rotate_;
    Counter own_, shared_;
    RowAxis inner_{1, 0, 0, true};
    bool streamed_, by_way_of_room_, reads_across_;
    static constexpr std::int64_t room_bytes = 8192, page_bytes = 4096;
    std::int64_t most_rows_ = std::numeric_limits<std::int64_t>::max(); // that are turned at once
    std::int64_t most_across_ = 1;                                      // heads that take turns
};

// Tasks of some table rows, multiples of `step`, `before` of the first of which lie before the
// table, and of part of what shares them: four for each of several threads, where there is enough.
// Otherwise data are read in stretches as long as the second cache keeps their table beside what is
// turned.
class RotaryTasks {
  public:
    RotaryTasks(const Turning& turning, int threads, std::int64_t step = fewest_rows,
                std::int64_t least_share = 8, std::int64_t before = 0)
        : turning_(turning), before_(before) {
        constexpr std::int64_t longest = GroupedFrequencies::super_rows;
        constexpr std::int64_t table_bytes = 1 << 18, task_bytes = 64 << 20;
        static_assert(longest % fewest_rows == 0 && longest % (2 * block_rows) == 0);
        const std::int64_t wanted = threads > 1 ? 4 * threads : 1;
        const std::int64_t steps = std::min(ceil_div(turning.own(), wanted * step),
                                            table_bytes / turning.table_bytes(step));
        rows_ = std::clamp(steps * step, step, longest);
        const std::int64_t rows = std::min(rows_, turning.own());
        const std::int64_t share =
            ceil_div(turning.shared() * ceil_div(turning.own(), rows_), wanted);
        const std::int64_t most = task_bytes / (turning.row_bytes() * rows);
        share_ = std::min(std::max(share, least_share), turning.shared());
        share_ = std::clamp<std::int64_t>(most, 1, share_);
        shares_ = ceil_div(turning.shared(), share_);
    }

    std::int64_t count() const { return ceil_div(before_ + turning_.own(), rows_) * shares_; }
    std::int64_t most_rows() const { return std::min(rows_, turning_.own()); }
    Range own(std::int64_t task) const {
        const std::int64_t begin = task / shares_ * rows_ - before_;
        return {std::max<std::int64_t>(begin, 0), std::min(begin + rows_, turning_.own())};
    }
    Range shared(std::int64_t task) const {
        const std::int64_t begin = task % shares_ * share_;
        return {begin, std::min(begin + share_, turning_.shared())};
    }

  private:
    const Turning& turning_;
    std::int64_t before_, rows_, share_, shares_;
};

// Of a rotation for which so many pairs of its table are evaluated one by one.
inline Team team_for(const Turning& turning, std::int64_t evaluated, int most_threads) {
    return Team(static_cast<double>(turning.bytes() + evaluated * evaluated_bytes), most_threads);
}

} // namespace ropewalk
