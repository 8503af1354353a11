// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <stdexcept>

#include <cadre/sizing.hpp>
#include <cadre/thread.hpp>

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr int most_threads = (1 << 29) - 1;
constexpr int most_processors = std::numeric_limits<int>::max();

TEST(sizing, gives_work_that_computes_one_thread_more_than_processors) {
    EXPECT_EQ(sizing::cpu_bound(1), 2);
    EXPECT_EQ(sizing::cpu_bound(8), 9);
    EXPECT_EQ(sizing::cpu_bound(), available_processors() + 1);
}

TEST(sizing, gives_work_that_waits_two_threads_for_each_processor) {
    EXPECT_EQ(sizing::io_bound(1), 2);
    EXPECT_EQ(sizing::io_bound(8), 16);
    EXPECT_EQ(sizing::io_bound(), 2 * available_processors());
}

TEST(sizing, gives_a_mix_what_keeps_that_share_of_the_processors_busy) {
    EXPECT_EQ(sizing::for_mix(8, 0.9, 80ms, 20ms), 36);
    EXPECT_EQ(sizing::for_mix(8, 1, 0ms, 20ms), 8);
    EXPECT_EQ(sizing::for_mix(4, 0.5, 1s, 1s), 4);
    EXPECT_EQ(sizing::for_mix(0.5, 1s, 1s), sizing::for_mix(available_processors(), 0.5, 1s, 1s));
}

TEST(sizing, rounds_up_to_at_least_one) {
    EXPECT_EQ(sizing::for_mix(1, 0.001, 0ms, 1ms), 1);
    EXPECT_EQ(sizing::for_mix(1, 1, 1ms, 2ms), 2);
    EXPECT_EQ(sizing::for_mix(3, 0.5, 0ms, 1ms), 2);
}

TEST(sizing, never_gives_more_than_a_pool_can_have) {
    EXPECT_EQ(sizing::cpu_bound(most_processors), most_threads);
    EXPECT_EQ(sizing::io_bound(most_processors), most_threads);
    EXPECT_EQ(sizing::for_mix(most_processors, 1, nanoseconds::max(), 1ns), most_threads);
}

TEST(sizing, refuses_what_cannot_be) {
    for (const int processors : {0, -1, std::numeric_limits<int>::min()}) {
        EXPECT_THROW(sizing::cpu_bound(processors), std::invalid_argument);
        EXPECT_THROW(sizing::io_bound(processors), std::invalid_argument);
        EXPECT_THROW(sizing::for_mix(processors, 1, 1s, 1s), std::invalid_argument);
    }
    for (const double utilisation : {0.0, -0.1, 1.01, std::numeric_limits<double>::quiet_NaN(),
                                     std::numeric_limits<double>::infinity()})
        EXPECT_THROW(sizing::for_mix(8, utilisation, 1s, 1s), std::invalid_argument);
    EXPECT_THROW(sizing::for_mix(8, 1, -1ns, 1s), std::invalid_argument);
    EXPECT_THROW(sizing::for_mix(8, 1, 1s, 0ns), std::invalid_argument);
    EXPECT_THROW(sizing::for_mix(8, 1, 1s, -1ns), std::invalid_argument);
}

}  // namespace
}  // namespace cadre::testing
