// SPDX-License-Identifier: Apache-2.0
//
// How a pool ends. The whole is told in thread_pool_core.cpp.

#include "thread_pool_core.hpp"

#include <algorithm>
#include <utility>

#include <cadre/errors.hpp>

namespace cadre::detail {

void thread_pool_core::refuse_inherited() {
    throw illegal_state(
        "the pool is of the process that this one was forked from, and so are its threads: make a "
        "pool of your own");
}

void thread_pool_core::keep_for_ever() noexcept {
    static constinit std::atomic<thread_pool_core*> last_kept = nullptr;  // leads to all of them
    kept_ = shared_from_this();
    kept_before_ = last_kept.exchange(this);
}

void thread_pool_core::shutdown() {
    control_.advance(run_state::shutdown);
    nudge_workers();
    if (on_shutdown) on_shutdown();
    try_terminate();
    if (is_abandoned()) ensure_worker_quietly();
}

bool thread_pool_core::is_any_task_running() const {
    std::lock_guard lock(mutex_);
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const auto& w) { return worker::running(w->tally()) > 0; });
}

/// True if tasks are queued and no thread is left to run them: the factory refused.
bool thread_pool_core::is_stranded() const {
    const auto seen = control_.load();
    return seen.workers() == 0 && !seen.at_least(run_state::stop) && !is_nothing_queued();
}

/// The same, and nobody sees to it: who has died and is about to be replaced, or to come back,
/// does. A thread that somebody else counts for the tasks, and cannot make, would keep it from
/// that.
bool thread_pool_core::is_abandoned() const {
    return is_stranded() && !control_.load().awaits_successor();
}

/// That no worker is there proves nothing, for one may be on its way. A thread that could not be
/// made does. Whoever has died calls this too, when it has done with the tasks.
void thread_pool_core::drop_if_stranded() noexcept {
    while (is_abandoned()) {
        const auto failed_before = failed_threads_.load();
        ensure_worker_quietly();
        if (failed_threads_.load() != failed_before) return drop_stranded();
    }
}

void thread_pool_core::drop_stranded() noexcept {
    if (!is_abandoned()) return;
    try {
        tell_uncaught(task(), std::make_exception_ptr(illegal_state(
                                  "tasks were dropped: the pool ends and no thread can be made")));
        const auto dropped = shutdown_now();  // cancels their futures
    } catch (...) {
        tell_uncaught(task(), std::current_exception());
    }
}

std::vector<task> thread_pool_core::shutdown_now() {
    control_.advance(run_state::stop);
    struct at_the_end {
        thread_pool_core& pool;
        ~at_the_end() { pool.try_terminate(); }
    } const terminates{*this};
    interrupt_workers();
    std::vector<task> never_ran;
    if (stealing_) {
        stealing_->drain_to(never_ran);
    } else {
        const search exclusive(*this);
        queue_->extract_if([](const task&) { return true; }, never_ran);
        // What threads hold out to a synchronous queue is not in it. Only if nothing was: should
        // there be no memory, nothing is lost then.
        if (never_ran.empty()) queue_->drain_to(never_ran);
    }
    count_withdrawn(static_cast<std::int64_t>(never_ran.size()));
    return never_ran;
}

/// Each thread's stop tokens are stopped before it is interrupted, so that a task that is woken
/// finds its token stopped. That runs users' callbacks, so those without a token come first. Takes
/// no memory: what has been told to stop must stop. A worker that leaves has another one put in its
/// place, so who was told is known by the number of the call, and the looks begin anew until one of
/// them finds nobody.
void thread_pool_core::interrupt_workers() noexcept {
    std::unique_lock lock(mutex_);
    for (auto* waiting : waiting_submitters_) waiting->nudge();
    const auto call = ++stops_;
    for (const auto& w : workers_) {
        auto* const started = w->started.load();
        if (started && !started->stop_if_no_sources()) continue;
        w->told_by_stop = call;
        if (started) started->interrupt();
    }
    bool found = false;
    do {
        found = false;
        for (std::size_t i = 0; i < workers_.size(); ++i) {
            if (workers_[i]->told_by_stop >= call) continue;
            workers_[i]->told_by_stop = call;
            intrusive_ptr<thread_control> thread(workers_[i]->started.load());
            found = true;
            lock.unlock();  // users' callbacks run in here
            thread->request_stop_all();
            thread->interrupt();
            thread = nullptr;  // perhaps the last that has it: not under the mutex
            lock.lock();
        }
    } while (found);
}

