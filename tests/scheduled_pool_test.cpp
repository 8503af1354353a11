// SPDX-License-Identifier: Apache-2.0
#include <cadre/scheduled_thread_pool_executor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/scheduled_pools.hpp"
#include "support/sleeps.hpp"
#include <cadre/testing.hpp>

namespace cadre::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const cron_expression each_hour("@hourly", cron_zone::utc);

/// All ways to give a task to a scheduled pool, each as a call that gives it this one.
std::vector<std::function<void()>> all_submissions(scheduled_thread_pool_executor& pool,
                                                   std::function<void()> f,
                                                   std::chrono::nanoseconds delay = 0ns) {
    const auto value = [f] { return f ? std::function<int()>([f] { return f(), 1; }) : nullptr; };
    return {
        [&pool, f] { pool.execute(f); },
        [&pool, f] { (void)pool.submit(f); },
        [&pool, value] { (void)pool.submit(value()); },
        [&pool, f] {
            const auto with_argument =
                f ? std::function<void(int)>([f](int) { f(); }) : std::function<void(int)>();
            (void)pool.submit(with_argument, 1);
        },
        [&pool, f, delay] { (void)pool.schedule(f, delay); },
        [&pool, value, delay] { (void)pool.schedule(value(), delay); },
        [&pool, f, delay] { (void)pool.schedule_at(f, pool.now() + delay); },
        [&pool, f, delay] { (void)pool.schedule_at(f, pool.wall_now() + delay); },
        [&pool, f, delay] { (void)pool.schedule_at_fixed_rate(f, delay, 1h); },
        [&pool, f, delay] { (void)pool.schedule_with_fixed_delay(f, delay, 1h); },
        [&pool, f] { (void)pool.schedule_cron(f, each_hour); },
    };
}

// STP-001
TEST(scheduled_pool, executes_a_task_without_delay) {
    manual_clock stands_still;
    scheduled_pool pool(stands_still);
    gate ran;
    pool.execute([&] { ran.open(); });
    EXPECT_TRUE(ran.wait());
}

// STP-002
TEST(scheduled_pool, calls_a_callable_at_its_time_and_gives_the_value) {
    manual_clock clock;
    scheduled_pool pool(clock);
    auto result = pool.schedule([] { return 42; }, 50ms);
    clock.advance(50ms - 1ns);
    EXPECT_FALSE(result.is_done());
    clock.advance(1ns);
    EXPECT_TRUE(result.is_done());
    EXPECT_EQ(result.get(), 42);
}

// STP-002
TEST(scheduled_pool, calls_a_callable_not_before_its_time) {
    scheduled_thread_pool_executor pool(1);
    EXPECT_GE(time_of([&] { EXPECT_EQ(pool.schedule([] { return 42; }, 50ms).get(), 42); }), 50ms);
}

// STP-003
TEST(scheduled_pool, runs_a_runnable_not_before_its_time) {
    std::atomic<bool> ran = false;
    scheduled_thread_pool_executor pool(1);
    EXPECT_GE(time_of([&] {
                  scheduled_future<void> result = pool.schedule([&] { ran = true; }, 50ms);
                  result.get_for(guard);
              }),
              50ms);
    EXPECT_TRUE(ran);
}

// STP-003
TEST(scheduled_pool, a_timed_get_before_the_time_times_out_and_leaves_the_future_valid) {
    manual_clock clock;
    scheduled_pool pool(clock);
    auto result = pool.schedule([] {}, 1h);
    EXPECT_THROW(result.get_for(0ms), timeout);
    EXPECT_THROW(result.get_for(1ms), timeout);
    clock.advance(1h);
    EXPECT_NO_THROW(result.get_for(guard));
}

// STP-004
TEST(scheduled_pool, a_fixed_rate_starts_after_the_initial_delay) {
    manual_clock clock;
    std::atomic<int> runs = 0;
    scheduled_pool pool(clock);
    const auto result = pool.schedule_at_fixed_rate([&] { ++runs; }, 50ms, 1h);
    clock.advance(50ms - 1ns);
    EXPECT_EQ(runs, 0);
    clock.advance(1ns);
    EXPECT_EQ(runs, 1);
}

