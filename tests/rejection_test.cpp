// SPDX-License-Identifier: Apache-2.0
#include <cadre/rejection.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

/// Expects that a pool is as it was made.
void expect_untouched(thread_pool_executor& pool) {
    EXPECT_TRUE(pool.rejected_execution_handler().target<abort_policy>());
    EXPECT_EQ(pool.task_count(), 0);
    EXPECT_EQ(pool.pool_size(), 0);
    EXPECT_TRUE(pool.queue().empty());
}

// REJ-001, REJ-004
TEST(rejection, abort_throws_and_does_not_run_the_task) {
    thread_pool_executor pool(1, 1, 1h, room_for(1));
    bool ran = false;
    EXPECT_THROW(abort_policy{}([&] { ran = true; }, pool), rejected_execution);
    EXPECT_FALSE(ran);
    expect_untouched(pool);
}

// REJ-002, REJ-004
TEST(rejection, discard_drops_the_task_without_a_word) {
    thread_pool_executor pool(1, 1, 1h, room_for(1));
    bool ran = false;
    discard_policy{}([&] { ran = true; }, pool);
    EXPECT_FALSE(ran);
    expect_untouched(pool);
}

// REJ-003, REJ-004
TEST(rejection, caller_runs_runs_the_task_here_and_now) {
    thread_pool_executor pool(1, 1, 1h, room_for(1));
    std::optional<std::thread::id> where;
    caller_runs_policy{}([&] { where = std::this_thread::get_id(); }, pool);
    EXPECT_EQ(where, std::this_thread::get_id());
    expect_untouched(pool);
}

TEST(rejection, what_a_task_of_its_caller_held_is_gone_when_that_goes_on) {
    thread_pool_executor pool(1, 1, 1h, room_for(1), default_thread_factory(),
                              caller_runs_policy{});
    held_task running(pool);
    pool.execute([] {});
    auto held = std::make_shared<int>();
    const std::weak_ptr<int> watch = held;
    // In one expression: what is given to a function lives to the end of that.
    const bool is_gone = (pool.execute([held = std::move(held)] { ++*held; }), watch.expired());
    EXPECT_TRUE(is_gone);
    EXPECT_EQ(pool.snapshot().rejected_task_count, 1);
    running.let_go();
}

/// One thread, a queue for one task, both occupied.
class saturated : public ::testing::Test {
protected:
    explicit saturated(rejected_execution_handler handler = abort_policy{})
        : pool(1, 1, 1h, room_for(1), default_thread_factory(), std::move(handler)), running(pool) {
        oldest = pool.submit([this] { ran += "oldest "; });
    }
    std::string finish() {
        running.let_go();
        pool.close();
        return ran;
    }

    std::string ran;  // by one worker at a time, read after close()
    thread_pool_executor pool;
    held_task running;
    future<void> oldest;
};

class rejection_by_abort : public saturated {};
// REJ-001, TPE-045
TEST_F(rejection_by_abort, tells_the_submitter_which_task_and_why) {
    const auto message = message_of<rejected_execution>(
        [&] { pool.execute(named("flush", [this] { ran += "new "; })); });
    EXPECT_NE(message.find("'flush'"), std::string::npos) << message;
    EXPECT_NE(message.find("[Running, pool size = 1, active threads = 1, queued tasks = 1"),
              std::string::npos)
        << message;
    EXPECT_EQ(finish(), "oldest ");
}

class rejection_by_discard : public saturated {
protected:
    rejection_by_discard() : saturated(discard_policy{}) {}
};
// REJ-002
TEST_F(rejection_by_discard, cancels_the_new_task) {
    auto dropped = pool.submit([this] { ran += "new "; });
    EXPECT_TRUE(dropped.is_cancelled());
    EXPECT_EQ(finish(), "oldest ");
}

