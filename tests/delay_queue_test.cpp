// SPDX-License-Identifier: Apache-2.0
#include <cadre/queue/delay_queue.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "support/eventually.hpp"
#include "support/queue_kinds.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

using steady = std::chrono::steady_clock;

struct delayed {
    steady::time_point at;
    int number = 0;
    steady::time_point time_point() const { return at; }
    bool operator==(const delayed&) const = default;
};

/// A delay_queue and threads that take one element each from it, in the order of their arrival.
class takers_of_delayed : public ::testing::Test {
protected:
    void start_takers(int count) {
        for (int i = 0; i < count; ++i)
            takers.push_back(std::make_unique<waiting_call>([this] {
                const auto x = queue.take();
                if (x.at > steady::now()) early = true;
                ++taken;
            }));
    }
    void start_anew() {
        takers.clear();
        queue.clear();
        taken = 0;
    }
    bool eventually_taken(int count) {
        return eventually([&] { return taken >= count; });
    }

    delay_queue<delayed> queue;
    std::atomic<int> taken = 0;
    std::atomic<bool> early = false;
    std::vector<std::unique_ptr<waiting_call>> takers;
};

// DQ-001, DQ-003
TEST(delay_queue, has_no_bound) {
    delay_queue<item> queue;
    for (int i = 0; i < some; ++i) {
        EXPECT_EQ(queue.size(), static_cast<std::size_t>(i));
        EXPECT_EQ(queue.remaining_capacity(), delay_queue<item>::npos);
        if (i % 2 == 0)
            EXPECT_TRUE(queue.offer(i));
        else
            queue.add(i);
    }
}

// DQ-004
TEST(delay_queue, insertion_never_waits_nor_looks_at_the_flag) {
    delay_queue<item> queue;
    waiting_call inserts([&] {
        thread_handle::current().interrupt();
        for (int i = 0; i < 4; ++i) queue.put(i);
        EXPECT_TRUE(queue.offer_for(4, guard));
        EXPECT_TRUE(this_thread::interrupted());
    });
    EXPECT_TRUE(inserts.returned());
    EXPECT_EQ(queue.size(), 5u);
}

// DQ-002, DQ-005
TEST(delay_queue, elements_whose_time_has_come_leave_earliest_first) {
    delay_queue<item> queue(std::vector<int>{3, 1, 4, 0, 2});
    for (int i = 0; i < 5; ++i) EXPECT_EQ(queue.poll(), item(i));
    EXPECT_EQ(queue.poll(), std::nullopt);
}

// DQ-007
TEST(delay_queue, take_gives_each_element_in_order_and_not_before_its_time) {
    delay_queue<delayed> queue;
    const auto start = steady::now();
    for (int i = some; i > 0; --i) queue.put({start + i * 1ms, i});
    for (int i = 1; i <= some; ++i) {
        const auto x = queue.take();
        EXPECT_GE(steady::now(), x.at);
        EXPECT_EQ(x.number, i);
    }
}

// DQ-009
TEST(delay_queue, timed_poll_does_not_wait_for_an_element_that_comes_too_late) {
    delay_queue<delayed> queue;
    queue.put({steady::now() + guard});
    EXPECT_GE(time_of([&] { EXPECT_EQ(queue.poll_for(short_delay), std::nullopt); }), short_delay);
}

TEST(delay_queue, timed_poll_gives_an_element_whose_time_comes_in_time) {
    delay_queue<delayed> queue;
    queue.put({steady::now() + short_delay, 1});
    EXPECT_EQ(queue.poll_for(guard)->number, 1);
}

