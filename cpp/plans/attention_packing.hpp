// How keys and values are copied before tiles of queries meet them.
#pragma once

#include <algorithm>
#include <type_traits>

#include "plans/attention.hpp"
#include "plans/memory.hpp"
#include "targets/dispatch.hpp"

namespace ropewalk {

template <class T>
constexpr Type computed_type = std::is_same_v<T, float> ? Type::float32 : Type::float64;

// No more elements of one group become matrices: keys that repeat in memory may be more than any
// memory holds.
constexpr double most_in_matrices = 0x1p28;

// Matrices pay from so many queries on that share keys, of one part and of two.
constexpr std::int64_t least_for_matrices[] = {32, 192};

// Pairs of bfloat16 pay from so many queries on that share keys.
constexpr std::int64_t least_for_pairs = 32;

// Of a group of heads that share them: side by side as T, or as matrices of bfloat16; or values as
// T and keys as pairs of bfloat16.
template <class T>
class Packing {
  public:
    // `queries` share keys and are not decoded.
    Packing(const Kernels& kernels, const Attention& a, std::int64_t queries)
        : kernels_(kernels), a_(a), parts_(parts_for(kernels, a, queries)),
          matrices_(parts_ == 0 ? nullptr : &kernels.matrices[parts_ - 1]),
          pairs_(pairs_for(kernels, a, queries) && matrices_ == nullptr ? &kernels.pairs : nullptr),
          keys_(padded(a.keys, matrix_columns)),
          key_width_(pairs_ != nullptr ? ceil_div(a.dim, 2)
                                       : padded(a.dim, matrix_columns) * std::max(parts_, 1)),
          value_width_(padded(a.value_dim, matrix_rows) * std::max(parts_, 1)) {}

    // Null where no matrices are multiplied.
    const MatrixKernels* matrices() const { return matrices_; }
    // Null where no keys become pairs.
    const PairKernels* pairs() const { return pairs_; }
    // Blocks of keys may begin and end where no query sees a key before or behind, at a multiple of
    // the sums that a block keeps.
    std::int64_t block_step() const { return matrices_ == nullptr ? 8 : matrix_columns; }
    // Of T, that a row of queries takes, and a copy.
    std::int64_t query_width() const { return pairs_ != nullptr ? a_.dim : held(key_width_); }
    // The same as pairs.
    std::int64_t pair_width() const { return key_width_; }
    std::int64_t elements() const { return held(keys_ * (key_width_ + value_width_)); }
    std::int64_t output_width() const { return padded(a_.value_dim, matrix_rows); }
    std::int64_t bytes() const { return matrices_ == nullptr ? size : 2; } // of an element

    Rows keys(const T* memory) const { return {memory, key_width_, a_.keys}; }
    Rows values(const T* memory) const {
        return {memory + held(keys_ * key_width_), value_width_, a_.keys};
    }
    // Copies rows from `begin`, a multiple of the step, up to `end`; says whether that will do for
    // keys, or they are to be read where they are.
    bool pack(const Rows& keys, const Rows& values, std::int64_t begin, std::int64_t end,
              T* memory) const {
        const Rows key_rows = part(keys, begin, end), value_rows = part(values, begin, end);
        T* const to_keys = memory + held(begin * key_width_);
        T* const to_values = memory + held(keys_ * key_width_ + begin * value_width_);
        if constexpr (std::is_same_v<T, float>)
            if (matrices_ != nullptr) {
                matrices_->tile_keys[type()](key_rows, a_.dim, words(to_keys));
                matrices_->turn_values[type()](value_rows, a_.value_dim, words(to_values));
                return true;
            }
        copy(value_rows, a_.value_dim, to_values);
        if constexpr (std::is_same_v<T, float>)
            if (pairs_ != nullptr)
                return pair(key_rows, to_keys);
        copy(key_rows, a_.dim, to_keys);
        return true;
    }
    // Rows of keys or queries as pairs; whether their scores keep their bits so.
    bool pair(const Rows& rows, float* to) const { return pairs_->pair_rows(rows, a_.dim, to); }
    // Rows of queries as kernels take them, where they are not taken as they are.
    bool reads_queries() const { return a_.type != computed_type<T> || matrices_ != nullptr; }
    void read_queries(const Rows& rows, T* to) const {
        if constexpr (std::is_same_v<T, float>)
            if (matrices_ != nullptr)
                return matrices_->round_rows[type()](rows, a_.dim, words(to));
        copy(rows, a_.dim, to);
    }
    void read(const void* x, std::int64_t count, T* y) const {
        kernels_in<T>(kernels_).read[type()](x, count, y);
    }
    // Rows side by side as T.
    void copy(const Rows& rows, std::int64_t width, T* to) const {
        if (rows.stride == width)
            return read(rows.first, rows.count * width, to);
        const std::int64_t step = rows.stride * element_bytes(a_.type);
        const char* from = static_cast<const char*>(rows.first);
        for (std::int64_t row = 0; row < rows.count; ++row, from += step)
            read(from, width, to + row * width);
    }

  private:
    static constexpr std::int64_t size = sizeof(T);

    // How many of T hold so many elements of a copy. Their bytes may be more than can be counted,
    // but for matrices.
    std::int64_t held(std::int64_t elements) const {
        return matrices_ == nullptr ? elements : elements * bytes() / size;
    }
    // How many bfloat16 a number is the sum of, or 0 where no matrices are multiplied. Data of
    // bfloat16 are one each.
    static int parts_for(const Kernels& kernels, const Attention& a, std::int64_t queries) {
        const bool three = a.computed_in == ComputedIn::bfloat16x3;
        if (!std::is_same_v<T, float> || !(three || a.computed_in == ComputedIn::bfloat16))
            return 0;
        const int parts = three && a.type != Type::bfloat16 ? 2 : 1;
        const std::int64_t width = up_to(matrix_columns, a.dim) + up_to(matrix_rows, a.value_dim);
        const double elements = parts * static_cast<double>(a.keys) * static_cast<double>(width);
        const bool pays = queries >= least_for_matrices[parts - 1];
        const bool can = pays && elements > 0 && elements <= most_in_matrices;
        return can && uses_matrices(kernels) ? parts : 0;
    }
    static bool pairs_for(const Kernels& kernels, const Attention& a, std::int64_t queries) {
        const bool can = std::is_same_v<T, float> && a.type == Type::bfloat16;
        return can && queries >= least_for_pairs && adds_pairs(kernels);
    }
    std::int64_t padded(std::int64_t count, std::int64_t multiple) const {
        return matrices_ == nullptr ? count : up_to(multiple, count);
    }
    std::size_t type() const { return static_cast<std::size_t>(a_.type); }
    static std::uint16_t* words(float* p) { return reinterpret_cast<std::uint16_t*>(p); }
    Rows part(const Rows& rows, std::int64_t begin, std::int64_t end) const {
        const char* const first = static_cast<const char*>(rows.first);
        return {first + begin * rows.stride * element_bytes(a_.type), rows.stride, end - begin};
    }

    const Kernels& kernels_;
    const Attention& a_;
    int parts_; // of numbers, 0 where no matrices are multiplied
    const MatrixKernels* matrices_;
    const PairKernels* pairs_;
    std::int64_t keys_, key_width_, value_width_;
};

} // namespace ropewalk
