#include "plans/positions.hpp"

#include <algorithm>
#include <cmath>

namespace ropewalk {
namespace {

// Compared as integers: 2^53 + 1 is 2^53 in float64.
template <class Value>
bool equals(Value value, std::int64_t integer) {
    const auto whole = static_cast<std::int64_t>(value);
    return whole == integer && static_cast<Value>(whole) == value;
}

template <class Value>
bool is_progression(const Value* values, std::int64_t count, std::int64_t first,
                    std::int64_t step) {
    for (std::int64_t i = 0; i < count; ++i)
        if (!equals(values[i], first + step * i))
            return false;
    return true;
}

template <class Value>
std::int64_t stretch_of(const Value* values, std::int64_t count) {
    const auto first = static_cast<std::int64_t>(values[0]);
    std::int64_t length = 0;
    while (length < count && equals(values[length], first + length))
        ++length;
    return std::max<std::int64_t>(length, 1);
}

template <class Value>
std::int64_t largest_index_of(const Value* values, std::int64_t count, std::int64_t most) {
    std::int64_t largest = -1;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto whole = static_cast<std::int64_t>(values[i]);
        if (whole < 0 || whole > most || !equals(values[i], whole))
            return -1;
        largest = std::max(largest, whole);
    }
    return largest;
}

bool is_bad(std::int64_t value) { return value > largest_position || value < -largest_position; }
bool is_bad(double value) {
    return !(std::fabs(value) <= static_cast<double>(largest_position)); // NaN too
}

template <class Value>
std::int64_t first_bad_of(const Value* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        if (is_bad(values[i]))
            return i;
    return -1;
}

} // namespace

Position Positions::at(std::int64_t row, int axis) const {
    if (integers != nullptr)
        return Position::of(integers[row * axes + axis]);
    if (reals != nullptr)
        return Position::of(reals[row * axes + axis]);
    return Position::of(first + step * row);
}

Positions Positions::part(std::int64_t begin, std::int64_t rows) const {
    Positions result = *this;
    result.count = rows;
    result.first += begin * step;
    if (integers != nullptr)
        result.integers += begin * axes;
    if (reals != nullptr)
        result.reals += begin * axes;
    return result;
}

Positions Positions::simplified() const {
    if (!in_array() || axes > 1 || count < shortest_progression)
        return *this;
    const auto from = [&](std::int64_t row) {
        return integers != nullptr ? integers[row] : static_cast<std::int64_t>(reals[row]);
    };
    const Positions progression{count, from(0), from(1) - from(0)};
    const bool found = integers != nullptr
                           ? is_progression(integers, count, progression.first, progression.step)
                           : is_progression(reals, count, progression.first, progression.step);
    return found ? progression : *this;
}

std::int64_t Positions::stretch(std::int64_t row, std::int64_t end) const {
    return integers != nullptr ? stretch_of(integers + row, end - row)
                               : stretch_of(reals + row, end - row);
}

std::int64_t Positions::largest_index(std::int64_t most) const {
    if (integers != nullptr)
        return largest_index_of(integers, count * axes, most);
    if (reals != nullptr)
        return largest_index_of(reals, count * axes, most);
    const auto [least, largest] = std::minmax({first, first + step * (count - 1)});
    return least < 0 || largest > most ? -1 : largest;
}

std::int64_t Positions::index(std::int64_t row, int axis) const {
    if (integers != nullptr)
        return integers[row * axes + axis];
    return reals != nullptr ? static_cast<std::int64_t>(reals[row * axes + axis])
                            : first + step * row;
}

std::int64_t Positions::first_bad() const {
    if (integers != nullptr)
        return first_bad_of(integers, count * axes);
    return reals != nullptr ? first_bad_of(reals, count * axes) : -1;
}

} // namespace ropewalk
