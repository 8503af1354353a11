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
#include <cadre/task.hpp>

namespace cadre {

/// A meeting point without room: each insertion waits for a removal, and the other way round, and
/// the element goes from hand to hand. Always empty and always full. All members may be called
/// from any thread.
///
/// A fair queue serves those who wait in the order in which they came; else the last one comes
/// first, which keeps few threads busy and lets the others fall asleep for long.
///
/// An element that was handed over counts on both sides, even if the thread that waited was
/// interrupted or its time was up in the same moment. The interrupt flag counts only for a thread
/// that would have to wait.
///
///     cadre::synchronous_queue<int> queue;
///     cadre::thread consumer([&] { use(queue.take()); });
///     queue.put(1);  // returns when the consumer has it
template <class T>
class CADRE_API synchronous_queue final : public blocking_queue<T> {
public:
    using blocking_queue<T>::npos;
    using blocking_queue<T>::offer;
    using blocking_queue<T>::offer_for;
    using blocking_queue<T>::poll_for;
    using blocking_queue<T>::drain_to;

    explicit synchronous_queue(bool fair = false) : fair_(fair) {}

    bool offer(T&& x) override {
        detail::deferred_wake wake;
        std::lock_guard lock(mutex_);
        return give(std::move(x), wake);
    }
    bool offer_for(T&& x, std::chrono::nanoseconds timeout) override {
        detail::deferred_wake wake;
        std::unique_lock lock(mutex_);
        if (give(std::move(x), wake)) return true;
        const auto deadline = detail::deadline_after(timeout);
        for (;;) {
            detail::giver<T> self(x);
            if (!givers_.wait(self, lock, deadline)) return false;
            if (self.done) return true;
        }
    }
    void put(T x) override { offer_for(std::move(x), std::chrono::nanoseconds::max()); }

    T take() override { return std::move(*poll_for(std::chrono::nanoseconds::max())); }
    std::optional<T> poll() override {
        detail::deferred_wake wake;
        std::lock_guard lock(mutex_);
        return accept(wake);
    }
    std::optional<T> poll_for(std::chrono::nanoseconds timeout) override {
        detail::deferred_wake wake;
        std::unique_lock lock(mutex_);
        if (auto x = accept(wake)) return x;
        const auto deadline = detail::deadline_after(timeout);
        for (;;) {
            detail::receiver<T> self;
            if (!receivers_.wait(self, lock, deadline)) return std::nullopt;
            if (self.element) return std::move(self.element);
        }
    }

    /// 0: there is never an element in it.
    std::size_t size() const override { return 0; }
    /// 0: there is never room.
    std::size_t remaining_capacity() const override { return 0; }
    /// Takes the elements of threads that wait in put() or offer_for().
    std::size_t drain_to(std::vector<T>& out, std::size_t max = npos) override {
        detail::deferred_wake wake;
        std::lock_guard lock(mutex_);
        const std::size_t count = givers_.count(max);
        detail::make_room(out, count);
        for (std::size_t i = 0; i < count; ++i) out.push_back(std::move(*accept(wake)));
        return count;
    }
    /// 0: what a waiting thread has to give is not in the queue.
    std::size_t extract_if(function_ref<bool(const T&)>, std::vector<T>&, std::size_t) override {
        return 0;
    }
    void for_each(function_ref<void(const T&)>) const override {}

protected:
    /// True if a thread waits to get rid of an element.
    bool would_give() const override {
        std::lock_guard lock(mutex_);
        return !givers_.empty();
    }
    /// True if a thread waits for an element.
    bool would_accept() const override {
        std::lock_guard lock(mutex_);
        return !receivers_.empty();
    }

private:
    // Both need the mutex held.

    detail::waiter& next_in(detail::wait_list& waiters) const noexcept {
        return fair_ ? *waiters.front() : *waiters.back();
    }
    bool give(T&& x, detail::deferred_wake& wake) {
        if (receivers_.empty()) return false;
        detail::give(receivers_, next_in(receivers_), std::move(x), wake);
        return true;
    }
    std::optional<T> accept(detail::deferred_wake& wake) {
        std::optional<T> x;
        if (!givers_.empty())
            detail::accept<T>(givers_, next_in(givers_), wake,
                              [&](T&& given) { x.emplace(std::move(given)); });
        return x;
    }

    const bool fair_;

    mutable std::mutex mutex_;  // guards both lists, of which one is always empty
    detail::wait_list givers_;
    detail::wait_list receivers_;
};

}  // namespace cadre

extern template class cadre::synchronous_queue<cadre::task>;
