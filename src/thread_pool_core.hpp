// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <cadre/detail/condition.hpp>
#include <cadre/function_ref.hpp>
#include <cadre/thread_pool_executor.hpp>

#include "control_word.hpp"
#include "worker.hpp"

namespace cadre::detail {

/// The future of a task; null if it has none.
inline future_core* result_of(const task& t) noexcept {
    const auto identity = task_access::identity(t);
    return identity & 1 ? nullptr : reinterpret_cast<future_core*>(identity);
}

/// Joins the thread and keeps an interrupt that comes meanwhile for later.
void join_whatever_comes(thread& t) noexcept;

/// All of a pool but its public face. Shared with the workers, which may outlive that face: the
/// pool may be destroyed by one of its own tasks. How it works is told in thread_pool_core.cpp.
class thread_pool_core : public std::enable_shared_from_this<thread_pool_core> {
public:
    /// Throws std::invalid_argument for what cannot be.
    static std::shared_ptr<thread_pool_core> make(thread_pool_options options);
    explicit thread_pool_core(thread_pool_options options);
    thread_pool_core(const thread_pool_core&) = delete;
    thread_pool_core& operator=(const thread_pool_core&) = delete;

    // Admission.
    void execute(task t, thread_pool_executor& face);
    /// Core thread, queue, extra thread; false and t untouched if none of them.
    bool admit(task& t);
    /// As admit(), waiting for a place. Throws rejected_execution.
    void admit_waiting(task t, steady_time deadline);
    void reject(task t, thread_pool_executor& face);
    /// For a task that was put into the queue by other ways than admit(): a thread if there are
    /// fewer than the core, or none. Throws what the factory throws.
    void ensure_worker();
    void ensure_worker_quietly() noexcept;
    bool prestart_core_thread();
    int prestart_all_core_threads();

    // The life of a worker.
    void run_worker(worker& w) noexcept;
    bool run_in_place(worker& w, const future_core& wanted);
    void worker_never_started(worker& w) noexcept;

    // The end.
    /// Called by shutdown(), before the pool may terminate. Set before the first task.
    std::function<void()> on_shutdown;
    void shutdown();
    std::vector<task> shutdown_now();
    bool await_termination(steady_time deadline);
    /// Waits until terminated and all threads are joined, whatever comes.
    void await_end() noexcept;
    bool is_called_by_worker() const;
    void try_terminate();
    /// If tasks are queued and no thread can be made for them, drops them, for nobody ever will
    /// run them.
    void drop_if_stranded() noexcept;

    // Settings.
    void resize(int core, int maximum);
    void set_core_pool_size(int core);
    void set_maximum_pool_size(int maximum);
    void set_keep_alive(std::chrono::nanoseconds keep_alive);
    void allow_core_thread_time_out(bool allow);
    void set_thread_factory(thread_factory factory);
    void set_rejected_execution_handler(rejected_execution_handler handler);
    int core_pool_size() const { return core_size_.load(); }
    int maximum_pool_size() const { return maximum_size_.load(); }
    std::chrono::nanoseconds keep_alive() const { return keep_alive_.load(); }
    bool allows_core_thread_time_out() const { return core_times_out_.load(); }
    thread_factory factory() const;
    rejected_execution_handler handler() const;

    // The queue and the books.
    blocking_queue<task>& queue() { return *queue_; }
    bool remove(std::uintptr_t identity);
    std::size_t remove_if(function_ref<bool(const task&)> unwanted);
    run_state state() const { return control_.load().state(); }
    pool_snapshot snapshot() const;
    const std::string& name() const { return name_; }
    /// Tells the hook, or stderr, of what no future carries.
    void tell_uncaught(const task& t, const std::exception_ptr& error) noexcept;

private:
    // Admission.
    task prepare(task t);
    task decorated(task t);
    /// After a task was queued: false, with the task back in t, if the pool has shut down since.
    bool confirm_queued(std::uintptr_t identity, task& t);
    bool take_back(std::uintptr_t identity, task& t);

    // Workers.
    enum class limit { core, maximum };
    bool add_worker(task* first, limit within);
    bool count_worker(bool has_first, limit within);
    bool enter_worker(const std::shared_ptr<worker>& w, thread& made, task* first);
    thread make_thread(std::function<void()> body);
    bool take_next(worker& w, task& next);
    bool run_task(worker& w, task& t, stop_slot& stop) noexcept;
    void leave(worker& w, bool abruptly) noexcept;
    thread strike_out(worker& w) noexcept;
    void interrupt_workers();
    bool is_stranded() const;
    void nudge_workers();
    void nudge_an_idle_worker();
    bool is_asked_for(const std::exception_ptr& error) const noexcept;
    void start_for_queued(int more);
    void link_cancellation();
    [[noreturn]] void refuse(const task& t, const char* why) const;

    const std::string name_;
    const pool_hooks hooks_;
    const std::unique_ptr<blocking_queue<task>> queue_;
    const bool remove_on_cancel_;
    intrusive_ptr<cancel_listener> cancel_link_;  // set before the first task

    control_word control_;
    std::atomic<int> core_size_;  // core <= maximum, and the others' rules: changed under mutex_
    std::atomic<int> maximum_size_;
    std::atomic<std::chrono::nanoseconds> keep_alive_;
    std::atomic<bool> core_times_out_;
    std::atomic<std::int64_t> rejected_ = 0;
    std::atomic<std::int64_t> uncaught_ = 0;

    mutable std::mutex mutex_;  // guards all below
    condition terminated_;      // signalled when the state becomes terminated
    std::vector<std::shared_ptr<worker>> workers_;
    thread last_to_leave_;  // each worker that leaves joins the one before it
    int largest_size_ = 0;
    std::int64_t completed_ = 0;  // by workers that have left
    std::vector<thread_control*> waiting_submitters_;
    std::shared_ptr<const thread_factory> factory_;              // never null
    std::shared_ptr<const rejected_execution_handler> handler_;  // never null
};

}  // namespace cadre::detail
