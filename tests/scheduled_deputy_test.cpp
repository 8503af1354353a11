// SPDX-License-Identifier: Apache-2.0
//
// Of periodic tasks that were quick so far, it is expected that they will be: whoever takes one
// wakes nobody. What becomes of the others if that was wrong.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "support/held_task.hpp"
#include "support/waiting_call.hpp"
#include <cadre/scheduled_thread_pool_executor.hpp>
#include <timer_details.hpp>

namespace cadre::testing {
namespace {

using std::chrono::nanoseconds;

TEST(scheduled_deputy, runs_the_others_when_a_task_that_used_to_be_quick_is_held_up) {
    gate may_end;
    std::atomic<bool> was_let_go = true;
    std::atomic<int> runs = 0;
    std::atomic<int> others = 0;
    scheduled_thread_pool_executor pool(2);
    (void)pool.schedule_at_fixed_rate(
        [&] {
            if (++runs > 20 && !may_end.wait()) was_let_go = false;
        },
        1ms, 1ms);
    (void)pool.schedule_at_fixed_rate([&] { ++others; }, 1ms, 1ms);
    ASSERT_TRUE(eventually([&] { return runs > 20; }));
    const int before = others;
    EXPECT_TRUE(eventually([&] { return others >= before + 20; }));
    EXPECT_TRUE(pool.schedule([] {}, 1ms).wait_for(guard));
    may_end.open();
    pool.shutdown_now();
    ASSERT_TRUE(pool.await_termination(guard));
    EXPECT_TRUE(was_let_go);
}

TEST(scheduled_deputy, runs_the_others_when_the_next_to_be_held_up_is_any_of_them) {
    constexpr int workers = 4;
    gate may_end;
    std::atomic<bool> was_let_go = true;
    std::atomic<bool> hold = false;
    std::atomic<int> held = 0;
    std::atomic<int> others = 0;
    scheduled_thread_pool_executor pool(workers);
    for (int i = 0; i < 20; ++i)
        (void)pool.schedule_at_fixed_rate(
            [&] {
                ++others;
                if (hold.exchange(false)) {
                    ++held;
                    if (!may_end.wait()) was_let_go = false;
                }
            },
            1ms, 1ms);
    for (int stuck = 1; stuck < workers; ++stuck) {
        int before = others;
        EXPECT_TRUE(eventually([&] { return others >= before + 200; }));  // all are quick again
        hold = true;
        EXPECT_TRUE(eventually([&] { return held == stuck; }));
        before = others;
        EXPECT_TRUE(eventually([&] { return others >= before + 200; }));
    }
    may_end.open();
    pool.shutdown_now();
    ASSERT_TRUE(pool.await_termination(guard));
    EXPECT_TRUE(was_let_go);
}

TEST(scheduled_deputy, takes_its_turn_whoever_leaves_and_does_not_come_back) {
    std::atomic<int> runs = 0;
    scheduled_thread_pool_executor pool{1, [](const std::function<void()>&) { return thread(); }};
    (void)pool.schedule_at_fixed_rate([&] { ++runs; }, 0s, 3ms);
    for (int i = 0; i < 30; ++i) {
        std::vector<std::unique_ptr<waiting_call>> takers;
        for (int n = 0; n < 4; ++n)
            takers.push_back(std::make_unique<waiting_call>([&] { pool.queue().take()(); }));
        if (i % 5 < 4) takers[static_cast<std::size_t>(i % 5)]->interrupt();
        for (const auto& one : takers) EXPECT_TRUE(eventually([&] { return one->is_over(); }));
    }
    EXPECT_GE(runs, 30 * 3);
    pool.shutdown_now();
}

TEST(scheduled_deputy, misses_no_task_when_one_runs_others_by_hand_and_is_held_up) {
    gate may_end;
    std::atomic<bool> was_let_go = true;
    std::atomic<int> by_hand = 0;
    std::array<std::atomic<int>, 10> runs = {};
    scheduled_thread_pool_executor pool(2);
    for (auto& own : runs) (void)pool.schedule_at_fixed_rate([&own] { ++own; }, 100us, 100us);
    const auto all_run = [&runs](int more) {
        for (auto& own : runs) {
            const int before = own;
            if (!eventually([&] { return own >= before + more; })) return false;
        }
        return true;
    };
    EXPECT_TRUE(all_run(20));  // so all are quick
    pool.execute([&] {
        while (by_hand < 100)
            if (auto t = pool.queue().poll()) {
                (*t)();
                ++by_hand;
            }
        if (!may_end.wait()) was_let_go = false;
    });
    EXPECT_TRUE(eventually([&] { return by_hand == 100; }));
    EXPECT_TRUE(all_run(20));
    may_end.open();
    pool.shutdown_now();
    ASSERT_TRUE(pool.await_termination(guard));
    EXPECT_TRUE(was_let_go);
}

/// As above, where the task that was taken from the queue is over but for what its hook does.
TEST(scheduled_deputy, misses_no_task_when_a_hook_runs_others_by_hand) {
    std::atomic<int> by_hand = 0;
    std::array<std::atomic<int>, 10> runs = {};
    std::unique_ptr<scheduled_thread_pool_executor> pool;
    scheduled_pool_options options;
    options.core_pool_size = 1;
    options.hooks.uncaught_exception = [&](const task&, const std::exception_ptr&) {
        while (by_hand < 100)
            if (auto t = pool->queue().poll()) {
                (*t)();
                ++by_hand;
            }
    };
    pool = std::make_unique<scheduled_thread_pool_executor>(std::move(options));
    for (auto& own : runs) (void)pool->schedule_at_fixed_rate([&own] { ++own; }, 100us, 100us);
    const auto all_run = [&runs](int more) {
        for (auto& own : runs) {
            const int before = own;
            if (!eventually([&] { return own >= before + more; })) return false;
        }
        return true;
    };
    EXPECT_TRUE(all_run(20));  // so all are quick
    pool->execute([] { throw 42; });
    EXPECT_TRUE(eventually([&] { return by_hand == 100; }));
    EXPECT_TRUE(all_run(20));
    pool->shutdown_now();
    ASSERT_TRUE(pool->await_termination(guard));
}

TEST(run_statistics, can_be_read_after_two_have_written_at_once) {
    constexpr int count = 100'000;
    detail::run_statistics statistics;
    const auto write = [&] {
        for (int i = 0; i < count; ++i) statistics.count(nanoseconds(1), false, false);
    };
    {
        const std::jthread one(write);
        const std::jthread other(write);
    }
    // Who is held up amid a count takes back what the other has counted meanwhile.
    const auto runs = statistics.read().runs;
    EXPECT_GE(runs, 2);
    EXPECT_LE(runs, 2 * count);
    statistics.count(nanoseconds(1), false, false);
    EXPECT_EQ(statistics.read().runs, runs + 1);
}

TEST(run_statistics, are_read_as_of_one_run) {
    constexpr int count = 200'000;
    detail::run_statistics statistics;
    const std::jthread runner([&] {
        for (int i = 1; i <= count; ++i) statistics.count(nanoseconds(i), true, true);
    });
    for (std::int64_t seen = 0; seen < count;) {
        const auto now = statistics.read();
        ASSERT_GE(now.runs, seen);
        seen = now.runs;
        ASSERT_EQ(now.failures, seen);
        ASSERT_EQ(now.overruns, seen);
        ASSERT_EQ(now.last_duration, nanoseconds(seen));
        ASSERT_EQ(now.longest_duration, nanoseconds(seen));
    }
}

}  // namespace
}  // namespace cadre::testing
