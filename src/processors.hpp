// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace cadre::detail {

/// The least of `allowed` processors and the CPU quotas of the control groups that this process is
/// in, a part of a processor as a whole one; at least 1. `root` stands for /, for tests. Files that
/// are missing or make no sense limit nothing.
int processors_within_quota(int allowed, const std::filesystem::path& root);

}  // namespace cadre::detail
