// SPDX-License-Identifier: Apache-2.0
//
// The pool; here are its workers, and how they hang together with thread_pool_admission.cpp, by
// which tasks come in, thread_pool_end.cpp and thread_pool_settings.cpp. The control word holds run
// state and worker count; everything that must be decided once (may a worker be added, who was the
// last, who terminates) is decided by a compare-exchange on it. The queue is its own monitor.
// mutex_ guards the books: the set of workers, totals, factory and handler. No user code runs under
// it, and it is never held while the queue's lock is taken, nor the other way round.
//
// No accepted task is lost against a shutdown: execute() queues a task and then looks at the
// state again; shutdown() changes the state and then looks at the queue (through the workers, or
// try_terminate). One of them sees the other. If execute() does, it takes the task out again and
// rejects it; if that fails, a worker or shutdown_now() has it. If the last worker has just left,
// the same second look finds no worker and adds one.
//
// Idle workers are woken to look at the state again by a nudge: a flag on their thread that ends
// waits in take_next() and nowhere else, so that no task ever feels it. A worker takes its nudge
// before it reads the state: one that comes later ends the next wait. When a worker leaves a pool
// that is shutting down, it nudges one more, so that the end runs through the pool like a chain.
//
// An interrupt, by contrast, is meant for a task: by cancel(true), which keeps the task from
// ending meanwhile, or by shutdown_now(). Before each task the worker clears the flag unless the
// pool has stopped, and then looks whether it stopped in between.
//
// A worker that dies of its task, or without which there are fewer than the core, has a successor
// made. If after that tasks are queued and nobody is there, be it for want of memory or threads, it
// comes back itself: what was accepted must not wait for luck.
//
// Threads are joined, not detached: each worker that leaves joins the one that left before it,
// and the destructor joins the last. Only when the pool is destroyed on one of its own workers is
// there nobody to join the last thread; then the core dies with it, and it is detached.

#include "thread_pool_core.hpp"

#include <algorithm>
#include <utility>

#include <cadre/detail/report.hpp>
#include <cadre/errors.hpp>

#include "pause.hpp"

