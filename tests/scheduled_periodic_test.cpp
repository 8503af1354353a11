// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/counted.hpp"
#include "support/held_task.hpp"
#include "support/scheduled_pools.hpp"
#include "support/sleeps.hpp"
#include "support/stepping_clock.hpp"
#include <cadre/scheduled_thread_pool_executor.hpp>
#include <cadre/testing.hpp>

namespace cadre::testing {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;

/// The times of `count` runs of a periodic task on a fresh pool of one thread.
template <class Start>
std::vector<steady_clock::time_point> times_of_runs(std::size_t count, Start start) {
    std::vector<steady_clock::time_point> times;
    gate enough;
    scheduled_thread_pool_executor pool(1);
    const auto run = [&] {
        if (times.size() < count) times.push_back(steady_clock::now());
        if (times.size() == count) enough.open();
    };
    auto result = start(pool, run);
    EXPECT_TRUE(enough.wait());
    result.cancel();
    pool.close();
    return times;
}

// STP-006
TEST(scheduled_periodic, eight_runs_at_a_fixed_rate_take_seven_periods) {
    with_enough_time([](nanoseconds period) {
        const auto start = steady_clock::now();
        const auto times = times_of_runs(
            8, [&](auto& pool, auto run) { return pool.schedule_at_fixed_rate(run, 0ms, period); });
        const auto all = times.back() - start;
        EXPECT_GE(all, 7 * period);
        return all <= 8 * period;
    });
}

// STP-007
TEST(scheduled_periodic, each_run_with_a_fixed_delay_starts_that_long_after_the_one_before) {
    with_enough_time([](nanoseconds delay) {
        const auto times = times_of_runs(8, [&](auto& pool, auto run) {
            return pool.schedule_with_fixed_delay(run, 0ms, delay);
        });
        bool prompt = true;
        for (std::size_t i = 1; i < times.size(); ++i) {
            EXPECT_GE(times[i] - times[i - 1], delay);
            prompt = prompt && times[i] - times[i - 1] < 2 * delay;
        }
        return prompt;
    });
}

// STP-008
TEST(scheduled_periodic, runs_do_not_overlap_however_long_they_take) {
    std::atomic<bool> inside = false;
    std::atomic<int> overlaps = 0;
    std::atomic<int> queued_meanwhile = 0;
    std::atomic<int> runs = 0;
    stepping_clock clock;
    scheduled_pool pool(clock, 4);
    pool.prestart_all_core_threads();
    const auto look = [&] { queued_meanwhile += pool.queue().empty() ? 0 : 1; };
    auto rate = pool.schedule_at_fixed_rate(
        [&] {
            if (inside.exchange(true)) ++overlaps;
            look();             // the next run would be there, and not be due yet
            clock.step(100ms);  // a thousand periods
            look();
            inside = false;
            ++runs;
        },
        0ms, 100us);
    EXPECT_TRUE(eventually([&] { return runs >= 50; }));
    rate.cancel();
    pool.close();  // a run may still be under way
    EXPECT_EQ(overlaps, 0);
    EXPECT_EQ(queued_meanwhile, 0);
}

TEST(scheduled_periodic, ten_thousand_periods_do_not_drift) {
    manual_clock clock;
    const auto start = clock.now();
    std::vector<nanoseconds> times;
    scheduled_pool pool(clock);
    const auto rate =
        pool.schedule_at_fixed_rate([&] { times.push_back(clock.now() - start); }, 1ms, 333us);
    clock.advance(1ms + 9999 * 333us);
    ASSERT_EQ(times.size(), 10000u);
    for (std::size_t i = 0; i < times.size(); ++i)
        ASSERT_EQ(times[i], 1ms + static_cast<int>(i) * 333us);
    EXPECT_EQ(*rate.next_run() - start, 1ms + 10000 * 333us);
    EXPECT_EQ(rate.statistics().runs, 10000);
}

TEST(scheduled_periodic, is_known_as_periodic) {
    manual_clock clock;
    scheduled_pool pool(clock);
    EXPECT_TRUE(pool.schedule_at_fixed_rate([] {}, 1h, 1h).is_periodic());
    EXPECT_TRUE(pool.schedule_with_fixed_delay([] {}, 1h, 1h).is_periodic());
    EXPECT_TRUE(pool.schedule_cron([] {}, cron_expression("@daily")).is_periodic());
    EXPECT_FALSE(pool.schedule([] {}, 1h).is_periodic());
    EXPECT_FALSE(pool.schedule_at([] {}, pool.wall_now() + 1h).is_periodic());
}

TEST(scheduled_periodic, tells_how_long_until_its_next_run) {
    manual_clock clock;
    scheduled_pool pool(clock);
    const auto rate = pool.schedule_at_fixed_rate([] {}, 10s, 60s);
    EXPECT_EQ(rate.delay(), 10s);
    clock.advance(15s);
    EXPECT_EQ(rate.delay(), 55s);
    EXPECT_EQ(rate.next_run(), clock.now() + 55s);
    EXPECT_FALSE(rate.is_done());
}

TEST(scheduled_periodic, throws_away_what_its_callable_returns) {
    manual_clock clock;
    scheduled_pool pool(clock);
    scheduled_future<void> rate =
        pool.schedule_at_fixed_rate([] { return std::make_unique<int>(1); }, 1h, 1h);
    clock.advance(2h);
    EXPECT_EQ(rate.statistics().runs, 2);
}

// ---- failures

/// Collects what periodic_failed is told.
class failures {
public:
    pool_hooks hooks() {
        return {.uncaught_exception = [this](const task&, auto) { ++uncaught_; },
                .periodic_failed =
                    [this](const task& t, const std::exception_ptr& error) {
                        const std::lock_guard lock(mutex_);
                        told_.push_back(std::string(t.name()) + ": " + text_of(error));
                    }};
    }
    std::vector<std::string> told() const {
        const std::lock_guard lock(mutex_);
        return told_;
    }
    int uncaught() const { return uncaught_; }

private:
    static std::string text_of(const std::exception_ptr& error) {
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& e) {
            return e.what();
        }
    }
    mutable std::mutex mutex_;  // guards told_
    std::vector<std::string> told_;
    std::atomic<int> uncaught_ = 0;
};

