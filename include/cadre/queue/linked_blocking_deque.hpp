// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cadre/detail/queue_monitor.hpp>
#include <cadre/detail/queue_ring.hpp>
#include <cadre/queue/blocking_queue.hpp>

namespace cadre {

/// A queue with two ends, bounded or not. As a blocking_queue it inserts at the back and removes
/// at the front; each operation is there for either end too. All members may be called from any
/// thread. For a put or a take without time limit the interrupt flag counts only if it has to wait.
///
///     cadre::linked_blocking_deque<int> deque;
///     deque.put_last(1);
///     deque.put_first(0);
///     int one = deque.take_last();
template <class T>
class linked_blocking_deque final : public detail::monitor_queue<T, detail::ring<T>> {
    using ring = detail::ring<T>;
    using monitor = detail::monitor_queue<T, ring>;
    using nanoseconds = std::chrono::nanoseconds;

    static void push_front(ring& store, T&& x) { store.push_front(std::move(x)); }
    static T pop_back(ring& store) { return store.pop_back(); }
    using monitor::no_limit;
    using monitor::pop_front;
    using monitor::push_back;

public:
    /// Throws std::invalid_argument if the capacity is less than 1.
    explicit linked_blocking_deque(int capacity = unbounded) : monitor(ring(), checked(capacity)) {}
    /// With these elements, and no bound.
    template <std::ranges::input_range Range>
    explicit linked_blocking_deque(Range&& elements) : linked_blocking_deque() {
        this->add_all(std::forward<Range>(elements));
    }
    /// Two or more in braces: ({1, 2}). No initializer_list, to which {1} would be an element.
    template <std::size_t count>
    explicit linked_blocking_deque(T (&&elements)[count]) : linked_blocking_deque() {
        for (T& x : elements) this->add(std::move(x));
    }

    int capacity() const {
        const std::size_t bound = this->bound();
        return bound == monitor::npos ? unbounded : static_cast<int>(bound);
    }

    /// Inserts x if there is room at once. False when full; x is untouched then.
    bool offer_first(T&& x) { return this->try_insert(std::move(x), push_front); }
    bool offer_last(T&& x) { return this->try_insert(std::move(x), push_back); }
    bool offer_first(const T& x) requires std::copy_constructible<T> { return offer_first(T(x)); }
    bool offer_last(const T& x) requires std::copy_constructible<T> { return offer_last(T(x)); }
    /// Inserts x, waiting up to `timeout` for room. False if there was none; x is untouched then.
    template <class Rep, class Period>
    bool offer_first_for(T&& x, std::chrono::duration<Rep, Period> timeout) {
        return this->insert_within(detail::saturated(timeout), std::move(x), push_front);
    }
    template <class Rep, class Period>
    bool offer_last_for(T&& x, std::chrono::duration<Rep, Period> timeout) {
        return this->insert_within(detail::saturated(timeout), std::move(x), push_back);
    }
    template <class Rep, class Period>
    bool offer_first_for(const T& x, std::chrono::duration<Rep, Period> timeout) requires
        std::copy_constructible<T> {
        return offer_first_for(T(x), timeout);
    }
    template <class Rep, class Period>
    bool offer_last_for(const T& x, std::chrono::duration<Rep, Period> timeout) requires
        std::copy_constructible<T> {
        return offer_last_for(T(x), timeout);
    }
    /// Inserts x, waiting for room.
    void put_first(T x) { this->insert_or_wait(no_limit, std::move(x), push_front); }
    void put_last(T x) { this->insert_or_wait(no_limit, std::move(x), push_back); }
    void put(T x) override { put_last(std::move(x)); }
    /// Inserts x; throws illegal_state when full.
    void add_first(T x) {
        if (!offer_first(std::move(x))) throw illegal_state("the deque is full");
    }
    void add_last(T x) {
        if (!offer_last(std::move(x))) throw illegal_state("the deque is full");
    }
    /// As on a stack: add_first().
    void push(T x) { add_first(std::move(x)); }

    /// Removes and returns an end, waiting for an element.
    T take_first() { return std::move(*this->remove_or_wait(no_limit, pop_front)); }
    T take_last() { return std::move(*this->remove_or_wait(no_limit, pop_back)); }
    T take() override { return take_first(); }
    /// Removes and returns an end; nothing if there is none.
    std::optional<T> poll_first() { return this->try_remove(pop_front); }
    std::optional<T> poll_last() { return this->try_remove(pop_back); }
    /// Removes and returns an end, waiting up to `timeout` for an element; nothing if none came.
    template <class Rep, class Period>
    std::optional<T> poll_first_for(std::chrono::duration<Rep, Period> timeout) {
        return this->remove_within(detail::saturated(timeout), pop_front);
    }
    template <class Rep, class Period>
    std::optional<T> poll_last_for(std::chrono::duration<Rep, Period> timeout) {
        return this->remove_within(detail::saturated(timeout), pop_back);
    }
    /// Removes and returns an end; throws no_such_element if there is none.
    T remove_first() { return present(poll_first()); }
    T remove_last() { return present(poll_last()); }
    /// As on a stack: remove_first().
    T pop() { return remove_first(); }

    /// A copy of an end; nothing if there is none.
    std::optional<T> peek_first() const requires std::copy_constructible<T> { return this->peek(); }
    std::optional<T> peek_last() const requires std::copy_constructible<T> {
        return this->copy_of([](const ring& store) -> const T& { return store.back(); });
    }
    /// A copy of an end; throws no_such_element if there is none.
    T get_first() const requires std::copy_constructible<T> { return present(peek_first()); }
    T get_last() const requires std::copy_constructible<T> { return present(peek_last()); }

    /// Removes the first, or last, element equal to x; false if there is none.
    bool remove_first_occurrence(const T& x) requires std::equality_comparable<T> {
        return this->remove(x);
    }
    bool remove_last_occurrence(const T& x) requires std::equality_comparable<T> {
        std::vector<T> removed;  // destroyed outside the lock
        const auto take_last_equal = [&](ring& store) -> std::size_t {
            std::size_t after = 0;  // the last one that is equal; 0: none is
            std::size_t i = 0;
            store.for_each([&](const T& y) {
                ++i;
                if (y == x) after = i;
            });
            if (after == 0) return 0;
            return store.extract_if([&](const T&) { return --after == 0; }, removed, 1);
        };
        return this->extract(take_last_equal) > 0;
    }
    /// Shows every element, from the back to the front.
    void for_each_descending(function_ref<void(const T&)> visit) const {
        this->with_store([&](const ring& store) { store.for_each_descending(visit); });
    }

private:
    static T present(std::optional<T> x) {
        if (!x) throw no_such_element();
        return std::move(*x);
    }
    static std::size_t checked(int capacity) {
        if (capacity < 1)
            throw std::invalid_argument("capacity (" + std::to_string(capacity) +
                                        ") must be at least 1");
        return capacity == unbounded ? monitor::npos : static_cast<std::size_t>(capacity);
    }
};

}  // namespace cadre
