// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <cadre/cron.hpp>
#include <cadre/detail/export.hpp>
#include <cadre/detail/timer_core.hpp>
#include <cadre/executor.hpp>
#include <cadre/future.hpp>

namespace cadre {

/// The future of a scheduled task. It can be used wherever a future can.
template <class T>
class scheduled_future : public future<T> {
public:
    /// Stands for no task: all but valid() throw illegal_state.
    scheduled_future() noexcept = default;

    /// How long until the task is due, negative if it is overdue. Zero if it is not queued, or this
    /// is a process that was forked from the pool's.
    std::chrono::nanoseconds delay() const { return timer().delay(); }
    bool is_periodic() const { return timer().is_periodic(); }
    /// When it runs next, on the scheduler's steady clock; nothing if it is being run or over, or
    /// this is a process that was forked from the pool's.
    std::optional<std::chrono::steady_clock::time_point> next_run() const {
        return timer().next_run();
    }
    /// Of a task that runs once, when it has ended by itself.
    task_statistics statistics() const { return timer().statistics(); }

private:
    friend class scheduled_executor_service;
    explicit scheduled_future(detail::intrusive_ptr<detail::timer_core> core)
        : future<T>(detail::future_access::make<T>(std::move(core))) {}

    detail::timer_core& timer() const {
        auto* core = detail::future_access::core(*this);
        if (!core) throw illegal_state("the future stands for no task");
        return static_cast<detail::timer_core&>(*core);
    }
};

/// An executor service that runs tasks at times: later, at a fixed rate, with a fixed delay
/// between runs, at a time of day, by calendar.
///
/// Delays are relative to the steady clock: setting the wall clock changes nothing. A negative
/// delay is none. A delay past the end of the clock, some 290 years, is the end of the clock.
/// Tasks that are due at the same time run in the order in which they were scheduled, periodic ones
/// at each run. All throw
/// std::invalid_argument for an empty callable, rejected_execution if shut down.
class CADRE_API scheduled_executor_service : public executor_service {
public:
    using executor::schedule;
    /// Runs f once, after the delay.
    template <class F, class Rep, class Period>
    auto schedule(F&& f, std::chrono::duration<Rep, Period> delay) {
        return start<result_t<F>>(std::forward<F>(f), {.first = time_after(delay)});
    }
    /// Runs f once, at this time.
    template <class F, class Duration>
    auto schedule_at(F&& f, std::chrono::time_point<std::chrono::steady_clock, Duration> t) {
        return start<result_t<F>>(std::forward<F>(f), {.first = detail::steady_deadline(t)});
    }
    /// Runs f once, when the wall clock shows this time, also if it is set meanwhile: within a
    /// second if it is set past it.
    template <class F, class Duration>
    auto schedule_at(F&& f, std::chrono::time_point<std::chrono::system_clock, Duration> t) {
        return start<result_t<F>>(std::forward<F>(f), {.wall = wall_time(t)});
    }

