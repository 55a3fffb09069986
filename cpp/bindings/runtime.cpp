#include "bindings/bindings.hpp"
#include "plans/memory.hpp"
#include "plans/pool.hpp"

namespace py = pybind11;

namespace ropewalk {
namespace {

bool populate_array(py::array& array, int threads) {
    require(array.writeable() && is_c_contiguous(array), "a writable array in C order");
    void* const data = array.mutable_data();
    const std::int64_t bytes = array.nbytes();
    bool given = false;
    run_unlocked([&] { given = populate(data, bytes, threads); });
    return given;
}

} // namespace

void register_runtime(py::module_& m) {
    m.def("available_threads", &available_threads);
    m.def("populate", &populate_array);
}

} // namespace ropewalk
