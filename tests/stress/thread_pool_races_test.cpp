// SPDX-License-Identifier: Apache-2.0
//
// The pool against itself: submitting, cancelling, resizing, ending and destroying at once. The
// ledger tells of each task that was accepted whether it ran, came back or was cancelled: one of
// them, and once.

#include <cadre/thread_pool_executor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/held_task.hpp"
#include "support/ledger.hpp"
#include "support/pools.hpp"
#include "support/race.hpp"
#include "support/sleeps.hpp"
#include "support/watched.hpp"

namespace cadre::testing {
namespace {

/// How many rounds to play: CADRE_STRESS_SCALE times as many, if that is set.
int rounds_of(int usual) {
    const char* scale = std::getenv("CADRE_STRESS_SCALE");
    return std::max(1, static_cast<int>(usual * (scale ? std::atof(scale) : 1.0) / slowness));
}

/// The queues that a pool may be given, with a bound where it can have one.
std::unique_ptr<blocking_queue<task>> any_queue(std::mt19937& random) {
    switch (random() % 5) {
        case 0:
            return room_for(4);
        case 1:
            return no_room();
        case 2:
            return std::make_unique<linked_blocking_queue<task>>(4);
        case 3:
            return std::make_unique<priority_blocking_queue<task>>();
        default:
            return any_room();
    }
}

/// The ledger of a round, and the futures of the tasks that have one.
struct books {
    explicit books(std::size_t count) : tasks(count), results(count) {}

    /// After the end: of each accepted task, that it ran, or was cancelled; not both, not neither.
    /// Returns how many were accepted and did not run: those that shutdown_now() returned.
    std::size_t settle() const {
        const auto sums = tasks.close();
        EXPECT_EQ(sums.error, "");
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (!results[i].valid()) continue;
            EXPECT_TRUE(results[i].is_done());
            EXPECT_NE(tasks.has_run(i), results[i].is_cancelled());
        }
        return sums.dropped + sums.called_off;
    }

