// SPDX-License-Identifier: Apache-2.0
#include <cadre/queue/array_blocking_queue.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <vector>

#include "support/allocations.hpp"
#include "support/queue_kinds.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

/// Both the fair and the unfair queue.
class array_blocking_queue_test : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(fairness, array_blocking_queue_test, ::testing::Bool(),
                         [](const auto& fair) { return fair.param ? "fair" : "unfair"; });

/// Capacity 10, holding 0 to 9, with the front in the middle of the array.
std::unique_ptr<array_blocking_queue<item>> straddling_queue(bool fair) {
    auto queue = std::make_unique<array_blocking_queue<item>>(10, fair);
    EXPECT_EQ(queue->capacity(), 10);
    for (int i = 0; i < 6; ++i) queue->add(-2);
    queue->clear();
    for (int i = 0; i < 6; ++i) queue->add(-2);
    for (int i = 0; i < 6; ++i) queue->remove();
    for (int i = 0; i < 10; ++i) queue->add(i);
    return queue;
}

// ABQ-001
TEST_P(array_blocking_queue_test, refuses_a_capacity_that_is_not_positive) {
    EXPECT_THROW(array_blocking_queue<item>(0, GetParam()), std::invalid_argument);
    EXPECT_THROW(array_blocking_queue<item>(-1, GetParam()), std::invalid_argument);
}

// ABQ-002
TEST_P(array_blocking_queue_test, is_built_from_a_range_that_fits) {
    array_blocking_queue<item> exact(5, GetParam(), numbers(0, 5));
    EXPECT_EQ(drained(exact), numbers(0, 5));
    EXPECT_THROW(array_blocking_queue<item>(4, GetParam(), numbers(0, 5)), std::invalid_argument);
}

// ABQ-003
TEST_P(array_blocking_queue_test, keeps_order_size_and_snapshot_past_the_wrap_point) {
    for (int first = 0; first < 10; ++first) {
        array_blocking_queue<item> queue(10, GetParam());
        for (int i = 0; i < 10; ++i) queue.add(i);
        for (int i = 0; i < first; ++i) EXPECT_EQ(queue.take(), item(i));
        for (int i = 0; i < first; ++i) queue.add(10 + i);
        EXPECT_EQ(queue.size(), 10u);
        EXPECT_EQ(shown(queue), numbers(first, first + 10));
        EXPECT_EQ(drained(queue), numbers(first, first + 10));
    }
}

// ABQ-004
TEST_P(array_blocking_queue_test, all_views_agree_through_one_and_a_half_turns) {
    array_blocking_queue<item> queue(8, GetParam());
    const auto expect_holds = [&](int begin, int end) {
        const auto expected = numbers(begin, end);
        EXPECT_EQ(shown(queue), expected);
        EXPECT_EQ(queue.to_vector().size(), expected.size());
        EXPECT_EQ(queue.size(), expected.size());
        EXPECT_EQ(queue.size() + queue.remaining_capacity(), 8u);
        EXPECT_EQ(queue.peek().has_value(), begin != end);
        EXPECT_EQ(queue.peek().value_or(item(end)), item(begin));
    };
    for (int i = 0; i < 8; ++i, expect_holds(0, i)) queue.add(i);
    for (int i = 0; i < 12; ++i) {
        EXPECT_EQ(queue.poll(), item(i));
        queue.add(8 + i);
        expect_holds(i + 1, i + 9);
    }
    EXPECT_EQ(queue.to_string(), "[12, 13, 14, 15, 16, 17, 18, 19]");
    for (int i = 12; i < 20; ++i) {
        EXPECT_EQ(queue.poll(), item(i));
        expect_holds(i + 1, 20);
    }
}

// ABQ-005
TEST_P(array_blocking_queue_test, removes_from_the_interior_across_the_wrap_point) {
    const std::vector<int> odd = {1, 3, 5, 7, 9};
    const auto forwards = straddling_queue(GetParam());
    for (int i = 0; i < 10; i += 2) EXPECT_TRUE(forwards->remove(i));
    EXPECT_EQ(drained(*forwards), odd);
    const auto backwards = straddling_queue(GetParam());
    for (int i = 8; i >= 0; i -= 2) EXPECT_TRUE(backwards->remove(i));
    EXPECT_EQ(drained(*backwards), odd);
    const auto at_once = straddling_queue(GetParam());
    EXPECT_EQ(at_once->remove_if([](const item& x) { return x.value % 2 == 0; }), 5u);
    EXPECT_EQ(drained(*at_once), odd);
}

