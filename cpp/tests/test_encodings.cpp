// What Python cannot see: how far the exact pairs, and the rows inside the library on every target,
// are from the true values, against the bounds that the rounding tests of kernels/rounding.hpp
// assume.
#include <cmath>
#include <cstdio>
#include <new>
#include <random>
#include <vector>

#include "exact/sincos.hpp"
#include "plans/frequencies.hpp"
#include "targets/dispatch.hpp"

namespace {

using namespace ropewalk;

int failures = 0;

void expect_at_most(double found, double bound, const char* what, const Kernels& kernels) {
    std::printf("%s: %s %.3g, at most %.3g\n", kernels.isa, what, found, bound);
    if (!(found <= bound)) {
        std::printf("FAILED\n");
        ++failures;
    }
}

// Random fractions of a turn stand for the geometric frequencies; a few are near a quarter turn.
std::vector<Frequency> some_frequencies(std::mt19937_64& random) {
    std::vector<Frequency> result(64);
    for (std::size_t i = 0; i < result.size(); ++i) {
        const int shift = static_cast<int>(i % 40);
        result[i] = {{random(), random(), random(), random() >> shift, 0}};
    }
    for (std::size_t i = 0; i < 8; ++i)
        result[i].words[3] = (static_cast<std::uint64_t>(i) << 61) + (random() >> 40);
    return result;
}

#ifdef __SIZEOF_FLOAT128__
__extension__ using Quad = __float128;
#else
using Quad = long double; // of 128 bits on AArch64
#endif

struct True {
    Quad sine, cosine;
};

// Taylor's series in 113 bits, of the remainder that the integers leave.
True true_values(Position position, const Frequency& frequency) {
    const Angle angle = angle_of(position, frequency);
    const Quad two_pi =
        Quad(0x1.921fb54442d18p+2) + Quad(0x1.1a62633145c07p-52) + Quad(-0x1.f1976b7ed8fbcp-108);
    Quad x = (Quad(angle.remainder.high) + Quad(angle.remainder.low)) * two_pi;
    for (int i = 0; i > angle.exponent; --i)
        x /= 2;
    Quad sine = 0, cosine = 0, term = 1;
    for (int n = 0; n < 30; term = term * x / ++n) {
        const Quad signed_term = n % 4 < 2 ? term : -term;
        (n % 2 == 0 ? cosine : sine) += signed_term;
    }
    const Quad s[4] = {sine, cosine, -sine, -cosine};
    const Quad turned = s[angle.quarter], other = s[(angle.quarter + 1) % 4];
    return {angle.negative ? -turned : turned, other};
}

double distance(DoubleDouble value, Quad truth) {
    return std::fabs(static_cast<double>((Quad(value.high) - truth) + Quad(value.low)));
}

double relative(DoubleDouble value, Quad truth) {
    return truth == 0 ? 0 : distance(value, truth) / std::fabs(static_cast<double>(truth));
}

struct Errors {
    double exact = 0, exact_relative = 0, plain = 0, precise = 0;

    void widen(double& error, DoubleDouble sine, DoubleDouble cosine, const True& truth) {
        error = std::fmax(error, distance(sine, truth.sine));
        error = std::fmax(error, distance(cosine, truth.cosine));
    }
};

void add_errors(const Kernels& kernels, const std::vector<Frequency>& pairs,
                const Positions& positions, Errors& errors) {
    const Position position = positions.at(0);
    const GroupedFrequencies frequencies(kernels, pairs, 1, static_cast<std::int64_t>(pairs.size()),
                                         0);
    const Scratch plain(frequencies.row_doubles(Precision::plain));
    const Scratch precise(frequencies.row_doubles(Precision::precise));
    frequencies.evaluate(positions, 0, Precision::plain, 1.0, plain.data());
    frequencies.evaluate(positions, 0, Precision::precise, 1.0, precise.data());
    for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
        const True truth = true_values(position, pairs[pair]);
        const SineCosine exact = sine_cosine(angle_of(position, pairs[pair]));
        const std::size_t group = pair / group_pairs, lane = pair % group_pairs;
        const double* p = plain.data() + group * 2 * group_pairs + lane;
        const double* q = precise.data() + group * 4 * group_pairs + lane;
        errors.widen(errors.exact, exact.sine, exact.cosine, truth);
        errors.exact_relative =
            std::fmax(errors.exact_relative, std::fmax(relative(exact.sine, truth.sine),
                                                       relative(exact.cosine, truth.cosine)));
        errors.widen(errors.plain, {p[0], 0}, {p[8], 0}, truth);
        errors.widen(errors.precise, {q[0], q[16]}, {q[8], q[24]}, truth);
    }
}