    /// Runs f after initial_delay, and then again at initial_delay + period, + 2 periods, ...: the
    /// times are fixed beforehand and do not drift. Runs of one task never overlap: if one takes
    /// longer than the period, the next starts late. The future completes when the task is
    /// cancelled or throws.
    template <class F, class Rep1, class Period1, class Rep2, class Period2>
    scheduled_future<void> schedule_at_fixed_rate(
        F&& f, std::chrono::duration<Rep1, Period1> initial_delay,
        std::chrono::duration<Rep2, Period2> period, periodic_options options = {}) {
        const auto every = checked_period("period", detail::saturated(period), options);
        return repeat(std::forward<F>(f), {.how = detail::timetable::kind::at_fixed_rate,
                                           .first = time_after(initial_delay),
                                           .period = every,
                                           .options = options});
    }
    /// Runs f after initial_delay, and then again each time `delay` after the end of a run.
    template <class F, class Rep1, class Period1, class Rep2, class Period2>
    scheduled_future<void> schedule_with_fixed_delay(
        F&& f, std::chrono::duration<Rep1, Period1> initial_delay,
        std::chrono::duration<Rep2, Period2> delay, periodic_options options = {}) {
        const auto every = checked_period("delay", detail::saturated(delay), options);
        return repeat(std::forward<F>(f), {.how = detail::timetable::kind::with_fixed_delay,
                                           .first = time_after(initial_delay),
                                           .period = every,
                                           .options = options});
    }
    /// Runs f at each time of a calendar, as the wall clock shows them. Runs that were missed are
    /// left out unless the options say otherwise. Throws std::invalid_argument if there is no such
    /// time, ever.
    template <class F>
    scheduled_future<void> schedule_cron(F&& f, cron_expression when,
                                         periodic_options options = {}) {
        if (options.jitter.count() != 0)
            throw std::invalid_argument("jitter (" + std::to_string(options.jitter.count()) +
                                        " ns) is for tasks with a period, not for a calendar");
        const auto first = when.next_after(wall_now());
        if (!first)
            throw std::invalid_argument("cron expression '" + when.text() + "' has no next time");
        return repeat(std::forward<F>(f),
                      {.how = detail::timetable::kind::by_calendar,
                       .wall = first,
                       .calendar = std::make_shared<const cron_expression>(std::move(when)),
                       .options = options});
    }

    /// The clock that the times are of.
    virtual std::chrono::steady_clock::time_point now() const = 0;
    virtual std::chrono::system_clock::time_point wall_now() const = 0;

    /// For implementations: takes over a task made by the functions above.
    virtual void start_timer(detail::intrusive_ptr<detail::timer_core> timer,
                             detail::timetable when) = 0;

private:
    template <class F>
    using result_t = detail::task_result_t<std::decay_t<F>>;

    template <class F>
    scheduled_future<void> repeat(F&& f, detail::timetable when) {
        static_assert(std::is_lvalue_reference_v<detail::called_as<std::decay_t<F>>>,
                      "a callable that can be called as an rvalue only can be called once only");
        return start<void>(std::forward<F>(f), std::move(when));
    }
    template <class R, class F>
    scheduled_future<R> start(F&& f, detail::timetable when) {
        if (detail::is_empty_callable(f)) throw std::invalid_argument("the callable is empty");
        using core = detail::runnable_core<R, detail::scheduled_callable<R, std::decay_t<F>>,
                                           detail::no_on_done, detail::timer_core>;
        auto made = detail::intrusive_ptr<core>::adopt(
            new core(detail::scheduled_callable<R, std::decay_t<F>>{std::forward<F>(f)}));
        made->add_first_ref();
        scheduled_future<R> result(detail::intrusive_ptr<detail::timer_core>::adopt(made.get()));
        start_timer(std::move(made), std::move(when));
        return result;
    }
    template <class Rep, class Period>
    detail::steady_time time_after(std::chrono::duration<Rep, Period> delay) const {
        const auto rest = detail::saturated(delay);
        const auto from = now();
        if (rest.count() <= 0) return from;
        return rest >= detail::forever - from ? detail::forever : from + rest;
    }
    template <class Duration>
    static std::chrono::system_clock::time_point wall_time(
        std::chrono::time_point<std::chrono::system_clock, Duration> t) {
        return std::chrono::system_clock::time_point(detail::saturated(t.time_since_epoch()));
    }
    static std::chrono::nanoseconds checked_period(const char* what,
                                                   std::chrono::nanoseconds period,
                                                   const periodic_options& options) {
        const auto refuse = [](const std::string& why) { throw std::invalid_argument(why); };
        if (period.count() <= 0)
            refuse(std::string(what) + " (" + std::to_string(period.count()) +
                   " ns) is not positive");
        if (options.jitter.count() < 0 || options.jitter > period / 2)
            refuse("jitter (" + std::to_string(options.jitter.count()) +
                   " ns) is not between 0 and half the " + what);
        return period;
    }
};

}  // namespace cadre
