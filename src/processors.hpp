// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cadre::detail {

/// The least of `allowed` processors and the CPU quotas of the control groups that this process is
/// in, a part of a processor as a whole one; at least 1. `root` comes before each path, for tests.
/// Files that are missing or make no sense limit nothing.
int processors_within_quota(int allowed, const std::string& root);

}  // namespace cadre::detail
