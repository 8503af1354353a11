// SPDX-License-Identifier: Apache-2.0
#include "manage/pool_advisers.hpp"

namespace cadre::manage::detail {

void pool_advisers::look(const std::vector<std::shared_ptr<managed_pool>>& pools) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    for (auto& [name, known] : pools_) known.seen = false;
    for (const auto& pool : pools) {
        if (!pool->monitor()) continue;
        auto& known = pools_[pool->name()];
        if (known.pool != pool) {  // new, or made anew under an old name
            known = {.pool = pool, .adviser = std::make_unique<pool_adviser>(pool), .at = now};
        } else if (!known.advice || now - known.at >= std::chrono::minutes(1)) {
            known.advice = advise(known.adviser->load());
            known.at = now;
        }
        known.seen = true;
    }
    std::erase_if(pools_, [](const auto& known) { return !known.second.seen; });
}

std::vector<pool_advisers::advised> pool_advisers::advice() const {
    std::vector<advised> all;
    const std::lock_guard lock(mutex_);
    for (const auto& [name, known] : pools_) {
        if (!known.advice || !known.advice->enough_data || !known.pool->is_registered()) continue;
        const auto set = known.pool->settings();
        const auto& wanted = known.advice->settings;
        if (set.core_pool_size == wanted.core_pool_size &&
            (known.pool->kind() == pool_kind::scheduled ||
             set.maximum_pool_size == wanted.maximum_pool_size))
            continue;
        all.push_back({known.pool, *known.advice});
    }
    return all;
}

}  // namespace cadre::manage::detail