/// Has every worker, and whoever waits for a place, look at the state again.
void thread_pool_core::nudge_workers() {
    std::lock_guard lock(mutex_);
    for (const auto& w : workers_)
        if (auto* started = w->started.load()) started->nudge();
    for (auto* waiting : waiting_submitters_) waiting->nudge();
}

/// Has whoever waits for a place look at the state again: there may be one for a worker.
void thread_pool_core::nudge_submitters() {
    std::lock_guard lock(mutex_);
    for (auto* waiting : waiting_submitters_) waiting->nudge();
}

void thread_pool_core::nudge_an_idle_worker() {
    {
        std::lock_guard lock(mutex_);
        for (const auto& w : workers_) {
            auto* started = w->started.load();
            if (!started || worker::running(w->tally()) > 0) continue;
            started->nudge();
            return;
        }
    }
    nudge_workers();  // what is read of a worker may be late: better one look too many
}

void thread_pool_core::queue_was_searched() {
    try_terminate();
    // The last worker of a pool that keeps none sleeps for long if it stays for a task that is far
    // off. One that is leaving may still be in the books: so all are nudged.
    const auto seen = control_.load();
    if (seen.is_running() && seen.workers() == 1 &&
        (core_times_out_.load() || core_size_.load() == 0) && is_nothing_queued())
        nudge_workers();
}

/// Terminates the pool if it is shut down and nothing is left. Called whenever something that
/// this may have waited for has gone: a worker, a queued task.
void thread_pool_core::try_terminate() {
    for (;;) {
        auto seen = control_.load();
        if (seen.is_running() || seen.at_least(run_state::tidying)) return;
        if (!seen.at_least(run_state::stop) && !is_nothing_queued()) return;
        if (seen.workers() != 0) {
            nudge_an_idle_worker();
            return;
        }
        if (control_.try_tidy(seen)) break;
    }
    tidying_by_ = std::this_thread::get_id();
    try {
        if (hooks_.terminated) hooks_.terminated();
    } catch (...) {
        tell_uncaught(task(), std::current_exception());
    }
    tidying_by_ = std::thread::id();
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    control_.advance(run_state::terminated);
    terminated_.notify_all(wake);
}

bool thread_pool_core::await_termination(steady_time deadline) {
    if (deadline == forever && is_called_inside() && state() != run_state::terminated)
        throw illegal_state("a task waits for the end of its own pool, which would never come");
    std::unique_lock lock(mutex_);
    return terminated_.wait_until(lock, deadline,
                                  [this] { return state() == run_state::terminated; });
}

void thread_pool_core::await_end() noexcept {
    auto& self = thread_control::current_whatever_comes();
    begin_close();
    thread only = handle_of_the_only_worker();
    join_whatever_comes(only);
    thread last;
    {
        const uninterruptible_scope uninterruptible(self);
        std::unique_lock lock(mutex_);
        terminated_.wait(lock,
                         [this] { return state() == run_state::terminated && workers_.empty(); });
        last = std::move(last_to_leave_);
    }
    join_whatever_comes(last);
}

/// To be joined at once, so that nobody has to be told first that the pool has terminated: a sleep
/// and a wake-up less. Empty if there are more workers, or none. It may still come back, and be
/// followed by others.
thread thread_pool_core::handle_of_the_only_worker() noexcept {
    const std::lock_guard lock(mutex_);
    if (workers_.size() != 1) return thread();
    auto& only = *workers_.front();
    only.is_joined_by_closer = true;
    return std::move(only.handle);
}

bool thread_pool_core::is_called_inside() const {
    const auto* self = thread_control::current_if_any();
    return (self && self->helper && self->helper->works_for() == this) ||
           tidying_by_.load() == std::this_thread::get_id();
}

void thread_pool_core::outlive_caller() {
    thread_local std::shared_ptr<thread_pool_core> destroyed_here;
    const auto self = std::this_thread::get_id();
    if (tidying_by_.load() != self) return;
    // The hook may have been called inside that of another pool, which then goes on later.
    destroyed_around_ = destroyed_here;
    while (destroyed_around_ && destroyed_around_->tidying_by_.load() != self)
        destroyed_around_ = destroyed_around_->destroyed_around_;
    const auto over = std::exchange(destroyed_here, shared_from_this());
}

}  // namespace cadre::detail
