// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <time.h>

#include <cadre/manage/latency_histogram.hpp>
#include <cadre/manage/pool_monitor.hpp>
#include <cadre/task_observer.hpp>
#include <cadre/thread.hpp>

#include "ticker.hpp"

namespace cadre::manage::detail {

inline std::int64_t now_ns() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

/// A histogram that one thread writes and others read.
class recorder {
public:
    void add(std::int64_t ns, std::uint64_t weight = 1) noexcept;
    void read_into(latency_histogram& into) const noexcept;

private:
    std::array<std::atomic<std::uint64_t>, latency_histogram::bucket_count> counts_{};
    std::atomic<std::uint64_t> sum_ = 0;
};

/// What one worker did with tasks of one name.
struct task_record {
    std::atomic<std::uint64_t> completed = 0;
    std::atomic<std::uint64_t> failed = 0;
    recorder run;
    recorder wait;
};

/// Members without a guard are the worker's own; atomics are written by it and read by others.
struct alignas(64) worker_slot {
    using worker_record = task_observer::worker_record;

    explicit worker_slot(std::size_t names) : records(names) {}

    std::atomic<std::uint64_t> generation = 0;  // odd while a task runs that is timed
    // What the completed tasks of the worker's tally are more than those passed over in this slot.
    std::atomic<std::uint64_t> not_passed_over = 0;
    // Which task it is, too: no other that is told of has the same. Odd: that is about when.
    std::atomic<std::int64_t> started_at = 0;
    std::atomic<const task_record*> current = nullptr;  // of what is timed
    std::atomic<bool> passes_over = false;              // what runs and is not timed may go on so
    std::atomic<bool> looked_at = false;                // somebody may interrupt the task

    std::int64_t clock = 0;  // last reading; 0: it has waited since
    bool clock_is_fresh = false;
    int tiny_seen = 0;     // in a row
    int tiny_wanted = 16;  // before tasks are passed over
    std::int64_t tiny_since = 0;
    bool is_sample = false;           // what is being timed stands for those passed over before it
    std::uint64_t began_in = 0;       // the tick
    std::int64_t passed_since = 0;    // when it last ended a task that was timed, or woke up
    std::uint64_t passed_before = 0;  // how many had been passed over by then
    std::int64_t last_run = 0;        // of the last sample
    std::int64_t last_wait = 0;       // of the last task that was timed
    // How many of those passed over are in the histograms.
    std::uint64_t runs_recorded = 0;
    std::uint64_t waits_recorded = 0;
    std::string_view last_name;
    task_record* last_record = nullptr;

    task_record unnamed;
    std::vector<std::atomic<task_record*>> records;  // by the index of the name; null: none yet

    std::mutex interrupting;  // held while a task is looked at and interrupted

    // Guarded by the monitor's mutex, save that its thread may read what it alone changes.
    cadre::detail::intrusive_ptr<cadre::detail::thread_control> thread;  // null: free
    worker_record* worker = nullptr;                                     // null: free
    clockid_t cpu_clock = {};                                            // of the thread
    std::int64_t cpu_before = 0;         // of the thread, before it was a worker of the pool
    std::uint64_t passed_over_told = 0;  // when last asked, or when the worker left
    std::int64_t timed_out = 0;          // started_at of what was last told of
    std::uint64_t seen = 0;              // the number, by the last check_running()

    ~worker_slot() {
        for (auto& r : records) delete r.load();
    }

    /// How many have been passed over and have ended. By its worker, not inside a task.
    std::uint64_t passed_over() const noexcept {
        return worker_record::completed(worker->tally.load(std::memory_order_relaxed)) -
               not_passed_over.load(std::memory_order_relaxed);
    }
    /// The same, by anybody who holds the mutex. It never gets less.
    std::uint64_t passed_over_so_far() noexcept;
    /// The task that was timed last has ended, but not its captures: it still counts as running.
    /// By anybody who holds the mutex.
    bool is_dropping_task() const noexcept {
        return static_cast<std::int64_t>(passed_over() - passed_over_told) < 0;
    }
    /// Processor time of the worker, by anybody who holds the mutex.
    std::int64_t cpu_so_far() const noexcept;
};

/// What a worker does at a moment.
struct activity {
    std::uint64_t generation;
    std::uint64_t tally;

    /// With the mutex held, or by the worker.
    static activity of(const worker_slot& slot) noexcept {
        return {slot.generation.load(std::memory_order_acquire),
                slot.worker->tally.load(std::memory_order_acquire)};
    }
    bool operator==(const activity&) const = default;
    bool is_timed() const noexcept { return generation % 2 != 0; }
    bool is_busy() const noexcept {
        return is_timed() || task_observer::worker_record::running(tally) > 0;
    }
    /// Another one for each task of the worker, and growing.
    std::uint64_t number() const noexcept { return generation + tally; }
};

/// The observer behind a pool_monitor. How it works is told in monitor_core.cpp.
class monitor_core final : public task_observer, private ticker::listener {
public:
    explicit monitor_core(monitor_options options);
    ~monitor_core() override;

