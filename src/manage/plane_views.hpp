// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "manage/json_value.hpp"
#include "manage/pool_advisers.hpp"
#include "manage/pool_sampler.hpp"
#include <cadre/manage/http_server.hpp>
#include <cadre/manage/pool_registry.hpp>

/// Metrics, alarms and advice, for the API.
namespace cadre::manage::detail {

/// In the text format of Prometheus.
std::string metrics_of(const pool_registry& registry, const pool_sampler& sampler,
                       const http_server_options& server);
/// What fires, then what is over, each latest first; of one pool, unless `pool` is empty.
json alarms_of(const http_server_options& options, std::string_view pool);
std::size_t firing_alarms(const http_server_options& options, std::string_view pool);
/// Of all pools, and of none.
std::size_t firing_alarms(const http_server_options& options);
/// What the numbers suggest: pool, message and, where it is about sizes, the settings to try.
json advice_of(const pool_registry& registry, const pool_advisers& advisers);

}  // namespace cadre::manage::detail
