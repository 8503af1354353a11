// SPDX-License-Identifier: Apache-2.0
//
// Of many tiny tasks a monitor times a few: what it says of them all the same.
#include <cadre/manage/pool_monitor.hpp>

#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/sleeps.hpp"

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

/// A pool of one thread that has had so many tiny tasks that it does not time each of them.
struct sampled_pool {
    sampled_pool() { feed(); }
    /// Tiny tasks, then those of `feed_more`, all queued before the first begins.
    void feed(const std::function<void()>& feed_more = [] {}) {
        testing::gate go;
        pool.execute([&] { go.wait(); });
        for (int i = 0; i < tiny; ++i) pool.execute([] {});
        if (feed_more) feed_more();
        go.open();
        fed += tiny + 1;
        EXPECT_TRUE(has_completed(fed));
    }
    /// Asks the pool, too: who sees a task as completed there sees what it did.
    bool has_completed(std::uint64_t tasks) {
        return eventually([&] {
            return monitor.metrics().completed >= tasks &&
                   static_cast<std::uint64_t>(pool.completed_task_count()) >= tasks;
        });
    }
    static void run_for(std::chrono::nanoseconds time) {
        const auto end = std::chrono::steady_clock::now() + time;
        while (std::chrono::steady_clock::now() < end) {}
    }
    /// At least for so long, and until the tick, which stands still while the ticker has no
    /// processor, has moved on.
    void run_past_a_tick(std::chrono::nanoseconds time) const {
        const auto start = observer->tick();
        run_for(time);
        EXPECT_TRUE(eventually([&] { return start == 0 || observer->tick() != start; }));
    }

    static constexpr int tiny = 300;
    std::uint64_t fed = 0;
    pool_monitor monitor;
    const std::shared_ptr<task_observer> observer = monitor.hooks().observer;
    thread_pool_executor pool{{.core_pool_size = 1, .hooks = monitor.hooks()}};
};

TEST(pool_monitor, counts_every_run_timeout_also_after_tiny_tasks) {
    sampled_pool p;
    p.monitor.set_limits({.run_timeout = 1ms});
    p.feed([&] {
        for (int i = 0; i < 5; ++i) {
            p.pool.execute([&] { p.run_past_a_tick(2ms); });
            p.pool.execute(named("slow", [&] { p.run_past_a_tick(2ms); }));
            static_cast<void>(p.pool.submit([&] { p.run_past_a_tick(2ms); }));
        }
    });
    EXPECT_TRUE(eventually([&] { return p.monitor.metrics().run_timeouts >= 15; }));
}

TEST(pool_monitor, times_tasks_of_each_name_for_themselves) {
    sampled_pool p;
    constexpr int each = 1000;
    p.feed([&] {
        for (int i = 0; i < each; ++i)
            for (const char* name : {"a", "b"}) p.pool.execute(named(name, [] {}));
    });
    EXPECT_TRUE(p.has_completed(p.fed + 2 * each));
    EXPECT_TRUE(eventually([&] {
        int right = 0;
        for (const auto& task : p.monitor.metrics().tasks)
            right += task.completed == task.run.count() && task.completed == task.wait.count();
        return right == 3;
    }));
}

