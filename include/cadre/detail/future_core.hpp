// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <stop_token>
#include <string>
#include <string_view>

#include <cadre/detail/condition.hpp>
#include <cadre/detail/export.hpp>
#include <cadre/detail/held_exception.hpp>
#include <cadre/detail/intrusive_ptr.hpp>
#include <cadre/detail/recycled_memory.hpp>
#include <cadre/detail/small_mutex.hpp>
#include <cadre/detail/thread_control.hpp>

namespace cadre {

/// How far a task has come.
enum class future_state {
    pending,    ///< not started
    running,    ///< started, no result yet
    success,    ///< has a value
    failed,     ///< has an exception
    cancelled,  ///< has neither, and will have none
};

namespace detail {

/// What is to happen once when a future is complete. Deletes itself when run.
class completion {
public:
    virtual void run() = 0;
    completion* next = nullptr;

protected:
    ~completion() = default;
};

/// Told when a task that it accepted is cancelled before it started.
class CADRE_API cancel_listener {
public:
    virtual void add_ref() noexcept = 0;
    virtual void release() noexcept = 0;
    virtual void cancelled(const future_core& task) = 0;

protected:
    ~cancel_listener() = default;
};

/// A task and its result, as far as their types do not matter: who may run it, who waits for it,
/// how it ends. Shared by the task in the queue, the thread that runs it and its futures.
/// The protocol is told in future_core.cpp.
class CADRE_API future_core : public running_task, public in_recycled_memory {
public:
    future_core(const future_core&) = delete;
    future_core& operator=(const future_core&) = delete;

