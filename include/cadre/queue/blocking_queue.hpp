// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cadre/detail/duration.hpp>
#include <cadre/detail/export.hpp>
#include <cadre/detail/queue_extract.hpp>
#include <cadre/errors.hpp>
#include <cadre/function_ref.hpp>

namespace cadre {

namespace detail {
template <class T>
class CADRE_API fifo_queue;
class work_stealing_queue;
}  // namespace detail

/// As a capacity: no bound.
inline constexpr int unbounded = std::numeric_limits<int>::max();

/// A queue whose takers wait for elements and whose putters wait for room. All members may be
/// called from any thread. What a thread did before it put an element is visible to whoever takes
/// it out.
///
/// An offer() or offer_for() that is refused, by false or an exception, leaves the caller's element
/// untouched; put() and add() take it by value, so an exception destroys it.
/// Every call that may wait throws interrupted if the calling thread is interrupted before or
/// while it waits; an interrupt beats an expired timeout. A timeout of zero or less does not wait.
///
/// A queue is destroyed when no call is under way any more; a put whose element has been taken
/// counts as over.
///
/// Elements are moved, compared and shown to predicates under the queue's lock, so those must not
/// use the queue; elements are destroyed outside it. Elements must be movable without exceptions.
template <class T>
class CADRE_API blocking_queue {
public:
    using value_type = T;
    /// As a count: all of them. As a capacity: no bound.
    static constexpr std::size_t npos = std::numeric_limits<std::size_t>::max();

    blocking_queue() = default;
    blocking_queue(const blocking_queue&) = delete;
    blocking_queue& operator=(const blocking_queue&) = delete;
    virtual ~blocking_queue() = default;

    /// Inserts x if there is room at once. False when full; x is untouched then.
    virtual bool offer(T&& x) = 0;
    /// Inserts x, waiting up to `timeout` for room. False if there was none; x is untouched then.
    virtual bool offer_for(T&& x, std::chrono::nanoseconds timeout) = 0;
    /// Inserts x, waiting for room.
    virtual void put(T x) = 0;
    /// Removes and returns the head, waiting for one.
    virtual T take() = 0;
    /// Removes and returns the head; nothing if there is none.
    virtual std::optional<T> poll() = 0;
    /// Removes and returns the head, waiting up to `timeout` for one; nothing if none came.
    virtual std::optional<T> poll_for(std::chrono::nanoseconds timeout) = 0;

    virtual std::size_t size() const = 0;
    virtual bool empty() const { return size() == 0; }
    /// How many elements fit at once; npos if there is no bound, whatever the size.
    virtual std::size_t remaining_capacity() const = 0;

    /// Moves the first `max` elements to the end of `out`, in order; returns how many. If `out`
    /// cannot grow, the exception leaves and what was not moved stays.
    virtual std::size_t drain_to(std::vector<T>& out, std::size_t max = npos) = 0;
    /// Moves the first `max` elements that `wanted` accepts to the end of `out`, in order; the
    /// others keep theirs. `wanted` sees each element once at most. If it throws, nothing changed.
    ///
    /// That is for queues of the library. A queue of one's own that does not override this takes
    /// all elements out and puts back those that stay: others may take and put meanwhile, and see
    /// fewer elements, or another order. If it is bounded, those that stay may find their places
    /// taken, and the call waits for others to take some out: for a pool, such a queue overrides
    /// this.
    virtual std::size_t extract_if(function_ref<bool(const T&)> wanted, std::vector<T>& out,
                                   std::size_t max = npos) {
        return detail::extract_by_draining(*this, wanted, out, max);
    }
    /// Takes out the first element that `wanted` accepts; nothing if there is none. Quick, and
    /// without allocation, if that is near the head of an array or linked queue.
    virtual std::optional<T> extract_first(function_ref<bool(const T&)> wanted) {
        std::vector<T> found;
        if (extract_if(wanted, found, 1) == 0) return std::nullopt;
        return std::optional<T>(std::in_place, std::move(found.front()));
    }
    /// Shows every element, in the order in which they would leave where the queue has one.
    virtual void for_each(function_ref<void(const T&)> visit) const = 0;

    /// Removes all elements.
    virtual void clear() {
        remove_if([](const T&) { return true; });
    }

    // Conveniences over the above.

    bool offer(const T& x) requires std::copy_constructible<T> { return offer(T(x)); }
    template <class Rep, class Period>
    bool offer_for(T&& x, std::chrono::duration<Rep, Period> timeout) {
        return offer_for(std::move(x), detail::saturated(timeout));
    }
    template <class Rep, class Period>
    bool offer_for(const T& x,
                   std::chrono::duration<Rep, Period> timeout) requires std::copy_constructible<T> {
        return offer_for(T(x), detail::saturated(timeout));
    }
    template <class Rep, class Period>
    std::optional<T> poll_for(std::chrono::duration<Rep, Period> timeout) {
        return poll_for(detail::saturated(timeout));
    }
    /// Inserts x; throws illegal_state when full.
    void add(T x) {
        if (!offer(std::move(x))) throw illegal_state("the queue is full");
    }
    /// Inserts the elements one after the other; true if there was any. Throws illegal_state
    /// when full; those before stay inserted.
    template <std::ranges::input_range Range>
        requires std::convertible_to<std::ranges::range_reference_t<Range>, T>
    bool add_all(Range&& elements) {
        bool any = false;
        for (auto&& x : elements) {
            add(T(std::forward<decltype(x)>(x)));
            any = true;
        }
        return any;
    }
    bool add_all(std::initializer_list<T> elements) requires std::copy_constructible<T> {
        return add_all<std::initializer_list<T>&>(elements);
    }
    /// Copies another queue's elements; std::invalid_argument if it is this one.
    bool add_all(const blocking_queue& other) requires std::copy_constructible<T> {
        if (&other == this)
            throw std::invalid_argument("add_all: a queue cannot be added to itself");
        return add_all(other.to_vector());
    }

