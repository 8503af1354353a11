// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/allocations.hpp"
#include "support/held_task.hpp"
#include "support/manual_executor.hpp"
#include "support/waiting_call.hpp"
#include <cadre/awaitable_queue.hpp>
#include <cadre/executors.hpp>

namespace cadre::testing {
namespace {

using parcel = std::unique_ptr<int>;
parcel parcel_of(int n) { return std::make_unique<int>(n); }

/// What a taker got: the number, -1 if the queue was closed; or its exception.
future<int> taker_of(awaitable_queue<parcel>& queue, executor& where, std::stop_token stop = {}) {
    const auto got = co_await queue.async_take(where, stop);
    co_return got ? **got : -1;
}

TEST(awaitable_queue, gives_what_is_there_at_once) {
    refusing_executor not_needed;
    awaitable_queue<parcel> queue;
    queue.put(parcel_of(1));
    EXPECT_TRUE(queue.offer(parcel_of(2)));
    EXPECT_EQ(taker_of(queue, not_needed).get(), 1);
    EXPECT_EQ(**queue.poll(), 2);
    EXPECT_FALSE(queue.poll());
}

// The putter that was woken for the room must not keep the wake-up to itself.
TEST(awaitable_queue, a_putter_that_gets_no_memory_leaves_the_room_to_the_next) {
    awaitable_queue<int> queue(1);
    queue.put(0);
    waiting_call fails([&] {
        const failing_allocation_scope nothing_left(0);
        queue.put(1);
    });
    waiting_call succeeds([&] { queue.put(2); });
    EXPECT_EQ(queue.poll(), 0);
    EXPECT_FALSE(fails.returned());
    EXPECT_TRUE(succeeds.returned());
    EXPECT_EQ(queue.poll(), 2);
}

TEST(awaitable_queue, a_putter_that_needs_no_room_any_more_leaves_it_to_the_next) {
    thread_pool_executor pool({.core_pool_size = 1});
    for (int round = 0; round < 50; ++round) {
        awaitable_queue<parcel> queue(1);
        queue.put(parcel_of(0));
        waiting_call one([&] { queue.put(parcel_of(1)); });
        waiting_call other([&] { queue.put(parcel_of(1)); });
        EXPECT_TRUE(queue.poll());  // wakes one of them, which then finds a taker
        auto first = taker_of(queue, pool);
        auto second = taker_of(queue, pool);
        EXPECT_TRUE(one.returned());
        EXPECT_TRUE(other.returned());
        EXPECT_EQ(first.get() + second.get(), 2);
    }
}

TEST(awaitable_queue, gives_later_elements_in_the_order_of_the_takers) {
    manual_executor queued;
    awaitable_queue<parcel> queue;
    auto first = taker_of(queue, queued);
    auto second = taker_of(queue, queued);
    queue.put(parcel_of(1));
    queue.put(parcel_of(2));
    EXPECT_EQ(queue.size(), 0u);
    EXPECT_FALSE(first.is_done());  // it goes on as a task
    queued.run_all();
    EXPECT_EQ(first.get(), 1);
    EXPECT_EQ(second.get(), 2);
}

// EX-15, EX-18
TEST(awaitable_queue, loses_no_element_for_want_of_memory) {
    int failures = 0;
    for (bool failed = true; failed; ++failures) {
        const auto pool = executors::fixed_thread_pool(1);
        awaitable_queue<parcel> queue;
        auto taken = taker_of(queue, *pool);
        auto element = parcel_of(1);
        try {
            const failing_allocation_scope no_memory(failures);
            failed = !queue.offer(std::move(element));
        } catch (const std::bad_alloc&) {
            ASSERT_TRUE(element);
            queue.put(std::move(element));
        }
        try {
            EXPECT_EQ(taken.get(), 1);
        } catch (const std::bad_alloc&) {
            EXPECT_EQ(**queue.poll(), 1);
            failed = true;
        }
    }
    EXPECT_GT(failures, 2);
}

TEST(awaitable_queue, loses_nothing_between_many_producers_and_takers) {
    const auto pool = executors::fixed_thread_pool(3);
    awaitable_queue<parcel> queue(8);
    const auto sum_up = [](awaitable_queue<parcel>& from, executor& where) -> future<long> {
        long sum = 0;
        while (auto next = co_await from.async_take(where)) sum += **next;
        co_return sum;
    };
    std::vector<future<long>> sums;
    for (int i = 0; i < 5; ++i) sums.push_back(sum_up(queue, *pool));
    std::vector<std::thread> producers;
    for (int p = 0; p < 3; ++p)
        producers.emplace_back([&] {
            for (int i = 1; i <= 500; ++i) queue.put(parcel_of(i));
        });
    for (auto& each : producers) each.join();
    queue.close();
    long sum = 0;
    for (auto& each : sums) sum += each.get();
    EXPECT_EQ(sum, 3L * 500 * 501 / 2);
}

TEST(awaitable_queue, tells_takers_that_it_is_closed_after_the_last_element) {
    inline_executor here;
    awaitable_queue<parcel> queue;
    auto waiting = taker_of(queue, here);
    queue.close();
    EXPECT_EQ(waiting.get(), -1);
    EXPECT_FALSE(queue.offer(parcel_of(1)));
    EXPECT_THROW(queue.put(parcel_of(1)), illegal_state);

    std::optional<awaitable_queue<parcel>> destroyed(std::in_place);
    auto last = taker_of(*destroyed, here);
    destroyed.reset();
    EXPECT_EQ(last.get(), -1);
}

TEST(awaitable_queue, holds_producers_back) {
    awaitable_queue<parcel> queue(1);
    queue.put(parcel_of(1));
    EXPECT_FALSE(queue.offer(parcel_of(2)));
    waiting_call put([&] { queue.put(parcel_of(2)); });
    EXPECT_FALSE(put.is_over());
    EXPECT_EQ(**queue.poll(), 1);
    EXPECT_TRUE(put.returned());
    EXPECT_EQ(**queue.poll(), 2);
    EXPECT_THROW(awaitable_queue<int>(0), std::invalid_argument);
}

TEST(awaitable_queue, lets_a_stop_end_the_wait) {
    manual_executor queued;
    awaitable_queue<parcel> queue;
    std::stop_source stop;
    auto waiting = taker_of(queue, queued, stop.get_token());
    auto next = taker_of(queue, queued);
    stop.request_stop();
    EXPECT_FALSE(waiting.is_done());  // it goes on as a task
    queue.put(parcel_of(1));
    queued.run_all();
    EXPECT_THROW(waiting.get(), cancellation);
    EXPECT_EQ(next.get(), 1);
    EXPECT_THROW(taker_of(queue, queued, stop.get_token()).get(), cancellation);
}

TEST(awaitable_queue, keeps_the_element_of_a_taker_that_its_executor_refuses) {
    refusing_executor refuses;
    manual_executor queued;
    awaitable_queue<parcel> queue;
    auto refused = taker_of(queue, refuses);
    queue.put(parcel_of(1));
    EXPECT_THROW(refused.get(), rejected_execution);
    EXPECT_EQ(queue.size(), 1u);

    EXPECT_EQ(taker_of(queue, queued).get(), 1);
    auto dropped = taker_of(queue, queued);
    auto next = taker_of(queue, queued);
    queue.put(parcel_of(2));
    queued.drop_all();
    EXPECT_THROW(dropped.get(), cancellation);
    queued.run_all();
    EXPECT_EQ(next.get(), 2);
}

TEST(awaitable_queue, tells_any_number_of_takers_that_they_are_refused) {
    refusing_executor refuses;
    awaitable_queue<parcel> queue;
    std::vector<future<int>> takers;
    for (int i = 0; i < 20'000; ++i) takers.push_back(taker_of(queue, refuses));
    queue.put(parcel_of(1));
    for (auto& each : takers) EXPECT_THROW(each.get(), rejected_execution);
    EXPECT_EQ(queue.size(), 1u);
}

TEST(awaitable_queue, lets_a_taker_go_on_in_the_producer_if_its_executor_runs_it_at_once) {
    inline_executor here;
    awaitable_queue<parcel> queue;
    auto taker = taker_of(queue, here);
    queue.put(parcel_of(1));
    EXPECT_TRUE(taker.is_done());
    EXPECT_EQ(taker.get(), 1);
}

/// A coroutine in the hands of the test.
struct owned {
    struct promise_type {
        owned get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

TEST(awaitable_queue, forgets_a_taker_that_is_destroyed_while_it_waits) {
    manual_executor queued;
    awaitable_queue<parcel> queue;
    const auto take = [](awaitable_queue<parcel>& from, executor& where) -> owned {
        co_await from.async_take(where);
        ADD_FAILURE() << "went on after its end";
    };
    take(queue, queued).handle.destroy();
    queue.put(parcel_of(1));
    EXPECT_EQ(queue.size(), 1u);
    EXPECT_EQ(**queue.poll(), 1);

    const owned with_an_element = take(queue, queued);
    queue.put(parcel_of(2));
    with_an_element.handle.destroy();
    queued.run_all();
    EXPECT_EQ(**queue.poll(), 2);
}

}  // namespace
}  // namespace cadre::testing
