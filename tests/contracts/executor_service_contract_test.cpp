// SPDX-License-Identifier: Apache-2.0
//
// What every executor_service promises of its tasks and its end.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/eventually.hpp"
#include "support/held_task.hpp"
#include "support/service_kinds.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"
#include <cadre/executors.hpp>

namespace cadre::testing {
namespace {

template <class Kind>
class every_service : public ::testing::Test {
protected:
    const std::unique_ptr<executor_service> service_ = Kind::make(2);
    executor_service& service = *service_;
};
TYPED_TEST_SUITE(every_service, service_kinds, service_names);

template <class Kind>
class every_service_with_threads : public every_service<Kind> {};
TYPED_TEST_SUITE(every_service_with_threads, thread_kinds, service_names);

// EXS-001
TEST(inline_service, has_finished_a_task_when_submit_returns) {
    inline_service service;
    bool ran = false;
    future result = service.submit([&] { ran = true; });
    EXPECT_TRUE(ran);
    EXPECT_TRUE(result.is_done());
    EXPECT_FALSE(result.is_cancelled());
    EXPECT_NO_THROW(result.get());
    EXPECT_NO_THROW(result.get_for(0ms));
}

// EXS-002, STP-026
TYPED_TEST(every_service, gives_what_the_callable_returned) {
    EXPECT_EQ(this->service.submit(text).get(), "text");
    EXPECT_EQ(*this->service.submit([] { return std::make_unique<int>(42); }).get(), 42);
}

// EXS-003, STP-026
TYPED_TEST(every_service, gives_a_future_of_void_for_what_returns_nothing) {
    std::atomic<bool> ran = false;
    future<void> result = this->service.submit([&] { ran = true; });
    result.get();
    EXPECT_TRUE(ran);
    EXPECT_TRUE(result.is_done());
    EXPECT_FALSE(result.is_cancelled());
}

// EXS-004, STP-026
TYPED_TEST(every_service, gives_the_value_that_goes_with_a_runnable_after_it_ran) {
    std::atomic<bool> ran = false;
    future result = this->service.submit(executors::callable([&] { ran = true; }, text()));
    EXPECT_EQ(result.get(), "text");
    EXPECT_TRUE(ran);
}

// EXS-005, STP-026
TYPED_TEST(every_service, refuses_an_empty_function_and_counts_nothing) {
    const std::function<void()> empty;
    EXPECT_THROW(this->service.execute(task()), std::invalid_argument);
    EXPECT_THROW(this->service.execute(empty), std::invalid_argument);
    EXPECT_THROW((void)this->service.submit(empty), std::invalid_argument);
    EXPECT_THROW((void)this->service.submit(callable()), std::invalid_argument);
    EXPECT_THROW((void)this->service.submit(std::function<void(int)>(), 1), std::invalid_argument);
    EXPECT_THROW((void)this->service.submit(executors::callable(empty, 1)), std::invalid_argument);
    EXPECT_THROW((void)this->service.submit(static_cast<int (*)()>(nullptr)),
                 std::invalid_argument);
    if (const auto* pool = dynamic_cast<thread_pool_executor*>(&this->service)) {
        EXPECT_EQ(pool->task_count(), 0);
        EXPECT_EQ(pool->pool_size(), 0);
        EXPECT_EQ(pool->queue().size(), 0u);
    }
}

TYPED_TEST(every_service, passes_arguments_by_value_or_moved) {
    const std::string prefix = "number ";
    future result = this->service.submit(
        [](const std::string& p, std::unique_ptr<int> number) {
            return p + std::to_string(*number);
        },
        prefix, std::make_unique<int>(42));
    EXPECT_EQ(result.get(), "number 42");
}

// EXS-007, STP-026
TYPED_TEST(every_service, rethrows_what_the_callable_threw_with_its_type) {
    struct own_error : std::out_of_range {
        using std::out_of_range::out_of_range;
    };
    future result = this->service.submit([]() -> int { throw own_error("mine"); });
    EXPECT_THROW(result.get(), own_error);
    EXPECT_THROW(this->service.submit([] { throw 42; }).get(), int);
}

// EXS-006, STP-026
TYPED_TEST(every_service_with_threads, an_interrupted_get_does_not_disturb_the_task) {
    gate may_end;
    const shared_future result = this->service.submit([&] { return may_end.wait(); }).share();
    expect_interruptible([&] { result.get(); });
    EXPECT_FALSE(result.is_done());
    may_end.open();
    EXPECT_TRUE(result.get());
    this->service.shutdown();
    EXPECT_TRUE(this->service.await_termination(guard));
    EXPECT_TRUE(this->service.is_terminated());
}

// EXS-021
TYPED_TEST(every_service_with_threads, a_cancelled_task_is_done_though_its_body_has_not_returned) {
    gate may_end;
    gate started;
    const auto of_one = TypeParam::make(1);
    future running = of_one->submit([&] {
        started.open();
        may_end.wait();
    });
    EXPECT_TRUE(started.wait());
    std::vector<future<void>> cancelled;
    cancelled.push_back(std::move(running));
    cancelled.push_back(of_one->submit([&] { may_end.wait(); }));  // queued, where there is a queue
    for (auto& result : cancelled) {
        EXPECT_TRUE(result.cancel(false));
        EXPECT_THROW(result.get(), cancellation);
        EXPECT_THROW(result.get_for(long_delay), cancellation);
        EXPECT_TRUE(result.is_cancelled());
        EXPECT_TRUE(result.is_done());
    }
    may_end.open();
}

TYPED_TEST(every_service, refuses_tasks_after_shutdown) {
    this->service.shutdown();
    EXPECT_TRUE(this->service.is_shutdown());
    EXPECT_THROW(this->service.execute([] {}), rejected_execution);
    EXPECT_THROW((void)this->service.submit(text), rejected_execution);
    EXPECT_THROW(this->service.invoke_all({text}), rejected_execution);
    EXPECT_THROW(this->service.invoke_any({text}), rejected_execution);
}

TYPED_TEST(every_service, closes_and_is_terminated) {
    future result = this->service.submit(text);
    this->service.close();
    EXPECT_TRUE(this->service.is_shutdown());
    EXPECT_TRUE(this->service.is_terminated());
    EXPECT_TRUE(result.is_done());
    this->service.close();
}

TYPED_TEST(every_service_with_threads, close_that_is_interrupted_goes_on_with_shutdown_now) {
    gate started;
    std::atomic<bool> task_interrupted = false;
    this->service.execute([&] {
        started.open();
        try {
            sleep_until_interrupted();
        } catch (const interrupted&) {
            task_interrupted = true;
        }
    });
    EXPECT_TRUE(started.wait());
    bool flag_left = false;
    waiting_call closes([&] {
        this->service.close();
        flag_left = this_thread::is_interrupted();
    });
    closes.interrupt();
    EXPECT_TRUE(closes.returned());
    EXPECT_TRUE(flag_left);
    EXPECT_TRUE(task_interrupted);
}

// EXS-022
TEST(thread_pool_executor, passes_every_task_through_its_decorator_once) {
    std::atomic<int> decorated = 0;
    std::atomic<int> own_runs = 0;
    thread_pool_executor pool(
        {.core_pool_size = 2, .hooks = {.decorate_task = [&](task t) {
                                  ++decorated;
                                  return task([&own_runs, t = std::move(t)]() mutable {
                                      ++own_runs;
                                      t();
                                  });
                              }}});
    EXPECT_EQ(pool.submit(text).get(), "text");
    EXPECT_EQ(decorated, 1);
    EXPECT_EQ(pool.submit(executors::callable([] {}, 42)).get(), 42);
    pool.submit([] {}).get();
    EXPECT_EQ(decorated, 3);
    pool.invoke_all({text, text});
    EXPECT_EQ(decorated, 5);
    EXPECT_EQ(pool.invoke_any({text}), "text");
    EXPECT_EQ(decorated, 6);
    pool.execute([] {});
    pool.close();
    EXPECT_EQ(decorated, 7);
    EXPECT_EQ(own_runs, 7);
}

/// A runnable future that knows nothing of ours.
class own_future {
public:
    void operator()() const {
        if (!shared_->cancelled) shared_->value = 42;
        shared_->over.open();
    }
    void cancel() const {
        shared_->cancelled = true;
        shared_->over.open();
    }
    int get() const {
        EXPECT_TRUE(shared_->over.wait());
        return shared_->value;
    }

private:
    struct state {
        std::atomic<bool> cancelled = false;
        std::atomic<int> value = 0;
        gate over;
    };
    std::shared_ptr<state> shared_ = std::make_shared<state>();
};

// EXS-023
TYPED_TEST(every_service, runs_a_future_that_is_the_users_own) {
    const own_future runs;
    this->service.execute(runs);
    EXPECT_EQ(runs.get(), 42);
    const own_future cancelled;
    cancelled.cancel();
    this->service.execute(cancelled);
    this->service.close();
    EXPECT_EQ(cancelled.get(), 0);
    const own_future refused;
    EXPECT_THROW(this->service.execute(refused), rejected_execution);
}

}  // namespace
}  // namespace cadre::testing
