// What both ways to attention share: arrays that are known to fit become what the plan takes.
#pragma once

#include <optional>
#include <vector>

#include "bindings/bindings.hpp"
#include "plans/attention.hpp"

namespace ropewalk {

void register_attention_problem(pybind11::module_& m);

// How an array lies along the leading axes of the result, aligned right, its own last axes left
// out: whole axes, axes of length 1, and heads that several heads of the result share.
Leading leading_of(const pybind11::array& array, std::int64_t own,
                   const std::vector<std::int64_t>& axes, bool grouped = false);

// Arrays of one type, without options.
Attention attention_of(const pybind11::array& query, const pybind11::array& key,
                       const pybind11::object& value, const std::vector<std::int64_t>& leading);
// A precision as it is named, or None; nothing where it is neither.
std::optional<ComputedIn> precision_of(const pybind11::handle& name);
// Attention to all that is taken.
void run_attention(const Attention& a, int threads);
void take_scores(Attention& a, const pybind11::object& mask, const pybind11::object& bias);

template <class T>
PerHead<T> per_head(const pybind11::handle& object, const Attention& a) {
    if (object.is_none())
        return {};
    const auto array = pybind11::cast<pybind11::array>(object);
    require_type<T>(array);
    return {static_cast<const T*>(array.data()), leading_of(array, 0, a.leading)};
}

} // namespace ropewalk
