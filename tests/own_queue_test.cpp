// SPDX-License-Identifier: Apache-2.0
//
// A queue of the user's own, with the members that a reader of the interface would think of.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/held_task.hpp"
#include <cadre/coroutine.hpp>
#include <cadre/queue/linked_blocking_queue.hpp>
#include <cadre/thread_pool_executor.hpp>

namespace cadre::testing {
namespace {

template <class T>
class own_queue : public blocking_queue<T> {
public:
    using blocking_queue<T>::npos;

    std::function<void()> drained = [] {};
    std::function<void(T)> offered;     // takes the next one that is offered, if it is there
    std::function<void()> offered_for;  // called when the next one that waits for a place is in
    bool is_full = false;               // for those who do not wait
    std::atomic<int> takers = 0;

    bool offer(T&& x) override {
        if (is_full) return false;
        const auto takes = std::exchange(offered, nullptr);
        if (!takes) return inside_.offer(std::move(x));
        takes(std::move(x));
        return true;
    }
    bool offer_for(T&& x, std::chrono::nanoseconds timeout) override {
        const bool is_in = inside_.offer_for(std::move(x), timeout);
        if (const auto meanwhile = std::exchange(offered_for, nullptr)) meanwhile();
        return is_in;
    }
    void put(T x) override { inside_.put(std::move(x)); }
    T take() override {
        ++takers;
        return inside_.take();
    }
    std::optional<T> poll() override { return inside_.poll(); }
    std::optional<T> poll_for(std::chrono::nanoseconds timeout) override {
        ++takers;
        return inside_.poll_for(timeout);
    }
    std::size_t size() const override { return inside_.size(); }
    std::size_t remaining_capacity() const override { return inside_.remaining_capacity(); }
    std::size_t drain_to(std::vector<T>& out, std::size_t max = npos) override {
        const auto count = inside_.drain_to(out, max);
        drained();
        return count;
    }
    void for_each(function_ref<void(const T&)> visit) const override { inside_.for_each(visit); }

private:
    linked_blocking_queue<T> inside_;
};

TEST(own_queue, takes_out_what_is_wanted_and_keeps_the_order_of_the_rest) {
    own_queue<int> queue;
    queue.add_all(std::vector{1, 2, 3, 4, 5});
    std::vector<int> out;
    EXPECT_EQ(queue.extract_if([](int i) { return i % 2 == 0; }, out), 2U);
    EXPECT_EQ(out, (std::vector{2, 4}));
    EXPECT_EQ(queue.to_vector(), (std::vector{1, 3, 5}));
    EXPECT_EQ(queue.remove_if([](int) { return true; }, 1), 1U);
    EXPECT_EQ(queue.to_vector(), (std::vector{3, 5}));
    EXPECT_TRUE(queue.remove(5));
    EXPECT_FALSE(queue.remove(5));
}

TEST(own_queue, keeps_all_if_the_predicate_throws) {
    own_queue<int> queue;
    queue.add_all(std::vector{1, 2, 3});
    EXPECT_THROW(queue.remove_if([](int i) { return i == 2 ? throw std::logic_error("") : true; }),
                 std::logic_error);
    EXPECT_EQ(queue.to_vector(), (std::vector{1, 2, 3}));
}

TEST(own_queue, serves_a_pool) {
    thread_pool_executor pool({.core_pool_size = 1, .queue = std::make_unique<own_queue<task>>()});
    held_tasks held(pool, 1);
    ASSERT_TRUE(held.have_started(1));
    auto removed = pool.submit([] { return 1; });
    auto cancelled = pool.submit([] { return 2; });
    auto run = pool.submit([] { return 3; });
    EXPECT_TRUE(pool.remove(removed));
    EXPECT_TRUE(cancelled.cancel());
    pool.purge();
    EXPECT_EQ(pool.queue().size(), 1U);
    held.let_go();
    EXPECT_EQ(run.get(), 3);
    held_tasks again(pool, 1);
    ASSERT_TRUE(again.have_started(1));
    pool.execute([] {});
    EXPECT_EQ(pool.shutdown_now().size(), 1U);
}

TEST(own_queue, keeps_all_if_it_cannot_be_drained) {
    own_queue<int> queue;
    queue.add_all(std::vector{1, 2, 3});
    queue.drained = [] { throw std::logic_error(""); };
    EXPECT_THROW(queue.remove_if([](int) { return true; }), std::logic_error);
    EXPECT_EQ(queue.to_vector(), (std::vector{1, 2, 3}));
}

// While a task is searched for, the others are out of the queue, and a worker finds that empty.
TEST(own_queue, does_not_let_a_pool_end_while_a_task_is_searched_for) {
    auto owned = std::make_unique<own_queue<task>>();
    auto& queue = *owned;
    thread_pool_executor pool({.core_pool_size = 1, .queue = std::move(owned)});
    held_tasks held(pool, 1);
    ASSERT_TRUE(held.have_started(1));
    auto removed = pool.submit([] {});
    auto run = pool.submit([] { return 1; });
    pool.shutdown();
    queue.drained = [&] {
        held.let_go();
        EXPECT_TRUE(eventually([&] { return pool.is_terminated() || queue.takers > 0; }));
    };
    EXPECT_TRUE(pool.remove(removed));
    EXPECT_TRUE(pool.await_termination(guard));
    ASSERT_TRUE(run.is_done());
    EXPECT_EQ(run.get(), 1);
}

/// Two pools. Whoever puts a task into the queue of the second is held up there until that is gone.
class own_queue_of_a_pool_that_goes : public ::testing::Test {
protected:
    own_queue_of_a_pool_that_goes() {
        auto owned = std::make_unique<own_queue<task>>();
        auto& queue = *owned;
        second_ = std::make_unique<thread_pool_executor>(
            thread_pool_options{.core_pool_size = 1, .queue = std::move(owned)});
        second_->prestart_all_core_threads();
        queue.offered = [&](task t) {
            queue.put(std::move(t));
            EXPECT_TRUE(gone_.wait());
        };
    }
    void end_second() {
        second_.reset();
        gone_.open();
    }

