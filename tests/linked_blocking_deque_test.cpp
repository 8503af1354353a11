// SPDX-License-Identifier: Apache-2.0
#include <cadre/queue/linked_blocking_deque.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <vector>

#include "support/allocations.hpp"
#include "support/eventually.hpp"
#include "support/queue_kinds.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;
using deque = linked_blocking_deque<item>;

/// A full deque of 0, 1, 2 and an empty one.
class linked_blocking_deque_test : public ::testing::Test {
protected:
    linked_blocking_deque_test() {
        for (int i = 0; i < 3; ++i) full.add_last(i);
    }
    void expect_unchanged() { EXPECT_EQ(drained(full), numbers(0, 3)); }

    deque full{3};
    deque empty;
};

TEST_F(linked_blocking_deque_test, knows_its_capacity) {
    EXPECT_EQ(full.capacity(), 3);
    EXPECT_EQ(empty.capacity(), unbounded);
}

// LBD-001, LBD-008
TEST_F(linked_blocking_deque_test, inserts_at_either_end) {
    EXPECT_TRUE(empty.offer_first(2));
    EXPECT_TRUE(empty.offer_last(3));
    empty.add_first(1);
    EXPECT_EQ(empty.peek_first(), item(1));
    empty.add_last(4);
    EXPECT_EQ(empty.peek_last(), item(4));
    EXPECT_EQ(drained(empty), numbers(1, 5));
}

TEST_F(linked_blocking_deque_test, refuses_at_either_end_when_full) {
    item x(9);
    EXPECT_FALSE(full.offer_first(std::move(x)));
    EXPECT_FALSE(full.offer_last(std::move(x)));
    EXPECT_EQ(x.value, 9);
    EXPECT_THROW(full.add_first(9), illegal_state);
    EXPECT_THROW(full.add_last(9), illegal_state);
    expect_unchanged();
}

// LBD-002, LBD-003
TEST_F(linked_blocking_deque_test, polls_at_either_end) {
    EXPECT_EQ(full.poll_first(), item(0));
    EXPECT_EQ(full.poll_last(), item(2));
    EXPECT_EQ(full.poll_last(), item(1));
    EXPECT_EQ(full.poll_last(), std::nullopt);
    EXPECT_EQ(full.poll_first(), std::nullopt);
}

// LBD-004, LBD-005
TEST_F(linked_blocking_deque_test, shows_its_ends) {
    EXPECT_EQ(full.peek_first(), item(0));
    EXPECT_EQ(full.peek(), item(0));
    EXPECT_EQ(full.peek_last(), item(2));
    EXPECT_EQ(full.get_first(), item(0));
    EXPECT_EQ(full.get_last(), item(2));
    EXPECT_EQ(empty.peek_first(), std::nullopt);
    EXPECT_EQ(empty.peek_last(), std::nullopt);
    EXPECT_THROW(empty.get_first(), no_such_element);
    EXPECT_THROW(empty.get_last(), no_such_element);
    expect_unchanged();
}

// LBD-006
TEST_F(linked_blocking_deque_test, removes_its_ends_or_throws) {
    EXPECT_EQ(full.remove_last(), item(2));
    EXPECT_EQ(full.remove_first(), item(0));
    EXPECT_EQ(full.remove_first(), item(1));
    EXPECT_THROW(full.remove_first(), no_such_element);
    EXPECT_THROW(full.remove_last(), no_such_element);
}

// LBD-007
TEST_F(linked_blocking_deque_test, removes_the_first_or_the_last_of_equal_elements) {
    for (const int i : {1, 2, 1, 3, 1, 2}) empty.add(i);
    EXPECT_TRUE(empty.remove_last_occurrence(1));
    EXPECT_EQ(shown(empty), (std::vector<int>{1, 2, 1, 3, 2}));
    EXPECT_TRUE(empty.remove_first_occurrence(2));
    EXPECT_EQ(shown(empty), (std::vector<int>{1, 1, 3, 2}));
    EXPECT_TRUE(empty.remove_first_occurrence(1));
    EXPECT_TRUE(empty.remove_last_occurrence(1));
    EXPECT_FALSE(empty.remove_first_occurrence(1));
    EXPECT_FALSE(empty.remove_last_occurrence(1));
    EXPECT_EQ(drained(empty), (std::vector<int>{3, 2}));
}

TEST_F(linked_blocking_deque_test, a_removed_occurrence_lets_a_waiting_put_in) {
    for (const bool last : {false, true}) {
        linked_blocking_deque<item> two(2);
        two.add(1);
        two.add(1);
        waiting_call putter([&] { two.put_last(2); });
        EXPECT_TRUE(last ? two.remove_last_occurrence(1) : two.remove_first_occurrence(1));
        EXPECT_TRUE(putter.returned());
        EXPECT_EQ(drained(two), numbers(1, 3));
    }
}

// LBD-009
TEST_F(linked_blocking_deque_test, has_no_bound_unless_told) {
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(empty.remaining_capacity(), deque::npos);
        EXPECT_TRUE(i % 2 ? empty.offer_first(i) : empty.offer_last(i));
    }
}

