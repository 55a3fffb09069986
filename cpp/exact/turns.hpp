// Argument reduction without an error: position x frequency modulo one turn, in integers.
//
// A frequency is a fixed-point fraction of a turn, so whole turns fall away when unsigned integers
// wrap round, and no digit of pi is needed at run time. The remainder to the nearest quarter turn
// keeps 106 leading bits for a pair of doubles, and all, however close to zero it lies.
// docs/accuracy.md holds the argument.
#pragma once

#include <cstdint>

namespace ropewalk {

// Turns per position, two's complement, least significant word first: four words of fraction, one
// of whole turns.
struct Frequency {
    std::uint64_t words[5];
};

// A finite real number: (negative ? -1 : 1) * magnitude * 2^-shift, shift >= 0.
struct Position {
    std::uint64_t magnitude;
    int shift;
    bool negative;

    static Position of(std::int64_t value);
    static Position of(double value); // finite
};

// A fraction below 1, least significant word first.
struct Fraction {
    std::uint64_t words[6];
};

// An unevaluated sum, |low| <= ulp(high) / 2.
struct DoubleDouble {
    double high, low;
};

// angle = sign * (quarter / 4 + remainder * 2^exponent) turns, |remainder * 2^exponent| <= 1/8.
struct Angle {
    bool negative;
    unsigned quarter;
    int exponent;
    DoubleDouble remainder; // high is 0 or lies in [1/2, 1] in size
    Fraction size;          // of the remainder, with all bits there are; 0 or at least 1/2
    int known;              // of these, as the frequency is rounded
};

Angle angle_of(Position position, const Frequency& frequency);

// A sum of positions x frequencies, one a axis: modulo one turn, within 2^-384 of it.
class TurnSum {
  public:
    void add(Position position, const Frequency& frequency);
    Angle angle() const;

  private:
    std::uint64_t words_[6] = {}; // two's complement, all of them fraction
    int known_ = 384;
};

// The leading 128 bits of the fraction of a turn, within 2^-127 of it for positions up to 2^53 in
// size.
struct LeadingTurns {
    std::uint64_t high, low;

    LeadingTurns negated() const {
        return {~high + static_cast<std::uint64_t>(low == 0), std::uint64_t{0} - low};
    }
    LeadingTurns operator+(LeadingTurns other) const {
        const std::uint64_t sum = low + other.low;
        return {high + other.high + static_cast<std::uint64_t>(sum < low), sum};
    }
};

// Where the shift is 64 and more.
LeadingTurns leading_turns_of_small(Position position, const Frequency& frequency);

inline LeadingTurns leading_turns(Position position, const Frequency& frequency) {
    __extension__ using Wide = unsigned __int128;
    // Two's complement needs no sign here: whole turns fall away.
    const auto times = [&](const std::uint64_t* words) {
        const std::uint64_t p = position.magnitude;
        const auto carry = static_cast<std::uint64_t>((Wide{p} * words[0]) >> 64);
        const Wide low = Wide{p} * words[1] + carry;
        const LeadingTurns turns{p * words[2] + static_cast<std::uint64_t>(low >> 64),
                                 static_cast<std::uint64_t>(low)};
        return position.negative ? turns.negated() : turns;
    };
    const std::uint64_t* const words = frequency.words;
    const int shift = position.shift;
    if (shift == 0)
        return times(words + 1);
    if (shift >= 64)
        return leading_turns_of_small(position, frequency);
    std::uint64_t shifted[3]; // the frequency divided by 2^shift, but for bits that do not count
    for (int i = 0; i < 3; ++i)
        shifted[i] = words[i + 1] >> shift | words[i + 2] << (64 - shift);
    return times(shifted);
}

} // namespace ropewalk
