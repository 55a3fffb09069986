#include "simd/scalar.hpp"

#include "targets/kernels_of.hpp"

namespace ropewalk {

// constinit: no code makes it at load time.
constinit const Kernels scalar_kernels = kernels_of<Simd>("scalar");

} // namespace ropewalk