void check_rows(const Kernels& kernels) {
    std::mt19937_64 random(1);
    Errors worst;
    for (int repeat = 0; repeat < 500; ++repeat) {
        const auto pairs = some_frequencies(random);
        const auto size = static_cast<std::int64_t>(random() >> (11 + repeat % 50));
        const std::int64_t integer = repeat % 2 == 0 ? size : -size;
        const double real = std::ldexp(static_cast<double>(integer), -(repeat % 90));
        add_errors(kernels, pairs, {1, integer}, worst);
        add_errors(kernels, pairs, {1, 0, 0, nullptr, &real}, worst);
    }
    expect_at_most(worst.exact, 0x1p-104, "error of exact pairs", kernels);
    expect_at_most(worst.exact_relative, 0x1p-99, "relative error of exact pairs", kernels);
    expect_at_most(worst.precise, 0x1p-72, "error of precise rows", kernels);
    expect_at_most(worst.plain, 1.75 * 0x1p-54, "error of plain rows", kernels);
}

// Evaluated rows, centres of blocks, and rows around them: plain, then precise.
struct BlockErrors {
    double evaluated[2] = {}, centre[2] = {}, row[2] = {};
};

// The rows of a progression as plans/progression.cpp makes them: an evaluated anchor, multiplied by
// the factor, turned to the centre of a block, and that to a row before or behind it. Rows of three
// digits are products of as many.
void add_block_errors(const Kernels& kernels, std::mt19937_64& random, double factor,
                      BlockErrors& errors) {
    const auto pairs = some_frequencies(random);
    const GroupedFrequencies frequencies(kernels, pairs, 1, static_cast<std::int64_t>(pairs.size()),
                                         0);
    const std::int64_t step = random() % 2 == 0 ? 1 : 1 + static_cast<std::int64_t>(random() >> 44);
    const std::int64_t first =
        static_cast<std::int64_t>(random() >> (11 + random() % 50)) * (random() % 2 == 0 ? 1 : -1);
    for (const Precision precision : {Precision::plain, Precision::precise}) {
        const bool plain = precision == Precision::plain;
        const auto turn_row = plain ? kernels.turn_plain_row : kernels.turn_precise_row;
        const std::int64_t group_doubles = GroupedFrequencies::group_doubles(precision);
        const std::int64_t groups = frequencies.groups(),
                           width = frequencies.row_doubles(precision);
        const auto rows = frequencies.rows(step, precision);
        const Scratch anchor(width), centre(width), by(width), turned(width);
        frequencies.evaluate({1, first}, 0, precision, factor, anchor.data());

        const auto widen = [&](double& error, const Scratch& row, std::int64_t position) {
            const Positions one{1, position};
            for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
                const True truth = true_values(one.at(0), pairs[pair]);
                const double* p = row.data() +
                                  static_cast<std::int64_t>(pair / group_pairs) * group_doubles +
                                  pair % group_pairs;
                const double low_sine = plain ? 0 : p[2 * group_pairs];
                const double low_cosine = plain ? 0 : p[3 * group_pairs];
                error = std::fmax(error, distance({p[0], low_sine}, factor * truth.sine));
                error =
                    std::fmax(error, distance({p[group_pairs], low_cosine}, factor * truth.cosine));
            }
        };
        widen(errors.evaluated[!plain], anchor, first);
        for (int repeat = 0; repeat < 4; ++repeat) {
            const auto block = static_cast<std::int64_t>(random() % frequencies.super_blocks);
            const auto away = static_cast<std::int64_t>(1 + random() % reach);
            const std::int64_t middle = first + step * block * block_rows;
            turn_row(anchor.data(), rows.blocks.data() + block * width, groups, centre.data(),
                     group_doubles);
            widen(errors.centre[!plain], centre, middle);
            for (const int sign : {1, -1}) { // backwards: by the step with its sines negated
                for (std::int64_t i = 0; i < width; ++i)
                    by.data()[i] = rows.steps.data()[(away - 1) * width + i] *
                                   (i / group_pairs % 2 == 0 ? sign : 1);
                turn_row(centre.data(), by.data(), groups, turned.data(), group_doubles);
                widen(errors.row[!plain], turned, middle + sign * away * step);
            }
        }
        frequencies.expect(1 << 20, precision);
        for (int repeat = 0; repeat < 8 && factor == 1.0; ++repeat) {
            const Positions of_three{1, static_cast<std::int64_t>(random() >> 43)};
            if (!frequencies.evaluate_by_digits(of_three.at(0), precision, turned.data()))
                errors.row[!plain] = HUGE_VAL;
            widen(errors.row[!plain], turned, of_three.first);
        }
    }
}

