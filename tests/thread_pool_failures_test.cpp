// SPDX-License-Identifier: Apache-2.0
#include <cadre/thread_pool_executor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

struct no_std_exception final {};
struct what_is_null : std::exception {
    const char* what() const noexcept override { return nullptr; }
};

/// Ways for user code to fail; the first does not.
std::vector<std::function<void()>> failures() {
    return {[] {},
            [] { throw std::runtime_error("a std::exception"); },
            [] { throw 42; },
            [] { throw "a string"; },
            [] { throw no_std_exception(); },
            [] { throw what_is_null(); },
            [] { throw std::bad_alloc(); },
            [] { throw interrupted(); },
            [] { throw std::runtime_error(std::string(100'000, 'x')); }};
}

/// Collects what uncaught_exception is told.
class uncaught_log {
public:
    std::function<void(const task&, std::exception_ptr)> hook() {
        return [this](const task& t, std::exception_ptr e) {
            const std::lock_guard lock(mutex_);
            errors_.push_back(std::move(e));
            names_ += t.name();
        };
    }
    int size() const {
        const std::lock_guard lock(mutex_);
        return static_cast<int>(errors_.size());
    }
    std::string names() const {
        const std::lock_guard lock(mutex_);
        return names_;
    }
    std::vector<std::exception_ptr> errors() const {
        const std::lock_guard lock(mutex_);
        return errors_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::exception_ptr> errors_;
    std::string names_;
};

// TPE-029
TEST(thread_pool_failures, a_task_that_throws_does_not_stop_the_pool) {
    uncaught_log log;
    std::atomic<int> later = 0;
    thread_pool_executor pool({.core_pool_size = 2, .hooks = {.uncaught_exception = log.hook()}});
    int thrown = 0;
    for (const auto& fail : failures())
        for (int i = 0; i < 10; ++i, ++thrown) {
            pool.execute(fail);
            pool.execute([&] { ++later; });
        }
    ASSERT_TRUE(has_completed(pool, 2 * thrown));
    EXPECT_EQ(later, thrown);
    EXPECT_EQ(log.size(), thrown - 10);
    EXPECT_TRUE(has_threads(pool, 2));
    pool.close();
    EXPECT_EQ(pool.completed_task_count(), 2 * thrown);
}

// TPE-029
TEST(thread_pool_failures, reports_on_stderr_what_nobody_catches) {
    ::testing::internal::CaptureStderr();
    {
        thread_pool_executor pool({.core_pool_size = 1, .name = "orders"});
        pool.execute(named("flush", [] { throw std::runtime_error("disk full"); }));
        for (const auto& fail : failures()) pool.execute(fail);
    }
    const auto reported = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(reported.find("uncaught in flush: disk full"), std::string::npos) << reported;
    EXPECT_EQ(std::count(reported.begin(), reported.end(), '\n'), 9);
    EXPECT_LT(reported.size(), 9 * 600u);
}

TEST(thread_pool_failures, reports_on_one_line_whatever_names_and_messages_are) {
    ::testing::internal::CaptureStderr();
    {
        thread_pool_executor pool({.core_pool_size = 1, .name = "or\nders"});
        pool.execute(named("flu\rsh", [] { throw std::runtime_error("disk\ncadre: full\n"); }));
    }
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "cadre: [or ders-thread-1] uncaught in flu sh: disk cadre: full \n");
}

/// A thread factory that counts the threads it was asked for, and those whose worker has left for
/// good: until then that may come back, instead of the successor of its successor.
class leaving_factory {
public:
    thread operator()(std::function<void()> body) const {
        ++counts_->asked;
        return thread([counts = counts_, body = std::move(body)] {
            body();
            ++counts->left;
        });
    }
    int asked() const { return counts_->asked; }
    bool has_seen_leave(int threads) const {
        return eventually([&] { return counts_->left == threads; });
    }

private:
    struct counts {
        std::atomic<int> asked = 0;
        std::atomic<int> left = 0;
    };
    std::shared_ptr<counts> counts_ = std::make_shared<counts>();
};

TEST(thread_pool_failures, a_worker_whose_task_threw_is_replaced) {
    const leaving_factory factory;
    thread_pool_executor pool({.core_pool_size = 1,
                               .thread_factory = factory,
                               .hooks = {.uncaught_exception = [](auto&&...) {}}});
    for (int i = 1; i <= 10; ++i) {
        pool.execute([] { throw 1; });
        ASSERT_TRUE(factory.has_seen_leave(i));
        EXPECT_EQ(factory.asked(), i + 1);
        EXPECT_EQ(pool.pool_size(), 1);
    }
    EXPECT_EQ(pool.completed_task_count(), 10);
    EXPECT_EQ(pool.largest_pool_size(), 1);
}

// What comes while the only worker is being replaced must not pass what is queued.
TEST(thread_pool_failures, one_thread_keeps_the_order_though_every_task_throws) {
    std::vector<int> order;
    {
        thread_pool_executor pool(
            {.core_pool_size = 1, .hooks = {.uncaught_exception = [](auto&&...) {}}});
        for (int i = 0; i < 2000; ++i) {
            pool.execute([&order, i] {
                order.push_back(i);
                throw i;
            });
            while (pool.queue().size() > 2) std::this_thread::yield();
        }
    }
    ASSERT_EQ(order.size(), 2000u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// Nor what comes while the only worker leaves because its time is up.
TEST(thread_pool_failures, one_thread_keeps_the_order_though_it_times_out_all_the_time) {
    std::vector<int> order;
    {
        thread_pool_executor pool({.core_pool_size = 1,
                                   .keep_alive = std::chrono::microseconds(1),
                                   .allow_core_thread_time_out = true});
        for (int i = 0; i < 5000; ++i) {
            pool.execute([&order, i] { order.push_back(i); });
            if (i % 3 == 0)
                while (pool.pool_size() > 0 && i % 2 == 0) std::this_thread::yield();
        }
    }
    ASSERT_EQ(order.size(), 5000u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(thread_pool_failures, tells_uncaught_exception_which_task_threw_what) {
    uncaught_log log;
    const auto thrown = std::make_exception_ptr(no_std_exception());
    {
        thread_pool_executor pool(
            {.core_pool_size = 1, .hooks = {.uncaught_exception = log.hook()}});
        pool.execute(named("flush", [&] { std::rethrow_exception(thrown); }));
    }
    EXPECT_EQ(log.names(), "flush");
    EXPECT_EQ(log.errors(), std::vector{thrown});
}

TEST(thread_pool_failures, before_and_task_that_throw_each_in_its_way_wear_nothing_out) {
    uncaught_log log;
    std::atomic<int> ran = 0;
    std::atomic<int> after = 0;
    const auto all = failures();
    std::atomic<std::size_t> before = 0;
    int submitted = 0;
    int thrown_before = 0;
    int thrown_inside = 0;
    thread_pool_executor pool({.core_pool_size = 1,
                               .hooks = {.before_execute = [&](auto&&...) { all[before](); },
                                         .after_execute = [&](auto&&...) { ++after; },
                                         .uncaught_exception = log.hook()}});
    for (; before < all.size(); ++before) {
        for (std::size_t inside = 0; inside < all.size(); ++inside) {
            pool.execute([&, inside] {
                ++ran;
                all[inside]();
            });
            ++submitted;
            if (before != 0)
                ++thrown_before;
            else if (inside != 0)
                ++thrown_inside;
            ASSERT_TRUE(has_completed(pool, submitted));
        }
    }
    EXPECT_EQ(ran, submitted - thrown_before);
    EXPECT_EQ(after, ran);
    EXPECT_EQ(log.size(), thrown_before + thrown_inside);
    EXPECT_EQ(pool.completed_task_count(), submitted);
    EXPECT_TRUE(has_threads(pool, 1));
}

TEST(thread_pool_failures, a_future_whose_before_hook_throws_is_cancelled) {
    uncaught_log log;
    thread_pool_executor pool({.core_pool_size = 1,
                               .hooks = {.before_execute = [](auto&&...) { throw 1; },
                                         .uncaught_exception = log.hook()}});
    EXPECT_THROW(pool.submit([] {}).get(), cancellation);
    pool.close();
    EXPECT_EQ(log.size(), 1);
}

TEST(thread_pool_failures, an_after_hook_that_throws_counts_once_and_hides_no_exception) {
    uncaught_log log;
    const leaving_factory factory;
    thread_pool_executor pool(
        {.core_pool_size = 1,
         .thread_factory = factory,
         .hooks = {.after_execute = [](auto&&...) { throw 1; }, .uncaught_exception = log.hook()}});
    pool.execute([] {});
    ASSERT_TRUE(factory.has_seen_leave(1));
    EXPECT_EQ(log.size(), 1);
    EXPECT_EQ(factory.asked(), 2);
    pool.execute([] { throw no_std_exception(); });
    ASSERT_TRUE(factory.has_seen_leave(2));
    EXPECT_EQ(log.size(), 3);
    EXPECT_EQ(factory.asked(), 3);
    EXPECT_EQ(pool.pool_size(), 1);
    EXPECT_EQ(pool.completed_task_count(), 2);
}

TEST(thread_pool_failures, a_terminated_hook_that_throws_does_not_keep_the_pool_from_its_end) {
    uncaught_log log;
    thread_pool_executor pool({.core_pool_size = 1,
                               .hooks = {.terminated = [] { throw no_std_exception(); },
                                         .uncaught_exception = log.hook()}});
    pool.submit([] {}).get();
    pool.shutdown();
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_EQ(log.size(), 1);
}

TEST(thread_pool_failures, what_uncaught_exception_throws_is_dropped_and_counted) {
    thread_pool_executor pool(
        {.core_pool_size = 1, .hooks = {.uncaught_exception = [](auto&&...) { throw 1; }}});
    pool.execute([] { throw 2; });
    ASSERT_TRUE(has_completed(pool, 1));
    EXPECT_EQ(pool.snapshot().uncaught_count, 2);
    pool.submit([] {}).get();
}

/// Makes threads until it has made so many; from then on fails.
struct failing_factory {
    int good;
    std::function<thread()> fail;
    std::shared_ptr<std::atomic<int>> asked = std::make_shared<std::atomic<int>>(0);
    thread operator()(std::function<void()> body) const {
        return ++*asked <= good ? thread(std::move(body)) : fail();
    }
};

TEST(thread_pool_failures, a_factory_that_refuses_leaves_the_pool_with_what_it_has) {
    thread_pool_executor pool(
        {.core_pool_size = 10, .thread_factory = failing_factory{4, [] { return thread(); }}});
    held_tasks held(pool, 10);
    ASSERT_TRUE(held.have_started(4));
    EXPECT_EQ(pool.pool_size(), 4);
    EXPECT_EQ(pool.queue().size(), 6u);
    EXPECT_FALSE(pool.prestart_core_thread());
    EXPECT_EQ(pool.prestart_all_core_threads(), 0);
    held.let_go();
    pool.close();
    EXPECT_EQ(pool.completed_task_count(), 10);
}

TEST(thread_pool_failures, what_a_factory_throws_reaches_the_submitter_and_nothing_changes) {
    for (const auto& fail : std::vector<std::function<thread()>>{
             []() -> thread { throw 42; }, []() -> thread { throw std::bad_alloc(); },
             []() -> thread { throw std::system_error(EAGAIN, std::generic_category()); }}) {
        thread_pool_executor pool(
            {.core_pool_size = 10, .thread_factory = failing_factory{4, fail}});
        held_tasks held(pool, 4);
        ASSERT_TRUE(held.have_started(4));
        EXPECT_ANY_THROW(held.add_to(pool));
        EXPECT_ANY_THROW(pool.prestart_core_thread());
        EXPECT_EQ(pool.pool_size(), 4);
        EXPECT_EQ(pool.task_count(), 4);
        EXPECT_TRUE(pool.queue().empty());
        held.let_go();
        pool.close();
        EXPECT_EQ(pool.completed_task_count(), 4);
    }
}

TEST(thread_pool_failures, without_a_core_a_throwing_factory_takes_the_task_back) {
    thread_pool_executor pool(
        {.core_pool_size = 0, .thread_factory = [](auto) -> thread { throw 42; }});
    EXPECT_THROW(pool.execute([] {}), int);
    EXPECT_TRUE(pool.queue().empty());
    pool.shutdown();
    EXPECT_TRUE(pool.is_terminated());
}

/// A pool whose only worker dies of its first task, with a hundred queued behind it.
struct dying_worker {
    explicit dying_worker(thread_factory factory)
        : pool({.core_pool_size = 1,
                .thread_factory = std::move(factory),
                .hooks = {.uncaught_exception = log.hook()}}) {
        pool.execute([this] {
            may_throw.wait();
            throw no_std_exception();
        });
        for (int i = 0; i < 100; ++i) pool.execute([this] { ++runs; });
    }
    uncaught_log log;
    gate may_throw;
    std::atomic<int> runs = 0;
    thread_pool_executor pool;
};

// WK-06
TEST(thread_pool_failures, work_goes_on_with_the_next_task_if_a_worker_could_not_be_replaced) {
    dying_worker dying(failing_factory{1, [] { return thread(); }});
    auto& pool = dying.pool;
    dying.may_throw.open();
    ASSERT_TRUE(has_threads(pool, 0));
    ASSERT_TRUE(eventually([&] { return dying.log.size() == 1; }));
    EXPECT_EQ(pool.queue().size(), 100u);
    pool.set_thread_factory(default_thread_factory());
    pool.execute([&] { ++dying.runs; });
    EXPECT_TRUE(eventually([&] { return dying.runs == 101; }));
}

// WK-06
TEST(thread_pool_failures, a_worker_whose_successor_cannot_be_made_goes_on_with_what_is_queued) {
    for (const auto& fail : std::vector<std::function<thread()>>{
             []() -> thread { throw 42; }, []() -> thread { throw std::bad_alloc(); },
             []() -> thread { throw std::system_error(EAGAIN, std::generic_category()); }}) {
        dying_worker dying(failing_factory{1, fail});
        auto& pool = dying.pool;
        dying.may_throw.open();
        ASSERT_TRUE(has_completed(pool, 101));
        EXPECT_EQ(dying.runs, 100);
        EXPECT_EQ(dying.log.size(), 2) << "the exception, and that of the factory";
        EXPECT_TRUE(has_threads(pool, 1));
        EXPECT_EQ(pool.largest_pool_size(), 1);
        pool.close();
        EXPECT_EQ(pool.completed_task_count(), 101);
    }
}

// WK-06
TEST(thread_pool_failures, a_worker_goes_on_with_what_is_queued_if_the_system_has_no_thread) {
    dying_worker dying(default_thread_factory());
    dying.pool.set_thread_factory(
        named_thread_factory("huge", {.stack_size = std::size_t{1} << 46}));
    dying.may_throw.open();
    ASSERT_TRUE(has_completed(dying.pool, 101));
    EXPECT_TRUE(has_threads(dying.pool, 1));
    dying.pool.close();
    EXPECT_EQ(dying.runs, 100);
}

/// Asks the system for threads that it never has.
thread_factory without_threads() {
    return named_thread_factory("huge", {.stack_size = std::size_t{1} << 46});
}

// WK-13
TEST(thread_pool_failures, a_task_for_which_the_system_has_no_thread_at_all_is_rejected) {
    for (const int core : {0, 1}) {
        thread_pool_executor pool({.core_pool_size = core, .thread_factory = without_threads()});
        EXPECT_THROW((void)pool.submit([] {}), rejected_execution);
        EXPECT_TRUE(pool.queue().empty());
        EXPECT_EQ(pool.snapshot().rejected_task_count, 1);
        EXPECT_EQ(pool.task_count(), 0);
        pool.set_rejected_execution_handler(discard_oldest_policy{});
        EXPECT_THROW(pool.execute([] {}), rejected_execution) << "soon, for nothing will change";
        pool.set_rejected_execution_handler(caller_runs_policy{});
        EXPECT_EQ(pool.submit([] { return std::this_thread::get_id(); }).get(),
                  std::this_thread::get_id());
        pool.set_thread_factory(default_thread_factory());
        EXPECT_NE(pool.submit([] { return std::this_thread::get_id(); }).get(),
                  std::this_thread::get_id());
    }
}

// WK-06, WK-13
TEST(thread_pool_failures, the_destructor_runs_what_is_queued_though_the_only_worker_dies) {
    for (const auto& factory :
         {without_threads(), thread_factory([](auto) -> thread { throw std::bad_alloc(); })}) {
        uncaught_log log;
        gate may_throw;
        std::atomic<int> runs = 0;
        auto pool = std::make_unique<thread_pool_executor>(
            thread_pool_options{.core_pool_size = 1, .hooks = {.uncaught_exception = log.hook()}});
        pool->execute([&] {
            may_throw.wait();
            throw no_std_exception();
        });
        for (int i = 0; i < 100; ++i) pool->execute([&] { ++runs; });
        pool->set_thread_factory(factory);
        waiting_call ending([&] { pool.reset(); });
        EXPECT_FALSE(ending.is_over());
        may_throw.open();
        EXPECT_TRUE(ending.returned());
        EXPECT_EQ(runs, 100) << "dropped, though there was a thread";
    }
}

/// Ends a pool whose only worker dies of its task while somebody waits for the end, and cannot be
/// replaced: what is queued will never run.
void expect_end_without_workers(std::function<void(std::unique_ptr<thread_pool_executor>&)> end) {
    uncaught_log log;
    gate may_throw;
    auto pool = std::make_unique<thread_pool_executor>(
        thread_pool_options{.core_pool_size = 1,
                            .thread_factory = failing_factory{1, [] { return thread(); }},
                            .hooks = {.uncaught_exception = log.hook()}});
    pool->execute([&] {
        may_throw.wait();
        throw no_std_exception();
    });
    auto queued = pool->submit([] {});
    waiting_call ending([&] { end(pool); });
    EXPECT_FALSE(ending.is_over());
    may_throw.open();
    ASSERT_TRUE(queued.wait_for(guard)) << "nobody drops what nobody can run";
    EXPECT_TRUE(queued.is_cancelled());
    EXPECT_TRUE(ending.returned());
    EXPECT_EQ(log.size(), 2) << "the exception, and that tasks were dropped";
}

// WK-06
TEST(thread_pool_failures, close_ends_when_the_last_worker_dies_and_cannot_be_replaced) {
    expect_end_without_workers([](auto& pool) { pool->close(); });
}

// WK-06
TEST(thread_pool_failures, the_destructor_ends_when_the_last_worker_dies_and_cannot_be_replaced) {
    expect_end_without_workers([](auto& pool) { pool.reset(); });
}

// WK-06
TEST(thread_pool_failures, close_ends_though_the_thread_that_was_on_its_way_is_refused) {
    uncaught_log log;
    gate may_refuse;
    std::atomic<int> asked = 0;
    thread_pool_executor pool({.core_pool_size = 1,
                               .thread_factory =
                                   [&](const std::function<void()>&) {
                                       if (++asked == 2) may_refuse.wait();
                                       return thread();
                                   },
                               .hooks = {.uncaught_exception = log.hook()}});
    future<void> queued;
    thread submitter([&] { queued = pool.submit([] {}); });
    EXPECT_TRUE(eventually([&] { return asked == 2; }));
    waiting_call ending([&] { pool.close(); });
    EXPECT_FALSE(ending.is_over());
    may_refuse.open();
    submitter.join();
    EXPECT_TRUE(queued.wait_for(guard)) << "nobody drops what nobody can run";
    EXPECT_TRUE(ending.returned());
    EXPECT_TRUE(queued.is_cancelled());
    EXPECT_EQ(log.size(), 1) << "that tasks were dropped";
}

TEST(thread_pool_failures, a_factory_that_drops_the_body_is_an_error_for_the_submitter) {
    thread_pool_executor pool({.core_pool_size = 1, .thread_factory = [](auto body) {
                                   body = nullptr;
                                   return thread([] {});
                               }});
    EXPECT_THROW(pool.execute([] {}), illegal_state);
    EXPECT_EQ(pool.pool_size(), 0);
    pool.close();
}

TEST(thread_pool_failures, a_thread_that_never_runs_its_body_is_told_of_and_not_replaced_for_ever) {
    uncaught_log log;
    std::atomic<int> asked = 0;
    gate dropped;  // the body, and all that comes of it
    struct opens_at_its_end {
        explicit opens_at_its_end(gate& g) : opened(g) {}
        ~opens_at_its_end() { opened.open(); }
        gate& opened;
    };
    thread_pool_executor pool({.core_pool_size = 1,
                               .thread_factory =
                                   [&](std::function<void()> body) {
                                       ++asked;
                                       return thread(
                                           [after = std::make_shared<opens_at_its_end>(dropped),
                                            body = std::move(body)] {});
                                   },
                               .hooks = {.uncaught_exception = log.hook()}});
    std::optional<future<void>> result;
    try {
        result = pool.submit([] {});
    } catch (const illegal_state&) {}  // the thread had ended before it was looked at
    if (result) {
        EXPECT_THROW(result->get(), cancellation);
    }
    ASSERT_TRUE(dropped.wait());
    EXPECT_EQ(pool.pool_size(), 0);
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(log.size(), result ? 1 : 0);
    EXPECT_EQ(pool.snapshot().submitted_task_count, 1);
    pool.close();
    EXPECT_EQ(pool.completed_task_count(), 0);
}

TEST(thread_pool_failures, a_pool_that_is_shut_down_ends_with_a_thread_that_never_runs_its_body) {
    gate end;
    const auto drops_it_later = [&](std::function<void()> body) {
        return thread([&end, dropped = std::move(body)] { end.wait(); });
    };
    thread_pool_executor pool({.core_pool_size = 1,
                               .thread_factory = drops_it_later,
                               .hooks = {.uncaught_exception = [](auto&, auto) {}}});
    pool.execute([] {});
    pool.shutdown();
    EXPECT_FALSE(pool.is_terminated());
    end.open();
    EXPECT_TRUE(pool.await_termination(guard));
}

TEST(thread_pool_failures, a_shutdown_finds_a_thread_for_what_is_queued_if_one_can_be_had_by_then) {
    bool refuses = true;
    bool ran = false;
    thread_pool_executor pool(
        {.core_pool_size = 1, .thread_factory = [&](std::function<void()> body) {
             return refuses ? thread() : thread(std::move(body));
         }});
    pool.execute([&] { ran = true; });
    EXPECT_EQ(pool.pool_size(), 0);
    refuses = false;
    pool.shutdown();
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_TRUE(ran);
}

TEST(thread_pool_failures, a_factory_that_runs_the_body_itself_is_an_error_for_the_submitter) {
    const thread_factory runs_it_here = [](const std::function<void()>& body) {
        body();
        return thread([] {});
    };
    std::atomic<bool> over = false;
    std::thread submitter([&] {  // which would be the worker, and wait for itself
        thread_pool_executor pool({.core_pool_size = 1, .thread_factory = runs_it_here});
        EXPECT_THROW(pool.execute([] {}), illegal_state);
        EXPECT_THROW((void)pool.prestart_core_thread(), illegal_state);
        EXPECT_EQ(pool.pool_size(), 0);
        pool.set_thread_factory(default_thread_factory());
        EXPECT_EQ(pool.submit([] { return 7; }).get(), 7);
        over = true;
    });
    if (!eventually([&] { return over.load(); })) std::abort();
    submitter.join();
}

TEST(thread_pool_failures, a_factory_may_give_the_body_to_another_thread_than_it_returns) {
    std::thread runs_it;
    thread_pool_executor pool({.core_pool_size = 1, .thread_factory = [&](auto body) {
                                   runs_it = std::thread(std::move(body));
                                   return thread([] {});
                               }});
    EXPECT_EQ(pool.submit([] { return 7; }).get(), 7);
    pool.close();
    runs_it.join();
}

TEST(thread_pool_failures, a_body_that_is_run_twice_makes_one_worker) {
    std::atomic<int> runs = 0;
    thread_pool_executor pool({.core_pool_size = 1, .thread_factory = [](auto body) {
                                   return thread([body = std::move(body)] {
                                       body();
                                       body();
                                   });
                               }});
    for (int i = 0; i < 10; ++i) pool.execute([&] { ++runs; });
    pool.close();
    EXPECT_EQ(runs, 10);
}

/// Throws when it is destroyed, unless it was moved from.
struct throwing_destructor {
    std::shared_ptr<int> armed = std::make_shared<int>(0);
    throwing_destructor() = default;
    throwing_destructor(const throwing_destructor&) = default;
    throwing_destructor(throwing_destructor&&) noexcept = default;
    ~throwing_destructor() noexcept(false) {
        if (armed && armed.use_count() == 1 && std::uncaught_exceptions() == 0)
            throw no_std_exception();
    }
    void operator()() const {}
};

TEST(thread_pool_failures, a_capture_whose_destructor_throws_is_told_of_and_harms_nobody) {
    uncaught_log log;
    thread_pool_executor pool({.core_pool_size = 1, .hooks = {.uncaught_exception = log.hook()}});
    pool.execute(throwing_destructor());
    ASSERT_TRUE(has_completed(pool, 1));
    EXPECT_EQ(log.size(), 1);
    pool.submit([] {}).get();
    EXPECT_TRUE(eventually([&] { return pool.active_count() == 0; }));
}

TEST(thread_pool_failures, a_rejected_capture_whose_destructor_throws_harms_nobody) {
    thread_pool_executor pool(
        {.core_pool_size = 1, .queue = no_room(), .rejection = discard_policy{}});
    held_task held(pool);
    pool.execute(throwing_destructor());
    EXPECT_EQ(pool.task_count(), 1);
}

/// Throws when it is moved for the n-th time.
struct throwing_move {
    int moves_left;
    explicit throwing_move(int moves) : moves_left(moves) {}
    throwing_move(throwing_move&& other) noexcept(false) : moves_left(other.moves_left - 1) {
        if (moves_left < 0) throw no_std_exception();
    }
    void operator()() const {}
};

TEST(thread_pool_failures, a_callable_whose_move_throws_fails_the_submitter_or_is_never_moved) {
    thread_pool_executor pool({.core_pool_size = 1});
    EXPECT_THROW(pool.execute(throwing_move(0)), no_std_exception);
    EXPECT_THROW((void)pool.submit(throwing_move(0)), no_std_exception);
    EXPECT_EQ(pool.task_count(), 0);
    pool.execute(throwing_move(1));
    ASSERT_TRUE(has_completed(pool, 1));
}

/// Cannot be moved into its future.
struct throwing_result {
    throwing_result() = default;
    throwing_result(throwing_result&&) noexcept(false) { throw no_std_exception(); }
};

// Of three callables the first runs, the second is queued and the third refused. The first feels
// the interrupt and still takes its time: it may refer to what the exception destroys on its way.
TEST(thread_pool_failures, invoke_all_that_is_refused_leaves_when_its_callables_are_gone) {
    gate started;
    gate refused;  // until then the first keeps the worker busy
    gate may_end;
    std::atomic<bool> has_left = false;
    std::atomic<bool> is_gone = false;
    thread_pool_executor pool(1, 1, 0s, room_for(1), default_thread_factory(),
                              [&](task, thread_pool_executor&) {
                                  EXPECT_TRUE(started.wait());
                                  refused.open();
                                  throw rejected_execution("as planned");
                              });
    const std::function<void()> takes_its_time = [&] {
        started.open();
        EXPECT_TRUE(may_end.wait());
        is_gone = true;
    };
    std::thread lets_it_end([&] {
        EXPECT_TRUE(refused.wait());
        const auto enough = std::chrono::steady_clock::now() + 100ms;
        while (!has_left && std::chrono::steady_clock::now() < enough) std::this_thread::yield();
        may_end.open();
    });
    bool was_gone = false;
    try {
        pool.invoke_all(std::vector(3, takes_its_time));
        ADD_FAILURE() << "nothing was refused";
    } catch (const rejected_execution&) {
        was_gone = is_gone;
        has_left = true;
    }
    lets_it_end.join();
    EXPECT_TRUE(was_gone);
}

TEST(thread_pool_failures, a_result_that_cannot_be_moved_is_the_failure_of_its_task) {
    thread_pool_executor pool({.core_pool_size = 1});
    auto result = pool.submit([]() -> throwing_result { return {}; });
    EXPECT_THROW((void)result.get(), no_std_exception);
    pool.submit([] {}).get();
}

TEST(thread_pool_failures, a_factory_may_throw_when_it_has_made_a_thread) {
    thread_pool_executor pool({.thread_factory = [](std::function<void()> body) -> thread {
        const thread made(std::move(body));
        throw rejected_execution("cannot be pinned");
    }});
    EXPECT_THROW(pool.execute([] {}), rejected_execution);
    EXPECT_EQ(pool.pool_size(), 0);
}

TEST(thread_pool_failures, a_factory_may_refuse_when_it_has_made_a_thread) {
    thread_pool_executor pool({.thread_factory = [](std::function<void()> body) {
        const thread made(std::move(body));
        return thread();
    }});
    EXPECT_FALSE(pool.prestart_core_thread());
}

TEST(thread_pool_failures, a_factory_may_make_another_thread_in_place_of_one_it_has_made) {
    thread_pool_executor pool({.thread_factory = [](std::function<void()> body) {
        { const thread first(body); }
        return thread({.name = "second"}, std::move(body));
    }});
    EXPECT_EQ(pool.submit([] { return thread_handle::current().name(); }).get(), "second");
}

}  // namespace
}  // namespace cadre::testing
