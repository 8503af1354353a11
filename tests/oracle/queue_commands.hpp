// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "commands.hpp"

namespace oracle {

/// A queue alone: bq and what can be done with it.
void add_queue_commands(command_table& commands);
/// "size=N", or "" if there is no queue.
std::string queue_snapshot();

}  // namespace oracle
