// SPDX-License-Identifier: Apache-2.0
//
// Tasks by the time of day: once, and by calendar.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/scheduled_pools.hpp"
#include "support/waiting_call.hpp"
#include "support/zone_scope.hpp"
#include <cadre/scheduled_thread_pool_executor.hpp>
#include <cadre/testing.hpp>

namespace cadre::testing {
namespace {

using std::chrono::sys_days;
using std::chrono::system_clock;
using std::chrono::year;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(scheduled_wall_clock, a_task_runs_when_the_wall_clock_shows_its_time) {
    manual_clock clock;
    scheduled_pool pool(clock);
    auto result = pool.schedule_at([] { return 1; }, clock.wall_now() + 1h);
    EXPECT_EQ(result.delay(), 1h);
    clock.advance(1h - 1ns);
    EXPECT_FALSE(result.is_done());
    clock.advance(1ns);
    EXPECT_EQ(result.get_for(0s), 1);
}

TEST(scheduled_wall_clock, a_time_that_has_passed_is_due_at_once) {
    manual_clock clock;
    scheduled_pool pool(clock);
    auto result = pool.schedule_at([] {}, clock.wall_now() - 24h);
    clock.advance(0s);
    EXPECT_TRUE(result.is_done());
}

TEST(scheduled_wall_clock, times_that_have_passed_are_overdue_and_come_in_their_order) {
    manual_clock clock;
    const auto start = clock.wall_now();
    std::vector<int> order;
    scheduled_pool pool(clock);
    held_task occupies_the_worker(pool);
    const auto later = pool.schedule_at([&] { order.push_back(2); }, start - 1h);
    const auto now = pool.schedule([&] { order.push_back(3); }, 0s);
    const auto earlier = pool.schedule_at([&] { order.push_back(1); }, start - 2h);
    EXPECT_EQ(later.delay(), -1h);
    EXPECT_EQ(earlier.delay(), -2h);
    occupies_the_worker.let_go();
    clock.advance(0s);
    EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(scheduled_wall_clock, tasks_that_one_jump_passes_come_in_the_order_of_their_times) {
    manual_clock clock;
    const auto start = clock.wall_now();
    std::vector<int> order;
    scheduled_pool pool(clock);
    const auto later = pool.schedule_at([&] { order.push_back(2); }, start + 2h);
    const auto earlier = pool.schedule_at([&] { order.push_back(1); }, start + 1h);
    clock.set_wall(start + 3h);
    EXPECT_THAT(order, ElementsAre(1, 2));
}

/// The system's clock, save that the time of day can be set; as there, nobody is told.
class settable_clock final : public scheduler_clock {
public:
    std::chrono::steady_clock::time_point now() const override {
        return std::chrono::steady_clock::now();
    }
    system_clock::time_point wall_now() const override {
        ++looks_;
        return system_clock::now() + ahead_.load();
    }
    /// How often it was asked for the time of day.
    int looks() const { return looks_; }
    std::chrono::steady_clock::time_point real_time_of(
        std::chrono::steady_clock::time_point t) const override {
        return t;
    }
    void subscribe(clock_listener&) override {}
    void unsubscribe(clock_listener&) override {}
    void set_ahead(std::chrono::nanoseconds d) { ahead_ = d; }

private:
    std::atomic<std::chrono::nanoseconds> ahead_ = std::chrono::nanoseconds::zero();
    mutable std::atomic<int> looks_ = 0;
};

TEST(scheduled_wall_clock, is_looked_at_for_a_task_behind_one_that_is_waited_for_already) {
    settable_clock clock;
    scheduled_pool pool({.core_pool_size = 1,
                         .thread_factory = [](const std::function<void()>&) { return thread(); },
                         .clock = &clock});
    const auto first = pool.schedule([] {}, 1h);
    waiting_call taker([&] { pool.queue().take()(); });
    const auto second = pool.schedule_at([] {}, clock.wall_now() + 2h);
    clock.set_ahead(3h);
    EXPECT_TRUE(taker.returned());
    EXPECT_EQ(second.state(), future_state::success);
}

TEST(scheduled_wall_clock, is_looked_at_no_more_when_nothing_follows_it) {
    settable_clock clock;
    scheduled_pool pool({.core_pool_size = 1, .remove_on_cancel = true, .clock = &clock});
    const auto delayed = pool.schedule([] {}, 1h);
    auto cancelled = pool.schedule_at([] {}, clock.wall_now() + 2h);
    auto removed = pool.schedule_at([] {}, clock.wall_now() + 2h);
    cancelled.cancel();
    EXPECT_TRUE(pool.remove(removed));
    const int looks = clock.looks();
    EXPECT_TRUE(delayed.next_run());
    EXPECT_EQ(clock.looks(), looks);
}

/// Two clocks that stand still, each at the time that it is told.
class two_clocks final : public scheduler_clock {
public:
    std::chrono::steady_clock::time_point now() const override { return steady; }
    system_clock::time_point wall_now() const override { return wall; }
    std::chrono::steady_clock::time_point real_time_of(
        std::chrono::steady_clock::time_point) const override {
        return std::chrono::steady_clock::time_point::max();
    }
    void subscribe(clock_listener&) override {}
    void unsubscribe(clock_listener&) override {}

    std::chrono::steady_clock::time_point steady{1h};
    system_clock::time_point wall{1h};
};

TEST(scheduled_wall_clock, a_task_does_not_run_early_by_however_little_the_clock_was_set_back) {
    two_clocks clock;
    scheduled_pool pool({.core_pool_size = 1,
                         .thread_factory = [](const std::function<void()>&) { return thread(); },
                         .clock = &clock});
    const auto result = pool.schedule_at([] {}, clock.wall + 1h);
    clock.steady += 1h;
    clock.wall += 1h - 500us;
    EXPECT_FALSE(pool.queue().poll());
    EXPECT_EQ(result.delay(), 500us);
    clock.steady += 500us;
    clock.wall += 500us;
    EXPECT_TRUE(pool.queue().poll());
}

TEST(scheduled_wall_clock, a_clock_set_forwards_brings_tasks_near_or_makes_them_due) {
    manual_clock clock;
    const auto start = clock.wall_now();
    scheduled_pool pool(clock);
    const auto soon = pool.schedule_at([] {}, start + 1h);
    const auto late = pool.schedule_at([] {}, start + 3h);
    clock.set_wall(start + 2h);
    EXPECT_TRUE(soon.is_done());
    EXPECT_FALSE(late.is_done());
    EXPECT_EQ(late.delay(), 1h);
    clock.advance(1h);
    EXPECT_TRUE(late.is_done());
}

TEST(scheduled_wall_clock, a_clock_set_backwards_puts_tasks_off) {
    manual_clock clock;
    const auto start = clock.wall_now();
    scheduled_pool pool(clock);
    const auto result = pool.schedule_at([] {}, start + 1h);
    clock.set_wall(start - 5h);
    EXPECT_EQ(result.delay(), 6h);
    clock.advance(6h - 1ns);
    EXPECT_FALSE(result.is_done());
    clock.advance(1ns);
    EXPECT_TRUE(result.is_done());
}

TEST(scheduled_wall_clock, a_clock_that_tells_when_it_is_set_is_followed_to_the_nanosecond) {
    manual_clock clock;
    const auto time = clock.wall_now() + 1h;
    scheduled_pool pool(clock);
    const auto result = pool.schedule_at([] {}, time);
    clock.set_wall(time - 1ns);
    EXPECT_FALSE(result.is_done());
    clock.set_wall(time - 1us);
    EXPECT_EQ(result.delay(), 1us);
    clock.set_wall(time);
    EXPECT_TRUE(result.is_done());
}

TEST(scheduled_wall_clock, delays_take_no_notice_of_it) {
    manual_clock clock;
    const auto start = clock.wall_now();
    std::vector<int> order;
    scheduled_pool pool(clock);
    const auto delayed = pool.schedule([&] { order.push_back(2); }, 2h);
    const auto rate = pool.schedule_at_fixed_rate([&] { order.push_back(1); }, 90min, 24h);
    const auto by_wall_clock = pool.schedule_at([&] { order.push_back(0); }, start + 3h);
    for (const auto days : {1, -400, 20}) {
        clock.set_wall(start - 24h * std::abs(days));
        EXPECT_EQ(delayed.delay(), 2h);
        EXPECT_EQ(rate.delay(), 90min);
        EXPECT_TRUE(order.empty());
    }
    clock.set_wall(start + 2h);  // and now the order changes
    clock.advance(2h);
    EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST(scheduled_wall_clock, keeps_the_order_of_many_when_the_clock_is_set) {
    manual_clock clock;
    const auto start = clock.wall_now();
    std::vector<int> order;
    scheduled_pool pool(clock);
    for (int i = 999; i >= 0; --i)
        (void)pool.schedule_at([&order, i] { order.push_back(i); },
                               start + 48h + std::chrono::seconds(i));
    clock.set_wall(start + 24h);
    clock.set_wall(start - 24h);
    clock.advance(96h);
    ASSERT_EQ(order.size(), 1000u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(scheduled_wall_clock, a_task_runs_on_the_system_clock_too) {
    scheduled_thread_pool_executor pool(1);
    const auto time = system_clock::now() + 20ms;
    pool.schedule_at([] {}, time).get_for(guard);
    EXPECT_GE(system_clock::now(), time - 1ms);  // the clocks may move against each other
}

// ---- calendars

std::vector<system_clock::time_point> searched(const cron_expression& cron,
                                               system_clock::time_point from,
                                               system_clock::time_point to) {
    std::vector<system_clock::time_point> all;
    for (auto next = cron.next_after(from); next && *next <= to; next = cron.next_after(*next))
        all.push_back(*next);
    return all;
}

void expect_ten_years_as_searched(const cron_expression& cron) {
    const auto start = sys_days(year(2020) / 1 / 1);
    const auto end = sys_days(year(2030) / 1 / 1);
    manual_clock clock(start);
    std::vector<system_clock::time_point> runs;
    scheduled_pool pool(clock);
    const auto result = pool.schedule_cron([&] { runs.push_back(clock.wall_now()); }, cron);
    clock.advance_to(end);
    EXPECT_EQ(runs, searched(cron, start, end)) << cron.text();
    EXPECT_GT(runs.size(), 1u);
    EXPECT_EQ(result.statistics().runs, static_cast<std::int64_t>(runs.size()));
    EXPECT_FALSE(result.is_done());
}

const std::vector<std::string> calendars = {"30 2 * * *",    "0 6 * * mon-fri", "0 0 29 2 *",
                                            "0 12 13 * fri", "0 */6 * * *",     "@monthly"};

TEST(scheduled_calendar, plays_ten_years_in_utc) {
    for (const auto& text : calendars)
        expect_ten_years_as_searched(cron_expression(text, cron_zone::utc));
}

TEST(scheduled_calendar, plays_ten_years_in_a_zone_with_daylight_saving) {
    const zone_scope zone("Europe/Berlin");
    for (const auto& text : calendars) expect_ten_years_as_searched(cron_expression(text));
}

TEST(scheduled_calendar, runs_once_for_a_time_that_daylight_saving_skips_or_repeats) {
    const zone_scope zone("Europe/Berlin");
    manual_clock clock(sys_days(year(2026) / 1 / 1));
    int runs = 0;
    scheduled_pool pool(clock);
    (void)pool.schedule_cron([&] { ++runs; }, cron_expression("30 2 * * *"));
    clock.advance_to(sys_days(year(2027) / 1 / 1));
    EXPECT_EQ(runs, 365);
}

TEST(scheduled_calendar, follows_the_wall_clock_when_it_is_set) {
    manual_clock clock;
    const auto start = clock.wall_now();
    std::vector<std::chrono::nanoseconds> runs;
    scheduled_pool pool(clock);
    const auto hourly = pool.schedule_cron([&] { runs.push_back(clock.wall_now() - start); },
                                           cron_expression("@hourly", cron_zone::utc));
    clock.advance(1h);
    clock.set_wall(start + 10h + 30min);  // what was missed is one run
    clock.advance(30min);
    EXPECT_THAT(runs, ElementsAre(1h, 10h + 30min, 11h));
    clock.set_wall(start + 10h + 50min);  // no run is doubled
    clock.advance(70min);
    EXPECT_THAT(runs, ElementsAre(1h, 10h + 30min, 11h, 12h));
    EXPECT_EQ(hourly.delay(), 1h);
}

TEST(scheduled_calendar, refuses_what_is_no_calendar_or_has_no_time) {
    manual_clock clock;
    scheduled_pool pool(clock);
    const auto refusal = [&](const char* text) {
        return message_of<std::invalid_argument>(
            [&] { (void)pool.schedule_cron([] {}, cron_expression(text)); });
    };
    EXPECT_THAT(refusal("0 24 * * *"), HasSubstr("character 3"));
    EXPECT_THAT(refusal("@sometimes"), HasSubstr("^"));
    EXPECT_THAT(refusal(""), HasSubstr("refused"));
    EXPECT_THAT(refusal("0 0 30 2 *"), HasSubstr("'0 0 30 2 *' has no next time"));
    EXPECT_EQ(pool.task_count(), 0);
}

TEST(scheduled_calendar, stops_and_goes_on_after_exceptions_as_any_periodic_task) {
    manual_clock clock;
    scheduled_pool pool({.core_pool_size = 1,
                         .hooks = {.periodic_failed = [](const task&, auto) {}},
                         .clock = &clock});
    const auto fails = [] { throw std::runtime_error("no"); };
    const cron_expression hourly("@hourly", cron_zone::utc);
    auto stops = pool.schedule_cron(fails, hourly);
    const auto goes_on = pool.schedule_cron(fails, hourly, {.on_error = on_error::keep_going});
    clock.advance(3h);
    EXPECT_THROW(stops.get_for(0s), std::runtime_error);
    EXPECT_EQ(stops.statistics().runs, 1);
    EXPECT_EQ(goes_on.statistics().failures, 3);
}

}  // namespace
}  // namespace cadre::testing
