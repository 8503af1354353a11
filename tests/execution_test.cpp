// SPDX-License-Identifier: Apache-2.0
#include "support/p2300.hpp"  // what the header below is for

#define CADRE_EXECUTION_NAMESPACE p2300
#include <cadre/execution.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include <cadre/scheduled_thread_pool_executor.hpp>
#include <cadre/testing.hpp>
#include <cadre/thread_pool_executor.hpp>

#include "support/allocations.hpp"
#include "support/held_task.hpp"
#include "support/manual_executor.hpp"
#include "support/p2300_algorithms.hpp"
#include "support/pools.hpp"

namespace cadre {
namespace {

using namespace std::chrono_literals;
using namespace cadre::testing;
namespace ex = p2300;

static_assert(ex::scheduler<executor_scheduler> && ex::scheduler<timed_scheduler>);
static_assert(ex::sender<decltype(ex::schedule(std::declval<executor_scheduler>()))>);
static_assert(ex::sender<decltype(std::declval<timed_scheduler>().schedule_after(1s))>);
static_assert(ex::sender<decltype(as_sender(std::declval<future<int>>()))>);
static_assert(std::is_same_v<
              ex::completion_signatures_of_t<decltype(as_sender(std::declval<future<int>>()))>,
              ex::completion_signatures<ex::set_value_t(int), ex::set_error_t(std::exception_ptr),
                                        ex::set_stopped_t()>>);

/// How an operation ended, and how often.
struct noted_end {
    int values = 0, errors = 0, stops = 0;
    std::stop_source stop = {};
    friend bool operator==(const noted_end& a, const noted_end& b) {
        return a.values == b.values && a.errors == b.errors && a.stops == b.stops;
    }
};
const noted_end a_value{.values = 1}, a_stop{.stops = 1};

struct noting_receiver {
    using receiver_concept = ex::receiver_tag;
    noted_end* to;
    void set_value(auto&&...) noexcept { ++to->values; }
    void set_error(const std::exception_ptr&) noexcept { ++to->errors; }
    void set_stopped() noexcept { ++to->stops; }

