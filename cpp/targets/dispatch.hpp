// Picks the table of kernels for the processor at hand.
#pragma once

#include <span>

#include "targets/kernels.hpp"

namespace ropewalk {

// The tables that this processor can run, the fastest first; the scalar one is always the last.
std::span<const Kernels* const> supported_kernels();

// The table of that name, or the first one when the name is null or empty; null when there is none.
const Kernels* find_kernels(const char* isa);

// Whether loads from the second cache, one after another, are faster when they are asked for: one
// query takes .89 to .95 of the time then on Intel's processors, 1.05 to 1.16 on AMD's.
bool waits_for_second_cache();

} // namespace ropewalk
