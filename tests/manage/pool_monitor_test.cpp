// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/pool_monitor.hpp>

#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "manage/monitor_core.hpp"
#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/sleeps.hpp"
#include <cadre/errors.hpp>
#include <cadre/manage/pool_registry.hpp>
#include <cadre/queue/linked_blocking_deque.hpp>
#include <cadre/scheduled_thread_pool_executor.hpp>

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

/// A pool of two threads with a monitor.
struct watched_pool {
    std::shared_ptr<pool_monitor> monitor =
        std::make_shared<pool_monitor>(monitor_options{.max_task_names = 2});
    thread_pool_executor pool{
        {.core_pool_size = 2,
         .queue = testing::room_for(100),
         .hooks = monitor->hooks({.uncaught_exception = [](auto&, auto) {}})}};
    /// Asks the pool, too: who sees a task as completed there sees what it did.
    bool has_completed(std::uint64_t tasks) {
        return eventually([&] {
            return monitor->metrics().completed == tasks &&
                   static_cast<std::uint64_t>(pool.completed_task_count()) == tasks;
        });
    }
    const task_metrics of(const std::string& name) const {
        for (const auto& task : monitor->metrics().tasks)
            if (task.name == name) return task;
        return {};
    }
};

TEST(latency_histogram, gives_quantiles_within_an_eighth) {
    for (const std::int64_t ns : {300, 1000, 12345, 1'000'000, 999'999'999}) {
        latency_histogram h;
        h.add(latency_histogram::bucket_of(ns), 1);
        EXPECT_NEAR(static_cast<double>(h.quantile(0.5).count()), static_cast<double>(ns),
                    static_cast<double>(ns) / 8);
    }
    latency_histogram h;
    for (int ms = 1; ms <= 100; ++ms) h.add(latency_histogram::bucket_of(ms * 1'000'000), 1);
    EXPECT_NEAR(std::chrono::duration<double>(h.quantile(0.99)).count(), 0.099, 0.013);
    EXPECT_EQ(h.count(), 100u);
    EXPECT_EQ(h.since(h).count(), 0u);
    EXPECT_EQ(h.count_below_octave(26), 67u);  // 2^26 ns are 67.1 ms
}

TEST(latency_histogram, takes_any_number) {
    EXPECT_EQ(latency_histogram::bucket_of(-5), 0u);
    EXPECT_EQ(latency_histogram::bucket_of(0), 0u);
    EXPECT_EQ(latency_histogram::bucket_of(std::numeric_limits<std::int64_t>::max()),
              latency_histogram::bucket_count - 1);
    std::size_t last = 0;
    for (std::int64_t ns = 1; ns < (std::int64_t{1} << 45); ns += 1 + ns / 9) {
        const auto bucket = latency_histogram::bucket_of(ns);
        EXPECT_GE(bucket, last);
        if (bucket < latency_histogram::bucket_count - 1) {
            EXPECT_LT(ns, latency_histogram::upper_bound(bucket).count());
        }
        if (bucket > 0) {
            EXPECT_GE(ns, latency_histogram::upper_bound(bucket - 1).count());
        }
        last = bucket;
    }
}

TEST(pool_monitor, counts_every_task_and_what_failed) {
    watched_pool w;
    for (int i = 0; i < 20; ++i) w.pool.submit([] {}).wait();
    auto failing = w.pool.submit([] { throw std::runtime_error("x"); });
    failing.wait();
    w.pool.execute([] { throw std::runtime_error("y"); });
    EXPECT_TRUE(w.has_completed(22));
    const auto m = w.monitor->metrics();
    EXPECT_EQ(m.failed, 2u);
    EXPECT_GE(m.threads_started, 2u);
    // The last one may have been passed over: then it is entered when its worker has no more to do.
    EXPECT_TRUE(eventually([&] { return w.monitor->metrics().run.count() == 22; }));
    EXPECT_EQ(w.monitor->metrics().completed, 22u);  // a second look sees the same
}

TEST(pool_monitor, counts_every_task_also_when_it_times_few) {
    watched_pool w;
    std::atomic<int> ran = 0;
    constexpr int tasks = 20000;
    for (int i = 0; i < tasks; ++i)
        while (w.pool.queue().remaining_capacity() == 0 ||
               !(w.pool.execute([&] { ++ran; }), true)) {}
    EXPECT_TRUE(w.has_completed(tasks));
    EXPECT_TRUE(eventually([&] {
        const auto m = w.monitor->metrics();
        return m.run.count() == tasks && m.wait.count() == tasks;
    }));
}

