// SPDX-License-Identifier: Apache-2.0
//
// The work-stealing pool against itself: nested and outside work, waits, cancelling and the end at
// once. The ledger tells of each task that was accepted whether it ran, came back or was cancelled:
// one of them, and once.

#include <cadre/work_stealing_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "support/eventually.hpp"
#include "support/held_task.hpp"
#include "support/ledger.hpp"
#include "support/race.hpp"
#include "support/watched.hpp"
#include <cadre/errors.hpp>

namespace cadre::testing {
namespace {

std::mt19937 seeded() {
    const unsigned seed = std::random_device()();
    std::cout << "seed " << seed << '\n';
    return std::mt19937(seed);
}

int threads_of(std::mt19937& random) { return 1 + static_cast<int>(random() % 4); }

TEST(work_stealing_races, forks_and_joins) {
    auto random = seeded();
    for (rounds left(200); left.another();) {
        std::function<int(int)> fib;
        work_stealing_pool pool({.parallelism = threads_of(random)});
        const watched_scope watched_pool(pool);
        fib = [&](int n) -> int {
            if (n < 2) return n;
            auto one = pool.submit(fib, n - 1);
            auto other = pool.submit(fib, n - 2);
            return one.get() + other.get();
        };
        auto first = pool.submit(fib, 12);
        auto second = pool.submit(fib, 10);
        ASSERT_EQ(first.get(), 144);
        ASSERT_EQ(second.get(), 55);
    }
}

TEST(work_stealing_races, runs_nested_and_outside_work_together_each_once) {
    constexpr int outside = 200;
    auto random = seeded();
    for (rounds left(200); left.another();) {
        std::atomic<int> runs = 0;
        {
            work_stealing_pool pool({.parallelism = threads_of(random)});
            const watched_scope watched_pool(pool);
            const auto submit_some = [&] {
                for (int i = 0; i < outside; ++i)
                    pool.execute([&] {
                        ++runs;
                        pool.execute([&] {
                            ++runs;
                            pool.submit([&] { ++runs; }).get();
                        });
                    });
            };
            std::thread one(submit_some);
            std::thread other(submit_some);
            one.join();
            other.join();
            // What is nested is submitted before the pool may refuse it.
            ASSERT_TRUE(eventually([&] { return runs == 3 * 2 * outside; })) << pool.to_string();
        }
        ASSERT_EQ(runs, 3 * 2 * outside);
    }
}

TEST(work_stealing_races, loses_no_wake_up_between_one_task_and_the_next) {
    auto random = seeded();
    work_stealing_pool pool({.parallelism = 3});
    const watched_scope watched_pool(pool);
    for (rounds left(20000); left.another();) {
        const bool nested = random() % 2 == 0;
        auto result = pool.submit([&] {
            if (nested) pool.submit([] {}).get();
        });
        ASSERT_TRUE(result.wait_for(beyond_patience)) << pool.to_string();
    }
}

TEST(work_stealing_races, calls_a_waiting_task_back_for_whatever_it_may_need) {
    for (rounds left(3000); left.another();) {
        future_task<void> answer([] {});
        auto awaited = answer.get_future();
        work_stealing_pool pool({.parallelism = 1});
        const watched_scope watched_pool(pool);
        auto waits = pool.submit([&] { awaited.get(); });
        pool.execute([&] { answer(); });
        ASSERT_TRUE(waits.wait_for(beyond_patience)) << pool.to_string();
    }
}

TEST(work_stealing_races, a_cancelled_task_runs_or_is_cancelled_and_disturbs_no_other) {
    auto random = seeded();
    std::atomic<int> disturbed = 0;
    work_stealing_pool pool({.parallelism = 2});
    const watched_scope watched_pool(pool);
    for (rounds left(5000); left.another();) {
        std::atomic<int> runs = 0;
        auto parent = pool.submit([&, interrupts = random() % 2 == 0] {
            auto child = pool.submit([&] { ++runs; });
            auto sibling = pool.submit([&] {
                if (this_thread::is_interrupted()) ++disturbed;
            });
            const bool cancelled = child.cancel(interrupts);
            sibling.get();
            if (this_thread::is_interrupted()) ++disturbed;
            if (!cancelled) child.get();
            return cancelled;
        });
        const bool cancelled = parent.get();
        if (!cancelled) {
            ASSERT_EQ(runs, 1);
        }
        pool.submit([] {}).get();  // a child that was cancelled while it ran may still use `runs`
        ASSERT_TRUE(eventually([&] { return pool.task_count() == pool.completed_task_count(); }));
    }
    EXPECT_EQ(disturbed, 0);
}

/// What became of a tree of tasks: every one that was accepted runs, is cancelled or comes back.
struct tree {
    static constexpr int roots = 20;
    static constexpr int depth = 4;
    ledger tasks{roots * (1 + 3 + 9 + 27 + 81)};
    std::atomic<std::size_t> next = 0;
    std::atomic<int> ran = 0;
    std::mutex mutex;  // guards all below
    std::vector<future<void>> results;

