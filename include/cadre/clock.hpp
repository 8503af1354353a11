// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include <cadre/detail/export.hpp>

namespace cadre {

/// Somebody who waits for times of a clock: told when the clock was set.
class CADRE_API clock_listener {
public:
    /// The clock shows another time than it would have by itself.
    virtual void time_changed() = 0;
    /// The earliest time that is waited for; nothing if there is none.
    virtual std::optional<std::chrono::steady_clock::time_point> next_due() = 0;
    /// Returns when all that is due by now has been done.
    virtual void await_quiet() = 0;
    /// True if the calling thread does some of that itself, and would wait for its own end.
    virtual bool is_called_inside() const noexcept { return false; }

protected:
    ~clock_listener() = default;
};

/// Where a scheduler has its time from: the system, or a manual_clock in tests. All members may be
/// called from any thread.
///
/// They had better not throw. Whoever asked a scheduler for something is thrown it. A worker that
/// looks for what is due tells it to the hook uncaught_exception and is replaced, so it looks
/// again. A run goes on, and counts as one that took no time; a periodic task whose next time
/// cannot be told stops, with what the clock threw. A shutdown goes by the last time that the clock
/// has shown.
class CADRE_API scheduler_clock {
public:
    virtual ~scheduler_clock() = default;

    /// Never goes back.
    virtual std::chrono::steady_clock::time_point now() const = 0;
    /// The time of day, which may be set forwards and backwards.
    virtual std::chrono::system_clock::time_point wall_now() const = 0;
    /// When, on the real steady clock, this one will show `t`; the end of time if nobody knows.
    virtual std::chrono::steady_clock::time_point real_time_of(
        std::chrono::steady_clock::time_point t) const = 0;

    /// A listener is told from subscribe() until unsubscribe() returns.
    virtual void subscribe(clock_listener& listener) = 0;
    virtual void unsubscribe(clock_listener& listener) = 0;

    /// The system's own.
    static scheduler_clock& system();
};

}  // namespace cadre
