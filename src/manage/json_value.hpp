// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include <nlohmann/json.hpp>

#include <cadre/manage/json.hpp>

namespace cadre::manage::detail {

/// Keeps the order in which members were added: people read it.
using json = nlohmann::ordered_json;

json json_of(const pool_settings& settings);
json json_of(const pool_snapshot& snapshot);
json json_of(const change_report& report);
json json_of(const change_record& record);

double seconds(std::chrono::nanoseconds d);

/// 2026-01-31T12:00:00.123Z
std::string iso_time(std::chrono::system_clock::time_point t);

/// On one line; bytes that are no UTF-8 are replaced.
std::string dump(const json& value);

}  // namespace cadre::manage::detail
