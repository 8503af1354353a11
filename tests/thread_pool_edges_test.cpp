// SPDX-License-Identifier: Apache-2.0
#include <cadre/thread_pool_executor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/attended_queue.hpp"
#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/race.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

constexpr int most = std::numeric_limits<int>::max();

TEST(thread_pool_edges, takes_any_positive_number_as_a_size) {
    for (const int size : {1, (1 << 29) - 1, 1 << 29, most}) {
        thread_pool_executor pool(0, size, 1h, any_room());
        EXPECT_EQ(pool.maximum_pool_size(), size);
        pool.submit([] {}).get();
        pool.set_core_pool_size(size);
        EXPECT_EQ(pool.core_pool_size(), size);
        pool.submit([] {}).get();
        pool.resize(0, 1);
    }
}

TEST(thread_pool_edges, is_made_with_a_keep_alive_of_any_unit) {
    thread_pool_executor pool(1, 2, hours::max(), room_for(1));
    EXPECT_EQ(pool.keep_alive(), nanoseconds::max());
    EXPECT_THROW(thread_pool_executor(1, 2, hours::min(), room_for(1)), std::invalid_argument);
}

TEST(thread_pool_edges, refuses_sizes_that_cannot_be_and_changes_nothing) {
    thread_pool_executor pool(1, 2, 1h, room_for(1));
    for (const int size : {-1, std::numeric_limits<int>::min()}) {
        EXPECT_THROW(pool.set_core_pool_size(size), std::invalid_argument);
        EXPECT_THROW(pool.set_maximum_pool_size(size), std::invalid_argument);
        EXPECT_THROW(pool.resize(size, 2), std::invalid_argument);
        EXPECT_THROW(pool.resize(0, size), std::invalid_argument);
        EXPECT_THROW(thread_pool_executor({.core_pool_size = size}), std::invalid_argument);
        EXPECT_THROW(thread_pool_executor({.maximum_pool_size = size}), std::invalid_argument);
    }
    EXPECT_THROW(pool.set_maximum_pool_size(0), std::invalid_argument);
    EXPECT_EQ(pool.core_pool_size(), 1);
    EXPECT_EQ(pool.maximum_pool_size(), 2);
}

TEST(thread_pool_edges, prestarting_a_core_that_the_factory_limits_stops_there) {
    std::atomic<int> asked = 0;
    thread_pool_executor pool(most, most, 1h, any_room(), [&](auto body) {
        return ++asked > 3 ? thread() : thread(std::move(body));
    });
    EXPECT_EQ(pool.prestart_all_core_threads(), 3);
    EXPECT_EQ(asked, 4);
}

TEST(thread_pool_edges, refuses_empty_callables_everywhere) {
    thread_pool_executor pool({.core_pool_size = 1});
    const std::function<void()> empty;
    void (*const null)() = nullptr;
    EXPECT_THROW(pool.execute(task()), std::invalid_argument);
    EXPECT_THROW(pool.execute(nullptr), std::invalid_argument);
    EXPECT_THROW(pool.execute(empty), std::invalid_argument);
    EXPECT_THROW(pool.execute(null), std::invalid_argument);
    EXPECT_THROW((void)pool.submit(empty), std::invalid_argument);
    EXPECT_THROW((void)pool.submit(null), std::invalid_argument);
    EXPECT_THROW((void)pool.submit(std::function<int(int)>(), 1), std::invalid_argument);
    EXPECT_THROW((void)named("empty", empty), std::invalid_argument);
    EXPECT_THROW((void)prioritized(1, empty), std::invalid_argument);
    EXPECT_THROW(pool.invoke_all(std::vector{empty}), std::invalid_argument);
    EXPECT_THROW(pool.invoke_any(std::vector{empty}), std::invalid_argument);
    EXPECT_EQ(pool.task_count(), 0);
    EXPECT_EQ(pool.pool_size(), 0);
}

