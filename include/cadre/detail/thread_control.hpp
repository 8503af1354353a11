// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cadre/detail/duration.hpp>
#include <cadre/detail/export.hpp>
#include <cadre/detail/intrusive_ptr.hpp>
#include <cadre/detail/schedule_point.hpp>

namespace cadre::detail {

class thread_control;

/// A task that a thread is running, as its stop token sees it.
class CADRE_API running_task {
public:
    /// For the running thread. Also stopped by request_stop_all() of that thread.
    virtual std::stop_token stop_token(thread_control& runner) = 0;
    /// Where the token comes from, if anything was needed of that yet.
    virtual class stop_slot* slot_if_any() noexcept = 0;

protected:
    ~running_task() = default;
};

/// A stop_source that is made only when somebody asks for its token, so that a task that never
/// asks costs nothing. Any thread may request the stop; the rest is for the thread that runs the
/// task.
class CADRE_API stop_slot final : public running_task {
public:
    std::stop_token stop_token(thread_control& runner) override;
    stop_slot* slot_if_any() noexcept override { return this; }
    /// Stops the token handed out and those to come. Runs the users' callbacks on this thread,
    /// under no lock of ours.
    void request_stop();
    /// The task is over. Forgets source and request.
    void reset(thread_control& runner) noexcept {
        if (used_.load(std::memory_order_relaxed)) forget(runner);
    }

private:
    friend class thread_control;
    void forget(thread_control& runner) noexcept;

    std::atomic<bool> used_ = false;  // the two below may be set; a hint, the mutex decides
    std::mutex mutex_;                // guards the two below
    std::stop_source source_{std::nostopstate};
    bool requested_ = false;
};

class future_core;
struct waiter;

/// How a thread that waits for a task may run that task itself, or others meanwhile: set by whoever
/// owns the thread.
class CADRE_API wait_helper {
public:
    /// What the thread may do while it waits.
    enum class wait_mode {
        sleep,      ///< until what it waits for is there
        on_call,    ///< the same, or until a nudge: there may be something to run
        look_again  ///< nothing: there is something to run
    };

    /// Runs the unstarted task `wanted` here and now if it is one of ours, or any other task that
    /// the thread may run meanwhile; false if there is none.
    virtual bool run_in_place(const future_core& wanted) = 0;
    /// Before and after each sleep of a wait without a time limit. What begins throws has not
    /// begun.
    virtual wait_mode wait_begins(waiter&) { return wait_mode::sleep; }
    virtual void wait_ends(waiter&) noexcept {}
    /// The pool that the thread belongs to; compared, never followed.
    virtual const void* works_for() const noexcept = 0;

protected:
    ~wait_helper() = default;
};

/// What the library knows of a thread: its parking place, its interrupt flag, its name and what
/// it runs. Shared by the thread, its handles and whoever is about to wake it, so that a wake-up
/// that comes late finds the object alive.
class alignas(16) CADRE_API thread_control {  // so that a pointer to it has room for four bits
public:
    /// Of the calling thread, made on first use.
    static thread_control& current();
    /// The same, but null if there was no use for one yet.
    static thread_control* current_if_any() noexcept;
    /// The same, for those who cannot give up: if there is no memory, waits until there is.
    static thread_control& current_whatever_comes() noexcept;
    /// Of a thread to be: made by its creator, entered by the thread with enter().
    explicit thread_control(std::string name) : name_(std::move(name)) {}
    /// For who is about to make a thread: what enter() needs of the process. Throws if it cannot be
    /// had.
    static void prepare();
    /// Makes this the calling thread's own. Once, before any current(). False if there is no memory
    /// to have the thread leave() by itself when all else of it has ended: it is to do so before.
    bool enter() noexcept;
    /// The thread is over, or next to it.
    void leave() noexcept;

    /// Round a fork: nobody else holds what a task of the calling thread needs for its stop token,
    /// which in the child would stay locked for ever.
    static void before_fork() noexcept;
    static void after_fork() noexcept;

