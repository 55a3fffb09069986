// What the binding files share. General ways check only what memory needs, as the Python layer has
// said everything a user should read; plain ways check everything, and leave the rest to those.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "plans/arithmetic.hpp"
#include "plans/memory.hpp"
#include "plans/positions.hpp"
#include "targets/kernels.hpp"

namespace ropewalk {

// The table of this process, chosen while the module is imported.
extern const Kernels* chosen_kernels;

void register_attention(pybind11::module_& m);
void register_conversions(pybind11::module_& m);
void register_encodings(pybind11::module_& m);
void register_merging(pybind11::module_& m);
void register_rotary(pybind11::module_& m);
void register_runtime(pybind11::module_& m);
void register_softmax(pybind11::module_& m);

void require(bool condition, const char* message);
template <class T>
void require_type(const pybind11::array& array) {
    require(array.dtype().equal(pybind11::dtype::of<T>()), "an array of the right type");
}
// A new array, not initialised; of large ones the memory is kept when they are gone.
pybind11::array new_array(const pybind11::dtype& dtype, std::vector<pybind11::ssize_t> shape);
bool is_c_contiguous(const pybind11::array& array);
// Whether an array of such a shape broadcasts to those axes, the last ones of which are its own.
bool broadcasts(const pybind11::array& array, const std::vector<std::int64_t>& axes);
void check_out(const pybind11::array& out, std::int64_t elements);
Type type_of(const pybind11::array& array);
inline Stores stores_of(bool streamed) { return streamed ? Stores::streamed : Stores::cached; }
// How far apart the elements of an axis are; 0 where that says nothing.
std::int64_t stride_of(const pybind11::array& array, std::int64_t axis);

// What calls that need no conversion are made of: an array and no subclass, aligned; one of so many
// axes at least, the last of which lies side by side; a type in this byte order; positions
// that are a Python integer, a range of such, or an array of them as the core takes it, no more
// than `most`, with their shape. Where more bytes are written the general way costs nothing.
bool is_plain_array(const pybind11::handle& handle);
bool has_rows(const pybind11::handle& handle, pybind11::ssize_t axes);
bool is_native_float(const pybind11::dtype& dtype);
bool is_native_int64(const pybind11::dtype& dtype);
std::optional<std::int64_t> plain_position(const pybind11::handle& value);
struct PlainPositions {
    Positions rows;
    std::vector<std::int64_t> shape;
};
std::optional<PlainPositions> plain_positions(const pybind11::handle& positions, std::int64_t most);
inline constexpr std::int64_t small_bytes = 8 << 20;

// An array as it is, and where a result of its shape and type goes: x itself, or memory that the
// others, which are read meanwhile, have no part of; or None, which becomes new memory once nothing
// else is left to check.
struct PlainData {
    pybind11::array x;
    pybind11::object out;

    pybind11::array result() const;
};
std::optional<PlainData> plain_data(const pybind11::handle& x, const pybind11::handle& out,
                                    pybind11::ssize_t axes,
                                    std::initializer_list<pybind11::handle> others);

// Whether out is an array for a result of that type and shape, in memory that what is read has no
// part of.
bool takes_output(const pybind11::handle& out, const pybind11::dtype& dtype,
                  const std::vector<pybind11::ssize_t>& shape,
                  std::initializer_list<pybind11::handle> read);

// Whether the memory from first to last element is in part the same; elements may still differ.
bool may_overlap(const pybind11::array& a, const pybind11::array& b);
// Whether elements share memory, or axes interlace, so that nobody can tell without a search.
bool overlaps_itself(const pybind11::array& array);

// Takes the interpreter's lock again; where that has ended meanwhile, waits for the end of the
// process.
void take_lock(PyThreadState* state);

// Steps of a call, of about a nanosecond, that take far less than to give the interpreter's lock to
// another thread and to wait for it: five milliseconds, where that runs Python. Fewer than what
// other threads share in.
inline constexpr std::int64_t few_steps = (1 << 14) - 1;

// Runs what a plan is called for: in our arithmetic, and without the interpreter's lock but for few
// steps. Raises what a signal raised meanwhile. No destructor takes the lock again.
template <class Function>
void run_plan(std::int64_t steps, const Function& function) {
    PyThreadState* const state = steps <= few_steps ? nullptr : PyEval_SaveThread();
    const auto take_it = [state] {
        if (state != nullptr)
            take_lock(state);
    };
    try {
        const StandardArithmetic arithmetic;
        function();
    } catch (...) {
        take_it();
        throw;
    }
    take_it();
    if (PyErr_Occurred() != nullptr)
        throw pybind11::error_already_set();
}

// A range, or a C-contiguous array of int64 or float64 whose last axis holds the axes of a position
// where there are several.
Positions positions_of(const pybind11::handle& object, int axes);

} // namespace ropewalk
