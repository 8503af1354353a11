// SPDX-License-Identifier: Apache-2.0
//
// What every queue promises that can hold elements, and what those do that keep their order.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/eventually.hpp"
#include "support/queue_kinds.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

/// A queue of the numbers 0 to 31.
template <class Kind>
class storing_queue : public ::testing::Test {
protected:
    queue_ptr queue_ = full_queue<Kind>(some);
    blocking_queue<item>& queue = *queue_;
};
TYPED_TEST_SUITE(storing_queue, storing_kinds, kind_names);

// BQ-009
TYPED_TEST(storing_queue, removes_one_equal_element_and_no_other) {
    for (int i = 1; i < some; i += 2) {
        EXPECT_TRUE(this->queue.contains(i));
        EXPECT_TRUE(this->queue.remove(i));
        EXPECT_FALSE(this->queue.contains(i));
        EXPECT_TRUE(this->queue.contains(i - 1));
    }
    for (int i = some - 2; i >= 0; i -= 2) {
        EXPECT_TRUE(this->queue.contains(i));
        EXPECT_TRUE(this->queue.remove(i));
        EXPECT_FALSE(this->queue.remove(i));
        EXPECT_FALSE(this->queue.remove(i + 1));
    }
    EXPECT_TRUE(this->queue.empty());
}

// BQ-012
TYPED_TEST(storing_queue, remove_if_asks_once_for_each_and_removes_the_accepted) {
    std::vector<int> asked;
    const auto removed = this->queue.remove_if([&](const item& x) {
        asked.push_back(x.value);
        return x.value % 3 == 0;
    });
    std::sort(asked.begin(), asked.end());
    EXPECT_EQ(asked, numbers(0, some));
    EXPECT_EQ(removed, 11u);
    EXPECT_EQ(this->queue.remove_if([](const item&) { return false; }), 0u);
    std::vector<int> rest = numbers(0, some);
    std::erase_if(rest, [](int i) { return i % 3 == 0; });
    EXPECT_EQ(drained(this->queue), rest);
}

TYPED_TEST(storing_queue, remove_if_removes_the_first_ones_up_to_a_maximum) {
    const auto odd = [](const item& x) { return x.value % 2 == 1; };
    EXPECT_EQ(this->queue.remove_if(odd, 0), 0u);
    EXPECT_EQ(this->queue.remove_if(odd, 3), 3u);
    std::vector<int> rest = {0, 2, 4};
    for (const int i : numbers(6, some)) rest.push_back(i);
    EXPECT_EQ(drained(this->queue), rest);
}

TYPED_TEST(storing_queue, a_predicate_that_throws_changes_nothing) {
    for (int k = 0; k < some; ++k) {
        std::vector<item> out;
        int asked = 0;
        const auto throws = [&](const item&) { return asked++ == k ? throw k : true; };
        EXPECT_THROW(this->queue.extract_if(throws, out), int);
        ASSERT_TRUE(out.empty());
    }
    EXPECT_EQ(drained(this->queue), numbers(0, some));
}

// BQ-013, PBQ-011, DQ-012
TYPED_TEST(storing_queue, for_each_visits_every_element_once) {
    auto visited = shown(this->queue);
    std::sort(visited.begin(), visited.end());
    EXPECT_EQ(visited, numbers(0, some));
    this->queue.clear();
    EXPECT_TRUE(shown(this->queue).empty());
}

// BQ-023, DQ-002
TYPED_TEST(storing_queue, is_built_from_a_range) {
    const auto built = TypeParam::from({3, 1, 2, 1});
    const auto expected =
        TypeParam::sorts ? std::vector<int>{1, 1, 2, 3} : std::vector<int>{3, 1, 2, 1};
    EXPECT_EQ(built->size(), 4u);
    EXPECT_EQ(drained(*built), expected);
}

// BQ-030, DQ-002
TYPED_TEST(storing_queue, add_all_tells_whether_there_was_anything_to_add) {
    this->queue.clear();
    EXPECT_FALSE(this->queue.add_all(std::vector<int>()));
    EXPECT_TRUE(this->queue.add_all(std::vector<int>{5, 4, 6}));
    const auto expected = TypeParam::sorts ? std::vector<int>{4, 5, 6} : std::vector<int>{5, 4, 6};
    EXPECT_EQ(drained(this->queue), expected);
}

