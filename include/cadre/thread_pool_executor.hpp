// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/executor.hpp>
#include <cadre/function_ref.hpp>
#include <cadre/future.hpp>
#include <cadre/queue/array_blocking_queue.hpp>
#include <cadre/queue/blocking_queue.hpp>
#include <cadre/queue/linked_blocking_queue.hpp>
#include <cadre/queue/priority_blocking_queue.hpp>
#include <cadre/queue/synchronous_queue.hpp>
#include <cadre/rejection.hpp>
#include <cadre/task.hpp>
#include <cadre/task_observer.hpp>
#include <cadre/thread.hpp>

namespace cadre {

/// How far a pool has come; it only ever goes forward.
enum class run_state {
    running,    ///< takes tasks and runs them
    shutdown,   ///< takes none, runs those it has
    stop,       ///< runs none any more, has interrupted those that run
    tidying,    ///< has no worker left, is about to call terminated()
    terminated  ///< terminated() is over
};

/// Functions that a pool calls; each may be empty. They run under no lock and may use the pool,
/// but not wait for its end.
struct pool_hooks {
    /// Every task passes through it once, on the submitting thread; what it returns is run.
    std::function<task(task)> decorate_task = {};
    /// On the worker, before each task. If it throws, the task is dropped, which cancels its
    /// future, and the worker is replaced.
    std::function<void(const thread_handle&, const task&)> before_execute = {};
    /// On the worker, after each task, with what left the task or null. What a submitted task
    /// throws goes to its future and does not leave it.
    std::function<void(const task&, std::exception_ptr)> after_execute = {};
    /// Once, when the pool has terminated, before await_termination() returns. On the thread that
    /// ended it: a worker or, if there is none, who shuts the pool down. To wait for the end there
    /// is an illegal_state; to destroy the pool is not, unless it is called by close().
    std::function<void()> terminated = {};
    /// Told what left a task or one of the hooks above (with an empty task where none belongs
    /// to it). Default: one line on stderr. What it throws itself is dropped.
    std::function<void(const task&, std::exception_ptr)> uncaught_exception = {};
    /// Scheduled pools: told of a periodic task that failed. Default: one line on stderr. The
    /// task's future is not complete yet: to wait for it there is to wait for oneself.
    std::function<void(const task&, std::exception_ptr)> periodic_failed = {};
    /// For monitors. It lives as long as the pool and its threads do.
    std::shared_ptr<task_observer> observer = {};
};

/// How a pool is to be made.
struct thread_pool_options {
    /// Threads that are kept, also idle. A task that comes when there are fewer gets a new one.
    int core_pool_size = available_processors();
    /// Threads there may be when the queue is full. 0: the same as core_pool_size (at least 1).
    int maximum_pool_size = 0;
    /// How long an idle thread beyond the core stays.
    std::chrono::nanoseconds keep_alive = std::chrono::seconds(60);
    /// nullptr: an unbounded linked_blocking_queue. With an unbounded queue there are never more
    /// threads than the core, no task is ever rejected, and memory is the only limit.
    std::unique_ptr<blocking_queue<task>> queue = nullptr;
    cadre::thread_factory thread_factory = default_thread_factory();
    rejected_execution_handler rejection = abort_policy{};
    /// Core threads leave too after keep_alive, which must not be zero then.
    bool allow_core_thread_time_out = false;
    pool_hooks hooks = {};
    /// A cancelled task leaves the queue at once, at the price of a search. False, as in the JDK:
    /// it stays, empty, until it is reached or purged.
    bool remove_on_cancel = false;
    /// In metrics, thread names and to_string.
    std::string name = {};
};

/// A pool at one instant. Consistent in itself: active_count <= pool_size <= largest_pool_size,
/// and task_count is what is queued, running and completed.
struct pool_snapshot {
    std::string name = {};
    run_state state = run_state::running;
    int core_pool_size = 0;
    int maximum_pool_size = 0;
    std::chrono::nanoseconds keep_alive = {};
    bool allows_core_thread_time_out = false;
    int pool_size = 0;
    int active_count = 0;
    int largest_pool_size = 0;
    std::size_t queue_size = 0;
    std::size_t queue_remaining_capacity = 0;
    std::int64_t task_count = 0;
    std::int64_t completed_task_count = 0;
    /// Handed to the rejection handler, also those that it runs or finds a place for; of a
    /// block_policy only those that got no place.
    std::int64_t rejected_task_count = 0;
    std::int64_t uncaught_count = 0;  ///< exceptions told to uncaught_exception
    /// Handed to execute() or submit(), whatever became of them: queued, running, completed,
    /// rejected, or taken out of the queue again. A periodic task counts once for each time it is
    /// queued, as it does in completed_task_count. Never falls; of what is moving, and of tasks
    /// taken out of queue() past the pool, it may not know.
    std::int64_t submitted_task_count = 0;
};

namespace detail {
class thread_pool_core;
}

/// A pool of threads that run tasks from a queue, as java.util.concurrent.ThreadPoolExecutor:
///
///   - fewer threads than the core: a new task gets a new thread, even if others are idle;
///   - else it is offered to the queue;
///   - if that is full, it gets a new thread, up to the maximum;
///   - else it is rejected: the policy decides.
///
/// An idle thread beyond the core leaves after keep_alive. A thread whose task threw is replaced.
/// All members may be called from any thread, also from the pool's own tasks, except where said.
///
/// Waiting inside the pool: a worker that calls get() or wait() on an unstarted task of its own
/// pool runs that task in place.
///
/// The destructor is close(), save that no interrupt shortens it: it waits for all accepted tasks.
/// On a worker of the pool itself it cannot wait: it shuts the pool down and returns, and the
/// workers finish the queued tasks and go away by themselves.
/// As with any object, no other thread may be in a call of it meanwhile, not even in the execute()
/// that brought the task which destroys it: who submits that shares the pool with it.
///
/// In a child of fork() there are no workers: there, whatever would need them or look into the
/// books, execute() first, throws illegal_state, and the destructor lets go of the pool at once.
/// Make a pool of its own.
///
///     cadre::thread_pool_executor pool({.core_pool_size = 2, .maximum_pool_size = 8,
///         .queue = std::make_unique<cadre::array_blocking_queue<cadre::task>>(1024),
///         .rejection = cadre::caller_runs_policy{}, .name = "orders"});
///     auto answer = pool.submit([](int a, int b) { return a * b; }, 6, 7);
class CADRE_API thread_pool_executor : public executor_service {
public:
    /// Throws std::invalid_argument for sizes, durations or functions that cannot be.
    explicit thread_pool_executor(thread_pool_options options);
    thread_pool_executor(int core_pool_size, int maximum_pool_size,
                         std::chrono::nanoseconds keep_alive,
                         std::unique_ptr<blocking_queue<task>> queue,
                         cadre::thread_factory factory = default_thread_factory(),
                         cadre::rejected_execution_handler handler = abort_policy{});
    template <class Rep, class Period>
    thread_pool_executor(int core_pool_size, int maximum_pool_size,
                         std::chrono::duration<Rep, Period> keep_alive,
                         std::unique_ptr<blocking_queue<task>> queue,
                         cadre::thread_factory factory = default_thread_factory(),
                         cadre::rejected_execution_handler handler = abort_policy{})
        : thread_pool_executor(core_pool_size, maximum_pool_size, detail::saturated(keep_alive),
                               std::move(queue), std::move(factory), std::move(handler)) {}
    ~thread_pool_executor() override;

