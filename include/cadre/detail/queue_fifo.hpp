// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/detail/locked_index.hpp>
#include <cadre/detail/queue_extract.hpp>
#include <cadre/detail/queue_segments.hpp>
#include <cadre/detail/schedule_point.hpp>
#include <cadre/detail/wait_room.hpp>
#include <cadre/queue/blocking_queue.hpp>

namespace cadre::detail {

/// The FIFO queue of pools: bounded or not, unfair, made for many short visits.
///
/// Elements have the indices [head, tail). tail_ is a lock too: putters fill the slot at the tail
/// while they hold it, and publish it by letting go. Takers hold nothing: who moves head_ on from
/// an index by compare-exchange owns the element there, and moves it away in its own time. What
/// looks at elements in the middle, or takes them out, holds tail_ and closes head_, so that
/// between the two nothing moves. It may move elements towards the tail and then open head_ further
/// on, but never leaves head_ where it was with another element there: a taker may have read it
/// before and exchange it after.
///
/// It may also move elements towards the head, if that is the shorter way, and the tail back; never
/// the element at the head itself. So a taker that saw an element at the head still finds it there,
/// but a tail that was read earlier may be too far on. From then on head_ says so, for good: takers
/// do without known_tail_, and who claims more than one holds tail_.
///
/// A put may be over for its putter a little before others see the tail that it has left. They see
/// that tail_ is taken, and so wait before they believe that there is nothing.
///
/// Those who find nothing, or no room, sleep in a wait_room. A putter calls a taker while it holds
/// tail_, which a taker takes for its last look. A taker publishes room by the exchange of head_,
/// which is sequentially consistent, and calls a putter after that.
template <class T>
class CADRE_API fifo_queue : public blocking_queue<T> {
public:
    using blocking_queue<T>::npos;
    using blocking_queue<T>::offer;
    using blocking_queue<T>::offer_for;
    using blocking_queue<T>::poll_for;
    using blocking_queue<T>::drain_to;

    bool offer(T&& x) override { return try_insert(std::move(x)); }
    bool offer_for(T&& x, std::chrono::nanoseconds timeout) override {
        return insert_within(timeout, std::move(x));
    }
    void put(T x) override { insert_within(no_limit, std::move(x)); }
    T take() override { return std::move(*remove_within(no_limit)); }
    std::optional<T> poll() override {
        std::uint64_t index = 0;
        do {
            if (claim_head(index)) return taken(index);
        } while (!is_empty());
        return std::nullopt;
    }
    std::optional<T> poll_for(std::chrono::nanoseconds timeout) override {
        return remove_within(timeout);
    }
    std::size_t size() const override {
        // The head stood still while the tail was read: so many there were at that moment.
        for (;;) {
            const std::uint64_t head = head_.load();
            const std::uint64_t tail = tail_.load();
            if (head_.load() >> head_shift != head >> head_shift) continue;
            if (tail != head >> head_shift) return tail - (head >> head_shift);
            if (is_empty()) return 0;
        }
    }
    std::size_t remaining_capacity() const override {
        const std::size_t capacity = capacity_.load();
        return capacity == npos ? npos : capacity - std::min(capacity, size());
    }
    std::size_t drain_to(std::vector<T>& out, std::size_t max = npos) override {
        make_room(out, std::min(max, settled_size()));
        const auto [first, last] = claim_many(std::min(max, out.capacity() - out.size()));
        for (auto i = first; i != last; ++i) out.push_back(slots_.at(i).take());
        many_left(max == npos);
        return last - first;
    }
    std::size_t extract_if(function_ref<bool(const T&)> wanted, std::vector<T>& out,
                           std::size_t max = npos) override {
        const std::size_t count = standstill(*this).extract_if(wanted, out, max);
        if (count > 0) many_left(size() == 0);
        return count;
    }
    std::optional<T> extract_first(function_ref<bool(const T&)> wanted) override {
        std::uint64_t vacant = 0;
        auto found = standstill(*this).extract_first(wanted, vacant);
        if (found) left(vacant);
        return found;
    }
    /// extract_first(), where `wanted` accepts one element at most: quick if that is near the head
    /// or the tail.
    std::optional<T> extract_only(function_ref<bool(const T&)> wanted) {
        std::uint64_t vacant = 0;
        auto found = standstill(*this).extract_only(wanted, vacant);
        if (found) left(vacant);
        return found;
    }
    void for_each(function_ref<void(const T&)> visit) const override {
        standstill all(const_cast<fifo_queue&>(*this));  // visit gets const T&
        for (auto i = all.head; i != all.tail.value; ++i) visit(all.queue.slots_.at(i).value());
    }
    fifo_queue* as_fifo() noexcept override { return this; }

