// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cadre::manage::detail {

/// The dashboard, one HTML page with all that it needs.
std::string_view dashboard_page() noexcept;

}  // namespace cadre::manage::detail
