// SPDX-License-Identifier: Apache-2.0
//
// Run, cancel, set, get, then and the end of a task against each other: each task has one outcome,
// its callable runs at most once, and nobody waits for ever.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <utility>
#include <vector>

#include "support/counted.hpp"
#include "support/eventually.hpp"
#include "support/race.hpp"
#include "support/watched.hpp"
#include <cadre/executors.hpp>
#include <cadre/future.hpp>

namespace cadre::testing {
namespace {

/// The task that a round is about, and what its sides saw.
struct contested {
    explicit contested(int value)
        : task([this, captured = counted<>(value)] {
              ++calls;
              return captured.value;
          }),
          result(task->get_future()) {}

    std::atomic<int> calls = 0;
    std::optional<future_task<int>> task;
    shared_future<int> result;
    std::atomic<bool> cancel_won = false;
    std::atomic<bool> set_won = false;
    std::atomic<bool> set_exception_won = false;
    std::atomic<int> got = -1;
    std::atomic<bool> get_cancelled = false;
    std::atomic<bool> get_failed = false;

    void get() {
        try {
            got = result.get_for(beyond_patience);
        } catch (const cancellation&) {
            get_cancelled = true;
        } catch (int) {
            get_failed = true;
        }
    }
};

TEST(future_races, cancel_against_run_against_get) {
    std::optional<contested> now;
    bool may_interrupt = false;
    std::atomic<bool> flag_came_late = false;
    race sides({[&] {
                    if (this_thread::interrupted()) flag_came_late = true;
                    (*now->task)();
                    this_thread::interrupted();
                },
                [&] { now->cancel_won = now->task->cancel(may_interrupt); }, [&] { now->get(); }});
    for (rounds left(300'000); left.another();) {
        const int round = left.number();
        may_interrupt = round % 2 == 0;
        now.emplace(round);
        sides.play();
        ASSERT_TRUE(now->result.is_done());
        ASSERT_LE(now->calls, 1);
        ASSERT_EQ(now->cancel_won, now->result.is_cancelled());
        ASSERT_EQ(now->cancel_won, now->get_cancelled);
        ASSERT_EQ(now->got, now->cancel_won ? -1 : round);
        ASSERT_FALSE(flag_came_late) << "an interrupt came after its task was over";
    }
    now.reset();
    EXPECT_EQ(counted<>::alive, 0);
}

TEST(future_races, two_runs_against_set_and_set_exception) {
    std::optional<contested> now;
    const auto error = std::make_exception_ptr(1);
    race sides({[&] { (*now->task)(); }, [&] { (*now->task)(); },
                [&] { now->set_won = now->task->set(-2); },
                [&] { now->set_exception_won = now->task->set_exception(error); }});
    for (rounds left(300'000); left.another();) {
        const int round = left.number();
        now.emplace(round);
        sides.play();
        ASSERT_LE(now->calls, 1);
        ASSERT_FALSE(now->set_won && now->set_exception_won);
        now->get();
        ASSERT_EQ(now->get_failed, now->set_exception_won);
        const bool run_won = !now->set_won && !now->set_exception_won;
        ASSERT_EQ(now->got, run_won ? round : now->set_won ? -2 : -1);
        ASSERT_TRUE(now->calls == 1 || !run_won);
    }
    now.reset();
    EXPECT_EQ(counted<>::alive, 0);
}

TEST(future_races, the_end_of_an_unrun_task_against_cancel_against_get) {
    std::optional<contested> now;
    race sides({[&] { now->task.reset(); },
                [&] {
                    auto mine = now->result;
                    now->cancel_won = mine.cancel(true);
                },
                [&] { now->get(); }});
    for (rounds left(300'000); left.another();) {
        const int round = left.number();
        now.emplace(round);
        sides.play();
        ASSERT_TRUE(now->result.is_cancelled());
        ASSERT_TRUE(now->get_cancelled);
        ASSERT_EQ(now->calls, 0);
        ASSERT_EQ(counted<>::alive, 0);
    }
}

TEST(future_races, run_and_reset_against_cancel) {
    constexpr int many = 10'000'000;  // more than a cancel can miss
    std::optional<contested> now;
    std::atomic<int> resets = 0;
    race sides({[&] {
                    while (resets < many && now->task->run_and_reset()) ++resets;
                    this_thread::interrupted();
                },
                [&] { now->cancel_won = now->task->cancel(true); }});
    for (rounds left(300'000); left.another();) {
        const int round = left.number();
        resets = 0;
        now.emplace(round);
        sides.play();
        ASSERT_TRUE(now->cancel_won);
        ASSERT_TRUE(now->result.is_cancelled());
        ASSERT_GE(now->calls, resets);
        ASSERT_LE(now->calls, resets + 1);
        ASSERT_EQ(counted<>::alive, 0);
    }
}

TEST(future_races, attaching_a_continuation_against_completion) {
    std::optional<future_task<int>> task;
    std::optional<future<int>> source;
    std::optional<future<int>> later;
    std::atomic<int> calls = 0;
    race sides({[&] { (*task)(); },
                [&] {
                    later = std::move(*source).then([&](int x) {
                        ++calls;
                        return x + 1;
                    });
                }});
    for (rounds left(300'000); left.another();) {
        const int round = left.number();
        calls = 0;
        task.emplace([round] { return round; });
        source = task->get_future();
        sides.play();
        ASSERT_EQ(later->get_for(beyond_patience), round + 1);
        ASSERT_EQ(calls, 1);
    }
}

TEST(future_races, cancelling_a_continuation_against_the_run_of_its_source) {
    std::optional<future_task<int>> task;
    std::optional<future<int>> later;
    std::atomic<int> calls = 0;
    std::atomic<bool> cancelled = false;
    race sides({[&] {
                    (*task)();
                    this_thread::interrupted();
                },
                [&] { cancelled = later->cancel(true); }});
    for (rounds left(300'000); left.another();) {
        const int round = left.number();
        calls = 0;
        task.emplace([round] { return round; });
        later = task->get_future().then([&, c = counted<>()](int x) {
            ++calls;
            return x + 1;
        });
        sides.play();
        ASSERT_TRUE(task->is_done());
        ASSERT_TRUE(later->is_done());
        ASSERT_LE(calls, 1);
        ASSERT_EQ(later->is_cancelled(), cancelled);
        ASSERT_TRUE(cancelled || later->get() == round + 1);
        ASSERT_EQ(counted<>::alive, 0);
    }
}

TEST(future_races, dropping_the_task_against_attaching_to_it) {
    std::optional<future_task<int>> task;
    std::optional<future<int>> source;
    std::optional<future<future_state>> later;
    race sides(
        {[&] { task.reset(); },
         [&] { later = std::move(*source).then([](future<int> done) { return done.state(); }); }});
    for (rounds left(300'000); left.another();) {
        const int round = left.number();
        task.emplace([round] { return round; });
        source = task->get_future();
        sides.play();
        ASSERT_EQ(later->get_for(beyond_patience), future_state::cancelled);
    }
}

/// Starts at once and is destroyed when it ends.
struct detached {
    struct promise_type {
        detached get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};
detached await_into(std::atomic<int>& sum, future<int> awaited) {
    sum += co_await std::move(awaited);
}

TEST(future_races, awaiting_against_completion) {
    std::optional<future_task<int>> task;
    std::optional<future<int>> awaited;
    std::atomic<int> sum = 0;
    race sides({[&] { (*task)(); }, [&] { await_into(sum, std::move(*awaited)); }});
    for (rounds left(300'000); left.another();) {
        const int round = left.number();
        sum = 0;
        task.emplace([round] { return round; });
        awaited = task->get_future();
        sides.play();
        ASSERT_EQ(sum, round);
    }
}

TEST(future_races, an_interrupt_against_falling_asleep_in_get) {
    future_task<int> never([] { return 1; });
    const shared_future result = never.get_future().share();
    std::optional<thread_handle> waiter;  // learnt in the first round
    bool timed = false;
    int interruptions = 0;
    race sides({[&] {
                    if (!waiter) return waiter.emplace(thread_handle::current()), void();
                    try {
                        timed ? result.get_for(beyond_patience) : result.get();
                    } catch (const interrupted&) {
                        ++interruptions;
                    }
                },
                [&, first = true]() mutable {
                    if (!std::exchange(first, false)) waiter->interrupt();
                }});
    sides.play();
    for (rounds left(300'000); left.another();) {
        timed = left.number() % 2 == 0;
        interruptions = 0;
        sides.play();
        ASSERT_EQ(interruptions, 1);
    }
}

TEST(future_races, is_done_then_get_never_times_out_nor_reports_interruption) {
    std::optional<contested> now;
    std::atomic<bool> lied = false;
    race sides({[&] { (*now->task)(); },
                [&] {
                    auto mine = now->result;
                    thread_handle::current().interrupt();
                    if (!mine.is_done()) return;
                    try {
                        mine.get_for(0ns);
                        mine.get();
                    } catch (...) {
                        lied = true;
                    }
                }});
    for (rounds left(300'000); left.another();) {
        const int round = left.number();
        now.emplace(round);
        sides.play();
        ASSERT_FALSE(lied);
    }
}

/// A worker that waits for the end of a chain runs what of it comes to its own pool, whatever the
/// rest of the chain runs on.
TEST(future_races, chains_across_pools_against_the_only_worker_that_waits_for_them) {
    const auto here = executors::fixed_thread_pool(1);
    const auto elsewhere = executors::fixed_thread_pool(1);
    std::minstd_rand random(42);
    const auto add_one = [](int x) { return x + 1; };
    for (rounds left(50'000); left.another();) {
        const auto links = static_cast<int>(random() % 12);
        std::vector<unsigned> ways;
        for (int i = 0; i <= links; ++i) ways.push_back(static_cast<unsigned>(random() % 3));
        future waiting = here->submit([&] {
            future last = (ways[0] == 0 ? here : elsewhere)->submit([] { return 0; });
            for (int i = 1; i <= links; ++i) {
                const auto way = ways[static_cast<std::size_t>(i)];
                last = way == 0   ? std::move(last).then(*here, add_one)
                       : way == 1 ? std::move(last).then(*elsewhere, add_one)
                                  : std::move(last).then(add_one);
            }
            return last.get();
        });
        if (random() % 8 == 0) {
            waiting.cancel(true);
            here->submit([] {}).get();  // after that, nothing refers to `ways` any more
        } else {
            ASSERT_TRUE(waiting.wait_for(guard)) << "round " << left.number();
            ASSERT_EQ(waiting.get(), links);
        }
    }
}

TEST(future_races, cancels_of_one_task_never_reach_the_next_on_a_pool) {
    std::atomic<int> reached = 0;
    const auto pool = executors::fixed_thread_pool(2);
    const auto body = [&] {
        if (this_thread::is_interrupted() || this_thread::stop_token().stop_requested()) ++reached;
    };
    std::mt19937 random(std::random_device{}());
    std::vector<future<void>> results;
    for (rounds left(500'000); left.another();) {
        results.push_back(pool->submit([&] {
            // Cancelled by now it may well be; what must be clear is what others left behind.
            this_thread::stop_token();
        }));
        results.push_back(pool->submit(body));
        results[results.size() - 2 - 2 * (random() % std::min<std::size_t>(results.size() / 2, 4))]
            .cancel(true);
        if (results.size() > 1000) {
            for (std::size_t i = 1; i < results.size(); i += 2) results[i].get_for(beyond_patience);
            results.clear();
        }
    }
    pool->close();
    EXPECT_EQ(reached, 0);
}

}  // namespace
}  // namespace cadre::testing
