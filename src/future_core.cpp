// SPDX-License-Identifier: Apache-2.0
//
// The life of a task with a result is one word, word_, which holds its phase and, from `running`
// until the body is over or may no longer be interrupted, the thread that runs it:
//
//   pending ──start──> running ──begin_completion──> completing ──finish──> success | failed
//      │                  │  └──cancel(true)──> stopping ──> interrupting ──> cancelled
//      └──cancel──────────┴──cancel(false)──────────────────────────────────> cancelled
//
// (completing may also be entered from pending, by set and set_exception; a run that resets goes
// from running back to pending.) Each arrow is one compare-exchange, so each has one winner:
//   - who wins the way out of `pending` owns the callable: the runner, or whoever must destroy it;
//   - who wins `completing` owns the result until the final phase is stored.
// Everything from success upwards is done: the value or the error was written before and is read
// without a lock after the phase was seen.
//
// Interrupting. The canceller wins `stopping`, in a word that says who is to be stopped. First the
// stop token is stopped, so that a body that is woken by the interrupt finds it stopped; that runs
// users' callbacks, and meanwhile the runner may end: it moves `stopping` to `cancelled` itself,
// and there is nobody left to interrupt. Else the canceller wins `interrupting`, and the runner
// does not leave run() before that is over: an interrupt meant for this task cannot arrive in the
// next one. What the canceller does meanwhile is one flag and one wake-up.
//
// Waiters. Who wants to be told sets the bit `watched`, under mutex_ and only while it is not
// done; whoever stores a final phase does so by an exchange and, if the bit was set, takes mutex_
// to wake and collect. A completion that nobody watches takes no lock.
//
// Waiting from inside a task is told in future_wait.cpp.
//
// Completions run where the task completes. Each may complete further futures, so a chain would
// recurse; past a depth they are put off and run by the outermost one, or before a wait.

#include <cadre/detail/future_core.hpp>

#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <cadre/detail/report.hpp>
#include <cadre/detail/schedule_point.hpp>
#include <cadre/errors.hpp>

namespace cadre::detail {

namespace {

/// Completions put off on this thread.
struct deferred_completions {
    static constexpr int inline_depth = 16;
    completion* first = nullptr;
    completion** last = &first;
    int depth = 0;

    void put_off(completion* list) noexcept {
        *last = list;
        while (*last) last = &(*last)->next;
    }
    completion* take() noexcept {
        completion* taken = first;
        if (taken) first = taken->next;
        if (!first) last = &first;
        return taken;
    }
};
thread_local deferred_completions deferred;

void run_one(completion* c) noexcept {
    c->next = nullptr;
    try {
        c->run();
    } catch (...) {
        report_uncaught("a continuation", std::current_exception());
    }
}

void run_completions(completion* list) noexcept {
    if (!list) return;
    if (deferred.depth >= deferred_completions::inline_depth) {
        deferred.put_off(list);
        return;
    }
    ++deferred.depth;
    while (list) run_one(std::exchange(list, list->next));
    if (--deferred.depth == 0) run_deferred_completions();
}

}  // namespace

void run_deferred_completions() {
    // At depth 1 again, so that each may recurse to the limit but no further.
    const int before = std::exchange(deferred.depth, 1);
    while (completion* next = deferred.take()) run_one(next);
    deferred.depth = before;
}

future_state future_core::state() const noexcept {
    switch (phase()) {
        case pending:
            return future_state::pending;
        case running:
        case completing:
            return future_state::running;
        case success:
            return future_state::success;
        case failed:
            return future_state::failed;
        default:
            return future_state::cancelled;
    }
}

/// From one phase to another, keeping the mark of being watched, and the runner from one to
/// another phase in which it may be interrupted.
bool future_core::move(word from, word to) noexcept {
    CADRE_SCHEDULE_POINT("a change of phase");
    word seen = word_.load();
    const word kept = to >= stopping ? ~phase_mask : watched;
    while ((seen & phase_mask) == from)
        if (word_.compare_exchange_weak(seen, (seen & kept) | to)) return true;
    return false;
}

bool future_core::start(thread_control& self) noexcept {
    word seen = word_.load(std::memory_order_relaxed);
    CADRE_SCHEDULE_POINT("a start");
    while ((seen & phase_mask) == pending)
        if (word_.compare_exchange_weak(seen,
                                        reinterpret_cast<word>(&self) | (seen & watched) | running))
            return true;
    return false;
}

/// The body is over: after this, nobody interrupts the thread for this task's sake.
void future_core::settle() noexcept {
    word seen = word_.load();
    while ((seen & phase_mask) == running)  // to be run again
        if (word_.compare_exchange_weak(seen, seen & flag_mask)) return;
    if (move(stopping, cancelled)) return;  // the canceller is still telling the stop token
    while (phase() == interrupting) std::this_thread::yield();
}

void future_core::drop_callable() noexcept {
    try {
        destroy_callable();
    } catch (...) {
        report_uncaught("the destructor of a task", std::current_exception());
    }
}

/// While it lives, the calling thread runs this task.
class [[nodiscard]] future_core::body_scope {
public:
    /// was_interrupted: the thread was before the task started, so that is not the task's.
    body_scope(thread_control& self, future_core& task, bool was_interrupted)
        : running_(self, task),
          self_(self),
          task_(task),
          outer_(self.running_future),
          was_interrupted_(was_interrupted) {
        self_.running_future = &task_;
    }
    ~body_scope() {
        self_.running_future = outer_;
        if (reset_ && (*reset_ = goes_back_to_pending())) return;
        task_.settle();
        // An interrupt by its cancellation ends with the task.
        if (task_.was_interrupted() && !was_interrupted_) self_.take_interrupt();
        if (auto* own = task_.more_if_any()) own->stop.reset(self_);
    }
    body_scope(const body_scope&) = delete;
    body_scope& operator=(const body_scope&) = delete;

