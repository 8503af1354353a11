// SPDX-License-Identifier: Apache-2.0
//
// What becomes of delayed and periodic tasks when a scheduled pool ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/counted.hpp"
#include "support/held_task.hpp"
#include "support/scheduled_pools.hpp"
#include "support/stepping_clock.hpp"
#include <cadre/scheduled_thread_pool_executor.hpp>
#include <cadre/testing.hpp>

namespace cadre::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// STP-021
TEST(scheduled_shutdown, policies_have_the_defaults_of_the_jdk_and_can_be_set) {
    scheduled_thread_pool_executor pool(1);
    EXPECT_TRUE(pool.execute_existing_delayed_tasks_after_shutdown_policy());
    EXPECT_FALSE(pool.continue_existing_periodic_tasks_after_shutdown_policy());
    EXPECT_FALSE(pool.remove_on_cancel_policy());
    for (const bool value : {false, true, false}) {
        pool.set_execute_existing_delayed_tasks_after_shutdown_policy(value);
        EXPECT_EQ(pool.execute_existing_delayed_tasks_after_shutdown_policy(), value);
        pool.set_continue_existing_periodic_tasks_after_shutdown_policy(value);
        EXPECT_EQ(pool.continue_existing_periodic_tasks_after_shutdown_policy(), value);
        pool.set_remove_on_cancel_policy(value);
        EXPECT_EQ(pool.remove_on_cancel_policy(), value);
    }
    scheduled_thread_pool_executor other({.core_pool_size = 1,
                                          .remove_on_cancel = true,
                                          .execute_existing_delayed_tasks_after_shutdown = false,
                                          .continue_existing_periodic_tasks_after_shutdown = true});
    EXPECT_FALSE(other.execute_existing_delayed_tasks_after_shutdown_policy());
    EXPECT_TRUE(other.continue_existing_periodic_tasks_after_shutdown_policy());
    EXPECT_TRUE(other.remove_on_cancel_policy());
}

TEST(scheduled_shutdown, leaves_threads_their_keep_alive_for_delayed_tasks) {
    std::latch both(2);  // who finds no other thread there waits for ever
    scheduled_thread_pool_executor pool(
        {.core_pool_size = 2, .keep_alive = 1h, .allow_core_thread_time_out = true});
    for (int i = 0; i < 2; ++i) pool.schedule([&] { both.arrive_and_wait(); }, 200ms);
    pool.shutdown();
    const bool is_over = pool.await_termination(guard);
    EXPECT_TRUE(is_over);
    if (!is_over) both.count_down();
}

// STP-022, STP-023
TEST(scheduled_shutdown, by_default_delayed_tasks_run_and_periodic_ones_are_cancelled) {
    manual_clock clock;
    scheduled_pool pool(clock);
    auto delayed = pool.schedule(named("delayed", [] { return 42; }), 1h);
    const auto rate = pool.schedule_at_fixed_rate(named("rate", [] {}), 1h, 1h);
    const auto with_delay = pool.schedule_with_fixed_delay(named("delay", [] {}), 1h, 1h);
    pool.shutdown();
    EXPECT_TRUE(rate.is_cancelled());
    EXPECT_TRUE(with_delay.is_cancelled());
    EXPECT_THAT(queued_names(pool), ElementsAre("delayed"));
    EXPECT_TRUE(pool.is_shutdown());
    EXPECT_TRUE(pool.is_terminating());
    EXPECT_FALSE(pool.is_terminated());
    clock.advance(1h);
    EXPECT_EQ(delayed.get_for(0s), 42);
    EXPECT_TRUE(pool.await_termination(guard));
}

/// Policy for delayed tasks, policy for periodic ones, whether the tasks are due at the shutdown.
using policies = std::tuple<bool, bool, bool>;
class scheduled_shutdown_policies : public ::testing::TestWithParam<policies> {};
std::string name_of(const ::testing::TestParamInfo<policies>& p) {
    const auto [delayed, periodic, due] = p.param;
    return std::string(delayed ? "delayed" : "no_delayed") +
           (periodic ? "_periodic" : "_no_periodic") + (due ? "_due" : "_not_due");
}
INSTANTIATE_TEST_SUITE_P(all, scheduled_shutdown_policies,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool(),
                                            ::testing::Bool()),
                         name_of);

