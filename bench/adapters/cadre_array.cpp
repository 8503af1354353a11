// SPDX-License-Identifier: Apache-2.0
// link: cadre::cadre
//
// cadre's pool on an array queue that has room for every task.

#include <algorithm>
#include <memory>

#include <cadre/queue/array_blocking_queue.hpp>
#include <cadre/thread_pool_executor.hpp>

#include "peer.hpp"

namespace {

auto array_of(int capacity) {
    return std::make_unique<cadre::array_blocking_queue<cadre::task>>(capacity);
}

struct array_pool : cadre::thread_pool_executor {
    array_pool(int workers, bench::room room)
        : thread_pool_executor(
              {.core_pool_size = workers, .queue = array_of(std::max(room.tasks, 1024))}) {}
};

template <class Policy>
struct bounded_pool : cadre::thread_pool_executor {
    bounded_pool(int workers, int capacity)
        : thread_pool_executor(
              {.core_pool_size = workers, .queue = array_of(capacity), .rejection = Policy()}) {}
};

}  // namespace

bench::peer bench::this_peer() {
    return bench::peer("cadre, array queue")
        .pool<array_pool>()
        .caller_runs<bounded_pool<cadre::caller_runs_policy>>()
        .blocking<bounded_pool<cadre::block_policy>>();
}
