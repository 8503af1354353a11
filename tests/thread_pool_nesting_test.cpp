// SPDX-License-Identifier: Apache-2.0
#include <cadre/thread_pool_executor.hpp>
#include <cadre/work_stealing_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <ucontext.h>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

TEST(thread_pool_nesting, a_task_may_wait_for_its_child_on_a_pool_of_one_thread) {
    thread_pool_executor pool({.core_pool_size = 1});
    auto parent = pool.submit([&] {
        auto child = pool.submit([] { return std::this_thread::get_id(); });
        return child.get() == std::this_thread::get_id();
    });
    EXPECT_TRUE(parent.get());
    EXPECT_EQ(pool.largest_pool_size(), 1);
    ASSERT_TRUE(has_completed(pool, 2));
}

TEST(thread_pool_nesting, chains_of_parents_and_children_may_be_500_deep) {
    thread_pool_executor pool({.core_pool_size = 1});
    std::function<int(int)> descend = [&](int depth) -> int {
        return depth == 0 ? 0 : 1 + pool.submit(descend, depth - 1).get();
    };
    EXPECT_EQ(pool.submit(descend, 500).get(), 500);
    ASSERT_TRUE(has_completed(pool, 501));
    EXPECT_EQ(pool.largest_pool_size(), 1);
}

#if !defined(__SANITIZE_THREAD__)  // which does not follow a thread onto another stack