class rejection_by_caller_runs : public saturated {
protected:
    rejection_by_caller_runs() : saturated(caller_runs_policy{}) {}
};
// REJ-003
TEST_F(rejection_by_caller_runs, runs_the_task_in_the_submitter_before_it_returns) {
    auto where = pool.submit([] { return std::this_thread::get_id(); });
    EXPECT_TRUE(where.is_done());
    EXPECT_EQ(where.get(), std::this_thread::get_id());
    EXPECT_EQ(pool.task_count(), 2);
    EXPECT_EQ(finish(), "oldest ");
}
TEST_F(rejection_by_caller_runs, what_the_task_throws_reaches_the_submitter) {
    EXPECT_THROW(pool.execute([] { throw 42; }), int);
    EXPECT_THROW(pool.submit([] { throw 42; }).get(), int);
    EXPECT_EQ(finish(), "oldest ");
}
TEST_F(rejection_by_caller_runs, drops_the_task_of_a_pool_that_is_shut_down) {
    pool.shutdown();
    auto dropped = pool.submit([this] { ran += "new "; });
    EXPECT_TRUE(dropped.is_cancelled());
    EXPECT_EQ(finish(), "oldest ");
}
TEST_F(rejection_by_caller_runs, tasks_that_submit_tasks_run_one_inside_the_other) {
    int depth = 0;
    std::function<void()> next = [&] {
        if (++depth < 1000) pool.execute(next);
    };
    pool.execute(next);
    EXPECT_EQ(depth, 1000);
}

TEST(rejection, caller_runs_runs_nothing_in_the_caller_while_a_thread_may_be_added) {
    thread_pool_executor pool(1, 2, 1h, room_for(1), default_thread_factory(),
                              caller_runs_policy{});
    const held_task held(pool);
    pool.execute([] {});
    gate ran;
    std::thread::id where;
    pool.execute([&] {
        where = std::this_thread::get_id();
        ran.open();
    });
    ASSERT_TRUE(ran.wait());
    EXPECT_NE(where, std::this_thread::get_id());
    EXPECT_EQ(pool.snapshot().rejected_task_count, 0);
}

class rejection_by_discard_oldest : public saturated {
protected:
    rejection_by_discard_oldest() : saturated(discard_oldest_policy{}) {}
};
// REJ-005
TEST_F(rejection_by_discard_oldest, drops_the_head_of_the_queue_and_queues_the_new_task) {
    auto newer = pool.submit([this] { ran += "new "; });
    EXPECT_TRUE(oldest.is_cancelled());
    EXPECT_FALSE(newer.is_done());
    EXPECT_EQ(pool.queue().size(), 1u);
    EXPECT_EQ(finish(), "new ");
    EXPECT_EQ(pool.completed_task_count(), 2);
}
// REJ-006
TEST_F(rejection_by_discard_oldest, drops_the_new_task_of_a_pool_that_is_shut_down) {
    pool.shutdown();
    auto dropped = pool.submit([this] { ran += "new "; });
    EXPECT_TRUE(dropped.is_cancelled());
    EXPECT_FALSE(oldest.is_cancelled());
    EXPECT_EQ(finish(), "oldest ");
}
TEST(rejection, discard_oldest_refuses_if_there_is_nothing_to_drop) {
    thread_pool_executor pool(1, 1, 1h, no_room(), default_thread_factory(),
                              discard_oldest_policy{});
    held_task held(pool);
    EXPECT_THROW(pool.execute([] {}), rejected_execution);
}

// REJ-007, REJ-008, TPE-045
TEST(rejection, a_handler_gets_the_pool_and_the_very_task_once) {
    std::vector<std::string> names;
    thread_pool_executor* seen = nullptr;
    thread_pool_executor pool(1, 1, 1h, room_for(1), default_thread_factory(),
                              [&](task t, thread_pool_executor& by) {
                                  names.emplace_back(t.name());
                                  seen = &by;
                                  t();
                              });
    held_tasks held(pool, 2);
    ASSERT_TRUE(held.have_started(1));
    bool ran = false;
    pool.execute(named("very", [&] { ran = true; }));
    EXPECT_EQ(names, std::vector<std::string>{"very"});
    EXPECT_EQ(seen, &pool);
    EXPECT_TRUE(ran);
    auto submitted = pool.submit(named("task", [] { return 7; }));
    EXPECT_EQ(names, (std::vector<std::string>{"very", "task"}));
    EXPECT_EQ(submitted.get(), 7);
    EXPECT_EQ(pool.task_count(), 2);
    EXPECT_EQ(pool.completed_task_count(), 0);
    EXPECT_EQ(pool.queue().size(), 1u);
    EXPECT_EQ(pool.snapshot().rejected_task_count, 2);
}

