// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <cadre/detail/timer_core.hpp>

#include "timer_queue.hpp"

namespace cadre::detail {

/// What a periodic task has done so far. Written by whoever runs it, one at a time unless a
/// decoration hands it to other threads, which may cost counts; read by anybody, without a lock: a
/// reader that sees a number of a newer count sees by version_ that it must read again. No
/// read-modify-write: version_ is even at the end, whatever others write meanwhile.
class run_statistics {
public:
    void count(std::chrono::nanoseconds duration, bool has_failed, bool is_overrun) noexcept {
        const auto written = version_.load(std::memory_order_relaxed) | 1;
        version_.store(written, std::memory_order_relaxed);
        // release: who sees one of these sees the odd version; pairs with read().
        add(runs_, 1);
        if (has_failed) add(failures_, 1);
        if (is_overrun) add(overruns_, 1);
        last_.store(duration, std::memory_order_release);
        if (duration > longest_.load(std::memory_order_relaxed))
            longest_.store(duration, std::memory_order_release);
        version_.store(written + 1, std::memory_order_release);
    }
    task_statistics read() const noexcept {
        for (;;) {
            const auto version = version_.load(std::memory_order_acquire);
            const task_statistics seen{.runs = runs_.load(std::memory_order_acquire),
                                       .failures = failures_.load(std::memory_order_acquire),
                                       .last_duration = last_.load(std::memory_order_acquire),
                                       .longest_duration = longest_.load(std::memory_order_acquire),
                                       .overruns = overruns_.load(std::memory_order_acquire)};
            if (version % 2 == 0 && version == version_.load(std::memory_order_relaxed))
                return seen;
            std::this_thread::yield();
        }
    }

private:
    static void add(std::atomic<std::int64_t>& number, std::int64_t more) noexcept {
        number.store(number.load(std::memory_order_relaxed) + more, std::memory_order_release);
    }

    std::atomic<std::uint32_t> version_ = 0;  // odd: being written
    std::atomic<std::int64_t> runs_ = 0;
    std::atomic<std::int64_t> failures_ = 0;
    std::atomic<std::int64_t> overruns_ = 0;
    std::atomic<std::chrono::nanoseconds> last_ = {};
    std::atomic<std::chrono::nanoseconds> longest_ = {};
};

/// What a timer has beside its time, if it is more than a plain one-shot.
struct timer_core::details {
    /// Takes over the reference that the timer had.
    explicit details(timer_queue& q) : queue(intrusive_ptr<timer_queue>::adopt(&q)) {}

    // What each run of one of thousands touches comes first, in as few lines of cache as may be.
    const intrusive_ptr<timer_queue> queue;
    steady_time planned = {};  // the time of the run under way or to come, before any jitter

    // Of the thread that runs it, about the last run; zero while that is not known.
    steady_time started = {};
    steady_time finished = {};
    bool threw = false;

    // Of what decorate_task made of it, which is taken by whoever moves this away from idle: the
    // thread that runs it, or the one that throws it away.
    enum class decoration_state { none, idle, running, gone };
    std::atomic<decoration_state> decoration = decoration_state::none;

    run_statistics statistics;
    timetable when;
    task decorated;
};

inline timer_queue& timer_core::queue() const noexcept {
    static_assert(alignof(timer_queue) > flag_bits && alignof(details) > flag_bits);
    return has_details() ? *own().queue : *reinterpret_cast<timer_queue*>(owner_ & ~flag_bits);
}

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
