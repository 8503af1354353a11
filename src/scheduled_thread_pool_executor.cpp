// SPDX-License-Identifier: Apache-2.0
//
// The scheduler: a pool whose queue gives out tasks when they are due. A task is never handed to
// a thread directly, as the pool does with a first task; it always goes through the queue, and
// then a thread is started if there are fewer than the core. As in the pool, the task is queued
// first and the state looked at again: either this sees a shutdown, or the shutdown the task.

#include <cadre/scheduled_thread_pool_executor.hpp>

#include <limits>

#include <cadre/context.hpp>

#include "delayed_work_queue.hpp"
#include "thread_pool_core.hpp"
#include "timer_details.hpp"

namespace cadre {

namespace {

detail::intrusive_ptr<detail::timer_queue> make_timers(const scheduled_pool_options& options) {
    auto* clock = options.clock ? options.clock : &scheduler_clock::system();
    auto timers =
        detail::intrusive_ptr<detail::timer_queue>::adopt(new detail::timer_queue(*clock));
    timers->remove_on_cancel = options.remove_on_cancel;
    timers->run_delayed_after_shutdown = options.execute_existing_delayed_tasks_after_shutdown;
    timers->run_periodic_after_shutdown = options.continue_existing_periodic_tasks_after_shutdown;
    timers->periodic_failed = options.hooks.periodic_failed;
    return timers;
}

thread_pool_options pool_options(scheduled_pool_options options,
                                 detail::intrusive_ptr<detail::timer_queue> timers) {
    thread_pool_options pool;
    pool.queue = std::make_unique<detail::delayed_work_queue>(timers);
    pool.core_pool_size = options.core_pool_size;
    pool.maximum_pool_size = std::numeric_limits<int>::max();
    pool.keep_alive = options.keep_alive;
    pool.thread_factory = std::move(options.thread_factory);
    pool.rejection = std::move(options.rejection);
    pool.allow_core_thread_time_out = options.allow_core_thread_time_out;
    pool.hooks = std::move(options.hooks);
    pool.hooks.decorate_task = nullptr;  // done here, once for all runs of a task
    // Who is told that the pool has terminated may destroy its clock.
    pool.hooks.terminated = [timers = std::move(timers), told = std::move(pool.hooks.terminated)] {
        timers->leave_clock();
        if (told) told();
    };
    pool.name = std::move(options.name);
    return pool;
}

}  // namespace

scheduled_thread_pool_executor::scheduled_thread_pool_executor(scheduled_pool_options options)
    : decorate_task_(options.hooks.decorate_task),
      timers_(make_timers(options)),
      pool_(pool_options(std::move(options), timers_)) {
    pool_.core_->on_shutdown = [timers = timers_] { timers->apply_shutdown_policies(); };
    timers_->open(pool_.core_);
}

scheduled_pool_options scheduled_thread_pool_executor::options_of(thread_pool_options& options) {
    if (options.queue)
        throw std::invalid_argument("queue is given, but a scheduled pool has one of its own");
    scheduled_pool_options made;
    made.core_pool_size = options.core_pool_size;
    made.keep_alive = options.keep_alive;
    made.thread_factory = std::move(options.thread_factory);
    made.rejection = std::move(options.rejection);
    made.allow_core_thread_time_out = options.allow_core_thread_time_out;
    made.hooks = std::move(options.hooks);
    made.remove_on_cancel = options.remove_on_cancel;
    made.name = std::move(options.name);
    return made;
}

scheduled_pool_options scheduled_thread_pool_executor::options_of(
    int core, cadre::thread_factory factory, cadre::rejected_execution_handler handler) {
    scheduled_pool_options options;
    options.core_pool_size = core;
    options.thread_factory = std::move(factory);
    options.rejection = std::move(handler);
    return options;
}

scheduled_thread_pool_executor::~scheduled_thread_pool_executor() {
    if (pool_.core_->is_inherited()) return;  // the pool knows what to do
    shutdown();
    if (pool_.core_->is_called_inside()) return;
    pool_.core_->await_end();
    timers_->close();  // here, for somebody who cancels a task may keep the core a little longer
}

void scheduled_thread_pool_executor::execute(task t) {
    pool_.core_->check_process();
    if (!t) throw std::invalid_argument("the task is empty");
    auto* const result = detail::result_of(t);
    auto timer = detail::make_wrapped(std::move(t), timers_);
    if (result) {
        pool_.core_->make_home_of(*result);
        result->set_cancel_listener(timer);
    }
    start_timer(std::move(timer), {.first = now()});
}

std::shared_ptr<const void> scheduled_thread_pool_executor::kept() const { return pool_.kept(); }

void scheduled_thread_pool_executor::start_timer(detail::intrusive_ptr<detail::timer_core> timer,
                                                 detail::timetable when) {
    pool_.core_->check_process();
    const auto due = when.wall ? timers_->steady_time_of(*when.wall) : when.first;
    pool_.core_->make_home_of(*timer);
    timer->prepare(*timers_, std::move(when));
    try {
        if (detail::is_context_carried())
            timer->decorate([this](task t) {
                return detail::with_context(decorate_task_ ? decorate_task_(std::move(t))
                                                           : std::move(t));
            });
        else if (decorate_task_)
            timer->decorate(decorate_task_);
    } catch (...) {
        timer->abandon();  // lets go of its callable: the future of a task in there holds the timer
        throw;
    }
    if (is_shutdown()) return reject(std::move(timer));
    auto& timers = *timers_;
    using admission = detail::timer_queue::admission;
    auto how = admission::refused;
    try {
        how = timers.admit(timer, due);
    } catch (...) {
        timer->abandon();  // lets go of its decoration, which holds it
        throw;
    }
    if (how == admission::settled) return;
    if (how == admission::refused) return reject(std::move(timer));  // shut down since
    // The task may have run by now, and have destroyed this pool, as long as it is not taken back.
    const auto core = timers.pool.lock();
    if (!core) return;
    const auto failed_before = core->failed_threads();
    try {
        core->ensure_worker();
    } catch (...) {
        if (!timers.remove(*timer)) {  // somebody runs it
            core->tell_uncaught(task(), std::current_exception());
            return;
        }
        core->count_withdrawn(1);
        timer->abandon();  // the submitter is told, so it must not run
        core->try_terminate();
        throw;
    }
    // Admitted after a shutdown that had found nothing, the pool may have ended meanwhile. It has
    // not if a worker was there or could be added. A task without a future has nobody else to tell.
    const bool nobody_runs_it =
        core->state() >= run_state::stop || core->system_refused_since(failed_before);
    if (nobody_runs_it && timers.remove(*timer)) reject(std::move(timer));
}

void scheduled_thread_pool_executor::reject(detail::intrusive_ptr<detail::timer_core> timer) {
    pool_.core_->reject(task(detail::timer_handle(std::move(timer))), pool_);
}

std::chrono::steady_clock::time_point scheduled_thread_pool_executor::now() const {
    return timers_->now();
}

std::chrono::system_clock::time_point scheduled_thread_pool_executor::wall_now() const {
    return timers_->clock().wall_now();
}

void scheduled_thread_pool_executor::shutdown() { pool_.shutdown(); }

std::vector<task> scheduled_thread_pool_executor::shutdown_now() { return pool_.shutdown_now(); }

void scheduled_thread_pool_executor::close() { pool_.close(); }

void scheduled_thread_pool_executor::apply_shutdown_policies() {
    if (!is_shutdown()) return;
    pool_.core_->check_process();
    timers_->apply_shutdown_policies();
    pool_.core_->try_terminate();
}

bool scheduled_thread_pool_executor::execute_existing_delayed_tasks_after_shutdown_policy() const {
    return timers_->run_delayed_after_shutdown.load();
}
void scheduled_thread_pool_executor::set_execute_existing_delayed_tasks_after_shutdown_policy(
    bool run_them) {
    timers_->run_delayed_after_shutdown.store(run_them);
    if (!run_them) apply_shutdown_policies();
}
bool scheduled_thread_pool_executor::continue_existing_periodic_tasks_after_shutdown_policy()
    const {
    return timers_->run_periodic_after_shutdown.load();
}
void scheduled_thread_pool_executor::set_continue_existing_periodic_tasks_after_shutdown_policy(
    bool run_them) {
    timers_->run_periodic_after_shutdown.store(run_them);
    if (!run_them) apply_shutdown_policies();
}
bool scheduled_thread_pool_executor::remove_on_cancel_policy() const {
    return timers_->remove_on_cancel.load();
}
void scheduled_thread_pool_executor::set_remove_on_cancel_policy(bool remove) {
    timers_->remove_on_cancel.store(remove);
}

bool scheduled_thread_pool_executor::remove_timer(detail::future_core* wanted) {
    pool_.core_->check_process();
    auto* timer = static_cast<detail::timer_core*>(wanted);  // of a scheduled_future
    if (!timer || !timer->belongs_to(*timers_)) return false;
    const auto removed = timers_->remove(*timer);
    if (!removed) return false;
    pool_.core_->count_withdrawn(1);
    removed->abandon();
    pool_.core_->queue_was_searched();
    return true;
}

std::vector<pending_task> scheduled_thread_pool_executor::pending() const {
    pool_.core_->check_process();
    std::vector<pending_task> all;
    for (const auto& [timer, due] : timers_->in_order())
        all.push_back({.name = std::string(timer->name()),
                       .next_run = due,
                       .is_periodic = timer->is_periodic(),
                       .statistics = timer->statistics()});
    return all;
}

std::string scheduled_thread_pool_executor::to_string() const {
    return "scheduled_" + pool_.to_string();
}

}  // namespace cadre
