// Tables of sines and cosines: who evaluates which rows, and how.
#pragma once

#include <cstdint>

#include "plans/frequencies.hpp"
#include "plans/positions.hpp"
#include "targets/kernels.hpp"

namespace ropewalk {

// Positions have as many axes as the frequencies, or one that stands for all.

// table[row, pair] = factor * sine and cosine of positions[row] * frequencies[pair].
void fill_table(const Kernels& kernels, const Frequencies& frequencies, const Positions& positions,
                double factor, Type type, Layout layout, const Table& table, Stores stores,
                int threads);

enum class Matrices { interleaved, half, blocks };
enum class UpperSine { positive, negative };

// Every pair turned by the angle of its frequency and positions[row], as a block
// factor * [[cosine, upper sine], [-upper sine, cosine]]: of matrices[row, dim, dim], where pairs
// are interleaved or half a row apart, or alone, of matrices[row, pairs, 2, 2].
void fill_matrices(const Kernels& kernels, const Frequencies& frequencies,
                   const Positions& positions, double factor, Matrices kind, UpperSine upper,
                   double* matrices, int threads);

} // namespace ropewalk
