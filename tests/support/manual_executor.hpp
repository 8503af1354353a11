// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include <cadre/errors.hpp>
#include <cadre/executor.hpp>

namespace cadre::testing {

/// Runs each task where it is executed.
class inline_executor : public executor {
public:
    void execute(task t) override { t(); }
};

/// Keeps tasks until it is told to run them; on one thread.
class manual_executor : public executor {
public:
    void execute(task t) override { tasks_.push_back(std::move(t)); }

    std::size_t waiting() const { return tasks_.size(); }
    void run_one() {
        task next = std::move(tasks_.front());
        tasks_.pop_front();
        next();
    }
    void run_all() {
        while (!tasks_.empty()) run_one();
    }
    /// Tasks may be added meanwhile, by those that are dropped; they stay.
    void drop_all() { std::deque<task>().swap(tasks_); }

private:
    std::deque<task> tasks_;
};

/// Takes no task.
class refusing_executor : public executor {
public:
    void execute(task) override { throw rejected_execution("no"); }
};

}  // namespace cadre::testing
