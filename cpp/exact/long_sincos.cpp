// Sine and cosine in fixed point of 384 bits: for values so near to the middle between two floats
// that a pair of doubles does not say on which side they lie.
#include <algorithm>
#include <bit>
#include <cmath>

#include "exact/sincos.hpp"

namespace ropewalk {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int last = 5; // word
constexpr Fraction quarter_of_pi{{0xef9519b3cd3a431b, 0x514a08798e3404dd, 0x020bbea63b139b22,
                                  0x29024e088a67cc74, 0xc4c6628b80dc1cd1, 0xc90fdaa22168c234}};

Fraction product(const Fraction& a, const Fraction& b) {
    std::uint64_t all[12] = {};
    for (int i = 0; i <= last; ++i) {
        std::uint64_t carry = 0;
        for (int j = 0; j <= last; ++j) {
            const Wide sum = Wide{a.words[i]} * b.words[j] + all[i + j] + carry;
            all[i + j] = static_cast<std::uint64_t>(sum);
            carry = static_cast<std::uint64_t>(sum >> 64);
        }
        all[i + 6] = carry;
    }
    Fraction result{};
    for (int i = 0; i <= last; ++i)
        result.words[i] = all[i + 6];
    return result;
}

Fraction quotient(const Fraction& number, std::uint64_t by) {
    Fraction result{};
    Wide rest = 0;
    for (int i = last; i >= 0; --i) {
        rest = rest << 64 | number.words[i];
        result.words[i] = static_cast<std::uint64_t>(rest / by);
        rest -= Wide{result.words[i]} * by;
    }
    return result;
}

// a - b, or 1 less b where a is 0.
Fraction difference(const Fraction& a, const Fraction& b) {
    Fraction result{};
    std::uint64_t borrow = 0;
    for (int i = 0; i <= last; ++i) {
        const Wide rest = Wide{a.words[i]} - b.words[i] - borrow;
        result.words[i] = static_cast<std::uint64_t>(rest);
        borrow = static_cast<std::uint64_t>(rest >> 64) & 1;
    }
    return result;
}

// number * 2^by, which is below 1; for large shifts downwards 0.
Fraction shifted(const Fraction& number, int by) {
    Fraction result{};
    for (int i = 0; i <= last; ++i) {
        const int from = 64 * i - by, word = from >> 6, bits = from & 63;
        const auto at = [&](int j) { return j >= 0 && j <= last ? number.words[j] : 0; };
        result.words[i] = bits == 0 ? at(word) : at(word) >> bits | at(word + 1) << (64 - bits);
    }
    return result;
}

bool is_zero(const Fraction& number) {
    std::uint64_t all = 0;
    for (const std::uint64_t word : number.words)
        all |= word;
    return all == 0;
}

// An x that is as near to a number of 64 bits as can be known is taken to be that number. So is an
// angle that is a float, or the middle between two, as where a frequency is a power of two.
void settle(Fraction& x, int known) {
    const Fraction rest = shifted(x, 64);
    const bool below = rest.words[last] >> 63 != 0;
    const Fraction away = below ? difference({}, rest) : rest;
    if (is_zero(shifted(away, std::min(known, 240) - 448))) // |away| < 2^-known, of x
        x = {{0, 0, 0, 0, 0, x.words[last] + static_cast<std::uint64_t>(below)}};
}

// 1 - sin x / x (first = 2) or 1 - cos x (first = 1), from the square of x:
// square / (first (first + 1)) (1 - square / ((first + 2) (first + 3)) (1 - ..)). Above 0, as it is
// also where the square is too small for 384 bits.
Fraction lost(const Fraction& square, std::uint64_t first) {
    Fraction result{};
    for (std::uint64_t n = first + 80;; n -= 2) { // 80! > 2^384
        const Fraction term = quotient(square, n * (n + 1));
        result = n == first + 80 ? term : difference(term, product(term, result));
        if (n == first)
            break;
    }
    if (is_zero(result))
        result.words[0] = 1;
    return result;
}

// number * 2^exponent * factor as a pair, whose sum is 0 or on its side of whatever a double is.
DoubleDouble pair_of(const Fraction& number, int exponent, double factor) {
    int of_factor = 0;
    const double mantissa = std::frexp(factor, &of_factor);
    const auto whole = static_cast<std::uint64_t>(std::ldexp(mantissa, 53));
    std::uint64_t words[7], carry = 0;
    for (int i = 0; i <= last; ++i) {
        const Wide sum = Wide{whole} * number.words[i] + carry;
        words[i] = static_cast<std::uint64_t>(sum);
        carry = static_cast<std::uint64_t>(sum >> 64);
    }
    words[6] = carry;
    int top = 6;
    while (words[top] == 0)
        --top;
    const int zeros = std::countl_zero(words[top]);
    const auto word = [&](int i) {
        const std::uint64_t at = i >= 0 ? words[i] : 0, next = i >= 1 ? words[i - 1] : 0;
        return zeros == 0 ? at : at << zeros | next >> (64 - zeros);
    };
    std::uint64_t high = word(top) >> 11, rest = word(top) << 53 | word(top - 1) >> 11;
    std::uint64_t cut = word(top - 1) << 53;
    for (int i = top - 2; i >= 0; --i)
        cut |= word(i);
    rest |= static_cast<std::uint64_t>(cut != 0);
    const bool up = (rest >> 63) != 0;
    const auto low = static_cast<double>(up ? 0 - rest : rest);
    high += static_cast<std::uint64_t>(up);
    const int unit = exponent + of_factor - 53 + 64 * (top - 6) - zeros + 11;
    return {std::ldexp(static_cast<double>(high), unit), std::ldexp(up ? -low : low, unit - 64)};
}

} // namespace

SineCosine long_sine_cosine(const Angle& angle, double factor) {
    if (angle.remainder.high == 0)
        return scaled(sine_cosine(angle), factor);
    Fraction x = product(angle.size, quarter_of_pi);
    settle(x, angle.known);
    const int exponent = angle.exponent + 3;
    const Fraction square = shifted(product(x, x), 2 * exponent);
    Fraction less = product(x, lost(square, 2));
    if (is_zero(less))
        less.words[0] = 1;
    SineCosine turned{pair_of(difference(x, less), exponent, factor),
                      pair_of(difference({}, lost(square, 1)), 0, factor)};
    if (angle.remainder.high < 0)
        turned.sine = {-turned.sine.high, -turned.sine.low};
    return in_quarter(turned, angle);
}

} // namespace ropewalk
