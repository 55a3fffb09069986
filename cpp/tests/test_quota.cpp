// Quotas of made-up control groups, of both versions: the least of a group and of those it is in.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plans/quota.hpp"

namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

int failures = 0;

struct Groups {
    const char* name;
    std::string list; // as in /proc/self/cgroup
    std::vector<std::pair<std::string, std::string>> files;
    double quota;
};

void check(const Groups& groups, const std::filesystem::path& root) {
    std::filesystem::create_directory(root);
    std::ofstream(root / "list") << groups.list;
    for (const auto& [path, text] : groups.files) {
        const std::filesystem::path file = root / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    const double found = ropewalk::processor_quota((root / "list").string(), root.string());
    if (found != groups.quota) {
        std::printf("%s: %g processors, not %g\n", groups.name, found, groups.quota);
        ++failures;
    }
    std::filesystem::remove_all(root);
}

} // namespace

int main() {
    const std::string service = "0::/system.slice/job.service\n";
    const Groups all[] = {
        {"no groups", "", {{"cpu.max", "100000 100000\n"}}, unlimited},
        {"a container", "0::/\n", {{"cpu.max", "150000 100000\n"}}, 1.5},
        {"a service", service, {{"system.slice/job.service/cpu.max", "300000 100000\n"}}, 3},
        {"no quota", service, {{"system.slice/job.service/cpu.max", "max 100000\n"}}, unlimited},
        {"a quota further up",
         service,
         {{"system.slice/job.service/cpu.max", "300000 100000\n"},
          {"system.slice/cpu.max", "50000 25000\n"},
          {"cpu.max", "max 100000\n"}},
         2},
        {"a group not seen from within", "0::/outside/job\n", {{"cpu.max", "70000 35000\n"}}, 2},
        {"version 1",
         "12:memory:/other\n4:cpu,cpuacct:/job\n",
         {{"cpu/job/cpu.cfs_quota_us", "400000\n"},
          {"cpu/job/cpu.cfs_period_us", "100000\n"},
          {"cpu/cpu.cfs_quota_us", "-1\n"},
          {"cpu/cpu.cfs_period_us", "100000\n"},
          {"cpu/other/cpu.cfs_quota_us", "100000\n"},
          {"cpu/other/cpu.cfs_period_us", "100000\n"}},
         4},
        {"both versions",
         "1:cpuset:/d\n2:cpu:/a/b\n0::/c\n",
         {{"cpu/a/cpu.cfs_quota_us", "250000\n"},
          {"cpu/a/cpu.cfs_period_us", "50000\n"},
          {"cpu/d/cpu.cfs_quota_us", "50000\n"},
          {"cpu/d/cpu.cfs_period_us", "50000\n"},
          {"c/cpu.max", "600000 100000\n"}},
         5},
        {"nonsense",
         "::\n:\n\n0::elsewhere\n0::/job\n",
         {{"job/cpu.max", "many 100000\n"}, {"cpu.max", "200000"}},
         unlimited},
    };
    const std::filesystem::path root =
        std::filesystem::temp_directory_path() /
        ("ropewalk_groups_" + std::to_string(std::random_device()()));
    for (const Groups& groups : all)
        check(groups, root);
    return failures != 0;
}
