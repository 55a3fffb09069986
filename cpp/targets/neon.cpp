#include "simd/neon.hpp"

#include "targets/kernels_of.hpp"

namespace ropewalk {

// constinit: no code makes it at load time.
constinit const Kernels neon_kernels = kernels_of<Simd>("neon");

} // namespace ropewalk
