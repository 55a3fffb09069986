#include "simd/avx2.hpp"

#include "targets/kernels_of.hpp"

namespace ropewalk {

// constinit: a table made by code at load time would run it on processors that cannot.
constinit const Kernels avx2_kernels = kernels_of<Simd>("avx2");

} // namespace ropewalk
