// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include <cadre/detail/condition.hpp>
#include <cadre/detail/queue_extract.hpp>
#include <cadre/detail/queue_heap.hpp>
#include <cadre/queue/blocking_queue.hpp>

namespace cadre {

/// An unbounded queue whose elements can be taken only when their time has come, the earliest
/// first, those of the same time in the order in which they came. An element says its time with
/// time_point() const, a point of the steady clock that must not change while it is in the queue.
/// All members may be called from any thread.
///
/// take(), poll(), poll_for(), remove() and drain_to() give only elements whose time has come;
/// size(), peek(), contains(), for_each() and removal by value or predicate know all of them.
///
///     struct reminder {
///         std::chrono::steady_clock::time_point at;
///         std::string text;
///         auto time_point() const { return at; }
///     };
///     cadre::delay_queue<reminder> reminders;
///     reminders.put({std::chrono::steady_clock::now() + 1s, "tea"});
///     std::cout << reminders.take().text;  // in a second
///
/// Of the threads that wait while there is an element, one, the leader, sleeps until the time of
/// the head, the others without a time. So one thread wakes for an element, not all of them. A
/// leader that leaves for whatever reason wakes a follower, which then leads.
template <class T>
class delay_queue final : public blocking_queue<T> {
public:
    using blocking_queue<T>::npos;
    using blocking_queue<T>::offer;
    using blocking_queue<T>::offer_for;
    using blocking_queue<T>::poll_for;
    using blocking_queue<T>::drain_to;

    delay_queue() = default;
    /// With these elements.
    template <std::ranges::input_range Range>
    explicit delay_queue(Range&& elements) {
        this->add_all(std::forward<Range>(elements));
    }
    delay_queue(std::initializer_list<T> elements) { this->add_all(elements); }

    // There is always room: these neither wait nor look at the interrupt flag.
    bool offer(T&& x) override;
    bool offer_for(T&& x, std::chrono::nanoseconds) override { return offer(std::move(x)); }
    void put(T x) override { offer(std::move(x)); }

    T take() override { return std::move(*poll_for(std::chrono::nanoseconds::max())); }
    std::optional<T> poll() override {
        std::lock_guard lock(mutex_);
        if (!is_due()) return std::nullopt;
        return heap_.pop();
    }
    std::optional<T> poll_for(std::chrono::nanoseconds timeout) override;

    std::size_t size() const override {
        std::lock_guard lock(mutex_);
        return heap_.size();
    }
    std::size_t remaining_capacity() const override { return npos; }
    std::size_t drain_to(std::vector<T>& out, std::size_t max = npos) override {
        std::lock_guard lock(mutex_);
        const auto due_by = now();
        std::size_t due = 0;
        heap_.for_each([&](const T& x) { due += x.time_point() <= due_by ? 1 : 0; });
        due = std::min(due, max);
        detail::make_room(out, due);
        for (std::size_t i = 0; i < due; ++i) out.push_back(heap_.pop());
        return due;
    }
    std::size_t extract_if(function_ref<bool(const T&)> wanted, std::vector<T>& out,
                           std::size_t max = npos) override {
        std::lock_guard lock(mutex_);
        return heap_.extract_if(wanted, out, max);
    }
    void for_each(function_ref<void(const T&)> visit) const override {
        std::lock_guard lock(mutex_);
        heap_.for_each(visit);
    }
    void clear() override {
        std::optional<heap> removed;  // destroyed outside the lock
        std::lock_guard lock(mutex_);
        removed.emplace(heap_.detach());
    }

protected:
    bool would_give() const override {
        std::lock_guard lock(mutex_);
        return is_due();
    }
    std::optional<T> peek_copy() const override {
        if constexpr (std::copy_constructible<T>) {
            std::lock_guard lock(mutex_);
            if (!heap_.empty()) return std::optional<T>(std::in_place, heap_.front());
        }
        return std::nullopt;
    }

private:
    struct earlier {
        bool operator()(const T& a, const T& b) const { return a.time_point() < b.time_point(); }
    };
    using heap = detail::stable_heap<T, earlier>;

    static detail::steady_time now() { return std::chrono::steady_clock::now(); }

    // All below need the mutex held.

    bool is_due() const { return !heap_.empty() && heap_.front().time_point() <= now(); }
    std::optional<T> wait_for_head(std::unique_lock<std::mutex>& lock,
                                   std::chrono::nanoseconds timeout);
    /// Lets somebody lead, if there is an element to wait for and nobody does.
    void appoint_leader(detail::deferred_wake& wake) noexcept {
        if (leader_ || heap_.empty() || waiters_.empty()) return;
        release(*waiters_.front(), wake);
    }
    void release(detail::waiter& w, detail::deferred_wake& wake) noexcept {
        waiters_.remove(w);
        wake.wake(w);
    }

    mutable std::mutex mutex_;  // guards all below
    heap heap_;
    detail::wait_list waiters_;
    detail::waiter* leader_ = nullptr;  // in waiters_, asleep until the time of the head
};

template <class T>
bool delay_queue<T>::offer(T&& x) {
    detail::deferred_wake wake;
    std::lock_guard lock(mutex_);
    const bool first = heap_.empty() || earlier()(x, heap_.front());
    heap_.push(std::move(x));
    if (!first) return true;
    if (leader_)
        release(*std::exchange(leader_, nullptr), wake);  // to lead again, for less long
    else
        appoint_leader(wake);
    return true;
}

template <class T>
std::optional<T> delay_queue<T>::poll_for(std::chrono::nanoseconds timeout) {
    detail::thread_control::current().throw_if_interrupted();
    detail::deferred_wake wake;
    std::unique_lock lock(mutex_);
    try {
        auto x = wait_for_head(lock, timeout);
        appoint_leader(wake);
        return x;
    } catch (...) {
        appoint_leader(wake);
        throw;
    }
}

template <class T>
std::optional<T> delay_queue<T>::wait_for_head(std::unique_lock<std::mutex>& lock,
                                               std::chrono::nanoseconds timeout) {
    const auto deadline = detail::deadline_after(timeout);
    while (!is_due()) {
        detail::waiter self;
        self.thread->throw_if_interrupted();
        if (deadline != detail::forever && now() >= deadline) return std::nullopt;
        auto until = deadline;
        if (!leader_ && !heap_.empty()) {
            until = std::min<detail::steady_time>(until, heap_.front().time_point());
            leader_ = &self;
        }
        waiters_.push_back(self);
        waiters_.park(self, lock, until);
        if (leader_ == &self) leader_ = nullptr;
    }
    return heap_.pop();
}

}  // namespace cadre
