// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/eventually.hpp"
#include "support/held_task.hpp"
#include "support/manual_executor.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"
#include <cadre/completion_service.hpp>
#include <cadre/executors.hpp>
#include <cadre/queue/array_blocking_queue.hpp>

namespace cadre::testing {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

class completion_service : public ::testing::Test {
protected:
    const std::unique_ptr<thread_pool_executor> pool = executors::fixed_thread_pool(2);
    executor_completion_service<int> service{*pool};
};

// ECS-002
TEST_F(completion_service, refuses_a_null_queue) {
    EXPECT_THROW(executor_completion_service<int>(*pool, nullptr), std::invalid_argument);
}

// ECS-003
TEST_F(completion_service, refuses_an_empty_callable) {
    EXPECT_THROW(service.submit(std::function<int()>()), std::invalid_argument);
    EXPECT_THROW(service.submit(static_cast<int (*)()>(nullptr)), std::invalid_argument);
    EXPECT_THROW(service.submit(executors::callable(std::function<void()>(), 1)),
                 std::invalid_argument);
    EXPECT_EQ(service.poll(), std::nullopt);
}

// ECS-004
TEST_F(completion_service, take_waits_for_a_completed_task) {
    held_tasks occupy_the_workers(*pool, 2);
    auto submitted = service.submit([] { return 42; });
    future<int> taken;
    waiting_call take([&] { taken = service.take(); });
    EXPECT_FALSE(take.is_over());
    occupy_the_workers.let_go();
    EXPECT_TRUE(take.returned());
    EXPECT_TRUE(taken.is_done());
    EXPECT_EQ(taken.get(), 42);
}

TEST_F(completion_service, take_is_interruptible) {
    expect_interruptible([&] { service.take(); });
    expect_interruptible([&] { service.poll_for(guard); });
}

// ECS-005
TEST_F(completion_service, take_gives_the_future_that_submit_gave) {
    const future submitted = service.submit([] { return 42; });
    future taken = service.take();
    EXPECT_EQ(taken, submitted);
    EXPECT_EQ(taken.get(), 42);
    EXPECT_FALSE(submitted.valid());
}

// ECS-006
TEST_F(completion_service, poll_is_empty_until_something_is_complete) {
    EXPECT_EQ(service.poll(), std::nullopt);
    auto submitted = service.submit([] { return 42; });
    std::optional<future<int>> polled;
    EXPECT_TRUE(eventually([&] { return (polled = service.poll()).has_value(); }));
    EXPECT_TRUE(polled->is_done());
    EXPECT_EQ(polled->get(), 42);
}

// ECS-007
TEST_F(completion_service, timed_poll_is_not_empty_early) {
    const auto waited = time_of([&] { EXPECT_EQ(service.poll_for(short_delay), std::nullopt); });
    EXPECT_GE(waited, short_delay);
    auto submitted = service.submit([] { return 42; });
    auto polled = service.poll_for(guard);
    ASSERT_TRUE(polled);
    EXPECT_EQ(polled->get(), 42);
}

// ECS-008
TEST_F(completion_service, polls_are_empty_while_the_only_task_runs) {
    gate may_end;
    gate started;
    auto submitted = service.submit([&] {
        started.open();
        may_end.wait();
        return 42;
    });
    EXPECT_TRUE(started.wait());
    EXPECT_EQ(service.poll(), std::nullopt);
    EXPECT_EQ(service.poll_for(0ns), std::nullopt);
    const auto waited = time_of([&] { EXPECT_EQ(service.poll_for(short_delay), std::nullopt); });
    EXPECT_GE(waited, short_delay);
    may_end.open();
    EXPECT_EQ(service.take().get(), 42);
}

TEST_F(completion_service, takes_extreme_timeouts) {
    EXPECT_EQ(service.poll_for(nanoseconds::min()), std::nullopt);
    EXPECT_EQ(service.poll_for(hours::min()), std::nullopt);
    auto one = service.submit([] { return 1; });
    auto two = service.submit([] { return 2; });
    EXPECT_TRUE(service.poll_for(nanoseconds::max()));
    EXPECT_TRUE(service.poll_for(hours::max()));
}

// ECS-009
TEST_F(completion_service, delivers_each_outcome_once) {
    std::vector<future<int>> submitted;
    for (int i = 0; i < 5; ++i) {
        submitted.push_back(service.submit([i] { return i; }));
        submitted.push_back(service.submit([]() -> int { throw std::out_of_range("callable"); }));
        submitted.push_back(
            service.submit(executors::callable([] { throw std::string("runnable"); }, 99)));
    }
    std::multiset<int> values;
    int failed_callables = 0;
    int failed_runnables = 0;
    for (std::size_t i = 0; i < submitted.size(); ++i) {
        future done = service.take();
        EXPECT_TRUE(done.is_done());
        try {
            values.insert(done.get());
        } catch (const std::out_of_range&) {
            ++failed_callables;
        } catch (const std::string&) {
            ++failed_runnables;
        }
    }
    EXPECT_EQ(values, (std::multiset<int>{0, 1, 2, 3, 4}));
    EXPECT_EQ(failed_callables, 5);
    EXPECT_EQ(failed_runnables, 5);
    EXPECT_EQ(service.poll(), std::nullopt);
}

// ECS-010
TEST(executor_completion_service, delivers_the_task_that_the_pools_decorator_made) {
    std::atomic<int> decorated = 0;
    thread_pool_executor pool(
        {.core_pool_size = 1, .hooks = {.decorate_task = [&](task t) {
                                  return task([&decorated, t = std::move(t)]() mutable {
                                      ++decorated;
                                      t();
                                  });
                              }}});
    executor_completion_service<int> service(pool);
    const future of_callable = service.submit([] { return 1; });
    future taken = service.take();
    EXPECT_EQ(taken, of_callable);
    EXPECT_EQ(taken.get(), 1);
    EXPECT_EQ(decorated, 1);
    const future of_runnable = service.submit(executors::callable([] {}, 2));
    taken = service.take();
    EXPECT_EQ(taken, of_runnable);
    EXPECT_EQ(taken.get(), 2);
    EXPECT_EQ(decorated, 2);
}

// ECS-011
TEST(executor_completion_service, solves_all) {
    const auto pool = executors::cached_thread_pool();
    executor_completion_service<std::unique_ptr<int>> service(*pool);
    constexpr int solvers = 20;
    for (int i = 0; i < solvers; ++i)
        static_cast<void>(
            service.submit([i] { return i % 4 == 0 ? nullptr : std::make_unique<int>(i); }));
    std::multiset<int> solutions;
    int useless = 0;
    for (int i = 0; i < solvers; ++i) {
        const auto solution = service.take().get();
        if (solution)
            solutions.insert(*solution);
        else
            ++useless;
    }
    EXPECT_EQ(useless, solvers / 4);
    EXPECT_EQ(solutions.size(), std::set<int>(solutions.begin(), solutions.end()).size());
    EXPECT_EQ(static_cast<int>(solutions.size()), solvers - useless);
    EXPECT_FALSE(service.poll());
}

// ECS-012
TEST(executor_completion_service, solves_any_and_cancels_the_rest) {
    const auto pool = executors::cached_thread_pool();
    executor_completion_service<int> service(*pool);
    std::vector<future<int>> futures;
    futures.push_back(service.submit([]() -> int { throw std::out_of_range("no solution"); }));
    futures.push_back(service.submit([] { return 42; }));
    for (int i = 0; i < 4; ++i)
        futures.push_back(service.submit([] {
            sleep_until_interrupted();
            return 1;
        }));
    std::vector<int> results;
    for (std::size_t i = 0; i < futures.size() && results.empty(); ++i) {
        future done = service.take();
        if (!done.exception()) results.push_back(done.get());
    }
    for (auto& result : futures) result.cancel(true);
    EXPECT_EQ(results, std::vector{42});
    EXPECT_TRUE(eventually([&] { return pool->active_count() == 0; }));
    EXPECT_EQ(pool->submit([] { return 7; }).get_for(guard), 7);
}

// ECS-013
TEST(executor_completion_service, loses_and_repeats_nothing_between_submitter_and_taker) {
    const auto pool = executors::fixed_thread_pool(10);
    for (int tasks = 2000; tasks <= 16000; tasks *= 2) {
        executor_completion_service<int> service(*pool);
        cadre::thread submitter([&] {
            for (int i = 0; i < tasks; ++i) static_cast<void>(service.submit([i] { return i; }));
        });
        std::vector<int> seen(static_cast<std::size_t>(tasks), 0);
        for (int i = 0; i < tasks; ++i) ++seen[static_cast<std::size_t>(service.take().get())];
        submitter.join();
        EXPECT_EQ(seen, std::vector<int>(static_cast<std::size_t>(tasks), 1));
        EXPECT_FALSE(service.poll());
    }
}

TEST(executor_completion_service, delivers_cancelled_tasks_too) {
    manual_executor queue;
    executor_completion_service<int> service(queue);
    future cancelled = service.submit([] { return 1; });
    cancelled.cancel();
    EXPECT_EQ(service.take(), cancelled);
    const future dropped = service.submit([] { return 1; });
    queue.drop_all();
    const future taken = service.take();
    EXPECT_EQ(taken, dropped);
    EXPECT_TRUE(taken.is_cancelled());
    EXPECT_FALSE(service.poll());
}

TEST(executor_completion_service, delivers_what_a_policy_discarded) {
    thread_pool_executor pool({.core_pool_size = 1,
                               .queue = std::make_unique<synchronous_queue<task>>(),
                               .rejection = discard_policy{}});
    held_task occupies_the_worker(pool);
    executor_completion_service<int> service(pool);
    const future discarded = service.submit([] { return 1; });
    const auto polled = service.poll();
    ASSERT_TRUE(polled);
    EXPECT_EQ(*polled, discarded);
    EXPECT_TRUE(polled->is_cancelled());
}

TEST(executor_completion_service, delivers_nothing_for_a_task_that_was_refused) {
    refusing_executor refuses;
    executor_completion_service<int> service(refuses);
    EXPECT_THROW(service.submit([] { return 1; }), rejected_execution);
    EXPECT_FALSE(service.poll());
}

TEST(executor_completion_service, delivers_in_the_order_of_completion) {
    manual_executor queue;
    executor_completion_service<int> service(queue);
    future first = service.submit([] { return 1; });
    future second = service.submit([] { return 2; });
    second.cancel();
    queue.run_all();
    EXPECT_EQ(service.take(), second);
    EXPECT_EQ(service.take(), first);
}

TEST(executor_completion_service, uses_the_queue_it_is_given) {
    manual_executor queue;
    auto room_for_one = std::make_unique<array_blocking_queue<future<int>>>(1);
    auto& completed = *room_for_one;
    executor_completion_service<int> service(queue, std::move(room_for_one));
    future first = service.submit([] { return 1; });
    future second = service.submit([] { return 2; });
    queue.run_all();
    EXPECT_EQ(completed.size(), 1u);
    EXPECT_EQ(service.take(), first);
    EXPECT_FALSE(service.poll());
    EXPECT_EQ(second.get(), 2);
}

TEST(executor_completion_service, may_end_before_its_tasks) {
    manual_executor queue;
    future<int> result;
    {
        executor_completion_service<int> service(queue);
        result = service.submit([] { return 42; });
    }
    queue.run_all();
    EXPECT_EQ(result.get(), 42);
}

TEST(executor_completion_service, lets_go_of_what_nobody_took) {
    const auto kept = std::make_shared<int>(1);
    inline_executor here;
    {
        executor_completion_service<std::shared_ptr<int>> service(here);
        for (int i = 0; i < 3; ++i) service.submit([=] { return kept; });
        EXPECT_TRUE(service.poll());
        EXPECT_EQ(kept.use_count(), 3);
    }
    EXPECT_EQ(kept.use_count(), 1);
}

TEST(executor_completion_service, wakes_as_many_as_there_are_results) {
    manual_executor queue;
    executor_completion_service<int> service(queue);
    std::atomic<int> sum = 0;
    const auto take = [&] { sum += service.take().get(); };
    waiting_call first(take);
    waiting_call second(take);
    for (int i = 1; i <= 2; ++i) service.submit([i] { return i; });
    queue.run_all();
    EXPECT_TRUE(first.returned());
    EXPECT_TRUE(second.returned());
    EXPECT_EQ(sum, 3);
}

TEST(executor_completion_service, is_for_results_of_void_and_references_too) {
    inline_executor here;
    executor_completion_service<void> of_void(here);
    of_void.submit([] {});
    EXPECT_NO_THROW(of_void.take().get());
    int target = 1;
    executor_completion_service<int&> of_reference(here);
    of_reference.submit([&]() -> int& { return target; });
    EXPECT_EQ(&of_reference.take().get(), &target);
}

}  // namespace
}  // namespace cadre::testing
