// SPDX-License-Identifier: Apache-2.0
#include <cadre/thread_pool_executor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

/// Expects that no way to give the pool a task is open.
void expect_rejects_everything(thread_pool_executor& pool) {
    const auto tasks = pool.task_count();
    EXPECT_THROW(pool.execute([] {}), rejected_execution);
    EXPECT_THROW((void)pool.submit([] {}), rejected_execution);
    EXPECT_THROW((void)pool.submit([] { return true; }), rejected_execution);
    EXPECT_THROW((void)pool.submit([](int value) { return value; }, 1), rejected_execution);
    EXPECT_EQ(pool.task_count(), tasks);
}

/// What must be true of every pool that has terminated.
void expect_is_terminated(thread_pool_executor& pool) {
    EXPECT_TRUE(pool.is_terminated());
    EXPECT_TRUE(pool.is_shutdown());
    EXPECT_FALSE(pool.is_terminating());
    EXPECT_EQ(pool.state(), run_state::terminated);
    EXPECT_TRUE(pool.queue().empty());
    EXPECT_EQ(pool.active_count(), 0);
    EXPECT_EQ(pool.pool_size(), 0);
    EXPECT_EQ(pool.task_count(), pool.completed_task_count());
    EXPECT_TRUE(pool.await_termination(0s));
}

// TPE-040
TEST(thread_pool_shutdown, is_shut_down_as_soon_as_shutdown_returns) {
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    EXPECT_FALSE(pool.is_shutdown());
    held_task held(pool);
    pool.shutdown();
    EXPECT_TRUE(pool.is_shutdown());
    EXPECT_EQ(pool.state(), run_state::shutdown);
}

// TPE-041
TEST(thread_pool_shutdown, awaiting_the_end_of_a_running_pool_times_out_and_not_early) {
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    EXPECT_FALSE(pool.await_termination(std::chrono::nanoseconds::min()));
    EXPECT_FALSE(pool.await_termination(0ns));
    for (const std::chrono::nanoseconds timeout : {999999ns, std::chrono::nanoseconds(short_delay)})
        EXPECT_GE(time_of([&] { EXPECT_FALSE(pool.await_termination(timeout)); }), timeout);
    EXPECT_FALSE(pool.is_terminated());
    pool.shutdown();
    EXPECT_TRUE(pool.await_termination(long_delay));
    EXPECT_TRUE(pool.is_terminated());
}

TEST(thread_pool_shutdown, a_look_for_the_end_without_a_wait_leaves_the_interrupt_flag_alone) {
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    thread asks([&] {
        thread_handle::current().interrupt();
        EXPECT_FALSE(pool.await_termination(0s));
        EXPECT_FALSE(pool.await_termination(-1h));
        EXPECT_TRUE(this_thread::is_interrupted());
        EXPECT_THROW(pool.await_termination(1ns), interrupted);
        EXPECT_FALSE(this_thread::is_interrupted());
    });
    asks.join();
}

// TPE-042
TEST(thread_pool_shutdown, is_terminating_until_all_workers_are_gone) {
    gate has_looked;
    gate may_end;
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    auto inside = pool.submit([&] {
        const bool seen = pool.is_terminating() || pool.is_terminated();
        has_looked.open();
        may_end.wait();
        return seen;
    });
    EXPECT_FALSE(pool.is_terminating());
    ASSERT_TRUE(has_looked.wait());
    pool.shutdown();
    EXPECT_TRUE(pool.is_terminating());
    EXPECT_FALSE(pool.is_terminated());
    may_end.open();
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_FALSE(inside.get());
    EXPECT_FALSE(pool.is_terminating());
    EXPECT_TRUE(pool.is_terminated());
}

TEST(thread_pool_shutdown, is_terminating_as_long_as_its_terminated_hook_runs) {
    bool was_terminating = false;
    const thread_pool_executor* ending = nullptr;
    thread_pool_executor pool({.hooks = {.terminated = [&] {
                                   was_terminating =
                                       ending->is_terminating() && !ending->is_terminated();
                               }}});
    ending = &pool;
    pool.shutdown();
    EXPECT_TRUE(was_terminating);
    EXPECT_FALSE(pool.is_terminating());
}