TEST(pool_monitor, measures_every_wait_of_a_burst_and_counts_each_timeout_once) {
    watched_pool w;
    w.monitor->set_limits({.queue_timeout = 1ms});
    testing::held_tasks held(w.pool, 2);
    ASSERT_TRUE(held.have_started(2));
    for (int i = 0; i < 100; ++i) w.pool.execute([] {});
    const auto all_submitted = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() - all_submitted > 5ms; }));
    const auto before = w.monitor->metrics().queue_timeouts;  // those that hold the threads, maybe
    w.monitor->check_waiting(w.pool.queue());
    EXPECT_EQ(w.monitor->metrics().queue_timeouts, before + 100);
    w.monitor->check_waiting(w.pool.queue());
    held.let_go();
    EXPECT_TRUE(w.has_completed(102));
    EXPECT_EQ(w.monitor->metrics().queue_timeouts, before + 100);
    EXPECT_EQ(w.monitor->metrics().wait.count(), 102u);
}

TEST(pool_monitor, measures_how_late_scheduled_tasks_begin) {
    testing::gate go;
    pool_monitor monitor;
    scheduled_thread_pool_executor timers({.core_pool_size = 1, .hooks = monitor.hooks()});
    timers.execute([&] { go.wait(); });
    auto late = timers.schedule(named("late", [] {}), 1ms);
    EXPECT_TRUE(eventually([&] { return pool_monitor::oldest_wait(timers.queue()) > 20ms; }));
    go.open();
    late.wait();
    EXPECT_TRUE(eventually([&] { return monitor.metrics().completed == 2; }));
    const auto m = monitor.metrics();
    EXPECT_EQ(m.wait.count(), 2u);
    EXPECT_GE(m.wait.quantile(1), 17ms);
    EXPECT_EQ(pool_monitor::oldest_wait(timers.queue()), 0ns);
}

TEST(pool_monitor, counts_failures_also_of_tasks_that_it_passes_over) {
    watched_pool w;
    constexpr int tasks = 2000;
    for (int i = 0; i < tasks; ++i) {
        ASSERT_TRUE(eventually([&] { return w.pool.queue().remaining_capacity() > 0; }));
        w.pool.execute([i] {
            if (i % 100 == 99) throw std::runtime_error("x");
        });
    }
    EXPECT_TRUE(w.has_completed(tasks));
    EXPECT_TRUE(eventually([&] { return w.monitor->metrics().failed == tasks / 100; }));
}

TEST(pool_monitor, stamps_tasks_of_every_pool_that_a_thread_feeds_in_turns) {
    testing::gate go;
    struct {
        pool_monitor monitor;
        thread_pool_executor pool{{.core_pool_size = 1, .hooks = monitor.hooks()}};
        int stamps = 0;
    } all[2];
    for (auto& each : all) each.pool.execute([&] { go.wait(); });
    for (int i = 0; i < 300; ++i)
        for (auto& each : all) each.pool.execute([] {});
    for (auto& each : all)
        each.pool.queue().for_each(
            [&](const task& t) { each.stamps += task_observer::stamp_of(t) != 0 ? 1 : 0; });
    go.open();
    for (const auto& each : all) EXPECT_GT(each.stamps, 63);  // 64 for a start, one is not queued
}

TEST(pool_monitor, times_waiting_and_running) {
    watched_pool w;
    testing::held_tasks held(w.pool, 3);
    ASSERT_TRUE(held.have_started(2));
    ASSERT_TRUE(eventually([&] { return pool_monitor::oldest_wait(w.pool.queue()) > 5ms; }));
    held.let_go();
    EXPECT_TRUE(w.has_completed(3));
    EXPECT_EQ(w.monitor->metrics().wait.count(), 3u);
    EXPECT_GT(w.monitor->metrics().wait.quantile(1), 4ms);
    EXPECT_EQ(w.monitor->metrics().run.count(), 3u);
    EXPECT_EQ(pool_monitor::oldest_wait(w.pool.queue()), 0ns);
}

