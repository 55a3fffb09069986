#include "plans/quota.hpp"

#include <algorithm>
#include <fstream>
#include <limits>

namespace ropewalk {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

// Of one group, by version 2 or 1 of the interface. Without a quota it is "max", or negative.
double quota_of(const std::string& folder, bool unified) {
    std::ifstream file(folder + (unified ? "/cpu.max" : "/cpu.cfs_quota_us"));
    double time = 0, period = 0;
    file >> time;
    if (unified)
        file >> period;
    else
        std::ifstream(folder + "/cpu.cfs_period_us") >> period;
    return file && time > 0 && period > 0 ? time / period : unlimited;
}

} // namespace

double processor_quota(const std::string& groups, const std::string& root) {
    double least = unlimited;
    std::ifstream lines(groups);
    for (std::string line; std::getline(lines, line);) { // hierarchy:controllers:path
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos || line[second + 1] != '/')
            continue;
        const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
        const bool unified = controllers == ",,";
        if (!unified && controllers.find(",cpu,") == std::string::npos)
            continue;
        const std::string top = unified ? root : root + "/cpu";
        // Where groups of a container are not seen from within, its own is at the top.
        std::string path = line.substr(second + 1);
        for (; !path.empty(); path.resize(path.rfind('/')))
            least = std::min(least, quota_of(top + path, unified));
        least = std::min(least, quota_of(top, unified));
    }
    return least;
}

} // namespace ropewalk
