// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <cadre/manage/config_source.hpp>

namespace cadre::manage::detail {

/// The documents that were in force, by the names of their sources.
using config_snapshot = std::map<std::string, config_document>;

/// Throws std::system_error.
void write_snapshot(const std::filesystem::path& file, const config_snapshot& snapshot);
/// Empty if there is no file. Throws std::runtime_error if it is damaged.
config_snapshot read_snapshot(const std::filesystem::path& file);

}  // namespace cadre::manage::detail
