// SPDX-License-Identifier: Apache-2.0
//
// cancel(true) against a task that runs others in place: once the call has returned, the next wait
// of that task throws, wherever in its waits the interrupt found it.

#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <random>
#include <thread>

#include "support/race.hpp"
#include <cadre/thread_pool_executor.hpp>
#include <cadre/work_stealing_pool.hpp>

namespace cadre::testing {
namespace {

template <class Pool>
void cancel_between_nested_tasks(Pool& pool) {
    std::atomic<bool> cancelled = false;
    std::atomic<bool> over = false;
    std::atomic<bool> lost = false;
    std::atomic<bool> begun = false;
    const unsigned seed = std::random_device()();
    std::cout << "seed " << seed << '\n';
    std::mt19937 random(seed);
    for (rounds left(5000); left.another();) {
        cancelled = over = begun = false;
        auto victim = pool.submit([&] {
            begun = true;
            try {
                for (bool must_throw = false; !lost; must_throw = cancelled) {
                    pool.submit([] {}).get();
                    lost = must_throw;
                }
            } catch (const interrupted&) {}
            over = true;
        });
        while (!begun) std::this_thread::yield();
        for (unsigned i = random() % 8192; i > 0; --i) begun.load(std::memory_order_relaxed);
        victim.cancel(true);
        cancelled = true;
        while (!over) std::this_thread::yield();
        ASSERT_FALSE(lost);
    }
}

TEST(nested_interrupt_races, no_interrupt_is_lost_on_a_thread_pool) {
    thread_pool_executor pool({.core_pool_size = 1});
    cancel_between_nested_tasks(pool);
}

TEST(nested_interrupt_races, no_interrupt_is_lost_on_a_work_stealing_pool) {
    work_stealing_pool pool({.parallelism = 1});
    cancel_between_nested_tasks(pool);
}

}  // namespace
}  // namespace cadre::testing