// REJ-009
TEST(rejection, a_handler_that_was_set_is_used_for_the_next_rejection) {
    int calls = 0;
    thread_pool_executor pool(1, 1, 1h, no_room());
    held_task held(pool);
    EXPECT_THROW(pool.execute([] {}), rejected_execution);
    pool.set_rejected_execution_handler([&](task, thread_pool_executor&) { ++calls; });
    pool.execute([] {});
    EXPECT_EQ(calls, 1);
    pool.shutdown();
    pool.execute([] {});
    EXPECT_EQ(calls, 2);
    pool.set_rejected_execution_handler([&](task, thread_pool_executor&) { calls += 10; });
    pool.execute([] {});
    EXPECT_EQ(calls, 12);
}

TEST(rejection, what_a_handler_throws_reaches_the_submitter_as_it_is) {
    struct own {
        int value;
    };
    thread_pool_executor pool(1, 1, 1h, no_room(), default_thread_factory(),
                              [](task, thread_pool_executor&) { throw own{7}; });
    held_task held(pool);
    future<void> never_given;
    EXPECT_THROW(pool.execute([] {}), own);
    EXPECT_THROW(never_given = pool.submit([] {}), own);
    EXPECT_EQ(pool.task_count(), 1);
    held.let_go();
    pool.close();
}

TEST(rejection, a_handler_may_replace_itself) {
    int calls = 0;
    thread_pool_executor pool(1, 1, 1h, no_room());
    pool.set_rejected_execution_handler(
        [&calls, alive = std::make_shared<int>(5)](task, thread_pool_executor& by) {
            by.set_rejected_execution_handler(discard_policy{});
            calls += *alive;
        });
    held_task held(pool);
    pool.execute([] {});
    pool.execute([] {});
    EXPECT_EQ(calls, 5);
}

TEST(rejection, a_handler_may_execute_the_task_again_and_it_is_decorated_once) {
    std::atomic<int> decorated = 0;
    std::atomic<int> runs = 0;
    int attempts = 0;
    const auto insist = [&](task t, thread_pool_executor& pool) {
        if (++attempts == 3) pool.set_maximum_pool_size(2);
        pool.execute(std::move(t));
    };
    const auto count = [&](task t) {
        ++decorated;
        return t;
    };
    thread_pool_executor pool({.core_pool_size = 1,
                               .queue = no_room(),
                               .rejection = insist,
                               .hooks = {.decorate_task = count}});
    held_task held(pool);
    decorated = 0;
    pool.submit([&] { ++runs; }).get();
    EXPECT_EQ(attempts, 3);
    EXPECT_EQ(decorated, 1);
    EXPECT_EQ(runs, 1);
}

// The second may get the memory of the first, and with it what a pool knows a task by.
TEST(rejection, a_handler_may_drop_the_task_and_execute_another_which_is_decorated) {
    int decorated = 0;
    const auto replace = [&](task t, thread_pool_executor& pool) {
        t = nullptr;
        pool.set_maximum_pool_size(2);
        pool.execute(future_task<void>([] {}));
    };
    const auto count = [&](task t) {
        ++decorated;
        return t;
    };
    thread_pool_executor pool({.core_pool_size = 1,
                               .queue = no_room(),
                               .rejection = replace,
                               .hooks = {.decorate_task = count}});
    held_task held(pool);
    decorated = 0;
    pool.execute(future_task<void>([] {}));
    EXPECT_EQ(decorated, 2);
}

TEST(rejection, a_handler_may_hand_the_task_to_another_pool) {
    thread_pool_executor overflow({.core_pool_size = 1, .name = "overflow"});
    thread_pool_executor pool(
        1, 1, 1h, no_room(), default_thread_factory(),
        [&](task t, thread_pool_executor&) { overflow.execute(std::move(t)); });
    held_task held(pool);
    auto where = pool.submit([] { return thread_handle::current().name(); });
    EXPECT_EQ(where.get(), "overflow-thread-1");
}

