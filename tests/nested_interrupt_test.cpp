// SPDX-License-Identifier: Apache-2.0
//
// Whom an interrupt reaches when tasks lie on each other on one thread.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <vector>

#include "support/held_task.hpp"
#include <cadre/executors.hpp>
#include <cadre/work_stealing_pool.hpp>

namespace cadre::testing {
namespace {

struct plain_pool {
    thread_pool_executor pool{{.core_pool_size = 1}};
};
struct stealing_pool {
    work_stealing_pool pool{{.parallelism = 1}};
};

template <class Kind>
class nested_interrupts : public ::testing::Test {
protected:
    Kind kind;
};
using kinds = ::testing::Types<plain_pool, stealing_pool>;
TYPED_TEST_SUITE(nested_interrupts, kinds, );

TYPED_TEST(nested_interrupts, the_flag_that_a_nested_task_sets_ends_with_it) {
    auto& pool = this->kind.pool;
    auto parent = pool.submit([&] {
        pool.submit([] { thread_handle::current().interrupt(); }).get();
        return this_thread::is_interrupted();
    });
    EXPECT_FALSE(parent.get());
}

TYPED_TEST(nested_interrupts, an_interrupt_for_the_waiting_task_comes_when_the_nested_one_is_over) {
    auto& pool = this->kind.pool;
    gate nested_runs;
    gate cancelled;
    gate over;
    bool nested_felt_it = true;
    bool parent_felt_it = false;
    auto parent = pool.submit([&] {
        pool.submit([&] {
                nested_runs.open();
                cancelled.wait();
                nested_felt_it = this_thread::is_interrupted();
            })
            .get();
        parent_felt_it = this_thread::interrupted();
        over.open();
    });
    ASSERT_TRUE(nested_runs.wait());
    EXPECT_TRUE(parent.cancel(true));
    cancelled.open();
    ASSERT_TRUE(over.wait());
    EXPECT_FALSE(nested_felt_it);
    EXPECT_TRUE(parent_felt_it);
}

TYPED_TEST(nested_interrupts, for_a_task_that_waits_again_pass_over_the_second_nested_one) {
    auto& pool = this->kind.pool;
    gate nested_runs;
    gate cancelled;
    gate over;
    bool nested_felt_it = true;
    auto parent = pool.submit([&] {
        pool.submit([] {}).get();
        pool.submit([&] {
                nested_runs.open();
                cancelled.wait();
                nested_felt_it = this_thread::is_interrupted();
            })
            .get();
        over.open();
    });
    ASSERT_TRUE(nested_runs.wait());
    EXPECT_TRUE(parent.cancel(true));
    cancelled.open();
    ASSERT_TRUE(over.wait());
    EXPECT_FALSE(nested_felt_it);
}

TYPED_TEST(nested_interrupts, shutdown_now_reaches_the_nested_task_and_the_one_that_waits) {
    auto& pool = this->kind.pool;
    gate nested_runs;
    gate stopped;
    bool nested_felt_it = false;
    auto parent = pool.submit([&] {
        pool.submit([&] {
                nested_runs.open();
                stopped.wait();
                nested_felt_it = this_thread::interrupted();
            })
            .get();
        return this_thread::interrupted();
    });
    ASSERT_TRUE(nested_runs.wait());
    pool.shutdown_now();
    stopped.open();
    EXPECT_TRUE(parent.get());
    EXPECT_TRUE(nested_felt_it);
}

// A task that was executed, so has no future, lies on one that has: an interrupt for the lower one
// is none for the upper.
TEST(nested_interrupts_of_strangers, pass_over_a_task_without_a_future) {
    gate top_runs;
    gate cancelled;
    gate over;
    work_stealing_pool pool({.parallelism = 1});
    future_task<int> outside([] { return 1; });
    auto answer = outside.get_future();
    bool stranger_felt_it = true;
    bool waiting_felt_it = false;
    auto waiting = pool.submit([&] {
        pool.execute([&] {
            pool.submit([&] {
                    top_runs.open();
                    cancelled.wait();
                })
                .get();
            stranger_felt_it = this_thread::is_interrupted();
        });
        try {
            answer.get();
        } catch (const interrupted&) {
            waiting_felt_it = true;
        }
        over.open();
    });
    ASSERT_TRUE(top_runs.wait());
    EXPECT_TRUE(waiting.cancel(true));
    cancelled.open();
    const bool came = over.wait();
    if (!came) outside();
    ASSERT_TRUE(came);
    EXPECT_FALSE(stranger_felt_it);
    EXPECT_TRUE(waiting_felt_it);
}

// Work that goes on and on must not keep the interrupt from a task that helps with it.
TEST(nested_interrupts_of_strangers, reach_an_invoke_any_that_always_finds_work) {
    gate may_answer;  // waited for until elsewhere ends
    gate worked;
    gate over;
    std::atomic<bool> enough = false;
    bool felt_it = false;
    work_stealing_pool pool({.parallelism = 1});
    thread_pool_executor elsewhere({.core_pool_size = 1});
    std::function<void()> work = [&] {
        worked.open();
        if (!enough) pool.execute(work);
    };
    auto waiting = pool.submit([&] {
        pool.execute(work);
        try {
            elsewhere.invoke_any(
                std::vector<std::function<bool()>>{[&] { return may_answer.wait(); }});
        } catch (const interrupted&) {
            felt_it = true;
        }
        over.open();
    });
    ASSERT_TRUE(worked.wait());
    EXPECT_TRUE(waiting.cancel(true));
    EXPECT_TRUE(over.wait());
    enough = true;
    may_answer.open();
    pool.close();
    EXPECT_TRUE(felt_it);
}

TEST(nested_interrupts_of_strangers, reach_a_get_that_always_finds_work) {
    gate worked;
    gate over;
    std::atomic<bool> enough = false;
    bool felt_it = false;
    work_stealing_pool pool({.parallelism = 1});
    future_task<void> outside([] {});
    const auto answer = outside.get_future();
    std::function<void()> work = [&] {
        worked.open();
        if (!enough) pool.execute(work);
    };
    auto waiting = pool.submit([&] {
        pool.execute(work);
        try {
            answer.wait();
        } catch (const interrupted&) {
            felt_it = true;
        }
        over.open();
    });
    ASSERT_TRUE(worked.wait());
    EXPECT_TRUE(waiting.cancel(true));
    EXPECT_TRUE(over.wait());
    enough = true;
    outside();
    pool.close();
    EXPECT_TRUE(felt_it);
}

}  // namespace
}  // namespace cadre::testing
