// SPDX-License-Identifier: Apache-2.0
//
// Many threads on one queue: nothing is lost, doubled, out of order or asleep beside its element.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/element_ledger.hpp"
#include "support/eventually.hpp"
#include "support/queue_kinds.hpp"
#include "support/race.hpp"
#include "support/waiting_call.hpp"
#include <cadre/future.hpp>

namespace cadre::testing {
namespace {

const int loops = [] {
    const char* scale = std::getenv("CADRE_STRESS_SCALE");
    return static_cast<int>(600 * (scale ? std::atof(scale) : 1.0));
}();

template <class Kind>
class queue_loops : public ::testing::Test {
protected:
    queue_ptr queue_ = Kind::make(7);
    blocking_queue<item>& queue = *queue_;
    element_ledger accounts;

    void put_one() {
        const int number = accounts.next();
        queue.put(number);
        accounts.put(number);
    }
    std::unique_ptr<waiting_call> producer(int count) {
        return std::make_unique<waiting_call>([this, count] {
            for (int i = 0; i < count; ++i) put_one();
        });
    }
    std::unique_ptr<waiting_call> consumer(int count) {
        return std::make_unique<waiting_call>([this, count] {
            for (int i = 0; i < count; ++i) accounts.taken(queue.take().value);
        });
    }
    void expect_completion(std::vector<std::unique_ptr<waiting_call>>& threads) {
        for (auto& thread : threads) EXPECT_TRUE(thread->returned());
        accounts.expect_balanced();
        EXPECT_TRUE(queue.empty());
    }
};
TYPED_TEST_SUITE(queue_loops, loop_kinds, kind_names);

// BQ-017
TYPED_TEST(queue_loops, pairs_of_producers_and_consumers_pass_everything_on) {
    for (int pairs = 1; pairs <= 5; ++pairs) {
        std::vector<std::unique_ptr<waiting_call>> threads;
        for (int i = 0; i < pairs; ++i) {
            threads.push_back(this->producer(loops));
            threads.push_back(this->consumer(loops));
        }
        this->expect_completion(threads);
    }
}

// BQ-018
TYPED_TEST(queue_loops, one_consumer_gets_everything_of_many_producers) {
    for (int producers = 1; producers <= 5; ++producers) {
        std::vector<std::unique_ptr<waiting_call>> threads;
        for (int i = 0; i < producers; ++i) threads.push_back(this->producer(loops));
        threads.push_back(this->consumer(producers * loops));
        this->expect_completion(threads);
    }
}

// BQ-019
TYPED_TEST(queue_loops, no_consumer_sees_the_elements_of_one_producer_out_of_order) {
    for (int consumers = 1; consumers <= 5; ++consumers) {
        std::vector<std::unique_ptr<waiting_call>> threads;
        std::atomic<bool> out_of_order = false;
        for (int c = 0; c < consumers; ++c)
            threads.push_back(std::make_unique<waiting_call>([&] {
                for (int i = 0, last = 0; i < loops; ++i) {
                    const int next = this->queue.take().value;
                    if (next <= last) out_of_order = true;
                    last = next;
                    this->accounts.taken(next);
                }
            }));
        threads.push_back(this->producer(consumers * loops));
        this->expect_completion(threads);
        EXPECT_FALSE(out_of_order);
    }
}

TYPED_TEST(queue_loops, a_burst_wakes_as_many_takers_as_it_has_elements) {
    for (int round = 0; round < 50; ++round) {
        std::vector<std::unique_ptr<waiting_call>> threads;
        for (int i = 0; i < 4; ++i) threads.push_back(this->consumer(1));
        threads.push_back(this->producer(4));
        this->expect_completion(threads);
    }
}

TYPED_TEST(queue_loops, an_interrupted_taker_does_not_swallow_the_wake_up_of_another) {
    std::mt19937 random(new_seed());
    for (int round = 0; round < 100; ++round) {
        auto first = this->consumer(1);
        auto second = this->consumer(1);
        std::thread interrupts([&, seed = random()] {
            std::mt19937 own(seed);
            dawdle(own, 30us);
            first->interrupt();
        });
        dawdle(random, 30us);
        this->put_one();
        interrupts.join();
        if (first->returned()) {  // then the other one still waits
            this->put_one();
        }
        ASSERT_TRUE(second->returned());
        this->accounts.expect_balanced();
    }
}

TYPED_TEST(queue_loops, a_taker_whose_time_is_over_does_not_swallow_the_wake_up_of_another) {
    std::mt19937 random(new_seed());
    for (int round = 0; round < 100; ++round) {
        std::atomic<bool> got_one = false;
        cadre::thread first([&, patience = std::chrono::microseconds(random() % 500)] {
            const auto found = this->queue.poll_for(patience);
            if (!found) return;
            this->accounts.taken(found->value);
            got_one = true;
        });
        auto second = this->consumer(1);
        dawdle(random, 200us);
        this->put_one();
        first.join();
        if (got_one) {  // then the other one still waits
            this->put_one();
        }
        ASSERT_TRUE(second->returned());
        this->accounts.expect_balanced();
    }
}

TYPED_TEST(queue_loops, no_interrupt_is_lost_between_the_look_at_the_flag_and_the_sleep) {
    std::mt19937 random(new_seed());
    std::atomic<int> entered = 0;
    std::atomic<int> left = 0;
    constexpr int rounds = 1000;
    cadre::thread taker([&] {
        for (int i = 1; i <= rounds; ++i) {
            entered = i;
            try {
                this->queue.take();
            } catch (const interrupted&) {
                left = i;
            }
        }
    });
    for (int i = 1; i <= rounds; ++i) {
        while (entered != i) std::this_thread::yield();
        dawdle(random, 50us);
        taker.interrupt();
        ASSERT_TRUE(eventually([&] { return left == i; }));
    }
    taker.join();
}

template <class Kind>
class refusing_queue_loops : public ::testing::Test {};
TYPED_TEST_SUITE(refusing_queue_loops, refusing_kinds, kind_names);

// BQ-020
TYPED_TEST(refusing_queue_loops, interrupting_all_pairs_but_one_leaves_that_one_running) {
    const auto queue = TypeParam::make(3);
    element_ledger accounts;
    std::atomic<bool> finish = false;
    std::atomic<int> produced = 0;
    // The ledger has an end, however long this thread is away.
    std::atomic<int> enough = 1'000'000;
    future_task<void> more_is_enough([] {});
    const shared_future<void> enough_was_raised = more_is_enough.get_future().share();
    const auto produce = [&] {
        while (!finish) {
            const bool is_for_good = enough_was_raised.is_done();
            if (produced >= enough) {
                if (is_for_good) return;
                enough_was_raised.wait();
                continue;
            }
            if (const int i = accounts.next(); queue->offer_for(i, 1ms)) {
                accounts.put(i);
                ++produced;
            }
        }
    };
    const auto consume = [&] {
        while (!finish)
            if (auto x = queue->poll_for(1ms)) accounts.taken(x->value);
    };
    constexpr std::size_t pairs = 4;
    std::vector<std::unique_ptr<waiting_call>> threads;
    for (std::size_t i = 0; i < pairs; ++i) {
        threads.push_back(std::make_unique<waiting_call>(produce));
        threads.push_back(std::make_unique<waiting_call>(consume));
    }
    for (std::size_t i = 2; i < threads.size(); ++i) threads[i]->interrupt();
    for (std::size_t i = 2; i < threads.size(); ++i) EXPECT_TRUE(threads[i]->was_interrupted());
    const int before = produced;
    enough = before + 1'000'000;
    more_is_enough();
    EXPECT_TRUE(eventually([&] { return produced > before + 100; }));
    finish = true;
    EXPECT_TRUE(threads[0]->returned());
    EXPECT_TRUE(threads[1]->returned());
    while (auto x = queue->poll()) accounts.taken(x->value);
    accounts.expect_balanced();
}

TYPED_TEST(refusing_queue_loops, an_offer_and_a_poll_agree_on_whether_they_met) {
    const unsigned seed = new_seed();
    const auto queue = TypeParam::make(1);
    std::atomic<int> accepted = 0;
    std::atomic<int> got = 0;
    constexpr int rounds = 5000;
    const auto random_timeout = [](std::mt19937& random) {
        return std::chrono::nanoseconds(random() % 20'000);
    };
    std::thread offers([&] {
        std::mt19937 random(seed);
        for (int i = 0; i < rounds; ++i) accepted += queue->offer_for(i, random_timeout(random));
    });
    std::mt19937 random(seed);
    for (int i = 0; i < rounds; ++i) got += queue->poll_for(random_timeout(random)).has_value();
    offers.join();
    while (queue->poll()) ++got;
    EXPECT_EQ(accepted, got);
}

TYPED_TEST(refusing_queue_loops, putters_that_give_up_and_takers_that_give_up_lose_nothing) {
    const auto queue = TypeParam::make(2);
    element_ledger accounts;
    const unsigned seed = new_seed();
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            std::mt19937 random(seed + t);
            for (int left = 1000; left > 0; --left)
                if (const int i = accounts.next(); queue->offer_for(i, (random() % 50) * 1us))
                    accounts.put(i);
        });
        threads.emplace_back([&, t] {
            std::mt19937 random(seed - t);
            for (int i = 1; i <= 1000; ++i)
                if (auto x = queue->poll_for((random() % 50) * 1us)) accounts.taken(x->value);
        });
    }
    for (auto& thread : threads) thread.join();
    while (auto x = queue->poll()) accounts.taken(x->value);
    accounts.expect_balanced();
}

