// SPDX-License-Identifier: Apache-2.0
//
// /proc/self/cgroup has a line per hierarchy: "0::/path" for version 2, "4:cpu,cpuacct:/path" for
// the cpu controller of version 1. A quota binds all groups below it, so each ancestor counts.
// Inside a container the path may be one of the host's that is not to be seen here; then the root
// of what is mounted is the container's own group.
//
// Paths are strings: std::filesystem::path of libstdc++ 12 crashes if there is no memory for a part
// of one (it destroys parts that it has not made).

#include "processors.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include <sched.h>

#include <cadre/thread.hpp>

namespace cadre {

namespace detail {

namespace {

/// quota / period, rounded up; 0 if that is no limit.
int whole_processors(long long quota, long long period) {
    if (quota <= 0 || period <= 0) return 0;
    const long long whole = quota / period + (quota % period != 0);
    return static_cast<int>(std::min<long long>(whole, 1 << 20));
}

int quota_v2(const std::string& group) {
    std::ifstream file(group + "/cpu.max");  // "max 100000" or "50000 100000"
    long long quota = 0;
    long long period = 0;
    return file >> quota >> period ? whole_processors(quota, period) : 0;
}

int quota_v1(const std::string& group) {
    std::ifstream quota_file(group + "/cpu.cfs_quota_us");  // -1: no limit
    std::ifstream period_file(group + "/cpu.cfs_period_us");
    long long quota = 0;
    long long period = 0;
    return quota_file >> quota && period_file >> period ? whole_processors(quota, period) : 0;
}

/// Applies the quota of a group and of all above it, up to where the hierarchy is mounted.
void limit_by(int& processors, const std::string& mount, std::string group,
              int (*quota_of)(const std::string&)) {
    for (;;) {
        while (!group.empty() && group.back() == '/') group.pop_back();
        const bool is_root = group.empty();
        std::string folder = mount;
        if (!is_root) folder.append("/").append(group);
        if (const int quota = quota_of(folder); quota > 0) processors = std::min(processors, quota);
        if (is_root) return;
        const auto parent = group.rfind('/');
        group.resize(parent == std::string::npos ? 0 : parent);
    }
}

bool names_cpu(const std::string& controllers) {
    for (std::size_t from = 0; from <= controllers.size();) {
        const auto to = std::min(controllers.find(',', from), controllers.size());
        if (controllers.compare(from, to - from, "cpu") == 0) return true;
        from = to + 1;
    }
    return false;
}

}  // namespace

int processors_within_quota(int allowed, const std::string& root) {
    int processors = std::max(allowed, 1);
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first == std::string::npos ? first : first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string group = line.substr(second + 1);
        const std::string mounted = root + "/sys/fs/cgroup";
        if (controllers.empty()) {
            limit_by(processors, mounted, group, quota_v2);
            limit_by(processors, mounted + "/unified", group, quota_v2);
        } else if (names_cpu(controllers)) {
            limit_by(processors, (mounted + "/").append(controllers), group, quota_v1);
            limit_by(processors, mounted + "/cpu", group, quota_v1);
        }
    }
    return processors;
}

}  // namespace detail

int available_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    // On a machine with more processors than the set can hold, the call fails.
    const int allowed = sched_getaffinity(0, sizeof set, &set) == 0
                            ? CPU_COUNT(&set)
                            : static_cast<int>(std::thread::hardware_concurrency());
    return detail::processors_within_quota(allowed, "");
}

}  // namespace cadre
