// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "support/counted.hpp"
#include "support/eventually.hpp"
#include "support/waiting_call.hpp"
#include <cadre/executors.hpp>
#include <cadre/future.hpp>

namespace cadre::testing {
namespace {

/// What the hook on_done has seen.
struct done_record {
    std::vector<future_state> states;
    auto hook() {
        return [this](future_state state) { states.push_back(state); };
    }
};

const auto fails = []() -> int { throw std::out_of_range("no such page"); };

// FUT-001
TEST(future_task, refuses_an_empty_callable) {
    EXPECT_THROW(future_task<int>(std::function<int()>()), std::invalid_argument);
    EXPECT_THROW(future_task<int>(static_cast<int (*)()>(nullptr)), std::invalid_argument);
    EXPECT_THROW(future_task<void>(std::function<void()>(), [](future_state) {}),
                 std::invalid_argument);
}

// FUT-002
TEST(future_task, refuses_an_empty_runnable_with_a_result) {
    EXPECT_THROW(future_task(executors::callable(std::function<void()>(), 1)),
                 std::invalid_argument);
}

// FUT-003
TEST(future_task, is_done_once_it_has_run_its_callable_once) {
    int calls = 0;
    future_task task([&] { return ++calls; });
    EXPECT_FALSE(task.is_done());
    EXPECT_EQ(task.state(), future_state::pending);
    task();
    EXPECT_TRUE(task.is_done());
    EXPECT_FALSE(task.is_cancelled());
    EXPECT_EQ(task.state(), future_state::success);
    EXPECT_EQ(calls, 1);
}

// FUT-004
TEST(future_task, changes_no_more_once_it_is_done) {
    int calls = 0;
    future_task task([&] { return ++calls; });
    const shared_future result = task.get_future().share();
    task();
    EXPECT_FALSE(task.cancel(true));
    EXPECT_FALSE(task.cancel(false));
    task();
    EXPECT_FALSE(task.run_and_reset());
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(task.is_cancelled());
    EXPECT_EQ(result.get(), 1);
}

// FUT-005
TEST(future_task, runs_and_resets_as_often_as_it_is_asked) {
    int calls = 0;
    done_record done;
    future_task task([&] { return ++calls; }, done.hook());
    for (int i = 1; i <= 3; ++i) {
        EXPECT_TRUE(task.run_and_reset());
        EXPECT_EQ(calls, i);
        EXPECT_FALSE(task.is_done());
        EXPECT_EQ(task.state(), future_state::pending);
    }
    EXPECT_TRUE(done.states.empty());
}

TEST(future_task, has_a_stop_token_of_its_own_for_each_run) {
    std::vector<std::stop_token> tokens;
    future_task<void> task([&](std::stop_token token) { tokens.push_back(std::move(token)); });
    EXPECT_TRUE(task.run_and_reset());
    EXPECT_TRUE(task.run_and_reset());
    task();
    ASSERT_EQ(tokens.size(), 3u);
    EXPECT_NE(tokens[0], tokens[1]);
    EXPECT_NE(tokens[1], tokens[2]);
}

TEST(future_task, completes_though_it_is_destroyed_by_its_own_run) {
    std::unique_ptr<future_task<int>> task;
    task = std::make_unique<future_task<int>>([&] {
        task.reset();
        return 42;
    });
    auto result = task->get_future();
    (*task)();
    EXPECT_EQ(result.get(), 42);
}

// FUT-006
TEST(future_task, completes_by_a_run_after_it_was_run_and_reset) {
    int calls = 0;
    future_task task([&] { return ++calls; });
    future result = task.get_future();
    EXPECT_TRUE(task.run_and_reset());
    task();
    EXPECT_EQ(result.get(), 2);
}

// FUT-007
TEST(future_task, never_runs_and_resets_after_cancel) {
    for (const bool may_interrupt : {false, true}) {
        int calls = 0;
        future_task task([&] { ++calls; });
        EXPECT_TRUE(task.cancel(may_interrupt));
        for (int i = 0; i < 3; ++i) EXPECT_FALSE(task.run_and_reset());
        EXPECT_EQ(calls, 0);
    }
}

// FUT-008
TEST(future_task, fails_with_what_the_callable_throws_while_it_is_run_and_reset) {
    future_task task(fails);
    const shared_future result = task.get_future().share();
    EXPECT_FALSE(task.run_and_reset());
    EXPECT_EQ(task.state(), future_state::failed);
    EXPECT_THROW(result.get(), std::out_of_range);
    EXPECT_FALSE(task.run_and_reset());
}

// FUT-009
TEST(future_task, completed_by_set_has_that_value_and_never_runs) {
    int calls = 0;
    future_task task([&] { return ++calls; });
    const shared_future result = task.get_future().share();
    EXPECT_TRUE(task.set(42));
    task();
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(result.get(), 42);
        EXPECT_EQ(result.get_for(0ns), 42);
    }
    EXPECT_EQ(calls, 0);
}

// FUT-010
TEST(future_task, completed_by_set_exception_rethrows_that_very_one_each_time) {
    future_task task([] { return 1; });
    const shared_future result = task.get_future().share();
    const auto error = std::make_exception_ptr(std::out_of_range("no such page"));
    EXPECT_TRUE(task.set_exception(error));
    const std::exception* seen[2] = {};
    for (auto& each : seen) try {
            result.get();
        } catch (const std::exception& e) {
            each = &e;
        }
    EXPECT_NE(seen[0], nullptr);
    EXPECT_EQ(seen[0], seen[1]);
    EXPECT_EQ(result.exception(), error);
    EXPECT_THROW(result.get_for(0ns), std::out_of_range);
}

TEST(future_task, refuses_a_null_exception_and_stays_as_it_was) {
    future_task task([] { return 1; });
    EXPECT_THROW(task.set_exception(nullptr), std::invalid_argument);
    EXPECT_EQ(task.state(), future_state::pending);
}

// FUT-011
TEST(future_task, keeps_the_first_completion_whatever_follows) {
    const auto error = std::make_exception_ptr(std::runtime_error("late"));
    const std::function<bool(future_task<int>&)> ways[] = {
        [](auto& t) { return t.set(1); },
        [&](auto& t) { return t.set_exception(error); },
        [](auto& t) { return t.cancel(false); },
        [](auto& t) { return t.cancel(true); },
    };
    for (const auto& first : ways)
        for (const auto& second : ways) {
            future_task task([] { return 0; });
            EXPECT_TRUE(first(task));
            const auto state = task.state();
            EXPECT_FALSE(second(task));
            task();
            EXPECT_EQ(task.state(), state);
        }
}

// FUT-017
TEST(future_task, gives_its_value_to_all_who_wait_when_it_is_run) {
    future_task task([] { return 42; });
    const shared_future result = task.get_future().share();
    int got = 0;
    int got_in_time = 0;
    waiting_call get([&, mine = result] { got = mine.get(); });
    waiting_call timed_get([&, mine = result] { got_in_time = mine.get_for(1h); });
    cadre::thread([&] { task(); }).join();
    EXPECT_TRUE(get.returned());
    EXPECT_TRUE(timed_get.returned());
    EXPECT_EQ(got, 42);
    EXPECT_EQ(got_in_time, 42);
}

// FUT-018
TEST(future_task, gives_its_value_to_all_who_wait_when_it_is_set) {
    future_task task([] { return 0; });
    const shared_future result = task.get_future().share();
    int got = 0;
    int got_in_time = 0;
    waiting_call get([&, mine = result] { got = mine.get(); });
    waiting_call timed_get([&, mine = result] { got_in_time = mine.get_for(1h); });
    cadre::thread([&] { task.set(42); }).join();
    EXPECT_TRUE(get.returned());
    EXPECT_TRUE(timed_get.returned());
    EXPECT_EQ(got, 42);
    EXPECT_EQ(got_in_time, 42);
}

// FUT-020
TEST(future_task, that_failed_is_done_and_rethrows_the_same_exception_each_time) {
    future_task task(fails);
    future result = task.get_future();
    task();
    EXPECT_TRUE(task.is_done());
    EXPECT_FALSE(task.is_cancelled());
    for (int i = 0; i < 3; ++i) EXPECT_THROW(result.get(), std::out_of_range);
    EXPECT_THROW(std::rethrow_exception(result.exception()), std::out_of_range);
}

// FUT-021
TEST(future_task, that_failed_rethrows_promptly_from_a_timed_get) {
    future_task task(fails);
    future result = task.get_future();
    task();
    const auto waited = time_of([&] {
        for (int i = 0; i < 3; ++i) EXPECT_THROW(result.get_for(long_delay), std::out_of_range);
    });
    EXPECT_LT(waited, long_delay);
}

// FUT-022
TEST(future_task, stays_undone_when_a_get_is_interrupted) {
    future_task task([] { return 1; });
    const shared_future result = task.get_future().share();
    expect_interruptible([&] { result.get(); });
    EXPECT_FALSE(task.is_done());
    EXPECT_EQ(task.state(), future_state::pending);
}

// FUT-023
TEST(future_task, interrupts_a_long_timed_get_promptly) {
    future_task task([] { return 1; });
    const shared_future result = task.get_future().share();
    const auto waited = time_of([&] {
        expect_interruptible([&] { result.get_for(long_delay); });
        expect_interruptible(
            [&] { result.get_until(std::chrono::steady_clock::now() + long_delay); });
    });
    EXPECT_LT(waited, long_delay);
    EXPECT_FALSE(task.is_done());
}

// FUT-024
TEST(future_task, times_out_a_get_not_early) {
    future_task task([] { return 1; });
    future result = task.get_future();
    const auto waited = time_of([&] { EXPECT_THROW(result.get_for(short_delay), timeout); });
    EXPECT_GE(waited, short_delay);
    EXPECT_TRUE(result.valid());
}

// FUT-025
TEST(future_task, answers_a_get_without_patience_as_it_stands) {
    future_task unrun([] { return 1; });
    EXPECT_THROW(unrun.get_future().get_for(0ns), timeout);
    future_task cancelled([] { return 1; });
    cancelled.cancel();
    EXPECT_THROW(cancelled.get_future().get_for(0ns), cancellation);
    future_task failed(fails);
    failed();
    EXPECT_THROW(failed.get_future().get_for(0ns), std::out_of_range);
}

// FUT-026
TEST(future_task, tells_its_hook_once_however_it_completes) {
    for (const bool throws : {false, true}) {
        done_record done;
        future_task task([&] { return throws ? fails() : 1; }, done.hook());
        task();
        task();
        EXPECT_FALSE(task.cancel(true));
        EXPECT_EQ(done.states, std::vector{throws ? future_state::failed : future_state::success});
    }
    for (const bool may_interrupt : {false, true}) {
        done_record done;
        future_task task([] { return 1; }, done.hook());
        EXPECT_TRUE(task.cancel(may_interrupt));
        EXPECT_FALSE(task.cancel(may_interrupt));
        task();
        EXPECT_EQ(done.states, std::vector{future_state::cancelled});
    }
}

// FUT-026
TEST(future_task, is_done_already_when_its_hook_runs) {
    bool was_done = false;
    int value = 0;
    shared_future<int> result;
    future_task task([] { return 42; },
                     [&](future_state) {
                         was_done = result.is_done();
                         value = result.get();
                     });
    result = task.get_future().share();
    task();
    EXPECT_TRUE(was_done);
    EXPECT_EQ(value, 42);
}

// FUT-027
TEST(future_task, passes_every_outcome_of_a_run_through_its_hook_once) {
    done_record of_value;
    future_task succeeds([] { return 1; }, of_value.hook());
    succeeds();
    EXPECT_EQ(of_value.states, std::vector{future_state::success});
    EXPECT_FALSE(succeeds.set(2));
    EXPECT_FALSE(succeeds.set_exception(std::make_exception_ptr(1)));
    EXPECT_EQ(of_value.states.size(), 1u);
    EXPECT_EQ(succeeds.get_future().get(), 1);

    done_record of_failure;
    future_task throws(fails, of_failure.hook());
    throws();
    EXPECT_EQ(of_failure.states, std::vector{future_state::failed});
    EXPECT_FALSE(throws.set(2));
    EXPECT_FALSE(throws.set_exception(std::make_exception_ptr(1)));
    EXPECT_EQ(of_failure.states.size(), 1u);
    EXPECT_THROW(throws.get_future().get(), std::out_of_range);
}

TEST(future_task, lets_the_hooks_exception_leave_the_call_that_completed_it) {
    const auto throwing_hook = [](future_state) { throw std::string("hook"); };
    future_task run([] { return 1; }, throwing_hook);
    EXPECT_THROW(run(), std::string);
    EXPECT_EQ(run.get_future().get(), 1);
    future_task cancelled([] { return 1; }, throwing_hook);
    EXPECT_THROW(cancelled.cancel(), std::string);
    EXPECT_TRUE(cancelled.is_cancelled());
    future_task set([] { return 1; }, throwing_hook);
    EXPECT_THROW(set.set(2), std::string);
    EXPECT_EQ(set.get_future().get(), 2);
}

TEST(future_task, wakes_those_who_wait_though_its_hook_throws) {
    future_task task([] { return 1; }, [](future_state) { throw 42; });
    const shared_future result = task.get_future().share();
    waiting_call get([&] { result.get(); });
    EXPECT_THROW(task(), int);
    EXPECT_TRUE(get.returned());
}

TEST(future_task, runs_continuations_though_its_hook_throws) {
    future_task task([] { return 1; }, [](future_state) { throw 42; });
    auto after = task.get_future().then([](int i) { return i + 1; });
    EXPECT_THROW(task(), int);
    EXPECT_EQ(after.get_for(guard), 2);
}

TEST(future_task, gives_out_its_future_once) {
    future_task task([] {});
    auto result = task.get_future();
    EXPECT_THROW(task.get_future(), illegal_state);
    future_task moved(std::move(task));
    EXPECT_THROW(moved.get_future(), illegal_state);
}

TEST(future_task, cancels_what_it_stood_for_when_another_is_moved_in) {
    future_task first = future_task<int>([] { return 1; });
    future result_of_first = first.get_future();
    first = future_task<int>([] { return 2; });
    EXPECT_TRUE(result_of_first.is_cancelled());
    first();
    EXPECT_EQ(first.get_future().get(), 2);
}

TEST(future_task, converts_what_its_callable_returns) {
    future_task<std::string> text([] { return "text"; });
    text();
    EXPECT_EQ(text.get_future().get(), "text");
    future_task<void> nothing([] { return 1; });
    nothing();
    EXPECT_NO_THROW(nothing.get_future().get());
}

TEST(future_task, may_have_a_const_result) {
    future_task<const std::unique_ptr<int>> made([] { return std::make_unique<int>(7); });
    auto result = made.get_future();
    made();
    EXPECT_EQ(*result.get(), 7);
}

TEST(future_task, is_a_task_that_keeps_its_name_and_priority) {
    future_task computes(named("sum", prioritized(7, [] { return 42; })));
    future result = computes.get_future();
    task erased(std::move(computes));
    EXPECT_EQ(erased.name(), "sum");
    EXPECT_EQ(erased.priority(), 7);
    erased();
    EXPECT_EQ(result.get(), 42);
}

TEST(future_task, fails_with_things_that_are_no_std_exception) {
    future_task number([]() -> int { throw 42; });
    number();
    EXPECT_THROW(number.get_future().get(), int);
    future_task pointer([]() -> int { throw "text"; });
    pointer();
    EXPECT_THROW(pointer.get_future().get(), const char*);
}

TEST(future_task, run_again_from_inside_itself_does_nothing) {
    int calls = 0;
    std::function<void()> run_again;
    future_task task([&] {
        ++calls;
        run_again();
    });
    bool reset = true;
    run_again = [&] {
        task();
        reset = task.run_and_reset();
    };
    task();
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(reset);
}

TEST(future_task, that_was_moved_away_is_an_empty_task) {
    future_task task([] { return 1; });
    const auto moved = std::move(task);
    EXPECT_TRUE(task == nullptr);
    EXPECT_EQ(task.task_name(), "");
    EXPECT_EQ(task.task_priority(), 0);
    const auto pool = executors::fixed_thread_pool(1);
    EXPECT_THROW(pool->execute(std::move(task)), std::invalid_argument);
}

TEST(future_task, that_was_moved_away_says_so) {
    future_task<int> task([] { return 1; });
    auto moved = std::move(task);
    EXPECT_THROW(task(), illegal_state);  // NOLINT(bugprone-use-after-move)
    EXPECT_THROW(task.cancel(), illegal_state);
    EXPECT_THROW((void)task.get_future(), illegal_state);
    moved();
    EXPECT_EQ(moved.get_future().get(), 1);
}

// Value and error have one place, which only the outcome tells what to make of.
TEST(future_task, destroys_its_outcome_once_whatever_that_is) {
    struct body {
        void* pointer;
        int operator()() const { return 1; }
    };
    static_assert(sizeof(detail::runnable_core<int, body>) <= 72, "then malloc takes 80 for it");

    struct refuses_to_be_moved {
        refuses_to_be_moved() = default;
        refuses_to_be_moved(refuses_to_be_moved&&) { throw std::out_of_range("stays here"); }
        counted<> inside;
    };
    const int alive = counted<>::alive;
    {
        future_task gives([] { return counted<>(7); });
        gives();
        auto result = gives.get_future();
        EXPECT_EQ(counted<>::alive, alive + 1);
        EXPECT_EQ(result.get().value, 7);
        future_task throws([]() -> counted<> { throw counted<>(8); });
        throws();
        EXPECT_EQ(counted<>::alive, alive + 2);
        EXPECT_THROW(throws.get_future().get(), counted<>);
        future_task fails_to_store([]() -> refuses_to_be_moved { return {}; });
        fails_to_store();
        EXPECT_EQ(fails_to_store.state(), future_state::failed);
        EXPECT_THROW(fails_to_store.get_future().get(), std::out_of_range);
        future_task is_cancelled([] { return counted<>(9); });
        is_cancelled.cancel();
        future_task is_set([] { return counted<>(10); });
        EXPECT_TRUE(is_set.set(counted<>(11)));
        EXPECT_EQ(is_set.get_future().get().value, 11);
        const future_task never_runs([] { return counted<>(12); });
    }
    EXPECT_EQ(counted<>::alive, alive);
}

TEST(future_task, refuses_an_empty_on_done) {
    using on_done = std::function<void(future_state)>;
    EXPECT_THROW(future_task<int>([] { return 1; }, on_done()), std::invalid_argument);
}

}  // namespace
}  // namespace cadre::testing
