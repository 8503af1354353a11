// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/latency_histogram.hpp>
#include <cadre/thread_pool_executor.hpp>

namespace cadre::manage {

namespace detail {
class monitor_core;
class timeout_watch;
}  // namespace detail

/// How much a monitor keeps.
struct monitor_options {
    /// Tasks of so many names are told apart; the rest goes by the name "other".
    std::size_t max_task_names = 32;
};

/// What tasks of one name did.
struct task_metrics {
    std::string name = {};  ///< empty: those without a name
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;  ///< of those completed
    latency_histogram run = {};
    latency_histogram wait = {};
};

/// What the tasks of a pool did since it was made. Everything only grows: whoever wants to know of
/// a period takes the difference of two.
struct pool_metrics {
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;  ///< of those completed: threw, or their future holds an exception
    std::uint64_t rejected = 0;
    std::uint64_t run_timeouts = 0;
    std::uint64_t queue_timeouts = 0;
    std::uint64_t threads_started = 0;
    std::uint64_t threads_ended = 0;
    std::uint64_t threads_failed = 0;   ///< that the factory did not give
    std::chrono::nanoseconds cpu = {};  ///< processor time of its threads
    latency_histogram run = {};
    latency_histogram wait = {};
    std::vector<task_metrics> tasks = {};  ///< by name
    // The name of the task that the last of these was about.
    std::string last_rejected = {};
    std::string last_run_timeout = {};
    std::string last_queue_timeout = {};
    std::string last_thread_failed = {};  ///< which the thread was to begin with
};

/// A thread of the pool and what it does.
struct worker_view {
    std::string thread = {};
    bool busy = false;
    std::string task = {};              ///< its name, if it has one
    std::chrono::nanoseconds age = {};  ///< for how long the task runs
    std::uint64_t generation = 0;       ///< another number: another task
};

/// From when on a task counts as slow, and what becomes of it.
struct monitor_limits {
    std::chrono::nanoseconds run_timeout = {};    ///< zero: none
    std::chrono::nanoseconds queue_timeout = {};  ///< zero: none
    /// Of tasks that begin after it was set: soon after the timeout they are interrupted, and their
    /// stop token is stopped if they have asked for it by then.
    bool interrupt_on_run_timeout = false;
};

/// Counts and times the tasks of one pool. Times are of the steady clock. Reading changes nothing
/// and stops nobody. Every task is counted. While those of a worker are tiny and many, one in 512
/// without name and future is timed and stands for the others, and for the rest a tick of a
/// millisecond is enough: see docs/management.md.
///
/// Queue wait is measured from execute() or submit() to the beginning; for scheduled pools from the
/// time at which the task was due, unless their clock is a manual one.
///
///     auto monitor = std::make_shared<cadre::manage::pool_monitor>();
///     cadre::thread_pool_executor pool({.hooks = monitor->hooks()});
///     auto registered = registry.add("orders", pool, monitor);
class CADRE_API pool_monitor {
public:
    explicit pool_monitor(monitor_options options = {});
    ~pool_monitor();
    pool_monitor(const pool_monitor&) = delete;
    pool_monitor& operator=(const pool_monitor&) = delete;

    /// For the options of one pool; with hooks of your own.
    pool_hooks hooks(pool_hooks own = {}) const;

    pool_metrics metrics() const;
    std::vector<worker_view> workers() const;
    /// Since it was made.
    std::chrono::nanoseconds age() const;

    monitor_limits limits() const;
    /// Throws std::system_error if tasks are to be interrupted, and there is no thread to be had
    /// that sees to it; then nothing changes.
    void set_limits(monitor_limits limits);
    /// Looks for tasks that run for too long: counts each once, and, if so set, interrupts it and
    /// stops its token. Without it (the alarm engine calls it regularly, and, where tasks are to be
    /// interrupted, a thread of the monitor's own) they are counted when they end.
    void check_running();

    /// Looks for tasks that wait for too long in the queue of the pool, among the first 10,000:
    /// counts each once. Without it (the alarm engine calls it) they are counted when they begin.
    void check_waiting(const blocking_queue<task>& queue);

    /// For how long the queue's head has been waiting, or, of a scheduled pool, has been due; zero
    /// if there is none or nobody knows.
    static std::chrono::nanoseconds oldest_wait(const blocking_queue<task>& queue);

private:
    const std::shared_ptr<detail::monitor_core> core_;
    const std::unique_ptr<detail::timeout_watch> watch_;
    const std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
};

}  // namespace cadre::manage
