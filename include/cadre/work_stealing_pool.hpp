// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/executor.hpp>
#include <cadre/task.hpp>
#include <cadre/thread.hpp>
#include <cadre/thread_pool_executor.hpp>

namespace cadre {

namespace detail {
class work_stealing_queue;
}

/// How such a pool is to be made.
struct work_stealing_options {
    /// How many threads there may be; each is made when there is work for it, and stays. From 1 to
    /// 32767.
    int parallelism = available_processors();
    cadre::thread_factory thread_factory = default_thread_factory();
    /// As of a thread_pool_executor; a thread whose task threw is replaced.
    pool_hooks hooks = {};
    /// In metrics, thread names and to_string.
    std::string name = {};
};

/// A pool for nested work: tasks that submit tasks and wait for them. Each thread has a deque of
/// its own. What a task submits goes there, and the thread takes the newest first, so that a piece
/// of work is finished where its data is; a thread that has nothing steals the oldest from another.
/// What comes from other threads waits in a common queue, first come, first served, and has its
/// turn now and then also while the deques are full. So tasks start in no particular order. Nothing
/// is bounded.
///
/// Everything else is as with thread_pool_executor: futures, cancelling, interrupts, hooks,
/// counters, shutdown() that runs what was accepted, shutdown_now() that interrupts and returns
/// what never ran, and a destructor that waits. After shutdown, a task is refused with
/// rejected_execution. All members may be called from any thread, also from the pool's own tasks,
/// except where said.
///
/// Waiting inside the pool: a thread whose task calls get() or wait() on a future, any future, runs
/// other tasks of the pool meanwhile, on top of the one that waits. So
///   - tasks may wait for their children, and those for theirs, on any number of threads;
///   - a wait may last longer than what it waits for, by the task that was begun meanwhile. A wait
///     with a time limit runs nothing;
///   - a task should wait for what it has started, or what those have, not for tasks that may wait
///     for it: if it was begun on top of the one it waits for, neither could go on, and it gets
///     illegal_state, as with any circle of waits;
///   - a lock that is held during get() may be asked for by another task on the same thread;
///   - when a thread's stack has no room for another task it waits without running any. If that is
///     so on all threads, the last get() throws illegal_state.
///
///     auto pool = cadre::executors::work_stealing_pool();
///     std::function<long(int)> fib = [&](int n) -> long {
///         if (n < 20) return n < 2 ? n : fib(n - 1) + fib(n - 2);
///         auto left = pool->submit(fib, n - 1);
///         return fib(n - 2) + left.get();
///     };
///     std::cout << pool->submit(fib, 30).get();
class CADRE_API work_stealing_pool : public executor_service {
public:
    /// Throws std::invalid_argument for a parallelism that cannot be, or an empty factory.
    explicit work_stealing_pool(work_stealing_options options = {});
    /// close(), save that no interrupt shortens it. On a thread of the pool itself it only shuts
    /// down: the threads finish what is queued and go away by themselves.
    ~work_stealing_pool() override;

    /// Throws std::invalid_argument if the task is empty, rejected_execution after shutdown, and
    /// what the thread factory throws.
    void execute(task t) override;
    std::shared_ptr<const void> kept() const override;

    void shutdown() override;
    std::vector<task> shutdown_now() override;
    bool is_shutdown() const override;
    /// True if shut down but not yet terminated.
    bool is_terminating() const;
    bool is_terminated() const override;
    using executor_service::await_termination;
    /// Throws illegal_state if a thread of this pool waits without a time limit.
    bool await_termination(std::chrono::nanoseconds timeout) override;
    /// Throws illegal_state on a thread of this pool.
    void close() override;

    const std::string& name() const;
    int parallelism() const;
    int pool_size() const;
    /// Threads that run a task, one that waits for another included.
    int active_count() const;
    int largest_pool_size() const;
    /// Queued, running and completed. Exact when nothing is moving.
    std::int64_t task_count() const;
    std::int64_t completed_task_count() const;
    /// In all deques and in the common queue.
    std::size_t queued_task_count() const;
    /// In the common queue alone.
    std::size_t queued_submission_count() const;
    /// How many tasks a thread has taken from the deque of another.
    std::int64_t steal_count() const;
    run_state state() const;
    /// Core and maximum size are the parallelism, the queue is all that is queued.
    pool_snapshot snapshot() const;
    /// `work_stealing_pool@NAME[Running, parallelism = 4, pool size = 2, active threads = 1,
    /// queued tasks = 0, steals = 3, completed tasks = 5]`
    std::string to_string() const;

private:
    work_stealing_pool(work_stealing_options&& options,
                       std::unique_ptr<detail::work_stealing_queue> queue);

    const detail::work_stealing_queue& queue_;  // of pool_
    thread_pool_executor pool_;                 // runs what the queue gives out
};

}  // namespace cadre
