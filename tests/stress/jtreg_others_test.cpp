// SPDX-License-Identifier: Apache-2.0
//
// What the regression tests of java.util.concurrent for schedulers, futures, fork and join, and
// queues hold the JDK to, said of cadre, as often as they check it where that is known.
// docs/hazards.md has the table.

#include <cadre/cadre.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/checks.hpp"
#include "support/held_task.hpp"
#include "support/queue_kinds.hpp"
#include "support/race.hpp"
#include "support/sleeps.hpp"
#include "support/watched.hpp"

namespace cadre::testing {
namespace {

/// The ways in which a thread waits for the tasks of a pool that is ended under it.
template <class Pool>
void expect_ended_waits(const std::function<std::unique_ptr<Pool>()>& make) {
    const auto sleep = [] {
        sleep_until_interrupted(beyond_patience);
        return 1;
    };
    for (int way = 0; way < 3; ++way) {
        const auto pool = make();
        std::atomic<int> started = 0;
        const auto body = [&] {
            ++started;
            return sleep();
        };
        std::atomic<bool> failed = false;
        std::thread waiter([&] {
            try {
                if (way == 0)
                    (void)pool->submit(body).get();
                else if (way == 1)
                    for (auto& each : pool->invoke_all(std::vector(2, body))) (void)each.get();
                else
                    (void)pool->invoke_any(std::vector(2, body));
            } catch (const std::exception&) {
                failed = true;  // interrupted, cancelled or refused
            }
        });
        EXPECT_TRUE(eventually([&] { return started >= 1; }));
        pool->shutdown_now();  // what it returns is dropped, and so cancelled
        EXPECT_TRUE(pool->await_termination(beyond_patience));
        waiter.join();
        EXPECT_TRUE(failed);
    }
}

// forkjoin/AsyncShutdownNow, AsyncShutdownNowInvokeAny
TEST(jtreg_forkjoin, async_shutdown_now) {
    expect_ended_waits<work_stealing_pool>([] {
        return std::make_unique<work_stealing_pool>(work_stealing_options{.parallelism = 2});
    });
    expect_ended_waits<thread_pool_executor>([] {
        return std::make_unique<thread_pool_executor>(thread_pool_options{.core_pool_size = 2});
    });
}

/// How many ways there are to put the remaining queens on an n by n board.
int solutions(work_stealing_pool& pool, int n, int row, unsigned columns, unsigned left,
              unsigned right) {
    if (row == n) return 1;
    std::vector<future<int>> tries;
    for (int column = 0; column < n; ++column) {
        const unsigned bit = 1U << column;
        if ((columns | left | right) & bit) continue;
        tries.push_back(pool.submit([=, &pool] {
            return solutions(pool, n, row + 1, columns | bit, (left | bit) << 1,
                             (right | bit) >> 1);
        }));
    }
    int sum = 0;
    for (auto& each : tries) sum += each.get();
    return sum;
}

// forkjoin/NQueensCS, Uniprocessor
TEST(jtreg_forkjoin, n_queens) {
    constexpr std::array known = {0, 1, 0, 0, 2, 10, 4, 40, 92};
    for (const int parallelism : {1, 2, 4}) {
        work_stealing_pool pool({.parallelism = parallelism});
        const watched_scope watched_pool(pool);
        for (int n = 4; n <= (slowness == 1 ? 8 : 6); ++n)
            EXPECT_EQ(pool.submit([&, n] { return solutions(pool, n, 0, 0, 0, 0); }).get(),
                      known[static_cast<std::size_t>(n)]);
    }
}

// forkjoin/GetMultipleWaiters, FU-11
TEST(jtreg_forkjoin, get_multiple_waiters) {
    work_stealing_pool pool({.parallelism = 1});
    const watched_scope watched_pool(pool);
    for (const bool timed : {false, true}) {
        gate let_go;
        const auto result = pool.submit([&] {
                                    let_go.wait();
                                    return 7;
                                })
                                .share();
        std::atomic<int> got = 0;
        std::vector<std::thread> waiters;
        for (int i = 0; i < 8; ++i)
            waiters.emplace_back([&] {
                got += timed ? shared_future(result).get_for(1h) : shared_future(result).get();
            });
        let_go.open();
        for (auto& each : waiters) each.join();
        EXPECT_EQ(got, 8 * 7);
    }
}

std::atomic<int> errors_alive = 0;
struct counted_error : std::runtime_error {
    counted_error() : std::runtime_error("counted") { ++errors_alive; }
    counted_error(const counted_error& other) : std::runtime_error(other) { ++errors_alive; }
    ~counted_error() override { --errors_alive; }
};

// forkjoin/FJExceptionTableLeak
TEST(jtreg_forkjoin, exception_leak) {
    {
        work_stealing_pool pool({.parallelism = 2});
        const watched_scope watched_pool(pool);
        for (rounds left(20'000, 20'000 / slowness); left.another();) try {
                pool.submit([] { throw counted_error(); }).get();
                ADD_FAILURE() << "the exception is lost";
            } catch (const counted_error& error) {  // read while its task comes to an end
                EXPECT_STREQ(error.what(), "counted");
            }
    }
    EXPECT_EQ(errors_alive, 0);
}

// forkjoin/SubmissionTest
TEST(jtreg_forkjoin, submission) {
    work_stealing_pool pool({.parallelism = 1});
    const watched_scope watched_pool(pool);
    auto outer = pool.submit([&] { return pool.submit([] { return 1; }).get() + 1; });
    EXPECT_EQ(outer.get_for(beyond_patience), 2);
}

template <class Duration>
void check_end_of_time(checks& check, Duration now) {
    // each as far as its unit goes
    const std::array<std::function<future<void>(scheduled_thread_pool_executor&, task)>, 5> ends = {
        [](auto& timers, task t) {
            return timers.schedule(std::move(t), std::chrono::nanoseconds::max());
        },
        [](auto& timers, task t) {
            return timers.schedule(std::move(t), std::chrono::microseconds::max());
        },
        [](auto& timers, task t) {
            return timers.schedule(std::move(t), std::chrono::milliseconds::max());
        },
        [](auto& timers, task t) {
            return timers.schedule(std::move(t), std::chrono::seconds::max());
        },
        [](auto& timers, task t) {
            return timers.schedule(std::move(t), std::chrono::hours::max());
        }};
    for (const auto& at_the_end : ends) {
        scheduled_thread_pool_executor timers({.core_pool_size = 1});
        const watched_scope watched_timers(timers);
        auto last = at_the_end(timers, task([] {}));
        check(timers.schedule([] { return true; }, now).get_for(beyond_patience));
        check(!last.is_done());
        timers.shutdown_now();
    }
}

// ScheduledThreadPoolExecutor/DelayOverflow, TM-01: 40 checks
TEST(jtreg_scheduled_thread_pool_executor, delay_overflow) {
    checks check;
    check_end_of_time(check, 0ns);
    check_end_of_time(check, 1ns);
    check_end_of_time(check, -1ns);
    check_end_of_time(check, std::chrono::nanoseconds::min());
    EXPECT_EQ(check.made(), 40);
}

// ScheduledThreadPoolExecutor/BasicCancelTest, TM-09
TEST(jtreg_scheduled_thread_pool_executor, basic_cancel) {
    scheduled_thread_pool_executor timers({.core_pool_size = 1, .remove_on_cancel = true});
    const watched_scope watched_timers(timers);
    std::vector<scheduled_future<void>> all;
    for (int i = 0; i < 10'000; ++i) all.push_back(timers.schedule([] {}, 60s));
    EXPECT_EQ(timers.queue().size(), 10'000u);
    for (auto& each : all) EXPECT_TRUE(each.cancel());
    EXPECT_TRUE(timers.queue().empty());
    timers.set_remove_on_cancel_policy(false);
    for (auto& each : all) {
        each = timers.schedule([] {}, 60s);
        EXPECT_TRUE(each.cancel());
    }
    timers.purge();
    EXPECT_TRUE(timers.queue().empty());
}

// ScheduledThreadPoolExecutor/Stress
TEST(jtreg_scheduled_thread_pool_executor, stress) {
    constexpr int each = 1000;
    for (rounds left(50, 50 / slowness); left.another();) {
        std::atomic<int> runs = 0;
        scheduled_thread_pool_executor timers({.core_pool_size = 1 + left.number() % 4});
        const watched_scope watched_timers(timers);
        std::vector<std::thread> submitters;
        for (int s = 0; s < 3; ++s)
            submitters.emplace_back([&] {
                for (int i = 0; i < each; ++i)
                    timers.schedule([&] { ++runs; }, std::chrono::microseconds(i % 7 * 100));
            });
        for (auto& s : submitters) s.join();
        timers.shutdown();
        ASSERT_TRUE(timers.await_termination(beyond_patience)) << timers.to_string();
        ASSERT_EQ(runs, 3 * each);
    }
}

// ScheduledThreadPoolExecutor/ZeroCorePoolSize, WK-03; ScheduledTickleService, TM-14
TEST(jtreg_scheduled_thread_pool_executor, core_of_zero_and_back) {
    std::atomic<int> runs = 0;
    scheduled_thread_pool_executor timers({.core_pool_size = 0});
    const watched_scope watched_timers(timers);
    EXPECT_EQ(timers.schedule([] { return 1; }, 10ms).get_for(beyond_patience), 1);
    for (int i = 0; i < 100; ++i) {
        timers.set_core_pool_size(i % 3);
        timers.schedule([&] { ++runs; }, std::chrono::milliseconds(i % 5));
    }
    timers.set_core_pool_size(0);
    EXPECT_TRUE(eventually([&] { return runs == 100; })) << timers.to_string();
}

// FutureTask/CancelledFutureLoops: tasks of many threads are cancelled with an interrupt, and those
// that are not go on
TEST(jtreg_future_task, cancelled_future_loops) {
    constexpr int tasks = 5;
    auto pool = executors::cached_thread_pool();
    for (rounds left(1000, 1000 / slowness); left.another();) {
        std::atomic<int> steps = 0;
        std::atomic<bool> over = false;
        std::vector<future<int>> all;
        for (int i = 0; i < tasks; ++i)
            all.push_back(pool->submit([&] {
                int mine = 0;
                while (!over) {
                    this_thread::interruption_point();
                    ++steps;
                    ++mine;
                    std::this_thread::yield();
                }
                return mine;
            }));
        ASSERT_TRUE(eventually([&] { return steps > 0; }));
        for (int i = 0; i < tasks; i += 2)
            ASSERT_TRUE(all[static_cast<std::size_t>(i)].cancel(true));
        over = true;
        for (std::size_t i = 0; i < all.size(); ++i)
            if (i % 2 == 0)
                ASSERT_THROW((void)all[i].get(), cancellation);
            else
                ASSERT_GE(all[i].get_for(beyond_patience), 0);
        // those that were cancelled refer to what ends with this round
        ASSERT_TRUE(eventually(
            [&] { return static_cast<thread_pool_executor&>(*pool).active_count() == 0; }));
    }
}

// FutureTask/BlockingTaskExecutor, FU-10
TEST(jtreg_future_task, blocking_task_executor) {
    for (const int threads : {1, 2, 10}) {
        std::atomic<int> started = 0;
        thread_pool_executor pool({.core_pool_size = threads});
        const watched_scope watched_pool(pool);
        const auto body = [&] {
            ++started;
            sleep_until_interrupted(beyond_patience);
        };
        cadre::thread caller([&] { pool.invoke_all(std::vector(10, body)); });
        ASSERT_TRUE(eventually([&] { return started >= threads; }));
        caller.interrupt();
        caller.join();
        EXPECT_LE(started, 10);
        EXPECT_TRUE(eventually([&] { return pool.active_count() == 0; }));
    }
}

template <class Kind>
class jtreg_blocking_queue : public ::testing::Test {
protected:
    queue_ptr queue_ = Kind::make(100);
    blocking_queue<item>& queue = *queue_;
};
TYPED_TEST_SUITE(jtreg_blocking_queue, storing_kinds, kind_names);

// BlockingQueue/MissedPoll: who has put an element in finds one
TYPED_TEST(jtreg_blocking_queue, missed_poll) {
    std::atomic<int> missed = 0;
    const auto put_and_poll = [&] {
        this->queue.put(1);
        if (!this->queue.poll()) ++missed;
    };
    race three({put_and_poll, put_and_poll, put_and_poll});
    for (rounds left(3000, 3000 / slowness); left.another();) three.play();
    EXPECT_EQ(missed, 0);
    EXPECT_TRUE(this->queue.empty());
}

// BlockingQueue/LastElement
TYPED_TEST(jtreg_blocking_queue, last_element) {
    for (int i = 0; i < 3; ++i) this->queue.add(i);
    EXPECT_TRUE(this->queue.remove(item(2)));
    EXPECT_FALSE(this->queue.contains(2));
    EXPECT_EQ(this->queue.remove_if([](const item& x) { return x.value == 1; }), 1u);
    this->queue.add(3);
    EXPECT_EQ(drained(this->queue), (std::vector{0, 3}));
}

// BlockingQueue/OfferDrainToLoops, QU-03: offers against drains of every length and a traversal
TYPED_TEST(jtreg_blocking_queue, offer_drain_to_loops) {
    constexpr int count = slowness == 1 ? 20'000 : 2'000;
    std::atomic<bool> over = false;
    std::thread offerer([&] {
        for (int i = 1; i <= count;) {
            if (this->queue.offer(item(i)))
                ++i;
            else
                std::this_thread::yield();
        }
    });
    std::thread scanner([&] {
        while (!over) {
            this->queue.for_each([](const item& x) { EXPECT_GT(x.value, 0); });
            std::this_thread::yield();
        }
    });
    std::int64_t sum = 0;
    for (int got = 0, length = 0; got < count; length = (length + 1) % 7) {
        std::vector<item> out;
        this->queue.drain_to(out, length);
        for (const item& x : out) sum += x.value;
        got += static_cast<int>(out.size());
        if (out.empty()) std::this_thread::yield();
    }
    over = true;
    offerer.join();
    scanner.join();
    EXPECT_EQ(sum, std::int64_t{count} * (count + 1) / 2);
    EXPECT_TRUE(this->queue.empty());
}

// BlockingQueue/OfferRemoveLoops, LinkedBlockingQueue/OfferRemoveLoops, QU-03
TYPED_TEST(jtreg_blocking_queue, offer_remove_loops) {
    constexpr int count = slowness == 1 ? 5'000 : 1'000;
    std::atomic<bool> over = false;
    std::thread offerer([&] {
        for (int i = 1; i <= count;) {
            if (this->queue.offer(item(i)))
                ++i;
            else
                std::this_thread::yield();
        }
    });
    std::thread stranger([&] {  // asks for what is never there
        while (!over) {
            EXPECT_FALSE(this->queue.remove(item(-7)));
            EXPECT_FALSE(this->queue.contains(item(-7)));
            std::this_thread::yield();
        }
    });
    for (int i = 1; i <= count;)
        if (this->queue.remove(item(i)))
            ++i;
        else
            std::this_thread::yield();
    over = true;
    offerer.join();
    stranger.join();
    EXPECT_TRUE(this->queue.empty());
}

}  // namespace
}  // namespace cadre::testing
