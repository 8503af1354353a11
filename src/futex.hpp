// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cadre/detail/duration.hpp>

namespace cadre::detail {

/// Sleeps while *word is `expected`, until the deadline on the steady clock. May return early.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       steady_time deadline) noexcept {
    using namespace std::chrono;
    timespec until{};
    timespec* limit = nullptr;
    if (deadline != forever) {
        const auto since_boot = deadline.time_since_epoch();
        if (since_boot <= nanoseconds::zero()) return;
        const auto whole = duration_cast<seconds>(since_boot);
        until.tv_sec = static_cast<std::time_t>(whole.count());
        until.tv_nsec = static_cast<long>((since_boot - whole).count());
        limit = &until;
    }
    // WAIT_BITSET takes an absolute time, on the monotonic clock unless told otherwise.
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word),
            FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, limit, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

inline void futex_wake(std::atomic<std::uint32_t>& word, int most) noexcept {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE | FUTEX_PRIVATE_FLAG,
            most, nullptr, nullptr, 0);
}
inline void futex_wake_one(std::atomic<std::uint32_t>& word) noexcept { futex_wake(word, 1); }
inline void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept { futex_wake(word, INT_MAX); }

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace cadre::detail