// LBD-010, LBD-011
TEST_F(linked_blocking_deque_test, is_a_stack_at_its_front) {
    EXPECT_THROW(full.push(9), illegal_state);
    EXPECT_EQ(full.pop(), item(0));
    full.push(7);
    EXPECT_EQ(full.peek_first(), item(7));
    EXPECT_EQ(full.pop(), item(7));
    EXPECT_THROW(empty.pop(), no_such_element);
}

// LBD-012
TEST_F(linked_blocking_deque_test, fills_up_from_either_end) {
    deque two_ends(4);
    for (int i = 0; i < 2; ++i) {
        two_ends.put_first(i);
        two_ends.put_last(10 + i);
        EXPECT_TRUE(two_ends.contains(i) && two_ends.contains(10 + i));
    }
    EXPECT_EQ(two_ends.remaining_capacity(), 0u);
    EXPECT_EQ(drained(two_ends), (std::vector<int>{1, 0, 10, 11}));
}

// LBD-013, LBD-024
TEST_F(linked_blocking_deque_test, put_at_either_end_of_a_full_deque_is_interruptible) {
    expect_interruptible([&] { full.put_first(9); });
    expect_interruptible([&] { full.put_last(9); });
    expect_unchanged();
}

// LBD-014
TEST_F(linked_blocking_deque_test, a_waiting_put_goes_on_when_an_element_is_taken) {
    waiting_call puts_last([&] { full.put_last(3); });
    EXPECT_EQ(full.take(), item(0));
    EXPECT_TRUE(puts_last.returned());
    waiting_call puts_first([&] { full.put_first(0); });
    EXPECT_EQ(full.take_last(), item(3));
    EXPECT_TRUE(puts_first.returned());
    expect_unchanged();
}

// LBD-015, LBD-024
TEST_F(linked_blocking_deque_test, timed_offer_at_either_end_of_a_full_deque_waits) {
    EXPECT_GE(time_of([&] { EXPECT_FALSE(full.offer_first_for(9, short_delay)); }), short_delay);
    EXPECT_GE(time_of([&] { EXPECT_FALSE(full.offer_last_for(9, short_delay)); }), short_delay);
    expect_interruptible([&] { full.offer_first_for(9, guard); });
    expect_interruptible([&] { full.offer_last_for(9, guard); });
    expect_unchanged();
}

// LBD-016
TEST_F(linked_blocking_deque_test, take_first_delivers_front_to_back_and_then_waits) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(full.take_first(), item(i));
    expect_interruptible([&] { full.take_first(); });
}

// LBD-017
TEST_F(linked_blocking_deque_test, take_last_delivers_back_to_front_and_then_waits) {
    for (int i = 2; i >= 0; --i) EXPECT_EQ(full.take_last(), item(i));
    expect_interruptible([&] { full.take_last(); });
}

// LBD-018, LBD-024
TEST_F(linked_blocking_deque_test, take_at_either_end_of_an_empty_deque_is_interruptible) {
    expect_interruptible([&] { empty.take_first(); });
    expect_interruptible([&] { empty.take_last(); });
}

// LBD-019
TEST_F(linked_blocking_deque_test, the_flag_counts_for_put_and_take_only_if_they_have_to_wait) {
    waiting_call neither_waits([&] {
        thread_handle::current().interrupt();
        EXPECT_EQ(full.take(), item(0));
        EXPECT_EQ(full.take_first(), item(1));
        EXPECT_EQ(full.take_last(), item(2));
        full.put(1);
        full.put_first(0);
        full.put_last(2);
        EXPECT_TRUE(this_thread::interrupted());
    });
    EXPECT_TRUE(neither_waits.returned());
    expect_unchanged();
}

TEST_F(linked_blocking_deque_test, the_flag_counts_for_timed_calls_even_if_they_need_not_wait) {
    const std::vector<std::function<void()>> calls = {[&] { full.poll_for(guard); },
                                                      [&] { full.poll_first_for(guard); },
                                                      [&] { full.poll_last_for(guard); },
                                                      [&] { empty.offer_for(1, guard); },
                                                      [&] { empty.offer_first_for(1, guard); },
                                                      [&] { empty.offer_last_for(1, guard); }};
    for (const auto& call : calls) {
        waiting_call interrupted([&] {
            thread_handle::current().interrupt();
            call();
        });
        EXPECT_TRUE(interrupted.was_interrupted());
    }
    EXPECT_TRUE(empty.empty());
    expect_unchanged();
}

TEST_F(linked_blocking_deque_test, polls_without_a_timeout_do_not_wait) {
    EXPECT_EQ(full.poll_first_for(0s), item(0));
    EXPECT_EQ(full.poll_last_for(0s), item(2));
    EXPECT_EQ(full.poll_last_for(0s), item(1));
    EXPECT_EQ(full.poll_first_for(0s), std::nullopt);
    EXPECT_EQ(full.poll_last_for(0s), std::nullopt);
}

