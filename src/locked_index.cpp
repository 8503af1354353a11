// SPDX-License-Identifier: Apache-2.0
//
// The two flags beside the number work as in small_mutex: whoever has to sleep marks the word
// `contended` first, and takes it as contended when it wakes, for there may be others; so an
// unlock() that does not find the mark knows that nobody sleeps. While the word is taken only the
// mark changes in it, so its lower half, which holds the flags, can serve as the futex. If the
// number moves on between look and sleep, the sleeper returns at once and looks again.

#include <cadre/detail/locked_index.hpp>

#include <bit>

#include "futex.hpp"
#include "pause.hpp"

namespace cadre::detail {

std::atomic<std::uint32_t>& locked_index::futex_word() noexcept {
    static_assert(sizeof(word_) == 2 * sizeof(std::atomic<std::uint32_t>));
    return reinterpret_cast<std::atomic<std::uint32_t>*>(
        &word_)[std::endian::native == std::endian::little ? 0 : 1];
}

std::uint64_t locked_index::lock_slowly() noexcept {
    constexpr int spins = 64;  // about as long as the lock is held
    for (int i = 0; i < spins; ++i) {
        std::uint64_t seen = word_.load(std::memory_order_relaxed);
        if ((seen & flags) == 0 &&
            word_.compare_exchange_weak(seen, seen | taken, std::memory_order_acquire))
            return seen >> flag_bits;
        pause();
    }
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
        const bool was_free = (seen & taken) == 0;
        const std::uint64_t marked = seen | taken | contended;
        if (seen != marked && !word_.compare_exchange_weak(seen, marked, std::memory_order_acquire))
            continue;
        if (was_free) return seen >> flag_bits;
        futex_wait(futex_word(), static_cast<std::uint32_t>(marked), forever);
        seen = word_.load(std::memory_order_relaxed);
    }
}

void locked_index::wake_one() noexcept { futex_wake_one(futex_word()); }

}  // namespace cadre::detail