// The bounds of kernels/table.hpp.
void check_blocks(const Kernels& kernels) {
    std::mt19937_64 random(2);
    BlockErrors worst;
    for (int repeat = 0; repeat < 60; ++repeat)
        add_block_errors(kernels, random, 1.0, worst);
    expect_at_most(worst.centre[0], 6.95 * 0x1p-54, "error of plain centres", kernels);
    expect_at_most(worst.row[0], 14.3 * 0x1p-54, "error of plain rows of blocks", kernels);
    expect_at_most(worst.centre[1], std::exp2(-70.4), "error of precise centres", kernels);
    expect_at_most(worst.row[1], std::exp2(-69.5), "error of precise rows of blocks", kernels);
    for (const double factor : {1.3, 0x1p-4, 16.0}) {
        BlockErrors scaled;
        for (int repeat = 0; repeat < 30; ++repeat)
            add_block_errors(kernels, random, factor, scaled);
        expect_at_most(scaled.evaluated[0], 3.75 * 0x1p-54 * factor,
                       "error of plain rows with a factor", kernels);
        expect_at_most(std::fmax(scaled.centre[0], scaled.row[0]), scaled_plain_error * factor,
                       "error of plain rows of blocks with a factor", kernels);
        expect_at_most(std::fmax(scaled.centre[1], scaled.row[1]), precise_error * factor,
                       "error of precise rows of blocks with a factor", kernels);
    }
}

// What could not be made the first time is made the next, and what another made meanwhile is kept.
void check_what_is_made_once() {
    Once<int> once;
    try {
        once.get([]() -> int { throw std::bad_alloc(); });
    } catch (const std::bad_alloc&) {
        failures += once.made() != nullptr ? 1 : 0;
    }
    const int& kept = once.get([&] {
        once.get([] { return 1; });
        return 2;
    });
    const bool same = once.made() == &kept && kept == 1 && &once.get([] { return 3; }) == &kept;
    std::printf("made once: %s\n", same ? "the same" : "OTHERS");
    failures += same ? 0 : 1;
}

} // namespace

int main() {
    check_what_is_made_once();
    if (sizeof(Quad) < 16) {
        std::printf("left out: nothing here is as exact as 113 bits\n");
        return failures != 0;
    }
    for (const Kernels* kernels : supported_kernels()) {
        check_rows(*kernels);
        check_blocks(*kernels);
    }
    return failures != 0;
}
