// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cadre/manage/configuration.hpp>

namespace cadre::manage::detail {

/// Of all types, in their order.
std::vector<std::string_view> names_of_alarms();
/// A level that is compared with `threshold`.
bool is_percent(alarm_type type);
/// A level that is compared with `limit`.
bool is_duration(alarm_type type);
/// That of default_alarm_rules().
alarm_rule default_rule(alarm_type type);

/// Throws std::invalid_argument for rules that cannot be.
void check_rules(const std::vector<alarm_rule>& rules);
bool is_for(const alarm_rule& rule, std::string_view pool);

/// Entries that `over` speaks of too, by type and pool, are replaced.
void overlay(std::vector<alarm_entry>& entries, const std::vector<alarm_entry>& over);
/// What the code says, and what documents say instead: of a type and pool, theirs count alone, also
/// where a rule of the code is for every pool.
std::vector<alarm_rule> with_entries(std::vector<alarm_rule> of_code,
                                     const std::vector<alarm_entry>& entries);

}  // namespace cadre::manage::detail
