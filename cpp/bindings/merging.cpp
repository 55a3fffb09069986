#include "plans/merging.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <vector>

#include "bindings/bindings.hpp"

namespace py = pybind11;

namespace ropewalk {
namespace {

void run_merging(const Parts& parts, py::array& output, py::array& lse, int threads) {
    void* const to = output.mutable_data();
    auto* const sums = static_cast<double*>(lse.mutable_data());
    const auto all = static_cast<std::int64_t>(parts.outputs.size());
    const std::int64_t width = std::max<std::int64_t>(parts.dim, 16); // of what a row takes
    run_plan(times(all, times(parts.rows, width)),
             [&] { merge(*chosen_kernels, parts, to, sums, threads); });
}

// Outputs have shape (rows, dim), and lses (parts, rows).
void merge_arrays(const std::vector<py::array>& outputs, const py::array& lses, py::array& output,
                  py::array& lse, int threads) {
    require(!outputs.empty() && outputs[0].ndim() == 2, "rows of parts");
    Parts parts{type_of(outputs[0]), outputs[0].shape(0), outputs[0].shape(1), {}, {}, nullptr};
    for (const py::array& part : outputs) {
        require(type_of(part) == parts.type && part.ndim() == 2 && part.shape(0) == parts.rows &&
                    part.shape(1) == parts.dim,
                "parts of one type and shape");
        require(parts.dim <= 1 || part.strides(1) == part.itemsize(), "rows without gaps");
        parts.outputs.push_back(part.data());
        parts.strides.push_back(stride_of(part, 0));
    }
    require_type<double>(lses);
    require_type<double>(lse);
    require(is_c_contiguous(lses) && lses.ndim() == 2 && lses.shape(1) == parts.rows &&
                lses.shape(0) == static_cast<py::ssize_t>(outputs.size()),
            "a log-sum-exp of every row");
    require(type_of(output) == parts.type, "an output of the type of the parts");
    check_out(output, times(parts.rows, parts.dim));
    check_out(lse, parts.rows);
    parts.lses = static_cast<const double*>(lses.data());
    run_merging(parts, output, lse, threads);
}

// Whether that is an array without gaps, of that type, with those first axes of another.
bool is_part(const py::handle& given, const py::dtype& dtype, const py::array& first,
             py::ssize_t axes) {
    if (!is_plain_array(given))
        return false;
    const auto array = py::reinterpret_borrow<py::array>(given);
    return is_c_contiguous(array) && dtype.is(array.dtype()) && array.ndim() == axes &&
           std::equal(array.shape(), array.shape() + axes, first.shape());
}

// What most calls are made of: as many arrays of one shape as log-sum-exps, or each in one array.
// None for what takes the general way.
py::object merge_plainly(const py::object& outputs_given, const py::object& lses_given,
                         int threads) {
    const auto has_parts = [](const py::handle& given) {
        return PyTuple_CheckExact(given.ptr()) || PyList_CheckExact(given.ptr()) ||
               has_rows(given, 2);
    };
    if (!has_parts(outputs_given) || !has_parts(lses_given))
        return py::none();
    const py::tuple outputs(outputs_given), lses(lses_given); // which nobody changes meanwhile
    if (outputs.empty() || lses.size() != outputs.size() || !has_rows(outputs[0], 2))
        return py::none();
    const py::array first = outputs[0];
    const py::ssize_t axes = first.ndim();
    if (!is_native_float(first.dtype()) || first.size() == 0 || first.nbytes() > small_bytes)
        return py::none();
    const std::int64_t dim = first.shape(axes - 1);
    Parts parts{type_of(first), first.size() / dim, dim, {}, {}, nullptr};
    std::vector<double> sums;
    sums.reserve(outputs.size() * static_cast<std::size_t>(parts.rows));
    for (std::size_t part = 0; part < outputs.size(); ++part) {
        if (!is_part(outputs[part], first.dtype(), first, axes) ||
            !is_part(lses[part], py::dtype::of<double>(), first, axes - 1))
            return py::none();
        const py::array output = outputs[part], lse = lses[part];
        parts.outputs.push_back(output.data());
        parts.strides.push_back(dim);
        const auto* const from = static_cast<const double*>(lse.data());
        sums.insert(sums.end(), from, from + parts.rows);
    }
    parts.lses = sums.data();
    const std::vector<py::ssize_t> shape(first.shape(), first.shape() + axes);
    py::array output = new_array(first.dtype(), shape);
    py::array lse = new_array(py::dtype::of<double>(), {shape.begin(), shape.end() - 1});
    run_merging(parts, output, lse, threads);
    return py::make_tuple(output, lse);
}

} // namespace

void register_merging(py::module_& m) {
    m.def("merge", &merge_arrays);
    m.def("merge_plainly", &merge_plainly);
}

} // namespace ropewalk
