#include "plans/attention.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "plans/attention_short.hpp"
#include "plans/attention_together.hpp"
#include "plans/memory.hpp"
#include "plans/pool.hpp"
#include "plans/team.hpp"

namespace ropewalk {
namespace {

// What each thread needs for the tiles that it meets.
template <class T>
using Workers = std::vector<TileTasks<T>>;

// All tiles of some groups of heads: those of a group that meet its keys together in one task, or
// those of several groups that are scored first, or lie side by side.
template <class T>
void attend_tiles(const Tiling<T>& tiling, std::int64_t first, std::int64_t end, int threads,
                  Workers<T>& workers, Interruption& interruption) {
    const std::int64_t tiles = tiling.group_tiles(), together = tiling.together(threads);
    // Tasks share out a set: the tiles of one group, or, where each has one, those of all that lie
    // side by side, or of all.
    const std::int64_t set_tiles = tiles > 1                     ? tiles
                                   : tiling.meets_side_by_side() ? tiling.tiles_side_by_side()
                                                                 : end - first;
    const std::int64_t tasks = ceil_div(set_tiles, together);
    const std::int64_t sets = (end - first) * tiles / set_tiles;
    const auto run = [&](std::int64_t index, int worker) {
        const std::int64_t set = sets == 1 ? 0 : index / tasks; // to divide takes long
        const std::int64_t tile = (index - set * tasks) * together;
        TileTasks<T>& task = workers[static_cast<std::size_t>(worker)];
        task.turn_to(first * tiles + set * set_tiles + tile, std::min(together, set_tiles - tile));
        task.run(true, tiling.all_keys(), worker, interruption);
        task.finish();
    };
    // Of few heads some thread would have the tiles that take longest.
    const bool uneven = tiles > 1 && tasks > 1 && end - first < 2 * threads;
    run_tasks(sets * tasks, threads, Task(run), interruption,
              uneven ? Order::next_first : Order::own_first);
}

// The tiles of some groups of heads, whose keys and values are packed first, a block a task.
template <class T>
void attend_packed(Tiling<T>& tiling, std::int64_t first, std::int64_t end, T* memory, int threads,
                   Workers<T>& workers, Interruption& interruption) {
    const std::int64_t keys = tiling.attention().keys;
    const std::int64_t blocks = ceil_div(keys, block_keys);
    std::vector<std::atomic<bool>> without_keys(static_cast<std::size_t>(end - first));
    const auto pack = [&](std::int64_t index, int) {
        const std::int64_t group = index / blocks, begin = index % blocks * block_keys;
        // Blocks begin at the last of multiples of their step before what is seen.
        const Interval seen = tiling.seen_by_group(first + group);
        const std::int64_t step = tiling.packing().block_step();
        const std::int64_t from = std::max(begin, seen.begin / step * step);
        const std::int64_t to = std::min({keys, begin + block_keys, seen.end});
        T* const own = memory + group * tiling.packing().elements();
        if (from < to && !tiling.pack(first + group, from, to, own))
            without_keys[static_cast<std::size_t>(group)] = true;
    };
    run_tasks((end - first) * blocks, threads, Task(pack), interruption);
    tiling.read_packed(memory, first, without_keys);
    attend_tiles(tiling, first, end, threads, workers, interruption);
}

// All tiles, whose keys threads share out: a part of those of a tile, or of several side by side, a
// task.
template <class T>
void attend_parts(const Tiling<T>& tiling, int threads, Workers<T>& workers,
                  Interruption& interruption) {
    const std::int64_t left = tiling.partial_doubles();
    const Scratch partials(times(tiling.partials(), left));
    struct PartTask {
        std::int64_t tile, count, part;
    };
    std::vector<PartTask> tasks;
    tiling.each_with_same_parts(tiling.together(threads),
                                [&](std::int64_t tile, std::int64_t count) {
                                    const Interval parts = tiling.parts_of(tile);
                                    for (std::int64_t part = parts.begin; part < parts.end; ++part)
                                        tasks.push_back({tile, count, part});
                                });
    const auto run = [&](std::int64_t index, int worker) {
        const auto [tile, count, part] = tasks[static_cast<std::size_t>(index)];
        const std::int64_t before = part - tiling.parts_of(tile).begin;
        TileTasks<T>& task = workers[static_cast<std::size_t>(worker)];
        task.turn_to(tile, count);
        task.run(part == 0, tiling.keys_of_part(part), worker, interruption);
        for (std::int64_t i = 0; i < count; ++i)
            task.leave(i, partials.data() + (tiling.first_partial(tile + i) + before) * left);
    };
    run_tasks(static_cast<std::int64_t>(tasks.size()), threads, Task(run), interruption);
    if (interruption.stops(0)) // some may not have been left
        return;
    for (std::int64_t tile = 0; tile < tiling.tiles(); ++tile) {
        workers[0].turn_to(tile, 1);
        workers[0].join(partials.data() + tiling.first_partial(tile) * left);
        workers[0].finish();
    }
}

template <class T>
void attend_in(const Kernels& kernels, const Attention& attention, int most_threads) {
    Tiling<T> tiling(kernels, attention);
    const std::int64_t tiles = tiling.tiles();
    if (tiles == 0)
        return;
    const double elements =
        static_cast<double>(tiling.groups()) * static_cast<double>(tiling.group_elements());
    // While a byte is written, an element of keys or values is read, or meets two queries.
    const Team team(elements * std::max(1.0, static_cast<double>(tiling.queries()) / 2),
                    most_threads);
    const int threads = team.threads();
    Interruption interruption;
    if (const ShortTasks<T> heads(tiling); heads.can_run() && heads.run(threads, interruption))
        return;
    const std::int64_t tasks = tiling.has_parts() ? tiling.partials() : tiles;
    const std::int64_t most = std::clamp<std::int64_t>(tasks, 1, threads);
    Workers<T> workers;
    workers.reserve(static_cast<std::size_t>(most));
    const std::int64_t together = tiling.together(threads);
    for (std::int64_t i = 0; i < most; ++i)
        workers.emplace_back(tiling, together);
    if (tiling.packs()) {
        const std::int64_t groups = tiling.groups();
        const std::int64_t at_once =
            std::clamp<std::int64_t>(near_elements / tiling.packing().elements(), 1, groups);
        const Scratch packed(at_once * tiling.packing().elements() * std::int64_t{sizeof(T)} / 8 +
                             1);
        for (std::int64_t first = 0; first < groups && !interruption.stops(0); first += at_once)
            attend_packed(tiling, first, std::min(groups, first + at_once),
                          reinterpret_cast<T*>(packed.data()), threads, workers, interruption);
        return;
    }
    if (tiling.has_parts())
        return attend_parts(tiling, threads, workers, interruption);
    attend_tiles(tiling, 0, tiling.groups(), threads, workers, interruption);
}

} // namespace

void attend(const Kernels& kernels, const Attention& attention, int threads) {
    const Stages& stages = attention.stages;
    const bool wants_scores = stages.scores || stages.capped || stages.biased || stages.weights;
    if (!attention.lse && !(attention.output && attention.value_dim > 0) &&
        !(wants_scores && attention.keys > 0))
        return; // nothing is to be written, of whatever number of queries
    if (computes_in_float64(attention))
        attend_in<double>(kernels, attention, threads);
    else
        attend_in<float>(kernels, attention, threads);
}

} // namespace ropewalk
