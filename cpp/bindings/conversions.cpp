#include <algorithm>
#include <cmath>
#include <limits>

#include "bindings/bindings.hpp"
#include "plans/pool.hpp"
#include "plans/team.hpp"
#include "plans/transposing.hpp"
#include "targets/dispatch.hpp"

namespace py = pybind11;

namespace ropewalk {
namespace {

// convert(first element, how many) of all, which threads share out.
template <class Convert>
void convert_all(std::int64_t elements, int threads, const Convert& convert) {
    constexpr std::int64_t share = std::int64_t{1} << 16; // of a task
    const auto task = [&](std::int64_t index, int) {
        convert(index * share, std::min(share, elements - index * share));
    };
    const Team team(4.0 * static_cast<double>(elements), threads);
    run_plan(elements, [&] { run_tasks(ceil_div(elements, share), team.threads(), Task(task)); });
}

bool is_native(const py::array& array) {
    const char order = array.dtype().byteorder();
    return order == '=' || order == '|';
}

// From float32 to a half type, or from that to float32.
void convert(const py::array& from, const py::array& to, int threads) {
    require(is_c_contiguous(from) && is_native(from) && is_native(to),
            "arrays without gaps, in this byte order");
    check_out(to, from.size());
    const Type own = type_of(from), other = type_of(to);
    const auto& kernels = kernels_in<float>(*chosen_kernels);
    const auto* const first = static_cast<const char*>(from.data());
    auto* const target = static_cast<char*>(py::array(to).mutable_data());
    if (other == Type::float32 && element_bytes(own) == 2)
        return convert_all(from.size(), threads, [&](std::int64_t at, std::int64_t count) {
            kernels.read[static_cast<std::size_t>(own)](first + 2 * at, count,
                                                        reinterpret_cast<float*>(target) + at);
        });
    require(own == Type::float32 && element_bytes(other) == 2, "float32 and a half type");
    convert_all(from.size(), threads, [&](std::int64_t at, std::int64_t count) {
        kernels.write[static_cast<std::size_t>(other)](reinterpret_cast<const float*>(first) + at,
                                                       count, target + 2 * at);
    });
}

// In C order, where elements lie side by side along another axis than the last; says whether they
// do.
bool transpose(const py::array& array, const py::array& out, int threads) {
    check_out(out, array.size());
    std::vector<std::int64_t> strides;
    for (py::ssize_t axis = 0; axis < array.ndim(); ++axis)
        strides.push_back(stride_of(array, axis));
    const Type type = type_of(array);
    const Transposing transposing(type, {array.shape(), array.shape() + array.ndim()}, strides);
    if (array.size() == 0 || !transposing.fits())
        return false;
    require(is_native(array) && type_of(out) == type, "arrays of one type, in this byte order");
    const void* const from = array.data();
    void* const to = py::array(out).mutable_data();
    run_plan(array.size(), [&] { transposing.copy(*chosen_kernels, from, to, threads); });
    return true;
}

// Of float64, of which a finite number stays one.
py::array bias_in_float32(const py::array& bias, int threads) {
    require(is_c_contiguous(bias), "an array without gaps");
    require_type<double>(bias);
    py::array result =
        new_array(py::dtype::of<float>(), {bias.shape(), bias.shape() + bias.ndim()});
    const auto* const from = static_cast<const double*>(bias.data());
    auto* const to = static_cast<float*>(result.mutable_data());
    convert_all(bias.size(), threads, [&](std::int64_t first, std::int64_t count) {
        constexpr double largest = std::numeric_limits<float>::max();
        std::transform(from + first, from + first + count, to + first, [largest](double value) {
            return static_cast<float>(std::isfinite(value) ? std::clamp(value, -largest, largest)
                                                           : value);
        });
    });
    return result;
}

} // namespace

void register_conversions(py::module_& m) {
    m.def("convert", &convert);
    m.def("transpose", &transpose);
    m.def("bias_in_float32", &bias_in_float32);
}

} // namespace ropewalk
