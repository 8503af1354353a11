// SPDX-License-Identifier: Apache-2.0
#include <cadre/thread_pool_executor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "support/attended_queue.hpp"
#include "support/held_task.hpp"
#include "support/pools.hpp"

namespace cadre::testing {
namespace {

/// Has the pool start so many threads, and leaves them idle.
void pump(thread_pool_executor& pool, int threads) {
    held_tasks held(pool, threads);
    ASSERT_TRUE(held.have_started(threads));
    ASSERT_EQ(pool.pool_size(), threads);
    held.let_go();
    ASSERT_TRUE(eventually([&] { return held.ended() == threads; }));
}

// TPE-038
TEST(thread_pool_idle, core_threads_leave_after_keep_alive_if_they_may) {
    thread_pool_executor pool(2, 10, short_delay, room_for(10));
    pool.allow_core_thread_time_out(true);
    pool.submit([] {}).get();
    EXPECT_TRUE(has_threads(pool, 0));
    EXPECT_EQ(pool.largest_pool_size(), 1);
}

// TPE-038
TEST(thread_pool_idle, an_idle_core_thread_stays_for_all_of_keep_alive) {
    thread_pool_executor pool(1, 1, 50ms, room_for(10));
    pool.allow_core_thread_time_out(true);
    const auto start = std::chrono::steady_clock::now();
    pool.submit([] {}).get();
    ASSERT_TRUE(has_threads(pool, 0));
    EXPECT_GE(std::chrono::steady_clock::now() - start, 50ms);
}

// TPE-039
TEST(thread_pool_idle, core_threads_stay_when_keep_alive_is_over) {
    auto queue = std::make_unique<attended_queue<array_blocking_queue<task>>>(10);
    const auto& attended = *queue;
    thread_pool_executor pool(2, 10, 1ns, std::move(queue));
    pool.allow_core_thread_time_out(false);
    pump(pool, 2);
    EXPECT_TRUE(eventually([&] { return attended.waiting_without_limit() == 2; }));
    EXPECT_EQ(pool.pool_size(), 2);
}

TEST(thread_pool_idle, shrinks_to_the_core_and_not_below) {
    auto queue = std::make_unique<attended_queue<synchronous_queue<task>>>();
    const auto& attended = *queue;
    thread_pool_executor pool(4, 8, 1ms, std::move(queue));
    pump(pool, 8);
    EXPECT_TRUE(eventually([&] { return attended.waiting_without_limit() == 4; }));
    EXPECT_TRUE(has_threads(pool, 4));
    EXPECT_EQ(pool.largest_pool_size(), 8);
}

TEST(thread_pool_idle, extra_threads_leave_at_once_without_a_keep_alive) {
    thread_pool_executor pool(1, 8, 0s, no_room());
    pump(pool, 8);
    EXPECT_TRUE(has_threads(pool, 1));
}

TEST(thread_pool_idle, a_pool_without_a_core_keeps_no_thread) {
    thread_pool_executor pool(0, 1, 0s, any_room());
    for (int i = 0; i < 50; ++i) pool.submit([] {}).get();
    EXPECT_TRUE(has_threads(pool, 0));
    pool.submit([] {}).get();  // and makes one again
}

TEST(thread_pool_idle, grows_again_after_it_was_empty) {
    thread_pool_executor pool(4, 4, 1ms, room_for(10));
    pool.allow_core_thread_time_out(true);
    for (int round = 0; round < 3; ++round) {
        pump(pool, 4);
        ASSERT_TRUE(has_threads(pool, 0));
    }
    EXPECT_EQ(pool.largest_pool_size(), 4);
    EXPECT_EQ(pool.completed_task_count(), 12);
}

TEST(thread_pool_idle, a_shorter_keep_alive_holds_for_threads_that_wait_already) {
    thread_pool_executor pool(1, 4, 1h, no_room());
    pump(pool, 4);
    pool.set_keep_alive(1ms);
    EXPECT_TRUE(has_threads(pool, 1));
}

TEST(thread_pool_idle, letting_core_threads_time_out_holds_for_those_that_wait_already) {
    thread_pool_executor pool(4, 4, 1ms, room_for(10));
    pump(pool, 4);
    pool.allow_core_thread_time_out(true);
    EXPECT_TRUE(has_threads(pool, 0));
}

TEST(thread_pool_idle, a_thread_that_has_left_is_not_counted_as_completed_tasks_lost) {
    thread_pool_executor pool(0, 4, 0s, no_room());
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(has_threads(pool, 0));
        pool.submit([] {}).get();
    }
    ASSERT_TRUE(has_threads(pool, 0));
    EXPECT_EQ(pool.completed_task_count(), 10);
    EXPECT_EQ(pool.task_count(), 10);
}

/// A queue without bound that calls `looked` once, when somebody has asked whether it is empty and
/// before that one is told: so late a task can come that a worker does not see.
class queue_that_is_looked_at final : public blocking_queue<task> {
    using nanoseconds = std::chrono::nanoseconds;

public:
    std::function<void()> looked;
    mutable std::atomic<bool> tells = false;

