// Sine and cosine of position x frequency as pairs of doubles.
//
// Relative error below 2^-99 and absolute error below 2^-104, beside that of the angle, at every
// position: rounding the pair gives float64 within 0.50001 ulp, and the correctly rounded float32,
// float16 or bfloat16 unless the middle between two of them is as near. There the bits that the
// angle still has decide: the pair of long_sine_cosine() lies on the right side of it. f(-p) is
// exactly (-sine, cosine). docs/accuracy.md says how this was measured.
#pragma once

#include "exact/turns.hpp"

namespace ropewalk {

struct SineCosine {
    DoubleDouble sine, cosine;
};

SineCosine sine_cosine(const Angle& angle);

// Both times a factor, within 2^-104 of them.
SineCosine scaled(const SineCosine& value, double factor);

// The error of all that, relative to the value, and some more.
constexpr double pair_error = 0x1p-98;

// Both times a factor, from 384 bits: within 2^-240 of their size, beside the error of the angle.
SineCosine long_sine_cosine(const Angle& angle, double factor);

// The values of an angle from those of its remainder.
SineCosine in_quarter(const SineCosine& turned, const Angle& angle);

} // namespace ropewalk
