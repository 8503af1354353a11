// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <cadre/detail/condition.hpp>
#include <cadre/detail/queue_fifo.hpp>
#include <cadre/function_ref.hpp>
#include <cadre/thread_pool_executor.hpp>

#include "control_word.hpp"
#include "forks.hpp"
#include "leaning_count.hpp"
#include "pool_task.hpp"
#include "pool_thread.hpp"
#include "work_stealing_queue.hpp"
#include "worker.hpp"

namespace cadre::detail {

/// All of a pool but its public face. Shared with the workers, which may outlive that face: the
/// pool may be destroyed by one of its own tasks. How it works is told in thread_pool_core.cpp.
class thread_pool_core : public std::enable_shared_from_this<thread_pool_core> {
public:
    /// Throws std::invalid_argument for what cannot be.
    static std::shared_ptr<thread_pool_core> make(thread_pool_options options);
    explicit thread_pool_core(thread_pool_options options);
    thread_pool_core(const thread_pool_core&) = delete;
    thread_pool_core& operator=(const thread_pool_core&) = delete;

    /// Throws illegal_state in a child of the process that made the pool: its workers are not
    /// there, and its locks may be held by nobody. Before any lock.
    void check_process() const {
        if (is_inherited()) refuse_inherited();
    }
    bool is_inherited() const noexcept { return forks_ != forks(); }
    /// For an inherited pool: nothing of it can be ended or joined.
    void keep_for_ever() noexcept;

    // Admission.
    void make_home_of(future_core& task) const noexcept { task.set_home(this, forks_); }
    void execute(task&& t, thread_pool_executor& face);
    /// The same, in short where one of the pool's own workers submits a task. Only if the pool has
    /// deques.
    void execute_nested(task&& t, thread_pool_executor& face);
    /// Core thread, queue, extra thread; false and t untouched if none of them.
    bool admit(task& t);
    /// As admit(), waiting for a place. Throws rejected_execution, with t untouched.
    void admit_waiting(task& t, steady_time deadline);
    void reject(task&& t, thread_pool_executor& face);
    /// For a policy, which may be called by others than the pool: makes a task that is none of this
    /// pool's one of them, and says whether it had to. Throws std::invalid_argument if it is empty.
    bool adopt(task& t);
    /// For a task that was put into the queue by other ways than admit(): a thread if there are
    /// fewer than the core, or none. Throws what the factory throws.
    void ensure_worker();
    void ensure_worker_quietly() noexcept;
    /// For who waits for tasks that are queued: throws illegal_state if there is no worker and the
    /// factory refuses one, and what the factory throws.
    void require_worker();
    /// How many threads were counted and could not be made.
    std::uint32_t failed_threads() const noexcept { return failed_threads_.load(); }
    /// True if there is no worker and the system had no thread to give since so many had failed:
    /// whoever queued a task must be told, for nobody would run it. A factory of the user's own
    /// that refuses has its reasons; what is queued then waits, as in the JDK.
    bool system_refused_since(std::uint32_t failed_before) const noexcept;
    /// True if ensure_worker() would try to add one.
    bool lacks_worker() const noexcept {
        return control_.load().workers() < std::max(core_size_.load(), 1);
    }
    /// The calling worker, if `inside` is a part of the task that it has taken from the queue,
    /// which nobody else knows of, and it may take the next at once. Not if it runs another one
    /// amid that, whoever gave it that one: what is taken for it then would have to wait.
    worker* worker_that_goes_on(const void* inside) const noexcept;
    bool prestart_core_thread();
    int prestart_all_core_threads();

    // The life of a worker.
    void run_worker(worker& w) noexcept;
    bool run_in_place(worker& w, const future_core& wanted);
    wait_helper::wait_mode wait_begins(worker& w, waiter& self);
    void wait_ends(worker& w, waiter& self) noexcept;
    void worker_never_started(worker& w) noexcept;

