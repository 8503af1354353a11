// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include <cadre/detail/export.hpp>
#include <cadre/manage/pool_registry.hpp>

namespace cadre::manage {

/// Where metrics are written, and how often.
struct metrics_log_options {
    std::filesystem::path path;
    std::chrono::nanoseconds interval = std::chrono::minutes(1);
};

/// Appends the metrics of all pools of a registry to a file at intervals, by a thread of its own: a
/// line of JSON for each pool, as metrics_json() gives it. A file that was moved away, as is done
/// to rotate it, is begun anew.
///
///     cadre::manage::metrics_log log(registry, {.path = "/var/log/shop/pools.jsonl"});
class CADRE_API metrics_log {
public:
    /// The registry must live longer. Throws std::invalid_argument if the path is empty or the
    /// interval not positive, std::system_error if the file cannot be opened.
    metrics_log(const pool_registry& registry, metrics_log_options options);
    /// Writes once more.
    ~metrics_log();
    metrics_log(const metrics_log&) = delete;
    metrics_log& operator=(const metrics_log&) = delete;

    /// Writes now. May be called from any thread.
    void write();
    /// Why the last lines could not be written; empty if they were.
    std::string last_error() const;

private:
    struct parts;
    const std::unique_ptr<parts> parts_;
};

}  // namespace cadre::manage
