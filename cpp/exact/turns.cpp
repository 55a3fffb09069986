#include "exact/turns.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace ropewalk {
namespace {

__extension__ using Wide = unsigned __int128;

template <int N>
struct Words {
    std::uint64_t at[static_cast<std::size_t>(N)]; // least significant first
};

template <int N>
void negate(Words<N>& number) {
    std::uint64_t carry = 1;
    for (std::uint64_t& word : number.at) {
        word = ~word + carry;
        carry = carry != 0 && word == 0;
    }
}

template <int N>
Words<N> product(std::uint64_t factor, const Words<5>& number) {
    Words<N> result{};
    std::uint64_t carry = 0;
    for (int i = 0; i < N && i < 5; ++i) {
        const Wide sum = Wide{factor} * number.at[i] + carry;
        result.at[i] = static_cast<std::uint64_t>(sum);
        carry = static_cast<std::uint64_t>(sum >> 64);
    }
    if constexpr (N > 5)
        result.at[5] = carry;
    return result;
}

// The remainder of an angle: the number, taken as a fraction below 1, without its leading zeros.
// The pair of doubles has its 106 leading bits.
template <int N>
void set_remainder(const Words<N>& number, Angle& angle) {
    int top = N - 1;
    while (top >= 0 && number.at[top] == 0)
        --top;
    if (top < 0)
        return;
    const int zeros = std::countl_zero(number.at[top]);
    const auto word = [&](int i) { return i >= 0 ? number.at[i] : 0; };
    for (int i = 5; i >= 0; --i, --top)
        angle.size.words[i] =
            zeros == 0 ? word(top) : word(top) << zeros | word(top - 1) >> (64 - zeros);
    angle.exponent -= zeros + 64 * (N - 7 - top);
    const std::uint64_t first = angle.size.words[5], second = angle.size.words[4];
    const double high = static_cast<double>(first >> 11) * 0x1p-53;
    const double low = static_cast<double>((first << 53) | (second >> 11)) * 0x1p-117;
    const double sum = high + low;
    angle.remainder = {sum, low - (sum - high)};
}

// The nearest quarter turn of a fraction of a turn, and what is left.
template <int N>
Angle nearest_quarter(Words<N> fraction, bool negative, int known) {
    std::uint64_t& top = fraction.at[N - 1];
    const std::uint64_t quarter = (top + (1ULL << 61)) >> 62; // wraps: the last eighth is 0
    top -= quarter << 62;
    const bool below = (top >> 63) != 0;
    if (below)
        negate(fraction);
    Angle angle{negative, static_cast<unsigned>(quarter), 0, {}, {}, known};
    set_remainder(fraction, angle);
    if (below)
        angle.remainder = {-angle.remainder.high, -angle.remainder.low};
    return angle;
}

Words<5> magnitude_of(const Frequency& frequency, bool& negative) {
    Words<5> magnitude{};
    for (int i = 0; i < 5; ++i)
        magnitude.at[i] = frequency.words[i];
    negative = (frequency.words[4] >> 63) != 0;
    if (negative)
        negate(magnitude);
    return magnitude;
}

// The leading bits of a multiple that its rounding, of half a unit in the last place, leaves alone:
// all of a frequency of 0.
int known_bits(const Words<5>& magnitude) {
    int top = 4;
    while (top > 0 && magnitude.at[top] == 0)
        --top;
    if (magnitude.at[top] == 0)
        return 384;
    return 64 * top + 62 - std::countl_zero(magnitude.at[top]);
}

// A shift of more than this leaves |position| < 2^-63, less than 1/8 turn at 2^60 turns a position.
constexpr int largest_shift = 116;

// product * 2^-shift as a fraction of a turn; shift in 0..largest_shift.
Words<6> fraction_of(const Words<6>& product, int shift) {
    // The point stands behind bit 256 + shift: move it behind bit 384, and let whole turns go.
    const int left = 128 - shift, words = left / 64, bits = left % 64;
    Words<6> result{};
    for (int i = words; i < 6; ++i) {
        result.at[i] = product.at[i - words] << bits;
        if (bits != 0 && i > words)
            result.at[i] |= product.at[i - words - 1] >> (64 - bits);
    }
    return result;
}

// by in 1..63.
template <int N>
void shift_right(Words<N>& number, int by) {
    for (int i = 0; i < N; ++i)
        number.at[i] = number.at[i] >> by | (i + 1 < N ? number.at[i + 1] << (64 - by) : 0);
}

} // namespace

