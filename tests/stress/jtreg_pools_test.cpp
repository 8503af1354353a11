// SPDX-License-Identifier: Apache-2.0
//
// What the regression tests of java.util.concurrent for pools (jtreg: ThreadPoolExecutor,
// Executors, ExecutorCompletionService, forkjoin) hold the JDK to, said of cadre, as often as they
// check it where that is known. docs/hazards.md has the table.

#include <cadre/cadre.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/attended_queue.hpp"
#include "support/checks.hpp"
#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/race.hpp"
#include "support/sleeps.hpp"
#include "support/watched.hpp"

namespace cadre::testing {
namespace {

/// What holds of every pool that has ended: eight checks.
void check_terminated(checks& check, thread_pool_executor& pool) {
    check(pool.queue().empty());
    check(pool.is_shutdown());
    check(pool.is_terminated());
    check(!pool.is_terminating());
    check(pool.active_count() == 0);
    check(pool.pool_size() == 0);
    check(pool.task_count() == pool.completed_task_count());
    check(pool.await_termination(0ns));
}

pool_hooks that_swallow_everything() {
    return {.uncaught_exception = [](auto&&...) {}};
}

/// A thread factory that sees its threads end, as the thread groups of the originals do. A worker
/// that is no longer in the books of its pool may still look at the settings and have a successor
/// made; one whose thread has ended has decided.
class thread_group {
public:
    thread operator()(std::function<void()> body) const {
        ++*made_;
        return thread([body = std::move(body), ended = ended_] {
            body();
            ++*ended;
        });
    }
    int made() const { return *made_; }
    /// Waits until so many have.
    bool have_ended(int threads) const {
        return eventually([&] { return *ended_ == threads; });
    }

private:
    std::shared_ptr<std::atomic<int>> made_ = std::make_shared<std::atomic<int>>(0);
    std::shared_ptr<std::atomic<int>> ended_ = std::make_shared<std::atomic<int>>(0);
};

// ThreadPoolExecutor/ShutdownNowExecuteRace, SH-01
TEST(jtreg_thread_pool_executor, shutdown_now_execute_race) {
    std::mutex mutex;
    std::shared_ptr<thread_pool_executor> current;
    const auto look = [&] {
        const std::lock_guard lock(mutex);
        return current;
    };
    std::atomic<bool> over = false;
    const auto renew = [&] {
        auto made = std::make_shared<thread_pool_executor>(thread_pool_options{
            .core_pool_size = 2, .queue = room_for(2), .hooks = that_swallow_everything()});
        const std::lock_guard lock(mutex);
        current = made;
        return made;
    };
    std::thread submitter([&] {
        while (!over) {
            const auto pool = look();
            try {
                if (pool) pool->execute([] { sleep_until_interrupted(beyond_patience); });
            } catch (const rejected_execution&) {
                std::this_thread::yield();
            }
        }
    });
    int played = 0;
    for (rounds left(16'384, 16'384 / slowness); left.another(); ++played) {
        const auto pool = renew();
        if (played % 2 == 0) std::this_thread::yield();
        pool->shutdown_now();
        const bool ended = pool->await_termination(3min);
        EXPECT_TRUE(ended) << pool->to_string();
        if (!ended) break;
    }
    over = true;
    submitter.join();
    std::cout << played << " rounds\n";
}

struct of_no_kind {};

// ThreadPoolExecutor/ThrowingTasks, WK-05: 99 checks
TEST(jtreg_thread_pool_executor, throwing_tasks) {
    checks check;
    const std::array<std::function<void()>, 5> flingers = {
        [] {}, [] { throw std::runtime_error("flung"); }, [] { throw std::bad_alloc(); },
        [] { throw 42; }, [] { throw of_no_kind(); }};
    std::atomic<std::size_t> before = 0;
    std::atomic<int> ran = 0;
    std::atomic<int> after = 0;
    std::atomic<int> after_with_error = 0;
    std::atomic<int> uncaught = 0;
    const thread_group threads;
    thread_pool_executor pool({.core_pool_size = 10,
                               .thread_factory = threads,
                               .hooks = {.before_execute = [&](auto&&...) { flingers[before](); },
                                         .after_execute =
                                             [&](const task&, const std::exception_ptr& error) {
                                                 ++after;
                                                 if (error) ++after_with_error;
                                             },
                                         .uncaught_exception = [&](auto&&...) { ++uncaught; }}});
    const watched_scope watched_pool(pool);
    check(pool.prestart_all_core_threads() == 10);
    check(!pool.prestart_core_thread());
    check(pool.pool_size() == 10);
    int submitted = 0;
    int may_run = 0;
    int fail = 0;
    int deaths = 0;
    for (std::size_t hook = 0; hook < flingers.size(); ++hook)
        for (std::size_t body = 0; body < flingers.size(); ++body) {
            before = hook;
            if (hook == 0) ++may_run;
            if (hook == 0 && body != 0) ++fail;
            pool.execute([&, body] {
                ++ran;
                flingers[body]();
            });
            ASSERT_TRUE(has_completed(pool, ++submitted)) << pool.to_string();
            // One that dies is counted out before it leaves the books: a task that comes meanwhile
            // gets a thread, and the books have one too many.
            if (hook != 0 || body != 0) ++deaths;
            ASSERT_TRUE(threads.have_ended(deaths)) << pool.to_string();
            check(ran == may_run);
            check(after == may_run);
            check(after_with_error == fail);
        }
    check(eventually([&] { return uncaught == 24; }));
    check(has_threads(pool, 10));
    check(pool.largest_pool_size() == 10);
    check(pool.completed_task_count() == 25);
    check(pool.task_count() == 25);
    pool.shutdown();
    ASSERT_TRUE(pool.await_termination(beyond_patience));
    check_terminated(check, pool);
    pool.shutdown();
    ASSERT_TRUE(pool.shutdown_now().empty());
    check_terminated(check, pool);
    EXPECT_EQ(check.made(), 99);
}

// ThreadPoolExecutor/TimeOutShrink, WK-04: 11 checks
TEST(jtreg_thread_pool_executor, time_out_shrink) {
    checks check;
    constexpr int n = 4;
    auto queue = std::make_unique<attended_queue<synchronous_queue<task>>>();
    const auto& attended = *queue;
    thread_pool_executor pool(n, 2 * n, short_delay, std::move(queue));
    const watched_scope watched_pool(pool);
    {
        held_tasks held(pool, 2 * n);
        check(held.have_started(2 * n));
        check(pool.pool_size() == 2 * n);
        check(pool.active_count() == 2 * n);
    }
    check(eventually([&] { return attended.waiting_without_limit() == n; }));
    check(has_threads(pool, n));
    check(pool.largest_pool_size() == 2 * n);
    check(has_completed(pool, 2 * n));
    pool.shutdown();
    check(pool.await_termination(beyond_patience));
    check(pool.is_terminated());
    check(pool.pool_size() == 0);
    check(pool.completed_task_count() == 2 * n);
    EXPECT_EQ(check.made(), 11);
}

// ThreadPoolExecutor/ConfigChanges, WK-08, WK-09
TEST(jtreg_thread_pool_executor, config_changes) {
    constexpr int n = 3;
    const thread_group threads;
    auto queue = std::make_unique<attended_queue<synchronous_queue<task>>>();
    const auto& attended = *queue;
    thread_pool_executor pool(n, 4 * n, 1h, std::move(queue), threads);
    const watched_scope watched_pool(pool);
    {
        held_tasks held(pool, 4 * n);
        ASSERT_TRUE(held.have_started(4 * n));
        pool.set_maximum_pool_size(2 * n);
        EXPECT_EQ(pool.pool_size(), 4 * n) << "the busy ones stay";
        EXPECT_THROW(held.add_to(pool), rejected_execution);
    }
    EXPECT_TRUE(threads.have_ended(2 * n)) << "idle ones beyond the maximum leave";
    EXPECT_EQ(pool.pool_size(), 2 * n);
    EXPECT_THROW(pool.set_core_pool_size(2 * n + 1), std::invalid_argument);
    pool.set_core_pool_size(2 * n);
    pool.set_keep_alive(1ms);
    EXPECT_TRUE(eventually([&] { return attended.waiting_without_limit() == 2 * n; }));
    EXPECT_EQ(pool.pool_size(), 2 * n) << "the core stays";
    pool.set_core_pool_size(n);
    EXPECT_TRUE(threads.have_ended(3 * n)) << "idle ones beyond the core leave";
    EXPECT_EQ(pool.pool_size(), n);
    pool.set_rejected_execution_handler(block_policy{});  // idle threads may not yet wait for tasks
    pool.set_maximum_pool_size(n);
    {
        // After a task a worker looks anew. One that had looked when there were more than the core,
        // and not left yet, would leave when there are as many again.
        held_tasks held(pool, n);
        ASSERT_TRUE(held.have_started(n));
    }
    pool.set_maximum_pool_size(2 * n);
    pool.set_core_pool_size(2 * n);
    EXPECT_EQ(pool.prestart_all_core_threads(), n);
    EXPECT_EQ(pool.pool_size(), 2 * n);
    pool.set_keep_alive(1h);  // one that was leaving would be in the books beside its successor
    pool.resize(n, 4 * n);
    {
        held_tasks held(pool, 4 * n);
        ASSERT_TRUE(held.have_started(4 * n));
        EXPECT_EQ(pool.pool_size(), 4 * n) << "a raised maximum is used";
    }
    EXPECT_EQ(threads.made(), 7 * n) << "none for nothing";
    pool.set_keep_alive(1ms);
    pool.allow_core_thread_time_out(true);
    EXPECT_TRUE(has_threads(pool, 0));
    pool.close();
    EXPECT_EQ(pool.completed_task_count(), 9 * n);
    EXPECT_EQ(pool.largest_pool_size(), 4 * n);
}

// ThreadPoolExecutor/FlakyThreadFactory, WK-16: 6 checks
TEST(jtreg_thread_pool_executor, flaky_thread_factory) {
    checks check;
    const std::array<std::function<thread()>, 3> refusals = {
        [] { return thread(); }, []() -> thread { throw std::runtime_error("no thread"); },
        []() -> thread { throw std::bad_alloc(); }};
    for (const auto& refuse : refusals) {
        std::atomic<int> made = 0;
        std::atomic<int> runs = 0;
        int accepted = 0;
        thread_pool_executor pool(10, 10, 1h, any_room(), [&](std::function<void()> body) {
            return ++made > 4 ? refuse() : thread(std::move(body));
        });
        const watched_scope watched_pool(pool);
        for (int i = 0; i < 10; ++i) try {
                pool.execute([&] { ++runs; });
                ++accepted;
            } catch (const std::exception&) {}
        check(eventually([&] { return runs == accepted; }) && accepted >= 4);
        pool.shutdown();
        check(pool.await_termination(beyond_patience));
    }
    EXPECT_EQ(check.made(), 6);
}

// ThreadPoolExecutor/SelfInterrupt, WK-07: 403 checks
TEST(jtreg_thread_pool_executor, self_interrupt) {
    checks check;
    thread_pool_executor pool(10, 20, 1h, any_room());
    const watched_scope watched_pool(pool);
    for (int i = 0; i < 100; ++i)
        pool.execute([&, i] {
            check(!this_thread::is_interrupted());
            pool.set_core_pool_size(i % 10);
            check(!this_thread::is_interrupted());
            pool.set_keep_alive(std::chrono::milliseconds(1 + i % 3));
            pool.set_maximum_pool_size(10 + i % 10);
            check(!this_thread::is_interrupted());
            pool.allow_core_thread_time_out(i % 2 == 0);
            check(!this_thread::is_interrupted());
        });
    check(has_completed(pool, 100));
    pool.shutdown();
    check(pool.await_termination(beyond_patience));
    check(pool.completed_task_count() == 100);
    EXPECT_EQ(check.made(), 403);
}

// ThreadPoolExecutor/CoreThreadTimeOut
TEST(jtreg_thread_pool_executor, core_thread_time_out) {
    const counting_factory factory;
    thread_pool_executor pool(10, 10, 30ms, room_for(10), factory);
    const watched_scope watched_pool(pool);
    EXPECT_FALSE(pool.allows_core_thread_time_out());
    pool.allow_core_thread_time_out(true);
    EXPECT_TRUE(pool.allows_core_thread_time_out());
    EXPECT_EQ(factory.asked(), 0);
    const auto began = std::chrono::steady_clock::now();
    {
        held_tasks held(pool, 10);
        ASSERT_TRUE(held.have_started(10));
        EXPECT_EQ(pool.pool_size(), 10);
    }
    ASSERT_TRUE(has_threads(pool, 0));
    EXPECT_GE(std::chrono::steady_clock::now() - began, 30ms);
    EXPECT_EQ(factory.asked(), 10) << "none came back for nothing";
    pool.allow_core_thread_time_out(false);
    EXPECT_FALSE(pool.allows_core_thread_time_out());
}

// ThreadPoolExecutor/Custom
TEST(jtreg_thread_pool_executor, custom) {
    std::atomic<int> births = 0;
    const auto decorate = [&](task inner) {
        ++births;
        return inner;
    };
    thread_pool_executor pool({.core_pool_size = 3, .hooks = {.decorate_task = decorate}});
    const watched_scope watched_pool(pool);
    pool.submit([] {}).get();
    EXPECT_TRUE(pool.submit(executors::callable([] {}, true)).get());
    EXPECT_TRUE(pool.submit([] { return true; }).get());
    EXPECT_EQ(births, 3);
    scheduled_thread_pool_executor timers(
        {.core_pool_size = 3, .hooks = {.decorate_task = decorate}});
    const watched_scope watched_timers(timers);
    timers.submit([] {}).get();
    EXPECT_TRUE(timers.submit(executors::callable([] {}, true)).get());
    EXPECT_TRUE(timers.submit([] { return true; }).get());
    EXPECT_EQ(births, 6);
}

// ExecutorCompletionService/ExecutorCompletionServiceLoops
TEST(jtreg_executor_completion_service, loops) {
    constexpr int items = 100;
    for (rounds left(500, 500 / slowness); left.another();) {
        auto pool = executors::fixed_thread_pool(1 + left.number() % 10);
        executor_completion_service<int> service(*pool);
        for (int i = 0; i < items; ++i) service.submit([i] { return i; });
        int sum = 0;
        for (int i = 0; i < items; ++i) sum += service.take().get();
        ASSERT_EQ(sum, items * (items - 1) / 2);
        ASSERT_FALSE(service.poll());
    }
}

}  // namespace
}  // namespace cadre::testing