template <class Kind>
class storing_queue_loops : public ::testing::Test {};
TYPED_TEST_SUITE(storing_queue_loops, storing_kinds, kind_names);

// BQ-015
TYPED_TEST(storing_queue_loops, a_traversal_sees_only_what_was_put_in) {
    const auto queue = TypeParam::make(4);
    std::atomic<bool> finish = false;
    std::atomic<bool> failed = false;
    std::vector<std::thread> threads;
    for (const int own : {1, 2})
        threads.emplace_back([&, own] {
            while (!finish) {
                queue->add(own);
                if (!queue->remove(own)) failed = true;
            }
        });
    const auto known = [](const item& x) { return x.value == 1 || x.value == 2; };
    for (int i = 0; i < 2000; ++i) {
        queue->for_each([&](const item& x) { failed = failed || !known(x); });
        for (const item& x : queue->to_vector()) failed = failed || !known(x);
        queue->remove_if([&](const item& x) { return !known(x); });
        if (auto x = queue->peek()) failed = failed || !known(*x);
    }
    finish = true;
    for (auto& thread : threads) thread.join();
    EXPECT_FALSE(failed);
    EXPECT_TRUE(queue->empty());
}

TYPED_TEST(storing_queue_loops, bulk_removal_and_taking_get_each_element_once) {
    const auto queue = TypeParam::make(100);
    element_ledger accounts;
    std::atomic<bool> finish = false;
    std::thread takes([&] {
        while (!finish)
            if (auto x = queue->poll_for(100us)) accounts.taken(x->value);
    });
    std::thread drains([&] {
        std::vector<item> out;
        for (int round = 0; !finish; ++round)
            round % 2 ? queue->drain_to(out, 3)
                      : queue->extract_if([](const item& x) { return x.value % 3 == 0; }, out, 5);
        for (const item& x : out) accounts.taken(x.value);
    });
    for (int left = 3000; left > 0; --left) {
        const int i = accounts.next();
        queue->put(i);
        accounts.put(i);
    }
    finish = true;
    takes.join();
    drains.join();
    for (const int i : drained(*queue)) accounts.taken(i);
    accounts.expect_balanced();
}

