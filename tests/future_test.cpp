// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <ratio>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/counted.hpp"
#include "support/done_future.hpp"
#include "support/eventually.hpp"
#include "support/manual_executor.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"
#include <cadre/executors.hpp>
#include <cadre/future.hpp>

namespace cadre::testing {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

static_assert(!std::is_copy_constructible_v<future<int>>);
static_assert(std::is_nothrow_move_constructible_v<future<int>>);
static_assert(std::is_copy_constructible_v<shared_future<int>>);

template <class T>
future<T> failed_future() {
    future_task<T> task([]() -> T { throw std::out_of_range("no such page"); });
    task();
    return task.get_future();
}

TEST(future, made_of_nothing_is_not_valid_and_refuses_everything) {
    future<int> none;
    EXPECT_FALSE(none.valid());
    EXPECT_THROW(none.get(), illegal_state);
    EXPECT_THROW(none.get_for(1ns), illegal_state);
    EXPECT_THROW(none.get_until(steady_clock::now()), illegal_state);
    EXPECT_THROW(none.wait(), illegal_state);
    EXPECT_THROW(none.wait_for(1ns), illegal_state);
    EXPECT_THROW(none.cancel(), illegal_state);
    EXPECT_THROW(none.is_done(), illegal_state);
    EXPECT_THROW(none.is_cancelled(), illegal_state);
    EXPECT_THROW(none.state(), illegal_state);
    EXPECT_THROW(none.exception(), illegal_state);
    EXPECT_THROW(std::move(none).then([](int) {}), illegal_state);
    EXPECT_FALSE(future<int>().share().valid());
    EXPECT_THROW(shared_future<int>().get(), illegal_state);
}

TEST(future, gives_its_value_once) {
    future answer = done_future([] { return 42; });
    EXPECT_TRUE(answer.valid());
    EXPECT_EQ(answer.get(), 42);
    EXPECT_FALSE(answer.valid());
    EXPECT_THROW(answer.get(), illegal_state);
    EXPECT_THROW(answer.get_for(1s), illegal_state);
}

TEST(future, moves_its_task_to_another) {
    future<int> from = done_future([] { return 42; });
    future<int> to;
    to = std::move(from);
    EXPECT_FALSE(from.valid());
    EXPECT_EQ(to.get(), 42);
}

TEST(future, destroyed_neither_waits_nor_cancels) {
    bool ran = false;
    future_task task([&] { ran = true; });
    { auto dropped = task.get_future(); }
    EXPECT_FALSE(task.is_done());
    task();
    EXPECT_TRUE(ran);
}

TEST(future, stays_valid_after_a_timeout_and_gives_the_value_later) {
    future_task task([] { return 42; });
    future answer = task.get_future();
    EXPECT_THROW(answer.get_for(1ms), timeout);
    EXPECT_THROW(answer.get_until(steady_clock::now() + 1ms), timeout);
    EXPECT_THROW(answer.get_until(system_clock::now() + 1ms), timeout);
    EXPECT_TRUE(answer.valid());
    task();
    EXPECT_EQ(answer.get_for(0ns), 42);
}

TEST(future, says_whether_it_was_done_in_time_and_not_early) {
    future_task task([] {});
    const future done = task.get_future();
    EXPECT_GE(time_of([&] { EXPECT_FALSE(done.wait_for(short_delay)); }), short_delay);
    const auto deadline = steady_clock::now() + short_delay;
    EXPECT_FALSE(done.wait_until(deadline));
    EXPECT_GE(steady_clock::now(), deadline);
    EXPECT_GE(time_of([&] { EXPECT_FALSE(done.wait_until(system_clock::now() + short_delay)); }),
              short_delay - 2ms);  // the clocks may move against each other
    task();
    EXPECT_TRUE(done.wait_for(0ns));
    EXPECT_TRUE(done.wait_until(steady_clock::time_point::min()));
    done.wait();
}

TEST(future, takes_the_shortest_and_the_negative_timeouts_for_no_patience_at_all) {
    future_task task([] { return 1; });
    future result = task.get_future();
    EXPECT_THROW(result.get_for(0ns), timeout);
    EXPECT_THROW(result.get_for(-1ns), timeout);
    EXPECT_THROW(result.get_for(nanoseconds::min()), timeout);
    EXPECT_THROW(result.get_for(hours::min()), timeout);
    EXPECT_THROW(result.get_for(-std::chrono::duration<double>::max()), timeout);
    EXPECT_THROW(result.get_until(steady_clock::time_point::min()), timeout);
    EXPECT_THROW(result.get_until(system_clock::time_point::min()), timeout);
    EXPECT_FALSE(result.wait_for(nanoseconds::min()));
    EXPECT_FALSE(result.wait_for(hours::min()));
    EXPECT_FALSE(result.wait_until(steady_clock::time_point::min()));
}

TEST(future, waits_through_the_longest_timeouts) {
    future_task task([] { return 1; });
    const shared_future result = task.get_future().share();
    using years = std::chrono::duration<std::int64_t, std::ratio<31556952>>;
    const std::function<void()> waits[] = {
        [&] { result.get_for(nanoseconds::max()); },
        [&] { result.get_for(hours::max()); },
        [&] { result.get_for(years::max()); },
        [&] { result.get_for(std::chrono::duration<double>::max()); },
        [&] { result.get_until(steady_clock::time_point::max()); },
        [&] { result.get_until(system_clock::time_point::max()); },
        [&] { result.wait_for(nanoseconds::max()); },
        [&] { result.wait_until(system_clock::time_point::max()); },
    };
    std::vector<std::unique_ptr<waiting_call>> calls;
    for (const auto& wait : waits) calls.push_back(std::make_unique<waiting_call>(wait));
    for (const auto& call : calls) EXPECT_FALSE(call->is_over());
    task();
    for (const auto& call : calls) EXPECT_TRUE(call->returned());
}

TEST(future, reports_interruption_rather_than_an_expired_timeout) {
    future_task task([] { return 1; });
    const shared_future result = task.get_future().share();
    waiting_call expired([&] {
        thread_handle::current().interrupt();
        result.get_for(-1ns);
    });
    EXPECT_TRUE(expired.was_interrupted());
}

TEST(future, that_is_done_never_times_out_nor_reports_interruption) {
    const shared_future result = done_future([] { return 42; }).share();
    bool flag_kept = false;
    waiting_call call([&] {
        thread_handle::current().interrupt();
        result.get();
        result.get_for(-1ns);
        result.get_until(steady_clock::time_point::min());
        result.wait();
        result.wait_for(0ns);
        flag_kept = this_thread::interrupted();
    });
    EXPECT_TRUE(call.returned());
    EXPECT_TRUE(flag_kept);
}

TEST(future, tells_how_far_its_task_has_come) {
    std::atomic<bool> may_end = false;
    future_task task([&] { return eventually([&] { return may_end.load(); }); });
    future result = task.get_future();
    EXPECT_EQ(result.state(), future_state::pending);
    cadre::thread runner([&] { task(); });
    EXPECT_TRUE(eventually([&] { return result.state() == future_state::running; }));
    EXPECT_FALSE(result.is_done());
    may_end = true;
    result.wait();
    EXPECT_EQ(result.state(), future_state::success);
    EXPECT_TRUE(result.is_done());
    runner.join();
}

TEST(future, has_an_exception_only_if_its_task_failed) {
    EXPECT_THROW(std::rethrow_exception(failed_future<int>().exception()), std::out_of_range);
    EXPECT_EQ(done_future([] { return 1; }).exception(), nullptr);
    future_task pending([] {});
    EXPECT_EQ(pending.get_future().exception(), nullptr);
    future_task cancelled([] {});
    cancelled.cancel();
    EXPECT_EQ(cancelled.get_future().exception(), nullptr);
}

TEST(future, rethrows_a_failure_as_often_as_it_is_asked) {
    future failed = failed_future<std::string>();
    for (int i = 0; i < 3; ++i) {
        EXPECT_THROW(failed.get(), std::out_of_range);
        EXPECT_TRUE(failed.valid());
    }
}

TEST(future, compares_equal_to_itself_only) {
    future<int> one = done_future([] { return 1; });
    future<int> other = done_future([] { return 1; });
    EXPECT_NE(one, other);
    const shared_future<int> shared = std::move(one).share();
    const shared_future<int> copy = shared;
    EXPECT_EQ(shared, copy);
}

TEST(future, of_void_can_be_asked_again) {
    future done = done_future([] {});
    static_assert(std::is_void_v<decltype(done.get())>);
    EXPECT_NO_THROW(done.get());
    EXPECT_NO_THROW(done.get());
    EXPECT_THROW(failed_future<void>().get(), std::out_of_range);
}

TEST(future, of_a_reference_gives_the_object_itself) {
    int target = 1;
    future result = done_future([&]() -> int& { return target; });
    static_assert(std::is_same_v<decltype(result), future<int&>>);
    EXPECT_EQ(&result.get(), &target);
    const shared_future shared = done_future([&]() -> int& { return target; }).share();
    shared.get() = 2;  // as with std::shared_future
    EXPECT_EQ(target, 2);
}

TEST(future, of_a_move_only_type_gives_it_away) {
    future result = done_future([] { return std::make_unique<int>(42); });
    const std::unique_ptr<int> value = result.get();
    EXPECT_EQ(*value, 42);
}

TEST(future, of_an_over_aligned_type_keeps_its_alignment) {
    using wide = counted<128>;
    const shared_future result = done_future([] { return wide(42); }).share();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&result.get()) % 128, 0u);
    EXPECT_EQ(result.get().value, 42);
}

