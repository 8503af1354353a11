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
// Threads are joined, not detached: each worker that leaves joins the one that left before it,
// and the destructor joins the last. Only when the pool is destroyed on one of its own workers is
// there nobody to join the last thread; then the core dies with it, and it is detached.

#include "thread_pool_core.hpp"

#include <algorithm>
#include <utility>

#include <pthread.h>

#include <cadre/errors.hpp>

#include "report.hpp"
#include "thread_factories.hpp"

namespace cadre::detail {

namespace {

/// False if so little is left of the calling thread's stack that a task may not fit.
bool has_stack_for_a_task() {
    thread_local const std::uintptr_t lowest = [] {
        pthread_attr_t attributes;
        void* base = nullptr;
        std::size_t size = 0;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) return std::uintptr_t{0};
        pthread_attr_getstack(&attributes, &base, &size);
        pthread_attr_destroy(&attributes);
        constexpr std::size_t reserve = std::size_t{256} * 1024;
        return reinterpret_cast<std::uintptr_t>(base) + std::min(reserve, size / 4);
    }();
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) > lowest;
}

}  // namespace

/// Makes a worker and its thread. False, with *first untouched, if there may be no more or the
/// factory refuses; what the factory throws leaves, with nothing changed.
bool thread_pool_core::add_worker(task* first, limit within) {
    if (!count_worker(first != nullptr, within)) return false;
    struct roll_back {
        thread_pool_core& pool;
        bool committed = false;
        ~roll_back() {
            if (committed) return;
            pool.control_.remove_worker();
            pool.try_terminate();
        }
    } counted{*this};

    auto w = std::make_shared<worker>(*this);
    auto start = std::make_shared<worker_start>(shared_from_this(), w);
    thread made;  // joined after it was called off: until then it waits for the word
    struct call_off {
        worker_start& start;
        bool begun = false;
        ~call_off() {
            if (!begun) start.call_off();
        }
    } starting{*start};

    made = make_thread([start] { start->run(); });
    if (!made.joinable()) return false;
    if (start.use_count() == 1) {
        made.detach();  // whatever it is, it is not ours
        throw illegal_state(
            "the thread factory returned a thread that does not run the body it was given");
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
        if (seen.at_least(run_state::shutdown) && (has_first || queue_->empty())) return false;
        const int most = within == limit::core ? core_size_.load() : maximum_size_.load();
        if (seen.workers() >= std::min(most, control_word::most_workers)) return false;
        if (control_.try_add_worker(seen)) return true;
    }
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

thread thread_pool_core::make_thread(std::function<void()> body) {
    std::shared_ptr<const thread_factory> factory;
    {
        std::lock_guard lock(mutex_);
        factory = factory_;
    }
    const auto* plain = factory->target<default_factory>();
    if (plain && !name_.empty()) return plain->make(name_, std::move(body));
    return (*factory)(std::move(body));
}

void thread_pool_core::run_worker(worker& w) noexcept {
    auto& self = thread_control::current();
    auto* const outer_helper = std::exchange(self.helper, &w);
    w.started.store(&self);
    bool abruptly = false;
    try {
        task next = std::move(w.first);
        while (!abruptly && (next || take_next(w, next))) abruptly = !run_task(w, next, w.stop);
    } catch (...) {  // of the queue
        tell_uncaught(task(), std::current_exception());
        abruptly = true;
    }
    leave(w, abruptly);
    self.helper = outer_helper;
}

/// Waits for the next task. False if the worker is to leave; it is no longer counted then.
/// Concerns: the pool has stopped, or shut down with nothing left; there are more workers than
/// the maximum; the worker was idle for too long and is not needed for what is queued.
bool thread_pool_core::take_next(worker& w, task& next) {
    auto& self = *w.started.load(std::memory_order_relaxed);
    auto patience = std::chrono::nanoseconds::zero();
    for (bool timed_out = false;;) {
        self.take_nudge();
        self.take_interrupt();
        auto seen = control_.load();
        if (seen.at_least(run_state::stop) ||
            (seen.at_least(run_state::shutdown) && queue_->empty())) {
            control_.remove_worker();
            return false;
        }
        const bool timed = core_times_out_.load() || seen.workers() > core_size_.load();
        if ((seen.workers() > maximum_size_.load() || (timed && timed_out)) &&
            (seen.workers() > 1 || queue_->empty())) {
            if (control_.try_remove_worker(seen)) return false;
            continue;
        }
        try {
            const nudgeable_scope nudgeable(self);
            if (timed) {
                // A worker that has timed out but must stay for what is queued, and not due yet,
                // has no reason to look again soon.
                const auto idle =
                    std::max(keep_alive_.load(), timed_out ? patience : patience.zero());
                patience = std::clamp<std::chrono::nanoseconds>(
                    2 * patience, std::chrono::milliseconds(10), std::chrono::seconds(1));
                auto polled = queue_->poll_for(idle);
                timed_out = !polled;
                if (polled) next = std::move(*polled);
            } else {
                next = queue_->take();
            }
        } catch (const interrupted&) {
            timed_out = false;
        }
        if (next) return true;
    }
}

/// Runs a task with its hooks and drops it. False if anything was thrown that has no future.
bool thread_pool_core::run_task(worker& w, task& t, stop_slot& stop) noexcept {
    auto& self = *w.started.load(std::memory_order_relaxed);
    w.begin_task();
    std::exception_ptr thrown;
    std::exception_ptr thrown_by_hook;
    if (control_.load().at_least(run_state::stop)) {
        self.request_stop_all();
        if (!self.is_interrupted()) self.interrupt();
    } else if (self.take_interrupt() && control_.load().at_least(run_state::stop)) {
        self.interrupt();  // it was shutdown_now's
    }
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
    const bool clean = !thrown && !thrown_by_hook;
    if (thrown) tell_uncaught(t, thrown);
    if (thrown_by_hook) tell_uncaught(t, thrown_by_hook);
    // The captures of a task with a future are gone by now; those of any other go before it counts
    // as completed.
    const bool has_future = result_of(t) != nullptr;
    if (has_future) w.end_task();
    try {
        task_access::release(t);
    } catch (...) {
        tell_uncaught(t, std::current_exception());
    }
    stop.reset(self);
    if (!has_future) w.end_task();
    return clean;
}

bool thread_pool_core::run_in_place(worker& w, const future_core& wanted) {
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
    auto& self = thread_control::current();
    const future_core* const outer = self.running_future;
    const auto reasons_to_interrupt_outer = [&] {
        return (outer && outer->was_interrupted() ? 1 : 0) +
               (control_.load().at_least(run_state::stop) ? 1 : 0);
    };
    const int reasons_before = reasons_to_interrupt_outer();
    const bool pending = self.is_interrupted();
    stop_slot stop;
    {
        const suspended_scope suspended(self, outer);
        run_task(w, found, stop);
    }
    // An interrupt that was meant for the inner task ends with it. One for the outer stays,
    // unless it was felt before: then it must not come a second time.
    if (wanted.was_interrupted()) self.take_interrupt();
    if (pending || reasons_to_interrupt_outer() > reasons_before) self.interrupt();
    return true;
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
    if (workers_.empty()) terminated_.notify_all(wake);  // for await_end()
    return std::exchange(last_to_leave_, std::move(w.handle));
}

void thread_pool_core::leave(worker& w, bool abruptly) noexcept {
    if (abruptly) control_.remove_worker();
    thread before = strike_out(w);
    try_terminate();
    const auto seen = control_.load();
    if (!seen.at_least(run_state::stop)) {
        const int needed = core_times_out_.load() ? 0 : core_size_.load();
        const bool enough = seen.workers() >= std::max(needed, queue_->empty() ? 0 : 1);
        try {
            if (abruptly || !enough) add_worker(nullptr, limit::maximum);
        } catch (...) {
            tell_uncaught(task(), std::current_exception());
        }
    }
    join_whatever_comes(before);
}

/// It is not replaced: the next thread of such a factory would hardly do better, and the one
/// after that. The next task asks for a thread again.
void thread_pool_core::worker_never_started(worker& w) noexcept {
    tell_uncaught(w.first, std::make_exception_ptr(illegal_state(
                               "a thread of the factory ended without running its body")));
    w.first = task();
    control_.remove_worker();
    thread before = strike_out(w);
    try_terminate();
    join_whatever_comes(before);
}

/// True for a task that ended because shutdown_now() interrupted it: no news to anybody.
bool thread_pool_core::is_asked_for(const std::exception_ptr& error) const noexcept {
    if (!control_.load().at_least(run_state::stop)) return false;
    try {
        std::rethrow_exception(error);
    } catch (const interrupted&) {
        return true;
    } catch (...) {
        return false;
    }
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