    // The end.
    /// Called by shutdown(), before the pool may terminate. Set before the first task.
    std::function<void()> on_shutdown;
    void shutdown();
    std::vector<task> shutdown_now();
    bool await_termination(steady_time deadline);
    /// Waits until terminated and all threads are joined, whatever comes.
    void await_end() noexcept;
    /// From now on, tasks that nobody can run any more are dropped, for somebody waits for the end.
    void begin_close() noexcept {
        closing_.store(true);
        drop_if_stranded();
    }
    /// On a worker, or in the hook `terminated`: to wait for the end there is to wait for oneself.
    bool is_called_inside() const;
    /// The pool is destroyed inside: whoever called the hook `terminated` still needs this.
    void outlive_caller();
    void try_terminate();
    /// Whoever took a task out of the queue, or searched it, says so here: workers may have stayed
    /// for that task, or for the end of the search.
    void queue_was_searched();

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
    // By these it is known how many tasks were submitted, and nothing has to be counted where they
    // come in. Each call is before or after what it tells of, so that a snapshot, which reads these
    // in the opposite order, sees no task twice.
    /// After: tasks left the pool neither run nor rejected.
    void count_withdrawn(std::int64_t tasks) noexcept {
        withdrawn_.fetch_add(tasks, std::memory_order_release);
    }
    /// The same of one task, for the queue of a scheduler, which has its lock for it.
    void count_dropped_timer() noexcept {
        const auto before = dropped_timers_.load(std::memory_order_relaxed);
        dropped_timers_.store(before + 1, std::memory_order_release);
    }
    /// Before: a task that was rejected is offered again. If that fails, it is withdrawn.
    void count_offered_again() noexcept { offered_again_.fetch_add(1, std::memory_order_relaxed); }
    const std::string& name() const { return name_; }
    /// Tells the hook, or stderr, of what no future carries.
    void tell_uncaught(const task& t, const std::exception_ptr& error) noexcept;
    /// True for what a task threw because shutdown_now() interrupted it: no news to anybody.
    bool is_asked_for(const std::exception_ptr& error) const noexcept;

private:
    // Admission.
    bool is_for_the_caller(const task& t) const noexcept;
    void prepare(task& t);
    /// After a task was queued: false, with the task back in t, if the pool has shut down since.
    bool confirm_queued(std::uintptr_t identity, task& t);
    bool take_back(std::uintptr_t identity, task& t);
    void tell_rejected(const task& t) noexcept;
    bool admit_by_block_policy(task& t);

    /// A search of the queue. A queue of the user's own may take tasks out for it that it puts back
    /// later: so there is one search at a time, and until it is over the queue is not empty. What
    /// is found is destroyed after it, and then the pool may have to be ended.
    class search {
    public:
        explicit search(thread_pool_core& pool) : pool_(pool), lock_(pool.searching_) {
            pool_.searches_begun_.fetch_add(1);
        }
        ~search() { pool_.searches_ended_.fetch_add(1); }
        search(const search&) = delete;
        search& operator=(const search&) = delete;

    private:
        thread_pool_core& pool_;
        const std::lock_guard<std::mutex> lock_;
    };
    bool is_nothing_queued() const;
    bool is_any_task_running() const;
    thread handle_of_the_only_worker() noexcept;

    // Workers.
    enum class limit { core, core_or_one, maximum };
    bool add_worker(task* first, limit within);
    bool count_worker(bool has_first, limit within);
    int most_workers(limit within) const noexcept;
    bool enter_worker(const std::shared_ptr<worker>& w, thread& made, task* first);
    bool may_take_at_once(const worker& w) const noexcept;
    bool take_at_once(worker& w, task& next) noexcept;
    static bool take_successor(worker& w, task& next) noexcept;
    bool run_own_tasks(worker& w, const work_stealing_queue::attachment& deque) noexcept;
    bool take_soon(worker& w, task& next) noexcept;
    bool take_next(worker& w, task& next);
    bool run_task(worker& w, task& t, stop_slot& stop) noexcept;
    bool run_at_once(thread_control& self, worker& w, task& t) noexcept;
    void end_task(thread_control& self, worker& w, task& t, stop_slot& stop) noexcept;
    bool call_observed(thread_control& self, worker& w, task& t, stop_slot& stop) noexcept;
    bool call_watched(worker& w, task& t, stop_slot& stop) noexcept;
    bool call(thread_control& self, task& t, stop_slot& stop) noexcept;
    bool run_meanwhile(worker& w);
    void run_nested(worker& w, task& t) noexcept;
    bool call_with_hooks(thread_control& self, task& t, stop_slot& stop) noexcept;
    bool leave(worker& w, bool abruptly) noexcept;
    bool come_back(worker& w) noexcept;
    void refill_core() noexcept;
    thread strike_out(worker& w) noexcept;
    void interrupt_workers() noexcept;
    bool is_stranded() const;
    bool is_abandoned() const;
    /// If tasks are queued and no thread is there nor can be made for them, drops them, for nobody
    /// ever will run them. The second one does not try to make one.
    void drop_if_stranded() noexcept;
    void drop_stranded() noexcept;
    void nudge_workers();
    void nudge_submitters();
    void nudge_an_idle_worker();
    void start_for_queued(int more);
    void link_cancellation();
    std::shared_ptr<const rejected_execution_handler> shared_handler() const;
    [[noreturn]] void refuse(const task& t, const char* why) const;

