// SPDX-License-Identifier: Apache-2.0
//
// What a worker of a work-stealing pool does while one of its tasks waits for the result of
// another: it runs what there is, newest of its own first, then what it can steal, then, if no
// worker is idle, what came from outside. When there is nothing it sleeps, on call: its wait ends
// when the result is there, by an interrupt, or by a nudge when work comes.
//
// Tasks run this way lie one on the other on the worker's stack, and the lower ones cannot go on
// before the upper ones are over. Two things follow. A task that waits for one that lies below it
// would wait for ever: it is told so by the wait graph, as any task that waits for itself. And the
// stack must not run out: a worker without room for another task just sleeps, uncalled, as long as
// there is another worker that does not. The last one gets illegal_state instead, for what it waits
// for may be queued with nobody left to run it. The others go on when that failure has come to
// them, or sooner.

#include <cadre/errors.hpp>

#include "thread_pool_core.hpp"

namespace cadre::detail {

bool thread_pool_core::run_meanwhile(worker& w) {
    w.has_stack = has_stack_for_a_task();
    if (!w.has_stack) return false;
    task found;
    if (!stealing_->try_take_meanwhile(found)) return false;
    run_nested(w, found);
    return true;
}

wait_helper::wait_mode thread_pool_core::wait_begins(worker& w, waiter& self) {
    using wait_mode = wait_helper::wait_mode;
    if (!stealing_) return wait_mode::sleep;
    self.thread->take_nudge();  // before the looks below: one that comes later ends the wait
    const auto seen = control_.load();
    if (seen.at_least(run_state::stop)) return wait_mode::sleep;  // an interrupt ends it
    if (!w.has_stack) {  // as run_meanwhile() has just found: asked again, it might not agree
        if (too_deep_.fetch_add(1) + 1 >= seen.workers()) {
            too_deep_.fetch_sub(1);
            throw illegal_state(
                "tasks wait for each other too deep inside one another for the stack, on all "
                "threads of the pool");
        }
        w.waits = worker::waiting::too_deep;
        return wait_mode::sleep;
    }
    if (!stealing_->enter_call(self)) return wait_mode::look_again;
    w.waits = worker::waiting::on_call;
    return wait_mode::on_call;
}

void thread_pool_core::wait_ends(worker& w, waiter& self) noexcept {
    switch (std::exchange(w.waits, worker::waiting::no)) {
        case worker::waiting::no:
            break;
        case worker::waiting::on_call:
            stealing_->leave_call(self);
            break;
        case worker::waiting::too_deep:
            too_deep_.fetch_sub(1);
            break;
    }
}

}  // namespace cadre::detail
