// SPDX-License-Identifier: Apache-2.0
//
// Known bugs of other pools, provoked here; those that no other test provokes. docs/hazards.md has
// the whole list.

#include <cadre/cadre.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/race.hpp"
#include "support/sleeps.hpp"
#include "support/usage.hpp"
#include "support/waiting_call.hpp"
#include "support/watched.hpp"

namespace cadre::testing {
namespace {

/// A queue that calls a function right after it has taken a task in, or had none to give, before
/// the pool can look at its own state again. To the pool it is a queue of an unknown kind.
template <class Queue>
class telling_queue : public blocking_queue<task> {
public:
    using nanoseconds = std::chrono::nanoseconds;
    bool offer(task&& t) override {
        const bool taken = inner_.offer(std::move(t));
        if (taken && after_offer) after_offer();
        return taken;
    }
    bool offer_for(task&& t, nanoseconds timeout) override {
        return inner_.offer_for(std::move(t), timeout);
    }
    void put(task t) override { inner_.put(std::move(t)); }
    task take() override { return inner_.take(); }
    std::optional<task> poll() override { return inner_.poll(); }
    std::optional<task> poll_for(nanoseconds timeout) override {
        auto found = inner_.poll_for(timeout);
        if (!found && after_poll_in_vain) after_poll_in_vain();
        return found;
    }
    std::size_t size() const override { return inner_.size(); }
    std::size_t remaining_capacity() const override { return inner_.remaining_capacity(); }
    std::size_t drain_to(std::vector<task>& out, std::size_t max) override {
        return inner_.drain_to(out, max);
    }
    std::size_t extract_if(function_ref<bool(const task&)> wanted, std::vector<task>& out,
                           std::size_t max) override {
        return inner_.extract_if(wanted, out, max);
    }
    void for_each(function_ref<void(const task&)> visit) const override { inner_.for_each(visit); }