namespace cadre::detail {

/// Makes a worker and its thread. False, with *first untouched, if there may be no more or the
/// factory refuses; what the factory throws leaves, with nothing changed.
bool thread_pool_core::add_worker(task* first, limit within) {
    if (!count_worker(first != nullptr, within)) return false;
    struct roll_back {
        thread_pool_core& pool;
        bool committed = false;
        ~roll_back() {
            if (committed) return;
            pool.failed_threads_.fetch_add(1);
            pool.control_.remove_worker();
            // Those who wait for a place may have counted on this one. Workers would see to them.
            if (pool.control_.load().workers() == 0) pool.nudge_submitters();
            pool.try_terminate();
            // So may whoever closes the pool. A worker that leaves looks after all else.
            if (pool.closing_.load() && !pool.is_called_inside()) pool.drop_stranded();
        }
    } counted{*this};

    auto w = std::make_shared<worker>(*this);
    auto start = std::make_shared<worker_start<thread_pool_core, worker>>(shared_from_this(), w);
    thread made;  // joined after it was called off: until then it waits for the word
    struct call_off {
        worker_start<thread_pool_core, worker>& start;
        bool begun = false;
        ~call_off() {
            if (!begun) start.call_off();
        }
    } starting{*start};

    try {
        made = make_waiting_thread(factory(), name_, start);
    } catch (...) {
        if (observer_) observer_->thread_failed(first);
        throw;
    }
    if (!made.joinable()) {
        if (observer_) observer_->thread_failed(first);
        return false;
    }
    if (!enter_worker(w, made, first)) return false;
    counted.committed = starting.begun = true;
    start->begin();
    return !first || !*first;
}

bool thread_pool_core::count_worker(bool has_first, limit within) {
    auto seen = control_.load();
    for (;;) {
        if (seen.at_least(run_state::stop)) return false;
        if (seen.at_least(run_state::shutdown) && (has_first || is_nothing_queued())) return false;
        if (seen.workers() >= std::min(most_workers(within), control_word::most_workers))
            return false;
        // The only worker has gone just now, and what is queued waits for its successor: of one
        // thread the order is kept.
        if (has_first && within == limit::core && seen.awaits_successor() && core_size_.load() == 1)
            return false;
        if (control_.try_add_worker(seen)) return true;
    }
}

int thread_pool_core::most_workers(limit within) const noexcept {
    if (within == limit::maximum) return maximum_size_.load();
    return std::max(core_size_.load(), within == limit::core_or_one ? 1 : 0);
}

/// Enters the worker in the books, unless the pool has stopped since it was counted. If it was
/// shut down, the worker comes without its first task: others may have been queued because it was
/// counted, and it sees to them.
bool thread_pool_core::enter_worker(const std::shared_ptr<worker>& w, thread& made, task* first) {
    std::lock_guard lock(mutex_);
    const auto seen = control_.load();
    if (seen.at_least(run_state::stop)) return false;
    w->index = workers_.size();
    workers_.push_back(w);
    w->handle = std::move(made);
    if (first && seen.is_running()) w->first = std::move(*first);
    largest_size_ = std::max(largest_size_, static_cast<int>(workers_.size()));
    return true;
}

void thread_pool_core::run_worker(worker& w) noexcept {
    auto& self = thread_control::current();
    auto* const outer_helper = std::exchange(self.helper, &w);
    w.started.store(&self);
    task next;
    w.taken = &next;
    bool abruptly = false;
    do {
        abruptly = false;
        if (observer_) observer_->worker_begins(w.record);
        try {
            const work_stealing_queue::attachment has_deque(stealing_);
            next = std::move(w.first);
            while (!abruptly && (next || take_at_once(w, next) || take_next(w, next)))
                abruptly =
                    !run_task(w, next, w.stop) || (has_deque && !run_own_tasks(w, has_deque));
        } catch (...) {  // of the queue
            tell_uncaught(task(), std::current_exception());
            abruptly = true;
        }
        if (observer_) observer_->worker_ends(w.record);
    } while (!leave(w, abruptly));
    self.helper = outer_helper;
}

/// The next task, if there is one and the worker has nothing else to think of: take_next() in
/// short.
inline bool thread_pool_core::take_at_once(worker& w, task& next) noexcept {
    if (!fifo_)
        return stealing_ ? may_take_at_once(w) && stealing_->try_take(next) && next
                         : take_successor(w, next);
    if (w.way.is_owed()) w.way.give(pace_);
    std::uint64_t index = 0;
    if (!may_take_at_once(w) || !fifo_->try_take_at_once(next, index)) return false;
    w.way.took(index, pace_);
    return static_cast<bool>(next);
}

inline bool thread_pool_core::take_successor(worker& w, task& next) noexcept {
    if (!w.successor) return false;
    next = timer_handle(std::move(w.successor), timer_handle::origin::due, w.successor_stamp);
    return true;
}

worker* thread_pool_core::worker_that_goes_on(const void* inside) const noexcept {
    const auto* const self = thread_control::current_if_any();
    if (!self || !self->helper || self->helper->works_for() != this) return nullptr;
    auto& w = static_cast<worker&>(*self->helper);
    const auto offset =
        reinterpret_cast<std::uintptr_t>(inside) - reinterpret_cast<std::uintptr_t>(w.taken);
    const bool is_told_of = observer_ || hooks_.before_execute || hooks_.after_execute;
    return offset < sizeof(task) && !is_told_of && may_take_at_once(w) ? &w : nullptr;
}

inline bool thread_pool_core::may_take_at_once(const worker& w) const noexcept {
    if (w.started.load(std::memory_order_relaxed)->has_flags()) return false;
    const auto seen = control_.load();
    return !seen.at_least(run_state::stop) && seen.workers() <= maximum_size_.load();
}

/// Runs what the tasks of the worker have left in its deque, until it has something else to think
/// of. False as with run_task().
inline bool thread_pool_core::run_own_tasks(worker& w,
                                            const work_stealing_queue::attachment& deque) noexcept {
    auto& self = *w.started.load(std::memory_order_relaxed);
    while (may_take_at_once(w)) {
        const work_stealing_queue::own_task newest(deque);
        if (!newest) return true;
        if (!(runs_plainly_ ? run_at_once(self, w, *newest) : run_task(w, *newest, w.stop)))
            return false;
    }
    return true;
}

/// As run_task(), with no hooks, for a task that may_take_at_once() has just allowed to be taken:
/// then there was no interrupt, and the pool had not stopped. If it has since, the worker is being
/// interrupted, and that is for this task.
inline bool thread_pool_core::run_at_once(thread_control& self, worker& w, task& t) noexcept {
    w.begin_task();
    bool clean = true;
    try {
        const running_scope scope(self, w.stop);
        t();
    } catch (...) {
        tell_uncaught(t, std::current_exception());
        clean = false;
    }
    end_task(self, w, t, w.stop);
    return clean;
}

/// As take_at_once(), a microsecond or two later, for a worker that has run more than one task
/// since it last waited. Whoever brings them is likely in the middle of it, on another processor:
/// left alone for a moment, without a look at the tail, it gets ahead, and no sleep has to be
/// prepared and called off, which takes as long.
inline bool thread_pool_core::take_soon(worker& w, task& next) noexcept {
    constexpr int pauses = 64;
    if (!fifo_ || w.streak() < 2) return false;
    for (int i = 0; i < pauses; ++i) pause();
    return take_at_once(w, next);
}

/// Waits for the next task. False if the worker is to leave; it is no longer counted then.
/// Concerns: the pool has stopped, or shut down with nothing left; there are more workers than
/// the maximum; the worker was idle for too long and is not needed for what is queued.
bool thread_pool_core::take_next(worker& w, task& next) {
    auto& self = *w.started.load(std::memory_order_relaxed);
    auto patience = std::chrono::nanoseconds::zero();
    auto waited = patience;  // in vain, one look after the other
    if (observer_) observer_->worker_waits(w.record);
    if (take_soon(w, next)) {
        if (observer_) observer_->worker_wakes(w.record);
        return true;
    }
    bool looks_by_itself = false;
    for (bool timed_out = false;;) {
        self.take_nudge();
        self.take_interrupt();
        auto seen = control_.load();
        // Who looks by itself leaves the end to those that run tasks, which may put them in again.
        if (seen.at_least(run_state::stop) ||
            (seen.at_least(run_state::shutdown) && is_nothing_queued() &&
             !(looks_by_itself && is_any_task_running()))) {
            control_.remove_worker();
            return false;
        }
        const bool timed = core_times_out_.load() || seen.workers() > core_size_.load();
        if ((seen.workers() > maximum_size_.load() || (timed && timed_out)) &&
            (seen.workers() > 1 || is_nothing_queued())) {
            // What comes just now may still be queued for the last one.
            w.has_succession = seen.workers() == 1;
            if (w.has_succession ? control_.try_retire_worker(seen)
                                 : control_.try_remove_worker(seen))
                return false;
            w.has_succession = false;
            continue;
        }
        try {
            const nudgeable_scope nudgeable(self);
            if (timed || !seen.is_running()) {
                // A worker that has timed out but must stay for what is queued, and not due yet,
                // has no reason to look again soon. When the pool is shut down, it looks again in
                // any case: who takes tasks out of the queue past the pool tells nobody.
                const auto keep_alive = keep_alive_.load();
                auto idle = !timed ? std::chrono::nanoseconds::max()
                                   : std::max(keep_alive, timed_out ? patience : patience.zero());
                patience = std::clamp<std::chrono::nanoseconds>(
                    2 * patience, std::chrono::milliseconds(10), std::chrono::seconds(1));
                if (!seen.is_running()) idle = std::min(idle, patience);
                auto polled = queue_->poll_for(idle);
                if (timed) waited = idle >= keep_alive - waited ? keep_alive : waited + idle;
                timed_out = timed && !polled && waited == keep_alive;
                looks_by_itself = !polled;
                if (polled) next = std::move(*polled);
            } else {
                next = queue_->take();
            }
        } catch (const interrupted&) {
            timed_out = false;
            looks_by_itself = false;
            waited = waited.zero();
        }
        if (!next) continue;
        if (observer_) observer_->worker_wakes(w.record);
        w.tally_at_rest = w.tally();
        return true;
    }
}

/// False if anything was thrown.
inline bool thread_pool_core::call(thread_control& self, task& t, stop_slot& stop) noexcept {
    if (hooks_.before_execute || hooks_.after_execute) return call_with_hooks(self, t, stop);
    try {
        const running_scope scope(self, stop);
        t();
        return true;
    } catch (...) {
        tell_uncaught(t, std::current_exception());
        return false;
    }
}

[[gnu::always_inline]] inline bool thread_pool_core::call_observed(thread_control& self, worker& w,
                                                                   task& t,
                                                                   stop_slot& stop) noexcept {
    if (task_access::identity(t) < w.record.pass_from) return call_watched(w, t, stop);
    const bool clean = call(self, t, stop);
    if (observer_->tick() != w.record.pass_during) {
        w.record.pass_over_none();
        w.record.was_late = true;
    }
    if (!clean) observer_->passed_over_failed(w.record);
    return clean;
}

/// Runs a task with its hooks and drops it. False if anything was thrown that has no future.
bool thread_pool_core::run_task(worker& w, task& t, stop_slot& stop) noexcept {
    auto& self = *w.started.load(std::memory_order_relaxed);
    w.begin_task();
    if (control_.load().at_least(run_state::stop)) {
        self.request_stop_all();
        if (!self.is_interrupted()) self.interrupt();
    } else if (self.take_interrupt() && control_.load().at_least(run_state::stop)) {
        self.interrupt();  // it was shutdown_now's
    }
    const bool clean = observer_ ? call_observed(self, w, t, stop) : call(self, t, stop);
    end_task(self, w, t, stop);
    return clean;
}

/// Drops a task that has run. The captures of one with a future are gone by now; those of any other
/// go before it counts as completed.
inline void thread_pool_core::end_task(thread_control& self, worker& w, task& t,
                                       stop_slot& stop) noexcept {
    const bool has_future = result_of(t) != nullptr;
    if (has_future) w.end_task();
    try {
        task_access::release(t);
    } catch (...) {
        tell_uncaught(t, std::current_exception());
    }
    stop.reset(self);
    if (!has_future) w.end_task();
}

bool thread_pool_core::call_watched(worker& w, task& t, stop_slot& stop) noexcept {
    auto& self = *w.started.load(std::memory_order_relaxed);
    const intrusive_ptr<future_core> result(result_of(t));  // kept, to be asked how it ended
    task_observer::frame watched;
    observer_->task_begins(w.record, t, watched);
    const bool clean = call(self, t, stop);
    observer_->task_ends(w.record, watched,
                         !clean || (result && result->state() == future_state::failed));
    return clean;
}

/// False if anything was thrown. A task that before_execute refuses by throwing is not run.
bool thread_pool_core::call_with_hooks(thread_control& self, task& t, stop_slot& stop) noexcept {
    std::exception_ptr thrown;
    std::exception_ptr thrown_by_hook;
    try {
        const running_scope scope(self, stop);
        if (hooks_.before_execute) hooks_.before_execute(thread_handle::current(), t);
        try {
            t();
        } catch (...) {
            thrown = std::current_exception();
        }
        if (hooks_.after_execute) hooks_.after_execute(t, thrown);
    } catch (...) {
        thrown_by_hook = std::current_exception();
    }
    if (thrown) tell_uncaught(t, thrown);
    if (thrown_by_hook) tell_uncaught(t, thrown_by_hook);
    return !thrown && !thrown_by_hook;
}

bool thread_pool_core::run_in_place(worker& w, const future_core& wanted) {
    // What is queued when the pool has stopped is shutdown_now's.
    if (control_.load().at_least(run_state::stop)) return false;
    if (stealing_) return run_meanwhile(w);
    if (wanted.home() != this || wanted.state() != future_state::pending) return false;
    const auto startable = wanted.startable_at();
    if (startable == forever) return false;
    if (startable > std::chrono::steady_clock::now()) {
        wanted.wait_until(startable);
        return true;  // whatever came of it, the caller looks again
    }
    if (!has_stack_for_a_task())
        throw illegal_state("tasks wait for each other too deep inside one another for the stack");
    task found;
    if (!take_back(wanted.identity(), found)) return false;
    run_nested(w, found);
    return true;
}

/// Runs a task inside another one, which waits. The pool had not stopped when the caller looked.
///
/// Inside the scope the flag of the thread belongs to the inner task alone: what comes for the
/// outer is noted. So it is emptied at both ends, what was there before goes back to the outer.
void thread_pool_core::run_nested(worker& w, task& t) noexcept {
    auto& self = thread_control::current();
    // None while the inner task runs, unless that has one: whoever lies on top of it is on top of
    // no other.
    const future_core* const outer = std::exchange(self.running_future, nullptr);
    const auto pass_from = std::exchange(w.record.pass_from, task_observer::worker_record::none);
    bool pending = false;
    bool missed = false;
    stop_slot stop;
    {
        const suspended_scope suspended(self, outer, missed);
        pending = self.take_interrupt();
        run_task(w, t, stop);
        self.take_interrupt();
    }
    self.running_future = outer;
    w.record.pass_from = pass_from;
    if (pending || missed || control_.load().at_least(run_state::stop)) self.interrupt();
}

/// Takes a worker out of the books. Returns the thread that left before it, to be joined.
thread thread_pool_core::strike_out(worker& w) noexcept {
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    completed_ += worker::completed(w.tally());
    const auto last = workers_.back();
    last->index = w.index;
    workers_[w.index] = last;
    workers_.pop_back();
    // For await_end(). If it has not terminated yet, that will be told.
    if (workers_.empty() && state() == run_state::terminated) terminated_.notify_all(wake);
    return std::exchange(last_to_leave_, std::move(w.handle));
}

/// False if the worker has to go on: tasks are queued and nobody else is there, because they came
/// just now or no successor could be made. A refusal by a factory of the user is final, as in the
/// JDK.
bool thread_pool_core::leave(worker& w, bool abruptly) noexcept {
    if (abruptly) {
        control_.remove_dead_worker();
        w.has_succession = true;
    }
    thread before = strike_out(w);
    nudge_submitters();
    try_terminate();
    const auto seen = control_.load();
    const int needed = core_times_out_.load() ? 0 : core_size_.load();
    const bool has_successor = (abruptly || seen.workers() < needed);
    bool refused = false;
    // The thread that is joined below may still wait for a task that came just now.
    if (!seen.at_least(run_state::stop) && (has_successor || is_stranded())) {
        const auto failed_before = failed_threads_.load();
        try {
            if (!add_worker(nullptr, limit::maximum) && failed_threads_.load() != failed_before)
                refused = has_successor && !is_own_factory(factory());
        } catch (...) {
            tell_uncaught(task(), std::current_exception());
        }
    }
    // The look at what is queued comes after this: who left before could not come back, for its
    // thread was this worker's to join.
    join_whatever_comes(before);
    const bool comes_back = !refused && come_back(w);
    if (std::exchange(w.has_succession, false)) control_.end_succession();
    if (comes_back) return false;
    // Whoever closes the pool has looked for stranded tasks while this worker was still there.
    if (closing_.load()) drop_if_stranded();
    return true;
}

/// Counts and enters again a worker that has left, if tasks are stranded. False also if another
/// worker is about to join its thread: that one looks again when this thread has ended. A closer
/// that joins it has the time to wait.
bool thread_pool_core::come_back(worker& w) noexcept {
    if (!is_stranded() || !count_worker(false, limit::maximum)) return false;
    try {
        auto again = w.shared_from_this();
        std::lock_guard lock(mutex_);
        const bool is_its_own =
            last_to_leave_.joinable() && last_to_leave_.handle() == thread_handle::current();
        if (!control_.load().at_least(run_state::stop) && (w.is_joined_by_closer || is_its_own)) {
            w.index = workers_.size();
            workers_.push_back(std::move(again));
            if (is_its_own) w.handle = std::move(last_to_leave_);
            completed_ -= worker::completed(w.tally());
            return true;
        }
    } catch (const std::bad_alloc&) {}  // there are more workers than ever: one of them sees to it
    control_.remove_worker();
    try_terminate();
    refill_core();
    return false;
}

/// For a worker that was counted for a moment: another one that died meanwhile may have found no
/// place for its successor.
void thread_pool_core::refill_core() noexcept {
    if (core_times_out_.load()) return;
    try {
        add_worker(nullptr, limit::core);
    } catch (...) {
        tell_uncaught(task(), std::current_exception());
    }
}

/// It is not replaced: the next thread of such a factory would hardly do better, and the one
/// after that. The next task asks for a thread again.
void thread_pool_core::worker_never_started(worker& w) noexcept {
    try {
        throw illegal_state("a thread of the factory ended without running its body");
    } catch (...) {  // or there was no memory to say so
        tell_uncaught(w.first, std::current_exception());
    }
    if (w.first) count_withdrawn(1);
    w.first = task();
    control_.remove_worker();
    thread before = strike_out(w);
    nudge_submitters();
    try_terminate();
    if (closing_.load()) drop_stranded();
    join_whatever_comes(before);
}

bool thread_pool_core::is_asked_for(const std::exception_ptr& error) const noexcept {
    return control_.load().at_least(run_state::stop) && is_interruption(error);
}

void thread_pool_core::tell_uncaught(const task& t, const std::exception_ptr& error) noexcept {
    uncaught_.fetch_add(1, std::memory_order_relaxed);
    if (!hooks_.uncaught_exception) {
        if (!is_asked_for(error))
            report_uncaught(t.name().empty() ? std::string_view("a task") : t.name(), error);
        return;
    }
    try {
        hooks_.uncaught_exception(t, error);
    } catch (...) {
        uncaught_.fetch_add(1, std::memory_order_relaxed);
    }
}

}  // namespace cadre::detail
