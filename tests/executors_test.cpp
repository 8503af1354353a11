// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/eventually.hpp"
#include "support/held_task.hpp"
#include "support/pools.hpp"
#include <cadre/executors.hpp>

namespace cadre::testing {
namespace {

/// Expects that a service runs what it is given, and ends.
void expect_runs_tasks(executor_service& service) {
    EXPECT_EQ(service.submit([] { return 42; }).get_for(guard), 42);
    std::atomic<bool> ran = false;
    service.execute([&] { ran = true; });
    service.shutdown();
    EXPECT_TRUE(service.await_termination(guard));
    EXPECT_TRUE(ran);
}

// EXE-001
TEST(cached_thread_pool, runs_tasks_with_and_without_a_factory) {
    expect_runs_tasks(*executors::cached_thread_pool());
    const counting_factory factory;
    expect_runs_tasks(*executors::cached_thread_pool(factory));
    EXPECT_GE(factory.asked(), 1);
}

// EXE-002
TEST(cached_thread_pool, never_queues) {
    constexpr int tasks = 10;
    std::barrier all_have_a_thread(tasks);
    const auto pool = executors::cached_thread_pool();
    for (int i = 0; i < tasks; ++i) pool->execute([&] { all_have_a_thread.arrive_and_wait(); });
    pool->shutdown();
    EXPECT_TRUE(pool->await_termination(guard));
    EXPECT_EQ(pool->largest_pool_size(), tasks);
    EXPECT_EQ(pool->completed_task_count(), tasks);
}

TEST(cached_thread_pool, uses_an_idle_thread_again) {
    const auto pool = executors::cached_thread_pool();
    EXPECT_TRUE(eventually([&] {
        const int before = pool->largest_pool_size();
        pool->submit([] {}).get();
        return pool->largest_pool_size() == before;
    }));
    EXPECT_EQ(pool->core_pool_size(), 0);
    EXPECT_EQ(pool->keep_alive(), 60s);
}

// EXE-003
TEST(cached_thread_pool, refuses_an_empty_factory) {
    EXPECT_THROW(executors::cached_thread_pool(nullptr), std::invalid_argument);
}

// EXE-004
TEST(single_thread_executor, runs_tasks_with_and_without_a_factory) {
    expect_runs_tasks(*executors::single_thread_executor());
    const counting_factory factory;
    expect_runs_tasks(*executors::single_thread_executor(factory));
    EXPECT_EQ(factory.asked(), 1);
}

// EXE-005
TEST(single_thread_executor, refuses_an_empty_factory) {
    EXPECT_THROW(executors::single_thread_executor(nullptr), std::invalid_argument);
}

// EXE-006
TEST(single_thread_executor, cannot_be_cast_to_a_pool) {
    const auto service = executors::single_thread_executor();
    EXPECT_EQ(dynamic_cast<thread_pool_executor*>(service.get()), nullptr);
}

TEST(single_thread_executor, keeps_the_order_also_over_failures) {
    const counting_factory factory;
    std::vector<int> order;
    {
        const auto service =
            executors::unconfigurable(std::make_unique<thread_pool_executor>(thread_pool_options{
                .core_pool_size = 1,
                .thread_factory = factory,
                .hooks = {.uncaught_exception = [](const task&, std::exception_ptr) {}}}));
        for (int i = 0; i < 100; ++i)
            service->execute([&, i] {
                order.push_back(i);
                if (i % 10 == 0) throw i;
            });
    }
    std::vector<int> expected;
    for (int i = 0; i < 100; ++i) expected.push_back(i);
    EXPECT_EQ(order, expected);
    EXPECT_GT(factory.asked(), 1);
}

// EXE-007
TEST(fixed_thread_pool, runs_tasks_with_and_without_a_factory) {
    expect_runs_tasks(*executors::fixed_thread_pool(2));
    const counting_factory factory;
    expect_runs_tasks(*executors::fixed_thread_pool(2, factory));
    EXPECT_EQ(factory.asked(), 2);
}

// EXE-008
TEST(fixed_thread_pool, refuses_an_empty_factory) {
    EXPECT_THROW(executors::fixed_thread_pool(2, nullptr), std::invalid_argument);
}

// EXE-009
TEST(fixed_thread_pool, refuses_a_thread_count_that_is_not_positive) {
    for (const int threads : {0, -1, std::numeric_limits<int>::min()}) {
        EXPECT_THROW(executors::fixed_thread_pool(threads), std::invalid_argument) << threads;
        EXPECT_THROW(executors::fixed_thread_pool(threads, counting_factory()),
                     std::invalid_argument);
    }
    EXPECT_NE(message_of<std::invalid_argument>([] {
                  executors::fixed_thread_pool(-3);
              }).find("threads (-3)"),
              std::string::npos);
}

TEST(fixed_thread_pool, takes_the_largest_count_that_a_pool_can_have) {
    constexpr int most = (1 << 29) - 1;
    EXPECT_EQ(executors::fixed_thread_pool(most)->core_pool_size(), most);
}

// EXE-010
TEST(unconfigurable, passes_execution_and_shutdown_on) {
    auto pool = executors::fixed_thread_pool(2);
    thread_pool_executor& inner = *pool;
    const auto outer = executors::unconfigurable(std::move(pool));
    EXPECT_EQ(outer->submit([] { return 42; }).get(), 42);
    EXPECT_EQ(inner.task_count(), 1);
    EXPECT_FALSE(outer->is_shutdown());
    outer->shutdown();
    EXPECT_TRUE(inner.is_shutdown());
    EXPECT_TRUE(outer->is_shutdown());
    EXPECT_TRUE(outer->await_termination(guard));
    EXPECT_TRUE(inner.is_terminated());
    EXPECT_TRUE(outer->is_terminated());
}

TEST(unconfigurable, hands_back_what_never_ran) {
    const auto service = executors::unconfigurable(executors::fixed_thread_pool(1));
    held_task occupies_the_worker(*service);
    future queued = service->submit([] {});
    auto left = service->shutdown_now();
    EXPECT_EQ(left.size(), 1u);
    EXPECT_FALSE(queued.is_done());
    left.clear();
    EXPECT_TRUE(queued.is_cancelled());
}

// EXE-011
TEST(unconfigurable, refuses_to_wrap_nothing) {
    EXPECT_THROW(executors::unconfigurable(std::unique_ptr<executor_service>()),
                 std::invalid_argument);
    EXPECT_THROW(executors::unconfigurable(std::unique_ptr<scheduled_executor_service>()),
                 std::invalid_argument);
}

/// One of each kind.
std::vector<std::unique_ptr<executor_service>> one_of_each() {
    std::vector<std::unique_ptr<executor_service>> all;
    all.push_back(executors::single_thread_executor());
    all.push_back(executors::cached_thread_pool());
    all.push_back(executors::fixed_thread_pool(2));
    all.push_back(executors::unconfigurable(executors::fixed_thread_pool(2)));
    all.push_back(executors::scheduled_thread_pool(2));
    all.push_back(executors::single_thread_scheduled_executor());
    return all;
}

// EXE-016
TEST(executors, make_what_can_be_shut_down_unused) {
    for (const auto& service : one_of_each()) {
        EXPECT_TRUE(service->shutdown_now().empty());
        EXPECT_TRUE(service->is_shutdown());
        EXPECT_TRUE(service->is_terminated());
    }
}

// EXE-017
TEST(executors, make_what_times_out_not_early_on_a_task_that_runs_too_long) {
    for (const auto& service : one_of_each()) {
        gate may_end;
        future result = service->submit([&] { may_end.wait(); });
        const auto waited = time_of([&] { EXPECT_THROW(result.get_for(short_delay), timeout); });
        EXPECT_GE(waited, short_delay);
        EXPECT_FALSE(result.is_done());
        may_end.open();
        result.get();
    }
}

/// The names that a factory gives to its first threads.
std::vector<std::string> names_from(const thread_factory& factory, int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
        thread made = factory([] {});
        names.push_back(made.handle().name());
        made.join();
    }
    return names;
}

// EXE-018
TEST(default_thread_factory, names_threads_by_pool_and_thread) {
    const auto names = names_from(default_thread_factory(), 3);
    const auto dash = names[0].find("-thread-");
    ASSERT_NE(dash, std::string::npos) << names[0];
    const std::string prefix = names[0].substr(0, dash);
    EXPECT_EQ(prefix.rfind("pool-", 0), 0u);
    EXPECT_GT(std::stoi(prefix.substr(5)), 0);
    for (int m = 1; m <= 3; ++m)
        EXPECT_EQ(names[static_cast<std::size_t>(m - 1)], prefix + "-thread-" + std::to_string(m));
    const auto other = names_from(default_thread_factory(), 1);
    EXPECT_NE(other[0], names[0]);
    EXPECT_EQ(other[0].substr(other[0].find("-thread-")), "-thread-1");
}

TEST(default_thread_factory, goes_on_counting_in_a_copy) {
    const thread_factory factory = default_thread_factory();
    const thread_factory copy = factory;
    const auto first = names_from(factory, 1)[0];
    const auto second = names_from(copy, 1)[0];
    EXPECT_EQ(first.back(), '1');
    EXPECT_EQ(second.back(), '2');
}

TEST(named_thread_factory, names_threads_by_its_prefix) {
    EXPECT_EQ(names_from(named_thread_factory("orders"), 2),
              (std::vector<std::string>{"orders-1", "orders-2"}));
}

// EXE-019
TEST(callable, runs_what_it_was_given_and_returns_the_value) {
    int runs = 0;
    auto unit = executors::callable([&] { ++runs; });
    EXPECT_EQ(unit(), std::monostate());
    EXPECT_EQ(runs, 1);
    auto with_value = executors::callable([&] { ++runs; }, std::string("text"));
    EXPECT_EQ(with_value(), "text");
    EXPECT_EQ(runs, 2);
}

// EXE-020
TEST(callable, refuses_an_empty_function_when_it_is_made) {
    const std::function<void()> empty;
    EXPECT_THROW(executors::callable(empty), std::invalid_argument);
    EXPECT_THROW(executors::callable(empty, 1), std::invalid_argument);
    EXPECT_THROW(executors::callable(static_cast<void (*)()>(nullptr), 1), std::invalid_argument);
}

TEST(executors, refuse_to_wrap_no_service) {
    EXPECT_THROW((void)executors::unconfigurable(nullptr), std::invalid_argument);
}

TEST(executors, bring_the_completion_service) {
    thread_pool_executor pool({.core_pool_size = 1});
    executor_completion_service<int> done(pool);
    done.submit([] { return 42; });
    EXPECT_EQ(done.take().get(), 42);
}

}  // namespace
}  // namespace cadre::testing
