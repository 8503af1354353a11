// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "manage/json_value.hpp"
#include <cadre/manage/config_manager.hpp>

namespace cadre::manage::detail {

/// The state of the configuration, for the API. Without a manager it is that of one that has no
/// source, but for `managed`.
json config_of(const config_manager* manager);

}  // namespace cadre::manage::detail