// STP-022
TEST_P(scheduled_shutdown_policies, decide_who_runs_and_the_others_are_done_at_once) {
    const auto [run_delayed, run_periodic, due] = GetParam();
    stepping_clock clock;
    scheduled_pool pool({.core_pool_size = 1,
                         .execute_existing_delayed_tasks_after_shutdown = run_delayed,
                         .continue_existing_periodic_tasks_after_shutdown = run_periodic,
                         .clock = &clock});
    std::atomic<int> runs = 0;
    held_task occupies_the_worker(pool);
    const auto delayed = pool.schedule([] {}, 1h);
    const auto by_wall_clock = pool.schedule_at([] {}, clock.wall_now() + 1h);
    auto rate = pool.schedule_at_fixed_rate([&] { ++runs; }, 1h, 1h);
    auto with_delay = pool.schedule_with_fixed_delay([&] { ++runs; }, 1h, 1h);
    if (due) clock.step(1h);
    pool.shutdown();

    EXPECT_NE(delayed.is_cancelled(), run_delayed || due);
    EXPECT_NE(by_wall_clock.is_cancelled(), run_delayed || due);
    EXPECT_NE(rate.is_cancelled(), run_periodic);
    EXPECT_NE(with_delay.is_cancelled(), run_periodic);
    EXPECT_EQ(pool.queue().size(), (run_delayed || due ? 2u : 0u) + (run_periodic ? 2u : 0u));
    occupies_the_worker.let_go();
    if (!due) clock.step(1h);
    if (run_delayed || due) {
        EXPECT_TRUE(delayed.wait_for(guard) && by_wall_clock.wait_for(guard));
        EXPECT_EQ(delayed.state(), future_state::success);
        EXPECT_EQ(by_wall_clock.state(), future_state::success);
    }
    if (run_periodic) {
        EXPECT_TRUE(eventually([&] { return rate.statistics().runs == 1; }));
        EXPECT_TRUE(eventually([&] { return with_delay.statistics().runs == 1; }));
        EXPECT_FALSE(pool.is_terminated());
        pool.set_continue_existing_periodic_tasks_after_shutdown_policy(false);
    }
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_TRUE(rate.is_cancelled() && with_delay.is_cancelled());
    EXPECT_EQ(runs, run_periodic ? 2 : 0);
    EXPECT_THAT(queued_names(pool), IsEmpty());
}

TEST(scheduled_shutdown, one_that_the_wall_clock_made_due_runs_even_without_delayed_tasks) {
    manual_clock clock;
    scheduled_pool pool({.core_pool_size = 1,
                         .execute_existing_delayed_tasks_after_shutdown = false,
                         .clock = &clock});
    std::thread wall_clock_is_set;
    held_task occupies_the_worker(pool);
    const auto result = pool.schedule_at([] {}, clock.wall_now() + 1h);
    wall_clock_is_set = std::thread([&] { clock.set_wall(clock.wall_now() + 2h); });
    EXPECT_TRUE(eventually([&] { return result.delay() <= 0ns; }));
    pool.shutdown();
    occupies_the_worker.let_go();
    wall_clock_is_set.join();
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_EQ(result.state(), future_state::success);
}

TEST(scheduled_shutdown, a_policy_changed_afterwards_takes_effect_at_once) {
    manual_clock clock;
    scheduled_pool pool({.core_pool_size = 1,
                         .continue_existing_periodic_tasks_after_shutdown = true,
                         .clock = &clock});
    const auto delayed = pool.schedule([] {}, 1h);
    const auto rate = pool.schedule_at_fixed_rate([] {}, 1h, 1h);
    pool.shutdown();
    EXPECT_FALSE(delayed.is_done() || rate.is_done());
    pool.set_continue_existing_periodic_tasks_after_shutdown_policy(false);
    EXPECT_TRUE(rate.is_cancelled());
    EXPECT_FALSE(delayed.is_done());
    pool.set_execute_existing_delayed_tasks_after_shutdown_policy(false);
    EXPECT_TRUE(delayed.is_cancelled());
    EXPECT_TRUE(pool.await_termination(guard));
}

