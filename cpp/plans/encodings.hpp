// Tables of sines and cosines: who evaluates which rows, and how.
#pragma once

#include <cstdint>

#include "plans/filling.hpp"
#include "plans/frequencies.hpp"
#include "plans/positions.hpp"
#include "targets/kernels.hpp"

namespace ropewalk {

// table[row, pair] = sine and cosine of positions[row] * frequencies[pair].
void fill_table(const Kernels& kernels, const Frequencies& frequencies, const Positions& positions,
                Type type, Layout layout, const Table& table, Stores stores, int threads);

// matrices[row, dim, dim]: every pair turned by the angle of its frequency and positions[row], as a
// block [[cosine, upper sine], [-upper sine, cosine]]. Pairs are neighbours or half a row apart.
enum class Pairing { neighbours, halves };
enum class UpperSine { positive, negative };
void fill_matrices(const Frequencies& frequencies, const Positions& positions, Pairing pairing,
                   UpperSine upper, double* matrices, int threads);

} // namespace ropewalk
