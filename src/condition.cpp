// SPDX-License-Identifier: Apache-2.0
//
// Why no wake-up is lost: a waiter enters its list under the mutex, before it lets go of it.
// Whoever changes what is waited for does so under the same mutex and takes the waiter out of
// the list there, so it either finds the waiter or made its change before the waiter looked.
// An unpark() that comes before the park_until() is remembered by the thread's permit.
//
// A waiter that is interrupted at the moment it is woken counts as woken: it looks at what it
// waited for first, and throws only if that is not there. So an interrupt never swallows a
// signal that another thread could have used.

#include <cadre/detail/condition.hpp>

namespace cadre::detail {

bool wait_list::park(waiter& w, std::unique_lock<std::mutex>& lock, steady_time deadline) {
    lock.unlock();
    thread_control& self = *w.thread;
    while (!w.woken.load(std::memory_order_acquire)) {  // pairs with deferred_wake::wake
        if (self.wait_must_end()) break;
        if (deadline != forever && std::chrono::steady_clock::now() >= deadline) break;
        self.park_until(deadline);
    }
    lock.lock();
    if (w.woken.load(std::memory_order_relaxed)) return true;  // the mutex orders it
    remove(w);
    return false;
}

bool wait_list::wait(waiter& w, std::unique_lock<std::mutex>& lock, steady_time deadline) {
    w.thread->throw_if_interrupted();
    if (deadline != forever && std::chrono::steady_clock::now() >= deadline) return false;
    push_back(w);
    park(w, lock, deadline);
    return true;
}

bool condition::wait_once(std::unique_lock<std::mutex>& lock, steady_time deadline) {
    waiter self;
    return waiters_.wait(self, lock, deadline);
}

void condition::release_front(deferred_wake& wake) noexcept {
    waiter& first = *waiters_.front();
    waiters_.remove(first);
    wake.wake(first);
}

}  // namespace cadre::detail
