#include "bindings/bindings.hpp"
#include "plans/pool.hpp"

namespace ropewalk {

void register_runtime(pybind11::module_& m) { m.def("available_threads", &available_threads); }

} // namespace ropewalk