    void worker_begins(worker_record& worker) noexcept override;
    void worker_ends(worker_record& worker) noexcept override;
    void worker_waits(worker_record& worker) noexcept override;
    void worker_wakes(worker_record& worker) noexcept override;
    void task_begins(worker_record& worker, const task& t, frame& f) noexcept override;
    void task_ends(worker_record& worker, const frame& f, bool failed) noexcept override;
    void passed_over_failed(worker_record& worker) noexcept override;
    std::int64_t task_submitted() noexcept override;
    void task_rejected(const task& t) noexcept override;
    void thread_failed(const task* first) noexcept override;

    pool_metrics metrics() const;
    std::vector<worker_view> workers() const;
    monitor_limits limits() const;
    void set_limits(monitor_limits limits);
    void check_running();
    void check_waiting(const blocking_queue<task>& queue);

private:
    struct told {
        std::atomic<std::uint64_t> count = 0;
        std::string last_name;  // guarded by names_mutex_
    };
    task_record* record_for(worker_slot& slot, std::string_view name) noexcept;
    bool time_passed(std::uint64_t now) noexcept override;
    std::uint64_t timed_so_far() const noexcept;
    static void begin_row(worker_slot& slot) noexcept;
    void settle(worker_slot& slot) noexcept;
    void look_at_passed_over(worker_slot& slot) noexcept;
    bool was_tick_late(const worker_slot& slot) noexcept;
    void note_late_tick(std::uint64_t now) noexcept;
    void help_tick(std::int64_t clock) noexcept;
    static void record_runs(worker_slot& slot, std::int64_t each) noexcept;
    void record_waits(worker_slot& slot) noexcept;
    void record_wait(worker_slot& slot, const task& t, task_record& of) noexcept;
    void sample_ends(worker_slot& slot, std::int64_t took) noexcept;
    void tell_if_slow(worker_slot& slot, std::int64_t started_at, std::int64_t took,
                      const task_record* of) noexcept;
    bool was_told_while_queued(const task& t, std::int64_t stamp) noexcept;
    void tell(told& event, std::string_view name, std::uint64_t times) noexcept;
    std::string_view name_of(const task_record* record, const worker_slot& slot) const noexcept;

    const std::size_t max_names_;
    std::atomic<std::int64_t> run_timeout_ = 0;
    std::atomic<std::int64_t> queue_timeout_ = 0;
    std::atomic<bool> interrupts_ = false;
    std::atomic<bool> may_sample_ = true;  // no limits need exact times
    const std::shared_ptr<ticker> ticker_ = ticker::of_this_process();
    std::atomic<bool> names_full_ = false;

    // What many write, away from what is read for every task.
    alignas(64) std::atomic<std::uint64_t> submitted_ = 0;  // with an exact stamp
    std::atomic<std::int64_t> burst_since_ = 0;
    std::atomic<std::int64_t> calm_until_ = 0;
    std::atomic<std::uint64_t> late_tick_ = 0;  // the last that was late
    std::atomic<std::uint64_t> passed_over_ = 0;
    // Of time_passed(), under the ticker's lock: as it was at the last tick and before the first.
    std::uint64_t passed_over_seen_ = 0;
    std::uint64_t passed_over_before_ = 0;
    std::uint64_t submitted_seen_ = 0;
    std::uint64_t timed_seen_ = 0;
    std::uint64_t timed_before_ = 0;
    int quiet_ticks_ = 0;
    std::atomic<std::uint64_t> threads_started_ = 0;
    std::atomic<std::uint64_t> threads_ended_ = 0;
    told threads_failed_;
    told rejected_;
    told run_timeouts_;
    told queue_timeouts_;

    mutable std::mutex names_mutex_;  // guards names_ while they are not full
    // 0 is "", the last is "other"; never removed, so that views of the names stay.
    std::map<std::string, std::size_t, std::less<>> names_;

    // Which tasks were counted as waiting for too long while they are queued: by identity and
    // stamp, sorted, as the last look found them, and the one before, for they may just have been
    // taken.
    using queued = std::pair<std::uintptr_t, std::int64_t>;
    std::mutex waiting_mutex_;  // guards all below; held while a queue is looked at
    std::vector<queued> told_waiting_;
    std::vector<queued> told_waiting_before_;

    mutable std::mutex mutex_;  // guards all below
    std::vector<std::unique_ptr<worker_slot>> slots_;
    std::vector<worker_slot*> free_;
    std::int64_t cpu_of_those_who_left_ = 0;  // ns
};

}  // namespace cadre::manage::detail
