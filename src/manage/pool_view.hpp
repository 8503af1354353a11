// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cadre/manage/latency_histogram.hpp>
#include <cadre/manage/managed_pool.hpp>

/// What the metrics and the HTTP side show of a pool beyond its snapshot.
namespace cadre::manage::detail {

/// Of durations, in seconds; nothing where there was none.
struct quantiles {
    std::uint64_t count = 0;
    std::optional<double> mean = {}, p50 = {}, p90 = {}, p99 = {}, max = {};
};
quantiles quantiles_of(const latency_histogram& durations);

struct shown_worker {
    std::string thread;
    std::optional<std::string> task = {};  ///< nothing: idle
    std::optional<double> age = {};
};

struct shown_waiting {
    std::string name;
    double age = 0;
};

struct shown_task {
    std::string name;
    std::uint64_t failed = 0;
    quantiles wait = {}, run = {};
};

struct pool_view {
    pool_snapshot snapshot;
    pool_settings settings = {};
    std::optional<std::size_t> capacity = {};  ///< as queue_capacity_of() says
    std::uint64_t failed = 0;
    /// What only a monitor knows; nothing without one.
    struct monitored {
        std::uint64_t run_timeouts = 0;
        std::uint64_t queue_timeouts = 0;
        std::uint64_t threads_started = 0;
        std::uint64_t threads_ended = 0;
        std::uint64_t threads_failed = 0;
    };
    std::optional<monitored> counts = {};
    std::optional<double> oldest_age = {};
    latency_histogram wait = {}, run = {};  ///< since the pool was made
};

struct pool_details {
    std::vector<shown_worker> workers = {};
    std::vector<shown_waiting> oldest = {};  ///< the longest waiting first
    std::vector<shown_task> tasks = {};
};

/// How many threads there can be: with a queue that is never full, the maximum means nothing.
int thread_limit(const pool_snapshot& snapshot);

/// How many tasks fit into the queue; none into a synchronous one. Nothing: without bound.
std::optional<std::size_t> queue_capacity_of(const pool_snapshot& snapshot,
                                             const pool_settings& settings);

pool_view view_of(const managed_pool& pool);
pool_details details_of(const managed_pool& pool);

}  // namespace cadre::manage::detail
