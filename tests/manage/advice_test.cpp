// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/advice.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manage/plane_views.hpp"
#include "manage/pool_advisers.hpp"
#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/sleeps.hpp"
#include <cadre/manage/pool_registry.hpp>

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;

/// Runs tasks that take so long, one after the other, until those of the pool have not waited for
/// long on average: on a busy machine the first may, and the advice for tasks that wait is another.
void run_some(const managed_pool& pool, std::chrono::nanoseconds time) {
    EXPECT_TRUE(testing::eventually([&] {
        const auto before = pool.executor()->completed_task_count();
        pool.executor()->submit([&] { testing::take_at_least(time); }).wait();
        EXPECT_TRUE(testing::has_completed(*pool.executor(), before + 1));
        return pool.monitor()->metrics().wait.mean() < 25ms;
    }));
}

TEST(advice, follows_littles_law_and_the_processors) {
    // 100 tasks a second of 80 ms keep 8 threads busy; at 80 % that is 10.
    pool_load load{.arrivals_per_second = 100, .mean_run = 80ms, .compute_share = 0.1};
    const auto waiting = advise(load, {.processors = 4});
    EXPECT_EQ(waiting.settings.core_pool_size, 10);
    EXPECT_EQ(waiting.settings.maximum_pool_size, 20);
    EXPECT_EQ(waiting.settings.queue_capacity, 6u);  // 125 tasks/s * 50 ms
    // Tasks that compute only: 4 processors at 80 % feed no more than 4 threads.
    load.compute_share = 1;
    EXPECT_EQ(advise(load, {.processors = 4}).settings.core_pool_size, 4);
    EXPECT_EQ(advise(load, {.max_threads = 3, .processors = 4}).settings.maximum_pool_size, 3);
    // One place in the queue is the least, and the wait there is as long as it is.
    const auto slow = advise({.arrivals_per_second = 1, .mean_run = 400ms, .compute_share = 0.1},
                             {.target_wait = 300ms, .processors = 4});
    EXPECT_EQ(slow.settings.core_pool_size, 1);
    EXPECT_EQ(slow.settings.queue_capacity, 1u);
    EXPECT_EQ(slow.reasons.back(),
              "1 thread does 2.5 tasks/s: with 1 queued the last waits for 0.4 s");
    EXPECT_FALSE(advise({}).enough_data);
    EXPECT_THROW(advise(load, {.min_threads = 0}), std::invalid_argument);
}

TEST(advice, gives_threads_enough_for_the_wait_that_is_aimed_at) {
    // One thread that is busy for 0.4 of its time has each task wait for 0.4 * 400 ms / 0.6.
    const pool_load load{.arrivals_per_second = 1, .mean_run = 400ms, .compute_share = 0.1};
    const auto two = advise(load, {.processors = 4});
    EXPECT_EQ(two.settings.core_pool_size, 2);
    EXPECT_THAT(two.reasons, ::testing::Contains(
                                 "a task would wait for 0.267 s on average, more than the 0.05 s "
                                 "aimed at: 2 threads"));
    EXPECT_EQ(advise(load, {.target_wait = 1ns, .processors = 4}).settings.core_pool_size, 8);
    EXPECT_EQ(advise(load, {.max_threads = 1, .processors = 4}).settings.core_pool_size, 1);
    EXPECT_EQ(advise({.arrivals_per_second = 1e9, .mean_run = 1s}, {.processors = 4})
                  .settings.core_pool_size,
              4);
}

TEST(advice, takes_no_threads_from_a_pool_whose_tasks_wait_or_are_rejected) {
    pool_load load{.arrivals_per_second = 10,
                   .mean_run = 10ms,
                   .mean_wait = 1ms,
                   .compute_share = 0.1,
                   .core_threads = 8,
                   .maximum_threads = 12};
    EXPECT_EQ(advise(load, {.processors = 4}).settings.core_pool_size, 1);
    load.mean_wait = 200ms;
    const auto waited = advise(load, {.processors = 4});
    EXPECT_EQ(waited.settings.core_pool_size, 8);
    EXPECT_EQ(waited.settings.maximum_pool_size, 12);
    EXPECT_THAT(waited.reasons,
                ::testing::Contains("tasks waited for 0.2 s on average, more than the 0.05 s aimed "
                                    "at: no fewer than 8 threads"));
    load.mean_wait = 1ms;
    load.rejections_per_second = 3;
    const auto rejected = advise(load, {.processors = 4});
    EXPECT_EQ(rejected.settings.core_pool_size, 8);
    EXPECT_THAT(rejected.reasons,
                ::testing::Contains("3 tasks/s were rejected: no fewer than 8 threads"));
    load.compute_share = 1;  // then threads beyond the processors help nobody
    EXPECT_EQ(advise(load, {.processors = 4}).settings.core_pool_size, 4);
    EXPECT_EQ(advise(load, {.processors = 4}).settings.maximum_pool_size, 4);
}