TEST(future, of_what_returns_const_or_an_rvalue_reference_holds_a_plain_value) {
    const auto constant = []() -> const std::string { return "text"; };
    static_assert(std::is_same_v<decltype(done_future(constant)), future<std::string>>);
    std::string text = "text";
    future result = done_future([&]() -> std::string&& { return std::move(text); });
    static_assert(std::is_same_v<decltype(result), future<std::string>>);
    EXPECT_EQ(result.get(), "text");
}

TEST(shared_future, gives_every_copy_the_same_object_any_number_of_times) {
    const shared_future<std::string> one = done_future([] { return std::string("text"); });
    const shared_future other = one;
    static_assert(std::is_same_v<decltype(one.get()), const std::string&>);
    EXPECT_EQ(&one.get(), &other.get());
    EXPECT_EQ(&one.get_for(0ns), &other.get_until(steady_clock::now()));
    EXPECT_EQ(one.get(), "text");
    EXPECT_TRUE(one.valid());
}

TEST(shared_future, is_waited_for_by_very_many_at_once) {
    future_task task([] { return 42; });
    const shared_future result = task.get_future().share();
    std::atomic<int> sum = 0;
    std::vector<cadre::thread> waiters;
    for (int i = 0; i < 200; ++i)
        waiters.emplace_back([&, mine = result, timed = i % 2 == 0] {
            sum += timed ? mine.get_for(guard) : mine.get();
        });
    task();
    for (auto& waiter : waiters) waiter.join();
    EXPECT_EQ(sum, 200 * 42);
}

