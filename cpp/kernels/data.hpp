// Data of the four types in memory, computed with in float32 or float64.
#pragma once

#include <cstdint>

namespace {

constexpr unsigned first_lanes(std::int64_t count) {
    return static_cast<unsigned>((std::uint64_t{1} << count) - 1); // of up to 32
}

// Data has
//   Element, Table  the types in memory, of the data and of the tables
//   Vector, lanes   what is computed with
//   get, put        all lanes; get_some, put_some: those whose bits are set
//   stream          put past the cache, where the instruction set can; whole vectors in their place

// float32 and float64, computed with as they are.
template <class S, class Value>
struct FloatData {
    using Element = Value;
    using Table = Value;
    using Vector = decltype(S::get(static_cast<const Value*>(nullptr)));
    static constexpr int lanes = 64 / sizeof(Value);

    static Vector get(const Value* p) { return S::get(p); }
    static void put(Value* p, Vector v) { S::put(p, v); }
    static void stream(Value* p, Vector v) { S::stream(p, v); }
    static Vector get_some(const Value* p, unsigned mask) { return S::get_some(p, mask); }
    static void put_some(Value* p, Vector v, unsigned mask) { S::put_some(p, v, mask); }
};

struct Float16 {
    template <class S>
    static typename S::F32 widened(typename S::U16 v) {
        return S::from_float16(v);
    }
    template <class S>
    static typename S::U16 rounded(typename S::F32 v) {
        return S::to_float16(v);
    }
};

struct BFloat16 {
    template <class S>
    static typename S::F32 widened(typename S::U16 v) {
        return S::from_bfloat16(v);
    }
    template <class S>
    static typename S::U16 rounded(typename S::F32 v) {
        return S::to_bfloat16_or_nan(v);
    }
};

// Half types, computed with in float32.
template <class S, class Half>
struct HalfData {
    using Element = std::uint16_t;
    using Table = float;
    using Vector = typename S::F32;
    static constexpr int lanes = 16;

    static Vector get(const Element* p) { return Half::template widened<S>(S::get(p)); }
    static void put(Element* p, Vector v) { S::put(p, Half::template rounded<S>(v)); }
    static void stream(Element* p, Vector v) { S::stream(p, Half::template rounded<S>(v)); }
    static Vector get_some(const Element* p, unsigned mask) {
        return Half::template widened<S>(S::get_some(p, mask));
    }
    static void put_some(Element* p, Vector v, unsigned mask) {
        S::put_some(p, Half::template rounded<S>(v), mask);
    }
};

template <class S>
void put_wide(float* y, typename S::F32 v) {
    S::put(y, v);
}

template <class S>
void put_wide(double* y, typename S::F32 v) {
    S::put(y, S::widen_low(v));
    S::put(y + 8, S::widen_high(v));
}

template <class S>
void put_wide(double* y, typename S::F64 v) {
    S::put(y, v);
}

template <class S>
typename S::F64 narrow(const double* x, typename S::F64) {
    return S::get(x);
}

template <class S>
typename S::F32 narrow(const double* x, typename S::F32) {
    return S::join(S::get(x), S::get(x + 8));
}

template <class S>
typename S::F32 narrow(const float* x, typename S::F32) {
    return S::get(x);
}

// y = x, for types of which y holds every value.
template <class S, class Data, class Wide>
void read(const void* x, std::int64_t count, Wide* y) {
    const auto* const from = static_cast<const typename Data::Element*>(x);
    for (std::int64_t i = 0; i < count; i += Data::lanes) {
        const std::int64_t left = count - i;
        if (left >= Data::lanes) {
            put_wide<S>(y + i, Data::get(from + i));
        } else {
            alignas(64) Wide rest[Data::lanes];
            put_wide<S>(rest, Data::get_some(from + i, first_lanes(left)));
            for (std::int64_t j = 0; j < left; ++j)
                y[i + j] = rest[j];
        }
    }
}

// y = x, each rounded to the type, to half types by way of float32.
template <class S, class Data, class Wide>
void write(const Wide* x, std::int64_t count, void* y) {
    auto* const to = static_cast<typename Data::Element*>(y);
    for (std::int64_t i = 0; i < count; i += Data::lanes) {
        const std::int64_t left = count - i;
        if (left >= Data::lanes) {
            Data::put(to + i, narrow<S>(x + i, typename Data::Vector{}));
        } else {
            alignas(64) Wide rest[16] = {};
            for (std::int64_t j = 0; j < left; ++j)
                rest[j] = x[i + j];
            Data::put_some(to + i, narrow<S>(rest, typename Data::Vector{}), first_lanes(left));
        }
    }
}

} // namespace
