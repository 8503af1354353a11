// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>

#include <cadre/detail/condition.hpp>
#include <cadre/function_ref.hpp>

namespace cadre::detail {

/// Where the workers of a work-stealing pool are called from when there is work: those that are
/// idle, and those that wait inside a task for the result of another. As in a wait_room, one is
/// called at a time, and whoever was called calls the next one if there is more than it takes. Idle
/// workers come first: work on top of a waiting task keeps that task from going on.
///
/// A worker first makes itself visible, or takes back that it is on its way, and then looks for
/// work once more. Whoever brings work makes it visible by a sequentially consistent operation, or
/// that it is about to, for which the look waits (as fifo_queue's empty() does), and then, if
/// wants_call(), calls. So one of them sees the other.
class work_stealing_room {
public:
    /// True if a worker is here and none is on its way.
    bool wants_call() const noexcept { return wants_call_.load(); }
    void call() noexcept;
    bool has_idle() const noexcept { return has_idle_.load(); }

    /// For an idle worker: sleeps, unless there is work, until called, interrupted or the deadline.
    /// False, without a sleep, if the deadline has passed. Throws interrupted instead of starting a
    /// sleep. After true the caller tries again, and if it got what it wanted and there is more,
    /// calls the next.
    bool rest(steady_time deadline, function_ref<bool()> has_work);

    /// For a worker that waits for something else: from now until leave() it may be called, by a
    /// nudge. It looks for work after this and before it sleeps.
    void enter(waiter& w) noexcept;
    /// True if it was called: then it takes work, or calls the next if there is some.
    bool leave(waiter& w) noexcept;

private:
    void tell() noexcept {
        has_idle_.store(!idle_.empty());
        wants_call_.store((!idle_.empty() || !waiting_.empty()) && !called_);
    }

    alignas(64) std::atomic<bool> wants_call_ = false;  // changed under mutex_
    std::atomic<bool> has_idle_ = false;                // changed under mutex_

    std::mutex mutex_;  // guards all below
    wait_list idle_;
    wait_list waiting_;
    bool called_ = false;  // a worker has been taken out of its list and is on its way
};

}  // namespace cadre::detail
