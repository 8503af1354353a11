// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "commands.hpp"

namespace oracle {

/// pool and scheduled, and all that is done with a pool.
void add_pool_commands(command_table& commands);
/// The counters of the pool, or "" if there is none.
std::string pool_snapshot_text();

}  // namespace oracle
