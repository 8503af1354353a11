// SPDX-License-Identifier: Apache-2.0
#include "manage/process_memory.hpp"

#include <algorithm>
#include <fstream>

#include <unistd.h>

#include "control_groups.hpp"

namespace cadre::manage::detail {
namespace {

/// What one control group allows.
std::optional<std::uint64_t> limit_of(const std::string& group,
                                      cadre::detail::group_version version) {
    // Version 1 says "none" by the largest number of bytes in whole pages.
    constexpr std::int64_t as_good_as_none = std::int64_t{1} << 62;
    const bool is_v2 = version == cadre::detail::group_version::two;
    std::ifstream file(group + (is_v2 ? "/memory.max" : "/memory.limit_in_bytes"));
    std::int64_t limit = 0;  // "max": no number
    if (!(file >> limit) || limit <= 0 || limit >= as_good_as_none) return std::nullopt;
    return static_cast<std::uint64_t>(limit);
}

std::optional<std::uint64_t> resident_memory(const std::string& root) {
    std::ifstream file(root + "/proc/self/statm");  // in pages: size, resident, ...
    std::int64_t size = 0;
    std::int64_t resident = 0;
    if (!(file >> size >> resident) || resident < 0) return std::nullopt;
    return static_cast<std::uint64_t>(resident) *
           static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

template <class T>
json or_null(const std::optional<T>& known) {
    return known ? json(*known) : json(nullptr);
}

}  // namespace

process_memory memory_of_process(const std::string& root) {
    process_memory memory = {.resident = resident_memory(root)};
    cadre::detail::for_each_control_group(
        root, "memory", [&](const std::string& group, cadre::detail::group_version version) {
            if (const auto limit = limit_of(group, version))
                memory.limit = std::min(memory.limit.value_or(*limit), *limit);
        });
    return memory;
}

json json_of(const process_memory& memory) {
    return {{"resident_memory_bytes", or_null(memory.resident)},
            {"memory_limit_bytes", or_null(memory.limit)}};
}

}  // namespace cadre::manage::detail