// ABQ-006
TEST_P(array_blocking_queue_test, removal_in_random_order_keeps_the_order_of_the_rest) {
    std::mt19937 random(42);
    array_blocking_queue<item> queue(10, GetParam());
    for (int turn = 0; turn < 20; ++turn) {
        queue.add(-2);
        queue.remove();  // moves the front on by one
        auto expected = numbers(0, 10);
        for (const int i : expected) queue.add(i);
        auto order = expected;
        std::shuffle(order.begin(), order.end(), random);
        for (const int i : order) {
            EXPECT_TRUE(queue.remove(i));
            std::erase(expected, i);
            EXPECT_EQ(shown(queue), expected);
            EXPECT_EQ(queue.peek().has_value(), !expected.empty());
        }
    }
}

// ABQ-007
TEST_P(array_blocking_queue_test, remove_and_drain_to_one_take_the_same_head) {
    array_blocking_queue<item> queue(7, GetParam());
    int next_in = 0;
    while (queue.remaining_capacity() > 0) queue.add(next_in++);
    for (int next_out = 0; next_out < 2 * 7; ++next_out) {
        if (next_out % 2 == 0)
            EXPECT_EQ(queue.remove(), item(next_out));
        else
            EXPECT_EQ(drained(queue, 1), std::vector<int>{next_out});
        queue.add(next_in++);
    }
}

TEST_P(array_blocking_queue_test, never_allocates_again) {
    array_blocking_queue<task> queue(100, GetParam());
    queue.put([] {});
    queue.take();
    const auto before = allocations_here();
    for (int i = 0; i < 1000; ++i) {
        queue.put([] {});
        queue.take()();
    }
    EXPECT_EQ(allocations_here(), before);
}

TEST_P(array_blocking_queue_test, reserves_a_large_capacity_without_touching_it) {
    array_blocking_queue<int> queue(100'000'000, GetParam());
    EXPECT_EQ(queue.remaining_capacity(), 100'000'000u);
    queue.put(1);
    EXPECT_EQ(queue.take(), 1);
}

TEST_P(array_blocking_queue_test, a_capacity_for_which_there_is_no_memory_is_refused) {
    failing_allocation_scope no_memory(0);
    EXPECT_THROW(array_blocking_queue<int>(10, GetParam()), std::bad_alloc);
}

TEST_P(array_blocking_queue_test, elements_need_only_be_movable) {
    struct fixed {
        explicit fixed(int v) : value(v) {}
        fixed(fixed&&) = default;
        const int value;
    };
    array_blocking_queue<fixed> queue(3, GetParam());
    queue.put(fixed(1));
    queue.put(fixed(2));
    queue.remove_if([](const fixed& x) { return x.value == 1; });
    EXPECT_EQ(queue.take().value, 2);
}

TEST(array_blocking_queue, a_fair_queue_serves_waiting_takers_in_the_order_of_their_arrival) {
    array_blocking_queue<int> queue(5, true);
    std::vector<std::unique_ptr<waiting_call>> takers;
    std::vector<int> got(5);
    for (std::size_t i = 0; i < got.size(); ++i)
        takers.push_back(std::make_unique<waiting_call>([&, i] { got[i] = queue.take(); }));
    for (int i = 0; i < 5; ++i) queue.put(i);
    EXPECT_TRUE(queue.empty());  // handed over already, not left for the fastest
    for (auto& taker : takers) EXPECT_TRUE(taker->returned());
    EXPECT_EQ(got, numbers(0, 5));
}

TEST(array_blocking_queue, a_fair_queue_serves_waiting_putters_in_the_order_of_their_arrival) {
    array_blocking_queue<int> queue(1, true);
    queue.put(0);
    std::vector<std::unique_ptr<waiting_call>> putters;
    for (int i = 1; i <= 5; ++i)
        putters.push_back(std::make_unique<waiting_call>([&, i] { queue.put(i); }));
    for (int i = 0; i <= 5; ++i) {
        EXPECT_EQ(queue.poll(), i);
        EXPECT_EQ(queue.offer(99), i == 5);  // nobody comes in between
    }
    for (auto& putter : putters) EXPECT_TRUE(putter->returned());
}

TEST(array_blocking_queue, a_fair_queue_lets_in_as_many_waiting_putters_as_there_is_room_for) {
    array_blocking_queue<item> queue(3, true);
    for (int i = 0; i < 3; ++i) queue.put(i);
    std::vector<std::unique_ptr<waiting_call>> putters;
    for (int i = 3; i < 6; ++i)
        putters.push_back(std::make_unique<waiting_call>([&, i] { queue.put(i); }));
    EXPECT_EQ(drained(queue).size(), 3u);
    for (auto& putter : putters) EXPECT_TRUE(putter->returned());
    EXPECT_EQ(drained(queue), numbers(3, 6));
}

}  // namespace
}  // namespace cadre::testing
