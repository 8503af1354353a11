// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace cadre::manage {

/// What may be changed of a pool while it runs. A field that is absent is not spoken of: in a
/// change it stays as it is, in a document it falls back to the defaults.
struct pool_settings {
    std::optional<int> core_pool_size = {};
    std::optional<int> maximum_pool_size = {};
    std::optional<std::chrono::nanoseconds> keep_alive = {};
    std::optional<bool> allow_core_thread_time_out = {};
    std::optional<std::size_t> queue_capacity = {};
    /// By its name: abort, caller_runs, discard, discard_oldest, block, or one that was registered.
    std::optional<std::string> rejection = {};
    /// Of threads that are started from now on. Empty: the names that a pool's own factory gives.
    std::optional<std::string> thread_name_prefix = {};
    /// Start all core threads at once.
    std::optional<bool> prestart_core_threads = {};
    /// A task that runs or waits longer is counted and told of; zero: no limit.
    std::optional<std::chrono::nanoseconds> run_timeout = {};
    std::optional<std::chrono::nanoseconds> queue_timeout = {};
    /// A task that runs longer than run_timeout is interrupted.
    std::optional<bool> interrupt_on_run_timeout = {};

    friend bool operator==(const pool_settings&, const pool_settings&) = default;
};

}  // namespace cadre::manage
