// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <cadre/detail/export.hpp>

namespace cadre::manage {

/// Reads durations as people write them: 60s, 500ms, 1h30m. Units: ns, us, ms, s, m, h, d; a bare
/// 0 needs none. Throws std::invalid_argument that shows the text and the rule.
CADRE_API std::chrono::nanoseconds parse_duration(std::string_view text);

/// In the largest unit that leaves no rest: 60s is 1m, 90s is 90s.
CADRE_API std::string to_text(std::chrono::nanoseconds d);

}  // namespace cadre::manage
