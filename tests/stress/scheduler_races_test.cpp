// SPDX-License-Identifier: Apache-2.0
//
// The scheduler against itself: scheduling, cancelling, resizing and ending at once. The ledger
// tells of each task that was accepted whether it ran, came back or was cancelled; a periodic one
// has a fate of its own.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "support/eventually.hpp"
#include "support/ledger.hpp"
#include "support/race.hpp"
#include "support/watched.hpp"
#include <cadre/scheduled_thread_pool_executor.hpp>

namespace cadre::testing {
namespace {

/// What became of one task.
struct fate {
    std::atomic<int> runs = 0;
    std::atomic<int> inside = 0;
    std::atomic<bool> overlapped = false;
    std::atomic<bool> accepted = false;
    scheduled_future<void> result;

    void run() {
        if (++inside > 1) overlapped = true;
        ++runs;
        --inside;
    }
};

/// Gives a pool the tasks from `begin` to `end`, each with a short delay, every third periodic.
void schedule_all(scheduled_thread_pool_executor& pool, ledger& tasks, std::vector<fate>& fates,
                  std::size_t begin, std::size_t end, unsigned seed) {
    std::mt19937 random(seed);
    for (auto i = begin; i < end; ++i) {
        const std::chrono::microseconds delay(random() % 200);
        auto own = tasks.task(i);
        auto again = [&mine = fates[i]] { mine.run(); };
        try {
            fates[i].result = i % 3 == 0 ? pool.schedule_at_fixed_rate(again, delay, 20us)
                                         : pool.schedule(std::move(own), delay);
            if (i % 3 != 0) tasks.accept(i);
            fates[i].accepted = true;
        } catch (const rejected_execution&) {}
    }
}

class scheduler_races : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(ends, scheduler_races, ::testing::Bool(),
                         [](const auto& now) { return now.param ? "shutdown_now" : "shutdown"; });

TEST_P(scheduler_races, scheduling_cancelling_resizing_and_ending_lose_and_double_no_task) {
    constexpr std::size_t each = 30;
    std::mt19937 random(new_seed());
    for (rounds round(600); round.another();) {
        std::vector<fate> fates(2 * each);
        ledger tasks(fates.size());
        {
            scheduled_thread_pool_executor pool({.core_pool_size = static_cast<int>(random() % 3),
                                                 .remove_on_cancel = random() % 2 == 0});
            const watched_scope watched_pool(pool);
            std::atomic<bool> first_half_is_there = false;
            std::thread schedules([&, seed = random()] {
                schedule_all(pool, tasks, fates, 0, each, static_cast<unsigned>(seed));
                first_half_is_there = true;
                schedule_all(pool, tasks, fates, each, 2 * each, static_cast<unsigned>(seed));
            });
            std::thread cancels([&, seed = random()] {
                std::mt19937 own(static_cast<unsigned>(seed));
                while (!first_half_is_there) std::this_thread::yield();
                for (std::size_t i = 0; i < each; i += 1 + own() % 3)
                    if (fates[i].accepted) fates[i].result.cancel(own() % 2 == 0);
            });
            std::thread resizes([&] {
                for (const int size : {2, 0, 3, 1}) pool.set_core_pool_size(size);
            });
            while (!first_half_is_there) std::this_thread::yield();
            dawdle(random, 200us);
            if (GetParam())
                pool.shutdown_now();
            else
                pool.shutdown();
            schedules.join();
            cancels.join();
            resizes.join();
            ASSERT_TRUE(pool.await_termination(beyond_patience));
            ASSERT_TRUE(pool.queue().empty());
        }
        ASSERT_EQ(tasks.close().error, "");
        for (std::size_t i = 0; i < fates.size(); ++i) {
            const auto& mine = fates[i];
            if (!mine.accepted) {
                ASSERT_EQ(mine.runs, 0) << "rejected, and ran";
                continue;
            }
            ASSERT_TRUE(mine.result.is_done()) << "task " << i;
            ASSERT_FALSE(mine.overlapped);
            if (i % 3 == 0)
                ASSERT_TRUE(mine.result.is_cancelled());
            else
                ASSERT_TRUE(tasks.has_run(i) || mine.result.is_cancelled()) << "task " << i;
        }
    }
}

TEST(scheduler_race, a_cancelled_periodic_task_does_not_start_again) {
    scheduled_thread_pool_executor pool({.core_pool_size = 2, .remove_on_cancel = true});
    const watched_scope watched_pool(pool);
    for (rounds round(3000); round.another();) {
        // Shared: a run that had begun when it was cancelled may only now enter the body.
        const auto mine = std::make_shared<fate>();
        mine->result = pool.schedule_at_fixed_rate([mine] { mine->run(); }, 0us, 1us);
        while (mine->runs == 0) std::this_thread::yield();
        ASSERT_TRUE(mine->result.cancel());
        while (mine->inside != 0) std::this_thread::yield();
        ASSERT_FALSE(mine->overlapped);
        pool.submit([] {}).get();
        pool.submit([] {}).get();
    }
    EXPECT_TRUE(eventually([&] { return pool.queue().empty(); }));
}

TEST(scheduler_race, earlier_heads_and_removed_heads_make_no_task_late_for_ever) {
    std::mt19937 random(new_seed());
    scheduled_thread_pool_executor pool({.core_pool_size = 3, .remove_on_cancel = true});
    const watched_scope watched_pool(pool);
    pool.prestart_all_core_threads();
    for (rounds round(1000); round.another();) {
        auto far = pool.schedule([] {}, 1h);
        auto removed = pool.schedule([] {}, std::chrono::microseconds(random() % 100));
        auto due = pool.schedule([] { return 1; }, std::chrono::microseconds(random() % 300));
        removed.cancel();
        ASSERT_EQ(due.get_for(beyond_patience), 1);
        far.cancel();
    }
}

TEST(scheduler_race, submitted_tasks_that_are_cancelled_against_their_start_run_or_do_not) {
    scheduled_thread_pool_executor pool({.core_pool_size = 2, .remove_on_cancel = true});
    const watched_scope watched_pool(pool);
    for (rounds round(500); round.another();) {
        std::atomic<int> runs = 0;
        std::vector<future<int>> results;
        for (int i = 0; i < 20; ++i) results.push_back(pool.submit([&] { return ++runs; }));
        int cancelled = 0;
        for (auto& result : results) cancelled += result.cancel() ? 1 : 0;
        for (auto& result : results) ASSERT_TRUE(result.wait_for(beyond_patience));
        // A task that was cancelled while it ran may still be running.
        ASSERT_TRUE(eventually([&] { return pool.active_count() == 0 && pool.queue().empty(); }));
        EXPECT_GE(runs + cancelled, 20);
    }
}

TEST(scheduler_race, a_shutdown_against_the_end_of_a_periodic_run_ends_the_pool) {
    std::mt19937 random(new_seed());
    for (rounds round(1500); round.another();) {
        scheduled_thread_pool_executor pool(static_cast<int>(random() % 3));
        const watched_scope watched_pool(pool);
        std::atomic<bool> began = false;
        const auto rate = pool.schedule_with_fixed_delay([&] { began = true; }, 0us, 1us);
        while (!began) std::this_thread::yield();
        for (auto spins = random() % 2000; spins > 0; --spins) (void)began.load();
        pool.shutdown();
        ASSERT_TRUE(pool.await_termination(beyond_patience));
        ASSERT_TRUE(rate.is_cancelled());
    }
}

}  // namespace
}  // namespace cadre::testing
