// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "support/eventually.hpp"
#include "support/held_task.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"
#include <cadre/executors.hpp>
#include <cadre/future.hpp>

namespace cadre::testing {
namespace {

/// A future_task on a thread of its own, which has started when the constructor returns.
template <class T>
class running_task {
public:
    explicit running_task(std::function<T()> body)
        : task_([this, body = std::move(body)] {
              started_.open();
              return body();
          }),
          runner_([this] {
              task_();
              flag_after_run_ = this_thread::is_interrupted();
          }) {
        EXPECT_TRUE(started_.wait());
    }
    future_task<T>* operator->() { return &task_; }
    /// Waits for the end of the thread. True if its interrupt flag was set after the run.
    bool ends_interrupted() {
        if (runner_.joinable()) runner_.join();
        return flag_after_run_;
    }

private:
    gate started_;
    future_task<T> task_;
    bool flag_after_run_ = false;
    cadre::thread runner_;  // the last member: starts when the others are there
};

// FUT-012
TEST(future_cancel, before_the_run_prevents_it) {
    for (const bool may_interrupt : {false, true}) {
        bool ran = false;
        future_task task([&] { ran = true; });
        EXPECT_TRUE(task.cancel(may_interrupt));
        task();
        EXPECT_FALSE(ran);
        EXPECT_TRUE(task.is_cancelled());
        EXPECT_TRUE(task.is_done());
        EXPECT_FALSE(this_thread::is_interrupted());
    }
}

// FUT-013
TEST(future_cancel, after_completion_is_refused_and_the_value_stays) {
    for (const bool may_interrupt : {false, true}) {
        future_task task([] { return 42; });
        task();
        EXPECT_FALSE(task.cancel(may_interrupt));
        EXPECT_FALSE(task.is_cancelled());
        EXPECT_EQ(task.get_future().get(), 42);
    }
}

// FUT-014
TEST(future_cancel, interrupts_the_thread_that_runs_the_task) {
    gate was_interrupted;
    gate may_return;
    running_task<int> task([&] {
        try {
            sleep_until_interrupted();
        } catch (const interrupted&) {
            was_interrupted.open();
        }
        may_return.wait();
        return 42;
    });
    EXPECT_TRUE(task->cancel(true));
    EXPECT_TRUE(task->is_done());
    EXPECT_TRUE(task->is_cancelled());
    EXPECT_TRUE(was_interrupted.wait());
    may_return.open();
    EXPECT_FALSE(task.ends_interrupted());
    EXPECT_TRUE(task->is_cancelled());
    EXPECT_THROW(task->get_future().get(), cancellation);
}

// FUT-015
TEST(future_cancel, outweighs_what_the_body_throws_afterwards) {
    running_task<int> task([]() -> int {
        try {
            sleep_until_interrupted();
        } catch (const interrupted&) {}
        throw std::out_of_range("no such page");
    });
    EXPECT_TRUE(task->cancel(true));
    task.ends_interrupted();
    future result = task->get_future();
    EXPECT_THROW(result.get(), cancellation);
    EXPECT_EQ(result.exception(), nullptr);
    EXPECT_EQ(result.state(), future_state::cancelled);
}

// FUT-016
TEST(future_cancel, without_interruption_lets_the_body_finish) {
    gate may_return;
    bool interrupted_there = true;
    bool finished = false;
    running_task<int> task([&] {
        may_return.wait();
        interrupted_there = this_thread::is_interrupted();
        finished = true;
        return 42;
    });
    EXPECT_TRUE(task->cancel(false));
    EXPECT_TRUE(task->is_done());
    may_return.open();
    EXPECT_FALSE(task.ends_interrupted());
    EXPECT_TRUE(finished);
    EXPECT_FALSE(interrupted_there);
    EXPECT_THROW(task->get_future().get(), cancellation);
}

// FUT-019
TEST(future_cancel, wakes_those_who_wait_while_the_body_still_runs) {
    for (const bool may_interrupt : {false, true}) {
        gate may_return;
        running_task<int> task([&] { return may_return.wait(); });
        const shared_future result = task->get_future().share();
        std::atomic<int> cancellations = 0;
        const auto expect_cancellation = [&](auto get) {
            return [&cancellations, get] {
                try {
                    get();
                } catch (const cancellation&) {
                    ++cancellations;
                }
            };
        };
        waiting_call get(expect_cancellation([result] { result.get(); }));
        waiting_call timed_get(expect_cancellation([result] { result.get_for(1h); }));
        EXPECT_TRUE(task->cancel(may_interrupt));
        EXPECT_TRUE(get.returned());
        EXPECT_TRUE(timed_get.returned());
        EXPECT_EQ(cancellations, 2);
        may_return.open();
    }
}

// FUT-028
TEST(future_cancel, frees_the_threads_of_all_tasks_but_the_one_left_alone) {
    constexpr int tasks = 8;
    std::atomic<int> running = 0;
    std::atomic<bool> last_may_end = false;
    const auto pool = executors::fixed_thread_pool(tasks);
    std::vector<future<int>> results;
    for (int i = 0; i < tasks; ++i)
        results.push_back(pool->submit([&, i] {
            ++running;
            while (!last_may_end) this_thread::interruption_point();
            return i;
        }));
    EXPECT_TRUE(eventually([&] { return running == tasks; }));
    for (int i = 1; i < tasks; ++i) EXPECT_TRUE(results[static_cast<std::size_t>(i)].cancel(true));
    for (int i = 1; i < tasks; ++i) {
        EXPECT_TRUE(results[static_cast<std::size_t>(i)].is_done());
        EXPECT_TRUE(results[static_cast<std::size_t>(i)].is_cancelled());
    }
    EXPECT_TRUE(eventually([&] { return pool->active_count() == 1; }));
    last_may_end = true;
    EXPECT_EQ(results[0].get_for(guard), 0);
}

TEST(future_cancel, stops_the_token_that_the_task_took) {
    running_task<bool> task([] {
        const std::stop_token stop = this_thread::stop_token();
        return eventually([&] { return stop.stop_requested(); });
    });
    EXPECT_TRUE(task->cancel(true));
    task.ends_interrupted();
}

TEST(future_cancel, stops_the_token_that_the_task_is_given_as_its_parameter) {
    gate started;
    std::atomic<bool> stopped = false;
    const auto pool = executors::fixed_thread_pool(1);
    future result = pool->submit(
        [&](std::stop_token stop, int) {
            started.open();
            stopped = eventually([&] { return stop.stop_requested(); });
        },
        1);
    EXPECT_TRUE(started.wait());
    EXPECT_TRUE(result.cancel(true));
    pool->close();
    EXPECT_TRUE(stopped);
}

TEST(future_cancel, without_interruption_leaves_the_token_alone) {
    gate may_return;
    bool stopped = true;
    running_task<void> task([&] {
        const std::stop_token stop = this_thread::stop_token();
        may_return.wait();
        stopped = stop.stop_requested();
    });
    EXPECT_TRUE(task->cancel(false));
    may_return.open();
    task.ends_interrupted();
    EXPECT_FALSE(stopped);
}

TEST(future_cancel, stops_a_token_that_is_asked_for_after_it) {
    gate may_ask;
    bool stopped = false;
    running_task<void> task([&] {
        may_ask.wait();
        stopped = this_thread::stop_token().stop_requested();
    });
    EXPECT_TRUE(task->cancel(true));
    may_ask.open();
    task.ends_interrupted();
    EXPECT_TRUE(stopped);
}

TEST(future_cancel, runs_stop_callbacks_on_the_cancelling_thread_when_the_task_is_cancelled) {
    gate registered;
    std::thread::id where;
    bool was_cancelled = false;
    future_task<void>* running = nullptr;
    running_task<void> task([&] {
        std::stop_callback on_stop(this_thread::stop_token(), [&] {
            where = std::this_thread::get_id();
            was_cancelled = running->is_cancelled();
        });
        registered.open();
        EXPECT_TRUE(eventually([] { return this_thread::is_interrupted(); }));
    });
    running = task.operator->();
    EXPECT_TRUE(registered.wait());
    EXPECT_TRUE(task->cancel(true));
    EXPECT_EQ(where, std::this_thread::get_id());
    EXPECT_TRUE(was_cancelled);
    task.ends_interrupted();
}

TEST(future_cancel, holds_no_lock_of_ours_while_a_stop_callback_uses_the_same_future) {
    gate registered;
    shared_future<void> result;
    bool cancelled_again = true;
    std::atomic<bool> attached = false;
    running_task<void> task([&] {
        std::stop_callback on_stop(this_thread::stop_token(), [&] {
            result.wait();
            result.is_done();
            cancelled_again = result.cancel(true);
            // Another thread gets through as well.
            cadre::thread([&] { attached = !result.cancel(false); }).join();
        });
        registered.open();
        EXPECT_TRUE(eventually([] { return this_thread::is_interrupted(); }));
    });
    EXPECT_TRUE(registered.wait());
    result = task->get_future().share();
    EXPECT_TRUE(task->cancel(true));
    EXPECT_FALSE(cancelled_again);
    EXPECT_TRUE(attached);
    task.ends_interrupted();
}

TEST(future_cancel, holds_no_lock_of_ours_while_a_stop_callback_waits_for_the_task) {
    gate registered;
    gate told;
    gate asked;
    bool in_time = false;
    running_task<void> task([&] {
        std::stop_callback on_stop(this_thread::stop_token(), [&] {
            told.open();
            in_time = asked.wait();
        });
        registered.open();
        EXPECT_TRUE(told.wait());
        EXPECT_TRUE(this_thread::stop_token().stop_requested());
        asked.open();
        EXPECT_TRUE(eventually([] { return this_thread::is_interrupted(); }));
    });
    EXPECT_TRUE(registered.wait());
    EXPECT_TRUE(task->cancel(true));
    EXPECT_TRUE(in_time);
    task.ends_interrupted();
}

TEST(future_cancel, has_stopped_the_token_when_the_interrupt_arrives) {
    for (int round = 0; round < 200; ++round) {
        gate has_token;
        std::atomic<bool> stopped = false;
        running_task<void> task([&] {
            const std::stop_token stop = this_thread::stop_token();
            has_token.open();
            try {
                sleep_until_interrupted();
            } catch (const interrupted&) {
                stopped = stop.stop_requested();
            }
        });
        EXPECT_TRUE(has_token.wait());
        EXPECT_TRUE(task->cancel(true));
        task.ends_interrupted();
        EXPECT_TRUE(stopped);
    }
}

TEST(future_cancel, wakes_those_who_wait_before_it_runs_stop_callbacks) {
    gate registered;
    gate waiter_is_through;
    running_task<void> task([&] {
        std::stop_callback on_stop(this_thread::stop_token(),
                                   [&] { EXPECT_TRUE(waiter_is_through.wait()); });
        registered.open();
        EXPECT_TRUE(eventually([] { return this_thread::is_interrupted(); }));
    });
    EXPECT_TRUE(registered.wait());
    const shared_future result = task->get_future().share();
    waiting_call waits([&] {
        result.wait();
        waiter_is_through.open();
    });
    EXPECT_TRUE(task->cancel(true));
    EXPECT_TRUE(waits.returned());
    task.ends_interrupted();
}

TEST(future_cancel, leaves_the_next_task_of_the_worker_uninterrupted) {
    const auto pool = executors::fixed_thread_pool(1);
    for (int round = 0; round < 300; ++round) {
        gate started;
        future first = pool->submit([&] {
            started.open();
            EXPECT_TRUE(eventually(
                [] { return this_thread::is_interrupted(); }));  // and leaves the flag set
        });
        future second = pool->submit([] {
            return !this_thread::is_interrupted() && !this_thread::stop_token().stop_requested();
        });
        EXPECT_TRUE(started.wait());
        EXPECT_TRUE(first.cancel(true));
        EXPECT_TRUE(second.get_for(guard)) << "round " << round;
    }
}

TEST(future_cancel, of_a_task_that_interrupted_itself_leaves_the_next_one_clear) {
    const auto pool = executors::fixed_thread_pool(1);
    future first = pool->submit([] { thread_handle::current().interrupt(); });
    future second = pool->submit([] { return this_thread::is_interrupted(); });
    EXPECT_FALSE(second.get_for(guard));
}

TEST(future_cancel, during_run_and_reset_ends_the_repetition) {
    gate started;
    bool reset = true;
    future_task task([&] {
        started.open();
        EXPECT_TRUE(eventually([] { return this_thread::is_interrupted(); }));
    });
    cadre::thread runner([&] { reset = task.run_and_reset(); });
    EXPECT_TRUE(started.wait());
    EXPECT_TRUE(task.cancel(true));
    runner.join();
    EXPECT_FALSE(reset);
    EXPECT_TRUE(task.is_cancelled());
}

TEST(future_cancel, through_a_shared_future_reaches_all_copies) {
    future_task task([] { return 1; });
    shared_future one = task.get_future().share();
    const shared_future other = one;
    EXPECT_TRUE(one.cancel());
    EXPECT_TRUE(other.is_cancelled());
    EXPECT_THROW(other.get(), cancellation);
    EXPECT_FALSE(one.cancel());
}

TEST(future_cancel, by_the_task_itself_is_possible) {
    future_task<int>* self = nullptr;
    bool cancelled = false;
    bool interrupted_there = false;
    future_task task([&] {
        cancelled = self->cancel(true);
        interrupted_there = this_thread::is_interrupted();
        return 1;
    });
    self = &task;
    task();
    EXPECT_TRUE(cancelled);
    EXPECT_TRUE(interrupted_there);
    EXPECT_FALSE(this_thread::interrupted()) << "the interrupt outlived its task";
    EXPECT_THROW(task.get_future().get(), cancellation);
}

TEST(future_cancel, leaves_an_interrupt_that_was_there_before_the_task) {
    future_task<void>* self = nullptr;
    future_task task([&] { self->cancel(true); });
    self = &task;
    thread_handle::current().interrupt();
    task();
    EXPECT_TRUE(task.is_cancelled());
    EXPECT_TRUE(this_thread::interrupted());
}

// The interrupt comes for a task that has been put aside for the one it waits for.
TEST(future_cancel, an_interrupt_reaches_a_task_that_was_running_another_in_its_place) {
    std::atomic<bool> callback_waits = false;
    std::atomic<bool> inner_runs = false;
    std::atomic<bool> callback_over = false;
    std::atomic<bool> felt = false;
    const auto pool = executors::fixed_thread_pool(1);
    auto outer = pool->submit([&](std::stop_token token) {
        auto inner = pool->submit([&] {
            inner_runs = true;
            while (!callback_over) std::this_thread::yield();
        });
        const std::stop_callback delays_the_interrupt(token, [&] {
            while (!inner_runs) std::this_thread::yield();
        });
        callback_waits = true;
        while (!token.stop_requested()) std::this_thread::yield();
        try {
            inner.get();
            felt = this_thread::is_interrupted();
        } catch (const interrupted&) {
            felt = true;
        }
    });
    while (!callback_waits) std::this_thread::yield();  // else it would run on the worker itself
    EXPECT_TRUE(outer.cancel(true));
    callback_over = true;
    pool->close();
    EXPECT_TRUE(felt);
}

}  // namespace
}  // namespace cadre::testing