// STP-005
TEST(scheduled_pool, a_fixed_delay_starts_after_the_initial_delay) {
    manual_clock clock;
    std::atomic<int> runs = 0;
    scheduled_pool pool(clock);
    const auto result = pool.schedule_with_fixed_delay([&] { ++runs; }, 50ms, 1h);
    clock.advance(50ms - 1ns);
    EXPECT_EQ(runs, 0);
    clock.advance(1ns);
    EXPECT_EQ(runs, 1);
}

// STP-009
TEST(scheduled_pool, refuses_empty_functions_whatever_the_delay) {
    manual_clock clock;
    scheduled_pool pool(clock);
    for (const auto delay : {-1ns, 0ns, std::chrono::nanoseconds(1h)})
        for (const auto& submit : all_submissions(pool, nullptr, delay))
            EXPECT_THROW(submit(), std::invalid_argument);
    EXPECT_THROW(pool.execute(task()), std::invalid_argument);
    EXPECT_EQ(pool.task_count(), 0);
    EXPECT_EQ(pool.pool_size(), 0);
}

// STP-010
TEST(scheduled_pool, refuses_a_period_or_delay_that_is_not_positive) {
    manual_clock clock;
    scheduled_pool pool(clock);
    for (const auto period : {0ns, -1ns, std::chrono::nanoseconds::min()}) {
        EXPECT_THROW((void)pool.schedule_at_fixed_rate([] {}, 0ns, period), std::invalid_argument);
        EXPECT_THROW((void)pool.schedule_with_fixed_delay([] {}, 0ns, period),
                     std::invalid_argument);
    }
    EXPECT_THAT(message_of<std::invalid_argument>(
                    [&] { (void)pool.schedule_at_fixed_rate([] {}, 0s, -2us); }),
                HasSubstr("period (-2000 ns)"));
    EXPECT_THAT(message_of<std::invalid_argument>(
                    [&] { (void)pool.schedule_with_fixed_delay([] {}, 0s, -2us); }),
                HasSubstr("delay (-2000 ns)"));
    EXPECT_EQ(pool.task_count(), 0);
}

// STP-010
TEST(scheduled_pool, refuses_a_jitter_that_the_period_has_no_room_for) {
    manual_clock clock;
    scheduled_pool pool(clock);
    for (const auto jitter : {-1ns, 501ns})
        EXPECT_THROW((void)pool.schedule_at_fixed_rate([] {}, 0ns, 1us, {.jitter = jitter}),
                     std::invalid_argument);
    (void)pool.schedule_at_fixed_rate([] {}, 1h, 1us, {.jitter = 500ns});
}

// STP-011
TEST(scheduled_pool, runs_tasks_with_no_or_a_negative_delay_as_soon_as_possible) {
    manual_clock stands_still;
    std::atomic<int> runs = 0;
    scheduled_pool pool(stands_still);
    for (const auto delay : {0ns, -1ns, std::chrono::nanoseconds::min()}) {
        (void)pool.schedule([&] { ++runs; }, delay);
        (void)pool.schedule_at_fixed_rate([&] { ++runs; }, delay, 1h);
        (void)pool.schedule_with_fixed_delay([&] { ++runs; }, delay, 1h);
    }
    EXPECT_TRUE(eventually([&] { return runs == 9; }));
}

// STP-012
TEST(scheduled_pool, refuses_a_negative_core_size_and_empty_functions) {
    using pool = scheduled_thread_pool_executor;
    const auto factory = default_thread_factory();
    const rejected_execution_handler handler = abort_policy{};
    EXPECT_THROW(pool(-1), std::invalid_argument);
    EXPECT_THROW(pool(-1, factory), std::invalid_argument);
    EXPECT_THROW(pool(-1, handler), std::invalid_argument);
    EXPECT_THROW(pool(-1, factory, handler), std::invalid_argument);
    EXPECT_THROW(pool(scheduled_pool_options{.core_pool_size = -1}), std::invalid_argument);
    EXPECT_THROW(pool(1, thread_factory()), std::invalid_argument);
    EXPECT_THROW(pool(1, rejected_execution_handler()), std::invalid_argument);
    EXPECT_THROW(pool(1, factory, nullptr), std::invalid_argument);
    EXPECT_THROW(pool(1, nullptr), std::invalid_argument);
    EXPECT_THROW(pool(1, nullptr, handler), std::invalid_argument);
    EXPECT_THROW(pool(scheduled_pool_options{.keep_alive = -1ns}), std::invalid_argument);
}