class rejection_by_block : public saturated {
protected:
    rejection_by_block() : saturated(block_policy{}) {}
};
TEST_F(rejection_by_block, waits_for_a_place) {
    waiting_call submitter([&] { pool.execute([this] { ran += "new "; }); });
    EXPECT_FALSE(submitter.is_over());
    running.let_go();
    EXPECT_TRUE(submitter.returned());
    EXPECT_EQ(finish(), "oldest new ");
}
TEST_F(rejection_by_block, has_rejected_nothing_if_a_place_becomes_free) {
    waiting_call submitter([&] { pool.execute([] {}); });
    EXPECT_EQ(pool.snapshot().rejected_task_count, 0);
    running.let_go();
    EXPECT_TRUE(submitter.returned());
    EXPECT_EQ(finish(), "oldest ");
    EXPECT_EQ(pool.snapshot().rejected_task_count, 0);
    EXPECT_EQ(pool.snapshot().completed_task_count, 3);
}
TEST_F(rejection_by_block, has_rejected_the_task_if_no_place_became_free) {
    pool.set_rejected_execution_handler(block_policy{0ns});
    EXPECT_THROW(pool.execute([] {}), rejected_execution);
    EXPECT_EQ(pool.snapshot().rejected_task_count, 1);
    pool.set_rejected_execution_handler(block_policy{});
    expect_interruptible([&] { pool.execute([] {}); });
    const auto interrupted_ones = pool.snapshot().rejected_task_count - 1;
    EXPECT_GT(interrupted_ones, 0);
    pool.shutdown();
    EXPECT_THROW(pool.execute([] {}), rejected_execution);
    EXPECT_EQ(pool.snapshot().rejected_task_count, interrupted_ones + 2);
}
TEST_F(rejection_by_block, gives_up_after_its_timeout_and_not_before) {
    pool.set_rejected_execution_handler(block_policy{short_delay});
    future<void> none;
    EXPECT_GE(time_of([&] { EXPECT_THROW(pool.execute([] {}), rejected_execution); }), short_delay);
    pool.set_rejected_execution_handler(block_policy{-1ns});
    EXPECT_THROW(pool.execute([] {}), rejected_execution);
    EXPECT_EQ(pool.task_count(), 2);
}
TEST_F(rejection_by_block, a_shutdown_ends_the_wait) {
    std::atomic<bool> rejected = false;
    waiting_call submitter([&] {
        try {
            pool.execute([] {});
        } catch (const rejected_execution&) {
            rejected = true;
        }
    });
    pool.shutdown();
    EXPECT_TRUE(submitter.returned());
    EXPECT_TRUE(rejected);
    EXPECT_EQ(finish(), "oldest ");
}
TEST_F(rejection_by_block, shutdown_now_ends_the_wait) {
    std::atomic<bool> rejected = false;
    waiting_call submitter([&] {
        try {
            pool.execute([] {});
        } catch (const rejected_execution&) {
            rejected = true;
        }
    });
    EXPECT_EQ(pool.shutdown_now().size(), 1u);
    EXPECT_TRUE(submitter.returned());
    EXPECT_TRUE(rejected);
    EXPECT_EQ(finish(), "");
}
TEST_F(rejection_by_block, an_interrupt_ends_the_wait_and_the_task_is_not_accepted) {
    expect_interruptible([&] { pool.execute([this] { ran += "new "; }); });
    EXPECT_EQ(pool.task_count(), 2);
    EXPECT_EQ(finish(), "oldest ");
}
TEST_F(rejection_by_block, a_raised_maximum_ends_the_wait) {
    waiting_call submitter([&] { pool.execute([] {}); });
    pool.set_maximum_pool_size(2);
    EXPECT_TRUE(submitter.returned());
    EXPECT_EQ(running.ended(), 0);
}
// What wakes a submitter that waits for a place is none of the factory's business.
TEST_F(rejection_by_block, a_change_does_not_interrupt_a_wait_in_the_thread_factory) {
    future_task<void> permission([] {});
    auto permitted = permission.get_future();
    gate in_factory;
    pool.set_thread_factory([&](std::function<void()> body) {
        in_factory.open();
        permitted.wait();
        return default_thread_factory()(std::move(body));
    });
    waiting_call submitter([&] { pool.execute([] {}); });
    pool.set_maximum_pool_size(2);
    ASSERT_TRUE(in_factory.wait());
    pool.set_maximum_pool_size(3);
    permission();
    EXPECT_TRUE(submitter.returned());
}
TEST_F(rejection_by_block, a_resize_ends_the_wait) {
    waiting_call submitter([&] { pool.execute([] {}); });
    pool.resize(1, 2);
    EXPECT_TRUE(submitter.returned());
    EXPECT_EQ(running.ended(), 0);
}
TEST_F(rejection_by_block, a_task_taken_out_of_the_queue_ends_the_wait) {
    waiting_call submitter([&] { pool.execute([this] { ran += "new "; }); });
    EXPECT_TRUE(pool.remove(oldest));
    EXPECT_TRUE(submitter.returned());
    EXPECT_EQ(finish(), "new ");
}
TEST_F(rejection_by_block, is_refused_at_once_by_a_pool_that_is_shut_down) {
    pool.shutdown();
    EXPECT_THROW(pool.execute([] {}), rejected_execution);
}
TEST(rejection, a_resize_lets_those_in_who_wait_at_a_queue_without_room) {
    thread_pool_executor pool(1, 1, 1h, no_room(), default_thread_factory(), block_policy{});
    held_task held(pool);
    waiting_call submitter([&] { pool.execute([] {}); });
    pool.resize(2, 2);
    EXPECT_TRUE(submitter.returned());
    EXPECT_EQ(held.ended(), 0);
}