    // What offer() and poll() do, without a virtual call.
    //
    // A putter touches nothing of the queue once its element is public: whoever takes it may know
    // that it was the last one, and destroy the queue.
    bool try_insert(T&& x, bool has_waited = false) {
        if (is_full()) return false;
        deferred_wake wake;  // after the lock is let go of
        index_scope tail(tail_);
        if (!has_room_at(tail.value)) return false;
        if (slots_.needs_segment(tail.value)) slots_.append_segment(head_.load() >> head_shift);
        slots_.back(tail.value).fill(std::move(x));
        ++tail.value;
        if (takers_.wants_call()) takers_.call(wake);
        if (has_waited && putters_.wants_call() && has_room_at(tail.value)) putters_.call(wake);
        return true;
    }
    /// Without the lock: true if there was no room at some moment of this call. Most of those who
    /// are refused hold nobody up, then.
    bool is_full() const noexcept {
        const std::size_t capacity = capacity_.load(std::memory_order_relaxed);
        if (capacity == npos) return false;
        // The tail first: when it was read the head was no further on, so there were at least so
        // many. A head that has gone past that tail meanwhile makes the difference negative.
        const auto tail = static_cast<std::int64_t>(tail_.load());
        const auto no_room = [&](std::uint64_t head) {
            const auto size = tail - static_cast<std::int64_t>(head);
            return size >= 0 && static_cast<std::uint64_t>(size) >= capacity;
        };
        return no_room(known_head_.load(std::memory_order_relaxed)) &&
               no_room(head_.load() >> head_shift) && capacity_.load() == capacity;
    }
    /// Moves the head into x; false, with x untouched, if there is none.
    bool try_take(T& x) noexcept {
        std::uint64_t index = 0;
        do {
            if (try_take_at_once(x, index)) return true;
        } while (!is_empty());
        return false;
    }
    /// The same; index: its running number. May also be false while something is being put, or has
    /// just been: for those who look again before they believe it.
    bool try_take_at_once(T& x, std::uint64_t& index) noexcept {
        if (!claim_head(index)) return false;
        slots_.at(index).take_to(x);
        left(index);
        return true;
    }

    void clear() override {
        const auto [first, last] = claim_many(npos);
        for (auto i = first; i != last; ++i) static_cast<void>(slots_.at(i).take());
        many_left(true);
    }

protected:
    /// npos: no bound.
    explicit fifo_queue(std::size_t capacity) : capacity_(capacity) {}
    struct with_memory {};
    /// Has memory for `capacity` elements beforehand.
    fifo_queue(std::size_t capacity, with_memory) : slots_(capacity), capacity_(capacity) {}
    ~fifo_queue() override {
        for (auto i = head_.load() >> head_shift; i != tail_.load(); ++i)
            static_cast<void>(slots_.at(i).take());
    }

    std::optional<T> peek_copy() const override {
        if constexpr (std::copy_constructible<T>) {
            standstill all(const_cast<fifo_queue&>(*this));
            if (all.head != all.tail.value)
                return std::optional<T>(std::in_place, all.queue.slots_.at(all.head).value());
        }
        return std::nullopt;
    }

    std::size_t bound() const noexcept { return capacity_.load(); }
    void set_bound(std::size_t capacity) {
        {
            const index_scope tail(tail_);
            capacity_.store(capacity);
        }
        if (putters_.wants_call() && has_room()) putters_.call();
    }

private:
    static constexpr auto no_limit = std::chrono::nanoseconds::max();
    static constexpr std::uint64_t closed = 1;      // in head_, below the index, as the next
    static constexpr std::uint64_t moved_back = 2;  // the tail was, at least once
    static constexpr int head_shift = 2;
    static constexpr std::uint64_t one = std::uint64_t{1} << head_shift;  // element, for head_

    /// While it lives, nobody puts or takes.
    struct standstill {
        explicit standstill(fifo_queue& q)
            : queue(q), tail(q.tail_), flags(q.head_.fetch_or(closed)), head(flags >> head_shift) {
            flags &= moved_back;
        }
        ~standstill() { queue.head_.store(head << head_shift | flags); }
        standstill(const standstill&) = delete;
        standstill& operator=(const standstill&) = delete;

