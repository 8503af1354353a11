// SPDX-License-Identifier: Apache-2.0
//
// What every queue promises that can be full.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/eventually.hpp"
#include "support/queue_kinds.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

template <class Kind>
class bounded_queue : public ::testing::Test {
protected:
    queue_ptr full_ = full_queue<Kind>(some);
    blocking_queue<item>& full = *full_;

    void expect_unchanged() {
        EXPECT_EQ(full.size(), std::size_t{some});
        EXPECT_EQ(full.remaining_capacity(), 0u);
        EXPECT_EQ(drained(full), numbers(0, some));
    }
};
TYPED_TEST_SUITE(bounded_queue, bounded_kinds, kind_names);

// BQ-021
TYPED_TEST(bounded_queue, a_new_queue_has_room_for_its_capacity) {
    EXPECT_EQ(TypeParam::make(17)->remaining_capacity(), 17u);
}

// BQ-022, ABQ-001
TYPED_TEST(bounded_queue, refuses_a_capacity_that_is_not_positive) {
    for (const int capacity : {0, -1, -1000}) {
        try {
            TypeParam::make(capacity);
            ADD_FAILURE() << "accepted " << capacity;
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find("capacity (" + std::to_string(capacity) + ")"),
                      std::string::npos);
        }
    }
}

// BQ-024
TYPED_TEST(bounded_queue, fills_up) {
    const auto queue = TypeParam::make(2);
    EXPECT_TRUE(queue->empty());
    EXPECT_EQ(queue->remaining_capacity(), 2u);
    queue->add(1);
    EXPECT_FALSE(queue->empty());
    queue->add(2);
    EXPECT_EQ(queue->remaining_capacity(), 0u);
    EXPECT_FALSE(queue->offer(3));
}

// BQ-025
TYPED_TEST(bounded_queue, size_and_remaining_capacity_make_up_the_capacity) {
    for (int size = some; size > 0; --size) {
        EXPECT_EQ(this->full.size(), static_cast<std::size_t>(size));
        EXPECT_EQ(this->full.size() + this->full.remaining_capacity(), std::size_t{some});
        this->full.remove();
    }
    for (int size = 0; size < some; ++size) {
        EXPECT_EQ(this->full.size(), static_cast<std::size_t>(size));
        EXPECT_EQ(this->full.size() + this->full.remaining_capacity(), std::size_t{some});
        this->full.add(size);
    }
}

// BQ-026
TYPED_TEST(bounded_queue, a_refused_offer_changes_neither_queue_nor_element) {
    item x(99);
    EXPECT_FALSE(this->full.offer(std::move(x)));
    EXPECT_FALSE(this->full.offer_for(std::move(x), 1ms));
    EXPECT_EQ(x.value, 99);
    this->expect_unchanged();
    EXPECT_TRUE(this->full.offer(std::move(x)));
}

// BQ-027
TYPED_TEST(bounded_queue, add_throws_when_full) {
    EXPECT_THROW(this->full.add(99), illegal_state);
    this->expect_unchanged();
}

// BQ-029
TYPED_TEST(bounded_queue, add_all_succeeds_if_everything_fits) {
    const auto queue = TypeParam::make(some);
    EXPECT_TRUE(queue->add_all(numbers(0, some)));
    EXPECT_EQ(queue->remaining_capacity(), 0u);
    queue->clear();
    EXPECT_THROW(queue->add_all(numbers(0, some + 1)), illegal_state);
}

// BQ-032
TYPED_TEST(bounded_queue, put_into_a_full_queue_is_interruptible) {
    expect_interruptible([&] { this->full.put(99); });
    this->expect_unchanged();
}

// BQ-033
TYPED_TEST(bounded_queue, a_waiting_put_goes_on_when_an_element_is_taken) {
    waiting_call puts([&] { this->full.put(some); });
    EXPECT_FALSE(puts.is_over());
    EXPECT_EQ(this->full.take(), item(0));
    EXPECT_TRUE(puts.returned());
    EXPECT_EQ(this->full.remaining_capacity(), 0u);
    EXPECT_EQ(drained(this->full), numbers(1, some + 1));
}

// BQ-034
TYPED_TEST(bounded_queue, timed_offer_to_a_full_queue_is_refused_and_not_early) {
    EXPECT_GE(time_of([&] { EXPECT_FALSE(this->full.offer_for(99, short_delay)); }), short_delay);
    this->expect_unchanged();
}

// BQ-035
TYPED_TEST(bounded_queue, timed_offer_to_a_full_queue_is_interruptible) {
    expect_interruptible([&] { this->full.offer_for(99, guard); });
    this->expect_unchanged();
}

