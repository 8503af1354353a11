// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cadre::fuzz {

/// Timers on a manual clock against a list of times.
void play_scheduler(std::string_view input);

}  // namespace cadre::fuzz
