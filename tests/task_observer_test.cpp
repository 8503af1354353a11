// SPDX-License-Identifier: Apache-2.0
#include <cadre/task_observer.hpp>

#include <gtest/gtest.h>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/waiting_call.hpp"
#include <cadre/thread_pool_executor.hpp>

namespace cadre {
namespace {

/// Counts what it is told of. Its worker passes over tasks during the tick that it was given.
class counting_observer final : public task_observer {
public:
    explicit counting_observer(std::uint64_t tick = 0) : pass_during(tick) { set_tick(tick); }

    void worker_begins(worker_record& worker) noexcept override {
        if (pass_during != 0) worker.pass_over_during(pass_during);
    }
    void worker_ends(worker_record&) noexcept override {
        ++ended;
        if (may_leave) {
            EXPECT_TRUE(may_leave->wait());
        }
    }
    void worker_waits(worker_record&) noexcept override { ++waits; }
    void worker_wakes(worker_record&) noexcept override {}
    void task_begins(worker_record& worker, const task&, frame&) noexcept override {
        was_late = was_late || worker.was_late;
    }
    void task_ends(worker_record&, const frame&, bool) noexcept override { ++told; }
    void passed_over_failed(worker_record&) noexcept override { ++failed; }
    std::int64_t task_submitted() noexcept override {
        ++submitted;
        return std::chrono::steady_clock::now().time_since_epoch().count();
    }
    void task_rejected(const task& t) noexcept override {
        if (t.name() == "rejected") ++rejected;
    }
    void thread_failed(const task*) noexcept override {}

    using task_observer::move_tick_on;
    using task_observer::set_tick;

    const std::uint64_t pass_during;
    const testing::gate* may_leave = nullptr;
    std::atomic<int> ended = 0;
    std::atomic<int> told = 0;
    std::atomic<int> waits = 0;
    std::atomic<int> failed = 0;
    std::atomic<int> submitted = 0;
    std::atomic<int> rejected = 0;  // by that name
    std::atomic<bool> was_late = false;
};

std::uint64_t this_tick() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      task_observer::tick_unit);
}

/// A pool of one thread.
struct observed_pool {
    explicit observed_pool(std::uint64_t tick = 0)
        : observer(std::make_shared<counting_observer>(tick)) {}
    bool has_completed(int tasks) { return testing::has_completed(pool, tasks); }

    const std::shared_ptr<counting_observer> observer;
    thread_pool_executor pool{
        {.core_pool_size = 1,
         .hooks = {.uncaught_exception = [](auto&, auto) {}, .observer = observer}}};
};

// SH-07. The workers are counted off then, so that the pool may terminate, but not out of the
// books.
TEST(task_observer, is_waited_for_by_the_destructor_of_a_pool_that_has_terminated) {
    testing::gate may_leave;
    const auto observer = std::make_shared<counting_observer>();
    observer->may_leave = &may_leave;
    auto pool = std::make_unique<thread_pool_executor>(
        thread_pool_options{.core_pool_size = 2, .hooks = {.observer = observer}});
    pool->prestart_all_core_threads();
    pool->shutdown();
    ASSERT_TRUE(testing::eventually([&] { return observer->ended == 2; }));
    pool->shutdown();  // nobody else looks whether that was the last
    EXPECT_TRUE(pool->is_terminated());
    testing::waiting_call destroyer([&] { pool.reset(); });
    EXPECT_FALSE(destroyer.is_over());
    may_leave.open();
    EXPECT_TRUE(destroyer.returned());
}

constexpr int many = 2000;

TEST(task_observer, is_told_of_every_task_while_it_does_not_tick) {
    observed_pool p;
    for (int i = 0; i < many; ++i) p.pool.execute([] {});
    EXPECT_TRUE(p.has_completed(many));
    EXPECT_EQ(p.observer->told, many);
    EXPECT_EQ(p.observer->submitted, many);
}

TEST(task_observer, is_told_of_a_sample_of_bare_tasks_while_it_ticks) {
    observed_pool p(this_tick());
    for (int i = 0; i < many; ++i) p.pool.execute([] {});
    EXPECT_TRUE(p.has_completed(many));
    EXPECT_EQ(p.observer->told, p.observer->submitted);
    EXPECT_GE(p.observer->told, many / 512 / 2);
    EXPECT_LE(p.observer->told, many / 512 * 2 + 2);
}

