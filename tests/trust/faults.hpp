// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

// A sanitizer has a malloc and a pthread_create of its own, which nobody may stand in for.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CADRE_UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CADRE_UNDER_SANITIZER 1
#endif
#endif
#ifndef CADRE_UNDER_SANITIZER
#define CADRE_UNDER_SANITIZER 0
#endif

namespace cadre::testing {

/// Says what is wrong, and ends the process.
[[noreturn]] void fail(const std::string& what);
inline void expect(bool holds, const std::string& entry, int point, const char* what) {
    if (!holds) fail(entry + ", fault " + std::to_string(point) + ": " + what);
}

/// Refuses each thread that a pool asks for, the first, the second and so on, in four ways, alone
/// and with all that are asked for until it has recovered. Calls `told` after each fault, with the
/// name of what was played. Returns how many there were: where nobody asked for the thread that was
/// to be refused there was none.
int sweep_threads(const std::function<void(const char*)>& told);

}  // namespace cadre::testing
