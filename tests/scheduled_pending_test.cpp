// SPDX-License-Identifier: Apache-2.0
//
// What a scheduled pool says of the tasks that wait in it.

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <latch>
#include <string>
#include <vector>

#include "support/scheduled_pools.hpp"
#include <cadre/cron.hpp>
#include <cadre/scheduled_thread_pool_executor.hpp>
#include <cadre/testing.hpp>

namespace cadre::testing {
namespace {

std::vector<std::string> pending_names(const scheduled_pool& pool) {
    std::vector<std::string> all;
    for (const auto& each : pool.pending()) all.push_back(each.name);
    return all;
}

TEST(scheduled_pending, shows_what_waits_and_when_the_first_to_run_first) {
    manual_clock clock;
    scheduled_pool pool(clock);
    const auto start = clock.now();
    EXPECT_TRUE(pool.pending().empty());
    const auto in = [&](auto delay, const char* name) { pool.schedule(named(name, [] {}), delay); };
    in(3h, "third");
    in(2h, "second");
    in(3h, "fourth");
    pool.schedule_at_fixed_rate(named("first", [] {}), 1h, 24h);
    pool.schedule([] {}, std::chrono::hours::max());
    const auto all = pool.pending();
    ASSERT_EQ(all.size(), 5u);
    EXPECT_EQ(pending_names(pool),
              (std::vector<std::string>{"first", "second", "third", "fourth", std::string()}));
    EXPECT_EQ(all[0].next_run, start + 1h);
    EXPECT_TRUE(all[0].is_periodic);
    EXPECT_EQ(all[1].next_run, start + 2h);
    EXPECT_FALSE(all[1].is_periodic);
    EXPECT_EQ(all[4].next_run, std::chrono::steady_clock::time_point::max());
    pool.shutdown_now();
    EXPECT_TRUE(pool.pending().empty());
}

TEST(scheduled_pending, keeps_those_of_one_time_in_the_order_in_which_they_run) {
    manual_clock clock;
    scheduled_pool pool(clock);
    std::vector<std::string> expected;
    for (int i = 0; i < 10'000; ++i) {
        expected.push_back(std::to_string(i));
        pool.schedule(named(expected.back(), [] {}), 1h);
    }
    EXPECT_EQ(pending_names(pool), expected);
}

TEST(scheduled_pending, leaves_out_what_is_cancelled_or_being_run) {
    scheduled_pool pool({.core_pool_size = 1});
    std::latch begun(1), may_end(1);
    auto running = pool.schedule_at_fixed_rate(named("running",
                                                     [&] {
                                                         begun.count_down();
                                                         may_end.wait();
                                                     }),
                                               0s, 24h);
    begun.wait();
    auto cancelled = pool.schedule(named("cancelled", [] {}), 1h);
    auto dropped = pool.submit(named("dropped", [] {}));
    auto kept = pool.schedule(named("kept", [] {}), 1h);
    cancelled.cancel();
    dropped.cancel();
    EXPECT_EQ(pool.queue().size(), 3u);
    EXPECT_EQ(pending_names(pool), std::vector<std::string>{"kept"});
    may_end.count_down();
    pool.submit([] {}).get();
    EXPECT_EQ(pending_names(pool), (std::vector<std::string>{"kept", "running"}));
}

TEST(scheduled_pending, tells_the_counters_of_a_task_whose_future_is_gone) {
    manual_clock clock;
    scheduled_pool pool({.core_pool_size = 1,
                         .hooks = {.periodic_failed = [](const task&, std::exception_ptr) {}},
                         .clock = &clock});
    pool.schedule_at_fixed_rate(
        [runs = 0]() mutable {
            if (++runs == 2) throw runs;
        },
        1s, 1s, {.on_error = on_error::keep_going});
    clock.advance(5s);
    const auto all = pool.pending();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].next_run, clock.now() + 1s);
    EXPECT_EQ(all[0].statistics.runs, 5);
    EXPECT_EQ(all[0].statistics.failures, 1);
}

TEST(scheduled_pending, follows_the_wall_clock) {
    manual_clock clock;  // at midnight, UTC
    scheduled_pool pool(clock);
    pool.schedule_cron(named("noon", [] {}), cron_expression("0 12 * * *", cron_zone::utc));
    pool.schedule(named("delayed", [] {}), 6h);
    EXPECT_EQ(pending_names(pool), (std::vector<std::string>{"delayed", "noon"}));
    clock.set_wall(clock.wall_now() + 11h);
    EXPECT_EQ(pending_names(pool), (std::vector<std::string>{"noon", "delayed"}));
    EXPECT_EQ(pool.pending().front().next_run, clock.now() + 1h);
}

}  // namespace
}  // namespace cadre::testing