    ex::stoppable_env get_env() const noexcept { return {{to->stop.get_token()}}; }
};

TEST(execution, runs_on_the_pool) {
    thread_pool_executor pool({.core_pool_size = 1});
    auto where =
        ex::then(ex::schedule(as_scheduler(pool)), [] { return std::this_thread::get_id(); });
    const auto ran_in = std::get<0>(ex::sync_wait(std::move(where)).value());
    EXPECT_EQ(ran_in, pool.submit([] { return std::this_thread::get_id(); }).get());
}

TEST(execution, serves_algorithms) {
    thread_pool_executor pool({.core_pool_size = 2});
    const auto on = as_scheduler(pool);
    auto left = ex::then(ex::schedule(on), [] { return 6; });
    auto right = ex::let_value(ex::just(std::string("seven")), [&](const std::string& word) {
        return ex::then(ex::schedule(on), [&] { return word.size() + 2; });
    });
    auto both = ex::when_all(std::move(left), std::move(right));
    auto product = ex::then(std::move(both), [](int a, std::size_t b) { return a * int(b); });
    EXPECT_EQ(ex::sync_wait(std::move(product)), std::tuple(42));
}

TEST(execution, hands_on_what_a_function_throws) {
    thread_pool_executor pool({.core_pool_size = 1});
    auto fails =
        ex::then(ex::schedule(as_scheduler(pool)), []() -> int { throw std::out_of_range("far"); });
    EXPECT_THROW(ex::sync_wait(std::move(fails)), std::out_of_range);
}

TEST(execution, tells_where_a_sender_completes_and_how_it_progresses) {
    thread_pool_executor pool({.core_pool_size = 1}), other({.core_pool_size = 1});
    const auto on = as_scheduler(pool);
    const auto env = ex::get_env(ex::schedule(on));
    EXPECT_EQ(ex::get_completion_scheduler_t<ex::set_value_t>{}(env), on);
    EXPECT_NE(as_scheduler(other), on);
    EXPECT_EQ(on.query(ex::get_forward_progress_guarantee_t{}),
              ex::forward_progress_guarantee::parallel);
}

TEST(execution, sends_the_refusal_of_an_executor_as_an_error) {
    refusing_executor refuses;
    EXPECT_THROW(ex::sync_wait(ex::schedule(as_scheduler(refuses))), rejected_execution);
    thread_pool_executor pool({.core_pool_size = 1});
    pool.shutdown();
    EXPECT_THROW(ex::sync_wait(ex::schedule(as_scheduler(pool))), rejected_execution);
}

TEST(execution, sends_the_failure_to_keep_an_executor_as_an_error) {
    struct unkept_executor : inline_executor {
        std::shared_ptr<const void> kept() const override { throw std::bad_alloc(); }
    } unkept;
    noted_end seen;
    auto operation = ex::connect(ex::schedule(as_scheduler(unkept)), noting_receiver{&seen});
    ex::start(operation);
    EXPECT_EQ(seen, noted_end{.errors = 1});
}

TEST(execution, stops_what_a_policy_discards_at_once) {
    thread_pool_executor pool({.core_pool_size = 1, .rejection = discard_policy{}});
    pool.shutdown();
    EXPECT_EQ(ex::sync_wait(ex::schedule(as_scheduler(pool))), std::nullopt);
}

TEST(execution, stops_what_is_dropped_later) {
    manual_executor later;
    noted_end seen;
    auto operation = ex::connect(ex::schedule(as_scheduler(later)), noting_receiver{&seen});
    ex::start(operation);
    EXPECT_EQ(seen, noted_end{});
    later.drop_all();
    EXPECT_EQ(seen, a_stop);
}

TEST(execution, stops_what_a_pool_drops_when_it_stops) {
    thread_pool_executor pool({.core_pool_size = 1});
    noted_end seen;
    held_task busy(pool);
    auto operation = ex::connect(ex::schedule(as_scheduler(pool)), noting_receiver{&seen});
    ex::start(operation);
    EXPECT_EQ(pool.shutdown_now().size(), 1U);
    EXPECT_EQ(seen, a_stop);
}

TEST(execution, may_run_and_start_anew_within_start) {
    inline_executor here;
    const auto on = as_scheduler(here);
    auto nested = ex::let_value(ex::schedule(on),
                                [&] { return ex::then(ex::schedule(on), [] { return 1; }); });
    EXPECT_EQ(ex::sync_wait(std::move(nested)), std::tuple(1));
}

TEST(execution, tells_who_was_dropped_from_who_is_being_started) {
    // While one operation is started, another of the same thread is dropped.
    struct replacing_executor : executor {
        task last;
        void execute(task t) override { last = std::move(t); }
    } newest_only;
    noted_end first, second;
    auto a = ex::connect(ex::schedule(as_scheduler(newest_only)), noting_receiver{&first});
    auto b = ex::connect(ex::schedule(as_scheduler(newest_only)), noting_receiver{&second});
    ex::start(a);
    ex::start(b);
    EXPECT_EQ(first, a_stop);
    EXPECT_EQ(second, noted_end{});
    newest_only.last();
    EXPECT_EQ(second, a_value);
}

TEST(execution, tells_threads_apart_that_had_the_same_stack) {
    thread_pool_executor pool(
        {.core_pool_size = 1, .queue = room_for(1), .rejection = discard_oldest_policy{}});
    noted_end first, second;
    auto a = ex::connect(ex::schedule(as_scheduler(pool)), noting_receiver{&first});
    auto b = ex::connect(ex::schedule(as_scheduler(pool)), noting_receiver{&second});
    {
        const held_task busy(pool);
        std::thread([&] { ex::start(a); }).join();
        std::thread([&] { ex::start(b); }).join();  // discards the other
    }
    pool.close();
    EXPECT_EQ(first, a_stop);
    EXPECT_EQ(second, a_value);
}

TEST(execution, does_not_start_what_is_stopped) {
    manual_executor later;
    noted_end seen;
    seen.stop.request_stop();
    auto operation = ex::connect(ex::schedule(as_scheduler(later)), noting_receiver{&seen});
    ex::start(operation);
    EXPECT_EQ(later.waiting(), 0U);
    EXPECT_EQ(seen, a_stop);
}

TEST(execution, sees_a_stop_request_when_its_turn_comes) {
    manual_executor later;
    noted_end seen;
    auto operation = ex::connect(ex::schedule(as_scheduler(later)), noting_receiver{&seen});
    ex::start(operation);
    seen.stop.request_stop();
    later.run_all();
    EXPECT_EQ(seen, a_stop);
}

TEST(execution, allocates_nothing_of_its_own) {
    inline_executor here;
    noted_end seen;
    auto operation = ex::connect(ex::schedule(as_scheduler(here)), noting_receiver{&seen});
    const auto before = allocations_here();
    ex::start(operation);
    EXPECT_EQ(allocations_here(), before);
    EXPECT_EQ(seen, a_value);
}

class timed_execution : public ::testing::Test {
protected:
    manual_clock clock_;
    scheduled_thread_pool_executor timers_{{.core_pool_size = 1, .clock = &clock_}};
    noted_end seen_;
};

TEST_F(timed_execution, completes_after_the_delay) {
    auto operation = ex::connect(as_scheduler(timers_).schedule_after(1h), noting_receiver{&seen_});
    clock_.advance(1h);
    ex::start(operation);  // from here it counts
    clock_.advance(59min);
    EXPECT_EQ(seen_, noted_end{});
    clock_.advance(1min);
    EXPECT_EQ(seen_, a_value);
}

TEST_F(timed_execution, completes_at_a_time_of_either_clock) {
    const auto on = as_scheduler(timers_);
    auto steady = ex::connect(on.schedule_at(on.now() + 1h), noting_receiver{&seen_});
    auto wall = ex::connect(on.schedule_at(clock_.wall_now() + 2h), noting_receiver{&seen_});
    ex::start(steady);
    ex::start(wall);
    clock_.advance(1h);
    EXPECT_EQ(seen_, a_value);
    clock_.advance(1h);
    EXPECT_EQ(seen_, noted_end{.values = 2});
}

TEST_F(timed_execution, schedules_at_once) {
    EXPECT_TRUE(ex::sync_wait(ex::schedule(as_scheduler(timers_))).has_value());
}

TEST_F(timed_execution, ends_a_wait_when_a_stop_is_requested) {
    auto operation = ex::connect(as_scheduler(timers_).schedule_after(1h), noting_receiver{&seen_});
    ex::start(operation);
    seen_.stop.request_stop();
    EXPECT_EQ(seen_, a_stop);
    clock_.advance(2h);
    EXPECT_EQ(seen_, a_stop);
}

TEST_F(timed_execution, leaves_no_timer_behind_when_there_is_no_memory_to_wait_for_it) {
    timers_.set_remove_on_cancel_policy(true);
    int failures = 0;
    for (int succeeding = 0; seen_.errors == failures; ++succeeding) {
        auto operation =
            ex::connect(as_scheduler(timers_).schedule_after(1h), noting_receiver{&seen_});
        const failing_allocation_scope memory(succeeding);
        ex::start(operation);
        if (!failing_allocation_scope::fired()) {
            seen_.stop.request_stop();
            break;
        }
        ++failures;
        EXPECT_EQ(timers_.queue().size(), 0U) << succeeding;
    }
    EXPECT_EQ(seen_, (noted_end{.errors = failures, .stops = 1}));
    EXPECT_GT(failures, 1);
}

TEST_F(timed_execution, stops_the_waits_of_a_scheduler_that_stops_and_refuses_new_ones) {
    auto operation = ex::connect(as_scheduler(timers_).schedule_after(1h), noting_receiver{&seen_});
    ex::start(operation);
    timers_.shutdown_now().clear();
    EXPECT_EQ(seen_, a_stop);
    EXPECT_THROW(ex::sync_wait(as_scheduler(timers_).schedule_after(1h)), rejected_execution);
}

TEST(execution_of_futures, sends_the_value) {
    thread_pool_executor pool({.core_pool_size = 1});
    auto text = as_sender(pool.submit([] { return std::make_unique<int>(42); }));
    auto number = ex::then(std::move(text), [](std::unique_ptr<int> p) { return *p; });
    EXPECT_EQ(ex::sync_wait(std::move(number)), std::tuple(42));
    EXPECT_TRUE(ex::sync_wait(as_sender(pool.submit([] {}))).has_value());
}

TEST(execution_of_futures, sends_errors_and_cancellation) {
    future_task<int> fails([]() -> int { throw std::out_of_range("far"); });
    auto failed = as_sender(fails.get_future());
    fails();
    EXPECT_THROW(ex::sync_wait(std::move(failed)), std::out_of_range);
    future_task<int> cancels([] { return 1; });
    auto cancelled = as_sender(cancels.get_future());
    cancels.cancel();
    EXPECT_EQ(ex::sync_wait(std::move(cancelled)), std::nullopt);
}

TEST(execution_of_futures, shares_a_value_with_many) {
    future_task<std::string> task([] { return std::string("one for all"); });
    shared_future<std::string> shared = task.get_future().share();
    const auto sender = as_sender(shared);
    task();
    EXPECT_EQ(std::get<0>(ex::sync_wait(sender).value()), "one for all");
    EXPECT_EQ(std::get<0>(ex::sync_wait(sender).value()), "one for all");
    EXPECT_EQ(shared.get(), "one for all");
}

TEST(execution_of_futures, cancels_the_task_when_a_stop_is_requested) {
    gate started;
    thread_pool_executor pool({.core_pool_size = 1});
    noted_end seen;
    auto endless = pool.submit([&](std::stop_token stop) {
        started.open();
        while (!stop.stop_requested()) std::this_thread::yield();
    });
    auto operation = ex::connect(as_sender(std::move(endless)), noting_receiver{&seen});
    ex::start(operation);
    started.wait();
    seen.stop.request_stop();
    EXPECT_EQ(seen, a_stop);
}

// EX-18: a stop callback that throws would end the process.
TEST(execution_of_futures, tells_of_a_hook_that_throws_when_a_stop_cancels_its_task) {
    noted_end seen;
    future_task<int> task([] { return 1; }, [](future_state) { throw 42; });
    auto operation = ex::connect(as_sender(task.get_future()), noting_receiver{&seen});
    ex::start(operation);
    ::testing::internal::CaptureStderr();
    seen.stop.request_stop();
    EXPECT_NE(::testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(seen, a_stop);
}

TEST(execution_of_futures, refuses_one_that_has_no_value_to_come) {
    EXPECT_THROW(as_sender(future<int>()), illegal_state);
}

TEST(futures_of_senders, have_the_value) {
    thread_pool_executor pool({.core_pool_size = 1});
    const auto on = as_scheduler(pool);
    auto number = to_future(ex::then(ex::schedule(on), [] { return 42; }));
    static_assert(std::is_same_v<decltype(number), future<int>>);
    EXPECT_EQ(number.get(), 42);
    to_future(ex::schedule(on)).get();
    EXPECT_EQ(to_future(ex::just(1, std::string("two"))).get(), std::tuple(1, std::string("two")));
}

TEST(futures_of_senders, have_the_error_or_are_cancelled) {
    refusing_executor refuses;
    EXPECT_THROW(to_future(ex::schedule(as_scheduler(refuses))).get(), rejected_execution);
    manual_executor later;
    auto dropped = to_future(ex::schedule(as_scheduler(later)));
    EXPECT_FALSE(dropped.is_done());
    later.drop_all();
    EXPECT_TRUE(dropped.is_cancelled());
}

TEST(futures_of_senders, request_a_stop_when_they_are_cancelled) {
    manual_clock clock;
    scheduled_thread_pool_executor timers(
        {.core_pool_size = 1, .remove_on_cancel = true, .clock = &clock});
    auto wait = to_future(as_scheduler(timers).schedule_after(1h));
    EXPECT_EQ(timers.queue().size(), 1U);
    EXPECT_TRUE(wait.cancel());
    EXPECT_EQ(timers.queue().size(), 0U);
}

TEST(futures_of_senders, complete_when_the_operation_is_gone) {
    const auto held = std::make_shared<int>(1);
    auto result = to_future(ex::then(ex::just(), [held] { return 2; }));
    EXPECT_EQ(result.get(), 2);
    EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace cadre
