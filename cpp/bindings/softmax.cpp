#include "plans/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "bindings/bindings.hpp"

namespace py = pybind11;

namespace ropewalk {
namespace {

// Along that axis of the result; where the array has not the first ones it is the same for all.
template <class T>
Strided<T> strided(const py::array& array, T* data, std::int64_t rank, std::int64_t axis) {
    std::vector<std::int64_t> strides(static_cast<std::size_t>(rank - array.ndim()), 0);
    for (std::int64_t i = 0; i < array.ndim(); ++i)
        strides.push_back(stride_of(array, i));
    const auto along = strides.begin() + axis;
    const std::int64_t step = *along;
    strides.erase(along);
    return {data, strides, step};
}

Softmax softmax_of(const py::array& x, const py::object& mask, std::int64_t axis, double scale,
                   bool in_float64) {
    const std::int64_t rank = x.ndim();
    require(axis >= 0 && axis < rank, "an axis of x");
    std::vector<std::int64_t> leading(x.shape(), x.shape() + rank);
    leading.erase(leading.begin() + axis);
    Softmax s{type_of(x), leading,    x.shape(axis),
              scale,      in_float64, strided<const void>(x, x.data(), rank, axis),
              {}};
    if (!mask.is_none()) {
        const auto array = py::cast<py::array>(mask);
        require_type<bool>(array);
        require(broadcasts(array, {x.shape(), x.shape() + rank}),
                "a mask that broadcasts to the shape of x");
        s.mask = strided(array, static_cast<const std::uint8_t*>(array.data()), rank, axis);
    }
    return s;
}

void softmax_arrays(const py::array& x, py::array& out, const py::object& mask, std::int64_t axis,
                    double scale, bool in_float64, bool streamed, int threads) {
    const Softmax s = softmax_of(x, mask, axis, scale, in_float64);
    require(type_of(out) == s.type && out.writeable() && out.ndim() == x.ndim() &&
                std::equal(x.shape(), x.shape() + x.ndim(), out.shape()),
            "a writable out as x");
    const Strided<void> y = strided(out, out.mutable_data(), x.ndim(), axis);
    run_plan(x.size(), [&] { softmax(*chosen_kernels, s, y, stores_of(streamed), threads); });
}

bool is_plain_mask(const py::handle& mask, const py::array& x) {
    if (!is_plain_array(mask))
        return false;
    const auto array = py::reinterpret_borrow<py::array>(mask);
    return py::dtype::of<bool>().is(array.dtype()) &&
           broadcasts(array, {x.shape(), x.shape() + x.ndim()});
}

// The axis that a Python integer names, from the end where it is negative.
std::optional<std::int64_t> plain_axis(const py::handle& axis, std::int64_t rank) {
    const auto given = plain_position(axis);
    if (!given || *given < -rank || *given >= rank)
        return {};
    return *given < 0 ? *given + rank : *given;
}

// What most calls are: an array as it is. None for others, which take the general way.
py::object softmax_plainly(const py::handle& x, const py::object& mask, const py::handle& axis,
                           const py::handle& scale, const py::handle& out, int threads) {
    const auto plain = plain_data(x, out, 1, {mask});
    if (!plain || !PyFloat_CheckExact(scale.ptr()))
        return py::none();
    const double factor = PyFloat_AS_DOUBLE(scale.ptr());
    const auto along = plain_axis(axis, plain->x.ndim());
    if (!along || !std::isfinite(factor) || !(mask.is_none() || is_plain_mask(mask, plain->x)))
        return py::none();
    py::array result = plain->result();
    softmax_arrays(plain->x, result, mask, *along, factor, false, false, threads);
    return result;
}

void logsumexp_arrays(const py::array& x, py::array& out, const py::object& mask, std::int64_t axis,
                      int threads) {
    const Softmax s = softmax_of(x, mask, axis, 1.0, true);
    require_type<double>(out);
    check_out(out, product(s.leading));
    auto* const logs = static_cast<double*>(out.mutable_data());
    run_plan(x.size() + out.size(), [&] { logsumexp(*chosen_kernels, s, logs, threads); });
}

// As softmax_plainly, of float64 and float32.
py::object logsumexp_plainly(const py::handle& given, const py::object& mask,
                             const py::handle& axis, int threads) {
    if (!is_plain_array(given))
        return py::none();
    const auto x = py::reinterpret_borrow<py::array>(given);
    const auto along = plain_axis(axis, x.ndim());
    if (!along || !is_native_float(x.dtype()) || x.itemsize() < 4 || x.size() == 0 ||
        x.nbytes() > small_bytes || !(mask.is_none() || is_plain_mask(mask, x)))
        return py::none();
    std::vector<py::ssize_t> shape(x.shape(), x.shape() + x.ndim());
    shape.erase(shape.begin() + *along);
    py::array sums = new_array(py::dtype::of<double>(), shape);
    logsumexp_arrays(x, sums, mask, *along, threads);
    if (type_of(x) == Type::float64)
        return sums;
    py::array rounded = new_array(x.dtype(), shape);
    const StandardArithmetic arithmetic;
    const auto* const from = static_cast<const double*>(sums.data());
    std::transform(from, from + sums.size(), static_cast<float*>(rounded.mutable_data()),
                   [](double log) { return static_cast<float>(log); });
    return rounded;
}

} // namespace

void register_softmax(py::module_& m) {
    m.def("softmax", &softmax_arrays);
    m.def("softmax_plainly", &softmax_plainly);
    m.def("logsumexp", &logsumexp_arrays);
    m.def("logsumexp_plainly", &logsumexp_plainly);
}

} // namespace ropewalk