TEST(advice, takes_the_processor_time_of_the_threads_of_its_own_pool) {
    pool_registry registry;
    const auto busy = registry.create({.name = "busy", .settings = {.core_pool_size = 1}});
    const auto idle = registry.create({.name = "idle", .settings = {.core_pool_size = 1}});
    const auto cpu_of = [](const auto& pool) { return pool->monitor()->metrics().cpu; };
    pool_adviser of_busy(busy);
    pool_adviser of_idle(idle);
    std::atomic<bool> enough = false;
    testing::held_task waits(*idle->executor());  // all the time that the other one computes
    auto computes = busy->executor()->submit([&] {
        while (!enough) {}
    });
    EXPECT_TRUE(testing::eventually([&] { return cpu_of(busy) >= 50ms; }));
    enough = true;
    computes.wait();
    waits.let_go();
    ASSERT_TRUE(testing::has_completed(*busy->executor(), 1));
    ASSERT_TRUE(testing::has_completed(*idle->executor(), 1));
    const auto share_of_idle = of_idle.load().compute_share;
    EXPECT_LT(share_of_idle, 0.5);
    EXPECT_GT(of_busy.load().compute_share, share_of_idle);
    busy->executor()->close();
    EXPECT_GE(cpu_of(busy), 50ms) << "also of threads that have left";
}

TEST(advice, measures_the_load_of_a_pool) {
    pool_registry registry;
    const auto pool = registry.create({.name = "p", .settings = {.core_pool_size = 1}});
    pool_adviser adviser(pool);
    for (int i = 0; i < 5; ++i)
        pool->executor()->submit([] { testing::take_at_least(1ms); }).wait();
    ASSERT_TRUE(testing::has_completed(*pool->executor(), 5));
    const auto load = adviser.load();
    EXPECT_GT(load.arrivals_per_second, 0);
    EXPECT_GE(load.mean_run, 1ms);
    EXPECT_EQ(adviser.load().completions_per_second, 0);  // since the last look
    thread_pool_executor bare({.core_pool_size = 1});
    const auto unwatched = registry.add("bare", bare);
    EXPECT_THROW(pool_adviser{unwatched.pool()}, std::invalid_argument);
}

TEST(pool_advisers, speak_of_pools_that_have_a_monitor_and_other_sizes_than_they_need) {
    pool_registry registry;
    const auto pool =
        registry.create({.name = "p", .settings = {.core_pool_size = 50, .maximum_pool_size = 60}});
    thread_pool_executor bare({.core_pool_size = 1});
    const auto unwatched = registry.add("bare", bare);
    detail::pool_advisers advisers;
    advisers.look(registry.pools());
    EXPECT_TRUE(advisers.advice().empty());  // nothing measured yet
    run_some(*pool, 1ms);
    advisers.look(registry.pools());
    const auto said = advisers.advice();
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].pool, pool);
    EXPECT_LT(said[0].advice.settings.core_pool_size, 50);
    EXPECT_FALSE(said[0].advice.reasons.empty());
    pool->reconfigure({.core_pool_size = said[0].advice.settings.core_pool_size,
                       .maximum_pool_size = said[0].advice.settings.maximum_pool_size},
                      {});
    EXPECT_TRUE(advisers.advice().empty());  // it has been followed
    registry.remove("p");
    advisers.look(registry.pools());
    EXPECT_TRUE(advisers.advice().empty());
}

TEST(pool_advisers, follow_the_load_from_look_to_look_in_the_first_minute) {
    pool_registry registry;
    const auto pool = registry.create({.name = "p", .settings = {.core_pool_size = 50}});
    detail::pool_advisers advisers;
    const auto start = std::chrono::steady_clock::now();
    const auto first_reason = [&] { return advisers.advice().at(0).advice.reasons.at(0); };
    advisers.look(registry.pools(), start);
    run_some(*pool, 1ms);
    advisers.look(registry.pools(), start + 2s);
    const auto early = first_reason();
    run_some(*pool, 2 * pool->monitor()->metrics().run.sum());  // so the mean is another
    advisers.look(registry.pools(), start + 4s);
    const auto later = first_reason();
    EXPECT_NE(later, early);
    advisers.look(registry.pools(), start + 1min);
    const auto of_a_minute = first_reason();
    run_some(*pool, 1ms);
    advisers.look(registry.pools(), start + 1min + 2s);
    EXPECT_EQ(first_reason(), of_a_minute);
}