// STP-012
TEST(scheduled_pool, accepts_a_core_size_of_zero_in_every_form) {
    const auto factory = default_thread_factory();
    const rejected_execution_handler handler = abort_policy{};
    EXPECT_EQ(scheduled_thread_pool_executor(0).core_pool_size(), 0);
    EXPECT_EQ(scheduled_thread_pool_executor(0, factory).core_pool_size(), 0);
    EXPECT_EQ(scheduled_thread_pool_executor(0, handler).core_pool_size(), 0);
    EXPECT_EQ(scheduled_thread_pool_executor(0, factory, handler).core_pool_size(), 0);
}

void expect_all_rejected(scheduled_thread_pool_executor& pool) {
    for (const auto delay : {0ns, std::chrono::nanoseconds(1h)})
        for (const auto& submit : all_submissions(
                 pool, [] {}, delay))
            EXPECT_THROW(submit(), rejected_execution);
}

// STP-013
TEST(scheduled_pool, rejects_every_form_of_submission_after_shutdown) {
    scheduled_thread_pool_executor pool(1);
    held_task running(pool);
    pool.shutdown();
    expect_all_rejected(pool);
    running.let_go();
    ASSERT_TRUE(pool.await_termination(guard));
    expect_all_rejected(pool);
}

// STP-013
TEST(scheduled_pool, rejects_every_form_of_submission_after_shutdown_now) {
    scheduled_thread_pool_executor pool(1);
    held_task running(pool);
    pool.shutdown_now();
    expect_all_rejected(pool);
    running.let_go();
    ASSERT_TRUE(pool.await_termination(guard));
    expect_all_rejected(pool);
}

TEST(scheduled_pool, cancels_what_its_handler_discards) {
    scheduled_thread_pool_executor pool(1, discard_policy{});
    pool.shutdown();
    EXPECT_TRUE(pool.schedule([] {}, 1h).is_cancelled());
    EXPECT_TRUE(pool.schedule_at_fixed_rate([] {}, 1h, 1h).is_cancelled());
    EXPECT_TRUE(pool.submit([] {}).is_cancelled());
}

// STP-014
TEST(scheduled_pool, is_never_saturated_and_counts_what_ran_and_not_what_it_rejected) {
    std::atomic<int> runs = 0;
    scheduled_thread_pool_executor pool(1);
    {
        held_task running(pool);
        for (int i = 0; i < 1000; ++i) EXPECT_NO_THROW(pool.execute([&] { ++runs; }));
        EXPECT_EQ(pool.queue().size(), 1000u);
        EXPECT_EQ(pool.queue().remaining_capacity(), blocking_queue<task>::npos);
        EXPECT_EQ(pool.pool_size(), 1);
        pool.shutdown();
        expect_all_rejected(pool);
    }
    ASSERT_TRUE(pool.await_termination(guard));
    EXPECT_EQ(runs, 1000);
    EXPECT_EQ(pool.completed_task_count(), 1001);
}

// STP-015
TEST(scheduled_pool, counts_threads_and_tasks) {
    scheduled_thread_pool_executor pool(2);
    EXPECT_EQ(pool.core_pool_size(), 2);
    EXPECT_EQ(pool.pool_size() + pool.largest_pool_size() + pool.active_count(), 0);
    EXPECT_EQ(pool.task_count() + pool.completed_task_count(), 0);
    {
        held_tasks held(pool, 2);
        ASSERT_TRUE(held.have_started(2));
        EXPECT_EQ(pool.active_count(), 2);
        EXPECT_EQ(pool.pool_size(), 2);
        (void)pool.schedule([] {}, 1ms);
        EXPECT_EQ(pool.task_count(), 3);
        EXPECT_EQ(pool.completed_task_count(), 0);
    }
    EXPECT_TRUE(has_completed(pool, 3));
    pool.close();
    EXPECT_EQ(pool.completed_task_count(), 3);
    EXPECT_EQ(pool.task_count(), 3);
    EXPECT_EQ(pool.pool_size(), 0);
    EXPECT_EQ(pool.active_count(), 0);
    EXPECT_EQ(pool.largest_pool_size(), 2);
}

