// SPDX-License-Identifier: Apache-2.0
//
// Runs that take long, come late or come at times that are jittered.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "support/held_task.hpp"
#include "support/scheduled_pools.hpp"
#include "support/stepping_clock.hpp"
#include <cadre/scheduled_thread_pool_executor.hpp>
#include <cadre/testing.hpp>

namespace cadre::testing {
namespace {

using std::chrono::nanoseconds;
using ::testing::ElementsAre;

/// A pool on a clock that its tasks move, and the times of their runs, since the start.
class scheduled_lateness : public ::testing::Test {
protected:
    /// A task that notes its time and takes so long: one duration for each run, then none.
    auto taking(std::vector<nanoseconds> durations) {
        return [this, durations = std::move(durations), run = std::size_t{0}]() mutable {
            times.push_back(clock.passed());
            if (run < durations.size()) clock.step(durations[run]);
            ++run;
            noted = static_cast<int>(times.size());
        };
    }
    /// Moves on to the next run, and waits until it is over and the task is queued again.
    void step_to_run(const scheduled_future<void>& result) {
        const int before = noted;
        clock.step(result.delay());
        EXPECT_TRUE(eventually([&] { return noted > before && settled(result); }));
    }
    bool settled(const scheduled_future<void>& result) const {
        return result.next_run() && result.delay() > 0ns;
    }