TEST(pool_advisers, advise_on_a_capacity_only_where_it_can_be_set) {
    pool_registry registry;
    const auto made = [&](const char* name, queue_kind queue, pool_kind kind) {
        return registry.create(
            {.name = name,
             .kind = kind,
             .queue = queue,
             .settings = {.core_pool_size = 50, .maximum_pool_size = 60, .queue_capacity = 7}});
    };
    const auto linked = made("linked", queue_kind::linked, pool_kind::plain);
    const auto array = made("array", queue_kind::array, pool_kind::plain);
    const auto timers = made("timers", queue_kind::linked, pool_kind::scheduled);
    detail::pool_advisers advisers;
    advisers.look(registry.pools());
    for (const auto& pool : registry.pools()) run_some(*pool, 1ms);
    advisers.look(registry.pools());
    const auto advice = detail::advice_of(registry, advisers);
    ASSERT_EQ(advice.size(), 3u);
    for (const auto& one : advice) {
        const auto text = one.at("message").get<std::string>();
        const bool speaks_of_it = text.find("queue_capacity") != std::string::npos &&
                                  text.find("queued the last waits") != std::string::npos;
        EXPECT_EQ(one.at("settings").contains("queue_capacity"), one.at("pool") == "linked");
        EXPECT_EQ(speaks_of_it, one.at("pool") == "linked") << text;
    }
}

TEST(pool_advisers, take_no_task_of_a_later_time_for_one_that_waits) {
    pool_registry registry;
    const auto timers = registry.create(
        {.name = "timers", .kind = pool_kind::scheduled, .settings = {.core_pool_size = 1}});
    const testing::held_task held(*timers->executor());
    auto later = timers->scheduled_executor()->schedule([] {}, 1h);
    const detail::pool_advisers advisers;
    EXPECT_TRUE(detail::advice_of(registry, advisers).empty());
    const auto due = timers->scheduled_executor()->schedule([] {}, 0s);
    ASSERT_TRUE(testing::eventually([&] { return timers->oldest_wait() > 2ms; }));
    const auto advice = detail::advice_of(registry, advisers);
    ASSERT_EQ(advice.size(), 1u);
    const auto text = advice[0].at("message").get<std::string>();
    EXPECT_EQ(text.find("maximum_pool_size"), std::string::npos) << text;
    later.cancel();
}

TEST(pool_advisers, speak_of_rejections_only_for_a_while) {
    pool_registry registry;
    const auto pool = registry.create({.name = "p",
                                       .settings = {.core_pool_size = 1,
                                                    .maximum_pool_size = 1,
                                                    .queue_capacity = 1,
                                                    .rejection = "discard"}});
    detail::pool_advisers advisers;
    const auto start = std::chrono::steady_clock::now();
    const auto text = [&] { return detail::advice_of(registry, advisers).dump(); };
    advisers.look(registry.pools(), start);
    {
        const testing::held_tasks held(*pool->executor(), 3);
        EXPECT_THAT(text(),
                    ::testing::HasSubstr("1 task was rejected lately with all of 1 thread"));
    }
    ASSERT_TRUE(testing::has_completed(*pool->executor(), 2));
    advisers.look(registry.pools(), start + 1min);
    EXPECT_THAT(text(), ::testing::HasSubstr("rejected"));
    advisers.look(registry.pools(), start + 2min);
    EXPECT_THAT(text(), ::testing::Not(::testing::HasSubstr("rejected")));
}

TEST(pool_advisers, do_not_contradict_the_sizes_they_advise) {
    pool_registry registry;
    const auto pool = registry.create({.name = "p",
                                       .settings = {.core_pool_size = 1,
                                                    .maximum_pool_size = 1,
                                                    .queue_capacity = 1,
                                                    .rejection = "discard"}});
    detail::pool_advisers advisers;
    advisers.look(registry.pools());
    {
        const testing::held_tasks held(*pool->executor(), 100);
        ASSERT_TRUE(held.have_started(1));
        testing::take_at_least(20ms);  // for which that one does not compute
    }
    ASSERT_TRUE(testing::has_completed(*pool->executor(), 2));
    advisers.look(registry.pools());
    const auto advice = detail::advice_of(registry, advisers);
    ASSERT_EQ(advice.size(), 2u);
    EXPECT_GT(advice[0].at("settings").at("maximum_pool_size"), 1);
    EXPECT_EQ(advice[1].at("message"),
              "98 tasks were rejected lately with all of 1 thread started");
}