TYPED_TEST(storing_queue, takes_elements_in_braces_where_it_takes_a_range) {
    this->queue.clear();
    EXPECT_FALSE(this->queue.add_all({}));
    EXPECT_TRUE(this->queue.add_all({1, 2, 3, 4}));
    EXPECT_TRUE(this->queue.contains_all({1, 4}));
    EXPECT_FALSE(this->queue.contains_all({1, 5}));
    EXPECT_TRUE(this->queue.remove_all({1, 5}));
    EXPECT_TRUE(this->queue.retain_all({3, 4, 5}));
    EXPECT_EQ(drained(this->queue), numbers(3, 5));
}

TEST(storing_queues, are_built_of_elements_in_braces_and_a_number_alone_is_a_capacity) {
    linked_blocking_queue<item> linked({1, 2});
    linked_blocking_deque<item> deque({1, 2});
    priority_blocking_queue<item> sorted({2, 1});
    delay_queue<item> delayed{2, 1};
    linked_transfer_queue<item> transfer{1, 2};
    for (blocking_queue<item>* queue : std::initializer_list<blocking_queue<item>*>{
             &linked, &deque, &sorted, &delayed, &transfer})
        EXPECT_EQ(drained(*queue), numbers(1, 3));
    EXPECT_EQ(linked_blocking_queue<item>{5}.capacity(), 5);
    EXPECT_EQ(linked_blocking_deque<item>{5}.capacity(), 5);
    EXPECT_TRUE(priority_blocking_queue<item>{5}.empty());
}

TYPED_TEST(storing_queue, add_all_copies_another_queue) {
    const auto other = TypeParam::make(some);
    EXPECT_TRUE(other->add_all(this->queue));
    EXPECT_EQ(drained(*other), drained(this->queue));
}

// BQ-031
TYPED_TEST(storing_queue, contains_what_was_put) {
    this->queue.clear();
    for (int i = 0; i < some; ++i) {
        this->queue.put(i);
        EXPECT_TRUE(this->queue.contains(i));
    }
}

// BQ-038, PBQ-009, DQ-006
TYPED_TEST(storing_queue, take_empties_the_queue_and_then_waits) {
    for (int i = 0; i < some; ++i) EXPECT_EQ(this->queue.take(), item(i));
    expect_interruptible([&] { this->queue.take(); });
}

// BQ-039, DQ-005
TYPED_TEST(storing_queue, poll_gives_every_element_and_then_nothing) {
    for (int i = 0; i < some; ++i) EXPECT_EQ(this->queue.poll(), item(i));
    EXPECT_EQ(this->queue.poll(), std::nullopt);
}

// BQ-040, DQ-005
TYPED_TEST(storing_queue, poll_without_a_timeout_gives_elements_while_there_are_some) {
    for (int i = 0; i < some; ++i) EXPECT_EQ(this->queue.poll_for(0s), item(i));
    EXPECT_EQ(this->queue.poll_for(0s), std::nullopt);
}

// BQ-041, DQ-005
TYPED_TEST(storing_queue, timed_poll_waits_only_if_the_queue_is_empty) {
    for (int i = 0; i < some; ++i)
        EXPECT_LT(time_of([&] { EXPECT_EQ(this->queue.poll_for(guard), item(i)); }), long_delay);
    EXPECT_GE(time_of([&] { EXPECT_EQ(this->queue.poll_for(short_delay), std::nullopt); }),
              short_delay);
}

// BQ-042, BQ-043, PBQ-008, DQ-008
TYPED_TEST(storing_queue, peek_and_element_show_the_next_without_removing_it) {
    for (int i = 0; i < some; ++i) {
        EXPECT_EQ(this->queue.peek(), item(i));
        EXPECT_EQ(this->queue.element(), item(i));
        EXPECT_EQ(this->queue.poll(), item(i));
    }
    EXPECT_EQ(this->queue.peek(), std::nullopt);
    EXPECT_THROW(this->queue.element(), no_such_element);
}

// BQ-044, DQ-010
TYPED_TEST(storing_queue, remove_takes_the_next_or_throws) {
    for (int i = 0; i < some; ++i) EXPECT_EQ(this->queue.remove(), item(i));
    EXPECT_THROW(this->queue.remove(), no_such_element);
}

