// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <cadre/detail/export.hpp>
#include <cadre/detail/schedule_point.hpp>

namespace cadre::detail {

/// A mutex of four bytes, for objects that there are millions of. Held for a few instructions
/// only; a thread that finds it taken sleeps on it as a futex.
class CADRE_API small_mutex {
public:
    small_mutex() = default;
    small_mutex(const small_mutex&) = delete;
    small_mutex& operator=(const small_mutex&) = delete;

    void lock() noexcept {
        CADRE_SCHEDULE_POINT("a small lock");
        std::uint32_t seen = free;
        // acquire: pairs with the release in unlock().
        if (!word_.compare_exchange_strong(seen, taken, std::memory_order_acquire)) lock_slowly();
    }
    void unlock() noexcept {
        CADRE_SCHEDULE_POINT("the end of a small lock");
        if (word_.exchange(free, std::memory_order_release) == contended) wake_one();
    }

private:
    static constexpr std::uint32_t free = 0;
    static constexpr std::uint32_t taken = 1;
    static constexpr std::uint32_t contended = 2;  // taken, and somebody may sleep

    void lock_slowly() noexcept;
    void wake_one() noexcept;

    std::atomic<std::uint32_t> word_ = free;
};

}  // namespace cadre::detail