    std::function<void()> after_offer;
    std::function<void()> after_poll_in_vain;

private:
    Queue inner_;
};

// SH-02
TEST(hazards, a_task_offered_while_the_pool_shuts_down_runs_or_is_refused) {
    for (const int core : {0, 1})
        for (const bool now : {false, true}) {
            auto queue = std::make_unique<telling_queue<linked_blocking_queue<task>>>();
            auto& told = *queue;
            std::atomic<int> runs = 0;
            bool refused = false;
            std::size_t returned = 0;
            {
                thread_pool_executor pool(core, 1, 1h, std::move(queue));
                const watched_scope watched_pool(pool);
                if (core > 0) pool.submit([] {}).get();  // a worker, idle
                told.after_offer = [&] {
                    if (now)
                        returned += pool.shutdown_now().size();
                    else
                        pool.shutdown();
                };
                try {
                    pool.execute([&] { ++runs; });
                } catch (const rejected_execution&) {
                    refused = true;
                }
                ASSERT_TRUE(pool.await_termination(beyond_patience)) << pool.to_string();
            }
            EXPECT_EQ(runs + (refused ? 1 : 0) + static_cast<int>(returned), 1)
                << "core " << core << ", now " << now << ", refused " << refused;
        }
}

// SH-04
TEST(hazards, a_worker_that_leaves_tells_those_who_wait_for_its_place) {
    auto queue = std::make_unique<telling_queue<synchronous_queue<task>>>();
    gate polled_in_vain;
    gate may_leave;
    queue->after_poll_in_vain = [&] {
        polled_in_vain.open();
        may_leave.wait();
    };
    thread_pool_executor pool(0, 1, 0s, std::move(queue), default_thread_factory(), block_policy{});
    const watched_scope watched_pool(pool);
    pool.execute([] {});
    ASSERT_TRUE(polled_in_vain.wait());
    std::atomic<bool> ran = false;
    waiting_call submitter([&] { pool.execute([&] { ran = true; }); });
    EXPECT_FALSE(submitter.is_over());
    may_leave.open();
    EXPECT_TRUE(submitter.returned());
    EXPECT_TRUE(eventually([&] { return ran.load(); }));
}

// SH-05
TEST(hazards, a_pool_that_is_closed_amid_a_fan_out_wakes_everybody) {
    for (rounds left(300); left.another();) {
        std::atomic<int> runs = 0;
        std::atomic<int> accepted = 0;
        thread_pool_executor pool({.core_pool_size = 4});
        const watched_scope watched_pool(pool);
        std::function<void(int)> fan_out = [&](int depth) {
            ++runs;
            for (int i = 0; depth > 0 && i < 2; ++i) try {
                    pool.execute([&, depth] { fan_out(depth - 1); });
                    ++accepted;
                } catch (const rejected_execution&) {}
        };
        pool.execute([&] { fan_out(6); });
        ++accepted;
        if (left.number() % 2 == 0)
            while (runs < 5) std::this_thread::yield();
        pool.shutdown();
        ASSERT_TRUE(pool.await_termination(beyond_patience)) << pool.to_string();
        ASSERT_EQ(runs, accepted);
        ASSERT_EQ(pool.completed_task_count(), accepted);
    }
}

// SH-10, WK-20
TEST(hazards, prestarting_against_closing_and_resizing_ends_and_keeps_the_maximum) {
    std::unique_ptr<thread_pool_executor> pool;
    race three({[&] { pool->prestart_all_core_threads(); },
                [&] {
                    pool->resize(1, 2);
                    pool->resize(3, 4);
                },
                [&] { pool->close(); }});
    for (rounds left(1000); left.another();) {
        pool = std::make_unique<thread_pool_executor>(4, 4, 1h, any_room());
        three.play();
        ASSERT_TRUE(pool->is_terminated());
        ASSERT_EQ(pool->pool_size(), 0);
        ASSERT_LE(pool->largest_pool_size(), 4);  // a look now and then would miss it
    }
}

// SH-11
TEST(hazards, an_invoke_all_that_is_refused_half_way_leaves_nothing_running_in_its_frame) {
    for (rounds left(300); left.another();) {
        thread_pool_executor pool(2, 2, 1h, room_for(2));
        const watched_scope watched_pool(pool);
        std::atomic<int> inside = 0;  // what the callables refer to
        const auto body = [&] {
            ++inside;
            try {
                sleep_until_interrupted(beyond_patience);
            } catch (const interrupted&) {}
            --inside;
        };
        ASSERT_THROW(pool.invoke_all(std::vector(10, body)), rejected_execution);
        ASSERT_EQ(inside, 0);
    }
}

struct strange {};

// EX-01
TEST(hazards, whatever_is_thrown_wherever_the_pool_goes_on) {
    const std::array<std::function<void()>, 4> flingers = {
        [] { throw 42; }, [] { throw "text"; }, [] { throw strange(); },
        [] { throw static_cast<const char*>(nullptr); }};
    ::testing::internal::CaptureStderr();
    for (const auto& fling : flingers) {
        std::atomic<bool> factory_fails = false;
        std::atomic<bool> armed = false;
        const auto maybe = [&] {
            if (armed) fling();
        };
        thread_pool_executor pool({.core_pool_size = 1,
                                   .maximum_pool_size = 2,
                                   .queue = room_for(1),
                                   .thread_factory =
                                       [&](std::function<void()> body) {
                                           if (factory_fails) fling();
                                           return thread(std::move(body));
                                       },
                                   .rejection = [&](const task&, auto&) { maybe(); },
                                   .hooks = {.before_execute = [&](auto&&...) { maybe(); },
                                             .after_execute = [&](auto&&...) { maybe(); },
                                             .terminated = [&] { maybe(); }}});
        const watched_scope watched_pool(pool);
        factory_fails = true;
        EXPECT_ANY_THROW(pool.execute([] {}));
        factory_fails = false;
        {
            held_tasks held(pool, 3);
            ASSERT_TRUE(held.have_started(2));
            armed = true;
            EXPECT_ANY_THROW(pool.execute([] {}));  // the rejection handler
        }  // the after hook, and the before hook of the third
        ASSERT_TRUE(has_completed(pool, 3));
        armed = false;
        EXPECT_EQ(pool.submit([] { return 7; }).then([](int x) { return x + 1; }).get(), 8);
        EXPECT_ANY_THROW(pool.submit([] {}).then([&] { fling(); }).get());
        priority_blocking_queue<int, std::function<bool(int, int)>> queue(
            11, [&](int a, int b) -> bool {
                maybe();
                return a < b;
            });
        queue.add(1);
        armed = true;
        EXPECT_ANY_THROW(queue.add(2));  // the comparator
        EXPECT_EQ(queue.size(), 1u);
        pool.close();  // terminated
        EXPECT_TRUE(pool.is_terminated());
    }
    EXPECT_NE(::testing::internal::GetCapturedStderr(), "");
}

// RE-01
TEST(hazards, every_worker_may_shut_the_pool_down_at_once) {
    for (rounds left(500); left.another();) {
        constexpr int workers = 4;
        std::atomic<int> there = 0;
        std::atomic<int> ended = 0;
        thread_pool_executor pool({.core_pool_size = workers});
        const watched_scope watched_pool(pool);
        for (int i = 0; i < workers; ++i)
            pool.execute([&, i] {
                ++there;
                while (there < workers) std::this_thread::yield();
                if (i % 2 == 0)
                    pool.shutdown();
                else
                    pool.shutdown_now();
                ++ended;
            });
        ASSERT_TRUE(pool.await_termination(beyond_patience)) << pool.to_string();
        ASSERT_EQ(ended, workers);
    }
}

// IN-09
TEST(hazards, tasks_cancelled_in_the_queue_are_counted_once_by_a_pool_that_ends) {
    for (const bool remove : {false, true}) {
        thread_pool_executor pool({.core_pool_size = 1, .remove_on_cancel = remove});
        const watched_scope watched_pool(pool);
        std::vector<future<void>> all;
        std::atomic<int> runs = 0;
        {
            held_task held(pool);
            for (int i = 0; i < 10; ++i) all.push_back(pool.submit([&] { ++runs; }));
            for (std::size_t i = 0; i < 10; i += 2) EXPECT_TRUE(all[i].cancel());
            EXPECT_EQ(pool.queue().size(), remove ? 5u : 10u);
            pool.shutdown();
        }
        ASSERT_TRUE(pool.await_termination(beyond_patience));
        EXPECT_EQ(runs, 5);
        EXPECT_EQ(pool.completed_task_count(), remove ? 6 : 11);
        EXPECT_EQ(pool.task_count(), pool.completed_task_count());
        for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(all[i].is_cancelled(), i % 2 == 0);
    }
}

// IN-07: a callback that takes a while does not keep those who wait from the outcome, and the
// interrupt comes when it is over
TEST(hazards, stop_callbacks_run_on_the_cancellers_thread_before_the_interrupt) {
    std::atomic<bool> waits = false;
    std::atomic<bool> interrupted_by_then = true;
    thread_pool_executor pool({.core_pool_size = 1});
    const watched_scope watched_pool(pool);
    std::atomic<std::thread::id> called_on;
    auto result = pool.submit([&] {
        const auto self = thread_handle::current();
        const std::stop_callback note(this_thread::stop_token(), [&, self] {
            called_on = std::this_thread::get_id();
            interrupted_by_then = self.is_interrupted();
        });
        waits = true;
        sleep_until_interrupted(beyond_patience);
    });
    ASSERT_TRUE(eventually([&] { return waits.load(); }));
    EXPECT_TRUE(result.cancel(true));
    pool.close();
    EXPECT_EQ(called_on.load(), std::this_thread::get_id());
    EXPECT_FALSE(interrupted_by_then);
}

// QU-06: interrupts, a hand-over and a time limit at once; whoever looks instead of sleeping burns
// a processor, for each of the takers
TEST(hazards, timed_polls_amid_interrupts_and_transfers_sleep) {
    linked_transfer_queue<int> queue;
    std::atomic<bool> over = false;
    std::atomic<int> given = 0;
    std::atomic<int> got = 0;
    const auto until_over = [&](auto call) {
        while (!over) try {
                call();
            } catch (const interrupted&) {}
    };
    const auto take = [&] {
        if (queue.poll_for(50ms)) ++got;
    };
    const auto give = [&] {
        if (queue.try_transfer_for(1, 20ms)) ++given;
        take_at_least(5ms);  // so that takers wait in vain as well
    };
    const auto began = std::chrono::steady_clock::now();
    const auto before = used_so_far();
    {
        std::vector<cadre::thread> threads;
        for (int i = 0; i < 2; ++i) threads.emplace_back([&] { until_over(take); });
        threads.emplace_back([&] { until_over(give); });
        for (int i = 0; i < 200; ++i) {
            for (auto& each : threads) each.interrupt();
            take_at_least(1ms);  // two hundred interrupts, spread over some time
        }
        over = true;
    }
    const auto used = (used_so_far() - before).cpu_time;
    EXPECT_LT(used, (std::chrono::steady_clock::now() - began) / 2);
    EXPECT_EQ(given, got);
    EXPECT_GT(given, 0) << "nothing was handed over: the test says nothing";
}

// PL-07: a worker that holds a lock of the pool and is not let run holds up whoever wants the lock
TEST(hazards, nice_workers_on_a_busy_machine_hold_up_nobody_who_changes_their_pool) {
    std::atomic<bool> over = false;
    std::vector<std::thread> burners;
    for (int i = 0; i < 4; ++i)
        burners.emplace_back([&] {
            while (!over) {}
        });
    std::function<void()> again;  // outlives the pool, which runs copies of it to the end
    thread_pool_executor pool({.core_pool_size = 2,
                               .maximum_pool_size = 8,
                               .keep_alive = 1ms,
                               .thread_factory = named_thread_factory("nice", {.nice = 19})});
    const watched_scope watched_pool(pool);
    again = [&] {
        try {
            if (!over) pool.execute(again);
        } catch (const rejected_execution&) {}
    };
    for (int i = 0; i < 4; ++i) pool.execute(again);
    std::vector<std::chrono::nanoseconds> times;
    for (int i = 0; i < 200; ++i) {
        const auto began = std::chrono::steady_clock::now();
        pool.set_core_pool_size(1 + i % 4);
        times.push_back(std::chrono::steady_clock::now() - began);
        take_at_least(1ms);  // meanwhile workers come and go
    }
    over = true;
    for (auto& each : burners) each.join();
    std::sort(times.begin(), times.end());
    const auto late = times[times.size() * 99 / 100 - 1];
    RecordProperty("p99_us", static_cast<int>(late / std::chrono::microseconds(1)));
    // Of the last few nobody knows how long the caller itself was not let run.
    EXPECT_LT(times[times.size() / 2], 100ms);
    EXPECT_LT(late, guard);
}

// QU-12
TEST(hazards, a_very_long_queue_counts_right_and_comes_back_whole) {
    const char* scale = std::getenv("CADRE_STRESS_SCALE");
    const auto count =
        static_cast<std::size_t>(200'000 * (scale ? std::atof(scale) : 1.0) / slowness);
    thread_pool_executor pool({.core_pool_size = 1});
    const watched_scope watched_pool(pool);
    held_task held(pool);
    for (std::size_t i = 0; i < count; ++i) pool.execute([] {});
    EXPECT_EQ(pool.queue().size(), count);
    EXPECT_EQ(pool.shutdown_now().size(), count);
    EXPECT_TRUE(pool.queue().empty());
}

}  // namespace
}  // namespace cadre::testing