TEST(future, of_a_task_that_is_dropped_unrun_is_cancelled_and_wakes_those_who_wait) {
    auto task = std::make_unique<future_task<int>>([] { return 1; });
    const shared_future result = task->get_future().share();
    bool was_cancelled = false;
    waiting_call get([&] {
        try {
            result.get();
        } catch (const cancellation&) {
            was_cancelled = true;
        }
    });
    task.reset();
    EXPECT_TRUE(get.returned());
    EXPECT_TRUE(was_cancelled);
    EXPECT_EQ(result.state(), future_state::cancelled);
}

TEST(future, of_a_task_left_in_a_queue_that_is_destroyed_is_cancelled) {
    future_task computes([] { return 1; });
    future result = computes.get_future();
    {
        linked_blocking_queue<task> queue;
        queue.put(std::move(computes));
    }
    EXPECT_TRUE(result.is_cancelled());
    EXPECT_THROW(result.get(), cancellation);
}

TEST(future, can_be_used_when_its_pool_is_long_gone) {
    future<int> ran;
    future<int> dropped;
    {
        const auto pool = executors::fixed_thread_pool(1);
        ran = pool->submit([] { return 42; });
        ran.wait();
        std::atomic<bool> started = false;
        auto blocker = pool->submit([&] {
            started = true;
            sleep_until_interrupted();
        });
        EXPECT_TRUE(eventually([&] { return started.load(); }));
        dropped = pool->submit([] { return 1; });
        pool->shutdown_now();
    }
    EXPECT_EQ(ran.get(), 42);
    EXPECT_FALSE(dropped.cancel(true));
    EXPECT_THROW(dropped.get(), cancellation);
    EXPECT_THROW(std::move(dropped).then([](int x) { return x; }).get(), cancellation);
}

