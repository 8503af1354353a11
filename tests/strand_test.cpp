// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/held_task.hpp"
#include "support/manual_executor.hpp"
#include "support/pools.hpp"
#include <cadre/executors.hpp>
#include <cadre/strand.hpp>

namespace cadre::testing {
namespace {

TEST(strand, runs_its_tasks_one_at_a_time_and_in_order) {
    std::vector<int> ran;  // without a lock
    {
        const auto pool = executors::fixed_thread_pool(4);
        strand lane(*pool);
        for (int i = 0; i < 1000; ++i) lane.execute([&, i] { ran.push_back(i); });
    }  // the pool runs all it has
    ASSERT_EQ(ran.size(), 1000u);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(ran[static_cast<std::size_t>(i)], i);
}

TEST(strand, gives_results) {
    const auto pool = executors::fixed_thread_pool(2);
    strand lane(*pool);
    auto sum = lane.submit([](int a, int b) { return a + b; }, 1, 2);
    auto failure = lane.submit([] { throw std::out_of_range("no such page"); });
    EXPECT_EQ(sum.get(), 3);
    EXPECT_THROW(failure.get(), std::out_of_range);
}

TEST(strand, occupies_no_thread_for_tasks_that_wait_for_their_turn) {
    const auto pool = executors::fixed_thread_pool(2);
    strand lane(*pool);
    held_tasks first(lane, 1);
    ASSERT_TRUE(first.have_started(1));
    for (int i = 0; i < 10; ++i) lane.execute([] {});
    EXPECT_EQ(pool->submit([] { return 42; }).get_for(guard), 42);
}

TEST(strand, is_quick_to_let_go_of_tickets_whichever_goes_first) {
    class backwards final : public executor {
    public:
        void execute(task t) override { tasks_.push_back(std::move(t)); }
        void drop_all() {
            while (!tasks_.empty()) tasks_.pop_back();
        }

    private:
        std::vector<task> tasks_;
    } last_first;
    strand lane(last_first);
    for (int i = 0; i < 200'000; ++i) lane.execute([] {});
    EXPECT_LT(time_of([&] { last_first.drop_all(); }), long_delay);
    std::vector<int> ran;
    lane.execute([&] { ran.push_back(1); });
    lane.execute([&] { ran.push_back(2); });
    last_first.drop_all();
    EXPECT_TRUE(ran.empty());
}

TEST(strand, goes_on_after_a_task_that_throws) {
    std::atomic<int> uncaught = 0;
    std::vector<int> ran;
    {
        thread_pool_executor pool(
            {.core_pool_size = 2,
             .hooks = {.uncaught_exception = [&](const auto&, const auto&) { ++uncaught; }}});
        strand lane(pool);
        lane.execute([&] { ran.push_back(1); });
        lane.execute([] { throw std::out_of_range("no such page"); });
        lane.execute([&] { ran.push_back(2); });
    }
    EXPECT_EQ(ran, (std::vector{1, 2}));
    EXPECT_EQ(uncaught, 1);
}

TEST(strand, tells_of_every_exception_of_tasks_that_were_run_in_one_go) {
    manual_executor queue;
    strand lane(queue);
    lane.execute([&] {
        queue.run_one();  // finds the lane busy, as on another thread
        throw std::out_of_range("first");
    });
    lane.execute([] { throw std::out_of_range("second"); });
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(message_of<std::out_of_range>([&] { queue.run_one(); }), "second");
    const std::string told = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(told.find("uncaught in a task of a strand: first"), std::string::npos) << told;
}

TEST(strand, keeps_its_tasks_when_a_pool_stops_that_is_not_its_own) {
    const auto other = executors::fixed_thread_pool(1);
    inline_executor here;
    strand lane(here);
    gate started, go;
    other->execute([&] {
        lane.execute([&] {
            started.open();
            go.wait();
        });
    });
    EXPECT_TRUE(started.wait());
    auto next = lane.submit([] { return 42; });  // the thread that is at it goes on with this
    other->shutdown_now();
    go.open();
    EXPECT_EQ(next.get(), 42);
}

TEST(strand, lets_a_task_add_to_its_own_strand) {
    inline_executor here;
    strand lane(here);
    std::vector<int> ran;
    lane.execute([&] {
        lane.execute([&] { ran.push_back(2); });
        ran.push_back(1);
    });
    EXPECT_EQ(ran, (std::vector{1, 2}));
}

TEST(strand, passes_refusals_on_and_forgets_what_was_refused) {
    refusing_executor refuses;
    strand lane(refuses);
    auto captured = std::make_shared<int>(42);
    EXPECT_THROW(lane.execute([captured] {}), rejected_execution);
    EXPECT_EQ(captured.use_count(), 1);
    EXPECT_THROW(lane.execute(task()), std::invalid_argument);
}

TEST(strand, keeps_the_bounds_of_its_pool) {
    thread_pool_executor pool({.core_pool_size = 1, .queue = room_for(2)});
    strand lane(pool);
    std::vector<int> ran;
    {
        const held_task occupies_the_worker(pool);
        lane.execute([&] { ran.push_back(1); });
        lane.execute([&] { ran.push_back(2); });
        EXPECT_THROW(lane.execute([&] { ran.push_back(3); }), rejected_execution);
    }
    pool.close();
    EXPECT_EQ(ran, (std::vector{1, 2}));
}

TEST(strand, cancels_the_tasks_that_the_pool_drops) {
    const auto pool = executors::fixed_thread_pool(1);
    strand lane(*pool);
    future<int> queued;
    {
        const held_task occupies_the_worker(*pool);
        queued = lane.submit([] { return 1; });
        pool->shutdown_now();
    }
    EXPECT_TRUE(queued.is_cancelled());
}

TEST(strand, cancels_the_tasks_that_the_policy_drops) {
    thread_pool_executor pool(
        {.core_pool_size = 1, .queue = no_room(), .rejection = discard_policy{}});
    strand lane(pool);
    const held_task occupies_the_worker(pool);
    EXPECT_TRUE(lane.submit([] { return 1; }).is_cancelled());
}

/// Keeps tasks, to be run in any order.
class keeping_executor : public executor {
public:
    void execute(task t) override { tickets.push_back(std::move(t)); }
    std::vector<task> tickets;
};

TEST(strand, runs_what_is_before_a_task_whose_turn_comes_early) {
    keeping_executor kept;
    strand lane(kept);
    std::vector<int> ran;
    for (int i = 0; i < 4; ++i) lane.execute([&, i] { ran.push_back(i); });
    kept.tickets[2]();
    EXPECT_EQ(ran, (std::vector{0, 1, 2}));
    kept.tickets[0]();
    kept.tickets[1]();
    EXPECT_EQ(ran, (std::vector{0, 1, 2}));
    kept.tickets[3]();
    EXPECT_EQ(ran, (std::vector{0, 1, 2, 3}));
}

TEST(strand, drops_nothing_for_a_task_that_was_run_early) {
    keeping_executor kept;
    strand lane(kept);
    auto first = lane.submit([] { return 1; });
    auto second = lane.submit([] { return 2; });
    auto third = lane.submit([] { return 3; });
    kept.tickets[1]();
    kept.tickets.erase(kept.tickets.begin());  // the first's
    EXPECT_EQ(first.get(), 1);
    EXPECT_EQ(second.get(), 2);
    EXPECT_FALSE(third.is_done());
    kept.tickets.clear();
    EXPECT_TRUE(third.is_cancelled());
}

TEST(strand, may_be_waited_for_by_a_task_of_its_pool) {
    const auto pool = executors::fixed_thread_pool(1);
    strand lane(*pool);
    keyed_strands<int> lanes(*pool);
    auto sum = pool->submit([&] {
        std::vector<future<int>> all;
        for (int i = 0; i < 5; ++i) all.push_back(lane.submit([i] { return i; }));
        return all[3].get() + all[4].get() + lanes.submit(7, [] { return 10; }).get();
    });
    EXPECT_TRUE(sum.wait_for(guard));
    EXPECT_EQ(sum.get(), 17);
}

TEST(strand, drops_what_waits_for_its_turn_when_the_pool_stops) {
    gate started, go;
    thread_pool_executor pool({.core_pool_size = 2});
    strand lane(pool);
    auto first = lane.submit([&] {
        started.open();
        go.wait();
    });
    EXPECT_TRUE(started.wait());
    auto second = lane.submit([] { ADD_FAILURE() << "started after the stop"; });
    EXPECT_TRUE(has_completed(pool, 1));  // the other worker has left it to the first
    EXPECT_TRUE(pool.shutdown_now().empty());
    go.open();
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_TRUE(second.is_cancelled());
}

TEST(strand, runs_the_task_of_a_submitter_that_is_refused_too_late) {
    // Refuses a ticket after another one has run its task.
    class : public executor {
    public:
        void execute(task t) override {
            if (refuse_next) {
                refuse_next = false;
                meanwhile();
                throw rejected_execution("no");
            }
            tickets.push_back(std::move(t));
        }
        bool refuse_next = true;
        std::function<void()> meanwhile;
        std::vector<task> tickets;
    } late;
    strand lane(late);
    std::vector<int> ran;
    late.meanwhile = [&] {
        lane.execute([&] { ran.push_back(2); });
        late.tickets.front()();
    };
    lane.execute([&] { ran.push_back(1); });  // throws nothing: the task has run
    EXPECT_EQ(ran, (std::vector{1, 2}));
}

TEST(strand, passes_on_what_an_executor_throws_that_has_run_the_task) {
    struct complaining_executor : executor {
        bool complains = true;
        void execute(task t) override {
            t();
            if (complains) throw std::length_error("too much to do");
        }
    } here;
    strand lane(here);
    int ran = 0;
    EXPECT_THROW(lane.execute([&] { ++ran; }), std::length_error);
    here.complains = false;
    lane.execute([&] { ++ran; });
    EXPECT_EQ(ran, 2);
}

TEST(strand, may_be_destroyed_before_its_tasks_have_run) {
    manual_executor queue;
    int ran = 0;
    {
        strand lane(queue);
        lane.execute([&] { ++ran; });
        lane.execute([&] { ++ran; });
    }
    queue.run_all();
    EXPECT_EQ(ran, 2);
}

TEST(strand, destroys_results_that_nobody_wants_under_no_lock) {
    gate sent_by_the_result;
    const auto pool = executors::fixed_thread_pool(2);
    strand lane(*pool);
    held_tasks first(lane, 1);
    ASSERT_TRUE(first.have_started(1));
    static_cast<void>(lane.submit([&] {
        return std::shared_ptr<void>(
            nullptr, [&](void*) { lane.execute([&] { sent_by_the_result.open(); }); });
    }));
    pool->submit([] {}).get();  // the ticket before it has come, and gone: the lane has the rest
    first.let_go();
    EXPECT_TRUE(sent_by_the_result.wait());
}

TEST(strand, shows_hooks_the_names_of_its_tasks) {
    std::vector<std::string> names;
    {
        thread_pool_executor pool(
            {.core_pool_size = 1, .hooks = {.after_execute = [&](const task& t, const auto&) {
                                      names.emplace_back(t.name());
                                  }}});
        strand lane(pool);
        lane.execute(named("first", [] {}));
        lane.execute([] {});
    }
    EXPECT_EQ(names, (std::vector<std::string>{"first", ""}));
}

TEST(keyed_strands, runs_tasks_of_a_key_in_order) {
    std::vector<int> ran[3];
    {
        const auto pool = executors::fixed_thread_pool(4);
        keyed_strands<std::string> lanes(*pool);
        for (int i = 0; i < 900; ++i)
            lanes.execute("key " + std::to_string(i % 3), [&, i] { ran[i % 3].push_back(i / 3); });
        EXPECT_EQ(lanes.submit("another", [] { return 42; }).get(), 42);
    }
    for (const auto& numbers : ran) {
        ASSERT_EQ(numbers.size(), 300u);
        for (int i = 0; i < 300; ++i) EXPECT_EQ(numbers[static_cast<std::size_t>(i)], i);
    }
}

TEST(keyed_strands, runs_different_keys_in_parallel) {
    std::atomic<int> here = 0;
    const auto pool = executors::fixed_thread_pool(2);
    keyed_strands<int> lanes(*pool);
    const auto meet = [&] {  // neither can go on alone
        ++here;
        EXPECT_TRUE(eventually([&] { return here == 2; }));
    };
    auto one = lanes.submit(1, meet);
    auto two = lanes.submit(2, meet);
    one.get();
    two.get();
}

TEST(keyed_strands, gives_an_executor_for_a_key) {
    manual_executor queue;
    keyed_strands<int> lanes(queue);
    auto lane = lanes.strand(7);
    std::vector<int> ran;
    lane.execute([&] { ran.push_back(1); });
    lanes.execute(7, [&] { ran.push_back(2); });
    auto third = lane.submit([&] { ran.push_back(3); });
    queue.run_all();
    EXPECT_EQ(ran, (std::vector{1, 2, 3}));
    EXPECT_TRUE(third.is_done());
}

TEST(keyed_strands, keeps_nothing_of_keys_without_tasks) {
    manual_executor queue;
    auto key = std::make_shared<int>(42);
    keyed_strands<std::shared_ptr<int>> lanes(queue);
    lanes.execute(key, [] {});
    lanes.execute(key, [] {});
    lanes.execute(nullptr, [] {});
    EXPECT_EQ(lanes.active_keys(), 2u);
    queue.run_all();
    EXPECT_EQ(lanes.active_keys(), 0u);
    EXPECT_EQ(key.use_count(), 1);

    lanes.execute(key, [] {});
    queue.drop_all();
    EXPECT_EQ(lanes.active_keys(), 0u);
    EXPECT_EQ(key.use_count(), 1);

    refusing_executor refuses;
    keyed_strands<std::shared_ptr<int>> refused(refuses);
    EXPECT_THROW(refused.execute(key, [] {}), rejected_execution);
    EXPECT_EQ(refused.active_keys(), 0u);
}

}  // namespace
}  // namespace cadre::testing