TEST(scheduled_periodic, stops_at_the_first_exception_which_the_future_carries_and_a_hook_is_told) {
    manual_clock clock;
    failures seen;
    scheduled_pool pool({.core_pool_size = 1, .hooks = seen.hooks(), .clock = &clock});
    int runs = 0;
    auto rate = pool.schedule_at_fixed_rate(named("beat",
                                                  [&] {
                                                      if (++runs == 3)
                                                          throw std::out_of_range("third");
                                                  }),
                                            1h, 1h);
    clock.advance(10h);
    EXPECT_EQ(runs, 3);
    EXPECT_THROW(rate.get_for(0s), std::out_of_range);
    EXPECT_EQ(rate.state(), future_state::failed);
    EXPECT_THAT(seen.told(), ElementsAre("beat: third"));
    EXPECT_EQ(seen.uncaught(), 0);
    EXPECT_EQ(rate.statistics().failures, 1);
    EXPECT_EQ(rate.next_run(), std::nullopt);
    EXPECT_TRUE(pool.queue().empty());
}

TEST(scheduled_periodic, has_counted_and_told_a_failure_before_its_future_is_complete) {
    for (const auto how : {on_error::stop, on_error::keep_going}) {
        manual_clock clock;
        scheduled_future<void> rate;
        bool was_done = true;
        task_statistics so_far;
        const auto look = [&](const task&, const std::exception_ptr&) {
            was_done = rate.is_done();
            so_far = rate.statistics();
        };
        scheduled_pool pool(
            {.core_pool_size = 1, .hooks = {.periodic_failed = look}, .clock = &clock});
        rate = pool.schedule_at_fixed_rate([] { throw std::runtime_error("no"); }, 1h, 1h,
                                           {.on_error = how});
        clock.advance(1h);
        EXPECT_FALSE(was_done);
        EXPECT_EQ(so_far.runs, 1);
        EXPECT_EQ(so_far.failures, 1);
        EXPECT_EQ(rate.is_done(), how == on_error::stop);
    }
}

TEST(scheduled_periodic, goes_on_after_exceptions_if_it_is_to) {
    manual_clock clock;
    failures seen;
    scheduled_pool pool({.core_pool_size = 1, .hooks = seen.hooks(), .clock = &clock});
    int runs = 0;
    const auto rate = pool.schedule_with_fixed_delay(
        [&] {
            if (++runs % 2 == 0) throw std::runtime_error(std::to_string(runs));
        },
        1h, 1h, {.on_error = on_error::keep_going});
    clock.advance(5h);
    EXPECT_EQ(runs, 5);
    EXPECT_FALSE(rate.is_done());
    EXPECT_THAT(seen.told(), ElementsAre(": 2", ": 4"));
    EXPECT_EQ(rate.statistics().runs, 5);
    EXPECT_EQ(rate.statistics().failures, 2);
    EXPECT_EQ(pool.largest_pool_size(), 1);
}

TEST(scheduled_periodic, goes_on_also_if_the_hook_throws) {
    manual_clock clock;
    scheduled_pool pool(
        {.core_pool_size = 1,
         .hooks = {.periodic_failed = [](const task&, auto) { throw std::logic_error("hook"); }},
         .clock = &clock});
    int runs = 0;
    const auto fails = [&] {
        ++runs;
        throw std::runtime_error("task");
    };
    ::testing::internal::CaptureStderr();
    const auto rate =
        pool.schedule_at_fixed_rate(fails, 1h, 1h, {.on_error = on_error::keep_going});
    clock.advance(2h);
    auto other = pool.schedule_at_fixed_rate(fails, 1h, 1h);
    clock.advance(2h);
    const auto said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(runs, 5);
    EXPECT_FALSE(rate.is_done());
    EXPECT_THROW(other.get(), std::runtime_error);
    EXPECT_THAT(said, ::testing::HasSubstr("hook"));
    EXPECT_EQ(pool.largest_pool_size(), 1);
}