TEST(sizing_controller, changes_within_bounds_and_not_too_often) {
    pool_registry registry;
    const auto pool =
        registry.create({.name = "p", .settings = {.core_pool_size = 8, .maximum_pool_size = 8}});
    // On a busy machine tasks may wait for longer than is usually aimed at.
    const controller_options bounds{.bounds = {.max_threads = 8, .target_wait = 1h},
                                    .cool_down = 1h};
    sizing_controller dry(pool, bounds);
    auto doing = bounds;
    doing.dry_run = false;
    sizing_controller wet(pool, doing);
    const auto work = [&] { pool->executor()->submit([] { testing::take_at_least(2ms); }).wait(); };
    work();
    ASSERT_TRUE(testing::has_completed(*pool->executor(), 1));
    // One task at a time needs one thread or two.
    ASSERT_TRUE(dry.step().has_value());
    EXPECT_EQ(pool->settings().core_pool_size, 8);
    ASSERT_TRUE(wet.step().has_value());
    EXPECT_LT(pool->settings().core_pool_size, 4);
    EXPECT_EQ(registry.history().back().origin.source, "controller");
    pool->reconfigure({.core_pool_size = 8, .maximum_pool_size = 8});
    work();
    EXPECT_FALSE(wet.step().has_value());
}

TEST(sizing_controller, takes_no_threads_while_a_backlog_is_worked_off) {
    pool_registry registry;
    const auto pool = registry.create(
        {.name = "p",
         .settings = {.core_pool_size = 2, .maximum_pool_size = 2, .queue_capacity = 100}});
    auto& executor = *pool->executor();
    testing::held_tasks backlog(executor, 60);
    ASSERT_TRUE(backlog.have_started(2));
    sizing_controller controller(
        pool, {.bounds = {.target_wait = 1ms, .processors = 4}, .cool_down = 0s, .dry_run = false});
    executor.execute([] {});      // all that arrives from now on
    testing::take_at_least(5ms);  // so all but two of them wait for that long
    backlog.let_go();
    ASSERT_TRUE(testing::has_completed(executor, 61));
    static_cast<void>(controller.step());
    EXPECT_GE(*pool->settings().core_pool_size, 2);
}

TEST(sizing_controller, raises_the_maximum_where_the_core_is_right_and_tasks_are_rejected) {
    pool_registry registry;
    const auto pool = registry.create({.name = "p",
                                       .settings = {.core_pool_size = 1,
                                                    .maximum_pool_size = 1,
                                                    .queue_capacity = 1,
                                                    .rejection = "discard"}});
    sizing_controller controller(
        pool, {.bounds = {.target_wait = 1h, .processors = 4}, .cool_down = 0s, .dry_run = false});
    {
        const testing::held_tasks held(*pool->executor(), 3);  // of which one is rejected
    }
    ASSERT_TRUE(testing::has_completed(*pool->executor(), 2));
    ASSERT_TRUE(controller.step().has_value());
    EXPECT_GT(*pool->settings().maximum_pool_size, 1);
}

TEST(sizing_controller, goes_as_far_as_the_guard_rails_let_it) {
    pool_registry registry({.rails = {.max_step = 2}});
    const auto pool =
        registry.create({.name = "p", .settings = {.core_pool_size = 8, .maximum_pool_size = 8}});
    // However long it may wait on a busy machine.
    sizing_controller controller(
        pool, {.bounds = {.max_threads = 8, .target_wait = 1h}, .cool_down = 0s, .dry_run = false});
    pool->executor()->submit([] { testing::take_at_least(2ms); }).wait();
    ASSERT_TRUE(testing::has_completed(*pool->executor(), 1));
    ASSERT_TRUE(controller.step().has_value());
    EXPECT_EQ(pool->settings().core_pool_size, 6);
    for (const auto& record : registry.history()) EXPECT_NE(record.kind, change_kind::refused);
}

}  // namespace
}  // namespace cadre::manage