// DQ-013
TEST(delay_queue, poll_and_drain_give_only_elements_whose_time_has_come) {
    delay_queue<delayed> queue;
    const auto now = steady::now();
    queue.put({now + 1h, 3});
    queue.put({now - 1s, 2});
    queue.put({now - 2s, 1});
    std::vector<delayed> out;
    EXPECT_EQ(queue.drain_to(out, 1), 1u);
    EXPECT_EQ(out.back().number, 1);
    EXPECT_EQ(queue.drain_to(out), 1u);
    EXPECT_EQ(out.back().number, 2);
    EXPECT_EQ(queue.drain_to(out), 0u);
    EXPECT_EQ(queue.poll(), std::nullopt);
    EXPECT_THROW(queue.remove(), no_such_element);
    EXPECT_EQ(queue.size(), 1u);
}

TEST(delay_queue, a_drain_with_nothing_to_give_does_not_mind_a_full_queue) {
    delay_queue<delayed> queue;
    array_blocking_queue<delayed> full(1);
    full.add({steady::now(), 1});
    queue.put({steady::now() + 1h, 2});
    EXPECT_EQ(queue.drain_to(full), 0u);
    queue.put({steady::now() - 1s, 3});
    EXPECT_THROW(queue.drain_to(full), illegal_state);
    EXPECT_EQ(queue.size(), 2u);
    EXPECT_EQ(queue.take().number, 3);
}

// DQ-008, DQ-011, DQ-012
TEST(delay_queue, elements_whose_time_has_not_come_are_seen_and_removed_by_value) {
    delay_queue<delayed> queue;
    const delayed later{steady::now() + 1h, 1};
    const delayed latest{steady::now() + 2h, 2};
    queue.put(latest);
    queue.put(later);
    EXPECT_EQ(queue.peek(), later);
    EXPECT_EQ(queue.element(), later);
    EXPECT_TRUE(queue.contains(latest));
    EXPECT_EQ(queue.to_vector().size(), 2u);
    EXPECT_TRUE(queue.remove(later));
    EXPECT_EQ(queue.peek(), latest);
    queue.clear();
    EXPECT_TRUE(queue.empty());
}

// DQ-014
TEST(delay_queue, a_drain_that_races_a_put_loses_nothing) {
    for (int round = 0; round < 50; ++round) {
        delay_queue<item> queue(numbers(0, some));
        cadre::thread puts([&] { queue.put(some); });
        auto out = drained(queue);
        puts.join();
        for (const int i : drained(queue)) out.push_back(i);
        EXPECT_EQ(out, numbers(0, some + 1));
    }
}

TEST(delay_queue, elements_of_one_time_leave_in_the_order_in_which_they_came) {
    delay_queue<delayed> queue;
    const auto at = steady::now();
    for (int i = 0; i < 1000; ++i) queue.put({at, i});
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(queue.take().number, i);
}

TEST(delay_queue, the_ends_of_time_are_times) {
    delay_queue<delayed> queue;
    queue.put({steady::time_point::max(), 3});
    queue.put({steady::time_point::min(), 1});
    queue.put({steady::now(), 2});
    EXPECT_EQ(queue.take().number, 1);
    EXPECT_EQ(queue.take().number, 2);
    EXPECT_EQ(queue.poll(), std::nullopt);
    EXPECT_EQ(queue.poll_for(1ms), std::nullopt);
    expect_interruptible([&] { queue.take(); });
    EXPECT_EQ(queue.size(), 1u);
}

// DQ-006
TEST(delay_queue, waits_interruptibly_for_a_time_that_has_not_come) {
    delay_queue<delayed> queue;
    queue.put({steady::now() + 1h});
    expect_interruptible([&] { queue.take(); });
    expect_interruptible([&] { queue.poll_for(guard); });
    EXPECT_EQ(queue.size(), 1u);
}

TEST_F(takers_of_delayed, one_element_serves_one_taker) {
    start_takers(3);
    queue.put({steady::now() + 20ms});
    EXPECT_TRUE(eventually_taken(1));
    queue.put({steady::now() + 10ms});
    queue.put({steady::now() + 10ms});
    EXPECT_TRUE(eventually_taken(3));
    EXPECT_FALSE(early);
}

