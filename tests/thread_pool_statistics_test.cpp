// SPDX-License-Identifier: Apache-2.0
#include <cadre/thread_pool_executor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/held_task.hpp"
#include "support/pools.hpp"

namespace cadre::testing {
namespace {

// TPE-032
TEST(thread_pool_statistics, counts_a_running_task_as_active) {
    gate may_end;
    thread_pool_executor pool(2, 2, 1h, room_for(10));
    EXPECT_EQ(pool.active_count(), 0);
    auto inside = pool.submit([&] {
        const int seen = pool.active_count();
        may_end.wait();
        return seen;
    });
    ASSERT_TRUE(eventually([&] { return inside.state() == future_state::running; }));
    EXPECT_EQ(pool.active_count(), 1);
    may_end.open();
    EXPECT_EQ(inside.get(), 1);
    EXPECT_TRUE(eventually([&] { return pool.active_count() == 0; }));
}

// TPE-033
TEST(thread_pool_statistics, counts_a_task_as_completed_when_it_has_ended) {
    std::atomic<std::int64_t> inside = -1;
    thread_pool_executor pool(2, 2, 1h, room_for(10));
    EXPECT_EQ(pool.completed_task_count(), 0);
    {
        gate may_end;
        pool.execute([&] {
            inside = pool.completed_task_count();
            may_end.wait();
        });
        ASSERT_TRUE(eventually([&] { return inside != -1; }));
        EXPECT_EQ(inside, 0);
        EXPECT_EQ(pool.completed_task_count(), 0);
        may_end.open();
        ASSERT_TRUE(has_completed(pool, 1));
    }
    EXPECT_EQ(pool.completed_task_count(), 1);
}

// TPE-034
TEST(thread_pool_statistics, remembers_the_largest_pool_size) {
    thread_pool_executor pool(3, 3, 1h, room_for(10));
    EXPECT_EQ(pool.largest_pool_size(), 0);
    {
        held_tasks held(pool, 3);
        ASSERT_TRUE(held.have_started(3));
        EXPECT_EQ(pool.largest_pool_size(), 3);
    }
    pool.close();
    EXPECT_EQ(pool.pool_size(), 0);
    EXPECT_EQ(pool.largest_pool_size(), 3);
}

// TPE-035
TEST(thread_pool_statistics, counts_running_queued_and_finished_tasks) {
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    EXPECT_EQ(pool.task_count(), 0);
    EXPECT_EQ(pool.completed_task_count(), 0);
    {
        held_task held(pool);
        EXPECT_EQ(pool.task_count(), 1);
        for (int i = 1; i <= 3; ++i) {
            pool.execute([] {});
            EXPECT_EQ(pool.task_count(), 1 + i);
            EXPECT_EQ(pool.completed_task_count(), 0);
        }
    }
    pool.close();
    EXPECT_EQ(pool.task_count(), 4);
    EXPECT_EQ(pool.completed_task_count(), 4);
}

// TPE-036
TEST(thread_pool_statistics, shows_the_very_queue_with_what_waits_in_it) {
    auto queue = room_for(10);
    const auto* given = queue.get();
    thread_pool_executor pool(1, 1, 1h, std::move(queue));
    EXPECT_EQ(&pool.queue(), given);
    EXPECT_EQ(&std::as_const(pool).queue(), given);
    held_task held(pool);
    for (const auto* name : {"a", "b", "c", "d"}) pool.execute(named(name, [] {}));
    EXPECT_EQ(pool.queue().size(), 4u);
    std::string names;
    pool.queue().for_each([&](const task& t) { names += t.name(); });
    EXPECT_EQ(names, "abcd");
}

// TPE-037
TEST(thread_pool_statistics, removes_a_queued_task_and_no_other) {
    std::atomic<int> runs = 0;
    gate may_end;
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    auto running = pool.submit([&] { may_end.wait(); });
    ASSERT_TRUE(eventually([&] { return running.state() == future_state::running; }));
    auto removed = pool.submit([&] { ++runs; });
    auto stays = pool.submit([&] { ++runs; });

    EXPECT_FALSE(pool.remove(running));
    EXPECT_TRUE(pool.remove(removed));
    EXPECT_FALSE(pool.remove(removed));
    EXPECT_EQ(pool.queue().size(), 1u);
    EXPECT_TRUE(removed.is_cancelled());
    may_end.open();
    stays.get();
    pool.close();
    EXPECT_EQ(runs, 1);
    EXPECT_FALSE(pool.remove(stays));
    EXPECT_EQ(pool.completed_task_count(), 2);
}

// TPE-037
TEST(thread_pool_statistics, removes_by_a_shared_future_too) {
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    held_task held(pool);
    auto queued = pool.submit([] { return 1; }).share();
    EXPECT_TRUE(pool.remove(queued));
    EXPECT_THROW(queued.get(), cancellation);
}

TEST(thread_pool_statistics, removes_nothing_for_a_task_of_another_pool_or_of_none) {
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    thread_pool_executor other(1, 1, 1h, room_for(10));
    held_task held(pool);
    held_task held_too(other);
    auto queued = other.submit([] {});
    pool.execute([] {});
    EXPECT_FALSE(pool.remove(queued));
    EXPECT_FALSE(pool.remove(future<int>()));
    EXPECT_EQ(pool.queue().size(), 1u);
    EXPECT_EQ(other.queue().size(), 1u);
}

TEST(thread_pool_statistics, removes_by_name) {
    std::string ran;
    {
        thread_pool_executor pool(1, 1, 1h, room_for(10));
        held_task held(pool);
        for (const auto* name : {"a", "b", "a", "c"})
            pool.execute(named(name, [&ran, name] { ran += name; }));
        EXPECT_EQ(pool.remove_if([](const task& t) { return t.name() == "a"; }), 2u);
        EXPECT_EQ(pool.queue().size(), 2u);
    }
    EXPECT_EQ(ran, "bc");
}

TEST(thread_pool_statistics, removing_the_last_queued_task_lets_a_shut_down_pool_terminate) {
    thread_pool_executor pool(
        {.core_pool_size = 0, .thread_factory = [](auto) { return thread(); }});
    auto stranded = pool.submit([] {});  // no thread could be made
    EXPECT_EQ(pool.queue().size(), 1u);
    pool.shutdown();
    EXPECT_FALSE(pool.is_terminated());
    EXPECT_TRUE(pool.remove(stranded));
    EXPECT_TRUE(pool.is_terminated());
}

TEST(thread_pool_statistics, keeps_a_cancelled_task_queued_until_it_is_purged) {
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    held_task held(pool);
    auto cancelled = pool.submit([] {});
    auto stays = pool.submit([] {});
    pool.execute([] {});
    EXPECT_TRUE(cancelled.cancel());
    EXPECT_EQ(pool.queue().size(), 3u);
    EXPECT_EQ(pool.task_count(), 4);
    pool.purge();
    EXPECT_EQ(pool.queue().size(), 2u);
    EXPECT_EQ(pool.task_count(), 3);
    held.let_go();
    stays.get();
}

TEST(thread_pool_statistics, drops_a_cancelled_task_at_once_if_told_so) {
    thread_pool_executor pool(
        {.core_pool_size = 1, .queue = room_for(10), .remove_on_cancel = true});
    held_task held(pool);
    auto cancelled = pool.submit([] {});
    auto stays = pool.submit([] {});
    EXPECT_TRUE(cancelled.cancel());
    EXPECT_EQ(pool.queue().size(), 1u);
    held.let_go();
    stays.get();
}

TEST(thread_pool_statistics, a_cancelled_task_that_is_reached_counts_as_completed_and_never_ran) {
    bool ran = false;
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    {
        held_task held(pool);
        EXPECT_TRUE(pool.submit([&] { ran = true; }).cancel());
    }
    pool.close();
    EXPECT_FALSE(ran);
    EXPECT_EQ(pool.completed_task_count(), 2);
}

TEST(thread_pool_statistics, a_snapshot_tells_all_at_once) {
    thread_pool_executor pool({.core_pool_size = 1,
                               .maximum_pool_size = 2,
                               .keep_alive = 7s,
                               .queue = room_for(3),
                               .name = "orders"});
    pool.submit([] {}).get();
    ASSERT_TRUE(has_completed(pool, 1));
    held_tasks held(pool, 2);
    ASSERT_TRUE(held.have_started(1));
    pool.execute([] {});
    const auto s = pool.snapshot();
    EXPECT_EQ(s.name, "orders");
    EXPECT_EQ(s.state, run_state::running);
    EXPECT_EQ(s.core_pool_size, 1);
    EXPECT_EQ(s.maximum_pool_size, 2);
    EXPECT_EQ(s.keep_alive, 7s);
    EXPECT_FALSE(s.allows_core_thread_time_out);
    EXPECT_EQ(s.pool_size, 1);
    EXPECT_EQ(s.active_count, 1);
    EXPECT_EQ(s.largest_pool_size, 1);
    EXPECT_EQ(s.queue_size, 2u);
    EXPECT_EQ(s.queue_remaining_capacity, 1u);
    EXPECT_EQ(s.task_count, 4);
    EXPECT_EQ(s.completed_task_count, 1);
    EXPECT_EQ(s.rejected_task_count, 0);
    EXPECT_EQ(s.uncaught_count, 0);
}

TEST(thread_pool_statistics, a_snapshot_counts_rejections_and_lost_errors) {
    thread_pool_executor pool({.core_pool_size = 1,
                               .queue = no_room(),
                               .rejection = discard_policy{},
                               .hooks = {.uncaught_exception = [](auto&&...) {}}});
    pool.execute([] { throw 1; });
    ASSERT_TRUE(has_completed(pool, 1));
    pool.shutdown();
    pool.execute([] {});
    pool.execute([] {});
    EXPECT_EQ(pool.snapshot().rejected_task_count, 2);
    EXPECT_EQ(pool.snapshot().uncaught_count, 1);
}

TEST(thread_pool_statistics, counts_every_rejection_of_several_threads) {
    thread_pool_executor pool({.core_pool_size = 1, .rejection = discard_policy{}});
    pool.shutdown();
    constexpr int each = 10'000;
    const auto submit_all = [&] {
        for (int i = 0; i < each; ++i) pool.execute([] {});
    };
    {
        std::vector<std::jthread> others(3);
        for (auto& other : others) other = std::jthread(submit_all);
        submit_all();
    }
    EXPECT_EQ(pool.snapshot().rejected_task_count, 4 * each);
}

std::int64_t submitted_to(const thread_pool_executor& pool) {
    return pool.snapshot().submitted_task_count;
}

TEST(thread_pool_statistics, counts_what_was_submitted_whatever_became_of_it) {
    thread_pool_executor pool(
        {.core_pool_size = 1, .queue = room_for(3), .remove_on_cancel = false});
    EXPECT_EQ(submitted_to(pool), 0);
    {
        held_task held(pool);
        EXPECT_EQ(submitted_to(pool), 1);
        auto removed = pool.submit([] {});
        auto purged = pool.submit([] {});
        pool.execute(named("unwanted", [] {}));
        EXPECT_EQ(submitted_to(pool), 4);
        EXPECT_THROW(pool.execute([] {}), rejected_execution);
        EXPECT_EQ(submitted_to(pool), 5);
        EXPECT_TRUE(pool.remove(removed));
        EXPECT_FALSE(pool.remove(removed));
        purged.cancel();
        pool.purge();
        EXPECT_EQ(pool.remove_if([](const task& t) { return t.name() == "unwanted"; }), 1u);
        EXPECT_EQ(submitted_to(pool), 5);
        pool.execute([] {});
    }
    ASSERT_TRUE(has_completed(pool, 2));
    EXPECT_EQ(submitted_to(pool), 6);
    held_task held(pool);
    pool.execute([] {});
    EXPECT_EQ(pool.shutdown_now().size(), 1u);
    EXPECT_THROW(pool.execute([] {}), rejected_execution);
    EXPECT_EQ(submitted_to(pool), 9);
}

TEST(thread_pool_statistics, counts_a_task_that_left_when_it_was_cancelled_as_submitted) {
    thread_pool_executor pool({.core_pool_size = 1, .remove_on_cancel = true});
    held_task held(pool);
    auto cancelled = pool.submit([] {});
    cancelled.cancel();
    EXPECT_TRUE(pool.queue().empty());
    EXPECT_EQ(submitted_to(pool), 2);
}

TEST(thread_pool_statistics, counts_a_task_once_as_submitted_whatever_its_rejection_led_to) {
    for (const cadre::rejected_execution_handler& handler :
         {cadre::rejected_execution_handler(caller_runs_policy{}),
          cadre::rejected_execution_handler(discard_policy{}),
          cadre::rejected_execution_handler(discard_oldest_policy{})}) {
        thread_pool_executor pool(
            {.core_pool_size = 1, .queue = room_for(1), .rejection = handler});
        {
            held_task held(pool);
            pool.execute([] {});
            for (int i = 0; i < 3; ++i) pool.execute([] {});
            EXPECT_EQ(submitted_to(pool), 5);
        }
        pool.close();
        EXPECT_EQ(submitted_to(pool), 5);
    }
    const auto lets_it_in_after_all = [](task t, thread_pool_executor& pool) {
        pool.set_maximum_pool_size(2);
        block_policy{}(std::move(t), pool);
    };
    thread_pool_executor pool(
        {.core_pool_size = 1, .queue = room_for(1), .rejection = lets_it_in_after_all});
    held_tasks held(pool, 2);
    held.add_to(pool);
    EXPECT_TRUE(held.have_started(2));
    EXPECT_EQ(pool.snapshot().rejected_task_count, 1);
    EXPECT_EQ(submitted_to(pool), 3);
}

TEST(thread_pool_statistics, counts_a_task_for_which_no_thread_could_be_made_as_submitted) {
    thread_pool_executor pool({.core_pool_size = 1, .thread_factory = [](auto) -> thread {
                                   throw std::runtime_error("no thread");
                               }});
    EXPECT_THROW(pool.execute([] {}), std::runtime_error);
    EXPECT_EQ(submitted_to(pool), 1);
}

TEST(thread_pool_statistics, what_was_submitted_never_falls_and_is_exact_in_the_end) {
    thread_pool_executor pool({.core_pool_size = 2, .queue = room_for(8)});
    pool.set_rejected_execution_handler(discard_oldest_policy{});
    constexpr int each = 5'000;
    std::atomic<bool> over = false;
    {
        std::jthread reader([&] {
            std::int64_t last = 0;
            while (!over) {
                const auto now = submitted_to(pool);
                EXPECT_GE(now, last);
                last = now;
            }
        });
        {
            const auto submit_all = [&] {
                for (int i = 0; i < each; ++i) pool.execute([] {});
            };
            std::jthread other(submit_all);
            submit_all();
        }
        over = true;
    }
    pool.close();
    EXPECT_EQ(submitted_to(pool), 2 * each);
}

TEST(thread_pool_statistics, prints_itself_in_the_words_of_the_jdk) {
    gate may_end;
    thread_pool_executor pool({.core_pool_size = 1, .queue = room_for(3), .name = "orders"});
    pool.submit([] {}).get();
    ASSERT_TRUE(has_completed(pool, 1));
    held_task held(pool);
    pool.execute([] {});
    EXPECT_EQ(pool.to_string(),
              "thread_pool_executor@orders[Running, pool size = 1, active threads = 1, "
              "queued tasks = 1, completed tasks = 1]");
    pool.shutdown();
    EXPECT_EQ(pool.to_string(),
              "thread_pool_executor@orders[Shutting down, pool size = 1, active threads = 1, "
              "queued tasks = 1, completed tasks = 1]");
    held.let_go();
    ASSERT_TRUE(pool.await_termination(guard));
    EXPECT_EQ(pool.to_string(),
              "thread_pool_executor@orders[Terminated, pool size = 0, active threads = 0, "
              "queued tasks = 0, completed tasks = 3]");
}

}  // namespace
}  // namespace cadre::testing
