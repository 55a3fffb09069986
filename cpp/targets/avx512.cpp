#include "simd/avx512.hpp"

#include "targets/kernels_of.hpp"

namespace ropewalk {

// constinit: a table made by code at load time would run it on processors that cannot.
constinit const Kernels avx512_kernels = kernels_of<Simd>("avx512");

} // namespace ropewalk
