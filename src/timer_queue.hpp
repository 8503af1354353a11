// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <cadre/clock.hpp>
#include <cadre/detail/brief_mutex.hpp>
#include <cadre/detail/condition.hpp>
#include <cadre/detail/timer_core.hpp>
#include <cadre/function_ref.hpp>
#include <cadre/thread_pool_executor.hpp>

#include "forks.hpp"
#include "timer_heap.hpp"

namespace cadre::detail {

class thread_pool_core;
class worker;

/// When the tasks of a scheduler are due, and the threads that wait for the first of them. Shared
/// by the scheduler and its tasks, which may outlive it. How it works is told in timer_queue.cpp.
class timer_queue final : public clock_listener {
public:
    using taken = intrusive_ptr<timer_core>;
    /// One that was due.
    struct given {
        taken timer = nullptr;  // null: none
        steady_time due = {};
    };

    explicit timer_queue(scheduler_clock& clock);
    timer_queue(const timer_queue&) = delete;
    timer_queue& operator=(const timer_queue&) = delete;
    void add_ref() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }
    /// Once, before the first task: the pool that takes the tasks. From now on the clock tells of
    /// its changes.
    void open(const std::shared_ptr<thread_pool_core>& taker);
    /// Drops what is queued and leaves the clock.
    void close() noexcept;
    /// The clock may go after this.
    void leave_clock() noexcept;

    /// Strong guarantee: if there is no memory, the task is not queued. False if closed.
    bool insert(taken timer, steady_time due);
    /// What became of a task that was to be queued.
    enum class admission {
        refused,    // the queue is closed, or the pool's state and the policies forbid that it runs
        settled,    // the pool runs and has its threads; the caller's reference is the queue's now
        unsettled,  // the caller is to see to a thread, and to look whether the pool has ended
    };
    /// Strong guarantee.
    admission admit(taken& timer, steady_time due);
    /// The first task that is due; nothing if none is, or none was by the deadline.
    given poll();
    /// True if poll() would give one.
    bool has_due();
    given poll_until(steady_time deadline);
    /// Takes out this one; nothing if it is not queued.
    taken remove(timer_core& timer);
    /// Takes out one that was cancelled, which may have been all that the pool waited for. False if
    /// it is not queued.
    bool drop(timer_core& timer) noexcept;
    /// Whether a task is to leave when it is cancelled. Never in a process that was forked: whoever
    /// held the mutex is not there to let go.
    bool removes_cancelled() const noexcept { return remove_on_cancel.load() && forks_ == forks(); }
    /// Queues a task again after a run that ended at `finished`; false if it is to run no more.
    /// `held`, unless it is null, is the caller's reference to it, which may become the queue's.
    bool requeue(timer_core& timer, steady_time due, steady_time finished, taken* held);
    /// What poll() or poll_until() gave is done with.
    void landed() noexcept;
    /// Takes out those that `wanted` accepts, up to `most`, the earliest first. `wanted` is shown
    /// each task and its time. If it throws, nothing has changed.
    /// Before the first is taken, `make_room` is told how many there will be; if that throws,
    /// nothing has changed either.
    std::vector<taken> extract_if(function_ref<bool(timer_core&, steady_time)> wanted,
                                  std::size_t most, function_ref<void(std::size_t)> make_room);
    /// Takes out the earliest that `wanted` accepts; nothing if there is none. Allocates nothing.
    taken extract_first(function_ref<bool(timer_core&, steady_time)> wanted);
    void for_each(function_ref<void(timer_core&, steady_time)> visit) const;
    /// What is queued and not cancelled, the earliest first.
    std::vector<given> in_order();
    std::size_t size() const;
    std::optional<steady_time> time_of(const timer_core& timer);
    /// Cancels what is not to run after a shutdown, and takes out what was cancelled before.
    void apply_shutdown_policies();
    /// How long a time of the wall clock may be relied on at most: it may be set.
    static constexpr std::chrono::seconds wall_clock_look = std::chrono::seconds(1);

    /// For how long the first task has been due; zero if it is not.
    std::chrono::nanoseconds lateness();
    /// Of a task that was due then, for task_observer::stamp_of(): that time, on the real clock.
    std::int64_t stamp_of(steady_time due) const noexcept {
        return counts_flights_ ? 0 : std::max<std::int64_t>(due.time_since_epoch().count(), 1);
    }

