// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "support/held_task.hpp"
#include "support/manual_executor.hpp"
#include "support/pools.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"
#include <cadre/executors.hpp>
#include <cadre/strand.hpp>
#include <cadre/task_group.hpp>

namespace cadre::testing {
namespace {

TEST(task_group, waits_for_every_child) {
    std::atomic<int> done = 0;
    const auto pool = executors::fixed_thread_pool(2);
    task_group group(*pool);
    for (int i = 0; i < 200; ++i) group.submit([&] { ++done; });
    group.wait();
    EXPECT_EQ(done, 200);
    group.submit([&] { ++done; });  // it can be used again
    group.wait();
    EXPECT_EQ(done, 201);
    EXPECT_FALSE(group.is_stopped());
}

TEST(task_group, gives_results) {
    const auto pool = executors::fixed_thread_pool(2);
    task_group group(*pool);
    auto number = group.submit([] { return 42; });
    auto text = group.submit([] { return std::make_unique<std::string>("text"); });
    group.wait();
    EXPECT_EQ(number.get(), 42);
    EXPECT_EQ(*text.get(), "text");
}

TEST(task_group, waits_for_children_of_children) {
    std::atomic<int> done = 0;
    const auto pool = executors::fixed_thread_pool(2);
    task_group group(*pool);
    for (int i = 0; i < 20; ++i)
        group.submit([&] {
            for (int j = 0; j < 10; ++j) group.submit([&] { ++done; });
        });
    group.wait();
    EXPECT_EQ(done, 200);
}

TEST(task_group, needs_no_thread_but_the_callers) {
    refusing_executor refuses;
    manual_executor drops;
    for (executor* where : std::initializer_list<executor*>{&refuses, &drops}) {
        task_group group(*where);
        auto answer = group.submit([] { return 42; });
        drops.drop_all();
        group.wait();
        EXPECT_EQ(answer.get(), 42);
    }
}

int fibonacci(executor& where, int n) {
    if (n < 2) return n;
    task_group group(where);
    auto left = group.submit([&] { return fibonacci(where, n - 1); });
    auto right = group.submit([&] { return fibonacci(where, n - 2); });
    group.wait();
    return left.get() + right.get();
}

TEST(task_group, may_be_nested_in_a_pool_whose_threads_are_all_busy) {
    const auto pool = executors::fixed_thread_pool(2);
    EXPECT_EQ(pool->submit([&] { return fibonacci(*pool, 12); }).get(), 144);
}

TEST(task_group, leaves_children_to_its_executor) {
    const auto pool = executors::fixed_thread_pool(2);
    const auto single = executors::single_thread_executor();
    strand lane(*pool);
    for (executor* where : std::initializer_list<executor*>{single.get(), &lane}) {
        task_group group(*where);
        const auto caller = std::this_thread::get_id();
        int inside = 0;  // not atomic: they run one at a time
        for (int i = 0; i < 20; ++i)
            group.submit([&] {
                EXPECT_EQ(++inside, 1);
                EXPECT_NE(std::this_thread::get_id(), caller);
                --inside;
            });
        group.wait();
    }
}

TEST(task_group, may_be_waited_for_on_a_strand_by_a_task_of_its_busy_pool) {
    const auto pool = executors::fixed_thread_pool(1);
    strand lane(*pool);
    auto sum = pool->submit([&] {
        task_group group(lane);
        int added = 0;
        for (int i = 0; i < 10; ++i) group.submit([&] { ++added; });
        group.wait();
        return added;
    });
    EXPECT_TRUE(sum.wait_for(guard));
    EXPECT_EQ(sum.get(), 10);
}

TEST(task_group, runs_children_of_a_busy_pool_under_its_hooks) {
    std::vector<std::string> began;
    thread_pool_executor pool(
        {.core_pool_size = 1, .hooks = {.before_execute = [&](const auto&, const task& t) {
                                  began.emplace_back(t.name());
                              }}});
    pool.submit(named("parent",
                      [&] {
                          task_group group(pool);
                          group.submit(named("child", [] {}));
                          group.wait();
                      }))
        .get();
    EXPECT_EQ(began, (std::vector<std::string>{"parent", "child"}));
}

TEST(task_group, may_be_nested_in_a_busy_work_stealing_pool) {
    const auto pool = executors::work_stealing_pool(2);
    EXPECT_EQ(pool->submit([&] { return fibonacci(*pool, 12); }).get(), 144);
}

TEST(task_group, finds_a_child_that_comes_to_its_busy_pool_while_it_waits) {
    const auto pool = executors::fixed_thread_pool(1);
    /// Hands a task on when the only worker sleeps, which waits for the group.
    class late_executor : public executor {
    public:
        explicit late_executor(executor& where) : where_(where) {}
        void execute(task t) override {
            asked.open();
            EXPECT_TRUE(about_to_wait.wait());
            EXPECT_TRUE(eventually([&] { return worker->waits(); }));
            where_.execute(std::move(t));
        }
        gate asked;
        gate about_to_wait;
        std::optional<waiting_thread> worker;  // written before that is open

    private:
        executor& where_;
    } late(*pool);
    task_group group(late);
    auto waits = pool->submit([&] {
        late.asked.wait();
        late.worker = waiting_thread::current();
        late.about_to_wait.open();
        group.wait();
    });
    auto child = group.submit([] { return 42; });
    EXPECT_TRUE(child.wait_for(guard));
    EXPECT_TRUE(waits.wait_for(guard));
    pool->shutdown_now();  // for a worker that still waits
}

TEST(task_group, runs_other_work_of_a_stealing_pool_while_a_cancelled_child_still_runs) {
    gate started, other_ran;
    std::atomic<bool> in_time = false;
    const auto pool = executors::work_stealing_pool(2);
    pool->submit([&] {
            task_group group(*pool);
            auto child = group.submit([&] {
                started.open();
                in_time = other_ran.wait();
            });
            started.wait();
            child.cancel();
            pool->execute([&] { other_ran.open(); });
            group.wait();
        })
        .get();
    EXPECT_TRUE(in_time);
}

TEST(task_group, runs_a_child_that_is_dropped_while_it_waits) {
    class : public executor {
    public:
        void execute(task t) override {
            const std::lock_guard lock(mutex_);
            kept_.push_back(std::move(t));
        }
        void drop() {
            std::vector<task> dropped;
            const std::lock_guard lock(mutex_);
            dropped.swap(kept_);
        }

    private:
        std::mutex mutex_;
        std::vector<task> kept_;
    } keeps;
    task_group group(keeps);
    auto child = group.submit([] { return 42; });
    waiting_call waits([&] { group.wait(); });
    EXPECT_FALSE(waits.is_over());
    keeps.drop();
    EXPECT_TRUE(waits.returned());
    EXPECT_EQ(child.get(), 42);
}

TEST(task_group, waits_until_the_futures_of_its_children_are_complete) {
    // The value is moved to the future when the captures of the child are gone: its second move,
    // the first is out of the call.
    struct slow_to_move {
        gate* moving;
        gate* go;
        int moves = 0;
        slow_to_move(gate& m, gate& g) : moving(&m), go(&g) {}
        slow_to_move(slow_to_move&& other) noexcept
            : moving(other.moving), go(other.go), moves(other.moves + 1) {
            if (moves != 2) return;
            moving->open();
            go->wait();
        }
    };
    gate moving, go;
    const auto pool = executors::fixed_thread_pool(1);
    task_group group(*pool);
    auto child = group.submit([&] { return slow_to_move(moving, go); });
    EXPECT_TRUE(moving.wait());
    waiting_call waits([&] { group.wait(); });
    EXPECT_FALSE(waits.is_over());
    go.open();
    EXPECT_TRUE(waits.returned());
    EXPECT_TRUE(child.is_done());
}

TEST(task_group, stops_the_others_when_one_fails) {
    gate both_run;
    const auto pool = executors::fixed_thread_pool(2);
    task_group group(*pool);
    auto blocked = group.submit([&](std::stop_token stop) {
        both_run.open();
        try {
            sleep_until_interrupted();
        } catch (const interrupted&) {
            EXPECT_TRUE(stop.stop_requested());
            throw;
        }
        ADD_FAILURE() << "was not interrupted";
    });
    auto fails = group.submit([&] {
        both_run.wait();
        throw std::out_of_range("no such page");
    });
    EXPECT_THROW(group.wait(), std::out_of_range);
    EXPECT_THROW(group.wait(), std::out_of_range);
    EXPECT_TRUE(group.is_stopped());
    EXPECT_TRUE(blocked.is_cancelled());
    EXPECT_THROW(fails.get(), std::out_of_range);

    auto late = group.submit([] { ADD_FAILURE() << "started after the failure"; });
    EXPECT_TRUE(late.is_cancelled());
}

TEST(task_group, never_starts_what_was_queued_when_one_failed) {
    manual_executor queue;
    task_group group(queue);
    auto captured = std::make_shared<int>(42);
    group.submit([] { throw std::out_of_range("no such page"); });
    auto queued = group.submit([captured] { ADD_FAILURE() << "started after the failure"; });
    queue.run_one();
    EXPECT_TRUE(queued.is_cancelled());
    EXPECT_EQ(captured.use_count(), 1);
    EXPECT_THROW(group.wait(), std::out_of_range);
}

TEST(task_group, cancels_what_has_not_started_before_it_stops_what_runs) {
    gate started;
    bool was_cancelled = false;
    future<void> queued;
    const auto pool = executors::fixed_thread_pool(1);
    task_group group(*pool);
    group.submit([&](const std::stop_token& stop) {
        const std::stop_callback looks(stop, [&] { was_cancelled = queued.is_cancelled(); });
        started.open();
        EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
    });
    ASSERT_TRUE(started.wait());
    queued = group.submit([] {});
    group.request_stop();
    EXPECT_THROW(group.wait(), cancellation);
    EXPECT_TRUE(was_cancelled);
}

// Deep inside one another, continuations are put off, until somebody waits.
TEST(task_group, may_be_waited_for_by_a_continuation_whose_child_waits_for_one_that_it_put_off) {
    const auto pool = executors::fixed_thread_pool(1);
    future_task first([] { return 0; });
    future last = first.get_future();
    for (int i = 0; i < 40; ++i)
        last = std::move(last).then([&](int x) {
            future_task inner([] { return 1; });
            future after = inner.get_future().then([](int one) { return one; });
            inner();
            task_group group(*pool);
            auto child = group.submit([&] { return after.get_for(guard); });
            group.wait();
            return x + child.get();
        });
    first();
    EXPECT_EQ(last.get(), 40);
}

TEST(task_group, takes_a_cancelled_child_for_done) {
    manual_executor queue;
    task_group group(queue);
    auto unwanted = group.submit([] { return 1; });
    auto wanted = group.submit([] { return 2; });
    unwanted.cancel();
    queue.run_all();
    group.wait();
    EXPECT_EQ(wanted.get(), 2);
}

TEST(task_group, stops_and_waits_when_it_is_destroyed) {
    gate started;
    std::atomic<bool> over = false;
    const auto pool = executors::fixed_thread_pool(1);
    auto captured = std::make_shared<int>(42);
    {
        task_group group(*pool);
        group.submit([&](std::stop_token stop) {
            started.open();
            EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
            over = true;
        });
        group.submit([captured] { ADD_FAILURE() << "started after the end"; });
        EXPECT_TRUE(started.wait());
    }
    EXPECT_TRUE(over);
    EXPECT_EQ(captured.use_count(), 1);
}

TEST(task_group, tells_of_a_failure_that_nobody_waited_for) {
    inline_executor here;
    ::testing::internal::CaptureStderr();
    {
        task_group(here).submit([] { throw std::out_of_range("no such page"); });
    }
    const std::string told = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(told.find("a task group that nobody waited for: no such page"), std::string::npos)
        << told;
}

TEST(task_group, tells_no_more_of_a_failure_that_its_waiter_was_told) {
    inline_executor here;
    ::testing::internal::CaptureStderr();
    {
        task_group group(here);
        group.submit([] { throw std::out_of_range("no such page"); });
        EXPECT_THROW(group.wait(), std::out_of_range);
    }
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(task_group, is_stopped_by_request_and_with_the_outer_task) {
    manual_executor queue;
    std::stop_source outer;
    task_group group(queue, outer.get_token());
    auto child = group.submit([] {});
    outer.request_stop();
    EXPECT_TRUE(child.is_cancelled());
    EXPECT_THROW(group.wait(), cancellation);

    task_group another(queue);
    another.request_stop();
    EXPECT_TRUE(another.is_stopped());
    EXPECT_THROW(another.wait(), cancellation);
}

TEST(task_group, is_stopped_when_its_waiter_is_interrupted) {
    gate started;
    std::atomic<bool> over = false;
    const auto pool = executors::fixed_thread_pool(1);
    task_group group(*pool);
    group.submit([&] {
        started.open();
        try {
            sleep_until_interrupted();
        } catch (const interrupted&) {
            over = true;
            throw;
        }
    });
    EXPECT_TRUE(started.wait());
    waiting_call wait([&] { group.wait(); });
    wait.interrupt();
    EXPECT_TRUE(wait.was_interrupted());
    EXPECT_TRUE(over);
}

TEST(task_group, leaves_no_interrupt_behind_that_came_while_it_stopped) {
    gate started;
    std::unique_ptr<waiting_call> wait;
    const auto pool = executors::fixed_thread_pool(1);
    task_group group(*pool);
    group.submit([&](const std::stop_token& stop) {
        const std::stop_callback again(stop, [&] { wait->interrupt(); });
        started.open();
        EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
    });
    ASSERT_TRUE(started.wait());
    wait = std::make_unique<waiting_call>([&] { group.wait(); });
    wait->interrupt();
    EXPECT_TRUE(wait->was_interrupted());
}

TEST(task_group, passes_on_an_interrupt_that_ends_the_wait_for_a_place) {
    thread_pool_executor pool(1, 1, 1h, no_room(), default_thread_factory(), block_policy{});
    held_task held(pool);
    std::atomic<bool> ran = false;
    task_group group(pool);
    waiting_call submits([&] { group.submit([&] { ran = true; }); });
    submits.interrupt();
    EXPECT_TRUE(submits.was_interrupted());
    held.let_go();
    group.wait();
    EXPECT_FALSE(ran);
}

TEST(task_group, refuses_to_be_waited_for_by_its_own_child) {
    inline_executor here;
    task_group group(here);
    auto child = group.submit([&] { group.wait(); });
    EXPECT_THROW(child.get(), illegal_state);
    EXPECT_THROW(group.wait(), illegal_state);
}

TEST(task_group, refuses_to_be_waited_for_within_another_group_of_its_own_child) {
    inline_executor here;
    task_group outer(here);
    auto child = outer.submit([&] {
        task_group inner(here);
        inner.submit([&] { outer.wait(); }).get();
    });
    EXPECT_THROW(child.get(), illegal_state);
    EXPECT_THROW(outer.wait(), illegal_state);
}

TEST(task_group, refuses_an_empty_callable) {
    inline_executor here;
    task_group group(here);
    EXPECT_THROW(group.submit(std::function<void()>()), std::invalid_argument);
    group.wait();
}

TEST(task_group, passes_arguments_on) {
    const auto pool = executors::fixed_thread_pool(1);
    task_group group(*pool);
    auto sum = group.submit([](int a, int b) { return a + b; }, 40, 2);
    auto moved = group.submit([](std::unique_ptr<int> p) { return p; }, std::make_unique<int>(3));
    auto stopped = group.submit([](std::stop_token t, int) { return t.stop_requested(); }, 1);
    group.wait();
    EXPECT_EQ(sum.get(), 42);
    EXPECT_EQ(*moved.get(), 3);
    EXPECT_FALSE(stopped.get());
    EXPECT_THROW(group.submit(std::function<void(int)>(), 1), std::invalid_argument);
    group.wait();
}

TEST(task_group, keeps_the_names_of_its_children) {
    std::vector<std::string> names;
    thread_pool_executor pool(
        {.core_pool_size = 1, .hooks = {.before_execute = [&](const auto&, const task& t) {
                                  names.emplace_back(t.name());
                              }}});
    task_group group(pool);
    group.submit(named("load", [] {}));
    group.submit(named("store", [](int) {}), 1);
    pool.close();
    EXPECT_EQ(names, (std::vector<std::string>{"load", "store"}));
}

}  // namespace
}  // namespace cadre::testing