// STP-015
TEST(scheduled_pool, counts_each_run_of_a_periodic_task) {
    manual_clock clock;
    scheduled_pool pool(clock);
    const auto result = pool.schedule_at_fixed_rate([] {}, 1h, 1h);
    clock.advance(5h);
    EXPECT_TRUE(eventually([&] { return pool.completed_task_count() == 5; }));
    EXPECT_EQ(pool.task_count(), 6);  // and one to come
}

TEST(scheduled_pool, counts_as_submitted_each_run_that_a_periodic_task_was_queued_for) {
    manual_clock clock;
    scheduled_pool pool(clock);
    const auto submitted = [&] { return pool.snapshot().submitted_task_count; };
    auto rate = pool.schedule_at_fixed_rate([] {}, 1h, 1h);
    EXPECT_EQ(submitted(), 1);
    clock.advance(3h);
    ASSERT_TRUE(has_completed(pool, 3));
    EXPECT_EQ(submitted(), 4);
}

TEST(scheduled_pool, counts_what_left_the_queue_before_its_time_as_submitted) {
    manual_clock clock;
    scheduled_pool pool(clock);
    const auto submitted = [&] { return pool.snapshot().submitted_task_count; };
    pool.set_remove_on_cancel_policy(true);
    auto cancelled = pool.schedule([] {}, 1h);
    auto cancelled_rate = pool.schedule_at_fixed_rate([] {}, 1h, 1h);
    auto removed = pool.schedule([] {}, 1h);
    EXPECT_EQ(submitted(), 3);
    cancelled.cancel();
    cancelled_rate.cancel();
    EXPECT_TRUE(pool.remove(removed));
    EXPECT_TRUE(pool.queue().empty());
    (void)pool.schedule([] {}, 1h);
    EXPECT_EQ(submitted(), 4);
    (void)pool.schedule_at_fixed_rate([] {}, 1h, 1h);
    pool.shutdown();  // ends what is periodic
    EXPECT_THROW(pool.execute([] {}), rejected_execution);
    EXPECT_EQ(submitted(), 6);
    EXPECT_EQ(pool.shutdown_now().size(), 1u);
    EXPECT_EQ(submitted(), 6);
}

TEST(scheduled_pool, has_no_more_threads_than_its_core_however_much_waits) {
    scheduled_thread_pool_executor pool(3);
    held_tasks held(pool, 23);  // all of them: a new thread must not empty the queue meanwhile
    ASSERT_TRUE(held.have_started(3));
    EXPECT_EQ(pool.pool_size(), 3);
    pool.set_core_pool_size(5);
    EXPECT_EQ(pool.pool_size(), 5);
}

// STP-016
TEST(scheduled_pool, uses_the_thread_factory_that_is_set) {
    const counting_factory first;
    const counting_factory second;
    scheduled_thread_pool_executor pool(1, first);
    EXPECT_NE(pool.thread_factory().target<counting_factory>(), nullptr);
    pool.submit([] {}).get();
    pool.set_thread_factory(second);
    pool.set_core_pool_size(2);
    pool.submit([] {}).get();
    EXPECT_EQ(first.asked(), 1);
    EXPECT_EQ(second.asked(), 1);
    EXPECT_THROW(pool.set_thread_factory(nullptr), std::invalid_argument);
}

TEST(scheduled_pool, asks_a_factory_that_refuses_once_for_each_task) {
    for (const int core : {0, 1, 3}) {
        int asked = 0;
        scheduled_thread_pool_executor pool(core, [&](const std::function<void()>&) {
            ++asked;
            return thread();
        });
        (void)pool.schedule([] {}, 1h);
        EXPECT_EQ(asked, 1);
        pool.execute([] {});
        EXPECT_EQ(asked, 2);
        pool.shutdown_now();
    }
}

