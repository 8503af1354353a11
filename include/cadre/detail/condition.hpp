// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

#include <cadre/detail/duration.hpp>
#include <cadre/detail/export.hpp>
#include <cadre/detail/thread_control.hpp>

namespace cadre::detail {

/// A thread that waits, on its own stack. In a list it is guarded by the mutex of that list.
struct waiter {
    thread_control* const thread = &thread_control::current();
    bool by_nudge = false;            // it sleeps elsewhere, and is woken by a nudge
    std::atomic<bool> woken = false;  // set once, by whoever took the waiter out of its list
    waiter* previous = nullptr;
    waiter* next = nullptr;
};

/// Wakes a thread when it goes out of scope. Declared before the lock, it wakes after the unlock,
/// so that the woken thread does not run into the lock; the thread's control is kept alive
/// meanwhile, for the thread may see that it was woken, and end, before the wake-up comes.
class [[nodiscard]] deferred_wake {
public:
    deferred_wake() = default;
    deferred_wake(const deferred_wake&) = delete;
    deferred_wake& operator=(const deferred_wake&) = delete;
    ~deferred_wake() { rouse(); }

    /// Tells w that it was woken. w may be gone when this returns.
    void wake(waiter& w) noexcept {
        rouse();  // one is put off, the others are woken at once
        thread_ = intrusive_ptr<thread_control>(w.thread);
        by_nudge_ = w.by_nudge;
        w.woken.store(true, std::memory_order_release);  // pairs with the load in park()
    }

private:
    void rouse() noexcept {
        if (!thread_) return;
        if (by_nudge_)
            thread_->nudge();
        else
            thread_->unpark();
    }

    intrusive_ptr<thread_control> thread_;
    bool by_nudge_ = false;
};

/// A list of waiting threads in the order of their arrival. All of it is guarded by the mutex
/// that the caller holds.
class CADRE_API wait_list {
public:
    bool empty() const noexcept { return first_ == nullptr; }
    waiter* front() const noexcept { return first_; }
    waiter* back() const noexcept { return first_ ? first_->previous : nullptr; }
    /// How many there are, or `most` if there are more.
    std::size_t count(std::size_t most) const noexcept {
        std::size_t counted = 0;
        for (const waiter* w = first_; w && counted < most; ++counted)
            w = w->next == first_ ? nullptr : w->next;
        return counted;
    }
    void push_back(waiter& w) noexcept {
        waiter* const next = first_ ? first_ : &w;
        w.previous = first_ ? first_->previous : &w;
        w.next = next;
        w.previous->next = &w;
        next->previous = &w;
        first_ = next;
    }
    void remove(waiter& w) noexcept {
        w.previous->next = w.next;
        w.next->previous = w.previous;
        if (first_ == &w) first_ = w.next == &w ? nullptr : w.next;
    }

    /// Puts the calling thread, which w stands for, to sleep without the lock until it is woken,
    /// interrupted or the deadline passes. True if it was woken; else w is out of the list again.
    template <class Mutex>
    bool park(waiter& w, std::unique_lock<Mutex>& lock, steady_time deadline) {
        lock.unlock();
        sleep(w, deadline);
        lock.lock();
        if (w.woken.load(std::memory_order_relaxed)) return true;  // the mutex orders it
        remove(w);
        return false;
    }

    /// One sleep of the calling thread, which w stands for, at the end of the list; w is out of
    /// it again afterwards. False, without a sleep, if the deadline has passed. Throws interrupted
    /// instead of starting a sleep; one that an interrupt ends returns true, so that the caller
    /// looks first whether it has been given what it waits for.
    template <class Mutex>
    bool wait(waiter& w, std::unique_lock<Mutex>& lock, steady_time deadline) {
        if (!may_sleep(w, deadline)) return false;
        push_back(w);
        park(w, lock, deadline);
        return true;
    }
    /// False if the deadline has passed; throws interrupted, which beats it.
    static bool may_sleep(waiter& w, steady_time deadline);

private:
    static void sleep(waiter& w, steady_time deadline) noexcept;

    waiter* first_ = nullptr;  // in a ring, for this is in every future
};

/// A condition variable whose waits can be interrupted and whose signals go to the thread that
/// has waited longest. It uses no pthread condition variable; see thread_control.cpp for why.
class CADRE_API condition {
public:
    /// Waits until `holds`. False if the deadline passed first. An interrupt throws interrupted
    /// instead, also when the deadline has passed, but never when `holds` already.
    template <class Mutex, class Predicate>
    bool wait_until(std::unique_lock<Mutex>& lock, steady_time deadline, Predicate holds) {
        while (!holds())
            if (!wait_once(lock, deadline)) return false;
        return true;
    }
    template <class Mutex, class Predicate>
    void wait(std::unique_lock<Mutex>& lock, Predicate holds) {
        wait_until(lock, forever, holds);
    }

    /// Wakes the thread that has waited longest, if any. The caller holds the mutex.
    void notify_one(deferred_wake& wake) noexcept {
        if (!waiters_.empty()) release_front(wake);
    }
    void notify(std::size_t count, deferred_wake& wake) noexcept {
        for (; count > 0 && !waiters_.empty(); --count) release_front(wake);
    }
    void notify_all(deferred_wake& wake) noexcept {
        while (!waiters_.empty()) release_front(wake);
    }
    bool has_waiters() const noexcept { return !waiters_.empty(); }

private:
    /// One sleep. False if the deadline has passed; throws interrupted.
    template <class Mutex>
    bool wait_once(std::unique_lock<Mutex>& lock, steady_time deadline) {
        waiter self;
        return waiters_.wait(self, lock, deadline);
    }
    void release_front(deferred_wake& wake) noexcept;

    wait_list waiters_;
};

}  // namespace cadre::detail
