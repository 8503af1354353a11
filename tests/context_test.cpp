// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/allocations.hpp"
#include "support/held_task.hpp"
#include "support/manual_executor.hpp"
#include "support/pools.hpp"
#include "support/scheduled_pools.hpp"
#include <cadre/awaitable_queue.hpp>
#include <cadre/context.hpp>
#include <cadre/executors.hpp>
#include <cadre/parallel.hpp>
#include <cadre/strand.hpp>
#include <cadre/task_group.hpp>
#include <cadre/testing.hpp>

namespace cadre::testing {
namespace {

thread_local std::string trace_id;
thread_local int depth = 0;

auto carry_trace_id() {
    return carry_context([] { return trace_id; }, [](std::string id) { trace_id = std::move(id); });
}

/// Sets the trace id of this thread until the end of the scope.
struct traced {
    explicit traced(std::string id) { trace_id = std::move(id); }
    ~traced() { trace_id.clear(); }
};

/// Has a thread of its own for each task, which knows nothing of contexts. Joins them at its end.
class thread_each : public executor {
public:
    void execute(task t) override { threads_.emplace_back(std::move(t)); }

private:
    std::vector<std::jthread> threads_;
};

TEST(context, goes_with_a_task_and_not_with_the_thread) {
    const auto pool = executors::fixed_thread_pool(1);
    pool->submit([] { trace_id = "the worker's own"; }).get();
    const auto carried = carry_trace_id();
    const traced here("request 1");
    EXPECT_EQ(pool->submit([] { return trace_id; }).get(), "request 1");
    trace_id.clear();
    EXPECT_EQ(pool->submit([] { return trace_id; }).get(), "");
    EXPECT_EQ(trace_id, "");
}

// EX-18
TEST(context, is_no_longer_carried_when_memory_is_short) {
    const auto pool = executors::fixed_thread_pool(1);
    pool->submit([] {}).get();
    const traced here("request 3");
    {
        const auto stays = carry_context([] { return depth; }, [](int d) { depth = d; });
        auto first = std::make_unique<context_registration>(carry_trace_id());
        auto second = std::make_unique<context_registration>(carry_trace_id());
        const failing_allocation_scope no_memory(0);
        first.reset();
        second.reset();
    }
    EXPECT_EQ(pool->submit([] { return trace_id; }).get(), "");
}

TEST(context, is_put_back_when_the_task_is_over_or_throws) {
    manual_executor queue;
    strand lane(queue);
    const auto carried = carry_trace_id();
    {
        const traced here("request 2");
        lane.execute([] { trace_id = "changed by the task"; });
        lane.execute([] { throw std::out_of_range("no such page"); });
    }
    const traced here("of this thread");
    queue.run_one();
    EXPECT_EQ(trace_id, "of this thread");
    EXPECT_THROW(queue.run_one(), std::out_of_range);
    EXPECT_EQ(trace_id, "of this thread");
}

TEST(context, is_inherited_by_the_tasks_of_a_task) {
    const auto pool = executors::fixed_thread_pool(2);
    const auto carried = carry_trace_id();
    const traced here("request 3");
    auto inner = pool->submit([&] { return pool->submit([] { return trace_id; }); });
    EXPECT_EQ(inner.get().get(), "request 3");
}

TEST(context, may_be_of_several_kinds) {
    const auto pool = executors::fixed_thread_pool(1);
    const auto carried = carry_trace_id();
    const auto depths = carry_context([] { return depth; }, [](int d) { depth = d; });
    const traced here("request 4");
    depth = 7;
    EXPECT_EQ(pool->submit([] { return trace_id + " " + std::to_string(depth); }).get(),
              "request 4 7");
    depth = 0;
}

TEST(context, goes_with_scheduled_tasks_each_time_they_run) {
    manual_clock clock;
    scheduled_pool timers(clock);
    const auto carried = carry_trace_id();
    std::vector<std::string> seen;
    future<std::string> once;
    {
        const traced here("request 5");
        once = timers.schedule([] { return trace_id; }, 1s);
        timers.schedule_at_fixed_rate([&] { seen.push_back(std::exchange(trace_id, "x")); }, 1s,
                                      1s);
    }
    clock.advance(2s);
    EXPECT_EQ(once.get(), "request 5");
    EXPECT_EQ(seen, (std::vector<std::string>{"request 5", "request 5"}));
}

TEST(context, goes_with_each_task_of_a_strand) {
    std::vector<std::string> seen;
    const auto carried = carry_trace_id();
    {
        const auto pool = executors::fixed_thread_pool(2);
        strand lane(*pool);
        for (int i = 0; i < 100; ++i) {
            const traced here(std::to_string(i));
            lane.execute([&] { seen.push_back(trace_id); });
        }
    }
    ASSERT_EQ(seen.size(), 100u);
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(seen[i], std::to_string(i));
}

TEST(context, goes_with_a_loop_to_the_threads_of_any_executor) {
    std::array<std::string, 2> seen;
    const auto carried = carry_trace_id();
    const traced here("request 6");
    {
        thread_each runs;
        std::latch both(2);
        parallel_for(runs, seen,
                     [&](std::string& each) {
                         both.arrive_and_wait();
                         each = trace_id;
                     },
                     {.chunk = 1, .concurrency = 2});
    }
    EXPECT_EQ(seen[0], "request 6");
    EXPECT_EQ(seen[1], "request 6");
}

TEST(context, goes_with_a_child_that_the_group_runs_itself) {
    refusing_executor refuses;
    const auto carried = carry_trace_id();
    const traced here("request 7");
    task_group group(refuses);
    auto child = group.submit([] { return trace_id; });
    trace_id = "of who waits";
    group.wait();
    EXPECT_EQ(child.get(), "request 7");
    EXPECT_EQ(trace_id, "of who waits");
}

/// Runs it under another trace id than its submitter's.
void run_as_another(future_task<int>& task) {
    std::thread([&] {
        trace_id = "another";
        task();
        EXPECT_EQ(trace_id, "another");
    }).join();
}

TEST(context, goes_from_then_to_the_continuation) {
    const auto pool = executors::fixed_thread_pool(1);
    const auto carried = carry_trace_id();
    const traced here("request 8");
    future_task first([] { return 1; });
    future_task second([] { return 1; });
    auto there = first.get_future().then(*pool, [](int) { return trace_id; });
    auto inline_there = second.get_future().then([](int) { return trace_id; });
    trace_id.clear();
    run_as_another(first);
    run_as_another(second);
    EXPECT_EQ(there.get(), "request 8");
    EXPECT_EQ(inline_there.get(), "request 8");
}

future<std::string> id_after(future<int> awaited) {
    co_await std::move(awaited);
    co_return trace_id;
}
future<std::string> id_after_take(awaitable_queue<int>& queue, executor& where) {
    co_await queue.async_take(where);
    co_return trace_id;
}

TEST(context, stays_with_a_coroutine_that_waits) {
    const auto pool = executors::fixed_thread_pool(1);
    const auto carried = carry_trace_id();
    awaitable_queue<int> queue;
    future_task task([] { return 1; });
    const traced here("request 9");
    auto after_future = id_after(task.get_future());
    auto after_take = id_after_take(queue, *pool);
    trace_id = "of the producer";
    queue.put(1);
    run_as_another(task);
    EXPECT_EQ(after_future.get(), "request 9");
    EXPECT_EQ(after_take.get(), "request 9");
    EXPECT_EQ(trace_id, "of the producer");
}

TEST(context, fails_the_task_when_it_cannot_be_set) {
    const auto pool = executors::fixed_thread_pool(1);
    const auto timers = executors::scheduled_thread_pool(1);
    const auto carried =
        carry_context([] { return 1; }, [](int) { throw std::out_of_range("no"); });
    EXPECT_THROW(pool->submit([] { return 1; }).get(), std::out_of_range);
    EXPECT_THROW(strand(*pool).submit([] { return 1; }).get(), std::out_of_range);
    EXPECT_THROW(timers->submit([] { return 1; }).get(), cancellation);
}

TEST(context, is_put_back_when_another_cannot_be_set) {
    manual_executor queue;
    const auto carried = carry_trace_id();
    const auto fails =
        carry_context([] { return depth; }, [](int) { throw std::runtime_error("no context"); });
    {
        const traced here("request 5");
        queue.execute(detail::with_context(task([] { ADD_FAILURE() << "it ran"; })));
    }
    EXPECT_THROW(queue.run_one(), std::runtime_error);
    EXPECT_EQ(trace_id, "");
}

TEST(context, fails_a_group_when_it_cannot_be_set_for_a_child) {
    const auto pool = executors::fixed_thread_pool(1);
    const auto carried =
        carry_context([] { return 1; }, [](int) { throw std::out_of_range("no"); });
    task_group group(*pool);
    group.submit([] {});
    EXPECT_THROW(group.wait(), std::out_of_range);
}

TEST(context, loses_no_coroutine_and_no_element_when_it_cannot_be_set) {
    const auto after_schedule = [](executor& where) -> future<int> {
        co_await where.schedule();
        co_return 1;
    };
    const auto after_take = [](awaitable_queue<int>& from, executor& where) -> future<int> {
        co_return *co_await from.async_take(where);
    };
    const auto after_future = [](future<int> awaited) -> future<int> {
        co_return co_await std::move(awaited);
    };
    const auto pool = executors::fixed_thread_pool(1);
    manual_executor queued;
    awaitable_queue<int> queue;
    future_task source([] { return 42; });
    const auto carried =
        carry_context([] { return 1; }, [](int) { throw std::out_of_range("no"); });
    auto waits_for_source = after_future(source.get_future());
    auto scheduled = after_schedule(queued);
    auto taken = after_take(queue, queued);
    queue.put(7);
    ::testing::internal::CaptureStderr();
    source();
    queued.run_all();
    EXPECT_THROW(after_schedule(*pool).get(), cancellation);  // the pool could not set it either
    const std::string told = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(told.find("uncaught in a carried context: no"), std::string::npos) << told;
    EXPECT_EQ(waits_for_source.get(), 42);
    EXPECT_THROW(scheduled.get(), std::out_of_range);
    EXPECT_THROW(taken.get(), std::out_of_range);
    EXPECT_EQ(queue.poll(), 7);
}

TEST(context, leaves_names_cancellation_and_waiting_in_place_as_they_are) {
    const auto carried = carry_trace_id();
    thread_pool_executor pool({.core_pool_size = 1, .remove_on_cancel = true});
    auto in_place = pool.submit([&] { return pool.submit([] { return 42; }).get(); });
    EXPECT_EQ(in_place.get(), 42);

    const held_task occupies_the_worker(pool);
    auto queued = pool.submit(named("wanted", [] {}));
    std::string name;
    pool.queue().for_each([&](const task& t) { name = t.name(); });
    EXPECT_EQ(name, "wanted");
    queued.cancel();
    EXPECT_TRUE(pool.queue().empty());
}

TEST(context, is_carried_until_its_registration_ends) {
    EXPECT_FALSE(detail::is_context_carried());
    const auto pool = executors::fixed_thread_pool(1);
    const traced here("request 6");
    {
        auto first = carry_trace_id();
        auto moved = std::move(first);
        EXPECT_TRUE(detail::is_context_carried());
    }
    EXPECT_FALSE(detail::is_context_carried());
    EXPECT_EQ(pool->submit([] { return trace_id; }).get(), "");
}

TEST(context, tells_the_submitter_when_it_cannot_be_captured) {
    const auto pool = executors::fixed_thread_pool(1);
    const auto carried =
        carry_context([]() -> int { throw std::out_of_range("no context"); }, [](int) {});
    EXPECT_THROW(pool->execute([] {}), std::out_of_range);
    EXPECT_EQ(pool->task_count(), 0);
}

}  // namespace
}  // namespace cadre::testing
