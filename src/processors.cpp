// SPDX-License-Identifier: Apache-2.0

#include "processors.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include <sched.h>

#include <cadre/thread.hpp>

#include "control_groups.hpp"

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

}  // namespace

int processors_within_quota(int allowed, const std::string& root) {
    int processors = std::max(allowed, 1);
    for_each_control_group(root, "cpu", [&](const std::string& group, group_version version) {
        const int quota = version == group_version::two ? quota_v2(group) : quota_v1(group);
        if (quota > 0) processors = std::min(processors, quota);
    });
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