TEST(scheduled_shutdown, a_periodic_task_that_runs_at_the_shutdown_runs_no_more) {
    gate may_end;
    std::atomic<int> runs = 0;
    scheduled_thread_pool_executor pool(1);
    const auto rate = pool.schedule_at_fixed_rate(
        [&] {
            ++runs;
            may_end.wait();
        },
        0s, 1ms);
    ASSERT_TRUE(starts(rate));
    pool.shutdown();
    EXPECT_FALSE(pool.is_terminated());
    may_end.open();
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_TRUE(rate.is_cancelled());
    EXPECT_EQ(runs, 1);
}

TEST(scheduled_shutdown, takes_out_what_was_cancelled_before) {
    manual_clock clock;
    scheduled_pool pool(clock);
    auto cancelled = pool.schedule([] {}, 1h);
    cancelled.cancel();
    EXPECT_EQ(pool.queue().size(), 1u);
    pool.shutdown();
    EXPECT_TRUE(pool.queue().empty());
    EXPECT_TRUE(pool.await_termination(guard));
}

TEST(scheduled_shutdown, the_last_task_that_is_removed_or_cancelled_afterwards_ends_the_pool) {
    manual_clock clock;
    for (const bool by_cancel : {false, true}) {
        scheduled_pool pool({.core_pool_size = 1, .remove_on_cancel = true, .clock = &clock});
        auto delayed = pool.schedule([] {}, 1h);
        pool.shutdown();
        EXPECT_FALSE(pool.is_terminated());
        if (by_cancel)
            delayed.cancel();
        else
            pool.remove(delayed);
        EXPECT_TRUE(pool.await_termination(guard));
    }
}

TEST(scheduled_shutdown, without_removal_a_cancelled_task_holds_the_pool_until_it_is_purged) {
    manual_clock clock;
    scheduled_pool pool(clock);
    auto delayed = pool.schedule([] {}, 1h);
    pool.shutdown();
    delayed.cancel();
    EXPECT_FALSE(pool.await_termination(1ms));
    pool.purge();
    EXPECT_TRUE(pool.await_termination(guard));
}

TEST(scheduled_shutdown, a_policy_that_is_set_to_false_again_takes_out_what_was_cancelled) {
    manual_clock clock;
    for (const bool of_delayed : {false, true}) {
        scheduled_pool pool({.core_pool_size = 1,
                             .execute_existing_delayed_tasks_after_shutdown = !of_delayed,
                             .continue_existing_periodic_tasks_after_shutdown = of_delayed,
                             .clock = &clock});
        auto waiting =
            of_delayed ? pool.schedule_at_fixed_rate([] {}, 1h, 1h) : pool.schedule([] {}, 1h);
        pool.shutdown();
        waiting.cancel();
        EXPECT_EQ(pool.queue().size(), 1u);
        if (of_delayed)
            pool.set_execute_existing_delayed_tasks_after_shutdown_policy(false);
        else
            pool.set_continue_existing_periodic_tasks_after_shutdown_policy(false);
        EXPECT_TRUE(pool.queue().empty());
        EXPECT_TRUE(pool.await_termination(guard));
    }
}

