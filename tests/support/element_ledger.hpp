// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cadre::testing {

/// What became of each element that went through a queue: it has a number of its own, and what was
/// put in comes out, once. Its counts order nothing between threads, so they hide no race.
class element_ledger {
public:
    /// The number of the next element; larger than those before.
    int next() { return last_.fetch_add(1, std::memory_order_relaxed) + 1; }
    void put(int number) { note(number, was_put); }
    void taken(int number) { note(number, was_taken); }

    /// When nobody uses the queue any more, and it is empty.
    void expect_balanced() const {
        for (int i = 1; i <= last_; ++i) {
            const unsigned met = fate(i);
            const bool balances = met == 0 || met == (was_put | was_taken);
            ASSERT_TRUE(balances) << "element " << i
                                  << (met & twice     ? " was put in or taken twice"
                                      : met & was_put ? " is lost"
                                                      : " was taken, though it was not put in");
        }
    }

private:
    static constexpr std::uint8_t was_put = 1;
    static constexpr std::uint8_t was_taken = 2;
    static constexpr std::uint8_t twice = 4;

    std::uint8_t fate(int number) const { return fates_[static_cast<std::size_t>(number)]; }
    void note(int number, std::uint8_t what) {
        auto& met = fates_.at(static_cast<std::size_t>(number));
        if (met.fetch_or(what, std::memory_order_relaxed) & what) met.fetch_or(twice);
    }

    std::atomic<int> last_ = 0;
    std::vector<std::atomic<std::uint8_t>> fates_ =
        std::vector<std::atomic<std::uint8_t>>(1 << 22);  // more than any test has
};

}  // namespace cadre::testing
