// SPDX-License-Identifier: Apache-2.0
#include <cadre/thread_pool_executor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include <cadre/scheduled_thread_pool_executor.hpp>

namespace cadre::testing {
namespace {

// TPE-030
TEST(thread_pool_hooks, calls_before_and_after_each_task) {
    std::vector<std::string> events;  // by one worker
    {
        thread_pool_executor pool(
            {.core_pool_size = 1,
             .hooks = {.before_execute = [&](auto&&...) { events.emplace_back("before"); },
                       .after_execute = [&](auto&&...) { events.emplace_back("after"); }}});
        for (int i = 0; i < 3; ++i) pool.execute([&] { events.emplace_back("task"); });
    }
    const std::vector<std::string> once = {"before", "task", "after"};
    ASSERT_EQ(events.size(), 9u);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(events[i], once[i % 3]);
}

// TPE-031
TEST(thread_pool_hooks, after_execute_gets_the_very_exception_of_the_task) {
    const auto thrown = std::make_exception_ptr(std::runtime_error("thrown"));
    std::vector<std::exception_ptr> seen;
    {
        thread_pool_executor pool(
            {.core_pool_size = 1,
             .hooks = {
                 .after_execute = [&](const task&, std::exception_ptr e) { seen.push_back(e); },
                 .uncaught_exception = [](auto&&...) {}}});
        pool.execute([] {});
        pool.execute([&] { std::rethrow_exception(thrown); });
        pool.execute([] {});
    }
    EXPECT_EQ(seen, (std::vector<std::exception_ptr>{nullptr, thrown, nullptr}));
}

// TPE-031
TEST(thread_pool_hooks, after_execute_gets_nothing_for_what_went_to_a_future) {
    std::atomic<int> errors = 0;
    thread_pool_executor pool(
        {.core_pool_size = 1,
         .hooks = {.after_execute = [&](const task&, const std::exception_ptr& e) {
             if (e) ++errors;
         }}});
    EXPECT_THROW(pool.submit([] { throw 1; }).get(), int);
    pool.close();
    EXPECT_EQ(errors, 0);
}

TEST(thread_pool_hooks, hooks_run_on_the_worker_and_see_the_task_and_its_thread) {
    std::atomic<int> wrong = 0;
    std::thread::id inside;
    std::thread::id before;
    std::thread::id after;
    {
        thread_pool_executor pool({.core_pool_size = 1,
                                   .hooks = {.before_execute =
                                                 [&](const thread_handle& handle, const task& t) {
                                                     before = handle.id();
                                                     if (handle != thread_handle::current())
                                                         ++wrong;
                                                     if (t.name() != "flush") ++wrong;
                                                 },
                                             .after_execute =
                                                 [&](const task& t, const std::exception_ptr&) {
                                                     after = std::this_thread::get_id();
                                                     if (t.name() != "flush") ++wrong;
                                                 }}});
        pool.execute(named("flush", [&] { inside = std::this_thread::get_id(); }));
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(before, inside);
    EXPECT_EQ(after, inside);
}

TEST(thread_pool_hooks, hooks_are_called_for_tasks_run_in_place_too) {
    std::atomic<int> before = 0;
    std::atomic<int> after = 0;
    {
        thread_pool_executor pool({.core_pool_size = 1,
                                   .hooks = {.before_execute = [&](auto&&...) { ++before; },
                                             .after_execute = [&](auto&&...) { ++after; }}});
        pool.execute([&] { pool.submit([] {}).get(); });
        ASSERT_TRUE(has_completed(pool, 2));
    }
    EXPECT_EQ(before, 2);
    EXPECT_EQ(after, 2);
}

TEST(thread_pool_hooks, decorates_every_task_once_on_the_submitting_thread) {
    std::atomic<int> wrapped = 0;
    std::atomic<int> runs = 0;
    thread_pool_executor pool(
        {.core_pool_size = 1,
         .hooks = {.decorate_task = [&, me = std::this_thread::get_id()](task t) {
             if (std::this_thread::get_id() == me) ++wrapped;
             return task([&runs, t = std::move(t)]() mutable {
                 ++runs;
                 t();
             });
         }}});
    pool.execute([] {});
    EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
    EXPECT_EQ(pool.invoke_any(std::vector{[] { return 2; }}), 2);
    for (auto& each : pool.invoke_all(std::vector<std::function<int()>>(2, [] { return 3; })))
        EXPECT_EQ(each.get(), 3);
    pool.close();
    EXPECT_EQ(wrapped, 5);
    EXPECT_EQ(runs, 5);
}

TEST(thread_pool_hooks, a_decorated_task_keeps_its_name_and_can_be_removed) {
    thread_pool_executor pool({.core_pool_size = 1, .hooks = {.decorate_task = [](task t) {
                                                        return task(
                                                            [t = std::move(t)]() mutable { t(); });
                                                    }}});
    held_task held(pool);
    auto queued = pool.submit(named("report", [] {}));
    pool.queue().for_each([](const task& t) { EXPECT_EQ(t.name(), "report"); });
    EXPECT_TRUE(pool.remove(queued));
    EXPECT_TRUE(queued.is_cancelled());
}

TEST(thread_pool_hooks, an_empty_decorated_task_is_refused_and_its_future_cancelled) {
    thread_pool_executor pool(
        {.core_pool_size = 1, .hooks = {.decorate_task = [](task) { return task(); }}});
    EXPECT_THROW(pool.execute([] {}), std::invalid_argument);
    EXPECT_THROW((void)pool.submit([] {}), std::invalid_argument);
    EXPECT_EQ(pool.task_count(), 0);
    EXPECT_EQ(pool.pool_size(), 0);
}

TEST(thread_pool_hooks, what_decorate_task_throws_reaches_the_submitter) {
    thread_pool_executor pool(
        {.core_pool_size = 1, .hooks = {.decorate_task = [](task) -> task { throw 42; }}});
    EXPECT_THROW(pool.execute([] {}), int);
    EXPECT_EQ(pool.task_count(), 0);
}

// TPE-043
TEST(thread_pool_hooks, terminated_is_called_once_before_anybody_sees_the_end) {
    std::atomic<int> calls = 0;
    std::atomic<bool> terminated_inside = true;
    thread_pool_executor* self = nullptr;
    thread_pool_executor pool({.core_pool_size = 2, .hooks = {.terminated = [&] {
                                                        ++calls;
                                                        terminated_inside = self->is_terminated();
                                                    }}});
    self = &pool;
    for (int i = 0; i < 10; ++i) pool.execute([] {});
    pool.shutdown();
    ASSERT_TRUE(pool.await_termination(guard));
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(terminated_inside);
    pool.close();
    EXPECT_EQ(calls, 1);
}

/// Calls all that does not wait for the end of the pool.
void use_all_of(thread_pool_executor& pool) {
    (void)pool.to_string();
    (void)pool.snapshot();
    pool.resize(1, 3);
    pool.set_core_pool_size(2);
    pool.set_maximum_pool_size(4);
    pool.set_keep_alive(1h);
    pool.allow_core_thread_time_out(false);
    pool.set_thread_factory(pool.thread_factory());
    pool.set_rejected_execution_handler(pool.rejected_execution_handler());
    pool.prestart_core_thread();
    pool.prestart_all_core_threads();
    pool.purge();
    pool.remove_if([](const task&) { return false; });
    (void)pool.queue().size();
    EXPECT_FALSE(pool.await_termination(0s));
}

TEST(thread_pool_hooks, hooks_may_use_the_pool) {
    std::atomic<int> nested = 0;
    thread_pool_executor* self = nullptr;
    const auto use = [&](const task& t) {
        use_all_of(*self);
        if (t.name() == "outer") self->execute([&] { ++nested; });
    };
    thread_pool_executor pool(
        {.core_pool_size = 1,
         .hooks = {.decorate_task =
                       [&](task t) {
                           use_all_of(*self);
                           return t;
                       },
                   .before_execute = [&](const thread_handle&, const task& t) { use(t); },
                   .after_execute = [&](const task& t, const std::exception_ptr&) { use(t); },
                   .terminated = [&] { (void)self->to_string(); }}});
    self = &pool;
    pool.execute(named("outer", [] {}));
    ASSERT_TRUE(eventually([&] { return nested == 2; }));
    pool.close();
}

TEST(thread_pool_hooks, an_interrupt_that_a_task_leaves_behind_does_not_reach_the_next) {
    thread_pool_executor pool({.core_pool_size = 1});
    for (int i = 0; i < 10; ++i) {
        pool.submit([] { thread_handle::current().interrupt(); }).get();
        EXPECT_FALSE(pool.submit([] { return this_thread::is_interrupted(); }).get());
    }
    EXPECT_EQ(pool.largest_pool_size(), 1);
}

TEST(thread_pool_hooks, a_stop_requested_of_one_task_does_not_reach_the_next) {
    gate entered;
    thread_pool_executor pool({.core_pool_size = 1});
    auto stopped = pool.submit([&](const std::stop_token& stop) {
        entered.open();
        EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
    });
    ASSERT_TRUE(entered.wait());
    EXPECT_TRUE(stopped.cancel(true));
    auto next = pool.submit([](const std::stop_token& stop) {
        return stop.stop_requested() || this_thread::is_interrupted();
    });
    EXPECT_FALSE(next.get());
}

// RE-17
TEST(thread_pool_hooks,
     the_token_of_a_task_that_is_over_is_not_stopped_with_the_next_on_its_thread) {
    std::stop_token of_the_first;
    std::stop_token of_the_second;
    gate entered;
    gate may_end;
    thread_pool_executor pool({.core_pool_size = 1});
    pool.execute([&] { of_the_first = this_thread::stop_token(); });
    pool.execute([&] {
        of_the_second = this_thread::stop_token();
        entered.open();
        may_end.wait();
    });
    ASSERT_TRUE(entered.wait());
    pool.shutdown_now();
    EXPECT_FALSE(of_the_first.stop_requested());
    EXPECT_TRUE(of_the_second.stop_requested());
    may_end.open();
}

// RE-02, RE-03
TEST(thread_pool_hooks, terminated_that_waits_for_the_end_is_told_whichever_thread_runs_it) {
    int told = 0;
    std::unique_ptr<thread_pool_executor> pool;
    const auto waits = [&] {
        EXPECT_THROW(pool->close(), illegal_state);
        EXPECT_THROW((void)pool->await_termination(std::chrono::nanoseconds::max()), illegal_state);
        EXPECT_FALSE(pool->await_termination(0s));
        ++told;
    };
    for (const bool with_worker : {false, true}) {
        pool = std::make_unique<thread_pool_executor>(
            thread_pool_options{.core_pool_size = 1, .hooks = {.terminated = waits}});
        if (with_worker) pool->submit([] {}).get();
        pool->shutdown();
        EXPECT_TRUE(pool->await_termination(guard));
    }
    EXPECT_EQ(told, 2);
}

// RE-02, RE-03
TEST(thread_pool_hooks, terminated_may_destroy_the_pool_on_the_thread_that_shut_it_down) {
    std::unique_ptr<thread_pool_executor> pool;
    pool = std::make_unique<thread_pool_executor>(
        thread_pool_options{.core_pool_size = 1, .hooks = {.terminated = [&] { pool.reset(); }}});
    pool->shutdown();
    EXPECT_FALSE(pool);
    std::unique_ptr<scheduled_thread_pool_executor> timers;
    scheduled_pool_options options;
    options.hooks.terminated = [&] { timers.reset(); };
    timers = std::make_unique<scheduled_thread_pool_executor>(std::move(options));
    EXPECT_TRUE(timers->shutdown_now().empty());
    EXPECT_FALSE(timers);
}

TEST(thread_pool_hooks, terminated_may_destroy_the_pool_and_then_end_others_that_do_so_too) {
    std::vector<std::unique_ptr<thread_pool_executor>> pools(3);
    const std::vector<std::vector<std::size_t>> ended_by{{1, 2}, {}, {}};
    for (std::size_t i = 0; i < pools.size(); ++i)
        pools[i] = std::make_unique<thread_pool_executor>(
            thread_pool_options{.hooks = {.terminated = [&, i, others = ended_by[i]] {
                                    pools[i].reset();
                                    for (const auto other : others) pools[other]->shutdown();
                                }}});
    pools[0]->shutdown();
    for (const auto& pool : pools) EXPECT_FALSE(pool);
}

}  // namespace
}  // namespace cadre::testing
