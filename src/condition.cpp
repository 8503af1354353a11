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

void wait_list::sleep(waiter& w, steady_time deadline) noexcept {
    thread_control& self = *w.thread;
    while (!w.woken.load(std::memory_order_acquire)) {  // pairs with deferred_wake::wake
        if (self.wait_must_end()) return;
        if (deadline != forever && std::chrono::steady_clock::now() >= deadline) return;
        self.park_until(deadline);
    }
}

bool wait_list::may_sleep(waiter& w, steady_time deadline) {
    w.thread->throw_if_interrupted();
    return deadline == forever || std::chrono::steady_clock::now() < deadline;
}

void condition::release_front(deferred_wake& wake) noexcept {
    waiter& first = *waiters_.front();
    waiters_.remove(first);
    wake.wake(first);
}

}  // namespace cadre::detail
