// SPDX-License-Identifier: Apache-2.0
#include <cadre/queue/linked_blocking_queue.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/queue_kinds.hpp"
#include "support/waiting_call.hpp"

namespace cadre::testing {
namespace {

/// Threads that wait in put() of a full queue.
class waiting_putters {
public:
    waiting_putters(blocking_queue<int>& queue, int count) {
        for (int i = 0; i < count; ++i)
            calls_.push_back(std::make_unique<waiting_call>([&queue] { queue.put(99); }));
    }
    int still_waiting() const {
        int count = 0;
        for (auto& call : calls_) count += call->is_over() ? 0 : 1;
        return count;
    }
    bool come_down_to(int count) const {
        return eventually([&] { return still_waiting() <= count; }) && still_waiting() == count;
    }

private:
    std::vector<std::unique_ptr<waiting_call>> calls_;
};

// LBQ-001
TEST(linked_blocking_queue, has_no_bound_unless_told) {
    linked_blocking_queue<int> queue;
    EXPECT_EQ(queue.capacity(), unbounded);
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(queue.remaining_capacity(), linked_blocking_queue<int>::npos);
        EXPECT_TRUE(queue.offer(i));
        queue.put(i);
    }
    EXPECT_EQ(queue.size(), 2000u);
}

// LBQ-002
TEST(linked_blocking_queue, built_from_a_range_has_no_bound) {
    linked_blocking_queue<item> queue(numbers(0, 500));
    EXPECT_EQ(queue.remaining_capacity(), linked_blocking_queue<item>::npos);
    EXPECT_EQ(drained(queue), numbers(0, 500));
}

// LBQ-003
TEST(linked_blocking_queue, drains_a_part_of_many_chunks) {
    for (const int n : {0, 1, 63, 64, 65, 500, 999, 1000, 1001}) {
        linked_blocking_queue<item> queue(numbers(0, 1000));
        const int moved = std::min(n, 1000);
        EXPECT_EQ(drained(queue, static_cast<std::size_t>(n)), numbers(0, moved));
        EXPECT_EQ(shown(queue), numbers(moved, 1000));
        queue.put(1000);
        EXPECT_EQ(drained(queue), numbers(moved, 1001));
    }
}

// Cuts end in the middle of a chunk, at its end and at the start of the next.
TEST(linked_blocking_queue, keeps_the_order_whatever_is_cut_out_of_its_chunks) {
    for (int kept = 0; kept <= 200; ++kept) {
        linked_blocking_queue<item> queue(numbers(0, 200));
        for (int i = 0; i < kept % 70; ++i) queue.take();
        queue.remove_if([&](const item& x) { return x.value >= kept; });
        const auto expected = numbers(kept % 70, std::max(kept, kept % 70));
        ASSERT_EQ(shown(queue), expected);
        for (int i = 0; i < 70; ++i) queue.put(i);
        for (const int i : expected) ASSERT_EQ(queue.take(), item(i));
        ASSERT_EQ(drained(queue), numbers(0, 70));
    }
}

/// Counts how often elements are moved.
struct counted_moves {
    explicit counted_moves(int n) : number(n) {}
    counted_moves(counted_moves&& other) noexcept : number(other.number) { ++moves; }
    counted_moves& operator=(counted_moves&&) = delete;
    int number;
    static inline int moves = 0;
};

TEST(linked_blocking_queue, takes_out_what_is_near_either_end_without_moving_all_others) {
    linked_blocking_queue<counted_moves> queue;
    for (int i = 0; i < 10'000; ++i) queue.put(counted_moves(i));
    for (const int wanted : {9'990, 9'999, 9'000, 10, 0}) {
        counted_moves::moves = 0;
        const auto found = queue.extract_first(
            [=](const counted_moves& queued) { return queued.number == wanted; });
        ASSERT_TRUE(found);
        EXPECT_EQ(found->number, wanted);
        EXPECT_LT(counted_moves::moves, 5'000);
    }
    EXPECT_EQ(queue.size(), 9'995u);
}

TEST(linked_blocking_queue, looks_from_both_ends_for_what_is_there_once) {
    linked_blocking_queue<int> queue;
    for (int i = 0; i < 10'000; ++i) queue.put(i);
    int looks = 0;
    for (const int wanted : {9'990, 9'999, 0, 10}) {
        looks = 0;
        EXPECT_EQ(queue.extract_only([&](int queued) { return ++looks, queued == wanted; }),
                  wanted);
        EXPECT_LT(looks, 30);
    }
    EXPECT_EQ(queue.extract_only([](int queued) { return queued == 5'000; }), 5'000);
    looks = 0;
    EXPECT_FALSE(queue.extract_only([&](int queued) { return ++looks, queued == 9'990; }));
    EXPECT_EQ(looks, 9'995) << "each is seen once";
}

// The last chunk is given up and had again, many times.
TEST(linked_blocking_queue, keeps_the_order_when_its_tail_goes_back_and_on) {
    auto expected = numbers(0, 2'000);
    linked_blocking_queue<item> queue(expected);
    int next = 2'000;
    for (int round = 0; round < 1'000; ++round) {
        for (int i = round % 3; i > 0; --i, ++next) {
            queue.put(next);
            expected.push_back(next);
        }
        const auto out = expected.end() - 1 - round % 5;
        ASSERT_EQ(queue.extract_only([&](const item& queued) { return queued.value == *out; }),
                  item(*out));
        expected.erase(out);
        if (round % 4 == 0) {
            ASSERT_EQ(queue.take(), item(expected.front()));
            expected.erase(expected.begin());
        }
    }
    EXPECT_EQ(queue.size(), expected.size());
    EXPECT_EQ(drained(queue), expected);
    queue.put(7);
    EXPECT_EQ(queue.take(), item(7));
}

// What a taker knows of the tail is too far on then.
TEST(linked_blocking_queue, gives_no_more_than_it_has_when_its_tail_went_back) {
    linked_blocking_queue<int> queue;
    for (int i = 0; i < 300; ++i) queue.put(i);
    EXPECT_EQ(queue.poll(), 0);
    EXPECT_EQ(queue.extract_only([](int queued) { return queued == 299; }), 299);
    EXPECT_EQ(queue.to_vector().size(), 298u);  // after which it must still know that
    for (int i = 1; i < 299; ++i) ASSERT_EQ(queue.poll(), i);
    EXPECT_FALSE(queue.poll());
    EXPECT_TRUE(queue.empty());
}

TEST(linked_blocking_queue, has_room_again_when_its_tail_went_back) {
    linked_blocking_queue<int> queue(300);
    for (int i = 0; i < 300; ++i) queue.put(i);
    EXPECT_FALSE(queue.offer(300));
    waiting_call putter([&] { queue.put(300); });
    EXPECT_EQ(queue.extract_only([](int queued) { return queued == 299; }), 299);
    EXPECT_TRUE(putter.returned());
    EXPECT_EQ(queue.remaining_capacity(), 0u);
    for (int i = 0; i < 299; ++i) EXPECT_EQ(queue.poll(), i);
    EXPECT_EQ(queue.poll(), 300);
    EXPECT_FALSE(queue.poll());
}

TEST(linked_blocking_queue, growing_lets_as_many_waiting_putters_in_as_there_is_new_room) {
    linked_blocking_queue<int> queue(1);
    queue.put(0);
    waiting_putters putters(queue, 8);
    queue.set_capacity(4);
    EXPECT_TRUE(putters.come_down_to(5));
    EXPECT_EQ(queue.size(), 4u);
    queue.set_capacity(100);
    EXPECT_TRUE(putters.come_down_to(0));
    EXPECT_EQ(queue.size(), 9u);
    EXPECT_EQ(queue.capacity(), 100);
}

TEST(linked_blocking_queue, removing_the_bound_lets_everybody_in) {
    linked_blocking_queue<int> queue(1);
    queue.put(0);
    waiting_putters putters(queue, 3);
    queue.set_capacity(unbounded);
    EXPECT_TRUE(putters.come_down_to(0));
    EXPECT_EQ(queue.remaining_capacity(), linked_blocking_queue<int>::npos);
}

TEST(linked_blocking_queue, shrinking_drops_nothing_and_refuses_until_drained) {
    linked_blocking_queue<item> queue(10);
    for (int i = 0; i < 10; ++i) queue.put(i);
    queue.set_capacity(3);
    EXPECT_EQ(queue.size(), 10u);
    EXPECT_EQ(queue.remaining_capacity(), 0u);
    for (int i = 0; i < 8; ++i) {
        EXPECT_FALSE(queue.offer(99));
        EXPECT_EQ(queue.take(), item(i));
    }
    EXPECT_EQ(queue.remaining_capacity(), 1u);
    EXPECT_TRUE(queue.offer(10));
    EXPECT_FALSE(queue.offer(99));
}

TEST(linked_blocking_queue, waiting_putters_stay_out_of_a_shrunk_queue_until_it_is_below) {
    linked_blocking_queue<int> queue(4);
    for (int i = 0; i < 4; ++i) queue.put(i);
    waiting_putters putters(queue, 2);
    queue.set_capacity(2);
    queue.take();
    queue.take();
    EXPECT_EQ(putters.still_waiting(), 2);
    queue.take();
    EXPECT_TRUE(putters.come_down_to(1));
    EXPECT_EQ(queue.size(), 2u);
}

TEST(linked_blocking_queue, refuses_a_new_capacity_that_is_not_positive) {
    linked_blocking_queue<int> queue(5);
    for (const int capacity : {0, -1}) {
        EXPECT_THROW(queue.set_capacity(capacity), std::invalid_argument);
        EXPECT_EQ(queue.capacity(), 5);
        EXPECT_EQ(queue.remaining_capacity(), 5u);
    }
}

TEST(linked_blocking_queue, allocates_nothing_once_it_has_seen_its_usual_length) {
    linked_blocking_queue<task> queue;
    const auto swing = [&] {
        for (int i = 0; i < 5000; ++i) queue.put([] {});
        for (int i = 0; i < 5000; ++i) queue.take()();
    };
    swing();
    const auto before = allocations_here();
    for (int i = 0; i < 5; ++i) swing();
    EXPECT_EQ(allocations_here(), before);
}

TEST(linked_blocking_queue, gives_the_memory_of_a_burst_back) {
    linked_blocking_queue<task> queue;
    const auto before = memory_in_use();
    for (int i = 0; i < 200'000; ++i) queue.put([] {});
    EXPECT_GT(memory_in_use(), before + 200'000 * 64);
    for (int i = 0; i < 200'000; ++i) queue.take();
    EXPECT_LT(memory_in_use(), before + 4 * (1 << 20));
    queue.clear();
    EXPECT_LT(memory_in_use(), before + (1 << 20));
    for (int i = 0; i < 200'000; ++i) queue.put([] {});
    {
        std::vector<task> out;
        queue.drain_to(out);
    }
    EXPECT_LT(memory_in_use(), before + (1 << 20));
}

TEST(linked_blocking_queue, gives_the_memory_of_what_is_removed_back) {
    linked_blocking_queue<task> queue;
    const auto before = memory_in_use();
    const auto any = [](const task&) { return true; };
    for (int i = 0; i < 200'000; ++i) queue.put([] {});
    EXPECT_EQ(queue.remove_if(any), 200'000U);
    EXPECT_LT(memory_in_use(), before + (1 << 20));
    for (int i = 0; i < 200'000; ++i) queue.put([] {});
    for (int i = 0; i < 200'000; ++i) EXPECT_TRUE(queue.extract_first(any));
    EXPECT_LT(memory_in_use(), before + 4 * (1 << 20));
}

// The putter that was woken for the room must not keep the wake-up to itself.
TEST(linked_blocking_queue, a_putter_that_gets_no_memory_leaves_the_room_to_the_next) {
    struct large {
        char bytes[10'000] = {};  // one to a chunk
    };
    linked_blocking_queue<large> queue(1);
    queue.put(large());
    waiting_call fails([&] {
        failing_allocation_scope scope(0);
        queue.put(large());
    });
    waiting_call succeeds([&] { queue.put(large()); });
    queue.set_capacity(2);
    EXPECT_FALSE(fails.returned());
    EXPECT_TRUE(succeeds.returned());
    EXPECT_EQ(queue.size(), 2u);
}

TEST(linked_blocking_queue, holds_tasks_that_are_empty) {
    linked_blocking_queue<task> queue;
    queue.put(task());
    queue.put(named("second", [] {}));
    queue.put(task());
    queue.put(task());
    std::vector<bool> filled;
    queue.for_each([&](const task& t) { filled.push_back(static_cast<bool>(t)); });
    EXPECT_EQ(filled, (std::vector<bool>{false, true, false, false}));
    EXPECT_FALSE(queue.take());
    EXPECT_EQ(queue.take().name(), "second");
    queue.remove_if([](const task& t) { return !t; }, 1);
    EXPECT_EQ(queue.size(), 1u);  // and is destroyed with the queue
}

// Whoever takes an element may know that it is the last one.
TEST(linked_blocking_queue, may_be_destroyed_as_soon_as_what_was_put_is_taken) {
    for (int round = 0; round < 2000; ++round) {
        auto queue = std::make_unique<linked_blocking_queue<int>>();
        cadre::thread putter([&queue = *queue] { queue.put(1); });
        if (round % 2)
            queue->take();
        else
            while (!queue->poll()) {}
        queue.reset();
        putter.join();
    }
}

TEST(linked_blocking_queue, holds_elements_larger_than_a_chunk_is_meant_to_be) {
    struct large {
        explicit large(int v) : value(v) {}
        int value;
        char bytes[10'000] = {};
    };
    linked_blocking_queue<large> queue;
    for (int i = 0; i < 300; ++i) queue.put(large(i));
    for (int i = 0; i < 300; ++i) EXPECT_EQ(queue.take().value, i);
}

TEST(linked_blocking_queue, a_waiting_put_that_gets_no_memory_lets_the_next_one_in) {
    linked_blocking_queue<item> queue(2);
    for (int i = 0; i < 254; ++i) {  // the 257th element needs a new piece of memory
        queue.put(i);
        queue.take();
    }
    queue.put(254);
    queue.put(255);
    std::atomic<bool> failed = false;
    waiting_call first([&] {
        const failing_allocation_scope no_memory(0);
        try {
            queue.put(256);
        } catch (const std::bad_alloc&) {
            failed = true;
        }
    });
    waiting_call second([&] { queue.put(257); });
    EXPECT_EQ(queue.take(), item(254));
    EXPECT_TRUE(first.returned());
    EXPECT_TRUE(failed);
    EXPECT_TRUE(second.returned());
    EXPECT_EQ(drained(queue), (std::vector{255, 257}));
}

}  // namespace
}  // namespace cadre::testing