TEST(future, has_its_tasks_captures_destroyed_before_get_returns) {
    const auto pool = executors::fixed_thread_pool(1);
    for (int i = 0; i < 2000; ++i) {
        auto resource = std::make_shared<int>(i);
        const std::weak_ptr<int> watch = resource;
        future result = pool->submit([resource = std::move(resource)] { return *resource; });
        EXPECT_EQ(result.get(), i);
        EXPECT_TRUE(watch.expired()) << "round " << i;
    }
}

TEST(future, has_the_captures_of_a_failed_task_destroyed_before_get_returns) {
    const auto pool = executors::fixed_thread_pool(1);
    for (int i = 0; i < 500; ++i) {
        auto resource = std::make_shared<int>(i);
        const std::weak_ptr<int> watch = resource;
        future result = pool->submit([resource = std::move(resource)] { throw *resource; });
        EXPECT_THROW(result.get(), int);
        EXPECT_TRUE(watch.expired()) << "round " << i;
    }
}

TEST(future, cancelled_while_queued_has_the_captures_destroyed_at_once) {
    manual_executor queue;
    auto resource = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = resource;
    future_task computes([resource = std::move(resource)] { return *resource; });
    future result = computes.get_future();
    queue.execute(std::move(computes));
    EXPECT_TRUE(result.cancel());
    EXPECT_TRUE(watch.expired());
    EXPECT_EQ(queue.waiting(), 1u);
    queue.run_all();
}

template <class Result>
class every_result : public ::testing::Test {};
using results = ::testing::Types<counted<>, counted<128>>;
TYPED_TEST_SUITE(every_result, results);

TYPED_TEST(every_result, is_destroyed_as_often_as_it_is_made_however_the_task_ends) {
    using result = TypeParam;
    ASSERT_EQ(result::alive, 0);
    const auto make = [](bool throws) {
        return [throws, captured = result(7)] {
            if (throws) throw counted<>(8);  // which needs no alignment of its own
            return result(captured.value);
        };
    };
    {
        future taken = done_future(make(false));
        EXPECT_EQ(result::alive, 1);
        EXPECT_EQ(taken.get().value, 7);
        future never_taken = done_future(make(false));
        const shared_future shared = done_future(make(false)).share();
        EXPECT_EQ(shared.get().value, 7);
    }
    EXPECT_EQ(result::alive, 0) << "after success";
    EXPECT_THROW(done_future(make(true)).get(), counted<>);
    EXPECT_EQ(result::alive, 0) << "after failure";
    EXPECT_EQ(counted<>::alive, 0) << "after failure";
    {
        future_task task(make(false));
        task.cancel();
        EXPECT_EQ(result::alive, 0) << "after cancel";
        future_task set_instead(make(false));
        set_instead.set(result(9));
        EXPECT_EQ(result::alive, 1) << "after set";
    }
    {
        future_task task(make(false));
        EXPECT_TRUE(task.run_and_reset());
        EXPECT_EQ(result::alive, 1) << "the capture";
    }
    EXPECT_EQ(result::alive, 0) << "after abandonment";
}

/// Can be made, but moved only so often.
struct hard_to_move {
    explicit hard_to_move(int moves) : moves_left(moves) {}
    hard_to_move(hard_to_move&& other) : moves_left(other.moves_left - 1) {
        if (moves_left < 0) throw std::range_error("no more moves");
    }
    int moves_left;
};

TEST(future, fails_if_its_value_cannot_be_stored) {
    for (int moves = 0; moves < 2; ++moves) {
        future_task task([moves] { return hard_to_move(moves); });
        future result = task.get_future();
        task();
        EXPECT_TRUE(result.is_done());
        EXPECT_THROW(result.get(), std::range_error) << moves << " moves";
    }
    future_task set([] { return hard_to_move(9); });
    EXPECT_TRUE(set.set(hard_to_move(0)));
    EXPECT_EQ(set.state(), future_state::failed);
}

TEST(future, lets_through_what_moving_the_value_out_throws) {
    future_task task([] { return hard_to_move(2); });
    future result = task.get_future();
    task();
    EXPECT_EQ(result.state(), future_state::success);
    EXPECT_THROW(result.get(), std::range_error);
}

TEST(shared_future, of_void_gives_void) {
    static_assert(std::is_same_v<decltype(std::declval<shared_future<void>&>().get()), void>);
    static_assert(std::is_same_v<decltype(std::declval<shared_future<int>&>().get()), const int&>);
    static_assert(std::is_same_v<decltype(std::declval<shared_future<int&>&>().get()), int&>);
}

}  // namespace
}  // namespace cadre::testing
