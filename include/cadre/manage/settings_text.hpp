// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/pool_settings.hpp>

/// Settings by the names and texts that people write: "core_pool_size" "8", "keep_alive" "60s",
/// "allow_core_thread_time_out" "true", "queue_capacity" "1024" or "unbounded".
namespace cadre::manage {

/// The names of all fields, in the order of pool_settings.
CADRE_API const std::vector<std::string>& field_names();

/// Empty if the field is absent. Throws std::invalid_argument if there is no such field.
CADRE_API std::string field_text(const pool_settings& settings, std::string_view field);

/// Reads one field. Throws std::invalid_argument with the field, the text and the rule.
CADRE_API void set_field(pool_settings& settings, std::string_view field, std::string_view text);

/// What `above` says, and where it says nothing, what `below` says.
CADRE_API pool_settings merged(pool_settings above, const pool_settings& below);

}  // namespace cadre::manage
