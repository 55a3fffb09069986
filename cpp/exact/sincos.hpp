// Sine and cosine of position x frequency as pairs of doubles.
//
// Relative error below 2^-99 and absolute error below 2^-104, at every position: rounding the pair
// gives the correctly rounded float32, float16 or bfloat16, and float64 within 0.50001 ulp. f(-p)
// is exactly (-sine, cosine). docs/accuracy.md says how this was measured.
#pragma once

#include "exact/turns.hpp"

namespace ropewalk {

struct SineCosine {
    DoubleDouble sine, cosine;
};

SineCosine sine_cosine(Position position, const Frequency& frequency);
SineCosine sine_cosine(const Angle& angle);

// Both times a factor, within 2^-104 of them.
SineCosine scaled(const SineCosine& value, double factor);

} // namespace ropewalk
