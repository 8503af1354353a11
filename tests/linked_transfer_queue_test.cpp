// SPDX-License-Identifier: Apache-2.0
#include <cadre/queue/linked_transfer_queue.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "support/eventually.hpp"
#include "support/queue_kinds.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

class linked_transfer_queue_test : public ::testing::Test {
protected:
    linked_transfer_queue<item> queue;
};

// LTQ-001
TEST_F(linked_transfer_queue_test, has_no_bound) {
    for (int i = 0; i < some; ++i) {
        EXPECT_EQ(queue.remaining_capacity(), linked_transfer_queue<item>::npos);
        EXPECT_TRUE(queue.offer(i));
        queue.put(i);
    }
    EXPECT_EQ(queue.size(), 2u * some);
}

// LTQ-002
TEST_F(linked_transfer_queue_test, transfer_waits_until_its_element_is_received) {
    waiting_call first([&] { queue.transfer(1); });
    EXPECT_EQ(queue.size(), 1u);
    EXPECT_TRUE(queue.contains(1));
    EXPECT_FALSE(first.is_over());
    EXPECT_EQ(queue.poll(), item(1));
    EXPECT_TRUE(first.returned());
    waiting_call second([&] { queue.transfer(2); });
    EXPECT_EQ(queue.take(), item(2));
    EXPECT_TRUE(second.returned());
    EXPECT_TRUE(queue.empty());
}

// LTQ-003
TEST_F(linked_transfer_queue_test, a_transferred_element_keeps_its_place_in_the_order) {
    waiting_call transfers([&] { queue.transfer(1); });
    queue.offer(2);
    EXPECT_EQ(queue.poll(), item(1));
    EXPECT_TRUE(transfers.returned());
    EXPECT_FALSE(queue.contains(1));
    EXPECT_EQ(queue.poll(), item(2));
}

// LTQ-004
TEST_F(linked_transfer_queue_test, try_transfer_without_a_consumer_changes_nothing) {
    item x(5);
    EXPECT_FALSE(queue.try_transfer(std::move(x)));
    EXPECT_EQ(x.value, 5);
    EXPECT_TRUE(queue.empty());
}

// LTQ-005
TEST_F(linked_transfer_queue_test, try_transfer_serves_a_waiting_consumer) {
    EXPECT_FALSE(queue.has_waiting_consumer());
    waiting_call polls([&] { EXPECT_EQ(queue.poll_for(1h), item(1)); });
    EXPECT_TRUE(eventually([&] { return queue.has_waiting_consumer(); }));
    EXPECT_TRUE(queue.try_transfer(1));
    EXPECT_TRUE(polls.returned());
    waiting_call takes([&] { EXPECT_EQ(queue.take(), item(2)); });
    EXPECT_TRUE(eventually([&] { return queue.waiting_consumer_count() == 1; }));
    EXPECT_TRUE(queue.try_transfer(2));
    EXPECT_TRUE(takes.returned());
    EXPECT_EQ(queue.waiting_consumer_count(), 0u);
}

// LTQ-006
TEST_F(linked_transfer_queue_test, timed_transfer_is_interruptible) {
    expect_interruptible([&] { queue.try_transfer_for(1, guard); });
    EXPECT_TRUE(queue.empty());
}

// LTQ-007
TEST_F(linked_transfer_queue_test, timed_transfer_without_a_consumer_fails_and_is_not_early) {
    item x(5);
    EXPECT_GE(time_of([&] { EXPECT_FALSE(queue.try_transfer_for(std::move(x), short_delay)); }),
              short_delay);
    EXPECT_EQ(x.value, 5);
    EXPECT_TRUE(queue.empty());
}

// LTQ-008
TEST_F(linked_transfer_queue_test, timed_transfer_waits_for_its_turn) {
    queue.offer(1);
    bool accepted = false;
    waiting_call transfers([&] { accepted = queue.try_transfer_for(2, guard); });
    EXPECT_EQ(queue.size(), 2u);
    EXPECT_EQ(queue.poll(), item(1));
    EXPECT_FALSE(transfers.is_over());
    EXPECT_EQ(queue.poll(), item(2));
    EXPECT_TRUE(transfers.returned());
    EXPECT_TRUE(accepted);
}

