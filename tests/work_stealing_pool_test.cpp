// SPDX-License-Identifier: Apache-2.0
//
// What is peculiar to this pool; what it shares with the others is tested in contracts/.

#include <cadre/work_stealing_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/usage.hpp"
#include "support/waiting_call.hpp"
#include <cadre/executors.hpp>

namespace cadre::testing {
namespace {

bool has_completed(const work_stealing_pool& pool, std::int64_t tasks) {
    return eventually([&] { return pool.completed_task_count() >= tasks; });
}

TEST(work_stealing_pool, refuses_what_cannot_be) {
    EXPECT_THROW(work_stealing_pool({.parallelism = -1}), std::invalid_argument);
    EXPECT_EQ(message_of<std::invalid_argument>([] { work_stealing_pool({.parallelism = 0}); }),
              "parallelism (0) is not from 1 to 32767");
    EXPECT_THROW(work_stealing_pool({.parallelism = 32768}), std::invalid_argument);
    EXPECT_THROW(work_stealing_pool({.thread_factory = nullptr}), std::invalid_argument);
    EXPECT_THROW(executors::work_stealing_pool(0), std::invalid_argument);
    EXPECT_THROW(executors::work_stealing_pool(1, nullptr), std::invalid_argument);
}

TEST(work_stealing_pool, has_as_many_threads_as_processors_unless_told_otherwise) {
    EXPECT_EQ(executors::work_stealing_pool()->parallelism(), available_processors());
    const counting_factory factory;
    const auto pool = executors::work_stealing_pool(3, factory);
    EXPECT_EQ(pool->parallelism(), 3);
    EXPECT_EQ(pool->pool_size(), 0);
    held_tasks busy(*pool, 5);
    EXPECT_TRUE(busy.have_started(3));
    EXPECT_EQ(pool->pool_size(), 3);
    EXPECT_EQ(factory.asked(), 3);
}

TEST(work_stealing_pool, counts_and_tells) {
    work_stealing_pool pool({.parallelism = 2, .name = "tree"});
    EXPECT_EQ(pool.name(), "tree");
    held_tasks busy(pool, 5);
    ASSERT_TRUE(busy.have_started(2));
    EXPECT_EQ(
        pool.to_string(),
        "work_stealing_pool@tree[Running, parallelism = 2, pool size = 2, active threads = 2, "
        "queued tasks = 3, steals = 0, completed tasks = 0]");
    EXPECT_EQ(pool.queued_task_count(), 3u);
    EXPECT_EQ(pool.queued_submission_count(), 3u);
    EXPECT_EQ(pool.task_count(), 5);
    EXPECT_EQ(pool.active_count(), 2);
    busy.let_go();
    pool.close();
    EXPECT_EQ(pool.completed_task_count(), 5);
    EXPECT_EQ(pool.state(), run_state::terminated);
    const auto refusal =
        message_of<rejected_execution>([&] { pool.execute(named("leaf", [] {})); });
    EXPECT_EQ(refusal.find("task 'leaf' was rejected from work_stealing_pool@tree[Terminated"), 0u)
        << refusal;
}

TEST(work_stealing_pool, takes_the_newest_of_its_own_first_and_others_in_their_order) {
    std::string order;  // one thread
    gate submitted;
    work_stealing_pool pool({.parallelism = 1});
    pool.execute([&] {
        submitted.wait();
        for (const char c : {'a', 'b', 'c'}) pool.execute([&order, c] { order += c; });
        EXPECT_EQ(pool.queued_task_count(), 5u);
        EXPECT_EQ(pool.queued_submission_count(), 2u);
    });
    for (const char c : {'1', '2'}) pool.execute([&order, c] { order += c; });
    submitted.open();
    EXPECT_TRUE(has_completed(pool, 6));
    EXPECT_EQ(order, "cba12");
}

TEST(work_stealing_pool, an_idle_thread_steals) {
    std::thread::id thief;
    gate stolen;
    work_stealing_pool pool({.parallelism = 2});
    held_task wakes_both(pool);
    auto parent = pool.submit([&] {
        wakes_both.let_go();
        pool.execute([&] {
            thief = std::this_thread::get_id();
            stolen.open();
        });
        stolen.wait();  // runs nothing
        return std::this_thread::get_id();
    });
    EXPECT_NE(parent.get(), thief);
    EXPECT_EQ(pool.steal_count(), 1);
}

TEST(work_stealing_pool, a_task_may_wait_for_its_children_on_any_number_of_threads) {
    for (const int threads : {1, 2, 5}) {
        std::function<int(int)> fan_out;
        work_stealing_pool pool({.parallelism = threads});
        fan_out = [&](int depth) -> int {
            if (depth == 0) return 1;
            auto left = pool.submit(fan_out, depth - 1);
            auto right = pool.submit(fan_out, depth - 1);
            return left.get() + right.get();
        };
        EXPECT_EQ(pool.submit(fan_out, 9).get(), 512);
        ASSERT_TRUE(has_completed(pool, 1023));
        EXPECT_EQ(pool.completed_task_count(), 1023);
        EXPECT_EQ(pool.task_count(), 1023);
    }
}

TEST(work_stealing_pool, invoke_all_and_invoke_any_work_inside_a_pool_of_one_thread) {
    work_stealing_pool pool({.parallelism = 1});
    auto sum = pool.submit([&] {
        int total = 0;
        for (auto& part : pool.invoke_all(std::vector<std::function<int()>>(5, [] { return 2; })))
            total += part.get();
        return total + pool.invoke_any(std::vector<std::function<int()>>(3, [] { return 1; }));
    });
    EXPECT_EQ(sum.get(), 11);
}

TEST(work_stealing_pool, a_get_on_its_only_thread_runs_what_comes_from_outside_meanwhile) {
    gate waits;
    future_task<int> answer([] { return 42; });
    auto awaited = answer.get_future();
    work_stealing_pool pool({.parallelism = 1});
    auto parent = pool.submit([&] {
        waits.open();
        return awaited.get();
    });
    ASSERT_TRUE(waits.wait());
    pool.execute([&] { answer(); });
    EXPECT_EQ(parent.get(), 42);
}

TEST(work_stealing_pool, a_get_is_called_back_from_its_sleep_as_often_as_work_comes) {
    gate waits;
    future_task<int> answer([] { return 42; });
    auto awaited = answer.get_future();
    work_stealing_pool pool({.parallelism = 2});
    held_task occupies_the_other(pool);
    auto parent = pool.submit([&] {
        waits.open();
        return awaited.get();
    });
    ASSERT_TRUE(waits.wait());
    for (int i = 0; i < 100; ++i) EXPECT_EQ(pool.submit([i] { return i; }).get(), i);
    EXPECT_EQ(pool.active_count(), 2);
    answer();
    EXPECT_EQ(parent.get(), 42);
}

TEST(work_stealing_pool, a_wait_with_a_time_limit_runs_nothing) {
    work_stealing_pool pool({.parallelism = 1});
    auto parent = pool.submit([&] { return pool.submit([] {}).wait_for(short_delay); });
    EXPECT_FALSE(parent.get());
}

TEST(work_stealing_pool, an_interrupt_reaches_a_task_that_waits) {
    gate waits;
    gate over;
    bool felt = false;
    future_task<void> never([] {});
    auto awaited = never.get_future();
    work_stealing_pool pool({.parallelism = 1});
    auto parent = pool.submit([&] {
        waits.open();
        try {
            awaited.get();
        } catch (const interrupted&) {
            felt = true;
        }
        over.open();
    });
    ASSERT_TRUE(waits.wait());
    EXPECT_TRUE(parent.cancel(true));
    ASSERT_TRUE(over.wait());
    EXPECT_TRUE(felt);
}

TEST(work_stealing_pool, an_interrupt_for_a_task_that_waits_leaves_the_one_on_top_of_it_alone) {
    gate waits;
    gate on_top;
    gate may_end;
    std::atomic<bool> felt_below = false;
    std::atomic<bool> felt_on_top = false;
    future_task<void> never([] {});
    auto awaited = never.get_future();
    work_stealing_pool pool({.parallelism = 1});
    auto below = pool.submit([&] {
        waits.open();
        try {
            awaited.get();
        } catch (const interrupted&) {
            felt_below = true;
        }
    });
    ASSERT_TRUE(waits.wait());
    auto above = pool.submit([&] {
        on_top.open();
        may_end.wait();
        felt_on_top = this_thread::is_interrupted();
    });
    ASSERT_TRUE(on_top.wait());
    EXPECT_TRUE(below.cancel(true));
    may_end.open();
    above.get();
    pool.close();
    EXPECT_TRUE(felt_below);
    EXPECT_FALSE(felt_on_top);
}

TEST(work_stealing_pool, a_circle_of_waits_is_told_by_name) {
    for (const int threads : {1, 3}) {
        std::vector<std::optional<shared_future<int>>> circle(2);
        gate known;
        work_stealing_pool pool({.parallelism = threads});
        for (std::size_t i = 0; i < 2; ++i)
            circle[i] = pool.submit(named(i == 0 ? "hen" : "egg",
                                          [&, i] {
                                              known.wait();
                                              const auto next = *circle[1 - i];
                                              return next.get();
                                          }))
                            .share();
        known.open();
        for (auto& each : circle) {
            const auto message = message_of<illegal_state>([&] { each->get(); });
            EXPECT_NE(message.find("'hen'"), std::string::npos) << message;
            EXPECT_NE(message.find("'egg'"), std::string::npos) << message;
        }
    }
}

TEST(work_stealing_pool, waits_too_deep_for_the_stack_fail_and_the_pool_goes_on) {
    for (const int threads : {1, 2}) {
        std::function<int(int)> descend;
        std::atomic<bool> bottomless = true;
        work_stealing_pool pool(
            {.parallelism = threads,
             .thread_factory = named_thread_factory("small", {.stack_size = 1 << 20})});
        descend = [&](int depth) -> int {
            if (depth == 0 || !bottomless) return 0;
            auto child = pool.submit(descend, depth - 1);
            try {
                return 1 + child.get();
            } catch (const illegal_state&) {
                bottomless = false;  // the child of the deepest is left, and would begin anew
                throw;
            }
        };
        const auto message =
            message_of<illegal_state>([&] { pool.submit(descend, 1'000'000).get(); });
        EXPECT_NE(message.find("too deep"), std::string::npos) << message;
        EXPECT_EQ(pool.submit(descend, 1).get(), 0);
    }
}

// Each time the count of those who are too deep is right again, or the next wait would be refused.
TEST(work_stealing_pool, a_wait_too_deep_for_the_stack_sleeps_until_another_thread_serves_it) {
    std::function<int()> fall;
    std::function<int()> descend;
    std::atomic<bool> bottomless = true;
    std::atomic<std::thread::id> deep;
    std::atomic<int> dived = 0;
    // ThreadSanitizer keeps most of a megabyte of each stack for itself, and knows no stack of more
    // than 65,535 calls: so each dive takes up more of it than its few dozen calls would.
    const auto with_a_large_frame = [](auto f) {
        volatile char frame[8192];
        frame[0] = 0;
        const int result = f();
        return result + frame[0];  // after the call, so that the frame is still there
    };
    work_stealing_pool pool(
        {.parallelism = 2,
         .thread_factory = named_thread_factory("small", {.stack_size = 4 << 20})});
    fall = [&] {
        if (!bottomless) return 0;
        auto child = pool.submit(fall);
        try {
            return 1 + with_a_large_frame([&] { return child.get(); });
        } catch (const illegal_state&) {
            bottomless = false;  // the child of the deepest is left, and would begin anew
            throw;
        }
    };
    descend = [&] {
        if (deep.load() != std::this_thread::get_id()) return 0;
        ++dived;
        return 1 + with_a_large_frame([&] { return pool.submit(descend).get(); });
    };
    EXPECT_THROW(pool.submit(fall).get(), illegal_state);  // both are too deep
    ASSERT_TRUE(
        eventually([&] { return pool.active_count() == 0 && pool.queued_task_count() == 0; }));
    for (int round = 0; round < 3; ++round) {
        held_task other(pool);
        gate begun;
        std::optional<waiting_thread> diver;
        auto depth = pool.submit([&] {
            deep = std::this_thread::get_id();
            dived = 0;
            diver = waiting_thread::current();
            begun.open();
            return descend();
        });
        ASSERT_TRUE(begun.wait());
        ASSERT_TRUE(eventually([&] { return dived > 10 && diver->waits(); })) << "no stack left";
        other.let_go();  // its thread takes the last child, which is not deep there
        EXPECT_GT(depth.get_for(guard), 10) << round;
    }
}

TEST(work_stealing_pool, work_that_goes_on_and_on_does_not_keep_out_the_rest) {
    std::atomic<bool> over = false;
    std::function<void()> again;
    work_stealing_pool pool({.parallelism = 1});
    again = [&] {
        if (!over) pool.execute(again);
    };
    pool.execute(again);
    EXPECT_EQ(pool.submit([] { return 1; }).get(), 1);
    over = true;
}

TEST(work_stealing_pool, a_cancelled_task_is_not_run) {
    std::atomic<bool> ran = false;
    work_stealing_pool pool({.parallelism = 1});
    pool.submit([&] {
            auto child = pool.submit([&] { ran = true; });
            EXPECT_TRUE(child.cancel());
            EXPECT_THROW(child.get(), cancellation);
        })
        .get();
    pool.close();
    EXPECT_FALSE(ran);
}

TEST(work_stealing_pool, shutdown_runs_what_is_in_the_deques) {
    std::atomic<int> runs = 0;
    work_stealing_pool pool({.parallelism = 2});
    pool.submit([&] {
            for (int i = 0; i < 100; ++i) pool.execute([&] { ++runs; });
            pool.shutdown();
            EXPECT_THROW(pool.execute([] {}), rejected_execution);
        })
        .get();
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_EQ(runs, 100);
    EXPECT_EQ(pool.completed_task_count(), 101);
    EXPECT_EQ(pool.task_count(), 101);
}

TEST(work_stealing_pool, shutdown_now_returns_what_is_in_the_deques_and_outside) {
    gate filled;
    gate may_end;
    std::atomic<bool> was_interrupted = false;
    std::optional<future<void>> nested;
    std::atomic<int> runs = 0;
    work_stealing_pool pool({.parallelism = 1});
    pool.execute([&] {
        for (int i = 0; i < 4; ++i) pool.execute([&] { ++runs; });
        nested = pool.submit([&] { ++runs; });
        filled.open();
        may_end.wait();
        was_interrupted = this_thread::is_interrupted();
        EXPECT_THROW(pool.execute([] {}), rejected_execution);
    });
    ASSERT_TRUE(filled.wait());
    pool.execute([&] { ++runs; });
    {
        const auto never_ran = pool.shutdown_now();
        EXPECT_EQ(never_ran.size(), 6u);
        EXPECT_FALSE(nested->is_done());
    }
    EXPECT_TRUE(nested->is_cancelled());
    may_end.open();
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_TRUE(was_interrupted);
    EXPECT_EQ(runs, 0);
}

TEST(work_stealing_pool, a_thread_whose_task_threw_is_replaced_and_its_deque_is_not_lost) {
    std::atomic<int> told = 0;
    std::atomic<int> runs = 0;
    const counting_factory factory;
    {
        work_stealing_pool pool({.parallelism = 1,
                                 .thread_factory = factory,
                                 .hooks = {.uncaught_exception = [&](const task& t, auto&&) {
                                     if (t.name() == "thrower") ++told;
                                 }}});
        pool.execute(named("thrower", [&] {
            for (int i = 0; i < 10; ++i) pool.execute([&] { ++runs; });
            throw 42;
        }));
        ASSERT_TRUE(has_completed(pool, 11));
        EXPECT_EQ(pool.snapshot().uncaught_count, 1);
    }
    EXPECT_EQ(told, 1);
    EXPECT_EQ(runs, 10);
    EXPECT_EQ(factory.asked(), 2);
}

TEST(work_stealing_pool, the_successor_of_a_thread_has_a_deque_as_well) {
    work_stealing_pool pool({.parallelism = 1, .hooks = {.uncaught_exception = [](auto&&...) {}}});
    pool.execute([] { throw 42; });
    ASSERT_TRUE(has_completed(pool, 1));
    auto in_deques = pool.submit([&] {
        pool.execute([] {});
        return pool.queued_task_count() - pool.queued_submission_count();
    });
    EXPECT_EQ(in_deques.get(), 1u);
}

TEST(work_stealing_pool, calls_the_hooks_for_nested_tasks_too) {
    std::atomic<int> before = 0;
    std::atomic<int> after = 0;
    std::atomic<int> decorated = 0;
    gate terminated;
    {
        work_stealing_pool pool({.parallelism = 1,
                                 .hooks = {.decorate_task =
                                               [&](task t) {
                                                   ++decorated;
                                                   return t;
                                               },
                                           .before_execute = [&](auto&&...) { ++before; },
                                           .after_execute = [&](auto&&...) { ++after; },
                                           .terminated = [&] { terminated.open(); }}});
        EXPECT_EQ(pool.submit([&] { return pool.submit([] { return 1; }).get(); }).get(), 1);
    }
    EXPECT_EQ(before, 2);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(decorated, 2);
    EXPECT_TRUE(terminated.is_open());
}

TEST(work_stealing_pool, may_be_destroyed_by_its_own_task) {
    std::atomic<int> runs = 0;
    gate terminated;
    gate handed_over;
    auto pool = std::make_shared<work_stealing_pool>(work_stealing_options{
        .parallelism = 2, .hooks = {.terminated = [&] { terminated.open(); }}});
    pool->execute([&, pool]() mutable {
        handed_over.wait();
        for (int i = 0; i < 10; ++i) pool->execute([&] { ++runs; });
        pool.reset();  // the last one
        ++runs;
    });
    pool.reset();
    handed_over.open();
    EXPECT_TRUE(terminated.wait());
    EXPECT_EQ(runs, 11);
}

TEST(work_stealing_pool, a_worker_cannot_await_the_end_of_its_pool) {
    work_stealing_pool pool({.parallelism = 1});
    EXPECT_THROW(pool.submit([&] { pool.close(); }).get(), illegal_state);
    EXPECT_FALSE(pool.is_shutdown());
}

// The second task comes while the thread that was called for the first is on its way: nobody is
// called for it then, and the one that comes has to.
TEST(work_stealing_pool, two_tasks_that_come_at_once_wake_two_threads) {
    work_stealing_pool pool({.parallelism = 2});
    const auto meet = [&](auto& first, auto& second) {
        gate first_runs;
        gate second_runs;
        auto one = pool.submit([&] {
            first = waiting_thread::current();
            first_runs.open();
            return second_runs.wait();
        });
        auto other = pool.submit([&] {
            second = waiting_thread::current();
            second_runs.open();
            return first_runs.wait();
        });
        const bool met = one.get();
        return other.get() && met;
    };
    std::optional<waiting_thread> first;
    std::optional<waiting_thread> second;
    for (int round = 0; round < 20; ++round) {
        ASSERT_TRUE(meet(first, second)) << "round " << round;
        ASSERT_TRUE(eventually([&] { return first->waits() && second->waits(); }));
    }
}

TEST(work_stealing_pool, idle_threads_sleep) {
    work_stealing_pool pool({.parallelism = 64});
    {
        held_tasks all(pool, 64);
        ASSERT_TRUE(all.have_started(64));
    }
    ASSERT_TRUE(has_completed(pool, 64));
    EXPECT_TRUE(becomes_quiet(50ms, {.cpu_time = 5ms, .wake_ups = 2}));
}

}  // namespace
}  // namespace cadre::testing
