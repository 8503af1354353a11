// SPDX-License-Identifier: Apache-2.0
#include <cadre/detail/locked_index.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/held_task.hpp"
#include "support/race.hpp"

namespace cadre {
namespace {

using testing::eventually;

TEST(locked_index, publishes_its_number_when_it_is_unlocked) {
    detail::locked_index index;
    {
        detail::index_scope scope(index);
        EXPECT_EQ(scope.value, 0U);
        scope.value = 7;
        EXPECT_EQ(index.load(), 0U);
    }
    EXPECT_EQ(index.load(), 7U);
    EXPECT_EQ(index.settled(), 7U);
}

TEST(locked_index, counts_for_many_threads_of_which_some_sleep) {
    constexpr int times = 200'000 / testing::slowness;
    detail::locked_index index;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i)
            threads.emplace_back([&] {
                for (int n = 0; n < times; ++n) {
                    detail::index_scope scope(index);
                    if (n % 4096 == 0) std::this_thread::yield();  // others find it taken for long
                    ++scope.value;
                }
            });
    }
    EXPECT_EQ(index.settled(), 8U * times);
}

TEST(locked_index, that_is_taken_is_settled_when_it_is_let_go) {
    detail::locked_index index;
    std::atomic<bool> settled = false;
    const auto held = index.lock();
    std::jthread other([&] {
        EXPECT_EQ(index.settled(), 1U);
        settled = true;
    });
    EXPECT_FALSE(settled);
    index.unlock(held + 1);
    EXPECT_TRUE(eventually([&] { return settled.load(); }));
}

}  // namespace
}  // namespace cadre