TEST(rejection, a_policy_called_by_others_makes_the_task_one_of_the_pools) {
    const std::vector<rejected_execution_handler> policies = {discard_oldest_policy{},
                                                              block_policy{}};
    for (const auto& policy : policies) {
        std::atomic<int> decorated = 0;
        thread_pool_executor pool({.core_pool_size = 1, .hooks = {.decorate_task = [&](task t) {
                                                            ++decorated;
                                                            return t;
                                                        }}});
        held_task held(pool);
        EXPECT_EQ(decorated, 1);
        policy([] {}, pool);
        EXPECT_EQ(decorated, 2);
        future_task with_future([] {});
        const auto result = with_future.get_future();
        policy(std::move(with_future), pool);
        EXPECT_EQ(decorated, 3);
        EXPECT_EQ(pool.snapshot().submitted_task_count, 3);
        EXPECT_TRUE(pool.remove(result));
        EXPECT_THROW(policy(task(), pool), std::invalid_argument);
    }
}
TEST(rejection, a_policy_does_not_decorate_again_what_its_pool_rejected) {
    int decorated = 0;
    thread_pool_executor pool({.core_pool_size = 1,
                               .queue = room_for(1),
                               .rejection = discard_oldest_policy{},
                               .hooks = {.decorate_task = [&](task t) {
                                   ++decorated;
                                   return t;
                               }}});
    held_task held(pool);
    pool.execute([] {});
    pool.execute([] {});
    const auto newest = pool.submit([] {});
    EXPECT_EQ(decorated, 4);
    EXPECT_TRUE(pool.remove(newest));
}

TEST(rejection, a_policy_that_is_called_later_knows_the_task_of_its_pool) {
    std::atomic<int> decorated = 0;
    task kept;
    thread_pool_executor pool({.core_pool_size = 1,
                               .queue = room_for(1),
                               .rejection = [&](task t, auto&) { kept = std::move(t); },
                               .hooks = {.decorate_task = [&](task t) {
                                   ++decorated;
                                   return t;
                               }}});
    held_task held(pool);
    pool.execute([] {});
    const auto newest = pool.submit([] {});
    EXPECT_EQ(decorated, 3);
    discard_oldest_policy{}(std::move(kept), pool);
    EXPECT_EQ(decorated, 3);
    EXPECT_EQ(pool.snapshot().submitted_task_count, 3);
    EXPECT_TRUE(pool.remove(newest));
}
TEST(rejection, a_task_for_which_a_policy_called_by_others_finds_no_place_was_submitted_too) {
    thread_pool_executor pool(1, 1, 1h, room_for(1), default_thread_factory(),
                              [](task t, auto& to) { block_policy{0ns}(std::move(t), to); });
    held_task held(pool);
    pool.execute([] {});
    EXPECT_THROW(pool.execute([] {}), rejected_execution);
    EXPECT_EQ(pool.snapshot().rejected_task_count, 1);
    EXPECT_EQ(pool.snapshot().submitted_task_count, 3);
}

TEST(rejection, a_task_that_spills_over_into_another_pool_is_one_of_that_pool) {
    std::atomic<int> decorated = 0;
    thread_pool_executor second({.core_pool_size = 1, .hooks = {.decorate_task = [&](task t) {
                                                          ++decorated;
                                                          return t;
                                                      }}});
    thread_pool_executor first(
        {.core_pool_size = 1, .queue = no_room(), .rejection = [&](task t, thread_pool_executor&) {
             block_policy{}(std::move(t), second);
         }});
    const held_task busy(first);
    for (int i = 0; i < 3; ++i) first.execute([] {});
    EXPECT_TRUE(eventually([&] { return second.completed_task_count() == 3; }));
    EXPECT_EQ(decorated, 3);
    EXPECT_EQ(second.snapshot().submitted_task_count, 3);
}

