// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>

#include "support/eventually.hpp"
#include <cadre/errors.hpp>
#include <cadre/thread.hpp>

namespace cadre::testing {

/// A thread, to be asked whether it waits in a call of the library.
class waiting_thread {
public:
    static waiting_thread current();
    /// True if it sleeps there: what it waits for knows of it. Not if it sleeps for another reason,
    /// such as a lock; unless the kernel tells only that it sleeps, and not where.
    bool waits() const;

private:
    waiting_thread(int system_id, const detail::thread_control& control)
        : system_id_(system_id), control_(&control) {}

    int system_id_;
    const detail::thread_control* control_;  // compared, never followed
};

/// A call that is expected to wait, on a thread of its own. The constructor returns when that
/// thread waits, or the call is over.
class waiting_call {
public:
    explicit waiting_call(std::function<void()> call);
    /// Interrupts the call if it still waits.
    ~waiting_call();
    waiting_call(const waiting_call&) = delete;
    waiting_call& operator=(const waiting_call&) = delete;

    void interrupt() { thread_.interrupt(); }
    /// After something that may have ended it: returns when its thread waits again, or the call is
    /// over.
    void settle() const;
    /// False as long as the call has not ended, whichever way.
    bool is_over() const { return over_; }
    /// Waits for the end of the call. True if it returned.
    bool returned() { return end() == outcome::returned; }
    /// Waits for the end of the call. True if it threw interrupted, with a clear flag.
    bool was_interrupted() { return end() == outcome::interrupted; }

private:
    enum class outcome { none, returned, interrupted, interrupted_with_flag, failed };
    outcome end();
    void run(const std::function<void()>& call);

    std::optional<waiting_thread> caller_;  // written before has_begun_
    std::atomic<bool> has_begun_ = false;
    outcome outcome_ = outcome::none;  // written before over_
    std::atomic<bool> over_ = false;
    cadre::thread thread_;  // the last member: starts when the others are there
};

/// Expects that a call throws interrupted, and clears the flag, both when the flag was set before
/// it and when the interrupt comes while it waits.
void expect_interruptible(std::function<void()> call);

}  // namespace cadre::testing
