// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace cadre::testing {

/// Ends the process if nothing moves for so long: tells the stack of every thread on stderr and,
/// unless that hangs too, what `snapshot` says; then aborts. `progress` is read now and then; as
/// long as it changes, all is well.
class watchdog {
public:
    watchdog(std::chrono::milliseconds patience, std::function<std::uint64_t()> progress,
             std::function<std::string()> snapshot);
    ~watchdog();
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

private:
    void watch();
    std::string snapshot_if_it_comes();

    const std::chrono::milliseconds patience_;
    const std::function<std::uint64_t()> progress_;
    const std::function<std::string()> snapshot_;

    std::mutex mutex_;  // guards all below
    std::condition_variable ended_;
    bool over_ = false;
    std::thread watcher_;  // the last member
};

/// The stacks of all threads, on stderr, each printed by the thread itself.
void print_all_stacks();

}  // namespace cadre::testing