TEST(thread_pool_edges, an_empty_task_is_refused_before_the_state_is_looked_at) {
    thread_pool_executor pool({.core_pool_size = 1});
    pool.shutdown();
    EXPECT_THROW(pool.execute(task()), std::invalid_argument);
    EXPECT_EQ(pool.snapshot().rejected_task_count, 0);
}

TEST(thread_pool_edges, a_negative_timeout_does_not_wait) {
    thread_pool_executor pool({.core_pool_size = 1, .queue = no_room()});
    held_task held(pool);
    for (const auto timeout : {nanoseconds(0), nanoseconds(-1), nanoseconds::min()}) {
        EXPECT_FALSE(pool.await_termination(timeout));
        pool.set_rejected_execution_handler(block_policy{timeout});
        EXPECT_THROW(pool.execute([] {}), rejected_execution);
    }
    EXPECT_FALSE(pool.await_termination(hours::min()));
    EXPECT_EQ(held.ended(), 0);
}

TEST(thread_pool_edges, the_longest_timeouts_wait_for_the_event) {
    const std::vector<std::function<bool(thread_pool_executor&)>> waits = {
        [](auto& pool) { return pool.await_termination(nanoseconds::max()); },
        [](auto& pool) { return pool.await_termination(hours::max()); },
        [](auto& pool) { return pool.await_termination(std::chrono::years::max()); },
        [](auto& pool) { return pool.await_termination(std::chrono::duration<double>(1e300)); }};
    for (const auto& wait : waits) {
        thread_pool_executor pool({.core_pool_size = 1});
        held_task held(pool);
        bool terminated = false;
        waiting_call waiter([&] { terminated = wait(pool); });
        EXPECT_FALSE(waiter.is_over());
        pool.shutdown();
        held.let_go();
        EXPECT_TRUE(waiter.returned());
        EXPECT_TRUE(terminated);
    }
}

TEST(thread_pool_edges, the_longest_timeouts_wait_for_results) {
    gate may_end;
    thread_pool_executor pool({.core_pool_size = 1});
    auto result = pool.submit([&] {
                          may_end.wait();
                          return 7;
                      })
                      .share();
    waiting_call one([&] { EXPECT_EQ(result.get_for(hours::max()), 7); });
    waiting_call two([&] { EXPECT_TRUE(result.wait_for(nanoseconds::max())); });
    waiting_call three(
        [&] { EXPECT_TRUE(result.wait_until(std::chrono::steady_clock::time_point::max())); });
    waiting_call four(
        [&] { EXPECT_TRUE(result.wait_until(std::chrono::system_clock::time_point::max())); });
    EXPECT_THROW(result.get_for(hours::min()), timeout);
    EXPECT_FALSE(result.wait_for(nanoseconds::min()));
    EXPECT_FALSE(result.wait_until(std::chrono::steady_clock::time_point::min()));
    may_end.open();
    for (auto* call : {&one, &two, &three, &four}) EXPECT_TRUE(call->returned());
}

TEST(thread_pool_edges, the_longest_keep_alive_keeps_alive) {
    for (const auto keep_alive : {nanoseconds::max(), nanoseconds::max() - 1ns}) {
        auto queue = std::make_unique<attended_queue<linked_blocking_queue<task>>>();
        const auto& attended = *queue;
        thread_pool_executor pool(1, 1, keep_alive, std::move(queue));
        pool.allow_core_thread_time_out(true);
        pool.submit([] {}).get();
        EXPECT_EQ(pool.keep_alive(), keep_alive);
        EXPECT_TRUE(eventually([&] { return attended.waiting_with_limit() == 1; }));
        EXPECT_EQ(attended.last_limit(), keep_alive);
        EXPECT_EQ(pool.pool_size(), 1);
    }
    thread_pool_executor pool({.core_pool_size = 1});
    pool.set_keep_alive(hours::max());
    EXPECT_EQ(pool.keep_alive(), nanoseconds::max());
    EXPECT_THROW(pool.set_keep_alive(hours::min()), std::invalid_argument);
}

