// How many processors the control groups of a process let it use (Linux).
#pragma once

#include <string>

namespace ropewalk {

// The least quota of its groups, and of those that they are in, in processors; infinity where there
// is none. `groups` is the kernel's list of them, and `root` is where they are mounted.
double processor_quota(const std::string& groups = "/proc/self/cgroup",
                       const std::string& root = "/sys/fs/cgroup");

} // namespace ropewalk
