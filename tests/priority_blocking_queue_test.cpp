// SPDX-License-Identifier: Apache-2.0
#include <cadre/queue/priority_blocking_queue.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/queue_kinds.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

/// An element with a rank, by which it is ordered, and a number to tell it from its equals.
struct ranked {
    int rank;
    int number;
};
struct by_rank {
    bool operator()(const ranked& a, const ranked& b) const { return a.rank < b.rank; }
};

/// Orders items; throws at the comparison whose turn it is.
struct throwing_compare {
    struct failure {};
    int* until_failure;
    bool operator()(const item& a, const item& b) const {
        if ((*until_failure)-- == 0) throw failure();
        return a < b;
    }
};

std::vector<int> shuffled(int count, unsigned seed) {
    auto values = numbers(0, count);
    std::shuffle(values.begin(), values.end(), std::mt19937(seed));
    return values;
}

// PBQ-001
TEST(priority_blocking_queue, has_no_bound) {
    priority_blocking_queue<int> queue(2);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(queue.remaining_capacity(), priority_blocking_queue<int>::npos);
        queue.add(i);
    }
    EXPECT_EQ(queue.size(), 20u);
}

// PBQ-002
TEST(priority_blocking_queue, refuses_an_initial_capacity_below_one) {
    EXPECT_THROW(priority_blocking_queue<int>(0), std::invalid_argument);
    EXPECT_THROW(priority_blocking_queue<int>(-1), std::invalid_argument);
    EXPECT_NO_THROW(priority_blocking_queue<int>(1));
}

// PBQ-003
TEST(priority_blocking_queue, a_comparator_decides_the_order_and_is_reported) {
    using compare = std::function<bool(int, int)>;
    priority_blocking_queue<int, compare> queue(compare(std::greater<int>{}));
    for (const int i : {2, 5, 1}) queue.add(i);
    for (const int expected : {5, 2, 1}) EXPECT_EQ(queue.take(), expected);
    EXPECT_TRUE(queue.comparator()(2, 1));
}

// PBQ-004, PBQ-005, PBQ-006
TEST(priority_blocking_queue, insertion_never_waits_nor_looks_at_the_flag) {
    priority_blocking_queue<int> queue(2);
    waiting_call inserts([&] {
        thread_handle::current().interrupt();
        for (int i = 0; i < 4; ++i) queue.put(i);
        EXPECT_TRUE(queue.offer_for(4, guard));
        EXPECT_TRUE(queue.offer_for(5, std::chrono::hours::max()));
        EXPECT_TRUE(queue.offer(6));
        queue.add(7);
        EXPECT_TRUE(this_thread::interrupted());
    });
    EXPECT_TRUE(inserts.returned());
    EXPECT_EQ(queue.size(), 8u);
}

// PBQ-007, PBQ-008
TEST(priority_blocking_queue, the_smallest_element_leaves_first) {
    for (int count = 0; count < 60; ++count) {
        priority_blocking_queue<item> queue(shuffled(count, 7));
        for (int i = 0; i < count; ++i) {
            EXPECT_EQ(queue.peek(), item(i));
            EXPECT_EQ(queue.element(), item(i));
            EXPECT_EQ(i % 2 ? queue.take() : *queue.poll(), item(i));
        }
        EXPECT_TRUE(queue.empty());
    }
}

// PBQ-009
TEST(priority_blocking_queue, waits_interruptibly_once_it_is_empty) {
    priority_blocking_queue<int> queue;
    queue.put(1);
    queue.take();
    expect_interruptible([&] { queue.take(); });
    expect_interruptible([&] { queue.poll_for(guard); });
}

// PBQ-010, PBQ-011
TEST(priority_blocking_queue, snapshot_and_traversal_hold_every_element) {
    priority_blocking_queue<item> queue(shuffled(50, 3));
    auto copies = queue.to_vector();
    std::sort(copies.begin(), copies.end());
    auto visited = shown(queue);
    std::sort(visited.begin(), visited.end());
    EXPECT_EQ(visited, numbers(0, 50));
    EXPECT_TRUE(std::equal(copies.begin(), copies.end(), visited.begin(), visited.end()));
}

// PBQ-012
TEST(priority_blocking_queue, drains_in_order_of_priority) {
    priority_blocking_queue<item> queue(shuffled(50, 4));
    EXPECT_EQ(drained(queue, 20), numbers(0, 20));
    EXPECT_EQ(drained(queue), numbers(20, 50));
    EXPECT_TRUE(queue.empty());
}

// PBQ-013
TEST(priority_blocking_queue, a_drain_that_races_a_put_loses_nothing) {
    for (int round = 0; round < 50; ++round) {
        priority_blocking_queue<item> queue(shuffled(some, 5));
        cadre::thread puts([&] { queue.put(some); });
        auto out = drained(queue);
        puts.join();
        EXPECT_GE(out.size(), std::size_t{some});
        for (const int i : drained(queue)) out.push_back(i);
        EXPECT_EQ(out, numbers(0, some + 1));
    }
}

