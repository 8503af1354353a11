// SPDX-License-Identifier: Apache-2.0
//
// The pool. The control word holds run state and worker count; everything that must be decided
// once (may a worker be added, who was the last, who terminates) is decided by a compare-exchange
// on it. The queue is its own monitor. mutex_ guards the books: the set of workers, totals,
// factory and handler. No user code runs under it, and it is never held while the queue's lock is
// taken, nor the other way round.
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

/// Takes a cancelled task out of the queue of its pool, if that is still there.
class queue_link final : public cancel_listener {
public:
    explicit queue_link(std::weak_ptr<thread_pool_core> pool) : pool_(std::move(pool)) {}
    void add_ref() noexcept override { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept override {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }
    void cancelled(const future_core& task) override {
        if (const auto pool = pool_.lock()) pool->remove(reinterpret_cast<std::uintptr_t>(&task));
    }

private:
    std::atomic<int> references_ = 1;
    const std::weak_ptr<thread_pool_core> pool_;
};

/// A number that no other task has. Odd, so that it is no address of a future's state.
std::uintptr_t new_identity() noexcept {
    constexpr std::uintptr_t block = 1 << 16;
    static std::atomic<std::uintptr_t> next_block = 0;
    thread_local std::uintptr_t next = 0;
    if (next % block == 0) next = next_block.fetch_add(block, std::memory_order_relaxed);
    return next++ << 1 | 1;
}

/// The task that a rejection handler is being given on this thread: if the handler executes it
/// again, it is not decorated again.
struct rejection_under_way {
    const thread_pool_core* pool = nullptr;
    std::uintptr_t identity = 0;
};
thread_local rejection_under_way rejecting;

/// What decorate_task made of a task, with the identity, name and priority of that task.
struct decorated_task {
    task inner;
    intrusive_ptr<future_core> result;
    std::string name;
    int priority;

    void operator()() { inner(); }
    std::string_view task_name() const noexcept {
        return inner.name().empty() ? std::string_view(name) : inner.name();
    }
    int task_priority() const noexcept { return inner.priority() ? inner.priority() : priority; }
    std::uintptr_t task_identity() const noexcept {
        return reinterpret_cast<std::uintptr_t>(result.get());
    }
};

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

void join_whatever_comes(thread& t) noexcept {
    bool was_interrupted = false;
    while (t.joinable()) {
        try {
            t.join();
        } catch (const interrupted&) {
            was_interrupted = true;
        } catch (...) {
            t.detach();  // it is the calling thread
        }
    }
    if (was_interrupted) thread_control::current().interrupt();
}

}  // namespace

void thread_pool_core::link_cancellation() {
    cancel_link_ = intrusive_ptr<cancel_listener>::adopt(new queue_link(weak_from_this()));
}

// ---- admission

void thread_pool_core::execute(task t, thread_pool_executor& face) {
    if (!t) throw std::invalid_argument("the task is empty");
    t = prepare(std::move(t));
    if (!admit(t)) reject(std::move(t), face);
}

/// Makes the task one of this pool's.
task thread_pool_core::prepare(task t) {
    const auto identity = task_access::identity(t);
    if (identity != 0 && rejecting.pool == this && rejecting.identity == identity) return t;
    if (future_core* result = result_of(t)) {
        result->set_home(this);
        if (remove_on_cancel_) result->set_cancel_listener(cancel_link_);
    }
    if (hooks_.decorate_task) t = decorated(std::move(t));
    if (task_access::identity(t) == 0) task_access::set_identity(t, new_identity());
    return t;
}

task thread_pool_core::decorated(task t) {
    decorated_task made{
        {}, intrusive_ptr<future_core>(result_of(t)), std::string(t.name()), t.priority()};
    made.inner = hooks_.decorate_task(std::move(t));
    if (!made.inner) throw std::invalid_argument("decorate_task returned an empty task");
    return task(std::move(made));
}