// WK-13
TEST(scheduled_pool, rejects_what_the_system_has_no_thread_at_all_for) {
    const auto huge = named_thread_factory("huge", {.stack_size = std::size_t{1} << 46});
    for (const int core : {0, 2}) {
        scheduled_thread_pool_executor pool(core, huge);
        EXPECT_THROW((void)pool.schedule([] {}, 1h), rejected_execution);
        EXPECT_THROW((void)pool.schedule_at_fixed_rate([] {}, 1h, 1h), rejected_execution);
        EXPECT_THROW(pool.execute([] {}), rejected_execution);
        EXPECT_EQ(pool.snapshot().queue_size, 0u);
        EXPECT_EQ(pool.snapshot().rejected_task_count, 3);
        pool.set_thread_factory(default_thread_factory());
        EXPECT_EQ(pool.schedule([] { return 7; }, 1ms).get(), 7);
    }
}

// STP-016
TEST(scheduled_pool, has_the_abort_policy_unless_another_handler_is_set) {
    scheduled_thread_pool_executor pool(1);
    EXPECT_NE(pool.rejected_execution_handler().target<abort_policy>(), nullptr);
    EXPECT_THROW(pool.set_rejected_execution_handler(nullptr), std::invalid_argument);
    std::string rejected;
    pool.set_rejected_execution_handler(
        [&](const task& t, thread_pool_executor&) { rejected = t.name(); });
    pool.shutdown();
    (void)pool.schedule(named("late", [] {}), 1h);
    EXPECT_EQ(rejected, "late");
}

// STP-017
TEST(scheduled_pool, tells_how_far_its_end_has_come) {
    scheduled_thread_pool_executor pool(1);
    auto inside = pool.schedule([&] { return pool.is_terminating() || pool.is_shutdown(); }, 0ns);
    EXPECT_FALSE(inside.get());
    {
        held_task running(pool);
        EXPECT_FALSE(pool.is_shutdown() || pool.is_terminating() || pool.is_terminated());
        pool.shutdown();
        EXPECT_TRUE(pool.is_shutdown());
        EXPECT_TRUE(pool.is_terminating());
        EXPECT_FALSE(pool.is_terminated());
        EXPECT_FALSE(pool.await_termination(1ms));
    }
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_TRUE(pool.is_terminated());
    EXPECT_FALSE(pool.is_terminating());
}

// STP-018
TEST(scheduled_pool, shows_what_waits_in_its_queue) {
    manual_clock clock;
    scheduled_pool pool(clock);
    gate may_end;
    std::vector<scheduled_future<void>> results;
    for (const auto* name : {"0", "1", "2", "3", "4"})
        results.push_back(pool.schedule(named(name, [&] { may_end.wait(); }), 1ms));
    EXPECT_THAT(queued_names(pool), ElementsAre("0", "1", "2", "3", "4"));
    std::thread time_passes([&] { clock.advance(1ms); });
    EXPECT_TRUE(starts(results.front()));
    EXPECT_THAT(queued_names(pool), ElementsAre("1", "2", "3", "4"));
    EXPECT_EQ(results.front().next_run(), std::nullopt);
    EXPECT_EQ(results.back().next_run(), pool.now());
    may_end.open();
    time_passes.join();
    EXPECT_THAT(queued_names(pool), IsEmpty());
}

// STP-019
TEST(scheduled_pool, removes_a_queued_task_once_and_no_running_one) {
    gate may_end;
    scheduled_thread_pool_executor pool(1);
    const auto running = pool.schedule([&] { may_end.wait(); }, 0ns);
    ASSERT_TRUE(starts(running));
    const auto removed = pool.schedule([] {}, 1ms);
    auto stays = pool.schedule([] { return 1; }, 1ms);
    EXPECT_FALSE(pool.remove(running));
    EXPECT_TRUE(pool.remove(removed));
    EXPECT_FALSE(pool.remove(removed));
    EXPECT_TRUE(removed.is_cancelled());
    EXPECT_EQ(pool.queue().size(), 1u);
    may_end.open();
    EXPECT_EQ(stays.get(), 1);
    EXPECT_FALSE(pool.remove(stays));
}

