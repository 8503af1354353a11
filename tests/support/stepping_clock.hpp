// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include <cadre/clock.hpp>

namespace cadre::testing {

/// A clock for runs that take time: a task may move it on while it runs. Unlike manual_clock it
/// waits for nobody.
class stepping_clock final : public scheduler_clock {
public:
    std::chrono::steady_clock::time_point now() const override {
        return std::chrono::steady_clock::time_point(std::chrono::hours(1)) + passed_.load();
    }
    std::chrono::system_clock::time_point wall_now() const override {
        return std::chrono::sys_days(std::chrono::year(2000) / 1 / 1) + passed_.load();
    }
    /// How much it was moved in all.
    std::chrono::nanoseconds passed() const { return passed_; }
    void step(std::chrono::nanoseconds d) {
        passed_ = passed_.load() + d;
        const std::lock_guard lock(mutex_);
        for (auto* listener : listeners_) listener->time_changed();
    }

    std::chrono::steady_clock::time_point real_time_of(
        std::chrono::steady_clock::time_point t) const override {
        using time = std::chrono::steady_clock::time_point;
        return t <= now() ? time::min() : time::max();
    }
    void subscribe(clock_listener& listener) override {
        const std::lock_guard lock(mutex_);
        listeners_.push_back(&listener);
    }
    void unsubscribe(clock_listener& listener) override {
        const std::lock_guard lock(mutex_);
        std::erase(listeners_, &listener);
    }

private:
    std::atomic<std::chrono::nanoseconds> passed_ = std::chrono::nanoseconds::zero();
    std::mutex mutex_;  // guards listeners_
    std::vector<clock_listener*> listeners_;
};

}  // namespace cadre::testing
