// SPDX-License-Identifier: Apache-2.0
#include <cadre/testing.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/held_task.hpp"
#include "support/scheduled_pools.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

using std::chrono::system_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(manual_clock, stands_still_until_it_is_moved) {
    manual_clock clock;
    const auto start = clock.now();
    EXPECT_EQ(clock.wall_now(), std::chrono::sys_days(std::chrono::year(2000) / 1 / 1));
    EXPECT_EQ(clock.now(), start);
    clock.advance(90min);
    EXPECT_EQ(clock.now() - start, 90min);
    EXPECT_EQ(clock.wall_now(), std::chrono::sys_days(std::chrono::year(2000) / 1 / 1) + 90min);
}

TEST(manual_clock, starts_at_any_time_of_day) {
    const auto noon = std::chrono::sys_days(std::chrono::year(1969) / 7 / 20) + 12h;
    manual_clock clock(noon);
    EXPECT_EQ(clock.wall_now(), noon);
    clock.advance(1h);
    EXPECT_EQ(clock.wall_now(), noon + 1h);
}

TEST(manual_clock, advances_to_a_time_of_either_clock_and_never_back) {
    manual_clock clock;
    const auto start = clock.now();
    const auto wall_start = clock.wall_now();
    clock.advance_to(start + 1h);
    EXPECT_EQ(clock.now(), start + 1h);
    clock.advance_to(start);
    EXPECT_EQ(clock.now(), start + 1h);
    clock.advance_to(wall_start + 2h);
    EXPECT_EQ(clock.now(), start + 2h);
    clock.advance_to(wall_start);
    EXPECT_EQ(clock.now(), start + 2h);
    EXPECT_THROW(clock.advance(-1ns), std::invalid_argument);
}

TEST(manual_clock, advances_by_durations_of_any_kind) {
    manual_clock clock;
    const auto start = clock.now();
    clock.advance(0.5s);
    EXPECT_EQ(clock.now() - start, 500ms);
    clock.advance(std::chrono::days(1));
    EXPECT_EQ(clock.now() - start, 24h + 500ms);
    EXPECT_THROW(clock.advance(-0.5s), std::invalid_argument);
    clock.advance(std::chrono::hours::max());  // more than nanoseconds can tell
    EXPECT_EQ(clock.now(), std::chrono::steady_clock::time_point::max() - 1ns);
}

TEST(manual_clock, advances_to_its_last_instant_but_one) {
    const auto end = std::chrono::steady_clock::time_point::max();
    manual_clock clock;
    scheduled_pool pool(clock);
    const auto never = pool.schedule([] {}, std::chrono::nanoseconds::max());
    clock.advance_to(end);
    EXPECT_EQ(clock.now(), end - 1ns);
    EXPECT_FALSE(never.is_done());
}

TEST(manual_clock, setting_the_wall_clock_passes_no_time) {
    manual_clock clock;
    const auto start = clock.now();
    const auto day = std::chrono::sys_days(std::chrono::year(2030) / 5 / 1);
    clock.set_wall(day);
    EXPECT_EQ(clock.wall_now(), day);
    EXPECT_EQ(clock.now(), start);
    clock.advance(1h);
    EXPECT_EQ(clock.wall_now(), day + 1h);
}

TEST(manual_clock, plays_a_year_in_the_order_of_times) {
    manual_clock clock;
    std::vector<std::string> runs;
    scheduled_pool pool(clock);
    (void)pool.schedule_at_fixed_rate([&] { runs.emplace_back("month"); }, 720h, 720h);
    (void)pool.schedule([&] { runs.emplace_back("spring"); }, 24h * 80);
    (void)pool.schedule_at([&] { runs.emplace_back("june"); },
                           std::chrono::sys_days(std::chrono::year(2000) / 6 / 1));
    clock.advance(24h * 366);
    ASSERT_EQ(runs.size(), 14u);
    EXPECT_EQ(runs[2], "spring");
    EXPECT_EQ(runs[6], "june");
}

TEST(manual_clock, shows_each_task_the_time_that_it_is_due) {
    manual_clock clock;
    const auto start = clock.now();
    std::vector<std::chrono::nanoseconds> seen;
    scheduled_pool pool(clock);
    for (const auto delay : {3h, 1h, 2h})
        (void)pool.schedule([&] { seen.push_back(clock.now() - start); }, delay);
    clock.advance(10h);
    EXPECT_THAT(seen, ElementsAre(1h, 2h, 3h));
    EXPECT_EQ(clock.now() - start, 10h);
}

TEST(manual_clock, also_waits_for_what_due_tasks_start) {
    manual_clock clock;
    std::vector<int> runs;
    scheduled_pool pool(clock);
    (void)pool.schedule(
        [&] {
            runs.push_back(1);
            pool.execute([&] { runs.push_back(2); });
            (void)pool.schedule([&] { runs.push_back(4); }, 1h);
            (void)pool.schedule([&] { runs.push_back(3); }, 1min);
        },
        1h);
    clock.advance(2h);
    EXPECT_THAT(runs, ElementsAre(1, 2, 3, 4));
}

