// SPDX-License-Identifier: Apache-2.0
//
// What must not fail for want of memory: stops, ends, and the results of coroutines.

#include <cadre/cadre.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "support/allocations.hpp"
#include "support/exceptions.hpp"
#include "support/manual_executor.hpp"
#include "support/pools.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

TEST(out_of_memory, a_stop_reaches_the_token_that_a_task_had_at_the_second_attempt) {
    std::atomic<int> attempts = 0;
    std::atomic<bool> stopped = false;
    thread_pool_executor pool({.core_pool_size = 1});
    std::latch started(1);
    pool.execute([&] {
        std::stop_token token;
        attempts = 1 + fail_each_allocation([&] { token = this_thread::stop_token(); }, [] {});
        started.count_down();
        try {
            sleep_until_interrupted();
        } catch (const interrupted&) {
            stopped = token.stop_requested();
        }
    });
    started.wait();
    pool.shutdown_now();
    pool.close();
    EXPECT_GE(attempts, 3) << "for the source, and for a place in the list of the thread";
    EXPECT_TRUE(stopped);
}

TEST(out_of_memory, a_thread_can_be_told_to_stop_all_that_it_runs) {
    std::thread([] {
        auto& self = detail::thread_control::current();
        detail::stop_slot outer, inner;
        const auto one = outer.stop_token(self);
        const auto two = inner.stop_token(self);
        {
            const failing_allocation_scope nothing_left(0);
            self.request_stop_all();
        }
        EXPECT_TRUE(one.stop_requested());
        EXPECT_TRUE(two.stop_requested());
        detail::stop_slot later;
        EXPECT_TRUE(later.stop_token(self).stop_requested());
        for (auto* slot : {&outer, &inner, &later}) slot->reset(self);
        EXPECT_TRUE(self.stop_if_no_sources());
    }).join();
}

TEST(out_of_memory, shutdown_now_reaches_all_that_run) {
    std::atomic<int> interrupted_tasks = 0;
    std::atomic<bool> stopped = false;
    thread_pool_executor pool({.core_pool_size = 2});
    std::latch started(2);
    const auto sleep = [&] {
        started.count_down();
        try {
            sleep_until_interrupted();
        } catch (const interrupted&) {
            ++interrupted_tasks;
        }
    };
    pool.execute(sleep);
    pool.execute([&] {
        const auto token = this_thread::stop_token();
        sleep();
        stopped = token.stop_requested();
    });
    started.wait();
    pool.execute([] {});
    {
        const failing_allocation_scope nothing_left(0);
        EXPECT_THROW(pool.shutdown_now(), std::bad_alloc) << "for the list of what never ran";
    }
    pool.close();
    EXPECT_EQ(interrupted_tasks, 2);
    EXPECT_TRUE(stopped);
    EXPECT_EQ(pool.shutdown_now().size(), 1u) << "it is there for who asks again";
}

TEST(out_of_memory, an_interrupt_ends_a_wait) {
    const auto self = thread_handle::current();
    for (const auto wait : {+[] { sleep_until_interrupted(); }, &this_thread::interruption_point}) {
        self.interrupt();
        const failing_allocation_scope nothing_left(0);
        EXPECT_THROW(wait(), interrupted);
        EXPECT_FALSE(self.is_interrupted());
    }
}

TEST(out_of_memory, a_task_can_wait_for_another) {
    thread_pool_executor pool({.core_pool_size = 1});
    future_task<int> awaited(named("a name that is not kept in place", [] { return 1; }));
    auto result = awaited.get_future();
    std::optional<waiting_thread> waiter;
    std::latch known(1);
    auto outer = pool.submit([&] {
        waiter = waiting_thread::current();
        known.count_down();
        const failing_allocation_scope nothing_left(0);
        return result.get();
    });
    known.wait();
    EXPECT_TRUE(eventually([&] { return outer.is_done() || waiter->waits(); }));
    awaited();
    EXPECT_EQ(outer.get(), 1);
}

TEST(out_of_memory, a_completion_service_delivers_what_is_complete) {
    manual_executor later;
    executor_completion_service<int> service(later);
    const auto sent = service.submit([] { return 1; });
    {
        const failing_allocation_scope nothing_left(0);
        EXPECT_NO_THROW(later.run_one());
    }
    auto delivered = service.poll();
    ASSERT_TRUE(delivered);
    EXPECT_EQ(*delivered, sent);
    EXPECT_EQ(delivered->get(), 1);
}

TEST(out_of_memory, an_interrupted_close_that_fails_keeps_the_interrupt) {
    std::latch begun(1), go_on(1);
    thread_pool_executor pool({.core_pool_size = 1});
    pool.execute([&] {
        begun.count_down();
        go_on.wait();
    });
    begun.wait();
    pool.execute([] {});
    thread_handle::current().interrupt();
    {
        const failing_allocation_scope nothing_left(0);
        EXPECT_THROW(pool.close(), std::bad_alloc) << "for the list of what never ran";
    }
    EXPECT_TRUE(this_thread::interrupted());
    go_on.count_down();
}

// An exception takes memory, and a destructor has nobody to tell that there is none.
TEST(out_of_memory, the_destructor_of_a_pool_makes_no_exception_of_an_interrupt) {
    auto pool = executors::fixed_thread_pool(1);
    std::latch begun(1);
    pool->execute([&begun, &inside = *pool] {
        begun.count_down();
        while (!inside.is_shutdown()) std::this_thread::yield();
    });
    begun.wait();
    thread_handle::current().interrupt();
    const auto before = exceptions_here();
    pool.reset();
    EXPECT_EQ(exceptions_here(), before);
    EXPECT_TRUE(this_thread::interrupted()) << "it is for the next wait";
}

TEST(out_of_memory, the_destructor_of_a_task_group_makes_no_exception_of_an_interrupt) {
    thread_pool_executor pool({.core_pool_size = 1});
    std::latch begun(1);
    std::size_t before = 0;
    {
        task_group group(pool);
        group.submit([&](std::stop_token stop) {
            begun.count_down();
            while (!stop.stop_requested()) std::this_thread::yield();
        });
        begun.wait();
        thread_handle::current().interrupt();
        before = exceptions_here();
    }
    EXPECT_EQ(exceptions_here(), before);
    EXPECT_TRUE(this_thread::interrupted());
}

/// Can be moved so many times. The next move finds no memory, as that of a std::deque may.
struct moved_often {
    int left;
    explicit moved_often(int moves) : left(moves) {}
    moved_often(moved_often&& other) : left(other.left - 1) {
        if (other.left == 0) throw std::bad_alloc();
    }
};

future<moved_often> comes_after(int moves) { co_return moved_often(moves); }

TEST(out_of_memory, a_result_of_a_coroutine_that_cannot_be_moved_is_an_error) {
    int enough = 0;
    for (bool got = false; !got; ++enough) {
        auto result = comes_after(enough);
        EXPECT_TRUE(result.is_done());
        try {
            (void)result.get();
            got = true;
        } catch (const std::bad_alloc&) {}
    }
    EXPECT_GE(enough, 3) << "out of the coroutine, into the future, and to whoever asks";
}

}  // namespace
}  // namespace cadre::testing
