// SPDX-License-Identifier: Apache-2.0
//
// The two flags beside the number work as in small_mutex: whoever has to sleep marks the word
// `contended` first, and takes it as contended when it wakes, for there may be others; so an
// unlock() that does not find the mark knows that nobody sleeps. The lower half of the word, which
// holds the flags, serves as the futex. If the number changes between look and sleep, the sleeper
// returns at once and looks again.

#include <cadre/detail/locked_index.hpp>

#include <algorithm>
#include <bit>
#include <thread>

#include "futex.hpp"
#include "pause.hpp"

namespace cadre::detail {

std::atomic<std::uint32_t>& locked_index::futex_word() noexcept {
    static_assert(sizeof(word_) == 2 * sizeof(std::atomic<std::uint32_t>));
    return reinterpret_cast<std::atomic<std::uint32_t>*>(
        &word_)[std::endian::native == std::endian::little ? 0 : 1];
}

std::uint64_t locked_index::lock_slowly() noexcept {
    // The holder may want it again at once, and works several times as fast while nobody takes the
    // line of cache away: left alone, ever longer, up to a microsecond or two. After the first of
    // these, others may have the better use for this processor.
    constexpr int looks = 12;
    constexpr int most_pauses = 64;
    int pauses = 4;
    for (int i = 0; i < looks; ++i) {
        for (int j = 0; j < pauses; ++j) pause();
        if (pauses == most_pauses) std::this_thread::yield();
        pauses = std::min(2 * pauses, most_pauses);
        std::uint64_t seen = word_.load(std::memory_order_relaxed);
        if ((seen & flags) == 0 &&
            word_.compare_exchange_weak(seen, seen | taken, std::memory_order_acquire))
            return seen >> flag_bits;
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
