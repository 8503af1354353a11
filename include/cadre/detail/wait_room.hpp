// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>

#include <cadre/detail/condition.hpp>
#include <cadre/detail/export.hpp>
#include <cadre/function_ref.hpp>

namespace cadre::detail {

/// Where threads sleep that found nothing to take, or no room. They are called one at a time, the
/// one that has waited longest first: while a called thread is on its way no other is called,
/// and that thread calls the next one if there is something for it too. So somebody who brings a
/// thousand things in a row makes one system call, not a thousand.
///
/// A sleeper first makes itself visible, or takes back that it is on its way, and then looks once
/// more. Whoever brings something must see it, or be seen by that look: either it makes what it
/// brings visible, by a sequentially consistent operation, and then, if wants_call(), calls; or it
/// does both under a lock that the sleeper takes to look.
class CADRE_API wait_room {
public:
    /// True if a thread sleeps and none is on its way.
    bool wants_call() const noexcept { return wants_call_.load(); }
    void call() noexcept {
        deferred_wake wake;
        call(wake);
    }
    /// Takes a thread out of the list, to be woken by `wake`.
    void call(deferred_wake& wake) noexcept;

    /// Sleeps, unless there is something to be had, until called, interrupted or the deadline.
    /// False, without a sleep, if the deadline has passed. Throws interrupted instead of starting
    /// a sleep. After true the caller tries again, and if it got what it wanted and there is more,
    /// calls the next. The look is taken under no lock of the room.
    bool wait(steady_time deadline, function_ref<bool()> is_ready);

private:
    void tell() noexcept { wants_call_.store(!sleepers_.empty() && !called_); }

    std::atomic<bool> wants_call_ = false;  // changed under mutex_

    std::mutex mutex_;  // guards all below
    wait_list sleepers_;
    bool called_ = false;  // a thread has been taken out of the list and is on its way
};

}  // namespace cadre::detail
