// SPDX-License-Identifier: Apache-2.0
#include <cadre/thread_pool_executor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>

#include "support/pools.hpp"

namespace cadre::testing {
namespace {

void make_with_options(int core, int maximum, std::chrono::nanoseconds keep_alive) {
    thread_pool_options options;
    options.core_pool_size = core;
    options.maximum_pool_size = maximum;
    options.keep_alive = keep_alive;
    thread_pool_executor pool(std::move(options));
}

/// A way to make a pool of these sizes; each constructor overload is one.
using maker = std::function<void(int core, int maximum, std::chrono::nanoseconds keep_alive)>;

std::vector<maker> positional_makers() {
    return {
        [](int core, int maximum, std::chrono::nanoseconds keep_alive) {
            thread_pool_executor(core, maximum, keep_alive, room_for(10));
        },
        [](int core, int maximum, std::chrono::nanoseconds keep_alive) {
            thread_pool_executor(core, maximum, keep_alive, room_for(10), counting_factory());
        },
        [](int core, int maximum, std::chrono::nanoseconds keep_alive) {
            thread_pool_executor(core, maximum, keep_alive, room_for(10), counting_factory(),
                                 discard_policy{});
        },
    };
}
std::vector<maker> all_makers() {
    auto makers = positional_makers();
    makers.emplace_back(make_with_options);
    return makers;
}

// TPE-001
TEST(thread_pool_construction, refuses_a_negative_core_size) {
    for (const auto& make : all_makers()) EXPECT_THROW(make(-1, 1, 1s), std::invalid_argument);
}

// TPE-002
TEST(thread_pool_construction, refuses_a_maximum_that_is_negative_or_given_as_zero) {
    for (const auto& make : all_makers()) EXPECT_THROW(make(0, -1, 1s), std::invalid_argument);
    for (const auto& make : positional_makers())
        EXPECT_THROW(make(0, 0, 1s), std::invalid_argument);
}

// TPE-003
TEST(thread_pool_construction, refuses_a_negative_keep_alive) {
    for (const auto& make : all_makers()) EXPECT_THROW(make(1, 2, -1ns), std::invalid_argument);
}

// TPE-004
TEST(thread_pool_construction, refuses_a_core_larger_than_the_maximum) {
    for (const auto& make : all_makers()) EXPECT_THROW(make(2, 1, 1s), std::invalid_argument);
}

// TPE-005
TEST(thread_pool_construction, refuses_a_null_queue) {
    EXPECT_THROW(thread_pool_executor(1, 2, 1s, nullptr), std::invalid_argument);
    EXPECT_THROW(thread_pool_executor(1, 2, 1s, nullptr, counting_factory()),
                 std::invalid_argument);
    EXPECT_THROW(thread_pool_executor(1, 2, 1s, nullptr, counting_factory(), discard_policy{}),
                 std::invalid_argument);
}

// TPE-006
TEST(thread_pool_construction, refuses_an_empty_thread_factory) {
    EXPECT_THROW(thread_pool_executor(1, 2, 1s, room_for(10), nullptr), std::invalid_argument);
    EXPECT_THROW(thread_pool_executor(1, 2, 1s, room_for(10), nullptr, discard_policy{}),
                 std::invalid_argument);
    EXPECT_THROW(thread_pool_executor({.thread_factory = nullptr}), std::invalid_argument);
}

// TPE-007
TEST(thread_pool_construction, refuses_an_empty_rejection_handler) {
    EXPECT_THROW(thread_pool_executor(1, 2, 1s, room_for(10), counting_factory(), nullptr),
                 std::invalid_argument);
    EXPECT_THROW(thread_pool_executor({.rejection = nullptr}), std::invalid_argument);
}

TEST(thread_pool_construction, refuses_core_threads_that_time_out_after_no_time) {
    EXPECT_THROW(thread_pool_executor({.keep_alive = 0s, .allow_core_thread_time_out = true}),
                 std::invalid_argument);
}

TEST(thread_pool_construction, names_the_argument_and_its_value_when_it_refuses) {
    const auto message = [](int core, int maximum, std::chrono::nanoseconds keep_alive) {
        return message_of<std::invalid_argument>(
            [&] { make_with_options(core, maximum, keep_alive); });
    };
    EXPECT_EQ(message(-7, 1, 1s), "core_pool_size (-7) is negative");
    EXPECT_EQ(message(0, -3, 1s), "maximum_pool_size (-3) is not positive");
    EXPECT_EQ(message(5, 4, 1s), "maximum_pool_size (4) is below core_pool_size (5)");
    EXPECT_EQ(message(1, 1, -2ns), "keep_alive (-2 ns) is negative");
}

// TPE-008
TEST(thread_pool_construction, reports_the_core_size_it_was_given) {
    thread_pool_executor pool(1, 2, 1s, room_for(10));
    EXPECT_EQ(pool.core_pool_size(), 1);
    thread_pool_executor from_options({.core_pool_size = 3});
    EXPECT_EQ(from_options.core_pool_size(), 3);
}

// TPE-009
TEST(thread_pool_construction, reports_the_maximum_it_was_given) {
    thread_pool_executor pool(2, 3, 1s, room_for(10));
    EXPECT_EQ(pool.maximum_pool_size(), 3);
}

// TPE-010
TEST(thread_pool_construction, reports_a_keep_alive_of_1000_ms_as_one_second) {
    thread_pool_executor pool(2, 2, 1000ms, room_for(10));
    EXPECT_EQ(pool.keep_alive(), 1s);
}

// TPE-011
TEST(thread_pool_construction, gives_back_the_very_factory_it_was_given) {
    const counting_factory given;
    thread_pool_executor pool(1, 2, 1s, room_for(10), given);
    pool.thread_factory()([] {}).join();
    EXPECT_EQ(given.asked(), 1);
}

// TPE-013
TEST(thread_pool_construction, aborts_if_no_handler_was_given) {
    thread_pool_executor pool(1, 2, 1s, room_for(10));
    EXPECT_TRUE(pool.rejected_execution_handler().target<abort_policy>());
    thread_pool_executor from_options({});
    EXPECT_TRUE(from_options.rejected_execution_handler().target<abort_policy>());
}

// TPE-014
TEST(thread_pool_construction, gives_back_the_very_handler_it_was_given) {
    int calls = 0;
    thread_pool_executor pool(1, 2, 1s, room_for(10), counting_factory(),
                              [&calls](task, thread_pool_executor&) { ++calls; });
    pool.rejected_execution_handler()([] {}, pool);
    EXPECT_EQ(calls, 1);
}

// TPE-019
TEST(thread_pool_construction, keeps_core_threads_unless_told_otherwise) {
    thread_pool_executor pool(2, 2, 1s, room_for(10));
    EXPECT_FALSE(pool.allows_core_thread_time_out());
    thread_pool_executor told({.keep_alive = 1s, .allow_core_thread_time_out = true});
    EXPECT_TRUE(told.allows_core_thread_time_out());
}

TEST(thread_pool_construction, has_sensible_defaults) {
    thread_pool_executor pool({});
    EXPECT_EQ(pool.core_pool_size(), available_processors());
    EXPECT_EQ(pool.maximum_pool_size(), available_processors());
    EXPECT_EQ(pool.keep_alive(), 60s);
    EXPECT_EQ(pool.queue().remaining_capacity(), blocking_queue<task>::npos);
    EXPECT_EQ(pool.name(), "");
}

TEST(thread_pool_construction, takes_a_maximum_of_zero_in_the_options_as_the_core) {
    thread_pool_executor three({.core_pool_size = 3});
    EXPECT_EQ(three.maximum_pool_size(), 3);
    thread_pool_executor none({.core_pool_size = 0});
    EXPECT_EQ(none.maximum_pool_size(), 1);
}

TEST(thread_pool_construction, names_its_threads_after_the_pool) {
    thread_pool_executor pool({.core_pool_size = 1, .name = "orders"});
    EXPECT_EQ(pool.name(), "orders");
    auto name = pool.submit([] { return thread_handle::current().name(); });
    EXPECT_EQ(name.get(), "orders-thread-1");
}

TEST(thread_pool_construction, leaves_the_names_of_a_given_factory_alone) {
    thread_pool_executor pool(
        {.core_pool_size = 1, .thread_factory = named_thread_factory("mine"), .name = "orders"});
    auto name = pool.submit([] { return thread_handle::current().name(); });
    EXPECT_EQ(name.get(), "mine-1");
}

TEST(thread_pool_construction, starts_no_thread) {
    const counting_factory factory;
    { thread_pool_executor pool(4, 8, 1s, room_for(10), factory); }
    EXPECT_EQ(factory.asked(), 0);
}

}  // namespace
}  // namespace cadre::testing