    /// Throws std::invalid_argument if the task is empty; what the rejection handler or the
    /// thread factory throws.
    void execute(task t) override;
    std::shared_ptr<const void> kept() const override;

    void shutdown() override;
    std::vector<task> shutdown_now() override;
    bool is_shutdown() const override;
    /// True if shut down but not yet terminated.
    bool is_terminating() const;
    bool is_terminated() const override;
    using executor_service::await_termination;
    /// Throws illegal_state if a worker of this pool waits without a time limit.
    bool await_termination(std::chrono::nanoseconds timeout) override;
    /// Throws illegal_state on a worker of this pool.
    void close() override;

    // Settings. Each setter takes effect at once, refuses what cannot be with
    // std::invalid_argument, and changes nothing then. Busy threads are left alone.

    int core_pool_size() const;
    /// Fewer: idle threads beyond it leave. More: threads are started for what is queued.
    void set_core_pool_size(int core);
    int maximum_pool_size() const;
    void set_maximum_pool_size(int maximum);
    /// Both in one step, so that no order of two calls trips over the rule core <= maximum.
    void resize(int core, int maximum);
    std::chrono::nanoseconds keep_alive() const;
    void set_keep_alive(std::chrono::nanoseconds keep_alive);
    template <class Rep, class Period>
    void set_keep_alive(std::chrono::duration<Rep, Period> keep_alive) {
        set_keep_alive(detail::saturated(keep_alive));
    }
    bool allows_core_thread_time_out() const;
    void allow_core_thread_time_out(bool allow);
    cadre::thread_factory thread_factory() const;
    void set_thread_factory(cadre::thread_factory factory);
    cadre::rejected_execution_handler rejected_execution_handler() const;
    void set_rejected_execution_handler(cadre::rejected_execution_handler handler);

    /// Starts an idle thread if there are fewer than the core; false if not.
    bool prestart_core_thread();
    /// Starts all core threads; returns how many it started.
    int prestart_all_core_threads();

    /// Takes a queued task out; its future is cancelled. False if it is not in the queue.
    template <class T>
    bool remove(const future<T>& result) {
        return remove_task(detail::future_access::core(result));
    }
    template <class T>
    bool remove(const shared_future<T>& result) {
        return remove_task(detail::future_access::core(result));
    }
    /// Takes out and drops the queued tasks that `unwanted` accepts; returns how many.
    std::size_t remove_if(function_ref<bool(const task&)> unwanted);
    /// Takes cancelled tasks out of the queue.
    void purge();
    /// The queue itself, for looking, resizing and clearing. What is put there directly runs only
    /// if there is a worker.
    blocking_queue<task>& queue();
    const blocking_queue<task>& queue() const;

    const std::string& name() const;
    int pool_size() const;
    int active_count() const;
    int largest_pool_size() const;
    /// Queued, running and completed. Exact when nothing is moving.
    std::int64_t task_count() const;
    std::int64_t completed_task_count() const;
    run_state state() const;
    pool_snapshot snapshot() const;
    /// `thread_pool_executor@NAME[Running, pool size = 2, active threads = 1, queued tasks = 0,
    /// completed tasks = 5]`
    std::string to_string() const;

private:
    friend struct discard_oldest_policy;
    friend struct block_policy;
    friend class scheduled_thread_pool_executor;
    friend class work_stealing_pool;

    bool remove_task(const detail::future_core* wanted);

    std::shared_ptr<detail::thread_pool_core> core_;
};

}  // namespace cadre
