// SPDX-License-Identifier: Apache-2.0
//
// What every queue promises.

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <optional>
#include <ratio>
#include <vector>

#include "support/eventually.hpp"
#include "support/queue_kinds.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

template <class Kind>
class every_queue : public ::testing::Test {
protected:
    queue_ptr queue_ = Kind::make(some);
    blocking_queue<item>& queue = *queue_;
};
TYPED_TEST_SUITE(every_queue, all_kinds, kind_names);

// BQ-001
TYPED_TEST(every_queue, refuses_to_be_drained_into_itself) {
    EXPECT_THROW(this->queue.drain_to(this->queue), std::invalid_argument);
    EXPECT_THROW(this->queue.drain_to(this->queue, 0), std::invalid_argument);
    EXPECT_THROW(this->queue.drain_to(this->queue, 5), std::invalid_argument);
}

// BQ-002
TYPED_TEST(every_queue, drains_nothing_for_a_maximum_that_is_not_positive) {
    std::vector<item> out;
    for (const bool filled : {false, true}) {
        if (filled) this->queue.offer(1);
        const auto size = this->queue.size();
        for (const int max : {0, -1, -42, std::numeric_limits<int>::min()})
            EXPECT_EQ(this->queue.drain_to(out, max), 0u);
        EXPECT_EQ(this->queue.size(), size);
    }
    EXPECT_TRUE(out.empty());
}

// BQ-003
TYPED_TEST(every_queue, timed_poll_of_an_empty_queue_is_empty_and_not_early) {
    const auto waited =
        time_of([&] { EXPECT_EQ(this->queue.poll_for(short_delay), std::nullopt); });
    EXPECT_GE(waited, short_delay);
}

// BQ-004, BQ-053, SQ-012, PBQ-015, DQ-015
TYPED_TEST(every_queue, a_waiting_timed_poll_gets_what_is_offered_meanwhile) {
    std::optional<item> got;
    waiting_call polls([&] { got = this->queue.poll_for(1h); });
    const auto took = time_of([&] { EXPECT_TRUE(this->queue.offer_for(7, guard)); });
    EXPECT_TRUE(polls.returned());
    EXPECT_EQ(got, item(7));
    EXPECT_LT(took, long_delay);
    EXPECT_TRUE(this->queue.empty());
}

// BQ-005, BQ-006
TYPED_TEST(every_queue, take_from_an_empty_queue_is_interruptible) {
    expect_interruptible([&] { this->queue.take(); });
}

// BQ-007, BQ-008
TYPED_TEST(every_queue, timed_poll_of_an_empty_queue_is_interruptible) {
    expect_interruptible([&] { this->queue.poll_for(guard); });
}

// BQ-010
TYPED_TEST(every_queue, empty_means_empty) {
    EXPECT_EQ(this->queue.size(), 0u);
    EXPECT_TRUE(this->queue.empty());
    EXPECT_EQ(this->queue.peek(), std::nullopt);
    EXPECT_EQ(this->queue.poll(), std::nullopt);
    EXPECT_EQ(this->queue.poll_for(0ns), std::nullopt);
    EXPECT_EQ(this->queue.to_string(), "[]");
    EXPECT_TRUE(this->queue.to_vector().empty());
    EXPECT_THROW(this->queue.element(), no_such_element);
    EXPECT_THROW(this->queue.remove(), no_such_element);
}

// BQ-011
TYPED_TEST(every_queue, an_empty_queue_compares_nothing) {
    EXPECT_FALSE(this->queue.contains(1));
    EXPECT_FALSE(this->queue.remove(1));
    EXPECT_EQ(this->queue.remove_if([](const item&) -> bool { throw 1; }), 0u);
}

// BQ-028
TYPED_TEST(every_queue, refuses_to_be_added_to_itself) {
    EXPECT_THROW(this->queue.add_all(this->queue), std::invalid_argument);
}

TYPED_TEST(every_queue, a_timeout_that_is_not_positive_does_not_wait) {
    EXPECT_EQ(this->queue.poll_for(nanoseconds(-1)), std::nullopt);
    EXPECT_EQ(this->queue.poll_for(nanoseconds::min()), std::nullopt);
    EXPECT_EQ(this->queue.poll_for(hours::min()), std::nullopt);
    EXPECT_EQ(this->queue.poll_for(std::chrono::duration<double>(-1e300)), std::nullopt);
}

TYPED_TEST(every_queue, the_shortest_timeout_passes) {
    EXPECT_EQ(this->queue.poll_for(1ns), std::nullopt);
}

TYPED_TEST(every_queue, the_longest_timeouts_wait) {
    expect_interruptible([&] { this->queue.poll_for(nanoseconds::max()); });
    expect_interruptible([&] { this->queue.poll_for(hours::max()); });
    expect_interruptible([&] { this->queue.poll_for(std::chrono::duration<double>(1e300)); });
}

TYPED_TEST(every_queue, an_interrupt_beats_an_expired_timeout) {
    waiting_call polls([&] {
        thread_handle::current().interrupt();
        this->queue.poll_for(0ns);
    });
    EXPECT_TRUE(polls.was_interrupted());
}

TYPED_TEST(every_queue, calls_that_do_not_wait_do_not_look_at_the_flag) {
    waiting_call calls([&] {
        thread_handle::current().interrupt();
        this->queue.offer(1);
        this->queue.poll();
        this->queue.size();
        this->queue.clear();
        EXPECT_TRUE(this_thread::interrupted());
    });
    EXPECT_TRUE(calls.returned());
}

TYPED_TEST(every_queue, keeps_an_element_that_was_handed_over_together_with_an_interrupt) {
    for (int round = 0; round < 50; ++round) {
        std::atomic<int> got = 0;
        waiting_call takes([&] { got = this->queue.take().value; });
        const bool given = this->queue.offer(5);
        takes.interrupt();
        const bool returned = takes.returned();
        ASSERT_TRUE(given);
        ASSERT_EQ(returned ? got.load() : this->queue.take().value, 5);
    }
}

TYPED_TEST(every_queue, leaves_a_taker_waiting_until_there_is_an_element_for_it) {
    std::vector<std::unique_ptr<waiting_call>> takers;
    std::atomic<int> sum = 0;
    for (int i = 0; i < 3; ++i)
        takers.push_back(std::make_unique<waiting_call>([&] { sum += this->queue.take().value; }));
    for (int i = 1; i <= 3; ++i) this->queue.put(i);
    for (auto& taker : takers) EXPECT_TRUE(taker->returned());
    EXPECT_EQ(sum, 6);
}

}  // namespace
}  // namespace cadre::testing
