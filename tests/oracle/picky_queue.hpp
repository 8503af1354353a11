// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <cadre/queue/blocking_queue.hpp>
#include <cadre/task.hpp>

#include "words.hpp"

namespace oracle {

/// A queue of tasks that throws at those it has no use for, as the reference's queues do at
/// elements that are not of their type.
class picky_queue final : public cadre::blocking_queue<cadre::task> {
    using task = cadre::task;
    using nanoseconds = std::chrono::nanoseconds;

public:
    picky_queue(std::unique_ptr<cadre::blocking_queue<task>> inner,
                std::function<bool(const task&)> accepts)
        : inner_(std::move(inner)), accepts_(std::move(accepts)) {}

    bool offer(task&& t) override { return check(t), inner_->offer(std::move(t)); }
    bool offer_for(task&& t, nanoseconds timeout) override {
        return check(t), inner_->offer_for(std::move(t), timeout);
    }
    void put(task t) override { check(t), inner_->put(std::move(t)); }

    task take() override { return inner_->take(); }
    std::optional<task> poll() override { return inner_->poll(); }
    std::optional<task> poll_for(nanoseconds timeout) override { return inner_->poll_for(timeout); }
    std::size_t size() const override { return inner_->size(); }
    std::size_t remaining_capacity() const override { return inner_->remaining_capacity(); }
    std::size_t drain_to(std::vector<task>& out, std::size_t max) override {
        return inner_->drain_to(out, max);
    }
    std::size_t extract_if(cadre::function_ref<bool(const task&)> wanted, std::vector<task>& out,
                           std::size_t max) override {
        return inner_->extract_if(wanted, out, max);
    }
    void for_each(cadre::function_ref<void(const task&)> visit) const override {
        inner_->for_each(visit);
    }

private:
    void check(const task& t) const {
        if (!accepts_(t)) throw java_error("ClassCastException");
    }

    const std::unique_ptr<cadre::blocking_queue<task>> inner_;
    const std::function<bool(const task&)> accepts_;
};

}  // namespace oracle
