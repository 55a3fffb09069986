#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "bindings/bindings.hpp"
#include "plans/memory.hpp"
#include "plans/pool.hpp"
#include "plans/team.hpp"
#include "targets/dispatch.hpp"

namespace py = pybind11;

namespace ropewalk {
namespace {

// How an array's memory is taken and given back, as NumPy's C interface has it since 1.22
// (PyDataMem_Handler of NEP 49): an array keeps the handler that was set when it was made.
struct Handler {
    char name[127];
    std::uint8_t version;
    void* context;
    void* (*malloc)(void*, std::size_t);
    void* (*calloc)(void*, std::size_t, std::size_t);
    void* (*realloc)(void*, void*, std::size_t);
    void (*free)(void*, void*, std::size_t);
};

void* take(void*, std::size_t bytes) { return take_large(bytes); }

void* take_zeros(void*, std::size_t count, std::size_t size) {
    if (size != 0 && count > SIZE_MAX / size)
        return nullptr;
    void* const data = take_large(count * size);
    return data == nullptr ? nullptr : std::memset(data, 0, count * size);
}

void give_back(void*, void* data, std::size_t) {
    if (data != nullptr)
        give_back_large(data);
}

void* take_other(void*, void* data, std::size_t bytes) {
    void* const other = take_large(bytes);
    if (other != nullptr && data != nullptr) {
        std::memcpy(other, data, std::min(bytes, room_of_large(data)));
        give_back_large(data);
    }
    return other;
}

Handler handler{"ropewalk", 1, nullptr, take, take_zeros, take_other, give_back};

// NumPy's function that sets the handler of new arrays and returns the one before, and ours as it
// takes it; both found while the module is imported.
PyObject* (*set_handler)(PyObject*) = nullptr;
PyObject* our_handler = nullptr;

void find_set_handler() {
    constexpr std::size_t place = 304; // in the table of NumPy's functions
    const auto table = py::module_::import("numpy._core.multiarray").attr("_ARRAY_API");
    auto* const functions = static_cast<void**>(PyCapsule_GetPointer(table.ptr(), nullptr));
    our_handler = PyCapsule_New(&handler, "mem_handler", nullptr);
    if (functions == nullptr || our_handler == nullptr)
        throw py::error_already_set();
    set_handler = reinterpret_cast<PyObject* (*)(PyObject*)>(functions[place]);
}

// New arrays take their memory from our handler for as long as this lives.
class Handling {
  public:
    Handling() : before_(py::reinterpret_steal<py::object>(set_handler(our_handler))) {
        if (!before_)
            throw py::error_already_set();
    }
    ~Handling() {
        const py::error_scope raised; // stays
        Py_XDECREF(set_handler(before_.ptr()));
    }
    Handling(const Handling&) = delete;
    Handling& operator=(const Handling&) = delete;

  private:
    py::object before_;
};

bool populate_array(py::array& array, int threads) {
    require(array.writeable() && is_c_contiguous(array), "a writable array in C order");
    void* const data = array.mutable_data();
    const std::int64_t bytes = array.nbytes();
    bool given = false;
    run_plan(bytes, [&] { given = populate(data, bytes, threads); });
    return given;
}

} // namespace

py::array new_array(const py::dtype& dtype, std::vector<py::ssize_t> shape) {
    const double bytes = std::accumulate(
        shape.begin(), shape.end(), static_cast<double>(dtype.itemsize()), std::multiplies<>());
    if (bytes < static_cast<double>(large_bytes))
        return py::array(dtype, std::move(shape));
    const Handling handling;
    return py::array(dtype, std::move(shape));
}

void register_runtime(py::module_& m) {
    find_set_handler();
    m.def("available_threads", &available_threads);
    m.def("matrices", [] { return has_matrices(*chosen_kernels) ? "amx" : nullptr; });
    m.attr("large_bytes") = large_bytes;
    m.def("new_array", &new_array);
    m.def("overlaps_itself", &overlaps_itself);
    m.def("populate", &populate_array);
    // As measured; tests have small calls shared by it.
    m.def("waking_took",
          [](std::int64_t time) { Team::waking_took(std::chrono::nanoseconds(time)); });
}

} // namespace ropewalk