    /// Gives the next task away, which grows such a tree.
    template <class Give>
    auto plant(work_stealing_pool& pool, int levels, Give give) {
        const std::size_t number = next++;
        auto grows = [this, &pool, levels, own = tasks.task(number)]() mutable {
            ++ran;
            own();
            grow(pool, levels);
        };
        const auto accept = [&] { tasks.accept(number); };
        return give(std::move(grows), accept);
    }
    void execute(work_stealing_pool& pool, int levels) {
        plant(pool, levels, [&](auto grows, auto accept) {
            pool.execute(std::move(grows));
            accept();
        });
    }
    void grow(work_stealing_pool& pool, int levels) {
        for (int i = 0; levels > 0 && i < 3; ++i) try {
                if (i == 0) {
                    execute(pool, levels - 1);
                    continue;
                }
                auto result = plant(pool, levels - 1, [&](auto grows, auto accept) {
                    auto given = pool.submit(std::move(grows));
                    accept();
                    return given;
                });
                if (i == 1) result.wait();
                const std::lock_guard lock(mutex);
                results.push_back(std::move(result));
            } catch (const rejected_execution&) {
            } catch (const interrupted&) {}
    }
    /// After the end.
    ledger::balance close() {
        while (next < tasks.size()) (void)tasks.task(next++);  // never given away
        return tasks.close();
    }
};

class work_stealing_end : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(races, work_stealing_end, ::testing::Bool(),
                         [](const auto& now) { return now.param ? "shutdown_now" : "shutdown"; });

TEST_P(work_stealing_end, loses_and_doubles_no_task_when_it_comes_amid_nested_work) {
    auto random = seeded();
    for (rounds left(600); left.another();) {
        tree all;
        std::vector<task> came_back;
        {
            work_stealing_pool pool({.parallelism = threads_of(random)});
            const watched_scope watched_pool(pool);
            std::thread submitter([&] {
                for (int i = 0; i < tree::roots; ++i) try {
                        all.execute(pool, tree::depth);
                    } catch (const rejected_execution&) {}
            });
            const int enough = static_cast<int>(random() % 500);
            while (all.ran < enough) std::this_thread::yield();
            if (GetParam())
                came_back = pool.shutdown_now();
            else
                pool.shutdown();
            EXPECT_TRUE(pool.await_termination(beyond_patience)) << pool.to_string();
            submitter.join();
            ASSERT_EQ(pool.task_count(), pool.completed_task_count());
            ASSERT_EQ(pool.completed_task_count(), all.ran);
        }
        const std::size_t returned = came_back.size();
        came_back.clear();  // cancels
        const auto books = all.close();
        ASSERT_EQ(books.error, "");
        ASSERT_EQ(books.dropped, returned);
        for (const auto& result : all.results) ASSERT_TRUE(result.is_done());
    }
}

TEST(work_stealing_races, may_be_made_used_and_destroyed_at_any_pace) {
    auto random = seeded();
    for (rounds left(3000); left.another();) {
        ledger tasks(random() % 4);
        {
            work_stealing_pool pool({.parallelism = 2});
            const watched_scope watched_pool(pool);
            for (std::size_t i = 0; i < tasks.size(); ++i) {
                pool.execute(tasks.task(i));
                tasks.accept(i);
            }
        }
        ASSERT_EQ(tasks.close().error, "");
        ASSERT_EQ(tasks.close().ran, tasks.size());
    }
}

}  // namespace
}  // namespace cadre::testing
