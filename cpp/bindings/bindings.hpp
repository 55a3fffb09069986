// What the binding files share. Arguments are checked here only as far as memory needs it; the
// Python layer has said everything a user should read.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "targets/kernels.hpp"

namespace ropewalk {

// The table of this process, chosen while the module is imported.
extern const Kernels* chosen_kernels;

void register_encodings(pybind11::module_& m);
void register_runtime(pybind11::module_& m);

} // namespace ropewalk
