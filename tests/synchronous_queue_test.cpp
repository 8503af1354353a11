// SPDX-License-Identifier: Apache-2.0
#include <cadre/queue/synchronous_queue.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "support/allocations.hpp"
#include "support/eventually.hpp"
#include "support/queue_kinds.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

/// Both the fair and the unfair queue.
class synchronous_queue_test : public ::testing::TestWithParam<bool> {
protected:
    synchronous_queue<item> queue{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(fairness, synchronous_queue_test, ::testing::Bool(),
                         [](const auto& fair) { return fair.param ? "fair" : "unfair"; });

// SQ-001
TEST_P(synchronous_queue_test, is_always_empty_and_always_full) {
    waiting_call puts([&] { queue.put(1); });
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.size(), 0u);
    EXPECT_EQ(queue.remaining_capacity(), 0u);
}

// SQ-002, SQ-003, SQ-004
TEST_P(synchronous_queue_test, refuses_elements_while_no_consumer_waits) {
    item x(5);
    EXPECT_FALSE(queue.offer(std::move(x)));
    EXPECT_EQ(x.value, 5);
    EXPECT_THROW(queue.add(1), illegal_state);
    EXPECT_THROW(queue.add_all(numbers(0, 3)), illegal_state);
}

// SQ-005, SQ-006
TEST_P(synchronous_queue_test, put_without_a_consumer_is_interruptible) {
    expect_interruptible([&] { queue.put(1); });
    EXPECT_EQ(queue.remaining_capacity(), 0u);
    EXPECT_EQ(queue.poll(), std::nullopt);
}

// SQ-007
TEST_P(synchronous_queue_test, a_waiting_put_returns_when_its_element_was_taken) {
    waiting_call puts([&] { queue.put(7); });
    EXPECT_FALSE(puts.is_over());
    EXPECT_EQ(queue.take(), item(7));
    EXPECT_TRUE(puts.returned());
}

// SQ-008
TEST_P(synchronous_queue_test, timed_offer_without_a_consumer_is_refused_and_not_early) {
    EXPECT_GE(time_of([&] { EXPECT_FALSE(queue.offer_for(1, short_delay)); }), short_delay);
}

// SQ-009
TEST_P(synchronous_queue_test, timed_offer_is_interruptible) {
    expect_interruptible([&] { queue.offer_for(1, guard); });
}

// SQ-010
TEST_P(synchronous_queue_test, poll_without_a_producer_is_empty_at_once) {
    EXPECT_EQ(queue.poll(), std::nullopt);
    EXPECT_EQ(queue.poll_for(0s), std::nullopt);
}

// SQ-011
TEST_P(synchronous_queue_test, timed_poll_without_a_producer_is_empty_and_not_early) {
    EXPECT_GE(time_of([&] { EXPECT_EQ(queue.poll_for(short_delay), std::nullopt); }), short_delay);
}

// SQ-012
TEST_P(synchronous_queue_test, timed_poll_and_timed_offer_meet_whoever_comes_first) {
    std::optional<item> got;
    waiting_call polls([&] { got = queue.poll_for(1h); });
    EXPECT_TRUE(queue.offer_for(1, guard));
    EXPECT_TRUE(polls.returned());
    EXPECT_EQ(got, item(1));
    waiting_call offers([&] { EXPECT_TRUE(queue.offer_for(2, guard)); });
    EXPECT_EQ(queue.poll_for(guard), item(2));
    EXPECT_TRUE(offers.returned());
}

// SQ-013, SQ-015, SQ-016, SQ-017, SQ-018, SQ-019
TEST_P(synchronous_queue_test, shows_nothing_even_if_a_producer_waits) {
    waiting_call puts([&] { queue.put(1); });
    EXPECT_EQ(queue.peek(), std::nullopt);
    EXPECT_THROW(queue.element(), no_such_element);
    EXPECT_FALSE(queue.contains(1));
    EXPECT_FALSE(queue.remove(1));
    queue.clear();
    EXPECT_TRUE(queue.empty());
    EXPECT_TRUE(queue.contains_all(std::vector<int>()));
    EXPECT_FALSE(queue.contains_all(std::vector<int>{1}));
    EXPECT_FALSE(queue.retain_all(std::vector<int>()));
    EXPECT_FALSE(queue.remove_all(std::vector<int>{1}));
    EXPECT_TRUE(queue.to_vector().empty());
    EXPECT_TRUE(shown(queue).empty());
    EXPECT_EQ(queue.to_string(), "[]");
    EXPECT_FALSE(puts.is_over());
}

// SQ-014
TEST_P(synchronous_queue_test, remove_throws_unless_a_producer_waits) {
    EXPECT_THROW(queue.remove(), no_such_element);
    waiting_call puts([&] { queue.put(3); });
    EXPECT_EQ(queue.remove(), item(3));
}

// SQ-020
TEST_P(synchronous_queue_test, offer_succeeds_as_soon_as_a_consumer_waits) {
    EXPECT_FALSE(queue.offer(1));
    waiting_call takes([&] { EXPECT_EQ(queue.take(), item(2)); });
    EXPECT_TRUE(queue.offer_for(2, guard));
    EXPECT_TRUE(takes.returned());
}

// SQ-021, SQ-022
TEST_P(synchronous_queue_test, drain_to_takes_from_waiting_producers) {
    EXPECT_TRUE(drained(queue).empty());
    waiting_call first([&] { queue.put(1); });
    waiting_call second([&] { queue.put(2); });
    EXPECT_EQ(drained(queue), (GetParam() ? std::vector<int>{1, 2} : std::vector<int>{2, 1}));
    EXPECT_TRUE(first.returned());
    EXPECT_TRUE(second.returned());
}

TEST_P(synchronous_queue_test, drain_to_leaves_those_waiting_whom_it_is_not_to_serve) {
    waiting_call first([&] { queue.put(1); });
    waiting_call second([&] { queue.put(2); });
    std::vector<item> out;
    EXPECT_EQ(queue.drain_to(out, 1), 1u);
    EXPECT_EQ(out.size(), 1u);
    EXPECT_EQ(queue.poll(), item(GetParam() ? 2 : 1));
    EXPECT_TRUE(first.returned());
    EXPECT_TRUE(second.returned());
}

TEST_P(synchronous_queue_test, drains_waiting_producers_into_another_queue) {
    linked_blocking_queue<item> other;
    EXPECT_EQ(queue.drain_to(other), 0u);
    waiting_call first([&] { queue.put(1); });
    waiting_call second([&] { queue.put(2); });
    EXPECT_EQ(queue.drain_to(other, 1), 1u);
    EXPECT_EQ(queue.drain_to(other), 1u);
    EXPECT_EQ(drained(other), (GetParam() ? std::vector<int>{1, 2} : std::vector<int>{2, 1}));
    EXPECT_TRUE(first.returned());
    EXPECT_TRUE(second.returned());
}

TEST_P(synchronous_queue_test, a_producer_for_whom_the_other_queue_has_no_room_goes_on_waiting) {
    array_blocking_queue<item> other(1);
    other.add(0);
    waiting_call puts([&] { queue.put(1); });
    EXPECT_THROW(queue.drain_to(other), illegal_state);
    EXPECT_FALSE(puts.is_over());
    EXPECT_EQ(queue.take(), item(1));
    EXPECT_EQ(drained(other), numbers(0, 1));
}

TEST_P(synchronous_queue_test, another_queue_drains_into_it_as_far_as_consumers_wait) {
    linked_blocking_queue<item> other(numbers(0, 2));
    EXPECT_THROW(other.drain_to(queue), illegal_state);
    waiting_call takes([&] { EXPECT_EQ(queue.take(), item(0)); });
    EXPECT_THROW(other.drain_to(queue), illegal_state);
    EXPECT_TRUE(takes.returned());
    EXPECT_EQ(drained(other), numbers(1, 2));
}

TEST_P(synchronous_queue_test, a_drain_that_gets_no_memory_leaves_the_producers_waiting) {
    waiting_call first([&] { queue.put(1); });
    std::vector<item> out;
    EXPECT_GT(
        fail_each_allocation([&] { queue.drain_to(out); }, [&] { EXPECT_FALSE(first.is_over()); }),
        0);
    EXPECT_EQ(out.size(), 1u);
    EXPECT_TRUE(first.returned());
}

TEST_P(synchronous_queue_test, a_fair_queue_serves_the_first_producer_an_unfair_one_the_last) {
    std::vector<std::unique_ptr<waiting_call>> producers;
    for (int i = 0; i < 4; ++i)
        producers.push_back(std::make_unique<waiting_call>([&, i] { queue.put(i); }));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(queue.take(), item(GetParam() ? i : 3 - i));
}

TEST_P(synchronous_queue_test, a_fair_queue_serves_the_first_consumer_an_unfair_one_the_last) {
    std::vector<std::unique_ptr<waiting_call>> consumers;
    std::vector<int> got(4, -1);
    for (std::size_t i = 0; i < got.size(); ++i)
        consumers.push_back(
            std::make_unique<waiting_call>([&, i] { got[i] = queue.take().value; }));
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(queue.offer(i));
    for (auto& consumer : consumers) EXPECT_TRUE(consumer->returned());
    EXPECT_EQ(got, (GetParam() ? std::vector<int>{0, 1, 2, 3} : std::vector<int>{3, 2, 1, 0}));
}

TEST_P(synchronous_queue_test, the_interrupt_flag_counts_only_for_a_thread_that_would_wait) {
    waiting_call puts([&] { queue.put(1); });
    waiting_call takes([&] {
        thread_handle::current().interrupt();
        EXPECT_EQ(queue.take(), item(1));
        EXPECT_TRUE(this_thread::interrupted());
    });
    EXPECT_TRUE(takes.returned());
    EXPECT_TRUE(puts.returned());
}

TEST_P(synchronous_queue_test, holds_no_element_after_it_was_handed_over) {
    const long before = item::alive;
    {
        waiting_call puts([&] { queue.put(1); });
        queue.take();
        EXPECT_TRUE(puts.returned());
    }
    EXPECT_EQ(item::alive, before);
}

}  // namespace
}  // namespace cadre::testing
