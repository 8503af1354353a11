// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace cadre::testing {

using namespace std::chrono_literals;

/// Longer than anything here takes, on a loaded machine and under a sanitizer: what is not there
/// by then will never be. Turns a deadlock into a failure.
inline constexpr auto guard = 30s;
/// A timeout that is meant to pass.
inline constexpr auto short_delay = 12ms;
/// A timeout that is not; a call that returns before it returned promptly.
inline constexpr auto long_delay = 10s;

/// Waits until `fact` is true. False if that did not happen.
template <class Fact>
bool eventually(Fact fact) {
    const auto deadline = std::chrono::steady_clock::now() + guard;
    while (!fact()) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(100us);
    }
    return true;
}

/// Makes an attempt at something that must be done before a time from now, with more and more time:
/// the attempt returns false if this machine was too slow.
template <class Attempt>
void with_enough_time(Attempt attempt) {
    for (std::chrono::nanoseconds time = 20ms; time < guard; time *= 4)
        if (attempt(time)) return;
    ADD_FAILURE() << "no time was enough";
}

/// How long a call takes.
template <class Call>
std::chrono::nanoseconds time_of(Call call) {
    const auto start = std::chrono::steady_clock::now();
    call();
    return std::chrono::steady_clock::now() - start;
}

}  // namespace cadre::testing
