// SPDX-License-Identifier: Apache-2.0
//
// Whoever has to sleep marks the word `contended` first, and takes it as contended when it wakes,
// for there may be others; so an unlock() that finds `taken` knows that nobody sleeps. unlock()
// may wake a futex word whose object is gone already: that is harmless, the kernel only looks for
// sleepers at the address.

#include <cadre/detail/small_mutex.hpp>

#include "futex.hpp"

namespace cadre::detail {

void small_mutex::lock_slowly() noexcept {
    while (word_.exchange(contended, std::memory_order_acquire) != free)
        futex_wait(word_, contended, forever);
}

void small_mutex::wake_one() noexcept { futex_wake_one(word_); }

}  // namespace cadre::detail
