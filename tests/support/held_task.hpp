// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "support/eventually.hpp"
#include <cadre/executor.hpp>

namespace cadre::testing {

/// Opens once. Threads wait for it, whatever interrupts come.
class gate {
public:
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        opened_.notify_all();
    }
    bool is_open() const {
        const std::lock_guard lock(mutex_);
        return open_;
    }
    /// False if it was not opened in time.
    bool wait() const {
        std::unique_lock lock(mutex_);
        return opened_.wait_for(lock, guard, [this] { return open_; });
    }

private:
    mutable std::mutex mutex_;  // guards all below
    mutable std::condition_variable opened_;
    bool open_ = false;
};

/// Tasks that each occupy a worker from when they start until they are let go: at the latest when
/// this is destroyed. They take no notice of interrupts.
class held_tasks {
public:
    /// Gives them to the executor, and does not wait.
    held_tasks(executor& where, int count) {
        for (int i = 0; i < count; ++i) add_to(where);
    }
    ~held_tasks() { let_go(); }
    held_tasks(const held_tasks&) = delete;
    held_tasks& operator=(const held_tasks&) = delete;

    /// One more.
    void add_to(executor& where) {
        where.execute([state = state_] {
            ++state->started;
            state->let_go.wait();
            ++state->ended;
        });
    }
    int started() const { return state_->started; }
    int ended() const { return state_->ended; }
    /// Waits until so many have started.
    bool have_started(int count) const {
        return eventually([&] { return started() >= count; });
    }
    void let_go() { state_->let_go.open(); }

private:
    struct shared {
        gate let_go;
        std::atomic<int> started = 0;
        std::atomic<int> ended = 0;
    };
    const std::shared_ptr<shared> state_ = std::make_shared<shared>();
};

/// A task that runs when the constructor has returned, and occupies its worker until let go.
class held_task : public held_tasks {
public:
    explicit held_task(executor& where) : held_tasks(where, 1) {
        EXPECT_TRUE(have_started(1)) << "no worker took the task";
    }
};

}  // namespace cadre::testing
