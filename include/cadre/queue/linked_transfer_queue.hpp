// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <list>
#include <mutex>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include <cadre/detail/queue_extract.hpp>
#include <cadre/detail/queue_handover.hpp>
#include <cadre/queue/blocking_queue.hpp>

namespace cadre {

/// An unbounded FIFO queue whose producers may wait until a consumer has received their element,
/// or look whether one waits for it. put() and offer() never wait. Consumers that wait are served
/// in the order in which they came. All members may be called from any thread.
///
/// The element of a transfer() that waits is in the queue like any other; whoever removes it,
/// clear() too, lets the transfer() return. The interrupt flag counts only for a thread that would
/// have to wait.
///
///     cadre::linked_transfer_queue<job> queue;
///     if (!queue.try_transfer(std::move(urgent))) run_here(std::move(urgent));
///     queue.transfer(std::move(next));  // returns when a consumer has it
template <class T>
class linked_transfer_queue final : public blocking_queue<T> {
public:
    using blocking_queue<T>::npos;
    using blocking_queue<T>::offer;
    using blocking_queue<T>::offer_for;
    using blocking_queue<T>::poll_for;
    using blocking_queue<T>::drain_to;

    linked_transfer_queue() = default;
    /// With these elements.
    template <std::ranges::input_range Range>
    explicit linked_transfer_queue(Range&& elements) {
        this->add_all(std::forward<Range>(elements));
    }
    linked_transfer_queue(std::initializer_list<T> elements) { this->add_all(elements); }

    bool offer(T&& x) override {
        detail::deferred_wake wake;
        std::lock_guard lock(mutex_);
        if (!give(std::move(x), wake)) cells_.emplace_back(std::in_place, std::move(x));
        return true;
    }
    bool offer_for(T&& x, std::chrono::nanoseconds) override { return offer(std::move(x)); }
    void put(T x) override { offer(std::move(x)); }

    /// Inserts x and waits until a consumer has received it. If the wait is interrupted, x is
    /// not in the queue any more.
    void transfer(T x) { transfer_within(std::chrono::nanoseconds::max(), x); }
    /// Hands x to a consumer that waits. False if there is none; x is untouched then.
    bool try_transfer(T&& x) {
        detail::deferred_wake wake;
        std::lock_guard lock(mutex_);
        return give(std::move(x), wake);
    }
    bool try_transfer(const T& x) requires std::copy_constructible<T> { return try_transfer(T(x)); }
    /// Inserts x and waits up to `timeout` until a consumer has received it. False if none has;
    /// then x is not in the queue, and untouched.
    template <class Rep, class Period>
    bool try_transfer_for(T&& x, std::chrono::duration<Rep, Period> timeout) {
        return transfer_within(detail::saturated(timeout), x);
    }
    template <class Rep, class Period>
    bool try_transfer_for(const T& x, std::chrono::duration<Rep, Period> timeout) requires
        std::copy_constructible<T> {
        return try_transfer_for(T(x), timeout);
    }
    /// True if a thread waits in take() or poll_for().
    bool has_waiting_consumer() const {
        std::lock_guard lock(mutex_);
        return !receivers_.empty();
    }
    std::size_t waiting_consumer_count() const {
        std::lock_guard lock(mutex_);
        return receivers_.count(npos);
    }

    T take() override { return std::move(*poll_for(std::chrono::nanoseconds::max())); }
    std::optional<T> poll() override {
        detail::deferred_wake wake;
        std::lock_guard lock(mutex_);
        if (cells_.empty()) return std::nullopt;
        return remove_cell(cells_.begin(), wake);
    }
    std::optional<T> poll_for(std::chrono::nanoseconds timeout) override {
        detail::deferred_wake wake;
        std::unique_lock lock(mutex_);
        if (cells_.empty()) {
            const auto deadline = detail::deadline_after(timeout);
            do {
                detail::receiver<T> self;
                if (!receivers_.wait(self, lock, deadline)) return std::nullopt;
                if (self.element) return std::move(self.element);
            } while (cells_.empty());
        }
        return remove_cell(cells_.begin(), wake);
    }

    std::size_t size() const override {
        std::lock_guard lock(mutex_);
        return cells_.size();
    }
    std::size_t remaining_capacity() const override { return npos; }
    std::size_t drain_to(std::vector<T>& out, std::size_t max = npos) override {
        return extract_if([](const T&) { return true; }, out, max);
    }
    std::size_t extract_if(function_ref<bool(const T&)> wanted, std::vector<T>& out,
                           std::size_t max = npos) override;
    void for_each(function_ref<void(const T&)> visit) const override {
        std::lock_guard lock(mutex_);
        for (const cell& c : cells_) visit(c.element());
    }

protected:
    std::optional<T> peek_copy() const override {
        if constexpr (std::copy_constructible<T>) {
            std::lock_guard lock(mutex_);
            if (!cells_.empty()) return std::optional<T>(std::in_place, cells_.front().element());
        }
        return std::nullopt;
    }

private:
    /// An element in the queue, or the thread that waits in transfer() and still holds it.
    struct cell {
        cell(std::in_place_t, T&& x) : own(std::move(x)) {}
        explicit cell(detail::giver<T>& g) : from(&g) {}
        T& element() { return from ? from->element : *own; }
        const T& element() const { return from ? from->element : *own; }

        std::optional<T> own;
        detail::giver<T>* from = nullptr;
    };
    using position = typename std::list<cell>::iterator;

    bool transfer_within(std::chrono::nanoseconds timeout, T& x);

    // All below need the mutex held.

    bool give(T&& x, detail::deferred_wake& wake) {
        if (receivers_.empty()) return false;
        detail::give(receivers_, *receivers_.front(), std::move(x), wake);
        return true;
    }
    T remove_cell(position at, detail::deferred_wake& wake) {
        T x(std::move(at->element()));
        if (at->from) detail::accept<T>(givers_, *at->from, wake, [](T&&) {});
        cells_.erase(at);
        return x;
    }

    mutable std::mutex mutex_;  // guards all below
    std::list<cell> cells_;     // empty if anyone waits in receivers_
    detail::wait_list givers_;  // each has its cell
    detail::wait_list receivers_;
};

template <class T>
bool linked_transfer_queue<T>::transfer_within(std::chrono::nanoseconds timeout, T& x) {
    detail::deferred_wake wake;
    std::unique_lock lock(mutex_);
    if (give(std::move(x), wake)) return true;
    detail::giver<T> self(x);
    const position here = cells_.emplace(cells_.end(), self);
    try {
        if (givers_.wait(self, lock, detail::deadline_after(timeout)) && !self.done)
            self.thread->throw_if_interrupted();
    } catch (...) {
        cells_.erase(here);
        throw;
    }
    if (!self.done) cells_.erase(here);
    return self.done;
}

template <class T>
std::size_t linked_transfer_queue<T>::extract_if(function_ref<bool(const T&)> wanted,
                                                 std::vector<T>& out, std::size_t max) {
    detail::deferred_wake wake;
    std::lock_guard lock(mutex_);
    std::vector<position> leaving;
    for (position at = cells_.begin(); at != cells_.end() && leaving.size() < max; ++at)
        if (wanted(at->element())) leaving.push_back(at);
    detail::make_room(out, leaving.size());
    for (const position at : leaving) out.push_back(remove_cell(at, wake));
    return leaving.size();
}

}  // namespace cadre
