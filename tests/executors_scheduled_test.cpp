// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <stdexcept>

#include "support/eventually.hpp"
#include "support/pools.hpp"
#include <cadre/executors.hpp>

namespace cadre::testing {
namespace {

/// Expects that a service runs a delayed callable, not early.
void expect_runs_delayed_callables(scheduled_executor_service& service) {
    for (const bool timed : {false, true}) {
        const auto start = std::chrono::steady_clock::now();
        auto result = service.schedule([] { return 42; }, 50ms);
        EXPECT_FALSE(result.is_done() && std::chrono::steady_clock::now() - start < 50ms);
        EXPECT_EQ(timed ? result.get_for(guard) : result.get(), 42);
        EXPECT_GE(std::chrono::steady_clock::now() - start, 50ms);
        EXPECT_TRUE(result.is_done());
        EXPECT_FALSE(result.is_cancelled());
    }
}

// EXE-012
TEST(single_thread_scheduled_executor, runs_a_delayed_callable) {
    expect_runs_delayed_callables(*executors::single_thread_scheduled_executor());
    const counting_factory factory;
    expect_runs_delayed_callables(*executors::single_thread_scheduled_executor(factory));
    EXPECT_EQ(factory.asked(), 1);
}

TEST(single_thread_scheduled_executor, cannot_be_reconfigured_not_even_by_a_cast) {
    const auto service = executors::single_thread_scheduled_executor();
    EXPECT_EQ(dynamic_cast<scheduled_thread_pool_executor*>(service.get()), nullptr);
}

// EXE-013
TEST(scheduled_thread_pool, runs_a_delayed_callable) {
    const auto pool = executors::scheduled_thread_pool(2);
    expect_runs_delayed_callables(*pool);
    EXPECT_EQ(pool->core_pool_size(), 2);
    const counting_factory factory;
    expect_runs_delayed_callables(*executors::scheduled_thread_pool(2, factory));
    EXPECT_GE(factory.asked(), 1);
}

// EXE-014
TEST(unconfigurable_scheduled, runs_a_delayed_callable) {
    const auto service = executors::unconfigurable(executors::scheduled_thread_pool(2));
    expect_runs_delayed_callables(*service);
    EXPECT_EQ(dynamic_cast<scheduled_thread_pool_executor*>(service.get()), nullptr);
}

// EXE-014
TEST(unconfigurable_scheduled, passes_on_everything_a_scheduler_can_do) {
    const auto service = executors::unconfigurable(executors::scheduled_thread_pool(1));
    std::atomic<int> runs = 0;
    auto rate = service->schedule_at_fixed_rate([&] { ++runs; }, 0ms, 1ms);
    auto with_delay = service->schedule_with_fixed_delay([&] { ++runs; }, 0ms, 1ms);
    auto at = service->schedule_at([] { return 1; }, service->now() + 1ms);
    auto at_wall = service->schedule_at([] { return 2; }, service->wall_now() + 1ms);
    const auto daily = service->schedule_cron([] {}, cron_expression("@daily"));
    EXPECT_EQ(at.get_for(guard) + at_wall.get_for(guard), 3);
    EXPECT_TRUE(eventually([&] { return runs >= 4; }));
    EXPECT_TRUE(daily.next_run().has_value());
    EXPECT_GE(service->shutdown_now().size(), 1u);
    EXPECT_TRUE(service->await_termination(guard));
    EXPECT_TRUE(service->is_terminated());
}

// EXE-015
TEST(scheduled_thread_pool, accepts_zero_and_refuses_a_negative_size_or_an_empty_factory) {
    EXPECT_EQ(executors::scheduled_thread_pool(0)->submit([] { return 1; }).get(), 1);
    EXPECT_THROW(executors::scheduled_thread_pool(-1), std::invalid_argument);
    EXPECT_THROW(executors::scheduled_thread_pool(-1, default_thread_factory()),
                 std::invalid_argument);
    EXPECT_THROW(executors::scheduled_thread_pool(1, nullptr), std::invalid_argument);
    EXPECT_THROW(executors::scheduled_thread_pool(0, nullptr), std::invalid_argument);
}

// EXE-015
TEST(single_thread_scheduled_executor, refuses_an_empty_factory) {
    EXPECT_THROW(executors::single_thread_scheduled_executor(nullptr), std::invalid_argument);
}

TEST(scheduled_thread_pool_executor, made_of_empty_braces_has_the_defaults) {
    scheduled_thread_pool_executor pool({});
    EXPECT_EQ(pool.core_pool_size(), available_processors());
    EXPECT_EQ(scheduled_thread_pool_executor(3).core_pool_size(), 3);
    EXPECT_EQ(scheduled_thread_pool_executor(std::size_t{3}).core_pool_size(), 3);
}

TEST(scheduled_thread_pool_executor, can_be_made_of_the_options_of_any_pool) {
    int terminated = 0;
    {
        thread_pool_options options{.core_pool_size = 2,
                                    .maximum_pool_size = 4,
                                    .keep_alive = 3s,
                                    .thread_factory = named_thread_factory("tick"),
                                    .rejection = discard_policy{},
                                    .allow_core_thread_time_out = true,
                                    .hooks = {.terminated = [&] { ++terminated; }},
                                    .remove_on_cancel = true,
                                    .name = "timers"};
        scheduled_thread_pool_executor pool(std::move(options));
        EXPECT_EQ(pool.core_pool_size(), 2);
        EXPECT_EQ(pool.maximum_pool_size(), 4);
        EXPECT_EQ(pool.keep_alive(), 3s);
        EXPECT_TRUE(pool.allows_core_thread_time_out());
        EXPECT_TRUE(pool.remove_on_cancel_policy());
        EXPECT_EQ(pool.name(), "timers");
        EXPECT_NE(pool.rejected_execution_handler().target<discard_policy>(), nullptr);
        EXPECT_EQ(pool.schedule([] { return thread_handle::current().name(); }, 1ms).get(),
                  "tick-1");
    }
    EXPECT_EQ(terminated, 1);
    EXPECT_EQ(scheduled_thread_pool_executor(thread_pool_options{}).maximum_pool_size(),
              std::numeric_limits<int>::max());
}

TEST(scheduled_thread_pool_executor, refuses_a_queue_and_sizes_that_cannot_be) {
    using pool = scheduled_thread_pool_executor;
    using options = thread_pool_options;
    EXPECT_THROW(pool(options{.queue = std::make_unique<linked_blocking_queue<task>>()}),
                 std::invalid_argument);
    EXPECT_THROW(pool(options{.core_pool_size = -1}), std::invalid_argument);
    EXPECT_THROW(pool(options{.core_pool_size = 2, .maximum_pool_size = 1}), std::invalid_argument);
    EXPECT_THROW(pool(options{.maximum_pool_size = -1}), std::invalid_argument);
}

}  // namespace
}  // namespace cadre::testing
