// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>

#include <cadre/detail/timer_core.hpp>

#include "timer_queue.hpp"

namespace cadre::detail {

/// What a timer has beside its time, if it is more than a plain one-shot.
struct timer_core::details {
    explicit details(intrusive_ptr<timer_queue> q) : queue(std::move(q)) {}

    const intrusive_ptr<timer_queue> queue;
    timetable when;
    steady_time planned = {};  // the time of the run under way or to come, before any jitter

    // Of the thread that runs it, about the last run.
    steady_time started = {};
    steady_time finished = {};
    bool threw = false;

    // What decorate_task made of it. Taken by whoever moves `decoration` away from idle: the
    // thread that runs it, or the one that throws it away.
    enum class decoration_state { none, idle, running, gone };
    std::atomic<decoration_state> decoration = decoration_state::none;
    task decorated;

    mutable std::mutex mutex;  // guards statistics
    task_statistics statistics;
};

/// A timer as hooks and predicates see it; running it does nothing.
class timer_view {
public:
    explicit timer_view(timer_core& timer, std::int64_t stamp = 0) noexcept
        : timer_(&timer), stamp_(stamp) {}
    void operator()() const noexcept {}
    std::string_view task_name() const noexcept { return timer_->name(); }
    int task_priority() const noexcept { return timer_->priority(); }
    std::uintptr_t task_identity() const noexcept { return timer_->identity(); }
    std::int64_t task_stamp() const noexcept { return stamp_; }

private:
    timer_core* timer_;
    std::int64_t stamp_;
};

}  // namespace cadre::detail
