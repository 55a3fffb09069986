#include "plans/attention.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "bindings/bindings.hpp"

namespace py = pybind11;

namespace ropewalk {
namespace {

// How an array lies along the leading axes of the result, aligned right, its own last axes left
// out: whole axes, axes of length 1, and heads that several heads of the result share.
Leading leading_of(const py::array& array, std::int64_t own, const std::vector<std::int64_t>& axes,
                   bool grouped = false) {
    Leading leading{std::vector<std::int64_t>(axes.size()),
                    std::vector<std::int64_t>(axes.size(), 1)};
    const std::int64_t missing = static_cast<std::int64_t>(axes.size()) - (array.ndim() - own);
    require(array.ndim() >= own && missing >= 0, "an array with no more axes than the result");
    for (auto i = static_cast<std::size_t>(missing); i < axes.size(); ++i) {
        const auto axis = static_cast<py::ssize_t>(i) - missing;
        const std::int64_t length = array.shape(axis);
        if (length == 1)
            continue;
        const bool heads = grouped && i + 1 == axes.size();
        require(length == axes[i] || (heads && length > 0 && axes[i] % length == 0),
                "an array that fits the result");
        leading.stride[i] = stride_of(array, axis);
        leading.group[i] = length == 0 ? 1 : axes[i] / length;
    }
    return leading;
}

DataRows rows_of(const py::array& array, const std::vector<std::int64_t>& leading,
                 std::int64_t count, std::int64_t dim) {
    const std::int64_t rank = array.ndim();
    require(rank >= 2 && array.shape(rank - 2) == count && array.shape(rank - 1) == dim,
            "rows that fit");
    require(dim <= 1 || array.size() == 0 || array.strides(rank - 1) == array.itemsize(),
            "rows without gaps");
    return {array.data(), leading_of(array, 2, leading, true), stride_of(array, rank - 2)};
}

template <class T, class InNumPy = T>
Scores<T> scores_of(const py::object& object, const Attention& a) {
    if (object.is_none())
        return {};
    const auto array = py::cast<py::array>(object);
    require_type<InNumPy>(array);
    const std::int64_t rank = array.ndim();
    require(rank >= 2, "a value for every query and key");
    const std::int64_t queries = array.shape(rank - 2), keys = array.shape(rank - 1);
    require((queries == 1 || queries == a.queries) && (keys == 1 || keys == a.keys),
            "a value for every query and key");
    return {static_cast<const T*>(array.data()), leading_of(array, 2, a.leading),
            stride_of(array, rank - 2), stride_of(array, rank - 1)};
}

template <class T>
PerHead<T> per_head(const py::object& object, const Attention& a) {
    if (object.is_none())
        return {};
    const auto array = py::cast<py::array>(object);
    require_type<T>(array);
    return {static_cast<const T*>(array.data()), leading_of(array, 0, a.leading)};
}

// An array (*leading, *last) to be written.
void* written(const py::object& object, const Attention& a, std::int64_t last) {
    if (object.is_none())
        return nullptr;
    auto array = py::cast<py::array>(object);
    std::int64_t size = a.queries * last;
    for (const std::int64_t length : a.leading)
        size *= length;
    check_out(array, size);
    return array.mutable_data();
}

template <class T>
void* written_as(const py::object& object, const Attention& a, std::int64_t last) {
    if (!object.is_none())
        require_type<T>(py::cast<py::array>(object));
    return written(object, a, last);
}

// Arrays of one type, without options.
Attention attention_of(const py::array& query, const py::array& key, const py::object& value,
                       const std::vector<std::int64_t>& leading) {
    require(query.ndim() >= 2 && key.ndim() >= 2, "rows of queries and keys");
    Attention a{};
    a.leading = leading;
    a.queries = query.shape(query.ndim() - 2);
    a.dim = query.shape(query.ndim() - 1);
    a.keys = key.shape(key.ndim() - 2);
    a.type = type_of(query);
    require(type_of(key) == a.type, "arrays of one type");
    a.query = rows_of(query, leading, a.queries, a.dim);
    a.key = rows_of(key, leading, a.keys, a.dim);
    if (!value.is_none()) {
        const auto array = py::cast<py::array>(value);
        require(type_of(array) == a.type && array.ndim() >= 2, "arrays of one type");
        a.value_dim = array.shape(array.ndim() - 1);
        a.value = rows_of(array, leading, a.keys, a.value_dim);
    }
    a.left = a.right = unlimited;
    return a;
}

void take_scores(Attention& a, const py::object& mask, const py::object& bias) {
    a.mask = scores_of<std::uint8_t, bool>(mask, a);
    if (a.in_float64 || a.type == Type::float64)
        a.bias64 = scores_of<double>(bias, a);
    else
        a.bias32 = scores_of<float>(bias, a);
}

// stages: scores, capped, biased and weights of the type computed with. left and right: None is
// unlimited; key_lengths lie within the keys.
void attend_arrays(const py::array& query, const py::array& key, const py::object& value,
                   const std::vector<std::int64_t>& leading, bool in_float64,
                   const py::object& output, const py::object& lse,
                   const std::array<py::object, 4>& stages, const std::array<py::object, 2>& window,
                   const py::object& offset, const py::object& mask, const py::object& bias,
                   const py::object& slopes, const py::object& key_lengths, double scale,
                   double softcap, const py::object& sinks, int threads) {
    Attention a = attention_of(query, key, value, leading);
    if (!output.is_none())
        require(!value.is_none() && type_of(py::cast<py::array>(output)) == a.type,
                "an output of the type of the values");
    a.output = written(output, a, a.value_dim);
    a.lse = static_cast<double*>(written_as<double>(lse, a, 1));
    a.in_float64 = in_float64;
    const bool wide = in_float64 || a.type == Type::float64;
    const auto stage = [&](std::size_t i) {
        return wide ? written_as<double>(stages[i], a, a.keys)
                    : written_as<float>(stages[i], a, a.keys);
    };
    a.stages = {stage(0), stage(1), stage(2), stage(3)};
    const auto limit = [](const py::object& of) {
        return of.is_none() ? unlimited : of.cast<std::int64_t>();
    };
    a.left = limit(window[0]);
    a.right = limit(window[1]);
    a.offset = per_head<std::int64_t>(offset, a);
    a.key_lengths = per_head<std::int64_t>(key_lengths, a);
    a.slopes = per_head<double>(slopes, a);
    a.sinks = per_head<double>(sinks, a);
    take_scores(a, mask, bias);
    a.scale = scale;
    a.softcap = softcap;
    run_unlocked([&] { attend(*chosen_kernels, a, threads); });
}

// Whether the leading axes of keys or values broadcast to those of the query, but that heads may be
// fewer where there are axes before them.
bool fit_leading(const py::array& query, const py::array& array) {
    const py::ssize_t missing = query.ndim() - array.ndim(), heads = query.ndim() - 3;
    if (missing < 0)
        return false;
    for (py::ssize_t i = missing; i <= heads; ++i) {
        const py::ssize_t own = array.shape(i - missing), all = query.shape(i);
        const bool grouped = i == heads && heads > 0 && own > 0 && all > 0 && all % own == 0;
        if (own != all && own != 1 && !grouped)
            return false;
    }
    return true;
}

// Lengths and widths of rows.
py::ssize_t length_of(const py::array& rows) { return rows.shape(rows.ndim() - 2); }
py::ssize_t width_of(const py::array& rows) { return rows.shape(rows.ndim() - 1); }

// Tells whether a query, its keys and perhaps its values need no conversion, and fit: what small
// calls are made of.
bool fit_plainly(std::span<const py::handle> given) {
    if (!std::all_of(given.begin(), given.end(), [](auto of) { return has_rows(of, 2); }))
        return false;
    const auto query = py::reinterpret_borrow<py::array>(given[0]);
    const py::dtype dtype = query.dtype();
    if (width_of(query) == 0 || !is_native_float(dtype))
        return false;
    for (const py::handle& handle : given.subspan(1)) {
        const auto array = py::reinterpret_borrow<py::array>(handle);
        if (!dtype.is(array.dtype()) || !fit_leading(query, array))
            return false;
    }
    const auto key = py::reinterpret_borrow<py::array>(given[1]);
    const auto last = py::reinterpret_borrow<py::array>(given.back());
    return width_of(key) == width_of(query) && length_of(last) == length_of(key);
}

bool rows_fit_plainly(const py::tuple& given) {
    const std::vector<py::handle> handles(given.begin(), given.end());
    return handles.size() > 1 && fit_plainly(handles);
}

// A scale that needs no conversion, and is finite in each type; None is that of the width.
std::optional<double> plain_scale(const py::handle& scale, std::int64_t dim) {
    if (scale.is_none())
        return 1 / std::sqrt(static_cast<double>(dim));
    if (!PyFloat_CheckExact(scale.ptr()))
        return {};
    const double number = PyFloat_AS_DOUBLE(scale.ptr());
    constexpr double largest = std::numeric_limits<float>::max();
    return std::abs(number) <= largest ? std::optional(number) : std::nullopt;
}

// Whether that is an array for a result of that type and shape, in memory of its own.
bool takes_output(const py::handle& out, const py::dtype& dtype,
                  const std::vector<py::ssize_t>& shape, std::span<const py::handle> read) {
    if (!is_plain_array(out))
        return false;
    const auto array = py::reinterpret_borrow<py::array>(out);
    return array.writeable() && is_c_contiguous(array) && dtype.is(array.dtype()) &&
           std::equal(shape.begin(), shape.end(), array.shape(), array.shape() + array.ndim()) &&
           std::none_of(read.begin(), read.end(), [&](const py::handle& other) {
               return may_overlap(array, py::reinterpret_borrow<py::array>(other));
           });
}

// Whether that is an array of float64 with a value for every head, or for all along some axes: none
// of them larger, but -inf where that is allowed.
bool per_head_fits_plainly(const py::handle& values, const py::tuple& leading, double largest,
                           bool allows_minus_infinity) {
    if (!is_plain_array(values))
        return false;
    const auto array = py::reinterpret_borrow<py::array>(values);
    const py::ssize_t rank = array.ndim();
    const auto axes = static_cast<py::ssize_t>(leading.size());
    if (!is_native_float(array.dtype()) || array.itemsize() != 8 || !is_c_contiguous(array) ||
        rank > axes)
        return false;
    for (py::ssize_t i = 0; i < rank; ++i)
        if (array.shape(i) != 1 &&
            array.shape(i) !=
                leading[static_cast<std::size_t>(axes - rank + i)].cast<py::ssize_t>())
            return false;
    const auto* const first = static_cast<const double*>(array.data());
    return std::all_of(first, first + array.size(), [&](double value) {
        return std::abs(value) <= largest || (allows_minus_infinity && value == -HUGE_VAL);
    });
}

// Whether that is an array of int64, none of them smaller or larger.
bool integers_fit_plainly(const py::handle& values, std::int64_t smallest, std::int64_t largest) {
    if (!is_plain_array(values))
        return false;
    const auto array = py::reinterpret_borrow<py::array>(values);
    const py::dtype dtype = array.dtype();
    if (dtype.kind() != 'i' || array.itemsize() != 8 || dtype.byteorder() != '=' ||
        !is_c_contiguous(array))
        return false;
    const auto* const first = static_cast<const std::int64_t*>(array.data());
    return std::all_of(first, first + array.size(),
                       [&](std::int64_t value) { return smallest <= value && value <= largest; });
}

// A soft cap that needs no conversion and is a normal number in each type, 0 for None.
std::optional<double> plain_softcap(const py::handle& softcap) {
    if (softcap.is_none())
        return 0;
    if (!PyFloat_CheckExact(softcap.ptr()))
        return {};
    const double number = PyFloat_AS_DOUBLE(softcap.ptr());
    constexpr double smallest = std::numeric_limits<float>::min();
    constexpr double largest = std::numeric_limits<float>::max();
    return number >= smallest && number <= largest ? std::optional(number) : std::nullopt;
}

// Whether that is nothing, or an array of that type with a value for every query and key.
bool scores_fit_plainly(const py::handle& scores, const py::dtype& dtype, const py::array& query,
                        std::int64_t keys) {
    if (scores.is_none())
        return true;
    if (!is_plain_array(scores))
        return false;
    const auto array = py::reinterpret_borrow<py::array>(scores);
    const py::ssize_t missing = query.ndim() - array.ndim();
    if (!dtype.is(array.dtype()) || array.ndim() < 2 || missing < 0)
        return false;
    for (py::ssize_t i = 0; i < array.ndim(); ++i) {
        const auto length = i + 1 < array.ndim() ? query.shape(i + missing) : keys;
        if (array.shape(i) != 1 && array.shape(i) != length)
            return false;
    }
    return true;
}

// That of half types is float32.
py::dtype bias_dtype(const py::array& query) {
    return query.itemsize() == 2 ? py::dtype::of<float>() : query.dtype();
}

// Attention of arrays that fit plainly, with no options but these; None for others, which take the
// general way.
py::object attend_plainly(const py::handle& query, const py::handle& key, const py::handle& value,
                          const py::handle& is_causal, const py::object& mask,
                          const py::object& bias, const py::handle& scale_given,
                          const py::handle& softcap_given, const py::handle& out, int threads) {
    const std::array given{query, key, value};
    if (!PyBool_Check(is_causal.ptr()) || !fit_plainly(given))
        return py::none();
    const bool causal = is_causal.ptr() == Py_True;
    const auto q = py::reinterpret_borrow<py::array>(query);
    const auto k = py::reinterpret_borrow<py::array>(key);
    const auto v = py::reinterpret_borrow<py::array>(value);
    const py::ssize_t rank = q.ndim();
    const auto scale = plain_scale(scale_given, width_of(q));
    const auto softcap = plain_softcap(softcap_given);
    const std::int64_t keys = length_of(k);
    if (!scale || !softcap || (causal && length_of(q) != keys) ||
        !scores_fit_plainly(mask, py::dtype::of<bool>(), q, keys) ||
        !scores_fit_plainly(bias, bias_dtype(q), q, keys))
        return py::none();
    std::vector<py::ssize_t> shape(q.shape(), q.shape() + rank - 1);
    shape.push_back(width_of(v));
    std::vector<py::handle> read(given.begin(), given.end());
    for (const py::handle& more : {mask, bias})
        if (!more.is_none())
            read.push_back(more);
    if (!out.is_none() && !takes_output(out, q.dtype(), shape, read))
        return py::none();
    Attention a = attention_of(q, k, v, {q.shape(), q.shape() + rank - 2});
    take_scores(a, mask, bias);
    a.scale = *scale;
    a.softcap = *softcap;
    if (causal)
        a.right = 0;
    py::array output =
        out.is_none() ? py::array(q.dtype(), shape) : py::reinterpret_borrow<py::array>(out);
    a.output = output.mutable_data();
    run_unlocked([&] { attend(*chosen_kernels, a, threads); });
    return output;
}

// A bias in float32, of which a finite number stays one.
py::array_t<float> narrowed(const py::array_t<double>& bias) {
    require(is_c_contiguous(bias), "an array without gaps");
    constexpr double largest = std::numeric_limits<float>::max();
    py::array_t<float> narrow(std::vector<py::ssize_t>(bias.shape(), bias.shape() + bias.ndim()));
    const double* const wide = bias.data();
    float* const to = narrow.mutable_data();
    run_unlocked([&] {
        std::transform(wide, wide + bias.size(), to, [&](double value) {
            return static_cast<float>(std::isfinite(value) ? std::clamp(value, -largest, largest)
                                                           : value);
        });
    });
    return narrow;
}

} // namespace

void register_attention(py::module_& m) {
    m.def("attend", &attend_arrays);
    m.def("attend_plainly", &attend_plainly);
    m.def("narrowed", &narrowed);
    m.def("rows_fit_plainly", &rows_fit_plainly);
    m.def("per_head_fits_plainly", &per_head_fits_plainly);
    m.def("integers_fit_plainly", &integers_fit_plainly);
}

} // namespace ropewalk
