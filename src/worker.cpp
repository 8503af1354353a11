// SPDX-License-Identifier: Apache-2.0

#include "worker.hpp"

#include "thread_pool_core.hpp"

namespace cadre::detail {

bool worker::run_in_place(const future_core& wanted) { return pool_.run_in_place(*this, wanted); }

wait_helper::wait_mode worker::wait_begins(waiter& self) { return pool_.wait_begins(*this, self); }

void worker::wait_ends(waiter& self) noexcept { pool_.wait_ends(*this, self); }

}  // namespace cadre::detail
