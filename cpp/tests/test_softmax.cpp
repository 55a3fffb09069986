// Weights of softmax in float32, and logarithms, on every target: how far they are off, that
// neighbouring logits keep their order, and that all targets have the same bits.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "targets/dispatch.hpp"

namespace {

using ropewalk::Kernels;

int failures = 0;

void expect(bool condition, const char* isa, const char* what) {
    if (!condition) {
        std::printf("%s: %s\n", isa, what);
        ++failures;
    }
}

// Beside a greatest logit of 0: e^x times a power of two.
std::vector<float> weights_of(const Kernels& kernels, const std::vector<float>& x) {
    std::vector<float> weights(x.size());
    double sums[16] = {};
    kernels.float32.softmax.weigh(x.data(), static_cast<std::int64_t>(x.size()), 0.0F, 1.0,
                                  weights.data(), sums);
    return weights;
}

// Neighbours of a range of logits below 0, from the smallest on.
template <class Function>
void each_part(float from, float to, Function function) {
    constexpr std::size_t most = 1 << 14;
    for (float x = from; x < to;) {
        std::vector<float> part;
        for (; part.size() < most && x < to; x = std::nextafter(x, 0.0F))
            part.push_back(x);
        function(part);
    }
}

// In units in the last place of the weights.
double largest_error(const std::vector<float>& x, const std::vector<float>& weights) {
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); i += 97) {
        const double exact = std::ldexp(std::exp(static_cast<double>(x[i])), 26);
        const double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
        largest = std::fmax(largest, std::abs(static_cast<double>(weights[i]) - exact) / unit);
    }
    return largest;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Long double, where it has more bits than double; where software computes it, for every eleventh,
// which is of all kinds.
constexpr int digits = std::numeric_limits<long double>::digits, looked_at = digits > 64 ? 11 : 1;
constexpr bool longer = digits > 53;

// Every float32 of four ranges: three that cross where the power changes, with remainders of
// all 24 bits, and one where differences of neighbours and powers are far from 1.
void check() {
    const auto all = ropewalk::supported_kernels();
    double error = 0;
    for (const float begin : {-0.06F, -1.0F, -3.0F, -100.0F}) {
        float before = 0;
        each_part(begin, begin < -50 ? begin + 2 : begin / 2, [&](const std::vector<float>& x) {
            const std::vector<float> there = weights_of(*all.back(), x);
            for (const float weight : there) {
                expect(weight >= before, all.back()->isa, "a larger logit has a smaller weight");
                before = weight;
            }
            error = std::fmax(error, largest_error(x, there));
            for (const Kernels* kernels : all)
                expect(same_bits(weights_of(*kernels, x), there), kernels->isa, "other bits");
        });
    }
    std::printf("e^x of softmax in float32: %.3f units\n", error);
    expect(error < 1.1, all.back()->isa, "e^x is off by more than 1.1 units");
}

// Beside long double, where that has more bits; powers of two, their neighbours, and numbers of all
// sizes, most of them near 1, where the logarithm is smallest.
void check_logarithms() {
    std::vector<double> x;
    for (int power = -1022; power < 1024; ++power)
        for (const double near : {1 - 0x1p-53, 1.0, 1 + 0x1p-52, 1.3, std::sqrt(2.0), 1.7})
            x.push_back(std::ldexp(near, power));
    for (int i = 1; i < 400000; ++i) {
        x.push_back(0.5 + i / 200000.0);
        x.push_back(1 + std::ldexp(i % 2 == 0 ? i : -i, -20 - i % 30));
    }
    const auto all = ropewalk::supported_kernels();
    std::vector<double> expected(x.size()), actual(x.size());
    const auto count = static_cast<std::int64_t>(x.size());
    all.back()->logarithms(x.data(), count, expected.data());
    long double error = 0;
    for (std::size_t i = 0; i < x.size() && longer; i += looked_at) {
        const long double exact = std::log(static_cast<long double>(x[i]));
        const int unit = exact == 0 ? 0 : std::ilogb(static_cast<double>(exact)) - 52;
        error = std::fmax(error, std::ldexp(std::fabs(expected[i] - exact), -unit));
    }
    std::printf("log: %.3Lf units\n", error);
    expect(error < 0.8L, all.back()->isa, "a logarithm is off by more than .8 units");
    for (const Kernels* kernels : all) {
        kernels->logarithms(x.data(), count, actual.data());
        expect(std::memcmp(actual.data(), expected.data(), x.size() * sizeof(double)) == 0,
               kernels->isa, "other logarithms");
        expect(kernels->logarithm(x[7]) == expected[7], kernels->isa, "another of one number");
        expect(kernels->logarithm(0) == -HUGE_VAL, kernels->isa, "a logarithm of 0");
        expect(std::isnan(kernels->logarithm(std::nan(""))), kernels->isa, "a logarithm of NaN");
    }
}

// What the log-sum-exp adds up, of sixteen elements.
std::vector<double> powers_of(const Kernels& kernels, const std::vector<double>& x) {
    std::vector<double> powers(16);
    kernels.sum_exponentials[static_cast<std::size_t>(ropewalk::Type::float64)](x.data(), 16,
                                                                                powers.data());
    return powers;
}

// Over all that is no infinity, and where the power of two changes; what is more or less becomes
// the largest or the smallest.
void check_short_exponentials() {
    const auto all = ropewalk::supported_kernels();
    long double error = 0;
    for (int i = 0; i < 200000; ++i) {
        std::vector<double> x(16);
        for (std::size_t lane = 0; lane < 16; ++lane) {
            const double n = i % 2044 - 1021, part = static_cast<double>(lane) / 16;
            x[lane] = std::fmin(
                709, std::fmax(-708, (n - 0.5 + part) * std::log(2.0) + std::ldexp(i / 2044, -12)));
        }
        const std::vector<double> there = powers_of(*all.back(), x);
        for (std::size_t lane = 0; lane < 16 && longer && i % looked_at == 0; ++lane)
            error = std::fmax(
                error, std::fabs(there[lane] / std::exp(static_cast<long double>(x[lane])) - 1));
        for (const Kernels* kernels : all)
            expect(powers_of(*kernels, x) == there, kernels->isa, "other powers of e");
    }
    std::printf("e^x of log-sum-exp: 2^%.2Lf\n", std::log2(error));
    expect(error < 0x1p-37L * 0.625L, all.back()->isa, "e^x is off by more than 2^-37.7");
    for (const Kernels* kernels : all) {
        std::vector<double> x(16, 0.0);
        x[0] = HUGE_VAL, x[1] = 709, x[2] = -HUGE_VAL, x[3] = -708, x[8] = std::nan("");
        const std::vector<double> powers = powers_of(*kernels, x);
        expect(powers[0] == powers[1] && powers[2] == powers[3] && powers[2] > 0, kernels->isa,
               "another limit");
        expect(powers[5] == 1, kernels->isa, "e^0 is not 1");
        expect(std::isnan(powers[8]), kernels->isa, "e^NaN is a number");
    }
}

} // namespace

int main() {
    check();
    check_logarithms();
    check_short_exponentials();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
