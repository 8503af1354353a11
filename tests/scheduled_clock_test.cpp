// SPDX-License-Identifier: Apache-2.0
//
// A clock of the user's own that throws.

#include <cadre/scheduled_thread_pool_executor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "support/eventually.hpp"

namespace cadre::testing {
namespace {

struct clock_failure : std::runtime_error {
    clock_failure() : std::runtime_error("the clock failed") {}
};

/// Real time, as long as it is to be had.
class failing_clock final : public scheduler_clock {
public:
    std::atomic<bool> fails = false;

    std::chrono::steady_clock::time_point now() const override {
        if (fails) throw clock_failure();
        return std::chrono::steady_clock::now();
    }
    std::chrono::system_clock::time_point wall_now() const override {
        if (fails) throw clock_failure();
        return std::chrono::system_clock::now();
    }
    std::chrono::steady_clock::time_point real_time_of(
        std::chrono::steady_clock::time_point t) const override {
        return t;
    }
    void subscribe(clock_listener&) override {}
    void unsubscribe(clock_listener&) override {}
};

TEST(scheduled_clock, that_throws_in_a_run_does_no_harm_to_its_result) {
    failing_clock clock;
    scheduled_thread_pool_executor pool({.core_pool_size = 1, .clock = &clock});
    auto begun = pool.schedule(
        [&] {
            clock.fails = true;
            return 1;
        },
        0ns);
    EXPECT_EQ(begun.get_for(guard), 1);
    clock.fails = false;
    EXPECT_EQ(begun.statistics().runs, 1);
    EXPECT_EQ(begun.statistics().last_duration, 0ns);
    EXPECT_EQ(pool.submit([] { return 2; }).get_for(guard), 2) << "the pool goes on";
}

TEST(scheduled_clock, that_throws_before_a_run_does_not_keep_it_from_running) {
    failing_clock clock;
    scheduled_pool_options options = {.core_pool_size = 1, .clock = &clock};
    options.hooks.before_execute = [&](const thread_handle&, const task&) { clock.fails = true; };
    options.hooks.after_execute = [&](const task&, const std::exception_ptr&) {
        clock.fails = false;
    };
    scheduled_thread_pool_executor pool(std::move(options));
    auto ran = pool.schedule([] { return 1; }, 0ns);
    EXPECT_EQ(ran.get_for(guard), 1);
    EXPECT_EQ(ran.statistics().last_duration, 0ns);
}

TEST(scheduled_clock, that_throws_after_a_run_stops_a_periodic_task_and_the_hook_is_told) {
    failing_clock clock;
    std::atomic<int> told = 0;
    scheduled_pool_options options = {.core_pool_size = 1, .clock = &clock};
    options.hooks.periodic_failed = [&](const task&, const std::exception_ptr&) { ++told; };
    scheduled_thread_pool_executor pool(std::move(options));
    int runs = 0;
    auto beat = pool.schedule_with_fixed_delay([&] { clock.fails = ++runs == 2; }, 0ns, 1us);
    EXPECT_THROW(beat.get_for(guard), clock_failure);
    clock.fails = false;
    EXPECT_TRUE(eventually([&] { return told == 1; }));
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(pool.submit([] { return 2; }).get_for(guard), 2) << "the pool goes on";
}

TEST(scheduled_clock, that_throws_in_a_run_is_asked_again_for_the_next_one) {
    failing_clock clock;
    scheduled_pool_options options = {.core_pool_size = 1, .clock = &clock};
    options.hooks.decorate_task = [&](task t) {
        return task([&clock, t = std::move(t)]() mutable {
            t();
            clock.fails = false;
        });
    };
    scheduled_thread_pool_executor pool(std::move(options));
    std::atomic<int> runs = 0;
    auto beat = pool.schedule_with_fixed_delay(
        [&] {
            ++runs;
            clock.fails = true;
        },
        0ns, 1us);
    EXPECT_TRUE(eventually([&] { return runs >= 3; }));
    EXPECT_FALSE(beat.is_done());
    beat.cancel();
}

TEST(scheduled_clock, that_throws_does_not_keep_a_pool_from_its_end) {
    failing_clock clock;
    std::optional<scheduled_future<void>> far;
    {
        scheduled_pool_options options = {.core_pool_size = 1, .clock = &clock};
        options.execute_existing_delayed_tasks_after_shutdown = false;
        options.hooks.uncaught_exception = [](const task&, const std::exception_ptr&) {};
        scheduled_thread_pool_executor pool(std::move(options));
        far = pool.schedule([] {}, 1h);
        (void)pool.schedule_at([] {}, std::chrono::system_clock::now() + 1h);
        clock.fails = true;
    }
    EXPECT_TRUE(far->is_cancelled());
}

}  // namespace
}  // namespace cadre::testing
