#include "simd/avx512.hpp"

#include "kernels/lines.hpp"
#include "kernels/matrices.hpp"
#include "kernels/pairs.hpp"
#include "simd/amx.hpp"
#include "simd/avx512_bf16.hpp"
#include "targets/kernels_of.hpp"

namespace {

constexpr ropewalk::Kernels kernels_with_bfloat16() {
    ropewalk::Kernels all = kernels_of<Simd>("avx512");
    all.matrices[0] = matrices_of<Simd, Amx, 1>();
    all.matrices[1] = matrices_of<Simd, Amx, 2>();
    all.pairs = pairs_of<Simd, Pairs>();
    all.lines = lines_of<Simd, Rounding>();
    return all;
}

} // namespace

namespace ropewalk {

// constinit: a table made by code at load time would run it on processors that cannot.
constinit const Kernels avx512_kernels = kernels_with_bfloat16();

} // namespace ropewalk
