// SPDX-License-Identifier: Apache-2.0
#include <cadre/thread_pool_executor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "support/held_task.hpp"
#include "support/pools.hpp"

namespace cadre::testing {
namespace {

// TPE-008
TEST(thread_pool_settings, reports_the_core_size_that_was_set) {
    thread_pool_executor pool(1, 4, 1h, room_for(10));
    pool.set_core_pool_size(3);
    EXPECT_EQ(pool.core_pool_size(), 3);
    pool.set_core_pool_size(0);
    EXPECT_EQ(pool.core_pool_size(), 0);
}

// TPE-009
TEST(thread_pool_settings, reports_the_maximum_that_was_set) {
    thread_pool_executor pool(2, 3, 1h, room_for(10));
    pool.set_maximum_pool_size(5);
    EXPECT_EQ(pool.maximum_pool_size(), 5);
    pool.set_maximum_pool_size(4);
    EXPECT_EQ(pool.maximum_pool_size(), 4);
}

// TPE-010
TEST(thread_pool_settings, reports_the_keep_alive_that_was_set) {
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    pool.set_keep_alive(1000ms);
    EXPECT_EQ(pool.keep_alive(), 1s);
}

// TPE-011
TEST(thread_pool_settings, uses_and_gives_back_the_very_factory_that_was_set) {
    const counting_factory first;
    const counting_factory second;
    thread_pool_executor pool(2, 2, 1h, room_for(10), first);
    pool.prestart_core_thread();
    pool.set_thread_factory(second);
    pool.prestart_core_thread();
    EXPECT_EQ(first.asked(), 1);
    EXPECT_EQ(second.asked(), 1);
    pool.thread_factory()([] {}).join();
    EXPECT_EQ(second.asked(), 2);
}

// TPE-012
TEST(thread_pool_settings, refuses_an_empty_factory) {
    const counting_factory factory;
    thread_pool_executor pool(1, 2, 1h, room_for(10), factory);
    EXPECT_THROW(pool.set_thread_factory(nullptr), std::invalid_argument);
    pool.prestart_core_thread();
    EXPECT_EQ(factory.asked(), 1);
}

// TPE-014
TEST(thread_pool_settings, gives_back_the_very_handler_that_was_set) {
    int calls = 0;
    thread_pool_executor pool(1, 2, 1h, room_for(10));
    pool.set_rejected_execution_handler([&calls](task, thread_pool_executor&) { ++calls; });
    pool.rejected_execution_handler()([] {}, pool);
    EXPECT_EQ(calls, 1);
}

// TPE-015
TEST(thread_pool_settings, refuses_an_empty_handler) {
    thread_pool_executor pool(1, 2, 1h, room_for(10));
    EXPECT_THROW(pool.set_rejected_execution_handler(nullptr), std::invalid_argument);
    EXPECT_TRUE(pool.rejected_execution_handler().target<abort_policy>());
}

// TPE-016
TEST(thread_pool_settings, refuses_a_core_that_is_negative_or_above_the_maximum) {
    thread_pool_executor pool(1, 2, 1h, room_for(10));
    EXPECT_THROW(pool.set_core_pool_size(-1), std::invalid_argument);
    EXPECT_THROW(pool.set_core_pool_size(3), std::invalid_argument);
    EXPECT_EQ(pool.core_pool_size(), 1);
}

// TPE-017
TEST(thread_pool_settings, refuses_a_maximum_that_is_not_positive_or_below_the_core) {
    thread_pool_executor pool(2, 3, 1h, room_for(10));
    EXPECT_THROW(pool.set_maximum_pool_size(1), std::invalid_argument);
    EXPECT_THROW(pool.set_maximum_pool_size(0), std::invalid_argument);
    EXPECT_THROW(pool.set_maximum_pool_size(-1), std::invalid_argument);
    EXPECT_EQ(pool.maximum_pool_size(), 3);
}

// TPE-018
TEST(thread_pool_settings, refuses_a_negative_keep_alive) {
    thread_pool_executor pool(2, 3, 1h, room_for(10));
    EXPECT_THROW(pool.set_keep_alive(-1ms), std::invalid_argument);
    EXPECT_EQ(pool.keep_alive(), 1h);
}

TEST(thread_pool_settings, refuses_a_keep_alive_of_zero_for_core_threads) {
    thread_pool_executor pool(2, 3, 0s, room_for(10));
    EXPECT_THROW(pool.allow_core_thread_time_out(true), std::invalid_argument);
    EXPECT_FALSE(pool.allows_core_thread_time_out());
    pool.set_keep_alive(1h);
    pool.allow_core_thread_time_out(true);
    EXPECT_THROW(pool.set_keep_alive(0s), std::invalid_argument);
    EXPECT_EQ(pool.keep_alive(), 1h);
}

// TPE-019
TEST(thread_pool_settings, core_threads_may_time_out_from_when_it_is_said_until_it_is_revoked) {
    thread_pool_executor pool(2, 3, 1h, room_for(10));
    pool.allow_core_thread_time_out(true);
    EXPECT_TRUE(pool.allows_core_thread_time_out());
    pool.allow_core_thread_time_out(false);
    EXPECT_FALSE(pool.allows_core_thread_time_out());
}

TEST(thread_pool_settings, resizes_core_and_maximum_in_one_step) {
    thread_pool_executor pool(1, 2, 1h, room_for(10));
    pool.resize(4, 8);  // set_core_pool_size(4) alone would be refused
    EXPECT_EQ(pool.core_pool_size(), 4);
    EXPECT_EQ(pool.maximum_pool_size(), 8);
    pool.resize(1, 1);  // so would set_maximum_pool_size(1)
    EXPECT_EQ(pool.core_pool_size(), 1);
    EXPECT_EQ(pool.maximum_pool_size(), 1);
}

TEST(thread_pool_settings, a_refused_resize_changes_nothing) {
    thread_pool_executor pool(1, 2, 1h, room_for(10));
    for (const auto& [core, maximum] : {std::pair{3, 2}, {-1, 2}, {0, 0}, {0, -1}})
        EXPECT_THROW(pool.resize(core, maximum), std::invalid_argument);
    EXPECT_EQ(pool.core_pool_size(), 1);
    EXPECT_EQ(pool.maximum_pool_size(), 2);
}

TEST(thread_pool_settings, a_raised_core_starts_threads_for_what_is_queued) {
    for (const bool with_the_maximum : {false, true}) {
        thread_pool_executor pool(1, 8, 1h, room_for(50));
        held_tasks held(pool, 51);
        ASSERT_TRUE(held.have_started(1));
        EXPECT_EQ(pool.pool_size(), 1);
        if (with_the_maximum)
            pool.resize(8, 9);
        else
            pool.set_core_pool_size(8);
        EXPECT_TRUE(held.have_started(8));
        EXPECT_EQ(pool.pool_size(), 8);
        EXPECT_EQ(pool.queue().size(), 43u);
    }
}

TEST(thread_pool_settings, a_raised_core_starts_no_more_threads_than_tasks_wait) {
    thread_pool_executor pool(1, 8, 1h, room_for(50));
    held_tasks held(pool, 3);
    ASSERT_TRUE(held.have_started(1));
    pool.set_core_pool_size(8);
    EXPECT_TRUE(held.have_started(3));
    EXPECT_LE(pool.pool_size(), 3);
}

TEST(thread_pool_settings, a_lowered_core_lets_idle_threads_go_after_keep_alive) {
    thread_pool_executor pool(4, 4, 1ms, room_for(10));
    pool.prestart_all_core_threads();
    ASSERT_EQ(pool.pool_size(), 4);
    pool.set_core_pool_size(1);
    EXPECT_TRUE(has_threads(pool, 1));
}

TEST(thread_pool_settings, a_lowered_maximum_lets_busy_threads_end_their_task) {
    constexpr int n = 4;
    thread_pool_executor pool(n, 4 * n, 1h, room_for(3 * n));
    held_tasks held(pool, 7 * n);
    ASSERT_TRUE(held.have_started(4 * n));
    pool.set_maximum_pool_size(2 * n);
    EXPECT_EQ(pool.pool_size(), 4 * n);
    EXPECT_EQ(pool.active_count(), 4 * n);
    held.let_go();
    ASSERT_TRUE(has_completed(pool, 7 * n));
    EXPECT_TRUE(has_threads(pool, 2 * n));
    EXPECT_EQ(pool.largest_pool_size(), 4 * n);
    pool.set_keep_alive(1ms);
    EXPECT_TRUE(has_threads(pool, n));
}

TEST(thread_pool_settings, a_lowered_maximum_lets_idle_threads_go_at_once) {
    thread_pool_executor pool(4, 4, 1h, room_for(10));
    pool.prestart_all_core_threads();
    pool.resize(1, 2);
    EXPECT_TRUE(has_threads(pool, 2));  // the second one stays for its hour
}

TEST(thread_pool_settings, a_resize_interrupts_no_task) {
    std::atomic<bool> over = false;
    std::atomic<int> running = 0;
    std::atomic<int> disturbed = 0;
    thread_pool_executor pool(4, 8, 1h, any_room());
    for (int i = 0; i < 4; ++i)
        pool.execute([&](const std::stop_token& stop) {
            ++running;
            while (!over)
                if (this_thread::is_interrupted() || stop.stop_requested()) {
                    ++disturbed;
                    return;
                } else {
                    std::this_thread::yield();
                }
        });
    ASSERT_TRUE(eventually([&] { return running == 4; }));
    for (int i = 0; i < 2000; ++i) {
        pool.resize(i % 4, 4 + i % 4);
        pool.set_keep_alive(std::chrono::milliseconds(1 + i % 4));
    }
    over = true;
    pool.close();
    EXPECT_EQ(disturbed, 0);
}

TEST(thread_pool_settings, a_resize_disturbs_no_wait_of_a_task) {
    gate entered;
    thread_pool_executor pool(2, 4, 1h, any_room());
    linked_blocking_queue<int> source;
    auto waits = pool.submit([&] {
        entered.open();
        return source.take();
    });
    ASSERT_TRUE(entered.wait());
    for (int i = 0; i < 100; ++i) pool.resize(i % 2, 2 + i % 2);
    source.put(7);
    EXPECT_EQ(waits.get(), 7);
}

TEST(thread_pool_settings, a_task_that_shrinks_its_own_pool_is_not_interrupted_for_it) {
    std::atomic<int> disturbed = 0;
    thread_pool_executor pool(4, 4, 1ms, any_room());
    for (int i = 0; i < 100; ++i)
        pool.execute([&, i] {
            pool.set_core_pool_size(i % 4);
            if (this_thread::is_interrupted()) ++disturbed;
        });
    pool.close();
    EXPECT_EQ(disturbed, 0);
    EXPECT_EQ(pool.completed_task_count(), 100);
}

}  // namespace
}  // namespace cadre::testing