// PBQ-014
TEST(priority_blocking_queue, finds_elements_by_equality_wherever_they_are) {
    priority_blocking_queue<item> queue(shuffled(50, 6));
    for (const int i : shuffled(50, 8)) {
        EXPECT_TRUE(queue.contains(i));
        EXPECT_TRUE(queue.remove(i));
        EXPECT_FALSE(queue.contains(i));
    }
    queue.put(1);
    queue.clear();
    EXPECT_TRUE(queue.empty());
}

// PBQ-015
TEST(priority_blocking_queue, a_waiting_timed_poll_gets_a_later_put) {
    priority_blocking_queue<int> queue;
    waiting_call polls([&] { EXPECT_EQ(queue.poll_for(1h), 4); });
    queue.put(4);
    EXPECT_TRUE(polls.returned());
}

TEST(priority_blocking_queue, removal_from_the_middle_keeps_the_order) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        priority_blocking_queue<item> queue(shuffled(100, seed));
        EXPECT_EQ(queue.remove_if([](const item& x) { return x.value % 3 == 0; }), 34u);
        auto expected = numbers(0, 100);
        std::erase_if(expected, [](int i) { return i % 3 == 0; });
        EXPECT_EQ(drained(queue), expected);
    }
}

TEST(priority_blocking_queue, equal_elements_leave_in_the_order_in_which_they_came) {
    priority_blocking_queue<ranked, by_rank> queue;
    for (int i = 0; i < 10'000; ++i) queue.put({i % 3, i});
    for (int i = 0; i < 500; ++i) queue.put({queue.take().rank, 10'000 + i});  // mixes the heap
    queue.remove_if([](const ranked& x) { return x.number % 7 == 0; });
    auto before = queue.take();
    while (auto next = queue.poll()) {
        ASSERT_TRUE(before.rank < next->rank ||
                    (before.rank == next->rank && before.number < next->number));
        before = *next;
    }
}

TEST(priority_blocking_queue, removal_up_to_a_maximum_takes_the_smallest) {
    // As a heap they lie in another order: 1 5 2 9 6 3.
    priority_blocking_queue<item> queue;
    for (const int i : {1, 5, 2, 9, 6, 3}) queue.put(i);
    std::vector<item> out;
    EXPECT_EQ(queue.extract_if([](const item&) { return true; }, out, 3), 3u);
    EXPECT_EQ(out, (std::vector<item>{1, 2, 3}));
    EXPECT_EQ(drained(queue), (std::vector{5, 6, 9}));
}

TEST(priority_blocking_queue, of_two_tasks_the_one_with_the_larger_priority_leaves_first) {
    priority_blocking_queue<task> queue;
    std::string order;
    queue.put([&] { order += 'c'; });
    queue.put(prioritized(5, [&] { order += 'a'; }));
    queue.put(prioritized(-1, [&] { order += 'e'; }));
    queue.put(prioritized(5, [&] { order += 'b'; }));
    queue.put([&] { order += 'd'; });
    while (auto next = queue.poll()) (*next)();
    EXPECT_EQ(order, "abcde");
}

TEST(priority_blocking_queue, a_comparator_that_throws_in_an_insertion_changes_nothing) {
    int until_failure = -1;
    priority_blocking_queue<item, throwing_compare> queue(throwing_compare{&until_failure});
    for (const int i : shuffled(64, 9)) {
        for (int k = 0;; ++k) {
            item x(i);
            until_failure = k;
            try {
                queue.put(std::move(x));
                break;
            } catch (throwing_compare::failure) {}
        }
        until_failure = -1;
    }
    EXPECT_EQ(queue.size(), 64u);
    EXPECT_EQ(drained(queue), numbers(0, 64));
}

TEST(priority_blocking_queue, a_comparator_that_throws_in_a_removal_changes_nothing) {
    const long before = item::alive;
    {
        int until_failure = -1;
        priority_blocking_queue<item, throwing_compare> queue(throwing_compare{&until_failure});
        for (const int i : shuffled(64, 10)) queue.put(i);
        for (int i = 0; i < 64; ++i) {
            for (int k = 0;; ++k) {
                until_failure = k;
                try {
                    ASSERT_EQ(queue.take(), item(i));
                    break;
                } catch (throwing_compare::failure) {
                    ASSERT_EQ(queue.size(), static_cast<std::size_t>(64 - i));
                }
            }
        }
    }
    EXPECT_EQ(item::alive, before);
}

TEST(priority_blocking_queue, a_comparator_that_throws_in_an_extraction_changes_nothing) {
    int until_failure = -1;
    priority_blocking_queue<item, throwing_compare> queue(throwing_compare{&until_failure});
    for (const int i : shuffled(20, 11)) queue.put(i);
    std::vector<item> out;
    for (int k = 0; out.empty(); ++k) {
        until_failure = k;
        try {
            queue.extract_if([](const item& x) { return x.value % 2 == 0; }, out);
        } catch (throwing_compare::failure) {
            ASSERT_TRUE(out.empty());
            ASSERT_EQ(queue.size(), 20u);
        }
    }
    until_failure = -1;
    EXPECT_EQ(out.size(), 10u);
    EXPECT_EQ(drained(queue), (std::vector<int>{1, 3, 5, 7, 9, 11, 13, 15, 17, 19}));
}

}  // namespace
}  // namespace cadre::testing