    /// The task is to be pending again; *done tells whether it is when this has ended.
    void reset_at_end(bool& done) noexcept { reset_ = &done; }

private:
    /// The end of the body and the way back in one step, after which the task may be another
    /// thread's. False if it was cancelled, or if its stop token is to be seen to.
    bool goes_back_to_pending() noexcept {
        if (task_.more_if_any()) return false;
        word seen = task_.word_.load();
        while ((seen & phase_mask) == running)
            if (task_.word_.compare_exchange_weak(seen, (seen & watched) | pending)) return true;
        return false;
    }

    const running_scope running_;
    thread_control& self_;
    future_core& task_;
    const future_core* const outer_;
    const bool was_interrupted_;
    bool* reset_ = nullptr;
};

void future_core::run() {
    auto& self = thread_control::current();
    const bool was_interrupted = self.is_interrupted();
    if (!start(self)) return;
    const body_scope scope(self, *this, was_interrupted);
    compute();
}

bool future_core::run_and_reset(bool* started) {
    auto& self = thread_control::current();
    const bool was_interrupted = self.is_interrupted();
    const bool may_run = start(self);
    if (started) *started = may_run;
    if (!may_run) return false;
    std::exception_ptr thrown;
    bool again = false;
    {
        body_scope scope(self, *this, was_interrupted);
        try {
            compute_and_discard();
            scope.reset_at_end(again);
        } catch (...) {
            thrown = std::current_exception();
        }
    }
    if (again) return true;
    if (thrown && survives(thrown)) thrown = nullptr;
    if (!thrown && move(running, pending)) return true;
    drop_callable();
    if (thrown) set_exception(std::move(thrown));
    return false;
}

bool future_core::begin_completion() noexcept {
    // A run that resets goes to and fro between the two: neither is out of reach for good.
    for (auto seen = phase(); seen <= running; seen = phase()) {
        if (!move(seen, completing)) continue;
        was_pending_ = seen == pending;
        return true;
    }
    return false;
}

void future_core::finish(bool with_value) {
    if (was_pending_) drop_callable();
    conclude(with_value ? success : failed);
}

bool future_core::set_exception(std::exception_ptr error) {
    if (!error) throw std::invalid_argument("set_exception: the exception is null");
    if (!begin_completion()) return false;
    store_error(std::move(error));
    finish(false);
    return true;
}

bool future_core::cancel(bool may_interrupt) {
    CADRE_SCHEDULE_POINT("a cancellation of what nobody has started or watches");
    word seen = pending;
    if (!word_.compare_exchange_strong(seen, cancelled)) return cancel_with_sources(may_interrupt);
    end_unstarted();  // it follows no other, or it would be watched
    return true;
}

bool future_core::cancel_with_sources(bool may_interrupt) {
    const intrusive_ptr<future_core> alive(this);
    auto upstream = source();
    std::exception_ptr thrown;  // by an on_done; the others are cancelled all the same
    bool cancelled_this = false;
    try {
        cancelled_this = cancel_this(may_interrupt, upstream.get());
    } catch (...) {
        thrown = std::current_exception();
        cancelled_this = true;
    }
    while (upstream && cancelled_this) {
        auto further = upstream->source();
        try {
            upstream->cancel_this(may_interrupt);
        } catch (...) {
            if (!thrown) thrown = std::current_exception();
        }
        upstream = std::move(further);
    }
    if (thrown) std::rethrow_exception(std::move(thrown));
    return cancelled_this;
}

/// The caller holds a reference, whatever the destructors and callbacks that this runs do.
bool future_core::cancel_this(bool may_interrupt, const future_core* source) {
    // A run that resets goes to and fro between the two: neither is out of reach for good.
    for (auto seen = phase(); seen <= running; seen = phase()) {
        const bool stop = seen == running && may_interrupt;
        if (!move(seen, stop ? stopping : cancelled)) continue;
        auto* const completions = wake_waiters_of_cancelled(seen == pending);
        if (source) source->have_waiters_look();
        if (stop) stop_runner();
        conclude_telling(cancelled, completions);
        return true;
    }
    return false;
}

completion* future_core::wake_waiters_of_cancelled(bool unstarted) noexcept {
    if (unstarted) {
        drop_callable();
        leave_queue();
    }
    return wake_waiters(word_.load() & watched);
}

/// For one of the continuations of this one is cancelled, for which a worker may wait here. Before
/// users' code runs that this cancellation causes, for that may take long.
void future_core::have_waiters_look() const noexcept {
    intrusive_ptr<future_core> kept;
    for (const auto* here = this; here;) {
        {
            deferred_wake wake;
            const std::lock_guard lock(here->mutex_);
            here->changed_.notify_all(wake);
        }
        auto next = here->source();
        here = next.get();
        kept = std::move(next);
    }
}

/// From stopping to cancelled.
void future_core::stop_runner() {
    was_interrupted_.store(true);
    // Users' callbacks. A token that is asked for later finds was_interrupted_: either this sees
    // the extras, or whoever makes them sees that.
    if (auto* own = extras_.load()) own->stop.request_stop();
    if (!move(stopping, interrupting)) return;  // the body is over
    // The runner stays in run() until the phase moves on, so its control is alive.
    if (auto* const stopped = runner()) stopped->interrupt_for(*this);
    move(interrupting, cancelled);
}

void future_core::leave_queue() noexcept {
    try {
        intrusive_ptr<cancel_listener> listener;
        if (auto* own = more_if_any()) {
            std::lock_guard lock(mutex_);
            listener = own->listener;
        }
        on_cancelled_unstarted();
        if (listener) listener->cancelled(*this);
    } catch (...) {
        report_uncaught("the removal of a cancelled task", std::current_exception());
    }
}

void future_core::cancel_on_stop() noexcept {
    const intrusive_ptr<future_core> alive(this);
    try {
        cancel(true);
    } catch (...) {
        report_uncaught("on_done", std::current_exception());
    }
}

void future_core::abandon() noexcept {
    if (phase() != pending) return;
    const intrusive_ptr<future_core> alive(this);
    try {
        cancel_this(false);
    } catch (...) {
        report_uncaught("on_done", std::current_exception());
    }
}

/// Stores the final phase and tells those who wait.
void future_core::conclude(word final_phase) {
    CADRE_SCHEDULE_POINT("the final phase");
    const word before = word_.exchange(final_phase);
    conclude_telling(final_phase, wake_waiters(before & watched));
}

/// Returns the completions that are to be run.
completion* future_core::wake_waiters(bool somebody_watches) noexcept {
    if (!somebody_watches) return nullptr;
    intrusive_ptr<future_core> source;
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    changed_.notify_all(wake);
    auto* own = more_if_any();
    if (!own) return nullptr;
    source = std::move(own->source);
    own->last_completion = &own->first_completion;
    return std::exchange(own->first_completion, nullptr);
}

void future_core::conclude_telling(word final_phase, completion* completions) {
    std::exception_ptr thrown;
    try {
        on_done(final_phase == success  ? future_state::success
                : final_phase == failed ? future_state::failed
                                        : future_state::cancelled);
    } catch (...) {
        thrown = std::current_exception();
    }
    run_completions(completions);
    if (thrown) std::rethrow_exception(std::move(thrown));
}

/// Asks to be told; false if it is done. Under mutex_.
bool future_core::watch() const noexcept {
    word seen = word_.load();
    while ((seen & phase_mask) < success) {
        if (seen & watched) return true;
        if (word_.compare_exchange_weak(seen, seen | watched)) return true;
    }
    return false;
}

bool future_core::attach(completion& then) {
    extras& own = more();
    std::lock_guard lock(mutex_);
    if (!watch()) return false;
    *own.last_completion = &then;
    own.last_completion = &then.next;
    return true;
}

bool future_core::wait_until(steady_time deadline) const {
    if (is_done()) return true;
    check_process();
    run_deferred_completions();
    std::unique_lock lock(mutex_);
    if (!watch()) return true;
    return changed_.wait_until(lock, deadline, [this] { return is_done(); });
}

/// It has failed.
const std::exception_ptr& future_core::stored_error() const noexcept {
    return static_cast<held_exception*>(const_cast<future_core*>(this)->outcome_address())->get();
}

std::exception_ptr future_core::error() const noexcept {
    return phase() == failed ? stored_error() : nullptr;
}

void future_core::throw_if_no_value() const {
    if (is_cancelled()) throw cancellation();
    if (phase() == failed) std::rethrow_exception(stored_error());
}

future_core::extras& future_core::more() {
    if (auto* made = more_if_any()) return *made;
    auto fresh = std::make_unique<extras>();
    extras* seen = nullptr;
    if (extras_.compare_exchange_strong(seen, fresh.get())) return *fresh.release();
    return *seen;
}

void future_core::set_annotations(std::string name, int priority) {
    if (name.empty() && priority == 0) return;
    more().name = std::move(name);
    more().priority = priority;
}

std::string_view future_core::name() const noexcept {
    const auto* own = more_if_any();
    return own ? std::string_view(own->name) : std::string_view();
}

int future_core::priority() const noexcept {
    const auto* own = more_if_any();
    return own ? own->priority : 0;
}

std::stop_token future_core::stop_token(thread_control& runner) {
    extras& own = more();
    auto token = own.stop.stop_token(runner);
    if (was_interrupted()) own.stop.request_stop();  // by a cancel before there was a token
    return token;
}

stop_slot* future_core::slot_if_any() noexcept {
    auto* own = more_if_any();
    return own ? &own->stop : nullptr;
}

void future_core::set_cancel_listener(intrusive_ptr<cancel_listener> listener) {
    extras& own = more();
    std::lock_guard lock(mutex_);
    own.listener = std::move(listener);
}

void future_core::follow(intrusive_ptr<future_core> source) {
    extras& own = more();
    std::lock_guard lock(mutex_);
    if (watch()) own.source = std::move(source);  // watched, so that completing lets go of it
}

void future_core::announce_dispatched() {
    extras& own = more();  // made by follow()
    intrusive_ptr<future_core> source;
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    ++own.dispatches;
    source = std::move(own.source);
    changed_.notify_all(wake);
}

intrusive_ptr<future_core> future_core::source() const {
    std::uint32_t dispatches = 0;
    return source(dispatches);
}

intrusive_ptr<future_core> future_core::source(std::uint32_t& dispatches) const {
    dispatches = 0;
    const auto* own = more_if_any();
    if (!own) return nullptr;
    std::lock_guard lock(mutex_);
    dispatches = own->dispatches;
    return own->source;
}

}  // namespace cadre::detail