/// The threads of the first `granted` calls; then none.
thread_factory for_a_while(int granted) {
    return [left = std::make_shared<std::atomic<int>>(granted)](std::function<void()> body) {
        return (*left)-- > 0 ? thread(std::move(body)) : thread();
    };
}
// WK-18
TEST(rejection, those_who_wait_for_a_place_get_that_of_a_thread_which_never_runs_its_body) {
    gate end;
    std::atomic<int> asked = 0;
    const auto drops_the_first = [&](std::function<void()> body) {
        if (asked++ > 0) return cadre::thread(std::move(body));
        return cadre::thread([&end, dropped = std::move(body)] { end.wait(); });
    };
    thread_pool_executor pool({.core_pool_size = 1,
                               .queue = no_room(),
                               .thread_factory = drops_the_first,
                               .rejection = block_policy{},
                               .hooks = {.uncaught_exception = [](auto&, auto) {}}});
    pool.execute([] {});
    waiting_call submitter([&] { pool.submit([] {}).get(); });
    end.open();
    EXPECT_TRUE(submitter.returned());
    EXPECT_EQ(asked, 2);
}

TEST(rejection, those_who_wait_for_a_place_are_told_when_the_last_worker_cannot_be_replaced) {
    for (const bool has_queue : {false, true}) {
        thread_pool_executor pool({.core_pool_size = 1,
                                   .maximum_pool_size = 1,
                                   .queue = has_queue ? room_for(1) : no_room(),
                                   .thread_factory = for_a_while(1),
                                   .rejection = block_policy{},
                                   .hooks = {.uncaught_exception = [](auto&, auto) {}}});
        gate die;
        pool.execute([&] {
            die.wait();
            throw std::runtime_error("it dies");
        });
        if (has_queue) pool.execute([] {});
        std::atomic<int> rejected = 0;
        const auto submits = [&] {
            EXPECT_THROW(pool.execute([] {}), rejected_execution);
            ++rejected;
        };
        waiting_call first(submits);
        waiting_call second(submits);
        EXPECT_EQ(rejected, 0);
        die.open();
        EXPECT_TRUE(first.returned());
        EXPECT_TRUE(second.returned());
        EXPECT_EQ(rejected, 2);
    }
}
TEST(rejection, those_who_wait_for_a_place_get_the_thread_of_a_worker_that_left) {
    thread_pool_executor pool({.core_pool_size = 1,
                               .maximum_pool_size = 1,
                               .queue = no_room(),
                               .rejection = block_policy{},
                               .hooks = {.uncaught_exception = [](auto&, auto) {}}});
    for (int round = 0; round < 50; ++round) {
        gate die;
        pool.execute([&] {
            die.wait();
            throw std::runtime_error("it dies");
        });
        std::atomic<int> ran = 0;
        waiting_call submitter([&] { pool.execute([&] { ++ran; }); });
        die.open();
        EXPECT_TRUE(submitter.returned());
        EXPECT_TRUE(eventually([&] { return ran == 1; }));
    }
}

TEST(rejection, an_invoke_any_whose_tasks_are_all_dropped_is_cancelled) {
    thread_pool_executor pool(1, 1, 1h, room_for(1), default_thread_factory(), discard_policy{});
    held_task held(pool);
    pool.execute([] {});
    EXPECT_THROW(pool.invoke_any(std::vector<std::function<int()>>(3, [] { return 1; })),
                 cancellation);
}

TEST(rejection, a_timed_invoke_all_sends_nothing_when_its_time_is_over) {
    thread_pool_executor pool(1, 1, 1h, no_room(), default_thread_factory(), caller_runs_policy{});
    held_task held(pool);
    std::atomic<int> runs = 0;
    const auto takes_too_long = [&] {
        ++runs;
        take_at_least(2 * short_delay);
    };
    const auto results = pool.invoke_all(std::vector(3, takes_too_long), short_delay);
    EXPECT_LE(runs, 1);
    EXPECT_TRUE(results[1].is_cancelled());
    EXPECT_TRUE(results[2].is_cancelled());
}

}  // namespace
}  // namespace cadre::testing