TEST(pool_monitor, never_counts_less_than_before) {
    sampled_pool p;
    constexpr int rounds = 2000;
    std::uint64_t bare = 0;
    std::uint64_t named_ones = 0;
    const auto look = [&] {
        for (const auto& task : p.monitor.metrics().tasks) {
            auto& seen = task.name.empty() ? bare : named_ones;
            EXPECT_GE(task.completed, seen);
            seen = task.completed;
        }
    };
    p.feed([&] {
        for (int i = 0; i < rounds; ++i) {
            for (int j = 0; j < 20; ++j) p.pool.execute([] {});
            p.pool.execute(named("a", [] {}));
        }
    });
    while (bare < p.fed + 20 * rounds || named_ones < rounds) {
        look();
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_EQ(bare, p.fed + 20 * rounds);
    EXPECT_EQ(named_ones, std::uint64_t{rounds});
}

TEST(pool_monitor, counts_tasks_inside_those_that_it_passes_over) {
    sampled_pool p;
    constexpr int outer = 200;
    p.feed([&] {
        for (int i = 0; i < outer; ++i)
            p.pool.execute([&] { p.pool.submit(named("inner", [] {})).get(); });
    });
    EXPECT_TRUE(p.has_completed(p.fed + 2 * outer));
    EXPECT_TRUE(eventually([&] {
        const auto tasks = p.monitor.metrics().tasks;
        return tasks.size() == 2 && tasks[0].completed == p.fed + outer &&
               tasks[0].run.count() == p.fed + outer && tasks[1].completed == outer &&
               tasks[1].run.count() == outer;
    }));
    EXPECT_TRUE(eventually([&] { return !p.monitor.workers().at(0).busy; }));
}

TEST(pool_monitor, shows_the_age_of_a_task_without_those_before_it) {
    testing::gate go;
    std::atomic<std::int64_t> last_ended = 0;
    std::atomic<bool> began = false;
    sampled_pool p;
    p.feed([&] {
        for (int i = 0; i < 10; ++i)
            p.pool.execute([&] {
                p.run_past_a_tick(20ms);
                last_ended = std::chrono::steady_clock::now().time_since_epoch().count();
            });
        p.pool.execute([&] {
            began = true;
            go.wait();
        });
    });
    EXPECT_TRUE(eventually([&] { return began.load(); }));
    const auto age = p.monitor.workers().at(0).age;
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    EXPECT_LE(age, now - std::chrono::nanoseconds(last_ended) + 1ns);  // its lowest bit is a mark
    go.open();
}

TEST(pool_monitor, records_what_slow_tasks_took_that_follow_tiny_ones) {
    sampled_pool p;
    const auto before = p.monitor.metrics().run.sum();
    p.feed([&] {
        for (int i = 0; i < 10; ++i) p.pool.execute([&] { p.run_past_a_tick(10ms); });
    });
    EXPECT_TRUE(p.has_completed(p.fed + 10));
    EXPECT_TRUE(eventually([&] { return p.monitor.metrics().run.sum() - before >= 100ms; }));
}

TEST(pool_monitor, knows_how_long_tasks_wait_that_are_not_stamped_exactly) {
    testing::gate go;
    sampled_pool p;
    p.pool.execute([&] { go.wait(); });
    const auto tick = p.observer->tick();
    const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
    const auto before =
        tick == 0 ? now : static_cast<std::int64_t>(tick) * task_observer::tick_unit;
    for (int i = 0; i < 100; ++i) p.pool.execute([] {});
    const auto after = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() - after > 100ms; }));
    const auto waited = pool_monitor::oldest_wait(p.pool.queue());
    EXPECT_GT(waited, 80ms);
    EXPECT_LE(waited, std::chrono::steady_clock::now().time_since_epoch() - before);
    go.open();
}

TEST(pool_monitor, has_each_slow_task_among_tiny_ones_in_its_histogram) {
    sampled_pool p;
    constexpr int slow = 10;
    p.feed([&] {
        for (int i = 0; i < slow; ++i) {
            p.pool.execute([&] { p.run_past_a_tick(20ms); });
            for (int j = 0; j < 200; ++j) p.pool.execute([] {});
        }
    });
    constexpr int tasks = slow * 201;
    EXPECT_TRUE(p.has_completed(p.fed + tasks));
    EXPECT_TRUE(eventually([&] {
        const auto run = p.monitor.metrics().run;
        return run.count() == p.fed + tasks && run.count() - run.count_below_octave(24) >= slow;
    }));  // 2^24 ns are 16.8 ms
}

