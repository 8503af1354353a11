// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/allocations.hpp"
#include "support/eventually.hpp"
#include "support/held_task.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"
#include <cadre/executors.hpp>
#include <cadre/future.hpp>

namespace cadre::testing {
namespace {

/// A coroutine that starts at once and is destroyed when it ends, or by its caller before that.
struct detached {
    struct promise_type {
        detached get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

/// What a coroutine saw of the future it awaited.
template <class T>
struct outcome {
    std::optional<T> value;
    std::exception_ptr error;
    gate over;
};

template <class T>
detached await_into(outcome<T>& seen, future<T> awaited) {
    try {
        seen.value = co_await std::move(awaited);
    } catch (...) {
        seen.error = std::current_exception();
    }
    seen.over.open();
}

TEST(future_await, goes_on_at_once_if_the_task_is_complete) {
    future_task task([] { return std::make_unique<int>(42); });
    task();
    outcome<std::unique_ptr<int>> seen;
    await_into(seen, task.get_future());
    ASSERT_TRUE(seen.over.is_open());
    EXPECT_EQ(**seen.value, 42);
}

TEST(future_await, goes_on_where_the_task_completes) {
    outcome<int> seen;
    {
        const auto pool = executors::fixed_thread_pool(1);
        held_task occupies_the_worker(*pool);
        await_into(seen, pool->submit([] { return 42; }));
        EXPECT_FALSE(seen.over.is_open());
        occupies_the_worker.let_go();
        EXPECT_TRUE(seen.over.wait());
    }
    EXPECT_EQ(seen.value, 42);
}

TEST(future_await, throws_what_the_task_threw) {
    future_task task([]() -> int { throw std::out_of_range("no such page"); });
    outcome<int> seen;
    await_into(seen, task.get_future());
    task();
    ASSERT_TRUE(seen.error);
    EXPECT_THROW(std::rethrow_exception(seen.error), std::out_of_range);
}

TEST(future_await, goes_on_after_a_cancellation_when_those_who_wait_are_told) {
    const auto pool = executors::fixed_thread_pool(1);
    const auto elsewhere = executors::fixed_thread_pool(1);
    future first = elsewhere->submit([] { sleep_until_interrupted(2 * guard); });
    ASSERT_TRUE(eventually([&] { return first.state() == future_state::running; }));
    shared_future last = std::move(first).then([] {}).then([] {}).share();
    std::optional<waiting_thread> waiter;
    std::atomic<bool> has_begun = false;
    const future waits = pool->submit([&] {
        waiter = waiting_thread::current();
        has_begun = true;
        last.wait();
    });
    bool was_told = false;
    const auto follow = [&](shared_future<void> awaited) -> detached {
        try {
            co_await awaited;
        } catch (const cancellation&) {}
        was_told = waits.wait_for(guard);
    };
    follow(last);
    EXPECT_TRUE(eventually([&] { return has_begun && waiter->waits(); }));
    shared_future(last).cancel();
    EXPECT_TRUE(was_told);
    elsewhere->shutdown_now();
}

TEST(future_await, throws_cancellation_if_the_task_is_cancelled_or_dropped) {
    outcome<int> of_cancelled;
    outcome<int> of_dropped;
    {
        future_task cancelled([] { return 1; });
        await_into(of_cancelled, cancelled.get_future());
        cancelled.cancel();
        future_task dropped([] { return 1; });
        await_into(of_dropped, dropped.get_future());
    }
    EXPECT_THROW(std::rethrow_exception(of_cancelled.error), cancellation);
    EXPECT_THROW(std::rethrow_exception(of_dropped.error), cancellation);
}

TEST(future_await, goes_on_when_the_pool_is_gone) {
    outcome<int> seen;
    {
        const auto pool = executors::fixed_thread_pool(1);
        held_task occupies_the_worker(*pool);
        await_into(seen, pool->submit([] { return 1; }));
        pool->shutdown_now();
        EXPECT_TRUE(seen.over.is_open());
    }
    EXPECT_THROW(std::rethrow_exception(seen.error), cancellation);
}

TEST(future_await, forgets_a_coroutine_that_is_destroyed_while_it_waits) {
    for (const bool cancelled : {false, true}) {
        outcome<int> seen;
        future_task task([] { return 1; });
        const detached waiting = await_into(seen, task.get_future());
        waiting.handle.destroy();
        if (cancelled)
            task.cancel();
        else
            task();
        EXPECT_FALSE(seen.over.is_open());
    }
}

detached add_up(outcome<long>& sum, thread_pool_executor& pool, int count) {
    long so_far = 0;
    for (int i = 1; i <= count; ++i) so_far += co_await pool.submit([i] { return i; });
    sum.value = so_far;
    sum.over.open();
}

TEST(future_await, awaits_one_after_another) {
    outcome<long> sum;
    const auto pool = executors::fixed_thread_pool(2);
    add_up(sum, *pool, 10'000);
    EXPECT_TRUE(sum.over.wait());
    EXPECT_EQ(sum.value, 10'000L * 10'001 / 2);
}

TEST(future_await, leaks_nothing_if_there_is_no_memory_to_wait) {
    struct awaiting {  // the frame is there before the memory is gone
        static detached on(future<int> awaited, int succeeding, bool& refused) {
            const failing_allocation_scope scope(succeeding);
            try {
                co_await std::move(awaited);
            } catch (const std::bad_alloc&) {
                refused = true;
            }
        }
    };
    for (int succeeding = 0;; ++succeeding) {
        const auto before = blocks_in_use();
        bool refused = false;
        {
            future_task task([] { return 1; });
            awaiting::on(task.get_future(), succeeding, refused);
            task();
        }
        EXPECT_EQ(blocks_in_use(), before);
        if (!refused) break;
    }
}

TEST(future_await, may_be_asked_of_a_future_with_a_name) {
    future_task task([] { return 42; });
    int seen = 0;
    struct awaiting {
        static detached on(future<int>& awaited, int& seen) { seen = co_await awaited; }
    };
    auto named = task.get_future();
    awaiting::on(named, seen);
    EXPECT_FALSE(named.valid()) << "the value is given once";
    task();
    EXPECT_EQ(seen, 42);
}

}  // namespace
}  // namespace cadre::testing
