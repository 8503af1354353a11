// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

#include <cadre/function_ref.hpp>

/// /proc/self/cgroup has a line per hierarchy: "0::/path" for version 2, "4:cpu,cpuacct:/path" for
/// controllers of version 1. A limit binds all groups below it, so each ancestor counts. Inside a
/// container the path may be one of the host's that is not to be seen here; then the root of what
/// is mounted is the container's own group.
///
/// Paths are strings: std::filesystem::path of libstdc++ 12 crashes if there is no memory for a
/// part of one (it destroys parts that it has not made).
namespace cadre::detail {

enum class group_version { one, two };

/// Is given a folder, which may not be there.
using group_visitor = function_ref<void(const std::string& folder, group_version version)>;

/// A group and all above it, up to where the hierarchy is mounted.
inline void visit_upwards(const std::string& mount, std::string group, group_version version,
                          group_visitor visit) {
    for (;;) {
        while (!group.empty() && group.back() == '/') group.pop_back();
        const bool is_root = group.empty();
        std::string folder = mount;
        if (!is_root) folder.append("/").append(group);
        visit(folder, version);
        if (is_root) return;
        const auto parent = group.rfind('/');
        group.resize(parent == std::string::npos ? 0 : parent);
    }
}

/// Whether a list with commas has that name.
inline bool has_name(std::string_view list, std::string_view name) {
    for (std::size_t from = 0; from <= list.size();) {
        const auto to = std::min(list.find(',', from), list.size());
        if (list.substr(from, to - from) == name) return true;
        from = to + 1;
    }
    return false;
}

/// Where limits of that controller may be that bind this process. `root` comes before each path,
/// for tests.
inline void for_each_control_group(const std::string& root, const std::string& controller,
                                   group_visitor visit) {
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first == std::string::npos ? first : first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string group = line.substr(second + 1);
        const std::string mounted = root + "/sys/fs/cgroup";
        if (controllers.empty()) {
            visit_upwards(mounted, group, group_version::two, visit);
            visit_upwards(mounted + "/unified", group, group_version::two, visit);
        } else if (has_name(controllers, controller)) {
            visit_upwards((mounted + "/").append(controllers), group, group_version::one, visit);
            visit_upwards((mounted + "/").append(controller), group, group_version::one, visit);
        }
    }
}

}  // namespace cadre::detail
