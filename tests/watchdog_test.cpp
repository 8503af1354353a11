// SPDX-License-Identifier: Apache-2.0
#include "support/watchdog.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "support/eventually.hpp"
#include "support/held_task.hpp"
#include "support/watched.hpp"
#include <cadre/thread_pool_executor.hpp>

namespace cadre::testing {
namespace {

/// A pool whose only worker never returns, under a watchdog that soon has enough.
void hang() {
    thread_pool_executor pool({.core_pool_size = 1, .name = "stuck"});
    const watched_scope watched(pool);
    held_task held(pool);
    const watchdog dog(
        20ms, [] { return 0; }, all_watched);
    std::this_thread::sleep_for(guard);  // the watchdog ends the process meanwhile
    std::_Exit(0);
}

/// What the process says that runs this very test with CADRE_HANG set, on both streams.
std::string told_by_a_process_that_hangs() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    // This process may play a share of the tests; the other one plays this test.
    const std::string command = "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX CADRE_HANG=1 '" +
                                program + "' --gtest_filter=" + test->test_suite_name() + "." +
                                test->name() + " 2>&1";
    const std::unique_ptr<FILE, int (*)(FILE*)> child(popen(command.c_str(), "r"), pclose);
    std::string told;
    for (int c = std::fgetc(child.get()); c != EOF; c = std::fgetc(child.get()))
        told += static_cast<char>(c);
    return told;
}

TEST(watchdog, ends_a_process_in_which_nothing_moves_with_all_stacks_and_the_pool) {
    if (std::getenv("CADRE_HANG")) hang();
    const std::string told = told_by_a_process_that_hangs();
    EXPECT_THAT(told, ::testing::HasSubstr("watchdog: nothing has moved"));
    EXPECT_THAT(told, ::testing::ContainsRegex("--- thread.*--- thread.*--- thread"));
    EXPECT_THAT(told, ::testing::HasSubstr("thread_pool_executor@stuck[Running, pool size = 1"));
}

/// As hang(), and whoever asks how the pool is hangs as well.
void hang_holding_what_the_snapshot_needs() {
    gate never;
    const watchdog dog(
        20ms, [] { return 0; }, [&] { return std::to_string(never.wait()); });
    never.wait();
    std::_Exit(0);
}

TEST(watchdog, ends_a_process_whose_snapshot_hangs_as_well) {
    if (std::getenv("CADRE_HANG")) hang_holding_what_the_snapshot_needs();
    EXPECT_THAT(told_by_a_process_that_hangs(), ::testing::HasSubstr("no snapshot"));
}

TEST(watchdog, is_patient_as_long_as_something_moves) {
    std::atomic<std::uint64_t> looks = 0;
    const watchdog dog(
        20ms, [&] { return ++looks; }, [] { return std::string(); });
    EXPECT_TRUE(eventually([&] { return looks > 10; }));
}

TEST(watchdog, no_longer_tells_of_a_pool_that_is_gone) {
    {
        thread_pool_executor pool({.core_pool_size = 1, .name = "gone"});
        const watched_scope watched(pool);
        EXPECT_NE(all_watched(), "");
    }
    EXPECT_EQ(all_watched(), "");
}

}  // namespace
}  // namespace cadre::testing
