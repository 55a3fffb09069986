// Picks the table of kernels for the processor at hand.
#pragma once

#include <span>

#include "targets/kernels.hpp"

namespace ropewalk {

// The tables that this processor can run, the fastest first; the scalar one is always the last.
std::span<const Kernels* const> supported_kernels();

// The table of that name, or the first one when the name is null or empty; null when there is none.
const Kernels* find_kernels(const char* isa);

} // namespace ropewalk