TEST(manual_clock, waits_for_tasks_that_were_due_before) {
    manual_clock clock;
    std::atomic<int> runs = 0;
    scheduled_pool pool(clock);
    for (int i = 0; i < 100; ++i) pool.execute([&] { ++runs; });
    clock.advance(0ns);
    EXPECT_EQ(runs, 100);
}

TEST(manual_clock, waits_for_a_task_that_drops_others_meanwhile) {
    manual_clock clock;
    scheduled_pool pool(clock, 2);
    for (int round = 0; round < 3; ++round) {
        std::vector<scheduled_future<void>> others;
        for (int i = 0; i < 3; ++i) others.push_back(pool.schedule([] {}, 10h));
        gate gone;  // the others
        gate may_end;
        (void)pool.schedule(
            [&] {
                if (round == 0) pool.remove_if([](const task&) { return true; });
                for (auto& other : others) other.cancel();
                if (round == 1) pool.purge();
                if (round == 2) pool.shutdown_now();
                gone.open();
                may_end.wait();
            },
            1h);
        waiting_call advances([&] { clock.advance(1h); });
        ASSERT_TRUE(gone.wait());
        advances.settle();
        EXPECT_FALSE(advances.is_over()) << "round " << round;
        may_end.open();
        EXPECT_TRUE(advances.returned());
    }
}

TEST(manual_clock, does_not_wait_for_what_was_removed) {
    for (int round = 0; round < 200; ++round) {
        manual_clock clock;
        scheduled_pool pool(clock);
        std::vector<scheduled_future<void>> results;
        for (int i = 0; i < 10; ++i) results.push_back(pool.schedule([] {}, 1h));
        std::thread takes_out([&] {
            for (auto& result : results) pool.remove(result);
        });
        clock.advance(1h);
        takes_out.join();
        EXPECT_TRUE(pool.queue().empty());
    }
}

TEST(manual_clock, does_not_wait_for_a_pool_that_was_stopped) {
    for (int round = 0; round < 200; ++round) {
        manual_clock clock;
        scheduled_pool pool(clock);
        for (int i = 0; i < 10; ++i) (void)pool.schedule([] {}, 1h);
        std::thread stops([&] { pool.shutdown_now(); });
        clock.advance(1h);
        stops.join();
    }
}

TEST(manual_clock, drives_several_pools) {
    manual_clock clock;
    std::vector<int> runs;
    scheduled_pool one(clock);
    scheduled_pool other(clock);
    (void)one.schedule_at_fixed_rate([&] { runs.push_back(1); }, 1h, 2h);
    (void)other.schedule_at_fixed_rate([&] { runs.push_back(2); }, 2h, 2h);
    clock.advance(4h);
    EXPECT_THAT(runs, ElementsAre(1, 2, 1, 2));
}

TEST(manual_clock, a_task_may_destroy_another_pool_of_its_clock) {
    manual_clock clock;
    scheduled_pool pool(clock);
    auto other = std::make_unique<scheduled_pool>(clock);
    (void)other->schedule([] {}, 5h);
    (void)pool.schedule([&] { other.reset(); }, 1h);
    clock.advance(2h);
    EXPECT_EQ(other, nullptr);
}

TEST(manual_clock, a_task_may_destroy_its_own_pool) {
    for (int round = 0; round < 200; ++round) {
        manual_clock clock;
        gate thread_is_over;  // until then the clock is in use
        const auto factory = [&](std::function<void()> body) {
            return thread([body = std::move(body), &thread_is_over]() mutable {
                body();
                body = nullptr;
                thread_is_over.open();
            });
        };
        auto pool = std::make_unique<scheduled_thread_pool_executor>(scheduled_pool_options{
            .core_pool_size = 1, .thread_factory = factory, .clock = &clock});
        (void)pool->schedule([&] { pool.reset(); }, 1h);
        clock.advance(2h);
        EXPECT_EQ(pool, nullptr);
        ASSERT_TRUE(thread_is_over.wait());
    }
}

TEST(manual_clock, pools_may_come_and_go_while_time_passes) {
    manual_clock clock;
    std::atomic<bool> over = false;
    std::atomic<int> runs = 0;
    std::thread time_passes([&] {
        while (!over) clock.advance(1s);
    });
    for (int i = 0; i < 100; ++i) {
        scheduled_thread_pool_executor pool({.core_pool_size = 1, .clock = &clock});
        (void)pool.schedule([&] { ++runs; }, 10s);
    }  // waits for it
    over = true;
    time_passes.join();
    EXPECT_EQ(runs, 100);
}

TEST(manual_clock, several_threads_may_advance_it_to_one_time) {
    for (int round = 0; round < 20; ++round) {
        manual_clock clock;
        const auto goal = clock.wall_now() + 10h;
        std::atomic<int> begun = 0;
        scheduled_pool pool(clock);
        (void)pool.schedule([&] { EXPECT_TRUE(eventually([&] { return begun == 3; })); }, 1h);
        std::vector<std::thread> movers;
        for (int i = 0; i < 3; ++i)
            movers.emplace_back([&] {
                ++begun;
                clock.advance_to(goal);
            });
        for (auto& mover : movers) mover.join();
        EXPECT_EQ(clock.wall_now(), goal);
    }
}

