// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/detail/queue_extract.hpp>
#include <cadre/detail/queue_handover.hpp>
#include <cadre/queue/blocking_queue.hpp>

namespace cadre::detail {

/// A blocking_queue around a Store, which keeps the elements and knows nothing of threads: one
/// mutex, the takers that found nothing and the putters that found no room.
///
/// Unfair: whoever takes an element out wakes the putter that has waited longest, and that one
/// looks again; a thread that comes just then may be faster. Fair: elements and room are handed to
/// whoever has waited longest, under the mutex, so that nobody can come in between. Whenever the
/// mutex is free, a fair queue has waiting takers only if it is empty, and putters only if full.
///
/// Nobody sleeps beside an element: each insertion wakes a taker, if there is one, and a taker
/// that was woken looks before it gives up; if its own attempt fails with an exception, it wakes
/// the next one. The same for putters and room.
template <class T, class Store>
class CADRE_API monitor_queue : public blocking_queue<T> {
public:
    using blocking_queue<T>::npos;
    using blocking_queue<T>::offer;
    using blocking_queue<T>::offer_for;
    using blocking_queue<T>::poll_for;
    using blocking_queue<T>::drain_to;

    bool offer(T&& x) override { return try_insert(std::move(x), push_back); }
    bool offer_for(T&& x, std::chrono::nanoseconds timeout) override {
        return insert_within(timeout, std::move(x), push_back);
    }
    void put(T x) override { insert_within(no_limit, std::move(x), push_back); }
    T take() override { return std::move(*remove_within(no_limit, pop_front)); }
    std::optional<T> poll() override { return try_remove(pop_front); }
    std::optional<T> poll_for(std::chrono::nanoseconds timeout) override {
        return remove_within(timeout, pop_front);
    }

    std::size_t size() const override {
        std::lock_guard lock(mutex_);
        return store_.size();
    }
    std::size_t remaining_capacity() const override {
        std::lock_guard lock(mutex_);
        return capacity_ == npos ? npos : free_slots();
    }
    std::size_t drain_to(std::vector<T>& out, std::size_t max = npos) override {
        deferred_wake wake;
        std::lock_guard lock(mutex_);
        const std::size_t count = std::min(max, store_.size());
        make_room(out, count);
        for (std::size_t i = 0; i < count; ++i) out.push_back(store_.pop());
        if (max == npos) store_.trim();
        room_made(count, wake);
        return count;
    }
    std::size_t extract_if(function_ref<bool(const T&)> wanted, std::vector<T>& out,
                           std::size_t max = npos) override {
        deferred_wake wake;
        std::lock_guard lock(mutex_);
        const std::size_t count = store_.extract_if(wanted, out, max);
        room_made(count, wake);
        return count;
    }
    std::optional<T> extract_first(function_ref<bool(const T&)> wanted) override {
        if constexpr (requires { store_.begin(); }) {
            deferred_wake wake;
            std::lock_guard lock(mutex_);
            auto found = extract_first_in_order<T>(store_, wanted);
            if (found) room_made(1, wake);
            return found;
        } else {
            return blocking_queue<T>::extract_first(wanted);
        }
    }
    void for_each(function_ref<void(const T&)> visit) const override {
        std::lock_guard lock(mutex_);
        store_.for_each(visit);
    }
    void clear() override {
        deferred_wake wake;
        std::optional<Store> removed;  // destroyed outside the lock
        std::lock_guard lock(mutex_);
        const std::size_t count = store_.size();
        removed.emplace(store_.detach());
        store_.trim();
        room_made(count, wake);
    }

protected:
    static constexpr auto no_limit = std::chrono::nanoseconds::max();
    static void push_back(Store& store, T&& x) { store.push(std::move(x)); }
    static T pop_front(Store& store) { return store.pop(); }

    explicit monitor_queue(Store store, std::size_t capacity = npos, bool fair = false)
        : fair_(fair), capacity_(capacity), store_(std::move(store)) {}