// BQ-036
TYPED_TEST(bounded_queue, a_waiting_timed_offer_goes_on_when_an_element_is_taken) {
    bool accepted = false;
    waiting_call offers([&] { accepted = this->full.offer_for(some, guard); });
    waiting_call takes([&] { this->full.take(); });
    EXPECT_TRUE(offers.returned());
    EXPECT_TRUE(takes.returned());
    EXPECT_TRUE(accepted);
    EXPECT_EQ(drained(this->full), numbers(1, some + 1));
}

// BQ-056
TYPED_TEST(bounded_queue, drain_to_lets_a_waiting_put_go_on) {
    waiting_call puts([&] { this->full.put(some); });
    auto out = drained(this->full);
    EXPECT_TRUE(puts.returned());
    for (const int i : drained(this->full)) out.push_back(i);
    EXPECT_EQ(out, numbers(0, some + 1));
}

TYPED_TEST(bounded_queue, every_way_to_make_room_lets_as_many_waiting_puts_go_on) {
    const std::vector<std::function<void()>> ways = {
        [&] { drained(this->full, 3); },
        [&] { this->full.remove_if([](const item&) { return true; }, 3); },
        [&] { this->full.clear(); },
        [&] {
            const auto any = [](const item&) { return true; };
            for (int i = 0; i < 3; ++i) EXPECT_TRUE(this->full.extract_first(any));
        },
    };
    for (const auto& make_room : ways) {
        this->full.clear();
        for (int i = 0; i < some; ++i) this->full.add(i);
        std::vector<std::unique_ptr<waiting_call>> putters;
        for (int i = 0; i < 3; ++i)
            putters.push_back(std::make_unique<waiting_call>([&] { this->full.put(99); }));
        make_room();
        for (auto& putter : putters) EXPECT_TRUE(putter->returned());
    }
}

/// Those whose put() and take() look at the flag first. As in the JDK, a deque's do not.
template <class Kind>
class array_or_linked_queue : public bounded_queue<Kind> {};
using array_or_linked_kinds =
    ::testing::Types<array_kind<false>, array_kind<true>, linked_queue_kind<true>>;
TYPED_TEST_SUITE(array_or_linked_queue, array_or_linked_kinds, kind_names);

TYPED_TEST(array_or_linked_queue, a_waiting_call_looks_at_the_flag_even_if_it_need_not_wait) {
    waiting_call takes([&] {
        thread_handle::current().interrupt();
        this->full.take();
    });
    EXPECT_TRUE(takes.was_interrupted());
    this->expect_unchanged();
    waiting_call puts([&] {
        thread_handle::current().interrupt();
        this->full.put(1);  // has room now
    });
    EXPECT_TRUE(puts.was_interrupted());
    EXPECT_TRUE(this->full.empty());
}

/// The bounded queues, and those that are always full.
template <class Kind>
class refusing_queue : public ::testing::Test {
protected:
    /// Refuses further elements; a synchronous_queue does without any.
    static queue_ptr full() {
        queue_ptr queue = Kind::make(1);
        queue->offer(0);
        return queue;
    }
};
TYPED_TEST_SUITE(refusing_queue, refusing_kinds, kind_names);

// BQ-016
TYPED_TEST(refusing_queue, every_waiting_call_is_interruptible) {
    const auto empty = TypeParam::make(1);
    const auto full = this->full();
    expect_interruptible([&] { empty->take(); });
    expect_interruptible([&] { empty->poll_for(guard); });
    expect_interruptible([&] { full->put(1); });
    expect_interruptible([&] { full->offer_for(1, guard); });
}

TYPED_TEST(refusing_queue, odd_timeouts_of_a_timed_offer) {
    const auto full = this->full();
    item x(7);
    EXPECT_FALSE(full->offer_for(std::move(x), 0ns));
    EXPECT_FALSE(full->offer_for(std::move(x), 1ns));
    EXPECT_FALSE(full->offer_for(std::move(x), nanoseconds(-1)));
    EXPECT_FALSE(full->offer_for(std::move(x), nanoseconds::min()));
    EXPECT_FALSE(full->offer_for(std::move(x), hours::min()));
    EXPECT_EQ(x.value, 7);
    expect_interruptible([&] { full->offer_for(1, nanoseconds::max()); });
    expect_interruptible([&] { full->offer_for(1, hours::max()); });
}

TYPED_TEST(refusing_queue, an_element_whose_timed_offer_is_interrupted_stays_with_its_owner) {
    const auto full = this->full();
    item x(7);
    waiting_call offers([&] { full->offer_for(std::move(x), guard); });
    offers.interrupt();
    EXPECT_TRUE(offers.was_interrupted());
    EXPECT_EQ(x.value, 7);
}

}  // namespace
}  // namespace cadre::testing
