// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "support/eventually.hpp"
#include <cadre/errors.hpp>
#include <cadre/thread.hpp>

namespace cadre::testing {

/// A call that is expected to wait, on a thread of its own. The constructor returns when that
/// thread sleeps, or the call is over.
class waiting_call {
public:
    explicit waiting_call(std::function<void()> call);
    /// Interrupts the call if it still waits.
    ~waiting_call();
    waiting_call(const waiting_call&) = delete;
    waiting_call& operator=(const waiting_call&) = delete;

    void interrupt() { thread_.interrupt(); }
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

    std::atomic<int> system_id_ = 0;
    outcome outcome_ = outcome::none;  // written before over_
    std::atomic<bool> over_ = false;
    cadre::thread thread_;  // the last member: starts when the others are there
};

/// The kernel's number of the calling thread.
int system_thread_id();
/// True if the kernel says so. A thread that will sleep for another reason first, such as a lock,
/// may be seen; no test depends on that it is not.
bool is_asleep(int system_thread);

/// Expects that a call throws interrupted, and clears the flag, both when the flag was set before
/// it and when the interrupt comes while it waits.
void expect_interruptible(std::function<void()> call);

}  // namespace cadre::testing
