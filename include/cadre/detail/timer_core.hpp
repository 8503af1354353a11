// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <cadre/cron.hpp>
#include <cadre/detail/export.hpp>
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
template <class Timer>
class timer_heap;

/// When a task is to run.
struct timetable {
    enum class kind { once, at_fixed_rate, with_fixed_delay, by_calendar };
    kind how = kind::once;
    steady_time first = {};  // of the scheduler's steady clock, unless `wall` is given
    std::optional<std::chrono::system_clock::time_point> wall = {};  // follows the wall clock
    std::chrono::nanoseconds period = {};                  // or the delay between two runs
    std::shared_ptr<const cron_expression> calendar = {};  // small, for every timer is given one
    periodic_options options = {};
};

/// A task with a time. One that runs once at a time of the steady clock, of which there may be
/// millions, has no more than these fields; all others have details.
class CADRE_API timer_core : public future_core {
public:
    ~timer_core() override;

    /// Once, before anybody else knows it.
    void prepare(timer_queue& queue, timetable&& when);
    /// Has this function make of it what is run.
    void decorate(const std::function<task(task)>& decorator);
    /// Nobody has a future of it: what it throws is told to the pool's uncaught_exception. Once,
    /// before anybody else knows it.
    void tell_what_it_throws() noexcept { owner_ |= has_no_future_bit; }

    bool is_periodic() const noexcept { return owner_ & periodic_bit; }
    bool belongs_to(const timer_queue& some) const noexcept { return &queue() == &some; }
    bool follows_wall_clock() const noexcept { return has_details() && has_wall_time(); }
    std::chrono::system_clock::time_point wall_time() const noexcept;
    steady_time startable_at() const override;
    /// When it runs next; nothing if it is complete or being run.
    std::optional<steady_time> next_run() const;
    std::chrono::nanoseconds delay() const;
    task_statistics statistics() const;

    /// Takes the time of a call of its callable.
    class call_scope {
    public:
        explicit call_scope(timer_core& timer) : timer_(timer), start_(timer.call_begins()) {}
        ~call_scope() { timer_.call_ends(start_); }
        call_scope(const call_scope&) = delete;
        call_scope& operator=(const call_scope&) = delete;

    private:
        timer_core& timer_;
        const steady_time start_;
    };

    /// Called by whoever took it from the queue, with the reference that keeps it alive: it may go
    /// with it into the queue again.
    void execute(intrusive_ptr<timer_core>& held);
    /// The handle that a worker had of it is gone.
    void leave_flight() noexcept;

protected:
    void on_done(future_state how) override;
    void on_cancelled_unstarted() override;
    void end_without_callable() noexcept;
    bool survives(const std::exception_ptr& error) override;

private:
    friend class timer_queue;
    template <class Timer>
    friend class timer_heap;
    struct details;

    static constexpr std::uintptr_t periodic_bit = 1;
    static constexpr std::uintptr_t has_details_bit = 2;
    static constexpr std::uintptr_t has_no_future_bit = 4;
    static constexpr std::uintptr_t flag_bits = 7;

    bool has_details() const noexcept { return owner_ & has_details_bit; }
    bool has_no_future() const noexcept { return owner_ & has_no_future_bit; }
    bool is_nobody_told() const noexcept;
    /// There are some.
    details& own() const noexcept { return *reinterpret_cast<details*>(owner_ & ~flag_bits); }
    timer_queue& queue() const noexcept;
    details& detailed();
    bool has_wall_time() const noexcept;
    void end_with_details() noexcept;
    bool is_decorated() const noexcept;
    void run_decorated();
    void release_decoration() noexcept;
    void run_due();
    void run_periodic();
    steady_time call_begins() const noexcept;
    void call_ends(steady_time start) noexcept;
    void count_run(bool has_failed);
    bool was_quick() const noexcept;
    std::chrono::nanoseconds slack() const noexcept;
    void plan_next_run(intrusive_ptr<timer_core>* held);
    std::optional<steady_time> time_after(steady_time finished);

    // There may be millions: every byte counts. The place and the sequence are guarded by the
    // queue's mutex, the duration is published by the phase.
    std::uint32_t place_ = ~std::uint32_t{0};  // nowhere in the queue's heap
    union {
        std::uint64_t sequence_ = 0;         // zero: was never queued
        std::chrono::nanoseconds duration_;  // once it was called, if that is once only
    };
    // The queue, counted, or the details, owned; in the lowest bits what kind of timer it is. As it
    // is before anybody else knows it, it stays.
    std::uintptr_t owner_ = 0;
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
class CADRE_API timer_handle {
public:
    /// Whether the queue gave it out because it was due, and counts it until it is done with.
    enum class origin { due, elsewhere };
    explicit timer_handle(intrusive_ptr<timer_core> timer, origin from = origin::elsewhere,
                          std::int64_t stamp = 0) noexcept
        : timer_(std::move(timer)), stamp_(stamp), origin_(from) {}
    timer_handle(timer_handle&&) noexcept = default;
    timer_handle& operator=(timer_handle&&) = delete;
    ~timer_handle();
    /// Once.
    void operator()() {
        if (!std::exchange(spent_, true)) timer_->execute(timer_);
    }
    std::string_view task_name() const noexcept { return timer_->name(); }
    int task_priority() const noexcept { return timer_->priority(); }
    std::uintptr_t task_identity() const noexcept { return timer_->identity(); }
    /// When it was due, on the real steady clock; 0 if nobody knows.
    std::int64_t task_stamp() const noexcept { return stamp_; }

private:
    intrusive_ptr<timer_core> timer_;  // null: moved from, or queued again
    std::int64_t stamp_;
    origin origin_;
    bool spent_ = false;
};

}  // namespace detail
}  // namespace cadre
