// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <compare>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <cadre/queue/array_blocking_queue.hpp>
#include <cadre/queue/delay_queue.hpp>
#include <cadre/queue/linked_blocking_deque.hpp>
#include <cadre/queue/linked_blocking_queue.hpp>
#include <cadre/queue/linked_transfer_queue.hpp>
#include <cadre/queue/priority_blocking_queue.hpp>
#include <cadre/queue/synchronous_queue.hpp>

namespace cadre::testing {

/// An element for every queue: a number, whose time in a delay_queue has come long ago, larger
/// numbers being later. It counts the objects alive; one that was moved from is -1.
class item {
public:
    item(int v) : value(v) { ++alive; }
    item(item&& other) noexcept : value(std::exchange(other.value, -1)) { ++alive; }
    item(const item& other) : value(other.value) { ++alive; }
    item& operator=(item&& other) noexcept {
        value = std::exchange(other.value, -1);
        return *this;
    }
    item& operator=(const item&) = default;
    ~item() { --alive; }

    std::chrono::steady_clock::time_point time_point() const {
        return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(value));
    }
    friend auto operator<=>(const item&, const item&) = default;
    friend std::ostream& operator<<(std::ostream& out, const item& x) { return out << x.value; }

    int value;
    inline static std::atomic<long> alive = 0;
};

using queue_ptr = std::unique_ptr<blocking_queue<item>>;

// A kind of queue: make(capacity) gives one, without a bound where there is none.

template <bool fair>
struct array_kind {
    static constexpr const char* name = fair ? "array_fair" : "array";
    static constexpr bool sorts = false;
    static queue_ptr make(int capacity) {
        return std::make_unique<array_blocking_queue<item>>(capacity, fair);
    }
    static queue_ptr from(const std::vector<int>& values) {
        return std::make_unique<array_blocking_queue<item>>(100, fair, values);
    }
};
template <class Queue, bool bounded>
struct linked_kind {
    static constexpr bool sorts = false;
    static queue_ptr make(int capacity) {
        return bounded ? std::make_unique<Queue>(capacity) : std::make_unique<Queue>();
    }
    static queue_ptr from(const std::vector<int>& values) {
        return std::make_unique<Queue>(values);
    }
};
template <bool bounded>
struct linked_queue_kind : linked_kind<linked_blocking_queue<item>, bounded> {
    static constexpr const char* name = bounded ? "linked_bounded" : "linked";
};
template <bool bounded>
struct deque_kind : linked_kind<linked_blocking_deque<item>, bounded> {
    static constexpr const char* name = bounded ? "deque_bounded" : "deque";
};
template <bool fair>
struct synchronous_kind {
    static constexpr const char* name = fair ? "synchronous_fair" : "synchronous";
    static queue_ptr make(int) { return std::make_unique<synchronous_queue<item>>(fair); }
};
struct transfer_kind : linked_kind<linked_transfer_queue<item>, false> {
    static constexpr const char* name = "transfer";
    static queue_ptr make(int) { return std::make_unique<linked_transfer_queue<item>>(); }
};
template <class Queue>
struct sorting_kind {
    static constexpr bool sorts = true;
    static queue_ptr make(int) { return std::make_unique<Queue>(); }
    static queue_ptr from(const std::vector<int>& values) {
        return std::make_unique<Queue>(values);
    }
};
struct priority_kind : sorting_kind<priority_blocking_queue<item>> {
    static constexpr const char* name = "priority";
};
struct delay_kind : sorting_kind<delay_queue<item>> {
    static constexpr const char* name = "delay";
};

using bounded_kinds = ::testing::Types<array_kind<false>, array_kind<true>, linked_queue_kind<true>,
                                       deque_kind<true>>;
using fifo_kinds =
    ::testing::Types<array_kind<false>, array_kind<true>, linked_queue_kind<true>,
                     linked_queue_kind<false>, deque_kind<true>, deque_kind<false>, transfer_kind>;
using storing_kinds = ::testing::Types<array_kind<false>, array_kind<true>, linked_queue_kind<true>,
                                       linked_queue_kind<false>, deque_kind<true>,
                                       deque_kind<false>, transfer_kind, priority_kind, delay_kind>;
using all_kinds =
    ::testing::Types<array_kind<false>, array_kind<true>, linked_queue_kind<true>,
                     linked_queue_kind<false>, deque_kind<true>, deque_kind<false>, transfer_kind,
                     priority_kind, delay_kind, synchronous_kind<false>, synchronous_kind<true>>;
/// All but delay_queue, for the producer and consumer loops.
using loop_kinds =
    ::testing::Types<array_kind<false>, array_kind<true>, linked_queue_kind<true>,
                     linked_queue_kind<false>, deque_kind<true>, deque_kind<false>, transfer_kind,
                     priority_kind, synchronous_kind<false>, synchronous_kind<true>>;
/// Those whose putters can be made to wait.
using refusing_kinds =
    ::testing::Types<array_kind<false>, array_kind<true>, linked_queue_kind<true>, deque_kind<true>,
                     synchronous_kind<false>, synchronous_kind<true>>;

struct kind_names {
    template <class Kind>
    static std::string GetName(int) {
        return Kind::name;
    }
};

/// How many elements a test uses that needs some.
inline constexpr int some = 32;

/// A queue of `count` elements 0, 1, 2, ... that is full then, if it has a bound.
template <class Kind>
queue_ptr full_queue(int count) {
    queue_ptr queue = Kind::make(count);
    for (int i = 0; i < count; ++i) queue->add(i);
    return queue;
}

/// Everything that is in the queue, in the order in which it leaves.
inline std::vector<int> drained(blocking_queue<item>& queue,
                                std::size_t max = blocking_queue<item>::npos) {
    std::vector<item> out;
    queue.drain_to(out, max);
    std::vector<int> values;
    for (const item& x : out) values.push_back(x.value);
    return values;
}
/// What for_each shows.
inline std::vector<int> shown(const blocking_queue<item>& queue) {
    std::vector<int> values;
    queue.for_each([&](const item& x) { values.push_back(x.value); });
    return values;
}
/// begin, begin + 1, ..., end - 1
inline std::vector<int> numbers(int begin, int end) {
    std::vector<int> values;
    for (int i = begin; i < end; ++i) values.push_back(i);
    return values;
}

}  // namespace cadre::testing