TEST(scheduled_shutdown, now_returns_what_never_ran_in_the_order_of_times) {
    manual_clock clock;
    scheduled_pool pool(clock);
    const auto last = pool.schedule(named("last", [] {}), 3h);
    const auto rate = pool.schedule_at_fixed_rate(named("rate", [] {}), 1h, 2h);
    const auto delayed = pool.schedule(named("delayed", [] {}), 2h);
    const auto cancelled_before = pool.schedule(named("cancelled", [] {}), 4h);
    clock.advance(1h);  // the periodic one has run, and waits for 3h
    auto never_ran = pool.shutdown_now();
    std::vector<std::string> names;
    for (const auto& t : never_ran) names.emplace_back(t.name());
    EXPECT_THAT(names, ElementsAre("delayed", "last", "rate", "cancelled"));
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_FALSE(delayed.is_done()) << "somebody has the task";
    never_ran.front()();
    EXPECT_TRUE(delayed.is_cancelled()) << "run when its pool is gone";
    never_ran.clear();
    EXPECT_TRUE(last.is_cancelled() && rate.is_cancelled() && cancelled_before.is_cancelled());
}

TEST(scheduled_shutdown, the_destructor_waits_for_delayed_tasks_and_not_for_periodic_ones) {
    std::atomic<bool> ran = false;
    const auto time = time_of([&] {
        scheduled_thread_pool_executor pool(1);
        (void)pool.schedule([&] { ran = true; }, 20ms);
        (void)pool.schedule_at_fixed_rate([] {}, 1h, 1h);
    });
    EXPECT_TRUE(ran);
    EXPECT_GE(time, 20ms);
    EXPECT_LT(time, guard);
}

TEST(scheduled_shutdown, is_over_when_the_last_task_is_removed_and_there_is_no_thread) {
    using pool_type = scheduled_thread_pool_executor;
    const std::vector<std::function<void(pool_type&, scheduled_future<void>&)>> ways = {
        [](pool_type& pool, auto& last) { EXPECT_TRUE(pool.remove(last)); },
        [](pool_type& pool, auto&) { pool.remove_if([](const task&) { return true; }); },
        [](pool_type&, auto& last) { EXPECT_TRUE(last.cancel()); },
    };
    for (const auto& remove : ways) {
        pool_type pool({.core_pool_size = 1,
                        .thread_factory = [](const std::function<void()>&) { return thread(); },
                        .remove_on_cancel = true});
        auto last = pool.schedule([] {}, 1h);
        pool.shutdown();
        EXPECT_FALSE(pool.is_terminated());
        remove(pool, last);
        EXPECT_TRUE(pool.is_terminated());
        pool.shutdown_now();  // if it was not
    }
}

TEST(scheduled_shutdown, close_waits_as_the_destructor_does) {
    scheduled_thread_pool_executor pool(1);
    auto delayed = pool.schedule([] { return 1; }, 5ms);
    const auto rate = pool.schedule_at_fixed_rate([] {}, 1h, 1h);
    pool.close();
    EXPECT_TRUE(pool.is_terminated());
    EXPECT_EQ(delayed.get_for(0s), 1);
    EXPECT_TRUE(rate.is_cancelled());
}

TEST(scheduled_shutdown, futures_outlive_the_pool) {
    manual_clock clock;
    auto pool = std::make_unique<scheduled_pool>(clock);
    auto ran = pool->schedule([] { return 1; }, 1h);
    auto dropped = pool->schedule([] {}, 2h);
    auto rate = pool->schedule_at_fixed_rate([] {}, 1h, 1h);
    clock.advance(1h);
    pool.reset();
    EXPECT_EQ(ran.get(), 1);
    EXPECT_TRUE(dropped.is_cancelled());
    EXPECT_FALSE(dropped.cancel());
    EXPECT_EQ(dropped.delay(), 0ns);
    EXPECT_EQ(rate.next_run(), std::nullopt);
    EXPECT_EQ(rate.statistics().runs, 1);
}