    template <class Push>
    bool try_insert(T&& x, Push push) {
        deferred_wake wake;
        std::lock_guard lock(mutex_);
        if (full()) return false;
        insert_now(std::move(x), push, wake);
        return true;
    }
    /// The interrupt flag counts even if there is room.
    template <class Push>
    bool insert_within(std::chrono::nanoseconds timeout, T&& x, Push push) {
        thread_control::current().throw_if_interrupted();
        return insert_or_wait(timeout, std::move(x), push);
    }
    /// The interrupt flag counts only if there is none.
    template <class Push>
    bool insert_or_wait(std::chrono::nanoseconds timeout, T&& x, Push push) {
        deferred_wake wake;
        std::unique_lock lock(mutex_);
        if (full()) {
            const steady_time deadline = deadline_after(timeout);
            do {
                giver<T> self(x);
                if (!putters_.wait(self, lock, deadline)) return false;
                if (self.done) return true;
            } while (full());
        }
        insert_now(std::move(x), push, wake);
        return true;
    }
    template <class Pop>
    std::optional<T> try_remove(Pop pop) {
        deferred_wake wake;
        std::lock_guard lock(mutex_);
        if (store_.empty()) return std::nullopt;
        return remove_now(pop, wake);
    }
    /// The interrupt flag counts even if there is an element.
    template <class Pop>
    std::optional<T> remove_within(std::chrono::nanoseconds timeout, Pop pop) {
        thread_control::current().throw_if_interrupted();
        return remove_or_wait(timeout, pop);
    }
    /// The interrupt flag counts only if there is none.
    template <class Pop>
    std::optional<T> remove_or_wait(std::chrono::nanoseconds timeout, Pop pop) {
        deferred_wake wake;
        std::unique_lock lock(mutex_);
        if (store_.empty()) {
            const steady_time deadline = deadline_after(timeout);
            do {
                receiver<T> self;
                if (!takers_.wait(self, lock, deadline)) return std::nullopt;
                if (self.element) return std::move(self.element);
            } while (store_.empty());
        }
        return remove_now(pop, wake);
    }

    /// A copy of what `get` returns of the store, nothing if that is empty.
    template <class Get>
    std::optional<T> copy_of(Get get) const {
        std::lock_guard lock(mutex_);
        if (store_.empty()) return std::nullopt;
        if constexpr (std::copy_constructible<T>)
            return std::optional<T>(std::in_place, get(store_));
        else
            return std::nullopt;
    }
    std::optional<T> peek_copy() const override {
        return copy_of([](const Store& store) -> const T& { return store.front(); });
    }

    std::size_t bound() const {
        std::lock_guard lock(mutex_);
        return capacity_;
    }
    template <class Use>
    decltype(auto) with_store(Use use) const {
        std::lock_guard lock(mutex_);
        return use(store_);
    }
    template <class Extract>
    std::size_t extract(Extract extract) {
        deferred_wake wake;
        std::lock_guard lock(mutex_);
        const std::size_t count = extract(store_);
        room_made(count, wake);
        return count;
    }

private:
    // All below need the mutex held.

    bool full() const { return store_.size() >= capacity_; }
    std::size_t free_slots() const { return full() ? 0 : capacity_ - store_.size(); }

    template <class Push>
    void insert_now(T&& x, Push push, deferred_wake& wake) {
        if (fair_ && !takers_.empty()) return give(takers_, *takers_.front(), std::move(x), wake);
        try {
            push(store_, std::move(x));
        } catch (...) {
            wake_front(putters_, wake);
            throw;
        }
        wake_front(takers_, wake);
    }
    template <class Pop>
    T remove_now(Pop pop, deferred_wake& wake) {
        try {
            T x = pop(store_);
            room_made(1, wake);
            return x;
        } catch (...) {
            wake_front(takers_, wake);
            throw;
        }
    }
    /// `count` elements have left, or more may come.
    void room_made(std::size_t count, deferred_wake& wake) {
        if (fair_) {
            const auto push = [this](T&& x) { store_.push(std::move(x)); };
            while (!putters_.empty() && !full()) accept<T>(putters_, *putters_.front(), wake, push);
        } else {
            for (count = std::min(count, free_slots()); count > 0 && !putters_.empty(); --count)
                wake_front(putters_, wake);
        }
    }
    static void wake_front(wait_list& waiters, deferred_wake& wake) noexcept {
        if (waiters.empty()) return;
        waiter& first = *waiters.front();
        waiters.remove(first);
        wake.wake(first);
    }

    const bool fair_;

    mutable std::mutex mutex_;  // guards all below
    std::size_t capacity_;      // npos: no bound
    Store store_;
    wait_list takers_;   // receivers that found the store empty
    wait_list putters_;  // givers that found it full
};

}  // namespace cadre::detail
