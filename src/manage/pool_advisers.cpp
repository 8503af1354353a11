// SPDX-License-Identifier: Apache-2.0
#include "manage/pool_advisers.hpp"

#include <iterator>
#include <utility>

namespace cadre::manage::detail {

void pool_advisers::look(const std::vector<std::shared_ptr<managed_pool>>& pools,
                         std::chrono::steady_clock::time_point now) {
    std::vector<measured> gone;  // destroyed after the lock: a monitor waits for its thread
    const std::lock_guard lock(mutex_);
    look_at_rejections(pools, now);
    for (auto& [name, known] : pools_) known.seen = false;
    for (const auto& pool : pools) {
        if (!pool->monitor()) continue;
        auto& known = pools_[pool->name()];
        if (known.pool != pool) {  // new, or made anew under an old name
            gone.push_back(std::move(known));
            known = {.pool = pool, .adviser = std::make_unique<pool_adviser>(pool), .at = now};
        } else if (now - known.at >= std::chrono::minutes(1)) {
            known.advice = advise(known.adviser->load());
            known.at = now;
            known.has_a_minute = true;
        } else if (!known.has_a_minute) {  // of what there is, anew with each look
            known.advice = advise(pool_adviser(*known.adviser).load());
        }
        known.seen = true;
    }
    for (auto known = pools_.begin(); known != pools_.end();) {
        if (!known->second.seen) gone.push_back(std::move(known->second));
        known = known->second.seen ? std::next(known) : pools_.erase(known);
    }
}

void pool_advisers::look_at_rejections(const std::vector<std::shared_ptr<managed_pool>>& pools,
                                       std::chrono::steady_clock::time_point now) {
    for (const auto& pool : pools) {
        const auto rejected = pool->snapshot().rejected_task_count;
        auto& of = rejections_[pool->name()];
        if (!of.is_of(*pool))
            of = {pool, pool.get(), now, rejected, rejected};
        else if (now - of.at >= std::chrono::minutes(1))
            of = {pool, pool.get(), now, rejected, of.this_minute};
    }
    std::erase_if(rejections_, [](const auto& of) { return of.second.pool.expired(); });
}

std::int64_t pool_advisers::rejected_lately(const managed_pool& pool) const {
    const std::lock_guard lock(mutex_);
    const auto found = rejections_.find(pool.name());
    if (found == rejections_.end() || !found->second.is_of(pool)) return 0;
    return pool.snapshot().rejected_task_count - found->second.last_minute;
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