    gate gone_;
    gate begins_;
    std::unique_ptr<thread_pool_executor> second_;
    thread_pool_executor first_{{.core_pool_size = 1}};
};

TEST_F(own_queue_of_a_pool_that_goes, as_soon_as_a_continuation_is_over) {
    future answer = first_
                        .submit([&] {
                            EXPECT_TRUE(begins_.wait());
                            return 6;
                        })
                        .then(*second_, [](int x) { return 7 * x; });
    begins_.open();
    EXPECT_EQ(answer.get(), 42);
    end_second();
}

future<int> moves(executor& from, executor& to) {
    co_await from.schedule();
    co_await to.schedule();
    co_return 42;
}

TEST_F(own_queue_of_a_pool_that_goes, as_soon_as_a_coroutine_is_over) {
    EXPECT_EQ(moves(first_, *second_).get(), 42);
    end_second();
}

TEST(own_queue, keeps_no_task_that_came_in_while_its_pool_was_shut_down) {
    auto owned = std::make_unique<own_queue<task>>();
    auto& queue = *owned;
    thread_pool_executor pool(
        {.core_pool_size = 1, .queue = std::move(owned), .rejection = block_policy{}});
    held_task held(pool);
    bool ran = false;
    queue.is_full = true;
    queue.offered_for = [&] { pool.shutdown(); };
    EXPECT_THROW(pool.execute([&] { ran = true; }), rejected_execution);
    EXPECT_TRUE(queue.empty());
    held.let_go();
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_FALSE(ran);
}

// A task without a future may be over, and its memory be another's, when its submitter looks for
// it.
TEST(own_queue, does_not_make_a_pool_take_a_task_for_one_that_is_over) {
    auto owned = std::make_unique<own_queue<task>>();
    auto& queue = *owned;
    thread_pool_executor pool({.core_pool_size = 1, .queue = std::move(owned)});
    held_tasks held(pool, 1);
    ASSERT_TRUE(held.have_started(1));
    int ran = 0;
    const auto make = [&] { return task(future_task<void>([&] { ++ran; })); };
    queue.offered = [&](task t) {  // what other threads might do meanwhile
        t();
        t = nullptr;
        EXPECT_TRUE(queue.offer(make()));
        pool.shutdown();
    };
    EXPECT_NO_THROW(pool.execute(make())) << "it was run";
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(pool.queue().size(), 1U);
    held.let_go();
    EXPECT_TRUE(pool.await_termination(guard));
    EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace cadre::testing