    steady_time now() const {
        return counts_flights_ ? clock_.now() : std::chrono::steady_clock::now();
    }
    scheduler_clock& clock() const { return clock_; }
    /// The point of the steady clock at which, as things are, the wall clock shows this.
    steady_time steady_time_of(std::chrono::system_clock::time_point wall) const;

    void time_changed() override;
    std::optional<steady_time> next_due() override;
    void await_quiet() override;
    bool is_called_inside() const noexcept override;

    // What the tasks need to know of their scheduler.
    std::atomic<bool> remove_on_cancel = false;
    std::atomic<bool> run_delayed_after_shutdown = true;
    std::atomic<bool> run_periodic_after_shutdown = false;
    std::weak_ptr<thread_pool_core> pool;  // set before the first task
    /// True if the task may still run, as far as its pool's state and the policies say.
    bool may_run(const timer_core& timer, steady_time due) const;
    void tell_failed(timer_core& timer, const std::exception_ptr& error) noexcept;
    void tell_uncaught(timer_core& timer, const std::exception_ptr& error) noexcept;
    /// What makes this scheduler's jitter another than that of the next machine; none if the clock
    /// is manual, so that it can be repeated.
    std::uint64_t salt() const noexcept { return salt_; }
    std::function<void(const task&, std::exception_ptr)> periodic_failed;  // likewise

private:
    friend class timer_core;
    using heap = timer_heap<timer_core>;
    using entry = heap::entry;

    ~timer_queue() { leave_clock(); }
    std::chrono::nanoseconds wall_offset() const;
    const thread_pool_core* pool_of_caller() const noexcept;
    run_state pool_state() const;
    bool drop_here(timer_core& timer) noexcept;
    void tell_pool() noexcept;
    bool may_run(run_state state, const timer_core& timer, steady_time due) const;

    // All below need the mutex held.
    bool put_in(timer_core& timer, steady_time due);
    taken take_out(timer_core& timer) noexcept;
    void tell_quiet() noexcept;
    bool is_due();
    /// By less than a millisecond the two readings of a look differ by themselves.
    void follow_wall_clock(std::chrono::nanoseconds least = std::chrono::milliseconds(1));
    bool would_be_early();
    bool has_come(steady_time due) const noexcept;
    given take_head() noexcept;
    given wait_for_head(std::unique_lock<brief_mutex>& lock, steady_time deadline);
    bool is_quick(const timer_core& timer) const noexcept;
    steady_time leads_until(steady_time real_now) const;
    bool is_covered(steady_time from) const noexcept;
    bool is_in_good_hands() const;
    bool hand_on(worker& w) noexcept;
    void call(waiter& w, deferred_wake& wake) noexcept;
    void appoint_leader(deferred_wake& wake) noexcept;
    void wake_leader(deferred_wake& wake) noexcept;

    scheduler_clock& clock_;
    std::atomic<bool> subscribed_ = false;
    const std::uint32_t forks_ = forks();  // of the process that made it
    const bool counts_flights_;
    const std::uint64_t salt_;
    std::atomic<std::uint32_t> references_ = 1;
    // What `pool` points to; null from close() on. It may be followed with the mutex held, for the
    // pool closes the queue before it goes, and by a worker of that pool.
    std::atomic<thread_pool_core*> core_ = nullptr;

    mutable brief_mutex mutex_;                  // guards all below
    heap timers_;                                // each counted
    steady_time seen_now_ = steady_time::min();  // the clock has shown this
    std::size_t wall_timers_ = 0;                // how many of them follow the wall clock
    std::chrono::nanoseconds wall_offset_ = {};  // wall clock - steady clock, when last looked
    wait_list waiters_;
    waiter* leader_ = nullptr;  // in waiters_, asleep until the time of the head
    waiter* deputy_ = nullptr;  // in waiters_, asleep until deputy_until_
    steady_time deputy_until_ = {};
    waiter* called_ = nullptr;  // was in waiters_, and has been woken to lead
    bool closed_ = false;
    std::size_t in_flight_ = 0;  // taken and not done with; counted only if the clock is manual
    condition quiet_;            // signalled when in_flight_ falls to 0, or tasks are taken out
};

}  // namespace cadre::detail
