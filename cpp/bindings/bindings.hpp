// What the binding files share. Arguments are checked here only as far as memory needs it; the
// Python layer has said everything a user should read.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>

#include "plans/positions.hpp"
#include "targets/kernels.hpp"

namespace ropewalk {

// The table of this process, chosen while the module is imported.
extern const Kernels* chosen_kernels;

void register_attention(pybind11::module_& m);
void register_encodings(pybind11::module_& m);
void register_rotary(pybind11::module_& m);
void register_runtime(pybind11::module_& m);

void require(bool condition, const char* message);
bool is_c_contiguous(const pybind11::array& array);
void check_out(const pybind11::array& out, std::int64_t elements);
Type type_of(const pybind11::array& array);

// What calls that need no conversion are made of: an array and no subclass, aligned; one of two
// axes at least, the last of which lies side by side; a float type of NumPy's own in this byte
// order; a position that is a Python integer, and a range of such. Where more bytes are written the
// general way costs nothing.
bool is_plain_array(const pybind11::handle& handle);
bool has_rows(const pybind11::handle& handle);
bool is_native_float(const pybind11::dtype& dtype);
std::optional<std::int64_t> plain_position(const pybind11::handle& value);
std::optional<Positions> plain_range(const pybind11::handle& range);
inline constexpr std::int64_t small_bytes = 8 << 20;

// Whether the memory from first to last element is in part the same; elements may still differ.
bool may_overlap(const pybind11::array& a, const pybind11::array& b);

// Runs without the interpreter's lock; raises what a signal raised meanwhile.
template <class Function>
void run_unlocked(const Function& function) {
    {
        const pybind11::gil_scoped_release release;
        function();
    }
    if (PyErr_Occurred() != nullptr)
        throw pybind11::error_already_set();
}

// A range, or a C-contiguous array of int64 or float64 whose last axis holds the axes of a position
// where there are several.
Positions positions_of(const pybind11::handle& object, int axes);

} // namespace ropewalk
