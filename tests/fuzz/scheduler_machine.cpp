// SPDX-License-Identifier: Apache-2.0
#include "fuzz/scheduler_machine.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "fuzz/targets.hpp"
#include <cadre/cadre.hpp>
#include <cadre/testing.hpp>

namespace cadre::fuzz {
namespace {

using std::chrono::milliseconds;

class scheduler_machine {
public:
    explicit scheduler_machine(choices& from)
        : removes_(from.below(2) == 0),
          runs_delayed_(from.below(2) == 0),
          continues_periodic_(from.below(2) == 0),
          pool_({.core_pool_size = 1,
                 .remove_on_cancel = removes_,
                 .execute_existing_delayed_tasks_after_shutdown = runs_delayed_,
                 .continue_existing_periodic_tasks_after_shutdown = continues_periodic_,
                 .clock = &clock_}) {}

    void call(choices& from) {
        const unsigned which = from.below(8);
        const milliseconds time(1 + from.byte());
        if (which < 3) {
            schedule(which, time);
        } else if (which < 5) {
            advance(time);
        } else if (which == 5 && !timers_.empty()) {
            cancel(from.byte() % timers_.size());
        } else if (which == 6 && from.below(8) == 0) {
            shutdown();
        } else if (which == 7 && from.below(8) == 0) {
            shutdown_now();
        }
        check();
    }
    void finish() {
        shutdown_now();
        require(pool_.await_termination(std::chrono::minutes(10)), "it did not end");
        check();
    }

private:
    struct timer {
        milliseconds due;
        milliseconds period;  ///< 0: once
        bool waits = true;
        bool cancelled = false;
    };

    void schedule(unsigned how, milliseconds time) {
        const auto id = timers_.size();
        const auto body = [this, id] {
            const std::lock_guard lock(mutex_);
            trace_.emplace_back(clock_.now().time_since_epoch(), id);
        };
        const milliseconds period = how == 0 ? milliseconds(0) : time + milliseconds(20);
        try {
            switch (how) {
                case 0:
                    results_.push_back(pool_.schedule(body, time));
                    break;
                case 1:
                    results_.push_back(pool_.schedule_at_fixed_rate(body, time, period));
                    break;
                default:
                    results_.push_back(pool_.schedule_with_fixed_delay(body, time, period));
            }
            require(!shut_, "a timer was taken after the end");
            timers_.push_back({now_ + time, period});
        } catch (const rejected_execution&) {
            require(shut_, "a timer was refused before the end");
        }
    }
    /// As time passes nothing takes time: rate and delay are the same.
    void advance(milliseconds by) {
        const auto until = now_ + by;
        for (;;) {
            std::size_t next = timers_.size();
            for (std::size_t i = 0; i < timers_.size(); ++i)
                if (timers_[i].waits && timers_[i].due <= until &&
                    (next == timers_.size() || timers_[i].due < timers_[next].due))
                    next = i;
            if (next == timers_.size()) break;
            auto& t = timers_[next];
            expected_.emplace_back(start_ + t.due, next);
            if (t.period.count() == 0)
                t.waits = false;
            else
                t.due += t.period;
        }
        now_ = until;
        clock_.advance(by);
    }
    void cancel(std::size_t i) {
        const bool waits = timers_[i].waits;
        require(results_[i].cancel() == waits, "cancel");
        if (waits) drop(timers_[i]);
    }
    void shutdown() {
        pool_.shutdown();
        if (std::exchange(shut_, true)) return;
        for (auto& t : timers_)
            if (t.waits && !(t.period.count() == 0 ? runs_delayed_ : continues_periodic_)) drop(t);
    }
    void shutdown_now() {
        const auto waiting = static_cast<std::size_t>(
            std::count_if(timers_.begin(), timers_.end(), [](auto& t) { return t.waits; }));
        const auto returned = pool_.shutdown_now().size();
        require(removes_ ? returned == waiting : returned >= waiting, "shutdown_now: count");
        shut_ = true;
        for (auto& t : timers_)
            if (t.waits) drop(t);
    }
    static void drop(timer& t) {
        t.waits = false;
        t.cancelled = true;
    }

    void check() {
        for (std::size_t i = 0; i < timers_.size(); ++i) {
            require(results_[i].is_done() == !timers_[i].waits, "is_done");
            require(results_[i].is_cancelled() == timers_[i].cancelled, "is_cancelled");
        }
        const std::lock_guard lock(mutex_);
        // Those of one instant in any order.
        std::sort(trace_.begin(), trace_.end());
        std::sort(expected_.begin(), expected_.end());
        require(trace_ == expected_, "the runs and their times");
    }

    using run = std::pair<std::chrono::nanoseconds, std::size_t>;
    manual_clock clock_;
    const std::chrono::nanoseconds start_ = clock_.now().time_since_epoch();
    const bool removes_;
    const bool runs_delayed_;
    const bool continues_periodic_;

    milliseconds now_{0};
    std::vector<timer> timers_;
    std::vector<run> expected_;
    bool shut_ = false;
    std::vector<scheduled_future<void>> results_;

    std::mutex mutex_;  // guards trace_
    std::vector<run> trace_;
    scheduled_thread_pool_executor pool_;  // the last: its tasks use the others
};

}  // namespace

void play_scheduler(std::string_view input) {
    choices from(input);
    scheduler_machine machine(from);
    for (int calls = 0; calls < 60 && !from.empty(); ++calls) machine.call(from);
    machine.finish();
}

}  // namespace cadre::fuzz
