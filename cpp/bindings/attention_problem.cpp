// Attention whose arguments need no conversion.
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "bindings/attention.hpp"
#include "plans/memory.hpp"

namespace py = pybind11;

namespace ropewalk {
namespace {

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

// Tells whether a query, its keys and perhaps its values need no conversion, and fit.
bool rows_fit_plainly(const py::tuple& given) {
    if (given.size() < 2 ||
        !std::all_of(given.begin(), given.end(), [](auto of) { return has_rows(of, 2); }))
        return false;
    const py::array query = given[0], key = given[1], last = given[given.size() - 1];
    const py::dtype dtype = query.dtype();
    if (width_of(query) == 0 || !is_native_float(dtype))
        return false;
    for (const py::array& array : {key, last})
        if (!dtype.is(array.dtype()) || !fit_leading(query, array))
            return false;
    return width_of(key) == width_of(query) && length_of(last) == length_of(key);
}

double scale_of_width(std::int64_t width) {
    const StandardArithmetic arithmetic;
    return 1 / std::sqrt(static_cast<double>(width));
}

// A float, as those of NumPy's float64 are, or an integer that is no larger than a position.
std::optional<double> plain_number(const py::handle& number) {
    if (PyFloat_Check(number.ptr()))
        return PyFloat_AS_DOUBLE(number.ptr());
    const auto integer = plain_position(number);
    return integer ? std::optional(static_cast<double>(*integer)) : std::nullopt;
}

// A scale that is finite in each type; None is that of the width.
std::optional<double> plain_scale(const py::handle& scale, std::int64_t dim) {
    if (scale.is_none())
        return scale_of_width(dim);
    const auto number = plain_number(scale);
    constexpr double largest = std::numeric_limits<float>::max();
    return number && std::abs(*number) <= largest ? number : std::nullopt;
}

bool is_allowed(double value, double largest, bool allows_minus_infinity) {
    return std::abs(value) <= largest || (allows_minus_infinity && value == -HUGE_VAL);
}

// Whether that is an array of T, float64 or int64, all of whose values pass the test.
template <class T, class Test>
bool values_fit_plainly(const py::handle& values, Test test) {
    if (!is_plain_array(values))
        return false;
    const auto array = py::reinterpret_borrow<py::array>(values);
    const py::dtype dtype = array.dtype();
    const bool of_type = std::is_same_v<T, double> ? is_native_float(dtype) && dtype.itemsize() == 8
                                                   : is_native_int64(dtype);
    if (!of_type || !is_c_contiguous(array))
        return false;
    const auto* const first = static_cast<const T*>(array.data());
    return std::all_of(first, first + array.size(), test);
}

// Whether that is an array of float64 with a value for every head, or for all along some axes: none
// of them larger, but -inf where that is allowed.
bool per_head_fits_plainly(const py::handle& values, const std::vector<std::int64_t>& leading,
                           double largest, bool allows_minus_infinity) {
    const auto test = [&](double value) {
        return is_allowed(value, largest, allows_minus_infinity);
    };
    return values_fit_plainly<double>(values, test) &&
           broadcasts(py::reinterpret_borrow<py::array>(values), leading);
}

// Whether that is an array of int64, none of them smaller or larger.
bool integers_fit_plainly(const py::handle& values, std::int64_t smallest, std::int64_t largest) {
    return values_fit_plainly<std::int64_t>(
        values, [&](std::int64_t value) { return smallest <= value && value <= largest; });
}

// A soft cap that is a normal number in each type, 0 for None.
std::optional<double> plain_softcap(const py::handle& softcap) {
    if (softcap.is_none())
        return 0;
    const auto number = plain_number(softcap);
    constexpr double smallest = std::numeric_limits<float>::min();
    constexpr double largest = std::numeric_limits<float>::max();
    return number && *number >= smallest && *number <= largest ? number : std::nullopt;
}

// A window of integers as they are; None is unlimited.
std::optional<std::array<std::int64_t, 2>> plain_window(const py::handle& window) {
    std::array limits{unlimited, unlimited};
    if (window.is_none())
        return limits;
    if (!PyTuple_CheckExact(window.ptr()) || PyTuple_GET_SIZE(window.ptr()) != 2)
        return {};
    for (std::size_t side = 0; side < 2; ++side) {
        const py::handle given = PyTuple_GET_ITEM(window.ptr(), static_cast<py::ssize_t>(side));
        if (given.is_none())
            continue;
        const auto distance = plain_position(given);
        if (!distance || *distance < 0)
            return {};
        limits[side] = *distance;
    }
    return limits;
}

// One value for all.
template <class T>
PerHead<T> of_all(const T* value, const Attention& a) {
    const std::size_t axes = a.leading.size();
    return {value, {std::vector<std::int64_t>(axes), std::vector<std::int64_t>(axes, 1)}};
}

// Takes nothing, a number, which is kept in `number`, or an array that fits plainly; says whether
// it was one of them.
bool take_per_head(PerHead<double>& taken, const py::handle& values, const Attention& a,
                   bool allows_minus_infinity, double& number) {
    constexpr double largest64 = std::numeric_limits<double>::max();
    constexpr double largest32 = std::numeric_limits<float>::max();
    const double largest = computes_in_float64(a) ? largest64 : largest32;
    if (values.is_none())
        return true;
    if (PyFloat_CheckExact(values.ptr())) {
        number = PyFloat_AS_DOUBLE(values.ptr());
        taken = of_all(&number, a);
        return is_allowed(number, largest, allows_minus_infinity);
    }
    if (!per_head_fits_plainly(values, a.leading, largest, allows_minus_infinity))
        return false;
    taken = per_head<double>(values, a);
    return true;
}

// The same of integers: those of a batch are for all its heads.
bool take_integers(PerHead<std::int64_t>& taken, const py::handle& values, const Attention& a,
                   std::int64_t smallest, std::int64_t largest, std::int64_t& number) {
    if (values.is_none())
        return true;
    if (const auto integer = plain_position(values)) {
        number = *integer;
        taken = of_all(&number, a);
        return smallest <= number && number <= largest;
    }
    std::vector<std::int64_t> batch = a.leading;
    const bool has_heads = batch.size() > 1;
    if (has_heads)
        batch.pop_back();
    if (!integers_fit_plainly(values, smallest, largest))
        return false;
    const auto array = py::reinterpret_borrow<py::array>(values);
    if (!broadcasts(array, batch))
        return false;
    taken = {static_cast<const std::int64_t*>(array.data()), leading_of(array, 0, batch)};
    if (has_heads) {
        taken.leading.stride.push_back(0);
        taken.leading.group.push_back(1);
    }
    return true;
}

// Whether that is nothing, or an array of that type with a value for every query and key.
bool scores_fit_plainly(const py::handle& scores, const py::dtype& dtype, const Attention& a) {
    if (scores.is_none())
        return true;
    if (!is_plain_array(scores))
        return false;
    const auto array = py::reinterpret_borrow<py::array>(scores);
    std::vector<std::int64_t> axes = a.leading;
    axes.insert(axes.end(), {a.queries, a.keys});
    return dtype.is(array.dtype()) && broadcasts(array, axes);
}

// Attention of arrays that fit plainly, and its log-sum-exp where that is asked for, or its weights
// where no values are given; None for what takes the general way. Without an offset every query has
// a key at its place where places count.
py::object attend_plainly(const py::tuple& given, const py::object& mask, const py::object& bias,
                          const py::handle& slopes, const py::handle& sinks,
                          const py::tuple& others, const py::handle& out, bool with_lse,
                          int threads) {
    require(others.size() == 7, "causal, offset, window, key_lengths, scale, softcap, precision");
    const auto other = [&](py::ssize_t i) { return py::handle(PyTuple_GET_ITEM(others.ptr(), i)); };
    const py::handle is_causal = other(0), offset = other(1), window_given = other(2),
                     key_lengths = other(3), scale_given = other(4), softcap_given = other(5),
                     precision = other(6);
    if (!PyBool_Check(is_causal.ptr()) || !rows_fit_plainly(given))
        return py::none();
    const bool causal = is_causal.ptr() == Py_True;
    const bool wants_weights = given.size() == 2;
    const py::array q = given[0], k = given[1];
    const py::object v = wants_weights ? py::none() : py::object(given[2]);
    const py::ssize_t rank = q.ndim();
    const auto named = precision_of(precision);
    const auto scale = plain_scale(scale_given, width_of(q));
    const auto softcap = plain_softcap(softcap_given);
    const auto window = plain_window(window_given);
    if (!named || !scale || !softcap || !window)
        return py::none();
    Attention a = attention_of(q, k, v, {q.shape(), q.shape() + rank - 2});
    a.computed_in = *named;
    a.scale = *scale;
    a.softcap = *softcap;
    a.left = (*window)[0];
    a.right = causal ? 0 : (*window)[1];
    const py::dtype scores =
        computes_in_float64(a) ? py::dtype::of<double>() : py::dtype::of<float>();
    const std::int64_t columns = wants_weights ? a.keys : a.value_dim;
    // More weights are no small call, and of anything there may be more than can be counted.
    const std::int64_t most_bytes =
        wants_weights ? small_bytes : std::numeric_limits<std::int64_t>::max() - 1;
    const bool placed = causal || !window_given.is_none() || !slopes.is_none();
    std::int64_t first = 0, length = 0;
    double slope = 0, sink = 0;
    if ((placed && offset.is_none() && a.queries != a.keys) ||
        (wants_weights && !scores.is(q.dtype())) ||
        times(product(a.leading) * a.queries, columns * q.itemsize()) > most_bytes ||
        !take_integers(a.offset, offset, a, -largest_position, largest_position, first) ||
        !take_integers(a.key_lengths, key_lengths, a, 0, a.keys, length) ||
        !take_per_head(a.slopes, slopes, a, false, slope) ||
        !take_per_head(a.sinks, sinks, a, true, sink) ||
        !scores_fit_plainly(mask, py::dtype::of<bool>(), a) || !scores_fit_plainly(bias, scores, a))
        return py::none();
    take_scores(a, mask, bias);
    std::vector<py::ssize_t> shape(q.shape(), q.shape() + rank - 1);
    shape.push_back(columns);
    if (!out.is_none() && !takes_output(out, q.dtype(), shape,
                                        {q, k, v, mask, bias, slopes, sinks, offset, key_lengths}))
        return py::none();
    py::array result =
        out.is_none() ? new_array(q.dtype(), shape) : py::reinterpret_borrow<py::array>(out);
    (wants_weights ? a.stages.weights : a.output) = result.mutable_data();
    if (!with_lse) {
        run_attention(a, threads);
        return result;
    }
    shape.pop_back();
    py::array lse = new_array(py::dtype::of<double>(), shape);
    a.lse = static_cast<double*>(lse.mutable_data());
    run_attention(a, threads);
    return py::make_tuple(result, lse);
}

} // namespace

void register_attention_problem(py::module_& m) {
    m.def("attend_plainly", &attend_plainly);
    m.def("scale_of_width", &scale_of_width);
    m.def("rows_fit_plainly", &rows_fit_plainly);
    m.def("per_head_fits_plainly", &per_head_fits_plainly);
    m.def("integers_fit_plainly", &integers_fit_plainly);
}

} // namespace ropewalk