TEST(pool_monitor, estimates_the_share_of_tasks_that_take_longer_by_its_samples) {
    sampled_pool p;
    constexpr std::uint64_t tasks = 200'000;
    p.feed([&] {
        for (std::uint64_t i = 0; i < tasks; ++i)
            if (i % 50 == 0)
                p.pool.execute([] { sampled_pool::run_for(20us); });
            else
                p.pool.execute([] {});
    });
    EXPECT_TRUE(p.has_completed(p.fed + tasks));
    EXPECT_TRUE(eventually([&] { return p.monitor.metrics().run.count() == p.fed + tasks; }));
    const auto run = p.monitor.metrics().run;
    const auto longer = run.count() - run.count_below_octave(14);  // 2^14 ns are 16.4 us
    EXPECT_GT(longer, tasks / 50 / 3);
    EXPECT_LT(longer, tasks / 50 * 3);
}

TEST(pool_monitor, ticks_while_tiny_tasks_come_fast_and_no_longer) {
    sampled_pool p;
    const auto& observer = *p.observer;
    const auto ticks = [&] {
        p.feed();
        return observer.tick() != 0;
    };
    EXPECT_TRUE(eventually(ticks));
    EXPECT_TRUE(eventually([&] { return observer.tick() == 0; }));
    EXPECT_TRUE(eventually(ticks));
    p.monitor.set_limits({.queue_timeout = 1s});  // needs exact times
    EXPECT_EQ(observer.tick(), 0u);
    p.feed();
    EXPECT_EQ(observer.tick(), 0u);
}

TEST(pool_monitor, goes_on_ticking_while_tasks_come_to_workers_that_are_held_up) {
    testing::gate go;
    sampled_pool p;
    p.pool.execute([&] { go.wait(); });
    std::uint64_t since = 0;
    EXPECT_TRUE(eventually([&] {
        for (int i = 0; i < 2048; ++i) p.pool.execute([] {});
        const auto now = p.observer->tick();
        if (now == 0 || since == 0) since = now;
        return now - since >= 64;  // many times what an idle pool is given
    }));
    go.open();
}

TEST(pool_monitor, tells_of_a_task_that_it_passed_over_if_it_runs_for_too_long) {
    testing::with_enough_time([](std::chrono::nanoseconds time) {
        sampled_pool p;
        const auto limit = 50 * time;  // a second or more leaves it passing over tasks
        p.monitor.set_limits({.run_timeout = limit});
        std::chrono::nanoseconds taken_by_slow = {};  // written by the worker
        const auto feed_slow = [&] {
            p.feed([&] {
                p.pool.execute([&] {
                    taken_by_slow += testing::time_of([&] { testing::take_at_least(limit + 1ms); });
                });
            });
        };
        const auto timeouts = [&] { return p.monitor.metrics().run_timeouts; };
        std::vector<std::uint64_t> counted;
        const auto taken = testing::time_of([&] {
            feed_slow();
            EXPECT_TRUE(eventually([&] { return timeouts() >= 1; }));
            counted.push_back(timeouts());
            feed_slow();
            EXPECT_TRUE(eventually([&] {
                p.monitor.check_running();
                return timeouts() >= 2;
            }));
            counted.push_back(timeouts());
            EXPECT_TRUE(p.has_completed(p.fed + 2));
            p.feed();
            counted.push_back(timeouts());
        });
        // So that none of the others can have run for too long.
        if (taken - taken_by_slow >= limit) return false;
        EXPECT_EQ(counted, (std::vector<std::uint64_t>{1, 2, 2}));
        return true;
    });
}

TEST(pool_monitor, stamps_anew_what_another_pool_handed_over) {
    sampled_pool first;
    pool_monitor monitor;
    thread_pool_executor second({.core_pool_size = 1, .hooks = monitor.hooks()});
    testing::held_tasks held(first.pool, 1);
    testing::held_tasks also_held(second, 1);
    for (int i = 0; i < 10; ++i) first.pool.execute([] {});
    for (auto& t : first.pool.shutdown_now()) second.execute(std::move(t));
    second.queue().for_each([&](const task& t) {
        EXPECT_FALSE(task_observer::has_coarse_stamp(t));
        EXPECT_NE(task_observer::stamp_of(t), 0);
    });
}

}  // namespace
}  // namespace cadre::manage