TEST(task_observer, is_told_of_tasks_with_a_name_or_a_future_always) {
    observed_pool p(this_tick());
    for (int i = 0; i < 10; ++i) p.pool.execute(named("a", [] {}));
    for (int i = 0; i < 10; ++i) static_cast<void>(p.pool.submit([] {}));
    EXPECT_TRUE(p.has_completed(20));
    EXPECT_EQ(p.observer->told, 20);
}

TEST(task_observer, is_told_of_all_but_the_first_that_ends_after_the_tick_moved_on) {
    observed_pool p(this_tick());
    testing::held_tasks held(p.pool, 1);
    ASSERT_TRUE(held.have_started(1));
    for (int i = 0; i < 5; ++i) p.pool.execute([] {});
    p.observer->move_tick_on(p.observer->tick() + 1);
    held.let_go();
    EXPECT_TRUE(p.has_completed(6));
    EXPECT_TRUE(p.observer->was_late);
    EXPECT_EQ(p.observer->told, 5);  // the held one may be the sample: then the next is passed over
}

TEST(task_observer, is_told_of_a_task_inside_one_that_is_passed_over) {
    observed_pool p(this_tick());
    std::atomic<int> told_inside = 0;
    for (int i = 0; i < 10; ++i) {
        p.pool.execute([&] {
            const int before = p.observer->told;
            p.pool.submit([] {}).get();
            told_inside += p.observer->told - before;
        });
    }
    EXPECT_TRUE(p.has_completed(20));
    EXPECT_EQ(told_inside, 10);
    EXPECT_LT(p.observer->told, 20);
}

TEST(task_observer, hears_of_failures_of_tasks_that_are_passed_over) {
    observed_pool p(this_tick());
    for (int i = 0; i < 10; ++i) p.pool.execute([] { throw std::runtime_error("x"); });
    p.pool.close();
    EXPECT_GT(p.observer->failed, 0);
    EXPECT_EQ(p.observer->told + p.observer->failed, 10);
}

TEST(task_observer, sees_when_a_task_with_a_coarse_stamp_was_submitted) {
    const auto tick = this_tick();
    observed_pool p(tick);
    testing::held_task held(p.pool);
    for (int i = 0; i < 10; ++i) p.pool.execute([] {});
    const auto latest = tick + task_observer::most_ticks_behind;
    p.pool.queue().for_each([&](const task& t) {
        const std::chrono::nanoseconds stamp(task_observer::stamp_of(t));
        EXPECT_GE(stamp, tick * task_observer::tick_unit);
        if (task_observer::has_coarse_stamp(t)) {
            EXPECT_LE(stamp, latest * task_observer::tick_unit);
        }
    });
}

TEST(task_observer, hears_of_no_wait_while_a_pool_that_is_shut_down_has_tasks) {
    observed_pool p;
    {
        testing::held_task held(p.pool);
        for (int i = 0; i < 100; ++i) p.pool.execute([] {});
        p.pool.shutdown();
    }
    p.pool.close();
    EXPECT_EQ(p.observer->told, 101);
    EXPECT_LE(p.observer->waits, 3);  // before the first, when nudged, and at the end
}

TEST(task_observer, hears_of_a_task_that_waited_for_a_place_only_if_it_got_none) {
    const auto observer = std::make_shared<counting_observer>();
    thread_pool_executor pool({.core_pool_size = 1,
                               .maximum_pool_size = 1,
                               .queue = testing::no_room(),
                               .rejection = block_policy{},
                               .hooks = {.observer = observer}});
    testing::held_task held(pool);
    testing::waiting_call submitter([&] { pool.execute(named("rejected", [] {})); });
    held.let_go();
    EXPECT_TRUE(submitter.returned());
    EXPECT_TRUE(testing::has_completed(pool, 2));
    EXPECT_EQ(observer->rejected, 0);
    pool.set_rejected_execution_handler(block_policy{std::chrono::nanoseconds(0)});
    testing::held_task held_again(pool);
    EXPECT_THROW(pool.execute(named("rejected", [] {})), rejected_execution);
    EXPECT_EQ(observer->rejected, 1);
}

TEST(task_observer, moves_its_tick_forwards_only_and_not_once_it_has_stopped) {
    counting_observer observer;
    observer.move_tick_on(7);
    EXPECT_EQ(observer.tick(), 0u);
    observer.set_tick(5);
    observer.move_tick_on(7);
    observer.move_tick_on(6);
    EXPECT_EQ(observer.tick(), 7u);
}

}  // namespace
}  // namespace cadre
