// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <cadre/detail/export.hpp>
#include <cadre/manage/change_report.hpp>
#include <cadre/manage/pool_settings.hpp>
#include <cadre/thread_pool_executor.hpp>

/// What the plane knows as JSON objects, each on one line. Durations are written as people write
/// them ("60s"), times as ISO 8601 in UTC; bytes that are no UTF-8 as U+FFFD.
namespace cadre::manage {

/// Absent fields are left out. A queue capacity without bound is "unbounded".
CADRE_API std::string to_json(const pool_settings& settings);
CADRE_API std::string to_json(const pool_snapshot& snapshot);
CADRE_API std::string to_json(const change_report& report);
CADRE_API std::string to_json(const change_record& record);

}  // namespace cadre::manage
