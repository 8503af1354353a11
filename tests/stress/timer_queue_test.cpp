// SPDX-License-Identifier: Apache-2.0
//
// So many timers that most of them are far off, in the blocks of timer_heap.hpp: inserted,
// cancelled and taken at once.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/ledger.hpp"
#include "support/race.hpp"
#include "support/watched.hpp"
#include <cadre/scheduled_thread_pool_executor.hpp>

namespace cadre::testing {
namespace {

/// A timer that is to run once, or to be cancelled.
struct ticket {
    std::atomic<int> runs = 0;
    std::atomic<bool> there = false;
    bool cancelled = false;
    scheduled_future<void> result;
};

constexpr std::size_t inserters = 3;
constexpr std::size_t each = 4000;

void insert_all(scheduled_thread_pool_executor& pool, ledger& tasks, std::vector<ticket>& tickets,
                std::size_t first, unsigned seed) {
    std::mt19937 random(seed);
    for (std::size_t i = first; i < tickets.size(); i += inserters) {
        ticket& mine = tickets[i];
        // Every fourth never comes by itself.
        const auto delay = i % 4 == 0 ? std::chrono::microseconds(1h)
                                      : std::chrono::microseconds(random() % 100'000);
        mine.result = pool.schedule(tasks.task(i), delay);
        tasks.accept(i);
        mine.there = true;
    }
}

void cancel_some(std::vector<ticket>& tickets, unsigned seed) {
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < tickets.size(); ++i) {
        if (i % 4 != 0 && random() % 2 == 0) continue;
        while (!tickets[i].there) std::this_thread::yield();
        tickets[i].cancelled = tickets[i].result.cancel();
    }
}

TEST(timer_queue_race, each_of_many_timers_runs_once_unless_it_is_cancelled) {
    std::mt19937 random(new_seed());
    for (rounds round(20); round.another();) {
        std::vector<ticket> tickets(inserters * each);
        ledger tasks(tickets.size());
        scheduled_thread_pool_executor pool({.core_pool_size = 2, .remove_on_cancel = true});
        const watched_scope watched_pool(pool);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < inserters; ++i)
            threads.emplace_back([&, i, seed = static_cast<unsigned>(random())] {
                insert_all(pool, tasks, tickets, i, seed);
            });
        threads.emplace_back(
            [&, seed = static_cast<unsigned>(random())] { cancel_some(tickets, seed); });
        for (auto& thread : threads) thread.join();
        for (std::size_t i = 0; i < tickets.size(); ++i) {
            ticket& mine = tickets[i];
            ASSERT_TRUE(mine.result.wait_for(beyond_patience)) << "timer " << i;
            ASSERT_EQ(mine.result.is_cancelled(), mine.cancelled) << "timer " << i;
        }
        ASSERT_TRUE(pool.queue().empty());
        pool.close();
        ASSERT_EQ(tasks.close().error, "");
        for (std::size_t i = 0; i < tickets.size(); ++i)
            ASSERT_TRUE(tasks.has_run(i) ? i % 4 != 0 : tickets[i].cancelled) << "timer " << i;
    }
}

TEST(timer_queue_race, many_periodic_tasks_run_again_and_again_until_they_are_cancelled) {
    constexpr std::size_t many = 5000;
    std::vector<ticket> tickets(many);
    scheduled_thread_pool_executor pool({.core_pool_size = 2, .remove_on_cancel = true});
    const watched_scope watched_pool(pool);
    for (ticket& mine : tickets)
        mine.result = pool.schedule_at_fixed_rate([&mine] { ++mine.runs; }, 1ms, 1ms);
    for (ticket& mine : tickets) {
        ASSERT_TRUE(eventually([&] { return mine.runs >= 3; }));
        ASSERT_TRUE(mine.result.cancel());
    }
    EXPECT_TRUE(eventually([&] { return pool.queue().empty(); }));
}

}  // namespace
}  // namespace cadre::testing