    ledger tasks;
    std::vector<future<void>> results;
};

/// Gives tasks to a pool until it has given all or is refused for good.
void submit_all(thread_pool_executor& pool, books& all, std::size_t begin, std::size_t end) {
    for (auto i = begin; i < end; ++i) {
        try {
            if (i % 2 == 0)
                pool.execute(all.tasks.task(i));
            else
                all.results[i] = pool.submit(all.tasks.task(i));
            all.tasks.accept(i);
        } catch (const rejected_execution&) {}
    }
}

class thread_pool_end : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(races, thread_pool_end, ::testing::Bool(),
                         [](const auto& now) { return now.param ? "shutdown_now" : "shutdown"; });

TEST_P(thread_pool_end, loses_and_doubles_no_task_when_it_races_submitters) {
    constexpr std::size_t each = 40;
    std::mt19937 random(new_seed());
    for (int round = rounds_of(800); round > 0; --round) {
        note_progress();
        books all(2 * each);
        std::size_t came_back = 0;
        std::atomic<int> ready = 0;
        {
            thread_pool_executor pool(static_cast<int>(random() % 3), 3,
                                      std::chrono::microseconds(random() % 100), any_queue(random));
            const watched_scope watched_pool(pool);
            std::thread one([&] {
                ++ready;
                submit_all(pool, all, 0, each);
            });
            std::thread other([&] {
                ++ready;
                submit_all(pool, all, each, 2 * each);
            });
            while (ready != 2) std::this_thread::yield();
            dawdle(random, 100us);
            if (GetParam())
                came_back = pool.shutdown_now().size();
            else
                pool.shutdown();
            ASSERT_TRUE(pool.await_termination(beyond_patience)) << pool.to_string();
            one.join();
            other.join();
            EXPECT_EQ(pool.task_count(), pool.completed_task_count());
        }
        ASSERT_EQ(all.settle(), came_back);
        if (HasFailure()) return;
    }
}

TEST(thread_pool_races, shutdown_now_reaches_a_worker_that_is_just_being_made) {
    std::mt19937 random(new_seed());
    for (int round = rounds_of(4000); round > 0; --round) {
        note_progress();
        thread_pool_executor pool(
            {.core_pool_size = 4, .hooks = {.uncaught_exception = [](auto&&...) {}}});
        const watched_scope watched_pool(pool);
        std::thread submitter([&] {
            for (int i = 0; i < 4; ++i) try {
                    pool.execute([] { sleep_until_interrupted(beyond_patience); });
                } catch (const rejected_execution&) {}
        });
        dawdle(random, 60us);
        pool.shutdown_now();
        ASSERT_TRUE(pool.await_termination(beyond_patience)) << pool.to_string();
        submitter.join();
    }
}

TEST(thread_pool_races, a_cancelled_task_runs_or_is_cancelled_and_the_next_is_left_alone) {
    std::mt19937 random(new_seed());
    std::atomic<int> inherited = 0;
    thread_pool_executor pool({.core_pool_size = 2});
    const watched_scope watched_pool(pool);
    for (int round = rounds_of(20000); round > 0; --round) {
        note_progress();
        std::atomic<int> runs = 0;
        auto result = pool.submit([&] { ++runs; });
        dawdle(random, 3us);
        const bool cancelled = result.cancel(round % 2 == 0);
        auto next = pool.submit([&] {
            if (this_thread::is_interrupted()) ++inherited;
        });
        next.get();
        EXPECT_EQ(result.is_cancelled(), cancelled);
        if (!cancelled) {
            result.get();
            ASSERT_EQ(runs, 1);
        }
        // A task that was cancelled while it ran may still be at it.
        ASSERT_TRUE(eventually([&] { return pool.active_count() == 0 && pool.queue().empty(); }));
        ASSERT_LE(runs, 1);
    }
    EXPECT_EQ(inherited, 0);
}

TEST(thread_pool_races, no_task_is_stranded_when_threads_come_and_go) {
    std::mt19937 random(new_seed());
    for (const int core : {0, 1}) {
        thread_pool_executor pool(core, 2, 1us, any_room());
        const watched_scope watched_pool(pool);
        if (core > 0) pool.allow_core_thread_time_out(true);
        for (int round = rounds_of(7000); round > 0; --round) {
            note_progress();
            auto result = pool.submit([] {});
            ASSERT_TRUE(result.wait_for(beyond_patience)) << pool.to_string();
            dawdle(random, 20us);
        }
    }
}

TEST(thread_pool_races, resizing_loses_no_task_and_interrupts_none) {
    constexpr std::size_t count = 200;
    std::mt19937 random(new_seed());
    for (int round = rounds_of(150); round > 0; --round) {
        note_progress();
        books all(count);
        std::atomic<bool> over = false;
        std::atomic<int> disturbed = 0;
        {
            thread_pool_executor pool({.core_pool_size = 1,
                                       .maximum_pool_size = 4,
                                       .keep_alive = 1us,
                                       .queue = room_for(8),
                                       .rejection = block_policy{}});
            const watched_scope watched_pool(pool);
            std::thread resizer([&, seed = random()] {
                std::mt19937 mine(seed);
                while (!over) {
                    const int core = static_cast<int>(mine() % 4);
                    pool.resize(core, core + 1);
                    if (mine() % 4 == 0) pool.prestart_all_core_threads();
                    pool.set_keep_alive(std::chrono::microseconds(1 + mine() % 20));
                    pool.allow_core_thread_time_out(mine() % 2 == 0);
                }
            });
            for (std::size_t i = 0; i < count; ++i) {
                pool.execute([own = all.tasks.task(i), &disturbed]() mutable {
                    if (this_thread::is_interrupted()) ++disturbed;
                    own();
                });
                all.tasks.accept(i);
            }
            ASSERT_TRUE(has_completed(pool, count)) << pool.to_string();
            over = true;
            resizer.join();
        }
        ASSERT_EQ(all.settle(), 0u);
        ASSERT_EQ(disturbed, 0);
    }
}

TEST(thread_pool_races, may_be_made_used_and_destroyed_at_any_pace) {
    std::mt19937 random(new_seed());
    for (int round = rounds_of(5000); round > 0; --round) {
        note_progress();
        books all(random() % 3);
        {
            thread_pool_executor pool({.core_pool_size = 2});
            const watched_scope watched_pool(pool);
            for (std::size_t i = 0; i < all.tasks.size(); ++i) {
                pool.execute(all.tasks.task(i));
                all.tasks.accept(i);
            }
            dawdle(random, 20us);
        }
        ASSERT_EQ(all.settle(), 0u);
    }
}

TEST(thread_pool_races, may_be_destroyed_as_soon_as_it_has_terminated) {
    for (int round = rounds_of(5000); round > 0; --round) {
        note_progress();
        auto pool =
            std::make_unique<thread_pool_executor>(thread_pool_options{.core_pool_size = 2});
        pool->execute([] {});
        pool->shutdown();
        ASSERT_TRUE(pool->await_termination(beyond_patience));
        pool.reset();
    }
}

TEST(thread_pool_races, may_be_destroyed_by_its_own_worker) {
    std::mt19937 random(new_seed());
    const int count = rounds_of(5000);
    const auto terminations = std::make_shared<std::atomic<int>>(0);
    const auto runs = std::make_shared<std::atomic<int>>(0);
    for (int round = 0; round < count; ++round) {
        note_progress();
        auto pool = std::make_shared<thread_pool_executor>(thread_pool_options{
            .core_pool_size = 2, .hooks = {.terminated = [terminations] { ++*terminations; }}});
        for (int i = 0; i < 3; ++i) pool->execute([pool, runs] { ++*runs; });
        dawdle(random, 20us);
        pool.reset();
    }
    EXPECT_TRUE(eventually([&] { return *terminations == count; }));
    EXPECT_EQ(*runs, 3 * count);
}

TEST(thread_pool_races, blocked_submitters_get_their_place_or_are_refused) {
    constexpr std::size_t each = 50;
    std::mt19937 random(new_seed());
    for (int round = rounds_of(500); round > 0; --round) {
        note_progress();
        books all(2 * each);
        {
            thread_pool_executor pool(1, 1, 1h, round % 2 == 0 ? room_for(1) : no_room(),
                                      default_thread_factory(), block_policy{});
            const watched_scope watched_pool(pool);
            std::thread one([&] { submit_all(pool, all, 0, each); });
            std::thread other([&] { submit_all(pool, all, each, 2 * each); });
            dawdle(random, 200us);
            pool.shutdown();
            one.join();
            other.join();
            ASSERT_TRUE(pool.await_termination(beyond_patience)) << pool.to_string();
        }
        ASSERT_EQ(all.settle(), 0u);
    }
}

}  // namespace
}  // namespace cadre::testing
