// SPDX-License-Identifier: Apache-2.0
#include <cadre/detail/recycled_memory.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <cadre/executors.hpp>
#include <cadre/future.hpp>

#include "support/allocations.hpp"

namespace cadre::testing {
namespace {

using namespace cadre::detail;

TEST(recycled_memory, no_two_blocks_in_use_are_the_same_and_all_can_be_written) {
    std::set<void*> blocks;
    for (std::size_t size = 1; size <= 600; size += 7)
        for (int i = 0; i < 200; ++i) {
            void* const block = recycled_new(size);
            EXPECT_TRUE(blocks.insert(block).second);
            std::memset(block, 0xff, size);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0u);
        }
    for (void* block : blocks) std::free(block);  // where they come from
}

TEST(recycled_memory, what_one_thread_frees_another_one_gets) {
    std::vector<void*> blocks(10'000);
    const auto before = memory_in_use();
    const auto kept_before = recycled_bytes_kept();
    for (int round = 0; round < 20; ++round) {
        for (auto& block : blocks) block = recycled_new(100);
        std::thread([&] {
            for (void* block : blocks) recycled_delete(block, 100);
        }).join();
    }
    EXPECT_LT(memory_in_use(), before + 100'000);
    EXPECT_LT(recycled_bytes_kept(), kept_before + 2 * blocks.size() * 120);  // not once a round
}

TEST(recycled_memory, a_thread_that_ends_keeps_nothing) {
    const auto before = memory_in_use();
    for (int i = 0; i < 200; ++i)
        std::thread([] {
            std::vector<void*> blocks(40);  // too few to be given to the others
            for (auto& block : blocks) block = recycled_new(500);
            for (void* block : blocks) recycled_delete(block, 500);
        }).join();
    EXPECT_LT(memory_in_use(), before + 100'000);
}

TEST(recycled_memory, a_segment_is_aligned_to_a_line_of_cache) {
    void* const segment = recycled_segment_new();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment) % 64, 0u);
    std::memset(segment, 0xff, recycled_segment_size);
    recycled_segment_delete(segment);
}

TEST(recycled_memory, an_object_that_wants_a_large_alignment_gets_it) {
    struct alignas(256) wide {
        int value = 7;
    };
    const auto pool = executors::fixed_thread_pool(1);
    for (int i = 0; i < 100; ++i) {
        auto result = pool->submit([w = wide()] {
            return reinterpret_cast<std::uintptr_t>(&w) % 256 + static_cast<unsigned>(w.value);
        });
        EXPECT_EQ(result.get(), 7u);
    }
}

TEST(recycled_memory, more_than_the_limit_goes_back) {
    std::vector<void*> blocks(400'000);
    const auto before = memory_in_use();
    for (auto& block : blocks) block = recycled_new(256);
    EXPECT_GT(memory_in_use(), before + 100'000'000);
    for (void* block : blocks) recycled_delete(block, 256);
    EXPECT_LT(memory_in_use(), before + 100'000);
    EXPECT_LE(recycled_bytes_kept(), std::size_t{64} << 20);
}

}  // namespace
}  // namespace cadre::testing
