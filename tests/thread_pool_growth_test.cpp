// SPDX-License-Identifier: Apache-2.0
#include <cadre/thread_pool_executor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

// TPE-020
TEST(thread_pool_growth, runs_a_task_once_on_a_thread_of_its_own) {
    std::atomic<int> runs = 0;
    std::thread::id where;
    {
        thread_pool_executor pool(1, 1, 1s, room_for(10));
        pool.execute([&] {
            ++runs;
            where = std::this_thread::get_id();
        });
    }
    EXPECT_EQ(runs, 1);
    EXPECT_NE(where, std::this_thread::get_id());
    EXPECT_NE(where, std::thread::id());
}

// TPE-021
TEST(thread_pool_growth, makes_threads_on_demand) {
    gate may_end;
    thread_pool_executor pool(1, 1, 1s, room_for(10));
    EXPECT_EQ(pool.pool_size(), 0);
    auto seen_inside = pool.submit([&] {
        const int seen = pool.pool_size();
        may_end.wait();
        return seen;
    });
    EXPECT_EQ(pool.pool_size(), 1);
    may_end.open();
    EXPECT_EQ(seen_inside.get(), 1);
}

// TPE-022
TEST(thread_pool_growth, below_the_core_each_task_starts_a_thread_though_others_are_idle) {
    thread_pool_executor pool({.core_pool_size = 10});
    for (int i = 1; i <= 10; ++i) {
        pool.submit([] {}).get();
        EXPECT_EQ(pool.pool_size(), i);
    }
    for (int i = 0; i < 10; ++i) pool.submit([] {}).get();
    EXPECT_EQ(pool.pool_size(), 10);
}

// TPE-023
TEST(thread_pool_growth, fills_core_then_queue_then_maximum) {
    constexpr int n = 4;
    thread_pool_executor pool(n, 3 * n, 1h, room_for(3 * n));
    held_tasks held(pool, 6 * n);
    ASSERT_TRUE(held.have_started(3 * n));
    EXPECT_EQ(pool.pool_size(), 3 * n);
    EXPECT_EQ(pool.active_count(), 3 * n);
    EXPECT_EQ(pool.queue().size(), 3u * n);
    EXPECT_EQ(pool.task_count(), 6 * n);
    EXPECT_EQ(pool.completed_task_count(), 0);
    EXPECT_EQ(pool.largest_pool_size(), 3 * n);
    EXPECT_EQ(pool.core_pool_size(), n);
}

// TPE-023
TEST(thread_pool_growth, queues_what_comes_beyond_the_core_before_it_adds_a_thread) {
    thread_pool_executor pool(1, 2, 1h, room_for(1));
    held_tasks held(pool, 2);
    ASSERT_TRUE(held.have_started(1));
    EXPECT_EQ(pool.pool_size(), 1);
    EXPECT_EQ(pool.queue().size(), 1u);
    held.add_to(pool);
    ASSERT_TRUE(held.have_started(2));
    EXPECT_EQ(pool.pool_size(), 2);
    EXPECT_EQ(pool.queue().size(), 1u);
    EXPECT_THROW(held.add_to(pool), rejected_execution);
}

// TPE-024
TEST(thread_pool_growth, a_raised_maximum_holds_for_the_next_task) {
    constexpr int n = 4;
    thread_pool_executor pool(n, 3 * n, 1h, room_for(3 * n));
    held_tasks held(pool, 6 * n);
    ASSERT_TRUE(held.have_started(3 * n));
    EXPECT_THROW(held.add_to(pool), rejected_execution);
    pool.set_maximum_pool_size(4 * n);
    EXPECT_EQ(pool.pool_size(), 3 * n);
    for (int i = 1; i <= n; ++i) {
        held.add_to(pool);
        EXPECT_EQ(pool.pool_size(), 3 * n + i);
    }
    EXPECT_TRUE(held.have_started(4 * n));
    EXPECT_EQ(pool.queue().size(), 3u * n);
    EXPECT_EQ(pool.task_count(), 7 * n);
}

// TPE-025
TEST(thread_pool_growth, prestarts_one_core_thread_at_a_time) {
    thread_pool_executor pool(2, 6, 1h, room_for(10));
    EXPECT_EQ(pool.pool_size(), 0);
    EXPECT_TRUE(pool.prestart_core_thread());
    EXPECT_EQ(pool.pool_size(), 1);
    EXPECT_TRUE(pool.prestart_core_thread());
    EXPECT_FALSE(pool.prestart_core_thread());
    EXPECT_EQ(pool.pool_size(), 2);
    pool.set_core_pool_size(4);
    EXPECT_TRUE(pool.prestart_core_thread());
    EXPECT_TRUE(pool.prestart_core_thread());
    EXPECT_FALSE(pool.prestart_core_thread());
    EXPECT_EQ(pool.pool_size(), 4);
    EXPECT_EQ(pool.active_count(), 0);
}

// TPE-026
TEST(thread_pool_growth, prestarts_all_core_threads_in_one_call) {
    thread_pool_executor pool(2, 6, 1h, room_for(10));
    EXPECT_EQ(pool.prestart_all_core_threads(), 2);
    EXPECT_EQ(pool.pool_size(), 2);
    EXPECT_EQ(pool.prestart_all_core_threads(), 0);
    EXPECT_EQ(pool.pool_size(), 2);
    pool.set_core_pool_size(4);
    EXPECT_EQ(pool.prestart_all_core_threads(), 2);
    EXPECT_EQ(pool.pool_size(), 4);
    EXPECT_EQ(pool.prestart_all_core_threads(), 0);
}