    thread_control(const thread_control&) = delete;
    thread_control& operator=(const thread_control&) = delete;

    // Straight from malloc: a destructor that waits needs its thread's control too, and must not
    // fail because a replaced operator new has reached some limit.
    static void* operator new(std::size_t size) {
        if (void* memory = std::malloc(size)) return memory;
        throw std::bad_alloc();
    }
    static void operator delete(void* memory) noexcept { std::free(memory); }

    void add_ref() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept;

    /// Waits for unpark(), an interrupt, the deadline, or for no reason; the caller looks again.
    /// Only for the thread itself. An unpark() that came before is not lost: one is remembered.
    void park_until(steady_time deadline) noexcept;
    void unpark() noexcept;

    /// Sets the interrupt flag and ends the wait that the thread is in, or the next one.
    void interrupt() noexcept { raise(interrupted_bit); }
    /// The same, by whoever waits for the thread to end: nobody wants it any more.
    void abandon() noexcept {
        abandoned_.store(true);
        interrupt();
    }
    bool is_abandoned() const noexcept { return abandoned_.load(); }
    /// As interrupt(), unless that task is suspended: the thread runs another one in its place,
    /// which is none of the interrupter's business. Whoever suspended it passes the interrupt on.
    void interrupt_for(const future_core& task) noexcept;
    /// Ends the wait of an idle worker, or its next one. No task ever sees it: only a thread
    /// inside a nudgeable_scope does, as an interrupt.
    void nudge() noexcept { raise(nudged_bit); }
    bool is_interrupted() const noexcept { return flags_.load() & interrupted_bit; }
    /// Tests and clears the flag.
    bool take_interrupt() noexcept { return take(interrupted_bit); }
    bool take_nudge() noexcept { return take(nudged_bit); }

    /// True if there is an interrupt or a nudge to be taken.
    bool has_flags() const noexcept { return flags_.load() != 0; }

    /// True if a wait of this thread must end. Only for the thread itself.
    bool wait_must_end() const noexcept { return flags_.load() & visible_; }
    /// Throws interrupted, and clears the flag, if a wait of this thread must end.
    void throw_if_interrupted();
    /// True if the last such exception came from a nudge alone.
    bool was_only_nudged() const noexcept { return only_nudged_; }

    /// Stops the tokens of all tasks that the thread runs and will run.
    void request_stop_all() noexcept;
    /// True after that: the pool that the thread works for has stopped.
    bool is_told_to_stop() const;
    /// request_stop_all() if there is no token to be stopped, so that no users' code runs; else
    /// false.
    bool stop_if_no_sources() noexcept;
    /// Appends those of the tasks that the thread runs and that have asked for their token; none
    /// if there is no memory for them.
    void copy_stop_sources(std::vector<std::stop_source>& to) const noexcept;

    std::string name() const;
    void rename(std::string name);
    /// Of a thread that has only just been made: waits until it is there.
    std::thread::id id() const noexcept;

    /// The thread is over: interrupts have no effect any more, and none is pending.
    void end() noexcept;

    // What the thread runs; only the thread itself reads or writes these.
    running_task* running = nullptr;              // the innermost task
    wait_helper* helper = nullptr;                // set while the thread works for a pool
    const future_core* running_future = nullptr;  // of the innermost task, if it has one

    // What the thread waits for, without a time limit, from inside a task; see future_core.cpp.
    const future_core* waits_for = nullptr;  // guarded by the wait graph's lock

private:
    friend class nudgeable_scope;
    friend class stop_slot;
    friend class suspended_scope;
    friend class uninterruptible_scope;
    ~thread_control() = default;

    static constexpr std::uint32_t interrupted_bit = 1;
    static constexpr std::uint32_t nudged_bit = 2;

