// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <exception>

namespace cadre::manage::detail {

/// Thrown out of whatever waits, to where the thread of a source begins.
struct source_stopped : std::exception {
    const char* what() const noexcept override { return "the source was stopped"; }
};

/// Raised once, from any thread. It is a file descriptor that becomes readable, so that every wait
/// of a source, for a socket as for a file, can wait for it as well.
class stop_signal {
public:
    stop_signal();
    ~stop_signal();
    stop_signal(const stop_signal&) = delete;
    stop_signal& operator=(const stop_signal&) = delete;

    void raise() noexcept;
    bool raised() const noexcept { return raised_.load(); }
    int descriptor() const noexcept { return descriptor_; }

    /// Throws source_stopped if it is raised before the time is over.
    void sleep_for(std::chrono::milliseconds time) const;
    /// Waits for `readable` (-1: nothing) as well; false if the time was over.
    bool wait_for(int readable, std::chrono::milliseconds time) const;

private:
    std::atomic<bool> raised_ = false;
    int descriptor_;
};

}  // namespace cadre::manage::detail