// BQ-045, PBQ-014, DQ-011
TYPED_TEST(storing_queue, contains_an_element_from_insertion_to_removal) {
    for (int i = 0; i < some; ++i) {
        for (int j = i; j < some; ++j) EXPECT_TRUE(this->queue.contains(j));
        this->queue.take();
        EXPECT_FALSE(this->queue.contains(i));
    }
}

// BQ-046, PBQ-014, DQ-011
TYPED_TEST(storing_queue, clear_empties_the_queue_which_stays_usable) {
    this->queue.clear();
    EXPECT_TRUE(this->queue.empty());
    EXPECT_EQ(this->queue.remaining_capacity(), TypeParam::make(some)->remaining_capacity());
    this->queue.add(1);
    EXPECT_TRUE(this->queue.contains(1));
    this->queue.clear();
    this->queue.clear();
    EXPECT_TRUE(this->queue.empty());
}

// BQ-047, DQ-011
TYPED_TEST(storing_queue, contains_all_of_a_range_or_not) {
    EXPECT_TRUE(this->queue.contains_all(std::vector<int>()));
    EXPECT_TRUE(this->queue.contains_all(numbers(0, some)));
    EXPECT_FALSE(this->queue.contains_all(numbers(1, some + 1)));
}

// BQ-048, DQ-011
TYPED_TEST(storing_queue, retain_all_keeps_what_is_in_a_range) {
    EXPECT_FALSE(this->queue.retain_all(numbers(0, some + 1)));
    EXPECT_TRUE(this->queue.retain_all(numbers(3, 8)));
    EXPECT_FALSE(this->queue.retain_all(numbers(3, 8)));
    EXPECT_EQ(drained(this->queue), numbers(3, 8));
}

// BQ-049, DQ-011
TYPED_TEST(storing_queue, remove_all_removes_what_is_in_a_range) {
    EXPECT_TRUE(this->queue.remove_all(numbers(0, 20)));
    EXPECT_FALSE(this->queue.remove_all(numbers(0, 20)));
    EXPECT_EQ(drained(this->queue), numbers(20, some));
}

// BQ-052, DQ-012
TYPED_TEST(storing_queue, its_text_lists_the_elements) {
    const auto three = TypeParam::from({1, 2, 3});
    EXPECT_EQ(three->to_string(), "[1, 2, 3]");
}

// BQ-054, DQ-013, PBQ-012
TYPED_TEST(storing_queue, drain_to_moves_everything_in_order) {
    std::vector<item> out;
    out.emplace_back(-7);
    EXPECT_EQ(this->queue.drain_to(out), std::size_t{some});
    EXPECT_EQ(out.front().value, -7);
    for (int i = 0; i < some; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i) + 1].value, i);
    EXPECT_TRUE(this->queue.empty());
    this->queue.add(0);
    this->queue.add(1);
    EXPECT_EQ(drained(this->queue), numbers(0, 2));
}

// BQ-055, DQ-013, PBQ-012, LBQ-003
TYPED_TEST(storing_queue, drain_to_moves_the_first_up_to_a_maximum) {
    for (int n = 0; n <= some + 1; ++n) {
        this->queue.clear();
        for (int i = 0; i < some; ++i) this->queue.add(i);
        const int moved = std::min(n, some);
        EXPECT_EQ(drained(this->queue, static_cast<std::size_t>(n)), numbers(0, moved));
        EXPECT_EQ(drained(this->queue), numbers(moved, some));
    }
}

TYPED_TEST(storing_queue, drains_into_another_queue) {
    array_blocking_queue<item> other(20);
    EXPECT_EQ(this->queue.drain_to(other, 5), 5u);
    EXPECT_EQ(drained(other), numbers(0, 5));
    EXPECT_THROW(this->queue.drain_to(other), illegal_state);
    EXPECT_EQ(drained(other), numbers(5, 25));
    EXPECT_EQ(drained(this->queue), numbers(25, some));
}

// BQ-057
TYPED_TEST(storing_queue, removal_of_the_first_visited_removes_no_other) {
    const auto three = TypeParam::from({2, 1, 3});
    std::optional<int> first;
    three->remove_if([&](const item& x) {
        if (!first) first = x.value;
        return x.value == *first;
    });
    EXPECT_EQ(drained(*three),
              (TypeParam::sorts ? std::vector<int>{2, 3} : std::vector<int>{1, 3}));
}

