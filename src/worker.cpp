// SPDX-License-Identifier: Apache-2.0

#include "worker.hpp"

#include "futex.hpp"
#include "thread_pool_core.hpp"

namespace cadre::detail {

bool worker::run_in_place(const future_core& wanted) { return pool_.run_in_place(*this, wanted); }

worker_start::~worker_start() {
    if (decision_.load() == go && !entered_.load()) pool_->worker_never_started(*worker_);
}

void worker_start::run() {
    if (entered_.exchange(true)) return;
    while (decision_.load() == undecided) futex_wait(decision_, undecided, forever);
    if (decision_.load() == go) pool_->run_worker(*worker_);
}

void worker_start::decide(std::uint32_t decision) noexcept {
    decision_.store(decision);
    futex_wake_one(decision_);
}

}  // namespace cadre::detail