/// Runs a function on a stack of its own, as libraries for fibers do; returns when it has returned.
void on_another_stack(const std::function<void()>& body) {
    struct fiber {
        const std::function<void()>& body;
        std::vector<char> stack = std::vector<char>(std::size_t{256} * 1024);
        ucontext_t here = {};
        ucontext_t there = {};
        static void run(unsigned high, unsigned low) {
            auto& self = *reinterpret_cast<fiber*>(std::uintptr_t{high} << 32 | low);
            self.body();
        }
    } f{body};
    getcontext(&f.there);
    f.there.uc_stack.ss_sp = f.stack.data();
    f.there.uc_stack.ss_size = f.stack.size();
    f.there.uc_link = &f.here;
    const auto self = reinterpret_cast<std::uintptr_t>(&f);
    makecontext(&f.there, reinterpret_cast<void (*)()>(&fiber::run), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
    swapcontext(&f.here, &f.there);
}

// RE-19
TEST(thread_pool_nesting, a_task_may_wait_on_another_stack_than_that_of_its_thread) {
    thread_pool_executor pool({.core_pool_size = 1});
    work_stealing_pool stealing({.parallelism = 1});
    for (executor_service* each :
         {static_cast<executor_service*>(&pool), static_cast<executor_service*>(&stealing)}) {
        auto waiting = each->submit([&] {
            int got = 0;
            std::string error;
            on_another_stack([&] {
                try {
                    got = each->submit([] { return 7; }).get();
                } catch (const illegal_state& e) {
                    error = e.what();
                }
            });
            EXPECT_EQ(error, "");
            return got;
        });
        EXPECT_EQ(waiting.get(), 7);
    }
}

#endif

TEST(thread_pool_nesting, a_tree_of_tasks_finishes_on_any_number_of_threads) {
    for (const int threads : {1, 2, 4}) {
        thread_pool_executor pool({.core_pool_size = threads});
        std::function<int(int)> fan_out = [&](int depth) -> int {
            if (depth == 0) return 1;
            auto left = pool.submit(fan_out, depth - 1);
            auto right = pool.submit(fan_out, depth - 1);
            return left.get() + right.get();
        };
        EXPECT_EQ(pool.submit(fan_out, 8).get(), 256);
    }
}

TEST(thread_pool_nesting, runs_the_task_it_waits_for_and_no_stranger) {
    thread_pool_executor pool({.core_pool_size = 1});
    std::string order;  // one worker
    auto parent = pool.submit([&] {
        pool.execute([&] { order += "stranger "; });
        auto child = pool.submit([&] { order += "child "; });
        child.wait();
        order += "parent ";
    });
    parent.get();
    pool.close();
    EXPECT_EQ(order, "child parent stranger ");
}

TEST(thread_pool_nesting, counts_a_task_run_in_place_as_a_task_of_its_own) {
    thread_pool_executor pool({.core_pool_size = 1});
    auto seen = pool.submit([&] { return pool.submit([&] { return pool.snapshot(); }).get(); });
    const auto s = seen.get();
    EXPECT_EQ(s.active_count, 1);
    EXPECT_EQ(s.pool_size, 1);
    EXPECT_EQ(s.task_count, 2);
    EXPECT_EQ(s.completed_task_count, 0);
}

TEST(thread_pool_nesting, a_child_that_fails_in_place_fails_its_own_future_alone) {
    thread_pool_executor pool({.core_pool_size = 1});
    auto parent = pool.submit([&] {
        auto child = pool.submit([] { throw 42; });
        EXPECT_THROW(child.get(), int);
        return 1;
    });
    EXPECT_EQ(parent.get(), 1);
}

TEST(thread_pool_nesting, invoke_all_inside_a_pool_of_one_thread_finishes) {
    thread_pool_executor pool({.core_pool_size = 1});
    auto sum = pool.submit([&] {
        int total = 0;
        for (auto& part : pool.invoke_all(std::vector<std::function<int()>>(5, [] { return 2; })))
            total += part.get();
        return total;
    });
    EXPECT_EQ(sum.get(), 10);
}

TEST(thread_pool_nesting, a_timed_wait_runs_nothing_and_times_out) {
    thread_pool_executor pool({.core_pool_size = 1});
    auto parent = pool.submit([&] {
        auto child = pool.submit([] {});
        return child.wait_for(short_delay);
    });
    EXPECT_FALSE(parent.get());
}

TEST(thread_pool_nesting, a_task_that_waits_for_itself_is_told_so_by_name) {
    gate known;
    thread_pool_executor pool({.core_pool_size = 1});
    std::optional<shared_future<void>> self;
    self = pool.submit(named("narcissus",
                             [&] {
                                 known.wait();
                                 const auto mine = *self;
                                 mine.get();
                             }))
               .share();
    known.open();
    const auto message = message_of<illegal_state>([&] { self->get(); });
    EXPECT_NE(message.find("'narcissus'"), std::string::npos) << message;
}

TEST(thread_pool_nesting, a_circle_of_tasks_is_told_so_by_name) {
    for (const int threads : {1, 3}) {
        thread_pool_executor pool({.core_pool_size = threads});
        std::vector<std::optional<shared_future<int>>> circle(3);
        gate known;
        const char* const names[] = {"rock", "paper", "scissors"};
        for (std::size_t i = 0; i < 3; ++i)
            circle[i] = pool.submit(named(names[i],
                                          [&, i] {
                                              known.wait();
                                              const auto next = *circle[(i + 1) % 3];
                                              return next.get();
                                          }))
                            .share();
        known.open();
        for (auto& each : circle) {
            const auto message = message_of<illegal_state>([&] { each->get(); });
            int named_in_it = 0;
            for (const auto* name : names)
                if (message.find(name) != std::string::npos) ++named_in_it;
            // Tasks that run one inside the other on one thread stand there as one.
            EXPECT_GE(named_in_it, threads == 1 ? 2 : 3) << message;
        }
    }
}

TEST(thread_pool_nesting, a_task_may_shut_its_pool_down) {
    for (const bool at_once : {false, true}) {
        thread_pool_executor pool({.core_pool_size = 2});
        std::vector<future<void>> all;
        gate both_are_there;
        for (int i = 0; i < 2; ++i)
            all.push_back(pool.submit([&] {
                both_are_there.wait();
                if (at_once)
                    pool.shutdown_now();
                else
                    pool.shutdown();
            }));
        both_are_there.open();
        EXPECT_TRUE(pool.await_termination(guard));
        for (auto& each : all) EXPECT_TRUE(each.is_done());
    }
}

// The continuation comes to the only worker's queue while that worker waits for it.
TEST(thread_pool_nesting, a_task_runs_the_continuation_it_waits_for_when_that_is_queued) {
    thread_pool_executor pool({.core_pool_size = 1});
    future_task<int> source([] { return 1; });
    auto after = source.get_future().then(pool, [](int i) { return i + 1; });
    std::optional<waiting_thread> waiter;
    gate known;
    auto outer = pool.submit([&] {
        waiter = waiting_thread::current();
        known.open();
        return after.get();
    });
    ASSERT_TRUE(known.wait());
    ASSERT_TRUE(eventually([&] { return waiter->waits(); }));
    source();
    EXPECT_TRUE(outer.wait_for(guard));
    pool.shutdown_now();  // ends a wait that nobody else would
    EXPECT_EQ(outer.get(), 2);
}

TEST(thread_pool_nesting, a_task_may_invoke_any_on_its_own_pool_of_one_thread) {
    thread_pool_executor pool({.core_pool_size = 1});
    auto outer = pool.submit([&] { return pool.invoke_any(std::vector(3, [] { return 42; })); });
    EXPECT_TRUE(outer.wait_for(guard));
    pool.shutdown_now();  // ends a wait that nobody else would
    EXPECT_EQ(outer.get(), 42);
}

// As long as its source runs elsewhere, the worker does not look whether anything has come.
TEST(thread_pool_nesting, a_task_runs_the_continuation_it_waits_for_when_its_source_has_run) {
    gate started;
    gate let_go;
    thread_pool_executor elsewhere({.core_pool_size = 1});
    thread_pool_executor pool({.core_pool_size = 1});
    future source = elsewhere.submit([&] {
        started.open();
        let_go.wait();
        return 1;
    });
    ASSERT_TRUE(started.wait());
    auto after = std::move(source).then(pool, [](int i) { return i + 1; });
    std::optional<waiting_thread> waiter;
    gate known;
    auto outer = pool.submit([&] {
        waiter = waiting_thread::current();
        known.open();
        return after.get();
    });
    ASSERT_TRUE(known.wait());
    ASSERT_TRUE(eventually([&] { return waiter->waits(); }));
    let_go.open();
    EXPECT_TRUE(outer.wait_for(guard));
    pool.shutdown_now();  // ends a wait that nobody else would
    EXPECT_EQ(outer.get(), 2);
}

TEST(thread_pool_nesting, a_task_may_wait_for_one_that_comes_to_its_pool_later) {
    thread_pool_executor pool({.core_pool_size = 1});
    future_task<int> later([] { return 1; });
    auto result = later.get_future();
    std::optional<waiting_thread> waiter;
    gate known;
    auto outer = pool.submit([&] {
        waiter = waiting_thread::current();
        known.open();
        return result.get();
    });
    ASSERT_TRUE(known.wait());
    ASSERT_TRUE(eventually([&] { return waiter->waits(); }));
    pool.execute(std::move(later));
    EXPECT_TRUE(outer.wait_for(guard));
    pool.shutdown_now();  // ends a wait that nobody else would
    EXPECT_EQ(outer.get(), 1);
}

// The interrupt comes before the worker, which is called for the result, has looked.
TEST(thread_pool_nesting, a_result_that_is_there_beats_an_interrupt) {
    thread_pool_executor pool({.core_pool_size = 1});
    for (int i = 0; i < 100; ++i) {
        future_task<int> awaited([] { return 1; });
        auto result = awaited.get_future();
        std::optional<waiting_thread> waiter;
        std::optional<thread_handle> worker;
        gate known;
        auto outer = pool.submit([&] {
            waiter = waiting_thread::current();
            worker = thread_handle::current();
            known.open();
            return result.get();
        });
        ASSERT_TRUE(known.wait());
        ASSERT_TRUE(eventually([&] { return waiter->waits(); }));
        awaited();
        worker->interrupt();
        EXPECT_EQ(outer.get(), 1);
    }
}

TEST(thread_pool_nesting, a_wait_that_was_given_up_closes_no_circle) {
    thread_pool_executor pool({.core_pool_size = 2});
    shared_future<void> first;
    future_task<void> second([&] { first.wait(); });
    const auto second_is_done = second.get_future().share();
    std::optional<thread_handle> gives_up;
    std::optional<waiting_thread> waits_first;
    gate known;
    gate gave_up;
    gate may_end;
    first = pool.submit([&] {
                    gives_up = thread_handle::current();
                    waits_first = waiting_thread::current();
                    known.open();
                    EXPECT_THROW(second_is_done.wait(), interrupted);
                    gave_up.open();
                    may_end.wait();
                })
                .share();
    ASSERT_TRUE(known.wait());
    EXPECT_TRUE(eventually([&] { return waits_first->waits(); }));
    gives_up->interrupt();
    ASSERT_TRUE(gave_up.wait());
    std::optional<waiting_thread> waiter;
    gate begun;
    auto runs_it = pool.submit([&] {
        waiter = waiting_thread::current();
        begun.open();
        second();
    });
    ASSERT_TRUE(begun.wait());
    EXPECT_TRUE(eventually([&] { return second_is_done.is_done() || waiter->waits(); }));
    may_end.open();
    runs_it.get();
    EXPECT_NO_THROW(second_is_done.get());
}

TEST(thread_pool_nesting, shutdown_now_from_a_task_interrupts_that_task_too) {
    thread_pool_executor pool({.core_pool_size = 1});
    auto interrupted_itself = pool.submit([&] {
        pool.shutdown_now();
        return this_thread::interrupted();
    });
    EXPECT_TRUE(interrupted_itself.get());
    EXPECT_TRUE(pool.await_termination(guard));
}

TEST(thread_pool_nesting, a_task_may_resize_its_pool) {
    gate may_end;
    std::atomic<int> together = 0;
    thread_pool_executor pool(1, 1, 1h, any_room());
    pool.submit([&] { pool.resize(4, 4); }).get();
    for (int i = 0; i < 4; ++i)
        pool.execute([&] {
            ++together;
            may_end.wait();
        });
    EXPECT_TRUE(eventually([&] { return together == 4; }));
    may_end.open();
    pool.submit([&] { pool.resize(0, 1); }).get();
    EXPECT_TRUE(has_threads(pool, 1));
}

TEST(thread_pool_nesting, close_on_a_worker_is_an_error_and_changes_nothing) {
    thread_pool_executor pool({.core_pool_size = 1});
    EXPECT_THROW(pool.submit([&] { pool.close(); }).get(), illegal_state);
    EXPECT_FALSE(pool.is_shutdown());
}

TEST(thread_pool_nesting, a_worker_cannot_await_the_end_of_its_pool) {
    thread_pool_executor pool({.core_pool_size = 1});
    EXPECT_THROW(
        pool.submit([&] { pool.await_termination(std::chrono::nanoseconds::max()); }).get(),
        illegal_state);
    EXPECT_FALSE(pool.submit([&] {
                         pool.shutdown();
                         return pool.await_termination(short_delay);
                     })
                     .get());
    EXPECT_TRUE(pool.await_termination(guard));
}

TEST(thread_pool_nesting, a_worker_may_await_the_end_of_another_pool) {
    thread_pool_executor pool({.core_pool_size = 1});
    auto sum = pool.submit([] {
        std::atomic<int> total = 0;
        {
            thread_pool_executor inner({.core_pool_size = 2});
            for (int i = 1; i <= 10; ++i) inner.execute([&total, i] { total += i; });
            inner.close();
        }
        return total.load();
    });
    EXPECT_EQ(sum.get(), 55);
}

TEST(thread_pool_nesting, a_pool_destroyed_by_its_own_task_finishes_its_work) {
    std::atomic<int> runs = 0;
    gate terminated;
    gate handed_over;
    auto pool = std::make_shared<thread_pool_executor>(thread_pool_options{
        .core_pool_size = 2, .hooks = {.terminated = [&] { terminated.open(); }}});
    pool->execute([&, pool]() mutable {
        handed_over.wait();
        pool.reset();  // the last one
        ++runs;
    });
    for (int i = 0; i < 10; ++i) pool->execute([&] { ++runs; });
    pool.reset();
    handed_over.open();
    EXPECT_TRUE(terminated.wait());
    EXPECT_EQ(runs, 11);
}

TEST(thread_pool_nesting, a_pool_may_die_with_the_captures_of_its_last_task) {
    gate terminated;
    gate handed_over;
    auto pool = std::make_shared<thread_pool_executor>(thread_pool_options{
        .core_pool_size = 1, .hooks = {.terminated = [&] { terminated.open(); }}});
    pool->execute([&handed_over, pool] { handed_over.wait(); });
    pool.reset();
    handed_over.open();
    EXPECT_TRUE(terminated.wait());
}

TEST(thread_pool_nesting, captures_are_gone_when_get_returns) {
    thread_pool_executor pool({.core_pool_size = 2});
    for (int i = 0; i < 1000; ++i) {
        auto capture = std::make_shared<int>(i);
        const std::weak_ptr<int> alive = capture;
        EXPECT_EQ(pool.submit([capture = std::move(capture)] { return *capture; }).get(), i);
        ASSERT_TRUE(alive.expired());
    }
}

TEST(thread_pool_nesting, an_idle_pool_holds_on_to_no_task) {
    thread_pool_executor pool({.core_pool_size = 1});
    auto capture = std::make_shared<int>(0);
    const std::weak_ptr<int> alive = capture;
    pool.execute([capture = std::move(capture)] {});
    ASSERT_TRUE(has_completed(pool, 1));
    EXPECT_TRUE(alive.expired());
}

TEST(thread_pool_nesting, an_interrupt_that_was_handled_does_not_come_back_after_a_nested_task) {
    gate entered;
    gate over;
    thread_pool_executor pool({.core_pool_size = 1});
    bool came_back = false;
    auto outer = pool.submit([&] {
        entered.open();
        try {
            sleep_until_interrupted();
        } catch (const interrupted&) {}
        pool.submit([] {}).get();  // a task that cleans up
        came_back = this_thread::is_interrupted();
        over.open();
    });
    ASSERT_TRUE(entered.wait());
    EXPECT_TRUE(outer.cancel(true));
    ASSERT_TRUE(over.wait());
    EXPECT_FALSE(came_back);
}

}  // namespace
}  // namespace cadre::testing
