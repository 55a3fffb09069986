// What Python cannot see: how far the exact pairs, and the rows inside the library on every target,
// are from the true values, against the bounds that the rounding tests of kernels/rounding.hpp
// assume.
#include <cmath>
#include <cstdio>
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
        const SineCosine exact = sine_cosine(position, pairs[pair]);
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

} // namespace

int main() {
    if (sizeof(Quad) < 16) {
        std::printf("left out: nothing here is as exact as 113 bits\n");
        return 0;
    }
    for (const Kernels* kernels : supported_kernels())
        check_rows(*kernels);
    return failures != 0;
}
