// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>

#include <cadre/detail/export.hpp>
#include <cadre/detail/queue_heap.hpp>
#include <cadre/detail/queue_monitor.hpp>
#include <cadre/queue/blocking_queue.hpp>
#include <cadre/task.hpp>

namespace cadre {

/// Which of two elements leaves a priority_blocking_queue first, unless it is told otherwise: the
/// smaller one; of two tasks the one with the larger priority.
template <class T>
struct CADRE_API leaves_first : std::less<T> {};
/// Tasks: those of higher priority leave first.
template <>
struct CADRE_API leaves_first<task> {
    bool operator()(const task& a, const task& b) const noexcept {
        return a.priority() > b.priority();
    }
};

/// An unbounded queue whose smallest element leaves first: the one that Compare says comes before
/// the others. Equal elements leave in the order in which they came. Producers never wait. All
/// members may be called from any thread.
///
/// for_each(), to_vector() and to_string() show the elements in no particular order. The
/// comparator is called under the queue's lock. If it throws, the exception leaves from the
/// operation that called it, which then has changed nothing, or from drain_to() after a part.
///
///     cadre::priority_blocking_queue<int> queue;
///     queue.put(3);
///     queue.put(1);
///     int one = queue.take();
template <class T, class Compare = leaves_first<T>>
class CADRE_API priority_blocking_queue final
    : public detail::monitor_queue<T, detail::stable_heap<T, Compare>> {
    using heap = detail::stable_heap<T, Compare>;
    using monitor = detail::monitor_queue<T, heap>;

public:
    using monitor::offer_for;

    priority_blocking_queue() : priority_blocking_queue(Compare()) {}
    explicit priority_blocking_queue(Compare compare) : monitor(heap(std::move(compare))) {}
    /// With memory for so many elements, and more as they come. Throws std::invalid_argument if
    /// initial_capacity is less than 1.
    explicit priority_blocking_queue(int initial_capacity, Compare compare = Compare())
        : monitor(reserved(initial_capacity, heap(std::move(compare)))) {}
    /// With these elements.
    template <std::ranges::input_range Range>
    explicit priority_blocking_queue(Range&& elements, Compare compare = Compare())
        : priority_blocking_queue(std::move(compare)) {
        this->add_all(std::forward<Range>(elements));
    }
    /// Two or more in braces: ({1, 2}). No initializer_list, to which {1} would be an element.
    template <std::size_t count>
    explicit priority_blocking_queue(T (&&elements)[count], Compare compare = Compare())
        : priority_blocking_queue(std::move(compare)) {
        for (T& x : elements) this->add(std::move(x));
    }

    Compare comparator() const {
        return this->with_store([](const heap& store) { return store.comparator(); });
    }

    // There is always room: these neither wait nor look at the interrupt flag.
    bool offer_for(T&& x, std::chrono::nanoseconds) override { return this->offer(std::move(x)); }
    void put(T x) override { this->offer(std::move(x)); }

private:
    static heap reserved(int initial_capacity, heap store) {
        if (initial_capacity < 1)
            throw std::invalid_argument("initial_capacity (" + std::to_string(initial_capacity) +
                                        ") must be at least 1");
        store.reserve(static_cast<std::size_t>(initial_capacity));
        return store;
    }
};

}  // namespace cadre

extern template class cadre::detail::monitor_queue<
    cadre::task, cadre::detail::stable_heap<cadre::task, cadre::leaves_first<cadre::task>>>;
extern template class cadre::priority_blocking_queue<cadre::task>;
