// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include "manage/managed_core.hpp"
#include <cadre/manage/managed_pool.hpp>
#include <cadre/task_observer.hpp>

namespace cadre::manage {

std::vector<queued_task> managed_pool::oldest_tasks(std::size_t most) const {
    const auto pool = core_->use();
    if (!pool) return {};
    const auto& queue = pool->queue();
    if (dynamic_cast<const linked_blocking_queue<task>*>(&queue) == nullptr &&
        dynamic_cast<const array_blocking_queue<task>*>(&queue) == nullptr)
        return {};
    // Looked at under the queue's lock, so only at its head. A monitor has every task stamped.
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    struct enough_seen {};
    std::size_t seen = 0;
    std::vector<queued_task> oldest;
    oldest.reserve(most);
    try {
        queue.for_each([&](const task& t) {
            if (seen++ == most) throw enough_seen();
            if (const auto stamp = task_observer::stamp_of(t))
                oldest.push_back({.name = std::string(t.name()),
                                  .age = std::max(std::chrono::nanoseconds(0),
                                                  now - std::chrono::nanoseconds(stamp))});
        });
    } catch (const enough_seen&) {}
    return oldest;
}

}  // namespace cadre::manage