// TPE-043
TEST(thread_pool_shutdown, an_unused_pool_has_terminated_when_shutdown_returns) {
    int calls = 0;
    thread_pool_executor pool({.hooks = {.terminated = [&] { ++calls; }}});
    EXPECT_EQ(calls, 0);
    pool.shutdown();
    EXPECT_EQ(calls, 1);
    EXPECT_TRUE(pool.is_terminated());
    pool.shutdown();
    EXPECT_TRUE(pool.shutdown_now().empty());
    EXPECT_EQ(calls, 1);
}

// TPE-044
TEST(thread_pool_shutdown, shutdown_now_interrupts_what_runs_and_returns_what_waits) {
    std::atomic<int> started = 0;
    std::atomic<int> interruptions = 0;
    std::atomic<int> stops = 0;
    thread_pool_executor pool(2, 2, 1h, room_for(10));
    for (int i = 0; i < 5; ++i)
        pool.execute([&](const std::stop_token& stop) {
            ++started;
            try {
                sleep_until_interrupted();
            } catch (const interrupted&) {
                ++interruptions;
            }
            if (eventually([&] { return stop.stop_requested(); })) ++stops;
        });
    ASSERT_TRUE(eventually([&] { return started == 2; }));
    const auto never_ran = pool.shutdown_now();
    EXPECT_TRUE(pool.queue().empty());
    EXPECT_TRUE(pool.is_shutdown());
    EXPECT_EQ(never_ran.size(), 3u);
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_EQ(started, 2);
    EXPECT_EQ(interruptions, 2);
    EXPECT_EQ(stops, 2);
    EXPECT_EQ(pool.completed_task_count(), 2);
}

TEST(thread_pool_shutdown, shutdown_now_gets_a_queued_task_though_a_worker_waits_for_it) {
    thread_pool_executor pool({.core_pool_size = 1});
    gate started;
    gate stopping;
    future<void> queued;
    std::atomic<bool> ran = false;
    const auto waiting = pool.submit([&](const std::stop_token& stop) {
        const auto self = waiting_thread::current();
        // In the midst of shutdown_now(), which has not looked into the queue yet.
        const std::stop_callback holds_it_up(stop, [&] {
            stopping.open();
            EXPECT_TRUE(eventually([&] { return ran || self.waits(); }));
        });
        started.open();
        EXPECT_TRUE(stopping.wait());
        queued.wait();
    });
    ASSERT_TRUE(started.wait());
    queued = pool.submit([&] { ran = true; });
    EXPECT_EQ(pool.shutdown_now().size(), 1u);
    EXPECT_FALSE(ran);
    EXPECT_TRUE(pool.await_termination(guard));
}

// TPE-045, REJ-008
TEST(thread_pool_shutdown, rejects_everything_when_saturated) {
    thread_pool_executor pool(1, 1, 1h, room_for(1));
    held_task held(pool);
    pool.execute([] {});
    expect_rejects_everything(pool);
    EXPECT_EQ(pool.queue().size(), 1u);
}

// TPE-046, TPE-048
TEST(thread_pool_shutdown, after_shutdown_rejects_everything_and_runs_what_it_has) {
    thread_pool_executor pool(1, 1, 1h, room_for(1));
    held_task held(pool);
    pool.execute([] {});
    pool.shutdown();
    expect_rejects_everything(pool);
    EXPECT_FALSE(pool.is_terminated());
    EXPECT_EQ(pool.queue().size(), 1u);
    held.let_go();
    ASSERT_TRUE(pool.await_termination(guard));
    expect_rejects_everything(pool);
    EXPECT_EQ(pool.completed_task_count(), 2);
}

// TPE-046, TPE-047, TPE-048
TEST(thread_pool_shutdown, after_shutdown_now_waits_for_a_task_that_ignores_the_interrupt) {
    thread_pool_executor pool(1, 1, 1h, room_for(1));
    held_task held(pool);
    pool.execute([] {});
    EXPECT_EQ(pool.shutdown_now().size(), 1u);
    expect_rejects_everything(pool);
    EXPECT_TRUE(pool.is_shutdown());
    EXPECT_TRUE(pool.is_terminating());
    EXPECT_FALSE(pool.await_termination(short_delay));
    EXPECT_FALSE(pool.is_terminated());
    held.let_go();
    ASSERT_TRUE(pool.await_termination(guard));
    expect_rejects_everything(pool);
    EXPECT_EQ(pool.completed_task_count(), 1);
}