        std::size_t extract_if(function_ref<bool(const T&)> wanted, std::vector<T>& out,
                               std::size_t max);
        /// vacant: the index of the slot that has no element any more.
        std::optional<T> extract_first(function_ref<bool(const T&)> wanted, std::uint64_t& vacant);
        std::optional<T> extract_only(function_ref<bool(const T&)> wanted, std::uint64_t& vacant);
        std::optional<T> extract_at(std::uint64_t at, std::uint64_t& vacant);
        void move(std::uint64_t from, std::uint64_t to) noexcept {
            queue.slots_.at(to).fill(queue.slots_.at(from).take());
        }

        fifo_queue& queue;
        index_scope tail;  // let go of after head_ is open again
        std::uint64_t flags;
        std::uint64_t head;
    };

    /// The interrupt flag counts even if there is room.
    bool insert_within(std::chrono::nanoseconds timeout, T&& x) {
        thread_control::current().throw_if_interrupted();
        if (try_insert(std::move(x))) return true;
        const steady_time deadline = deadline_after(timeout);
        try {
            do {
                if (!putters_.wait(deadline, [this] { return has_room(); })) return false;
            } while (!try_insert(std::move(x), true));
        } catch (...) {
            if (putters_.wants_call() && has_room()) putters_.call();
            throw;
        }
        return true;
    }
    /// The interrupt flag counts even if there is an element.
    std::optional<T> remove_within(std::chrono::nanoseconds timeout) {
        thread_control::current().throw_if_interrupted();
        std::uint64_t index = 0;
        if (claim_head(index)) return taken(index);
        const steady_time deadline = deadline_after(timeout);
        try {
            do {
                if (!takers_.wait(deadline, [this] { return has_elements(); })) {
                    pass_call_on();
                    return std::nullopt;
                }
            } while (!claim_head(index));
        } catch (...) {
            pass_call_on();
            throw;
        }
        pass_call_on();
        return taken(index);
    }

    /// For a taker that was called, whether it got an element or gives up: while it was on its way
    /// no other was called. The look waits for a putter that has filled a slot but not published
    /// it, for that one may have seen the call under way, and called nobody.
    void pass_call_on() noexcept {
        if (takers_.wants_call() && has_elements()) takers_.call();
    }

    /// The look of a taker that is to sleep. That there is nothing, it believes only under tail_:
    /// not past a putter that has not seen it yet.
    bool has_elements() noexcept {
        if (head_.load() >> head_shift != tail_.load()) return true;
        const index_scope tail(tail_);
        return head_.load() >> head_shift != tail.value;
    }
    /// Under tail_.
    bool has_room_at(std::uint64_t tail) noexcept {
        const std::size_t capacity = capacity_.load(std::memory_order_relaxed);
        if (tail - known_head_.load(std::memory_order_relaxed) < capacity) return true;
        const std::uint64_t head = head_.load() >> head_shift;
        known_head_.store(head, std::memory_order_relaxed);
        return tail - head < capacity;
    }
    bool has_room() const noexcept {
        const std::uint64_t head = head_.load() >> head_shift;
        return tail_.load() - head < capacity_.load();
    }

    bool claim_head(std::uint64_t& index) noexcept {
        std::uint64_t seen = head_.load();
        // acquire: pairs with the release in claim_slowly().
        while (!(seen & (closed | moved_back)) &&
               static_cast<std::int64_t>(known_tail_.load(std::memory_order_acquire) -
                                         (seen >> head_shift)) > 0) {
            if (!head_.compare_exchange_weak(seen, seen + one)) continue;
            index = seen >> head_shift;
            return true;
        }
        return claim_slowly(index);
    }
    bool claim_slowly(std::uint64_t& index) noexcept {
        std::uint64_t seen = head_.load();
        for (;;) {
            if (seen & closed) {
                { const index_scope wait_until_open(tail_); }
                seen = head_.load();
                continue;
            }
            index = seen >> head_shift;
            // After head_: as long as that does not change, an element seen here stays.
            const std::uint64_t tail = tail_.load();
            if (tail == index) return false;
            // release: by this one taker tells the others of what it saw published. It may be older
            // than what another taker has seen, and, if head_ changes, too far on.
            if (!(seen & moved_back)) known_tail_.store(tail, std::memory_order_release);
            CADRE_SCHEDULE_POINT("the head of a queue");
            if (head_.compare_exchange_weak(seen, seen + one)) return true;
        }
    }
    /// A put that has returned is seen, even by who knows of it only by what the putter did not
    /// see.
    bool is_empty() const noexcept {
        for (;;) {
            const std::uint64_t head = head_.load() >> head_shift;
            if (tail_.load() != head) return false;
            if (tail_.settled() == head && head_.load() >> head_shift == head) return true;
        }
    }
    std::size_t settled_size() const noexcept {
        const std::uint64_t head = head_.load() >> head_shift;
        return tail_.settled() - head;  // perhaps of more than are left
    }
    /// Makes up to `max` elements, from the head on, the caller's own.
    std::pair<std::uint64_t, std::uint64_t> claim_many(std::uint64_t max) noexcept {
        const index_scope tail(tail_);  // so head_ is open
        std::uint64_t seen = head_.load();
        for (;;) {
            const std::uint64_t first = seen >> head_shift;
            const std::uint64_t count = std::min(max, tail.value - first);
            if (head_.compare_exchange_weak(seen, seen + count * one))
                return {first, first + count};
        }
    }
    T taken(std::uint64_t index) noexcept {
        T x = slots_.at(index).take();
        left(index);
        return x;
    }
    /// An element has been taken and moved away.
    void left(std::uint64_t index) noexcept {
        if (putters_.wants_call()) putters_.call();
        if (!slots_.is_wasteful(index)) return;
        const index_scope tail(tail_);
        slots_.reclaim(head_.load() >> head_shift, 2);
    }
    void many_left(bool all) noexcept {
        if (putters_.wants_call() && has_room()) putters_.call();
        const index_scope tail(tail_);
        slots_.reclaim(head_.load() >> head_shift, npos);
        if (all) slots_.trim();
    }
    // What putters write, what takers write and what seldom changes lie apart.
    alignas(64) mutable locked_index tail_;  // settled() may have to take it
    // The head, or an earlier one. Written under tail_; relaxed, for it is a hint to all others.
    std::atomic<std::uint64_t> known_head_ = 0;

