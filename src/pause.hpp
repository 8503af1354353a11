// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cadre::detail {

/// For a loop that looks again and again: tells the processor, which rests for some 20 to 50 ns
/// if it can.
inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

}  // namespace cadre::detail
