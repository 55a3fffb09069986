// Exponentials and hyperbolic tangents of every target against the C library in more precision, and
// against each other to the last bit; rows that become lanes, and lanes that become rows.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "targets/dispatch.hpp"

namespace {

using ropewalk::AttentionKernels;
using ropewalk::block_keys;
using ropewalk::Kernels;
using ropewalk::Tile;

int failures = 0;

void expect(bool condition, const char* isa, const char* what) {
    if (!condition) {
        std::printf("%s: %s\n", isa, what);
        ++failures;
    }
}

template <class T>
const AttentionKernels<T>& kernels_of(const Kernels& kernels);
template <>
const AttentionKernels<float>& kernels_of(const Kernels& kernels) {
    return kernels.attention32;
}
template <>
const AttentionKernels<double>& kernels_of(const Kernels& kernels) {
    return kernels.attention64;
}

// A tile of one vector, whose first key has logit 0, the greatest: other weights are e^logit.
template <class T>
std::vector<T> exponentials(const Kernels& kernels, std::vector<T> x) {
    const auto& attention = kernels_of<T>(kernels);
    const auto lanes = static_cast<std::size_t>(attention.lanes);
    const std::size_t room = (block_keys - 1) * lanes;
    for (std::size_t begin = 0; begin < x.size(); begin += room) {
        std::vector<T> logits(block_keys * lanes), maximum(lanes);
        std::vector<double> sum(lanes), rescale(lanes);
        const auto first = x.begin() + static_cast<std::ptrdiff_t>(begin);
        const std::size_t count = std::min(room, x.size() - begin);
        std::copy_n(first, count, logits.begin() + static_cast<std::ptrdiff_t>(lanes));
        attention.many.weigh({1,
                              0,
                              0,
                              nullptr,
                              logits.data(),
                              maximum.data(),
                              sum.data(),
                              rescale.data(),
                              nullptr,
                              false,
                              {block_keys}});
        std::copy_n(logits.begin() + static_cast<std::ptrdiff_t>(lanes), count, first);
    }
    return x;
}

// With a cap of 1 the capped logits are their tangents.
template <class T>
std::vector<T> tangents(const Kernels& kernels, std::vector<T> x) {
    const auto& attention = kernels_of<T>(kernels);
    const auto lanes = static_cast<std::size_t>(attention.lanes);
    x.resize((x.size() + lanes - 1) / lanes * lanes);
    attention.cap(x.data(), static_cast<std::int64_t>(x.size()), T{1});
    return x;
}

template <class T>
long double unit_in_last_place(long double value) {
    int exponent = 0;
    std::frexp(value, &exponent);
    return std::ldexp(1.0L, std::max(exponent, std::numeric_limits<T>::min_exponent) -
                                std::numeric_limits<T>::digits);
}

template <class T>
double largest_error(const std::vector<T>& x, const std::vector<T>& y,
                     long double (*function)(long double)) {
    long double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const long double exact = function(static_cast<long double>(x[i]));
        const long double error = std::abs(static_cast<long double>(y[i]) - exact);
        largest = std::max(largest, error / unit_in_last_place<T>(exact));
    }
    return static_cast<double>(largest);
}

