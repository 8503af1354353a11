// SPDX-License-Identifier: Apache-2.0
//
// Whoever has to sleep says so first (asleep_), and says it again when it has got the word, for
// there may be others; so an unlock() that is told of nobody makes no call of the system. One that
// looked just before it was told, and unlocks just after the sleeper's last look at the word, wakes
// nobody: an atomic operation in unlock() would spare that, and cost every putter more than the
// rest of a put. So nobody sleeps for longer than a millisecond. To come to that, a holder must
// have lost its processor, for the sleeper has spun for microseconds before.
//
// The lower half of the word, which holds the flag, serves as the futex. If the number changes
// between look and sleep, the sleeper returns at once and looks again.

#include <cadre/detail/locked_index.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
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
        if ((seen & taken) == 0 && try_take(seen)) return seen >> flag_bits;
    }
    constexpr std::chrono::milliseconds longest_sleep(1);
    for (;;) {
        asleep_.store(true);
        std::uint64_t seen = word_.load();
        if ((seen & taken) == 0) {
            if (try_take(seen)) return seen >> flag_bits;
            continue;
        }
        futex_wait(futex_word(), static_cast<std::uint32_t>(seen),
                   std::chrono::steady_clock::now() + longest_sleep);
    }
}

void locked_index::wake_one() noexcept { futex_wake_one(futex_word()); }

}  // namespace cadre::detail