TEST(pool_monitor, tells_tasks_apart_by_name_up_to_a_bound) {
    watched_pool w;
    for (const char* name : {"a", "b", "a", "c", "d"}) w.pool.submit(named(name, [] {})).wait();
    EXPECT_TRUE(w.has_completed(5));
    EXPECT_EQ(w.of("a").completed, 2u);
    EXPECT_EQ(w.of("b").completed, 1u);
    EXPECT_EQ(w.of("other").completed, 2u);
    EXPECT_EQ(w.of("a").run.count(), 2u);
}

TEST(pool_monitor, keeps_to_the_bound_when_workers_bring_new_names_at_once) {
    for (int round = 0; round < 200; ++round) {
        pool_monitor monitor({.max_task_names = 1});
        constexpr int workers = 4;
        thread_pool_executor pool({.core_pool_size = workers, .hooks = monitor.hooks()});
        std::atomic<int> there = 0;
        for (int i = 0; i < workers; ++i)
            pool.execute([&] {
                ++there;
                while (there < workers) std::this_thread::yield();
            });
        for (int i = 0; i < 16; ++i) pool.execute(named("n" + std::to_string(i), [] {}));
        pool.close();
        std::size_t names = 0;
        for (const auto& task : monitor.metrics().tasks)
            names += task.name.starts_with("n") ? 1 : 0;
        ASSERT_EQ(names, 1u);
        ASSERT_EQ(monitor.metrics().completed, 20u);
    }
}

TEST(pool_monitor, shows_what_each_worker_does) {
    testing::gate go;
    watched_pool w;
    w.pool.execute(named("slow", [&] { go.wait(); }));
    EXPECT_TRUE(eventually([&] {
        for (const auto& worker : w.monitor->workers())
            if (worker.busy && worker.task == "slow" && worker.age > 2ms) return true;
        return false;
    }));
    go.open();
    EXPECT_TRUE(w.has_completed(1));
    EXPECT_TRUE(eventually([&] { return !w.monitor->workers().at(0).busy; }));
}

TEST(pool_monitor, watches_tasks_inside_tasks) {
    thread_pool_options options;
    const auto monitor = std::make_shared<pool_monitor>();
    options.core_pool_size = 1;
    options.hooks = monitor->hooks();
    thread_pool_executor pool(std::move(options));
    pool.submit([&] { pool.submit(named("inner", [] {})).wait(); }).wait();
    EXPECT_TRUE(eventually([&] { return monitor->metrics().completed == 2; }));
    EXPECT_TRUE(eventually([&] { return !monitor->workers().at(0).busy; }));
}

TEST(pool_monitor, tells_of_rejections_with_the_task) {
    watched_pool w;
    testing::held_tasks held(w.pool, 102);
    EXPECT_THROW(w.pool.execute(named("late", [] {})), rejected_execution);
    EXPECT_EQ(w.monitor->metrics().rejected, 1u);
    EXPECT_EQ(w.monitor->metrics().last_rejected, "late");
}

TEST(pool_monitor, tells_of_tasks_that_wait_or_run_for_too_long_once) {
    testing::gate go;
    watched_pool w;
    w.monitor->set_limits({.run_timeout = 1ms, .queue_timeout = 1ms});
    for (int i = 0; i < 3; ++i) w.pool.execute(named("slow", [&] { go.wait(); }));
    const auto all_submitted = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually([&] {
        w.monitor->check_running();
        return w.monitor->metrics().run_timeouts == 2 &&
               std::chrono::steady_clock::now() - all_submitted > 2ms;
    }));
    go.open();
    EXPECT_TRUE(w.has_completed(3));
    EXPECT_LE(w.monitor->metrics().run_timeouts, 3u);  // the third did not run for long, mostly
    EXPECT_EQ(w.monitor->metrics().last_run_timeout, "slow");
    EXPECT_GE(w.monitor->metrics().queue_timeouts, 1u);  // those that waited for a thread may, too
    EXPECT_THROW(w.monitor->set_limits({.run_timeout = -1s}), std::invalid_argument);
}

TEST(pool_monitor, interrupts_only_the_task_that_runs_for_too_long) {
    testing::with_enough_time([](std::chrono::nanoseconds time) {
        watched_pool w;
        const auto limit = time / 20;
        w.monitor->set_limits({.run_timeout = limit, .interrupt_on_run_timeout = true});
        for (int round = 0; round < 10; ++round) {
            auto stuck = w.pool.submit([] { testing::sleep_until_interrupted(); });
            EXPECT_TRUE(eventually([&] {
                w.monitor->check_running();
                return stuck.is_done();
            }));
            EXPECT_THROW(stuck.get(), interrupted);
            bool was_hit = false;
            const auto taken = testing::time_of([&] {
                was_hit = w.pool.submit([] { return this_thread::is_interrupted(); }).get();
            });
            if (was_hit && taken > limit) return false;  // it may have run for too long itself
            EXPECT_FALSE(was_hit);
        }
        return true;
    });
}