/// Destroys a pool on its own worker, with something delayed left, and returns how many of its
/// tasks ran.
int destroy_on_own_worker(bool periodic) {
    auto runs = std::make_shared<std::atomic<int>>(0);
    auto over = std::make_shared<gate>();
    auto pool = std::make_shared<scheduled_thread_pool_executor>(scheduled_pool_options{
        .core_pool_size = 2, .hooks = {.terminated = [over] { over->open(); }}});
    gate may_go;
    auto& borrowed = *pool;
    auto last = [own = std::move(pool), &may_go, runs]() mutable {
        may_go.wait();
        own.reset();
        ++*runs;
    };
    (void)borrowed.schedule([runs] { ++*runs; }, 1ms);
    (void)borrowed.schedule_at_fixed_rate([runs] {}, 1h, 1h);
    if (periodic)
        (void)borrowed.schedule_at_fixed_rate(std::move(last), 0s, 1h);
    else
        (void)borrowed.schedule(std::move(last), 0s);
    may_go.open();
    EXPECT_TRUE(over->wait());
    return *runs;
}

TEST(scheduled_shutdown, a_pool_may_be_destroyed_on_its_own_worker) {
    for (int round = 0; round < 300; ++round) {
        ASSERT_EQ(destroy_on_own_worker(false), 2);
        ASSERT_EQ(destroy_on_own_worker(true), 2);
    }
}

TEST(scheduled_shutdown, a_task_may_destroy_its_pool_while_that_starts_a_thread_for_it) {
    for (const bool now : {false, true}) {
        gate has_left;  // the last worker, and with it all of the pool but what starts the thread
        gate is_destroyed;
        std::atomic<int> made = 0;
        const auto factory = [&](std::function<void()> body) {
            if (++made == 2) {
                EXPECT_TRUE(is_destroyed.wait() && has_left.wait());
            }
            return thread([&has_left, number = made.load(), body = std::move(body)]() mutable {
                body();
                body = nullptr;
                if (number == 1) has_left.open();
            });
        };
        auto pool = std::make_unique<scheduled_thread_pool_executor>(
            scheduled_pool_options{.core_pool_size = 2, .thread_factory = factory});
        auto& borrowed = *pool;
        ASSERT_TRUE(pool->prestart_core_thread());
        borrowed.execute([&is_destroyed, now, own = std::move(pool)]() mutable {
            if (now) own->shutdown_now();
            own.reset();
            is_destroyed.open();
        });
    }
}

TEST(scheduled_shutdown, many_cancelled_and_purged_tasks_are_gone_while_the_workers_wait) {
    const int before = counted<>::alive;
    manual_clock clock;
    scheduled_pool pool(clock, 2);
    pool.prestart_all_core_threads();
    std::vector<scheduled_future<void>> results;
    for (int i = 100; i > 0; --i)  // each a new head, which wakes the leader
        results.push_back(pool.schedule([c = counted<>()] {}, std::chrono::hours(i)));
    EXPECT_EQ(counted<>::alive, before + 100);
    for (auto& result : results) result.cancel();
    EXPECT_EQ(counted<>::alive, before);
    EXPECT_EQ(pool.queue().size(), 100u);
    pool.purge();
    EXPECT_TRUE(pool.queue().empty());
}

/// A task that a worker has taken, and not begun, when the pool is stopped: whoever has a future is
/// told that it did not run. Who gave it to execute() would never know, so that it runs.
TEST(scheduled_shutdown, a_task_that_is_taken_when_the_pool_stops_runs_unless_a_future_tells) {
    gate taken;
    gate stopped;
    scheduled_thread_pool_executor pool(
        {.core_pool_size = 3, .hooks = {.before_execute = [&](auto&&...) {
                                  taken.open();
                                  stopped.wait();
                              }}});
    std::atomic<int> runs = 0;
    pool.execute([&] { ++runs; });
    ASSERT_TRUE(taken.wait());
    std::atomic<int> others = 0;
    auto submitted = pool.submit([&] { ++others; });
    auto scheduled = pool.schedule([&] { ++others; }, 0s);
    ASSERT_TRUE(eventually([&] { return pool.active_count() == 3; }));
    EXPECT_THAT(pool.shutdown_now(), IsEmpty());
    stopped.open();
    ASSERT_TRUE(pool.await_termination(guard));
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(others, 0);
    EXPECT_TRUE(submitted.is_cancelled());
    EXPECT_TRUE(scheduled.is_cancelled());
}

}  // namespace
}  // namespace cadre::testing