bool thread_pool_core::admit(task& t) {
    const auto seen = control_.load();
    if (seen.workers() < core_size_.load() && add_worker(&t, limit::core)) return true;
    if (control_.load().is_running()) {
        const auto identity = task_access::identity(t);
        if (queue_->offer(std::move(t))) return confirm_queued(identity, t);
    }
    return add_worker(&t, limit::maximum);
}

bool thread_pool_core::confirm_queued(std::uintptr_t identity, task& t) {
    const auto seen = control_.load();
    if (!seen.is_running() && take_back(identity, t)) return false;
    if (seen.workers() != 0) return true;
    try {
        add_worker(nullptr, limit::maximum);
    } catch (...) {
        if (take_back(identity, t)) throw;  // the submitter is told, so it must not run
        tell_uncaught(task(), std::current_exception());
    }
    return true;
}

/// Takes a task out of the queue again. False if it is not there: somebody has it.
bool thread_pool_core::take_back(std::uintptr_t identity, task& t) {
    auto found = queue_->extract_first(
        [=](const task& queued) { return task_access::identity(queued) == identity; });
    if (!found) return false;
    t = std::move(*found);
    try_terminate();  // in case the pool waited for the queue to be empty
    return true;
}

void thread_pool_core::reject(task t, thread_pool_executor& face) {
    rejected_.fetch_add(1, std::memory_order_relaxed);
    std::shared_ptr<const rejected_execution_handler> handler;
    {
        std::lock_guard lock(mutex_);
        handler = handler_;
    }
    struct restore {
        rejection_under_way before = rejecting;
        ~restore() { rejecting = before; }
    } const restored;
    rejecting = {this, task_access::identity(t)};
    (*handler)(std::move(t), face);
}

void thread_pool_core::refuse(const task& t, const char* why) const {
    const auto now = snapshot();
    throw rejected_execution(
        (t.name().empty() ? std::string("a task") : "task '" + std::string(t.name()) + "'") +
        " was rejected" + (name_.empty() ? std::string() : " by pool '" + name_ + "'") + ": " +
        why + " (threads " + std::to_string(now.pool_size) + " of " +
        std::to_string(now.maximum_pool_size) + ", queued " + std::to_string(now.queue_size) + ")");
}

void thread_pool_core::admit_waiting(task t, steady_time deadline) {
    auto& self = thread_control::current();
    struct listed {
        thread_pool_core& pool;
        thread_control* self;
        ~listed() {
            std::lock_guard lock(pool.mutex_);
            auto& all = pool.waiting_submitters_;
            all.erase(std::find(all.begin(), all.end(), self));
        }
    };
    {
        std::lock_guard lock(mutex_);
        waiting_submitters_.push_back(&self);
    }
    const listed until_the_end{*this, &self};
    const nudgeable_scope nudgeable(self);
    const auto identity = task_access::identity(t);
    for (;;) {
        self.take_nudge();  // before the look at the state: one that comes later ends the wait
        if (admit(t)) return;
        if (!control_.load().is_running()) refuse(t, "the pool is shut down");
        try {
            const auto now = std::chrono::steady_clock::now();
            const auto rest = deadline == forever ? std::chrono::nanoseconds::max()
                                                  : std::chrono::nanoseconds(deadline - now);
            if (!queue_->offer_for(std::move(t), rest)) refuse(t, "no place became free in time");
            if (confirm_queued(identity, t)) return;
        } catch (const interrupted&) {
            if (!self.was_only_nudged()) throw;
        }
    }
}

void thread_pool_core::ensure_worker() {
    if (control_.load().workers() < core_size_.load() && add_worker(nullptr, limit::core)) return;
    if (control_.load().workers() == 0) add_worker(nullptr, limit::maximum);
}

void thread_pool_core::ensure_worker_quietly() noexcept {
    try {
        ensure_worker();
    } catch (...) {
        tell_uncaught(task(), std::current_exception());
    }
}

bool thread_pool_core::prestart_core_thread() {
    return control_.load().workers() < core_size_.load() && add_worker(nullptr, limit::core);
}

