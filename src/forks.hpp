// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <csignal>

namespace cadre::detail {

/// Has forks() count from now on, in this process and those forked from it.
void watch_forks();
inline constinit std::atomic<std::uint32_t> fork_count = 0;
/// Another number in each process that was forked from the one that called watch_forks().
inline std::uint32_t forks() noexcept { return fork_count.load(std::memory_order_relaxed); }

/// The calling thread blocks signals that are none of its business; a process that it forks has
/// this mask instead.
void set_mask_of_children(const sigset_t& mask) noexcept;
/// What set_mask_of_children() was given on this thread; null if nothing.
const sigset_t* mask_of_children() noexcept;

}  // namespace cadre::detail
