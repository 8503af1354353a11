// SPDX-License-Identifier: Apache-2.0
//
// What a million timers need.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <vector>

#include "support/allocations.hpp"
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
    const auto before = bytes_in_use();
    for (int i = 0; i < million; ++i)
        results.push_back(pool.schedule(callable, random_delay(random)));
    const auto each = static_cast<double>(bytes_in_use() - before) / million;
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
    const auto before = bytes_in_use();
    for (int i = 0; i < million; ++i) {
        pool.schedule([] {}, 10min).cancel();
        if (i % 1000 == 0) {
            ASSERT_TRUE(pool.queue().empty());
        }
    }
    EXPECT_LT(bytes_in_use() - before, 4096);
}

TEST(scheduled_memory, purging_gives_back_what_was_cancelled) {
    std::mt19937 random(2);
    manual_clock clock;
    scheduled_pool pool(clock);
    const auto before_blocks = blocks_in_use();
    for (int i = 0; i < many; ++i) pool.schedule([] {}, random_delay(random)).cancel();
    const auto kept = pool.schedule([] {}, 1h);
    EXPECT_EQ(pool.queue().size(), many + 1u);
    pool.purge();
    EXPECT_EQ(pool.queue().size(), 1u);
    EXPECT_LT(blocks_in_use() - before_blocks, 100);
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
    const auto before = blocks_in_use();
    for (auto& result : results) result.cancel();
    EXPECT_TRUE(pool.queue().empty());
    results.clear();
    EXPECT_LE(blocks_in_use(), before - many);
}

}  // namespace
}  // namespace cadre::testing