// LBD-020
TEST_F(linked_blocking_deque_test, timed_polls_wait_only_if_the_deque_is_empty) {
    const auto took = time_of([&] {
        EXPECT_EQ(full.poll_first_for(guard), item(0));
        EXPECT_EQ(full.poll_last_for(guard), item(2));
    });
    EXPECT_LT(took, long_delay);
    EXPECT_GE(time_of([&] { EXPECT_EQ(empty.poll_first_for(short_delay), std::nullopt); }),
              short_delay);
    EXPECT_GE(time_of([&] { EXPECT_EQ(empty.poll_last_for(short_delay), std::nullopt); }),
              short_delay);
}

// LBD-021, LBD-024
TEST_F(linked_blocking_deque_test, timed_polls_of_an_empty_deque_are_interruptible) {
    expect_interruptible([&] { empty.poll_first_for(guard); });
    expect_interruptible([&] { empty.poll_last_for(guard); });
}

// LBD-022
TEST_F(linked_blocking_deque_test, a_waiting_timed_poll_gets_what_is_offered_at_either_end) {
    const std::vector<std::function<bool(int)>> offers = {
        [&](int i) { return empty.offer_first_for(i, guard); },
        [&](int i) { return empty.offer_last_for(i, guard); },
    };
    const std::vector<std::function<std::optional<item>()>> polls = {
        [&] { return empty.poll_first_for(guard); },
        [&] { return empty.poll_last_for(guard); },
    };
    for (const auto& offer : offers)
        for (const auto& poll : polls) {
            waiting_call waits([&] { EXPECT_EQ(poll(), item(4)); });
            EXPECT_TRUE(offer(4));
            EXPECT_TRUE(waits.returned());
        }
}

// LBD-023
TEST_F(linked_blocking_deque_test, descending_traversal_is_the_reverse) {
    std::vector<int> visited;
    full.for_each_descending([&](const item& x) { visited.push_back(x.value); });
    EXPECT_EQ(visited, (std::vector<int>{2, 1, 0}));
}

TEST_F(linked_blocking_deque_test, odd_timeouts_at_either_end) {
    EXPECT_FALSE(full.offer_first_for(1, nanoseconds::min()));
    EXPECT_FALSE(full.offer_last_for(1, hours::min()));
    EXPECT_EQ(empty.poll_first_for(nanoseconds(-1)), std::nullopt);
    EXPECT_EQ(empty.poll_last_for(hours::min()), std::nullopt);
    expect_interruptible([&] { full.offer_first_for(1, nanoseconds::max()); });
    expect_interruptible([&] { full.offer_last_for(1, hours::max()); });
    expect_interruptible([&] { empty.poll_first_for(hours::max()); });
    expect_interruptible([&] { empty.poll_last_for(nanoseconds::max()); });
}

TEST_F(linked_blocking_deque_test, does_what_a_deque_of_the_standard_library_does) {
    std::mt19937 random(1);
    std::deque<int> model;
    for (int i = 0; i < 20'000; ++i) {
        switch (random() % 5) {
            case 0:
                empty.put_first(i), model.push_front(i);
                break;
            case 1:
                empty.put_last(i), model.push_back(i);
                break;
            case 2:
                empty.poll_first(), model.empty() ? void() : model.pop_front();
                break;
            case 3:
                empty.poll_last(), model.empty() ? void() : model.pop_back();
                break;
            default:
                const int divisor = static_cast<int>(random() % 50) + 2;
                empty.remove_if([=](const item& x) { return x.value % divisor == 0; });
                std::erase_if(model, [=](int x) { return x % divisor == 0; });
        }
        if (i % 100 == 0) {
            ASSERT_EQ(shown(empty), std::vector<int>(model.begin(), model.end()));
        }
    }
    ASSERT_EQ(shown(empty), std::vector<int>(model.begin(), model.end()));
}

TEST(linked_blocking_deque, a_waiting_put_that_gets_no_memory_lets_the_next_one_in) {
    deque one(1);
    one.put(0);
    std::atomic<bool> failed = false;
    waiting_call first([&] {
        const failing_allocation_scope no_memory(0);
        try {
            one.put(1);
        } catch (const std::bad_alloc&) {
            failed = true;
        }
    });
    waiting_call second([&] { one.put(2); });
    one.clear();  // gives the memory back, and makes room for one
    EXPECT_TRUE(first.returned());
    EXPECT_TRUE(failed);
    EXPECT_TRUE(second.returned());
    EXPECT_EQ(drained(one), std::vector<int>{2});
}

TEST(linked_blocking_deque, gives_the_memory_of_a_burst_back_at_either_end) {
    for (const bool from_the_back : {false, true}) {
        linked_blocking_deque<task> queue;
        const auto before = memory_in_use();
        for (int i = 0; i < 100'000; ++i) queue.put([] {});
        EXPECT_GT(memory_in_use(), before + 100'000 * 64);
        for (int i = 0; i < 100'000; ++i) from_the_back ? queue.take_last() : queue.take_first();
        EXPECT_LT(memory_in_use(), before + (1 << 20));
    }
}

}  // namespace
}  // namespace cadre::testing