TEST(thread_pool_edges, blocks_for_the_longest_time) {
    thread_pool_executor pool({.core_pool_size = 1,
                               .queue = room_for(1),
                               .rejection = block_policy{nanoseconds::max() - 1ns}});
    held_tasks held(pool, 2);
    ASSERT_TRUE(held.have_started(1));
    waiting_call submitter([&] { pool.execute([] {}); });
    EXPECT_FALSE(submitter.is_over());
    held.let_go();
    EXPECT_TRUE(submitter.returned());
}

TEST(thread_pool_edges, invoke_all_and_any_take_the_longest_and_no_time) {
    thread_pool_executor pool({.core_pool_size = 2});
    const std::vector<std::function<int()>> sevens(2, [] { return 7; });
    EXPECT_EQ(pool.invoke_any(sevens, hours::max()), 7);
    EXPECT_EQ(pool.invoke_any(sevens, nanoseconds::max()), 7);
    for (auto& each : pool.invoke_all(sevens, hours::max())) EXPECT_EQ(each.get(), 7);
    held_tasks held(pool, 2);
    ASSERT_TRUE(held.have_started(2));
    EXPECT_THROW(pool.invoke_any(sevens, hours::min()), timeout);
    for (auto& each : pool.invoke_all(sevens, nanoseconds::min())) EXPECT_TRUE(each.is_cancelled());
}

/// Reads snapshots until told to stop, and notes what cannot be. Reads when the constructor has
/// returned.
class snapshot_reader {
public:
    explicit snapshot_reader(const thread_pool_executor& pool)
        : thread_([this, &pool] {
              while (!over_) {
                  check(pool.snapshot());
                  ++reads_;
                  begun_.open();
              }
          }) {
        EXPECT_TRUE(begun_.wait());
    }
    int reads() const { return reads_; }
    int end() {
        over_ = true;
        thread_.join();
        return impossible_;
    }

private:
    void check(const pool_snapshot& s) {
        const bool possible =
            0 <= s.active_count && s.active_count <= s.pool_size &&
            s.pool_size <= s.largest_pool_size && s.core_pool_size <= s.maximum_pool_size &&
            completed_ <= s.completed_task_count && largest_ <= s.largest_pool_size &&
            s.completed_task_count <= s.task_count;
        if (!possible) ++impossible_;
        completed_ = s.completed_task_count;
        largest_ = s.largest_pool_size;
    }

    std::int64_t completed_ = 0;
    int largest_ = 0;
    int impossible_ = 0;
    std::atomic<int> reads_ = 0;
    gate begun_;
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

TEST(thread_pool_edges, a_snapshot_is_consistent_while_everything_moves) {
    thread_pool_executor pool({.core_pool_size = 2,
                               .maximum_pool_size = 6,
                               .keep_alive = 50us,
                               .queue = room_for(8),
                               .rejection = caller_runs_policy{},
                               .hooks = {.uncaught_exception = [](auto&&...) {}}});
    snapshot_reader reader(pool);
    constexpr int least_reads = 1'000'000 / slowness;
    for (int i = 0; i < 5000 || reader.reads() < least_reads; ++i) {
        if (i % 100 == 0) pool.resize(i / 100 % 4, 4 + i / 100 % 4);
        try {
            pool.execute([i] {
                if (i % 7 == 0) throw i;
            });
        } catch (int) {}  // it ran here
        if (i % 500 == 0) {
            ASSERT_TRUE(eventually([&] { return pool.active_count() == 0; }));
        }
    }
    pool.close();
    EXPECT_EQ(reader.end(), 0);
    EXPECT_EQ(pool.task_count(), pool.completed_task_count());
}

}  // namespace
}  // namespace cadre::testing
