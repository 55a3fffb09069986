// What the binding files share. Arguments are checked here only as far as memory needs it; the
// Python layer has said everything a user should read.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>

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
