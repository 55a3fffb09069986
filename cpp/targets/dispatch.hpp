// Picks the table of kernels for the processor at hand.
#pragma once

#include <span>
#include <type_traits>

#include "targets/kernels.hpp"

namespace ropewalk {

// The tables that this processor can run, the fastest first; the scalar one is always the last.
std::span<const Kernels* const> supported_kernels();

// The table of that name, or the first one when the name is null or empty; null when there is none.
const Kernels* find_kernels(const char* isa);

template <class T>
const KernelsIn<T>& kernels_in(const Kernels& kernels) {
    if constexpr (std::is_same_v<T, float>)
        return kernels.float32;
    else
        return kernels.float64;
}

// Whether the first cache has 48 KiB or more. On AMD's processors it holds what is asked for beside
// what is read then: four query heads a key head take .85 to .94 of the time, eight .92 to .95. On
// Intel's they take 1.08 to 1.18.
bool has_large_first_cache();

// Whether what lies in the second cache or behind it, one line after another, had better be asked
// for: on Intel's processors one query takes .89 to .95 of the time then, from memory one or two
// .79 to .93 (on AMD's one 1.05 to 1.16); where the place of results is asked for, which is read
// before it is written, rotations take .81 to 1.0, softmax .91 to .98.
bool waits_for_second_cache();

// Whether these kernels, this processor and its system multiply matrices (AMX).
bool has_matrices(const Kernels& kernels);

// Whether they may as well: Linux wants to be asked for the registers, once for a whole process. It
// refuses where a signal stack is too small for them, and such stacks from then on.
bool uses_matrices(const Kernels& kernels);

// Whether these kernels and this processor add the products of a pair of bfloat16 (AVX512_BF16) as
// fast as one of float32. Intel's take as long as for two.
bool adds_pairs(const Kernels& kernels);

// Whether these kernels and this processor round a line to bfloat16 in one step (AVX512_BF16).
bool rounds_lines(const Kernels& kernels);

} // namespace ropewalk