int thread_pool_core::prestart_all_core_threads() {
    // Bounded: with a short keep-alive, threads may leave as fast as they come.
    const int most = core_size_.load();
    int started = 0;
    while (started < most && add_worker(nullptr, limit::core)) ++started;
    return started;
}

// ---- the life of a worker

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

// ---- the end

void thread_pool_core::shutdown() {
    control_.advance(run_state::shutdown);
    nudge_workers();
    if (on_shutdown) on_shutdown();
    try_terminate();
    if (is_stranded()) ensure_worker_quietly();
}

/// True if tasks are queued and no thread is left to run them: the factory refused.
bool thread_pool_core::is_stranded() const {
    const auto seen = control_.load();
    return seen.workers() == 0 && !seen.at_least(run_state::stop) && !queue_->empty();
}

void thread_pool_core::drop_if_stranded() noexcept {
    if (!is_stranded()) return;
    ensure_worker_quietly();
    if (!is_stranded()) return;
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
    queue_->extract_if([](const task&) { return true; }, never_ran);
    return never_ran;
}

/// Each thread's stop tokens are stopped before it is interrupted, so that a task that is woken
/// finds its token stopped. That runs users' callbacks, so those without a token come first.
void thread_pool_core::interrupt_workers() {
    std::vector<intrusive_ptr<thread_control>> threads;
    {
        std::lock_guard lock(mutex_);
        for (auto* waiting : waiting_submitters_) waiting->nudge();
        threads.reserve(workers_.size());
        for (const auto& w : workers_)
            if (auto* started = w->started.load()) threads.emplace_back(started);
    }
    std::partition(threads.begin(), threads.end(),
                   [](const auto& thread) { return !thread->has_stop_sources(); });
    for (const auto& thread : threads) {
        thread->request_stop_all();
        thread->interrupt();
    }
}

/// Has every worker, and whoever waits for a place, look at the state again.
void thread_pool_core::nudge_workers() {
    std::lock_guard lock(mutex_);
    for (const auto& w : workers_)
        if (auto* started = w->started.load()) started->nudge();
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

/// Terminates the pool if it is shut down and nothing is left. Called whenever something that
/// this may have waited for has gone: a worker, a queued task.
void thread_pool_core::try_terminate() {
    for (;;) {
        auto seen = control_.load();
        if (seen.is_running() || seen.at_least(run_state::tidying)) return;
        if (!seen.at_least(run_state::stop) && !queue_->empty()) return;
        if (seen.workers() != 0) {
            nudge_an_idle_worker();
            return;
        }
        if (control_.try_tidy(seen)) break;
    }
    try {
        if (hooks_.terminated) hooks_.terminated();
    } catch (...) {
        tell_uncaught(task(), std::current_exception());
    }
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    control_.advance(run_state::terminated);
    terminated_.notify_all(wake);
}

bool thread_pool_core::await_termination(steady_time deadline) {
    if (deadline == forever && is_called_by_worker() && state() != run_state::terminated)
        throw illegal_state("a task waits for the end of its own pool, which would never come");
    std::unique_lock lock(mutex_);
    return terminated_.wait_until(lock, deadline,
                                  [this] { return state() == run_state::terminated; });
}

void thread_pool_core::await_end() noexcept {
    thread_control::current_whatever_comes();  // the waits below have no time to fail
    drop_if_stranded();
    bool was_interrupted = false;
    thread last;
    for (bool over = false; !over;) {
        try {
            std::unique_lock lock(mutex_);
            terminated_.wait(
                lock, [this] { return state() == run_state::terminated && workers_.empty(); });
            last = std::move(last_to_leave_);
            over = true;
        } catch (const interrupted&) {
            was_interrupted = true;
        }
    }
    join_whatever_comes(last);
    if (was_interrupted) thread_control::current().interrupt();
}

bool thread_pool_core::is_called_by_worker() const {
    const auto* self = thread_control::current_if_any();
    return self && self->helper && self->helper->works_for() == this;
}

}  // namespace cadre::detail
