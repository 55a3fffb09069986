#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "plans/softmax_tasks.hpp"

namespace ropewalk {
namespace {

// Logarithms of sums of rows or columns, so many at once, and those which are not found yet.
constexpr std::int64_t logs_at_once = SoftmaxColumns<double>::most_columns;
struct Logs {
    double of[logs_at_once];
    std::int64_t missing[logs_at_once], missing_count = 0;

    void miss(std::int64_t i) { missing[missing_count++] = i; }
};

// Where these sums will not do, elements are summed again, beside the greatest.
void logs_of_sums(const Kernels& kernels, const double* sums, std::int64_t count, Logs& logs) {
    static_assert(logs_at_once <= 64);
    std::uint64_t missing = kernels.logarithms_of_sums(sums, count, logs.of);
    for (; missing != 0; missing &= missing - 1)
        logs.miss(std::countr_zero(missing));
}

// Of what has inf: inf, but NaN beside NaN.
double sum_with_infinity(const SoftmaxElements<double>& e, std::int64_t index,
                         const SoftmaxRoom<double>& room) {
    SoftmaxRow<double> row(e, index, nullptr, room);
    double sum = 0;
    each_part(row, [&](std::int64_t begin, std::int64_t count) {
        row.load(begin, count);
        for (std::int64_t i = 0; i < count; ++i)
            sum += row.elements()[i] < 0 ? 0 : row.elements()[i];
    });
    return sum;
}

// Those that are missing, of the rows or columns from `first` on: their sums, and what these are
// beside.
void logs_beside_greatest(const SoftmaxElements<double>& e, std::int64_t first, const double* sums,
                          const double* greatest, const SoftmaxRoom<double>& room, Logs& logs) {
    double found[logs_at_once];
    e.kernels.logarithms(sums, logs.missing_count, found);
    for (std::int64_t k = 0; k < logs.missing_count; ++k) {
        const std::int64_t i = logs.missing[k];
        if (greatest[k] == HUGE_VAL)
            logs.of[i] = sum_with_infinity(e, first + i, room);
        else if (sums[k] > 0)
            logs.of[i] = found[k] + greatest[k];
        else
            logs.of[i] = sums[k] == 0 ? -HUGE_VAL : sums[k];
    }
}

// Of rows, or of columns one by one.
void sum_again(const SoftmaxElements<double>& e, std::int64_t first,
               const SoftmaxRoom<double>& room, Logs& logs) {
    double sums[logs_at_once], greatest[logs_at_once];
    for (std::int64_t k = 0; k < logs.missing_count; ++k) {
        SoftmaxRow<double> row(e, first + logs.missing[k], nullptr, room);
        sum_parts(row);
        sums[k] = *row.totals(), greatest[k] = row.greatest();
    }
    logs_beside_greatest(e, first, sums, greatest, room, logs);
}

void logs_of_columns(const SoftmaxElements<double>& e, std::int64_t first,
                     SoftmaxColumns<double>& part, bool directly, Logs& logs) {
    constexpr std::int64_t few = 4; // that are summed one by one
    if (directly) {
        if (!part.total_exponentials())
            sum_directly(part);
        logs_of_sums(e.kernels, part.totals(), part.count(), logs);
        if (logs.missing_count <= few)
            return sum_again(e, first, part.room(), logs);
    } else {
        for (std::int64_t i = 0; i < part.count(); ++i)
            logs.miss(i);
    }
    double sums[logs_at_once], greatest[logs_at_once];
    sum_parts(part);
    for (std::int64_t k = 0; k < logs.missing_count; ++k) {
        sums[k] = part.totals()[logs.missing[k]];
        greatest[k] = part.greatest(logs.missing[k]);
    }
    logs_beside_greatest(e, first, sums, greatest, part.room(), logs);
}

void logs_of_rows(const SoftmaxElements<double>& e, std::int64_t first, std::int64_t count,
                  const SoftmaxRoom<double>& room, bool directly, Logs& logs) {
    double sums[logs_at_once];
    for (std::int64_t i = 0; i < count; ++i)
        if (directly) {
            SoftmaxRow<double> row(e, first + i, nullptr, room);
            sum_directly(row);
            sums[i] = *row.totals();
        } else {
            logs.miss(i);
        }
    if (directly)
        logs_of_sums(e.kernels, sums, count, logs);
    sum_again(e, first, room, logs);
}

} // namespace

void logsumexp(const Kernels& kernels, const Softmax& given, double* logs, int threads) {
    Softmax s = given;
    Strided<double> result{logs, std::vector<std::int64_t>(s.leading.size()), 0};
    std::int64_t stride = 1;
    for (std::size_t axis = s.leading.size(); axis-- > 0; stride *= s.leading[axis])
        result.strides[axis] = stride;
    join_axes(s, result.strides);
    // Those of float64 would show the roundings of the sum everywhere.
    const bool directly = s.type != Type::float64;
    const bool columns = has_columns(s, result.strides, softmax_lanes, s.x.step == 1 ? 24 : 48);
    const SoftmaxElements<double> e(kernels, s);
    if (columns)
        return each_column(e, nullptr, threads, [&](auto& part, std::int64_t first) {
            Logs found;
            logs_of_columns(e, first, part, directly, found);
            double* const own = logs + offset_of(s.leading, result, first);
            for (std::int64_t i = 0; i < part.count(); ++i)
                own[i * result.strides.back()] = found.of[i];
        });
    each_task<double>(s, product(s.leading), std::min(s.length, part_elements), task_elements,
                      threads,
                      [&](std::int64_t begin, std::int64_t end, const SoftmaxRoom<double>& room) {
                          for (; begin < end; begin += logs_at_once) {
                              const std::int64_t count = std::min(logs_at_once, end - begin);
                              Logs found;
                              logs_of_rows(e, begin, count, room, directly, found);
                              std::copy_n(found.of, count, logs + begin);
                          }
                      });
}

} // namespace ropewalk