// TPE-049
TEST(thread_pool_shutdown, leaves_nothing_behind_however_it_ends) {
    for (const bool at_once : {false, true}) {
        thread_pool_executor pool(2, 4, 1h, room_for(10));
        held_tasks held(pool, 14);
        ASSERT_TRUE(held.have_started(4));
        std::vector<task> never_ran;
        if (at_once)
            never_ran = pool.shutdown_now();
        else
            pool.shutdown();
        held.let_go();
        ASSERT_TRUE(pool.await_termination(guard));
        expect_is_terminated(pool);
        EXPECT_EQ(pool.completed_task_count(), at_once ? 4 : 14);
        EXPECT_EQ(never_ran.size(), at_once ? 10u : 0u);
    }
}

// TPE-050
TEST(thread_pool_shutdown, is_terminating_or_terminated_right_after_shutdown) {
    for (int tasks = 0; tasks < 4; ++tasks) {
        thread_pool_executor pool(2, 2, 1h, room_for(10));
        for (int i = 0; i < tasks; ++i) pool.execute([] {});
        pool.shutdown();
        EXPECT_TRUE(pool.is_shutdown());
        // In this order: what is terminating may be terminated a moment later.
        EXPECT_TRUE(pool.is_terminating() || pool.is_terminated());
    }
}

TEST(thread_pool_shutdown, shutdown_leaves_running_tasks_undisturbed) {
    gate may_look;
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    auto disturbed = pool.submit([&](const std::stop_token& stop) {
        may_look.wait();
        return this_thread::is_interrupted() || stop.stop_requested();
    });
    ASSERT_TRUE(eventually([&] { return disturbed.state() == future_state::running; }));
    pool.shutdown();
    may_look.open();
    EXPECT_FALSE(disturbed.get());
}

TEST(thread_pool_shutdown, idle_workers_leave) {
    thread_pool_executor pool(8, 8, 1h, any_room());
    ASSERT_EQ(pool.prestart_all_core_threads(), 8);
    pool.shutdown();
    EXPECT_TRUE(pool.await_termination(guard));
}

TEST(thread_pool_shutdown, shutdown_now_after_shutdown_returns_what_still_waited) {
    thread_pool_executor pool(1, 1, 1h, any_room());
    held_task held(pool);
    for (int i = 0; i < 3; ++i) pool.execute([] {});
    pool.shutdown();
    EXPECT_EQ(pool.shutdown_now().size(), 3u);
    EXPECT_TRUE(pool.shutdown_now().empty());
}

TEST(thread_pool_shutdown, shutdown_now_takes_what_a_thread_holds_out_to_a_synchronous_queue) {
    thread_pool_executor pool(1, 1, 1h, no_room());
    held_task held(pool);
    bool ran = false;
    waiting_call puts([&] { pool.queue().put([&] { ran = true; }); });
    EXPECT_FALSE(puts.is_over());
    auto never_ran = pool.shutdown_now();
    EXPECT_TRUE(puts.returned());
    ASSERT_EQ(never_ran.size(), 1u);
    EXPECT_FALSE(ran);
    never_ran.front()();
    EXPECT_TRUE(ran);
}

TEST(thread_pool_shutdown, what_shutdown_now_returns_can_still_be_run) {
    thread_pool_executor pool(1, 1, 1h, any_room());
    held_task held(pool);
    auto answer = pool.submit(named("answer", [] { return 42; }));
    auto never_ran = pool.shutdown_now();
    ASSERT_EQ(never_ran.size(), 1u);
    EXPECT_EQ(never_ran[0].name(), "answer");
    EXPECT_FALSE(answer.is_done());
    never_ran[0]();
    EXPECT_EQ(answer.get(), 42);
}