// TPE-027
TEST(thread_pool_growth, prestarted_threads_take_tasks_from_the_queue) {
    constexpr int n = 4;
    const counting_factory factory;
    thread_pool_executor pool(n, 3 * n, 1h, room_for(3 * n), factory);
    EXPECT_EQ(pool.prestart_all_core_threads(), n);
    held_tasks held(pool, n);
    ASSERT_TRUE(held.have_started(n));
    EXPECT_EQ(factory.asked(), n);
    EXPECT_EQ(pool.pool_size(), n);
    EXPECT_TRUE(pool.queue().empty());
}

TEST(thread_pool_growth, does_not_prestart_a_pool_that_is_shut_down) {
    thread_pool_executor pool(2, 2, 1h, room_for(10));
    pool.shutdown();
    EXPECT_FALSE(pool.prestart_core_thread());
    EXPECT_EQ(pool.prestart_all_core_threads(), 0);
}

// TPE-028
TEST(thread_pool_growth, runs_one_callable_as_often_as_it_was_accepted) {
    std::atomic<int> runs = 0;
    int rejected = 0;
    {
        thread_pool_executor pool(1, 3, 1h, room_for(30));
        const auto recycled = [&runs] { ++runs; };
        for (int accepted = 0; accepted < 1000;) {
            try {
                pool.execute(recycled);
                ++accepted;
            } catch (const rejected_execution&) {
                ++rejected;
                std::this_thread::yield();
            }
        }
    }
    EXPECT_EQ(runs, 1000);
    RecordProperty("rejected", rejected);
}

// TPE-028
TEST(thread_pool_growth, takes_a_callable_that_it_has_rejected_before) {
    std::atomic<int> runs = 0;
    thread_pool_executor pool(1, 1, 1h, no_room());
    const auto recycled = [&runs] { ++runs; };
    {
        held_task held(pool);
        EXPECT_THROW(pool.execute(recycled), rejected_execution);
    }
    ASSERT_TRUE(eventually([&] { return pool.active_count() == 0; }));
    ASSERT_TRUE(eventually([&] {
        try {
            pool.execute(recycled);
            return true;
        } catch (const rejected_execution&) {
            return false;  // the worker is not waiting at the queue again yet
        }
    }));
    pool.close();
    EXPECT_EQ(runs, 1);
}

TEST(thread_pool_growth, with_no_core_and_a_queue_one_thread_works_it_off) {
    thread_pool_executor pool(0, 4, 1h, any_room());
    held_tasks held(pool, 3);
    ASSERT_TRUE(held.have_started(1));
    EXPECT_EQ(pool.pool_size(), 1);
    EXPECT_EQ(pool.queue().size(), 2u);
}

TEST(thread_pool_growth, with_an_unbounded_queue_the_core_is_never_exceeded) {
    thread_pool_executor pool(2, 8, 1h, any_room());
    held_tasks held(pool, 50);
    ASSERT_TRUE(held.have_started(2));
    EXPECT_EQ(pool.pool_size(), 2);
    held.let_go();
    ASSERT_TRUE(has_completed(pool, 50));
    EXPECT_EQ(pool.largest_pool_size(), 2);
}

TEST(thread_pool_growth, with_a_synchronous_queue_idle_threads_are_used_again) {
    const counting_factory factory;
    thread_pool_executor pool(0, 8, 1h, no_room(), factory);
    for (int i = 0; i < 100; ++i) {
        const auto worker = pool.submit([] { return waiting_thread::current(); }).get();
        ASSERT_TRUE(eventually([&] { return worker.waits() && pool.active_count() == 0; }));
    }
    EXPECT_EQ(factory.asked(), 1);
    EXPECT_EQ(pool.pool_size(), 1);
}

TEST(thread_pool_growth, a_task_that_gets_the_first_thread_runs_before_what_was_queued_without) {
    std::vector<int> order;
    auto filled = any_room();
    filled->add([&] { order.push_back(1); });
    {
        thread_pool_executor pool(1, 1, 1h, std::move(filled));
        pool.execute([&] { order.push_back(2); });
    }
    EXPECT_EQ(order, (std::vector{2, 1}));

    order.clear();
    int refusals = 2;  // of a thread for the first task, and of one for the queue
    {
        thread_pool_executor pool(1, 1, 1h, any_room(), [&](std::function<void()> body) {
            return refusals-- > 0 ? thread() : thread(std::move(body));
        });
        for (int i = 1; i <= 2; ++i) pool.execute([&, i] { order.push_back(i); });
    }
    EXPECT_EQ(order, (std::vector{2, 1}));
}

TEST(thread_pool_growth, one_thread_keeps_the_order_of_the_tasks) {
    std::vector<int> order;
    {
        thread_pool_executor pool({.core_pool_size = 1});
        for (int i = 0; i < 100; ++i) pool.execute([&order, i] { order.push_back(i); });
    }
    ASSERT_EQ(order.size(), 100u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(thread_pool_growth, a_priority_queue_lets_the_most_important_task_go_first) {
    std::vector<int> order;
    {
        thread_pool_executor pool(
            {.core_pool_size = 1, .queue = std::make_unique<priority_blocking_queue<task>>()});
        held_task held(pool);
        for (const int priority : {1, 3, 2, 3})
            pool.execute(prioritized(priority, [&order, priority] { order.push_back(priority); }));
    }
    EXPECT_EQ(order, (std::vector{3, 3, 2, 1}));
}

}  // namespace
}  // namespace cadre::testing
