// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include "manage/managed_core.hpp"
#include "manage/queue_order.hpp"
#include <cadre/manage/managed_pool.hpp>
#include <cadre/task_observer.hpp>

namespace cadre::manage {

std::vector<queued_task> managed_pool::oldest_tasks(std::size_t most) const {
    const auto pool = core_->use();
    // What a scheduled pool has in its queue is for later, most of it.
    if (!pool || kind() == pool_kind::scheduled) return {};
    const auto& queue = pool->queue();
    // Looked at under the queue's lock, so only at its head, if that is where the oldest are. A
    // monitor has every task stamped.
    const bool head_is_oldest = detail::keeps_order(queue);
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const auto older = [](const queued_task& a, const queued_task& b) { return a.age > b.age; };
    struct enough_seen {};
    std::size_t seen = 0;
    std::vector<queued_task> oldest;  // by age, unless the queue has them in that order anyway
    oldest.reserve(std::min(most, detail::most_looked_at) + 1);
    try {
        queue.for_each([&](const task& t) {
            if (seen++ == (head_is_oldest ? most : detail::most_looked_at)) throw enough_seen();
            const auto stamp = task_observer::stamp_of(t);
            if (stamp == 0) return;
            queued_task one{.age = std::max(std::chrono::nanoseconds(0),
                                            now - std::chrono::nanoseconds(stamp))};
            auto at = oldest.end();
            if (!head_is_oldest) at = std::upper_bound(oldest.begin(), oldest.end(), one, older);
            if (at == oldest.end() && oldest.size() >= most) return;
            one.name = t.name();
            oldest.insert(at, std::move(one));
            if (oldest.size() > most) oldest.pop_back();
        });
    } catch (const enough_seen&) {}
    return oldest;
}

}  // namespace cadre::manage
