// SPDX-License-Identifier: Apache-2.0
//
// What a million timers need.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "support/allocations.hpp"
#include "support/counted.hpp"
#include "support/held_task.hpp"
#include "support/race.hpp"
#include "support/scheduled_pools.hpp"
#include <cadre/scheduled_thread_pool_executor.hpp>
#include <cadre/testing.hpp>

namespace cadre::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool pads_allocations = true;
#elif defined(__has_feature)
constexpr bool pads_allocations = __has_feature(address_sanitizer);
#else
constexpr bool pads_allocations = false;
#endif

constexpr int million = 1'000'000 / slowness;
constexpr int many = million / 10;

std::chrono::seconds random_delay(std::mt19937& random) {
    return std::chrono::hours(1) + std::chrono::seconds(random() % 1'000'000);
}

TEST(scheduled_memory, a_million_pending_timers_take_128_bytes_each_at_most) {
    std::mt19937 random(1);
    manual_clock clock;
    scheduled_pool pool(clock);
    std::vector<scheduled_future<void>> results;
    results.reserve(million);
    const auto callable = [a = 1L, b = 2L] { static_cast<void>(a + b); };
    pool.submit([] {}).get();
    const auto before = memory_in_use();
    for (int i = 0; i < million; ++i)
        results.push_back(pool.schedule(callable, random_delay(random)));
    const auto each = static_cast<double>(memory_in_use() - before) / million;
    RecordProperty("bytes_each", std::to_string(each));
    if (!pads_allocations) {
        EXPECT_LE(each - sizeof callable, 128.0);
    }
    EXPECT_EQ(pool.queue().size(), static_cast<std::size_t>(million));
}

TEST(scheduled_memory, scheduling_and_cancelling_with_removal_needs_no_more_and_no_more) {
    manual_clock clock;
    scheduled_pool pool({.core_pool_size = 1, .remove_on_cancel = true, .clock = &clock});
    pool.schedule([] {}, 10min).cancel();
    const auto before = memory_in_use();
    for (int i = 0; i < million; ++i) {
        pool.schedule([] {}, 10min).cancel();
        if (i % 1000 == 0) {
            ASSERT_TRUE(pool.queue().empty());
        }
    }
    EXPECT_LT(memory_in_use() - before, 100'000);
}

TEST(scheduled_memory, purging_gives_back_what_was_cancelled) {
    std::mt19937 random(2);
    manual_clock clock;
    scheduled_pool pool(clock);
    const auto before = memory_in_use();
    for (int i = 0; i < many; ++i) pool.schedule([] {}, random_delay(random)).cancel();
    const auto kept = pool.schedule([] {}, 1h);
    EXPECT_EQ(pool.queue().size(), many + 1u);
    pool.purge();
    EXPECT_EQ(pool.queue().size(), 1u);
    EXPECT_LT(memory_in_use(), before + many * 30);  // the heap's array is kept
    EXPECT_FALSE(kept.is_done());
}

TEST(scheduled_memory, many_timers_are_cancelled_in_any_order) {
    std::mt19937 random(3);
    manual_clock clock;
    scheduled_pool pool({.core_pool_size = 1, .remove_on_cancel = true, .clock = &clock});
    std::vector<scheduled_future<void>> results;
    results.reserve(many);
    for (int i = 0; i < many; ++i) results.push_back(pool.schedule([] {}, random_delay(random)));
    std::shuffle(results.begin(), results.end(), random);
    const auto before = memory_in_use();
    for (auto& result : results) result.cancel();
    EXPECT_TRUE(pool.queue().empty());
    results.clear();
    EXPECT_LT(memory_in_use(), before - many * 90);
}

/// How long it takes to cancel those that `add` makes, the last first.
template <class Add>
std::chrono::nanoseconds time_to_cancel(scheduled_pool& pool, int count, Add add) {
    auto shortest = std::chrono::nanoseconds::max();  // of a few times: each may be held up
    for (int round = 0; round < 5; ++round) {
        std::vector<decltype(add())> results;
        for (int i = 0; i < count; ++i) results.push_back(add());
        const auto time = time_of([&] {
            for (; !results.empty(); results.pop_back()) results.back().cancel();
        });
        EXPECT_TRUE(pool.queue().empty());
        shortest = std::min(shortest, time);
    }
    return shortest;
}

TEST(scheduled_memory, submitted_tasks_are_found_without_a_search_when_they_are_cancelled) {
    constexpr int count = 16'000 / slowness;
    manual_clock clock;
    scheduled_pool pool({.core_pool_size = 1, .remove_on_cancel = true, .clock = &clock});
    const held_task occupies_the_worker(pool);
    const auto scheduled = time_to_cancel(pool, count, [&] { return pool.schedule([] {}, 0s); });
    const auto submitted = time_to_cancel(pool, count, [&] { return pool.submit([] {}); });
    EXPECT_LT(submitted, 20 * scheduled + 100ms);
}

TEST(scheduled_memory, of_a_submitted_task_nothing_is_left_whatever_became_of_it) {
    manual_clock clock;
    scheduled_pool pool({.core_pool_size = 1, .remove_on_cancel = true, .clock = &clock});
    const auto alive_before = counted<>::alive.load();
    const auto submit = [&] { return pool.submit([captured = counted<>()] {}); };
    submit().get();
    {
        const held_task occupies_the_worker(pool);
        submit().cancel();
        pool.set_remove_on_cancel_policy(false);
        submit().cancel();
        pool.remove(submit());
        static_cast<void>(submit());
        EXPECT_EQ(pool.shutdown_now().size(), 2u);
    }
    EXPECT_THROW((void)submit(), rejected_execution);
    EXPECT_EQ(counted<>::alive, alive_before);
}

/// Calls `read` once when it is asked for the time.
class clock_that_is_read final : public scheduler_clock {
public:
    std::function<void()> read;
    mutable std::atomic<bool> tells = false;

    std::chrono::steady_clock::time_point now() const override {
        if (tells.exchange(false)) read();
        return system().now();
    }
    std::chrono::system_clock::time_point wall_now() const override { return system().wall_now(); }
    std::chrono::steady_clock::time_point real_time_of(
        std::chrono::steady_clock::time_point t) const override {
        return t;
    }
    void subscribe(clock_listener&) override {}
    void unsubscribe(clock_listener&) override {}
};

TEST(scheduled_memory, of_a_task_that_is_cancelled_on_its_way_to_the_queue_nothing_is_left) {
    const auto alive_before = counted<>::alive.load();
    clock_that_is_read clock;
    scheduled_pool pool({.core_pool_size = 1, .remove_on_cancel = true, .clock = &clock});
    future_task<void> given([captured = counted<>()] {});
    auto result = given.get_future();
    clock.read = [&] { EXPECT_TRUE(result.cancel()); };
    clock.tells = true;
    pool.execute(std::move(given));
    pool.submit([] {}).get();
    EXPECT_TRUE(result.is_cancelled());
    EXPECT_TRUE(pool.queue().empty());
    EXPECT_EQ(counted<>::alive, alive_before);
}

}  // namespace
}  // namespace cadre::testing
