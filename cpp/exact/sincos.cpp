#include "exact/sincos.hpp"

#include <cmath>
#include <cstddef>
#include <span>

#include "exact/sincos_table.hpp"

namespace ropewalk {
namespace {

constexpr DoubleDouble whole_turn{two_pi, two_pi_rest};

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

// The constant coefficient first.
DoubleDouble polynomial(DoubleDouble x, std::span<const DoubleDouble> coefficients) {
    DoubleDouble result = coefficients.back();
    for (std::size_t i = coefficients.size() - 1; i > 0; --i) {
        const DoubleDouble rest = product(result, x);
        result = two_sum(coefficients[i - 1].high, rest.high);
        result.low += coefficients[i - 1].low + rest.low;
    }
    return result;
}

// (sin x - x) / x^3 and (cos x - 1) / x^2 as polynomials in x^2; for |x| <= pi / 256 the next terms
// are below 2^-108 of the sine, and 2^-125.
constexpr DoubleDouble sine_rest[]{
    {-0x1.5555555555555p-3, -0x1.5555555555555p-57}, // -1 / 3!
    {0x1.1111111111111p-7, 0x1.1111111111111p-63},
    {-0x1.a01a01a01a01ap-13, -0x1.a01a01a01a01ap-73},
    {0x1.71de3a556c734p-19, -0x1.c154f8ddc6cp-73},
    {-0x1.ae64567f544e4p-26, 0x1.c062e06d1f209p-80}, // -1 / 11!
};
constexpr DoubleDouble cosine_rest[]{
    {-0.5, 0.0},
    {0x1.5555555555555p-5, 0x1.5555555555555p-59},
    {-0x1.6c16c16c16c17p-10, 0x1.f49f49f49f49fp-65},
    {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
    {-0x1.27e4fb7789f5cp-22, -0x1.cbbc05b4fa99ap-76},
    {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83}, // 1 / 12!
};

// |turns| <= 1/8. Nearest of 33 table angles, then short Taylor polynomials of |x| <= pi / 256.
SineCosine sine_cosine_of_remainder(DoubleDouble turns) {
    const bool negative = turns.high < 0;
    if (negative)
        turns = negated(turns);
    const int nearest = static_cast<int>(turns.high * 256 + 0.5);
    DoubleDouble x = product(two_sum(turns.high - nearest / 256.0, turns.low), whole_turn);
    x = fast_two_sum(x.high, x.low);
    DoubleDouble square = product(x, x);
    square = fast_two_sum(square.high, square.low);
    const DoubleDouble cubic_on = product(product(polynomial(square, sine_rest), square), x);
    DoubleDouble sine = two_sum(x.high, cubic_on.high);
    sine = fast_two_sum(sine.high, sine.low + (x.low + cubic_on.low));
    const DoubleDouble cosine_minus_one = product(polynomial(square, cosine_rest), square);

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

// |turns * 2^exponent| < 2^-46: the next terms are too small for the pair.
SineCosine sine_cosine_of_tiny(DoubleDouble turns, int exponent) {
    DoubleDouble x = product(turns, whole_turn);
    x = fast_two_sum(x.high, x.low);
    const double size = std::ldexp(x.high, exponent), square = size * size;
    x.low -= x.high * (square / 6);
    return {scaled(x, exponent), {1.0, -0.5 * square}};
}

constexpr int tiny_exponent = -46;

} // namespace

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
    return in_quarter(turned, angle);
}

SineCosine in_quarter(const SineCosine& turned, const Angle& angle) {
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
