// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/detail/queue_fifo.hpp>
#include <cadre/detail/queue_monitor.hpp>
#include <cadre/detail/queue_ring.hpp>
#include <cadre/queue/blocking_queue.hpp>
#include <cadre/task.hpp>

namespace cadre {

/// A bounded FIFO queue in an array that is allocated once. All members may be called from any
/// thread.
///
/// A fair queue serves waiting putters, and waiting takers, strictly in the order in which they
/// came; nobody overtakes. That costs throughput; without it a thread that comes at the right
/// moment may be served before one that waits.
///
///     cadre::array_blocking_queue<std::string> lines(1024);
///     lines.put("first");                      // waits while 1024 lines are in it
///     if (!lines.offer("second")) drop();      // does not wait
///     std::string line = lines.take();
template <class T>
class CADRE_API array_blocking_queue final : public detail::fifo_queue<T> {
    using fifo = detail::fifo_queue<T>;

public:
    using fifo::drain_to;
    using fifo::npos;
    using fifo::offer;
    using fifo::offer_for;
    using fifo::poll_for;

    /// Throws std::invalid_argument if the capacity is less than 1, std::bad_alloc if there is no
    /// memory for it. Memory is reserved at once, but touched only where elements are.
    explicit array_blocking_queue(int capacity, bool fair = false)
        : fifo(fair ? 1 : checked(capacity), typename fifo::with_memory()),
          fair_(fair ? std::make_unique<fair_queue>(checked(capacity)) : nullptr) {}
    /// With these elements; throws std::invalid_argument if they do not fit.
    template <std::ranges::input_range Range>
    array_blocking_queue(int capacity, bool fair, Range&& elements)
        : array_blocking_queue(capacity, fair) {
        for (auto&& x : elements)
            if (!this->offer(T(std::forward<decltype(x)>(x))))
                throw std::invalid_argument("elements: more than capacity (" +
                                            std::to_string(capacity) + ")");
    }

    // A fair queue is another one inside, which does all of this.
    bool offer(T&& x) override {
        return fair_ ? fair_->offer(std::move(x)) : fifo::offer(std::move(x));
    }
    bool offer_for(T&& x, std::chrono::nanoseconds timeout) override {
        return fair_ ? fair_->offer_for(std::move(x), timeout)
                     : fifo::offer_for(std::move(x), timeout);
    }
    void put(T x) override { return fair_ ? fair_->put(std::move(x)) : fifo::put(std::move(x)); }
    T take() override { return fair_ ? fair_->take() : fifo::take(); }
    std::optional<T> poll() override { return fair_ ? fair_->poll() : fifo::poll(); }
    std::optional<T> poll_for(std::chrono::nanoseconds timeout) override {
        return fair_ ? fair_->poll_for(timeout) : fifo::poll_for(timeout);
    }
    std::size_t size() const override { return fair_ ? fair_->size() : fifo::size(); }
    int capacity() const { return static_cast<int>(fair_ ? fair_->bound() : fifo::bound()); }
    std::size_t remaining_capacity() const override {
        return fair_ ? fair_->remaining_capacity() : fifo::remaining_capacity();
    }
    std::size_t drain_to(std::vector<T>& out, std::size_t max = npos) override {
        return fair_ ? fair_->drain_to(out, max) : fifo::drain_to(out, max);
    }
    std::size_t extract_if(function_ref<bool(const T&)> wanted, std::vector<T>& out,
                           std::size_t max = npos) override {
        return fair_ ? fair_->extract_if(wanted, out, max) : fifo::extract_if(wanted, out, max);
    }
    std::optional<T> extract_first(function_ref<bool(const T&)> wanted) override {
        return fair_ ? fair_->extract_first(wanted) : fifo::extract_first(wanted);
    }
    void for_each(function_ref<void(const T&)> visit) const override {
        return fair_ ? fair_->for_each(visit) : fifo::for_each(visit);
    }
    void clear() override { return fair_ ? fair_->clear() : fifo::clear(); }

    detail::fifo_queue<T>* as_fifo() noexcept override { return fair_ ? nullptr : this; }

private:
    struct fair_queue final : detail::monitor_queue<T, detail::ring<T>> {
        using monitor = detail::monitor_queue<T, detail::ring<T>>;
        explicit fair_queue(std::size_t capacity)
            : monitor(detail::ring<T>(capacity), capacity, true) {}
        using monitor::bound;
        using monitor::peek_copy;
    };

    std::optional<T> peek_copy() const override {
        return fair_ ? fair_->peek_copy() : fifo::peek_copy();
    }
    static std::size_t checked(int capacity) {
        if (capacity < 1)
            throw std::invalid_argument("capacity (" + std::to_string(capacity) +
                                        ") must be at least 1");
        return static_cast<std::size_t>(capacity);
    }

    const std::unique_ptr<fair_queue> fair_;  // null: not fair
};

}  // namespace cadre

extern template class cadre::detail::monitor_queue<cadre::task, cadre::detail::ring<cadre::task>>;
extern template class cadre::array_blocking_queue<cadre::task>;
