// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <cadre/queue/blocking_queue.hpp>
#include <cadre/task.hpp>

namespace cadre::testing {

/// A queue for a pool, which knows how many workers wait at it, and for how long they mean to. A
/// worker that waits without a limit does not leave by itself: so a test can see that it stays,
/// and need not look for as long as it might take to leave.
template <class Queue>
class attended_queue final : public blocking_queue<task> {
    using nanoseconds = std::chrono::nanoseconds;

public:
    template <class... Args>
    explicit attended_queue(Args... args) : inner_(args...) {}

    int waiting_without_limit() const { return without_limit_; }
    int waiting_with_limit() const { return with_limit_; }
    /// The limit of whoever came last with one.
    nanoseconds last_limit() const { return last_limit_; }

    task take() override {
        const count_scope waits(without_limit_);
        return inner_.take();
    }
    std::optional<task> poll_for(nanoseconds timeout) override {
        last_limit_ = timeout;
        const count_scope waits(with_limit_);
        return inner_.poll_for(timeout);
    }
    bool offer(task&& t) override { return inner_.offer(std::move(t)); }
    bool offer_for(task&& t, nanoseconds timeout) override {
        return inner_.offer_for(std::move(t), timeout);
    }
    void put(task t) override { inner_.put(std::move(t)); }
    std::optional<task> poll() override { return inner_.poll(); }
    std::size_t size() const override { return inner_.size(); }
    std::size_t remaining_capacity() const override { return inner_.remaining_capacity(); }
    std::size_t drain_to(std::vector<task>& out, std::size_t max) override {
        return inner_.drain_to(out, max);
    }
    void for_each(function_ref<void(const task&)> visit) const override { inner_.for_each(visit); }

private:
    class count_scope {
    public:
        explicit count_scope(std::atomic<int>& count) : count_(count) { ++count_; }
        ~count_scope() { --count_; }
        count_scope(const count_scope&) = delete;
        count_scope& operator=(const count_scope&) = delete;

    private:
        std::atomic<int>& count_;
    };

    Queue inner_;
    std::atomic<int> without_limit_ = 0;
    std::atomic<int> with_limit_ = 0;
    std::atomic<nanoseconds> last_limit_ = {};
};

}  // namespace cadre::testing
