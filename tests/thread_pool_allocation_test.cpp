// SPDX-License-Identifier: Apache-2.0
#include <cadre/thread_pool_executor.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/usage.hpp"

namespace cadre::testing {
namespace {

/// A callable of exactly 48 bytes that counts its runs.
struct callable_48 {
    std::atomic<int>* runs;
    std::array<std::byte, 40> rest = {};
    void operator()() const { ++*runs; }
};
static_assert(sizeof(callable_48) == 48);

/// Runs enough tasks for the queue and the thread to have what they need.
void warm_up(thread_pool_executor& pool, int tasks) {
    std::atomic<int> runs = 0;
    for (int round = 0; round < 3; ++round) {
        held_task held(pool);
        for (int i = 0; i < tasks; ++i) pool.execute(callable_48{&runs});
        held.let_go();
        ASSERT_TRUE(eventually([&] { return runs == (round + 1) * tasks; }));
    }
    ASSERT_TRUE(eventually([&] { return pool.active_count() == 0; }));
}

struct named_queue {
    const char* name;
    std::function<std::unique_ptr<blocking_queue<task>>()> make;
};
class thread_pool_allocation_by_queue : public ::testing::TestWithParam<named_queue> {};
INSTANTIATE_TEST_SUITE_P(queues, thread_pool_allocation_by_queue,
                         ::testing::Values(named_queue{"array", [] { return room_for(200); }},
                                           named_queue{"linked", [] { return any_room(); }}),
                         [](const auto& queue) { return queue.param.name; });

TEST_P(thread_pool_allocation_by_queue, executing_a_callable_of_48_bytes_allocates_nothing) {
    constexpr int tasks = 100;
    std::atomic<int> runs = 0;
    thread_pool_executor pool(1, 1, 1h, GetParam().make());
    warm_up(pool, tasks);
    const auto worker_before = pool.submit([] { return allocations_here(); }).get();
    const auto before = allocations_here();
    for (int i = 0; i < tasks; ++i) pool.execute(callable_48{&runs});
    EXPECT_EQ(allocations_here() - before, 0u) << "by the submitter";
    ASSERT_TRUE(eventually([&] { return runs == tasks; }));
    const auto worker_after = pool.submit([] { return allocations_here(); }).get();
    EXPECT_EQ(worker_after - worker_before, 0u) << "by the worker";
}

// The state comes from recycled memory, which is no allocation at all once there was one before.
TEST_P(thread_pool_allocation_by_queue, submitting_a_task_allocates_nothing_but_its_state) {
    constexpr std::size_t tasks = 100;
    thread_pool_executor pool(1, 1, 1h, GetParam().make());
    warm_up(pool, tasks);
    std::vector<future<int>> results;
    results.reserve(tasks);
    const auto before = allocations_here();
    for (std::size_t i = 0; i < tasks; ++i)
        results.push_back(pool.submit([big = std::array<char, 200>()] { return int{big[0]}; }));
    EXPECT_EQ(allocations_here() - before, 0u);
    for (auto& result : results) EXPECT_EQ(result.get(), 0);
}

TEST_P(thread_pool_allocation_by_queue, what_the_pool_took_it_gives_back) {
    const auto before = blocks_in_use();
    const auto memory_before = memory_in_use();
    {
        thread_pool_executor pool(2, 4, 1ms, GetParam().make());
        for (int i = 0; i < 100; ++i) {
            pool.execute([] {});
            (void)pool.submit([] { return std::string(100, 'x'); });
        }
    }
    EXPECT_LE(blocks_in_use(), before);
    EXPECT_LT(memory_in_use(), memory_before + 100'000);
}

TEST(thread_pool_allocation, a_larger_callable_lives_in_recycled_memory) {
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    warm_up(pool, 5);
    const auto before = allocations_here();
    pool.execute([big = std::array<char, 200>()] { (void)big; });
    EXPECT_EQ(allocations_here() - before, 0u);
}

/// A pool, and what the tasks it accepted have done.
struct swept_pool {
    std::atomic<int> runs = 0;
    int accepted = 0;
    thread_pool_executor pool{{.core_pool_size = 2,
                               .maximum_pool_size = 4,
                               .queue = std::make_unique<linked_blocking_queue<task>>(10),
                               .hooks = {.uncaught_exception = [](auto&&...) {}},
                               .remove_on_cancel = true}};

    /// Expects that everything accepted has run, and nothing else, when the pool ends.
    void expect_ledger_holds() {
        pool.close();
        EXPECT_EQ(runs, accepted);
        EXPECT_EQ(pool.completed_task_count(), accepted);
        EXPECT_EQ(pool.pool_size(), 0);
    }
};

TEST(thread_pool_allocation, execute_and_submit_survive_the_failure_of_each_allocation) {
    for (const bool submit : {false, true}) {
        swept_pool swept;
        for (int round = 0; round < 3; ++round) {  // the first two make threads
            const int failed = fail_each_allocation(
                [&] {
                    const auto body = [&runs = swept.runs, big = std::array<char, 100>()] {
                        (void)big;
                        ++runs;
                    };
                    if (submit)
                        (void)swept.pool.submit(body);
                    else
                        swept.pool.execute(body);
                    ++swept.accepted;
                },
                [&] { EXPECT_EQ(swept.pool.task_count(), swept.accepted); });
            EXPECT_EQ(failed > 0, submit || round < 2);
            ASSERT_TRUE(has_completed(swept.pool, swept.accepted));
            EXPECT_EQ(swept.pool.pool_size(), std::min(round + 1, 2));
        }
        swept.expect_ledger_holds();
    }
}

TEST(thread_pool_allocation, a_first_thread_that_cannot_be_had_leaves_no_trace) {
    thread_pool_executor pool({.core_pool_size = 1});
    int accepted = 0;
    fail_each_allocation(
        [&] {
            pool.execute([] {});
            ++accepted;
        },
        [&] {
            EXPECT_EQ(pool.pool_size(), 0);
            EXPECT_EQ(pool.task_count(), 0);
        });
    EXPECT_EQ(accepted, 1);
    pool.close();
    EXPECT_EQ(pool.completed_task_count(), 1);
}

TEST(thread_pool_allocation, construction_survives_the_failure_of_each_allocation) {
    const auto before = blocks_in_use();
    const int failed = fail_each_allocation(
        [] {
            thread_pool_executor pool({.core_pool_size = 2,
                                       .remove_on_cancel = true,
                                       .name = "a name that is too long to be stored in place"});
        },
        [&] { EXPECT_LE(blocks_in_use(), before + 1); });
    EXPECT_GE(failed, 3);
}

TEST(thread_pool_allocation, settings_and_views_survive_the_failure_of_each_allocation) {
    swept_pool swept;
    auto& pool = swept.pool;
    held_tasks held(pool, 4);
    ASSERT_TRUE(held.have_started(2));
    auto queued = pool.submit([] {});
    const std::vector<std::function<void()>> calls = {
        [&] { (void)pool.snapshot(); },
        [&] { (void)pool.to_string(); },
        [&] { pool.resize(2, 5); },
        [&] { pool.set_thread_factory(pool.thread_factory()); },
        [&] { pool.set_rejected_execution_handler(discard_policy{}); },
        [&] { pool.prestart_all_core_threads(); },
        [&] { pool.purge(); },
        [&] { (void)pool.remove(queued); },
        [&] { pool.resize(4, 4); },
        [&] { pool.prestart_all_core_threads(); },
        [&] { EXPECT_FALSE(pool.await_termination(1ms)); }};
    for (const auto& call : calls) {
        fail_each_allocation(call, [] {});
        EXPECT_LE(pool.pool_size(), 4);
    }
    EXPECT_TRUE(queued.is_cancelled());
    held.let_go();
    pool.close();
    EXPECT_EQ(pool.completed_task_count(), 4);
}

TEST(thread_pool_allocation, shutdown_now_loses_no_task_when_allocations_fail) {
    thread_pool_executor pool({.core_pool_size = 1});
    held_task held(pool);
    for (int i = 0; i < 10; ++i) pool.execute([] {});
    std::vector<task> never_ran;
    fail_each_allocation([&] { never_ran = pool.shutdown_now(); },
                         [&] { EXPECT_EQ(pool.queue().size(), 10u); });
    EXPECT_EQ(never_ran.size(), 10u);
    held.let_go();
    EXPECT_TRUE(pool.await_termination(guard));
}

TEST(thread_pool_allocation, a_worker_without_memory_loses_no_task) {
    std::atomic<int> runs = 0;
    thread_pool_executor pool(
        {.core_pool_size = 2, .hooks = {.uncaught_exception = [](auto&&...) {}}});
    for (int succeeding = 0; succeeding < 20; ++succeeding) {
        pool.execute([&, succeeding] {
            ++runs;
            const failing_allocation_scope no_memory(succeeding);
            const std::vector<std::string> much(10, std::string(100, 'x'));
        });
        (void)pool.submit([&, succeeding] {
            ++runs;
            const failing_allocation_scope no_memory(succeeding);
            return std::vector<std::string>(10, std::string(100, 'x'));
        });
    }
    pool.close();
    EXPECT_EQ(runs, 40);
    EXPECT_EQ(pool.completed_task_count(), 40);
}

// What it does besides tasks fails as well: to take the next one, to tell what was thrown, to have
// a successor made. Nobody comes by to help.
TEST(thread_pool_allocation, a_worker_that_never_has_memory_again_loses_no_task) {
    for (const bool throws : {false, true})
        for (int succeeding = 0; succeeding < 12; ++succeeding) {
            std::atomic<int> runs = 0;
            gate all_are_queued;
            thread_pool_executor pool(
                {.core_pool_size = 1, .hooks = {.uncaught_exception = [](auto&&...) {}}});
            pool.execute([&] {
                all_are_queued.wait();
                thread_local std::optional<failing_allocation_scope> from_now_on;
                from_now_on.emplace(succeeding);
                ++runs;
                if (throws) throw 42;
            });
            for (int i = 0; i < 3; ++i) pool.execute([&] { ++runs; });
            all_are_queued.open();
            ASSERT_TRUE(eventually([&] { return runs == 4; })) << runs << ", " << succeeding;
            pool.close();
            EXPECT_EQ(pool.completed_task_count(), 4);
        }
}

TEST(thread_pool_allocation, idle_pools_use_no_cpu_time) {
    thread_pool_executor kept(8, 8, 1h, any_room());
    thread_pool_executor timed({.core_pool_size = 8,
                                .keep_alive = 1h,
                                .queue = no_room(),
                                .allow_core_thread_time_out = true});
    kept.prestart_all_core_threads();
    timed.prestart_all_core_threads();
    kept.submit([] {}).get();
    EXPECT_TRUE(becomes_quiet(200ms, {.cpu_time = 10ms, .wake_ups = 5}));
    EXPECT_EQ(kept.pool_size(), 8);
    EXPECT_EQ(timed.pool_size(), 8);
}

}  // namespace
}  // namespace cadre::testing
