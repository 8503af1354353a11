// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cadre::detail {

/// Returns once nobody can still be reading a thread_control found through the wait graph.
/// Called by the last holder of a control, before it is deleted.
void wait_for_graph_readers() noexcept;

/// Round a fork, so that the child finds the graph unlocked and whole.
void lock_wait_graph() noexcept;
void unlock_wait_graph() noexcept;

}  // namespace cadre::detail