    int let_go_at_exit() noexcept;
    void make_current() noexcept;
    void raise(std::uint32_t bit) noexcept;
    bool take(std::uint32_t bit) noexcept {
        CADRE_SCHEDULE_POINT("a look at a flag");
        return (flags_.load() & bit) && (flags_.fetch_and(~bit) & bit);
    }

    std::atomic<std::uint32_t> permit_ = 0;  // the futex; see thread_control.cpp
    std::atomic<std::uint32_t> flags_ = 0;
    std::uint32_t visible_ = interrupted_bit;  // which flags end a wait; the thread's own
    bool only_nudged_ = false;                 // the thread's own
    std::atomic<std::uint32_t> references_ = 1;
    mutable std::atomic<std::uint32_t> id_is_ = 0;  // a futex; see thread_control.cpp
    std::atomic<std::thread::id> id_{};             // written before id_is_
    std::atomic<bool> ended_ = false;
    std::atomic<bool> abandoned_ = false;  // set before the interrupt that tells of it
    stop_slot* held_for_fork_ = nullptr;   // the thread's own

    mutable std::mutex mutex_;  // guards all below
    std::string name_;
    std::vector<std::stop_source> stop_sources_;  // of the tasks that it runs and that asked
    bool stop_requested_ = false;
    class suspended_scope* suspended_ = nullptr;  // the innermost; a list
};

/// While it lives, a nudge ends the calling thread's waits like an interrupt.
class [[nodiscard]] nudgeable_scope {
public:
    explicit nudgeable_scope(thread_control& self) : self_(self), before_(self.visible_) {
        self_.visible_ |= thread_control::nudged_bit;
    }
    ~nudgeable_scope() { self_.visible_ = before_; }
    nudgeable_scope(const nudgeable_scope&) = delete;
    nudgeable_scope& operator=(const nudgeable_scope&) = delete;

private:
    thread_control& self_;
    const std::uint32_t before_;
};

/// While it lives, nothing but what it waits for ends a wait of the calling thread: for those who
/// can neither give up nor afford an exception, which takes memory. Interrupts and nudges stay for
/// later. No users' code inside: it would not feel them.
class [[nodiscard]] uninterruptible_scope {
public:
    explicit uninterruptible_scope(thread_control& self)
        : self_(self), before_(std::exchange(self.visible_, 0)) {}
    ~uninterruptible_scope() { self_.visible_ = before_; }
    uninterruptible_scope(const uninterruptible_scope&) = delete;
    uninterruptible_scope& operator=(const uninterruptible_scope&) = delete;

private:
    thread_control& self_;
    const std::uint32_t before_;
};

/// While it lives, the calling thread runs a task.
class [[nodiscard]] CADRE_API running_scope {
public:
    running_scope(thread_control& self, running_task& task)
        : self_(self), outer_(std::exchange(self.running, &task)) {}
    ~running_scope() { self_.running = outer_; }
    running_scope(const running_scope&) = delete;
    running_scope& operator=(const running_scope&) = delete;

private:
    thread_control& self_;
    running_task* const outer_;
};

/// While it lives, a task of the calling thread is suspended for another one.
class [[nodiscard]] suspended_scope {
public:
    /// `missed` tells, when the scope has ended, whether an interrupt for that task came meanwhile.
    suspended_scope(thread_control& self, const future_core* task, bool& missed)
        : self_(self), task_(task), missed_(missed) {
        std::lock_guard lock(self_.mutex_);
        outer_ = std::exchange(self_.suspended_, this);
    }
    ~suspended_scope() {
        std::lock_guard lock(self_.mutex_);
        self_.suspended_ = outer_;
    }
    suspended_scope(const suspended_scope&) = delete;
    suspended_scope& operator=(const suspended_scope&) = delete;

private:
    friend class thread_control;
    thread_control& self_;
    const future_core* const task_;
    bool& missed_;  // guarded by the thread's mutex_
    suspended_scope* outer_ = nullptr;
};

}  // namespace cadre::detail