    alignas(64) std::atomic<std::uint64_t> head_ = 0;
    std::atomic<std::uint64_t> known_tail_ = 0;  // the tail, or an earlier one

    alignas(64) segment_store<T> slots_;  // guarded by tail_, but for what a taker may do
    std::atomic<std::size_t> capacity_;   // changed under tail_; npos: no bound
    wait_room takers_;
    wait_room putters_;
};

/// `wanted` has its say on all elements, and memory is had for all of them, before the first one
/// moves.
template <class T>
std::size_t fifo_queue<T>::standstill::extract_if(function_ref<bool(const T&)> wanted,
                                                  std::vector<T>& out, std::size_t max) {
    auto& slots = queue.slots_;
    std::vector<bool> leaves;
    std::size_t count = 0;
    for (auto i = head; i != tail.value && count < max; ++i) {
        leaves.push_back(wanted(slots.at(i).value()));
        if (leaves.back()) ++count;
    }
    if (count == 0) return 0;
    make_room(out, count);
    for (std::size_t i = 0; i < leaves.size(); ++i)
        if (leaves[i]) out.push_back(slots.at(head + i).take());
    // Those that stay move up into the gaps.
    auto free = head + leaves.size();
    for (std::size_t i = leaves.size(); i > 0; --i)
        if (!leaves[i - 1] && --free != head + i - 1) move(head + i - 1, free);
    head += count;
    return count;
}

template <class T>
std::optional<T> fifo_queue<T>::standstill::extract_first(function_ref<bool(const T&)> wanted,
                                                          std::uint64_t& vacant) {
    for (auto at = head; at != tail.value; ++at)
        if (wanted(queue.slots_.at(at).value())) return extract_at(at, vacant);
    return std::nullopt;
}

/// From both ends to the middle.
template <class T>
std::optional<T> fifo_queue<T>::standstill::extract_only(function_ref<bool(const T&)> wanted,
                                                         std::uint64_t& vacant) {
    auto& slots = queue.slots_;
    for (auto first = head, last = tail.value; first != last; ++first) {
        if (wanted(slots.at(--last).value())) return extract_at(last, vacant);
        if (first == last) break;
        if (wanted(slots.at(first).value())) return extract_at(first, vacant);
    }
    return std::nullopt;
}

/// Those on the shorter side move up into the gap. The tail moves back only if that spares much,
/// for takers are a little slower after it.
template <class T>
std::optional<T> fifo_queue<T>::standstill::extract_at(std::uint64_t at, std::uint64_t& vacant) {
    constexpr std::uint64_t much = 64;
    std::optional<T> found(std::in_place, queue.slots_.at(at).take());
    if (at - head < tail.value - at + much) {
        for (; at != head; --at) move(at - 1, at);
        vacant = head++;
    } else {
        while (++at != tail.value) move(at, at - 1);
        tail.move_back();  // before head_ is open again
        vacant = tail.value;
        queue.slots_.move_back(vacant);
        flags = moved_back;
    }
    return found;
}

}  // namespace cadre::detail