// LTQ-009
TEST_F(linked_transfer_queue_test, timed_offer_succeeds_at_once) {
    waiting_call takes([&] { EXPECT_EQ(queue.take(), item(1)); });
    EXPECT_LT(time_of([&] { EXPECT_TRUE(queue.offer_for(1, guard)); }), long_delay);
    EXPECT_TRUE(takes.returned());
}

TEST_F(linked_transfer_queue_test, transfer_is_interruptible) {
    expect_interruptible([&] { queue.transfer(1); });
    EXPECT_TRUE(queue.empty());
}

TEST_F(linked_transfer_queue_test, odd_timeouts_of_a_timed_transfer) {
    item x(5);
    EXPECT_FALSE(queue.try_transfer_for(std::move(x), 0s));
    EXPECT_FALSE(queue.try_transfer_for(std::move(x), nanoseconds::min()));
    EXPECT_FALSE(queue.try_transfer_for(std::move(x), hours::min()));
    EXPECT_EQ(x.value, 5);
    expect_interruptible([&] { queue.try_transfer_for(1, nanoseconds::max()); });
    expect_interruptible([&] { queue.try_transfer_for(1, hours::max()); });
}

TEST_F(linked_transfer_queue_test, an_interrupted_transfer_leaves_its_neighbours_alone) {
    waiting_call first([&] { queue.transfer(1); });
    waiting_call second([&] { queue.transfer(2); });
    waiting_call third([&] { queue.transfer(3); });
    second.interrupt();
    EXPECT_TRUE(second.was_interrupted());
    EXPECT_EQ(drained(queue), (std::vector<int>{1, 3}));
    EXPECT_TRUE(first.returned() && third.returned());
}

TEST_F(linked_transfer_queue_test, whoever_removes_the_element_lets_the_transfer_return) {
    waiting_call removed([&] { queue.transfer(1); });
    EXPECT_TRUE(queue.remove(1));
    EXPECT_TRUE(removed.returned());
    waiting_call cleared([&] { queue.transfer(2); });
    queue.clear();
    EXPECT_TRUE(cleared.returned());
}

TEST_F(linked_transfer_queue_test,
       a_transfer_that_is_interrupted_as_it_succeeds_keeps_the_interrupt) {
    bool kept_it = false;
    waiting_call transfers([&] {
        queue.transfer(1);
        kept_it = this_thread::interrupted();
    });
    const auto taken = queue.extract_first([&](const item&) {
        transfers.interrupt();  // under the lock: when its thread gets that, the element is gone
        return true;
    });
    EXPECT_EQ(taken, item(1));
    EXPECT_TRUE(transfers.returned());
    EXPECT_TRUE(kept_it);
    EXPECT_TRUE(queue.empty());
}

TEST_F(linked_transfer_queue_test, consumers_are_served_in_the_order_of_their_arrival) {
    std::vector<std::unique_ptr<waiting_call>> consumers;
    std::vector<int> got(4, -1);
    for (std::size_t i = 0; i < got.size(); ++i)
        consumers.push_back(
            std::make_unique<waiting_call>([&, i] { got[i] = queue.take().value; }));
    EXPECT_EQ(queue.waiting_consumer_count(), 4u);
    for (int i = 0; i < 4; ++i) queue.put(i);
    for (auto& consumer : consumers) EXPECT_TRUE(consumer->returned());
    EXPECT_EQ(got, numbers(0, 4));
}

TEST_F(linked_transfer_queue_test, the_interrupt_flag_counts_only_for_a_thread_that_would_wait) {
    queue.put(1);
    waiting_call takes([&] {
        thread_handle::current().interrupt();
        EXPECT_EQ(queue.take(), item(1));
        EXPECT_TRUE(this_thread::interrupted());
    });
    EXPECT_TRUE(takes.returned());
}

TEST_F(linked_transfer_queue_test, holds_no_element_after_a_transfer) {
    const long before = item::alive;
    {
        waiting_call transfers([&] { queue.transfer(1); });
        queue.take();
        EXPECT_TRUE(transfers.returned());
    }
    EXPECT_EQ(item::alive, before);
}

}  // namespace
}  // namespace cadre::testing
