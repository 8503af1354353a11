// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <cadre/detail/export.hpp>
#include <cadre/manage/config_manager.hpp>
#include <cadre/manage/managed_pool.hpp>
#include <cadre/manage/pool_monitor.hpp>
#include <cadre/manage/pool_registry.hpp>

/// Metrics in the formats of others. Reading them changes nothing.
namespace cadre::manage {

class alarm_engine;

/// Which names the metrics have.
struct prometheus_options {
    /// Also under the names of DynamicTp (thread_pool_core_size, ...), so that its Grafana boards
    /// work.
    bool dynamictp_names = false;
    std::string application = {};  ///< the label app_name of those
    /// Whose sources are shown: whether they answer, since when, and how many documents came and
    /// were refused. Must live longer than whoever has these options. Null: none are.
    const config_manager* config = nullptr;
    /// What thread_pool_tps is of a pool: tasks completed a second. Empty, as for pools of which it
    /// says nothing: on average since the monitor was made.
    std::function<std::optional<double>(const managed_pool&)> completed_per_second = {};
    /// Whose alarms and notifiers are shown; in /metrics of a server, null means those of the
    /// server. Must live longer than whoever has these options. Null: none are.
    const alarm_engine* alarms = nullptr;
};

/// All pools of the registry, the sources of configuration, alarms and the memory of the process,
/// in the text format of Prometheus (text/plain; version=0.0.4). docs/metrics.md has them all.
CADRE_API std::string prometheus_text(const pool_registry& registry,
                                      const prometheus_options& options = {});

/// One pool: snapshot, counters, and of run time and queue wait the count, mean and quantiles in
/// seconds; and the memory of the process. One line of JSON, with the time.
CADRE_API std::string metrics_json(const managed_pool& pool);
/// All pools, as an array.
CADRE_API std::string metrics_json(const pool_registry& registry);
/// A line for each pool, for a log file.
CADRE_API std::string metrics_json_lines(const pool_registry& registry);

}  // namespace cadre::manage
