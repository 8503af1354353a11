// SPDX-License-Identifier: Apache-2.0
//
// decorate_task in a scheduled pool.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/counted.hpp"
#include "support/held_task.hpp"
#include "support/scheduled_pools.hpp"
#include "support/stepping_clock.hpp"
#include <cadre/scheduled_thread_pool_executor.hpp>
#include <cadre/testing.hpp>

namespace cadre::testing {
namespace {

using ::testing::ElementsAre;

/// Counts how often it decorates, and how often what it made is run.
struct decorations {
    std::atomic<int> made = 0;
    std::atomic<int> runs = 0;

    pool_hooks hooks() {
        return {.decorate_task = [this](task t) {
            ++made;
            return task([this, t = std::move(t), alive = counted<>()]() mutable {
                ++runs;
                t();
            });
        }};
    }
};

// STP-027
TEST(scheduled_decorate, each_entry_point_decorates_once_for_each_submission) {
    manual_clock clock;
    decorations all;
    scheduled_pool pool({.core_pool_size = 1, .hooks = all.hooks(), .clock = &clock});
    const auto decorates_once = [&](auto submit) {
        const int before = all.made;
        submit();
        return all.made - before == 1;
    };
    EXPECT_TRUE(decorates_once([&] { pool.execute([] {}); }));
    EXPECT_TRUE(decorates_once([&] { pool.submit([] {}).get(); }));
    EXPECT_TRUE(decorates_once([&] { pool.submit([] { return 1; }).get(); }));
    EXPECT_TRUE(decorates_once([&] { pool.submit([](int) {}, 1).get(); }));
    EXPECT_TRUE(decorates_once([&] { (void)pool.schedule([] {}, 1h); }));
    EXPECT_TRUE(decorates_once([&] { (void)pool.schedule([] { return 1; }, 1h); }));
    EXPECT_TRUE(decorates_once([&] { (void)pool.schedule_at([] {}, pool.now() + 1h); }));
    EXPECT_TRUE(decorates_once([&] { (void)pool.schedule_at([] {}, pool.wall_now() + 1h); }));
    EXPECT_TRUE(decorates_once([&] { (void)pool.schedule_at_fixed_rate([] {}, 1h, 1h); }));
    EXPECT_TRUE(decorates_once([&] { (void)pool.schedule_with_fixed_delay([] {}, 1h, 1h); }));
    EXPECT_TRUE(decorates_once(
        [&] { (void)pool.schedule_cron([] {}, cron_expression("@hourly", cron_zone::utc)); }));
    EXPECT_TRUE(decorates_once([&] { pool.invoke_all(std::vector{[] { return 1; }}); }));
    EXPECT_TRUE(decorates_once([&] { pool.invoke_any(std::vector{[] { return 1; }}); }));
    ASSERT_TRUE(has_completed(pool, 6));
    clock.advance(1h);
    EXPECT_EQ(all.runs, all.made);
    clock.advance(2h);
    EXPECT_EQ(all.runs, all.made + 2 * 3);  // three are periodic
}

// STP-027
TEST(scheduled_decorate, what_is_queued_is_known_by_the_name_and_the_future_of_the_task) {
    manual_clock clock;
    decorations all;
    scheduled_pool pool(
        {.core_pool_size = 1, .hooks = all.hooks(), .remove_on_cancel = true, .clock = &clock});
    const auto removed = pool.schedule(named("removed", [] {}), 1h);
    auto cancelled = pool.schedule_at_fixed_rate(named("cancelled", [] {}), 1h, 1h);
    auto kept = pool.schedule(named("kept", [] { return 42; }), 1h);
    EXPECT_THAT(queued_names(pool), ElementsAre("cancelled", "kept", "removed"));
    EXPECT_TRUE(pool.remove(removed));
    EXPECT_TRUE(cancelled.cancel());
    EXPECT_THAT(queued_names(pool), ElementsAre("kept"));
    EXPECT_TRUE(removed.is_cancelled());
    clock.advance(1h);
    EXPECT_EQ(kept.get(), 42);
    EXPECT_EQ(kept.statistics().runs, 1);
    EXPECT_EQ(all.runs, 1);
}

TEST(scheduled_decorate, nothing_of_a_task_is_left_whichever_way_it_ends) {
    const int before = counted<>::alive;
    manual_clock clock;
    decorations all;
    scheduled_pool pool({.core_pool_size = 1,
                         .hooks = {.decorate_task = all.hooks().decorate_task,
                                   .periodic_failed = [](const task&, auto) {}},
                         .clock = &clock});
    const auto captured = [&] { return [c = counted<>()] {}; };
    const auto ran = pool.schedule(captured(), 1h);
    const auto failed = pool.schedule_at_fixed_rate([c = counted<>()] { throw 1; }, 1h, 1h);
    auto cancelled = pool.schedule(captured(), 2h);
    auto stopped = pool.schedule_at_fixed_rate(captured(), 1h, 1h);
    const auto removed = pool.schedule(captured(), 2h);
    EXPECT_EQ(counted<>::alive, before + 10);
    clock.advance(1h);
    EXPECT_EQ(counted<>::alive, before + 6);
    cancelled.cancel();
    stopped.cancel();
    EXPECT_TRUE(pool.remove(removed));
    EXPECT_EQ(counted<>::alive, before);
    const auto dropped = pool.schedule_with_fixed_delay(captured(), 1h, 1h);
    pool.shutdown_now();
    EXPECT_TRUE(dropped.is_cancelled());
    EXPECT_EQ(counted<>::alive, before);
    EXPECT_THROW((void)pool.schedule(captured(), 1h), rejected_execution);
    EXPECT_EQ(counted<>::alive, before);
}

TEST(scheduled_decorate, a_periodic_task_runs_again_only_when_its_decoration_has_ended) {
    std::atomic<bool> inside = false;
    std::atomic<int> overlaps = 0;
    std::atomic<int> queued_meanwhile = 0;
    std::atomic<int> runs = 0;
    stepping_clock clock;
    const blocking_queue<task>* queue = nullptr;
    const auto look = [&] { queued_meanwhile += queue->empty() ? 0 : 1; };
    scheduled_pool pool({.core_pool_size = 4,
                         .hooks = {.decorate_task =
                                       [&](task t) {
                                           return task([&, t = std::move(t)]() mutable {
                                               if (inside.exchange(true)) ++overlaps;
                                               t();
                                               look();  // the next run would not be due yet
                                               clock.step(1ms);
                                               look();
                                               inside = false;
                                           });
                                       }},
                         .clock = &clock});
    queue = &pool.queue();
    pool.prestart_all_core_threads();
    auto rate = pool.schedule_at_fixed_rate([&] { ++runs; }, 0ms, 1us);
    EXPECT_TRUE(eventually([&] { return runs >= 50; }));
    rate.cancel();
    EXPECT_EQ(overlaps, 0);
    EXPECT_EQ(queued_meanwhile, 0);
}

TEST(scheduled_decorate, a_decoration_may_leave_out_runs_or_repeat_them) {
    manual_clock clock;
    int calls = 0;
    int runs = 0;
    scheduled_pool pool({.core_pool_size = 1,
                         .hooks = {.decorate_task =
                                       [&](task t) {
                                           return task([&, t = std::move(t)]() mutable {
                                               if (++calls % 2 == 0) return;
                                               t();
                                               t();
                                           });
                                       }},
                         .clock = &clock});
    const auto rate = pool.schedule_at_fixed_rate([&] { ++runs; }, 1h, 1h);
    clock.advance(4h);
    EXPECT_EQ(calls, 4);
    EXPECT_EQ(runs, 4);
    EXPECT_EQ(pool.queue().size(), 1u);
    EXPECT_FALSE(rate.is_done());
}

TEST(scheduled_decorate, a_one_shot_that_its_decoration_does_not_run_is_cancelled) {
    const int before = counted<>::alive;
    manual_clock clock;
    scheduled_pool pool(
        {.core_pool_size = 1,
         .hooks = {.decorate_task = [](task t) { return task([t = std::move(t)] {}); }},
         .clock = &clock});
    const auto result = pool.schedule([c = counted<>()] {}, 1h);
    clock.advance(1h);
    EXPECT_TRUE(result.is_cancelled());
    EXPECT_EQ(counted<>::alive, before);
}

TEST(scheduled_decorate, a_decoration_may_hand_the_task_on) {
    manual_clock clock;
    scheduled_thread_pool_executor elsewhere(1);
    scheduled_pool pool({.core_pool_size = 1,
                         .hooks = {.decorate_task =
                                       [&](task t) {
                                           return task([&, t = std::move(t)]() mutable {
                                               elsewhere.execute(std::move(t));
                                           });
                                       }},
                         .clock = &clock});
    auto result = pool.schedule([] { return 42; }, 1h);
    clock.advance(1h);
    EXPECT_EQ(result.get_for(guard), 42);
}

TEST(scheduled_decorate, what_a_decoration_throws_is_told_and_the_task_goes_on) {
    manual_clock clock;
    std::atomic<int> told = 0;
    int runs = 0;
    scheduled_pool pool({.core_pool_size = 1,
                         .hooks = {.decorate_task =
                                       [&](task t) {
                                           return task([&, t = std::move(t)]() mutable {
                                               t();
                                               throw std::runtime_error("decoration");
                                           });
                                       },
                                   .uncaught_exception = [&](const task&, auto) { ++told; }},
                         .clock = &clock});
    const auto rate = pool.schedule_at_fixed_rate([&] { ++runs; }, 1h, 1h);
    clock.advance(3h);
    EXPECT_EQ(runs, 3);
    EXPECT_EQ(told, 3);
    EXPECT_FALSE(rate.is_done());
}

TEST(scheduled_decorate, a_task_whose_decoration_fails_or_is_empty_is_not_accepted) {
    const int before = counted<>::alive;
    manual_clock clock;
    bool is_empty = false;
    scheduled_pool pool({.core_pool_size = 1,
                         .hooks = {.decorate_task = [&](task) -> task {
                             if (is_empty) return {};
                             throw std::length_error("no");
                         }},
                         .clock = &clock});
    EXPECT_THROW((void)pool.schedule([c = counted<>()] {}, 1h), std::length_error);
    is_empty = true;
    EXPECT_THROW(pool.execute([] {}), std::invalid_argument);
    EXPECT_EQ(pool.task_count(), 0);
    EXPECT_EQ(counted<>::alive, before);
}

TEST(scheduled_decorate, a_task_for_which_there_is_no_memory_leaves_nothing_behind) {
    const int before = counted<>::alive;
    manual_clock clock;
    decorations all;
    scheduled_pool pool({.core_pool_size = 1, .hooks = all.hooks(), .clock = &clock});
    scheduled_future<void> result;
    const int failures =
        fail_each_allocation([&] { result = pool.schedule([c = counted<>()] {}, 1h); },
                             [&] {
                                 EXPECT_EQ(counted<>::alive, before);
                                 EXPECT_TRUE(pool.queue().empty());
                             });
    EXPECT_GT(failures, 1);
    EXPECT_FALSE(result.is_done());
}

TEST(scheduled_decorate, a_given_task_for_which_there_is_no_memory_is_cancelled) {
    const int before = counted<>::alive;
    manual_clock clock;
    decorations all;
    scheduled_pool pool({.core_pool_size = 1, .hooks = all.hooks(), .clock = &clock});
    future<void> result;
    fail_each_allocation(
        [&] {
            future_task<void> given([c = counted<>()] {});
            result = given.get_future();
            pool.execute(std::move(given));
        },
        [&] {
            EXPECT_TRUE(!result.valid() || result.is_cancelled());
            result = {};
            EXPECT_EQ(counted<>::alive, before);
        });
    result.get();
}

}  // namespace
}  // namespace cadre::testing
