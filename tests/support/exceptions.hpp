// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace cadre::testing {

/// How many exceptions the calling thread has made, caught by whomever.
std::size_t exceptions_here() noexcept;

}  // namespace cadre::testing
