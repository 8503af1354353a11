// SPDX-License-Identifier: Apache-2.0
//
// Why nothing lies there while threads sleep: let something be brought. If its bringer sees
// wants_call(), it calls. If not, either nobody slept yet, and whoever goes to sleep later looks
// after it made itself visible; or a called thread is on its way. That thread clears called_ and
// looks after that: it takes what it finds, and calls the next one if it leaves anything. What is
// brought after it looked is brought by somebody who sees wants_call() again.
//
// A called thread cannot get lost: one that is interrupted or runs out of time at the same moment
// returns as called, and looks.

#include <cadre/detail/wait_room.hpp>

#include <cadre/detail/schedule_point.hpp>

namespace cadre::detail {

void wait_room::call(deferred_wake& wake) noexcept {
    std::lock_guard lock(mutex_);
    if (called_ || sleepers_.empty()) return;
    waiter& first = *sleepers_.front();
    sleepers_.remove(first);
    called_ = true;
    tell();
    wake.wake(first);
}

bool wait_room::wait(steady_time deadline, function_ref<bool()> is_ready) {
    waiter self;
    if (!wait_list::may_sleep(self, deadline)) return false;
    std::unique_lock lock(mutex_);
    sleepers_.push_back(self);
    tell();
    lock.unlock();
    CADRE_SCHEDULE_POINT("the last look before a sleep");
    const bool ready = is_ready();
    lock.lock();
    const bool already_called = self.woken.load(std::memory_order_relaxed);  // under the mutex
    if (!already_called && ready)
        sleepers_.remove(self);
    else if (already_called || sleepers_.park(self, lock, deadline))
        called_ = false;
    tell();
    return true;
}

}  // namespace cadre::detail
