// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cadre::detail {

/// Round a fork, so that the child finds the list of what is carried unlocked and whole.
void lock_contexts() noexcept;
void unlock_contexts() noexcept;

}  // namespace cadre::detail
