// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <cadre/clock.hpp>
#include <cadre/detail/export.hpp>
#include <cadre/scheduled_executor_service.hpp>
#include <cadre/thread_pool_executor.hpp>

namespace cadre {

/// How a scheduled pool is to be made.
struct scheduled_pool_options {
    int core_pool_size = available_processors();
    /// How long an idle thread beyond the core stays; as in the JDK.
    std::chrono::nanoseconds keep_alive = std::chrono::milliseconds(10);
    cadre::thread_factory thread_factory = default_thread_factory();
    rejected_execution_handler rejection = abort_policy{};
    bool allow_core_thread_time_out = false;
    pool_hooks hooks = {};
    bool remove_on_cancel = false;
    std::string name = {};
    bool execute_existing_delayed_tasks_after_shutdown = true;
    bool continue_existing_periodic_tasks_after_shutdown = false;
    /// nullptr: the system's. It must outlive the pool.
    scheduler_clock* clock = nullptr;
};

/// A task that waits for its time, as scheduled_thread_pool_executor::pending() shows it.
struct pending_task {
    std::string name;  ///< empty if it has none
    std::chrono::steady_clock::time_point next_run;
    bool is_periodic = false;
    task_statistics statistics;  ///< of its runs so far
};

namespace detail {
class timer_queue;
}

/// A pool that runs tasks at times, as java.util.concurrent.ScheduledThreadPoolExecutor. It has
/// core_pool_size threads at most (one if that is zero) and an unbounded queue, so a running pool
/// never rejects. execute() and submit() are schedules without delay. All members may be called
/// from any thread, also from the pool's own tasks.
///
/// A periodic task that throws stops; its future carries the exception, and the hook
/// periodic_failed is told (by default: one line on stderr), unless it was scheduled with
/// on_error::keep_going.
///
/// After shutdown(), delayed tasks still run when they are due, and periodic ones are cancelled;
/// both can be changed. The destructor shuts down and waits, so for a delayed task also until that
/// is due: cancel what should not be waited for, or call shutdown_now() first.
///
///     cadre::scheduled_thread_pool_executor timers({.core_pool_size = 1, .name = "timers"});
///     auto beat = timers.schedule_at_fixed_rate([&] { ping(); }, 0s, 30s);
///     auto report = timers.schedule_cron([&] { send(); }, cadre::cron_expression("0 6 * * mon"));
class CADRE_API scheduled_thread_pool_executor : public scheduled_executor_service {
public:
    /// Throws std::invalid_argument for sizes, durations or functions that cannot be.
    explicit scheduled_thread_pool_executor(scheduled_pool_options options);
    /// Of the options that every pool has. The queue is the pool's own: throws
    /// std::invalid_argument if one is given. A maximum of 0 is no bound, and means nothing anyway.
    template <std::same_as<thread_pool_options> Options>
    explicit scheduled_thread_pool_executor(Options options)
        : scheduled_thread_pool_executor(options_of(options)) {
        if (options.maximum_pool_size != 0) set_maximum_pool_size(options.maximum_pool_size);
    }
    /// An int that {} is not: those are options.
    struct size {
        size(int n) : threads(n) {}
        int threads;
    };
    explicit scheduled_thread_pool_executor(
        size core_pool_size, cadre::thread_factory factory = default_thread_factory(),
        cadre::rejected_execution_handler handler = abort_policy{})
        : scheduled_thread_pool_executor(
              options_of(core_pool_size.threads, std::move(factory), std::move(handler))) {}
    scheduled_thread_pool_executor(size core_pool_size, cadre::rejected_execution_handler handler)
        : scheduled_thread_pool_executor(core_pool_size, default_thread_factory(),
                                         std::move(handler)) {}
    /// Neither a factory nor a handler: throws std::invalid_argument.
    scheduled_thread_pool_executor(size core_pool_size, std::nullptr_t)
        : scheduled_thread_pool_executor(core_pool_size, cadre::thread_factory()) {}
    ~scheduled_thread_pool_executor() override;

    void execute(task t) override;
    std::shared_ptr<const void> kept() const override;
    void start_timer(detail::intrusive_ptr<detail::timer_core> timer,
                     detail::timetable when) override;
    std::chrono::steady_clock::time_point now() const override;
    std::chrono::system_clock::time_point wall_now() const override;

