// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/done_future.hpp"
#include "support/eventually.hpp"
#include "support/held_task.hpp"
#include "support/manual_executor.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"
#include <cadre/executors.hpp>
#include <cadre/future.hpp>

namespace cadre::testing {
namespace {

const auto looks_in_vain = []() -> int { throw std::out_of_range("no such page"); };

TEST(future_then, gives_the_continuation_the_value) {
    future_task task([] { return 6; });
    future text = task.get_future().then([](int x) { return std::to_string(x * 7); });
    static_assert(std::is_same_v<decltype(text), future<std::string>>);
    EXPECT_FALSE(text.is_done());
    task();
    EXPECT_EQ(text.get(), "42");
}

TEST(future_then, calls_the_continuation_of_void_without_arguments) {
    future_task task([] {});
    future answer = task.get_future().then([] { return 42; });
    task();
    EXPECT_EQ(answer.get(), 42);
}

TEST(future_then, runs_at_once_and_here_if_the_task_is_complete) {
    std::thread::id where;
    future done =
        done_future([] { return 1; }).then([&](int) { where = std::this_thread::get_id(); });
    EXPECT_TRUE(done.is_done());
    EXPECT_EQ(where, std::this_thread::get_id());
}

TEST(future_then, runs_on_the_thread_that_completes_the_task) {
    future_task task([] { return 1; });
    future where = task.get_future().then([](int) { return std::this_thread::get_id(); });
    std::thread::id runner_id;
    cadre::thread runner([&] {
        runner_id = std::this_thread::get_id();
        task();
    });
    runner.join();
    EXPECT_EQ(where.get(), runner_id);
}

TEST(future_then, passes_a_failure_by_what_takes_a_value) {
    bool called = false;
    const auto continuation = [&](int x) {
        called = true;
        return x;
    };
    future_task task(looks_in_vain);
    future later = task.get_future().then(continuation).then(continuation);
    task();
    EXPECT_EQ(later.state(), future_state::failed);
    EXPECT_THROW(later.get(), std::out_of_range);
    EXPECT_FALSE(called);
}

TEST(future_then, passes_cancellation_by_what_takes_a_value) {
    bool called = false;
    future_task task([] { return 1; });
    future later = task.get_future().then([&](int) { called = true; });
    EXPECT_TRUE(task.cancel());
    EXPECT_TRUE(later.is_cancelled());
    EXPECT_FALSE(called);
}

TEST(future_then, cancels_the_continuation_of_a_task_that_is_dropped_unrun) {
    std::optional<future_task<int>> task(std::in_place, [] { return 1; });
    future later = task->get_future().then([](int x) { return x; });
    task.reset();
    EXPECT_THROW(later.get(), cancellation);
}

TEST(future_then, gives_what_takes_the_future_every_outcome) {
    const auto state_of = [](future<int> done) {
        EXPECT_TRUE(done.is_done());
        return done.state();
    };
    EXPECT_EQ(done_future([] { return 1; }).then(state_of).get(), future_state::success);
    EXPECT_EQ(done_future(looks_in_vain).then(state_of).get(), future_state::failed);
    future_task cancelled([] { return 1; });
    future later = cancelled.get_future().then(state_of);
    cancelled.cancel();
    EXPECT_EQ(later.get(), future_state::cancelled);
}

TEST(future_then, lets_what_takes_the_future_recover_from_a_failure) {
    future recovered = done_future(looks_in_vain).then([](future<int> failed) {
        try {
            return failed.get();
        } catch (const std::out_of_range&) {
            return 42;
        }
    });
    EXPECT_EQ(recovered.get(), 42);
}

TEST(future_then, fails_with_what_the_continuation_throws) {
    future failed = done_future([] { return 1; }).then([](int) { throw 42; });
    EXPECT_THROW(failed.get(), int);
    future_task task([] { return 1; });
    future later = task.get_future().then([](future<int>) { throw std::string("text"); });
    EXPECT_NO_THROW(task());
    EXPECT_THROW(later.get(), std::string);
}

TEST(future_then, moves_what_cannot_be_copied_and_passes_references_on) {
    future number = done_future([] {
                        return std::make_unique<int>(42);
                    }).then([](std::unique_ptr<int> p) { return *p; });
    EXPECT_EQ(number.get(), 42);
    int target = 1;
    future address = done_future([&]() -> int& { return target; }).then([](int& x) { return &x; });
    EXPECT_EQ(address.get(), &target);
    future reference = done_future([&] { return &target; }).then([](int* p) -> int& { return *p; });
    EXPECT_EQ(&reference.get(), &target);
}

TEST(future_then, refuses_an_empty_continuation_and_keeps_its_result) {
    future answer = done_future([] { return 42; });
    EXPECT_THROW(std::move(answer).then(std::function<void(int)>()), std::invalid_argument);
    EXPECT_EQ(answer.get(), 42);
}

TEST(future_then, takes_the_result_with_it) {
    future<int> source = done_future([] { return 1; });
    future<int> later = std::move(source).then([](int x) { return x; });
    EXPECT_FALSE(source.valid());
    EXPECT_TRUE(later.valid());
}

TEST(future_then, hands_the_continuation_to_the_executor_when_the_task_is_complete) {
    manual_executor queue;
    future_task task([] { return 6; });
    future answer = task.get_future().then(queue, [](int x) { return x * 7; });
    EXPECT_EQ(queue.waiting(), 0u);
    task();
    EXPECT_EQ(queue.waiting(), 1u);
    EXPECT_FALSE(answer.is_done());
    queue.run_all();
    EXPECT_EQ(answer.get(), 42);
}

TEST(future_then, troubles_the_executor_only_if_there_is_something_to_run) {
    manual_executor queue;
    future by_value = done_future(looks_in_vain).then(queue, [](int x) { return x; });
    EXPECT_EQ(queue.waiting(), 0u);
    EXPECT_THROW(by_value.get(), std::out_of_range);
    future by_future =
        done_future(looks_in_vain).then(queue, [](future<int> f) { return f.state(); });
    EXPECT_EQ(queue.waiting(), 1u);
    queue.run_all();
    EXPECT_EQ(by_future.get(), future_state::failed);
}

TEST(future_then, fails_with_the_refusal_of_the_executor) {
    refusing_executor refuses;
    future_task task([] { return 1; });
    future later = task.get_future().then(refuses, [](int x) { return x; });
    EXPECT_NO_THROW(task());
    EXPECT_EQ(later.state(), future_state::failed);
    EXPECT_THROW(later.get(), rejected_execution);
}

TEST(future_then, is_cancelled_when_the_executor_drops_it) {
    manual_executor queue;
    future later = done_future([] { return 1; }).then(queue, [](int x) { return x; });
    queue.drop_all();
    EXPECT_THROW(later.get(), cancellation);
}

TEST(future_then, is_cancelled_when_the_executor_drops_it_at_once) {
    class : public executor {
        void execute(task) override {}
    } drops;
    future later = done_future([] { return 1; }).then(drops, [](int x) { return x; });
    EXPECT_TRUE(later.is_done());
    EXPECT_THROW((void)later.get_for(0s), cancellation);
}

TEST(future_then, keeps_the_name_and_the_priority_of_the_continuation) {
    std::string name;
    int priority = 0;
    thread_pool_executor pool(
        {.core_pool_size = 1, .hooks = {.before_execute = [&](auto&, auto& t) {
                                  name = t.name();
                                  priority = t.priority();
                              }}});
    done_future([] { return 1; }).then(pool, named("render", prioritized(7, [](int) {}))).get();
    pool.close();
    EXPECT_EQ(name, "render");
    EXPECT_EQ(priority, 7);
}

TEST(future_then, cancelled_cancels_the_whole_chain_above) {
    bool ran = false;
    future_task task([&] { return ran = true; });
    future last = task.get_future().then([](bool x) { return x; }).then([](bool x) { return x; });
    EXPECT_TRUE(last.cancel());
    EXPECT_TRUE(last.is_cancelled());
    EXPECT_TRUE(task.is_cancelled());
    task();
    EXPECT_FALSE(ran);
}

TEST(future_then, cancelled_with_interruption_interrupts_the_task_that_runs) {
    gate started;
    std::atomic<bool> interrupted_there = false;
    const auto pool = executors::fixed_thread_pool(1);
    future last = pool->submit([&] {
                          started.open();
                          try {
                              sleep_until_interrupted();
                          } catch (const interrupted&) {
                              interrupted_there = true;
                          }
                      })
                      .then([] {});
    EXPECT_TRUE(started.wait());
    EXPECT_TRUE(last.cancel(true));
    pool->close();
    EXPECT_TRUE(interrupted_there);
}

TEST(future_then, cancelled_when_its_source_is_done_never_runs) {
    manual_executor queue;
    bool ran = false;
    future later = done_future([] { return 1; }).then(queue, [&](int) { ran = true; });
    EXPECT_TRUE(later.cancel());
    queue.run_all();
    EXPECT_FALSE(ran);
    EXPECT_TRUE(later.is_cancelled());
}

TEST(future_then, destroys_a_continuation_that_will_not_run) {
    auto resource = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = resource;
    future_task task([] { return 1; });
    future later = task.get_future().then([resource = std::move(resource)](int) {});
    task.cancel();
    EXPECT_TRUE(watch.expired());
}

TEST(future_then, destroys_a_continuation_before_its_result_is_seen) {
    auto resource = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = resource;
    future_task task([] { return 1; });
    future later = task.get_future().then([resource = std::move(resource)](int) {}).then([&] {
        return watch.expired();
    });
    task();
    EXPECT_TRUE(later.get());
}

constexpr int very_deep = 100'000;

/// A chain of continuations, each of which adds one.
future<int> deep_chain(future<int> first) {
    for (int i = 0; i < very_deep; ++i) first = std::move(first).then([](int x) { return x + 1; });
    return first;
}

TEST(future_then, completes_a_very_deep_chain_from_the_front) {
    future_task task([] { return 0; });
    future last = deep_chain(task.get_future());
    task();
    EXPECT_EQ(last.get(), very_deep);
}

TEST(future_then, builds_a_very_deep_chain_on_what_is_complete) {
    EXPECT_EQ(deep_chain(done_future([] { return 0; })).get(), very_deep);
}

TEST(future_then, fails_a_very_deep_chain_from_the_front) {
    future_task task(looks_in_vain);
    future last = deep_chain(task.get_future());
    task();
    EXPECT_THROW(last.get(), std::out_of_range);
}

TEST(future_then, cancels_a_very_deep_chain_from_the_front) {
    future_task task([] { return 0; });
    future last = deep_chain(task.get_future());
    task.cancel();
    EXPECT_TRUE(last.is_cancelled());
}

TEST(future_then, cancels_a_very_deep_chain_from_the_back) {
    future_task task([] { return 0; });
    future last = deep_chain(task.get_future());
    EXPECT_TRUE(last.cancel());
    EXPECT_TRUE(task.is_cancelled());
}

TEST(future_then, drops_a_very_deep_chain) {
    future_task task([] { return 0; });
    { future last = deep_chain(task.get_future()); }
    EXPECT_FALSE(task.is_done());
}

TEST(future_then, completes_a_very_deep_chain_through_an_executor) {
    inline_executor here;
    future_task task([] { return 0; });
    future last = task.get_future();
    for (int i = 0; i < very_deep; ++i)
        last = std::move(last).then(here, [](int x) { return x + 1; });
    task();
    EXPECT_EQ(last.get(), very_deep);
}

TEST(future_then, is_waited_for_on_the_pool_that_has_its_source_unstarted) {
    const auto pool = executors::fixed_thread_pool(1);
    future outer = pool->submit(
        [&] { return pool->submit([] { return 6; }).then([](int x) { return x * 7; }).get(); });
    EXPECT_EQ(outer.get_for(guard), 42);
}

TEST(future_then, is_waited_for_on_the_pool_that_is_to_run_it) {
    const auto pool = executors::fixed_thread_pool(1);
    future outer = pool->submit([&] {
        return pool->submit([] { return 6; }).then(*pool, [](int x) { return x * 7; }).get();
    });
    EXPECT_EQ(outer.get_for(guard), 42);
}

// Deep inside one another, continuations are put off; one of these is that which is waited for.
TEST(future_then, is_waited_for_on_the_pool_that_is_to_run_one_in_the_middle) {
    for (const bool last_here : {false, true}) {
        const auto pool = executors::fixed_thread_pool(1);
        const auto elsewhere = executors::fixed_thread_pool(1);
        std::optional<waiting_thread> waiter;
        std::atomic<bool> waits = false;
        future outer = pool->submit([&] {
            future source = elsewhere->submit([&] {
                EXPECT_TRUE(eventually([&] { return waits && waiter->waits(); }));
                return 6;
            });
            EXPECT_TRUE(eventually([&] { return source.state() == future_state::running; }));
            future middle = std::move(source).then(*pool, [](int x) { return x * 7; });
            const auto last = [](int x) { return x + 1; };
            future result =
                last_here ? std::move(middle).then(*pool, last) : std::move(middle).then(last);
            waiter = waiting_thread::current();
            waits = true;
            return result.get();
        });
        EXPECT_TRUE(outer.wait_for(guard));
        outer.cancel(true);  // or it would wait for ever
    }
}

// 0.9 s for 4,000 when each look began at the end.
TEST(future_then, is_waited_for_on_its_pool_however_long_the_chain) {
    constexpr int links = 40'000;
    const auto pool = executors::fixed_thread_pool(1);
    future outer = pool->submit([&] {
        future last = pool->submit([] { return 0; });
        for (int i = 0; i < links; ++i)
            last = std::move(last).then(*pool, [](int x) { return x + 1; });
        return last.get();
    });
    EXPECT_TRUE(outer.wait_for(guard));
    outer.cancel(true);
    EXPECT_EQ(outer.state(), future_state::success);
}

TEST(future_then, may_be_waited_for_with_a_limit_by_a_continuation_that_put_it_off) {
    future_task first([] { return 0; });
    future last = first.get_future();
    int waited_for = 0;
    for (int i = 0; i < 40; ++i)
        last = std::move(last).then([&](int x) {
            future_task inner([] { return 1; });
            future after = inner.get_future().then([](int one) { return one; });
            inner();
            if (after.wait_for(guard)) waited_for += after.get();
            return x + 1;
        });
    first();
    EXPECT_EQ(last.get(), 40);
    EXPECT_EQ(waited_for, 40);
}

/// Runs `body` inside so many continuations that those of tasks which complete in there are put
/// off.
void deep_inside_continuations(std::function<void()> body, int depth = 16) {
    if (depth == 0) return body();
    future_task task([] {});
    const future inner =
        task.get_future().then([=] { deep_inside_continuations(body, depth - 1); });
    task();
}

TEST(future_then, is_not_put_off_by_a_task_that_is_run_amid_a_wait_until_that_is_over) {
    const auto pool = executors::work_stealing_pool(1);
    const auto elsewhere = executors::fixed_thread_pool(1);
    future outer = pool->submit([&] {
        deep_inside_continuations([&] {
            const shared_future after = pool->submit([] {}).then([] {}).share();
            future waits_for_it = elsewhere->submit([after] { after.wait(); });
            EXPECT_TRUE(eventually([&] { return waits_for_it.state() != future_state::pending; }));
            waits_for_it.wait();
        });
    });
    EXPECT_TRUE(outer.wait_for(guard));
    outer.cancel(true);
}

TEST(future_then, is_not_put_off_until_an_invoke_any_is_over) {
    const auto pool = executors::fixed_thread_pool(1);
    const auto elsewhere = executors::fixed_thread_pool(2);
    future outer = pool->submit([&] {
        deep_inside_continuations([&] {
            future_task task([] {});
            const shared_future after = task.get_future().then([] {}).share();
            task();
            const auto waits_for_it = [after] {
                after.wait();
                return 1;
            };
            EXPECT_EQ(elsewhere->invoke_any(std::vector(2, waits_for_it)), 1);
        });
    });
    EXPECT_TRUE(outer.wait_for(guard));
    outer.cancel(true);
}

TEST(future_then, may_be_waited_for_in_a_task_by_a_continuation_that_put_it_off) {
    const auto pool = executors::fixed_thread_pool(1);
    auto waited_for = pool->submit([] {
        future_task first([] { return 0; });
        future last = first.get_future();
        for (int i = 0; i < 40; ++i)
            last = std::move(last).then([](int x) {
                future_task inner([] { return 1; });
                future after = inner.get_future().then([](int one) { return one; });
                inner();
                return x + after.get();
            });
        first();
        return last.get();
    });
    ASSERT_TRUE(waited_for.wait_for(guard));
    EXPECT_EQ(waited_for.get(), 40);
}

TEST(future_then, takes_a_pointer_to_a_member) {
    struct answer {
        int value = 42;
        int doubled() const { return 2 * value; }
    };
    future_task task([] { return answer(); });
    auto doubled = task.get_future().then(&answer::doubled);
    task();
    EXPECT_EQ(doubled.get(), 84);
}

}  // namespace
}  // namespace cadre::testing
