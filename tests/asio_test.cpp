// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "support/allocations.hpp"
#include "support/held_task.hpp"
#include <cadre/asio.hpp>
#include <cadre/executors.hpp>

namespace cadre::testing {
namespace {

std::thread::id worker_of(thread_pool_executor& pool) {
    return pool.submit([] { return std::this_thread::get_id(); }).get();
}

TEST(asio_context, runs_what_is_posted_on_the_pool) {
    gate over;
    const auto pool = executors::fixed_thread_pool(1);
    asio_context context(*pool);
    std::thread::id ran_on;
    asio::post(context.get_executor(), [&, moved = std::make_unique<int>(1)] {
        ran_on = std::this_thread::get_id();
        over.open();
    });
    ASSERT_TRUE(over.wait());
    EXPECT_EQ(ran_on, worker_of(*pool));
}

TEST(asio_context, keeps_what_the_executor_needs_until_that_has_taken_what_is_posted) {
    struct kept_executor : executor {
        std::shared_ptr<const int> state = std::make_shared<int>();
        long holders = 0;
        void execute(task t) override {
            t();
            holders = state.use_count() - 1;
        }
        std::shared_ptr<const void> kept() const override { return state; }
    } where;
    asio_context context(where);
    asio::post(context.get_executor(), [] {});
    EXPECT_EQ(where.holders, 1);
    EXPECT_EQ(where.state.use_count(), 1);
}

TEST(asio_context, tells_its_maker_that_there_is_no_memory) {
    const auto pool = executors::fixed_thread_pool(1);
    int made = 0;
    const int failures = fail_each_allocation(
        [&] {
            asio_context context(*pool);
            ++made;
        },
        [] {});
    EXPECT_GT(failures, 0);
    EXPECT_EQ(made, 1);
}

TEST(asio_context, refuses_where_it_is_posted) {
    const auto pool = executors::fixed_thread_pool(1);
    asio_context context(*pool);
    pool->shutdown();
    EXPECT_THROW(asio::post(context, [] {}), rejected_execution);
}

/// A part of a handler, which opens the gate when the handler is gone.
std::shared_ptr<void> opens_at_its_end(gate& gone) {
    return {nullptr, [&gone](void*) { gone.open(); }};
}

TEST(asio_context, drops_the_handler_of_a_timer_that_the_pool_refuses) {
    gate gone;
    const auto pool = executors::fixed_thread_pool(1);
    ::testing::internal::CaptureStderr();
    {
        asio_context context(*pool);
        pool->shutdown();
        asio::steady_timer timer(context, std::chrono::milliseconds(1));
        timer.async_wait([part = opens_at_its_end(gone)](asio::error_code) { ADD_FAILURE(); });
        EXPECT_TRUE(gone.wait());
    }
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::HasSubstr("uncaught in a handler of Asio: a task was rejected"));
}

TEST(asio_context, keeps_the_order_of_a_strand) {
    std::vector<int> ran;
    gate over;
    const auto pool = executors::fixed_thread_pool(3);
    asio_context context(*pool);
    const auto lane = asio::make_strand(context.get_executor());
    for (int i = 0; i < 500; ++i) asio::post(lane, [&, i] { ran.push_back(i); });
    asio::post(lane, [&] { over.open(); });
    ASSERT_TRUE(over.wait());
    ASSERT_EQ(ran.size(), 500u);
    for (int i = 0; i < 500; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

TEST(asio_context, runs_the_handlers_of_timers_on_the_pool) {
    gate over;
    const auto pool = executors::fixed_thread_pool(1);
    asio_context context(*pool);
    asio::steady_timer timer(context.get_executor(), std::chrono::milliseconds(1));
    std::thread::id ran_on;
    timer.async_wait([&](asio::error_code error) {
        EXPECT_FALSE(error);
        ran_on = std::this_thread::get_id();
        over.open();
    });
    ASSERT_TRUE(over.wait());
    EXPECT_EQ(ran_on, worker_of(*pool));
}

TEST(asio_context, waits_at_its_end_for_what_was_posted) {
    std::atomic<int> ran = 0;
    const auto pool = executors::fixed_thread_pool(2);
    {
        asio_context context(*pool);
        const auto lane = asio::make_strand(context.get_executor());
        for (int i = 0; i < 100; ++i) asio::post(lane, [&] { ++ran; });
    }
    EXPECT_EQ(ran, 100);
}

#ifdef ASIO_HAS_CO_AWAIT
TEST(asio_context, spawns_coroutines) {
    gate over;
    const auto pool = executors::fixed_thread_pool(1);
    asio_context context(*pool);
    std::thread::id ran_on;
    const auto sleep = [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(1));
        co_await timer.async_wait(asio::use_awaitable);
        ran_on = std::this_thread::get_id();
        over.open();
    };
    asio::co_spawn(context.get_executor(), sleep, asio::detached);
    ASSERT_TRUE(over.wait());
    EXPECT_EQ(ran_on, worker_of(*pool));
}

asio::awaitable<void> wait_for(asio::steady_timer& timer, std::shared_ptr<void>) {
    co_await timer.async_wait(asio::use_awaitable);
}

TEST(asio_context, ends_a_coroutine_that_the_pool_drops) {
    gate gone;
    const auto pool = executors::fixed_thread_pool(1);
    asio_context context(*pool);
    asio::steady_timer timer(context);
    const held_task occupies_the_worker(*pool);
    asio::co_spawn(context, wait_for(timer, opens_at_its_end(gone)), asio::detached);
    pool->shutdown_now();
    EXPECT_TRUE(gone.is_open());
}

TEST(asio_context, ends_a_coroutine_with_which_the_pool_refuses_to_go_on) {
    gate gone;
    const auto pool = executors::fixed_thread_pool(1);
    ::testing::internal::CaptureStderr();
    {
        asio_context context(*pool);
        asio::steady_timer timer(context, std::chrono::hours(1));
        asio::co_spawn(context, wait_for(timer, opens_at_its_end(gone)), asio::detached);
        pool->submit([] {}).get();  // behind the coroutine, which waits
        pool->shutdown();
        timer.cancel();
        EXPECT_TRUE(gone.wait());
    }
    ::testing::internal::GetCapturedStderr();
}

TEST(asio_context, ends_coroutines_that_are_on_their_way_with_it) {
    std::atomic<int> alive = 0;
    const auto pool = executors::fixed_thread_pool(2);
    for (int round = 0; round < 200; ++round) {
        asio_context context(*pool);
        // Counts the coroutine in for as long as there is something of it.
        const auto counted = [&] {
            ++alive;
            return std::shared_ptr<void>(nullptr, [&](void*) { --alive; });
        };
        const auto repeat = [](auto pause, std::shared_ptr<void>) -> asio::awaitable<void> {
            asio::steady_timer timer(co_await asio::this_coro::executor);
            for (;;) {
                timer.expires_after(pause);
                co_await timer.async_wait(asio::use_awaitable);
            }
        };
        const auto executor = context.get_executor();
        asio::co_spawn(executor, repeat(std::chrono::hours(1), counted()), asio::detached);
        asio::co_spawn(executor, repeat(std::chrono::microseconds(50), counted()), asio::detached);
        for (int i = round % 7; i > 0; --i) std::this_thread::yield();
    }
    EXPECT_EQ(alive, 0);
}
#endif

}  // namespace
}  // namespace cadre::testing