    [[noreturn]] static void refuse_inherited();

    using plain_handler = void (*)(task&&, thread_pool_executor&);
    static plain_handler plain(const rejected_execution_handler& handler);

    const std::uint32_t forks_ = forks();     // of the process that made it
    std::shared_ptr<thread_pool_core> kept_;  // itself, by keep_for_ever()
    thread_pool_core* kept_before_ = nullptr;
    std::shared_ptr<thread_pool_core> destroyed_around_;  // by outlive_caller()
    const std::string name_;
    const pool_hooks hooks_;
    task_observer* const observer_;  // of the hooks; null: none
    const std::unique_ptr<blocking_queue<task>> queue_;
    fifo_queue<task>* const fifo_;         // the same, if it is of that kind
    work_stealing_queue* const stealing_;  // the same, if it is of that kind
    const bool remove_on_cancel_;
    // Nobody wants to see, change or take out tasks on their way in; or before and after they run.
    const bool admits_plainly_;
    const bool runs_plainly_;
    intrusive_ptr<cancel_listener> cancel_link_;  // set before the first task

    control_word control_;
    std::atomic<int> core_size_;  // core <= maximum, and the others' rules: changed under mutex_
    std::atomic<int> maximum_size_;
    std::atomic<std::chrono::nanoseconds> keep_alive_;
    std::atomic<bool> core_times_out_;
    std::atomic<std::uint32_t> failed_threads_ = 0;  // that were counted and could not be made
    std::atomic<bool> closing_ = false;  // set before a look for stranded tasks; read after leaving
    std::atomic<std::thread::id> tidying_by_ = {};  // the thread that runs the hook `terminated`
    right_of_way::pace pace_;
    leaning_count rejected_;
    // What handler_ does, if that is a policy without members; null: handler_ must be read. So the
    // policies are read without lock or count. Changed under mutex_.
    std::atomic<plain_handler> plain_handler_;
    std::atomic<std::int64_t> uncaught_ = 0;
    std::atomic<std::int64_t> withdrawn_ = 0;
    std::atomic<std::int64_t> dropped_timers_ = 0;
    std::atomic<std::int64_t> offered_again_ = 0;
    mutable std::atomic<std::int64_t> most_submitted_ = 0;  // that a snapshot has told of
    std::mutex searching_;  // held by a search, which calls the queue; mutex_ is not held then
    std::atomic<std::uint64_t> searches_begun_ = 0;
    std::atomic<std::uint64_t> searches_ended_ = 0;
    std::atomic<int> too_deep_ =
        0;  // workers that wait and have no stack to run anything meanwhile

    mutable std::mutex mutex_;  // guards all below
    condition terminated_;      // signalled when the state becomes terminated
    std::vector<std::shared_ptr<worker>> workers_;
    thread last_to_leave_;  // each worker that leaves joins the one before it
    int largest_size_ = 0;
    std::int64_t completed_ = 0;  // by workers that have left
    std::uint64_t stops_ = 0;     // how often shutdown_now() was called
    std::vector<thread_control*> waiting_submitters_;
    std::shared_ptr<const thread_factory> factory_;              // never null
    std::shared_ptr<const rejected_execution_handler> handler_;  // never null
};

}  // namespace cadre::detail
