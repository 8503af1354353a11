// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <cadre/cron.hpp>
#include <cadre/detail/future_core.hpp>
#include <cadre/detail/future_result.hpp>
#include <cadre/task.hpp>

namespace cadre {

/// What a periodic task does after a run that threw.
enum class on_error {
    stop,       ///< it runs no more, and its future carries the exception; as in the JDK
    keep_going  ///< it runs again at its next time; the exception is told and counted
};

/// What becomes of runs whose time passed while the task, or the whole process, was held up.
enum class missed_runs {
    catch_up,  ///< they follow at once, one after the other; as in the JDK
    skip       ///< they are left out
};

/// How a periodic task is to run, beside its times.
struct periodic_options {
    cadre::on_error on_error = cadre::on_error::stop;
    /// Unset: a calendar skips, all others catch up.
    std::optional<missed_runs> missed = {};
    /// Each run but the first comes up to this much before or after its time, so that a fleet of
    /// machines does not run in step; the times themselves do not drift. At most half the period.
    std::chrono::nanoseconds jitter = {};
};

/// What a scheduled task has done so far.
struct task_statistics {
    std::int64_t runs = 0;
    std::int64_t failures = 0;
    std::chrono::nanoseconds last_duration = {};
    std::chrono::nanoseconds longest_duration = {};
    std::int64_t overruns = 0;  ///< runs that lasted longer than the period
};

namespace detail {

class timer_queue;

/// When a task is to run.
struct timetable {
    enum class kind { once, at_fixed_rate, with_fixed_delay, by_calendar };
    kind how = kind::once;
    steady_time first = {};  // of the scheduler's steady clock, unless `wall` is given
    std::optional<std::chrono::system_clock::time_point> wall = {};  // follows the wall clock
    std::chrono::nanoseconds period = {};  // or the delay between two runs
    std::optional<cron_expression> calendar = {};
    periodic_options options = {};
};

/// A task with a time. One that runs once at a time of the steady clock, of which there may be
/// millions, has no more than these fields; all others have details.
class timer_core : public future_core {
public:
    ~timer_core() override;

    /// Once, before anybody else knows it.
    void prepare(timer_queue& queue, timetable when);
    /// Has this function make of it what is run.
    void decorate(const std::function<task(task)>& decorator);
    /// Nobody has a future of it: what it throws is told to the pool's uncaught_exception. Once,
    /// before anybody else knows it.
    void tell_what_it_throws() noexcept { has_no_future_ = true; }

    bool is_periodic() const noexcept { return periodic_; }
    bool belongs_to(const timer_queue& some) const noexcept { return &queue() == &some; }
    bool follows_wall_clock() const noexcept;
    std::chrono::system_clock::time_point wall_time() const noexcept;
    steady_time startable_at() const override;
    /// When it runs next; nothing if it is complete or being run.
    std::optional<steady_time> next_run() const;
    std::chrono::nanoseconds delay() const;
    task_statistics statistics() const;

    /// Called by whoever took it from the queue.
    void execute();
    /// The handle that a worker had of it is gone.
    void leave_flight() noexcept;

protected:
    void on_done(future_state how) override;
    void on_cancelled_unstarted() override;
    bool survives(const std::exception_ptr& error) override;

private:
    friend class timer_queue;
    struct details;

    static constexpr std::uint32_t not_queued = ~std::uint32_t{0};

    timer_queue& queue() const noexcept;
    details& detailed();
    void run_decorated();
    void release_decoration() noexcept;
    void run_due();
    void run_periodic();
    void plan_next_run();
    std::optional<steady_time> time_after(steady_time finished);

    std::uint64_t sequence_ = 0;        // guarded by the queue's mutex
    std::uint32_t place_ = not_queued;  // in the heap; guarded by the queue's mutex
    bool periodic_ = false;
    bool has_details_ = false;
    bool has_no_future_ = false;
    union {
        timer_queue* queue_ = nullptr;  // counted
        details* details_;              // owned
    };
};

/// A callable of a scheduled task: what it returns counts only if the task has a result.
template <class R, class F>
struct scheduled_callable {
    F function;
    R operator()() {
        if constexpr (std::is_void_v<R>)
            static_cast<void>(invoke_task(function));
        else
            return invoke_task(function);
    }
    std::string_view task_name() const noexcept {
        if constexpr (requires { function.task_name(); })
            return function.task_name();
        else
            return {};
    }
    int task_priority() const noexcept {
        if constexpr (requires { function.task_priority(); })
            return function.task_priority();
        else
            return 0;
    }
};

/// The half of a timer that runs it: cancels it if it is dropped unrun.
class timer_handle {
public:
    /// Whether the queue gave it out because it was due, and counts it until it is done with.
    enum class origin { due, elsewhere };
    explicit timer_handle(intrusive_ptr<timer_core> timer, origin from = origin::elsewhere) noexcept
        : timer_(std::move(timer)), origin_(from) {}
    timer_handle(timer_handle&&) noexcept = default;
    timer_handle& operator=(timer_handle&&) = delete;
    ~timer_handle();
    /// Once.
    void operator()() {
        if (!std::exchange(spent_, true)) timer_->execute();
    }
    std::string_view task_name() const noexcept { return timer_->name(); }
    int task_priority() const noexcept { return timer_->priority(); }
    std::uintptr_t task_identity() const noexcept { return timer_->identity(); }

private:
    intrusive_ptr<timer_core> timer_;  // null: moved from
    origin origin_;
    bool spent_ = false;
};

}  // namespace detail
}  // namespace cadre
