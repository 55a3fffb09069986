#include "simd/scalar.hpp"

#include "targets/kernels_of.hpp"

namespace ropewalk {

// constinit: a table made by code at load time would run it on processors that cannot.
constinit const Kernels scalar_kernels = kernels_of<Simd>("scalar");

} // namespace ropewalk
