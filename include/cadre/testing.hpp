// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <cadre/clock.hpp>
#include <cadre/detail/duration.hpp>
#include <cadre/detail/export.hpp>

namespace cadre {

/// A clock that stands still until it is told to go on, for tests of what happens over time: a
/// scheduler that runs on it plays a year in an instant, the same way every time.
///
///     cadre::manual_clock clock;
///     cadre::scheduled_thread_pool_executor pool({.core_pool_size = 1, .clock = &clock});
///     pool.schedule_at_fixed_rate([&] { ++beats; }, 1h, 1h);
///     clock.advance(24h);
///     EXPECT_EQ(beats, 24);
///
/// With one thread in the pool, tasks run in the order of their times, then of their submission.
/// A pool's destructor waits until its one-shots have run, which on a clock that stands still they
/// never do: call shutdown_now() if some may be left.
/// The clock must outlive the schedulers that use it; one that is destroyed by a task of its own
/// uses it until its hook `terminated` is called. All members may be called from any thread, but
/// tasks that run on it must not move it.
class CADRE_API manual_clock final : public scheduler_clock {
public:
    /// Starts at midnight of 1 January 2000, UTC, unless told otherwise.
    explicit manual_clock(std::chrono::system_clock::time_point wall_start = default_start());

    std::chrono::steady_clock::time_point now() const override;
    std::chrono::system_clock::time_point wall_now() const override;

    /// Moves time on by d, from one time that a scheduler waits for to the next; at each, waits
    /// until all that is due has run. Throws std::invalid_argument if d is negative, illegal_state
    /// in a task that runs on this clock: it would wait for itself. An interrupt of the calling
    /// thread while it waits throws interrupted; the clock then stands where it has come to. So it
    /// does if a task is due whose pool has no thread and gets none from its thread factory: throws
    /// illegal_state, or what the factory throws.
    void advance(std::chrono::nanoseconds d);
    template <class Rep, class Period>
    void advance(std::chrono::duration<Rep, Period> d) {
        advance(detail::saturated(d));
    }
    /// The same, up to this time; no effect if it has passed. The end of the clock itself never
    /// comes.
    void advance_to(std::chrono::steady_clock::time_point t);
    /// The same, up to this time of day.
    void advance_to(std::chrono::system_clock::time_point t);
    /// Sets the wall clock, forwards or backwards, while no steady time passes; then waits until
    /// all that became due by it has run. Throws illegal_state in a task that runs on this clock.
    void set_wall(std::chrono::system_clock::time_point t);

    std::chrono::steady_clock::time_point real_time_of(
        std::chrono::steady_clock::time_point t) const override;
    void subscribe(clock_listener& listener) override;
    void unsubscribe(clock_listener& listener) override;

private:
    class telling_scope;
    class moving_scope;

    static std::chrono::system_clock::time_point default_start();
    void tell();
    void go_on_by(std::chrono::nanoseconds d);
    void go_on_to(std::chrono::steady_clock::time_point t);
    std::chrono::steady_clock::time_point next_due();
    std::vector<clock_listener*> listeners() const;

    std::atomic<std::chrono::nanoseconds> since_start_ = std::chrono::nanoseconds::zero();
    std::atomic<std::chrono::system_clock::time_point> wall_start_;

    std::mutex advancing_;  // one at a time

    mutable std::mutex mutex_;  // guards all below
    std::condition_variable not_telling_;
    std::vector<clock_listener*> listeners_;
    clock_listener* being_told_ = nullptr;  // by teller_; it may not leave meanwhile
    std::thread::id teller_;
};

}  // namespace cadre
