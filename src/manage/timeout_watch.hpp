// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <thread>

#include <cadre/manage/pool_monitor.hpp>

namespace cadre::manage::detail {

class monitor_core;

/// Looks again and again for tasks of a monitor that run for too long, while such are to be
/// interrupted: whoever else looks may be there too late, or not at all. Has a thread from when it
/// is first needed.
class timeout_watch {
public:
    explicit timeout_watch(std::weak_ptr<monitor_core> core) : core_(std::move(core)) {}
    ~timeout_watch();
    timeout_watch(const timeout_watch&) = delete;
    timeout_watch& operator=(const timeout_watch&) = delete;

    /// Sets the limits of the monitor, and looks as they say from now on. Throws std::system_error,
    /// with nothing changed, if there is no thread to be had for it.
    void set_limits(const monitor_limits& limits);

private:
    struct shared;
    static void run(shared& with, const std::weak_ptr<monitor_core>& core);
    void follow(const monitor_limits& limits);
    bool is_inherited() const;
    void forget_inherited() noexcept;

    const std::weak_ptr<monitor_core> core_;

    std::mutex mutex_;  // guards all below
    std::shared_ptr<shared> shared_;
    std::thread thread_;
    pid_t made_in_ = 0;
};

}  // namespace cadre::manage::detail