    bool empty() const override {
        const bool was_empty = inner_.empty();
        if (tells.exchange(false)) looked();
        return was_empty;
    }
    bool offer(task&& t) override { return inner_.offer(std::move(t)); }
    bool offer_for(task&& t, nanoseconds timeout) override {
        return inner_.offer_for(std::move(t), timeout);
    }
    void put(task t) override { inner_.put(std::move(t)); }
    task take() override { return inner_.take(); }
    std::optional<task> poll() override { return inner_.poll(); }
    std::optional<task> poll_for(nanoseconds timeout) override { return inner_.poll_for(timeout); }
    std::size_t size() const override { return inner_.size(); }
    std::size_t remaining_capacity() const override { return inner_.remaining_capacity(); }
    std::size_t drain_to(std::vector<task>& out, std::size_t max) override {
        return inner_.drain_to(out, max);
    }
    std::size_t extract_if(function_ref<bool(const task&)> wanted, std::vector<task>& out,
                           std::size_t max) override {
        return inner_.extract_if(wanted, out, max);
    }
    void for_each(function_ref<void(const task&)> visit) const override { inner_.for_each(visit); }

private:
    linked_blocking_queue<task> inner_;
};

// The last worker has waited in vain, and a task is queued for it while it decides to leave.
TEST(thread_pool_idle, a_task_that_comes_while_the_last_thread_leaves_is_run) {
    auto queue = std::make_unique<queue_that_is_looked_at>();
    auto& looked_at = *queue;
    gate ran;
    thread_pool_executor pool(0, 1, 1ms, std::move(queue));
    looked_at.looked = [&] { pool.execute([&] { ran.open(); }); };
    looked_at.tells = true;
    pool.execute([] {});
    EXPECT_TRUE(ran.wait());
    EXPECT_TRUE(has_threads(pool, 0));
}

// As above, and the thread that left before, which the last one joins, waits for that task.
TEST(thread_pool_idle, a_thread_that_has_left_may_wait_for_a_task_of_the_pool_before_it_ends) {
    auto queue = std::make_unique<queue_that_is_looked_at>();
    auto& looked_at = *queue;
    gate last_leaves;
    gate queued;
    std::atomic<bool> was_run = false;
    std::atomic<bool> any_left = false;
    std::atomic<thread_pool_executor*> where = nullptr;
    const auto factory = [&](std::function<void()> body) {
        return thread([&, body = std::move(body)] {
            body();
            if (any_left.exchange(true)) return;
            last_leaves.wait();
            const auto result = where.load()->submit([] {});
            queued.open();
            was_run = result.wait_for(guard);
        });
    };
    {
        thread_pool_executor pool(2, 2, 1ms, std::move(queue), factory);
        where = &pool;
        looked_at.looked = [&] {
            last_leaves.open();
            queued.wait();
        };
        pump(pool, 2);
        looked_at.tells = true;
        pool.allow_core_thread_time_out(true);
        ASSERT_TRUE(queued.wait());
    }
    EXPECT_TRUE(was_run);
}

TEST(thread_pool_idle, prestarting_does_not_chase_threads_that_leave_at_once) {
    const counting_factory factory;
    thread_pool_executor pool(8, 8, 1us, any_room(), factory);
    pool.allow_core_thread_time_out(true);
    EXPECT_LE(pool.prestart_all_core_threads(), 8);
    EXPECT_LE(factory.asked(), 8);
    EXPECT_TRUE(has_threads(pool, 0));
}

TEST(thread_pool_idle, idle_threads_are_not_replaced_for_nothing) {
    const counting_factory factory;
    auto queue = std::make_unique<attended_queue<synchronous_queue<task>>>();
    const auto& attended = *queue;
    thread_pool_executor pool(2, 4, 1ms, std::move(queue), factory);
    pump(pool, 4);
    ASSERT_TRUE(eventually([&] { return attended.waiting_without_limit() == 2; }));
    ASSERT_TRUE(has_threads(pool, 2));
    EXPECT_EQ(factory.asked(), 4);
}

}  // namespace
}  // namespace cadre::testing
