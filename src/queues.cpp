// SPDX-License-Identifier: Apache-2.0
//
// The queues of tasks, compiled once for everybody.

#include <cadre/queue/array_blocking_queue.hpp>
#include <cadre/queue/linked_blocking_queue.hpp>
#include <cadre/queue/priority_blocking_queue.hpp>
#include <cadre/queue/synchronous_queue.hpp>

namespace cadre {

template class detail::monitor_queue<task, detail::ring<task>>;
template class detail::fifo_queue<task>;
template class detail::monitor_queue<task, detail::stable_heap<task, leaves_first<task>>>;

template class array_blocking_queue<task>;
template class linked_blocking_queue<task>;
template class priority_blocking_queue<task>;
template class synchronous_queue<task>;

}  // namespace cadre
