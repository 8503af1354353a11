// SPDX-License-Identifier: Apache-2.0
//
// The sleeps that tests may have. No test sleeps to make something likely: it waits for a fact,
// with what the other headers here give it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>

#include "support/eventually.hpp"
#include <cadre/thread.hpp>

namespace cadre::testing {

/// Sleeps until this thread is interrupted, and throws interrupted. Fails if nobody does that: in a
/// test that is watched, give it longer than whoever watches has patience.
inline void sleep_until_interrupted(std::chrono::nanoseconds longest = guard) {
    this_thread::sleep_for(longest);
    ADD_FAILURE() << "nobody interrupted a thread that sleeps until then";
}

/// Takes this long or longer, and next to no processor time: for what measures time or has a limit
/// for it. Nothing may rest on how much longer; a busy machine makes it seconds.
inline void take_at_least(std::chrono::nanoseconds time) { this_thread::sleep_for(time); }

}  // namespace cadre::testing