TEST(pool_monitor, sees_by_itself_to_what_is_to_be_interrupted) {
    watched_pool w;
    for (int round = 0; round < 3; ++round) {
        w.monitor->set_limits({.run_timeout = 1ms, .interrupt_on_run_timeout = true});
        EXPECT_THROW(w.pool.submit([] { testing::sleep_until_interrupted(); }).get(), interrupted);
        w.monitor->set_limits({});
        // Five times what it was allowed before, with nobody to wait for who would interrupt it.
        EXPECT_NO_THROW(w.pool.submit([] { testing::take_at_least(5ms); }).get());
    }
}

TEST(pool_monitor, interrupts_also_while_its_limits_change_all_the_time) {
    watched_pool w;
    const monitor_limits limits{.run_timeout = 40ms, .interrupt_on_run_timeout = true};
    w.monitor->set_limits(limits);
    auto stuck = w.pool.submit([] { testing::sleep_until_interrupted(); });
    EXPECT_TRUE(eventually([&] {
        w.monitor->set_limits(limits);
        return stuck.is_done();
    }));
    EXPECT_THROW(stuck.get(), interrupted);
}

#if !defined(__SANITIZE_THREAD__)  // it allows no threads in a child
TEST(pool_monitor, can_be_destroyed_in_a_child_of_its_process) {
    auto monitor = std::make_unique<pool_monitor>();
    monitor->set_limits({.run_timeout = 1h, .interrupt_on_run_timeout = true});
    const pid_t child = fork();
    if (child == 0) {
        std::thread of_child([] {});  // may well have the id that the monitor's thread had
        monitor.reset();
        of_child.join();
        _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) != child) {}
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