    stepping_clock clock;
    std::vector<nanoseconds> times;  // of the worker, until noted says how many there are
    std::atomic<int> noted = 0;
    scheduled_pool pool{clock};
};

TEST_F(scheduled_lateness, a_late_fixed_rate_catches_up_and_is_back_on_its_times) {
    const auto rate = pool.schedule_at_fixed_rate(taking({0ms, 35ms}), 10ms, 10ms);
    step_to_run(rate);
    step_to_run(rate);  // at 20 ms until 55 ms
    EXPECT_THAT(times, ElementsAre(10ms, 20ms, 55ms, 55ms, 55ms));
    EXPECT_EQ(rate.delay(), 5ms);
}

TEST_F(scheduled_lateness, a_late_fixed_rate_leaves_runs_out_if_it_is_to) {
    const auto rate =
        pool.schedule_at_fixed_rate(taking({0ms, 35ms}), 10ms, 10ms, {.missed = missed_runs::skip});
    step_to_run(rate);
    step_to_run(rate);
    EXPECT_THAT(times, ElementsAre(10ms, 20ms));
    EXPECT_EQ(rate.delay(), 5ms);
    step_to_run(rate);
    EXPECT_THAT(times, ElementsAre(10ms, 20ms, 60ms));
}

TEST_F(scheduled_lateness, a_fixed_delay_counts_from_the_end_of_the_run) {
    const auto result = pool.schedule_with_fixed_delay(taking({0ms, 35ms}), 10ms, 10ms);
    step_to_run(result);
    step_to_run(result);
    step_to_run(result);
    EXPECT_THAT(times, ElementsAre(10ms, 20ms, 65ms));
    EXPECT_EQ(result.delay(), 10ms);
}

TEST_F(scheduled_lateness, a_process_that_was_stopped_for_long_catches_up_in_a_burst) {
    const auto rate = pool.schedule_at_fixed_rate(taking({}), 10ms, 10ms);
    step_to_run(rate);
    clock.step(2s);
    ASSERT_TRUE(eventually([&] { return noted == 201 && settled(rate); }));
    EXPECT_EQ(rate.statistics().runs, 201);
    EXPECT_EQ(rate.delay(), 10ms);
}

TEST_F(scheduled_lateness, a_process_that_was_stopped_for_long_runs_once_if_runs_are_left_out) {
    const auto rate =
        pool.schedule_at_fixed_rate(taking({}), 10ms, 10ms, {.missed = missed_runs::skip});
    step_to_run(rate);
    clock.step(2s);
    ASSERT_TRUE(eventually([&] { return noted == 2 && settled(rate); }));
    EXPECT_THAT(times, ElementsAre(10ms, 2010ms));
    EXPECT_EQ(rate.delay(), 10ms);
}

TEST_F(scheduled_lateness, a_calendar_leaves_out_what_was_missed) {
    const auto result =
        pool.schedule_cron(taking({200min}), cron_expression("@hourly", cron_zone::utc));
    step_to_run(result);  // at 1:00 until 4:20
    EXPECT_EQ(result.delay(), 40min);
    step_to_run(result);
    EXPECT_THAT(times, ElementsAre(1h, 5h));
}

TEST_F(scheduled_lateness, a_calendar_catches_up_if_it_is_to) {
    const auto result =
        pool.schedule_cron(taking({200min}), cron_expression("@hourly", cron_zone::utc),
                           {.missed = missed_runs::catch_up});
    step_to_run(result);
    EXPECT_THAT(times, ElementsAre(1h, 260min, 260min, 260min));
    EXPECT_EQ(result.delay(), 40min);
}

TEST_F(scheduled_lateness, statistics_tell_durations_and_overruns) {
    const auto rate = pool.schedule_at_fixed_rate(taking({3ms, 25ms, 10ms, 1ms, 2ms}), 10ms, 10ms);
    EXPECT_EQ(rate.statistics().runs, 0);
    step_to_run(rate);
    EXPECT_EQ(rate.statistics().last_duration, 3ms);
    EXPECT_EQ(rate.statistics().overruns, 0);
    step_to_run(rate);  // at 20 until 45, 45 until 55, 55 until 56, 58
    const auto all = rate.statistics();
    EXPECT_EQ(all.runs, 5);
    EXPECT_EQ(all.failures, 0);
    EXPECT_EQ(all.last_duration, 2ms);
    EXPECT_EQ(all.longest_duration, 25ms);
    EXPECT_EQ(all.overruns, 1);  // 10 ms is not longer than the period
}

TEST_F(scheduled_lateness, statistics_tell_how_long_a_one_shot_took) {
    auto good = pool.schedule(taking({7ms}), 10ms);
    auto bad = pool.schedule([takes = taking({9ms})]() mutable { takes(), throw 1; }, 20ms);
    auto by_wall_clock = pool.schedule_at(taking({11ms}), clock.wall_now() + 40ms);
    clock.step(10ms);
    good.get_for(guard);
    EXPECT_EQ(good.statistics().last_duration, 7ms);
    EXPECT_EQ(good.statistics().longest_duration, 7ms);
    EXPECT_EQ(bad.statistics().last_duration, 0ms);
    clock.step(3ms);
    EXPECT_THROW(bad.get_for(guard), int);
    EXPECT_EQ(bad.statistics().longest_duration, 9ms);
    clock.step(11ms);
    by_wall_clock.get_for(guard);
    EXPECT_EQ(by_wall_clock.statistics().last_duration, 11ms);
}

TEST(scheduled_statistics, of_a_task_that_runs_once) {
    manual_clock clock;
    scheduled_pool pool(clock);
    const auto good = pool.schedule([] {}, 1h);
    const auto bad = pool.schedule([] { throw 1; }, 1h);
    const auto by_wall_clock = pool.schedule_at([] {}, clock.wall_now() + 1h);
    const auto bad_by_wall_clock = pool.schedule_at([] { throw 1; }, clock.wall_now() + 1h);
    EXPECT_EQ(good.statistics().runs + by_wall_clock.statistics().runs, 0);
    clock.advance(1h);
    EXPECT_EQ(good.statistics().runs, 1);
    EXPECT_EQ(good.statistics().failures, 0);
    EXPECT_EQ(bad.statistics().runs, 1);
    EXPECT_EQ(bad.statistics().failures, 1);
    EXPECT_EQ(by_wall_clock.statistics().runs, 1);
    EXPECT_EQ(bad_by_wall_clock.statistics().failures, 1);
}

// ---- jitter

/// How far each run of a task is off its time.
std::vector<nanoseconds> offsets(int runs, nanoseconds period, nanoseconds jitter) {
    manual_clock clock;
    const auto start = clock.now();
    std::vector<nanoseconds> found;
    scheduled_pool pool(clock);
    const auto rate = pool.schedule_at_fixed_rate(
        [&, run = 0]() mutable { found.push_back(clock.now() - start - ++run * period); }, period,
        period, {.jitter = jitter});
    clock.advance(runs * period + jitter);
    return found;
}

TEST(scheduled_jitter, keeps_within_its_bounds_and_does_not_drift) {
    const auto found = offsets(1000, 1s, 100ms);
    ASSERT_EQ(found.size(), 1000u);
    nanoseconds sum = 0ns;
    int early = 0;
    for (const auto offset : found) {
        EXPECT_LE(std::chrono::abs(offset), 100ms);
        sum += offset;
        if (offset < 0ns) ++early;
    }
    EXPECT_LT(std::chrono::abs(sum) / 1000, 10ms);
    EXPECT_GT(early, 400);
    EXPECT_LT(early, 600);
}

TEST(scheduled_jitter, is_the_same_each_time_on_a_manual_clock) {
    EXPECT_EQ(offsets(100, 1s, 500ms), offsets(100, 1s, 500ms));
}

TEST(scheduled_jitter, differs_between_tasks) {
    manual_clock clock;
    scheduled_pool pool(clock);
    const auto one = pool.schedule_at_fixed_rate([] {}, 0s, 1h, {.jitter = 1min});
    const auto other = pool.schedule_at_fixed_rate([] {}, 0s, 1h, {.jitter = 1min});
    clock.advance(1s);
    EXPECT_NE(one.delay(), other.delay());
    EXPECT_NE(one.delay() + 1s, 1h);
}

}  // namespace
}  // namespace cadre::testing
