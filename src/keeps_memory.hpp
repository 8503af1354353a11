// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cadre::detail {

/// Whether memory that was given back is kept for the next to ask. Under a sanitizer nothing is, so
/// that it sees each use of such memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool keeps_memory = false;
#elif defined(__has_feature)
inline constexpr bool keeps_memory =
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
inline constexpr bool keeps_memory = true;
#endif

}  // namespace cadre::detail
