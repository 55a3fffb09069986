#include "bindings/attention.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>

#include "plans/arithmetic.hpp"
#include "targets/dispatch.hpp"

namespace py = pybind11;

namespace ropewalk {

Leading leading_of(const py::array& array, std::int64_t own, const std::vector<std::int64_t>& axes,
                   bool grouped) {
    Leading leading{std::vector<std::int64_t>(axes.size()), axes}; // the same for all
    for (std::int64_t& group : leading.group)
        group = std::max<std::int64_t>(group, 1);
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

namespace {

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
    const std::int64_t queries = rank < 2 ? 1 : array.shape(rank - 2);
    const std::int64_t keys = rank < 1 ? 1 : array.shape(rank - 1);
    require((queries == 1 || queries == a.queries) && (keys == 1 || keys == a.keys),
            "a value for every query and key");
    return {static_cast<const T*>(array.data()),
            leading_of(array, std::min<std::int64_t>(rank, 2), a.leading),
            rank < 2 ? 0 : stride_of(array, rank - 2), rank < 1 ? 0 : stride_of(array, rank - 1)};
}

} // namespace

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

std::optional<ComputedIn> precision_of(const py::handle& name) {
    if (name.is_none())
        return ComputedIn::own_type;
    const auto is = [&](const char* precision) {
        return PyUnicode_Check(name.ptr()) &&
               PyUnicode_CompareWithASCIIString(name.ptr(), precision) == 0;
    };
    if (is("float64"))
        return ComputedIn::float64;
    if (is("bfloat16"))
        return ComputedIn::bfloat16;
    return is("bfloat16x3") ? std::optional(ComputedIn::bfloat16x3) : std::nullopt;
}

void run_attention(const Attention& a, int threads) {
    // A logit takes some steps, and sixteen of its products one; and so does what is written.
    const std::int64_t queries = times(product(a.leading), a.queries);
    run_plan(times(queries, times(a.keys + 1, 4 + (a.dim + a.value_dim) / 16)),
             [&] { attend(*chosen_kernels, a, threads); });
}

void take_scores(Attention& a, const py::object& mask, const py::object& bias) {
    a.mask = scores_of<std::uint8_t, bool>(mask, a);
    if (computes_in_float64(a))
        a.bias64 = scores_of<double>(bias, a);
    else
        a.bias32 = scores_of<float>(bias, a);
}

namespace {

// An array (*leading, *last) to be written.
void* written(const py::object& object, const Attention& a, std::int64_t last) {
    if (object.is_none())
        return nullptr;
    auto array = py::cast<py::array>(object);
    check_out(array, times(times(product(a.leading), a.queries), last));
    return array.mutable_data();
}

template <class T>
void* written_as(const py::object& object, const Attention& a, std::int64_t last) {
    if (!object.is_none())
        require_type<T>(py::cast<py::array>(object));
    return written(object, a, last);
}

// stages: scores, capped, biased and weights of the type computed with. left and right: None is
// unlimited; key_lengths lie within the keys.
void attend_arrays(const py::array& query, const py::array& key, const py::object& value,
                   const std::vector<std::int64_t>& leading, const py::handle& precision,
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
    const auto named = precision_of(precision);
    require(named.has_value(), "a precision");
    a.computed_in = *named;
    const bool wide = computes_in_float64(a);
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
    run_attention(a, threads);
}

} // namespace

void register_attention(py::module_& m) {
    m.def("attend", &attend_arrays);
    register_attention_problem(m);
}

} // namespace ropewalk
