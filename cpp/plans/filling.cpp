#include "plans/filling.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "exact/rounding.hpp"

namespace ropewalk {

namespace {

Exact exact_of(decltype(Exact::fill) fill, Type type, double factor) {
    const double plain = factor == 1.0 ? plain_error : scaled_plain_error * factor;
    // The last bit of values between 2^-13 and 2^-12 as float64 is 2^-65.
    const auto bits = static_cast<std::uint32_t>(std::ceil(plain * 0x1p65));
    return {fill, type == Type::float64 ? precise_error * factor : plain, std::bit_ceil(bits)};
}

} // namespace

Filling::Filling(const Kernels& kernels_, const Frequencies& frequencies_,
                 const Positions& positions_, double factor_, Type type_, Layout layout_,
                 const Table& table_)
    : Exact(exact_of(fill_lanes, type_, factor_)), kernels(kernels_), frequencies(frequencies_),
      positions(positions_), factor(factor_), type(type_), layout(layout_), table(table_),
      grouped(&frequencies_.grouped(0)) {}

const Kernels::Filling& Filling::kernel(Stores stores) const {
    const auto& all = stores == Stores::streamed ? kernels.streamed : kernels.cached;
    return all.of[static_cast<int>(type)][static_cast<int>(layout)];
}

std::int64_t Filling::pair_bytes() const {
    return element_bytes(type) * (layout == Layout::apart ? 1 : 2);
}

Filling Filling::elsewhere(void* first, void* second, const Positions& those) const {
    Filling result = *this;
    result.positions = those;
    result.table.rows = those.count;
    result.table.first = first;
    result.table.second = second;
    return result;
}

Filling Filling::part(std::int64_t begin, const Positions& those) const {
    const std::int64_t bytes = begin * table.row_stride * element_bytes(type);
    void* const second =
        layout == Layout::apart ? static_cast<char*>(table.second) + bytes : nullptr;
    return elsewhere(static_cast<char*>(table.first) + bytes, second, those);
}

Filling Filling::shifted(int by) const {
    Filling result = *this;
    result.shift = by;
    result.grouped = &frequencies.grouped(by);
    if (by != 0) {
        const auto moved = [&](void* rows) { return static_cast<char*>(rows) + by * pair_bytes(); };
        result.table.first = moved(table.first);
        if (layout == Layout::apart)
            result.table.second = moved(table.second);
        --result.table.rows;
    }
    return result;
}

void Filling::prepare(bool in_stretches) const {
    if (in_stretches)
        grouped->unit_rows(precision());
    else if (factor == 1.0 && positions.reals == nullptr)
        grouped->expect(positions.count, precision());
}

void Filling::fill_rows(std::int64_t begin, std::int64_t end, const Workspace& workspace) const {
    const std::int64_t stride = GroupedFrequencies::group_doubles(precision());
    double* const values = workspace.row();
    const bool may_have_digits = factor == 1.0 && shift == 0 && positions.axes == 1;
    const auto has_digits = [&](std::int64_t row) {
        return may_have_digits &&
               grouped->evaluate_by_digits(positions.at(row), precision(), values);
    };
    for (std::int64_t row = begin; row < end; ++row) {
        if (!is_origin(row) && !has_digits(row)) // the values of the first need not be evaluated
            grouped->evaluate(positions, row, precision(), factor, values);
        fill_row(values, stride, row, Stores::cached);
    }
}

bool Filling::has_one_pair() const {
    return table.pairs == 1 && table.row_stride == (layout == Layout::apart ? 1 : 2);
}

void Filling::fill_pair(std::int64_t begin, std::int64_t end) const {
    constexpr std::int64_t most = GroupedFrequencies::most_evaluated;
    alignas(64) double values[4 * most];
    const std::int64_t stride = GroupedFrequencies::group_doubles(precision());
    for (; begin < end; begin += most) {
        Filling row = part(begin, positions.part(begin, std::min(most, end - begin)));
        row.of_rows = true;
        row.table.pairs = row.table.rows;
        row.table.rows = 1;
        grouped->evaluate_pair(row.positions, 0, row.table.pairs, precision(), factor, values);
        kernel(Stores::cached).fill_row(values, stride, row.table, 0, &row);
    }
}

void Filling::fill_row(const double* values, std::int64_t stride, std::int64_t row,
                       Stores stores) const {
    if (is_origin(row))
        fill_origin(row);
    else
        kernel(stores).fill_row(values, stride, table, row, this);
}

// Nearly every table has position 0, and no rounding test passes its sines.
bool Filling::is_origin(std::int64_t row) const {
    for (int axis = 0; axis < positions.axes; ++axis)
        if (positions.at(row, axis).magnitude != 0)
            return false;
    return true;
}

void Filling::fill_origin(std::int64_t row) const {
    const std::int64_t own = table.pairs - shift, bytes = own * pair_bytes();
    if (own == 0)
        return;
    fill_lane({{0.0, 0.0}, {factor, 0.0}}, row, 0);
    const auto spread = [&](void* first_row) {
        char* const first =
            static_cast<char*>(first_row) + row * table.row_stride * element_bytes(type);
        for (std::int64_t done = pair_bytes(); done < bytes; done *= 2)
            std::memcpy(first + done, first,
                        static_cast<std::size_t>(std::min(done, bytes - done)));
    };
    spread(table.first);
    if (layout == Layout::apart)
        spread(table.second);
    for (std::int64_t lane = own; lane < table.pairs; ++lane)
        fill_lanes(this, row, lane / group_pairs, 1U << lane % group_pairs);
}

void Filling::fill_standing(std::int64_t begin, std::int64_t end, std::int64_t pairs) const {
    if (table.pairs == pairs)
        return;
    const SineCosine standing{{0.0, 0.0}, {factor, 0.0}};
    for (std::int64_t pair = table.pairs; pair < pairs; ++pair)
        fill_lane(standing, begin, pair);
    const std::int64_t row_bytes = table.row_stride * element_bytes(type);
    const std::int64_t before = begin * row_bytes + table.pairs * pair_bytes();
    const auto repeat = [&](void* first_row) {
        auto* const from = static_cast<char*>(first_row) + before;
        for (std::int64_t row = 1; row < end - begin; ++row)
            std::memcpy(from + row * row_bytes, from,
                        static_cast<std::size_t>((pairs - table.pairs) * pair_bytes()));
    };
    repeat(table.first);
    if (layout == Layout::apart)
        repeat(table.second);
}

Workspace::Workspace(const Filling& filling)
    : width_(filling.grouped->row_doubles(filling.precision())),
      memory_(3 * width_ + 4 * group_pairs * filling.grouped->groups()) {}

template <class Element>
void Filling::store(const SineCosine& value, std::int64_t row, std::int64_t lane) const {
    Element* const first = static_cast<Element*>(table.first) + row * table.row_stride;
    if (layout == Layout::apart) {
        Element* const second = static_cast<Element*>(table.second) + row * table.row_stride;
        round_to(value.sine, first[lane]);
        round_to(value.cosine, second[lane]);
    } else {
        const int sine_at = layout == Layout::sine_first ? 0 : 1;
        round_to(value.sine, first[2 * lane + sine_at]);
        round_to(value.cosine, first[2 * lane + 1 - sine_at]);
    }
}

bool Filling::decided(const SineCosine& value) const {
    const auto both = [&]<class Element>(Element) {
        return decides<Element>(value.sine) && decides<Element>(value.cosine);
    };
    switch (type) {
    case Type::float32:
        return both(float{});
    case Type::float16:
        return both(Float16{});
    case Type::bfloat16:
        return both(BFloat16{});
    case Type::float64: // which is not rounded to odd
        return true;
    }
    return true;
}

void Filling::fill_lane(const Angle& angle, std::int64_t row, std::int64_t lane) const {
    const SineCosine value = scaled(sine_cosine(angle), factor);
    fill_lane(decided(value) ? value : long_sine_cosine(angle, factor), row, lane);
}

void Filling::fill_lane(const SineCosine& value, std::int64_t row, std::int64_t lane) const {
    switch (type) {
    case Type::float32:
        return store<float>(value, row, lane);
    case Type::float16:
        return store<Float16>(value, row, lane);
    case Type::bfloat16:
        return store<BFloat16>(value, row, lane);
    case Type::float64:
        return store<double>(value, row, lane);
    }
}

void Filling::fill_lanes(const Exact* self, std::int64_t row, std::int64_t group, unsigned lanes) {
    const auto& filling = *static_cast<const Filling*>(self);
    if (row < 0 || row >= filling.table.rows)
        return;
    const std::int64_t pairs = filling.table.pairs;
    for (int i = 0; i < group_pairs; ++i) {
        const std::int64_t lane = group * group_pairs + i;
        if ((lanes >> i & 1U) == 0 || lane >= pairs)
            continue;
        if (filling.of_rows) {
            filling.fill_lane(filling.frequencies.angle(filling.positions, lane, 0), 0, lane);
            continue;
        }
        const std::int64_t pair = (lane + filling.shift) % pairs;
        const std::int64_t at = pair < filling.shift ? row + 1 : row;
        filling.fill_lane(filling.frequencies.angle(filling.positions, at, pair), row, lane);
    }
}

} // namespace ropewalk