TEST(queue_loops, a_capacity_that_changes_all_the_time_loses_and_stops_nobody) {
    linked_blocking_queue<item> queue(1);
    element_ledger accounts;
    std::atomic<bool> finish = false;
    std::thread changes([&] {
        std::mt19937 random(new_seed());
        while (!finish) queue.set_capacity(static_cast<int>(random() % 20) + 1);
    });
    std::vector<std::unique_ptr<waiting_call>> threads;
    for (int t = 0; t < 3; ++t) {
        threads.push_back(std::make_unique<waiting_call>([&] {
            for (int left = 2000; left > 0; --left) {
                const int i = accounts.next();
                queue.put(i);
                accounts.put(i);
            }
        }));
        threads.push_back(std::make_unique<waiting_call>([&] {
            for (int i = 1; i <= 2000; ++i) accounts.taken(queue.take().value);
        }));
    }
    for (auto& thread : threads) EXPECT_TRUE(thread->returned());
    finish = true;
    changes.join();
    accounts.expect_balanced();
}

TEST(queue_loops, transfers_and_polls_that_give_up_agree) {
    linked_transfer_queue<item> queue;
    element_ledger accounts;
    std::thread transfers([&] {
        std::mt19937 random(new_seed());
        for (int left = 3000; left > 0; --left)
            if (const int i = accounts.next(); queue.try_transfer_for(i, (random() % 20) * 1us))
                accounts.put(i);
    });
    std::mt19937 random(1);
    for (int i = 0; i < 3000; ++i)
        if (auto x = queue.poll_for((random() % 20) * 1us)) accounts.taken(x->value);
    transfers.join();
    accounts.expect_balanced();
    EXPECT_TRUE(queue.empty());
}

/// Compares numbers; throws once on a thread that takes.
struct failing_for_takers {
    std::atomic<bool>* armed;
    inline static thread_local bool takes = false;
    bool operator()(int a, int b) const {
        if (takes && armed->exchange(false)) throw std::runtime_error("as planned");
        return a < b;
    }
};

// EX-13: four wait, three are called, and one of those fails: the fourth gets what it has left.
TEST(priority_queue_races, a_called_taker_whose_comparison_throws_calls_the_next) {
    int failures = 0;
    // On a machine that is quick each of those who are called may find one element, and nothing to
    // compare it with: then there are more rounds, until one fails.
    rounds left(300);
    for (int more = 20000; left.another() || (failures == 0 && more > 0); --more) {
        std::atomic<bool> armed = true;
        priority_blocking_queue<int, failing_for_takers> queue(failing_for_takers{&armed});
        std::vector<std::unique_ptr<waiting_call>> takers;
        for (int i = 0; i < 4; ++i)
            takers.push_back(std::make_unique<waiting_call>([&] {
                failing_for_takers::takes = true;
                try {
                    (void)queue.take();
                } catch (const std::runtime_error&) {}
            }));
        for (const int i : {3, 2, 1}) queue.put(i);
        for (auto& taker : takers) taker->settle();
        if (armed.exchange(false))
            queue.put(4);  // nobody had to compare
        else
            ++failures;
        for (auto& taker : takers) ASSERT_TRUE(taker->returned());
        ASSERT_TRUE(queue.empty());
    }
    EXPECT_GT(failures, 0) << "no comparison failed: the test says nothing";
}

}  // namespace
}  // namespace cadre::testing