TEST(thread_pool_shutdown, dropping_what_shutdown_now_returns_cancels_it) {
    thread_pool_executor pool(1, 1, 1h, any_room());
    held_task held(pool);
    auto dropped = pool.submit([] {});
    pool.shutdown_now();
    EXPECT_THROW(dropped.get(), cancellation);
}

TEST(thread_pool_shutdown, a_worker_whose_thread_starts_late_feels_shutdown_now) {
    gate may_start;
    thread_pool_executor pool({.core_pool_size = 1, .thread_factory = [&](auto body) {
                                   return thread([&may_start, body = std::move(body)] {
                                       may_start.wait();
                                       body();
                                   });
                               }});
    std::optional<bool> felt;
    std::optional<bool> stopped;
    pool.execute([&] {
        felt = this_thread::is_interrupted();
        stopped = this_thread::stop_token().stop_requested();
    });
    EXPECT_TRUE(pool.shutdown_now().empty());
    EXPECT_FALSE(pool.is_terminated());
    may_start.open();
    ASSERT_TRUE(pool.await_termination(guard));
    EXPECT_EQ(felt, true);
    EXPECT_EQ(stopped, true);
}

TEST(thread_pool_shutdown, a_task_queued_for_a_worker_that_is_being_made_is_not_stranded) {
    std::atomic<bool> queued_ran = false;
    bool rejected_ran = false;
    thread_pool_executor* self = nullptr;
    thread_pool_executor pool({.core_pool_size = 1, .thread_factory = [&](auto body) {
                                   if (!self->is_shutdown()) {
                                       self->execute([&] { queued_ran = true; });
                                       self->shutdown();
                                   }
                                   return thread(std::move(body));
                               }});
    self = &pool;
    EXPECT_THROW(pool.execute([&] { rejected_ran = true; }), rejected_execution);
    ASSERT_TRUE(pool.await_termination(guard)) << pool.to_string();
    EXPECT_TRUE(queued_ran);
    EXPECT_FALSE(rejected_ran);
    EXPECT_EQ(pool.completed_task_count(), 1);
}

TEST(thread_pool_shutdown, closing_a_pool_without_threads_does_not_wait) {
    thread_pool_executor pool({.core_pool_size = 0});
    pool.close();
    expect_is_terminated(pool);
    EXPECT_EQ(pool.prestart_all_core_threads(), 0);
}

TEST(thread_pool_shutdown, many_may_close_it_at_once) {
    std::atomic<int> terminations = 0;
    std::atomic<int> runs = 0;
    std::atomic<int> returned = 0;
    thread_pool_executor pool(
        {.core_pool_size = 4, .hooks = {.terminated = [&] { ++terminations; }}});
    for (int i = 0; i < 100; ++i) pool.execute([&] { ++runs; });
    std::vector<std::function<void()>> ways_to_close = {
        [&] { pool.shutdown(); }, [&] { pool.close(); }, [&] { pool.close(); },
        [&] { returned += static_cast<int>(pool.shutdown_now().size()); }};
    std::vector<std::thread> closers;
    for (auto& close : ways_to_close)
        closers.emplace_back([&] {
            close();
            EXPECT_TRUE(pool.await_termination(guard));
        });
    for (auto& closer : closers) closer.join();
    expect_is_terminated(pool);
    EXPECT_EQ(terminations, 1);
    EXPECT_EQ(runs + returned, 100);
}

TEST(thread_pool_shutdown, awaiting_the_end_can_be_interrupted) {
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    expect_interruptible([&] { pool.await_termination(1h); });
    expect_interruptible([&] { pool.await_termination(std::chrono::nanoseconds::max()); });
}

TEST(thread_pool_shutdown, everybody_who_awaits_the_end_is_told) {
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    pool.prestart_core_thread();
    // For ever: a wait whose time is over looks once more, and has missed nothing then.
    waiting_call one([&] { EXPECT_TRUE(pool.await_termination(std::chrono::nanoseconds::max())); });
    waiting_call other([&] { EXPECT_TRUE(pool.await_termination(1h)); });
    pool.shutdown();
    EXPECT_TRUE(one.returned());
    EXPECT_TRUE(other.returned());
}

