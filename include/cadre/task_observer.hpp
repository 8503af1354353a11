// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <cadre/detail/export.hpp>
#include <cadre/task.hpp>

namespace cadre {

/// Watches the tasks of a pool closely, for monitors: put into pool_hooks::observer. Cheaper than
/// the hooks, for it may not throw, changes nothing, and keeps what it needs in the worker and in
/// the frame of the task. All is called under no lock, on the thread that does the thing; a pool
/// without observer pays one branch for each call.
class CADRE_API task_observer {
public:
    /// What an observer wants to remember from the beginning of a task to its end. Not initialised.
    struct frame {
        std::int64_t numbers[2];
        const void* pointers[2];
    };

    /// What pool and observer know of a worker. It is the worker's, and lives from worker_begins()
    /// to worker_ends().
    struct worker_record {
        /// How many tasks it has completed and how many it runs now (more than one if some lie
        /// inside each other), in one word, so that a reader sees a task as running or completed,
        /// never as both or neither. Written by the worker alone.
        std::atomic<std::uint64_t> tally = 0;
        // Of the worker's thread.
        bool was_late = false;     // before the last that was passed over ended, the tick changed
        void* observed = nullptr;  // the observer's

        /// From now on it passes over tasks with a coarse stamp, until one has ended after the tick
        /// is another: the observer is not called, and sees them in the tally alone. Not called
        /// inside another task; tasks that lie inside another are not passed over.
        void pass_over_during(std::uint64_t tick) noexcept {
            using detail::task_access;
            pass_during = tick;
            if (sizeof(pass_from) >= sizeof(std::uint64_t))  // else there are no coarse stamps
                pass_from = task_access::stamp_inside | task_access::coarse_stamp;
        }
        void pass_over_none() noexcept { pass_from = none; }
        /// True if it passes over tasks and the tick is still that one.
        bool passes_over_during(std::uint64_t tick) const noexcept {
            return pass_from != none && tick == pass_during;
        }

        // The pool's.
        static constexpr std::uintptr_t none = ~std::uintptr_t{0};
        std::uintptr_t pass_from = none;  // the lowest identity of tasks that are passed over
        std::uint64_t pass_during = 0;    // the tick

        static std::uint64_t completed(std::uint64_t tally) noexcept {
            return tally / one_completed;
        }
        static int running(std::uint64_t tally) noexcept {
            return static_cast<int>(tally % one_completed);
        }
        static constexpr std::uint64_t one_completed = 1 << 16;
    };

    virtual ~task_observer() = default;

    virtual void worker_begins(worker_record& worker) noexcept = 0;
    virtual void worker_ends(worker_record& worker) noexcept = 0;
    /// It found no task and is about to wait for one.
    virtual void worker_waits(worker_record& worker) noexcept = 0;
    /// After that: it has got one.
    virtual void worker_wakes(worker_record& worker) noexcept = 0;
    /// Tasks of one worker may lie inside each other. The tally has it as running.
    virtual void task_begins(worker_record& worker, const task& t, frame& f) noexcept = 0;
    /// `failed`: it threw, or its future holds an exception. The tally still has it as running.
    virtual void task_ends(worker_record& worker, const frame& f, bool failed) noexcept = 0;
    /// A task that was passed over threw; the tally still has it as running.
    virtual void passed_over_failed(worker_record& worker) noexcept = 0;

    /// On the submitting thread, for every task but those that get a coarse stamp. Unless it is 0,
    /// the result travels with the task: stamp_of() gives it back.
    virtual std::int64_t task_submitted() noexcept = 0;
    /// Before the rejection handler is called; of a block_policy, when it has found no place.
    virtual void task_rejected(const task& t) noexcept = 0;
    /// The thread factory refused or threw. `first` is the task that the thread was to begin with;
    /// null: one that was to take from the queue.
    virtual void thread_failed(const task* first) noexcept = 0;

    /// Not 0 while an observer does not want to see every bare task, which has neither name nor
    /// future: then most of them get this number for a coarse stamp, without a call of the
    /// observer, and workers may pass over these. It is the time of the steady clock in units of
    /// `tick_unit`, as of the last time the observer set it.
    std::uint64_t tick() const noexcept { return tick_.load(std::memory_order_relaxed); }
    static constexpr std::chrono::nanoseconds tick_unit{std::int64_t{1} << detail::tick_bits};
    static constexpr int most_ticks_behind = detail::most_ticks_behind;

    /// What task_submitted() gave that task, or, if it has a coarse stamp, the latest time of the
    /// steady clock at which it was submitted if the ticks came in time; 0 if nobody knows. Of a
    /// task that is due at a time, that time, once it has come.
    static std::int64_t stamp_of(const task& t) noexcept { return detail::task_access::stamp(t); }
    static bool has_coarse_stamp(const task& t) noexcept {
        return detail::task_access::has_coarse_stamp(t);
    }
    /// It has neither name nor future.
    static bool is_bare(const task& t) noexcept { return detail::task_access::is_bare(t); }

protected:
    /// For an observer that sees to it that the tick is never further behind than that, as far as
    /// it can.
    void set_tick(std::uint64_t tick) noexcept { tick_.store(tick); }
    /// Sets it to that if it is less, unless it is 0 or changes just now.
    void move_tick_on(std::uint64_t to) noexcept {
        auto seen = tick();
        if (seen != 0 && seen < to)
            tick_.compare_exchange_strong(seen, to, std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint64_t> tick_ = 0;
};

}  // namespace cadre