TEST_F(takers_of_delayed, a_follower_leads_when_the_leader_is_interrupted) {
    with_enough_time([&](auto time) {
        start_anew();
        queue.put({steady::now() + time});
        start_takers(3);
        takers.front()->interrupt();
        if (!takers.front()->was_interrupted()) return false;
        EXPECT_TRUE(eventually_taken(1));
        EXPECT_FALSE(early);
        return true;
    });
}

TEST_F(takers_of_delayed, a_follower_leads_when_the_leader_times_out) {
    with_enough_time([&](auto time) {
        start_anew();
        queue.put({steady::now() + time});
        bool too_late = false;
        waiting_call leader([&] { too_late = queue.poll_for(time / 4).has_value(); });
        start_takers(2);
        EXPECT_TRUE(leader.returned());
        if (too_late) return false;
        EXPECT_TRUE(eventually_taken(1));
        EXPECT_FALSE(early);
        return true;
    });
}

TEST_F(takers_of_delayed, the_next_head_is_waited_for_when_the_head_is_removed) {
    with_enough_time([&](auto time) {
        start_anew();
        queue.put({steady::now() + time, 1});
        queue.put({steady::now() + 2 * time, 2});
        start_takers(3);
        if (queue.remove_if([](const delayed& x) { return x.number == 1; }) == 0) return false;
        EXPECT_TRUE(eventually_taken(1));
        EXPECT_TRUE(queue.empty());
        EXPECT_FALSE(early);
        return true;
    });
}

TEST_F(takers_of_delayed, an_earlier_head_is_taken_while_the_leader_sleeps_for_a_later_one) {
    queue.put({steady::now() + 1h});
    start_takers(3);
    const auto took = time_of([&] {
        queue.put({steady::now() + 5ms});
        EXPECT_TRUE(eventually_taken(1));
    });
    EXPECT_LT(took, long_delay);
    EXPECT_FALSE(early);
}

TEST_F(takers_of_delayed, an_earlier_head_is_taken_whatever_happened_to_the_leader) {
    queue.put({steady::now() + 1h, 1});
    start_takers(4);
    takers[0]->interrupt();
    queue.remove_if([](const delayed& x) { return x.number == 1; });
    takers[1]->interrupt();
    queue.put({steady::now() + 2h, 2});
    takers[2]->interrupt();
    queue.put({steady::now() + 5ms, 3});
    EXPECT_TRUE(takers[3]->is_over() || eventually_taken(1));
    EXPECT_EQ(queue.size(), 1u);
}

TEST_F(takers_of_delayed, clearing_the_queue_leaves_the_takers_waiting_for_new_elements) {
    queue.put({steady::now() + 30ms});
    start_takers(2);
    queue.clear();
    queue.put({steady::now() + 60ms});
    queue.put({steady::now() + 60ms});
    EXPECT_TRUE(eventually_taken(2));
}

// DQ-016
TEST(delay_queue, an_element_does_not_wake_every_taker) {
    constexpr int elements = 100;
    constexpr int consumers = 50;
    delay_queue<delayed> queue;
    std::atomic<int> left = elements;
    std::atomic<long> sleeps = 0;
    {
        std::vector<std::unique_ptr<waiting_call>> takers;
        for (int i = 0; i < consumers; ++i)
            takers.push_back(std::make_unique<waiting_call>([&] {
                try {
                    for (;;) {
                        queue.take();
                        --left;
                    }
                } catch (const interrupted&) {
                    rusage usage;
                    getrusage(RUSAGE_THREAD, &usage);
                    sleeps += usage.ru_nvcsw;
                }
            }));
        const auto start = steady::now();
        for (int i = 1; i <= elements; ++i) queue.put({start + i * 2ms});
        EXPECT_TRUE(eventually([&] { return left == 0; }));
        for (auto& taker : takers) taker->interrupt();
        for (auto& taker : takers) EXPECT_TRUE(taker->returned());
    }
    EXPECT_LT(sleeps, elements * consumers / 4);
}

}  // namespace
}  // namespace cadre::testing