    void add_ref() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    /// The same for its maker, before anybody else knows it: without an atomic operation.
    void add_first_ref() noexcept {
        references_.store(references_.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
    }
    void release() noexcept {
        // acq_rel: what each holder did happens before the deletion by the last one.
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

    /// False if the caller's reference is the only one: then nobody else will ever have one.
    bool is_shared() const noexcept { return references_.load(std::memory_order_relaxed) > 1; }

    future_state state() const noexcept;
    bool is_done() const noexcept { return phase() >= success; }
    bool is_cancelled() const noexcept { return phase() >= cancelled; }
    /// True if it was cancelled while it ran, with an interrupt of its thread.
    bool was_interrupted() const noexcept { return was_interrupted_.load(); }

    /// Runs the callable if nobody has started, cancelled or completed it. Here and below, the
    /// caller holds a reference until this returns.
    void run();
    /// Runs the callable and throws its value away, to be run again: true. False if it could not
    /// be started, threw (then that is the result) or was cancelled meanwhile. *started tells
    /// whether it was called at all.
    bool run_and_reset(bool* started = nullptr);
    /// False if it is complete already. A task that has not started never will, and its captures
    /// are destroyed; one that runs is interrupted if may_interrupt.
    bool cancel(bool may_interrupt);
    /// cancel(true) for a stop callback, which may not throw: what an on_done throws is reported.
    void cancel_on_stop() noexcept;
    /// Whoever was to run it will not: cancelled, unless it has started.
    void abandon() noexcept;
    bool set_exception(std::exception_ptr error);

    /// Waits for completion. A worker of the pool that holds the task unstarted runs it here.
    /// Throws interrupted, or illegal_state if it would wait for itself through other tasks or, in
    /// a forked process, for a pool of its parent; so does wait_until().
    void wait() const;
    /// False if the deadline passed first. Runs nothing.
    bool wait_until(steady_time deadline) const;
    /// Runs the task here if it is unstarted in the calling worker's own pool.
    bool help() const;
    /// Has `then` run on completion. False if it is complete already: the caller still owns it.
    bool attach(completion& then);

    /// Null unless it failed.
    std::exception_ptr error() const noexcept;
    /// Rethrows what it failed with, or throws cancellation, if it has no value. Complete only.
    void throw_if_no_value() const;
    /// Where the value is, or the error, once there is one.
    virtual void* outcome_address() noexcept = 0;
    /// True for the first caller only.
    bool take_value() noexcept { return !taken_.exchange(true); }
    bool value_taken() const noexcept { return taken_.load(); }

    std::string_view name() const noexcept;
    int priority() const noexcept;
    std::stop_token stop_token(thread_control& runner) override;
    stop_slot* slot_if_any() noexcept override;

    /// Before this, nobody may start it, not even who waits for it; the end of time: only its
    /// pool may.
    virtual steady_time startable_at() const { return steady_time::min(); }
    /// What it is known by in a queue.
    virtual std::uintptr_t identity() const noexcept {
        return reinterpret_cast<std::uintptr_t>(this);
    }

    /// The pool that accepted it; compared, never followed.
    const void* home() const noexcept {
        return reinterpret_cast<const void*>(home_.load(std::memory_order_relaxed) & ~process_mask);
    }
    /// In which process, as forks() counts them, is kept as well.
    void set_home(const void* pool, std::uint32_t process) noexcept {
        home_.store(reinterpret_cast<word>(pool) | (process & process_mask),
                    std::memory_order_relaxed);
    }
    void set_cancel_listener(intrusive_ptr<cancel_listener> listener);

    /// This one is the continuation of `source`: whoever waits for it helps the source first,
    /// and cancelling it cancels the source.
    void follow(intrusive_ptr<future_core> source);
    /// The source is complete and the continuation is handed to its executor.
    void announce_dispatched();

protected:
    future_core() = default;
    virtual ~future_core() { delete extras_.load(); }

    void set_annotations(std::string name, int priority);

    /// Calls the callable, drops it and completes with the outcome. Never throws the
    /// callable's exceptions; those of on_done only.
    virtual void compute() = 0;
    /// Calls the callable and keeps it.
    virtual void compute_and_discard() = 0;
    /// At most once, by whoever owns the callable.
    virtual void destroy_callable() = 0;
    virtual void on_done(future_state) {}
    /// It was cancelled before it started. Called once, before those who wait are told.
    virtual void on_cancelled_unstarted() {}
    /// The same and all that follows, of one that nobody watched: drop_callable(), leave_queue()
    /// and on_done(), in fewer steps. Millions may be cancelled, each of them in no cache: a
    /// processor fetches the next one meanwhile only if it can look past all that is done for this
    /// one. Keeps itself alive where users' code may run, which may drop the caller's future.
    virtual void end_unstarted() = 0;
    void end_without_callable() noexcept {
        const intrusive_ptr<future_core> alive(this);
        leave_queue();
    }
    /// A run that resets threw this; true if it may be run again all the same.
    virtual bool survives(const std::exception_ptr&) { return false; }

    /// True for the one who may store the outcome and then calls finish().
    bool begin_completion() noexcept;
    void store_error(std::exception_ptr error) noexcept {
        (::new (outcome_address()) held_exception)->hold(std::move(error));
    }
    /// For whoever destroys it: what the outcome is.
    bool has_value() const noexcept { return phase() == success; }
    bool has_error() const noexcept { return phase() == failed; }
    void finish(bool with_value);
    /// Destroys the callable; what its destructor throws is reported.
    void drop_callable() noexcept;
    /// It will not run: whoever keeps it queued may let go of it. If they cannot, it stays there.
    void leave_queue() noexcept;
    /// True if it has more than most have: a name, a listener, continuations.
    bool has_extras() const noexcept { return more_if_any() != nullptr; }

private:
    class body_scope;
    class source_chain;
    class wait_graph_scope;

    using word = std::uintptr_t;
    static constexpr word pending = 0;
    static constexpr word running = 1;
    static constexpr word completing = 2;
    static constexpr word success = 3;
    static constexpr word failed = 4;
    static constexpr word cancelled = 5;
    static constexpr word stopping = 6;
    static constexpr word interrupting = 7;
    static constexpr word phase_mask = 7;
    static constexpr word watched = 8;
    static constexpr word flag_mask = phase_mask | watched;  // the rest is the runner
    static_assert(alignof(thread_control) > flag_mask);
    static constexpr word process_mask = 7;  // of home_

    word phase() const noexcept { return word_.load() & phase_mask; }
    thread_control* runner() const noexcept {
        return reinterpret_cast<thread_control*>(word_.load() & ~flag_mask);
    }
    bool move(word from, word to) noexcept;
    bool is_done_soon() const noexcept;
    bool watch() const noexcept;
    bool start(thread_control& self) noexcept;
    void settle() noexcept;
    bool cancel_this(bool may_interrupt, const future_core* source = nullptr);
    bool cancel_with_sources(bool may_interrupt);
    void conclude(word final_phase);
    const std::exception_ptr& stored_error() const noexcept;
    completion* wake_waiters(bool somebody_watches) noexcept;
    void conclude_telling(word final_phase, completion* completions);
    completion* wake_waiters_of_cancelled(bool unstarted) noexcept;
    void have_waiters_look() const noexcept;
    void stop_runner();
    intrusive_ptr<future_core> source() const;
    /// The same, and how often it was dispatched until then.
    intrusive_ptr<future_core> source(std::uint32_t& dispatches) const;
    intrusive_ptr<future_core> first_unfinished() const;
    bool is_inherited() const noexcept;
    void check_process() const;

    /// What few tasks need; made when the first of it is needed, and there to stay.
    struct extras {
        // Set before the task is known to others.
        std::string name;
        int priority = 0;

        stop_slot stop;

        // Guarded by mutex_.
        completion* first_completion = nullptr;
        completion** last_completion = &first_completion;
        intrusive_ptr<future_core> source;
        intrusive_ptr<cancel_listener> listener;
        std::uint32_t dispatches = 0;
    };
    extras& more();
    extras* more_if_any() const noexcept { return extras_.load(std::memory_order_acquire); }

    // There may be millions: every byte counts.
    mutable std::atomic<word> word_ = pending;
    std::atomic<std::uint32_t> references_ = 1;
    mutable small_mutex mutex_;
    std::atomic<word> home_ = 0;             // the pool, and in its lowest bits the process
    std::atomic<extras*> extras_ = nullptr;  // release when made; pairs with more_if_any()
    mutable condition changed_;              // guarded by mutex_
    std::atomic<bool> taken_ = false;
    std::atomic<bool> was_interrupted_ = false;
    bool was_pending_ = false;  // of whoever completes: the callable is still there

protected:
    bool owns_callable_ = false;  // of the one who owns it; see future_core.cpp
};

/// Runs completions that a deep chain has put off on this thread. A thread does so before it waits.
CADRE_API void run_deferred_completions();

}  // namespace detail
}  // namespace cadre