    /// Removes and returns the head; throws no_such_element if there is none.
    T remove() {
        if (auto head = poll()) return std::move(*head);
        throw no_such_element();
    }
    /// A negative maximum moves nothing.
    template <std::signed_integral Count>
    std::size_t drain_to(std::vector<T>& out, Count max) {
        return max <= 0 ? 0 : drain_to(out, static_cast<std::size_t>(max));
    }
    /// Moves the first `max` elements into another queue, one after the other; returns how many.
    /// Throws illegal_state if that one has no room; the rest stays here then, but one that found
    /// the other queue filled by a third party at the last moment goes to the end of this one, or,
    /// if that has no room either, to whichever has some first. std::invalid_argument if it is this
    /// one.
    std::size_t drain_to(blocking_queue& other, std::size_t max = npos) {
        if (&other == this)
            throw std::invalid_argument("drain_to: a queue cannot be drained into itself");
        std::size_t moved = 0;
        for (; moved < max && would_give(); ++moved) {
            if (!other.would_accept()) throw illegal_state("the other queue is full");
            auto x = poll();
            if (!x) break;
            while (!other.offer(std::move(*x))) {
                if (offer(std::move(*x))) throw illegal_state("the other queue is full");
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
        }
        return moved;
    }
    template <std::signed_integral Count>
    std::size_t drain_to(blocking_queue& other, Count max) {
        return drain_to(other, max <= 0 ? std::size_t{0} : static_cast<std::size_t>(max));
    }
    /// Removes the first `max` elements that `unwanted` accepts; returns how many.
    std::size_t remove_if(function_ref<bool(const T&)> unwanted, std::size_t max = npos) {
        std::vector<T> removed;  // destroyed outside the lock
        return extract_if(unwanted, removed, max);
    }

    /// A copy of the head; nothing if there is none.
    std::optional<T> peek() const requires std::copy_constructible<T> { return peek_copy(); }
    /// A copy of the head; throws no_such_element if there is none.
    T element() const requires std::copy_constructible<T> {
        if (auto head = peek()) return std::move(*head);
        throw no_such_element();
    }
    /// Copies of all elements, in the order of for_each.
    std::vector<T> to_vector() const requires std::copy_constructible<T> {
        std::vector<T> copies;
        for_each([&](const T& x) { copies.push_back(x); });
        return copies;
    }

    bool contains(const T& x) const requires std::equality_comparable<T> {
        bool found = false;
        for_each([&](const T& y) { found = found || y == x; });
        return found;
    }
    /// Removes the first element equal to x; false if there is none.
    bool remove(const T& x) requires std::equality_comparable<T> {
        return remove_if([&](const T& y) { return y == x; }, 1) > 0;
    }
    template <std::ranges::input_range Range>
    bool contains_all(const Range& elements) const requires std::equality_comparable<T> {
        for (const auto& x : elements)
            if (!contains(x)) return false;
        return true;
    }
    bool contains_all(
        std::initializer_list<T> elements) const requires std::equality_comparable<T> {
        return contains_all<std::initializer_list<T>>(elements);
    }
    /// Removes every element that is in `elements`; true if there was any.
    template <std::ranges::forward_range Range>
    bool remove_all(const Range& elements) requires std::equality_comparable<T> {
        return remove_if([&](const T& x) { return is_in(elements, x); }) > 0;
    }
    bool remove_all(std::initializer_list<T> elements) requires std::equality_comparable<T> {
        return remove_all<std::initializer_list<T>>(elements);
    }
    /// Removes every element that is not in `elements`; true if there was any.
    template <std::ranges::forward_range Range>
    bool retain_all(const Range& elements) requires std::equality_comparable<T> {
        return remove_if([&](const T& x) { return !is_in(elements, x); }) > 0;
    }
    bool retain_all(std::initializer_list<T> elements) requires std::equality_comparable<T> {
        return retain_all<std::initializer_list<T>>(elements);
    }

    /// The elements, bracketed and separated by commas.
    std::string to_string() const requires requires(std::ostream& out, const T& x) { out << x; }
    {
        std::ostringstream out;
        const char* separator = "";
        out << '[';
        for_each([&](const T& x) { out << std::exchange(separator, ", ") << x; });
        out << ']';
        return out.str();
    }

    /// For pools: the queue as the kind that they know better than this interface; null if it is
    /// another kind.
    virtual detail::fifo_queue<T>* as_fifo() noexcept { return nullptr; }
    virtual detail::work_stealing_queue* as_work_stealing() noexcept { return nullptr; }

protected:
    /// Whether poll() has something to give just now, for drain_to(). A queue whose elements cannot
    /// always be taken, or that has some without storing them, says here how it is.
    virtual bool would_give() const { return !empty(); }
    /// Whether offer() has room just now, for drain_to(). A queue that has some beyond
    /// remaining_capacity() says so here.
    virtual bool would_accept() const { return remaining_capacity() != 0; }

    /// The head, copied, for peek(). An implementation whose first element in for_each() is not
    /// its head says here which one is.
    virtual std::optional<T> peek_copy() const {
        std::optional<T> head;
        if constexpr (std::copy_constructible<T>)
            for_each([&](const T& x) {
                if (!head) head.emplace(x);
            });
        return head;
    }

private:
    template <class Range>
    static bool is_in(const Range& elements, const T& x) {
        for (const auto& y : elements)
            if (static_cast<const T&>(y) == x) return true;
        return false;
    }
};

}  // namespace cadre
