#include "exact/sincos.hpp"

#include <cmath>

#include "exact/sincos_table.hpp"

namespace ropewalk {
namespace {

constexpr DoubleDouble two_pi{0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52};

DoubleDouble fast_two_sum(double larger, double smaller) {
    const double sum = larger + smaller;
    return {sum, smaller - (sum - larger)};
}

DoubleDouble two_sum(double a, double b) {
    const double sum = a + b, part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
}

DoubleDouble two_product(double a, double b) {
    const double product = a * b;
    return {product, std::fma(a, b, -product)};
}

DoubleDouble product(DoubleDouble a, DoubleDouble b) {
    DoubleDouble result = two_product(a.high, b.high);
    result.low += a.high * b.low + a.low * b.high;
    return result;
}

DoubleDouble negated(DoubleDouble value) { return {-value.high, -value.low}; }

DoubleDouble scaled(DoubleDouble value, int exponent) {
    return {std::ldexp(value.high, exponent), std::ldexp(value.low, exponent)};
}

// a + a u + b v, the addition theorem with u = cosine - 1: the large term enters last.
DoubleDouble added(DoubleDouble a, DoubleDouble u, DoubleDouble b, DoubleDouble v) {
    const DoubleDouble first = product(b, v), second = product(a, u);
    DoubleDouble sum = two_sum(first.high, second.high);
    sum.low += first.low + second.low;
    DoubleDouble all = two_sum(a.high, sum.high);
    all.low += sum.low + a.low;
    return fast_two_sum(all.high, all.low);
}

// |turns| <= 1/8. Nearest of 33 table angles, then short Taylor polynomials of |x| <= pi / 256.
SineCosine sine_cosine_of_remainder(DoubleDouble turns) {
    const bool negative = turns.high < 0;
    if (negative)
        turns = negated(turns);
    const int nearest = static_cast<int>(turns.high * 256 + 0.5);
    const double rest = turns.high - nearest / 256.0;
    const DoubleDouble step =
        rest == 0 ? DoubleDouble{turns.low, 0} : fast_two_sum(rest, turns.low);

    DoubleDouble x = product(step, two_pi);
    x = fast_two_sum(x.high, x.low);
    const double square = x.high * x.high;
    const double cubic_on =
        x.high * square *
        (-1.0 / 6 + square * (1.0 / 120 + square * (-1.0 / 5040 + square / 362880)));
    const double quartic_on = square * square * (1.0 / 24 + square * (-1.0 / 720 + square / 40320));
    const DoubleDouble full_square = product(x, x);
    const DoubleDouble sine = fast_two_sum(x.high, x.low + cubic_on - 0.5 * square * x.low);
    const DoubleDouble cosine_minus_one =
        fast_two_sum(-0.5 * full_square.high, -0.5 * full_square.low + quartic_on);

    SineCosine result{};
    if (nearest == 0) {
        const DoubleDouble cosine = fast_two_sum(1.0, cosine_minus_one.high);
        result = {sine, fast_two_sum(cosine.high, cosine.low + cosine_minus_one.low)};
    } else {
        const double (&at)[4] = sincos_table[nearest];
        const DoubleDouble table_sine{at[0], at[1]}, table_cosine{at[2], at[3]};
        result.sine = added(table_sine, cosine_minus_one, table_cosine, sine);
        result.cosine = added(table_cosine, cosine_minus_one, table_sine, negated(sine));
    }
    if (negative)
        result.sine = negated(result.sine);
    return result;
}

// |turns * 2^exponent| < 2^-46. The sine is its angle less a cube that the pair may be too short
// for; what matters is that it lies below the angle. The angle itself is known to 104 bits: when
// those cannot tell it from a double it is taken for one, as it is where the frequency is 1 radian
// and the position a fraction.
SineCosine sine_cosine_of_tiny(DoubleDouble turns, int exponent) {
    DoubleDouble x = product(turns, two_pi);
    x = fast_two_sum(x.high, x.low);
    const double size = std::ldexp(x.high, exponent), square = size * size;
    if (std::fabs(x.low) <= 0x1p-100 * std::fabs(x.high))
        x.low = 0;
    x.low -= x.high * std::fmax(square / 6, 0x1p-106);
    return {scaled(x, exponent), {1.0, -0.5 * square}};
}

constexpr int tiny_exponent = -46;

} // namespace

SineCosine sine_cosine(Position position, const Frequency& frequency) {
    if (position.magnitude == 0) // nearly every table has this row
        return {{0.0, 0.0}, {1.0, 0.0}};
    return sine_cosine(angle_of(position, frequency));
}

SineCosine sine_cosine(const Angle& angle) {
    if (angle.remainder.high == 0 && angle.quarter == 0) // no zero has a sign here
        return {{0.0, 0.0}, {1.0, 0.0}};
    SineCosine turned{};
    if (angle.remainder.high == 0)
        turned.cosine.high = 1.0;
    else if (angle.exponent > tiny_exponent)
        turned = sine_cosine_of_remainder(scaled(angle.remainder, angle.exponent));
    else
        turned = sine_cosine_of_tiny(angle.remainder, angle.exponent);
    SineCosine result{};
    switch (angle.quarter) {
    case 0:
        result = turned;
        break;
    case 1:
        result = {turned.cosine, negated(turned.sine)};
        break;
    case 2:
        result = {negated(turned.sine), negated(turned.cosine)};
        break;
    default:
        result = {negated(turned.cosine), turned.sine};
    }
    if (angle.negative)
        result.sine = negated(result.sine);
    return result;
}

SineCosine scaled(const SineCosine& value, double factor) {
    if (factor == 1.0)
        return value;
    const DoubleDouble by{factor, 0.0};
    const DoubleDouble sine = product(value.sine, by), cosine = product(value.cosine, by);
    return {fast_two_sum(sine.high, sine.low), fast_two_sum(cosine.high, cosine.low)};
}

} // namespace ropewalk
