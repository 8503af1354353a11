// SPDX-License-Identifier: Apache-2.0
//
// Why no work lies there while workers sleep: as in wait_room.cpp. Let work be brought. If its
// bringer sees wants_call(), it calls. If not, either nobody was here yet, and whoever comes later
// looks after it made itself visible; or a called worker is on its way. That one clears called_ and
// looks after that. What is brought after it looked is brought by somebody who sees wants_call()
// again.
//
// A called worker cannot get lost: one whose wait ends at the same moment, for whatever reason, is
// told by leave() that it was called, and sees to it that somebody looks.

#include "work_stealing_room.hpp"

namespace cadre::detail {

void work_stealing_room::call() noexcept {
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    wait_list& list = idle_.empty() ? waiting_ : idle_;
    if (called_ || list.empty()) return;
    waiter& first = *list.front();
    list.remove(first);
    called_ = true;
    tell();
    wake.wake(first);
}

bool work_stealing_room::rest(steady_time deadline, function_ref<bool()> has_work) {
    waiter self;
    if (!wait_list::may_sleep(self, deadline)) return false;
    std::unique_lock lock(mutex_);
    idle_.push_back(self);
    tell();
    lock.unlock();
    const bool ready = has_work();
    lock.lock();
    const bool already_called = self.woken.load(std::memory_order_relaxed);  // under the mutex
    if (!already_called && ready)
        idle_.remove(self);
    else if (already_called || idle_.park(self, lock, deadline))
        called_ = false;
    tell();
    return true;
}

void work_stealing_room::enter(waiter& w) noexcept {
    w.by_nudge = true;
    std::lock_guard lock(mutex_);
    waiting_.push_back(w);
    tell();
}

bool work_stealing_room::leave(waiter& w) noexcept {
    std::lock_guard lock(mutex_);
    const bool was_called = w.woken.load(std::memory_order_relaxed);  // under the mutex
    if (was_called)
        called_ = false;
    else
        waiting_.remove(w);
    tell();
    return was_called;
}

}  // namespace cadre::detail
