// One rounding from a pair of doubles to the type of the result.
//
// The pair is first rounded to odd, which keeps the fact that something was cut off; after that an
// ordinary rounding to any type at least two bits shorter is as good as one from the exact sum
// (Boldo and Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms using
// rounding to odd, 2008, theorem 2).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "exact/sincos.hpp"

namespace ropewalk {

struct Float16 {
    std::uint16_t bits;
};

struct BFloat16 {
    std::uint16_t bits;
};

namespace detail {

inline double to_odd(DoubleDouble value) {
    auto bits = std::bit_cast<std::uint64_t>(value.high);
    if (value.low == 0 || (bits & 1) != 0)
        return value.high;
    bits += (value.low > 0) == (value.high > 0) ? 1 : ~std::uint64_t{0};
    return std::bit_cast<double>(bits);
}

inline float to_odd(double value) {
    const auto nearest = static_cast<float>(value);
    auto bits = std::bit_cast<std::uint32_t>(nearest);
    const auto back = static_cast<double>(nearest);
    if (back == value || (bits & 1) != 0)
        return nearest;
    bits += (back < value) == (value > 0) ? 1 : ~std::uint32_t{0};
    return std::bit_cast<float>(bits);
}

// Nearest, ties to even; for |value| < 65520, which is all that sines and cosines need.
inline Float16 nearest_float16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000, size = bits & 0x7fffffff;
    std::uint32_t result = 0;
    if (size >= 0x38800000) { // 2^-14, the smallest normal number
        const std::uint32_t rebiased = size - (112U << 23);
        result = (rebiased + 0xfff + ((rebiased >> 13) & 1)) >> 13;
    } else { // adding 1/2 makes the unit in the last place 2^-24
        const float shifted = std::bit_cast<float>(size) + 0.5F;
        result = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F);
    }
    return {static_cast<std::uint16_t>(sign | result)};
}

inline BFloat16 nearest_bfloat16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return {static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

} // namespace detail

inline void round_to(DoubleDouble value, double& result) { result = value.high; }

inline void round_to(DoubleDouble value, float& result) {
    result = static_cast<float>(detail::to_odd(value));
}

inline void round_to(DoubleDouble value, Float16& result) {
    result = detail::nearest_float16(detail::to_odd(detail::to_odd(value)));
}

inline void round_to(DoubleDouble value, BFloat16& result) {
    result = detail::nearest_bfloat16(detail::to_odd(detail::to_odd(value)));
}

// Whether all that is as near as pair_error rounds to the same.
template <class Element>
bool decides(DoubleDouble value) {
    const double error = pair_error * value.high;
    Element less{}, more{};
    round_to({value.high, value.low - error}, less);
    round_to({value.high, value.low + error}, more);
    return std::memcmp(&less, &more, sizeof(Element)) == 0;
}

} // namespace ropewalk
