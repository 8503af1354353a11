// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/allocations.hpp"
#include "support/held_task.hpp"
#include "support/manual_executor.hpp"
#include "support/pools.hpp"
#include "support/scheduled_pools.hpp"
#include "support/sleeps.hpp"
#include <cadre/coroutine.hpp>
#include <cadre/executors.hpp>
#include <cadre/strand.hpp>
#include <cadre/testing.hpp>

namespace cadre::testing {
namespace {

/// Notes when it is destroyed.
struct note {
    std::atomic<bool>* gone;
    note(std::atomic<bool>& g) : gone(&g) {}
    note(note&& other) noexcept : gone(std::exchange(other.gone, nullptr)) {}
    ~note() {
        if (gone) *gone = true;
    }
};

future<std::thread::id> thread_of(executor& where, std::stop_token stop = {}) {
    co_await where.schedule(stop);
    co_return std::this_thread::get_id();
}

TEST(coroutine, goes_on_where_it_is_scheduled) {
    const auto pool = executors::fixed_thread_pool(1);
    const auto worker = pool->submit([] { return std::this_thread::get_id(); }).get();
    EXPECT_EQ(thread_of(*pool).get(), worker);
    EXPECT_NE(worker, std::this_thread::get_id());
}

TEST(coroutine, goes_to_and_fro_between_executors) {
    const auto one = executors::fixed_thread_pool(1);
    const auto two = executors::fixed_thread_pool(1);
    const auto hop = [](executor& a, executor& b) -> future<int> {
        int changes = 0;
        // Not std::this_thread::get_id(), whose result a compiler may keep across a suspension.
        auto last = thread_handle::current().id();
        for (int i = 0; i < 1000; ++i) {
            co_await schedule_on(i % 2 ? a : b);
            const auto now = thread_handle::current().id();
            changes += now != std::exchange(last, now);
        }
        co_return changes;
    };
    EXPECT_EQ(hop(*one, *two).get(), 1000);
}

TEST(coroutine, gives_values_references_and_exceptions) {
    const auto pool = executors::fixed_thread_pool(1);
    const auto value = [](executor& where) -> future<std::unique_ptr<int>> {
        co_await where.schedule();
        co_return std::make_unique<int>(42);
    };
    EXPECT_EQ(*value(*pool).get(), 42);
    int object = 1;
    const auto reference = [](executor& where, int& x) -> future<int&> {
        co_await where.schedule();
        co_return x;
    };
    EXPECT_EQ(&reference(*pool, object).get(), &object);
    const auto nothing = [](executor& where, bool fail) -> future<void> {
        co_await where.schedule();
        if (fail) throw std::out_of_range("no such page");
    };
    nothing(*pool, false).get();
    EXPECT_THROW(nothing(*pool, true).get(), std::out_of_range);
}

TEST(coroutine, awaits_another) {
    const auto pool = executors::fixed_thread_pool(2);
    struct {
        future<int> operator()(executor& where, int n) const {
            co_await where.schedule();
            if (n < 2) co_return n;
            auto left = (*this)(where, n - 1);
            auto right = (*this)(where, n - 2);
            co_return co_await std::move(left) + co_await std::move(right);
        }
    } const fibonacci;
    EXPECT_EQ(fibonacci(*pool, 12).get(), 144);
}

TEST(coroutine, is_gone_with_all_it_has_when_its_future_is_complete) {
    std::atomic<bool> local_gone = false;
    std::atomic<bool> parameter_gone = false;
    const auto pool = executors::fixed_thread_pool(1);
    const auto run = [](executor& where, note, std::atomic<bool>& gone) -> future<int> {
        const note local(gone);
        co_await where.schedule();
        co_return 1;
    };
    auto result = run(*pool, note(parameter_gone), local_gone);
    result.wait();
    EXPECT_TRUE(local_gone);
    EXPECT_TRUE(parameter_gone);
}

TEST(coroutine, throws_the_refusal_of_an_executor) {
    refusing_executor refuses;
    EXPECT_THROW(thread_of(refuses).get(), rejected_execution);
    const auto pool = executors::fixed_thread_pool(1);
    pool->shutdown();
    EXPECT_THROW(thread_of(*pool).get(), rejected_execution);
}

TEST(coroutine, throws_cancellation_when_the_executor_drops_it) {
    const auto pool = executors::fixed_thread_pool(1);
    future<std::thread::id> result;
    {
        const held_task occupies_the_worker(*pool);
        result = thread_of(*pool);
        pool->shutdown_now();
    }
    EXPECT_THROW(result.get(), cancellation);

    thread_pool_executor discards(
        {.core_pool_size = 1, .queue = no_room(), .rejection = discard_policy{}});
    const held_task occupies_the_worker(discards);
    EXPECT_THROW(thread_of(discards).get(), cancellation);
}

TEST(coroutine, goes_on_here_if_the_policy_says_so) {
    thread_pool_executor pool(
        {.core_pool_size = 1, .queue = no_room(), .rejection = caller_runs_policy{}});
    const held_task occupies_the_worker(pool);
    EXPECT_EQ(thread_of(pool).get(), std::this_thread::get_id());
}

TEST(coroutine, goes_on_though_the_executor_throws_that_has_run_it_at_once) {
    class complaining_executor : public executor {
        void execute(task t) override {
            t();
            throw std::runtime_error("too much to do");
        }
    } complains;
    ::testing::internal::CaptureStderr();
    auto where = thread_of(complains);
    const auto reported = ::testing::internal::GetCapturedStderr();
    ASSERT_TRUE(where.is_done());
    EXPECT_EQ(where.get(), std::this_thread::get_id());
    EXPECT_NE(reported.find("too much to do"), std::string::npos) << reported;
}

TEST(coroutine, throws_cancellation_if_it_was_stopped_before_its_turn) {
    std::stop_source stop;
    manual_executor queue;
    auto waiting = thread_of(queue, stop.get_token());
    stop.request_stop();
    EXPECT_FALSE(waiting.is_done());
    queue.run_all();
    EXPECT_THROW(waiting.get(), cancellation);
    EXPECT_THROW(thread_of(queue, stop.get_token()).get(), cancellation);
    EXPECT_EQ(queue.waiting(), 0u);
}

future<long> to_and_fro(executor& where, long times) {
    long done = 0;
    for (; done < times; ++done) co_await where.schedule();
    co_return done;
}

TEST(coroutine, may_be_sent_any_number_of_times_to_an_executor_that_runs_it_at_once) {
    constexpr long times = 200'000;  // on the stack, each would lie on the one before
    inline_executor here;
    EXPECT_EQ(to_and_fro(here, times).get(), times);
    thread_pool_executor pool(
        {.core_pool_size = 1, .queue = no_room(), .rejection = caller_runs_policy{}});
    const held_task occupies_the_worker(pool);
    EXPECT_EQ(to_and_fro(pool, times).get(), times);
}

future<bool> is_alone_in(strand& lane) {
    co_await lane.schedule();
    auto other = lane.submit([] {});
    co_return !other.is_done();
}

TEST(coroutine, goes_on_in_its_turn_on_a_strand_that_runs_it_at_once) {
    inline_executor here;
    strand lane(here);
    EXPECT_TRUE(is_alone_in(lane).get());
    thread_pool_executor pool(
        {.core_pool_size = 1, .queue = no_room(), .rejection = caller_runs_policy{}});
    const held_task occupies_the_worker(pool);
    strand of_the_pool(pool);
    EXPECT_TRUE(is_alone_in(of_the_pool).get());
    EXPECT_EQ(to_and_fro(of_the_pool, 1000).get(), 1000);
}

future<int> sum_of(future<int>& once, shared_future<int> often) {
    const int first = co_await once;
    const int& second = co_await often;
    co_return first + second + co_await often;
}

TEST(coroutine, awaits_futures_that_have_a_name_and_shared_ones) {
    future_task task([] { return 1; });
    future_task shared([] { return 10; });
    auto once = task.get_future();
    auto sum = sum_of(once, shared.get_future().share());
    task();
    EXPECT_FALSE(once.valid());
    EXPECT_FALSE(sum.is_done());
    shared();
    EXPECT_EQ(sum.get(), 21);
}

future<int> patient(future<int> awaited, std::stop_token stop) {
    try {
        co_return co_await await(std::move(awaited), stop);
    } catch (const cancellation&) {
        co_return -1;
    }
}

TEST(coroutine, ends_its_wait_for_a_future_when_it_is_stopped) {
    gate started;
    const auto pool = executors::fixed_thread_pool(1);
    std::stop_source stop;
    auto stopped = patient(pool->submit([&] {
        started.open();
        sleep_until_interrupted();
        return 1;
    }),
                           stop.get_token());
    EXPECT_TRUE(started.wait());
    stop.request_stop();
    EXPECT_TRUE(stopped.is_done());
    EXPECT_EQ(stopped.get(), -1);
    EXPECT_EQ(patient(pool->submit([] { return 2; }), {}).get(), 2);
}

// EX-18: a stop callback that throws would end the process.
TEST(coroutine, tells_of_a_hook_that_throws_when_a_stop_cancels_what_it_waits_for) {
    future_task<int> task([] { return 1; }, [](future_state) { throw 42; });
    std::stop_source stop;
    auto stopped = patient(task.get_future(), stop.get_token());
    ::testing::internal::CaptureStderr();
    stop.request_stop();
    EXPECT_NE(::testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(stopped.get(), -1);
}

future<std::vector<int>> braced() { co_return {1, 2}; }

TEST(coroutine, returns_a_value_in_braces) { EXPECT_EQ(braced().get(), (std::vector{1, 2})); }

/// A coroutine in the hands of the test.
struct owned_coroutine {
    struct promise_type {
        owned_coroutine get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

TEST(coroutine, may_be_destroyed_while_it_waits) {
    manual_executor queue;
    manual_clock clock;
    scheduled_pool timers(clock);
    const auto wait = [](executor& where) -> owned_coroutine {
        co_await where.schedule();
        ADD_FAILURE() << "went on after its end";
    };
    const auto sleep = [](scheduled_executor_service& where,
                          std::stop_token stop) -> owned_coroutine {
        co_await sleep_on(where, 1s, stop);
        ADD_FAILURE() << "went on after its end";
    };
    std::stop_source stop;
    wait(queue).handle.destroy();
    wait(queue).handle.destroy();
    sleep(timers, stop.get_token()).handle.destroy();
    queue.run_one();
    queue.drop_all();
    clock.advance(2s);
    stop.request_stop();
}

TEST(coroutine, takes_its_timer_back_when_it_is_destroyed) {
    scheduled_thread_pool_executor timers({.core_pool_size = 1, .remove_on_cancel = true});
    const auto sleep = [](scheduled_executor_service& where) -> owned_coroutine {
        co_await sleep_on(where, 1h);
    };
    const auto sleeping = sleep(timers);
    EXPECT_EQ(timers.queue().size(), 1u);
    sleeping.handle.destroy();
    EXPECT_EQ(timers.queue().size(), 0u);
}

future<std::string> sleeper(scheduled_executor_service& timers, std::stop_token stop = {}) {
    try {
        co_await sleep_on(timers, 1h, stop);
    } catch (const cancellation&) {
        co_return "cancelled";
    } catch (const rejected_execution&) {
        co_return "rejected";
    }
    co_return "woke up";
}

TEST(coroutine, leaves_no_timer_behind_when_there_is_no_memory_to_wait_for_it) {
    scheduled_thread_pool_executor timers(1);
    timers.set_remove_on_cancel_policy(true);
    std::stop_source stop;
    int failures = 0;
    for (bool fired = true; fired; ++failures) {
        future<std::string> result;
        try {
            const failing_allocation_scope memory(failures);
            result = sleeper(timers, stop.get_token());
        } catch (const std::bad_alloc&) {}
        fired = !result.valid() || result.is_done();
        EXPECT_EQ(timers.queue().size(), fired ? 0U : 1U) << failures;
        if (!fired) stop.request_stop();
    }
    EXPECT_GT(failures, 4);
}

TEST(coroutine, sleeps_without_a_thread) {
    manual_clock clock;
    scheduled_pool timers(clock);
    auto result = sleeper(timers);
    clock.advance(59min);
    EXPECT_FALSE(result.is_done());
    clock.advance(1min);
    EXPECT_EQ(result.get(), "woke up");
}

TEST(coroutine, is_woken_by_a_stop) {
    manual_clock clock;
    scheduled_pool timers(clock);
    std::stop_source stop;
    auto before = sleeper(timers, stop.get_token());
    stop.request_stop();
    EXPECT_EQ(before.get(), "cancelled");
    EXPECT_EQ(sleeper(timers, stop.get_token()).get(), "cancelled");
}

TEST(coroutine, is_woken_when_the_scheduler_shuts_down) {
    manual_clock clock;
    scheduled_pool timers(clock);
    auto result = sleeper(timers);
    timers.shutdown_now();
    EXPECT_EQ(result.get(), "cancelled");
    EXPECT_EQ(sleeper(timers).get(), "rejected");
}

}  // namespace
}  // namespace cadre::testing
