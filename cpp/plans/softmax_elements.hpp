// Elements of a softmax in memory, whatever their type and strides, and as kernels take them.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "plans/memory.hpp"
#include "plans/pool.hpp"
#include "plans/softmax.hpp"
#include "targets/dispatch.hpp"

namespace ropewalk {

template <class T>
std::int64_t offset_of(const std::vector<std::int64_t>& leading, const Strided<T>& array,
                       std::int64_t index) {
    if (array.data == nullptr)
        return 0;
    std::int64_t offset = 0;
    for (std::size_t axis = leading.size(); axis-- > 0; index /= leading[axis])
        offset += index % leading[axis] * array.strides[axis];
    return offset;
}

template <class Element>
void copy_apart(const void* from, std::int64_t from_step, void* to, std::int64_t to_step,
                std::int64_t count) {
    const auto* const x = static_cast<const Element*>(from);
    auto* const y = static_cast<Element*>(to);
    for (std::int64_t i = 0; i < count; ++i)
        y[i * to_step] = x[i * from_step];
}

inline void copy_apart(std::int64_t bytes, const void* from, std::int64_t from_step, void* to,
                       std::int64_t to_step, std::int64_t count) {
    if (bytes == 2)
        copy_apart<std::uint16_t>(from, from_step, to, to_step, count);
    else if (bytes == 4)
        copy_apart<std::uint32_t>(from, from_step, to, to_step, count);
    else
        copy_apart<std::uint64_t>(from, from_step, to, to_step, count);
}

// Whether differences of T may be scaled, of elements that change their sign at most: nothing
// becomes 0 or infinite that would not have.
template <class T>
bool scales_differences(double scale) {
    constexpr double most = std::is_same_v<T, float> ? 1e30 : 1e300;
    return std::abs(scale) >= 1 / most && std::abs(scale) <= most;
}

// Elements in memory, and as T: float32, or float64 where it would not hold them.
template <class T>
struct SoftmaxElements {
    const Kernels& kernels;
    const Softmax& asked;
    std::int64_t bytes;
    double scale, factor; // of differences, which kernels multiply, and of elements as read

    SoftmaxElements(const Kernels& table, const Softmax& softmax)
        : kernels(table), asked(softmax), bytes(element_bytes(softmax.type)),
          scale(scales_differences<T>(softmax.scale) ? std::abs(softmax.scale) : 1),
          factor(softmax.scale / scale) {}

    const SoftmaxKernels<T>& kernel() const { return kernels_in<T>(kernels).softmax; }
    static constexpr Type own_type = std::is_same_v<T, float> ? Type::float32 : Type::float64;
    // Whether they are of the same type, and the same.
    bool as_computed() const { return asked.type == own_type; }
    bool unchanged() const { return asked.mask.data == nullptr && factor == 1; }
    bool plain() const { return as_computed() && unchanged(); }
    // Whether kernels read columns in memory itself, and write them there.
    bool reads_columns(const Strided<void>* y) const {
        return unchanged() && asked.x.strides.back() == 1 &&
               (y == nullptr || y->strides.back() == 1);
    }
    const void* at(const Strided<const void>& x, std::int64_t offset) const {
        return static_cast<const char*>(x.data) + offset * bytes;
    }
    void* at(const Strided<void>& y, std::int64_t offset) const {
        return static_cast<char*>(y.data) + offset * bytes;
    }
    // Elements `step` apart in memory as they lie there, or brought together in the room for that.
    const void* together(const void* x, std::int64_t step, std::int64_t count, void* room) const {
        if (step == 1)
            return x;
        copy_apart(bytes, x, step, room, 1, count);
        return room;
    }
    // The same of bytes of the mask, from that one on; null where there is none.
    const std::uint8_t* counts(std::int64_t first, std::int64_t step, std::int64_t count,
                               std::uint8_t* room) const {
        if (asked.mask.data == nullptr)
            return nullptr;
        const std::uint8_t* const from = asked.mask.data + first;
        if (step == 1)
            return from;
        copy_apart<std::uint8_t>(from, step, room, 1, count);
        return room;
    }
    // Elements side by side, what is left out as -inf.
    void read(const void* x, const std::uint8_t* counts, std::int64_t count, T* elements) const {
        const auto hide = [&](const T* from) {
            kernel().hide(from, counts, count, static_cast<T>(-HUGE_VAL), elements);
        };
        if (as_computed() && factor == 1 && counts != nullptr)
            return hide(static_cast<const T*>(x));
        kernels_in<T>(kernels).read[static_cast<std::size_t>(asked.type)](x, count, elements);
        if (factor != 1)
            for (std::int64_t i = 0; i < count; ++i)
                elements[i] *= static_cast<T>(factor);
        if (counts != nullptr)
            hide(elements);
    }
    // Shares, which are NaN in a row of NaN, to memory, where they lie `step` apart; what is left
    // out is 0.
    void write(T* shares, const std::uint8_t* counts, std::int64_t count, void* y,
               std::int64_t step, void* room) const {
        if (counts != nullptr)
            kernel().hide(shares, counts, count, T{0}, shares);
        if (step == 1 || !as_computed())
            kernels_in<T>(kernels).write[static_cast<std::size_t>(asked.type)](
                shares, count, step == 1 ? y : room);
        if (step != 1)
            copy_apart(bytes, as_computed() ? shares : room, 1, y, step, count);
    }
};

// What a thread needs for a part of `most` elements, a multiple of 16: weights, elements as T,
// those in memory, which are no larger, bytes of a mask.
template <class T>
struct SoftmaxRoom {
    T* weights;
    T* elements;
    void* packed;
    std::uint8_t* counts;
    int worker;
    Interruption& interruption;
    Guess& guess; // from task to task

    SoftmaxRoom(const Scratch& scratch, std::int64_t most, int number, Interruption& ends,
                Guess& before)
        : weights(reinterpret_cast<T*>(scratch.data())), elements(weights + most),
          packed(weights + 2 * most), counts(reinterpret_cast<std::uint8_t*>(weights + 3 * most)),
          worker(number), interruption(ends), guess(before) {}
    static std::int64_t doubles(std::int64_t most) {
        constexpr std::int64_t bytes = 3 * sizeof(T) + 1;
        return most * bytes / 8;
    }
};

} // namespace ropewalk
