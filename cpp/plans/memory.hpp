// New memory, which a system gives page by page as it is first touched.
#pragma once

#include <cstdint>

namespace ropewalk {

// Has the system give all of it now, which takes a fraction of the time; what it holds stays.
// False where the system cannot.
bool populate(void* data, std::int64_t bytes, int threads);

} // namespace ropewalk