    void shutdown() override;
    /// Delayed and periodic tasks are among those returned.
    std::vector<task> shutdown_now() override;
    bool is_shutdown() const override { return pool_.is_shutdown(); }
    bool is_terminating() const { return pool_.is_terminating(); }
    bool is_terminated() const override { return pool_.is_terminated(); }
    using executor_service::await_termination;
    bool await_termination(std::chrono::nanoseconds timeout) override {
        return pool_.await_termination(timeout);
    }
    void close() override;

    // What becomes of tasks that wait when the pool is shut down. Changes take effect at once.

    bool execute_existing_delayed_tasks_after_shutdown_policy() const;
    void set_execute_existing_delayed_tasks_after_shutdown_policy(bool run_them);
    bool continue_existing_periodic_tasks_after_shutdown_policy() const;
    void set_continue_existing_periodic_tasks_after_shutdown_policy(bool run_them);
    /// Whether a cancelled task leaves the queue at once; else it stays until it is due or purged.
    bool remove_on_cancel_policy() const;
    void set_remove_on_cancel_policy(bool remove);

    // As with thread_pool_executor.

    int core_pool_size() const { return pool_.core_pool_size(); }
    void set_core_pool_size(int core) { pool_.set_core_pool_size(core); }
    int maximum_pool_size() const { return pool_.maximum_pool_size(); }
    void set_maximum_pool_size(int maximum) { pool_.set_maximum_pool_size(maximum); }
    void resize(int core, int maximum) { pool_.resize(core, maximum); }
    std::chrono::nanoseconds keep_alive() const { return pool_.keep_alive(); }
    template <class Rep, class Period>
    void set_keep_alive(std::chrono::duration<Rep, Period> keep_alive) {
        pool_.set_keep_alive(keep_alive);
    }
    bool allows_core_thread_time_out() const { return pool_.allows_core_thread_time_out(); }
    void allow_core_thread_time_out(bool allow) { pool_.allow_core_thread_time_out(allow); }
    cadre::thread_factory thread_factory() const { return pool_.thread_factory(); }
    void set_thread_factory(cadre::thread_factory factory) {
        pool_.set_thread_factory(std::move(factory));
    }
    cadre::rejected_execution_handler rejected_execution_handler() const {
        return pool_.rejected_execution_handler();
    }
    void set_rejected_execution_handler(cadre::rejected_execution_handler handler) {
        pool_.set_rejected_execution_handler(std::move(handler));
    }
    bool prestart_core_thread() { return pool_.prestart_core_thread(); }
    int prestart_all_core_threads() { return pool_.prestart_all_core_threads(); }
    template <class T>
    bool remove(const scheduled_future<T>& result) {
        return remove_timer(detail::future_access::core(result));
    }
    template <class T>
    bool remove(const future<T>& result) {
        return pool_.remove(result);
    }
    template <class T>
    bool remove(const shared_future<T>& result) {
        return pool_.remove(result);
    }
    std::size_t remove_if(function_ref<bool(const task&)> unwanted) {
        return pool_.remove_if(unwanted);
    }
    void purge() { pool_.purge(); }
    blocking_queue<task>& queue() { return pool_.queue(); }
    const blocking_queue<task>& queue() const { return pool_.queue(); }
    const std::string& name() const { return pool_.name(); }
    int pool_size() const { return pool_.pool_size(); }
    int active_count() const { return pool_.active_count(); }
    int largest_pool_size() const { return pool_.largest_pool_size(); }
    std::int64_t task_count() const { return pool_.task_count(); }
    std::int64_t completed_task_count() const { return pool_.completed_task_count(); }
    run_state state() const { return pool_.state(); }
    pool_snapshot snapshot() const { return pool_.snapshot(); }
    std::string to_string() const;
    /// What waits to be run and when, the first to run first: also tasks whose futures are gone,
    /// but none that is cancelled or being run. Meanwhile others that use the pool wait, some 50 ns
    /// for each task.
    std::vector<pending_task> pending() const;
    /// The pool that runs the tasks, as rejection handlers get it. What is submitted to it directly
    /// is neither decorated nor removed when it is cancelled.
    thread_pool_executor& pool() { return pool_; }

private:
    static scheduled_pool_options options_of(thread_pool_options& options);
    static scheduled_pool_options options_of(int core, cadre::thread_factory factory,
                                             cadre::rejected_execution_handler handler);
    bool remove_timer(detail::future_core* wanted);
    void reject(detail::intrusive_ptr<detail::timer_core> timer);
    void apply_shutdown_policies();

    const std::function<task(task)> decorate_task_;
    const detail::intrusive_ptr<detail::timer_queue> timers_;
    thread_pool_executor pool_;
};

}  // namespace cadre