// Arguments of every size, between 0 and the one whose exponential is the smallest normal number,
// and near halves of ln 2, where the reduction of arguments changes its mind.
template <class T>
std::vector<T> arguments() {
    std::vector<T> all;
    const T smallest = std::log(std::numeric_limits<T>::min());
    // Where long double has 113 bits it is software, and slow.
    const int thinner = std::numeric_limits<long double>::digits > 64 ? 30 : 1;
    for (double size = 1e-30; size < -static_cast<double>(smallest); size *= 1 + 0.00003 * thinner)
        all.push_back(static_cast<T>(-size));
    for (T x = 0; x > smallest; x -= static_cast<T>(0.00021701 * thinner))
        all.push_back(x);
    for (int n = 0; n < 120; ++n) {
        T x = static_cast<T>(-(n + 0.5) * 0.693147180559945309417);
        for (int i = 0; i < 50; ++i, x = std::nextafter(x, T{0}))
            all.push_back(x);
    }
    std::erase_if(all, [&](T x) { return x <= smallest; });
    return all;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Every element says where it was; 35 columns are whole blocks and some more.
template <class T>
void check_turning(const Kernels& kernels) {
    const auto& attention = kernels_of<T>(kernels);
    const auto lanes = static_cast<std::size_t>(attention.lanes);
    const std::size_t columns = 35, stride = lanes + 8;
    std::vector<T> rows(lanes * columns), turned(columns * stride);
    std::vector<const T*> starts(lanes);
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i] = static_cast<T>(i);
    for (std::size_t row = 0; row < lanes; ++row)
        starts[row] = rows.data() + row * columns;
    const auto count = static_cast<std::int64_t>(columns), step = static_cast<std::int64_t>(stride);
    attention.lane.rows_to_lanes(starts.data(), count, step, turned.data());
    bool right = true;
    for (std::size_t i = 0; i < turned.size(); ++i) {
        const std::size_t row = i % stride, column = i / stride;
        right &= turned[i] == (row < lanes ? static_cast<T>(row * columns + column) : T{0});
    }
    expect(right, kernels.isa, "rows become other lanes");

    // Two vectors of outputs, whose sums are 2: queries are lanes, and all but one are wanted.
    const std::size_t queries = 2 * lanes - 1;
    std::vector<double> outputs(columns * 2 * lanes), sums(2 * lanes, 2.0);
    for (std::size_t i = 0; i < outputs.size(); ++i)
        outputs[i] = static_cast<double>(2 * i);
    std::vector<T> back((queries + 1) * columns, T{-1});
    attention.many.divide(
        {2, 0, count, nullptr, nullptr, nullptr, sums.data(), nullptr, outputs.data(), false, {}},
        static_cast<std::int64_t>(queries), back.data());
    right = true;
    for (std::size_t i = 0; i < back.size(); ++i) {
        const std::size_t row = i / columns, column = i % columns;
        right &= back[i] == (row < queries ? static_cast<T>(column * 2 * lanes + row) : T{-1});
    }
    expect(right, kernels.isa, "lanes become other rows");
}

template <class T>
void check() {
    const std::vector<T> x = arguments<T>();
    std::vector<T> both_signs = x;
    for (const T value : x)
        both_signs.push_back(-value);
    const Kernels& scalar = *ropewalk::supported_kernels().back();
    const std::vector<T> exponentials_there = exponentials<T>(scalar, x);
    const std::vector<T> tangents_there = tangents<T>(scalar, both_signs);
    const auto exp = [](long double v) { return std::exp(v); };
    const auto tanh = [](long double v) { return std::tanh(v); };
    std::printf("float%zu: e^x %.3f, tanh %.3f units in the last place\n", 8 * sizeof(T),
                largest_error<T>(x, exponentials_there, exp),
                largest_error<T>(both_signs, tangents_there, tanh));
    expect(largest_error<T>(x, exponentials_there, exp) < 1, "scalar", "e^x is off by a unit");
    expect(largest_error<T>(both_signs, tangents_there, tanh) < 3, "scalar",
           "tanh is off by three units");

    const T infinity = std::numeric_limits<T>::infinity();
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const T smallest = std::numeric_limits<T>::min(), least = std::log(smallest);
    for (const Kernels* kernels : ropewalk::supported_kernels()) {
        const char* const isa = kernels->isa;
        check_turning<T>(*kernels);
        expect(same_bits(exponentials<T>(*kernels, x), exponentials_there), isa, "other bits");
        expect(same_bits(tangents<T>(*kernels, both_signs), tangents_there), isa, "other bits");
        const std::vector<T> edges = exponentials<T>(
            *kernels, {0, -infinity, nan, least + least / 64, -std::numeric_limits<T>::max()});
        expect(edges[0] == 1 && edges[1] == 0 && std::isnan(edges[2]) && edges[3] == 0 &&
                   edges[4] == 0,
               isa, "e^x of 0, -inf, NaN and of what is no normal number");
        T at = least;
        for (int i = 0; i < 10; ++i)
            at = std::nextafter(at, -infinity);
        for (int i = 0; i < 20; ++i, at = std::nextafter(at, T{0})) {
            const T value = exponentials<T>(*kernels, {at})[0];
            expect(value == 0 || value >= smallest, isa, "a weight is subnormal");
        }
        const std::vector<T> far = tangents<T>(*kernels, {infinity, -infinity, nan, T{1000}, 0});
        expect(far[0] == 1 && far[1] == -1 && std::isnan(far[2]) && far[3] == 1 && far[4] == 0, isa,
               "tanh of infinities, NaN, 1000 and 0");
    }
}

} // namespace

int main() {
    check<float>();
    check<double>();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