TEST(scheduled_periodic, tells_of_a_failure_on_stderr_if_there_is_no_hook) {
    manual_clock clock;
    scheduled_pool pool(clock);
    ::testing::internal::CaptureStderr();
    auto rate = pool.schedule_at_fixed_rate(
        named("backup", [] { throw std::runtime_error("disk full"); }), 1h, 1h);
    clock.advance(1h);
    const auto said = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, ::testing::HasSubstr("backup"));
    EXPECT_THAT(said, ::testing::HasSubstr("disk full"));
    EXPECT_THROW(rate.get(), std::runtime_error);
}

TEST(scheduled_periodic, says_nothing_of_an_interrupt_by_shutdown_now) {
    for (const auto how : {on_error::stop, on_error::keep_going}) {
        scheduled_thread_pool_executor pool(1);
        auto rate = pool.schedule_at_fixed_rate([] { sleep_until_interrupted(); }, 0s, 1h,
                                                {.on_error = how});
        ASSERT_TRUE(starts(rate));
        ::testing::internal::CaptureStderr();
        pool.shutdown_now();
        EXPECT_TRUE(pool.await_termination(guard));
        EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    }
}

// ---- a task that ends itself

TEST(scheduled_periodic, may_cancel_itself) {
    manual_clock clock;
    scheduled_pool pool(clock);
    scheduled_future<void> rate;
    int runs = 0;
    const auto alive_before = counted<>::alive.load();
    rate = pool.schedule_at_fixed_rate(
        [&, captured = counted<>()] {
            if (++runs == 2) rate.cancel();
        },
        1h, 1h);
    clock.advance(5h);
    EXPECT_EQ(runs, 2);
    EXPECT_TRUE(rate.is_cancelled());
    EXPECT_TRUE(pool.queue().empty());
    EXPECT_EQ(counted<>::alive, alive_before);
}

TEST(scheduled_periodic, may_cancel_itself_with_an_interrupt_that_no_other_task_feels) {
    manual_clock clock;
    scheduled_pool pool(clock);
    scheduled_future<void> rate;
    rate = pool.schedule_at_fixed_rate([&] { rate.cancel(true); }, 1h, 1h);
    auto next = pool.schedule([] { return this_thread::is_interrupted(); }, 1h);
    clock.advance(1h);
    EXPECT_FALSE(next.get());
    EXPECT_TRUE(rate.is_cancelled());
}

TEST(scheduled_periodic, may_shut_its_pool_down) {
    manual_clock clock;
    scheduled_pool pool(clock);
    int runs = 0;
    const auto rate = pool.schedule_at_fixed_rate(
        [&] {
            ++runs;
            pool.shutdown();
        },
        1h, 1h);
    clock.advance(5h);
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_TRUE(rate.is_cancelled());
    EXPECT_TRUE(pool.queue().empty());
}

TEST(scheduled_periodic, may_stop_its_pool) {
    manual_clock clock;
    scheduled_pool pool(clock);
    std::size_t never_ran = 0;
    const auto rate =
        pool.schedule_at_fixed_rate([&] { never_ran = pool.shutdown_now().size(); }, 1h, 1h);
    const auto other = pool.schedule([] {}, 2h);
    clock.advance(5h);
    EXPECT_EQ(never_ran, 1u);
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_TRUE(rate.is_cancelled());
    EXPECT_TRUE(other.is_cancelled());
}

TEST(scheduled_periodic, may_schedule_its_successor_from_inside) {
    manual_clock clock;
    scheduled_pool pool(clock);
    std::vector<int> runs;
    scheduled_future<void> second;
    scheduled_future<void> first;
    first = pool.schedule_at_fixed_rate(
        [&] {
            runs.push_back(1);
            first.cancel();
            second = pool.schedule_at_fixed_rate([&] { runs.push_back(2); }, 30min, 1h);
        },
        1h, 1h);
    clock.advance(3h);
    EXPECT_THAT(runs, ElementsAre(1, 2, 2));
    EXPECT_EQ(second.delay(), 30min);
}

TEST(scheduled_periodic, a_one_shot_may_schedule_itself_again) {
    manual_clock clock;
    scheduled_pool pool(clock);
    int runs = 0;
    std::function<void()> again = [&] {
        if (++runs < 10) (void)pool.schedule(again, 1h);
    };
    (void)pool.schedule(again, 1h);
    clock.advance(24h);
    EXPECT_EQ(runs, 10);
    EXPECT_TRUE(pool.queue().empty());
}

TEST(scheduled_periodic, a_get_ends_when_the_task_is_cancelled) {
    manual_clock clock;
    scheduled_pool pool(clock);
    auto rate = pool.schedule_at_fixed_rate([] {}, 1h, 1h);
    (void)pool.schedule([&] { rate.cancel(); }, 90min);
    std::thread time_passes([&] { clock.advance(2h); });
    EXPECT_THROW(rate.get(), cancellation);
    time_passes.join();
    EXPECT_EQ(rate.statistics().runs, 1);
}

}  // namespace
}  // namespace cadre::testing
