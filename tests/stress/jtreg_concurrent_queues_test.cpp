// SPDX-License-Identifier: Apache-2.0
//
// What the regression tests of java.util.concurrent for queues without a bound hold the JDK to,
// said of cadre's. docs/hazards.md has the table.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "support/queue_kinds.hpp"
#include "support/race.hpp"

namespace cadre::testing {
namespace {

std::vector<queue_ptr> unbounded_queues() {
    std::vector<queue_ptr> all;
    all.push_back(std::make_unique<linked_blocking_queue<item>>());
    all.push_back(std::make_unique<linked_blocking_deque<item>>());
    all.push_back(std::make_unique<linked_transfer_queue<item>>());
    all.push_back(std::make_unique<priority_blocking_queue<item>>());
    all.push_back(std::make_unique<delay_queue<item>>());
    all.push_back(std::make_unique<array_blocking_queue<item>>(1000));
    return all;
}

void on_threads(std::size_t count, const std::function<void()>& body) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back(body);
    for (auto& each : threads) each.join();
}

// ConcurrentQueues/RemovePollRace: what is searched for and taken out is not polled as well.
TEST(jtreg_concurrent_queues, remove_poll_race) {
    for (const auto& queue : unbounded_queues()) {
        constexpr int count = 1000;
        for (rounds left(20, 20); left.another();) {
            for (int i = 0; i < count; ++i) queue->put(item(i));
            std::atomic<int> polled = 0;
            std::atomic<int> removed = 0;
            std::atomic<bool> polls = false;
            on_threads(4, [&] {
                if (!polls.exchange(true)) {
                    while (queue->poll()) ++polled;
                    return;
                }
                for (int i = 0; i < count; ++i)
                    if (queue->extract_first([i](const item& x) { return x.value == i; }))
                        ++removed;
            });
            EXPECT_EQ(polled + removed, count);
            EXPECT_TRUE(queue->empty());
        }
    }
}

// ConcurrentQueues/ConcurrentQueueLoops: who takes an element puts in another while there are some.
TEST(jtreg_concurrent_queues, concurrent_queue_loops) {
    for (const auto& queue : unbounded_queues()) {
        for (int threads = 1; threads <= 8; threads += threads) {
            note_progress();
            constexpr int items = 10'000 / slowness;
            std::atomic<int> to_put = items;
            std::atomic<int> taken = 0;
            for (int i = 0; i < 100; ++i) queue->put(item(i));
            on_threads(static_cast<std::size_t>(threads), [&] {
                while (auto x = queue->poll()) {
                    ++taken;
                    if (--to_put >= 0) queue->put(item(x->value + 1));
                }
            });
            EXPECT_EQ(taken, items + 100);
        }
    }
}

}  // namespace
}  // namespace cadre::testing
