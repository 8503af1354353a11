// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "manage/json_value.hpp"

namespace cadre::manage::detail {

/// What this process has of the machine's memory; nothing where nobody tells.
struct process_memory {
    std::optional<std::uint64_t> resident = {};  ///< in bytes
    /// The least of the limits of its control groups, in bytes; nothing: there is none.
    std::optional<std::uint64_t> limit = {};
};

/// As of now. `root` comes before each path, for tests. Files that are missing or make no sense
/// tell nothing.
process_memory memory_of_process(const std::string& root = {});

/// {"resident_memory_bytes": 1234, "memory_limit_bytes": null}
json json_of(const process_memory& memory);

}  // namespace cadre::manage::detail
