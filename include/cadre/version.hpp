// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cadre {

/// The version of these headers, as in the CMake package.
inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

}  // namespace cadre
