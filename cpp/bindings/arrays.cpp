#include "bindings/bindings.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

namespace py = pybind11;

namespace ropewalk {
namespace {

bool may_overlap_any(const py::array& array, std::initializer_list<py::handle> others) {
    return std::any_of(others.begin(), others.end(), [&](const py::handle& other) {
        return is_plain_array(other) &&
               may_overlap(array, py::reinterpret_borrow<py::array>(other));
    });
}

// Whether the result for x can be written to out as it is, while the others are read.
bool takes_result(const py::array& out, const py::array& x,
                  std::initializer_list<py::handle> others) {
    const py::ssize_t rank = x.ndim();
    if (out.ndim() != rank || !std::equal(x.shape(), x.shape() + rank, out.shape()) ||
        !out.dtype().is(x.dtype()) || !out.writeable())
        return false;
    const bool same =
        out.data() == x.data() && std::equal(x.strides(), x.strides() + rank, out.strides());
    return (same || !may_overlap(out, x)) && !may_overlap_any(out, others) && !overlaps_itself(out);
}

// That type is of ml_dtypes. NumPy numbers such types when they are imported, from 256 on; to ask
// for the name each time would take as long as a small call.
bool is_bfloat16(const py::dtype& dtype) {
    static std::atomic<int> known = -1;
    const int number = dtype.num();
    if (number >= 256 && number != known && py::str(dtype.attr("name")).equal(py::str("bfloat16")))
        known = number;
    return number == known;
}

} // namespace

bool is_c_contiguous(const py::array& array) {
    return (array.flags() & py::array::c_style) == py::array::c_style;
}

void require(bool condition, const char* message) {
    if (!condition)
        throw py::value_error(message);
}

std::int64_t stride_of(const py::array& array, std::int64_t axis) {
    if (array.shape(axis) <= 1 || array.size() == 0)
        return 0;
    require(array.strides(axis) % array.itemsize() == 0, "whole elements between rows");
    return array.strides(axis) / array.itemsize();
}

bool is_plain_array(const py::handle& handle) {
    return Py_IS_TYPE(handle.ptr(), py::detail::npy_api::get().PyArray_Type_) &&
           (py::detail::array_proxy(handle.ptr())->flags &
            py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0;
}

bool may_overlap(const py::array& a, const py::array& b) {
    // From the first element to behind the last one.
    const auto extent = [](const py::array& array) {
        const auto* begin = static_cast<const char*>(array.data());
        const char* end = begin + array.itemsize();
        for (py::ssize_t i = 0; i < array.ndim(); ++i) {
            const py::ssize_t span = (array.shape(i) - 1) * array.strides(i);
            (span < 0 ? begin : end) += span;
        }
        return std::pair{begin, end};
    };
    const auto [a_begin, a_end] = extent(a);
    const auto [b_begin, b_end] = extent(b);
    return a_begin < b_end && b_begin < a_end;
}

bool overlaps_itself(const py::array& array) {
    if (array.size() == 0 || is_c_contiguous(array))
        return false;
    std::vector<std::pair<py::ssize_t, py::ssize_t>> axes; // how far apart, and how many
    for (py::ssize_t i = 0; i < array.ndim(); ++i)
        if (array.shape(i) > 1)
            axes.emplace_back(std::abs(array.strides(i)), array.shape(i));
    std::sort(axes.begin(), axes.end());
    py::ssize_t extent = array.itemsize();
    return std::any_of(axes.begin(), axes.end(), [&](const auto& axis) {
        const bool overlaps = axis.first < extent;
        extent += (axis.second - 1) * axis.first;
        return overlaps;
    });
}

bool broadcasts(const py::array& array, const std::vector<std::int64_t>& axes) {
    const py::ssize_t missing = static_cast<py::ssize_t>(axes.size()) - array.ndim();
    if (missing < 0)
        return false;
    for (py::ssize_t i = 0; i < array.ndim(); ++i)
        if (array.shape(i) != 1 && array.shape(i) != axes[static_cast<std::size_t>(missing + i)])
            return false;
    return true;
}

bool has_rows(const py::handle& handle, py::ssize_t axes) {
    if (!is_plain_array(handle))
        return false;
    const auto array = py::reinterpret_borrow<py::array>(handle);
    return array.ndim() >= axes && array.strides(array.ndim() - 1) == array.itemsize();
}

bool is_native_float(const py::dtype& dtype) {
    // NumPy's numbers of its own types: others may be of kind 'f', too.
    constexpr int float16 = 23, float32 = 11, float64 = 12;
    const int number = dtype.num();
    return (number == float16 || number == float32 || number == float64 || is_bfloat16(dtype)) &&
           dtype.byteorder() == '=';
}

bool is_native_int64(const py::dtype& dtype) {
    return dtype.kind() == 'i' && dtype.itemsize() == 8 && dtype.byteorder() == '=';
}

bool takes_output(const py::handle& out, const py::dtype& dtype,
                  const std::vector<py::ssize_t>& shape, std::initializer_list<py::handle> read) {
    if (!is_plain_array(out))
        return false;
    const auto array = py::reinterpret_borrow<py::array>(out);
    return array.writeable() && is_c_contiguous(array) && dtype.is(array.dtype()) &&
           std::equal(shape.begin(), shape.end(), array.shape(), array.shape() + array.ndim()) &&
           !may_overlap_any(array, read);
}

std::optional<PlainData> plain_data(const py::handle& x_given, const py::handle& out_given,
                                    py::ssize_t axes, std::initializer_list<py::handle> others) {
    if (!has_rows(x_given, axes) || !(out_given.is_none() || has_rows(out_given, axes)))
        return {};
    const auto x = py::reinterpret_borrow<py::array>(x_given);
    if (!is_native_float(x.dtype()) || x.size() == 0 || x.nbytes() > small_bytes)
        return {};
    if (!out_given.is_none() &&
        !takes_result(py::reinterpret_borrow<py::array>(out_given), x, others))
        return {};
    return PlainData{x, py::reinterpret_borrow<py::object>(out_given)};
}

py::array PlainData::result() const {
    return out.is_none() ? new_array(x.dtype(), {x.shape(), x.shape() + x.ndim()})
                         : py::reinterpret_borrow<py::array>(out);
}

void check_out(const py::array& out, std::int64_t elements) {
    require(out.writeable() && is_c_contiguous(out) && out.size() == elements,
            "a writable out in C order of the right size");
}

Type type_of(const py::array& array) {
    const char kind = array.dtype().kind();
    const py::ssize_t bytes = array.itemsize();
    if (kind == 'f' && bytes == 8)
        return Type::float64;
    if (kind == 'f' && bytes == 4)
        return Type::float32;
    if (kind == 'f' && bytes == 2)
        return Type::float16;
    require(kind == 'V' && bytes == 2, "an array of a floating type"); // NumPy knows no more of it
    return Type::bfloat16;
}

std::optional<std::int64_t> plain_position(const py::handle& value) {
    if (!PyLong_CheckExact(value.ptr()))
        return {};
    int beyond = 0;
    const std::int64_t integer = PyLong_AsLongLongAndOverflow(value.ptr(), &beyond);
    if (beyond != 0 || integer > largest_position || integer < -largest_position)
        return {};
    return integer;
}

namespace {

std::optional<Positions> plain_range(const py::handle& range) {
    const py::object begin = range.attr("start"), step = range.attr("step");
    const auto count = PyObject_Size(range.ptr());
    const auto first = plain_position(begin), by = plain_position(step);
    if (count < 0)
        PyErr_Clear(); // more than a size holds
    if (count < 1 || !first || !by)
        return {};
    const std::int64_t room = *by > 0 ? largest_position - *first : largest_position + *first;
    if (count - 1 > room / std::abs(*by))
        return {};
    return Positions{count, *first, count > 1 ? *by : 1};
}

} // namespace

std::optional<PlainPositions> plain_positions(const py::handle& positions, std::int64_t most) {
    if (const auto position = plain_position(positions))
        return PlainPositions{{1, *position, 1}, {}};
    if (PyRange_Check(positions.ptr())) {
        const auto range = plain_range(positions);
        if (!range || range->count > most)
            return {};
        return PlainPositions{*range, {range->count}};
    }
    if (!is_plain_array(positions))
        return {};
    const auto array = py::reinterpret_borrow<py::array>(positions);
    const py::dtype dtype = array.dtype();
    const bool is_float64 = is_native_float(dtype) && dtype.itemsize() == 8;
    constexpr py::ssize_t most_axes = 64; // of NumPy's arrays, one of which the result adds
    if (!(is_float64 || is_native_int64(dtype)) || !is_c_contiguous(array) || array.size() > most ||
        array.ndim() == most_axes)
        return {};
    const Positions rows = positions_of(array, 1);
    if (rows.first_bad() >= 0)
        return {};
    return PlainPositions{rows, {array.shape(), array.shape() + array.ndim()}};
}

Positions positions_of(const py::handle& object, int axes) {
    if (PyRange_Check(object.ptr())) {
        const auto range = py::reinterpret_borrow<py::sequence>(object);
        const auto count = static_cast<std::int64_t>(range.size());
        const auto at = [&](std::size_t i) { return range[i].cast<std::int64_t>(); };
        const std::int64_t first = count > 0 ? at(0) : 0;
        return {count, first, count > 1 ? at(1) - first : 1};
    }
    const auto array = py::cast<py::array>(object);
    require(is_c_contiguous(array), "positions in C order");
    const auto count = static_cast<std::int64_t>(array.size()) / axes;
    require(count * axes == array.size(), "positions of all axes");
    const char kind = array.dtype().kind();
    require(array.itemsize() == 8 && (kind == 'i' || kind == 'f'), "positions of 8 bytes");
    if (kind == 'i')
        return {count, 0, 0, static_cast<const std::int64_t*>(array.data()), nullptr, axes};
    return {count, 0, 0, nullptr, static_cast<const double*>(array.data()), axes};
}

} // namespace ropewalk
