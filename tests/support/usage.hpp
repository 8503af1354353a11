// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/time.h>

#include <chrono>
#include <thread>

#include "support/eventually.hpp"

namespace cadre::testing {

/// What the whole process has used, or used meanwhile.
struct usage {
    std::chrono::microseconds cpu_time = {};
    long wake_ups = 0;  ///< how often one of its threads waited and was woken

    friend usage operator-(const usage& a, const usage& b) {
        return {a.cpu_time - b.cpu_time, a.wake_ups - b.wake_ups};
    }
};

inline usage used_so_far() {
    rusage all{};
    getrusage(RUSAGE_SELF, &all);
    const auto time = [](const timeval& t) {
        return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
    };
    return {time(all.ru_utime) + time(all.ru_stime), all.ru_nvcsw};
}

/// What the process uses while `call` is made.
template <class Call>
usage usage_of(Call call) {
    const usage before = used_so_far();
    call();
    return used_so_far() - before;
}

/// Waits for a stretch of this length in which the process uses no more than that. Threads that
/// have still to go to sleep only put it off; if something spins or wakes by itself there is none.
inline bool becomes_quiet(std::chrono::milliseconds stretch, const usage& at_most) {
    return eventually([&] {
        const auto used = usage_of([&] { std::this_thread::sleep_for(stretch); });
        return used.cpu_time <= at_most.cpu_time && used.wake_ups <= at_most.wake_ups;
    });
}

}  // namespace cadre::testing