TEST(thread_pool_shutdown, an_interrupted_close_stops_the_pool_and_keeps_the_interrupt) {
    std::atomic<bool> kept = false;
    thread_pool_executor pool(1, 1, 1h, room_for(10));
    auto sleeper = pool.submit([] { sleep_until_interrupted(); });
    auto queued = pool.submit([] {});
    ASSERT_TRUE(eventually([&] { return sleeper.state() == future_state::running; }));
    waiting_call close([&] {
        pool.close();
        kept = this_thread::is_interrupted();
    });
    close.interrupt();
    EXPECT_TRUE(close.returned());
    EXPECT_TRUE(kept);
    EXPECT_THROW(sleeper.get(), interrupted);
    EXPECT_THROW(queued.get(), cancellation);
    expect_is_terminated(pool);
}

TEST(thread_pool_shutdown, the_destructor_runs_all_accepted_tasks_whatever_interrupts_come) {
    std::atomic<int> runs = 0;
    std::atomic<bool> kept = false;
    gate may_end;
    waiting_call destroyer([&] {
        {
            thread_pool_executor pool(1, 1, 1h, any_room());
            for (int i = 0; i < 10; ++i)
                pool.execute([&] {
                    may_end.wait();
                    ++runs;
                });
        }
        kept = this_thread::is_interrupted();
    });
    destroyer.interrupt();
    EXPECT_FALSE(destroyer.is_over());
    may_end.open();
    EXPECT_TRUE(destroyer.returned());
    EXPECT_EQ(runs, 10);
    EXPECT_TRUE(kept);
}

TEST(thread_pool_shutdown, the_destructor_leaves_no_thread_behind) {
    std::atomic<int> threads = 0;
    {
        thread_pool_executor pool({.core_pool_size = 4, .thread_factory = [&](auto body) {
                                       return thread([&threads, body = std::move(body)] {
                                           ++threads;
                                           body();
                                           --threads;
                                       });
                                   }});
        pool.prestart_all_core_threads();
    }
    EXPECT_EQ(threads, 0);
}

/// A queue of which takers see that it has a task, and then are held up on their way to it.
class held_up_queue final : public blocking_queue<task> {
public:
    gate taker_is_here;
    gate taker_goes_on;

    bool offer(task&& x) override { return inside_.offer(std::move(x)); }
    bool offer_for(task&& x, std::chrono::nanoseconds timeout) override {
        return inside_.offer_for(std::move(x), timeout);
    }
    void put(task x) override { inside_.put(std::move(x)); }
    task take() override {
        hold_up();
        return inside_.take();
    }
    std::optional<task> poll() override { return inside_.poll(); }
    std::optional<task> poll_for(std::chrono::nanoseconds timeout) override {
        hold_up();
        return inside_.poll_for(timeout);
    }
    std::size_t size() const override { return inside_.size(); }
    std::size_t remaining_capacity() const override { return inside_.remaining_capacity(); }
    std::size_t drain_to(std::vector<task>& out, std::size_t max) override {
        return inside_.drain_to(out, max);
    }
    void for_each(function_ref<void(const task&)> visit) const override { inside_.for_each(visit); }

private:
    void hold_up() {
        taker_is_here.open();
        EXPECT_TRUE(taker_goes_on.wait());
    }
    linked_blocking_queue<task> inside_;
};

// discard_oldest_policy does the same as clear() here.
TEST(thread_pool_shutdown, ends_when_the_last_task_is_taken_out_past_the_pool) {
    auto owned = std::make_unique<held_up_queue>();
    auto& queue = *owned;
    thread_pool_executor pool(1, 1, 1h, std::move(owned));
    held_task held(pool);
    auto last = pool.submit([] {});
    pool.shutdown();
    held.let_go();
    ASSERT_TRUE(queue.taker_is_here.wait());
    queue.clear();
    queue.taker_goes_on.open();
    EXPECT_TRUE(last.is_cancelled());
    EXPECT_TRUE(pool.await_termination(long_delay));
    static_cast<void>(pool.shutdown_now());  // a failure has an end, too
}

}  // namespace
}  // namespace cadre::testing
