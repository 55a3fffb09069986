#include "plans/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bindings/bindings.hpp"

namespace py = pybind11;

namespace ropewalk {
namespace {

template <class T>
Strided<T> strided(const py::array& array, T* data) {
    const std::int64_t last = array.ndim() - 1;
    std::vector<std::int64_t> strides;
    for (std::int64_t i = 0; i < last; ++i)
        strides.push_back(stride_of(array, i));
    return {data, strides, stride_of(array, last)};
}

Softmax softmax_of(const py::array& x, const py::object& mask, double scale, bool in_float64) {
    require(x.ndim() > 0, "x with an axis");
    Softmax s{type_of(x),
              {x.shape(), x.shape() + x.ndim() - 1},
              x.shape(x.ndim() - 1),
              scale,
              in_float64,
              strided<const void>(x, x.data()),
              {}};
    if (!mask.is_none()) {
        const auto array = py::cast<py::array>(mask);
        require_type<bool>(array);
        require(array.ndim() > 0 && broadcasts(array, {x.shape(), x.shape() + x.ndim()}),
                "a mask that broadcasts to the shape of x");
        s.mask = strided(array, static_cast<const std::uint8_t*>(array.data()));
        const auto missing = static_cast<std::size_t>(x.ndim() - array.ndim());
        s.mask.strides.insert(s.mask.strides.begin(), missing, 0);
    }
    return s;
}

void softmax_arrays(const py::array& x, py::array& out, const py::object& mask, double scale,
                    bool in_float64, bool streamed, int threads) {
    const Softmax s = softmax_of(x, mask, scale, in_float64);
    require(type_of(out) == s.type && out.writeable() && out.ndim() == x.ndim() &&
                std::equal(x.shape(), x.shape() + x.ndim(), out.shape()),
            "a writable out as x");
    const Strided<void> y = strided(out, out.mutable_data());
    const Stores stores = streamed ? Stores::streamed : Stores::cached;
    run_unlocked([&] { softmax(*chosen_kernels, s, y, stores, threads); });
}

bool is_plain_mask(const py::handle& mask, const py::array& x) {
    if (!is_plain_array(mask))
        return false;
    const auto array = py::reinterpret_borrow<py::array>(mask);
    return py::dtype::of<bool>().is(array.dtype()) && array.ndim() > 0 &&
           broadcasts(array, {x.shape(), x.shape() + x.ndim()});
}

// What most calls are: an array as it is, along its last axis. None for others, which take the
// general way.
py::object softmax_plainly(const py::handle& x, const py::object& mask, const py::handle& axis,
                           const py::handle& scale, const py::handle& out, int threads) {
    auto plain = plain_data(x, out, 1, {mask});
    const auto along = plain_position(axis);
    if (!plain || !along || !PyFloat_CheckExact(scale.ptr()))
        return py::none();
    const double factor = PyFloat_AS_DOUBLE(scale.ptr());
    if ((*along != -1 && *along != plain->x.ndim() - 1) || !std::isfinite(factor) ||
        !(mask.is_none() || is_plain_mask(mask, plain->x)))
        return py::none();
    softmax_arrays(plain->x, plain->out, mask, factor, false, false, threads);
    return plain->out;
}

void logsumexp_arrays(const py::array& x, py::array& out, const py::object& mask, int threads) {
    const Softmax s = softmax_of(x, mask, 1.0, true);
    require_type<double>(out);
    std::int64_t rows = 1;
    for (const std::int64_t length : s.leading)
        rows *= length;
    check_out(out, rows);
    auto* const logs = static_cast<double*>(out.mutable_data());
    run_unlocked([&] { logsumexp(*chosen_kernels, s, logs, threads); });
}

} // namespace

void register_softmax(py::module_& m) {
    m.def("softmax", &softmax_arrays);
    m.def("softmax_plainly", &softmax_plainly);
    m.def("logsumexp", &logsumexp_arrays);
}

} // namespace ropewalk