Position Position::of(std::int64_t value) {
    const bool negative = value < 0;
    const auto bits = static_cast<std::uint64_t>(value);
    return {negative ? 0 - bits : bits, 0, negative};
}

Position Position::of(double value) {
    // Numbers below the normal ones have the exponent of the least of these, and no bit before it.
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const int field = static_cast<int>(bits >> 52 & 0x7ff);
    std::uint64_t magnitude = (bits & 0x000fffffffffffff) | std::uint64_t{field != 0} << 52;
    int exponent = std::max(field, 1) - 1075;
    if (exponent >= 0) {
        magnitude <<= exponent;
        exponent = 0;
    } else if (magnitude != 0) {
        const int zeros = std::min(std::countr_zero(magnitude), -exponent);
        magnitude >>= zeros;
        exponent += zeros;
    }
    return {magnitude, magnitude == 0 ? 0 : -exponent, value < 0};
}

Angle angle_of(Position position, const Frequency& frequency) {
    bool negative = false;
    const Words<5> turns = magnitude_of(frequency, negative);
    negative = negative != position.negative;
    const int known = known_bits(turns);
    if (position.shift == 0)
        return nearest_quarter(product<4>(position.magnitude, turns), negative, known);
    const Words<6> product_of_all = product<6>(position.magnitude, turns);
    if (position.shift <= largest_shift)
        return nearest_quarter(fraction_of(product_of_all, position.shift), negative, known);
    Angle angle{negative, 0, 128 - position.shift, {}, {}, known};
    set_remainder(product_of_all, angle);
    return angle;
}

void TurnSum::add(Position position, const Frequency& frequency) {
    bool negative = false;
    const Words<5> turns = magnitude_of(frequency, negative);
    if (position.magnitude != 0)
        known_ = std::min(known_, known_bits(turns) - 53); // a sum may cancel
    const Words<6> product_of_all = product<6>(position.magnitude, turns);
    Words<6> fraction = fraction_of(product_of_all, std::min(position.shift, largest_shift));
    for (int rest = position.shift - largest_shift; rest > 0; rest -= 32)
        shift_right(fraction, std::min(rest, 32));
    if (negative != position.negative)
        negate(fraction);
    bool carry = false;
    for (int i = 0; i < 6; ++i) {
        const Wide sum = Wide{words_[i]} + fraction.at[i] + static_cast<std::uint64_t>(carry);
        words_[i] = static_cast<std::uint64_t>(sum);
        carry = (sum >> 64) != 0;
    }
}

Angle TurnSum::angle() const {
    Words<6> fraction{};
    std::copy_n(words_, 6, fraction.at);
    const bool negative = (words_[5] >> 63) != 0;
    if (negative)
        negate(fraction);
    return nearest_quarter(fraction, negative, known_);
}

LeadingTurns leading_turns_of_small(Position position, const Frequency& frequency) {
    // Two's complement, the point behind bit 256 + shift. The first word of the frequency makes
    // less than 2^117, and the last bit that counts is 2^192 or a higher one.
    std::uint64_t words[6], carry = 0;
    for (int i = 1; i < 5; ++i) {
        const Wide sum = Wide{position.magnitude} * frequency.words[i] + carry;
        words[i] = static_cast<std::uint64_t>(sum);
        carry = static_cast<std::uint64_t>(sum >> 64);
    }
    const bool below = (frequency.words[4] >> 63) != 0;
    words[5] = carry - (below ? position.magnitude : 0);

    const int shift = std::min(position.shift, largest_shift);
    const std::uint64_t* const at = words + 2 + shift / 64;
    const int bits = shift % 64;
    const auto word = [&](int i) {
        return bits == 0 ? at[i] : at[i] >> bits | at[i + 1] << (64 - bits);
    };
    LeadingTurns turns{word(1), word(0)};
    for (int rest = position.shift - shift; rest > 0; rest -= 32) { // tiny: |turns| < 1/8
        const int by = std::min(rest, 32);
        turns.low = turns.low >> by | turns.high << (64 - by);
        turns.high = static_cast<std::uint64_t>(static_cast<std::int64_t>(turns.high) >> by);
    }
    return position.negative ? turns.negated() : turns;
}

} // namespace ropewalk
