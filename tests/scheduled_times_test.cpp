// SPDX-License-Identifier: Apache-2.0
//
// In which order tasks run, times at the ends of the clock, and what waiting costs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/scheduled_pools.hpp"
#include "support/usage.hpp"
#include "support/waiting_call.hpp"
#include <cadre/scheduled_thread_pool_executor.hpp>
#include <cadre/testing.hpp>

namespace cadre::testing {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;

TEST(scheduled_times, tasks_of_one_instant_run_in_the_order_they_came) {
    constexpr int count = 100'000;
    manual_clock clock;
    std::vector<int> order;
    order.reserve(count);
    scheduled_pool pool(clock);
    for (int i = 0; i < count; ++i) (void)pool.schedule([&order, i] { order.push_back(i); }, 1h);
    clock.advance(1h);
    ASSERT_EQ(order.size(), static_cast<std::size_t>(count));
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(scheduled_times, a_periodic_task_keeps_its_place_among_tasks_of_one_instant) {
    manual_clock clock;
    std::string order;
    scheduled_pool pool(clock);
    const auto first = pool.schedule_at_fixed_rate([&] { order += 'a'; }, 3h, 3h);
    const auto second = pool.schedule_with_fixed_delay([&] { order += 'b'; }, 2h, 2h);
    const auto third = pool.schedule([&] { order += 'c'; }, 6h);
    clock.advance(6h);
    EXPECT_EQ(order, "bababc");
}

TEST(scheduled_times, tasks_run_in_the_order_of_their_times_whichever_way_they_came) {
    manual_clock clock;
    std::mt19937 random(42);
    std::vector<std::pair<seconds, int>> order;
    scheduled_pool pool({.core_pool_size = 1, .remove_on_cancel = true, .clock = &clock});
    std::vector<scheduled_future<void>> results;
    for (int i = 0; i < 10'000; ++i) {
        const seconds delay(random() % 1000);
        results.push_back(
            pool.schedule([&, delay, i] { order.emplace_back(delay, i); }, 1h + delay));
    }
    for (int i = 0; i < 5000; ++i) results[random() % results.size()].cancel();
    const auto left = pool.queue().size();
    clock.advance(2h);
    EXPECT_EQ(order.size(), left);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(scheduled_times, immediate_tasks_run_in_the_order_they_came_however_negative_the_delay) {
    manual_clock clock;
    std::vector<int> order;
    scheduled_pool pool(clock);
    held_task occupies_the_worker(pool);
    (void)pool.schedule([&] { order.push_back(1); }, 0s);
    (void)pool.schedule([&] { order.push_back(2); }, -5h);
    pool.execute([&] { order.push_back(3); });
    (void)pool.schedule([&] { order.push_back(4); }, nanoseconds::min());
    (void)pool.schedule_at_fixed_rate([&] { order.push_back(5); }, hours::min(), 1h);
    (void)pool.submit([&] { order.push_back(6); });
    occupies_the_worker.let_go();
    clock.advance(0s);
    EXPECT_THAT(order, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(scheduled_times, the_end_of_time_comes_after_now_in_every_combination) {
    const std::vector<nanoseconds> soon = {0ns, -1ns, nanoseconds::min(), 1ms};
    const std::vector<nanoseconds> never = {nanoseconds::max(), nanoseconds::max() - 1ns,
                                            nanoseconds::max() / 2, seconds(9'000'000'000)};
    for (const auto now : soon)
        for (const auto late : never)
            for (const bool late_first : {false, true}) {
                scheduled_thread_pool_executor pool(1);
                held_task occupies_the_worker(pool);  // so that tasks are overdue
                std::vector<scheduled_future<void>> lates;
                std::vector<scheduled_future<void>> nows;
                for (int i = 0; i < 4; ++i)
                    if ((i % 2 == 0) == late_first)
                        lates.push_back(pool.schedule([] {}, late));
                    else
                        nows.push_back(pool.schedule([] {}, now));
                occupies_the_worker.let_go();
                for (auto& result : nows) result.get_for(guard);
                for (auto& result : lates) {
                    EXPECT_FALSE(result.is_done());
                    EXPECT_GT(result.delay(), 24h * 365 * 100);
                }
                EXPECT_EQ(pool.shutdown_now().size(), 2u);
            }
}

/// A scheduled task does not run now, nor when two centuries have passed.
void expect_never(scheduled_thread_pool_executor& pool, manual_clock& clock,
                  const scheduled_future<void>& result, std::int64_t runs) {
    clock.advance(24h * 365 * 100);
    EXPECT_FALSE(result.is_done());
    EXPECT_EQ(result.statistics().runs, runs);
    EXPECT_EQ(pool.queue().size(), 1u);
}

TEST(scheduled_times, delays_of_every_unit_at_its_largest_are_the_end_of_time) {
    const auto with = [](auto delay) {
        manual_clock clock;
        scheduled_pool pool(clock);
        expect_never(pool, clock, pool.schedule([] {}, delay), 0);
    };
    with(nanoseconds::max());
    with(std::chrono::microseconds::max());
    with(std::chrono::milliseconds::max());
    with(seconds::max());
    with(std::chrono::minutes::max());
    with(hours::max());
    with(std::chrono::years::max());
}

TEST(scheduled_times, periods_of_every_unit_at_their_largest_run_once) {
    const auto with = [](auto period) {
        manual_clock clock;
        {
            scheduled_pool pool(clock);
            expect_never(pool, clock, pool.schedule_with_fixed_delay([] {}, 0s, period), 1);
        }
        scheduled_pool pool(clock);
        expect_never(pool, clock, pool.schedule_at_fixed_rate([] {}, 0s, period), 1);
    };
    with(nanoseconds::max());
    with(std::chrono::milliseconds::max());
    with(seconds::max());
    with(hours::max());
}

TEST(scheduled_times, a_fixed_delay_of_the_most_seconds_runs_once_on_the_system_clock_too) {
    std::atomic<int> runs = 0;
    scheduled_thread_pool_executor pool(1);
    const auto result = pool.schedule_with_fixed_delay([&] { ++runs; }, 0s, seconds::max());
    ASSERT_TRUE(has_completed(pool, 1));
    pool.schedule([] {}, 5ms).get();
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(result.delay(), nanoseconds::max());
}

TEST(scheduled_times, delays_of_centuries_keep_their_order) {
    constexpr auto centuries = 24h * 365 * 290;
    manual_clock clock;
    std::vector<int> order;
    scheduled_pool pool(clock);
    for (const int i : {3, 1, 2, 0})
        (void)pool.schedule([&order, i] { order.push_back(i); }, centuries + nanoseconds(i));
    clock.advance(centuries + 2ns);
    EXPECT_THAT(order, ElementsAre(0, 1, 2));
    clock.advance(1ns);
    EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
    // As late again is after the end of time.
    for (const int i : {5, 4})
        (void)pool.schedule([&order, i] { order.push_back(i); }, centuries + nanoseconds(i));
    (void)pool.schedule([&order] { order.push_back(6); }, 1h);
    clock.advance(1h);
    EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 6));
    EXPECT_EQ(pool.queue().size(), 2U);
}

TEST(scheduled_times, times_at_the_ends_of_the_clocks_can_be_given) {
    using std::chrono::system_clock;
    manual_clock clock;
    scheduled_pool pool(clock);
    held_task occupies_the_worker(pool);
    auto earliest = pool.schedule_at([] {}, steady_clock::time_point::min());
    auto wall_earliest = pool.schedule_at([] {}, system_clock::time_point::min());
    const auto last = pool.schedule_at([] {}, steady_clock::time_point::max());
    const auto wall_last = pool.schedule_at([] {}, system_clock::time_point::max());
    EXPECT_LT(earliest.delay(), 0ns);
    EXPECT_EQ(last.delay(), nanoseconds::max());
    EXPECT_GT(wall_last.delay(), 24h * 365 * 200);
    occupies_the_worker.let_go();
    earliest.get_for(guard);
    wall_earliest.get_for(guard);
    EXPECT_FALSE(last.is_done() || wall_last.is_done());
}

// ---- what waiting costs

TEST(scheduled_waiting, a_pool_without_a_core_runs_its_tasks_on_one_thread) {
    const counting_factory factory;
    scheduled_thread_pool_executor pool(0, factory);
    EXPECT_GE(time_of([&] { EXPECT_EQ(pool.schedule([] { return 1; }, 20ms).get(), 1); }), 20ms);
    EXPECT_EQ(factory.asked(), 1);
    ASSERT_TRUE(eventually([&] { return pool.pool_size() == 0; }));  // not just about to leave
    EXPECT_EQ(pool.submit([] { return 2; }).get(), 2);
    EXPECT_EQ(pool.largest_pool_size(), 1);
}

TEST(scheduled_waiting, a_pool_without_a_core_does_not_spin_or_make_threads_for_a_far_task) {
    for (const auto keep_alive : {0ns, 1ns, nanoseconds(10ms), nanoseconds::max()}) {
        const counting_factory factory;
        scheduled_thread_pool_executor pool(
            {.core_pool_size = 0, .keep_alive = keep_alive, .thread_factory = factory});
        const auto far = pool.schedule([] {}, 1h);
        EXPECT_TRUE(becomes_quiet(200ms, {.cpu_time = 10ms, .wake_ups = 5}));
        EXPECT_EQ(factory.asked(), 1);
        pool.shutdown_now();
    }
}

TEST(scheduled_waiting, core_threads_that_may_leave_do_not_come_and_go_for_a_far_task) {
    const counting_factory factory;
    scheduled_thread_pool_executor pool({.core_pool_size = 4,
                                         .keep_alive = 1ms,
                                         .thread_factory = factory,
                                         .allow_core_thread_time_out = true});
    const auto far = pool.schedule([] {}, 1h);
    EXPECT_TRUE(becomes_quiet(200ms, {.cpu_time = 10ms, .wake_ups = 5}));
    EXPECT_EQ(factory.asked(), 1);
    pool.shutdown_now();
}

TEST(scheduled_waiting, an_idle_scheduler_with_a_far_task_wakes_nobody) {
    scheduled_thread_pool_executor pool(8);
    pool.prestart_all_core_threads();
    const auto far = pool.schedule([] {}, 1h);
    const auto farther = pool.schedule([] {}, nanoseconds::max());
    pool.submit([] {}).get();
    EXPECT_TRUE(becomes_quiet(200ms, {.cpu_time = 10ms, .wake_ups = 5}));
    pool.shutdown_now();
}

// STP-028
TEST(scheduled_waiting, a_tick_wakes_few_of_a_hundred_threads) {
    constexpr int ticks = 50;
    struct beat {
        std::atomic<int> runs = 0;
        gate enough;
    };
    scheduled_thread_pool_executor pool(100);
    ASSERT_EQ(pool.prestart_all_core_threads(), 100);
    pool.submit([] {}).get();
    ASSERT_TRUE(becomes_quiet(50ms, {.cpu_time = 5ms, .wake_ups = 2}));  // all of them sleep
    // Where the machine was held up, that may count as time of ours: then the next stretch is
    // looked at.
    EXPECT_TRUE(eventually([&] {
        const auto beats = std::make_shared<beat>();
        std::chrono::nanoseconds time = {};
        const auto used = usage_of([&] {
            time = time_of([&] {
                auto rate = pool.schedule_at_fixed_rate(
                    [beats] {
                        if (++beats->runs == ticks) beats->enough.open();
                    },
                    10ms, 10ms);
                EXPECT_TRUE(beats->enough.wait());
                rate.cancel();
            });
        });
        EXPECT_GE(time, ticks * 10ms);
        return used.cpu_time < time / 5 && used.wake_ups < ticks * 20;
    }));
}

// ---- who waits for the head. Takers of the test's own, on the queue of a pool without threads.

class scheduled_leader : public ::testing::Test {
protected:
    /// A task that takes its place in a taker's list.
    scheduled_future<void> at(nanoseconds delay) {
        return pool.schedule([] {}, delay);
    }
    std::unique_ptr<waiting_call> taker() {
        return std::make_unique<waiting_call>([this] {
            pool.queue().take()();
            ++taken;
        });
    }
    bool have_been_taken(int count) {
        return eventually([&] { return taken >= count; });
    }

    std::atomic<int> taken = 0;
    scheduled_thread_pool_executor pool{1, [](const std::function<void()>&) { return thread(); }};
};

TEST_F(scheduled_leader, that_is_interrupted_hands_over) {
    with_enough_time([&](auto time) {
        taken = 0;
        const auto head = at(time);
        const auto leader = taker();
        const auto follower = taker();
        const auto other = taker();
        leader->interrupt();
        if (!leader->was_interrupted()) return false;
        EXPECT_TRUE(have_been_taken(1));
        EXPECT_EQ(head.state(), future_state::success);
        return true;
    });
    pool.shutdown_now();
}

TEST_F(scheduled_leader, that_times_out_hands_over) {
    with_enough_time([&](auto time) {
        taken = 0;
        const auto head = at(time);
        bool too_late = false;
        waiting_call leader([&] { too_late = pool.queue().poll_for(time / 4).has_value(); });
        const auto follower = taker();
        EXPECT_TRUE(leader.returned());
        if (too_late) return false;
        EXPECT_TRUE(have_been_taken(1));
        return true;
    });
    pool.shutdown_now();
}

TEST_F(scheduled_leader, whose_task_is_removed_takes_the_next_in_time) {
    with_enough_time([&](auto time) {
        taken = 0;
        const auto head = at(time);
        const auto next = at(3 * time);
        const auto leader = taker();
        const auto follower = taker();
        if (!pool.remove(head)) {
            EXPECT_TRUE(have_been_taken(2));
            return false;
        }
        EXPECT_TRUE(have_been_taken(1));
        EXPECT_EQ(next.state(), future_state::success);
        return true;
    });
    pool.shutdown_now();
}

TEST_F(scheduled_leader, takes_an_earlier_head_that_comes_meanwhile) {
    const auto far = at(1h);
    const auto leader = taker();
    const auto follower = taker();
    const auto near = at(5ms);
    EXPECT_TRUE(have_been_taken(1));
    EXPECT_EQ(near.state(), future_state::success);
    const auto now = at(0s);
    EXPECT_TRUE(have_been_taken(2));
    EXPECT_EQ(far.state(), future_state::pending);
    pool.shutdown_now();
}

TEST_F(scheduled_leader, that_leaves_in_any_way_leaves_no_task_behind) {
    enum leaves { interrupted, timed_out, with_its_task_removed };
    for (const auto how : {interrupted, timed_out, with_its_task_removed})
        for (const bool earlier_head : {false, true}) {
            taken = 0;
            const auto head = at(20ms);
            const auto next = at(25ms);
            const auto patience = how == timed_out ? nanoseconds(5ms) : nanoseconds(guard);
            waiting_call leader([&] {
                if (auto found = pool.queue().poll_for(patience)) (*found)();
            });
            const auto follower = taker();
            const auto other = taker();
            const auto last = taker();
            if (how == interrupted) leader.interrupt();
            if (how == with_its_task_removed) pool.remove(head);
            scheduled_future<void> earlier;
            if (earlier_head) earlier = at(1ms);
            EXPECT_TRUE(eventually([&] { return next.is_done() && pool.queue().empty(); }));
        }
}

}  // namespace
}  // namespace cadre::testing
