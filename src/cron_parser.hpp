// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <cadre/cron.hpp>

namespace cadre::detail {

/// Throws std::invalid_argument, as cron_expression promises.
cron_fields parsed_cron(std::string_view text);

}  // namespace cadre::detail