TYPED_TEST(storing_queue, holds_exactly_the_elements_that_are_in_it) {
    const long others = item::alive - static_cast<long>(this->queue.size());
    const auto exact = [&] {
        return item::alive == others + static_cast<long>(this->queue.size());
    };
    for (int i = 0; i < 3 * some; ++i) {  // around the ring, through several chunks
        this->queue.take();
        ASSERT_TRUE(exact());
        this->queue.put(some + i);
        ASSERT_TRUE(exact());
    }
    this->queue.remove_if([](const item& x) { return x.value % 2 == 0; });
    EXPECT_TRUE(exact());
    EXPECT_EQ(drained(this->queue, 5).size(), 5u);
    EXPECT_TRUE(exact());
    this->queue.clear();
    EXPECT_TRUE(exact());
    this->queue.put(1);
    this->queue_.reset();
    EXPECT_EQ(item::alive, others);
}

TYPED_TEST(storing_queue, a_drain_that_gets_no_memory_moves_nothing) {
    std::vector<item> out;
    const int failures = fail_each_allocation([&] { this->queue.drain_to(out); },
                                              [&] {
                                                  ASSERT_TRUE(out.empty());
                                                  ASSERT_EQ(this->queue.size(), std::size_t{some});
                                              });
    EXPECT_GT(failures, 0);
    EXPECT_EQ(out.size(), std::size_t{some});
    EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
}

TYPED_TEST(storing_queue, an_extraction_that_gets_no_memory_moves_nothing) {
    std::vector<item> out;
    const auto odd = [](const item& x) { return x.value % 2 == 1; };
    const int failures = fail_each_allocation([&] { this->queue.extract_if(odd, out); },
                                              [&] {
                                                  ASSERT_TRUE(out.empty());
                                                  ASSERT_EQ(this->queue.size(), std::size_t{some});
                                              });
    EXPECT_GT(failures, 0);
    EXPECT_EQ(out.size(), std::size_t{some / 2});
    EXPECT_EQ(this->queue.size(), std::size_t{some / 2});
    EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
}

TYPED_TEST(storing_queue, an_insertion_that_gets_no_memory_leaves_the_element_alone) {
    const auto fresh = TypeParam::make(1000);
    for (int i = 0; i < 200; ++i) {  // growing again and again
        item x(i);
        fail_each_allocation([&] { ASSERT_TRUE(fresh->offer(std::move(x))); },
                             [&] {
                                 ASSERT_EQ(x.value, i);
                                 ASSERT_EQ(fresh->size(), static_cast<std::size_t>(i));
                             });
    }
    EXPECT_EQ(drained(*fresh), numbers(0, 200));
}

TYPED_TEST(storing_queue, a_timed_poll_in_vain_leaves_nothing_behind) {
    this->queue.clear();
    this->queue.poll_for(1us);
    const auto before = blocks_in_use();
    for (int i = 0; i < 2'000; ++i) ASSERT_EQ(this->queue.poll_for(1us), std::nullopt);
    EXPECT_EQ(blocks_in_use(), before);
}

template <class Kind>
class fifo_queue : public ::testing::Test {};
TYPED_TEST_SUITE(fifo_queue, fifo_kinds, kind_names);

// BQ-014, BQ-050, BQ-051
TYPED_TEST(fifo_queue, every_traversal_has_the_order_of_insertion) {
    const auto queue = TypeParam::from({4, 2, 9, 2, 7});
    const std::vector<int> order = {4, 2, 9, 2, 7};
    EXPECT_EQ(shown(*queue), order);
    std::vector<int> asked;
    queue->remove_if([&](const item& x) { return asked.push_back(x.value), false; });
    EXPECT_EQ(asked, order);
    std::vector<int> copied;
    for (const item& x : queue->to_vector()) copied.push_back(x.value);
    EXPECT_EQ(copied, order);
    EXPECT_EQ(drained(*queue), order);
    EXPECT_TRUE(shown(*queue).empty());
}

// BQ-037
TYPED_TEST(fifo_queue, take_delivers_in_the_order_of_insertion) {
    const auto queue = TypeParam::from({4, 2, 9});
    for (const int expected : {4, 2, 9}) EXPECT_EQ(queue->take(), item(expected));
}

}  // namespace
}  // namespace cadre::testing