TEST(manual_clock, a_task_that_runs_on_it_cannot_move_it) {
    manual_clock clock;
    scheduled_pool pool(clock);
    const auto start = clock.now();
    const auto wall = clock.wall_now();
    std::vector<std::string> refusals;
    const auto try_to = [&](auto move) {
        try {
            move();
        } catch (const illegal_state& e) {
            refusals.push_back(e.what());
        }
    };
    const auto try_all = [&] {
        try_to([&] { clock.advance(1h); });
        try_to([&] { clock.advance_to(start + 1h); });
        try_to([&] { clock.advance_to(wall + 1h); });
        try_to([&] { clock.set_wall(wall); });
    };
    pool.submit(try_all).get();          // while the clock stands still
    (void)pool.schedule(try_all, 1min);  // while it is moved
    clock.advance(1min);
    EXPECT_EQ(clock.now(), start + 1min);
    ASSERT_EQ(refusals.size(), 8u);
    for (const auto& refusal : refusals) EXPECT_THAT(refusal, HasSubstr("runs on this clock"));
}

TEST(manual_clock, a_task_on_another_clock_may_move_it) {
    manual_clock clock;
    manual_clock other;
    scheduled_pool pool(clock);
    scheduled_pool elsewhere(other);
    int runs = 0;
    (void)pool.schedule([&] { ++runs; }, 1h);
    elsewhere.submit([&] { clock.advance(1h); }).get();
    EXPECT_EQ(runs, 1);
}

/// What advance() throws, on a thread of its own: it might wait for ever.
std::exception_ptr thrown_by_advance(manual_clock& clock, std::chrono::nanoseconds d) {
    std::exception_ptr thrown;
    waiting_call advance([&] {
        try {
            clock.advance(d);
        } catch (const interrupted&) {
            throw;
        } catch (...) {
            thrown = std::current_exception();
        }
    });
    EXPECT_TRUE(advance.returned());
    return thrown ? thrown : std::make_exception_ptr(std::logic_error("nothing was thrown"));
}

TEST(manual_clock, does_not_wait_for_threads_that_the_factory_refuses) {
    manual_clock clock;
    std::atomic<bool> refuses = true;
    std::atomic<int> runs = 0;
    scheduled_pool pool({.core_pool_size = 1,
                         .thread_factory =
                             [&, make = default_thread_factory()](std::function<void()> body) {
                                 return refuses ? thread() : make(std::move(body));
                             },
                         .clock = &clock});
    (void)pool.schedule([&] { ++runs; }, 1h);
    EXPECT_THROW(std::rethrow_exception(thrown_by_advance(clock, 2h)), illegal_state);
    EXPECT_EQ(clock.now(), manual_clock().now() + 1h) << "it stands where it has come to";
    refuses = false;
    clock.advance(1h);
    EXPECT_EQ(runs, 1);
}

TEST(manual_clock, passes_on_what_the_factory_throws) {
    manual_clock clock;
    std::atomic<bool> throws = false;
    scheduled_pool pool({.core_pool_size = 0,
                         .thread_factory = [&](std::function<void()>) -> thread {
                             if (throws) throw std::runtime_error("no more threads");
                             return {};
                         },
                         .clock = &clock});
    (void)pool.schedule([] {}, 1h);
    throws = true;
    EXPECT_THROW(std::rethrow_exception(thrown_by_advance(clock, 2h)), std::runtime_error);
}

TEST(manual_clock, does_not_wait_for_a_successor_that_the_factory_refuses) {
    manual_clock clock;
    std::atomic<int> made = 0;
    scheduled_pool_options options = {.core_pool_size = 1, .clock = &clock};
    options.thread_factory = [&, make = default_thread_factory()](std::function<void()> body) {
        return ++made > 1 ? thread() : make(std::move(body));
    };
    options.hooks.after_execute = [](const task&, const std::exception_ptr&) { throw 42; };
    options.hooks.uncaught_exception = [](const task&, const std::exception_ptr&) {};
    scheduled_pool pool(std::move(options));
    (void)pool.schedule([] {}, 1h);
    const auto second = pool.schedule([] {}, 1h);
    EXPECT_THROW(std::rethrow_exception(thrown_by_advance(clock, 2h)), illegal_state);
    EXPECT_FALSE(second.is_done());
}

TEST(manual_clock, goes_to_the_end_of_time_and_not_past_it) {
    manual_clock clock;
    scheduled_pool pool(clock);
    auto last = pool.schedule([] {}, 24h * 365 * 290);
    const auto never = pool.schedule([] {}, std::chrono::nanoseconds::max());
    clock.advance(std::chrono::nanoseconds::max());
    EXPECT_TRUE(last.is_done());
    EXPECT_FALSE(never.is_done());
    EXPECT_EQ(clock.wall_now(), system_clock::time_point::max());
    clock.advance(1h);
    EXPECT_FALSE(never.is_done());
}

}  // namespace
}  // namespace cadre::testing
