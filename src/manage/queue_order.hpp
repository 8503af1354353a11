// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <cadre/queue/array_blocking_queue.hpp>
#include <cadre/queue/linked_blocking_deque.hpp>
#include <cadre/queue/linked_blocking_queue.hpp>
#include <cadre/queue/linked_transfer_queue.hpp>
#include <cadre/task.hpp>

namespace cadre::manage::detail {

/// So many tasks of a queue are looked at, at most: it is done under the queue's lock.
inline constexpr std::size_t most_looked_at = 10000;

/// True if the head of the queue is what came first.
inline bool keeps_order(const blocking_queue<task>& queue) {
    return dynamic_cast<const linked_blocking_queue<task>*>(&queue) != nullptr ||
           dynamic_cast<const array_blocking_queue<task>*>(&queue) != nullptr ||
           dynamic_cast<const linked_blocking_deque<task>*>(&queue) != nullptr ||
           dynamic_cast<const linked_transfer_queue<task>*>(&queue) != nullptr;
}

}  // namespace cadre::manage::detail