// STP-019
TEST(scheduled_pool, removes_a_task_by_whichever_future_it_is_known) {
    scheduled_thread_pool_executor pool(1);
    scheduled_thread_pool_executor other(1);
    held_task running(pool);
    const future<void> submitted = pool.submit([] {});
    const future<int> sliced = pool.schedule([] { return 1; }, 1h);
    const auto shared = pool.schedule([] {}, 1h).share();
    const auto periodic = pool.schedule_at_fixed_rate([] {}, 1h, 1h);
    EXPECT_FALSE(other.remove(submitted) || other.remove(sliced) || other.remove(periodic));
    EXPECT_TRUE(pool.remove(submitted));
    EXPECT_TRUE(pool.remove(sliced));
    EXPECT_TRUE(pool.remove(shared));
    EXPECT_TRUE(pool.remove(periodic));
    EXPECT_TRUE(submitted.is_cancelled() && sliced.is_cancelled() && periodic.is_cancelled());
    EXPECT_TRUE(pool.queue().empty());
}

// STP-020
TEST(scheduled_pool, shutdown_now_interrupts_what_runs_and_returns_what_waits) {
    std::atomic<int> interrupts = 0;
    std::atomic<int> started = 0;
    scheduled_thread_pool_executor pool(2);
    for (int i = 0; i < 5; ++i)
        pool.execute([&] {
            ++started;
            try {
                sleep_until_interrupted();
            } catch (const interrupted&) {
                ++interrupts;
            }
        });
    ASSERT_TRUE(eventually([&] { return started == 2; }));
    EXPECT_EQ(pool.shutdown_now().size(), 3u);
    EXPECT_TRUE(pool.queue().empty());
    EXPECT_TRUE(pool.is_shutdown());
    ASSERT_TRUE(pool.await_termination(guard));
    EXPECT_EQ(started, 2);
    EXPECT_EQ(interrupts, 2);
    EXPECT_EQ(pool.completed_task_count(), 2);
}

// STP-024
TEST(scheduled_pool, immediate_tasks_are_due_and_stay_queued_at_shutdown) {
    scheduled_thread_pool_executor pool(1);
    held_task running(pool);
    auto scheduled = pool.schedule(named("scheduled", [] { return 1; }), 0ns);
    auto submitted = pool.submit(named("submitted", [] { return 2; }));
    pool.execute(named("executed", [] {}));
    EXPECT_LE(scheduled.delay(), 0ns);
    EXPECT_LE(*scheduled.next_run(), pool.now());
    pool.shutdown();
    EXPECT_LE(scheduled.delay(), 0ns);
    EXPECT_THAT(queued_names(pool), ElementsAre("executed", "scheduled", "submitted"));
    running.let_go();
    EXPECT_EQ(scheduled.get() + submitted.get(), 3);
}

// STP-025
TEST(scheduled_pool, has_nothing_queued_and_every_future_done_when_it_is_terminated) {
    scheduled_thread_pool_executor pool(2);
    auto submitted = pool.submit([] { return 1; });
    auto delayed = pool.schedule([] { return 2; }, 1ms);
    const auto rate = pool.schedule_at_fixed_rate([] {}, 1h, 1h);
    const auto with_delay = pool.schedule_with_fixed_delay([] {}, 1h, 1h);
    pool.shutdown();
    ASSERT_TRUE(pool.await_termination(guard));
    EXPECT_TRUE(pool.queue().empty());
    EXPECT_EQ(submitted.get_for(0s), 1);
    EXPECT_EQ(delayed.get_for(0s), 2);
    EXPECT_TRUE(rate.is_cancelled() && with_delay.is_cancelled());
}

TEST(scheduled_pool, tells_of_what_an_executed_task_throws) {
    std::vector<std::string> told;
    const counting_factory factory;
    {
        scheduled_thread_pool_executor pool(scheduled_pool_options{
            .core_pool_size = 1,
            .thread_factory = factory,
            .hooks = {.uncaught_exception = [&](const task& t, const std::exception_ptr&) {
                told.emplace_back(t.name());
            }}});
        pool.execute(named("bad", [] { throw std::runtime_error("no"); }));
        pool.submit([] {}).get();
    }
    EXPECT_THAT(told, ElementsAre("bad"));
}

TEST(scheduled_pool, shows_its_name_and_numbers_as_text) {
    manual_clock clock;
    scheduled_thread_pool_executor pool({.core_pool_size = 1, .name = "timers", .clock = &clock});
    EXPECT_EQ(pool.name(), "timers");
    EXPECT_THAT(pool.to_string(), HasSubstr("scheduled_thread_pool_executor@timers[Running"));
}

}  // namespace
}  // namespace cadre::testing