TEST(pool_monitor, knows_how_long_the_head_of_a_long_deque_waits) {
    testing::gate go;
    const auto monitor = std::make_shared<pool_monitor>();
    thread_pool_executor pool({.core_pool_size = 1,
                               .queue = std::make_unique<linked_blocking_deque<task>>(),
                               .hooks = monitor->hooks()});
    for (int i = 0; i < 10'002; ++i) pool.execute([&] { go.wait(); });
    EXPECT_TRUE(eventually([&] { return pool_monitor::oldest_wait(pool.queue()) > 5ms; }));
    go.open();
}

TEST(pool_monitor, stops_the_token_of_what_it_interrupts_under_no_lock) {
    watched_pool w;
    w.monitor->set_limits({.run_timeout = 1ms, .interrupt_on_run_timeout = true});
    std::atomic<std::uint64_t> seen = 0;
    const auto spins = [&](std::stop_token stop) {
        const std::stop_callback looks(stop, [&] {
            seen = w.monitor->metrics().run_timeouts;
            w.monitor->set_limits({});
        });
        const auto end = std::chrono::steady_clock::now() + testing::guard;
        while (!stop.stop_requested() && std::chrono::steady_clock::now() < end)
            std::this_thread::yield();
        return stop.stop_requested();
    };
    EXPECT_TRUE(w.pool.submit(spins).get());
    EXPECT_EQ(seen, 1u);
    EXPECT_FALSE(w.pool.submit([](std::stop_token stop) { return stop.stop_requested(); }).get());
}

TEST(pool_monitor, may_end_on_the_thread_that_interrupts) {
    auto monitor = std::make_unique<pool_monitor>();
    monitor->set_limits({.run_timeout = 1ms, .interrupt_on_run_timeout = true});
    thread_pool_executor pool({.core_pool_size = 1, .hooks = monitor->hooks()});
    EXPECT_TRUE(pool.submit([&](std::stop_token stop) {
                        const std::stop_callback drops(stop, [&] { monitor.reset(); });
                        const auto end = std::chrono::steady_clock::now() + testing::guard;
                        while (!stop.stop_requested() && std::chrono::steady_clock::now() < end)
                            std::this_thread::yield();
                        return stop.stop_requested();
                    })
                    .get());
    EXPECT_EQ(monitor, nullptr);
}

TEST(pool_monitor, interrupts_a_task_once_also_if_another_ran_inside_it) {
    std::atomic<bool> was_interrupted = false;
    testing::gate inner_ran;
    testing::gate looked;
    pool_monitor monitor;
    thread_pool_executor pool({.core_pool_size = 1, .hooks = monitor.hooks()});
    monitor.set_limits({.run_timeout = 1ms, .interrupt_on_run_timeout = true});
    auto outer = pool.submit([&] {
        try {
            testing::sleep_until_interrupted();
        } catch (const interrupted&) {
            was_interrupted = true;
        }
        pool.submit([] {}).wait();
        inner_ran.open();
        looked.wait();
        return this_thread::is_interrupted();
    });
    EXPECT_TRUE(eventually([&] {
        monitor.check_running();
        return was_interrupted.load();
    }));
    inner_ran.wait();
    monitor.check_running();
    looked.open();
    EXPECT_FALSE(outer.get());
}

/// A worker without a pool, and without a thread: its tasks are run by whoever says so.
class played_worker {
public:
    explicit played_worker(detail::monitor_core& monitor) : monitor_(monitor) {
        monitor_.worker_begins(record_);
    }
    ~played_worker() { monitor_.worker_ends(record_); }
    played_worker(const played_worker&) = delete;
    played_worker& operator=(const played_worker&) = delete;

    template <class F>
    void run(F body) {
        run([] {}, body, [] {});
    }
    /// taken: before the task begins; dropped: when its captures go.
    template <class Taken, class Body, class Dropped>
    void run(Taken taken, Body body, Dropped dropped) {
        const task t([] {});
        task_observer::frame frame;
        ++record_.tally;
        taken();
        monitor_.task_begins(record_, t, frame);
        body();
        monitor_.task_ends(record_, frame, false);
        dropped();
        record_.tally += task_observer::worker_record::one_completed - 1;
    }

private:
    detail::monitor_core& monitor_;
    task_observer::worker_record record_;
};

TEST(pool_monitor, takes_no_task_for_one_of_the_worker_before) {
    detail::monitor_core monitor({});
    const auto run_many_and_one_too_long = [&](int many) {
        played_worker worker(monitor);
        monitor.set_limits({});
        for (int i = 0; i < many; ++i) worker.run([] {});
        monitor.set_limits({.run_timeout = 1us});
        worker.run([&] {
            testing::take_at_least(1ms);
            monitor.check_running();
            monitor.check_running();
        });
    };
    // The second one has the same activity::number() then.
    constexpr int many = 1 << 15;
    run_many_and_one_too_long(many);
    EXPECT_EQ(monitor.metrics().run_timeouts, 1u);
    run_many_and_one_too_long(many - 1);
    EXPECT_EQ(monitor.metrics().run_timeouts, 2u);
    EXPECT_EQ(monitor.metrics().completed, 2u * many + 1);
}

TEST(pool_monitor, waits_with_a_task_that_was_taken_until_it_begins) {
    detail::monitor_core monitor({});
    monitor.set_limits({.run_timeout = 1ns});
    const auto timeouts_now = [&] {
        for (int looks = 0; looks < 3; ++looks) monitor.check_running();
        return monitor.metrics().run_timeouts;
    };
    std::vector<std::uint64_t> told;
    const auto look = [&] { told.push_back(timeouts_now()); };
    played_worker(monitor).run(look, look, look);
    // The captures that go are told of for themselves, for they may hold the worker up as well.
    EXPECT_EQ(told, (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(pool_monitor, belongs_to_the_settings_of_a_managed_pool) {
    pool_registry registry;
    const auto pool =
        registry.create({.name = "p", .settings = {.core_pool_size = 1, .run_timeout = 5s}});
    EXPECT_EQ(pool->settings().run_timeout, 5s);
    pool->reconfigure({.queue_timeout = 1s});
    EXPECT_EQ(pool->monitor()->limits().run_timeout, 5s);
    EXPECT_EQ(pool->monitor()->limits().queue_timeout, 1s);
    thread_pool_executor bare({.core_pool_size = 1});
    const auto unwatched = registry.add("bare", bare);
    EXPECT_EQ(unwatched->reconfigure({.run_timeout = 1s}).not_applied.at(0).reason,
              "the pool has no monitor");
}

}  // namespace
}  // namespace cadre::manage
